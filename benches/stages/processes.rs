//! The processes that are measured.

use mebridge::import::import_directory;
use mebridge::process::Process;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A process and where it comes from.
pub struct Named {
    pub name: &'static str,
    pub directory: PathBuf,
    pub process: Process,
    /// Whether its working data fit into the caches of a core.
    pub is_small: bool,
}

/// Those that are there, in ascending order.
pub fn processes() -> &'static [Named] {
    static PROCESSES: OnceLock<Vec<Named>> = OnceLock::new();
    PROCESSES.get_or_init(|| {
        let named = |name, directory: PathBuf, is_small| Named {
            name,
            process: import_directory(&directory)
                .expect("a directory of MG5aMC")
                .remove(0),
            directory,
            is_small,
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let gg_ttx = source.join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
        let mut processes = vec![named("gg_ttx", gg_ttx, true)];
        let Some(outputs) = std::env::var_os("MEBRIDGE_MG5_OUTPUTS") else {
            eprintln!(
                "SKIPPED: g g > t t~ + 1, 2, 3 gluons; set MEBRIDGE_MG5_OUTPUTS to a folder with \
                 gg_ttg.mad, gg_ttgg.mad, gg_ttggg.mad"
            );
            return processes;
        };
        for (name, directory, is_small) in [
            ("gg_ttxg", "gg_ttg.mad/SubProcesses/P1_gg_ttxg", true),
            ("gg_ttxgg", "gg_ttgg.mad/SubProcesses/P1_gg_ttxgg", true),
            ("gg_ttxggg", "gg_ttggg.mad/SubProcesses/P1_gg_ttxggg", false),
        ] {
            let directory = Path::new(&outputs).join(directory);
            if directory.is_dir() {
                processes.push(named(name, directory, is_small));
            } else {
                eprintln!("SKIPPED: {name}: no {}", directory.display());
            }
        }
        processes
    })
}
