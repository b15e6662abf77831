C     The link of legs M and N; by hand, see README.md.
C
      SUBROUTINE SBORN_SF(P_BORN,M,N,WGT)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'coupl.inc'
      REAL*8 P_BORN(0:3,NEXTERNAL-1), WGT
      INTEGER M, N
      WGT = 0D0
      IF ((M.EQ.1 .AND. N.EQ.2).OR.(M.EQ.2 .AND. N.EQ.1)) THEN
        CALL SB_SF_001(P_BORN,WGT)
      ELSEIF ((M.EQ.1 .AND. N.EQ.3).OR.(M.EQ.3 .AND. N.EQ.1)) THEN
        CALL SB_SF_002(P_BORN,WGT)
      ELSEIF ((M.EQ.1 .AND. N.EQ.4).OR.(M.EQ.4 .AND. N.EQ.1)) THEN
        CALL SB_SF_003(P_BORN,WGT)
      ELSEIF ((M.EQ.2 .AND. N.EQ.3).OR.(M.EQ.3 .AND. N.EQ.2)) THEN
        CALL SB_SF_004(P_BORN,WGT)
      ELSEIF ((M.EQ.2 .AND. N.EQ.4).OR.(M.EQ.4 .AND. N.EQ.2)) THEN
        CALL SB_SF_005(P_BORN,WGT)
      ELSEIF (M.EQ.3 .AND. N.EQ.3) THEN
        CALL SB_SF_006(P_BORN,WGT)
      ELSEIF ((M.EQ.3 .AND. N.EQ.4).OR.(M.EQ.4 .AND. N.EQ.3)) THEN
        CALL SB_SF_007(P_BORN,WGT)
      ELSEIF (M.EQ.4 .AND. N.EQ.4) THEN
        CALL SB_SF_008(P_BORN,WGT)
      ENDIF
      WGT = WGT*G**2
      END
