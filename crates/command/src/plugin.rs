//! `mebridge plugin`: installs the folder that adds `output mebridge` to MG5aMC.

use crate::{link, output};
use mebridge::files::temporary::Temporary;
use mebridge::{Error, Result};
use mebridge_run::output::{UNKNOWN, version_of_mg5};
use std::ffi::OsStr;
use std::path::{Path, PathBuf, absolute};

/// Put a plugin into MG5aMC: `output mebridge DIR` writes MadEvent's directory and links it
///
/// Installed in MG5aMC's folder PLUGIN. `output mebridge DIR` then writes the output of `output madevent DIR` and links
/// it, like `mebridge link`; `launch` runs it. See docs/plugin.md.
#[derive(clap::Args)]
pub struct Options {
    /// Folder of MG5aMC; or a folder named MG5aMC_PLUGIN, inside a folder that is in PYTHONPATH when MG5aMC runs
    #[arg(value_name = "MG5_FOLDER")]
    folder: PathBuf,
    /// Uninstall the plugin
    #[arg(long)]
    remove: bool,
}

const NAME: &str = "mebridge";
/// Files that MG5aMC runs.
const FILES: [(&str, &str); 2] = [
    ("__init__.py", include_str!("plugin/__init__.py")),
    ("output.py", include_str!("plugin/output.py")),
];
/// File with the paths of the command and the library; a folder that contains it is ours.
const INSTALLED: &str = "installed.txt";
/// A folder of this name inside a folder of `PYTHONPATH` is a plugin folder as well.
const ANYWHERE: &str = "MG5aMC_PLUGIN";
/// MG5aMC versions with which it was run.
const TRIED: [&str; 2] = ["3.4.2", "3.5.7"];

/// Where the plugin is, and the version of MG5aMC, if it has one.
struct PluginPlace {
    target: PathBuf,
    version: Option<String>,
}

impl Options {
    /// Installs or removes it.
    pub fn run(self) -> Result<()> {
        let PluginPlace { target, version } = PluginPlace::find(&self.folder)?;
        if self.remove {
            remove(&target)?;
            return output::print(&format!("{} is removed\n", target.display()));
        }
        install(&target)?;
        output::print(&format!(
            "{}: 'output mebridge DIR' and 'launch'\n",
            target.display()
        ))?;
        if let Some(version) = version.filter(|version| !TRIED.contains(&&version[..])) {
            let tried = TRIED.join(" and ");
            output::warn(&format!(
                "this is MG5aMC {version}; the plugin was tried with {tried}"
            ));
        }
        Ok(())
    }
}

impl PluginPlace {
    fn find(folder: &Path) -> Result<PluginPlace> {
        let folder = absolute(folder).map_err(Error::io(folder))?;
        if folder.file_name() == Some(OsStr::new(ANYWHERE)) {
            return Ok(PluginPlace {
                target: folder.join(NAME),
                version: None,
            });
        }
        if !folder.join("bin/mg5_aMC").is_file() || !folder.join("madgraph").is_dir() {
            return Err(Error::run(
                format!(
                    "{} is no folder of MG5aMC: it has no bin/mg5_aMC and madgraph",
                    folder.display()
                ),
                format!("a folder {ANYWHERE} that lies in one of PYTHONPATH is one, too"),
            ));
        }
        Ok(PluginPlace {
            target: folder.join("PLUGIN").join(NAME),
            version: Some(version_of_mg5(&folder).unwrap_or_else(|| UNKNOWN.to_owned())),
        })
    }
}

/// Installs the plugin, replacing an older one.
fn install(target: &Path) -> Result<()> {
    check_ours(target)?;
    let command = std::env::current_exe().map_err(Error::io(NAME))?;
    let installed = [command, link::library(None)?];
    let installed = installed.iter().map(|path| {
        let path = path.canonicalize().map_err(Error::io(path))?;
        Ok(format!("{}\n", path.display()))
    });
    let installed = installed.collect::<Result<String>>()?;
    let unwritten = |error: Error| {
        Error::run(
            format!("{} cannot be written: {error}", target.display()),
            format!("a folder {ANYWHERE} is also possible"),
        )
    };
    let place = || -> Result<()> {
        let plugins = target.parent().unwrap_or(target);
        if !plugins.is_dir() {
            std::fs::create_dir_all(plugins).map_err(Error::io(plugins))?;
        }
        // Runs of MG5aMC may be reading it at the same time.
        let folder = Temporary::folder(plugins, 0o777).map_err(Error::io(plugins))?;
        let made = folder.path().join(NAME);
        std::fs::create_dir(&made).map_err(Error::io(&made))?;
        let files = FILES.iter().copied();
        for (name, text) in files.chain([(INSTALLED, &installed[..])]) {
            let file = made.join(name);
            std::fs::write(&file, text).map_err(Error::io(&file))?;
        }
        if target.exists() {
            let before = folder.path().join("before");
            std::fs::rename(target, before).map_err(Error::io(target))?;
        }
        std::fs::rename(&made, target).map_err(Error::io(target))
    };
    place().map_err(unwritten)
}

fn remove(target: &Path) -> Result<()> {
    if !target.exists() {
        return Err(Error::run(format!("{} is not there", target.display()), ""));
    }
    check_ours(target)?;
    std::fs::remove_dir_all(target).map_err(Error::io(target))
}

fn check_ours(target: &Path) -> Result<()> {
    let there = target.symlink_metadata();
    let linked = there.as_ref().is_ok_and(|file| file.is_symlink());
    if there.is_ok() && (linked || !target.join(INSTALLED).is_file()) {
        return Err(Error::run(
            format!("{} is another plugin", target.display()),
            "take it away first",
        ));
    }
    Ok(())
}
