C     Couplings that do not depend on G: of photons to leptons (GC_1)
C     and to quarks of charge 2/3 (GC_2); of Z to left-handed fermions;
C     of W to fermions and to the scalar; of the tensor.
C
      SUBROUTINE COUP1()

      IMPLICIT NONE
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      GC_1 = MDL_COMPLEXI*MDL_EE
      GC_2 = -(2.000000D+00*MDL_EE*MDL_COMPLEXI)/3.000000D+00
      GC_3 = MDL_COMPLEXI*MDL_GZ
      GC_20 = (MDL_COMPLEXI*MDL_GW)/SQRT(2.000000D+00)
      GC_21 = MDL_COMPLEXI*MDL_GW*MDL_MW*(1.000000D+00
     $ +MDL_EE__EXP__2)
      GC_30 = MDL_COMPLEXI*MDL_KAPPA
      END
