//! Random numbers for events: the same for an event, whoever computes it.
//!
//! The numbers of an event depend on the seed, the iteration and the event's number alone, so
//! that splitting the events among threads changes nothing.

use rand::Rng;
use rand::SeedableRng;
use rand::distr::Open01;
use rand_chacha::ChaCha8Rng;

/// A source of random numbers in the open interval (0, 1): ChaCha with 8 rounds, one stream an
/// iteration.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
}

/// 32-bit words of the generator in one number.
const WORDS: u128 = 2;

impl Random {
    /// A source with this seed.
    pub fn new(seed: u64) -> Self {
        Random { seed }
    }

    /// Fills `numbers` with those of the events from `first` on, `per_event` numbers each.
    pub fn fill(&self, iteration: u64, first: usize, per_event: usize, numbers: &mut [f64]) {
        let mut generator = ChaCha8Rng::seed_from_u64(self.seed);
        generator.set_stream(iteration);
        generator.set_word_pos(WORDS * first as u128 * per_event as u128);
        for number in numbers {
            *number = generator.sample(Open01);
        }
    }
}

/// The "common random numbers" of the check executable of MG5aMC's CUDACPP plugin: C++'s
/// `minstd_rand` through `uniform_real_distribution<double>`, seeded with 20200805 plus the
/// iteration's number from 0, laid out in pages of eight events. With them an event of that
/// executable can be had again, number for number.
#[derive(Clone, Copy, Debug)]
pub struct CommonRandom;

impl CommonRandom {
    /// The executable's seed.
    pub const SEED: u64 = 20_200_805;
    /// Events in one page.
    const PAGE: usize = 8;

    /// All numbers of one iteration, `per_event` for each event, event after event.
    pub fn fill(&self, iteration: u64, per_event: usize, numbers: &mut [f64]) {
        let mut generator = Minstd::new(Self::SEED + iteration);
        for page in numbers.chunks_mut(Self::PAGE * per_event) {
            for i in 0..per_event {
                for event in 0..Self::PAGE {
                    let number = generator.number();
                    if let Some(place) = page.get_mut(event * per_event + i) {
                        *place = number;
                    }
                }
            }
        }
    }
}

/// C++'s `minstd_rand`: a linear congruential generator.
struct Minstd(u64);

impl Minstd {
    const MODULUS: u64 = 2_147_483_647;
    const MULTIPLIER: u64 = 48_271;

    fn new(seed: u64) -> Self {
        let state = seed % Self::MODULUS;
        Minstd(if state == 0 { 1 } else { state })
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0 * Self::MULTIPLIER % Self::MODULUS;
        self.0
    }

    /// `generate_canonical<double, 53>`: two words, the first the lower one, each from 1 on.
    fn number(&mut self) -> f64 {
        let range = (Self::MODULUS - 1) as f64;
        let low = (self.word() - 1) as f64;
        let high = (self.word() - 1) as f64;
        let number = (low + high * range) / (range * range);
        number.min(1.0_f64.next_down())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_depend_on_the_split() {
        let random = Random::new(1);
        let (events, per_event) = (100, 10);
        let mut whole = vec![0.0; events * per_event];
        random.fill(3, 0, per_event, &mut whole);
        for size in [1, 7, 33] {
            let mut parts = vec![0.0; events * per_event];
            for (i, part) in parts.chunks_mut(size * per_event).enumerate() {
                random.fill(3, i * size, per_event, part);
            }
            assert_eq!(whole, parts);
        }
        assert!(whole.iter().all(|&x| x > 0.0 && x < 1.0));
        let mut other = vec![0.0; events * per_event];
        random.fill(4, 0, per_event, &mut other);
        assert_ne!(whole, other);
        Random::new(2).fill(3, 0, per_event, &mut other);
        assert_ne!(whole, other);
    }

    #[test]
    fn numbers_are_uniform() {
        let mut numbers = vec![0.0; 100_000];
        Random::new(5).fill(0, 0, 1, &mut numbers);
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 4.5 * (1.0 / 12.0 / n).sqrt());
        assert!((square - 1.0 / 3.0).abs() < 4.5 * (4.0 / 45.0 / n).sqrt());
    }

    /// The C++ standard fixes the generator by its 10000th value from the default seed 1.
    #[test]
    fn minstd_is_the_standard_one() {
        let mut generator = Minstd::new(1);
        let mut last = 0;
        for _ in 0..10_000 {
            last = generator.word();
        }
        assert_eq!(last, 399_268_537);
    }

    #[test]
    fn pages_hold_eight_events_number_by_number() {
        let mut numbers = vec![0.0; 16 * 4];
        CommonRandom.fill(0, 4, &mut numbers);
        let mut generator = Minstd::new(CommonRandom::SEED);
        let expected: Vec<f64> = (0..64).map(|_| generator.number()).collect();
        assert_eq!(numbers[0], expected[0]);
        assert_eq!(numbers[4], expected[1], "second event, first number");
        assert_eq!(numbers[1], expected[8], "first event, second number");
        assert_eq!(
            numbers[8 * 4],
            expected[32],
            "first event of the second page"
        );
        // Fewer events are the first of more.
        let mut fewer = vec![0.0; 5 * 4];
        CommonRandom.fill(0, 4, &mut fewer);
        assert_eq!(fewer[..], numbers[..20]);
    }
}
