//! Operations on spinors of one chirality ([`Spinors`]).

use super::super::ffv::{add_vertex, propagate_first, propagate_second};
use super::ArrayContext;
use crate::arrays::{
    ArrayOp, CHIRAL, ChiralContract, ChiralLine, MasslessPropagator, Spinors, Unrolled,
};
use mebridge_simd::{Cx, Simd};

/// Requirements of all methods: the operation is valid, see [`super::ArraysTask`].
impl<V: Simd> ArrayContext<'_, V> {
    #[inline(always)]
    pub(super) unsafe fn chiral_line<const IN: bool>(&self, op: &ArrayOp, line: &ChiralLine) {
        // SAFETY: the operation is valid.
        unsafe {
            match line.spinors {
                Spinors::First => self.spinors::<IN, true>(op, line),
                Spinors::Second => self.spinors::<IN, false>(op, line),
            }
        }
    }

    #[inline(always)]
    pub(super) unsafe fn chiral_contract(&self, op: &ArrayOp, contract: &ChiralContract) {
        // SAFETY: the operation is valid.
        unsafe {
            match contract.unrolled {
                Unrolled(3) => self.chiral_products::<3>(op, contract),
                Unrolled(2) => self.chiral_products::<2>(op, contract),
                _ => self.chiral_products::<1>(op, contract),
            }
        }
    }

    /// Both components of a spinor of one chirality.
    #[inline(always)]
    unsafe fn two(&self, element: u32) -> [Cx<V>; 2] {
        // SAFETY: the operation is valid.
        unsafe { [self.part(element, 0), self.part(element, 1)] }
    }

    /// Spinors of which only the first or the last two components are stored: a vertex exchanges them, and a massless
    /// propagator exchanges them back.
    #[inline(always)]
    unsafe fn spinors<const IN: bool, const FIRST: bool>(&self, op: &ArrayOp, line: &ChiralLine) {
        // SAFETY: the operation is valid.
        unsafe {
            // Includes the propagator, which is real.
            let p = match line.propagator {
                Some(MasslessPropagator { inverse, momentum }) => {
                    let ([e, x, y, z], inverse) =
                        (self.m.momentum(momentum.0), self.m.real(inverse.0));
                    [e * inverse, x * inverse, y * inverse, z * inverse]
                }
                None => [V::zero(); 4],
            };
            // Two at a time, so that the operands of a pair are read once for both.
            let halves = op.count / 2;
            for i in 0..halves {
                self.chiral_spinors::<IN, FIRST, 2>(op.out, line, 2 * i, p);
            }
            if op.count % 2 == 1 {
                self.chiral_spinors::<IN, FIRST, 1>(op.out, line, op.count - 1, p);
            }
        }
    }

    /// Computes `N` elements from `first` on; `p` is the momentum over its square.
    #[inline(always)]
    unsafe fn chiral_spinors<const IN: bool, const FIRST: bool, const N: usize>(
        &self,
        out: u32,
        line: &ChiralLine,
        first: u32,
        p: [V; 4],
    ) {
        // SAFETY: the operation is valid.
        unsafe {
            let mut sums = [[Cx::new(V::zero(), V::zero()); 2]; N];
            for pair in self.pairs(line.pairs) {
                for (sum, r) in sums.iter_mut().zip(first..) {
                    let v = self.m.four(self.element(&pair.b, r));
                    let f = self.two(self.element(&pair.a, r));
                    *sum = add_vertex::<V, IN, FIRST>(*sum, v, f);
                }
            }
            for pair in self.pairs(line.less.0) {
                for (sum, r) in sums.iter_mut().zip(first..) {
                    let v = self.m.four(self.element(&pair.b, r));
                    let [x, y] = self.two(self.element(&pair.a, r));
                    *sum = add_vertex::<V, IN, FIRST>(*sum, v, [-x, -y]);
                }
            }
            for (mut sum, r) in sums.into_iter().zip(first..) {
                if line.propagator.is_some() {
                    sum = match FIRST {
                        true => propagate_first::<V, IN>(sum, p),
                        false => propagate_second::<V, IN>(sum, p),
                    };
                }
                self.m.put_two(out + r * CHIRAL, sum);
            }
        }
    }

    /// Products of spinors with two components, for `K` elements at a time that share the first spinor of a pair.
    #[inline(always)]
    unsafe fn chiral_products<const K: usize>(&self, op: &ArrayOp, contract: &ChiralContract) {
        // SAFETY: the operation is valid.
        unsafe {
            let apart = op.count / K as u32;
            for r in 0..apart {
                let mut sums = [Cx::new(V::zero(), V::zero()); K];
                for pair in self.pairs(contract.pairs) {
                    let [x, y] = self.two(self.element(&pair.a, r));
                    let mut at = r;
                    for sum in &mut sums {
                        let b = self.element(&pair.b, at);
                        *sum = x.mul_add(self.part(b, 0), y.mul_add(self.part(b, 1), *sum));
                        at += apart;
                    }
                }
                let mut at = r;
                for sum in sums {
                    self.m.put_complex(op.out + at * contract.stride.0, sum);
                    at += apart;
                }
            }
        }
    }
}
