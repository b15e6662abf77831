//! Checks the naming rules (docs/architecture.md, "Words") that a program can check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Words that mean nothing to a reader, in names of types, functions, modules and fields.
const UNREADABLE: [&str; 9] = [
    "rung", "alike", "twos", "wide", "hung", "grown", "handed", "told", "stuff",
];

/// Types of which the whole project has at most one: the words of the table, and those that once had several meanings.
const ONE_MEANING: [&str; 26] = [
    "Block", "Blocks", "Bridge", "Check", "Checks", "Element", "Elements", "Form", "Forms",
    "Group", "Groups", "Line", "Lines", "Order", "Orders", "Part", "Parts", "Pass", "Place",
    "Places", "Run", "Runs", "Sample", "Slot", "Split", "Target",
];

/// Public types that exist in two crates: a word of the field or of Rust with the same meaning in both, or a type that
/// one crate makes from the other's. No other name has two meanings.
const SHARED: &[&str] = &[
    "Banner",
    "Batch",
    "Beams",
    "Channel",
    "Diagram",
    "DiagramLine",
    "DiagramLines",
    "Diagrams",
    "Engine",
    "Error",
    "Event",
    "Events",
    "External",
    "Function",
    "Inputs",
    "Layout",
    "MatrixElement",
    "MatrixElements",
    "Model",
    "Momenta",
    "Options",
    "Particle",
    "Product",
    "Propagator",
    "Rows",
    "Signature",
    "Subprocess",
    "Tree",
    "Vertex",
];

/// Words of a diary. Documents describe the current state.
const DIARY: [&str; 9] = [
    "earlier commit",
    "later that day",
    "that evening",
    "of the evening",
    "earlier that day",
    "the day before",
    "two days before",
    "by now",
    "as of today",
];

/// Maximum number of words in README.md, which a reader has to read before the first event. The rest is in docs.
const MAX_WORDS: usize = 1200;

/// Finds files with an extension below a folder.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("its kind"));
        if kind.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files(&path, ending, found);
        } else if kind.is_file() && path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
}

/// Returns all Rust sources, with their paths from the top.
fn sources() -> Vec<(String, String)> {
    let root = mebridge_testing::root();
    let mut paths = Vec::new();
    for folder in ["src", "crates", "benches", "tests"] {
        files(&root.join(folder), "rs", &mut paths);
    }
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("below the top");
        let text = std::fs::read_to_string(&path).expect("a source");
        (name.display().to_string(), text)
    };
    paths.into_iter().map(read).collect()
}

/// Returns the keyword and the name that a line declares.
fn declared(line: &str) -> Option<(&str, &str)> {
    let mut words = line
        .trim_start()
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty());
    loop {
        let word = words.next()?;
        match word {
            "pub" | "crate" | "super" | "in" | "unsafe" | "const" | "async" | "extern" | "C" => {}
            "struct" | "enum" | "union" | "trait" | "type" | "fn" | "mod" => {
                return words.next().map(|name| (word, name));
            }
            _ => return None,
        }
    }
}

/// Splits a name in either spelling into words.
fn words(name: &str) -> BTreeSet<String> {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text.split('_').map(str::to_owned).collect()
}

#[test]
fn names_can_be_read() {
    let (mut names, mut unreadable) = (0, Vec::new());
    for (path, text) in &sources() {
        // Names of tests are sentences.
        if path.starts_with("tests/") {
            continue;
        }
        let mut is_test = false;
        for (number, line) in (1..).zip(text.lines()) {
            let of_test = std::mem::replace(&mut is_test, line.trim() == "#[test]");
            let Some((_, name)) = declared(line) else {
                continue;
            };
            names += 1;
            let words = words(name);
            if !of_test && UNREADABLE.iter().any(|&word| words.contains(word)) {
                unreadable.push(format!("{path}:{number}: {name}"));
            }
        }
    }
    assert!(names > 5000, "{names}");
    assert!(unreadable.is_empty(), "{}", unreadable.join("\n"));
}

#[test]
fn words_of_the_table_name_one_type() {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in &sources() {
        // The comparison of two libraries and the benchmarks use the library through its C interface.
        if path.starts_with("benches/") || path.starts_with("tests/") {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            // Associated types belong to their traits.
            let is_type = |keyword| keyword != "fn" && keyword != "mod";
            let associated = line.starts_with(' ') && line.trim_start().starts_with("type ");
            if let Some((keyword, name)) = declared(line)
                && is_type(keyword)
                && !associated
            {
                let here = format!("{path}:{number}");
                types.entry(name.to_owned()).or_default().push(here);
            }
        }
    }
    assert!(types.len() > 500, "{}", types.len());
    let several: Vec<String> = ONE_MEANING
        .iter()
        .filter_map(|&name| types.get(name).map(|places| (name, places)))
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(several.is_empty(), "{}", several.join("\n"));
}

/// Crates that are used only by tests and for developing mebridge.
const NO_PRODUCT: [&str; 5] = ["emulator", "oracle", "shared", "testing", "tools"];

#[test]
fn a_public_name_is_of_one_crate() {
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in &sources() {
        let of = match path.split('/').collect::<Vec<_>>()[..] {
            ["crates", of, "src", ..] if !NO_PRODUCT.contains(&of) => of,
            ["src", ..] => "mebridge",
            _ => continue,
        };
        let kinds = ["struct", "enum", "union", "trait"];
        for line in text.lines().filter(|line| line.starts_with("pub ")) {
            if let Some((keyword, name)) = declared(line)
                && kinds.contains(&keyword)
            {
                crates
                    .entry(name.to_owned())
                    .or_default()
                    .insert(of.to_owned());
            }
        }
    }
    assert!(crates.len() > 400, "{}", crates.len());
    let several = |name: &str| crates.get(name).is_some_and(|of| of.len() > 1);
    let new = crates
        .iter()
        .filter(|(name, of)| of.len() > 1 && !SHARED.contains(&name.as_str()));
    let new: Vec<String> = new.map(|(name, of)| format!("{name}: {of:?}")).collect();
    assert!(
        new.is_empty(),
        "give one of each another name: {}",
        new.join("; ")
    );
    let unused: Vec<_> = SHARED.iter().filter(|name| !several(name)).collect();
    assert!(unused.is_empty(), "take out of SHARED: {unused:?}");
}

/// Documents that users and developers read.
fn documents() -> Vec<(String, String)> {
    let root = mebridge_testing::root();
    let mut paths = vec![root.join("README.md")];
    files(&root.join("docs"), "md", &mut paths);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("below the top");
        let text = std::fs::read_to_string(&path).expect("a document");
        (name.display().to_string(), text)
    };
    paths.into_iter().map(read).collect()
}

/// Whether a word is a date (2026-01-31) or the hash of a commit. They belong in benches/results.
fn is_date_or_commit(word: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let date = word.split('-').map(str::len).eq([4, 2, 2]) && word.split('-').all(digits);
    let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let both = !digits(word) && word.bytes().any(|b| b.is_ascii_digit());
    date || ((7..=9).contains(&word.len()) && both && word.bytes().all(hexadecimal))
}

#[test]
fn documents_are_no_diaries() {
    let documents = documents();
    assert!(documents.len() > 10, "{}", documents.len());
    let mut wrong = Vec::new();
    for (path, text) in &documents {
        for (number, line) in (1..).zip(text.lines()) {
            let lower = line.to_lowercase();
            let found = DIARY.iter().filter(|&&word| lower.contains(word));
            wrong.extend(found.map(|word| format!("{path}:{number}: {word:?}")));
            let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            let dated = words.filter(|word| is_date_or_commit(word));
            wrong.extend(dated.map(|word| format!("{path}:{number}: {word}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(mebridge_testing::root().join("README.md"));
    let words = text.expect("README.md").split_whitespace().count();
    assert!(
        words <= MAX_WORDS,
        "README.md has {words} words, more than {MAX_WORDS}: move what not everybody needs to docs"
    );
}

#[test]
fn versions_agree() {
    let root = mebridge_testing::root();
    let after = |file: &str, mark: &str| {
        let text = std::fs::read_to_string(root.join(file)).expect("it comes with the source");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(mark).map(str::to_owned));
        let line = line.unwrap_or_else(|| panic!("{file} has no line {mark}"));
        let version = line
            .trim_matches('"')
            .split(|c: char| c != '.' && !c.is_ascii_digit());
        version.take(1).collect::<String>()
    };
    let version = after("Cargo.toml", "version = ");
    assert_eq!(after("benches/against/Cargo.toml", "version = "), version);
    assert_eq!(after("CHANGELOG.md", "## "), version);
    assert_eq!(after("CITATION.cff", "version: "), version);
}

#[test]
fn words_are_found() {
    assert_eq!(
        declared("    pub(super) struct Line<'a> {"),
        Some(("struct", "Line"))
    );
    assert_eq!(
        declared("pub unsafe extern \"C\" fn run_all("),
        Some(("fn", "run_all"))
    );
    assert_eq!(declared("/// A struct Line"), None);
    assert_eq!(declared("let line = 1;"), None);
    let found: Vec<String> = words("HungTree").into_iter().collect();
    assert_eq!(found, ["", "hung", "tree"]);
    assert!(words("keeps_alike").contains("alike"));
    assert!(is_date_or_commit("2026-01-31") && is_date_or_commit("52501c5"));
    assert!(!is_date_or_commit("1048576") && !is_date_or_commit("defaced"));
}
