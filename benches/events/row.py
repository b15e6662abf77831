"""One run of `generate_events` in a process of its own, which can be sampled as a whole: row.py ARGUMENTS RESULT, both
JSON files. What the run does for how long is seen at the messages of the worker process.
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
    """The worker process, with its CPU seconds in all of its threads."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        runs.append(self)
        # After the survey, and in all.
        self.survey = self.all = 0.0
        self.rounds = 0
        self.on(progress=self.report)

    def cpu(self):
        words = pathlib.Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS

    def peak(self):
        status = pathlib.Path(f"/proc/{self._child.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024

    def report(self, told):
        if told["stage"] == "survey":
            self.survey = self.cpu()
        else:
            self.rounds += 1

    def call(self, name, **arguments):
        self.found = super().call(name, **arguments)
        self.all, self.memory = self.cpu(), self.peak()
        return self.found


def main(arguments, result):
    asked = json.loads(pathlib.Path(arguments).read_text())
    _events.Worker = Timed
    begin = time.monotonic()
    found = mebridge.generate_events(asked.pop("process"), **asked)
    end = time.monotonic()
    (run,) = runs
    own = resource.getrusage(resource.RUSAGE_SELF)
    drawn, passed, _ = run.found["points"]
    # Those of the run begin when its process has been called, and end before the file is written.
    stages, last = [], begin
    for name in ("start", "survey", "events"):
        stages.append((name, last, last + found.seconds[name]))
        last += found.seconds[name]
    stages.append(("file", last, end))
    written = {
        "stages": stages,
        "cpu": {
            "survey": run.survey,
            "events": run.all - run.survey,
            # Of the worker and of this one.
            "all": own.ru_utime + own.ru_stime + run.all,
        },
        "tick": 1.0 / TICKS,
        "memory": run.memory,
        "rounds": run.rounds,
        "points": drawn,
        "passed": passed,
        "cross_section": [found.cross_section, found.error],
        "events": found.events,
    }
    pathlib.Path(result).write_text(json.dumps(written))


if __name__ == "__main__":
    main(*sys.argv[1:])
