//! MLM matching (arXiv:0706.2569) as MadEvent has it: the cut `xqcut`, weights of alpha_s and of densities along the tree
//! of a clustered event, and what Pythia reads of it.
//!
//! `setclscales` and `rewgt` of `reweight.f`. They are called one after the other, and the second calls the first once
//! more, with the scales that it gave; what is written down is what the second call leaves.

use super::path::{MOST_STEPS, Path};
use super::trace::Traced;
use serde::{Deserialize, Serialize};

/// f(x) below which MadEvent drops an event.
const LEAST: f64 = 1e-10;
/// GeV^2: of the mass of the last pair.
const PAIR: f64 = 4.0;

/// What of the run card matters.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Matching {
    /// `ickkw = 1`; otherwise there are cuts alone.
    pub reweighted: bool,
    /// The least scale of a jet, GeV; 0 for none.
    pub xqcut: f64,
    /// The least transverse mass of a central vertex, GeV; 0 for none.
    pub xmtcentral: f64,
    /// What multiplies scales of alpha_s.
    pub alpsfact: f64,
    /// Quarks up to it are partons.
    pub asrwgtflavor: i32,
    /// Whether densities are weighted.
    pub pdfwgt: bool,
}

impl Default for Matching {
    /// Neither cuts nor weights.
    fn default() -> Self {
        Matching {
            reweighted: false,
            xqcut: 0.0,
            xmtcentral: 0.0,
            alpsfact: 1.0,
            asrwgtflavor: 5,
            pdfwgt: false,
        }
    }
}

/// Scales that a point has before it is clustered, GeV; 0 where clustering gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given {
    /// Of renormalisation.
    pub renormalisation: f64,
    /// Of both densities.
    pub factorisation: [f64; 2],
    /// Whether those of densities are fixed, which are not multiplied then.
    pub fixed: bool,
    /// What multiplies the others.
    pub factor: f64,
}

/// Scales of a point.
pub struct Found {
    /// GeV.
    pub renormalisation: f64,
    /// Squared, of both densities.
    pub densities: [f64; 2],
    /// Squared, of the central process.
    pub central: [f64; 2],
    /// Whether clustering gave some of them.
    pub clustered: bool,
}

impl Found {
    /// Of renormalisation, and of both densities, GeV.
    pub fn scales(&self) -> [f64; 3] {
        let [first, second] = self.densities.map(f64::sqrt);
        [self.renormalisation, first, second]
    }
}

/// What weights are made with.
pub struct Weighing<'a> {
    /// By the scale, GeV.
    pub alpha_s: &'a dyn Fn(f64) -> f64,
    /// x f(x, Q) of a leg that comes in, by its number, a PDG code, x and Q; none without densities.
    pub density: Option<&'a dyn Fn(usize, i32, f64, f64) -> f64>,
    /// PDG codes of what comes in.
    pub codes: [i32; 2],
    /// Fractions of the momenta of both beams.
    pub x: [f64; 2],
    /// Of both beams, GeV, which is the scale of what is no jet.
    pub energy: f64,
}

/// What matching finds of a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matched {
    /// What its weight is multiplied by.
    pub weight: f64,
    /// The largest of the squared scales that a shower may begin with, GeV^2.
    pub start: f64,
    /// Of what goes out the scale that it is clustered at, GeV; 0 for none.
    pub pt: Vec<f64>,
    /// Scales of the steps, GeV, with the legs that they are said to combine, from 1, the third being the other beam; 0
    /// for none.
    pub steps: Vec<(f64, [i32; 3])>,
    /// Scales of further alpha_s, GeV.
    pub emissions: Vec<f64>,
    /// Of both legs that come in the densities that it is weighted with: PDG code, x and Q in GeV.
    pub densities: [Vec<(i32, f64, f64)>; 2],
}

impl Matched {
    /// Exchanges the beams.
    pub fn exchange(&mut self) {
        self.densities.swap(0, 1);
        for (_, legs) in &mut self.steps {
            for leg in legs.iter_mut().filter(|leg| matches!(leg, 1 | 2)) {
                *leg = 3 - *leg;
            }
        }
    }

    /// Appends it as a record of the layout that `crates/run/src/records.rs` has for so many legs: weight, start, pt,
    /// scales of the steps, legs of the steps, emissions, and of both beams PDG codes, x and Q; what is not there is 0.
    ///
    /// # Panics
    /// If it has more legs.
    pub fn push_record(&self, legs: usize, to: &mut Vec<u8>) {
        let (inner, densities) = (legs.max(3) - 2, legs.max(2));
        fn push<const N: usize>(
            to: &mut Vec<u8>,
            room: usize,
            some: impl ExactSizeIterator<Item = [u8; N]>,
        ) {
            let end = to.len() + room * N;
            assert!(some.len() <= room, "a record of more legs");
            to.extend(some.flatten());
            to.resize(end, 0);
        }
        let double = |number: &f64| number.to_le_bytes();
        push(to, 2, [self.weight, self.start].iter().map(double));
        push(to, inner, self.pt.iter().map(double));
        push(to, inner, self.steps.iter().map(|(scale, _)| double(scale)));
        let of_steps = self.steps.iter().map(|(_, legs)| {
            let [one, other, beam] = legs.map(i32::to_le_bytes);
            let mut bytes = [0; 12];
            bytes[..4].copy_from_slice(&one);
            bytes[4..8].copy_from_slice(&other);
            bytes[8..].copy_from_slice(&beam);
            bytes
        });
        push(to, inner, of_steps);
        push(to, inner, self.emissions.iter().map(double));
        for of in &self.densities {
            push(
                to,
                densities,
                of.iter().map(|(code, ..)| code.to_le_bytes()),
            );
        }
        for of in &self.densities {
            push(to, densities, of.iter().map(|(_, x, _)| double(x)));
        }
        for of in &self.densities {
            push(to, densities, of.iter().map(|(.., q)| double(q)));
        }
    }
}

/// Squared scales of the steps.
pub type Squares = [f64; MOST_STEPS];

/// Squared scales of the steps; central ones are transverse masses.
pub fn vertices(path: &Path, traced: &Traced) -> Squares {
    let (mut squares, mut transverse) = (path.distances, path.transverse);
    if let (true, Some(last)) = (traced.paired, path.last)
        && last > PAIR
    {
        transverse[path.steps - 2..path.steps].fill(last);
    }
    for step in traced.central {
        if step > 0 && transverse[step - 1] > 0.0 {
            squares[step - 1] = transverse[step - 1];
        }
    }
    squares
}

impl Matching {
    /// Whether a point lies in the cuts.
    pub fn passed(&self, squares: &Squares, traced: &Traced) -> bool {
        let hard = |&step: &usize| squares[step - 1].sqrt() >= self.xqcut;
        if self.xqcut > 0.0 && !traced.jet_steps.iter().all(hard) {
            return false;
        }
        let least = self.xmtcentral * self.xmtcentral;
        let central = |&step: &usize| step == 0 || squares[step - 1] >= least;
        self.xmtcentral == 0.0 || traced.central.iter().all(central)
    }

    /// Geometric means of those of the first and of the central vertices, where they are not given. Squares become those
    /// that densities and alpha_s are weighted with.
    pub fn scales(
        &self,
        squares: &mut Squares,
        path: &Path,
        traced: &Traced,
        given: &Given,
    ) -> Found {
        let (first, last, central) = (traced.first, traced.last, traced.central);
        let count = path.steps;
        let factor = given.factor * given.factor;
        let mut densities = given.factorisation.map(|scale| scale * scale);
        let there = densities.iter().all(|square| *square > 0.0);
        if there && given.renormalisation > 0.0 && !self.reweighted {
            return Found {
                renormalisation: given.renormalisation,
                densities,
                central: densities,
                clustered: false,
            };
        }
        for beam in 0..2 {
            if last[beam] > 0 {
                squares[last[beam] - 1] = squares[last[beam] - 1].max(squares[first[beam] - 1]);
            }
        }
        // Where there is no step the last one stands for it.
        let place = |step: usize| if step == 0 { count - 1 } else { step - 1 };
        if there {
            for beam in [1, 0] {
                if self.reweighted && central[beam] > 0 {
                    squares[place(central[beam])] = densities[beam];
                }
            }
        } else if traced.single {
            densities = [squares[0]; 2];
        } else {
            for beam in 0..2 {
                if last[beam] > 0 {
                    densities[beam] =
                        (squares[place(last[beam])] * squares[place(central[beam])]).sqrt();
                }
            }
            if central[0] > 0 && central[0] == central[1] {
                densities = [densities[0].max(densities[1]); 2];
            }
        }
        if !given.fixed {
            densities = densities.map(|square| square * factor);
        }
        let middle = densities;
        let renormalisation = match given.renormalisation {
            some if some > 0.0 => some,
            _ => {
                let product = |steps: &[usize]| {
                    let of = steps.iter().map(|&step| squares[place(step)]);
                    of.product::<f64>()
                };
                given.factor
                    * match (last, central) {
                        ([a, b], [c, d]) if a > 0 && b > 0 => {
                            product(&[a, c, b, d]).sqrt().sqrt().sqrt()
                        }
                        ([a, b], _) if a > 0 || b > 0 => {
                            let beam = usize::from(a == 0);
                            product(&[last[beam], central[beam]]).sqrt().sqrt()
                        }
                        (_, [c, d]) if c > 0 && d > 0 => product(&[c, d]).sqrt().sqrt(),
                        (_, [c, d]) => squares[place(c.max(d))].sqrt(),
                    }
            }
        };
        match central {
            _ if given.fixed => {}
            [0, 0] if densities[0] > 0.0 => {
                squares[count.saturating_sub(2)..count].fill(densities[0]);
            }
            [0, 0] => densities = [factor * squares[count - 1]; 2],
            [0, _] => densities[0] = factor * squares[place(first[0])],
            [_, 0] => densities[1] = factor * squares[place(first[1])],
            _ if self.reweighted && self.pdfwgt => {
                for beam in 0..2 {
                    if last[beam] > 0 && first[beam] <= last[beam] {
                        let least = squares[place(first[beam])].min(densities[beam]);
                        densities[beam] = factor * least;
                    }
                }
            }
            _ => {}
        }
        Found {
            renormalisation,
            densities,
            central: middle,
            clustered: true,
        }
    }

    /// What the weight of a point is multiplied by, and what its event says of it.
    pub fn weigh(
        &self,
        path: &Path,
        traced: &Traced,
        scales: [f64; 3],
        central: [f64; 2],
        given: &Given,
        by: &Weighing,
    ) -> Matched {
        let mut squares = vertices(path, traced);
        let again = Given {
            renormalisation: scales[0],
            factorisation: [scales[1], scales[2]],
            ..*given
        };
        let after = self.scales(&mut squares, path, traced, &again);
        let reference = (by.alpha_s)(scales[0]);
        let mut found = Matched {
            weight: 1.0,
            ..Matched::default()
        };
        for &step in &traced.emissions {
            let scale = squares[step - 1].sqrt();
            found.emissions.push(scale);
            found.weight *= (by.alpha_s)(self.alpsfact * scale) / reference;
        }
        for beam in 0..2 {
            let q = after.densities[beam].sqrt();
            found.densities[beam].push((by.codes[beam], by.x[beam], q));
        }
        if let (true, Some(density)) = (self.pdfwgt, by.density) {
            weigh_densities(path, traced, &squares, central, by.x, density, &mut found);
        }
        let start = if self.pdfwgt {
            central
        } else {
            after.densities
        };
        found.start = start[0].max(start[1]);
        for (leg, steps) in &traced.clustered {
            found.pt.resize(found.pt.len().max(leg - 2), 0.0);
            let of = steps.iter().map(|&step| squares[step - 1].sqrt());
            found.pt[leg - 3] = of.reduce(f64::max).unwrap_or(by.energy);
        }
        let steps = squares[..path.steps].iter().zip(&traced.numbers);
        found.steps = steps
            .map(|(square, numbers)| (square.sqrt(), *numbers))
            .collect();
        found
    }
}

/// The density at the scale of the first vertex becomes that of the last one, step by step.
fn weigh_densities(
    path: &Path,
    traced: &Traced,
    squares: &Squares,
    central: [f64; 2],
    mut x: [f64; 2],
    density: &dyn Fn(usize, i32, f64, f64) -> f64,
    found: &mut Matched,
) {
    let mut reached: Vec<(u32, f64)> = Vec::new();
    for piece in &traced.pieces {
        let (beam, step) = (piece.beam, piece.step);
        let z = match path.fractions[step - 1] {
            z if z > 0.0 && z < 1.0 => z,
            _ => 1.0,
        };
        let before = x[beam];
        x[beam] *= z;
        let square = match step == traced.last[beam] {
            true => central[beam],
            false => squares[step - 1].min(central[beam]),
        };
        let known = reached.iter().rfind(|(line, _)| *line == piece.line);
        let Some(&(_, old)) = known else {
            reached.push((piece.mother, square));
            continue;
        };
        reached.push((piece.mother, old.max(square)));
        if old >= square || found.weight == 0.0 || step > traced.last[beam] {
            continue;
        }
        let [new, former] = [square, old].map(|of| density(beam, piece.code, x[beam], of.sqrt()));
        let low = former / x[beam] < LEAST;
        found.weight *= if low { 0.0 } else { new / former };
        found.densities[beam].push((piece.code, before, square.sqrt()));
    }
}
