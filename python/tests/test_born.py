"""Borns with their colour links: those that aMC@NLO wrote, and other processes."""

import pathlib

import numpy as np
import pytest

import mebridge

DIRECTORY = pathlib.Path(__file__).parents[2] / "fortran/outputs/nlo/SubProcesses/P0_gg_ttx"


def points(count: int, mass: float = 172.0) -> np.ndarray:
    """Returns events of two massless particles that become two top quarks."""
    random = np.random.default_rng(61)
    energy = 400.0
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
    assert values.amp2.shape == (5, 3) and (values.amp2 > 0).all()
    # alpha_s of each event
    assert len(born.emissions()) == 20
    each = born.evaluate(momenta, alpha_s=np.linspace(0.1, 0.2, 5))
    np.testing.assert_allclose(each.born[4], 4 * values.born[4], rtol=1e-12)


def test_any_process_has_links() -> None:
    """A generated process and a directory of MadEvent have the links that aMC@NLO writes, but for the mass of the top
    quark."""
    written = mebridge.Born(DIRECTORY).evaluate(points(3))
    for process, mass in [("g g > t t~", 173.0), (DIRECTORY.parents[2] / "old/SubProcesses/P1_gg_ttx", 172.0)]:
        values = mebridge.Born(process).evaluate(points(3, mass))
        np.testing.assert_allclose(written.born / values.born, 1, rtol=0.05)
        np.testing.assert_allclose(
            values.links / values.born[:, None, None], written.links / written.born[:, None, None], atol=0.02
        )


def test_one_amplitude_is_the_born() -> None:
    """Colour factor 2, averaged over 36."""
    values = mebridge.Born("u u~ > t t~").evaluate(points(3, 173.0))
    np.testing.assert_allclose(values.amp2[:, 0] * 2 / 36, values.born, rtol=1e-12)


def test_a_soft_gluon() -> None:
    """|M|^2 of each real emission with a soft gluon becomes the sum of the links over its eikonal factors."""
    born = mebridge.Born("u u~ > d d~")
    assert len(born.emissions()) == 6
    momenta = points(1)
    momenta[0, 2:, 1:] *= 400 / np.linalg.norm(momenta[0, 2, 1:])
    (emission,) = {e.process for e in born.emissions() if e.soft}
    assert emission == "2 -2 > 1 -1 21"
    real = mebridge.Process(emission)
    alpha_s, softness = 0.1, 1e-6
    k = softness * np.array([1.0, 0.48, 0.6, 0.64])
    # Recoil is of the second order in this limit.
    p = np.vstack([momenta[0], k])
    total = p[0] + p[1] - k
    mass = np.sqrt(total[0] ** 2 - total[1:] @ total[1:])
    for leg in (2, 3):
        rest = momenta[0, leg] * mass / 800
        along = total[1:] @ rest[1:]
        p[leg, 0] = (total[0] * rest[0] + along) / mass
        p[leg, 1:] = rest[1:] + total[1:] * (along / (mass * (mass + total[0])) + rest[0] / mass)
    metric = np.diag([1.0, -1, -1, -1])
    values = born.evaluate(momenta, alpha_s)
    eikonal = 0.0
    for i, j in born.links:
        pi, pj = momenta[0, i] @ metric, momenta[0, j] @ metric
        eikonal += values.links[0, i, j] * (pi @ momenta[0, j]) / ((pi @ k) * (pj @ k))
    limit = -2 * 4 * np.pi * alpha_s * eikonal
    assert real.evaluate(p[None], alpha_s=alpha_s)[0] == pytest.approx(limit, rel=1e-4)


def test_emissions() -> None:
    born = mebridge.Born("g u > t t~ u")
    emissions = born.emissions(flavors=2)
    # g: g, u, u~, d, d~; u: g, g > u~; t and t~: g; u: g
    assert len(emissions) == 10
    assert [(e.leg, e.soft, e.collinear) for e in emissions if e.process == "21 2 > 6 -6 2 21"] == [
        (0, True, True),
        (1, True, True),
        (2, True, False),
        (3, True, False),
        (4, True, True),
    ]
    assert sum(e.process == "21 21 > 6 -6 2 -2" and e.leg == 1 for e in emissions) == 1
    with pytest.raises(mebridge.Error, match="flavors is 7"):
        born.emissions(flavors=7)
    with pytest.raises(mebridge.Error, match="no colour links"):
        mebridge.Born("u d > u d QCD<=2 QCD^2==2")


def test_what_is_no_born_is_refused() -> None:
    with pytest.raises(mebridge.Error):
        mebridge.Born(DIRECTORY / "no_such_file")
    born = mebridge.Born(str(DIRECTORY))
    with pytest.raises(ValueError, match=r"must be \(events, 4, 4\)"):
        born.evaluate(np.zeros((2, 3, 4)))
    with pytest.raises(mebridge.Error):
        born.evaluate(np.zeros((2, 4, 4)))
