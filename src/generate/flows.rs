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

/// `ICOLUP`: colour and anticolour of each leg, as numbers of lines from 501 on. Of a leg that comes in they are
/// swapped.
pub fn lines(flow: &Strings, legs: usize, incoming: usize) -> Vec<(i32, i32)> {
    let mut tags = vec![(0, 0); legs];
    let mut line = 500;
    let mut connect = |from: Label, to: Label| {
        line += 1;
        tags[usize::from(from)].0 = line;
        tags[usize::from(to)].1 = line;
    };
    for (trace, labels) in rank(flow) {
        let mut labels = labels;
        if trace {
            // In the trace the last generator is next to the first.
            for (i, &label) in labels.iter().enumerate() {
                connect(label, labels[(i + 1) % labels.len()]);
            }
        } else {
            let head = labels.remove(labels.len() - 2);
            labels.insert(0, head);
            labels.windows(2).for_each(|pair| connect(pair[0], pair[1]));
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
        assert_eq!(rank(&flow), [(false, vec![0, 1, 2, 3])]);
        assert_eq!(
            lines(&flow, 4, 2),
            [(501, 502), (502, 503), (501, 0), (0, 503)]
        );
    }

    #[test]
    fn lines_of_a_trace() {
        let flow = Strings::of(true, &[0, 2, 1]).unwrap();
        assert_eq!(lines(&flow, 3, 0), [(501, 503), (503, 502), (502, 501)]);
    }
}
