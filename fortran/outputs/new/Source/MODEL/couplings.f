C     Parameters and couplings, by hand; see README.md.
C
C     COUP: all of them from the card. To be called once, by SETPARA.
C
      SUBROUTINE COUP()

      IMPLICIT NONE
      DOUBLE PRECISION PI
      LOGICAL READLHA
      PARAMETER  (PI=3.141592653589793D0)
      INCLUDE '../vector.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      READLHA = .TRUE.
      INCLUDE 'intparam_definition.inc'
      CALL COUP1()
      CALL COUP2(1)

      RETURN
      END

C
C     UPDATE_AS_PARAM: those of event VECID that depend on G.
C
      SUBROUTINE UPDATE_AS_PARAM(VECID)

      IMPLICIT NONE
      INTEGER VECID
      DOUBLE PRECISION PI
      LOGICAL READLHA
      PARAMETER  (PI=3.141592653589793D0)
      INCLUDE '../vector.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      READLHA = .FALSE.
      INCLUDE 'intparam_definition.inc'
      ALL_G(VECID) = G
      ALL_MU_R(VECID) = MU_R
      CALL COUP2(VECID)

      RETURN
      END
