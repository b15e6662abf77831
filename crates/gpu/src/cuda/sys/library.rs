//! Search for the libraries of the CUDA toolkit.
//!
//! The driver is installed with the GPU; NVRTC and cuBLAS come with a toolkit, or from pip or conda, in some major
//! version. A library newer than the driver produces programs that the driver rejects, so it is used only if there is
//! no other.

use super::hip;
use libloading::Library;
use mebridge_support::error::{Error, Result};
use mebridge_support::runtime::environment;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Environment variable with a folder that is searched first.
pub const FOLDER: &str = "MEBRIDGE_NVRTC";

/// Supported major versions of CUDA.
const MAJORS: std::ops::RangeInclusive<u32> = 12..=13;

/// A value that is searched for until it is found once, and then kept.
pub fn once<T>(
    found: &Mutex<Option<&'static T>>,
    look: impl FnOnce() -> Result<T>,
) -> Result<&'static T> {
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = *found {
        return Ok(found);
    }
    Ok(found.insert(Box::leak(Box::new(look()?))))
}

/// Loads the library with the file name `lib<name>.so.<major>`, for a driver with this CUDA major version, if known.
pub fn load(
    library: &'static str,
    name: &str,
    package: &str,
    driver: Option<u32>,
) -> Result<FoundLibrary> {
    let places = places();
    let groups = files(name, driver);
    for files in &groups {
        for place in &places {
            for file in files {
                let path = place.join(file);
                // Without a folder, the system's loader searches for the file.
                if !place.as_os_str().is_empty() && !path.is_file() {
                    continue;
                }
                load_neighbours(place, file);
                // SAFETY: initialisation of NVIDIA's library has no preconditions.
                if let Ok(file) = unsafe { Library::new(&path) } {
                    return Ok(FoundLibrary {
                        library,
                        package: Some(package.to_string()),
                        path,
                        file,
                    });
                }
            }
        }
    }
    let major = driver.unwrap_or(*MAJORS.end());
    let suffix = if major < 13 {
        format!("-cu{major}")
    } else {
        String::new()
    };
    let looked = places.iter().filter(|place| !place.as_os_str().is_empty());
    let looked: Vec<_> = looked.map(|place| place.display().to_string()).collect();
    Err(Error::GpuLibrary {
        library,
        package: format!("{package}{suffix}"),
        what: format!(
            "there is no {} among the system's libraries and those of LD_LIBRARY_PATH, nor in {}",
            groups.concat().join(" or "),
            if looked.is_empty() {
                "any known folder".to_string()
            } else {
                looked.join(", ")
            }
        ),
    })
}

/// Loads AMD's compiler.
pub fn hiprtc() -> Result<FoundLibrary> {
    load_amd("hiprtc", &hip::COMPILER)
}

/// Loads an AMD library from the first of these files that works.
pub fn load_amd(library: &'static str, files: &[&str]) -> Result<FoundLibrary> {
    let wrong = |what: String| Error::AmdLibrary { library, what };
    let (path, file) = hip::load(files).map_err(|error| wrong(error_message(&error)))?;
    Ok(FoundLibrary {
        library,
        package: None,
        path,
        file,
    })
}

/// Returns the error message of the system's loader.
pub fn error_message(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), |source| source.to_string())
}

/// Preloads the libraries that a library looks up by name but does not find next to itself if pip installed it:
/// `libnvrtc-builtins.so.13.0` for `libnvrtc.so.13`, `libcublasLt.so.13` for `libcublas.so.13`. The lookup finds
/// libraries that are already loaded.
fn load_neighbours(place: &Path, file: &str) {
    if place.as_os_str().is_empty() {
        return;
    }
    let neighbours = [
        ("libnvrtc.", "libnvrtc-builtins."),
        ("libcublas.", "libcublasLt."),
    ];
    for (name, neighbour) in neighbours {
        let Some(version) = file.strip_prefix(name) else {
            continue;
        };
        for path in entries(place, &format!("{neighbour}{version}")) {
            // SAFETY: as for the library itself. It is never unloaded.
            if let Ok(library) = unsafe { Library::new(&path) } {
                std::mem::forget(library);
            }
        }
    }
}

/// A loaded library.
pub struct FoundLibrary {
    library: &'static str,
    /// Name of its folder in pip packages, if any.
    package: Option<String>,
    /// Path of the file; without a folder if the system's loader found it.
    pub path: PathBuf,
    file: Library,
}

impl FoundLibrary {
    /// Looks up a function by name.
    ///
    /// # Safety
    /// `F` is the type of the function.
    pub unsafe fn get<F: Copy>(&self, name: &str) -> Result<F> {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.file.get::<F>(name) } {
            Ok(symbol) => Ok(*symbol),
            Err(error) => {
                let what = format!(
                    "{} does not serve: {}",
                    self.path.display(),
                    error_message(&error)
                );
                let library = self.library;
                Err(match self.package.clone() {
                    Some(package) => Error::GpuLibrary {
                        library,
                        package,
                        what,
                    },
                    None => Error::AmdLibrary { library, what },
                })
            }
        }
    }
}

/// Returns the file names, best first: versions that the driver supports, then later ones.
fn files(name: &str, driver: Option<u32>) -> [Vec<String>; 2] {
    let newest = driver.unwrap_or(0).max(*MAJORS.end());
    let (mut serves, mut later) = (Vec::new(), Vec::new());
    for major in (*MAJORS.start()..=newest).rev() {
        let file = format!("lib{name}.so.{major}");
        if driver.is_none_or(|driver| major <= driver) {
            serves.push(file);
        } else {
            later.push(file);
        }
    }
    serves.push(format!("lib{name}.so"));
    [serves, later]
}

/// Returns the folders to search, best first; the empty one stands for the system's loader.
fn places() -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(folder) = environment::variable(FOLDER).filter(|folder| !folder.is_empty()) {
        places.push(PathBuf::from(folder));
    }
    places.push(PathBuf::new());
    for name in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CONDA_PREFIX"] {
        if let Some(root) = environment::variable(name).filter(|root| !root.is_empty()) {
            add_root(&mut places, Path::new(&root));
        }
    }
    // The toolkit of the user's nvcc, and the packages of the user's python.
    if let Some(path) = environment::variable("PATH") {
        for bin in std::env::split_paths(&path).filter(|bin| bin.ends_with("bin")) {
            if let Some(root) = bin.parent() {
                add_root(&mut places, root);
            }
        }
    }
    for root in ["/usr/local/cuda", "/opt/cuda", "/usr/local", "/usr"] {
        add_root(&mut places, Path::new(root));
    }
    if let Some(home) = environment::variable("HOME") {
        add_root(&mut places, &Path::new(&home).join(".local"));
    }
    let mut known = Vec::new();
    places.retain(|place| {
        let new = !known.contains(place);
        known.push(place.clone());
        new
    });
    places
}

/// Returns the existing library folders of an installation that may contain CUDA libraries.
fn add_root(places: &mut Vec<PathBuf>, root: &Path) {
    for lib in ["lib64", "lib"] {
        let folder = root.join(lib);
        if !entries(&folder, "libnvrtc").is_empty() {
            places.push(folder);
        }
    }
    for python in entries(&root.join("lib"), "python3") {
        for packages in ["site-packages", "dist-packages"] {
            for package in entries(&python.join(packages).join("nvidia"), "") {
                let folder = package.join("lib");
                if folder.is_dir() {
                    places.push(folder);
                }
            }
        }
    }
}

/// Returns the entries of a folder whose names start with a prefix, sorted by name.
fn entries(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(begin))
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_newer_than_the_driver_comes_last() {
        let names = |driver| files("x", driver).map(|files| files.join(" "));
        assert_eq!(names(Some(12)), ["libx.so.12 libx.so", "libx.so.13"]);
        assert_eq!(names(Some(13)), ["libx.so.13 libx.so.12 libx.so", ""]);
        assert!(names(Some(14))[0].starts_with("libx.so.14 "));
        assert_eq!(names(None), ["libx.so.13 libx.so.12 libx.so", ""]);
    }

    #[test]
    fn packages_of_python_are_found() {
        let root = tempfile::tempdir().unwrap();
        let lib = root
            .path()
            .join("lib/python3.12/site-packages/nvidia/cu13/lib");
        std::fs::create_dir_all(&lib).unwrap();
        let mut places = Vec::new();
        add_root(&mut places, root.path());
        assert_eq!(places, [lib]);
        std::fs::write(root.path().join("lib/libnvrtc.so.12"), "").unwrap();
        places.clear();
        add_root(&mut places, root.path());
        assert_eq!(places[0], root.path().join("lib"));
    }

    #[test]
    fn a_library_that_is_not_there_is_named_with_the_cure() {
        let result = load("NOSUCH", "mebridge-none", "nvidia-none", Some(12));
        let message = result.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("NOSUCH"), "{message}");
        assert!(message.contains("libmebridge-none.so.12"), "{message}");
        assert!(
            message.contains("pip install nvidia-none-cu12"),
            "{message}"
        );
        assert!(message.contains("LD_LIBRARY_PATH"), "{message}");
    }
}
