//! `mebridge-tools share`.

use crate::support::{directory, mebridge};

/// What `make install` installs beside the command.
#[test]
fn manual_pages_and_completions() {
    let d = directory();
    mebridge(d.path(), &["share", "out"]).ok();
    let read = |name: &str| {
        let path = d.path().join("out").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let subcommands = [
        "import", "info", "check", "eval", "bench", "cache", "compare",
    ];
    for name in subcommands {
        let page = read(&format!("man/man1/mebridge-{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let page = read("man/man1/mebridge.1");
    assert!(page.contains("Matrix elements for MadEvent"), "{page}");
    for name in [
        "bash-completion/completions/mebridge",
        "zsh/site-functions/_mebridge",
        "fish/vendor_completions.d/mebridge.fish",
    ] {
        let text = read(name);
        assert!(
            subcommands.iter().all(|s| text.contains(s)),
            "{name}: {text}"
        );
    }
}
