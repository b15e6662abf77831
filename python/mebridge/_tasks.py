"""Independent parts of a run or of a file, distributed over the workers of an executor.

The result of a part depends only on its arguments, with random numbers of its own, and so neither on the number of
workers nor on the order in which parts end.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

from . import _bundle, _command, _engine, _remote, _scratch
from ._library import Error, version
from ._worker import KINDS, SWITCH, patience, show_message

# Number of tries for a part if workers fail, and of executors if they break, before the run ends.
TRIES = 4
# A part that takes SLOW times the median, and at least MIN_SLOW seconds, is also started on another worker, at most
# TWINS times.
SLOW, MIN_SLOW, TWINS = 3.0, 20.0, 2
# The same limit in units of MIN_SLOW before any part has ended, when there is no median.
FIRST = 15.0
# Bundles below this many bytes are always sent with a task.
_SMALL = 1 << 20
# Interval in seconds for checking whether parts are late.
_LOOK = 0.5
# Assumed number of workers if the executor does not give it; and its minimum if more tasks may start workers (Dask).
_WIDTH, _FEW = 1024, 64


@dataclass(frozen=True)
class Task:
    """A part of a run, or of a file."""

    name: str
    """``"open"`` (open a run), ``"survey"``, ``"round"``, or ``"command"``."""
    what: str
    """Description for messages."""
    folder: Callable[[], pathlib.Path]
    """Returns the folder for its files."""
    settings: Mapping[str, Any] | None = None
    """Settings of a survey or a round."""
    survey: pathlib.Path | None = None
    """Folder of the survey whose mappings a round uses."""
    sent: pathlib.Path | None = None
    """Input file of a command."""


@dataclass
class _Open:
    """An unfinished task."""

    number: int
    task: Task
    message: dict[str, Any]
    failures: int = 0
    twins: int = 0
    began: float = 0.0
    running: set[futures.Future[dict[str, Any]]] = field(default_factory=set)


@dataclass(frozen=True)
class _Sent:
    """A task submitted to an executor."""

    one: _Open
    bundles: set[str]
    breaks: int
    """Number of executors that had broken before."""


class Spread:
    """Runs parts on the workers of an executor. Workers need this package, but no folder shared with the caller.

    Args:
        executor: an executor of `concurrent.futures`, or a function that creates one. The function is called again if
            an executor breaks, as `ProcessPoolExecutor` does when one of its processes is killed.
        environment: environment variables of worker processes and commands.
    """

    def __init__(
        self, executor: futures.Executor | Callable[[], futures.Executor], environment: Mapping[str, str]
    ) -> None:
        self._make = None if hasattr(executor, "submit") else executor
        self._executor: Any = executor if self._make is None else None
        self._environment = dict(environment)
        self._bundles: dict[str, bytes] = {}
        self._surveys: dict[pathlib.Path, str] = {}
        self._recipe, self._breaks, self._sent = "", 0, 0
        self._patience = patience()
        # Running tasks whose results are no longer needed.
        self._left: list[futures.Future[Any]] = []
        self.restarts = 0
        """How often a part was restarted because a worker failed or was late."""

    @property
    def opened(self) -> bool:
        """Whether :meth:`open` or :meth:`commands` has set up the tasks."""
        return bool(self._recipe)

    def open(self, plan: str, **run: Any) -> None:
        """Opens a run on one worker; the others open it with their first part.

        Args:
            plan: the plan file, in a folder with all files that it needs.
            run: further arguments of :meth:`mebridge._engine.Engine.open`.
        """
        place = pathlib.Path(plan).parent
        files = {str(path.relative_to(place)): path for path in place.rglob("*") if path.is_file()}
        run["plan"] = pathlib.Path(plan).name
        self._prepare({"environment": self._environment, "run": run}, files)
        with _scratch.folder() as folder:
            ((_, _, _),) = self.run([Task("open", "the setup of the run", lambda: pathlib.Path(folder))])

    def perform(self, wanted: Mapping[str, Any]) -> Generator[tuple[int, Any], None, None]:
        """Performs parts; yields the number of each part and its answer, in the order in which parts end."""
        every = _engine.parts(wanted)
        tasks = []
        for part in every:
            survey = None if part.survey is None else pathlib.Path(part.survey)
            name, what = ("survey", "the survey") if survey is None else ("round", f"round {part.number}")
            tasks.append(Task(name, what, functools.partial(pathlib.Path, part.folder), part.settings, survey))
        with contextlib.closing(self.run(tasks)) as done:
            for number, answer, _ in done:
                yield every[number].number, answer

    def commands(
        self,
        arguments: Sequence[str],
        files: Sequence[str],
        made: str,
    ) -> None:
        """Sets up tasks that call the command.

        Args:
            arguments: with placeholders ``{0}``, ``{1}``, ... for ``files``, ``{in}`` for the input of a task and
                ``{out}`` for its output.
            files: paths of files that all calls read.
            made: name of the output file.
        """
        named = {f"{number}/{os.path.basename(path)}": pathlib.Path(path) for number, path in enumerate(files)}
        recipe = {"command": list(arguments), "files": list(named), "made": made, "environment": self._environment}
        self._prepare(recipe, named)

    def of_file(
        self, file: pathlib.Path, parts: Sequence[pathlib.Path], folder: pathlib.Path
    ) -> Generator[tuple[int, pathlib.Path], None, None]:
        """Calls the command for each part of a file; yields the number of the part and the folder of the output. A part
        is deleted when its output has been taken."""
        if not parts:
            raise Error(f"{file} holds no events")
        tasks = [
            Task("command", f"part {i} of the file", lambda: pathlib.Path(tempfile.mkdtemp(dir=folder)), sent=part)
            for i, part in enumerate(parts)
        ]
        with contextlib.closing(self.run(tasks)) as done:
            for number, _, place in done:
                yield number, place
                parts[number].unlink()

    def _prepare(self, recipe: Mapping[str, Any], files: Mapping[str, pathlib.Path]) -> None:
        """Packs what all tasks need: their description, and files by their names in the bundle."""
        packed: dict[str, pathlib.Path | bytes] = {**files, _remote.RECIPE: json.dumps(recipe, sort_keys=True).encode()}
        self._recipe = self._hold(_bundle.pack(packed))

    def _hold(self, packed: bytes) -> str:
        digest = _bundle.digest(packed)
        self._bundles[digest] = packed
        return digest

    def _survey(self, folder: pathlib.Path | None) -> str | None:
        if folder is None:
            return None
        if folder not in self._surveys:
            self._surveys[folder] = self._hold(_bundle.pack_folder(folder))
        return self._surveys[folder]

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, Any, pathlib.Path], None, None]:
        """Runs tasks; yields the number of each task, its answer and the folder of its files, in the order in which
        tasks end."""
        waiting = list(range(len(tasks)))[::-1]
        opened: dict[int, _Open] = {}
        sents: dict[futures.Future[dict[str, Any]], _Sent] = {}
        seconds: list[float] = []
        last = time.monotonic()

        def submit(one: _Open, needed: Iterable[str] = ()) -> None:
            """Submits a task with the bundles a worker needs. Each submission has a new number, because Dask takes
            equal arguments for the same task."""
            survey = one.message["survey"]
            small = {survey} if survey is not None and len(self._bundles[survey]) < _SMALL else set()
            names = small | set(needed)
            self._sent += 1
            one.began = time.monotonic()
            bundles = {name: self._bundles[name] for name in sorted(names)}
            file = None if one.task.sent is None else one.task.sent.read_bytes()
            future = self._submit({**one.message, "number": self._sent, "bundles": bundles, "file": file})
            sents[future] = _Sent(one, names, self._breaks)
            one.running.add(future)

        try:
            while waiting or opened:
                width = 2 * self._width() if waiting else 0
                while waiting and len(opened) < width:
                    number = waiting.pop()
                    one = opened[number] = _Open(number, tasks[number], self._message(tasks[number]))
                    submit(one)
                done, _ = futures.wait(list(sents), timeout=_LOOK, return_when=futures.FIRST_COMPLETED)
                # Results come before errors of a broken executor.
                for future in sorted(done, key=self._broken):
                    sent = sents.pop(future, None)
                    if sent is None:
                        # A duplicate of a finished task.
                        continue
                    one = sent.one
                    one.running.discard(future)
                    if self._broken(future):
                        # All tasks of a broken executor end like this; only the first one reports it.
                        if sent.breaks == self._breaks:
                            self._broke(_why(future))
                        if not one.running:
                            submit(one)
                        continue
                    found = self._answer(future, sent)
                    last = time.monotonic()
                    if "missing" in found:
                        submit(one, sent.bundles | set(found["missing"]))
                    elif "error" in found:
                        self._failed(one, found)
                        if not one.running:
                            submit(one)
                    else:
                        for twin in one.running:
                            del sents[twin]
                        self._leave(one.running)
                        del opened[one.number]
                        seconds.append(found["seconds"])
                        for text in found["notices"]:
                            show_message(text)
                        folder = one.task.folder()
                        _bundle.unpack(found["files"], folder)
                        yield one.number, found["done"], folder
                if done:
                    continue
                self._unblock()
                # No task has ended for a while. Executors start tasks in order, so those submitted long ago are late.
                limit = max(SLOW * statistics.median(seconds), MIN_SLOW) if seconds else FIRST * MIN_SLOW
                if opened and time.monotonic() - last > self._patience:
                    one = next(iter(opened.values()))
                    raise Error(
                        f"{one.task.what}: no worker has answered for {self._patience:g} s ({SWITCH} sets another limit); "
                        "finished parts are kept if the run has a folder"
                    )
                for one in opened.values():
                    if one.twins < TWINS and time.monotonic() - max(one.began, last) > limit:
                        one.twins += 1
                        self.restarts += 1
                        _command.say(f"mebridge: {one.task.what} is late; it is begun again on another worker\n")
                        submit(one)
        finally:
            self._leave(sents)

    def _message(self, task: Task) -> dict[str, Any]:
        return {
            "version": version(),
            "recipe": self._recipe,
            "name": task.name,
            "settings": task.settings,
            "survey": self._survey(task.survey),
        }

    def _submit(self, message: dict[str, Any]) -> futures.Future[dict[str, Any]]:
        while True:
            if self._executor is None:
                assert self._make is not None
                self._executor = self._make()
            try:
                future: futures.Future[dict[str, Any]] = self._executor.submit(_remote.perform, message)
                return future
            except futures.BrokenExecutor as error:
                self._broke(error)
            except Exception as error:
                # Dask raises several kinds of errors if its scheduler is gone.
                raise Error(f"the executor takes no tasks: {str(error) or type(error).__name__}") from None

    def _answer(self, future: futures.Future[dict[str, Any]], sent: _Sent) -> dict[str, Any]:
        """Returns a worker's answer after checking that it is complete and undamaged, or otherwise an error message."""
        try:
            found = future.result()
            if "missing" in found:
                if not set(found["missing"]) - sent.bundles:
                    raise _Damaged("it says that it lacks what it was sent")
                if not set(found["missing"]) <= set(self._bundles):
                    raise _Damaged("it reports missing data that do not exist")
            elif "error" in found:
                return {name: str(found[name]) for name in ("error", "message", "where")}
            elif _bundle.digest(found["files"]) != found["digest"]:
                raise _Damaged("its files are not what it sent")
            else:
                float(found["seconds"]), found["done"], [str(text) for text in found["notices"]]
            return found
        except futures.CancelledError:
            message = "the executor has cancelled it"
        except _Damaged as error:
            message = str(error)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            message = f"its answer cannot be read: {type(error).__name__}: {error}"
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        return {"error": "Error", "message": message, "where": "a worker"}

    def _leave(self, running: Iterable[futures.Future[Any]]) -> None:
        """Cancels tasks, or stops waiting for those that already run."""
        self._left += [future for future in running if not future.cancel()]

    def _broken(self, future: futures.Future[Any]) -> bool:
        """Returns whether a task ended because its executor broke; Dask cancels all tasks if its scheduler is gone."""
        if future.cancelled():
            client = getattr(self._executor, "_client", None)
            return getattr(client, "status", "running") != "running"
        return isinstance(future.exception(), futures.BrokenExecutor)

    def _broke(self, error: BaseException | str | None) -> None:
        """Replaces a broken executor, or raises an error if that is impossible."""
        if self._make is None:
            raise Error(
                f"the executor ended: {error} What is done is kept where state= names a folder, and the same call "
                "goes on there; give as executor= what makes one, such as functools.partial(ProcessPoolExecutor, 2), "
                "to have it replaced"
            ) from None
        self._breaks += 1
        if self._breaks >= TRIES:
            raise Error(f"{self._breaks} executors ended, one after the other: {error}") from None
        self.restarts += 1
        _command.say(f"mebridge: the executor ended ({error}); another one goes on\n")
        self._shut()

    def _failed(self, one: _Open, found: Mapping[str, Any]) -> None:
        kind = found["error"]
        if kind in KINDS:
            # Every worker would raise this error. For a part of a file the message names the part.
            part = f"{one.task.what}: " if one.task.sent is not None else ""
            raise KINDS[kind](f"{part}{found['message']}")
        one.failures += 1
        failed = f"{one.task.what} failed on {found['where']}: {found['message'] or kind}"
        if one.failures >= TRIES:
            raise Error(f"{failed} (the last of {one.failures} tries)")
        self.restarts += 1
        _command.say(f"mebridge: {failed}; it is begun again ({one.failures + 1} of {TRIES} tries)\n")

    def _unblock(self) -> None:
        """Breaks a ProcessPoolExecutor if one of its processes was killed, perhaps while sending a result: the pool
        would wait for the rest for ever. It breaks once no process is left that could send it."""
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        if any((process.exitcode or 0) < 0 for process in processes):
            for process in processes:
                process.kill()
            self._executor._result_queue._writer.close()

    def _width(self) -> int:
        """Returns the number of workers, as far as the executor gives it."""
        executor = self._executor
        client = getattr(executor, "_client", None)
        with contextlib.suppress(Exception):
            if client is not None:
                return max(_FEW, int(sum(client.nthreads().values())))
            return max(1, int(getattr(executor, "_max_workers", None) or executor.num_workers))
        return _WIDTH

    def _shut(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            if not all(future.done() for future in self._left):
                # Kill the processes of a ProcessPoolExecutor: the interpreter would wait for them at exit.
                for process in list((getattr(executor, "_processes", None) or {}).values()):
                    process.kill()
            # Dask's executor has no cancel_futures; without waiting it cancels its tasks.
            with contextlib.suppress(TypeError):
                executor.shutdown(wait=False, cancel_futures=True)
                return
            executor.shutdown(wait=False)

    def close(self) -> None:
        """Shuts down the executor if it was created here."""
        if self._make is not None:
            self._shut()


def _why(future: futures.Future[Any]) -> BaseException | str | None:
    return "it has lost its scheduler." if future.cancelled() else future.exception()


class _Damaged(Exception):
    """An incomplete or damaged answer."""
