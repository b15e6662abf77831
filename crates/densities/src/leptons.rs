//! Electrons of electron beams, and positrons of positron beams, that have radiated photons and, with some sets, lost
//! energy in the field of the other bunch (S. Frixione et al., arXiv:2108.10261), as in MG5aMC's `lep_densities`.
//!
//! Beams of bunches are not independent, so the density of both partons is a sum of products, one for each component:
//! whether the first, and whether the second one lost energy. A component is a grid times a power of 1 - x.

use super::interpolation::Interpolation;
use super::text::TableText;
use super::{Densities, Result};
use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::path::Path;

/// Number of components.
pub const COMPONENTS: usize = 4;
/// The PDG code of the electron.
const ELECTRON: i32 = 11;
/// Its mass in GeV, and alpha, with the values of `gridpdfaux.f`.
const MASS: f64 = 0.511e-3;
const ALPHA: f64 = 0.007_562_397;
/// The power of 1 - x in the spectrum of electrons that lost energy to the other bunch.
const SPECTRUM: f64 = -2.0 / 3.0;
/// Whether they did, in each component of an electron beam and of a positron beam.
const LOST: [[bool; COMPONENTS]; 2] = [[false, true, false, true], [false, false, true, true]];

/// The components of one beam.
#[derive(Debug)]
pub struct Leptons {
    components: [Option<Grid>; COMPONENTS],
    lost: [bool; COMPONENTS],
}

/// A grid, interpolated linearly, and extrapolated from the last knots.
#[derive(Debug, Default, PartialEq)]
struct Grid {
    x: Vec<f64>,
    /// ln(Q / mass).
    q: Vec<f64>,
    /// By Q, then by x.
    values: Vec<f64>,
}

/// Reads an `eepdf.f`; for positrons if `anti`.
pub fn read(file: &Path, anti: bool) -> Result<Densities> {
    let text = TableText::open(file)?;
    let wrong = |what: &str| text.error(None, format!("it is not an eepdf.f of MG5aMC: {what}"));
    let mut lists = lists(&text)?;
    let kind = if anti { 1 } else { 2 };
    let mut components = [const { None }; COMPONENTS];
    for (number, component) in components.iter_mut().enumerate() {
        let name = format!("eepdf_{}_{kind}_{kind}", number + 1);
        let found = lists.remove(&name);
        let found = found.ok_or_else(|| wrong(&format!("the function {name} is missing")))?;
        for (what, knots) in [("x", &found.x), ("scales", &found.q)] {
            if knots.len() < 2 {
                return Err(wrong(&format!("{name} needs two {what}")));
            }
            text.check_ascending(None, &format!("the {what} of {name}"), knots)?;
        }
        if found.values.len() != found.x.len() * found.q.len() {
            let (count, x, q) = (found.values.len(), found.x.len(), found.q.len());
            return Err(wrong(&format!(
                "{name} has {count} values for {x} x and {q} scales"
            )));
        }
        // Sets without losses have one component.
        *component = Some(found).filter(|grid| grid.values.iter().any(|value| *value != 0.0));
    }
    if components[0].is_none() {
        return Err(wrong("the first component is 0"));
    }
    let code = if anti { -ELECTRON } else { ELECTRON };
    let leptons = Leptons {
        components,
        lost: LOST[usize::from(anti)],
    };
    Ok(Densities {
        leptons: Some(leptons),
        ..Densities::new(Vec::new(), vec![code], Interpolation::Lhapdf)
    })
}

/// The numbers of all functions by name: DATA of `yv` (x), `zv` (Q), and of the rows of `gridv`.
fn lists(text: &TableText) -> Result<BTreeMap<String, Grid>> {
    let mut found: BTreeMap<String, Grid> = BTreeMap::new();
    let (mut function, mut list) = (String::new(), None);
    for (number, line) in text.lines() {
        let words = line.trim();
        if let Some(numbers) = line.strip_prefix("     #") {
            let Some(of) = list else { continue };
            let numbers = numbers.trim();
            let grid = found.entry(function.clone()).or_default();
            let to = match of {
                List::X => &mut grid.x,
                List::Q => &mut grid.q,
                List::Values => &mut grid.values,
            };
            for word in numbers.trim_end_matches(['/', ',']).split(',') {
                to.push(text.number(number, &word.trim().replace(['D', 'd'], "e"))?);
            }
            continue;
        }
        list = match words.strip_prefix("data ") {
            Some("yv/") => Some(List::X),
            Some("zv/") => Some(List::Q),
            Some(rows) if rows.starts_with("(gridv(iny,") => Some(List::Values),
            _ => None,
        };
        if let Some(name) = words.strip_prefix("function ") {
            function = name.split('(').next().unwrap_or_default().to_owned();
        }
    }
    Ok(found)
}

#[derive(Clone, Copy)]
enum List {
    X,
    Q,
    Values,
}

impl Leptons {
    /// The ends of the grids in x.
    pub fn range_of_x(&self) -> [f64; 2] {
        [self.first().x[0], 1.0]
    }

    /// The ends of the grids in Q^2, GeV^2.
    pub fn range_of_q2(&self) -> [f64; 2] {
        let q = &self.first().q;
        [q[0], q[q.len() - 1]].map(|end| (MASS * end.exp()).powi(2))
    }

    fn first(&self) -> &Grid {
        self.components[0].as_ref().expect("checked when read")
    }

    /// Evaluates x f(x, Q) of each component; `rest` is 1 - x.
    pub fn evaluate(&self, rest: f64, q2: f64, values: &mut [f64]) {
        let x = 1.0 - rest;
        let logarithm = (q2 / (MASS * MASS)).ln();
        let beta = ALPHA / PI * (logarithm - 1.0);
        for ((value, grid), lost) in values.iter_mut().zip(&self.components).zip(self.lost) {
            *value = match grid {
                // NaN propagates.
                Some(grid) if rest.is_nan() || (0.0..1.0).contains(&rest) => {
                    let power = if lost { beta + SPECTRUM } else { beta - 1.0 };
                    x * grid.at([x, 0.5 * logarithm]) * rest.powf(power)
                }
                _ => 0.0,
            };
        }
    }
}

impl Grid {
    fn at(&self, [x, q]: [f64; 2]) -> f64 {
        let ((i, right), (j, up)) = (place(&self.x, x), place(&self.q, q));
        let row = |j: usize| {
            let [low, high] = [0, 1].map(|more| self.values[j * self.x.len() + i + more]);
            (1.0 - right) * low + right * high
        };
        (1.0 - up) * row(j) + up * row(j + 1)
    }
}

/// The interval of a value, and where in it the value lies, from 0 to 1; beyond the knots it is outside of the first
/// or the last one.
fn place(knots: &[f64], value: f64) -> (usize, f64) {
    let interval = knots.partition_point(|knot| *knot <= value).max(1) - 1;
    let interval = interval.min(knots.len() - 2);
    let [begin, end] = [knots[interval], knots[interval + 1]];
    (interval, (value - begin) / (end - begin))
}
