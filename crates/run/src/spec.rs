//! The description of a run, which is shared by the command, Python, workers, packs and the folder of a run.

use crate::overweight::Overweight;
use crate::text::repr;
use mebridge::event_generator::ColorTreatment;
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The description of a run. In JSON, paths are strings and missing entries have their defaults.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// A directory that MG5aMC's `output madevent` wrote, a process file or folder, or the name of a process such as
    /// `p p > t t~`; several with `; add process` between them.
    pub process: String,
    /// The beams, scales and cuts.
    pub conditions: Conditions,
    /// The model, if the process is given by name: a file or a UFO folder, whose name may be followed by a scheme and a
    /// gauge.
    #[serde(default)]
    pub model: Option<PathBuf>,
    /// The parameter card (SLHA); by default that of the output or the model.
    #[serde(default)]
    pub param_card: Option<PathBuf>,
    /// Parameters that replace those of the card.
    #[serde(default)]
    pub parameters: SortedMap<String, f64>,
    /// Number of events; by default that of the run card, or 10 000.
    #[serde(default)]
    pub events: Option<u64>,
    /// Seed of the random numbers; by default that of the run card, or 1.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Relative error of the cross section that the survey must reach, if any.
    #[serde(default)]
    pub precision: Option<f64>,
    /// Largest share of the cross section in the excess of overweight events over the common weight.
    #[serde(default = "overweight")]
    pub overweight: f64,
    /// The treatment of overweight events.
    #[serde(default, rename = "overweights")]
    pub overweight_rule: Overweight,
    /// How colour is summed.
    #[serde(default)]
    pub color: ColorTreatment,
    /// Number of threads.
    #[serde(default = "one")]
    pub threads: usize,
    /// The devices that evaluate points: `cpu`, `cuda`, `hip`, or several GPUs such as `cuda:0`, `cuda:1`.
    #[serde(default = "cpu")]
    pub devices: Vec<String>,
    /// The further weights of events; by default those of the run card.
    #[serde(default)]
    pub systematics: Option<Vec<String>>,
}

/// Least value of `precision`, as no survey reaches a smaller error.
const FINEST: f64 = 1e-6;
/// Largest number of threads of a run.
pub const MAX_THREADS: usize = 1024;

impl Default for RunSpec {
    /// A run without a process, with MG5aMC's default run card.
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
            parameters: SortedMap::new(),
            events: None,
            seed: None,
            precision: None,
            overweight: overweight(),
            overweight_rule: Overweight::Keep,
            color: ColorTreatment::Auto,
            threads: one(),
            devices: cpu(),
            systematics: None,
        }
    }
}

impl RunSpec {
    /// Checks that numbers are within their limits.
    ///
    /// # Errors
    /// A number is not.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_THREADS).contains(&self.threads) {
            let cure = format!("it must be a whole number from 1 to {MAX_THREADS}");
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

    /// Returns the kind of the devices: `cpu`, `cuda` or `hip`.
    ///
    /// # Errors
    /// A device is unknown or named twice, the devices are of several kinds, or one of several has no number.
    pub fn backend(&self) -> Result<&str> {
        let wrong = |what: String, cure: &str| Error::run_at("device", what, cure);
        let mut devices = SortedSet::new();
        for name in &self.devices {
            let is = "it is \"cpu\", \"cuda\", \"cuda:1\", \"hip\", or a list of several GPUs of one kind";
            let device =
                device(name).ok_or_else(|| wrong(format!("there is no \"{name}\""), is))?;
            if !devices.insert(device) {
                let cure = match device.0 {
                    "cpu" => "threads= says how many a CPU has",
                    _ => "name each once",
                };
                return Err(wrong(format!("\"{name}\" is named twice"), cure));
            }
        }
        let kinds: SortedSet<&str> = devices.iter().map(|device| device.0).collect();
        let several = devices.len() > 1;
        match kinds.first() {
            Some(&kind) if kinds.len() == 1 => {
                if several && devices.iter().any(|device| device.1.is_none()) {
                    let what = format!("\"{kind}\" in a list of several has no number");
                    let cure = format!("number all of them, \"{kind}:0\", \"{kind}:1\"");
                    return Err(wrong(what, &cure));
                }
                Ok(kind)
            }
            Some(_) => Err(wrong(
                "they are of several kinds".to_owned(),
                "name GPUs of one kind",
            )),
            None => Err(wrong(
                "none is named".to_owned(),
                "\"cpu\" is the processor",
            )),
        }
    }

    /// Returns the numbers of the GPUs in the format of `CUDACPP_RUNTIME_DEVICE`; `None` if no device has a number.
    pub fn gpus(&self) -> Option<String> {
        let numbers = self.devices.iter().map(|name| device(name)?.1);
        let numbers: Option<Vec<String>> = numbers.map(|of| Some(of?.to_string())).collect();
        numbers.map(|numbers| numbers.join(","))
    }
}

/// The kind of a device and its number, if it has one; `None` if there is no such device.
fn device(name: &str) -> Option<(&str, Option<usize>)> {
    match name.split_once(':') {
        None => ["cpu", "cuda", "hip"]
            .contains(&name)
            .then_some((name, None)),
        Some((kind, number)) => {
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            let is_gpu = ["cuda", "hip"].contains(&kind);
            (is_number && is_gpu).then_some((kind, Some(number.parse().ok()?)))
        }
    }
}

/// The beams, scales and cuts of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Conditions {
    /// Those of a run card.
    RunCard {
        /// The card; by default that of the output, or MG5aMC's default.
        #[serde(default)]
        file: Option<PathBuf>,
        /// Entries that replace those of the card, with values as in a card.
        #[serde(default)]
        changed: Vec<(String, String)>,
        /// Whether to accept an output in which the Fortran for cuts or scales was changed.
        #[serde(default)]
        changed_files: bool,
        /// For a process given by name, the folder with the grids of `nn23lo1` and others: an output, or MG5aMC's
        /// folder.
        #[serde(default)]
        pdf_data: Option<PathBuf>,
        /// For a process given by name, the parent folder of `Events`; by default the working directory.
        #[serde(default)]
        folder: Option<PathBuf>,
    },
    /// Those that the caller states.
    Stated {
        /// Energy of both beams in their centre of mass, GeV.
        energy: f64,
        /// Densities of two protons: a member of an LHAPDF set, the set's folder, or its name.
        #[serde(default)]
        pdf: Option<String>,
        /// A constant strong coupling; by default that of the densities, or of the process.
        #[serde(default)]
        alpha_s: Option<f64>,
        /// The scales of events.
        #[serde(default)]
        scale: Option<ScaleChoice>,
        /// Factor of a dynamical scale.
        #[serde(default = "unit")]
        scale_factor: f64,
        /// Cuts by name: `pt`, `etal`, `drjj`, ...
        #[serde(default)]
        cuts: SortedMap<String, f64>,
    },
}

/// Scales of renormalisation and factorisation.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ScaleChoice {
    /// A fixed scale, GeV.
    Fixed(f64),
    /// A dynamical scale: `et`, `ht`, `ht/2` or `shat`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_several_gpus_or_one_of_any_kind() {
        let spec = |devices: &[&str]| RunSpec {
            devices: devices.iter().map(|&name| name.to_owned()).collect(),
            ..RunSpec::default()
        };
        for (devices, kind, numbers) in [
            (&["cpu"][..], "cpu", None),
            (&["hip"], "hip", None),
            (&["cuda:3"], "cuda", Some("3")),
            (&["cuda:1", "cuda:0"], "cuda", Some("1,0")),
        ] {
            let spec = spec(devices);
            let numbers = numbers.map(str::to_owned);
            assert_eq!((spec.backend().unwrap(), spec.gpus()), (kind, numbers));
        }
        for (devices, wrong) in [
            (&[][..], "device: none is named"),
            (
                &["cuda:"],
                "device: there is no \"cuda:\"; it is \"cpu\", \"cuda\"",
            ),
            (
                &["cpu:3"],
                "device: there is no \"cpu:3\"; it is \"cpu\", \"cuda\"",
            ),
            (&["cuda:-1"], "there is no \"cuda:-1\""),
            (&["cuda", "hip"], "they are of several kinds"),
            (&["cuda:0", "cuda:00"], "\"cuda:00\" is named twice"),
            (&["cpu", "cpu"], "\"cpu\" is named twice; threads= says"),
            (
                &["cuda", "cuda:1"],
                "\"cuda\" in a list of several has no number; number all of them, \"cuda:0\"",
            ),
        ] {
            let error = spec(devices).backend().unwrap_err().to_string();
            assert!(error.contains(wrong), "{devices:?}: {error}");
        }
    }
}
