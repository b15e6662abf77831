//! Device code as units that are compiled. They are the same for every process.

use mebridge_gpu::CompilationUnit;

const COMPILERS: &str = include_str!("../../../cuda/compilers.cuh");
const NUMBER: &str = include_str!("../../../cuda/number.cuh");
/// Random numbers by counter.
pub const RANDOM: &str = include_str!("../../../cuda/random.cuh");

/// A unit of these texts, after what all device code begins with.
pub fn unit(texts: &[&str], kernels: &[&str]) -> CompilationUnit {
    let mut text = String::from("#define REAL double\n#define COLOR double\n");
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
