//! Random numbers for the library's own checks: points at which Lorentz structures are recognised, and phase-space points at
//! which properties of a process are determined. They only have to be generic and the same on every machine. (The
//! command draws events with generators of its own.)

/// Steele, Lea and Flood's SplitMix64.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates the sequence for a seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in the open interval (0, 1).
    pub fn number(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Returns a number between `low` and `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.number()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the published implementation.
    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        let words: Vec<u64> = (0..5).map(|_| random.word()).collect();
        assert_eq!(
            words,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn numbers_are_uniform_and_inside() {
        let mut random = SplitMix64::new(5);
        let numbers: Vec<f64> = (0..100_000).map(|_| random.number()).collect();
        assert!(numbers.iter().all(|&x| 0.0 < x && x < 1.0));
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 4.5 * (1.0 / 12.0 / n).sqrt());
        assert!((square - 1.0 / 3.0).abs() < 4.5 * (4.0 / 45.0 / n).sqrt());
        assert!((0..1000).all(|_| (-2.0..3.0).contains(&random.between(-2.0, 3.0))));
    }
}
