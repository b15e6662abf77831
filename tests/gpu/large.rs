//! A process of a million operations and 5040 colour flows, made from copies of a real one whose
//! couplings bear other names, so that no copy shares an operation with another.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, number, on_cpu, some};
use mebridge::process::color::ColorMatrix;
use mebridge::process::{Amplitudes, Diagrams, Process, TermSource, Wavefunction};
use mebridge::runtime::{Precision, Switches};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

const FLOWS: usize = 5040;
/// Operations of one helicity, about.
const OPERATIONS: usize = 1_000_000;
/// Helicities, by their numbers in the real process.
const HELICITIES: [usize; 2] = [40, 87];
const EVENTS: usize = 1000;
/// Events that the CPU does as well.
const COMPARED: usize = 4;

/// Makes copies of a process, whose JAMPs go to the flows one copy after the other.
fn copies(of: &Process, count: usize, flows: usize) -> Process {
    let mut process = of.clone();
    let listed = of.amplitudes.diagrams().expect("diagrams");
    let mut diagrams = Diagrams::default();
    let couplings = of.model.couplings.len() as u32;
    let (waves, amplitudes) = (
        of.wavefunctions.len() as u32,
        listed.amplitudes.len() as u32,
    );
    let partials = listed.jamp.partial.len() as u32;
    process.helicities = HELICITIES
        .iter()
        .map(|&h| of.helicities[h % of.helicities.len()].clone())
        .collect();
    diagrams.jamp.outputs = vec![Vec::new(); flows];
    process.model.couplings.clear();
    process.wavefunctions.clear();
    for copy in 0..count as u32 {
        for coupling in &of.model.couplings {
            let mut mine = coupling.clone();
            mine.name = format!("{}_{copy}", coupling.name);
            process.model.couplings.push(mine);
        }
        let vertex = |vertex: &mebridge::process::Vertex| {
            let mut mine = vertex.clone();
            for input in &mut mine.inputs {
                *input += copy * waves;
            }
            for coupling in &mut mine.couplings {
                coupling.coupling += copy * couplings;
            }
            mine
        };
        let waves = of.wavefunctions.iter().map(|wave| match wave {
            Wavefunction::External(external) => Wavefunction::External(*external),
            Wavefunction::Internal(inner) => Wavefunction::Internal(vertex(inner)),
        });
        process.wavefunctions.extend(waves);
        diagrams
            .amplitudes
            .extend(listed.amplitudes.iter().map(vertex));
        let terms = |terms: &Vec<mebridge::process::Term>| {
            let mut mine = terms.clone();
            for term in &mut mine {
                term.source = match term.source {
                    TermSource::Amplitude(i) => TermSource::Amplitude(i + copy * amplitudes),
                    TermSource::Partial(i) => TermSource::Partial(i + copy * partials),
                };
            }
            mine
        };
        diagrams
            .jamp
            .partial
            .extend(listed.jamp.partial.iter().map(terms));
        for (i, output) in listed.jamp.outputs.iter().enumerate() {
            let flow = (copy as usize * listed.jamp.outputs.len() + i) % flows;
            diagrams.jamp.outputs[flow].extend(terms(output));
        }
    }
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut upper = Vec::with_capacity(ColorMatrix::triangle(flows));
    for i in 0..flows {
        for j in i..flows {
            // More than all others of the row on the diagonal: no sum cancels.
            upper.push(match i == j {
                true => 2.0 * flows as f64,
                false => f64::from(random.random_range(-1..=1)),
            });
        }
    }
    diagrams.color = ColorMatrix {
        flows: flows as u32,
        denominator: 3.0,
        upper,
    };
    for row in &mut process.channels.color_allowed {
        *row = (0..flows).map(|flow| row[flow % row.len()]).collect();
    }
    process.channels.color_flows.clear();
    process.amplitudes = Amplitudes::Diagrams(diagrams);
    process
}

#[test]
fn a_process_of_a_million_operations_runs() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (r, process) in &some(&["gg_ttggg.P1_gg_ttxggg"]) {
        let each = process.wavefunctions.len() + process.amplitudes.vertices().len();
        let operations = number("MEBRIDGE_TEST_OPERATIONS", OPERATIONS as u64) as usize;
        let process = copies(process, operations.div_ceil(each), FLOWS);
        process.validate().expect("a process");
        let calls = process.wavefunctions.len() + process.amplitudes.vertices().len();
        println!("{}: {calls} calls, {FLOWS} colour flows", r.name);
        let batch = Batch::random(&process, EVENTS);
        let mut right = None;
        for blas in [None, Some(false)] {
            let switches = Switches {
                precision: Precision::Double,
                blas_color_sum: blas,
                ..gpu.switches()
            };
            let start = Instant::now();
            let mut on_gpu = bridge(&process, &switches);
            println!(
                "BLAS {blas:?}: bridge after {:.1} s",
                start.elapsed().as_secs_f64()
            );
            let first = batch.first(COMPARED, Ask::PLAIN, &mut on_gpu);
            println!(
                "first answer after {:.1} s, {:?} multiply-adds",
                start.elapsed().as_secs_f64(),
                on_gpu.multiply_adds(false)
            );
            for ask in [Ask::PLAIN, Ask::CHANNELS] {
                let start = Instant::now();
                let all = batch.run(ask, &mut on_gpu);
                let seconds = start.elapsed().as_secs_f64();
                println!("{EVENTS} events, {ask:?}: {seconds:.2} s");
                if all.squared.iter().any(|x| !x.is_finite() || *x <= 0.0) {
                    wrong.push(format!(
                        "BLAS {blas:?}: not all answers are numbers, {ask:?}"
                    ));
                }
                if ask == Ask::PLAIN
                    && let Some(what) = all.first(COMPARED).differs(&first, 1e-12)
                {
                    wrong.push(format!("BLAS {blas:?}: {what} differ from the first call"));
                }
            }
            drop(on_gpu);
            let right = right.get_or_insert_with(|| {
                let start = Instant::now();
                let answers = batch.first(COMPARED, Ask::PLAIN, &mut on_cpu(&process));
                println!("on the CPU: {:.1} s", start.elapsed().as_secs_f64());
                answers
            });
            if let Some(what) = first.differs(right, 1e-10) {
                wrong.push(format!("BLAS {blas:?}: {what} differ from the CPU"));
            }
        }
    }
    conclude(&wrong);
}

/// The same by the CPU alone, smaller: a copy for each block of flows.
#[test]
fn copies_of_a_process_are_a_process() {
    for (_, process) in &some(&["gg_ttg.P1_gg_ttxg"]) {
        let flows = process.amplitudes.jamps();
        let one = number("MEBRIDGE_TEST_COPIES", 3) as usize;
        let start = Instant::now();
        let mut copies = copies(process, one, flows * one);
        copies.validate().expect("a process");
        let color = &process.amplitudes.diagrams().expect("diagrams").color;
        let diagrams = copies.amplitudes.diagrams_mut().expect("diagrams");
        // The matrix of the real one for each copy gives as many times its answer.
        for i in 0..flows * one {
            for j in i..flows * one {
                let n = flows * one;
                let at = i * n - i * i.saturating_sub(1) / 2 + (j - i);
                diagrams.color.upper[at] = match i / flows == j / flows {
                    true => color.entry(i % flows, j % flows),
                    false => 0.0,
                };
            }
        }
        diagrams.color.denominator = 1.0;
        copies.helicities.clone_from(&process.helicities);
        let batch = Batch::random(process, 3);
        let mut right = batch.run(Ask::PLAIN, &mut on_cpu(process));
        for x in &mut right.squared {
            *x *= one as f64;
        }
        let answers = batch.run(Ask::PLAIN, &mut on_cpu(&copies));
        println!("{:.1} s", start.elapsed().as_secs_f64());
        assert_eq!(answers.differs(&right, 1e-10), None);
    }
}
