"""|M|^2 of one phase-space point: python examples/matrix_element.py, after `pip install ./python`."""

import mebridge
import numpy as np

# (E, px, py, pz) in GeV: beams of 500 GeV, top quarks at 90 degrees to them.
energy, mass = 500, 173
p = np.sqrt(energy**2 - mass**2)
momenta = [[[energy, 0, 0, energy], [energy, 0, 0, -energy], [energy, p, 0, 0], [energy, -p, 0, 0]]]

process = mebridge.Process("g g > t t~")
print(f"g g > t t~: |M|^2 = {process.evaluate(momenta, alpha_s=0.118)[0]:.10f}")
