C     A quark line that flows in, after a gluon:
C     F2 = i COUP (q-slash + M2) V3-slash F1/(q^2 - M2^2 + i M2 W2).
C     By hand; see README.md.
C
      SUBROUTINE FFV1_2(F1, V3, COUP, M2, W2,F2)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(*)
      COMPLEX*16 F2(8)
      REAL*8 M2
      COMPLEX*16 Q(0:3)
      COMPLEX*16 V3(*)
      REAL*8 W2
      COMPLEX*16 DENOM
      COMPLEX*16 VP, VM, VT, VC
      COMPLEX*16 C3, C4, C5, C6
      COMPLEX*16 QP, QM
      COMPLEX*16 QT, QC
      F2(1) = +F1(1)+V3(1)
      F2(2) = +F1(2)+V3(2)
      F2(3) = +F1(3)+V3(3)
      F2(4) = +F1(4)+V3(4)
      Q(0) = -F2(1)
      Q(1) = -F2(2)
      Q(2) = -F2(3)
      Q(3) = -F2(4)
      VP = V3(5)+V3(8)
      VM = V3(5)-V3(8)
      VT = V3(6)+CI*V3(7)
      VC = V3(6)-CI*V3(7)
C     C = V3-slash F1
      C3 = VM*F1(7)-VC*F1(8)
      C4 = VP*F1(8)-VT*F1(7)
      C5 = VP*F1(5)+VC*F1(6)
      C6 = VT*F1(5)+VM*F1(6)
      QP = Q(0)+Q(3)
      QM = Q(0)-Q(3)
      QT = Q(1)+CI*Q(2)
      QC = Q(1)-CI*Q(2)
      DENOM = CI*COUP/(Q(0)**2-Q(1)**2-Q(2)**2-Q(3)**2 - M2 * (M2 -CI
     $ * W2))
      F2(5)= DENOM*(QM*C5-QC*C6+M2*C3)
      F2(6)= DENOM*(QP*C6-QT*C5+M2*C4)
      F2(7)= DENOM*(QP*C3+QC*C4+M2*C5)
      F2(8)= DENOM*(QT*C3+QM*C4+M2*C6)
      END
