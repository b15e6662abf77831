C     SETPARA: takes the parameters from Source/param_card.inc, which is
C     written from the card when a run starts; the name of the card does
C     not matter here. What loops need is computed, too, whatever
C     UPDATELOOP is elsewhere.
C
      SUBROUTINE SETPARA(CARD)

      IMPLICIT NONE
      CHARACTER*(*) CARD
      INCLUDE 'model_functions.inc'
      INCLUDE 'mp_input.inc'
      INCLUDE 'mp_coupl.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      LOGICAL UPDATELOOP
      COMMON/TO_UPDATELOOP/UPDATELOOP
      DATA UPDATELOOP/.FALSE./
      MU_R = 91.188D0
      IF (UPDATELOOP) THEN
        INCLUDE 'param_read.inc'
        CALL COUP()
      ELSE
        UPDATELOOP = .TRUE.
        INCLUDE 'param_read.inc'
        CALL COUP()
        UPDATELOOP = .FALSE.
      ENDIF
      END
