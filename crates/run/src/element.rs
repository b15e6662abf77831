//! Matrix elements of a run.

use mebridge::Result;
use mebridge::describe::{Channel, Subprocess, describe};
use mebridge::event_generator::ElementRequest;
use mebridge::process::Process;

/// A matrix element of a run.
#[derive(Clone, Debug)]
pub struct Element {
    /// The process, with the values of the run's parameter card as its own.
    pub process: Process,
    /// What a sampler needs: channels, flavours, colours.
    pub described: Subprocess,
    /// Masses of its legs, GeV.
    pub masses: Vec<f64>,
    /// Index of its process in the run: of a directory of an output, or of a generated text.
    pub source: usize,
    /// Its index among the matrix elements of that process.
    pub number: usize,
    /// The helicity of each incoming leg, if its beam has densities of single helicities.
    pub helicities: [Option<i8>; 2],
}

impl Element {
    /// The description for the event generator, without cuts.
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

    /// Describes a matrix element.
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
            helicities: [None; 2],
        })
    }

    /// PDG codes of the legs of its first process, the incoming ones first.
    pub fn pdg(&self) -> &[i32] {
        &self.options()[0]
    }

    /// The same for all processes that it serves.
    pub fn options(&self) -> &[Vec<i32>] {
        &self.described.flavors[0].options
    }

    /// Whether it also stands for the process with exchanged beams.
    pub fn is_mirrored(&self) -> bool {
        self.described.flavors[0].mirror
    }

    /// The power of alpha_s in |M|^2; `None` if it differs between diagrams.
    pub fn qcd_power(&self) -> Option<u32> {
        self.described.qcd_power.try_into().ok()
    }

    /// Its channels of integration.
    pub fn channels(&self) -> &[Channel] {
        &self.described.channels
    }

    /// PDG codes of the legs of its first process, for messages and tables; with MG5aMC's names of helicities where a leg
    /// has one (`24{0} -24{+} 6 -6`).
    pub fn name(&self) -> String {
        let helicities = self.helicities.into_iter().chain(std::iter::repeat(None));
        let codes = self.pdg().iter().zip(helicities);
        let codes = codes.map(|(code, helicity)| match helicity.map(i8::signum) {
            None => code.to_string(),
            Some(1) => format!("{code}{{+}}"),
            Some(0) => format!("{code}{{0}}"),
            Some(_) => format!("{code}{{-}}"),
        });
        codes.collect::<Vec<String>>().join(" ")
    }
}

/// Names of matrix elements: [`Element::name`], followed by a number where names repeat.
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

/// A list of matrix elements by the PDG codes of their first processes, for messages.
pub fn listed<'a>(elements: impl IntoIterator<Item = &'a Element>) -> String {
    let names: Vec<String> = elements.into_iter().map(Element::name).collect();
    format!("{} (PDG codes)", names.join(", "))
}
