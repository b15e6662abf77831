//! `mebridge model`: converts a UFO folder to a model file.

use crate::output;
use mebridge::model::{Gauge, Model, Scheme};
use mebridge::models;
use mebridge::process::card::Card;
use mebridge::ufo::{Restriction, read_in};
use mebridge::{Error, Result};
use std::fmt::Write;
use std::path::PathBuf;

/// Read a UFO model and write it as one file
///
/// No code of the model is run: its Python is read as data, and anything else is refused with its location.
/// Restrictions are applied as in MG5aMC, so that names, card and numbers are those of its 'import model'. The file is
/// text (TOML); mebridge generate --model and CUDACPP_RUNTIME_MODEL accept it, and the folder as well. With --parameter
/// the command prints one number: the real part, and the imaginary one if there is one.
#[derive(clap::Args)]
pub struct Options {
    /// UFO folder; append -X for its restrict_X.dat, -full for none [default: its restrict_default.dat, if it exists]
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Card that restricts the model: a file, or X for restrict_X.dat of the folder
    #[arg(long, value_name = "CARD")]
    restrict: Option<String>,
    #[command(flatten)]
    scheme: SchemeOptions,
    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print only the value of this parameter; the model may also be a file
    #[arg(long, value_name = "NAME", conflicts_with_all = ["output", "restrict"])]
    parameter: Option<String>,
    /// Parameter card to take values from [default: the model's default values]
    #[arg(long, value_name = "CARD", requires = "parameter")]
    card: Option<PathBuf>,
}

/// The scheme of a model.
#[derive(clap::Args)]
pub struct SchemeOptions {
    /// Complex-mass scheme: particles with a width have complex masses, and couplings follow them, as in MG5aMC after
    /// 'set complex_mass_scheme True' [by name: append +complex_masses to the model's]
    #[arg(long)]
    complex_masses: bool,
    /// Gauge of massive vectors; feynman as in MG5aMC after 'set gauge Feynman' [by name: append +feynman to the
    /// model's] [default: unitary]
    #[arg(long, value_name = "GAUGE", value_enum)]
    gauge: Option<GaugeName>,
}

/// A gauge by its name.
#[derive(Clone, Copy, clap::ValueEnum)]
enum GaugeName {
    Unitary,
    Feynman,
}

impl SchemeOptions {
    /// Returns the requested scheme.
    pub fn scheme(&self) -> Scheme {
        Scheme {
            complex_masses: self.complex_masses,
            gauge: match self.gauge {
                Some(GaugeName::Feynman) => Gauge::Feynman,
                Some(GaugeName::Unitary) | None => Gauge::Unitary,
            },
        }
    }
}

impl Options {
    /// Reads the model and writes it.
    pub fn run(self) -> Result<()> {
        let request = models::named(Some(&self.folder), self.scheme.scheme());
        let named = request.unwrap_or_else(|| self.folder.clone());
        if let Some(name) = &self.parameter {
            let card = self.card.as_deref().map(Card::read).transpose()?;
            let value = models::model(Some(&named))?.parameter(name, card.as_ref());
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
        let (plain, scheme) = models::scheme(&named);
        let (folder, found) = models::ufo(&plain).unwrap_or((plain, Restriction::Default));
        let restriction = self.restrict.map_or(found, Restriction::By);
        let fail = |what: String| Error::Model {
            path: folder.clone(),
            what,
        };
        if !folder.is_dir() {
            let what = match folder.exists() {
                true => {
                    "this is a file; name the folder of a UFO model (--model takes a model file as it is)"
                }
                false => {
                    "there is no such folder; those of MG5aMC's models are in its folder models"
                }
            };
            return Err(fail(what.to_owned()));
        }
        let document = read_in(&folder, &restriction, scheme)?;
        let text = document.to_string();
        let Some(file) = self.output else {
            return output::print(&text);
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
