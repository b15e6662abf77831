# A toy model: quarks q with gluons, a charged scalar, a real Majorana fermion and a Z'.
from . import particles, couplings, lorentz, parameters, vertices

gauge = [0, 1]

all_particles = particles.all_particles
__author__ = "mebridge"
