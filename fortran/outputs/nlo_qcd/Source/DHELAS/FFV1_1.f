C     A quark line that flows out, after a gluon:
C     F1 = i COUP F2 V3-slash (q-slash + M1)/(q^2 - M1^2 + i M1 W1).
C     By hand; see README.md.
C
      SUBROUTINE FFV1_1(F2, V3, COUP, M1, W1,F1)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(8)
      COMPLEX*16 F2(*)
      REAL*8 M1
      COMPLEX*16 Q(0:3)
      COMPLEX*16 V3(*)
      REAL*8 W1
      COMPLEX*16 DENOM
      COMPLEX*16 VP, VM, VT, VC
      COMPLEX*16 C3, C4, C5, C6
      COMPLEX*16 QP, QM
      COMPLEX*16 QT, QC
      F1(1) = +F2(1)+V3(1)
      F1(2) = +F2(2)+V3(2)
      F1(3) = +F2(3)+V3(3)
      F1(4) = +F2(4)+V3(4)
      Q(0) = F1(1)
      Q(1) = F1(2)
      Q(2) = F1(3)
      Q(3) = F1(4)
      VP = V3(5)+V3(8)
      VM = V3(5)-V3(8)
      VT = V3(6)+CI*V3(7)
      VC = V3(6)-CI*V3(7)
C     C = F2 V3-slash
      C3 = F2(7)*VP+F2(8)*VT
      C4 = F2(7)*VC+F2(8)*VM
      C5 = F2(5)*VM-F2(6)*VT
      C6 = F2(6)*VP-F2(5)*VC
      QP = Q(0)+Q(3)
      QM = Q(0)-Q(3)
      QT = Q(1)+CI*Q(2)
      QC = Q(1)-CI*Q(2)
      DENOM = CI*COUP/(Q(0)**2-Q(1)**2-Q(2)**2-Q(3)**2 - M1 * (M1 -CI
     $ * W1))
      F1(5)= DENOM*(C5*QP+C6*QT+M1*C3)
      F1(6)= DENOM*(C5*QC+C6*QM+M1*C4)
      F1(7)= DENOM*(C3*QM-C4*QT+M1*C5)
      F1(8)= DENOM*(C4*QP-C3*QC+M1*C6)
      END
