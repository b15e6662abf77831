C     Amplitude of a fermion line and a tensor, -i COUP T3:S, with
C     S = k J + J k - 2 g k.J, k = p1 - p2 and J = F2 gamma F1.
C     T3 holds its momentum and then 16 components, row by row.
C     By hand; see README.md.
C
      SUBROUTINE FFT1_0(F1, F2, T3, COUP,VERTEX)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(*)
      COMPLEX*16 F2(*)
      COMPLEX*16 T3(*)
      COMPLEX*16 VERTEX
      COMPLEX*16 J(4), KJ, TSUM
      REAL*8 K(4), G(4)
      INTEGER*4 M, N
      G(1) = 1D0
      G(2) = -1D0
      G(3) = -1D0
      G(4) = -1D0
      K(1) = DBLE(F1(1))-DBLE(F2(1))
      K(2) = DBLE(F1(2))-DBLE(F2(2))
      K(3) = DIMAG(F1(2))-DIMAG(F2(2))
      K(4) = DIMAG(F1(1))-DIMAG(F2(1))
      J(1) = F2(5)*F1(3)+F2(6)*F1(4)+F2(3)*F1(5)+F2(4)*F1(6)
      J(2) = F2(3)*F1(6)+F2(4)*F1(5)-F2(5)*F1(4)-F2(6)*F1(3)
      J(3) = CI*(F2(5)*F1(4)-F2(6)*F1(3)-F2(3)*F1(6)+F2(4)*F1(5))
      J(4) = F2(6)*F1(4)-F2(5)*F1(3)+F2(3)*F1(5)-F2(4)*F1(6)
      KJ = K(1)*J(1)-K(2)*J(2)-K(3)*J(3)-K(4)*J(4)
      TSUM = (0D0,0D0)
      DO M = 1, 4
        DO N = 1, 4
          TSUM = TSUM+G(M)*G(N)*T3(2+4*(M-1)+N)*(K(M)*J(N)+K(N)*J(M))
        ENDDO
        TSUM = TSUM-2D0*KJ*G(M)*T3(2+5*M-4)
      ENDDO
      VERTEX = COUP*(-CI)*TSUM
      END
