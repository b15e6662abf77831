use super::*;
use crate::densities::PdfMember;
use crate::poles::tests::{cuts, cuts_of_card, elements};
use mebridge_phasespace::scales::Dynamical;

/// The range of a grid with all light partons.
fn grid_range(min_x: f64) -> GridRange {
    GridRange {
        place: "deep.dat".to_owned(),
        name: "deep".to_owned(),
        codes: (-5..=5).filter(|&code| code != 0).chain([21]).collect(),
        min_x,
        scales: [1.0, 1e4],
    }
}

fn alpha_s() -> AlphaS {
    AlphaS {
        scales: vec![1.0, 1e3],
        values: vec![0.4, 0.1],
    }
}

fn scale() -> Scale {
    Scale {
        dynamical: Dynamical::HalfTransverseMass,
        factor: 1.0,
        renormalisation: None,
        factorisation: [None; 2],
    }
}

/// Two protons with these densities.
fn protons(densities: Option<&BeamDensities>) -> Incoming<'_> {
    Incoming {
        densities,
        anti: [false; 2],
        other: None,
        photons: 0,
        ions: [None; 2],
        bosons: [None; 2],
    }
}

fn grid() -> BeamDensities {
    BeamDensities::Set(PdfMember {
        file: "deep.dat".into(),
        coupling: None,
        number: 0,
    })
}

/// Returns the windows that [`PhaseSpaceCheck::check`] adds for a process at 8000 GeV, and its notices.
fn judged(
    text: &str,
    entries: Option<&[(&str, &str)]>,
    min_x: f64,
) -> std::result::Result<(Vec<Window>, Vec<String>), String> {
    let element = &elements(text, &[])[0];
    let by_name = cuts(&[]);
    let mut windows: Vec<Window> = match entries {
        Some(entries) => cuts_of_card(element, entries)
            .into_iter()
            .map(|cut| cut.window)
            .collect(),
        None => Vec::new(),
    };
    let (grid_range, alpha_s, scale, grid) = (grid_range(min_x), alpha_s(), scale(), grid());
    let judge = PhaseSpaceCheck {
        energy: 8000.0,
        grid_range: Some(&grid_range),
        alpha_s: &alpha_s,
        scale: &scale,
        cuts: entries.is_none().then_some(&by_name[..]),
    };
    let (before, mut notices) = (windows.len(), Vec::new());
    let partons = protons(Some(&grid)).partons(element);
    let result = judge.check(element, &mut windows, &partons, &mut notices);
    result.map_err(|error| error.to_string())?;
    Ok((windows.split_off(before), notices))
}

#[test]
fn masses_below_the_densities() {
    let open = [("ptl", "0"), ("drll", "0"), ("pta", "0"), ("draa", "0")];
    let (added, notices) = judged("u u~ > vl vl~", Some(&open), 1e-8).unwrap();
    let message = "2 -2 12 -12 (PDG codes): masses below 0.8 GeV are left out, for which the densities have no x";
    assert_eq!(notices, [message]);
    let [window] = &added[..] else {
        panic!("one window")
    };
    // Equal to the former Python code to the last bit.
    assert_eq!(window.least, 0.8000000016);
    assert_eq!(window.legs, [[2, 3]]);
    let begin = "the densities deep begin at x = 1e-08, and events have x from 0 on; ";
    for (text, entries, cure) in [
        (
            "u u~ > mu+ mu-",
            Some(&open[..]),
            "set their least mass in the run card, mmnl (or dsqrt_shat) = 0.8 or more, ",
        ),
        (
            "u u~ > a a",
            Some(&open),
            "set their least mass in the run card, dsqrt_shat = 0.8 or more, ",
        ),
        (
            "u u~ > mu+ mu-",
            None,
            "cut small masses, such as by cuts={\"massll\": 0.8}",
        ),
    ] {
        let error = judged(text, entries, 1e-8).unwrap_err();
        let cure_of = error.strip_prefix(begin).expect("the same beginning");
        assert!(cure_of.starts_with(cure), "{error}");
    }
    let enough = [&open[..], &[("mmnl", "0.8")]].concat();
    assert_eq!(
        judged("u u~ > mu+ mu-", Some(&enough), 1e-8),
        Ok((vec![], vec![]))
    );
    let missing = judged("a u > u g", Some(&[]), 1e-8).unwrap_err();
    assert_eq!(missing, "deep.dat has no densities of 22 (PDG codes)");
    let much = judged("u u~ > mu+ mu-", Some(&[("mmnl", "8000")]), 1e-8).unwrap_err();
    assert_eq!(
        much,
        "the cuts leave nothing below 8000 GeV, and the energy is 8000 GeV"
    );
}

#[test]
fn scales_that_are_fixed_are_known() {
    let element = &elements("u u~ > t t~", &[])[0];
    let (grid_range, alpha_s) = (grid_range(1e-9), alpha_s());
    let message = |scale: Scale, cuts: Option<&[NamedCut]>| {
        let judge = PhaseSpaceCheck {
            energy: 8000.0,
            grid_range: Some(&grid_range),
            alpha_s: &alpha_s,
            scale: &scale,
            cuts,
        };
        let result = judge.check(element, &mut Vec::new(), &SortedSet::new(), &mut Vec::new());
        result.err().map(|error| error.to_string())
    };
    let fixed = |renormalisation, factorisation| Scale {
        renormalisation,
        factorisation,
        ..scale()
    };
    assert_eq!(message(fixed(Some(91.0), [Some(91.0); 2]), None), None);
    let found = message(fixed(Some(2e3), [None; 2]), None);
    let wanted = "the scale of renormalisation (scale) is 2000 GeV, and the scales of alpha_s lie between 1 and 1000 GeV; take \
                  one of these";
    assert_eq!(found.as_deref(), Some(wanted));
    let found = message(fixed(None, [Some(91.0), Some(0.5)]), None);
    let wanted = "the scale of factorisation (dsqrt_q2fact2) is 0.5 GeV, and the densities of deep.dat lie between 1 and 10000 \
                  GeV; take one of these";
    assert_eq!(found.as_deref(), Some(wanted));
    let found = message(fixed(None, [Some(91.0), Some(0.5)]), Some(&[])).unwrap();
    assert!(
        found.starts_with("the scale of factorisation (scale) is 0.5 GeV"),
        "{found}"
    );
}

#[test]
fn what_events_can_be_made_of() {
    let message = |text: &str, energy| {
        let result = check(&elements(text, &[])[0], energy);
        result.err().map(|error| error.to_string())
    };
    assert_eq!(message("u u~ > t t~", 346.01), None);
    let heavy = "346 GeV are less than the masses of the process need; raise the energy (of a run card ebeam1 and ebeam2)";
    assert_eq!(message("u u~ > t t~", 346.0).as_deref(), Some(heavy));
    let decay = "events are generated for two particles that come in and one or more that go out; ";
    assert!(message("t > b w+", 1000.0).unwrap().starts_with(decay));
}

#[test]
fn neutrinos_come_in_with_one_helicity() {
    let message = |text: &str| {
        let result = check_neutrinos(&elements(text, &[])[0], text);
        result.err().map(|error| error.to_string())
    };
    let wanted = "e- vm > mu- ve: particle 2 that comes in (14, PDG code) has two helicities there, over which |M|^2 is \
                  averaged, and neutrinos have one; write {L} after its name, as in `vm{L} e- > mu- ve`";
    assert_eq!(message("e- vm > mu- ve").as_deref(), Some(wanted));
    assert!(
        message("vm~ e+ > mu+ ve~")
            .unwrap()
            .contains("(-14, PDG code)")
    );
    assert!(
        message("vm~ e+ > mu+ ve~")
            .unwrap()
            .contains("write {R} after")
    );
    assert_eq!(message("vm{L} e- > mu- ve"), None);
    assert_eq!(message("e+ e- > ve ve~"), None);
}

#[test]
fn flavours_that_matching_needs_as_jets() {
    let elements = elements("u u~ > b b~", &[]);
    assert_eq!(
        check_flavors(&elements[0], 4, "card").map_err(|e| e.to_string()),
        Ok(())
    );
    let mut element = elements[0].clone();
    element.described.flavors[0]
        .options
        .push(vec![2, -2, 3, -3]);
    let message = check_flavors(&element, 4, "card").unwrap_err().to_string();
    let wanted = "card: maxjetflavor = 4 divides the flavours of leg 3 of 2 -2 5 -5 (PDG codes), 3, 5, into jets and others; \
                  matching (ickkw = 1) needs all of them as jets; set maxjetflavor to 5";
    assert_eq!(message, wanted);
    assert!(check_flavors(&element, 5, "card").is_ok());
}

#[test]
fn what_comes_in() {
    let (grid, photons) = (
        grid(),
        BeamDensities::Photons(mebridge_densities::Radiator::Electron),
    );
    let message = |text: &str, incoming: Incoming| {
        let result = incoming.check(&elements(text, &[]));
        result.err().map(|error| error.to_string())
    };
    let partons = protons(None);
    assert_eq!(message("e+ e- > mu+ mu-", partons), None);
    let several = Some("a process with several partons that come in needs parton densities: pdf=");
    assert_eq!(message("p p > mu+ mu-", partons).as_deref(), several);
    let alone = Some(
        "a particle that goes out alone has the energy of its mass: its events need parton densities",
    );
    assert_eq!(message("b b~ > h", partons).as_deref(), alone);
    assert_eq!(message("p p > mu+ mu-", protons(Some(&grid))), None);
    let beside = |other, photons| Incoming {
        other: Some(other),
        photons,
        ..protons(Some(&grid))
    };
    assert_eq!(message("e- p > e- j", beside(0, 0)), None);
    let mixed = "beam 2 is one particle (lpp2), and the process has several there, or in both beams: -4, -3, -2, -1, 1, 2, 3, 4 \
                 (PDG codes); name one particle";
    assert_eq!(message("e- p > e- j", beside(1, 0)).as_deref(), Some(mixed));
    let none = "beam 1 radiates photons (lpp1 = -3), and the process has none there";
    assert_eq!(message("e- p > e- j", beside(0, -3)).as_deref(), Some(none));
    assert_eq!(message("a u > u g", beside(0, -3)), None);

    let hadron = |anti| BeamRequest::Hadron {
        densities: "deep.dat".into(),
        anti,
        ion: None,
    };
    assert_eq!(partons.requests(), None);
    let mut both = protons(Some(&grid));
    both.anti = [false, true];
    assert_eq!(both.requests(), Some([hadron(false), hadron(true)]));
    assert_eq!(
        beside(0, 0).requests(),
        Some([BeamRequest::Parton, hadron(false)])
    );
    let radiating = BeamRequest::Photons(mebridge_densities::Radiator::Electron);
    assert_eq!(
        beside(1, -3).requests(),
        Some([hadron(false), radiating.clone()])
    );
    assert_eq!(
        protons(Some(&photons)).requests(),
        Some([radiating.clone(), radiating])
    );
}

#[test]
fn partons_that_densities_must_have() {
    let grid = grid();
    let gluon = elements("p p > e+ ve j", &[]);
    let gluon = gluon
        .iter()
        .find(|element| element.pdg()[..2].contains(&21))
        .unwrap();
    assert!(gluon.is_mirrored());
    let mut beams = protons(Some(&grid));
    let both = beams.partons(gluon);
    assert_eq!(
        both,
        gluon
            .options()
            .iter()
            .flat_map(|pdg| pdg[..2].to_vec())
            .collect()
    );
    // Partons of an antiproton are the antiparticles in a proton.
    beams.anti = [true, true];
    let turned = both.iter().map(|&code| if code == 21 { 21 } else { -code });
    assert_eq!(beams.partons(gluon), turned.collect());
    beams.anti = [false, false];
    beams.other = Some(0);
    let one = &elements("e- u > e- u", &[])[0];
    assert_eq!(beams.partons(one), SortedSet::from([2]));
}

#[test]
fn energies_are_those_of_masses() {
    let [energy, rapidity] = center([500.0, 300.0], [0.0, 173.0]).unwrap();
    // The numbers of the former Python code, and sums of momenta.
    assert_eq!([energy, rapidity], [758.3026174108892, 0.33012453814976994]);
    let (total, along) = (energy * rapidity.cosh(), energy * rapidity.sinh());
    assert!((total - 800.0).abs() < 1e-9);
    assert!((along - 500.0 + (300.0_f64.powi(2) - 173.0_f64.powi(2)).sqrt()).abs() < 1e-9);
    let slow = center([500.0, 100.0], [0.0, 173.0])
        .unwrap_err()
        .to_string();
    assert_eq!(
        slow,
        "beam 2 has 100 GeV, and a mass of 173 GeV; raise its energy (ebeam2)"
    );
    let grid = grid();
    let beams = Incoming {
        other: Some(1),
        ..protons(Some(&grid))
    };
    let masses = [0.0, 173.0, 0.0, 0.0];
    let of = |beams: Incoming, energies| beams.center(energies, 1234.5, &masses).unwrap();
    assert_eq!(of(beams, [500.0, 300.0]), [energy, rapidity]);
    // Hadrons and particles that radiate photons count as massless.
    let shifted = [1234.5, 0.5 * (5.0_f64 / 3.0).ln()];
    assert_eq!(of(protons(Some(&grid)), [500.0, 300.0]), shifted);
    assert_eq!(
        of(
            Incoming {
                photons: 3,
                ..beams
            },
            [500.0, 300.0]
        ),
        shifted
    );
    assert_eq!(of(protons(None), [500.0, 300.0]), [energy, rapidity]);
}
