"""A process by its name in the place of a directory that MG5aMC wrote: its diagrams, and a parameter card."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import weakref
from collections.abc import Container, Mapping, Sequence
from typing import Any

from . import _arguments, _command, _scratch
from ._library import Error, version
from ._output import Config, Directory, Line, Place
from ._process import Path, absolute, model_environment, model_path

# Whose beams may be protons, by PDG code.
_PARTONS = (1, 2, 3, 4, 5, 21, 22)
# Legs that come in, as bits.
_FIRST, _SECOND = 1, 2


class Named:
    """What a run takes of an output, for a process by its name.

    Args:
        process: its name; several with ``add process`` between them.
        model: a model file or a UFO folder; the Standard Model otherwise.
        folder: where ``Events`` is, or will be.
        pdf_data: a folder with the grids of ``nn23lo1`` and others, or an output or MG5aMC that has them.
    """

    def __init__(self, process: str, model: Path | None, folder: Path, pdf_data: Path | None) -> None:
        self.path = pathlib.Path(os.path.abspath(_arguments.text("folder", folder)))
        self.process = absolute(process)
        self.model = model_path(model or os.environ.get("CUDACPP_RUNTIME_MODEL") or None)
        self.environment = model_environment(self.model)
        self.pdf_data = None if pdf_data is None else pathlib.Path(os.path.abspath(_arguments.text("pdf_data", pdf_data)))
        with _scratch.folder() as scratch:
            file = pathlib.Path(scratch) / "lines.json"
            _command.run("generate", f"--lines={file}", "--", self.process, environment=self.environment)
            found = json.loads(file.read_text())
        with contextlib.ExitStack() as kept:
            self._cards = pathlib.Path(kept.enter_context(_scratch.folder()))
            weakref.finalize(self, kept.pop_all().close)
        (self._cards / "param_card.dat").write_text(_card(found["card"], found["scales"]))
        self.described: list[dict[str, Any]] = []
        for number, lines in enumerate(found["elements"], 1):
            if lines is None:
                raise Error(
                    f"the diagrams of matrix element {number} of {process} are too many to be listed, and events are "
                    "clustered along them; ask for fewer particles"
                )
            self.described.append(lines)
        (self._cards / "run_card.dat").write_text(_run_card([] if self.decays else [lines["legs"] for lines in self.described]))
        self.directories: list[pathlib.Path] = []

    def read(self) -> list[Directory]:
        """A directory for each matrix element."""
        return [directory(lines, number) for number, lines in enumerate(self.described, 1)]

    @property
    def decays(self) -> bool:
        """Whether one particle comes in."""
        lines = [line.strip() for line in self.process.replace(";", "\n").splitlines() if ">" in line]
        first = lines[0].removeprefix("generate").removeprefix("add process") if lines else ""
        return len(first.partition(">")[0].split()) == 1

    @property
    def sources(self) -> list[str]:
        """The process."""
        return [self.process]

    def places(self, sources: Sequence[str]) -> list[Place]:
        """Of all matrix elements."""
        return [Place(n, 0, f"{self.process}#{n + 1}") for n in range(len(self.described))]

    def card(self, name: str) -> pathlib.Path:
        """The model's parameter card, or a run card of MG5aMC's defaults."""
        return self._cards / name

    @property
    def asked(self) -> Mapping[str, Any]:
        """What makes a run of it another one, besides matrix elements."""
        return {"process": self.process, "model": self.model}

    @property
    def by(self) -> str:
        """What event files say of it."""
        return "by a run card of MG5aMC"

    @property
    def version(self) -> str:
        """Of what wrote it."""
        return f"mebridge {version()}"

    @property
    def steps(self) -> str:
        """As MG5aMC is asked for it."""
        lines = [line.strip() for line in self.process.replace(";", "\n").splitlines() if line.strip()]
        words = ("define", "generate", "add process")
        asked, first = [], True
        for line in lines:
            if not line.startswith(words):
                line = f"{'generate' if first else 'add process'} {line}"
            first = first and line.startswith("define")
            asked.append(line)
        return "\n".join([f"import model {self.model or 'sm'}", *asked])

    @property
    def data(self) -> pathlib.Path:
        """Below which there is ``lib/Pdfdata``."""
        given = self.pdf_data
        if given is None:
            raise Error(
                "the run card's pdlabel is about grids that MG5aMC puts into its outputs; give pdf_data (--pdf-data): an output, or "
                "the folder of MG5aMC; or set pdlabel to lhapdf, with a set below LHAPDF_DATA_PATH; or lpp1 and lpp2 to 0 where "
                "the beams are the particles of the process"
            )
        places = [given, given / "Template" / "LO"]
        found = [place for place in places if (place / "lib" / "Pdfdata").is_dir()]
        if not found:
            raise Error(f"{given} has no lib/Pdfdata; pdf_data is an output of MG5aMC, or the folder of MG5aMC")
        return found[0]


def directory(described: Mapping[str, Any], number: int = 1) -> Directory:
    """A matrix element as a directory of its own.

    Args:
        described: what ``mebridge generate --lines`` says of it.
        number: of the matrix element, from 1.
    """
    legs = tuple(described["legs"])
    colors = {int(code): color for code, color in described["colors"].items()}
    configs = []
    for place, diagram in enumerate(described["diagrams"], 1):
        if diagram["largest_vertex"] > 3:
            raise Error(
                f"all diagrams of {' '.join(map(str, legs))} (PDG codes) have vertices of {diagram['largest_vertex']} "
                "particles, along which events are not clustered; take an output of MG5aMC"
            )
        lines = _lines(legs, diagram["lines"], colors)
        configs.append(Config(place, lines, (diagram["diagram"],), diagram["qcd"]))
    return Directory(pathlib.Path(f"matrix element {number}"), (legs,), tuple(configs), colors)


def _lines(
    legs: Sequence[int], given: Sequence[Mapping[str, Any]], particles: Container[int]
) -> tuple[Line, ...]:
    """Lines of a diagram as ``configs.inc`` lists them: those that go out, the outer ones first, then those between the
    beams from the first one on.

    Args:
        particles: PDG codes of all that there are, with those of antiparticles.
    """
    everything = (1 << len(legs)) - 1
    timelike, between = [], []
    for line in given:
        side, code = line["legs"], line["pdg"]
        if bool(side & _FIRST) != bool(side & _SECOND):
            side = side if side & _FIRST else everything - side
            between.append((side, abs(code), 0))
            continue
        if side & _FIRST:
            side, code = everything - side, -code if -code in particles else code
        timelike.append((side, code, line["forced"]))
    if between:
        # The code of the beam itself, as there.
        between.append((everything - _SECOND, abs(legs[1]), 0))
    found = []
    known = {1 << leg for leg in range(len(legs))}
    for spacelike, some in ((False, timelike), (True, between)):
        for side, code, forced in sorted(some, key=lambda line: line[0].bit_count()):
            found.append(Line(side, _daughters(side, known), (code,), spacelike, forced))
            known.add(side)
    return tuple(found)


def _daughters(side: int, known: set[int]) -> tuple[int, int]:
    """The two lines that meet in one."""
    one = next(one for one in known if one & side == one and side - one in known)
    return one, side - one


def _run_card(legs: Sequence[Sequence[int]]) -> str:
    """As MG5aMC begins the run card of a process: beams that have no partons are the particles that come in.

    Args:
        legs: PDG codes of each matrix element of two that come in.
    """
    text = "# What is not here has MG5aMC's default.\n"
    whole = [beam for beam in (0, 1) if legs and not any(abs(codes[beam]) in _PARTONS for codes in legs)]
    for beam in whole:
        text += f"0 = lpp{beam + 1}\n{500 if len(whole) == 2 else 1000} = ebeam{beam + 1}\n"
    return text + ("False = use_syst\n" if len(whole) == 2 else "")


def _card(entries: Sequence[Mapping[str, Any]], scales: Mapping[str, float]) -> str:
    """A parameter card (SLHA).

    Args:
        scales: of blocks whose parameters run.
    """
    blocks: dict[str, list[str]] = {}
    for entry in entries:
        index = " ".join(map(str, entry["index"]))
        line = f"{index} {entry['value']!r} # {entry['name']}"
        blocks.setdefault(entry["block"].upper(), []).append(line)
    decays = blocks.pop("DECAY", [])
    heads = {block: f"{block} Q= {scales[of]!r}" if (of := block.lower()) in scales else block for block in blocks}
    text = "".join(f"Block {heads[block]}\n" + "".join(f"  {line}\n" for line in lines) for block, lines in blocks.items())
    return text + "".join(f"DECAY {line}\n" for line in decays)
