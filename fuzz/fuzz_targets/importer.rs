//! The P directory of g g > t t~ that comes with the source, with one of its files replaced: the first byte of
//! the input says which, the rest is what is in it. It is refused, or what is imported is evaluated.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/common/damaged.rs"]
mod damaged;

use libfuzzer_sys::fuzz_target;
use mebridge::import::import_directory;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const OUTPUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fortran/gg_ttx");
const P: &str = "SubProcesses/P1_gg_ttx";
/// In the order of the seeds that `fuzz/seeds.sh` makes.
const FILES: [&str; 12] = [
    "SubProcesses/P1_gg_ttx/matrix1.f",
    "SubProcesses/P1_gg_ttx/coloramps.inc",
    "SubProcesses/P1_gg_ttx/leshouche.inc",
    "SubProcesses/P1_gg_ttx/config_subproc_map.inc",
    "Source/DHELAS/aloha_functions.f",
    "Source/DHELAS/FFV1_0.f",
    "Source/DHELAS/VVV1P0_1.f",
    "Source/MODEL/couplings.f",
    "Source/MODEL/couplings1.f",
    "Source/MODEL/intparam_definition.inc",
    "Cards/param_card.dat",
    "Cards/ident_card.dat",
];

/// A copy of the output, and which of its files is not as it was.
struct Copy {
    root: PathBuf,
    changed: Option<&'static str>,
    _folder: tempfile::TempDir,
}

static COPY: Mutex<Option<Copy>> = Mutex::new(None);

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => _ = fs::copy(entry.path(), target).expect("a file"),
        }
    }
}

impl Copy {
    fn new() -> Copy {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().to_owned();
        copy(Path::new(OUTPUT), &root);
        for file in FILES {
            assert!(root.join(file).is_file(), "{file}");
        }
        Copy {
            root,
            changed: None,
            _folder: folder,
        }
    }

    /// The P directory with these contents of one file.
    fn with(&mut self, file: &'static str, contents: &[u8]) -> PathBuf {
        if let Some(before) = self.changed.filter(|&before| before != file) {
            fs::copy(Path::new(OUTPUT).join(before), self.root.join(before)).expect("a file");
        }
        self.changed = Some(file);
        fs::write(self.root.join(file), contents).expect("a file");
        self.root.join(P)
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&which, contents)) = data.split_first() else {
        return;
    };
    let mut copy = COPY.lock().unwrap_or_else(PoisonError::into_inner);
    let copy = copy.get_or_insert_with(Copy::new);
    let file = FILES[usize::from(which) % FILES.len()];
    let Ok(processes) = import_directory(&copy.with(file, contents)) else {
        return;
    };
    for process in processes {
        if let Some(momenta) = damaged::momenta(&process) {
            damaged::evaluate(process, &momenta);
        }
    }
});
