//! A minimal process: phi phi > phi phi in a theory of one scalar of mass `MDL_MPHI` with the coupling `GC_1 = i G`, in
//! the s, t and u channel.
//!
//! Its matrix element has a closed form, `|M|^2 = G^4/2 (1/(s-m^2) + 1/(t-m^2) + 1/(u-m^2))^2` for vanishing width, so
//! tests of the file format, the interfaces and the bridge do not need an MG5aMC directory.

use super::arith::{Builder, Op};
use super::channels::{Amp2, Channels};
use super::color::ColorMatrix;
use super::lorentz::Routine;
use super::model::{CardParameter, Model, NamedValue};
use super::{
    Amplitudes, Contract, CouplingRef, Diagrams, External, ExternalKind, HelicitySum, Leg,
    LinearMap, Process, Quantity, Term, TermSource, Vertex, Wavefunction,
};

/// phi phi > phi phi.
pub fn scalars() -> Process {
    let mass = Quantity(Some(0));
    let external = |leg: u32, sign: i8| {
        Wavefunction::External(External {
            kind: ExternalKind::Scalar,
            leg,
            mass,
            sign,
        })
    };
    let vertex = |routine: u32, inputs: [u32; 2], third: Option<u32>| {
        let line = third.is_none();
        Vertex {
            routine,
            inputs: inputs.into_iter().chain(third).collect(),
            couplings: vec![CouplingRef {
                coupling: 0,
                negative: false,
            }],
            mass: if line { mass } else { Quantity::ZERO },
            width: Quantity::ZERO,
        }
    };
    let pairs = [([0, 1], [2, 3]), ([0, 2], [1, 3]), ([0, 3], [1, 2])];
    let mut wavefunctions: Vec<_> = (0..4)
        .map(|leg| external(leg, if leg < 2 { -1 } else { 1 }))
        .collect();
    wavefunctions.extend(pairs.map(|(pair, _)| Wavefunction::Internal(vertex(0, pair, None))));
    let amplitudes = (4..)
        .zip(pairs)
        .map(|(line, (_, [a, b]))| vertex(1, [a, b], Some(line)))
        .collect();
    Process {
        name: "phi phi > phi phi".into(),
        model_name: "scalar".into(),
        legs: (0..4)
            .map(|leg| Leg {
                pdg: 25,
                incoming: leg < 2,
                mass,
            })
            .collect(),
        other_flavours: Vec::new(),
        helicities: vec![vec![0; 4]],
        helicity_sum: HelicitySum::Positive,
        beam_weights: Vec::new(),
        iden: 2,
        model: model(),
        routines: vec![line(), amplitude()],
        wavefunctions,
        diagrams: 3,
        amplitudes: Amplitudes::Diagrams(Diagrams {
            amplitudes,
            jamp: LinearMap {
                partial: Vec::new(),
                outputs: vec![
                    (0..3)
                        .map(|i| Term {
                            source: TermSource::Amplitude(i),
                            factor: (1.0, 0.0),
                        })
                        .collect(),
                ],
            },
            color: ColorMatrix {
                flows: 1,
                denominator: 1.0,
                upper: vec![1.0],
            },
            color_ordered: None,
        }),
        flow_weights: Vec::new(),
        channels: Channels {
            amp2: (0..3)
                .map(|i| Amp2 {
                    diagram: i + 1,
                    squares: vec![vec![i]],
                })
                .collect(),
            config_diagram: vec![1, 2, 3],
            color_allowed: vec![vec![true]; 3],
            color_flows: vec![vec![(0, 0); 4]],
            resonances: Vec::new(),
        },
        contract: Contract::WithIgraph,
    }
}

fn model() -> Model {
    let mut b = Builder::new(2);
    let mass = b.input(0);
    let g = b.input(1);
    let i = b.complex(0.0, 1.0);
    let coupling = b.push(Op::Mul(i, g));
    let named = |name: &str, value| NamedValue {
        name: name.into(),
        value,
    };
    Model {
        card: vec![CardParameter {
            name: "MDL_MPHI".into(),
            block: "mass".into(),
            index: vec![25],
            default: 125.0,
        }],
        program: b.finish(),
        parameters: vec![named("MDL_MPHI", mass)],
        couplings: vec![named("GC_1", coupling)],
        widths_signed: false,
        auto_widths: Vec::new(),
    }
}

/// `SSS1_1(S2, S3, COUP, M1, W1, S1)`: the sum of the momenta, and `COUP * i/(P^2 - M1 (M1 - i W1)) * S2 * S3`.
fn line() -> Routine {
    // Inputs: S2(1..3), S3(1..3), COUP, M1, W1.
    let mut b = Builder::new(9);
    let input: Vec<_> = (0..9).map(|n| b.input(n)).collect();
    let sums = [0, 1].map(|n| b.push(Op::Add(input[n], input[n + 3])));
    let (energy_z, xy) = (sums[0], sums[1]);
    // (E + i pz, px + i py): E^2 - pz^2 - px^2 - py^2.
    let mut square = |value, function| {
        let part = b.push(Op::Call(function, value));
        b.push(Op::Mul(part, part))
    };
    use super::arith::Function::{Im, Re};
    let [e2, z2, x2, y2] = [
        square(energy_z, Re),
        square(energy_z, Im),
        square(xy, Re),
        square(xy, Im),
    ];
    let mut p2 = e2;
    for part in [z2, x2, y2] {
        p2 = b.push(Op::Sub(p2, part));
    }
    let i = b.complex(0.0, 1.0);
    let width = b.push(Op::Mul(i, input[8]));
    let pole = b.push(Op::Sub(input[7], width));
    let pole = b.push(Op::Mul(input[7], pole));
    let below = b.push(Op::Sub(p2, pole));
    let factor = b.push(Op::Div(input[6], below));
    let factor = b.push(Op::Mul(i, factor));
    let value = b.push(Op::Mul(input[2], input[5]));
    let value = b.push(Op::Mul(factor, value));
    Routine {
        name: "SSS1_1".into(),
        inputs: vec![3, 3],
        couplings: 1,
        massive: true,
        program: b.finish(),
        outputs: vec![energy_z, xy, value],
    }
}

/// `SSS1_0(S1, S2, S3, COUP, VERTEX)`: `-i COUP S1 S2 S3`.
fn amplitude() -> Routine {
    let mut b = Builder::new(10);
    let values = [2, 5, 8].map(|n| b.input(n));
    let coupling = b.input(9);
    let i = b.complex(0.0, -1.0);
    let mut vertex = b.push(Op::Mul(i, coupling));
    for value in values {
        vertex = b.push(Op::Mul(vertex, value));
    }
    Routine {
        name: "SSS1_0".into(),
        inputs: vec![3, 3, 3],
        couplings: 1,
        massive: false,
        program: b.finish(),
        outputs: vec![vertex],
    }
}

/// `|M|^2` in closed form, for momenta `[leg][E, px, py, pz]`, without a channel's weight.
pub fn scalars_squared(momenta: &[f64], g: f64, mass: f64) -> f64 {
    let invariant = |a: usize, b: usize, sign: f64| {
        let sum: Vec<f64> = (0..4)
            .map(|k| momenta[4 * a + k] + sign * momenta[4 * b + k])
            .collect();
        sum[0] * sum[0] - sum[1] * sum[1] - sum[2] * sum[2] - sum[3] * sum[3]
    };
    let pole = |x: f64| 1.0 / (x - mass * mass);
    let sum =
        pole(invariant(0, 1, 1.0)) + pole(invariant(0, 2, -1.0)) + pole(invariant(0, 3, -1.0));
    g.powi(4) * sum * sum / 2.0
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_is_whole() {
        super::scalars().validate().unwrap();
    }
}
