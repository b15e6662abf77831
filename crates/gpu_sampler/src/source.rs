//! Assembly of device code into compilation units, which are the same for every process.

use crate::flows::{MAX_FACTORS, MAX_PAIRS};
use crate::slot::EVENT_HEAD;
use crate::structures::SLOTS;
use mebridge_gpu::CompilationUnit;
use mebridge_sampler::color_flows::LEAST_INVARIANT;
use mebridge_sampler::sums::MAX_WEIGHT;
use mebridge_sampler::{grid, random, unweight};

const COMPILERS: &str = include_str!("../../../cuda/compilers.cuh");
const NUMBER: &str = include_str!("../../../cuda/number.cuh");
/// Device code of the counter-based random numbers.
pub const RANDOM: &str = include_str!("../../../cuda/random.cuh");

/// Returns the constants that host and device code must share.
fn constants() -> String {
    let words = [
        ("SLOTS", SLOTS as u32),
        // Bins of a grid and of a spectrum, and the bits that a spectrum keeps of a number within a bin.
        ("GRID_BINS", grid::BINS as u32),
        ("SPECTRUM_BINS", unweight::BINS as u32),
        ("SPECTRUM_WITHIN", unweight::BITS_BELOW_BIN),
        ("SPECTRUM_SUMMED", unweight::BITS_SUMMED),
        // The dimension that decides whether a point becomes an event.
        ("ACCEPTANCE", random::ACCEPTANCE),
        // Words of an event before its momenta.
        ("EVENT_HEAD", EVENT_HEAD as u32),
        // The largest products by which colour flows are drawn.
        ("MAX_PAIRS", MAX_PAIRS as u32),
        ("MAX_FACTORS", MAX_FACTORS as u32),
    ];
    let words = words.map(|(name, value)| format!("#define {name} {value}u\n"));
    let numbers = [
        ("MAX_WEIGHT", MAX_WEIGHT),
        ("LEAST_INVARIANT", LEAST_INVARIANT),
    ];
    let numbers = numbers.map(|(name, value)| format!("#define {name} {value:e}\n"));
    words.concat() + &numbers.concat()
}

/// Returns a compilation unit of these texts, preceded by the common beginning of all device code.
pub fn unit(texts: &[&str], kernels: &[&str]) -> CompilationUnit {
    let mut text = String::from("#define REAL double\n#define COLOR double\n") + &constants();
    for part in [COMPILERS, NUMBER, "typedef unsigned long long Size;\n"]
        .iter()
        .chain(texts)
    {
        text.push_str(part);
        text.push('\n');
    }
    CompilationUnit {
        text,
        kernels: kernels.iter().map(|&name| name.to_owned()).collect(),
    }
}
