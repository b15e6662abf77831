//! Random numbers of MG5aMC's programs.

/// The "common random numbers" of the check executable of MG5aMC's CUDACPP plugin: C++'s `minstd_rand` through
/// `uniform_real_distribution<double>`, seeded with 20200805 plus the iteration's number from 0, laid out in pages of
/// eight events. They reproduce the events of that executable exactly.
#[derive(Clone, Copy, Debug)]
pub struct CommonRandom;

impl CommonRandom {
    /// The executable's seed.
    pub const SEED: u64 = 20_200_805;
    /// Events in one page.
    const PAGE: usize = 8;

    /// Fills in all numbers of one iteration, `per_event` for each event, event after event.
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
        // Fewer events are the first of a longer list.
        let mut fewer = vec![0.0; 5 * 4];
        CommonRandom.fill(0, 4, &mut fewer);
        assert_eq!(fewer[..], numbers[..20]);
    }
}
