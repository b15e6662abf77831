//! Colour flows: their order and their colour lines.

use super::strings::{Label, PieceKind, Strings, first_of, is_dummy};

/// Legs of the epsilons, and strings and traces.
pub type Rank = (Vec<Vec<Label>>, Vec<(PieceKind, Vec<Label>)>);

/// The sort key of MG5aMC for colour flows: epsilons by their legs, where a string with generators comes first; then
/// strings before traces, each by its generators, then head and tail.
pub fn rank(flow: &Strings) -> Rank {
    let leg = |dummy: Label| {
        let mut strings = flow.pieces().filter(|p| p.kind == PieceKind::String);
        match strings.find(|p| p.labels.contains(&dummy))?.labels {
            &[a, b] => Some(1 + a.min(b)),
            _ => None,
        }
    };
    let (mut epsilons, mut strings) = (Vec::new(), Vec::new());
    for piece in flow.pieces() {
        let mut labels = piece.labels.to_vec();
        match piece.kind {
            PieceKind::Epsilon | PieceKind::EpsilonBar => {
                let legs = labels.iter().map(|&dummy| leg(dummy).unwrap_or(0));
                let mut legs: Vec<Label> = legs.collect();
                legs.sort_unstable();
                epsilons.push(legs);
            }
            // Part of its epsilon.
            PieceKind::String if labels.len() == 2 && labels.iter().any(|&l| is_dummy(l)) => (),
            PieceKind::String => {
                let head = labels.remove(0);
                labels.insert(labels.len() - 1, head);
                strings.push((piece.kind, labels));
            }
            PieceKind::Trace => strings.push((piece.kind, labels)),
        }
    }
    epsilons.sort_unstable();
    strings.sort();
    (epsilons, strings)
}

/// `ICOLUP`: colour and anticolour of each leg, as numbers of lines from 501 on. The order is MG5aMC's: first the lines
/// of epsilons, one epsilon after the other, and lines that begin at quarks before those that begin at gluons. Colour
/// and anticolour of incoming legs are swapped. A line that ends in an epsilon is on one leg only. The second colour of
/// a sextet is a negative anticolour, and vice versa.
pub fn lines(flow: &Strings, legs: usize, incoming: usize) -> Vec<(i32, i32)> {
    // For each line its dummy label in an epsilon, whether it begins at a gluon, its beginning and its end.
    let mut lines: Vec<(Label, bool, Label, Label)> = Vec::new();
    let dummy = |ends: [Label; 2]| ends.into_iter().find(|&l| is_dummy(l));
    for piece in flow.pieces() {
        let trace = piece.kind == PieceKind::Trace;
        if !matches!(piece.kind, PieceKind::String | PieceKind::Trace) {
            continue;
        }
        let pairs = piece.labels.windows(2);
        lines.extend((0..).zip(pairs).map(|(i, p)| {
            let epsilon = dummy([p[0], p[1]]).unwrap_or(Label::MAX);
            (epsilon, trace || i > 0, p[0], p[1])
        }));
        // In a trace the last generator is next to the first.
        if let (true, Some(&first), Some(&last)) =
            (trace, piece.labels.first(), piece.labels.last())
        {
            lines.push((Label::MAX, true, last, first));
        }
    }
    lines.sort_unstable();
    let mut tags = vec![(0, 0); legs];
    for (number, (_, _, from, to)) in (501..).zip(lines) {
        let leg = |label: Label| usize::from(first_of(label).unwrap_or(label));
        if let Some(tags) = tags.get_mut(leg(from)) {
            match first_of(from) {
                None => tags.0 = number,
                Some(_) => tags.1 = -number,
            }
        }
        if let Some(tags) = tags.get_mut(leg(to)) {
            match first_of(to) {
                None => tags.1 = number,
                Some(_) => tags.0 = -number,
            }
        }
    }
    for tags in &mut tags[..incoming] {
        *tags = (tags.1, tags.0);
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    /// g g > t t~, T(1,2,3,4) in MG5aMC's notation.
    #[test]
    fn lines_of_a_string() {
        let flow = Strings::new(false, &[2, 0, 1, 3]).unwrap();
        assert_eq!(rank(&flow).1, [(PieceKind::String, vec![0, 1, 2, 3])]);
        assert_eq!(
            lines(&flow, 4, 2),
            [(501, 502), (502, 503), (501, 0), (0, 503)]
        );
    }

    #[test]
    fn lines_of_a_trace() {
        let flow = Strings::new(true, &[0, 2, 1]).unwrap();
        assert_eq!(lines(&flow, 3, 0), [(501, 502), (502, 503), (503, 501)]);
    }

    /// n1 n1 > u d s u d s, `Epsilon(3,4,6) Epsilon(5,7,8)` in MG5aMC's notation: numbers of its leshouche.inc.
    #[test]
    fn lines_of_two_epsilons() {
        let pair = |a, b| {
            let [a, b] = [a, b].map(|labels| Strings::epsilon(false, labels).unwrap());
            a.times(&b).unwrap().signed_normal().unwrap().0
        };
        let flow = pair([4, 7, 6], [2, 3, 5]);
        let colors = lines(&flow, 8, 2).into_iter().map(|(color, _)| color);
        let colors: Vec<i32> = colors.collect();
        assert_eq!(colors, [0, 0, 501, 502, 504, 503, 505, 506]);
        assert!(rank(&pair([2, 3, 4], [5, 6, 7])) < rank(&flow));
    }

    /// u d > sr~ g: `EpsilonBar(-1000,1,2) T(4,-1000,3)` is MG5aMC's first flow.
    #[test]
    fn a_string_that_ends_in_an_epsilon() {
        let flow = |bare: [Label; 2], other: Label| {
            let epsilon = Strings::epsilon(true, [bare[0], bare[1], 100]).unwrap();
            let line = Strings::new(false, &[100, 3, other]).unwrap();
            let strings = epsilon.times(&line).unwrap().joined(100).unwrap().unwrap();
            strings.signed_normal().unwrap().0
        };
        let first = flow([0, 1], 2);
        assert_eq!(
            lines(&first, 4, 2),
            [(501, 0), (502, 0), (0, 504), (504, 503)]
        );
        assert!(rank(&first) < rank(&flow([0, 2], 1)));
        assert!(rank(&flow([0, 2], 1)) < rank(&flow([1, 2], 0)));
    }
}
