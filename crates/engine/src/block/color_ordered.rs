//! Evaluation of loops over helicities ([`mebridge_plan::color_ordered`]).

use super::{EventBlocks, lane_of};
use crate::worker::SingleHelicities;
use mebridge_ops::arrays::SHUFFLE_TILE;
use mebridge_ops::kernels::{ArraysTask, Memory, ShufflesTask};
use mebridge_plan::color_ordered::{Loops, NO_HELICITY, Weight};
use mebridge_simd::{Cx, Real, Simd};
use std::time::Instant;

impl<T: Real> EventBlocks<'_, '_, T> {
    /// Computes JAMPs and |M|^2 of all helicities, and JAMP2 if `colors` is set.
    #[inline(always)]
    pub(super) unsafe fn loops<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        loops: &Loops,
        colors: bool,
    ) {
        let base = self.worker.vectors();
        let pools = &loops.pools;
        let profile = self.worker.profile;
        let each = self.worker.single_helicities.is_some();
        let noted = match &self.worker.single_helicities {
            Some(each) => each.jamp2.len(),
            None => 0,
        };
        let mut done = 0;
        let start = profile.then(Instant::now);
        // SAFETY: a valid plan, whose operations stay within the memory.
        unsafe {
            if let Some(none) = loops.runs.first() {
                V::call(ArraysTask {
                    ops: &loops.once,
                    pools,
                    shifts: none,
                    base,
                });
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
                V::call(ArraysTask {
                    ops: &loops.per_run,
                    pools,
                    shifts,
                    base,
                });
                if let Some(start) = start {
                    self.worker.timers.amplitudes += start.elapsed();
                }
                for element in 0..loops.helicities {
                    let at = loops.jamps + element * loops.strides[1];
                    let together = SHUFFLE_TILE.min(loops.helicities - element);
                    if !loops.shuffles.is_empty()
                        && element % SHUFFLE_TILE == 0
                        && loops.is_evaluated(place, together)
                    {
                        let start = profile.then(Instant::now);
                        V::call(ShufflesTask {
                            ops: &loops.shuffles,
                            pools,
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
                    let both = loops.helicity_pair(place);
                    let evaluated = loops.evaluated_at(place);
                    place += 1;
                    let Some(h) = evaluated else {
                        continue;
                    };
                    if each {
                        self.clear(m);
                    }
                    let local = m.shifted(at - self.engine.plan.jamp_base);
                    if colors {
                        let start = profile.then(Instant::now);
                        // JAMP2 of single helicities is recorded without weights, which are applied later.
                        let weight = match each {
                            true => None,
                            false => total(m, loops, element, both),
                        };
                        self.squares_of_loops(m, local, loops, weight);
                        if let Some(start) = start {
                            self.worker.timers.amplitudes += start.elapsed();
                        }
                    }
                    self.color_sum(m, local, h, done);
                    done += 1;
                    if each {
                        self.note_each(m, local);
                    }
                }
            }
            self.weigh_helicities(m, loops, noted);
        }
    }

    /// Adds the squares of a helicity's flows, times a weight, to JAMP2. `local` is the memory at this helicity's
    /// offset.
    #[inline(always)]
    unsafe fn squares_of_loops<V: Simd<Scalar = T>>(
        &self,
        m: Memory<V>,
        local: Memory<V>,
        loops: &Loops,
        weight: Option<V>,
    ) {
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            let jamps = local.shifted(self.engine.plan.jamp_base);
            let sums = m.shifted(self.engine.scratch.jamp2);
            if loops.flows.is_empty() {
                for flow in 0..self.engine.plan.flows as u32 {
                    add_square(sums, flow, jamps.complex(2 * flow), weight);
                }
            }
            for (terms, flow) in loops.flows.iter().zip(0..) {
                let mut sum = Cx::new(V::zero(), V::zero());
                for term in terms {
                    let jamp = jamps.complex(2 * term.jamp);
                    sum = if term.minus { sum - jamp } else { sum + jamp };
                }
                add_square(sums, flow, sum, weight);
            }
        }
    }

    /// Applies weights to the evaluated helicities, and fills in those that follow from others and those that vanish.
    /// `noted` is the number of JAMP2 recorded before this event.
    #[inline(always)]
    unsafe fn weigh_helicities<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        loops: &Loops,
        noted: usize,
    ) {
        let matrix_elements = self.engine.scratch.matrix_elements;
        let flows = self.engine.color_flows();
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            for &h in &loops.vanishing {
                m.put_real(matrix_elements + h, V::zero());
            }
            // AMP2 is not recorded, as there are no diagrams.
            let mut noted = Noted::new(self.worker.single_helicities.as_mut(), noted, loops);
            for place in 0..loops.rows.len() {
                let both = loops.helicity_pair(place);
                let Some(h) = loops.evaluated_at(place) else {
                    continue;
                };
                let contribution = m.real(matrix_elements + h);
                let weights = loops.weights(place as u32 % loops.helicities);
                // All recorded numbers are of one event.
                let mut of_event = [1.0; 2];
                for i in 0..2 {
                    if both[i] == NO_HELICITY {
                        continue;
                    }
                    let weighted = match weights {
                        Some(weights) => {
                            let weight = weights[i].address;
                            of_event[i] = (*lane_of(m, weight, 0)).to_f64();
                            contribution * m.real(weight)
                        }
                        None => contribution,
                    };
                    m.put_real(matrix_elements + both[i], weighted);
                }
                noted.weigh(both, of_event);
            }
            noted.finish(loops.vanishing.len() * flows);
        }
    }
}

/// Recorded JAMP2 of single helicities, to be weighted.
struct Noted<'a> {
    jamp2: Option<&'a mut Vec<f64>>,
    /// Numbers per helicity.
    size: usize,
    /// Where the numbers of the next helicity begin.
    at: usize,
    /// JAMP2 of helicities that follow from others, to be appended at the end.
    behind: Vec<f64>,
}

impl<'a> Noted<'a> {
    /// For an event whose numbers begin at `at`.
    fn new(each: Option<&'a mut SingleHelicities>, at: usize, loops: &Loops) -> Self {
        let jamp2 = each.map(|each| &mut each.jamp2);
        let numbers = jamp2.as_ref().map_or(0, |jamp2| jamp2.len() - at);
        Noted {
            jamp2,
            size: numbers / loops.evaluated().count().max(1),
            at,
            behind: Vec::new(),
        }
    }

    /// Weights the numbers of the next helicity, and derives those of the helicity with all legs reversed.
    fn weigh(&mut self, both: [u32; 2], weights: [f64; 2]) {
        let Some(jamp2) = &mut self.jamp2 else {
            return;
        };
        let own = &mut jamp2[self.at..self.at + self.size];
        if !both.contains(&NO_HELICITY) {
            self.behind.extend(own.iter().map(|x| x * weights[1]));
        }
        let weight = weights[usize::from(both[0] == NO_HELICITY)];
        own.iter_mut().for_each(|x| *x *= weight);
        self.at += self.size;
    }

    /// Appends the derived numbers, and `vanishing` zeros for the helicities that vanish.
    fn finish(mut self, vanishing: usize) {
        if let Some(jamp2) = self.jamp2 {
            jamp2.append(&mut self.behind);
            jamp2.resize(jamp2.len() + vanishing, 0.0);
        }
    }
}

/// Adds |z|^2, times a weight, to the sum at address `at`.
#[inline(always)]
unsafe fn add_square<V: Simd>(sums: Memory<V>, at: u32, z: Cx<V>, weight: Option<V>) {
    // SAFETY: the caller passes a valid address.
    unsafe {
        let sum = sums.real(at);
        let sum = match weight {
            Some(weight) => z.re.mul_add(z.re, z.im * z.im).mul_add(weight, sum),
            None => z.re.mul_add(z.re, z.im.mul_add(z.im, sum)),
        };
        sums.put_real(at, sum);
    }
}

/// Computes the square of a sum of products.
#[inline(always)]
unsafe fn weigh<V: Simd>(m: Memory<V>, weight: &Weight) {
    // SAFETY: addresses from the plan lie within the worker's memory.
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

/// Combined weight of the squares of a helicity's JAMPs, for itself and the helicity with all legs reversed; `None`
/// means 1.
#[inline(always)]
unsafe fn total<V: Simd>(m: Memory<V>, loops: &Loops, element: u32, both: [u32; 2]) -> Option<V> {
    let weights = loops.weights(element);
    if weights.is_none() && both.contains(&NO_HELICITY) {
        return None;
    }
    // SAFETY: addresses from the plan lie within the worker's memory.
    unsafe {
        let mut total = V::zero();
        for i in 0..2 {
            if both[i] == NO_HELICITY {
                continue;
            }
            let weight = match weights {
                Some(weights) => m.real(weights[i].address),
                None => V::splat(V::Scalar::from_f64(1.0)),
            };
            total = total + weight;
        }
        Some(total)
    }
}
