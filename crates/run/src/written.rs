//! Recognises changes by the user in Fortran files of an output, by comparison with what MG5aMC writes.
//!
//! A run computes cuts and scales itself. A routine of these files that MG5aMC did not write may contain a cut or a
//! scale of the user, which the run would miss.

use crate::output::{Output, REWRITE_OUTPUT, version_of_mg5};
use mebridge::import::user_code::{
    AddedCuts, CUT, FACTORISATION, PASSCUTS, RENORMALISATION, SCALE, added_to_cuts,
    statements_of_cuts,
};
use mebridge::import::{FortranRoutine, routines_of};
use mebridge::{Error, Result};
use mebridge_support::files::regular;
use mebridge_support::sorted::{SortedMap, SortedSet};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The routines that MG5aMC writes, one per line: file, name (`-` for code outside of routines), the first eight bytes
/// of the SHA-256 of its statements, and the versions that write it. Versions are releases and outputs in its
/// repositories, with and without the plugin; versions in parentheses are known from a repository only, without an
/// output. `mebridge-tools written` prints the lines for another version.
const WRITTEN: &str = include_str!("written.txt");
/// The statements of [`PASSCUTS`] in these versions, those of a block together: the first eight bytes of their SHA-256,
/// one per line. `mebridge-tools written --cuts` prints them for another version.
const STATEMENTS: &str = include_str!("statements.txt");
/// Paths relative to an output, and to `Template/LO` of MG5aMC.
pub const FILES: [&str; 11] = [
    "SubProcesses/cuts.f",
    "SubProcesses/setcuts.f",
    "SubProcesses/setscales.f",
    "SubProcesses/reweight.f",
    "SubProcesses/cluster.f",
    "SubProcesses/initcluster.f",
    "SubProcesses/myamp.f",
    "SubProcesses/dummy_fct.f",
    "Source/kin_functions.f",
    "Source/alfas_functions.f",
    "Source/setrun.f",
];
/// The file with the functions that users write, and the copy of it that MG5aMC keeps when it writes the functions of
/// `custom_fcts` into it.
pub const FUNCTIONS: &str = "SubProcesses/dummy_fct.f";
/// The file with the cuts of MadEvent, to which users add statements.
const CUTS: &str = "SubProcesses/cuts.f";
/// The file with the scales of MadEvent, which users change in versions without user_dynamical_scale.
pub const SCALES: &str = "SubProcesses/setscales.f";
const FUNCTIONS_BEFORE: &str = "SubProcesses/dummy_fct.f.orig";
/// The supported bias module, relative to the folder of an output, and the digest of its routine, the same in all these
/// versions.
const BIAS: (&str, u64) = ("Source/BIAS/ptj_bias/ptj_bias.f", 0xd550_b056_267a_f428);
/// Largest size of such a file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The known routines of one file.
#[derive(Default)]
struct Written<'a> {
    /// Routines by name and digest.
    routines: SortedSet<(&'a str, u64)>,
    /// Names of routines by version.
    versions: SortedMap<&'a str, SortedSet<&'a str>>,
}

type Table<'a> = SortedMap<&'a str, Written<'a>>;

fn table(text: &str) -> Table<'_> {
    let mut found = Table::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(file), Some(name), Some(digest)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Ok(digest) = u64::from_str_radix(digest, 16) else {
            continue;
        };
        let written = found.entry(file).or_default();
        written.routines.insert((name, digest));
        for version in words {
            written.versions.entry(version).or_default().insert(name);
        }
    }
    found
}

fn digest(routine: &FortranRoutine) -> u64 {
    digest_of(&routine.text)
}

fn digest_of(text: &[u8]) -> u64 {
    let bytes: [u8; 32] = Sha256::digest(text).into();
    let first = bytes.first_chunk().expect("a hash has 32 bytes");
    u64::from_be_bytes(*first)
}

fn name(routine: &FortranRoutine) -> &str {
    match routine.name.as_str() {
        "" => "-",
        name => name,
    }
}

/// Lines of the table, without versions, for the files of a folder: an output or `Template/LO` of MG5aMC.
///
/// # Errors
/// A file cannot be read.
pub fn rows(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in FILES {
        let path = folder.join(file);
        let text = regular::read(&path, MAX_BYTES).map_err(Error::io(&path))?;
        let routines = routines_of(&path, &text);
        found.extend(
            routines
                .iter()
                .map(|routine| format!("{file} {} {:016x}", name(routine), digest(routine))),
        );
    }
    Ok(found)
}

/// Lines for the statements of [`PASSCUTS`] in the same.
///
/// # Errors
/// The file cannot be read.
pub fn statement_rows(folder: &Path) -> Result<Vec<String>> {
    let path = folder.join(CUTS);
    let text = regular::read(&path, MAX_BYTES).map_err(Error::io(&path))?;
    let statements = statements_of_cuts(&path, &text);
    let rows = statements
        .iter()
        .map(|text| format!("{:016x}", digest_of(text)));
    Ok(rows.collect::<SortedSet<_>>().into_iter().collect())
}

/// Differences between an output and the table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    /// Files, relative to the output, with the changed routines in each.
    changed: Vec<(PathBuf, Vec<String>)>,
    /// Files with routines that are unknown but equal to those of the template of a later version.
    later: Vec<(PathBuf, Vec<String>)>,
}

/// Compares an output with the tables. The files in directories of matrix elements are links, unless the user has
/// replaced them.
fn differences(
    output: &Output,
    table: &Table,
    template: Option<&Path>,
    added: &[String],
) -> Differences {
    let (mut found, mut seen) = (Differences::default(), SortedSet::new());
    let version = output.version();
    for (name, written) in table {
        let mut own = output.path.join(name);
        if *name == FUNCTIONS {
            seen.extend(own.canonicalize().ok().filter(|_| has_copy(output)));
            own = functions_file(output);
        }
        let mut files = vec![own.clone()];
        if let Some(name) = name.strip_prefix("SubProcesses/") {
            files.extend(output.directories.iter().map(|folder| folder.join(name)));
        }
        // Templates count only for versions later than all those of the table.
        let template = template
            .filter(|_| written.is_before(&version))
            .map(|folder| routines_in(&folder.join(name)))
            .unwrap_or_default();
        for file in files {
            let place = file.canonicalize();
            if place
                .as_ref()
                .is_ok_and(|place| !seen.insert(place.clone()))
            {
                continue;
            }
            let text = place.and_then(|place| regular::read(&place, MAX_BYTES));
            let short = || {
                file.strip_prefix(&output.path)
                    .unwrap_or(&file)
                    .to_path_buf()
            };
            let Ok(text) = text else {
                if file == own {
                    found
                        .changed
                        .push((short(), vec!["it cannot be read".to_owned()]));
                }
                continue;
            };
            let runs = |routine: &str| file == own && is_run(name, routine, written, added);
            let (changed, later) = written.compare(&routines_of(&file, &text), &template, &runs);
            for (names, of) in [(changed, &mut found.changed), (later, &mut found.later)] {
                if !names.is_empty() {
                    of.push((short(), names));
                }
            }
        }
    }
    found
}

/// Whether MG5aMC has kept a copy of the file with the functions that users write.
fn has_copy(output: &Output) -> bool {
    output.path.join(FUNCTIONS_BEFORE).is_file()
}

/// The file with the functions that users write; MG5aMC puts the copy back unless `custom_fcts` replaces some of them.
pub fn functions_file(output: &Output) -> PathBuf {
    let name = match has_copy(output) {
        true => FUNCTIONS_BEFORE,
        false => FUNCTIONS,
    };
    output.path.join(name)
}

/// Names of the routines in this file that are the user's, in upper case.
///
/// # Errors
/// The file cannot be read.
pub fn functions_of_user(output: &Output) -> Result<Vec<String>> {
    of_user(output, &functions_file(output), FUNCTIONS)
}

/// The same of `setscales.f`.
///
/// # Errors
/// The file cannot be read.
pub fn scales_of_user(output: &Output) -> Result<Vec<String>> {
    of_user(output, &output.path.join(SCALES), SCALES)
}

/// Names of the routines in a file that are the user's; `listed` is its name in the table.
fn of_user(output: &Output, file: &Path, listed: &str) -> Result<Vec<String>> {
    let text = regular::read(file, MAX_BYTES).map_err(Error::io(file))?;
    let (table, template) = (table(WRITTEN), template(output));
    let template = template.map(|folder| routines_in(&folder.join(listed)));
    let template = template.unwrap_or_default();
    let written = &table[listed];
    let of_mg5 = |routine: &FortranRoutine| {
        let same = |other: &FortranRoutine| other.text == routine.text;
        let is_known = written.routines.contains(&(name(routine), digest(routine)));
        is_known || template.iter().any(same)
    };
    let routines = routines_of(file, &text).into_iter();
    let own = routines.filter(|routine| !routine.name.is_empty() && !of_mg5(routine));
    Ok(own.map(|routine| routine.name).collect())
}

/// The statements that a user has added to MadEvent's cuts, and the names of the routines that are the user's with
/// these, in upper case; `None` if there are none, or MadEvent's own are changed.
///
/// # Errors
/// The file cannot be read, or the statements cannot be run without MadEvent's.
pub fn cuts_of_user(output: &Output) -> Result<Option<(AddedCuts, Vec<String>)>> {
    let file = output.path.join(CUTS);
    if !file.is_file() {
        return Ok(None);
    }
    let own = of_user(output, &file, CUTS)?;
    if !own.iter().any(|name| name == PASSCUTS) {
        return Ok(None);
    }
    let text = regular::read(&file, MAX_BYTES).map_err(Error::io(&file))?;
    let template = template(output).map(|folder| folder.join(CUTS));
    let of_template = template.as_ref().map(|file| routines_in(file));
    let template = template.and_then(|file| {
        let text = regular::read(&file, MAX_BYTES).ok()?;
        Some(statements_of_cuts(&file, &text))
    });
    let (of_template, template) = (
        of_template.unwrap_or_default(),
        template.unwrap_or_default(),
    );
    let known = digests(STATEMENTS);
    let is_known =
        |text: &[u8]| known.contains(&digest_of(text)) || template.iter().any(|of| of == text);
    let table = table(WRITTEN);
    let is_written = |text: &[u8]| {
        let known = table[CUTS].routines.contains(&(PASSCUTS, digest_of(text)));
        let same = |routine: &FortranRoutine| routine.name == PASSCUTS && routine.text == text;
        known || of_template.iter().any(same)
    };
    let added = added_to_cuts(&file, &text, &is_known, &is_written)?;
    Ok(added.map(|added| (added, own)))
}

fn digests(text: &str) -> SortedSet<u64> {
    let rows = text.lines().map(|line| u64::from_str_radix(line, 16));
    rows.flatten().collect()
}

/// Whether a routine of this file is run where it is the user's: one that MadEvent calls, or one that MG5aMC does not
/// write, which is run if the former call it and refused otherwise. `added` are those of a user in [`CUTS`].
fn is_run(file: &str, name: &str, written: &Written, added: &[String]) -> bool {
    let called: &[&str] = match file {
        CUTS if !added.is_empty() => &[PASSCUTS],
        FUNCTIONS => &[CUT, SCALE],
        SCALES => &[RENORMALISATION, FACTORISATION],
        _ => return false,
    };
    let is_known = written.routines.iter().any(|(known, _)| *known == name);
    !name.is_empty() && (!is_known || called.contains(&name))
}

fn routines_in(file: &Path) -> Vec<FortranRoutine> {
    let text = regular::read(file, MAX_BYTES).unwrap_or_default();
    routines_of(file, &text)
}

/// The parts of a version number.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.split('.').map_while(|part| part.parse().ok());
    parts.collect()
}

impl Written<'_> {
    /// Whether a version is later than all known ones.
    fn is_before(&self, version: &str) -> bool {
        let known = self.versions.keys().map(|known| numbers(known));
        known.max() < Some(numbers(version))
    }

    /// The changed routines of a file, and those that only a later template has.
    fn compare(
        &self,
        routines: &[FortranRoutine],
        template: &[FortranRoutine],
        runs: &dyn Fn(&str) -> bool,
    ) -> (Vec<String>, Vec<String>) {
        let (mut changed, mut later) = (Vec::new(), Vec::new());
        for routine in routines {
            let same = |other: &FortranRoutine| {
                (&other.name, &other.text) == (&routine.name, &routine.text)
            };
            let shown = match routine.name.as_str() {
                "" => format!("line {}, outside of routines", routine.line),
                name => format!("{name}, line {}", routine.line),
            };
            match () {
                () if self.routines.contains(&(name(routine), digest(routine))) => {}
                () if template.iter().any(same) => later.push(shown),
                () if runs(&routine.name) => {}
                () => changed.push(shown),
            }
        }
        let names: SortedSet<&str> = routines.iter().map(name).collect();
        let template: SortedSet<&str> = template.iter().map(name).collect();
        let whole = |of: &SortedSet<&str>| !of.is_empty() && of.is_subset(&names);
        if !self.versions.values().any(whole) && !whole(&template) {
            // Routines missing in comparison with the most similar version.
            let most = self
                .versions
                .values()
                .max_by_key(|of| of.intersection(&names).count());
            let absent = most.into_iter().flat_map(|of| of.difference(&names));
            let absent: Vec<&str> = absent.copied().collect();
            changed.push(format!("without {}", absent.join(", ")));
        }
        (changed, later)
    }
}

/// The template of the MG5aMC that wrote an output, if it still exists and has the same version.
fn template(output: &Output) -> Option<PathBuf> {
    let folder = output.mg5_path()?;
    let template = folder.join("Template/LO");
    let same = version_of_mg5(&folder)? == output.version();
    (same && template.is_dir()).then_some(template)
}

/// Checks that the routines of an output are as MG5aMC writes them; returns a notice if some are of a version that is
/// not known here. `added` is the answer of [`cuts_of_user`].
///
/// # Errors
/// A routine is changed.
pub fn check(output: &Output, added: Option<&(AddedCuts, Vec<String>)>) -> Result<Option<String>> {
    if let [(one, of_one), (other, of_other)] = &output.versions()[..]
        && of_one != of_other
    {
        return Err(Error::run(
            format!(
                "{}: {one} says MG5aMC {of_one}, {other} {of_other}",
                output.path.display()
            ),
            REWRITE_OUTPUT,
        ));
    }
    let table = table(WRITTEN);
    let template = template(output);
    let added = added.map_or(&[][..], |(_, own)| own);
    let found = differences(output, &table, template.as_deref(), added);
    let version = output.version();
    let listed = |of: &[(PathBuf, Vec<String>)]| {
        let one = |(file, what): &(PathBuf, Vec<String>)| {
            format!("{} ({})", file.display(), what.join("; "))
        };
        of.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    if !found.changed.is_empty() {
        let later = table.values().all(|of| of.is_before(&version));
        let by_template = match later && template.is_none() {
            true => format!(
                "give Cards/me5_configuration.txt the folder of MG5aMC {version} as mg5_path, whose files then count as \
                 MG5aMC's, "
            ),
            false => String::new(),
        };
        return Err(Error::run(
            format!(
                "{} of {} is not as MG5aMC writes it (2.8.3 to 3.7.1 are known), and what was changed there would be left \
                 out",
                listed(&found.changed),
                output.path.display()
            ),
            format!(
                "put the original back (a cut or a scale can be dummy_cuts or user_dynamical_scale of {FUNCTIONS}, a cut also \
                 statements added to {PASSCUTS} of cuts.f that leave all others as they are, or a function in Python: \
                 run.generate(cut=...)), {by_template}run MadEvent \
                 (mebridge link), or give --changed-files (changed_files=True) where neither cuts nor scales depend on the \
                 change"
            ),
        ));
    }
    let later = || {
        format!(
            "MG5aMC {version} is not known here: {} differs from what earlier versions write, and is as its own template \
             has it. Cuts and scales are those of earlier versions; compare the cross section with MadEvent's",
            listed(&found.later)
        )
    };
    Ok((!found.later.is_empty()).then(later))
}

/// Checks that the `ptj_bias` of an output is as MG5aMC writes it.
///
/// # Errors
/// It is not, or cannot be read.
pub fn check_bias(output: &Output) -> Result<()> {
    let (name, written) = BIAS;
    check_module(&output.path.join(name), written)
}

fn check_module(file: &Path, written: u64) -> Result<()> {
    let text = regular::read(file, MAX_BYTES).map_err(Error::io(file))?;
    match &routines_of(file, &text)[..] {
        [routine] if digest(routine) == written => Ok(()),
        _ => Err(Error::run(
            format!(
                "{} is not as MG5aMC writes it, and bias_module asks for it",
                file.display()
            ),
            "put the original back, write the bias as a function in Python (run.generate(bias=...)), or run MadEvent (mebridge \
             link)",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::UNKNOWN;
    use crate::output::samples::output;
    use std::fs;

    /// A routine of the table in these tests, as MG5aMC 3.5.7 writes it.
    const NOTHING: &str = "      SUBROUTINE NOTHING\n      END\n";
    const OTHER: &str = "      LOGICAL FUNCTION OTHER(P)\n   10 OTHER = .TRUE.\n      END\n";

    fn lines(file: &str, text: &str, version: &str) -> String {
        let routines = routines_of(file.as_ref(), text.as_bytes());
        let line =
            |of: &FortranRoutine| format!("{file} {} {:016x} {version}\n", name(of), digest(of));
        routines.iter().map(line).collect()
    }

    #[test]
    fn comments_blanks_and_line_breaks_do_not_count() {
        let of = |text: &str| lines("x.f", text, "1");
        let same = "c     why\n      subroutine\n     $  NOTHING ! here\n\n      End\r\n";
        assert_eq!(of(NOTHING), of(same));
        for other in [
            "      SUBROUTINE NOTHING\n",
            "      SUBROUTINE NOTHING\n      X=1\n      END\n",
            "      SUBROUTINE NOTHING\n   10 CONTINUE\n      END\n",
            "      SUBROUTINE NOTHING\n   20 CONTINUE\n      END\n",
        ] {
            assert_ne!(of(NOTHING), of(other), "{other}");
        }
        let outside = of(&format!("{NOTHING}      BLOCK DATA X\n      END\n"));
        assert!(outside.contains("x.f - "), "{outside}");
    }

    /// Every file has rows, and each row a digest and versions.
    #[test]
    fn the_table_is_whole() {
        let found = table(WRITTEN);
        assert_eq!(
            found.keys().copied().collect::<SortedSet<_>>(),
            SortedSet::from(FILES)
        );
        let rows: usize = found.values().map(|of| of.routines.len()).sum();
        assert_eq!(rows, WRITTEN.lines().count());
        for (file, of) in &found {
            assert!(of.versions.contains_key("3.5.7"), "{file}");
            let known: SortedSet<&str> = of.routines.iter().map(|(name, _)| *name).collect();
            let named: SortedSet<&str> = of.versions.values().flatten().copied().collect();
            assert_eq!(known, named);
        }
    }

    #[test]
    fn a_module_of_a_bias_is_that_of_mg5amc() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ptj_bias.f");
        let written = digest(&routines_of(&file, NOTHING.as_bytes())[0]);
        let check = |text: &str| {
            fs::write(&file, text).unwrap();
            check_module(&file, written).map_err(|error| error.to_string())
        };
        assert_eq!(check(&format!("c     why\n{NOTHING}")), Ok(()));
        for other in [OTHER, &format!("{NOTHING}{OTHER}"), ""] {
            let error = check(other).unwrap_err();
            assert!(
                error.contains("ptj_bias.f is not as MG5aMC writes it"),
                "{error}"
            );
        }
        fs::remove_file(&file).unwrap();
        assert!(check_module(&file, written).is_err());
    }

    struct TestOutput {
        folder: tempfile::TempDir,
        place: PathBuf,
        rows: String,
    }

    const FILES_OF_SAMPLE: [&str; 2] = ["SubProcesses/cuts.f", "Source/setrun.f"];

    impl TestOutput {
        /// An output with two of the files, written by 3.5.7.
        fn new() -> TestOutput {
            let folder = tempfile::tempdir().unwrap();
            let place = output(folder.path(), &[]);
            fs::create_dir(folder.path().join("Source")).unwrap();
            let both = format!("{NOTHING}{OTHER}");
            let rows = lines(FILES_OF_SAMPLE[0], &both, "3.4.2 3.5.7")
                + &lines(FILES_OF_SAMPLE[1], NOTHING, "3.5.7");
            let sample = TestOutput {
                folder,
                place,
                rows,
            };
            sample.write(FILES_OF_SAMPLE[0], &both);
            sample.write(FILES_OF_SAMPLE[1], NOTHING);
            sample
        }

        fn write(&self, file: &str, text: &str) {
            let file = self.folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn output(&self) -> Output {
            Output::find(self.folder.path()).unwrap()
        }

        /// Changed routines, and those of a later version.
        fn differences(&self) -> [Vec<String>; 2] {
            let output = self.output();
            let template = template(&output);
            let found = differences(&output, &table(&self.rows), template.as_deref(), &[]);
            [found.changed, found.later].map(|of| {
                let one = |(file, what): (PathBuf, Vec<String>)| {
                    format!("{}: {}", file.display(), what.join("; "))
                };
                of.into_iter().map(one).collect()
            })
        }
    }

    #[test]
    fn changed_fortran_is_found_by_its_routine() {
        let sample = TestOutput::new();
        let changed = || sample.differences()[0].clone();
        let [cuts, setrun] = FILES_OF_SAMPLE;
        assert!(changed().is_empty());
        sample.write(
            setrun,
            &NOTHING.replace("      END", "      STOT=1\n      END"),
        );
        assert_eq!(changed(), ["Source/setrun.f: NOTHING, line 1"]);
        sample.write(setrun, "      SUBROUTINE NOTHING\n");
        assert_eq!(changed(), ["Source/setrun.f: NOTHING, line 1"]);
        fs::remove_file(sample.folder.path().join(setrun)).unwrap();
        assert_eq!(changed(), ["Source/setrun.f: it cannot be read"]);
        sample.write(setrun, NOTHING);
        // A missing routine may be in another file.
        sample.write(cuts, NOTHING);
        assert_eq!(changed(), ["SubProcesses/cuts.f: without OTHER"]);
        sample.write(cuts, &format!("{NOTHING}{OTHER}{NOTHING}      X = 1\n"));
        assert_eq!(
            changed(),
            ["SubProcesses/cuts.f: line 8, outside of routines"]
        );
        // Listed once, although the directory has it, too.
        std::os::unix::fs::symlink("../cuts.f", sample.place.join("cuts.f")).unwrap();
        assert_eq!(changed().len(), 1);
        sample.write(cuts, &format!("{OTHER}{NOTHING}"));
        fs::remove_file(sample.place.join("cuts.f")).unwrap();
        fs::write(sample.place.join("cuts.f"), OTHER.replace("TRUE", "FALSE")).unwrap();
        assert_eq!(
            changed(),
            ["SubProcesses/P1_qq_ttx/cuts.f: OTHER, line 1; without NOTHING"]
        );
        let error = check(&sample.output(), None).unwrap_err().to_string();
        assert!(error.contains("cuts.f (OTHER, line "), "{error}");
        assert!(
            error.contains("give --changed-files (changed_files=True) where"),
            "{error}"
        );
    }

    /// A version that is not in the table is recognised by the template of the MG5aMC that wrote it.
    #[test]
    fn a_later_version_is_known_by_its_template() {
        let sample = TestOutput::new();
        let [cuts, _] = FILES_OF_SAMPLE;
        let later = OTHER.replace("TRUE", "FALSE");
        sample.write("MGMEVersion.txt", "9.9.9\n");
        let none = [Vec::<String>::new(), Vec::new()];
        assert_eq!(sample.differences(), none, "the number alone is no change");
        sample.write(cuts, &format!("{NOTHING}{later}"));
        let changed = ["SubProcesses/cuts.f: OTHER, line 3".to_owned()];
        assert_eq!(sample.differences(), [changed.to_vec(), vec![]]);
        let mg5 = sample.folder.path().join("mg5");
        let path = mg5.display();
        let card = format!("# mg5_path = /none\nmg5_path = {path} # where\n");
        sample.write("Cards/me5_configuration.txt", &card);
        sample.write("mg5/VERSION", "version = 9.9.9\ndate = 2030-01-01\n");
        sample.write(
            &format!("mg5/Template/LO/{cuts}"),
            &format!("{NOTHING}{later}"),
        );
        assert_eq!(sample.differences(), [vec![], changed.to_vec()]);
        // Code that the template lacks is the user's.
        sample.write(cuts, &format!("{NOTHING}{}", later.replace("10", "20")));
        assert_eq!(sample.differences(), [changed.to_vec(), vec![]]);
        sample.write(cuts, &format!("{NOTHING}{later}"));
        for (file, text) in [
            // A different MG5aMC than the one that wrote the output, and a version whose routines are known.
            ("mg5/VERSION", "version = 9.9.8\n"),
            ("MGMEVersion.txt", "3.4.2\n"),
            ("MGMEVersion.txt", "3.5.1\n"),
        ] {
            sample.write(file, text);
            assert_eq!(sample.differences(), [changed.to_vec(), vec![]], "{file}");
        }
        sample.write("mg5/VERSION", "version = 3.5.1\n");
        assert_eq!(sample.differences(), [changed.to_vec(), vec![]]);
    }

    #[test]
    fn two_versions_are_refused() {
        let sample = TestOutput::new();
        sample.write("SubProcesses/MGVersion.txt", "3.6.0");
        let error = check(&sample.output(), None).unwrap_err().to_string();
        let says = "MGMEVersion.txt says MG5aMC 3.5.7, SubProcesses/MGVersion.txt 3.6.0; write the output anew";
        assert!(error.ends_with(says), "{error}");
        for name in ["MGMEVersion.txt", "SubProcesses/MGVersion.txt"] {
            fs::remove_file(sample.folder.path().join(name)).unwrap();
        }
        assert_eq!(sample.output().version(), UNKNOWN);
        sample.write("MGMEVersion.txt", "<\u{1}> 3.5.7");
        assert_eq!(sample.output().version(), UNKNOWN);
    }
}
