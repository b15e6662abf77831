//! What servers are made of.

use crate::backend::Clocks;
use crate::cpu::Cores;
use crate::policy::Processor;
use crate::process::Process;
use crate::runtime::{CachePlace, Precision};
use crate::simd::Level;
use crate::target::Target;
use std::sync::Arc;

/// How a bridge evaluates.
#[derive(Clone)]
pub(super) struct Settings {
    pub target: Target,
    pub precision: Precision,
    /// Whether helicities are kept whose contribution vanishes.
    pub all_helicities: bool,
    /// Whether momenta may be off their mass shells.
    pub off_shell: bool,
    /// What the switches say of the cache.
    pub cache: CachePlace,
    pub clocks: Clocks,
}

/// A process, the values of its card, and how it is evaluated.
#[derive(Clone)]
pub(super) struct Recipe {
    pub process: Arc<Process>,
    pub card: Arc<[f64]>,
    pub settings: Settings,
}

impl Settings {
    /// What plans have to know of the machine.
    pub fn processor(&self) -> Processor {
        self.target.processor(self.precision)
    }
}

impl Recipe {
    /// The same of another process that takes the same card.
    pub fn of(&self, process: Process) -> Recipe {
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

    /// Whether numbers have a lower precision than double, which may not suffice.
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
