//! `mebridge bench`, independent of the speed of the machine.

use crate::support::{
    Ran, directory, gg_ttx, hears_signals, mebridge, mebridge_with, two_matrix_elements,
};
use serde_json::{Value, json};
use std::path::Path;

const HELP: &str = "\
Measure throughput by precision, SIMD level, events in a call and threads

Prints a table and writes PREFIX.json, of which benches/speed_figure.py draws figures. A list has
commas between its items. Ctrl-C ends the measuring; what has been measured is written.

Usage: mebridge bench [OPTIONS] [FILE|DIR]...

Arguments:
  [FILE|DIR]...
          Process files, P* directories of MG5aMC outputs (all their matrix elements; #N after one
          for the N-th), whole outputs or their SubProcesses [default: as the library would find it,
          or else a small example]

Options:
  -o, --output <PREFIX>
          Name of the file that is written, without its ending
          
          [default: bench]

      --nevt <LIST>
          Events in one call: numbers and ranges FIRST:LAST or FIRST:LAST:FACTOR (factor 2)
          
          [default: 32:16384:8]

      --backend <ENGINE>
          Engine [default: as CUDACPP_RUNTIME_BACKEND says, or auto]
          
          [possible values: auto, cpu, cuda, hip]

      --simd <LIST>
          SIMD levels: none, sse4, avx2, 512y, 512z, auto (the best) or all (that this CPU has)
          
          [default: all]

      --fptype <LIST>
          Precisions: d (double), m (colour sums in single precision), f (single)
          
          [default: d,m,f]

      --door <LIST>
          Doors: nomultichannel (calls without channels), sequence (with channels)
          
          [default: nomultichannel]

      --threads <LIST>
          Numbers of CPU threads
          
          [default: 1]

      --repetitions <N>
          Repetitions of each point; their median, smallest and largest value are given
          
          [default: 5]

      --seconds <S>
          Seconds for one point, all its repetitions together
          
          [default: 1]

      --limit <S>
          Leave out points that take longer than this even with three calls
          
          [default: 30]

      --energy <GEV>
          Centre-of-mass energy in GeV
          
          [default: 1500]

      --g <G>
          Strong coupling g_s of all events
          
          [default: 1.2177157847767195]

      --card <CARD>
          Parameter card [default: that of the output, or the values in the file]

      --label <TEXT>
          Name of this result in legends [default: mebridge and its version]

      --device-time
          On a GPU: count the time of its kernels alone, by its own clocks, without copies

  -h, --help
          Print help (see a summary with '-h')
";

/// A sweep that takes no time.
const QUICK: [&str; 4] = ["--seconds", "1e-4", "--repetitions", "3"];

fn bench(directory: &Path, arguments: &[&str]) -> Ran {
    let mut all = vec!["bench"];
    all.extend(arguments);
    all.extend(QUICK);
    mebridge(directory, &all)
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn help() {
    let d = directory();
    assert_eq!(mebridge(d.path(), &["bench", "--help"]).ok(), HELP);
}

#[test]
fn a_small_sweep() {
    let d = directory();
    let p = gg_ttx();
    let arguments = [
        "scalars.mebridge",
        p.to_str().unwrap(),
        "--nevt",
        "5,16:64:4",
        "--simd",
        "none,auto",
        "--fptype",
        "d,f",
        "--door",
        "nomultichannel,sequence",
        "--threads",
        "1,2",
        "-o",
        "out",
    ];
    let ran = bench(d.path(), &arguments);
    let text = ran.ok().to_owned();
    let record = read(&d.path().join("out.json"));
    assert_eq!(record["format"], "mebridge-bench-1");
    assert_eq!(
        record["program"],
        format!("mebridge {}", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(record["settings"]["repetitions"], 3);
    assert!(record["machine"]["cpu"].is_string());
    assert!(
        record["machine"]["levels"]
            .as_array()
            .unwrap()
            .contains(&json!("none"))
    );
    assert_eq!(record["date"].as_str().unwrap().len(), 20);
    assert_eq!(record["skipped"], json!([]));

    let points = record["points"].as_array().unwrap();
    // Where the CPU has nothing beyond `none`, that is also its best.
    let levels = match mebridge::simd::Level::best().name() {
        "none" => 1,
        _ => 2,
    };
    assert_eq!(points.len(), 2 * 3 * levels * 2 * 2 * 2);
    for (i, point) in points.iter().enumerate() {
        let rate = &point["matrix_elements_per_second"];
        let [low, middle, high] = ["min", "median", "max"].map(|key| rate[key].as_f64().unwrap());
        assert!(0.0 < low && low <= middle && middle <= high, "{point}");
        let time = point["seconds_per_call"]["max"].as_f64().unwrap();
        let nevt = point["nevt"].as_f64().unwrap();
        assert!((nevt / time / low - 1.0).abs() < 1e-9, "{point}");
        let madds = point["multiply_adds"].as_f64().unwrap();
        let gflops = point["gflops"].as_f64().unwrap();
        assert!(
            (gflops / (2e-9 * madds * middle) - 1.0).abs() < 1e-9,
            "{point}"
        );
        assert_eq!(point["repetitions"], 3);
        let name = point["process"].as_str().unwrap();
        // Scalars have no recursion; without channels that of g g > t t~ is the better plan.
        let plan = point["plan"].as_str().unwrap();
        match (name.starts_with('g'), point["channels"].as_bool().unwrap()) {
            (false, _) => assert_eq!(plan, "diagrams"),
            (true, false) => assert_eq!(plan, "recursion"),
            (true, true) => assert!(["diagrams", "recursion"].contains(&plan)),
        }
        assert_eq!(
            name,
            ["phi phi > phi phi", "g g > t t~"][2 * i / points.len()]
        );
        let good = if name.starts_with('g') { 16 } else { 1 };
        assert_eq!(point["good_helicities"], good, "{point}");
    }
    let of = |key: &str, value: Value| points.iter().filter(|p| p[key] == value).count();
    assert_eq!(of("channels", json!(true)), points.len() / 2);
    assert_eq!(of("threads", json!(2)), points.len() / 2);
    assert_eq!(of("precision", json!("f")), points.len() / 2);
    assert_eq!(of("nevt", json!(5)), points.len() / 3);
    assert_eq!(of("simd", json!("none")), points.len() / levels);

    assert!(text.contains("\nphi phi > phi phi\nfptype  simd"), "{text}");
    let rows = text
        .lines()
        .filter(|line| line.starts_with("d ") || line.starts_with("f "));
    assert_eq!(rows.count(), points.len());
    assert!(text.ends_with("wrote out.json\n"), "{text}");
}

#[test]
fn there_is_json_alone() {
    let d = directory();
    let ran = bench(
        d.path(),
        &["scalars.mebridge", "--simd", "none", "--nevt", "16"],
    );
    assert!(ran.ok().ends_with("wrote bench.json\n"));
    let mut files: Vec<_> = std::fs::read_dir(d.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["bench.json", "scalars.mebridge"]);
}

/// Returns the CPU time of a program in hundredths of a second, from Linux.
fn cpu_ticks(program: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{program}/stat")).unwrap();
    // The second field, a name in parentheses, may contain anything; the time is the 14th.
    let mut after = stat.rsplit(')').next().unwrap().split_whitespace();
    after.nth(11).unwrap().parse().unwrap()
}

/// Measurements before a signal are written and marked as incomplete.
#[cfg(target_os = "linux")]
fn is_kept_at(signal: &str) {
    let d = directory();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mebridge"));
    let child = hears_signals(&mut command)
        .args([
            "bench",
            "scalars.mebridge",
            "--simd",
            "none",
            "--nevt",
            "16,32",
        ])
        .args(["--seconds", "60", "--repetitions", "10000"])
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .current_dir(d.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Each of six points takes 0.006 s a repetition; a minute each in all. However busy the machine is, the first has
    // begun after half a second of its own.
    while cpu_ticks(child.id()) < 50 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let killed = std::process::Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}{errors}");
    assert!(text.contains("wrote bench.json\n"), "{text}{errors}");
    assert!(errors.contains("interrupted"), "{errors}");
    let record = read(&d.path().join("bench.json"));
    assert_eq!(record["interrupted"], true);
    let points = record["points"].as_array().unwrap();
    assert!(!points.is_empty() && points.len() <= 6, "{points:?}");
    assert!(
        points
            .iter()
            .all(|p| p["repetitions"].as_u64().unwrap() >= 1)
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_measurement_is_kept_when_it_is_interrupted() {
    is_kept_at("INT");
}

#[test]
#[cfg(target_os = "linux")]
fn a_measurement_is_kept_when_it_is_terminated() {
    is_kept_at("TERM");
}

#[test]
fn without_a_process_the_example_is_taken() {
    let d = tempfile::tempdir().unwrap();
    let ran = bench(d.path(), &["--simd", "none", "--nevt", "16"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.contains("\nphi phi > phi phi\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("taking the example"), "{}", ran.stderr);
    // The switch of the library selects a process.
    let p = gg_ttx();
    let mut arguments = vec!["bench", "--simd", "none", "--nevt", "16"];
    arguments.extend(QUICK);
    let variables = [("CUDACPP_RUNTIME_PROCESS", p.to_str().unwrap())];
    let ran = mebridge_with(d.path(), &arguments, &variables);
    assert!(ran.ok().contains("\ng g > t t~\n"));
}

#[test]
fn the_same_process_twice_is_told_apart() {
    let d = directory();
    let p = two_matrix_elements(d.path());
    let p = p.to_str().unwrap();
    let arguments = [p, "--simd", "none", "--nevt", "16", "--fptype", "d"];
    let names = |record: Value| -> Vec<String> {
        let points = record["points"].as_array().unwrap();
        points
            .iter()
            .map(|p| p["process"].as_str().unwrap().to_owned())
            .collect()
    };
    bench(d.path(), &arguments).ok();
    let both = names(read(&d.path().join("bench.json")));
    assert_eq!(both.len(), 2);
    assert!(
        both[0].ends_with(" #1") && both[1].ends_with(" #2"),
        "{both:?}"
    );
    let second = format!("{p}#2");
    let mut arguments = arguments;
    arguments[0] = &second;
    bench(d.path(), &arguments).ok();
    assert_eq!(names(read(&d.path().join("bench.json"))), ["g g > t t~"]);
}

#[test]
fn points_that_take_too_long_are_left_out_and_named() {
    let d = directory();
    let ran = bench(
        d.path(),
        &[
            "scalars.mebridge",
            "--nevt",
            "16",
            "--simd",
            "none",
            "--fptype",
            "d",
            "--limit",
            "1e-6",
        ],
    );
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("left out: phi phi > phi phi, d, none, 1 threads, nomultichannel, nevt 16: it would take"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("no point was measured"),
        "{}",
        ran.stderr
    );
    assert!(!d.path().join("bench.json").exists());
}

#[test]
fn wrong_options_are_explained() {
    let d = directory();
    #[rustfmt::skip]
    let cases = [
        (&["--nevt", "0"][..], "'0' is not a whole number from 1"),
        (&["--nevt", "8:4"], "the range begins at 8, after its end 4"),
        (&["--nevt", "1:8:1"], "the factor 1 is not above 1"),
        (&["--nevt", "3000000000"], "--nevt: 3000000000 is not a number of events"),
        (&["--simd", "avx9"], "unknown SIMD level `avx9`"),
        (&["--fptype", "d,q"], "'q' is none of the possible items: d, m and f"),
        (&["--door", "front"], "'front' is none of the possible items: sequence and nomultichannel"),
        (&["--threads", "2000"], "--threads: 2000 is not a number of threads from 1 to 1024"),
        (&["--seconds", "0"], "not a time in seconds"),
        (&["--repetitions", "0"], "0 is not in 1..=10000"),
        (&["--g=-1"], "not a positive number"),
        (&["--plot", "x.json"], "benches/speed_figure.py"),
        (&["scalars.mebridge", "--no-plots"], "benches/speed_figure.py"),
    ];
    for (arguments, message) in cases {
        let mut all = vec!["bench"];
        all.extend(arguments);
        let ran = mebridge(d.path(), &all);
        assert!(
            ran.failed(2).contains(message),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    for (arguments, message) in [
        (&["absent.mebridge"][..], "absent.mebridge: No such file"),
        (
            &["scalars.mebridge", "--energy", "10"],
            "below the threshold",
        ),
        (
            &["scalars.mebridge", "-o", "no/such/place"],
            "no/such/place.json: No such file",
        ),
    ] {
        let mut all = vec!["bench"];
        all.extend(arguments);
        let ran = mebridge(d.path(), &all);
        assert!(
            ran.failed(1).contains(message),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    assert!(!d.path().join("bench.json").exists());
}
