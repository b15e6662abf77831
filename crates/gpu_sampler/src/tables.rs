//! What is integrated, as tables that the kernel `points` reads (`cuda/points.cuh`).

use mebridge_densities::device::{Tables as OfDensities, fixed_coupling};
use mebridge_densities::{Coupling, Densities};
use mebridge_driver::{Buffer, Driver, Pointer, Stream};
use mebridge_phasespace::device::{NOWHERE, Tables as Words, Unknown};
use mebridge_sampler::integrand::{Beam, ElementGroup, Flux, Integrand, Running, Source};
use mebridge_support::error::Error;
use std::sync::{Arc, Weak};

/// Words of a source.
const SOURCE: usize = 7;
/// Rows behind the momenta of the legs that go out, from the cuts on.
const MORE: u32 = 8;

/// Why there are no tables.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// What is integrated holds what a GPU does not know: the CPU does.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The GPU has no memory for them, or fails.
    #[error(transparent)]
    Gpu(#[from] Error),
}

/// Of what is integrated all but densities and grids.
#[derive(Debug)]
struct Joined {
    words: Words,
    /// Where the words of the sources begin.
    sources: u32,
    /// How many numbers a point has in shared memory.
    rows: u32,
}

/// Words of a group, and the rows that its points take.
struct Group {
    at: u32,
    rows: u32,
}

impl Joined {
    fn new(integrand: &Integrand) -> Result<Joined, Unknown> {
        densities(integrand)?;
        let mut words = Words::default();
        let mut rows = 0;
        let mut groups = Vec::new();
        for group in &integrand.groups {
            let group = of_group(&mut words, group, integrand)?;
            rows = rows.max(group.rows);
            groups.push(group);
        }
        let mut found = Vec::with_capacity(integrand.sources.len() * SOURCE);
        for source in &integrand.sources {
            let group = &integrand.groups[source.group];
            let at = groups[source.group].at;
            let drawn = integrand.has_densities();
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
    integrand: &Integrand,
) -> Result<Group, Unknown> {
    let ElementGroup {
        elements,
        partons,
        weights,
        cuts,
        scale,
        clustering,
        legs,
        beams,
        rapidity,
        flux,
    } = group;
    if *rapidity != 0.0 {
        return Err(Unknown("beams of different energies".into()));
    }
    if *flux != Flux::Collision([0.0; 2]) {
        return Err(Unknown("beams with a mass, or a decay".into()));
    }
    if clustering.is_some() {
        return Err(Unknown("scales by clustering".into()));
    }
    let (cuts, room) = match cuts {
        Some(cuts) => words.cuts(cuts),
        None => (NOWHERE, 0),
    };
    let (weights, propagators) = words.weights(weights);
    let scale = words.scale(scale)?;
    // The flavours of each beam, and where those of partons stand among them.
    let mut flavors: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
    let mut places = Vec::new();
    for one in partons {
        let of = places_of(&integrand.beams, *beams, one.codes);
        places.push(of.map(|of| {
            let mut own = [0, 0];
            for (beam, (own, flavor)) in own.iter_mut().zip(of).enumerate() {
                let known = flavors[beam].iter().position(|&known| known == flavor);
                *own = known.unwrap_or_else(|| {
                    flavors[beam].push(flavor);
                    flavors[beam].len() - 1
                }) as u32;
            }
            // The rows of the second beam follow those of the first.
            own
        }));
    }
    let first = words.next();
    for (one, places) in partons.iter().zip(places) {
        let place = match places {
            Some([a, b]) => a | (b + flavors[0].len() as u32) << 16,
            None => NOWHERE,
        };
        words.words.extend([place, elements[one.element] as u32]);
    }
    let of_flavors = match integrand.has_densities() {
        true => {
            let at = words.next();
            words
                .words
                .extend([&flavors[0], &flavors[1]].map(|some| some.len() as u32));
            words.words.extend(flavors.iter().flatten());
            at
        }
        false => NOWHERE,
    };
    let at = words.next();
    words.words.extend([cuts, weights, scale]);
    words
        .words
        .extend([partons.len() as u32, first, of_flavors]);
    let outgoing = *legs as u32 - 2;
    let flavors = flavors.iter().map(Vec::len).sum::<usize>() as u32;
    let rows = 4 * outgoing + room.max(MORE + propagators.max(flavors));
    Ok(Group { at, rows })
}

/// The densities of both beams, if they have some.
fn densities(integrand: &Integrand) -> Result<Option<&Arc<Densities>>, Unknown> {
    match &integrand.beams {
        [Beam::Parton, Beam::Parton] => Ok(None),
        [
            Beam::Densities { densities, .. },
            Beam::Densities {
                densities: other, ..
            },
        ] if Arc::ptr_eq(densities, other) && densities.has_grid() => Ok(Some(densities)),
        _ => Err(Unknown("beams without densities from one file".into())),
    }
}

/// Where the densities of two partons stand; none where there are none.
fn places_of(of: &[Beam; 2], beams: [usize; 2], codes: [i32; 2]) -> Option<[u32; 2]> {
    let place = |leg: usize| match &of[beams[leg]] {
        Beam::Parton => None,
        beam => beam.place(codes[leg]).map(|place| place as u32),
    };
    Some([place(0)?, place(1)?])
}

/// The words of a source, and the rows that its points take.
fn of_source(
    words: &mut Words,
    source: &Source,
    group: &ElementGroup,
    at_group: u32,
    drawn: bool,
) -> Result<([u32; SOURCE], u32), Unknown> {
    let Source {
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
            // Without densities nothing is drawn.
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

/// Words and numbers in the memory of a GPU.
struct Uploaded {
    words: Buffer,
    numbers: Buffer,
}

impl Uploaded {
    fn new(stream: &Stream, words: &[u32], numbers: &[f64]) -> Result<Uploaded, Error> {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(Uploaded {
            words: upload(stream, &words)?,
            numbers: upload_numbers(stream, numbers)?,
        })
    }
}

fn upload_numbers(stream: &Stream, numbers: &[f64]) -> Result<Buffer, Error> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
    upload(stream, &bytes)
}

fn upload(stream: &Stream, bytes: &[u8]) -> Result<Buffer, Error> {
    let buffer = Buffer::new(stream.driver(), bytes.len())?;
    // SAFETY: the buffer has as many bytes, and they stay until the stream is done, below.
    let copied = unsafe { stream.upload(buffer.pointer(), bytes) };
    // Whatever came of it, nothing uses the bytes any more.
    stream.synchronize()?;
    copied.map(|()| buffer)
}

/// Densities in the memory of a GPU.
struct UploadedDensities {
    tables: Uploaded,
    cells: Buffer,
}

/// Tables in the memory of a GPU.
pub struct Tables {
    joined: Uploaded,
    sources: u32,
    rows: u32,
    densities: Arc<UploadedDensities>,
    coupling: Arc<Uploaded>,
}

/// Densities and couplings that have been uploaded, as long as somebody has them.
#[derive(Default)]
pub(crate) struct Known {
    densities: Option<(Weak<Densities>, Weak<UploadedDensities>)>,
    coupling: Option<(Weak<Coupling>, Weak<Uploaded>)>,
}

/// What was uploaded for the same thing.
fn same<T, U>(known: Option<&(Weak<T>, Weak<U>)>, of: &Arc<T>) -> Option<Arc<U>> {
    let (from, uploaded) = known?;
    let from = from.upgrade()?;
    Arc::ptr_eq(&from, of).then(|| uploaded.upgrade()).flatten()
}

impl Known {
    fn densities(
        &mut self,
        stream: &Stream,
        of: &Arc<Densities>,
    ) -> Result<Arc<UploadedDensities>, Error> {
        if let Some(uploaded) = same(self.densities.as_ref(), of) {
            return Ok(uploaded);
        }
        let uploaded = Arc::new(UploadedDensities::new(stream, &of.device())?);
        self.densities = Some((Arc::downgrade(of), Arc::downgrade(&uploaded)));
        Ok(uploaded)
    }

    fn coupling(&mut self, stream: &Stream, of: &Arc<Coupling>) -> Result<Arc<Uploaded>, Error> {
        if let Some(uploaded) = same(self.coupling.as_ref(), of) {
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
            cells: upload_numbers(stream, &of.cells)?,
        })
    }
}

impl Tables {
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        integrand: &Integrand,
        known: &mut Known,
    ) -> Result<Tables, TablesError> {
        let joined = Joined::new(integrand)?;
        let stream = Stream::new(driver)?;
        let densities = match densities(integrand)? {
            Some(densities) => known.densities(&stream, densities)?,
            None => Arc::new(UploadedDensities::new(&stream, &OfDensities::default())?),
        };
        let coupling = match &integrand.running {
            Running::Table(coupling) => known.coupling(&stream, coupling)?,
            Running::Fixed(value) => {
                let tables = fixed_coupling(*value);
                Arc::new(Uploaded::new(&stream, &tables.words, &tables.numbers)?)
            }
        };
        Ok(Tables {
            joined: Uploaded::new(&stream, &joined.words.words, &joined.words.numbers)?,
            sources: joined.sources,
            rows: joined.rows,
            densities,
            coupling,
        })
    }

    /// How many numbers a point has in shared memory.
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Where the words of the sources begin.
    pub(crate) fn sources(&self) -> u32 {
        self.sources
    }

    /// Words and numbers: of what is integrated, of densities, of the coupling.
    pub(crate) fn pointers(&self) -> [[Pointer; 2]; 3] {
        [&self.joined, &self.densities.tables, &self.coupling]
            .map(|of| [of.words.pointer(), of.numbers.pointer()])
    }

    /// Coefficients of densities.
    pub(crate) fn cells(&self) -> Pointer {
        self.densities.cells.pointer()
    }
}
