C     g g > t t~ by hand, in the shape that MG5aMC gives it; see
C     README.md at the top of this directory.
C
C     SMATRIX1: the squared matrix element of one point, summed over
C     final and averaged over initial helicities and colours, and a
C     choice of one helicity configuration and of one colour flow.
C
C     P        momenta (E,px,py,pz), incoming legs first
C     RHEL     random number that chooses the helicity configuration
C     RCOL     random number that chooses the colour flow
C     CHANNEL  diagram (from 1) whose share of the squared matrix
C              element is asked for; 0: all of it
C     IVEC     place of the event in its batch: its couplings, IGRAPH
C     ANS      the squared matrix element, or the channel's share of it
C     IHEL     the chosen helicity configuration, from 1
C     ICOL     the chosen colour flow, from 1; 0 where neither CHANNEL
C              nor IGRAPH(IVEC) names a configuration
C
C     Process: g g > t t~ WEIGHTED<=2 @1
C
      SUBROUTINE SMATRIX1(P, RHEL, RCOL, CHANNEL, IVEC, ANS, IHEL,
     $  ICOL)
      IMPLICIT NONE
      INCLUDE 'maxconfigs.inc'
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE '../../Source/vector.inc'
      INTEGER                 NCOMB
      PARAMETER (             NCOMB=16)
      INTEGER    NDIAGS
      PARAMETER (NDIAGS=3)
C     Helicity configurations that contribute nothing to the first
C     MAXTRIES events are left out afterwards.
      INTEGER    MAXTRIES
      PARAMETER (MAXTRIES=25)
C
C     ARGUMENTS
C
      REAL*8 P(0:3,NEXTERNAL),ANS
      DOUBLE PRECISION RHEL
      DOUBLE PRECISION RCOL
      INTEGER CHANNEL
      INTEGER IVEC
      INTEGER IHEL, ICOL
C
C     GLOBAL VARIABLES
C
      LOGICAL GOODHEL(NCOMB, MAXSPROC)
      INTEGER NTRY(MAXSPROC)
      COMMON/BLOCK_GOODHEL/NTRY,GOODHEL
C     For each event a configuration that decides its colour flow in
C     place of the channel's; 0: none.
      INTEGER IGRAPH(VECSIZE_MEMMAX)
      COMMON/VEC_IGRAPH/IGRAPH
C
C     LOCAL VARIABLES
C
      INTEGER CONFSUB(MAXSPROC,LMAXCONFIGS)
      INCLUDE 'config_subproc_map.inc'
      INTEGER NHEL(NEXTERNAL,NCOMB)
      REAL*8 T,MATRIX1
      REAL*8 TS(NCOMB),SUMHEL,XTOT
      INTEGER JC(NEXTERNAL)
      INTEGER I,J,IDEN,ICONFIG
      DOUBLE PRECISION AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
C     Helicities of the legs
      DATA (NHEL(I,   1),I=1,4) /-1,-1,-1, 1/
      DATA (NHEL(I,   2),I=1,4) /-1,-1,-1,-1/
      DATA (NHEL(I,   3),I=1,4) /-1,-1, 1, 1/
      DATA (NHEL(I,   4),I=1,4) /-1,-1, 1,-1/
      DATA (NHEL(I,   5),I=1,4) /-1, 1,-1, 1/
      DATA (NHEL(I,   6),I=1,4) /-1, 1,-1,-1/
      DATA (NHEL(I,   7),I=1,4) /-1, 1, 1, 1/
      DATA (NHEL(I,   8),I=1,4) /-1, 1, 1,-1/
      DATA (NHEL(I,   9),I=1,4) / 1,-1,-1, 1/
      DATA (NHEL(I,  10),I=1,4) / 1,-1,-1,-1/
      DATA (NHEL(I,  11),I=1,4) / 1,-1, 1, 1/
      DATA (NHEL(I,  12),I=1,4) / 1,-1, 1,-1/
      DATA (NHEL(I,  13),I=1,4) / 1, 1,-1, 1/
      DATA (NHEL(I,  14),I=1,4) / 1, 1,-1,-1/
      DATA (NHEL(I,  15),I=1,4) / 1, 1, 1, 1/
      DATA (NHEL(I,  16),I=1,4) / 1, 1, 1,-1/
C     Average over 2*2 helicities and 8*8 colours of the gluons
      DATA IDEN/256/

      NTRY(1)=MIN(NTRY(1),MAXTRIES)+1
      DO I=1,NEXTERNAL
        JC(I) = +1
      ENDDO
      DO I=1,NDIAGS
        AMP2(I)=0D0
      ENDDO
      JAMP2(0)=2
      DO I=1,INT(JAMP2(0))
        JAMP2(I)=0D0
      ENDDO

C     Sum over helicities
      ANS = 0D0
      DO I=1,NCOMB
        TS(I)=0D0
        IF (GOODHEL(I,1) .OR. NTRY(1).LE.MAXTRIES) THEN
          T=MATRIX1(P ,NHEL(1,I),JC(1),I,AMP2, JAMP2, IVEC)
          IF (T.NE.0D0) GOODHEL(I,1)=.TRUE.
          TS(I)=T
          ANS=ANS+T
        ENDIF
      ENDDO

C     Choice of a helicity configuration
      IHEL = 0
      SUMHEL = 0D0
      DO I=1,NCOMB
        SUMHEL = SUMHEL+TS(I)
        IF (RHEL.LT.SUMHEL/ANS) THEN
          IHEL = I
          EXIT
        ENDIF
      ENDDO

C     The channel's share, and its configuration
      ICONFIG = 0
      IF (CHANNEL.NE.0) THEN
        XTOT=0D0
        DO I=1,LMAXCONFIGS
          J = CONFSUB(1, I)
          IF (J.NE.0) XTOT=XTOT+AMP2(J)
          IF (J.EQ.CHANNEL .AND. ICONFIG.EQ.0) ICONFIG=I
        ENDDO
        ANS=ANS*AMP2(CHANNEL)/XTOT
      ENDIF
      ANS=ANS/DBLE(IDEN)

C     Choice of a colour flow
      IF (IGRAPH(IVEC).NE.0) ICONFIG = IGRAPH(IVEC)
      ICOL = 0
      IF (ICONFIG.NE.0) CALL SELECT_COLOR(RCOL, JAMP2, ICONFIG, 1,
     $  ICOL)

      END


C     MATRIX1: one helicity configuration. Returns the square, summed
C     over colours; adds to AMP2 the squares of the single diagrams and
C     to JAMP2 those of the colour flows.
C
      REAL*8 FUNCTION MATRIX1(P,NHEL,IC, IHEL,AMP2, JAMP2, IVEC)
      IMPLICIT NONE
      INTEGER    NGRAPHS
      PARAMETER (NGRAPHS=3)
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INTEGER    NWAVEFUNCS,     NCOLOR
      PARAMETER (NWAVEFUNCS=5, NCOLOR=2)
      INTEGER    NAMPSO
      PARAMETER (NAMPSO=1)
      REAL*8     ZERO
      PARAMETER (ZERO=0D0)
C
C     ARGUMENTS
C
      REAL*8 P(0:3,NEXTERNAL)
      INTEGER NHEL(NEXTERNAL), IC(NEXTERNAL)
      INTEGER IHEL
      INTEGER IVEC
C
C     LOCAL VARIABLES
C
      INTEGER I,J
      COMPLEX*16 ZTEMP
      INTEGER CF(NCOLOR*(NCOLOR+1)/2)
      INTEGER DENOM, CF_INDEX
      COMPLEX*16 AMP(NGRAPHS), JAMP(NCOLOR,NAMPSO)
      COMPLEX*16 W(6,NWAVEFUNCS)
C
C     GLOBAL VARIABLES
C
      INCLUDE '../../Source/vector.inc'
      DOUBLE PRECISION AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      INCLUDE 'coupl.inc'
C
C     COLOR DATA: the upper triangle, row by row, what is off the
C     diagonal counted twice
C
      DATA DENOM/3/
      DATA (CF(I),I=  1,  2) /16,-4/
C     1 T(1,2,3,4)
      DATA (CF(I),I=  3,  3) /16/
C     1 T(2,1,3,4)
C     ----------
C     BEGIN CODE
C     ----------
      CALL VXXXXX(P(0,1),ZERO,NHEL(1),-1*IC(1),W(1,1))
      CALL VXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),MDL_MT,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),MDL_MT,NHEL(4),-1*IC(4),W(1,4))
      CALL VVV1P0_1(W(1,1),W(1,2),GC_10(IVEC),ZERO, ZERO,W(1,5))
C     Amplitude(s) for diagram number 1
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_11(IVEC),AMP(1))
      CALL FFV1_1(W(1,3),W(1,1),GC_11(IVEC),MDL_MT, MDL_WT,W(1,5))
C     Amplitude(s) for diagram number 2
      CALL FFV1_0(W(1,4),W(1,5),W(1,2),GC_11(IVEC),AMP(2))
      CALL FFV1_2(W(1,4),W(1,1),GC_11(IVEC),MDL_MT, MDL_WT,W(1,5))
C     Amplitude(s) for diagram number 3
      CALL FFV1_0(W(1,5),W(1,3),W(1,2),GC_11(IVEC),AMP(3))

      JAMP(:,:) = (0D0,0D0)
      JAMP(1,1) = ((0.000000000000000D+00,1.000000000000000D+00))
     $ *AMP(1)+(-1.000000000000000D+00)*AMP(2)
      JAMP(2,1) = ((0.000000000000000D+00,-1.000000000000000D+00))
     $ *AMP(1)+(-1.000000000000000D+00)*AMP(3)

      MATRIX1 = 0.D0
      CF_INDEX = 0
      DO I = 1, NCOLOR
        ZTEMP = (0.D0,0.D0)
        DO J = I, NCOLOR
          CF_INDEX = CF_INDEX + 1
          ZTEMP = ZTEMP + CF(CF_INDEX)*JAMP(J,1)
        ENDDO
        MATRIX1 = MATRIX1 + DBLE(ZTEMP*DCONJG(JAMP(I,1)))
      ENDDO
      MATRIX1 = MATRIX1/DENOM

      AMP2(1)=AMP2(1)+AMP(1)*DCONJG(AMP(1))
      AMP2(2)=AMP2(2)+AMP(2)*DCONJG(AMP(2))
      AMP2(3)=AMP2(3)+AMP(3)*DCONJG(AMP(3))

      DO I = 1, NCOLOR
        JAMP2(I)=JAMP2(I)+DBLE(JAMP(I,1)*DCONJG(JAMP(I,1)))
      ENDDO

      END
