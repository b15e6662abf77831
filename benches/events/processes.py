"""What is measured: processes, beams and cuts, the same for every program that is set beside them.

Partons at a fixed energy of 1 TeV with alpha_s = 0.118, or protons of 13 TeV with the densities of
python/examples/densities.py at half the sum of transverse masses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# GeV; of jets, and of leptons and photons where there are some.
JETS = {"pt": 20.0, "eta": 5.0, "dr": 0.4}
LEPTONS = {"ptl": 10.0, "etal": 2.5, "drll": 0.4, "drjl": 0.4}
PHOTONS = {"pta": 20.0, "etaa": 2.5, "draa": 0.4, "draj": 0.4}


@dataclass(frozen=True)
class Row:
    """A process with what is asked of its events."""

    process: str
    events: int
    """How many, unless the caller says."""
    cuts: dict[str, float] = field(default_factory=lambda: JETS)
    protons: bool = True

    @property
    def energy(self) -> float:
        return 13_000.0 if self.protons else 1_000.0


ROWS = (
    Row("g g > t t~ g", 10_000, protons=False),
    Row("g g > t t~ g g", 10_000, protons=False),
    Row("g g > t t~ g g g", 500, protons=False),
    Row("p p > t t~ j", 10_000),
    Row("p p > t t~ j j", 10_000),
    Row("p p > e+ e- j", 10_000, {**JETS, **LEPTONS, "massll": 50.0}),
    Row("p p > e+ e- j j", 10_000, {**JETS, **LEPTONS, "massll": 50.0}),
    Row("p p > e+ e- j j j", 1_000, {**JETS, **LEPTONS, "massll": 50.0}),
    Row("p p > w+ j j", 10_000),
    Row("p p > w+ j j j", 1_000),
    Row("p p > h j j QCD=0", 10_000, {**JETS, "mass": 200.0}),
    Row("p p > j j", 10_000),
    Row("p p > j j j", 10_000),
    Row("p p > a a j", 10_000, {**JETS, **PHOTONS}),
)
