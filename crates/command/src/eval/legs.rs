//! Assigns the particles of an event to the legs of a process.

use mebridge::lhe::Particle;
use mebridge::process::{Leg, Process};
use std::collections::HashMap;

/// Matrix elements by the particles of their legs.
pub struct ElementIndex {
    elements: Vec<KnownElement>,
    /// Elements and their flavours by the sorted PDG codes of the particles.
    by_codes: HashMap<Vec<i32>, Vec<(usize, usize)>>,
}

struct KnownElement {
    process: String,
    place: String,
    /// The legs, and those of other flavours with the same matrix element.
    flavours: Vec<Vec<Leg>>,
}

impl ElementIndex {
    /// Makes the index of processes with their origins.
    pub fn new<'a>(elements: impl Iterator<Item = (&'a Process, &'a str)>) -> ElementIndex {
        let mut by_codes: HashMap<_, Vec<_>> = HashMap::new();
        let element = |(i, (process, place)): (usize, (&Process, &str))| {
            let flavours = flavours(process);
            for (j, legs) in flavours.iter().enumerate() {
                let codes = sorted(legs.iter().map(|leg| (leg.pdg, leg.incoming)));
                by_codes.entry(codes).or_default().push((i, j));
            }
            KnownElement {
                process: process.name.clone(),
                place: place.to_owned(),
                flavours,
            }
        };
        ElementIndex {
            elements: elements.enumerate().map(element).collect(),
            by_codes,
        }
    }

    /// Returns the matrix element of these particles, and the result of `assign` for the first of its flavours that has
    /// one.
    ///
    /// # Errors
    /// Two matrix elements have these particles; the message continues one that names the event.
    pub fn find<T>(
        &self,
        particles: &[Particle],
        assign: impl Fn(&[Leg]) -> Option<T>,
    ) -> std::result::Result<Option<(usize, T)>, String> {
        let mut found: Option<(usize, T)> = None;
        let known = self.by_codes.get(&sorted(sides(particles)));
        for &(i, j) in known.into_iter().flatten() {
            match &found {
                Some((other, _)) if *other == i => continue,
                _ => {}
            }
            let Some(assigned) = assign(&self.elements[i].flavours[j]) else {
                continue;
            };
            if let Some((other, _)) = found {
                let (a, b) = (&self.elements[other], &self.elements[i]);
                return Err(format!(
                    "may be of '{}' ({}) and of '{}' ({}), which have the same particles; name one of them",
                    a.process, a.place, b.process, b.place
                ));
            }
            found = Some((i, assigned));
        }
        Ok(found)
    }

    /// Describes the particles of an event that matches nothing, and those expected; continues a message that names the
    /// event.
    pub fn describe_mismatch(&self, particles: &[Particle]) -> String {
        let has = codes(sides(particles));
        let [one] = self.elements.as_slice() else {
            return format!(
                "has the particles {has}, which none of {} matrix elements has",
                self.elements.len()
            );
        };
        let wants: Vec<String> = one
            .flavours
            .iter()
            .map(|legs| codes(legs.iter().map(|leg| (leg.pdg, leg.incoming))))
            .collect();
        format!(
            "has the particles {has}, but '{}' has {}",
            one.process,
            wants.join(" or ")
        )
    }
}

/// Returns the legs of a process, and those of other flavours with the same matrix element.
fn flavours(process: &Process) -> Vec<Vec<Leg>> {
    let with = |codes: &Vec<i32>| {
        let legs = process.legs.iter().zip(codes);
        legs.map(|(leg, &pdg)| Leg { pdg, ..leg.clone() }).collect()
    };
    let mut flavours = vec![process.legs.clone()];
    flavours.extend(process.other_flavours.iter().map(with));
    flavours
}

/// Returns PDG codes, and whether the particles are incoming.
fn sides(particles: &[Particle]) -> impl Iterator<Item = (i32, bool)> {
    particles.iter().map(|p| (p.pdg, p.is_incoming()))
}

/// Returns the index of the particle for each leg; `None` if the particles do not match. Incoming particles are matched
/// in the order of the beams or, if that fails, exchanged: |M|^2 does not depend on the beam that a particle comes
/// from. Identical particles keep their order.
pub fn assign(legs: &[Leg], particles: &[Particle]) -> Option<Vec<usize>> {
    let orders = [false, true].into_iter();
    let mut orders = orders.filter_map(|exchanged| assign_from(legs, particles, exchanged));
    orders.next()
}

/// The same with incoming particles only in the order of the beams, or only exchanged.
pub fn assign_from(legs: &[Leg], particles: &[Particle], exchanged: bool) -> Option<Vec<usize>> {
    if legs.len() != particles.len() {
        return None;
    }
    let mut incoming: Vec<usize> = (0..particles.len())
        .filter(|&i| particles[i].is_incoming())
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
            false => (0..particles.len()).find(|&i| {
                !particles[i].is_incoming() && !used[i] && particles[i].pdg == leg.pdg
            })?,
        };
        used[place] = true;
        order.push(place);
    }
    Some(order)
}

/// Returns sorted codes: of the incoming particles, a zero, of the outgoing ones.
fn sorted(particles: impl Iterator<Item = (i32, bool)>) -> Vec<i32> {
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

/// Formats codes as `21 21 > 6 -6`.
fn codes(particles: impl Iterator<Item = (i32, bool)>) -> String {
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
            status: if incoming { -1 } else { 1 },
            ..Particle::default()
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
        // One incoming particle instead of two.
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
