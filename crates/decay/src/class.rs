//! Classes of events with the same particles and mothers: which particles decay, and into what.

use crate::element::Theory;
use crate::production::Production;
use crate::request::DecayRequest;
use crate::reshuffle::Siblings;
use mebridge::{Error, Result};
use mebridge_lhe::{DECAYED, INCOMING, OUTGOING, Particle};

/// Largest number of combinations of decays of identical particles.
const MAX_CHOICES: usize = 1_000_000;

/// A particle that decays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecayingParticle {
    /// Index among the particles of the event.
    pub particle: usize,
    /// Index of its leg.
    pub leg: usize,
    /// PDG code.
    pub pdg: i32,
}

/// The possible decays of one root, or of several identical ones together.
#[derive(Clone, Debug)]
pub struct DecayChoice {
    /// Indices of the roots.
    pub roots: Vec<usize>,
    /// The flavour of each root's decay, and the cumulative sum of the branching fractions.
    pub decays: Vec<(Vec<usize>, f64)>,
}

/// Events with the same particles and mothers.
#[derive(Clone, Debug)]
pub struct EventClass {
    /// For each leg its index among the particles of the event.
    pub legs: Vec<usize>,
    /// The number of incoming legs, which come first.
    pub incoming: usize,
    /// The particles that decay, in the order of the legs.
    pub roots: Vec<DecayingParticle>,
    /// Whether it is the only outgoing particle, whose mass the collision fixes.
    pub is_alone: bool,
    /// The outgoing legs, grouped by resonance.
    pub group: Siblings,
    /// Index of the matrix element of production, if it is known.
    pub production: Option<usize>,
    /// The possible decays of the roots.
    pub choices: Vec<DecayChoice>,
    /// The total branching fraction of the event.
    pub fraction: f64,
}

/// The key of an event's class: code, status and mothers of each particle.
pub fn key(particles: &[Particle]) -> Vec<[i32; 4]> {
    let of = |particle: &Particle| {
        [
            particle.pdg,
            particle.status,
            particle.mothers[0],
            particle.mothers[1],
        ]
    };
    particles.iter().map(of).collect()
}

impl EventClass {
    /// The class of an event. If the matrix element of production is required but not available, the second value says
    /// why.
    ///
    /// # Errors
    /// The decays have the branching fraction 0, or there are too many combinations.
    pub fn new(
        particles: &[Particle],
        request: &DecayRequest,
        production: Option<&mut Production>,
        theory: &Theory,
    ) -> Result<(EventClass, Option<String>)> {
        let is_leg = |at: &usize| particles[*at].is_external();
        let external: Vec<usize> = (0..particles.len()).filter(is_leg).collect();
        let decays = |at: usize| {
            let own = particles[at];
            own.status == OUTGOING
                && request
                    .flavours
                    .iter()
                    .any(|flavour| flavour.legs[0] == own.pdg)
        };
        let any = external.iter().any(|&at| decays(at));
        let codes = external
            .iter()
            .map(|&at| (particles[at].pdg, particles[at].is_incoming()));
        let codes: Vec<(i32, bool)> = codes.collect();
        let found = match production {
            Some(production) if any => Some(production.find(&codes, theory)),
            _ => None,
        };
        let (number, order, why) = match found {
            Some(Ok((number, order))) => (Some(number), Some(order), None),
            Some(Err(why)) => (None, None, Some(why)),
            None => (None, None, None),
        };
        let legs: Vec<usize> = match order {
            Some(order) => order.into_iter().map(|at| external[at]).collect(),
            None => {
                let of = |status| {
                    external
                        .iter()
                        .copied()
                        .filter(move |&at| particles[at].status == status)
                };
                of(INCOMING).chain(of(OUTGOING)).collect()
            }
        };
        let roots = legs.iter().enumerate().filter(|&(_, &at)| decays(at));
        let roots: Vec<DecayingParticle> = roots
            .map(|(leg, &particle)| DecayingParticle {
                particle,
                leg,
                pdg: particles[particle].pdg,
            })
            .collect();
        let mut class = EventClass {
            incoming: codes.iter().filter(|(_, incoming)| *incoming).count(),
            is_alone: codes.iter().filter(|(_, incoming)| !incoming).count() == 1,
            group: group(None, particles, &legs),
            legs,
            roots,
            production: number,
            choices: Vec::new(),
            fraction: 1.0,
        };
        class.choose(request)?;
        Ok((class, why))
    }

    /// Collects the possible decays of the roots.
    fn choose(&mut self, request: &DecayRequest) -> Result<()> {
        let mut codes: Vec<i32> = self.roots.iter().map(|root| root.pdg).collect();
        codes.sort_unstable();
        codes.dedup();
        for pdg in codes {
            let own: Vec<usize> = (0..self.roots.len())
                .filter(|&n| self.roots[n].pdg == pdg)
                .collect();
            let of_mother = |line: &Vec<usize>| -> Vec<usize> {
                let flavours = line.iter().copied();
                flavours
                    .filter(|&flavour| request.flavours[flavour].legs[0] == pdg)
                    .collect()
            };
            let lines: Vec<Vec<usize>> = request
                .lines
                .iter()
                .map(of_mother)
                .filter(|line| !line.is_empty())
                .collect();
            let mut all: Vec<usize> = lines.concat();
            all.sort_unstable();
            all.dedup();
            // As many lines as identical particles: each line is the decay of one of them.
            if own.len() > 1 && lines.len() == own.len() {
                self.add(tuples(&all, &lines, pdg)?, own, request, pdg)?;
                continue;
            }
            for root in own {
                self.add(
                    all.iter().map(|&flavour| vec![flavour]).collect(),
                    vec![root],
                    request,
                    pdg,
                )?;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        decays: Vec<Vec<usize>>,
        roots: Vec<usize>,
        request: &DecayRequest,
        pdg: i32,
    ) -> Result<()> {
        let mut sum = 0.0;
        let mut with_sums = Vec::with_capacity(decays.len());
        for own in decays {
            let fractions = own
                .iter()
                .map(|&flavour| request.flavours[flavour].fraction);
            sum += fractions.product::<f64>();
            with_sums.push((own, sum));
        }
        if sum.is_nan() || sum <= 0.0 {
            let what =
                format!("the requested decays of PDG {pdg} have the branching fraction {sum}");
            return Err(Error::run(
                what,
                "check the decay tables of the parameter card",
            ));
        }
        self.fraction *= sum;
        self.choices.push(DecayChoice {
            roots,
            decays: with_sums,
        });
        Ok(())
    }

    /// Draws the decay of each root; `random` returns numbers in (0, 1).
    pub fn draw_flavours(&self, mut random: impl FnMut() -> f64) -> Vec<usize> {
        let mut found = vec![0; self.roots.len()];
        for choice in &self.choices {
            let total = choice.decays.last().map_or(0.0, |(_, sum)| *sum);
            let number = random() * total;
            let place = choice.decays.partition_point(|(_, sum)| *sum <= number);
            let (decays, _) = &choice.decays[place.min(choice.decays.len() - 1)];
            for (&root, &flavour) in choice.roots.iter().zip(decays) {
                found[root] = flavour;
            }
        }
        found
    }
}

/// Ordered combinations of decays of identical particles in which each particle takes a decay from a different line.
fn tuples(all: &[usize], lines: &[Vec<usize>], pdg: i32) -> Result<Vec<Vec<usize>>> {
    let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let choices = all
        .len()
        .checked_pow(count)
        .filter(|choices| *choices <= MAX_CHOICES);
    let Some(choices) = choices else {
        let what = format!(
            "{} decays for each of {} particles (PDG {pdg}) have too many combinations",
            all.len(),
            lines.len()
        );
        return Err(Error::run(what, "write them as one line, with a label"));
    };
    let mut found = Vec::new();
    for mut number in 0..choices {
        let own = lines.iter().map(|_| {
            let flavour = all[number % all.len()];
            number /= all.len();
            flavour
        });
        let own: Vec<usize> = own.collect();
        if fits(&own, lines, &mut vec![false; lines.len()]) {
            found.push(own);
        }
    }
    Ok(found)
}

/// Whether each decay can be assigned a different line.
fn fits(decays: &[usize], lines: &[Vec<usize>], used: &mut [bool]) -> bool {
    let Some((first, rest)) = decays.split_first() else {
        return true;
    };
    (0..lines.len()).any(|line| {
        let free = !used[line] && lines[line].contains(first);
        free && {
            used[line] = true;
            let fits = fits(rest, lines, used);
            used[line] = false;
            fits
        }
    })
}

/// The outgoing legs of the resonance `of`, or of the collision for `None`.
fn group(of: Option<usize>, particles: &[Particle], legs: &[usize]) -> Siblings {
    // Only a particle with exactly one mother, which has decayed, belongs to a resonance.
    let mother = |at: usize| {
        let [first, last] = particles[at].mothers;
        let one = first > 0 && (last == first || last == 0);
        let mother = usize::try_from(first - 1)
            .ok()
            .filter(|&mother| one && mother < particles.len());
        mother.filter(|&mother| particles[mother].status == DECAYED && mother != at)
    };
    let is_own = |at: usize, status: i32| particles[at].status == status && mother(at) == of;
    let resonances = (0..particles.len()).filter(|&at| is_own(at, DECAYED));
    let groups = resonances
        .filter(|&at| of.is_none_or(|of| at > of))
        .map(|at| group(Some(at), particles, legs));
    Siblings {
        legs: (0..legs.len())
            .filter(|&leg| is_own(legs[leg], OUTGOING))
            .collect(),
        groups: groups.filter(|group| !group.all().is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resonances_are_groups() {
        let particle = |pdg, status, mother| Particle {
            pdg,
            status,
            mothers: mother,
            ..Particle::default()
        };
        let particles = [
            particle(2, -1, [0, 0]),
            particle(-2, -1, [0, 0]),
            particle(25, 2, [1, 2]),
            particle(23, 1, [3, 3]),
            particle(23, 1, [3, 3]),
            particle(21, 1, [1, 2]),
        ];
        let found = group(None, &particles, &[0, 1, 5, 3, 4]);
        assert_eq!(found.legs, [2]);
        assert_eq!(found.groups[0].legs, [3, 4]);
        assert_eq!(found.all(), [2, 3, 4]);
    }

    /// Two Z bosons with one decay line each: both orders occur.
    #[test]
    fn each_line_is_one_of_equal_particles() {
        let found = tuples(&[0, 1, 2], &[vec![0, 1], vec![2]], 23).expect("few");
        assert_eq!(found, [[2, 0], [2, 1], [0, 2], [1, 2]]);
        let same = tuples(&[0, 1], &[vec![0, 1], vec![0, 1]], 23).expect("few");
        assert_eq!(same.len(), 4);
        assert!(tuples(&[0; 2000], &[vec![0], vec![0]], 23).is_err());
    }
}
