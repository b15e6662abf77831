#!/bin/sh
# This tree's library beside that of another commit, by `make bench-against`: run.sh COMMIT [OPTION...], options being
# those of mebridge-against. The commit is checked out as a git work tree of its own and built there, both under
# build/against/<hash>, where they stay: a second comparison with it begins at once. `make clean` removes them.
set -eu
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}

fail() {
    echo "bench-against: $1" >&2
    exit 2
}
# library FOLDER: the shared library that cargo left there.
library() {
    for file in "$1/release/libmebridge.so" "$1/release/libmebridge.dylib"; do
        if [ -f "$file" ]; then
            echo "$file"
            return
        fi
    done
    fail "cargo left no libmebridge in $1/release"
}

commit=${1-}
[ $# -eq 0 ] || shift
"$cargo" build --quiet --release --locked -p mebridge-against
program=$target/release/mebridge-against
for option in "$@"; do
    case $option in --list | --help | -h) exec "$program" "$@" ;; esac
done
[ -n "$commit" ] || fail "which commit? make bench-against COMMIT=HEAD~1, or any other name or hash that git log shows"
git rev-parse --git-dir >/dev/null 2>&1 ||
    fail "this is no git repository, or git is missing: clone it with git, as other commits come from there"
hash=$(git rev-parse --verify --quiet --end-of-options "$commit^{commit}") ||
    fail "there is no commit '$commit' here: git log --oneline shows those that are, git fetch brings those of others"

folder=build/against/$hash
tree=$folder/tree
# Written when the work tree is whole; without it an earlier call was interrupted.
whole=$folder/whole
if [ ! -f "$whole" ] || [ ! -d "$tree" ]; then
    rm -rf "$tree" "$whole"
    mkdir -p "$folder"
    # Twice: also where git has still noted a work tree there, locked while it was made.
    git worktree add --quiet --force --force --detach "$tree" "$hash" || fail "git could not check out $hash"
    touch "$whole"
fi
if [ "$(git -C "$tree" rev-parse HEAD)" != "$hash" ] || [ -n "$(git -C "$tree" status --porcelain)" ]; then
    fail "files of $tree are not those of the commit; remove it and call again: rm -rf $tree"
fi
echo "building $(git log -1 --format='%h (%s)' "$hash") in $folder" >&2
# With the library as a package of its own, or as the one at the top, which had features.
if [ -d "$tree/crates/shared" ]; then what="-p mebridge-shared"; else what="--lib --no-default-features"; fi
# From another folder, as cargo would join the flags of this tree's .cargo/config.toml with those of the other one's. The
# wrapper concerns tests alone.
there=$(cd "$folder" && pwd)
# shellcheck disable=SC2086
(cd / && CARGO_TARGET_DIR="$there/target" RUSTC_WORKSPACE_WRAPPER='' "$cargo" build --release --locked $what \
    --manifest-path "$there/tree/Cargo.toml" --config "$there/tree/.cargo/config.toml") ||
    fail "$commit could not be built; commits from 52501c5 on can"
echo "building this tree" >&2
"$cargo" build --release --locked -p mebridge-shared

name=$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain --untracked-files=no)" ] || name="$name with changes"
old=$(library "$folder/target")
new=$(library "$target")
exec "$program" --old "$old" --new "$new" --old-name "$(git rev-parse --short "$hash")" --new-name "$name" "$@"
