//! `mebridge plot`: spectra of event files over each other.

use crate::{decompress, output};
use mebridge::{Error, Result};
use mebridge_run::plot::{NOMINAL, Plot};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Draw spectra of event files over each other, with their ratios
///
/// Transverse momentum and rapidity of the particles that go out, as the summary of a run has them: a page for a browser,
/// histograms as JSON, or as YODA.
#[derive(clap::Args)]
pub struct Options {
    /// LHE files, gzipped or not: of mebridge, MG5aMC or others; ratios are to the first one
    #[arg(value_name = "EVENTS", required = true)]
    files: Vec<PathBuf>,
    /// The page to write (HTML) [default: spectra.html, where neither JSON nor YODA is wanted]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A further weight of the events by its name, in the place of their own (nominal); of several each file is drawn with all
    #[arg(long = "weight", value_name = "ID", default_value = NOMINAL)]
    weights: Vec<String>,
    /// Spectra add up to the number of particles of an event, not to the cross section in `<init>`
    #[arg(long)]
    shapes: bool,
    /// Print the histograms as JSON
    #[arg(long)]
    json: bool,
    /// A folder for a file of YODA of each event file (YODA_HISTO1D_V2), which rivet-mkhtml draws over each other
    #[arg(long, value_name = "FOLDER")]
    yoda: Option<PathBuf>,
}

/// The page, where no other name is given.
const PAGE: &str = "spectra.html";

impl Options {
    /// Draws them.
    pub fn run(self) -> Result<()> {
        let open =
            |path: &Path| -> Result<Box<dyn Read>> { Ok(Box::new(decompress::open(path)?.input)) };
        let plot = Plot::read(&self.files, &self.weights, self.shapes, &open)?;
        for notice in &plot.notices {
            output::warn(notice);
        }
        let page = match (self.output, &self.yoda) {
            (None, None) if !self.json => Some(PAGE.into()),
            (page, _) => page,
        };
        let mut written = Vec::new();
        if let Some(page) = page {
            output::write(&page, plot.html().as_bytes())?;
            written.push(page);
        }
        if let Some(folder) = self.yoda {
            std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
            for (name, text) in plot.yoda() {
                let file = folder.join(format!("{name}.yoda"));
                output::write(&file, text.as_bytes())?;
                written.push(file);
            }
        }
        if self.json {
            return output::print(&output::json(&plot.json())?);
        }
        let mut text = plot.text();
        for file in written {
            text += &format!("{}\n", file.display());
        }
        output::print(&text)
    }
}
