//! Borns with their colour links and complex Borns at points of phase space, all from one evaluation of the JAMPs.

use crate::bridge::Bridge;
use crate::error::Result;
use crate::import::{Options, import_born};
use crate::process::born::{Born, ColorLink};
use crate::process::card::Card;
use crate::process::color::ColorMatrix;
use crate::process::{ExternalKind, Process, Quantity, Wavefunction};
use crate::runtime::Switches;
use num_complex::Complex64;
use std::path::Path;

/// Evaluates a Born on the CPU, with helicities in the lanes of its registers.
pub struct BornBridge {
    bridge: Bridge,
    links: Vec<ColorLink>,
    /// CF, then the matrices of the links: the entries (i, j) with j >= i, doubled for j > i.
    colors: Vec<Vec<f64>>,
    /// For each leg the pairs of rows of the helicity table that differ in this leg alone, if it is a massless vector:
    /// the row with the helicity of the table's first row, and the other.
    flips: Vec<Vec<(usize, usize)>>,
    /// Sums over helicities of `JAMP_i^* JAMP_j`, the entries with j >= i.
    products: Vec<f64>,
}

/// A Born at one point; definitions are those of [`crate::process::born`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BornAnswer {
    /// |M|^2, averaged over initial helicities and colours.
    pub born: f64,
    /// `B_ij` of each link, in the order of [`BornBridge::links`], without a factor g_s^2.
    pub links: Vec<f64>,
    /// The complex Born of each leg, if it is a massless vector.
    pub complex: Vec<Option<Complex64>>,
}

impl BornBridge {
    /// Makes a bridge; `card` is as for [`Bridge::new`]. The switches that choose a target are ignored.
    ///
    /// # Errors
    /// The Born cannot be evaluated, or a link does not have the Born's colour flows.
    pub fn new(born: Born, card: &[f64], switches: &Switches) -> Result<BornBridge> {
        let Born { process, links } = born;
        let flows = process.amplitudes.jamps();
        let color = process.amplitudes.diagrams().map(|d| &d.color);
        let matrices = color
            .into_iter()
            .chain(links.iter().map(|link| &link.color));
        let fits = |matrix: &ColorMatrix| {
            matrix.flows as usize == flows && matrix.upper.len() == ColorMatrix::triangle(flows)
        };
        if color.is_none() || !matrices.clone().all(fits) {
            return Err(crate::Error::InvalidProcess {
                what: "a Born without diagrams, or with links of other colour flows".into(),
            });
        }
        let colors = matrices.map(doubled).collect();
        let switches = Switches {
            backend: crate::runtime::BackendChoice::Cpu,
            ..switches.clone()
        };
        Ok(BornBridge {
            colors,
            flips: (0..process.legs.len())
                .map(|leg| flips(&process, leg))
                .collect(),
            products: vec![0.0; ColorMatrix::triangle(flows)],
            bridge: Bridge::new(process, card, &switches, 1)?,
            links,
        })
    }

    /// Imports the Born of a subprocess directory of aMC@NLO; `card` replaces the parameter card of the output.
    ///
    /// # Errors
    /// The directory has no Born, or it cannot be imported or evaluated.
    pub fn open(directory: &Path, card: Option<&Path>, switches: &Switches) -> Result<BornBridge> {
        let options = Options {
            harmless_calls: &switches.harmless_calls,
            ..Options::default()
        };
        let born = import_born(directory, &options)?;
        let values = match card {
            Some(path) => born.process.model.card_values(&Card::read(path)?)?,
            None => born.process.model.default_card(),
        };
        BornBridge::new(born, &values, switches)
    }

    /// Returns the process.
    pub fn process(&self) -> &Process {
        self.bridge.process()
    }

    /// Returns the colour links.
    pub fn links(&self) -> &[ColorLink] {
        &self.links
    }

    /// Evaluates one event: `momenta` are `[leg][E, x, y, z]` in GeV, and `g_s` is the strong coupling.
    ///
    /// # Errors
    /// The momenta are not physical, or are not those of the legs.
    pub fn evaluate(&mut self, momenta: &[f64], g_s: f64, answer: &mut BornAnswer) -> Result<()> {
        let iden = f64::from(self.process().iden);
        let flows = self.process().amplitudes.jamps();
        let jamps = self.bridge.jamps(momenta, g_s)?;
        self.products.fill(0.0);
        for row in jamps.chunks_exact(flows) {
            let mut products = self.products.iter_mut();
            for (i, a) in row.iter().enumerate() {
                // In this order, since a zip that ends has taken one more from its first part.
                for (b, product) in row[i..].iter().zip(&mut products) {
                    *product += a.re * b.re + a.im * b.im;
                }
            }
        }
        let sum = |color: &Vec<f64>| {
            let terms = color.iter().zip(&self.products);
            terms.map(|(c, product)| c * product).sum::<f64>() / iden
        };
        let mut sums = self.colors.iter().map(sum);
        answer.born = sums.next().unwrap_or(0.0);
        answer.links.clear();
        answer.links.extend(sums);
        let row = |row: usize| &jamps[row * flows..][..flows];
        let complex = |pairs: &Vec<(usize, usize)>| {
            let rows = pairs.iter().map(|&(first, other)| (row(first), row(other)));
            let mixed = rows.map(|(first, other)| mixed(&self.colors[0], first, other));
            (!pairs.is_empty()).then(|| mixed.sum::<Complex64>() / iden)
        };
        answer.complex.clear();
        answer.complex.extend(self.flips.iter().map(complex));
        Ok(())
    }
}

/// Returns the entries (i, j) with j >= i of a matrix, doubled for j > i.
fn doubled(color: &ColorMatrix) -> Vec<f64> {
    let n = color.flows as usize;
    let pairs = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
    let entry = |(i, j)| color.entry(i, j) * if i == j { 1.0 } else { 2.0 };
    pairs.map(entry).collect()
}

/// `first^dagger CF other` from doubled entries.
fn mixed(color: &[f64], first: &[Complex64], other: &[Complex64]) -> Complex64 {
    let mut entries = color.iter();
    let mut sum = Complex64::default();
    for i in 0..first.len() {
        for (j, entry) in (i..first.len()).zip(&mut entries) {
            sum += 0.5 * entry * (first[i].conj() * other[j] + first[j].conj() * other[i]);
        }
    }
    sum
}

/// Pairs the rows of the helicity table that differ in this leg alone; none unless it is a massless vector.
fn flips(process: &Process, leg: usize) -> Vec<(usize, usize)> {
    let massless_vector = process.wavefunctions.iter().any(|wavefunction| {
        matches!(wavefunction, Wavefunction::External(e) if e.leg as usize == leg
            && e.kind == ExternalKind::Vector && e.mass == Quantity::ZERO)
    });
    let table = &process.helicities;
    let Some(first) = table.first().filter(|_| massless_vector) else {
        return Vec::new();
    };
    let rows = table
        .iter()
        .enumerate()
        .filter(|(_, row)| row[leg] == first[leg]);
    let pair = |(at, row): (usize, &Vec<i8>)| {
        let mut flipped = row.clone();
        flipped[leg] = -flipped[leg];
        Some((at, table.iter().position(|row| *row == flipped)?))
    };
    rows.filter_map(pair).collect()
}
