C     Couplings that depend on G.
C
      SUBROUTINE COUP2()

      IMPLICIT NONE
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      GC_10 = -G
      GC_11 = MDL_COMPLEXI*G
      END
