use super::*;
use mebridge::lhe::{Event, Particle, record_bytes};
use std::fs;
use std::path::PathBuf;

const BEAMS: InitBeams = InitBeams {
    codes: [2212, 2212],
    energies: [6500.0, 6500.0],
    densities: [0, 247_000],
};
const BANNER: Banner = Banner {
    header: "",
    arguments: "{\"cuts\": \"a < b & c\"}",
    generator: "",
    strategy: -4,
    processes: &[(1, (5.0, 0.1)), (2, (1e-5, 0.0))],
};

fn blocks() -> Blocks {
    Blocks {
        beams: BEAMS,
        powers: Vec::new(),
        matched: false,
        clustering: false,
        names: Vec::new(),
        numbers: vec![1, 2],
    }
}

fn particle(pdg: i32, status: i32, energy: f64) -> Particle {
    Particle {
        pdg,
        status,
        momentum: [0.0, 0.0, energy, energy, 0.0],
        ..Particle::default()
    }
}

/// A record of two incoming particles, and these.
fn record(process: i32, weight: f64, energies: [f64; 2], others: &[Particle]) -> Vec<u8> {
    let mut particles = energies.map(|energy| particle(21, -1, energy)).to_vec();
    particles.extend(others);
    let mut event = Event::default();
    [event.weight, event.scale, event.alpha_qcd] = [weight, 91.188, 0.1];
    (event.process, event.particles) = (process, particles);
    let mut bytes = Vec::new();
    event.push_head(&mut bytes);
    event.push_particles(&mut bytes);
    bytes
}

/// A round of these records, with space for this many particles.
fn save(path: PathBuf, records: &[Vec<u8>], particles: usize) -> RoundFile {
    let mut bytes = Vec::new();
    for record in records {
        let end = bytes.len() + record_bytes(particles).unwrap();
        bytes.extend(record);
        bytes.resize(end, 0);
    }
    records::begin(&path, records.len(), particles).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&bytes).unwrap();
    let weights = records.iter().map(|record| Record::new(record).weight());
    let weights: Vec<f64> = weights.collect();
    RoundFile {
        weights: RoundWeights::read(&path, &weights).unwrap(),
        events: records.len(),
        file: path,
    }
}

/// Numbers that all have many digits.
fn some(events: usize, weight: f64) -> Vec<Vec<u8>> {
    let of = |event: usize| {
        let energy = 1.0 / (event + 3) as f64;
        let others = [particle(6, 1, energy), particle(-6, 1, 2.0 * energy)];
        record(1, weight, [energy, 3.0 * energy], &others[..1 + event % 2])
    };
    (0..events).map(of).collect()
}

#[test]
fn files_are_the_same_with_many_threads_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rounds: Vec<RoundFile> = [(25_000, 2.0), (300, 7.0), (1, 1.0)]
        .iter()
        .map(|&(events, weight)| save(at(&format!("{events}.npy")), &some(events, weight), 4))
        .collect();
    let made = |name: &str, threads| {
        write(
            &at(name),
            &BANNER,
            &blocks(),
            &rounds,
            Weighting::Kept,
            5.0,
            threads,
        )
        .unwrap();
        fs::read(at(name)).unwrap()
    };
    let plain = made("x.lhe", 1);
    let text = String::from_utf8(plain.clone()).unwrap();
    assert_eq!(text.matches("<event>\n").count(), 25_301);
    assert!(text.ends_with("</event>\n</LesHouchesEvents>\n"));
    let weights: Vec<&str> = text
        .split("<event>\n")
        .skip(1)
        .map(|event| event.split_whitespace().nth(2).unwrap())
        .collect();
    assert!(weights.iter().all(|weight| *weight == "+5.0000000000e+00"));
    assert_eq!(made("y.lhe", 3), plain);
    let packed = made("x.lhe.gz", 1);
    assert_eq!(made("y.lhe.gz", 3), packed);
    // Neither a name nor a time.
    assert_eq!(packed[..9], *b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00");
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(
        &mut flate2::read::MultiGzDecoder::new(&packed[..]),
        &mut unpacked,
    )
    .unwrap();
    assert_eq!(unpacked, plain);
}

/// As the Python package wrote it.
#[test]
fn what_stands_before_the_events() {
    let banner = Banner {
        header: "<MGVersion>\n</MGVersion>\n\n",
        generator: "<generator name='x'></generator>",
        ..BANNER
    };
    let wanted = "<LesHouchesEvents version=\"3.0\">\n<header>\n<MGVersion>\n</MGVersion>\n<mebridge>\n\
                  {\"cuts\": \"a &lt; b &amp; c\"}\n</mebridge>\n</header>\n<init>\n\
                  2212 2212 6.5000000000e+03 6.5000000000e+03 -1 0 -1 247000 -4 2\n\
                  5.0000000000e+00 1.0000000000e-01 7.5000000000e+00 1\n\
                  1.0000000000e-05 0.0000000000e+00 7.5000000000e+00 2\n\
                  <generator name='x'></generator>\n</init>\n";
    assert_eq!(head(&banner, &BEAMS, 7.5), wanted);
    let plain = wanted
        .replace("<MGVersion>\n</MGVersion>\n", "")
        .replace("<generator name='x'></generator>\n", "");
    assert_eq!(head(&BANNER, &BEAMS, 7.5), plain);
}

#[test]
fn beams_of_runs() {
    let of = |other| InitBeams::for_run([0, 2212], [11, 21], [27.5, 920.0], Some(9), other);
    assert_eq!(
        (of(Some(0)).codes, of(Some(0)).densities),
        ([11, 2212], [0, 9])
    );
    assert_eq!(of(None).densities, [9, 9]);
    let lepton = InitBeams::for_run([0, 0], [11, -11], [45.0; 2], None, None);
    assert_eq!((lepton.codes, lepton.densities), ([11, -11], [0, 0]));
    assert_eq!(InitBeams::equal([11, -11], 90.0, 0), lepton);
}

fn round(weights: &[f64]) -> RoundFile {
    RoundFile {
        file: PathBuf::new(),
        events: weights.len(),
        weights: RoundWeights::read("x".as_ref(), weights).unwrap(),
    }
}

#[test]
fn weights_average_to_the_cross_section() {
    let mut second = vec![6.0; 50];
    second[7] *= 1.5;
    let rounds = [round(&[2.0; 100]), round(&second)];
    let nominal = nominal_weight(&rounds, 5.0);
    assert!((nominal * 150.5 - 750.0).abs() < 1e-9);
    let above = overweights(&rounds);
    assert_eq!((above.events, above.largest), (1, 1.5));
    assert!((above.share - (1.0 - 150.0 / 150.5)).abs() < 1e-12);
    let signed = [round(&[2.0, 2.0, -2.0]), round(&[4.0, 4.0, 4.0])];
    assert_eq!(nominal_weight(&signed, 5.0), 18.0 / 6.0);
}

#[test]
fn numbers_that_no_file_can_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = some(20_000, 2.0);
    let place = 36 + 2 * 80 + 24;
    records[12_345][place..place + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    let rounds = [
        save(folder.path().join("a.npy"), &some(10, 2.0), 4),
        save(folder.path().join("b.npy"), &records, 4),
    ];
    let output = folder.path().join("x.lhe");
    let error = write(
        &output,
        &BANNER,
        &blocks(),
        &rounds,
        Weighting::Kept,
        5.0,
        2,
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("event 12355 (from 0): a number is infinite or NaN"),
        "{error}"
    );
    assert!(!output.exists());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// MadEvent's `<mgrwt>`, before further weights.
#[test]
fn what_weights_of_other_scales_need() {
    let folder = tempfile::tempdir().unwrap();
    let others = [particle(6, 1, 1.0)];
    let records: Vec<Vec<u8>> = (0..7)
        .map(|i| record(1 + i % 2, 2.0, [650.0, 65.0], &others))
        .collect();
    let rounds = [save(folder.path().join("round.npy"), &records, 5)];
    let scales: Vec<f64> = (1..=28).map(f64::from).collect();
    records::write_doubles(&records::scales(&rounds[0].file), &scales, 4, 1).unwrap();
    records::write_doubles(&records::ratios(&rounds[0].file), &[0.5; 7], 1, 1).unwrap();
    let output = folder.path().join("events.lhe");
    for (codes, names) in [
        ([2212, 2212], vec!["a".to_owned()]),
        ([11, 2212], Vec::new()),
    ] {
        let blocks = Blocks {
            beams: InitBeams { codes, ..BEAMS },
            powers: vec![2, 3],
            names: names.clone(),
            ..blocks()
        };
        write(&output, &BANNER, &blocks, &rounds, Weighting::Kept, 2.0, 1).unwrap();
        let text = fs::read_to_string(&output).unwrap();
        let events: Vec<&str> = text.split("<event>\n").skip(1).collect();
        assert_eq!(events.len(), 7);
        let first = match codes[0] {
            11 => "0",
            _ => "  1       21 1.00000000E-01 2.20000000E+01",
        };
        let further = match names.is_empty() {
            true => "",
            false => "<rwgt>\n<wgt id='a'> +1.0000000e+00 </wgt>\n</rwgt>\n",
        };
        let wanted = format!(
            "<mgrwt>\n<rscale>  3 2.10000000E+01</rscale>\n<asrwt>0</asrwt>\n\
             <pdfrwt beam=\"1\">{first}</pdfrwt>\n\
             <pdfrwt beam=\"2\">  1       21 1.00000000E-02 2.30000000E+01</pdfrwt>\n\
             <totfact> 2.40000000E-02</totfact>\n</mgrwt>\n{further}</event>\n"
        );
        assert!(events[5].ends_with(&wanted), "{}\n{wanted}", events[5]);
        assert!(events[4].contains("<rscale>  2 1.70000000E+01</rscale>"));
    }
}

/// Matching results of u u~ > z g g, with a resonance in between.
fn matched() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reals = |numbers: &[f64]| bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    reals(&[1.0, 0.0, 13_000.0, 13_000.0, 33.25, 91.1, 33.25, 95.0]);
    let wholes =
        |numbers: &[i32]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
    bytes.extend(wholes(&[3, 4, 0, 2, 5, 1, 1, 3, 2]));
    let mut reals = |numbers: &[f64]| bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    reals(&[33.25, 0.0, 0.0]);
    bytes.extend(wholes(&[2, 0, 0, 0, 0, -2, -2, 0, 0, 0]));
    let mut reals = |numbers: &[f64]| bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    reals(&[0.1, 0.0, 0.0, 0.0, 0.0, 0.2, 0.15, 0.0, 0.0, 0.0]);
    reals(&[95.0, 0.0, 0.0, 0.0, 0.0, 33.25, 95.0, 0.0, 0.0, 0.0]);
    bytes
}

#[test]
fn events_have_what_pythia_and_systematics_read() {
    let folder = tempfile::tempdir().unwrap();
    let others = [
        particle(23, 2, 1.0),
        particle(11, 1, 1.0),
        particle(-11, 1, 1.0),
        particle(21, 1, 1.0),
    ];
    let mut event = record(1, 2.0, [650.0, 65.0], &others);
    event[28..36].copy_from_slice(&0.12_f64.to_le_bytes());
    let rounds = [save(folder.path().join("round.npy"), &[event], 6)];
    let file = &rounds[0].file;
    records::write_doubles(&records::scales(file), &[95.0, 95.0, 33.25, 4.0], 4, 1).unwrap();
    records::write_matched(&records::matched(file), &matched(), 5).unwrap();
    let output = folder.path().join("events.lhe");
    let text = |powers: &[u32], clustering| {
        let blocks = Blocks {
            powers: powers.to_vec(),
            matched: true,
            clustering,
            ..blocks()
        };
        write(&output, &BANNER, &blocks, &rounds, Weighting::Kept, 2.0, 1).unwrap();
        let text = fs::read_to_string(&output).unwrap();
        let begin = text.find("<scales ").unwrap();
        text[begin..text.find("</event>").unwrap()].to_owned()
    };
    let jets = "<scales pt_clust_4=\"13000.00000\" pt_clust_5=\"13000.00000\" pt_clust_6=\"33.25000\"></scales>\n";
    assert_eq!(text(&[], false), jets);
    let wanted = "<mgrwt>\n\
                  <rscale>  0 9.50000000E+01</rscale>\n\
                  <asrwt>  1 3.32500000E+01</asrwt>\n\
                  <pdfrwt beam=\"1\">  1        2 1.00000000E-01 9.50000000E+01</pdfrwt>\n\
                  <pdfrwt beam=\"2\">  2       -2       -2 2.00000000E-01 1.50000000E-01 3.32500000E+01 9.50000000E+01</pdfrwt>\n\
                  <totfact> 4.80000000E-01</totfact>\n\
                  </mgrwt>\n\
                  <clustering>\n\
                  <clus scale=\"   91.100\">  4  5 -1 -1</clus>\n\
                  <clus scale=\"   33.250\">  2  6  1 -1</clus>\n\
                  <clus scale=\"   95.000\">  1  4  2 -1</clus>\n\
                  </clustering>\n";
    assert_eq!(text(&[1], true), format!("{jets}{wanted}"));
}

/// As Python's `%15.8E`.
#[test]
fn reals_are_those_of_fortran() {
    for (value, text) in [
        (0.0, " 0.00000000E+00"),
        (-0.0, "-0.00000000E+00"),
        (91.188, " 9.11880000E+01"),
        (-1.5e-120, "-1.50000000E-120"),
        (9.999_999_999e99, "1.00000000E+100"),
        (2.5, " 2.50000000E+00"),
    ] {
        let mut found = b"x".to_vec();
        push_real(&mut found, value);
        assert_eq!(found, format!("x{text}").as_bytes());
    }
}

#[test]
fn events_have_the_numbers_of_their_processes() {
    let folder = tempfile::tempdir().unwrap();
    let others = [particle(6, 1, 1.0)];
    let records: Vec<Vec<u8>> = (0..4)
        .map(|i| record(1 + i % 2, 2.0, [650.0, 65.0], &others))
        .collect();
    let rounds = [save(folder.path().join("round.npy"), &records, 3)];
    let output = folder.path().join("events.lhe");
    let numbers = |numbers: &[i32]| {
        let blocks = Blocks {
            numbers: numbers.to_vec(),
            ..blocks()
        };
        write(&output, &BANNER, &blocks, &rounds, Weighting::Kept, 2.0, 1)?;
        let text = fs::read_to_string(&output).unwrap();
        let events = text.split("<event>\n").skip(1);
        Ok::<Vec<String>, Error>(
            events
                .map(|event| event.split_whitespace().nth(1).unwrap().to_owned())
                .collect(),
        )
    };
    assert_eq!(numbers(&[2, 0]).unwrap(), ["2", "0", "2", "0"]);
    let error = numbers(&[2]).unwrap_err().to_string();
    assert!(error.contains("there is no such process"), "{error}");
}

/// Overweight events get the weight of the others and keep their signs; further weights follow.
#[test]
fn weights_are_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let others = [particle(6, 1, 1.0)];
    let records: Vec<Vec<u8>> = [2.0, -2.0, 3.0, -5.0]
        .map(|weight| record(1, weight, [650.0, 65.0], &others))
        .to_vec();
    let rounds = [save(folder.path().join("round.npy"), &records, 3)];
    records::write_doubles(&records::ratios(&rounds[0].file), &[0.5; 4], 1, 1).unwrap();
    let output = folder.path().join("events.lhe");
    let blocks = Blocks {
        names: vec!["a".to_owned()],
        ..blocks()
    };
    write(
        &output,
        &BANNER,
        &blocks,
        &rounds,
        Weighting::Truncated,
        one_weight(&rounds, -0.5),
        1,
    )
    .unwrap();
    let text = fs::read_to_string(&output).unwrap();
    for (event, sign) in text.split("<event>\n").skip(1).zip(["+", "-", "+", "-"]) {
        // The average absolute weight is 12 / 4.
        let weight = event.split_whitespace().nth(2).unwrap();
        assert_eq!(weight, format!("{sign}3.0000000000e+00"));
        let further = format!("<wgt id='a'> {sign}1.5000000e+00 </wgt>");
        assert!(event.contains(&further), "{event}");
    }
    let max = "5.0000000000e+00 1.0000000000e-01 3.0000000000e+00 1\n";
    assert!(text.contains(max), "{text}");
}
