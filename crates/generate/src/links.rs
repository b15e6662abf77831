//! The colour links of a process: `T_i.T_j` between its colour flows.
//!
//! A soft gluon is inserted into the string or trace of a leg: next to a head, with a minus sign next to a tail, and on
//! both sides of a generator, with opposite signs. The sum over all legs then vanishes (conservation of colour), and the
//! scalar product of two insertions is `T_i.T_j`.

use super::matrix::{COLORS, matrix};
use super::strings::{Label, PieceKind, Strings};
use mebridge_process::Process;
use mebridge_process::born::{Born, ColorLink};
use mebridge_process::color::{ColorMatrix, color_paths};
use mebridge_support::error::{Error, Result};

/// The largest difference of two colour factors that are the same.
const ROUNDING: f64 = 1e-12;

/// Returns a process with its colour links: those of all pairs of coloured legs, and of each massive one with itself. The
/// process may be an imported one: its colour flows are read from its tags of colour lines, and compared with its colour
/// matrix. They have coefficient 1, as all of MG5aMC's.
///
/// # Errors
/// The process has no diagrams, split coupling orders, sextets, or three quarks that meet in an epsilon.
pub fn born(process: Process) -> Result<Born> {
    let refused = |what: &str| Error::InvalidProcess {
        what: format!("{} has no colour links: {what}", process.name),
    };
    let diagrams = process.amplitudes.diagrams();
    let color = &diagrams
        .ok_or_else(|| refused("it is evaluated without diagrams; take fewer gluons"))?
        .color;
    let flows = process.channels.color_flows.iter();
    let flows: Option<Vec<Strings>> = flows.map(|tags| strings(&process, tags)).collect();
    let flows = flows.ok_or_else(|| refused("its colour flows are no strings and traces"))?;
    let own = matrix(&flows, COLORS).map_err(|what| refused(&what))?;
    if !is_same(&own, color) {
        return Err(refused(
            "its colour matrix is not that of its colour flows, as with split coupling orders",
        ));
    }
    let colored = |leg: &usize| flows.iter().any(|flow| flow.has(*leg as Label));
    let legs: Vec<usize> = (0..process.legs.len()).filter(colored).collect();
    let is_linked = |&(i, j): &(usize, usize)| i != j || process.legs[i].mass.0.is_some();
    let pairs = legs.iter().enumerate();
    let pairs = pairs.flat_map(|(at, &i)| legs[at..].iter().map(move |&j| (i, j)));
    let links = links(&flows, pairs.filter(is_linked), process.legs.len() as Label)
        .map_err(|what| refused(&what))?;
    Ok(Born { process, links })
}

/// Whether two colour matrices have the same entries.
fn is_same(a: &ColorMatrix, b: &ColorMatrix) -> bool {
    a.flows == b.flows
        && a.upper.len() == b.upper.len()
        && (a.upper.iter().zip(&b.upper))
            .all(|(x, y)| (x / a.denominator - y / b.denominator).abs() <= ROUNDING)
}

/// The strings and traces of a flow, from the tags of each leg; `None` if its lines are no such. The inverse of
/// [`super::flows::lines`].
fn strings(process: &Process, tags: &[(i32, i32)]) -> Option<Strings> {
    let lines = process.color_lines(tags)?;
    let legs = process.legs.len();
    let mut product = Strings::ONE;
    for path in color_paths(&lines, legs, &vec![true; legs]) {
        let trace = lines.contains(&[path[path.len() - 1], path[0]]);
        let labels: Vec<Label> = path.iter().map(|&leg| leg as Label).collect();
        product = product.times(&Strings::new(trace, &labels).ok()?).ok()?;
    }
    Some(product)
}

/// A flow with a gluon inserted: places of the terms in a list, with their signs.
type Inserted = Vec<(usize, f64)>;

/// The links of these pairs of legs; `gluon` is a label that no flow has.
fn links(
    flows: &[Strings],
    pairs: impl Iterator<Item = (usize, usize)>,
    gluon: Label,
) -> std::result::Result<Vec<ColorLink>, String> {
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let mut all: Vec<Strings> = Vec::new();
    let legs = usize::from(gluon);
    // `[leg][flow]`
    let mut inserted: Vec<Vec<Inserted>> = Vec::with_capacity(legs);
    for leg in 0..gluon {
        let of_flow = |flow| insert(flow, leg, gluon, &mut all);
        inserted.push(
            flows
                .iter()
                .map(of_flow)
                .collect::<std::result::Result<_, _>>()?,
        );
    }
    let products = matrix(&all, COLORS)?;
    let link = |(i, j): (usize, usize)| {
        let entry = |a: usize, b: usize| {
            let terms = inserted[i][a].iter();
            let terms = terms.flat_map(|&(x, sign)| {
                let others = inserted[j][b].iter();
                others.map(move |&(y, other)| (x, y, sign * other))
            });
            let sum: f64 = terms.map(|(x, y, sign)| sign * products.entry(x, y)).sum();
            if i == j { sum / 2.0 } else { sum }
        };
        let n = flows.len();
        let upper = (0..n).flat_map(|a| (a..n).map(move |b| (a, b)));
        // T_i and T_j commute, so that both orders are equal up to rounding.
        let symmetric = |(a, b)| (entry(a, b) + entry(b, a)) / 2.0;
        ColorLink {
            legs: [i, j],
            color: ColorMatrix {
                flows: n as u32,
                denominator: 1.0,
                upper: upper.map(symmetric).collect(),
            },
        }
    };
    Ok(pairs.into_iter().map(link).collect())
}

/// Inserts a gluon at a leg of a flow. New flows are added to `all`.
fn insert(
    flow: &Strings,
    leg: Label,
    gluon: Label,
    all: &mut Vec<Strings>,
) -> std::result::Result<Inserted, String> {
    let mut terms = Inserted::new();
    let Some(piece) = flow.pieces().find(|piece| piece.labels.contains(&leg)) else {
        return Ok(terms);
    };
    let at = piece.labels.iter().position(|&label| label == leg);
    let at = at.unwrap_or_default();
    let is_string = piece.kind == PieceKind::String;
    let (is_head, is_tail) = (
        is_string && at == 0,
        is_string && at + 1 == piece.labels.len(),
    );
    for (place, sign, is_there) in [(at + 1, 1.0, !is_tail), (at, -1.0, !is_head)] {
        if !is_there {
            continue;
        }
        let mut labels = piece.labels.to_vec();
        labels.insert(place, gluon);
        let too_long = |_| "there are too many coloured particles".to_owned();
        let mut whole = Strings::new(!is_string, &labels).map_err(too_long)?;
        for other in flow.pieces().filter(|other| *other != piece) {
            let trace = other.kind == PieceKind::Trace;
            let other = Strings::new(trace, other.labels).map_err(too_long)?;
            whole = whole.times(&other).map_err(too_long)?;
        }
        let (whole, minus) = whole.signed_normal().ok_or("a colour flow vanishes")?;
        let number = all.iter().position(|known| *known == whole);
        let number = number.unwrap_or_else(|| {
            all.push(whole);
            all.len() - 1
        });
        terms.push((number, if minus { -sign } else { sign }));
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    /// The links of each process conserve colour: with T_i^2 = C_i the sums over a row vanish.
    #[test]
    fn color_is_conserved() {
        for (text, casimirs) in [
            ("g g > t t~", &[3.0, 3.0, 4.0 / 3.0, 4.0 / 3.0][..]),
            (
                "u u~ > d d~ g",
                &[4.0 / 3.0, 4.0 / 3.0, 4.0 / 3.0, 4.0 / 3.0, 3.0],
            ),
            ("g g > g g g", &[3.0; 5]),
            (
                "e+ e- > u u~ g g",
                &[0.0, 0.0, 4.0 / 3.0, 4.0 / 3.0, 3.0, 3.0],
            ),
            ("u u~ > z g g", &[4.0 / 3.0, 4.0 / 3.0, 0.0, 3.0, 3.0]),
        ] {
            let born = born(generate(text).unwrap().remove(0)).unwrap();
            let color = &born.process.amplitudes.diagrams().unwrap().color;
            let n = color.flows as usize;
            for (leg, casimir) in casimirs.iter().enumerate() {
                for (a, b) in (0..n).flat_map(|a| (a..n).map(move |b| (a, b))) {
                    let of_leg = born.links.iter().filter(|l| l.legs.contains(&leg));
                    let (own, others): (Vec<_>, Vec<_>) =
                        of_leg.partition(|l| l.legs[0] == l.legs[1]);
                    let sum: f64 = others.iter().map(|l| l.color.entry(a, b)).sum();
                    let want = casimir * color.entry(a, b);
                    assert!(
                        (sum + want).abs() < 1e-10,
                        "{text}, leg {leg}: {sum} {want}"
                    );
                    for own in own {
                        assert!((own.color.entry(a, b) - want / 2.0).abs() < 1e-10, "{text}");
                    }
                }
            }
        }
    }
}
