C     Process: @NAME@
C
C     Written by mebridge: the squared matrix element of one event, summed
C     over final and averaged over initial helicities and colours, and a
C     choice of one helicity configuration and of one colour flow.
C
C     P        momenta (E,px,py,pz), incoming legs first
C     RHEL     random number that chooses the helicity configuration
C     RCOL     random number that chooses the colour flow
C     CHANNEL  diagram (from 1) whose share of the squared matrix
C              element is requested; 0: all of it
C     IVEC     place of the event in its batch: its couplings, IGRAPH
C     ANS      the squared matrix element, or the channel's share of it
C     IHEL     the chosen helicity configuration, from 1
C     ICOL     the chosen colour flow, from 1; 0 where neither CHANNEL
C              nor IGRAPH(IVEC) names a configuration
C
      SUBROUTINE SMATRIX1(P, RHEL, RCOL, CHANNEL, IVEC, ANS, IHEL,
     $  ICOL)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE 'maxconfigs.inc'
      INCLUDE '../../Source/vector.inc'
      INTEGER NCOMB, NDIAGS, NCOLOR
      PARAMETER (NCOMB=@NCOMB@, NDIAGS=@NDIAGS@)
      PARAMETER (NCOLOR=@NCOLOR@)
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
@NHEL@
C     Average over what comes in, and equal particles that go out
      DATA IDEN/@IDEN@/

      DO LEG = 1, NEXTERNAL
        SENSE(LEG) = 1
      ENDDO
      DO D = 1, NDIAGS
        AMP2(D) = 0D0
      ENDDO
      DO D = 1, NCOLOR
        JAMP2(D) = 0D0
      ENDDO
      JAMP2(0) = NCOLOR
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
      PARAMETER (NGRAPHS=@NGRAPHS@, NWAVEFUNCS=@NWAVEFUNCS@)
      PARAMETER (NCOLOR=@NCOLOR@, NAMPSO=1)
      REAL*8 ZERO
      PARAMETER (ZERO=0D0)
      REAL*8 P(0:3,NEXTERNAL)
      INTEGER IC(NEXTERNAL), NHEL(NEXTERNAL), IHEL, IVEC
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      COMPLEX*16 W(6,NWAVEFUNCS), AMP(NGRAPHS)
      COMPLEX*16 JAMP(NCOLOR,NAMPSO), TMP_JAMP(@PARTIAL@), SUM_H
      INTEGER F, H, I, PLACE
C     Colour: row by row from the diagonal, what is off it twice; all
C     over DENOM.
      REAL*8 CF(NCOLOR*(NCOLOR+1)/2), DENOM
      INCLUDE 'coupl.inc'
@CF@
      DATA DENOM/@DENOM@/

@CALLS@

@JAMP@

      MATRIX1 = 0D0
      PLACE = 0
      DO F = 1, NCOLOR
        SUM_H = 0D0
        DO H = F, NCOLOR
          PLACE = PLACE+1
          SUM_H = SUM_H+JAMP(H,1)*CF(PLACE)
        ENDDO
        MATRIX1 = MATRIX1+DBLE(SUM_H*DCONJG(JAMP(F,1)))
      ENDDO
      MATRIX1 = MATRIX1/DENOM

@AMP2@
      DO F = 1, NCOLOR
        JAMP2(F) = DBLE(JAMP(F,1)*DCONJG(JAMP(F,1)))+JAMP2(F)
      ENDDO

      END
