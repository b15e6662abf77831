//! Random choice of a helicity, diagram or colour flow with given shares.

use super::lane_of;
use mebridge_backend::inputs::NONE;
use mebridge_ops::Address;
use mebridge_ops::kernels::Memory;
use mebridge_process::HelicitySum;
use mebridge_simd::{Real, Simd};

/// Upper bound on the lanes of a register.
pub(super) const MAX_LANES: usize = 16;

/// An index in each lane, or none. Stored as floating-point numbers, which registers can compare and select, with
/// [`NONE`] as -1, and converted to integers on output.
#[derive(Clone, Copy)]
pub(super) struct Choice<V>(V);

impl<V: Simd> Choice<V> {
    /// No choice in any lane. `like` proves that the CPU supports the level.
    #[inline(always)]
    fn none(like: V) -> Choice<V> {
        Choice(like.same(f64::from(NONE)))
    }

    /// The lanes without a choice.
    #[inline(always)]
    fn is_none(self) -> V::Mask {
        self.0.lt(self.0.same(0.0))
    }

    /// Sets `index` in the lanes of the mask.
    #[inline(always)]
    fn put(self, mask: V::Mask, index: u32) -> Choice<V> {
        Choice(V::select(mask, self.0.same(f64::from(index)), self.0))
    }

    /// Writes the indices of at most `LANES` events to `to`, using scratch at `at`.
    ///
    /// # Safety
    /// The address is valid, and there are at most `LANES` events.
    #[inline(always)]
    pub(super) unsafe fn store(self, m: Memory<V>, at: Address, to: &mut [i32]) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if to.len() == V::LANES {
                self.0.store_integers(to.as_mut_ptr());
                return;
            }
            m.put_real(at, self.0);
            for (lane, index) in to.iter_mut().enumerate() {
                *index = (*lane_of(m, at, lane)).to_f64() as i32;
            }
        }
    }

    /// The indices of all lanes, padded with [`NONE`].
    #[inline(always)]
    pub(super) fn lanes(self) -> [i32; MAX_LANES] {
        const { assert!(V::LANES <= MAX_LANES) };
        let mut lanes = [NONE; MAX_LANES];
        // SAFETY: there is room for `LANES` numbers.
        unsafe { self.0.store_integers(lanes.as_mut_ptr()) };
        lanes
    }
}

/// Clamps random numbers to [0, 1): values below 0 become 0; NaN and values not below 1 become the largest number below
/// 1. In single precision a number slightly below 1 is rounded to 1, which no share exceeds.
#[inline(always)]
fn within<V: Simd>(random: V) -> V {
    // If `random` is NaN, `min` returns its argument.
    let below = random.min(random.same(V::Scalar::BELOW_ONE.to_f64()));
    below.max(random.same(0.0))
}

/// For each lane, the first index whose cumulative share exceeds a random number; none if all contributions are zero.
/// `parts` holds the indices and the addresses of their contributions.
#[inline(always)]
pub(super) unsafe fn choose<V: Simd>(
    m: Memory<V>,
    random: V,
    total: V,
    parts: impl Iterator<Item = (u32, Address)> + Clone,
) -> Choice<V> {
    // SAFETY: the caller passes valid addresses.
    unsafe {
        let random = within(random);
        // Divisions are slow. If a cumulative sum differs from the bound by more than the rounding errors of both,
        // comparing them decides as the division would.
        let bound = random * total;
        let rounding = total * V::splat(V::Scalar::EPSILON) * total.same(8.0);
        let mut running = V::zero();
        let mut chosen = Choice::none(total);
        let mut sure = running.eq(running);
        for (index, address) in parts.clone() {
            running = running + m.real(address);
            sure = V::both(sure, rounding.lt((running - bound).abs()));
            let hit = V::both(chosen.is_none(), bound.lt(running));
            chosen = chosen.put(hit, index);
        }
        if V::all(sure) {
            return chosen;
        }
        choose_by_shares(m, random, total, parts)
    }
}

/// [`choose`] with divisions, for lanes where a share is close to the random number, or there is none.
#[inline(always)]
unsafe fn choose_by_shares<V: Simd>(
    m: Memory<V>,
    random: V,
    total: V,
    parts: impl Iterator<Item = (u32, Address)>,
) -> Choice<V> {
    // SAFETY: the caller passes valid addresses.
    unsafe {
        let mut running = V::zero();
        let mut chosen = Choice::none(total);
        for (index, address) in parts {
            running = running + m.real(address);
            let hit = V::both(chosen.is_none(), random.lt(running / total));
            chosen = chosen.put(hit, index);
        }
        chosen
    }
}

/// [`choose`] for contributions of helicities that may be negative, by their absolute values. Returns the sum over
/// helicities (`total` is the sum of the contributions with their signs) and the choice.
#[inline(always)]
pub(super) unsafe fn choose_signed<V: Simd>(
    m: Memory<V>,
    random: V,
    total: V,
    sum: HelicitySum,
    parts: impl Iterator<Item = (u32, Address)> + Clone,
) -> (V, Choice<V>) {
    // SAFETY: the caller passes valid addresses.
    unsafe {
        let random = within(random);
        let mut absolute = V::zero();
        for (_, address) in parts.clone() {
            absolute = absolute + m.real(address).abs();
        }
        let mut running = V::zero();
        let mut chosen = Choice::none(total);
        // If no contribution is chosen, the sum is positive, as in MadEvent.
        let mut contribution = total.same(1.0);
        for (index, address) in parts {
            let part = m.real(address);
            running = running + part.abs();
            let hit = V::both(chosen.is_none(), random.lt(running / absolute));
            chosen = chosen.put(hit, index);
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

    /// Runs `choose` and the choice by divisions alone, for comparison.
    struct Both<'a, T> {
        parts: &'a mut Vectors<T>,
        /// The random number for a lane, given the contributions: any number, or one close to a share.
        random: &'a dyn Fn(usize, &[T]) -> T,
    }

    impl<T: Real> Task<T> for Both<'_, T> {
        type Output = Vec<[i32; 2]>;

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
                let (chosen, expected) = (chosen.lanes(), expected.lanes());
                (0..V::LANES).map(|l| [chosen[l], expected[l]]).collect()
            }
        }
    }

    /// Runs choices by absolute values, with parts of either sign.
    struct Signed<'a, T>(&'a mut Vectors<T>, T);

    impl<T: Real> Task<T> for Signed<'_, T> {
        type Output = Vec<i32>;

        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = T>>(self) -> Self::Output {
            let m = Memory::<V>::new(self.0.0.as_mut_ptr());
            // SAFETY: addresses below PARTS; 16 lanes at most.
            unsafe {
                let parts = (0..PARTS as u32).map(|part| (part, part));
                let random = V::splat(self.1);
                let sum = HelicitySum::Absolute;
                let (_, chosen) = choose_signed(m, random, V::zero(), sum, parts);
                chosen.lanes()[..V::LANES].to_vec()
            }
        }
    }

    /// A random number below 1 in double precision may become 1 in single precision.
    #[test]
    fn a_random_number_that_is_rounded_to_one_chooses_the_last_part() {
        for level in Level::supported() {
            let mut parts = Vectors([-1.0f32; 16 * PARTS]);
            let random = 0.999_999_999_9_f64 as f32;
            assert_eq!(random, 1.0);
            // SAFETY: the CPU supports the level.
            let chosen = unsafe { dispatch(level, Signed(&mut parts, random)) };
            assert!(
                chosen.iter().all(|&c| c == PARTS as i32 - 1),
                "{level}: {chosen:?}"
            );
        }
    }

    /// A number out of range counts as the nearest one in range, NaN as one that is too large. A part that is zero is
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
                    // SAFETY: the CPU supports the level.
                    let chosen: Vec<i32> = unsafe {
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
                    let expected = if random < 0.5 { 1 } else { 3 };
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
                // SAFETY: the CPU supports the level.
                for [chosen, expected] in unsafe { dispatch(level, task) } {
                    assert_eq!(chosen, expected, "{level} round {round}");
                    seen[(expected - NONE) as usize] += 1;
                }
            }
        }
        // The bound also holds on ARM, whose levels have only 3 lanes in total.
        assert!(seen.iter().all(|&n| n > 10), "{seen:?}");
    }

    /// Includes random numbers equal to a share, next to one, and no share at all.
    #[test]
    fn divisions_are_left_out_only_where_they_do_not_matter() {
        choices_are_those_of_divisions::<f64>(1);
        choices_are_those_of_divisions::<f32>(2);
    }
}
