//! How the CPU computes with floating-point numbers while this library does.
//!
//! A caller may have traps switched on (`-ffpe-trap` of gfortran, `feenableexcept`), another rounding
//! mode, or tiny numbers flushed to zero (`-ffast-math`). Rust's code is compiled for none of that: the
//! compiler may divide before it knows that the quotient is wanted, as the kernels do themselves for
//! events of which only some are at rest or on the beam. So everything that computes runs in the
//! environment that a program starts with, and the caller finds its own as it was, flags included.
//!
//! Only the control register of SSE and AVX counts: on x86-64 nothing here uses the older registers. Other
//! CPUs are left alone.

/// Runs `f` in the environment that a program starts with.
pub fn in_default_environment<T>(f: impl FnOnce() -> T) -> T {
    let _restored = Restored::new();
    apart(f)
}

/// A function of its own, so that no arithmetic of `f` is moved out of the environment.
#[inline(never)]
fn apart<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// Puts the caller's environment back, also where `f` panics.
struct Restored {
    #[cfg(target_arch = "x86_64")]
    control: u32,
}

#[cfg(target_arch = "x86_64")]
impl Restored {
    /// All exceptions masked, rounding to nearest, no flags.
    const DEFAULT: u32 = 0x1f80;

    fn new() -> Restored {
        let mut control = 0u32;
        let at = &raw mut control;
        // SAFETY: SSE is part of x86-64, and the address is that of a variable.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) at, options(nostack, preserves_flags)) };
        load(Self::DEFAULT);
        Restored { control }
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for Restored {
    fn drop(&mut self) {
        load(self.control);
    }
}

#[cfg(target_arch = "x86_64")]
fn load(control: u32) {
    let at = &raw const control;
    // SAFETY: SSE is part of x86-64; the value is the default one or came from the register. A value that
    // is not the default one is loaded only where the caller had it.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) at, options(nostack)) };
}

#[cfg(not(target_arch = "x86_64"))]
impl Restored {
    fn new() -> Restored {
        Restored {}
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The register as it is now.
    fn control() -> u32 {
        Restored::new().control
    }

    #[test]
    fn the_callers_environment_comes_back() {
        // Towards zero, tiny numbers flushed, an old flag; no traps, which would end the test.
        const OTHERS: u32 = Restored::DEFAULT | 0x6000 | 0x8000 | 0x0010;
        let own = control();
        load(OTHERS);
        let inside = in_default_environment(control);
        let after = control();
        let caught = std::panic::catch_unwind(|| in_default_environment(|| panic!("expected")));
        let after_panic = control();
        load(own);
        assert!(caught.is_err());
        assert_eq!(
            (inside, after, after_panic),
            (Restored::DEFAULT, OTHERS, OTHERS)
        );
    }

    #[test]
    fn flags_of_the_library_do_not_reach_the_caller() {
        let before = control();
        in_default_environment(|| std::hint::black_box(0.0f64) / std::hint::black_box(0.0));
        assert_eq!(control(), before);
    }
}
