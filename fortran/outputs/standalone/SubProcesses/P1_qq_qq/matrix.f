C     By hand, with the names and COMMON blocks of MG5aMC's standalone
C     outputs with several coupling orders; see README.md.
C
C     SMATRIX: the squared orders that are wanted, together.
C
      SUBROUTINE SMATRIX(P,ANS)
      IMPLICIT NONE
      INTEGER NEXTERNAL
      PARAMETER (NEXTERNAL=4)
      REAL*8 P(0:3,NEXTERNAL), ANS, EACH(0:3)
      CALL SMATRIX_SPLITORDERS(P,EACH)
      ANS = EACH(0)
      END

C     SMATRIX_SPLITORDERS: them at place 0, each squared order behind
C     it.
C
C     Process: u u~ > u u~ QCD^2==2 QED^2==2 @1
C
      SUBROUTINE SMATRIX_SPLITORDERS(P,EACH)
      IMPLICIT NONE
      INTEGER NEXTERNAL, NCOMB, NSQAMPSO
      PARAMETER (NEXTERNAL=4, NCOMB=16, NSQAMPSO=3)
      REAL*8 P(0:3,NEXTERNAL), EACH(0:NSQAMPSO), PART(NSQAMPSO)
      INTEGER LEG, ROW, K, AVERAGE
      INTEGER NHEL(NEXTERNAL,NCOMB), SENSE(NEXTERNAL)
      COMMON/PROCESS_NHEL/NHEL
      LOGICAL WANTED(NSQAMPSO)
      COMMON/CHOSEN_BORN_SQSO/WANTED
      INTEGER ONLY
      COMMON/HELUSERCHOICE/ONLY
C     Events so far, and helicities that contributed to any
      INTEGER EVENTS
      LOGICAL ALIVE(NCOMB)
      SAVE EVENTS, ALIVE
      DATA WANTED/.FALSE.,.TRUE.,.FALSE./
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
      DATA AVERAGE/36/
      DATA ONLY/-1/, EVENTS/0/, ALIVE/16*.FALSE./

      EVENTS = EVENTS+1
      DO LEG = 1, NEXTERNAL
        SENSE(LEG) = 1
      ENDDO
      DO K = 0, NSQAMPSO
        EACH(K) = 0D0
      ENDDO
      DO ROW = 1, NCOMB
        IF (ONLY.NE.-1.AND.ONLY.NE.ROW) CYCLE
        IF (EVENTS.GE.2.AND.ONLY.EQ.-1.AND..NOT.ALIVE(ROW)) CYCLE
        CALL MATRIX(P,NHEL(1,ROW),SENSE,PART)
        DO K = 1, NSQAMPSO
          EACH(K) = EACH(K)+PART(K)
        ENDDO
        IF (PART(1)+PART(2)+PART(3).NE.0D0) ALIVE(ROW) = .TRUE.
      ENDDO
      DO K = 1, NSQAMPSO
        EACH(K) = EACH(K)/AVERAGE
        IF (WANTED(K)) EACH(0) = EACH(0)+EACH(K)
      ENDDO
      END

C     MATRIX: helicities NHEL alone, not averaged, by squared orders.
C
      SUBROUTINE MATRIX(P,NHEL,IC,RES)
      IMPLICIT NONE
      INTEGER NEXTERNAL
      PARAMETER (NEXTERNAL=4)
      INTEGER NGRAPHS, NWAVEFUNCS, NCOLOR
      PARAMETER (NGRAPHS=6)
      PARAMETER (NWAVEFUNCS=5)
      PARAMETER (NCOLOR=2)
      REAL*8 ZERO
      PARAMETER (ZERO=0D0)
      COMPLEX*16 IMAG1
      PARAMETER (IMAG1=(0D0,1D0))
C     Coupling orders of amplitudes, and of their products
      INTEGER NAMPSO, NSQAMPSO
      PARAMETER (NAMPSO=2, NSQAMPSO=3)
      INTEGER A, B, F, H
      REAL*8 P(0:3,NEXTERNAL)
      INTEGER IC(NEXTERNAL), NHEL(NEXTERNAL)
      COMPLEX*16 W(20,NWAVEFUNCS), AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO), SUM_H
      REAL*8 COLORS(NCOLOR,NCOLOR), RES(NSQAMPSO)
      INTEGER SQSOINDEX, K
      INCLUDE 'coupl.inc'
C     Flows T(2,1) T(3,4) and T(2,4) T(3,1)
      DATA COLORS/9D0,3D0, 3D0,9D0/

      CALL IXXXXX(P(0,1),ZERO,NHEL(1),+1*IC(1),W(1,1))
      CALL OXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),ZERO,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),ZERO,NHEL(4),-1*IC(4),W(1,4))
C     Photon, gluon and Z, first in the s channel
      CALL FFV1P0_3(W(1,1),W(1,2),GC_2,ZERO,ZERO,W(1,5))
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_2,AMP(1))
      CALL FFV1P0_3(W(1,1),W(1,2),GC_11,ZERO,ZERO,W(1,5))
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_11,AMP(2))
      CALL FFV2_3(W(1,1),W(1,2),GC_3,MDL_MZ,MDL_WZ,W(1,5))
      CALL FFV2_0(W(1,4),W(1,3),W(1,5),GC_3,AMP(3))
C     then in the t channel
      CALL FFV1P0_3(W(1,1),W(1,3),GC_2,ZERO,ZERO,W(1,5))
      CALL FFV1_0(W(1,4),W(1,2),W(1,5),GC_2,AMP(4))
      CALL FFV1P0_3(W(1,1),W(1,3),GC_11,ZERO,ZERO,W(1,5))
      CALL FFV1_0(W(1,4),W(1,2),W(1,5),GC_11,AMP(5))
      CALL FFV2_3(W(1,1),W(1,3),GC_3,MDL_MZ,MDL_WZ,W(1,5))
      CALL FFV2_0(W(1,4),W(1,2),W(1,5),GC_3,AMP(6))
C     Gluons
      JAMP(1,1) = 5.0D-01*AMP(5)+(1.666666666666667D-01)*AMP(2)
      JAMP(2,1) = -(1.666666666666667D-01)*AMP(5)-5.0D-01*AMP(2)
C     Photon and Z
      JAMP(1,2) = -AMP(1)-AMP(3)
      JAMP(2,2) = AMP(4)+AMP(6)

      RES = 0D0
      DO A = 1, NAMPSO
        DO F = 1, NCOLOR
          SUM_H = 0D0
          DO H = 1, NCOLOR
            SUM_H = SUM_H+JAMP(H,A)*COLORS(H,F)
          ENDDO
          DO B = 1, NAMPSO
            K = SQSOINDEX(A,B)
            RES(K) = RES(K)+DBLE(SUM_H*DCONJG(JAMP(F,B)))
          ENDDO
        ENDDO
      ENDDO
      END


C     SQSOINDEX: which square an amplitude of orders A and the
C     conjugate of one of orders B contribute to. QCD comes first.
C
      INTEGER FUNCTION SQSOINDEX(A, B)
      IMPLICIT NONE
      INTEGER A, B, BOTH(2), POWER(2,2)
      INTEGER SOINDEX_FOR_SQUARED_ORDERS
      DATA POWER/2,0, 0,2/
      BOTH(1) = POWER(1,A)+POWER(1,B)
      BOTH(2) = POWER(2,A)+POWER(2,B)
      SQSOINDEX = SOINDEX_FOR_SQUARED_ORDERS(BOTH)
      END

C     SOINDEX_FOR_SQUARED_ORDERS: the place of these powers among
C     those of all squares.
C
      INTEGER FUNCTION SOINDEX_FOR_SQUARED_ORDERS(POWER)
      IMPLICIT NONE
      INTEGER POWER(2), SQUARE(2,3), K
      DATA SQUARE/4,0, 2,2, 0,4/
      DO K = 1, 3
        IF (SQUARE(1,K).EQ.POWER(1)) THEN
          IF (SQUARE(2,K).EQ.POWER(2)) GOTO 50
        ENDIF
      ENDDO
      STOP 'no such squared orders'
   50 SOINDEX_FOR_SQUARED_ORDERS = K
      END
