//! Decays of events: generated with the |M|^2 of the decays alone, and accepted with the |M|^2 of production and decays
//! together.
//!
//! The weight of a trial, for its event, is
//!
//!     |M(production and decays)|^2 prod[(m^2 - M^2)^2 + M^2 W^2] / (|M(production)|^2 prod |M(decay)|^2) dPhi(m) / dPhi(M)
//!
//! where m are the masses of the decaying particles, drawn from Breit-Wigner distributions together with the decays,
//! and dPhi is the phase space of production. The last factor is applied first, as it needs no matrix element. Trials
//! of an event are repeated until one is accepted, so no event is lost; the weights of the rejected trials do not
//! enter.

use crate::channel::{DecayGenerator, DecayPoint, PointSettings};
use crate::class::{EventClass, key};
use crate::element::{Evaluator, MatrixElementValues, Theory};
use crate::name::Name;
use crate::production::Production;
use crate::request::DecayRequest;
use crate::shape::propagator;
use crate::vectors::{Momentum, boost, mass, sum, to_rest};
use crate::{Maxima, SpinMode};
use mebridge::process::Leg;
use mebridge::{Error, Result};
use mebridge_lhe::{Event, Particle};
use mebridge_sampler::parallel;
use mebridge_sampler::random::Philox;
use mebridge_support::sorted::SortedMap;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::path::Path;

/// Trials evaluated together when few events are left, and the largest number of them for one event.
const AT_ONCE: usize = 2048;
const MAX_PER_EVENT: usize = 64;
/// Number of trials that determine the bound on the weights.
const TRAINING: usize = 4096;
/// Safety factor on the largest weight of these trials.
const MARGIN: f64 = 1.15;
/// Number of trials of an event after which to give up.
const MAX_TRIALS: u64 = 1 << 22;
/// Rounds of random numbers: for trials, and for events.
const TRIALS: u16 = 2;
const EVENTS: u16 = 3;
/// Relative accuracy to which the mass of an event counts as the mass of the card.
const SAME: f64 = 1e-6;

/// Settings of the decays.
#[derive(Clone, Copy, Debug)]
pub struct DecaySettings {
    /// Which effects of spins and masses the decays include.
    pub mode: SpinMode,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of threads.
    pub threads: usize,
    /// Largest distance of a mass from the pole, in widths.
    pub widths: f64,
}

/// A matrix element of production combined with a channel for each root.
pub struct DecayCombination {
    /// The process of both together.
    pub name: String,
    /// Statistics of the accepted weights.
    pub maxima: Maxima,
    /// Number of trials whose matrix element was evaluated.
    pub trials: u64,
    /// Production and decays together; `None` where spins are neglected.
    element: Option<Evaluator>,
    number: u32,
    points: u64,
    bound: f64,
}

/// A decayed event.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Index of its class.
    pub class: usize,
    /// The flavour of each root's decay.
    pub flavours: Vec<usize>,
    /// The colour flow of each decay.
    pub flows: Vec<usize>,
    /// Momenta in the frame of the file: those of the legs, with each root replaced by its decay products.
    pub momenta: Vec<Momentum>,
    /// Their helicities, where known.
    pub spins: Vec<Option<i8>>,
    /// Whether the momenta of production changed.
    pub moved: bool,
}

/// An event that is being decayed.
struct Work {
    /// Its index in the chunk.
    event: usize,
    outcome: Outcome,
    /// Momenta of its legs in the rest frame of the initial state.
    momenta: Vec<Momentum>,
    /// Masses of its legs in the file, GeV.
    masses: Vec<f64>,
    total: Momentum,
    g_s: f64,
    /// |M|^2 of production.
    squared: f64,
    /// An upper bound on the ratio of phase-space volumes.
    largest: f64,
}

/// An accepted trial.
struct Taken {
    work: usize,
    momenta: Vec<Momentum>,
    helicity: usize,
    /// Row in the helicity table of each decay.
    rows: Vec<usize>,
}

/// Decays events, keeping all that can be reused from one event to the next.
pub struct Decayer<'a> {
    /// Model, parameters and settings that all matrix elements share.
    pub theory: &'a Theory,
    /// The requested decays.
    pub request: DecayRequest,
    /// The generator of each channel's decays.
    pub sources: Vec<DecayGenerator>,
    /// Settings.
    pub conditions: DecaySettings,
    /// Classes of the events so far.
    pub classes: Vec<EventClass>,
    /// Production with decays for the events so far.
    pub pairs: Vec<DecayCombination>,
    /// Number of events whose decays neglect the spins of production, by reason.
    pub averaged: SortedMap<String, u64>,
    production: Production,
    by_key: HashMap<Vec<[i32; 4]>, usize>,
    reasons: Vec<Option<String>>,
    by_parts: HashMap<(Spins, Vec<usize>), usize>,
    path: &'a Path,
}

/// The key of a pair's production: a matrix element, or a class of events if spins of production are neglected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spins {
    Produced(usize),
    Averaged(usize),
}

impl<'a> Decayer<'a> {
    /// For the events of the file `path`, which error messages name.
    pub fn new(
        theory: &'a Theory,
        (request, sources): (DecayRequest, Vec<DecayGenerator>),
        production: Production,
        conditions: DecaySettings,
        path: &'a Path,
    ) -> Self {
        Decayer {
            theory,
            request,
            sources,
            conditions,
            classes: Vec::new(),
            pairs: Vec::new(),
            averaged: SortedMap::new(),
            production,
            by_key: HashMap::new(),
            reasons: Vec::new(),
            by_parts: HashMap::new(),
            path,
        }
    }

    fn error(&self, event: &Event, what: &str) -> Error {
        Error::EventsFile {
            path: self.path.to_owned(),
            what: format!("{} {what}", event.place),
        }
    }

    /// Decays events; `first` is the index of the first one in the file. Events without decaying particles get an
    /// outcome that has only its class.
    ///
    /// # Errors
    /// An event has too little energy for the masses, or a matrix element cannot be evaluated.
    pub fn decay(&mut self, events: &[Event], first: u64) -> Result<Vec<Outcome>> {
        let mut groups: SortedMap<usize, Vec<Work>> = SortedMap::new();
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(events.len());
        let mut works = Vec::new();
        for (place, event) in events.iter().enumerate() {
            let class = self.class(event)?;
            let outcome = Outcome {
                class,
                ..Outcome::default()
            };
            outcomes.push(outcome.clone());
            if !self.classes[class].roots.is_empty() {
                works.push(self.work(event, place, first + place as u64, outcome)?);
            }
        }
        self.evaluate_production(&mut works)?;
        for work in works {
            let pair = self.pair(&work)?;
            groups.entry(pair).or_default().push(work);
        }
        for (pair, works) in groups {
            self.decay_pair(pair, works, events, &mut outcomes)?;
        }
        Ok(outcomes)
    }

    fn class(&mut self, event: &Event) -> Result<usize> {
        let key = key(&event.particles);
        if let Some(known) = self.by_key.get(&key) {
            return Ok(*known);
        }
        let incoming = event
            .particles
            .iter()
            .filter(|particle| particle.is_incoming())
            .count();
        if !(1..=2).contains(&incoming) {
            return Err(self.error(
                event,
                &format!("has {incoming} incoming particles (ISTUP -1), not one or two"),
            ));
        }
        let production = match self.conditions.mode {
            SpinMode::None => None,
            _ => Some(&mut self.production),
        };
        let (class, why) =
            EventClass::new(&event.particles, &self.request, production, self.theory)?;
        let number = self.classes.len();
        self.classes.push(class);
        self.reasons.push(why);
        self.by_key.insert(key, number);
        Ok(number)
    }

    /// Prepares an event: chooses flavours and colour flows, and boosts its momenta to the rest frame of the initial
    /// state.
    fn work(&self, event: &Event, place: usize, number: u64, mut outcome: Outcome) -> Result<Work> {
        let class = &self.classes[outcome.class];
        let philox = self.philox(EVENTS, 0);
        let mut dimension = 0;
        outcome.flavours = class.draw_flavours(|| {
            dimension += 1;
            philox.number(number, dimension)
        });
        let flow = |(root, &flavour): (usize, &usize)| {
            let flows = self.request.channels[self.request.flavours[flavour].channel]
                .flows
                .len();
            let random = philox.number(number, dimension + 1 + root as u32);
            ((random * flows as f64) as usize).min(flows.saturating_sub(1))
        };
        outcome.flows = outcome.flavours.iter().enumerate().map(flow).collect();
        let of = |&at: &usize| -> &Particle { &event.particles[at] };
        let lab: Vec<Momentum> = (class.legs.iter().map(|at| of(at).four_momentum())).collect();
        let total = sum(&lab[..class.incoming]);
        let energy = mass(total);
        if energy <= 0.0 {
            return Err(self.error(
                event,
                "has no energy in the rest frame of its incoming particles",
            ));
        }
        let alpha_s = event.alpha_qcd;
        let mut work = Work {
            event: place,
            outcome,
            momenta: lab
                .iter()
                .map(|&momentum| to_rest(momentum, total, energy))
                .collect(),
            masses: class
                .legs
                .iter()
                .map(|at| of(at).momentum[4].abs())
                .collect(),
            total,
            g_s: match alpha_s > 0.0 {
                true => (4.0 * PI * alpha_s).sqrt(),
                false => self.theory.g_s(energy),
            },
            squared: 0.0,
            largest: 1.0,
        };
        self.set_largest(&mut work, event)?;
        Ok(work)
    }

    /// Bounds the ratio of phase-space volumes by its value for the smallest masses.
    fn set_largest(&self, work: &mut Work, event: &Event) -> Result<()> {
        let class = &self.classes[work.outcome.class];
        let mut masses = work.masses.clone();
        for (root, &flavour) in class.roots.iter().zip(&work.outcome.flavours) {
            let shape = &self.request.channels[self.request.flavours[flavour].channel].shape;
            let node = &shape.nodes[0];
            let own = work.masses[root.leg];
            let widths = match class.is_alone {
                true => 0.0,
                false => self.conditions.widths,
            };
            if (own - node.mass).abs() > f64::max(widths * node.width, 1e-4 * node.mass) {
                let what = format!(
                    "has PDG {} with the mass {own}; it is {} in the parameter card",
                    node.pdg, node.mass
                );
                return Err(self.error(
                    event,
                    &(what + "; give the card that the events were made with by --param-card"),
                ));
            }
            masses[root.leg] = match (self.off_shell(class), class.is_alone) {
                (true, _) => node.window[0],
                (false, true) => own,
                (false, false) => node.mass,
            };
        }
        work.outcome.moved = masses
            .iter()
            .zip(&work.masses)
            .any(|(a, b)| (a - b).abs() > SAME * b);
        if work.outcome.moved {
            let mut momenta = work.momenta.clone();
            let Some(ratio) = class.group.reshuffle(&mut momenta, &work.masses, &masses) else {
                return Err(self.error(
                    event,
                    "has too little energy for the masses of the decaying particles",
                ));
            };
            work.largest = ratio;
        }
        Ok(())
    }

    /// Whether masses of decaying particles are drawn rather than those of the card.
    fn off_shell(&self, class: &EventClass) -> bool {
        self.conditions.mode == SpinMode::Full && !class.is_alone
    }

    fn philox(&self, round: u16, channel: u32) -> Philox {
        Philox {
            seed: self.conditions.seed,
            round,
            channel,
        }
    }

    /// Evaluates |M|^2 of production.
    fn evaluate_production(&mut self, works: &mut [Work]) -> Result<()> {
        let mut by_element: SortedMap<usize, Vec<usize>> = SortedMap::new();
        for (number, work) in works.iter().enumerate() {
            if let Some(element) = self.classes[work.outcome.class].production {
                by_element.entry(element).or_default().push(number);
            }
        }
        let mut found = MatrixElementValues::default();
        for (element, numbers) in by_element {
            let own = numbers.iter().map(|&number| &works[number]);
            let momenta: Vec<f64> = own
                .clone()
                .flat_map(|work| work.momenta.as_flattened())
                .copied()
                .collect();
            let g_s: Vec<f64> = own.map(|work| work.g_s).collect();
            let element = self.production.element(element, self.theory)?;
            element.evaluate(&momenta, &g_s, &vec![0.5; g_s.len()], &mut found)?;
            for (&number, &squared) in numbers.iter().zip(&found.squared) {
                works[number].squared = squared;
            }
        }
        Ok(())
    }

    /// The index of an event's pair, which is created on first use.
    fn pair(&mut self, work: &Work) -> Result<usize> {
        let class = &self.classes[work.outcome.class];
        let channels = work
            .outcome
            .flavours
            .iter()
            .map(|&flavour| self.request.flavours[flavour].channel);
        let channels: Vec<usize> = channels.collect();
        let mut why = self.reasons[work.outcome.class].clone();
        let mut part = class
            .production
            .map_or(Spins::Averaged(work.outcome.class), Spins::Produced);
        if class.production.is_some() && (work.squared.is_nan() || work.squared <= 0.0) {
            part = Spins::Averaged(work.outcome.class);
            why = Some("|M|^2 of production vanishes".to_owned());
        }
        let key = (part, channels);
        let pair = match self.by_parts.get(&key) {
            Some(known) => *known,
            None => {
                let pair = self.new_pair(&key, work.outcome.class)?;
                self.pairs.push(pair);
                self.by_parts.insert(key, self.pairs.len() - 1);
                self.pairs.len() - 1
            }
        };
        if self.pairs[pair].element.is_none() && self.conditions.mode != SpinMode::None {
            let why =
                why.unwrap_or_else(|| format!("{} cannot be generated", self.pairs[pair].name));
            *self.averaged.entry(why).or_default() += 1;
        }
        Ok(pair)
    }

    fn new_pair(
        &self,
        (part, channels): &(Spins, Vec<usize>),
        class: usize,
    ) -> Result<DecayCombination> {
        let class = &self.classes[class];
        let mut pair = DecayCombination {
            name: String::new(),
            maxima: Maxima::default(),
            trials: 0,
            element: None,
            number: self.pairs.len() as u32,
            points: 0,
            bound: 0.0,
        };
        let Spins::Produced(number) = *part else {
            let names = channels
                .iter()
                .map(|&channel| self.request.channels[channel].name.to_string());
            pair.name = names.collect::<Vec<_>>().join("; ");
            return Ok(pair);
        };
        let produced = self.production.get(number);
        let decays = class.roots.iter().zip(channels);
        let decays = decays.map(|(root, &channel)| {
            (
                root.leg - class.incoming,
                &self.request.channels[channel].name,
            )
        });
        let decays: Vec<(usize, &Name)> = decays.collect();
        pair.name = produced
            .name
            .with_decays(&decays, &self.theory.model)
            .to_string();
        // Where both cannot be generated together (squared orders, too many legs), spins are neglected.
        let Ok(elements) = self.theory.matrix_elements(&pair.name) else {
            return Ok(pair);
        };
        let process = elements.process(0)?;
        let mut expected = Vec::new();
        for (leg, own) in produced.process.legs.iter().enumerate() {
            match class.roots.iter().position(|root| root.leg == leg) {
                Some(root) => expected.extend(&self.request.channels[channels[root]].codes[1..]),
                None => expected.push(own.pdg),
            }
        }
        let found: Vec<i32> = process.legs.iter().map(|leg: &Leg| leg.pdg).collect();
        if found != expected {
            let what = format!("its legs are {found:?} instead of {expected:?}");
            return Err(Error::run_at(
                &pair.name,
                what,
                "name the decays in another order",
            ));
        }
        pair.element = Some(Evaluator::new(process, self.theory)?);
        Ok(pair)
    }

    /// Decays the events of a pair.
    fn decay_pair(
        &mut self,
        pair: usize,
        works: Vec<Work>,
        events: &[Event],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        let mut pending: Vec<usize> = (0..works.len()).collect();
        let mut training: Vec<f64> = Vec::new();
        let mut passes = 0;
        while !pending.is_empty() {
            let per_event = (AT_ONCE / pending.len()).clamp(1, MAX_PER_EVENT);
            passes += per_event as u64;
            if passes > MAX_TRIALS {
                let event = &events[works[pending[0]].event];
                return Err(self.error(
                    event,
                    "has too little phase space for its decays; use a smaller --bw-cut",
                ));
            }
            let numbers: Vec<usize> = pending
                .iter()
                .flat_map(|&work| std::iter::repeat_n(work, per_event))
                .collect();
            let taken = self.trials(pair, &works, &numbers, &mut training)?;
            let mut done = vec![false; works.len()];
            for taken in taken {
                if !std::mem::replace(&mut done[taken.work], true) {
                    let work = &works[taken.work];
                    outcomes[work.event] = self.outcome(pair, work, taken);
                }
            }
            pending.retain(|&work| !done[work]);
        }
        Ok(())
    }

    /// Makes one trial for each event in `numbers` (indices of `works`) and returns the accepted ones.
    fn trials(
        &mut self,
        pair: usize,
        works: &[Work],
        numbers: &[usize],
        training: &mut Vec<f64>,
    ) -> Result<Vec<Taken>> {
        let example = &works[numbers[0]].outcome;
        let how = PointSettings {
            seed: self.conditions.seed,
            off_shell: self.off_shell(&self.classes[example.class]),
            threads: self.conditions.threads,
        };
        let channels = example
            .flavours
            .iter()
            .map(|&flavour| self.request.flavours[flavour].channel);
        let channels: Vec<usize> = channels.collect();
        let mut drawn = Vec::new();
        for &channel in &channels {
            drawn.push(self.sources[channel].generate(numbers.len(), how)?);
        }
        let strides = channels
            .iter()
            .map(|&channel| self.request.channels[channel].stride());
        let strides: Vec<usize> = strides.collect();
        let of_trial = |trial: usize| -> Vec<DecayPoint> {
            let each = drawn.iter().zip(&strides);
            each.map(|(all, &stride)| DecayPoint(&all[trial * stride..][..stride]))
                .collect()
        };
        let (classes, request) = (&self.classes, &self.request);
        let legs = classes[example.class].legs.len()
            + strides.iter().map(|stride| (stride - 3) / 4).sum::<usize>()
            - channels.len();
        // Momenta, and the weight without |M|^2 of production and decays together.
        let row = 4 * legs + 1;
        let own = &self.pairs[pair];
        let (philox, points) = (self.philox(TRIALS, own.number), own.points);
        let mut rows = vec![0.0; numbers.len() * row];
        parallel::fill(self.conditions.threads, &mut rows, row, |first, part| {
            for (place, trial_row) in part.chunks_exact_mut(row).enumerate() {
                let trial = first + place;
                let work = &works[numbers[trial]];
                let random = philox.number(points + trial as u64, 0);
                let (momenta, weight) = trial_row.split_at_mut(4 * legs);
                let decays = of_trial(trial);
                weight[0] = place_decays(
                    work,
                    &classes[work.outcome.class],
                    request,
                    &decays,
                    random,
                    momenta,
                );
            }
        });
        let trials: Vec<usize> = (0..numbers.len())
            .filter(|&trial| rows[(trial + 1) * row - 1] > 0.0)
            .collect();
        let pair = &mut self.pairs[pair];
        pair.points += numbers.len() as u64;
        let momenta_of = |trial: usize| &rows[trial * row..][..4 * legs];
        let point = |trial: usize| points + trial as u64;
        let taken = |trial: usize, helicity: usize| Taken {
            work: numbers[trial],
            momenta: momenta_of(trial).as_chunks().0.to_vec(),
            helicity,
            rows: of_trial(trial).iter().map(DecayPoint::helicity).collect(),
        };
        let Some(element) = &mut pair.element else {
            return Ok(trials.into_iter().map(|trial| taken(trial, 0)).collect());
        };
        let momenta = trials.iter().flat_map(|&trial| momenta_of(trial));
        let momenta: Vec<f64> = momenta.copied().collect();
        let g_s = trials.iter().map(|&trial| works[numbers[trial]].g_s);
        let g_s: Vec<f64> = g_s.collect();
        let random = trials.iter().map(|&trial| philox.number(point(trial), 1));
        let random: Vec<f64> = random.collect();
        let mut found = MatrixElementValues::default();
        element.evaluate(&momenta, &g_s, &random, &mut found)?;
        pair.trials += trials.len() as u64;
        let weights = trials.iter().zip(&found.squared);
        let weights: Vec<f64> = weights
            .map(|(&trial, squared)| squared * rows[(trial + 1) * row - 1])
            .collect();
        if pair.bound == 0.0 {
            training.extend(&weights);
            if training.len() >= TRAINING {
                pair.bound = MARGIN
                    * training
                        .iter()
                        .fold(0.0, |most: f64, weight| most.max(*weight));
            }
            return Ok(Vec::new());
        }
        let mut found_some = Vec::new();
        let mut done = vec![false; works.len()];
        for ((&trial, &weight), &helicity) in trials.iter().zip(&weights).zip(&found.helicities) {
            if done[numbers[trial]] || philox.number(point(trial), 2) * pair.bound >= weight {
                continue;
            }
            done[numbers[trial]] = true;
            pair.maxima.count(weight / pair.bound);
            pair.bound = pair.bound.max(weight);
            found_some.push(taken(trial, helicity));
        }
        Ok(found_some)
    }

    /// The decayed event of an accepted trial.
    fn outcome(&self, pair: usize, work: &Work, taken: Taken) -> Outcome {
        let class = &self.classes[work.outcome.class];
        let energy = mass(work.total);
        let to_file = |momentum: &Momentum| boost(*momentum, work.total, energy);
        let spins = match &self.pairs[pair].element {
            Some(element) => element.process.helicities[taken.helicity]
                .iter()
                .map(|&h| Some(h))
                .collect(),
            None => {
                let of_leg = |leg: usize| match class.roots.iter().position(|root| root.leg == leg)
                {
                    None => vec![None],
                    Some(root) => {
                        let flavour = &self.request.flavours[work.outcome.flavours[root]];
                        let row =
                            &self.request.channels[flavour.channel].helicities[taken.rows[root]];
                        row[1..].iter().map(|&h| Some(h)).collect()
                    }
                };
                (0..class.legs.len()).flat_map(of_leg).collect()
            }
        };
        Outcome {
            momenta: taken.momenta.iter().map(to_file).collect(),
            spins,
            ..work.outcome.clone()
        }
    }
}

/// Puts decays into an event and returns the weight without |M|^2 of production and decays together; 0 if the ratio of
/// phase-space volumes rejects the trial.
fn place_decays(
    work: &Work,
    class: &EventClass,
    request: &DecayRequest,
    decays: &[DecayPoint],
    random: f64,
    momenta: &mut [f64],
) -> f64 {
    let mut own = work.momenta.clone();
    if work.outcome.moved {
        let mut masses = work.masses.clone();
        for (root, decay) in class.roots.iter().zip(decays) {
            masses[root.leg] = decay.mass();
        }
        match class.group.reshuffle(&mut own, &work.masses, &masses) {
            Some(ratio) if random * work.largest < ratio => {}
            _ => return 0.0,
        }
    }
    let (to, _) = momenta.as_chunks_mut();
    let mut place = 0;
    let mut weight = 1.0;
    let mut decay = 0;
    for (leg, momentum) in own.iter().enumerate() {
        if class.roots.get(decay).is_none_or(|root| root.leg != leg) {
            to[place] = *momentum;
            place += 1;
            continue;
        }
        let drawn = &decays[decay];
        let channel = &request.channels[request.flavours[work.outcome.flavours[decay]].channel];
        let node = &channel.shape.nodes[0];
        let mass = drawn.mass();
        let coupling = (channel.g_s / work.g_s).powf(channel.power);
        weight *= coupling * propagator([node.mass, node.width], mass) / drawn.squared();
        for product in drawn.momenta() {
            to[place] = boost(*product, *momentum, mass);
            place += 1;
        }
        decay += 1;
    }
    match work.squared > 0.0 {
        true => weight / work.squared,
        false => 1.0,
    }
}
