"""How many points a survey and a round ask for."""

import math
import unittest

import numpy as np

from mebridge import _rounds, _survey

# Of a channel: points, their mean and error, how many passed, how many became events.
ROWS = [[1000, 30.0, 1.0, 900, 100.0], [1000, 10.0, 1.0, 900, 10.0], [1000, 0.0, 0.0, 0, 0.0], [1000, 1e-6, 0.0, 1, 0.0]]

# Points of a channel.
NEEDS = (0.0, 700.2, 1e6, math.inf)


class Survey(unittest.TestCase):
    def test_points_that_are_needed(self):
        """By the shares of the cross section, and by how many points became an event."""
        needs = _survey.needed(ROWS, 4000)
        self.assertAlmostEqual(needs[0], 4000 * 0.75 * 10, delta=1)
        self.assertAlmostEqual(needs[1], 4000 * 0.25 * 100, delta=1)
        self.assertEqual(needs[2:], [0.0, math.inf])
        self.assertEqual(_survey.needed([[1000, 0.0, 0.0, 0, 0.0]], 10), [math.inf])

    def test_parts_follow_what_is_needed(self):
        """One part counts for the cross section whatever is needed; more are a small share of the run."""
        before = 0
        for need in (0.0, 1e3, 1e4, 1e5, 1e6, 1e7):
            parts = _survey.further(1000, ROWS[0], need)
            sizes = [min(parts.points << part, parts.most) for part in range(parts.count)]
            self.assertGreaterEqual(sizes[0], 1000)
            self.assertLessEqual(sum(sizes[1:]), 2 * need / 15)
            self.assertGreaterEqual(sum(sizes), before)
            before = sum(sizes)
        self.assertGreater(parts.count, 3)
        self.assertEqual(_survey.further(1000, ROWS[0], math.inf).count, 1)

    def test_a_precision_is_looked_at_before_the_part_that_counts(self):
        """1000 points have an error of a thirtieth; so have 1000 of the last part, and 2000 one of 1/42."""
        for precision, parts in ((None, 1), (0.04, 1), (0.03, 2), (0.001, 2)):
            found = _survey.further(1000, ROWS[0], 0.0, precision)
            self.assertEqual((found.points, found.count), (1000, parts))
            self.assertEqual(min(found.points << (parts - 1), found.most), 1000 * parts)
        self.assertEqual(_survey.further(1000, ROWS[2], 0.0, 0.001).count, 1)

    def test_calls_are_no_larger_than_what_is_needed(self):
        """A call of a GPU has many points; channels that need few of them have few."""
        for need in (0.0, 10.0, 700.0, 40_000.0, 70_000.0, 1e7):
            calls = _survey.calls(need)
            for name, least in (("cpu_batch_size", 200), ("gpu_batch_size", 1000)):
                size = calls[name]
                self.assertGreaterEqual(size, least)
                # Whole calls, of which the last one is not in vain.
                self.assertLessEqual(math.ceil(need / size) * size, max(least, need + math.ceil(need / size)))
        self.assertEqual(_survey.calls(math.inf), {"cpu_batch_size": 500, "gpu_batch_size": 64_000})

    def test_points_that_are_planned(self):
        """A share of those that are needed, and no less than a call has."""
        self.assertEqual([_survey.planned(need, "cpu", True) for need in NEEDS], [200, 421, 6 * 10**5, 500])
        self.assertEqual([_survey.planned(need, "cuda", False) for need in NEEDS], [1000, 1000, 10**6, 1000])
        self.assertEqual([_survey.planned(need, "cuda", True) for need in NEEDS], [200, 701, 10**6, 500])


class Kept:
    """What a run keeps, without its folder."""

    def __init__(self, rounds):
        self.rounds, self.sizes = rounds, []

    def plan(self, sizes):
        pass


def rounds_of(rounds, trial, surveyed):
    kept = Kept({number: one for number, one in enumerate(rounds)})
    found = _rounds.Rounds(None, kept, [([number], 1000) for number in range(len(trial))], 0, 1, 0.01, "cpu", "")
    found._trial, found._surveyed = np.array(trial), np.array(surveyed)
    return found


class CrossSection(unittest.TestCase):
    def test_it_has_no_bias(self):
        """A round has the more points the larger the weights were that the survey found. The mean of all points would be
        too small then: of weights with an exponential distribution of mean 1."""
        random, values, errors, pooled = np.random.default_rng(1), [], [], []
        for _ in range(2000):
            survey = random.exponential(size=50)
            weights = random.exponential(size=max(10, math.ceil(40 * survey.mean() ** 3)))
            rows = [[len(of), of.mean(), of.std(ddof=1) / math.sqrt(len(of))] for of in (survey, weights)]
            found = rounds_of([{"events": 10, "measured": np.array(rows[1:])}], [[50, 1.0, 0.1, 50, 10.0]], rows[:1])
            value, error = found.cross_section()
            values.append(value - 1.0)
            errors.append(error)
            pooled.append(np.append(survey, weights).mean() - 1.0)
        deviation = [np.mean(of) / np.std(of) * math.sqrt(len(of)) for of in (values, pooled)]
        self.assertLess(abs(deviation[0]), 4)
        self.assertLess(deviation[1], -4)
        self.assertLess(abs(np.mean(np.square(errors)) / np.var(values) - 1), 0.15)

    def test_a_matrix_element_without_events_has_an_error(self):
        """That of one event of those that share channels with it."""
        drawn = [{"0": [90, 90.0, 90.0], "1": [10, 10.0, 10.0]}, {"0": [100, 100.0, 100.0]}]
        measured = np.array([[300, 50.0, 0.001]])
        rounds = rounds_of([{"events": 100, "measured": measured, "drawn": of} for of in drawn], ROWS[:1], [[1000, 50.0, 0.001]])
        rounds.elements = [([0, 1, 2], 1000)]
        found = [rounds.cross_section(number) for number in range(3)]
        np.testing.assert_allclose([value for value, _ in found], [47.5, 2.5, 0.0])
        np.testing.assert_allclose([error for _, error in found], [50 * math.sqrt(0.95 * 0.05 / 200)] * 2 + [50 / 200], rtol=1e-4)

    def test_what_counts_does_not_decide_by_how_much(self):
        """Of the survey's last part only its points, their mean and error are used, and rounds have weights by the
        trial."""
        made = {"events": 4000, "measured": np.array([[300, 30.0, 2.0], [777, 12.0, 1.0]])}
        rounds = rounds_of([made], ROWS[:2], [[1000, 33.0, 1.0], [5000, 9.0, 0.5]])
        weights = [_survey.planned(need, "cpu", True) for need in _survey.needed(ROWS[:2], 4000)]
        self.assertEqual(weights, [18_000, 60_000])
        for number, (one, other) in enumerate((((1000, 33.0, 1.0), (30.0, 2.0)), ((5000, 9.0, 0.5), (12.0, 1.0)))):
            value, error = rounds.cross_section(number)
            share = one[0] / (one[0] + weights[number])
            self.assertAlmostEqual(value, share * one[1] + (1 - share) * other[0])
            self.assertAlmostEqual(error, math.hypot(share * one[2], (1 - share) * other[1]))


if __name__ == "__main__":
    unittest.main()
