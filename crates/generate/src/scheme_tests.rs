//! The Standard Model with complex masses and in the Feynman gauge.

use super::*;
use crate::model::Scheme;
use crate::model_tests::{close, points};

const COMPLEX: Scheme = Scheme::COMPLEX_MASSES;
const FEYNMAN: Scheme = Scheme::FEYNMAN;
const BOTH: Scheme = Scheme {
    complex_masses: true,
    ..FEYNMAN
};

/// |M|^2 of a process at a point of its phase space.
fn squared(text: &str, scheme: Scheme) -> f64 {
    let model = Model::standard_in(scheme).unwrap();
    let process = generate_with(text, &model).unwrap().remove(0);
    let momenta = points(&process, 700.0);
    let mut card = process.model.default_card();
    // As in MG5aMC's card.
    let w = process.model.card.iter().position(|p| p.name == "MDL_MW");
    if let Some(w) = w {
        card[w] = 80.419;
    }
    process.evaluate(&momenta, 1.1, &card).total()
}

/// Results of MG5aMC's Fortran at the same points, after `set complex_mass_scheme True` and `set gauge Feynman`.
#[test]
fn numbers_are_those_of_mg5amc() {
    for (text, scheme, squared_by_fortran) in [
        ("u u~ > e+ ve mu- vm~", COMPLEX, 3.0850692255265496e-12),
        ("u u~ > e+ ve mu- vm~", BOTH, 3.0850692255265464e-12),
        ("u u~ > e+ ve mu- vm~", FEYNMAN, 3.0888342799468518e-12),
        ("w+ w- > w+ w-", COMPLEX, 0.9481922092572042),
        ("w+ w- > w+ w-", BOTH, 0.9481922092572062),
        ("w+ w- > w+ w-", FEYNMAN, 0.9385536282622129),
        ("t t~ > h z", COMPLEX, 0.1506687486262237),
        ("t t~ > h z", BOTH, 0.15067165933293825),
        ("t t~ > h z", FEYNMAN, 0.15074998404801618),
        ("b t~ > w- h", COMPLEX, 0.054421053411809396),
        ("b t~ > w- h", BOTH, 0.05442078661896309),
        ("b t~ > w- h", FEYNMAN, 0.05445108523390672),
        ("b b~ > e+ ve mu- vm~", COMPLEX, 4.430333029306196e-12),
        ("b b~ > e+ ve mu- vm~", BOTH, 4.430333029306189e-12),
        ("b b~ > e+ ve mu- vm~", FEYNMAN, 4.435451779217428e-12),
    ] {
        close(squared(text, scheme), squared_by_fortran);
    }
}

/// With complex masses, |M|^2 does not depend on the gauge if the legs that couple to Goldstone bosons have the mass in
/// their couplings, that is, have no width.
#[test]
fn complex_masses_are_independent_of_the_gauge() {
    for text in [
        "u u~ > e+ ve mu- vm~",
        "w+ w- > w+ w-",
        "b b~ > w+ w-",
        "b b~ > z h",
        "vt~ ta- > w- h",
        "b b~ > e+ ve mu- vm~",
        "ta+ ta- > b b~ mu+ mu-",
    ] {
        close(squared(text, BOTH), squared(text, COMPLEX));
    }
}

/// With real masses, and widths only in propagators, |M|^2 does not depend on the gauge at all.
#[test]
fn goldstone_bosons_make_the_longitudinal_part() {
    for text in [
        "w+ w- > w+ w-",
        "t t~ > h z",
        "b t~ > w- h",
        "t t~ > t t~ QCD=0",
        "ta+ ta- > z h",
        "g g > t t~ h",
    ] {
        close(squared(text, FEYNMAN), squared(text, Scheme::default()));
    }
}
