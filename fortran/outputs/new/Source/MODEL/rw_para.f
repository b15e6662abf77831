C     SETPARA: takes the parameters from Source/param_card.inc, which is
C     written from the card when a run starts; the name of the card does
C     not matter here.
C
      SUBROUTINE SETPARA(CARD)

      IMPLICIT NONE
      CHARACTER*(*) CARD
      INCLUDE '../vector.inc'
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      INCLUDE 'param_read.inc'
      CALL COUP()
      END
