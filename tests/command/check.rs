//! `mebridge check`.

use crate::support::{
    directory, gg_ttx, mask_timings, mebridge, mebridge_with, two_matrix_elements,
};
use mebridge::phase_space::PhaseSpace;
use mebridge::process::example::scalars_squared;
use mebridge_command::statistics;
use mebridge_oracle::random::Random;
use serde_json::Value;
use statistics::Statistics;
use std::path::Path;

const HELP: &str = "\
Evaluate processes on random events: throughput, and mean and spread of the matrix element

Each FILE|DIR is a process file, a P* directory of an MG5aMC output (all its matrix elements; #N
after it for its N-th), a whole output or its SubProcesses. One iteration has BLOCKS times THREADS
events; on a CPU only their product counts. One number alone is ITERATIONS, of 1 times 32 events.

Usage: mebridge check [OPTIONS] <FILE|DIR>... [BLOCKS THREADS] ITERATIONS

Options:
  -p, --performance
          Print the whole report, with all timings

      --profile
          Print where the time of a call goes, and on a GPU what its kernels take

  -v, --verbose
          Print momenta and matrix element of every event

  -d, --debug
          Name every event whose matrix element is abnormal, on stderr

  -j, --json <FILE>
          Write the report as JSON to FILE (- for stdout, instead of text); of several a list

      --bridge
          Go through the Fortran functions (fbridgecreate_ and so on), as MadEvent does

      --channel <N>
          Apply the multichannel weight of this channel: a diagram number, from 1

      --common
          Take the random numbers that the plugin's check executable has with --common

      --energy <GEV>
          Centre-of-mass energy in GeV
          
          [default: 1500]

      --g <G>
          Strong coupling g_s of all events; the default is that of alpha_s = 0.118
          
          [default: 1.2177157847767195]

      --seed <N>
          Seed of the random numbers
          
          [default: 20200805]

      --card <CARD>
          Parameter card [default: that of the output, or the values in the file]

      --backend <ENGINE>
          Engine [default: as CUDACPP_RUNTIME_BACKEND says, or auto]
          
          [possible values: auto, cpu, cuda, hip]

      --simd <LEVEL>
          SIMD level [default: as CUDACPP_RUNTIME_SIMD says, or the best that this CPU has]
          
          [possible values: auto, none, sse4, avx2, 512y, 512z]

      --fptype <TYPE>
          Precision: double, mixed (single in colour sums) or float [default: as
          CUDACPP_RUNTIME_FPTYPE says, or d]
          
          [possible values: d, m, f]

      --threads <N>
          CPU threads [default: as CUDACPP_RUNTIME_THREADS says, or 1]

      --all-helicities
          Keep the helicities that do not contribute

  -h, --help
          Print help (see a summary with '-h')
";

const SHORT: &str = "\
Process                     = phi phi > phi phi
HelicityComb Good/Tot       = 1/1
TotalEventsComputed         = 96
EvtsPerSec[MatrixElems] (3) = ( # ) sec^-1
MeanMatrixElemValue         = ( 2.975527e-11 +- 8.981420e-12 )  GeV^0
";

const WHOLE: &str = "\
*******************************************************************************
Process                     = phi phi > phi phi
NumBlocksPerGrid            = 2
NumThreadsPerBlock          = 16
NumIterations               = 3
-------------------------------------------------------------------------------
Workflow summary            = CPU:DBL+CHACHA+RMBHST+MESHST/none
FP precision                = DOUBLE (NaN/abnormal=0, zero=0)
SIMD level                  = none
CPU threads                 = 1
Random number generation    = chacha (seed 20200805)
Energy                      = 1500 GeV
Strong coupling             = g_s = 1.2177157847767195
-------------------------------------------------------------------------------
HelicityComb Good/Tot       = 1/1
-------------------------------------------------------------------------------
TotalTime[Setup] (0) = ( # ) sec
TotalTime[Rnd+Rmb+ME] (123) = ( # ) sec
TotalTime[Rambo+ME] (23) = ( # ) sec
TotalTime[RndNumGen] (1) = ( # ) sec
TotalTime[Rambo] (2) = ( # ) sec
TotalTime[MatrixElems] (3) = ( # ) sec
MeanTimeInMatrixElems = ( # ) sec
[Min,Max]TimeInMatrixElems = [ # , # ] sec
TotalTime[Amplitudes] (3b) = ( # ) sec
TotalTime[ColorTreatment] (3c) = ( # ) sec
-------------------------------------------------------------------------------
TotalEventsComputed         = 96
EvtsPerSec[Rnd+Rmb+ME](123) = ( # ) sec^-1
EvtsPerSec[Rmb+ME] (23) = ( # ) sec^-1
EvtsPerSec[RndNumGen] (1) = ( # ) sec^-1
EvtsPerSec[Rambo] (2) = ( # ) sec^-1
EvtsPerSec[MatrixElems] (3) = ( # ) sec^-1
*******************************************************************************
NumMatrixElems(notAbnormal) = 96
MeanMatrixElemValue         = ( 2.975527e-11 +- 8.981420e-12 )  GeV^0
[Min,Max]MatrixElemValue    = [ 2.024538e-12 ,  6.194775e-10 ]  GeV^0
StdDevMatrixElemValue       = ( 8.799958e-11                 )  GeV^0
MeanWeight = ( # +- # ) GeV^0
[Min,Max]Weight             = [ 1.548826e+00 ,  1.548826e+00 ]  GeV^0
StdDevWeight = ( # ) GeV^0
*******************************************************************************
";

const EVENTS: &str = "\
*******************************************************************************
Iteration #1 of 2
Momenta:
   1  7.500000e+02  0.000000e+00  0.000000e+00  7.395100e+02
   2  7.500000e+02  0.000000e+00  0.000000e+00 -7.395100e+02
   3  7.500000e+02 -5.639543e+02 -4.631593e+02  1.196414e+02
   4  7.500000e+02  5.639543e+02  4.631593e+02 -1.196414e+02
-------------------------------------------------------------------------------
 Matrix element = 2.161991e-12 GeV^0
-------------------------------------------------------------------------------
*******************************************************************************
Iteration #2 of 2
Momenta:
   1  7.500000e+02  0.000000e+00  0.000000e+00  7.395100e+02
   2  7.500000e+02  0.000000e+00  0.000000e+00 -7.395100e+02
   3  7.500000e+02  3.434367e+02  2.591861e+02  6.014555e+02
   4  7.500000e+02 -3.434367e+02 -2.591861e+02 -6.014555e+02
-------------------------------------------------------------------------------
 Matrix element = 2.328435e-11 GeV^0
-------------------------------------------------------------------------------
Process                     = phi phi > phi phi
HelicityComb Good/Tot       = 1/1
TotalEventsComputed         = 2
EvtsPerSec[MatrixElems] (3) = ( # ) sec^-1
MeanMatrixElemValue         = ( 1.272317e-11 +- 7.467883e-12 )  GeV^0
";

#[test]
fn help() {
    let d = directory();
    assert_eq!(mebridge(d.path(), &["check", "--help"]).ok(), HELP);
}

#[test]
fn short_report() {
    let d = directory();
    let ran = mebridge(d.path(), &["check", "scalars.mebridge", "2", "16", "3"]);
    assert_eq!(mask_timings(ran.ok()), SHORT);
    // One number alone is the number of iterations of 32 events.
    let ran = mebridge(d.path(), &["check", "scalars.mebridge", "3"]);
    assert_eq!(mask_timings(ran.ok()), SHORT);
}

#[test]
fn whole_report() {
    let d = directory();
    let arguments = "check scalars.mebridge -p 2 16 3 --simd none";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    assert_eq!(mask_timings(mebridge(d.path(), &arguments).ok()), WHOLE);
}

#[test]
fn momenta_and_matrix_elements() {
    let d = directory();
    let ran = mebridge(
        d.path(),
        &["check", "-v", "scalars.mebridge", "1", "1", "2"],
    );
    assert_eq!(mask_timings(ran.ok()), EVENTS);
}

/// The JSON report of a run.
fn json(directory: &Path, arguments: &str) -> Value {
    let arguments: Vec<&str> = arguments.split(' ').chain(["--json", "-"]).collect();
    let ran = mebridge(directory, &arguments);
    serde_json::from_str(ran.ok()).expect("JSON")
}

/// The mean is that of the closed formula over the same events.
#[test]
fn mean_and_spread_are_those_of_the_closed_formula() {
    let (events, iterations, energy, g, mass) = (100, 3, 800.0, 0.7, 125.0);
    let space = PhaseSpace::new(energy, &[mass; 2], &[mass; 2]).unwrap();
    let mut expected = Statistics::default();
    for iteration in 0..iterations {
        let mut random = vec![0.0; events * space.randoms()];
        // Streams: momenta, helicity and colour of each iteration.
        Random::new(99).fill(3 * iteration, 0, space.randoms(), &mut random);
        let mut momenta = vec![0.0; space.components()];
        for random in random.chunks_exact(space.randoms()) {
            space.event(random, &mut momenta);
            expected.add(scalars_squared(&momenta, g, mass));
        }
    }
    let d = directory();
    let report = json(
        d.path(),
        "check scalars.mebridge 4 25 3 --energy 800 --g 0.7 --seed 99",
    );
    let close = |key: &str, expected: f64, tolerance: f64| {
        let value = report["matrix_element"][key].as_f64().unwrap();
        assert!(
            (value / expected - 1.0).abs() < tolerance,
            "{key}: {value}, not {expected}"
        );
    };
    close("mean", expected.mean(), 1e-12);
    close("standard_error", expected.standard_error(), 1e-9);
    close("standard_deviation", expected.standard_deviation(), 1e-9);
    close("min", expected.min(), 1e-12);
    close("max", expected.max(), 1e-12);
    assert_eq!(report["events"], 300);
    assert_eq!(report["configuration"]["energy"], 800.0);
    assert_eq!(report["abnormal"]["nan"], 0);
    for (group, key) in [
        ("seconds", "matrix_elements"),
        ("seconds", "amplitudes"),
        ("seconds", "color_sums"),
        ("events_per_second", "random"),
        ("events_per_second", "rambo"),
        ("events_per_second", "matrix_elements"),
    ] {
        assert!(report[group][key].as_f64().unwrap() > 0.0, "{group} {key}");
    }
}

/// The hand-written g g > t t~: the same mean from every interface.
#[test]
fn all_ways_give_the_same_mean() {
    let d = directory();
    let p = gg_ttx();
    let base = format!("check {} 3 11 2", p.display());
    let reference = json(d.path(), &format!("{base} --simd none"));
    let mean = |report: &Value| report["matrix_element"]["mean"].as_f64().unwrap();
    assert_eq!(reference["helicities"]["total"], 16);
    for level in mebridge::simd::Level::supported() {
        for (more, tolerance) in [
            ("", 1e-12),
            (" --threads 2", 1e-12),
            (" --bridge", 1e-12),
            (" --all-helicities", 1e-12),
            (" --bridge --threads 2", 1e-12),
            (" --fptype m", 1e-5),
            (" --fptype f", 2e-3),
        ] {
            let report = json(d.path(), &format!("{base} --simd {level}{more}"));
            let ratio = mean(&report) / mean(&reference);
            assert!((ratio - 1.0).abs() < tolerance, "{level}{more}: {ratio}");
            assert_eq!(report["configuration"]["simd"], level.name());
            assert_eq!(report["helicities"], reference["helicities"]);
        }
    }
}

#[test]
fn channels_have_weights_that_add_up() {
    let d = directory();
    let p = gg_ttx();
    let mean = |more: &str| {
        let report = json(d.path(), &format!("check {} 1 64 2{more}", p.display()));
        report["matrix_element"]["mean"].as_f64().unwrap()
    };
    for door in ["", " --bridge"] {
        let sum: f64 = (1..=3)
            .map(|n| mean(&format!(" --channel {n}{door}")))
            .sum();
        assert!((sum / mean("") - 1.0).abs() < 1e-12);
    }
}

#[test]
fn the_environment_holds_and_options_win() {
    let d = directory();
    let simd = |more: &[&str]| {
        let arguments = ["check", "scalars.mebridge", "1", "--json", "-"];
        let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
        let switches = [
            ("CUDACPP_RUNTIME_SIMD", "none"),
            ("CUDACPP_RUNTIME_FPTYPE", "m"),
        ];
        let ran = mebridge_with(d.path(), &arguments, &switches);
        let report: Value = serde_json::from_str(ran.ok()).unwrap();
        let c = &report["configuration"];
        (c["simd"].clone(), c["fptype"].clone())
    };
    assert_eq!(simd(&[]), ("none".into(), "m".into()));
    assert_eq!(simd(&["--fptype", "f"]), ("none".into(), "f".into()));
}

#[test]
fn json_goes_to_a_file_beside_the_text() {
    let d = directory();
    let arguments = ["check", "scalars.mebridge", "3", "--json", "out.json"];
    let ran = mebridge(d.path(), &arguments);
    assert_eq!(mask_timings(ran.ok()), format!("{SHORT}wrote out.json\n"));
    let text = std::fs::read_to_string(d.path().join("out.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["process"], "phi phi > phi phi");
    let arguments = [
        "check",
        "scalars.mebridge",
        "3",
        "--json",
        "no/such/out.json",
    ];
    let ran = mebridge(d.path(), &arguments);
    let expected = "mebridge: no/such/out.json: No such file or directory (os error 2)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, expected));
}

/// G so small that the matrix element is denormal, or zero.
#[test]
fn abnormal_matrix_elements_are_set_apart() {
    let d = directory();
    let run = |g: &str| {
        let arguments = ["check", "-d", "scalars.mebridge", "1", "2", "1", "--g", g];
        let all = "--all-helicities";
        mebridge(d.path(), &[&arguments[..], &[all]].concat())
    };
    let ran = run("1e-90");
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout
            .contains("AbnormalMatrixElems         = 2 zero\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .contains("MeanMatrixElemValue         = ( nan +- nan )")
    );
    assert_eq!(
        ran.stderr,
        "mebridge: the matrix element of event 0 is zero: 0\n\
         mebridge: the matrix element of event 1 is zero: 0\n\
         mebridge: 2 of 2 matrix elements are abnormal (2 zero) and not in the mean\n"
    );
}

#[test]
fn interferences_may_be_negative() {
    let d = directory();
    let text = "u u~ > u u~ QCD^2==2 QED^2==2";
    let made = mebridge(d.path(), &["generate", text, "-o", "x.mebridge"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let ran = mebridge(d.path(), &["check", "x.mebridge", "1", "32", "1"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(!ran.stdout.contains("Abnormal"), "{}", ran.stdout);
    let mean = ran
        .stdout
        .lines()
        .find(|l| l.starts_with("MeanMatrixElemValue"));
    assert!(mean.is_some_and(|l| l.contains("( -")), "{}", ran.stdout);
}

#[test]
fn a_profile_says_where_the_time_goes() {
    let d = directory();
    let p = gg_ttx();
    let p = p.to_str().unwrap();
    let arguments = ["check", p, "4", "64", "2", "--profile", "--threads", "2"];
    let ran = mebridge(d.path(), &arguments);
    let text = ran.ok();
    // The short report comes first.
    assert!(text.starts_with("Process  "), "{text}");
    let profile: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Profile"))
        .collect();
    let first = profile.first().expect("a profile");
    assert!(
        first.starts_with("Profile                     = one call of 256 events, "),
        "{first}"
    );
    assert!(first.ends_with(" sec, 2 threads"), "{first}");
    let names = ["amplitudes and JAMP", "colour sum", "everything else"];
    let mut shares = 0.0;
    for (line, name) in profile[1..].iter().zip(names) {
        assert!(line.starts_with(&format!("  {name}  ")), "{line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., seconds, "sec", share, "%"] = words[..] else {
            panic!("{line}");
        };
        let seconds: f64 = seconds.parse().unwrap();
        assert!((0.0..10.0).contains(&seconds), "{line}");
        shares += share.parse::<f64>().unwrap();
    }
    assert!((shares - 100.0).abs() < 0.2, "{shares}");
    assert_eq!(profile.len(), 2 + names.len(), "{text}");

    let report = json(d.path(), &format!("check {p} 4 64 2 --profile"));
    let profile = &report["profile"];
    assert_eq!(profile["events"], 256);
    assert_eq!(profile["workers"], 1);
    assert!(profile["gpu"].is_null());
    let phases = profile["phases"].as_array().unwrap();
    assert_eq!(phases.len(), names.len());
    let number = |value: &Value| value.as_f64().unwrap();
    let mut seconds = 0.0;
    for (phase, name) in phases.iter().zip(names) {
        assert_eq!(phase["phase"], name);
        assert!((0.0..=1.0).contains(&number(&phase["share"])), "{phase}");
        seconds += number(&phase["seconds"]);
    }
    assert!(number(&phases[0]["seconds"]) > 0.0);
    assert!((seconds / number(&profile["seconds"]) - 1.0).abs() < 1e-6);

    // It is absent unless requested.
    let report = json(d.path(), &format!("check {p} 1"));
    assert!(report["profile"].is_null());
    assert!(report["configuration"]["gpu"].is_null());
}

#[test]
fn wrong_use_is_explained() {
    let d = directory();
    let message = |more: &str| {
        let arguments: Vec<&str> = ["check", "scalars.mebridge"]
            .into_iter()
            .chain(more.split(' '))
            .collect();
        let ran = mebridge(d.path(), &arguments);
        ran.failed(2).lines().next().unwrap().to_owned()
    };
    assert_eq!(
        message("1 2"),
        "error: give ITERATIONS, or BLOCKS THREADS ITERATIONS"
    );
    assert_eq!(
        message("65536 65536 1"),
        "error: BLOCKS times THREADS must be below 2147483648"
    );
    assert_eq!(message("1 --g -1"), "error: --g must be a positive number");
    assert_eq!(message("1 --g=-1"), "error: --g must be a positive number");
    assert_eq!(message("1 --g nan"), "error: --g must be a positive number");
    assert_eq!(
        message("0"),
        "error: 0 is not a number from 1 to 4294967296"
    );
    assert_eq!(
        message("1 --simd avx"),
        "error: invalid value 'avx' for '--simd <LEVEL>'"
    );
    assert_eq!(
        message("1 --common --seed 3"),
        "error: the argument '--common' cannot be used with '--seed <N>'"
    );
}

#[test]
fn what_cannot_be_computed_is_an_error() {
    let d = directory();
    let message = |more: &str| {
        let arguments: Vec<&str> = ["check", "scalars.mebridge", "1", "4", "1"]
            .into_iter()
            .chain(more.split(' '))
            .collect();
        mebridge(d.path(), &arguments).failed(1).to_owned()
    };
    assert_eq!(
        message("--energy 200"),
        "mebridge: no phase space: 200 GeV is below the threshold of the incoming legs, 250 GeV; \
         give another energy with --energy\n"
    );
    let last = |more: &str| message(more).lines().last().unwrap().to_owned();
    let text = last("--channel 9");
    assert!(
        text.starts_with("mebridge: event 0 (from 0): there is no channel 9 "),
        "{text}"
    );
    let text = last("--channel 9 --bridge");
    assert!(text.starts_with("mebridge: ERROR "), "{text}");
    assert!(text.contains("there is no channel 9 "), "{text}");
    let text = last("--card absent.dat");
    assert!(text.starts_with("mebridge: absent.dat: "), "{text}");
    // The command reads the card before it calls the Fortran functions.
    assert_eq!(last("--bridge --card absent.dat"), text);
}

#[test]
fn one_of_several_matrix_elements_is_chosen() {
    let d = directory();
    two_matrix_elements(&d.path().join("two"));
    let p = "two/SubProcesses/P1_gg_ttx";
    std::fs::write(d.path().join("events"), "500 0 0 500\n").unwrap();
    let ran = mebridge(d.path(), &["eval", p, "events"]);
    let message = ran.failed(1);
    // The command's words, not those of the library.
    assert!(
        message.starts_with(&format!(
            "mebridge: events: numbers do not say of which of 2 matrix elements an event is; give an LHE file, or name one \
             of them:\n  {p}#1"
        )),
        "{message}"
    );
    assert!(
        message.contains(&format!("\n  {p}#2: g g > t t~ WEIGHTED<=2 @2")),
        "{message}"
    );
    let ran = mebridge(d.path(), &["check", &format!("{p}#3"), "1"]);
    assert!(ran.failed(1).contains("no number 3"), "{}", ran.stderr);
    for door in ["", " --bridge"] {
        let report = json(d.path(), &format!("check {p}#2 1{door}"));
        assert_eq!(report["process"], "g g > t t~ WEIGHTED<=2 @2");
    }
}

/// A P directory with two matrix elements, its SubProcesses, its output, and several arguments.
#[test]
fn several_matrix_elements_one_after_the_other() {
    let d = directory();
    two_matrix_elements(&d.path().join("two"));
    let p = "two/SubProcesses/P1_gg_ttx";
    let names = |text: &str| -> Vec<String> {
        let names = text.lines().filter(|line| line.ends_with(':'));
        names
            .map(|line| line.trim_end_matches(':').to_owned())
            .collect()
    };
    let both = [format!("{p}#1"), format!("{p}#2")];
    for place in [p, "two/SubProcesses", "two"] {
        let ran = mebridge(d.path(), &["check", place, "1", "4", "1"]);
        assert_eq!(names(ran.ok()), both, "{place}");
        assert_eq!(ran.stdout.matches("MeanMatrixElemValue").count(), 2);
    }
    let ran = mebridge(
        d.path(),
        &["check", "two", "scalars.mebridge", "2", "-j", "out.json"],
    );
    assert!(ran.ok().ends_with("\nwrote out.json\n"), "{}", ran.stdout);
    assert_eq!(names(&ran.stdout).len(), 3);
    let reports = std::fs::read_to_string(d.path().join("out.json")).unwrap();
    let reports: Value = serde_json::from_str(&reports).unwrap();
    let sources: Vec<&str> = (0..3)
        .map(|i| reports[i]["source"].as_str().unwrap())
        .collect();
    assert_eq!(sources, [&*both[0], &both[1], "scalars.mebridge"]);
    for i in 0..3 {
        assert!(reports[i]["matrix_element"]["mean"].as_f64().unwrap() > 0.0);
    }
    // To stdout it is JSON alone.
    let ran = mebridge(d.path(), &["check", "two", "2", "-j", "-"]);
    let reports: Value = serde_json::from_str(ran.ok()).unwrap();
    assert_eq!(reports.as_array().unwrap().len(), 2);
    // A matrix element that cannot be evaluated does not stop the others.
    let ran = mebridge(d.path(), &["check", "absent", "scalars.mebridge", "2"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with("mebridge: absent: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("MeanMatrixElemValue"), "{}", ran.stdout);
    let ran = mebridge(d.path(), &["check", "two", "1", "--bridge"]);
    assert!(
        ran.failed(2).contains("--bridge is for a single"),
        "{}",
        ran.stderr
    );
    let ran = mebridge(d.path(), &["check", "1", "2", "3"]);
    assert!(
        ran.failed(2).contains("give a FILE or DIR"),
        "{}",
        ran.stderr
    );
}
