C     External wavefunctions in the layout of MadLoop, by hand; see
C     README.md.
C
C     A wavefunction holds the momentum that flows along it in its first
C     four numbers, E, px, py and pz, which are complex for the momenta
C     of loops, and its components from the fifth on. All else is as in
C     HELAS (KEK-91-11): spinors are in the chiral representation,
C     left-handed components first.
C
C     Two things are not HELAS's: towards -z |p| + pz is computed without
C     a loss of digits, and up to |p| = 2**(-26) m (REST) a particle has
C     its spin along z, with the boost from there in first order.

C     IXXXXX: a fermion that flows in. NSF = +1 for a particle (u), -1
C     for an antiparticle (v).
C
      SUBROUTINE IXXXXX(P, FMASS, NHEL, NSF, FI)
      IMPLICIT NONE
      DOUBLE PRECISION P(0:3), FMASS
      INTEGER NHEL, NSF
      COMPLEX*16 FI(8)
      DOUBLE PRECISION PP, PLUS, LARGE, SMALL
      COMPLEX*16 UP, DOWN, SU, SD
      INTEGER NH
      DOUBLE PRECISION REST
      PARAMETER (REST = 1.490116119384765625D-8)

      FI(1) = -NSF*DCMPLX(P(0), 0D0)
      FI(2) = -NSF*DCMPLX(P(1), 0D0)
      FI(3) = -NSF*DCMPLX(P(2), 0D0)
      FI(4) = -NSF*DCMPLX(P(3), 0D0)
C     Helicity of the spinor: for an antiparticle the opposite of the
C     particle's.
      NH = NHEL*NSF
      PP = P(0)
      IF (FMASS.NE.0D0) PP = MIN(P(0), SQRT(P(1)**2+P(2)**2+P(3)**2))

C     The chiralities have weights SQRT(E+|p|) and SQRT(E-|p|); the
C     second as m/SQRT(E+|p|), because the difference would lose digits.
C     A v spinor has a minus sign in its large components.
      LARGE = SQRT(P(0) + PP)
      SMALL = FMASS/LARGE
      LARGE = NSF*LARGE

C     The two-component spinor of helicity NH/2 along the momentum is
C     (UP, DOWN) or (DOWN, UP); UP is real. Along -z and at rest the
C     phases are HELAS's choice. (SU, SD) is sigma p / 2 m times it.
      SU = 0D0
      SD = 0D0
      IF (PP.LE.REST*ABS(FMASS)) THEN
        UP = 1D0
        DOWN = 0D0
        SU = NH*P(3)/(2D0*ABS(FMASS))
        SD = DCMPLX(P(1), NH*P(2))/(2D0*ABS(FMASS))
        LARGE = NSF*SQRT(ABS(FMASS))
        SMALL = SIGN(SQRT(ABS(FMASS)), FMASS)
      ELSE
        PLUS = PP + P(3)
        IF (P(3).LT.0D0) PLUS = (P(1)**2+P(2)**2)/(PP - P(3))
        UP = SQRT(PLUS/(2D0*PP))
        DOWN = -NH
        IF (PLUS.NE.0D0)
     $   DOWN = DCMPLX(NH*P(1), P(2))/SQRT(2D0*PP*PLUS)
      ENDIF

      IF (NH.EQ.1) THEN
        FI(5) = SMALL*(UP - SU)
        FI(6) = SMALL*(DOWN - SD)
        FI(7) = LARGE*(UP + SU)
        FI(8) = LARGE*(DOWN + SD)
      ELSE
        FI(5) = LARGE*(DOWN - SD)
        FI(6) = LARGE*(UP - SU)
        FI(7) = SMALL*(DOWN + SD)
        FI(8) = SMALL*(UP + SU)
      ENDIF
      END


C     OXXXXX: a fermion that flows out, the Dirac conjugate of the one
C     that flows in with the same momentum and helicity.
C
      SUBROUTINE OXXXXX(P, FMASS, NHEL, NSF, FO)
      IMPLICIT NONE
      DOUBLE PRECISION P(0:3), FMASS
      INTEGER NHEL, NSF
      COMPLEX*16 FO(8), FI(8)

      CALL IXXXXX(P, FMASS, NHEL, NSF, FI)
      FO(1) = -FI(1)
      FO(2) = -FI(2)
      FO(3) = -FI(3)
      FO(4) = -FI(4)
      FO(5) = DCONJG(FI(7))
      FO(6) = DCONJG(FI(8))
      FO(7) = DCONJG(FI(5))
      FO(8) = DCONJG(FI(6))
      END


C     VXXXXX: a vector boson; helicity 0 for a massive one only. NSV =
C     +1 for one that flows out, -1 for one that flows in.
C
      SUBROUTINE VXXXXX(P, VMASS, NHEL, NSV, VC)
      IMPLICIT NONE
      DOUBLE PRECISION P(0:3), VMASS
      INTEGER NHEL, NSV
      COMPLEX*16 VC(8)
      DOUBLE PRECISION PP, PT, SQH, NX, NY, COSTH, LONG
      INTEGER NSVT
      DOUBLE PRECISION REST
      PARAMETER (REST = 1.490116119384765625D-8)

      SQH = SQRT(0.5D0)
      VC(1) = NSV*DCMPLX(P(0), 0D0)
      VC(2) = NSV*DCMPLX(P(1), 0D0)
      VC(3) = NSV*DCMPLX(P(2), 0D0)
      VC(4) = NSV*DCMPLX(P(3), 0D0)
      PP = P(0)
      PT = SQRT(P(1)**2 + P(2)**2)
      IF (VMASS.NE.0D0) PP = MIN(P(0), SQRT(PT**2 + P(3)**2))
      IF (VMASS.NE.0D0) PT = MIN(PP, PT)

      VC(5) = 0D0
      VC(6) = 0D0
      VC(7) = 0D0
      VC(8) = 0D0
      IF (NHEL.NE.0) THEN
C       Transverse: rotated from the z axis; (NX, NY) is the azimuth.
        NSVT = NSV*ABS(NHEL)
        IF (PP.LE.REST*ABS(VMASS)) THEN
          VC(6) = -NHEL*SQH
          VC(7) = DCMPLX(0D0, NSVT*SQH)
          VC(5) = SQH*DCMPLX(-NHEL*P(1), NSVT*P(2))/VMASS
        ELSE IF (PT.EQ.0D0) THEN
          VC(6) = -NHEL*SQH
          VC(7) = DCMPLX(0D0, SIGN(NSVT*SQH, NSVT*P(3)))
        ELSE
          NX = P(1)/PT
          NY = P(2)/PT
          COSTH = P(3)/PP
          VC(6) = SQH*DCMPLX(-NHEL*COSTH*NX, -NSVT*NY)
          VC(7) = SQH*DCMPLX(-NHEL*COSTH*NY, NSVT*NX)
          VC(8) = SQH*NHEL*PT/PP
        ENDIF
      ELSE IF (PP.LE.REST*ABS(VMASS)) THEN
        VC(5) = P(3)/VMASS
        VC(8) = 1D0
      ELSE
C       Longitudinal: (|p|, E p/|p|)/m.
        LONG = P(0)/(VMASS*PP)
        VC(5) = PP/VMASS
        VC(6) = LONG*P(1)
        VC(7) = LONG*P(2)
        VC(8) = LONG*P(3)
      ENDIF
      END


C     SXXXXX: a scalar. NSS = +1 for one that flows out, -1 for one that
C     flows in.
C
      SUBROUTINE SXXXXX(P, NSS, SC)
      IMPLICIT NONE
      DOUBLE PRECISION P(0:3)
      INTEGER NSS
      COMPLEX*16 SC(5)

      SC(1) = NSS*DCMPLX(P(0), 0D0)
      SC(2) = NSS*DCMPLX(P(1), 0D0)
      SC(3) = NSS*DCMPLX(P(2), 0D0)
      SC(4) = NSS*DCMPLX(P(3), 0D0)
      SC(5) = 1D0
      END
