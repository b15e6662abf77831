C     In an output of MG5aMC the sum over processes; nothing here.
C
      SUBROUTINE DSIG()
      END
