//! Partial sums of amplitudes with the same colour: amplitudes whose coefficients in all JAMPs are proportional are
//! added up once. An example is a diagram with three-gluon vertices and the part of the four-gluon vertex with the same
//! colour.

use mebridge_process::{LinearMap, Term, TermSource};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// An amplitude's JAMPs, and its coefficients in these relative to the first one, as bits.
type Column = Vec<(usize, u64, u64)>;

/// Amplitudes with the same colour.
struct Group {
    /// Number of JAMPs that contain them.
    jamps: usize,
    /// The amplitudes, with their coefficients relative to that of the first.
    terms: Vec<Term>,
}

/// Introduces partial sums where they reduce the number of terms.
pub fn share(jamp: &mut LinearMap) {
    let mut columns: HashMap<u32, Vec<(usize, Complex64)>> = HashMap::default();
    let mut order = Vec::new();
    for (output, terms) in jamp.outputs.iter().enumerate() {
        for term in terms {
            let TermSource::Amplitude(amplitude) = term.source else {
                return;
            };
            let column = columns.entry(amplitude).or_default();
            if column.is_empty() {
                order.push(amplitude);
            }
            column.push((output, Complex64::new(term.factor.0, term.factor.1)));
        }
    }
    order.sort_unstable();
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<Column, (usize, Complex64)> = HashMap::default();
    for amplitude in order {
        let column = &columns[&amplitude];
        let first = column[0].1;
        let over = |&(output, x): &(usize, Complex64)| {
            // Removes the sign of zero.
            let x = x / first + Complex64::ZERO;
            (output, x.re.to_bits(), x.im.to_bits())
        };
        let next = (groups.len(), first);
        let (group, of_first) = *known
            .entry(column.iter().map(over).collect())
            .or_insert(next);
        if group == groups.len() {
            groups.push(Group {
                jamps: column.len(),
                terms: Vec::new(),
            });
        }
        let factor = first / of_first;
        groups[group].terms.push(Term {
            source: TermSource::Amplitude(amplitude),
            factor: (factor.re, factor.im),
        });
    }
    // The partial sum that replaces an amplitude; `None` for all but the first amplitude of a group.
    let mut sums: HashMap<u32, Option<u32>> = HashMap::default();
    for group in groups {
        let (terms, jamps) = (group.terms.len(), group.jamps);
        if terms * jamps <= terms + jamps {
            continue;
        }
        let number = jamp.partial.len() as u32;
        for (place, term) in group.terms.iter().enumerate() {
            if let TermSource::Amplitude(amplitude) = term.source {
                sums.insert(amplitude, (place == 0).then_some(number));
            }
        }
        jamp.partial.push(group.terms);
    }
    for terms in &mut jamp.outputs {
        terms.retain_mut(|term| {
            let TermSource::Amplitude(amplitude) = term.source else {
                return true;
            };
            match sums.get(&amplitude) {
                None => true,
                Some(Some(sum)) => {
                    term.source = TermSource::Partial(*sum);
                    true
                }
                Some(None) => false,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::generate;
    use mebridge_process::{LinearMap, TermSource};
    use num_complex::Complex64;

    fn term_count(map: &LinearMap) -> usize {
        map.partial.iter().chain(&map.outputs).map(Vec::len).sum()
    }

    /// The coefficient of each amplitude in each JAMP.
    fn flat(map: &LinearMap, amplitudes: usize) -> Vec<Vec<Complex64>> {
        let mut partial: Vec<Vec<Complex64>> = Vec::new();
        let mut outputs = Vec::new();
        for (number, terms) in map.partial.iter().chain(&map.outputs).enumerate() {
            let mut sum = vec![Complex64::ZERO; amplitudes];
            for term in terms {
                let factor = Complex64::new(term.factor.0, term.factor.1);
                match term.source {
                    TermSource::Amplitude(a) => sum[a as usize] += factor,
                    TermSource::Partial(p) => {
                        for (x, y) in sum.iter_mut().zip(&partial[p as usize]) {
                            *x += factor * y;
                        }
                    }
                }
            }
            match number < map.partial.len() {
                true => partial.push(sum),
                false => outputs.push(sum),
            }
        }
        outputs
    }

    #[test]
    fn jamps_are_the_same_with_fewer_terms() {
        for text in [
            "g g > g g g",
            "g g > t t~ g g",
            "u u~ > g g g",
            "u u~ > e+ e-",
        ] {
            let process = generate(text).unwrap().remove(0);
            let diagrams = process.amplitudes.diagrams().unwrap();
            let count = diagrams.amplitudes.len();
            let mut plain = LinearMap {
                partial: Vec::new(),
                outputs: Vec::new(),
            };
            for output in flat(&diagrams.jamp, count) {
                let terms = output.iter().enumerate().filter(|(_, x)| x.norm() > 1e-9);
                let terms = terms.map(|(a, x)| super::Term {
                    source: TermSource::Amplitude(a as u32),
                    factor: (x.re, x.im),
                });
                plain.outputs.push(terms.collect());
            }
            let mut shared = plain.clone();
            super::share(&mut shared);
            for (one, other) in flat(&plain, count).iter().zip(flat(&shared, count)) {
                for (x, y) in one.iter().zip(other) {
                    assert!((x - y).norm() < 1e-12, "{text}: {x} {y}");
                }
            }
            let (before, after) = (term_count(&plain), term_count(&shared));
            assert_eq!(
                after < before,
                text != "u u~ > e+ e-",
                "{text}: {before} {after}"
            );
            assert_eq!(after, term_count(&diagrams.jamp), "{text}");
        }
    }
}
