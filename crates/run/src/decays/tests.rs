//! Expected numbers are from an earlier implementation in Python.

use super::*;
use crate::load::load_process;
use crate::output::{Config, DiagramLine as Listed};
use mebridge::event_generator::EventGenerator;

fn card(changed: &[(&str, &str)]) -> RunCard {
    let given = changed
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    RunCard::from_entries(given.collect(), "the card", &[]).unwrap()
}

fn elements(process: &str) -> Vec<Element> {
    load_process(process, None, None, &SortedMap::new(), 1).unwrap()
}

fn planned(process: &str, changed: &[(&str, &str)]) -> Result<Decays> {
    plan(
        &elements(process),
        &card(changed),
        0.118,
        None,
        1.0 / 132.507,
        1,
    )
}

fn made(process: &str, changed: &[(&str, &str)]) -> Decays {
    planned(process, changed).unwrap()
}

fn refusal(process: &str, changed: &[(&str, &str)]) -> String {
    planned(process, changed).unwrap_err().to_string()
}

fn close(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-12
}

/// PDG codes of the propagators of each channel, and those that must not be on their mass shells.
fn lines(decays: &Decays) -> (Vec<Vec<i32>>, Vec<Vec<usize>>) {
    let element = &decays.request.elements[0];
    (element.propagators.clone(), element.off_shell.clone())
}

#[test]
fn the_energy_is_the_mass_and_so_is_the_scale() {
    let found = made("t > b w+", &[]);
    let request = &found.request;
    assert_eq!((found.pdg, found.mass, request.energy), (6, 173.0, 173.0));
    assert_eq!(request.alpha_s.0, [173.0, 346.0]);
    assert!(
        request
            .alpha_s
            .1
            .iter()
            .all(|&value| close(value, 0.10762787285199349))
    );
    let scale = Scale {
        dynamical: Dynamical::PartonicEnergy,
        factor: 1.0,
        renormalisation: None,
        factorisation: [Some(91.188); 2],
    };
    assert_eq!(
        (request.scale, request.widths, request.by_propagators),
        (scale, 15.0, false)
    );
    assert_eq!(request.backend.as_deref(), Some("cpu"));
    assert_eq!(found.conditions, ["no alpha_s; cuts: none"]);
    assert_eq!((found.cuts.as_str(), found.notices.len()), ("", 0));

    let changed = [
        ("scalefact", "0.5"),
        ("dsqrt_q2fact1", "33.0"),
        ("sde_strategy", "2"),
    ];
    let request = made("t > b w+", &changed).request;
    assert_eq!(
        (request.scale.factor, request.scale.factorisation),
        (0.5, [Some(33.0); 2])
    );
    assert_eq!((request.alpha_s.0[0], request.by_propagators), (86.5, true));
    assert!(close(request.alpha_s.1[0], 0.11894688276299113));

    // If no coupling is strong, any scale is accepted; 5 is the clustering scale, which for a decay is the mass.
    let changed = [("fixed_ren_scale", "True"), ("scale", "0.5")];
    assert_eq!(
        made("t > b w+", &changed).request.scale.renormalisation,
        Some(0.5)
    );
    let changed = [("dynamical_scale_choice", "5")];
    assert_eq!(made("t > b w+", &changed).request.alpha_s.0, [173.0, 346.0]);
}

#[test]
fn each_particle_has_its_scale_and_the_cuts_of_its_legs() {
    let cuts = [("ptj", "8.0"), ("drjj", "0.4")];
    let found = made("t > b w+; add process z > u u~ g", &cuts);
    let conditions = [
        "no alpha_s; cuts: none",
        "alpha_s = 0.118 at 91.188 GeV (the parameter card); cuts: ptj = 8, drjj = 0.4",
    ];
    assert_eq!(found.conditions, conditions);
    assert_eq!(found.request.alpha_s.0, [91.188, 173.0, 346.0]);
    assert!(close(found.request.alpha_s.1[0], 0.118));
    let windows = &found.request.elements[1].windows;
    let legs = windows
        .iter()
        .map(|window| (window.observable, window.least, &window.legs[0][..]));
    let (pt, distance) = (Observable::Pt, Observable::Distance);
    let wanted: [(Observable, f64, &[usize]); 6] = [
        (pt, 8.0, &[2]),
        (pt, 8.0, &[3]),
        (pt, 8.0, &[4]),
        (distance, 0.4, &[2]),
        (distance, 0.4, &[2]),
        (distance, 0.4, &[3]),
    ];
    assert_eq!(legs.collect::<Vec<_>>(), wanted);
    assert!(found.request.elements[0].windows.is_empty());
    assert_eq!(found.request.elements[1].propagators, [[2], [-2]]);
}

#[test]
fn cuts_are_those_that_a_card_gives() {
    // Defaults of ptl, etal and others are those of collisions, and so is the total outgoing energy.
    let none = made("t > b e+ ve", &[("dsqrt_shat", "500.0")]);
    assert!(none.request.elements[0].windows.is_empty());
    let found = made(
        "t > b e+ ve",
        &[("ptl", "20.0"), ("etal", "2.5"), ("drbl", "0.4")],
    );
    assert_eq!(
        found.conditions,
        ["no alpha_s; cuts: ptl = 20, etal = 2.5, drbl = 0.4"]
    );
    assert_eq!(
        found.cuts,
        "pt of 11 from 20; rapidity of 11 to 2.5; distance of 5, 11 from 0.4"
    );
    let by_code = [("e_max_pdg", "{11:50,13:50}"), ("mxx_min_pdg", "{6:3}")];
    let found = made("t > b l+ vl", &by_code);
    assert_eq!(found.conditions, ["no alpha_s; cuts: e_max_pdg = {11: 50}"]);
    let [notice] = &found.notices[..] else {
        panic!("{:?}", found.notices);
    };
    assert!(
        notice.starts_with("mxx_min_pdg (6) of the run card cuts nothing"),
        "{notice}"
    );
}

#[test]
fn lines_of_decay_chains_are_on_their_mass_shells() {
    let masses = |changed: &[(&str, &str)]| {
        let found = made("t > b w+, w+ > e+ ve", changed);
        assert_eq!(
            (lines(&found), &found.request.forced[..]),
            ((vec![vec![24]], vec![vec![]]), &[24][..])
        );
        let windows = &found.request.elements[0].windows;
        assert_eq!(windows[0].legs, [[3, 4]]);
        (windows[0].least, windows[0].largest, windows.len())
    };
    assert_eq!(
        masses(&[("ptl", "10.0")]),
        (49.705002445756165, 111.13300244575616, 1)
    );
    let cut = [
        ("cut_decays", "True"),
        ("ptl", "10.0"),
        ("bwcutoff", "5.0"),
        ("small_width_treatment", "0.1"),
    ];
    assert_eq!(masses(&cut), (40.20950122287808, 120.62850366863424, 2));

    let both = made("h > w+ w-, w+ > e+ ve, w- > j j", &[]).request;
    let legs: Vec<_> = both.elements[0]
        .windows
        .iter()
        .map(|window| window.legs.concat())
        .collect();
    assert_eq!(
        (legs, both.forced),
        (vec![vec![4, 5], vec![2, 3]], vec![24])
    );
}

#[test]
fn lines_after_a_dollar_are_off_their_mass_shells() {
    let found = made("t > b e+ ve $ w+", &[]);
    assert_eq!(lines(&found), (vec![vec![24]], vec![vec![0]]));
    assert_eq!(
        (found.request.forced.len(), &found.request.excluded[..]),
        (0, &[24][..])
    );
    let found = made("h > e+ ve mu- vm~ $ w+", &[]);
    assert_eq!(lines(&found), (vec![vec![-24, 24]], vec![vec![1]]));
    assert_eq!(found.request.excluded, [24]);
    let found = made("h > e+ e- mu+ mu- $ z", &[]);
    assert_eq!(lines(&found), (vec![vec![23, 23]], vec![vec![0, 1]]));
    // The particle is on its mass shell elsewhere.
    let found = made("t > b e+ ve $ w+; add process t > b mu+ vm", &[]);
    assert!(found.request.excluded.is_empty());
}

#[test]
fn a_directory_names_lines_and_says_where_they_have_to_be() {
    let elements = elements("h > e+ ve mu- vm~");
    let mut channels = elements[0].channels().to_vec();
    assert_eq!((channels.len(), channels[0].propagators.len()), (1, 2));
    let codes = channels[0].propagators.clone();
    let plus = codes.iter().position(|&code| code == 24).unwrap();
    channels[0].propagators[plus] = 0;
    // Leg 1 is the decaying particle; the next two are those of the W+.
    let line = |legs, code, forced| Listed {
        legs,
        daughters: [0; 2],
        codes: vec![0, code],
        spacelike: false,
        forced,
    };
    let config = |diagrams: [u32; 2], lines| Config {
        number: 1,
        lines,
        diagrams: diagrams.to_vec(),
        nqcd: 0,
    };
    let directory = Directory {
        path: "P1".into(),
        legs: Vec::new(),
        configs: vec![
            config([1, 0], vec![line(0b00110, 37, Forced::No)]),
            config(
                [0, 1],
                vec![
                    line(0b00110, 34, Forced::Off),
                    line(0b11000, -34, Forced::On),
                ],
            ),
        ],
        colors: None,
    };
    name_lines(&mut channels, &directory, 1);
    // Known codes stay.
    let wanted: Vec<i32> = codes
        .iter()
        .map(|&code| if code == 24 { 34 } else { code })
        .collect();
    assert_eq!(channels[0].propagators, wanted);
    assert_eq!(channels[0].off_shell_propagators, [plus]);
    assert_eq!(channels[0].on_shell_propagators, [1 - plus]);
    name_lines(&mut channels, &directory, 1);
    assert_eq!(channels[0].off_shell_propagators, [plus]);

    let listed = [(&directory, 1)];
    let found = plan(&elements, &card(&[]), 0.118, Some(&listed), 0.0, 1)
        .unwrap()
        .request;
    assert_eq!((found.forced, found.excluded), (vec![24], vec![24]));
    assert_eq!(found.elements[0].windows[0].least, 49.705002445756165);
}

#[test]
fn what_has_no_width_is_refused() {
    let infinite = |codes: &str| {
        format!("the width is infinite without a cut on {codes} (PDG codes), which may have")
    };
    for (process, changed, wanted) in [
        ("t > b w+ g", &[][..], "6 > 5 24 21 (PDG codes): ".to_owned() + &infinite("21")),
        ("z > u u~ g", &[("ptj", "8.0")], infinite("2 and 21")),
        ("z > e+ e- a", &[], infinite("-11 and 22")),
        ("z > e+ e- a", &[("pta", "5.0"), ("dral", "0.4")], infinite("-11")),
        ("w+ > t b~", &[], "24 > 6 -5 (PDG codes): it has the masses of what goes out or less; change".to_owned()),
        (
            "t > b w+",
            &[("dynamical_scale_choice", "3")],
            "the card: dynamical_scale_choice = 3 cannot be honoured for a decay; set it to -1 (the mass of the particle)"
                .to_owned(),
        ),
        (
            "t > b e+ ve",
            &[("ptl", "200.0")],
            "ptl = 200 of the run card leaves nothing of 6 > 5 -11 12 (PDG codes), which has 173 GeV".to_owned(),
        ),
        (
            "t > b w+",
            &[("ptj1min", "10.0")],
            "ptj1min of the run card leaves nothing of 6 > 5 24 (PDG codes); set it to 0".to_owned(),
        ),
        (
            "t > b l+ vl",
            &[("pt_min_pdg", "{11:5}")],
            "pt_min_pdg is not the same for 11, 13 (PDG codes) in the run card, which are one matrix element, 6 > 5 -11 12"
                .to_owned(),
        ),
        (
            "z > u u~ g",
            &[("ptj", "8.0"), ("drjj", "0.4"), ("scalefact", "1e-3")],
            "23 > 2 -2 21 (PDG codes): the scale of renormalisation (the mass; scale with fixed_ren_scale = True) is 0.091188"
                .to_owned(),
        ),
    ] {
        let found = refusal(process, changed);
        assert!(found.contains(&wanted), "{process} {changed:?}: {found}");
    }
    let cuts = [
        ("ptj", "10.0"),
        ("drjj", "0.4"),
        ("drbj", "0.4"),
        ("ptb", "10.0"),
    ];
    assert!(planned("t > b w+ g", &cuts).is_ok());
    assert!(
        planned(
            "z > e+ e- a",
            &[("pta", "5.0"), ("dral", "0.4"), ("ptl", "5.0")]
        )
        .is_ok()
    );
}

#[test]
fn a_width_that_vanishes_is_said() {
    let parameters = SortedMap::from([("ymb".to_owned(), 0.0)]);
    let elements = load_process("h > b b~", None, None, &parameters, 1).unwrap();
    let plan = plan(&elements, &card(&[]), 0.118, None, 0.0, 1).unwrap();
    let processes = elements
        .into_iter()
        .map(|element| element.process)
        .collect();
    let Err(error) = EventGenerator::new(processes, &plan.request, None) else {
        panic!("it has no width");
    };
    let wanted =
        "|M|^2 of 25 5 -5 (PDG codes) vanishes identically: the width is 0; are coupling orders";
    assert!(error.to_string().contains(wanted), "{error}");
}
