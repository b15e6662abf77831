C     The choice of a colour flow; by hand, see README.md.
C
C     ICOL is the first flow for which the sum of JAMP2 up to it, over
C     the flows that configuration ICONFIG allows, exceeds RCOL of the
C     whole sum. JAMP2(0) is the number of flows.
C
      SUBROUTINE SELECT_COLOR(RCOL, JAMP2, ICONFIG, IPROC, ICOL)
      IMPLICIT NONE
      INCLUDE 'maxamps.inc'
      INCLUDE 'coloramps.inc'
      DOUBLE PRECISION RCOL, JAMP2(0:MAXFLOW)
      INTEGER ICONFIG, IPROC, ICOL
      DOUBLE PRECISION RUNNING(0:MAXFLOW)
      INTEGER I, NC

      NC = INT(JAMP2(0))
      RUNNING(0) = 0D0
      DO I=1,NC
        RUNNING(I) = RUNNING(I-1)
        IF (ICOLAMP(I,ICONFIG,IPROC)) RUNNING(I) = RUNNING(I)+JAMP2(I)
      ENDDO
      DO ICOL=1,NC-1
        IF (RCOL.LT.RUNNING(ICOL)/RUNNING(NC)) RETURN
      ENDDO
      ICOL = NC
      END
