//! Unweighted events of a process, as an event file of the Les Houches Accord:
//!
//! ```text
//! cargo run --release --example events -- "g g > t t~ g" 1000 10000 events.lhe
//! cargo run --release --example events -- "p p > t t~ j" 13000 10000 events.lhe NAME_0000.dat
//! ```
//!
//! Arguments: the process; the energy of both beams in their centre of mass, GeV; how many events; the file, or `-` for
//! the times of three rounds and no file; and where protons come in, a member of a set of densities in LHAPDF's format.
//! `--color=` `full`, `leading-first` or `leading` says how colour is summed. Jets have 20 GeV and distances of 0.4,
//! charged leptons 10 GeV, and pairs of them a mass of 50 GeV. `CUDACPP_RUNTIME_THREADS` and
//! `CUDACPP_RUNTIME_BACKEND=cuda` say what draws them.

use mebridge::event_generator::{ColorTreatment, ElementRequest, EventGenerator, Request};
use mebridge::{Switches, generate};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::integrand::Failure;
use mebridge_sampler::rounds::{self, CorrectionSums};
use mebridge_sampler::survey::SurveySettings;
use std::env::args;
use std::io::Write;
use std::time::Instant;

fn main() -> Result<(), Failure> {
    let (options, given): (Vec<String>, Vec<String>) =
        args().skip(1).partition(|word| word.starts_with("--"));
    let color = match options.first() {
        None => ColorTreatment::Auto,
        Some(option) => option.trim_start_matches("--color=").parse()?,
    };
    let [text, energy, events, file, densities @ ..] = &given[..] else {
        return Err("PROCESS ENERGY EVENTS FILE [DENSITIES]".into());
    };
    let (energy, events): (f64, u64) = (energy.parse()?, events.parse()?);
    let processes = generate(text)?;
    let either_beam = text.split_whitespace().next() == text.split_whitespace().nth(1);
    let codes = |process: &mebridge::Process| -> Vec<i32> {
        process.legs.iter().map(|leg| leg.pdg).collect()
    };
    let scale = Scale {
        dynamical: Dynamical::HalfTransverseMass,
        factor: 1.0,
        renormalisation: None,
        factorisation: [None; 2],
    };
    let elements = processes.iter().map(&codes).map(|codes| ElementRequest {
        mirrored: either_beam && codes[0] != codes[1] && !densities.is_empty(),
        windows: cuts(&codes),
        ..Default::default()
    });
    let request = Request {
        densities: densities.first().map(Into::into),
        threads: Switches::from_env()?.threads,
        color,
        ..Request::new(energy, scale, elements.collect())
    };
    let clock = Instant::now();
    eprintln!("{} matrix elements", processes.len());
    let mut generator = EventGenerator::new(processes, &request, None)?;
    // What is compared and timed is what GPUs do, and nothing of threads that would begin.
    generator.wait_for_gpus()?;
    let sources = generator.sources().count();
    let approximated = generator.approximated().len();
    eprintln!(
        "start: {:.2?}, {sources} channels, {approximated} matrix elements by single colour flows",
        clock.elapsed()
    );
    let settings = SurveySettings {
        seed: 1,
        events,
        overweight: 0.01,
        precision: None,
    };
    let clock = Instant::now();
    let survey = generator.survey(&settings)?.clone();
    let stay = survey.sources.len();
    eprintln!("survey: {:.2?}, {stay} channels", clock.elapsed());
    for number in 1..if file == "-" { 3 } else { 1 } {
        let clock = Instant::now();
        let made = generator.round(&settings, number)?;
        generator.bytes(&made);
        eprintln!("round {number}: {:.2?}", clock.elapsed());
    }
    let clock = Instant::now();
    let made = generator.round(&settings, 0)?;
    let records = generator.bytes(&made);
    let seconds = clock.elapsed().as_secs_f64();
    eprintln!(
        "round: {seconds:.2} s, {:.3e} events/s, {:.3e} points/s",
        events as f64 / seconds,
        made.round.drawn.iter().sum::<u64>() as f64 / seconds
    );
    let found = rounds::cross_section(&survey, [(events, &made.round.sums[..])]);
    let found = found.times(CorrectionSums::total(&made.round.corrections).mean());
    println!(
        "{text}: {} +- {} pb, {} events of {} points after {} of the survey",
        found.mean,
        found.error,
        made.round.events.len(),
        made.round.drawn.iter().sum::<u64>(),
        survey.points
    );
    for (what, seconds) in generator.seconds() {
        eprintln!("{what}: {seconds:.3} s");
    }
    if file == "-" {
        return Ok(());
    }
    let mut text = Vec::new();
    mebridge::lhe::push_events(&mut text, &records, made.particles, 1.0)?;
    let mut file = std::fs::File::create(file)?;
    let beam = if densities.is_empty() { 21 } else { 2212 };
    let half = energy / 2.0;
    writeln!(file, "<LesHouchesEvents version=\"3.0\">\n<init>")?;
    writeln!(file, "{beam} {beam} {half:e} {half:e} 0 0 0 0 -4 1")?;
    writeln!(
        file,
        "{:e} {:e} {:e} 1\n</init>",
        found.mean, found.error, found.mean
    )?;
    file.write_all(&text)?;
    writeln!(file, "</LesHouchesEvents>")?;
    Ok(())
}

/// Cuts on gluons and quarks but the top, and on charged leptons.
fn cuts(codes: &[i32]) -> Vec<Window> {
    let is_jet = |&leg: &usize| codes[leg] == 21 || codes[leg].abs() < 6;
    let jets: Vec<usize> = (2..codes.len()).filter(is_jet).collect();
    let mut found = Vec::new();
    for (number, &jet) in jets.iter().enumerate() {
        let one = vec![vec![jet]];
        found.push(Window::new(Observable::Pt, one, 20.0, f64::INFINITY));
        for &other in &jets[number + 1..] {
            let both = vec![vec![jet], vec![other]];
            found.push(Window::new(Observable::Distance, both, 0.4, f64::INFINITY));
        }
    }
    let leptons = (2..codes.len()).filter(|&leg| matches!(codes[leg].abs(), 11 | 13 | 15));
    let leptons: Vec<usize> = leptons.collect();
    for (number, &lepton) in leptons.iter().enumerate() {
        let one = vec![vec![lepton]];
        found.push(Window::new(Observable::Pt, one, 10.0, f64::INFINITY));
        for &other in &leptons[number + 1..] {
            let both = vec![vec![lepton, other]];
            found.push(Window::new(Observable::Mass, both, 50.0, f64::INFINITY));
        }
    }
    found
}
