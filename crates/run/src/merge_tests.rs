use super::*;
use mebridge::lhe::Event;
use std::fs;

/// The parts of a test file.
#[derive(Clone)]
struct WrittenFile {
    process: &'static str,
    seed: u64,
    entry: &'static str,
    mass: &'static str,
    energy: f64,
    strategy: i32,
    /// LPRUP, cross section and error.
    rows: Vec<(i32, f64, f64)>,
    /// LPRUP and weight of each event.
    events: Vec<(i32, f64)>,
    weight: &'static str,
}

impl WrittenFile {
    /// Some events of W bosons; one in ten has a negative weight.
    fn new(seed: u64, cross_section: f64, count: usize) -> Self {
        let sign = |place: usize| if place.is_multiple_of(10) { -1.0 } else { 1.0 };
        let events = (0..count).map(|place| (0, sign(place) * cross_section));
        let events: Vec<(i32, f64)> = events.collect();
        let mean = events.iter().map(|(_, weight)| weight).sum::<f64>() / count as f64;
        WrittenFile {
            process: "generate p p > w+ @0",
            seed,
            entry: "20.0 = ptj",
            mass: "6 1.730000e+02",
            energy: 6500.0,
            strategy: -4,
            rows: vec![(0, mean, 0.3)],
            events,
            weight: "1001",
        }
    }

    fn text(&self) -> String {
        let WrittenFile {
            process,
            seed,
            entry,
            mass,
            energy,
            strategy,
            weight,
            ..
        } = self;
        let mut text = format!(
            "<LesHouchesEvents version=\"3.0\">\n<header>\n<MG5ProcCard>\n<![CDATA[\nimport model sm\n{process}\n]]>\n\
             </MG5ProcCard>\n<MGRunCard>\n<![CDATA[\n  {} = nevents ! events\n  {seed} = iseed\n  {entry}\n]]>\n</MGRunCard>\n\
             <slha>\nBLOCK MASS # masses\n  {mass} # mt\n</slha>\n<MGGenerationInfo>\n#  Number of Events        :       7\n\
             </MGGenerationInfo>\n<initrwgt>\n<weight id=\"{weight}\" MUR=\"2.0\"> a </weight>\n</initrwgt>\n\
             <mebridge>\n{{\"cuts\": \"a &lt; b\", \"seed\": {seed}, \"overweights\": {{}}}}\n</mebridge>\n</header>\n<init>\n\
             2212 2212 {energy} {energy} 0 0 247000 247000 {strategy} {}\n",
            self.events.len(),
            self.rows.len()
        );
        for (number, mean, error) in &self.rows {
            let most = self.events.iter().filter(|(of, _)| of == number);
            let most = most.map(|(_, weight)| weight.abs()).fold(0.0, f64::max);
            text += &format!("{mean} {error} {most} {number}\n");
        }
        text += "<generator name='x'>y</generator>\n</init>\n";
        for (place, (number, weight)) in self.events.iter().enumerate() {
            let energy = (*seed * 1000) as f64 + place as f64;
            text += &format!(
                "<event>\n 1 {number} {weight} 91 0.007 0.118\n 21 -1 0 0 501 502 0 0 {energy} {energy} 0 0 9\n<rwgt>\n\
                 <wgt id='{}'> {:+.7e} </wgt>\n</rwgt>\n</event>\n",
                self.weight,
                weight / 2.0
            );
        }
        text + "</LesHouchesEvents>\n"
    }
}

struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new() -> Self {
        TestFolder(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn save(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    fn merge(&self, texts: &[String]) -> Result<Merged> {
        let files = texts.iter().enumerate();
        let files: Vec<PathBuf> = files
            .map(|(place, text)| self.save(&format!("{place}.lhe"), text))
            .collect();
        merge(&files, &self.at("all.lhe"), &open_written)
    }

    /// The contents of a file: `<init>`, and LPRUP, weight and further weight of each event.
    fn read(&self, name: &str) -> (mebridge::lhe::Init, Vec<(i32, f64, f64)>) {
        let path = self.at(name);
        let mut reader = Reader::new(open_written(&path).unwrap(), &path, false).unwrap();
        let (mut event, mut rows, mut row) = (Event::default(), Vec::new(), Vec::new());
        while reader.next(&mut event).unwrap() {
            reader.weights(&event, &mut row).unwrap();
            rows.push((event.process, event.weight, row[0]));
        }
        (reader.init().unwrap(), rows)
    }

    fn refused(&self, files: &[WrittenFile]) -> String {
        let texts: Vec<String> = files.iter().map(WrittenFile::text).collect();
        self.refused_texts(&texts)
    }

    fn refused_texts(&self, texts: &[String]) -> String {
        let error = self.merge(texts).unwrap_err().to_string();
        assert!(!self.at("all.lhe").exists());
        error
    }
}

fn near(found: f64, wanted: f64) {
    assert!((found / wanted - 1.0).abs() < 1e-6, "{found} {wanted}");
}

/// The average absolute weight is that of the files, weighted by their numbers of events.
#[test]
fn files_of_one_process_have_one_cross_section() {
    let place = TestFolder::new();
    let files = [
        WrittenFile::new(1, 100.0, 10),
        WrittenFile::new(2, 103.0, 30),
    ];
    let merged = place
        .merge(&files.each_ref().map(WrittenFile::text))
        .unwrap();
    let (mean, error) = merged.cross_section();
    near(mean, 0.8 * (0.25 * 100.0 + 0.75 * 103.0));
    near(error, f64::hypot(0.25 * 0.3, 0.75 * 0.3));
    let (init, events) = place.read("all.lhe");
    let unit = 0.25 * 100.0 + 0.75 * 103.0;
    assert_eq!((merged.events, events.len()), (40, 40));
    near(init.processes[0].1[0], mean);
    near(init.processes[0].1[2], unit);
    let signs = events.iter().filter(|(_, weight, _)| *weight < 0.0).count();
    assert_eq!(signs, 4);
    for (number, weight, further) in events {
        assert_eq!(number, 0);
        near(weight.abs(), unit);
        near(further, weight / 2.0);
    }
    let text = fs::read_to_string(place.at("all.lhe")).unwrap();
    for wanted in [
        "  40 = nevents ! events\n",
        "Number of Events        :       40\n",
        "\"events\": 40",
        "\"cuts\": \"a &lt; b\"",
        "\"file\": \"1.lhe\"",
        "<generator name='x'>y</generator>\n</init>\n<event>\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("overweights"));
    // If some events are overweight, the others still have the same weight.
    let heavy = files.clone().map(|mut made| {
        made.events[1].1 *= 1.5;
        made.text()
    });
    place.merge(&heavy).unwrap();
    let mut weights: Vec<f64> = place
        .read("all.lhe")
        .1
        .iter()
        .map(|row| row.1.abs())
        .collect();
    near(
        weights.iter().sum::<f64>() / 40.0,
        (105.0 + 3.0 * 103.0 * 30.5 / 30.0) / 4.0,
    );
    weights.sort_by(f64::total_cmp);
    near(weights[0], weights[37]);
    near(weights[39], 1.5 * weights[0]);
    // Jobs of one pack share points, so more of them do not have a smaller error.
    let of_pack = |made: &WrittenFile| made.text().replace("\"cuts\"", "\"pack\": \"x\", \"cuts\"");
    let merged = place.merge(&files.each_ref().map(of_pack)).unwrap();
    near(merged.cross_section().1, 0.3);
    // Merged files can be merged again, and compressed.
    let files = [
        place.at("all.lhe"),
        place.save("3.lhe", &WrittenFile::new(3, 99.0, 10).text()),
    ];
    let merged = merge(&files, &place.at("more.lhe.gz"), &open_written).unwrap();
    assert_eq!((merged.events, place.read("more.lhe.gz").1.len()), (50, 50));
}

#[test]
fn cross_sections_of_other_processes_are_added() {
    let place = TestFolder::new();
    let one = WrittenFile::new(1, 100.0, 10);
    let two = WrittenFile {
        process: "generate p p > w+ j @1",
        entry: "30.0 = ptj",
        rows: vec![(1, 30.0, 0.1), (2, 10.0, 0.1)],
        events: [vec![(1, 40.0); 15], vec![(2, 40.0); 5]].concat(),
        ..WrittenFile::new(1, 40.0, 20)
    };
    let two = WrittenFile { seed: 2, ..two };
    let merged = place.merge(&[one.text(), two.text()]).unwrap();
    near(merged.cross_section().0, 80.0 + 40.0);
    let (init, events) = place.read("all.lhe");
    let numbers: Vec<i32> = init.processes.iter().map(|(number, _)| *number).collect();
    assert_eq!((numbers, init.strategy), (vec![0, 1, 2], -4));
    let mean = events.iter().map(|(_, weight, _)| weight).sum::<f64>() / 30.0;
    near(mean, 120.0);
    let of = |wanted: &[i32]| {
        let some = events.iter().filter(|(number, ..)| wanted.contains(number));
        some.map(|(_, weight, _)| *weight / 30.0).sum::<f64>()
    };
    near(of(&[0]), 80.0);
    near(of(&[1]), 30.0);
    // Groups are interleaved: no part of the file lacks one of them.
    let firsts = events[..9].iter().filter(|(number, ..)| *number == 0);
    assert_eq!(firsts.count(), 3);
    // Of two equal numbers the later one is changed.
    let same = WrittenFile {
        rows: vec![(0, 40.0, 0.1)],
        events: vec![(0, 40.0); 20],
        ..two
    };
    let merged = place.merge(&[one.text(), same.text()]).unwrap();
    assert_eq!(merged.processes[1].0, 1);
    assert!(
        merged.notices[0].contains("LPRUP 0 of"),
        "{:?}",
        merged.notices
    );
    assert_eq!(
        place
            .read("all.lhe")
            .1
            .iter()
            .filter(|row| row.0 == 1)
            .count(),
        20
    );
}

#[test]
fn weights_may_be_parts_of_the_cross_section_or_average_to_1() {
    let place = TestFolder::new();
    let scaled = |made: WrittenFile, weight: f64| {
        let sign = |of: f64| weight.copysign(of);
        let events = made.events.iter().map(|&(number, of)| (number, sign(of)));
        WrittenFile {
            events: events.collect(),
            strategy: -3,
            ..made
        }
    };
    let parts = [
        scaled(WrittenFile::new(1, 100.0, 10), 10.0),
        scaled(WrittenFile::new(2, 103.0, 30), 103.0 / 30.0),
    ];
    let merged = place
        .merge(&parts.each_ref().map(WrittenFile::text))
        .unwrap();
    let (init, events) = place.read("all.lhe");
    assert_eq!(init.strategy, -3);
    let sum = events
        .iter()
        .map(|(_, weight, _)| weight.abs())
        .sum::<f64>();
    near(sum, 0.25 * 100.0 + 0.75 * 103.0);
    near(merged.cross_section().0, init.processes[0].1[0]);
    let other = WrittenFile {
        process: "generate p p > z",
        ..scaled(WrittenFile::new(3, 50.0, 20), 2.5)
    };
    place.merge(&[parts[0].text(), other.text()]).unwrap();
    let sum: f64 = place
        .read("all.lhe")
        .1
        .iter()
        .map(|(_, weight, _)| weight.abs())
        .sum();
    near(sum, 150.0);
    let ones = [
        scaled(WrittenFile::new(1, 100.0, 10), 1.0),
        WrittenFile {
            process: "generate p p > z",
            ..scaled(WrittenFile::new(2, 300.0, 20), 1.0)
        },
    ];
    place
        .merge(&ones.each_ref().map(WrittenFile::text))
        .unwrap();
    let (init, events) = place.read("all.lhe");
    let of = |number: i32| -> f64 {
        let some = events.iter().filter(|row| row.0 == number);
        some.map(|(_, weight, _)| weight).sum()
    };
    near(
        of(1) / of(0),
        init.processes[1].1[0] / init.processes[0].1[0],
    );
}

#[test]
fn files_that_do_not_fit_are_named() {
    let place = TestFolder::new();
    let one = WrittenFile::new(1, 100.0, 10);
    let two = WrittenFile::new(2, 101.0, 10);
    let with = |change: &dyn Fn(&mut WrittenFile)| {
        let mut other = two.clone();
        change(&mut other);
        place.refused(&[one.clone(), other])
    };
    for (message, wanted) in [
        (
            with(&|made| made.energy = 7000.0),
            "beams of 7000.0 GeV, 7000.0 GeV",
        ),
        (
            with(&|made| made.mass = "6 1.725000e+02"),
            "the parameter `6 1.725000e+02`",
        ),
        (
            with(&|made| made.entry = "10.0 = ptj"),
            "run card has ptj = 10.0",
        ),
        (with(&|made| made.weight = "7"), "the further weight `7`"),
        (with(&|made| made.strategy = -3), "IDWTUP -3"),
        (with(&|made| made.strategy = 1), "IDWTUP is 1"),
        (with(&|made| made.seed = 1), "it begins with the event that"),
        (
            with(&|made| {
                made.rows[0].1 *= 1.2;
                made.events.iter_mut().for_each(|event| event.1 *= 1.2);
            }),
            "of the same process",
        ),
        (with(&|made| made.events[3].0 = 4), "<init> has no LPRUP 4"),
        (with(&|made| made.events.clear()), "there are no events"),
    ] {
        assert!(
            message.contains("1.lhe") && message.contains(wanted),
            "{message}"
        );
    }
    let texts = |other: String| place.refused_texts(&[one.text(), other]);
    let text = two.text();
    let at = text.rfind("</event>").unwrap();
    let cut = texts(text[..at].to_owned());
    assert!(cut.contains("cut off"), "{cut}");
    let closed = texts(text.replace("</LesHouchesEvents>\n", ""));
    assert!(closed.contains("it has no </LesHouchesEvents>"), "{closed}");
    let none = texts("<LesHouchesEvents version=\"3.0\">\n<event>\n".to_owned());
    assert!(none.contains("it has no <init>"), "{none}");
    let twice = texts(text.clone() + &WrittenFile::new(3, 100.0, 9).text());
    assert!(twice.contains("second file begins"), "{twice}");
    let (model, other) = (text.replace("model sm", "model heft"), "the model heft");
    assert!(texts(model).contains(other));
    // A file that does not state its process.
    let begin = text.find("<MG5ProcCard>").unwrap();
    let end = text.find("<slha>").unwrap();
    let unnamed = texts([&text[..begin], &text[end..]].concat());
    assert!(unnamed.contains("does not say which process"), "{unnamed}");
    // Another number of events with the same seed.
    let seed = text
        .replace(" 2000 2000 ", " 2222 2222 ")
        .replace("2 = iseed", "1 = iseed");
    let seed = texts(seed.replace("\"seed\": 2", "\"seed\": 1"));
    assert!(seed.contains("it has the seed 1, as"), "{seed}");
    let alone = merge(&[place.at("0.lhe")], &place.at("all.lhe"), &open_written);
    assert!(alone.unwrap_err().to_string().contains("one file alone"));
    let files = [place.save("0.lhe", &one.text()), place.save("1.lhe", &text)];
    let device = [files[0].clone(), "/dev/null".into()];
    let device = merge(&device, &place.at("all.lhe"), &open_written)
        .unwrap_err()
        .to_string();
    assert!(
        device.contains("/dev/null: it is a pipe or a device"),
        "{device}"
    );
    let read = merge(&files, &files[1], &open_written)
        .unwrap_err()
        .to_string();
    assert!(read.contains("is read by this run"), "{read}");
}

#[test]
fn events_are_added_to_those_of_a_run() {
    let place = TestFolder::new();
    let old = place.save("old.lhe", &WrittenFile::new(1, 100.0, 10).text());
    let new = place.save("new.lhe", &WrittenFile::new(2, 102.0, 5).text());
    append(&old, 10, &new, &open_written).unwrap();
    let (init, events) = place.read("old.lhe");
    assert_eq!(events.len(), 15);
    near(init.processes[0].1[0], 102.0 * 0.6);
    events
        .iter()
        .for_each(|(_, weight, _)| near(weight.abs(), 102.0));
    let parts = |made: WrittenFile, weight: f64| {
        let text = WrittenFile {
            events: made
                .events
                .iter()
                .map(|&(number, of)| (number, weight.copysign(of)))
                .collect(),
            strategy: -3,
            entry: "sum = event_norm",
            ..made
        };
        text.text()
    };
    let sum = place.save("sum.lhe", &parts(WrittenFile::new(3, 100.0, 10), 10.0));
    let new = place.save(
        "new.lhe",
        &parts(WrittenFile::new(4, 102.0, 20), 102.0 / 30.0),
    );
    append(&sum, 10, &new, &open_written).unwrap();
    let (_, events) = place.read("sum.lhe");
    assert_eq!(events.len(), 30);
    events
        .iter()
        .for_each(|(_, weight, _)| near(weight.abs(), 102.0 / 30.0));
    let error = append(&old, 10, &new, &open_written)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("holds 15 events, and the run made 10"),
        "{error}"
    );
}

/// What stands in the header of a file whose events have a bias.
fn biased(made: &WrittenFile, bias: &str) -> String {
    let own = format!("\"overweights\": {{}}, \"bias\": {bias}");
    made.text().replace("\"overweights\": {}", &own)
}

#[test]
fn events_with_a_bias_keep_their_weights() {
    let folder = TestFolder::new();
    let [mut one, mut other] = [1, 2].map(|seed| WrittenFile::new(seed, 1.0, 4));
    one.events = [1.0, 1.0, 8.0, 0.5].map(|weight| (0, weight)).to_vec();
    other.events = [1.2, 90.0].map(|weight| (0, weight)).to_vec();
    one.rows = vec![(0, 10.5 / 4.0, 1.8)];
    other.rows = vec![(0, 91.2 / 2.0, 44.4)];
    let texts = [&one, &other].map(|of| biased(of, "{\"unit\": 2.0, \"worth\": 1.0}"));
    let merged = folder.merge(&texts).unwrap();
    let (_, rows) = folder.read("all.lhe");
    let mut weights: Vec<f64> = rows.iter().map(|(_, weight, _)| *weight).collect();
    weights.sort_by(f64::total_cmp);
    assert_eq!(weights, [0.5, 1.0, 1.0, 1.2, 8.0, 90.0]);
    // The cross section is the mean of all, with the error of independent files.
    let (mean, error) = merged.cross_section();
    near(mean, weights.iter().sum::<f64>() / 6.0);
    near(error, f64::hypot(1.8 * 4.0 / 6.0, 44.4 * 2.0 / 6.0));
    // MadEvent's files have it in the run card only.
    for of in [&mut one, &mut other] {
        of.entry = "ptj_bias = bias_module";
    }
    folder.merge(&[one.text(), other.text()]).unwrap();
    assert_eq!(folder.read("all.lhe").1, rows);
    // Without a bias, such cross sections are not of one process.
    for of in [&mut one, &mut other] {
        of.entry = "dummy = bias_module";
    }
    other.rows[0].2 = 0.5;
    let message = folder
        .merge(&[one.text(), other.text()])
        .unwrap_err()
        .to_string();
    assert!(message.contains("its cross section is 45.6"), "{message}");
}

#[test]
fn events_with_a_bias_are_added_to_those_of_a_run() {
    let folder = TestFolder::new();
    let [mut old, mut new] = [1, 2].map(|seed| WrittenFile::new(seed, 1.0, 3));
    old.events = [1.0, 2.0, 4.0].map(|weight| (0, weight)).to_vec();
    new.events = [1.1, 33.0].map(|weight| (0, weight)).to_vec();
    let before = folder.save("a.lhe", &biased(&old, "{\"unit\": 2.0}"));
    let added = folder.save("b.lhe", &biased(&new, "{\"unit\": 2.2}"));
    append(&before, 3, &added, &open_written).unwrap();
    let (_, rows) = folder.read("a.lhe");
    let weights: Vec<f64> = rows.iter().map(|(_, weight, _)| *weight).collect();
    for (found, wanted) in weights.iter().zip([1.1, 2.2, 4.4, 1.1, 33.0]) {
        near(*found, wanted);
    }
}
