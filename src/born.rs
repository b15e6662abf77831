//! Borns with their colour links and complex Borns at points of phase space, all from one evaluation of the amplitudes.

use crate::bridge::Bridge;
use crate::error::{Error, Result};
use crate::generate::links;
use crate::import::{Options, import_born};
use crate::locate::{Located, locate};
use crate::process::born::{Born, ColorLink};
use crate::process::card::Card;
use crate::process::channels::Channels;
use crate::process::color::ColorMatrix;
use crate::process::frames::to_rest_of;
use crate::process::{
    Amplitudes, Diagrams, ExternalKind, HelicitySum, LinearMap, Process, Quantity, Term,
    TermSource, Wavefunction,
};
use crate::runtime::{ProcessChoice, Switches};
use mebridge_support::digest;
use num_complex::Complex64;
use serde::Serialize;
use std::path::Path;

/// Evaluates a Born on the CPU, with helicities in the lanes of its registers.
pub struct BornBridge {
    /// The Born.
    process: Process,
    /// Of its amplitudes ([`amplitudes_as_jamps`]).
    bridge: Bridge,
    sums: BornSums,
}

/// What is made of a Born's amplitudes at one point: AMP2, JAMPs, and sums over helicities of their products.
pub struct BornSums {
    links: Vec<ColorLink>,
    iden: f64,
    amplitudes: usize,
    jamp: LinearMap,
    flows: usize,
    /// CF, then the matrices of the links: the entries (i, j) with j >= i, doubled for j > i.
    colors: Vec<Vec<f64>>,
    /// For each leg the pairs of rows of the helicity table that differ in this leg alone: the row with the helicity of the
    /// table's first row, and the other.
    flips: Vec<Vec<(usize, usize)>>,
    /// Which legs are massless vectors.
    massless_vectors: Vec<bool>,
    /// Sums over helicities of the squared moduli of the amplitudes.
    amp2: Vec<f64>,
    /// The amplitudes of one row, followed by the partial sums of JAMPs.
    terms: Vec<Complex64>,
    /// `[row of the helicity table][JAMP]`.
    jamps: Vec<Complex64>,
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
    /// AMP2: the sum over helicities of the squared modulus of each amplitude, not averaged.
    pub amp2: Vec<f64>,
}

impl BornBridge {
    /// Makes a bridge; `card` is as for [`Bridge::new`]. The switches that choose a target are ignored.
    ///
    /// # Errors
    /// The Born cannot be evaluated, or a link does not have the Born's colour flows.
    pub fn new(born: Born, card: &[f64], switches: &Switches) -> Result<BornBridge> {
        let sums = BornSums::new(&born)?;
        let switches = Switches {
            backend: crate::runtime::BackendChoice::Cpu,
            ..switches.clone()
        };
        let amplitudes = amplitudes_as_jamps(&born.process)?;
        Ok(BornBridge {
            bridge: Bridge::new(amplitudes, card, &switches, 1)?,
            process: born.process,
            sums,
        })
    }

    /// Imports the Born of a subprocess directory of aMC@NLO, or adds its colour links to any other process that
    /// [`locate`] finds by this name (`g g > t t~`, a directory of MadEvent, a process file). `card` replaces the
    /// parameter card of the output.
    ///
    /// # Errors
    /// The process cannot be imported, generated or evaluated, or its colour flows have no links.
    pub fn open(name: &Path, card: Option<&Path>, switches: &Switches) -> Result<BornBridge> {
        if !name.join("born.f").exists() {
            let switches = Switches {
                process: Some(ProcessChoice::parse(name)),
                param_card: card.map(Path::to_owned),
                ..switches.clone()
            };
            let Located { process, card, .. } = locate(&switches)?;
            return BornBridge::new(links::born(process)?, &card, &switches);
        }
        let options = Options {
            harmless_calls: &switches.harmless_calls,
            ..Options::default()
        };
        let born = import_born(name, &options)?;
        let values = match card {
            Some(path) => born.process.model.card_values(&Card::read(path)?)?,
            None => born.process.model.default_card(),
        };
        BornBridge::new(born, &values, switches)
    }

    /// Returns the process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Returns the colour links.
    pub fn links(&self) -> &[ColorLink] {
        &self.sums.links
    }

    /// The real emissions of strong interactions that this Born is the limit of, with quarks up to this PDG code as massless
    /// partons. Each of them counts once; the factor for identical particles is that of the process.
    pub fn emissions(&self, flavors: i32) -> Vec<Emission> {
        const GLUON: i32 = 21;
        let born = &self.process;
        let codes: Vec<i32> = born.legs.iter().map(|leg| leg.pdg).collect();
        let incoming: Vec<bool> = born.legs.iter().map(|leg| leg.incoming).collect();
        let is_colored = |leg: &usize| self.links().iter().any(|link| link.legs.contains(leg));
        let mut found = Vec::new();
        for leg in (0..codes.len()).filter(is_colored) {
            let own = codes[leg];
            let massless = born.legs[leg].mass == Quantity::ZERO;
            // The leg of the real emission, and what is emitted.
            let mut splittings = vec![(own, GLUON)];
            let quarks = (1..=flavors).flat_map(|flavor| [flavor, -flavor]);
            match (own, incoming[leg]) {
                (GLUON, true) => splittings.extend(quarks.map(|quark| (quark, quark))),
                (GLUON, false) => splittings.extend((1..=flavors).map(|quark| (quark, -quark))),
                (_, true) if massless && own.abs() <= flavors => splittings.push((GLUON, -own)),
                _ => {}
            }
            for (parton, emitted) in splittings {
                let names = codes.iter().enumerate();
                let names = names.map(|(at, code)| if at == leg { parton } else { *code });
                let (mut before, mut after) = (String::new(), String::new());
                for (name, incoming) in names.zip(&incoming) {
                    let side = if *incoming { &mut before } else { &mut after };
                    side.push_str(&format!("{name} "));
                }
                found.push(Emission {
                    process: format!("{before}> {after}{emitted}"),
                    leg,
                    soft: emitted == GLUON,
                    collinear: massless,
                });
            }
        }
        found
    }

    /// Evaluates one event: `momenta` are `[leg][E, x, y, z]` in GeV, and `g_s` is the strong coupling.
    ///
    /// # Errors
    /// The momenta are not physical, or are not those of the legs.
    pub fn evaluate(&mut self, momenta: &[f64], g_s: f64, answer: &mut BornAnswer) -> Result<()> {
        let amplitudes = self.bridge.jamps(momenta, g_s)?;
        self.sums.fill(amplitudes, |_| true);
        answer.amp2.clone_from(&self.sums.amp2);
        answer.born = self.sums.born();
        answer.links.clear();
        let links = 0..self.sums.links.len();
        answer.links.extend(links.map(|n| self.sums.link(n)));
        answer.complex.clear();
        let legs = 0..self.sums.flips.len();
        answer
            .complex
            .extend(legs.map(|leg| self.sums.complex(leg)));
        Ok(())
    }
}

/// A real emission that becomes singular where a parton is soft, or collinear to a leg: a sector of FKS subtraction
/// (Frixione, Kunszt, Signer, hep-ph/9512328).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Emission {
    /// The process, by PDG codes: the legs of the Born in their order, with `leg` replaced, and the emitted parton.
    pub process: String,
    /// The leg of the Born that splits, from 0; the other one is the last leg of the process.
    pub leg: usize,
    /// Whether there is a soft singularity: the emitted parton is a gluon.
    pub soft: bool,
    /// Whether there is a collinear singularity: the leg is massless.
    pub collinear: bool,
}

fn no_diagrams() -> Error {
    Error::InvalidProcess {
        what: "a Born without diagrams, or with links of other colour flows".into(),
    }
}

impl BornSums {
    /// For a Born.
    ///
    /// # Errors
    /// It has no diagrams, or a link does not have its colour flows.
    pub fn new(born: &Born) -> Result<BornSums> {
        let Born { process, links } = born;
        let diagrams = process.amplitudes.diagrams().ok_or_else(no_diagrams)?;
        let flows = diagrams.color.flows as usize;
        let matrices = std::iter::once(&diagrams.color).chain(links.iter().map(|link| &link.color));
        let fits = |matrix: &ColorMatrix| {
            matrix.flows as usize == flows && matrix.upper.len() == ColorMatrix::triangle(flows)
        };
        if !matrices.clone().all(fits) {
            return Err(no_diagrams());
        }
        let (amplitudes, partial) = (diagrams.amplitudes.len(), diagrams.jamp.partial.len());
        Ok(BornSums {
            links: links.clone(),
            iden: f64::from(process.iden),
            amplitudes,
            jamp: diagrams.jamp.clone(),
            flows,
            colors: matrices.map(doubled).collect(),
            flips: (0..process.legs.len())
                .map(|leg| flips(process, leg))
                .collect(),
            massless_vectors: (0..process.legs.len())
                .map(|leg| is_massless_vector(process, leg))
                .collect(),
            amp2: vec![0.0; amplitudes],
            terms: Vec::with_capacity(amplitudes + partial),
            jamps: Vec::new(),
            products: vec![0.0; ColorMatrix::triangle(flows)],
        })
    }

    /// Takes the amplitudes of a point, `[row of the helicity table][amplitude]`. Rows that are not `good` count as zero.
    pub fn fill(&mut self, amplitudes: &[Complex64], good: impl Fn(usize) -> bool) {
        self.products.fill(0.0);
        self.amp2.fill(0.0);
        self.jamps.clear();
        let vanishes = |row: &[Complex64]| row.iter().all(|a| *a == Complex64::default());
        for (row, amplitudes) in amplitudes.chunks_exact(self.amplitudes).enumerate() {
            if !good(row) || vanishes(amplitudes) {
                let jamps = self.jamps.len() + self.flows;
                self.jamps.resize(jamps, Complex64::default());
                continue;
            }
            for (sum, amplitude) in self.amp2.iter_mut().zip(amplitudes) {
                *sum += amplitude.norm_sqr();
            }
            self.terms.clear();
            self.terms.extend_from_slice(amplitudes);
            for sum in &self.jamp.partial {
                let value = combination(sum, &self.terms, self.amplitudes);
                self.terms.push(value);
            }
            let first = self.jamps.len();
            for sum in &self.jamp.outputs {
                let value = combination(sum, &self.terms, self.amplitudes);
                self.jamps.push(value);
            }
            let row = &self.jamps[first..];
            let mut products = self.products.iter_mut();
            for (i, a) in row.iter().enumerate() {
                // In this order, since a zip that ends has taken one more from its first part.
                for (b, product) in row[i..].iter().zip(&mut products) {
                    *product += a.re * b.re + a.im * b.im;
                }
            }
        }
    }

    /// The sum with CF (0) or the matrix of a link (from 1).
    fn sum(&self, matrix: usize) -> f64 {
        let terms = self.colors[matrix].iter().zip(&self.products);
        terms.map(|(c, product)| c * product).sum::<f64>() / self.iden
    }

    /// Returns |M|^2, averaged.
    pub fn born(&self) -> f64 {
        self.sum(0)
    }

    /// Returns AMP2, see [`BornAnswer::amp2`].
    pub fn amp2(&self) -> &[f64] {
        &self.amp2
    }

    /// Returns JAMP2: the sum over helicities of the squared modulus of each JAMP, not averaged.
    pub fn jamp2(&self) -> impl Iterator<Item = f64> {
        let mut diagonal = 0;
        (0..self.flows).map(move |flow| {
            let at = diagonal;
            diagonal += self.flows - flow;
            self.products[at]
        })
    }

    /// Returns the number of colour flows.
    pub fn flows(&self) -> usize {
        self.flows
    }

    /// Returns the number of links.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Returns a colour-linked Born, in the order of the links from 0.
    pub fn link(&self, link: usize) -> f64 {
        self.sum(link + 1)
    }

    /// Returns the complex Born of a leg from 0, if it is a massless vector.
    fn complex(&self, leg: usize) -> Option<Complex64> {
        self.massless_vectors[leg].then(|| self.flipped(leg))
    }

    /// Returns the complex Born of a leg from 0, also of a fermion, which has one in MG5aMC.
    pub fn flipped(&self, leg: usize) -> Complex64 {
        let row = |row: usize| &self.jamps[row * self.flows..][..self.flows];
        let pairs = self.flips[leg].iter();
        let rows = pairs.map(|&(first, other)| (row(first), row(other)));
        let mixed = rows.map(|(first, other)| mixed(&self.colors[0], first, other));
        mixed.sum::<Complex64>() / self.iden
    }
}

/// A linear combination of amplitudes, and of partial sums after them.
fn combination(sum: &[Term], terms: &[Complex64], amplitudes: usize) -> Complex64 {
    let parts = sum.iter().map(|term| {
        let value = match term.source {
            TermSource::Amplitude(i) => terms[i as usize],
            TermSource::Partial(i) => terms[amplitudes + i as usize],
        };
        Complex64::new(term.factor.0, term.factor.1) * value
    });
    parts.sum()
}

/// Another event with the masses and the energy of this one: its outgoing legs are turned in the rest frame of the incoming
/// ones, for each `number` otherwise. `momenta` are `[leg][E, x, y, z]`.
pub fn turned(process: &Process, momenta: &[f64], number: u32) -> Vec<f64> {
    let mut turned = momenta.as_chunks().0.to_vec();
    let incoming = |leg: &usize| process.legs[*leg].incoming;
    let beams: Vec<usize> = (0..turned.len()).filter(incoming).collect();
    to_rest_of(&mut turned, &beams);
    // About an axis that is no direction of a coordinate, by no fraction of a full turn.
    let axis = [1.0, 2.0, 3.0].map(|x: f64| x / 14.0f64.sqrt());
    let (sine, cosine) = (2.4 * f64::from(number)).sin_cos();
    for (p, leg) in turned.iter_mut().zip(&process.legs) {
        if leg.incoming {
            continue;
        }
        let [e, x, y, z] = *p;
        let along = (x * axis[0] + y * axis[1] + z * axis[2]) * (1.0 - cosine);
        let across = [
            axis[1] * z - axis[2] * y,
            axis[2] * x - axis[0] * z,
            axis[0] * y - axis[1] * x,
        ];
        let way: [f64; 3] =
            std::array::from_fn(|i| cosine * [x, y, z][i] + sine * across[i] + along * axis[i]);
        *p = [e, way[0], way[1], way[2]];
    }
    turned.into_flattened()
}

/// The process whose JAMPs are the amplitudes of this one, in their order (`AMP`, of which `born.f` keeps those of all
/// helicities in `SAVEAMP`).
///
/// # Errors
/// The process has no diagrams.
pub fn amplitudes_as_jamps(process: &Process) -> Result<Process> {
    let diagrams = process.amplitudes.diagrams().ok_or_else(no_diagrams)?;
    let count = diagrams.amplitudes.len();
    let output = |amplitude| {
        vec![Term {
            source: TermSource::Amplitude(amplitude),
            factor: (1.0, 0.0),
        }]
    };
    let pairs = (0..count).flat_map(|i| (i..count).map(move |j| (i, j)));
    Ok(Process {
        amplitudes: Amplitudes::Diagrams(Diagrams {
            amplitudes: diagrams.amplitudes.clone(),
            jamp: LinearMap {
                partial: Vec::new(),
                outputs: (0..count as u32).map(output).collect(),
            },
            color: ColorMatrix {
                flows: count as u32,
                denominator: 1.0,
                upper: pairs.map(|(i, j)| if i == j { 1.0 } else { 0.0 }).collect(),
            },
            color_ordered: None,
        }),
        helicity_sum: HelicitySum::Positive,
        flow_weights: Vec::new(),
        channels: Channels {
            color_allowed: vec![vec![true; count]; process.channels.config_diagram.len()],
            color_flows: Vec::new(),
            ..process.channels.clone()
        },
        ..process.clone()
    })
}

/// Encodes a Born: its length as a process file (8 bytes, little-endian), that file ([`crate::process::file`]), the hash
/// of the rest, and the links in postcard's encoding.
pub fn to_bytes(born: &Born) -> Result<Vec<u8>> {
    let process = born.process.to_bytes()?;
    let links: Vec<([usize; 2], &ColorMatrix)> =
        born.links.iter().map(|l| (l.legs, &l.color)).collect();
    let links = postcard::to_allocvec(&links).map_err(|e| Error::InvalidProcess {
        what: format!("its colour links cannot be encoded ({e})"),
    })?;
    let mut bytes = (process.len() as u64).to_le_bytes().to_vec();
    bytes.extend(process);
    bytes.extend(digest(&links));
    bytes.extend(links);
    Ok(bytes)
}

/// Decodes what [`to_bytes`] has encoded; `origin` is its name in messages.
pub fn from_bytes(bytes: &[u8], origin: &Path) -> Result<Born> {
    let damaged = || Error::ProcessFile {
        path: origin.to_owned(),
        defect: "is damaged (it is no Born with colour links)".into(),
    };
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
    let (process, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
    let (hash, links) = rest.split_first_chunk::<32>().ok_or_else(damaged)?;
    if digest(links) != *hash {
        return Err(damaged());
    }
    let links: Vec<([usize; 2], ColorMatrix)> =
        postcard::from_bytes(links).map_err(|_| damaged())?;
    let links = links.into_iter();
    Ok(Born {
        process: Process::from_bytes(process, origin)?,
        links: links
            .map(|(legs, color)| ColorLink { legs, color })
            .collect(),
    })
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

fn is_massless_vector(process: &Process, leg: usize) -> bool {
    process.wavefunctions.iter().any(|wavefunction| {
        matches!(wavefunction, Wavefunction::External(e) if e.leg as usize == leg
            && e.kind == ExternalKind::Vector && e.mass == Quantity::ZERO)
    })
}

/// Pairs the rows of the helicity table that differ in this leg alone.
fn flips(process: &Process, leg: usize) -> Vec<(usize, usize)> {
    let table = &process.helicities;
    let Some(first) = table.first() else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::example;

    #[test]
    fn bytes_come_back_or_are_refused() {
        let process = example::scalars();
        let color = process.amplitudes.diagrams().unwrap().color.clone();
        let links = vec![ColorLink {
            legs: [0, 1],
            color,
        }];
        let born = Born { process, links };
        let bytes = to_bytes(&born).unwrap();
        let read = |bytes: &[u8]| from_bytes(bytes, Path::new("x"));
        assert_eq!(read(&bytes).unwrap(), born);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(read(&changed).is_err(), "{at}");
        }
    }

    #[test]
    fn turned_events_are_physical_and_others() {
        let process = example::scalars();
        let legs = process.legs.len();
        let incoming = process.legs.iter().filter(|leg| leg.incoming).count();
        assert!(incoming == 2 && legs == 4);
        // Masses 0, 0, 3 and 4, along z and not at rest.
        let event = [
            [15.0, 0.0, 0.0, 15.0],
            [5.0, 0.0, 0.0, -5.0],
            [f64::sqrt(9.0 + 100.0), 0.0, 0.0, 10.0],
            [20.0 - f64::sqrt(109.0), 0.0, 0.0, 0.0],
        ]
        .concat();
        let square = |p: &[f64]| p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3];
        let sum = |event: &[f64], legs: std::ops::Range<usize>, i: usize| -> f64 {
            legs.map(|leg| event[4 * leg + i]).sum()
        };
        let [one, two] = [1, 2].map(|number| turned(&process, &event, number));
        for found in [&one, &two] {
            for (p, q) in event.chunks(4).zip(found.chunks(4)) {
                assert!((square(p) - square(q)).abs() < 1e-11);
            }
            for i in 0..4 {
                let [before, after] = [0..2, 2..4].map(|legs| sum(found, legs, i));
                let expected = if i == 0 { 300.0f64.sqrt() } else { 0.0 };
                assert!((before - expected).abs() < 1e-12 && (after - expected).abs() < 1e-12);
            }
            // The beams stay along z, the others do not.
            assert!(found[1] == 0.0 && found[2] == 0.0 && found[3] > 0.0);
            assert!((9..12).all(|i| found[i].abs() > 0.1));
        }
        assert!((9..12).any(|i| (one[i] - two[i]).abs() > 0.1));
    }

    #[test]
    fn amplitudes_are_jamps() {
        let process = example::scalars();
        let amplitudes = amplitudes_as_jamps(&process).unwrap();
        amplitudes.validate().unwrap();
        assert_eq!(
            amplitudes.amplitudes.jamps(),
            process.amplitudes.vertices().len()
        );
    }
}
