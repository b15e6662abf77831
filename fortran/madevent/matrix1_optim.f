C     By hand, in the shape of a file of helicity recycling: a table of
C     its own (here those with a contribution in a different order, by
C     hand), and all helicities at once. MATRIX1 gives nonsense: it is
C     to be replaced.
C
      SUBROUTINE SMATRIX1(P, RHEL, RCOL, CHANNEL, IVEC, ANS, IHEL,
     $  ICOL)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'maxamps.inc'
      INTEGER                 NCOMB
      PARAMETER (             NCOMB=3)
      REAL*8 P(0:3,NEXTERNAL),ANS,RHEL,RCOL,TS(NCOMB)
      INTEGER CHANNEL,IVEC,IHEL,ICOL,I,JC(NEXTERNAL)
      INTEGER NHEL(NEXTERNAL,NCOMB)
      DOUBLE PRECISION AMP2(MAXAMPS), JAMP2(0:MAXFLOW)
      COMMON/TO_AMPS/AMP2,JAMP2
      DATA (NHEL(I,   1),I=1,4) /-1, 1,-1,
     $   1/
      DATA (NHEL(I,   2),I=1,4) /-1,-1, 1, 1/
C     A comment within the table.
      DATA (NHEL(I,   3),I=1,4) / 1,-1, 1,-1/
      JC(:) = 1
      AMP2(:) = 0D0
      JAMP2(0) = 2
      JAMP2(1:2) = 0D0
      CALL MATRIX1(P,JC(1),TS)
C     The second helicity, all diagrams and the first flow.
      ANS = TS(2)+AMP2(1)+AMP2(2)+AMP2(3)+JAMP2(1)
      IHEL = NHEL(4,1)
      ICOL = NCOMB
      END

      SUBROUTINE MATRIX1(P,IC,TS)
      IMPLICIT NONE
      REAL*8 P(0:3,*),TS(*)
      INTEGER IC(*)
      TS(1:3) = -1D9
      END
