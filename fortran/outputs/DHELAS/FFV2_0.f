C     Amplitude of a left-handed fermion line and a vector,
C     -i COUP (F2 V3-slash (1-gamma5)/2 F1).
C     By hand; see README.md.
C
      SUBROUTINE FFV2_0(F1, F2, V3, COUP,VERTEX)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(*)
      COMPLEX*16 F2(*)
      COMPLEX*16 V3(*)
      COMPLEX*16 VERTEX
      COMPLEX*16 UP
      COMPLEX*16 DOWN
      UP = (V3(3)+V3(6))*F1(3)+(V3(4)-CI*V3(5))*F1(4)
      DOWN = (V3(4)+CI*V3(5))*F1(3)+(V3(3)-V3(6))*F1(4)
      VERTEX = COUP*(-CI)*(F2(5)*UP+F2(6)*DOWN)
      END
