//! Tests of which processes of a model have a colour-ordered form: those whose diagrams have no other vertex or
//! propagator.

use super::*;
use crate::model_tests::{close, points};
use std::path::Path;

const STANDARD: &str = include_str!("model/sm.toml");

/// The Standard Model with further lines in its tables, and further vertices.
fn standard(tables: &[(&str, &str)], vertices: &str) -> Model {
    parsed(STANDARD.to_owned() + vertices, tables)
}

fn parsed(mut text: String, tables: &[(&str, &str)]) -> Model {
    for (table, lines) in tables {
        let table = format!("[{table}]\n");
        assert_eq!(text.matches(&table).count(), 1, "{table}");
        text = text.replacen(&table, &format!("{table}{lines}\n"), 1);
    }
    Model::parse(&text, Path::new("other.toml")).unwrap()
}

fn has_form(text: &str, model: &Model) -> bool {
    let processes = generate_with(text, model).unwrap();
    assert_eq!(processes.len(), 1, "{text}");
    processes[0].as_color_ordered().is_some()
}

/// A contact vertex of quarks and gluons, with the colours of the form. For seven gluons, diagrams are not listed, so
/// that they cannot exclude the form.
#[test]
fn not_with_a_contact_vertex() {
    let plain = standard(&[], "");
    let contact = standard(
        &[
            (
                "couplings",
                "GC_C = { value = \"complex(0,1)*G**2/100\", orders = { QCD = 2 } }",
            ),
            (
                "lorentz",
                "FFVV = \"ProjM(2,1)*Metric(3,4) + ProjP(2,1)*Metric(3,4)\"",
            ),
        ],
        "\n[[vertices]]\nparticles = \"u~ u g g\"\nterms = [[\"T(3,2,-1)*T(4,-1,1)\", \"FFVV\", \"GC_C\"], \
         [\"T(4,2,-1)*T(3,-1,1)\", \"FFVV\", \"GC_C\"]]\n",
    );
    for text in [
        "u u~ > g g g",
        "u u~ > z g g",
        "u d~ > w+ g g",
        "u u~ > e+ e- g g",
    ] {
        assert!(has_form(text, &plain), "{text}");
        assert!(!has_form(text, &contact), "{text}");
    }
    // These have no such diagram.
    for text in ["d d~ > g g g", "g g > g g g", "d d~ > z g g"] {
        assert!(has_form(text, &contact), "{text}");
    }
    // 5040 colour flows.
    let many = |text: &str, model: &Model| {
        MatrixElements::parse(text, model)
            .unwrap()
            .lines(0)
            .unwrap()
    };
    assert!(many("d d~ > g g g g g g g", &contact).is_none());
}

/// Scalars from gluons, and a second three-gluon vertex, are in diagrams if their order is allowed.
#[test]
fn coupling_orders_say_what_can_be_between() {
    let model = standard(
        &[
            ("orders", "NP = 1"),
            (
                "couplings",
                "GC_H = { value = \"complex(0,1)/1000\", orders = { NP = 1 } }\n\
                 GC_G = { value = \"G/1000\", orders = { QCD = 1, NP = 1 } }",
            ),
            ("lorentz", "VVS = \"Metric(1,2)\""),
        ],
        "\n[[vertices]]\nparticles = \"g g h\"\nterms = [[\"Identity(1,2)\", \"VVS\", \"GC_H\"]]\n\n\
         [[vertices]]\nparticles = \"g g g\"\nterms = [[\"f(1,2,3)\", \"VVV1\", \"GC_G\"]]\n",
    );
    for (text, form) in [
        ("g g > g g g NP=0", true),
        ("g g > g g g NP=1", false),
        ("g g > g g g NP=2", false),
        ("u u~ > g g g NP=0", true),
        ("u u~ > g g g NP=1", false),
        ("u u~ > e+ e- g g NP=0", true),
        ("u u~ > e+ e- g NP=0 QCD=1 QED=2", true),
        ("u u~ > e+ e- g g NP=1 QCD=2", false),
    ] {
        assert_eq!(has_form(text, &model), form, "{text}");
    }
}

/// Gluon vertices in two halves, with couplings of opposite signs, are the same as whole ones.
#[test]
fn halves_of_a_vertex_are_one() {
    let whole = standard(&[], "");
    let three = "[\"f(1,2,3)\", \"VVV1\", \"GC_10\"],";
    let four = "[\"f(-1,1,2)*f(3,4,-1)\", \"VVVV1\", \"GC_12\"],";
    let mut text = STANDARD.to_owned();
    for (a, b) in [
        (
            three,
            "[\"f(1,2,3)\", \"VVVA\", \"GC_10\"], [\"f(1,2,3)\", \"VVVB\", \"GC_N\"],",
        ),
        (
            four,
            "[\"f(-1,1,2)*f(3,4,-1)\", \"VVVVA\", \"GC_12\"], [\"f(-1,1,2)*f(3,4,-1)\", \"VVVVB\", \"GC_M\"],",
        ),
    ] {
        assert_eq!(text.matches(a).count(), 1, "{a}");
        text = text.replacen(a, b, 1);
    }
    let halves = parsed(
        text,
        &[
            (
                "couplings",
                "GC_N = { value = \"G\", orders = { QCD = 1 } }\n\
                 GC_M = { value = \"-(complex(0,1)*G**2)\", orders = { QCD = 2 } }",
            ),
            (
                "lorentz",
                "VVVA = \"P(3,1)*Metric(1,2) - P(2,1)*Metric(1,3) + P(1,2)*Metric(2,3)\"\n\
                 VVVB = \"P(3,2)*Metric(1,2) - P(2,3)*Metric(1,3) + P(1,3)*Metric(2,3)\"\n\
                 VVVVA = \"Metric(1,4)*Metric(2,3)\"\nVVVVB = \"Metric(1,3)*Metric(2,4)\"",
            ),
        ],
    );
    for name in ["g g > g g g", "u u~ > g g g", "g g > t t~ g"] {
        let made = |model: &Model| generate_with(name, model).unwrap().remove(0);
        let (a, b) = (made(&whole), made(&halves));
        assert!(b.as_color_ordered().is_some(), "{name}");
        let inputs = |process: &Process| -> Vec<u32> {
            process
                .routines
                .iter()
                .map(|routine| routine.couplings)
                .collect()
        };
        assert_eq!(inputs(&a), inputs(&b), "{name}");
        let total = |process: &Process| {
            process
                .evaluate(&points(&a, 900.0), 1.1, &process.model.default_card())
                .total()
        };
        close(total(&a), total(&b));
    }
}
