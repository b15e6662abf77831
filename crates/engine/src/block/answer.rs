//! From sums over helicities to the answer for each event.

use super::{EventBlocks, Sampled, lane_of};
use crate::engine::Engine;
use mebridge_backend::events::one_for_all;
use mebridge_backend::sample::Sample;
use mebridge_ops::Address;
use mebridge_ops::kernels::Memory;
use mebridge_process::HelicitySum;
use mebridge_simd::{Real, Simd};

impl<T: Real> EventBlocks<'_, '_, T> {
    /// |M|^2 and the choices of helicity and colour.
    #[inline(always)]
    pub(super) unsafe fn answer<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        first: usize,
        count: usize,
    ) {
        let engine = self.engine;
        let scratch = &engine.scratch;
        let random_helicity = self.events.random_helicity;
        // SAFETY: addresses of the plan and the scratch; lanes below `LANES`.
        unsafe {
            let contributions = scratch.matrix_elements..;
            let contributions = contributions.take(engine.plan.helicities.len());
            let numbers = engine.plan.helicities.iter().copied();
            if !engine.beam_weights.is_empty() {
                for (number, address) in numbers.clone().zip(contributions.clone()) {
                    let contribution = m.real(address);
                    let weight = contribution.same(engine.beam_weights[number as usize]);
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
                    let chosen = choose(m, random, total, numbers.zip(contributions));
                    (total, chosen)
                }
                sum => choose_signed(m, random, total, sum, numbers.zip(contributions)),
            };
            let total = match &self.sample {
                Some(Sampled {
                    asked:
                        Sample {
                            helicity: Some(helicity),
                            ..
                        },
                    ..
                }) => self.contribution(m, &helicity[first..first + count]),
                _ => total,
            };
            let mut value = total * total.same(engine.normalization);
            if self.events.channels.is_some() {
                value = value * self.channel_weights(m);
            }
            let answers = &mut self.answers.matrix_elements[first..first + count];
            put_doubles(m, scratch.lanes, value, answers);
            let answers = &mut self.answers.helicity[first..first + count];
            put_integers(m, scratch.lanes, chosen, answers);
            if self.sample.is_some() {
                self.sampled(m, first, count);
                return;
            }
            if self.events.channels.is_none() && self.events.igraph.is_none() {
                self.answers.color[first..first + count].fill(0);
                return;
            }
            if let Some(config) = self.one_configuration(first, count) {
                let Some(config) = config else {
                    self.answers.color[first..first + count].fill(0);
                    return;
                };
                let random = self.lanes(m, first, count, self.events.random_color);
                let chosen = choose_color(m, engine, random, config);
                let answers = &mut self.answers.color[first..first + count];
                put_integers(m, scratch.lanes, chosen, answers);
                return;
            }
            self.configurations(first, count);
            self.colors(m, first, count);
        }
    }

    /// The choices of colour by the configurations of the block's events.
    #[inline(always)]
    pub(super) unsafe fn colors<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        first: usize,
        count: usize,
    ) {
        let engine = self.engine;
        let scratch = &engine.scratch;
        // SAFETY: addresses of the scratch; lanes below `LANES`.
        unsafe {
            let random = self.lanes(m, first, count, self.events.random_color);
            for lane in 0..count {
                self.answers.color[first + lane] = 0;
                // Once for each configuration that occurs.
                let Some(config) = self.worker.configs[lane] else {
                    continue;
                };
                let configs = &self.worker.configs;
                let mut same = 0;
                while configs[same] != Some(config) {
                    same += 1;
                }
                let choices = scratch.choices + same as u32;
                if same == lane {
                    m.put_real(choices, choose_color(m, engine, random, config));
                }
                let chosen = (*lane_of(m, choices, lane)).to_f64();
                self.answers.color[first + lane] = chosen as i32;
            }
        }
    }

    /// For each lane the share of its channel in the sum of AMP2.
    #[inline(always)]
    unsafe fn channel_weights<V: Simd<Scalar = T>>(&self, m: Memory<V>) -> V {
        let scratch = &self.engine.scratch;
        // SAFETY: addresses of the scratch; lanes below `LANES`.
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

    /// The configuration (from 0) by which the colours of all events of the block are chosen, or `Some(None)` where none
    /// is. `None` where it is not one for all.
    #[inline(always)]
    fn one_configuration(&self, first: usize, count: usize) -> Option<Option<u32>> {
        let events = &self.events;
        if let Some(igraph) = events.igraph {
            let config = one_for_all(&igraph[first..first + count])?;
            if config != 0 {
                return Some(Some(config as u32 - 1));
            }
        }
        let Some(channels) = events.channels else {
            return Some(None);
        };
        let channel = one_for_all(&channels[first..first + count])?;
        Some(self.engine.config_of_channel[channel as usize])
    }

    /// Notes for each event of the block the configuration (from 0) by which its colour is chosen.
    #[inline(always)]
    fn configurations(&mut self, first: usize, count: usize) {
        let engine = self.engine;
        let events = &self.events;
        let config = |event: usize| {
            if let Some(igraph) = events.igraph
                && igraph[event] != 0
            {
                return Some(igraph[event] as u32 - 1);
            }
            let channel = events.channels?[event];
            engine.config_of_channel[channel as usize]
        };
        let configs = &mut self.worker.configs;
        configs.clear();
        configs.extend((first..first + count).map(config));
    }
}

/// The flow that is chosen in each lane among those that a configuration allows.
///
/// # Safety
/// The engine's scratch is there, and JAMP2 in it.
#[inline(always)]
unsafe fn choose_color<V: Simd>(
    m: Memory<V>,
    engine: &Engine<V::Scalar>,
    random: V,
    config: u32,
) -> V {
    let jamp2 = engine.color_allowed[config as usize].iter().copied();
    // SAFETY: the caller's promise.
    unsafe {
        let mut total = V::zero();
        for (_, address) in jamp2.clone() {
            total = total + m.real(address);
        }
        choose(m, random, total, jamp2)
    }
}

/// Stores a vector as one number for each event, of which there are as many as lanes or fewer.
///
/// # Safety
/// A valid address, and at most `LANES` answers.
#[inline(always)]
pub(super) unsafe fn put_doubles<V: Simd>(
    m: Memory<V>,
    at: Address,
    value: V,
    answers: &mut [f64],
) {
    // SAFETY: the caller's promise.
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

/// The same of whole numbers.
///
/// # Safety
/// A valid address, and at most `LANES` answers.
#[inline(always)]
pub(super) unsafe fn put_integers<V: Simd>(
    m: Memory<V>,
    at: Address,
    value: V,
    answers: &mut [i32],
) {
    // SAFETY: the caller's promise.
    unsafe {
        if answers.len() == V::LANES {
            value.store_integers(answers.as_mut_ptr());
            return;
        }
        m.put_real(at, value);
        for (lane, answer) in answers.iter_mut().enumerate() {
            *answer = (*lane_of(m, at, lane)).to_f64() as i32;
        }
    }
}

/// Random numbers as they are used: below 0 they count as 0, and what is not below 1, NaN too, as the largest number that
/// is. In single precision a number close below 1 is rounded to 1, which no share exceeds.
#[inline(always)]
fn within<V: Simd>(random: V) -> V {
    // Where `random` is NaN, `min` gives the number.
    let below = random.min(random.same(V::Scalar::BELOW_ONE.to_f64()));
    below.max(random.same(0.0))
}

/// For each lane the first of some numbers (counted from 1) whose running share exceeds a random
/// number; 0 if none contributes. `parts` are the numbers and where their shares stand.
#[inline(always)]
pub(super) unsafe fn choose<V: Simd>(
    m: Memory<V>,
    random: V,
    total: V,
    parts: impl Iterator<Item = (u32, Address)> + Clone,
) -> V {
    // SAFETY: the caller gives valid addresses.
    unsafe {
        let random = within(random);
        // Divisions take long. Further from this than they and it are rounded, the sum tells.
        let bound = random * total;
        let rounding = total * V::splat(V::Scalar::EPSILON) * total.same(8.0);
        let zero = V::zero();
        let (mut running, mut chosen) = (zero, zero);
        let mut sure = zero.eq(zero);
        for (number, address) in parts.clone() {
            running = running + m.real(address);
            sure = V::both(sure, rounding.lt((running - bound).abs()));
            let hit = V::both(chosen.eq(zero), bound.lt(running));
            chosen = V::select(hit, total.same(f64::from(number + 1)), chosen);
        }
        if V::all(sure) {
            return chosen;
        }
        choose_by_shares(m, random, total, parts)
    }
}

/// [`choose`] for lanes where a share is close to the random number, or there is none.
#[inline(always)]
unsafe fn choose_by_shares<V: Simd>(
    m: Memory<V>,
    random: V,
    total: V,
    parts: impl Iterator<Item = (u32, Address)>,
) -> V {
    // SAFETY: the caller gives valid addresses.
    unsafe {
        let mut running = V::zero();
        let mut chosen = V::zero();
        for (number, address) in parts {
            running = running + m.real(address);
            let open = chosen.eq(V::zero());
            let hit = V::both(open, random.lt(running / total));
            chosen = V::select(hit, total.same(f64::from(number + 1)), chosen);
        }
        chosen
    }
}

/// The same for contributions of helicities that can be negative: they are chosen by their absolute values. Gives
/// the sum over helicities (`total` is that of the contributions as they are), and the choice.
#[inline(always)]
unsafe fn choose_signed<V: Simd>(
    m: Memory<V>,
    random: V,
    total: V,
    sum: HelicitySum,
    parts: impl Iterator<Item = (u32, Address)> + Clone,
) -> (V, V) {
    // SAFETY: the caller gives valid addresses.
    unsafe {
        let random = within(random);
        let mut absolute = V::zero();
        for (_, address) in parts.clone() {
            absolute = absolute + m.real(address).abs();
        }
        let mut running = V::zero();
        let mut chosen = V::zero();
        // Where none is chosen, the sum is positive, as in MadEvent.
        let mut contribution = total.same(1.0);
        for (number, address) in parts {
            let part = m.real(address);
            running = running + part.abs();
            let open = chosen.eq(V::zero());
            let hit = V::both(open, random.lt(running / absolute));
            chosen = V::select(hit, total.same(f64::from(number + 1)), chosen);
            contribution = V::select(hit, part, contribution);
        }
        match sum {
            HelicitySum::Absolute => (absolute.copysign(contribution), chosen),
            HelicitySum::Positive | HelicitySum::Signed => (total, chosen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_simd::{Level, Task, dispatch};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    const PARTS: usize = 5;

    #[repr(align(64))]
    struct Vectors<T>([T; 16 * PARTS]);

    /// Choices, and those by divisions alone.
    struct Both<'a, T> {
        parts: &'a mut Vectors<T>,
        /// A random number for each lane, or the share of a part and steps from there.
        random: &'a dyn Fn(usize, &[T]) -> T,
    }

    impl<T: Real> Task<T> for Both<'_, T> {
        type Output = Vec<[f64; 2]>;

        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = T>>(self) -> Self::Output {
            let m = Memory::<V>::new(self.parts.0.as_mut_ptr());
            // SAFETY: addresses below PARTS; 16 lanes at most.
            unsafe {
                let (mut total, mut random) = (V::zero(), V::zero());
                let mut shares = [V::zero(); PARTS];
                for part in 0..PARTS as u32 {
                    total = total + m.real(part);
                    shares[part as usize] = total;
                }
                let mut numbers = Vectors([T::from_f64(0.0); 16 * PARTS]);
                let at = Memory::<V>::new(numbers.0.as_mut_ptr());
                for (share, part) in shares.iter().zip(0..) {
                    at.put_real(part, *share / total);
                }
                let shares: Vec<Vec<T>> = (0..V::LANES)
                    .map(|lane| (0..PARTS as u32).map(|p| *lane_of(at, p, lane)).collect())
                    .collect();
                for (lane, shares) in shares.iter().enumerate() {
                    *lane_of(at, 0, lane) = (self.random)(lane, shares);
                }
                random = random + at.real(0);
                let parts = (0..PARTS as u32).map(|part| (part, part));
                let chosen = choose(m, random, total, parts.clone());
                let random = within(random);
                let expected = choose_by_shares(m, random, total, parts);
                at.put_real(0, chosen);
                at.put_real(1, expected);
                let pair = |lane| [0, 1].map(|a| (*lane_of(at, a, lane)).to_f64());
                (0..V::LANES).map(pair).collect()
            }
        }
    }

    /// Choices by absolute values, of parts of either sign.
    struct Signed<'a, T>(&'a mut Vectors<T>, T);

    impl<T: Real> Task<T> for Signed<'_, T> {
        type Output = Vec<f64>;

        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = T>>(self) -> Self::Output {
            let m = Memory::<V>::new(self.0.0.as_mut_ptr());
            // SAFETY: addresses below PARTS; 16 lanes at most.
            unsafe {
                let parts = (0..PARTS as u32).map(|part| (part, part));
                let random = V::splat(self.1);
                let sum = HelicitySum::Absolute;
                let (_, chosen) = choose_signed(m, random, V::zero(), sum, parts);
                m.put_real(0, chosen);
                (0..V::LANES)
                    .map(|l| (*lane_of(m, 0, l)).to_f64())
                    .collect()
            }
        }
    }

    /// A random number below 1 in double precision may be 1 in single precision.
    #[test]
    fn a_random_number_that_is_rounded_to_one_chooses_the_last_part() {
        for level in Level::supported() {
            let mut parts = Vectors([-1.0f32; 16 * PARTS]);
            let random = 0.999_999_999_9_f64 as f32;
            assert_eq!(random, 1.0);
            // SAFETY: the level is there.
            let chosen = unsafe { dispatch(level, Signed(&mut parts, random)) };
            assert!(
                chosen.iter().all(|&c| c == PARTS as f64),
                "{level}: {chosen:?}"
            );
        }
    }

    /// A number out of range counts as the one at that end of it, NaN as one that is too large. A part that is zero is
    /// never chosen.
    #[test]
    fn random_numbers_out_of_range_are_those_at_its_ends() {
        fn chosen<T: Real>(random: f64) {
            for level in Level::supported() {
                for signed in [false, true] {
                    let mut parts = Vectors([T::from_f64(0.0); 16 * PARTS]);
                    let lanes = level.lanes::<T>();
                    parts.0[lanes..4 * lanes].fill(T::from_f64(2.0));
                    let at = T::from_f64(random);
                    // SAFETY: the level is there.
                    let chosen: Vec<f64> = unsafe {
                        match signed {
                            true => dispatch(level, Signed(&mut parts, at)),
                            false => {
                                let random = &move |_: usize, _: &[T]| at;
                                let parts = &mut parts;
                                let both = dispatch(level, Both { parts, random });
                                both.into_iter().map(|[chosen, _]| chosen).collect()
                            }
                        }
                    };
                    let expected = if random < 0.5 { 2.0 } else { 4.0 };
                    assert!(
                        chosen.iter().all(|&c| c == expected),
                        "{level} {random}: {chosen:?}"
                    );
                }
            }
        }
        let below = [-0.0, -1e-300, -1.0, -1e300, f64::NEG_INFINITY];
        for random in below.into_iter().chain([1.0, 7.0, f64::INFINITY, f64::NAN]) {
            chosen::<f64>(random);
            chosen::<f32>(random);
        }
    }

    fn choices_are_those_of_divisions<T: Real>(seed: u64) {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut seen = [0; PARTS + 1];
        for round in 0..20_000 {
            let size = [1.0, 1e-3, 1e30, 1e-44, 1e-300][round % 5];
            let mut parts = Vectors([T::from_f64(0.0); 16 * PARTS]);
            for x in &mut parts.0 {
                if draw.random_bool(0.8) {
                    *x = T::from_f64(size * draw.random::<f64>().powi(draw.random_range(1..9)));
                }
            }
            let numbers: Vec<(f64, usize, i32)> = (0..16)
                .map(|_| {
                    let steps = draw.random_range(-3..=3);
                    (draw.random(), draw.random_range(0..2 * PARTS), steps)
                })
                .collect();
            let epsilon = T::EPSILON.to_f64() / 2.0;
            let random = |lane: usize, shares: &[T]| {
                let (number, part, steps) = numbers[lane];
                let share = shares.get(part).map(|s| s.to_f64());
                let near = share.map(|s| (s + f64::from(steps) * epsilon * s).clamp(0.0, 1.0));
                T::from_f64(near.unwrap_or(number))
            };
            for level in Level::supported() {
                let task = Both {
                    parts: &mut parts,
                    random: &random,
                };
                // SAFETY: the level is there.
                for [chosen, expected] in unsafe { dispatch(level, task) } {
                    assert_eq!(chosen, expected, "{level} round {round}");
                    seen[expected as usize] += 1;
                }
            }
        }
        // As many as there are with the 3 lanes of ARM's levels.
        assert!(seen.iter().all(|&n| n > 10), "{seen:?}");
    }

    /// Also where a share is the random number, next to it, or not there at all.
    #[test]
    fn divisions_are_left_out_only_where_they_do_not_matter() {
        choices_are_those_of_divisions::<f64>(1);
        choices_are_those_of_divisions::<f32>(2);
    }
}
