from .object_library import all_lorentz, Lorentz
try:
   from . import form_factors as ForFac
except ImportError:
   pass

VVV1 = Lorentz(name = 'VVV1', spins = [ 3, 3, 3 ],
               structure = 'P(3,1)*Metric(1,2) - P(3,2)*Metric(1,2) - P(2,1)*Metric(1,3) '
                           '+ P(2,3)*Metric(1,3) + P(1,2)*Metric(2,3) - P(1,3)*Metric(2,3)')
FFV1 = Lorentz(name = 'FFV1', spins = [ 2, 2, 3 ], structure = 'Gamma(3,2,-1)*ProjM(-1,1)')
FFV2 = Lorentz(name = 'FFV2', spins = [ 2, 2, 3 ], structure = 'Gamma(3,2,-1)*ProjP(-1,1)')
FFS1 = Lorentz(name = 'FFS1', spins = [ 2, 2, 1 ], structure = 'ProjM(2,1)')
FFS2 = Lorentz(name = 'FFS2', spins = [ 2, 2, 1 ], structure = 'ProjP(2,1)')
FFFF1 = Lorentz(name = 'FFFF1', spins = [ 2, 2, 2, 2 ], structure = 'Gamma(-1,2,-2)*ProjM(-2,1)*Gamma(-1,4,3)')
FFFF2 = Lorentz(name = 'FFFF2', spins = [ 2, 2, 2, 2 ], structure = 'ProjP(4,1)*Identity(2,3)')
FFFF3 = Lorentz(name = 'FFFF3', spins = [ 2, 2, 2, 2 ], structure = 'Identity(1,2)*ProjP(4,3)')
VSS1 = Lorentz(name = 'VSS1', spins = [ 3, 1, 1 ], structure = 'P(1,2) - P(1,3)')
