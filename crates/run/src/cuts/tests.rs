use super::*;

/// A card with these entries.
fn card(entries: &[(&str, &str)]) -> RunCard {
    let given = entries
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    RunCard::from_entries(given.collect(), "run_card.dat", &[]).unwrap()
}

/// The legs of a process, with a card.
struct Seen {
    pdg: Vec<i32>,
    masses: Vec<f64>,
    decayed: SortedSet<usize>,
    card: RunCard,
}

impl Seen {
    fn new(pdg: &[i32], entries: &[(&str, &str)]) -> Self {
        Seen {
            pdg: pdg.to_vec(),
            masses: vec![0.0; pdg.len()],
            decayed: SortedSet::new(),
            card: card(entries),
        }
    }

    fn legs(&self) -> Legs<'_> {
        Legs {
            pdg: &self.pdg,
            masses: &self.masses,
            decayed: &self.decayed,
            card: &self.card,
        }
    }

    fn cuts(&self) -> Vec<Cut> {
        from_run_card(&self.legs(), 1000.0).0
    }

    fn rules(&self) -> Vec<Rule> {
        from_run_card(&self.legs(), 1000.0).1
    }

    /// Descriptions of the windows, in order.
    fn described(&self) -> Vec<String> {
        let cuts = self.cuts();
        cuts.iter().map(|cut| legs_of(&cut.window)).collect()
    }
}

/// A window with its legs.
fn legs_of(window: &Window) -> String {
    // Indices instead of PDG codes distinguish legs.
    let legs: Vec<i32> = (0..10).collect();
    describe([window], &legs)
}

const NO_PAIRS: [(&str, &str); 3] = [("drjj", "0"), ("drll", "0"), ("draa", "0")];

#[test]
fn cuts_are_about_their_particles_in_the_order_of_madevent() {
    let entries = [
        ("ptj", "30"),
        ("ptl", "25"),
        ("etal", "2.0"),
        ("mmll", "50"),
        ("draa", "0.1"),
    ];
    // As in the former Python code.
    assert_eq!(
        Seen::new(&[21, 2, 11, -11, 2, 22], &entries).described(),
        [
            "pt of 2 from 25",
            "rapidity of 2 to 2",
            "pt of 3 from 25",
            "rapidity of 3 to 2",
            "pt of 4 from 30",
            "rapidity of 4 to 5",
            "pt of 5 from 10",
            "rapidity of 5 to 2.5",
            "distance of 2, 3 from 0.4",
            "mass of 2 3 from 50",
            "distance of 2, 4 from 0.4",
            "distance of 2, 5 from 0.4",
            "distance of 3, 4 from 0.4",
            "distance of 3, 5 from 0.4",
            "distance of 4, 5 from 0.4",
        ]
    );
    // mmll does not apply to leptons of different flavours.
    let other = Seen::new(&[1, -1, 11, -13, 22, 22], &[("mmll", "50")]);
    assert!(
        other
            .described()
            .iter()
            .all(|text| !text.starts_with("mass of 2 3"))
    );
}

#[test]
fn what_is_heavy_or_decays_is_free() {
    let mut heavy = Seen::new(&[21, 21, 6, -6, 21], &[("ptj", "30")]);
    heavy.masses = vec![0.0, 0.0, 173.0, 173.0, 0.0];
    assert_eq!(heavy.described(), ["pt of 4 from 30", "rapidity of 4 to 5"]);
    let chain = [21, 21, -11, 12, 5, 21];
    let mut decays = Seen::new(&chain, &[]);
    decays.decayed = SortedSet::from([2, 3, 4]);
    assert_eq!(
        decays.described(),
        ["pt of 5 from 20", "rapidity of 5 to 5"]
    );
    decays.card = card(&[("cut_decays", "True"), ("ptb", "10"), ("ptl", "11")]);
    let cut = decays.described();
    assert!(cut.contains(&"pt of 2 from 11".to_owned()));
    assert!(cut.contains(&"pt of 4 from 10".to_owned()));
}

#[test]
fn cuts_by_code() {
    let entries = [
        ("pt_min_pdg", "{6: 100}"),
        ("eta_max_pdg", "{6: 2.5}"),
        ("mxx_min_pdg", "{6: 500}"),
    ];
    let mut top = Seen::new(&[2, -2, 6, -6], &entries);
    top.masses = vec![0.0, 0.0, 173.0, 173.0];
    let found: Vec<String> = top.cuts().iter().map(|cut| cut.name(&top.pdg)).collect();
    let (pt, eta) = ("pt_min_pdg = {6: 100}", "eta_max_pdg = {6: 2.5}");
    assert_eq!(found, [pt, eta, pt, eta, "mxx_min_pdg = {6: 500}"]);
    top.pdg = vec![2, 2, 6, 6];
    top.card = card(&[
        ("mxx_min_pdg", "{6: 500}"),
        ("mxx_only_part_antipart", "{'default': True}"),
    ]);
    assert_eq!(top.described(), [""; 0]);
    // A code in this entry has no cuts by kind.
    let jets = Seen::new(
        &[2, -2, 21, 21],
        &[("mxx_only_part_antipart", "{21: False}"), ("drjj", "0")],
    );
    assert_eq!(jets.described(), [""; 0]);
}

#[test]
fn cuts_by_code_that_divide_a_matrix_element() {
    let processes = vec![vec![2, -2, 11, -11], vec![2, -2, 13, -13]];
    for entry in ["pt_min_pdg", "mxx_min_pdg"] {
        let mut of = Seen::new(&processes[0], &[(entry, "{13: 50}")]);
        let message = format!("{entry} is not the same for 11, 13 (PDG codes)");
        assert_eq!(differing_entry(&of.legs(), &processes), Some(message));
        of.decayed = SortedSet::from([2, 3]);
        assert_eq!(differing_entry(&of.legs(), &processes), None);
        let same = Seen::new(&processes[0], &[(entry, "{11: 50, 13: 50, 15: 60}")]);
        assert_eq!(differing_entry(&same.legs(), &processes), None);
    }
    let message = "mxx_only_part_antipart is not the same for 11, 13 (PDG codes)";
    // Without a value of its own, a code has that of `default`, which is False.
    for (value, message) in [("{11: True}", Some(message)), ("{11: False}", None)] {
        let pairs = Seen::new(&processes[0], &[("mxx_only_part_antipart", value)]);
        assert_eq!(
            differing_entry(&pairs.legs(), &processes).as_deref(),
            message
        );
    }
}

#[test]
fn cuts_by_code_of_no_particle_are_told() {
    let pairs = "{'default': False, 23: True}";
    let card = card(&[
        ("eta_max_pdg", "{6: 2, 25: 3}"),
        ("mxx_only_part_antipart", pairs),
    ]);
    let message = unused(&card, &SortedSet::from([6, 24])).unwrap();
    let begin = "eta_max_pdg (25), mxx_only_part_antipart (23) of the run card cuts nothing: no";
    assert!(message.starts_with(begin), "{message}");
    assert_eq!(unused(&card, &SortedSet::from([6, 23, 25])), None);
}

#[test]
fn jets_in_order_and_sums() {
    let entries = [
        ("ptj", "0"),
        ("etaj", "-1"),
        ("drjj", "0"),
        ("ptj1min", "100"),
        ("ptj2max", "80"),
        ("ht2min", "150"),
        ("htjmax", "300"),
        ("xptj", "90"),
        ("ihtmin", "70"),
    ];
    let jets = Seen::new(&[21, 21, 21, 2, -5], &entries);
    assert_eq!(
        jets.described(),
        [
            "pt of one of 2, 3 from 90",
            "pt of (0) of 2, 3 from 100",
            "pt of (1) of 2, 3 to 80",
            "pt of (sum) of 2, 3 to 300",
            "pt of (+2) of 2, 3 from 150",
            "pt of (sum) of 2, 3, 4 from 70",
        ]
    );
    assert_eq!(impossible_entry(&jets.legs()), None);
    for (pdg, entry, empty_by) in [
        ([21, 21, 6, -6], "ptj1min", Some("ptj1min")),
        ([21, 21, 21, -6], "ptj1min", None),
        ([21, 21, 21, -6], "ptj2min", Some("ptj2min")),
        ([21, 21, 6, -6], "htjmin", Some("htjmin")),
        ([21, 21, 11, -11], "ptl4min", Some("ptl4min")),
    ] {
        let of = Seen::new(&pdg, &[(entry, "20")]);
        assert_eq!(impossible_entry(&of.legs()).as_deref(), empty_by);
    }
}

#[test]
fn cuts_that_leave_nothing_are_named() {
    let pdg = [21, 21, 21, 2, -2];
    let by_code = [("pt_min_pdg", "{21: 60}"), ("pt_max_pdg", "{21: 50}")];
    #[rustfmt::skip]
    let cases = [
        (&[("ptj", "50"), ("ptjmax", "20")][..], Some("ptj = 50 with ptjmax = 20")),
        (&[("etaj", "1"), ("etajmin", "2")], Some("etajmin = 2 with etaj = 1")),
        (&[("ptj1min", "90"), ("ptj1max", "80")], Some("ptj1min = 90 with ptj1max = 80")),
        (&[("ptj", "600")], Some("ptj = 600")),
        (&[("htjmin", "1001")], Some("htjmin = 1001")),
        (&[("xptj", "501")], Some("xptj = 501")),
        (&[("dsqrt_shat", "1001")], Some("dsqrt_shat = 1001")),
        (&[("ptj", "600"), ("ptl", "600"), ("xptj", "600")], Some("ptj = 600")),
        (&by_code, Some("pt_min_pdg = {21: 60} with pt_max_pdg = {21: 50}")),
        // mmjj above mmjjmax excludes the range in between; the others just pass.
        (&[("mmjj", "60"), ("mmjjmax", "50")], None),
        (&[("htjmin", "999"), ("xptj", "499"), ("ptj", "499"), ("dsqrt_shat", "999")], None),
    ];
    for (entries, name) in cases {
        let cuts = Seen::new(&pdg, entries).cuts();
        let found = impossible_cut(&cuts, 1000.0).map(|cut| cut.name(&pdg));
        assert_eq!(found.as_deref(), name);
    }
    let cuts = Seen::new(&pdg, &by_code).cuts();
    let window = &impossible_cut(&cuts, 1000.0).unwrap().window;
    assert_eq!(describe([window, window], &pdg), "pt of 21 from 60 to 50");
}

#[test]
fn missing_momentum_and_leptons_together() {
    let entries = [
        ("ptl", "0"),
        ("etal", "-1"),
        ("misset", "40"),
        ("mmnl", "200"),
        ("ptllmax", "90"),
    ];
    let all = [&NO_PAIRS[..], &entries].concat();
    let leptons = Seen::new(&[2, -2, 11, -11, 12, -12], &all);
    // Lepton and antilepton, each of these with each neutrino, and both neutrinos.
    assert_eq!(
        leptons.described(),
        [
            "pt of 2 3 to 90",
            "pt of 2 4 to 90",
            "pt of 2 5 to 90",
            "pt of 3 4 to 90",
            "pt of 3 5 to 90",
            "pt of 4 5 to 90",
            "pt of 4 5 from 40",
            "mass of 2 3 4 5 from 200",
        ]
    );
}

#[test]
fn a_mass_window_that_is_inside_out_leaves_its_middle_out() {
    let jets = Seen::new(
        &[21, 21, 21, 21],
        &[("mmjj", "200"), ("mmjjmax", "100"), ("ptj", "0")],
    );
    let cuts = jets.cuts();
    let cut = cuts.iter().find(|cut| cut.window.outside).unwrap();
    assert_eq!([cut.window.least, cut.window.largest], [100.0, 200.0]);
    assert_eq!(cut.entries, ["mmjj = 200", "mmjjmax = 100"]);
    assert_eq!(legs_of(&cut.window), "mass of 2 3 from 100 to 200 left out");
}

#[test]
fn rules() {
    let none = Seen::new(&[21, 21, 21, 2], &[]);
    assert_eq!(none.rules(), []);
    let opposite = Seen::new(
        &[21, 21, 21, 2, -2, 6],
        &[("xetamin", "0.3"), ("deltaeta", "1.0")],
    );
    let wanted = Rule::Opposite {
        jets: vec![2, 3, 4],
        least: 0.3,
        apart: 1.0,
    };
    assert_eq!(opposite.rules(), [wanted]);
    // It is enough if one of the two hardest jets passes.
    let entries = [
        ("cutuse", "1"),
        ("ptj1min", "120"),
        ("ptj2min", "70"),
        ("ptj2max", "90"),
    ];
    let some = Seen::new(&[21, 21, 21, 2], &entries);
    let wanted = Rule::Some {
        jets: vec![2, 3],
        limits: vec![[120.0, f64::INFINITY], [70.0, 90.0]],
    };
    assert_eq!(some.rules(), [wanted]);
    assert!(some.described().iter().all(|text| !text.contains("of (")));
}

#[test]
fn isolated_photons() {
    let entries = [
        ("ptgmin", "30"),
        ("r0gamma", "1.5"),
        ("xn", "2.0"),
        ("epsgamma", "0.8"),
        ("ptj", "10"),
    ];
    let mut of = Seen::new(&[2, -2, 22, 21, 6, 11], &entries);
    let mut wanted = Rule::Isolated {
        photons: vec![2],
        jets: vec![3],
        electromagnetic: Some(vec![5]),
        least: 30.0,
        radius: 1.5,
        power: 2.0,
        share: 0.8,
    };
    assert_eq!(of.rules(), [wanted.clone()]);
    let cuts = of.cuts();
    // ptgmin replaces pta; windows that follow from the rule come last, as in the former Python code.
    assert_eq!(cuts[0].entries, ["ptgmin = 30"]);
    let implied = cuts.last().unwrap();
    assert_eq!(implied.name(&of.pdg), "distance of 22, 21 from 0.548954");
    assert_eq!(implied.window.legs, [[2], [3]]);
    of.card = card(&[&entries[..], &[("isoem", "False")]].concat());
    if let Rule::Isolated {
        electromagnetic, ..
    } = &mut wanted
    {
        *electromagnetic = None;
    }
    assert_eq!(of.rules(), [wanted]);
    // A jet without a least transverse momentum may be arbitrarily close to the photon.
    assert_eq!(closest(0.0, 500.0, [0.4, 1.0, 1.0]), 0.0);
    assert_eq!(closest(-1.0, 500.0, [0.4, 1.0, 1.0]), 0.0);
    assert_eq!(closest(500.0, 500.0, [0.4, 1.0, 1.0]), 0.4);
    assert_eq!(closest(10.0, 500.0, [0.4, 0.0, 1.0]), 0.0);
}

/// `is_pdg_for_merging_cut`, `from_decay` and NMASSLESS in `setcuts.f` and `cuts.f` of MG5aMC.
#[test]
fn merging_cuts() {
    let entries = [
        ("ktdurham", "30"),
        ("dparameter", "0.5"),
        ("ptj", "0"),
        ("drjj", "0"),
        ("etaj", "-1"),
    ];
    let mut of = Seen::new(&[21, 21, 6, -6, 21, 11], &entries);
    let wanted = Rule::Relative {
        jets: vec![2, 3, 4],
        least: 30.0,
        radius: 0.5,
    };
    assert_eq!(of.rules(), [wanted]);
    let cuts = of.cuts();
    let named: Vec<&Cut> = cuts
        .iter()
        .filter(|cut| cut.entries == ["ktdurham = 30"])
        .collect();
    assert_eq!(named.len(), 3);
    assert_eq!(legs_of(&named[2].window), "pt of 4 from 30");
    assert!(
        of.described()
            .contains(&"distance of 2, 4 from 0.03".to_owned())
    );
    // No massless parton, and a single one.
    of.pdg = vec![21, 21, 6, -6];
    assert_eq!(of.rules(), []);
    of.pdg = vec![21, 21, 24, 21];
    assert_eq!(of.rules(), []);
    assert!(of.described().contains(&"pt of 3 from 30".to_owned()));
    // A leg from a decay, and a code that is not in the list.
    of.pdg = vec![21, 21, 21, 2, -2];
    of.decayed = SortedSet::from([4]);
    let jets = |of: &Seen| match &of.rules()[..] {
        [Rule::Relative { jets, .. }] => jets.clone(),
        _ => Vec::new(),
    };
    assert_eq!(jets(&of), [2, 3]);
    of.card = card(&[&entries[..], &[("pdgs_for_merging_cut", "21")]].concat());
    assert!(jets(&of).is_empty());
    let legs = of.legs();
    let divided =
        |codes: [i32; 2]| differing_entry(&legs, &codes.map(|code| vec![21, 21, 21, code, -2]));
    assert_eq!(divided([2, 1]), None);
    let found = divided([2, 21]).unwrap();
    assert!(
        found.starts_with("pdgs_for_merging_cut is not the same for 2, 21"),
        "{found}"
    );
}

#[test]
fn emissions_of_a_shower() {
    let mut of = Seen::new(&[21, 21, 6, -6, 21, 11], &[("ptlund", "20")]);
    let legs = |of: &Seen| of.legs().lund().map(|found| (found.legs, found.alone));
    assert_eq!(legs(&of).unwrap(), (vec![2, 3, 4], false));
    assert_eq!(of.rules(), []);
    for (pdg, wanted) in [
        (&[21, 21, 21, 21][..], (vec![2, 3], true)),
        (&[2, -2, 23, 21], (vec![3], false)),
        (&[21, 21, 6, -6], (vec![], false)),
        (&[5, -5, 23, 25], (vec![], false)),
    ] {
        of.pdg = pdg.to_vec();
        assert_eq!(legs(&of).unwrap(), wanted);
    }
    for pdg in [[21, 4, 23, 4], [21, 21, 5, -5]] {
        of.pdg = pdg.to_vec();
        let message = legs(&of).unwrap_err().to_string();
        assert!(
            message.contains("(PDG code) is a heavy quark by itself"),
            "{message}"
        );
    }
    of.pdg = vec![21, 21, 21, 21];
    let none = Seen::new(&[21, 21, 21, 21], &[("ktdurham", "20")]);
    assert_eq!(legs(&none).unwrap(), (vec![], false));
}

#[test]
fn masses_that_cuts_leave() {
    let of = |entries: &[(&str, &str)], masses: [f64; 5]| {
        let cuts = Seen::new(&[21, 21, 21, 2, 23], entries).cuts();
        let windows: Vec<Window> = cuts.into_iter().map(|cut| cut.window).collect();
        let pair = SortedSet::from([2, 3]);
        [
            min_mass(&windows, &masses, &pair),
            min_energy(&windows, &masses),
        ]
    };
    let light = [0.0; 5];
    // Expected numbers are those of the former Python code.
    for (entries, masses, wanted) in [
        (&[("ptj", "30")][..], light, [11.92015984770367, 60.0]),
        (&[("ptj", "30"), ("drjj", "4")], light, [60.0, 60.0]),
        (&[("ptj", "30"), ("mmjj", "50")], light, [50.0, 60.0]),
        (
            &[("ptj", "0"), ("mmjj", "50")],
            [0.0, 0.0, 0.0, 0.0, 91.188],
            [50.0, 141.188],
        ),
        (
            &[("ptj", "0"), ("mmjj", "60"), ("mmjjmax", "50")],
            light,
            [0.0, 0.0],
        ),
        (&[("ptj", "0"), ("dsqrt_shat", "300")], light, [0.0, 300.0]),
    ] {
        let found = of(entries, masses);
        for (found, wanted) in found.into_iter().zip(wanted) {
            assert!(
                (found - wanted).abs() <= 1e-12 * wanted,
                "{found} for {wanted}"
            );
        }
    }
}
