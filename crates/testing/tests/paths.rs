//! Files that documents and comments name by their paths from the top are there, and so is what documents link to.

use std::path::{Path, PathBuf};

/// Folders at the top by which a path is known as one.
const TOP: [&str; 10] = [
    "src", "crates", "cuda", "tests", "benches", "docs", "examples", "python", "fortran", "include",
];
/// What is made and not kept.
const MADE: [&str; 3] = ["build", "target", ".git"];

/// Texts below a folder that may name files.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().expect("its kind");
        if kind.is_dir() && !MADE.iter().any(|made| name == *made) {
            texts(&path, found);
        } else if kind.is_file() {
            let ending = path.extension().and_then(|ending| ending.to_str());
            let is_text = ["md", "rs", "cuh", "py", "sh", "toml", "f90", "h"];
            if ending.is_some_and(|ending| is_text.contains(&ending)) {
                found.push(path);
            }
        }
    }
}

/// Endings of files by which a path without quotes is known as one.
const ENDINGS: [&str; 7] = ["rs", "cuh", "md", "py", "sh", "f90", "toml"];

/// Paths of a line that stand in no quotes.
fn plain(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c)))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| {
            let ending = Path::new(word).extension().and_then(|e| e.to_str());
            word.contains('/') && ending.is_some_and(|ending| ENDINGS.contains(&ending))
        })
}

#[test]
fn named_files_are_there() {
    let root = mebridge_testing::root();
    let mut all = Vec::new();
    texts(&root, &mut all);
    let (mut named, mut missing) = (0, Vec::new());
    for path in &all {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("a text")).into_owned();
        let names = text.lines().flat_map(|line| {
            let quoted = line.split('`').skip(1).step_by(2);
            quoted.chain(plain(line))
        });
        for name in names {
            let is_path = name.contains('/')
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c))
                && TOP.contains(&name.split('/').next().unwrap_or_default());
            if !is_path {
                continue;
            }
            named += 1;
            // Made by the build, or of the folder that the text is about.
            let beside = path.parent().expect("a folder").join(name);
            if !root.join(name).exists() && !beside.exists() {
                missing.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(named > 100, "{named}");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// What links of a document in Markdown lead to.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// The names that headings of a document have in links.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let headings = text.lines().filter(|line| {
        fenced ^= line.starts_with("```");
        !fenced && line.starts_with('#')
    });
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        title
            .chars()
            .filter(kept)
            .collect::<String>()
            .replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let root = mebridge_testing::root();
    let mut all = Vec::new();
    texts(&root, &mut all);
    all.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    let (mut followed, mut broken) = (0, Vec::new());
    for path in &all {
        let text = std::fs::read_to_string(path).expect("a document");
        for link in links(&text).filter(|link| !link.contains("://")) {
            followed += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                _ => path.parent().expect("a folder").join(file),
            };
            let leads = target.exists()
                && (anchor.is_empty()
                    || std::fs::read_to_string(&target)
                        .is_ok_and(|text| anchors(&text).iter().any(|name| name == anchor)));
            if !leads {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(followed > 100, "{followed}");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn headings_have_the_names_of_links() {
    let text = "# One: `two`, a-b\n```\n# no heading\n```\n## On a GPU\n";
    assert_eq!(anchors(text), ["one-two-a-b", "on-a-gpu"]);
    assert_eq!(
        links("a [b](c.md#d), [e](#f)").collect::<Vec<_>>(),
        ["c.md#d", "#f"]
    );
}
