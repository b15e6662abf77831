//! The command `mebridge`: one file per subcommand, each with its options as a struct and `run`.
//!
//! Results go to stdout, everything else (errors, warnings, progress) to stderr. The exit code is 0 for success, 1 for
//! an error and 2 for wrong usage.

mod bench;
mod cache;
mod check;
pub mod compare;
mod decay;
mod decompress;
mod doctor;
mod engine_options;
mod eval;
mod events;
mod generate;
mod import;
mod info;
pub mod interrupt;
mod link;
mod merge;
mod model;
mod number;
pub mod output;
mod pack;
mod plot;
mod plugin;
pub mod progress;
mod random;
mod random_events;
mod reweight;
mod source;
pub mod statistics;
mod umami;

use clap::{Parser, Subcommand};
use mebridge::files::inputs;
use std::io::Write;
use std::process::ExitCode;

/// Matrix elements for MadEvent, from what MG5aMC wrote.
#[derive(Parser)]
#[command(name = "mebridge", version, max_term_width = 100)]
pub struct Command {
    #[command(subcommand)]
    subcommand: Subcommands,
}

#[derive(Subcommand)]
enum Subcommands {
    Import(import::Options),
    Generate(generate::Options),
    Model(model::Options),
    Info(info::Options),
    Check(check::Options),
    Eval(eval::Options),
    Events(events::Options),
    Merge(merge::Options),
    Plot(plot::Options),
    Bench(bench::Options),
    Cache(cache::Options),
    Compare(compare::Options),
    Decay(decay::Options),
    Reweight(reweight::Options),
    Doctor(doctor::Options),
    Link(link::Options),
    Unlink(link::Undo),
    Pack(pack::Options),
    #[command(hide = true)]
    PackJob(pack::JobOptions),
    Plugin(plugin::Options),
    Umami(umami::Options),
}

/// Runs the command with the arguments of the program.
pub fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(report) => return exit_code(output::print_message(&report)),
    };
    interrupt::watch();
    inputs::remember();
    let done = match command.subcommand {
        Subcommands::Import(options) => options.run(),
        Subcommands::Generate(options) => options.run(),
        Subcommands::Model(options) => options.run(),
        Subcommands::Info(options) => options.run(),
        Subcommands::Check(options) => return exit_code(options.run()),
        Subcommands::Eval(options) => options.run(),
        Subcommands::Events(options) => return without_compilers(|| options.run()),
        Subcommands::Decay(options) => options.run(),
        Subcommands::Reweight(options) => options.run(),
        Subcommands::Bench(options) => return exit_code(options.run()),
        Subcommands::Cache(options) => options.run(),
        Subcommands::Doctor(options) => return exit_code(options.run()),
        Subcommands::Link(options) => options.run(),
        Subcommands::Merge(options) => options.run(),
        Subcommands::Plot(options) => options.run(),
        Subcommands::Pack(options) => options.run(),
        Subcommands::PackJob(options) => return exit_code(options.run()),
        Subcommands::Plugin(options) => options.run(),
        Subcommands::Unlink(options) => options.run(),
        Subcommands::Umami(options) => options.run(),
        Subcommands::Compare(options) => return exit_code(options.run()),
    };
    exit_code(done.map(|()| ExitCode::SUCCESS))
}

/// Runs a subcommand whose end does not wait for the compiler of a GPU: events are there before all of its generated
/// code is.
fn without_compilers(run: impl FnOnce() -> mebridge::Result<()>) -> ExitCode {
    mebridge::gpu::abandon_compilers();
    let done = run();
    let failed = done.is_err();
    let code = exit_code(done.map(|()| ExitCode::SUCCESS));
    if mebridge::gpu::compilers_at_work() {
        let _ = std::io::stdout().flush();
        // SAFETY: it has no preconditions, and no exit function has anything left to do: all output was written.
        unsafe { libc::_exit(failed.into()) }
    }
    code
}

/// Returns the exit code, after printing an error.
pub fn exit_code(done: mebridge::Result<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(error) => {
            output::warn(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
