//! Outputs of a sample beyond the matrix element: all squared diagrams, one of them drawn, a colour flow for it, and
//! the contribution of a single helicity. If nothing can be chosen, index 0 is.

use super::answer::put_doubles;
use super::choice::{MAX_LANES, choose};
use super::{EventBlocks, Sampled, lane_of};
use mebridge_backend::inputs::NONE;
use mebridge_ops::kernels::Memory;
use mebridge_simd::{Real, Simd};

impl<T: Real> EventBlocks<'_, '_, T> {
    /// For each lane, the contribution of the helicity requested for its event; zero if it is not a good one.
    #[inline(always)]
    pub(super) unsafe fn contribution<V: Simd<Scalar = T>>(
        &self,
        m: Memory<V>,
        helicity: &[i32],
    ) -> V {
        let scratch = &self.engine.scratch;
        let good = &self.engine.plan.helicities;
        // SAFETY: addresses of the scratch lie within the worker's memory; lanes are below `LANES`.
        unsafe {
            for lane in 0..V::LANES {
                let row = helicity[lane.min(helicity.len() - 1)];
                *lane_of(m, scratch.lanes, lane) = match good.binary_search(&(row as u32)) {
                    Ok(h) => *lane_of(m, scratch.matrix_elements + h as u32, lane),
                    Err(_) => T::from_f64(0.0),
                };
            }
            m.real(scratch.lanes)
        }
    }

    /// Computes the shares of the squared diagrams and chooses diagram and colour.
    #[inline(always)]
    pub(super) unsafe fn sampled<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        first: usize,
        count: usize,
    ) {
        let engine = self.engine;
        let scratch = &engine.scratch;
        let Some(Sampled { request, .. }) = self.sample else {
            return;
        };
        let helicity = &mut self.outputs.helicity[first..first + count];
        match request.helicity {
            Some(fixed) => helicity.copy_from_slice(&fixed[first..first + count]),
            None => put_first(helicity, 0),
        }
        if request.diagrams {
            let parts = engine.drawn.iter().copied();
            // SAFETY: the address of the scratch lies within the worker's memory.
            let random = unsafe { self.lanes(m, first, count, request.random_diagram) };
            let Some(sample) = &mut self.sample else {
                return;
            };
            let diagram = &mut sample.diagram[first..first + count];
            // SAFETY: addresses of the scratch lie within the worker's memory; lanes are below `LANES`.
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
                let chosen = choose(m, random, total, parts);
                chosen.store(m, scratch.lanes, diagram);
            }
            match (request.diagram, engine.drawn.first()) {
                (Some(fixed), _) => diagram.copy_from_slice(&fixed[first..first + count]),
                (None, Some(&(first, _))) => put_first(diagram, first as i32),
                (None, None) => diagram.fill(0),
            }
            let all = engine.color_allowed.len() - 1;
            let mut configs = [NONE; MAX_LANES];
            for (config, &diagram) in configs.iter_mut().zip(diagram.iter()) {
                *config = match engine.config_of_diagram.get(diagram as usize) {
                    Some(Some(config)) => *config as i32,
                    _ => all as i32,
                };
            }
            let configs = &configs[..count];
            // SAFETY: as above.
            unsafe {
                self.colors(m, first, configs);
                if let Some(leading) = &mut self.worker.leading_color {
                    let mut sum = V::zero();
                    for (flow, &factor) in (0..).zip(&engine.color_diagonal) {
                        let square = m.real(scratch.jamp2 + flow);
                        sum = square.mul_add(sum.same(factor), sum);
                    }
                    let sum = sum * sum.same(engine.normalization);
                    put_doubles(m, scratch.lanes, sum, &mut leading[first..first + count]);
                }
            }
            let color = &mut self.outputs.color[first..first + count];
            for (color, &config) in color.iter_mut().zip(configs) {
                let flow = match engine.color_allowed[config as usize].first() {
                    Some(&(flow, _)) => flow as i32,
                    None => 0,
                };
                put_first(std::slice::from_mut(color), flow);
            }
        }
        self.refuse(first, count);
    }

    /// Replaces the answers of bad events.
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
            self.outputs.matrix_elements[event] = f64::NAN;
            if let Some(rows) = &mut sample.amp2 {
                for diagram in 0..rows.count() {
                    rows.row(diagram)[event] = 0.0;
                }
            }
        }
    }
}

/// Replaces missing choices by the first index.
fn put_first(choices: &mut [i32], first: i32) {
    for choice in choices {
        if *choice == NONE {
            *choice = first;
        }
    }
}
