//! The number of events per call of MadEvent in a linked output.

use super::card::{self, Sizes};
use super::layout::OutputLayout;
use super::matrix_element::latin;
use super::root::wrong;
use mebridge::Result;

/// Default batch size if the run card has none: enough for the SIMD units, few enough for an iteration of a survey.
const EVENTS: usize = 512;

/// Largest batch: MadEvent has many arrays of fixed size with one entry per event.
pub const MAX_BATCH: u32 = 1 << 20;

/// The run card.
pub const CARD: &str = "Cards/run_card.dat";

/// Reason why MadEvent has to request one event at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneEventReason {
    /// It samples helicities, and has one HEL_PICKED for all events of a batch.
    Helicities,
    /// In ungrouped outputs the batch routine takes other arguments than MadEvent's integration passes.
    Ungrouped,
}

impl OneEventReason {
    /// Returns the reason for an output with this run card.
    pub fn find(layout: &OutputLayout, card: &str) -> Option<OneEventReason> {
        if layout.ungrouped {
            Some(OneEventReason::Ungrouped)
        } else {
            card::samples_helicities(card).then_some(OneEventReason::Helicities)
        }
    }

    /// Returns the reason as a clause.
    pub fn reason(self) -> &'static str {
        match self {
            OneEventReason::Helicities => "nhel is not 0",
            OneEventReason::Ungrouped => "the output is ungrouped",
        }
    }

    /// Explains why batches are refused, and the remedy.
    pub fn refusal(self) -> &'static str {
        match self {
            OneEventReason::Helicities => {
                "nhel of the run card is not 0: MadEvent would pick one helicity for all events of a batch, and its cross \
                 sections would be wrong; set nhel to 0, or vector_size and nb_warp to 1 (without --vector)"
            }
            OneEventReason::Ungrouped => {
                "the output is ungrouped, where MadEvent cannot take batches of events (its DSIG_VEC has other arguments \
                 than its dsample.f passes); set vector_size and nb_warp to 1 (without --vector)"
            }
        }
    }
}

/// The current and the new batch sizes, for an output with `Source/vector.inc`.
#[derive(Clone, Debug)]
pub struct BatchSizes {
    /// The run card.
    pub card: String,
    pub now: Sizes,
    pub sizes: Sizes,
    pub alone: Option<OneEventReason>,
}

impl BatchSizes {
    /// Determines the sizes from the run card, or from `--vector`.
    pub fn new(layout: &OutputLayout, requested: Option<u32>) -> Result<Option<BatchSizes>> {
        if !layout.vector {
            return match requested {
                None => Ok(None),
                Some(_) => Err(wrong(
                    &layout.root,
                    "its MadEvent asks for one event at a time: batches came with MG5aMC 3.6, which writes \
                     Source/vector.inc; link without --vector"
                        .into(),
                )),
            };
        }
        let path = layout.root.join(CARD);
        let card = latin(&path)?;
        let now = card::sizes(&card);
        if now.events() > MAX_BATCH as usize {
            return Err(wrong(
                &path,
                format!("vector_size times nb_warp is more than {MAX_BATCH} events"),
            ));
        }
        let alone = OneEventReason::find(layout, &card);
        let sizes = match (alone, requested) {
            (Some(alone), requested) if requested.is_some() || now.events() > 1 => {
                return Err(wrong(&path, alone.refusal().into()));
            }
            (Some(_), _) => now,
            (None, Some(n)) => Sizes::new(n as usize),
            (None, None) if now.events() == 1 => Sizes::new(EVENTS),
            (None, None) if now.nb_warp == 1 => Sizes {
                nb_warp: EVENTS.div_ceil(now.vector_size),
                ..now
            },
            (None, None) => now,
        };
        Ok(Some(BatchSizes {
            card,
            now,
            sizes,
            alone,
        }))
    }
}
