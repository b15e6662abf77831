from __future__ import division
from .object_library import all_particles, Particle
from . import parameters as Param
from . import propagators as Prop

g = Particle(pdg_code = 21, name = 'g', antiname = 'g', spin = 3, color = 8, mass = Param.ZERO, width = Param.ZERO,
             texname = 'g', antitexname = 'g', charge = 0)

q = Particle(pdg_code = 9000001, name = 'Q', antiname = 'Q~', spin = 2, color = 3, mass = Param.MQ,
             width = Param.ZERO, texname = 'Q', antitexname = 'Q~', charge = 2/3, Number = 1)
q__tilde__ = q.anti()

x = Particle(9000002, 'x', 'x', 2, 1, Param.MX, Param.WX, 'x', 'x', 0)

s = Particle(pdg_code = 9000003, name = 's', antiname = 's~', spin = 1, color = 3, mass = Param.MS,
             width = Param.ZERO, texname = 's', antitexname = 's~', charge = 2/3, Number = 0)
s__tilde__ = s.anti()

zp = Particle(pdg_code = 9000004, name = 'zp', antiname = 'zp', spin = 3, color = 1, mass = Param.MZp,
              width = Param.WZp, texname = 'Z', antitexname = 'Z', charge = 0, propagator = Prop.V)

g0 = Particle(pdg_code = 9000005, name = 'g0', antiname = 'g0', spin = 1, color = 1, mass = Param.MZp,
              width = Param.ZERO, texname = 'g0', antitexname = 'g0', charge = 0, goldstone = True)

q.loop_particles = [[[9000001, 21]]]
