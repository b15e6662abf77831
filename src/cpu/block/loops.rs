//! Loops over helicities ([`crate::plan::loops`]).

use super::{Blocks, lane_of};
use crate::ops::arrays::TOGETHER;
use crate::ops::kernels::{Arrays, Memory, Shuffles};
use crate::plan::loops::{Loops, NO_HELICITY, Weight};
use crate::simd::{Cx, Real, Simd};
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
            for weight in loops.weights.iter().flatten() {
                weigh(m, weight);
            }
            if let Some(start) = start {
                self.worker.timers.amplitudes += start.elapsed();
            }
            let mut place = 0;
            for shifts in &loops.runs {
                let start = profile.then(Instant::now);
                V::call(arrays(&loops.each, shifts));
                if let Some(start) = start {
                    self.worker.timers.amplitudes += start.elapsed();
                }
                for element in 0..loops.helicities {
                    let at = loops.jamps + element * loops.strides[1];
                    let together = TOGETHER.min(loops.helicities - element);
                    if !loops.shuffles.is_empty()
                        && element % TOGETHER == 0
                        && (place..place + together as usize)
                            .any(|place| loops.both(place) != [NO_HELICITY; 2])
                    {
                        let start = profile.then(Instant::now);
                        V::call(Shuffles {
                            ops: &loops.shuffles,
                            pools: &loops.pools,
                            shifts,
                            elements: [element, together],
                            base,
                            to: m.pointer(at),
                            stride: loops.strides[1],
                        });
                        if let Some(start) = start {
                            self.worker.timers.amplitudes += start.elapsed();
                        }
                    }
                    let both = loops.both(place);
                    place += 1;
                    let Some(h) = both.into_iter().find(|&h| h != NO_HELICITY) else {
                        continue;
                    };
                    if each {
                        self.clear(m);
                    }
                    let mine = m.shifted(at - self.engine.plan.jamp_base);
                    // Of single helicities JAMP2 is noted without weight.
                    let weight = match colors && !each {
                        true => total(m, loops, element, both),
                        false => None,
                    };
                    self.square(m, mine, h, done, colors, weight);
                    done += 1;
                    if each {
                        self.note_each(m);
                    }
                }
            }
            self.weigh_helicities(m, loops, noted);
        }
    }

    /// Weights of what was computed, what follows from it, and what vanishes; `noted` numbers of JAMP2 were there before.
    #[inline(always)]
    unsafe fn weigh_helicities<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        loops: &Loops,
        noted: usize,
    ) {
        let matrix_elements = self.engine.scratch.matrix_elements;
        let flows = self.engine.color_flows();
        // SAFETY: addresses of the plan and the scratch.
        unsafe {
            for &h in &loops.vanishing {
                m.put_real(matrix_elements + h, V::zero());
            }
            // There is no AMP2 without diagrams.
            let mut jamp2 = self.worker.each.as_mut().map(|each| &mut each.jamp2);
            let size = match &jamp2 {
                Some(jamp2) => (jamp2.len() - noted) / loops.evaluated().count().max(1),
                None => 0,
            };
            let mut at = noted;
            let mut behind = Vec::new();
            for place in 0..loops.rows.len() {
                let both = loops.both(place);
                let Some(h) = both.into_iter().find(|&h| h != NO_HELICITY) else {
                    continue;
                };
                let contribution = m.real(matrix_elements + h);
                let weights = loops.weights(place as u32 % loops.helicities);
                for (i, other) in (0..).zip(both).filter(|(_, other)| *other != NO_HELICITY) {
                    let weighted = match weights {
                        Some(weights) => contribution * m.real(weights[i].address),
                        None => contribution,
                    };
                    m.put_real(matrix_elements + other, weighted);
                }
                if let Some(jamp2) = &mut jamp2 {
                    // All of it is of one event.
                    let weight =
                        |i: usize| weights.map_or(1.0, |w| (*lane_of(m, w[i].address, 0)).to_f64());
                    let own = &mut jamp2[at..at + size];
                    if !both.contains(&NO_HELICITY) {
                        behind.extend(own.iter().map(|x| x * weight(1)));
                    }
                    let weight = weight(usize::from(both[0] == NO_HELICITY));
                    own.iter_mut().for_each(|x| *x *= weight);
                    at += size;
                }
            }
            if let Some(jamp2) = jamp2 {
                jamp2.append(&mut behind);
                jamp2.resize(jamp2.len() + loops.vanishing.len() * flows, 0.0);
            }
        }
    }
}

/// The square of a sum of products.
#[inline(always)]
unsafe fn weigh<V: Simd>(m: Memory<V>, weight: &Weight) {
    // SAFETY: addresses of the plan.
    unsafe {
        let mut sum = Cx::new(V::zero(), V::zero());
        for product in &weight.products {
            let mut z = Cx::new(V::splat(V::Scalar::from_f64(1.0)), V::zero());
            for &factor in product {
                z = z * m.complex(factor);
            }
            sum = sum + z;
        }
        m.put_real(weight.address, sum.re.mul_add(sum.re, sum.im * sum.im));
    }
}

/// What the squares of a helicity's JAMPs count for itself and the one with all legs reversed; none: 1.
#[inline(always)]
unsafe fn total<V: Simd>(m: Memory<V>, loops: &Loops, element: u32, both: [u32; 2]) -> Option<V> {
    let weights = loops.weights(element);
    if weights.is_none() && both.contains(&NO_HELICITY) {
        return None;
    }
    // SAFETY: addresses of the plan.
    unsafe {
        let mut total = V::zero();
        for (i, _) in (0..).zip(both).filter(|(_, h)| *h != NO_HELICITY) {
            let weight = match weights {
                Some(weights) => m.real(weights[i].address),
                None => V::splat(V::Scalar::from_f64(1.0)),
            };
            total = total + weight;
        }
        Some(total)
    }
}
