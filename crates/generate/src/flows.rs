//! Colour flows: their order, their lines, and what they are for channels.

use super::strings::{Label, Strings};

/// What MG5aMC sorts colour flows by: strings before traces, each by its generators, then head and tail.
pub fn rank(flow: &Strings) -> Vec<(bool, Vec<Label>)> {
    let mut strings: Vec<(bool, Vec<Label>)> = flow
        .pieces()
        .map(|piece| {
            let mut labels = piece.labels.to_vec();
            if !piece.trace {
                let head = labels.remove(0);
                labels.insert(labels.len() - 1, head);
            }
            (piece.trace, labels)
        })
        .collect();
    strings.sort();
    strings
}

/// `ICOLUP`: colour and anticolour of each leg, as numbers of lines from 501 on, in MG5aMC's order: lines that begin at
/// quarks come before those that begin at gluons. Colour and anticolour of a leg that comes in are swapped.
pub fn lines(flow: &Strings, legs: usize, incoming: usize) -> Vec<(i32, i32)> {
    // Whether it begins at a gluon, where it begins and where it ends.
    let mut lines: Vec<(bool, Label, Label)> = Vec::new();
    for piece in flow.pieces() {
        let pairs = piece.labels.windows(2);
        lines.extend(
            (0..)
                .zip(pairs)
                .map(|(i, p)| (piece.trace || i > 0, p[0], p[1])),
        );
        // In a trace the last generator is next to the first.
        if let (true, Some(&first), Some(&last)) =
            (piece.trace, piece.labels.first(), piece.labels.last())
        {
            lines.push((true, last, first));
        }
    }
    lines.sort_unstable();
    let mut tags = vec![(0, 0); legs];
    for (number, (_, from, to)) in (501..).zip(lines) {
        tags[usize::from(from)].0 = number;
        tags[usize::from(to)].1 = number;
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
        assert_eq!(rank(&flow), [(false, vec![0, 1, 2, 3])]);
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
