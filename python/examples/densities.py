"""Parton densities of a closed formula, as a set of LHAPDF; cross sections and spectra of top pairs with them."""

import math
import pathlib

import numpy as np

PARTONS = (-4, -3, -2, -1, 21, 1, 2, 3, 4)


def xf(code, x, q):
    """x f(x, Q): valence-like and sea-like shapes that differ by flavour and grow with the scale."""
    grow = 1 + 0.1 * np.log(q / 91.188)
    if code == 21:
        return 3.0 * grow * x**-0.2 * (1 - x) ** 5
    sea = {1: 0.3, 2: 0.25, 3: 0.15, 4: 0.1}[abs(code)] * grow * x**-0.2 * (1 - x) ** 7
    valence = {1: 1.5 * (1 - x), 2: 3.0}.get(code, 0.0)
    return sea + valence * np.sqrt(x) * (1 - x) ** 3


def write(folder, name="toy", partons=PARTONS, alpha_s=True, least_x=1e-6):
    """Writes the set and gives its folder."""
    folder = pathlib.Path(folder) / name
    folder.mkdir()
    x = np.concatenate([np.geomspace(least_x, 0.1, 80, endpoint=False), np.linspace(0.1, 1, 60)])
    q = np.geomspace(5, 1e5, 30)
    table = np.stack([xf(code, x[:, None], q[None, :]).ravel() for code in partons], axis=1)
    lines = ["PdfType: central", "Format: lhagrid1", "---"]
    lines += [" ".join(f"{number:.12e}" for number in numbers) for numbers in (x, q)]
    lines.append(" ".join(map(str, partons)))
    lines += [" ".join(f"{number:.10e}" for number in row) for row in table]
    (folder / f"{name}_0000.dat").write_text("\n".join([*lines, "---", ""]))
    information = ["SetDesc: a closed formula", "SetIndex: 90000", "Format: lhagrid1", "Particle: 2212"]
    if alpha_s:
        scales = np.geomspace(5, 1e5, 40)
        information.append("AlphaS_Qs: [" + ", ".join(f"{s:.10e}" for s in scales) + "]")
        information.append("AlphaS_Vals: [" + ", ".join(f"{running(s):.10e}" for s in scales) + "]")
    (folder / f"{name}.info").write_text("\n".join([*information, ""]))
    return folder


def running(q):
    """alpha_s at one loop with five flavours, 0.118 at the mass of the Z boson."""
    return 0.118 / (1 + 0.118 * (33 - 10) / (12 * math.pi) * np.log(q**2 / 91.188**2))


def top_pairs(energy, scale, alpha_s, mass=173.0):
    """Cross sections in pb of p p > t t~ by gluons and by quarks, at a fixed scale: the closed formulas of leading
    order (Combridge), and densities integrated over ln tau and the rapidity."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    least = 4 * mass**2 / energy**2
    # ln tau = u**2 + ln least: the square root of the threshold is smooth in u.
    end = math.sqrt(-math.log(least))
    u = end * (nodes + 1) / 2
    log = u**2 + math.log(least)
    jacobian = end / 2 * weights * 2 * u
    gluons = quarks = 0.0
    for log_tau, factor in zip(log, jacobian):
        tau = math.exp(log_tau)
        y = -log_tau / 2 * nodes
        x1, x2 = math.sqrt(tau) * np.exp(y), math.sqrt(tau) * np.exp(-y)
        share = -log_tau / 2 * weights
        rho = least / tau
        beta = math.sqrt(1 - rho)
        front = math.pi * alpha_s**2 * beta * rho / mass**2 * 0.3893793721e9
        gg = front / 192 * ((rho**2 + 16 * rho + 16) / beta * math.log((1 + beta) / (1 - beta)) - 28 - 31 * rho)
        qq = front / 27 * (2 + rho)
        gluons += factor * gg * (share @ (xf(21, x1, scale) * xf(21, x2, scale)))
        for code in (1, 2, 3, 4):
            there = xf(code, x1, scale) * xf(-code, x2, scale) + xf(-code, x1, scale) * xf(code, x2, scale)
            quarks += factor * qq * (share @ there)
    return gluons, quarks


def top_pair_spectra(edges, energy, scale, alpha_s, mass=173.0, points=1 << 21):
    """Cross sections of p p > t t~ in pb in bins of the top quark's "pt" and rapidity "y" and of the pair's "mass", by
    the closed formulas of leading order (Combridge) at points that fill x1, x2 and the angle evenly."""
    # The additive recurrence of the root of x^4 = x + 1.
    root = 1.2207440846057596
    u, v, w = (((np.arange(points) + 0.5) * root**-power) % 1.0 for power in (1, 2, 3))
    least = 4 * mass**2 / energy**2
    end = math.sqrt(-math.log(least))
    log_tau = (end * u) ** 2 + math.log(least)
    tau, y, cos = np.exp(log_tau), -log_tau * (v - 0.5), 2 * w - 1
    jacobian = 2 * end**2 * u * -log_tau * 2
    x1, x2 = np.sqrt(tau) * np.exp(y), np.sqrt(tau) * np.exp(-y)
    s = tau * energy**2
    rho = least / tau
    beta = np.sqrt(1 - rho)
    tau1, tau2 = (1 - beta * cos) / 2, (1 + beta * cos) / 2
    g4 = (4 * math.pi * alpha_s) ** 2
    gg = (1 / (6 * tau1 * tau2) - 3 / 8) * (tau1**2 + tau2**2 + rho - rho**2 / (4 * tau1 * tau2))
    qq = 4 / 9 * (tau1**2 + tau2**2 + rho / 2)
    density = gg * xf(21, x1, scale) * xf(21, x2, scale)
    for code in (1, 2, 3, 4):
        density += qq * (xf(code, x1, scale) * xf(-code, x2, scale) + xf(-code, x1, scale) * xf(code, x2, scale))
    weights = jacobian / points * 0.3893793721e9 * g4 * beta / (32 * math.pi * s) * density
    momentum = np.sqrt(s) / 2 * beta
    found = {
        "pt": momentum * np.sqrt(1 - cos**2),
        "y": y + np.arctanh(beta * cos),
        "mass": np.sqrt(s),
    }
    return {name: np.histogram(found[name], bins=edges[name], weights=weights)[0] for name in edges}
