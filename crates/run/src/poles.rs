//! Checks that a cross section is finite: before a run starts, looks for poles of |M|^2 that no cut keeps away, and
//! names the missing cuts.

use crate::Element;
use crate::channel_line::ChannelLine;
use crate::cuts::{Cut, min_mass};
use crate::named_cuts::{self, CutName, NamedCut, ParticleClass};
use crate::text::general;
use mebridge::{Error, Result};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_support::sorted::SortedSet;

/// Masses below this share of a propagator's mass are far below it: of an integral over s / mass^4 only 1e-7 lies
/// there.
const LIGHT: f64 = 0.02;
/// Relative accuracy to which two masses count as the same.
const SAME: f64 = 1e-9;

/// A pole of a propagator. Legs count from 0, including the incoming ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pole {
    /// A massless particle is collinear with a beam.
    AlongBeam(usize),
    /// The invariant mass of two particles reaches the mass of the propagator.
    Meeting {
        legs: [usize; 2],
        /// Those of the legs that are massless vectors and may be soft.
        vectors: Vec<usize>,
        /// Whether both are massless and may be collinear.
        collinear: bool,
    },
}

impl Pole {
    fn legs(&self) -> &[usize] {
        match self {
            Pole::AlongBeam(leg) => std::slice::from_ref(leg),
            Pole::Meeting { legs, .. } => legs,
        }
    }

    /// Describes the kinematics of the pole.
    fn described(&self, pdg: &[i32]) -> String {
        let process = process(pdg);
        match self {
            Pole::AlongBeam(leg) => {
                format!(
                    "in {process} the particle {} may go along a beam",
                    pdg[*leg]
                )
            }
            Pole::Meeting {
                legs: [one, other],
                collinear,
                ..
            } => {
                let how = match collinear {
                    true => "go the same way",
                    false => "meet, one of them without energy",
                };
                let (one, other) = (pdg[*one], pdg[*other]);
                format!("in {process} the particles {one} and {other} may {how}")
            }
        }
    }
}

/// The poles that a matrix element's particles can reach, those along a beam first.
fn poles(element: &Element) -> SortedSet<Pole> {
    let (pdg, masses) = (element.pdg(), &element.masses);
    let every: SortedSet<usize> = (2..pdg.len()).collect();
    let mut found = SortedSet::new();
    for line in element.channels().iter().flat_map(ChannelLine::all) {
        if line.between {
            let other: SortedSet<usize> = &every - &line.legs;
            for side in [&line.legs, &other] {
                let leg = side.first().filter(|_| side.len() == 1 && line.mass == 0.0);
                found.extend(
                    leg.filter(|&&leg| masses[leg] == 0.0)
                        .map(|&leg| Pole::AlongBeam(leg)),
                );
            }
            continue;
        }
        let legs: Vec<usize> = line.legs.iter().copied().collect();
        let Ok(legs) = <[usize; 2]>::try_from(legs) else {
            continue;
        };
        let sum = masses[legs[0]] + masses[legs[1]];
        if every.len() == 2 || line.width != 0.0 || !is_close(sum, line.mass) {
            continue;
        }
        let vector = |leg: &usize| matches!(pdg[*leg], 21 | 22) && masses[*leg] == 0.0;
        let vectors: Vec<usize> = legs.into_iter().filter(vector).collect();
        let collinear = legs.iter().all(|&leg| masses[leg] == 0.0);
        if collinear || !vectors.is_empty() {
            found.insert(Pole::Meeting {
                legs,
                vectors,
                collinear,
            });
        }
    }
    found
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= SAME * one.abs().max(other.abs())
}

/// A process as PDG codes.
fn process(pdg: &[i32]) -> String {
    let codes: Vec<String> = pdg.iter().map(i32::to_string).collect();
    let (incoming, outgoing) = codes.split_at(2.min(codes.len()));
    format!(
        "{} > {} (PDG codes)",
        incoming.join(" "),
        outgoing.join(" ")
    )
}

fn refused(what: String, cure: String) -> Error {
    Error::run(
        format!("the cross section is infinite without a cut: {what}"),
        cure,
    )
}

/// Checks that named cuts keep all poles away.
///
/// # Errors
/// Some poles remain; the message names cuts that would keep them away.
pub fn by_name<'a>(
    elements: impl IntoIterator<Item = &'a Element>,
    cuts: &[NamedCut],
) -> Result<()> {
    let bounds = Bounds {
        cuts,
        known: named_cuts::names(),
    };
    let (mut place, mut missing) = (None, SortedSet::new());
    for element in elements {
        for pole in poles(element) {
            let found = bounds.missing(&pole, element.pdg());
            if !found.is_empty() {
                place.get_or_insert_with(|| pole.described(element.pdg()));
            }
            missing.extend(found);
        }
    }
    let Some(place) = place else {
        return Ok(());
    };
    let example = |name: &&str| {
        let value = if name.starts_with("dr") { "0.4" } else { "20" };
        format!("\"{name}\": {value}")
    };
    let examples: Vec<String> = missing.iter().map(example).collect();
    let missing: Vec<&str> = missing.into_iter().collect();
    let (missing, examples) = (missing.join(" and "), examples.join(", "));
    Err(refused(
        place,
        format!("give {missing}, such as cuts={{{examples}}}"),
    ))
}

/// Named cuts, as bounds on observables.
struct Bounds<'a> {
    cuts: &'a [NamedCut],
    known: Vec<CutName>,
}

impl Bounds<'_> {
    fn has(&self, observable: Observable, classes: &[ParticleClass]) -> bool {
        let bounds = |named: &&NamedCut| named.value > 0.0 || named.cut.is_largest();
        let mut bounds = self.cuts.iter().filter(bounds);
        bounds.any(|named| named.cut.is_of(observable, classes))
    }

    /// The cuts that would keep a pole away; empty if the given ones do, or if no named cut applies to its particles.
    fn missing(&self, pole: &Pole, pdg: &[i32]) -> Vec<&str> {
        let class = |&leg: &usize| ParticleClass::from_pdg(pdg[leg]);
        let Some(classes) = pole.legs().iter().map(class).collect::<Option<Vec<_>>>() else {
            return Vec::new();
        };
        let name =
            |observable, classes: &[ParticleClass]| shortest(&self.known, observable, classes);
        let (vectors, collinear) = match pole {
            Pole::AlongBeam(_) if self.off_the_beam(classes[0], pdg) => return Vec::new(),
            Pole::AlongBeam(_) => return vec![name(Observable::Pt, &classes)],
            Pole::Meeting { .. } if self.has(Observable::Mass, &classes) => return Vec::new(),
            Pole::Meeting {
                vectors, collinear, ..
            } => (vectors, *collinear),
        };
        let mut found = Vec::new();
        if collinear && !self.has(Observable::Distance, &classes) {
            found.push(name(Observable::Distance, &classes));
        }
        for soft in vectors.iter().filter_map(class) {
            if !self.has(Observable::Pt, &[soft]) {
                found.push(name(Observable::Pt, &[soft]));
            }
        }
        found
    }

    /// Whether particles of this class are kept away from the beams and from being soft.
    fn off_the_beam(&self, class: ParticleClass, pdg: &[i32]) -> bool {
        let classes = pdg[2..]
            .iter()
            .filter_map(|&code| ParticleClass::from_pdg(code));
        let mut others: SortedSet<ParticleClass> = classes.collect();
        let has_pt = |one: &ParticleClass| self.has(Observable::Pt, &[*one]);
        let has_rapidity = |one: &ParticleClass| self.has(Observable::Rapidity, &[*one]);
        if pdg.len() == 4 {
            // The two particles are back to back.
            others.insert(class);
            return others.iter().any(|one| has_pt(one) || has_rapidity(one));
        }
        let mut others = others.iter();
        let hard = others.any(|&other| self.has(Observable::Mass, &[class, other]));
        has_pt(&class) || (has_rapidity(&class) && hard)
    }
}

/// The shortest name of a cut; one exists for each class and each pair of classes.
fn shortest<'a>(
    known: &'a [CutName],
    observable: Observable,
    classes: &[ParticleClass],
) -> &'a str {
    let names = known.iter().filter(|cut| cut.is_of(observable, classes));
    let names = names.map(|cut| cut.name.as_str());
    names.min_by_key(|name| name.len()).unwrap_or_default()
}

/// A missing bound, in the order in which messages list them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    Distance([usize; 2]),
    Pt(usize),
}

/// Checks that the cuts of a run card keep all poles of a matrix element away.
///
/// # Errors
/// Some poles remain; the message names the missing bounds.
pub fn by_run_card(element: &Element, cuts: &[Cut]) -> Result<()> {
    let pdg = element.pdg();
    for pole in poles(element) {
        let missing = unbounded(&pole, pdg.len(), cuts);
        if missing.is_empty() {
            continue;
        }
        let missing = missing.into_iter().map(|bound| match bound {
            Bound::Distance([one, other]) => {
                format!("the least distance of {} and {}", pdg[one], pdg[other])
            }
            Bound::Pt(leg) => format!("the least transverse momentum of {}", pdg[leg]),
        });
        let missing = missing.collect::<Vec<_>>().join(" and ");
        return Err(refused(
            pole.described(pdg),
            format!("set {missing} in the run card"),
        ));
    }
    Ok(())
}

/// The missing bounds for a pole of a process with `count` legs.
fn unbounded(pole: &Pole, count: usize, cuts: &[Cut]) -> SortedSet<Bound> {
    let is_of = |window: &Window, observable, legs: &[usize]| {
        let mut of: Vec<usize> = window.legs.concat();
        of.sort_unstable();
        window.observable == observable && !window.outside && of == legs
    };
    let windows = || cuts.iter().map(|cut| &cut.window);
    let least = |observable, legs: &[usize]| {
        windows().any(|window| window.least > 0.0 && is_of(window, observable, legs))
    };
    let central = |leg: usize| {
        windows().any(|window| {
            window.largest < f64::INFINITY && is_of(window, Observable::Rapidity, &[leg])
        })
    };
    match pole {
        &Pole::AlongBeam(leg) => {
            // Two particles are back to back.
            let two = count == 4;
            let several = if two { 2..count } else { leg..leg + 1 };
            let bounded = several.clone().any(|one| least(Observable::Pt, &[one]))
                || (two && several.clone().any(central))
                || central(leg)
                    && (2..count).any(|other| {
                        let pair = [leg.min(other), leg.max(other)];
                        other != leg && least(Observable::Mass, &pair)
                    });
            (!bounded).then_some(Bound::Pt(leg)).into_iter().collect()
        }
        Pole::Meeting { legs, .. } if least(Observable::Mass, legs) => SortedSet::new(),
        Pole::Meeting {
            legs,
            vectors,
            collinear,
        } => {
            let apart = !collinear || least(Observable::Distance, legs);
            let soft = vectors
                .iter()
                .filter(|&&leg| !least(Observable::Pt, &[leg]));
            let soft = soft.map(|&leg| Bound::Pt(leg));
            let apart = (!apart).then_some(Bound::Distance(*legs));
            apart.into_iter().chain(soft).collect()
        }
    }
}

/// Checks that particles that can be on their mass shells have a width; otherwise a survey would never end, or be
/// wrong.
///
/// Args: `energy` is that of both beams in their centre of mass, GeV; `densities` says whether the beams have parton
/// densities.
///
/// # Errors
/// A particle has no width, or one that is lost in rounding.
pub fn resonances(
    element: &Element,
    windows: &[Window],
    energy: f64,
    densities: bool,
) -> Result<()> {
    let masses = &element.masses;
    let mass_of = |legs: &SortedSet<usize>| legs.iter().map(|&leg| masses[leg]).sum::<f64>();
    let every: SortedSet<usize> = (2..masses.len()).collect();
    for line in element.channels().iter().flat_map(ChannelLine::all) {
        if !line.is_narrow() || line.between {
            continue;
        }
        let least = match line.legs == every && !densities {
            true => energy,
            false => min_mass(windows, masses, &line.legs),
        };
        let of_line = windows.iter().filter(|window| {
            let legs: SortedSet<usize> = window.legs[0].iter().copied().collect();
            window.observable == Observable::Mass && !window.outside && legs == line.legs
        });
        let most = energy - mass_of(&(&every - &line.legs));
        let most = of_line.fold(most, |most, window| most.min(window.largest));
        let reached = least * (1.0 - SAME)..=most * (1.0 + SAME);
        // If it splits into itself and a massless particle, cuts keep it away from its mass shell.
        if !reached.contains(&line.mass) || is_close(mass_of(&line.legs), line.mass) {
            continue;
        }
        return Err(Error::run_at(
            process(element.pdg()),
            format!("{}, or cut that mass away", line.without_width()),
            "",
        ));
    }
    Ok(())
}

/// Whether events with masses below `floor`, GeV, can be neglected: all propagators are far heavier, so that |M|^2
/// falls off there.
pub fn vanishes_below(element: &Element, floor: f64) -> bool {
    let masses = element
        .channels()
        .iter()
        .flat_map(|channel| &channel.masses);
    masses
        .map(|(mass, _)| mass)
        .all(|mass| floor < LIGHT * mass.abs())
}

/// Advice on a cut that removes events below a mass, GeV: an entry of a run card if `cuts` is `None`, otherwise a named
/// cut.
pub fn larger_masses(pdg: &[i32], mass: f64, cuts: Option<&[NamedCut]>) -> String {
    let digits = 10_f64.powf(mass.log10().floor() - 1.0);
    let above = |mass: f64| general((mass / digits).ceil() * digits);
    if cuts.is_none() {
        let leptons = pdg[2..].iter().all(|code| (11..17).contains(&code.abs()));
        let entry = if leptons {
            "mmnl (or dsqrt_shat)"
        } else {
            "dsqrt_shat"
        };
        let least = above(mass);
        return format!(
            "set their least mass in the run card, {entry} = {least} or more, or take densities that go down to smaller x"
        );
    }
    let classes = pdg[2..]
        .iter()
        .filter_map(|&code| ParticleClass::from_pdg(code));
    let classes: Vec<ParticleClass> = classes.collect();
    let known = named_cuts::names();
    let (name, value) = match classes[..] {
        [] => return "take densities that go down to smaller x, or a lower energy".to_owned(),
        [_, _] => (shortest(&known, Observable::Mass, &classes), mass),
        [first, ..] => {
            let count = classes.iter().filter(|&&class| class == first).count();
            (
                shortest(&known, Observable::Pt, &[first]),
                mass / count as f64,
            )
        }
    };
    format!(
        "cut small masses, such as by cuts={{\"{name}\": {}}}",
        above(value)
    )
}

#[cfg(test)]
pub(crate) mod tests;
