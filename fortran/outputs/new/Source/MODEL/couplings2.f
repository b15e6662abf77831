C     Couplings of event VECID that depend on G.
C
      SUBROUTINE COUP2(VECID)

      IMPLICIT NONE
      INTEGER VECID
      INCLUDE '../vector.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      GC_10(VECID) = -G
      GC_11(VECID) = MDL_COMPLEXI*G
      END
