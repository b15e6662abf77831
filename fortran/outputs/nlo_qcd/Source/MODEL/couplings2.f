C     Couplings that depend on G; the last two are of loops alone.
C
      SUBROUTINE COUP2()

      IMPLICIT NONE
      INCLUDE 'model_functions.inc'
      DOUBLE PRECISION PI
      PARAMETER  (PI=3.141592653589793D0)
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      GC_10 = -G
      GC_11 = MDL_COMPLEXI*G
      R2_GQQ = -MDL_COMPLEXI*G**3/(1.200000D+01*PI**2)
      UV_GQQ = COND(DCMPLX(MDL_MT),DCMPLX(0.000000D+00),R2_GQQ
     $ *REGLOG(DCMPLX(MDL_MT**2/MU_R**2)))
      END
