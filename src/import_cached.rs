//! Imports a directory, from the cache if nothing has changed that the import reads.

use crate::cache::key::Key;
use crate::cache::{Cache, EntryKind};
use crate::error::Result;
use crate::import::{DependencyRecord, Options, folder_name, fortran_of, read_bounded, record};
use crate::open_widths::import;
use crate::process::Process;
use crate::process::file::FORMAT_VERSION;
use mebridge_support::digest;
use std::path::Path;

/// Returns the processes of a directory, as [`import`] does.
pub fn import_cached(dir: &Path, options: &Options, cache: &Cache) -> Result<Vec<Process>> {
    // A different card may be anywhere: such imports are not cached.
    let keeps = cache.is_enabled() && options.card.is_none();
    let Some(key) = keeps.then(|| key(dir, options)).flatten() else {
        return import(dir, options);
    };
    type Stored = (Vec<DependencyRecord>, Vec<Process>);
    if let Some((looks, processes)) = cache.load::<Stored>(EntryKind::Process, &key)
        && looks.iter().all(|look| look.still_holds(dir))
        && processes.iter().all(|process| process.validate().is_ok())
    {
        return Ok(processes);
    }
    let (processes, looks) = record(dir, || import(dir, options));
    let stored: Stored = (looks, processes?);
    // The model files that were read to compute widths which the card leaves open are not among the recorded looks.
    let computed = |process: &Process| !process.model.auto_widths.is_empty();
    if !stored.1.iter().any(computed) {
        cache.store(EntryKind::Process, &key, &stored);
    }
    Ok(stored.1)
}

/// Key of the inputs in which most imports differ: the matrix elements and the cards. Everything else that the import
/// reads is stored with the processes.
fn key(dir: &Path, options: &Options) -> Option<Key> {
    // A full pattern, so that no new option is forgotten; with a different card nothing is cached.
    let Options {
        card: _,
        harmless_calls,
        element,
        open_widths,
    } = options;
    let mut key = Key::builder("import");
    key.value(&FORMAT_VERSION)?;
    key.value(harmless_calls)?;
    key.value(&(element, open_widths))?;
    // The name of a process whose file has none.
    key.value(&folder_name(dir))?;
    for file in fortran_of(dir).ok()? {
        let name = file.file_name()?.to_str()?;
        if name.starts_with("matrix") {
            key.value(name)?;
            key.bytes(&digest(&read_bounded(&file).ok()?));
        }
    }
    for card in ["param_card.dat", "run_card.dat"] {
        let contents = read_bounded(&dir.join("../../Cards").join(card)).ok();
        key.value(&contents.as_deref().map(digest))?;
    }
    Some(key.finish())
}
