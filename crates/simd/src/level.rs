//! The SIMD levels, and their support by this CPU.

use super::{Real, Simd};
use mebridge_support::error::{Error, Result};
use std::fmt;

/// A SIMD level, in ascending order of width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One event at a time.
    None,
    /// 128-bit registers (SSE4.2; NEON on ARM).
    Sse4,
    /// 256-bit registers (AVX2 and FMA; all CPUs with these also have BMI2). On ARM SVE.
    Avx2,
    /// 256-bit registers with AVX-512VL.
    Avx512y,
    /// 512-bit registers (AVX-512). On ARM SVE.
    Avx512z,
}

impl Level {
    /// All levels, in ascending order.
    pub const ALL: [Level; 5] = [
        Level::None,
        Level::Sse4,
        Level::Avx2,
        Level::Avx512y,
        Level::Avx512z,
    ];

    /// The name used in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Sse4 => "sse4",
            Level::Avx2 => "avx2",
            Level::Avx512y => "512y",
            Level::Avx512z => "512z",
        }
    }

    /// Number of lanes in a register of this level.
    pub fn lanes<T: Real>(self) -> usize {
        match self {
            Level::None => T::None::LANES,
            Level::Sse4 => T::Sse4::LANES,
            Level::Avx2 => T::Avx2::LANES,
            Level::Avx512y => T::Avx512y::LANES,
            Level::Avx512z => T::Avx512z::LANES,
        }
    }

    /// Whether there are 32 registers rather than 16.
    pub fn has_32_registers(self) -> bool {
        cfg!(target_arch = "aarch64") || matches!(self, Level::Avx512y | Level::Avx512z)
    }

    /// Whether this CPU supports the level.
    pub fn is_supported(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            match self {
                Level::None => true,
                Level::Sse4 => is_x86_feature_detected!("sse4.2"),
                Level::Avx2 => {
                    is_x86_feature_detected!("avx2")
                        && is_x86_feature_detected!("fma")
                        && is_x86_feature_detected!("bmi2")
                }
                Level::Avx512y | Level::Avx512z => {
                    Level::Avx2.is_supported()
                        && is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512vl")
                        && is_x86_feature_detected!("avx512dq")
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            match self {
                // NEON is part of every 64-bit ARM core.
                Level::None | Level::Sse4 => true,
                Level::Avx2 => self.is_built() && super::sve::bits() >= 256,
                Level::Avx512y => false,
                Level::Avx512z => self.is_built() && super::sve::bits() >= 512,
            }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            self == Level::None
        }
    }

    /// Whether this build contains code for the level: on ARM it supports SVE registers of one length only.
    pub fn is_built(self) -> bool {
        #[cfg(target_arch = "aarch64")]
        {
            match self {
                Level::Avx2 => cfg!(sve_bits = "256"),
                Level::Avx512z => cfg!(sve_bits = "512"),
                Level::None | Level::Sse4 | Level::Avx512y => true,
            }
        }
        #[cfg(not(target_arch = "aarch64"))]
        {
            true
        }
    }

    /// The supported levels, in ascending order.
    pub fn supported() -> Vec<Level> {
        Level::ALL
            .into_iter()
            .filter(|level| level.is_supported())
            .collect()
    }

    /// The widest supported level.
    pub fn best() -> Level {
        Level::supported().pop().unwrap_or(Level::None)
    }

    /// The level with this name if the CPU supports it; [`Level::best`] for `auto` and the empty name.
    pub fn choose(name: &str) -> Result<Level> {
        let trimmed = name.trim();
        if trimmed.is_empty() || trimmed.eq_ignore_ascii_case("auto") {
            return Ok(Level::best());
        }
        let Some(level) = Level::ALL
            .into_iter()
            .find(|level| trimmed.eq_ignore_ascii_case(level.name()))
        else {
            return Err(Error::UnknownSimdLevel { name: name.into() });
        };
        if level.is_supported() {
            return Ok(level);
        }
        let names: Vec<&str> = Level::supported().iter().map(|l| l.name()).collect();
        let (name, supported) = (level.name(), names.join(", "));
        Err(match level.is_built() {
            true => Error::UnsupportedSimdLevel { name, supported },
            false => Error::SimdLevelNotBuilt { name, supported },
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
