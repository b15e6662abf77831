//! MLM matching (arXiv:0706.2569) as in MadEvent: the cut `xqcut`, weights of alpha_s and of densities along the tree
//! of a clustered event, and the event data for Pythia.
//!
//! Follows `setclscales` and `rewgt` of `reweight.f`. `rewgt` calls `setclscales` a second time, with the scales from
//! the first call; events contain the results of the second call.

use super::path::{MAX_STEPS, Path};
use super::trace::Traced;
use serde::{Deserialize, Serialize};

/// f(x) below which MadEvent drops an event.
const MIN_DENSITY: f64 = 1e-10;
/// Least product of the transverse masses of the last pair, GeV^2.
const PAIR: f64 = 4.0;

/// Entries of the run card for matching.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Matching {
    /// Whether points are reweighted (`ickkw = 1`); otherwise there are only cuts.
    pub reweighted: bool,
    /// The least scale of a jet, GeV; 0 for none.
    pub xqcut: f64,
    /// The least transverse mass of a central vertex, GeV; 0 for none.
    pub xmtcentral: f64,
    /// Factor for the scales of alpha_s.
    pub alpsfact: f64,
    /// Quarks up to this flavour are partons.
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

/// Scales of a point before clustering, GeV; 0 for scales that clustering determines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitialScales {
    /// Renormalisation scale.
    pub renormalisation: f64,
    /// Factorisation scales of both beams.
    pub factorisation: [f64; 2],
    /// Whether the factorisation scales are fixed; these are not multiplied by `factor`.
    pub fixed: bool,
    /// Factor for scales that are not fixed.
    pub factor: f64,
}

/// Scales of a clustered point.
pub struct ClusteredScales {
    /// Renormalisation scale, GeV.
    pub renormalisation: f64,
    /// Squared factorisation scales of both beams, GeV^2.
    pub densities: [f64; 2],
    /// Squared scales of the central process, GeV^2.
    pub central: [f64; 2],
    /// Whether any scale is from clustering.
    pub clustered: bool,
}

impl ClusteredScales {
    /// Renormalisation scale, and factorisation scales of both beams, GeV.
    pub fn scales(&self) -> [f64; 3] {
        let [first, second] = self.densities.map(f64::sqrt);
        [self.renormalisation, first, second]
    }
}

/// The functions and values from which weights are computed.
pub struct Weighing<'a> {
    /// alpha_s by scale in GeV.
    pub alpha_s: &'a dyn Fn(f64) -> f64,
    /// x f(x, Q) by number of the incoming leg, PDG code, x and Q in GeV; `None` without densities.
    pub density: Option<&'a dyn Fn(usize, i32, f64, f64) -> f64>,
    /// PDG codes of the incoming legs.
    pub codes: [i32; 2],
    /// Momentum fractions of both beams.
    pub x: [f64; 2],
    /// Energy of both beams, GeV: the scale of particles that are not jets.
    pub energy: f64,
}

/// The results of matching for a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matched {
    /// Factor for the point's weight.
    pub weight: f64,
    /// The larger of the squared starting scales of the shower, GeV^2.
    pub start: f64,
    /// For each outgoing leg, the scale at which it is clustered, GeV; 0 for none.
    pub pt: Vec<f64>,
    /// Scales of the steps, GeV, with the legs that they combine, from 1; the third is the other beam, 0 for none.
    pub steps: Vec<(f64, [i32; 3])>,
    /// Scales of the alpha_s factors, GeV.
    pub emissions: Vec<f64>,
    /// For both incoming legs, the densities in the weight: PDG code, x and Q in GeV.
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

    /// Appends a record in the layout of `crates/run/src/records.rs` for `legs` legs: weight, start, pt, scales of the
    /// steps, legs of the steps, emissions, and PDG codes, x and Q for both beams; missing entries are 0.
    ///
    /// # Panics
    /// If the results have more legs.
    pub fn push_record(&self, legs: usize, to: &mut Vec<u8>) {
        let (inner, densities) = (legs.max(3) - 2, legs.max(2));
        fn push<const N: usize>(
            to: &mut Vec<u8>,
            capacity: usize,
            some: impl ExactSizeIterator<Item = [u8; N]>,
        ) {
            let end = to.len() + capacity * N;
            assert!(some.len() <= capacity, "a record of more legs");
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
pub type Squares = [f64; MAX_STEPS];

/// Computes the squared scales of the steps; for central steps these are transverse masses.
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
    /// Whether a point passes the cuts.
    pub fn passed(&self, squares: &Squares, traced: &Traced) -> bool {
        let hard = |&step: &usize| squares[step - 1].sqrt() >= self.xqcut;
        if self.xqcut > 0.0 && !traced.jet_steps.iter().all(hard) {
            return false;
        }
        let least = self.xmtcentral * self.xmtcentral;
        let central = |&step: &usize| step == 0 || squares[step - 1] >= least;
        self.xmtcentral == 0.0 || traced.central.iter().all(central)
    }

    /// Computes the scales that are not given, as geometric means over the last and the central vertices. `squares`
    /// become the squared scales for the weights of densities and alpha_s.
    pub fn scales(
        &self,
        squares: &mut Squares,
        path: &Path,
        traced: &Traced,
        given: &InitialScales,
    ) -> ClusteredScales {
        let (first, last, central) = (traced.first, traced.last, traced.central);
        let count = path.steps;
        let factor = given.factor * given.factor;
        let mut densities = given.factorisation.map(|scale| scale * scale);
        let there = densities.iter().all(|square| *square > 0.0);
        if there && given.renormalisation > 0.0 && !self.reweighted {
            return ClusteredScales {
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
        // Step 0 (none) stands for the last step.
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
        ClusteredScales {
            renormalisation,
            densities,
            central: middle,
            clustered: true,
        }
    }

    /// Computes the weight of a point, and its event data.
    pub fn weigh(
        &self,
        path: &Path,
        traced: &Traced,
        scales: [f64; 3],
        central: [f64; 2],
        given: &InitialScales,
        by: &Weighing,
    ) -> Matched {
        let mut squares = vertices(path, traced);
        let again = InitialScales {
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

/// Evolves the densities from the scale of the first vertex to that of the last one, step by step.
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
        let low = former / x[beam] < MIN_DENSITY;
        found.weight *= if low { 0.0 } else { new / former };
        found.densities[beam].push((piece.code, before, square.sqrt()));
    }
}
