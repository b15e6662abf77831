C     In an output of MG5aMC the choice of a matrix element; here there
C     is one.
C
      SUBROUTINE DSIG(P, CHANNEL, ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      DOUBLE PRECISION P(0:3,NEXTERNAL), ANS
      INTEGER CHANNEL
      CALL DSIG1(P, CHANNEL, ANS)
      END
