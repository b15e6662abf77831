//! Choice of the number of threads per block of a kernel, by timing its launches.
//!
//! A [`Chooser`] has a few candidates and assigns them to launches that are needed anyway, each once per round. It
//! keeps the shortest time of each, as the first launch of a kernel is slower than all others. After the last round,
//! the fastest candidate is chosen if it is faster than the default by more than noise.

/// Number of rounds; each candidate is tried once per round.
const ROUNDS: usize = 2;

/// Another number replaces the default if it takes less than this fraction of the default's time.
const FASTER: f64 = 0.98;

/// A candidate number of threads.
#[derive(Clone, Debug)]
struct Candidate {
    threads: u32,
    /// Launches to which it was assigned.
    given: usize,
    /// Launches whose time is known.
    timed: usize,
    /// Shortest of these times, in seconds per event.
    shortest: f64,
}

/// State of the choice for one kernel.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    /// Candidates, with the default first.
    candidates: Vec<Candidate>,
    chosen: Option<u32>,
}

impl Chooser {
    /// Creates a choice between candidates, of which the first is the default. `remembered` is an earlier choice, which
    /// is used if it is one of the candidates.
    pub(super) fn new(default: u32, others: &[u32], remembered: Option<u32>) -> Chooser {
        let all = std::iter::once(&default).chain(others);
        let chosen = match others {
            [] => Some(default),
            _ => remembered.filter(|threads| all.clone().any(|known| known == threads)),
        };
        let candidates = all.map(|&threads| Candidate {
            threads,
            given: 0,
            timed: 0,
            shortest: f64::INFINITY,
        });
        Chooser {
            candidates: candidates.collect(),
            chosen,
        }
    }

    /// Returns the default.
    pub(super) fn default(&self) -> u32 {
        self.candidates[0].threads
    }

    /// Returns the number for launches to which no candidate is assigned.
    pub(super) fn threads(&self) -> u32 {
        self.chosen.unwrap_or(self.default())
    }

    /// Returns whether the choice has been made.
    pub(super) fn is_done(&self) -> bool {
        self.chosen.is_some()
    }

    /// Returns the next candidate, or `None` once all have been assigned, whether or not their times are known.
    pub(super) fn next_candidate(&mut self) -> Option<u32> {
        if self.is_done() {
            return None;
        }
        let next = self.candidates.iter_mut().min_by_key(|c| c.given)?;
        if next.given == ROUNDS {
            return None;
        }
        next.given += 1;
        Some(next.threads)
    }

    /// Discards launches whose times are not known: they will never be.
    pub(super) fn discard_pending(&mut self) {
        for candidate in &mut self.candidates {
            candidate.given = candidate.timed;
        }
    }

    /// Records the time of a launch with a candidate, in seconds per event. Returns the choice if this was the last
    /// launch.
    pub(super) fn record(&mut self, threads: u32, seconds: f64) -> Option<u32> {
        let mut candidates = self.candidates.iter_mut();
        let candidate = candidates.find(|candidate| candidate.threads == threads)?;
        candidate.timed += 1;
        candidate.shortest = candidate.shortest.min(seconds);
        if self.is_done() || self.candidates.iter().any(|c| c.timed < ROUNDS) {
            return None;
        }
        let default = &self.candidates[0];
        let best = self.candidates.iter();
        let best = best.min_by(|a, b| a.shortest.total_cmp(&b.shortest))?;
        self.chosen = Some(match best.shortest < FASTER * default.shortest {
            true => best.threads,
            false => default.threads,
        });
        self.chosen
    }

    /// Returns the candidates tried, with their seconds per event.
    pub(super) fn timed_candidates(&self) -> Vec<(u32, f64)> {
        let timed = self.candidates.iter().filter(|c| c.timed > 0);
        timed.map(|c| (c.threads, c.shortest)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Chooser;

    /// Records times that depend on the round and the candidate, and returns the choice.
    fn choose(times: [[f64; 3]; 2]) -> u32 {
        let mut chooser = Chooser::new(256, &[128, 64], None);
        for (round, times) in times.into_iter().enumerate() {
            for (i, (threads, seconds)) in [256, 128, 64].into_iter().zip(times).enumerate() {
                assert!(!chooser.is_done());
                assert_eq!(chooser.threads(), 256, "until it is done, the default");
                assert_eq!(chooser.next_candidate(), Some(threads));
                let last = (round, i) == (1, 2);
                assert_eq!(chooser.record(threads, seconds).is_some(), last);
            }
        }
        assert!(chooser.is_done());
        assert_eq!(chooser.next_candidate(), None);
        assert_eq!(chooser.timed_candidates().len(), 3);
        chooser.threads()
    }

    #[test]
    fn the_fastest_is_chosen() {
        assert_eq!(choose([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]), 64);
        assert_eq!(choose([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]]), 128);
        assert_eq!(choose([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]]), 256);
    }

    #[test]
    fn a_cold_launch_does_not_count() {
        assert_eq!(choose([[9.0, 2.0, 2.0], [1.0, 2.0, 2.0]]), 256);
        assert_eq!(choose([[2.0, 9.0, 2.0], [2.0, 1.0, 2.0]]), 128);
    }

    #[test]
    fn noise_does_not_count() {
        assert_eq!(choose([[1.0, 0.99, 0.985], [1.0, 0.99, 1.0]]), 256);
        assert_eq!(choose([[1.0, 0.99, 0.97], [1.0, 0.99, 1.0]]), 64);
        assert_eq!(choose([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), 256);
        let none = [f64::NAN; 3];
        assert_eq!(choose([none, none]), 256);
    }

    #[test]
    fn what_is_remembered_counts_if_it_is_a_candidate() {
        let mut chooser = Chooser::new(256, &[128, 64], Some(64));
        assert!(chooser.is_done() && chooser.threads() == 64 && chooser.next_candidate().is_none());
        for threads in [0, 32, 512, u32::MAX] {
            let mut chooser = Chooser::new(256, &[128, 64], Some(threads));
            assert!(!chooser.is_done() && chooser.threads() == 256);
            assert_eq!(chooser.next_candidate(), Some(256));
        }
    }

    #[test]
    fn one_candidate_is_no_choice() {
        let mut chooser = Chooser::new(128, &[], Some(64));
        assert!(chooser.is_done() && chooser.threads() == 128);
        assert_eq!(chooser.next_candidate(), None);
    }

    #[test]
    fn times_may_come_late_or_not_at_all() {
        let mut chooser = Chooser::new(2, &[1], None);
        let given: Vec<_> = std::iter::from_fn(|| chooser.next_candidate()).collect();
        assert_eq!(given, [2, 1, 2, 1]);
        assert!(!chooser.is_done());
        chooser.record(2, 5.0);
        chooser.record(1, 4.0);
        chooser.record(2, 5.0);
        chooser.discard_pending();
        assert_eq!(chooser.next_candidate(), Some(1));
        assert_eq!(chooser.next_candidate(), None);
        // A number of threads that is not a candidate has no effect.
        assert_eq!(chooser.record(7, 0.1), None);
        assert_eq!(chooser.record(1, 6.0), Some(1));
        assert_eq!(chooser.timed_candidates(), [(2, 5.0), (1, 4.0)]);
    }
}
