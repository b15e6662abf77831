//! `mebridge eval`.

use crate::support::{Ran, copy, directory, gg_ttx, mebridge, two_matrix_elements};
use flate2::Compression;
use flate2::write::GzEncoder;
use mebridge::process::example;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

const HELP: &str = "\
Evaluate a process at given momenta: |M|^2 of each event of a file

EVENTS is text, a NumPy array or a Les Houches event file (LHE), gzipped or not; which of them it is
is seen from its contents. In text an event is one line with 4 numbers for each leg (E px py pz, in
the order of the process), or one line for each leg and an empty line after the last; # begins a
comment. A .npy file has the shape (events, legs, 4) or (events, 4*legs). The particles of an LHE
event are put into the order of the process by their PDG codes; of several matrix elements (a whole
output, a P* directory, 'p p > t t~') an event's is the one with its particles.

Usage: mebridge eval [OPTIONS] <FILE|DIR> <EVENTS>

Arguments:
  <FILE|DIR>
          Process file, P* directory of an MG5aMC output (#N after it for its N-th matrix element),
          or a whole output for LHE events of all its processes

  <EVENTS>
          File with events: text, .npy or LHE, gzipped or not (- for stdin)

Options:
      --alpha-s <X>
          Strong coupling alpha_s of all events [default: of LHE events their own, else that of the
          parameter card]

      --skip-others
          Give nan for LHE events with other particles than the process has, instead of an error

  -o, --output <FILE>
          File to write: a NumPy array if its name ends in .npy, else text [default: text to stdout]

      --json
          Write JSON instead of text

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

  -h, --help
          Print help (see a summary with '-h')
";

/// alpha_s at which g_s is 2.
const ALPHA_S: &str = "0.3183098861837907";
const G: f64 = 2.0;

/// Events of phi phi > phi phi.
fn events(count: usize) -> Vec<Vec<f64>> {
    let event = |n: usize| {
        let (e, m) = (500.0f64, 125.0f64);
        let p = (e * e - m * m).sqrt();
        let cosine = 0.9 - 1.7 * n as f64 / count as f64;
        let (x, z) = (p * (1.0 - cosine * cosine).sqrt(), p * cosine);
        vec![
            e, 0.0, 0.0, p, e, 0.0, 0.0, -p, e, x, 0.0, z, e, -x, 0.0, -z,
        ]
    };
    (0..count).map(event).collect()
}

/// One line an event.
fn text(events: &[Vec<f64>]) -> String {
    let line = |event: &Vec<f64>| {
        let words: Vec<String> = event.iter().map(|x| format!("{x:e}")).collect();
        words.join(" ") + "\n"
    };
    events.iter().map(line).collect()
}

/// One line a leg.
fn blocks(events: &[Vec<f64>]) -> String {
    let mut text = String::from("# E px py pz\n\n");
    for event in events {
        for p in event.chunks(4) {
            let _ = writeln!(text, "{:e}, {:e}, {:e}, {:e} # GeV", p[0], p[1], p[2], p[3]);
        }
        text.push_str("\n# the next one\n\n");
    }
    text
}

/// A `.npy` file as NumPy writes it.
fn npy(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let shape = shape.trim_end();
    npy_with_header(
        &format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}"),
        data,
    )
}

fn npy_with_header(header: &str, data: &[u8]) -> Vec<u8> {
    let mut header = header.to_owned();
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn doubles(numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    numbers.into_iter().flat_map(f64::to_le_bytes).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn write(d: &Path, name: &str, contents: impl AsRef<[u8]>) {
    std::fs::write(d.join(name), contents).unwrap();
}

/// Evaluates events of phi phi > phi phi.
fn eval(d: &Path, events: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["eval", "scalars.mebridge", events];
    arguments.extend(more);
    mebridge(d, &arguments)
}

/// The same with alpha_s.
fn eval_at_2(d: &Path, events: &str) -> Ran {
    eval(d, events, &["--alpha-s", ALPHA_S])
}

#[track_caller]
fn numbers(text: &str) -> Vec<f64> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs(), "{i}: {a} {b}");
    }
}

/// The closed formula.
fn expected(events: &[Vec<f64>]) -> Vec<f64> {
    let value = |event: &Vec<f64>| example::scalars_squared(event, G, 125.0);
    events.iter().map(value).collect()
}

#[test]
fn help() {
    let d = directory();
    assert_eq!(mebridge(d.path(), &["eval", "--help"]).ok(), HELP);
}

#[test]
fn text_in_both_forms() {
    let d = directory();
    let events = events(40);
    write(d.path(), "lines.txt", text(&events));
    write(d.path(), "blocks.txt", blocks(&events));
    write(d.path(), "lines.gz", gzip(text(&events).as_bytes()));
    let windows = blocks(&events).replace('\n', "\r\n").replace('e', "D");
    write(d.path(), "fortran.txt", windows);
    let ran = eval_at_2(d.path(), "lines.txt");
    let answer = ran.ok();
    close(&numbers(answer), &expected(&events), 1e-12);
    // All digits are there.
    let first = answer.lines().next().unwrap();
    assert_eq!(
        first,
        format!("{:.16e}", numbers(first)[0]).replace("e-", "e-0")
    );
    for file in ["blocks.txt", "lines.gz", "fortran.txt"] {
        assert_eq!(eval_at_2(d.path(), file).ok(), answer, "{file}");
    }
}

#[test]
fn a_numpy_array_in_all_its_forms() {
    let d = directory();
    let events = events(40);
    let flat: Vec<f64> = events.concat();
    write(d.path(), "lines.txt", text(&events));
    let ran = eval_at_2(d.path(), "lines.txt");
    let answer = ran.ok();
    let by_component: Vec<f64> = {
        let columns = (0..4).flat_map(|k| (0..4).map(move |leg| 4 * leg + k));
        let all = columns.flat_map(|c| events.iter().map(move |e| e[c]));
        all.collect()
    };
    let by_column: Vec<f64> = (0..16)
        .flat_map(|c| events.iter().map(move |e| e[c]))
        .collect();
    let big = |numbers: &[f64]| numbers.iter().flat_map(|x| x.to_be_bytes()).collect();
    let little = |numbers: &[f64]| doubles(numbers.iter().copied());
    let single = |numbers: &[f64]| -> Vec<u8> {
        let singles = numbers.iter().map(|&x| x as f32);
        singles.flat_map(f32::to_le_bytes).collect()
    };
    let cases: [(&str, bool, &[usize], Vec<u8>); 6] = [
        ("<f8", false, &[40, 4, 4], little(&flat)),
        ("<f8", false, &[40, 16], little(&flat)),
        (">f8", false, &[40, 4, 4], big(&flat)),
        ("<f8", true, &[40, 4, 4], little(&by_component)),
        (">f8", true, &[40, 16], big(&by_column)),
        ("<f4", false, &[40, 4, 4], single(&flat)),
    ];
    for (descr, fortran, shape, data) in cases {
        write(d.path(), "events", npy(descr, fortran, shape, &data));
        let ran = eval_at_2(d.path(), "events");
        let found = numbers(ran.ok());
        // Single precision is off the mass shell by its last digits.
        let tolerance = if descr == "<f4" { 1e-3 } else { 0.0 };
        close(&found, &numbers(answer), tolerance);
    }
    let array = npy("<f8", false, &[40, 4, 4], &little(&flat));
    write(d.path(), "events.npy.gz", gzip(&array));
    assert_eq!(eval_at_2(d.path(), "events.npy.gz").ok(), answer);
}

#[test]
fn more_events_than_a_chunk_holds() {
    let d = directory();
    let events = events(16384 + 7);
    write(d.path(), "events.txt", text(&events));
    let ran = eval_at_2(d.path(), "events.txt");
    let answer = ran.ok();
    close(&numbers(answer), &expected(&events), 1e-12);
    let columns = (0..16).flat_map(|c| events.iter().map(move |e| e[c]));
    let array = npy("<f8", true, &[16391, 16], &doubles(columns));
    write(d.path(), "events.npy", array);
    assert_eq!(eval_at_2(d.path(), "events.npy").ok(), answer);
    // An error after the first chunk is found, and leaves no file.
    let mut text = text(&events);
    text.push_str("1 2 3\n");
    write(d.path(), "events.txt", text);
    let arguments = ["--alpha-s", ALPHA_S, "-o", "out.npy"];
    let ran = eval(d.path(), "events.txt", &arguments);
    assert!(ran.failed(1).contains("line 16392 has 3 numbers"));
    assert!(!d.path().join("out.npy").exists());
}

#[test]
fn what_is_written() {
    let d = directory();
    let events = events(3);
    write(d.path(), "events.txt", text(&events));
    let ran = eval_at_2(d.path(), "events.txt");
    let answer = ran.ok();
    let run = |more: &[&str]| {
        let mut arguments = vec!["--alpha-s", ALPHA_S];
        arguments.extend(more);
        eval(d.path(), "events.txt", &arguments)
    };
    assert_eq!(run(&["-o", "out.txt"]).ok(), "");
    let written = std::fs::read_to_string(d.path().join("out.txt")).unwrap();
    assert_eq!(written, answer);
    assert_eq!(run(&["-o", "out.npy"]).ok(), "");
    let written = std::fs::read(d.path().join("out.npy")).unwrap();
    let header = String::from_utf8_lossy(&written[10..written.len() - 24]).into_owned();
    assert!(header.contains("'descr': '<f8'"), "{header}");
    assert!(header.contains("'shape': (3,)"), "{header}");
    assert_eq!(written[written.len() - 24..], doubles(numbers(answer)));
    let ran = run(&["--json"]);
    let json: Value = serde_json::from_str(ran.ok()).unwrap();
    assert_eq!(json["process"], "phi phi > phi phi");
    assert_eq!(json["format"], "text");
    assert_eq!(json["alpha_s"].as_f64(), ALPHA_S.parse().ok());
    assert_eq!(json["events"], 3);
    let found = json["matrix_elements"].as_array().unwrap();
    let found: Vec<f64> = found.iter().filter_map(Value::as_f64).collect();
    // The JSON reader used here rounds in the last digit.
    close(&found, &numbers(answer), 1e-15);
    assert_eq!(run(&["--json", "-o", "out.json"]).ok(), "");
    let written = std::fs::read_to_string(d.path().join("out.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), json);
    let message = run(&["--json", "-o", "out.npy"]);
    assert!(message.failed(2).contains("--json writes no .npy"));
    let message = run(&["-o", "events.txt"]);
    assert!(message.failed(2).contains("name another one"));
    let message = run(&["-o", "absent/out.txt"]);
    assert!(message.failed(1).contains("absent/out.txt"));
}

#[test]
fn options_of_the_engine() {
    let d = directory();
    let events = events(40);
    write(d.path(), "events.txt", text(&events));
    for more in [
        &["--simd", "none"][..],
        &["--threads", "2"],
        &["--fptype", "m"],
        &["--fptype", "f"],
        &["--backend", "cpu"],
    ] {
        let mut arguments = vec!["--alpha-s", ALPHA_S];
        arguments.extend(more);
        let ran = eval(d.path(), "events.txt", &arguments);
        close(&numbers(ran.ok()), &expected(&events), 1e-3);
    }
    // Another mass, so the events are not on their shell.
    write(d.path(), "card.dat", "BLOCK MASS\n  25 200.5\n");
    let arguments = ["--alpha-s", ALPHA_S, "--card", "card.dat"];
    let ran = eval(d.path(), "events.txt", &arguments);
    assert!(ran.failed(1).contains("mass 200.5 GeV"), "{}", ran.stderr);
    for (option, value) in [("--alpha-s", "0"), ("--alpha-s", "nan"), ("--fptype", "x")] {
        let ran = eval(d.path(), "events.txt", &[option, value]);
        ran.failed(2);
    }
}

#[test]
fn alpha_s_of_the_card() {
    let d = directory();
    write(d.path(), "events.txt", text(&events(3)));
    let ran = eval(d.path(), "events.txt", &[]);
    assert_eq!(
        ran.failed(1),
        "mebridge: scalars.mebridge has no alpha_s; give it with --alpha-s\n"
    );
    let card = format!("BLOCK MASS\n  25 125\nBLOCK SMINPUTS\n  3 {ALPHA_S}\n");
    write(d.path(), "card.dat", card);
    let ran = eval(d.path(), "events.txt", &["--card", "card.dat"]);
    assert_eq!(ran.ok(), eval_at_2(d.path(), "events.txt").ok());
    write(d.path(), "card.dat", "BLOCK MASS\n  25 125\n");
    let ran = eval(d.path(), "events.txt", &["--card", "card.dat"]);
    assert!(ran.failed(1).contains("card.dat has no alpha_s"));
    // An option wins over the card; that of the output has 0.118.
    copy(&gg_ttx().join("../.."), &d.path().join("out"));
    let p = "out/SubProcesses/P1_gg_ttx";
    write(d.path(), "top.txt", TOP);
    let of_card = mebridge(d.path(), &["eval", p, "top.txt"]);
    let same = mebridge(d.path(), &["eval", p, "top.txt", "--alpha-s", "0.118"]);
    assert_eq!(of_card.ok(), same.ok());
    let other = mebridge(d.path(), &["eval", p, "top.txt", "--alpha-s", "0.236"]);
    let ratio = numbers(other.ok())[0] / numbers(same.ok())[0];
    assert!((ratio - 4.0).abs() < 1e-12, "{ratio}");
}

/// g g > t t~ at 1 TeV.
const TOP: &str = "
500 0 0 500
500 0 0 -500
500 276.9 276.9 258.30946556
500 -276.9 -276.9 -258.30946556
";

/// An LHE file with these events.
fn lhe(events: &[String]) -> String {
    let mut text = String::from(
        "<LesHouchesEvents version=\"3.0\">\n<header>\n<!-- <event> -->\n<event>\n</header>\n\
         <!--\n<event>\n-->\n<init>\n2212 2212 6.5e3 6.5e3 0 0 247000 247000 -4 1\n</init>\n",
    );
    for event in events {
        text += event;
    }
    text + "</LesHouchesEvents>\n"
}

/// An event of an LHE file.
fn event(alpha_s: &str, particles: &[(i32, i32, [f64; 4])]) -> String {
    let mut text = format!(
        "<event npLO=\" 1 \">\n {} 1 +4.4e+02 1.7e+02 7.5e-03 {alpha_s}\n",
        particles.len()
    );
    for (pdg, status, [e, x, y, z]) in particles {
        let _ = writeln!(
            text,
            "  {pdg} {status} 1 2 501 0 {x:+.10e} {y:+.10e} {z:+.10e} {e:.10e} 1.73e+02 0. 9."
        );
    }
    text + "<mgrwt>\n<rscale> 2 0.1E+03</rscale>\n</mgrwt>\n</event>\n"
}

const IN: i32 = -1;
const OUT: i32 = 1;
const A: [f64; 4] = [500.0, 0.0, 0.0, 500.0];
const B: [f64; 4] = [500.0, 0.0, 0.0, -500.0];
const T: [f64; 4] = [500.0, 276.9, 276.9, 258.30946556];
const U: [f64; 4] = [500.0, -276.9, -276.9, -258.30946556];
const BOTH: [f64; 4] = [1000.0, 0.0, 0.0, 0.0];

#[test]
fn les_houches_events() {
    let d = directory();
    let p = gg_ttx();
    let p = p.to_str().unwrap();
    write(d.path(), "top.txt", TOP);
    let at = |alpha_s: &str| {
        let ran = mebridge(d.path(), &["eval", p, "top.txt", "--alpha-s", alpha_s]);
        numbers(ran.ok())[0]
    };
    let events = [
        event(
            "0.118",
            &[(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)],
        ),
        // Each event has its own alpha_s.
        event(
            "2.36D-01",
            &[(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)],
        ),
        // Others in between, in another order.
        event(
            "0.118",
            &[
                (-6, OUT, U),
                (21, IN, A),
                (25, 2, BOTH),
                (6, OUT, T),
                (21, IN, B),
            ],
        ),
    ];
    let text = lhe(&events);
    write(d.path(), "events.lhe", &text);
    write(d.path(), "events.lhe.gz", gzip(text.as_bytes()));
    let ran = mebridge(d.path(), &["eval", p, "events.lhe"]);
    let found = numbers(ran.ok());
    close(&found, &[at("0.118"), at("0.236"), at("0.118")], 1e-12);
    let zipped = mebridge(d.path(), &["eval", p, "events.lhe.gz"]);
    assert_eq!(zipped.ok(), ran.ok());
    let fixed = mebridge(d.path(), &["eval", p, "events.lhe", "--alpha-s", "0.118"]);
    close(&numbers(fixed.ok()), &[at("0.118"); 3], 1e-12);
    let ran = mebridge(d.path(), &["eval", p, "events.lhe", "--json"]);
    let json: Value = serde_json::from_str(ran.ok()).unwrap();
    assert_eq!(json["format"], "lhe");
    assert_eq!(json["alpha_s"], Value::Null);
}

/// Other particles with the same matrix element follow the first in leshouche.inc.
#[test]
fn events_of_other_flavours() {
    let d = directory();
    copy(&gg_ttx().join("../.."), &d.path().join("out"));
    let p = d.path().join("out/SubProcesses/P1_gg_ttx");
    let table = std::fs::read_to_string(p.join("leshouche.inc")).unwrap();
    let second = "      DATA (IDUP(I,2,1),I=1,4)/22,22,8,-8/\n";
    write(&p, "leshouche.inc", table + second);
    let first = event(
        "0.118",
        &[(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)],
    );
    let other = event(
        "0.118",
        &[(22, IN, A), (22, IN, B), (-8, OUT, U), (8, OUT, T)],
    );
    write(d.path(), "events.lhe", lhe(&[first, other.clone()]));
    let p = p.to_str().unwrap();
    let ran = mebridge(d.path(), &["eval", p, "events.lhe"]);
    let lines: Vec<&str> = ran.ok().lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, lines[1]));
    // A third flavour does not match, nor does a mixture.
    let mixed = other.replace("  -8 ", "  -6 ");
    write(d.path(), "events.lhe", lhe(&[mixed]));
    let ran = mebridge(d.path(), &["eval", p, "events.lhe"]);
    let message = ran.failed(1);
    assert!(
        message.contains("has 21 21 > 6 -6 or 22 22 > 8 -8; give"),
        "{message}"
    );
}

#[test]
fn events_of_other_processes() {
    let d = directory();
    let p = gg_ttx();
    let p = p.to_str().unwrap();
    let top = event(
        "0.118",
        &[(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)],
    );
    let quarks = event(
        "0.118",
        &[(2, IN, A), (-2, IN, B), (6, OUT, T), (-6, OUT, U)],
    );
    let text = lhe(&[top.clone(), quarks, top]);
    write(d.path(), "events.lhe", text);
    let ran = mebridge(d.path(), &["eval", p, "events.lhe"]);
    assert_eq!(
        ran.failed(1),
        "mebridge: events.lhe: event 2 (from 1; line 22) has the particles 2 -2 > 6 -6, but 'g g > t \
         t~ WEIGHTED<=2 @1' has 21 21 > 6 -6; give the process that the events are of, or leave out \
         events of others with --skip-others\n"
    );
    let ran = mebridge(d.path(), &["eval", p, "events.lhe", "--skip-others"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.stderr,
        "mebridge: events.lhe: 1 event(s) have other particles than the process; they are nan\n"
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "nan"));
    assert_eq!(lines[0], lines[2]);
    let arguments = ["eval", p, "events.lhe", "--skip-others", "--json"];
    let json: Value = serde_json::from_str(&mebridge(d.path(), &arguments).stdout).unwrap();
    assert_eq!(json["matrix_elements"][1], Value::Null);
    assert_eq!(json["events"], 3);
}

#[test]
fn events_of_several_matrix_elements_find_their_own() {
    let d = directory();
    let pair = |a: i32, b: i32, alpha_s: &str| {
        let particles = [(a, IN, A), (b, IN, B), (6, OUT, T), (-6, OUT, U)];
        event(alpha_s, &particles)
    };
    let mixed = [
        pair(21, 21, "0.118"),
        pair(2, -2, "0.118"),
        pair(-1, 1, "0.12"),
        pair(21, 21, "0.13"),
        pair(-4, 4, "0.118"),
    ];
    write(d.path(), "mixed.lhe", lhe(&mixed));
    let ran = |arguments: &[&str]| mebridge(d.path(), arguments);
    let all = ran(&["eval", "p p > t t~", "mixed.lhe"]);
    let all = numbers(all.ok());
    assert_eq!(all.len(), 5);
    for (n, mine) in [("#1", vec![0, 3]), ("#2", vec![1, 2, 4])] {
        let one = format!("p p > t t~{n}");
        let one = ran(&["eval", &one, "mixed.lhe", "--skip-others"]);
        let one = numbers(&one.stdout);
        for (i, value) in one.iter().enumerate() {
            let has = mine.contains(&i);
            assert_eq!(value.is_nan(), !has, "{i}");
            assert!(!has || *value == all[i], "{i}: {value} {}", all[i]);
        }
    }
    let json = ran(&["eval", "p p > t t~", "mixed.lhe", "--json"]);
    let json: Value = serde_json::from_str(json.ok()).unwrap();
    let names = json["process"].as_array().unwrap();
    assert_eq!(names.len(), 2);
    // Events that match no matrix element.
    write(d.path(), "others.lhe", lhe(&[pair(11, -11, "0.118")]));
    let error = ran(&["eval", "p p > t t~", "others.lhe"]);
    assert!(
        error
            .failed(1)
            .contains("11 -11 > 6 -6, which none of 2 matrix elements has"),
        "{}",
        error.stderr
    );
    let skipped = ran(&["eval", "p p > t t~", "others.lhe", "--skip-others"]);
    assert_eq!(skipped.stdout, "nan\n");
    // Numbers do not identify the matrix element.
    write(d.path(), "top.txt", TOP);
    let error = ran(&["eval", "p p > t t~", "top.txt"]);
    let error = error.failed(1);
    assert!(error.contains("of which of 2 matrix elements"), "{error}");
    assert!(error.contains("\n  p p > t t~#2: u u~ > t t~"), "{error}");
}

#[test]
fn events_of_a_whole_output_find_their_directory() {
    let d = directory();
    let two = two_matrix_elements(&d.path().join("out"));
    let others = d.path().join("other/SubProcesses/P2_gg_ttx");
    copy(&gg_ttx().join("../.."), &d.path().join("other"));
    std::fs::rename(d.path().join("other/SubProcesses/P1_gg_ttx"), &others).unwrap();
    let top = event(
        "0.118",
        &[(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)],
    );
    write(d.path(), "top.lhe", lhe(&[top]));
    let ran = |place: &str| mebridge(d.path(), &["eval", place, "top.lhe"]);
    let one = ran(others.to_str().unwrap());
    for place in ["other", "other/", "other/SubProcesses"] {
        assert_eq!(ran(place).ok(), one.ok(), "{place}");
    }
    // Two that have the same particles.
    for place in ["out", two.to_str().unwrap()] {
        let error = ran(place);
        let error = error.failed(1);
        assert!(
            error.contains("event 1 (from 1; line 12) may be of 'g g > t t~ WEIGHTED<=2 @1'")
                && error.contains("P1_gg_ttx#1) and of")
                && error.contains("P1_gg_ttx#2), which have the same particles; name one of them"),
            "{error}"
        );
    }
}

/// The reweighting module's outputs have no tables, but PDG codes in all_matrix.f.
#[test]
fn events_of_a_standalone_output_with_prefixes() {
    let d = directory();
    let from = mebridge_testing::root().join("fortran/outputs/standalone");
    copy(&from, &d.path().join("rw_me"));
    let folder = d.path().join("rw_me/SubProcesses");
    std::fs::remove_dir_all(folder.join("P1_qq_qq")).unwrap();
    let momenta = [
        A,
        B,
        [500.0, 300.0, 0.0, 400.0],
        [500.0, -300.0, 0.0, -400.0],
    ];
    let muons = |pdg: i32, swapped: bool| {
        let mut particles = [
            (11, IN, momenta[0]),
            (-11, IN, momenta[1]),
            (pdg, OUT, momenta[2]),
            (-pdg, OUT, momenta[3]),
        ];
        if swapped {
            particles.swap(0, 1);
            particles.swap(2, 3);
        }
        event("0.118", &particles)
    };
    let all = [muons(13, false), muons(15, true), muons(13, true)];
    write(d.path(), "muons.lhe", lhe(&all));
    write(d.path(), "muons.txt", text(&[momenta.concat()]));
    let ran = |place: &str, events: &str| mebridge(d.path(), &["eval", place, events]);
    let p = "rw_me/SubProcesses/P1_ll_ll";
    let plain = ran(p, "muons.txt");
    let plain = numbers(plain.ok());
    // Without the file the codes are not known.
    let error = ran(p, "muons.lhe");
    assert!(
        error.failed(1).contains("has no PDG code"),
        "{}",
        error.stderr
    );
    let all = "\
      SUBROUTINE SMATRIXHEL(PDGS, PROCID, NPDG, P, ALPHAS, SCALE2,
     $  NHEL, ANS)
      IF (NPDG.EQ.4)THEN
        IF(11.EQ.PDGS(1).AND.-11.EQ.PDGS(2).AND.13.EQ.PDGS(3).AND.
     $   -13.EQ.PDGS(4).AND.(PROCID.LE.0.OR.PROCID.EQ.1)) THEN  ! 0
          CALL M0_SMATRIXHEL(P, NHEL, ANS)
        ELSE IF(11.EQ.PDGS(1).AND.-11.EQ.PDGS(2).AND.15.EQ.PDGS(3)
     $   .AND.-15.EQ.PDGS(4).AND.(PROCID.LE.0.OR.PROCID.EQ.1)) THEN  ! 1
          CALL M0_SMATRIXHEL(P, NHEL, ANS)
        ENDIF
      ENDIF
      END
";
    write(&folder, "all_matrix.f", all);
    for place in [p, "rw_me", "rw_me/SubProcesses"] {
        let found = ran(place, "muons.lhe");
        let found = numbers(found.ok());
        close(&found, &[plain[0]; 3], 1e-9);
    }
    // A routine with another name is ignored.
    write(
        &folder,
        "all_matrix.f",
        all.replace("-15.EQ.PDGS(4)", "-15.NE.PDGS(4)"),
    );
    let error = ran(p, "muons.lhe");
    assert!(
        error.failed(1).contains("has no PDG code"),
        "{}",
        error.stderr
    );
}

/// Some editors put a mark before text.
#[test]
fn a_byte_order_mark_is_passed_over() {
    let d = directory();
    let events = events(3);
    write(d.path(), "plain.txt", text(&events));
    write(d.path(), "marked.txt", format!("\u{feff}{}", text(&events)));
    let plain = eval_at_2(d.path(), "plain.txt");
    assert_eq!(eval_at_2(d.path(), "marked.txt").ok(), plain.ok());
    write(d.path(), "cr.txt", text(&events).replace('\n', "\r"));
    assert_eq!(eval_at_2(d.path(), "cr.txt").ok(), plain.ok());
    let p = gg_ttx();
    let top = [(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)];
    let file = lhe(&[event("0.118", &top)]);
    write(d.path(), "plain.lhe", &file);
    write(d.path(), "marked.lhe", format!("\u{feff}{file}"));
    let ran = |file: &str| mebridge(d.path(), &["eval", p.to_str().unwrap(), file]);
    assert_eq!(ran("marked.lhe").ok(), ran("plain.lhe").ok());
}

/// Files of other programs, also damaged ones; crates/lhe tests all variants.
#[test]
fn event_files_of_others() {
    let d = directory();
    let p = gg_ttx();
    let top = [(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)];
    let file = lhe(&[event("0.118", &top), event("0.2", &top)]);
    let ran = |name: &str, contents: &[u8]| {
        write(d.path(), name, contents);
        mebridge(d.path(), &["eval", p.to_str().unwrap(), name])
    };
    let plain = ran("plain.lhe", file.as_bytes());
    let cr = file.replace('\n', "\r");
    assert_eq!(ran("cr.lhe", cr.as_bytes()).ok(), plain.ok());
    let padded = [gzip(file.as_bytes()), vec![0; 1 << 16]].concat();
    assert_eq!(ran("padded.lhe.gz", &padded).ok(), plain.ok());
    let two = ran("two.lhe", (file.clone() + &file).as_bytes());
    assert_eq!(two.stdout, plain.ok().repeat(2));
    let lines = file.lines().count();
    let says = format!(
        "two.lhe: line {}: a second file begins, whose events are taken as well",
        lines + 1
    );
    assert!(two.stderr.contains(&says), "{}", two.stderr);
    for (from, to, says) in [
        ("<event npLO", "<evemt npLO", "line 12 has `<evemt npLO"),
        ("</event>", "</evemt>", "line 21 has </evemt>"),
        (" 4 1 +4.4e+02", " 3 1 +4.4e+02", "line 17 has `-6 1 1 2"),
        (
            "</mgrwt>\n</event>",
            "</mgrwt>\n</event>\nrubbish",
            "line 22 has `rubbish` after event 1",
        ),
    ] {
        assert!(file.contains(from));
        let ran = ran("damaged.lhe", file.replacen(from, to, 1).as_bytes());
        assert!(ran.failed(1).contains(says), "{}", ran.stderr);
    }
    let xz = ran("events.lhe.xz", b"\xfd7zXZ\0rest");
    let says =
        "mebridge: events.lhe.xz: this is an xz file, which is not read; unpack it (xz -d)\n";
    assert_eq!(xz.failed(1), says);
}

#[test]
fn what_is_no_finite_number_is_noted() {
    let d = directory();
    write(d.path(), "events.txt", text(&events(2)));
    let ran = eval(d.path(), "events.txt", &["--alpha-s", "1e300"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.stderr,
        "mebridge: events.txt: |M|^2 of 2 event(s) is no finite number, the first of them is event 1 (from 1; line \
         1)\n"
    );
}

#[test]
fn beams_may_be_the_other_way_round() {
    let d = directory();
    let mut process = example::scalars();
    for (leg, pdg) in process.legs.iter_mut().zip([25, 35, 25, 35]) {
        leg.pdg = pdg;
    }
    process.write(d.path().join("two.mebridge")).unwrap();
    let momenta = events(1).remove(0);
    let p = |leg: usize| -> [f64; 4] { momenta[4 * leg..4 * leg + 4].try_into().unwrap() };
    let swapped = event(
        ALPHA_S,
        &[
            (35, IN, p(1)),
            (25, IN, p(0)),
            (35, OUT, p(3)),
            (25, OUT, p(2)),
        ],
    );
    write(d.path(), "swapped.lhe", lhe(&[swapped]));
    write(d.path(), "events.txt", text(std::slice::from_ref(&momenta)));
    let arguments = ["eval", "two.mebridge", "events.txt", "--alpha-s", ALPHA_S];
    let plain = mebridge(d.path(), &arguments);
    let ran = mebridge(d.path(), &["eval", "two.mebridge", "swapped.lhe"]);
    close(&numbers(ran.ok()), &numbers(plain.ok()), 1e-8);
}

#[test]
fn legs_without_codes_take_no_les_houches_events() {
    let d = directory();
    let mut process = example::scalars();
    process.legs[2].pdg = 0;
    process.write(d.path().join("unknown.mebridge")).unwrap();
    write(d.path(), "events.lhe", lhe(&[]));
    let ran = mebridge(d.path(), &["eval", "unknown.mebridge", "events.lhe"]);
    assert_eq!(
        ran.failed(1),
        "mebridge: events.lhe: leg 3 of 'phi phi > phi phi' has no PDG code, so it is not known which \
         particle of an LHE event it is; give the momenta as text or .npy, in the order of the \
         process\n"
    );
}

/// The message for a file with these contents.
#[track_caller]
fn message(contents: impl AsRef<[u8]>) -> String {
    let d = directory();
    write(d.path(), "bad", contents);
    eval_at_2(d.path(), "bad").failed(1).to_owned()
}

#[track_caller]
fn says(contents: impl AsRef<[u8]>, what: &str) {
    let message = message(contents);
    assert!(
        message.starts_with("mebridge: bad: ") && message.contains(what),
        "{message}"
    );
}

#[test]
fn bad_text() {
    let good = text(&events(2));
    says("", "the file is empty");
    says("\n# nothing\n\n", "there are no events in it");
    says("1 2 3\n", "line 1 has 3 numbers; an event is a line of 16");
    says(good.clone() + "1 2 3 4 5\n", "line 3 has 5 numbers");
    says(
        good.replacen("5e2", "nan", 1),
        "line 1: `nan` is no finite number",
    );
    says(
        good.replacen("5e2", "1e400", 1),
        "line 1: `1e400` is no finite number",
    );
    says("\u{1b}[2Jx\n", "line 1: `\\u{1b}[2Jx` is no finite number");
    says(b"\xff\xfe\x00\x01", "neither text nor");
    says("9".repeat(1 << 20), "no finite number");
    says(
        "9 ".repeat(1 << 20),
        "line 1: it is longer than 65536 bytes",
    );
    says("PK\x03\x04rest", "zip archive");
    let block = blocks(&events(2));
    // A leg too many, a leg too few, an end within an event.
    let more = block.replacen(" # GeV\n\n", " # GeV\n1 0 0 1\n\n", 1);
    says(more, "line 7: event 1 is complete, the process has 4 legs");
    let first_leg = block.lines().nth(2).unwrap();
    let fewer = block.replacen(&format!("{first_leg}\n"), "", 1);
    says(fewer, "event 1 (line 3) has 3 line(s) with a momentum");
    says("1 0 0 1\n1 0 0 -1", "event 1 (line 1) has 2 line(s)");
}

#[test]
fn momenta_that_cannot_be() {
    let mut events = events(3);
    events[1][8] = 501.0;
    says(
        text(&events),
        "event 2 (from 1; line 2): the momentum of particle 3 (PDG code 25, mass 125 GeV) is (E, px, \
         py, pz) = [501.0, ",
    );
    says(
        blocks(&events),
        "event 2 (from 1; line 10): the momentum of particle 3",
    );
    let mut flat = events.concat();
    says(
        npy("<f8", false, &[3, 4, 4], &doubles(flat.clone())),
        "event 2 (from 1): the momentum of particle 3",
    );
    flat[2] = f64::NAN;
    says(
        npy("<f8", false, &[3, 4, 4], &doubles(flat)),
        "event 1 (from 1): the momentum of particle 1",
    );
}

#[test]
fn momenta_that_are_not_conserved_are_an_error() {
    let d = directory();
    let mut events = events(3);
    // Both turned the same way.
    events[1].copy_within(8..12, 12);
    write(d.path(), "events.txt", text(&events));
    let ran = eval_at_2(d.path(), "events.txt");
    assert_eq!(ran.code, 1);
    let error = &ran.stderr;
    assert!(
        error.contains("events.txt: event 2 (from 1; line 2): the incoming and outgoing momenta (E, px, py, pz)")
            && error.contains("differ by"),
        "{error}"
    );
}

/// A few kilobytes may decompress to gigabytes of nothing: they are not read to their end.
#[test]
fn empty_lines_without_end_are_no_events() {
    let many = "\n".repeat(3_000_000);
    let one = text(&events(1));
    for nothing in [many.clone(), one + &many] {
        says(gzip(nothing.as_bytes()), "more than 1000000 empty lines");
    }
}

/// Neither are endless lines, comments or headers.
#[test]
fn what_is_no_event_ends_somewhere() {
    let many = |piece: &str| gzip(piece.repeat((1 << 20) / piece.len()).as_bytes()).repeat(300);
    let comment = format!("# {}\n", "-".repeat(100));
    for nothing in [many("1"), many(&comment)] {
        says(nothing, "more than 268435456 bytes without an event");
    }
    for begin in ["<header>\n", "<LesHouchesEvents>\n<init>\n</init>\n"] {
        let blank = format!("\n{}\n", " ".repeat(100));
        let nothing = [gzip(begin.as_bytes()), many(&blank)].concat();
        says(
            nothing,
            "more than 67108864 bytes without an end of an event",
        );
    }
}

#[test]
fn bad_arrays() {
    let events = events(3);
    let data = doubles(events.concat());
    let good = npy("<f8", false, &[3, 4, 4], &data);
    says(&good[..good.len() - 1], "it was cut off");
    says([&good[..], b"x"].concat(), "more data follow its numbers");
    for length in [6, 7, 9, 11, 40] {
        says(&good[..length], "the file ends too early");
    }
    says(
        npy("<f8", false, &[0, 4, 4], &[]),
        "there are no events in it",
    );
    says(
        npy("<f8", false, &[3, 5, 4], &data),
        "the array has the shape (3, 5, 4); for 4 legs it has to be (events, 4, 4) or (events, 16)",
    );
    says(
        npy("<f8", false, &[48], &data),
        "the array has the shape (48)",
    );
    says(
        npy("<i8", false, &[3, 4, 4], &data),
        "the array is of type <i8; f8 or f4",
    );
    says(
        npy("|O", false, &[3, 4, 4], &data),
        "the array is of type |O",
    );
    says(
        npy("<f16", false, &[3, 4, 4], &data),
        "the array is of type <f16",
    );
    // More than any file has.
    let huge = [4_000_000_000_000_000_000, 4, 4];
    says(
        npy("<f8", false, &huge, &data),
        "more numbers than a file can hold",
    );
    says(npy("<f8", false, &[1 << 40, 4, 4], &data), "it was cut off");
    says(
        npy_with_header("{'descr': '<f8', 'shape': (3, 4, 4), }", &data),
        "its header cannot be read",
    );
    // Parsers take forever with nested brackets.
    for brackets in ["(".repeat(3000), format!("{{'descr': {}", "[".repeat(26))] {
        says(
            npy_with_header(&brackets, &data),
            "an array of numbers is needed",
        );
    }
    says(npy_with_header(&" ".repeat(9000), &data), "9");
    // A header of 4 GB.
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    says(long, "its header claims to have 4294967295 bytes");
    let mut newer = good.clone();
    newer[6] = 9;
    assert!(message(newer).contains("bad: "));
    // Compressed there is no size to look at.
    says(
        gzip(&good[..good.len() - 1]),
        "the file ends too early; it was cut off (after event 0)",
    );
    says(
        gzip(&[&good[..], b"x"].concat()),
        "more data follow its numbers",
    );
    let mut damaged = gzip(&good);
    // The checksum is in the last eight bytes.
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    says(&damaged, "the compressed data are damaged (at its end)");
    says(&damaged[..checksum], "the file ends too early");
    says(
        gzip(&npy("<f8", true, &[3, 4, 4], &data)),
        "an array in Fortran order cannot be read from a pipe or compressed",
    );
}

#[test]
fn bad_compression() {
    let whole = gzip(text(&events(5000)).as_bytes());
    says(
        &whole[..whole.len() / 2],
        "the file ends too early; it was cut off (after line ",
    );
    says(&whole[..5], "the file ends too early");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    assert!(message(damaged).starts_with("mebridge: bad: "));
    says(gzip(b""), "the file is empty");
}

#[test]
fn bad_les_houches_events() {
    let bad = |text: &str, what: &str| {
        let d = directory();
        write(d.path(), "bad", text);
        let ran = eval(d.path(), "bad", &[]);
        let message = ran.failed(1);
        assert!(
            message.starts_with("mebridge: bad: ") && message.contains(what),
            "{message}"
        );
    };
    let momenta = events(1).remove(0);
    let p = |leg: usize| -> [f64; 4] { momenta[4 * leg..4 * leg + 4].try_into().unwrap() };
    let particles = [
        (25, IN, p(0)),
        (25, IN, p(1)),
        (25, OUT, p(2)),
        (25, OUT, p(3)),
    ];
    let good = event(ALPHA_S, &particles);
    let file = |event: &str| lhe(&[good.clone(), event.to_owned()]);
    bad(&lhe(&[]), "there are no events in it");
    bad("<html></html>", "there are no events in it");
    bad("<LesHouchesEvents>\n<header>\n", "there is no </header>");
    bad("<!--\n", "there is no -->");
    bad(
        &file("<event>\n"),
        "event 2 (from 1; line 22): line 23 is no first line",
    );
    let text = file(&good);
    let cut = text.rfind("<mgrwt>").unwrap();
    bad(
        &text[..cut],
        "the file ends within event 2 (from 1; line 22)",
    );
    // An event without its end would absorb the next one, or extend to the end of the file.
    let open = good.replace("</event>\n", "");
    let line = 22 + open.lines().count();
    let says = format!("event 2 (from 1; line 22) has no </event> until line {line}");
    bad(&file(&open), &says);
    bad(&lhe(&[good.clone(), open, good.clone()]), &says);
    let first = |line: &str| file(&format!("<event>\n{line}\n</event>\n"));
    for line in [
        "x 1 1. 1. 1. 0.1",
        "0 1 1. 1. 1. 0.1",
        "-1 1 1. 1. 1. 0.1",
        "4000000000 1 1. 1. 1. 0.1",
        "4 1 1. 1. 1.",
        "4 1 1. 1. 1. inf",
    ] {
        bad(&first(line), "line 23 is no first line of an event");
    }
    bad(
        &first("4 1 1. 1. 1. 0.1"),
        "line 24 is not that of a particle: `</event>`",
    );
    bad(
        &file(&good.replacen("1.73e+02 0. 9.", "1.73e+02", 1)),
        "line 24 is not that of",
    );
    bad(
        &file(&good.replacen("501", "501 0", 1)),
        "line 24 is not that of",
    );
    bad(
        &file(&good.replacen("+0.0000000000e0", "nan", 1)),
        "line 24 is not that of",
    );
    bad(
        &file(&event(ALPHA_S, &particles[..3])),
        "has the particles 25 25 > 25, but",
    );
    let mut off_shell = particles;
    off_shell[2].2[0] = 501.0;
    bad(
        &file(&event(ALPHA_S, &off_shell)),
        "event 2 (from 1; line 22): the momentum of particle 3",
    );
    for alpha_s in ["-1", "0"] {
        bad(&file(&event(alpha_s, &particles)), "alpha_s");
    }
}

#[test]
fn an_end_that_is_missing_is_noted() {
    let d = directory();
    let p = gg_ttx();
    let top = event(
        "0.118",
        &[(21, IN, A), (21, IN, B), (6, OUT, T), (-6, OUT, U)],
    );
    let text = lhe(&[top]).replace("</LesHouchesEvents>\n", "");
    write(d.path(), "events.lhe", text);
    let ran = mebridge(d.path(), &["eval", p.to_str().unwrap(), "events.lhe"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.stderr,
        "mebridge: events.lhe: there is no </LesHouchesEvents> at the end; was the file cut off?\n"
    );
}

#[test]
fn files_that_are_not_there() {
    let d = directory();
    let ran = eval_at_2(d.path(), "absent");
    assert_eq!(
        ran.failed(1),
        "mebridge: absent: No such file or directory (os error 2)\n"
    );
    let ran = eval_at_2(d.path(), ".");
    assert!(ran.failed(1).contains("this is a directory"));
}

#[test]
fn a_pipe() {
    let d = directory();
    let momenta = events(40);
    write(d.path(), "events.txt", text(&momenta));
    let file = eval_at_2(d.path(), "events.txt");
    let script = |shell: &str| {
        let output = std::process::Command::new("sh")
            .current_dir(d.path())
            .args(["-c", shell, env!("CARGO_BIN_EXE_mebridge"), ALPHA_S])
            .env("CUDACPP_RUNTIME_BACKEND", "cpu")
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let piped = script("cat events.txt | \"$0\" eval scalars.mebridge - --alpha-s \"$1\"");
    assert_eq!(piped, file.ok());
    // A reader that closes the pipe early is not an error.
    script("\"$0\" eval scalars.mebridge events.txt --alpha-s \"$1\" | true");
}
