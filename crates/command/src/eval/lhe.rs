//! Les Houches event files (hep-ph/0609017), as MG5aMC and others write them.
//!
//! The first line of an event is read (`NUP IDPRUP XWGTUP SCALUP AQEDUP AQCDUP`) and the lines of its particles.
//! Weights and all else behind them are passed over.

use super::input::{Chunk, EventLocation, Known};
use super::legs::{Particle, UNKNOWN_HELICITY, assign_from, codes, sorted};
use super::lines::{LineReader, number, shown};
use crate::output;
use mebridge::process::{Leg, Process};
use mebridge::{Error, Result};
use std::collections::HashMap;

/// No event has more particles, those on the way included.
const MOST_PARTICLES: usize = 1000;
/// Words of the first line of an event, and of a particle's.
const WORDS_OF_EVENT: usize = 6;
const WORDS_OF_PARTICLE: usize = 13;

/// A Les Houches event file.
pub struct Lhe {
    lines: LineReader,
    elements: Vec<MatrixElement>,
    /// Matrix elements, and which of their flavours, by sorted codes.
    by_codes: HashMap<Vec<i32>, Vec<(usize, usize)>>,
    skip_others: bool,
    events: u64,
    /// Whether the end of the file said that it is the end.
    closed: bool,
    particles: Vec<Particle>,
}

/// A matrix element.
struct MatrixElement {
    process: String,
    place: String,
    /// The legs, and those of other flavours with the same matrix element.
    flavours: Vec<Vec<Leg>>,
}

impl Lhe {
    /// Events for these matrix elements.
    pub fn new(lines: LineReader, known: &[Known], skip_others: bool) -> Result<Lhe> {
        for process in known.iter().map(|one| one.process) {
            if let Some(leg) = process.legs.iter().position(|leg| leg.pdg == 0) {
                return Err(lines.error(format!(
                    "leg {} of '{}' has no PDG code, so it is not known which particle of an LHE event \
                     it is; give the momenta as text or .npy, in the order of the process",
                    leg + 1,
                    process.name
                )));
            }
        }
        let elements = known.iter().map(|one| MatrixElement {
            process: one.process.name.clone(),
            place: one.place.to_owned(),
            flavours: flavours(one.process),
        });
        let elements: Vec<MatrixElement> = elements.collect();
        let mut by_codes: HashMap<_, Vec<_>> = HashMap::new();
        for (i, element) in elements.iter().enumerate() {
            for (j, legs) in element.flavours.iter().enumerate() {
                let codes = sorted(legs.iter().map(|leg| (leg.pdg, leg.incoming)));
                by_codes.entry(codes).or_default().push((i, j));
            }
        }
        Ok(Lhe {
            lines,
            elements,
            by_codes,
            skip_others,
            events: 0,
            closed: false,
            particles: Vec::new(),
        })
    }

    /// Adds the next event; false at the end.
    pub fn next(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let Some(line) = self.find_event()? else {
            return Ok(false);
        };
        self.events += 1;
        let place = EventLocation {
            event: self.events,
            line,
        };
        let alpha_s = self.read_event(place)?;
        self.lines.event_ends();
        let Some((element, order)) = self.find_element(place)? else {
            if self.skip_others {
                chunk.rows.push(false);
                return Ok(true);
            }
            return Err(self.of_others(place));
        };
        for particle in order {
            chunk.momenta.extend(self.particles[particle].momentum);
        }
        chunk.alpha_s.push(alpha_s);
        chunk.add_of(place, element);
        Ok(true)
    }

    /// The matrix element of the particles, and their places in the order of its legs. One that has the incoming
    /// ones as they are comes before one that has them the other way round.
    fn find_element(&self, place: EventLocation) -> Result<Option<(usize, Vec<usize>)>> {
        let particles = self.particles.iter().map(|p| (p.pdg, p.incoming));
        let Some(known) = self.by_codes.get(&sorted(particles)) else {
            return Ok(None);
        };
        for exchanged in [false, true] {
            let mut found: Option<(usize, Vec<usize>)> = None;
            for &(i, j) in known {
                let legs = &self.elements[i].flavours[j];
                let Some(order) = assign_from(legs, &self.particles, exchanged) else {
                    continue;
                };
                match &found {
                    Some((other, _)) if *other != i => {
                        let (a, b) = (&self.elements[*other], &self.elements[i]);
                        return Err(self.lines.error(format!(
                            "{place} may be of '{}' ({}) and of '{}' ({}), which have the same particles; name one \
                             of them",
                            a.process, a.place, b.process, b.place
                        )));
                    }
                    Some(_) => {}
                    None => found = Some((i, order)),
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// An event is none of those that were asked for.
    fn of_others(&self, place: EventLocation) -> Error {
        let has = codes(self.particles.iter().map(|p| (p.pdg, p.incoming)));
        let [one] = self.elements.as_slice() else {
            return self.lines.error(format!(
                "{place} has the particles {has}, which none of {} matrix elements has; leave out events of others \
                 with --skip-others",
                self.elements.len()
            ));
        };
        let wants: Vec<String> = one
            .flavours
            .iter()
            .map(|legs| codes(legs.iter().map(|leg| (leg.pdg, leg.incoming))))
            .collect();
        let wants = wants.join(" or ");
        self.lines.error(format!(
            "{place} has the particles {has}, but '{}' has {wants}; give the process that the events are of, or \
             leave out events of others with --skip-others",
            one.process
        ))
    }

    /// Goes to the next `<event>` and gives its line. Banners and comments may hold anything.
    fn find_event(&mut self) -> Result<Option<u64>> {
        // The end of the part in which events are not looked for.
        let mut until = None;
        while let Some(line) = self.lines.next()? {
            let text = line.text.trim_start();
            if let Some(end) = until {
                if text.contains(end) {
                    until = None;
                }
            } else if begins(text, "<event") {
                return Ok(Some(line.number));
            } else if begins(text, "<header") && !text.contains("</header>") {
                until = Some("</header>");
            } else if text.starts_with("<!--") && !text.contains("-->") {
                until = Some("-->");
            } else if text.starts_with("</LesHouchesEvents>") {
                self.closed = true;
            }
        }
        if let Some(end) = until {
            return Err(self
                .lines
                .error(format!("there is no {end}; the file is cut off")));
        }
        Ok(None)
    }

    /// Reads an event up to its end: its particles that come in or go out, and alpha_s.
    fn read_event(&mut self, place: EventLocation) -> Result<f64> {
        self.particles.clear();
        let head = self.line(place)?;
        let Some((count, _, alpha_s)) = first_line(&head) else {
            return Err(self.lines.error(format!(
                "{place}: line {} is no first line of an event: `{}`",
                self.lines.number(),
                shown(&head)
            )));
        };
        for _ in 0..count {
            let line = self.line(place)?;
            match particle(&line) {
                Some(Some(particle)) => self.particles.push(particle),
                Some(None) => {}
                None => {
                    return Err(self.lines.error(format!(
                        "{place}: line {} is not that of a particle: `{}`",
                        self.lines.number(),
                        shown(&line)
                    )));
                }
            }
        }
        loop {
            let line = self.line(place)?;
            if line.trim_start().starts_with("</event>") {
                return Ok(alpha_s);
            }
            if ends_without(line.trim_start()) {
                let line = self.lines.number();
                return Err(self.lines.error(format!(
                    "{place} has no </event> until line {line}; make the file again"
                )));
            }
        }
    }

    /// A line of an event.
    fn line(&mut self, place: EventLocation) -> Result<String> {
        match self.lines.next()? {
            Some(line) => Ok(line.text.into_owned()),
            None => Err(self.lines.error(format!(
                "the file ends within {place}; it was cut off, copy or make it again"
            ))),
        }
    }

    /// Says so where the file may be cut off.
    pub fn warn(&self) {
        if !self.closed {
            let what = "there is no </LesHouchesEvents> at the end; was the file cut off?";
            output::warn(&self.lines.error(what).to_string());
        }
    }
}

/// The legs of a process, and those of other flavours with the same matrix element.
pub fn flavours(process: &Process) -> Vec<Vec<Leg>> {
    let with = |codes: &Vec<i32>| {
        let legs = process.legs.iter().zip(codes);
        legs.map(|(leg, &pdg)| Leg { pdg, ..leg.clone() }).collect()
    };
    let mut flavours = vec![process.legs.clone()];
    flavours.extend(process.other_flavours.iter().map(with));
    flavours
}

/// NUP, XWGTUP and AQCDUP of the first line of an event.
pub fn first_line(line: &str) -> Option<(usize, f64, f64)> {
    let words: Vec<&str> = line.split_whitespace().take(WORDS_OF_EVENT).collect();
    let &[count, _, weight, _, _, alpha_s] = words.as_slice() else {
        return None;
    };
    let count = count.parse().ok()?;
    let count = (1..=MOST_PARTICLES).contains(&count).then_some(count)?;
    // MG5aMC writes NaN where the model has no alpha_s; the accord has -1 for what is not known.
    let alpha_s = match alpha_s.eq_ignore_ascii_case("nan") {
        true => -1.0,
        false => number(alpha_s)?,
    };
    Some((count, number(weight)?, alpha_s))
}

/// Whether a line begins with this tag, with or without attributes.
pub fn begins(line: &str, tag: &str) -> bool {
    line.strip_prefix(tag)
        .is_some_and(|rest| rest.starts_with(['>', ' ', '\t']) || rest.is_empty())
}

/// Whether a line within an event shows that this one has no end.
pub fn ends_without(line: &str) -> bool {
    begins(line, "<event") || line.starts_with("</LesHouchesEvents>")
}

/// The particle of a line, if it comes in or goes out; `None` where the line is none of a particle.
pub fn particle(line: &str) -> Option<Option<Particle>> {
    // A comment may be behind the numbers.
    let line = line.split('#').next().unwrap_or("");
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() != WORDS_OF_PARTICLE {
        return None;
    }
    let pdg = words[0].parse().ok()?;
    let status: i32 = words[1].parse().ok()?;
    let mut numbers = [0.0; 4];
    for (x, word) in numbers.iter_mut().zip(&words[6..]) {
        *x = number(word)?;
    }
    let [px, py, pz, energy] = numbers;
    Some(matches!(status, -1 | 1).then_some(Particle {
        pdg,
        incoming: status == -1,
        momentum: [energy, px, py, pz],
        helicity: number(words[12]).unwrap_or(UNKNOWN_HELICITY),
        mothers: (words[2].parse().unwrap_or(0), words[3].parse().unwrap_or(0)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_whole_words() {
        assert!(begins("<event>", "<event"));
        assert!(begins("<event npLO=\" 1 \">", "<event"));
        assert!(!begins("<eventgroup>", "<event"));
        assert!(!begins("</event>", "<event"));
    }

    #[test]
    fn models_without_alpha_s() {
        let line = " 3      1 +1.5696600e-12 9.11880000e+01 7.95774700e-02            nan";
        assert_eq!(first_line(line), Some((3, 1.56966e-12, -1.0)));
        assert_eq!(first_line(&line.replace("+1.5696600e-12", "nan")), None);
    }

    #[test]
    fn particles_are_read() {
        let line = |status: &str| format!("6 {status} 1 2 501 0 1.0 -2.0 3D0 2e2 173. 0. 9.");
        let top = Particle {
            pdg: 6,
            incoming: false,
            momentum: [200.0, 1.0, -2.0, 3.0],
            helicity: 9.0,
            mothers: (1, 2),
        };
        assert_eq!(particle(&line("1")), Some(Some(top)));
        let incoming = Particle {
            incoming: true,
            ..top
        };
        assert_eq!(particle(&line("-1")), Some(Some(incoming)));
        assert_eq!(particle(&line("2")), Some(None));
        assert_eq!(particle(&(line("1") + " # top")), Some(Some(top)));
        assert_eq!(particle(&(line("1") + " 1")), None);
        assert_eq!(particle(&line("x")), None);
        assert_eq!(particle(&line("1").replace("3D0", "nan")), None);
        assert_eq!(particle("<mgrwt>"), None);
    }
}
