//! Options that choose the engine, and the corresponding switches.

use mebridge::Result;
use mebridge::runtime::Switches;
use std::ffi::OsString;

/// How to evaluate; options that are not given follow the environment.
#[derive(clap::Args)]
pub struct EngineOptions {
    /// Engine [default: as CUDACPP_RUNTIME_BACKEND says, or auto]
    #[arg(long, value_name = "ENGINE", value_parser = ["auto", "cpu", "cuda", "hip"])]
    backend: Option<String>,
    /// SIMD level [default: as CUDACPP_RUNTIME_SIMD says, or the best that this CPU has]
    #[arg(long, value_name = "LEVEL", value_parser = ["auto", "none", "sse4", "avx2", "512y", "512z"])]
    simd: Option<String>,
    /// Precision: double, mixed (single in colour sums) or float [default: as
    /// CUDACPP_RUNTIME_FPTYPE says, or d]
    #[arg(long, value_name = "TYPE", value_parser = ["d", "m", "f"])]
    fptype: Option<String>,
    /// CPU threads [default: as CUDACPP_RUNTIME_THREADS says, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
}

/// A switch, and its value if the option was given.
pub type SwitchOption = (&'static str, Option<OsString>);

impl EngineOptions {
    /// Options for the CPU with this number of threads.
    pub fn on_cpu(threads: u32) -> Self {
        EngineOptions {
            backend: Some("cpu".to_owned()),
            simd: None,
            fptype: None,
            threads: Some(threads),
        }
    }

    /// Returns the given switches, after others of a command.
    pub fn pairs(
        &self,
        others: impl IntoIterator<Item = SwitchOption>,
    ) -> Vec<(&'static str, OsString)> {
        let own = [
            ("BACKEND", self.backend.clone().map(OsString::from)),
            ("SIMD", self.simd.clone().map(OsString::from)),
            ("FPTYPE", self.fptype.clone().map(OsString::from)),
            ("THREADS", self.threads.map(|n| n.to_string().into())),
        ];
        let all = others.into_iter().chain(own);
        all.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

/// Returns the switches of the environment, overridden by others.
pub fn switches(pairs: &[(&'static str, OsString)]) -> Result<Switches> {
    let mut switches = Switches::from_env()?;
    for (name, value) in pairs {
        switches.set(name, value.clone())?;
    }
    Ok(switches)
}
