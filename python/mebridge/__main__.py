"""``python -m mebridge`` is the command ``mebridge``, which hands over to it what this package does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """A call of the command."""
    if arguments[:1] == ["events"]:
        from ._events_command import main as events

        return events(arguments[1:])
    if arguments[:1] == ["pack"]:
        from ._pack import main as pack

        return pack(arguments[1:])
    from ._command import command

    program = str(command())
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
