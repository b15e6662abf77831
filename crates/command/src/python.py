# What the command runs of Python, by `python -c`. Any version can read it, so that one that is too old is told. Its
# arguments are the folder of the package where that is not installed, what to type where something is missing, and the
# subcommand with its own.
import sys

# Of `-c` the first place is the working directory, whose files are no modules of ours.
if sys.path[:1] == [""]:
    del sys.path[0]
source, cure = sys.argv[1:3]


def end(what, cure):
    version = "%s (Python %d.%d)" % ((sys.executable,) + tuple(sys.version_info[:2]))
    sys.stderr.write("mebridge: %s %s; %s\n" % (version, what, cure))
    sys.exit(1)


if sys.version_info < (3, 10):
    end("is too old, this needs 3.10 or later", "name another interpreter in MEBRIDGE_PYTHON")
if source:
    sys.path.insert(0, source)
try:
    import numpy
except (ImportError, OSError) as error:
    # NumPy says much about its own development before it comes to the point.
    end("cannot import numpy (%s)" % [line.strip() for line in str(error).splitlines() if line.strip()][-1], cure)
try:
    from mebridge.__main__ import main
except Exception as error:
    if getattr(error, "name", None) in ("mebridge", "mebridge.__main__"):
        end("has no package mebridge", cure)
    if type(error).__module__ != "mebridge._library" and not isinstance(error, OSError):
        raise
    sys.stderr.write("mebridge: %s\n" % error)
    sys.exit(1)
sys.exit(main(sys.argv[3:]))
