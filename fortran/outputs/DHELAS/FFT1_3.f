C     A massive tensor out of a fermion line: with S as in FFT1_0,
C     G = g - q q/M3^2 and its projection on spin 2,
C     T3 = i COUP (G S G - G tr(G S)/3)/(q^2 - M3^2 + i M3 W3).
C     By hand; see README.md.
C
      SUBROUTINE FFT1_3(F1, F2, COUP, M3, W3,T3)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(*)
      COMPLEX*16 F2(*)
      REAL*8 M3
      REAL*8 OM3
      COMPLEX*16 J(4), KJ, QJ, TRACE
      REAL*8 K(4), Q(4), G(4), QQ, QK, GUP
      COMPLEX*16 T3(18)
      REAL*8 W3
      COMPLEX*16 DENOM
      INTEGER*4 M, N
      OM3 = 0D0
      IF (M3.NE.0D0) OM3=1D0/M3**2
      G(1) = 1D0
      G(2) = -1D0
      G(3) = -1D0
      G(4) = -1D0
      T3(1) = +F1(1)+F2(1)
      T3(2) = +F1(2)+F2(2)
      Q(1) = -DBLE(T3(1))
      Q(2) = -DBLE(T3(2))
      Q(3) = -DIMAG(T3(2))
      Q(4) = -DIMAG(T3(1))
      K(1) = DBLE(F1(1))-DBLE(F2(1))
      K(2) = DBLE(F1(2))-DBLE(F2(2))
      K(3) = DIMAG(F1(2))-DIMAG(F2(2))
      K(4) = DIMAG(F1(1))-DIMAG(F2(1))
      J(1) = F2(5)*F1(3)+F2(6)*F1(4)+F2(3)*F1(5)+F2(4)*F1(6)
      J(2) = F2(3)*F1(6)+F2(4)*F1(5)-F2(5)*F1(4)-F2(6)*F1(3)
      J(3) = CI*(F2(5)*F1(4)-F2(6)*F1(3)-F2(3)*F1(6)+F2(4)*F1(5))
      J(4) = F2(6)*F1(4)-F2(5)*F1(3)+F2(3)*F1(5)-F2(4)*F1(6)
      KJ = K(1)*J(1)-K(2)*J(2)-K(3)*J(3)-K(4)*J(4)
      QJ = Q(1)*J(1)-Q(2)*J(2)-Q(3)*J(3)-Q(4)*J(4)
      QK = Q(1)*K(1)-Q(2)*K(2)-Q(3)*K(3)-Q(4)*K(4)
      QQ = Q(1)**2-Q(2)**2-Q(3)**2-Q(4)**2
C     K and J without their parts along q; what they make of S, and its
C     trace with G.
      TRACE = 2D0*(KJ-OM3*QK*QJ)-2D0*KJ*(4D0-OM3*QQ)
      DENOM = CI*COUP/(QQ - M3 * (M3 -CI * W3))
      DO M = 1, 4
        DO N = 1, 4
          GUP = -OM3*Q(M)*Q(N)
          IF (M.EQ.N) GUP = GUP+G(M)
          T3(2+4*(M-1)+N) = DENOM*((K(M)-OM3*QK*Q(M))*(J(N)-OM3*QJ
     $     *Q(N))+(K(N)-OM3*QK*Q(N))*(J(M)-OM3*QJ*Q(M))-2D0*KJ*(GUP
     $     -OM3*Q(M)*Q(N)*(1D0-OM3*QQ))-GUP*TRACE/3D0)
        ENDDO
      ENDDO
      END
