from . import parameters as Param
from .object_library import Particle

a = Particle(
    pdg_code=22,
    name="a",
    antiname="a",
    spin=3,
    color=1,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="a",
    antitexname="a",
    charge=0,
)

g = Particle(
    pdg_code=21,
    name="g",
    antiname="g",
    spin=3,
    color=8,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="g",
    antitexname="g",
    charge=0,
)

Z = Particle(
    pdg_code=23,
    name="Z",
    antiname="Z",
    spin=3,
    color=1,
    mass=Param.MZ,
    width=Param.WZ,
    texname="Z",
    antitexname="Z",
    charge=0,
)

X = Particle(
    pdg_code=32,
    name="zp",
    antiname="zp",
    spin=3,
    color=1,
    mass=Param.MX,
    width=Param.WX,
    texname="zp",
    antitexname="zp",
    charge=0,
)

d = Particle(
    pdg_code=1,
    name="d",
    antiname="d~",
    spin=2,
    color=3,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="d",
    antitexname="d~",
    charge=-1 / 3,
)
d__tilde__ = d.anti()

u = Particle(
    pdg_code=2,
    name="u",
    antiname="u~",
    spin=2,
    color=3,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="u",
    antitexname="u~",
    charge=2 / 3,
)
u__tilde__ = u.anti()

s = Particle(
    pdg_code=3,
    name="s",
    antiname="s~",
    spin=2,
    color=3,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="s",
    antitexname="s~",
    charge=-1 / 3,
)
s__tilde__ = s.anti()

c = Particle(
    pdg_code=4,
    name="c",
    antiname="c~",
    spin=2,
    color=3,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="c",
    antitexname="c~",
    charge=2 / 3,
)
c__tilde__ = c.anti()

e = Particle(
    pdg_code=11,
    name="e-",
    antiname="e+",
    spin=2,
    color=1,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="e-",
    antitexname="e+",
    charge=-1,
)
e__tilde__ = e.anti()

mu = Particle(
    pdg_code=13,
    name="mu-",
    antiname="mu+",
    spin=2,
    color=1,
    mass=Param.ZERO,
    width=Param.ZERO,
    texname="mu-",
    antitexname="mu+",
    charge=-1,
)
mu__tilde__ = mu.anti()
