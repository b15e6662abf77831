//! A process file with any body: it is refused, or what it describes is evaluated.
//!
//! Length and checksum are made right, or hardly any input would come past them; the header's other bytes
//! are the input's own.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/common/damaged.rs"]
mod damaged;

use libfuzzer_sys::fuzz_target;
use mebridge::process::Process;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    if data.len() <= damaged::HEADER {
        return;
    }
    let mut bytes = data.to_vec();
    damaged::seal(&mut bytes);
    if let Ok(process) = Process::from_bytes(&bytes, Path::new("input"))
        && let Some(momenta) = damaged::momenta(&process)
    {
        damaged::evaluate(process, &momenta);
    }
});
