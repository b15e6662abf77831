C     SETPARA: reads the parameter card, then computes what follows.
C
      SUBROUTINE SETPARA(CARD)

      IMPLICIT NONE
      CHARACTER*(*) CARD
      INTEGER NPARA
      CHARACTER*20 PARAM(1), VALUE(1)
      INCLUDE 'input.inc'
      INCLUDE 'coupl.inc'
      CALL LHA_LOADCARD(CARD, NPARA, PARAM, VALUE)
      INCLUDE 'param_read.inc'
      CALL COUP()
      END
