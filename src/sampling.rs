//! Matrix elements as what a sampler integrates: their channels, grouped where one can stand for several, and |M|^2 of
//! its points.

use crate::bridge::Bridge;
use crate::bridge::sampler::Sampler;
use crate::channel_factors::{ChannelFactors, ChannelRequest};
use crate::describe::{self, Subprocess};
use crate::error::Result;
use crate::process::{ExternalKind, Process, Wavefunction};
use crate::sample::{self, Momenta, Sample, SampleAnswers, Strides, g_s};
use mebridge_phasespace::cuts::{Cuts, Rule, Window};
use mebridge_phasespace::scales::Scale;
use mebridge_phasespace::{
    Beams, Channel, Diagram, Edge, Limits, PermutedDiagrams, Propagator, Rows, Settings, Weights,
    canonical, permuted,
};
use mebridge_sampler::events::Event;
use mebridge_sampler::integrand::{
    BeamDensities, ElementGroup, Failure, Flux, Integrand, Partons, Running, Source, Squared,
};
use mebridge_simd::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A matrix element, and what is asked of its events.
#[derive(Debug)]
pub struct Element {
    /// With the values of its card. One particle that comes in decays at rest.
    pub process: Process,
    /// Masses of its legs, GeV.
    pub masses: Vec<f64>,
    /// Whether it stands for the process with exchanged beams, too.
    pub mirrored: bool,
    /// Its cuts, with legs counted as if two came in.
    pub windows: Vec<Window>,
    /// Those that are no windows.
    pub rules: Vec<Rule>,
}

/// What all matrix elements have in common.
#[derive(Clone, Debug)]
pub struct Common {
    /// Of both beams in their centre of mass, GeV. What decays has that of its mass.
    pub energy: f64,
    /// None where the beams are the partons.
    pub densities: Option<BeamDensities>,
    /// The strong coupling.
    pub running: Running,
    /// The scales.
    pub scale: Scale,
}

/// A matrix element as phase space has it: two legs come in.
struct Prepared<'a> {
    element: &'a Element,
    /// Its channels.
    channels: Vec<describe::Channel>,
    /// PDG codes of all processes that it serves.
    options: Vec<Vec<i32>>,
    masses: Vec<f64>,
    /// Whether one particle decays: the second leg, beside a first one that is nothing.
    decays: bool,
}

impl<'a> Prepared<'a> {
    fn new(element: &'a Element) -> Result<Self, Failure> {
        let one = std::slice::from_ref(&element.process);
        let Subprocess {
            incoming,
            mut channels,
            flavors,
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
            decays,
        })
    }
}

/// The integrand of a run.
///
/// # Errors
/// A matrix element has no channels, or its cuts cannot be.
pub fn integrand(elements: &[Element], common: &Common) -> Result<Integrand, Failure> {
    let mirrored = elements.iter().any(|element| element.mirrored);
    if (common.scale.factorisation).is_some_and(|[one, other]| one != other) && mirrored {
        return Err(
            "different scales of both beams with a process that has both orders of them".into(),
        );
    }
    let prepared: Result<Vec<Prepared>, Failure> = elements.iter().map(Prepared::new).collect();
    let prepared = prepared?;
    if prepared.iter().any(|one| one.decays)
        && (common.densities.is_some() || prepared.iter().any(|one| !one.decays))
    {
        return Err("a decay with beams: make events of decays by themselves".into());
    }
    let mut found = Integrand {
        groups: Vec::new(),
        sources: Vec::new(),
        densities: common.densities.clone(),
        running: common.running.clone(),
        selection: None,
        level: Level::best(),
    };
    for members in together(&prepared)? {
        add(&mut found, &prepared, common, &members)?;
    }
    Ok(found)
}

/// What the channels of a matrix element count besides their weights; none where nothing is asked.
///
/// # Errors
/// A channel is no tree.
pub fn channel_factors(
    element: &Element,
    asked: &ChannelRequest,
) -> Result<Option<ChannelFactors>, Failure> {
    let of = Prepared::new(element)?;
    ChannelFactors::new(&element.process, &of.channels, &of.masses, asked)
}

/// That no line of a diagram without a width can be on its mass shell.
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
        if mass == 0.0 || width >= NARROWEST * mass {
            continue;
        }
        let others = (diagram.masses.iter().enumerate()).filter(|(leg, _)| legs & (1 << leg) == 0);
        let rest: f64 = others.map(|(_, mass)| mass).sum();
        let mut least = limits.least_mass(legs, &diagram.masses);
        let largest = f64::min(limits.largest_mass(legs), energy - rest);
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
            let needed = NARROWEST * mass;
            return Err(format!(
                "particle {code} (PDG code) can be on its mass shell, at {mass} GeV, and has {has}; give it one of at \
                 least {needed:.0e} GeV in the parameter card (DECAY {code})"
            )
            .into());
        }
    }
    Ok(())
}

/// A width below this share of the mass is lost where invariant masses are rounded.
const NARROWEST: f64 = 1e-14;
/// Two masses that differ by less are the same.
const EQUAL: f64 = 1e-9;

/// Numbers of the matrix elements that have the same channels.
fn together(prepared: &[Prepared]) -> Result<Vec<Vec<usize>>, Failure> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (number, of) in prepared.iter().enumerate() {
        let (element, options) = (of.element, &of.options);
        let label = |leg: usize| {
            let kinds = options
                .iter()
                .map(|codes| (kind(codes[leg]), leg < 2 && codes[leg] > 0));
            kinds.collect::<BTreeSet<_>>()
        };
        let labels: Vec<_> = (0..options[0].len()).map(label).collect();
        let (incoming, masses) = of.masses.split_at(2);
        let own: Vec<usize> = (0..masses.len()).collect();
        let mut trees = BTreeSet::new();
        for channel in &of.channels {
            let codes: Vec<i32> = channel.propagators.iter().map(|&code| kind(code)).collect();
            trees.insert(canonical(&diagram(channel, masses)?, &own, &codes, false)?.0);
        }
        let cuts = (&element.windows, &element.rules);
        let key = format!(
            "{labels:?} {incoming:?} {masses:?} {} {trees:?} {cuts:?}",
            element.mirrored
        );
        let place = *places.entry(key).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(number);
    }
    Ok(found)
}

/// Of the first generation: particles that differ by theirs have the same trees.
fn kind(code: i32) -> i32 {
    match code.abs() {
        1..=5 => 1,
        11 | 13 | 15 => 11,
        12 | 14 | 16 => 12,
        other => other,
    }
}

/// The tree of a channel, of legs that go out with these masses.
pub(crate) fn diagram(channel: &describe::Channel, masses: &[f64]) -> Result<Diagram, Failure> {
    let mut vertices = Vec::new();
    for names in &channel.vertices {
        let lines: std::result::Result<Vec<Edge>, _> =
            names.iter().map(|name| name.parse()).collect();
        vertices.push(lines?);
    }
    let propagators = channel.masses.iter().map(|&(mass, width)| Propagator {
        mass: mass.abs(),
        width: width.abs(),
    });
    Ok(Diagram {
        masses: masses.to_vec(),
        propagators: propagators.collect(),
        vertices,
    })
}

/// Adds the channels of some matrix elements.
fn add(
    found: &mut Integrand,
    prepared: &[Prepared],
    common: &Common,
    members: &[usize],
) -> Result<(), Failure> {
    let first = members[0];
    let of = &prepared[first];
    let (element, masses) = (of.element, &of.masses[2..]);
    let incoming = [of.masses[0], of.masses[1]];
    let legs = masses.len() + 2;
    let limits = Limits::new(masses.len(), &element.windows);
    let beams = match &common.densities {
        Some(_) => Beams::Both,
        None if of.decays => Beams::AtRest,
        None => Beams::Neither,
    };
    let energy = if of.decays {
        incoming[1]
    } else {
        common.energy
    };
    let mut diagrams = Vec::new();
    for channel in &of.channels {
        let diagram = diagram(channel, masses)?;
        check_widths(channel, &diagram, &limits, energy, beams)?;
        diagrams.push(diagram);
    }
    let codes = of
        .channels
        .iter()
        .map(|channel| channel.propagators.iter().map(|code| code.abs()).collect());
    let codes: Vec<Vec<i32>> = codes.collect();
    let label = |leg: usize| {
        let of = members.iter().flat_map(|&member| &prepared[member].options);
        of.map(|codes| codes[leg].abs()).collect::<Vec<_>>()
    };
    let labels: Vec<Vec<i32>> = (2..legs).map(label).collect();
    // Densities are those of partons.
    let same = |codes: &Vec<i32>| codes[0] == codes[1];
    let same = members
        .iter()
        .all(|&member| prepared[member].options.iter().all(same));
    let turns = label(0) == label(1) && (same || common.densities.is_none());
    let group = found.groups.len();
    let mut partons = Vec::new();
    for (place, &member) in members.iter().enumerate() {
        let mut pairs: BTreeMap<[i32; 2], f64> = BTreeMap::new();
        for codes in &prepared[member].options {
            *pairs.entry([codes[0], codes[1]]).or_default() += 1.0;
        }
        for (codes, factor) in pairs {
            for exchanged in [false, true]
                .into_iter()
                .take(1 + usize::from(prepared[member].element.mirrored))
            {
                partons.push(Partons {
                    element: place,
                    codes,
                    exchanged,
                    factor,
                });
            }
        }
    }
    let mut fermions = vec![false; legs];
    for wavefunction in &element.process.wavefunctions {
        if let Wavefunction::External(one) = wavefunction {
            fermions[one.leg as usize + usize::from(of.decays)] = matches!(
                one.kind,
                ExternalKind::FermionIn
                    | ExternalKind::FermionOut
                    | ExternalKind::RaritaIn
                    | ExternalKind::RaritaOut
            );
        }
    }
    let weights = Weights::new(&diagrams, &limits, common.densities.is_none())?;
    let cuts = match element.windows.is_empty() && element.rules.is_empty() {
        true => None,
        false => Some(Cuts::new(legs, &element.windows, &element.rules)?),
    };
    for PermutedDiagrams {
        members: same,
        permutations,
    } in permuted(&diagrams, &labels, &codes, turns)?
    {
        let settings = Settings {
            energy,
            beams,
            incoming,
            fermions: fermions.clone(),
            limits: limits.permuted(&permutations),
        };
        found.sources.push(Source {
            group,
            channel: Channel::new(&diagrams[same[0]], &settings)?,
            permutations,
            columns: same.iter().map(|&column| column as u32).collect(),
            chances: vec![1.0; members.len()],
        });
    }
    found.groups.push(ElementGroup {
        elements: members.to_vec(),
        partons,
        weights,
        cuts,
        scale: common.scale,
        legs,
        flux: match of.decays {
            true => Flux::Decay(incoming[1]),
            false => Flux::Collision(incoming),
        },
    });
    Ok(())
}

/// |M|^2 of one thread.
pub struct Elements {
    samplers: Vec<Sampler>,
    /// Of each matrix element how many legs of points come before its own: that beside what decays.
    before: Vec<usize>,
    /// Of each, what its channels count.
    factors: Vec<Option<Arc<ChannelFactors>>>,
    diagrams: bool,
    g_s: Vec<f64>,
    random: Vec<f64>,
    choices: [Vec<i32>; 3],
    amp2: Vec<f64>,
}

/// What an event has besides its momenta, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The row of the helicity table.
    pub helicity: i32,
    /// The colour flow, among those that the diagram allows.
    pub color: i32,
    /// The diagram.
    pub diagram: i32,
}

impl Elements {
    /// Of matrix elements in the order of their numbers; `diagrams` for [`Elements::choose`].
    ///
    /// # Errors
    /// One has no helicity, or no plan.
    pub fn new(bridges: &mut [Bridge], diagrams: bool) -> Result<Self> {
        let factors = vec![None; bridges.len()];
        Elements::with_factors(bridges, diagrams, &factors)
    }

    /// The same, where channels of some count a multiple of their weights.
    ///
    /// # Errors
    /// One has no helicity, or no plan.
    pub fn with_factors(
        bridges: &mut [Bridge],
        diagrams: bool,
        factors: &[Option<Arc<ChannelFactors>>],
    ) -> Result<Self> {
        let before = bridges.iter().map(|bridge| {
            let legs = bridge.process().legs.iter();
            2 - legs.filter(|leg| leg.incoming).count().min(2)
        });
        let before = before.collect();
        let samplers = (bridges.iter_mut().zip(factors))
            .map(|(bridge, factors)| bridge.sampler(diagrams || factors.is_some()));
        Ok(Elements {
            before,
            factors: factors.to_vec(),
            amp2: Vec::new(),
            samplers: samplers.collect::<Result<_>>()?,
            diagrams,
            g_s: Vec::new(),
            random: Vec::new(),
            choices: Default::default(),
        })
    }

    /// Helicities, colour flows and diagrams of events, by three random numbers in (0, 1) for each.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    pub fn choose(&mut self, events: &[Event], random: &[[f64; 3]]) -> Result<Vec<Choice>> {
        let mut found = vec![Choice::default(); events.len()];
        for element in 0..self.samplers.len() {
            let own = |&event: &usize| events[event].element as usize == element;
            let own: Vec<usize> = (0..events.len()).filter(own).collect();
            let legs = self.samplers[element].legs();
            let mut momenta = Vec::with_capacity(own.len() * 4 * legs);
            let mut numbers = [const { Vec::new() }; 3];
            self.g_s.clear();
            for &event in &own {
                momenta.extend(events[event].momenta[self.before[element]..].as_flattened());
                self.g_s.push(g_s(events[event].alpha_s));
                for (to, &number) in numbers.iter_mut().zip(&random[event]) {
                    to.push(number);
                }
            }
            let mut squared = vec![0.0; own.len()];
            let random = [&numbers[0][..], &numbers[1], &numbers[2]];
            let rows = Momenta::rows(&momenta, legs);
            self.run(element, rows, random, None, &mut squared)?;
            if let Some(factors) = self.factors[element].clone() {
                let points = points_of(&own, events);
                let counts = factors.of_channels(&points, &self.amp2);
                let drawn: Vec<i32> = (counts.chunks_exact(factors.count()).zip(random[2]))
                    .map(|(counts, &number)| factors.diagram(draw(counts, number)) as i32)
                    .collect();
                self.run(element, rows, random, Some(&drawn), &mut squared)?;
                self.choices[2][..drawn.len()].copy_from_slice(&drawn);
            }
            let [helicity, color, diagram] = &self.choices;
            for (place, event) in own.into_iter().enumerate() {
                found[event] = Choice {
                    helicity: helicity[place],
                    color: color[place],
                    diagram: diagram[place],
                };
            }
        }
        Ok(found)
    }

    /// Evaluates a sample with the couplings that lie here; choices come here, and where channels count a multiple of
    /// their weights, shares of squared diagrams.
    fn run(
        &mut self,
        element: usize,
        momenta: Momenta,
        random: [&[f64]; 3],
        fixed: Option<&[i32]>,
        squared: &mut [f64],
    ) -> Result<()> {
        let count = squared.len();
        let factors = self.factors[element].is_some();
        let diagrams = self.samplers[element].diagrams();
        if factors {
            self.amp2.resize(diagrams * count, 0.0);
        }
        for choice in &mut self.choices {
            choice.resize(choice.len().max(count), 0);
        }
        let sample = Sample {
            momenta,
            g_s: &self.g_s,
            random_helicity: random[0],
            random_color: random[1],
            random_diagram: random[2],
            helicity: None,
            diagram: fixed,
            diagrams: self.diagrams || factors,
        };
        let [helicity, color, diagram] = &mut self.choices;
        let answers = SampleAnswers {
            matrix_elements: squared,
            helicity: &mut helicity[..count],
            color: &mut color[..count],
            diagram: &mut diagram[..count],
            // SAFETY: there are as many numbers, which nobody else has before the answer is there.
            amp2: factors.then(|| unsafe {
                sample::Rows::new(self.amp2.as_mut_ptr(), count, diagrams, count)
            }),
        };
        self.samplers[element].run(&sample, answers)?;
        Ok(())
    }
}

/// The momenta of some events as points, in the centre of mass of their partons or another frame along the beams.
fn points_of(own: &[usize], events: &[Event]) -> Rows {
    let legs = own.first().map_or(0, |&event| events[event].momenta.len());
    let mut points = Rows::new(4 * legs, own.len());
    for (place, &event) in own.iter().enumerate() {
        for (row, number) in events[event].momenta.as_flattened().iter().enumerate() {
            points.row_mut(row)[place] = *number;
        }
    }
    points
}

/// One of some things that count this much.
fn draw(counts: &[f64], number: f64) -> usize {
    let mut rest = number * counts.iter().sum::<f64>();
    let mut drawn = 0;
    for (place, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        drawn = place;
        if rest < count {
            break;
        }
        rest -= count;
    }
    drawn
}

impl Squared for Elements {
    fn evaluate(
        &mut self,
        element: usize,
        points: &Rows,
        alpha_s: &[f64],
        squared: &mut [f64],
    ) -> Result<(), Failure> {
        let (count, legs) = (points.points(), self.samplers[element].legs());
        let first = 4 * self.before[element];
        self.g_s.clear();
        self.g_s.extend(alpha_s.iter().map(|&alpha_s| g_s(alpha_s)));
        let stride = points.stride() as isize;
        let strides = Strides {
            event: 1,
            leg: 4 * stride,
            component: stride,
        };
        assert!(points.count() >= first + 4 * legs && squared.len() == count);
        let begin = points.numbers()[first * points.stride()..].as_ptr();
        // SAFETY: these are all rows from the first of the legs on; they lie `stride` numbers apart and have `count`
        // numbers each.
        let momenta = unsafe { Momenta::new(begin, count, legs, strides) };
        let mut random = std::mem::take(&mut self.random);
        random.resize(random.len().max(count), 0.5);
        let answer = self.run(element, momenta, [&random[..count]; 3], None, squared);
        self.random = random;
        answer?;
        if let Some(factors) = &self.factors[element] {
            let counts = factors.of_channels(points, &self.amp2);
            for (squared, counts) in squared.iter_mut().zip(counts.chunks_exact(factors.count())) {
                *squared *= counts.iter().sum::<f64>();
            }
        }
        Ok(())
    }
}
