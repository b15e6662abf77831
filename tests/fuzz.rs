//! Damaged process files for a while: read, and where they are still valid, evaluated.
//!
//!     MEBRIDGE_FUZZ_SECONDS=600 cargo test --release --test fuzz -- --ignored --nocapture
//!
//! `MEBRIDGE_FUZZ_SEED` begins elsewhere (1 if not set), `MEBRIDGE_FUZZ_FILE` takes another file
//! (of a process 2 > 2) than those of g g > t t~, of the scalars and of colour-ordered forms. The last file tried stands
//! in the temporary folder that is printed, for the case that a file ends the program.

#[path = "common/damaged.rs"]
mod damaged;

use damaged::{HEADER, evaluate, momenta, seal};
use mebridge::process::{Process, example};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
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

/// CPU time of this program: what a file costs, however busy the machine is.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a time that stands on the stack.
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
            let momenta = momenta.expect("a process 2 > 2 or 2 > 3");
            assert!(
                evaluate(process, &momenta),
                "the file is not good to begin with"
            );
            (bytes, momenta)
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let last = folder.path().join("last.mebridge");
    println!("the last valid file tried: {}", last.display());
    let start = Instant::now();
    let (mut files, mut valid, mut evaluated) = (0u64, 0u64, 0u64);
    let (mut slowest, mut panics) = (Duration::ZERO, 0);
    while start.elapsed() < time && panics < 20 {
        let (good, momenta) = &bases[rng.random_range(0..bases.len())];
        let mut bytes = good.clone();
        mutate(&mut bytes, &mut rng);
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
                    let name = format!("mebridge_panic_{}.mebridge", panics);
                    let kept = std::env::temp_dir().join(name);
                    std::fs::write(&kept, &bytes).unwrap();
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
    assert!(slowest < Duration::from_secs(5), "a file took {slowest:?}");
    assert!(valid > 0 && evaluated > 0);
}
