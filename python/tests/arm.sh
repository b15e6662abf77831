#!/bin/sh
# Tests of the Python package for 64-bit ARM, under emulation: python/tests/arm.sh PYTHON [FILE...], from the top
# directory, after `make wheel ARCH=aarch64`.
#
# PYTHON is a Python of ARM that runs here: under QEMU where the kernel was told that QEMU runs such programs (Debian's
# qemu-user-static and binfmt-support do it), with QEMU_LD_PREFIX where its libraries lie in a folder of their own. FILE:
# files of python/tests, else those that need nothing but NumPy. Status 77: something is missing, which is named.
set -eu
missing() {
    echo "SKIPPED: $1" >&2
    exit 77
}
python=$1
shift
version=$("$python" -c 'import platform, sys; print(platform.machine(), "%d.%d" % sys.version_info[:2])') ||
    missing "$python does not run here"
case $version in
"aarch64 "*) ;;
*) missing "$python is not one of 64-bit ARM: $version" ;;
esac
[ $# -gt 0 ] || set -- test_package.py test_channels.py test_edges.py test_model.py test_packaging.py
wheel=$(ls build/python/released/mebridge-*_aarch64.whl 2>/dev/null) || missing "no wheel: make wheel ARCH=aarch64"
site=$PWD/build/python/arm
rm -rf "$site"
# By this machine's pip, as the emulated one takes minutes.
python3 -m pip --disable-pip-version-check install --quiet --root-user-action ignore --target "$site" --only-binary :all: --implementation cp \
    --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --python-version "${version#* }" "$wheel" ||
    missing "NumPy for ARM is not to be had"
export PYTHONPATH="$site" MEBRIDGE_COMMAND="$site/bin/mebridge" CUDACPP_RUNTIME_CACHE=off
status=0
cd python/tests
for file in "$@"; do
    echo "== $file, Python ${version#* } on ARM"
    "$python" "$file" || status=1
done
exit $status
