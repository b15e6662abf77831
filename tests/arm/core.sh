# For scripts: what starts programs of an ARM core with SVE's registers of this number of bits, 0 without SVE, by $emulator.
core() {
    case $1 in
        0) echo "$emulator -cpu max,sve=off" ;;
        *) echo "$emulator -cpu max,sve$1=on" ;;
    esac
}
