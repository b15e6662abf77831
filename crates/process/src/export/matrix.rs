//! `matrix1.f`.

use super::source::{SourceText, factor, number};
use crate::color::ColorMatrix;
use crate::{
    CouplingRef, Diagrams, ExternalKind, LinearMap, Process, Quantity, Term, TermSource as From,
    Vertex, Wavefunction,
};

/// The text of the file; `per_event` tells by name whether a coupling has a value per event.
pub fn matrix(process: &Process, diagrams: &Diagrams, per_event: &dyn Fn(&str) -> bool) -> String {
    let amp2 = process.channels.amp2.iter().map(|a| a.diagram).max();
    let counts = [
        ("NAME", process.name.clone()),
        ("NCOMB", process.helicities.len().to_string()),
        (
            "NDIAGS",
            process.diagrams.max(amp2.unwrap_or(0)).to_string(),
        ),
        ("NCOLOR", diagrams.color.flows.to_string()),
        ("IDEN", process.iden.to_string()),
        ("NGRAPHS", diagrams.amplitudes.len().to_string()),
        ("NWAVEFUNCS", process.wavefunctions.len().to_string()),
        ("PARTIAL", diagrams.jamp.partial.len().max(1).to_string()),
        ("DENOM", number(diagrams.color.denominator)),
        ("NHEL", helicities(process)),
        ("CF", colors(&diagrams.color)),
        ("CALLS", calls(process, &diagrams.amplitudes, per_event)),
        ("JAMP", jamps(&diagrams.jamp)),
        ("AMP2", squares(process)),
    ];
    let mut text = String::new();
    for line in include_str!("text/smatrix.f").lines() {
        let mut line = line.to_owned();
        for (name, value) in &counts {
            line = line.replace(&format!("@{name}@"), value);
        }
        text.push_str(line.trim_end_matches('\n'));
        text.push('\n');
    }
    text
}

fn helicities(process: &Process) -> String {
    let legs = process.legs.len();
    let mut f = SourceText::default();
    for (row, helicities) in (1..).zip(&process.helicities) {
        let values: Vec<String> = helicities.iter().map(|h| format!("{h:2}")).collect();
        let values = values.join(",");
        f.line(&format!("DATA (NHEL(LEG,{row:4}),LEG=1,{legs}) /{values}/"));
    }
    f.0
}

/// The triangle of the colour matrix, with doubled off-diagonal entries.
fn colors(color: &ColorMatrix) -> String {
    let mut f = SourceText::default();
    let flows = color.flows as usize;
    let places = (0..flows).flat_map(|i| (i..flows).map(move |j| i == j));
    let entries = color.upper.iter().zip(places);
    let entries = entries.map(|(&x, diagonal)| number(if diagonal { x } else { 2.0 * x }));
    f.data("CF", entries);
    f.0
}

/// The calls that compute wavefunctions and amplitudes.
fn calls(process: &Process, amplitudes: &[Vertex], per_event: &dyn Fn(&str) -> bool) -> String {
    let quantity = |quantity: Quantity| match quantity.0 {
        Some(n) => &process.model.parameters[n as usize].name,
        None => "ZERO",
    };
    let coupling = |coupling: &CouplingRef| {
        let name = &process.model.couplings[coupling.coupling as usize].name;
        let sign = if coupling.negative { "-" } else { "" };
        let place = if per_event(name) { "(IVEC)" } else { "" };
        format!("{sign}{name}{place}")
    };
    let call = |vertex: &Vertex, result: String| {
        let routine = &process.routines[vertex.routine as usize];
        let inputs = vertex.inputs.iter().map(|w| format!("W(1,{})", w + 1));
        let mut arguments: Vec<String> = inputs.collect();
        arguments.extend(vertex.couplings.iter().map(coupling));
        if routine.massive {
            arguments.extend([vertex.mass, vertex.width].map(|q| quantity(q).to_owned()));
        }
        arguments.push(result);
        format!("CALL {}({})", routine.name, arguments.join(","))
    };
    let mut f = SourceText::default();
    for (n, wavefunction) in (1..).zip(&process.wavefunctions) {
        match wavefunction {
            Wavefunction::External(e) => {
                let leg = e.leg + 1;
                let (mass, sign) = (quantity(e.mass), e.sign);
                let middle = match e.kind {
                    ExternalKind::Scalar => String::new(),
                    _ => format!("{mass},NHEL({leg}),"),
                };
                f.line(&format!(
                    "CALL {}(P(0,{leg}),{middle}{sign:+}*IC({leg}),W(1,{n}))",
                    e.kind.routine()
                ));
            }
            Wavefunction::Internal(vertex) => f.line(&call(vertex, format!("W(1,{n})"))),
        }
    }
    for (n, vertex) in (1..).zip(amplitudes) {
        f.line(&call(vertex, format!("AMP({n})")));
    }
    f.0
}

fn jamps(jamp: &LinearMap) -> String {
    let terms = |terms: &[Term]| -> Vec<String> {
        let terms = terms.iter().map(|term| {
            let source = match term.source {
                From::Amplitude(n) => format!("AMP({})", n + 1),
                From::Partial(n) => format!("TMP_JAMP({})", n + 1),
            };
            factor(term.factor) + &source
        });
        terms.collect()
    };
    let mut f = SourceText::default();
    for (n, sum) in (1..).zip(&jamp.partial) {
        f.sum(&format!("TMP_JAMP({n})"), &terms(sum));
    }
    for (n, sum) in (1..).zip(&jamp.outputs) {
        f.sum(&format!("JAMP({n},1)"), &terms(sum));
    }
    f.0
}

fn squares(process: &Process) -> String {
    let mut f = SourceText::default();
    for amp2 in &process.channels.amp2 {
        for set in &amp2.squares {
            let terms: Vec<String> = set.iter().map(|a| format!("AMP({})", a + 1)).collect();
            let sum = match &terms[..] {
                [one] => one.clone(),
                _ => format!("({})", terms.join("+")),
            };
            let target = format!("AMP2({})", amp2.diagram);
            f.line(&format!("{target}={target}+{sum}*DCONJG({sum})"));
        }
    }
    f.0
}
