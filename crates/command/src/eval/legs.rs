//! Which particle of an event is which leg of the process.

use mebridge::lhe;
use mebridge::process::Leg;

/// A particle of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Particle {
    /// Its PDG code.
    pub pdg: i32,
    /// Whether it comes in.
    pub incoming: bool,
    /// (E, px, py, pz).
    pub momentum: [f64; 4],
    /// SPINUP: its helicity, 9 where it is not known.
    pub helicity: f64,
    /// MOTHUP: the particles that it comes from.
    pub mothers: (i32, i32),
}

/// SPINUP of a helicity that is not known.
pub const UNKNOWN_HELICITY: f64 = 9.0;

impl Particle {
    /// Of a file, if it comes in or goes out.
    pub fn of(read: &lhe::Particle) -> Option<Particle> {
        let [px, py, pz, energy, _] = read.momentum;
        matches!(read.status, -1 | 1).then_some(Particle {
            pdg: read.pdg,
            incoming: read.status == -1,
            momentum: [energy, px, py, pz],
            helicity: match read.spin.is_finite() {
                true => read.spin,
                false => UNKNOWN_HELICITY,
            },
            mothers: read.mothers.into(),
        })
    }
}

/// The places of the particles in the order of the legs; nothing where they are others. Incoming
/// ones are in the order of the beams or, if they do not fit so, in the other one: |M|^2 does not
/// know which beam comes from where. Identical particles keep their order.
pub fn assign(legs: &[Leg], particles: &[Particle]) -> Option<Vec<usize>> {
    let orders = [false, true].into_iter();
    let mut orders = orders.filter_map(|exchanged| assign_from(legs, particles, exchanged));
    orders.next()
}

/// The same for incoming particles in the order of the beams alone, or in the other one alone.
pub fn assign_from(legs: &[Leg], particles: &[Particle], exchanged: bool) -> Option<Vec<usize>> {
    if legs.len() != particles.len() {
        return None;
    }
    let mut incoming: Vec<usize> = (0..particles.len())
        .filter(|&i| particles[i].incoming)
        .collect();
    let codes = |order: &[usize]| order.iter().map(|&i| particles[i].pdg).collect::<Vec<_>>();
    let wanted = legs.iter().filter(|leg| leg.incoming).map(|leg| leg.pdg);
    let wanted: Vec<i32> = wanted.collect();
    if exchanged {
        incoming.reverse();
    }
    if codes(&incoming) != wanted {
        return None;
    }
    let mut incoming = incoming.into_iter();
    let mut used = vec![false; particles.len()];
    let mut order = Vec::with_capacity(legs.len());
    for leg in legs {
        let place = match leg.incoming {
            true => incoming.next()?,
            false => (0..particles.len())
                .find(|&i| !particles[i].incoming && !used[i] && particles[i].pdg == leg.pdg)?,
        };
        used[place] = true;
        order.push(place);
    }
    Some(order)
}

/// Sorted codes: of what comes in, a zero, of what goes out.
pub fn sorted(particles: impl Iterator<Item = (i32, bool)>) -> Vec<i32> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (pdg, incoming) in particles {
        let side = if incoming { &mut before } else { &mut after };
        side.push(pdg);
    }
    before.sort_unstable();
    after.sort_unstable();
    before.push(0);
    before.append(&mut after);
    before
}

/// `21 21 > 6 -6`.
pub fn codes(particles: impl Iterator<Item = (i32, bool)>) -> String {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (pdg, incoming) in particles {
        let side = if incoming { &mut before } else { &mut after };
        side.push(pdg.to_string());
    }
    format!("{} > {}", before.join(" "), after.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::process::Quantity;

    fn legs(codes: &[i32]) -> Vec<Leg> {
        let leg = |(i, &pdg): (usize, &i32)| Leg {
            pdg,
            incoming: i < 2,
            mass: Quantity::ZERO,
        };
        codes.iter().enumerate().map(leg).collect()
    }

    fn event(codes: &[(i32, bool)]) -> Vec<Particle> {
        let particle = |&(pdg, incoming)| Particle {
            pdg,
            incoming,
            momentum: [0.0; 4],
            helicity: UNKNOWN_HELICITY,
            mothers: (0, 0),
        };
        codes.iter().map(particle).collect()
    }

    #[test]
    fn particles_find_their_legs() {
        let process = legs(&[2, 21, 6, -6, 2]);
        let (i, o) = (true, false);
        let direct = event(&[(2, i), (21, i), (2, o), (6, o), (-6, o)]);
        assert_eq!(assign(&process, &direct), Some(vec![0, 1, 3, 4, 2]));
        let mirrored = event(&[(21, i), (2, i), (6, o), (-6, o), (2, o)]);
        assert_eq!(assign(&process, &mirrored), Some(vec![1, 0, 2, 3, 4]));
        let scattered = event(&[(6, o), (2, i), (-6, o), (21, i), (2, o)]);
        assert_eq!(assign(&process, &scattered), Some(vec![1, 3, 0, 2, 4]));
        let other = event(&[(2, i), (21, i), (2, o), (6, o), (6, o)]);
        assert_eq!(assign(&process, &other), None);
        assert_eq!(assign(&process, &direct[..4]), None);
        let conjugate = event(&[(-2, i), (21, i), (-2, o), (6, o), (-6, o)]);
        assert_eq!(assign(&process, &conjugate), None);
        // One comes in where two should.
        let decay = event(&[(2, i), (21, o), (2, o), (6, o), (-6, o)]);
        assert_eq!(assign(&process, &decay), None);
    }

    #[test]
    fn identical_particles_keep_their_order() {
        let process = legs(&[21, 21, 21, 21]);
        let (i, o) = (true, false);
        let gluons = event(&[(21, o), (21, i), (21, o), (21, i)]);
        assert_eq!(assign(&process, &gluons), Some(vec![1, 3, 0, 2]));
    }

    #[test]
    fn codes_read_as_a_process() {
        let legs = legs(&[21, 21, 6, -6]);
        let text = codes(legs.iter().map(|leg| (leg.pdg, leg.incoming)));
        assert_eq!(text, "21 21 > 6 -6");
    }
}
