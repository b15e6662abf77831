//! The files that a P directory was linked from.
//!
//! A linked executable contains its processes as bytes, so an edit in `Source/DHELAS` after the link would change the
//! Fortran but not the library's answers, without notice. So link writes a list of the files that it read, with
//! checksums of `cksum`, which is available on every machine with make. Make compares them before it builds `madevent`,
//! and so does doctor. Files that MadEvent reads when it runs (the cards) or writes at each launch are not in the list.

use super::matrix_element::MatrixElement;
use super::root::wrong;
use mebridge::files::regular;
use mebridge::import::{DependencyRecord, Seen, routines_in};
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The list, in a P directory. A line is the checksum, the size and the path of a file, or `absent -` and the path of a
/// missing file, or `folder -` and the path of a folder of which all `*.f` were read.
pub const LIST: &str = "mebridge_sources.txt";
/// The script that make runs to compare.
pub const SCRIPT: &str = "mebridge_sources.sh";
/// Largest file that was read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;
const ABSENT: &str = "absent";
const FOLDER: &str = "folder";

/// State of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathState {
    File { sum: u32, size: u64 },
    Absent,
    Folder,
}

/// Returns the list of a P directory, from the files that the importer looked at and those that link read in addition.
pub fn list(
    directory: &Path,
    looks: &[DependencyRecord],
    elements: &[MatrixElement],
) -> Result<String> {
    let mut found = SortedMap::new();
    for look in looks {
        let path = look.path();
        let seen = match look.seen() {
            _ if changes_by_itself(path) => continue,
            Seen::Contents(Some(_)) => file(&directory.join(path))?,
            Seen::IsFile(false) => PathState::Absent,
            // MadEvent writes more files into the directory itself.
            Seen::Fortran(_) if !path.as_os_str().is_empty() => PathState::Folder,
            _ => continue,
        };
        found.insert(path.to_owned(), seen);
    }
    for element in elements {
        let n = &element.number;
        // The caller contains the routine for batches; MG5aMC makes `matrix<i>_optim.f` from the template.
        for name in [format!("auto_dsig{n}.f"), format!("template_matrix{n}.f")] {
            let path = directory.join(&name);
            if path.is_file() {
                found.insert(PathBuf::from(name), file(&path)?);
            }
        }
    }
    // After the checksums, so that these belong to what was read.
    for look in looks.iter().filter(|l| !changes_by_itself(l.path())) {
        if matches!(look.seen(), Seen::Contents(Some(_))) && !look.still_holds(directory) {
            return Err(wrong(
                &directory.join(look.path()),
                "this file changed while it was read; link again".into(),
            ));
        }
    }
    let mut text = String::new();
    for (path, found) in &found {
        let name = path.to_str().filter(|name| {
            let odd = name.contains(char::is_control) || name.trim() != *name;
            !odd && !name.is_empty()
        });
        let Some(name) = name else {
            return Err(wrong(
                &directory.join(path),
                "a makefile cannot look after a file of this name (control characters, blanks at an end); rename it"
                    .into(),
            ));
        };
        let _ = match found {
            PathState::File { sum, size } => writeln!(text, "{sum} {size} {name}"),
            PathState::Absent => writeln!(text, "{ABSENT} - {name}"),
            PathState::Folder => writeln!(text, "{FOLDER} - {name}"),
        };
    }
    Ok(text)
}

/// Whether a file may change without changing the process: the user's cards, which MadEvent reads when it runs, and
/// files that MG5aMC writes from them at each launch (batch sizes, values, variables for the user's own run card
/// entries).
fn changes_by_itself(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let in_cards = path
        .parent()
        .is_some_and(|folder| folder.ends_with("Cards"));
    let written = ["vector.inc", "param_card.inc", "run.inc"];
    (in_cards && name != "ident_card.dat") || written.iter().any(|file| name == *file)
}

fn file(path: &Path) -> Result<PathState> {
    let bytes = regular::read(path, MAX_FILE_BYTES).map_err(Error::io(path))?;
    Ok(PathState::File {
        sum: cksum(&bytes),
        size: bytes.len() as u64,
    })
}

/// Returns the changes in a linked P directory, one text for each; `None` if there is no list.
pub fn changed(directory: &Path) -> Result<Option<Vec<String>>> {
    let path = directory.join(LIST);
    if !path.exists() {
        return Ok(None);
    }
    let text = regular::read_to_string(&path, MAX_FILE_BYTES).map_err(Error::io(&path))?;
    let mut known = SortedMap::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let (first, second, name) = (words.next(), words.next(), words.next());
        let found = match (first, second) {
            (Some(ABSENT), _) => Some(PathState::Absent),
            (Some(FOLDER), _) => Some(PathState::Folder),
            (Some(sum), Some(size)) => match (sum.parse(), size.parse()) {
                (Ok(sum), Ok(size)) => Some(PathState::File { sum, size }),
                _ => None,
            },
            _ => None,
        };
        let (Some(found), Some(name)) = (found, name) else {
            return Err(wrong(
                &path,
                format!("`{line}` was not written by mebridge link"),
            ));
        };
        known.insert(name, found);
    }
    // Each list has files.
    if known.is_empty() {
        return Ok(None);
    }
    let mut changes = Vec::new();
    let mut tell = |name: &str, what: &str| {
        changes.push(format!("{} {what}", name.trim_start_matches("../")));
    };
    for (name, found) in &known {
        let now = directory.join(name);
        match found {
            PathState::Absent if now.exists() => tell(name, "has appeared"),
            PathState::Absent => {}
            PathState::Folder => {
                for file in fortran(&now) {
                    let path = format!("{name}/{file}");
                    if !known.contains_key(path.as_str()) {
                        tell(&path, "has appeared");
                    }
                }
            }
            PathState::File { .. } if !now.exists() => tell(name, "has gone"),
            PathState::File { .. } if file(&now).is_ok_and(|now| now == *found) => {}
            PathState::File { .. } => tell(name, "has changed"),
        }
    }
    for (file, name) in overridden_routines(directory) {
        changes.push(format!("{file} has a {name} of its own"));
    }
    Ok(Some(changes))
}

/// Returns routines of DHELAS and MODEL that a file of a P directory or of `SubProcesses` also defines: file and name.
/// A makefile that compiles this file makes `madevent` use its routine, which link does not read.
pub fn overridden_routines(directory: &Path) -> Vec<(String, String)> {
    let of = |folder: &str| -> Vec<(String, String)> {
        let files = fortran(&directory.join(folder)).into_iter();
        let names = |file: String| {
            let routines = routines_in(&directory.join(folder).join(&file)).unwrap_or_default();
            routines.into_iter().map(move |name| (file.clone(), name))
        };
        files
            .filter(|file| !file.starts_with("mebridge") && !file.starts_with("matrix"))
            .flat_map(names)
            .collect()
    };
    let read: SortedSet<String> = ["../../Source/DHELAS", "../../Source/MODEL"]
        .iter()
        .flat_map(|folder| of(folder))
        .map(|(_, name)| name)
        .collect();
    let own: SortedSet<(String, String)> = of(".").into_iter().chain(of("..")).collect();
    own.into_iter()
        .filter(|(_, name)| read.contains(name))
        .collect()
}

/// Returns the names `*.f` in a folder.
fn fortran(folder: &Path) -> Vec<String> {
    let files = super::listing::files(folder).unwrap_or_default();
    let names = files
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".f")).collect();
    names.sort();
    names
}

/// Returns POSIX's `cksum` of these bytes.
fn cksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let step = |sum: u32, byte: u8| (sum << 8) ^ TABLE[usize::from((sum >> 24) as u8 ^ byte)];
    let sum = bytes.iter().fold(0, |sum, &byte| step(sum, byte));
    // The length follows, its low bytes first, without zeros at the end.
    let mut length = bytes.len();
    let mut sum = sum;
    while length > 0 {
        sum = step(sum, length as u8);
        length >>= 8;
    }
    !sum
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut sum = (i as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            sum = (sum << 1) ^ if sum >> 31 == 1 { 0x04c1_1db7 } else { 0 };
            bit += 1;
        }
        table[i] = sum;
        i += 1;
    }
    table
}

/// `mebridge_sources.sh`: compares with the list. One `cksum` for all files; one for each only if something differs.
pub const COMPARE: &str = r#"# Written by `mebridge link`; `mebridge unlink` removes it.
# Compares the files that this directory was linked from with what they were then.
LC_ALL=C
export LC_ALL
line='
'
wrong=
told() {
  wrong=yes
  echo "mebridge: ${1#../../} since mebridge link read it, and madevent would not contain this change" >&2
}
names=$line
folders=
then=
set --
while IFS=' ' read -r sum size name; do
  case $sum in
    absent) [ ! -e "$name" ] || told "$name has appeared" ;;
    folder) folders=$folders$name$line ;;
    *)
      if [ ! -e "$name" ]; then
        told "$name has gone"
      elif [ ! -f "$name" ]; then
        told "$name has become something else"
      else
        names=$names$name$line
        then=$then$sum' '$size' '$name$line
        set -- "$@" "$name"
      fi ;;
  esac
done < mebridge_sources.txt || exit 1
if [ $# = 0 ] && [ -z "$wrong" ]; then
  told "mebridge_sources.txt has lost its lines"
elif [ "$(cksum -- "$@" < /dev/null)$line" != "$then" ]; then
  while IFS=' ' read -r sum size name; do
    case $sum in absent|folder) continue ;; esac
    [ ! -f "$name" ] || [ "$(cksum < "$name")" = "$sum $size" ] || told "$name has changed"
  done < mebridge_sources.txt
fi
while IFS= read -r folder; do
  for name in "$folder"/*.f; do
    case $names in *"$line$name$line"*) continue ;; esac
    [ ! -f "$name" ] || told "$name has appeared"
  done
done <<end
${folders%"$line"}
end
# Routines that a file here has as well as one of those folders: the linker would take that one.
set --
for name in ../../Source/DHELAS/*.f ../../Source/MODEL/*.f ./*.f ../*.f; do
  [ ! -f "$name" ] || set -- "$@" "$name"
done
own=$([ $# = 0 ] || awk '
FNR == 1 { ours = FILENAME ~ /^\.\.\/\.\.\//; skip = !ours && FILENAME ~ /\/(mebridge|matrix)[^\/]*$/ }
skip || /^[cC*!]/ || !/[uU][bB][rR][oO][uU][tT]|[uU][nN][cC][tT][iI][oO][nN]/ { next }
{
  text = tolower($0)
  if (text !~ /^[ \t]*([a-z][a-z0-9*() \t]*[ \t])?(subroutine|function)[ \t]+[a-z]/ || text ~ /^[ \t]*(end|call)/) next
  sub(/^.*(subroutine|function)[ \t]+/, "", text)
  sub(/[^a-z0-9_].*$/, "", text)
  if (ours) read[text] = 1
  else if (text in read) { sub(/^.*\//, "", FILENAME); print FILENAME " has a " toupper(text) " of its own" }
}' "$@") || exit 1
if [ "$own" ]; then
  told "$own"
fi
if [ "$wrong" ]; then
  output=$(cd ../.. && pwd)
  echo "mebridge: run \`mebridge link '$output'\` again, or \`mebridge unlink '$output'\` for the Fortran's own" >&2
  exit 1
fi
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_cksum() {
        assert_eq!(cksum(b""), 4_294_967_295);
        assert_eq!(cksum(b"123456789"), 930_766_865);
        assert_eq!(cksum(&[b'a'; 300]), of_command(&[b'a'; 300]));
    }

    fn of_command(bytes: &[u8]) -> u32 {
        let d = tempfile::tempdir().unwrap();
        std::fs::write(d.path().join("x"), bytes).unwrap();
        let ran = std::process::Command::new("cksum")
            .arg("x")
            .current_dir(d.path())
            .output();
        let text = String::from_utf8(ran.unwrap().stdout).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn cards_are_the_users() {
        for (path, is) in [
            ("../../Cards/param_card.dat", true),
            ("../../Cards/run_card.dat", true),
            ("../../Cards/ident_card.dat", false),
            ("../../Source/vector.inc", true),
            ("../../Source/MODEL/../vector.inc", true),
            ("run.inc", true),
            ("../../Source/DHELAS/FFV1_0.f", false),
            ("matrix1.f", false),
        ] {
            assert_eq!(changes_by_itself(Path::new(path)), is, "{path}");
        }
    }
}
