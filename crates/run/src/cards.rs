//! The input of a run by cards: its process, run card and parameter card, before anything is generated or evaluated.

use crate::beams::{self, Beams};
use crate::densities;
use crate::output::{Directory, UNKNOWN, absolute};
use crate::param_card::ParamCard;
use crate::run_card::{self, RunCard};
use crate::source::Source;
use crate::spec::{Conditions, RunSpec};
use crate::user_functions::UserFunctions;
use crate::{load, scale, written};
use mebridge::{Error, Result};
use std::path::PathBuf;

/// The cards of a run.
#[derive(Debug)]
pub struct Cards {
    /// The MG5aMC output, or the process given by its name.
    pub source: Source,
    /// The run card, including the entries that the caller changed.
    pub run_card: RunCard,
    /// The file of the run card.
    pub run_card_file: PathBuf,
    /// The changed entries.
    pub changed: Vec<(String, String)>,
    /// The file of the parameter card.
    pub param_card: PathBuf,
    /// The directories of the output, or one per matrix element of a named process; empty for decays.
    pub directories: Vec<Directory>,
    /// The incoming beams.
    pub beams: Beams,
    /// Functions of the user in Fortran.
    pub functions: Option<UserFunctions>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

impl Cards {
    /// Reads the cards.
    ///
    /// # Errors
    /// The process or a card cannot be read, or requests what cannot be honoured (docs/run_card.md).
    ///
    /// # Panics
    /// The conditions of the run are not those of a run card.
    pub fn read(spec: &RunSpec) -> Result<Self> {
        let Conditions::RunCard {
            file,
            changed,
            changed_files,
            pdf_data,
            folder,
        } = &spec.conditions
        else {
            panic!("a run by cards has a run card");
        };
        let source = Source::find(
            &spec.process,
            spec.model.as_deref(),
            folder.as_deref(),
            pdf_data.as_deref(),
        )?;
        let run_card_file = match file {
            Some(file) => file.clone(),
            None => source.card("run_card.dat")?,
        };
        let changed = run_card::for_both_beams(changed)?;
        let mut run_card = RunCard::read(&run_card_file, &changed)?;
        if file.is_none() && matches!(source, Source::Named(_)) {
            // One of MG5aMC's defaults with the changed entries.
            run_card = run_card.with_source("the run card");
        }
        run_card.check()?;
        let mut notices = run_card.notices();
        let param_card = match &spec.param_card {
            Some(card) => absolute(card),
            None => absolute(&source.card("param_card.dat")?),
        };
        let decays = source.decays();
        let directories = match decays {
            true => Vec::new(),
            false => source.directories()?,
        };
        let mut added = None;
        if let Source::Output(output) = &source
            && !changed_files
        {
            added = written::cuts_of_user(output)?;
            notices.extend(written::check(output, added.as_ref())?);
            if run_card.bias()?.is_some() {
                written::check_bias(output)?;
            }
        }
        let version = source.version();
        if (version.starts_with("2.") || version == UNKNOWN)
            && run_card.integer("ickkw") == 1
            && scale::factorisation_is_fixed(&run_card) == [true; 2]
        {
            return Err(Error::run_at(
                run_card.source(),
                format!(
                    "fixed_fac_scale with ickkw = 1 means what it does in MG5aMC 3, and the output is of {version}"
                ),
                "set one of them to False or 0",
            ));
        }
        if decays && run_card.number("ptlund") > 0.0 {
            let what = "ptlund is for collisions".to_owned();
            return Err(run_card.refused(what, "set it to -1"));
        }
        if decays && run_card.bias()?.is_some() {
            let what = "bias_module is for collisions: decays are made at once".to_owned();
            return Err(run_card.refused(what, "set it to None"));
        }
        if decays && !run_card.frame()?.is_empty() {
            let what = "me_frame is for collisions: a particle that decays is at rest".to_owned();
            return Err(run_card.refused(what, "set it to [1, 2]"));
        }
        let functions = UserFunctions::find(&source, &run_card, *changed_files, added)?;
        let own_scale = functions.as_ref().and_then(UserFunctions::scale);
        let labels: Vec<&str> = densities::labels().collect();
        let beams = match decays {
            true => Beams::for_decays(&run_card),
            false => Beams::from_run_card(&run_card, &labels, own_scale)?,
        };
        match &source {
            Source::Named(_) => beams::unpolarised(&run_card, &beams)?,
            Source::Output(_) => {
                beams::polarised(&run_card, &source.card("run_card.dat")?, &beams)?;
            }
        }
        Ok(Cards {
            source,
            run_card,
            run_card_file,
            changed,
            param_card,
            directories,
            beams,
            functions,
            notices,
        })
    }

    /// The electromagnetic coupling written to events whose matrix elements do not provide it.
    ///
    /// # Errors
    /// The parameter card cannot be read.
    pub fn alpha_qed(&self) -> Result<f64> {
        let card = ParamCard::read(&self.param_card)?;
        let known = card.value("sminputs", 1, 0.0) != 0.0;
        let model = self.source.model().filter(|_| !known);
        let by_model =
            model.and_then(|model| load::model_alpha_qed(Some(&model), Some(&self.param_card)));
        Ok(by_model.unwrap_or_else(|| card.alpha_qed()))
    }
}
