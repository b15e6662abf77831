//! Tables for MadEvent's multichannel integration by single diagrams.
//!
//! A *channel* is the number (from 1) of the diagram that an event was generated for; its weight is `AMP2(channel) /
//! sum of AMP2` over the diagrams of all configurations. A *configuration* (`iconfig`, from 1) is a topology of the
//! integration; `CONFSUB` gives the diagram of this process that belongs to it (0: none), and `ICOLAMP` the colour
//! flows that a configuration allows.

use super::Quantity;
use serde::{Deserialize, Serialize};

/// Tables of channels and configurations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Channels {
    /// `AMP2`: the squared amplitudes of each diagram that has an AMP2.
    pub amp2: Vec<Amp2>,
    /// `CONFSUB`: the diagram number (from 1) of each configuration, or 0.
    pub config_diagram: Vec<u32>,
    /// `ICOLAMP`: for each configuration, whether each colour flow is allowed.
    pub color_allowed: Vec<Vec<bool>>,
    /// `ICOLUP` of leshouche.inc: the colour and anticolour tags, `[flow][leg]`.
    pub color_flows: Vec<Vec<(i32, i32)>>,
    /// Lines that must, or must not, be on their mass shells.
    pub resonances: Vec<Resonance>,
}

/// A line of diagrams with a condition on its mass: within the run card's `bwcutoff` widths of the particle's mass, or
/// outside. |M|^2 does not depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resonance {
    /// The legs that its particle decays into, ascending. Other lines with the same legs have a different mass.
    pub legs: Vec<u32>,
    /// PDG code of the particle.
    pub pdg: i32,
    /// Its mass.
    pub mass: Quantity,
    /// Its width.
    pub width: Quantity,
    /// Whether the line must be on its mass shell (a decay chain); otherwise it must be off (`$`), in diagrams that
    /// have it.
    pub on_shell: bool,
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

    /// The configuration (from 0) of each of the first `diagrams` diagrams (from 0), see [`Channels::config_of`].
    pub fn config_of_diagrams(&self, diagrams: u32) -> Vec<Option<u32>> {
        let mut configs = vec![None; diagrams as usize];
        for (config, &channel) in (0..).zip(&self.config_diagram) {
            let diagram = channel.checked_sub(1).map(|diagram| diagram as usize);
            if let Some(first) = diagram.and_then(|diagram| configs.get_mut(diagram)) {
                first.get_or_insert(config);
            }
        }
        configs
    }

    /// The configuration (from 0) of a channel: the first one with its diagram.
    pub fn config_of(&self, channel: u32) -> Option<usize> {
        if channel == 0 {
            return None;
        }
        self.config_diagram.iter().position(|&d| d == channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_configuration_that_names_a_diagram_is_its_channels() {
        let channels = Channels {
            config_diagram: vec![4, 0, 2, 4, 9],
            ..Channels::default()
        };
        let found = channels.config_of_diagrams(5);
        assert_eq!(found, [None, Some(2), None, Some(0), None]);
        for (channel, config) in (1..).zip(found) {
            assert_eq!(
                channels.config_of(channel),
                config.map(|config| config as usize)
            );
        }
        assert_eq!(channels.config_of(0), None);
    }
}
