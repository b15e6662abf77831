C     The one matrix element of an ungrouped output: a configuration is
C     the channel.
C
      SUBROUTINE DSIG(P, CHANNEL, ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxconfigs.inc'
      DOUBLE PRECISION P(0:3,NEXTERNAL), ANS
      INTEGER CHANNEL, I
      INTEGER MAPCONFIG(0:LMAXCONFIGS), ICONFIG
      COMMON/TO_MCONFIGS/MAPCONFIG, ICONFIG
      INTEGER SIDE
      COMMON/TO_MIRROR/SIDE
      INTEGER IFOREST(2,-1:-1,LMAXCONFIGS), TPRID(-1:-1,LMAXCONFIGS)
      INCLUDE 'configs.inc'
      ICONFIG = CHANNEL
      SIDE = 1
      CALL SMATRIX(P, ANS)
      END
