C     Written by mebridge: evaluates events from standard input, each of
C     them (E,px,py,pz) of all legs, as for `mebridge eval`.
C
C       ./driver [ALPHA_S [CHANNEL RHEL RCOL]] < events.txt
C
C     One line for each event: the squared matrix element, and the helicity
C     configuration and the colour flow that the two random numbers choose.
C     Without ALPHA_S it is the card's; CHANNEL is a diagram, from 1, or 0.
C
      PROGRAM DRIVER
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE '../../Source/vector.inc'
      INCLUDE 'coupl.inc'
      REAL*8 P(0:3,NEXTERNAL), ANS, RHEL, RCOL, ALPHA
      INTEGER CHANNEL, IHEL, ICOL, N, IOS
      CHARACTER*100 WORD(4)

      CALL SETPARA('../../Cards/param_card.dat')
      WORD(2) = '0'
      WORD(3) = '0.5'
      WORD(4) = '0.5'
      DO N = 1, MIN(4,COMMAND_ARGUMENT_COUNT())
        CALL GET_COMMAND_ARGUMENT(N,WORD(N))
      ENDDO
      IOS = 0
      IF (COMMAND_ARGUMENT_COUNT().EQ.0) THEN
        CALL UPDATE_AS_PARAM(1)
      ELSE
        READ(WORD(1),*,IOSTAT=IOS) ALPHA
        IF (IOS.EQ.0) CALL UPDATE_AS_PARAM2(0D0,ALPHA,1)
      ENDIF
      IF (IOS.EQ.0) READ(WORD(2),*,IOSTAT=IOS) CHANNEL
      IF (IOS.EQ.0) READ(WORD(3),*,IOSTAT=IOS) RHEL
      IF (IOS.EQ.0) READ(WORD(4),*,IOSTAT=IOS) RCOL
      IF (IOS.NE.0.OR.COMMAND_ARGUMENT_COUNT().GT.4) THEN
        WRITE(0,*) 'driver [ALPHA_S [CHANNEL RHEL RCOL]] < EVENTS'
        STOP 2
      ENDIF
      DO
        READ(*,*,IOSTAT=IOS) P
        IF (IOS.LT.0) EXIT
        IF (IOS.GT.0) THEN
          WRITE(0,*) 'driver: an event is not a list of numbers'
          STOP 1
        ENDIF
        CALL SMATRIX1(P,RHEL,RCOL,CHANNEL,1,ANS,IHEL,ICOL)
        WRITE(*,'(ES25.16E3,2I8)') ANS, IHEL, ICOL
      ENDDO
      END
