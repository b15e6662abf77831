use super::*;
use crate::cuts::{Legs, from_run_card};
use crate::load::load_process;
use crate::run_card::RunCard;
use mebridge_support::sorted::SortedMap;

/// The matrix elements of a process text, with changed parameters.
pub(crate) fn elements(text: &str, parameters: &[(&str, f64)]) -> Vec<Element> {
    let given = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    let given: SortedMap<String, f64> = given.collect();
    load_process(text, None, None, &given, 1).unwrap()
}

/// Cuts by name.
pub(crate) fn cuts(given: &[(&str, f64)]) -> Vec<NamedCut> {
    let given = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    named_cuts::read(&given.collect::<SortedMap<String, f64>>()).unwrap()
}

/// Checks the cuts of a run card on a matrix element.
pub(crate) fn cuts_of_card(element: &Element, entries: &[(&str, &str)]) -> Vec<Cut> {
    let given = entries
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let card = RunCard::from_entries(given.collect(), "run_card.dat", &[]).unwrap();
    let legs = Legs {
        pdg: element.pdg(),
        masses: &element.masses,
        decayed: &SortedSet::new(),
        card: &card,
    };
    from_run_card(&legs, 1000.0).0
}

const OPEN: [(&str, &str); 8] = [
    ("ptj", "0"),
    ("drjj", "0"),
    ("pta", "0"),
    ("ptl", "0"),
    ("drll", "0"),
    ("draa", "0"),
    ("draj", "0"),
    ("dral", "0"),
];

/// The end of the message about missing cuts, after its fixed beginning.
fn said(result: Result<()>) -> Option<String> {
    let error = result.err()?.to_string();
    let begin = "the cross section is infinite without a cut: in ";
    Some(
        error
            .strip_prefix(begin)
            .expect("the same beginning")
            .to_owned(),
    )
}

/// Processes, named cuts, the messages about them, and those for a run card without cuts; the default cuts of MG5aMC
/// suffice for all.
/// for all.
#[test]
fn the_missing_cut_is_named() {
    let top = "21 21 > 6 -6 21 (PDG codes) the particle 21 may go along a beam; ";
    let jets = "2 1 > 2 1 (PDG codes) the particle 2 may go along a beam; ";
    let boson = "2 -2 > 23 21 (PDG codes) the particle 21 may go along a beam; ";
    let gluons = "21 21 > 21 21 21 (PDG codes) the particles 21 and 21 may go the same way; ";
    let quarks = "-11 11 > 2 -2 21 (PDG codes) the particles 2 and 21 may go the same way; ";
    let bottoms = "-11 11 > 5 -5 21 (PDG codes) the particles 5 and 21 may meet, one of them without energy; ";
    let muons = "-11 11 > -13 13 22 (PDG codes) the particles -13 and 22 may go the same way; ";
    let pt = "give pt, such as cuts={\"pt\": 20}";
    #[rustfmt::skip]
    let cases = [
        ("g g > t t~ g", &[][..], top, pt),
        ("g g > t t~ g", &[("eta", 3.0)], top, pt),
        ("g g > t t~ g", &[("pt", 0.0)], top, pt),
        ("u d > u d", &[], jets, pt),
        ("u d > u d", &[("mass", 100.0), ("dr", 0.4)], jets, pt),
        ("u u~ > z g", &[("ptl", 20.0)], boson, pt),
        ("g g > g g g", &[("pt", 20.0)], gluons, "give dr, such as cuts={\"dr\": 0.4}"),
        ("e+ e- > u u~ g", &[], quarks, "give dr and pt, such as cuts={\"dr\": 0.4, \"pt\": 20}"),
        ("e+ e- > u u~ g", &[("dr", 0.4)], quarks, pt),
        ("e+ e- > b b~ g", &[], bottoms, pt),
        ("e+ e- > mu+ mu- a", &[("drll", 0.4), ("pta", 10.0)], muons, "give dral, such as cuts={\"dral\": 0.4}"),
    ];
    for (text, given, place, cure) in cases {
        let elements = elements(text, &[]);
        let found = said(by_name(&elements, &cuts(given)));
        assert_eq!(found, Some(format!("{place}{cure}")));
        let by_default = cuts_of_card(&elements[0], &[]);
        assert_eq!(said(by_run_card(&elements[0], &by_default)), None, "{text}");
    }
    for (text, given) in [
        ("g g > t t~", &[][..]),
        ("u u~ > w+ w-", &[]),
        ("e+ e- > mu+ mu-", &[]),
        ("e+ e- > t t~ h", &[]),
        ("u d > u d", &[("eta", 3.0)]),
        ("e+ e- > u u~ g", &[("mass", 10.0)]),
        ("g g > g g g", &[("eta", 3.0), ("mass", 50.0)]),
        ("g g > g g g", &[("pt", 20.0), ("dr", 0.4)]),
    ] {
        assert_eq!(
            said(by_name(&elements(text, &[]), &cuts(given))),
            None,
            "{text}"
        );
    }
}

#[test]
fn what_a_run_card_has_to_bound_is_named() {
    let along = "set the least transverse momentum of 21 in the run card";
    let apart = "set the least distance of 2 and 21 and the least transverse momentum of 21 in the run card";
    let top = "21 21 > 6 -6 21 (PDG codes) the particle 21 may go along a beam; ";
    let quarks = "-11 11 > 2 -2 21 (PDG codes) the particles 2 and 21 may go the same way; ";
    let bottoms = "-11 11 > 5 -5 21 (PDG codes) the particles 5 and 21 may meet, one of them without energy; ";
    for (text, entries, wanted) in [
        ("g g > t t~ g", &OPEN[..], Some(format!("{top}{along}"))),
        ("e+ e- > u u~ g", &OPEN, Some(format!("{quarks}{apart}"))),
        ("e+ e- > b b~ g", &OPEN, Some(format!("{bottoms}{along}"))),
        // The rapidity of one of two particles suffices, as they are back to back.
        ("u d > u d", &OPEN, None),
        (
            "e+ e- > u u~ g",
            &[("ptj", "0"), ("drjj", "0"), ("mmjj", "10")],
            None,
        ),
    ] {
        let element = &elements(text, &[])[0];
        let cuts = cuts_of_card(element, entries);
        assert_eq!(said(by_run_card(element, &cuts)), wanted, "{text}");
    }
}

#[test]
fn what_keeps_poles_away() {
    let given = [("ptj", "20"), ("drjj", "0.4"), ("pta", "0"), ("draj", "0")];
    let element = &elements("u u~ > g g a", &[])[0];
    let cuts = cuts_of_card(element, &given);
    let pole = |legs, vectors: &[usize]| Pole::Meeting {
        legs,
        vectors: vectors.to_vec(),
        collinear: true,
    };
    let missing = |pole: &Pole| unbounded(pole, 5, &cuts).into_iter().collect::<Vec<_>>();
    assert!(missing(&Pole::AlongBeam(2)).is_empty());
    assert!(missing(&Pole::AlongBeam(4)) == [Bound::Pt(4)]);
    assert!(missing(&pole([2, 3], &[2, 3])).is_empty());
    assert!(missing(&pole([2, 4], &[4])) == [Bound::Distance([2, 4]), Bound::Pt(4)]);
}

/// The message about a particle without a width that can be on its mass shell.
#[test]
fn resonances_need_a_width() {
    let open = [("ptl", "0"), ("etal", "-1"), ("drll", "0"), ("dral", "0")];
    let away = [&open[..], &[("mmll", "95")]].concat();
    let some = [&open[..], &[("mmll", "50")]].concat();
    let photon = "e+ e- > mu+ mu- a";
    let infinite = "no width, which makes the cross section infinite";
    for (text, width, entries, energy, has) in [
        (photon, 0.0, &open[..], 1000.0, Some(infinite)),
        (
            photon,
            1e-300,
            &open,
            1000.0,
            Some("a width of 1e-300 GeV, which is lost in rounding"),
        ),
        (
            photon,
            1e-13,
            &open,
            1000.0,
            Some("a width of 1e-13 GeV, which is lost in rounding"),
        ),
        ("e+ e- > mu+ mu-", 0.0, &open, 91.188, Some(infinite)),
        // The particle is absent, or never on its mass shell, or wide enough.
        ("e+ e- > mu+ mu-", 0.0, &open, 1000.0, None),
        (photon, 0.0, &away, 1000.0, None),
        (photon, 2e-12, &some, 1000.0, None),
    ] {
        let element = &elements(text, &[("wz", width)])[0];
        let windows: Vec<Window> = cuts_of_card(element, entries)
            .into_iter()
            .map(|cut| cut.window)
            .collect();
        let found = resonances(element, &windows, energy, false).map_err(|error| error.to_string());
        let wanted = has.map_or(Ok(()), |has| {
            let codes = if text == photon { "-13 13 22" } else { "-13 13" };
            Err(format!(
                "-11 11 > {codes} (PDG codes): particle 23 (PDG code) can be on its mass shell, at 91.188 GeV, and has {has}; \
                 give it one of at least 9e-13 GeV in the parameter card (DECAY 23), or cut that mass away"
            ))
        });
        assert_eq!(found, wanted, "{text} with {width}");
    }
    let boson = &elements("e+ e- > z a", &[])[0];
    assert!(resonances(boson, &[], 1000.0, false).is_ok());
    // With densities, any energy can be at the mass.
    let element = &elements("u u~ > mu+ mu-", &[("wz", 0.0)])[0];
    assert!(resonances(element, &[], 8000.0, true).is_err());
    assert!(resonances(element, &[], 8000.0, false).is_ok());
}

#[test]
fn larger_masses_are_proposed() {
    let cuts = cuts(&[]);
    let muons = [2, -2, 13, -13];
    let card = "set their least mass in the run card, mmnl (or dsqrt_shat) = 0.8 or more, or take densities that go down to \
                smaller x";
    assert_eq!(larger_masses(&muons, 0.8, None), card);
    let photons = [2, -2, 22, 22];
    let found = larger_masses(&photons, 0.80001, None);
    assert!(
        found.contains("run card, dsqrt_shat = 0.81 or more"),
        "{found}"
    );
    for (pdg, cure) in [
        (
            &muons[..],
            "cut small masses, such as by cuts={\"massll\": 8}",
        ),
        (
            &[2, -2, 22, 21],
            "cut small masses, such as by cuts={\"massaj\": 8}",
        ),
        (
            &[2, -2, 21, 21, 21],
            "cut small masses, such as by cuts={\"pt\": 2.7}",
        ),
        (
            &[2, -2, 12, -12],
            "take densities that go down to smaller x, or a lower energy",
        ),
    ] {
        assert_eq!(larger_masses(pdg, 8.0, Some(&cuts)), cure);
    }
}
