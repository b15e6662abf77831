//! Decays of one particle, from a directory or a named process: cuts, scales and checks of a run card, and the request
//! to the event generator. Widths are in GeV.

use crate::channel_line::ChannelLine;
use crate::cuts::{self, Cut, Legs};
use crate::densities::AlphaS;
use crate::element::Element;
use crate::output::Directory;
use crate::run_card::RunCard;
use crate::text::{general, significant};
use crate::topology::legs_of;
use mebridge::describe::Channel;
use mebridge::event_generator::{ColorTreatment, ElementRequest, Request};
use mebridge::{Error, Result};
use mebridge_densities::evolved;
use mebridge_phasespace::clustering::Forced;
use mebridge_phasespace::cuts::{GroupValue, Observable, Rule, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_support::sorted::{SortedMap, SortedSet};

/// Relative accuracy to which two masses count as the same.
const SAME: f64 = 1e-9;
/// Entries that MG5aMC writes to the run card of a decay where the general defaults differ.
const NO_CUTS: [(&str, f64); 12] = [
    ("ptj", 0.0),
    ("pta", 0.0),
    ("ptl", 0.0),
    ("drjj", 0.0),
    ("drll", 0.0),
    ("draa", 0.0),
    ("draj", 0.0),
    ("drjl", 0.0),
    ("dral", 0.0),
    ("etaj", -1.0),
    ("etaa", -1.0),
    ("etal", -1.0),
];

/// Decays whose events are made together.
#[derive(Clone, Debug)]
pub struct Decays {
    /// The request to the event generator.
    pub request: Request,
    /// Lines on alpha_s and cuts, without duplicates.
    pub conditions: Vec<String>,
    /// The cuts of the first decay, for the message that no point passes.
    pub cuts: String,
    /// PDG code of the decaying particle, for the head of an event file.
    pub pdg: i32,
    /// Its mass, GeV.
    pub mass: f64,
    /// Notices for the user about the run card.
    pub notices: Vec<String>,
}

/// Plans the events of decays.
///
/// Args: `at_z` is alpha_s at the mass of the Z boson (entry 3 of SMINPUTS of the parameter card). For an output,
/// `listed` has the directory of each matrix element and its index there.
///
/// # Errors
/// A width is 0, infinite or not defined by the run card, or alpha_s is not known at a scale.
///
/// # Panics
/// `elements` is empty.
pub fn plan(
    elements: &[Element],
    card: &RunCard,
    at_z: f64,
    listed: Option<&[(&Directory, usize)]>,
    alpha_qed: f64,
    threads: usize,
) -> Result<Decays> {
    let known = AlphaS::from_param_card(at_z)?;
    let decay = |(number, element)| {
        let listed = listed.map(|listed| listed[number]);
        let decay = Decay::new(element, card, listed)?;
        decay.check(&known)?;
        Ok(decay)
    };
    let decays: Vec<Decay> = (elements.iter().enumerate().map(decay)).collect::<Result<_>>()?;
    // Without strong couplings the scale may be outside of the range of alpha_s; the nearest value is used.
    let ends = [known.scales[0], known.scales[known.scales.len() - 1]];
    let alpha_s = |decay: &Decay| evolved(decay.scale.clamp(ends[0], ends[1]), at_z, 2);
    let mut conditions = Vec::new();
    for decay in &decays {
        let line = decay.conditions(alpha_s(decay));
        if !conditions.contains(&line) {
            conditions.push(line);
        }
    }
    // Each event has one of these scales. A table needs at least two.
    let mut table: Vec<(f64, f64)> = decays.iter().map(|d| (d.scale, alpha_s(d))).collect();
    table.sort_by(|one, other| one.0.total_cmp(&other.0));
    table.dedup_by_key(|(scale, _)| *scale);
    table.extend(table.last().map(|(scale, value)| (2.0 * scale, *value)));
    let codes = |which| -> SortedSet<i32> { decays.iter().flat_map(|d| d.codes(which)).collect() };
    let [plain, on, off] = [Forced::No, Forced::On, Forced::Off].map(codes);
    let forced: SortedSet<i32> = on.iter().map(|code| code.abs()).collect();
    let elsewhere: SortedSet<i32> = on.iter().chain(&plain).copied().collect();
    let first = &decays[0];
    let there = elements.iter().flat_map(|element| element.options());
    let there = there.flat_map(|pdg| &pdg[1..]).map(|code| code.abs());
    // The energy is the mass of the decaying particle.
    let scale = Scale {
        dynamical: Dynamical::PartonicEnergy,
        factor: card.number("scalefact"),
        renormalisation: card.flag("fixed_ren_scale").then(|| card.number("scale")),
        factorisation: [Some(card.number("dsqrt_q2fact1")); 2],
    };
    let requests = decays.iter().map(Decay::request).collect();
    Ok(Decays {
        request: Request {
            alpha_s: table.into_iter().unzip(),
            threads,
            backend: Some("cpu".to_owned()),
            widths: card.number("bwcutoff"),
            by_propagators: card.integer("sde_strategy") == 2,
            alpha_qed,
            forced: forced.into_iter().collect(),
            excluded: off.difference(&elsewhere).copied().collect(),
            color: ColorTreatment::Full,
            ..Request::new(first.masses[0], scale, requests)
        },
        conditions,
        cuts: cuts::describe(first.windows(), &first.pdg),
        pdg: first.pdg[0],
        mass: first.masses[0],
        notices: cuts::unused(card, &there.collect()).into_iter().collect(),
    })
}

/// A matrix element of a decay. Legs are numbered as if there were two incoming ones, as for cuts.
struct Decay {
    name: String,
    /// Channels with the lines listed in the directory.
    channels: Vec<Channel>,
    /// PDG codes of the legs.
    pdg: Vec<i32>,
    /// Masses of the legs, GeV.
    masses: Vec<f64>,
    cuts: Vec<Cut>,
    rules: Vec<Rule>,
    /// Renormalisation scale, GeV.
    scale: f64,
    /// Whether |M|^2 depends on alpha_s.
    is_strong: bool,
}

impl Decay {
    fn new(element: &Element, card: &RunCard, listed: Option<(&Directory, usize)>) -> Result<Self> {
        let mut channels = element.channels().to_vec();
        if let Some((directory, number)) = listed {
            name_lines(&mut channels, directory, number);
        }
        let codes: Vec<String> = element.pdg().iter().map(i32::to_string).collect();
        let name = format!("{} > {} (PDG codes)", codes[0], codes[1..].join(" "));
        let refused = |what: &str, cure: &str| Err(Error::run_at(&name, what, cure));
        if channels.is_empty() {
            let what = "no diagram of it has vertices of three particles alone";
            return refused(what, "take other coupling orders");
        }
        if element.masses[0] <= element.masses[1..].iter().sum() {
            let what = "it has the masses of what goes out or less";
            return refused(what, "change the parameter card, or take another decay");
        }
        let (pdg, masses) = (as_two(element.pdg(), 0), as_two(&element.masses, 0.0));
        let mut decay = Decay {
            scale: scale(card, masses[0])?,
            is_strong: element.qcd_power() != Some(0),
            cuts: Vec::new(),
            rules: Vec::new(),
            name,
            channels,
            pdg,
            masses,
        };
        (decay.cuts, decay.rules) = decay.cuts_of(card, element.options())?;
        Ok(decay)
    }

    /// Cuts of the run card in the rest frame of the decaying particle, and windows of on-shell resonances in decay
    /// chains.
    ///
    /// Args: `options` are the PDG codes of all processes of the matrix element.
    fn cuts_of(&self, card: &RunCard, options: &[Vec<i32>]) -> Result<(Vec<Cut>, Vec<Rule>)> {
        let (name, mass) = (&self.name, self.masses[0]);
        let (mut found, decayed) = self.on_shell(card);
        let ours = NO_CUTS
            .into_iter()
            .filter(|(name, _)| !card.has_entry(name));
        let energy = [("dsqrt_shat", 0.0), ("dsqrt_shatmax", -1.0)];
        let own = card.with_numbers(ours.chain(energy));
        let legs = Legs {
            pdg: &self.pdg,
            masses: &self.masses,
            decayed: &decayed,
            card: &own,
        };
        let options: Vec<Vec<i32>> = options.iter().map(|pdg| as_two(pdg, 0)).collect();
        if let Some(divided) = cuts::differing_entry(&legs, &options) {
            let what = format!("{divided} in the run card, which are one matrix element, {name}");
            return Err(Error::run(what, "give all of them the same"));
        }
        let nothing = |of: String| format!("{of} of the run card leaves nothing of {name}");
        if let Some(entry) = cuts::impossible_entry(&legs) {
            return Err(Error::run(nothing(entry), "set it to 0"));
        }
        let (of_card, rules) = cuts::from_run_card(&legs, mass);
        if let Some(cut) = cuts::impossible_cut(&of_card, mass) {
            let what = nothing(cut.name(&self.pdg));
            let what = format!("{what}, which has {} GeV", general(mass));
            return Err(Error::run(what, ""));
        }
        found.extend(of_card);
        Ok((found, rules))
    }

    /// Windows of the resonances in decay chains, and the legs that these decay into.
    fn on_shell(&self, card: &RunCard) -> (Vec<Cut>, SortedSet<usize>) {
        let (mut found, mut decayed): (Vec<Cut>, _) = (Vec::new(), SortedSet::new());
        for channel in &self.channels {
            for &number in &channel.on_shell_propagators {
                let line = ChannelLine::new(channel, number);
                let width = line
                    .width
                    .max(line.mass * card.number("small_width_treatment"));
                decayed.extend(line.legs.iter().copied());
                let window = cuts::resonance(line.legs, line.mass, card.number("bwcutoff") * width);
                if found.iter().all(|cut| cut.window != window) {
                    found.push(window.into());
                }
            }
        }
        (found, decayed)
    }

    /// Checks that the width is finite and alpha_s known.
    fn check(&self, known: &AlphaS) -> Result<()> {
        for line in self.channels.iter().flat_map(ChannelLine::all) {
            self.check_line(&line)?;
        }
        match self.is_strong {
            true => {
                let what =
                    "the scale of renormalisation (the mass; scale with fixed_ren_scale = True)";
                known.check_scale(self.scale, &format!("{}: {what}", self.name))
            }
            false => Ok(()),
        }
    }

    /// Checks that a cut keeps a propagator without a width away from the end of its mass range, where massless
    /// particles are soft or collinear.
    fn check_line(&self, line: &ChannelLine) -> Result<()> {
        if line.width > 0.0 && !line.is_narrow() {
            return Ok(());
        }
        let masses = &self.masses;
        let every: SortedSet<usize> = (2..masses.len()).collect();
        let beside = &every - &line.legs;
        let windows: Vec<Window> = self.windows().cloned().collect();
        let least = cuts::min_mass(&windows, masses, &line.legs);
        let largest = masses[0] - beside.iter().map(|&leg| masses[leg]).sum::<f64>();
        for (legs, limit) in [(&line.legs, least), (&beside, largest)] {
            let free = legs.iter().copied();
            let free = free.filter(|&leg| masses[leg] == 0.0 && !self.is_bounded(leg, legs));
            let free: Vec<String> = free.map(|leg| self.pdg[leg].to_string()).collect();
            let is_reached = (limit - line.mass).abs() <= SAME * limit.abs().max(line.mass);
            if !free.is_empty() && is_reached {
                let what = format!(
                    "the width is infinite without a cut on {} (PDG codes), which may have no energy or go the way of others",
                    free.join(" and ")
                );
                let cure =
                    "set a least mass of the pair in the run card, or least pt and distances";
                return Err(Error::run_at(&self.name, what, cure));
            }
        }
        Ok(())
    }

    /// Whether cuts keep a leg from being soft, and from being collinear with others.
    fn is_bounded(&self, leg: usize, legs: &SortedSet<usize>) -> bool {
        let has = |observable| {
            self.windows().any(|window| {
                let is_least = window.least > 0.0 && window.take == GroupValue::All;
                let of_leg = window.legs.iter().any(|group| group.contains(&leg));
                window.observable == observable && is_least && of_leg
            })
        };
        has(Observable::Pt) && (has(Observable::Distance) || legs.len() == 1)
    }

    fn windows(&self) -> impl Iterator<Item = &Window> + Clone {
        self.cuts.iter().map(|cut| &cut.window)
    }

    fn request(&self) -> ElementRequest {
        let channels = self.channels.iter();
        ElementRequest {
            windows: self.windows().cloned().collect(),
            rules: self.rules.clone(),
            propagators: channels.clone().map(|of| of.propagators.clone()).collect(),
            off_shell: channels
                .map(|of| of.off_shell_propagators.clone())
                .collect(),
            ..ElementRequest::default()
        }
    }

    /// PDG codes of the propagators with this constraint.
    fn codes(&self, which: Forced) -> Vec<i32> {
        let of_channel = |channel: &Channel| {
            let codes = channel.propagators.iter().enumerate();
            let codes = codes.filter(|(number, _)| {
                let on = channel.on_shell_propagators.contains(number);
                let off = channel.off_shell_propagators.contains(number);
                match which {
                    Forced::No => !on && !off,
                    Forced::On => on,
                    Forced::Off => off,
                }
            });
            codes.map(|(_, code)| *code).collect::<Vec<i32>>()
        };
        self.channels.iter().flat_map(of_channel).collect()
    }

    /// The line on alpha_s and cuts.
    fn conditions(&self, alpha_s: f64) -> String {
        let alpha_s = match self.is_strong {
            true => format!(
                "alpha_s = {} at {} GeV (the parameter card)",
                significant(alpha_s, 4),
                general(self.scale)
            ),
            false => "no alpha_s".to_owned(),
        };
        let mut entries: Vec<&str> = Vec::new();
        for entry in self.cuts.iter().flat_map(|cut| &cut.entries) {
            if !entries.contains(&entry.as_str()) {
                entries.push(entry);
            }
        }
        let cuts = match entries.is_empty() {
            true => "none".to_owned(),
            false => entries.join(", "),
        };
        format!("{alpha_s}; cuts: {cuts}")
    }
}

/// Sets unknown PDG codes of propagators from the lines that the directory lists for the same legs, and marks those of
/// decay chains or after a `$`.
///
/// Args: `channels` are those of a matrix element with the same numbering of diagrams as the directory, where its index
/// is `number`.
fn name_lines(channels: &mut [Channel], directory: &Directory, number: usize) {
    for channel in channels {
        let diagram = channel.diagrams[0].diagram + 1;
        let configs = directory.configs.iter();
        let configs = configs.filter(|config| config.diagrams[number] as usize == diagram);
        let lines = configs.flat_map(|config| &config.lines);
        let listed: SortedMap<u32, _> = lines.map(|line| (line.legs, line)).collect();
        for place in 0..channel.propagators.len() {
            // In the directory the decaying particle is leg 1; here there are two incoming legs.
            let legs = legs_of(&channel.vertices, &format!("p{place}"));
            let legs = legs.into_iter().map(|leg| 1 << (leg - 1)).sum();
            let Some(line) = listed.get(&legs) else {
                continue;
            };
            if channel.propagators[place] == 0 {
                channel.propagators[place] = line.codes[number];
            }
            let marked = match line.forced {
                Forced::No => continue,
                Forced::On => &mut channel.on_shell_propagators,
                Forced::Off => &mut channel.off_shell_propagators,
            };
            if !marked.contains(&place) {
                marked.push(place);
            }
        }
    }
}

/// The renormalisation scale of the decay of a particle with this mass, GeV.
fn scale(card: &RunCard, mass: f64) -> Result<f64> {
    if card.flag("fixed_ren_scale") {
        return Ok(card.number("scale"));
    }
    match card.integer("dynamical_scale_choice") {
        // The clustering of a decay ends with the decaying particle.
        -1 | 5 => Ok(card.number("scalefact") * mass),
        choice => {
            let what = format!("dynamical_scale_choice = {choice} cannot be honoured for a decay");
            let cure = "set it to -1 (the mass of the particle), or fixed_ren_scale to True";
            Err(Error::run_at(card.source(), what, cure))
        }
    }
}

/// Values of the legs of a decay, with one for a second incoming leg inserted.
fn as_two<T: Clone>(of: &[T], second: T) -> Vec<T> {
    let mut found = of.to_vec();
    found.insert(1, second);
    found
}

#[cfg(test)]
mod tests;
