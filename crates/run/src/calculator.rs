//! Weights of events for other scales and parton densities, relative to the nominal weights.

use crate::Element;
use crate::densities::{AlphaS, BeamDensity, open};
use crate::systematics::{Systematics, Variation};
use mebridge::backend::SessionMemory;
use mebridge::bridge::{Bridge, Sampler};
use mebridge::lhe::{Particle, Record, record_bytes};
use mebridge::runtime::{BackendChoice, Switches};
use mebridge::sample::{Momenta, Points, g_s};
use mebridge::simd::Level;
use mebridge::{Error, Result};
use mebridge_densities::StrongCoupling;
use mebridge_phasespace::Rows;
use mebridge_phasespace::clustering::Matched;
use mebridge_phasespace::scales::{Dynamical, ROWS, Scale};
use mebridge_sampler::events::at_rest;
use mebridge_sampler::parallel;
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Events that a thread weighs at once.
const AT_ONCE: usize = 512;

/// Computes weights of records for other scales and densities, relative to their weights.
pub struct Calculator {
    weights: Weights,
    /// For each thread, evaluators of the matrix elements that must be evaluated again.
    workers: Vec<Vec<Option<Sampler>>>,
}

/// Data shared by all threads.
struct Weights {
    variations: Vec<Variation>,
    /// Energies of both beams, GeV.
    energies: [f64; 2],
    /// The running coupling of the events, followed by those of PDF members that differ.
    couplings: Vec<StrongCoupling>,
    beams: Option<[BeamDensity; 2]>,
    members: Vec<OtherMember>,
    elements: Vec<ElementInfo>,
}

/// Densities of another PDF member.
struct OtherMember {
    beams: Option<[BeamDensity; 2]>,
    /// Index of its coupling.
    coupling: usize,
}

/// Properties of a matrix element.
struct ElementInfo {
    /// Power of alpha_s in |M|^2; `None` if it is not unique.
    power: Option<i32>,
    /// PDG codes of the incoming legs in the order of the matrix element, for all its processes.
    incoming: SortedSet<[i32; 2]>,
}

impl Calculator {
    /// A calculator for the events of these matrix elements; `energies` are those of the beams, GeV.
    ///
    /// # Errors
    /// Densities cannot be read, or matrix elements cannot be evaluated.
    pub fn new(
        systematics: &Systematics,
        elements: &[Element],
        energies: [f64; 2],
        alpha_s: &AlphaS,
        beams: Option<[BeamDensity; 2]>,
        threads: usize,
        switches: &Switches,
    ) -> Result<Self> {
        let (mut tables, mut members) = (vec![alpha_s], Vec::new());
        let opened = parallel::collect(threads, systematics.members.len(), |number| {
            open(&systematics.members[number].file).map(Arc::new)
        })?;
        for (member, densities) in systematics.members.iter().zip(opened) {
            // The members of most sets have one alpha_s.
            let own = member.alpha_s.as_ref().unwrap_or(alpha_s);
            let coupling = tables.iter().position(|known| *known == own);
            members.push(OtherMember {
                beams: (beams.as_ref())
                    .map(|both| both.each_ref().map(|one| one.with_densities(&densities))),
                coupling: coupling.unwrap_or(tables.len()),
            });
            if coupling.is_none() {
                tables.push(own);
            }
        }
        let couplings = tables.into_iter().map(AlphaS::table);
        let weights = Weights {
            variations: systematics.variations().cloned().collect(),
            energies,
            couplings: couplings.collect::<Result<_>>()?,
            beams,
            members,
            elements: elements.iter().map(ElementInfo::new).collect(),
        };
        Ok(Calculator {
            weights,
            workers: samplers(elements, threads, switches)?,
        })
    }

    /// The ratios of weights, `[event][variation]`, for records with space for `particles` particles.
    ///
    /// Args: for each event `scales` has the renormalisation scale and the factorisation scales of both beams, GeV;
    /// `matched` has the results of matching, or is empty if events are not reweighted by matching.
    ///
    /// # Errors
    /// The densities lack a parton, or a matrix element cannot be evaluated.
    pub fn ratios(
        &mut self,
        records: &[u8],
        particles: usize,
        scales: &[[f64; ROWS]],
        matched: &[&Matched],
    ) -> Result<Vec<f64>> {
        let (weights, count) = (&self.weights, scales.len());
        let each = weights.variations.len();
        let mut found = vec![0.0; count * each];
        let rows: Vec<_> = found
            .chunks_mut(AT_ONCE * each.max(1))
            .map(Mutex::new)
            .collect();
        let some = |samplers: &mut Vec<Option<Sampler>>, part: usize| {
            let own = part * AT_ONCE..count.min((part + 1) * AT_ONCE);
            let matched = if matched.is_empty() {
                matched
            } else {
                &matched[own.clone()]
            };
            let legs = Legs::read(records, particles, own.clone());
            let ratios =
                ThreadEvents::new(weights, legs, &scales[own], matched).ratios(samplers)?;
            // The thread allocated `ratios` itself and copies it into its own rows.
            let mut rows = rows[part].lock().expect("one thread for a part");
            rows.copy_from_slice(&ratios);
            Ok::<_, Error>(())
        };
        let parts = count.div_ceil(AT_ONCE);
        parallel::each(&mut self.workers, parts, some, |()| ())?;
        drop(rows);
        Ok(found)
    }
}

/// For each thread, evaluators of the matrix elements with several powers of alpha_s; `None` for the others.
fn samplers(
    elements: &[Element],
    threads: usize,
    switches: &Switches,
) -> Result<Vec<Vec<Option<Sampler>>>> {
    let switches = Switches {
        backend: BackendChoice::Cpu,
        ..switches.clone()
    };
    let mut bridges: Vec<Option<Bridge>> = Vec::new();
    for element in elements {
        let bridge = || {
            let process = &element.process;
            Bridge::new(process.clone(), &process.model.default_card(), &switches, 1)
        };
        bridges.push(match element.qcd_power() {
            None => Some(bridge()?),
            Some(_) => None,
        });
    }
    let worker = |_| {
        let memory = SessionMemory::default();
        let of = |bridge: &mut Option<Bridge>| {
            let sampler = bridge.as_mut().map(|bridge| bridge.sampler(false, &memory));
            sampler.transpose()
        };
        bridges.iter_mut().map(of).collect()
    };
    (0..threads.max(1)).map(worker).collect()
}

impl ElementInfo {
    fn new(element: &Element) -> Self {
        let pairs = element.options().iter();
        ElementInfo {
            power: element.qcd_power().map(|power| power as i32),
            incoming: pairs.map(|codes| [codes[0], codes[1]]).collect(),
        }
    }
}

/// The products f(x1, Q1) f(x2, Q2) of the densities for each record, the particle along +z first; 1 without densities.
///
/// Args: `scales` are the factorisation scales of both beams, and `energies` those of the beams, GeV.
///
/// # Errors
/// The densities lack a parton.
pub fn density_products(
    beams: Option<&[BeamDensity; 2]>,
    records: &[u8],
    particles: usize,
    scales: &[[f64; 2]],
    energies: [f64; 2],
    threads: usize,
) -> Result<Vec<f64>> {
    let Some(beams) = beams else {
        return Ok(vec![1.0; scales.len()]);
    };
    let count = scales.len();
    let parts = parallel::collect(threads, count.div_ceil(AT_ONCE), |part| {
        let own = part * AT_ONCE..count.min((part + 1) * AT_ONCE);
        let incoming = Incoming::new(&Legs::read(records, particles, own.clone()), energies);
        let mut found = incoming.product(beams, &scales[own])?;
        for (event, value) in found.iter_mut().enumerate() {
            *value /= incoming.x[0][event] * incoming.x[1][event];
        }
        Ok::<_, Error>(found)
    })?;
    Ok(parts.concat())
}

/// External legs of some events. All events share flat arrays, as allocations would contend for a lock between threads.
struct Legs {
    /// Index of each event's matrix element.
    elements: Vec<usize>,
    /// Number of incoming legs of each event.
    incoming: Vec<usize>,
    /// Start of each event's legs, and the end of the last one's.
    begins: Vec<usize>,
    codes: Vec<i32>,
    /// (E, px, py, pz), GeV; decays have a second incoming leg with zero momentum.
    momenta: Vec<[f64; 4]>,
}

impl Legs {
    /// Reads the legs of a range of records.
    fn read(records: &[u8], particles: usize, events: Range<usize>) -> Self {
        let bytes = record_bytes(particles).expect("the records are in memory");
        let (count, legs) = (events.len(), events.len() * (particles + 1));
        let mut found = Legs {
            elements: Vec::with_capacity(count),
            incoming: Vec::with_capacity(count),
            begins: Vec::with_capacity(count + 1),
            codes: Vec::with_capacity(legs),
            momenta: Vec::with_capacity(legs),
        };
        let own = &records[events.start * bytes..events.end * bytes];
        for record in own.chunks_exact(bytes) {
            found.push(&Record::new(record));
        }
        found.begins.push(found.codes.len());
        found
    }

    fn push(&mut self, record: &Record<'_>) {
        let begin = self.codes.len();
        self.begins.push(begin);
        self.elements.push(record.process() as usize - 1);
        let mut incoming = 0;
        let legs = record.particles();
        for leg in legs.filter(Particle::is_external) {
            let [x, y, z, energy, _mass] = leg.momentum;
            incoming += usize::from(leg.is_incoming());
            self.codes.push(leg.pdg);
            self.momenta.push([energy, x, y, z]);
        }
        if incoming == 1 {
            self.codes.insert(begin + 1, 0);
            self.momenta.insert(begin + 1, [0.0; 4]);
        }
        self.incoming.push(incoming);
    }

    /// Number of events.
    fn len(&self) -> usize {
        self.elements.len()
    }

    fn own(&self, event: usize) -> Range<usize> {
        self.begins[event]..self.begins[event + 1]
    }

    /// Momenta in the order of the matrix element, in the rest frame of the initial state. If the matrix element is for
    /// both orders of the beams, the leg along +z stays first.
    fn ordered(&self, event: usize, of: &ElementInfo) -> Vec<[f64; 4]> {
        let (codes, momenta) = (&self.codes[self.own(event)], &self.momenta[self.own(event)]);
        if self.incoming[event] == 1 {
            return [&momenta[..1], &momenta[2..]].concat();
        }
        let mut found = at_rest(momenta);
        if !of.incoming.contains(&[codes[0], codes[1]]) {
            found.swap(0, 1);
        }
        found.to_vec()
    }
}

/// The incoming partons of some events, by beam.
struct Incoming {
    codes: [Vec<i32>; 2],
    /// Fractions of the beams' energies.
    x: [Vec<f64>; 2],
}

impl Incoming {
    fn new(legs: &Legs, energies: [f64; 2]) -> Self {
        let begins = &legs.begins[..legs.len()];
        let codes = |beam: usize| {
            let code = |begin: &usize| legs.codes[begin + beam];
            begins.iter().map(code).collect()
        };
        let x = |beam: usize| {
            let energy = |begin: &usize| legs.momenta[begin + beam][0] / energies[beam];
            begins.iter().map(energy).collect()
        };
        Incoming {
            codes: [0, 1].map(codes),
            x: [0, 1].map(x),
        }
    }

    /// The products of the densities x f(x, Q) of both beams.
    fn product(&self, beams: &[BeamDensity; 2], scales: &[[f64; 2]]) -> Result<Vec<f64>> {
        let of = |beam: usize| {
            let q: Vec<f64> = scales.iter().map(|scales| scales[beam]).collect();
            beams[beam].evaluate(&self.codes[beam], &self.x[beam], &q)
        };
        let (first, second) = (of(0)?, of(1)?);
        Ok(first
            .iter()
            .zip(second)
            .map(|(one, other)| one * other)
            .collect())
    }
}

/// A small cache, searched linearly.
struct Cache<K, V>(Vec<(K, V)>);

impl<K: PartialEq, V: Clone> Cache<K, V> {
    fn get(&mut self, key: K, find: impl FnOnce() -> Result<V>) -> Result<V> {
        if let Some((_, value)) = self.0.iter().find(|(known, _)| *known == key) {
            return Ok(value.clone());
        }
        let value = find()?;
        self.0.push((key, value.clone()));
        Ok(value)
    }
}

/// Factors of events for another alpha_s.
struct Coupled {
    /// Ratio of |M|^2.
    squared: Vec<f64>,
    /// Ratio of alpha_s.
    alpha_s: Vec<f64>,
}

/// Events weighed by one thread.
struct ThreadEvents<'a> {
    weights: &'a Weights,
    legs: Legs,
    /// Indices of the events of each matrix element.
    elements: SortedMap<usize, Vec<usize>>,
    incoming: Incoming,
    scales: &'a [[f64; ROWS]],
    matched: &'a [&'a Matched],
    /// Nominal alpha_s of the events.
    alpha_s: Vec<f64>,
}

impl<'a> ThreadEvents<'a> {
    fn new(
        weights: &'a Weights,
        legs: Legs,
        scales: &'a [[f64; ROWS]],
        matched: &'a [&'a Matched],
    ) -> Self {
        let alpha_s = |scales: &[f64; ROWS]| weights.couplings[0].at(scales[0] * scales[0]);
        let mut elements: SortedMap<usize, Vec<usize>> = SortedMap::new();
        for (event, &element) in legs.elements.iter().enumerate() {
            elements.entry(element).or_default().push(event);
        }
        ThreadEvents {
            weights,
            elements,
            incoming: Incoming::new(&legs, weights.energies),
            alpha_s: scales.iter().map(alpha_s).collect(),
            legs,
            scales,
            matched,
        }
    }

    /// The ratios of weights, `[event][variation]`.
    fn ratios(&self, samplers: &mut [Option<Sampler>]) -> Result<Vec<f64>> {
        let weights = self.weights;
        let (count, each) = (self.legs.len(), weights.variations.len());
        let mut found = vec![1.0; count * each];
        let mut kinds = Cache(Vec::new());
        let mut coupled = Cache(Vec::new());
        let mut before = Cache(Vec::new());
        let mut products = Cache(Vec::new());
        for (place, of) in weights.variations.iter().enumerate() {
            let mut multiply = |factors: &[f64]| {
                for (row, factor) in found.chunks_exact_mut(each).zip(factors) {
                    row[place] *= factor;
                }
            };
            let scales = kinds.get(of.dynamical, || Ok(Arc::new(self.scales_of(of.dynamical))))?;
            let member = of.member.map(|number| &weights.members[number]);
            let table = member.map_or(0, |member| member.coupling);
            let change = coupled.get((of.mur, of.dynamical, table), || {
                self.coupled(samplers, &mut before, &scales, of.mur, table)
                    .map(Arc::new)
            })?;
            multiply(&change.squared);
            if !self.matched.is_empty() {
                let table = &weights.couplings[table];
                multiply(&self.emitted(table, of.emissions, &change.alpha_s));
            }
            let beams = member.map_or(&weights.beams, |member| &member.beams);
            let (Some(beams), Some(nominal)) = (beams, &weights.beams) else {
                continue;
            };
            let mut product = |beams, member, scales, dynamical, muf, emissions| {
                products.get((member, dynamical, muf, emissions), || {
                    self.product(beams, scales, dynamical, muf, emissions)
                        .map(Arc::new)
                })
            };
            let events = product(nominal, None, self.scales, None, 1.0, 1.0)?;
            let varied = product(
                beams,
                of.member,
                &scales,
                of.dynamical,
                of.muf,
                of.emissions,
            )?;
            let ratios = varied.iter().zip(&**events);
            let ratios = ratios.map(|(varied, nominal)| ratio(*varied, *nominal));
            multiply(&ratios.collect::<Vec<f64>>());
        }
        Ok(found)
    }

    /// Scales of the events: their own, or those of another dynamical scale.
    fn scales_of(&self, dynamical: Option<Dynamical>) -> Vec<[f64; ROWS]> {
        let Some(dynamical) = dynamical else {
            return self.scales.to_vec();
        };
        let most = (0..self.legs.len()).map(|event| self.legs.own(event).len());
        let most = most.max().unwrap_or(0);
        let mut momenta = Rows::new(4 * most, self.legs.len());
        for event in 0..self.legs.len() {
            // The zero rows of events with fewer legs do not contribute.
            let own = &self.legs.momenta[self.legs.own(event)];
            for (row, number) in own.as_flattened().iter().enumerate() {
                momenta.row_mut(row)[event] = *number;
            }
        }
        let scale = Scale {
            dynamical,
            factor: 1.0,
            renormalisation: None,
            factorisation: [None; 2],
        };
        let mut found = Rows::new(ROWS, self.legs.len());
        scale.evaluate(Level::best(), most, &momenta, &mut found, 0);
        (found.row(0).iter()).map(|scale| [*scale; ROWS]).collect()
    }

    /// The factors for alpha_s of another table, with the renormalisation scale multiplied by `mur`.
    fn coupled(
        &self,
        samplers: &mut [Option<Sampler>],
        before: &mut Cache<usize, Arc<Vec<f64>>>,
        scales: &[[f64; ROWS]],
        mur: f64,
        table: usize,
    ) -> Result<Coupled> {
        let table = &self.weights.couplings[table];
        let at = |[scale, ..]: &[f64; ROWS]| table.at((mur * scale).powi(2));
        let after: Vec<f64> = scales.iter().map(at).collect();
        let change = after.iter().zip(&self.alpha_s);
        let change: Vec<f64> = change.map(|(after, before)| after / before).collect();
        let mut squared = change.clone();
        for (&number, own) in &self.elements {
            let sampler = match (self.weights.elements[number].power, &mut samplers[number]) {
                (None, Some(sampler)) => sampler,
                (power, _) => {
                    let power = power.unwrap_or(0);
                    own.iter()
                        .for_each(|&event| squared[event] = change[event].powi(power));
                    continue;
                }
            };
            let mut evaluate = |alpha_s| self.squared(sampler, own, alpha_s).map(Arc::new);
            let old = before.get(number, || evaluate(&self.alpha_s))?;
            let same = own.iter().all(|&event| change[event] == 1.0);
            let new = if same { old.clone() } else { evaluate(&after)? };
            for ((&event, new), old) in own.iter().zip(&*new).zip(&*old) {
                squared[event] = new / old;
            }
        }
        Ok(Coupled {
            squared,
            alpha_s: change,
        })
    }

    /// |M|^2 of some events of one matrix element.
    fn squared(&self, sampler: &mut Sampler, own: &[usize], alpha_s: &[f64]) -> Result<Vec<f64>> {
        let (count, legs) = (own.len(), sampler.legs());
        let of = |&event: &usize| {
            let element = &self.weights.elements[self.legs.elements[event]];
            self.legs.ordered(event, element)
        };
        let momenta: Vec<[f64; 4]> = own.iter().flat_map(of).collect();
        let couplings: Vec<f64> = own.iter().map(|&event| g_s(alpha_s[event])).collect();
        let halves = vec![0.5; count];
        sampler.squared(Points {
            momenta: Momenta::rows(momenta.as_flattened(), legs),
            g_s: &couplings,
            random_helicity: &halves,
            random_color: &halves,
        })
    }

    /// The factor for the clustered vertices of matched events, whose alpha_s are taken at their own scales.
    fn emitted(&self, table: &StrongCoupling, factor: f64, change: &[f64]) -> Vec<f64> {
        let nominal = &self.weights.couplings[0];
        let of = |(matched, change): (&&Matched, &f64)| {
            let emissions = matched.emissions.iter().filter(|scale| **scale > 0.0);
            let own = |scale: &f64| {
                table.at((factor * scale).powi(2)) / nominal.at(scale * scale) / change
            };
            emissions.map(own).product()
        };
        self.matched.iter().zip(change).map(of).collect()
    }

    /// The product of both densities; for matched events along their clustering.
    fn product(
        &self,
        beams: &[BeamDensity; 2],
        scales: &[[f64; ROWS]],
        dynamical: Option<Dynamical>,
        muf: f64,
        emissions: f64,
    ) -> Result<Vec<f64>> {
        if !self.matched.is_empty() {
            let central = dynamical.map(|_| scales);
            return along(self.matched, beams, central, muf, emissions);
        }
        let scales = scales
            .iter()
            .map(|[_, one, other]| [muf * one, muf * other]);
        self.incoming.product(beams, &scales.collect::<Vec<_>>())
    }
}

/// The densities of both partons at their last vertices, times the ratios of densities at the vertices before, as in
/// MG5aMC's `systematics`.
///
/// Args: `central` are scales that replace those of the last vertices; `muf` multiplies the scales of the last
/// vertices, and `emissions` those of the vertices before.
fn along(
    matched: &[&Matched],
    beams: &[BeamDensity; 2],
    central: Option<&[[f64; ROWS]]>,
    muf: f64,
    emissions: f64,
) -> Result<Vec<f64>> {
    let mut found = vec![1.0; matched.len()];
    for (beam, density) in beams.iter().enumerate() {
        let (mut codes, mut x, mut q) = (Vec::new(), Vec::new(), Vec::new());
        let mut push = |code: i32, at: f64, scale: f64| {
            codes.push(code);
            x.push(at);
            q.push(scale);
        };
        for (event, matched) in matched.iter().enumerate() {
            let Some((last, vertices)) = matched.densities[beam].split_last() else {
                continue;
            };
            let (code, at, scale) = *last;
            let end = muf * central.map_or(scale, |scales| scales[event][0]);
            push(code, at, end);
            let next = matched.densities[beam].iter().skip(1);
            for (&(code, at, scale), &(_, after, _)) in vertices.iter().zip(next) {
                let scale = f64::min(emissions * scale, end);
                push(code, at, scale);
                push(code, after, scale);
            }
        }
        let values = density.evaluate(&codes, &x, &q)?;
        let mut values = values.iter().zip(&x).map(|(density, x)| density / x);
        let mut next = || values.next().expect("one of each vertex");
        for (found, matched) in found.iter_mut().zip(matched) {
            let vertices = matched.densities[beam].len();
            if vertices > 0 {
                *found *= next();
            }
            for _ in 1..vertices {
                let (before, after) = (next(), next());
                *found *= ratio(before, after);
            }
        }
    }
    Ok(found)
}

/// The quotient, or 0 if the denominator is 0.
fn ratio(number: f64, by: f64) -> f64 {
    if by == 0.0 { 0.0 } else { number / by }
}

#[cfg(test)]
#[path = "calculator_tests.rs"]
mod tests;
