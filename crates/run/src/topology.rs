//! The legs on either side of a propagator, from the names of the lines that meet at each vertex
//! ([`mebridge::describe::Channel`]).

use mebridge_support::sorted::SortedSet;

/// The outgoing legs on one side of a propagator such as `p0` (the side of the first vertex that has it), counted from
/// 0 without the incoming legs; and the number of incoming legs on that side.
pub fn outgoing(vertices: &[Vec<String>], line: &str) -> (SortedSet<usize>, usize) {
    let at = |name: &str| {
        let name = name.to_owned();
        vertices.iter().filter(move |vertex| vertex.contains(&name))
    };
    let mut seen = SortedSet::from([line]);
    let mut left: Vec<&str> = at(line).take(1).flatten().map(String::as_str).collect();
    let (mut found, mut incoming) = (SortedSet::new(), 0);
    while let Some(name) = left.pop() {
        if !seen.insert(name) {
            continue;
        }
        match name.split_at(1) {
            ("p", _) => left.extend(at(name).flatten().map(String::as_str)),
            ("o", number) => found.extend(number.parse::<usize>()),
            _ => incoming += 1,
        }
    }
    (found, incoming)
}

/// The outgoing legs on the side of a propagator without incoming legs, counted from 0 including the incoming ones; for
/// a propagator between both beams, the legs on its other side.
pub fn legs_of(vertices: &[Vec<String>], line: &str) -> SortedSet<usize> {
    let (side, incoming) = outgoing(vertices, line);
    let every = 0..count(vertices);
    let chosen: SortedSet<usize> = match incoming {
        0 => side,
        _ => every.filter(|leg| !side.contains(leg)).collect(),
    };
    chosen.into_iter().map(|leg| leg + 2).collect()
}

/// The number of outgoing legs.
pub fn count(vertices: &[Vec<String>]) -> usize {
    let names = vertices.iter().flatten();
    names.filter(|name| name.starts_with('o')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertices(text: &str) -> Vec<Vec<String>> {
        let vertices = text.split(',');
        vertices
            .map(|vertex| vertex.split_whitespace().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn lines_have_their_legs() {
        let chain = vertices("i0 i1 p0, o0 o1 p1, p0 p1 o2");
        assert_eq!(legs_of(&chain, "p0"), SortedSet::from([2, 3, 4]));
        assert_eq!(legs_of(&chain, "p1"), SortedSet::from([2, 3]));
        assert_eq!(outgoing(&chain, "p0").1, 2);
        let between = vertices("i0 o1 p0, i1 o2 p1, p0 p1 o0");
        assert_eq!(outgoing(&between, "p1"), (SortedSet::from([2]), 1));
        assert_eq!(legs_of(&between, "p1"), SortedSet::from([2, 3]));
        assert_eq!(count(&between), 3);
    }
}
