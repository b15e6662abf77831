use super::*;
use mebridge_generate::generate;
use mebridge_process::arith::Op;
use mebridge_process::{Term, TermSource};

/// A generated process without its colour-ordered form, and that form.
fn bare(text: &str) -> (Process, ColorOrdered) {
    let process = generate(text).expect(text).remove(0);
    let form = process.amplitudes.color_ordered().expect(text).clone();
    (process.as_diagrams().expect(text), form)
}

fn listed(process: &mut Process) -> &mut Diagrams {
    process.amplitudes.diagrams_mut().expect("diagrams")
}

/// The form that is found has the ends, colour flows and colour matrix of the generated one.
#[test]
fn forms_are_found() {
    for text in [
        "g g > t t~",
        "t~ t > g g g",
        "g u~ > u~ g g g",
        "u u~ > g g g",
        "g g > g g",
        "g g > g g g",
        "g g > g g g g",
        "g u > z u g g",
        "u d~ > w+ g g g",
        "u u~ > a g g",
        "u u~ > e+ e- g g",
        "g d~ > e+ ve u~ g g",
        "d d~ > ve ve~ g g",
    ] {
        let (mut process, known) = bare(text);
        let routines = process.routines.len();
        add(&mut process);
        let form = process.amplitudes.color_ordered().expect(text);
        assert_eq!(
            (form.ends, &form.insertions),
            (known.ends, &known.insertions),
            "{text}"
        );
        let boson = |form: &ColorOrdered| {
            let mut legs = form.boson.as_ref()?.wavefunctions.clone();
            legs.sort_unstable();
            Some(legs)
        };
        assert_eq!(boson(form), boson(&known), "{text}");
        // Signs of gluon vertices do not matter: currents of the same number of gluons share them.
        assert_eq!(form.flows.len(), known.flows.len(), "{text}");
        let jamps = |flows: &[Vec<mebridge_process::color_ordered::FlowTerm>]| {
            let all = flows.iter();
            let all = all.map(|flow| flow.iter().map(|term| term.jamp).collect::<Vec<_>>());
            all.collect::<Vec<_>>()
        };
        let mut sorted = [jamps(&form.flows), jamps(&known.flows)];
        sorted.iter_mut().for_each(|flows| flows.sort());
        assert_eq!(sorted[0], sorted[1], "{text}");
        let scale = |form: &ColorOrdered| form.closing.powi(2) / form.denominator;
        for (x, y) in form.row.iter().zip(&known.row) {
            let (x, y) = (x * scale(form), y * scale(&known));
            assert!((x - y).abs() < 1e-12 * (x.abs() + 1e-3), "{text}: {x} {y}");
        }
        // A routine may be missing if three or four gluons meet only in amplitudes.
        let added = process.routines.len() - routines;
        let missing = form.insertions.len() < 4;
        assert!(added == 0 || missing, "{text}");
        process.validate().expect(text);
    }
}

/// Flows are recognised in another order, with other signs, or multiplied by a number.
#[test]
fn flows_may_stand_in_any_order() {
    for text in ["u u~ > g g g", "g g > g g g"] {
        let (mut process, _) = bare(text);
        let matrix = listed(&mut process).color.clone();
        let flows = matrix.flows as usize;
        let place = |i: usize| (5 * i + 1) % flows;
        let sign = |i: usize| if i % 3 == 1 { -1.0 } else { 1.0 };
        let outputs = listed(&mut process).jamp.outputs.clone();
        for (i, terms) in outputs.into_iter().enumerate() {
            let by = Complex64::new(0.0, 0.5 * sign(i));
            let times = |term: Term| {
                let factor = Complex64::new(term.factor.0, term.factor.1) * by;
                Term {
                    factor: (factor.re, factor.im),
                    ..term
                }
            };
            listed(&mut process).jamp.outputs[place(i)] = terms.into_iter().map(times).collect();
        }
        let of: Vec<usize> = (0..flows)
            .map(|at| (0..flows).find(|&i| place(i) == at).expect("a permutation"))
            .collect();
        let pairs = (0..flows).flat_map(|i| (i..flows).map(move |j| (i, j)));
        let entry = |(i, j): (usize, usize)| {
            let (a, b) = (of[i], of[j]);
            matrix.entry(a, b) * matrix.denominator * sign(a) * sign(b)
        };
        listed(&mut process).color.upper = pairs.map(entry).collect();
        add(&mut process);
        let form = process.amplitudes.color_ordered().expect(text);
        assert_eq!(form.flows.len(), flows, "{text}");
        assert_eq!(form.closing, if form.line.is_some() { 0.5 } else { 1.0 });
    }
}

/// A process that differs slightly has no form.
#[test]
fn lookalikes_have_none() {
    type Change = fn(&mut Process);
    let changes: [(&str, Change); 11] = [
        ("a coupling of one amplitude", |p| {
            let number = p.model.couplings.len() as u32;
            let mut other = p.model.couplings[0].clone();
            other.value = p.model.program.ops.len() as u32;
            p.model.program.ops.push(Op::Const(0.0, 0.0));
            p.model.couplings.push(other);
            listed(p).amplitudes[3].couplings[0].coupling = number;
        }),
        ("the sign of one coupling", |p| {
            let coupling = &mut listed(p).amplitudes[2].couplings[0];
            coupling.negative = !coupling.negative;
        }),
        ("a sign in one JAMP", |p| {
            let factor = &mut listed(p).jamp.outputs[1][0].factor;
            *factor = (-factor.0, -factor.1);
        }),
        ("a tiny part of an amplitude", |p| {
            let term = Term {
                source: TermSource::Amplitude(0),
                factor: (1e-6, 0.0),
            };
            listed(p).jamp.outputs[1].push(term);
        }),
        ("a further diagram", |p| {
            let last = listed(p).amplitudes.len() as u32;
            let mut again = listed(p).amplitudes[0].clone();
            again.couplings[0].negative = true;
            listed(p).amplitudes.push(again);
            listed(p).jamp.outputs[0].push(Term {
                source: TermSource::Amplitude(last),
                factor: (1.0, 0.0),
            });
        }),
        ("an entry of the colour matrix", |p| {
            listed(p).color.upper[2] += 1.0;
        }),
        ("the mass of one propagator", |p| {
            let mass = p.model.parameters.len() as u32;
            let other = p.model.couplings[0].clone();
            p.model.parameters.push(other);
            let internal = p.wavefunctions.iter_mut().find_map(|w| match w {
                Wavefunction::Internal(vertex) => Some(vertex),
                Wavefunction::External(_) => None,
            });
            internal.expect("a propagator").mass = mebridge_process::Quantity(Some(mass));
        }),
        ("polarised beams", |p| {
            p.beam_weights = vec![1.0; p.helicities.len()];
        }),
        ("weights of flows", |p| {
            let weight = mebridge_process::color::FlowWeight::of_jamp;
            p.flow_weights = (0..p.amplitudes.jamps() as u32).map(weight).collect();
        }),
        ("an interference", |p| p.helicity_sum = HelicitySum::Signed),
        ("a missing flow", |p| {
            listed(p).jamp.outputs[3].clear();
        }),
    ];
    for text in ["u u~ > g g g g", "g g > g g g", "d d~ > z g g g"] {
        for (what, change) in &changes {
            let (mut process, _) = bare(text);
            change(&mut process);
            let routines = process.routines.clone();
            add(&mut process);
            assert!(
                process.amplitudes.color_ordered().is_none(),
                "{text}: {what}"
            );
            assert_eq!(process.routines, routines, "{text}: {what}");
        }
    }
    for text in [
        "u u~ > d d~ g g",
        "g g > t t~ h",
        "e+ e- > u u~ g g",
        "u u~ > z z g g",
    ] {
        let mut process = generate(text)
            .expect(text)
            .remove(0)
            .as_diagrams()
            .expect(text);
        add(&mut process);
        assert!(process.amplitudes.color_ordered().is_none(), "{text}");
    }
}
