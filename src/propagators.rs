//! Channel weights of `sde_strategy` 2: products of propagators instead of squared diagrams.
//!
//! MadEvent weights a channel with `GET_CHANNEL_CUT` of its configuration over the sum of those of all configurations
//! (`genps.f` and `SMATRIX<i>` of MG5aMC 3.6.2 and later). For a configuration with the lines `i`, `GET_CHANNEL_CUT` is
//! the product of
//!
//! * `1 / ((p^2 - M^2)^2 + (M W)^2)` for a line that holds both incoming particles on one side (s-channel),
//! * `1 / (p^2 - M^2 + 1e-10 s)^2` for one that separates them (t-channel), where `s` is the square of the energy of
//!   the beams (`STOT`).
//!
//! Up to 3.6.0 MadEvent has `(t - M) (t + M)` with `t = p^2` instead of `a = p^2 - M^2`, and in the s-channel `(a^2 -
//! b^2) / (a^2 + b^2)^2` with `b = M W`, which is negative on a resonance; up to 3.4.0 the t-channel has no shift.
//! These are not implemented, because negative weights are not shares and `M` is not a squared mass: any weights that
//! add up to 1 give the same sum over all channels.
//!
//! A configuration's lines are those of its diagram. MadEvent's are those of configs.inc, which are the same if all
//! vertices join three lines: for others MadEvent invents lines, and strategy 2 is refused here.
//!
//! Instead of configurations a caller can state a list of channels by their topologies ([`Topology`]), even for a
//! process without diagrams.

use crate::error::{Error, Result};
use crate::inputs::PerEvent;
use crate::plan::binding::Binding;
use crate::process::{Process, Quantity, Wavefunction};
use crate::sample::Momenta;
use serde::{Deserialize, Serialize};

/// Shift of t in MadEvent, relative to s.
const SHIFT: f64 = 1e-10;

/// How channels are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ChannelWeights {
    /// `sde_strategy` 1: squared diagrams, AMP2.
    #[default]
    Amp2,
    /// `sde_strategy` 2: products of propagators.
    Propagators {
        /// Square of the energy of the beams in GeV^2.
        s: f64,
    },
}

/// A channel stated by a caller, in the notation of [`crate::describe::Channel`], whose other fields are not needed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Topology {
    /// Names of the three lines that meet: `i0`, `i1` for incoming legs, `o0` and on for outgoing ones, `p0` and on for
    /// propagators. Each vertex except the last makes one propagator, its last name.
    pub vertices: Vec<Vec<String>>,
    /// Names of mass and width of each propagator, parameters of the process; empty for zero.
    pub parameters: Vec<(String, String)>,
}

/// A line of a diagram.
#[derive(Clone, Debug, PartialEq)]
struct InternalLine {
    /// For each leg +1 (incoming), -1 (outgoing) or 0 (not on this side).
    signs: Vec<f64>,
    mass: f64,
    width: f64,
    /// Whether it separates the incoming particles.
    t_channel: bool,
}

/// The lines of all configurations of a process.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagators {
    /// Channels with their lines, in the order of the configurations.
    configurations: Vec<(i32, Vec<InternalLine>)>,
    s: f64,
}

impl Propagators {
    /// Makes the lines of a process with the masses of a card.
    pub fn new(process: &Process, binding: &Binding, s: f64) -> Result<Propagators> {
        let propagators = Propagators::checked(s)?;
        let diagrams = process.channels.config_diagram.iter().filter(|d| **d != 0);
        let configurations = diagrams
            .map(|&diagram| Ok((diagram as i32 - 1, lines(process, binding, diagram)?)))
            .collect::<Result<_>>()?;
        Ok(Propagators {
            configurations,
            ..propagators
        })
    }

    /// Makes the lines of stated channels, and for each the colour flows that it allows: those in which no propagator
    /// carries more than one colour and one anticolour, or all if there is none.
    pub fn from_channels(
        process: &Process,
        binding: &Binding,
        topologies: &[Topology],
        s: f64,
    ) -> Result<(Propagators, Vec<Vec<bool>>)> {
        let mut propagators = Propagators::checked(s)?;
        if topologies.is_empty() {
            return Err(refused(
                "the list of channels is empty; state at least one".into(),
            ));
        }
        let mut allowed = Vec::new();
        for (channel, topology) in (0..).zip(topologies) {
            let found = of_topology(process, binding, topology);
            let found =
                found.map_err(|what| refused(format!("channel {}: {what}", channel + 1)))?;
            let flows = process.channels.color_flows.iter().map(|flow| {
                let mut sides = found.iter();
                sides.all(|(below, _)| carries(process, flow, below))
            });
            let mut flows: Vec<bool> = flows.collect();
            if !flows.contains(&true) {
                flows.fill(true);
            }
            allowed.push(flows);
            let lines = found.into_iter().map(|(_, line)| line).collect();
            propagators.configurations.push((channel, lines));
        }
        Ok((propagators, allowed))
    }

    fn checked(s: f64) -> Result<Propagators> {
        match s.is_finite() && s > 0.0 {
            true => Ok(Propagators {
                configurations: Vec::new(),
                s,
            }),
            false => Err(refused(format!(
                "s is {s}; it is the square of the beams' energy"
            ))),
        }
    }

    /// Returns the number of configurations, or of stated channels.
    pub fn count(&self) -> usize {
        self.configurations.len()
    }

    /// Computes the weights of all configurations at the momenta of an event: they add up to 1.
    pub fn weights(&self, momenta: &[f64], weights: &mut [f64]) {
        for (weight, (_, lines)) in weights.iter_mut().zip(&self.configurations) {
            let each = lines.iter().map(|line| line.weight(momenta, self.s));
            *weight = each.product();
        }
        let total: f64 = weights.iter().sum();
        if total == 0.0 || total == f64::INFINITY {
            // A line without a width is on its mass shell, or products overflow: the largest ones share the event.
            let most = weights.iter().fold(0.0, |most: f64, &x| most.max(x));
            let count = weights.iter().filter(|&&x| x == most).count();
            for weight in weights {
                *weight = f64::from(u8::from(*weight == most)) / count as f64;
            }
            return;
        }
        for weight in weights {
            *weight /= total;
        }
    }

    /// Multiplies matrix elements by the weights of the events' channels.
    pub fn apply(&self, momenta: &Momenta, channel: PerEvent, matrix_elements: &mut [f64]) {
        let rows = momenta.to_rows();
        let each = rows.chunks_exact(4 * momenta.legs().max(1)).enumerate();
        let mut weights = vec![0.0; self.count()];
        for ((event, momenta), value) in each.zip(matrix_elements) {
            let mine = channel.at(event);
            self.weights(momenta, &mut weights);
            // If two configurations have the same diagram, MadEvent uses the last.
            let mut all = self.configurations.iter().zip(&weights).rev();
            let found = all.find(|((configuration, _), _)| *configuration == mine);
            *value *= found.map_or(0.0, |(_, weight)| *weight);
        }
    }
}

impl InternalLine {
    /// Makes the line that leads to these legs.
    fn new(process: &Process, below: &[bool], mass: f64, width: f64) -> InternalLine {
        let legs = process.signs();
        let incoming = (0..legs.len()).filter(|&i| legs[i] > 0.0);
        let (all, mine) = incoming.fold((0, 0), |(all, mine), i| {
            (all + 1, mine + usize::from(below[i]))
        });
        InternalLine {
            signs: legs
                .iter()
                .zip(below)
                .map(|(s, b)| if *b { *s } else { 0.0 })
                .collect(),
            mass: mass.abs(),
            width: width.abs(),
            t_channel: all == 2 && mine == 1,
        }
    }

    fn weight(&self, momenta: &[f64], s: f64) -> f64 {
        let mut p = [0.0; 4];
        for (sign, momentum) in self.signs.iter().zip(momenta.chunks_exact(4)) {
            for (sum, x) in p.iter_mut().zip(momentum) {
                *sum += sign * x;
            }
        }
        let p2 = p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3];
        let off = p2 - self.mass * self.mass;
        match self.t_channel {
            true => (off + s * SHIFT).powi(-2),
            false => 1.0 / (off * off + (self.mass * self.width).powi(2)),
        }
    }
}

fn refused(what: String) -> Error {
    Error::Call {
        function: "sde_strategy 2",
        what,
    }
}

/// Returns the lines of a diagram.
fn lines(process: &Process, binding: &Binding, diagram: u32) -> Result<Vec<InternalLine>> {
    let mut entries = process.channels.amp2.iter();
    let vertex = entries
        .find(|entry| entry.diagram == diagram)
        .and_then(|entry| {
            let amplitude = *entry.squares.first()?.first()?;
            process.amplitudes.vertices().get(amplitude as usize)
        })
        .ok_or_else(|| refused(format!("diagram {diagram} has no amplitude of its own")))?;
    let legs = &process.legs;
    let value = |q| binding.value(q);
    let mut found = Vec::new();
    let mut open = vertex.inputs.clone();
    while let Some(wavefunction) = open.pop() {
        let Wavefunction::Internal(vertex) = &process.wavefunctions[wavefunction as usize] else {
            continue;
        };
        open.extend(&vertex.inputs);
        let mut below = vec![false; legs.len()];
        mark(process, wavefunction, &mut below);
        let (mass, width) = (value(vertex.mass), value(vertex.width));
        found.push(InternalLine::new(process, &below, mass, width));
    }
    if found.len() + 3 != legs.len() {
        return Err(refused(format!(
            "diagram {diagram} has a vertex of more than three lines; MadEvent invents lines there, which only \
             MadEvent's own code (an output with `mebridge link`) knows"
        )));
    }
    Ok(found)
}

/// Returns the lines of a topology, each with the legs that it leads to.
fn of_topology(
    process: &Process,
    binding: &Binding,
    topology: &Topology,
) -> std::result::Result<Vec<(Vec<bool>, InternalLine)>, String> {
    let legs = process.legs.len();
    // The legs that each name leads to, until a vertex uses the name.
    let mut open: Vec<(String, Vec<bool>)> = Vec::new();
    let (mut incoming, mut outgoing) = (0.., 0..);
    for (at, leg) in process.legs.iter().enumerate() {
        let (letter, number) = match leg.incoming {
            true => ('i', incoming.next()),
            false => ('o', outgoing.next()),
        };
        let below = (0..legs).map(|leg| leg == at).collect();
        open.push((format!("{letter}{}", number.unwrap_or(0)), below));
    }
    let count = topology.vertices.len();
    if count + 2 != legs || topology.parameters.len() + 1 != count {
        return Err(format!(
            "{count} vertices and {} propagators; of {legs} legs there are {} and {}, since three lines meet in each \
             vertex",
            topology.parameters.len(),
            legs - 2,
            legs - 3
        ));
    }
    let mut found = Vec::new();
    for (number, vertex) in topology.vertices.iter().enumerate() {
        let [first, second, third] = &vertex[..] else {
            return Err(format!(
                "{} lines meet in vertex {number}; write three",
                vertex.len()
            ));
        };
        let mut take = |name: &String| {
            let place = open.iter().position(|(known, _)| known == name);
            let missing = || {
                format!(
                    "vertex {number}: there is no line `{name}`, or an earlier vertex has it; legs are i0.. and o0.., \
                     propagators p0.., each made by the last name of an earlier vertex"
                )
            };
            place
                .map(|place| open.swap_remove(place).1)
                .ok_or_else(missing)
        };
        let mut below = take(first)?;
        let other = take(second)?;
        below.iter_mut().zip(other).for_each(|(all, b)| *all |= b);
        let Some((mass, width)) = topology.parameters.get(number) else {
            take(third)?;
            break;
        };
        if open.iter().any(|(known, _)| known == third) {
            return Err(format!(
                "vertex {number}: its last line `{third}` is not a new propagator"
            ));
        }
        let (mass, width) = (
            value(process, binding, mass)?,
            value(process, binding, width)?,
        );
        let line = InternalLine::new(process, &below, mass, width);
        found.push((below.clone(), line));
        open.push((third.clone(), below));
    }
    Ok(found)
}

/// Returns the value of a parameter by its name.
fn value(process: &Process, binding: &Binding, name: &str) -> std::result::Result<f64, String> {
    if name.is_empty() {
        return Ok(0.0);
    }
    let mut parameters = (0..).zip(&process.model.parameters);
    match parameters.find(|(_, parameter)| parameter.name.eq_ignore_ascii_case(name)) {
        Some((number, _)) => Ok(binding.value(Quantity(Some(number)))),
        None => {
            let names = process.model.parameters.iter().map(|p| p.name.as_str());
            let names: Vec<&str> = names.collect();
            Err(format!(
                "there is no parameter `{name}`; there are {} (and \"\" for zero)",
                names.join(", ")
            ))
        }
    }
}

/// Whether a line to these legs carries at most one colour and one anticolour in a colour flow.
fn carries(process: &Process, flow: &[(i32, i32)], below: &[bool]) -> bool {
    let (mut colors, mut anticolors) = (Vec::new(), Vec::new());
    for ((leg, tags), _) in process
        .legs
        .iter()
        .zip(flow)
        .zip(below)
        .filter(|(_, b)| **b)
    {
        let (color, anticolor) = if leg.incoming {
            (tags.1, tags.0)
        } else {
            *tags
        };
        colors.extend((color != 0).then_some(color));
        anticolors.extend((anticolor != 0).then_some(anticolor));
    }
    let leave =
        |these: &[i32], others: &[i32]| these.iter().filter(|t| !others.contains(t)).count();
    leave(&colors, &anticolors) <= 1 && leave(&anticolors, &colors) <= 1
}

/// Marks the legs below a wavefunction.
fn mark(process: &Process, wavefunction: u32, below: &mut [bool]) {
    match &process.wavefunctions[wavefunction as usize] {
        Wavefunction::External(external) => below[external.leg as usize] = true,
        Wavefunction::Internal(vertex) => {
            for &input in &vertex.inputs {
                mark(process, input, below);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::Bridge;
    use crate::events::{Answers, Events};
    use crate::import::import_directory;
    use crate::runtime::{BackendChoice, CachePlace, Switches};
    use std::path::Path;

    /// g g > t t~ compared with the formulas of its three diagrams.
    #[test]
    fn the_weights_of_two_gluons() {
        let p = Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
        let process = import_directory(&p).unwrap().remove(0);
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).unwrap();
        let s = 13000.0f64 * 13000.0;
        let propagators = Propagators::new(&process, &binding, s).unwrap();
        let (e, m) = (400.0, 173.0);
        let pt = 150.0f64;
        let z = (e * e - m * m - pt * pt).sqrt();
        let momenta = [
            e, 0.0, 0.0, e, e, 0.0, 0.0, -e, e, pt, 0.0, z, e, -pt, 0.0, -z,
        ];
        let s_line: f64 = 1.0 / (4.0 * e * e).powi(2);
        let t = |sign: f64| -> f64 {
            let t_minus_m2 = -2.0 * e * (e - sign * z);
            (t_minus_m2 + 1e-10 * s).powi(-2)
        };
        let each = [s_line, t(1.0), t(-1.0)];
        let total: f64 = each.iter().sum();
        let mut found = [0.0; 3];
        propagators.weights(&momenta, &mut found);
        for (found, weight) in found.iter().zip(each) {
            assert!((found * total / weight - 1.0).abs() < 1e-12, "{found}");
        }
        assert!(Propagators::new(&process, &binding, 0.0).is_err());
        // The propagator of the s-channel is infinite, and overflows.
        for (e, shares) in [(0.0, [1.0, 0.0, 0.0]), (1e80, [1.0 / 3.0; 3])] {
            let momenta = [
                e, 0.0, 0.0, e, e, 0.0, 0.0, -e, e, e, 0.0, 0.0, e, -e, 0.0, 0.0,
            ];
            propagators.weights(&momenta, &mut found);
            assert_eq!(found, shares, "{e}");
        }
    }

    /// In a bridge: |M|^2 without channels times the weight, and the colour flows of the configuration.
    #[test]
    fn a_bridge_answers_by_strategy_2() {
        let p = Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
        let process = import_directory(&p).unwrap().remove(0);
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).unwrap();
        let switches = Switches {
            cache: CachePlace::Off,
            backend: BackendChoice::Cpu,
            ..Switches::default()
        };
        let mut bridge = Bridge::new(process.clone(), &card, &switches, 3).unwrap();
        let (s, e) = (1e8, 400.0f64);
        let z = (e * e - 173.0 * 173.0 - 150.0f64 * 150.0).sqrt();
        let event = [
            e, 0.0, 0.0, e, e, 0.0, 0.0, -e, e, 150.0, 0.0, z, e, -150.0, 0.0, -z,
        ];
        let momenta = event.repeat(3);
        let (g_s, random) = ([1.2; 3], [0.3; 3]);
        let mut run = |channels, igraph, strategy| {
            bridge.set_channel_weights(strategy).unwrap();
            let events = Events {
                momenta: &momenta,
                g_s: &g_s,
                random_helicity: &random,
                random_color: &random,
                channels,
                igraph,
            };
            let (mut values, mut helicity, mut color) = ([0.0; 3], [0; 3], [0; 3]);
            let mut answers = Answers {
                matrix_elements: &mut values,
                helicity: &mut helicity,
                color: &mut color,
            };
            let done = bridge.run(&events, &mut answers);
            done.map(|()| (values, helicity, color))
        };
        let channels = [1, 2, 3];
        let igraph = [0, 3, 0];
        let two = ChannelWeights::Propagators { s };
        let (whole, helicities, _) = run(None, None, two).unwrap();
        let (first, _, colors) = run(Some(&channels), None, ChannelWeights::Amp2).unwrap();
        let (second, same, also) = run(Some(&channels), None, two).unwrap();
        let propagators = Propagators::new(&process, &binding, s).unwrap();
        let mut weights = [0.0; 3];
        propagators.weights(&event, &mut weights);
        for i in 0..3 {
            assert!((second[i] / (whole[i] * weights[i]) - 1.0).abs() < 1e-14);
            assert!((second[i] / first[i] - 1.0).abs() > 1e-3);
        }
        assert_eq!((helicities, colors), (same, also));
        // The channel's own weight, with the colours of another configuration.
        let (third, _, of_graph) = run(Some(&channels), Some(&igraph), two).unwrap();
        assert_eq!(second, third);
        assert_eq!(of_graph, [also[0], also[2], also[2]]);
        assert!(run(Some(&[1, 2, 7]), None, two).is_err());
        let (again, ..) = run(Some(&channels), None, ChannelWeights::Amp2).unwrap();
        assert_eq!(first, again);
    }
}
