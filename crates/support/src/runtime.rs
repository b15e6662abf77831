//! The switches that a user sets in the environment, `CUDACPP_RUNTIME_*`.
//!
//! They are read into [`Switches`] when a bridge is created. The prefix and the older names are those of the CUDACPP
//! plugin, so that users' scripts keep working. As there, an empty value means "not set". An unknown name with this
//! prefix is an error, because a misspelt switch that is silently ignored leads to wrong numbers.

pub mod environment;

use crate::error::{Error, Result};
use crate::message;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Once;

/// Prefix of all names.
pub const PREFIX: &str = "CUDACPP_RUNTIME_";

/// The switch that [`check_mode`] reads.
const FBRIDGEMODE: &str = "FBRIDGEMODE";

/// A switch.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Its name without [`PREFIX`].
    pub name: &'static str,
    /// Allowed values.
    pub values: &'static str,
    /// Its effect, in one line.
    pub meaning: &'static str,
}

/// Allowed values of a boolean switch.
const ON_OFF: &str = "on or off (0 and no are off, anything else is on)";

/// All known switches, including those read by other programs.
pub const SWITCHES: &[Switch] = &[
    Switch {
        name: "PROCESS",
        values: "a .mebridge file, a P directory or a process (g g > t t~); append #n for its n-th matrix element",
        meaning: "which process to evaluate",
    },
    Switch {
        name: "MODEL",
        values: "a model file or a UFO folder; append -X for its restrict_X.dat, -full for no restriction",
        meaning: "model of processes that are generated (the Standard Model if not set)",
    },
    Switch {
        name: "PARAMCARD",
        values: "a file",
        meaning: "parameter card to use instead of the directory's Cards/param_card.dat",
    },
    Switch {
        name: "BACKEND",
        values: "auto, cpu, cuda or hip",
        meaning: "which engine evaluates; auto takes a GPU if there is one and calls are large enough for it, else the CPU",
    },
    Switch {
        name: "SIMD",
        values: "auto, none, sse4, avx2, 512y or 512z",
        meaning: "SIMD level; auto takes the best that the CPU has",
    },
    Switch {
        name: "FPTYPE",
        values: "d, m or f",
        meaning: "double, mixed (double amplitudes, single colour sum) or single precision",
    },
    Switch {
        name: "THREADS",
        values: "a number from 1 to 1024",
        meaning: "CPU threads of one bridge (1 if not set)",
    },
    Switch {
        name: "DEVICE",
        values: "a number from 0, several such as 0,1, or all",
        meaning: "GPUs of one bridge (one by the local rank of the job if not set)",
    },
    Switch {
        name: "GOODHELICITIES",
        values: "ALL or AUTO",
        meaning: "ALL keeps the helicities whose contribution vanishes",
    },
    Switch {
        name: "IGRAPH",
        values: "auto, yes or no",
        meaning: "whether the Fortran caller passes the igraph argument (MG5aMC 3.7 and later do)",
    },
    Switch {
        name: "CACHE",
        values: "a directory, off, check or check:DIRECTORY",
        meaning: "where processes and plans are cached (the user's cache if not set); check recomputes the cached ones and compares",
    },
    Switch {
        name: "VECSIZEUSED",
        values: "a number",
        meaning: "events of one call; read by MadEvent itself, not by mebridge",
    },
    Switch {
        name: FBRIDGEMODE,
        values: "0, 1, -1 or -2",
        meaning: "Fortran, bridge or both; read by MadEvent with the plugin. Executables of `mebridge link`: below 0 for both",
    },
    Switch {
        name: "BLASCOLORSUM",
        values: ON_OFF,
        meaning: "colour sum on a GPU by cuBLAS (by size if not set)",
    },
    Switch {
        name: "CUBLASTF32TENSOR",
        values: ON_OFF,
        meaning: "TF32 in cuBLAS, for colour sums in single precision on a GPU",
    },
    Switch {
        name: "GPUGRAPHS",
        values: ON_OFF,
        meaning: "each evaluation on a GPU as one CUDA graph",
    },
    Switch {
        name: "GPUMEMORY",
        values: "a number above 0 and up to 1",
        meaning: "share of the free memory of a GPU that one bridge may take (0.9 if not set)",
    },
    Switch {
        name: "GPUGROUP",
        values: "a number from 0",
        meaning: "operations in one group of code generated for a GPU; 0: no generated code",
    },
    Switch {
        name: "GPUFUNCTIONS",
        values: ON_OFF,
        meaning: "groups as functions of one kernel on a GPU, not as kernels of their own",
    },
    Switch {
        name: "GPUTUNE",
        values: ON_OFF,
        meaning: "threads of a block on a GPU by the times of the first large launches (on if not set)",
    },
    Switch {
        name: "AMP2",
        values: ON_OFF,
        meaning: "output 1 of UMAMI (on if not set); off: not written, for channel weights by propagators",
    },
    Switch {
        name: "FLOWS",
        values: ON_OFF,
        meaning: "outputs 2 and 4 of UMAMI (on if not set); off: not written, for samplers that draw them for accepted events only",
    },
    Switch {
        name: "HARMLESSCALLS",
        values: "names of Fortran subroutines, with commas between them",
        meaning: "calls whose source is missing and that do not change the result (timers, prints)",
    },
    Switch {
        name: "VERBOSE",
        values: ON_OFF,
        meaning: "a line on stderr that says which process, card and engine a program uses (off if not set)",
    },
    Switch {
        name: "ENABLEFPE",
        values: "any",
        meaning: "floating-point exceptions of the plugin's own programs, not used by mebridge",
    },
];

/// The engine that evaluates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The best one available.
    #[default]
    Auto,
    /// The SIMD engine.
    Cpu,
    /// NVIDIA GPUs.
    Cuda,
    /// AMD GPUs.
    Hip,
}

/// The GPUs of a bridge, see `gpu::choose`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// One, by the local rank of the job.
    #[default]
    Auto,
    /// These, counted from 0; at least one, without repetition.
    These(Vec<usize>),
    /// All GPUs that the process sees.
    All,
}

impl Devices {
    /// Reads the value of `DEVICE`.
    fn parse(word: &str) -> Option<Devices> {
        if word == "all" {
            return Some(Devices::All);
        }
        let mut devices = Vec::new();
        for number in word.split(',') {
            let device = number.trim().parse().ok()?;
            if devices.contains(&device) {
                return None;
            }
            devices.push(device);
        }
        Some(Devices::These(devices))
    }
}

/// Floating-point precision, the plugin's `FPTYPE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// `d`: double precision throughout.
    #[default]
    Double,
    /// `m`: amplitudes in double precision, the colour sum in single.
    Mixed,
    /// `f`: single precision throughout.
    Float,
}

impl Precision {
    /// Returns its letter.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Double => "d",
            Precision::Mixed => "m",
            Precision::Float => "f",
        }
    }
}

/// Whether the Fortran caller passes `igraph`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Igraph {
    /// As the process specifies; with igraph if it does not.
    #[default]
    Auto,
    /// It does: MG5aMC 3.7 and later.
    Yes,
    /// It does not: MG5aMC up to 3.6.
    No,
}

/// Where imported processes and plans are cached, see `cache`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CachePlace {
    /// No cache.
    #[default]
    Off,
    /// In the user's cache: `$XDG_CACHE_HOME/mebridge` or `~/.cache/mebridge`.
    User,
    /// In this directory.
    Folder(PathBuf),
    /// In this directory or the user's cache, whose contents are not used but recomputed and compared.
    Check(Option<PathBuf>),
}

/// The source of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessChoice {
    /// A process file or a directory that MG5aMC wrote.
    pub path: PathBuf,
    /// The n-th, from 1, of its `matrix<i>.f` in the order of their numbers.
    pub element: Option<usize>,
}

impl ProcessChoice {
    /// Reads `path` or `path#n`.
    pub fn parse(value: impl Into<OsString>) -> ProcessChoice {
        let value = value.into();
        if let Some((path, number)) = value.to_str().and_then(|v| v.rsplit_once('#'))
            && let Ok(element @ 1..) = number.parse()
            && !path.is_empty()
        {
            return ProcessChoice {
                path: path.into(),
                element: Some(element),
            };
        }
        ProcessChoice {
            path: value.into(),
            element: None,
        }
    }
}

/// All switches that concern mebridge, with their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Switches {
    /// `PROCESS`.
    pub process: Option<ProcessChoice>,
    /// `MODEL`.
    pub model: Option<PathBuf>,
    /// `PARAMCARD`.
    pub param_card: Option<PathBuf>,
    /// `BACKEND`.
    pub backend: BackendChoice,
    /// `SIMD`: the name of a level, or `None` for the best.
    pub simd: Option<String>,
    /// `FPTYPE`.
    pub precision: Precision,
    /// `THREADS`.
    pub threads: usize,
    /// `DEVICE`.
    pub device: Devices,
    /// `GOODHELICITIES=ALL`.
    pub good_helicities_all: bool,
    /// `IGRAPH`.
    pub igraph: Igraph,
    /// `BLASCOLORSUM`.
    pub blas_color_sum: Option<bool>,
    /// `CUBLASTF32TENSOR`.
    pub tf32: Option<bool>,
    /// `GPUGRAPHS`.
    pub gpu_graphs: Option<bool>,
    /// `GPUMEMORY`.
    pub gpu_memory: Option<f64>,
    /// `GPUGROUP`.
    pub gpu_group: Option<usize>,
    /// `GPUFUNCTIONS`.
    pub gpu_functions: Option<bool>,
    /// `GPUTUNE`.
    pub gpu_tune: Option<bool>,
    /// `AMP2`.
    pub amp2: bool,
    /// `FLOWS`.
    pub flows: bool,
    /// `VERBOSE`.
    pub verbose: bool,
    /// `HARMLESSCALLS`, in upper case.
    pub harmless_calls: Vec<String>,
    /// `CACHE`. Switches from the environment or the C interface use the user's cache by default; [`Switches::default`]
    /// has none.
    pub cache: CachePlace,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches {
            process: None,
            model: None,
            param_card: None,
            backend: BackendChoice::default(),
            simd: None,
            precision: Precision::default(),
            threads: 1,
            device: Devices::default(),
            good_helicities_all: false,
            igraph: Igraph::default(),
            blas_color_sum: None,
            tf32: None,
            gpu_graphs: None,
            gpu_memory: None,
            gpu_group: None,
            gpu_functions: None,
            gpu_tune: None,
            amp2: true,
            flows: true,
            verbose: false,
            harmless_calls: Vec::new(),
            cache: CachePlace::default(),
        }
    }
}

impl Switches {
    /// Reads the switches from the environment; in a program with more privileges than its caller there are none
    /// ([`environment`]).
    pub fn from_env() -> Result<Switches> {
        static WARN_ONCE: Once = Once::new();
        let is_switch =
            |(name, _): (OsString, OsString)| name.to_string_lossy().starts_with(PREFIX);
        if environment::has_more_rights() && std::env::vars_os().any(is_switch) {
            WARN_ONCE.call_once(|| {
                message::say(format!(
                    "this program runs with more rights than who called it (set-user-id): {PREFIX}* is not looked at"
                ));
            });
        }
        Switches::from_pairs(environment::variables())
    }

    /// Reads the switches from pairs of names and values. Names without the prefix are ignored.
    pub fn from_pairs<I, K, V>(pairs: I) -> Result<Switches>
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let mut switches = Switches {
            cache: CachePlace::User,
            ..Switches::default()
        };
        for (name, value) in pairs {
            let name = name.into();
            let name = name.to_string_lossy();
            if let Some(name) = name.strip_prefix(PREFIX) {
                switches.set(name, value.into())?;
            }
        }
        Ok(switches)
    }

    /// Sets one switch; `name` is without [`PREFIX`].
    pub fn set(&mut self, name: &str, value: OsString) -> Result<()> {
        let Some(switch) = SWITCHES.iter().find(|s| s.name == name) else {
            return Err(Error::UnknownSwitch {
                name: format!("{PREFIX}{name}"),
                hint: hint(name),
            });
        };
        if value.is_empty() {
            return Ok(());
        }
        let word = value.to_string_lossy().trim().to_ascii_lowercase();
        let bad = || bad_value(switch, value.to_string_lossy());
        match name {
            "PROCESS" => self.process = Some(ProcessChoice::parse(value)),
            "MODEL" => self.model = Some(value.into()),
            "PARAMCARD" => self.param_card = Some(value.into()),
            "BACKEND" => {
                self.backend = match word.as_str() {
                    "auto" => BackendChoice::Auto,
                    "cpu" => BackendChoice::Cpu,
                    "cuda" => BackendChoice::Cuda,
                    "hip" => BackendChoice::Hip,
                    _ => return Err(bad()),
                };
            }
            "SIMD" => {
                self.simd = match word.as_str() {
                    "auto" => None,
                    "none" | "sse4" | "avx2" | "512y" | "512z" => Some(word),
                    _ => return Err(bad()),
                }
            }
            "FPTYPE" => {
                self.precision = match word.as_str() {
                    "d" => Precision::Double,
                    "m" => Precision::Mixed,
                    "f" => Precision::Float,
                    _ => return Err(bad()),
                }
            }
            "THREADS" => match word.parse() {
                Ok(n @ 1..=1024) => self.threads = n,
                _ => return Err(bad()),
            },
            "DEVICE" => self.device = Devices::parse(&word).ok_or_else(bad)?,
            "GOODHELICITIES" => {
                self.good_helicities_all = match word.as_str() {
                    "all" => true,
                    "auto" => false,
                    _ => return Err(bad()),
                }
            }
            "IGRAPH" => {
                self.igraph = match word.as_str() {
                    "auto" => Igraph::Auto,
                    "yes" => Igraph::Yes,
                    "no" => Igraph::No,
                    _ => return Err(bad()),
                }
            }
            "BLASCOLORSUM" => self.blas_color_sum = Some(on(&word)),
            "CUBLASTF32TENSOR" => self.tf32 = Some(on(&word)),
            "GPUGRAPHS" => self.gpu_graphs = Some(on(&word)),
            "GPUFUNCTIONS" => self.gpu_functions = Some(on(&word)),
            "GPUTUNE" => self.gpu_tune = Some(on(&word)),
            "AMP2" => self.amp2 = on(&word),
            "FLOWS" => self.flows = on(&word),
            "VERBOSE" => self.verbose = on(&word),
            "HARMLESSCALLS" => {
                let names = word.split(',').map(|name| name.trim().to_ascii_uppercase());
                self.harmless_calls = names.filter(|name| !name.is_empty()).collect();
            }
            "GPUGROUP" => self.gpu_group = Some(word.parse().map_err(|_| bad())?),
            "GPUMEMORY" => match word.parse() {
                Ok(share) if 0.0 < share && share <= 1.0 => self.gpu_memory = Some(share),
                _ => return Err(bad()),
            },
            "CACHE" => {
                self.cache = match word.as_str() {
                    "off" => CachePlace::Off,
                    "check" => CachePlace::Check(None),
                    // `value` instead of `word`: folder names may contain capitals.
                    _ => match value.to_str().and_then(|v| v.strip_prefix("check:")) {
                        Some(folder) => CachePlace::Check(Some(folder.into())),
                        None => CachePlace::Folder(value.into()),
                    },
                }
            }
            // Read by MadEvent and by `check_mode`.
            "VECSIZEUSED" | FBRIDGEMODE | "ENABLEFPE" => {}
            // A switch in the table that this function does not handle.
            _ => return Err(bad()),
        }
        Ok(())
    }
}

/// Returns whether `FBRIDGEMODE` requests check mode in an executable of `mebridge link`, which evaluates its own and
/// the library's matrix elements: it is a number below 0. MadEvent with the plugin reads it itself, so it is no field
/// of [`Switches`].
pub fn check_mode() -> Result<bool> {
    check_mode_of(environment::variable(&format!("{PREFIX}{FBRIDGEMODE}")))
}

fn check_mode_of(value: Option<OsString>) -> Result<bool> {
    let value = value.unwrap_or_default();
    let text = value.to_string_lossy();
    match (text.trim(), text.trim().parse::<i32>()) {
        ("", _) => Ok(false),
        (_, Ok(mode)) => Ok(mode < 0),
        (_, Err(_)) => Err(Error::BadSwitch {
            name: format!("{PREFIX}{FBRIDGEMODE}"),
            value: text.into_owned(),
            allowed: "a whole number, below 0 for check mode",
        }),
    }
}

/// Parses a boolean switch. The plugin takes any value for on, so only 0, off and no mean off.
fn on(word: &str) -> bool {
    !matches!(word, "0" | "off" | "no")
}

fn bad_value(switch: &Switch, value: impl Display) -> Error {
    Error::BadSwitch {
        name: format!("{PREFIX}{}", switch.name),
        value: value.to_string(),
        allowed: switch.values,
    }
}

/// Returns a hint at what an unknown name may have meant.
fn hint(name: &str) -> String {
    match closest(name) {
        Some(known) => format!("did you mean {PREFIX}{known}?"),
        None => {
            let names: Vec<&str> = SWITCHES.iter().map(|switch| switch.name).collect();
            format!("known after {PREFIX}: {}", names.join(", "))
        }
    }
}

/// Returns the most similar known name, if one of them contains the other, or if their edit distance is at most a third
/// of the length of `name`.
fn closest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    let names = || SWITCHES.iter().map(|switch| switch.name);
    let part = |known: &&str| name.len() >= 3 && (known.contains(&name) || name.contains(*known));
    let edits = |known: &&str| edits(name.as_bytes(), known.as_bytes());
    names()
        .min_by_key(edits)
        .filter(|known| 3 * edits(known) <= name.len())
        .or_else(|| names().find(part))
}

/// Levenshtein distance.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1);
            diagonal = row[j + 1];
            row[j + 1] = best.min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> Result<Switches> {
        Switches::from_pairs([(format!("{PREFIX}{name}"), value)])
    }

    /// The values without any switch in the environment.
    fn defaults() -> Switches {
        Switches {
            cache: CachePlace::User,
            ..Switches::default()
        }
    }

    #[test]
    fn without_switches_there_are_defaults() {
        let none: [(&str, &str); 0] = [];
        assert_eq!(Switches::from_pairs(none).unwrap(), defaults());
        assert_eq!(
            Switches::from_pairs([("PATH", "/bin"), ("CUDACPP_OTHER", "1")]).unwrap(),
            defaults()
        );
    }

    #[test]
    fn values_are_read() {
        assert_eq!(one("FPTYPE", "m").unwrap().precision, Precision::Mixed);
        assert_eq!(one("FPTYPE", "F").unwrap().precision, Precision::Float);
        assert_eq!(one("THREADS", "4").unwrap().threads, 4);
        assert_eq!(one("SIMD", "512y").unwrap().simd.as_deref(), Some("512y"));
        assert_eq!(one("SIMD", "auto").unwrap().simd, None);
        assert_eq!(one("BACKEND", "cpu").unwrap().backend, BackendChoice::Cpu);
        let devices = |value| one("DEVICE", value).unwrap().device;
        assert_eq!(devices("3"), Devices::These(vec![3]));
        assert_eq!(devices("1, 0"), Devices::These(vec![1, 0]));
        assert_eq!(devices("All"), Devices::All);
        assert_eq!(devices(""), Devices::Auto);
        assert_eq!(one("GPUMEMORY", "0.25").unwrap().gpu_memory, Some(0.25));
        assert_eq!(one("GPUGROUP", "0").unwrap().gpu_group, Some(0));
        assert!(one("GOODHELICITIES", "ALL").unwrap().good_helicities_all);
        assert_eq!(one("IGRAPH", "no").unwrap().igraph, Igraph::No);
        assert!(one("VERBOSE", "1").unwrap().verbose && !one("VERBOSE", "0").unwrap().verbose);
        assert_eq!(
            one("PARAMCARD", "a/b.dat").unwrap().param_card,
            Some("a/b.dat".into())
        );
        assert_eq!(one("CACHE", "Off").unwrap().cache, CachePlace::Off);
        let folder = CachePlace::Folder("A/b".into());
        assert_eq!(one("CACHE", "A/b").unwrap().cache, folder);
        assert_eq!(one("CACHE", "").unwrap().cache, CachePlace::User);
        assert_eq!(one("THREADS", "").unwrap().threads, 1);
    }

    /// A switch in the table that no code reads would be ignored silently.
    #[test]
    fn every_switch_is_read() {
        for switch in SWITCHES {
            let values = ["1", "auto", "d"];
            let read = values.iter().any(|value| one(switch.name, value).is_ok());
            assert!(read, "{}", switch.name);
        }
    }

    #[test]
    fn check_mode_is_a_number_below_zero() {
        let of = |text: &str| check_mode_of(Some(text.into()));
        assert!(!check_mode_of(None).unwrap() && !of("").unwrap() && !of("1").unwrap());
        assert!(of("-1").unwrap() && of(" -2 ").unwrap());
        let error = of("both").unwrap_err().to_string();
        assert!(error.contains("CUDACPP_RUNTIME_FBRIDGEMODE"), "{error}");
        assert!(error.contains("both"), "{error}");
    }

    #[test]
    fn switches_of_others_are_known() {
        for name in ["VECSIZEUSED", "FBRIDGEMODE", "ENABLEFPE"] {
            assert_eq!(one(name, "1").unwrap(), defaults());
        }
    }

    #[test]
    fn some_switches_are_on_off_or_neither() {
        let field = |s: &Switches, name| match name {
            "BLASCOLORSUM" => s.blas_color_sum,
            "CUBLASTF32TENSOR" => s.tf32,
            "GPUGRAPHS" => s.gpu_graphs,
            "GPUTUNE" => s.gpu_tune,
            _ => s.gpu_functions,
        };
        for name in [
            "BLASCOLORSUM",
            "CUBLASTF32TENSOR",
            "GPUGRAPHS",
            "GPUFUNCTIONS",
            "GPUTUNE",
        ] {
            for (value, means) in [
                ("", None),
                ("1", Some(true)),
                ("on", Some(true)),
                ("any", Some(true)),
                ("0", Some(false)),
                ("Off", Some(false)),
                ("no", Some(false)),
            ] {
                let switches = one(name, value).unwrap();
                assert_eq!(field(&switches, name), means, "{name}={value}");
            }
        }
    }

    #[test]
    fn a_process_may_name_a_matrix_element() {
        let choice = |v: &str| {
            let c = ProcessChoice::parse(v);
            (c.path.to_str().unwrap().to_owned(), c.element)
        };
        assert_eq!(choice("a/P1#2"), ("a/P1".into(), Some(2)));
        assert_eq!(choice("a/P1"), ("a/P1".into(), None));
        assert_eq!(choice("a#b/P1"), ("a#b/P1".into(), None));
        assert_eq!(choice("P1#0"), ("P1#0".into(), None));
    }

    #[test]
    fn an_unknown_switch_names_the_closest() {
        let message = one("FPTYP", "d").unwrap_err().to_string();
        assert!(message.contains("CUDACPP_RUNTIME_FPTYP "), "{message}");
        assert!(message.contains("CUDACPP_RUNTIME_FPTYPE"), "{message}");
        for (name, known) in [
            ("PARAM_CARD", "PARAMCARD"),
            ("VECSIZE", "VECSIZEUSED"),
            ("verbos", "VERBOSE"),
            ("NTHREADS", "THREADS"),
        ] {
            let message = one(name, "x").unwrap_err().to_string();
            let hint = format!("(did you mean CUDACPP_RUNTIME_{known}?)");
            assert!(message.contains(&hint), "{message}");
        }
    }

    #[test]
    fn an_unknown_switch_that_is_like_none_gets_all_names() {
        for name in ["FOO", "X", ""] {
            let message = one(name, "1").unwrap_err().to_string();
            assert!(!message.contains("did you mean"), "{message}");
            for switch in SWITCHES {
                assert!(message.contains(switch.name), "{message}");
            }
        }
    }

    #[test]
    fn a_bad_value_names_switch_value_and_what_is_allowed() {
        for (name, value) in [
            ("FPTYPE", "double"),
            ("THREADS", "0"),
            ("THREADS", "many"),
            ("SIMD", "avx"),
            ("BACKEND", "gpu"),
            ("DEVICE", "-1"),
            ("DEVICE", "0,"),
            ("DEVICE", "1,1"),
            ("GPUMEMORY", "0"),
            ("GPUMEMORY", "1.5"),
            ("GPUMEMORY", "nan"),
            ("GPUGROUP", "-1"),
            ("GOODHELICITIES", "some"),
            ("IGRAPH", "maybe"),
        ] {
            let message = one(name, value).unwrap_err().to_string();
            let switch = SWITCHES.iter().find(|s| s.name == name).unwrap();
            assert!(message.contains(&format!("{PREFIX}{name}")), "{message}");
            assert!(message.contains(value), "{message}");
            assert!(message.contains(switch.values), "{message}");
        }
    }

    #[test]
    fn a_gpu_can_be_asked_for() {
        assert_eq!(one("BACKEND", "cuda").unwrap().backend, BackendChoice::Cuda);
        assert_eq!(one("BACKEND", "hip").unwrap().backend, BackendChoice::Hip);
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits(b"", b"abc"), 3);
        assert_eq!(edits(b"kitten", b"sitting"), 3);
        assert_eq!(edits(b"same", b"same"), 0);
    }
}
