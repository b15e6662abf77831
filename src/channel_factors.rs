//! Factors of MadEvent's channels besides their weights: 0 for points where a line is on its mass shell that must not
//! be (`$`), and a correction where a width is below `small_width_treatment`.
//!
//! |M|^2 uses `small_width_treatment` times the mass in place of a smaller width, and then has too small an area under
//! the resonance; `transpole.f` multiplies by the ratio of both. The sum over channels of weight times factor is part
//! of the integrand, however points are drawn. Weights are squared diagrams, or with `sde_strategy = 2` products of
//! propagators; those of narrow resonances are always squared diagrams, because a product of propagators has large
//! shares even far from its peak.

use crate::describe::Channel;
use crate::process::Process;
use mebridge_phasespace::cuts::{Cuts, Observable, Window};
use mebridge_phasespace::{Diagram, Edge, Legs, Limits, Propagator, Rows, Weights};
use mebridge_sampler::integrand::Failure;
use mebridge_simd::Level;

/// Prefix of the name of a width that is not below `small_width_treatment`.
const RAISED: &str = "FK_";
/// Width in units of the mass above which a line is never on its mass shell, as in MadEvent.
pub(crate) const BROAD: f64 = 0.1;

/// Settings for the channels of a matrix element.
#[derive(Clone, Copy, Debug)]
pub struct ChannelRequest<'a> {
    /// Lines are on their mass shells within this many widths; `None` if clustering handles `$`.
    pub widths: Option<f64>,
    /// Whether weights of channels are products of propagators (`sde_strategy = 2`).
    pub propagators: bool,
    /// For each channel, lines that must not be on their mass shells, if they do not follow from the process.
    pub off_shell: &'a [Vec<usize>],
    /// Cuts.
    pub windows: &'a [Window],
}

/// The factors of the channels of a matrix element.
#[derive(Clone, Debug)]
pub struct ChannelFactors {
    /// Products of propagators, in the order of the channels; `None` for squared diagrams.
    weights: Option<Weights>,
    channels: Vec<OwnFactor>,
    cuts: Vec<Cuts>,
}

#[derive(Clone, Debug)]
struct OwnFactor {
    diagram: usize,
    factor: f64,
    /// Index of the cuts that the channel's points pass.
    cuts: Option<usize>,
}

impl ChannelFactors {
    /// Makes the factors of a matrix element from its phase-space channels and the masses of its legs, two of which are
    /// incoming. `None` if no factor is needed.
    ///
    /// # Errors
    /// A channel is not a tree.
    pub fn new(
        process: &Process,
        channels: &[Channel],
        masses: &[f64],
        requested: &ChannelRequest,
    ) -> Result<Option<Self>, Failure> {
        let limits = Limits::new(masses.len() - 2, requested.windows);
        let mut found = ChannelFactors {
            weights: None,
            channels: Vec::new(),
            cuts: Vec::new(),
        };
        let mut known: Vec<Vec<Window>> = Vec::new();
        let mut diagrams = Vec::new();
        for (number, channel) in channels.iter().enumerate() {
            let diagram = diagram(channel, &masses[2..])?;
            let (mut factor, mut windows) = (1.0, Vec::new());
            let listed = requested.off_shell.get(number);
            for (line, legs) in diagram.timelike()? {
                let Propagator { mass, width } = diagram.propagators[line];
                if limits.min_mass(legs, &masses[2..]) < mass {
                    factor *= ratio(process, &channel.parameters[line].1, width);
                }
                let off = channel.off_shell_propagators.contains(&line)
                    || listed.is_some_and(|of| of.contains(&line));
                match requested.widths {
                    Some(widths) if off && 0.0 < width && width < BROAD * mass => {
                        windows.push(outside(legs, mass, widths * width));
                    }
                    _ => {}
                }
            }
            let mut cuts = None;
            if !windows.is_empty() {
                let place = known.iter().position(|of| *of == windows);
                cuts = Some(place.unwrap_or(known.len()));
                if place.is_none() {
                    known.push(windows);
                }
            }
            found.channels.push(OwnFactor {
                diagram: channel.diagrams[0].diagram,
                factor,
                cuts,
            });
            diagrams.push(diagram);
        }
        for windows in &known {
            found.cuts.push(Cuts::new(masses.len(), windows, &[])?);
        }
        let narrow = found.channels.iter().any(|one| one.factor != 1.0);
        if !narrow && known.is_empty() {
            return Ok(None);
        }
        if requested.propagators && !narrow {
            found.weights = Some(Weights::squared(&diagrams, &limits)?);
        }
        Ok(Some(found))
    }

    /// Returns weight times factor of each channel, `[point][channel]`.
    ///
    /// Args: `amp2` has the shares of squared diagrams, `[diagram][point]`.
    pub fn of_channels(&self, points: &Rows, amp2: &[f64]) -> Vec<f64> {
        let (level, count) = (Level::best(), points.points());
        let passed: Vec<Vec<bool>> = (self.cuts.iter())
            .map(|cuts| {
                let mut passed = vec![true; count];
                cuts.passed(level, points, None, &mut passed);
                passed
            })
            .collect();
        let mut shares = Rows::new(self.channels.len(), count);
        match &self.weights {
            Some(weights) => weights.every_share(level, points, &mut shares),
            None => {
                for (row, one) in self.channels.iter().enumerate() {
                    let of = &amp2[one.diagram * count..][..count];
                    shares.row_mut(row).copy_from_slice(of);
                }
            }
        }
        let mut found = Vec::with_capacity(count * self.channels.len());
        found.extend((0..count).flat_map(|point| {
            let (passed, shares) = (&passed, &shares);
            (self.channels.iter().enumerate()).map(move |(row, one)| {
                let passes = one.cuts.is_none_or(|cuts| passed[cuts][point]);
                let share = shares.row(row)[point] * one.factor;
                if passes { share } else { 0.0 }
            })
        }));
        found
    }

    /// Returns the number of channels.
    pub fn count(&self) -> usize {
        self.channels.len()
    }

    /// Returns the diagram of the channel that a number in (0, 1) draws, with probabilities proportional to `counts`.
    ///
    /// # Panics
    /// If `counts` does not have one number per channel.
    pub fn draw_diagram(&self, counts: &[f64], random: f64) -> usize {
        let number = random * counts.iter().sum::<f64>();
        self.channels[draw_index(counts, number) as usize].diagram
    }
}

/// Returns the index of the share that a number from 0 to the sum of all shares selects.
pub(crate) fn draw_index(shares: &[f64], random: f64) -> i32 {
    let mut rest = random;
    for (place, share) in (0..).zip(shares) {
        rest -= share;
        if rest < 0.0 {
            return place;
        }
    }
    shares.len() as i32 - 1
}

/// Returns the ratio of a width to the card's value.
fn ratio(process: &Process, name: &str, width: f64) -> f64 {
    let own = name.strip_prefix(RAISED);
    let own = own.and_then(|own| process.model.card_parameter(own));
    let own = own.map_or(0.0, |place| process.model.card[place].default.abs());
    match 0.0 < own && own < width * (1.0 - 1e-9) {
        true => width / own,
        false => 1.0,
    }
}

/// Makes a window: the mass of some outgoing legs is not within `width` of `mass`.
fn outside(legs: Legs, mass: f64, width: f64) -> Window {
    let set = (0..Legs::BITS as usize).filter(|leg| legs & (1 << leg) != 0);
    let set = vec![set.map(|leg| leg + 2).collect()];
    let (least, largest) = (f64::max(mass - width, 0.0), mass + width);
    Window {
        outside: true,
        ..Window::new(Observable::Mass, set, least, largest)
    }
}

/// Makes the tree of a channel, with the masses of its outgoing legs.
pub(crate) fn diagram(channel: &Channel, masses: &[f64]) -> Result<Diagram, Failure> {
    let mut vertices = Vec::new();
    for names in &channel.vertices {
        let lines: std::result::Result<Vec<Edge>, _> =
            names.iter().map(|name| name.parse()).collect();
        vertices.push(lines?);
    }
    let propagators = channel.masses.iter().map(|&(mass, width)| Propagator {
        mass: mass.abs(),
        width: width.abs(),
    });
    Ok(Diagram {
        masses: masses.to_vec(),
        propagators: propagators.collect(),
        vertices,
    })
}
