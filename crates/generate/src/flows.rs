//! Colour flows: their order, their lines, and what they are for channels.

use super::strings::{Kind, Label, Strings, first_of};

/// What MG5aMC sorts colour flows by: strings before traces, each by its generators, then head and tail.
pub fn rank(flow: &Strings) -> Vec<(Kind, Vec<Label>)> {
    let mut strings: Vec<(Kind, Vec<Label>)> = flow
        .pieces()
        .map(|piece| {
            let mut labels = piece.labels.to_vec();
            if piece.kind == Kind::String {
                let head = labels.remove(0);
                labels.insert(labels.len() - 1, head);
            }
            (piece.kind, labels)
        })
        .collect();
    strings.sort();
    strings
}

/// `ICOLUP`: colour and anticolour of each leg, as numbers of lines from 501 on, in MG5aMC's order: lines that begin at
/// quarks come before those that begin at gluons. Colour and anticolour of a leg that comes in are swapped. A line that
/// ends in an epsilon has an end on one leg alone; of a sextet the second colour is a negative anticolour, and the other
/// way round.
pub fn lines(flow: &Strings, legs: usize, incoming: usize) -> Vec<(i32, i32)> {
    // Whether it begins at a gluon, where it begins and where it ends.
    let mut lines: Vec<(bool, Label, Label)> = Vec::new();
    for piece in flow.pieces() {
        let trace = piece.kind == Kind::Trace;
        if !matches!(piece.kind, Kind::String | Kind::Trace) {
            continue;
        }
        let pairs = piece.labels.windows(2);
        lines.extend((0..).zip(pairs).map(|(i, p)| (trace || i > 0, p[0], p[1])));
        // In a trace the last generator is next to the first.
        if let (true, Some(&first), Some(&last)) =
            (trace, piece.labels.first(), piece.labels.last())
        {
            lines.push((true, last, first));
        }
    }
    lines.sort_unstable();
    let mut tags = vec![(0, 0); legs];
    for (number, (_, from, to)) in (501..).zip(lines) {
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

    /// g g > t t~, T(1,2,3,4) in the words of MG5aMC.
    #[test]
    fn lines_of_a_string() {
        let flow = Strings::of(false, &[2, 0, 1, 3]).unwrap();
        assert_eq!(rank(&flow), [(Kind::String, vec![0, 1, 2, 3])]);
        assert_eq!(
            lines(&flow, 4, 2),
            [(501, 502), (502, 503), (501, 0), (0, 503)]
        );
    }

    #[test]
    fn lines_of_a_trace() {
        let flow = Strings::of(true, &[0, 2, 1]).unwrap();
        assert_eq!(lines(&flow, 3, 0), [(501, 502), (502, 503), (503, 501)]);
    }
}
