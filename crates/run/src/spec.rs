//! What a run is: one description, as the command, Python, workers, packs and the folder of a run have it.

use crate::overweight::Overweight;
use crate::text::repr;
use mebridge::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A run. In JSON, paths are texts and what is left out has its default.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// A directory that MG5aMC's `output madevent` wrote, a process file or folder, or the name of a process such as
    /// `p p > t t~`; several with `; add process` between them.
    pub process: String,
    /// What holds for its events.
    pub conditions: Conditions,
    /// The model of a process by its name: a file or a UFO folder, with what follows its name for a scheme and a gauge.
    #[serde(default)]
    pub model: Option<PathBuf>,
    /// The parameter card (SLHA); that of the output, or of the model, where it is left out.
    #[serde(default)]
    pub param_card: Option<PathBuf>,
    /// Parameters with other values than in the card.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// How many events to make; those of the run card, or 10 000, where it is left out.
    #[serde(default)]
    pub events: Option<u64>,
    /// Of the random numbers; that of the run card, or 1.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The relative error of the cross section to which the mappings are adapted.
    #[serde(default)]
    pub precision: Option<f64>,
    /// The share of the cross section, at most, by which weights of events may be larger than those of the others.
    #[serde(default = "overweight")]
    pub overweight: f64,
    /// What becomes of those.
    #[serde(default)]
    pub overweights: Overweight,
    /// Threads.
    #[serde(default = "one")]
    pub threads: usize,
    /// What weighs points: `cpu`, `cuda`, `hip`, or several GPUs such as `cuda:0`, `cuda:1`.
    #[serde(default = "cpu")]
    pub devices: Vec<String>,
    /// Which further weights events have; what the run card says where it is left out.
    #[serde(default)]
    pub systematics: Option<Vec<String>>,
}

/// The least relative error of a cross section to which mappings are adapted: no survey ends with less.
const FINEST: f64 = 1e-6;
/// Threads of a run, at most.
pub const MOST_THREADS: usize = 1024;

impl Default for RunSpec {
    /// One of nothing yet, by a run card.
    fn default() -> Self {
        RunSpec {
            process: String::new(),
            conditions: Conditions::RunCard {
                file: None,
                changed: Vec::new(),
                changed_files: false,
                pdf_data: None,
                folder: None,
            },
            model: None,
            param_card: None,
            parameters: BTreeMap::new(),
            events: None,
            seed: None,
            precision: None,
            overweight: overweight(),
            overweights: Overweight::Keep,
            threads: one(),
            devices: cpu(),
            systematics: None,
        }
    }
}

impl RunSpec {
    /// That its numbers are some that a run can have.
    ///
    /// # Errors
    /// One is not.
    pub fn check(&self) -> Result<()> {
        if !(1..=MOST_THREADS).contains(&self.threads) {
            let cure = format!("it must be a whole number from 1 to {MOST_THREADS}");
            return Err(Error::run(format!("threads is {}", self.threads), cure));
        }
        let numbers = [
            ("precision", self.precision, FINEST),
            ("overweight", Some(self.overweight), 0.0),
        ];
        for (name, number, least) in numbers {
            if let Some(number) = number.filter(|number| !(least..1.0).contains(number)) {
                let what = format!("{name} is {}", repr(number));
                let cure = format!("it must be a number from {least} on and below 1");
                return Err(Error::run(what, cure));
            }
        }
        Ok(())
    }

    /// What weighs points: `cpu`, `cuda` or `hip`.
    ///
    /// # Errors
    /// A device is none of these, is named twice, or they are of several kinds.
    pub fn backend(&self) -> Result<&str> {
        let wrong = |what: &str, cure: &str| Error::run_at("device", what, cure);
        let kinds: BTreeSet<&str> = self.devices.iter().map(|name| kind(name)).collect();
        let known = |name: &String| {
            let (kind, number) = name.split_once(':').unwrap_or((name, ""));
            let digits = number.bytes().all(|byte| byte.is_ascii_digit());
            ["cpu", "cuda", "hip"].contains(&kind) && digits
        };
        if kinds.len() != 1 || !self.devices.iter().all(known) {
            let what = "it is \"cpu\", \"cuda\", \"cuda:1\", \"hip\", or a list of several GPUs of one kind";
            return Err(wrong(what, ""));
        }
        let each: BTreeSet<&String> = self.devices.iter().collect();
        if each.len() < self.devices.len() || (kinds.contains("cpu") && self.devices != ["cpu"]) {
            return Err(wrong(
                "one is named twice",
                "threads= says how many a CPU has",
            ));
        }
        Ok(kind(&self.devices[0]))
    }

    /// Numbers of GPUs as `CUDACPP_RUNTIME_DEVICE` has them; none where all of them have no number.
    pub fn gpus(&self) -> Option<String> {
        let numbers = self
            .devices
            .iter()
            .map(|name| name.split_once(':').map(|of| of.1));
        let numbers: Option<Vec<&str>> = numbers.collect();
        numbers.map(|numbers| numbers.join(","))
    }
}

fn kind(device: &str) -> &str {
    device.split(':').next().unwrap_or(device)
}

/// What holds for the events of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Conditions {
    /// What a run card says.
    RunCard {
        /// The card; that of the output, or MG5aMC's defaults, where it is left out.
        #[serde(default)]
        file: Option<PathBuf>,
        /// Entries with other values, as a card has them.
        #[serde(default)]
        changed: Vec<(String, String)>,
        /// Whether to go on where Fortran that cuts or sets scales is not as MG5aMC wrote it.
        #[serde(default)]
        changed_files: bool,
        /// Of a process by its name, where grids of `nn23lo1` and others are: an output, or MG5aMC's folder.
        #[serde(default)]
        pdf_data: Option<PathBuf>,
        /// Of a process by its name, the folder where `Events` is; the working directory where it is left out.
        #[serde(default)]
        folder: Option<PathBuf>,
    },
    /// What a caller says.
    Stated {
        /// Of both beams together in their rest frame, GeV.
        energy: f64,
        /// Densities of two protons: a member of a set of LHAPDF, the set's folder, or its name.
        #[serde(default)]
        pdf: Option<String>,
        /// The strong coupling at all scales; otherwise that of the densities, or of the process.
        #[serde(default)]
        alpha_s: Option<f64>,
        /// The scales of events.
        #[serde(default)]
        scale: Option<ScaleChoice>,
        /// What multiplies a scale that is not a number.
        #[serde(default = "unit")]
        scale_factor: f64,
        /// Cuts by name: `pt`, `etal`, `drjj`, ...
        #[serde(default)]
        cuts: BTreeMap<String, f64>,
    },
}

/// Scales of renormalisation and factorisation.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ScaleChoice {
    /// GeV.
    Fixed(f64),
    /// `et`, `ht`, `ht/2` or `shat`.
    Dynamical(String),
}

fn overweight() -> f64 {
    0.01
}

fn one() -> usize {
    1
}

fn unit() -> f64 {
    1.0
}

fn cpu() -> Vec<String> {
    vec!["cpu".to_owned()]
}
