//! One event: the data to evaluate, and its text with additional weights.

use super::file::end_of_line;
use crate::eval::{Leg, assign};
use crate::number::exact;
use mebridge::lhe::{self, EventLocation, Particle};
use mebridge::{Error, Result};
use std::path::Path;

/// An event.
pub struct Event {
    /// XWGTUP.
    pub weight: f64,
    /// AQCDUP.
    pub alpha_s: f64,
    /// The incoming and outgoing particles.
    pub particles: Vec<Particle>,
    place: EventLocation,
}

/// The order of the particles on the legs: an index for each leg.
pub type LegOrder = Vec<usize>;

/// Largest number of orders of an event.
const MAX_ORDERS: usize = 720;
/// A particle whose momentum is this small relative to its energy is at rest: the remaining digits in a file define no
/// direction for its helicity. (MG5aMC drops the z component if it is this small, also for particles that move
/// transversely; here those keep it, so that momentum is conserved.)
const AT_REST: f64 = 1e-6;

impl Event {
    /// Makes the event from one of a file.
    pub fn from_lhe(read: &lhe::Event, path: &Path) -> Result<Event> {
        let event = Event {
            weight: read.weight,
            alpha_s: read.alpha_s(),
            particles: read.external().copied().collect(),
            place: read.place,
        };
        if event.alpha_s <= 0.0 {
            let what = format!(
                "has alpha_s (AQCDUP) {}; there is nothing to evaluate it with",
                event.alpha_s
            );
            return Err(event.error(path, &what));
        }
        Ok(event)
    }

    /// An error about this event.
    pub fn error(&self, path: &Path, what: &str) -> Error {
        Error::EventsFile {
            path: path.into(),
            what: format!("{} {what}", self.place),
        }
    }

    /// Returns the orders of the particles on these legs; empty if the particles do not match. There are several if
    /// identical particles come from different mothers: the file does not say which of them is which leg.
    pub fn orders(&self, legs: &[Leg]) -> Vec<LegOrder> {
        let Some(first) = assign(legs, &self.particles) else {
            return Vec::new();
        };
        let mut orders = vec![first.clone()];
        let mut codes: Vec<i32> = legs.iter().filter(|l| !l.incoming).map(|l| l.pdg).collect();
        codes.sort_unstable();
        codes.dedup();
        for code in codes {
            let of_code = |&leg: &usize| !legs[leg].incoming && legs[leg].pdg == code;
            let places: Vec<usize> = (0..legs.len()).filter(of_code).collect();
            let mothers = |leg: usize| self.particles[first[leg]].mothers;
            let classes: Vec<[i32; 2]> = places.iter().map(|&leg| mothers(leg)).collect();
            if classes.iter().all(|c| *c == classes[0]) {
                continue;
            }
            let members: Vec<usize> = places.iter().map(|&leg| first[leg]).collect();
            let arranged = arrangements(&members, &classes);
            if orders.len() * arranged.len() > MAX_ORDERS {
                continue;
            }
            orders = orders
                .iter()
                .flat_map(|order| {
                    arranged.iter().map(|members| {
                        let mut order = order.clone();
                        for (&leg, &member) in places.iter().zip(members) {
                            order[leg] = member;
                        }
                        order
                    })
                })
                .collect();
        }
        orders
    }

    /// Returns the helicities in an order; `None` if one is unknown.
    pub fn helicities(&self, order: &[usize], path: &Path) -> Result<Option<Vec<i8>>> {
        let spins = order.iter().map(|&i| self.particles[i].helicity());
        let Some(spins) = spins.collect::<Option<Vec<f64>>>() else {
            return Ok(None);
        };
        // The accord stores cosines here for spins that are not helicities.
        let whole = |&spin: &f64| Some(spin as i8).filter(|&whole| f64::from(whole) == spin);
        match spins.iter().map(whole).collect() {
            Some(helicities) => Ok(Some(helicities)),
            None => {
                let what = format!(
                    "has SPINUP {spins:?}, which are no helicities; reweight with --helicity sum"
                );
                Err(self.error(path, &what))
            }
        }
    }

    /// Returns the momenta in an order, boosted along z to the frame where the incoming particles are back to back.
    pub fn momenta(&self, order: &[usize]) -> Vec<f64> {
        let incoming: Vec<&Particle> = self.particles.iter().filter(|p| p.is_incoming()).collect();
        let along_z = |p: &&&Particle| p.momentum[0] == 0.0 && p.momentum[1] == 0.0;
        let boosts = incoming.len() == 2 && incoming.iter().filter(along_z).count() == 2;
        let sum = |i: usize| incoming.iter().map(|p| p.four_momentum()[i]).sum::<f64>();
        let (gamma, gamma_beta) = match boosts {
            true => {
                let (e, z) = (sum(0), sum(3));
                let mass = ((e - z) * (e + z)).sqrt();
                (e / mass, z / mass)
            }
            false => (1.0, 0.0),
        };
        let boosted = |&i: &usize| {
            let [e, x, y, z] = self.particles[i].four_momentum();
            let (e, z) = (gamma * e - gamma_beta * z, gamma * z - gamma_beta * e);
            match x * x + y * y + z * z < (AT_REST * e).powi(2) {
                true => [e, 0.0, 0.0, 0.0],
                false => [e, x, y, z],
            }
        };
        order.iter().flat_map(boosted).collect()
    }
}

/// Returns all arrangements of the classes; members of a class keep their order.
fn arrangements(members: &[usize], classes: &[[i32; 2]]) -> Vec<Vec<usize>> {
    let mut sorted: Vec<[i32; 2]> = classes.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut queues: Vec<Vec<usize>> = sorted
        .iter()
        .map(|class| {
            let of_class = members.iter().zip(classes).filter(|(_, c)| *c == class);
            of_class.map(|(&member, _)| member).rev().collect()
        })
        .collect();
    let mut found = Vec::new();
    arrange(&mut queues, &mut Vec::new(), members.len(), &mut found);
    found
}

fn arrange(
    queues: &mut [Vec<usize>],
    so_far: &mut Vec<usize>,
    count: usize,
    found: &mut Vec<Vec<usize>>,
) {
    if so_far.len() == count || found.len() > MAX_ORDERS {
        found.push(so_far.clone());
        return;
    }
    for i in 0..queues.len() {
        if let Some(member) = queues[i].pop() {
            so_far.push(member);
            arrange(queues, so_far, count, found);
            so_far.pop();
            queues[i].push(member);
        }
    }
}

/// Returns an event's text with these weights; `None` if it already has one of them.
pub fn with_weights(event: &lhe::Event, names: &[String], weights: &[f64]) -> Option<Vec<u8>> {
    if event.weight_names().any(|name| names.contains(&name)) {
        return None;
    }
    let end = end_of_line(&event.text);
    let mut text: String = names
        .iter()
        .zip(weights)
        .map(|(name, &weight)| {
            let plus = if weight < 0.0 { "" } else { "+" };
            format!("<wgt id='{name}'> {plus}{} </wgt>{end}", exact(weight))
        })
        .collect();
    let at = event.list_end.unwrap_or_else(|| {
        text = format!("<rwgt>{end}{text}</rwgt>{end}");
        event.end
    });
    let mut bytes = Vec::with_capacity(event.text.len() + text.len());
    bytes.extend(&event.text[..at]);
    bytes.extend(text.as_bytes());
    bytes.extend(&event.text[at..]);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn weights_go_behind_those_that_are_there() {
        let names = ["a".to_owned()];
        let text = |more: &str, end: &str| {
            let text = format!("<event>\n1 1 1 1 1 1\n1 1 0 0 0 0 0 0 0 0 0 0 9\n{more}</event>\n");
            let text = text.replace('\n', end);
            let mut event = lhe::Event::default();
            let mut reader =
                lhe::Reader::new(Box::new(Cursor::new(text)), Path::new("f"), true).unwrap();
            assert!(reader.next(&mut event).unwrap());
            let bytes = with_weights(&event, &names, &[-0.5])?;
            let text = String::from_utf8(bytes).unwrap();
            Some(text.split(" 9").last().unwrap().replace(end, "|"))
        };
        let wgt = "<wgt id='a'> -5.0000000000000000e-01 </wgt>|";
        for end in ["\n", "\r\n", "\r"] {
            assert_eq!(
                text("", end).unwrap(),
                format!("|<rwgt>|{wgt}</rwgt>|</event>")
            );
            assert_eq!(
                text("<rwgt>\n<wgt id='b'> 1 </wgt>\n</rwgt>\n", end).unwrap(),
                format!("|<rwgt>|<wgt id='b'> 1 </wgt>|{wgt}</rwgt>|</event>")
            );
        }
        for name in ["id='a'", "id=\"a\"", "x='1' id = ' a '", "id='&#97;'"] {
            let there = format!("<rwgt>\n<wgt {name}> 1 </wgt>\n</rwgt>\n");
            assert_eq!(text(&there, "\n"), None);
        }
    }

    #[test]
    fn classes_are_arranged_once() {
        let classes = [[3, 3], [3, 3], [4, 4]];
        let mut found = arrangements(&[5, 6, 7], &classes);
        found.sort();
        assert_eq!(found, [[5, 6, 7], [5, 7, 6], [7, 5, 6]]);
    }
}
