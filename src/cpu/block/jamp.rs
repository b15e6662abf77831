//! JAMP.

use crate::cpu::engine::Engine;
use crate::ops::kernels::Memory;
use crate::simd::{Cx, Simd};

/// The linear combinations that lead from amplitudes to JAMP.
#[inline(always)]
pub(in crate::cpu) unsafe fn sums<V: Simd>(m: Memory<V>, engine: &Engine<V::Scalar>) {
    let mut units = &engine.plan.jamp.units[..];
    let mut terms = &engine.jamp_terms[..];
    // SAFETY: addresses of the plan.
    unsafe {
        for sum in &engine.plan.jamp.sums {
            let mut z = Cx::new(V::zero(), V::zero());
            for &x in front(&mut units, sum.units[0]) {
                z = z + m.complex(x);
            }
            for &x in front(&mut units, sum.units[1]) {
                z = z - m.complex(x);
            }
            for &x in front(&mut units, sum.units[2]) {
                z = z.add_i(m.complex(x));
            }
            for &x in front(&mut units, sum.units[3]) {
                z = z.sub_i(m.complex(x));
            }
            for term in front(&mut terms, sum.terms) {
                z.re = V::splat(term.factor_re).mul_add(m.real(term.re), z.re);
                z.im = V::splat(term.factor_im).mul_add(m.real(term.im), z.im);
            }
            m.put_complex(sum.address, z);
        }
    }
}

/// Takes so many from the front, if there are as many.
#[inline(always)]
fn front<'a, T>(rest: &mut &'a [T], count: u32) -> &'a [T] {
    let (front, behind) = rest.split_at(rest.len().min(count as usize));
    *rest = behind;
    front
}
