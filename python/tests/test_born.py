"""Borns of aMC@NLO with their colour links."""

import pathlib

import numpy as np
import pytest

import mebridge

DIRECTORY = pathlib.Path(__file__).parents[2] / "fortran/outputs/nlo/SubProcesses/P0_gg_ttx"


def points(count: int) -> np.ndarray:
    """Returns events of two massless particles that become two top quarks."""
    random = np.random.default_rng(61)
    energy, mass = 400.0, 172.0
    p = np.sqrt(energy**2 - mass**2)
    cosine, phi = random.uniform(-0.9, 0.9, count), random.uniform(0, 2 * np.pi, count)
    sine = np.sqrt(1 - cosine**2)
    way = p * np.array([sine * np.cos(phi), sine * np.sin(phi), cosine]).T
    momenta = np.zeros((count, 4, 4))
    momenta[:, :, 0] = energy
    momenta[:, 0, 3], momenta[:, 1, 3] = energy, -energy
    momenta[:, 2, 1:], momenta[:, 3, 1:] = way, -way
    return momenta


def test_links_conserve_color() -> None:
    born = mebridge.Born(DIRECTORY)
    assert born.legs == (21, 21, 6, -6)
    assert len(born.links) == 8
    assert repr(born) == "<mebridge.Born g g > t t~ [ QCD ]: 4 legs, 8 colour links>"
    momenta = points(5)
    values = born.evaluate(momenta, alpha_s=0.1)
    process = mebridge.Process(f"{DIRECTORY}#2")
    np.testing.assert_allclose(values.born, process.evaluate(momenta, alpha_s=0.1), rtol=1e-12)
    for leg, casimir in enumerate((3, 3, 4 / 3, 4 / 3)):
        others = np.delete(values.links[:, leg], leg, axis=1).sum(axis=1)
        np.testing.assert_allclose(others, -casimir * values.born, rtol=1e-12)
        own = casimir / 2 * values.born if leg > 1 else np.zeros(5)
        np.testing.assert_allclose(values.links[:, leg, leg], own, rtol=1e-12)
    np.testing.assert_array_equal(values.links, values.links.transpose(0, 2, 1))
    # Only gluons have a complex Born, which is at most the Born.
    assert np.isnan(values.complex_borns[:, 2:]).all()
    assert (abs(values.complex_borns[:, :2]) < values.born[:, None]).all()
    # alpha_s of each event
    each = born.evaluate(momenta, alpha_s=np.linspace(0.1, 0.2, 5))
    np.testing.assert_allclose(each.born[4], 4 * values.born[4], rtol=1e-12)


def test_what_is_no_born_is_refused() -> None:
    with pytest.raises(mebridge.Error, match="it has no Born"):
        mebridge.Born(DIRECTORY.parents[2] / "old/SubProcesses/P1_gg_ttx")
    born = mebridge.Born(str(DIRECTORY))
    with pytest.raises(ValueError, match=r"must be \(events, 4, 4\)"):
        born.evaluate(np.zeros((2, 3, 4)))
    with pytest.raises(mebridge.Error):
        born.evaluate(np.zeros((2, 4, 4)))
