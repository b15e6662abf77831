//! Runs the command as a user does.

// Each test program uses some of these functions.
#![allow(dead_code)]

use mebridge::process::example;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Lets signals end a started command, even if the tests run in the background and ignore them.
#[cfg(unix)]
pub fn hears_signals(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    let hear = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: the arguments are a signal number and the default action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure calls only signal, which is allowed there.
    unsafe { command.pre_exec(hear) }
}

/// The outcome of one run.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The program that cargo built with this test: `mebridge`, or else `mebridge-tools`. Of the latter cargo's variable
/// does not get here, as the shell of `tests/rustc.sh` passes none on with a hyphen in its name.
fn program() -> PathBuf {
    match option_env!("CARGO_BIN_EXE_mebridge") {
        Some(command) => command.into(),
        None => {
            let test = std::env::current_exe().expect("a file");
            let built = test.ancestors().nth(2).expect("a folder of tests");
            built.join(format!("mebridge-tools{}", std::env::consts::EXE_SUFFIX))
        }
    }
}

/// Runs `mebridge` with these arguments in a directory, in an environment without its switches but
/// those for the CPU and for no cache.
pub fn mebridge(directory: &Path, arguments: &[&str]) -> Ran {
    mebridge_with(directory, arguments, &[])
}

/// As [`mebridge`], with these variables in the environment.
pub fn mebridge_with(directory: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(program());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CUDACPP_") {
            command.env_remove(name);
        }
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .current_dir(directory)
        .args(arguments)
        .env("COLUMNS", "100")
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .envs(variables.iter().copied())
        .output()
        .expect("the command was built with this test");
    Ran {
        code: status.code().expect("no signal ends the command"),
        stdout: String::from_utf8(stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(stderr).expect("output is UTF-8"),
    }
}

impl Ran {
    /// Returns stdout of a run without errors or warnings.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (0, ""),
            "{}",
            self.stdout
        );
        &self.stdout
    }

    /// Returns stderr of a run that ended with this code and without output.
    #[track_caller]
    pub fn failed(&self, code: i32) -> &str {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (code, ""),
            "{}",
            self.stderr
        );
        &self.stderr
    }
}

/// A directory with the process file `scalars.mebridge`.
pub fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    example::scalars()
        .write(directory.path().join("scalars.mebridge"))
        .expect("the example can be written");
    directory
}

/// The lines of a report with their timings as `#`: whatever looks like a number in scientific
/// notation, in lines about time, throughput or what rounding alone decides.
pub fn mask_timings(text: &str) -> String {
    let timed = ["TotalTime[", "MeanTimeIn", "[Min,Max]TimeIn", "EvtsPerSec["];
    // The spread of a constant weight is rounding alone.
    let noisy = ["MeanWeight", "StdDevWeight"];
    let mut masked = String::new();
    for line in text.lines() {
        if timed
            .iter()
            .chain(&noisy)
            .any(|start| line.starts_with(start))
        {
            let words = line.split_whitespace().map(|word| {
                let number = word.contains("e+") || word.contains("e-");
                if number && word.parse::<f64>().is_ok() {
                    "#"
                } else {
                    word
                }
            });
            masked.push_str(&words.collect::<Vec<_>>().join(" "));
        } else {
            masked.push_str(line);
        }
        masked.push('\n');
    }
    masked
}

/// The P* directory of g g > t t~ that comes with the source.
pub fn gg_ttx() -> std::path::PathBuf {
    mebridge_testing::root().join("fortran/gg_ttx/SubProcesses/P1_gg_ttx")
}

/// The same with a second matrix element, equal but for the number behind its name: a P*
/// directory in `directory`.
pub fn two_matrix_elements(directory: &Path) -> std::path::PathBuf {
    copy(&gg_ttx().join("../.."), directory);
    let p = directory.join("SubProcesses/P1_gg_ttx");
    let read = |file: &str| std::fs::read_to_string(p.join(file)).expect("a file of gg_ttx");
    let write = |file: &str, text: String| std::fs::write(p.join(file), text).expect("written");
    let second = read("matrix1.f").replace("MATRIX1", "MATRIX2");
    write(
        "matrix2.f",
        second.replace("WEIGHTED<=2 @1", "WEIGHTED<=2 @2"),
    );
    write(
        "maxamps.inc",
        read("maxamps.inc").replace("MAXSPROC=1", "MAXSPROC=2"),
    );
    let tables = read("coloramps.inc").replace("ICOLAMP(2,3,1)", "ICOLAMP(2,3,2)");
    let also = read("coloramps.inc").replace("      LOGICAL ICOLAMP", "C     ICOLAMP");
    write(
        "coloramps.inc",
        tables + &also.replace(",1),I=1,2)", ",2),I=1,2)"),
    );
    let mut map = read("config_subproc_map.inc").replace("I=1,1)", "I=1,2)");
    for n in 1..=3 {
        map = map.replace(&format!("/{n}/"), &format!("/{n},{n}/"));
    }
    write("config_subproc_map.inc", map);
    let flows = read("leshouche.inc");
    let also: String = flows
        .lines()
        .filter(|line| line.contains("ICOLUP") || line.contains("IDUP"))
        .map(|line| line.replace(",1),I=1", ",2),I=1") + "\n")
        .collect();
    write("leshouche.inc", flows + &also);
    p
}

/// Beams that are the particles of the process, of 100 GeV each.
pub const PARTONS: [&str; 8] = [
    "--set",
    "lpp1=0",
    "--set",
    "lpp2=0",
    "--set",
    "ebeam1=100",
    "--set",
    "ebeam2=100",
];

/// Copies a directory with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

/// Every file and link under a folder, with its contents.
pub fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            let to = std::fs::read_link(&path).unwrap();
            all.insert(path, to.to_string_lossy().into_owned().into_bytes());
        } else if path.is_dir() {
            all.extend(snapshot(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            all.insert(path, bytes);
        }
    }
    all
}

/// Checks that both folders have the same contents.
#[track_caller]
pub fn same(a: &BTreeMap<PathBuf, Vec<u8>>, b: &BTreeMap<PathBuf, Vec<u8>>) {
    let names = |x: &BTreeMap<PathBuf, Vec<u8>>| x.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(a), names(b));
    for (path, bytes) in a {
        assert!(b[path] == *bytes, "{} differs", path.display());
    }
}
