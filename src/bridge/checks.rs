//! What is wrong with events: channels and configurations that are not there, momenta that are no event's.

use super::form::Form;
use crate::backend::{NOT_CONSERVED, OFF_SHELL};
use crate::error::{Error, Result};
use crate::events::{Events, one_for_all};
use crate::process::channels::Channels;

/// The first of some numbers that is not right, and which event has it. Calls nearly always have one number for all.
fn first_wrong(numbers: &[i32], is_right: impl Fn(i32) -> bool) -> Option<(usize, i32)> {
    let numbers = match one_for_all(numbers) {
        Some(_) => &numbers[..1],
        None => numbers,
    };
    let mut last = None;
    for (event, &number) in numbers.iter().enumerate() {
        if last == Some(number) {
            continue;
        }
        if !is_right(number) {
            return Some((event, number));
        }
        last = Some(number);
    }
    None
}

/// Every one of these must be a channel; `known` says which there are.
pub(super) fn check_channels(
    asked: &[i32],
    is_channel: impl Fn(i32) -> bool,
    known: impl FnOnce() -> String,
) -> Result<()> {
    match first_wrong(asked, is_channel) {
        None => Ok(()),
        Some((event, channel)) => Err(Error::NoSuchChannel {
            event,
            channel,
            known: known(),
        }),
    }
}

/// Every channel must be a diagram with an AMP2 and a configuration, every igraph a configuration.
pub(super) fn check_indices(events: &Events, channels: &Channels) -> Result<()> {
    if let Some(asked) = events.channels {
        let is_channel =
            |channel: i32| u32::try_from(channel).is_ok_and(|c| channels.is_channel(c));
        check_channels(asked, is_channel, || channels.known())?;
    }
    let configs = channels.config_diagram.len();
    let is_config = |config: i32| config >= 0 && config as usize <= configs;
    match events
        .igraph
        .and_then(|igraph| first_wrong(igraph, is_config))
    {
        None => Ok(()),
        Some((event, config)) => Err(Error::NoSuchConfiguration {
            event,
            config,
            configs,
        }),
    }
}

impl Form {
    /// What is wrong with the momenta of one of these events.
    pub fn bad_momentum(&self, events: &Events, event: usize) -> Error {
        let numbers = 4 * self.process().legs.len();
        self.what_is_wrong(&events.momenta[event * numbers..][..numbers], event)
    }

    /// What is wrong with the momenta of an event, `[leg][component]`, that cannot be evaluated.
    /// `event` is its number for the message.
    pub fn what_is_wrong(&self, momenta: &[f64], event: usize) -> Error {
        let process = self.process();
        let legs = process.legs.len();
        let badness = |leg: usize| {
            let p = &momenta[4 * leg..4 * leg + 4];
            let mass = self.mass(leg);
            let off = p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3] - mass * mass;
            let relative = (off / (p[0] * p[0])).abs();
            if p.iter().any(|x| !x.is_finite()) || p[0] <= 0.0 {
                f64::INFINITY
            } else {
                relative
            }
        };
        let leg = (0..legs)
            .max_by(|&a, &b| badness(a).total_cmp(&badness(b)))
            .unwrap_or(0);
        let signs = process.signs();
        let sum = |i: usize| -> f64 { (0..legs).map(|l| signs[l] * momenta[4 * l + i]).sum() };
        let by = [0, 1, 2, 3].map(sum);
        let incoming = (0..legs).filter(|&l| signs[l] > 0.0);
        let energy: f64 = incoming.map(|l| momenta[4 * l]).sum();
        let off = by.iter().map(|x| x * x).sum::<f64>().sqrt();
        // In single precision either may be at its limit; then the leg is named.
        if badness(leg) < OFF_SHELL && off > 0.5 * NOT_CONSERVED * energy {
            return Error::NotConserved {
                event,
                by: by.to_vec(),
                energy,
            };
        }
        Error::BadMomentum {
            event,
            leg: leg + 1,
            pdg: process.legs[leg].pdg,
            mass: self.mass(leg),
            momentum: momenta[4 * leg..4 * leg + 4].to_vec(),
        }
    }

    /// The mass of a leg in GeV.
    pub fn mass(&self, leg: usize) -> f64 {
        self.binding().value(self.process().legs[leg].mass)
    }
}
