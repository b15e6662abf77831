use super::*;
use mebridge_import::import_directory;
use mebridge_ops::recognize::recognize;
use mebridge_process::ExternalKind;
use mebridge_process::lorentz::Routine;
use mebridge_support::random::SplitMix64;
use num_complex::Complex64;

/// Spins of the legs of a structure, from some vertex that has it.
fn spins(model: &Model, name: &str) -> Vec<u8> {
    let index = model.lorentz.iter().position(|l| l.name == name).unwrap() as u32;
    let has = |v: &&Vertex| {
        v.terms
            .iter()
            .any(|t| t.lorentz.iter().any(|l| l.0 == index))
    };
    let vertex = model.vertices.iter().find(has).unwrap();
    vertex
        .particles
        .iter()
        .map(|&p| model.properties(p).spin)
        .collect()
}

fn form(
    name: &str,
    structures: &[&Structure],
    spins: &[u8],
    result: Option<usize>,
    massless: bool,
) -> Routine {
    let form = RoutineForm {
        spins: spins.to_vec(),
        result,
        massless,
        complex: false,
        own: None,
        part: PropagatorPart::Whole,
        conjugated: vec![false; spins.len()],
    };
    derive(name.into(), structures, &form.normal(), None).unwrap()
}

fn derived(model: &Model, name: &str, result: Option<usize>, massless: bool) -> Routine {
    let structure = model.lorentz.iter().find(|l| l.name == name).unwrap();
    let structure = structure.structure.as_ref().unwrap();
    form(name, &[structure], &spins(model, name), result, massless)
}

/// On its mass shell, a decaying fermion is the sum of both helicities, each of which is unchanged by its own
/// projection, and removed by the other.
#[test]
fn helicities_of_fermions_that_decay_add_up() {
    let model = Model::standard().unwrap();
    let structure = model.lorentz.iter().find(|l| l.name == "FFV1").unwrap();
    let structure = structure.structure.as_ref().unwrap();
    let mut random = SplitMix64::new(3);
    for result in [0, 1] {
        let of = |part| {
            let form = RoutineForm {
                spins: vec![2, 2, 3],
                result: Some(result),
                massless: false,
                complex: false,
                own: None,
                part,
                conjugated: vec![false; 3],
            };
            derive("part".into(), &[structure], &form, None).unwrap()
        };
        let [whole, right, left] = [
            PropagatorPart::Whole,
            PropagatorPart::Right,
            PropagatorPart::Left,
        ]
        .map(of);
        let mut inputs: Vec<Complex64> = (0..whole.program_inputs())
            .map(|_| Complex64::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0)))
            .collect();
        // Momenta (E, pz), (px, py) of the two wavefunctions; the mass of their sum is that of the particle.
        let momenta = [[90.0, 20.0, -35.0, 50.0], [110.0, 10.0, 15.0, -80.0]];
        let mut total = [0.0; 4];
        for (argument, p) in momenta.iter().enumerate() {
            let numbers = [Complex64::new(p[0], p[3]), Complex64::new(p[1], p[2])];
            for (number, value) in numbers.into_iter().enumerate() {
                let at = whole.wavefunction_input(argument, number as u32);
                inputs[at as usize] = value;
            }
            total = [0, 1, 2, 3].map(|mu| total[mu] + p[mu]);
        }
        let square = total[0].powi(2) - total[1..].iter().map(|x| x * x).sum::<f64>();
        let mass = whole.mass_input() as usize;
        inputs[mass] = Complex64::new(square.sqrt(), 0.0);
        inputs[mass + 1] = Complex64::new(3.0, 0.0);
        let [whole, right, left] = [whole, right, left].map(|r| r.evaluate(&inputs));
        let size = whole[2..].iter().map(|x| x.norm()).fold(0.0, f64::max);
        for i in 2..6 {
            let sum = right[i] + left[i];
            assert!(
                (sum - whole[i]).norm() < 1e-12 * size,
                "{i}: {sum} {}",
                whole[i]
            );
        }
        // u+ and u- are orthogonal, and so are their adjoints.
        let product: Complex64 = (2..6).map(|i| right[i].conj() * left[i]).sum();
        assert!(product.norm() < 1e-12 * size * size, "{product}");
        assert!(right[2..].iter().any(|x| x.norm() > 1e-3 * size));
    }
}

/// The charge conjugate of a HELAS spinor that flows out is the one that flows in with the opposite sign, and vice
/// versa, so a line may be reversed in each diagram independently.
#[test]
fn charge_conjugates_are_helas_spinors() {
    let p = [110.0, 20.0, -35.0, 50.0];
    let square = p[0] * p[0] - p[1..].iter().map(|x| x * x).sum::<f64>();
    let light = [
        p[1..].iter().map(|x| x * x).sum::<f64>().sqrt(),
        p[1],
        p[2],
        p[3],
    ];
    let against = [50.0, 0.0, 0.0, -50.0];
    let (at_rest, mass) = ([80.0, 0.0, 0.0, 0.0], square.sqrt());
    let kinds = [ExternalKind::FermionIn, ExternalKind::FermionOut];
    let rarita = [ExternalKind::RaritaIn, ExternalKind::RaritaOut];
    let spin_half = "ProjM(2,1) + 3*ProjP(2,1)";
    let mut compared = 0;
    for (text, spin, kinds, cases) in [
        (
            spin_half,
            2,
            kinds,
            vec![
                (p, mass),
                (p, -mass),
                (at_rest, 80.0),
                (light, 0.0),
                (against, 0.0),
            ],
        ),
        (
            "P(1,2)*ProjM(2,1) + 3*P(1,3)*ProjP(2,1)",
            4,
            rarita,
            vec![(p, mass)],
        ),
    ] {
        let structure = Structure::read(text).unwrap();
        let derived = |conjugated: [bool; 2]| {
            let form = RoutineForm {
                spins: vec![spin, 2, 1],
                result: None,
                massless: false,
                complex: false,
                own: None,
                part: PropagatorPart::Whole,
                conjugated: vec![conjugated[0], conjugated[1], false],
            };
            derive("amplitude".into(), &[&structure], &form, None).unwrap()
        };
        let helicities: &[i8] = if spin == 2 { &[-1, 1] } else { &[-3, -1, 1, 3] };
        for (p, mass) in cases {
            for (&helicity, sign) in helicities.iter().flat_map(|h| [(h, -1), (h, 1)]) {
                let at =
                    |conjugated: [bool; 2], first: ExternalKind, sign: i8, other: &[Complex64]| {
                        let routine = derived(conjugated);
                        let mut inputs =
                            vec![Complex64::new(1.0, 0.0); routine.program_inputs() as usize];
                        let spinor =
                            mebridge_process::external::external(first, &p, mass, helicity, sign);
                        for (argument, values) in [&spinor[..], other].into_iter().enumerate() {
                            for (number, value) in values.iter().enumerate() {
                                inputs[routine.wavefunction_input(argument, number as u32)
                                    as usize] = *value;
                            }
                        }
                        routine.evaluate(&inputs)[0]
                    };
                let q = [90.0, 30.0, 15.0, -20.0];
                let m = 75.0;
                let other =
                    mebridge_process::external::external(ExternalKind::FermionOut, &q, m, 1, 1);
                let plain = at([false, false], kinds[0], sign, &other);
                let turned = at([true, false], kinds[1], -sign, &other);
                assert!(
                    (plain - turned).norm() <= 1e-13 * plain.norm(),
                    "{text} {helicity} {sign} {mass}: {plain} {turned}"
                );
                compared += u32::from(plain.norm() > 1e-3);
            }
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn the_standard_model_is_whole() {
    let model = Model::standard().unwrap();
    assert_eq!(model.names(&model.labels["l+"]), "e+ mu+");
    let w = model.particle("W-").unwrap();
    assert_eq!(
        (model.properties(w).pdg, model.properties(w).helicities()),
        (-24, vec![1, 0, -1])
    );
    // Masses and couplings of the default card; MW is the value that MG5aMC writes into its card.
    let mut parameters = Parameters::new(&model);
    parameters.parameter("MW");
    parameters.coupling("GC_11", None);
    parameters.coupling("GC_3", None);
    let formulas = parameters.finish().unwrap();
    let names: Vec<&str> = formulas.card.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["MDL_AEWM1", "MDL_GF", "MDL_AS", "MDL_MZ"]);
    let values = formulas.evaluate(&formulas.default_card(), 1.2);
    let value = |named: &mebridge_process::model::NamedValue| values[named.value as usize];
    assert!((value(&formulas.parameters[0]).re - 80.419).abs() < 1e-3);
    assert_eq!(value(&formulas.couplings[0]), Complex64::new(0.0, 1.2));
    assert!((value(&formulas.couplings[1]).im + 0.307_954).abs() < 1e-6);
}

/// Operators of dimension six: the form with the least arithmetic gives the same as the terms as written, with less
/// than three quarters of the work.
#[test]
fn collected_terms_are_the_same_function() {
    let texts = [
        // Three field strengths, one of them dual.
        "P(1,3)*P(2,1)*P(3,2) - P(1,2)*P(2,3)*P(3,1) + P(-1,2)*P(-1,3)*P(3,1)*Metric(1,2) \
         - P(-1,1)*P(-1,3)*P(3,2)*Metric(1,2) - P(-1,2)*P(-1,3)*P(2,1)*Metric(1,3) \
         + P(-1,1)*P(-1,2)*P(2,3)*Metric(1,3) + P(-1,1)*P(-1,3)*P(1,2)*Metric(2,3) \
         - P(-1,1)*P(-1,2)*P(1,3)*Metric(2,3)",
        "Epsilon(1,2,3,-2)*P(-2,3)*P(-1,1)*P(-1,2) - Epsilon(2,3,-1,-2)*P(-2,3)*P(-1,1)*P(1,2) \
         + Epsilon(1,3,-1,-2)*P(-2,3)*P(-1,2)*P(2,1) + Epsilon(1,3,-1,-2)*P(-2,2)*P(-1,1)*P(2,3) \
         + Epsilon(3,-1,-2,-3)*P(-3,3)*P(-2,2)*P(-1,1)*Metric(1,2)",
    ];
    let structures = texts.map(|text| Structure::read(text).unwrap());
    let structures: Vec<&Structure> = structures.iter().collect();
    let mut random = SplitMix64::new(11);
    for (result, massless) in [
        (None, false),
        (Some(0), true),
        (Some(1), false),
        (Some(2), false),
    ] {
        let form = RoutineForm {
            spins: vec![3; 3],
            result,
            massless,
            complex: false,
            own: None,
            part: PropagatorPart::Whole,
            conjugated: vec![false; 3],
        };
        let best = derive("best".into(), &structures, &form, None).unwrap();
        let plain = routine::as_written("plain".into(), &structures, &form).unwrap();
        for _ in 0..20 {
            let inputs = 0..best.program_inputs();
            let inputs: Vec<Complex64> = inputs
                .map(|_| Complex64::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0)))
                .collect();
            let (a, b) = (best.evaluate(&inputs), plain.evaluate(&inputs));
            let size = b.iter().map(|x| x.norm()).fold(0.0, f64::max);
            for (a, b) in a.iter().zip(&b) {
                assert!((a - b).norm() <= 1e-13 * size, "{result:?}: {a} {b}");
            }
        }
        if result.is_some() {
            let [best, plain] = [&best, &plain].map(|routine| work::work(&routine.program));
            assert!(4 * best < 3 * plain, "{result:?}: {best} {plain}");
        }
    }
}

/// ALOHA's routines for g g > t t~, of which this repository has handwritten versions.
#[test]
fn derived_routines_are_alohas() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    let process = import_directory(&directory).unwrap().remove(0);
    let model = Model::standard().unwrap();
    let mut rng = SplitMix64::new(7);
    let mut compared = 0;
    for imported in &process.routines {
        let (name, result) = imported.name.split_once('_').unwrap();
        let result = result.parse::<usize>().unwrap().checked_sub(1);
        let structure = name.trim_end_matches("P0");
        let own = derived(&model, structure, result, name.ends_with("P0"));
        assert_eq!(
            (&own.inputs, own.couplings, own.massive),
            (&imported.inputs, 1, imported.massive)
        );
        let random = || Complex64::new(rng.between(-1.0, 1.0), rng.between(-1.0, 1.0));
        let mut inputs: Vec<Complex64> = std::iter::repeat_with(random)
            .take(own.program_inputs() as usize)
            .collect();
        if own.massive {
            let mass = own.mass_input() as usize;
            for x in &mut inputs[mass..] {
                x.im = 0.0;
            }
        }
        let results = imported.evaluate(&inputs);
        for (own, imported) in own.evaluate(&inputs).iter().zip(results) {
            assert!(
                (own - imported).norm() < 1e-13 * (1.0 + imported.norm()),
                "{name}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 1 + 6 + 6 + 6);
}

/// Every form of every structure of the Standard Model has a kernel, except for some four-particle vertices with
/// scalars, which use the derived arithmetic.
#[test]
fn derived_routines_are_recognised() {
    let model = Model::standard().unwrap();
    for vertex in &model.vertices {
        let spins: Vec<u8> = vertex
            .particles
            .iter()
            .map(|&p| model.properties(p).spin)
            .collect();
        for term in &vertex.terms {
            let structures: Vec<&Structure> = term
                .lorentz
                .iter()
                .map(|(l, _)| model.structure(*l).unwrap())
                .collect();
            for result in (0..spins.len()).map(Some).chain([None]) {
                let massless =
                    result.is_none_or(|r| model.properties(vertex.particles[r]).mass.is_none());
                let routine = form("V", &structures, &spins, result, massless);
                let known = recognize(&routine, massless).is_some();
                assert!(
                    known || (spins.len() == 4 && spins.contains(&1)),
                    "{}, {result:?}",
                    model.names(&vertex.particles)
                );
            }
        }
    }
}

/// Tensors that the Standard Model does not need: identities of `Sigma` and `Epsilon`.
#[test]
fn tensors_satisfy_their_identities() {
    let amplitude = |text: &str, spins: &[u8], inputs: &[Complex64]| {
        let structure = Structure::read(text).unwrap();
        structure.check(spins).unwrap();
        let routine = form("T", &[&structure], spins, None, true);
        routine.evaluate(inputs)[0]
    };
    let mut rng = SplitMix64::new(8);
    let mut inputs: Vec<Complex64> = (0..25)
        .map(|_| Complex64::new(rng.between(-1.0, 1.0), rng.between(-1.0, 1.0)))
        .collect();
    // i/2 (gamma^mu gamma^nu - g^mu^nu) = sigma^mu^nu.
    let spins = [2, 2, 3, 3];
    let sigma = amplitude("Sigma(3,4,2,1)", &spins, &inputs);
    let products = "complex(0,0.5)*(Gamma(3,2,-1)*Gamma(4,-1,1) - Metric(3,4)*Identity(2,1))";
    assert!((sigma - amplitude(products, &spins, &inputs)).norm() < 1e-13);
    // Tr(gamma5 gamma^mu gamma^nu gamma^rho gamma^sigma) = 4 i epsilon^mu^nu^rho^sigma, with epsilon^0123 = -1 as in
    // ALOHA (class L_Epsilon): gamma5 = i gamma^0 gamma^1 gamma^2 gamma^3, so the trace of 0123 is -4 i.
    let spins = [3, 3, 3, 3];
    let trace = "Gamma5(-1,-2)*Gamma(1,-2,-3)*Gamma(2,-3,-4)*Gamma(3,-4,-5)*Gamma(4,-5,-1)";
    let epsilon = amplitude("complex(0,4)*Epsilon(1,2,3,4)", &spins, &inputs);
    assert!((epsilon - amplitude(trace, &spins, &inputs)).norm() < 1e-12);
    // A product of momenta with a scalar between two vectors, with a factor of the coupling.
    let spins = [3, 3, 1];
    inputs.truncate(16);
    let one = amplitude(
        "P(1,2)*P(2,1)/2 - P(-1,1)*P(-1,2)*Metric(1,2)/2",
        &spins,
        &inputs,
    );
    let other = amplitude(
        "(P(2,1)*P(1,2) - Metric(1,2)*P(-1,2)*P(-1,1))*0.5",
        &spins,
        &inputs,
    );
    assert!((one - other).norm() < 1e-13 && one.norm() > 1e-3);
}

fn refused(from: &str, to: &str) -> String {
    assert!(STANDARD.contains(from), "{from}");
    let text = STANDARD.replacen(from, to, 1);
    let error = Model::parse(&text, Path::new("my.toml"))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("my.toml: "), "{error}");
    error
}

#[test]
fn a_model_that_cannot_be_is_refused() {
    #[rustfmt::skip]
    let cases = [
        ("alpha_s = \"aS\"", "alpha_s = \"aT\"", "not in the card"),
        ("format = 1", "format = 9", "format = 9"),
        ("spin = 2", "spin = 6", "particle d: spin = 6"),
        ("color = 8", "color = 7", "particle g: color = 7"),
        ("color = 8", "colour = 8", "colour"),
        ("QED = 2\n", "QED = 1001\n", "order QED has the weight 1001"),
        ("orders = { QCD = 1 }", "orders = { QCD = 4294967295 }", "QCD = 4294967295"),
        ("electric = -1", "electric = -2147483648", "particle d: electric = -2147483648"),
        ("particles = \"u~ d w+\"", "particles = \"u~ d w-\"", "electric charge is not conserved"),
        ("particles = \"u~ d w+\"", "particles = \"u~ q w+\"", "no particle `q`"),
        ("\"FFV1\", \"GC_11\"", "\"FFV9\", \"GC_11\"", "no Lorentz structure `FFV9`"),
        ("\"FFV1\", \"GC_11\"", "\"FFV1\", \"GC_0\"", "no coupling `GC_0`"),
        ("value = \"-G\"", "value = \"-g5\"", "no parameter `g5`"),
        ("value = \"-G\"", "value = \"erf(G)\"", "no function erf"),
        ("aEW = \"1/aEWM1\"", "aEW = \"1/ee\"", "defined by itself"),
    ];
    for (from, to, says) in cases {
        let error = refused(from, to);
        assert!(error.contains(says), "{error}");
    }
}

/// Unsupported features are not errors of the model, but of the processes that need them.
#[test]
fn what_cannot_be_generated_is_refused_with_the_process() {
    #[rustfmt::skip]
    let cases = [
        ("spin = 3\ncolor = 8", "spin = 5\ncolor = 8", "g g > g g", "index 3 does not fit"),
        ("spin = 3\ncolor = 8", "spin = 3\ncolor = 6\nantiname = \"g~\"", "u u~ > g g g",
         "leg 3 has colour 6 and not 8"),
        ("particles = \"u~ d w+\"", "particles = \"d u~ w+\"", "u d~ > w+ g", "first must be the antiparticle"),
        ("\"FFV1\", \"GC_11\"", "\"VVV1\", \"GC_11\"", "d d~ > g g", "index 1 does not fit"),
        ("Gamma(3,2,1)", "Gamma(3,2)", "d d~ > g g", "Gamma has 2 indices"),
        ("Gamma(3,2,1)", "Gamma(3,2,1", "d d~ > g g", "was expected"),
    ];
    for (from, to, process, says) in cases {
        assert!(STANDARD.contains(from), "{from}");
        let text = STANDARD.replacen(from, to, 1);
        let model = Model::parse(&text, Path::new("my.toml")).unwrap();
        let error = crate::generate_with(process, &model)
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{error}");
        crate::generate_with("e- ve~ > mu- vm~", &model).unwrap();
    }
}

/// A mass is the same for all events; one that is not is named.
#[test]
fn masses_that_depend_on_alpha_s_are_named() {
    let from = "[parameters]\n";
    assert!(STANDARD.contains(from) && STANDARD.contains("mass = \"MH\""));
    let text = STANDARD
        .replacen(from, "[parameters]\nMHR = \"MHG/2\"\nMHG = \"100*G\"\n", 1)
        .replacen("mass = \"MH\"", "mass = \"MHR\"", 1);
    let model = Model::parse(&text, Path::new("my.toml")).unwrap();
    let error = crate::generate_with("e+ e- > z h", &model).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("the mass or width MHR of the model sm depends on alpha_s"),
        "{error}"
    );
    crate::generate_with("g g > t t~", &model).unwrap();
}

#[test]
fn what_is_written_is_read_again() {
    let mut document = file::Document::parse(STANDARD).unwrap();
    document.labels.insert("odd \" \\ \u{1}".into(), "g".into());
    document.expansion.insert("QED".into(), 2);
    document.particles[0].propagator = Some("V".into());
    document.particles[1].propagating = false;
    document.particles[2].ghost = true;
    document.particles[3].goldstone = true;
    let row = file::PropagatorRow {
        numerator: "Metric(1,2)".into(),
        denominator: Some("P(-1,id)*P(-1,id)".into()),
    };
    document.propagators.insert("V".into(), row);
    assert_eq!(
        file::Document::parse(&document.to_string()).unwrap(),
        document
    );
}

/// A particle outside of the Standard Model, with the mass of another one.
#[test]
fn new_particles_have_masses_and_quantum_numbers() {
    let particle = "[[particles]]\nname = \"x\"\nantiname = \"x~\"\npdg = 9000001\nspin = 2\ncolor = 3\nmass = \"MT\"\n\
                    charges = { electric = 5 }\n";
    let text = format!("{STANDARD}\n{particle}");
    let model = Model::parse(&text, Path::new("x.toml")).unwrap();
    let values = model.dependent_values().unwrap();
    let wanted = dependent::QuantumNumbers {
        pdg: 9_000_001,
        name: "x".to_owned(),
        charge: 5,
        spin: 2,
        color: 3,
        own_anti: false,
    };
    assert_eq!(values.quantum_numbers, [wanted]);
    let card = mebridge_process::card::Card::parse("Block MASS\n 6 170.0\n", Path::new("card"));
    let found = values.of(&card);
    let of = |block: &str| {
        let found = found
            .iter()
            .find(|of| of.pdg == 9_000_001 && of.block == block);
        found.map(|of| (of.comment.as_str(), of.value))
    };
    assert_eq!(of("mass"), Some(("x : MT", 170.0)));
    assert_eq!(of("decay"), Some(("x : 0.0", 0.0)));
    assert!(
        Model::standard()
            .unwrap()
            .dependent_values()
            .unwrap()
            .quantum_numbers
            .is_empty()
    );
}
