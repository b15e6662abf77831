//! Traces parton lines through a clustering: which steps determine the scales, and which particles are jets.
//!
//! Follows `ipartupdate`, `isjetvx` and `setclscales` of MadEvent's `reweight.f`.

use super::Error;
use mebridge_support::sorted::SortedMap;
use std::cell::Cell;

const GLUON: i32 = 21;
const PHOTON: i32 = 22;

/// The trace of one order of steps. Steps count from 1; 0 is none.
pub struct Trace<'a> {
    steps: &'a [[u32; 3]],
    /// PDG codes and colours of lines.
    known: Vec<(u32, (i32, i32))>,
    colors: &'a SortedMap<i32, i32>,
    maxjetflavor: i32,
    /// The ranks of the legs in transverse momentum, four bits each.
    ranks: u64,
    /// Whether the ranks were used.
    looked: Cell<bool>,
    legs: usize,
    /// The particle or beam, from 1, that a line leads to, and a second one if a gluon split into two quarks.
    ends: Vec<(u32, [usize; 2])>,
    /// The same, before the search for jets.
    followed: Vec<(u32, [usize; 2])>,
    good: Vec<(u32, bool)>,
    /// For each particle, from 1, whether it is a jet (not 0).
    jets: Vec<i32>,
    /// Whether the process is 2 -> 1, which is not traced.
    single: bool,
    /// For both beams, the first step, the last step of a parton line, and the last step of a coloured line.
    first: [usize; 2],
    last: [usize; 2],
    central: [usize; 2],
}

fn get<T: Copy>(from: &[(u32, T)], line: u32) -> Option<T> {
    from.iter()
        .find(|(known, _)| *known == line)
        .map(|(_, value)| *value)
}

fn set<T>(to: &mut Vec<(u32, T)>, line: u32, value: T) {
    match to.iter_mut().find(|(known, _)| *known == line) {
        Some((_, old)) => *old = value,
        None => to.push((line, value)),
    }
}

fn sign(code: i32) -> i32 {
    if code >= 0 { 1 } else { -1 }
}

impl<'a> Trace<'a> {
    /// Traces steps, each with its first, second and combined line; the last step is that of both beams.
    pub fn new(
        steps: &'a [[u32; 3]],
        codes: &SortedMap<u32, i32>,
        colors: &'a SortedMap<i32, i32>,
        maxjetflavor: i32,
        ranks: u64,
        legs: usize,
    ) -> Result<Self, Error> {
        let mut trace = Trace {
            steps,
            known: Vec::with_capacity(2 * legs),
            colors,
            maxjetflavor,
            ranks,
            looked: Cell::new(false),
            legs,
            ends: (0..legs).map(|leg| (1 << leg, [leg + 1, 0])).collect(),
            followed: Vec::new(),
            good: Vec::new(),
            jets: vec![0; legs + 1],
            single: legs == 3,
            first: [0; 2],
            last: [0; 2],
            central: [0; 2],
        };
        let alone = (0..legs).map(|leg| 1 << leg);
        for line in alone.chain(steps.iter().flatten().copied()) {
            if get(&trace.known, line).is_none() {
                trace.has(line, codes.get(&line).copied().unwrap_or(0));
            }
        }
        for &[one, other, mother] in &steps[..steps.len() - 1] {
            trace.follow(one, other, mother)?;
        }
        trace.followed = trace.ends.clone();
        if !trace.single {
            trace.scan();
        }
        for beam in 0..2 {
            if trace.first[beam] == 0 {
                trace.first[beam] = trace.last[beam];
            }
        }
        Ok(trace)
    }

    /// Whether the trace depends on which particle is harder.
    pub fn by_ranks(&self) -> bool {
        self.looked.get()
    }

    /// The results of the trace; for points that are reweighted with the greatest flavour of partons, `asrwgtflavor`.
    pub fn results(&self, reweighted: Option<i32>, numbers: &[[i32; 3]]) -> Traced {
        let mut traced = Traced {
            single: self.single,
            paired: self.is_paired(),
            jets: self.jets.iter().filter(|jet| **jet > 0).count(),
            first: self.first,
            last: self.last,
            central: self.central,
            jet_steps: self.jet_steps(),
            emissions: Vec::new(),
            pieces: Vec::new(),
            clustered: Vec::new(),
            numbers: Vec::new(),
        };
        if let Some(flavor) = reweighted {
            let most = flavor.max(self.maxjetflavor);
            traced.emissions = self.emissions(most);
            traced.pieces = self.pieces(most);
            traced.clustered = self.clustered();
            traced.numbers = numbers.to_vec();
        }
        traced
    }

    /// Sets the PDG code of a line.
    fn has(&mut self, line: u32, code: i32) {
        let color = self.colors.get(&code).copied().unwrap_or(0);
        set(&mut self.known, line, (code, color));
    }

    fn pdg(&self, line: u32) -> i32 {
        get(&self.known, line).map_or(0, |(code, _)| code)
    }

    fn color(&self, line: u32) -> i32 {
        get(&self.known, line).map_or(0, |(_, color)| color)
    }

    fn is_strong(&self, line: u32) -> bool {
        self.color(line).abs() > 1
    }

    fn is_octet(&self, line: u32) -> bool {
        self.color(line).abs() == 8
    }

    fn is_light(&self, code: i32) -> bool {
        code.abs() <= self.maxjetflavor || code.abs() == GLUON
    }

    fn is_jet(&self, line: u32) -> bool {
        self.is_light(self.pdg(line))
    }

    fn ends(&self, line: u32) -> [usize; 2] {
        get(&self.ends, line).unwrap_or_default()
    }

    /// The outgoing particle, if the line is one.
    fn particle(&self, line: u32) -> Option<usize> {
        let end = self.ends(line)[0];
        (end > 2 && line == 1 << (end - 1)).then_some(end)
    }

    fn is_of_beam(&self, line: u32) -> bool {
        (1..=2).contains(&self.ends(line)[0])
    }

    /// Whether the particle that the first line leads to is harder than that of the second.
    fn is_harder(&self, one: u32, other: u32) -> bool {
        self.looked.set(true);
        let of = |line| self.ranks >> (4 * (self.ends(line)[0].max(1) - 1)) & 15;
        of(one) > of(other)
    }

    /// Whether the first is a quark and the second a gluon or photon.
    fn emits(&self, one: u32, other: u32) -> bool {
        let code = self.pdg(one);
        code < GLUON && self.is_light(code) && matches!(self.pdg(other), GLUON | PHOTON)
    }

    /// Determines the end of a combined line.
    fn follow(&mut self, one: u32, other: u32, mother: u32) -> Result<(), Error> {
        let of_beams = (self.is_of_beam(one), self.is_of_beam(other));
        if of_beams == (true, true) {
            return Ok(());
        }
        if of_beams != (false, false) {
            let (beam, emitted) = if of_beams.1 {
                (other, one)
            } else {
                (one, other)
            };
            let end = self.ends(beam)[0];
            set(&mut self.ends, mother, [end, 0]);
            if self.is_jet(mother) {
                if self.emits(emitted, beam) {
                    let code = -self.pdg(emitted);
                    self.has(mother, code);
                }
                if self.emits(beam, emitted) {
                    let code = self.pdg(beam);
                    self.has(mother, code);
                }
            }
            return Ok(());
        }
        if self.is_jet(mother) {
            for (one, other) in [(one, other), (other, one)] {
                if self.emits(one, other) {
                    let code = self.pdg(one);
                    self.has(mother, code);
                }
            }
        }
        let ends = self.outgoing(one, other, mother)?;
        set(&mut self.ends, mother, ends);
        Ok(())
    }

    fn outgoing(&self, one: u32, other: u32, mother: u32) -> Result<[usize; 2], Error> {
        let [code, first, second] = [mother, one, other].map(|line| self.pdg(line));
        let colors = [mother, one, other].map(|line| self.color(line));
        let sizes = colors.map(i32::abs);
        let (of_one, of_other) = (self.ends(one), self.ends(other));
        let alone = |ends: [usize; 2]| [ends[0], 0];
        let harder = || {
            if self.is_harder(one, other) {
                of_one
            } else {
                of_other
            }
        };
        let both = || match self.is_harder(one, other) {
            true => [of_one[0], of_other[0]],
            false => [of_other[0], of_one[0]],
        };
        let quark = |code: i32| code.abs() <= 6;
        let ends = if code == GLUON && first == GLUON && second == GLUON {
            harder()
        } else if code == GLUON && quark(first) && quark(second)
            || colors[0] == 8 && sizes[1..] == [3, 3]
        {
            both()
        } else if code == GLUON && (first == GLUON || second == GLUON) {
            let (gluon, rest) = if first == GLUON {
                (of_one, other)
            } else {
                (of_other, one)
            };
            if self.is_strong(rest) {
                harder()
            } else {
                gluon
            }
        } else if code == GLUON {
            harder()
        } else if code == first || code == first + sign(second) {
            alone(of_one)
        } else if code == second || code == second + sign(first) {
            alone(of_other)
        } else if sizes[..2] == [3, 3] && colors[2] == 1 {
            alone(of_one)
        } else if [sizes[0], sizes[2]] == [3, 3] && colors[1] == 1 || sizes == [3, 3, 8] {
            alone(of_other)
        } else if [sizes[0], sizes[2]] == [3, 3] && colors[1] == 8 {
            alone(of_one)
        } else if matches!(colors[0], 1 | 2) || colors[1..].contains(&2) {
            [of_one[0], of_other[0]]
        } else if sizes == [3, 3, 3] {
            alone(of_one)
        } else if sizes == [6, 3, 3] {
            both()
        } else if sizes == [8, 1, 8] {
            of_other
        } else if sizes == [8, 8, 1] {
            of_one
        } else {
            return Err(Error::Colors {
                mother: code,
                first,
                second,
            });
        };
        Ok(ends)
    }

    fn is_good(&self, line: u32) -> bool {
        get(&self.good, line).unwrap_or(false)
    }

    /// Finds the first step, the last step of a parton and the last step of a colour along each beam, and the jets.
    fn scan(&mut self) {
        let mut beams = [1, 2];
        let mut colored = beams.map(|beam| self.is_strong(beam));
        let mut partons = colored;
        for beam in 0..2 {
            set(&mut self.good, beams[beam], partons[beam]);
        }
        for leg in 2..self.legs {
            let good = self.is_jet(1 << leg);
            set(&mut self.good, 1 << leg, good);
        }
        let (mut code, mut increase) = (1, false);
        for (number, &[one, other, mother]) in (1..).zip(self.steps) {
            let is_final = number == self.legs - 2;
            for (line, rest) in [(one, other), (other, one)] {
                for beam in 0..2 {
                    if line != beams[beam] {
                        continue;
                    }
                    beams[beam] = mother;
                    let (emitted, parent) = if is_final {
                        (mother, rest)
                    } else {
                        (rest, mother)
                    };
                    if self.first[beam] == 0 {
                        self.first[beam] = number;
                    }
                    if partons[beam] {
                        self.last[beam] = number;
                        partons[beam] = self.is_good(emitted) && self.is_jet(parent);
                    } else {
                        set(&mut self.good, parent, false);
                    }
                    if !self.is_good(emitted) || !self.is_jet(line) || !self.is_jet(parent) {
                        (code, increase) = (code + 1, true);
                    } else if increase {
                        (code, increase) = (code + 1, false);
                    }
                    if self.is_good(emitted) {
                        let sure = partons[beam] || self.pdg(emitted) == GLUON;
                        let end = self.ends(emitted)[0];
                        self.jets[end] = if sure { 1 } else { code };
                    }
                    if colored[beam] {
                        self.central[beam] = number;
                        colored[beam] = self.is_strong(parent);
                    }
                }
            }
            if !beams.contains(&mother) {
                self.outer([one, other, mother], is_final);
            }
        }
        if partons != [true, true] {
            code -= i32::from(partons[0] || partons[1]);
            for jet in &mut self.jets[3..] {
                if 1 < *jet && *jet <= code {
                    *jet = 0;
                }
            }
        }
    }

    fn is_jet_vertex(&self, [one, other, mother]: [u32; 3], is_final: bool) -> bool {
        if is_final || !self.are_strong(&[mother, one, other]) {
            return false;
        }
        let [code, first, second] = [mother, one, other].map(|line| self.pdg(line));
        (self.is_jet(one) && (self.is_jet(mother) || code == second))
            || (self.is_jet(other) && (self.is_jet(mother) || code == first))
    }

    /// Handles a step of two outgoing lines.
    fn outer(&mut self, step: [u32; 3], is_final: bool) {
        let [one, other, mother] = step;
        let strong = [mother, one, other].map(|line| self.is_strong(line));
        if !self.is_jet_vertex(step, is_final) {
            let [first, second] = self.ends(mother);
            if first > 2 && strong.contains(&true) && strong.contains(&false) {
                let lost = match self.is_octet(1 << (first - 1)) {
                    true => self.is_octet(mother),
                    false => second == 0 || (self.jets[first] > 0 && self.jets[second] > 0),
                };
                if lost {
                    self.jets[first] = 0;
                }
            }
            if second > 2 && !self.is_octet(1 << (second - 1)) && !self.is_octet(mother) {
                self.jets[second] = 0;
            }
            set(&mut self.good, mother, false);
            return;
        }
        for line in [one, other] {
            if let Some(leg) = self.particle(line)
                && self.is_jet(line)
            {
                self.jets[leg] = 1;
            }
        }
        let good = self.is_jet(mother) && self.is_good(one) && self.is_good(other);
        set(&mut self.good, mother, good);
        if [mother, one, other].iter().all(|line| self.is_octet(*line)) {
            let before = self.ends(mother);
            let first_is_hard = before[0] == self.ends(one)[0];
            let (hard, soft) = if first_is_hard {
                (one, other)
            } else {
                (other, one)
            };
            if !self.is_good(hard) && self.is_good(soft) {
                let of_soft = self.ends(soft);
                for (line, ends) in &mut self.ends {
                    if *ends == before && *line >= mother {
                        *ends = of_soft;
                    }
                }
            }
        }
    }

    /// Whether the last step but one is a strong splitting into two outgoing lines, on a coloured line through the
    /// event.
    fn is_paired(&self) -> bool {
        let before = self.legs - 2;
        if self.legs <= 3 || self.last != [before, before] {
            return false;
        }
        self.are_strong(&self.steps[self.legs - 4])
    }

    fn are_strong(&self, lines: &[u32]) -> bool {
        lines.iter().all(|line| self.is_strong(*line))
    }

    /// The steps at which a jet is clustered, except the last step.
    fn jet_steps(&self) -> Vec<usize> {
        let steps = (1..).zip(&self.steps[..self.steps.len() - 1]);
        let is_jet = |line: &u32| self.particle(*line).is_some_and(|leg| self.jets[leg] != 0);
        let some = steps.filter(|(_, step)| step[..2].iter().any(is_jet));
        some.map(|(number, _)| number).collect()
    }

    /// For each outgoing particle, from 3, the steps at which it is clustered as a jet; empty if it is not a jet.
    fn clustered(&self) -> Vec<(usize, Vec<usize>)> {
        let mut found: SortedMap<usize, Vec<usize>> = SortedMap::new();
        let mut good = self.good.clone();
        for (number, &step) in (1..).zip(self.steps) {
            let is_final = number == self.steps.len();
            let is_jet = self.is_jet_vertex(step, is_final);
            for line in [step[0], step[if is_final { 2 } else { 1 }]] {
                for end in self.ends(line) {
                    if end <= 2 {
                        continue;
                    }
                    if self.jets[end] == 0 {
                        set(&mut good, line, false);
                    }
                    if !is_jet || !get(&good, line).unwrap_or(false) {
                        found.entry(end).or_default();
                    } else if found.get(&end).is_none_or(|steps| !steps.is_empty()) {
                        found.entry(end).or_default().push(number);
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    /// The steps that have their own alpha_s, where quarks up to `most` are partons.
    fn emissions(&self, most: i32) -> Vec<usize> {
        let mut good: Vec<(u32, bool)> = Vec::new();
        for leg in 0..self.legs {
            let line = 1 << leg;
            let parton = self.is_parton(line, most);
            let is_good = match leg {
                0 | 1 => parton,
                _ => self.jets[leg + 1] > 0 || parton && !self.is_jet(line),
            };
            set(&mut good, line, is_good);
        }
        let mut found = Vec::new();
        for (number, step) in (1..).zip(&self.steps[..self.steps.len() - 1]) {
            let [one, other, mother] = *step;
            let both = [one, other].map(|line| get(&good, line).unwrap_or(false));
            let of_mother = self.is_parton(mother, most) && both == [true, true];
            set(&mut good, mother, of_mother);
            let emitted = if get(&self.followed, mother).unwrap_or_default()[0] <= 2 {
                of_mother
            } else {
                let partons = self.is_parton(one, most) || self.is_parton(other, most);
                self.are_strong(step) && partons && both.contains(&true)
            };
            if emitted {
                found.push(number);
            }
        }
        found
    }

    /// The parton lines from the beams inwards, where quarks up to `most` are partons.
    fn pieces(&self, most: i32) -> Vec<BeamLine> {
        let (mut lines, mut found) = ([1, 2], Vec::new());
        for (number, &[one, other, mother]) in (1..).zip(self.steps) {
            for line in [one, other] {
                let Some(beam) = lines.iter().position(|known| *known == line) else {
                    continue;
                };
                if self.is_strong(line) && self.is_parton(line, most) {
                    lines[beam] = mother;
                    found.push(BeamLine {
                        step: number,
                        beam,
                        line,
                        mother,
                        code: self.pdg(line),
                    });
                }
            }
        }
        found
    }

    /// Whether a line is a gluon or a quark up to `most`.
    fn is_parton(&self, line: u32, most: i32) -> bool {
        let code = self.pdg(line).abs();
        code <= most || code == GLUON
    }
}

/// The results of a trace; steps count from 1, and 0 is none.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Whether the process is 2 -> 1, which is not traced.
    pub single: bool,
    /// Whether the last step but one is a strong splitting into two outgoing lines, on a coloured line through the
    /// event.
    pub paired: bool,
    /// Number of jets.
    pub jets: usize,
    /// For both beams, the first step, the last step of a parton line, and the last step of a coloured line.
    pub first: [usize; 2],
    pub last: [usize; 2],
    pub central: [usize; 2],
    /// The steps at which a jet is clustered, except the last step.
    pub jet_steps: Vec<usize>,
    /// The steps that have their own alpha_s; this and the following are empty unless points are reweighted.
    pub emissions: Vec<usize>,
    /// The parton lines from the beams inwards.
    pub pieces: Vec<BeamLine>,
    /// For each outgoing particle, from 3, the steps at which it is clustered as a jet.
    pub clustered: Vec<(usize, Vec<usize>)>,
    /// The legs that the steps combine, as written to events.
    pub numbers: Vec<[i32; 3]>,
}

/// A parton line from a beam, up to a step.
#[derive(Clone, Debug)]
pub struct BeamLine {
    pub step: usize,
    /// 0 or 1.
    pub beam: usize,
    pub line: u32,
    /// The combined line after the step.
    pub mother: u32,
    /// PDG code of the line.
    pub code: i32,
}
