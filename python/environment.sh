# Makes the virtual environment that tests and benchmarks of the Python package use, build/python/environment, and puts
# it into the path. To be sourced, in the root of the repository. Where Python, its package registry or a new enough
# Python is missing, it says so and ends with status 77: skipped.
# Modules are compiled once, whatever the environment says: an interpreter that compiles numpy takes twice as long to
# start, and each run of events starts one.
unset PYTHONDONTWRITEBYTECODE
python=${PYTHON:-python3}
environment=$PWD/build/python/environment

skip() {
    echo "SKIPPED: $1" >&2
    exit 77
}
# The stamp says that all packages are there.
stamp=$environment/complete-7
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "there is no Python 3.10 or later"
if [ ! -f "$stamp" ]; then
    rm -rf "$environment"
    "$python" -m venv "$environment" >/dev/null 2>&1 || skip "Python has no venv"
    # Most of what it installs is never loaded: to compile all of it takes longer than to install it.
    # Whatever a network does, it ends.
    limited=$(command -v timeout >/dev/null && echo "timeout 900" || true)
    pip="$limited $environment/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --retries 1 --timeout 60"
    $pip --only-binary :all: numpy "maturin>=1.9,<2" pytest pytest-timeout pytest-xdist || skip "the package registry cannot be reached"
    # It has no wheels for some systems; its tests are skipped then.
    $pip --only-binary :all: "madspace==0.2.1" || echo "there is no madspace 0.2.1 for this system" >&2
    # Another reader of event files, a shower, plots, compiled programs, executors, formats and checks of types and style; tests that use
    # them are skipped without.
    # All in one call; one by one where one of them cannot be had.
    packages="pylhe matplotlib jax distributed mpi4py h5py pyarrow pyhepmc awkward pythia8mc mypy ruff"
    # shellcheck disable=SC2086
    $pip --only-binary :all: $packages 2>/dev/null || for package in $packages; do
        $pip --only-binary :all: "$package" || echo "there is no $package for this system" >&2
    done
    touch "$stamp"
fi
PATH=$environment/bin:$PATH
