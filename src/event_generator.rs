//! The event generator: turns matrix elements and a [`Request`] into a survey and rounds of records.

mod backend;
mod bias;
mod functions;
mod lund;
mod vanishing;

use crate::backend::SessionMemory;
use crate::bridge::Bridge;
use crate::channel_factors::{ChannelFactors, ChannelRequest};
use crate::describe::{self, Subprocess};
use crate::error::{Error, Result};
use crate::gpu::Gpus;
use crate::import::user_code::UserCode;
use crate::leading_color::LeadingColorBridge;
use crate::process::Process;
use crate::records::{Completer, Resonances};
use crate::runtime::{BackendChoice, Switches};
use crate::sampling::{
    Clustered, ClusteredLines, Common, Elements, MatrixElement, Shares, channel_factors, integrand,
};
use backend::{Conditions, Engine, GpuElements};
use bias::BiasedByJets;
pub use bias::JetBias;
use functions::FortranFunctions;
use lund::LundCut;
pub use lund::LundLegs;
use mebridge_densities::{
    BosonBeam, BosonOrder, Densities, FormFactor, PhotonPairs, Radiator, StrongCoupling,
};
use mebridge_gpu_sampler::check;
use mebridge_lhe::record_bytes;
use mebridge_phasespace::cuts::{Rule, Window};
use mebridge_phasespace::scales::Scale;
use mebridge_sampler::events::{Event, Events};
use mebridge_sampler::flow::Flow;
use mebridge_sampler::integrand::{Beam, Failure, Integrand, RunningCoupling, Selection};
use mebridge_sampler::networks::{try_flows, weigh_given};
use mebridge_sampler::parallel;
use mebridge_sampler::random::Philox;
use mebridge_sampler::rounds::{self, CorrectionSums, Round, round};
use mebridge_sampler::survey::{Survey, SurveySettings, SurveyedSource, survey};
use mebridge_support::memory::ask_for_large_pages;
use mebridge_support::sorted::SortedMap;
use mebridge_support::threads::{self, KeptThreads};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

/// Settings of the events to generate.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Energy of both beams in their centre-of-mass frame, GeV. For a decay the mass of the decaying particle.
    pub energy: f64,
    /// Rapidity of the beams' centre of mass in the detector frame, which is the frame of cuts and events.
    #[serde(default)]
    pub rapidity: f64,
    /// Densities of both beams, if both are protons and `beams` is `None`.
    #[serde(default)]
    pub densities: Option<PathBuf>,
    /// The beams, unless both are protons with these densities, or both are partons.
    #[serde(default)]
    pub beams: Option<[BeamRequest; 2]>,
    /// Scales, GeV, and values of alpha_s between which it is interpolated.
    pub alpha_s: (Vec<f64>, Vec<f64>),
    /// Scales of events; with `clustering` the fixed scales, and those at which partons are drawn.
    pub scale: Scale,
    /// How points are clustered; `None` if they are not.
    #[serde(default)]
    pub clustering: Option<Clustered>,
    /// Settings for each matrix element.
    pub elements: Vec<ElementRequest>,
    /// Threads.
    pub threads: usize,
    /// What weighs points: `cpu`, `cuda` or `hip`; by default the value of `CUDACPP_RUNTIME_BACKEND`, and the CPU if
    /// that is `auto`.
    #[serde(default)]
    pub backend: Option<String>,
    /// Lines are on their mass shells within this many widths.
    pub widths: f64,
    /// Whether the factors of MadEvent's channels (`$`) use products of propagators (`sde_strategy = 2`).
    #[serde(default)]
    pub by_propagators: bool,
    /// Electromagnetic coupling written to the records.
    #[serde(default)]
    pub alpha_qed: f64,
    /// PDG codes, without signs, of particles of decay chains.
    #[serde(default)]
    pub forced: Vec<i32>,
    /// PDG codes of particles that are never on their mass shells.
    #[serde(default)]
    pub excluded: Vec<i32>,
    /// Lifetimes of particles (VTIMUP); `None` if they are 0.
    #[serde(default)]
    pub lifetimes: Option<Lifetimes>,
    /// The bias of events, by which their weights are divided.
    #[serde(default)]
    pub bias: Option<JetBias>,
    /// The smallest pT of an emission in Pythia's shower, GeV (`ptlund`).
    #[serde(default)]
    pub lund: Option<f64>,
    /// How colour is summed.
    #[serde(default)]
    pub color: ColorTreatment,
    /// Functions of a user that cut points or give their scales, in the rest frame of the partons.
    #[serde(default)]
    pub functions: Vec<UserCode>,
}

/// How the sum over colours in |M|^2 is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColorTreatment {
    /// As `LeadingFirst` where that is less work, else as `Full`.
    #[default]
    Auto,
    /// All of it, for each point.
    Full,
    /// At leading colour for each point, with one colour flow, and all of it for what becomes an event: the same
    /// distributions and cross section as `Full`.
    LeadingFirst,
    /// At leading colour: an approximation.
    Leading,
}

/// Parameters for drawing the lifetimes of particles.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lifetimes {
    /// Lifetimes below this value are set to 0, mm.
    pub least: f64,
    /// Widths by PDG codes without signs, GeV.
    pub widths: SortedMap<i32, f64>,
}

/// hbar c in GeV mm (CODATA 2018).
const HBAR_C: f64 = 1.973_269_804e-13;

impl Lifetimes {
    /// Sets the invariant lifetimes c tau, mm, of the particles of an event that are not incoming, from a number in (0,
    /// 1).
    fn draw(&self, number: f64, particles: &mut [mebridge_lhe::Particle]) {
        let random = Philox {
            seed: number.to_bits(),
            round: 0,
            channel: u32::MAX - 2,
        };
        for (place, particle) in (0..).zip(particles) {
            let width = self.widths.get(&particle.pdg.saturating_abs());
            let width = width.copied().unwrap_or(0.0);
            if particle.status < 0 || width <= 0.0 {
                continue;
            }
            let lifetime = -random.number(place, 0).ln() * HBAR_C / width;
            if lifetime > self.least {
                particle.lifetime = lifetime;
            }
        }
    }
}

/// A beam.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum BeamRequest {
    /// A parton with all of the beam energy.
    Parton,
    /// A hadron.
    Hadron {
        /// File of the densities, as accepted by [`Densities::open`].
        densities: PathBuf,
        /// Whether the beam is the antiparticle of the hadron in the file.
        #[serde(default)]
        anti: bool,
        /// For an ion, its numbers of protons and neutrons; energies are per nucleon.
        #[serde(default)]
        ion: Option<[u32; 2]>,
    },
    /// An electron with densities of electrons.
    Lepton {
        /// File of the densities, as accepted by [`Densities::leptons`].
        densities: PathBuf,
        /// Whether the beam is a positron, with densities of positrons.
        #[serde(default)]
        anti: bool,
    },
    /// A beam that stays intact and radiates photons: `proton`, `electron` or `muon`, or their antiparticles.
    Photons(#[serde(with = "RadiatorName")] Radiator),
    /// A proton that stays intact in an ultraperipheral collision with another one: `edff` or `chff`.
    Ultraperipheral(#[serde(with = "FormFactorName")] FormFactor),
    /// A lepton that radiates weak bosons and photons, in the effective vector boson approximation. Each matrix element
    /// has one helicity of the boson.
    Bosons(#[serde(with = "Bosons")] BosonBeam),
}

/// Serialises [`BosonBeam`].
#[derive(Deserialize, Serialize)]
#[serde(remote = "BosonBeam", deny_unknown_fields)]
struct Bosons {
    #[serde(with = "RadiatorName")]
    of: Radiator,
    anti: bool,
    left_handed: f64,
    by_transverse_momentum: bool,
    #[serde(default, with = "BosonOrderName")]
    order: BosonOrder,
    #[serde(default)]
    energy: f64,
    #[serde(default)]
    above_mass: bool,
    alpha: f64,
    masses: [f64; 2],
}

/// Serialises [`BosonOrder`] by name.
#[derive(Deserialize, Serialize)]
#[serde(remote = "BosonOrder", rename_all = "snake_case")]
enum BosonOrderName {
    Logarithm,
    LeadingPower,
    NextToLeadingPower,
}

/// Serialises [`FormFactor`] by MG5aMC's names.
#[derive(Deserialize, Serialize)]
#[serde(remote = "FormFactor")]
enum FormFactorName {
    #[serde(rename = "edff")]
    ElectricDipole,
    #[serde(rename = "chff")]
    Charge,
}

/// Serialises [`Radiator`] by name.
#[derive(Deserialize, Serialize)]
#[serde(remote = "Radiator", rename_all = "lowercase")]
enum RadiatorName {
    Proton,
    Electron,
    Muon,
}

/// Settings for the events of one matrix element.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ElementRequest {
    /// Whether the matrix element also represents the process with exchanged beams.
    pub mirrored: bool,
    /// Cuts, with legs numbered as if there were two incoming ones.
    pub windows: Vec<Window>,
    /// Cuts that are not windows.
    pub rules: Vec<Rule>,
    /// PDG codes of each channel's lines, if they differ from those that follow from the process.
    pub propagators: Vec<Vec<i32>>,
    /// Lines of each channel that must not be on their mass shells (`$`), if they do not follow from the process and
    /// points are not clustered.
    pub off_shell: Vec<Vec<usize>>,
    /// The lines by which points are clustered.
    pub clustered: ClusteredLines,
    /// Whether |M|^2 is only rounding, so that there are no events; `None` to find out from some points.
    pub vanishes: Option<bool>,
    /// Legs, numbered as if there were two incoming ones, in whose rest frame |M|^2 and helicities are evaluated; empty
    /// for the rest frame of the incoming legs.
    pub frame: Vec<usize>,
    /// Legs that count as jets for the bias.
    pub jets: Vec<usize>,
    /// Legs for the cut on emissions.
    pub lund: LundLegs,
    /// The functions of a user for it, by their number.
    pub function: Option<usize>,
}

/// Generates events of several matrix elements.
pub struct EventGenerator {
    /// All channels.
    every: Integrand,
    /// The channels that remain after a survey.
    integrand: Integrand,
    engine: Engine,
    /// Reason why threads weigh points although GPUs were requested.
    by_threads: Option<String>,
    /// Numbers of the matrix elements that vanish identically.
    vanishing: Vec<usize>,
    /// GridInput of the matrix elements that are summed over single colour flows.
    approximated: Vec<usize>,
    writer: RecordWriter,
    surveyed: Option<Survey>,
    /// Times of rounds, see [`Self::seconds`].
    seconds: [f64; 2],
    _kept: KeptThreads,
}

/// Makes the records of events.
struct RecordWriter {
    completers: Vec<Completer>,
    processes: Vec<ElementProcesses>,
    alpha_qed: f64,
    lifetimes: Option<Lifetimes>,
}

/// The processes of a matrix element.
struct ElementProcesses {
    incoming: usize,
    /// PDG codes of the legs of each process.
    codes: Vec<Vec<i32>>,
}

/// The work for a point besides |M|^2, in multiply-adds.
const POINT: usize = 2000;
/// Number of events whose records are written at once.
const AT_ONCE: usize = 4096;
/// Properties of channels that GPUs do not support.
const BIASED: &str = "a bias";
const LUND: &str = "a cut on emissions (ptlund)";
const FRAMED: &str = "matrix elements in the rest frame of some particles (me_frame)";
const COUNTED: &str = "what channels count for $ or for widths below small_width_treatment";

/// Events with everything needed for their records.
pub struct Records {
    /// The events, with the results of their points.
    pub round: Round,
    /// Number of particles that a record can hold.
    pub particles: usize,
    /// For each matrix element the number of events, the sum of their weights and the sum of the squared weights.
    pub elements: SortedMap<u32, [f64; 3]>,
    /// Weight of a record, pb, per weight of its event at bias 1.
    pub unit: f64,
}

impl Records {
    /// Returns the weights of the records, pb.
    pub fn weights(&self) -> Vec<f64> {
        let weight = |event: &Event| event.weight * self.unit / event.bias;
        self.round.events.map(weight)
    }

    /// Returns the same times the bias: the weights by which events were drawn.
    pub fn biased_weights(&self) -> Vec<f64> {
        self.round.events.map(|event| event.weight * self.unit)
    }
}

/// Returns the sum of the absolute weights of events; and for each matrix element the number of its events, and the sums
/// of their weights and squared weights, without bias.
fn weight_sums(events: &Events, threads: usize) -> (f64, SortedMap<u32, [f64; 3]>) {
    // Parts do not depend on the number of threads.
    let part = |number: usize| {
        let (mut total, mut elements) = (0.0, SortedMap::<u32, [f64; 3]>::new());
        for event in events.range(AT_ONCE * number..AT_ONCE * (number + 1)) {
            let weight = event.weight / event.bias;
            total += event.weight.abs();
            let sums = elements.entry(event.element).or_default();
            for (sum, one) in sums.iter_mut().zip([1.0, weight, weight.powi(2)]) {
                *sum += one;
            }
        }
        (total, elements)
    };
    let parts = parallel::map_large(threads, events.len().div_ceil(AT_ONCE), part);
    let (mut total, mut elements) = (0.0, SortedMap::<u32, [f64; 3]>::new());
    for (one, own) in parts {
        total += one;
        for (element, own) in own {
            let sums = elements.entry(element).or_default();
            for (sum, one) in sums.iter_mut().zip(own) {
                *sum += one;
            }
        }
    }
    (total, elements)
}

fn wrong(what: impl Into<String>) -> Error {
    Error::Call {
        function: "events",
        what: what.into(),
    }
}

/// Matrix elements with what an event generator needs of each.
#[derive(Default)]
struct PreparedElements {
    bridges: Vec<Bridge>,
    elements: Vec<MatrixElement>,
    processes: Vec<ElementProcesses>,
    completers: Vec<Completer>,
}

impl PreparedElements {
    fn new(
        processes: Vec<Process>,
        request: &Request,
        switches: &Switches,
    ) -> Result<PreparedElements, Failure> {
        let resonances = Resonances {
            widths: request.widths,
            forced: &request.forced,
            excluded: &request.excluded,
        };
        let prepare = |number: usize| -> Result<_, Failure> {
            let (process, given) = (&processes[number], &request.elements[number]);
            let card = process.model.default_card();
            let mirrored = given.mirrored;
            let mut one = describe::describe(std::slice::from_ref(process), &[mirrored], "", "")?;
            name_lines(&mut one, &given.propagators)?;
            let mut bridge = Bridge::new(process.clone(), &card, switches, 1)?;
            let masses = bridge.masses();
            let completer = Completer::new(&one, &masses, &resonances);
            // Its channels take much memory.
            let processes = ElementProcesses {
                incoming: one.incoming.len(),
                codes: one.flavors.swap_remove(0).options,
            };
            let vanishes = match given.vanishes {
                Some(vanishes) => vanishes,
                None => vanishing::vanishes(&mut bridge, process, &card)?,
            };
            Ok((bridge, masses, completer, processes, vanishes))
        };
        let prepared = parallel::collect(request.threads, processes.len(), prepare)?;
        let mut all = PreparedElements::default();
        for ((process, given), (bridge, masses, completer, own, vanishes)) in
            processes.into_iter().zip(&request.elements).zip(prepared)
        {
            all.completers.push(completer);
            all.processes.push(own);
            all.bridges.push(bridge);
            all.elements.push(MatrixElement {
                process,
                masses,
                mirrored: given.mirrored,
                windows: given.windows.clone(),
                rules: given.rules.clone(),
                clustered: given.clustered.clone(),
                off_shell: given.off_shell.clone(),
                vanishes,
                function: given.function,
            });
        }
        Ok(all)
    }
}

impl EventGenerator {
    /// Makes a generator for matrix elements with the values of their cards. A point has to pass `selection` in
    /// addition to the cuts.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or the request cannot be fulfilled.
    pub fn new(
        processes: Vec<Process>,
        request: &Request,
        selection: Option<Arc<dyn Selection>>,
    ) -> Result<Self, Failure> {
        EventGenerator::with_switches(processes, request, selection, Switches::from_env()?)
    }

    /// The same with switches that replace those of the environment.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_switches(
        processes: Vec<Process>,
        request: &Request,
        selection: Option<Arc<dyn Selection>>,
        mut switches: Switches,
    ) -> Result<Self, Failure> {
        switches.backend = match request.backend.as_deref() {
            None => switches.backend,
            Some("cpu") => BackendChoice::Cpu,
            Some("cuda") => BackendChoice::Cuda,
            Some("hip") => BackendChoice::Hip,
            Some(other) => {
                return Err(wrong(format!("backend {other}: say cpu, cuda or hip")).into());
            }
        };
        let gpus = backend::gpus(&switches)?;
        EventGenerator::on_gpus(gpus.as_ref(), processes, request, selection, &switches)
    }

    /// The same on given GPUs, or on threads if `None`.
    ///
    /// # Errors
    /// As for [`Self::new`].
    #[expect(
        clippy::too_many_lines,
        reason = "a part of the generator after the other"
    )]
    pub fn on_gpus(
        gpus: Option<&Gpus>,
        processes: Vec<Process>,
        request: &Request,
        selection: Option<Arc<dyn Selection>>,
        switches: &Switches,
    ) -> Result<Self, Failure> {
        let kept = threads::keep(request.threads.saturating_sub(1));
        let (count, given) = (processes.len(), request.elements.len());
        if given != count {
            return Err(wrong(format!(
                "there are {count} matrix elements, and requests for {given}"
            ))
            .into());
        }
        let common = request.common()?;
        let switches = Switches {
            backend: BackendChoice::Cpu,
            ..switches.clone()
        };
        let PreparedElements {
            mut bridges,
            elements,
            processes,
            completers,
        } = PreparedElements::new(processes, request, &switches)?;
        let vanishing = (0..count).filter(|&number| elements[number].vanishes);
        let vanishing: Vec<usize> = vanishing.collect();
        if vanishing.len() == count {
            return Err(no_events(&processes).into());
        }
        let factors = all_factors(request, &elements)?;
        let mut integrand = integrand(request.threads, &elements, &common)?;
        let shares = shares(request, &elements, &bridges)?;
        let shares: Arc<[Shares]> = shares.into();
        let factors: Arc<[Option<ChannelFactors>]> = factors.into();
        let frames = request.elements.iter().map(|given| given.frame.clone());
        let frames: Arc<[Vec<usize>]> = frames.collect();
        if request.clustering.is_some() {
            backend::make_plans(&mut bridges, request.threads)?;
            let plain = Elements::in_channels(&mut bridges, false, shares.clone(), Arc::from([]));
            integrand.count_jets(&mut plain?)?;
        }
        integrand.selections = selections(request, &elements, selection)?;
        integrand.functions = FortranFunctions::from_request(request)?;
        let biased = integrand.is_biased();
        let is_framed = frames.iter().any(|frame| !frame.is_empty());
        let obstacles = [
            (factors.iter().any(Option::is_some), COUNTED),
            (is_framed, FRAMED),
            (biased, BIASED),
            (
                shares.iter().any(|of| matches!(of, Shares::Squared(_))),
                "scales by clustering in channels with shares by squared diagrams (sde_strategy = 1)",
            ),
        ];
        let obstacle = obstacles.into_iter().find(|(is_there, _)| *is_there);
        let mut approximations = match request.color.approximation(obstacle.map(|of| of.1))? {
            None => Vec::new(),
            Some(color) => {
                let point = match gpus {
                    None => POINT,
                    Some(_) => POINT_ON_GPU,
                };
                let threads = request.threads;
                approximations(threads, (color, point), &elements, &mut bridges, &switches)?
            }
        };
        let obstacles = [
            (factors.iter().any(Option::is_some), COUNTED),
            (biased, BIASED),
            (request.lund.is_some(), LUND),
            (is_framed, FRAMED),
        ];
        let obstacle = obstacles.into_iter().find(|(is_there, _)| *is_there);
        // Threads weigh whatever GPUs do not support.
        let by_threads = gpus.and_then(|_| match obstacle {
            Some((_, obstacle)) => Some(obstacle.to_owned()),
            None => check(&integrand).err().map(|unknown| unknown.to_string()),
        });
        let gpus = gpus.filter(|_| by_threads.is_none());
        let corrects = request.color != ColorTreatment::Leading;
        let of_gpus = gpus.map(|gpus| {
            let processes = elements.into_iter().map(|element| element.process);
            let approximations = (&approximations[..], corrects);
            (gpus, GpuElements::new(processes.collect(), approximations))
        });
        let mut by_threads_alone = || {
            let conditions = Conditions {
                shares: &shares,
                factors: &factors,
                frames: &frames,
            };
            let approximations = (&mut approximations[..], corrects);
            backend::by_threads(&mut bridges, conditions, approximations, request.threads)
        };
        let engine = match of_gpus {
            None => Engine::Threads(by_threads_alone()?),
            Some((gpus, of_gpus)) if backend::are_ready(gpus, &switches) => {
                let threads = request.threads;
                let gpus = backend::by_gpus(gpus, &of_gpus, &switches, threads)?;
                Engine::Gpus(Box::new(gpus))
            }
            Some((gpus, of_gpus)) => {
                let threads = request.threads;
                backend::by_threads_at_first(by_threads_alone, gpus, of_gpus, &switches, threads)?
            }
        };
        let approximated = approximations.iter().enumerate();
        let approximated = approximated.filter_map(|(number, of)| of.as_ref().map(|_| number));
        Ok(EventGenerator {
            approximated: approximated.collect(),
            every: integrand.clone(),
            integrand,
            engine,
            by_threads,
            vanishing,
            writer: RecordWriter {
                completers,
                processes,
                alpha_qed: request.alpha_qed,
                lifetimes: request.lifetimes.clone(),
            },
            surveyed: None,
            seconds: [0.0; 2],
            _kept: kept,
        })
    }

    /// Waits until the kernels of GPUs are compiled. Meanwhile threads weigh points, unless
    /// `CUDACPP_RUNTIME_GPUGROUP=0` requests that events are the same to the last bit in each run.
    ///
    /// # Errors
    /// The compiler or a GPU fails.
    pub fn wait_for_gpus(&mut self) -> Result<(), Failure> {
        self.engine.wait()
    }

    /// Returns the reason why threads weigh points although GPUs were requested: what GPUs do not support.
    pub fn by_threads(&self) -> Option<&str> {
        self.by_threads.as_deref()
    }

    /// Returns the numbers of the matrix elements that vanish identically, and count as 0.
    pub fn vanishing(&self) -> &[usize] {
        &self.vanishing
    }

    /// Returns the numbers of the matrix elements whose points are weighed by single colour flows.
    pub fn approximated(&self) -> &[usize] {
        &self.approximated
    }

    /// Returns the numbers of each source's matrix elements.
    pub fn sources(&self) -> impl Iterator<Item = &[usize]> {
        let groups = &self.integrand.groups;
        let of = self.integrand.sources.iter();
        of.map(|source| &groups[source.group].elements[..])
    }

    /// Performs the survey, and leaves out sources that others can represent.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or no point counts.
    pub fn survey(&mut self, settings: &SurveySettings) -> Result<&Survey, Failure> {
        self.integrand = self.every.clone();
        let found = survey(&mut self.integrand, settings, self.engine.weigher())?;
        Ok(self.surveyed.insert(found))
    }

    /// Loads the survey of the same run from the bytes of [`Survey::to_bytes`].
    ///
    /// # Errors
    /// The bytes are damaged, or belong to another run.
    pub fn load(&mut self, bytes: &[u8], belongs: &[u8; 32]) -> Result<&Survey, Failure> {
        let found = Survey::from_bytes(bytes, belongs)?;
        let mut integrand = self.every.clone();
        found.apply(&mut integrand)?;
        self.integrand = integrand;
        Ok(self.surveyed.insert(found))
    }

    /// Returns the last survey.
    ///
    /// # Errors
    /// There was none.
    pub fn surveyed(&self) -> Result<&Survey> {
        needed(&self.surveyed)
    }

    /// Weighs points of a source with its grid from the survey, pb.
    ///
    /// Args: `first` is the number of the first point, a multiple of 8; `numbers` has the random numbers of each point,
    /// in (0, 1): one for each dimension of the grid, and one for the partons.
    ///
    /// # Errors
    /// There was no survey, `numbers` is invalid, or a matrix element cannot be evaluated.
    pub fn weigh(
        &mut self,
        source: usize,
        first: u64,
        numbers: &[f64],
    ) -> Result<Vec<f64>, Failure> {
        let survey = needed(&self.surveyed)?;
        let known = survey.sources.get(source);
        let known = known.ok_or_else(|| wrong(format!("there is no channel {source}")))?;
        let each = known.grid.dimensions() + 1;
        let within = |number: &f64| 0.0 < *number && *number < 1.0;
        if !first.is_multiple_of(8)
            || !numbers.len().is_multiple_of(each)
            || !numbers.iter().all(within)
        {
            let what = format!(
                "a point of channel {source} has {each} numbers between 0 and 1, and the first one is a multiple of 8"
            );
            return Err(wrong(what).into());
        }
        let count = numbers.len() / each;
        // Padding up to a multiple of 8 points, whose results are dropped.
        let mut whole = numbers.to_vec();
        whole.resize(count.next_multiple_of(8) * each, 0.5);
        let weigher = self.engine.weigher();
        let mut found = weigh_given(&self.integrand, survey, source, first, &whole, weigher)?;
        found.truncate(count);
        Ok(found)
    }

    /// Uses those flows, one or none for each source, that are better than grids alone.
    ///
    /// # Errors
    /// There was no survey, a flow is that of another source, or a matrix element cannot be evaluated.
    pub fn try_flows(
        &mut self,
        settings: &SurveySettings,
        flows: Vec<Option<Flow>>,
    ) -> Result<&Survey, Failure> {
        let survey = needed(&self.surveyed)?;
        let fits = |(known, flow): (&SurveyedSource, &Option<Flow>)| {
            let mut flow = flow.iter();
            flow.all(|flow| flow.fits(&known.grid))
        };
        let same = survey.sources.len() == flows.len();
        if !same || !survey.sources.iter().zip(&flows).all(fits) {
            return Err(wrong("there are networks of other channels").into());
        }
        let weigher = self.engine.weigher();
        let found = try_flows(&self.integrand, survey, settings, flows, weigher)?;
        Ok(self.surveyed.insert(found))
    }

    /// Makes the events of a round; the same seed and number give the same events.
    ///
    /// # Errors
    /// There was no survey, or a matrix element cannot be evaluated.
    pub fn round(&mut self, settings: &SurveySettings, number: u16) -> Result<Records, Failure> {
        let survey = needed(&self.surveyed)?;
        let clock = Instant::now();
        let mut made = round(
            &self.integrand,
            survey,
            settings,
            number,
            settings.events,
            self.engine.weigher(),
        )?;
        let sources = self.integrand.sources.iter().zip(&mut made.corrections);
        for (source, corrections) in sources {
            let elements = &self.integrand.groups[source.group].elements;
            corrections.is_exact = !elements.iter().any(|one| self.approximated.contains(one));
        }
        self.seconds[0] += clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let weigher = self.engine.weigher();
        weigher.choose(made.events.parts_mut())?;
        // Weights average to the cross section; if they have signs, their absolute values do. With a bias, they average to the
        // biased cross section before they are divided by it: a few large weights must not scale all others.
        let sums = [(settings.events, &made.sums[..])];
        let size = rounds::cross_section_without_signs(survey, sums);
        let size = size.mean * CorrectionSums::total(&made.corrections).mean().mean;
        let (total, mut elements) = weight_sums(&made.events, weigher.threads());
        let unit = size * made.events.len() as f64 / total;
        for sums in elements.values_mut() {
            let units = [1.0, unit, unit.powi(2)];
            *sums = std::array::from_fn(|power| sums[power] * units[power]);
        }
        self.seconds[1] += clock.elapsed().as_secs_f64();
        Ok(Records {
            particles: self.particles(),
            elements,
            round: made,
            unit,
        })
    }

    /// Returns the records of the events in the format of [`mebridge_lhe::push_events`].
    pub fn bytes(&self, records: &Records) -> Vec<u8> {
        let size = record_bytes(records.particles).expect("the records are in memory");
        let mut bytes = vec![0; size * records.round.events.len()];
        ask_for_large_pages(&mut bytes);
        let (writer, integrand) = (&self.writer, &self.integrand);
        parallel::fill(self.engine.threads(), &mut bytes, size, |first, to| {
            let mut record = Vec::new();
            let events = records.round.events.range(first..usize::MAX);
            for (event, to) in events.zip(to.chunks_exact_mut(size)) {
                record.clear();
                writer.push(integrand, records, event, &mut record);
                to.copy_from_slice(&record);
            }
        });
        bytes
    }

    /// Appends these records to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&self, records: &Records, file: &Path) -> Result<()> {
        let size = record_bytes(records.particles).expect("the records are in memory");
        let opened = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(file);
        let opened = opened.map_err(Error::io(file))?;
        let begin = opened.metadata().map_err(Error::io(file))?.len();
        let count = records.round.events.len();
        let mut buffers = vec![Vec::new(); self.engine.threads().max(1)];
        let (writer, integrand) = (&self.writer, &self.integrand);
        let write = |buffer: &mut Vec<u8>, part: usize| {
            let first = part * AT_ONCE;
            buffer.clear();
            for event in records.round.events.range(first..first + AT_ONCE) {
                writer.push(integrand, records, event, buffer);
            }
            opened.write_all_at(buffer, begin + (first * size) as u64)
        };
        parallel::each(&mut buffers, count.div_ceil(AT_ONCE), write, |()| ())
            .map_err(Error::io(file))
    }

    /// Returns the matching results of each event, if events are weighted by matching, as written by
    /// [`push_record`](mebridge_phasespace::clustering::Matched::push_record) for the largest number of legs.
    pub fn matched(&self, records: &Records) -> Vec<u8> {
        let legs = self.integrand.groups.iter().map(|group| group.legs).max();
        let mut found = Vec::new();
        let matched = records
            .round
            .events
            .iter()
            .filter_map(|event| event.matched.as_ref());
        for of in matched {
            of.push_record(legs.unwrap_or(0), &mut found);
        }
        found
    }

    /// Returns the seconds that the parts of rounds, and of the work on GPUs, have taken so far, by name.
    pub fn seconds(&self) -> Vec<(&'static str, f64)> {
        let rounds = ["points and events", "choices"];
        let rounds = rounds.into_iter().zip(self.seconds);
        rounds.chain(self.engine.seconds()).collect()
    }

    /// Returns the number of particles that records can hold.
    pub fn particles(&self) -> usize {
        let most = self
            .writer
            .completers
            .iter()
            .map(Completer::particles)
            .max();
        most.unwrap_or(0)
    }
}

/// The factors of the channels of each matrix element.
fn all_factors(
    request: &Request,
    elements: &[MatrixElement],
) -> Result<Vec<Option<ChannelFactors>>, Failure> {
    parallel::collect(request.threads, elements.len(), |number| {
        let element = &elements[number];
        let requested = ChannelRequest {
            widths: request.clustering.is_none().then_some(request.widths),
            propagators: request.by_propagators,
            off_shell: &element.off_shell,
            windows: &element.windows,
        };
        channel_factors(element, &requested)
    })
}

/// How each matrix element is shared among channels, if scales are by clustering.
fn shares(
    request: &Request,
    elements: &[MatrixElement],
    bridges: &[Bridge],
) -> Result<Vec<Shares>, Failure> {
    let Some(how) = &request.clustering else {
        return Ok(Vec::new());
    };
    let of = elements.iter().zip(bridges).map(|(element, bridge)| {
        let by_denominators = how.settings.denominators;
        Shares::new(&element.clustered, by_denominators, request.energy, bridge)
    });
    of.collect()
}

/// Smallest number of colour flows, and ratio of the multiply-adds for the sum over colours to those for a flow and the
/// momenta of a point, from which on single flows pay: they need more points, and events are corrected.
const FEWEST_FLOWS: usize = 6;
const PAYS: usize = 3;

/// The same on a GPU, where small kernels leave most of it idle: what additional points and corrections take in the place
/// of multiply-adds. (H200: the sum pays for g g > t t~ g g, with 1.8e5, and single flows for g u > t t~ u g g, with 1e6.)
const POINT_ON_GPU: usize = 100_000;

/// Returns the sums over single colour flows of matrix elements that have them; with `Auto` of those for which they pay,
/// where a point takes these multiply-adds. Empty if there are none.
fn approximations(
    threads: usize,
    (color, point): (ColorTreatment, usize),
    elements: &[MatrixElement],
    bridges: &mut [Bridge],
    switches: &Switches,
) -> Result<Vec<Option<LeadingColorBridge>>> {
    let parts = elements.iter().zip(bridges);
    let mut parts: Vec<_> = parts
        .map(|(element, bridge)| (element, bridge, Ok(None)))
        .collect();
    parallel::for_each(threads, &mut parts, |(element, bridge, found)| {
        *found = approximation((color, point), element, bridge, switches);
    });
    let found: Vec<_> = parts
        .into_iter()
        .map(|(.., found)| found)
        .collect::<Result<_>>()?;
    match (found.iter().any(Option::is_some), color) {
        (true, _) => Ok(found),
        (false, ColorTreatment::Auto) => Ok(Vec::new()),
        (false, _) => Err(Error::run(
            "no matrix element is a sum over two colour flows or more with listed diagrams and unpolarised gluons",
            format!("take color = full instead of {}", color.name()),
        )),
    }
}

/// Returns the sum over single colour flows of a matrix element, if it has one, and with `Auto` if it pays.
fn approximation(
    (color, point): (ColorTreatment, usize),
    element: &MatrixElement,
    bridge: &mut Bridge,
    switches: &Switches,
) -> Result<Option<LeadingColorBridge>> {
    let process = &element.process;
    let collides = process.legs.iter().filter(|leg| leg.incoming).count() == 2;
    let fewest = match color {
        ColorTreatment::Auto => FEWEST_FLOWS,
        _ => 2,
    };
    if !collides || element.vanishes || process.color_flows() < fewest {
        return Ok(None);
    }
    let Some(flows) = process.leading_color() else {
        return Ok(None);
    };
    let card = process.model.default_card();
    let mut leading = LeadingColorBridge::new(process, flows, &card, switches)?;
    if color != ColorTreatment::Auto {
        return Ok(Some(leading));
    }
    let memory = SessionMemory::default();
    leading.sampler(&memory)?;
    bridge.sampler(false, &memory)?;
    let multiply_adds = bridge.multiply_adds(false).zip(leading.multiply_adds());
    let pays = multiply_adds.is_some_and(|(full, single)| full >= PAYS * (single + point));
    Ok(pays.then_some(leading))
}

impl ColorTreatment {
    /// Returns how |M|^2 is approximated, if it is, where `obstacle` names what excludes that.
    fn approximation(self, obstacle: Option<&str>) -> Result<Option<ColorTreatment>> {
        match (self, obstacle) {
            (ColorTreatment::Full, _) | (ColorTreatment::Auto, Some(_)) => Ok(None),
            (color, Some(what)) => Err(Error::run(
                format!("there is no sum over single colour flows with {what}"),
                format!("take color = full instead of {}", color.name()),
            )),
            (color, None) => Ok(Some(color)),
        }
    }

    /// The values with their names in requests.
    pub const NAMES: [(&'static str, ColorTreatment); 4] = [
        ("auto", ColorTreatment::Auto),
        ("full", ColorTreatment::Full),
        ("leading-first", ColorTreatment::LeadingFirst),
        ("leading", ColorTreatment::Leading),
    ];

    /// The name, as in requests.
    pub fn name(self) -> &'static str {
        let [(auto, _), rest @ ..] = ColorTreatment::NAMES;
        let own = rest.into_iter().find(|(_, one)| *one == self);
        own.map_or(auto, |(name, _)| name)
    }
}

impl FromStr for ColorTreatment {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let known = ColorTreatment::NAMES
            .into_iter()
            .find(|(known, _)| *known == name);
        let names = ColorTreatment::NAMES.map(|(known, _)| known).join(", ");
        known
            .map(|(_, one)| one)
            .ok_or_else(|| format!("it must be one of {names}"))
    }
}

/// Returns the caller's cut or bias, and those of the request.
fn selections(
    request: &Request,
    elements: &[MatrixElement],
    of_caller: Option<Arc<dyn Selection>>,
) -> Result<Vec<Arc<dyn Selection>>> {
    let mut found: Vec<Arc<dyn Selection>> = of_caller.into_iter().collect();
    if let Some(least) = request.lund {
        let codes = |of: &MatrixElement| of.process.legs.iter().map(|leg| leg.pdg).collect();
        found.push(Arc::new(LundCut {
            least,
            elements: request.elements.iter().map(|of| of.lund.clone()).collect(),
            codes: elements.iter().map(codes).collect(),
        }));
    }
    if let Some(bias) = request.bias {
        if found.iter().any(|of| of.is_biased()) {
            return Err(wrong(
                "there are two biases, one of the card and a function; leave out one of them",
            ));
        }
        found.push(Arc::new(BiasedByJets {
            bias,
            jets: request.elements.iter().map(|of| of.jets.clone()).collect(),
        }));
    }
    Ok(found)
}

/// Returns the error for processes all of which vanish identically.
fn no_events(processes: &[ElementProcesses]) -> Error {
    let nothing = match processes.first().map(|one| one.incoming) {
        Some(1) => "the width is 0",
        _ => "the cross section is 0, and there are no events",
    };
    Error::run(
        format!(
            "|M|^2 of {} vanishes identically: {nothing}",
            names(processes)
        ),
        "are coupling orders and polarisations those that are meant?",
    )
}

/// Names matrix elements by the PDG codes of their first processes.
fn names(of: &[ElementProcesses]) -> String {
    let name = |one: &ElementProcesses| {
        let codes = one.codes[0].iter().map(i32::to_string);
        codes.collect::<Vec<_>>().join(" ")
    };
    let names: Vec<String> = of.iter().map(name).collect();
    format!("{} (PDG codes)", names.join(", "))
}

fn needed(surveyed: &Option<Survey>) -> Result<&Survey> {
    let what = "it needs a survey: call for one, or load one";
    surveyed.as_ref().ok_or_else(|| wrong(what))
}

impl Request {
    /// Reads a request from JSON.
    ///
    /// # Errors
    /// The text is no JSON, lacks a field or has an unknown one.
    pub fn from_json(text: &str) -> serde_json::Result<Request> {
        serde_json::from_str(text)
    }

    /// Creates a request for collisions of partons with this energy, GeV, and a constant alpha_s of 0.118, on one thread.
    /// Lines are on their mass shells within 15 widths.
    pub fn new(energy: f64, scale: Scale, elements: Vec<ElementRequest>) -> Request {
        Request {
            energy,
            rapidity: 0.0,
            densities: None,
            beams: None,
            alpha_s: (vec![1.0, 1e2, 1e4, 1e6], vec![0.118; 4]),
            scale,
            clustering: None,
            elements,
            threads: 1,
            backend: None,
            widths: 15.0,
            by_propagators: false,
            alpha_qed: 0.0,
            forced: Vec::new(),
            excluded: Vec::new(),
            lifetimes: None,
            bias: None,
            lund: None,
            color: ColorTreatment::default(),
            functions: Vec::new(),
        }
    }

    /// Returns what all matrix elements have in common.
    fn common(&self) -> Result<Common, Failure> {
        let (scales, values) = &self.alpha_s;
        let coupling = StrongCoupling::new(scales, values);
        let coupling = coupling.map_err(|what| wrong(format!("alpha_s: {what}")))?;
        let energies = [self.rapidity, -self.rapidity].map(|y| 0.5 * self.energy * y.exp());
        let beams = beams(&self.beams()?, energies)?;
        let matching = self.clustering.iter().flat_map(|of| &of.matching);
        if beams.iter().any(Beam::is_joint) && matching.into_iter().any(|of| of.reweighted) {
            return Err(wrong("matching needs a density of each beam").into());
        }
        Ok(Common {
            energy: self.energy,
            rapidity: self.rapidity,
            beams,
            running: RunningCoupling::Table(Arc::new(coupling)),
            scale: self.scale,
            clustering: self.clustering.clone(),
        })
    }

    /// Returns both beams.
    ///
    /// # Errors
    /// The beams are given twice.
    pub fn beams(&self) -> Result<[BeamRequest; 2]> {
        let both = |beam: BeamRequest| [beam.clone(), beam];
        match (&self.beams, &self.densities) {
            (Some(beams), None) => Ok(beams.clone()),
            (None, None) => Ok(both(BeamRequest::Parton)),
            (None, Some(file)) => Ok(both(BeamRequest::Hadron {
                densities: file.clone(),
                anti: false,
                ion: None,
            })),
            (Some(_), Some(_)) => Err(wrong("beams have their own densities; leave out others")),
        }
    }
}

impl BeamRequest {
    /// Whether the beam is the antiparticle of the hadron in its file.
    fn is_anti(&self) -> bool {
        matches!(self, BeamRequest::Hadron { anti: true, .. })
    }

    /// Whether both beams use densities of one file, or the same formula.
    fn has_densities_of(&self, other: &Self) -> bool {
        match (self, other) {
            (
                BeamRequest::Hadron { densities, ion, .. },
                BeamRequest::Hadron {
                    densities: other,
                    ion: other_ion,
                    ..
                },
            ) => (densities, ion) == (other, other_ion),
            _ => self == other,
        }
    }

    /// The file of its densities.
    pub fn file_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            BeamRequest::Hadron { densities, .. } | BeamRequest::Lepton { densities, .. } => {
                Some(densities)
            }
            _ => None,
        }
    }

    fn open(&self) -> Result<Option<Arc<Densities>>, Failure> {
        Ok(match self {
            BeamRequest::Parton => None,
            BeamRequest::Hadron { densities, ion, .. } => {
                let found = Densities::open(densities)?;
                Some(Arc::new(match ion {
                    Some(nucleons) => found.of_ion(*nucleons),
                    None => found,
                }))
            }
            BeamRequest::Lepton { densities, anti } => {
                Some(Arc::new(Densities::leptons(densities, *anti)?))
            }
            BeamRequest::Photons(of) => Some(Arc::new(Densities::photons(*of))),
            BeamRequest::Bosons(of) if of.of == Radiator::Proton => {
                return Err(wrong("weak bosons are radiated by leptons").into());
            }
            BeamRequest::Bosons(of) => Some(Arc::new(Densities::bosons(*of))),
            BeamRequest::Ultraperipheral(_) => {
                return Err(
                    wrong("both beams are of an ultraperipheral collision, or none").into(),
                );
            }
        })
    }
}

/// Opens both beams, with these energies in GeV, with their densities.
fn beams(requests: &[BeamRequest; 2], energies: [f64; 2]) -> Result<[Beam; 2], Failure> {
    let [first, second] = requests;
    if let (BeamRequest::Ultraperipheral(form), true) = (first, first == second) {
        let pairs = Arc::new(PhotonPairs::new(*form, energies));
        return Ok([0, 1].map(|_| Beam::PhotonPair(pairs.clone())));
    }
    let one = first.open()?;
    let other = match first.has_densities_of(second) {
        true => one.clone(),
        false => second.open()?,
    };
    let is_lepton = |of: &Option<Arc<Densities>>| of.as_ref().is_some_and(|of| of.is_of_lepton());
    if is_lepton(&one) != is_lepton(&other) {
        return Err(wrong("both beams have densities of leptons, or none").into());
    }
    let beam = |densities: Option<Arc<Densities>>, anti: bool| {
        densities.map_or(Beam::Parton, |densities| Beam::Densities {
            densities,
            anti,
        })
    };
    Ok([beam(one, first.is_anti()), beam(other, second.is_anti())])
}

impl RecordWriter {
    /// Appends the record of an event.
    fn push(&self, integrand: &Integrand, records: &Records, event: &Event, to: &mut Vec<u8>) {
        let element = event.element as usize;
        let source = &integrand.sources[event.source as usize];
        let partons = &integrand.groups[source.group].partons[event.partons as usize];
        let processes = &self.processes[element];
        let partons = &partons.codes[2 - processes.incoming..];
        let options = processes.codes.iter();
        let mut own = options.filter(|codes| codes.starts_with(partons));
        let count = own.clone().count();
        let drawn = ((event.process * count as f64) as usize).min(count - 1);
        let codes = own.nth(drawn).expect("one of them");
        let choice = event.choice.expect("choices are made with the records");
        let choice = choice.map(|number| number as usize);
        let weight = event.weight * records.unit / event.bias;
        let completer = &self.completers[element];
        let (number, alpha) = (element as i32 + 1, self.alpha_qed);
        let mut record = completer.record(event, weight, number, codes, choice, alpha);
        if let Some(lifetimes) = &self.lifetimes {
            lifetimes.draw(event.process, &mut record.particles);
        }
        let end = to.len() + record_bytes(records.particles).expect("the records are in memory");
        record.push_head(to);
        record.push_particles(to);
        to.resize(end, 0);
    }
}

/// Replaces the PDG codes of the channels' lines, if `codes` has any.
fn name_lines(of: &mut Subprocess, codes: &[Vec<i32>]) -> Result<()> {
    if codes.is_empty() {
        return Ok(());
    }
    let lines = of.channels.iter().map(|channel| channel.propagators.len());
    if !lines.eq(codes.iter().map(Vec::len)) {
        return Err(wrong("PDG codes of lines of other channels"));
    }
    for (channel, codes) in of.channels.iter_mut().zip(codes) {
        channel.propagators.clone_from(codes);
    }
    Ok(())
}
