//! `mebridge plugin`: `output mebridge` in MG5aMC, which the Python package puts there.

use crate::python::hand_over;
use mebridge::Result;
use std::ffi::OsString;

/// Put a plugin into MG5aMC: `output mebridge DIR` writes MadEvent's directory and links it
///
/// MG5_FOLDER is that of MG5aMC. This needs the Python package, to which all arguments are handed over: `mebridge
/// plugin --help` lists them. MEBRIDGE_PYTHON names its interpreter; otherwise it is the python3 beside this command,
/// or that of PATH.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Options {
    /// MG5_FOLDER, --remove
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
        hand_over("plugin", self.arguments)
    }
}
