//! `mebridge events`: runs of a directory that MG5aMC wrote, which the Python package makes.

use crate::python::hand_over;
use mebridge::Result;
use std::ffi::OsString;

/// Make events of a directory that MG5aMC wrote, or of a process by a run card, without MadEvent
///
/// OUTPUT is what `output madevent` wrote, MG5aMC 2.8.3 to 3.7, or a process such as 'p p > w+ j'. Events come to
/// Events/run_NN/unweighted_events.lhe.gz with MG5aMC's banner. This needs the Python package
/// (`pip install ./python` in a checkout), to which all arguments are handed over: `mebridge events --help` lists
/// them. MEBRIDGE_PYTHON names its interpreter; otherwise it is the python3 beside this command, or that of PATH.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Options {
    /// OUTPUT, --nevents N, --seed S, --backend cpu|cuda|hip, --threads T, --set ENTRY=VALUE, ...
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

impl Options {
    /// Hands over to Python.
    pub fn run(self) -> Result<()> {
        hand_over("events", self.arguments)
    }
}
