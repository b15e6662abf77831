C     MadEvent in small as of MG5aMC 2.8 to 3.5, by hand: 16 events of
C     g g > t t~, each with its alpha_s. Reads from stdin ISUM_HEL and
C     the channel (0: none); prints for each event the answer, the
C     helicities that were taken and the share of the first colour flow.
C
      PROGRAM DRIVER
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE 'coupl.inc'
      INTEGER ISUM_HEL
      LOGICAL MULTI_CHANNEL
      COMMON/TO_MATRIX/ISUM_HEL, MULTI_CHANNEL
      DOUBLE PRECISION AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      COMMON/TO_AMPS/AMP2, JAMP2
      CHARACTER*101 TAKEN
      COMMON/TO_HELICITY/TAKEN
      DOUBLE PRECISION SMALL
      COMMON/NARROW_WIDTH/SMALL
      DOUBLE PRECISION P(0:3,NEXTERNAL), E, PT, COSTH, PHI, ANS
      INTEGER I, CHANNEL, NHEL(NEXTERNAL), FLOW

      READ(*,*) ISUM_HEL, CHANNEL
      MULTI_CHANNEL = CHANNEL.NE.0
      SMALL = 1D-6
      CALL SETPARA('param_card.dat')
      DO I=1,16
        E = 300D0+20D0*I
        PT = DSQRT(E**2-MDL_MT**2)
        COSTH = -0.95D0+1.9D0*(I-1)/15
        PHI = 0.3D0*I
        P = 0D0
        P(0,:) = E
        P(3,1) = E
        P(3,2) = -E
        P(1,3) = PT*DSQRT(1D0-COSTH**2)*DCOS(PHI)
        P(2,3) = PT*DSQRT(1D0-COSTH**2)*DSIN(PHI)
        P(3,3) = PT*COSTH
        P(1:3,4) = -P(1:3,3)
        G = 2D0*DSQRT(3.14159D0*(0.12D0-0.001D0*I))
        CALL UPDATE_AS_PARAM()
        CALL DSIG(P, CHANNEL, ANS)
        READ(TAKEN,'(20I5)') NHEL
        FLOW = 0
        IF (MULTI_CHANNEL) FLOW = NINT(1D8*JAMP2(1)/(JAMP2(1)+JAMP2(2)))
        WRITE(*,'(ES24.16,I6,I10)') ANS,
     $    NHEL(1)*27+NHEL(2)*9+NHEL(3)*3+NHEL(4), FLOW
      ENDDO
      END

C     Random numbers that are none.
C
      SUBROUTINE RANMAR(X)
      IMPLICIT NONE
      DOUBLE PRECISION X, LAST
      SAVE LAST
      DATA LAST/0.1D0/
      LAST = MOD(LAST+0.37D0,1D0)
      X = LAST
      END
