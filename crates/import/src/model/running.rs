//! Couplings other than alpha_s that run: `C_RUNNING_<n>` of couplings.f, which MG5aMC (3.5 and later) writes for models
//! with a `running.py`.
//!
//! Such a routine takes couplings from the scale of the card's blocks (`BLOCK NAME Q= 172.5`) to that of the event, with
//! the alpha_s of the run. mebridge has neither. Where the run card keeps the scale of these couplings
//! (`fixed_extra_scale`) at that of their blocks, they are the card's and nothing has to be done.

use crate::directory::Directory;
use crate::expression::{Expr, Parsed};
use crate::symbolic::{Externals, Frame, Interpreter};
use crate::value::{Truth, Value};
use mebridge_process::card::Card;
use mebridge_support::error::Result;

/// What begins the names of these routines.
const ROUTINES: &str = "C_RUNNING_";
/// The parameter that says whether the scale is fixed.
const FIXED: &str = "FIXED_EXTRA_SCALE";
/// The parameter that is the scale of a block.
const SCALE: (&str, &str) = ("MDL__", "__SCALE");

/// At which scale these couplings are wanted, and where they are given.
#[derive(Clone, Default)]
pub struct ExtraScale {
    /// The fixed scale of the run card.
    fixed: Option<f64>,
    /// The card whose blocks have scales.
    card: Option<Card>,
}

impl ExtraScale {
    /// What the cards of a directory say. Programs that stand alone have no run card, and a scale of their own.
    pub fn of(directory: &Directory, card: Option<&Card>) -> Result<ExtraScale> {
        let fixed = !directory.is_standalone() && directory.run_switch("fixed_extra_scale")?;
        Ok(ExtraScale {
            fixed: match fixed {
                true => Some(directory.run_parameter("mue_ref_fixed", 91.188)?),
                false => None,
            },
            card: card.cloned(),
        })
    }

    /// Sets what `UPDATE_AS_PARAM` asks in its first call.
    pub fn set(&self, interpreter: &mut Interpreter, frame: &mut Frame) {
        if !frame.names().any(|name| name == FIXED) {
            return;
        }
        let truth = |truth| Value::Logical(Truth::Known(truth));
        interpreter.set_name(frame, FIXED, truth(self.fixed.is_some()));
        interpreter.set_name(frame, "FIRST", truth(true));
        if let Some(scale) = self.fixed {
            let scale = Value::Real(interpreter.builder.real(scale));
            interpreter.set_name(frame, "MUE_REF_FIXED", scale);
        }
    }

    /// Why couplings do not stay what they are in the card, if they do not.
    fn moved(&self, frame: &Frame) -> std::result::Result<(), String> {
        let Some(fixed) = self.fixed else {
            return Err("the run card lets their scale follow the event".into());
        };
        let block = |name: &String| {
            let block = name.strip_prefix(SCALE.0)?.strip_suffix(SCALE.1)?;
            Some(block.to_ascii_lowercase())
        };
        let mut blocks: Vec<String> = frame.names().filter_map(block).collect();
        blocks.sort();
        for block in blocks {
            let card = self.card.as_ref();
            match card.and_then(|card| card.scale(&block)) {
                Some(scale) if scale == fixed => {}
                Some(scale) => {
                    return Err(format!(
                        "mue_ref_fixed = {fixed} of the run card is not the scale of block {block} of the parameter card, \
                         Q= {scale}"
                    ));
                }
                None => {
                    return Err(format!(
                        "block {block} of the parameter card has no scale (Q=)"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl<'l> Externals<'l> for ExtraScale {
    fn subroutine(
        &mut self,
        _: &mut Interpreter<'l>,
        frame: &mut Frame,
        name: &str,
        _: &[Expr],
    ) -> Option<Parsed<()>> {
        name.starts_with(ROUTINES).then(|| {
            self.moved(frame).map_err(|why| {
                format!(
                    "{name} lets couplings other than alpha_s run (running.py of the model), which mebridge does not do, \
                     and {why}; set fixed_extra_scale = True and mue_ref_fixed to the scale Q of these blocks in \
                     Cards/run_card.dat, so that they are the card's, or take a model without running.py"
                )
            })
        })
    }
}
