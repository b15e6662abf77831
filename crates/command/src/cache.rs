//! `mebridge cache`: shows the cache folder and its size, or clears it.

use crate::output;
use mebridge::cache::folder::{CacheUsage, Distrust, Folder};
use mebridge::cache::path;
use mebridge::runtime::Switches;
use mebridge::{Error, Result};

/// Show where processes and plans are kept for the next start, and how much that is
///
/// The place is what CUDACPP_RUNTIME_CACHE says, a directory or `off`; without it mebridge in
/// $XDG_CACHE_HOME or ~/.cache (macOS: ~/Library/Caches). All of it can be removed at any time, it is
/// made again. Beyond 512 MiB the files go that were not used for longest.
#[derive(clap::Args)]
pub struct Options {
    /// Remove everything that is in it
    #[arg(long)]
    clear: bool,
}

impl Options {
    /// Shows or clears the cache.
    pub fn run(self) -> Result<()> {
        let Some(path) = path(&Switches::from_env()?.cache) else {
            return output::print("the cache is off\n");
        };
        let folder = Folder::new(path.clone());
        let (did, CacheUsage { files, bytes }) = match self.clear {
            true => ("removed ", folder.clear().map_err(Error::io(&path))?),
            false => ("", folder.usage()),
        };
        output::print(&format!(
            "{}: {did}{files} files, {:.1} MiB\n",
            path.display(),
            bytes as f64 / f64::from(1 << 20),
        ))?;
        let name = path.display();
        match folder.distrust() {
            None => {}
            Some(Distrust::Owner) => output::warn(
                "the folder is not used, as it is another user's; name one of your own in CUDACPP_RUNTIME_CACHE",
            ),
            Some(Distrust::Writable) => output::warn(&format!(
                "the folder is not used, as others can write to it: chmod go-w '{name}'"
            )),
        }
        Ok(())
    }
}
