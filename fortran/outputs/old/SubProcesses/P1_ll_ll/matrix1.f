C     By hand, with the arguments and COMMON blocks of MG5aMC 2.8 to
C     3.5; see README.md.
C
C     SMATRIX1: the sum over helicities of one event. A random number
C     takes one of them, whose sign the sum gets; it is the share
C     of a channel where channels are integrated.
C
C     Process: e- e+ > mu- mu+ WEIGHTED<=4 @1
C
      SUBROUTINE SMATRIX1(P,ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE 'maxconfigs.inc'
      INCLUDE 'genps.inc'
      INTEGER NCOMB, NDIAGS
      PARAMETER (NCOMB=16, NDIAGS=2)
      REAL*8 P(0:3,NEXTERNAL), ANS
      REAL*8 MATRIX1, PART(NCOMB), LEFT, BOTH
      INTEGER I, LEG, ROW, D, AVERAGE
      INTEGER NHEL(NEXTERNAL,NCOMB), SENSE(NEXTERNAL)
C     What MATRIX1 adds to
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      COMMON/TO_AMPS/AMP2,JAMP2
C     The helicities that are taken
      CHARACTER*101 TAKEN
      COMMON/TO_HELICITY/TAKEN
C     1 or 2: as the beams are, or exchanged
      INTEGER SIDE
      COMMON/TO_MIRROR/SIDE
      INTEGER WAY
      LOGICAL CHANNELS
      COMMON/TO_MATRIX/WAY,CHANNELS
C     The channel's diagram
      INTEGER POLE(MAXSPROC), BEAMS(2)
      COMMON/TO_SUB_DIAG/POLE,BEAMS
C     Events so far, and helicities that contributed to any
      INTEGER EVENTS(2)
      LOGICAL ALIVE(NCOMB,2)
      COMMON/BLOCK_GOODHEL/EVENTS,ALIVE
      INTEGER CONFSUB(MAXSPROC,LMAXCONFIGS)
      INCLUDE 'config_subproc_map.inc'
      DATA (NHEL(LEG, 1),LEG=1,4) /-1,-1,-1,-1/
      DATA (NHEL(LEG, 2),LEG=1,4) /-1,-1,-1, 1/
      DATA (NHEL(LEG, 3),LEG=1,4) /-1,-1, 1,-1/
      DATA (NHEL(LEG, 4),LEG=1,4) /-1,-1, 1, 1/
      DATA (NHEL(LEG, 5),LEG=1,4) /-1, 1,-1,-1/
      DATA (NHEL(LEG, 6),LEG=1,4) /-1, 1,-1, 1/
      DATA (NHEL(LEG, 7),LEG=1,4) /-1, 1, 1,-1/
      DATA (NHEL(LEG, 8),LEG=1,4) /-1, 1, 1, 1/
      DATA (NHEL(LEG, 9),LEG=1,4) / 1,-1,-1,-1/
      DATA (NHEL(LEG,10),LEG=1,4) / 1,-1,-1, 1/
      DATA (NHEL(LEG,11),LEG=1,4) / 1,-1, 1,-1/
      DATA (NHEL(LEG,12),LEG=1,4) / 1,-1, 1, 1/
      DATA (NHEL(LEG,13),LEG=1,4) / 1, 1,-1,-1/
      DATA (NHEL(LEG,14),LEG=1,4) / 1, 1,-1, 1/
      DATA (NHEL(LEG,15),LEG=1,4) / 1, 1, 1,-1/
      DATA (NHEL(LEG,16),LEG=1,4) / 1, 1, 1, 1/
      DATA AVERAGE/4/

      DO LEG = 1, NEXTERNAL
        SENSE(LEG) = 1
      ENDDO
      IF (CHANNELS) THEN
        DO D = NDIAGS, 1, -1
          AMP2(D) = 0D0
        ENDDO
        DO D = 1, 1, -1
          JAMP2(D) = 0D0
        ENDDO
        JAMP2(0) = 1
      ENDIF
      EVENTS(SIDE) = EVENTS(SIDE)+1
      ANS = 0D0
      WRITE(TAKEN,'(20I5)') (0*LEG,LEG=1,NEXTERNAL)
      DO ROW = 1, NCOMB
        PART(ROW) = 0D0
        IF (EVENTS(SIDE).LE.MAXTRIES.OR.ALIVE(ROW,SIDE)) THEN
          PART(ROW) = MATRIX1(P,NHEL(1,ROW),SENSE,ROW)
          ANS = ANS+ABS(PART(ROW))
        ENDIF
      ENDDO
      IF (ANS.EQ.0D0) RETURN
      DO ROW = 1, NCOMB
        ALIVE(ROW,SIDE) = ALIVE(ROW,SIDE).OR.
     $   ABS(PART(ROW))*NCOMB.GT.LIMHEL*ANS
      ENDDO

C     Which helicities: each as often as it contributes
      CALL RANMAR(LEFT)
      LEFT = LEFT*ANS
      DO ROW = 1, NCOMB
        LEFT = LEFT-ABS(PART(ROW))
        IF (LEFT.LT.0D0) GOTO 30
      ENDDO
      ROW = NCOMB
   30 WRITE(TAKEN,'(20I5)') (NHEL(LEG,ROW),LEG=1,NEXTERNAL)
      ANS = SIGN(ANS,PART(ROW))

C     The channel's share
      IF (CHANNELS) THEN
        BOTH = 0D0
        DO D = 1, LMAXCONFIGS
          IF (CONFSUB(1,D).GT.0) BOTH = BOTH+AMP2(CONFSUB(1,D))
        ENDDO
        IF (BOTH.GT.0D0) ANS = AMP2(POLE(1))/BOTH*ANS
      ENDIF
      ANS = ANS/AVERAGE
      END


C     MATRIX1: helicities NHEL alone, not averaged.
C
      REAL*8 FUNCTION MATRIX1(P, NHEL, IC, IHEL)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INTEGER NGRAPHS, NWAVEFUNCS, NCOLOR
      PARAMETER (NGRAPHS=2)
      PARAMETER (NWAVEFUNCS=5)
      PARAMETER (NCOLOR=1)
      REAL*8 ZERO
      PARAMETER (ZERO=0D0)
      COMPLEX*16 IMAG1
      PARAMETER (IMAG1=(0D0,1D0))
C     Coupling orders of amplitudes, and of their products
      INTEGER NAMPSO, NSQAMPSO
      PARAMETER (NAMPSO=1, NSQAMPSO=1)
      INTEGER A, B, F, H
      REAL*8 P(0:3,NEXTERNAL)
      INTEGER IC(NEXTERNAL), NHEL(NEXTERNAL)
      COMPLEX*16 W(6,NWAVEFUNCS), AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO), SUM_H
      LOGICAL WANTED(NSQAMPSO)
      SAVE WANTED
      DATA WANTED/.TRUE./
      INTEGER SQSOINDEX1
      INTEGER IHEL
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      COMMON/TO_AMPS/AMP2,JAMP2
      REAL*8 COLORS(NCOLOR,NCOLOR)
      REAL*8 KEPT_0
      SAVE KEPT_0
      REAL*8 KEPT_WZ
      SAVE KEPT_WZ
      LOGICAL FRESH
      SAVE FRESH
      DATA FRESH/.TRUE./
      REAL*8 NARROW
      COMMON/NARROW_WIDTH/NARROW
      INCLUDE 'coupl.inc'
      DATA COLORS/1D0/
      IF (FRESH) THEN
        FRESH = .FALSE.
        IF (ZERO.NE.0D0) KEPT_0 = ZERO
        IF (MDL_WZ.NE.0D0) KEPT_WZ =
     $   SIGN(MAX(ABS(MDL_WZ),NARROW*ABS(MDL_MZ)),MDL_WZ)
      ENDIF

      CALL IXXXXX(P(0,1),ZERO,NHEL(1),+1*IC(1),W(1,1))
      CALL OXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),ZERO,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),ZERO,NHEL(4),-1*IC(4),W(1,4))
      CALL FFV1P0_3(W(1,1),W(1,2),GC_1,ZERO,KEPT_0,W(1,5))
C     Photon
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_1,AMP(1))
      CALL FFV2_3(W(1,1),W(1,2),GC_3,MDL_MZ,KEPT_WZ,W(1,5))
C     Z
      CALL FFV2_0(W(1,4),W(1,3),W(1,5),-GC_3,AMP(2))
C     One colour flow, one order
      JAMP(1,1) = -AMP(1)+AMP(2)

      MATRIX1 = 0D0
      DO A = 1, NAMPSO
        DO F = 1, NCOLOR
          SUM_H = 0D0
          DO H = 1, NCOLOR
            SUM_H = SUM_H+JAMP(H,A)*COLORS(H,F)
          ENDDO
          DO B = 1, NAMPSO
            IF (WANTED(SQSOINDEX1(A,B))) THEN
              MATRIX1 = MATRIX1+DBLE(SUM_H*DCONJG(JAMP(F,B)))
            ENDIF
          ENDDO
        ENDDO
      ENDDO

      AMP2(1)=AMP2(1)+AMP(1)*DCONJG(AMP(1))
      AMP2(2)=AMP2(2)+AMP(2)*DCONJG(AMP(2))
      DO F = 1, NCOLOR
        DO A = 1, NAMPSO
          DO B = 1, NAMPSO
            IF (WANTED(SQSOINDEX1(A,B))) JAMP2(F) =
     $       ABS(DBLE(JAMP(F,A)*DCONJG(JAMP(F,B))))+JAMP2(F)
          ENDDO
        ENDDO
      ENDDO
      END


C     SQSOINDEX1: there is one pair of orders.
C
      INTEGER FUNCTION SQSOINDEX1(A, B)
      IMPLICIT NONE
      INTEGER A, B
      SQSOINDEX1 = MAX(A,B)
      END
