from .object_library import Parameter

ZERO = Parameter(name="ZERO", nature="internal", type="real", value="0.0", texname="0")

aEWM1 = Parameter(
    name="aEWM1", nature="external", type="real", value=128.0, texname=r"\alpha^{-1}", lhablock="SMINPUTS", lhacode=[1]
)
sw2 = Parameter(
    name="sw2", nature="external", type="real", value=0.231, texname=r"\sin^2\theta", lhablock="SMINPUTS", lhacode=[2]
)
aS = Parameter(
    name="aS", nature="external", type="real", value=0.118, texname=r"\alpha_s", lhablock="SMINPUTS", lhacode=[3]
)
gX = Parameter(name="gX", nature="external", type="real", value=0.2, texname="g'", lhablock="ZPRIME", lhacode=[1])
MZ = Parameter(name="MZ", nature="external", type="real", value=91.1876, texname="M_Z", lhablock="MASS", lhacode=[23])
MX = Parameter(name="MX", nature="external", type="real", value=2000.0, texname="M_{Z'}", lhablock="MASS", lhacode=[32])
WZ = Parameter(
    name="WZ", nature="external", type="real", value=2.4952, texname=r"\Gamma_Z", lhablock="DECAY", lhacode=[23]
)

ee = Parameter(name="ee", nature="internal", type="real", value="cmath.sqrt(4*cmath.pi/aEWM1)", texname="e")
G = Parameter(name="G", nature="internal", type="real", value="2*cmath.sqrt(aS*cmath.pi)", texname="G")
gz = Parameter(name="gz", nature="internal", type="real", value="ee/cmath.sqrt(sw2*(1-sw2))", texname="g_Z")
# g'^2 M / (12 pi), times 3/9 for each of six quarks, 1 for each of three charged leptons, and 1/2 for each of three
# neutrinos, which have one helicity. All masses are small beside M.
WX = Parameter(
    name="WX",
    nature="internal",
    type="real",
    value="gX**2*MX*(6*3./9 + 3 + 3*1./2)/(12*cmath.pi)",
    texname=r"\Gamma_{Z'}",
)
