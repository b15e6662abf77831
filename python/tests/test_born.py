"""Borns with their colour links: those that aMC@NLO wrote, and other processes."""

import collections
import math
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


METRIC = np.array([1.0, -1, -1, -1])
CF, CA, TR = 4 / 3, 3, 1 / 2


def dot(a: np.ndarray, b: np.ndarray) -> float:
    return float(a * METRIC @ b)


def boosted(p: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Returns a momentum of the rest frame of ``to`` in the frame of ``to``."""
    mass, along = np.sqrt(dot(to, to)), to[1:] @ p[1:]
    return np.append((to[0] * p[0] + along) / mass, p[1:] + to[1:] * (along / (mass * (mass + to[0])) + p[0] / mass))


def massless(p: np.ndarray) -> np.ndarray:
    return np.append(np.linalg.norm(p[1:]), p[1:])


def some_event(masses: list[float], random: np.random.Generator) -> np.ndarray:
    """Returns momenta of 800 GeV, decayed one particle after the other."""
    incoming = 400 * np.array([[1.0, 0, 0, 1], [1, 0, 0, -1]])
    total, event = incoming.sum(axis=0), list(incoming)
    for done, mass in enumerate(masses[:-1], 1):
        others = masses[done:]
        own, rest = np.sqrt(dot(total, total)), sum(others)
        if len(others) > 1:
            rest += (own - mass - rest) * random.uniform(0.3, 0.7)
        energy = (own**2 + mass**2 - rest**2) / (2 * own)
        cosine, phi = random.uniform(-0.8, 0.8), random.uniform(0, 2 * np.pi)
        sine = np.sqrt(1 - cosine**2)
        way = np.sqrt(energy**2 - mass**2) * np.array([sine * np.cos(phi), sine * np.sin(phi), cosine])
        event.append(boosted(np.append(energy, way), total))
        total = boosted(np.append(own - energy, -way), total)
    return np.array([*event, total])


def with_beams(born: np.ndarray, final: np.ndarray) -> np.ndarray:
    """Returns an event of these final momenta: the beams of a Born follow their recoil."""
    total, before = final.sum(axis=0), born[:2].sum(axis=0)
    scale = np.sqrt(dot(total, total) / dot(before, before))
    return np.vstack([[massless(boosted(scale * beam, total)) for beam in born[:2]], final])


def soft(born: np.ndarray, softness: float, random: np.random.Generator) -> np.ndarray:
    way = random.normal(size=3)
    k = 400 * softness * np.append(1, way / np.linalg.norm(way))
    return with_beams(born, np.vstack([born[2:], k]))


def collinear(born: np.ndarray, leg: int, z: float, across: np.ndarray) -> np.ndarray:
    """Splits a leg: a final one into shares z and 1 - z, or an initial one that is the share z of its mother."""
    if leg > 1:
        final = born[2:].copy()
        final[leg - 2] = massless(z * born[leg] + across)
        return with_beams(born, np.vstack([final, massless((1 - z) * born[leg] - across)]))
    final = np.vstack([born[2:], massless((1 - z) / z * born[leg] + across)])
    total, other = final.sum(axis=0), born[1 - leg]
    other = other * dot(total, total) / (2 * dot(other, total))
    mother = massless(total - other)
    return np.vstack([[mother, other] if leg == 0 else [other, mother], final])


def splitting(born: mebridge.Born, emission: mebridge.Emission, z: float, mean: float, along: float) -> float:
    """The Altarelli-Parisi function times the Born: ``along`` is the Born polarised along the plane of a gluon's
    splitting (Catani and Seymour, hep-ph/9605323, section 4.3)."""
    emitted, is_gluon = int(emission.process.split()[-1]), born.legs[emission.leg] == 21
    if not is_gluon and emitted == 21:
        return CF * (1 + z**2) / (1 - z) * mean
    if not is_gluon:
        return TR * (1 - 2 * z * (1 - z)) * mean
    if emission.leg > 1:
        if emitted == 21:
            return 2 * CA * ((z / (1 - z) + (1 - z) / z) * mean + 2 * z * (1 - z) * along)
        return TR * (mean - 4 * z * (1 - z) * along)
    if emitted == 21:
        return 2 * CA * ((z / (1 - z) + z * (1 - z)) * mean + 2 * (1 - z) / z * along)
    return CF * (z * mean + 4 * (1 - z) / z * along)


@pytest.mark.parametrize(
    ("process", "masses"),
    [
        ("u u~ > d d~", [0.0, 0]),
        ("g g > d d~", [0.0, 0]),
        ("e+ e- > u u~ g", [0.0, 0, 0]),
        ("g u > t t~ u", [173.0, 173, 0]),
    ],
)
def test_limits(process: str, masses: list[float], tmp_path: pathlib.Path) -> None:
    """Real emissions become what the Born, its links and its tensors say, ever closer to each soft and collinear limit.
    A width of the top quark would cut soft gluons off, and break gauge invariance."""
    card = tmp_path / "card.dat"
    card.write_text("Block sminputs\n 1 132.507\n 2 1.16639e-5\n 3 0.118\nBlock mass\n 6 173.0\n 23 91.188\n"
                    "DECAY 6 0.0\nDECAY 23 2.4414\n")  # fmt: skip
    born = mebridge.Born(process, card)
    random = np.random.default_rng(61)
    event, alpha_s = some_event(masses, random), 0.1
    values = born.evaluate(event[None], alpha_s)
    mean, coupling = values.born[0], 4 * np.pi * alpha_s

    def identical(legs: tuple[int, ...]) -> int:
        return math.prod(math.factorial(count) for count in collections.Counter(legs[2:]).values())

    kinds = set()
    for emission in born.emissions(flavors=2):
        real = mebridge.Process(emission.process, card=card)
        leg, codes = emission.leg, tuple(int(code) for code in emission.process.replace(">", "").split())
        symmetry = identical(codes) / identical(born.legs)
        found: dict[str, list[float]] = {"soft": [], "collinear": []}
        z, state = random.uniform(0.3, 0.7), random.bit_generator.state
        for smallness in (1e-3, 1e-5, 1e-7):
            random.bit_generator.state = state
            if emission.soft:
                point = soft(event, smallness, random)
                k, eikonal = point[-1], 0.0
                for i, j in born.links:
                    pi, pj = event[i], event[j]
                    eikonal += values.links[0, i, j] * dot(pi, pj) / (dot(pi, k) * dot(pj, k))
                answer = real.evaluate(point[None], alpha_s=alpha_s)[0]
                found["soft"].append(symmetry * answer / (-2 * coupling * eikonal) - 1)
            if emission.collinear:
                way = random.normal(size=3)
                away = event[leg, 1:] / event[leg, 0]
                way -= (way @ away) * away
                way /= np.linalg.norm(way)
                point = collinear(event, leg, z, smallness * event[leg, 0] * np.append(0, way))
                a, b = point[leg], point[-1]
                angle = np.cross(a[1:], b[1:])
                product = angle @ angle / (a[0] * b[0] + a[1:] @ b[1:])
                along = math.nan
                if born.legs[leg] == 21:
                    along = way @ born.tensors(event[None], values, leg)[0, 1:, 1:] @ way
                limit = coupling / product * splitting(born, emission, z, mean, along)
                answer = real.evaluate(point[None], alpha_s=alpha_s)[0]
                found["collinear"].append(symmetry * answer / (limit if leg > 1 else limit / z) - 1)
        for kind, deviations in found.items():
            if deviations:
                kinds.add(kind)
                size = np.abs(deviations)
                assert size[0] < 0.03 and size[1] < 3e-4 and size[2] < 1e-6, (emission, kind, deviations)
    assert kinds == {"soft", "collinear"}


def test_a_gluon_softer_than_rounding_of_the_others() -> None:
    """The line of a quark that has emitted it is also that of the other quark and the W boson, whose products cancel."""
    mass, way = 80.419002445756163, np.array([0.5, 0.3, -0.7]) / np.sqrt(0.83)
    events = []
    for k in (1e-4, 1e-10, 1e-13):
        w = np.append(np.sqrt(mass**2 + k**2), -k * way)
        beam = (w[0] + k) / 2
        events.append([[beam, 0, 0, beam], [beam, 0, 0, -beam], w, np.append(k, k * way)])
    found = mebridge.Process("u d~ > w+ g").evaluate(np.array(events)) * np.array([1e-4, 1e-10, 1e-13]) ** 2
    np.testing.assert_allclose(found[1:], found[0], rtol=1e-10)


def test_tensors() -> None:
    """The trace is the Born, nothing is along the momentum, and the direction of a rotation about z does not matter."""
    born = mebridge.Born("g g > t t~")
    momenta = points(4, 173.0)
    values = born.evaluate(momenta)
    for leg in (0, 1):
        tensor = born.tensors(momenta, values, leg)
        np.testing.assert_allclose(tensor[:, 1:, 1:].trace(axis1=1, axis2=2), values.born, rtol=1e-12)
        np.testing.assert_array_equal(tensor, tensor.transpose(0, 2, 1))
        np.testing.assert_allclose(tensor @ momenta[:, leg, :, None], 0, atol=1e-12 * values.born.max())
        # As seen from a frame that is turned from z to x.
        turned = momenta[:, :, [0, 3, 2, 1]] * np.array([1, 1, 1, -1])
        again = born.tensors(turned, born.evaluate(turned), leg)
        back = again[:, [0, 3, 2, 1]][:, :, [0, 3, 2, 1]] * np.outer([1, -1, 1, 1], [1, -1, 1, 1])
        np.testing.assert_allclose(back, tensor, atol=1e-12 * values.born.max())
    with pytest.raises(ValueError, match=r"leg 2 .* is no massless vector"):
        born.tensors(momenta, values, 2)
    with pytest.raises(ValueError, match="momenta of 3 events and values of 4"):
        born.tensors(momenta[:3], values, 0)


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
