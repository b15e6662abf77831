//! `mebridge model`: from a UFO folder to the file of a model.

use crate::output;
use mebridge::model::Model;
use mebridge::models::{model, ufo};
use mebridge::process::card::Card;
use mebridge::ufo::{Restriction, read};
use mebridge::{Error, Result};
use std::fmt::Write;
use std::path::PathBuf;

/// Read a UFO model and write it as one file
///
/// No code of the model is run: its Python is read as data, and what is none is refused with its place. Restrictions
/// are applied as MG5aMC applies them, so that names, card and numbers are those of its 'import model'. The file is text
/// (TOML); mebridge generate --model and CUDACPP_RUNTIME_MODEL take it, and the folder as well. With --parameter it
/// tells one number: the real part, and the imaginary one if there is one.
#[derive(clap::Args)]
pub struct Options {
    /// UFO folder; -X behind it for its restrict_X.dat, -full for none [default: its restrict_default.dat, if it is
    /// there]
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Card that restricts the model: a file, or X for restrict_X.dat of the folder
    #[arg(long, value_name = "CARD")]
    restrict: Option<String>,
    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the value of this parameter alone; the model may also be a file
    #[arg(long, value_name = "NAME", conflicts_with_all = ["output", "restrict"])]
    parameter: Option<String>,
    /// Parameter card to take values from [default: those that the model begins with]
    #[arg(long, value_name = "CARD", requires = "parameter")]
    card: Option<PathBuf>,
}

impl Options {
    /// Reads and writes.
    pub fn run(self) -> Result<()> {
        if let Some(name) = &self.parameter {
            let card = self.card.as_deref().map(Card::read).transpose()?;
            let value = model(Some(&self.folder))?.parameter(name, card.as_ref());
            let value = value.map_err(|what| Error::Model {
                path: self.folder.clone(),
                what,
            })?;
            let imaginary = match value.im {
                0.0 => String::new(),
                x => format!(" {x:e}"),
            };
            return output::print(&format!("{:e}{imaginary}\n", value.re));
        }
        let (folder, found) = ufo(&self.folder).unwrap_or((self.folder, Restriction::Default));
        let restriction = self.restrict.map_or(found, Restriction::By);
        let document = read(&folder, &restriction)?;
        let text = document.to_string();
        let Some(file) = self.output else {
            return output::print(&text);
        };
        let fail = |what: String| Error::Model {
            path: folder.clone(),
            what,
        };
        let model = Model::from_document(document).map_err(fail)?;
        output::write(&file, text.as_bytes())?;
        let mut report = format!(
            "{}: {}, {} particles, {} parameters of the card, {} couplings, {} vertices\n",
            file.display(),
            model.name,
            model.particles.len(),
            model.card.len(),
            model.couplings.len(),
            model.vertices.len()
        );
        let refused = (0..model.vertices.len() as u32).filter_map(|n| model.vertex(n).err());
        let refused: Vec<String> = refused.collect();
        if let Some(first) = refused.first() {
            let count = refused.len();
            let _ = writeln!(
                report,
                "{count} of its vertices cannot be generated; the first: {first}"
            );
        }
        output::print(&report)
    }
}
