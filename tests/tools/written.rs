//! `mebridge-tools written`, with hand-written files.

use crate::support::{directory, mebridge};
use std::fs;

#[test]
fn routines_of_a_template_become_lines() {
    let d = directory();
    let program =
        "c a comment\n      logical function passcuts(p)\n      passcuts=.true.\n      end\n";
    for file in mebridge_run::written::FILES {
        let path = d.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, program).unwrap();
    }
    let folder = d.path().to_str().unwrap();
    let ran = mebridge(d.path(), &["written", folder, "9.9.9"]);
    let lines: Vec<&str> = ran.ok().lines().collect();
    assert_eq!(lines.len(), mebridge_run::written::FILES.len());
    for (line, file) in lines.iter().zip(mebridge_run::written::FILES) {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!([words[0], words[1], words[3]], [file, "PASSCUTS", "9.9.9"]);
        assert_eq!(words[2].len(), 16);
    }
    // The digests are those of the same statements.
    assert!(
        lines
            .iter()
            .all(|line| line.split(' ').nth(2) == lines[0].split(' ').nth(2))
    );
    fs::remove_file(d.path().join("SubProcesses/cuts.f")).unwrap();
    let ran = mebridge(d.path(), &["written", folder, "9.9.9"]);
    assert!(
        ran.code != 0 && ran.stderr.contains("cuts.f"),
        "{}",
        ran.stderr
    );
}
