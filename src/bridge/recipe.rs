//! The inputs from which servers are made.

use crate::backend::{AllowedMomenta, Clocks};
use crate::cpu::Cores;
use crate::policy::Processor;
use crate::process::Process;
use crate::runtime::{CachePlace, Precision};
use crate::simd::Level;
use crate::target::Target;
use std::sync::Arc;

/// Settings of a bridge's evaluation.
#[derive(Clone)]
pub(super) struct Settings {
    pub target: Target,
    pub precision: Precision,
    /// Whether to keep helicities whose contribution vanishes.
    pub all_helicities: bool,
    /// The momenta of events.
    pub allowed: AllowedMomenta,
    /// The cache, as set by the switches.
    pub cache: CachePlace,
    pub clocks: Clocks,
}

/// A process, the values of its card, and the settings of its evaluation.
#[derive(Clone)]
pub(super) struct Recipe {
    pub process: Arc<Process>,
    pub card: Arc<[f64]>,
    pub settings: Settings,
}

impl Settings {
    /// Returns the properties of the hardware that plans depend on.
    pub fn processor(&self) -> Processor {
        self.target.processor(self.precision)
    }
}

impl Recipe {
    /// The same for another process with the same card.
    pub fn for_process(&self, process: Process) -> Recipe {
        Recipe {
            process: Arc::new(process),
            ..self.clone()
        }
    }

    /// The same with other values of the card.
    pub fn with_card(&self, card: &[f64]) -> Recipe {
        Recipe {
            card: card.into(),
            ..self.clone()
        }
    }

    /// Whether the precision is lower than double, which may not suffice.
    pub fn may_lose(&self) -> bool {
        self.settings.precision != Precision::Double
    }

    /// The same in double precision on one thread of the CPU.
    pub fn in_double(&self) -> Recipe {
        let settings = &self.settings;
        let target = Target::Cpu(Cores {
            level: settings.target.level().unwrap_or_else(Level::best),
            threads: 1,
        });
        Recipe {
            settings: Settings {
                target,
                precision: Precision::Double,
                clocks: Clocks::None,
                ..settings.clone()
            },
            ..self.clone()
        }
    }
}
