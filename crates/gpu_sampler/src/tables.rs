//! The integrand as tables for the kernel `points` (`cuda/points.cuh`).

use mebridge_densities::device::{DensityTables as OfDensities, fixed_coupling};
use mebridge_densities::{Densities, StrongCoupling};
use mebridge_driver::{Bits, Buffer, Driver, Pointer, Stream, bytes};
use mebridge_phasespace::cuts::Cuts;
use mebridge_phasespace::device::{NOWHERE, Tables as Words, Unknown};
use mebridge_sampler::integrand::{
    Beam, ElementGroup, Flux, Integrand, PICOBARN, PointSource, RunningCoupling,
};
use mebridge_support::error::Error;
use std::sync::{Arc, Weak};

/// Number of words of a source.
const SOURCE: usize = 7;
/// Rows after the momenta of the outgoing legs, used from the cuts on.
const MORE: u32 = 8;

/// Reason why tables cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// The integrand contains something that only the CPU supports.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The GPU lacks memory for the tables, or fails.
    #[error(transparent)]
    Gpu(#[from] Error),
}

/// Tables of the integrand, without densities and grids.
#[derive(Debug)]
struct Joined {
    words: Words,
    /// Start of the words of the sources.
    sources: u32,
    /// Numbers per point in shared memory.
    rows: u32,
}

/// Checks that GPUs support the integrand.
///
/// # Errors
/// The integrand contains something that GPUs do not support.
pub fn check(integrand: &Integrand) -> Result<(), Unknown> {
    Joined::new(integrand).map(|_| ())
}

/// Start of the words of a group, and the rows that its points need.
struct GroupWords {
    at: u32,
    rows: u32,
}

impl Joined {
    fn new(integrand: &Integrand) -> Result<Joined, Unknown> {
        let Integrand {
            groups: of_groups,
            sources: of_sources,
            beams,
            running: _,
            selections,
            functions,
            level: _,
        } = integrand;
        if !selections.is_empty() {
            return Err(Unknown("a cut that is a function".to_owned()));
        }
        if functions.is_some() {
            return Err(Unknown("functions in Fortran".to_owned()));
        }
        if let Some(what) = beams.iter().find_map(Beam::not_on_gpus) {
            return Err(Unknown(what.to_owned()));
        }
        let mut words = Words::default();
        let mut rows = 0;
        let mut groups = Vec::new();
        for group in of_groups {
            let group = of_group(&mut words, group, beams)?;
            rows = rows.max(group.rows);
            groups.push(group);
        }
        let mut found = Vec::with_capacity(of_sources.len() * SOURCE);
        for source in of_sources {
            let group = &of_groups[source.group];
            let at = groups[source.group].at;
            let drawn = is_drawn(group, beams);
            let (of, own) = of_source(&mut words, source, group, at, drawn)?;
            found.extend(of);
            rows = rows.max(own);
        }
        let sources = words.next();
        words.words.extend(found);
        Ok(Joined {
            words,
            sources,
            rows,
        })
    }
}

fn of_group(
    words: &mut Words,
    group: &ElementGroup,
    beams: &[Beam; 2],
) -> Result<GroupWords, Unknown> {
    let ElementGroup {
        elements,
        partons,
        weights,
        cuts,
        scale,
        clustering,
        legs,
        beams: numbers,
        rapidity,
        flux,
    } = group;
    if clustering.is_some() {
        return Err(Unknown("scales by clustering".into()));
    }
    if let Some(what) = cuts.as_ref().and_then(Cuts::not_on_gpus) {
        return Err(Unknown(what.into()));
    }
    let (cuts, room) = match cuts {
        Some(cuts) => words.cuts(cuts),
        None => (NOWHERE, 0),
    };
    let (weights, propagators) = words.weights(weights);
    let scale = words.scale(scale);
    // The flavours of each leg, and the indices of the partons' flavours among them.
    let mut flavors: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
    let mut places = Vec::new();
    for one in partons {
        let mut own = [None; 2];
        for (leg, own) in own.iter_mut().enumerate() {
            let beam = &beams[numbers[leg]];
            *own = beam
                .place(one.codes[leg], one.helicities[leg])
                .map(|flavor| {
                    let flavor = flavor as u32;
                    let known = flavors[leg].iter().position(|&known| known == flavor);
                    known.unwrap_or_else(|| {
                        flavors[leg].push(flavor);
                        flavors[leg].len() - 1
                    }) as u32
                });
        }
        places.push(own);
    }
    let first = words.next();
    for (one, places) in partons.iter().zip(places) {
        let place = match places {
            // The rows of the second leg follow those of the first.
            [Some(a), Some(b)] => a | (b + flavors[0].len() as u32) << 16,
            _ => NOWHERE,
        };
        words.words.extend([place, elements[one.element] as u32]);
    }
    let of_flavors = match is_drawn(group, beams) {
        false => NOWHERE,
        true => {
            let at = words.next();
            for (flavors, &beam) in flavors.iter().zip(numbers) {
                let which = match beams[beam].is_parton() {
                    true => NOWHERE,
                    false => beam as u32,
                };
                words.words.extend([which, flavors.len() as u32]);
            }
            words.words.extend(flavors.iter().flatten());
            at
        }
    };
    let Flux::Collision([one, other]) = *flux else {
        // |M|^2 would treat the adjacent leg as one of its own.
        return Err(Unknown("a particle that decays at rest".into()));
    };
    let (sum, difference) = (one + other, one - other);
    let numbers = [
        *rapidity,
        sum * sum,
        difference * difference,
        0.5 * PICOBARN,
    ];
    let numbers = words.numbers(&numbers);
    let at = words.next();
    words.words.extend([cuts, weights, scale]);
    words
        .words
        .extend([partons.len() as u32, first, of_flavors, numbers]);
    let outgoing = *legs as u32 - 2;
    let flavors = flavors.iter().map(Vec::len).sum::<usize>() as u32;
    let rows = 4 * outgoing + room.max(MORE + propagators.max(flavors));
    Ok(GroupWords { at, rows })
}

/// Returns whether partons are drawn for each point. Even without densities there may be several.
fn is_drawn(group: &ElementGroup, beams: &[Beam; 2]) -> bool {
    !beams.iter().all(Beam::is_parton) || group.partons.len() > 1
}

/// Appends the words of a source and returns the rows that its points need.
fn of_source(
    words: &mut Words,
    source: &PointSource,
    group: &ElementGroup,
    at_group: u32,
    drawn: bool,
) -> Result<([u32; SOURCE], u32), Unknown> {
    let PointSource {
        group: _,
        channel,
        permutations,
        columns,
        chances,
    } = source;
    let (at_channel, rows) = words.channel(channel)?;
    let first = words.next();
    for (permutation, &column) in permutations.iter().zip(columns) {
        words.words.extend([u32::from(permutation.turned), column]);
        words.leg_rows(permutation);
    }
    let stride = 2 + channel.outgoing() as u32;
    let chances: Vec<f64> = (group.partons.iter())
        .flat_map(|one| {
            let chance = if drawn { chances[one.element] } else { 1.0 };
            [one.factor * chance, chance]
        })
        .collect();
    let found = [
        at_channel,
        channel.dimension() as u32,
        permutations.len() as u32,
        first,
        stride,
        at_group,
        words.numbers(&chances),
    ];
    Ok((found, rows))
}

/// Words and numbers in device memory.
struct Uploaded {
    words: Buffer,
    numbers: Buffer,
}

impl Uploaded {
    fn new(stream: &Stream, words: &[u32], numbers: &[f64]) -> Result<Uploaded, Error> {
        Ok(Uploaded {
            words: upload(stream, words)?,
            numbers: upload(stream, numbers)?,
        })
    }
}

/// Creates a buffer with these numbers.
pub(crate) fn upload<T: Bits>(stream: &Stream, numbers: &[T]) -> Result<Buffer, Error> {
    let bytes = bytes(numbers);
    let buffer = Buffer::new(stream.driver(), bytes.len())?;
    stream.write(&buffer, bytes)?;
    Ok(buffer)
}

/// Densities in device memory.
struct UploadedDensities {
    tables: Uploaded,
    cells: Buffer,
}

/// Tables in device memory.
pub struct DeviceTables {
    joined: Uploaded,
    sources: u32,
    rows: u32,
    /// Densities of both beams; empty for a parton.
    densities: [Arc<UploadedDensities>; 2],
    coupling: Arc<Uploaded>,
}

/// Cache of uploaded densities and couplings, kept as long as they are in use.
#[derive(Default)]
pub(crate) struct UploadCache {
    densities: Vec<(Weak<Densities>, Weak<UploadedDensities>)>,
    coupling: Option<(Weak<StrongCoupling>, Weak<Uploaded>)>,
}

/// Returns what was uploaded before for the same object.
fn same<T, U>(known: &[(Weak<T>, Weak<U>)], of: &Arc<T>) -> Option<Arc<U>> {
    let is_of = |from: &Weak<T>| from.upgrade().is_some_and(|from| Arc::ptr_eq(&from, of));
    known
        .iter()
        .find(|(from, _)| is_of(from))
        .and_then(|(_, uploaded)| uploaded.upgrade())
}

impl UploadCache {
    fn densities(
        &mut self,
        stream: &Stream,
        of: &Arc<Densities>,
    ) -> Result<Arc<UploadedDensities>, Error> {
        if let Some(uploaded) = same(&self.densities, of) {
            return Ok(uploaded);
        }
        let uploaded = Arc::new(UploadedDensities::new(stream, &of.device())?);
        self.densities
            .retain(|(_, uploaded)| uploaded.strong_count() > 0);
        (self.densities).push((Arc::downgrade(of), Arc::downgrade(&uploaded)));
        Ok(uploaded)
    }

    fn coupling(
        &mut self,
        stream: &Stream,
        of: &Arc<StrongCoupling>,
    ) -> Result<Arc<Uploaded>, Error> {
        if let Some(uploaded) = same(self.coupling.as_slice(), of) {
            return Ok(uploaded);
        }
        let tables = of.device();
        let uploaded = Arc::new(Uploaded::new(stream, &tables.words, &tables.numbers)?);
        self.coupling = Some((Arc::downgrade(of), Arc::downgrade(&uploaded)));
        Ok(uploaded)
    }
}

impl UploadedDensities {
    fn new(stream: &Stream, of: &OfDensities) -> Result<UploadedDensities, Error> {
        Ok(UploadedDensities {
            tables: Uploaded::new(stream, &of.words, &of.numbers)?,
            cells: upload(stream, &of.cells)?,
        })
    }
}

impl DeviceTables {
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        integrand: &Integrand,
        known: &mut UploadCache,
    ) -> Result<DeviceTables, TablesError> {
        let joined = Joined::new(integrand)?;
        let stream = Stream::new(driver)?;
        let mut of = |beam: &Beam| match beam {
            Beam::Densities { densities, .. } => known.densities(&stream, densities),
            Beam::Parton | Beam::PhotonPair(_) => {
                UploadedDensities::new(&stream, &OfDensities::default()).map(Arc::new)
            }
        };
        let densities = [of(&integrand.beams[0])?, of(&integrand.beams[1])?];
        let coupling = match &integrand.running {
            RunningCoupling::Table(coupling) => known.coupling(&stream, coupling)?,
            RunningCoupling::Fixed(value) => {
                let tables = fixed_coupling(*value);
                Arc::new(Uploaded::new(&stream, &tables.words, &tables.numbers)?)
            }
        };
        Ok(DeviceTables {
            joined: Uploaded::new(&stream, &joined.words.words, &joined.words.numbers)?,
            sources: joined.sources,
            rows: joined.rows,
            densities,
            coupling,
        })
    }

    /// Returns the numbers per point in shared memory.
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the start of the words of the sources.
    pub(crate) fn sources(&self) -> u32 {
        self.sources
    }

    /// Returns the words and numbers of the integrand and of the coupling.
    pub(crate) fn pointers(&self) -> [[Pointer; 2]; 2] {
        [&self.joined, &self.coupling].map(|of| [of.words.pointer(), of.numbers.pointer()])
    }

    /// Returns the words, numbers and coefficients of the densities of both beams.
    pub(crate) fn densities(&self) -> [[Pointer; 3]; 2] {
        self.densities.each_ref().map(|of| {
            [&of.tables.words, &of.tables.numbers, &of.cells].map(|buffer| buffer.pointer())
        })
    }
}
