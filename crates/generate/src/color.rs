//! Colour of vertices, trees and diagrams.
//!
//! A tree's colour is a sum of products of strings in which one index, [`ROOT_LABEL`], belongs to the line at its root. It is
//! computed from the colours of its vertex and children, so that the colour of shared trees is computed once.

use super::number::{Number, TOO_LARGE};
use super::strings::{Label, StringSum, Strings, TooLong, collected, reduced, second};
use crate::model::expression::{BinaryOperator, Expr};

/// The index of the line at the root of a tree; external legs have labels below it.
pub const ROOT_LABEL: Label = 100;
/// First label of the legs of a vertex.
const SLOTS: Label = 101;
/// First label of indices that are summed over within a vertex.
const SUMMED: Label = 110;
/// Number of these labels.
const MAX_SUMMED: Label = 40;

/// Colour of a vertex.
#[derive(Clone, Debug)]
pub struct VertexColor {
    /// Representations of its legs.
    legs: Vec<i8>,
    sum: StringSum,
    /// Whether each leg is an octet whose singlet part would decouple: the sum vanishes with the unit matrix in place
    /// of the leg's generator, whatever the other generators are. (`Tr(T^a T^b)` vanishes only because the other
    /// generator is traceless; if both singlet parts were kept, they would not decouple.)
    traceless: Vec<bool>,
}

/// Colour of a tree.
#[derive(Clone, Debug)]
pub struct TreeColor {
    sum: StringSum,
    traceless: bool,
}

/// The child at a leg of a vertex.
pub enum Child<'a> {
    /// An external leg.
    Leg(Label),
    /// A tree.
    Tree(&'a TreeColor),
}

fn slot(leg: usize) -> Label {
    SLOTS + leg as Label
}

/// Whether an index is summed over within a vertex.
fn is_summed(label: Label) -> bool {
    (SUMMED..SUMMED + MAX_SUMMED).contains(&label)
}

/// The message for a product of strings that is too long.
fn too_long(_: TooLong) -> String {
    "there are too many coloured particles".into()
}

impl VertexColor {
    /// Reads the colour structure of a vertex whose legs have these representations.
    pub fn new(expr: &Expr, legs: &[i8]) -> Result<VertexColor, String> {
        let mut sum = lower(expr, legs)?;
        let labels = |sum: &StringSum| -> Vec<Label> {
            let pieces = sum.iter().flat_map(|(s, _)| s.pieces());
            let labels = pieces.flat_map(|p| p.labels.to_vec());
            labels.filter(|&l| is_summed(l)).collect()
        };
        sum = reduced(sum).map_err(too_long)?;
        while let Some(&label) = labels(&sum).first() {
            let sextet = sum.iter().any(|(s, _)| s.has(second(label)));
            sum = match sextet {
                true => collected(both_joined(sum, label)?),
                false => summed(sum, label, false)?,
            };
        }
        if !sum.iter().all(|(_, number)| number.is_known()) {
            return Err(TOO_LARGE.into());
        }
        for (leg, &color) in legs.iter().enumerate() {
            let good = sum.iter().all(|(s, _)| s.has(slot(leg)) == (color != 1));
            if !good {
                return Err(format!("the colour structure does not fit leg {}", leg + 1));
            }
        }
        let traceless = (0..legs.len()).map(|leg| {
            let unit = sum.iter().map(|(s, n)| Ok((s.cut(slot(leg))?, *n)));
            let unit: StringSum = unit.collect::<Result<_, TooLong>>().map_err(too_long)?;
            let others = unit
                .iter()
                .any(|(s, _)| s.pieces().any(|p| p.is_trace_of_one()));
            Ok(legs[leg] == 8 && !others && collected(unit).is_empty())
        });
        Ok(VertexColor {
            legs: legs.to_vec(),
            traceless: traceless.collect::<Result<_, String>>()?,
            sum,
        })
    }

    /// Computes the colour of a tree, or of a diagram if `result` is `None`, from the children at the other legs.
    pub fn grow(
        &self,
        children: &[(usize, Child)],
        result: Option<usize>,
    ) -> Result<TreeColor, String> {
        let mut sum = self.sum.clone();
        for (leg, child) in children {
            let label = slot(*leg);
            sum = match child {
                Child::Leg(external) => relabelled(&sum, label, *external),
                Child::Tree(tree) if self.legs[*leg].abs() == 6 => {
                    // Symmetric between the two indices of the sextet.
                    let half = Number::ratio(1, 2);
                    let straight = relabelled(&tree.sum, ROOT_LABEL, label);
                    let mut products = Vec::with_capacity(2 * sum.len() * straight.len());
                    for (a, x) in &sum {
                        for (b, y) in &straight {
                            for b in [*b, crossed(b, label)] {
                                let number = x.times(*y).times(half);
                                products.push((a.times(&b).map_err(too_long)?, number));
                            }
                        }
                    }
                    let products = reduced(products).map_err(too_long)?;
                    // Not sorted before one of the two indices is summed over.
                    collected(both_joined(products, label)?)
                }
                Child::Tree(tree) => {
                    let below = relabelled(&tree.sum, ROOT_LABEL, label);
                    let mut products = Vec::with_capacity(sum.len() * below.len());
                    for (a, x) in &sum {
                        for (b, y) in &below {
                            products.push((a.times(b).map_err(too_long)?, x.times(*y)));
                        }
                    }
                    let products = reduced(products).map_err(too_long)?;
                    match self.legs[*leg] {
                        1 => collected(products),
                        _ => summed(products, label, self.traceless[*leg] || tree.traceless)?,
                    }
                }
            };
        }
        // Relabelling may have changed the order of strings.
        let mut sum = collected(sum);
        if let Some(leg) = result {
            sum = relabelled(&sum, slot(leg), ROOT_LABEL);
        }
        Ok(TreeColor {
            sum,
            traceless: result.is_some_and(|leg| self.traceless[leg]),
        })
    }
}

impl TreeColor {
    /// The colour of a diagram: products of strings with their coefficients.
    pub fn flows(&self) -> &StringSum {
        &self.sum
    }

    /// Whether it vanishes.
    pub fn is_zero(&self) -> bool {
        self.sum.is_empty()
    }
}

fn relabelled(sum: &StringSum, from: Label, to: Label) -> StringSum {
    let rename = |l: Label| match l {
        l if l == from => to,
        l if l == second(from) => second(to),
        l => l,
    };
    let terms = sum.iter().map(|(s, n)| (s.relabelled(rename), *n));
    terms.collect()
}

/// Sums over an index that occurs twice in every product.
fn summed(sum: StringSum, label: Label, traceless: bool) -> Result<StringSum, String> {
    let mut next = Vec::with_capacity(2 * sum.len());
    for (strings, number) in sum {
        if strings.is_end(label) {
            next.extend(
                strings
                    .joined(label)
                    .map_err(too_long)?
                    .map(|s| (s, number)),
            );
        } else {
            let first = next.len();
            strings
                .contracted(label, traceless, &mut next)
                .map_err(too_long)?;
            for (_, n) in &mut next[first..] {
                *n = n.times(number);
            }
        }
    }
    Ok(collected(next))
}

/// Exchanges the two triplet indices of a sextet.
fn crossed(strings: &Strings, label: Label) -> Strings {
    strings.relabelled(|l| match l {
        l if l == label => second(label),
        l if l == second(label) => label,
        l => l,
    })
}

/// Sums over both triplet indices of a sextet; one factor of every product is symmetric in these.
fn both_joined(sum: StringSum, label: Label) -> Result<StringSum, String> {
    let both = sum.into_iter().map(|(s, n)| {
        let first = s.joined(label)?.ok_or(TooLong)?;
        Ok((first.joined(second(label))?.ok_or(TooLong)?, n))
    });
    both.collect::<Result<_, TooLong>>().map_err(too_long)
}

/// Lowers an expression to a sum of products of strings.
fn lower(expr: &Expr, legs: &[i8]) -> Result<StringSum, String> {
    let scaled = |sum: StringSum, by: Number| -> StringSum {
        let terms = sum.into_iter().map(|(s, n)| (s, n.times(by)));
        terms.collect()
    };
    Ok(match expr {
        Expr::Number(_) => match expr.integer() {
            Some(n) => vec![(Strings::ONE, Number::ratio(n.into(), 1))],
            None => {
                return Err(
                    "numbers in a colour structure have to be whole, or ratios of such".into(),
                );
            }
        },
        Expr::Neg(a) => scaled(lower(a, legs)?, Number::ratio(-1, 1)),
        Expr::Binary(BinaryOperator::Add, a, b) => [lower(a, legs)?, lower(b, legs)?].concat(),
        Expr::Binary(BinaryOperator::Sub, a, b) => {
            let b = scaled(lower(b, legs)?, Number::ratio(-1, 1));
            [lower(a, legs)?, b].concat()
        }
        Expr::Binary(BinaryOperator::Mul, a, b) => {
            let (a, b) = (lower(a, legs)?, lower(b, legs)?);
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            let products = pairs.map(|(x, y)| Ok((x.0.times(&y.0)?, x.1.times(y.1))));
            products.collect::<Result<_, TooLong>>().map_err(too_long)?
        }
        Expr::Binary(BinaryOperator::Div, a, b) => match b.integer() {
            Some(n) if n != 0 => scaled(lower(a, legs)?, Number::ratio(1, n.into())),
            _ => return Err("a colour structure can be divided by whole numbers only".into()),
        },
        Expr::Binary(..) | Expr::Name(_) | Expr::If(_) => {
            return Err("a colour structure is made of T, f, d, Identity and numbers".into());
        }
        Expr::Call(name, arguments) => tensor(name, arguments, legs)?,
    })
}

fn tensor(name: &str, arguments: &[Expr], legs: &[i8]) -> Result<StringSum, String> {
    let label = |index: &Expr| match index.integer() {
        Some(leg) if leg > 0 && leg as usize <= legs.len() => Ok(slot(leg as usize - 1)),
        Some(summed @ -39..0) => Ok(SUMMED + (-summed) as Label),
        _ => Err(format!("{name}: an index is not a leg of the vertex")),
    };
    let labels: Vec<Label> = arguments.iter().map(label).collect::<Result<_, String>>()?;
    let color = |l: Label| legs.get(usize::from(l - SLOTS)).copied();
    let of = |trace, labels: &[Label]| Strings::new(trace, labels).map_err(too_long);
    let expect = |label: Label, wanted: i8| match color(label) {
        Some(has) if has != wanted => Err(format!(
            "{name}: leg {} has colour {has} and not {wanted}",
            label - SLOTS + 1
        )),
        _ => Ok(()),
    };
    match (name, labels.as_slice()) {
        ("T", &[a, i, j]) => {
            expect(a, 8)?;
            expect(i, 3)?;
            expect(j, -3)?;
            Ok(vec![(of(false, &[i, a, j])?, Number::ONE)])
        }
        ("f" | "d", &[a, b, c]) => {
            for label in [a, b, c] {
                expect(label, 8)?;
            }
            let (first, second) = match name {
                "f" => (Number::imaginary(-2), Number::imaginary(2)),
                _ => (Number::ratio(2, 1), Number::ratio(2, 1)),
            };
            Ok(vec![
                (of(true, &[a, b, c])?, first),
                (of(true, &[a, c, b])?, second),
            ])
        }
        ("Identity", &[a, b]) => match (color(a), color(b)) {
            (Some(3), _) | (None, Some(-3)) => Ok(vec![(of(false, &[a, b])?, Number::ONE)]),
            (Some(-3), _) | (None, Some(3)) => Ok(vec![(of(false, &[b, a])?, Number::ONE)]),
            (Some(8), _) | (None, Some(8)) => Ok(vec![(of(true, &[a, b])?, Number::ratio(2, 1))]),
            (Some(6), None | Some(-6)) | (None, Some(-6)) => sextets(a, b, None, Number::ONE),
            (Some(-6), None | Some(6)) | (None, Some(6)) => sextets(b, a, None, Number::ONE),
            _ => Err("Identity is of two coloured legs".into()),
        },
        ("Epsilon" | "EpsilonBar", &[a, b, c]) => {
            let bar = name == "EpsilonBar";
            for label in [a, b, c] {
                expect(label, if bar { -3 } else { 3 })?;
            }
            let strings = Strings::epsilon(bar, [a, b, c]).map_err(too_long)?;
            Ok(vec![(strings, Number::ONE)])
        }
        // A sextet is symmetric in two triplet indices, each of which is connected to an index of the other kind.
        ("K6" | "K6Bar", &[m, i, j]) => {
            let bar = name == "K6Bar";
            expect(m, if bar { -6 } else { 6 })?;
            for label in [i, j] {
                expect(label, if bar { 3 } else { -3 })?;
            }
            let one = if bar { [i, m] } else { [m, i] };
            let other = if bar { [j, second(m)] } else { [second(m), j] };
            let strings = of(false, &one)?
                .times(&of(false, &other)?)
                .map_err(too_long)?;
            Ok(symmetric(vec![(strings, Number::ONE)], m))
        }
        ("T6", &[a, i, j]) => {
            expect(a, 8)?;
            expect(i, 6)?;
            expect(j, -6)?;
            sextets(i, j, Some(a), Number::ratio(2, 1))
        }
        ("T6", &[i, j]) => {
            expect(i, 6)?;
            expect(j, -6)?;
            sextets(i, j, None, Number::ONE)
        }
        ("T" | "f" | "d" | "Identity" | "Epsilon" | "EpsilonBar" | "K6" | "K6Bar" | "T6", _) => {
            Err(format!("{name} has {} indices", labels.len()))
        }
        _ => Err(format!("there is no colour structure {name}")),
    }
}

/// A sextet connected to an antisextet, with or without a generator between their first indices.
fn sextets(
    i: Label,
    j: Label,
    generator: Option<Label>,
    number: Number,
) -> Result<StringSum, String> {
    let first: Vec<Label> = [i].into_iter().chain(generator).chain([j]).collect();
    let first = Strings::new(false, &first).map_err(too_long)?;
    let other = Strings::new(false, &[second(i), second(j)]).map_err(too_long)?;
    let strings = first.times(&other).map_err(too_long)?;
    Ok(symmetric(symmetric(vec![(strings, number)], i), j))
}

/// Symmetrises the two triplet indices of a sextet that is summed over within a vertex; legs are symmetrised when a
/// tree is attached.
fn symmetric(sum: StringSum, label: Label) -> StringSum {
    if !is_summed(label) {
        return sum;
    }
    let half = Number::ratio(1, 2);
    let terms = sum
        .into_iter()
        .flat_map(|(s, n)| [s, crossed(&s, label)].map(|strings| (strings, n.times(half))));
    terms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::expression::parse;

    fn vertex(text: &str, legs: &[i8]) -> VertexColor {
        VertexColor::new(&parse(text).unwrap(), legs).unwrap()
    }

    /// `[T^a, T^b] = i f^abc T^c`, for a quark that radiates two gluons, or one that splits.
    #[test]
    fn generators_commute_to_structure_constants() {
        let quark = vertex("T(3,2,1)", &[-3, 3, 8]);
        let gluons = vertex("f(1,2,3)", &[8, 8, 8]);
        assert_eq!(
            (&gluons.traceless[..], quark.traceless[2]),
            (&[true; 3][..], false)
        );
        // Legs: 0 the quark (head), 1 the antiquark, 2 and 3 gluons.
        let line = |first: Label, second: Label| {
            let tree = quark.grow(&[(1, Child::Leg(0)), (2, Child::Leg(first))], Some(0));
            let tree = tree.unwrap();
            let whole = [
                (0, Child::Leg(1)),
                (1, Child::Tree(&tree)),
                (2, Child::Leg(second)),
            ];
            quark.grow(&whole, None).unwrap().sum
        };
        let pair = gluons
            .grow(&[(0, Child::Leg(2)), (1, Child::Leg(3))], Some(2))
            .unwrap();
        let whole = [
            (0, Child::Leg(1)),
            (1, Child::Leg(0)),
            (2, Child::Tree(&pair)),
        ];
        let split = quark.grow(&whole, None).unwrap().sum;
        let i = Number::imaginary(1);
        let mut sum: StringSum = split.into_iter().map(|(s, n)| (s, n.times(i))).collect();
        sum.extend(
            line(2, 3)
                .into_iter()
                .map(|(s, n)| (s, n.times(Number::ratio(-1, 1)))),
        );
        sum.extend(line(3, 2));
        assert!(collected(sum).is_empty());
    }

    /// The structure constants satisfy the Jacobi identity.
    #[test]
    fn jacobi() {
        let sum = "f(-1,1,2)*f(3,4,-1) + f(-1,2,3)*f(1,4,-1) + f(-1,3,1)*f(2,4,-1)";
        assert!(
            vertex(&format!("{sum} + 0*d(-1,1,2)*d(3,4,-1)"), &[8; 4])
                .sum
                .is_empty()
        );
        assert!(!vertex("f(-1,1,2)*f(3,4,-1)", &[8; 4]).sum.is_empty());
    }

    #[test]
    fn the_power_of_n_is_kept_apart() {
        let quark = vertex("T(3,2,1)", &[-3, 3, 8]);
        let pair = quark
            .grow(&[(0, Child::Leg(1)), (1, Child::Leg(0))], Some(2))
            .unwrap();
        let whole = [
            (0, Child::Leg(3)),
            (1, Child::Leg(2)),
            (2, Child::Tree(&pair)),
        ];
        let diagram = quark.grow(&whole, None).unwrap();
        let flows: Vec<(i32, Option<(i64, i64)>)> = diagram
            .flows()
            .iter()
            .map(|(s, n)| (s.power(), n.real().ok()))
            .collect();
        assert_eq!(flows, [(0, Some((1, 2))), (-1, Some((-1, 2)))]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (text, legs, says) in [
            ("T(3,1,2)", &[-3, 3, 8][..], "leg 1 has colour -3"),
            ("f(1,2)", &[8, 8], "f has 2"),
            ("Epsilon(1,2,3)", &[3, 3, -3], "colour -3 and not 3"),
            ("K6(1,2,3)", &[6, 3, 3], "colour 3 and not -3"),
            ("T6(3,1)", &[6, -6, 8], "leg 3 has colour 8"),
            ("g(1,2,3)", &[8, 8, 8], "no colour structure g"),
            ("1", &[8, 8], "does not fit leg 1"),
            ("0.5*Identity(1,2)", &[8, 8], "whole"),
            ("f(1,2,9)", &[8, 8, 8], "not a leg"),
            (
                "100000*100000*100000*100000*Identity(1,2)",
                &[3, -3],
                "64 bits",
            ),
        ] {
            let error = VertexColor::new(&parse(text).unwrap(), legs).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
