#!/bin/sh
# Tests of the Python package for 64-bit ARM, under emulation: python/tests/arm.sh [FILE...], from the top directory, after
# `make wheel ARCH=aarch64`.
#
# MEBRIDGE_ARM_PYTHON is a Python of ARM that runs here; arm_python.sh makes one otherwise. FILE: files of python/tests,
# else those that need nothing but NumPy. Status 77: something is missing, which is named.
set -eu
missing() {
    echo "SKIPPED: $1" >&2
    exit 77
}
python=${MEBRIDGE_ARM_PYTHON:-}
[ -n "$python" ] || python=$(python/tests/arm_python.sh build/python/arm_python) || exit
version=$("$python" -c 'import platform, sys; print(platform.machine(), "%d.%d" % sys.version_info[:2])') ||
    missing "$python does not run here"
case $version in
"aarch64 "*) ;;
*) missing "$python is not one of 64-bit ARM: $version" ;;
esac
[ $# -gt 0 ] || set -- test_levels.py test_package.py test_edges.py test_model.py test_packaging.py
wheel=$(ls build/python/released/mebridge-*_aarch64.whl 2>/dev/null) || missing "no wheel: make wheel ARCH=aarch64"
site=$PWD/build/python/arm
rm -rf "$site"
# By this machine's pip, as the emulated one takes minutes.
python3 -m pip --disable-pip-version-check install --quiet --root-user-action ignore --target "$site" --only-binary :all: --implementation cp \
    --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --python-version "${version#* }" "$wheel" ||
    missing "NumPy for ARM is not to be had"
objdump=aarch64-linux-gnu-objdump
if command -v $objdump >/dev/null 2>&1; then
    $objdump -d --no-show-raw-insn "$site/mebridge/libmebridge.so" | awk -f tests/arm/instructions.awk
fi
# The wheel's command is started as this Python is: by the kernel, or by a script.
command=$site/bin/mebridge
emulated=$(dirname "$python")/emulated
if [ -x "$emulated" ]; then
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$emulated" "$command" >"$site/mebridge.sh"
    command=$site/mebridge.sh
    chmod +x "$command"
fi
export PYTHONPATH="$site:$PWD/python/examples" MEBRIDGE_COMMAND="$command" CUDACPP_RUNTIME_CACHE=off CUDACPP_RUNTIME_BACKEND=cpu
status=0
cd python/tests
for bits in 0 256; do
    case $bits in
        0) export QEMU_CPU=max,sve=off MEBRIDGE_TEST_LEVELS=none,sse4 ;;
        *) export QEMU_CPU=max,sve$bits=on MEBRIDGE_TEST_LEVELS=none,sse4,avx2 ;;
    esac
    for file in "$@"; do
        [ $bits -ne 0 ] || [ "$file" = test_levels.py ] || continue
        echo "== $file, Python ${version#* } on ARM, SVE of $bits bits"
        # By unittest, as pytest is not installed there. Python 3.11 does not fail if it finds no test.
        "$python" -m unittest "${file%.py}" 2>&1 | tee "$site/report"
        grep -qE '^Ran [1-9][0-9]* tests?' "$site/report" && grep -qE '^OK' "$site/report" || status=1
    done
done
exit $status
