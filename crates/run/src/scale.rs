//! Renormalisation and factorisation scales of the events of a run.

use crate::run_card::RunCard;
use crate::spec::ScaleChoice;
use crate::text::{quoted, repr};
use mebridge::{Error, Result};
use mebridge_phasespace::scales::{Dynamical, Scale};

/// Scales that depend on the momenta, by name, in the order of `dynamical_scale_choice` from 1 on.
const DYNAMICAL: [(&str, Dynamical); 4] = [
    ("et", Dynamical::TransverseEnergy),
    ("ht", Dynamical::TransverseMass),
    ("ht/2", Dynamical::HalfTransverseMass),
    ("shat", Dynamical::PartonicEnergy),
];

/// The scale of a `dynamical_scale_choice`; `None` for values that are not a function of momenta, such as clustering
/// (-1).
pub fn dynamical(choice: i64) -> Option<Dynamical> {
    let place = usize::try_from(choice).ok()?.checked_sub(1)?;
    DYNAMICAL.get(place).map(|(_, scale)| *scale)
}

/// The name of a scale.
pub fn name(scale: Dynamical) -> &'static str {
    let same = |(_, other): &&(&str, Dynamical)| *other == scale;
    DYNAMICAL.iter().find(same).map_or("", |(name, _)| *name)
}

/// The scales of a run card. With scales by clustering, these are for events without a clustering: half of the sum of
/// transverse masses.
///
/// Args: `alone` says whether each process has a single outgoing particle.
pub fn from_run_card(card: &RunCard, alone: bool) -> Scale {
    // For a single particle, clustering gives its mass.
    let otherwise = match alone {
        true => Dynamical::TransverseMass,
        false => Dynamical::HalfTransverseMass,
    };
    let [first, second] = factorisation_is_fixed(card);
    let fixed = |is_fixed: bool, name: &str| is_fixed.then(|| card.number(name));
    Scale {
        dynamical: dynamical(card.integer("dynamical_scale_choice")).unwrap_or(otherwise),
        factor: card.number("scalefact"),
        renormalisation: card.flag("fixed_ren_scale").then(|| card.number("scale")),
        factorisation: [
            fixed(first, "dsqrt_q2fact1"),
            fixed(second, "dsqrt_q2fact2"),
        ],
    }
}

/// Whether the scale of each beam's densities is fixed in a run card. That of a beam which is a parton does not matter
/// if the other one is none.
pub fn factorisation_is_fixed(card: &RunCard) -> [bool; 2] {
    let fixed = ["fixed_fac_scale1", "fixed_fac_scale2"].map(|name| card.flag(name));
    match ["lpp1", "lpp2"].map(|name| card.integer(name) == 0) {
        [true, false] => [fixed[1]; 2],
        [false, true] => [fixed[0]; 2],
        _ => fixed,
    }
}

/// The scales of a run without a run card. The default is half of the sum of transverse masses with parton densities,
/// and the energy (GeV) without.
///
/// # Errors
/// The scale has an unknown name, a number is not positive, or a fixed scale has a factor.
pub fn stated(
    choice: Option<&ScaleChoice>,
    factor: f64,
    energy: f64,
    densities: bool,
) -> Result<Scale> {
    if !(factor > 0.0 && factor.is_finite()) {
        let what = format!("scale_factor is {}", repr(factor));
        return Err(Error::run(what, "it must be a positive number"));
    }
    let fixed = match choice {
        Some(ScaleChoice::Fixed(fixed)) => Some(*fixed),
        None if !densities => Some(energy),
        _ => None,
    };
    if let Some(fixed) = fixed {
        if !(fixed > 0.0 && fixed.is_finite()) {
            let what = format!("scale is {}", repr(fixed));
            return Err(Error::run(what, "it must be a positive number"));
        }
        if factor != 1.0 {
            let what = "scale_factor multiplies a scale that is not a number".to_owned();
            return Err(Error::run(what, "leave it out"));
        }
    }
    let dynamical = match choice {
        Some(ScaleChoice::Dynamical(name)) => {
            let found = DYNAMICAL.iter().find(|(known, _)| known == name);
            let (_, scale) = found.ok_or_else(|| {
                let known = DYNAMICAL.map(|(name, _)| name).join(", ");
                let what = format!("there is no scale {}", quoted(name));
                Error::run(what, format!("there are {known}, or a number in GeV"))
            })?;
            *scale
        }
        _ => Dynamical::HalfTransverseMass,
    };
    Ok(Scale {
        dynamical,
        factor,
        renormalisation: fixed,
        factorisation: [fixed; 2],
    })
}
