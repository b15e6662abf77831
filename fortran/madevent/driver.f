C     MadEvent in small, by hand: 16 events of g g > t t~ at fixed
C     angles, with a scale each. Reads from stdin ISUM_HEL and the
C     channel (0: none); prints for each event the answer, the helicity
C     and the colour flow.
C
      PROGRAM DRIVER
      IMPLICIT NONE
      INCLUDE '../../Source/vector.inc'
      INCLUDE 'nexternal.inc'
      INCLUDE 'coupl.inc'
      INCLUDE 'run.inc'
      INTEGER NEVT, MOST
      PARAMETER (NEVT=16, MOST=MAX(NEVT,VECSIZE_MEMMAX))
      INTEGER ISUM_HEL
      LOGICAL MULTI_CHANNEL
      COMMON/TO_MATRIX/ISUM_HEL, MULTI_CHANNEL
      DOUBLE PRECISION POL(2)
      COMMON/TO_POLARIZATION/POL
      DOUBLE PRECISION P(0:3,NEXTERNAL,MOST)
      DOUBLE PRECISION RHEL(MOST), RCOL(MOST)
      DOUBLE PRECISION OUT(MOST), E, PT, COSTH, PHI
      INTEGER CHANNELS(MOST)
      INTEGER IHEL(MOST), ICOL(MOST)
      INTEGER I, CHANNEL

      READ(*,*) ISUM_HEL, CHANNEL
      MULTI_CHANNEL = CHANNEL.NE.0
      POL(1) = 1D0
      POL(2) = 1D0
      ICKKW = 0
      SDE_STRAT = 1
      TMIN_FOR_CHANNEL = -1D0
      CALL SETPARA('../../Cards/param_card.dat')
      DO I=1,NEVT
        E = 300D0+20D0*I
        PT = DSQRT(E**2-MDL_MT**2)
        COSTH = -0.95D0+1.9D0*(I-1)/(NEVT-1)
        PHI = 0.3D0*I
        P(:,:,I) = 0D0
        P(0,:,I) = E
        P(3,1,I) = E
        P(3,2,I) = -E
        P(1,3,I) = PT*DSQRT(1D0-COSTH**2)*DCOS(PHI)
        P(2,3,I) = PT*DSQRT(1D0-COSTH**2)*DSIN(PHI)
        P(3,3,I) = PT*COSTH
        P(1:3,4,I) = -P(1:3,3,I)
        RHEL(I) = MOD(0.37D0*I,1D0)
        RCOL(I) = MOD(0.61D0*I,1D0)
        CHANNELS(I) = CHANNEL
        IF (I.LE.VECSIZE_MEMMAX)
     $    CALL UPDATE_AS_PARAM2(E**2, 0.12D0-0.001D0*I, I)
      ENDDO
      CALL DSIG1(P, RHEL, RCOL, CHANNELS, OUT, IHEL, ICOL, NEVT)
      DO I=1,NEVT
        WRITE(*,'(ES24.16,2I6)') OUT(I), IHEL(I), ICOL(I)
      ENDDO
      END

      DOUBLE PRECISION FUNCTION GET_CHANNEL_CUT(P, CONFIG)
      IMPLICIT NONE
      DOUBLE PRECISION P(0:3,*)
      INTEGER CONFIG
      GET_CHANNEL_CUT = 1D0
      END
