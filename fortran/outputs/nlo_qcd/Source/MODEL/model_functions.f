C     Functions of loop models, by hand; see README.md.
C
C     COND: A if CONDITION is zero, and otherwise B.
C
      DOUBLE COMPLEX FUNCTION COND(CONDITION, A, B)

      IMPLICIT NONE
      DOUBLE COMPLEX CONDITION, A, B
      COND = B
      IF (CONDITION.EQ.(0D0,0D0)) COND = A
      END

C     REGLOG: the logarithm, and 0 at 0.
C
      DOUBLE COMPLEX FUNCTION REGLOG(X)

      IMPLICIT NONE
      DOUBLE COMPLEX X
      IF (X.EQ.(0D0,0D0)) THEN
        REGLOG = (0D0,0D0)
      ELSE
        REGLOG = LOG(X)
      ENDIF
      END

C     Both in quadruple precision.
C
      COMPLEX*32 FUNCTION MP_COND(CONDITION, A, B)

      IMPLICIT NONE
      COMPLEX*32 CONDITION, A, B
      MP_COND = B
      IF (CONDITION.EQ.(0E0_16,0E0_16)) MP_COND = A
      END

      COMPLEX*32 FUNCTION MP_REGLOG(X)

      IMPLICIT NONE
      COMPLEX*32 X
      IF (X.EQ.(0E0_16,0E0_16)) THEN
        MP_REGLOG = (0E0_16,0E0_16)
      ELSE
        MP_REGLOG = LOG(X)
      ENDIF
      END
