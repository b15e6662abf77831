C     One event after the other, by hand, as MG5aMC does until 3.5.
C
      SUBROUTINE DSIG1(P, RHEL, RCOL, CHANNELS, OUT, IHEL, ICOL, NEVT)
      IMPLICIT NONE
      INCLUDE '../../Source/vector.inc'
      INCLUDE 'nexternal.inc'
      INCLUDE 'coupl.inc'
      DOUBLE PRECISION P(0:3,NEXTERNAL,*), RHEL(*), RCOL(*), OUT(*)
      INTEGER CHANNELS(*), IHEL(*), ICOL(*), NEVT, I
      DO I=1,NEVT
        G = ALL_G(I)
        CALL SMATRIX1(P(0,1,I), RHEL(I), RCOL(I), CHANNELS(I), I,
     $    OUT(I), IHEL(I), ICOL(I))
      ENDDO
      END
