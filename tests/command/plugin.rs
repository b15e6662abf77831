//! `mebridge plugin`: where it is installed.

use crate::support::{directory, mebridge};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes a folder that looks like MG5aMC's.
fn mg5amc(folder: &Path, version: &str) -> PathBuf {
    let place = folder.join("MG5 aMC");
    for name in ["bin", "madgraph", "PLUGIN"] {
        fs::create_dir_all(place.join(name)).unwrap();
    }
    fs::write(place.join("bin/mg5_aMC"), "").unwrap();
    let text = format!("version = {version}\ndate = 2024-11-29\n");
    fs::write(place.join("VERSION"), text).unwrap();
    place
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn it_comes_and_goes() {
    let d = directory();
    let place = mg5amc(d.path(), "3.5.7");
    let plugins = place.join("PLUGIN");
    let ran = mebridge(d.path(), &["plugin", "MG5 aMC"]);
    assert!(ran.ok().contains("'output mebridge DIR'"));
    assert_eq!(ran.stderr, "");
    let target = plugins.join("mebridge");
    assert_eq!(
        names(&target),
        ["__init__.py", "installed.txt", "output.py"]
    );
    let installed = fs::read_to_string(target.join("installed.txt")).unwrap();
    assert!(installed.lines().all(|path| Path::new(path).is_absolute()));
    assert_eq!(installed.lines().count(), 2);
    fs::write(target.join("output.py"), "of another version").unwrap();
    mebridge(d.path(), &["plugin", "MG5 aMC"]).ok();
    let text = fs::read_to_string(target.join("output.py")).unwrap();
    assert!(text.contains("LinkedMadEvent"));
    assert_eq!(names(&plugins), ["mebridge"]);
    mebridge(d.path(), &["plugin", "MG5 aMC", "--remove"]).ok();
    assert!(names(&plugins).is_empty());
    mebridge(d.path(), &["plugin", "MG5 aMC", "--remove"]).failed(1);
}

#[test]
fn versions_that_were_not_tried_are_named() {
    let d = directory();
    mg5amc(d.path(), "3.6.1");
    let ran = mebridge(d.path(), &["plugin", "MG5 aMC"]);
    assert_eq!(ran.code, 0);
    let message = "MG5aMC 3.6.1; the plugin was tried with 3.4.2 and 3.5.7";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}

#[test]
fn what_is_not_ours_stays() {
    let d = directory();
    let other = mg5amc(d.path(), "3.5.7").join("PLUGIN/mebridge");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("__init__.py"), "mine").unwrap();
    for arguments in [
        &["plugin", "MG5 aMC"][..],
        &["plugin", "MG5 aMC", "--remove"],
    ] {
        let ran = mebridge(d.path(), arguments);
        assert!(
            ran.failed(1).contains("is another plugin"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(
        fs::read_to_string(other.join("__init__.py")).unwrap(),
        "mine"
    );
    let ran = mebridge(d.path(), &["plugin", "."]);
    assert!(
        ran.failed(1).contains("is no folder of MG5aMC"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_folder_of_plugins() {
    let d = directory();
    fs::create_dir(d.path().join("MG5aMC_PLUGIN")).unwrap();
    mebridge(d.path(), &["plugin", "MG5aMC_PLUGIN"]).ok();
    assert!(
        d.path()
            .join("MG5aMC_PLUGIN/mebridge/installed.txt")
            .is_file()
    );
}
