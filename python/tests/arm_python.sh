#!/bin/sh
# A Python of 64-bit ARM that runs here under QEMU: arm_python.sh FOLDER, on Debian and its like, prints its path. It is
# Debian's own, unpacked into FOLDER; nothing is installed. Status 77: something is missing, which is named.
set -eu
missing() {
    echo "SKIPPED: $1" >&2
    exit 77
}
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ ! -f "$folder/python" ]; then
    command -v apt-get >/dev/null 2>&1 || missing "apt-get: set MEBRIDGE_ARM_PYTHON to a Python of ARM that runs here"
    # A list of packages of its own, as if nothing were installed.
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    : >"$folder/status"
    apt() {
        apt-get -qq -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/cache" \
            -o Dir::State::status="$folder/status" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
            -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@" >&2
    }
    apt update || missing "Debian's packages for ARM are not to be had"
    apt install --download-only --yes --no-install-recommends python3-minimal libpython3-stdlib libstdc++6 ||
        missing "Debian's Python for ARM is not to be had"
    for package in "$folder"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
    python=$(ls "$folder"/root/usr/bin/python3.* | grep -E '/python3\.[0-9]+$')
    # Any program of ARM, and Python, which tells what it starts by its own name to go the same way.
    printf '#!/bin/sh\nexec qemu-aarch64-static -L "%s" "$@"\n' "$folder/root" >"$folder/emulated"
    printf '#!/bin/sh\nPYTHONHOME="%s" exec "%s" -0 "$0" "%s" "$@"\n' "$folder/root/usr" "$folder/emulated" "$python" \
        >"$folder/python"
    chmod +x "$folder/emulated" "$folder/python"
    rm -rf "$folder/lists" "$folder/cache"
fi
echo "$folder/python"
