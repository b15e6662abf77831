C     Couplings that depend on G, in quadruple precision.
C
      SUBROUTINE MP_COUP2()

      IMPLICIT NONE
      INCLUDE 'model_functions.inc'
      REAL*16 MP__PI
      PARAMETER (MP__PI=3.1415926535897932384626433832795E0_16)
      INCLUDE 'mp_input.inc'
      INCLUDE 'mp_coupl.inc'
      MP__GC_10 = -MP__G
      MP__GC_11 = MP__MDL_COMPLEXI*MP__G
      MP__R2_GQQ = -MP__MDL_COMPLEXI*MP__G**3/(1.200000E+01_16
     $ *MP__PI**2)
      MP__UV_GQQ = MP_COND(CMPLX(MP__MDL_MT,KIND=16),CMPLX(0.000000E
     $ +00_16,KIND=16),MP__R2_GQQ*MP_REGLOG(MP__MDL_MT**2/MP__MU_R**2))
      END
