C     One event; a diagram is the channel.
C
      SUBROUTINE DSIG1(P, CHANNEL, ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      DOUBLE PRECISION P(0:3,NEXTERNAL), ANS
      INTEGER CHANNEL
      INTEGER POLE(MAXSPROC), BEAMS(2)
      COMMON/TO_SUB_DIAG/POLE,BEAMS
      INTEGER SIDE
      COMMON/TO_MIRROR/SIDE
      POLE(1) = CHANNEL
      SIDE = 1
      CALL SMATRIX1(P, ANS)
      END
