//! The C and C++ compilers of this machine.

use crate::require;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub use cc::Tool;

/// Returns the C compiler, `$CC` or the usual one; reports a skipped test if there is none.
pub fn c_compiler() -> Option<Tool> {
    static FOUND: OnceLock<Option<Tool>> = OnceLock::new();
    reported(FOUND.get_or_init(|| found(false)), "CC")
}

/// Returns the C++ compiler, `$CXX` or the usual one; reports a skipped test if there is none.
pub fn cxx_compiler() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<Tool>> = OnceLock::new();
    reported(FOUND.get_or_init(|| found(true)), "CXX").map(|tool| tool.path().to_owned())
}

/// Returns compilers that may support AMD's GPUs, from `$MEBRIDGE_CLANG` or by the usual names.
pub fn clangs() -> Vec<PathBuf> {
    if let Some(named) = crate::named("MEBRIDGE_CLANG") {
        return vec![named];
    }
    let known = (19..=22).rev().map(|version| format!("clang-{version}"));
    let known = known.chain(["clang".into(), "/opt/rocm/llvm/bin/clang".into()]);
    known.map(PathBuf::from).collect()
}

/// Asks a compiler what it is, which takes as long as to compile a small program.
fn found(cpp: bool) -> Option<Tool> {
    let target = env!("TARGET");
    let mut build = cc::Build::new();
    let build = build.cpp(cpp).target(target).host(target);
    let build = build.opt_level(1).debug(false).cargo_metadata(false);
    let works = |tool: &Tool| {
        let ran = tool.to_command().arg("--version").output();
        ran.is_ok_and(|output| output.status.success())
    };
    build.try_get_compiler().ok().filter(works)
}

fn reported(compiler: &Option<Tool>, variable: &str) -> Option<Tool> {
    match compiler {
        Some(tool) => require::used("cxx", tool.path().display()),
        None => require::skipped(
            "cxx",
            format_args!(
                "there is no {} compiler (set {variable} to one)",
                if variable == "CXX" { "C++" } else { "C" }
            ),
        ),
    }
    compiler.clone()
}

/// Makes the command that starts a program made by such a compiler: directly, or with the words of
/// `MEBRIDGE_TEST_RUNNER`, an emulator for tests that run on one (`make test-arm`).
pub fn started(program: &Path) -> Command {
    let runner = std::env::var("MEBRIDGE_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(emulator) = words.next() else {
        return Command::new(program);
    };
    let mut command = Command::new(emulator);
    command.args(words).arg(program);
    command
}
