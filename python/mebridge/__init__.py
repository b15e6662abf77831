"""Matrix elements for particle physics.

A SIMD engine evaluates processes. A process is data: no code is generated or compiled for it.

>>> import mebridge
>>> process = mebridge.Process("g g > t t~")
>>> process
<mebridge.Process g g > t t~ WEIGHTED<=2: 4 legs, 3 diagrams, 16 helicities, 2 colour flows>

Momenta are NumPy arrays of shape (events, legs, 4) with (E, px, py, pz) in GeV, incoming particles first with positive
energy. Arrays with any strides are read in place:

>>> import numpy as np
>>> energy, mass = 500.0, process.parameters["MT"]
>>> p = np.sqrt(energy**2 - mass**2)
>>> momenta = np.array([[[energy, 0, 0, energy], [energy, 0, 0, -energy], [energy, p, 0, 0], [energy, -p, 0, 0]]])
>>> process.evaluate(momenta, alpha_s=0.118).round(4)
array([0.3882])
"""

from ._arrays import EventArrays
from ._born import Born, BornValues, Emission
from ._command import command
from ._decays import decay_events
from ._evaluate import evaluate_events
from ._events import Events, Progress, generate_events
from ._files import write_events
from ._library import BadEvents, Error, library_path, version
from ._pack import pack_events
from ._process import Evaluation, Parameters, Process
from ._read import read_events
from ._reweight import reweight_events
from ._runs import Run, RunEvents

__version__ = version()
__all__ = [
    "BadEvents",
    "Born",
    "BornValues",
    "Emission",
    "Error",
    "Evaluation",
    "EventArrays",
    "Events",
    "Parameters",
    "Process",
    "Progress",
    "Run",
    "RunEvents",
    "command",
    "decay_events",
    "evaluate_events",
    "generate_events",
    "library_path",
    "pack_events",
    "read_events",
    "reweight_events",
    "write_events",
]
