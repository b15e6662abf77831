C     Which real emission belongs to an FKS configuration; by hand.
C
      SUBROUTINE SMATRIX_REAL(P, ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      REAL*8 P(0:3,NEXTERNAL), ANS
      INTEGER NFKSPROCESS
      COMMON/C_NFKSPROCESS/NFKSPROCESS
      ANS = 0D0
      IF (NFKSPROCESS.EQ.1) THEN
        CALL SMATRIX1(P, ANS)
      ENDIF
      END
