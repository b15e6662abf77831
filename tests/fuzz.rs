//! Reads damaged process files for some time, and evaluates them if they are still valid. One in eight is damaged by
//! large counts, up to and beyond the limits of a process.
//!
//!     MEBRIDGE_FUZZ_SECONDS=600 cargo test --release --test fuzz -- --ignored --nocapture
//!
//! `MEBRIDGE_FUZZ_SEED` sets the seed (1 by default), `MEBRIDGE_FUZZ_FILE` another file (of a process 2 > 2) instead of
//! those of g g > t t~, of the scalars and of colour-ordered forms. The last file tried is in the temporary folder that
//! is printed, in case a file ends the program.

#[path = "common/damaged.rs"]
mod damaged;

use damaged::{HEADER, evaluate, momenta, seal};
use mebridge::process::arith::Op;
use mebridge::process::{Process, Term, TermSource, example};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::io::Write;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

fn mutate(bytes: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(1..6) {
        let at = rng.random_range(HEADER..bytes.len());
        match rng.random_range(0..6) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = rng.random(),
            2 => {
                bytes[at] = bytes[at]
                    .wrapping_add(rng.random_range(0..3))
                    .wrapping_sub(1)
            }
            3 => bytes.truncate(at.max(HEADER + 1)),
            4 => bytes.insert(at, rng.random()),
            _ => {
                let from = rng.random_range(HEADER..bytes.len());
                let to = bytes.len().min(from + rng.random_range(1..30));
                let piece = bytes[from..to].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
}

/// Enlarges a count.
fn grow(process: &mut Process, rng: &mut ChaCha8Rng) {
    let many = 1 << rng.random_range(2..13);
    // The colour-ordered form has nothing that can be repeated.
    let Some(diagrams) = process.amplitudes.diagrams_mut() else {
        return;
    };
    let amplitudes = diagrams.amplitudes.len();
    let term = |rng: &mut ChaCha8Rng| Term {
        source: TermSource::Amplitude(rng.random_range(0..amplitudes.max(1)) as u32),
        factor: (rng.random(), rng.random()),
    };
    match rng.random_range(0..6) {
        0 => {
            let rows = process.helicities.len();
            for i in 0..rows * many {
                process
                    .helicities
                    .push(process.helicities[i % rows].clone());
            }
            process.beam_weights.clear();
        }
        1 => {
            for h in process.helicities.iter_mut().flatten() {
                *h = rng.random_range(-4..5);
            }
        }
        2 => {
            for i in 0..many.min(amplitudes * many) {
                let again = diagrams.amplitudes[i % amplitudes].clone();
                diagrams.amplitudes.push(again);
            }
        }
        3 => {
            for output in &mut diagrams.jamp.outputs {
                output.extend((0..many).map(|_| term(rng)));
            }
        }
        4 => {
            for routine in &mut process.routines {
                let last = routine.program.ops.len() as u32 - 1;
                let more = (0..many as u32).map(|i| Op::Mul(last + i, last));
                routine.program.ops.extend(more);
            }
        }
        _ => {
            // Entries with few different values, which have symmetries to be found.
            let flows = rng.random_range(2..800);
            let values = rng.random_range(1..4);
            diagrams.color.flows = flows as u32;
            diagrams.color.upper = (0..flows * (flows + 1) / 2)
                .map(|i| f64::from(u8::from(i % values == 0)))
                .collect();
            diagrams.jamp.outputs = (0..flows).map(|_| vec![term(rng)]).collect();
            process.flow_weights.clear();
            for row in &mut process.channels.color_allowed {
                row.resize(flows, true);
            }
        }
    }
}

/// Returns the CPU time of this program, so that the cost of a file does not depend on the load of the machine.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is on the stack.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
#[ignore = "runs for as long as MEBRIDGE_FUZZ_SECONDS says"]
fn damaged_files() {
    let variable = |name: &str| std::env::var(name).ok();
    let number = |name: &str| variable(name).and_then(|v| v.parse::<u64>().ok());
    let time = Duration::from_secs(number("MEBRIDGE_FUZZ_SECONDS").unwrap_or(10));
    let mut rng = ChaCha8Rng::seed_from_u64(number("MEBRIDGE_FUZZ_SEED").unwrap_or(1));
    let bases: Vec<Process> = match variable("MEBRIDGE_FUZZ_FILE") {
        Some(path) => vec![Process::read(path).unwrap()],
        None => {
            let p = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/fortran/gg_ttx/SubProcesses/P1_gg_ttx"
            );
            let mut all = mebridge::import::import_directory(Path::new(p)).unwrap();
            all.push(example::scalars());
            for text in ["u u~ > e+ e- g", "g u > a u", "g g > g g"] {
                let process = mebridge::generate(text).unwrap().remove(0);
                all.push(process.as_color_ordered().unwrap());
            }
            all
        }
    };
    let bases: Vec<_> = bases
        .into_iter()
        .map(|process| {
            let (bytes, momenta) = (process.to_bytes().unwrap(), momenta(&process));
            let whole = process.clone();
            let momenta = momenta.expect("a process 2 > 2 or 2 > 3");
            assert!(
                evaluate(process, &momenta),
                "the file is not good to begin with"
            );
            (whole, bytes, momenta)
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let last = folder.path().join("last.mebridge");
    println!("the last valid file tried: {}", last.display());
    let start = Instant::now();
    let (mut files, mut valid, mut evaluated) = (0u64, 0u64, 0u64);
    let (mut slowest, mut panics) = (Duration::ZERO, 0);
    while start.elapsed() < time && panics < 20 {
        let (process, good, momenta) = &bases[rng.random_range(0..bases.len())];
        let mut bytes = good.clone();
        if rng.random_ratio(1, 8) {
            let mut process = process.clone();
            grow(&mut process, &mut rng);
            bytes = process.to_bytes().unwrap();
        } else {
            mutate(&mut bytes, &mut rng);
        }
        if rng.random_ratio(19, 20) {
            seal(&mut bytes);
        }
        let begun = cpu_time();
        files += 1;
        if let Ok(process) = Process::from_bytes(&bytes, Path::new("mutated")) {
            valid += 1;
            std::fs::write(&last, &bytes).unwrap();
            match catch_unwind(|| evaluate(process, momenta)) {
                Ok(answered) => evaluated += u64::from(answered),
                Err(_) => {
                    let (mut file, kept) = tempfile::NamedTempFile::new().unwrap().keep().unwrap();
                    file.write_all(&bytes).unwrap();
                    println!("a panic; the file is kept as {}", kept.display());
                    panics += 1;
                }
            }
        }
        slowest = slowest.max(cpu_time().saturating_sub(begun));
    }
    println!(
        "{files} files in {:.0?}: {valid} valid, {evaluated} of them evaluated; the slowest took {slowest:.1?} of CPU time",
        start.elapsed()
    );
    assert_eq!(panics, 0);
    // At the limits of `Process::validate` planning takes seconds.
    assert!(slowest < Duration::from_secs(20), "a file took {slowest:?}");
    assert!(valid > 0 && evaluated > 0);
}
