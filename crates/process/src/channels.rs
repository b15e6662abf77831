//! Channels: what MadEvent's multichannel integration asks of single diagrams.
//!
//! A *channel* is the number of a diagram (from 1) that an event was generated for; its weight
//! is `AMP2(channel) / sum of AMP2` over the diagrams of all configurations. A *configuration*
//! (`iconfig`, from 1) is a topology of the integration; `CONFSUB` says which diagram of this
//! process belongs to it (0: none). `ICOLAMP` says which colour flows a configuration allows.

use super::Quantity;
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
    /// Lines that are to be on their mass shells, or must not be.
    pub resonances: Vec<Resonance>,
}

/// A line of diagrams about whose mass events are asked something, within the run card's `bwcutoff` widths of the mass
/// of its particle. |M|^2 does not depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resonance {
    /// The legs that its particle decays into, ascending. Other lines with these legs have another mass.
    pub legs: Vec<u32>,
    /// PDG code of the particle.
    pub pdg: i32,
    /// Its mass.
    pub mass: Quantity,
    /// Its width.
    pub width: Quantity,
    /// Whether it is to be on its mass shell (a decay chain); otherwise it must not be (`$`), in the diagrams that have
    /// it.
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

    /// For each of so many diagrams (from 0) the configuration (from 0) of its channel, see [`Channels::config_of`].
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

    /// The configuration (from 0) of a channel, the first that names its diagram.
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
