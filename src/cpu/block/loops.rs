//! Loops over helicities ([`crate::plan::loops`]).

use super::Blocks;
use crate::ops::kernels::{Arrays, Memory, Shuffles};
use crate::plan::loops::{Loops, NO_HELICITY};
use crate::simd::{Real, Simd};
use std::time::Instant;

impl<T: Real> Blocks<'_, '_, T> {
    /// JAMPs and |M|^2 of all helicities; JAMP2 where `colors` says so.
    #[inline(always)]
    pub(super) unsafe fn loops<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        loops: &Loops,
        colors: bool,
    ) {
        let base = self.worker.vectors();
        let arrays = |ops, shifts| Arrays {
            ops,
            pools: &loops.pools,
            shifts,
            base,
        };
        let profile = self.worker.profile;
        let each = self.worker.each.is_some();
        let noted = self.worker.each.as_ref().map_or(0, |each| each.jamp2.len());
        let mut done = 0;
        let start = profile.then(Instant::now);
        // SAFETY: a valid plan, whose operations stay within the memory.
        unsafe {
            if let Some(none) = loops.runs.first() {
                V::call(arrays(&loops.once, none));
            }
            if let Some(start) = start {
                self.worker.timers.amplitudes += start.elapsed();
            }
            let rows = loops.rows.chunks_exact(loops.helicities as usize);
            for (shifts, rows) in loops.runs.iter().zip(rows) {
                let start = profile.then(Instant::now);
                V::call(arrays(&loops.each, shifts));
                if let Some(start) = start {
                    self.worker.timers.amplitudes += start.elapsed();
                }
                for (&h, element) in rows.iter().zip(0..) {
                    if h == NO_HELICITY {
                        continue;
                    }
                    if each {
                        self.clear(m);
                    }
                    let at = loops.jamps + element * loops.strides[1];
                    let mine = m.shifted(at - self.engine.plan.jamp_base);
                    if !loops.shuffles.is_empty() {
                        let start = profile.then(Instant::now);
                        V::call(Shuffles {
                            ops: &loops.shuffles,
                            pools: &loops.pools,
                            element,
                            base,
                            to: m.pointer(at),
                        });
                        if let Some(start) = start {
                            self.worker.timers.amplitudes += start.elapsed();
                        }
                    }
                    self.square(m, mine, h, done, colors);
                    done += 1;
                    if each {
                        self.note_each(m);
                    }
                }
            }
            self.not_evaluated(m, loops, colors, noted);
        }
    }

    /// What follows from helicities that are evaluated, and what vanishes; `noted` numbers of JAMP2 were there before.
    #[inline(always)]
    unsafe fn not_evaluated<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        loops: &Loops,
        colors: bool,
        noted: usize,
    ) {
        let scratch = &self.engine.scratch;
        let flows = self.engine.color_flows();
        if let Some(each) = &mut self.worker.each {
            // There is no AMP2 without diagrams.
            if !loops.reversed.is_empty() {
                let behind = each.jamp2.len();
                each.jamp2.extend_from_within(noted..);
                for jamp2 in &mut each.jamp2[behind..] {
                    *jamp2 *= loops.ratio;
                }
            }
            let vanishing = loops.vanishing.len() * flows;
            each.jamp2.resize(each.jamp2.len() + vanishing, 0.0);
        }
        // SAFETY: addresses of the scratch.
        unsafe {
            let ratio = V::splat(T::from_f64(loops.ratio));
            for &h in &loops.vanishing {
                m.put_real(scratch.matrix_elements + h, V::zero());
            }
            if loops.reversed.is_empty() {
                return;
            }
            for (h, r) in loops.pairs() {
                let contribution = m.real(scratch.matrix_elements + h);
                m.put_real(scratch.matrix_elements + r, contribution * ratio);
            }
            if colors {
                for flow in 0..flows as u32 {
                    let sum = m.real(scratch.jamp2 + flow);
                    m.put_real(scratch.jamp2 + flow, ratio.mul_add(sum, sum));
                }
            }
        }
    }
}
