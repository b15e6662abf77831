//! Points that device code draws, on the stand-in for a GPU, beside those that the CPU draws.

use mebridge_cache::Cache;
use mebridge_densities::{Coupling, Densities, Radiator};
use mebridge_driver::{Buffer, Driver, Stream};
use mebridge_emulator::Emulator;
use mebridge_gpu::cuda::check_where_named;
use mebridge_gpu::{DeviceStructure, ModuleCache};
use mebridge_gpu_sampler::TablesError;
use mebridge_gpu_sampler::points::PointDrawer;
use mebridge_gpu_sampler::structures::{BlockHead, NONE, PointRows, SLOTS, kinematics};
use mebridge_phasespace::cuts::{Cuts, Observable, Rule, Take, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_phasespace::{
    Beams, Channel, ChannelSettings, Diagram, Edge, Layout, Limits, Propagator, Rows, Weights,
    permuted,
};
use mebridge_sampler::blocks::{Block, Numbers};
use mebridge_sampler::grid::{Grid, Training};
use mebridge_sampler::integrand::{
    Beam, ElementGroup, Failure, Flux, Integrand, Partons, PointSource, RunningCoupling, Selection,
    Squared, Workspace,
};
use mebridge_sampler::random::Philox;
use mebridge_simd::Level;
use mebridge_support::runtime::CachePlace;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::sync::Arc;

/// |M|^2 that is 1.
struct One;

impl Squared for One {
    fn evaluate(
        &mut self,
        _: usize,
        _: &Rows,
        _: &[f64],
        squared: &mut [f64],
    ) -> Result<(), Failure> {
        squared.fill(1.0);
        Ok(())
    }
}

const CODES: [i32; 9] = [-4, -3, -2, -1, 21, 1, 2, 3, 4];

/// Densities with two parts in Q, some of them below zero, which end above the least x and the least Q of points.
fn densities() -> Arc<Densities> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toy_0000.dat");
    let mut x: Vec<f64> = (0..30)
        .map(|i| 10f64.powf(-4.0 + 0.1 * f64::from(i)))
        .collect();
    x.extend((0..=20).map(|i| 0.1 + 0.045 * f64::from(i)));
    let mut text = "PdfType: central\nFormat: lhagrid1\n---\n".to_owned();
    for scales in [
        &[20.0, 30.0, 50.0, 80.0, 120.0][..],
        &[120.0, 200.0, 400.0, 1e3, 3e3],
    ] {
        for numbers in [&x[..], scales] {
            let words: Vec<String> = numbers.iter().map(|n| format!("{n:.12e}")).collect();
            writeln!(text, "{}", words.join(" ")).expect("text");
        }
        writeln!(text, "{}", CODES.map(|code| code.to_string()).join(" ")).expect("text");
        for &x in &x {
            for q in scales {
                let of = |code: i32| {
                    let sign = if code == -4 { -0.3 } else { 1.0 };
                    let size = sign * (1.0 + 0.1 * f64::from(code.abs() % 20));
                    size * x.powf(-0.2) * (1.2 - x).powi(3) * q.ln()
                };
                let words = CODES.map(|code| format!("{:.12e}", of(code)));
                writeln!(text, "{}", words.join(" ")).expect("text");
            }
        }
        text += "---\n";
    }
    std::fs::write(&file, text).expect("a file");
    Arc::new(Densities::open(&file).expect("a set"))
}

fn joined(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(|n| format!("{n:.15e}")).collect();
    words.join(" ") + "\n"
}

/// A grid in the form of `NNPDF23*.grid`.
fn of_nnpdf() -> Arc<Densities> {
    let x = [1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 0.6, 1.0];
    let q2 = [400.0, 1e3, 1e4, 1e6];
    let mut text = format!("'NNPDF20int'\n 1 1\n{}\n{}", x.len(), joined(&x));
    text += &format!("{}\n{}\n{}1\n", q2.len(), q2[0], joined(&q2));
    for x in x {
        for q2 in q2 {
            let of = |flavor: u32| f64::from(flavor + 1) * (1.2 - x) * x.powf(-0.3) * q2.ln();
            text += &joined(&std::array::from_fn::<f64, 14, _>(|flavor| {
                of(flavor as u32)
            }));
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("NNPDF23.grid");
    std::fs::write(&file, text).expect("a file");
    Arc::new(Densities::open(&file).expect("a grid"))
}

/// A table in the form of `cteq6*.tbl`.
fn of_cteq() -> Arc<Densities> {
    let x = [0.0, 1e-3, 1e-2, 0.1, 0.2, 0.4, 0.7, 1.0];
    let scales = [1.3, 20.0, 50.0, 500.0, 1e4];
    let mut text = "Table\n Ordr, Nfl, lambda\n 1. 5. 0.2 0 0 0.2 1.3 4.5 180.\n".to_owned();
    text += &format!(" NX, NT, NfMx\n {} {} 5\n", x.len() - 1, scales.len() - 1);
    text += &format!("QINI\n{}{}XMIN\n", joined(&[1.3, 1e4]), joined(&scales));
    text += &format!("{}{}Parton\n", joined(&[1e-3]), joined(&x));
    for row in 0..8 {
        for q in scales {
            let of = |x: f64| f64::from(row + 1) * (1.1 - x) / (x + 0.01) * (1.0 + f64::ln(q));
            text += &joined(&x.map(of));
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cteq6.tbl");
    std::fs::write(&file, text).expect("a file");
    Arc::new(Densities::open(&file).expect("a table"))
}

fn running() -> RunningCoupling {
    let scales = [5.0, 20.0, 50.0, 50.0, 100.0, 300.0, 1000.0];
    let values = [0.2, 0.17, 0.14, 0.14, 0.12, 0.1, 0.09];
    RunningCoupling::Table(Arc::new(Coupling::new(&scales, &values).expect("a table")))
}

/// Masses and widths of propagators.
const LINES: [(f64, f64); 5] = [
    (0.0, 0.0),
    (0.0, 0.0),
    (91.188, 2.44),
    (173.0, 1.5),
    (80.4, 0.0),
];

/// A tree of legs that go out: the line that it hangs on.
fn tree(legs: &[usize], random: &mut ChaCha8Rng, diagram: &mut Diagram) -> Edge {
    if let [leg] = legs {
        return Edge::Out(*leg);
    }
    let line = propagator(random, diagram);
    let at = random.random_range(1..legs.len());
    let mut vertex = vec![line];
    for part in [&legs[..at], &legs[at..]] {
        let edge = tree(part, random, diagram);
        vertex.push(edge);
    }
    diagram.vertices.push(vertex);
    line
}

fn propagator(random: &mut ChaCha8Rng, diagram: &mut Diagram) -> Edge {
    let (mass, width) = LINES[random.random_range(0..LINES.len())];
    diagram.propagators.push(Propagator { mass, width });
    Edge::Propagator(diagram.propagators.len() - 1)
}

/// Any diagram: exchanges between the legs that come in, and what each of them leaves.
fn diagram(masses: &[f64], random: &mut ChaCha8Rng) -> Diagram {
    let mut diagram = Diagram {
        masses: masses.to_vec(),
        propagators: Vec::new(),
        vertices: Vec::new(),
    };
    let mut legs: Vec<usize> = (0..masses.len()).collect();
    legs.shuffle(random);
    let ends = random.random_range(1..=masses.len());
    let mut rest = &legs[..];
    let mut before = Edge::In(0);
    for end in 0..ends {
        let most = rest.len() - (ends - end - 1);
        let count = if end + 1 == ends {
            rest.len()
        } else {
            random.random_range(1..=most)
        };
        let (some, others) = rest.split_at(count);
        rest = others;
        let edge = tree(some, random, &mut diagram);
        let after = match end + 1 == ends {
            true => Edge::In(1),
            false => propagator(random, &mut diagram),
        };
        diagram.vertices.push(vec![before, edge, after]);
        before = after;
    }
    diagram
}

/// The same with two legs in each other's places, or those that come in.
fn exchanged(diagram: &Diagram, legs: [usize; 2], turned: bool) -> Diagram {
    let mut found = diagram.clone();
    for edge in found.vertices.iter_mut().flatten() {
        *edge = match *edge {
            Edge::Out(leg) if leg == legs[0] => Edge::Out(legs[1]),
            Edge::Out(leg) if leg == legs[1] => Edge::Out(legs[0]),
            Edge::In(leg) if turned => Edge::In(1 - leg),
            other => other,
        };
    }
    found
}

/// What a group of matrix elements is made of.
struct Asked {
    masses: Vec<f64>,
    windows: Vec<Window>,
    rules: Vec<Rule>,
    scale: Scale,
    /// Of the legs that come in.
    incoming: [f64; 2],
    /// From which beams they are, and how these move.
    beams: [usize; 2],
    rapidity: f64,
    /// The number of diagrams.
    diagrams: usize,
}

fn window(observable: Observable, legs: &[&[usize]], least: f64, largest: f64) -> Window {
    let legs = legs.iter().map(|legs| legs.to_vec()).collect();
    Window::new(observable, legs, least, largest)
}

fn scale(dynamical: Dynamical) -> Scale {
    Scale {
        dynamical,
        factor: 0.7,
        renormalisation: None,
        factorisation: None,
    }
}

/// Adds a group of two matrix elements with channels of some diagrams.
fn add(
    integrand: &mut Integrand,
    asked: &Asked,
    energy: f64,
    beams: Beams,
    random: &mut ChaCha8Rng,
) {
    let out = asked.masses.len();
    let mut diagrams = Vec::new();
    while diagrams.len() < asked.diagrams {
        let one = diagram(&asked.masses, random);
        diagrams.push(one.clone());
        if out > 1 && asked.masses[0] == asked.masses[1] {
            diagrams.push(exchanged(&one, [0, 1], false));
            diagrams.push(exchanged(&one, [0, 1], true));
            diagrams.push(exchanged(&one, [0, 0], true));
        }
    }
    let limits = Limits::new(out, &asked.windows);
    let one_energy = beams == Beams::Neither;
    let weights = Weights::new(&diagrams, &limits, one_energy).expect("trees");
    let labels: Vec<String> = asked.masses.iter().map(f64::to_string).collect();
    // Lines with the same mass are alike.
    let codes = diagrams.iter().map(|one| {
        let lines = one.propagators.iter();
        lines.map(|line| line.mass as i32).collect()
    });
    let codes: Vec<Vec<i32>> = codes.collect();
    let group = integrand.groups.len();
    let first = 2 * group;
    for of in permuted(&diagrams, &labels, &codes, true).expect("trees") {
        let settings = ChannelSettings {
            energy,
            beams,
            incoming: asked.incoming,
            fermions: vec![false; out + 2],
            limits: limits.permuted(&of.permutations),
        };
        // A heavy leg that comes in may be able to decay there.
        let Ok(channel) = Channel::new(&diagrams[of.members[0]], &settings) else {
            continue;
        };
        integrand.sources.push(PointSource {
            group,
            channel,
            permutations: of.permutations,
            columns: of.members.iter().map(|&one| one as u32).collect(),
            chances: vec![0.7, 1.9],
        });
    }
    let partons = |element: usize, codes: [i32; 2], factor: f64| Partons {
        element,
        codes,
        exchanged: false,
        factor,
    };
    integrand.groups.push(ElementGroup {
        elements: vec![first, first + 1],
        partons: vec![
            partons(0, [21, 21], 1.0),
            partons(1, [-4, 2], 2.0),
            // The set has no such parton.
            partons(0, [5, 2], 1.0),
            partons(0, [1, -1], 1.0),
            partons(1, [3, 3], 3.0),
        ],
        weights,
        cuts: (!asked.windows.is_empty() || !asked.rules.is_empty())
            .then(|| Cuts::new(out + 2, &asked.windows, &asked.rules).expect("cuts")),
        scale: asked.scale,
        clustering: None,
        beams: asked.beams,
        rapidity: asked.rapidity,
        flux: Flux::Collision(asked.incoming),
        legs: out + 2,
    });
}

/// Points of all sources from the device.
struct Found {
    stride: usize,
    element: Vec<u32>,
    partons: Vec<u32>,
    momenta: Vec<f64>,
    kinematics: Vec<f64>,
    factor: Vec<f64>,
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|&bytes| f64::from_ne_bytes(bytes)).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks().0.iter();
    words.map(|&bytes| u32::from_ne_bytes(bytes)).collect()
}

/// What no point has written.
const UNTOUCHED: f64 = -7.0e77;

fn on_device(gpu: &Arc<dyn Driver>, integrand: &Integrand, blocks: &[Block], legs: usize) -> Found {
    let library = ModuleCache::new(gpu.clone(), Cache::new(&CachePlace::Off));
    let library = Arc::new(library.expect("a compiler"));
    let points = PointDrawer::new(&library).expect("device code");
    let tables = points.tables(integrand).expect("tables");
    let stream = Stream::new(gpu).expect("a stream");
    let upload = |bytes: &[u8]| {
        let buffer = Buffer::new(gpu, bytes.len()).expect("memory");
        // SAFETY: the buffer is as large, and the bytes stay until the stream is done.
        unsafe { stream.upload(buffer.pointer(), bytes) }.expect("a copy");
        stream.synchronize().expect("a copy");
        buffer
    };
    let mut edges: Vec<u8> = Vec::new();
    let heads = blocks.iter().enumerate().flat_map(|(run, block)| {
        let grid = edges.len() as u32 / 8;
        edges.extend(block.grid.to_bytes());
        BlockHead::new(block, grid, run as u32).bytes()
    });
    let heads: Vec<u8> = heads.collect();
    let (heads, grids) = (upload(&heads), upload(&edges));
    // Rows may be longer than what is launched.
    let stride = blocks.len() * SLOTS + 24;
    let untouched = |rows: usize| {
        let bytes: Vec<u8> = vec![UNTOUCHED; rows * stride]
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect();
        upload(&bytes)
    };
    let (element, partons) = (untouched(1), untouched(1));
    let (momenta, of_kinematics, factor) = (
        untouched(4 * legs),
        untouched(kinematics::ROWS),
        untouched(1),
    );
    let rows = PointRows {
        stride: stride as u32,
        element: element.pointer(),
        partons: partons.pointer(),
        momenta: momenta.pointer(),
        kinematics: of_kinematics.pointer(),
        factor: factor.pointer(),
    };
    // SAFETY: all of it is there, and stays until the stream is done.
    unsafe {
        points.launch(
            &stream,
            &tables,
            heads.pointer(),
            blocks.len() as u32,
            grids.pointer(),
            &rows,
        )
    }
    .expect("a launch");
    let download = |buffer: &Buffer| {
        let mut bytes = vec![0; buffer.bytes()];
        // SAFETY: the bytes stay until the stream is done.
        unsafe { stream.download(&mut bytes, buffer.pointer()) }.expect("a copy");
        stream.synchronize().expect("a copy");
        bytes
    };
    Found {
        stride,
        element: words(&download(&element)),
        partons: words(&download(&partons)),
        momenta: numbers(&download(&momenta)),
        kinematics: numbers(&download(&of_kinematics)),
        factor: numbers(&download(&factor)),
    }
}

/// What is compared, and how much may differ.
#[derive(Default)]
struct Differences {
    /// Points that pass, that one side alone has, and numbers.
    points: usize,
    decisions: usize,
    numbers: usize,
    /// Of numbers, those that differ by more than 1e-11, and the largest difference.
    far: usize,
    largest: f64,
    /// Of a block of the launch.
    threads: u32,
}

impl Differences {
    #[track_caller]
    fn compare(&mut self, found: f64, wanted: f64, size: f64, what: &str) {
        self.numbers += 1;
        let difference = if found == wanted {
            0.0
        } else {
            (found - wanted).abs() / size
        };
        if difference > 1e-11 || difference.is_nan() {
            self.far += 1;
        }
        // Where momenta are nearly parallel differences of large numbers are small ones.
        assert!(
            difference < 1e-1,
            "{what}: {found:e} for {wanted:e} of {size:e}"
        );
        self.largest = self.largest.max(difference);
    }
}

/// Compares all points of some blocks of each source.
fn compare(integrand: &Integrand, count: usize) -> Option<Differences> {
    let emulator = Emulator::new(check_where_named)?;
    let gpu: Arc<dyn Driver> = emulator.clone();
    let grids: Vec<Grid> = (integrand.sources.iter().enumerate())
        .map(|(number, source)| adapted(source.channel.dimension(), number as u64))
        .collect();
    let mut blocks = Vec::new();
    for (source, grid) in grids.iter().enumerate() {
        let random = Philox {
            seed: 0x1234_5678_9abc_def0,
            round: 3,
            channel: 40 + source as u32,
        };
        let first = (1 << 33) - 40 + 8 * source as u64;
        blocks.push(Block {
            source,
            grid,
            random,
            first,
            count,
            numbers: Numbers::Random,
        });
    }
    let legs = integrand.groups.iter().map(|group| group.legs).max()?;
    let found = on_device(&gpu, integrand, &blocks, legs);
    let mut work = Workspace::new(integrand, SLOTS);
    let mut differences = Differences {
        threads: emulator.take_log().launches[0].1,
        ..Differences::default()
    };
    for (number, block) in blocks.iter().enumerate() {
        integrand
            .weigh(block, &mut One, &mut work)
            .expect("weights");
        let most = (work.weights.iter()).fold(0.0, |most: f64, weight| most.max(weight.abs()));
        let group = &integrand.groups[integrand.sources[block.source].group];
        let begin = number * SLOTS;
        for slot in block.count..SLOTS {
            assert_eq!(found.element[begin + slot], NONE, "no point");
        }
        let mut places = vec![None; block.count];
        for (place, &point) in work.kept.iter().enumerate() {
            places[point as usize] = Some(place);
        }
        for (point, place) in places.into_iter().enumerate() {
            let slot = begin + point;
            let there = found.element[slot] != NONE;
            if there != place.is_some() {
                differences.decisions += 1;
                continue;
            }
            let Some(place) = place else {
                assert_eq!(found.factor[slot], UNTOUCHED);
                continue;
            };
            differences.points += 1;
            compare_point(
                &mut differences,
                &found,
                slot,
                &work,
                place,
                group,
                integrand,
            );
            let weight = work.weights[point];
            // Far smaller ones, next to a pole of another channel, do not count.
            let size = weight.abs().max(1e-9 * most);
            differences.compare(found.factor[slot], weight, size, "weight");
        }
    }
    Some(differences)
}

fn compare_point(
    differences: &mut Differences,
    found: &Found,
    slot: usize,
    work: &Workspace,
    place: usize,
    group: &ElementGroup,
    integrand: &Integrand,
) {
    let layout = Layout::new(group.legs);
    let drawn = work.drawn[place];
    assert_eq!(found.partons[slot], drawn, "partons");
    let element = group.elements[group.partons[drawn as usize].element];
    assert_eq!(found.element[slot], element as u32, "matrix element");
    let energy = work.points.row(layout.energy_square())[place].sqrt();
    for row in 0..4 * group.legs {
        let wanted = work.points.row(row)[place];
        let momentum = found.momenta[row * found.stride + slot];
        differences.compare(momentum, wanted, energy, "momentum");
    }
    let row = |row: usize| found.kinematics[row * found.stride + slot];
    let of_points = |row: usize| work.points.row(row)[place];
    let rapidity = of_points(layout.rapidity());
    differences.compare(
        row(kinematics::RAPIDITY),
        rapidity,
        rapidity.abs().max(1.0),
        "rapidity",
    );
    for beam in 0..2 {
        let fraction = of_points(layout.fraction(beam));
        differences.compare(
            row(kinematics::FRACTIONS + beam),
            fraction,
            fraction,
            "fraction",
        );
    }
    for which in 0..3 {
        let scale = work.scales.row(which)[place];
        differences.compare(row(kinematics::SCALES + which), scale, scale, "scale");
    }
    let alpha_s = match integrand.running {
        RunningCoupling::Fixed(value) => value,
        RunningCoupling::Table(_) => work.alpha_s[place],
    };
    differences.compare(row(kinematics::ALPHA_S), alpha_s, alpha_s, "alpha_s");
}

/// A grid that has learned something.
fn adapted(dimensions: usize, seed: u64) -> Grid {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut grid = Grid::new(dimensions);
    let mut training = Training::new(dimensions);
    let mut numbers = Rows::new(dimensions, 512);
    let mut weights = vec![0.0; 512];
    for dimension in 0..dimensions {
        for x in numbers.row_mut(dimension) {
            *x = random.random_range(1e-9..1.0);
        }
    }
    for (point, weight) in weights.iter_mut().enumerate() {
        *weight = 0.2 + numbers.row(0)[point];
    }
    training.add(&numbers, &weights);
    grid.adapt(&training, 0.8);
    grid
}

/// Checks that few numbers differ by more than 1e-11, and hardly a decision. Gives threads of a block.
#[track_caller]
fn check(integrand: &Integrand, count: usize, least: usize) -> Option<u32> {
    let found = compare(integrand, count)?;
    println!(
        "{} points, {} decisions, {} of {} numbers, {:e}",
        found.points, found.decisions, found.far, found.numbers, found.largest
    );
    assert!(found.points >= least, "{} points pass", found.points);
    assert!(
        found.decisions <= 1 + found.points / 10_000,
        "{} decisions",
        found.decisions
    );
    assert!(
        found.far * 300 <= found.numbers,
        "{} of {}",
        found.far,
        found.numbers
    );
    Some(found.threads)
}

fn beam(densities: &Arc<Densities>, anti: bool) -> Beam {
    Beam::Densities {
        densities: densities.clone(),
        anti,
    }
}

fn integrand(with_densities: bool, running: RunningCoupling) -> Integrand {
    Integrand {
        groups: Vec::new(),
        sources: Vec::new(),
        beams: match with_densities {
            true => {
                let densities = densities();
                [beam(&densities, false), beam(&densities, false)]
            }
            false => [Beam::Parton, Beam::Parton],
        },
        running,
        selection: None,
        level: Level::best(),
    }
}

/// Processes from two to five legs between partons of a beam energy.
#[test]
fn partons_of_one_energy() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut found = integrand(false, RunningCoupling::Fixed(0.118));
    let scales = [
        Dynamical::TransverseEnergy,
        Dynamical::TransverseMass,
        Dynamical::HalfTransverseMass,
        Dynamical::PartonicEnergy,
    ];
    for (out, dynamical) in (2..=5).zip(scales) {
        let mut masses = vec![0.0; out];
        masses[out - 1] = if out % 2 == 0 { 0.0 } else { 4.7 };
        let legs: Vec<Vec<usize>> = (2..out + 2).map(|leg| vec![leg]).collect();
        let asked = Asked {
            windows: vec![Window::new(Observable::Pt, legs, 10.0, f64::INFINITY)],
            rules: Vec::new(),
            masses,
            scale: scale(dynamical),
            incoming: [0.0; 2],
            beams: [0, 1],
            rapidity: 0.0,
            diagrams: 48,
        };
        add(&mut found, &asked, 1000.0, Beams::Neither, &mut random);
    }
    check(&found, 256, 1500);
}

/// The same in protons, without cuts for one leg and with heavy legs.
#[test]
fn partons_of_protons() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut found = integrand(true, running());
    let masses: [&[f64]; 5] = [
        &[125.0],
        &[0.0, 0.0],
        &[173.0, 173.0, 0.0],
        &[0.0; 4],
        &[0.0, 0.0, 5.0, 5.0, 80.4],
    ];
    for masses in masses {
        let light: Vec<Vec<usize>> = (masses.iter().enumerate())
            .filter(|(_, mass)| **mass < 10.0)
            .map(|(leg, _)| vec![leg + 2])
            .collect();
        let mut windows = Vec::new();
        if !light.is_empty() {
            windows.push(Window::new(
                Observable::Pt,
                light.clone(),
                20.0,
                f64::INFINITY,
            ));
            windows.push(Window::new(
                Observable::Rapidity,
                light.clone(),
                f64::NEG_INFINITY,
                2.5,
            ));
        }
        if let [first, second, ..] = &light[..] {
            let both = vec![first.clone(), second.clone()];
            windows.push(Window::new(Observable::Distance, both, 0.4, f64::INFINITY));
        }
        let asked = Asked {
            windows,
            rules: Vec::new(),
            masses: masses.to_vec(),
            scale: scale(Dynamical::HalfTransverseMass),
            incoming: [0.0; 2],
            beams: [0, 1],
            rapidity: 0.0,
            diagrams: 48,
        };
        add(&mut found, &asked, 13_000.0, Beams::Both, &mut random);
    }
    check(&found, 256, 2000);
}

/// One beam alone has partons; scales are fixed.
#[test]
fn partons_of_one_beam() {
    for (seed, beams) in [(3, Beams::First), (4, Beams::Second)] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut found = integrand(true, running());
        let asked = Asked {
            windows: Vec::new(),
            rules: Vec::new(),
            masses: vec![30.0, 30.0, 0.0],
            scale: Scale {
                renormalisation: Some(91.188),
                factorisation: Some([7.0, 8000.0]),
                ..scale(Dynamical::PartonicEnergy)
            },
            incoming: [0.0; 2],
            beams: [0, 1],
            rapidity: 0.0,
            diagrams: 20,
        };
        add(&mut found, &asked, 3000.0, beams, &mut random);
        check(&found, 128, 500);
    }
}

/// Densities of MG5aMC's own kinds.
#[test]
fn densities_of_other_kinds() {
    for (seed, densities) in [(11, of_nnpdf()), (12, of_cteq())] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut found = integrand(true, running());
        found.beams = [beam(&densities, false), beam(&densities, false)];
        let asked = Asked {
            windows: Vec::new(),
            rules: Vec::new(),
            masses: vec![10.0, 10.0],
            scale: scale(Dynamical::PartonicEnergy),
            incoming: [0.0; 2],
            beams: [0, 1],
            rapidity: 0.0,
            diagrams: 40,
        };
        add(&mut found, &asked, 5000.0, Beams::Both, &mut random);
        check(&found, 256, 500);
    }
}

/// Beams with different densities, the second one first: an antiproton, or a proton that radiates photons; a parton beside a
/// lepton that does.
#[test]
fn beams_of_different_kinds() {
    let photons = |of: Radiator| beam(&Arc::new(Densities::photons(of)), false);
    let cases = [
        (
            [beam(&densities(), false), beam(&of_nnpdf(), true)],
            [1, 0],
            Beams::Both,
        ),
        (
            [beam(&densities(), true), photons(Radiator::Proton)],
            [1, 0],
            Beams::Both,
        ),
        (
            [photons(Radiator::Electron), photons(Radiator::Muon)],
            [0, 1],
            Beams::Both,
        ),
        (
            [Beam::Parton, photons(Radiator::Muon)],
            [1, 0],
            Beams::First,
        ),
        (
            [Beam::Parton, beam(&densities(), false)],
            [0, 1],
            Beams::Second,
        ),
    ];
    for (seed, (beams, order, shared)) in (20..).zip(cases) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut found = integrand(false, running());
        found.beams = beams;
        let asked = Asked {
            windows: vec![window(
                Observable::Rapidity,
                &[&[2], &[3]],
                f64::NEG_INFINITY,
                3.0,
            )],
            rules: Vec::new(),
            masses: vec![10.0, 10.0],
            scale: scale(Dynamical::PartonicEnergy),
            incoming: [0.0; 2],
            beams: order,
            rapidity: -0.4,
            diagrams: 40,
        };
        add(&mut found, &asked, 5000.0, shared, &mut random);
        // Photons come with photons, and with gluons.
        for partons in &mut found.groups[0].partons[..2] {
            for (leg, code) in partons.codes.iter_mut().enumerate() {
                if let Beam::Densities { densities, .. } = &found.beams[order[leg]]
                    && densities.codes() == [22]
                {
                    *code = 22;
                }
            }
        }
        check(&found, 128, 30);
    }
}

/// Legs that come in have masses, of one beam alone, too; lines have a largest mass.
#[test]
fn heavy_partons() {
    for (seed, beams) in [
        (7, Beams::Neither),
        (8, Beams::Both),
        (9, Beams::First),
        (10, Beams::Second),
    ] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut found = integrand(beams != Beams::Neither, running());
        let asked = Asked {
            windows: vec![
                window(Observable::Mass, &[&[2, 3]], 20.0, 1200.0),
                window(Observable::Mass, &[&[3, 4, 5]], f64::NEG_INFINITY, 2500.0),
            ],
            rules: Vec::new(),
            masses: vec![0.0, 0.0, 80.4, 4.7],
            scale: scale(Dynamical::TransverseMass),
            incoming: [1.5, 4.7],
            beams: [0, 1],
            rapidity: 0.0,
            diagrams: 60,
        };
        add(&mut found, &asked, 3000.0, beams, &mut random);
        check(&found, 128, 200);
    }
}

/// Every kind of cut.
#[test]
fn cuts() {
    use Observable::{Distance, Energy, Mass, Pt, Rapidity};
    let with = |take: Take, window: Window| Window { take, ..window };
    let outside = |window: Window| Window {
        outside: true,
        ..window
    };
    let jets: &[&[usize]] = &[&[2], &[3], &[4]];
    let all = f64::INFINITY;
    let lists: Vec<(Vec<Window>, Vec<Rule>)> = vec![
        (
            vec![
                window(Pt, jets, 5.0, 400.0),
                window(Mass, &[&[2, 3], &[3, 4]], 20.0, all),
            ],
            vec![],
        ),
        (
            vec![
                window(Rapidity, jets, 0.1, 3.0),
                window(Energy, &[&[2], &[4]], 10.0, 900.0),
            ],
            vec![],
        ),
        (
            vec![
                with(Take::Any, window(Pt, jets, 100.0, all)),
                with(Take::Any, window(Rapidity, jets, -all, 1.0)),
            ],
            vec![],
        ),
        (
            vec![
                with(Take::Sum, window(Pt, jets, 80.0, 1500.0)),
                with(Take::Sum, window(Energy, jets, 80.0, all)),
            ],
            vec![],
        ),
        (
            vec![
                with(Take::Number(1), window(Pt, jets, 30.0, all)),
                with(Take::First(2), window(Pt, jets, 90.0, 900.0)),
            ],
            vec![],
        ),
        (
            vec![
                with(Take::Number(0), window(Rapidity, jets, 0.5, 4.0)),
                with(
                    Take::Number(2),
                    window(Mass, &[&[2, 3], &[3, 4], &[2, 4]], 10.0, all),
                ),
            ],
            vec![],
        ),
        (
            vec![
                window(Distance, &[&[2], &[3]], 0.4, all),
                window(Distance, &[&[2, 3], &[4]], 0.2, 3.5),
            ],
            vec![],
        ),
        (
            vec![
                outside(window(Mass, &[&[2, 3]], 80.0, 300.0)),
                outside(window(Distance, &[&[3], &[4]], 1.0, 2.0)),
                outside(window(Rapidity, &[&[4]], 0.3, 0.7)),
            ],
            vec![],
        ),
        (
            vec![
                with(Take::Any, window(Energy, jets, 300.0, all)),
                window(Pt, &[&[2, 3, 4]], -1.0, 1e9),
                window(Energy, &[&[0], &[1]], 5.0, all),
            ],
            vec![],
        ),
        (
            vec![],
            vec![Rule::Some {
                jets: vec![2, 3, 4],
                limits: vec![[300.0, all], [50.0, 100.0]],
            }],
        ),
        (
            vec![],
            vec![Rule::Opposite {
                jets: vec![2, 3, 4],
                least: 0.2,
                apart: 1.5,
            }],
        ),
    ];
    let isolated = |radius: f64, power: f64, electromagnetic: Option<Vec<usize>>| Rule::Isolated {
        photons: vec![2, 3],
        jets: vec![4, 5],
        electromagnetic,
        least: 10.0,
        radius,
        power,
        share: 1.0,
    };
    let rules = [
        isolated(0.7, 1.0, None),
        isolated(1.2, 0.5, Some(vec![5])),
        isolated(1.9, 0.0, Some(Vec::new())),
    ];
    for (number, beams) in [Beams::Both, Beams::Neither].into_iter().enumerate() {
        let mut random = ChaCha8Rng::seed_from_u64(5 + number as u64);
        let mut found = integrand(beams == Beams::Both, RunningCoupling::Fixed(0.1));
        let rules = rules.iter().map(|rule| (vec![], vec![rule.clone()]));
        for (windows, rules) in lists.iter().cloned().chain(rules) {
            let out = if rules
                .iter()
                .any(|rule| matches!(rule, Rule::Isolated { .. }))
            {
                4
            } else {
                3
            };
            let asked = Asked {
                windows,
                rules,
                masses: vec![0.0; out],
                scale: scale(Dynamical::TransverseEnergy),
                incoming: [0.0; 2],
                beams: [0, 1],
                rapidity: 0.0,
                diagrams: 4,
            };
            add(&mut found, &asked, 3000.0, beams, &mut random);
        }
        check(&found, 256, 1500);
    }
}

/// Points with so many numbers that few threads share the memory of a block.
#[test]
fn many_propagators() {
    let mut random = ChaCha8Rng::seed_from_u64(30);
    let mut found = integrand(false, RunningCoupling::Fixed(0.118));
    let legs: Vec<Vec<usize>> = (2..9).map(|leg| vec![leg]).collect();
    let asked = Asked {
        windows: vec![Window::new(Observable::Pt, legs, 5.0, f64::INFINITY)],
        rules: Vec::new(),
        masses: vec![0.0; 7],
        scale: scale(Dynamical::TransverseMass),
        incoming: [0.0; 2],
        beams: [0, 1],
        rapidity: 0.0,
        diagrams: 160,
    };
    add(&mut found, &asked, 3000.0, Beams::Neither, &mut random);
    found.sources.truncate(8);
    let threads = check(&found, 128, 50);
    assert!(threads.is_none_or(|threads| threads < 128), "{threads:?}");
}

/// A cut of the caller's.
#[derive(Debug)]
struct Own;

impl Selection for Own {
    fn select(&self, _: usize, _: usize, _: &[[f64; 4]], _: &mut [bool]) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a GPU does not know it names.
#[test]
fn what_is_not_known_is_refused() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let gpu: Arc<dyn Driver> = gpu;
    let library = ModuleCache::new(gpu, Cache::new(&CachePlace::Off)).expect("a compiler");
    let points = PointDrawer::new(&Arc::new(library)).expect("device code");
    let mut random = ChaCha8Rng::seed_from_u64(31);
    let mut known = integrand(false, RunningCoupling::Fixed(0.118));
    let asked = Asked {
        windows: Vec::new(),
        rules: Vec::new(),
        masses: vec![10.0, 20.0],
        scale: scale(Dynamical::PartonicEnergy),
        incoming: [0.0; 2],
        beams: [0, 1],
        rapidity: 0.0,
        diagrams: 2,
    };
    add(&mut known, &asked, 500.0, Beams::Neither, &mut random);
    assert!(points.tables(&known).is_ok());
    let (mut cut, mut decay) = (known.clone(), known);
    cut.selection = Some(Arc::new(Own));
    decay.groups[0].flux = Flux::Decay(500.0);
    for (one, named) in [(cut, "a cut that is a function"), (decay, "decays")] {
        match points.tables(&one) {
            Err(TablesError::Unknown(what)) => {
                let text = what.to_string();
                assert!(text.contains(named) && text.contains("the CPU"), "{text}");
            }
            other => panic!("{named}: {:?}", other.err()),
        }
    }
}

/// Both kinds of AMD's GPUs, with waves of 64 and of 32.
#[test]
fn device_code_compiles_for_amd() {
    let Some(clang) = mebridge_testing::hip::compiler() else {
        return;
    };
    for architecture in ["gfx942", "gfx1100"] {
        let text = mebridge_gpu_sampler::points::device_code().text;
        let assembly = mebridge_testing::hip::compiled(&clang, architecture, &text);
        let assembly = assembly.unwrap_or_else(|error| panic!("{architecture}: {error}"));
        assert!(assembly.contains(".amdhsa_kernel points"), "{architecture}");
    }
}
