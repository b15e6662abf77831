//! Weights of channels, as a step around the evaluation.
//!
//! A plan with squared diagrams computes the weights itself ([`ChannelWeights::Amp2`]). For weights from propagators, a
//! plan without channels computes |M|^2, with the colour flows of the channel's configuration, and this step multiplies
//! it by the weight. The same step serves a list of channels that a caller states by their topologies. Such a list
//! replaces the process's configurations, so that `igraph` refers to it, too.

use super::Bridge;
use super::numbering::Numbering;
use super::servers::Servers;
use crate::error::Result;
use crate::float_environment::in_default_environment;
use crate::process::Process;
use crate::process::channels::Channels;
use crate::propagators::{ChannelWeights, Propagators, Topology};

/// How channels are weighted.
pub(super) enum Weighting {
    /// By squared diagrams, computed with |M|^2.
    Amp2,
    /// By products of the propagators of the process's configurations, as in `sde_strategy` 2.
    Configurations { s: f64, propagators: Propagators },
    /// By products of propagators of the channels of a list.
    List(Box<List>),
}

/// A list of channels.
pub(super) struct List {
    topologies: Vec<Topology>,
    s: f64,
    pub propagators: Propagators,
    /// Servers of the process with the list's colour flows instead of its configurations'.
    pub servers: Servers,
}

impl Bridge {
    /// Sets how channels are weighted from the next call on.
    pub fn set_channel_weights(&mut self, weights: ChannelWeights) -> Result<()> {
        self.weighting = Weighting::new(weights, &self.servers)?;
        self.in_double = None;
        Ok(())
    }

    /// Uses these topologies as channels from the next call on, numbered from 1 in place of diagrams and
    /// configurations. Weights are products of propagators as in `sde_strategy` 2, with `s` the square of the beam
    /// energy in GeV^2. [`Bridge::set_channel_weights`] restores the process's own channels.
    pub fn set_channels(&mut self, topologies: &[Topology], s: f64) -> Result<()> {
        self.weighting = Weighting::from_list(topologies, s, &self.servers)?;
        self.in_double = None;
        Ok(())
    }

    /// Returns the propagators that weight these channels.
    pub fn stated_channels(&self, topologies: &[Topology], s: f64) -> Result<Propagators> {
        let (process, binding) = (self.servers.process(), self.servers.own.binding());
        let stated = || Propagators::from_channels(process, binding, topologies, s);
        Ok(in_default_environment(stated)?.0)
    }

    /// Returns the weights that these channels would have at momenta `[event][leg][4]`, for each event; the weights of
    /// an event add up to 1. Nothing is evaluated, and the weights of the bridge do not change.
    pub fn channel_weights(
        &self,
        topologies: &[Topology],
        s: f64,
        momenta: &[f64],
        weights: &mut [f64],
    ) -> Result<()> {
        in_default_environment(|| {
            let propagators = self.stated_channels(topologies, s)?;
            let events = momenta.chunks_exact(4 * self.servers.process().legs.len());
            for (momenta, weights) in events.zip(weights.chunks_exact_mut(propagators.count())) {
                propagators.weights(momenta, weights);
            }
            Ok(())
        })
    }
}

impl Weighting {
    /// Makes the weights of a process's own channels; `servers` are those of the process.
    pub fn new(weights: ChannelWeights, servers: &Servers) -> Result<Weighting> {
        match weights {
            ChannelWeights::Amp2 => Ok(Weighting::Amp2),
            ChannelWeights::Propagators { s } => Ok(Weighting::Configurations {
                s,
                propagators: Propagators::new(servers.process(), servers.own.binding(), s)?,
            }),
        }
    }

    /// Makes the weights of a list of channels.
    fn from_list(topologies: &[Topology], s: f64, servers: &Servers) -> Result<Weighting> {
        let (process, binding) = (servers.process(), servers.own.binding());
        let (propagators, color_allowed) =
            in_default_environment(|| Propagators::from_channels(process, binding, topologies, s))?;
        let process = Process {
            channels: Channels {
                amp2: Vec::new(),
                config_diagram: vec![0; topologies.len()],
                color_allowed,
                color_flows: process.channels.color_flows.clone(),
                resonances: process.channels.resonances.clone(),
            },
            ..process.clone()
        };
        Ok(Weighting::List(Box::new(List {
            topologies: topologies.to_vec(),
            s,
            propagators,
            servers: Servers {
                numbering: Numbering::from_list(topologies.len()),
                ..Servers::new(servers.recipe().for_process(process))?
            },
        })))
    }

    /// The same weights with other masses; `servers` are those of the other card.
    pub fn for_servers(&self, servers: &Servers) -> Result<Weighting> {
        match self {
            Weighting::Amp2 => Ok(Weighting::Amp2),
            Weighting::Configurations { s, .. } => {
                Weighting::new(ChannelWeights::Propagators { s: *s }, servers)
            }
            Weighting::List(list) => Weighting::from_list(&list.topologies, list.s, servers),
        }
    }

    /// Returns the list of channels, if one was stated.
    pub fn list(&self) -> Option<&List> {
        match self {
            Weighting::List(list) => Some(list),
            Weighting::Amp2 | Weighting::Configurations { .. } => None,
        }
    }

    /// The same, mutably.
    pub fn list_mut(&mut self) -> Option<&mut List> {
        match self {
            Weighting::List(list) => Some(list),
            Weighting::Amp2 | Weighting::Configurations { .. } => None,
        }
    }

    /// Whether calls with channels need squared diagrams.
    pub fn needs_amp2(&self) -> bool {
        matches!(self, Weighting::Amp2)
    }

    /// Returns the servers of calls, with `own` those of the process's own channels, and the propagators that weight
    /// the channels.
    pub fn servers<'a>(
        &'a mut self,
        own: &'a mut Servers,
    ) -> (&'a mut Servers, Option<&'a Propagators>) {
        match self {
            Weighting::Amp2 => (own, None),
            Weighting::Configurations { propagators, .. } => (own, Some(propagators)),
            Weighting::List(list) => (&mut list.servers, Some(&list.propagators)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::numbering::tests::call;
    use crate::describe::{Channel, topologies};
    use crate::events::{Answers, Events};
    use crate::plan::binding::Binding;
    use crate::runtime::{BackendChoice, CachePlace, Switches};
    use crate::trial::Trial;

    fn stated(channels: &[Channel]) -> Vec<Topology> {
        serde_json::from_str(&serde_json::to_string(channels).unwrap()).unwrap()
    }

    fn bridge(process: &Process) -> Bridge {
        let switches = Switches {
            cache: CachePlace::Off,
            backend: BackendChoice::Cpu,
            ..Switches::default()
        };
        let card = process.model.default_card();
        Bridge::new(process.clone(), &card, &switches, 2).unwrap()
    }

    /// |M|^2 and colour flows of one or two events.
    fn run(
        bridge: &mut Bridge,
        trial: &Events,
        channels: Option<[i32; 2]>,
    ) -> Result<([f64; 2], [i32; 2])> {
        let events = Events {
            channels: channels.as_ref().map(|c| &c[..]),
            ..trial.first(2)
        };
        let (mut values, mut helicity, mut color) = ([0.0; 2], [0; 2], [0; 2]);
        let mut answers = Answers {
            matrix_elements: &mut values,
            helicity: &mut helicity,
            color: &mut color,
        };
        bridge.run(&events, &mut answers)?;
        Ok((values, color))
    }

    #[test]
    fn a_list_of_all_channels_is_strategy_2() {
        let s = 1e7;
        for (text, same_flows) in [
            ("g g > t t~ g", true),
            ("u d~ > w+ g g", true),
            ("u u~ > e+ e- g", true),
            ("u u~ > c c~ g", false),
        ] {
            let process = crate::generate(text).unwrap().remove(0);
            let channels = topologies(&process).unwrap();
            let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
            let list = stated(&channels);
            let (_, allowed) = Propagators::from_channels(&process, &binding, &list, s).unwrap();
            let trial = Trial::new(&process, &binding).unwrap();
            let (mut own, mut other) = (bridge(&process), bridge(&process));
            own.set_channel_weights(ChannelWeights::Propagators { s })
                .unwrap();
            other.set_channels(&list, s).unwrap();
            for (number, channel) in (1..).zip(&channels) {
                let diagram = channel.diagrams[0].diagram as i32 + 1;
                let (a, of_a) = run(&mut own, &call(&trial.points()), Some([diagram; 2])).unwrap();
                let (b, of_b) = run(&mut other, &call(&trial.points()), Some([number; 2])).unwrap();
                for (a, b) in a.iter().zip(b) {
                    assert!((a / b - 1.0).abs() < 1e-12, "{text} {number}: {a} {b}");
                }
                let flows = (0..).zip(&allowed[number as usize - 1]);
                let flows: Vec<usize> = flows.filter(|(_, ok)| **ok).map(|(i, _)| i).collect();
                let active = &channel.diagrams[0].active_colors;
                assert!(
                    active.iter().all(|flow| flows.contains(flow)),
                    "{text} {number}"
                );
                if same_flows {
                    assert_eq!((of_a, &flows), (of_b, active), "{text} {number}");
                }
            }
            let error = run(
                &mut other,
                &call(&trial.points()),
                Some([channels.len() as i32 + 1; 2]),
            );
            assert!(error.is_err());
            other
                .set_channel_weights(ChannelWeights::Propagators { s })
                .unwrap();
            let channel = Some([channels[0].diagrams[0].diagram as i32 + 1; 2]);
            let again = run(&mut other, &call(&trial.points()), channel).unwrap();
            assert_eq!(
                again,
                run(&mut own, &call(&trial.points()), channel).unwrap()
            );
        }
    }

    /// Eight gluons have no diagrams. The weights of a list add up to 1 for any list; colour flows are the list's.
    #[test]
    fn a_process_without_diagrams_has_channels() {
        let process = crate::generate("g g > g g g g g g").unwrap().remove(0);
        let all = topologies(&process).unwrap();
        let list = stated(&all[..3]);
        let mut bridge = bridge(&process);
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let trial = Trial::new(&process, &binding).unwrap();
        let (whole, _) = run(&mut bridge, &call(&trial.points()), None).unwrap();
        assert!(run(&mut bridge, &call(&trial.points()), Some([1; 2])).is_err());
        bridge.set_channels(&list, 1e8).unwrap();
        let (_, allowed) = Propagators::from_channels(&process, &binding, &list, 1e8).unwrap();
        let mut sums = [0.0; 2];
        for channel in 1..=3 {
            let (values, flows) =
                run(&mut bridge, &call(&trial.points()), Some([channel; 2])).unwrap();
            for event in 0..2 {
                sums[event] += values[event];
                let flows_of_channel = &allowed[channel as usize - 1];
                assert!(flows_of_channel.contains(&false));
                assert!(flows_of_channel[flows[event] as usize - 1]);
            }
        }
        for event in 0..2 {
            assert!(
                (sums[event] / whole[event] - 1.0).abs() < 1e-12,
                "{sums:?} {whole:?}"
            );
        }
        assert_eq!(
            run(&mut bridge, &call(&trial.points()), None).unwrap().0,
            whole
        );
    }

    #[test]
    fn what_is_no_topology_is_told() {
        let process = crate::generate("g g > t t~").unwrap().remove(0);
        let mut bridge = bridge(&process);
        let line = |mass: &str| vec![(mass.to_owned(), String::new())];
        let vertices = |text: &str| -> Vec<Vec<String>> {
            let words = |vertex: &str| vertex.split_whitespace().map(str::to_owned).collect();
            text.split(',').map(words).collect()
        };
        for (text, mass, says) in [
            ("i0 i1 p0, p0 o0 o1", "MT", "no parameter `MT`; there are"),
            ("i0 i1 p0, p0 o0 o2", "", "no line `o2`"),
            ("i0 i0 p0, p0 o0 o1", "", "no line `i0`"),
            ("i0 i1 o0, p0 o0 o1", "", "not a new propagator"),
            ("i0 i1 o0 o1", "", "of 4 legs there are 2 and 1"),
            ("i0 i1 p0 o0, p0 o1", "", "4 lines meet in vertex 0"),
        ] {
            let list = [Topology {
                vertices: vertices(text),
                parameters: line(mass),
            }];
            let error = bridge.set_channels(&list, 1e8).unwrap_err().to_string();
            assert!(
                error.contains("channel 1: ") && error.contains(says),
                "{text}: {error}"
            );
        }
        let good = [Topology {
            vertices: vertices("i0 i1 p0, p0 o0 o1"),
            parameters: line(""),
        }];
        assert!(bridge.set_channels(&good, 0.0).is_err());
        assert!(bridge.set_channels(&[], 1e8).is_err());
        bridge.set_channels(&good, 1e8).unwrap();
    }
}
