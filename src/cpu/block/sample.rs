//! What a sampler asks beyond a matrix element: all squared diagrams, one of them drawn, the colour flow by it, the
//! contribution of one helicity. Counted from 0.

use super::answer::{choose, put_doubles, spread};
use super::{Blocks, lane_of};
use crate::ops::kernels::Memory;
use crate::simd::{Real, Simd};

impl<T: Real> Blocks<'_, '_, T> {
    /// For each lane what a helicity of its own contributes; nothing where it is not one of the good ones.
    #[inline(always)]
    pub(super) unsafe fn contribution<V: Simd<Scalar = T>>(
        &self,
        m: Memory<V>,
        helicity: &[i32],
    ) -> V {
        let scratch = &self.engine.scratch;
        let good = &self.engine.plan.helicities;
        // SAFETY: addresses of the scratch; lanes below `LANES`.
        unsafe {
            for lane in 0..V::LANES {
                let row = helicity[lane.min(helicity.len() - 1)];
                let place = good.binary_search(&(row as u32));
                let value = place.map_or(T::from_f64(0.0), |h| {
                    *lane_of(m, scratch.matrix_elements + h as u32, lane)
                });
                *lane_of(m, scratch.lanes, lane) = value;
            }
            m.real(scratch.lanes)
        }
    }

    /// Shares of the squared diagrams, and the choices of diagram and colour.
    #[inline(always)]
    pub(super) unsafe fn sampled<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        first: usize,
        count: usize,
    ) {
        let engine = self.engine;
        let scratch = &engine.scratch;
        let Some(sample) = &mut self.sample else {
            return;
        };
        let asked = sample.asked;
        // Choices count from 1 so far, 0 stands for none.
        let from_zero = |choices: &mut [i32]| {
            for choice in choices {
                *choice = (*choice - 1).max(0);
            }
        };
        let helicity = &mut self.answers.helicity[first..first + count];
        match asked.helicity {
            Some(fixed) => helicity.copy_from_slice(&fixed[first..first + count]),
            None => from_zero(helicity),
        }
        if asked.diagrams {
            let parts = engine.drawn.iter();
            let parts = parts.map(|&(diagram, amp2)| (diagram, scratch.numerators + amp2));
            // SAFETY: addresses of the scratch; lanes below `LANES`.
            unsafe {
                let mut total = V::zero();
                for (_, address) in parts.clone() {
                    total = total + m.real(address);
                }
                if let Some(rows) = &mut sample.amp2 {
                    let zero = V::zero();
                    let finite = total.lt(zero.same(f64::INFINITY));
                    let finite = V::both(zero.lt(total), finite);
                    let mut next = 0;
                    for (diagram, address) in parts.clone() {
                        for without in next..diagram as usize {
                            rows.row(without)[first..first + count].fill(0.0);
                        }
                        next = diagram as usize + 1;
                        let share = V::select(finite, m.real(address) / total, zero);
                        let row = &mut rows.row(diagram as usize)[first..first + count];
                        put_doubles(m, scratch.lanes, share, row);
                    }
                    for without in next..rows.count() {
                        rows.row(without)[first..first + count].fill(0.0);
                    }
                }
                let random_diagram = asked.random_diagram;
                let random = self.lanes(m, first, count, random_diagram);
                let chosen = choose(m, random, total, parts);
                m.put_real(scratch.lanes, chosen);
            }
            let Some(sample) = &mut self.sample else {
                return;
            };
            let diagram = &mut sample.diagram[first..first + count];
            match asked.diagram {
                Some(fixed) => diagram.copy_from_slice(&fixed[first..first + count]),
                None => {
                    let none = engine.drawn.first().map_or(0, |&(diagram, _)| diagram);
                    // SAFETY: an address of the scratch.
                    unsafe {
                        spread(m, scratch.lanes, diagram, |x| match x.to_f64() as i32 {
                            0 => none as i32,
                            chosen => chosen - 1,
                        });
                    }
                }
            }
            let all = engine.color_allowed.len() as u32 - 1;
            let config = |&diagram: &i32| {
                let config = engine.config_of_channel.get(diagram as usize + 1);
                Some(config.copied().flatten().unwrap_or(all))
            };
            self.worker.configs.clear();
            self.worker.configs.extend(diagram.iter().map(config));
            // SAFETY: as above.
            unsafe { self.colors(m, first, count) };
            for lane in 0..count {
                let color = &mut self.answers.color[first + lane];
                if *color > 0 {
                    *color -= 1;
                } else if let Some(config) = self.worker.configs[lane] {
                    let allowed = &engine.color_allowed[config as usize];
                    *color = allowed.first().map_or(0, |&flow| flow as i32);
                }
            }
        }
        self.refuse(first, count);
    }

    /// Takes the answers of bad events back.
    #[inline(always)]
    fn refuse(&mut self, first: usize, count: usize) {
        let bad = self.worker.bad;
        let Some(sample) = &mut self.sample else {
            return;
        };
        if bad == 0 {
            return;
        }
        for event in (0..count).filter(|lane| bad >> lane & 1 == 1) {
            let event = first + event;
            sample.bad.note(event);
            self.answers.matrix_elements[event] = f64::NAN;
            if let Some(rows) = &mut sample.amp2 {
                for diagram in 0..rows.count() {
                    rows.row(diagram)[event] = 0.0;
                }
            }
        }
    }
}
