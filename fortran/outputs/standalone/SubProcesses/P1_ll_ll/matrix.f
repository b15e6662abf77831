C     By hand, with the names and COMMON blocks of MG5aMC's standalone
C     outputs; see README.md.
C
C     M0_SMATRIXHEL: helicities HEL, from 1.
C
      SUBROUTINE M0_SMATRIXHEL(P, HEL, ANS)
      IMPLICIT NONE
      REAL*8 P(0:3,4), ANS
      INTEGER HEL, ONLY
      COMMON/M0_HELUSERCHOICE/ONLY
      ONLY = HEL
      CALL M0_SMATRIX(P,ANS)
      ONLY = -1
      END

C     M0_SMATRIX: the sum over helicities, or one of them.
C
C     Process: e- e+ > mu- mu+ WEIGHTED<=4 @1
C
      SUBROUTINE M0_SMATRIX(P,ANS)
      IMPLICIT NONE
      INTEGER NEXTERNAL, NCOMB
      PARAMETER (NEXTERNAL=4, NCOMB=16)
      REAL*8 P(0:3,NEXTERNAL), ANS
      REAL*8 M0_MATRIX, PART
      INTEGER LEG, ROW, AVERAGE, SPINS
      INTEGER NHEL(NEXTERNAL,NCOMB), SENSE(NEXTERNAL)
      COMMON/M0_PROCESS_NHEL/NHEL
      INTEGER ONLY
      COMMON/M0_HELUSERCHOICE/ONLY
C     Events so far, and helicities that contributed to any
      LOGICAL AGAIN, ALIVE(NCOMB)
      INTEGER EVENTS
      SAVE EVENTS, ALIVE
      COMMON/M0_HELRESET/AGAIN
      DATA (NHEL(LEG, 1),LEG=1,4) /-1,-1,-1,-1/
      DATA (NHEL(LEG, 2),LEG=1,4) /-1,-1,-1, 1/
      DATA (NHEL(LEG, 3),LEG=1,4) /-1,-1, 1,-1/
      DATA (NHEL(LEG, 4),LEG=1,4) /-1,-1, 1, 1/
      DATA (NHEL(LEG, 5),LEG=1,4) /-1, 1,-1,-1/
      DATA (NHEL(LEG, 6),LEG=1,4) /-1, 1,-1, 1/
      DATA (NHEL(LEG, 7),LEG=1,4) /-1, 1, 1,-1/
      DATA (NHEL(LEG, 8),LEG=1,4) /-1, 1, 1, 1/
      DATA (NHEL(LEG, 9),LEG=1,4) / 1,-1,-1,-1/
      DATA (NHEL(LEG,10),LEG=1,4) / 1,-1,-1, 1/
      DATA (NHEL(LEG,11),LEG=1,4) / 1,-1, 1,-1/
      DATA (NHEL(LEG,12),LEG=1,4) / 1,-1, 1, 1/
      DATA (NHEL(LEG,13),LEG=1,4) / 1, 1,-1,-1/
      DATA (NHEL(LEG,14),LEG=1,4) / 1, 1,-1, 1/
      DATA (NHEL(LEG,15),LEG=1,4) / 1, 1, 1,-1/
      DATA (NHEL(LEG,16),LEG=1,4) / 1, 1, 1, 1/
      DATA AVERAGE, SPINS/4, 4/
      DATA ONLY/-1/, EVENTS/0/, ALIVE/16*.FALSE./
      DATA AGAIN/.TRUE./

      IF (AGAIN) THEN
        EVENTS = 0
        DO ROW = NCOMB, 1, -1
          ALIVE(ROW) = .FALSE.
        ENDDO
      ENDIF
      AGAIN = .FALSE.
      DO LEG = 1, NEXTERNAL
        SENSE(LEG) = 1
      ENDDO
      ANS = 0D0
      IF (ONLY.EQ.-1) THEN
        EVENTS = EVENTS+1
        DO ROW = 1, NCOMB
          IF (EVENTS.LT.20.OR.ALIVE(ROW)) THEN
            PART = M0_MATRIX(P,NHEL(1,ROW),SENSE)
            ALIVE(ROW) = ALIVE(ROW).OR.PART.NE.0D0
            ANS = ANS+PART
          ENDIF
        ENDDO
      ELSE
        ANS = SPINS*M0_MATRIX(P,NHEL(1,ONLY),SENSE)
      ENDIF
      ANS = ANS/AVERAGE
      END

C     M0_MATRIX: helicities NHEL alone, not averaged.
C
      REAL*8 FUNCTION M0_MATRIX(P, NHEL, IC)
      IMPLICIT NONE
      INTEGER NEXTERNAL
      PARAMETER (NEXTERNAL=4)
      INTEGER NGRAPHS, NWAVEFUNCS, NCOLOR
      PARAMETER (NGRAPHS=2, NWAVEFUNCS=5)
      PARAMETER (NCOLOR=1)
      REAL*8 ZERO
      PARAMETER (ZERO=0D0)
      REAL*8 P(0:3,NEXTERNAL), COLORS(NCOLOR,NCOLOR)
      INTEGER IC(NEXTERNAL), NHEL(NEXTERNAL), F, H
      COMPLEX*16 W(20,NWAVEFUNCS), AMP(NGRAPHS), JAMP(NCOLOR), SUM_H
      INCLUDE 'coupl.inc'
      DATA COLORS/1D0/

      CALL IXXXXX(P(0,1),ZERO,NHEL(1),+1*IC(1),W(1,1))
      CALL OXXXXX(P(0,2),ZERO,NHEL(2),-1*IC(2),W(1,2))
      CALL OXXXXX(P(0,3),ZERO,NHEL(3),+1*IC(3),W(1,3))
      CALL IXXXXX(P(0,4),ZERO,NHEL(4),-1*IC(4),W(1,4))
      CALL FFV1P0_3(W(1,1),W(1,2),GC_1,ZERO,ZERO,W(1,5))
C     Photon
      CALL FFV1_0(W(1,4),W(1,3),W(1,5),GC_1,AMP(1))
      CALL FFV2_3(W(1,1),W(1,2),GC_3,MDL_MZ,MDL_WZ,W(1,5))
C     Z
      CALL FFV2_0(W(1,4),W(1,3),W(1,5),-GC_3,AMP(2))
      JAMP(1) = AMP(2)-AMP(1)

      M0_MATRIX = 0D0
      DO F = 1, NCOLOR
        SUM_H = 0D0
        DO H = 1, NCOLOR
          SUM_H = SUM_H+JAMP(H)*COLORS(H,F)
        ENDDO
        M0_MATRIX = M0_MATRIX+DBLE(SUM_H*DCONJG(JAMP(F)))
      ENDDO
      END
