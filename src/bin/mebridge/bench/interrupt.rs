//! Signals that end the measuring: what was measured so far is kept.

use mebridge::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether to stop.
pub struct Interrupt {
    came: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on SIGINT and SIGTERM ask to stop. The second one ends the program as ever.
    pub fn catch() -> Result<Interrupt> {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset.
            flag::register_conditional_default(signal, came.clone())
                .and_then(|_| flag::register(signal, came.clone()))
                .map_err(Error::io("signals"))?;
        }
        Ok(Interrupt { came })
    }

    /// Whether one of them came.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}
