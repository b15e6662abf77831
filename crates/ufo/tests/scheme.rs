//! The toy model with complex masses, in the Feynman gauge, and with negative coupling orders.

use mebridge_generate::generate_with;
use mebridge_generate::model::file::Document;
use mebridge_generate::model::{Model, Scheme};
use mebridge_ufo::{Restriction, read_in};
use num_complex::Complex64;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const COMPLEX: Scheme = Scheme::COMPLEX_MASSES;
const FEYNMAN: Scheme = Scheme::FEYNMAN;

/// A copy of the toy model with replacements: file, old text, new text.
struct Copy(TempDir);

impl Copy {
    fn with(changes: &[(&str, &str, &str)]) -> Copy {
        let copy = Copy(tempfile::tempdir().unwrap());
        let toy = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/toy");
        fs::create_dir(copy.path()).unwrap();
        for entry in fs::read_dir(toy).unwrap().flatten() {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
            }
        }
        for (file, from, to) in changes {
            let file = copy.path().join(file);
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.contains(from), "{from}");
            fs::write(&file, text.replacen(from, to, 1)).unwrap();
        }
        copy
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("toy")
    }

    fn read(&self, scheme: Scheme) -> Result<Document, String> {
        self.restricted(&Restriction::Default, scheme)
    }

    fn restricted(&self, by: &Restriction, scheme: Scheme) -> Result<Document, String> {
        read_in(&self.path(), by, scheme).map_err(|error| error.to_string())
    }
}

fn complex_mass<'a>(document: &'a Document, name: &str) -> Option<&'a str> {
    let row = document.particles.iter().find(|row| row.name == name);
    row.unwrap().complex_mass.as_deref()
}

fn value(document: &Document, name: &str) -> Complex64 {
    let model = Model::from_document(document.clone()).unwrap();
    model.parameter(name, None).unwrap()
}

fn in_card(document: &Document, name: &str) -> Option<f64> {
    let entry = document.card.iter().find(|entry| entry.name == name);
    entry.map(|entry| entry.value)
}

fn near(a: Complex64, b: Complex64) -> bool {
    (a - b).norm() < 1e-12 * b.norm()
}

/// Particles with a mass and a width have complex masses, which replace the real ones in couplings.
#[test]
fn masses_become_complex() {
    let toy = Copy::with(&[]);
    let document = toy.read(COMPLEX).unwrap();
    assert_eq!(document.name, "toy+complex_masses");
    let of = |name: &str| complex_mass(&document, name);
    assert_eq!((of("zp"), of("x")), (Some("CMASS_MZp"), Some("CMASS_MX")));
    // Particles without a width, or not in the gauge, have none.
    assert_eq!((of("q"), of("s"), of("g0")), (None, None, None));
    assert_eq!(
        document.couplings["GC_9"].value,
        "complex(0,1)/CMASS_MZp**2"
    );
    assert!(document.decays.is_empty());
    let root = |mass: f64, width: f64| Complex64::new(mass * mass, -mass * width).sqrt();
    assert!(near(value(&document, "CMASS_MZp"), root(1000.0, 20.0)));
    assert!(near(value(&document, "CMASS_MX"), root(200.0, 2.0)));
    // The text of the file is complete.
    assert_eq!(Document::parse(&document.to_string()).unwrap(), document);
    // A propagator with its own denominator uses the real mass and the width.
    let model = Model::from_document(document).unwrap();
    let error = generate_with("q q~ > q q~ QCD=0", &model).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("propagator V: one with its own denominator cannot have a complex mass"),
        "{error}"
    );
    // With zero width in a restriction card there is no complex mass.
    let by = Restriction::By("equal".into());
    let restricted = toy.restricted(&by, COMPLEX).unwrap();
    assert_eq!(complex_mass(&restricted, "zp"), None);
    assert_eq!(complex_mass(&restricted, "x"), Some("CMASS_MX"));
}

/// The complex mass of a Majorana fermion has the sign of the real mass, as in the limit of zero width.
#[test]
fn negative_masses_stay_negative() {
    let negative = [(
        "parameters.py",
        "value = 200., texname = 'M_X'",
        "value = -200., texname = 'M_X'",
    )];
    let document = Copy::with(&negative).read(COMPLEX).unwrap();
    let root = Complex64::new(40_000.0, -400.0).sqrt();
    assert!(near(value(&document, "CMASS_MX"), -root));
}

/// Yukawa couplings are the masses of their particles; the mass of the W replaces the Fermi constant.
#[test]
fn parameters_follow_the_masses() {
    let parameters = "G = Parameter(name = 'G',";
    let more = "
ymx = Parameter('ymx', 'external', 'real', 150., 'y', 'YUKAWA', [ 9000002 ])
ymq = Parameter('ymq', 'external', 'real', 150., 'y', 'YUKAWA', [ 9000001 ])
aEWM1 = Parameter('aEWM1', 'external', 'real', 127.9, 'a', 'SMINPUTS', [ 1 ])
Gf = Parameter('Gf', 'external', 'real', 1.16637e-5, 'G', 'SMINPUTS', [ 2 ])
MZ = Parameter('MZ', 'external', 'real', 91.1876, 'MZ', 'MASS', [ 23 ])
WW = Parameter('WW', 'external', 'real', 2.085, 'WW', 'DECAY', [ 24 ])
aEW = Parameter('aEW', 'internal', 'real', '1/aEWM1', 'a')
MW = Parameter('MW', 'internal', 'real', 'cmath.sqrt(MZ**2/2. + cmath.sqrt(MZ**4/4. - (aEW*cmath.pi*MZ**2)/(Gf*cmath.sqrt(2))))', 'MW')
vev = Parameter('vev', 'internal', 'real', '1/cmath.sqrt(Gf*cmath.sqrt(2))', 'v')
MH = Parameter('MH', 'internal', 'real', 'vev*gx', 'MH')
WH = Parameter('WH', 'external', 'real', 1.5, 'WH', 'DECAY', [ 9000025 ])
G = Parameter(name = 'G',";
    let particles = "q.loop_particles";
    let w = "
wp = Particle(24, 'w+', 'w-', 3, 1, Param.MW, Param.WW, 'w', 'w', 1)
wm = wp.anti()
h = Particle(9000025, 'hh', 'hh', 1, 1, Param.MH, Param.WH, 'h', 'h', 0)
q.loop_particles";
    let coupling = (
        "couplings.py",
        "value = 'complex(0,1)*gx', order = {'NP':1})\nGC_4",
        "value = 'complex(0,1)*gx*(ymx + ymq)/vev', order = {'NP':1})\nGC_4",
    );
    let changes = [
        ("parameters.py", parameters, more),
        ("particles.py", particles, w),
        coupling,
    ];
    let toy = Copy::with(&changes);
    let document = toy.read(COMPLEX).unwrap();
    for name in ["ymx", "ymq", "Gf", "WH"] {
        assert_eq!(in_card(&document, name), None, "{name}");
    }
    assert!(near(value(&document, "ymx"), value(&document, "CMASS_MX")));
    assert_eq!(value(&document, "ymq"), Complex64::new(100.0, 0.0));
    // Without a card, the mass is MG5aMC's default.
    assert_eq!(in_card(&document, "MW"), Some(80.385));
    // A mass that follows from complex parameters is complex because of these, and determines the width.
    let [h, vev, m, w] = ["CMASS_MH", "vev", "MH", "WH"].map(|name| value(&document, name));
    assert!(near(h, vev * 0.3) && vev.im != 0.0);
    assert!(near(m * m, Complex64::new((h * h).re, 0.0)));
    assert!(near(m * w, Complex64::new(-(h * h).im, 0.0)));
    // The card of a restriction has the Fermi constant.
    let card = fs::read_to_string(toy.path().join("restrict_equal.dat")).unwrap();
    let card = card
        .replace(
            "Block SMINPUTS\n",
            "Block SMINPUTS\n  1 127.9\n  2 1.16637e-5\n",
        )
        .replace(
            "Block MASS\n",
            "Block YUKAWA\n  9000001 1.\n  9000002 2.\nBlock MASS\n  23 91.1876\n",
        );
    let card = format!("{card}DECAY 24 2.085\nDECAY 9000025 1.5\n");
    fs::write(toy.path().join("restrict_w.dat"), card).unwrap();
    let restricted = toy
        .restricted(&Restriction::By("w".into()), COMPLEX)
        .unwrap();
    let z = 91.1876f64.powi(2);
    let under = z * z / 4.0 - std::f64::consts::PI * z / (127.9 * 1.16637e-5 * 2f64.sqrt());
    let mass = (z / 2.0 + under.sqrt()).sqrt();
    assert!((in_card(&restricted, "MW").unwrap() / mass - 1.0).abs() < 1e-14);
    // The resulting Fermi constant is unchanged, except for the width.
    let fermi = value(&restricted, "Gf");
    assert!(
        (fermi.re / 1.16637e-5 - 1.0).abs() < 1e-2 && fermi.im != 0.0,
        "{fermi}"
    );
}

/// Goldstone bosons are particles of the Feynman gauge, and vectors with one have its propagator.
#[test]
fn a_model_has_its_gauges() {
    let plain = ("particles.py", ", propagator = Prop.V", "");
    let toy = Copy::with(&[plain]);
    let count = |scheme: Scheme| {
        let model = Model::from_document(toy.read(scheme).unwrap()).unwrap();
        let processes = generate_with("x x > x x", &model);
        (model, processes.map(|all| all.len()).ok())
    };
    let (model, found) = count(FEYNMAN);
    let zp = model.properties(model.particle("zp").unwrap());
    assert!(zp.feynman && found == Some(1), "{found:?}");
    let error = generate_with("x x > g0 g0", &model)
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be an external particle"), "{error}");
    let (model, found) = count(Scheme::default());
    let zp = model.properties(model.particle("zp").unwrap());
    assert!(!zp.feynman && found.is_none());
    // A vector without a Goldstone boson of its mass has the propagator of the unitary gauge.
    let other = (
        "particles.py",
        "color = 1, mass = Param.MZp,\n              width = Param.ZERO",
        "color = 1, mass = Param.MS,\n              width = Param.ZERO",
    );
    let alone = Copy::with(&[plain, other]).read(FEYNMAN).unwrap();
    let alone = Model::from_document(alone).unwrap();
    assert!(!alone.properties(alone.particle("zp").unwrap()).feynman);
    let gauges = |which: &'static str, scheme: Scheme| {
        Copy::with(&[("__init__.py", "gauge = [0, 1]", which)]).read(scheme)
    };
    assert!(gauges("gauge = [1]", FEYNMAN).is_ok());
    // A model with only one gauge is used in that gauge, and named so.
    let same = |which, scheme, other| {
        assert_eq!(
            gauges(which, scheme).unwrap(),
            gauges("gauge = [0, 1]", other).unwrap()
        );
    };
    same("gauge = [0]", FEYNMAN, Scheme::default());
    same("gauge = [1]", Scheme::default(), FEYNMAN);
}

/// Of several propagators, the second is that of the Feynman gauge.
#[test]
fn propagators_have_a_gauge() {
    let second = "\nV2 = Propagator(name = \"V2\", numerator = \"-1 * Metric(1, 2)\", denominator = denominator)\n";
    let definition = "               denominator = denominator)\n";
    let changes = [
        (
            "propagators.py",
            definition,
            &*format!("{definition}{second}"),
        ),
        (
            "particles.py",
            "propagator = Prop.V",
            "propagator = [Prop.V, Prop.V2]",
        ),
    ];
    let toy = Copy::with(&changes);
    for (scheme, name) in [(FEYNMAN, "V2"), (Scheme::default(), "V")] {
        let document = toy.read(scheme).unwrap();
        assert_eq!(document.particles[4].propagator.as_deref(), Some(name));
    }
}

/// Negative powers count in `WEIGHTED`, but cannot be bounded.
#[test]
fn coupling_orders_may_be_negative() {
    let order = (
        "coupling_orders.py",
        "NP = ",
        "X = CouplingOrder(name = 'X', expansion_order = 99, hierarchy = 1)\nNP = ",
    );
    let read = |power: i32| {
        let to = format!("value = 'complex(0,1)*gx', order = {{'NP':1,'X':{power}}})\nGC_4");
        let from = "value = 'complex(0,1)*gx', order = {'NP':1})\nGC_4";
        let mix = (
            "couplings.py",
            "'NP':1 if more else 1,",
            &*format!("'X':{power}, 'NP':1 if more else 1,"),
        );
        let document =
            Copy::with(&[order, ("couplings.py", from, &to), mix]).read(Scheme::default());
        Model::from_document(document.unwrap()).unwrap()
    };
    let model = read(-1);
    assert!(generate_with("q q~ > zp zp", &model).is_ok());
    let zp = model.particle("zp").unwrap();
    let vertex = model.vertices.iter().find(|v| v.particles.contains(&zp));
    let vertex = vertex.map(|v| (v.weighted, v.level, v.orders.clone()));
    assert_eq!(vertex, Some((2, Some(3), vec![1, 0, 0])));
    for text in ["q q~ > zp zp X=1", "q q~ > zp zp X^2==-2"] {
        let error = generate_with(text, &model).unwrap_err().to_string();
        assert!(
            error.contains("have negative powers of X, so that it cannot be bounded"),
            "{error}"
        );
    }
    // Vertices of weight -1: with two in a diagram the bound is never exceeded, in any order of joining.
    let below = read(-4);
    let zp = below.particle("zp").unwrap();
    let vertex = below.vertices.iter().find(|v| v.particles.contains(&zp));
    assert_eq!(vertex.unwrap().weighted, -1);
    let diagrams = |text: &str, model| generate_with(text, model).unwrap()[0].diagrams;
    assert_eq!(
        diagrams("q q~ > zp zp", &below),
        diagrams("q q~ > zp zp", &model)
    );
    // With a gluon, the sum is within the bound only if the negative part is counted first.
    let refused = |text: &str| generate_with(text, &below).unwrap_err().to_string();
    let error = refused("q q~ > zp g WEIGHTED<=0");
    assert!(
        error.contains("the order in which their parts are joined"),
        "{error}"
    );
    let error = refused("q q~ > zp g WEIGHTED^2<=2");
    assert!(error.contains("no WEIGHTED^2 can be bounded"), "{error}");
    assert_eq!(diagrams("q q~ > zp g NP=1", &below), 2);
}
