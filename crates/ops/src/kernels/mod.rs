//! The kernels: implementation of the operations of a plan for vectors of events.
//!
//! Addresses, layouts and factors are as in [`crate::opcode`]: address `a` is the vector at `base + a * LANES`. That
//! module defines what each kernel computes, this one how.
//!
//! Spinors are in the chiral representation. The left-handed half of an incoming spinor is `(f3, f4)`, the right-handed
//! half `(f5, f6)` (numbered as in HELAS, where 1 and 2 are the momentum). A vector couples each half of an outgoing
//! spinor to the other half of an incoming one. A slashed vector therefore consists of two 2x2 matrices of the four
//! numbers `V0 + V3`, `V0 - V3`, `V1 + i V2` and `V1 - i V2`, each computed once.

mod arrays;
mod density;
mod external;
#[cfg(test)]
mod external_tests;
mod ffs;
mod ffv;
mod scalar;
mod scalar_sums;
mod sums;
#[cfg(test)]
mod tests;
mod vvv;
mod vvvv;

pub use arrays::{ArraysTask, ShufflesTask};
pub use external::external;

use crate::Opcode;
use crate::table::for_each_opcode;
use ffv::{BothChiralities, Left, LeftRight};
use mebridge_simd::{Cx, Real, Simd, Task};

/// Method of finding the addresses of input wavefunctions in an operation.
pub trait Inputs: Copy {
    /// The address of a wavefunction, given its operand.
    ///
    /// # Safety
    /// The operands of the operation are valid for this method of look-up.
    unsafe fn address(self, operand: u32) -> u32;
}

/// The operands are addresses.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

impl Inputs for Direct {
    #[inline(always)]
    unsafe fn address(self, operand: u32) -> u32 {
        operand
    }
}

/// The operands are indices into a table of addresses (one table for each helicity).
#[derive(Clone, Copy, Debug)]
pub struct Table<'a>(pub &'a [u32]);

impl Inputs for Table<'_> {
    #[inline(always)]
    unsafe fn address(self, operand: u32) -> u32 {
        // SAFETY: the caller guarantees that the table has this entry.
        unsafe { *self.0.get_unchecked(operand as usize) }
    }
}

/// The memory of one block of events.
pub struct Memory<V: Simd> {
    base: *mut V::Scalar,
}

impl<V: Simd> Clone for Memory<V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Simd> Copy for Memory<V> {}

/// # Safety
/// For all methods: the address and the required number of addresses after it are valid.
#[expect(clippy::missing_safety_doc, reason = "stated once for all methods")]
impl<V: Simd> Memory<V> {
    /// The memory that begins at `base`.
    #[inline(always)]
    pub fn new(base: *mut V::Scalar) -> Self {
        Memory { base }
    }

    /// The same memory with all addresses increased.
    #[inline(always)]
    pub unsafe fn shifted(self, vectors: u32) -> Self {
        // SAFETY: the caller guarantees that the addresses to be used are valid after the shift.
        unsafe { Memory::new(self.pointer(vectors)) }
    }

    /// Pointer to a vector.
    #[inline(always)]
    pub unsafe fn pointer(self, address: u32) -> *mut V::Scalar {
        // SAFETY: the caller guarantees that the address is valid.
        unsafe { self.base.add(address as usize * V::LANES) }
    }

    /// A real number.
    #[inline(always)]
    pub unsafe fn real(self, address: u32) -> V {
        // SAFETY: the caller guarantees that the address is valid.
        unsafe { V::load(self.base.add(address as usize * V::LANES)) }
    }

    /// Stores a real number.
    #[inline(always)]
    pub unsafe fn put_real(self, address: u32, x: V) {
        // SAFETY: the caller guarantees that the address is valid.
        unsafe { x.store(self.base.add(address as usize * V::LANES)) }
    }

    /// A complex number: a factor, an amplitude or a scalar.
    #[inline(always)]
    pub unsafe fn complex(self, address: u32) -> Cx<V> {
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe {
            let at = self.pointer(address);
            Cx::new(V::load(at), V::load(at.add(V::LANES)))
        }
    }

    /// Stores a complex number.
    #[inline(always)]
    pub unsafe fn put_complex(self, address: u32, z: Cx<V>) {
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe {
            let at = self.pointer(address);
            z.re.store(at);
            z.im.store(at.add(V::LANES));
        }
    }

    /// A spinor or a vector.
    #[inline(always)]
    pub unsafe fn four(self, address: u32) -> [Cx<V>; 4] {
        // SAFETY: the caller guarantees that the addresses are valid. (One pointer with constant offsets takes a
        // fraction of the instructions of eight address computations.)
        unsafe {
            let at = self.pointer(address);
            [
                Cx::new(V::load(at), V::load(at.add(V::LANES))),
                Cx::new(V::load(at.add(2 * V::LANES)), V::load(at.add(3 * V::LANES))),
                Cx::new(V::load(at.add(4 * V::LANES)), V::load(at.add(5 * V::LANES))),
                Cx::new(V::load(at.add(6 * V::LANES)), V::load(at.add(7 * V::LANES))),
            ]
        }
    }

    /// Two components of a spinor.
    #[inline(always)]
    pub unsafe fn two(self, address: u32) -> [Cx<V>; 2] {
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe { [self.complex(address), self.complex(address + 2)] }
    }

    /// Stores two components of a spinor.
    #[inline(always)]
    pub unsafe fn put_two(self, address: u32, z: [Cx<V>; 2]) {
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe {
            let at = self.pointer(address);
            z[0].re.store(at);
            z[0].im.store(at.add(V::LANES));
            z[1].re.store(at.add(2 * V::LANES));
            z[1].im.store(at.add(3 * V::LANES));
        }
    }

    /// Stores a spinor or a vector.
    #[inline(always)]
    pub unsafe fn put_four(self, address: u32, z: [Cx<V>; 4]) {
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe {
            let at = self.pointer(address);
            z[0].re.store(at);
            z[0].im.store(at.add(V::LANES));
            z[1].re.store(at.add(2 * V::LANES));
            z[1].im.store(at.add(3 * V::LANES));
            z[2].re.store(at.add(4 * V::LANES));
            z[2].im.store(at.add(5 * V::LANES));
            z[3].re.store(at.add(6 * V::LANES));
            z[3].im.store(at.add(7 * V::LANES));
        }
    }

    /// A momentum.
    #[inline(always)]
    pub unsafe fn momentum(self, address: u32) -> [V; 4] {
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe {
            let at = self.pointer(address);
            [
                V::load(at),
                V::load(at.add(V::LANES)),
                V::load(at.add(2 * V::LANES)),
                V::load(at.add(3 * V::LANES)),
            ]
        }
    }

    /// Stores a momentum.
    #[inline(always)]
    pub unsafe fn put_momentum(self, address: u32, p: [V; 4]) {
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe {
            let at = self.pointer(address);
            p[0].store(at);
            p[1].store(at.add(V::LANES));
            p[2].store(at.add(2 * V::LANES));
            p[3].store(at.add(3 * V::LANES));
        }
    }
}

/// Product of two complex vectors, metric (+,-,-,-).
#[inline(always)]
fn dot<V: Simd>(a: [Cx<V>; 4], b: [Cx<V>; 4]) -> Cx<V> {
    let t = a[0] * b[0];
    let t = a[1].neg_mul_add(b[1], t);
    let t = a[2].neg_mul_add(b[2], t);
    a[3].neg_mul_add(b[3], t)
}

/// Product of a momentum and a complex vector, metric (+,-,-,-).
#[inline(always)]
fn dot_momentum<V: Simd>(p: [V; 4], v: [Cx<V>; 4]) -> Cx<V> {
    let t = v[0].scale(p[0]);
    let t = v[1].neg_scale_add(p[1], t);
    let t = v[2].neg_scale_add(p[2], t);
    v[3].neg_scale_add(p[3], t)
}

#[inline(always)]
fn add<V: Simd>(p: [V; 4], q: [V; 4]) -> [V; 4] {
    [p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3]]
}

#[inline(always)]
fn sub<V: Simd>(p: [V; 4], q: [V; 4]) -> [V; 4] {
    [p[0] - q[0], p[1] - q[1], p[2] - q[2], p[3] - q[3]]
}

/// `z` times a complex vector.
#[inline(always)]
fn times<V: Simd>(z: Cx<V>, v: [Cx<V>; 4]) -> [Cx<V>; 4] {
    [z * v[0], z * v[1], z * v[2], z * v[3]]
}

/// The numerator of a massive vector in unitary gauge: `v - p (p v) / m^2`.
#[inline(always)]
fn unitary<V: Simd>(v: [Cx<V>; 4], p: [V; 4], m: V) -> [Cx<V>; 4] {
    let pv = dot_momentum(p, v).scale(m.same(1.0) / (m * m));
    [
        pv.neg_scale_add(p[0], v[0]),
        pv.neg_scale_add(p[1], v[1]),
        pv.neg_scale_add(p[2], v[2]),
        pv.neg_scale_add(p[3], v[3]),
    ]
}

/// Defines a function that runs a batch of one of these kernels, with a separate function for each kernel (a single
/// function with all of them would take too long to compile).
macro_rules! batches {
    ($(#[$doc:meta])* $name:ident($operands:ident, $inputs:ident, $m:ident) {
        $($opcode:ident => $call:expr,)*
    }) => {
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name<V: Simd, I: Inputs>(
            opcode: Opcode,
            operands: &[u32],
            inputs: I,
            base: *mut V::Scalar,
        ) {
            match opcode {
                $(Opcode::$opcode => {
                    struct Batch<'a, S, I>(&'a [u32], I, *mut S);
                    impl<S: Real, I: Inputs> Task<S> for Batch<'_, S, I> {
                        type Output = ();
                        #[inline(always)]
                        unsafe fn run<V: Simd<Scalar = S>>(self) {
                            // SAFETY: guaranteed by the caller.
                            unsafe {
                                let Batch($operands, $inputs, base) = self;
                                let $m = Memory::<V>::new(base);
                                let _ = $inputs;
                                $call
                            }
                        }
                    }
                    // SAFETY: guaranteed by the caller.
                    unsafe { V::call(Batch(operands, inputs, base)) }
                })*
                // The planner puts every opcode into the right kind of batch.
                _ => unreachable!("{opcode:?} in a batch of another kind"),
            }
        }
    };
}

/// Defines both functions from the table of operations.
macro_rules! dispatch_functions {
    (
        amplitudes { $($(#[$adoc:meta])* $amplitude:ident = ($($ain:ident),*) -> $aout:ident, factors: $af:literal,
            momenta: $am:ident, masses: $aw:literal, multiply_adds: $ac:literal, amplitude: $ak:path;)* }
        currents { $($(#[$cdoc:meta])* $current:ident = ($($cin:ident),*) -> $cout:ident, factors: $cf:literal,
            momenta: $cm:ident, masses: $cw:literal, multiply_adds: $cc:literal, current: $ck:path;)* }
        products { $($(#[$pdoc:meta])* $product:ident = ($($pin:ident),*) -> $pout:ident, factors: $pf:literal,
            momenta: $pm:ident, masses: $pw:literal, multiply_adds: $pc:literal, amplitude: $pk:path;)* }
        sums { $($(#[$sdoc:meta])* $sum:ident = $sfields:expr, multiply_adds: $sc:expr, current: $sk:path;)* }
        dots { $($(#[$ddoc:meta])* $dot:ident = $dfields:expr, multiply_adds: $dc:expr, amplitude: $dk:path;)* }
        arrays { $($arrays:tt)* }
    ) => {
        batches! {
            /// Runs a batch of operations of one opcode whose results are wavefunctions. `operands` holds them
            /// contiguously, in the opcode's layout. `inputs` determines how the addresses of input wavefunctions are
            /// found; all other operands are addresses.
            ///
            /// [`Opcode::General`] is run by [`crate::general`] instead.
            ///
            /// # Panics
            /// If the result of the opcode is an amplitude, or the opcode is general.
            ///
            /// # Safety
            /// The CPU supports the level of `V`; every address in the operands is valid in the memory at `base`, which
            /// is aligned to the register size.
            currents(operands, inputs, m) {
                $($current => $ck(operands, inputs, m),)*
                $($sum => $sk(operands, m),)*
            }
        }

        batches! {
            /// Like [`currents`], for an opcode whose results are amplitudes.
            ///
            /// # Panics
            /// If the result of the opcode is a wavefunction, or the opcode is general.
            ///
            /// # Safety
            /// As for [`currents`].
            amplitudes(operands, inputs, m) {
                $($amplitude => $ak(operands, inputs, m),)*
                $($product => $pk(operands, inputs, m),)*
                $($dot => $dk(operands, inputs, m),)*
            }
        }
    };
}

for_each_opcode!(dispatch_functions);

/// Runs sums of [`Opcode::SumFfv1`] or [`Opcode::SumFfv2`] two at a time: the operands have two spinors in place of one
/// and two results; all others are shared.
///
/// # Panics
/// If it is another opcode.
///
/// # Safety
/// As for [`currents`].
#[inline(always)]
pub unsafe fn spinors_of_two<V: Simd>(opcode: Opcode, operands: &[u32], base: *mut V::Scalar) {
    struct Batch<'a, S, const OUTGOING: bool>(&'a [u32], *mut S);
    impl<S: Real, const OUTGOING: bool> Task<S> for Batch<'_, S, OUTGOING> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = S>>(self) {
            let m = Memory::<V>::new(self.1);
            // SAFETY: guaranteed by the caller.
            unsafe {
                match OUTGOING {
                    true => sums::outgoing_of::<V, 2>(self.0, m),
                    false => sums::incoming_of::<V, 2>(self.0, m),
                }
            }
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        match opcode {
            Opcode::SumFfv1 => V::call(Batch::<_, true>(operands, base)),
            Opcode::SumFfv2 => V::call(Batch::<_, false>(operands, base)),
            _ => unreachable!("{opcode:?} is not a sum of spinors"),
        }
    }
}

/// Runs a batch of [`Opcode::Dots`] for a group of two helicities with these tables, see `groups` of a plan.
///
/// # Safety
/// As for [`currents`], for either table; memory at a distance of `pair_stride` vectors from each result is valid as
/// well.
#[inline(always)]
pub unsafe fn dots_of_two<V: Simd>(
    operands: &[u32],
    tables: [Table; 2],
    pair_stride: u32,
    base: *mut V::Scalar,
) {
    struct Batch<'a, S>(&'a [u32], [Table<'a>; 2], u32, *mut S);
    impl<S: Real> Task<S> for Batch<'_, S> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = S>>(self) {
            let Batch(operands, tables, pair_stride, base) = self;
            // SAFETY: guaranteed by the caller.
            unsafe { sums::dots_of_two(operands, tables, pair_stride, Memory::<V>::new(base)) }
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { V::call(Batch(operands, tables, pair_stride, base)) }
}

/// Runs a batch of [`Opcode::DotSpinor0`] or [`Opcode::DotVector0`] for two helicities with these tables; in each
/// operation one factor is the same for both.
///
/// # Panics
/// If it is another opcode.
///
/// # Safety
/// As for [`dots_of_two`].
#[inline(always)]
pub unsafe fn products_of_two<V: Simd>(
    opcode: Opcode,
    operands: &[u32],
    tables: [Table; 2],
    pair_stride: u32,
    base: *mut V::Scalar,
) {
    struct Batch<'a, S, const VECTORS: bool>(&'a [u32], [Table<'a>; 2], u32, *mut S);
    impl<S: Real, const VECTORS: bool> Task<S> for Batch<'_, S, VECTORS> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = S>>(self) {
            let Batch(operands, tables, stride, base) = self;
            let m = Memory::<V>::new(base);
            // SAFETY: guaranteed by the caller.
            unsafe { sums::products_of_two::<V, VECTORS>(operands, tables, stride, m) }
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        match opcode {
            Opcode::DotVector0 => V::call(Batch::<_, true>(operands, tables, pair_stride, base)),
            Opcode::DotSpinor0 => V::call(Batch::<_, false>(operands, tables, pair_stride, base)),
            _ => unreachable!("{opcode:?} is not a product of two wavefunctions"),
        }
    }
}
