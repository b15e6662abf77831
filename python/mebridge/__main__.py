"""``python -m mebridge`` runs the command ``mebridge``."""

from __future__ import annotations

import os
import sys

from ._command import command

if __name__ == "__main__":
    program = str(command())
    os.execv(program, [program, *sys.argv[1:]])
