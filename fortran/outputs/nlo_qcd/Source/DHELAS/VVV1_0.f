C     The amplitude of three gluons, whose momenta P1, P2 and P3 flow in:
C     VERTEX = -i COUP [ V1.V2 V3.(P1-P2) + V2.V3 V1.(P2-P3)
C                       + V3.V1 V2.(P3-P1) ].
C     By hand; see README.md.
C
      SUBROUTINE VVV1_0(V1, V2, V3, COUP,VERTEX)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 P1(0:3)
      COMPLEX*16 P2(0:3)
      COMPLEX*16 P3(0:3)
      COMPLEX*16 TMP1
      COMPLEX*16 TMP2
      COMPLEX*16 TMP3
      COMPLEX*16 V1(*)
      COMPLEX*16 V2(*)
      COMPLEX*16 V3(*)
      COMPLEX*16 VERTEX
      P1(0) = V1(1)
      P1(1) = V1(2)
      P1(2) = V1(3)
      P1(3) = V1(4)
      P2(0) = V2(1)
      P2(1) = V2(2)
      P2(2) = V2(3)
      P2(3) = V2(4)
      P3(0) = V3(1)
      P3(1) = V3(2)
      P3(2) = V3(3)
      P3(3) = V3(4)
      TMP1 = V3(5)*(P1(0)-P2(0))-V3(6)*(P1(1)-P2(1))
     $ -V3(7)*(P1(2)-P2(2))-V3(8)*(P1(3)-P2(3))
      TMP2 = V1(5)*(P2(0)-P3(0))-V1(6)*(P2(1)-P3(1))
     $ -V1(7)*(P2(2)-P3(2))-V1(8)*(P2(3)-P3(3))
      TMP3 = V2(5)*(P3(0)-P1(0))-V2(6)*(P3(1)-P1(1))
     $ -V2(7)*(P3(2)-P1(2))-V2(8)*(P3(3)-P1(3))
      VERTEX = -CI*COUP*(TMP1*(V1(5)*V2(5)-V1(6)*V2(6)-V1(7)*V2(7)
     $ -V1(8)*V2(8))+TMP2*(V2(5)*V3(5)-V2(6)*V3(6)-V2(7)*V3(7)
     $ -V2(8)*V3(8))+TMP3*(V3(5)*V1(5)-V3(6)*V1(6)-V3(7)*V1(7)
     $ -V3(8)*V1(8)))
      END
