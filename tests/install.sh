#!/bin/sh
# Installs into a folder of its own, uses what is there as a user would from C and Fortran, and removes it again:
# install.sh FORTRAN_COMPILER, from the top directory.
set -eu
fc=$1
here=$PWD
case ${CARGO_TARGET_DIR:=target} in
/*) target=$CARGO_TARGET_DIR ;;
*) target=$here/$CARGO_TARGET_DIR ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/usr
make=${MAKE:-make}
"$make" --no-print-directory -s install PREFIX="$prefix"

fail() {
    echo "installation: $1" >&2
    exit 1
}
has() { [ -e "$prefix/$1" ] || fail "there is no $1"; }
for file in bin/mebridge include/mebridge.h include/mebridge_umami.h share/mebridge/fortran/mebridge.f90 share/man/man1/mebridge.1 \
    share/man/man1/mebridge-check.1 share/bash-completion/completions/mebridge lib/pkgconfig/mebridge.pc; do
    has "$file"
done
if [ "$(uname -s)" = Linux ]; then
    has lib/libmebridge.so
    soname=$(readelf -d "$prefix/lib/libmebridge.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    [ "$soname" = libmebridge.so.0 ] || fail "the SONAME is '$soname'"
    has lib/libmebridge.so.0
    if readelf -S "$prefix/lib/libmebridge.so" | grep -q '\.debug_info'; then fail "debug sections are in the library"; fi
    nm -D --defined-only "$target/release/libmebridge.so" | sed 's/.* //' >"$folder/built"
    nm -D --defined-only "$prefix/lib/libmebridge.so" | sed 's/.* //' >"$folder/installed"
    cmp "$folder/built" "$folder/installed" || fail "it exports other symbols than the library that was built"
fi
"$prefix/bin/mebridge" --version
tests/commands.sh "$target/release/mebridge" "$target/release/libmebridge.so"
tests/commands.sh "$prefix/bin/mebridge" "$prefix/lib/libmebridge.so"

# What pkg-config says, or would say.
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
if command -v pkg-config >/dev/null 2>&1; then
    flags=$(pkg-config --cflags --libs mebridge)
    source=$(pkg-config --variable=fortran_source mebridge)
else
    echo "installation: there is no pkg-config; its file is read here"
    flags="-I$prefix/include -L$prefix/lib -lmebridge"
    source=$prefix/share/mebridge/fortran/mebridge.f90
    for word in "Libs: -L\${libdir} -lmebridge" "libdir=$prefix/lib" "prefix=$prefix"; do
        grep -qF -- "$word" "$prefix/lib/pkgconfig/mebridge.pc" || fail "mebridge.pc lacks '$word'"
    done
fi
export CUDACPP_RUNTIME_CACHE=off CUDACPP_RUNTIME_BACKEND=cpu
p=$here/fortran/gg_ttx/SubProcesses/P1_gg_ttx
cd "$folder"
cat >hello.c <<'C'
#include <mebridge.h>
#include <stdio.h>
int main(int argc, char **argv) {
  struct mebridge_bridge *bridge = NULL;
  struct mebridge_options options = {.size = sizeof options, .process = argv[argc - 1]};
  if (mebridge_create(&options, 1, &bridge) != MEBRIDGE_OK) {
    puts(mebridge_last_error());
    return 1;
  }
  puts(mebridge_process_name(bridge));
  mebridge_delete(bridge);
  return 0;
}
C
# shellcheck disable=SC2086
${CC:-cc} hello.c $flags -Wl,-rpath,"$prefix/lib" -o hello
./hello "$p" | grep -q 'g g > t t~' || fail "the C program does not find the process"
if command -v "$fc" >/dev/null 2>&1; then
    cat >hello.f90 <<'FORTRAN'
program hello
  use mebridge
  implicit none
  integer(8) :: bridge
  call fbridgecreate(bridge, 32, 4, 4)
  call fbridgedelete(bridge)
  print '(a)', 'created and deleted'
end program
FORTRAN
    # shellcheck disable=SC2086
    "$fc" "$source" hello.f90 $flags -Wl,-rpath,"$prefix/lib" -o hello_fortran
    CUDACPP_RUNTIME_PROCESS=$p ./hello_fortran | grep -q created || fail "the Fortran program does not run"
fi
cd "$here"
"$make" --no-print-directory -s uninstall PREFIX="$prefix"
left=$(find "$prefix" -type f -o -type l)
[ -z "$left" ] || fail "uninstall leaves $left"
echo "installation: used from C and Fortran, and removed"
