//! The values of a model's parameters in a card, with those that the card leaves to be computed.

use super::card::Card;
use super::model::{CardParameter, Model};
use super::running;
use mebridge_support::error::Result;
use mebridge_support::message;

impl Model {
    /// The card's values for [`Model::card`], in its order. A width left to be computed is computed if the model has
    /// formulas for it, and reported on stderr.
    pub fn card_values(&self, card: &Card) -> Result<Vec<f64>> {
        self.values(card, false)
    }

    /// The same, but NaN for widths that the card leaves to be computed and the model has no formulas for; the caller
    /// obtains these later.
    pub fn card_values_so_far(&self, card: &Card) -> Result<Vec<f64>> {
        self.values(card, true)
    }

    fn values(&self, card: &Card, so_far: bool) -> Result<Vec<f64>> {
        let value = |(at, parameter): (u32, &CardParameter)| {
            if parameter.block.is_empty() {
                return Ok(parameter.default);
            }
            if running::entry(parameter).is_some() && !card.has(parameter) {
                return running::absent(card, parameter);
            }
            let is_width = parameter.block == "decay";
            let negative =
                self.widths_signed && is_width && card.has_negative_mass(&parameter.index);
            // The formulas do not give one-loop widths (`Auto@NLO`).
            let auto = self.auto_widths.iter().find(|width| width.parameter == at);
            let value = match auto.filter(|_| card.leaves_open(parameter)) {
                Some(width) => {
                    let (value, line) = width.value(card, parameter)?;
                    message::say_once(line);
                    value
                }
                None if so_far && is_width && card.is_auto("decay", &parameter.index) => f64::NAN,
                None => card.value(parameter)?,
            };
            Ok(if negative { -value } else { value })
        };
        (0..).zip(&self.card).map(value).collect()
    }
}
