C     A massless vector out of a fermion line, in Feynman gauge: with
C     the current J = F2 gamma F1,
C     V3 = -i COUP J/(q^2 - M3^2 + i M3 W3).
C     By hand; see README.md.
C
      SUBROUTINE FFV1P0_3(F1, F2, COUP, M3, W3,V3)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(*)
      COMPLEX*16 F2(*)
      REAL*8 M3
      COMPLEX*16 Q(0:3)
      COMPLEX*16 V3(8)
      REAL*8 W3
      COMPLEX*16 DENOM
      V3(1) = +F1(1)+F2(1)
      V3(2) = +F1(2)+F2(2)
      V3(3) = +F1(3)+F2(3)
      V3(4) = +F1(4)+F2(4)
      Q(0) = -V3(1)
      Q(1) = -V3(2)
      Q(2) = -V3(3)
      Q(3) = -V3(4)
      DENOM = COUP/(Q(0)**2-Q(1)**2-Q(2)**2-Q(3)**2 - M3 * (M3 -CI
     $ * W3))
      V3(5)= DENOM*(-CI)*(F2(7)*F1(5)+F2(8)*F1(6)+F2(5)*F1(7)+F2(6)
     $ *F1(8))
      V3(6)= DENOM*(-CI)*(F2(5)*F1(8)+F2(6)*F1(7)-F2(7)*F1(6)-F2(8)
     $ *F1(5))
      V3(7)= DENOM*(-CI)*CI*(F2(7)*F1(6)-F2(8)*F1(5)-F2(5)*F1(8)+F2(6)
     $ *F1(7))
      V3(8)= DENOM*(-CI)*(F2(8)*F1(6)-F2(7)*F1(5)+F2(5)*F1(7)-F2(6)
     $ *F1(8))
      END
