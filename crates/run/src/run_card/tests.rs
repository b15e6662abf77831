use super::entries::{self, IGNORED, table};
use super::*;
use std::fs;

const CARD: &str = "# a comment = nothing
  tag_1 = run_tag ! name
  1000 = nevents
  0 = iseed
  1 = lpp1
  1 = lpp2
  6500.0 = ebeam1 ! GeV
  6.5d3 = ebeam2
  nn23lo1 = pdlabel
  False = fixed_fac_scale
  -1 = dynamical_scale_choice
  {6: 100.0, 25: 50} = pt_min_pdg ! by code
  {'default': False, 6: True} = mxx_only_part_antipart
";
/// `\u{ff11}` is a full-width digit, which many programs accept.
const NO_NUMBERS: [&str; 12] = [
    "inf", "-inf", "nan", "1e400", "-1d400", "1e400k", "", "20 GeV", "1_0", "\u{ff11}", "1,5",
    "0x10",
];

fn entries_of(values: &[(&str, &str)]) -> Entries {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    values.iter().map(owned).collect()
}

/// A card with these entries alone.
fn card(values: &[(&str, &str)]) -> Result<RunCard> {
    RunCard::from_entries(entries_of(values), "run_card.dat", &[])
}

fn error<T>(result: Result<T>) -> String {
    result.err().expect("an error").to_string()
}

/// Reads a card from a file.
fn read(text: &str, changed: &[(&str, &str)]) -> Result<RunCard> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run_card.dat");
    fs::write(&file, text).unwrap();
    RunCard::read(&file, &entries_of(changed))
}

#[test]
fn the_docs_have_the_table() {
    let text = include_str!("../../../../docs/run_card.md");
    assert!(text.contains(table().trim()));
}

#[test]
fn no_entry_is_there_twice() {
    let names: SortedSet<&str> = entries::all().map(|(name, _)| name).collect();
    assert_eq!(names.len(), entries::all().count());
}

#[test]
fn values_are_read_as_fortran_and_python_write_them() {
    let found = read(CARD, &[("nevents", "10k")]).unwrap();
    assert_eq!(found.integer("nevents"), 10_000);
    assert_eq!(
        (found.number("ebeam1"), found.number("ebeam2")),
        (6500.0, 6500.0)
    );
    let codes = SortedMap::from([(6, 100.0), (25, 50.0)]);
    assert_eq!(*found.by_code("pt_min_pdg"), codes);
    assert!(found.only_pairs(6) && !found.only_pairs(25));
    assert_eq!(found.text("run_tag"), "tag_1");
    assert_eq!(found.text("pdlabel1"), "nn23lo1");
    // Missing entries have MG5aMC's defaults.
    assert_eq!(found.number("ptj"), 20.0);
    assert_eq!(found.number("etab"), -1.0);
    assert_eq!(found.number("small_width_treatment"), 1e-6);
    assert!(
        card(&[("fixed_fac_scale", ".true.")])
            .unwrap()
            .flag("fixed_fac_scale2")
    );
    for (text, set) in [
        ("NNPDF40_lo_as_01180", "NNPDF40_lo_as_01180"),
        ("247000", "247000"),
        ("247d3", "247000"),
    ] {
        assert_eq!(card(&[("lhaid", text)]).unwrap().text("lhaid"), set);
    }
    assert!(error(card(&[("lhaid", "nan")])).contains("the number of a set"));
    assert!(error(card(&[("lhaid", "a b")])).contains("the number of a set"));
    let pairs = card(&[("mxx_only_part_antipart", "{default: True, 6: 0}")]).unwrap();
    assert!(!pairs.only_pairs(6) && pairs.only_pairs(25));
    for (name, text) in [
        ("nevents", "many"),
        ("ptj", "20 GeV"),
        ("use_syst", "perhaps"),
        ("pt_min_pdg", "{6}"),
    ] {
        assert!(error(card(&[(name, text)])).contains(name));
    }
}

#[test]
fn arguments_of_systematics_stand_in_lists_or_alone() {
    for text in [
        "['--mur=0.5,1,2', '--pdf=errorset,NNPDF31@3']",
        "--mur=0.5,1,2, --pdf=errorset,NNPDF31@3",
        "--- -- --mur=0.5,1,2, [--pdf=errorset,NNPDF31@3] --dyn",
    ] {
        let found = card(&[("systematics_arguments", text)]).unwrap();
        let wanted = ["--mur=0.5,1,2", "--pdf=errorset,NNPDF31@3"];
        assert_eq!(found.words("systematics_arguments"), wanted);
    }
}

#[test]
fn what_is_changed_for_both_beams() {
    let text = "nn23lo1 = pdlabel1\nnn23lo1 = pdlabel2\nFalse = fixed_fac_scale1\n";
    let found = read(text, &[("pdlabel", "lhapdf"), ("fixed_fac_scale", "True")]).unwrap();
    for beam in [1, 2] {
        assert_eq!(found.text(&format!("pdlabel{beam}")), "lhapdf");
        assert!(found.flag(&format!("fixed_fac_scale{beam}")));
    }
    assert!(found.repeated().is_empty());
    let found = read(text, &[("pdlabel1", "nn23lo"), ("PDLABEL", "lhapdf")]).unwrap();
    assert_eq!(found.text("pdlabel1"), "nn23lo");
    assert_eq!(found.text("pdlabel2"), "lhapdf");
    assert_eq!(
        error(read(text, &[("ptj", "10"), ("PTJ", "20")])),
        "ptj of the run card is to be 10 and 20; give one of them"
    );
}

/// As in MG5aMC, the last value is used.
#[test]
fn what_stands_for_both_beams_and_for_one() {
    let (both, one, two) = (
        "nn23lo = pdlabel",
        "cteq6l1 = pdlabel1",
        "cteq6l1 = pdlabel2",
    );
    let repeated = Repeated {
        name: "pdlabel".to_owned(),
        last: "nn23lo".to_owned(),
        before: "cteq6l1 (pdlabel2)".to_owned(),
    };
    for (lines, wanted, report) in [
        ([both, one, two], "cteq6l1", vec![]),
        ([one, two, both], "nn23lo", vec![repeated]),
    ] {
        let text = lines.join("\n");
        let found = read(&text, &[]).unwrap();
        assert_eq!(found.text("pdlabel1"), wanted);
        assert_eq!(found.text("pdlabel2"), wanted);
        assert_eq!(found.repeated(), report);
        // Changed values are always used.
        let found = read(&text, &[("pdlabel1", "lhapdf"), ("pdlabel2", "lhapdf")]).unwrap();
        assert_eq!(found.text("pdlabel1"), "lhapdf");
        assert_eq!(found.text("pdlabel2"), "lhapdf");
    }
    let own = read("iww = pdlabel1\nmixed = pdlabel\n", &[]).unwrap();
    assert_eq!(
        ["pdlabel1", "pdlabel2"].map(|name| own.text(name)),
        ["iww", "nn23lo1"]
    );
    let text = "False = fixed_fac_scale1\nFalse = fixed_fac_scale2\nTrue = fixed_fac_scale\n";
    assert!(read(text, &[]).unwrap().flag("fixed_fac_scale2"));
}

#[test]
fn the_last_of_two_holds_and_is_told() {
    let text = format!("{CARD} 500 = ebeam1\n 1000 = nevents\n");
    let found = read(&text, &[]).unwrap();
    assert_eq!(found.number("ebeam1"), 500.0);
    let notices = found.notices();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].ends_with("run_card.dat has ebeam1 twice, 6500.0 and 500; the last holds"));
    assert!(
        read(&text, &[("ebeam1", "7")])
            .unwrap()
            .repeated()
            .is_empty()
    );
    // Both lines are changed, including the one that is used.
    let changed = with_entries(&text, &entries_of(&[("ebeam1", "7")]));
    assert_eq!(read(&changed, &[]).unwrap().number("ebeam1"), 7.0);
}

#[test]
fn unknown_entries_are_named() {
    let found = error(card(&[("ptjj", "3")]));
    assert!(
        found.starts_with(
            "run_card.dat has an entry ptjj that mebridge does not know (do you mean ptj?); remove it"
        ),
        "{found}"
    );
    // Entries of the caller are not attributed to the card.
    let found = error(read(CARD, &[("ebeam", "30")]));
    assert!(
        found
            .starts_with("ebeam, which is to be set, is no entry of a run card (do you mean ebeam"),
        "{found}"
    );
    let found = error(read(CARD, &[("ptj", "many")]));
    assert_eq!(
        found,
        "ptj, which is to be set, is 'many'; it must be a number"
    );
    let found = error(card(&[("zzzz", "3")]));
    assert!(found.contains("does not know; remove it"), "{found}");
    // An entry of another file in Cards.
    let found = error(read(&format!("{CARD}  2 = nb_core\n"), &[]));
    assert!(
        found.contains("has an entry nb_core that mebridge does not know; it is of Cards/me5"),
        "{found}"
    );
}

#[test]
fn a_line_that_is_no_entry_is_refused() {
    let found = error(read(
        &format!("{CARD}  $ecut\n ! a comment\n  30 ptj\n"),
        &[],
    ));
    assert!(
        found.ends_with(
            "run_card.dat, line 16: '30 ptj' is no entry; write VALUE = NAME, or # before a comment"
        ),
        "{found}"
    );
}

#[test]
fn what_is_one_of_a_few() {
    for (name, value, known) in [
        ("event_norm", "sums", "average or sum or unity"),
        ("sde_strategy", "3", "1 or 2"),
        ("ickkw", "2", "0 or 1"),
        ("ktscheme", "0", "1 or 2"),
        ("cutuse", "-1", "0 or 1"),
    ] {
        let found = error(card(&[(name, value)]).unwrap().check());
        let wanted =
            format!("run_card.dat: {name} = {value} cannot be honoured; set it to {known}");
        assert_eq!(found, wanted);
    }
    card(&[("event_norm", "Average")]).unwrap().check().unwrap();
    for tag in ["a/b", "a\\b", "''"] {
        let found = error(card(&[("run_tag", tag)]).unwrap().check());
        assert!(
            found.contains(" is part of a file's name; make it one word"),
            "{found}"
        );
    }
}

#[test]
fn a_bias_is_that_of_a_module() {
    let bias = |module: &str, parameters: &str| {
        let entries = [("bias_module", module), ("bias_parameters", parameters)];
        card(&entries).unwrap().bias()
    };
    let none = "{'__type__': 1.0}";
    for module in ["None", "'None'", "dummy", "DUMMY"] {
        assert_eq!(bias(module, none).unwrap(), None);
    }
    let [target, power] = ["ptj_bias_target_ptj", "ptj_bias_enhancement_power"];
    for (parameters, wanted) in [
        (none.to_owned(), [1000.0, 4.0]),
        (format!("{{'{target}': 300}}"), [300.0, 4.0]),
        (
            format!("{{'{power}': -1.5, '{target}': 20.0}}"),
            [20.0, -1.5],
        ),
    ] {
        let found = bias("ptj_bias", &parameters).unwrap().unwrap();
        assert_eq!([found.target, found.power], wanted);
    }
    #[rustfmt::skip]
    let cases = [
        ("my_bias", none.to_owned(), "bias_module = my_bias cannot be honoured: it is Fortran"),
        ("/x/ptj_bias", none.to_owned(), "bias_module = /x/ptj_bias cannot be honoured"),
        ("ptj_bias", "{'ptj': 3}".to_owned(), "bias_parameters has ptj, which ptj_bias has not; its"),
        ("ptj_bias", format!("{{'{target}': 0}}"), "ptj_bias_target_ptj = 0; it must be a positive"),
    ];
    for (module, parameters, message) in cases {
        let found = error(bias(module, &parameters));
        assert!(found.contains(message), "{found}");
    }
    let entries = [("bias_module", "ptj_bias"), ("event_norm", "unity")];
    let found = error(card(&entries).unwrap().check());
    assert!(found.contains("event_norm = unity with a bias"), "{found}");
}

#[test]
fn numbers_are_finite_and_as_cards_have_them() {
    let digits = "9".repeat(400);
    let numbers = entries::all()
        .filter(|(_, row)| matches!(row.kind, value::ValueKind::Whole | value::ValueKind::Real));
    let mut count = 0;
    for (name, _) in numbers {
        count += 1;
        for text in NO_NUMBERS.into_iter().chain([digits.as_str()]) {
            let found = error(card(&[(name, text)]));
            let wanted = format!("run_card.dat: {name} is ");
            assert!(
                found.starts_with(&wanted) && found.contains("; it must be "),
                "{found}"
            );
        }
    }
    assert!(count > 150);
    assert!(error(card(&[("ptj", &"9".repeat(100_000))])).len() < 200);
    assert_eq!(card(&[("ptj", "1.5d1")]).unwrap().number("ptj"), 15.0);
    let seed = |text: &str| {
        let card = card(&[("iseed", text)]).unwrap();
        card.seed()
    };
    assert_eq!(seed("18446744073709551615").unwrap(), u64::MAX);
    assert_eq!(seed("1e3").unwrap(), 1000);
    assert_eq!(
        error(seed("18446744073709551616")),
        "run_card.dat: iseed is 18446744073709551616; it must be a whole number from -18446744073709551615 to 18446744073709551615"
    );
    assert_eq!(seed("-12").unwrap(), 12);
    assert!(error(seed("-18446744073709551616")).contains("iseed is -1844"));
    assert!(error(card(&[("iseed", "1e20")])).ends_with("it must be a whole number below 1e+20"));
    assert!(error(card(&[("iseed", "1.5")])).ends_with("it must be a whole number below 1e+20"));
}

#[test]
fn numbers_out_of_their_ranges() {
    for name in [
        "scalefact",
        "scale",
        "dsqrt_q2fact1",
        "dsqrt_q2fact2",
        "mue_ref_fixed",
        "r0gamma",
        "epsgamma",
    ] {
        for value in ["0", "-1"] {
            let values = [
                ("fixed_ren_scale", "True"),
                ("fixed_fac_scale", "True"),
                ("fixed_extra_scale", "True"),
                ("ptgmin", "10"),
                (name, value),
            ];
            let found = error(card(&values).unwrap().check());
            assert_eq!(
                found,
                format!("run_card.dat: {name} = {value}; it must be positive")
            );
        }
        // These scales are not used.
        if name != "scalefact" {
            card(&[(name, "0")]).unwrap().check().unwrap();
        }
    }
    for (name, value, range) in [
        ("maxjetflavor", "7", "from 0 to 6"),
        ("asrwgtflavor", "-1", "from 0 to 6"),
        ("bwcutoff", "-1", "at least 0"),
        ("small_width_treatment", "-1", "at least 0"),
        ("polbeam1", "101", "from -100 to 100"),
        ("xqcut", "-2", "0 or an energy in GeV"),
        ("xmtcentral", "-0.5", "0 or an energy in GeV"),
        ("alpsfact", "0", "a positive number"),
        ("d", "-1", "a positive number"),
    ] {
        let found = error(card(&[(name, value)]).unwrap().check());
        assert_eq!(
            found,
            format!("run_card.dat: {name} = {value}; it must be {range}")
        );
    }
}

#[test]
fn cuts_by_code_have_codes() {
    let names: Vec<&str> = entries::all()
        .filter(|(_, row)| matches!(row.kind, value::ValueKind::ByCode | value::ValueKind::Pairs))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names.len(), 8);
    for name in names {
        let (good, bad) = match name {
            "mxx_only_part_antipart" => ("True", "50"),
            _ => ("50", "True"),
        };
        for key in [
            "t", "-6", "6.5", "6.0", "0", "", "1_1", "\u{ff16}", "t~", "nan", "1e1", "None",
        ] {
            let found = error(card(&[(name, &format!("{{25: {good}, {key}: {good}}}"))]));
            let wanted = format!("'{key}' is no PDG code; ");
            assert!(
                found.contains(&wanted) && found.contains(" such as {6: "),
                "{found}"
            );
        }
        for value in [bad, "inf", "1e400", "nan", "", "many"] {
            let found = error(card(&[(name, &format!("{{6: {value}}}"))]));
            assert!(
                found.contains(&format!("'{value}' is wrong, it must be")),
                "{found}"
            );
        }
        let found = error(card(&[(name, "{6: 0, 06: 1}")]));
        assert!(
            found.ends_with("; it has two values of 6; leave one"),
            "{found}"
        );
        let found = error(card(&[(name, "6")]));
        assert!(
            found.contains(&format!("{name} is '6'; it must be a dict, such as")),
            "{found}"
        );
        let found = card(&[(name, &format!("{{'6': {good}, '__type__': {good}}}"))]).unwrap();
        match found.value(name) {
            Value::ByCode(values) => assert_eq!(*values, SortedMap::from([(6, 50.0)])),
            _ => assert!(found.only_pairs(6) && !found.only_pairs(5)),
        }
    }
    assert!(error(card(&[("pt_min_pdg", "{default: 50}")])).contains("'default' is no PDG code"));
    assert!(
        card(&[("mxx_only_part_antipart", "6: 1")])
            .unwrap()
            .only_pairs(6)
    );
}

#[test]
fn entries_that_follow_from_others() {
    let of = |values: &[(&str, &str)], name: &str| card(values).unwrap().number(name);
    assert_eq!(of(&[("ptgmin", "10")], "pta"), 0.0);
    assert_eq!(of(&[("ptgmin", "10")], "draj"), 0.0);
    let matched = [("xqcut", "30"), ("ptj", "40"), ("mmjj", "5")];
    for (name, value) in [("drjj", 0.0), ("drjl", 0.0), ("ptj", 30.0), ("mmjj", 30.0)] {
        assert_eq!(of(&matched, name), value);
    }
    let by_hand = [&matched[..], &[("auto_ptj_mjj", "F")]].concat();
    assert_eq!((of(&by_hand, "ptj"), of(&by_hand, "mmjj")), (0.0, 5.0));
    let pythia = [&matched[..], &[("ktscheme", "2")]].concat();
    assert_eq!((of(&pythia, "ptj"), of(&pythia, "mmjj")), (0.0, 30.0));
    let negative = [("xqcut", "30"), ("mmjj", "-1")];
    assert_eq!(of(&negative, "mmjj"), -1.0);
    assert_eq!(of(&[("alpsfact", "2")], "alpsfact"), 2.0);
    assert_eq!(of(&[("alpsfact", "2"), ("ickkw", "1")], "alpsfact"), 1.0);
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name_and_cure() {
    card(&[]).unwrap().check().unwrap();
    for row in REFUSED {
        for name in row.names {
            let other = match row.value() {
                Value::Flag(flag) => {
                    if flag {
                        "False"
                    } else {
                        "True"
                    }
                }
                Value::Whole(_) => "7",
                Value::Real(_) => "7.5",
                Value::Text(_) => "other",
                _ => "3",
            };
            let found = error(card(&[(name, other)]).unwrap().check());
            assert!(
                found.contains(&format!("{name} = ")) && found.contains("; set it to "),
                "{found}"
            );
            card(&[(name, row.default)]).unwrap().check().unwrap();
        }
    }
    let refused = |name, value| error(card(&[(name, value)]).unwrap().check());
    for frame in ["[3,1]", "[1]", "[2, 2]", "[3, 3]", "[]", "[0, 1]", "[t, 3]"] {
        let found = refused("me_frame", frame);
        assert!(
            found.contains(" is no frame; name 1 and 2, or particles that go out"),
            "{found}"
        );
    }
    let frame = |text| card(&[("me_frame", text)]).unwrap().frame().unwrap();
    assert_eq!(frame("2, 1"), [] as [usize; 0]);
    assert_eq!(frame("[4, 3]"), [2, 3]);
    for harmless in [
        ("ktdurham", "0"),
        ("ptlund", "0"),
        // Without parameters that run.
        ("mue_over_ref", "7"),
        ("bias_module", "none"),
        ("me_frame", "(2, 1)"),
    ] {
        card(&[harmless]).unwrap().check().unwrap();
    }
    for row in IGNORED {
        for name in row.names {
            card(&[(name, row.default)]).unwrap().check().unwrap();
        }
    }
    for (values, wanted) in [
        (
            [("ickkw", "1"), ("maxjetflavor", "6")],
            "maxjetflavor = 6 is too large for ickkw = 1; set it to 5 or less",
        ),
        (
            [("ickkw", "1"), ("lpp2", "0")],
            "ickkw = 1 is for beams of hadrons; set ickkw to 0",
        ),
    ] {
        assert_eq!(
            error(card(&values).unwrap().check()),
            format!("run_card.dat: {wanted}")
        );
    }
}

#[test]
fn a_changed_card_says_so() {
    let text = with_entries(
        CARD,
        &entries_of(&[("nevents", "7"), ("EBEAM1", "400"), ("ptj", "30")]),
    );
    let wanted = CARD
        .replace("  1000 = nevents", "  7 = nevents")
        .replace("6500.0 = ebeam1", "400 = ebeam1");
    assert_eq!(text, format!("{wanted}  30 = ptj\n"));
    let twice = [
        ("use_syst", "True"),
        ("NEVENTS", "8"),
        ("use_syst", "False"),
        ("nevents", "9"),
    ];
    let text = with_entries(CARD, &entries_of(&twice));
    let wanted = CARD.replace("  1000 = nevents", "  9 = nevents");
    assert_eq!(text, format!("{wanted}  False = use_syst\n"));
}

#[test]
fn defaults_of_what_is_left_out() {
    let given = entries_of(&[("pdlabel1", "x"), ("nevents", "3")]);
    let found = missing(&given);
    let of = |name: &str| {
        found
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    };
    for name in ["pdlabel", "pdlabel1", "pdlabel2", "nevents"] {
        assert_eq!(of(name), None);
    }
    for (name, value) in [
        ("run_tag", "tag_1"),
        ("ptj", "20.0"),
        ("small_width_treatment", "1e-06"),
        ("fixed_fac_scale1", "False"),
        (
            "systematics_arguments",
            "['--mur=0.5,1,2', '--muf=0.5,1,2', '--pdf=errorset']",
        ),
        ("pdgs_for_merging_cut", "[21, 1, 2, 3, 4, 5, 6]"),
        ("mxx_only_part_antipart", "{'default': False}"),
        ("bias_parameters", "{'__type__': 1.0}"),
        ("pt_min_pdg", "{}"),
        ("issgridfile", ""),
    ] {
        assert_eq!(of(name), Some(value));
    }
    // A card of all defaults has the same values as an empty card.
    let values = card(
        &missing(&[])
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect::<Vec<_>>(),
    );
    assert_eq!(values.unwrap().values, card(&[]).unwrap().values);
}

#[test]
fn other_values_of_some_entries() {
    let found = card(&[("ptgmin", "10")])
        .unwrap()
        .with_numbers([("pta", 7.0), ("dsqrt_shat", 1.0)]);
    assert_eq!(
        (found.number("pta"), found.number("dsqrt_shat")),
        (7.0, 1.0)
    );
    assert!(found.has_entry("ptgmin") && !found.has_entry("pta"));
    assert_eq!(found.to_json()["pta"], 7.0);
    assert_eq!(found.to_json()["iseed"], 0);
}

/// Lines that CMS's genproductions replace.
#[test]
fn cards_of_cms_say_what_to_write() {
    let refused = |text: &str| error(read(text, &[]));
    let sets =
        " 'lhapdf' = pdlabel\n$DEFAULT_PDF_SETS = lhaid\n$DEFAULT_PDF_MEMBERS = reweight_PDF ! x\n";
    let message = refused(sets);
    assert!(
        message.contains("lhaid is $DEFAULT_PDF_SETS, which genproductions of CMS replace"),
        "{message}"
    );
    assert!(message.contains("write it there: 325300"), "{message}");
    let message = refused(&sets.replace("$DEFAULT_PDF_SETS", "325300"));
    assert!(
        message.contains("reweight_PDF, which genproductions"),
        "{message}"
    );
    assert!(message.contains("systematics_arguments"), "{message}");
}
