//! `mebridge-tools`: tools for developing mebridge, one file per subcommand.

mod mutate;
mod share;
mod written;

use clap::{Parser, Subcommand};
use mebridge_command::{exit_code, interrupt, output};
use std::process::ExitCode;

/// Tools for developing mebridge.
#[derive(Parser)]
#[command(name = "mebridge-tools", version, max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    subcommand: Subcommands,
}

#[derive(Subcommand)]
enum Subcommands {
    Mutate(mutate::Options),
    Share(share::Options),
    Written(written::Options),
}

fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(report) => return exit_code(output::print_message(&report)),
    };
    interrupt::watch();
    exit_code(match command.subcommand {
        Subcommands::Mutate(options) => options.run(),
        Subcommands::Share(options) => options.run().map(|()| ExitCode::SUCCESS),
        Subcommands::Written(options) => options.run().map(|()| ExitCode::SUCCESS),
    })
}
