//! Channels: what MadEvent's multichannel integration asks of single diagrams.
//!
//! A *channel* is the number of a diagram (from 1) that an event was generated for; its weight
//! is `AMP2(channel) / sum of AMP2` over the diagrams of all configurations. A *configuration*
//! (`iconfig`, from 1) is a topology of the integration; `CONFSUB` says which diagram of this
//! process belongs to it (0: none). `ICOLAMP` says which colour flows a configuration allows.

use serde::{Deserialize, Serialize};

/// Tables of channels and configurations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Channels {
    /// `AMP2`: for each diagram that has one its squared amplitudes.
    pub amp2: Vec<Amp2>,
    /// `CONFSUB`: the diagram number (from 1) of each configuration, or 0.
    pub config_diagram: Vec<u32>,
    /// `ICOLAMP`: for each configuration, whether each colour flow is allowed.
    pub color_allowed: Vec<Vec<bool>>,
    /// `ICOLUP` of leshouche.inc: for each colour flow and leg the colour and anticolour tags.
    pub color_flows: Vec<Vec<(i32, i32)>>,
}

/// `AMP2(diagram)` is the sum over `squares`, and over helicities, of |sum of amplitudes|^2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amp2 {
    /// The diagram's number, from 1.
    pub diagram: u32,
    /// Sets of amplitudes (from 0) that are added before the modulus squared is taken.
    pub squares: Vec<Vec<u32>>,
}

impl Channels {
    /// The channels that exist, as a text such as `1-3, 5`.
    pub fn known(&self) -> String {
        let mut diagrams: Vec<u32> = self
            .amp2
            .iter()
            .map(|a| a.diagram)
            .filter(|&d| self.is_channel(d))
            .collect();
        diagrams.sort_unstable();
        diagrams.dedup();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for d in diagrams {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == d => *last = d,
                _ => ranges.push((d, d)),
            }
        }
        let text = |&(a, b): &(u32, u32)| match a == b {
            true => a.to_string(),
            false => format!("{a}-{b}"),
        };
        ranges.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    /// Whether a diagram has an AMP2 and a configuration.
    pub fn is_channel(&self, diagram: u32) -> bool {
        self.amp2.iter().any(|a| a.diagram == diagram) && self.config_of(diagram).is_some()
    }

    /// For each configuration the colour flows that it allows.
    pub fn allowed_flows(&self) -> Vec<Vec<u32>> {
        let allowed = |row: &Vec<bool>| {
            let flows = (0..).zip(row).filter(|(_, ok)| **ok);
            flows.map(|(i, _)| i).collect()
        };
        self.color_allowed.iter().map(allowed).collect()
    }

    /// The configuration (from 0) of a channel, the first that names its diagram.
    pub fn config_of(&self, channel: u32) -> Option<usize> {
        if channel == 0 {
            return None;
        }
        self.config_diagram.iter().position(|&d| d == channel)
    }
}
