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
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE 'maxconfigs.inc'
      INCLUDE '../../Source/vector.inc'
      INTEGER NCOMB, NDIAGS
      PARAMETER (NCOMB=16, NDIAGS=3)
C     Helicity configurations that contribute nothing to the first
C     MAXTRIES events are left out afterwards.
      INTEGER MAXTRIES
      PARAMETER (MAXTRIES=25)
      REAL*8 P(0:3,NEXTERNAL), RHEL, RCOL, ANS
      INTEGER CHANNEL, IVEC, IHEL, ICOL
      REAL*8 MATRIX1, PART(NCOMB), LEFT, BOTH
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      INTEGER I, LEG, ROW, D, CONFIG, IDEN
      INTEGER NHEL(NEXTERNAL,NCOMB), SENSE(NEXTERNAL)
C     Events so far, and helicities that contributed to any
      INTEGER EVENTS(MAXSPROC)
      LOGICAL ALIVE(NCOMB,MAXSPROC)
      COMMON/BLOCK_GOODHEL/EVENTS,ALIVE
C     For each event a configuration that decides its colour flow in
C     place of the channel's; 0: none.
      INTEGER IGRAPH(VECSIZE_MEMMAX)
      COMMON/VEC_IGRAPH/IGRAPH
      INTEGER CONFSUB(MAXSPROC,LMAXCONFIGS)
      INCLUDE 'config_subproc_map.inc'
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
C     Average over 2*2 helicities and 8*8 colours of the gluons
      DATA IDEN/256/

      DO LEG = 1, NEXTERNAL
        SENSE(LEG) = 1
      ENDDO
      DO D = NDIAGS, 1, -1
        AMP2(D) = 0D0
      ENDDO
      DO D = 2, 1, -1
        JAMP2(D) = 0D0
      ENDDO
      JAMP2(0) = 2
      EVENTS(1) = MIN(MAXTRIES,EVENTS(1))+1
      ANS = 0D0
      DO ROW = 1, NCOMB
        PART(ROW) = 0D0
        IF (EVENTS(1).LE.MAXTRIES.OR.ALIVE(ROW,1)) THEN
          PART(ROW) = MATRIX1(P,NHEL(1,ROW),SENSE,ROW,AMP2,JAMP2,IVEC)
          ALIVE(ROW,1) = ALIVE(ROW,1).OR.PART(ROW).NE.0D0
          ANS = ANS+PART(ROW)
        ENDIF
      ENDDO

C     The first helicities whose running sum is above RHEL of all
      IHEL = 0
      LEFT = 0D0
      DO ROW = 1, NCOMB
        LEFT = LEFT+PART(ROW)
        IF (IHEL.EQ.0.AND.LEFT/ANS.GT.RHEL) IHEL = ROW
      ENDDO

C     The channel's share, and its configuration
      CONFIG = 0
      IF (CHANNEL.NE.0) THEN
        BOTH = 0D0
        DO D = LMAXCONFIGS, 1, -1
          IF (CONFSUB(1,D).EQ.CHANNEL) CONFIG = D
          IF (CONFSUB(1,D).GT.0) BOTH = BOTH+AMP2(CONFSUB(1,D))
        ENDDO
        ANS = AMP2(CHANNEL)/BOTH*ANS
      ENDIF
      ANS = ANS/IDEN

C     A colour flow
      IF (IGRAPH(IVEC).NE.0) CONFIG = IGRAPH(IVEC)
      ICOL = 0
      IF (CONFIG.GT.0) CALL SELECT_COLOR(RCOL,JAMP2,CONFIG,1,ICOL)

      END


C     MATRIX1: one helicity configuration. Returns the square, summed
C     over colours; adds to AMP2 the squares of the single diagrams and
C     to JAMP2 those of the colour flows.
C
      REAL*8 FUNCTION MATRIX1(P, NHEL, IC, IHEL, AMP2, JAMP2, IVEC)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE '../../Source/vector.inc'
      INTEGER NGRAPHS, NWAVEFUNCS, NCOLOR, NAMPSO
      PARAMETER (NGRAPHS=3, NWAVEFUNCS=5)
      PARAMETER (NCOLOR=2, NAMPSO=1)
      REAL*8 ZERO
      PARAMETER (ZERO=0D0)
      REAL*8 P(0:3,NEXTERNAL)
      INTEGER IC(NEXTERNAL), NHEL(NEXTERNAL), IHEL, IVEC
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      COMPLEX*16 W(6,NWAVEFUNCS), AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO), SUM_H
      INTEGER F, H, PLACE
C     Colour: row by row from the diagonal, what is off it twice; all
C     over BELOW. Flows T(1,2,3,4) and T(2,1,3,4)
      INTEGER TRIANGLE(NCOLOR*(NCOLOR+1)/2), BELOW
      INCLUDE 'coupl.inc'
      DATA TRIANGLE/16,-4,16/
      DATA BELOW/3/

      CALL VXXXXX(P(0,1),ZERO,NHEL(1),-1*IC(1),W(1,1))
      CALL VXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),MDL_MT,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),MDL_MT,NHEL(4),-1*IC(4),W(1,4))
C     s channel
      CALL VVV1P0_1(W(1,1),W(1,2),GC_10(IVEC),ZERO, ZERO,W(1,5))
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_11(IVEC),AMP(1))
C     t and u channel
      CALL FFV1_1(W(1,3),W(1,1),GC_11(IVEC),MDL_MT, MDL_WT,W(1,5))
      CALL FFV1_0(W(1,4),W(1,5),W(1,2),GC_11(IVEC),AMP(2))
      CALL FFV1_2(W(1,4),W(1,1),GC_11(IVEC),MDL_MT, MDL_WT,W(1,5))
      CALL FFV1_0(W(1,5),W(1,3),W(1,2),GC_11(IVEC),AMP(3))

      JAMP(:,:) = (0D0,0D0)
      JAMP(1,1) = (0D0,1D0)*AMP(1)-AMP(2)
      JAMP(2,1) = (0D0,-1D0)*AMP(1)-AMP(3)

      MATRIX1 = 0D0
      PLACE = 0
      DO F = 1, NCOLOR
        SUM_H = 0D0
        DO H = F, NCOLOR
          PLACE = PLACE+1
          SUM_H = SUM_H+JAMP(H,1)*TRIANGLE(PLACE)
        ENDDO
        MATRIX1 = MATRIX1+DBLE(SUM_H*DCONJG(JAMP(F,1)))
      ENDDO
      MATRIX1 = MATRIX1/BELOW

      AMP2(1)=AMP2(1)+AMP(1)*DCONJG(AMP(1))
      AMP2(2)=AMP2(2)+AMP(2)*DCONJG(AMP(2))
      AMP2(3)=AMP2(3)+AMP(3)*DCONJG(AMP(3))
      DO F = 1, NCOLOR
        JAMP2(F) = DBLE(JAMP(F,1)*DCONJG(JAMP(F,1)))+JAMP2(F)
      ENDDO

      END
