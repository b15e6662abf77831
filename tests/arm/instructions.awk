# Counts vector instructions of a library for ARM, from what objdump says of it, and asks that those of level avx2 are SVE's.
BEGIN { n = split("fmla fmls fmul fadd fsub", names) }
# Functions of level avx2 name its register, unless the library was stripped, as in a wheel.
/^[0-9a-f]+ <.*>:$/ { sve = /F(64|32)Avx2/; named += sve; next }
$3 ~ /^v/ { counts[$2]++ }
$2 ~ /^f(n?m(la|ls|ad|sb|ul)|add|subr?|n?madd|n?msub|divr?|sqrt)$/ {
    if ($3 ~ /^z/) { if (sve) whole++; else astray++ }
    else if (sve && $3 ~ /^v/) half++
    else if (sve && $3 ~ /^[ds][0-9]/) alone++
}
END {
    for (i = 1; i <= n; i++) {
        print names[i] ": " counts[names[i]] + 0
        if (counts[names[i]] <= 500) few = 1
    }
    if (few) { print "the kernels are not vectors"; exit 1 }
    if (!named) {
        print "SVE " astray + 0 " (functions have no names)"
        exit astray <= 10000
    }
    print "level avx2: SVE " whole + 0 ", 128 bits " half + 0 ", single numbers " alone + 0
    if (whole <= 10000 || half + alone > whole / 20) { print "level avx2 is not SVE"; exit 1 }
    if (astray) { print astray " instructions of SVE in functions of other levels"; exit 1 }
}
