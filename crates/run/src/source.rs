//! The process of a run: an output of MG5aMC, or a process given by its name.

use crate::element::Element;
use crate::named::{NamedProcess, model_path};
use crate::output::{Directory, ElementPlace, Output, absolute};
use crate::state::Arguments;
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The process of a run by cards.
#[derive(Debug)]
pub enum Source {
    /// An output of MG5aMC.
    Output(Output),
    /// A process given by its name.
    Named(Box<NamedProcess>),
}

impl Source {
    /// Finds a process. The further arguments are for a process given by its name: its model, the folder of `Events`
    /// (by default the working directory), and an output or MG5aMC folder that has the grids of `nn23lo1` and others.
    ///
    /// # Errors
    /// There is no such output or process, or an argument for a named process is given for an output.
    pub fn find(
        process: &str,
        model: Option<&Path>,
        folder: Option<&Path>,
        pdf_data: Option<&Path>,
    ) -> Result<Self> {
        let path = absolute(process.as_ref());
        if process.contains('>') && !path.is_dir() {
            let model = model.map(Path::to_owned).or(Switches::from_env()?.model);
            let model = model.as_deref().map(model_path);
            let folder = folder.unwrap_or(".".as_ref());
            let named = NamedProcess::new(process, model.as_deref(), folder, pdf_data)?;
            return Ok(Source::Named(Box::new(named)));
        }
        for (name, given) in [("model", model), ("folder", folder), ("pdf_data", pdf_data)] {
            if given.is_some() {
                return Err(Error::run(
                    format!(
                        "{name} is for a process by its name, and {process} is taken for an output of MG5aMC"
                    ),
                    "",
                ));
            }
        }
        Ok(Source::Output(Output::find(&path)?))
    }

    /// The folder that `Events` is in.
    pub fn path(&self) -> &Path {
        match self {
            Source::Output(output) => &output.path,
            Source::Named(named) => &named.path,
        }
    }

    /// Its processes, for messages and other commands: directories, or the name.
    pub fn sources(&self) -> Vec<String> {
        match self {
            Source::Output(output) => {
                let directories = output.directories.iter();
                directories.map(|path| path.display().to_string()).collect()
            }
            Source::Named(named) => vec![named.process.clone()],
        }
    }

    /// Whether the process is a decay of one particle.
    pub fn decays(&self) -> bool {
        match self {
            Source::Output(output) => output.decays(),
            Source::Named(named) => named.decays(),
        }
    }

    /// Its directories, with the propagators of their diagrams.
    ///
    /// # Errors
    /// A table of an output is missing or incomplete, or events cannot be clustered along the diagrams of a named
    /// process.
    pub fn directories(&self) -> Result<Vec<Directory>> {
        match self {
            Source::Output(output) => output
                .directories
                .iter()
                .map(|d| Directory::read(d))
                .collect(),
            Source::Named(named) => named.directories(),
        }
    }

    /// The place of a matrix element among these directories.
    pub fn place(&self, element: &Element) -> ElementPlace {
        match self {
            Source::Output(_) => ElementPlace {
                directory: element.source,
                number: element.number,
            },
            Source::Named(_) => ElementPlace {
                directory: element.number,
                number: 0,
            },
        }
    }

    /// The process numbers (`@`) of matrix elements, which event files have as LPRUP. As in MadEvent, those of an
    /// output are taken from the names of its directories.
    pub fn numbers(&self, elements: &[Element]) -> Vec<i32> {
        let number = |element: &Element| match self {
            Source::Output(output) => number_of(&output.directories[element.source]),
            Source::Named(named) => i32::try_from(named.numbers[element.number]).ok(),
        };
        elements
            .iter()
            .map(|one| number(one).unwrap_or(1))
            .collect()
    }

    /// The path of `run_card.dat` or `param_card.dat`. A named process has MG5aMC's default run card and the card of
    /// the model, in files that exist as long as this value.
    ///
    /// # Errors
    /// The output has no such card.
    pub fn card(&self, name: &str) -> Result<PathBuf> {
        match self {
            Source::Output(output) => output.card(name),
            Source::Named(named) => Ok(named.card(name)),
        }
    }

    /// The folder that contains `lib/Pdfdata`.
    ///
    /// # Errors
    /// No such folder is known.
    pub fn data(&self) -> Result<PathBuf> {
        match self {
            Source::Output(output) => Ok(output.path.clone()),
            Source::Named(named) => named.data(),
        }
    }

    /// The MG5aMC commands that generated the output, or would generate it.
    pub fn steps(&self) -> String {
        match self {
            Source::Output(output) => output.steps(),
            Source::Named(named) => named.steps(),
        }
    }

    /// The origin of the matrix elements, as event files state it.
    pub fn origin(&self) -> String {
        match self {
            Source::Output(output) => format!("by the cards of MG5aMC {}", output.version()),
            Source::Named(_) => "by a run card of MG5aMC".to_owned(),
        }
    }

    /// The version of the generator of the matrix elements.
    pub fn version(&self) -> String {
        match self {
            Source::Output(output) => output.version(),
            Source::Named(_) => format!("mebridge {}", env!("CARGO_PKG_VERSION")),
        }
    }

    /// The model: for an output the one left there by MG5aMC, for a named process the given one.
    pub fn model(&self) -> Option<PathBuf> {
        match self {
            Source::Output(output) => output.model(),
            Source::Named(named) => named.model.clone(),
        }
    }

    /// The process and the model of a named process, which distinguish its runs from others in the same folder.
    pub fn name(&self) -> Option<(&str, Option<&Path>)> {
        match self {
            Source::Output(_) => None,
            Source::Named(named) => Some((&named.process, named.model.as_deref())),
        }
    }

    /// Arguments that distinguish its runs from others: the folder, and process and model of a named process.
    pub fn arguments(&self) -> Arguments {
        // JSON needs UTF-8, which file names need not be.
        let text = |path: &Path| path.display().to_string();
        let mut found: Arguments = vec![("output".to_owned(), json!(text(self.path())))];
        if let Some((process, model)) = self.name() {
            found.push(("process".to_owned(), json!(process)));
            found.push(("model".to_owned(), json!(model.map(text))));
        }
        found
    }
}

/// The process number of a directory such as `P2_gg_ttxg`.
fn number_of(directory: &Path) -> Option<i32> {
    let name = directory.file_name()?.to_str()?;
    name.strip_prefix('P')?.split('_').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_names_are_not_for_outputs() {
        let folder = tempfile::tempdir().unwrap();
        crate::output::samples::output(folder.path(), &[]);
        let path = folder.path().to_str().unwrap();
        let given: &Path = "x".as_ref();
        for (options, name) in [
            ([Some(given), None, None], "model"),
            ([None, Some(given), None], "folder"),
            ([None, None, Some(given)], "pdf_data"),
        ] {
            let [model, folder, pdf_data] = options;
            let error = Source::find(path, model, folder, pdf_data)
                .unwrap_err()
                .to_string();
            let message = format!(
                "{name} is for a process by its name, and {path} is taken for an output of MG5aMC"
            );
            assert_eq!(error, message);
        }
        let found = Source::find(path, None, None, None).unwrap();
        assert_eq!(
            (found.path(), found.version()),
            (folder.path(), "3.5.7".to_owned())
        );
        assert_eq!(found.origin(), "by the cards of MG5aMC 3.5.7");
        assert_eq!(found.name(), None);
        assert_eq!(found.model(), None);
    }

    #[test]
    fn models_are_named_from_the_root_on() {
        let here = std::env::current_dir().unwrap();
        for (name, wanted) in [
            ("Cargo.toml", here.join("Cargo.toml")),
            ("sm+feynman", "sm+feynman".into()),
            ("none/sm-full", "none/sm-full".into()),
        ] {
            assert_eq!(model_path(name.as_ref()), wanted);
        }
    }
}
