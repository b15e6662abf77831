//! Vertices that the Standard Model does not have, in small models, tested by relations that they must satisfy.

use super::*;
use crate::tests::partial_width;
use mebridge_process::evaluate::Evaluation;
use mebridge_process::phase_space::PhaseSpace;
use mebridge_support::random::SplitMix64;
use std::path::Path;

fn model(text: &str) -> Model {
    Model::parse(
        &format!("format = 1\nname = \"small\"\n{text}"),
        Path::new("small.toml"),
    )
    .unwrap()
}

fn evaluated(process: &Process, energy: f64) -> Evaluation {
    at(process, &points(process, energy))
}

fn at(process: &Process, momenta: &[[f64; 4]]) -> Evaluation {
    process.evaluate(momenta, 1.1, &process.model.default_card())
}

/// Momenta of all legs, at a centre-of-mass energy.
pub(crate) fn points(process: &Process, energy: f64) -> Vec<[f64; 4]> {
    let card = process.model.default_card();
    let values = process.model.evaluate(&card, 1.1);
    let mass = |leg: &mebridge_process::Leg| {
        leg.mass.0.map_or(0.0, |n| {
            values[process.model.parameters[n as usize].value as usize].re
        })
    };
    let masses = |incoming: bool| -> Vec<f64> {
        process
            .legs
            .iter()
            .filter(|leg| leg.incoming == incoming)
            .map(mass)
            .collect()
    };
    let space = PhaseSpace::new(energy, &masses(true), &masses(false)).unwrap();
    let mut random = SplitMix64::new(5);
    let random: Vec<f64> = (0..space.randoms())
        .map(|_| random.between(0.0, 1.0))
        .collect();
    let mut momenta = vec![0.0; space.components()];
    space.event(&random, &mut momenta);
    momenta
        .chunks(4)
        .map(|p| [p[0], p[1], p[2], p[3]])
        .collect()
}

fn squared(text: &str, model: &Model) -> f64 {
    let processes = generate_with(text, model).unwrap();
    processes
        .iter()
        .map(|process| evaluated(process, 700.0).total())
        .sum()
}

pub(crate) fn close(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-11 && a != 0.0, "{a} {b}");
}

/// A fermion that is its own antiparticle, with a scalar and an electron.
const MAJORANA: &str = r#"
orders = { NP = 1 }
[[particles]]
name = "n"
pdg = 1000022
spin = 2
color = 1
mass = "MN"
[[particles]]
name = "e-"
antiname = "e+"
pdg = 11
spin = 2
color = 1
[[particles]]
name = "s-"
antiname = "s+"
pdg = 1000011
spin = 1
color = 1
mass = "MS"
[[particles]]
name = "z"
pdg = 23
spin = 3
color = 1
mass = "MZ"
[[card]]
name = "MN"
block = "mass"
index = [1000022]
value = 97.0
[[card]]
name = "MS"
block = "mass"
index = [1000011]
value = 250.0
[[card]]
name = "MZ"
block = "mass"
index = [23]
value = 91.0
[couplings]
GC_1 = { value = "complex(0,1)*0.7", orders = { NP = 1 } }
GC_2 = { value = "complex(0,1)*0.3", orders = { NP = 1 } }
[lorentz]
FFSL = "ProjM(2,1)"
FFSR = "ProjP(2,1)"
FFVA = "Gamma(3,2,-1)*Gamma5(-1,1)"
[[vertices]]
particles = "e+ n s-"
terms = [["1", "FFSL", "GC_1"], ["1", "FFSR", "GC_2"]]
[[vertices]]
particles = "n e- s+"
terms = [["1", "FFSR", "GC_1"], ["1", "FFSL", "GC_2"]]
[[vertices]]
particles = "n n z"
terms = [["1", "FFVA", "GC_1"]]
"#;

/// |M|^2 does not depend on which leg of a vertex is its first, if the structure is symmetric.
#[test]
fn fermions_that_are_their_own_antiparticles() {
    let model = model(MAJORANA);
    for text in ["e- e+ > n n", "e- e- > s- s-"] {
        let process = generate_with(text, &model).unwrap().remove(0);
        assert_eq!((process.diagrams, process.iden), (2, 8));
    }
    for text in [
        "e- e- > s- s-",
        "n n > z z",
        "n n > e- e+ z",
        "n z > n z z",
        "e- e- > s- s- z",
    ] {
        let one = squared(text, &model);
        // The same with the second half of the vertices written the other way round.
        let other = MAJORANA
            .replace("particles = \"n e- s+\"\nterms = [[\"1\", \"FFSR\", \"GC_1\"], [\"1\", \"FFSL\", \"GC_2\"]]", "\
                      particles = \"e- n s+\"\nterms = [[\"1\", \"FFSR\", \"GC_1\"], [\"1\", \"FFSL\", \"GC_2\"]]");
        assert_ne!(other, MAJORANA);
        close(squared(text, &self::model(&other)), one);
    }
    // Nor does it depend on the order of the legs, which determines which lines are reversed.
    for (text, other) in [
        ("e- e+ > n n z", [1, 0, 2, 3, 4]),
        ("n n > e- e+ z", [0, 1, 3, 2, 4]),
        ("n e- > n e- z", [1, 0, 3, 2, 4]),
        ("n n > n n z", [1, 0, 2, 3, 4]),
    ] {
        let process = generate_with(text, &model).unwrap().remove(0);
        let mut names = process.routines.iter().map(|routine| &routine.name);
        let lone = |name: &&String| name.contains('C') && !name.contains("C1C2");
        assert_eq!(names.find(lone), None, "{text}");
        let (before, after) = text.split_once(" > ").unwrap();
        let names: Vec<&str> = before.split(' ').chain(after.split(' ')).collect();
        let names = other.map(|leg: usize| names[leg]);
        let turned = format!(
            "{} {} > {} {} {}",
            names[0], names[1], names[2], names[3], names[4]
        );
        let turned = generate_with(&turned, &model).unwrap().remove(0);
        let momenta = points(&process, 700.0);
        let moved: Vec<[f64; 4]> = other.iter().map(|&leg| momenta[leg]).collect();
        close(at(&turned, &moved).total(), at(&process, &momenta).total());
    }
}

/// On the mass shells of decaying particles, a chain with definite helicities is production times decays with these
/// helicities, independent of propagators and the direction of lines.
#[test]
fn majorana_fermions_decay_with_a_helicity() {
    let width = MAJORANA.replace("mass = \"MN\"", "mass = \"MN\"\nwidth = \"WN\"");
    let width = width.replace("value = 97.0", "value = 320.0");
    let card = "[[card]]\nname = \"WN\"\nblock = \"decay\"\nindex = [1000022]\nvalue = 1.0\n";
    let width = width.replacen("[[card]]", &format!("{card}[[card]]"), 1);
    // Besides the exchange of s, where a line of e can be reversed, there is an s-channel in which none can.
    let vertex = "[[vertices]]\nparticles = \"e+ e- z\"\nterms = [[\"1\", \"FFVA\", \"GC_1\"]]\n";
    let model = model(&format!("{width}{vertex}"));
    let (mass, light, energy): (f64, f64, f64) = (320.0, 250.0, 900.0);
    let boosted = |p: [f64; 4], by: [f64; 4]| -> [f64; 4] {
        let m = (by[0] * by[0] - by[1] * by[1] - by[2] * by[2] - by[3] * by[3]).sqrt();
        let along = p[1] * by[1] + p[2] * by[2] + p[3] * by[3];
        let e = (p[0] * by[0] + along) / m;
        let k = (p[0] + e) / (by[0] + m);
        [e, p[1] + k * by[1], p[2] + k * by[2], p[3] + k * by[3]]
    };
    let direction = |cos: f64, phi: f64, size: f64| {
        let sin = (1.0 - cos * cos).sqrt();
        [size * sin * phi.cos(), size * sin * phi.sin(), size * cos]
    };
    let half = energy / 2.0;
    let momenta = |random: &mut SplitMix64| {
        let mut angles = || {
            (
                random.between(-1.0, 1.0),
                random.between(0.0, std::f64::consts::TAU),
            )
        };
        let (cos, phi) = angles();
        let n = direction(cos, phi, (half * half - mass * mass).sqrt());
        let mothers = [1.0, -1.0].map(|s| [half, s * n[0], s * n[1], s * n[2]]);
        let e = (mass * mass - light * light) / (2.0 * mass);
        let mut all = vec![[half, 0.0, 0.0, half], [half, 0.0, 0.0, -half]];
        // Rotated and boosted, so that nothing is along an axis.
        for mother in mothers {
            let (cos, phi) = angles();
            let d = direction(cos, phi, e);
            all.push(boosted([e, d[0], d[1], d[2]], mother));
            all.push(boosted([mass - e, -d[0], -d[1], -d[2]], mother));
        }
        let frame = [1.3, 0.3, -0.5, 0.4];
        let all: Vec<[f64; 4]> = all.into_iter().map(|p| boosted(p, frame)).collect();
        let mothers = mothers.map(|p| boosted(p, frame));
        (all, mothers)
    };
    let of = |text: &str| generate_with(text, &model).unwrap().remove(0);
    // The sum over the rows in which one leg has a helicity.
    let of_helicity = |process: &Process, p: &[[f64; 4]], helicity: i8| -> f64 {
        let card = process.model.default_card();
        let evaluation = process.evaluate(p, 1.1, &card);
        let rows = process.helicities.iter().zip(&evaluation.contributions);
        let rows = rows.filter(|(row, _)| row[0] == helicity);
        rows.map(|(_, x)| x).sum::<f64>() * f64::from(process.iden)
    };
    let total = |process: &Process, p: &[[f64; 4]]| {
        let card = process.model.default_card();
        process.evaluate(p, 1.1, &card).total() * f64::from(process.iden)
    };
    let decays = [of("n > e- s+"), of("n > e+ s-")];
    let mut random = SplitMix64::new(3);
    for (letters, helicities) in [
        ("LR", [-1, 1]),
        ("RL", [1, -1]),
        ("LL", [-1, -1]),
        ("RR", [1, 1]),
    ] {
        let (a, b) = letters.split_at(1);
        let production = of(&format!("e- e+ > n{{{a}}} n{{{b}}}"));
        for (which, text) in [
            ([0, 0], "n > e- s+"),
            ([1, 1], "n > e+ s-"),
            ([0, 1], "n > e- s+, n > e+ s-"),
        ] {
            let chain = of(&format!("e- e+ > n{{{a}}} n{{{b}}}, {text}"));
            for _ in 0..3 {
                let (p, mothers) = momenta(&mut random);
                let parts: f64 = [0, 1]
                    .map(|n| {
                        let products = &p[2 + 2 * n..4 + 2 * n];
                        of_helicity(
                            &decays[which[n]],
                            &[mothers[n], products[0], products[1]],
                            helicities[n],
                        )
                    })
                    .iter()
                    .product();
                let made = total(&production, &[p[0], p[1], mothers[0], mothers[1]]);
                let whole = total(&chain, &p) * mass.powi(4);
                assert!(
                    (whole / (made * parts) - 1.0).abs() < 1e-8,
                    "{letters} {text}: {}",
                    whole / (made * parts)
                );
            }
        }
    }
}

/// Scalars with vertices of five and six legs.
#[test]
fn vertices_of_any_number_of_legs() {
    let scalars = r#"
orders = { NP = 1 }
[[particles]]
name = "phi"
pdg = 25
spin = 1
color = 1
mass = "MPHI"
[[card]]
name = "MPHI"
block = "mass"
index = [25]
value = 20.0
[couplings]
GC_1 = { value = "complex(0,1)*0.7", orders = { NP = 1 } }
[lorentz]
L = "1"
[[vertices]]
particles = "phi phi phi phi phi phi"
terms = [["1", "L", "GC_1"]]
[[vertices]]
particles = "phi phi phi phi phi"
terms = [["1", "L", "GC_1"]]
"#;
    let model = model(scalars);
    let contact = generate_with("phi phi > phi phi phi phi", &model)
        .unwrap()
        .remove(0);
    assert_eq!((contact.diagrams, contact.iden), (1, 24));
    close(evaluated(&contact, 700.0).total(), 0.49 / 24.0);
    // Two vertices of five: 8 legs in 4 and 4.
    let pair = generate_with("phi phi > phi phi phi phi phi phi", &model)
        .unwrap()
        .remove(0);
    assert_eq!(pair.diagrams, 35);
}

/// Three quarks in an epsilon, and two in a sextet: the numbers of colours.
#[test]
fn epsilons_and_sextets() {
    let colored = r#"
orders = { NP = 1 }
[[particles]]
name = "u"
antiname = "u~"
pdg = 2
spin = 2
color = 3
[[particles]]
name = "d"
antiname = "d~"
pdg = 1
spin = 2
color = 3
[[particles]]
name = "t3"
antiname = "t3~"
pdg = 9000001
spin = 1
color = 3
mass = "MT3"
[[particles]]
name = "six"
antiname = "six~"
pdg = 9000002
spin = 1
color = 6
mass = "MT3"
[[card]]
name = "MT3"
block = "mass"
index = [9000001]
value = 900.0
[couplings]
GC_1 = { value = "complex(0,1)*0.7", orders = { NP = 1 } }
[lorentz]
FFS = "Identity(2,1)"
[[vertices]]
particles = "u d t3"
terms = [["Epsilon(1,2,3)", "FFS", "GC_1"]]
[[vertices]]
particles = "u~ d~ t3~"
terms = [["EpsilonBar(1,2,3)", "FFS", "GC_1"]]
[[vertices]]
particles = "u~ d~ six"
terms = [["K6(3,1,2)", "FFS", "GC_1"]]
[[vertices]]
particles = "u d six~"
terms = [["K6Bar(3,1,2)", "FFS", "GC_1"]]
"#;
    let model = model(colored);
    // Six colours each, and 2 s for the spinors.
    for text in ["u d > t3~", "u d > six"] {
        let process = generate_with(text, &model).unwrap().remove(0);
        let momenta = [
            [450.0, 0.0, 0.0, 450.0],
            [450.0, 0.0, 0.0, -450.0],
            [900.0, 0.0, 0.0, 0.0],
        ];
        let own = process
            .evaluate(&momenta, 1.1, &process.model.default_card())
            .total();
        close(own, 0.49 * 2.0 * 900.0 * 900.0 * 6.0 / 36.0);
    }
    // In u d > u d the squares add up: antisymmetric and symmetric parts.
    let of = |without: &str| squared(&format!("u d > u d / {without}"), &model);
    close(of("six") + of("t3"), squared("u d > u d", &model));
    // Epsilons squared are 12, projections on sextets 6.
    close(of("t3") / of("six"), 6.0 / 12.0);
}

/// Two epsilons of one kind in a diagram, compared with a sum over the colours of all legs.
#[test]
fn two_epsilons_of_one_kind() {
    let particle = |name: &str, pdg: u32, color: u32| {
        let antiname = match color {
            3 => format!("antiname = \"{name}~\"\n"),
            _ => String::new(),
        };
        format!(
            "[[particles]]\nname = \"{name}\"\n{antiname}pdg = {pdg}\nspin = 1\ncolor = {color}\n"
        )
    };
    let text = [
        "orders = { NP = 1 }\n".to_owned(),
        particle("h", 9000001, 1),
        particle("n", 9000002, 1),
        particle("a", 9000003, 3),
        particle("b", 9000004, 3),
        particle("c", 9000005, 3),
        r#"
[couplings]
GC_1 = { value = "complex(0,1)*0.7", orders = { NP = 1 } }
[lorentz]
L = "1"
[[vertices]]
particles = "h h n n"
terms = [["1", "L", "GC_1"]]
[[vertices]]
particles = "h h n n n"
terms = [["1", "L", "GC_1"]]
[[vertices]]
particles = "n a b c"
terms = [["Epsilon(2,3,4)", "L", "GC_1"]]
[[vertices]]
particles = "n a~ b~ c~"
terms = [["EpsilonBar(2,3,4)", "L", "GC_1"]]
"#
        .to_owned(),
    ]
    .concat();
    let model = model(&text);
    let process = generate_with("h h > a b c a b c", &model)
        .unwrap()
        .remove(0);
    let momenta = points(&process, 700.0);
    // Legs at the first n besides one a, and the factor from both propagators.
    let choices = [(3, 4), (3, 7), (6, 4), (6, 7)].map(|(b, c)| {
        let others = [(9 - b), (11 - c)];
        let square = |legs: [usize; 3]| {
            let of = |i: usize| legs.iter().map(|&leg| momenta[leg][i]).sum::<f64>().powi(2);
            of(0) - of(1) - of(2) - of(3)
        };
        let propagators = square([2, b, c]) * square([5, others[0], others[1]]);
        ([2, b, c], [5, others[0], others[1]], 0.343 / propagators)
    });
    let mut total = 0.0;
    for number in 0..3usize.pow(6) {
        let epsilon = |legs: [usize; 3]| {
            let [a, b, c] = legs.map(|leg| (number / 3usize.pow(leg as u32 - 2) % 3) as f64);
            (b - a) * (c - b) * (c - a) / 2.0
        };
        let amplitudes = choices
            .iter()
            .map(|&(one, other, x)| epsilon(one) * epsilon(other) * x);
        total += amplitudes.sum::<f64>().powi(2);
    }
    close(at(&process, &momenta).total(), total / 8.0);
    // Three of them: their square is not expanded at once.
    let three = generate_with("h h > a b c a b c a b c", &model).unwrap();
    assert_eq!(three[0].diagrams, 36);
}

/// The lines of a structure run from its second index to its first, whichever legs these are. It may be written either
/// way, for a fermion and its antiparticle as well as for two outgoing fermions.
#[test]
fn lines_may_be_written_backwards() {
    let of = |one: &str, other: &str, pair: &str| {
        model(&format!(
            r#"
orders = {{ NP = 1 }}
[[particles]]
name = "u"
antiname = "u~"
pdg = 2
spin = 2
color = 1
mass = "MU"
[[particles]]
name = "d"
antiname = "d~"
pdg = 1
spin = 2
color = 1
[[particles]]
name = "v"
antiname = "v~"
pdg = 9000001
spin = 3
color = 1
mass = "MV"
[[particles]]
name = "x"
pdg = 9000002
spin = 3
color = 1
mass = "MV"
[[card]]
name = "MU"
block = "mass"
index = [2]
value = 50.0
[[card]]
name = "MV"
block = "mass"
index = [9000001]
value = 300.0
[couplings]
GC_1 = {{ value = "complex(0.2,0.7)", orders = {{ NP = 1 }} }}
GC_2 = {{ value = "complex(-0.2,0.7)", orders = {{ NP = 1 }} }}
[lorentz]
ONE = "{one}"
OTHER = "{other}"
PAIR = "{pair}"
[[vertices]]
particles = "u d v~"
terms = [["1", "ONE", "GC_1"]]
[[vertices]]
particles = "u~ d~ v"
terms = [["1", "OTHER", "GC_2"]]
[[vertices]]
particles = "u~ u x"
terms = [["1", "PAIR", "GC_1"]]
"#
        ))
    };
    let forward = of(
        "-Gamma(3,2,-1)*ProjP(-1,1) - 0.01*ProjP(2,-1)*Sigma(3,-2,-1,1)*P(-2,3)",
        "Gamma(3,2,-1)*ProjM(-1,1)",
        "-Gamma(3,2,-1)*ProjP(-1,1) + 0.3*Identity(2,1)*P(3,2)",
    );
    let backward = of(
        "Gamma(3,1,-1)*ProjM(-1,2) + 0.01*Sigma(3,-2,1,-1)*ProjP(-1,2)*P(-2,3)",
        "-Gamma(3,1,-1)*ProjP(-1,2)",
        "Gamma(3,1,-1)*ProjM(-1,2) + 0.3*Identity(1,2)*P(3,2)",
    );
    for text in [
        "u d > u d",
        "u u~ > d d~",
        "u d > v x",
        "v v~ > u u~",
        "u u~ > x x",
    ] {
        close(squared(text, &backward), squared(text, &forward));
    }
    // Left-handed fermions meet right-handed ones, and both continue in their directions: with spin 1 neither turns
    // back.
    let left = of(
        "Gamma(3,1,-1)*ProjM(-1,2)",
        "Gamma(3,2,-1)*ProjM(-1,1)",
        "Gamma(3,2,1)",
    );
    let process = generate_with("d u > v > d u", &left).unwrap().remove(0);
    let at = |cosine: f64| {
        let p = 9000.0_f64;
        let energy = p.hypot(50.0);
        let (along, across) = (p * cosine, p * (1.0 - cosine * cosine).sqrt());
        let momenta = [
            [p, 0.0, 0.0, p],
            [energy, 0.0, 0.0, -p],
            [p, across, 0.0, along],
            [energy, -across, 0.0, -along],
        ];
        let card = process.model.default_card();
        process.evaluate(&momenta, 1.1, &card).total()
    };
    assert!(at(0.9) > 300.0 * at(-0.9), "{} {}", at(0.9), at(-0.9));
}

/// Parameters that multiply a propagator, such as corrections to a width, are taken from the card.
#[test]
fn propagators_may_have_factors() {
    let model = model(
        r#"
orders = { NP = 1 }
[[particles]]
name = "u"
antiname = "u~"
pdg = 2
spin = 2
color = 3
[[particles]]
name = "d"
antiname = "d~"
pdg = 1
spin = 2
color = 3
[[particles]]
name = "v"
pdg = 22
spin = 3
color = 1
mass = "MV"
[[particles]]
name = "w"
pdg = 9000001
spin = 3
color = 1
mass = "MV"
propagator = "W"
[[card]]
name = "MV"
block = "mass"
index = [22]
value = 80.0
[[card]]
name = "DW"
block = "np"
index = [1]
value = 3.0
[parameters]
DI = "complex(0.5,1)"
[couplings]
GC_1 = { value = "complex(0,1)*0.7", orders = { NP = 1 } }
[propagators]
W = { numerator = "-(-Metric(1,2) + P(1,id)*P(2,id)/Mass(id)**2)*complex(0,1)*DI/2*DW**2/DI*DI" }
[lorentz]
FFV = "Gamma(3,2,1)"
[[vertices]]
particles = "u~ u v"
terms = [["Identity(1,2)", "FFV", "GC_1"]]
[[vertices]]
particles = "d~ d v"
terms = [["Identity(1,2)", "FFV", "GC_1"]]
[[vertices]]
particles = "u~ u w"
terms = [["Identity(1,2)", "FFV", "GC_1"]]
[[vertices]]
particles = "d~ d w"
terms = [["Identity(1,2)", "FFV", "GC_1"]]
"#,
    );
    let of = |without: &str| squared(&format!("u u~ > d d~ / {without}"), &model);
    close(of("v") / of("w"), 1.25 * 9.0_f64.powi(2) / 4.0);
    // 1 and -4.5 i (0.5 + i), both on one vertex.
    close(
        squared("u u~ > d d~", &model) / of("w"),
        5.5_f64.powi(2) + 2.25_f64.powi(2),
    );
}

/// Two octets, emitted by two quarks, that fuse into a scalar have the colour factor (N^2 - 1)/4 of an exchanged octet,
/// and two singlets N^2.
#[test]
fn octets_between_quarks_make_a_singlet() {
    let mut fusion = r#"
orders = { NP = 1 }
[[particles]]
name = "h"
pdg = 25
spin = 1
color = 1
mass = "MH"
[[card]]
name = "MH"
block = "mass"
index = [25]
value = 125.0
[couplings]
GC_1 = { value = "complex(0,1)*0.7", orders = { NP = 1 } }
[lorentz]
FFV = "Gamma(3,2,1)"
VVS = "P(1,2)*P(2,1) - P(-1,1)*P(-1,2)*Metric(1,2)"
"#
    .to_owned();
    for (name, pdg) in [("u", 2), ("c", 4)] {
        fusion += &format!(
            "[[particles]]\nname = \"{name}\"\nantiname = \"{name}~\"\npdg = {pdg}\nspin = 2\ncolor = 3\n"
        );
    }
    for (name, pdg, color, quarks, bosons) in [
        ("g", 21, 8, "T(3,2,1)", "Identity(1,2)"),
        ("x", 22, 1, "Identity(1,2)", "1"),
    ] {
        fusion += &format!(
            "[[particles]]\nname = \"{name}\"\npdg = {pdg}\nspin = 3\ncolor = {color}\n[[vertices]]\n\
             particles = \"{name} {name} h\"\nterms = [[\"{bosons}\", \"VVS\", \"GC_1\"]]\n"
        );
        for quark in ["u", "c"] {
            fusion += &format!(
                "[[vertices]]\nparticles = \"{quark}~ {quark} {name}\"\n\
                 terms = [[\"{quarks}\", \"FFV\", \"GC_1\"]]\n"
            );
        }
    }
    let model = model(&fusion);
    for text in ["u c > h u c", "u u~ > h c c~"] {
        let of = |without: &str| squared(&format!("{text} / {without}"), &model);
        close(of("x") / of("g"), 2.0 / 9.0);
    }
}

/// Pairs of scalars from two gluons: for a representation with dimension `d` and Casimir `C`, the sum is that of QED
/// times `d C (C - 3 x y)`, with `x = (m^2 - t) / s` and `y = (m^2 - u) / s`. The two-gluon vertex sums over an index
/// of the scalar, and in another notation over a unit matrix.
#[test]
fn gluons_make_scalars_of_any_color() {
    let mut scalars = r#"
orders = { QCD = 1 }
[[particles]]
name = "g"
pdg = 21
spin = 3
color = 8
[[card]]
name = "MS"
block = "mass"
index = [9000001]
value = 300.0
[couplings]
GC_1 = { value = "-G", orders = { QCD = 1 } }
GC_2 = { value = "complex(0,1)*G", orders = { QCD = 1 } }
GC_3 = { value = "complex(0,1)*G**2", orders = { QCD = 2 } }
[lorentz]
VVV = "P(3,1)*Metric(1,2) - P(3,2)*Metric(1,2) - P(2,1)*Metric(1,3) + P(2,3)*Metric(1,3) + P(1,2)*Metric(2,3) - P(1,3)*Metric(2,3)"
VSS = "P(1,2) - P(1,3)"
VVSS = "Metric(1,2)"
[[vertices]]
particles = "g g g"
terms = [["f(1,2,3)", "VVV", "GC_1"]]
"#
    .to_owned();
    for (pdg, (name, color, one, two, other)) in (9000001..).zip([
        (
            "t",
            3,
            "T(1,2,3)",
            "T(1,4,-1)*T(2,-1,3)",
            "T(2,4,-1)*T(1,-1,3)",
        ),
        (
            "six",
            6,
            "T6(1,2,3)",
            "T6(1,4,-1)*T6(2,-1,3)",
            "T6(2,4,-1)*T6(1,-1,3)",
        ),
        (
            "unit",
            6,
            "T6(1,2,-1)*Identity(-1,3)",
            "T6(1,4,-2)*T6(2,-2,-1)*Identity(-1,3)",
            "Identity(4,-1)*T6(2,-1,-2)*T6(1,-2,3)",
        ),
    ]) {
        scalars += &format!(
            "[[particles]]\nname = \"{name}\"\nantiname = \"{name}~\"\npdg = {pdg}\nspin = 1\ncolor = {color}\n\
             mass = \"MS\"\n[[vertices]]\nparticles = \"g {name} {name}~\"\nterms = [[\"{one}\", \"VSS\", \"GC_2\"]]\n\
             [[vertices]]\nparticles = \"g g {name}~ {name}\"\n\
             terms = [[\"{two}\", \"VVSS\", \"GC_3\"], [\"{other}\", \"VVSS\", \"GC_3\"]]\n"
        );
    }
    let model = model(&scalars);
    let (energy, mass, cosine) = (450.0_f64, 300.0_f64, 0.4_f64);
    let momentum = (energy * energy - mass * mass).sqrt();
    let (along, across) = (momentum * cosine, momentum * (1.0 - cosine * cosine).sqrt());
    let momenta = [
        [energy, 0.0, 0.0, energy],
        [energy, 0.0, 0.0, -energy],
        [energy, across, 0.0, along],
        [energy, -across, 0.0, -along],
    ];
    let xy = (1.0 - (along / energy).powi(2)) / 4.0;
    let of = |name: &str| {
        let process = generate_with(&format!("g g > {name} {name}~"), &model);
        let process = process.unwrap().remove(0);
        let card = process.model.default_card();
        process.evaluate(&momenta, 1.1, &card).total()
    };
    let factor = |dimension: f64, casimir: f64| dimension * casimir * (casimir - 3.0 * xy);
    let expected = factor(6.0, 10.0 / 3.0) / factor(3.0, 4.0 / 3.0);
    close(of("six") / of("t"), expected);
    close(of("unit") / of("t"), expected);
}

/// The message that quarks keep their generation is only for models whose vertices do so.
#[test]
fn generations_of_quarks_are_those_of_the_model() {
    let mut quarks = r#"
orders = { NP = 1 }
[[particles]]
name = "phi"
pdg = 25
spin = 1
color = 1
[couplings]
GC_1 = { value = "complex(0,1)*0.7", orders = { NP = 1 } }
[lorentz]
FFS = "Identity(2,1)"
"#
    .to_owned();
    for (name, pdg) in [("d", 1), ("s", 3), ("b", 5)] {
        quarks += &format!(
            "[[particles]]\nname = \"{name}\"\nantiname = \"{name}~\"\npdg = {pdg}\nspin = 2\ncolor = 3\n"
        );
    }
    let vertex = |particles: &str| {
        format!(
            "[[vertices]]\nparticles = \"{particles}\"\nterms = [[\"Identity(1,2)\", \"FFS\", \"GC_1\"]]\n"
        )
    };
    quarks += &vertex("d~ d phi");
    let why = |text: &str| {
        let refused = generate_with("d b~ > phi phi", &model(text)).unwrap_err();
        refused.to_string()
    };
    assert!(why(&quarks).contains("keep their generation"));
    // d and s mix, and d and b still have no diagram, but not because of generations.
    let mixed = quarks + &vertex("d~ s phi") + &vertex("s~ d phi");
    assert!(generate_with("d s~ > phi phi", &model(&mixed)).is_ok());
    let why = why(&mixed);
    assert!(
        !why.contains("generation") && why.contains("no conservation law"),
        "{why}"
    );
}

/// Particles (name, PDG code, spin, colour, mass) and a model of them.
type Row = (&'static str, i32, i32, i32, f64);

/// A model with particles of all spins and colours.
fn model_of_all_spins() -> ([Row; 14], Model) {
    let masses = [
        ("n1", 1, 2, 1, -97.0),
        ("n2", 2, 2, 1, 400.0),
        ("v", 3, 3, 1, 91.0),
        ("gr", 4, 4, 1, 130.0),
        ("big", 5, 4, 1, -2000.0),
        ("phi", 6, 1, 1, 700.0),
        ("oct", 7, 1, 8, 500.0),
        ("t2", 8, 5, 1, 1000.0),
        ("top", 9, 1, 1, 5000.0),
        ("f", 10, 2, 3, 40.0),
        ("k", 11, 2, 3, 50.0),
        ("psi", 12, 4, 3, 600.0),
        ("six", 13, 1, 6, 800.0),
        ("s", 14, 1, 1, 250.0),
    ];
    let mut text = "orders = { NP = 1, QCD = 1 }\n".to_owned();
    for (name, pdg, spin, color, mass) in masses {
        let anti = match pdg >= 10 {
            true => format!("antiname = \"{name}~\"\n"),
            false => String::new(),
        };
        text += &format!(
            "[[particles]]\nname = \"{name}\"\n{anti}pdg = {pdg}\nspin = {spin}\ncolor = {color}\nmass = \"M{name}\"\n\
             [[card]]\nname = \"M{name}\"\nblock = \"mass\"\nindex = [{pdg}]\nvalue = {mass}\n"
        );
    }
    text += r#"
[couplings]
L = { value = "complex(0.2,0.7)", orders = { NP = 1 } }
R = { value = "complex(0,1)*0.3", orders = { NP = 1 } }
Q = { value = "complex(0,1)*G", orders = { QCD = 1 } }
[lorentz]
VL = "Gamma(3,2,-1)*ProjM(-1,1)"
VR = "Gamma(3,2,-1)*ProjP(-1,1)"
SL = "ProjM(2,1)"
SR = "ProjP(2,1)"
RS = "P(2,3)*ProjM(2,1)"
RV = "Metric(2,3)*ProjP(2,1)"
RL = "Metric(1,3)*ProjP(2,1)"
RR = "Metric(1,2)*ProjP(2,1)"
FT = "Gamma(1003,2,1)*P(2003,1) - Gamma(1003,2,1)*P(2003,2)"
VT = "Metric(1,1003)*Metric(2,2003)"
ST = "P(1003,1)*P(2003,2)"
SVT = "Metric(2,1003)*P(2003,1)"
VVS = "Metric(1,2)"
"#;
    for (particles, terms) in [
        ("n1 n2 v", r#"["1", "VL", "L"], ["1", "VR", "R"]"#),
        ("n2 n1 v", r#"["1", "VL", "R"]"#),
        ("n1 n1 phi", r#"["1", "SL", "L"], ["1", "SR", "R"]"#),
        ("n1 gr s", r#"["1", "RS", "L"]"#),
        ("n1 gr s~", r#"["1", "RS", "R"]"#),
        ("n1 big v", r#"["1", "RV", "L"]"#),
        ("gr big phi", r#"["1", "RR", "L"]"#),
        ("f~ psi v", r#"["Identity(1,2)", "RV", "L"]"#),
        ("psi~ f v", r#"["Identity(1,2)", "RL", "L"]"#),
        (
            "f~ k oct",
            r#"["T(3,2,1)", "SL", "Q"], ["T(3,2,1)", "SR", "R"]"#,
        ),
        ("k f six~", r#"["K6Bar(3,1,2)", "SL", "L"]"#),
        ("k~ f s~", r#"["1", "SL", "L"]"#),
        ("f~ f t2", r#"["Identity(1,2)", "FT", "L"]"#),
        ("v v t2", r#"["1", "VT", "L"]"#),
        ("s s~ t2", r#"["1", "ST", "L"]"#),
        ("top v t2", r#"["1", "SVT", "L"]"#),
        ("v v top", r#"["1", "VVS", "R"]"#),
    ] {
        text += &format!("[[vertices]]\nparticles = \"{particles}\"\nterms = [{terms}]\n");
    }
    (masses, model(&text))
}

/// Partial widths from the vertices of a model agree with those from amplitudes: all spins and colours, negative
/// masses, and a pair of Majorana fermions whose vertices are written both ways.
#[test]
fn partial_widths_follow_from_vertices() {
    let (masses, model) = model_of_all_spins();
    let (mut open, mut refused) = (0, Vec::new());
    for (_, pdg, ..) in masses {
        let parameter = mebridge_process::model::CardParameter {
            name: "W".into(),
            block: "decay".into(),
            index: vec![pdg],
            default: 0.0,
        };
        let width = model.auto_width(0, &parameter).unwrap().unwrap();
        let card = width.card.iter().map(|p| p.default);
        let inputs: Vec<_> = card.chain([1.2]).map(|x| x.into()).collect();
        let values = width.program.evaluate(&inputs);
        for partial in &width.values[1..] {
            let ours = values[partial.value as usize].re;
            if partial.name.contains('(') {
                let card: Vec<f64> = width.card.iter().map(|p| p.default).collect();
                refused.push(width.width_with_decays(&card).map(|(width, _)| width));
                continue;
            }
            let process = generate_with(&partial.name, &model).unwrap().remove(0);
            match partial_width(&process, &process.model.default_card(), 1.2) {
                None => assert_eq!(ours, 0.0, "{}", partial.name),
                Some(width) => {
                    close(ours, width);
                    open += 1;
                }
            }
        }
    }
    assert_eq!(open, 13);
    // Decays without |M|^2 are refused if the masses allow them: for s, but not for k.
    let why = "s > f k~ (vertex k~ f s~: the colour structure does not fit leg 1)";
    let message = format!("the model's formula for {why} gives NaN GeV");
    assert_eq!(refused, [Ok(0.0), Err(message)]);
}
