C     Amplitude of a quark line and a gluon, -i COUP (F2 V3-slash F1).
C     By hand; see README.md.
C
      SUBROUTINE FFV1_0(F1, F2, V3, COUP,VERTEX)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 F1(*)
      COMPLEX*16 F2(*)
      COMPLEX*16 V3(*)
      COMPLEX*16 VERTEX
      COMPLEX*16 VP, VM, VT, VC
      COMPLEX*16 TMP1
      COMPLEX*16 TMP2
C     V3-slash maps left-handed components by (VP, VC; VT, VM) and
C     right-handed ones by (VM, -VC; -VT, VP).
      VP = V3(5)+V3(8)
      VM = V3(5)-V3(8)
      VT = V3(6)+CI*V3(7)
      VC = V3(6)-CI*V3(7)
      TMP1 = F2(7)*(VP*F1(5)+VC*F1(6))+F2(8)*(VT*F1(5)+VM*F1(6))
      TMP2 = F2(5)*(VM*F1(7)-VC*F1(8))+F2(6)*(VP*F1(8)-VT*F1(7))
      VERTEX = COUP*(-CI*(TMP1+TMP2))
      END
