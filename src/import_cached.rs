//! The import of a directory, from the cache where nothing has changed that the import looks at.

use crate::cache::key::Key;
use crate::cache::{Cache, Kind};
use crate::error::Result;
use crate::import::{DependencyRecord, Options, folder_name, fortran_of, read_bounded, record};
use crate::open_widths::import;
use crate::process::Process;
use crate::process::file::FORMAT_VERSION;
use mebridge_support::digest;
use std::path::Path;

/// The processes of a directory, as [`import`] gives them.
pub fn import_cached(dir: &Path, options: &Options, cache: &Cache) -> Result<Vec<Process>> {
    // Another card may lie anywhere: that is not kept.
    let keeps = cache.is_on() && options.card.is_none();
    let Some(key) = keeps.then(|| key(dir, options)).flatten() else {
        return import(dir, options);
    };
    type Stored = (Vec<DependencyRecord>, Vec<Process>);
    if let Some((looks, processes)) = cache.load::<Stored>(Kind::Process, &key)
        && looks.iter().all(|look| look.still_holds(dir))
        && processes.iter().all(|process| process.validate().is_ok())
    {
        return Ok(processes);
    }
    let (processes, looks) = record(dir, || import(dir, options));
    let stored: Stored = (looks, processes?);
    // What was read of the model for widths that the card leaves open is not among the looks.
    let computed = |process: &Process| !process.model.auto_widths.is_empty();
    if !stored.1.iter().any(computed) {
        cache.store(Kind::Process, &key, &stored);
    }
    Ok(stored.1)
}

/// What most imports differ in: the matrix elements and the cards. What else the import looks at is
/// stored with the processes.
fn key(dir: &Path, options: &Options) -> Option<Key> {
    // All of them, so that none that comes is forgotten; with another card nothing is kept.
    let Options {
        card: _,
        harmless_calls,
        element,
        open_widths,
    } = options;
    let mut key = Key::of("import");
    key.value(&FORMAT_VERSION)?;
    key.value(harmless_calls)?;
    key.value(&(element, open_widths))?;
    // The name of a process that has none in its file.
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
