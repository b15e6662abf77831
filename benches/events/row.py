"""One run of `generate_events` in a process of its own, which can be sampled as a whole: row.py ARGUMENTS RESULT, both
JSON files. What the run does for how long is seen at the calls of the worker process.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import sys
import time

import mebridge
from mebridge import _events

# Of the clock in /proc.
TICKS = os.sysconf("SC_CLK_TCK")
runs: list[Timed] = []


class Timed(_events.Worker):
    """The worker process, with when and for how long it worked. Seconds of the monotonic clock, and of CPU in all of
    its threads."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        runs.append(self)
        self.calls, self.memory = [], None

    def cpu(self):
        words = pathlib.Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS

    def peak(self):
        status = pathlib.Path(f"/proc/{self._child.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024

    def call(self, name, **arguments):
        begin, cpu = time.monotonic(), self.cpu()
        answer = super().call(name, **arguments)
        self.calls.append((name, begin, time.monotonic(), self.cpu() - cpu, answer))
        return answer

    def end(self):
        if self.memory is None:
            self.total, self.memory = self.cpu(), self.peak()
        super().end()


def main(arguments, result):
    asked = json.loads(pathlib.Path(arguments).read_text())
    _events.Worker = Timed
    begin = time.monotonic()
    found = mebridge.generate_events(asked.pop("process"), **asked)
    end = time.monotonic()
    calls = [call for run in runs for call in run.calls]
    own, commands = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    surveys = [call for call in calls if call[0] not in ("build", "load", "round")]
    rounds = sorted((call for call in calls if call[0] == "round"), key=lambda call: call[1])
    first = surveys[0][1] if surveys else rounds[0][1]
    last = max(call[2] for call in rounds)
    stages = [("start", begin, first), ("survey", first, rounds[0][1]), ("events", rounds[0][1], last), ("file", last, end)]
    points = [channel for *_, answer in rounds for channel in answer["channels"]]
    written = {
        "stages": stages,
        "cpu": {
            "survey": sum(call[3] for call in surveys),
            "events": sum(call[3] for call in rounds),
            # Of the worker, of this one, and of the commands that made libraries.
            "all": own.ru_utime + own.ru_stime + commands.ru_utime + commands.ru_stime,
        },
        "tick": 1.0 / TICKS,
        "memory": sum(run.memory for run in runs),
        "channels": len(rounds[0][4]["channels"]),
        "rounds": len(rounds),
        "points": sum(channel[0] for channel in points),
        "passed": sum(channel[3] for channel in points),
        "survey_points": sum(answer["points"] for *_, answer in surveys),
        "cross_section": [found.cross_section, found.error],
        "events": found.events,
    }
    pathlib.Path(result).write_text(json.dumps(written))


if __name__ == "__main__":
    main(*sys.argv[1:])
