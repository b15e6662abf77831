//! Answers for each event from the contributions of helicities.

use super::choice::{Choice, choose, choose_signed};
use super::{EventBlocks, Sampled, lane_of};
use crate::engine::Engine;
use mebridge_backend::inputs::NONE;
use mebridge_backend::sample::Sample;
use mebridge_ops::Address;
use mebridge_ops::kernels::Memory;
use mebridge_process::HelicitySum;
use mebridge_simd::{Real, Simd};

impl<T: Real> EventBlocks<'_, '_, T> {
    /// Computes |M|^2 and chooses helicity and colour.
    #[inline(always)]
    pub(super) unsafe fn answer<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        first: usize,
        count: usize,
    ) {
        let engine = self.engine;
        let scratch = &engine.scratch;
        let random_helicity = self.inputs.points.random_helicity;
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory; lanes are below `LANES`.
        unsafe {
            let contributions = scratch.matrix_elements..;
            let contributions = contributions.take(engine.plan.helicities.len());
            let rows = engine.plan.helicities.iter().copied();
            if !engine.beam_weights.is_empty() {
                for (row, address) in rows.clone().zip(contributions.clone()) {
                    let contribution = m.real(address);
                    let weight = contribution.same(engine.beam_weights[row as usize]);
                    m.put_real(address, contribution * weight);
                }
            }
            let mut total = V::zero();
            for address in contributions.clone() {
                total = total + m.real(address);
            }
            let random = self.lanes(m, first, count, random_helicity);
            let (total, chosen) = match engine.helicity_sum {
                HelicitySum::Positive => {
                    let chosen = choose(m, random, total, rows.zip(contributions));
                    (total, chosen)
                }
                sum => choose_signed(m, random, total, sum, rows.zip(contributions)),
            };
            let total = match &self.sample {
                Some(Sampled {
                    request:
                        Sample {
                            helicity: Some(helicity),
                            ..
                        },
                    ..
                }) => self.contribution(m, &helicity[first..first + count]),
                _ => total,
            };
            let mut value = total * total.same(engine.normalization);
            if self.inputs.channel.is_some() {
                value = value * self.channel_weights(m);
            }
            let infinity = value.same(f64::INFINITY);
            let kept = match engine.helicity_sum {
                HelicitySum::Positive => V::both(V::zero().le(value), value.lt(infinity)),
                HelicitySum::Signed | HelicitySum::Absolute => value.abs().lt(infinity),
            };
            self.worker.lost |= !V::all(kept);
            let matrix_elements = &mut self.outputs.matrix_elements[first..first + count];
            put_doubles(m, scratch.lanes, value, matrix_elements);
            let helicity = &mut self.outputs.helicity[first..first + count];
            chosen.store(m, scratch.lanes, helicity);
            if self.sample.is_some() {
                self.sampled(m, first, count);
                return;
            }
            let Some(config) = self.inputs.config else {
                self.outputs.color[first..first + count].fill(NONE);
                return;
            };
            match *config.part(first, count).one_or_each() {
                [NONE] => self.outputs.color[first..first + count].fill(NONE),
                [config] => {
                    let random = self.lanes(m, first, count, self.inputs.points.random_color);
                    let chosen = choose_color(m, engine, random, config as u32);
                    let color = &mut self.outputs.color[first..first + count];
                    chosen.store(m, scratch.lanes, color);
                }
                ref configs => self.colors(m, first, configs),
            }
        }
    }

    /// Chooses colours for the events starting at `first`, given their configurations.
    #[inline(always)]
    pub(super) unsafe fn colors<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        first: usize,
        configs: &[i32],
    ) {
        let engine = self.engine;
        let count = configs.len();
        // SAFETY: addresses of the scratch lie within the worker's memory; lanes are below `LANES`.
        unsafe {
            let random = self.lanes(m, first, count, self.inputs.points.random_color);
            let color = &mut self.outputs.color[first..first + count];
            for (lane, &config) in configs.iter().enumerate() {
                if config == NONE {
                    color[lane] = NONE;
                    continue;
                }
                // Choose once for each configuration that occurs.
                if configs[..lane].contains(&config) {
                    continue;
                }
                let chosen = choose_color(m, engine, random, config as u32).lanes();
                for other in lane..count {
                    if configs[other] == config {
                        color[other] = chosen[other];
                    }
                }
            }
        }
    }

    /// For each lane, the share of its channel in the sum of AMP2.
    #[inline(always)]
    unsafe fn channel_weights<V: Simd<Scalar = T>>(&self, m: Memory<V>) -> V {
        let scratch = &self.engine.scratch;
        // SAFETY: addresses of the scratch lie within the worker's memory; lanes are below `LANES`.
        unsafe {
            let mut numerator = m.real(scratch.numerators);
            if self.worker.amp2.len() > 1 {
                for (lane, &slot) in self.worker.slots.iter().enumerate() {
                    *lane_of(m, scratch.lanes, lane) = *lane_of(m, scratch.numerators + slot, lane);
                }
                numerator = m.real(scratch.lanes);
            }
            let denominator = m.real(scratch.denominator);
            let one = denominator.same(1.0);
            V::select(denominator.eq(V::zero()), one, numerator / denominator)
        }
    }
}

/// Chooses a flow in each lane among those that the configuration allows.
///
/// # Safety
/// The memory contains the engine's scratch, with JAMP2 computed.
#[inline(always)]
unsafe fn choose_color<V: Simd>(
    m: Memory<V>,
    engine: &Engine<V::Scalar>,
    random: V,
    config: u32,
) -> Choice<V> {
    let jamp2 = engine.color_allowed[config as usize].iter().copied();
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut total = V::zero();
        for (_, address) in jamp2.clone() {
            total = total + m.real(address);
        }
        choose(m, random, total, jamp2)
    }
}

/// Stores a vector as one number per event, for at most `LANES` events.
///
/// # Safety
/// The address is valid, and there are at most `LANES` answers.
#[inline(always)]
pub(super) unsafe fn put_doubles<V: Simd>(
    m: Memory<V>,
    at: Address,
    value: V,
    answers: &mut [f64],
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if answers.len() == V::LANES {
            value.store_doubles(answers.as_mut_ptr());
            return;
        }
        m.put_real(at, value);
        for (lane, answer) in answers.iter_mut().enumerate() {
            *answer = (*lane_of(m, at, lane)).to_f64();
        }
    }
}
