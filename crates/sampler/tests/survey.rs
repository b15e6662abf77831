//! Surveys and rounds of an integrand whose cross section has a closed form: three massless legs at 1 TeV, of which the
//! first two have a mass of 50 GeV or more, with |M|^2 = s / s_12.

use mebridge_phasespace::cuts::{Cuts, Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_phasespace::{
    Beams, Channel, ChannelSettings as Space, Diagram, Layout, Limits, Permutation, Propagator,
    Rows, Weights,
};
use mebridge_sampler::Error;
use mebridge_sampler::blocks::{Block, blocks};
use mebridge_sampler::events::{Event, Events};
use mebridge_sampler::flow::{Flow, FlowShape};
use mebridge_sampler::grid::Grid;
use mebridge_sampler::handover::{Handover, PendingEngine};
use mebridge_sampler::integrand::{
    Beam, ElementGroup, Failure, Flux, Integrand, MatrixElementSource, PICOBARN, Partons,
    PointNumbers, PointSource, RunningCoupling,
};
use mebridge_sampler::networks::{try_flows, weigh_given};
use mebridge_sampler::random::Philox;
use mebridge_sampler::rounds::{self, CorrectionSums, Round, round};
use mebridge_sampler::sums::{Estimate, WeightSums};
use mebridge_sampler::survey::{NoEvents, Survey, SurveySettings, survey};
use mebridge_sampler::weigh::{DrawnEvents, TrainingData, Weigh};
use mebridge_sampler::weigh_block::{BlockReader, weigh_each};
use mebridge_sampler::workspace::Workspace;
use mebridge_simd::Level;
use mebridge_support::threads::keep;
use std::collections::BTreeSet;
use std::f64::consts::PI;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ENERGY: f64 = 1000.0;
const MIN_ENERGY: f64 = 50.0;

struct OverMass;

impl MatrixElementSource for OverMass {
    fn evaluate(
        &mut self,
        _: usize,
        points: &Rows,
        _: &[f64],
        _: PointNumbers,
        squared: &mut [f64],
        _: &mut [i32],
    ) -> Result<(), Failure> {
        let layout = Layout::new(5);
        for (point, to) in squared.iter_mut().enumerate() {
            let row = |leg: usize, i: usize| points.row(layout.momentum(leg) + i)[point];
            let sum = |i: usize| row(2, i) + row(3, i);
            let [e, x, y, z]: [f64; 4] = std::array::from_fn(sum);
            *to = ENERGY * ENERGY / (e * e - x * x - y * y - z * z);
        }
        Ok(())
    }

    fn choose(&mut self, _: &mut [&mut Event]) -> Result<(), Failure> {
        Ok(())
    }
}

fn evaluators(threads: usize) -> Vec<OverMass> {
    (0..threads).map(|_| OverMass).collect()
}

/// Cross section with the mass of the first two legs between two values: three massless legs have the phase space ds_12
/// ds_23 / (128 pi^3 s).
fn exact(from: f64, to: f64) -> f64 {
    let s = ENERGY * ENERGY;
    let integral = s * f64::ln(to * to / (from * from)) - (to * to - from * from);
    PICOBARN / (2.0 * s) * integral / (128.0 * PI.powi(3))
}

/// The tree in which two of the legs come from a propagator with this mass and width.
fn diagram(pair: [usize; 2], mass: f64, width: f64) -> Diagram {
    let other = 3 - pair[0] - pair[1];
    let vertices = [
        "i0 i1 p0".to_owned(),
        format!("p0 p1 o{other}"),
        format!("p1 o{} o{}", pair[0], pair[1]),
    ];
    let line = |name: &str| name.parse().expect("a line");
    let of = [(0.0, 0.0), (mass, width)].map(|(mass, width)| Propagator { mass, width });
    Diagram {
        masses: vec![0.0; 3],
        propagators: of.to_vec(),
        vertices: (vertices.iter())
            .map(|names| names.split(' ').map(line).collect())
            .collect(),
    }
}

fn integrand(diagrams: &[Diagram], windows: &[Window]) -> Integrand {
    let limits = Limits::new(3, windows);
    let space = Space {
        energy: ENERGY,
        beams: Beams::Neither,
        incoming: [0.0; 2],
        fermions: Vec::new(),
        limits: limits.clone(),
    };
    let source = |(column, diagram): (u32, &Diagram)| PointSource {
        group: 0,
        channel: Arc::new(Channel::new(diagram, &space).expect("a channel")),
        permutations: vec![Permutation::identity(3)],
        columns: vec![column],
        chances: vec![1.0],
    };
    Integrand {
        groups: vec![ElementGroup {
            elements: vec![0],
            partons: vec![Partons {
                element: 0,
                codes: [11, -11],
                helicities: [None; 2],
                exchanged: false,
                factor: 1.0,
            }],
            weights: Weights::new(diagrams, &limits, false).expect("weights"),
            cuts: Some(Cuts::new(5, windows, &[]).expect("cuts")),
            scale: Scale {
                dynamical: Dynamical::HalfTransverseMass,
                factor: 1.0,
                renormalisation: Some(91.188),
                factorisation: [Some(91.188); 2],
            },
            clustering: None,
            legs: 5,
            beams: [0, 1],
            rapidity: 0.0,
            flux: Flux::Collision([0.0; 2]),
        }],
        sources: (0..).zip(diagrams).map(source).collect(),
        beams: [Beam::Parton, Beam::Parton],
        running: RunningCoupling::Fixed(0.118),
        selections: Vec::new(),
        functions: None,
        level: Level::best(),
    }
}

fn heavy() -> Window {
    Window::new(
        Observable::Mass,
        vec![vec![2, 3]],
        MIN_ENERGY,
        f64::INFINITY,
    )
}

fn three() -> Integrand {
    let pairs = [[0, 1], [1, 2], [0, 2]];
    integrand(&pairs.map(|pair| diagram(pair, 0.0, 0.0)), &[heavy()])
}

fn settings(seed: u64, events: u64) -> SurveySettings {
    SurveySettings {
        seed,
        events,
        overweight: 0.01,
        precision: None,
    }
}

fn made(settings: &SurveySettings, numbers: u16, threads: usize) -> (Survey, Vec<Round>) {
    made_by(settings, numbers, &mut evaluators(threads))
}

fn made_by(settings: &SurveySettings, numbers: u16, of: &mut dyn Weigh) -> (Survey, Vec<Round>) {
    let mut what = three();
    let survey = survey(&mut what, settings, of).expect("a survey");
    let one = |number| round(&what, &survey, settings, number, settings.events, of);
    let rounds = (0..numbers).map(one).collect::<Result<_, _>>();
    (survey, rounds.expect("rounds"))
}

fn summed(events: u64, rounds: &[Round]) -> impl Iterator<Item = (u64, &[WeightSums])> {
    rounds.iter().map(move |round| (events, &round.sums[..]))
}

#[test]
fn threads_change_nothing() {
    let all = [1, 2, 16].map(|threads| {
        let _kept = keep(threads - 1);
        made(&settings(7, 3000), 2, threads)
    });
    let [(survey, rounds), others @ ..] = all;
    for (other, more) in others {
        assert_eq!(other, survey);
        for (one, other) in rounds.iter().zip(&more) {
            assert_eq!((&one.drawn, &one.sums), (&other.drawn, &other.sums));
            assert!(one.events == other.events);
        }
    }
    assert!(rounds[0].events != rounds[1].events);
}

/// An engine that is ready when it has been looked for so often.
struct After(usize, Arc<AtomicUsize>);

impl PendingEngine<Counted> for After {
    fn ready(&mut self) -> Option<Result<Counted, Failure>> {
        self.0 = self.0.checked_sub(1)?;
        (self.0 == 0).then(|| self.wait())
    }

    fn wait(&mut self) -> Result<Counted, Failure> {
        Ok(Counted {
            evaluators: evaluators(1),
            sources: 0,
            blocks: self.1.clone(),
        })
    }
}

/// An engine that must be given each integrand before its blocks.
struct Counted {
    evaluators: Vec<OverMass>,
    sources: usize,
    blocks: Arc<AtomicUsize>,
}

impl Weigh for Counted {
    fn threads(&self) -> usize {
        1
    }

    fn set(&mut self, integrand: &Integrand) -> Result<(), Failure> {
        self.sources = integrand.sources.len();
        Ok(())
    }

    fn learn(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        trial: bool,
        take: &mut dyn FnMut(usize, &TrainingData),
    ) -> Result<(), Failure> {
        assert_eq!(self.sources, integrand.sources.len());
        self.blocks.fetch_add(blocks.len(), Ordering::Relaxed);
        self.evaluators.learn(integrand, blocks, trial, take)
    }

    fn draw(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        thresholds: &[f64],
        take: &mut dyn FnMut(DrawnEvents),
    ) -> Result<(), Failure> {
        assert_eq!(self.sources, integrand.sources.len());
        self.blocks.fetch_add(blocks.len(), Ordering::Relaxed);
        self.evaluators.draw(integrand, blocks, thresholds, take)
    }

    fn choose(&mut self, parts: &mut [Vec<Event>]) -> Result<(), Failure> {
        self.evaluators.choose(parts)
    }
}

/// Events do not depend on when one engine takes over from another; and it does in the middle of what is weighed.
#[test]
fn an_engine_that_takes_over_changes_nothing() {
    let settings = settings(7, 3000);
    let (survey, rounds) = made(&settings, 2, 1);
    let counts = [1, 2, 5, 9, 14, 30, 1000].map(|looks| {
        let blocks = Arc::new(AtomicUsize::new(0));
        let mut both = Handover::new(evaluators(1), After(looks, blocks.clone()));
        let (other, more) = made_by(&settings, 2, &mut both);
        assert_eq!(other, survey);
        for (one, other) in rounds.iter().zip(&more) {
            assert_eq!((&one.drawn, &one.sums), (&other.drawn, &other.sums));
            assert!(one.events == other.events);
        }
        blocks.load(Ordering::Relaxed)
    });
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    let different: BTreeSet<usize> = counts.into_iter().collect();
    assert!(different.len() > 4 && counts[6] == 0, "{counts:?}");
}

#[test]
fn cross_sections_scatter_by_their_errors_about_the_closed_form() {
    let (seeds, events) = (50, 300);
    let (mut sum, mut square) = (0.0, 0.0);
    for seed in 0..seeds {
        let (survey, rounds) = made(&settings(seed, events), 2, 1);
        let found = rounds::cross_section(&survey, summed(events, &rounds));
        let pull = (found.mean - exact(MIN_ENERGY, ENERGY)) / found.error;
        sum += pull;
        square += pull * pull;
        assert!(found.error < 0.03 * found.mean, "{found:?}");
    }
    let mean = sum / seeds as f64;
    let width = (square / seeds as f64 - mean * mean).sqrt();
    // One standard deviation is 0.14 and 0.1.
    assert!(
        mean.abs() < 0.4 && (0.7..1.3).contains(&width),
        "{mean} {width}"
    );
}

fn masses_follow_the_cross_section(events: &Events) {
    let mass = |event: &Event| {
        let sum = |i: usize| event.momenta[2][i] + event.momenta[3][i];
        let [e, x, y, z] = std::array::from_fn(sum);
        (e * e - x * x - y * y - z * z).sqrt()
    };
    let count = events.len() as f64;
    let total: f64 = events.iter().map(|event| event.weight).sum();
    // The excess is at most a hundredth of each source, as its spectrum requires.
    assert!((1.0..1.02).contains(&(total / count)), "{total}");
    for (from, to) in [
        (50.0, 100.0),
        (100.0, 300.0),
        (300.0, 600.0),
        (600.0, 1000.0),
    ] {
        let within = events
            .iter()
            .filter(|event| (from..to).contains(&mass(event)));
        let share = within.map(|event| event.weight).sum::<f64>() / total;
        let wanted = exact(from, to) / exact(MIN_ENERGY, ENERGY);
        let error = (wanted * (1.0 - wanted) / count).sqrt();
        assert!(
            (share - wanted).abs() < 4.0 * error,
            "{from} {share} {wanted}"
        );
    }
}

#[test]
fn events_follow_the_cross_section() {
    let (_, rounds) = made(&settings(3, 10_000), 1, 2);
    let events = &rounds[0].events;
    assert_eq!(events.len(), 10_000);
    masses_follow_the_cross_section(events);
    // Sources are mixed.
    let first = events.iter().take(1000).filter(|event| event.source == 0);
    let all = events.iter().filter(|event| event.source == 0);
    let (first, all) = (first.count() as f64, all.count() as f64 / 10.0);
    assert!((first - all).abs() < 100.0, "{first} {all}");
}

#[test]
fn sources_that_others_can_stand_for_are_left_out() {
    // Far from the mass shell, weights are a thousandth. Its resonance is kept, but not twice.
    let far = |pair, width| diagram(pair, 5000.0, width);
    let all = [
        diagram([0, 1], 0.0, 0.0),
        far([0, 1], 0.0),
        far([1, 2], 10.0),
        far([1, 2], 10.0),
    ];
    let mut what = integrand(&all, &[heavy()]);
    let found = survey(&mut what, &settings(1, 1000), &mut evaluators(1)).expect("a survey");
    let stay = &found.stay[..];
    assert!(matches!(stay, [0, 2 | 3]) && found.of == 4, "{stay:?}");
    let xs = found.cross_section();
    assert!(
        (xs.mean - exact(MIN_ENERGY, ENERGY)).abs() < 4.0 * xs.error,
        "{xs:?}"
    );
    let columns: Vec<&[u32]> = what.sources.iter().map(|of| &of.columns[..]).collect();
    assert_eq!(
        (columns, what.groups[0].weights.count()),
        (vec![&[0][..], &[1]], 2)
    );
}

#[test]
fn azimuths_stay_even() {
    let mut what = three();
    let found = survey(&mut what, &settings(1, 10_000), &mut evaluators(1)).expect("a survey");
    for (source, known) in what.sources.iter().zip(&found.sources) {
        let even = Grid::new(known.grid.dimensions());
        let azimuths: Vec<usize> = source.channel.azimuths().collect();
        // For two decays.
        assert_eq!((azimuths.len(), known.grid.dimensions()), (2, 5));
        for dimension in 0..5 {
            let same = known.grid.edges(dimension) == even.edges(dimension);
            assert_eq!(same, azimuths.contains(&dimension), "{dimension}");
        }
    }
}

#[test]
fn a_survey_measures_as_well_as_is_wanted() {
    let precise = SurveySettings {
        precision: Some(0.003),
        ..settings(1, 100)
    };
    let (found, _) = made(&precise, 0, 1);
    let xs = found.cross_section();
    // The errors come from other points than those that determined the number of points.
    assert!(xs.error < 0.004 * xs.mean, "{xs:?}");
}

/// The input numbers of each point, including the one for its partons, and its weight.
struct Given;

impl BlockReader for Given {
    type Output = (Vec<f64>, Vec<f64>);

    fn read(&self, _: &Block, work: &Workspace) -> Self::Output {
        let numbers = (0..work.weights.len()).flat_map(|point| {
            let row = move |row| work.numbers.row(row)[point];
            (0..work.numbers.count()).map(row)
        });
        (numbers.collect(), work.weights.clone())
    }
}

#[test]
fn numbers_that_are_given_have_the_weights_of_random_ones() {
    let (mut what, mut of) = (three(), evaluators(2));
    let survey = survey(&mut what, &settings(5, 500), &mut of).expect("a survey");
    for (source, known) in survey.sources.iter().enumerate() {
        let random = Philox {
            seed: 8,
            round: 0,
            channel: 3,
        };
        let plan: Vec<Block> = blocks(source, &known.grid, random, 16, 1000).collect();
        let mut found = Vec::new();
        weigh_each(&what, &plan, &mut of, &Given, |kept| found.push(kept)).expect("weights");
        let numbers: Vec<f64> = found
            .iter()
            .flat_map(|(numbers, _)| numbers.clone())
            .collect();
        let expected: Vec<f64> = found.into_iter().flat_map(|(_, weights)| weights).collect();
        let weights = weigh_given(&what, &survey, source, 16, &numbers, &mut of);
        assert!(weights.expect("weights") == expected);
        assert!(expected.iter().any(|&weight| weight > 0.0));
    }
}

/// Flows with networks of this size for all sources.
fn flows(survey: &Survey, size: f64) -> Vec<Option<Flow>> {
    let flow = |dimensions: usize| {
        let block = |turn| (0..dimensions).map(|i| (i + turn) % 2 == 0).collect();
        let shape = FlowShape {
            bins: 4,
            units: 6,
            layers: 2,
            conditions: vec![block(0), block(1)],
        };
        let parameters = (0..shape.parameters()).map(|i| (size * (1.7 * i as f64).sin()) as f32);
        let parameters = parameters.collect();
        Flow::new(shape, parameters).expect("a flow")
    };
    let sources = survey.sources.iter();
    sources
        .map(|known| Some(flow(known.grid.dimensions())))
        .collect()
}

/// Pretends that grids needed more points by this factor.
fn worse(survey: &Survey, times: f64) -> Survey {
    let mut survey = survey.clone();
    for known in &mut survey.sources {
        known.trial[1] *= times;
    }
    survey
}

fn has_flows(survey: &Survey) -> Vec<bool> {
    let sources = survey.sources.iter();
    sources.map(|known| known.flow.is_some()).collect()
}

#[test]
fn a_source_has_a_flow_where_that_is_better() {
    let (mut what, settings, mut of) = (three(), settings(5, 2000), evaluators(1));
    let grids = survey(&mut what, &settings, &mut of).expect("a survey");
    let count = grids.sources.len();
    let mut tried = |survey: &Survey, flows: Vec<Option<Flow>>| {
        try_flows(&what, survey, &settings, flows, &mut of).expect("a survey")
    };
    let found = tried(&grids, flows(&grids, 0.5));
    assert_eq!(has_flows(&found), vec![false; count]);
    assert_eq!(found.sources, grids.sources);
    assert!(found.points > grids.points);
    let poor = worse(&grids, 100.0);
    assert_eq!(
        has_flows(&tried(&poor, flows(&grids, 0.5))),
        vec![true; count]
    );
    assert_eq!(tried(&poor, vec![None; count]), poor);
}

#[test]
fn a_flow_that_misses_what_the_survey_has_is_left_out() {
    let (mut what, settings, mut of) = (three(), settings(5, 2000), evaluators(1));
    let mut grids = survey(&mut what, &settings, &mut of).expect("a survey");
    // The weights are the same, but the survey belongs to another integrand.
    what.groups[0].partons[0].factor = 0.5;
    grids = worse(&grids, 100.0);
    let found = try_flows(&what, &grids, &settings, flows(&grids, 0.1), &mut of);
    let found = found.expect("a survey");
    assert_eq!(has_flows(&found), vec![false; grids.sources.len()]);
}

#[test]
fn events_by_flows_are_those_of_grids() {
    let (mut what, settings) = (three(), settings(5, 4000));
    let grids = survey(&mut what, &settings, &mut evaluators(1)).expect("a survey");
    let poor = worse(&grids, 100.0);
    let made = |threads: usize| {
        let mut of = evaluators(threads);
        let survey = try_flows(&what, &poor, &settings, flows(&grids, 0.1), &mut of);
        let survey = survey.expect("a survey");
        assert!(has_flows(&survey).iter().all(|&has| has));
        let bytes = survey.to_bytes(&[1; 32]);
        assert_eq!(Survey::from_bytes(&bytes, &[1; 32]).as_ref(), Ok(&survey));
        let made = round(&what, &survey, &settings, 0, settings.events, &mut of);
        (survey, made.expect("a round"))
    };
    let (survey, round) = made(1);
    let (_, other) = made(3);
    assert!(round.events == other.events && round.sums == other.sums);
    // Only points of the round: those of the survey used grids alone.
    let of_round = Estimate::sum(round.sums.iter().map(WeightSums::mean));
    let pull = (of_round.mean - exact(MIN_ENERGY, ENERGY)) / of_round.error;
    assert!(pull.abs() < 4.0, "{of_round:?}");
    let both = rounds::cross_section(&survey, [(settings.events, &round.sums[..])]);
    let pull = (both.mean - exact(MIN_ENERGY, ENERGY)) / both.error;
    assert!(pull.abs() < 4.0 && both.error < of_round.error, "{both:?}");
    masses_follow_the_cross_section(&round.events);
}

#[test]
fn a_survey_is_written_and_read() {
    let (mut what, settings) = (three(), settings(5, 500));
    let found = survey(&mut what, &settings, &mut evaluators(1)).expect("a survey");
    let bytes = found.to_bytes(&[1; 32]);
    let read = Survey::from_bytes(&bytes, &[1; 32]).expect("a survey");
    assert_eq!(read, found);
    let mut again = three();
    read.apply(&mut again).expect("the same sources");
    let events = |what: &Integrand, of: &Survey| {
        let round = round(what, of, &settings, 3, 100, &mut evaluators(1));
        round.expect("a round").events
    };
    assert!(events(&what, &found) == events(&again, &read));

    let same = diagram([0, 1], 0.0, 0.0);
    let mut other = integrand(&[same], &[heavy()]);
    assert_eq!(read.apply(&mut other), Err(Error::OtherRun));
    let error = |bytes: &[u8], of: u8| Survey::from_bytes(bytes, &[of; 32]).expect_err("none");
    assert_eq!(error(&bytes, 2), Error::OtherRun);
    assert_eq!(error(b"<LesHouchesEvents>", 1), Error::NoSurvey);
    assert_eq!(error(&[], 1), Error::NoSurvey);
    let mut newer = bytes.clone();
    newer[8] += 1;
    assert_eq!(error(&newer, 1), Error::Format { found: 5 });
    for cut in [17, 79, 80, bytes.len() - 1] {
        assert_eq!(error(&bytes[..cut], 1), Error::Damaged, "{cut}");
    }
    let mut damaged = bytes;
    *damaged.last_mut().expect("some bytes") ^= 1;
    assert_eq!(error(&damaged, 1), Error::Damaged);
}

#[test]
fn where_nothing_passes_it_is_said() {
    let none = Window::new(Observable::Mass, vec![vec![2, 3]], 0.0, 1e-9);
    let mut what = integrand(&[diagram([1, 2], 0.0, 0.0)], &[none]);
    let error = survey(&mut what, &settings(1, 10), &mut evaluators(1)).expect_err("nothing");
    assert!(
        matches!(error.downcast_ref(), Some(NoEvents::NonePasses(_))),
        "{error}"
    );
    assert!(
        error.to_string().contains("none passes the cuts"),
        "{error}"
    );
}

/// |M|^2 with a pole that no cut excludes.
struct Pole;

impl MatrixElementSource for Pole {
    fn evaluate(
        &mut self,
        element: usize,
        points: &Rows,
        alpha_s: &[f64],
        numbers: PointNumbers,
        squared: &mut [f64],
        channels: &mut [i32],
    ) -> Result<(), Failure> {
        OverMass.evaluate(element, points, alpha_s, numbers, squared, channels)?;
        for value in squared {
            *value = value.powi(3);
        }
        Ok(())
    }

    fn choose(&mut self, _: &mut [&mut Event]) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn an_infinite_cross_section_ends() {
    let mut integrand = integrand(&[diagram([0, 1], 0.0, 0.0)], &[]);
    let settings = settings(1, 100);
    let found = survey(&mut integrand, &settings, &mut vec![Pole]).expect("a survey");
    let wrong = round(&integrand, &found, &settings, 0, 100, &mut vec![Pole]);
    let wrong = wrong.expect_err("no events").to_string();
    assert!(wrong.contains("it is infinite"), "{wrong}");
}

/// Ratios of |M|^2 to its approximation are known as well as there are events, and exactly where there is no approximation.
#[test]
fn few_events_know_their_ratio_badly() {
    let sums = |ratios: &[f64]| {
        let mut sums = CorrectionSums::default();
        ratios.iter().for_each(|&ratio| sums.add(1.0, ratio));
        sums
    };
    let many: Vec<f64> = (0..10_000).map(|i| [1.4, 1.6][i % 2]).collect();
    let exact = CorrectionSums {
        is_exact: true,
        ..CorrectionSums::default()
    };
    let all = CorrectionSums::total([&sums(&many), &exact]);
    let found = |of: &CorrectionSums| of.mean_among(&all);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    let none = found(&sums(&[]));
    close(none.mean, 1.5);
    close(none.error, 1.5);
    let one = found(&sums(&[0.7]));
    close(one.mean, 0.7);
    close(one.error, 0.75);
    let some = found(&sums(&many));
    close(some.mean, 1.5);
    close(some.error, 0.1 / 100.0);
    let exact = found(&exact);
    assert_eq!((exact.mean, exact.error), (1.0, 0.0));
    let without = CorrectionSums::total([]).mean_among(&CorrectionSums::total([]));
    assert_eq!((without.mean, without.error), (1.0, 0.0));
}
