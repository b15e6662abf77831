//! A caller with floating-point traps enabled (gfortran's `-ffpe-trap=invalid,zero,overflow`): no trap fires in a call
//! whose answers are finite, the answers are those without traps, and no flag is left set.
//!
//! A trap ends the program, so every case runs in a child: this test binary, started again with the numbers of the
//! process and the SIMD level in `MEBRIDGE_TEST_CASE`.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

use mebridge_testing as common;

use mebridge::simd::Level;
use mebridge_capi::c::{
    MEBRIDGE_OK, MebridgeBridge, MebridgeOptions, mebridge_create, mebridge_delete,
    mebridge_diagrams, mebridge_find_good_helicities, mebridge_last_error, mebridge_legs,
    mebridge_run,
};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};

const CASE: &str = "MEBRIDGE_TEST_CASE";
/// The case in which a trap must fire.
const DIVIDE: &str = "divide";
const TEST: &str = "no_trap_fires_where_the_answer_is_finite";

// Their values on x86-64.
const INVALID: i32 = 0x01;
const DIVISION: i32 = 0x04;
const OVERFLOW: i32 = 0x08;
const ALL: i32 = INVALID | DIVISION | OVERFLOW;

#[link(name = "m")]
unsafe extern "C" {
    fn feenableexcept(which: i32) -> i32;
    fn fedisableexcept(which: i32) -> i32;
    fn fetestexcept(which: i32) -> i32;
    fn feclearexcept(which: i32) -> i32;
}

/// Makes a process with outgoing particles of these masses.
struct Case {
    directory: String,
    masses: Vec<f64>,
}

fn cases() -> Vec<Case> {
    let own = mebridge_testing::root().join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    let mut cases = vec![Case {
        directory: own.to_str().expect("path").to_owned(),
        masses: vec![173.0, 173.0],
    }];
    if let Some(outputs) = common::mg5_outputs() {
        let (t, w) = (173.0, 80.419_002_445_756_16);
        for (name, masses) in [
            ("ee_mumu.mad/SubProcesses/P1_epem_mupmum", vec![0.0; 2]),
            ("gg_ttg.mad/SubProcesses/P1_gg_ttxg", vec![t, t, 0.0]),
            ("gq_ttq.mad/SubProcesses/P1_gu_ttxu", vec![t, t, 0.0]),
            ("nobm_pp_ttW.mad/SubProcesses/P0_udx_ttxwp", vec![t, t, w]),
            ("heft_gg_bb.mad/SubProcesses/P1_gg_bbx", vec![4.7; 2]),
            (
                "susy_gg_t1t1.mad/SubProcesses/P1_gg_t1t1x",
                vec![399.668_49; 2],
            ),
        ] {
            let directory = outputs.join(name);
            cases.push(Case {
                directory: directory.to_str().expect("path").to_owned(),
                masses,
            });
        }
    }
    cases
}

/// Returns two beams along z with the energies that the legs' momenta need.
fn event(outgoing: &[(f64, [f64; 3])]) -> Vec<f64> {
    let legs: Vec<[f64; 4]> = outgoing
        .iter()
        .map(|&(m, [x, y, z])| [(m * m + x * x + y * y + z * z).sqrt(), x, y, z])
        .collect();
    let sum: f64 = legs.iter().map(|p| p[0]).sum();
    let beam = sum / 2.0;
    let mut all = vec![[beam, 0.0, 0.0, beam], [beam, 0.0, 0.0, -beam]];
    all.extend(legs);
    all.concat()
}

/// Returns momenta of the outgoing legs, kind after kind: ordinary ones, in a plane, the first two along the axis in
/// both directions, and at rest.
fn kinds(masses: &[f64]) -> Vec<Vec<f64>> {
    let third = [[150.0, 70.0, -40.0], [90.0, 0.0, 55.0], [0.0, -210.0, 0.0]];
    let pairs = [
        [100.0, 50.0, 30.0],
        [0.0, 260.0, -70.0],
        [120.0, 0.0, 0.0],
        [0.0, 0.0, 300.0],
        [0.0, 0.0, -300.0],
        [0.0; 3],
    ];
    let mut events = Vec::new();
    for p in pairs {
        match *masses {
            [a, b] => {
                if p != [0.0; 3] || (a > 0.0 && b > 0.0) {
                    events.push(event(&[(a, p), (b, p.map(|x| -x))]));
                }
            }
            [a, b, c] => {
                for r in third {
                    // The first is at rest if p is zero; momentum is conserved.
                    let second = [0, 1, 2].map(|i| -p[i] - r[i]);
                    events.push(event(&[(a, p), (b, second), (c, r)]));
                }
            }
            _ => unreachable!("two or three legs"),
        }
    }
    events
}

/// Answers of a bridge in all calls of one kind.
#[derive(Debug, PartialEq)]
struct Answers(Vec<u64>, Vec<i32>);

struct Call<'a> {
    process: &'a CStr,
    level: &'a CStr,
    precision: &'a CStr,
    threads: u32,
    nevt: usize,
    channels: bool,
    find_first: bool,
}

impl Call<'_> {
    /// Makes a separate bridge; `enabled` selects the traps around the library's functions.
    fn make(&self, kinds: &[Vec<f64>], start: usize, enabled: i32) -> Answers {
        let options = MebridgeOptions {
            size: size_of::<MebridgeOptions>(),
            process: self.process.as_ptr(),
            param_card: null(),
            backend: c"cpu".as_ptr(),
            simd: self.level.as_ptr(),
            fptype: self.precision.as_ptr(),
            threads: self.threads,
            all_helicities: false,
            cache: c"off".as_ptr(),
            model: null(),
        };
        let nevt = self.nevt;
        let events = (0..nevt).map(|i| &kinds[(start + i) % kinds.len()][..]);
        let momenta = events.collect::<Vec<_>>().concat();
        let g_s = vec![1.2; nevt];
        let random: Vec<f64> = (0..nevt).map(|i| (i as f64 * 0.37 + 0.1).fract()).collect();
        let mut bridge: *mut MebridgeBridge = null_mut();
        let mut mes = vec![0.0; nevt];
        let (mut helicity, mut color) = (vec![0; nevt], vec![0; nevt]);
        let mut good = 0;
        let mut diagram = 0;
        // SAFETY: all arrays have the lengths that the functions require.
        unsafe {
            let check = |status: i32| {
                let message = CStr::from_ptr(mebridge_last_error());
                assert_eq!(status, MEBRIDGE_OK, "{}", message.to_string_lossy());
            };
            feclearexcept(ALL);
            feenableexcept(enabled);
            let made = mebridge_create(&options, nevt, &mut bridge);
            fedisableexcept(ALL);
            check(made);
            assert_eq!(mebridge_legs(bridge) as usize * 4 * nevt, momenta.len());
            let all = mebridge_diagrams(bridge) as i32;
            let mut done = Vec::new();
            loop {
                // The first diagram that is a channel.
                diagram += 1;
                assert!(diagram <= all, "no diagram is a channel");
                let channels = vec![diagram; nevt];
                feenableexcept(enabled);
                if self.find_first {
                    let (momenta, g_s) = (momenta.as_ptr(), g_s.as_ptr());
                    let found =
                        mebridge_find_good_helicities(bridge, nevt, momenta, g_s, &mut good);
                    done.push(found);
                }
                let ran = mebridge_run(
                    bridge,
                    nevt,
                    momenta.as_ptr(),
                    g_s.as_ptr(),
                    random.as_ptr(),
                    random.as_ptr(),
                    if self.channels {
                        channels.as_ptr()
                    } else {
                        null()
                    },
                    null(),
                    mes.as_mut_ptr(),
                    helicity.as_mut_ptr(),
                    color.as_mut_ptr(),
                );
                fedisableexcept(ALL);
                if ran == MEBRIDGE_OK || !self.channels {
                    done.push(ran);
                    break;
                }
            }
            done.into_iter().for_each(check);
            assert_eq!(fetestexcept(ALL), 0, "flags are left");
            check(mebridge_delete(bridge));
        }
        assert!(mes.iter().all(|x| x.is_finite()), "not finite: {mes:?}");
        helicity.extend(color);
        Answers(mes.into_iter().map(f64::to_bits).collect(), helicity)
    }
}

fn child(case: &str) {
    if case == DIVIDE {
        // SAFETY: the function accepts any number.
        unsafe { feenableexcept(ALL) };
        std::hint::black_box(std::hint::black_box(1.0) / std::hint::black_box(0.0));
        return;
    }
    let (number, level) = case.split_once(' ').expect("two numbers");
    let number: usize = number.parse().expect("number of a case");
    let level = Level::supported()[level.parse::<usize>().expect("number of a level")];
    let case = cases().remove(number);
    let directory = CString::new(case.directory.clone()).expect("path");
    let kinds = kinds(&case.masses);
    // The import also has traps enabled, once; reading its result is faster.
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("process.mebridge");
    let processes = mebridge::import::import_directory(Path::new(&case.directory));
    processes.expect("import")[0].write(&file).expect("file");
    let file = CString::new(file.to_str().expect("path")).expect("path");
    // The largest number wakes threads.
    let counts: Vec<usize> = match number {
        0 => (1..=17).chain([700]).collect(),
        _ => vec![1, 2, 3, 7, 8, 17, 700],
    };
    let level = CString::new(level.name()).expect("name");
    for precision in [c"d", c"m", c"f"] {
        for &nevt in &counts {
            // Threads that are not woken are shown by one number.
            for threads in 1..=if nevt < 17 { 1 } else { 2 } {
                for channels in [false, true] {
                    let call = Call {
                        process: if nevt == 1 { &directory } else { &file },
                        level: &level,
                        precision,
                        threads,
                        nevt,
                        channels,
                        find_first: nevt % 3 == 0,
                    };
                    // Each kind is sometimes the first of a call, and sometimes the last, which fills the last vector.
                    let trapped = call.make(&kinds, nevt, ALL);
                    assert!(trapped == call.make(&kinds, nevt, 0), "{level:?} {nevt}");
                }
            }
        }
    }
}

#[test]
fn no_trap_fires_where_the_answer_is_finite() {
    if let Ok(case) = std::env::var(CASE) {
        return child(&case);
    }
    let run = |case: &str| {
        Command::new(std::env::current_exe().expect("own path"))
            .args([TEST, "--exact", "--nocapture"])
            .env(CASE, case)
            .output()
            .expect("child")
    };
    assert!(!run(DIVIDE).status.success(), "traps do not work here");
    let levels = Level::supported().len();
    for (number, case) in cases().iter().enumerate() {
        std::thread::scope(|scope| {
            for level in 0..levels {
                scope.spawn(move || {
                    let output = run(&format!("{number} {level}"));
                    assert!(
                        output.status.success(),
                        "{}: {}\n{}{}",
                        case.directory,
                        output.status,
                        String::from_utf8_lossy(&output.stdout),
                        String::from_utf8_lossy(&output.stderr)
                    );
                });
            }
        });
    }
}
