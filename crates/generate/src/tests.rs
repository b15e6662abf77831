use super::*;
use mebridge_process::example;
use mebridge_process::model::CardParameter;
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;
use std::f64::consts::PI;
use std::path::Path;

/// A model that is not the Standard Model: one scalar, as in [`example`].
const SCALARS: &str = r#"
format = 1
name = "scalars"
orders = { NP = 1 }

[[particles]]
name = "phi"
pdg = 25
spin = 1
color = 1
mass = "MPHI"

[[card]]
name = "MPHI"
block = "MASS"
index = [25]
value = 125.0

[couplings]
GC_1 = { value = "complex(0,1)*G", orders = { NP = 1 } }

[lorentz]
SSS1 = "1"

[[vertices]]
particles = "phi phi phi"
terms = [["1", "SSS1", "GC_1"]]
"#;

#[test]
fn any_model_can_be_generated() {
    let model = Model::parse(SCALARS, Path::new("scalars.toml")).unwrap();
    let process = generate_with("phi phi > phi phi", &model)
        .unwrap()
        .remove(0);
    assert_eq!(process.name, "phi phi > phi phi WEIGHTED<=2");
    assert_eq!(
        (process.iden, process.diagrams, process.color_flows()),
        (2, 3, 1)
    );
    let (e, p) = (300.0, 272.717_803_6);
    let energy: f64 = f64::sqrt(p * p + 125.0 * 125.0);
    assert!((energy - e).abs() < 1e-3);
    let momenta = [
        [energy, 0.0, 0.0, p],
        [energy, 0.0, 0.0, -p],
        [energy, 0.6 * p, 0.0, 0.8 * p],
        [energy, -0.6 * p, 0.0, -0.8 * p],
    ];
    let own = process.evaluate(&momenta, 1.7, &[125.0]).total();
    let closed = example::scalars_squared(momenta.as_flattened(), 1.7, 125.0);
    assert!((own / closed - 1.0).abs() < 1e-12, "{own} {closed}");
}

/// The line of a decaying particle is not a propagator, but MG5aMC treats it as one.
#[test]
fn what_decays_is_not_excluded() {
    for text in [
        "t > b w+ / t",
        "t~ > b~ w- / t",
        "t > d~ d t / t QCD=99",
        "e+ e- > w+ w-, w+ > e+ ve / w+",
    ] {
        let error = generate(text).unwrap_err().to_string();
        assert!(error.contains("there are no diagrams"), "{error}");
    }
    for text in [
        "t > b w+ / h",
        "b b~ > h / b",
        "e+ e- > w+ w-, w+ > e+ ve / z",
    ] {
        generate(text).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// u u~ > t t~: the flow that connects both ends of each line is suppressed, and no configuration allows it.
#[test]
fn channels_allow_the_leading_colour_flows() {
    let process = generate("u u~ > t t~").unwrap().remove(0);
    let channels = &process.channels;
    assert_eq!(
        channels.color_flows,
        [
            [(501, 0), (0, 501), (502, 0), (0, 502)],
            [(502, 0), (0, 501), (502, 0), (0, 501)]
        ]
    );
    assert_eq!(channels.color_allowed, [[false, true]]);
    // A photon contributes at the order of a gluon, in the other flow.
    let process = generate("u u~ > t t~ QCD=2 QED=2 / z").unwrap().remove(0);
    assert_eq!(
        process
            .channels
            .color_allowed
            .concat()
            .iter()
            .filter(|x| **x)
            .count(),
        2
    );
}

/// Four-gluon vertices have three amplitudes and no channel.
#[test]
fn channels_are_diagrams_of_three_point_vertices() {
    let process = generate("g g > g g").unwrap().remove(0);
    assert_eq!(
        (process.diagrams, process.amplitudes.vertices().len()),
        (4, 6)
    );
    assert_eq!(process.channels.config_diagram.len(), 3);
    assert!(process.channels.amp2.iter().all(|a| a.squares.len() == 1));
    // If every diagram has one, all are channels.
    let process = generate("h h > h h / h").unwrap().remove(0);
    assert_eq!(process.channels.config_diagram, [1]);
}

#[test]
fn a_file_holds_it() {
    let process = generate("g d > t t~ w- u").unwrap().remove(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.mebridge");
    process.write(&path).unwrap();
    assert_eq!(Process::read(&path).unwrap(), process);
}

/// A line absorbs one vector, or two fermions with the vertices of each vector that they annihilate into.
#[test]
fn what_is_too_much_is_refused_with_its_cure() {
    let all = "e+ e- > w+ w- w+ w- z z";
    let text = generate(all).unwrap_err().to_string();
    assert!(text.starts_with(&format!("{all}: ")), "{text}");
    assert!(
        text.contains("at most 16777216 are possible; request fewer legs"),
        "{text}"
    );
    assert!(generate("e+ e- > w+{0} w-{0} w+{0} w-{0} z z").is_ok());
}

#[test]
fn forms_that_are_none_are_refused() {
    use mebridge_process::color_ordered::{Boson, Exchange};
    let process = generate("u u~ > e+ e- g").unwrap().remove(0);
    assert!(process.as_color_ordered().unwrap().validate().is_ok());
    let changes: [fn(&mut Boson); 11] = [
        |b| b.wavefunctions.truncate(1),
        |b| b.wavefunctions.clear(),
        |b| b.wavefunctions[1] = b.wavefunctions[0],
        |b| b.wavefunctions[1] = 1000,
        |b| b.wavefunctions.push(0),
        |b| b.vectors.clear(),
        |b| b.vectors[1].made = None,
        |b| {
            for Exchange { made, .. } in &mut b.vectors {
                *made = None;
            }
        },
        |b| b.vectors[0].made.as_mut().unwrap().routine = 1000,
        |b| b.vectors[0].made.as_mut().unwrap().inputs = vec![0, 0],
        |b| b.vectors[1].taken.couplings[0].coupling = 1000,
    ];
    for (i, change) in changes.iter().enumerate() {
        for form in [process.clone(), process.as_color_ordered().unwrap()] {
            let mut other = form;
            let boson = other.amplitudes.color_ordered_mut().unwrap().boson.as_mut();
            change(boson.unwrap());
            assert!(other.validate().is_err(), "change {i}");
        }
    }
}

/// Each matrix element of a label is the same when generated alone, and no two are equal.
#[test]
fn matrix_elements_are_told_apart() {
    let model = Model::standard().unwrap();
    for (text, count) in [("p p > z j j", 28), ("p p > l+ l- j", 6), ("p p > j j", 12)] {
        let elements = MatrixElements::parse(text, &model).unwrap();
        let all = generate_with(text, &model).unwrap();
        assert_eq!(elements.len(), count, "{text}");
        let names: Vec<&String> = all.iter().map(|p| &p.name).collect();
        assert!(elements.names().iter().eq(names));
        for (n, process) in all.iter().enumerate() {
            assert_eq!(elements.process(n).unwrap(), *process);
            let same = all[..n].iter().find(|other| equal(other, process));
            assert_eq!(same.map(|p| &p.name), None, "{}", process.name);
        }
    }
}

/// Whether two processes are equal up to the names of their particles.
fn equal(a: &Process, b: &Process) -> bool {
    let legs = |p: &Process| -> Vec<_> {
        let legs = p.legs.iter().map(|leg| (leg.incoming, leg.mass));
        legs.collect()
    };
    a.helicities == b.helicities
        && a.iden == b.iden
        && a.diagrams == b.diagrams
        && legs(a) == legs(b)
        && a.wavefunctions == b.wavefunctions
        && a.amplitudes == b.amplitudes
        && a.model == b.model
        && a.routines == b.routines
        && a.channels == b.channels
}

/// The first process of a label with diagrams determines the value of a negative squared order for all of them, as in
/// MG5aMC.
#[test]
fn a_negative_squared_order_is_one_for_a_label() {
    let names = |text: &str| -> Vec<String> {
        let model = Model::standard().unwrap();
        let elements = MatrixElements::parse(text, &model);
        elements.map_or_else(|_| Vec::new(), |all| all.names())
    };
    let first = |label: &str, bound: &str| -> Vec<String> {
        let names = names(&format!("define xx = {label}; xx s~ > s~ g QED^2{bound}"));
        let words = names.iter().filter_map(|name| name.split(' ').next());
        words.map(str::to_owned).collect()
    };
    // The lowest power is 0 for the gluon's process and 1 for that of the Z boson.
    for label in ["g z", "z g"] {
        assert_eq!(first(label, "==-2"), ["z"]);
        assert_eq!(first(label, "<=-1"), ["g"]);
    }
    // That of the electrons comes first and is 2, so the top quarks also have photon, Z and Higgs boson.
    let text = "define xx = t e-; define yy = t~ e+; xx yy > u u~ QED^2<=-1";
    let both = generate(text).unwrap();
    let diagrams: Vec<u32> = both.iter().map(|process| process.diagrams).collect();
    assert_eq!(diagrams, [2, 3]);
    // Each line of the text is separate.
    let text = "g s~ > s~ g QED^2==-1; z s~ > s~ g QED^2==-1";
    assert_eq!(
        MatrixElements::parse(text, &Model::standard().unwrap())
            .unwrap()
            .len(),
        2
    );
}

/// Orders after `@` apply to the process with all its decays. MG5aMC also has no diagrams then or, if a decay of a
/// decay exceeds them, continues without the decays.
#[test]
fn orders_of_a_chain_are_those_of_all_of_it() {
    let chain = "u u~ > t t~, (t > w+ b, w+ > e+ ve)";
    let names = |bound: &str| generate(&format!("{chain} @3 {bound}"));
    assert_eq!(names("QED<=2").unwrap()[0].diagrams, 1);
    for bound in ["QED<=1", "QED=1 QCD=2"] {
        let error = names(bound).unwrap_err().to_string();
        assert!(
            error.contains("to the process with all its decays"),
            "{error}"
        );
        assert!(
            error.contains("at least QCD>=2, QED>=2, WEIGHTED>=6"),
            "{error}"
        );
    }
}

/// The width of a two-body decay in a frame where all particles move, along no axis, if the masses allow it.
pub(crate) fn partial_width(process: &Process, card: &[f64], g: f64) -> Option<f64> {
    let quantities = process.model.evaluate(card, g);
    let mass = |leg: usize| {
        let mass = process.legs[leg].mass.0;
        let mass = mass.map(|n| &process.model.parameters[n as usize]);
        mass.map_or(0.0, |mass| quantities[mass.value as usize].re.abs())
    };
    let [m, a, b] = [0, 1, 2].map(mass);
    if m <= a + b {
        return None;
    }
    let p = ((m * m - (a + b).powi(2)) * (m * m - (a - b).powi(2))).sqrt() / (2.0 * m);
    let energy = |mass: f64| (mass * mass + p * p).sqrt();
    let momenta = [
        [m, 0.0, 0.0, 0.0],
        [energy(a), 0.36 * p, 0.48 * p, 0.8 * p],
        [energy(b), -0.36 * p, -0.48 * p, -0.8 * p],
    ];
    // The particle itself moves along x.
    let (gamma, beta_gamma) = (1.25, 0.75);
    let momenta = momenta.map(|[e, x, y, z]| {
        let [e, x] = [gamma * e + beta_gamma * x, gamma * x + beta_gamma * e];
        [e, x, y, z]
    });
    let squared = process.evaluate(&momenta, g, card).total();
    Some(squared * p / (8.0 * PI * m * m))
}

/// Partial widths are |M|^2 of the decays at rest times phase space. With heavy Z and Higgs bosons, and so a heavy W,
/// decays are open that are closed with the usual masses.
#[test]
fn partial_widths_are_those_of_amplitudes() {
    let model = Model::standard().unwrap();
    let mut open = 0;
    for mother in [6, 23, 24, 25] {
        let entry = model
            .card
            .iter()
            .find(|e| e.block == "decay" && e.index == [mother]);
        let width = model
            .auto_width(0, &entry.unwrap().parameter())
            .unwrap()
            .unwrap();
        for heavy in [1.0, 5.0] {
            let card = |parameters: &[CardParameter]| -> Vec<f64> {
                let factor = |name: &str| match name {
                    "MDL_MZ" => heavy,
                    "MDL_MH" => heavy * heavy,
                    _ => 1.0,
                };
                parameters
                    .iter()
                    .map(|p| p.default * factor(&p.name))
                    .collect()
            };
            let inputs: Vec<Complex64> = card(&width.card)
                .iter()
                .chain(&[1.2])
                .map(|&x| x.into())
                .collect();
            let values = width.program.evaluate(&inputs);
            for partial in &width.values[1..] {
                let ours = values[partial.value as usize].re;
                let process = generate_with(&partial.name, &model).unwrap().remove(0);
                let own = card(&process.model.card);
                let Some(expected) = partial_width(&process, &own, 1.2) else {
                    assert_eq!(ours, 0.0, "{}", partial.name);
                    continue;
                };
                assert!(
                    (ours / expected - 1.0).abs() < 1e-9,
                    "{}: {ours} {expected}",
                    partial.name
                );
                open += 1;
            }
        }
    }
    // Of 24 decays, 19 are open with the masses of the card, and all except t > w+ b with the others.
    assert_eq!(open, 42);
}

/// Without formulas for partial widths, the vertices give the same.
#[test]
fn partial_widths_without_formulas() {
    let model = Model::standard().unwrap();
    let mut without = model.clone();
    without.decays.clear();
    let mut open = 0;
    for mother in [6, 23, 24, 25] {
        let entry = model
            .card
            .iter()
            .find(|e| e.block == "decay" && e.index == [mother]);
        let parameter = entry.unwrap().parameter();
        let partial = |model: &Model, heavy: f64| {
            let width = model.auto_width(0, &parameter).unwrap().unwrap();
            let factor = |name: &str| match name {
                "MDL_MZ" => heavy,
                "MDL_MH" => heavy * heavy,
                _ => 1.0,
            };
            let card = width.card.iter().map(|p| p.default * factor(&p.name));
            let inputs: Vec<Complex64> = card.chain([1.2]).map(|x| x.into()).collect();
            let values = width.program.evaluate(&inputs);
            let partial = width.values.iter().map(|named| {
                let mut names: Vec<&str> = named.name.split_whitespace().collect();
                names.sort_unstable();
                (names.join(" "), values[named.value as usize].re)
            });
            partial.collect::<SortedMap<String, f64>>()
        };
        for heavy in [1.0, 5.0] {
            let [known, found] = [&model, &without].map(|model| partial(model, heavy));
            for (name, known) in &known {
                let found = found[name];
                let same = *known == 0.0 && found == 0.0 || (found / known - 1.0).abs() < 1e-12;
                assert!(same, "{name}: {found} {known}");
                open += usize::from(*known > 0.0);
            }
        }
    }
    assert_eq!(open, 50);
}

/// With its own card, the library's Standard Model has MG5aMC's widths (`compute_widths --body_decay=2`).
#[test]
fn widths_of_the_standard_model() {
    let model = Model::standard().unwrap();
    for (pdg, expected) in [
        (6, 1.491472),
        (23, 2.441755),
        (24, 2.047910),
        (25, 5.649527e-3),
    ] {
        let entry = model
            .card
            .iter()
            .find(|e| e.block == "decay" && e.index == [pdg])
            .unwrap();
        let width = model.auto_width(0, &entry.parameter()).unwrap().unwrap();
        let card: Vec<f64> = width.card.iter().map(|p| p.default).collect();
        let (width, _) = width.width_with_decays(&card).unwrap();
        assert!(
            (width / expected - 1.0).abs() < 3e-7,
            "{pdg}: {width} {expected}"
        );
    }
}

/// The sum over all pairs of polarisations of two Z bosons is the unpolarised result.
#[test]
fn polarisations_add_up() {
    let (mass, energy) = (91.188_f64, 250.0);
    let p = (energy * energy - mass * mass).sqrt();
    // Decays of the Z bosons along the axes: the average is exact for what is at most quadratic in the direction of
    // each decay.
    let axes: Vec<[f64; 3]> = (0..6)
        .map(|n| {
            let mut axis = [0.0; 3];
            axis[n / 2] = if n % 2 == 0 { 1.0 } else { -1.0 };
            axis
        })
        .collect();
    let decay = |z: [f64; 4], axis: &[f64; 3], sign: f64| {
        let [e, q @ ..] = z;
        let along: f64 = q.iter().zip(axis).map(|(q, n)| sign * q * n).sum();
        let own = mass / 2.0;
        let boost = own / mass * (1.0 + along / (e + mass));
        let lepton = |n: usize| sign * own * axis[n] + q[n] * boost;
        let own_energy = (e * own + along * own) / mass;
        [own_energy, lepton(0), lepton(1), lepton(2)]
    };
    // The sum over all processes of a text, averaged over the directions of the decays.
    let total = |text: &str, z: [f64; 4]| -> f64 {
        let other = [z[0], -z[1], -z[2], -z[3]];
        let beams = [[energy, 0.0, 0.0, energy], [energy, 0.0, 0.0, -energy]];
        let all = generate(text).unwrap().into_iter().map(|process| {
            let card = process.model.default_card();
            let flavours = 1.0 + process.other_flavours.len() as f64;
            let at = |outgoing: &[[f64; 4]]| {
                let momenta = [&beams, outgoing].concat();
                flavours * process.evaluate(&momenta, 1.2, &card).total()
            };
            if process.legs.len() == 4 {
                return at(&[z, other]);
            }
            let both = axes.iter().flat_map(|a| axes.iter().map(move |b| (a, b)));
            let each = both.map(|(a, b)| {
                at(&[
                    decay(z, a, 1.0),
                    decay(z, a, -1.0),
                    decay(other, b, 1.0),
                    decay(other, b, -1.0),
                ])
            });
            each.sum::<f64>() / 36.0
        });
        all.sum()
    };
    let z = [energy, 0.48 * p, 0.36 * p, 0.8 * p];
    let there = |text: &str| total(text, z) + total(text, [z[0], -z[1], -z[2], -z[3]]);
    for (decays, states) in [
        ("", &["z{0} z{0}", "z{T} z{T}", "z{0} z{T}"][..]),
        (", z > e+ e-", &["z{0} z{0}", "z{T} z{T}", "z{0} z{T}"]),
        (
            ", z > e+ e-, z > e+ e-",
            &["z{0} z{0}", "z{T} z{T}", "z{T} z{0}"],
        ),
        (", z > l+ l-", &["z{0} z{0}", "z{T} z{T}", "z{0} z{T}"]),
        (
            ", z > l+ l-, z > l+ l-",
            &["z{0} z{0}", "z{T} z{T}", "z{0} z{T}"],
        ),
        // Each Z boson has its own decay, assigned by order.
        (
            ", z > e+ e-, z > mu+ mu-",
            &["z{0} z{0}", "z{T} z{T}", "z{0} z{T}", "z{T} z{0}"],
        ),
    ] {
        let process = |state: &str| there(&format!("e+ e- > {state}{decays}"));
        let (all, sum) = (
            process("z z"),
            states.iter().map(|s| process(s)).sum::<f64>(),
        );
        assert!((sum / all - 1.0).abs() < 1e-10, "{decays}: {sum} {all}");
    }
}

/// Identical particles are those of the same polarisation with equal decays.
#[test]
fn identical_particles_are_equal_in_all() {
    let iden = |text: &str| -> Vec<(u32, usize)> {
        let all = generate(text).unwrap();
        let of = |p: &Process| (p.iden / 4, p.other_flavours.len() + 1);
        all.iter().map(of).collect()
    };
    for (text, expected) in [
        ("e+ e- > z{0} z{T} z{T}", &[(2, 1)][..]),
        // Without decays.
        ("e+ e- > w+ w- z{0} z{T}, w+ > e+ ve", &[(1, 1)]),
        ("e+ e- > w+ w- z{T} z{T}, w+ > e+ ve", &[(2, 1)]),
        // Decays by order, and decays of each.
        (
            "e+ e- > z{0} z{T} z{T}, z > e+ e-, z > e+ e-, z > mu+ mu-",
            &[(1, 1)],
        ),
        (
            "e+ e- > z{0} z{T} z{T}, z > mu+ mu-, z > e+ e-, z > e+ e-",
            &[(2, 1)],
        ),
        ("e+ e- > z{0} z{T} z{T}, z > l+ l-", &[(2, 4), (1, 2)]),
        // Polarisations within decays.
        ("e+ e- > z h h, h > w+{0} w-, h > w+{T} w-", &[(1, 1)]),
        ("e+ e- > z h h, h > w+{0} w-, h > w+{0} w-", &[(2, 1)]),
        ("e+ e- > z h h, h > z{0} z{T}", &[(2, 1)]),
    ] {
        assert_eq!(iden(text), expected, "{text}");
    }
    // The assignment of decays within decays also matters for their equality.
    let text = "e+ e- > z h h, (h > z{0} z{T}, z > e+ e-, z > mu+ mu-), (h > z{0} z{T}, z > ";
    let with = |last: &str| iden(&format!("{text}{last})"))[0].0;
    assert_eq!(
        (with("e+ e-, z > mu+ mu-"), with("mu+ mu-, z > e+ e-")),
        (2, 1)
    );
}

/// An interference that vanishes by colour or chirality is treated like a process without diagrams.
#[test]
fn what_vanishes_identically_is_no_process() {
    for text in [
        "p p > t t~ QCD^2==2 QED^2==2",
        "u u~ > c c~ QCD^2==2 QED^2==2",
        "u u~ > t t~ / z QCD^2==2",
    ] {
        let error = generate(text).unwrap_err().to_string();
        assert!(
            error.contains("the cross section is zero: for "),
            "{text}: {error}"
        );
    }
    // Others of the same text stay, as does what does not vanish.
    let names = |text: &str| -> Vec<String> {
        generate(text)
            .unwrap()
            .into_iter()
            .map(|p| p.name)
            .collect()
    };
    assert_eq!(names("u u~ > j j QCD^2==2 QED^2==2").len(), 2);
    assert_eq!(names("u u > u u QCD^2==2 QED^2==2").len(), 1);
    assert_eq!(names("u u~ > t t~ QCD^2==4").len(), 1);
    // A coupling that is only zero because of the card counts.
    let model = Model::standard().unwrap();
    let mut zero = model.clone();
    let entry = zero
        .card
        .iter_mut()
        .find(|entry| entry.name == "Gf")
        .unwrap();
    entry.value = 0.0;
    assert_eq!(
        generate_with("u u > u u QCD^2==2 QED^2==2", &zero)
            .unwrap()
            .len(),
        1
    );
}
