//! Matches the colour flows of a directory with orders.

use mebridge_process::color_ordered::FlowTerm;
use num_complex::Complex64;

/// Relative rounding error, with respect to the largest JAMP.
const TOLERANCE: f64 = 1e-9;
/// Largest denominator of the ratio between the sizes of JAMPs.
const MAX_DENOMINATOR: i32 = 64;

/// Computes the JAMPs of flows that are sums and differences of others; if `flows` is empty, each JAMP is a flow.
pub fn flows(jamps: &[Complex64], flows: &[Vec<FlowTerm>]) -> Vec<Complex64> {
    if flows.is_empty() {
        return jamps.to_vec();
    }
    let sum = |terms: &Vec<FlowTerm>| {
        let signed = terms.iter().map(|t| match t.minus {
            true => -jamps[t.jamp as usize],
            false => jamps[t.jamp as usize],
        });
        signed.sum()
    };
    flows.iter().map(sum).collect()
}

/// The assignment of a process's colour flows to those of a form.
pub struct Sorted {
    /// For each flow of the process, the index of the flow of the form and whether the sign is negative.
    pub of: Vec<(usize, bool)>,
    /// Common ratio of the JAMPs of the process to those of the form.
    ratio: Complex64,
}

impl Sorted {
    /// Finds the assignment that maps the JAMPs of a form to those of the process, if there is one.
    pub fn find(process: &[Complex64], form: &[Complex64]) -> Option<Sorted> {
        let squares = |jamps: &[Complex64]| jamps.iter().map(|x| x.norm_sqr()).sum::<f64>();
        let size = (squares(process) / squares(form)).sqrt();
        if !(size.is_finite() && size > 0.0) || process.len() != form.len() {
            return None;
        }
        let mut by_size: Vec<(f64, usize)> = (0..).zip(form).map(|(i, x)| (x.norm(), i)).collect();
        by_size.sort_by(|a, b| a.0.total_cmp(&b.0));
        let largest = by_size.last()?.0;
        let near = |x: Complex64| {
            let wanted = x.norm() / size;
            let close = TOLERANCE * largest;
            let from = by_size.partition_point(|(size, _)| *size < wanted - close);
            let rest = by_size[from..].iter();
            rest.take_while(move |(size, _)| *size <= wanted + close)
                .map(|(_, i)| *i)
        };
        // Traces read backwards have JAMPs of the same size: any of them may be the first.
        let first = *process
            .iter()
            .max_by(|a, b| a.norm().total_cmp(&b.norm()))?;
        near(first).find_map(|one| {
            let ratio = first / form[one];
            let mut taken = vec![false; form.len()];
            let of = process.iter().map(|&x| {
                let is = |&(i, minus): &(usize, bool)| {
                    let y = if minus { -form[i] } else { form[i] };
                    !taken[i] && (x - ratio * y).norm() <= TOLERANCE * largest * size
                };
                let plain = near(x).map(|i| (i, false));
                let found = plain.chain(near(x).map(|i| (i, true))).find(is)?;
                taken[found.0] = true;
                Some(found)
            });
            let of = of.collect::<Option<_>>()?;
            Some(Sorted { of, ratio })
        })
    }

    /// Returns whether the assignment holds at another point.
    pub fn holds(&self, process: &[Complex64], form: &[Complex64]) -> bool {
        let largest = process.iter().map(|x| x.norm()).fold(0.0, f64::max);
        let mut all = process.iter().zip(&self.of);
        largest > 0.0
            && all.all(|(x, &(i, minus))| {
                let y = if minus { -form[i] } else { form[i] };
                (x - self.ratio * y).norm() <= TOLERANCE * largest
            })
    }

    /// Returns the size of the ratio, as a simple fraction if it is close to one.
    pub fn size(&self) -> f64 {
        let size = self.ratio.norm();
        let fractions = (1..=MAX_DENOMINATOR).map(f64::from);
        let mut near = fractions.map(|below| (size * below).round() / below);
        near.find(|x| (x - size).abs() < TOLERANCE * size)
            .unwrap_or(size)
    }

    /// Returns the colour flows of the process in terms of JAMPs of the form; `flows` are those of the form.
    pub fn flows(&self, flows: Vec<Vec<FlowTerm>>) -> Vec<Vec<FlowTerm>> {
        let same = (0..).zip(&self.of).all(|(i, of)| *of == (i, false));
        if same {
            return flows;
        }
        let of = self.of.iter().map(|&(i, minus)| match flows.get(i) {
            Some(terms) => {
                let signed = terms.iter().map(|t| FlowTerm {
                    minus: t.minus != minus,
                    ..*t
                });
                signed.collect()
            }
            None => vec![FlowTerm {
                jamp: i as u32,
                minus,
            }],
        });
        of.collect()
    }
}
