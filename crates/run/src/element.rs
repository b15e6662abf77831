//! Matrix elements of a run.

use mebridge::Result;
use mebridge::describe::{Channel, Subprocess, describe};
use mebridge::event_generator::ElementRequest;
use mebridge::process::Process;

/// A matrix element of a run.
#[derive(Clone, Debug)]
pub struct Element {
    /// With the values of the run's parameter card as its own.
    pub process: Process,
    /// What a sampler has to know of it alone: channels, flavours, colours.
    pub described: Subprocess,
    /// Masses of its legs, GeV.
    pub masses: Vec<f64>,
    /// Which process of the run it is of, from 0: a directory of an output, or the text that was generated.
    pub source: usize,
    /// Which one of those of its process it is, from 0.
    pub number: usize,
}

impl Element {
    /// What the event generator is given of it, without cuts.
    pub fn request(&self) -> ElementRequest {
        let channels = self.channels().iter();
        let propagators = channels.clone().map(|one| one.propagators.clone());
        ElementRequest {
            mirrored: self.is_mirrored(),
            propagators: propagators.collect(),
            off_shell: channels
                .map(|one| one.off_shell_propagators.clone())
                .collect(),
            ..ElementRequest::default()
        }
    }

    /// Describes one.
    ///
    /// # Errors
    /// The process has no legs or couplings that a sampler could use.
    pub fn new(
        process: Process,
        mirrored: bool,
        masses: Vec<f64>,
        source: usize,
        number: usize,
    ) -> Result<Self> {
        let described = describe(std::slice::from_ref(&process), &[mirrored], "", "")?;
        Ok(Element {
            process,
            described,
            masses,
            source,
            number,
        })
    }

    /// PDG codes of the legs of its first process, those that come in first.
    pub fn pdg(&self) -> &[i32] {
        &self.options()[0]
    }

    /// The same of all processes that it serves.
    pub fn options(&self) -> &[Vec<i32>] {
        &self.described.flavors[0].options
    }

    /// Whether it stands for the process with exchanged beams, too.
    pub fn is_mirrored(&self) -> bool {
        self.described.flavors[0].mirror
    }

    /// The power of alpha_s in |M|^2; none where diagrams have different ones.
    pub fn qcd_power(&self) -> Option<u32> {
        self.described.qcd_power.try_into().ok()
    }

    /// Its channels.
    pub fn channels(&self) -> &[Channel] {
        &self.described.channels
    }

    /// PDG codes of the legs of its first process, for messages and tables.
    pub fn name(&self) -> String {
        let codes: Vec<String> = self.pdg().iter().map(i32::to_string).collect();
        codes.join(" ")
    }
}

/// Names of matrix elements: [`Element::name`], and a number where several have the same.
pub fn names(elements: &[Element]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut plain: Vec<String> = Vec::new();
    for element in elements {
        let name = element.name();
        let before = plain.iter().filter(|other| **other == name).count();
        found.push(match before {
            0 => name.clone(),
            _ => format!("{name} #{}", before + 1),
        });
        plain.push(name);
    }
    found
}

/// Matrix elements by the PDG codes of their first processes, for messages.
pub fn listed<'a>(elements: impl IntoIterator<Item = &'a Element>) -> String {
    let names: Vec<String> = elements.into_iter().map(Element::name).collect();
    format!("{} (PDG codes)", names.join(", "))
}
