"""``python -m mebridge`` is the command ``mebridge``."""

import os
import sys

if __name__ == "__main__":
    if sys.argv[1:2] == ["events"]:
        # The command hands over to this.
        from ._runs import main

        sys.exit(main(sys.argv[2:]))
    from ._command import command

    program = str(command())
    os.execv(program, [program, *sys.argv[1:]])
