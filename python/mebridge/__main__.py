"""``python -m mebridge`` is the command ``mebridge``."""

import os
import sys

if __name__ == "__main__":
    # The command hands over to these.
    if sys.argv[1:2] == ["events"]:
        from ._events_command import main

        sys.exit(main(sys.argv[2:]))
    if sys.argv[1:2] == ["pack"]:
        from ._pack import main as pack

        sys.exit(pack(sys.argv[2:]))
    if sys.argv[1:2] == ["plugin"]:
        from ._plugin import main as plugin

        sys.exit(plugin(sys.argv[2:]))
    from ._command import command

    program = str(command())
    os.execv(program, [program, *sys.argv[1:]])
