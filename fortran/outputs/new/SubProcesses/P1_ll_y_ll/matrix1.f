C     By hand, with the arguments and COMMON blocks of MG5aMC 3.6 and
C     3.7; see README.md.
C
C     SMATRIX1: the sum over helicities of event IVEC. RHEL takes one
C     of them, whose sign the sum gets; RCOL takes a colour flow.
C     With channels it is the share of diagram CHANNEL.
C
C     Process: e- e+ > y > mu- mu+ @1
C
      SUBROUTINE SMATRIX1(P, RHEL, RCOL, CHANNEL, IVEC, ANS, IHEL,
     $  ICOL)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE 'maxconfigs.inc'
      INCLUDE 'genps.inc'
      INCLUDE '../../Source/vector.inc'
      INTEGER NCOMB, NDIAGS
      PARAMETER (NCOMB=16, NDIAGS=1)
      REAL*8 P(0:3,NEXTERNAL), RHEL, RCOL, ANS
      INTEGER CHANNEL, IVEC, IHEL, ICOL
      REAL*8 MATRIX1, PART(NCOMB), LEFT, BOTH
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      INTEGER I, LEG, ROW, D, AVERAGE
      INTEGER NHEL(NEXTERNAL,NCOMB), SENSE(NEXTERNAL)
      INTEGER WAY
      LOGICAL CHANNELS
      COMMON/TO_MATRIX/WAY,CHANNELS
C     The configuration that is integrated
      INTEGER MAPS(0:LMAXCONFIGS), HERE
      COMMON/TO_MCONFIGS/MAPS,HERE
C     Events so far, and helicities that contributed to any
      INTEGER EVENTS(MAXSPROC)
      LOGICAL ALIVE(NCOMB,MAXSPROC)
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
      ENDIF
      DO D = 1, 1, -1
        JAMP2(D) = 0D0
      ENDDO
      JAMP2(0) = 1
      EVENTS(1) = EVENTS(1)+1
      ANS = 0D0
      DO ROW = 1, NCOMB
        PART(ROW) = 0D0
        IF (EVENTS(1).LE.MAXTRIES.OR.ALIVE(ROW,1)) THEN
          PART(ROW) = MATRIX1(P,NHEL(1,ROW),SENSE,ROW,AMP2,JAMP2,IVEC)
          ANS = ANS+ABS(PART(ROW))
        ENDIF
      ENDDO
      IF (ANS.EQ.0D0) RETURN
      DO ROW = 1, NCOMB
        ALIVE(ROW,1) = ALIVE(ROW,1).OR.
     $   ABS(PART(ROW))*NCOMB.GT.LIMHEL*ANS
      ENDDO

C     Which helicities: each as often as it contributes
      LEFT = RHEL*ANS
      DO ROW = 1, NCOMB
        LEFT = LEFT-ABS(PART(ROW))
        IF (LEFT.LT.0D0) GOTO 30
      ENDDO
      ROW = NCOMB
   30 IHEL = ROW
      ANS = SIGN(ANS,PART(ROW))

C     The channel's share
      IF (CHANNELS) THEN
        BOTH = 0D0
        DO D = 1, LMAXCONFIGS
          IF (CONFSUB(1,D).GT.0) BOTH = BOTH+AMP2(CONFSUB(1,D))
        ENDDO
        IF (BOTH.GT.0D0) ANS = AMP2(CHANNEL)/BOTH*ANS
      ENDIF
      ANS = ANS/AVERAGE
      CALL SELECT_COLOR(RCOL, JAMP2, HERE, 1, ICOL)
      END


C     MATRIX1: helicities NHEL alone, not averaged.
C
      REAL*8 FUNCTION MATRIX1(P, NHEL, IC, IHEL, AMP2, JAMP2, IVEC)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE '../../Source/vector.inc'
      INTEGER NGRAPHS, NWAVEFUNCS, NCOLOR
      PARAMETER (NGRAPHS=1)
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
      COMPLEX*16 W(18,NWAVEFUNCS), AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO), SUM_H
      INTEGER IHEL, IVEC
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
C     Colour: row by row from the diagonal, what is off it twice
      INTEGER TRIANGLE(NCOLOR*(NCOLOR+1)/2), BELOW, PLACE
      REAL*8 KEPT_WY
      SAVE KEPT_WY
      LOGICAL FRESH
      SAVE FRESH
      DATA FRESH/.TRUE./
      REAL*8 NARROW
      COMMON/NARROW_WIDTH/NARROW
      INCLUDE 'coupl.inc'
      DATA TRIANGLE/1/
      DATA BELOW/1/
      IF (FRESH) THEN
        FRESH = .FALSE.
        IF (MDL_WY.NE.0D0) THEN
          KEPT_WY =
     $     SIGN(MAX(ABS(MDL_WY),NARROW*ABS(MDL_MY)),MDL_WY)
        ELSE
          KEPT_WY = 0D0
        ENDIF
      ENDIF

      CALL IXXXXX(P(0,1),ZERO,NHEL(1),+1*IC(1),W(1,1))
      CALL OXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),ZERO,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),ZERO,NHEL(4),-1*IC(4),W(1,4))
      CALL FFT1_3(W(1,1),W(1,2),GC_30,MDL_MY,KEPT_WY,W(1,5))
      CALL FFT1_0(W(1,4),W(1,3),W(1,5),GC_30,AMP(1))
      JAMP(1,1) = AMP(1)

      MATRIX1 = 0D0
      DO A = 1, NAMPSO
        PLACE = 0
        DO F = 1, NCOLOR
          SUM_H = 0D0
          DO H = F, NCOLOR
            PLACE = PLACE+1
            SUM_H = SUM_H+JAMP(H,A)*TRIANGLE(PLACE)
          ENDDO
          DO B = 1, NAMPSO
            MATRIX1 = MATRIX1+DBLE(SUM_H*DCONJG(JAMP(F,B)))
          ENDDO
        ENDDO
      ENDDO
      MATRIX1 = MATRIX1/BELOW

      AMP2(1)=AMP2(1)+AMP(1)*DCONJG(AMP(1))
      DO F = 1, NCOLOR
        DO A = 1, NAMPSO
          DO B = 1, NAMPSO
            JAMP2(F) =
     $       ABS(DBLE(JAMP(F,A)*DCONJG(JAMP(F,B))))+JAMP2(F)
          ENDDO
        ENDDO
      ENDDO
      END
