C     d g > t t~ d by hand, in the shape that MG5aMC gives the real
C     emissions of a calculation at next-to-leading order; see README.md
C     at the top.
C
C     SMATRIX1: the squared orders that are wanted, together.
C
C     Process: d g > t t~ d [ QCD ]
C
      SUBROUTINE SMATRIX1(P, ANS_SUMMED)
      IMPLICIT NONE
      INTEGER NEXTERNAL, NSQAMPSO
      PARAMETER (NEXTERNAL=5, NSQAMPSO=1)
      REAL*8 P(0:3,NEXTERNAL), ANS_SUMMED, EACH(0:NSQAMPSO)
      INTEGER K, J, POWERS(2)
      LOGICAL WANTED(NSQAMPSO), FIRST
      INCLUDE 'orders.inc'
      INTEGER GETORDPOWFROMINDEX1, ORDERS_TO_AMP_SPLIT_POS
      DATA WANTED/NSQAMPSO*.TRUE./, FIRST/.TRUE./

      IF (FIRST) THEN
        DO K = 1, NSQAMPSO
          DO J = 1, NSPLITORDERS
            IF (GETORDPOWFROMINDEX1(J,K).GT.NLO_ORDERS(J)) THEN
              WANTED(K) = .FALSE.
              EXIT
            ENDIF
          ENDDO
          WRITE(*,*) 'squared orders', K, WANTED(K)
        ENDDO
        FIRST = .FALSE.
      ENDIF
      AMP_SPLIT(1:AMP_SPLIT_SIZE) = 0D0
      CALL SMATRIX1_SPLITORDERS(P, EACH)
      ANS_SUMMED = 0D0
      DO K = 1, NSQAMPSO
        IF (WANTED(K)) THEN
          ANS_SUMMED = ANS_SUMMED+EACH(K)
          DO J = 1, NSPLITORDERS
            POWERS(J) = GETORDPOWFROMINDEX1(J,K)
          ENDDO
          IF (ABS(EACH(K)).GT.0D0)
     $      AMP_SPLIT(ORDERS_TO_AMP_SPLIT_POS(POWERS)) = EACH(K)
        ENDIF
      ENDDO
      END

C     SMATRIX1_SPLITORDERS: each of them.
C
      SUBROUTINE SMATRIX1_SPLITORDERS(P, EACH)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INTEGER NCOMB, NSQAMPSO
      PARAMETER (NCOMB=32, NSQAMPSO=1)
      REAL*8 P(0:3,NEXTERNAL), EACH(0:NSQAMPSO), ONE(0:NSQAMPSO)
      INTEGER LEG, ROW, K, AVERAGE, EVENTS
      INTEGER NHEL(NEXTERNAL,NCOMB)
      LOGICAL ALIVE(NCOMB)
      DATA (NHEL(LEG, 1),LEG=1,5) /-1,-1,-1,-1,-1/
      DATA (NHEL(LEG, 2),LEG=1,5) /-1,-1,-1,-1, 1/
      DATA (NHEL(LEG, 3),LEG=1,5) /-1,-1,-1, 1,-1/
      DATA (NHEL(LEG, 4),LEG=1,5) /-1,-1,-1, 1, 1/
      DATA (NHEL(LEG, 5),LEG=1,5) /-1,-1, 1,-1,-1/
      DATA (NHEL(LEG, 6),LEG=1,5) /-1,-1, 1,-1, 1/
      DATA (NHEL(LEG, 7),LEG=1,5) /-1,-1, 1, 1,-1/
      DATA (NHEL(LEG, 8),LEG=1,5) /-1,-1, 1, 1, 1/
      DATA (NHEL(LEG, 9),LEG=1,5) /-1, 1,-1,-1,-1/
      DATA (NHEL(LEG,10),LEG=1,5) /-1, 1,-1,-1, 1/
      DATA (NHEL(LEG,11),LEG=1,5) /-1, 1,-1, 1,-1/
      DATA (NHEL(LEG,12),LEG=1,5) /-1, 1,-1, 1, 1/
      DATA (NHEL(LEG,13),LEG=1,5) /-1, 1, 1,-1,-1/
      DATA (NHEL(LEG,14),LEG=1,5) /-1, 1, 1,-1, 1/
      DATA (NHEL(LEG,15),LEG=1,5) /-1, 1, 1, 1,-1/
      DATA (NHEL(LEG,16),LEG=1,5) /-1, 1, 1, 1, 1/
      DATA (NHEL(LEG,17),LEG=1,5) / 1,-1,-1,-1,-1/
      DATA (NHEL(LEG,18),LEG=1,5) / 1,-1,-1,-1, 1/
      DATA (NHEL(LEG,19),LEG=1,5) / 1,-1,-1, 1,-1/
      DATA (NHEL(LEG,20),LEG=1,5) / 1,-1,-1, 1, 1/
      DATA (NHEL(LEG,21),LEG=1,5) / 1,-1, 1,-1,-1/
      DATA (NHEL(LEG,22),LEG=1,5) / 1,-1, 1,-1, 1/
      DATA (NHEL(LEG,23),LEG=1,5) / 1,-1, 1, 1,-1/
      DATA (NHEL(LEG,24),LEG=1,5) / 1,-1, 1, 1, 1/
      DATA (NHEL(LEG,25),LEG=1,5) / 1, 1,-1,-1,-1/
      DATA (NHEL(LEG,26),LEG=1,5) / 1, 1,-1,-1, 1/
      DATA (NHEL(LEG,27),LEG=1,5) / 1, 1,-1, 1,-1/
      DATA (NHEL(LEG,28),LEG=1,5) / 1, 1,-1, 1, 1/
      DATA (NHEL(LEG,29),LEG=1,5) / 1, 1, 1,-1,-1/
      DATA (NHEL(LEG,30),LEG=1,5) / 1, 1, 1,-1, 1/
      DATA (NHEL(LEG,31),LEG=1,5) / 1, 1, 1, 1,-1/
      DATA (NHEL(LEG,32),LEG=1,5) / 1, 1, 1, 1, 1/
      DATA AVERAGE/96/, EVENTS/0/, ALIVE/NCOMB*.FALSE./

      EVENTS = EVENTS+1
      DO K = 0, NSQAMPSO
        EACH(K) = 0D0
      ENDDO
      DO ROW = 1, NCOMB
        IF (EVENTS.LT.2.OR.ALIVE(ROW)) THEN
          CALL MATRIX_1(P, NHEL(1,ROW), ONE)
          IF (ONE(0).NE.0D0) ALIVE(ROW) = .TRUE.
          EACH(1) = EACH(1)+ONE(1)
        ENDIF
      ENDDO
      EACH(1) = EACH(1)/AVERAGE
      EACH(0) = EACH(1)
      END

C     MATRIX_1: one row of helicities, not averaged.
C
      SUBROUTINE MATRIX_1(P,NHEL,RES)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INTEGER NGRAPHS, NWAVEFUNCS, NCOLOR, NAMPSO, NSQAMPSO
      PARAMETER (NGRAPHS=5, NWAVEFUNCS=8)
      PARAMETER (NCOLOR=4, NAMPSO=1, NSQAMPSO=1)
      REAL*8 ZERO
      PARAMETER (ZERO=0D0)
      REAL*8 P(0:3,NEXTERNAL), RES(0:NSQAMPSO)
      INTEGER NHEL(NEXTERNAL), IC(NEXTERNAL), F, H
      COMPLEX*16 W(8,NWAVEFUNCS), AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO), SUM_H
      REAL*8 COLORS(NCOLOR,NCOLOR)
      INCLUDE 'coupl.inc'
      DATA IC/NEXTERNAL*1/
C     Flows T(2,3,1) T(5,4), T(2,3,4) T(5,1), T(2,5,1) T(3,4) and
C     T(2,5,4) T(3,1)
      DATA COLORS/12D0,4D0,4D0,0D0, 4D0,12D0,0D0,4D0,
     $ 4D0,0D0,12D0,4D0, 0D0,4D0,4D0,12D0/

      CALL IXXXXX(P(0,1),ZERO,NHEL(1),+1*IC(1),W(1,1))
      CALL VXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),MDL_MT,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),MDL_MT,NHEL(4),-1*IC(4),W(1,4))
      CALL OXXXXX(P(0,5),ZERO,NHEL(5),+1*IC(5),W(1,5))
C     The gluon on the light quarks: before, and behind
      CALL FFV1P0_3(W(1,4),W(1,3),GC_11,ZERO,ZERO,W(1,6))
      CALL FFV1_2(W(1,1),W(1,2),GC_11,ZERO,ZERO,W(1,7))
      CALL FFV1_0(W(1,7),W(1,5),W(1,6),GC_11,AMP(1))
      CALL FFV1_1(W(1,5),W(1,2),GC_11,ZERO,ZERO,W(1,7))
      CALL FFV1_0(W(1,1),W(1,7),W(1,6),GC_11,AMP(2))
C     on the top quark, and on its antiquark
      CALL FFV1P0_3(W(1,1),W(1,5),GC_11,ZERO,ZERO,W(1,8))
      CALL FFV1_1(W(1,3),W(1,2),GC_11,MDL_MT,MDL_WT,W(1,7))
      CALL FFV1_0(W(1,4),W(1,7),W(1,8),GC_11,AMP(3))
      CALL FFV1_2(W(1,4),W(1,2),GC_11,MDL_MT,MDL_WT,W(1,7))
      CALL FFV1_0(W(1,7),W(1,3),W(1,8),GC_11,AMP(4))
C     on the gluon between them
      CALL VVV1_0(W(1,8),W(1,2),W(1,6),GC_10,AMP(5))

      JAMP(1,1) = -5D-1*AMP(1)-5D-1*AMP(3)+(0D0,-5D-1)*AMP(5)
      JAMP(2,1) = (1.666666666666667D-1)*AMP(3)
     $ +(1.666666666666667D-1)*AMP(4)
      JAMP(3,1) = (1.666666666666667D-1)*AMP(1)
     $ +(1.666666666666667D-1)*AMP(2)
      JAMP(4,1) = -5D-1*AMP(2)-5D-1*AMP(4)+(0D0,5D-1)*AMP(5)

      RES(1) = 0D0
      DO F = 1, NCOLOR
        SUM_H = 0D0
        DO H = 1, NCOLOR
          SUM_H = SUM_H+COLORS(H,F)*JAMP(H,1)
        ENDDO
        RES(1) = RES(1)+SUM_H*DCONJG(JAMP(F,1))
      ENDDO
      RES(0) = RES(1)
      END

C     GETORDPOWFROMINDEX1: the power of a coupling in a squared order.
C
      INTEGER FUNCTION GETORDPOWFROMINDEX1(COUPLING, K)
      IMPLICIT NONE
      INTEGER COUPLING, K, POWER(2)
      DATA POWER/6,0/
      GETORDPOWFROMINDEX1 = POWER(COUPLING)
      IF (K.NE.1) STOP 'no such squared orders'
      END
