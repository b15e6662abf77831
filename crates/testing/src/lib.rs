//! Code shared by several tests: locations of external data, and the reference files.

use mebridge_backend::events::Events;
use std::path::PathBuf;

pub mod compiler;
#[cfg(unix)]
pub mod hip;
pub mod random_routines;
pub mod require;
pub mod sample_routines;

/// Text of a model with gluons, a quark `u` and the scalars `s` and `r` in its colour representation.
pub const SCALAR_QCD: &str = include_str!("scalar_qcd.toml");

/// Returns the folder of the whole project.
pub fn root() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the project's folder")
}

/// Returns the folder named by a variable, unless the variable is empty.
fn named(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// Returns the folder of real MG5aMC outputs (`*.mad`), from `MEBRIDGE_MG5_OUTPUTS`.
pub fn mg5_outputs() -> Option<PathBuf> {
    let Some(path) = named("MEBRIDGE_MG5_OUTPUTS") else {
        require::skipped(
            "outputs",
            "set MEBRIDGE_MG5_OUTPUTS to the folder that holds the *.mad outputs",
        );
        return None;
    };
    let entries = std::fs::read_dir(&path).expect("MEBRIDGE_MG5_OUTPUTS names a folder");
    let outputs = entries.flatten().map(|entry| entry.path());
    let outputs = outputs.filter(|output| output.join("SubProcesses").is_dir());
    let outputs = require::cases(
        format_args!("outputs in {}", path.display()),
        outputs.collect(),
    );
    require::used(
        "outputs",
        format_args!("{} of {}", outputs.len(), path.display()),
    );
    Some(path)
}

/// Returns the folder of MG5aMC's models (its `models`), from `MEBRIDGE_MG5_MODELS`.
pub fn mg5_models() -> Option<PathBuf> {
    let Some(path) = named("MEBRIDGE_MG5_MODELS") else {
        require::skipped(
            "models",
            "set MEBRIDGE_MG5_MODELS to the folder `models` of MG5aMC",
        );
        return None;
    };
    assert!(
        path.join("sm/vertices.py").is_file(),
        "MEBRIDGE_MG5_MODELS has no sm/vertices.py"
    );
    require::used("models", path.display());
    Some(path)
}

/// Returns the folder of reference files, from `MEBRIDGE_REFERENCE` or next to the project.
pub fn reference_folder() -> Option<PathBuf> {
    let named = named("MEBRIDGE_REFERENCE");
    let beside = root().join("../shared/reference");
    // A named folder must exist.
    if named.is_some() || beside.is_dir() {
        return Some(named.unwrap_or(beside));
    }
    require::skipped(
        "reference",
        "no reference files (set MEBRIDGE_REFERENCE to their folder)",
    );
    None
}

/// Whether gfortran is installed; reports a skipped test if not.
pub fn gfortran() -> bool {
    let output = std::process::Command::new("gfortran")
        .arg("--version")
        .output();
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            require::used("fortran", text.lines().next().unwrap_or_default());
            true
        }
        _ => {
            require::skipped("fortran", "there is no gfortran");
            false
        }
    }
}

/// One reference file of an MG5aMC directory.
pub struct Reference {
    /// Names of output and P directory.
    pub name: String,
    /// Its P directory, or its process file.
    pub directory: PathBuf,
    /// Number of helicities that contribute.
    pub good_helicities: usize,
    /// `[event][leg][component]`.
    pub momenta: Vec<f64>,
    /// `[event]`, like the following fields.
    pub g_s: Vec<f64>,
    /// Random numbers for the choice of helicity.
    pub random_helicity: Vec<f64>,
    /// The same for colour.
    pub random_color: Vec<f64>,
    /// Channels.
    pub channels: Vec<i32>,
    /// The matrix element without a channel.
    pub plain: Vec<f64>,
    /// The helicity chosen without a channel.
    pub plain_helicity: Vec<i32>,
    /// The matrix element in its channel.
    pub weighted: Vec<f64>,
    /// The helicity chosen in the channel.
    pub weighted_helicity: Vec<i32>,
    /// The colour flow chosen in the channel.
    pub color: Vec<i32>,
}

impl Reference {
    /// Returns its events, with or without their channels.
    pub fn events(&self, channels: bool) -> Events<'_> {
        Events {
            momenta: &self.momenta,
            g_s: &self.g_s,
            random_helicity: &self.random_helicity,
            random_color: &self.random_color,
            channels: channels.then_some(&self.channels),
            igraph: None,
        }
    }
}

/// Returns all reference files whose MG5aMC directory exists; `None` if anything is missing.
pub fn references() -> Option<Vec<Reference>> {
    let outputs = mg5_outputs()?;
    references_of(|output, subprocess| {
        let output = outputs.join(format!("{output}.mad"));
        output.join("SubProcesses").join(subprocess)
    })
}

/// The same with process files instead of directories, if `MEBRIDGE_PROCESSES` names a folder of `<output>.<P
/// directory>.mebridge`.
pub fn references_of_files() -> Option<Vec<Reference>> {
    let Some(folder) = std::env::var_os("MEBRIDGE_PROCESSES").map(PathBuf::from) else {
        return references();
    };
    references_of(|output, subprocess| folder.join(format!("{output}.{subprocess}.mebridge")))
}

/// Returns all reference files; `place` gives the path of a process from the names of its output and P directory.
fn references_of(place: impl Fn(&str, &str) -> PathBuf) -> Option<Vec<Reference>> {
    let folder = reference_folder()?;
    let mut names: Vec<String> = std::fs::read_dir(folder.clone())
        .expect("reference folder")
        .map(|e| e.expect("entry").file_name().into_string().expect("name"))
        .filter(|n| n.ends_with(".dat") && n.contains(".P"))
        .collect();
    names.sort();
    let names = require::cases(
        format_args!("reference files in {}", folder.display()),
        names,
    );
    require::used(
        "reference",
        format_args!("{} of {}", names.len(), folder.display()),
    );
    Some(
        names
            .into_iter()
            .map(|name| {
                let text = std::fs::read_to_string(folder.join(&name)).expect("reference file");
                let stem = name.trim_end_matches(".dat");
                let (output, subprocess) = stem.split_once('.').expect("<output>.<P directory>");
                parse(stem.to_owned(), place(output, subprocess), &text)
            })
            .collect(),
    )
}

/// Returns a reference file by its name; reports a skipped test if it is missing.
pub fn one_of<'a>(references: &'a [Reference], name: &str) -> Option<&'a Reference> {
    let found = references.iter().find(|r| r.name == name);
    if found.is_none() {
        require::skipped("reference", format_args!("no reference file {name}.dat"));
    }
    found
}

/// Returns a reference file for a given P directory; `None` if it does not exist.
pub fn reference(stem: &str, directory: PathBuf) -> Option<Reference> {
    let path = reference_folder()?.join(format!("{stem}.dat"));
    require::used("reference", path.display());
    let text = std::fs::read_to_string(path).expect("reference file");
    Some(parse(stem.to_owned(), directory, &text))
}

fn parse(name: String, directory: PathBuf, text: &str) -> Reference {
    let mut r = Reference {
        name,
        directory,
        good_helicities: 0,
        momenta: vec![],
        g_s: vec![],
        random_helicity: vec![],
        random_color: vec![],
        channels: vec![],
        plain: vec![],
        plain_helicity: vec![],
        weighted: vec![],
        weighted_helicity: vec![],
        color: vec![],
    };
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("# goodhel ") {
            let count = header.split(' ').next().expect("count");
            r.good_helicities = count.parse().expect("number of good helicities");
        }
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        let numbers: Vec<f64> = line
            .split_whitespace()
            .map(|x| x.parse().expect("number"))
            .collect();
        let (p, rest) = numbers.split_at(numbers.len() - 9);
        r.momenta.extend(p);
        r.g_s.push(rest[0]);
        r.random_helicity.push(rest[1]);
        r.random_color.push(rest[2]);
        r.channels.push(rest[3] as i32);
        r.plain.push(rest[4]);
        r.plain_helicity.push(rest[5] as i32);
        r.weighted.push(rest[6]);
        r.weighted_helicity.push(rest[7] as i32);
        r.color.push(rest[8] as i32);
    }
    r
}

/// Returns the largest relative difference; infinite if lengths differ or a value is NaN.
pub fn worst(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let each = a.iter().zip(b).map(|(a, b)| match a == b {
        true => 0.0,
        false => ((a - b) / b).abs(),
    });
    each.fold(
        0.0,
        |w: f64, x| if x.is_nan() { f64::INFINITY } else { w.max(x) },
    )
}
