"""A heavy neutral boson that couples to baryon minus lepton number, beside the photon and the Z boson, as a UFO model.

It has what lepton pairs of two protons need, alone or with one jet: no quarks of the third family, and gluons couple to
quarks only.
"""

from . import coupling_orders, couplings, lorentz, parameters, particles, vertices  # noqa: F401

gauge = [0]
