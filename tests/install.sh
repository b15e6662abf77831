#!/bin/sh
# Installs into a temporary folder, uses the installation from C and Fortran as a user would, and removes it again:
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

# The output of pkg-config, or what it would be.
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
# shellcheck disable=SC2086
${CC:-cc} "$here/examples/matrix_element.c" $flags -lm -Wl,-rpath,"$prefix/lib" -o one_point
./one_point "$p" | grep -q 'g g > t t~.* = 0.38824113' || fail "the C program has no matrix element"
# shellcheck disable=SC2086
${CC:-cc} "$here/examples/events.c" $flags -Wl,-rpath,"$prefix/lib" -o events
./events . >made.json 2>told || fail "the C program has no events: $(tail -1 told)"
grep -q '"events":1000,' made.json || fail "the C program has other events: $(cut -c1-200 made.json)"
[ -f Events/run_01/unweighted_events.lhe.gz ] || fail "the C program has no event file"
if command -v "$fc" >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    "$fc" "$source" "$here/examples/matrix_element.f90" $flags -Wl,-rpath,"$prefix/lib" -o one_point_fortran
    CUDACPP_RUNTIME_PROCESS=$p ./one_point_fortran | grep -q ' = *0.38824113' || fail "the Fortran program has no matrix element"
fi
cd "$here"
"$make" --no-print-directory -s uninstall PREFIX="$prefix"
left=$(find "$prefix" -type f -o -type l)
[ -z "$left" ] || fail "uninstall leaves $left"
echo "installation: used from C and Fortran, and removed"
