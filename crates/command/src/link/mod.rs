//! `mebridge link` and `mebridge unlink`: connect an output of MG5aMC to the library, and undo this.
//!
//! | module | contents |
//! |---|---|
//! | `layout` | where files are in an output, and its generation |
//! | `matrix_element` | how MadEvent calls the matrix elements of a P directory |
//! | `nlo` | the matrix elements of aMC@NLO's P directories |
//! | `fortran` | the Fortran that replaces them |
//! | `makefile` | the rules by which make uses it |
//! | `batch` | the number of events per call of MadEvent |
//! | `card` | the run card entries for this, and `Source/vector.inc` |
//! | `gain` | the expected gain of a run |
//! | `settings` | run card entries that are part of the process |
//! | `sources` | the files that were read, and whether they have changed |
//! | `library` | finding the library, and the executables that call it |
//! | `record` | the record of the changes |
//! | `journal` | making changes so that they can be undone |
//! | `root`, `at` | access to the files of an output, and only to those |

mod at;
mod batch;
pub mod card;
mod fortran;
mod gain;
mod journal;
mod layout;
mod library;
mod listing;
mod makefile;
pub mod matrix_element;
mod nlo;
mod record;
pub mod recycled;
mod root;
mod settings;
mod sources;

pub use batch::OneEventReason;
pub use journal::Journal;
pub use layout::{CallerKind, OutputLayout, Subprocess};
use library::is_compiled;
pub use library::{EvaluatedBy, MAX_LIBRARY_BYTES, calls, library};
pub use makefile::is_hooked;
pub use record::{LinkRecord, LinkState};
pub use settings::other_settings;
pub use sources::changed;

use crate::output;
use crate::progress::Progress;
use batch::BatchSizes;
use journal::bytes;
use matrix_element::{MatrixElement, latin};
use mebridge::Result;
use mebridge::import::DependencyRecord;
use mebridge::process::Process;
pub use nlo::NloElements;
use record::{Change, EditKind, kept_name};
use root::wrong;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Let MadEvent take its matrix elements from the library
///
/// OUTPUT is the directory of `output madevent` or of aMC@NLO (`[QCD]`), or one of its SubProcesses/P* directories.
/// Afterwards bin/generate_events, bin/calculate_xsect, launch, and `make madevent` in a P directory make executables that
/// use the library. Undone by `mebridge unlink`.
#[derive(clap::Args)]
pub struct Options {
    /// Outputs of MG5aMC, or P* directories
    #[arg(value_name = "OUTPUT", required = true)]
    outputs: Vec<PathBuf>,
    /// Copy the library into the output, which then runs without an installation of mebridge
    #[arg(long)]
    copy: bool,
    /// Events per batch, a multiple of 32 [default: that of the run card, or 512 if that is 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(32..=i64::from(batch::MAX_BATCH)))]
    vector: Option<u32>,
    /// The library [default: MEBRIDGE_LIBRARY, or the one installed with this command]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

/// Give MadEvent its own matrix elements back
///
/// Undoes `mebridge link`: of a whole output, or of one P* directory.
#[derive(clap::Args)]
pub struct Undo {
    /// Outputs of MG5aMC, or P* directories
    #[arg(value_name = "OUTPUT", required = true)]
    outputs: Vec<PathBuf>,
}

/// A file that link makes.
struct GeneratedFile {
    path: String,
    contents: Vec<u8>,
}

/// A file that link changes.
struct Edited {
    path: String,
    contents: Vec<u8>,
    how: EditKind,
}

/// All changes to make.
#[derive(Default)]
struct Work {
    made: Vec<GeneratedFile>,
    edited: Vec<Edited>,
    aside: Vec<String>,
    /// Text to print.
    report: String,
}

impl Options {
    /// Links the outputs.
    pub fn run(self) -> Result<()> {
        if !cfg!(target_os = "linux") {
            return Err(wrong(
                Path::new("mebridge link"),
                "it needs the linker of Linux (-z muldefs)".into(),
            ));
        }
        let library = library(self.library.as_deref())?;
        for output in &self.outputs {
            self.output(output, &library)?;
        }
        Ok(())
    }

    fn output(&self, output: &Path, library: &Path) -> Result<()> {
        let layout = OutputLayout::find(output)?;
        let journal = Journal::open(&layout.root)?;
        let before = recover(&journal)?;
        let mut names = layout.chosen.clone();
        if let Some(record) = &before {
            names.extend(record.directories.iter().cloned());
        }
        names.sort();
        names.dedup();
        let done = self.link(&layout, &journal, before.as_ref(), names, library);
        match done {
            Ok(report) => output::print(&report),
            Err(error) => {
                // The former state stays; a link that was begun is undone.
                match journal.record() {
                    Ok(None) => journal.close()?,
                    Ok(Some(record)) if record.state == LinkState::Linking && before.is_none() => {
                        match undo(&journal, record, &[]).and_then(|()| journal.close()) {
                            Ok(()) => {
                                output::warn("what was begun is undone: the output is as it was")
                            }
                            Err(undoing) => output::warn(&format!(
                                "{undoing}\nmebridge: so what was begun is not undone; the next link or unlink does it"
                            )),
                        }
                    }
                    _ => {}
                }
                Err(error)
            }
        }
    }

    fn link(
        &self,
        layout: &OutputLayout,
        journal: &Journal,
        before: Option<&LinkRecord>,
        names: Vec<String>,
        library: &Path,
    ) -> Result<String> {
        let mut work = Work::default();
        let batch = BatchSizes::new(layout, self.vector)?;
        let events = batch.as_ref().map_or(1, |b| b.sizes.events());
        let mut subprocesses = Vec::new();
        {
            let progress = Progress::new("directories", names.len() as u64);
            for name in &names {
                let subprocess = layout.subprocess(name)?;
                let fresh = before.is_none_or(|record| !record.directories.contains(name));
                self.subprocess(layout, &subprocess, library, (fresh, events), &mut work)?;
                subprocesses.push(subprocess);
                progress.step();
            }
        }
        self.shared(layout, &subprocesses, batch, &mut work)?;
        let made = work.made.iter().map(|made| made.path.clone());
        for path in made.chain(library::NAMES.map(str::to_owned)) {
            let known = before.is_some_and(|r| r.changes.iter().any(|c| c.path() == path));
            if !known {
                work.aside.push(path);
            }
        }
        // Only existing files can be in the way; folders are reported when they are found.
        let mut aside = Vec::new();
        for path in work.aside {
            let there = journal.root().kind(&path)?;
            if there.is_some_and(|kind| kind != at::FolderEntryKind::Folder) {
                aside.push(path);
            }
        }
        work.aside = aside;
        let changes = changes(journal, before, &work)?;
        let mut record = LinkRecord {
            mebridge: env!("CARGO_PKG_VERSION").into(),
            state: LinkState::Linking,
            directories: names,
            changes,
        };
        journal.check(&record.changes)?;
        journal.write(&record)?;
        // Executables first: make must not consider any of them up to date.
        for path in &work.aside {
            journal.move_aside(path, &kept_name(path))?;
        }
        for made in &work.made {
            journal.make(&made.path, &made.contents)?;
        }
        let [path, soname] = library::NAMES;
        match self.copy {
            true => journal.make_copy(path, library)?,
            false => journal.make_link(path, library)?,
        }
        journal.make_link(soname, Path::new("libmebridge.so"))?;
        let mut stay = Vec::new();
        for edited in &work.edited {
            let kept = kept_name(&edited.path);
            journal.edit(&edited.path, &kept, &edited.contents)?;
            if matches!(edited.how, EditKind::Vector(_)) {
                stay.extend(layout.remove_objects(journal.root())?);
            }
        }
        warn_of_objects(&stay);
        record.state = LinkState::Linked;
        journal.write(&record)?;
        let how = match self.copy {
            true => "copied to",
            false => "linked from",
        };
        let _ = writeln!(
            work.report,
            "library: {} {how} lib/libmebridge.so\nunlink with: mebridge unlink {}",
            library.display(),
            layout.root.display()
        );
        Ok(work.report)
    }

    /// Links one P directory; returns whether it was not linked before, and the batch size.
    fn subprocess(
        &self,
        layout: &OutputLayout,
        subprocess: &Subprocess,
        library: &Path,
        (fresh, events): (bool, usize),
        work: &mut Work,
    ) -> Result<()> {
        if subprocess.kind == CallerKind::Nlo {
            return self.nlo_subprocess(layout, subprocess, library, fresh, work);
        }
        let folder = format!("SubProcesses/{}", subprocess.name);
        let mut made = |name: &str, contents: Vec<u8>| {
            work.made.push(GeneratedFile {
                path: format!("{folder}/{name}"),
                contents,
            });
        };
        mebridge::import::no_loops(&subprocess.path)?;
        let elements = MatrixElement::read_all(&subprocess.path)?;
        let (processes, looks) = mebridge::import::import_noted(&subprocess.path);
        let processes = processes?;
        if processes.len() != elements.len() {
            return Err(wrong(
                &subprocess.path,
                format!(
                    "{} matrix elements were imported, and there are {}",
                    processes.len(),
                    elements.len()
                ),
            ));
        }
        let recycled = elements.iter().any(MatrixElement::is_recycled);
        let what = match subprocess.kind {
            CallerKind::Plugin => {
                layout.check_whole_output()?;
                if events <= 1 {
                    return Err(wrong(
                        &layout.root.join(batch::CARD),
                        "nhel is not 0, so MadEvent asks for one event at a time, which in an output with the plugin is \
                         its own Fortran's; set nhel to 0"
                            .into(),
                    ));
                }
                made("mebridge_plugin.f", fortran::plugin().into_bytes());
                made(makefile::NAME, makefile::with_plugin().into_bytes());
                made(makefile::PLUGIN, makefile::PLUGIN_MAKEFILE.into());
                format!("in the place of the plugin's libraries, batches of {events} events")
            }
            CallerKind::Plain | CallerKind::Nlo => {
                plain_files(
                    layout,
                    subprocess,
                    (&elements, &processes),
                    &looks,
                    library,
                    &mut made,
                )?;
                match events > 1 && elements.iter().all(|e| e.batch.is_some()) {
                    true => format!("batches of {events} events"),
                    false => "one event a call".into(),
                }
            }
        };
        if fresh {
            let numbers: Vec<String> = elements.into_iter().map(|e| e.number).collect();
            move_aside(subprocess, &numbers, work)?;
            if subprocess.kind == CallerKind::Plugin {
                work.aside
                    .extend(layout.plugin_products(&subprocess.name, false)?);
            }
        }
        for process in &processes {
            let _ = writeln!(work.report, "{}: {}, {what}", subprocess.name, process.name);
        }
        if subprocess.kind == CallerKind::Plain {
            let _ = writeln!(
                work.report,
                "{}: {}",
                subprocess.name,
                gain::expected_gain(&processes)
            );
        }
        if subprocess.kind == CallerKind::Plain && recycled {
            let _ = writeln!(
                work.report,
                "{}: read from matrix<i>_orig.f; the Fortran runs matrix<i>_optim.f, which MG5aMC makes of it at each launch \
                 with other routines of DHELAS (*P1N_*.f). What was edited by hand has to be in both; check mode compares",
                subprocess.name
            );
            if let Some(what) = recycled::changed_vertices(layout, &subprocess.path)? {
                let _ = writeln!(work.report, "!! {}: {what}", subprocess.name);
            }
        }
        Ok(())
    }

    /// Links one P directory of aMC@NLO.
    fn nlo_subprocess(
        &self,
        layout: &OutputLayout,
        subprocess: &Subprocess,
        library: &Path,
        fresh: bool,
        work: &mut Work,
    ) -> Result<()> {
        no_overridden_routine(&subprocess.path)?;
        let folder = format!("SubProcesses/{}", subprocess.name);
        let mut made = |name: &str, contents: Vec<u8>| {
            work.made.push(GeneratedFile {
                path: format!("{folder}/{name}"),
                contents,
            });
        };
        let NloElements {
            served,
            left,
            looks,
        } = NloElements::read(layout, &subprocess.path)?;
        if served.is_empty() {
            let why = left.into_iter().next().map(|(_, error)| error);
            return Err(
                why.unwrap_or_else(|| wrong(&subprocess.path, "it has no matrix elements".into()))
            );
        }
        let around = layout.surroundings()?;
        let mut numbers = Vec::new();
        for element in &served {
            let n = &element.number;
            made(&format!("mebridge_matrix{n}.process"), element.to_bytes()?);
            let handle = fortran::handle(element.handle(), &element.process, around);
            made(&format!("mebridge_handle{n}.f"), handle.into_bytes());
            for routine in element.routines() {
                let file = format!("mebridge_matrix{}.f", routine.number);
                made(&file, routine.fortran.into_bytes());
                numbers.push(routine.number);
            }
        }
        let names: Vec<&str> = served.iter().map(|e| e.number.as_str()).collect();
        let list = sources::list(&subprocess.path, &looks, &[])?;
        made(sources::LIST, list.into_bytes());
        made(sources::SCRIPT, sources::COMPARE.into());
        made("mebridge_process.s", fortran::processes(&names).into());
        made("mebridge_clock.f", fortran::CLOCK.into());
        let text = makefile::nlo_makefile(&served, library.parent());
        made(makefile::NAME, text.into_bytes());
        if fresh {
            move_aside(subprocess, &numbers, work)?;
        }
        for element in &served {
            let what = match element.is_born() {
                true => "the Born and its colour links",
                false => "a real emission",
            };
            let _ = writeln!(
                work.report,
                "{}: {}, {what}, one event a call",
                subprocess.name, element.process.name
            );
        }
        for (file, error) in left {
            let _ = writeln!(
                work.report,
                "!! {}: {file} stays the Fortran's: {error}",
                subprocess.name
            );
        }
        Ok(())
    }

    /// Changes the files that all P directories share.
    fn shared(
        &self,
        layout: &OutputLayout,
        subprocesses: &[Subprocess],
        batch: Option<BatchSizes>,
        work: &mut Work,
    ) -> Result<()> {
        let path = makefile::HOOKED;
        let text = latin(&layout.root.join(path))?;
        let hooked = match is_hooked(&text) {
            true => text,
            false if makefile::continues_line(&text) => {
                return Err(wrong(
                    &layout.root.join(path),
                    "its last line ends with a backslash, so that make would take a line after it for more of that \
                     one; end it (nothing was changed)"
                        .into(),
                ));
            }
            false => makefile::hook(&text),
        };
        let _ = writeln!(work.report, "{path}: one line at its end");
        work.edited.push(Edited {
            path: path.into(),
            contents: bytes(&hooked),
            how: EditKind::Hook,
        });
        let Some(batch) = batch else {
            return Ok(());
        };
        let (now, sizes) = (batch.now, batch.sizes);
        let path = batch::CARD;
        if let Some(alone) = batch.alone {
            let why = alone.reason();
            let _ = writeln!(work.report, "{path}: {why}, so events come one by one");
        }
        if sizes != now {
            let _ = writeln!(
                work.report,
                "{path}: vector_size {}, nb_warp {} (were {}, {})",
                sizes.vector_size, sizes.nb_warp, now.vector_size, now.nb_warp
            );
            work.edited.push(Edited {
                path: path.into(),
                contents: bytes(&card::with_sizes(&batch.card, sizes)),
                how: EditKind::RunCard(sizes),
            });
        }
        let path = "Source/vector.inc";
        let text = latin(&layout.root.join(path))?;
        let new = card::vector_inc(&text, sizes);
        // The plugin's launcher handles this itself, unless link changes the run card.
        let plain = subprocesses.iter().any(|s| s.kind == CallerKind::Plain);
        let folders = [
            ("Source", "vector.inc"),
            ("Source/MODEL", "../vector.inc"),
            ("Source/PDF", "../vector.inc"),
        ];
        for (folder, vector_inc) in folders {
            if layout.root.join(folder).is_dir() {
                work.made.push(GeneratedFile {
                    path: format!("{folder}/{}", makefile::NAME),
                    contents: makefile::source_makefile(vector_inc).into_bytes(),
                });
            }
        }
        if new != text && (plain || sizes != now) {
            let events = sizes.events();
            let _ = writeln!(
                work.report,
                "{path}: VECSIZE_MEMMAX {events}; what was compiled is removed, make builds it anew"
            );
            work.edited.push(Edited {
                path: path.into(),
                contents: bytes(&new),
                how: EditKind::Vector(sizes),
            });
        }
        Ok(())
    }
}

/// Refuses a P directory in which a routine of DHELAS or MODEL is defined once more.
fn no_overridden_routine(directory: &Path) -> Result<()> {
    match sources::overridden_routines(directory).first() {
        None => Ok(()),
        Some((file, name)) => Err(wrong(
            directory,
            format!(
                "{file} has a {name} of its own beside that of Source, and madevent takes it where a makefile compiles it, \
                 but only that of Source is read; put it there, or rename {file} if it is of no use"
            ),
        )),
    }
}

/// Moves files of a P directory aside that make builds: executables, and user files that it would overwrite.
fn move_aside(subprocess: &Subprocess, numbers: &[String], work: &mut Work) -> Result<()> {
    let folder = format!("SubProcesses/{}", subprocess.name);
    for name in subprocess.executables()? {
        let path = subprocess.path.join(&name);
        // A script may mention the library.
        if calls(&path)? != EvaluatedBy::Library || !is_compiled(&path) {
            work.aside.push(format!("{folder}/{name}"));
        }
    }
    let products = makefile::products(numbers);
    work.aside
        .extend(products.map(|name| format!("{folder}/{name}")));
    Ok(())
}

/// Reports objects that stay unchanged although the batch size has changed.
fn warn_of_objects(stay: &[PathBuf]) {
    if stay.is_empty() {
        return;
    }
    let names: Vec<String> = stay.iter().map(|path| path.display().to_string()).collect();
    output::warn(&format!(
        "{}: no source or no makefile beside, so make would not compile it anew, and it stays; if it depends on the size of \
         batches (VECSIZE_MEMMAX of Source/vector.inc), which is another one now, compile it again",
        names.join(", ")
    ));
}

/// Makes the files with which the executables of a P directory of MadEvent call the library.
fn plain_files(
    layout: &OutputLayout,
    subprocess: &Subprocess,
    (elements, processes): (&[MatrixElement], &[Process]),
    looks: &[DependencyRecord],
    library: &Path,
    made: &mut dyn FnMut(&str, Vec<u8>),
) -> Result<()> {
    no_overridden_routine(&subprocess.path)?;
    let around = layout.surroundings()?;
    let known = layout.variables()?;
    for (element, process) in elements.iter().zip(processes) {
        let n = &element.number;
        layout::check_card(&subprocess.path, process, &known)?;
        made(&format!("mebridge_matrix{n}.process"), process.to_bytes()?);
        let mut fortran = |kind: &str, text: String| {
            made(&format!("mebridge_{kind}.f"), text.into_bytes());
        };
        fortran(
            &format!("handle{n}"),
            fortran::handle(fortran::Handle::of(element, around), process, around),
        );
        fortran(
            &format!("matrix{n}"),
            fortran::matrix(element, around, false),
        );
        fortran(
            &format!("matrix{n}_all"),
            fortran::matrix(element, around, true),
        );
        if let Some(text) = fortran::batch(element, process, around) {
            fortran(&format!("batch{n}"), text);
        }
    }
    let numbers: Vec<&str> = elements.iter().map(|e| e.number.as_str()).collect();
    let list = sources::list(&subprocess.path, looks, elements)?;
    made(sources::LIST, list.into_bytes());
    made(sources::SCRIPT, sources::COMPARE.into());
    made("mebridge_process.s", fortran::processes(&numbers).into());
    made("mebridge_nhel.awk", makefile::NHEL.into());
    let text = makefile::fortran_makefile(elements, library.parent(), layout.vector);
    made(makefile::NAME, text.into_bytes());
    Ok(())
}

/// Returns all changes that a link makes, with those of an earlier one.
fn changes(journal: &Journal, before: Option<&LinkRecord>, work: &Work) -> Result<Vec<Change>> {
    let mut changes: Vec<Change> = before.map_or(Vec::new(), |r| r.changes.clone());
    let mut add = |change: Change| {
        if !changes.iter().any(|known| known.path() == change.path()) {
            changes.push(change);
        }
    };
    for path in &work.aside {
        add(Change::Aside {
            path: path.clone(),
            kept: kept_name(path),
        });
    }
    for made in &work.made {
        add(Change::Make {
            path: made.path.clone(),
        });
    }
    if journal.root().kind(library::FOLDER)?.is_none() {
        add(Change::MakeFolder {
            path: library::FOLDER.into(),
        });
    }
    for path in library::NAMES {
        add(Change::Make { path: path.into() });
    }
    for edited in &work.edited {
        let mut known = changes.iter_mut();
        match known.find(|known| known.path() == edited.path) {
            Some(change) => {
                if let Change::Edit { how, .. } = &*change
                    && *how != edited.how
                {
                    // With other sizes than before: each record is undone using its own sizes.
                    journal.undo(change)?;
                }
                if let Change::Edit { how, .. } = change {
                    *how = edited.how;
                }
            }
            None => changes.push(Change::Edit {
                path: edited.path.clone(),
                kept: kept_name(&edited.path),
                how: edited.how,
            }),
        }
    }
    Ok(changes)
}

/// Undoes an interrupted call, and returns the record of a completed link.
fn recover(journal: &Journal) -> Result<Option<LinkRecord>> {
    match journal.record()? {
        Some(record) if record.state != LinkState::Linked => {
            output::warn(
                "an earlier link or unlink of this output was interrupted; it is undone first",
            );
            undo(journal, record, &[])?;
            Ok(None)
        }
        record => Ok(record),
    }
}

/// Undoes a link except for the P directories `keep`.
fn undo(journal: &Journal, mut record: LinkRecord, keep: &[String]) -> Result<()> {
    let layout = OutputLayout::find(journal.root().path())?;
    journal.check(&record.changes)?;
    journal.begin_undo(&record)?;
    let changes = record.changes.iter().cloned();
    let (stay, go): (Vec<Change>, Vec<Change>) = changes.partition(|change| {
        let of_directory = change.path().starts_with("SubProcesses/");
        !keep.is_empty() && (!of_directory || keep.iter().any(|name| change.is_of(name)))
    });
    // First remove the new files, which frees disk space for the rest. Last restore the files moved aside, which
    // replace those made since.
    let is_make = |change: &&Change| matches!(change, Change::Make { .. });
    let is_edit = |change: &&Change| matches!(change, Change::Edit { .. });
    let is_aside = |change: &&Change| matches!(change, Change::Aside { .. });
    for change in go.iter().filter(is_make).chain(go.iter().filter(is_edit)) {
        journal.undo(change)?;
    }
    let gone = record.directories.iter().filter(|d| !keep.contains(d));
    for name in gone.clone() {
        journal.remove_products(name, &record.numbers(name))?;
        for path in layout.plugin_products(name, true)? {
            journal.root().remove(path)?;
        }
    }
    let is_folder = |change: &&Change| matches!(change, Change::MakeFolder { .. });
    let aside = go.iter().rev().filter(is_aside);
    for change in aside.chain(go.iter().filter(is_folder)) {
        journal.undo(change)?;
    }
    if keep.is_empty() {
        return journal.forget();
    }
    record.state = LinkState::Linked;
    record.changes = stay;
    record.directories.retain(|name| keep.contains(name));
    journal.end_undo(&record)
}

impl Undo {
    /// Unlinks the outputs.
    pub fn run(self) -> Result<()> {
        for path in &self.outputs {
            let layout = OutputLayout::find(path)?;
            if root::OutputRoot::open(&layout.root)?
                .kind(record::FOLDER)?
                .is_none()
            {
                output::print(&format!("{}: it is not linked\n", layout.root.display()))?;
                continue;
            }
            let journal = Journal::open(&layout.root)?;
            let Some(record) = journal.record()? else {
                journal.close()?;
                output::print(&format!("{}: it is not linked\n", layout.root.display()))?;
                continue;
            };
            let interrupted = record.state != LinkState::Linked;
            if !interrupted && layout.has_plugin() {
                layout.check_whole_output()?;
            }
            let keep: Vec<String> = match interrupted {
                true => Vec::new(),
                false => {
                    let all = record.directories.iter();
                    let stay = all.filter(|name| !layout.chosen.contains(name));
                    stay.cloned().collect()
                }
            };
            let vector = record
                .changes
                .iter()
                .any(|c| matches!(c, Change::Edit { path, .. } if path == "Source/vector.inc"));
            let gone = record.directories.len() - keep.len();
            undo(&journal, record, &keep)?;
            if keep.is_empty() {
                if vector {
                    warn_of_objects(&layout.remove_objects(journal.root())?);
                }
                journal.close()?;
            }
            output::print(&format!(
                "{}: {gone} of {} P directories unlinked\n",
                layout.root.display(),
                gone + keep.len()
            ))?;
        }
        Ok(())
    }
}
