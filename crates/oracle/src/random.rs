//! Random numbers for events: those of an event do not depend on the thread that computes it.
//!
//! The numbers of an event depend only on the seed, the iteration and the event's number, so
//! distributing the events over threads changes nothing.

use rand::Rng;
use rand::SeedableRng;
use rand::distr::Open01;
use rand_chacha::ChaCha8Rng;

/// A source of random numbers in the open interval (0, 1): ChaCha with 8 rounds, one stream per iteration.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
}

/// 32-bit words of the generator in one number.
const WORDS: u128 = 2;

impl Random {
    /// Makes a source with this seed.
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
}
