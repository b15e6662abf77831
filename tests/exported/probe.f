C     What a matrix element says of events, for tests/import/export.rs. Read are
C     the number of helicity configurations and these, then for each event
C     alpha_s, two random numbers, a channel and the momenta. Written are
C     the answer of SMATRIX1, and without a channel AMP2 and JAMP2, summed
C     over helicities.
C
      PROGRAM PROBE
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INCLUDE '../../Source/vector.inc'
      INCLUDE 'coupl.inc'
      INTEGER ROWS, ROW, CHANNEL, IHEL, ICOL, IOS, IC(NEXTERNAL)
      INTEGER, ALLOCATABLE :: NHEL(:,:)
      REAL*8 P(0:3,NEXTERNAL), ALPHA, RHEL, RCOL, ANS, TOTAL, MATRIX1
      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)

      CALL SETPARA('../../Cards/param_card.dat')
      READ(*,*) ROWS
      ALLOCATE(NHEL(NEXTERNAL,ROWS))
      READ(*,*) NHEL
      IC = 1
      DO
        READ(*,*,IOSTAT=IOS) ALPHA, RHEL, RCOL, CHANNEL, P
        IF (IOS.LT.0) EXIT
        IF (IOS.GT.0) STOP 1
        CALL UPDATE_AS_PARAM2(0D0,ALPHA,1)
        CALL SMATRIX1(P,RHEL,RCOL,CHANNEL,1,ANS,IHEL,ICOL)
        WRITE(*,*) ANS, IHEL, ICOL
        IF (CHANNEL.NE.0) CYCLE
        AMP2 = 0D0
        JAMP2 = 0D0
        TOTAL = 0D0
        DO ROW = 1, ROWS
          TOTAL = TOTAL+MATRIX1(P,NHEL(1,ROW),IC,ROW,AMP2,JAMP2,1)
        ENDDO
        WRITE(*,*) TOTAL, AMP2, JAMP2(1:MAXFLOW)
      ENDDO
      END
