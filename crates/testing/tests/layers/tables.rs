//! Dependencies go downwards: compares the tables of docs/architecture.md, which list the allowed dependencies, with
//! the manifests of the crates and the sources of the root crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A line of a table: its floor, and its dependencies.
struct Layer {
    floor: u32,
    uses: Vec<String>,
}

/// Returns the lines of the table whose second column has this heading.
fn table(heading: &str) -> BTreeMap<String, Layer> {
    let path = mebridge_testing::root().join("docs/architecture.md");
    let text = std::fs::read_to_string(path).expect("it comes with the source");
    let begins = format!("| floor | {heading} |");
    let lines = text.lines().skip_while(|line| !line.starts_with(&begins));
    let lines = lines.skip(2).take_while(|line| line.starts_with('|'));
    let parts = lines.map(|line| {
        let columns: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let quoted = |text: &str| -> Vec<String> {
            let names = text.split('`').skip(1).step_by(2);
            names.map(str::to_owned).collect()
        };
        let floor = columns[0].trim().parse().expect("a number");
        let name = quoted(columns[1]).swap_remove(0);
        let uses = quoted(columns[columns.len() - 1]);
        (name, Layer { floor, uses })
    });
    let parts: BTreeMap<String, Layer> = parts.collect();
    assert!(!parts.is_empty(), "no table of {heading}");
    for (name, part) in &parts {
        for used in &part.uses {
            let below = parts.get(used).is_some_and(|p| p.floor < part.floor);
            assert!(below, "{name} uses {used}, which is on no lower floor");
        }
    }
    parts
}

/// Returns the crates of this workspace that a manifest lists under `[dependencies]`.
fn needs(manifest: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let (_, needs) = text
        .split_once("\n[dependencies]\n")
        .expect("a crate with needs");
    let needs = needs.split("\n[").next().unwrap_or_default();
    let names = needs
        .lines()
        .filter_map(|line| line.split(['.', ' ']).next());
    let ours = names.filter_map(|name| match name {
        "mebridge" => Some(name),
        _ => name.strip_prefix("mebridge-"),
    });
    ours.map(str::to_owned).collect()
}

#[test]
fn crates_use_what_the_table_says() {
    let table = table("crate");
    let root = mebridge_testing::root();
    let folders = std::fs::read_dir(root.join("crates")).expect("the crates");
    let mut found = vec!["mebridge".to_owned()];
    for folder in folders.flatten() {
        found.push(folder.file_name().into_string().expect("a name"));
    }
    found.sort();
    assert_eq!(found, table.keys().cloned().collect::<Vec<_>>());
    for (name, part) in &table {
        let manifest = match name.as_str() {
            "mebridge" => root.join("Cargo.toml"),
            _ => root.join("crates").join(name).join("Cargo.toml"),
        };
        let (mut needs, mut uses) = (needs(&manifest), part.uses.clone());
        needs.sort();
        uses.sort();
        assert_eq!(needs, uses, "{name}");
    }
}

/// `rustdoc` would read a crate once more for them, so cargo looks for examples only where there are some.
#[test]
fn examples_in_documentation_are_run() {
    let root = mebridge_testing::root();
    let folders = std::fs::read_dir(root.join("crates")).expect("the crates");
    for folder in folders.flatten().map(|folder| folder.path()) {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let mut texts = Vec::new();
        sources(&folder.join("src"), &mut texts);
        let lines = texts.iter().flat_map(|text| text.lines());
        let fences = lines.filter_map(|line| {
            let comment = line.trim_start();
            let text = comment
                .strip_prefix("///")
                .or(comment.strip_prefix("//!"))?;
            text.trim_start().strip_prefix("```")
        });
        let has_examples = fences
            .step_by(2)
            .any(|kind| !["text", "fortran"].contains(&kind));
        let are_run = !manifest.contains("doctest = false") && folder.join("src/lib.rs").is_file();
        assert_eq!(
            has_examples,
            are_run,
            "{}: doctest in [lib]",
            folder.display()
        );
    }
}

#[test]
fn modules_of_the_root_crate_use_what_the_table_says() {
    let table = table("module of `src/`");
    let src = mebridge_testing::root().join("src");
    let library = std::fs::read_to_string(src.join("lib.rs")).expect("a library");
    let declared = library.lines().filter_map(|line| {
        let declared = line.trim_start_matches("pub ").strip_prefix("mod ")?;
        declared.strip_suffix(';')
    });
    assert_eq!(
        declared.collect::<BTreeSet<_>>(),
        table.keys().map(String::as_str).collect()
    );
    for (name, part) in &table {
        let mut files = Vec::new();
        sources(&src.join(format!("{name}.rs")), &mut files);
        sources(&src.join(name), &mut files);
        assert!(!files.is_empty(), "{name}");
        let mut uses = part.uses.clone();
        for text in &files {
            // Tests may use the whole crate.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for used in table.keys().filter(|used| *used != name) {
                if code.contains(&format!("crate::{used}")) {
                    assert!(part.uses.contains(used), "{name} uses {used}");
                    uses.retain(|u| u != used);
                }
            }
        }
        assert!(uses.is_empty(), "{name} does not use {uses:?}");
    }
}

/// Reads the text of a source, or of all sources below a folder.
fn sources(path: &Path, texts: &mut Vec<String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder").flatten() {
            sources(&entry.path(), texts);
        }
    } else if let Ok(text) = std::fs::read_to_string(path) {
        texts.push(text);
    }
}
