"""Unweighted events a second: what a run of `generate_events` costs from its first to its last line, and where.

    make bench-events
    make bench-events ARGS="--only 'g g > t t~ g g' --events 10000 --repeat 3"
    make bench-events ARGS="--madevent OUTPUT --events 10000"    # an MG5aMC output, MadEvent beside `mebridge events`

Each row is a process of its own, so that memory and time are its own. With `--repeat` runs have different seeds, and
the row is their median. `--json` writes all that was measured.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import madevent
import parts
import processes

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python" / "examples"))
import densities

# Columns of the table: heading, key of a result, format.
_COLUMNS = (
    ("events", "events", "{:.0f}"),
    ("points/s", "points_a_second", "{:.3g}"),
    ("pass", "passing", "{:.3f}"),
    ("efficiency", "efficiency", "{:.4f}"),
    ("overweight", "overweight", "{:.4f}"),
    ("survey s", "survey_seconds", "{:.2f}"),
    ("of CPU", "survey_seconds_of_cpu", "{:.2f}"),
    ("events/s", "events_a_second", "{:.4g}"),
    ("of CPU", "events_a_second_of_cpu", "{:.4g}"),
    ("all in s", "seconds", "{:.2f}"),
    ("CPU s", "cpu_seconds", "{:.2f}"),
    ("MB", "megabytes", "{:.0f}"),
    ("pb", "cross_section", "{:.5g}"),
    ("+-", "error", "{:.2g}"),
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench-events", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="PROCESS", help="this row; may be given several times")
    parser.add_argument("--madevent", action="append", type=pathlib.Path, metavar="OUTPUT", help="runs of this instead")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    parser.add_argument("--events", type=int, help="how many events instead of the row's number")
    parser.add_argument("--repeat", type=int, default=1, help="runs of a row, of which the median is shown")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    parser.add_argument("--options", type=json.loads, default={}, help="other arguments of generate_events, as JSON")
    parser.add_argument("--no-parts", action="store_true", help="do not sample where the time goes")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all that was measured")
    return parser.parse_args()


def measure(row: processes.Row, asked: argparse.Namespace, seed: int, folder: pathlib.Path) -> dict[str, Any]:
    """One run of a row."""
    output = folder / "events.lhe"
    options = {
        "process": row.process,
        "energy": row.energy,
        "events": asked.events or row.events,
        "cuts": row.cuts,
        "seed": seed,
        "threads": asked.threads,
        "device": asked.device,
        "output": str(output),
        **({"pdf": str(folder / "toy")} if row.protons else {}),
        **asked.options,
    }
    given, result, samples = (folder / name for name in ("arguments.json", "result.json", "samples"))
    given.write_text(json.dumps(options))
    recorder = [] if asked.no_parts else parts.recorder(samples)
    subprocess.run([*recorder, sys.executable, str(HERE / "row.py"), str(given), str(result)], check=True)
    found = json.loads(result.read_text())
    stages = {name: end - begin for name, begin, end in found["stages"]}
    weights = _weights(output)
    events = found["events"]
    # The least weight is that of all events whose density was not larger than the survey had seen.
    overweight = 1.0 - min(weights) * len(weights) / sum(weights)
    mean, error = found["cross_section"]
    # The system counts CPU time in ticks; what took less than one took at most one.
    cpu = max(found["cpu"]["events"], found["tick"])
    return {
        "process": row.process,
        "options": {key: value for key, value in options.items() if key not in ("output", "pdf", "process")},
        "events": events,
        "points_a_second": found["points"] / cpu,
        "passing": found["passed"] / found["points"],
        "efficiency": events / found["points"],
        "overweight": overweight,
        "survey_seconds": stages["survey"],
        "survey_seconds_of_cpu": found["cpu"]["survey"],
        "events_a_second": events / stages["events"],
        "events_a_second_of_cpu": events / cpu,
        "seconds": sum(stages.values()),
        "cpu_seconds": found["cpu"]["all"],
        "megabytes": found["memory"] / 1e6,
        "cross_section": mean,
        "error": error,
        "stages": stages,
        "parts": parts.shares(samples, found["stages"]) if recorder else {},
    }


def _weights(output: pathlib.Path) -> list[float]:
    found = []
    with open(output) as file:
        for line in file:
            if line == "<event>\n":
                found.append(float(next(file).split()[2]))
    return found


def median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each number; of cross sections the mean and its error."""
    found = dict(runs[0])
    for key, value in runs[0].items():
        if isinstance(value, (int, float)):
            found[key] = statistics.median(run[key] for run in runs)
    if len(runs) > 1:
        found["cross_section"] = statistics.fmean(run["cross_section"] for run in runs)
        found["error"] = sum(run["error"] ** 2 for run in runs) ** 0.5 / len(runs)
    return found


def show(results: list[dict[str, Any]]) -> None:
    lines = [["process", *(heading for heading, _, _ in _COLUMNS)]]
    lines += [[found["process"], *(form.format(found[key]) for _, key, form in _COLUMNS)] for found in results]
    widths = [max(map(len, column)) for column in zip(*lines)]
    print()
    for line in lines:
        first, *others = (word.rjust(width) for word, width in zip(line, widths))
        print("  ".join([first.strip().ljust(widths[0]), *others]))
    for found in results:
        for stage, shares in found["parts"].items():
            said = ", ".join(f"{part} {share:.0%}" for part, share in shares.items() if share >= 0.01)
            print(f"{found['process']}, {stage}, {found['stages'][stage]:.2f} s: {said}")


def main() -> None:
    asked = arguments()
    if asked.list:
        print("\n".join(row.process for row in processes.ROWS))
        return
    for output in asked.madevent or ():
        madevent.table(output, asked.events or 10_000, asked.seed, asked.repeat)
    if asked.madevent:
        return
    wanted = asked.only or [row.process for row in processes.ROWS]
    rows = {row.process: row for row in processes.ROWS}
    if unknown := [name for name in wanted if name not in rows]:
        sys.exit(f"bench-events: there is no row {unknown[0]!r}; --list names them")
    results: list[dict[str, Any]] = []
    everything = []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        densities.write(folder)
        for name in wanted:
            try:
                runs = [measure(rows[name], asked, asked.seed + i, folder) for i in range(asked.repeat)]
            except subprocess.CalledProcessError as error:
                print(f"bench-events: {name} ended with status {error.returncode}", file=sys.stderr)
                continue
            everything += runs
            results.append(median(runs))
            if asked.json:
                machine = {"machine": platform.machine(), "processor": _processor()}
                asked.json.write_text(json.dumps({**machine, "medians": results, "runs": everything}, indent=1))
    show(results)
    if len(results) < len(wanted):
        sys.exit(1)


def _processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
