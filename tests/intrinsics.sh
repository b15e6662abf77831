#!/bin/sh
# Checks that no intrinsic is a separate function, and that random numbers are made in registers:
# tests/intrinsics.sh LIBRARY
#
# Code that runs for each event is compiled once for each SIMD level (crates/simd). Code that is not inlined into the
# function that enables a level's instructions is compiled without them, and each intrinsic in it becomes a call: the
# program is correct but many times slower. Such intrinsics are in the library's symbol table. tests/simd_source.rs
# checks the source for the causes; this script checks the compiled code. It prints each such intrinsic with its
# callers. `_xgetbv`, with which the standard library detects levels, is called once.
set -u
library=$1
case $(uname -sm) in
"Linux x86_64") ;;
*)
    echo "intrinsics: SIMD levels are those of x86-64, and symbols are read on Linux"
    exit 77
    ;;
esac
for tool in nm objdump; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "intrinsics: there is no $tool (binutils)"
        exit 77
    fi
done
symbols=$(nm -C "$library") || exit 1
if ! echo "$symbols" | grep -q 'mebridge::'; then
    echo "intrinsics: $library has no table of symbols: build it without stripping"
    exit 1
fi
# Loops over integers are left to the compiler, whose vectorising depends on details. Without it random numbers take four
# times as many instructions.
fills=$(nm -C -S "$library" | sed -n 's/^\([0-9a-f]*\) \([0-9a-f]*\) . \(.*x86::F64.*::enabled::<mebridge_sampler::random::Fill>\)$/\1 \2 \3/p')
scalar=$(echo "$fills" | while read -r start size name; do
    [ -n "$start" ] || continue
    objdump -d --no-show-raw-insn --start-address="0x$start" --stop-address="$((0x$start + 0x$size))" "$library" |
        grep -q pmuludq || echo "  $name"
done)
levels=$(echo "$fills" | grep -c .)
if [ "$levels" -ne 4 ]; then scalar="$scalar  $levels of 4 levels are there"; fi
if [ -n "$scalar" ]; then
    echo "intrinsics: random numbers of a level are not made in its registers (crates/sampler/src/random.rs):"
    echo "$scalar"
    exit 1
fi
alone=$(echo "$symbols" | grep 'core::core_arch::' | grep -v '_xgetbv$' | sed 's/^[0-9a-f]* . //' | sort -u)
if [ -z "$alone" ]; then
    echo "intrinsics: none is a function of its own in $library"
    exit 0
fi
# One function of zlib-rs is compiled without its level (0.6.8: `partial_fold` does not enable what it uses): it handles
# the last bytes of a checksum's input, at most 15, so this costs no time. Intrinsics that only it calls are ignored. None
# of ours calls these two, as no source names them, so there is no need to look for callers in the whole library.
known='_mm_clmulepi64_si128 _mm_shuffle_epi8'
others=$(echo "$alone" | sed 's/.*core_arch::x86::[a-z0-9_]*:://; s/::<.*//' | sort -u)
for name in $known; do
    if ! grep -rqw --include='*.rs' -e "$name" "$(dirname "$0")/../src" "$(dirname "$0")/../crates"; then
        others=$(echo "$others" | grep -vx -e "$name")
    fi
done
if [ -z "$others" ]; then
    echo "intrinsics: none but those of zlib-rs is a function of its own in $library"
    exit 0
fi
found=$(objdump -d -C --no-show-raw-insn "$library" | awk '
    # A function begins: "0000000000296430 <name>:". Names are not unique, addresses are.
    /^[0-9a-f]+ <.*>:$/ {
        place = $1; sub(/^0+/, "", place)
        name[place] = $0; sub(/^[0-9a-f]+ </, "", name[place]); sub(/>:$/, "", name[place])
        next
    }
    # A call: "1af73e:  call  296430 <name>".
    /(call|jmp) +[0-9a-f]+ <.*>$/ {
        to = $0; sub(/^.*(call|jmp) +/, "", to); sub(/ .*$/, "", to)
        if (to != place) callers[to] = callers[to] " " place
    }
    END {
        for (at in name) if (name[at] ~ /core::core_arch::/ && name[at] !~ /_xgetbv/) {
            others = 0
            ours = ""
            n = split(callers[at], above, " ")
            for (i = 1; i <= n; i++) {
                by = above[i]
                if (name[by] ~ /^<zlib_rs::crc32::pclmulqdq::Accumulator>::partial_fold$/) others++
                else if (name[by] !~ /core::core_arch::/ && !printed[at, by]++) {
                    ours = ours "\n    called by " name[by]
                    # Standard library functions in between (array::map and the like) are called by one of ours.
                    m = split(callers[by], higher, " ")
                    if (name[by] !~ /mebridge/) for (j = 1; j <= m; j++)
                        if (!printed[by, name[higher[j]]]++) ours = ours ", which is called by " name[higher[j]]
                }
            }
            if (ours != "" || !others) print "  " name[at] ours
        }
    }') || exit 1
if [ -z "$found" ]; then
    echo "intrinsics: none of ours is a function of its own in $library"
    exit 0
fi
echo "intrinsics: some are functions of their own in $library,"
echo "so that what calls them is not compiled for its SIMD level:"
echo "$found"
echo "Say #[inline(always)] at these functions, and write closures as macros, loops or functions."
exit 1
