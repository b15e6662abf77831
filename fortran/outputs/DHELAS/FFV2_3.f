C     A massive vector out of a left-handed fermion line, in unitary
C     gauge: with the current J = F2 gamma (1-gamma5)/2 F1,
C     V3 = -i COUP (J - q q.J/M3^2)/(q^2 - M3^2 + i M3 W3).
C     By hand; see README.md.
C
      SUBROUTINE FFV2_3(F1, F2, COUP, M3, W3,V3)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(*)
      COMPLEX*16 F2(*)
      REAL*8 M3
      REAL*8 OM3
      REAL*8 Q(0:3)
      COMPLEX*16 J0, J1, J2, J3, QJ
      COMPLEX*16 V3(6)
      REAL*8 W3
      COMPLEX*16 DENOM
      OM3 = 0D0
      IF (M3.NE.0D0) OM3=1D0/M3**2
      V3(1) = +F1(1)+F2(1)
      V3(2) = +F1(2)+F2(2)
      Q(0) = -DBLE(V3(1))
      Q(1) = -DBLE(V3(2))
      Q(2) = -DIMAG(V3(2))
      Q(3) = -DIMAG(V3(1))
      J0 = F2(5)*F1(3)+F2(6)*F1(4)
      J1 = -(F2(5)*F1(4)+F2(6)*F1(3))
      J2 = CI*(F2(5)*F1(4)-F2(6)*F1(3))
      J3 = F2(6)*F1(4)-F2(5)*F1(3)
      QJ = OM3*(Q(0)*J0-Q(1)*J1-Q(2)*J2-Q(3)*J3)
      DENOM = COUP/(Q(0)**2-Q(1)**2-Q(2)**2-Q(3)**2 - M3 * (M3 -CI
     $ * W3))
      V3(3)= DENOM*(-CI)*(J0-Q(0)*QJ)
      V3(4)= DENOM*(-CI)*(J1-Q(1)*QJ)
      V3(5)= DENOM*(-CI)*(J2-Q(2)*QJ)
      V3(6)= DENOM*(-CI)*(J3-Q(3)*QJ)
      END
