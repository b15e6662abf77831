C     A gluon out of two, in Feynman gauge. With the momenta P2 and P3
C     flowing in and K = P2 + P3,
C     V1 = i COUP [ (P3-P2) V2.V3 + V2 V3.(P2+K) - V3 V2.(P3+K) ]
C          / (K^2 - M1^2 + i M1 W1).
C     By hand; see README.md.
C
      SUBROUTINE VVV1P0_1(V2, V3, COUP, M1, W1,V1)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      REAL*8 M1
      COMPLEX*16 P2(0:3)
      COMPLEX*16 P3(0:3)
      COMPLEX*16 K(0:3)
      COMPLEX*16 TMP1
      COMPLEX*16 TMP2
      COMPLEX*16 TMP3
      COMPLEX*16 V1(8)
      COMPLEX*16 V2(*)
      COMPLEX*16 V3(*)
      REAL*8 W1
      COMPLEX*16 DENOM
      V1(1) = +V2(1)+V3(1)
      V1(2) = +V2(2)+V3(2)
      V1(3) = +V2(3)+V3(3)
      V1(4) = +V2(4)+V3(4)
      P2(0) = V2(1)
      P2(1) = V2(2)
      P2(2) = V2(3)
      P2(3) = V2(4)
      P3(0) = V3(1)
      P3(1) = V3(2)
      P3(2) = V3(3)
      P3(3) = V3(4)
      K(0) = V1(1)
      K(1) = V1(2)
      K(2) = V1(3)
      K(3) = V1(4)
      TMP1 = V2(5)*V3(5)-V2(6)*V3(6)-V2(7)*V3(7)-V2(8)*V3(8)
      TMP2 = V3(5)*(P2(0)+K(0))-V3(6)*(P2(1)+K(1))-V3(7)*(P2(2)+K(2))
     $ -V3(8)*(P2(3)+K(3))
      TMP3 = V2(5)*(P3(0)+K(0))-V2(6)*(P3(1)+K(1))-V2(7)*(P3(2)+K(2))
     $ -V2(8)*(P3(3)+K(3))
      DENOM = CI*COUP/(K(0)**2-K(1)**2-K(2)**2-K(3)**2 - M1 * (M1 -CI
     $ * W1))
      V1(5)= DENOM*(TMP1*(P3(0)-P2(0))+TMP2*V2(5)-TMP3*V3(5))
      V1(6)= DENOM*(TMP1*(P3(1)-P2(1))+TMP2*V2(6)-TMP3*V3(6))
      V1(7)= DENOM*(TMP1*(P3(2)-P2(2))+TMP2*V2(7)-TMP3*V3(7))
      V1(8)= DENOM*(TMP1*(P3(3)-P2(3))+TMP2*V2(8)-TMP3*V3(8))
      END
