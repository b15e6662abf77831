C     By hand, in the shape of MG5aMC's standalone outputs where
C     coupling orders are split; see README.md.
C
C     SMATRIX: the sum of the squared orders that are asked for.
C
      SUBROUTINE SMATRIX(P,ANS_SUMMED)
      IMPLICIT NONE
      INTEGER    NEXTERNAL
      PARAMETER (NEXTERNAL=4)
      INTEGER NSQAMPSO
      PARAMETER (NSQAMPSO=3)
      REAL*8 P(0:3,NEXTERNAL), ANS_SUMMED
      REAL*8 ANS(0:NSQAMPSO)
      CALL SMATRIX_SPLITORDERS(P,ANS)
      ANS_SUMMED=ANS(0)
      END

C
C     SMATRIX_SPLITORDERS: each of them, and in ANS(0) what SMATRIX
C     gives back.
C
C     Process: u u~ > u u~ QCD^2==2 QED^2==2 @1
C
      SUBROUTINE SMATRIX_SPLITORDERS(P,ANS)
      IMPLICIT NONE
      INTEGER    NEXTERNAL
      PARAMETER (NEXTERNAL=4)
      INTEGER                 NCOMB
      PARAMETER (             NCOMB=16)
      INTEGER NSQAMPSO
      PARAMETER (NSQAMPSO=3)
      LOGICAL CHOSEN_SO_CONFIGS(NSQAMPSO)
      DATA CHOSEN_SO_CONFIGS/.FALSE.,.TRUE.,.FALSE./
      COMMON/CHOSEN_BORN_SQSO/CHOSEN_SO_CONFIGS
      REAL*8 P(0:3,NEXTERNAL),ANS(0:NSQAMPSO)
      INTEGER NTRY
      REAL*8 T(NSQAMPSO), BUFF
      INTEGER IHEL,IDEN, I
      INTEGER JC(NEXTERNAL)
      LOGICAL GOODHEL(NCOMB)
      DATA NTRY/0/
      DATA GOODHEL/NCOMB*.FALSE./
      INTEGER NHEL(NEXTERNAL,NCOMB)
      COMMON/PROCESS_NHEL/NHEL
      INTEGER USERHEL
      COMMON/HELUSERCHOICE/USERHEL
      DATA USERHEL/-1/
      DATA (NHEL(I,   1),I=1,4) /-1,-1,-1,-1/
      DATA (NHEL(I,   2),I=1,4) /-1,-1,-1, 1/
      DATA (NHEL(I,   3),I=1,4) /-1,-1, 1,-1/
      DATA (NHEL(I,   4),I=1,4) /-1,-1, 1, 1/
      DATA (NHEL(I,   5),I=1,4) /-1, 1,-1,-1/
      DATA (NHEL(I,   6),I=1,4) /-1, 1,-1, 1/
      DATA (NHEL(I,   7),I=1,4) /-1, 1, 1,-1/
      DATA (NHEL(I,   8),I=1,4) /-1, 1, 1, 1/
      DATA (NHEL(I,   9),I=1,4) / 1,-1,-1,-1/
      DATA (NHEL(I,  10),I=1,4) / 1,-1,-1, 1/
      DATA (NHEL(I,  11),I=1,4) / 1,-1, 1,-1/
      DATA (NHEL(I,  12),I=1,4) / 1,-1, 1, 1/
      DATA (NHEL(I,  13),I=1,4) / 1, 1,-1,-1/
      DATA (NHEL(I,  14),I=1,4) / 1, 1,-1, 1/
      DATA (NHEL(I,  15),I=1,4) / 1, 1, 1,-1/
      DATA (NHEL(I,  16),I=1,4) / 1, 1, 1, 1/
      DATA IDEN/36/

      NTRY=NTRY+1
      DO IHEL=1,NEXTERNAL
        JC(IHEL) = +1
      ENDDO
      DO I=1,NSQAMPSO
        ANS(I) = 0D0
      ENDDO
      DO IHEL=1,NCOMB
        IF (USERHEL.EQ.-1.OR.USERHEL.EQ.IHEL) THEN
          IF (GOODHEL(IHEL) .OR. NTRY .LT. 2 .OR.USERHEL.NE.-1) THEN
            CALL MATRIX(P ,NHEL(1,IHEL),JC(1), T)
            BUFF=0D0
            DO I=1,NSQAMPSO
              ANS(I)=ANS(I)+T(I)
              BUFF=BUFF+T(I)
            ENDDO
            IF (BUFF .NE. 0D0 .AND. .NOT.    GOODHEL(IHEL)) THEN
              GOODHEL(IHEL)=.TRUE.
            ENDIF
          ENDIF
        ENDIF
      ENDDO
      ANS(0)=0.0D0
      DO I=1,NSQAMPSO
        ANS(I)=ANS(I)/DBLE(IDEN)
        IF (CHOSEN_SO_CONFIGS(I)) THEN
          ANS(0)=ANS(0)+ANS(I)
        ENDIF
      ENDDO
      END

C
C     MATRIX: one helicity configuration, by squared orders.
C
      SUBROUTINE MATRIX(P,NHEL,IC,RES)
      IMPLICIT NONE
      INTEGER    NGRAPHS
      PARAMETER (NGRAPHS=6)
      INTEGER    NEXTERNAL
      PARAMETER (NEXTERNAL=4)
      INTEGER    NWAVEFUNCS, NCOLOR
      PARAMETER (NWAVEFUNCS=5, NCOLOR=2)
      INTEGER NAMPSO, NSQAMPSO
      PARAMETER (NAMPSO=2, NSQAMPSO=3)
      REAL*8     ZERO
      PARAMETER (ZERO=0D0)
      REAL*8 P(0:3,NEXTERNAL)
      INTEGER NHEL(NEXTERNAL), IC(NEXTERNAL)
      REAL*8 RES(NSQAMPSO)
      INTEGER I,J,M,N
      COMPLEX*16 ZTEMP
      REAL*8 CF(NCOLOR,NCOLOR)
      COMPLEX*16 AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO)
      COMPLEX*16 W(20,NWAVEFUNCS)
      INTEGER SQSOINDEX
      INCLUDE 'coupl.inc'
      DATA (CF(I,  1),I=  1,  2) /9.000000000000000D+00
     $ ,3.000000000000000D+00/
C     1 T(2,1) T(3,4)
      DATA (CF(I,  2),I=  1,  2) /3.000000000000000D+00
     $ ,9.000000000000000D+00/
C     1 T(2,4) T(3,1)

      CALL IXXXXX(P(0,1),ZERO,NHEL(1),+1*IC(1),W(1,1))
      CALL OXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),ZERO,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),ZERO,NHEL(4),-1*IC(4),W(1,4))
      CALL FFV1P0_3(W(1,1),W(1,2),GC_2,ZERO,ZERO,W(1,5))
C     Diagram 1
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_2,AMP(1))
      CALL FFV1P0_3(W(1,1),W(1,2),GC_11,ZERO,ZERO,W(1,5)
     $ )
C     Diagram 2
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_11,AMP(2))
      CALL FFV2_3(W(1,1),W(1,2),GC_3,MDL_MZ,MDL_WZ,W(1,5))
C     Diagram 3
      CALL FFV2_0(W(1,4),W(1,3),W(1,5),GC_3,AMP(3))
      CALL FFV1P0_3(W(1,1),W(1,3),GC_2,ZERO,ZERO,W(1,5))
C     Diagram 4
      CALL FFV1_0(W(1,4),W(1,2),W(1,5),GC_2,AMP(4))
      CALL FFV1P0_3(W(1,1),W(1,3),GC_11,ZERO,ZERO,W(1,5)
     $ )
C     Diagram 5
      CALL FFV1_0(W(1,4),W(1,2),W(1,5),GC_11,AMP(5))
      CALL FFV2_3(W(1,1),W(1,3),GC_3,MDL_MZ,MDL_WZ,W(1,5))
C     Diagram 6
      CALL FFV2_0(W(1,4),W(1,2),W(1,5),GC_3,AMP(6))
C     Orders QCD=2 QED=0
      JAMP(1,1) = (1.666666666666667D-01)*AMP(2)+(5.000000000000000D
     $ -01)*AMP(5)
      JAMP(2,1) = (-5.000000000000000D-01)*AMP(2)+(-1.666666666666667D
     $ -01)*AMP(5)
C     Orders QCD=0 QED=2
      JAMP(1,2) = (-1.000000000000000D+00)*AMP(1)+(-1.000000000000000D
     $ +00)*AMP(3)
      JAMP(2,2) = AMP(4)+AMP(6)

      RES = 0.D0
      DO M = 1, NAMPSO
        DO I = 1, NCOLOR
          ZTEMP = (0.D0,0.D0)
          DO J = 1, NCOLOR
            ZTEMP = ZTEMP + CF(J,I)*JAMP(J,M)
          ENDDO
          DO N = 1, NAMPSO
            RES(SQSOINDEX(M,N)) = RES(SQSOINDEX(M,N)) + ZTEMP
     $       *DCONJG(JAMP(I,N))
          ENDDO
        ENDDO
      ENDDO
      END


C     The number of a pair of orders (QCD, QED) among those of squares.
C
      INTEGER FUNCTION SQSOINDEX(ORDERINDEXA, ORDERINDEXB)
      IMPLICIT NONE
      INTEGER    NSO, NAMPSO
      PARAMETER (NSO=2, NAMPSO=2)
      INTEGER ORDERINDEXA, ORDERINDEXB
      INTEGER I, SQORDERS(NSO)
      INTEGER AMPSPLITORDERS(NAMPSO,NSO)
      DATA (AMPSPLITORDERS(  1,I),I=  1,  2) /    2,    0/
      DATA (AMPSPLITORDERS(  2,I),I=  1,  2) /    0,    2/
      INTEGER SOINDEX_FOR_SQUARED_ORDERS
      DO I=1,NSO
        SQORDERS(I)=AMPSPLITORDERS(ORDERINDEXA,I)
     $   +AMPSPLITORDERS(ORDERINDEXB,I)
      ENDDO
      SQSOINDEX=SOINDEX_FOR_SQUARED_ORDERS(SQORDERS)
      END


      INTEGER FUNCTION SOINDEX_FOR_SQUARED_ORDERS(ORDERS)
      IMPLICIT NONE
      INTEGER    NSO, NSQSO
      PARAMETER (NSO=2, NSQSO=3)
      INTEGER ORDERS(NSO)
      INTEGER I,J
      INTEGER SQSPLITORDERS(NSQSO,NSO)
      DATA (SQSPLITORDERS(  1,I),I=  1,  2) /    4,    0/
      DATA (SQSPLITORDERS(  2,I),I=  1,  2) /    2,    2/
      DATA (SQSPLITORDERS(  3,I),I=  1,  2) /    0,    4/
      DO I=1,NSQSO
        DO J=1,NSO
          IF (ORDERS(J).NE.SQSPLITORDERS(I,J)) GOTO 1009
        ENDDO
        SOINDEX_FOR_SQUARED_ORDERS = I
        RETURN
 1009   CONTINUE
      ENDDO
      WRITE(*,*) 'no squared orders ',(ORDERS(I),I=1,NSO)
      STOP
      END
