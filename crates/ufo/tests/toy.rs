//! Tests with a toy model, and with malicious folders.

use mebridge_generate::generate_with;
use mebridge_generate::model::file::Document;
use mebridge_generate::model::{Model, Scheme};
use mebridge_process::card::Card;
use mebridge_support::random::SplitMix64;
use mebridge_ufo::{Restriction, is_ufo, read, read_in};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn toy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/toy")
}

fn model(restriction: &str) -> Document {
    let restriction = match restriction {
        "" => Restriction::Default,
        name => Restriction::By(name.into()),
    };
    read(&toy(), &restriction).unwrap()
}

fn terms(document: &Document, particles: &str) -> Vec<String> {
    let row = document
        .vertices
        .iter()
        .find(|row| row.particles == particles);
    let row = row.unwrap_or_else(|| panic!("no vertex {particles}"));
    row.terms.iter().map(|term| term.join(" ")).collect()
}

#[test]
fn a_folder_becomes_a_model() {
    assert!(is_ufo(&toy()) && !is_ufo(toy().parent().unwrap()));
    let document = model("");
    assert_eq!(document.name, "toy");
    assert_eq!(document.alpha_s.as_deref(), Some("aS"));
    // Names in lower case, as none differ only by case; charges in units that make them integers.
    let names: Vec<&str> = document.particles.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["g", "q", "x", "s", "zp", "g0"]);
    let quark = &document.particles[1];
    assert_eq!(
        (quark.antiname.as_deref(), quark.charges["charge"]),
        (Some("q~"), 2)
    );
    // A number that vertices do not conserve is not a charge.
    assert_eq!(document.charges.keys().collect::<Vec<_>>(), ["charge"]);
    assert!(document.particles[5].goldstone && document.particles[2].antiname.is_none());
    assert_eq!(document.particles[4].propagator.as_deref(), Some("V"));
    let propagator = &document.propagators["V"];
    assert_eq!(
        propagator.denominator.as_deref(),
        Some("P(-100,id)*P(-100,id) - Mass(id)*Mass(id) + complex(0,1)*Mass(id)*Width(id)")
    );
    // The width of a Majorana fermion has the sign of its mass.
    let majorana = &document.particles[2];
    assert_eq!(majorana.width.as_deref(), Some("WX__signed"));
    assert_eq!(
        document.parameters["WX__signed"],
        "abs(WX) if MX >= 0 else -abs(WX)"
    );
    // The strong coupling is the event's, also in formulas with aS.
    assert!(!document.parameters.contains_key("G"));
    assert_eq!(
        document.couplings["GC_7"].value,
        "complex(0,1)*mix__2*(G**2/(4*pi))"
    );
    // Functions are substituted; Mix and mix are the same name in Fortran.
    assert_eq!(
        document.parameters["size"],
        "re(turn*complexconjugate(turn)*(1/cos(re(phase))) + (1 if mix == 0 else 2/2))"
    );
    assert_eq!(document.parameters["mix__2"], "mix**2");
    let entry = document
        .card
        .iter()
        .find(|entry| entry.name == "phase")
        .unwrap();
    assert_eq!(
        (entry.block.as_str(), &*entry.index, entry.value),
        ("xsector", &[3, 1][..], 0.5)
    );
    assert_eq!(document.expansion.get("NP"), Some(&2));
    // Two structures with the same coupling are merged.
    assert_eq!(terms(&document, "q~ q g"), ["T(3,2,1) FFV3 GC_2"]);
    assert_eq!(
        document.lorentz["FFV3"],
        "(Gamma(3,2,-1)*ProjM(-1,1)) + (Gamma(3,2,-1)*ProjP(-1,1))"
    );
    // The sign includes the order of fermions along the lines.
    assert_eq!(
        terms(&document, "q~ q q~ q"),
        [
            "Identity(1,4)*Identity(2,3) FFFF2 -GC_9",
            "Identity(1,2)*Identity(3,4) FFFF4 GC_9"
        ]
    );
    // Couplings with the same text are merged.
    assert_eq!(terms(&document, "x x g0"), ["1 FFS1 GC_7", "1 FFS2 GC_3"]);
    // The text is complete.
    assert_eq!(Document::parse(&document.to_string()).unwrap(), document);
    let model = Model::from_document(document).unwrap();
    assert_eq!((model.vertices.len(), model.unphysical.len()), (6, 1));
}

/// A form factor of momenta becomes part of the Lorentz structure.
#[test]
fn form_factors_are_put_in() {
    let (_folder, path) = copy();
    let lorentz = fs::read_to_string(path.join("lorentz.py")).unwrap();
    let from = "structure = 'ProjM(2,1)')";
    assert!(lorentz.contains(from));
    let with = |structure: &str, factors: &str, value: &str| {
        let text = lorentz.replace(
            from,
            &format!("structure = '{structure}', formfactors = {factors})"),
        );
        fs::write(path.join("lorentz.py"), text).unwrap();
        let text = format!(
            "from .object_library import FormFactor\n\
             FF = FormFactor(name = 'FF', type = 'real', value = '{value}')\nother = 1\n"
        );
        fs::write(path.join("form_factors.py"), text).unwrap();
        read(&path, &Restriction::Default).map_err(|error| error.to_string())
    };
    let document = with("FF*ProjM(2,1)", "[ForFac.FF]", "P(-1,3)*P(-1,3)/100 + 2").unwrap();
    assert_eq!(
        document.lorentz["FFS1"],
        "(P(-1,3)*P(-1,3)/100 + 2)*ProjM(2,1)"
    );
    let refused = |document: Document| {
        let model = Model::from_document(document).unwrap();
        let refused = (0..model.vertices.len() as u32).filter_map(|n| model.vertex(n).err());
        refused.collect::<Vec<String>>()
    };
    assert_eq!(refused(document), [""; 0]);
    // If one is not a sum of products, the vertex cannot be generated, but the model can be read.
    for value in [
        "1/(P(-1,3)*P(-1,3) + 1)",
        "cmath.exp(P(-1,3)*P(-1,3))",
        "FFCT(P(-1,3))",
    ] {
        let refused = refused(with("FF*ProjM(2,1)", "[ForFac.FF]", value).unwrap());
        assert!(!refused.is_empty(), "{value}");
        for what in refused {
            assert!(what.contains("FFS1"), "{what}");
        }
    }
    // Names are whole words, and factors are form factors.
    let document = with("ProjM(2,1)*FF", "[ForFac.FF]", "xFF").unwrap();
    assert_eq!(document.lorentz["FFS1"], "ProjM(2,1)*(xFF)");
    let error = with("FF*ProjM(2,1)", "[ForFac.other]", "1").unwrap_err();
    assert!(
        error.contains("lorentz.py") && error.contains("in the place of a FormFactor"),
        "{error}"
    );
    let long = "P(-1,3)*P(-1,3) + ".repeat(3000) + "1";
    let error = with("FF*FF*ProjM(2,1)", "[ForFac.FF]", &long).unwrap_err();
    assert!(error.contains("too long"), "{error}");
}

/// The toy model's quark with gluons is the Standard Model's top quark with another mass.
#[test]
fn a_quark_is_a_quark() {
    let (toy, sm) = (
        Model::from_document(model("")).unwrap(),
        Model::standard().unwrap(),
    );
    let squared = |text: &str, model: &Model, card: &[f64]| {
        let process = generate_with(text, model).unwrap().remove(0);
        let p = (250_000.0f64 - 10_000.0).sqrt();
        let (x, z) = (p * 0.6, p * 0.8);
        let momenta = [
            [500.0, 0.0, 0.0, 500.0],
            [500.0, 0.0, 0.0, -500.0],
            [500.0, x, 0.0, z],
            [500.0, -x, 0.0, -z],
        ];
        process.evaluate(&momenta, 1.2, card).total()
    };
    // alpha_s is in every card.
    let own = squared("g g > q q~", &toy, &[0.118, 100.0]);
    let top = squared("g g > t t~", &sm, &[0.118, 100.0, 0.0]);
    assert!((own - top).abs() < 1e-14 * top && top > 0.1, "{own} {top}");
    let other = squared("g g > q q~", &toy, &[0.118, 90.0]);
    assert!((own - other).abs() > 1e-3 * own);
}

#[test]
fn a_card_restricts_it() {
    let document = model("equal");
    assert_eq!(document.name, "toy-equal");
    let card: Vec<&str> = document
        .card
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    // gy and Mix follow gx, MX follows MQ; the phase is zero; MZp is 1 and stays a mass.
    assert_eq!(card, ["aS", "gx", "MQ", "MZp", "WX"]);
    assert_eq!(document.parameters["gy"], "gx");
    assert_eq!(document.parameters["mix"], "-gx");
    let quantities = |name: &str| {
        let row = document
            .particles
            .iter()
            .find(|row| row.name == name)
            .unwrap();
        (row.mass.clone(), row.width.clone())
    };
    assert_eq!(
        quantities("x"),
        (Some("MQ".into()), Some("WX__signed".into()))
    );
    assert_eq!(quantities("s"), (None, None));
    assert_eq!(quantities("zp"), (Some("MZp".into()), None));
    // GC_3 = -GC_4, so the structures are merged, the second with a minus.
    assert_eq!(terms(&document, "q~ q zp"), ["Identity(1,2) FFV4 GC_3"]);
    assert_eq!(
        document.lorentz["FFV4"],
        " - (Gamma(3,2,-1)*ProjP(-1,1)) + (Gamma(3,2,-1)*ProjM(-1,1))"
    );
    assert_eq!(terms(&document, "q~ x s"), ["Identity(1,3) FFS1 GC_3"]);
    // `size` depends on the phase.
    assert_eq!(document.parameters["phase"], "0");
    let path = toy().join("restrict_equal.dat");
    let same = read(&toy(), &Restriction::By(path.display().to_string())).unwrap();
    assert_eq!(same, document);
    let error = read(&toy(), &Restriction::By("nothing".into()))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no restrict_nothing.dat; there are equal"),
        "{error}"
    );
}

/// Missing entries, and values of another card for the remaining ones.
#[test]
fn cards_are_what_mg5amc_takes() {
    let (_folder, path) = copy();
    let card = fs::read_to_string(path.join("restrict_equal.dat")).unwrap();
    let restricted = |name: &str, from: &str, to: &str| {
        assert!(card.contains(from), "{from}");
        let text = card.replacen(from, to, 1);
        fs::write(path.join(format!("restrict_{name}.dat")), text).unwrap();
        read(&path, &Restriction::By(name.into())).map_err(|error| error.to_string())
    };
    let value = |document: &Document, name: &str| {
        let entry = document.card.iter().find(|entry| entry.name == name);
        entry.map(|entry| entry.value)
    };
    let error = restricted("less", "  2 0.25 # gy\n", "").unwrap_err();
    assert!(
        error.contains("restrict_less.dat: there is no number for 2 of block xsector (gy)"),
        "{error}"
    );
    fs::write(path.join("param_other.dat"), card.replace("0.25", "0.5")).unwrap();
    let document = restricted("other", "# aS", "# alpha_s").unwrap();
    assert_eq!(
        (value(&document, "gx"), value(&document, "gy")),
        (Some(0.5), None)
    );
    assert_eq!(document.name, "toy-other");
    // A card with the defaults of processes, whatever the restriction merged.
    fs::write(
        path.join("paramcard_start.dat"),
        "Block XSECTOR\n  1 0.75 # gx\n",
    )
    .unwrap();
    let document = restricted("start", "# aS", "# alpha_s").unwrap();
    assert_eq!(
        (value(&document, "gx"), value(&document, "MX")),
        (Some(0.75), value(&model("equal"), "MX"))
    );
}

/// The square of the coupling of the Z' boson.
const COUPLING: f64 = 0.0625;

/// The width of a Z' boson of this mass to quarks of 100 GeV, by the formula of `decays.py`.
fn to_quarks(mass: f64) -> f64 {
    COUPLING * mass * (1.0 - 4e4 / (mass * mass)).sqrt() / (4.0 * std::f64::consts::PI)
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-12
}

/// The width of the Z' boson.
fn width(document: &Document) -> f64 {
    let entry = document.card.iter().find(|entry| entry.name == "WZp");
    entry.unwrap().value
}

/// Reads the model with a card of this mass of the Z' boson, which leaves its width to be computed.
fn with_auto_width(path: &Path, mass: &str) -> Result<Document, String> {
    let card = fs::read_to_string(path.join("restrict_equal.dat")).unwrap();
    let auto = card.replace("9000004 1.", mass);
    let auto = auto.replace("9000004 0.0", "9000004 Auto");
    fs::write(path.join("restrict_auto.dat"), auto).unwrap();
    read(path, &Restriction::By("auto".into())).map_err(|error| error.to_string())
}

/// Widths that a card leaves to be computed are sums of the partial widths in `decays.py`, or from vertices.
#[test]
fn widths_are_computed() {
    let (_folder, path) = copy();
    let card = fs::read_to_string(path.join("restrict_equal.dat")).unwrap();
    let restricted = |mass: &str| with_auto_width(&path, mass);
    let heavy = restricted("9000004 500.").unwrap();
    assert!(near(
        width(&heavy),
        to_quarks(500.0) + COUPLING * 500.0 * 1.5
    ));
    // MX is MQ and MS is 0: closed decays do not count.
    let light = restricted("9000004 150.").unwrap();
    assert!(near(width(&light), COUPLING * 150.0), "{}", width(&light));
    let rows = &light.decays["zp"];
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[2], ["s s~", "gx**2*(MZp + 0)"].map(str::to_owned));
    // A process contains the formulas, for its own card.
    let model = Model::from_document(heavy).unwrap();
    let process = generate_with("q q~ > q q~ QCD=0", &model)
        .unwrap()
        .remove(0)
        .model;
    let at = process.card_parameter("WZp").unwrap();
    let widths = |card: &str| {
        let card = Card::parse(card, Path::new("my.dat"));
        let values = process
            .card_values(&card)
            .map_err(|error| error.to_string());
        values.map(|values| values[at])
    };
    let auto = card
        .replace("9000004 1.", "9000004 300.")
        .replace("9000004 0.0", "9000004 Auto");
    assert!(near(
        widths(&auto).unwrap(),
        to_quarks(300.0) + COUPLING * 300.0 * 1.5
    ));
    assert_eq!(widths(&auto.replace("Auto", "7.5")), Ok(7.5));
    let error = widths(&auto.replace("Auto", "Auto@NLO")).unwrap_err();
    assert!(
        error.contains("DECAY 9000004 (MDL_WZP) is Auto, and the process has no formula"),
        "{error}"
    );
    let error = widths(&auto.replace("1 0.25 # gx", "# gx")).unwrap_err();
    assert!(error.contains("1 of block xsector"), "{error}");
    // With alpha_s at the mass.
    let document = read(&path, &Restriction::None).unwrap();
    assert_eq!(
        document.decays["x"][0],
        ["q s~", "G**2/(4*pi)*MX*abs(mix)"].map(str::to_owned)
    );
    // The processes' card may also leave it open, and a number there closes it.
    fs::write(path.join("paramcard_auto.dat"), "DECAY 9000004 2.5\n").unwrap();
    assert_eq!(width(&restricted("9000004 500.").unwrap()), 2.5);
    fs::write(
        path.join("restrict_later.dat"),
        card.replace("9000004 1.", "9000004 150.")
            .replace("9000004 0.0", "9000004 3.0"),
    )
    .unwrap();
    fs::write(path.join("paramcard_later.dat"), "DECAY 9000004 auto\n").unwrap();
    let later = read(&path, &Restriction::By("later".into())).unwrap();
    assert!(near(width(&later), COUPLING * 150.0));
    fs::remove_file(path.join("paramcard_auto.dat")).unwrap();
}

/// If formulas are missing or cannot be read, the width follows from the vertices: zp > Q Q~ by an axial current.
#[test]
fn widths_without_formulas() {
    let (_folder, path) = copy();
    let restricted = |mass: &str| with_auto_width(&path, mass);
    let by_vertices = to_quarks(500.0) * (1.0 - 0.16);
    let file = path.join("decays.py");
    let decays = fs::read_to_string(&file).unwrap();
    let with = |from: &str, to: &str| {
        assert!(decays.contains(from), "{from}");
        fs::write(&file, decays.replacen(from, to, 1)).unwrap();
        restricted("9000004 500.")
    };
    let error = with("'half(gy**2*MZp)'", "'-MZp'").unwrap_err();
    assert!(
        error
            .contains("DECAY 9000004 is Auto, and the model's formula for zp > x x gives -500 GeV"),
        "{error}"
    );
    for (from, to) in [
        ("'half(gy**2*MZp)'", "'half(g7)'"),
        ("'half(gy**2*MZp)'", "open('f')"),
        ("(P.x,P.x)", "(P.x,P.y)"),
        ("particle = P.zp", "particle = 7"),
        ("particle = P.zp", "particle = P.g"),
    ] {
        let document = with(from, to).unwrap();
        assert_eq!(document.decays.get("zp"), None, "{to}");
        assert!(near(width(&document), by_vertices), "{to}");
    }
    fs::remove_file(&file).unwrap();
    assert!(near(
        width(&restricted("9000004 500.").unwrap()),
        by_vertices
    ));
    let closed = restricted("9000004 150.").unwrap();
    assert_eq!(width(&closed), 0.0);
    // If a vertex cannot be generated, and the masses allow its decay, the model's own value is kept.
    let file = path.join("lorentz.py");
    let lorentz = fs::read_to_string(&file).unwrap();
    let form_factor = lorentz.replace("Gamma(3,2,-1)*ProjP", "ff(P(-2,3))*Gamma(3,2,-1)*ProjP");
    fs::write(&file, form_factor).unwrap();
    assert_eq!(width(&restricted("9000004 500.").unwrap()), 20.0);
    assert_eq!(width(&restricted("9000004 150.").unwrap()), 0.0);
    fs::write(&file, lorentz).unwrap();
}

/// There couplings depend on widths, so the model's own value is kept, unless it is a placeholder.
#[test]
fn widths_in_the_complex_mass_scheme() {
    let (_folder, path) = copy();
    fs::remove_file(path.join("decays.py")).unwrap();
    let card = fs::read_to_string(path.join("restrict_equal.dat")).unwrap();
    with_auto_width(&path, "9000004 150.").unwrap();
    let file = path.join("parameters.py");
    let text = fs::read_to_string(&file).unwrap();
    let with = |own: &str| {
        let own = text.replace("value = 20.", &format!("value = {own}"));
        fs::write(&file, own).unwrap();
        let document = read_in(
            &path,
            &Restriction::By("auto".into()),
            Scheme::COMPLEX_MASSES,
        );
        document.map_err(|error| error.to_string())
    };
    assert_eq!(width(&with("0.5").unwrap()), 0.5);
    // A second card without the width leaves it open.
    let less: Vec<&str> = card
        .lines()
        .filter(|line| !line.to_lowercase().contains("decay 9000004"))
        .collect();
    fs::write(path.join("param_auto.dat"), less.join("\n")).unwrap();
    assert_eq!(width(&with("0.75").unwrap()), 0.75);
    let error = with("0.").unwrap_err();
    assert!(error.contains("DECAY 9000004 is Auto"), "{error}");
    fs::remove_file(path.join("param_auto.dat")).unwrap();
    let error = with("0.").unwrap_err();
    assert!(
        error.contains("DECAY 9000004 is Auto, and in the complex-mass scheme couplings depend on the widths; write a number"),
        "{error}"
    );
}

/// A copy of the toy model.
fn copy() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy");
    fs::create_dir(&path).unwrap();
    for entry in fs::read_dir(toy()).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        }
    }
    (folder, path)
}

fn changed(file: &str, from: &str, to: &str) -> String {
    let (_folder, path) = copy();
    let file = path.join(file);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(&file, text.replacen(from, to, 1)).unwrap();
    match read(&path, &Restriction::Default) {
        Ok(_) => panic!("{to:?} is read"),
        Err(error) => error.to_string(),
    }
}

/// The toy model with replacements in its files: file, old text, new text.
fn with(changes: &[[&str; 3]], restriction: &Restriction) -> Result<Document, String> {
    let (_folder, path) = copy();
    for [file, from, to] in changes {
        let file = path.join(file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
    }
    read(&path, restriction).map_err(|error| error.to_string())
}

/// Things are not merged because of their text, or their value, alone.
#[test]
fn what_is_merged_is_the_same_in_all() {
    let by = |name: &str| Restriction::By(name.into());
    let first = "GC_1 = Coupling(";
    // A coupling in no vertex changes nothing, whatever its text and orders.
    let unused = [
        "couplings.py",
        first,
        "GC_0 = Coupling(name = 'GC_0', value = 'complex(0,1)*gx', order = {'QCD':3})\nGC_1 = Coupling(",
    ];
    for restriction in [Restriction::Default, by("equal")] {
        let plain = with(&[], &restriction).unwrap();
        assert_eq!(with(&[unused], &restriction).unwrap(), plain);
    }
    // If used, each has its own orders, restricted or not, also if vertices have them only with a minus.
    let other = [
        "couplings.py",
        "GC_9 = Coupling(",
        "GC_10 = Coupling(name = 'GC_10', value = 'complex(0,1)/MZp**2', order = {'NP':3})\nGC_9 = Coupling(",
    ];
    let used = [
        "vertices.py",
        "(1,1):C.GC_9,(0,2):C.GC_9",
        "(1,1):C.GC_9,(1,2):C.GC_10",
    ];
    let minus = [
        "vertices.py",
        "(0,0):C.GC_9,(1,1):C.GC_9,(0,2):C.GC_9",
        "(0,1):C.GC_10,(1,1):C.GC_9",
    ];
    for restriction in [Restriction::Default, by("equal")] {
        for vertex in [used, minus] {
            let document = with(&[other, vertex], &restriction).unwrap();
            let orders = |name: &str| document.couplings.get(name).map(|row| row.orders["NP"]);
            assert_eq!(
                (orders("GC_9"), orders("GC_10")),
                (Some(2), Some(3)),
                "{vertex:?}"
            );
        }
    }
    // Sums of structures, with and without signs, whose parts have names that look alike.
    let structures = "\nuFFV1 = Lorentz(name = 'uFFV1', spins = [ 2, 2, 3 ], structure = 'Gamma(3,2,1)')\
                      \ndFFV2 = Lorentz(name = 'dFFV2', spins = [ 2, 2, 3 ], structure = 'P(3,1)*Identity(2,1)')\
                      \nVSS1 = Lorentz(";
    let named = ["lorentz.py", "\nVSS1 = Lorentz(", structures];
    let gluon = [
        "vertices.py",
        "lorentz = [ L.FFV1, L.FFV2 ], couplings = {(0,0):C.GC_2",
        "lorentz = [ L.uFFV1, L.dFFV2 ], couplings = {(0,0):C.GC_2",
    ];
    let document = with(&[named, gluon], &by("equal")).unwrap();
    let structure = |particles: &str| {
        let terms = terms(&document, particles);
        document.lorentz[terms[0].split(' ').nth(1).unwrap()].clone()
    };
    assert_eq!(
        structure("q~ q g"),
        "(P(3,1)*Identity(2,1)) + (Gamma(3,2,1))"
    );
    assert_eq!(
        structure("q~ q zp"),
        " - (Gamma(3,2,-1)*ProjP(-1,1)) + (Gamma(3,2,-1)*ProjM(-1,1))"
    );
    // Renamed parameters do not get the names of others.
    let taken = [
        "parameters.py",
        "G = Parameter(",
        "m2 = Parameter('mix__2', 'internal', 'real', '7', 'm')\nG = Parameter(",
    ];
    let document = with(&[taken], &Restriction::Default).unwrap();
    assert_eq!(document.parameters["mix__2"], "7");
    assert_eq!(document.parameters["mix__2_"], "mix**2");
    // If two Majorana fermions share a width, each has it with the sign of its mass.
    let second = [
        "particles.py",
        "s = Particle(",
        "y = Particle(9000012, 'y', 'y', 2, 1, Param.MS, Param.WX, 'y', 'y', 0)\ns = Particle(",
    ];
    let document = with(&[second], &Restriction::Default).unwrap();
    let widths = document
        .particles
        .iter()
        .filter(|row| ["x", "y"].contains(&row.name.as_str()));
    let widths: Vec<&str> = widths
        .map(|row| &*document.parameters[row.width.as_ref().unwrap()])
        .collect();
    assert_eq!(
        widths,
        [
            "abs(WX) if MX >= 0 else -abs(WX)",
            "abs(WX) if MS >= 0 else -abs(WX)"
        ]
    );
}

/// Keys of dictionaries are as in Python: the last of two values is used, and -1 is the last of a list.
#[test]
fn keys_are_those_of_python() {
    let vertex = |couplings: &str| {
        let change = [
            "vertices.py",
            "(0,0):C.GC_9,(1,1):C.GC_9,(0,2):C.GC_9",
            couplings,
        ];
        let document = with(&[change], &Restriction::Default)?;
        Ok::<_, String>(terms(&document, "q~ q q~ q"))
    };
    let last = "Identity(1,4)*Identity(2,3) FFFF2 -GC_9";
    for key in [
        "(-1,1)",
        "(1,-2)",
        "(True,1)",
        "(1,1):C.GC_1,(1,1)",
        "(1,1):C.GC_1,(1.0-0,True)",
    ] {
        // The last key equals the first.
        assert_eq!(
            vertex(&format!("{key}:C.GC_9")),
            Ok(vec![last.to_owned()]),
            "{key}"
        );
    }
    for key in [
        "(0.5,1)", "(1.0,1)", "(-3,1)", "(2,1)", "('0',1)", "(1,1,1)", "1",
    ] {
        let error = vertex(&format!("{key}:C.GC_9")).unwrap_err();
        assert!(
            error.contains("vertices.py, line 18: Vertex V_7: `couplings` has the key "),
            "{error}"
        );
    }
}

/// Things that MG5aMC ignores, or takes as they are.
#[test]
fn what_mg5amc_takes_is_taken() {
    // A vertex of a Goldstone boson that violates charge conservation, but is not in the unitary gauge.
    let goldstone = [
        "vertices.py",
        "particles = [ P.x, P.x, P.g0 ], color = [ '1' ]",
        "particles = [ P.q__tilde__, P.x, P.g0 ], color = [ '1' ]",
    ];
    let document = with(&[goldstone], &Restriction::Default).unwrap();
    assert_eq!(document.charges.keys().collect::<Vec<_>>(), ["charge"]);
    let model = Model::from_document(document).unwrap();
    assert_eq!(model.unphysical.len(), 1);
    // Different orders of fermions in the terms, with the same sign.
    let orders = [
        "lorentz.py",
        "'ProjP(4,1)*Identity(2,3)'",
        "'ProjP(4,1)*Identity(2,3) + ProjP(3,1)*ProjP(4,2)'",
    ];
    let document = with(&[orders], &Restriction::Default).unwrap();
    assert!(terms(&document, "q~ q q~ q")[0].ends_with(" FFFF2 -GC_9"));
    // Nothing depends on whether a particle is drawn as a line.
    let auxiliary = [
        "particles.py",
        "charge = 0, propagator = Prop.V)",
        "charge = 0, propagator = Prop.V, propagating = False)",
    ];
    let squared = |changes: &[[&str; 3]]| {
        let model = Model::from_document(with(changes, &Restriction::Default).unwrap()).unwrap();
        let process = generate_with("q q~ > q q~ NP=4 QCD=0", &model)
            .unwrap()
            .remove(0);
        let p = 300.0;
        let energy = f64::sqrt(p * p + 10_000.0);
        let momenta = [
            [energy, 0.0, 0.0, p],
            [energy, 0.0, 0.0, -p],
            [energy, 0.6 * p, 0.0, 0.8 * p],
            [energy, -0.6 * p, 0.0, -0.8 * p],
        ];
        process
            .evaluate(&momenta, 1.2, &process.model.default_card())
            .total()
    };
    assert_eq!(squared(&[auxiliary]), squared(&[]));
}

/// Things that occur in public models, and that MG5aMC accepts.
#[test]
fn oddities_of_public_models_are_read() {
    let (_folder, path) = copy();
    let change = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(path.join(file)).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(path.join(file), text.replacen(from, to, 1)).unwrap();
    };
    let plain = read(&path, &Restriction::Default).unwrap();
    // A Lorentz structure that is defined twice.
    let twice = "FFS1 = Lorentz(name = 'FFS1', spins = [ 2, 2, 1 ], structure = 'ProjM(2,1)')\n";
    change("lorentz.py", "FFS2 =", &format!("{twice}FFS2 ="));
    // An undeclared coupling order, in a Goldstone boson's vertex.
    let (known, other) = (
        "value = 'complex(0,1)*mix*aS', order = {'NP':1}",
        "order = {'1':1}",
    );
    change(
        "couplings.py",
        known,
        &known.replace("order = {'NP':1}", other),
    );
    let mut odd = read(&path, &Restriction::Default).unwrap();
    assert_eq!(odd.orders.remove("1"), Some(1));
    odd.couplings.get_mut("GC_7").unwrap().orders = plain.couplings["GC_7"].orders.clone();
    assert_eq!(odd, plain);
}

/// Each error contains file, line, and the text there.
#[test]
fn what_is_no_model_is_refused_with_its_place() {
    let (end, start) = (
        "couplings = {(0,0):C.GC_1})\n",
        "from .object_library import all_vertices, Vertex\n",
    );
    #[rustfmt::skip]
    let cases = [
        ("vertices.py", start, "import os\nos.system('true')\n",
         "vertices.py, line 2: `os.system(...)` is not read: no code"),
        ("vertices.py", start, "while True: pass\n", "vertices.py, line 1: `while` is not read"),
        ("vertices.py", start, "V = [1 for x in y]\n", "`for` is not read"),
        ("vertices.py", start, "class Vertex: pass\n", "`class` is not read"),
        ("vertices.py", start, "x = lambda y: y\n", "`lambda` is not read"),
        ("vertices.py", start, "x = open('f').read()\n", "there is no `open`"),
        ("vertices.py", end, "couplings = {(0,0):C.GC_1}\n", "`(` is not closed"),
        ("vertices.py", end, "couplings = {(0,0):C.GC_99})\n", "vertices.py, line 7: couplings has no `GC_99`"),
        ("vertices.py", end, "couplings = {(0,1):C.GC_1})\n",
         "V_1: `couplings` has the key (0, 1); one is (colour, Lorentz structure)"),
        ("vertices.py", end, "couplings = {(0,0):L.VVV1})\n", "in the place of a Coupling"),
        ("vertices.py", "[ P.q__tilde__, P.q, P.zp ]", "[ P.q__tilde__, P.s, P.zp ]", "odd number of fermions"),
        ("vertices.py", "[ P.q__tilde__, P.x, P.s ]", "[ P.q__tilde__, P.x, P.s__tilde__ ]",
         "vertices.py, line 12: V_4: the vertex q~ x s~ does not conserve electric charge"),
        ("vertices.py", "[ P.q__tilde__, P.q, P.zp ]", "[ P.q, P.q__tilde__, P.zp ]",
         "the vertex V_3 has Q in the place"),
        ("vertices.py", "particles = [ P.g, P.g, P.g ]", "particles = [ P.g, P.g ]", "fewer than three particles"),
        ("couplings.py", "name = 'GC_2'", "name = 'GC_1'", "Coupling GC_1: two couplings have this name"),
        ("couplings.py", "'-G'", "'-g5'", "couplings.py, line 5: GC_1: there is no parameter `g5`"),
        ("couplings.py", "'-G'", "'-erf(G)'", "GC_1: there is no function erf of 1 arguments"),
        ("couplings.py", "'-G'", "'-__import__(1)'", "GC_1: there is no function __import__"),
        ("couplings.py", "'-G'", "'-(G'", "Coupling GC_1: `-(G`, character 4"),
        ("couplings.py", "'-G'", "'G/(mix - mix)'", "GC_1 = inf+0i, which is not a finite number"),
        ("couplings.py", "{'NP':1}", "{'NP':0.5}", "powers are whole numbers below 1000"),
        ("couplings.py", "{'NP':1}", "{'NQ':1}",
         "couplings.py, line 7: GC_3: there is no order NQ; coupling_orders.py has "),
        ("parameters.py", "'Mix**2'", "'mix + 1'", "parameters.py, line 35: mix: a parameter is defined by itself"),
        ("parameters.py", "name = 'MX'", "name = 'MQ'", "Parameter MQ: two parameters have this name"),
        ("parameters.py", "'XSECTOR', [ 2 ]", "'xsector', [ 1 ]",
         "Parameter gy: it is 0.25 and gx is 0.3, but both are the entry 1 of block xsector"),
        ("propagators.py", "V = Propagator(", "V2 = Propagator(name = 'V', numerator = '1')\nV = Propagator(",
         "Propagator V: two propagators have this name"),
        ("parameters.py", "lhacode = [ 3 ]", "lhacode = [ 3.5 ]", "not a list of whole numbers"),
        ("parameters.py", "value = 100.", "value = 1e999", "`value` is not a finite number"),
        ("parameters.py", "value = 100.", "value = 1/0", "line 16: a division by zero"),
        ("parameters.py", "'2*cmath.sqrt(aS)*cmath.sqrt(cmath.pi)'", "'2*cmath.sqrt(aS)'",
         "is not the strong coupling"),
        ("particles.py", "pdg_code = 9000003", "pdg_code = 9000001", "two particles have the PDG code 9000001"),
        ("particles.py", "name = 'zp', antiname = 'zp'", "name = 'x', antiname = 'x'", "its name x is"),
        ("particles.py", "spin = 3, color = 8", "spin = 9, color = 8", "spin = 9"),
        ("particles.py", "mass = Param.MQ", "mass = Param", "Particle Q: `mass` is not a parameter"),
        ("particles.py", "name = 'g'", "name = 'a b'", "which is not a word"),
        ("lorentz.py", "'ProjP(4,1)*Identity(2,3)'", "'Identity(4,1)*Identity(2,3) + ProjP(2,1)*ProjP(4,3)'",
         "V_7: Lorentz structure FFFF2: it joins fermions in several ways"),
        ("lorentz.py", "name = 'FFS2'", "name = 'FFS1'", "two Lorentz structures have this name"),
        ("function_library.py", "return x/2.", "x = 1\n    return x", "`def half` is more than one formula"),
        ("__init__.py", "gauge = [0, 1]", "gauge = [2]", "gauge = [2.0] has neither 0, the unitary gauge, nor 1"),
    ];
    for (file, from, to, says) in cases {
        let error = changed(file, from, to);
        assert!(error.contains(says), "{to}\n  says {error}\n  not  {says}");
    }
}

/// Input that would exhaust memory, or take forever.
#[test]
fn nothing_grows_without_bound() {
    let start = "from .object_library import all_vertices, Vertex\n";
    let doubled = |first: &str| {
        let lines = (0..60).map(|n| format!("x{} = x{n} + x{n}\n", n + 1));
        format!("x0 = {first}\n{}", lines.collect::<String>())
    };
    let nested =
        |open: &str, close: &str| format!("x = {}1{}\n", open.repeat(5000), close.repeat(5000));
    let many = |large: usize| {
        let lines = (0..large).map(|n| format!("x{} = x{n} + x{n}\n", n + 1));
        let copies = (0..60).map(|n| format!("y{n} = x{large} + x1\n"));
        format!("x0 = 'abc'\n{}", lines.chain(copies).collect::<String>())
    };
    let deep: String = (0..100_000)
        .map(|n| format!("x{} = [x{n}]\n", n + 1))
        .collect();
    for (text, says) in [
        (doubled("'abc'"), "a text of more than"),
        (doubled("[1, 2]"), "a list of more than"),
        (many(18), "entries and names are copied"),
        ("x = 010\n".into(), "line 1: `010` begins with 0"),
        (nested("[", "]"), "too many brackets"),
        (nested("(", ")"), "too many brackets"),
        (format!("x = {}1\n", "2**".repeat(5000)), "too many powers"),
        (
            format!("x = y{}\n", ".a".repeat(5000)),
            "too many attributes",
        ),
        (
            format!("x0 = 1\n{deep}"),
            "too many lists within each other",
        ),
        ("import vertices\n".into(), "import each other in a circle"),
    ] {
        let error = changed("vertices.py", start, &text);
        assert!(error.contains(says), "{error}");
    }
    let sum = "1 + ".repeat(1_000_000);
    let error = changed("vertices.py", start, &format!("x = {sum}1\n{start}"));
    assert!(error.contains("too many operators"), "{error}");
    for (file, from) in [
        ("couplings.py", "'-G'"),
        ("parameters.py", "'Mix**2'"),
        ("function_library.py", "'z.conjugate()'"),
    ] {
        let error = changed(file, from, &format!("'{sum}1'"));
        assert!(
            error.contains("too many operations within each other"),
            "{error}"
        );
    }
    // A chain of long formulas does not need a deep stack.
    let long = "1 + ".repeat(450);
    let chain: String = (0..90)
        .map(|n| {
            format!(
                "p{n} = Parameter('p{n}', 'internal', 'real', '{long}p{}', 'p')\n",
                n + 1
            )
        })
        .collect();
    let (_folder, path) = copy();
    let file = path.join("parameters.py");
    let text = fs::read_to_string(&file).unwrap();
    let last = "p90 = Parameter('p90', 'internal', 'real', '1', 'p')\n";
    fs::write(&file, format!("{text}{chain}{last}")).unwrap();
    read(&path, &Restriction::By("equal".into())).unwrap();
    let chain: String = (0..200)
        .map(|n| {
            format!(
                "p{n} = Parameter('p{n}', 'internal', 'real', 'p{} + 1', 'p')\n",
                n + 1
            )
        })
        .collect();
    let error = changed("parameters.py", "turn =", &format!("{chain}turn ="));
    assert!(
        error.contains("p0") || error.contains("defined by itself"),
        "{error}"
    );
}

/// Lines that repeat large objects: a few kilobytes could otherwise cause unbounded work.
#[test]
fn what_is_named_again_is_counted_again() {
    let start = "from .object_library import all_vertices, Vertex\n";
    let read_with = |other: &str, text: &str| {
        let (_folder, path) = copy();
        fs::write(path.join("other.py"), other).unwrap();
        let file = path.join("vertices.py");
        let vertices = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{start}{text}{vertices}")).unwrap();
        read(&path, &Restriction::Default).map_err(|error| error.to_string())
    };
    // 20,000 names are imported in each of many lines.
    let names: String = (0..20_000).map(|n| format!("n{n} = 1\n")).collect();
    let all = |times: usize| read_with(&names, &"from .other import *\n".repeat(times));
    all(10).unwrap();
    let error = all(1000).unwrap_err();
    assert!(error.contains("entries and names are copied"), "{error}");
    // One list or text that many objects share.
    let list = |last: &str| format!("x = ['abcdefghijklmnopqrstuvwxyz']{last}\n");
    let long: String = (0..16).map(|_| "x = x + x\n").collect();
    let functions = |named: &str, times: usize| {
        let text = format!(
            "from .object_library import Function\n{}{long}{}",
            list(""),
            format!("F = Function(name = 'f', {named})\n").repeat(times)
        );
        read_with("", &text)
    };
    for named in ["arguments = x", "arguments = [x]", "expression = {0: x}"] {
        let error = functions(named, 40).unwrap_err();
        assert!(error.contains("characters and entries"), "{named}: {error}");
    }
    // Lists that fork: more leaves than any memory holds.
    let forks = (0..60).map(|n| format!("x{} = [x{n}, x{n}]\n", n + 1));
    let forks = format!(
        "from .object_library import Function\nx0 = ['z']\n{}F = Function('f', x60, 'z')\n",
        forks.collect::<String>()
    );
    let error = read_with("", &forks).unwrap_err();
    assert!(
        error.contains("too many lists within each other"),
        "{error}"
    );
    let particle = "import particles as P\nP.g.more = x\n";
    let text = format!("{}{long}{}", list(""), particle.repeat(40));
    let error = read_with("", &text).unwrap_err();
    assert!(error.contains("characters and entries"), "{error}");
}

/// Each limit is tested by exceeding it.
#[test]
fn counts_have_ends() {
    let start = "from .object_library import all_vertices, Vertex\n";
    // Deeply nested imports, without a cycle.
    let (_folder, path) = copy();
    for n in 0..30 {
        let text = format!("from .m{} import x\n", n + 1);
        fs::write(path.join(format!("m{n}.py")), text).unwrap();
    }
    let file = path.join("vertices.py");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("from .m0 import x\n{text}")).unwrap();
    let error = read(&path, &Restriction::Default).unwrap_err().to_string();
    assert!(
        error.contains("more than 20 modules import each other"),
        "{error}"
    );
    // Couplings of a vertex.
    let couplings = format!("{{(0,0):[{}]}}", "C.GC_1,".repeat(10_002));
    let error = changed("vertices.py", "{(0,0):C.GC_1}", &couplings);
    assert!(error.contains("more than 10000 couplings"), "{error}");
    // Attributes of a particle.
    let charges: String = (0..101).map(|n| format!(", c{n} = 1")).collect();
    let error = changed("particles.py", "spin = 3", &format!("spin = 3{charges}"));
    assert!(error.contains("more than 100 charges"), "{error}");
    // More particles than can be numbered.
    let more = |n: u32| {
        let particle = |n| {
            format!("Particle({n}, 'y{n}', 'Y{n}', 1, 1, Param.ZERO, Param.ZERO, 'y', 'Y', 0)\n")
        };
        (0..n).map(|n| particle(20_000_000 + n)).collect::<String>()
    };
    let (_folder, path) = copy();
    let file = path.join("particles.py");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}{}", more(66_000))).unwrap();
    let error = read(&path, &Restriction::Default).unwrap_err().to_string();
    assert!(error.contains("more than 65535 particles"), "{error}");
    // Weights of coupling orders, which are summed.
    let error = changed(
        "coupling_orders.py",
        "hierarchy = 1",
        "hierarchy = 2147483646",
    );
    assert!(error.contains("weight 2147483646"), "{error}");
    // Exponents out of range, and towers of powers.
    #[rustfmt::skip]
    let cases = [
        ("vertices.py", start, "x = 10**(10**10)\nfrom .object_library import all_vertices, Vertex\n", None),
        ("couplings.py", "'-G'", "'G*10**(10**10)'", Some("not a finite number")),
        ("couplings.py", "'-G'", "'G*2**99999999999999999999'", Some("not a finite number")),
        ("parameters.py", "'Mix**2'", "'Mix**(-10**400)'", Some("not a finite number")),
        ("parameters.py", "'Mix**2'", "'Mix/(Mix - Mix)**2'", Some("not a finite number")),
    ];
    for (file, from, to, says) in cases {
        match says {
            Some(says) => {
                let error = changed(file, from, to);
                assert!(error.contains(says), "{to}: {error}");
            }
            None => {
                let (_folder, path) = copy();
                let file = path.join(file);
                let text = fs::read_to_string(&file).unwrap();
                fs::write(&file, text.replacen(from, to, 1)).unwrap();
                read(&path, &Restriction::Default).unwrap();
            }
        }
    }
}

/// Files with random insertions, deletions and exchanges are models or errors.
#[test]
fn damaged_files_are_models_or_errors() {
    let (_folder, path) = copy();
    let mut random = SplitMix64::new(17);
    let mut below = |n: usize| (random.between(0.0, 1.0) * n as f64) as usize;
    let pieces = [
        "(", ")", "[", "]", "{", "}", ",", "'", "\"", "\\", "\n", "=", "-", "**", "*", "/", "0",
        "1", "9", ".", ":", "if ", " else ", "P.q", "C.GC_1", "None", "é", "#", "\t", "  ",
        "lambda", "G", "aS", "1e400", "-1", "id", "anti()",
    ];
    let (mut models, mut errors) = (0, 0);
    for _ in 0..1500 {
        let names = [
            "particles",
            "parameters",
            "couplings",
            "lorentz",
            "vertices",
            "function_library",
            "propagators",
        ];
        let file = path.join(format!("{}.py", names[below(names.len())]));
        let whole = fs::read_to_string(&file).unwrap();
        let mut text: Vec<char> = whole.chars().collect();
        for _ in 0..1 + below(2) {
            let at = below(text.len());
            let end = (at + below(12)).min(text.len());
            let piece = pieces[below(pieces.len())].chars();
            match below(3) {
                0 => drop(text.drain(at..end)),
                1 => drop(text.splice(at..at, piece)),
                _ => drop(text.splice(at..end, piece)),
            }
        }
        fs::write(&file, text.iter().collect::<String>()).unwrap();
        let card = if below(2) == 0 {
            Restriction::Default
        } else {
            Restriction::By("equal".into())
        };
        match read(&path, &card) {
            Ok(document) => {
                assert_eq!(Document::parse(&document.to_string()).unwrap(), document);
                models += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("toy: "), "{error}");
                errors += 1;
            }
        }
        fs::write(&file, whole).unwrap();
    }
    assert!(
        models > 100 && errors > 100,
        "{models} models, {errors} errors"
    );
}

#[cfg(unix)]
#[test]
fn links_pipes_and_huge_files_are_refused() {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    let refused = |put: &dyn Fn(&Path)| {
        let (_folder, path) = copy();
        let file = path.join("vertices.py");
        fs::remove_file(&file).unwrap();
        put(&file);
        read(&path, &Restriction::Default).unwrap_err().to_string()
    };
    let error = refused(&|file| std::os::unix::fs::symlink("/dev/zero", file).unwrap());
    assert!(error.contains("vertices.py: this is a link"), "{error}");
    let error = refused(&|file| {
        let name = CString::new(file.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    });
    assert!(error.contains("this is no regular file"), "{error}");
    let error = refused(&|file| fs::File::create(file).unwrap().set_len(1 << 40).unwrap());
    assert!(error.contains("more than this file can need"), "{error}");
    let error = refused(&|file| fs::create_dir(file).unwrap());
    assert!(error.contains("this is a folder"), "{error}");
    let error = refused(&|_| {});
    assert!(
        error.contains("no vertices.py: this is not a UFO model"),
        "{error}"
    );
}

/// The toy model with a running.py, in which gx and gy of block XSECTOR run and mix.
fn with_running(running: &str) -> TempDir {
    let (folder, path) = copy();
    let file = path.join("parameters.py");
    let text = fs::read_to_string(&file).unwrap();
    let scaled = text
        .replace("lhacode = [ 1 ])", "lhacode = [ 1 ], scale = 250.)")
        .replace("'XSECTOR', [ 2 ])", "'XSECTOR', [ 2 ], 250)");
    assert_eq!(scaled.len(), text.len() + ", scale = 250., 250".len());
    fs::write(file, scaled).unwrap();
    let head = "import parameters as P\nfrom object_library import all_running_elements, Running\n";
    fs::write(path.join("running.py"), format!("{head}{running}")).unwrap();
    folder
}

const RUNNING: &str = "
R_1 = Running(name = 'R_1', run_objects = [[P.gx, P.gx, P.aS], [P.gy, P.gy, P.G, P.G]], value = '-8./(4.*cmath.pi)')
R_2 = Running(name = 'R_2', run_objects = [[P.gx, P.gy, P.aS]], value = 0.5)
R_3 = Running(name = 'R_3', run_objects = [[P.gy, P.aS, P.gx]], value = '(-3./2.)/cmath.pi')
";

fn read_running(running: &str) -> Result<Document, String> {
    let folder = with_running(running);
    let path = folder.path().join("toy");
    read(&path, &Restriction::None).map_err(|e| e.to_string())
}

#[test]
fn parameters_run_as_their_equation_says() {
    let document = read_running(RUNNING).unwrap();
    let [row] = &document.running[..] else {
        panic!("{:?}", document.running)
    };
    assert_eq!(row.parameters, ["gx", "gy"]);
    assert_eq!((row.block.as_str(), row.scale), ("xsector", 250.0));
    assert_eq!(row.gamma.len(), 4);
    assert_eq!(Document::parse(&document.to_string()).unwrap(), document);
    let model = Model::from_document(document).unwrap();
    let process = generate_with("q q~ > zp zp", &model).unwrap().remove(0);
    let values = process.model.default_card();
    let at = |name: &str| process.model.card_parameter(name).unwrap();
    // The other one is included because both mix.
    let start = [values[at("gx")], values[at("gy")]];
    assert_eq!(start, [0.3, 0.25]);
    let alpha_s = mebridge_process::running::alpha_s(0.118, 250.0);
    let names = ["ALPHA_S", "FIXED", "QUARKS", "SCALE"];
    let entries = names.map(|name| values[at(&format!("RUNNING_XSECTOR_{name}"))]);
    assert_eq!(entries, [alpha_s, 0.0, 5.0, 250.0]);
    // d (alpha_s, gx, gy) / d ln mu, integrated by Runge-Kutta.
    let slope = |y: [f64; 3]| {
        let pi = std::f64::consts::PI;
        let [a, x, z] = y;
        [
            -(11.0 - 10.0 / 3.0) * a * a / (2.0 * pi),
            a * (-2.0 / pi * x + 0.5 * z),
            a * (-1.5 / pi * x - 2.0 / pi * z),
        ]
    };
    for t in [-2.0, 1.5] {
        let (mut y, h) = ([alpha_s, start[0], start[1]], t / 2000.0);
        for _ in 0..2000 {
            let along = |k: [f64; 3], h: f64| [0, 1, 2].map(|n| y[n] + h * k[n]);
            let k1 = slope(y);
            let k2 = slope(along(k1, h / 2.0));
            let k3 = slope(along(k2, h / 2.0));
            let k4 = slope(along(k3, h));
            y = [0, 1, 2].map(|n| y[n] + h / 6.0 * (k1[n] + 2.0 * (k2[n] + k3[n]) + k4[n]));
        }
        let g = (4.0 * std::f64::consts::PI * y[0]).sqrt();
        let all = process.model.evaluate(&values, g);
        let coupling = process.model.couplings.iter().find(|c| c.name == "GC_3");
        let found = all[coupling.unwrap().value as usize];
        assert!((found.im - y[1]).abs() < 1e-12, "{found} {}", y[1]);
    }
    // Processes that do not need them have no running.
    let process = generate_with("q q~ > g g", &model).unwrap().remove(0);
    assert_eq!(process.model.card_parameter("RUNNING_XSECTOR_SCALE"), None);
}

#[test]
fn what_runs_in_another_way_is_refused_where_a_process_needs_it() {
    let one = |objects: &str, value: &str| {
        format!("R = Running(name = 'R', run_objects = [[{objects}]], value = '{value}')\n")
    };
    #[rustfmt::skip]
    let cases = [
        (one("P.gx, P.gx, P.G", "1"), "with one power of alpha_s is supported"),
        (one("P.gx, P.gx", "1"), "with one power of alpha_s is supported"),
        (one("P.gx, P.gx, P.gx, P.aS", "1"), "in proportion to one parameter is supported"),
        (one("P.gx, P.gx, P.aS", "MZp"), "MZp is not a number: there is no parameter `MZp`"),
        (one("P.gx, P.MS, P.aS", "1"), "parameters of other blocks of the card (mass, xsector)"),
        (one("P.gx, P.phase, P.aS", "1"), "does not give the same `scale`"),
        (one("P.gx, P.size, P.aS", "1"), "has no entry of the card for size, with which it mixes"),
    ];
    for (running, why) in cases {
        let model = Model::from_document(read_running(&running).unwrap()).unwrap();
        let error = generate_with("q q~ > zp zp", &model)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("needs gx, which runs")
                && error.contains(why)
                && error.contains("without running.py"),
            "{error}"
        );
        assert!(generate_with("q q~ > g g", &model).is_ok());
    }
    // Masses must not depend on the event.
    let mut document = read_running(RUNNING).unwrap();
    document.parameters.insert("heavy".into(), "gx*1000".into());
    let zp = document.particles.iter_mut().find(|p| p.name == "zp");
    zp.unwrap().mass = Some("heavy".into());
    let model = Model::from_document(document).unwrap();
    let error = generate_with("q q~ > zp zp", &model)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("a mass or width depends on gx, which runs"),
        "{error}"
    );
    // Errors in running.py contain the place.
    for (running, why) in [
        (
            one("P.gx, P.gx, 3", "1"),
            "running.py, line 3: Running R: there is something else in the place of a Parameter",
        ),
        (
            one("P.gx, P.gx, P.aS", "1").repeat(2),
            "gx and gx have a coefficient already",
        ),
        (
            "R = Running(name = 'R', run_objects = [P.gx], value = '1')\n".into(),
            "not a list of lists",
        ),
        ("while True: pass\n".into(), "running.py, line 3"),
    ] {
        let error = read_running(&running).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

/// Invalid running is also refused in a model file.
#[test]
fn rows_of_what_runs_are_checked() {
    let text = read_running(RUNNING).unwrap().to_string();
    for (from, to, why) in [
        (
            "scale = 250.0\n",
            "scale = 0.0\n",
            "scale = 0, which is not a scale",
        ),
        (
            "block = \"xsector\"\nscale",
            "block = \"mass\"\nscale",
            "gx is of block xsector, and not of mass",
        ),
        (
            "parameters = [\"gx\", \"gy\"]",
            "parameters = [\"gx\", \"gz\"]",
            "`gy` is not one of them",
        ),
        ("\"0.5\"", "\"gx\"", "gx is not a number"),
        ("\"0.5\"", "\"1e300\"", ""),
    ] {
        assert!(text.contains(from), "{from}");
        let model = Model::parse(&text.replacen(from, to, 1), Path::new("model.toml"));
        let error = match model {
            Err(error) => error.to_string(),
            Ok(model) => generate_with("q q~ > zp zp", &model)
                .unwrap_err()
                .to_string(),
        };
        assert!(error.contains(why), "{error}");
    }
}
