//! The colour matrix: products of colour flows, summed over all colours.

use super::number::{Number, TOO_LARGE, over_one};
use super::strings::{
    Kind, Label, StringSum, Strings, collected, first_of, is_dummy, reduced, second,
};
use mebridge_process::color::ColorMatrix;
use rustc_hash::FxHashMap as HashMap;

/// Number of colours.
const N: i64 = 3;

/// The colour matrix of flows with `|M|^2 = sum of JAMP_i^* C_ij JAMP_j`. Products that differ by the names of legs
/// alone are computed once.
pub fn matrix(flows: &[Strings]) -> Result<ColorMatrix, String> {
    let mut known: HashMap<(Strings, Strings), (i64, i64)> = HashMap::default();
    let mut entries = Vec::with_capacity(ColorMatrix::triangle(flows.len()));
    for (i, a) in flows.iter().enumerate() {
        let labels: Vec<Label> = a.pieces().flat_map(|p| p.labels.to_vec()).collect();
        let mut names = [Label::MAX; 256];
        let mut next = 0;
        for &label in labels.iter().filter(|&&label| !is_dummy(label)) {
            // The two labels of a sextet have names that belong together.
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
                    let entry = product(&shape, &other)?;
                    known.insert((shape, other), entry);
                    entry
                }
            };
            entries.push((sign * entry.0, entry.1));
        }
    }
    let (upper, denominator) = over_one(&entries)?;
    Ok(ColorMatrix {
        flows: flows.len() as u32,
        denominator,
        upper,
    })
}

/// The sum over all colours of one product times the complex conjugate of another.
pub fn product(a: &Strings, b: &Strings) -> Result<(i64, i64), String> {
    let fail = |_| "there are too many coloured particles".to_owned();
    let first = |s: &Strings, kind: Kind| {
        let mut pieces = s.pieces().filter(|p| p.kind == kind);
        pieces.find_map(|p| p.labels.first().copied())
    };
    let mut sum: StringSum = Vec::new();
    for (b, number) in symmetrised(b) {
        let whole = a.times(&b.conjugate()).map_err(fail)?;
        for (mut whole, sign) in reduced(vec![(whole, number)]).map_err(fail)? {
            while let Some(label) = first(&whole, Kind::String) {
                whole = whole
                    .joined(label)
                    .map_err(fail)?
                    .ok_or("colours do not match")?;
            }
            sum.push((whole, sign));
        }
    }
    let mut sum: StringSum = collected(sum);
    while let Some(label) = sum.iter().find_map(|(s, _)| first(s, Kind::Trace)) {
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
        let power = N.checked_pow(strings.power().unsigned_abs());
        let power = power.ok_or(TOO_LARGE)?;
        let power = match strings.power() < 0 {
            true => Number::ratio(1, power),
            false => Number::ratio(power, 1),
        };
        total = total.plus(number.times(power));
    }
    total.real()
}

/// Symmetric between the two indices of each sextet.
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

    /// g g > t t~: 16/3 and -2/3 for its two flows, as MG5aMC writes them.
    #[test]
    fn two_gluons_on_a_quark_line() {
        let flow = |labels: &[Label]| Strings::of(false, labels).unwrap();
        let c = matrix(&[flow(&[2, 0, 1, 3]), flow(&[2, 1, 0, 3])]).unwrap();
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
        let flows = orders.map(|o| Strings::of(true, &o).unwrap());
        let c = matrix(&flows).unwrap();
        // The values of MG5aMC for g g > g g: 19/6, -1/3 and 1/6... of this normalisation.
        let row: Vec<f64> = (0..6).map(|j| c.entry(0, j) * 6.0).collect();
        assert_eq!(row, [19.0, -2.0, -2.0, -2.0, -2.0, 4.0]);
    }

    /// `Epsilon` squared is 6, and the sextet part of two quarks has dimension 6.
    #[test]
    fn epsilons_and_sextets() {
        let epsilon = |labels| Strings::epsilon(false, labels).unwrap();
        assert_eq!(
            product(&epsilon([0, 1, 2]), &epsilon([0, 1, 2])),
            Ok((6, 1))
        );
        assert_eq!(
            product(&epsilon([0, 1, 2]), &epsilon([1, 0, 2])),
            Ok((-6, 1))
        );
        assert_eq!(
            epsilon([1, 0, 2]).signed_normal(),
            epsilon([0, 1, 2]).signed_normal().map(|(s, _)| (s, true))
        );
        let two = |a: [Label; 2], b: [Label; 2]| {
            let product = Strings::of(false, &a)
                .unwrap()
                .times(&Strings::of(false, &b).unwrap());
            product.unwrap().signed_normal().unwrap().0
        };
        let sextet = two([0, 1], [second(0), 2]);
        assert_eq!(sextet, two([0, 2], [second(0), 1]));
        assert_eq!(product(&sextet, &sextet), Ok((6, 1)));
        let c = matrix(&[sextet]).unwrap();
        assert_eq!((c.denominator, c.upper), (1.0, vec![6.0]));
    }

    /// Two quark lines: N^2 on the diagonal, N off it.
    #[test]
    fn two_quark_lines() {
        let two = |a: [Label; 2], b: [Label; 2]| {
            let product = Strings::of(false, &a)
                .unwrap()
                .times(&Strings::of(false, &b).unwrap());
            product.unwrap().normal().unwrap()
        };
        let c = matrix(&[two([0, 1], [2, 3]), two([0, 3], [2, 1])]).unwrap();
        assert_eq!((c.denominator, c.upper), (1.0, vec![9.0, 3.0, 9.0]));
    }
}
