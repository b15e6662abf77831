#!/bin/sh
# Makes sure that there is a Fortran compiler: require_gfortran.sh COMPILER. Installs gfortran where that
# needs no question (root, or sudo without a password; or Homebrew), and says exactly what to do elsewhere.
set -u
compiler=${1:-gfortran}
command -v "$compiler" >/dev/null 2>&1 && exit 0
if [ "$compiler" != gfortran ]; then
    echo "mebridge: there is no Fortran compiler '$compiler'; set FC to one that is there" >&2
    exit 1
fi

root=
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then root="sudo -n"; else root=no; fi
fi
say() {
    echo "mebridge: gfortran is missing; running: $*" >&2
    "$@" >&2
}
if [ "$root" != no ] && command -v apt-get >/dev/null 2>&1; then
    # The lists may be old or absent; an old list is still worth a try.
    say $root apt-get update -q || true
    say $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends gfortran
elif [ "$root" != no ] && command -v dnf >/dev/null 2>&1; then
    say $root dnf install -y -q gcc-gfortran
elif command -v brew >/dev/null 2>&1; then
    say brew install -q gcc
fi
command -v gfortran >/dev/null 2>&1 && exit 0
cat >&2 <<'MESSAGE'
mebridge: gfortran is missing, and could not be installed from here. Install it and run make again:
  Debian, Ubuntu     sudo apt-get install gfortran
  Fedora, RHEL       sudo dnf install gcc-gfortran
  macOS              brew install gcc
  without root       conda install -c conda-forge gfortran
or name another Fortran compiler: make FC=ifx
MESSAGE
exit 1
