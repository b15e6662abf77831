from .object_library import Coupling

GG = Coupling(name="GG", value="complex(0,1)*G", order={"QCD": 1})
# Of the photon: the charge of a fermion.
GA_u = Coupling(name="GA_u", value="complex(0,1)*ee*(2./3)", order={"QED": 1})
GA_d = Coupling(name="GA_d", value="complex(0,1)*ee*(-1./3)", order={"QED": 1})
GA_l = Coupling(name="GA_l", value="complex(0,1)*ee*(-1)", order={"QED": 1})
# Of the Z boson: T3 - Q sin^2 for left-handed fermions, -Q sin^2 for right-handed ones.
GZ_uL = Coupling(name="GZ_uL", value="complex(0,1)*gz*(1./2 - (2./3)*sw2)", order={"QED": 1})
GZ_uR = Coupling(name="GZ_uR", value="complex(0,1)*gz*(-(2./3)*sw2)", order={"QED": 1})
GZ_dL = Coupling(name="GZ_dL", value="complex(0,1)*gz*(-1./2 - (-1./3)*sw2)", order={"QED": 1})
GZ_dR = Coupling(name="GZ_dR", value="complex(0,1)*gz*(-(-1./3)*sw2)", order={"QED": 1})
GZ_lL = Coupling(name="GZ_lL", value="complex(0,1)*gz*(-1./2 - (-1)*sw2)", order={"QED": 1})
GZ_lR = Coupling(name="GZ_lR", value="complex(0,1)*gz*(-(-1)*sw2)", order={"QED": 1})
# Of the heavy boson: baryon minus lepton number.
GX_q = Coupling(name="GX_q", value="complex(0,1)*gX/3", order={"NP": 1})
GX_l = Coupling(name="GX_l", value="-complex(0,1)*gX", order={"NP": 1})
