//! Two builds of libmebridge beside each other: `make bench-against COMMIT=...`, see docs/testing.md.
//!
//! | module | |
//! |---|---|
//! | `rows` | the fixed list |
//! | `event_set`, `phase_space`, `random` | the events |
//! | `library`, `c`, `calls`, `device` | the libraries' functions |
//! | `start` | one start of one row: both are compared and timed in turn |
//! | `statistics`, `report` | the table |
//! | `options`, `machine` | the command line; the core and Ctrl-C |

mod c;
mod calls;
mod device;
mod event_set;
mod library;
mod machine;
mod options;
mod phase_space;
mod random;
mod report;
mod rows;
mod start;
mod statistics;

use library::Library;
use options::{HELP, Options, Start, Task};
use report::{Ending, Report, SLOWER};
use start::Message;
use statistics::{Round, Summary};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Ratios with which a row is measured once more.
const DOUBTFUL: Range<f64> = 0.9..SLOWER;

fn main() -> ExitCode {
    let outputs = std::env::var_os("MEBRIDGE_MG5_OUTPUTS").map(PathBuf::from);
    let done = Options::read(std::env::args().skip(1), outputs).and_then(|options| {
        match &options.task {
            Task::Help => {
                machine::end_with_the_reader();
                print!("{HELP}");
            }
            Task::List => {
                machine::end_with_the_reader();
                options.rows().iter().for_each(|row| println!("{row}"));
            }
            Task::Start(start) => start::run(&options, start),
            Task::Table => return table(options.clone()),
        }
        Ok(true)
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("mebridge-against: {message}");
            ExitCode::from(2)
        }
    }
}

/// All rows; whether they are as one would have them.
fn table(mut options: Options) -> Result<bool, String> {
    let rows = options.rows();
    if rows.is_empty() {
        return Err("no row is of that name; --list shows them".into());
    }
    if let Some(outputs) = &options.outputs
        && !outputs.is_dir()
    {
        return Err(format!(
            "there is no folder {} of outputs",
            outputs.display()
        ));
    }
    let core = machine::bind(options.core)?;
    machine::catch_interrupts();
    let folder = Folder::new()?;
    folder.set_apart(&mut options)?;
    // Each start opens them anew; what cannot be opened is better said once.
    for library in [&options.old, &options.new] {
        Library::open("tried", library, PathBuf::new())?;
    }
    let begun = Instant::now();
    println!("{}", report::heading(&options.names));
    let mut report = Report::default();
    for row in &rows {
        let ending = measure(&options, &row.to_string(), &folder);
        if machine::interrupted() {
            break;
        }
        if let Some(line) = report.add(row, ending) {
            println!("{line}");
        }
    }
    print!("{}", report.text());
    println!(
        "\n{} rounds a row on core {core}, {:.0} s.",
        options.rounds,
        begun.elapsed().as_secs_f64()
    );
    if machine::interrupted() {
        println!("Interrupted: not all rows were measured.");
        return Ok(false);
    }
    Ok(report.good())
}

/// One row. A row that is a little below the limit may be chance, and is measured once more.
fn measure(options: &Options, row: &str, folder: &Folder) -> Ending {
    let mut rounds = Vec::new();
    let first = measure_on(options, row, folder, &mut rounds);
    match first {
        Ending::Measured(_, summary) if DOUBTFUL.contains(&summary.ratio) => {
            measure_on(options, row, folder, &mut rounds)
        }
        ending => ending,
    }
}

/// Measures a row by as many programs as it has starts; of these rounds and those from before.
fn measure_on(options: &Options, row: &str, folder: &Folder, rounds: &mut Vec<Round>) -> Ending {
    let mut size = None;
    for number in 0..start::starts(options) {
        let start = Start {
            row: row.to_owned(),
            caches: ["old", "new"].map(|name| folder.path.join(name)),
            number,
            size: size.clone(),
        };
        let lines = match run(options, &start) {
            Ok(lines) => lines,
            Err(what) => return Ending::Wrong(what),
        };
        for line in lines {
            match line {
                Message::Size(events, channels) => size = Some((events, channels)),
                Message::Round(round) => rounds.push(round),
                Message::Skipped(why) => return Ending::Skipped(why),
                Message::Wrong(what) => return Ending::Wrong(what),
            }
        }
    }
    match size {
        Some((events, _)) if !rounds.is_empty() => Ending::Measured(events, Summary::new(rounds)),
        _ => Ending::Wrong("nothing was measured".into()),
    }
}

/// What one start says. What it and its libraries say to stderr is passed on where it fails: builds from before the
/// switch VERBOSE say which process they use.
fn run(options: &Options, start: &Start) -> Result<Vec<Message>, String> {
    let program = std::env::current_exe().map_err(|e| format!("where this program is: {e}"))?;
    let mut command = Command::new(program);
    command
        .arg("--old")
        .arg(&options.old)
        .arg("--new")
        .arg(&options.new);
    command.args(["--rounds", &options.rounds.to_string()]);
    if options.backend == rows::Backend::Cuda {
        command.args(["--backend", "cuda"]);
    }
    if let Some(outputs) = &options.outputs {
        command.arg("--outputs").arg(outputs);
    }
    command.args(start.words()).stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|e| format!("this program cannot be started: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(Message::read).collect();
    if output.status.success() {
        return Ok(lines);
    }
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Err(format!(
        "its program ended with {}; what it said is above",
        output.status
    ))
}

/// A folder that goes when this program ends.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("mebridge-against-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Folder { path })
    }

    /// Copies the new library where it is the same file as the old one, which the loader would open once.
    fn set_apart(&self, options: &mut Options) -> Result<(), String> {
        let found = |path: &Path| {
            path.canonicalize()
                .map_err(|e| format!("{}: {e}", path.display()))
        };
        let [old, new] = [found(&options.old)?, found(&options.new)?];
        options.new = match same_file(&old, &new) {
            false => new,
            true => {
                let copy = self.path.join("new.so");
                std::fs::copy(&new, &copy).map_err(|e| format!("{}: {e}", copy.display()))?;
                copy
            }
        };
        options.old = old;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the folder of temporary files in any case.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Whether these are one file, links included.
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = |path: &Path| path.metadata().map(|m| (m.dev(), m.ino())).ok();
    a == b || file(a) == file(b)
}
