use super::*;
use std::fs;

/// Expected numbers are those of the former Python code.
#[test]
fn alpha_s_runs_by_loops() {
    let near = |found: f64, wanted: f64| {
        assert!((found / wanted - 1.0).abs() < 3e-16, "{found:e} {wanted:e}");
    };
    for (at_z, loops, known) in [
        (
            0.118,
            2,
            [
                (0, 1.0, 0.45188101700423894),
                (7, 1.0424809046588097, 0.43714864188627667),
                (60, 1.4491010632999906, 0.3496487999322677),
                (100, 3.2622099246738223, 0.24452951820261112),
                (118, 4.7, 0.21606120731564635),
                (177, 1e5, 0.057827602741952644),
            ],
        ),
        (
            0.13,
            1,
            [
                (0, 1.0, 0.5039596212795111),
                (7, 1.0424809046588097, 0.48926590279864357),
                (60, 1.4491010632999906, 0.39785622612079213),
                (100, 3.2622099246738223, 0.27857442672493266),
                (118, 4.7, 0.24545838579046186),
                (177, 1e5, 0.06160053364150771),
            ],
        ),
    ] {
        let found = AlphaS::by_loops(at_z, loops);
        assert_eq!(found.scales.len(), 178);
        for (place, scale, value) in known {
            near(found.scales[place], scale);
            near(found.values[place], value);
        }
        assert_eq!(
            [0.1, 1e9].map(|q| found.at(q)),
            [found.values[0], found.values[177]]
        );
    }
    near(AlphaS::by_loops(0.118, 2).at(3.0), 0.252218094269672);
    near(AlphaS::by_loops(0.118, 2).at(91.188), 0.11800042806657644);
}

#[test]
fn alpha_s_begins_where_it_has_its_pole() {
    for (at_z, loops, count, first, value) in [
        (0.3, 2, 54, 12.948620404894719, 3.970917203134102),
        (0.9, 1, 47, 42.23800669208242, 5.8122296117173695),
    ] {
        let found = AlphaS::by_loops(at_z, loops);
        assert_eq!([found.scales.len(), found.values.len()], [count; 2]);
        assert!((found.scales[0] / first - 1.0).abs() < 3e-16);
        assert!((found.values[0] / value - 1.0).abs() < 1e-12);
        let error = found
            .check_scale(1.0, "the scale of renormalisation")
            .unwrap_err();
        let text = "the scale of renormalisation is 1 GeV, and the scales of alpha_s lie between";
        assert!(error.to_string().starts_with(text), "{error}");
    }
    for wrong in [0.0, 1.0, f64::NAN] {
        let error = AlphaS::from_param_card(wrong).unwrap_err().to_string();
        assert!(error.contains("block SMINPUTS, 3"), "{error}");
        assert!(AlphaS::constant(wrong - 1.0).is_err());
    }
    let constant = AlphaS::constant(0.1).expect("a coupling");
    assert_eq!([1e-3, 91.0, 1e12].map(|scale| constant.at(scale)), [0.1; 3]);
}

/// Writes a member with knots from x = 1e-4 and Q = 5 GeV, and constant x f(x, Q) of a gluon, a quark and an antiquark.
fn member(folder: &Path, number: i32, alpha_s: &str) {
    let rows = "2.0 3.0 1.0\n".repeat(8);
    let text = format!(
        "PdfType: central\nFormat: lhagrid1\n{alpha_s}---\n1e-4 1e-3 0.1 1\n5 1e4\n21 2 -2\n{rows}---\n"
    );
    let name = folder.file_name().unwrap().to_str().unwrap();
    fs::write(folder.join(format!("{name}_{number:04}.dat")), text).unwrap();
}

/// A set of three members; the last one has its own alpha_s.
pub(crate) fn sets() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let toy = folder.path().join("toy");
    fs::create_dir(&toy).unwrap();
    for number in [0, 1] {
        member(&toy, number, "");
    }
    member(
        &toy,
        2,
        "AlphaS_Qs: [1, 10,\n 100]\nAlphaS_Vals: [0.3, 0.2, 0.1]\n",
    );
    let about = "SetIndex:  90000\nNumMembers: 4\nErrorType: replicas\nAlphaS_Qs: [1.0, 1e5]\nAlphaS_Vals: [0.4, 0.1]\n";
    fs::write(toy.join("toy.info"), about).unwrap();
    let plain = folder.path().join("plain");
    fs::create_dir(&plain).unwrap();
    member(&plain, 0, "");
    folder
}

#[test]
fn sets_of_lhapdf_are_read() {
    let sets = sets();
    let toy = PdfMember::read(&sets.path().join("toy")).unwrap();
    let folder = sets.path().canonicalize().unwrap().join("toy");
    assert_eq!(toy.file, folder.join("toy_0000.dat"));
    assert_eq!((toy.number, toy.label()), (90000, "90000".to_owned()));
    assert_eq!(toy.files(), [toy.file.clone(), folder.join("toy.info")]);
    assert_eq!(
        (toy.set(), toy.error_type()),
        ("toy".into(), "replicas".into())
    );
    let members = toy.members().unwrap();
    let numbers: Vec<i32> = members.iter().map(|one| one.number).collect();
    assert_eq!(numbers, [90000, 90001, 90002]);
    let values = members
        .iter()
        .map(|one| one.with_alpha_s("").unwrap().values);
    let own = vec![0.3, 0.2, 0.1];
    assert_eq!(
        values.collect::<Vec<_>>(),
        [vec![0.4, 0.1], vec![0.4, 0.1], own]
    );

    let plain = PdfMember::read(&sets.path().join("plain/plain_0000.dat")).unwrap();
    assert_eq!((plain.number, plain.label()), (0, "plain_0000".to_owned()));
    assert_eq!(
        (plain.files().len(), plain.error_type()),
        (1, "unknown".into())
    );
    let error = plain.with_alpha_s("give alpha_s").unwrap_err().to_string();
    assert!(
        error.contains("plain_0000.dat has no table of alpha_s"),
        "{error}"
    );
    assert!(error.ends_with("; give alpha_s"), "{error}");

    for (about, wrong) in [
        (
            "AlphaS_Qs: [2, 1]\nAlphaS_Vals: [0.1, 0.2]\n",
            "does not hold rising scales",
        ),
        (
            "AlphaS_Qs: [1, 2]\nAlphaS_Vals: [0.1, x]\n",
            "AlphaS_Vals of plain holds something",
        ),
    ] {
        fs::write(sets.path().join("plain/plain.info"), about).unwrap();
        let error = PdfMember::read(&plain.file).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
    fs::write(&plain.file, "hello").unwrap();
    let error = PdfMember::read(&plain.file).unwrap_err().to_string();
    assert!(
        error.contains("plain_0000.dat is no grid of LHAPDF"),
        "{error}"
    );
}

#[test]
fn sets_are_found() {
    let sets = sets();
    let folders = ["/nowhere".into(), sets.path().canonicalize().unwrap()];
    let toy = folders[1].join("toy");
    let name = |found: Result<PathBuf>| match found {
        Ok(file) => file.strip_prefix(&toy).unwrap().display().to_string(),
        Err(error) => error.to_string(),
    };
    let lhaid = |text: &str| name(by_lhaid_below(&folders, text));
    for text in ["toy", "toy/", "toy/0", "90000"] {
        assert_eq!(lhaid(text), "toy_0000.dat");
    }
    assert_eq!([lhaid("toy/2"), lhaid("90002")], ["toy_0002.dat"; 2]);
    for text in ["toy/3", "90003"] {
        assert!(lhaid(text).ends_with("toy_0003.dat is missing: the set has no such member here"));
    }
    for text in ["90004", "89999", "0"] {
        let message = lhaid(text);
        let start = format!("no set of parton densities with the number {text} (lhaid)");
        assert!(
            message.starts_with(&start) && message.ends_with("or pdlabel to nn23lo1"),
            "{message}"
        );
    }
    assert!(lhaid("toy/x").starts_with("lhaid = toy/x names no member"));
    let locate = |text: &str| name(locate_below(&folders, Path::new(text)));
    assert!(
        locate("nothing").starts_with("there are no parton densities 'nothing'; name a member")
    );
    // A path is not looked up as a name in these folders.
    assert!(locate("./toy").starts_with("there are no parton densities './toy'"));
    let message = locate("nn23lo1");
    assert!(
        message.contains("are of MG5aMC") && message.contains("number 247000"),
        "{message}"
    );
}

#[test]
fn a_run_card_chooses() {
    let sets = sets();
    let grid = sets.path().join("lib/Pdfdata/cteq6l1.tbl");
    let entries = DensityEntries {
        label: "cteq6l1",
        lhaid: "247000",
        lpp: 1,
        resting: false,
        data: sets.path(),
        at_z: 0.12,
    };
    let error = entries.choose().unwrap_err().to_string();
    let place = grid.display();
    assert_eq!(
        error,
        format!(
            "the densities cteq6l1 need {place}, which is missing; MG5aMC writes it with the output"
        )
    );
    fs::create_dir_all(grid.parent().unwrap()).unwrap();
    fs::write(&grid, "").unwrap();
    let found = entries.choose().unwrap();
    assert_eq!(
        (found.source.as_str(), found.alpha_s),
        ("cteq6l1", AlphaS::by_loops(0.13, 1))
    );
    let densities = found.densities.unwrap();
    assert_eq!(
        (densities.number(), densities.label()),
        (10042, "10042".to_owned())
    );
    assert_eq!(densities.set().unwrap().file, grid);
    let hadron = BeamRequest::Hadron {
        densities: grid.clone(),
        anti: true,
        ion: None,
    };
    assert_eq!(densities.beam(true, None), hadron);
    let other = PdfMember::read(&grid.with_file_name("cteq5m.tbl"));
    assert!(
        other
            .unwrap_err()
            .to_string()
            .contains("no parton densities")
    );
    fs::rename(&grid, grid.with_file_name("cteq5m.tbl")).unwrap();
    let other = PdfMember::read(&grid.with_file_name("cteq5m.tbl")).unwrap_err();
    assert!(
        other
            .to_string()
            .contains("cteq5m.tbl is no set that MG5aMC puts into outputs")
    );

    let resting = DensityEntries {
        resting: true,
        ..entries
    }
    .choose()
    .unwrap();
    assert_eq!(
        (resting.densities, resting.source.as_str()),
        (None, "the parameter card")
    );
    assert_eq!(resting.alpha_s, AlphaS::by_loops(0.12, 2));
    let photons = DensityEntries {
        label: OF_PHOTONS,
        lpp: -3,
        ..entries
    };
    let found = photons.choose().unwrap();
    assert_eq!(
        found.densities,
        Some(BeamDensities::Photons(Radiator::Electron))
    );
    assert_eq!(
        (found.alpha_s, found.source.as_str()),
        (resting.alpha_s, "the parameter card")
    );
}

/// The text of an `eepdf.f` with constant components.
pub(crate) fn eepdf() -> String {
    let mut text = String::new();
    for (component, kind) in (1..=4).flat_map(|n| [(n, "1_1"), (n, "2_2")]) {
        text += &format!("      function eepdf_{component}_{kind}(y,z)\n");
        for (name, low, high) in [
            ("yv", "0.1D-05", "0.9D+00"),
            ("zv", "0.8D+01", "0.16D+02"),
            ("(gridv(iny,  1),iny=1,2)", "0.5D+00", "0.5D+00"),
            ("(gridv(iny,  2),iny=1,2)", "0.5D+00", "0.5D+00"),
        ] {
            text += &format!("      data {name}/\n     # {low}, {high}/\n");
        }
    }
    text
}

/// Those of leptons are found in an output, and beside `Template/LO`.
#[test]
fn densities_of_leptons_and_of_pairs_are_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("Template/LO");
    std::fs::create_dir_all(&output).unwrap();
    let entries = DensityEntries {
        label: "fcce365ll",
        lhaid: "0",
        lpp: -3,
        resting: false,
        data: &output,
        at_z: 0.12,
    };
    let error = entries.choose().unwrap_err().to_string();
    assert!(
        error.contains("the densities fcce365ll need ")
            && error.contains("lep_densities/fcce365ll/eepdf.f, which is missing"),
        "{error}"
    );
    for place in ["Template/Common", "Template/LO"] {
        let of = folder
            .path()
            .join(place)
            .join("Source/PDF/lep_densities/fcce365ll");
        std::fs::create_dir_all(&of).unwrap();
        std::fs::write(of.join("eepdf.f"), eepdf()).unwrap();
        let found = entries.choose().unwrap();
        let file = of.join("eepdf.f").canonicalize().unwrap();
        let densities = found.densities.unwrap();
        let request = BeamRequest::Lepton {
            densities: file.clone(),
            anti: true,
        };
        assert_eq!(densities.beam(true, None), request);
        assert_eq!(
            (densities.label(), densities.number()),
            ("fcce365ll".to_owned(), 0)
        );
        assert_eq!(found.alpha_s, AlphaS::by_loops(0.12, 2));
        let range = densities.grid_range().unwrap();
        assert_eq!(
            (range.min_x, range.codes.clone()),
            (1e-6, SortedSet::from([11]))
        );
        let ends = [1.5233, 4540.7];
        let near = |(found, wanted): (f64, f64)| (found / wanted - 1.0).abs() < 1e-3;
        assert!(
            range.scales.into_iter().zip(ends).all(near),
            "{:?}",
            range.scales
        );
        let both = [true, false].map(|anti| densities.beam(anti, None));
        let error = BeamDensity::from_beams(&both).unwrap_err().to_string();
        assert!(
            error.starts_with("weights of events are not computed for"),
            "{error}"
        );
    }
    let pairs = DensityEntries {
        label: "chff",
        lpp: 2,
        ..entries
    };
    let densities = pairs.choose().unwrap().densities.unwrap();
    assert_eq!(
        densities.beam(false, None),
        BeamRequest::Ultraperipheral(FormFactor::Charge)
    );
    let range = densities.grid_range().unwrap();
    assert!(range.check(&SortedSet::from([22]), 1.01e-8, "").is_ok());
    assert!(range.check(&SortedSet::from([22]), 1e-9, "").is_err());
    assert!(range.check_scale(1e9, "the scale").is_ok());
}

#[test]
fn a_grid_ends_somewhere() {
    let sets = sets();
    let knots = GridRange::read(&sets.path().join("toy/toy_0000.dat")).unwrap();
    assert_eq!(
        (knots.name.as_str(), knots.min_x, knots.scales),
        ("toy", 1e-4, [5.0, 1e4])
    );
    let message =
        |found: Result<()>| found.map_or_else(|error| error.to_string(), |()| String::new());
    let check = |codes: &[i32], x: f64| {
        message(knots.check(&codes.iter().copied().collect(), x, "cut more"))
    };
    assert_eq!(check(&[21, -2], 1e-4), "");
    let place = sets.path().join("toy/toy_0000.dat");
    let place = place.display();
    assert_eq!(
        check(&[21, 3, -1], 0.1),
        format!("{place} has no densities of -1, 3 (PDG codes)")
    );
    assert_eq!(
        check(&[2], 1e-5),
        "the densities toy begin at x = 0.0001, and events have x from 1e-05 on; cut more"
    );
    assert_eq!(message(knots.check_scale(91.0, "the scale")), "");
    assert_eq!(
        message(knots.check_scale(4.0, "the scale")),
        format!(
            "the scale is 4 GeV, and the densities of {place} lie between 5 and 10000 GeV; take one of these"
        )
    );
    let photons = BeamDensities::Photons(Radiator::Proton)
        .grid_range()
        .unwrap();
    assert!(photons.check(&SortedSet::from([22]), 1e-8, "").is_ok());
    assert!(photons.check(&SortedSet::from([22]), 1e-9, "").is_err());
    assert!(photons.check(&SortedSet::from([21]), 0.1, "").is_err());
}

#[test]
fn beams_have_densities() {
    let sets = sets();
    let hadron = |anti: bool| BeamRequest::Hadron {
        densities: sets.path().join("toy/toy_0000.dat"),
        anti,
        ion: None,
    };
    let none = BeamDensity::from_beams(&[BeamRequest::Parton, BeamRequest::Parton]).unwrap();
    assert!(none.is_none());
    let [proton, antiproton] = BeamDensity::from_beams(&[hadron(false), hadron(true)])
        .unwrap()
        .unwrap();
    let (x, q) = ([0.01, 0.02, 0.03], [50.0, 60.0, 70.0]);
    let near = |found: Vec<f64>, wanted: [f64; 3]| {
        let mut pairs = found.iter().zip(wanted);
        assert!(
            pairs.all(|(found, wanted)| (found - wanted).abs() < 1e-12),
            "{found:?}"
        );
    };
    near(
        proton.evaluate(&[21, 2, -2], &x, &q).unwrap(),
        [2.0, 3.0, 1.0],
    );
    near(
        antiproton.evaluate(&[21, 2, -2], &x, &q).unwrap(),
        [2.0, 1.0, 3.0],
    );
    let missing = proton
        .evaluate(&[21, 2, 25], &x, &q)
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("no densities of 25 (PDG code)"),
        "{missing}"
    );
    let photons = BeamRequest::Photons(Radiator::Muon);
    let [one, photons] = BeamDensity::from_beams(&[BeamRequest::Parton, photons])
        .unwrap()
        .unwrap();
    near(one.evaluate(&[11, 11, 11], &x, &q).unwrap(), [1.0; 3]);
    let found = photons.evaluate(&[22; 3], &x, &q).unwrap();
    let mut wanted = [0.0; 3];
    Densities::photons(Radiator::Muon).evaluate(&x, &q.map(|q| q * q), &mut wanted);
    near(found, wanted);
}
