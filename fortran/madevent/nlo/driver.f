C     aMC@NLO in small, by hand: asks for what the lines of its input
C     name, and prints each answer after the word ANSWER.
C
C       1 M S G   the Born of a point that follows, in FKS configuration
C                 M: |M|^2, AMP2, JAMP2, AMP_SPLIT and, if S is 1, the
C                 complex Born
C       2 M N G   the colour link of legs M and N, at the same point
C       3 M 0 G   the real emission of FKS configuration M, at a point
C                 that follows: |M|^2 and AMP_SPLIT
C
      PROGRAM DRIVER
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'coupl.inc'
      INCLUDE 'orders.inc'
C     NGRAPHS and NCOLOR of the Born
      INCLUDE 'sizes.inc'
      INTEGER KIND, M, N
      DOUBLE PRECISION PB(0:3,NEXTERNAL-1), PR(0:3,NEXTERNAL), ANS
      COMPLEX*16 EACH(2,0:1)
      DOUBLE PRECISION AMP2(NGRAPHS), JAMP2(0:NCOLOR,0:1)
      COMMON/TO_AMPS_BORN/AMP2, JAMP2
      INTEGER NFKSPROCESS
      COMMON/C_NFKSPROCESS/NFKSPROCESS
      LOGICAL CALCULATEDBORN
      COMMON/CCALCULATEDBORN/CALCULATEDBORN
      REAL BEFORE, AFTER
      LOGICAL NEED_COLOR_LINKS, NEED_CHARGE_LINKS
      COMMON/C_NEED_LINKS/NEED_COLOR_LINKS, NEED_CHARGE_LINKS

      NEED_COLOR_LINKS = .TRUE.
      NEED_CHARGE_LINKS = .FALSE.
      CALL SETPARA('param_card.dat')
      CALL CPU_TIME(BEFORE)
   10 READ(*,*,END=20) KIND, M, N, G
      CALL UPDATE_AS_PARAM()
      IF (KIND.EQ.1) THEN
        READ(*,*) PB
        NFKSPROCESS = M
        CALCULATEDBORN = .FALSE.
        CALL SBORN(PB, ANS)
        CALL SBORN_SPLITORDERS(PB, EACH)
        IF (N.EQ.0) EACH(2,1) = 0D0
        WRITE(*,30) ANS, AMP2, JAMP2(1:NCOLOR,1), AMP_SPLIT,
     $   DBLE(EACH(2,1)), DIMAG(EACH(2,1))
      ELSEIF (KIND.EQ.2) THEN
        CALL SBORN_SF(PB, M, N, ANS)
        WRITE(*,30) ANS
      ELSE
        READ(*,*) PR
        NFKSPROCESS = M
        CALL SMATRIX_REAL(PR, ANS)
        WRITE(*,30) ANS, AMP_SPLIT
      ENDIF
      CALL CPU_TIME(AFTER)
      IF (AFTER.LT.BEFORE) STOP 'time runs backwards'
      BEFORE = AFTER
      GOTO 10
   20 CONTINUE
   30 FORMAT('ANSWER',9999ES25.16E3)
      END

C     Where a combination of orders stands in AMP_SPLIT: there is one.
C
      INTEGER FUNCTION ORDERS_TO_AMP_SPLIT_POS(ORDERS)
      IMPLICIT NONE
      INTEGER ORDERS(*)
      ORDERS_TO_AMP_SPLIT_POS = 1
      END
