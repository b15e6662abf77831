C     g g > t t~ by hand, in the shape that MG5aMC gives the Born of a
C     calculation at next-to-leading order; see README.md at the top.
C
C     SBORN: the squared orders that are wanted, together.
C
C     Process: g g > t t~ [ QCD ]
C
      SUBROUTINE SBORN(P, ANS_SUMMED)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'orders.inc'
      INTEGER NSQAMPSO
      PARAMETER (NSQAMPSO=1)
      REAL*8 P(0:3,NEXTERNAL-1), ANS_SUMMED
      COMPLEX*16 EACH(2,0:NSQAMPSO)
      CALL SBORN_SPLITORDERS(P, EACH)
      ANS_SUMMED = DBLE(EACH(1,1))
      END

C     SBORN_SPLITORDERS: each of them, the Born and the complex Born. A
C     gluon that splits in the FKS configuration has both helicities in
C     one call of BORN.
C
      SUBROUTINE SBORN_SPLITORDERS(P, EACH)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'born_nhel.inc'
      INTEGER NCOMB, NAMPSO, NSQAMPSO, NGRAPHS
      PARAMETER (NCOMB=16, NAMPSO=1, NSQAMPSO=1, NGRAPHS=3)
      REAL*8 P(0:3,NEXTERNAL-1), PARTS(2,0:NSQAMPSO)
      COMPLEX*16 EACH(2,0:NSQAMPSO), ONE(2,NSQAMPSO)
      INTEGER LEG, ROW, K, GLUON, FLIPPED, NTRY(2)
      SAVE NTRY
      DATA NTRY/2*0/
      INTEGER NHEL(NEXTERNAL-1,NCOMB)
      INTEGER IDEN_VALUES(2), IJ_VALUES(2)
      DATA IDEN_VALUES/256, 256/
      DATA IJ_VALUES/1, 2/
      DATA (NHEL(LEG, 1),LEG=1,4) /-1,-1,-1, 1/
      DATA (NHEL(LEG, 2),LEG=1,4) /-1,-1,-1,-1/
      DATA (NHEL(LEG, 3),LEG=1,4) /-1,-1, 1, 1/
      DATA (NHEL(LEG, 4),LEG=1,4) /-1,-1, 1,-1/
      DATA (NHEL(LEG, 5),LEG=1,4) /-1, 1,-1, 1/
      DATA (NHEL(LEG, 6),LEG=1,4) /-1, 1,-1,-1/
      DATA (NHEL(LEG, 7),LEG=1,4) /-1, 1, 1, 1/
      DATA (NHEL(LEG, 8),LEG=1,4) /-1, 1, 1,-1/
      DATA (NHEL(LEG, 9),LEG=1,4) / 1,-1,-1, 1/
      DATA (NHEL(LEG,10),LEG=1,4) / 1,-1,-1,-1/
      DATA (NHEL(LEG,11),LEG=1,4) / 1,-1, 1, 1/
      DATA (NHEL(LEG,12),LEG=1,4) / 1,-1, 1,-1/
      DATA (NHEL(LEG,13),LEG=1,4) / 1, 1,-1, 1/
      DATA (NHEL(LEG,14),LEG=1,4) / 1, 1,-1,-1/
      DATA (NHEL(LEG,15),LEG=1,4) / 1, 1, 1, 1/
      DATA (NHEL(LEG,16),LEG=1,4) / 1, 1, 1,-1/
      REAL*8 AMP2(NGRAPHS), JAMP2(0:2,0:NAMPSO)
      COMMON/TO_AMPS_BORN/AMP2, JAMP2
      REAL*8 HEL_FAC
      INTEGER GET_HEL, SKIP(2)
      COMMON/CBORN/HEL_FAC, GET_HEL, SKIP
      LOGICAL GOODHEL(NCOMB,2)
      COMMON/C_GOODHEL/GOODHEL
      LOGICAL CALCULATEDBORN
      COMMON/CCALCULATEDBORN/CALCULATEDBORN
      INTEGER NFKSPROCESS
      COMMON/C_NFKSPROCESS/NFKSPROCESS

      GLUON = IJ_VALUES(NFKSPROCESS)
C     The rows with the other helicity are so many further.
      SKIP(NFKSPROCESS) = 8
      IF (GLUON.EQ.2) SKIP(NFKSPROCESS) = 4
      DO K = 1, NGRAPHS
        AMP2(K) = 0D0
      ENDDO
      JAMP2 = 0D0
      JAMP2(0,0) = 2
      DO K = 0, NSQAMPSO
        EACH(1,K) = 0D0
        EACH(2,K) = 0D0
      ENDDO
C     Helicities that vanish in the first event are left out later.
      NTRY(NFKSPROCESS) = NTRY(NFKSPROCESS)+1
      DO ROW = 1, NCOMB
        IF (NHEL(GLUON,ROW).EQ.NHEL(GLUON,1)) THEN
          FLIPPED = ROW+SKIP(NFKSPROCESS)
          IF (GOODHEL(ROW,NFKSPROCESS).OR.GOODHEL(FLIPPED,NFKSPROCESS)
     $     .OR.NTRY(NFKSPROCESS).LT.2) THEN
            CALL BORN(P, NHEL(1,ROW), ROW, ONE, PARTS)
            EACH(1,1) = EACH(1,1)+ONE(1,1)
            EACH(2,1) = EACH(2,1)+ONE(2,1)
            IF (PARTS(1,1).NE.0D0) GOODHEL(ROW,NFKSPROCESS) = .TRUE.
            IF (PARTS(2,1).NE.0D0)
     $       GOODHEL(FLIPPED,NFKSPROCESS) = .TRUE.
          ENDIF
        ENDIF
      ENDDO
      DO K = 1, 2
        EACH(K,1) = EACH(K,1)/IDEN_VALUES(NFKSPROCESS)
        EACH(K,0) = EACH(K,1)
      ENDDO
      CALCULATEDBORN = .TRUE.
      END

C     BORN: row HELL of the helicities, and the one with the gluon's
C     other helicity. Keeps the amplitudes in SAVEAMP.
C
      SUBROUTINE BORN(P,NHEL,HELL,ANS,BORNS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'born_nhel.inc'
      INTEGER NGRAPHS, NWAVEFUNCS, NCOLOR, NAMPSO, NSQAMPSO, NMO
      PARAMETER (NGRAPHS=3, NWAVEFUNCS=5)
      PARAMETER (NCOLOR=2, NAMPSO=1, NSQAMPSO=1)
      PARAMETER (NMO=NEXTERNAL-1)
      REAL*8 ZERO
      PARAMETER (ZERO=0D0)
      REAL*8 P(0:3,NEXTERNAL-1), BORNS(2,0:NSQAMPSO)
      INTEGER NHEL(NEXTERNAL-1), HELL
      COMPLEX*16 ANS(2,NSQAMPSO)
      COMPLEX*16 W(8,NWAVEFUNCS), AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO), JAMPH(2,NCOLOR,NAMPSO), SUM_H
      REAL*8 COLORS(NCOLOR,NCOLOR)
      INTEGER IC(NMO), F, H, K, GLUON, NOW, FIRST, WHICH
      REAL*8 AMP2(NGRAPHS), JAMP2(0:2,0:NAMPSO)
      COMMON/TO_AMPS_BORN/AMP2, JAMP2
      COMPLEX*16 SAVEAMP(NGRAPHS,MAX_BHEL)
      COMMON/TO_SAVEAMP/SAVEAMP
      REAL*8 HEL_FAC
      INTEGER GET_HEL, SKIP(2)
      COMMON/CBORN/HEL_FAC, GET_HEL, SKIP
      LOGICAL CALCULATEDBORN
      COMMON/CCALCULATEDBORN/CALCULATEDBORN
      INTEGER NFKSPROCESS
      COMMON/C_NFKSPROCESS/NFKSPROCESS
      INTEGER IJ_VALUES(2), SQSOINDEXB
      INCLUDE 'coupl.inc'
      DATA IC/NMO*1/
      DATA IJ_VALUES/1, 2/
C     Flows T(1,2,3,4) and T(2,1,3,4)
      DATA COLORS/5.333333333333333D0,-6.666666666666666D-1,
     $ -6.666666666666666D-1,5.333333333333333D0/

      GLUON = IJ_VALUES(NFKSPROCESS)
      FIRST = NHEL(GLUON)
      DO K = 0, NSQAMPSO
        BORNS(1,K) = 0D0
        BORNS(2,K) = 0D0
      ENDDO
      DO NOW = FIRST, -FIRST, -2*FIRST
        WHICH = 2-(1+FIRST*NOW)/2
        NHEL(GLUON) = NOW
        IF (.NOT.CALCULATEDBORN) THEN
          CALL VXXXXX(P(0,1),ZERO,NHEL(1),-1*IC(1),W(1,1))
          CALL VXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
          CALL OXXXXX(P(0,3),MDL_MT,NHEL(3),+1*IC(3),W(1,3))
          CALL IXXXXX(P(0,4),MDL_MT,NHEL(4),-1*IC(4),W(1,4))
          CALL VVV1P0_1(W(1,1),W(1,2),GC_10,ZERO,ZERO,W(1,5))
          CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_11,AMP(1))
          CALL FFV1_1(W(1,3),W(1,1),GC_11,MDL_MT,MDL_WT,W(1,5))
          CALL FFV1_0(W(1,4),W(1,5),W(1,2),GC_11,AMP(2))
          CALL FFV1_2(W(1,4),W(1,1),GC_11,MDL_MT,MDL_WT,W(1,5))
          CALL FFV1_0(W(1,5),W(1,3),W(1,2),GC_11,AMP(3))
          DO K = 1, NGRAPHS
            SAVEAMP(K,HELL+(WHICH-1)*SKIP(NFKSPROCESS)) = AMP(K)
          ENDDO
        ELSE
          DO K = 1, NGRAPHS
            AMP(K) = SAVEAMP(K,HELL+(WHICH-1)*SKIP(NFKSPROCESS))
          ENDDO
        ENDIF
        JAMP(1,1) = (0D0,1D0)*AMP(1)-AMP(2)
        JAMP(2,1) = (0D0,-1D0)*AMP(1)-AMP(3)
        DO F = 1, NCOLOR
          SUM_H = 0D0
          DO H = 1, NCOLOR
            SUM_H = SUM_H+COLORS(H,F)*JAMP(H,1)
          ENDDO
          BORNS(WHICH,SQSOINDEXB(1,1)) = BORNS(WHICH,SQSOINDEXB(1,1))
     $     +SUM_H*DCONJG(JAMP(F,1))
        ENDDO
        DO K = 1, NGRAPHS
          AMP2(K) = AMP2(K)+AMP(K)*DCONJG(AMP(K))
        ENDDO
        DO F = 1, NCOLOR
          JAMP2(F,1) = JAMP2(F,1)+JAMP(F,1)*DCONJG(JAMP(F,1))
          JAMPH(WHICH,F,1) = JAMP(F,1)
        ENDDO
      ENDDO
      NHEL(GLUON) = FIRST
      ANS(1,1) = BORNS(1,1)+BORNS(2,1)
C     The other helicity, times the conjugate of the first
      ANS(2,1) = 0D0
      DO F = 1, NCOLOR
        SUM_H = 0D0
        DO H = 1, NCOLOR
          SUM_H = SUM_H+COLORS(H,F)*JAMPH(2,H,1)
        ENDDO
        ANS(2,1) = ANS(2,1)+SUM_H*DCONJG(JAMPH(1,F,1))
      ENDDO
      END

C     SQSOINDEXB: the only squared order.
C
      INTEGER FUNCTION SQSOINDEXB(A, B)
      IMPLICIT NONE
      INTEGER A, B
      SQSOINDEXB = 1
      IF (A.NE.1.OR.B.NE.1) STOP 'no such orders'
      END
