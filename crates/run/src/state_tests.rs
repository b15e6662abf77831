use super::*;
use crate::records::RoundWeights;
use crate::round::ChannelMean;
use serde_json::json;
use std::os::unix::ffi::OsStrExt;

fn arguments(of: Value) -> Arguments {
    of.as_object()
        .expect("a table")
        .clone()
        .into_iter()
        .collect()
}

fn seeded(seed: u64) -> Arguments {
    arguments(json!({"seed": seed, "events": 100, "energy": 0.1}))
}

fn found(events: u64) -> RoundResult {
    RoundResult {
        counted: RoundCounts {
            events,
            measured: vec![(8, 0.1 + 0.2, 1.0 / 3.0)],
            biased: Vec::new(),
            corrections: Vec::new(),
            drawn: SortedMap::from([(0, [events as f64, 0.1, 0.7])]),
        },
        weights: RoundWeights::read("x".as_ref(), &[0.1, -0.3]).expect("weights"),
        channels: vec![ChannelMean {
            drawn: 16,
            mean: 1e-300,
            error: 0.3,
            passed: 9,
            events,
        }],
        cut: [0, 0],
    }
}

/// A state with a survey and rounds of these numbers.
fn make(folder: &Path, rounds: &[usize], lasting: bool) -> State {
    let mut state = State::open(folder, &seeded(1), lasting).unwrap();
    state.plan(vec![50; 2]).unwrap();
    let part = state.part(SURVEY).unwrap();
    fs::write(part.join("survey"), "a survey of a run that is long enough").unwrap();
    fs::write(part.join("points"), "points of a run that are enough").unwrap();
    assert_eq!(state.keep_part(SURVEY, &part).unwrap(), folder.join(SURVEY));
    for &number in rounds {
        let part = state.part("round").unwrap();
        for name in [RECORDS, "events.scales.npy"] {
            fs::write(
                part.join(name),
                format!("{number} has records that are enough"),
            )
            .unwrap();
        }
        let settled = state.settle()(number, &part, found(50)).unwrap();
        state.keep_round(number, settled).unwrap();
    }
    state
}

fn refusal(folder: &Path, arguments: &Arguments) -> String {
    State::open(folder, arguments, true)
        .unwrap_err()
        .to_string()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn what_is_done_is_there_again() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a").join("state");
    drop(make(&folder, &[1], true));
    let state = State::open(&folder, &seeded(1), true).unwrap();
    assert_eq!(state.rounds(), &SortedMap::from([(1, found(50))]));
    assert_eq!(state.sizes(), [50, 50]);
    assert_eq!(state.kept_part(SURVEY), Some(folder.join(SURVEY)));
    assert_eq!(state.kept_part("surv"), None);
    assert_eq!(
        entries(&folder).unwrap(),
        [
            "lock",
            "round0001.found",
            "round0001.npy",
            "round0001.scales.npy",
            "run.json",
            "survey"
        ]
        .map(str::to_owned)
        .into()
    );
    let records = fs::read_to_string(state.records(1)).unwrap();
    assert_eq!(records, "1 has records that are enough");
}

type Damage = dyn Fn(&Path, &[u8]);

fn make_pipe(path: &Path) {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

#[test]
fn every_file_that_is_damaged_is_found() {
    let place = tempfile::tempdir().unwrap();
    let (kept, folder) = (place.path().join("kept"), place.path().join("state"));
    drop(make(&kept, &[0, 1], true));
    let files = [
        "run.json",
        "survey/survey",
        "survey/points",
        "round0000.npy",
        "round0001.scales.npy",
        "round0001.found",
    ];
    let damages: [&Damage; 6] = [
        &|path, bytes| fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
        &|path, bytes| {
            let mut changed = bytes.to_vec();
            changed[bytes.len() - 20] ^= 1;
            fs::write(path, changed).unwrap();
        },
        &|path, _| fs::write(path, "").unwrap(),
        &|path, _| {
            fs::remove_file(path)
                .and_then(|()| fs::create_dir(path))
                .unwrap()
        },
        &|path, _| {
            fs::remove_file(path).unwrap();
            make_pipe(path);
        },
        &|path, _| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/dev/null", path).unwrap();
        },
    ];
    for file in files {
        for (number, damage) in damages.iter().enumerate() {
            remove(&folder).unwrap();
            copy(&kept, &folder);
            let path = folder.join(file);
            damage(&path, &fs::read(&path).unwrap());
            let message = refusal(&folder, &seeded(1));
            let cure = format!("; remove {} to begin anew", folder.display());
            assert!(message.ends_with(&cure), "{file} {number}: {message}");
        }
    }
    let deep = "[".repeat(100_000);
    for text in [
        "[]",
        "null",
        "{}",
        "{\"blake3\": \"\",\n\"run\": {\"format\": 8}}",
        &deep,
    ] {
        fs::write(kept.join(RUN), text).unwrap();
        let message = refusal(&kept, &seeded(1));
        assert!(
            message.contains("run.json cannot be read; remove"),
            "{message}"
        );
    }
    let before = "{\n \"format\": 7,\n \"asked\": {},\n \"sha256\": \"\"\n}";
    fs::write(kept.join(RUN), before).unwrap();
    let message = refusal(&kept, &seeded(1));
    assert!(
        message.contains("kept was written by another version of mebridge; remove"),
        "{message}"
    );
}

#[test]
fn another_run_is_named_by_what_differs() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let of = |value: Value| arguments(value);
    let before = of(json!({"run_card": {"ptj": 20.0, "ptl": 10.0}, "pdf": null, "seed": 1}));
    drop(
        State::open(folder, &before, true)
            .unwrap()
            .part(SURVEY)
            .unwrap(),
    );
    let now = [
        (
            json!({"run_card": {"ptj": 20.0, "ptl": 30.0}, "pdf": null, "seed": 1}),
            "run_card: ptl (10.0 there, 30.0 now)",
        ),
        (
            json!({"run_card": {"ptj": 20.0}, "pdf": null, "seed": 1}),
            "run_card: ptl (10.0 there, none now)",
        ),
        (
            json!({"run_card": {"ptj": 20.0, "ptl": 10.0}, "pdf": "cteq", "seed": 1}),
            "pdf (none there, cteq now)",
        ),
        (
            json!({"run_card": {"ptj": 20.0, "ptl": 10.0}, "pdf": null}),
            "seed (1 there, none now)",
        ),
    ];
    for (now, other) in now {
        let wanted = format!(
            "{} holds a run with another {other}; name another folder, or remove it",
            folder.display()
        );
        assert_eq!(refusal(folder, &of(now)), wanted);
    }
    // The first difference in the caller's order is named.
    let mut both = before.clone();
    both.reverse();
    both[0].1 = json!(2);
    both[1].1 = json!("x");
    let name = both[0].0.clone();
    assert!(refusal(folder, &both).contains(&format!("another {name}")));
    assert!(State::open(folder, &before, true).is_ok());
}

#[test]
fn a_run_goes_on_with_more_events_and_where_it_was_moved_to() {
    let place = tempfile::tempdir().unwrap();
    let (before, after) = (place.path().join("before"), place.path().join("after"));
    let of = |output: &str, events: u64| arguments(json!({"output": output, "events": events}));
    State::open(&before, &of("before", 10), true)
        .unwrap()
        .part("x")
        .unwrap();
    fs::rename(&before, &after).unwrap();
    let mut more = State::open(&after, &of("after", 12), true).unwrap();
    more.plan(vec![12]).unwrap();
    drop(more);
    assert_eq!(argument(&after, "events"), Some(json!(12)));
    assert!(refusal(&after, &of("after", 11)).contains("another events (12 there, 11 now)"));
}

/// Also if reading a number from text gives a neighbouring value.
#[test]
fn numbers_are_the_same_ones_after_many_readings() {
    let place = tempfile::tempdir().unwrap();
    let numbers: Vec<f64> = (1..300)
        .map(|i| (f64::from(i) * 0.7).sin() * 10f64.powi(i - 150))
        .collect();
    let of = |events: u64| arguments(json!({"events": events, "numbers": numbers}));
    for events in 1..5 {
        let state = State::open(place.path(), &of(events), true).unwrap();
        state.part("x").unwrap();
    }
}

#[test]
fn a_folder_of_others_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("state");
    let state = State::open(&folder, &seeded(1), true).unwrap();
    assert_eq!(
        refusal(&folder, &seeded(1)),
        format!("another run is at work in {}", folder.display())
    );
    forget_empty(&folder, false);
    assert!(folder.join(LOCK).exists());
    drop(state);
    fs::write(folder.join("notes"), "of somebody").unwrap();
    forget_empty(&folder, true);
    assert!(folder.join("notes").exists());
    assert_eq!(
        refusal(&folder, &seeded(1)),
        format!(
            "{} holds other files (notes); name a folder of its own for the state",
            folder.display()
        )
    );
    fs::remove_file(folder.join("notes")).unwrap();
    forget_empty(&folder, false);
    assert!(!folder.exists());
    forget_empty(&folder, false);
    fs::write(&folder, "").unwrap();
    let message = refusal(&folder, &seeded(1));
    assert!(
        message.starts_with("the state of the run cannot be kept in "),
        "{message}"
    );
    assert!(!message.contains("os error"), "{message}");
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(place.path().join("lock"), "").unwrap();
    std::os::unix::fs::symlink("../lock", other.join(LOCK)).unwrap();
    assert!(refusal(&other, &seeded(1)).contains("cannot be kept"));
}

#[test]
fn a_run_that_did_not_begin_leaves_the_folder_to_another() {
    let place = tempfile::tempdir().unwrap();
    let mut state = State::open(place.path(), &seeded(1), true).unwrap();
    state.plan(vec![100]).unwrap();
    drop(state);
    assert!(State::open(place.path(), &seeded(2), true).is_ok());
}

/// The survey exists, but `run.json` does not list it.
#[test]
fn what_an_interrupted_run_left_is_made_again() {
    let place = tempfile::tempdir().unwrap();
    let mut state = State::open(place.path(), &seeded(1), true).unwrap();
    let part = state.part(SURVEY).unwrap();
    for name in ["survey", "survey.part", "run.json.part"] {
        remove(&place.path().join(name)).unwrap();
        fs::create_dir(place.path().join(name)).unwrap();
        fs::write(place.path().join(name).join("old"), "").unwrap();
    }
    assert_eq!(state.kept_part(SURVEY), None);
    let again = state.part(SURVEY).unwrap();
    assert_eq!(part, again);
    fs::write(again.join("survey"), "new").unwrap();
    let folder = state.keep_part(SURVEY, &again).unwrap();
    assert_eq!(
        entries(&folder).unwrap(),
        SortedSet::from(["survey".to_owned()])
    );
    drop(state);
    assert!(
        State::open(place.path(), &seeded(1), true)
            .unwrap()
            .kept_part(SURVEY)
            .is_some()
    );
}

#[test]
fn what_was_surveyed_stays_after_a_run() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("state");
    let none = surveyed(&folder).unwrap_err().to_string();
    assert!(
        none.contains("holds no survey of a run (run.json); is it"),
        "{none}"
    );
    drop(
        State::open(&folder, &seeded(1), true)
            .unwrap()
            .part(SURVEY)
            .unwrap(),
    );
    let none = surveyed(&folder).unwrap_err().to_string();
    assert!(
        none.ends_with("holds a run whose survey is not done; let it go on first"),
        "{none}"
    );
    drop(make(&folder, &[0, 1], true));
    forget_rounds(&folder, 90).unwrap();
    assert!(
        !folder.join("round0000.npy").exists() && !folder.join("round0001.scales.npy").exists()
    );
    let known = surveyed(&folder).unwrap();
    assert_eq!(known.rounds, [found(50).counted, found(50).counted]);
    assert_eq!(known.folder, folder.join(SURVEY));
    let same = |seed, but: &[&str]| check_same(&folder, &known.arguments, &seeded(seed), but);
    assert!(same(1, &[]).is_ok() && same(2, &["seed"]).is_ok());
    let other = same(2, &["events"]).unwrap_err().to_string();
    let wanted = "another seed (1 there, 2 now); make both the same, or survey anew";
    assert!(other.ends_with(wanted), "{other}");
    // The run continues after its rounds, or without them if its event file is gone.
    let there = WrittenEvents {
        rounds: 2,
        events: 90,
    };
    assert_eq!(written(&folder), Some(there));
    let mut state = State::open(&folder, &seeded(1), true).unwrap();
    assert_eq!((state.written(), state.rounds().len()), (there, 2));
    state.begin_again().unwrap();
    drop(state);
    let state = State::open(&folder, &seeded(1), true).unwrap();
    assert!(state.kept_part(SURVEY).is_some() && state.rounds().is_empty());
    assert!(state.written() == WrittenEvents::default() && state.sizes().is_empty());
    drop(state);
    fs::write(folder.join("round0000.found"), "").unwrap();
    assert!(
        surveyed(&folder)
            .unwrap_err()
            .to_string()
            .contains("is not what the run wrote")
    );
}

#[test]
fn what_no_later_run_finds_does_not_wait_for_the_disk() {
    let place = tempfile::tempdir().unwrap();
    let state = make(place.path(), &[0], false);
    assert!(state.known.files.len() == 5 && state.known.files.values().all(String::is_empty));
    let lasting = make(&place.path().join("lasting"), &[0], true);
    assert!(lasting.known.files.values().all(|hash| hash.len() == 64));
}
