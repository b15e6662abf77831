"""Helicities and colour flows of unweighted events against their exact shares.

    python shares.py "g g > t t~ g" events.lhe [other.lhe.gz]

For each event of a file, `evaluate` gives what each helicity contributes at its momenta: the numbers of events with each
helicity follow from that, with their covariance, and chi2 is about what was drawn alone. Colour flows are drawn again
with other random numbers, many times for each event. Another file, of MadEvent for the same process and cuts, is
compared with the first: both are samples of the same integral.
"""

import gzip
import math
import sys

import numpy as np

import mebridge


def read(path, legs):
    """Momenta, helicities and colour tags, shapes (events, legs, ...), of external particles."""
    momenta, helicities, tags = [], [], []
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as file:
        for line in file:
            if line.startswith("<event"):
                count = int(next(file).split()[0])
                rows = [next(file).split() for _ in range(count)]
                rows = [row for row in rows if row[1] != "2"]
                if len(rows) != legs:
                    raise SystemExit(f"{path}: an event has {len(rows)} legs, the process {legs}")
                momenta.append([[float(row[9]), *map(float, row[6:9])] for row in rows])
                helicities.append([round(float(row[12])) for row in rows])
                tags.append([[int(row[4]), int(row[5])] for row in rows])
    return np.array(momenta), np.array(helicities), np.array(tags)


def rows_of(table, found):
    """Which row of a table each entry is, -1 for none."""
    index = {tuple(row.ravel().tolist()): number for number, row in enumerate(table)}
    return np.array([index.get(tuple(row.ravel().tolist()), -1) for row in found])


def numbered(tags):
    """Colour tags from 1 in the order in which they come, so that flows are equal where their lines are."""
    out = np.zeros_like(tags)
    for event, row in enumerate(tags):
        names = {0: 0}
        for leg, pair in enumerate(row.tolist()):
            for side, tag in enumerate(pair):
                out[event, leg, side] = names.setdefault(tag, len(names))
    return out


def chi2_of(counts, expected, covariance):
    """chi2 of counts, and its degrees of freedom."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > 1e-9
    along = vectors.T @ ((counts - expected) / scale)
    return float((along[kept] ** 2 / values[kept]).sum()), int(kept.sum())


def helicity_shares(process, momenta, helicities, step=100_000):
    rows = range(len(process.helicities))
    chosen = rows_of(process.helicities, helicities)
    if (chosen < 0).any():
        raise SystemExit("an event has a helicity that the process has not")
    expected, covariance = np.zeros(len(rows)), np.zeros((len(rows), len(rows)))
    for begin in range(0, len(momenta), step):
        p = momenta[begin : begin + step]
        shares = np.stack([process.evaluate(p, helicity=row) for row in rows], axis=1)
        shares /= shares.sum(axis=1, keepdims=True)
        expected += shares.sum(axis=0)
        covariance += np.diag(shares.sum(axis=0)) - shares.T @ shares
    counts = np.bincount(chosen, minlength=len(rows))
    there = expected > 1e-9 * len(momenta)
    if counts[~there].any():
        raise SystemExit("an event has a helicity that does not contribute")
    return chi2_of(counts[there], expected[there], covariance[np.ix_(there, there)])


def color_shares(process, momenta, tags, draws=64, step=100_000, seed=1):
    flows = numbered(process.color_flows)
    chosen = rows_of(flows, numbered(tags))
    if (chosen < 0).any():
        raise SystemExit("an event has a colour flow that the process has not")
    rng = np.random.default_rng(seed)
    expected, covariance = np.zeros(len(flows)), np.zeros((len(flows), len(flows)))
    # Points that fill the square evenly, shifted at random for each event.
    points = np.stack([np.arange(draws) * 0.7548776662466927, np.arange(draws) * 0.5698402909980532])
    for begin in range(0, len(momenta), step):
        p = momenta[begin : begin + step]
        shares = np.zeros((len(p), len(flows)))
        shift = rng.random((2, len(p)))
        for point in points.T:
            color, diagram = (shift + point[:, None]) % 1.0
            found = process.evaluate(p, colors=color, diagrams=diagram)
            shares[np.arange(len(p)), found.color] += 1 / draws
        expected += shares.sum(axis=0)
        # That shares are counted and not known is worth 1/draws of it at most.
        covariance += np.diag(shares.sum(axis=0)) - shares.T @ shares
    there = expected > 0
    return chi2_of(np.bincount(chosen, minlength=len(flows))[there], expected[there], covariance[np.ix_(there, there)])


def two_samples(first, second):
    """chi2 of two samples of the same shares."""
    there = first + second > 0
    a, b = first[there].astype(float), second[there].astype(float)
    ratio = math.sqrt(b.sum() / a.sum())
    return float(((a * ratio - b / ratio) ** 2 / (a + b)).sum()), int(there.sum()) - 1


def main(name, path, other=None):
    process = mebridge.Process(name)
    momenta, helicities, tags = read(path, process.legs)
    print(f"{len(momenta)} events of {process.name}")
    for what, (chi2, freedom) in (
        ("helicities", helicity_shares(process, momenta, helicities)),
        ("colour flows", color_shares(process, momenta, tags)),
    ):
        print(f"{what}: chi2 {chi2:.1f} for {freedom} degrees of freedom")
    if other is not None:
        _, their_helicities, their_tags = read(other, process.legs)
        print(f"{len(their_tags)} events of {other}")
        flows = numbered(process.color_flows)
        for what, table, ours, theirs in (
            ("helicities", process.helicities, helicities, their_helicities),
            ("colour flows", flows, numbered(tags), numbered(their_tags)),
        ):
            ours, theirs = rows_of(table, ours), rows_of(table, theirs)
            if min(ours.min(), theirs.min()) < 0:
                raise SystemExit(f"an event has {what} that the process has not")
            chi2, freedom = two_samples(*(np.bincount(rows, minlength=len(table)) for rows in (ours, theirs)))
            print(f"{what} of both: chi2 {chi2:.1f} for {freedom} degrees of freedom")


if __name__ == "__main__":
    main(*sys.argv[1:])
