//! A [`RunPlan`] as a file, for other programs that make its events: jobs of packs, and workers.
//!
//! The file has a line with name and format, the BLAKE3 hash of the rest in 32 bytes, and the rest: `postcard` with
//! JSON for some parts. Both encodings keep every bit of numbers, so all programs make the same events.

use crate::banner::CommonBanner;
use crate::densities::AlphaS;
use crate::element::Element;
use crate::plan::RunPlan;
use crate::systematics::Systematics;
use mebridge::event_generator::{BeamRequest, Request};
use mebridge::files::regular;
use mebridge::process::Process;
use mebridge::{Error, Result};
use mebridge_sampler::parallel;
use mebridge_support::sorted::SortedMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

/// The first line of a file.
const BEGIN: &[u8] = b"mebridge plan 5\n";
/// Size of a hash in bytes.
const HASH: usize = 32;
/// Largest size of a file; processes of the largest runs take a few hundred MB.
const MAX_BYTES: u64 = 1 << 34;

/// The problem if the contents are not those expected.
const OTHER: &str = "is a plan of another version of mebridge";

/// Contents of a file. Relative names of densities are those of files beside it.
#[derive(Deserialize, Serialize)]
struct Stored<'a> {
    elements: Vec<StoredElement>,
    /// JSON.
    request: String,
    head: Cow<'a, CommonBanner>,
    systematics: Cow<'a, Systematics>,
    runs: bool,
    alpha_s: Cow<'a, AlphaS>,
    conditions: Cow<'a, [String]>,
    /// JSON.
    arguments: String,
}

#[derive(Deserialize, Serialize)]
struct StoredElement {
    process: Vec<u8>,
    masses: Vec<f64>,
    source: usize,
    number: usize,
    helicities: [Option<i8>; 2],
}

impl RunPlan {
    /// Writes the plan to a file. Notices are left out, as the program that makes the plan reports them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let element = |one: &Element| {
            Ok(StoredElement {
                process: one.process.to_bytes()?,
                masses: one.masses.clone(),
                source: one.source,
                number: one.number,
                helicities: one.helicities,
            })
        };
        let elements: Result<_> = self.elements.iter().map(element).collect();
        let stored = Stored {
            elements: elements?,
            request: json(&self.request)?,
            head: Cow::Borrowed(&self.head),
            systematics: Cow::Borrowed(&self.systematics),
            runs: self.runs,
            alpha_s: Cow::Borrowed(&self.alpha_s),
            conditions: Cow::Borrowed(&self.conditions),
            arguments: json(&self.arguments)?,
        };
        let rest = postcard::to_stdvec(&stored).map_err(|error| unwritten(&error))?;
        let bytes = [BEGIN, &mebridge_support::digest(&rest), &rest].concat();
        fs::write(file, bytes).map_err(Error::io(file))
    }

    /// Reads a plan; `threads` is the number of threads that make its events.
    ///
    /// # Errors
    /// The file cannot be read, or has no plan of this version of mebridge.
    pub fn read(file: &Path, threads: usize) -> Result<Self> {
        let bytes = regular::read(file, MAX_BYTES).map_err(Error::io(file))?;
        let wrong = |what: &str| {
            let what = format!("{} {what}", file.display());
            Error::run(what, "write it again, by this version of mebridge")
        };
        let rest = bytes.strip_prefix(BEGIN).filter(|rest| rest.len() >= HASH);
        let (hash, rest) = rest
            .ok_or_else(|| wrong("is no plan of events, or one of another version"))?
            .split_at(HASH);
        if mebridge_support::digest(rest) != hash {
            return Err(wrong("is damaged"));
        }
        let stored: Stored = postcard::from_bytes(rest).map_err(|_| wrong(OTHER))?;
        let request = Request {
            threads,
            ..Request::from_json(&stored.request).map_err(|_| wrong(OTHER))?
        };
        let arguments = serde_json::from_str(&stored.arguments);
        let arguments = arguments.map_err(|_| wrong(OTHER))?;
        if request.elements.len() != stored.elements.len() {
            return Err(wrong(OTHER));
        }
        let elements = parallel::collect(threads, stored.elements.len(), |number| {
            stored.elements[number].read(&request, number, file)
        })?;
        let mut plan = RunPlan {
            elements,
            request,
            head: stored.head.into_owned(),
            systematics: stored.systematics.into_owned(),
            runs: stored.runs,
            alpha_s: stored.alpha_s.into_owned(),
            conditions: stored.conditions.into_owned(),
            arguments,
            notices: Vec::new(),
        };
        let folder = file.parent().unwrap_or("".as_ref());
        for name in plan.files_mut() {
            // Absolute names stay.
            *name = folder.join(&*name);
        }
        Ok(plan)
    }

    /// Renames its files of densities to names in `folder`, relative to the plan; files of one folder stay together.
    /// Returns the old names by the new ones.
    pub fn gather(&mut self, folder: &str) -> SortedMap<PathBuf, PathBuf> {
        let (mut folders, mut found) = (Vec::new(), SortedMap::new());
        for name in self.files_mut() {
            let before = name.parent().unwrap_or("".as_ref()).to_owned();
            let known = folders.iter().position(|other| *other == before);
            let number = known.unwrap_or(folders.len());
            if known.is_none() {
                folders.push(before);
            }
            let own = name.file_name().unwrap_or_default();
            let new = Path::new(folder).join(number.to_string()).join(own);
            found.insert(new.clone(), std::mem::replace(name, new));
        }
        found
    }

    /// Names of its files of densities, repeated where files are used repeatedly.
    fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let beams = self.request.beams.iter_mut().flatten();
        let of_beams = beams.filter_map(BeamRequest::file_mut);
        let members = self.systematics.members.iter_mut();
        let members = members.map(|member| &mut member.file);
        self.request
            .densities
            .iter_mut()
            .chain(of_beams)
            .chain(members)
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| unwritten(&error))
}

/// The error for names of densities that are not UTF-8.
fn unwritten(why: &dyn std::fmt::Display) -> Error {
    Error::run(format!("the plan of the run cannot be written: {why}"), "")
}

impl StoredElement {
    fn read(&self, request: &Request, number: usize, file: &Path) -> Result<Element> {
        let process = Process::from_bytes(&self.process, file)?;
        let requested = &request.elements[number];
        let mut element = Element::new(
            process,
            requested.mirrored,
            self.masses.clone(),
            self.source,
            self.number,
        )?;
        element.helicities = self.helicities;
        let channels = element.described.channels.iter_mut();
        for (channel, codes) in channels.zip(&requested.propagators) {
            channel.propagators.clone_from(codes);
        }
        Ok(element)
    }
}
