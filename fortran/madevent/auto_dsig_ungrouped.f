C     An ungrouped output as of MG5aMC 3.7.1, by hand: it asks for one
C     event after the other, at the first place of the arrays; a
C     configuration in a COMMON block is the channel.
C
      SUBROUTINE DSIG1(P, RHEL, RCOL, CHANNELS, OUT, IHEL, ICOL, NEVT)
      IMPLICIT NONE
      INCLUDE '../../Source/vector.inc'
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxconfigs.inc'
      DOUBLE PRECISION P(0:3,NEXTERNAL,*), RHEL(*), RCOL(*), OUT(*)
      INTEGER CHANNELS(*), IHEL(*), ICOL(*), NEVT, I
      INTEGER MAPCONFIG(0:LMAXCONFIGS), ICONFIG
      COMMON/TO_MCONFIGS/MAPCONFIG, ICONFIG
      INTEGER IFOREST(2,-1:-1,LMAXCONFIGS), TPRID(-1:-1,LMAXCONFIGS)
      INCLUDE 'configs.inc'
      DO I=1,NEVT
        CALL UPDATE_AS_PARAM2(P(0,1,I)**2, 0.12D0-0.001D0*I, 1)
        ICONFIG = CHANNELS(I)
        CALL SMATRIX(P(0,1,I), RHEL(I), RCOL(I), 0, 1, OUT(I),
     $    IHEL(I), ICOL(I))
      ENDDO
      END
