C     Couplings that do not depend on G: QCD has none.
C
      SUBROUTINE COUP1( )

      IMPLICIT NONE
      END
