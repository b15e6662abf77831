//! The colour matrix: products of colour flows, summed over all colours.

use super::number::{Number, TOO_LARGE, over_common_denominator};
use super::strings::{
    Label, PieceKind, StringSum, Strings, collected, first_of, is_dummy, reduced, second,
};
use mebridge_process::color::ColorMatrix;
use rustc_hash::FxHashMap as HashMap;

/// Number of colours.
pub const COLORS: i64 = 3;
/// The message for two flows that do not begin and end at the same legs.
const UNMATCHED: &str = "colours do not match";

/// The colour matrix of flows for this number of colours, with `|M|^2 = sum of JAMP_i^* C_ij JAMP_j`. Products that differ
/// only by a relabelling of legs are computed once.
pub fn matrix(flows: &[Strings], colors: i64) -> Result<ColorMatrix, String> {
    let mut known: HashMap<(Strings, Strings), (i64, i64)> = HashMap::default();
    let mut entries = Vec::with_capacity(ColorMatrix::triangle(flows.len()));
    for (i, a) in flows.iter().enumerate() {
        let labels: Vec<Label> = a.pieces().flat_map(|p| p.labels.to_vec()).collect();
        let mut names = [Label::MAX; 256];
        let mut next = 0;
        for &label in labels.iter().filter(|&&label| !is_dummy(label)) {
            // The two labels of a sextet are renamed together.
            let first = first_of(label).unwrap_or(label);
            if names[usize::from(first)] == Label::MAX {
                names[usize::from(first)] = next;
                names[usize::from(second(first))] = second(next);
                next += 1;
            }
        }
        let name = |l: Label| {
            if is_dummy(l) {
                l
            } else {
                names[usize::from(l)]
            }
        };
        let named = |s: &Strings| s.relabelled(name).signed_normal();
        let (shape, minus) = named(a).ok_or("a colour flow vanishes")?;
        for b in &flows[i..] {
            let (other, negative) = named(b).ok_or("a colour flow vanishes")?;
            let sign = if minus == negative { 1 } else { -1 };
            let entry = match known.get(&(shape, other)) {
                Some(&entry) => entry,
                None => {
                    let entry = product(&shape, &other, colors)?;
                    known.insert((shape, other), entry);
                    entry
                }
            };
            entries.push((sign * entry.0, entry.1));
        }
    }
    let (upper, denominator) = over_common_denominator(&entries)?;
    Ok(ColorMatrix {
        flows: flows.len() as u32,
        denominator,
        upper,
    })
}

/// The sum over all colours of one product times the complex conjugate of another.
pub fn product(a: &Strings, b: &Strings, colors: i64) -> Result<(i64, i64), String> {
    let fail = |_| "there are too many coloured particles".to_owned();
    let first = |s: &Strings, kind: PieceKind| {
        let mut pieces = s.pieces().filter(|p| p.kind == kind);
        pieces.find_map(|p| p.labels.first().copied())
    };
    let mut sum: StringSum = Vec::new();
    for (b, number) in symmetrised(b) {
        let mut terms: StringSum = vec![(*a, number)];
        // One factor at a time, to keep products short.
        for factor in b.conjugate().factors().map_err(fail)? {
            let products = terms.iter().map(|(s, n)| Ok((s.times(&factor)?, *n)));
            let products = products.collect::<Result<_, _>>().map_err(fail)?;
            terms.clear();
            for (mut whole, sign) in reduced(products).map_err(fail)? {
                while let Some(label) = both_ends(&whole) {
                    whole = whole.joined(label).map_err(fail)?.ok_or(UNMATCHED)?;
                }
                terms.extend(whole.normal().map(|whole| (whole, sign)));
            }
        }
        if terms
            .iter()
            .any(|(s, _)| first(s, PieceKind::String).is_some())
        {
            return Err(UNMATCHED.into());
        }
        sum.extend(terms);
    }
    let mut sum: StringSum = collected(sum);
    while let Some(label) = sum.iter().find_map(|(s, _)| first(s, PieceKind::Trace)) {
        let mut next = Vec::with_capacity(2 * sum.len());
        for (strings, number) in sum {
            let at = next.len();
            strings.contracted(label, false, &mut next).map_err(fail)?;
            for (_, n) in &mut next[at..] {
                *n = n.times(number);
            }
        }
        sum = collected(next);
    }
    let mut total = Number::ratio(0, 1);
    for (strings, number) in &sum {
        let power = colors.checked_pow(strings.power().unsigned_abs());
        let power = power.ok_or(TOO_LARGE)?;
        let power = match strings.power() < 0 {
            true => Number::ratio(1, power),
            false => Number::ratio(power, 1),
        };
        total = total.plus(number.times(power));
    }
    total.real()
}

/// A label at which one string ends and another one, or the same, begins.
fn both_ends(strings: &Strings) -> Option<Label> {
    let strings = strings.pieces().filter(|p| p.kind == PieceKind::String);
    let mut ends: Vec<Label> = strings
        .flat_map(|p| [p.labels.first(), p.labels.last()])
        .flatten()
        .copied()
        .collect();
    ends.sort_unstable();
    ends.windows(2).find(|l| l[0] == l[1]).map(|l| l[0])
}

/// Symmetrises the two indices of each sextet.
fn symmetrised(strings: &Strings) -> StringSum {
    let labels = strings.pieces().flat_map(|p| p.labels.to_vec());
    let sextets: Vec<Label> = labels.filter_map(first_of).collect();
    let mut sum: StringSum = vec![(*strings, Number::ONE)];
    for label in sextets {
        let swapped = |l: Label| match l {
            l if l == label => second(label),
            l if l == second(label) => label,
            l => l,
        };
        let half = Number::ratio(1, 2);
        let both = sum
            .iter()
            .flat_map(|(s, n)| [(*s, n.times(half)), (s.relabelled(swapped), n.times(half))]);
        sum = both.collect();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

    /// g g > t t~: 16/3 and -2/3 for its two flows, as written by MG5aMC.
    #[test]
    fn two_gluons_on_a_quark_line() {
        let flow = |labels: &[Label]| Strings::new(false, labels).unwrap();
        let c = matrix(&[flow(&[2, 0, 1, 3]), flow(&[2, 1, 0, 3])], COLORS).unwrap();
        assert_eq!((c.denominator, c.upper), (3.0, vec![16.0, -2.0, 16.0]));
    }

    /// Four gluons: (N^2-1)(N^4-2N^2+6)/(16 N^2)... for all six traces, checked by its diagonal and a sum rule: the
    /// sum over all flows of a row is that of the symmetric trace.
    #[test]
    fn traces_of_gluons() {
        let orders: [[Label; 4]; 6] = [
            [0, 1, 2, 3],
            [0, 1, 3, 2],
            [0, 2, 1, 3],
            [0, 2, 3, 1],
            [0, 3, 1, 2],
            [0, 3, 2, 1],
        ];
        let flows = orders.map(|o| Strings::new(true, &o).unwrap());
        let c = matrix(&flows, COLORS).unwrap();
        // The values of MG5aMC for g g > g g: 19/6, -1/3 and 1/6... of this normalisation.
        let row: Vec<f64> = (0..6).map(|j| c.entry(0, j) * 6.0).collect();
        assert_eq!(row, [19.0, -2.0, -2.0, -2.0, -2.0, 4.0]);
    }

    /// `Epsilon` squared is 6, and the sextet part of two quarks has dimension 6.
    #[test]
    fn epsilons_and_sextets() {
        let epsilon = |labels| Strings::epsilon(false, labels).unwrap();
        assert_eq!(
            product(&epsilon([0, 1, 2]), &epsilon([0, 1, 2]), COLORS),
            Ok((6, 1))
        );
        assert_eq!(
            product(&epsilon([0, 1, 2]), &epsilon([1, 0, 2]), COLORS),
            Ok((-6, 1))
        );
        assert_eq!(
            epsilon([1, 0, 2]).signed_normal(),
            epsilon([0, 1, 2]).signed_normal().map(|(s, _)| (s, true))
        );
        let two = |a: [Label; 2], b: [Label; 2]| {
            let product = Strings::new(false, &a)
                .unwrap()
                .times(&Strings::new(false, &b).unwrap());
            product.unwrap().signed_normal().unwrap().0
        };
        let sextet = two([0, 1], [second(0), 2]);
        assert_eq!(sextet, two([0, 2], [second(0), 1]));
        assert_eq!(product(&sextet, &sextet, COLORS), Ok((6, 1)));
        let c = matrix(&[sextet], COLORS).unwrap();
        assert_eq!((c.denominator, c.upper), (1.0, vec![6.0]));
    }

    /// Evaluates a product of epsilons for these colours of its legs.
    fn at(strings: &Strings, colors: &[usize]) -> Complex64 {
        // The values of a string for each colour of the dummy at its end.
        let row = |dummy: Label| {
            let mut strings = strings.pieces().filter(|p| p.kind == PieceKind::String);
            let string = strings.find(|p| p.labels.ends_with(&[dummy])).unwrap();
            let mut row = [Complex64::ZERO; 3];
            row[colors[usize::from(string.labels[0])]] = Complex64::ONE;
            for &generator in &string.labels[1..string.labels.len() - 1] {
                row = times_generator(row, colors[usize::from(generator)]);
            }
            row
        };
        let epsilons = strings.pieces().filter(|p| p.kind == PieceKind::Epsilon);
        let determinants = epsilons.map(|epsilon| {
            let [a, b, c] = [0, 1, 2].map(|i| row(epsilon.labels[i]));
            let minors = (0..3).map(|i| {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                a[i] * (b[j] * c[k] - b[k] * c[j])
            });
            minors.sum::<Complex64>()
        });
        determinants.product()
    }

    /// A row vector times half of a Gell-Mann matrix.
    fn times_generator(row: [Complex64; 3], generator: usize) -> [Complex64; 3] {
        let mut result = [Complex64::ZERO; 3];
        let pair = |i: usize, j: usize, y: Complex64| [(i, j, y), (j, i, y.conj())];
        let (i, half) = (Complex64::I / 2.0, Complex64::from(0.5));
        let diagonal = |a: f64, b: f64, c: f64| {
            let numbers = [(0, a), (1, b), (2, c)].into_iter();
            numbers.map(|(k, x)| (k, k, x.into())).collect()
        };
        let third = 0.5 / 3f64.sqrt();
        let entries: Vec<(usize, usize, Complex64)> = match generator {
            0 => pair(0, 1, half).to_vec(),
            1 => pair(0, 1, -i).to_vec(),
            2 => diagonal(0.5, -0.5, 0.0),
            3 => pair(0, 2, half).to_vec(),
            4 => pair(0, 2, -i).to_vec(),
            5 => pair(1, 2, half).to_vec(),
            6 => pair(1, 2, -i).to_vec(),
            _ => diagonal(third, third, -2.0 * third),
        };
        for (from, to, entry) in entries {
            result[to] += row[from] * entry;
        }
        result
    }

    /// Two epsilons of one kind, compared with a sum over the colours of all legs, six triplets and an octet.
    #[test]
    fn two_epsilons_by_explicit_colors() {
        let epsilons = |a, b| {
            let [a, b] = [a, b].map(|labels| Strings::epsilon(false, labels).unwrap());
            a.times(&b).unwrap()
        };
        // Inserts a generator at a leg.
        let radiates = |strings: Strings, leg: Label| {
            let below = strings.relabelled(|l| if l == leg { 100 } else { l });
            let line = Strings::new(false, &[leg, 6, 100]).unwrap();
            line.times(&below).unwrap().joined(100).unwrap().unwrap()
        };
        let bare = [
            epsilons([0, 1, 2], [3, 4, 5]),
            epsilons([0, 4, 2], [3, 1, 5]),
            epsilons([5, 1, 0], [3, 4, 2]),
        ];
        let flows: Vec<Strings> = bare
            .iter()
            .flat_map(|&b| [0, 3, 5].map(|leg| radiates(b, leg)))
            .collect();
        for (flows, octets) in [(&bare[..], 1), (&flows[..], 8)] {
            let mut sums = vec![Complex64::ZERO; flows.len() * flows.len()];
            for number in 0..729 * octets {
                let mut colors = [0, 1, 2, 3, 4, 5, 6].map(|leg| number / 3usize.pow(leg) % 3);
                colors[6] = number / 729;
                let values: Vec<Complex64> = flows.iter().map(|f| at(f, &colors)).collect();
                for (i, x) in values.iter().enumerate() {
                    for (j, y) in values.iter().enumerate() {
                        sums[i * flows.len() + j] += x * y.conj();
                    }
                }
            }
            let own = matrix(flows, COLORS).unwrap();
            for (place, sum) in sums.iter().enumerate() {
                let entry = own.entry(place / flows.len(), place % flows.len());
                assert!((sum - entry).norm() < 1e-10, "{place}: {sum}, {entry}");
            }
        }
    }

    /// A sextet between two epsilons is symmetric in its two triplet colours.
    #[test]
    fn a_sextet_between_epsilons_by_explicit_colors() {
        let (one, other) = (4, usize::from(second(4)));
        let flow = |a: [Label; 2], b: [Label; 2]| {
            let a = Strings::epsilon(false, [4, a[0], a[1]]).unwrap();
            let b = Strings::epsilon(false, [second(4), b[0], b[1]]).unwrap();
            a.times(&b).unwrap()
        };
        let flows = [flow([0, 1], [2, 3]), flow([2, 0], [1, 3])];
        let mut sums = [0.0; 4];
        for number in 0..3usize.pow(6) {
            let mut colors = vec![0; other + 1];
            for (place, leg) in [0, 1, 2, 3, one, other].into_iter().enumerate() {
                colors[leg] = number / 3usize.pow(place as u32) % 3;
            }
            let straight = flows.map(|f| at(&f, &colors).re);
            colors.swap(one, other);
            let crossed = flows.map(|f| at(&f, &colors).re);
            for (place, sum) in sums.iter_mut().enumerate() {
                let (i, j) = (place / 2, place % 2);
                *sum += straight[i] * (straight[j] + crossed[j]) / 2.0;
            }
        }
        let own = matrix(&flows, COLORS).unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(|place| own.entry(place / 2, place % 2)),
            sums
        );
    }

    /// Two quark lines: N^2 on the diagonal, N off it.
    #[test]
    fn two_quark_lines() {
        let two = |a: [Label; 2], b: [Label; 2]| {
            let product = Strings::new(false, &a)
                .unwrap()
                .times(&Strings::new(false, &b).unwrap());
            product.unwrap().normal().unwrap()
        };
        let c = matrix(&[two([0, 1], [2, 3]), two([0, 3], [2, 1])], COLORS).unwrap();
        assert_eq!((c.denominator, c.upper), (1.0, vec![9.0, 3.0, 9.0]));
    }
}
