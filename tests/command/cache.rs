//! The cache changes only the duration of a start: answers are the same to the last bit, whatever has happened to its
//! files or to the sources of the process.

use crate::common;
use crate::support::{copy, gg_ttx, mebridge_with};
use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::events::{Answers, Events};
use mebridge::import::{Options, import_directory};
use mebridge::import_cached::import_cached;
use mebridge::locate::locate;
use mebridge::phase_space::PhaseSpace;
use mebridge::plan::binding::Binding;
use mebridge::runtime::{BackendChoice, CachePlace, ProcessChoice, Switches};
use proptest::prelude::*;
use rand::distr::Open01;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::path::{Path, PathBuf};

/// Events of a call.
const NEVT: usize = 20;

fn at(folder: &Path) -> CachePlace {
    CachePlace::Folder(folder.to_owned())
}

/// Results of a start in a directory and two calls: bits of matrix elements, helicities, colours.
fn answers(directory: &Path, cache: CachePlace) -> Vec<(Vec<u64>, Vec<i32>, Vec<i32>)> {
    let switches = Switches {
        process: Some(ProcessChoice::parse(directory)),
        backend: BackendChoice::Cpu,
        cache,
        ..Switches::default()
    };
    let located = locate(&switches).expect("a process");
    let process = &located.process;
    let binding = Binding::new(&process.model, &located.card).expect("binding");
    let mass = |incoming| binding.masses(&process.legs, incoming);
    let space = PhaseSpace::new(1500.0, &mass(true), &mass(false)).expect("phase space");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut numbers = vec![0.0; NEVT * space.randoms()];
    numbers.fill_with(|| random.sample(Open01));
    let mut momenta = vec![0.0; NEVT * space.components()];
    for (numbers, momenta) in numbers
        .chunks(space.randoms())
        .zip(momenta.chunks_mut(space.components()))
    {
        space.event(numbers, momenta);
    }
    let known: Vec<i32> = process
        .channels
        .amp2
        .iter()
        .filter(|a| process.channels.config_of(a.diagram).is_some())
        .map(|a| a.diagram as i32)
        .collect();
    let channels: Vec<i32> = known.iter().copied().cycle().take(NEVT).collect();
    let mut bridge = Bridge::new(located.process, &located.card, &switches, NEVT).expect("bridge");
    [None, Some(channels.as_slice())]
        .into_iter()
        .map(|channels| {
            let events = Events {
                momenta: &momenta,
                g_s: &[1.2; NEVT],
                random_helicity: &numbers[..NEVT],
                random_color: &numbers[NEVT..2 * NEVT],
                channels,
                igraph: None,
            };
            let (mut elements, mut helicity, mut color) = ([0.0; NEVT], [0; NEVT], [0; NEVT]);
            let mut answers = Answers {
                matrix_elements: &mut elements,
                helicity: &mut helicity,
                color: &mut color,
            };
            bridge.run(&events, &mut answers).expect("answers");
            let bits = elements.iter().map(|x| x.to_bits()).collect();
            (bits, helicity.into(), color.into())
        })
        .collect()
}

/// Names and contents of the cache's files.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("the cache's folder");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("entry").path();
            let contents = fs::read(&path).expect("a file of the cache");
            (path, contents)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn answers_are_the_same_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let without = answers(&gg_ttx(), CachePlace::Off);
    assert_eq!(answers(&gg_ttx(), at(folder.path())), without);
    let made = files(folder.path());
    let of_kind = |kind: &str| {
        let extensions = made.iter().filter_map(|(path, _)| path.extension());
        extensions.filter(|e| *e == kind).count()
    };
    // Plans: diagrams and recursion, as all helicities are good.
    assert_eq!(
        (of_kind("process"), of_kind("color"), of_kind("plan")),
        (1, 1, 2)
    );
    assert_eq!(answers(&gg_ttx(), at(folder.path())), without);
    assert!(files(folder.path()) == made, "something was made again");
    // Another directory with the same contents is the same process.
    let other = tempfile::tempdir().unwrap();
    copy(&gg_ttx().join("../.."), other.path());
    let directory = other.path().join("SubProcesses/P1_gg_ttx");
    assert_eq!(answers(&directory, at(folder.path())), without);
    assert!(files(folder.path()) == made, "something was made again");
}

#[test]
fn answers_of_real_outputs_are_the_same_to_the_last_bit() {
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut directories = Vec::new();
    for output in fs::read_dir(outputs).expect("outputs").flatten() {
        let Ok(entries) = fs::read_dir(output.path().join("SubProcesses")) else {
            continue;
        };
        let p = entries.flatten().map(|entry| entry.path());
        directories.extend(p.filter(|p| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with('P') && p.is_dir()
        }));
    }
    directories.sort();
    assert!(!directories.is_empty());
    for directory in directories {
        if import_directory(&directory).map_or(0, |p| p.len()) != 1 {
            continue;
        }
        let without = answers(&directory, CachePlace::Off);
        assert_eq!(answers(&directory, at(folder.path())), without);
        let made = files(folder.path());
        assert_eq!(answers(&directory, at(folder.path())), without);
        assert!(
            files(folder.path()) == made,
            "{} was made again",
            directory.display()
        );
    }
}

#[test]
fn a_changed_file_is_imported_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(&at(folder.path()));
    let output = tempfile::tempdir().unwrap();
    copy(&gg_ttx().join("../.."), output.path());
    let directory = output.path().join("SubProcesses/P1_gg_ttx");
    let original = import_directory(&directory).unwrap();
    assert_eq!(
        import_cached(&directory, &Options::default(), &cache).unwrap(),
        original
    );
    // Every file with another digit in each place, and none at all.
    let mut paths = Vec::new();
    let mut folders = vec![output.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => paths.push(entry.path()),
            }
        }
    }
    let mut different = 0;
    for path in paths {
        let contents = fs::read_to_string(&path).unwrap();
        for changed in [
            Some(contents.replace('1', "2")),
            Some(contents.replace(".0", ".5")),
            Some(format!("{contents}\n")),
            None,
        ] {
            if changed.as_ref() == Some(&contents) {
                continue;
            }
            match &changed {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let expected = import_directory(&directory).map_err(|e| e.to_string());
            // Once without a cached result, and once from the cache if it could be stored.
            for _ in 0..2 {
                let cached = import_cached(&directory, &Options::default(), &cache)
                    .map_err(|e| e.to_string());
                assert_eq!(cached, expected, "{}", path.display());
            }
            different += usize::from(expected.as_ref() != Ok(&original));
        }
        fs::write(&path, contents).unwrap();
        assert_eq!(
            import_cached(&directory, &Options::default(), &cache).unwrap(),
            original
        );
    }
    assert!(different > 10, "{different} changes made a difference");
    // A new file that is found before an existing one.
    fs::write(directory.join("matrix2.f"), "      end\n").unwrap();
    let expected = import_directory(&directory).map_err(|e| e.to_string());
    let cached = import_cached(&directory, &Options::default(), &cache).map_err(|e| e.to_string());
    assert_eq!(cached, expected);
}

#[test]
fn a_folder_that_cannot_be_used_is_no_error() {
    let without = answers(&gg_ttx(), CachePlace::Off);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for place in [file.join("inside"), file, "/proc/nowhere".into()] {
        assert_eq!(answers(&gg_ttx(), at(&place)), without);
    }
    // Folders where files should be.
    assert_eq!(answers(&gg_ttx(), at(folder.path())), without);
    for (path, _) in files(folder.path()) {
        if path.extension().is_some() {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }
    }
    assert_eq!(answers(&gg_ttx(), at(folder.path())), without);
}

#[test]
fn programs_that_start_together_do_not_disturb_each_other() {
    let without = answers(&gg_ttx(), CachePlace::Off);
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let place = folder.path().join("cache");
                    (0..3)
                        .map(|_| answers(&gg_ttx(), at(&place)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for start in starts {
            for answer in start.join().unwrap() {
                assert_eq!(answer, without);
            }
        }
    });
    let left = files(&folder.path().join("cache"));
    assert_eq!(left.len(), 4);
}

/// Kind of damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Truncate(prop::sample::Index),
    Append(Vec<u8>),
    /// Another file of the cache is put under its name.
    Exchange(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<prop::sample::Index>(), 1u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        2 => any::<prop::sample::Index>().prop_map(Damage::Truncate),
        1 => prop::collection::vec(any::<u8>(), 1..9).prop_map(Damage::Append),
        1 => any::<prop::sample::Index>().prop_map(Damage::Exchange),
    ]
}

#[test]
fn damaged_files_are_made_again() {
    let without = answers(&gg_ttx(), CachePlace::Off);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(answers(&gg_ttx(), at(folder.path())), without);
    let good = files(folder.path());
    let damages = prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..4);
    let config = ProptestConfig::with_cases(100);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let ran = runner.run(&damages, |damages| {
        for (which, damage) in damages {
            let (path, contents) = which.get(&good);
            let mut contents = contents.clone();
            match damage {
                Damage::Flip(at, bits) => {
                    let at = at.index(contents.len());
                    contents[at] ^= bits;
                }
                Damage::Truncate(at) => contents.truncate(at.index(contents.len())),
                Damage::Append(more) => contents.extend(more),
                Damage::Exchange(other) => contents.clone_from(&other.get(&good).1),
            }
            fs::write(path, contents).unwrap();
        }
        prop_assert_eq!(&answers(&gg_ttx(), at(folder.path())), &without);
        prop_assert!(files(folder.path()) == good, "a damaged file was left");
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn the_command_shows_and_clears() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("cache");
    let run = |arguments: &[&str]| {
        let place = place.to_str().unwrap();
        let cache = [("CUDACPP_RUNTIME_CACHE", place)];
        mebridge_with(folder.path(), arguments, &cache)
            .ok()
            .to_owned()
    };
    let place = place.display();
    assert_eq!(run(&["cache"]), format!("{place}: 0 files, 0.0 MiB\n"));
    let p = gg_ttx();
    run(&["check", p.to_str().unwrap(), "1"]);
    assert_eq!(run(&["cache"]), format!("{place}: 4 files, 0.0 MiB\n"));
    assert_eq!(
        run(&["cache", "--clear"]),
        format!("{place}: removed 4 files, 0.0 MiB\n")
    );
    assert_eq!(run(&["cache"]), format!("{place}: 0 files, 0.0 MiB\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join("cache");
        // Like a folder made with a umask of 002.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o775)).unwrap();
        let cache = [("CUDACPP_RUNTIME_CACHE", path.to_str().unwrap())];
        let ran = mebridge_with(folder.path(), &["cache"], &cache);
        assert_eq!(
            (ran.code, &*ran.stdout),
            (0, &*format!("{place}: 0 files, 0.0 MiB\n"))
        );
        assert_eq!(
            ran.stderr,
            format!(
                "mebridge: the folder is not used, as others can write to it: chmod go-w '{place}'\n"
            )
        );
    }
    let off = mebridge_with(folder.path(), &["cache"], &[]);
    assert_eq!(off.ok(), "the cache is off\n");
    // Without the switch it is the user's.
    let home = folder.path().join("home");
    let user = [
        ("CUDACPP_RUNTIME_CACHE", ""),
        ("XDG_CACHE_HOME", home.to_str().unwrap()),
    ];
    let text = mebridge_with(folder.path(), &["cache"], &user);
    let expected = home.join("mebridge");
    assert!(
        text.ok().starts_with(&expected.display().to_string()),
        "{}",
        text.stdout
    );
}

/// The contents of the cache equal the results without it, for processes of every kind; a file with other contents is
/// named.
#[test]
fn what_is_kept_is_what_is_made() {
    let d = tempfile::tempdir().unwrap();
    let kept = d.path().join("kept");
    let p1 = gg_ttx();
    let mut processes = vec![
        p1.to_str().unwrap().to_owned(),
        "e+ e- > mu+ mu-".to_owned(),
        "g g > t t~ g".to_owned(),
        "u u~ > t t~ g g".to_owned(),
        "g g > g g g".to_owned(),
        "u d~ > w+ g g".to_owned(),
        "u u~ > e+ e- g".to_owned(),
        "b b~ > h z".to_owned(),
    ];
    if let Some(outputs) = common::mg5_outputs() {
        for name in [
            "gg_tt.mad/SubProcesses/P1_gg_ttx",
            "susy_gg_t1t1.mad/SubProcesses/P1_gg_t1t1x",
        ] {
            processes.push(outputs.join(name).to_str().unwrap().to_owned());
        }
    }
    let run = |place: &str, process: &str| {
        let variables = [("CUDACPP_RUNTIME_CACHE", place)];
        mebridge_with(d.path(), &["check", process, "64", "1", "1"], &variables)
    };
    let place = kept.to_str().unwrap();
    let check = format!("check:{place}");
    for process in &processes {
        assert_eq!(run(place, process).stderr, "", "{process}");
        let files = || fs::read_dir(&kept).unwrap().count();
        let before = files();
        assert_eq!(run(&check, process).stderr, "", "{process}");
        assert_eq!(files(), before, "{process}: all was there");
    }
    let entries = fs::read_dir(&kept).unwrap().flatten();
    let mut plans: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    plans.retain(|path| path.extension().is_some_and(|e| e == "plan"));
    assert!(plans.len() > processes.len());
    for plan in &plans {
        let mut bytes = fs::read(plan).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(plan, bytes).unwrap();
    }
    let ran = run(&check, &processes[0]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("the cached plan differs from the one made now: "),
        "{}",
        ran.stderr
    );
}
