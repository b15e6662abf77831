//! `mebridge pack`: a process with all that makes events of it, as one file, which the Python package makes.

use crate::python::hand_over;
use mebridge::Result;
use std::ffi::OsString;

/// Pack a directory that MG5aMC wrote, or a run of it, as one file that makes events by itself
///
/// Unpacked, `./run.sh NEVENTS SEED` makes events on any Linux of this processor's kind: offline, from a read-only
/// folder, without Python or a compiler. This needs the Python package (`pip install ./python` in a checkout), to which
/// all arguments are handed over: `mebridge pack --help` lists them. MEBRIDGE_PYTHON names its interpreter;
/// otherwise it is the python3 beside this command, or that of PATH.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Options {
    /// OUTPUT or OUTPUT/Events/run_NN, -o FILE.tar, --nevents N, --seed S, --set ENTRY=VALUE, ...
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
        hand_over("pack", self.arguments)
    }
}
