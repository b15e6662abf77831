//! `mebridge-tools share`: manual pages and completions, for `make install`.

use clap::CommandFactory;
use clap_complete::Shell;
use mebridge::{Error, Result};
use mebridge_command::output;
use std::path::{Path, PathBuf};

/// Folder of each shell's completions, below `share`.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/mebridge"),
    (Shell::Zsh, "zsh/site-functions/_mebridge"),
    (Shell::Fish, "fish/vendor_completions.d/mebridge.fish"),
];

/// Write manual pages and shell completions below DIR, laid out as below /usr/share
#[derive(clap::Args)]
pub struct Options {
    /// Folder to write to
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Options {
    /// Writes the files.
    pub fn run(self) -> Result<()> {
        let mut command = mebridge_command::Command::command();
        let pages = self.directory.join("man/man1");
        std::fs::create_dir_all(&pages).map_err(Error::io(&pages))?;
        clap_mangen::generate_to(command.clone(), &pages).map_err(Error::io(&pages))?;
        for (shell, name) in COMPLETIONS {
            let path = self.directory.join(name);
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command, "mebridge", &mut text);
            output::write(&path, &text)?;
        }
        Ok(())
    }
}
