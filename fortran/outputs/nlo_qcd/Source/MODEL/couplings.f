C     Parameters and couplings, by hand; see README.md.
C
C     COUP: all of them from the card. To be called once, by SETPARA.
C
      SUBROUTINE COUP()

      IMPLICIT NONE
      DOUBLE PRECISION PI
      LOGICAL READLHA
      PARAMETER  (PI=3.141592653589793D0)
      REAL*16 MP__PI
      PARAMETER (MP__PI=3.1415926535897932384626433832795E0_16)
      INCLUDE 'model_functions.inc'
      INCLUDE 'mp_input.inc'
      INCLUDE 'mp_coupl.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      READLHA = .TRUE.
      INCLUDE 'intparam_definition.inc'
      INCLUDE 'mp_intparam_definition.inc'
      CALL COUP1()
      CALL COUP2()
      CALL MP_COUP2()

      RETURN
      END

C
C     UPDATE_AS_PARAM: those that depend on G.
C
      SUBROUTINE UPDATE_AS_PARAM()

      IMPLICIT NONE
      DOUBLE PRECISION PI
      LOGICAL READLHA
      PARAMETER  (PI=3.141592653589793D0)
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      READLHA = .FALSE.
      INCLUDE 'intparam_definition.inc'
      CALL COUP2()

      RETURN
      END

C
C     MP_UPDATE_AS_PARAM: the same in quadruple precision, for MadLoop.
C
      SUBROUTINE MP_UPDATE_AS_PARAM()

      IMPLICIT NONE
      REAL*16 MP__PI
      PARAMETER (MP__PI=3.1415926535897932384626433832795E0_16)
      INCLUDE 'model_functions.inc'
      INCLUDE 'mp_input.inc'
      INCLUDE 'mp_coupl.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      INCLUDE 'mp_intparam_definition.inc'
      CALL MP_COUP2()

      RETURN
      END
