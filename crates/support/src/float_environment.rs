//! The floating-point environment of the CPU while this library computes.
//!
//! A caller may have enabled traps (`-ffpe-trap` of gfortran, `feenableexcept`), another rounding mode, or flushing of
//! denormal numbers to zero (`-ffast-math`). Rust assumes none of these: the compiler may divide before it is known
//! whether the quotient is used, as the kernels do themselves for batches in which only some events are at rest or
//! along the beam. So all computations run in the default environment of a program, and the caller's environment is
//! restored afterwards, flags included.
//!
//! On x86-64 only the control register of SSE and AVX matters: nothing here uses the x87 registers. 64-bit ARM has
//! separate control (FPCR) and flag (FPSR) registers. Other CPUs are left alone.

/// Runs `f` in the default environment of a program.
pub fn in_default_environment<T>(f: impl FnOnce() -> T) -> T {
    let _restored = Restored::new();
    apart(f)
}

/// A separate function, so that no arithmetic of `f` is moved out of the environment.
#[inline(never)]
fn apart<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// Restores the caller's environment when dropped, also if `f` panics.
struct Restored {
    caller: registers::State,
}

impl Restored {
    fn new() -> Restored {
        let caller = registers::read();
        registers::write(registers::DEFAULT);
        Restored { caller }
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        registers::write(self.caller);
    }
}

#[cfg(target_arch = "x86_64")]
mod registers {
    /// MXCSR.
    pub type State = u32;
    /// All exceptions masked, rounding to nearest, no flags.
    pub const DEFAULT: State = 0x1f80;

    #[inline(always)]
    pub fn read() -> State {
        let mut control = 0u32;
        let at = &raw mut control;
        // SAFETY: SSE is part of x86-64, and the address is that of a variable.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) at, options(nostack, preserves_flags)) };
        control
    }

    #[inline(always)]
    pub fn write(control: State) {
        let at = &raw const control;
        // SAFETY: SSE is part of x86-64; the value is the default or came from the register, so other values are loaded
        // only if the caller had them.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) at, options(nostack)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod registers {
    /// FPCR and FPSR.
    pub type State = [u64; 2];
    /// No traps, rounding to nearest, nothing flushed; no flags.
    pub const DEFAULT: State = [0, 0];

    #[inline(always)]
    pub fn read() -> State {
        let (control, flags): (u64, u64);
        // SAFETY: both are part of every 64-bit ARM core and may be read by any program.
        unsafe {
            std::arch::asm!("mrs {}, fpcr", "mrs {}, fpsr", out(reg) control, out(reg) flags,
                options(nostack, preserves_flags));
        }
        [control, flags]
    }

    #[inline(always)]
    pub fn write([control, flags]: State) {
        // SAFETY: both may be written by any program; the values are the defaults or came from the registers, so other
        // values are loaded only if the caller had them.
        unsafe {
            std::arch::asm!("msr fpcr, {}", "msr fpsr, {}", in(reg) control, in(reg) flags,
                options(nostack));
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod registers {
    pub type State = ();
    pub const DEFAULT: State = ();

    pub fn read() -> State {}

    pub fn write(_: State) {}
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::registers::{DEFAULT, State, read, write};
    use super::*;

    /// Towards zero, tiny numbers flushed, an old flag; no traps, which would end the test.
    #[cfg(target_arch = "x86_64")]
    const OTHERS: State = DEFAULT | 0x6000 | 0x8000 | 0x0010;
    #[cfg(target_arch = "aarch64")]
    const OTHERS: State = [3 << 22 | 1 << 24, 1 << 3];

    #[test]
    fn the_callers_environment_comes_back() {
        let own = read();
        write(OTHERS);
        let inside = in_default_environment(read);
        let after = read();
        let caught = std::panic::catch_unwind(|| in_default_environment(|| panic!("expected")));
        let after_panic = read();
        write(own);
        assert!(caught.is_err());
        assert_eq!((inside, after, after_panic), (DEFAULT, OTHERS, OTHERS));
    }

    #[test]
    fn flags_of_the_library_do_not_reach_the_caller() {
        let before = read();
        in_default_environment(|| std::hint::black_box(0.0f64) / std::hint::black_box(0.0));
        assert_eq!(read(), before);
    }
}
