//! Converts the numbers of a call.
//!
//! MadEvent counts channels, configurations, helicities and colour flows from 1. Only this module checks the numbers of
//! a call and converts them to indices that count from 0, determines the configuration by which the colour of an event
//! is chosen, and converts the choices to count from 1 again.

use crate::error::{Error, Result};
use crate::events::Events;
use crate::inputs::{Inputs, NONE, PerEvent, one_for_all};
use crate::process::Process;

/// The channels and configurations that a call may name.
pub(super) struct Numbering {
    /// Configuration of each channel; [`NONE`] if a diagram is not a channel.
    config_of_channel: Vec<i32>,
    configs: usize,
}

/// Buffers for the indices of a call whose events have different ones.
#[derive(Default)]
pub(super) struct IndexBuffers {
    channel: Vec<i32>,
    igraph: Vec<i32>,
    config: Vec<i32>,
}

impl Numbering {
    /// Channels are diagrams: those of a process that have an AMP2 and a configuration.
    pub fn from_diagrams(process: &Process) -> Numbering {
        let channels = &process.channels;
        let configs = channels.config_of_diagrams(process.diagrams);
        let mut config_of_channel = vec![NONE; configs.len()];
        for amp2 in &channels.amp2 {
            let diagram = amp2.diagram.wrapping_sub(1) as usize;
            if let Some(Some(config)) = configs.get(diagram) {
                config_of_channel[diagram] = *config as i32;
            }
        }
        Numbering {
            config_of_channel,
            configs: channels.config_diagram.len(),
        }
    }

    /// Channels are `count` channels stated by a caller, each with its own configuration.
    pub fn from_list(count: usize) -> Numbering {
        Numbering {
            config_of_channel: (0..count as i32).collect(),
            configs: count,
        }
    }

    /// Converts the events of a call, whose array sizes have been checked, to the inputs of a backend.
    pub fn inputs<'a>(
        &self,
        events: &Events<'a>,
        buffers: &'a mut IndexBuffers,
    ) -> Result<Inputs<'a>> {
        let (channel, igraph) = (events.channels, events.igraph);
        let channel = channel.map(|numbers| self.channel(numbers, &mut buffers.channel));
        let channel = channel.transpose()?;
        let igraph = igraph.map(|numbers| self.igraph(numbers, &mut buffers.igraph));
        let igraph = igraph.transpose()?;
        let config = match (igraph, channel) {
            (None, None) => None,
            (igraph, channel) => {
                let none = PerEvent::Same(NONE);
                let (igraph, channel) = (igraph.unwrap_or(none), channel.unwrap_or(none));
                Some(self.configs(igraph, channel, &mut buffers.config)?)
            }
        };
        Ok(Inputs {
            points: events.points(events.legs()),
            channel,
            config,
        })
    }

    /// Returns the configuration by which the colour of an event is chosen: that of `igraph`, else the channel's.
    #[inline]
    fn config(&self, igraph: i32, channel: i32) -> i32 {
        match (igraph, channel) {
            (NONE, NONE) => NONE,
            (NONE, channel) => self.config_of_channel[channel as usize],
            (igraph, _) => igraph,
        }
    }

    /// The same for all events.
    fn configs<'a>(
        &self,
        igraph: PerEvent<'a>,
        channel: PerEvent<'a>,
        buffer: &'a mut Vec<i32>,
    ) -> Result<PerEvent<'a>> {
        let config = |igraph, channel| self.config(igraph, channel);
        match (igraph, channel) {
            (PerEvent::Same(igraph), PerEvent::Same(channel)) => {
                return Ok(PerEvent::Same(config(igraph, channel)));
            }
            (PerEvent::Same(igraph), PerEvent::Each(channels)) => {
                let of_channel = channels.iter().map(|&channel| config(igraph, channel));
                fill(buffer, channels.len(), of_channel)?;
            }
            (PerEvent::Each(all), PerEvent::Same(channel)) => {
                let of_igraph = all.iter().map(|&igraph| config(igraph, channel));
                fill(buffer, all.len(), of_igraph)?;
            }
            (PerEvent::Each(all), PerEvent::Each(channels)) => {
                let both = all.iter().zip(channels);
                let of_both = both.map(|(&igraph, &channel)| config(igraph, channel));
                fill(buffer, all.len(), of_both)?;
            }
        }
        Ok(PerEvent::Each(buffer))
    }

    /// Converts channels to indices. Each channel must exist.
    fn channel<'a>(&self, numbers: &[i32], buffer: &'a mut Vec<i32>) -> Result<PerEvent<'a>> {
        let is_channel = |index: i32| {
            let config = self.config_of_channel.get(index as u32 as usize);
            config.is_some_and(|&config| config != NONE)
        };
        let found = indices(numbers, buffer, is_channel)?;
        found.map_err(|event| Error::NoSuchChannel {
            event,
            channel: numbers[event],
            known: self.known(),
        })
    }

    /// Converts configurations to indices; [`NONE`] for the number 0.
    fn igraph<'a>(&self, numbers: &[i32], buffer: &'a mut Vec<i32>) -> Result<PerEvent<'a>> {
        let is_config = |index: i32| index == NONE || (index as u32 as usize) < self.configs;
        let found = indices(numbers, buffer, is_config)?;
        found.map_err(|event| Error::NoSuchConfiguration {
            event,
            config: numbers[event],
            configs: self.configs,
        })
    }

    /// Returns the existing channels as a text such as `1-3, 5`.
    fn known(&self) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (number, config) in (1..).zip(&self.config_of_channel) {
            match ranges.last_mut() {
                _ if *config == NONE => {}
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        let text = |&(a, b): &(usize, usize)| match a == b {
            true => a.to_string(),
            false => format!("{a}-{b}"),
        };
        ranges.iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

/// Converts numbers that count from 1 to indices: a single one if all are the same, as is nearly always the case.
/// Otherwise returns the first event whose index is invalid.
fn indices<'a>(
    numbers: &[i32],
    buffer: &'a mut Vec<i32>,
    is_right: impl Fn(i32) -> bool,
) -> Result<std::result::Result<PerEvent<'a>, usize>> {
    // The smallest number wraps to an index that is never valid.
    let index = |number: i32| number.wrapping_sub(1);
    if let Some(number) = one_for_all(numbers) {
        let index = index(number);
        return Ok(match is_right(index) {
            true => Ok(PerEvent::Same(index)),
            false => Err(0),
        });
    }
    fill(
        buffer,
        numbers.len(),
        numbers.iter().map(|&number| index(number)),
    )?;
    Ok(match buffer.iter().position(|&index| !is_right(index)) {
        None => Ok(PerEvent::Each(buffer)),
        Some(event) => Err(event),
    })
}

/// Refills a list with `nevt` numbers.
fn fill(buffer: &mut Vec<i32>, nevt: usize, numbers: impl Iterator<Item = i32>) -> Result<()> {
    buffer.clear();
    buffer
        .try_reserve(nevt)
        .map_err(|_| Error::NoMemoryForEvents { nevt })?;
    buffer.extend(numbers);
    Ok(())
}

/// Converts choices to count from 1, with 0 for none.
pub(super) fn count_from_one(chosen: &mut [i32]) {
    const { assert!(NONE + 1 == 0) };
    for index in chosen {
        *index += 1;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::process::channels::{Amp2, Channels};
    use crate::process::example;
    use crate::sample::Points;
    use std::borrow::Cow;

    /// Makes a call without channels for these points, whose momenta are in rows.
    pub(in crate::bridge) fn call<'a>(points: &Points<'a>) -> Events<'a> {
        let Cow::Borrowed(momenta) = points.momenta.to_rows() else {
            panic!("momenta that are not in rows");
        };
        Events {
            momenta,
            g_s: points.g_s,
            random_helicity: points.random_helicity,
            random_color: points.random_color,
            channels: None,
            igraph: None,
        }
    }

    /// Five diagrams, of which the second and the fifth are channels, in two of four configurations: the first has no
    /// AMP2, the third no configuration, the fourth neither.
    fn numbering() -> Numbering {
        let amp2 = |diagram| Amp2 {
            diagram,
            squares: vec![vec![0]],
        };
        Numbering::from_diagrams(&Process {
            diagrams: 5,
            channels: Channels {
                amp2: [5, 2, 3].map(amp2).to_vec(),
                config_diagram: vec![1, 5, 0, 2, 5],
                ..Channels::default()
            },
            ..example::scalars()
        })
    }

    fn indices_of(
        numbering: &Numbering,
        channels: Option<&[i32]>,
        igraph: Option<&[i32]>,
    ) -> Result<[Option<Vec<i32>>; 2]> {
        let nevt = channels.or(igraph).map_or(1, <[i32]>::len);
        let numbers = vec![0.0; nevt];
        let events = Events {
            momenta: &[],
            g_s: &numbers,
            random_helicity: &numbers,
            random_color: &numbers,
            channels,
            igraph,
        };
        let mut buffers = IndexBuffers::default();
        let inputs = numbering.inputs(&events, &mut buffers)?;
        let each = |of: PerEvent| match of {
            PerEvent::Same(index) => vec![index; nevt],
            PerEvent::Each(all) => all.to_vec(),
        };
        Ok([inputs.channel.map(each), inputs.config.map(each)])
    }

    #[test]
    fn igraph_says_the_configuration_and_else_the_channel() {
        fn found(channels: Option<&[i32]>, igraph: Option<&[i32]>) -> [Option<Vec<i32>>; 2] {
            indices_of(&numbering(), channels, igraph).unwrap()
        }
        assert_eq!(found(None, None), [None, None]);
        for (channels, igraph, channel, config) in [
            ([2, 2, 2, 2], [0, 0, 0, 0], [1; 4], [3; 4]),
            ([5, 5, 5, 5], [0, 0, 0, 0], [4; 4], [1; 4]),
            ([2, 2, 2, 2], [1, 1, 1, 1], [1; 4], [0; 4]),
            ([2, 2, 2, 2], [0, 1, 0, 5], [1; 4], [3, 0, 3, 4]),
            ([2, 5, 2, 5], [0, 0, 0, 0], [1, 4, 1, 4], [3, 1, 3, 1]),
            ([2, 5, 2, 5], [3, 3, 3, 3], [1, 4, 1, 4], [2; 4]),
            ([2, 5, 5, 5], [0, 0, 3, 4], [1, 4, 4, 4], [3, 1, 2, 3]),
        ] {
            let (channel, config) = (channel.to_vec(), config.to_vec());
            let both = found(Some(&channels), Some(&igraph));
            assert_eq!(both, [Some(channel.clone()), Some(config.clone())]);
            let [none, alone] = found(None, Some(&igraph));
            assert_eq!(none, None);
            assert_eq!(alone, Some(igraph.map(|number| number - 1).to_vec()));
            if igraph == [0; 4] {
                let without = found(Some(&channels), None);
                assert_eq!(without, [Some(channel), Some(config)]);
            }
        }
    }

    #[test]
    fn channels_of_a_list_are_its_configurations() {
        let list = Numbering::from_list(3);
        let of_channels = indices_of(&list, Some(&[3, 1]), None).unwrap();
        assert_eq!(of_channels, [Some(vec![2, 0]), Some(vec![2, 0])]);
        let of_both = indices_of(&list, Some(&[3, 1]), Some(&[0, 2])).unwrap();
        assert_eq!(of_both, [Some(vec![2, 0]), Some(vec![2, 1])]);
        assert!(indices_of(&list, Some(&[4, 1]), None).is_err());
    }

    /// The error names the first event with an invalid number, with the number as given.
    #[test]
    fn numbers_that_mean_nothing_are_refused() {
        let hostile = [0, 1, 3, 4, 6, -1, -2, i32::MIN, i32::MIN + 1, i32::MAX];
        for number in hostile {
            for (event, channels) in [[number; 3], [2, number, 5], [2, 5, number]]
                .iter()
                .enumerate()
            {
                match indices_of(&numbering(), Some(channels), None) {
                    Err(Error::NoSuchChannel {
                        event: at,
                        channel,
                        known,
                    }) => assert_eq!((at, channel, &known[..]), (event, number, "2, 5")),
                    other => panic!("{channels:?}: {other:?}"),
                }
            }
        }
        for number in [-1, -2, 6, i32::MIN, i32::MIN + 1, i32::MAX] {
            for (event, igraph) in [[number; 3], [0, number, 5]].iter().enumerate() {
                for channels in [None, Some(&[2, 2, 5][..])] {
                    match indices_of(&numbering(), channels, Some(igraph)) {
                        Err(Error::NoSuchConfiguration {
                            event: at,
                            config,
                            configs: 5,
                        }) => assert_eq!((at, config), (event, number)),
                        other => panic!("{igraph:?}: {other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn choices_count_from_1_with_0_for_none() {
        let mut chosen = [NONE, 0, 41];
        count_from_one(&mut chosen);
        assert_eq!(chosen, [0, 1, 42]);
    }
}
