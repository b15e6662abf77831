use super::*;
use crate::maker::{CountedSelection, Description, ExtraValues, RoundEvents, identity};
use crate::scratch::check_room;
use mebridge::event_generator::{
    ColorTreatment, ElementRequest, EventGenerator, JetBias, Lifetimes, Request,
};
use mebridge::generate::generate_with;
use mebridge::models;
use mebridge_phasespace::cuts::{GroupValue, Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::integrand::{Failure, Selection};
use std::fs;
use std::sync::Arc;

/// Expected numbers are those of the former Python code.
#[test]
fn runs_are_divided_into_rounds() {
    assert_eq!(sizes(1, false), [1]);
    assert_eq!(sizes(9999, false), [9999]);
    assert_eq!(sizes(10_000, false), [5000; 2]);
    assert_eq!(sizes(23_001, false), [5751, 5750, 5750, 5750]);
    assert_eq!(sizes(250_000, true), [250_000]);
    let of = |events, on_gpus| {
        let found = sizes(events, on_gpus);
        assert_eq!(found.iter().sum::<u64>(), events);
        (found.len(), found[0], found[found.len() - 1])
    };
    assert_eq!(of(2_000_003, false), (41, 48_781, 48_780));
    assert_eq!(of(1_200_000, true), (4, 300_000, 300_000));
    assert_eq!(of(20_000_000, true), (40, 500_000, 500_000));
}

/// Expected numbers are those of the former Python code.
#[test]
fn parts_have_seeds_of_their_own() {
    let of = |run: &str| ["survey", "round 0", "round 12"].map(|part| seed(run, part));
    assert_eq!(
        of("7"),
        [
            61_458_029_874_008_774,
            17_444_375_056_954_817,
            59_074_501_431_461_861
        ]
    );
    assert_eq!(
        of("18446744073709551615"),
        [
            70_346_623_176_378_954,
            50_147_378_538_695_285,
            3_668_073_911_575_527
        ]
    );
    assert_eq!(
        of("7 before jobs"),
        [
            3_066_180_784_644_826,
            17_233_153_356_770_461,
            50_516_350_152_202_446
        ]
    );
}

const MEASURED: [Measured; 5] = [
    (512, 10.1, 0.3),
    (1024, 7.7, 0.21),
    (2048, 0.3, 0.011),
    (512, 5.5, 0.17),
    (600, 1.1, 0.09),
];

fn counted(events: u64, number: u32) -> RoundCounts {
    let k = f64::from(number);
    let measured = MEASURED.iter().zip(0..).map(|(&(_, mean, error), i)| {
        let (more, wider) = ((3 * i + 5 * number) % 7, (i + number) % 3);
        (
            u64::from(64 * i + 8 * number + 8),
            mean * (1.0 + 0.01 * (f64::from(more) - 3.0)),
            error * (1.5 + 0.1 * f64::from(wider)),
        )
    });
    let mut drawn = SortedMap::from([
        (0, [40.0 + k, 10.3 + k / 7.0, 2.9 + k / 3.0]),
        (1, [20.0 + k, 5.1 + k / 11.0, 1.3]),
        (2, [31.0 - k, 8.2 - k / 13.0, 2.2]),
    ]);
    if number != 5 {
        drawn.insert(4, [3.0, 0.1 * k, 0.05]);
    }
    RoundCounts {
        events,
        measured: measured.collect(),
        biased: Vec::new(),
        corrections: Vec::new(),
        drawn,
    }
}

/// Expected numbers are those of the former Python code for the same points.
#[test]
fn rounds_count_together() {
    let place = tempfile::tempdir().unwrap();
    let state = State::open(place.path(), &[], false).unwrap();
    let mut rounds = Rounds::new(state, 100, 7, 0.01, false).unwrap();
    let points = SurveyPoints {
        points: 1,
        elements: vec![vec![0], vec![1, 2], vec![0], vec![1, 2], vec![3, 4]],
        shares: vec![0.1, 0.7, 1.3, 2.5, 0.013],
        measured: MEASURED.to_vec(),
        biased: Vec::new(),
    };
    fs::write(
        place.path().join(POINTS),
        postcard::to_stdvec(&points).unwrap(),
    )
    .unwrap();
    rounds.use_survey(place.path()).unwrap();
    assert_eq!(rounds.cross_section(), None);
    let rows = [(100, 1), (77, 2), (1000, 3), (999, 4), (33, 5)];
    rounds.count(
        rows.map(|(events, number)| counted(events, number))
            .to_vec(),
    );
    let all = rounds.cross_section().unwrap();
    assert_eq!(all.mean.to_bits(), 0x4038_abe3_b93f_16d4);
    assert_eq!(all.error.to_bits(), 0x3fd4_d8f1_5fa6_e057);
    let means = [
        0x4024_d64e_9efb_f450,
        0x4015_2f6d_13f8_fd2c,
        0x401f_6c6e_589a_11dc,
        0,
        0x3ff1_9c58_e9c5_8e9c,
    ];
    let errors = [
        0.224_115_117_497_921_12,
        0.409_188_177_080_986_2,
        0.420_694_979_489_343_1,
        0.142_095_980_452_012_35,
        0.082_530_382_161_807_2,
    ];
    for (number, (mean, error)) in means.into_iter().zip(errors).enumerate() {
        let (_, of) = rounds.measured(number + 1).unwrap();
        let (found, its_error) = of[number];
        assert_eq!(found.to_bits(), mean, "{number}");
        assert!(
            (its_error / error - 1.0).abs() < 1e-15,
            "{number}: {its_error}"
        );
    }
    // Matrix elements of a process are added; those that share channels have the error of their sum.
    let of = rounds.by_process(&[3, 7, 7, 0, 0]).unwrap();
    assert_eq!(
        of.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        [0, 3, 7]
    );
    let (mean, error) = of[2].1;
    let both = f64::from_bits(means[1]) + f64::from_bits(means[2]);
    assert!((mean / both - 1.0).abs() < 1e-15);
    assert!(error < errors[1].hypot(errors[2]));
    let whole = of.iter().map(|(_, (mean, _))| mean).sum::<f64>();
    assert!((whole / all.mean - 1.0).abs() < 1e-15);
    let whole = of.iter().map(|(_, (_, error))| error * error).sum::<f64>();
    assert!((whole.sqrt() / all.error - 1.0).abs() < 1e-12);
}

fn request(energy: f64, windows: Vec<Window>) -> Request {
    let element = ElementRequest {
        windows,
        vanishes: Some(false),
        ..ElementRequest::default()
    };
    let scale = Scale {
        dynamical: Dynamical::PartonicEnergy,
        factor: 1.0,
        renormalisation: Some(91.188),
        factorisation: [Some(91.188); 2],
    };
    Request {
        backend: Some("cpu".to_owned()),
        color: ColorTreatment::Full,
        ..Request::new(energy, scale, vec![element])
    }
}

/// Returns a maker of g g > t t~.
fn maker<'a>(
    windows: Vec<Window>,
    selection: Option<Arc<CountedSelection>>,
    further: ExtraValues<'a>,
) -> Maker<'a> {
    maker_of("g g > t t~", &request(1000.0, windows), selection, further)
}

fn maker_of<'a>(
    process: &str,
    request: &Request,
    selection: Option<Arc<CountedSelection>>,
    further: ExtraValues<'a>,
) -> Maker<'a> {
    let model = models::model(None).expect("the Standard Model");
    let processes = generate_with(process, &model).expect("a process");
    let description = Description {
        identity: identity(&processes, request).unwrap(),
        names: vec!["21 21 6 -6".to_owned()],
        cuts: "pt = 20".to_owned(),
        selection: selection.clone(),
        threads: 1,
    };
    let selection = selection.map(|selection| selection as Arc<dyn Selection>);
    let generator = EventGenerator::new(processes, request, selection).expect("a generator");
    Maker::new(generator, description, further)
}

fn plain() -> Maker<'static> {
    maker(Vec::new(), None, ExtraValues::default())
}

fn begin(folder: &Path, events: u64) -> Rounds {
    let arguments = [("events".to_owned(), events.into())];
    let state = State::open(folder, &arguments, true).unwrap();
    Rounds::new(state, events, 3, 0.01, false).unwrap()
}

/// Continues a run, with at most `most` rounds.
fn go_on(folder: &Path, events: u64, most: usize) -> Result<Rounds> {
    let (mut rounds, mut maker, mut notices) = (begin(folder, events), plain(), Vec::new());
    rounds.survey(&mut maker, None, &mut notices)?;
    assert_eq!(notices, [""; 0]);
    let mut made = 0;
    rounds.run(&mut maker, |_| {
        made += 1;
        match made < most {
            true => Ok(()),
            false => Err(Error::run("interrupted", "")),
        }
    })?;
    Ok(rounds)
}

/// A run whose points are weighed at leading colour has the cross section of the full sum over colours, in a state that is
/// read again as well.
#[test]
fn rounds_at_leading_color_are_corrected() {
    let hard = Window {
        legs: vec![vec![4]],
        ..harder_than(30.0)
    };
    let made = |color: ColorTreatment| {
        let folder = tempfile::tempdir().unwrap();
        let request = Request {
            color,
            ..request(1000.0, vec![hard.clone()])
        };
        let mut maker = maker_of("g g > t t~ g", &request, None, ExtraValues::default());
        // A survey by single flows is not used for rounds with the full sum.
        let processes = mebridge::generate("g g > t t~ g").unwrap();
        let plain = identity(&processes, &request).unwrap();
        assert_eq!(*maker.identity() == plain, color == ColorTreatment::Full);
        let mut rounds = begin(folder.path(), 8000);
        rounds.survey(&mut maker, None, &mut Vec::new()).unwrap();
        rounds.run(&mut maker, |_| Ok(())).unwrap();
        let found = rounds.cross_section().unwrap();
        drop(rounds);
        let mut again = begin(folder.path(), 8000);
        again.survey(&mut maker, None, &mut Vec::new()).unwrap();
        assert_eq!(again.cross_section(), Some(found));
        let rounds = again.state().rounds().values();
        let (total, events) = rounds.fold((0.0, 0), |(total, events), round| {
            (total + round.weights.total, events + round.counted.events)
        });
        assert!((total / events as f64 / found.mean - 1.0).abs() < 0.02);
        found
    };
    let [full, first, leading] = [
        ColorTreatment::Full,
        ColorTreatment::LeadingFirst,
        ColorTreatment::Leading,
    ]
    .map(made);
    let pull = (full.mean - first.mean) / f64::hypot(full.error, first.error);
    assert!(pull.abs() < 4.0, "{full:?} {first:?}");
    assert!((leading.mean / full.mean - 1.0).abs() > 0.02, "{leading:?}");
}

fn bytes(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => found.extend(bytes(&entry.path())),
            false => found.push((
                entry.file_name().display().to_string(),
                fs::read(entry.path()).unwrap(),
            )),
        }
    }
    found.sort();
    found
}

#[test]
fn an_interrupted_run_goes_on_as_if_nothing_had_been() {
    let place = tempfile::tempdir().unwrap();
    let (whole, parts) = (place.path().join("whole"), place.path().join("parts"));
    let events = 10_003;
    let run = go_on(&whole, events, usize::MAX).unwrap();
    assert_eq!((run.finished_events(), run.open().len()), (events, 0));
    // Interruptions during the survey, and after each round.
    let rounds = begin(&parts, events);
    let part = rounds.state().part(SURVEY).unwrap();
    fs::write(part.join("half"), "").unwrap();
    drop(rounds);
    for left in [1, 0] {
        let ended = go_on(&parts, events, 1)
            .err()
            .map(|error| error.to_string());
        assert_eq!(ended.as_deref(), Some("interrupted"));
        assert_eq!(begin(&parts, events).open().len(), left);
    }
    let again = go_on(&parts, events, 1).expect("nothing is left to do");
    let cross_section = again.cross_section().unwrap();
    assert_eq!(again.cross_section(), run.cross_section());
    let pair = (cross_section.mean, cross_section.error);
    assert_eq!(again.measured(1), Some((pair, vec![pair])));
    assert_eq!(again.counted(), run.counted());
    assert_eq!(bytes(&parts), bytes(&whole));
    // Numbers of the former Python code for the same run; other processors round differently.
    let near =
        |found: f64, known: f64| assert!((found / known - 1.0).abs() < 1e-9, "{found} {known}");
    near(cross_section.mean, 11.361_464_815_637_68);
    near(cross_section.error, 0.005_025_751_851_697_582);
    // Records and their weights.
    let found = &run.state().rounds()[&0];
    let records = fs::read(run.state().records(0)).unwrap();
    assert_eq!(&records[..8], b"\x93NUMPY\x02\x00");
    let head = u32::from_le_bytes(records[8..12].try_into().unwrap()) as usize + 12;
    assert_eq!((head % 64, records.len() - head), (0, 5002 * (36 + 4 * 80)));
    assert_eq!(found.counted.drawn[&0][0], 5002.0);
    let mean = found.weights.total / 5002.0;
    assert!((mean / cross_section.mean - 1.0).abs() < 0.01);
    let points: u64 = found.channels.iter().map(|channel| channel.events).sum();
    assert_eq!(points, 5002);
    let second = &run.state().rounds()[&1];
    let drawn = [4888, 256];
    assert_eq!(
        second
            .channels
            .iter()
            .map(|one| one.drawn)
            .collect::<Vec<_>>(),
        drawn
    );
    near(second.weights.nominal, 11.251_571_901_738_785);
    near(second.weights.total, 56_816.775_099_887_75);
}

#[test]
fn more_events_keep_those_that_are_there() {
    let place = tempfile::tempdir().unwrap();
    drop(go_on(place.path(), 300, usize::MAX).unwrap());
    let first = fs::read(place.path().join("round0000.npy")).unwrap();
    let more = go_on(place.path(), 1000, usize::MAX).unwrap();
    assert_eq!(more.state().sizes(), [300, 700]);
    assert_eq!(more.finished_events(), 1000);
    assert_eq!(fs::read(more.state().records(0)).unwrap(), first);
    // Earlier rounds of other runs count, too.
    let error = more.cross_section().unwrap().error;
    let mut counts = more;
    counts.count(counts.counted());
    assert!(counts.cross_section().unwrap().error < error);
}

#[test]
fn further_weights_lie_beside_the_records() {
    let place = tempfile::tempdir().unwrap();
    let further = ExtraValues {
        ratios: Some(Box::new(|events: &RoundEvents| {
            assert_eq!(events.bytes.len(), 300 * (36 + 4 * 80));
            let pairs = events
                .records
                .round
                .events
                .iter()
                .map(|event| [event.weight, 2.0]);
            Ok(pairs.flatten().collect())
        })),
        densities: Some(Box::new(|events: &RoundEvents| {
            Ok(vec![7.0; events.scales.len()])
        })),
    };
    let mut maker = maker(Vec::new(), None, further);
    let mut rounds = begin(place.path(), 300);
    rounds.survey(&mut maker, None, &mut Vec::new()).unwrap();
    rounds.run(&mut maker, |_| Ok(())).unwrap();
    let doubles = |name: &str, count: usize| -> Vec<f64> {
        let bytes = fs::read(place.path().join(name)).unwrap();
        let (numbers, _) = bytes[bytes.len() - 8 * count..].as_chunks::<8>();
        numbers
            .iter()
            .map(|number| f64::from_le_bytes(*number))
            .collect()
    };
    let weights = doubles("round0000.weights.npy", 600);
    assert!(
        weights
            .chunks(2)
            .all(|pair| pair[0] >= 1.0 && pair[1] == 2.0)
    );
    let scales = doubles("round0000.scales.npy", 1200);
    assert!(
        scales
            .chunks(4)
            .all(|row| row == [91.188, 91.188, 91.188, 7.0])
    );
    let head = fs::read(place.path().join("round0000.scales.npy")).unwrap();
    let head = String::from_utf8_lossy(&head[10..128]).into_owned();
    assert!(
        head.contains("{'descr': '<f8', 'fortran_order': False, 'shape': (300, 4)"),
        "{head}"
    );
}

/// A cut on the transverse momentum of the top quark.
fn harder_than(least: f64) -> Window {
    Window {
        observable: Observable::Pt,
        legs: vec![vec![2]],
        least,
        largest: f64::INFINITY,
        take: GroupValue::default(),
        outside: false,
    }
}

fn refusal(mut maker: Maker) -> String {
    let place = tempfile::tempdir().unwrap();
    let mut rounds = begin(place.path(), 100);
    let failed = rounds.survey(&mut maker, None, &mut Vec::new());
    failed.unwrap_err().to_string()
}

#[derive(Debug)]
struct Nowhere;

impl Selection for Nowhere {
    fn select(
        &self,
        _: usize,
        _: usize,
        _: &[[f64; 4]],
        passes: &mut [bool],
    ) -> Result<(), Failure> {
        passes.fill(false);
        Ok(())
    }
}

#[test]
fn runs_without_events_say_why() {
    let ahead = Window {
        observable: Observable::Rapidity,
        ..harder_than(3.0)
    };
    let message = refusal(maker(
        vec![harder_than(400.0), ahead],
        None,
        ExtraValues::default(),
    ));
    let (before, after) = (
        "none of ",
        " points passes the cuts (pt = 20); do they leave anything?",
    );
    assert!(
        message.starts_with(before) && message.ends_with(after),
        "{message}"
    );
    let selection = Arc::new(CountedSelection::new(Arc::new(Nowhere), "high in cuts.py"));
    let message = refusal(maker(Vec::new(), Some(selection), ExtraValues::default()));
    let after = " points passes the cuts of the run, among which is high in cuts.py";
    assert!(
        message.starts_with(before) && message.ends_with(after),
        "{message}"
    );
}

#[test]
fn another_survey_is_not_taken() {
    let place = tempfile::tempdir().unwrap();
    drop(go_on(place.path(), 100, usize::MAX).unwrap());
    let survey = place.path().join(SURVEY);
    let mut maker = maker(vec![harder_than(1.0)], None, ExtraValues::default());
    let message = maker.load(&survey).unwrap_err().to_string();
    assert!(
        message.contains("the survey is of another run"),
        "{message}"
    );
    assert!(check_room(&survey, 1).is_ok());
}

/// Returns the events and the cross section of a round of a process, with a changed request.
fn round_of(process: &str, change: impl FnOnce(&mut Request)) -> (Vec<u8>, usize, f64) {
    let pt = Window::new(Observable::Pt, vec![vec![3]], 50.0, f64::INFINITY);
    let mut request = request(1000.0, vec![pt]);
    change(&mut request);
    let mut maker = maker_of(process, &request, None, ExtraValues::default());
    let generator = maker.generator();
    let settings = SurveySettings {
        seed: 3,
        events: 2000,
        overweight: 0.01,
        precision: None,
    };
    generator.survey(&settings).unwrap();
    let made = generator.round(&settings, 0).unwrap();
    let means = made.round.sums.iter().map(|sums| sums.mean().mean);
    (generator.bytes(&made), made.round.events.len(), means.sum())
}

/// Without polarisations the frame has no effect; with a longitudinal Z boson it has.
#[test]
fn the_frame_of_matrix_elements_is_that_of_their_helicities() {
    let of = |process: &str, frame: &[usize]| {
        round_of(process, |request| {
            request.elements[0].frame = frame.to_vec()
        })
        .2
    };
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    assert!(near(of("u u~ > z g", &[2]), of("u u~ > z g", &[])));
    assert!(near(of("u u~ > z{0} g", &[2, 3]), of("u u~ > z{0} g", &[])));
    let (partons, at_rest) = (of("u u~ > z{0} g", &[]), of("u u~ > z{0} g", &[2]));
    assert!(
        (partons / at_rest - 1.0).abs() > 0.1,
        "{partons}, {at_rest}"
    );
    // The sum over its polarisations does not depend on the frame.
    let all: f64 = ["0", "T"]
        .iter()
        .map(|of_z| of(&format!("u u~ > z{{{of_z}}} g"), &[2]))
        .sum();
    assert!((all / of("u u~ > z g", &[]) - 1.0).abs() < 0.05, "{all}");
}

#[test]
fn lifetimes_follow_widths() {
    // Size of a particle and offset of its lifetime, in bytes.
    const PARTICLE: usize = 80;
    const LIFETIME: usize = 64;
    let of = |least: f64| {
        let widths = SortedMap::from([(23, 2.495), (2, 0.0)]);
        let lifetimes = Some(Lifetimes { least, widths });
        let (bytes, events, _) = round_of("u u~ > z g", |request| request.lifetimes = lifetimes);
        let size = bytes.len() / events;
        let number = |event: usize, particle: usize| {
            let end = size * (event + 1) - PARTICLE * (4 - particle);
            let bytes = bytes[end + LIFETIME..][..8].try_into().unwrap();
            f64::from_le_bytes(bytes)
        };
        for event in 0..events {
            assert_eq!([0, 1, 3].map(|particle| number(event, particle)), [0.0; 3]);
        }
        (0..events)
            .map(|event| number(event, 2))
            .collect::<Vec<f64>>()
    };
    let mean = 1.973_269_804e-13 / 2.495;
    let all = of(0.0);
    let count = all.len() as f64;
    assert!((all.iter().sum::<f64>() / count / mean - 1.0).abs() < 4.0 / count.sqrt());
    let cut: Vec<f64> = all
        .iter()
        .map(|&time| if time > mean { time } else { 0.0 })
        .collect();
    assert_eq!(of(mean), cut);
    let left = cut.iter().filter(|time| **time > 0.0).count() as f64 / count;
    assert!((left - (-1.0f64).exp()).abs() < 2.0 / count.sqrt());
}

/// Runs of g g > t t~ in which tops count as jets, with and without a bias.
#[test]
fn events_with_a_bias_have_its_inverse_as_weights() {
    let (target, power) = (200.0, 3.0);
    let place = tempfile::tempdir().unwrap();
    let run = |name: &str, bias: Option<JetBias>, events: u64| {
        let mut request = request(1000.0, Vec::new());
        request.elements[0].jets = vec![2, 3];
        request.bias = bias;
        let mut maker = maker_of("g g > t t~", &request, None, ExtraValues::default());
        let arguments = [("events".to_owned(), events.into())];
        let state = State::open(&place.path().join(name), &arguments, true).unwrap();
        let mut rounds = Rounds::new(state, events, 3, 0.01, false).unwrap();
        rounds.survey(&mut maker, None, &mut Vec::new()).unwrap();
        rounds.run(&mut maker, |_| Ok(())).unwrap();
        rounds
    };
    let plain = run("plain", None, 2000);
    assert_eq!(plain.biased(&[1]), None);
    let biased = run("biased", Some(JetBias { target, power }), 11_000);
    let [one, other] = [&plain, &biased].map(|rounds| rounds.cross_section().unwrap());
    let apart = (one.mean - other.mean).abs();
    assert!(
        apart < 4.0 * one.error.hypot(other.error),
        "{one:?} {other:?}"
    );
    // Weights of all events, in units of the weight at bias 1, and their bias.
    let mut found: Vec<(f64, f64)> = Vec::new();
    for (number, round) in biased.state().rounds() {
        let events = round.counted.events as usize;
        let file = biased.state().records(*number);
        let (table, _) = crate::records::RowFile::records(&file, events).unwrap();
        table
            .each(events, |row| {
                let record = mebridge::lhe::Record::new(row);
                let [x, y, ..] = record.particles().nth(2).unwrap().momentum;
                let bias = (x.hypot(y) / target).powf(power);
                found.push((record.weight() / round.weights.nominal, bias));
            })
            .unwrap();
    }
    // Weights times bias are equal, but for a few that are larger.
    let drawn = || found.iter().map(|(weight, bias)| weight * bias);
    assert!(drawn().all(|weight| weight > 1.0 - 1e-9));
    assert!(drawn().sum::<f64>() < 1.02 * found.len() as f64);
    let events = biased.biased(&[1]).unwrap();
    let weights = || found.iter().map(|(weight, _)| weight * events.unit);
    let (sum, squares) = (
        weights().sum::<f64>(),
        weights().map(|one| one * one).sum::<f64>(),
    );
    let near =
        |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-9, "{found} {wanted}");
    near(events.all.0, sum / found.len() as f64);
    near(events.worth, sum * sum / squares);
    assert_eq!(events.processes, [(1, events.all)]);
    // Weights average to the cross section within their error.
    let apart = (events.all.0 - other.mean).abs();
    assert!(apart < 4.0 * events.all.1, "{events:?} {other:?}");
    assert!(events.worth < 0.99 * found.len() as f64);
}
