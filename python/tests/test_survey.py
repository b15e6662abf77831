"""How many points a survey and a round ask for."""

import math
import unittest

from mebridge import _survey

# Of a channel: points, their mean and error, how many passed, how many became events.
ROWS = [[1000, 30.0, 1.0, 900, 100.0], [1000, 10.0, 1.0, 900, 10.0], [1000, 0.0, 0.0, 0, 0.0], [1000, 1e-6, 0.0, 1, 0.0]]


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
            parts = _survey.further(1000, need)
            sizes = [min(parts.points << part, parts.most) for part in range(parts.count)]
            self.assertGreaterEqual(sizes[0], 1000)
            self.assertLessEqual(sum(sizes[1:]), 2 * need / 15)
            self.assertGreaterEqual(sum(sizes), before)
            before = sum(sizes)
        self.assertGreater(parts.count, 3)
        self.assertEqual(_survey.further(1000, math.inf).count, 1)

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


if __name__ == "__main__":
    unittest.main()
