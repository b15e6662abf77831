//! Interpreter for compiled routines, for a batch of operations.

use super::General;
use crate::general::{Action, Binary, Elementary, Instruction, Test, evaluate_elementary};
use crate::kernels::{Inputs, Memory};
use mebridge_simd::{Cx, Real, Simd, Task};
use num_complex::Complex64;
use std::mem::MaybeUninit;

/// Number of operations that share the decoding of an instruction.
const GROUP: usize = 8;

/// Numbers of vectors of temporaries and of addresses for a group that fit on the stack; a routine that needs more uses
/// the heap.
const STACK_VECTORS: usize = 48 * GROUP;
const STACK_ADDRESSES: usize = 24 * GROUP;

/// Runs a batch of operations of one compiled routine. `operands` holds them contiguously, in the routine's layout.
/// `inputs` determines how the addresses of wavefunctions are found; all other addresses are operands themselves.
///
/// # Safety
/// As for [`crate::kernels::currents`].
#[inline(always)]
pub unsafe fn run<V: Simd, I: Inputs>(
    general: &General,
    operands: &[u32],
    inputs: I,
    base: *mut V::Scalar,
) {
    let length = general.layout.len();
    let wavefunctions = general.layout.inputs;
    let mut scratch_on_stack = [const { MaybeUninit::<V>::uninit() }; STACK_VECTORS];
    let mut scratch_on_heap: Vec<V> = Vec::new();
    let needed = general.code.slots * GROUP;
    let scratch = if needed <= STACK_VECTORS {
        scratch_on_stack.as_mut_ptr().cast::<V>()
    } else {
        scratch_on_heap.reserve(needed);
        scratch_on_heap.as_mut_ptr()
    };
    let mut addresses_on_stack = [0u32; STACK_ADDRESSES];
    let mut addresses_on_heap: Vec<u32> = Vec::new();
    let addresses = if length * GROUP <= STACK_ADDRESSES {
        &mut addresses_on_stack[..]
    } else {
        addresses_on_heap.resize(length * GROUP, 0);
        &mut addresses_on_heap[..]
    };
    let mut rest = operands;
    while rest.len() >= length {
        let count = (rest.len() / length).min(GROUP);
        for j in 0..count {
            let op = &rest[j * length..][..length];
            let to = &mut addresses[j * length..][..length];
            to.copy_from_slice(op);
            for address in &mut to[..wavefunctions] {
                // SAFETY: the caller guarantees that the operands are valid for the look-up.
                *address = unsafe { inputs.address(*address) };
            }
        }
        rest = &rest[count * length..];
        let group_of = InterpretTask {
            count,
            code: &general.code.instructions,
            addresses,
            length,
            scratch,
            base,
        };
        // SAFETY: the scratch memory has a place for each slot of each operation of the group; the addresses are valid,
        // as guaranteed by the caller.
        unsafe { V::call(group_of) };
    }
}

/// The code for one group of operations: a separate function that does not depend on the look-up.
struct InterpretTask<'a, V, S> {
    count: usize,
    code: &'a [Instruction],
    addresses: &'a [u32],
    length: usize,
    scratch: *mut V,
    base: *mut S,
}

impl<U: Simd> Task<U::Scalar> for InterpretTask<'_, U, U::Scalar> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = U::Scalar>>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Interpreter::<V> {
                count: self.count,
                scratch: self.scratch.cast(),
                addresses: self.addresses,
                length: self.length,
                memory: Memory::<V>::new(self.base),
            }
            .execute(self.code);
        }
    }
}

/// Executes instructions for `count` operations at once. Slot `s` of operation `j` is vector `s * GROUP + j` of the
/// scratch memory; the imaginary part of a complex number is in slot `s + 1`.
struct Interpreter<'a, V: Simd> {
    count: usize,
    scratch: *mut V,
    addresses: &'a [u32],
    length: usize,
    memory: Memory<V>,
}

/// `i^n z`.
#[inline(always)]
fn turn<V: Simd>(n: u8, z: Cx<V>) -> Cx<V> {
    match n {
        0 => z,
        1 => Cx::new(-z.im, z.re),
        2 => -z,
        _ => Cx::new(z.im, -z.re),
    }
}

/// `c + i^n a b`.
#[inline(always)]
fn mul_add_turned<V: Simd>(n: u8, a: Cx<V>, b: Cx<V>, c: Cx<V>) -> Cx<V> {
    match n {
        0 => a.mul_add(b, c),
        1 => Cx::new(
            a.re.neg_mul_add(b.im, a.im.neg_mul_add(b.re, c.re)),
            a.re.mul_add(b.re, a.im.neg_mul_add(b.im, c.im)),
        ),
        2 => a.neg_mul_add(b, c),
        _ => Cx::new(
            a.re.mul_add(b.im, a.im.mul_add(b.re, c.re)),
            a.re.neg_mul_add(b.re, a.im.mul_add(b.im, c.im)),
        ),
    }
}

/// `c + i^n r b` for real `r`.
#[inline(always)]
fn scale_add_turned<V: Simd>(n: u8, r: V, b: Cx<V>, c: Cx<V>) -> Cx<V> {
    match n {
        0 => b.scale_add(r, c),
        1 => Cx::new(b.im.neg_mul_add(r, c.re), b.re.mul_add(r, c.im)),
        2 => b.neg_scale_add(r, c),
        _ => Cx::new(b.im.mul_add(r, c.re), b.re.neg_mul_add(r, c.im)),
    }
}

#[inline(always)]
fn test<V: Simd>(test: Test, a: V, b: V) -> V::Mask {
    match test {
        Test::Lt => a.lt(b),
        Test::Le => a.le(b),
        Test::Eq => a.eq(b),
    }
}

/// Executes the body for every operation `j` of the group.
macro_rules! each {
    ($machine:ident, $j:ident => $body:expr) => {
        for $j in 0..$machine.count {
            $body;
        }
    };
}

/// A match over the powers of `i`, so that code is generated for each constant power.
macro_rules! powers {
    ($n:expr, $k:ident => $body:expr) => {
        match $n {
            0 => {
                const $k: u8 = 0;
                $body
            }
            1 => {
                const $k: u8 = 1;
                $body
            }
            2 => {
                const $k: u8 = 2;
                $body
            }
            _ => {
                const $k: u8 = 3;
                $body
            }
        }
    };
}

impl<V: Simd> Interpreter<'_, V> {
    /// A real temporary.
    #[inline(always)]
    unsafe fn real(&self, slot: u32, j: usize) -> V {
        // SAFETY: the caller guarantees that the slot exists and was written.
        unsafe { *self.scratch.add(slot as usize * GROUP + j) }
    }

    /// A complex temporary.
    #[inline(always)]
    unsafe fn complex(&self, slot: u32, j: usize) -> Cx<V> {
        // SAFETY: the caller guarantees that the slots exist and were written.
        unsafe { Cx::new(self.real(slot, j), self.real(slot + 1, j)) }
    }

    #[inline(always)]
    unsafe fn put_real(&self, slot: u32, j: usize, x: V) {
        // SAFETY: the caller guarantees that the slot exists.
        unsafe { self.scratch.add(slot as usize * GROUP + j).write(x) }
    }

    #[inline(always)]
    unsafe fn put(&self, slot: u32, j: usize, z: Cx<V>) {
        // SAFETY: the caller guarantees that the slots exist.
        unsafe {
            self.put_real(slot, j, z.re);
            self.put_real(slot + 1, j, z.im);
        }
    }

    /// An address in an operation.
    #[inline(always)]
    unsafe fn address(&self, operand: usize, j: usize) -> u32 {
        // SAFETY: the caller guarantees that the operand exists.
        unsafe { *self.addresses.get_unchecked(j * self.length + operand) }
    }

    #[inline(always)]
    #[expect(clippy::too_many_lines, reason = "a case for each instruction")]
    unsafe fn execute(&self, code: &[Instruction]) {
        for instruction in code {
            let &Instruction {
                action,
                to,
                a,
                b,
                c,
                d,
            } = instruction;
            // SAFETY: all slots in the code are within the scratch memory and written before they are read, and all
            // operands are within the operation.
            unsafe {
                match action {
                    Action::Load => each!(self, j => self.put_real(
                        to, j, self.memory.real(self.address(a as usize, j) + b))),
                    Action::LoadComplex => each!(self, j => self.put(
                        to, j, self.memory.complex(self.address(a as usize, j) + b))),
                    Action::Const(x) => {
                        let x = V::splat(V::Scalar::from_f64(x));
                        each!(self, j => self.put_real(to, j, x));
                    }
                    Action::RealAdd => each!(self, j => self.put_real(
                        to, j, self.real(a, j) + self.real(b, j))),
                    Action::RealSub => each!(self, j => self.put_real(
                        to, j, self.real(a, j) - self.real(b, j))),
                    Action::RealMul => each!(self, j => self.put_real(
                        to, j, self.real(a, j) * self.real(b, j))),
                    Action::RealMulAdd => each!(self, j => self.put_real(
                        to, j, self.real(a, j).mul_add(self.real(b, j), self.real(c, j)))),
                    Action::RealNegMulAdd => each!(self, j => self.put_real(
                        to, j, self.real(a, j).neg_mul_add(self.real(b, j), self.real(c, j)))),
                    Action::RealMulSub => each!(self, j => self.put_real(
                        to, j, self.real(a, j).mul_sub(self.real(b, j), self.real(c, j)))),
                    Action::Make => each!(self, j => self.put(
                        to, j, Cx::new(self.real(a, j), self.real(b, j)))),
                    Action::MakeConj => each!(self, j => self.put(
                        to, j, Cx::new(self.real(a, j), -self.real(b, j)))),
                    Action::Add(n) => powers!(n, K => each!(self, j => {
                        let (x, y) = (self.complex(a, j), self.complex(b, j));
                        self.put(to, j, match K {
                            0 => x + y,
                            1 => x.add_i(y),
                            2 => x - y,
                            _ => x.sub_i(y),
                        })
                    })),
                    Action::AddReal(n) => powers!(n, K => each!(self, j => {
                        let (z, r) = (self.complex(a, j), self.real(b, j));
                        self.put(to, j, match K {
                            0 => Cx::new(z.re + r, z.im),
                            1 => Cx::new(z.re, z.im + r),
                            2 => Cx::new(z.re - r, z.im),
                            _ => Cx::new(z.re, z.im - r),
                        })
                    })),
                    Action::Mul => each!(self, j => self.put(
                        to, j, self.complex(a, j) * self.complex(b, j))),
                    Action::Scale => each!(self, j => self.put(
                        to, j, self.complex(b, j).scale(self.real(a, j)))),
                    Action::MulAdd(n) => powers!(n, K => each!(self, j => self.put(
                        to, j, mul_add_turned(
                            K, self.complex(a, j), self.complex(b, j), self.complex(c, j))))),
                    Action::MulAddTurned(n) => each!(self, j => self.put(
                        to, j, self.complex(a, j).mul_add(
                            self.complex(b, j), turn(n, self.complex(c, j))))),
                    Action::ScaleAdd(n) => powers!(n, K => each!(self, j => self.put(
                        to, j, scale_add_turned(
                            K, self.real(a, j), self.complex(b, j), self.complex(c, j))))),
                    Action::ScaleAddTurned(n) => each!(self, j => self.put(
                        to, j, self.complex(b, j).scale_add(
                            self.real(a, j), turn(n, self.complex(c, j))))),
                    Action::RealInverse => each!(self, j => {
                        let x = self.real(a, j);
                        self.put_real(to, j, x.same(1.0) / x)
                    }),
                    Action::Inverse => each!(self, j => {
                        let z = self.complex(a, j);
                        let size = z.re.mul_add(z.re, z.im * z.im);
                        let inverse = size.same(1.0) / size;
                        self.put(to, j, Cx::new(z.re * inverse, -z.im * inverse))
                    }),
                    Action::Conj => each!(self, j => {
                        let z = self.complex(a, j);
                        self.put(to, j, Cx::new(z.re, -z.im))
                    }),
                    Action::Re => each!(self, j => self.put_real(to, j, self.real(a, j))),
                    Action::Im => each!(self, j => self.put_real(to, j, self.real(a + 1, j))),
                    Action::RealNeg => each!(self, j => self.put_real(to, j, -self.real(a, j))),
                    Action::Turn(n) => each!(self, j => self.put(
                        to, j, turn(n, self.complex(a, j)))),
                    Action::Widen => {
                        let zero = V::zero();
                        each!(self, j => self.put(to, j, Cx::new(self.real(a, j), zero)));
                    }
                    Action::Sqrt => each!(self, j => self.put_real(to, j, self.real(a, j).sqrt())),
                    Action::Abs => each!(self, j => self.put_real(to, j, self.real(a, j).abs())),
                    Action::Binary(binary) => each!(self, j => {
                        let (x, y) = (self.real(a, j), self.real(b, j));
                        self.put_real(to, j, match binary {
                            Binary::Max => x.max(y),
                            Binary::Min => x.min(y),
                            Binary::Sign => x.copysign(y),
                        })
                    }),
                    Action::RealSelect(which) => each!(self, j => {
                        let mask = test(which, self.real(a, j), self.real(b, j));
                        self.put_real(to, j, V::select(mask, self.real(c, j), self.real(d, j)))
                    }),
                    Action::Select(which) => each!(self, j => {
                        let mask = test(which, self.real(a, j), self.real(b, j));
                        let (yes, no) = (self.complex(c, j), self.complex(d, j));
                        self.put(to, j, Cx::new(
                            V::select(mask, yes.re, no.re),
                            V::select(mask, yes.im, no.im),
                        ))
                    }),
                    Action::Elementary(function) => {
                        each!(self, j => self.lanewise(function, to, a, b, j));
                    }
                    Action::Store(n) => each!(self, j => self.memory.put_complex(
                        self.address(self.length - 1, j) + 2 * b,
                        turn(n, self.complex(a, j)))),
                    Action::StoreReal(n) => {
                        let zero = V::zero();
                        each!(self, j => self.memory.put_complex(
                            self.address(self.length - 1, j) + 2 * b,
                            turn(n, Cx::new(self.real(a, j), zero))));
                    }
                    Action::StoreZero => {
                        let zero = V::zero();
                        each!(self, j => self.memory.put_complex(
                            self.address(self.length - 1, j) + 2 * b,
                            Cx::new(zero, zero)));
                    }
                }
            }
        }
    }

    /// Evaluates a function lane by lane.
    #[inline(always)]
    unsafe fn lanewise(&self, function: Elementary, to: u32, a: u32, b: u32, j: usize) {
        // SAFETY: as for the caller; the lanes of a vector are contiguous in memory.
        unsafe {
            let [a, b, to] = [self.slot(a, j), self.slot(b, j), self.slot(to, j)];
            let imaginary = GROUP * V::LANES;
            for lane in 0..V::LANES {
                let a =
                    Complex64::new((*a.add(lane)).to_f64(), (*a.add(imaginary + lane)).to_f64());
                let b =
                    Complex64::new((*b.add(lane)).to_f64(), (*b.add(imaginary + lane)).to_f64());
                let result = evaluate_elementary(function, a, b);
                to.add(lane).write(V::Scalar::from_f64(result.re));
                to.add(imaginary + lane)
                    .write(V::Scalar::from_f64(result.im));
            }
        }
    }

    /// Pointer to the lanes of a slot; the next slot is `GROUP` vectors further on.
    #[inline(always)]
    unsafe fn slot(&self, slot: u32, j: usize) -> *mut V::Scalar {
        // SAFETY: as for the caller.
        unsafe { self.scratch.add(slot as usize * GROUP + j).cast() }
    }
}
