//! The modules of a crate use each other one way.

use crate::modules::Modules;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::slice;

/// Modules of one folder that are halves of one thing, and why.
const HALVES: &[(&[&str], &str)] = &[(
    &["dispatch", "level", "sve"],
    "a SIMD level and its registers: each names the other",
)];

/// Modules that define what their own submodules use, and use what these define, and why.
#[rustfmt::skip]
const PARTS: &[(&str, &str)] = &[
    ("capi::umami", "a handle, and the calls that it answers"),
    ("command::compare", "the options of a comparison, and those with Fortran"),
    ("command::umami", "the options of a library, and those for aMC@NLO"),
    ("densities", "densities, and the formulas and readers that make them"),
    ("describe", "topologies, and those of colour-ordered processes"),
    ("generate::model", "a model, and its file, parameters and running"),
    ("gpu::codegen", "a generator of code, and what it generates"),
    ("gpu::engine", "an engine: its memory, launches and samples"),
    ("import::matrix", "a matrix element, and its squares and sums"),
    ("import::user_code", "code of users: its statements, their compiler and what runs them"),
    ("mebridge::bridge", "a bridge, and the calls that it answers"),
    ("mebridge::event_generator", "a request, and the functions of users in it"),
    ("ops::arrays", "operations on arrays, and the parts of which they consist"),
    ("ops::kernels", "kernels, and the table that runs them"),
    ("ops::kernels::external", "external wavefunctions, and those of high spin"),
    ("phasespace::clustering", "clusterings, and the points that they cluster"),
    ("phasespace::cuts", "cuts, and the program that tests them"),
    ("plan", "a plan, and its loops over arrays"),
    ("process", "a process, and its channels, colours and colour-ordered form"),
];

/// What uses what; each list of names says why.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Returns what can be reached from a node, itself only if there is a way back.
fn reached<'a>(uses: &'a Uses, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for used in uses.get(node).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(used.as_str()) {
                open.push(used);
            }
        }
    }
    reached
}

/// Returns the circles: sets of nodes that all use each other, directly or not.
fn circles(uses: &Uses) -> BTreeSet<BTreeSet<&str>> {
    let all: BTreeMap<&str, BTreeSet<&str>> = (uses.keys())
        .map(|node| (node.as_str(), reached(uses, node)))
        .collect();
    let circles = all.iter().filter(|(node, reached)| reached.contains(*node));
    let members = circles.map(|(node, reached)| {
        let back = reached
            .iter()
            .filter(|other| all.get(*other).is_some_and(|r| r.contains(node)));
        back.copied().collect()
    });
    members.collect()
}

/// Returns a circle's uses as text.
fn listed(uses: &Uses, circle: &BTreeSet<&str>) -> String {
    let mut lines = String::new();
    for module in circle {
        for (used, names) in uses[*module]
            .iter()
            .filter(|(used, _)| circle.contains(used.as_str()))
        {
            lines += &format!("  {module} uses {names:?} of {used}\n");
        }
    }
    lines
}

/// Returns the crates: their names, and the first file of each.
fn crates() -> Vec<(String, PathBuf)> {
    let root = mebridge_testing::root();
    let folders = std::fs::read_dir(root.join("crates")).expect("the crates");
    let crates = folders.flatten().map(|folder| folder.path()).chain([root]);
    let first = crates.flat_map(|path| {
        let parent = path.parent().and_then(Path::file_name);
        let name = match parent.is_some_and(|parent| parent == "crates") {
            true => path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned(),
            false => "mebridge".to_owned(),
        };
        ["lib", "main"].map(|file| (name.clone(), path.join(format!("src/{file}.rs"))))
    });
    first.filter(|(_, path)| path.is_file()).collect()
}

/// The part of a path of names that it does not share with another, of which the other has a part of its own, too.
fn differing<'a>(path: &'a [String], other: &[String]) -> Option<(&'a [String], &'a String)> {
    let common = path.iter().zip(other).take_while(|(a, b)| a == b).count();
    (common < path.len() && common < other.len()).then(|| (&path[..common], &path[common]))
}

#[test]
fn modules_use_each_other_one_way() {
    let mut wrong = String::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (name, first) in crates() {
        let (modules, mut all) = (Modules::read(&first), Uses::new());
        // By folder: what its modules use of each other, each with its submodules.
        let mut folders: BTreeMap<String, Uses> = BTreeMap::new();
        for (user, used, item) in modules.uses() {
            let note = |uses: &mut Uses, user: &str, used: &str| {
                let names = uses
                    .entry(user.to_owned())
                    .or_default()
                    .entry(used.to_owned());
                names.or_default().insert(item.clone());
            };
            let whole = |path: &[String]| [slice::from_ref(&name), path].concat().join("::");
            note(&mut all, &whole(user), &whole(used));
            if let (Some((folder, user)), Some((_, used))) =
                (differing(user, used), differing(used, user))
            {
                note(folders.entry(whole(folder)).or_default(), user, used);
            }
        }
        for (folder, uses) in &folders {
            for circle in circles(uses) {
                match HALVES
                    .iter()
                    .find(|(known, _)| circle.iter().eq(known.iter()))
                {
                    Some((_, why)) => _ = seen.insert(why),
                    None => {
                        wrong += &format!(
                            "modules of {folder} use each other:\n{}",
                            listed(uses, &circle)
                        )
                    }
                }
            }
        }
        for circle in circles(&all) {
            // Others are those of folders.
            let holds = |top: &&&str| {
                circle
                    .iter()
                    .any(|path| path.starts_with(&format!("{top}::")))
            };
            let Some(top) = circle.iter().filter(holds).min_by_key(|path| path.len()) else {
                continue;
            };
            match PARTS.iter().find(|(known, _)| known == top) {
                Some((_, why)) => _ = seen.insert(why),
                None => {
                    wrong += &format!(
                        "{top} and its submodules use each other:\n{}",
                        listed(&all, &circle)
                    )
                }
            }
        }
    }
    let reasons = HALVES
        .iter()
        .map(|(_, why)| why)
        .chain(PARTS.iter().map(|(_, why)| why));
    for why in reasons.filter(|why| !seen.contains(*why)) {
        wrong += &format!("no circle any longer: {why}\n");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
