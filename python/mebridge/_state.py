"""The folder of a run: what is done of it, so that it goes on after an interruption."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from . import _records
from ._library import Error
from ._worker import check_names

_RUN = "run.json"
# What the files of a folder hold; another number is another version's.
_FORMAT = 7


def _open_lock(path: pathlib.Path) -> IO[bytes]:
    """Opens a file for its lock alone: what is in it stays, and a link that somebody put there is not followed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "its lock is no regular file")
    return os.fdopen(descriptor, "rb")


class State:
    """What is done of a run. Each file is complete where it bears its name: it is written under another one first.

    Args:
        folder: made where it is not there.
        asked: what makes the run, as JSON; a folder of another run is refused, but that of fewer ``events`` is not.
        lasting: whether it outlives this program. Otherwise no file has to reach the disk, or be known again.
    """

    def __init__(self, folder: pathlib.Path, asked: dict[str, Any], lasting: bool = True) -> None:
        self.folder, self._lasting = folder, lasting
        check_names(str(folder))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _open_lock(folder / "lock")
        except OSError as error:
            raise Error(f"the state of the run cannot be kept in {folder}: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise Error(f"another run is at work in {folder}") from None
        try:
            self._read(asked)
        except BaseException:
            self._lock.close()
            raise

    def _read(self, asked: dict[str, Any]) -> None:
        self.rounds: dict[int, dict[str, Any]] = {}
        """What is known of the rounds that are done, by their numbers."""
        self.sizes: list[int] = []
        """Events of each round, of those that are not done as well."""
        self._digests: dict[str, str] = {}
        self._asked = json.loads(json.dumps(asked))
        if not (self.folder / _RUN).exists():
            others = sorted(name for name in os.listdir(self.folder) if name not in ("lock", f"{_RUN}.part"))
            if others:
                raise Error(f"{self.folder} holds other files ({others[0]}); name a folder of its own for the state")
            return
        before, sizes, rounds, digests = _known(self.folder)
        _compare(self.folder, before, self._asked, ("events",))
        for name, digest in digests.items():
            _check(self.folder, name, digest)
        for number, done in rounds.items():
            self._note(number, {**json.loads((self.folder / _rows(number)).read_text()), "file": done["file"]})
        self.sizes, self._digests = sizes, digests

    def _write(self) -> None:
        _write(self.folder, self._asked, self.sizes, self._digests, self.rounds, self._lasting)

    def _settled(self, path: pathlib.Path) -> str:
        """Sees that a file, or the names in a folder, are on the disk; the digest of the file."""
        if not self._lasting:
            return ""
        _flush(path)
        return _digest(path) if path.is_file() else ""

    def kept(self, name: str) -> pathlib.Path | None:
        """Where this part of the run is, once it is done."""
        there = any(file.startswith(f"{name}/") for file in self._digests)
        return self.folder / name if there else None

    def part(self, name: str) -> pathlib.Path:
        """An empty folder for what is not complete yet."""
        if not (self.folder / _RUN).exists():
            # Not before: a run may be refused until then, and another one takes the folder.
            with self._keeping():
                self._write()
        part = self.folder / f"{name}.part"
        try:
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part)
            part.unlink(missing_ok=True)
            part.mkdir()
        except OSError as error:
            raise Error(f"the state of the run cannot be kept in {part}: {error.strerror}") from None
        return part

    @contextlib.contextmanager
    def _keeping(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Error(f"the state of the run cannot be kept in {self.folder}: {error.strerror}") from None

    def keep(self, name: str, part: pathlib.Path) -> pathlib.Path:
        """Keeps a part of the run that is a folder."""
        with self._keeping():
            digests = {}
            for path in part.rglob("*"):
                digest = self._settled(path)
                if path.is_file():
                    digests[f"{name}/{path.relative_to(part)}"] = digest
            self._settled(part)
            folder = self.folder / name
            # One that an interrupted run left before it was written down.
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(part, folder)
            self._settled(self.folder)
            self._digests |= digests
            self._write()
        return folder

    def plan(self, sizes: list[int]) -> None:
        """How many events each round has. Those of rounds that are done, or were begun, stay."""
        assert sizes[: len(self.sizes)] == self.sizes
        if sizes != self.sizes:
            self.sizes = sizes
            if (self.folder / _RUN).exists():
                with self._keeping():
                    self._write()

    def keep_round(self, number: int, part: pathlib.Path, done: dict[str, Any]) -> None:
        """Keeps a round whose events are in the file `events.npy` of a folder, their further weights and scales beside;
        it counts once this returns."""
        with self._keeping():
            found, name, rows = part / "events.npy", f"round{number:04}.npy", _rows(number)
            (part / rows).write_text(json.dumps(done))
            files = [(found, name), (part / rows, rows)]
            for beside in (_records.ratios, _records.scales, _records.matched):
                if beside(found).exists():
                    files.append((beside(found), beside(pathlib.Path(name)).name))
            for before, after in files:
                self._digests[after] = self._settled(before)
                os.replace(before, self.folder / after)
            shutil.rmtree(part, ignore_errors=True)
            self._note(number, {**done, "file": name})
            self._write()

    def _note(self, number: int, done: dict[str, Any]) -> None:
        # There may be thousands of rounds with as many channels.
        tables = {name: np.array(done[name], dtype=float) for name in ("channels", "measured")}
        self.rounds[number] = {**done, **tables}

    def close(self) -> None:
        self._lock.close()


@dataclass(frozen=True)
class Surveyed:
    """What a run knows before its events."""

    asked: dict[str, Any]
    folder: pathlib.Path
    """Of the mappings that it makes its rounds with."""
    rounds: list[dict[str, Any]]
    """What was found in its rounds, some of which may be forgotten."""


def surveyed(folder: pathlib.Path) -> Surveyed:
    """Reads the folder of a run; nothing is written there."""
    if not (folder / _RUN).is_file():
        raise Error(f"{folder} holds no survey of a run ({_RUN}); is it the folder that state= named?")
    asked, _, _, digests = _known(folder)
    for name in ("train", "survey"):
        files = {file: digest for file, digest in digests.items() if file.startswith(f"{name}/")}
        for file, digest in files.items():
            _check(folder, file, digest)
        if files:
            rows = sorted(file for file in digests if file.startswith("round") and file.endswith(".json"))
            for file in rows:
                _check(folder, file, digests[file])
            return Surveyed(asked, folder / name, [json.loads((folder / file).read_text()) for file in rows])
    raise Error(f"{folder} holds a run whose survey is not done; let it go on first")


def check_same(folder: pathlib.Path, before: dict[str, Any], asked: dict[str, Any], but: Sequence[str]) -> None:
    """That the run of a folder is this one, whatever these of its arguments are."""
    now = json.loads(json.dumps(asked))
    cure = "make both the same, or survey anew"
    _compare(folder, before, {**now, **{name: before[name] for name in but if name in before}}, cure=cure)


def forget_empty(folder: pathlib.Path) -> None:
    """Removes the folder of a run in which nothing is done, unless another run is at work there."""
    if not folder.is_dir() or {entry.name for entry in folder.iterdir()} - {"lock", f"{_RUN}.part"}:
        return
    with contextlib.suppress(OSError), _open_lock(folder / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)


def forget_rounds(folder: pathlib.Path) -> None:
    """Leaves of a run that is done what it surveyed, and what it found."""
    asked, _, _, digests = _known(folder)
    rounds = [name for name in digests if "/" not in name and not name.endswith(".json")]
    left = {name: digest for name, digest in digests.items() if name not in rounds}
    try:
        _write(folder, asked, [], left, {})
        for name in rounds:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise Error(f"the state of the run cannot be kept in {folder}: {error.strerror}") from None


def _known(folder: pathlib.Path) -> tuple[dict[str, Any], list[int], dict[int, dict[str, Any]], dict[str, str]]:
    """What was asked, the sizes of rounds, those that are done, and digests of the files that are kept."""
    try:
        with opened(folder / _RUN, os.O_NOFOLLOW) as file:
            known = json.loads(file.read())
        if known.pop("sha256") != _sum(known):
            raise ValueError
        written = known.get("format", 1)
        if written == _FORMAT:
            rounds = {int(number): done for number, done in known["rounds"].items()}
            kept = known["asked"], known["sizes"], rounds, known["files"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise _damaged(folder, f"{folder / _RUN} cannot be read") from None
    if written != _FORMAT:
        raise _damaged(folder, f"{folder} was written by another version of mebridge")
    return kept


def _write(
    folder: pathlib.Path,
    asked: dict[str, Any],
    sizes: list[int],
    digests: dict[str, str],
    rounds: dict[int, dict[str, Any]],
    lasting: bool = True,
) -> None:
    # Of each round the shares of channels are in a file of their own: this one is written after each.
    short = {number: {"events": done["events"], "file": done["file"]} for number, done in rounds.items()}
    known = {
        "format": _FORMAT,
        "asked": asked,
        "sizes": sizes,
        "files": digests,
        "rounds": {str(number): short[number] for number in sorted(short)},
    }
    text = json.dumps({**known, "sha256": _sum(known)}, indent=1)
    part = folder / f"{_RUN}.part"
    # What an interrupted run left, or a link that somebody put there.
    part.unlink(missing_ok=True)
    with open(part, "x") as file:
        file.write(text)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    os.replace(part, folder / _RUN)


def _compare(
    folder: pathlib.Path,
    before: dict[str, Any],
    asked: dict[str, Any],
    growing: Sequence[str] = (),
    cure: str = "name another folder, or remove it",
) -> None:
    """That nothing of what was asked is another one; some may be larger than before."""
    # What a caller can change comes before what follows from it. A directory may have been moved: what is made of it is
    # compared.
    for name in dict.fromkeys([*asked, *before]):
        if name == "output":
            continue
        if name in growing and before[name] < asked[name]:
            continue
        if before.get(name) != asked.get(name):
            raise Error(f"{folder} holds a run with another {_other(name, before.get(name), asked.get(name))}; {cure}")


def _other(name: str, there: Any, now: Any) -> str:
    """What is another one: of a table the first entry that is."""
    if isinstance(there, dict) and isinstance(now, dict):
        entry = next(entry for entry in [*now, *there] if there.get(entry) != now.get(entry))
        return _other(f"{name}: {entry}", there.get(entry), now.get(entry))
    return f"{name} ({there} there, {now} now)"


def _check(folder: pathlib.Path, name: str, digest: str) -> None:
    """That a file is the one that was kept."""
    path = folder / name
    try:
        found = _digest(path)
    except OSError:
        raise _damaged(folder, f"{path} is missing") from None
    if found != digest:
        raise _damaged(folder, f"{path} is not what the run wrote")


def _damaged(folder: pathlib.Path, what: str) -> Error:
    return Error(f"{what}; remove {folder} to begin anew")


def _rows(number: int) -> str:
    """The file that says what was found in a round."""
    return f"round{number:04}.json"


def opened(path: str | os.PathLike[str], flags: int = 0) -> IO[bytes]:
    """A regular file, to be read: a pipe is not waited for, a device has no end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def digest(path: str | os.PathLike[str], flags: int = 0) -> str:
    """SHA-256 of a regular file."""
    found = hashlib.sha256()
    with opened(path, flags) as file:
        while chunk := file.read(1 << 20):
            found.update(chunk)
    return found.hexdigest()


def _digest(path: pathlib.Path) -> str:
    """The same of a file of the state; a link that somebody put there is not followed."""
    return digest(path, os.O_NOFOLLOW)


def _sum(known: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _flush(path: pathlib.Path) -> None:
    """What is written is on the disk before it gets its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
