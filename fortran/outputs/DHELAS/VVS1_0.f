C     Amplitude of two vectors and a scalar, -i COUP V1.V2 S3.
C     By hand; see README.md.
C
      SUBROUTINE VVS1_0(V1, V2, S3, COUP,VERTEX)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 COUP
      COMPLEX*16 S3(*)
      COMPLEX*16 V1(*)
      COMPLEX*16 V2(*)
      COMPLEX*16 VERTEX
      VERTEX = COUP*(-CI)*S3(3)*(V1(3)*V2(3)-V1(4)*V2(4)-V1(5)*V2(5)
     $ -V1(6)*V2(6))
      END
