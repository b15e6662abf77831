from .object_library import Lorentz

FFV1 = Lorentz(name="FFV1", spins=[2, 2, 3], structure="Gamma(3,2,-1)*ProjM(-1,1)")
FFV2 = Lorentz(name="FFV2", spins=[2, 2, 3], structure="Gamma(3,2,-1)*ProjP(-1,1)")
