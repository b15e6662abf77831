C     By hand, in the shape that MG5aMC 3.6 and 3.7 give it; see
C     README.md. SMATRIX2: the sum over helicities, with the sign of
C     the chosen one; the share of a channel; a colour flow.
C
C     Process: u u~ > mu- mu+ @1
C
      SUBROUTINE SMATRIX2(P, RHEL, RCOL, CHANNEL, IVEC, ANS, IHEL,
     $  ICOL)
      IMPLICIT NONE
      INCLUDE 'genps.inc'
      INCLUDE 'maxconfigs.inc'
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE '../../Source/vector.inc'  ! defines VECSIZE_MEMMAX
      INTEGER                 NCOMB
      PARAMETER (             NCOMB=16)
      INTEGER    NDIAGS
      PARAMETER (NDIAGS=2)
      REAL*8 P(0:3,NEXTERNAL),ANS
      DOUBLE PRECISION RHEL  ! chooses a helicity
      DOUBLE PRECISION RCOL  ! chooses a colour flow
      INTEGER CHANNEL
      INTEGER IVEC
      INTEGER IHEL, ICOL
      LOGICAL GOODHEL(NCOMB, MAXSPROC)
      INTEGER NTRY(MAXSPROC)
      COMMON/BLOCK_GOODHEL/NTRY,GOODHEL
      INTEGER CONFSUB(MAXSPROC,LMAXCONFIGS)
      INCLUDE 'config_subproc_map.inc'
      INTEGER NHEL(NEXTERNAL,NCOMB)
      REAL*8 T,MATRIX2
      REAL*8 SUMHEL,TS(NCOMB),XTOT
      INTEGER I,J,IDEN
      INTEGER JC(NEXTERNAL)
      DOUBLE PRECISION AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      INTEGER          ISUM_HEL
      LOGICAL                    MULTI_CHANNEL
      COMMON/TO_MATRIX/ISUM_HEL, MULTI_CHANNEL
      INTEGER MAPCONFIG(0:LMAXCONFIGS), ICONFIG
      COMMON/TO_MCONFIGS/MAPCONFIG, ICONFIG
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

      NTRY(2)=NTRY(2)+1
      DO I=1,NEXTERNAL
        JC(I) = +1
      ENDDO
      IF (MULTI_CHANNEL) THEN
        DO I=1,NDIAGS
          AMP2(I)=0D0
        ENDDO
      ENDIF
      JAMP2(0)=1
      DO I=1,INT(JAMP2(0))
        JAMP2(I)=0D0
      ENDDO
      ANS = 0D0
      DO I=1,NCOMB
        TS(I)=0D0
        IF (GOODHEL(I,2) .OR. NTRY(2).LE.MAXTRIES) THEN
          T=MATRIX2(P ,NHEL(1,I),JC(1),I,AMP2, JAMP2, IVEC)
          ANS=ANS+DABS(T)
          TS(I)=T
        ENDIF
      ENDDO
      DO I=1,NCOMB
        IF (DABS(TS(I)).GT.ANS*LIMHEL/NCOMB) GOODHEL(I,2)=.TRUE.
      ENDDO
      IF (ANS.NE.0D0) THEN
        SUMHEL=0D0
        DO I=1,NCOMB
          SUMHEL=SUMHEL+DABS(TS(I))/ANS
          IF(RHEL.LT.SUMHEL)THEN
            IHEL = I
            ANS=DSIGN(ANS,TS(I))
            GOTO 10
          ENDIF
        ENDDO
 10     CONTINUE
      ENDIF
      IF (MULTI_CHANNEL) THEN
        XTOT=0D0
        DO I=1,LMAXCONFIGS
          J = CONFSUB(2, I)
          IF (J.NE.0) XTOT=XTOT+AMP2(J)
        ENDDO
        IF (XTOT.NE.0D0) ANS=ANS*AMP2(CHANNEL)/XTOT
      ENDIF
      ANS=ANS/DBLE(IDEN)
      CALL SELECT_COLOR(RCOL, JAMP2, ICONFIG,2,  ICOL)
      END


C     MATRIX2: one helicity configuration.
C
      REAL*8 FUNCTION MATRIX2(P,NHEL,IC, IHEL,AMP2, JAMP2, IVEC)
      IMPLICIT NONE
      INTEGER    NGRAPHS
      PARAMETER (NGRAPHS=2)
      INCLUDE 'genps.inc'
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INTEGER    NWAVEFUNCS,     NCOLOR
      PARAMETER (NWAVEFUNCS=5, NCOLOR=1)
      REAL*8     ZERO
      PARAMETER (ZERO=0D0)
      COMPLEX*16 IMAG1
      PARAMETER (IMAG1=(0D0,1D0))
      INTEGER NAMPSO, NSQAMPSO
      PARAMETER (NAMPSO=1, NSQAMPSO=1)
      LOGICAL CHOSEN_SO_CONFIGS(NSQAMPSO)
      DATA CHOSEN_SO_CONFIGS/.TRUE./
      SAVE CHOSEN_SO_CONFIGS
      REAL*8 P(0:3,NEXTERNAL)
      INTEGER NHEL(NEXTERNAL), IC(NEXTERNAL)
      INTEGER IHEL
      INTEGER IVEC
      INTEGER I,J,M,N
      COMPLEX*16 ZTEMP
      INTEGER CF(NCOLOR*(NCOLOR+1)/2)
      INTEGER DENOM, CF_INDEX
      COMPLEX*16 AMP(NGRAPHS), JAMP(NCOLOR,NAMPSO)
      COMPLEX*16 W(6,NWAVEFUNCS)
      DOUBLE PRECISION FK_ZERO
      DOUBLE PRECISION FK_MDL_WZ
      SAVE FK_ZERO
      SAVE FK_MDL_WZ
      LOGICAL FIRST
      DATA FIRST /.TRUE./
      SAVE FIRST
      INTEGER SQSOINDEX2
      INCLUDE '../../Source/vector.inc'  ! defines VECSIZE_MEMMAX
      DOUBLE PRECISION AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      INCLUDE 'coupl.inc'
      DOUBLE PRECISION SMALL_WIDTH_TREATMENT
      COMMON/NARROW_WIDTH/SMALL_WIDTH_TREATMENT
      DATA DENOM/1/
      DATA (CF(I),I=  1,  1) /3/
C     1 T(2,1)
      IF (FIRST) THEN
        FIRST=.FALSE.
        FK_ZERO = 0D0
        IF(MDL_WZ.NE.0D0) THEN
          FK_MDL_WZ = SIGN(MAX(ABS(MDL_WZ), ABS(MDL_MZ
     $     *SMALL_WIDTH_TREATMENT)), MDL_WZ)
        ELSE
          FK_MDL_WZ = 0D0
        ENDIF
      ENDIF

      CALL IXXXXX(P(0,1),ZERO,NHEL(1),+1*IC(1),W(1,1))
      CALL OXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),ZERO,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),ZERO,NHEL(4),-1*IC(4),W(1,4))
      CALL FFV1P0_3(W(1,1),W(1,2),GC_2,ZERO, FK_ZERO,W(1,5))
C     Diagram 1
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_1,AMP(1))
      CALL FFV2_3(W(1,1),W(1,2),GC_3,MDL_MZ, FK_MDL_WZ,W(1,5))
C     Diagram 2
      CALL FFV2_0(W(1,4),W(1,3),W(1,5),GC_3,AMP(2))
      JAMP(:,:) = (0D0,0D0)
C     Orders ALL_ORDERS=1
      JAMP(1,1) = AMP(1)+AMP(2)

      MATRIX2 = 0.D0
      DO M = 1, NAMPSO
        CF_INDEX = 0
        DO I = 1, NCOLOR
          ZTEMP = (0.D0,0.D0)
          DO J = I, NCOLOR
            CF_INDEX = CF_INDEX + 1
            ZTEMP = ZTEMP + CF(CF_INDEX)*JAMP(J,M)
          ENDDO
          DO N = 1, NAMPSO
            MATRIX2 = MATRIX2
     $ +ZTEMP*DCONJG(JAMP(I,N))
          ENDDO
        ENDDO
      ENDDO
      MATRIX2 = MATRIX2/DENOM

      AMP2(1)=AMP2(1)+AMP(1)*DCONJG(AMP(1))
      AMP2(2)=AMP2(2)+AMP(2)*DCONJG(AMP(2))

      DO I = 1, NCOLOR
        DO M = 1, NAMPSO
          DO N = 1, NAMPSO
            JAMP2(I)=JAMP2(I)+DABS(DBLE(JAMP(I,M)
     $ *DCONJG(JAMP(I,N))))
          ENDDO
        ENDDO
      ENDDO

      END


C     The number of a pair of orders: there is one.
C
      INTEGER FUNCTION SQSOINDEX2(ORDERINDEXA, ORDERINDEXB)
      IMPLICIT NONE
      INTEGER ORDERINDEXA, ORDERINDEXB
      SQSOINDEX2 = ORDERINDEXA*ORDERINDEXB
      END
