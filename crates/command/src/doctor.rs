//! `mebridge doctor`: reports what this machine and an output have, what is wrong, and how to fix it.

use crate::link::{
    CallerKind, EvaluatedBy, Journal, LinkRecord, LinkState, NloElements, OneEventReason,
    OutputLayout, Subprocess, calls, card, changed, is_hooked, matrix_element, other_settings,
    recycled,
};
use crate::output;
use mebridge::gpu::{Gpus, likely_platform};
use mebridge::runtime::{Switches, environment};
use mebridge::simd::Level;
use mebridge::target::{CallSize as Work, Target};
use mebridge::{Result, cache};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Look at this machine, and at outputs of MG5aMC, for what is missing or wrong
///
/// Lines that begin with !! report a problem and how to fix it; the exit code is then 1.
#[derive(clap::Args)]
pub struct Options {
    /// Outputs of MG5aMC, or P* directories
    #[arg(value_name = "OUTPUT")]
    outputs: Vec<PathBuf>,
}

#[derive(Default)]
struct Report {
    text: String,
    wrong: bool,
}

impl Report {
    fn line(&mut self, what: &str, found: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{what:<14} {found}");
    }

    fn wrong(&mut self, what: impl std::fmt::Display) {
        self.wrong = true;
        let _ = writeln!(self.text, "!! {what}");
    }
}

impl Options {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode> {
        let mut report = Report::default();
        let switches = machine(&mut report);
        for path in &self.outputs {
            report.text.push('\n');
            if let Err(error) = output(&mut report, path, &switches) {
                report.wrong(error);
            }
        }
        output::print(&report.text)?;
        Ok(match report.wrong {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        })
    }
}

/// Reports on the machine, and the switches of the environment.
fn machine(report: &mut Report) -> Switches {
    report.line("mebridge", env!("CARGO_PKG_VERSION"));
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| line.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    report.line(
        "CPU",
        format!(
            "{}, {cores} cores",
            name.map_or("unknown", |(_, name)| name)
        ),
    );
    let levels: Vec<String> = Level::supported().iter().map(Level::to_string).collect();
    report.line(
        "SIMD",
        format!("{} of {}", Level::best(), levels.join(", ")),
    );
    let set: Vec<String> = environment::variables()
        .iter()
        .map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy()))
        .filter(|(name, value)| name.starts_with(mebridge::runtime::PREFIX) && !value.is_empty())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let switches = match Switches::from_env() {
        Ok(switches) => {
            report.line(
                "switches",
                if set.is_empty() {
                    "none".into()
                } else {
                    set.join(" ")
                },
            );
            switches
        }
        Err(error) => {
            report.wrong(error);
            Switches::default()
        }
    };
    match likely_platform() {
        None => report.line(
            "GPU",
            "none: there is no driver of NVIDIA's or AMD's that shows one",
        ),
        Some(platform) => match Gpus::open(platform, &switches, cache::Cache::new(&switches.cache))
        {
            Ok(gpus) => report.line("GPU", gpus.name()),
            Err(error) => report.wrong(format!("there is a GPU, but it cannot be used: {error}")),
        },
    }
    match cache::path(&switches.cache) {
        None => report.line("cache", "off"),
        Some(path) => {
            let folder = cache::folder::Folder::new(path.clone());
            let usage = folder.usage();
            report.line(
                "cache",
                format!(
                    "{}, {} files, {:.1} MiB",
                    path.display(),
                    usage.files,
                    usage.bytes as f64 / f64::from(1 << 20)
                ),
            );
            if let Err(error) = folder.check_writable() {
                report.wrong(format!(
                    "nothing can be kept in {} ({error}): every start imports and plans anew; set \
                     CUDACPP_RUNTIME_CACHE to a folder that can be written, or to off",
                    path.display()
                ));
            }
        }
    }
    for (name, needed) in [
        ("gfortran", true),
        ("make", true),
        ("awk", true),
        ("python3", false),
    ] {
        match version(name) {
            Some(version) => report.line(name, version),
            None if needed => report.wrong(format!(
                "{name} cannot be run, and MadEvent is not made without it; install it"
            )),
            None => report.line(name, "none"),
        }
    }
    switches
}

/// Returns the first line that a program prints for `--version`.
fn version(program: &str) -> Option<String> {
    // mawk has another name for the option.
    for argument in ["--version", "-W version"] {
        let Ok(ran) = Command::new(program).args(argument.split(' ')).output() else {
            continue;
        };
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        if let Some(line) = text.lines().next().filter(|_| ran.status.success()) {
            return Some(line.to_owned());
        }
    }
    None
}

/// Reports on the matrix elements of a P directory, for calls of `events` events each.
fn matrix_elements(
    report: &mut Report,
    layout: &OutputLayout,
    subprocess: &Subprocess,
    switches: &Switches,
    events: usize,
) {
    let name = &subprocess.name;
    let found = match subprocess.kind {
        CallerKind::Nlo => NloElements::read(layout, &subprocess.path).map(|elements| {
            for (file, error) in elements.left {
                report.line(name, format!("{file} stays the Fortran's: {error}"));
            }
            let served = elements.served.into_iter();
            served.map(|element| element.process).collect()
        }),
        _ => mebridge::import::import_noted(&subprocess.path).0,
    };
    match found {
        Err(error) => report.wrong(format!("{name}: {error}")),
        Ok(processes) => {
            for process in processes {
                // Of aMC@NLO's single events.
                let machine = match subprocess.kind {
                    CallerKind::Nlo => "CPU, one event a call".into(),
                    _ => Target::choose(switches, Work::new(&process, events))
                        .map_or_else(|e| e.to_string(), |m| m.describe()),
                };
                report.line(name, format!("{}: {machine}", process.name));
            }
        }
    }
}

/// Reports on one output.
fn output(report: &mut Report, path: &Path, switches: &Switches) -> Result<()> {
    let layout = OutputLayout::find(path)?;
    report.line("output", layout.root.display());
    let record = Journal::peek(&layout.root)?;
    match &record {
        None => report.line("linked", "no"),
        Some(record) if record.state == LinkState::Linked => report.line(
            "linked",
            format!("by mebridge {}: {}", record.mebridge, record.directories.join(", ")),
        ),
        Some(_) => report.wrong(format!(
            "a link or unlink of it was interrupted; run `mebridge link {0}` or `mebridge unlink {0}`",
            layout.root.display()
        )),
    }
    let linked = record.filter(|record| record.state == LinkState::Linked);
    let mut events = 1;
    if layout.vector {
        let text = matrix_element::latin(&layout.root.join("Cards/run_card.dat"))?;
        events = card::sizes(&text).events();
        report.line("events a call", format!("{events} by the run card"));
        if let Some(alone) = OneEventReason::find(&layout, &text) {
            if events > 1 {
                report.wrong(alone.refusal());
            }
        } else if events == 1 && linked.is_some() {
            report.wrong(
                "vector_size and nb_warp of the run card are 1: MadEvent asks for one event at a time, which is slow; \
                 run mebridge link again",
            );
        }
    }
    if let Some(record) = &linked {
        linked_whole(report, &layout, record)?;
    }
    for name in &layout.chosen {
        let subprocess = layout.subprocess(name)?;
        let is_linked = linked
            .as_ref()
            .is_some_and(|r| r.directories.contains(name));
        matrix_elements(report, &layout, &subprocess, switches, events);
        if is_linked && subprocess.kind != CallerKind::Plugin {
            linked_sources(report, &layout, &subprocess)?;
        }
        executables(report, &layout, &subprocess, is_linked)?;
        if subprocess.kind == CallerKind::Plugin
            && is_linked
            && (layout.plugin_products(name, false)?.iter()).any(|f| f.ends_with(".so"))
        {
            report.wrong(format!(
                "lib/ has libraries of the plugin again; run `mebridge link {}` again",
                layout.root.display()
            ));
        }
    }
    Ok(())
}

/// Reports what a linked output has lost since.
fn linked_whole(report: &mut Report, layout: &OutputLayout, record: &LinkRecord) -> Result<()> {
    let make_opts = matrix_element::latin(&layout.root.join("Source/make_opts"))?;
    let hooked = is_hooked(&make_opts);
    let whole = hooked && layout.root.join("lib/libmebridge.so").is_file();
    if record.mebridge != env!("CARGO_PKG_VERSION") || !whole {
        report.wrong(format!(
            "{}; run `mebridge link {}` again",
            match (hooked, whole) {
                (false, _) => "its Source/make_opts has lost the line of mebridge",
                (true, false) => "its lib/libmebridge.so is gone, or leads nowhere",
                (true, true) => "it was linked by another version",
            },
            layout.root.display()
        ));
    }
    Ok(())
}

/// Reports what has changed in a linked P directory.
fn linked_sources(
    report: &mut Report,
    layout: &OutputLayout,
    subprocess: &Subprocess,
) -> Result<()> {
    let (name, root) = (&subprocess.name, layout.root.display());
    let settings = other_settings(layout, subprocess)?;
    if !settings.is_empty() {
        report.wrong(format!(
            "{name}: the run card has another {} than when the output was linked, and executables stop at that; \
             run `mebridge link {root}` again",
            settings.join(" and ")
        ));
    }
    let what = match changed(&subprocess.path)? {
        None => "nothing says what it was linked from".into(),
        Some(changes) if changes.is_empty() => String::new(),
        Some(changes) => format!(
            "{} since the output was linked, and executables do not contain this change",
            changes.join(", ")
        ),
    };
    if !what.is_empty() {
        report.wrong(format!("{name}: {what}; run `mebridge link {root}` again"));
    }
    if subprocess.kind == CallerKind::Plain
        && let Some(what) = recycled::changed_vertices(layout, &subprocess.path)?
    {
        report.wrong(format!("{name}: {what}"));
    }
    Ok(())
}

/// Reports what the executables of a P directory call.
fn executables(
    report: &mut Report,
    layout: &OutputLayout,
    subprocess: &Subprocess,
    is_linked: bool,
) -> Result<()> {
    let name = &subprocess.name;
    for executable in subprocess.executables()? {
        let path = subprocess.path.join(&executable);
        let called = match calls(&path) {
            Ok(called) => called,
            Err(error) => {
                report.wrong(error);
                continue;
            }
        };
        let (what, right) = match called {
            EvaluatedBy::Library => ("the library", is_linked),
            EvaluatedBy::Fortran => ("its own Fortran", !is_linked),
            EvaluatedBy::Plugin if !layout.plugin_products(name, true)?.is_empty() => {
                ("the library, in the place of the plugin", is_linked)
            }
            EvaluatedBy::Plugin => ("the plugin", !is_linked),
        };
        report.line("", format!("{executable} calls {what}"));
        if !right {
            report.wrong(format!(
                "{name}/{executable} was made {} the output was linked; remove it, and let it be made again",
                if is_linked { "before" } else { "while" }
            ));
        }
    }
    Ok(())
}
