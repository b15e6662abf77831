//! Matrix elements as the integrands of a sampler: their channels, grouped where one can represent several, and |M|^2
//! of the points.

use crate::backend::SessionMemory;
use crate::bridge::Bridge;
use crate::bridge::sampler::Sampler;
use crate::channel_factors::{ChannelFactors, ChannelRequest, diagram, draw_index};
use crate::describe::{self, Subprocess};
use crate::error::Result;
use crate::leading_color::{LeadingColorBridge, LeadingColorSampler};
use crate::process::frames::to_rest_of;
use crate::process::{ExternalKind, Process, Wavefunction};
use crate::propagators::{Propagators, Topology};
use crate::sample::{self, Momenta, Outputs, Points, Sample, SampleAnswers, Strides, g_s};
use mebridge_phasespace::clustering::{self, Clustering, ListedDiagram, Matching};
use mebridge_phasespace::cuts::{Cuts, Rule, Window};
use mebridge_phasespace::scales::Scale;
use mebridge_phasespace::{
    Beams, Channel, ChannelSettings, Diagram, Limits, PermutedDiagrams, Propagator, Rows, Weights,
    canonical, permuted,
};
use mebridge_sampler::clustered::{Clusterings, ElementClustering};
use mebridge_sampler::events::{Event, at_rest, by_element, random_choices};
use mebridge_sampler::integrand::{
    Beam, ElementGroup, Failure, Flux, Integrand, MatrixElementSource, Partons, PointNumbers,
    PointSource, RunningCoupling,
};
use mebridge_sampler::parallel;
use mebridge_simd::Level;
use mebridge_support::sorted::{SortedMap, SortedSet};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A matrix element with the settings for its events.
#[derive(Debug)]
pub struct MatrixElement {
    /// The process, with the values of its card. A single incoming particle decays at rest.
    pub process: Process,
    /// Masses of the legs, GeV.
    pub masses: Vec<f64>,
    /// Whether the matrix element also represents the process with exchanged beams.
    pub mirrored: bool,
    /// Cuts, with legs numbered as if there were two incoming ones.
    pub windows: Vec<Window>,
    /// Cuts that are not windows.
    pub rules: Vec<Rule>,
    /// The lines by which points are clustered.
    pub clustered: ClusteredLines,
    /// Lines of each channel that must not be on their mass shells (`$`), if they do not follow from the process.
    pub off_shell: Vec<Vec<usize>>,
    /// Whether |M|^2 is only rounding: then there are no events.
    pub vanishes: bool,
    /// Which functions cut its points and give their scales, if there are any: matrix elements with the same ones have
    /// the same number.
    pub function: Option<usize>,
}

/// A diagram of a matrix element, with its lines.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DiagramLines {
    /// Number of the diagram, from 1.
    pub diagram: u32,
    /// The lines as listed in the MG5aMC directory, or by `mebridge generate --lines`.
    pub lines: ListedDiagram,
}

/// The lines by which points of a matrix element are clustered.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClusteredLines {
    /// The diagrams that have channels.
    pub diagrams: Vec<DiagramLines>,
    /// Dimensions of colour by PDG code.
    pub colors: SortedMap<i32, i32>,
    /// The same diagrams as topologies, if channels have their shares by propagators.
    #[serde(default)]
    pub topologies: Vec<Topology>,
}

/// How points are clustered.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Clustered {
    /// The relevant entries of the run card.
    pub settings: clustering::ClusteringSettings,
    /// Cuts and weights of matching; `None` if there are none.
    #[serde(default)]
    pub matching: Option<Matching>,
    /// Whether scales that are not fixed come from clustering; otherwise clustering only drops points of excluded
    /// resonances.
    pub scaled: bool,
}

/// Settings common to all matrix elements.
#[derive(Clone, Debug)]
pub struct Common {
    /// Energy of both beams in their centre-of-mass frame, GeV. For a decay the mass of the decaying particle.
    pub energy: f64,
    /// Rapidity of the beams' centre of mass in the detector frame.
    pub rapidity: f64,
    /// The beams that partons come from.
    pub beams: [Beam; 2],
    /// The strong coupling.
    pub running: RunningCoupling,
    /// The scales.
    pub scale: Scale,
    /// How points are clustered.
    pub clustering: Option<Clustered>,
}

impl Common {
    /// Whether exchanged beams make no difference.
    fn has_like_beams(&self) -> bool {
        let [first, second] = self.scale.factorisation;
        self.beams[0].is_like(&self.beams[1]) && self.rapidity == 0.0 && first == second
    }

    /// Whether all points have the energy of the beams.
    fn has_one_energy(&self) -> bool {
        self.beams.iter().all(Beam::is_parton)
    }
}

/// A matrix element in the form of phase space, with two incoming legs.
struct Prepared<'a> {
    element: &'a MatrixElement,
    /// Its channels.
    channels: Vec<describe::Channel>,
    /// PDG codes of all processes that it serves.
    options: Vec<Vec<i32>>,
    masses: Vec<f64>,
    /// Power of alpha_s in |M|^2; negative if diagrams have different ones.
    qcd_power: i32,
    /// Whether one particle decays: it is the second leg, after an empty first one.
    decays: bool,
}

impl<'a> Prepared<'a> {
    fn new(element: &'a MatrixElement) -> Result<Self, Failure> {
        let one = std::slice::from_ref(&element.process);
        let Subprocess {
            incoming,
            mut channels,
            flavors,
            qcd_power,
            ..
        } = describe::describe(one, &[element.mirrored], "", "")?;
        let mut options: Vec<Vec<i32>> = flavors.into_iter().flat_map(|of| of.options).collect();
        let mut masses = element.masses.clone();
        let decays = incoming.len() == 1;
        if decays {
            masses.insert(0, 0.0);
            for codes in &mut options {
                codes.insert(0, 0);
            }
            for vertex in channels
                .iter_mut()
                .flat_map(|channel| &mut channel.vertices)
            {
                if vertex.iter().any(|line| line == "i0") {
                    vertex.insert(0, "i1".to_owned());
                }
            }
        }
        Ok(Prepared {
            element,
            channels,
            options,
            masses,
            qcd_power,
            decays,
        })
    }
}

/// Makes the integrand of a run, with `threads` threads.
///
/// # Errors
/// A matrix element has no channels, its cuts are invalid, or its partons do not come from these beams.
pub fn integrand(
    threads: usize,
    elements: &[MatrixElement],
    common: &Common,
) -> Result<Integrand, Failure> {
    if !common.rapidity.is_finite() {
        return Err(format!("beams have no rapidity of {}", common.rapidity).into());
    }
    let prepare = |number: usize| Prepared::new(&elements[number]);
    let prepared = parallel::collect(threads, elements.len(), prepare)?;
    match prepared.iter().any(|one| one.decays) {
        false => check_partons(&prepared, &common.beams)?,
        true => {
            let alone = common.has_one_energy() && common.rapidity == 0.0;
            if !alone || prepared.iter().any(|one| !one.decays) {
                return Err("a decay with beams: make events of decays by themselves".into());
            }
        }
    }
    let mut found = Integrand {
        groups: Vec::new(),
        sources: Vec::new(),
        beams: common.beams.clone(),
        running: common.running.clone(),
        selections: Vec::new(),
        functions: None,
        level: Level::best(),
    };
    let mut of_groups: Vec<(Vec<usize>, Orders)> = Vec::new();
    for members in together(&prepared, threads)? {
        let both = prepared[members[0]].element.mirrored;
        let orders: &[Orders] = match (both, common.has_like_beams()) {
            (false, _) => &[Orders::Own],
            (true, true) => &[Orders::Both],
            // Each order has its own densities, cuts and scales.
            (true, false) => &[Orders::Own, Orders::Exchanged],
        };
        of_groups.extend(orders.iter().map(|&order| (members.clone(), order)));
    }
    let of_members = |number: usize| {
        let (members, order) = &of_groups[number];
        group_of(&prepared, common, members, *order)
    };
    for (group, mut sources) in parallel::collect(threads, of_groups.len(), of_members)? {
        for source in &mut sources {
            source.group = found.groups.len();
        }
        found.groups.push(group);
        found.sources.append(&mut sources);
    }
    Ok(found)
}

/// The beam that the first leg comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Orders {
    /// The first one.
    Own,
    /// The second one.
    Exchanged,
    /// Either, which makes no difference.
    Both,
}

/// Checks that the beams contain the incoming partons.
fn check_partons(prepared: &[Prepared], beams: &[Beam; 2]) -> Result<(), Failure> {
    for (number, beam) in beams.iter().enumerate() {
        let mut partons = SortedSet::new();
        for of in prepared {
            let [own, other] = [number, 1 - number].map(|leg| (leg, of.helicity(leg)));
            for option in &of.options {
                partons.insert((option[own.0], own.1));
                let mirrored = of.element.mirrored;
                partons.extend(mirrored.then(|| (option[other.0], other.1)));
            }
        }
        let codes: SortedSet<i32> = partons.iter().map(|(code, _)| *code).collect();
        let list = |codes: &[i32]| {
            let words: Vec<String> = codes.iter().map(i32::to_string).collect();
            format!("{} (PDG codes)", words.join(", "))
        };
        let beam_number = number + 1;
        match beam {
            Beam::Parton if codes.len() > 1 => {
                let codes: Vec<i32> = codes.into_iter().collect();
                return Err(format!(
                    "beam {beam_number} is a particle itself, and the process has several there, or in both beams: {}; name one particle, or give the beam densities",
                    list(&codes)
                )
                .into());
            }
            Beam::Parton => {}
            Beam::Densities { .. } | Beam::PhotonPair(_) => {
                let is_missing =
                    |&(code, helicity): &(i32, Option<i8>)| beam.place(code, helicity).is_none();
                let missing: SortedSet<(i32, Option<i8>)> =
                    partons.into_iter().filter(is_missing).collect();
                if beam.has_helicities() && missing.iter().any(|(_, helicity)| helicity.is_none()) {
                    return Err(format!(
                        "the densities of beam {beam_number} are those of single helicities, and a matrix element has several there"
                    )
                    .into());
                }
                let missing: SortedSet<i32> = missing.into_iter().map(|(code, _)| code).collect();
                let missing: Vec<i32> = missing.into_iter().collect();
                if !missing.is_empty() {
                    return Err(format!(
                        "the densities of beam {beam_number} have no {}; take a process without them, or other densities",
                        list(&missing)
                    )
                    .into());
                }
            }
        }
    }
    Ok(())
}

/// Returns the factors of a matrix element's channels besides their weights; `None` if there are none.
///
/// # Errors
/// A channel is not a tree.
pub fn channel_factors(
    element: &MatrixElement,
    request: &ChannelRequest,
) -> Result<Option<ChannelFactors>, Failure> {
    let of = Prepared::new(element)?;
    ChannelFactors::new(&element.process, &of.channels, &of.masses, request)
}

/// Checks that no line of a diagram without a width can be on its mass shell.
fn check_widths(
    channel: &describe::Channel,
    diagram: &Diagram,
    limits: &Limits,
    energy: f64,
    beams: Beams,
) -> Result<(), Failure> {
    let every: u32 = (1 << diagram.masses.len()) - 1;
    for (line, legs) in diagram.timelike()? {
        let Propagator { mass, width } = diagram.propagators[line];
        if mass == 0.0 || width >= MIN_WIDTH_RATIO * mass {
            continue;
        }
        let (own, others): (Vec<_>, Vec<_>) =
            (diagram.masses.iter().enumerate()).partition(|(leg, _)| legs & (1 << leg) != 0);
        let [own_masses, rest] =
            [&own, &others].map(|of| of.iter().map(|(_, mass)| *mass).sum::<f64>());
        // A line that becomes itself and a massless particle is kept off its mass shell by cuts.
        let radiates = own.iter().any(|(_, leg)| **leg == 0.0);
        if legs != every && radiates && (own_masses / mass - 1.0).abs() < EQUAL {
            continue;
        }
        let mut least = limits.min_mass(legs, &diagram.masses);
        let largest = f64::min(limits.max_mass(legs), energy - rest);
        if legs == every && matches!(beams, Beams::Neither | Beams::AtRest) {
            least = energy;
        }
        if least <= mass * (1.0 + EQUAL) && mass < largest * (1.0 - EQUAL)
            || legs == every && (least / mass - 1.0).abs() < EQUAL
        {
            let code = channel.propagators[line].abs();
            let has = match width > 0.0 {
                true => format!("a width of {width:e} GeV, which is lost in rounding"),
                false => "no width, which makes the cross section infinite".to_owned(),
            };
            let needed = MIN_WIDTH_RATIO * mass;
            return Err(format!(
                "particle {code} (PDG code) can be on its mass shell, at {mass} GeV, and has {has}; give it one of at \
                 least {needed:.0e} GeV in the parameter card (DECAY {code})"
            )
            .into());
        }
    }
    Ok(())
}

/// Smallest width relative to the mass; a smaller one is lost in the rounding of invariant masses.
const MIN_WIDTH_RATIO: f64 = 1e-14;
/// Relative difference below which two masses are equal.
const EQUAL: f64 = 1e-9;

/// Groups the numbers of the matrix elements that have the same channels.
fn together(prepared: &[Prepared], threads: usize) -> Result<Vec<Vec<usize>>, Failure> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut places: SortedMap<_, usize> = SortedMap::new();
    let names = parallel::collect(threads, prepared.len(), |number| prepared[number].name())?;
    let names = names.into_iter().zip(prepared).enumerate();
    for (number, (name, of)) in names.filter(|(_, (_, of))| !of.element.vanishes) {
        // Decays are not grouped: each partial width is requested, and is known better from its own points than from
        // its share of events.
        let key = (name, of.decays.then_some(number));
        let place = *places.entry(key).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(number);
    }
    Ok(found)
}

impl Prepared<'_> {
    /// Returns the helicity of an incoming leg; `None` if it has several.
    fn helicity(&self, leg: usize) -> Option<i8> {
        let leg = leg.checked_sub(usize::from(self.decays))?;
        let mut of_rows = self.element.process.helicities.iter().map(|row| row[leg]);
        let first = of_rows.next()?;
        of_rows.all(|other| other == first).then_some(first)
    }

    /// Returns the lines of a channel that must not be on their mass shells.
    fn off_shell(&self, channel: usize) -> SortedSet<usize> {
        let listed = self.element.off_shell.get(channel).into_iter().flatten();
        let own = &self.channels[channel].off_shell_propagators;
        listed.chain(own).copied().collect()
    }

    /// Returns a name such that matrix elements with the same name have the same channels.
    fn name(&self) -> Result<String, Failure> {
        let (element, options) = (self.element, &self.options);
        let label = |leg: usize| {
            let kinds = options
                .iter()
                .map(|codes| (kind(codes[leg]), leg < 2 && codes[leg] > 0));
            kinds.collect::<SortedSet<_>>()
        };
        let labels: Vec<_> = (0..options[0].len()).map(label).collect();
        let (incoming, masses) = self.masses.split_at(2);
        let own: Vec<usize> = (0..masses.len()).collect();
        let mut trees = SortedSet::new();
        for (number, channel) in self.channels.iter().enumerate() {
            let codes: Vec<i32> = channel.propagators.iter().map(|&code| kind(code)).collect();
            let tree = canonical(&diagram(channel, masses)?, &own, &codes, false)?.0;
            trees.insert((tree, self.off_shell(number)));
        }
        let cuts = (&element.windows, &element.rules);
        Ok(format!(
            "{labels:?} {incoming:?} {masses:?} {} {trees:?} {cuts:?} {:?}",
            element.mirrored, element.function
        ))
    }
}

/// Returns the first-generation code of a particle: particles that differ only by generation have the same trees.
fn kind(code: i32) -> i32 {
    match code.abs() {
        1..=5 => 1,
        11 | 13 | 15 => 11,
        12 | 14 | 16 => 12,
        other => other,
    }
}

/// Returns what comes in for these matrix elements, in each order of the beams.
fn partons(prepared: &[Prepared], members: &[usize], exchanged: &[bool]) -> Vec<Partons> {
    let mut partons = Vec::new();
    for (place, &member) in members.iter().enumerate() {
        let mut pairs: SortedMap<[i32; 2], f64> = SortedMap::new();
        for codes in &prepared[member].options {
            *pairs.entry([codes[0], codes[1]]).or_default() += 1.0;
        }
        for (codes, factor) in pairs {
            for &exchanged in exchanged {
                partons.push(Partons {
                    element: place,
                    codes,
                    helicities: [0, 1].map(|leg| prepared[member].helicity(leg)),
                    exchanged,
                    factor,
                });
            }
        }
    }
    partons
}

/// Returns which legs are fermions. A decay has a leg less than its matrix element is sampled with.
fn fermions(element: &MatrixElement, legs: usize, decays: bool) -> Vec<bool> {
    let mut fermions = vec![false; legs];
    for wavefunction in &element.process.wavefunctions {
        if let Wavefunction::External(one) = wavefunction {
            fermions[one.leg as usize + usize::from(decays)] = matches!(
                one.kind,
                ExternalKind::FermionIn
                    | ExternalKind::FermionOut
                    | ExternalKind::RaritaIn
                    | ExternalKind::RaritaOut
            );
        }
    }
    fermions
}

/// Makes a group of matrix elements with its channels, independent of the group's number.
fn group_of(
    prepared: &[Prepared],
    common: &Common,
    members: &[usize],
    orders: Orders,
) -> Result<(ElementGroup, Vec<PointSource>), Failure> {
    let first = members[0];
    let of = &prepared[first];
    let (element, masses) = (of.element, &of.masses[2..]);
    let incoming = [of.masses[0], of.masses[1]];
    let legs = masses.len() + 2;
    let limits = Limits::new(masses.len(), &element.windows);
    let mut diagrams = Vec::new();
    for channel in &of.channels {
        diagrams.push(diagram(channel, masses)?);
    }
    let codes = of.channels.iter();
    let codes = codes.map(|one| one.propagators.iter().map(|code| code.abs()).collect());
    let codes: Vec<Vec<i32>> = codes.collect();
    let label = |leg: usize| {
        let of = members.iter().flat_map(|&member| &prepared[member].options);
        of.map(|codes| codes[leg].abs()).collect::<Vec<_>>()
    };
    let labels: Vec<Vec<i32>> = (2..legs).map(label).collect();
    // Densities are defined for partons only.
    let same = |codes: &Vec<i32>| codes[0] == codes[1];
    let same = members
        .iter()
        .all(|&member| prepared[member].options.iter().all(same));
    let turns =
        label(0) == label(1) && (common.has_one_energy() || (same && common.has_like_beams()));
    let (of_legs, rapidity) = match orders {
        Orders::Exchanged => ([1, 0], -common.rapidity),
        Orders::Own | Orders::Both => ([0, 1], common.rapidity),
    };
    let beams = beams_of(common, of_legs, of.decays);
    let scale = Scale {
        factorisation: of_legs.map(|beam| common.scale.factorisation[beam]),
        ..common.scale
    };
    let energy = match of.decays {
        true => incoming[1],
        false => common.energy,
    };
    for (channel, diagram) in of.channels.iter().zip(&diagrams) {
        check_widths(channel, diagram, &limits, energy, beams)?;
    }
    let partons = partons(prepared, members, exchanged(orders));
    let fermions = fermions(element, legs, of.decays);
    let weights = Weights::new(&diagrams, &limits, common.has_one_energy())?;
    let cuts = match element.windows.is_empty() && element.rules.is_empty() {
        true => None,
        false => Some(Cuts::new(legs, &element.windows, &element.rules)?),
    };
    let mut sources = Vec::new();
    for PermutedDiagrams {
        members: same,
        permutations,
    } in permuted(&diagrams, &labels, &codes, turns)?
    {
        let settings = ChannelSettings {
            energy,
            beams,
            incoming,
            fermions: fermions.clone(),
            limits: limits.permuted(&permutations),
        };
        // A line that must not be on its mass shell has no peak there.
        let mut drawn = diagrams[same[0]].clone();
        for line in of.off_shell(same[0]) {
            drawn.propagators[line].width = 0.0;
        }
        sources.push(PointSource {
            group: 0,
            channel: Arc::new(Channel::new(&drawn, &settings)?),
            permutations,
            columns: same.iter().map(|&column| column as u32).collect(),
            chances: vec![1.0; members.len()],
        });
    }
    let clustering = match &common.clustering {
        None => None,
        Some(how) => Some(clusterings(
            how,
            common.energy,
            prepared,
            members,
            &partons,
        )?),
    };
    let group = ElementGroup {
        elements: members.to_vec(),
        partons,
        weights,
        cuts,
        scale,
        clustering,
        legs,
        beams: of_legs,
        rapidity,
        flux: match of.decays {
            true => Flux::Decay(incoming[1]),
            false => Flux::Collision(incoming),
        },
    };
    Ok((group, sources))
}

/// Returns whether the incoming partons are exchanged, for each order of them.
fn exchanged(orders: Orders) -> &'static [bool] {
    match orders {
        Orders::Own => &[false],
        Orders::Exchanged => &[true],
        Orders::Both => &[false, true],
    }
}

/// Returns which incoming legs have densities.
fn beams_of(common: &Common, of_legs: [usize; 2], decays: bool) -> Beams {
    match of_legs.map(|beam| common.beams[beam].is_parton()) {
        [false, false] if common.beams.iter().all(Beam::is_lepton) => Beams::Leptons,
        [false, false] => Beams::Both,
        [false, true] => Beams::First,
        [true, false] => Beams::Second,
        [true, true] if decays => Beams::AtRest,
        [true, true] => Beams::Neither,
    }
}

/// Returns how points of a group are clustered.
fn clusterings(
    how: &Clustered,
    energy: f64,
    prepared: &[Prepared],
    members: &[usize],
    partons: &[Partons],
) -> Result<Clusterings, Failure> {
    let mut found = Vec::new();
    for &member in members {
        let of = &prepared[member].element.clustered;
        let power = prepared[member].qcd_power;
        let count = prepared[member].element.process.diagrams;
        for one in &of.diagrams {
            if !(1..=count).contains(&one.diagram) {
                let what = format!(
                    "there is no diagram {} to cluster by, of {count}",
                    one.diagram
                );
                return Err(what.into());
            }
        }
        found.push(ElementClustering {
            clustering: Clustering::new(
                prepared[member].options.clone(),
                of.diagrams.iter().map(|one| one.lines.clone()).collect(),
                &of.colors,
                how.settings,
                how.matching.unwrap_or_default(),
            )?,
            diagrams: of.diagrams.iter().map(|one| one.diagram - 1).collect(),
            power: (power >= 0).then_some(power),
        });
    }
    let processes = partons.iter().map(|one| {
        let options = &prepared[members[one.element]].options;
        let own = |&place: &usize| options[place][..2] == one.codes;
        (0..options.len()).filter(own).collect()
    });
    Ok(Clusterings {
        elements: found,
        processes: processes.collect(),
        scaled: how.scaled,
        matched: how.matching.is_some(),
        energy,
        memories: Default::default(),
    })
}

/// How the channel in which a point is clustered is drawn.
#[derive(Clone, Debug)]
pub enum Shares {
    /// There is no channel.
    None,
    /// There is one channel.
    One,
    /// By squared diagrams: the index of each diagram's channel.
    Squared(Vec<i32>),
    /// By propagators.
    Propagators(Propagators),
}

impl Shares {
    /// Makes the shares of a matrix element.
    ///
    /// # Errors
    /// A topology is invalid.
    ///
    /// # Panics
    /// If a diagram does not exist, which [`integrand`] refuses.
    pub fn new(
        of: &ClusteredLines,
        denominators: bool,
        energy: f64,
        bridge: &Bridge,
    ) -> std::result::Result<Self, Failure> {
        if of.diagrams.len() < 2 {
            return Ok(match of.diagrams.is_empty() {
                true => Shares::None,
                false => Shares::One,
            });
        }
        if denominators {
            if of.topologies.len() != of.diagrams.len() {
                return Err("clustering by propagators needs a topology for each diagram".into());
            }
            let stated = bridge.stated_channels(&of.topologies, energy * energy)?;
            return Ok(Shares::Propagators(stated));
        }
        let mut places = vec![-1; bridge.process().diagrams as usize];
        for (place, one) in (0..).zip(&of.diagrams) {
            places[one.diagram as usize - 1] = place;
        }
        Ok(Shares::Squared(places))
    }
}

/// |M|^2 of one thread.
pub struct Elements {
    samplers: Vec<Sampler>,
    /// Approximations by which points are weighed; empty, or one for each matrix element.
    approximations: Vec<Option<LeadingColorSampler>>,
    /// Whether events by the approximations are corrected.
    corrects: bool,
    shares: Arc<[Shares]>,
    /// Factors of each matrix element's channels; empty if no matrix element has factors.
    factors: Arc<[Option<ChannelFactors>]>,
    /// Legs in whose rest frame each matrix element is evaluated; empty if all use the rest frame of the incoming legs.
    frames: Arc<[Vec<usize>]>,
    /// Number of legs of points before those of each matrix element: the empty leg of decays.
    before: Vec<usize>,
    g_s: Vec<f64>,
    random: Vec<f64>,
    choices: [Vec<i32>; 3],
    amp2: Vec<f64>,
    /// Weights times factors of the channels for the last points, if there are factors.
    counts: Vec<f64>,
}

/// What is evaluated of a sample besides |M|^2.
enum Wanted<'a> {
    /// Nothing.
    Squared,
    /// Helicities, colour flows and diagrams.
    Choices,
    /// The same, and |M|^2 at leading colour.
    ChoicesAndLeadingColor(&'a mut [f64]),
}

impl Elements {
    /// Prepares matrix elements in the order of their numbers; `diagrams` for [`Elements::choose`].
    ///
    /// # Errors
    /// A matrix element has no helicity, or no plan.
    pub fn new(bridges: &mut [Bridge], diagrams: bool) -> Result<Self> {
        Elements::counting(bridges, diagrams, Arc::from([]))
    }

    /// The same with factors of channels.
    ///
    /// # Errors
    /// As for [`Elements::new`].
    pub fn counting(
        bridges: &mut [Bridge],
        diagrams: bool,
        factors: Arc<[Option<ChannelFactors>]>,
    ) -> Result<Self> {
        let diagrams = diagrams || factors.iter().any(Option::is_some);
        let before = bridges.iter().map(|bridge| {
            let legs = bridge.process().legs.iter();
            2 - legs.filter(|leg| leg.incoming).count().min(2)
        });
        let before = before.collect();
        let memory = SessionMemory::default();
        let samplers = bridges.iter_mut();
        let samplers = samplers.map(|bridge| bridge.sampler(diagrams, &memory));
        Ok(Elements {
            before,
            samplers: samplers.collect::<Result<_>>()?,
            approximations: Vec::new(),
            corrects: false,
            shares: Arc::from([]),
            factors,
            frames: Arc::from([]),
            amp2: Vec::new(),
            counts: Vec::new(),
            g_s: Vec::new(),
            random: Vec::new(),
            choices: Default::default(),
        })
    }

    /// The same for points that are clustered in channels, with `shares` for each matrix element.
    ///
    /// # Errors
    /// As for [`Elements::new`].
    pub fn in_channels(
        bridges: &mut [Bridge],
        diagrams: bool,
        shares: Arc<[Shares]>,
        factors: Arc<[Option<ChannelFactors>]>,
    ) -> Result<Self> {
        let squared = |one: &Shares| matches!(one, Shares::Squared(_));
        let diagrams = diagrams || shares.iter().any(squared);
        let made = Elements::counting(bridges, diagrams, factors)?;
        Ok(Elements { shares, ..made })
    }

    /// Sets the legs, numbered as if there were two incoming ones, in whose rest frames the matrix elements are
    /// evaluated (`me_frame`).
    pub fn in_frames(self, frames: Arc<[Vec<usize>]>) -> Self {
        Elements { frames, ..self }
    }

    /// Weighs points by |M|^2 at leading colour where there is such an approximation. Events get |M|^2 itself if
    /// `corrects`.
    ///
    /// # Errors
    /// An approximation has no plan.
    pub fn approximated(
        self,
        by: &mut [Option<LeadingColorBridge>],
        corrects: bool,
    ) -> Result<Self> {
        let memory = SessionMemory::default();
        let sampler = |of: &mut Option<LeadingColorBridge>| {
            of.as_mut()
                .map(|bridge| bridge.sampler(&memory))
                .transpose()
        };
        let approximations: Vec<_> = by.iter_mut().map(sampler).collect::<Result<_>>()?;
        Ok(Elements {
            corrects: corrects && approximations.iter().any(Option::is_some),
            approximations,
            ..self
        })
    }

    /// Returns the legs in whose rest frame a matrix element is evaluated, if that is not the rest frame of the
    /// incoming legs.
    fn frame(&self, element: usize) -> Option<&[usize]> {
        let frame = self.frames.get(element)?;
        (!frame.is_empty()).then_some(frame)
    }

    /// Returns the momenta of events of a matrix element, in the frame in which it is evaluated, and their random numbers
    /// for choices. The couplings go to `g_s`.
    fn inputs(&mut self, element: usize, events: &[&mut Event]) -> (Vec<f64>, [Vec<f64>; 3]) {
        let legs = self.samplers[element].legs();
        let mut momenta = Vec::with_capacity(events.len() * 4 * legs);
        let mut random = [const { Vec::new() }; 3];
        self.g_s.clear();
        for event in events {
            let mut momenta_at_rest = at_rest(&event.momenta);
            if let Some(frame) = self.frame(element) {
                to_rest_of(&mut momenta_at_rest, frame);
            }
            momenta.extend_from_slice(momenta_at_rest[self.before[element]..].as_flattened());
            self.g_s.push(g_s(event.alpha_s));
            for (numbers, number) in random.iter_mut().zip(random_choices(event)) {
                numbers.push(number);
            }
        }
        (momenta, random)
    }

    /// Chooses helicities, colour flows and diagrams of events of a matrix element.
    fn choose_one(&mut self, element: usize, events: &mut [&mut Event]) -> Result<()> {
        let (count, legs) = (events.len(), self.samplers[element].legs());
        let (momenta, random) = self.inputs(element, events);
        let mut squared = vec![0.0; count];
        let random = random.each_ref().map(Vec::as_slice);
        let momenta = Momenta::rows(&momenta, legs);
        // Clustered events have the diagram of their channel, and the colour flows that it allows.
        let mut given = diagrams(events);
        let wanted = Wanted::Choices;
        self.run(
            element,
            momenta,
            random,
            given.as_deref(),
            wanted,
            &mut squared,
        )?;
        let factors = self.factors.clone();
        let factors = factors.get(element).and_then(Option::as_ref);
        if let (None, Some(factors)) = (&given, factors) {
            let counts = factors.of_channels(&points_of(events), &self.amp2);
            let of_events = counts.chunks_exact(factors.count()).zip(random[2]);
            let of_channels =
                of_events.map(|(counts, &number)| factors.draw_diagram(counts, number) as i32);
            let of_channels: Vec<i32> = of_channels.collect();
            let channels = Some(&of_channels[..]);
            let wanted = Wanted::Choices;
            self.run(element, momenta, random, channels, wanted, &mut squared)?;
            given = Some(of_channels);
        }
        let [helicity, color, diagram] = &self.choices;
        let diagram = given.as_deref().unwrap_or(diagram);
        for (place, event) in events.iter_mut().enumerate() {
            event.choice = Some([helicity[place], color[place], diagram[place]]);
        }
        Ok(())
    }

    /// Sets the corrections of events of a matrix element that has an approximation, and makes their choices.
    fn correct_one(&mut self, element: usize, events: &mut [&mut Event]) -> Result<()> {
        let (count, legs) = (events.len(), self.samplers[element].legs());
        let (momenta, random) = self.inputs(element, events);
        let diagrams = diagrams(events);
        let (mut squared, mut leading) = (vec![0.0; count], vec![0.0; count]);
        let momenta = Momenta::rows(&momenta, legs);
        let random = random.each_ref().map(Vec::as_slice);
        let wanted = Wanted::ChoicesAndLeadingColor(&mut leading);
        self.run(
            element,
            momenta,
            random,
            diagrams.as_deref(),
            wanted,
            &mut squared,
        )?;
        let [helicity, color, diagram] = &self.choices;
        let ratios = squared
            .iter()
            .zip(&leading)
            .map(|(squared, leading)| squared / leading);
        for ((place, event), ratio) in events.iter_mut().enumerate().zip(ratios) {
            event.correction = ratio;
            event.choice = Some([helicity[place], color[place], diagram[place]]);
        }
        Ok(())
    }

    /// Evaluates a sample with the couplings in `g_s`. The choices go to `choices`, and shares of squared diagrams to
    /// `amp2` if channels have factors.
    fn run(
        &mut self,
        element: usize,
        momenta: Momenta,
        random: [&[f64]; 3],
        given: Option<&[i32]>,
        wanted: Wanted,
        squared: &mut [f64],
    ) -> Result<()> {
        let count = squared.len();
        let shares = matches!(self.factors.get(element), Some(Some(_)));
        let rows = self.samplers[element].diagrams();
        self.amp2.resize(if shares { rows * count } else { 0 }, 0.0);
        for choice in &mut self.choices {
            choice.resize(choice.len().max(count), 0);
        }
        let sample = Sample {
            points: Points {
                momenta,
                g_s: &self.g_s,
                random_helicity: random[0],
                random_color: random[1],
            },
            random_diagram: random[2],
            helicity: None,
            diagram: given,
            diagrams: !matches!(wanted, Wanted::Squared) || shares,
        };
        let [helicity, color, diagram] = &mut self.choices;
        let answers = SampleAnswers {
            outputs: Outputs {
                matrix_elements: squared,
                helicity: &mut helicity[..count],
                color: &mut color[..count],
            },
            diagram: &mut diagram[..count],
            // SAFETY: `amp2` has `rows * count` numbers (it was resized above), and is not accessed otherwise until the
            // answer is complete.
            amp2: shares
                .then(|| unsafe { sample::Rows::new(self.amp2.as_mut_ptr(), count, rows, count) }),
        };
        let sampler = &mut self.samplers[element];
        match wanted {
            Wanted::Squared | Wanted::Choices => sampler.run(&sample, answers)?,
            Wanted::ChoicesAndLeadingColor(leading) => {
                sampler.run_with_leading_color(&sample, answers, leading)?
            }
        };
        Ok(())
    }
}

impl Elements {
    /// Evaluates |M|^2 of points, or its approximation with random numbers for `flows`. If `random` is given, diagrams
    /// are drawn with these numbers.
    fn of_points(
        &mut self,
        element: usize,
        points: &Rows,
        alpha_s: &[f64],
        random: Option<&[f64]>,
        flows: &[f64],
        squared: &mut [f64],
    ) -> Result<()> {
        let (count, legs) = (points.points(), self.samplers[element].legs());
        let first = 4 * self.before[element];
        self.g_s.clear();
        self.g_s.extend(alpha_s.iter().map(|&alpha_s| g_s(alpha_s)));
        if let Some(Some(of)) = self.approximations.get_mut(element) {
            return of.evaluate(points, first, &self.g_s, flows, squared);
        }
        let stride = points.stride() as isize;
        let strides = Strides {
            event: 1,
            leg: 4 * stride,
            component: stride,
        };
        assert!(points.count() >= first + 4 * legs && squared.len() == count);
        let all = self.before[element] + legs;
        let boosted = self
            .frame(element)
            .map(|frame| in_rest_of(points, all, frame));
        let seen = boosted.as_ref().unwrap_or(points);
        let begin = seen.numbers()[first * points.stride()..].as_ptr();
        // SAFETY: the pointer is to the first row of the matrix element's legs, and the assertion above checks that
        // there are `4 * legs` rows from there on; rows are `stride` numbers apart and have `count` numbers each.
        let momenta = unsafe { Momenta::new(begin, count, legs, strides) };
        let mut none = std::mem::take(&mut self.random);
        none.resize(none.len().max(count), 0.5);
        let some = &none[..count];
        let numbers = [some, some, random.unwrap_or(some)];
        let wanted = match random {
            None => Wanted::Squared,
            Some(_) => Wanted::Choices,
        };
        let answer = self.run(element, momenta, numbers, None, wanted, squared);
        self.random = none;
        answer?;
        if let Some(Some(factors)) = self.factors.get(element) {
            self.counts = factors.of_channels(points, &self.amp2);
            let of_points = self.counts.chunks_exact(factors.count());
            for (squared, counts) in squared.iter_mut().zip(of_points) {
                *squared *= counts.iter().sum::<f64>();
            }
        }
        Ok(())
    }
}

/// Returns the momenta of points with `legs` legs in the rest frame of some of them, in rows with the same stride as
/// those of the points.
fn in_rest_of(points: &Rows, legs: usize, frame: &[usize]) -> Rows {
    let mut found = Rows::new(4 * legs, points.stride());
    found.set_points(points.points());
    let mut momenta = vec![[0.0; 4]; legs];
    for point in 0..points.points() {
        for (row, number) in momenta.as_flattened_mut().iter_mut().enumerate() {
            *number = points.row(row)[point];
        }
        to_rest_of(&mut momenta, frame);
        for (row, number) in momenta.as_flattened().iter().enumerate() {
            found.row_mut(row)[point] = *number;
        }
    }
    found
}

/// Returns the momenta of some events as points.
fn points_of(events: &[&mut Event]) -> Rows {
    let legs = events.first().map_or(0, |event| event.momenta.len());
    let mut points = Rows::new(4 * legs, events.len());
    for (place, event) in events.iter().enumerate() {
        let momenta = at_rest(&event.momenta);
        for (row, number) in momenta.as_flattened().iter().enumerate() {
            points.row_mut(row)[place] = *number;
        }
    }
    points
}

/// Returns the diagrams of the channels in which events were clustered.
fn diagrams(events: &[&mut Event]) -> Option<Vec<i32>> {
    let of = events.iter().map(|event| event.diagram);
    of.map(|diagram| Some(diagram? as i32)).collect()
}

impl MatrixElementSource for Elements {
    fn evaluate(
        &mut self,
        element: usize,
        points: &Rows,
        alpha_s: &[f64],
        numbers: PointNumbers,
        squared: &mut [f64],
        channels: &mut [i32],
    ) -> Result<(), Failure> {
        let PointNumbers {
            channels: random,
            flows,
        } = numbers;
        let shares = self.shares.clone();
        let of_channels = match random.is_empty() {
            true => None,
            false => Some(
                shares
                    .get(element)
                    .ok_or("no shares of channels were set")?,
            ),
        };
        match of_channels {
            Some(Shares::Squared(places)) => {
                self.of_points(element, points, alpha_s, Some(random), flows, squared)?;
                let factors = self.factors.clone();
                match factors.get(element).and_then(Option::as_ref) {
                    None => {
                        let [_, _, diagrams] = &self.choices;
                        for (channel, &diagram) in channels.iter_mut().zip(diagrams) {
                            *channel = places[diagram as usize];
                        }
                    }
                    // Channels are drawn by weight times factor.
                    Some(factors) => {
                        let of_points = self.counts.chunks_exact(factors.count()).zip(random);
                        for (channel, (counts, &number)) in channels.iter_mut().zip(of_points) {
                            *channel = places[factors.draw_diagram(counts, number)];
                        }
                    }
                }
                return Ok(());
            }
            None | Some(Shares::None) => channels.fill(-1),
            Some(Shares::One) => channels.fill(0),
            Some(Shares::Propagators(propagators)) => {
                let legs = self.samplers[element].legs();
                let mut weights = vec![0.0; propagators.count()];
                let mut momenta = vec![[0.0; 4]; legs];
                for (point, channel) in channels.iter_mut().enumerate() {
                    let p = clustering::copy_momenta(points, point, &mut momenta);
                    propagators.weights(p.as_flattened(), &mut weights);
                    *channel = draw_index(&weights, random[point]);
                }
            }
        }
        Ok(self.of_points(element, points, alpha_s, None, flows, squared)?)
    }

    fn draws_flows(&self) -> bool {
        !self.approximations.is_empty()
    }

    fn approximates(&self) -> bool {
        self.corrects
    }

    fn correct(&mut self, events: &mut [&mut Event]) -> Result<(), Failure> {
        let approximations = &self.approximations;
        let is_approximated =
            |event: &Event| matches!(approximations.get(event.element as usize), Some(Some(_)));
        for (element, mut own) in by_element(events, is_approximated) {
            self.correct_one(element as usize, &mut own)?;
        }
        Ok(())
    }

    fn choose(&mut self, events: &mut [&mut Event]) -> Result<(), Failure> {
        for (element, mut own) in by_element(events, |event| event.choice.is_none()) {
            self.choose_one(element as usize, &mut own)?;
        }
        Ok(())
    }
}
