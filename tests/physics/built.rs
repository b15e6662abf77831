//! Two processes built in code, without an MG5aMC directory: the output of an importer or a generator is data, and
//! these are a few dozen lines of it.
//!
//! In both a fermion and an antifermion become another such pair through one massless vector in the s channel: `u u~ >
//! t t~` through a gluon and `e- e+ > mu- mu+` through a photon.

use mebridge::process::arith::{Builder, Function, Op, ValueId};
use mebridge::process::channels::{Amp2, Channels};
use mebridge::process::color::ColorMatrix;
use mebridge::process::lorentz::Routine;
use mebridge::process::model::{CardParameter, Model, NamedValue};
use mebridge::process::{
    Amplitudes, Contract, CouplingRef, Diagrams, External, ExternalKind, Leg, LinearMap, Process,
    Quantity, Term, TermSource, Vertex, Wavefunction,
};
use num_complex::Complex64;

/// `u u~ > t t~`; the card holds the mass of the top.
pub fn uux_ttx() -> Process {
    // T^a T^a = 1/2 (exchange of colours - 1/3 colours kept).
    let sixth = 1.0 / 6.0;
    let mut builder = Builder::new(2);
    let mass = builder.input(0);
    let g = builder.input(1);
    let i = builder.complex(0.0, 1.0);
    let coupling = builder.push(Op::Mul(i, g));
    let model = Model {
        card: vec![parameter("MDL_MT", "mass", 6, 173.0)],
        program: builder.finish(),
        parameters: vec![named("MDL_MT", mass)],
        couplings: vec![named("GC_11", coupling)],
        widths_signed: false,
        auto_widths: Vec::new(),
    };
    let color = ColorMatrix {
        flows: 2,
        denominator: 1.0,
        upper: vec![9.0, 3.0, 9.0],
    };
    let tags = vec![
        vec![(501, 0), (0, 501), (502, 0), (0, 502)],
        vec![(501, 0), (0, 502), (501, 0), (0, 502)],
    ];
    // Averages over 2 * 2 helicities and 3 * 3 colours.
    let name = "u u~ > t t~";
    pairs(name, [2, -2, 6, -6], model, &[-sixth, 0.5], color, tags, 36)
}

/// `e- e+ > mu- mu+` by a photon; the card holds 1/alpha and the mass of the muon.
pub fn ee_mumu() -> Process {
    let mut builder = Builder::new(3);
    let inverse_alpha = builder.input(0);
    let mass = builder.input(1);
    let four_pi = builder.real(4.0 * std::f64::consts::PI);
    let e2 = builder.push(Op::Div(four_pi, inverse_alpha));
    let e = builder.push(Op::Call(Function::RealSqrt, e2));
    let minus_i = builder.complex(0.0, -1.0);
    let coupling = builder.push(Op::Mul(minus_i, e));
    let model = Model {
        card: vec![
            parameter("AEWM1", "sminputs", 1, 132.0),
            parameter("MDL_MMU", "mass", 13, 0.10566),
        ],
        program: builder.finish(),
        parameters: vec![named("MDL_MMU", mass)],
        couplings: vec![named("GC_3", coupling)],
        widths_signed: false,
        auto_widths: Vec::new(),
    };
    let color = ColorMatrix {
        flows: 1,
        denominator: 1.0,
        upper: vec![1.0],
    };
    let tags = vec![vec![(0, 0); 4]];
    let name = "e- e+ > mu- mu+";
    pairs(name, [11, -11, 13, -13], model, &[1.0], color, tags, 4)
}

fn parameter(name: &str, block: &str, index: i32, default: f64) -> CardParameter {
    CardParameter {
        name: name.into(),
        block: block.into(),
        index: vec![index],
        default,
    }
}

fn named(name: &str, value: ValueId) -> NamedValue {
    NamedValue {
        name: name.into(),
        value,
    }
}

/// Massless fermions to fermions of the model's mass number 0, by its coupling number 0. `jamp`
/// holds the colour flows' parts of the one amplitude.
fn pairs(
    name: &str,
    pdg: [i32; 4],
    model: Model,
    jamp: &[f64],
    color: ColorMatrix,
    color_flows: Vec<Vec<(i32, i32)>>,
    iden: u32,
) -> Process {
    let masses = [0, 0, 1, 1].map(|massive| match massive {
        0 => Quantity::ZERO,
        _ => Quantity(Some(0)),
    });
    let kinds = [
        (ExternalKind::FermionIn, 1),
        (ExternalKind::FermionOut, -1),
        (ExternalKind::FermionOut, 1),
        (ExternalKind::FermionIn, -1),
    ];
    let mut wavefunctions: Vec<Wavefunction> = (0..4)
        .map(|leg| {
            Wavefunction::External(External {
                kind: kinds[leg].0,
                leg: leg as u32,
                mass: masses[leg],
                sign: kinds[leg].1,
            })
        })
        .collect();
    let vertex = |routine: u32, inputs: &[u32]| Vertex {
        routine,
        inputs: inputs.to_vec(),
        couplings: vec![CouplingRef {
            coupling: 0,
            negative: false,
        }],
        mass: Quantity::ZERO,
        width: Quantity::ZERO,
    };
    wavefunctions.push(Wavefunction::Internal(vertex(0, &[0, 1])));
    let helicities = (0..16)
        .map(|row| (0..4).map(|leg| 2 * (row >> (3 - leg) & 1) - 1).collect())
        .collect();
    let process = Process {
        name: name.into(),
        model_name: "built".into(),
        legs: (0..4)
            .map(|leg| Leg {
                pdg: pdg[leg],
                incoming: leg < 2,
                mass: masses[leg],
            })
            .collect(),
        helicities,
        other_flavours: Vec::new(),
        helicity_sum: mebridge::process::HelicitySum::Positive,
        beam_weights: Vec::new(),
        iden,
        flow_weights: Vec::new(),
        model,
        routines: vec![vector_of_fermions(), fermions_and_vector()],
        wavefunctions,
        diagrams: 1,
        channels: Channels {
            amp2: vec![Amp2 {
                diagram: 1,
                squares: vec![vec![0]],
            }],
            config_diagram: vec![1],
            color_allowed: vec![vec![true; color.flows as usize]],
            color_flows,
            resonances: Vec::new(),
        },
        amplitudes: Amplitudes::Diagrams(Diagrams {
            amplitudes: vec![vertex(1, &[3, 2, 4])],
            jamp: LinearMap {
                partial: Vec::new(),
                outputs: jamp
                    .iter()
                    .map(|&factor| {
                        vec![Term {
                            source: TermSource::Amplitude(0),
                            factor: (factor, 0.0),
                        }]
                    })
                    .collect(),
            },
            color,
            color_ordered: None,
        }),
        contract: Contract::WithIgraph,
    };
    process.validate().expect("a whole process");
    process
}

/// Dirac matrices in the chiral representation: `gamma^mu = ((0, sigma^mu), (sigmabar^mu, 0))`.
fn gamma(mu: usize) -> [[Complex64; 4]; 4] {
    let (zero, one, i) = (
        Complex64::new(0.0, 0.0),
        Complex64::new(1.0, 0.0),
        Complex64::new(0.0, 1.0),
    );
    let sigma = [
        [[one, zero], [zero, one]],
        [[zero, one], [one, zero]],
        [[zero, -i], [i, zero]],
        [[one, zero], [zero, -one]],
    ][mu];
    let bar = if mu == 0 { 1.0 } else { -1.0 };
    let mut gamma = [[zero; 4]; 4];
    for row in 0..2 {
        for column in 0..2 {
            gamma[row][column + 2] = sigma[row][column];
            gamma[row + 2][column] = bar * sigma[row][column];
        }
    }
    gamma
}

/// `F2 gamma^mu F1`, for spinors whose components are the inputs from 2 and from 8 on.
fn current(b: &mut Builder) -> [ValueId; 4] {
    std::array::from_fn(|mu| {
        let mut sum = b.real(0.0);
        for (row, factors) in gamma(mu).iter().enumerate() {
            for (column, factor) in factors.iter().enumerate() {
                if factor.norm() != 0.0 {
                    let f1 = b.input(2 + column as u32);
                    let f2 = b.input(8 + row as u32);
                    let product = b.push(Op::Mul(f2, f1));
                    let factor = b.complex(factor.re, factor.im);
                    let term = b.push(Op::Mul(factor, product));
                    sum = b.push(Op::Add(sum, term));
                }
            }
        }
        sum
    })
}

/// `FFV1P0_3(F1, F2, COUP, M3, W3, V3)`: `-i COUP / (P^2 - M (M - i W)) F2 gamma^mu F1`.
fn vector_of_fermions() -> Routine {
    let mut b = Builder::new(15);
    let head = [0, 1].map(|n| {
        let (f1, f2) = (b.input(n), b.input(6 + n));
        b.push(Op::Add(f1, f2))
    });
    let current = current(&mut b);
    let part = |b: &mut Builder, function, value| {
        let part = b.push(Op::Call(function, value));
        b.push(Op::Mul(part, part))
    };
    // (E + i pz, px + i py).
    let mut p2 = part(&mut b, Function::Re, head[0]);
    for (function, value) in [
        (Function::Im, head[0]),
        (Function::Re, head[1]),
        (Function::Im, head[1]),
    ] {
        let square = part(&mut b, function, value);
        p2 = b.push(Op::Sub(p2, square));
    }
    let [coupling, mass, width] = [12, 13, 14].map(|n| b.input(n));
    let i = b.complex(0.0, 1.0);
    let i_width = b.push(Op::Mul(i, width));
    let pole = b.push(Op::Sub(mass, i_width));
    let pole = b.push(Op::Mul(mass, pole));
    let denominator = b.push(Op::Sub(p2, pole));
    let minus_i = b.complex(0.0, -1.0);
    let factor = b.push(Op::Div(coupling, denominator));
    let factor = b.push(Op::Mul(minus_i, factor));
    let vector = current.map(|j| b.push(Op::Mul(factor, j)));
    Routine {
        name: "FFV1P0_3".into(),
        inputs: vec![6, 6],
        couplings: 1,
        massive: true,
        program: b.finish(),
        outputs: head.into_iter().chain(vector).collect(),
    }
}

/// `FFV1_0(F1, F2, V3, COUP, VERTEX)`: `-i COUP V3_mu F2 gamma^mu F1`.
fn fermions_and_vector() -> Routine {
    let mut b = Builder::new(19);
    let current = current(&mut b);
    let mut product = b.real(0.0);
    for (mu, j) in current.into_iter().enumerate() {
        let v = b.input(14 + mu as u32);
        let term = b.push(Op::Mul(v, j));
        product = match mu {
            0 => term,
            _ => b.push(Op::Sub(product, term)),
        };
    }
    let coupling = b.input(18);
    let minus_i = b.complex(0.0, -1.0);
    let factor = b.push(Op::Mul(minus_i, coupling));
    let vertex = b.push(Op::Mul(factor, product));
    Routine {
        name: "FFV1_0".into(),
        inputs: vec![6, 6, 6],
        couplings: 1,
        massive: false,
        program: b.finish(),
        outputs: vec![vertex],
    }
}
