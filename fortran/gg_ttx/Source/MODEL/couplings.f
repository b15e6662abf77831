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

C
C     UPDATE_AS_PARAM2: the same, given the squared scale and alpha_s.
C
      SUBROUTINE UPDATE_AS_PARAM2(MU_R2, AS2, VECID)

      IMPLICIT NONE
      DOUBLE PRECISION PI
      PARAMETER  (PI=3.141592653589793D0)
      DOUBLE PRECISION MU_R2, AS2
      INTEGER VECID
      INCLUDE '../vector.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      IF (MU_R2.GT.0D0) MU_R = DSQRT(MU_R2)
      AS = AS2
      G = SQRT(4.0D0*PI*AS2)
      CALL UPDATE_AS_PARAM(VECID)

      RETURN
      END
