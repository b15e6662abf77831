//! Colour as sums of products of strings of generators.
//!
//! Generators are normalised to `Tr(T^a T^b) = 1/2`. A *string* is a product of generators between a triplet index (its
//! *head*, of an outgoing quark) and an antitriplet index (its *tail*), or a trace. Indices are labels: those of
//! external legs, and others that are summed over. A sum over an octet index uses `T^a_ij T^a_kl = 1/2 (d_il d_kj -
//! d_ij d_kl / N)`. The power of `N` is kept separate from the number, because the leading colour flows are those with
//! its highest power.
//!
//! `Epsilon` of three triplet indices is a separate piece. Each of its indices is the tail of a string, a *dummy* with
//! a unique label; those of `EpsilonBar` are heads. A sextet index is two triplet indices, its own label and the
//! [`second`] one, in which everything is symmetric after summation.

use super::number::Number;
use rustc_hash::FxHashMap as HashMap;

/// A label of an index.
pub type Label = u8;

/// Capacity for the labels and headers of all strings of a product.
const CAPACITY: usize = 62;
/// Bits of a header that hold the kind of a piece.
const KIND: u8 = 0xc0;
/// First label of dummies of `Epsilon` and `EpsilonBar`; all other labels are below.
const DUMMY: Label = 220;

/// Whether a label connects a [`PieceKind::Epsilon`] or [`PieceKind::EpsilonBar`] with a string.
pub fn is_dummy(label: Label) -> bool {
    label >= DUMMY
}

/// The kinds of pieces of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKind {
    /// A product of generators between a head and a tail.
    String,
    /// A trace.
    Trace,
    /// `Epsilon` of three tails.
    Epsilon,
    /// `EpsilonBar` of three heads.
    EpsilonBar,
}

impl PieceKind {
    fn header(self) -> u8 {
        match self {
            PieceKind::String => 0,
            PieceKind::Trace => 0x80,
            PieceKind::Epsilon => 0x40,
            PieceKind::EpsilonBar => 0xc0,
        }
    }

    fn from_header(header: u8) -> PieceKind {
        match header & KIND {
            0 => PieceKind::String,
            0x80 => PieceKind::Trace,
            0x40 => PieceKind::Epsilon,
            _ => PieceKind::EpsilonBar,
        }
    }

    fn string_or_trace(trace: bool) -> PieceKind {
        if trace {
            PieceKind::Trace
        } else {
            PieceKind::String
        }
    }
}

/// The second triplet index of a sextet with this label.
pub fn second(label: Label) -> Label {
    match label {
        0..50 => label + 50,
        100..110 => label + 110,
        _ => label + 50,
    }
}

/// The label whose [`second`] label this is, if any.
pub fn first_of(second: Label) -> Option<Label> {
    match second {
        50..100 | 160..=200 => Some(second - 50),
        210..220 => Some(second - 110),
        _ => None,
    }
}

/// A product of strings. Each is a header, which holds length and [`PieceKind`], and its labels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strings {
    /// Headers and labels; zero from `length` on.
    bytes: [u8; CAPACITY],
    length: u8,
    /// Power of `N`.
    power: i8,
}

/// A piece of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductPiece<'a> {
    /// Its kind.
    pub kind: PieceKind,
    /// Its labels; those of a string from head to tail.
    pub labels: &'a [Label],
}

impl ProductPiece<'_> {
    /// Whether it is the trace of one generator, which is zero.
    pub fn is_trace_of_one(&self) -> bool {
        self.kind == PieceKind::Trace && self.labels.len() == 1
    }
}

/// A product that would be longer than [`CAPACITY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

type Fallible<T> = Result<T, TooLong>;

impl std::hash::Hash for Strings {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bytes[..usize::from(self.length)].hash(state);
        self.power.hash(state);
    }
}

impl Strings {
    /// The empty product.
    pub const ONE: Strings = Strings {
        bytes: [0; CAPACITY],
        length: 0,
        power: 0,
    };

    /// One string.
    pub fn new(trace: bool, labels: &[Label]) -> Fallible<Strings> {
        let mut strings = Strings::ONE;
        strings.push(PieceKind::string_or_trace(trace), &[labels])?;
        Ok(strings)
    }

    /// `Epsilon` with the tails of strings from these heads, or `EpsilonBar` with the heads of strings to these tails.
    pub fn epsilon(bar: bool, labels: [Label; 3]) -> Fallible<Strings> {
        let mut strings = Strings::ONE;
        let dummies = [DUMMY, DUMMY + 1, DUMMY + 2];
        for (label, dummy) in labels.into_iter().zip(dummies) {
            let ends = if bar { [dummy, label] } else { [label, dummy] };
            strings.push(PieceKind::String, &[&ends])?;
        }
        strings.push(
            if bar {
                PieceKind::EpsilonBar
            } else {
                PieceKind::Epsilon
            },
            &[&dummies],
        )?;
        Ok(strings)
    }

    fn epsilons(&self) -> impl Iterator<Item = ProductPiece<'_>> {
        self.pieces()
            .filter(|p| matches!(p.kind, PieceKind::Epsilon | PieceKind::EpsilonBar))
    }

    /// Splits the product into factors: the power of `N`, each epsilon with the strings that end in it, and every other
    /// string.
    pub fn factors(&self) -> Fallible<Vec<Strings>> {
        let mut factors = vec![Strings::ONE.with_power(self.power)];
        for epsilon in self.epsilons() {
            let mut factor = Strings::ONE;
            factor.push(epsilon.kind, &[epsilon.labels])?;
            let mut strings = self.pieces().filter(|p| p.kind == PieceKind::String);
            let ends_here = |p: &ProductPiece| p.labels.iter().any(|l| epsilon.labels.contains(l));
            strings.try_for_each(|p| match ends_here(&p) {
                true => factor.push(p.kind, &[p.labels]),
                false => Ok(()),
            })?;
            factors.push(factor);
        }
        for piece in self.pieces() {
            let of_epsilon = piece.labels.iter().any(|&l| is_dummy(l));
            if !of_epsilon {
                let mut factor = Strings::ONE;
                factor.push(piece.kind, &[piece.labels])?;
                factors.push(factor);
            }
        }
        Ok(factors)
    }

    /// The power of `N`.
    pub fn power(&self) -> i32 {
        self.power.into()
    }

    /// The same with another power of `N`.
    pub fn with_power(mut self, power: i8) -> Strings {
        self.power = power;
        self
    }

    /// The pieces of the product.
    pub fn pieces(&self) -> impl Iterator<Item = ProductPiece<'_>> {
        let mut rest = &self.bytes[..usize::from(self.length)];
        std::iter::from_fn(move || {
            let (&header, after) = rest.split_first()?;
            let (labels, behind) = after.split_at(usize::from(header & !KIND));
            rest = behind;
            Some(ProductPiece {
                kind: PieceKind::from_header(header),
                labels,
            })
        })
    }

    /// Appends a piece that is concatenated from parts.
    fn push(&mut self, kind: PieceKind, parts: &[&[Label]]) -> Fallible<()> {
        let header = usize::from(self.length);
        let mut end = header + 1;
        for part in parts {
            let place = self.bytes.get_mut(end..end + part.len()).ok_or(TooLong)?;
            place.copy_from_slice(part);
            end += part.len();
        }
        let labels = (end - header - 1) as u8;
        *self.bytes.get_mut(header).ok_or(TooLong)? = labels | kind.header();
        self.length = end as u8;
        Ok(())
    }

    /// The product of both.
    pub fn times(&self, other: &Strings) -> Fallible<Strings> {
        let mut product = *self;
        let mut other = *other;
        let last = |s: &Strings| s.epsilons().flat_map(|p| p.labels.to_vec()).max();
        if let (Some(own), Some(others)) = (last(self), last(&other)) {
            // Dummies of both factors must differ.
            let shift = own + 1 - DUMMY;
            // The largest label is not used.
            if others.checked_add(shift).is_none_or(|l| l == Label::MAX) {
                return Err(TooLong);
            }
            other = other.relabelled(|l| if is_dummy(l) { l + shift } else { l });
        }
        for piece in other.pieces() {
            product.push(piece.kind, &[piece.labels])?;
        }
        product.power += other.power;
        Ok(product)
    }

    /// Replaces labels.
    pub fn relabelled(&self, mut f: impl FnMut(Label) -> Label) -> Strings {
        let mut strings = *self;
        let mut at = 0;
        while at < usize::from(self.length) {
            let end = at + 1 + usize::from(self.bytes[at] & !KIND);
            for label in &mut strings.bytes[at + 1..end] {
                *label = f(*label);
            }
            at = end;
        }
        strings
    }

    /// Whether a label occurs.
    pub fn has(&self, label: Label) -> bool {
        self.pieces().any(|p| p.labels.contains(&label))
    }

    /// Whether a label is the head or tail of a string.
    pub fn is_end(&self, label: Label) -> bool {
        let mut strings = self.pieces().filter(|p| p.kind == PieceKind::String);
        strings.any(|p| p.labels.first() == Some(&label) || p.labels.last() == Some(&label))
    }

    /// Removes a label: replaces its generator by the unit matrix.
    pub fn cut(&self, label: Label) -> Fallible<Strings> {
        let mut strings = Strings::ONE.with_power(self.power);
        for piece in self.pieces() {
            let at = piece.labels.iter().position(|l| *l == label);
            let at = at.unwrap_or(piece.len());
            let behind = piece.labels.get(at + 1..).unwrap_or(&[]);
            strings.push(piece.kind, &[&piece.labels[..at], behind])?;
        }
        Ok(strings)
    }

    /// The complex conjugate: strings are reversed, heads become tails.
    pub fn conjugate(&self) -> Strings {
        let mut strings = *self;
        let mut at = 0;
        while at < usize::from(self.length) {
            let end = at + 1 + usize::from(self.bytes[at] & !KIND);
            match PieceKind::from_header(self.bytes[at]) {
                PieceKind::String | PieceKind::Trace => strings.bytes[at + 1..end].reverse(),
                // One of the two bits distinguishes them.
                PieceKind::Epsilon | PieceKind::EpsilonBar => strings.bytes[at] ^= 0x80,
            }
            at = end;
        }
        strings
    }

    /// A unique form, and whether it is negated: traces begin with their smallest label, strings come before traces and
    /// are sorted, as are the strings of an epsilon. The two indices of a sextet are in the smaller order. `None` if
    /// the product vanishes, such as the trace of one generator; empty traces become powers of `N`.
    pub fn signed_normal(&self) -> Option<(Strings, bool)> {
        if self.is_plain() {
            return self.normal().map(|s| (s, false));
        }
        let labels = self.pieces().flat_map(|p| p.labels.iter().copied());
        let mut sextets: Vec<Label> = labels.filter_map(first_of).collect();
        sextets.sort_unstable();
        sextets.dedup();
        let mut least: Option<(Strings, bool)> = None;
        for choice in 0..1u32 << sextets.len() {
            let swapped = self.relabelled(|l| {
                let first = first_of(l).unwrap_or(l);
                match sextets.binary_search(&first) {
                    Ok(at) if choice >> at & 1 == 1 => {
                        if l == first {
                            second(l)
                        } else {
                            first
                        }
                    }
                    _ => l,
                }
            });
            let (named, negative) = swapped.named_dummies()?;
            let normal = named.normal()?;
            match least {
                // Symmetric in a sextet and antisymmetric in an epsilon.
                Some((other, sign)) if normal == other && sign != negative => return None,
                Some((other, _)) if normal >= other => (),
                _ => least = Some((normal, negative)),
            }
        }
        least
    }

    /// Whether there is neither an epsilon nor a sextet.
    fn is_plain(&self) -> bool {
        let mut at = 0;
        while at < usize::from(self.length) {
            let header = self.bytes[at];
            let end = at + 1 + usize::from(header & !KIND);
            let mut labels = self.bytes[at + 1..end].iter();
            if header & 0x40 != 0 || labels.any(|&label| first_of(label).is_some()) {
                return false;
            }
            at = end;
        }
        true
    }

    /// Renames dummies in the order of the strings that end in them; also returns whether that changes the sign.
    fn named_dummies(&self) -> Option<(Strings, bool)> {
        let mut negative = false;
        let mut epsilons: Vec<(PieceKind, Vec<Vec<Label>>, [Label; 3])> = Vec::new();
        for piece in self.epsilons() {
            let mut strings: Vec<(Vec<Label>, Label)> = Vec::new();
            for &dummy in piece.labels {
                let of =
                    |p: &ProductPiece| p.kind == PieceKind::String && p.labels.contains(&dummy);
                let string = self.pieces().find(of)?;
                // Dummies of other epsilons are not renamed yet.
                let labels = string
                    .labels
                    .iter()
                    .map(|&l| if is_dummy(l) { DUMMY } else { l });
                strings.push((labels.collect(), dummy));
            }
            let pairs = [(0, 1), (0, 2), (1, 2)];
            negative ^= pairs
                .iter()
                .filter(|(i, j)| strings[*i].0 > strings[*j].0)
                .count()
                % 2
                == 1;
            strings.sort();
            let dummies = [strings[0].1, strings[1].1, strings[2].1];
            epsilons.push((
                piece.kind,
                strings.into_iter().map(|(s, _)| s).collect(),
                dummies,
            ));
        }
        epsilons.sort();
        let mut names = [Label::MAX; 256];
        let order = epsilons.iter().flat_map(|(_, _, dummies)| dummies);
        for (name, &dummy) in (DUMMY..).zip(order) {
            names[usize::from(dummy)] = name;
        }
        let renamed = self.relabelled(|l| {
            if is_dummy(l) {
                names[usize::from(l)]
            } else {
                l
            }
        });
        // The labels of an epsilon are in the order for which its sign was determined.
        let mut strings = Strings::ONE.with_power(self.power);
        for piece in renamed.pieces() {
            let mut labels = piece.labels.to_vec();
            if matches!(piece.kind, PieceKind::Epsilon | PieceKind::EpsilonBar) {
                labels.sort_unstable();
            }
            strings.push(piece.kind, &[&labels]).ok()?;
        }
        Some((strings, negative))
    }

    /// Replaces the product of an `Epsilon` and an `EpsilonBar` by strings that connect them, with their signs; `None`
    /// if there is no such product.
    fn without_epsilons(&self) -> Fallible<Option<Vec<(Strings, Number)>>> {
        let of = |kind: PieceKind| self.pieces().position(|p| p.kind == kind);
        let (Some(a), Some(b)) = (of(PieceKind::Epsilon), of(PieceKind::EpsilonBar)) else {
            return Ok(None);
        };
        let labels = |i: usize| {
            self.pieces()
                .nth(i)
                .map_or(Vec::new(), |p| p.labels.to_vec())
        };
        let (tails, heads) = (labels(a), labels(b));
        let rest = self.without(a, b)?;
        let orders = [
            [0, 1, 2],
            [1, 2, 0],
            [2, 0, 1],
            [0, 2, 1],
            [2, 1, 0],
            [1, 0, 2],
        ];
        let mut sum = Vec::with_capacity(6);
        for (at, order) in orders.iter().enumerate() {
            let mut strings = rest;
            for (tail, &i) in tails.iter().zip(order) {
                let head = heads[i];
                strings = strings.relabelled(|l| if l == head { *tail } else { l });
                strings = strings.joined(*tail)?.ok_or(TooLong)?;
            }
            sum.push((strings, Number::ratio(if at < 3 { 1 } else { -1 }, 1)));
        }
        Ok(Some(sum))
    }

    /// The unique form of a product without epsilons and sextets, for which see [`Strings::signed_normal`].
    pub fn normal(&self) -> Option<Strings> {
        let mut pieces: Vec<ProductPiece> = Vec::with_capacity(8);
        let mut power = self.power;
        for piece in self.pieces() {
            match piece.labels.len() {
                0 => power += 1,
                1 => return None,
                _ => pieces.push(piece),
            }
        }
        let smallest = |piece: &ProductPiece| {
            let places = piece.labels.iter().enumerate();
            let smallest = places.min_by_key(|(_, label)| **label);
            smallest.map_or(0, |(at, _)| at)
        };
        let mut strings = Strings::ONE.with_power(power);
        let start = |piece: &ProductPiece| {
            if piece.kind == PieceKind::Trace {
                smallest(piece)
            } else {
                0
            }
        };
        let key = |piece: &ProductPiece| (piece.kind, start(piece));
        pieces.sort_unstable_by(|a, b| {
            let (ka, kb) = (key(a), key(b));
            let rotated =
                |p: &ProductPiece, at: usize, i: usize| p.labels[(at + i) % p.labels.len()];
            ka.0.cmp(&kb.0).then_with(|| {
                let labels = |p, at| (0..ProductPiece::len(p)).map(move |i| rotated(p, at, i));
                labels(a, ka.1).cmp(labels(b, kb.1))
            })
        });
        for piece in &pieces {
            let (behind, first) = piece.labels.split_at(start(piece));
            // Not longer than the original product.
            strings.push(piece.kind, &[first, behind]).ok()?;
        }
        Some(strings)
    }

    /// The piece with a label and the position in it, after skipping `skip` occurrences.
    fn find(&self, label: Label, skip: usize) -> Option<(usize, usize)> {
        let mut left = skip;
        for (i, piece) in self.pieces().enumerate() {
            for (at, l) in piece.labels.iter().enumerate() {
                if *l == label {
                    if left == 0 {
                        return Some((i, at));
                    }
                    left -= 1;
                }
            }
        }
        None
    }

    /// All pieces except two.
    fn without(&self, first: usize, second: usize) -> Fallible<Strings> {
        let mut strings = Strings::ONE.with_power(self.power);
        for (i, piece) in self.pieces().enumerate() {
            if i != first && i != second {
                strings.push(piece.kind, &[piece.labels])?;
            }
        }
        Ok(strings)
    }

    /// Joins the tail of one string with the head of another one, or of the same, with the same label.
    pub fn joined(&self, label: Label) -> Fallible<Option<Strings>> {
        let (Some(a), Some(b)) = (self.find(label, 0), self.find(label, 1)) else {
            return Ok(None);
        };
        let piece = |i: usize| self.pieces().nth(i).map_or(&[][..], |p| p.labels);
        let mut strings = self.without(a.0, b.0)?;
        // The string in which the label is the tail comes first.
        let (front, back) = if b.1 == 0 { (a, b) } else { (b, a) };
        let (x, y) = (piece(front.0), piece(back.0));
        match a.0 == b.0 {
            true => strings.push(PieceKind::Trace, &[&x[1..x.len() - 1]])?,
            false => strings.push(PieceKind::String, &[&x[..x.len() - 1], &y[1..]])?,
        }
        Ok(Some(strings))
    }

    /// Sums over an octet index that occurs twice. The second term, with its factor `-1/(2N)`, is omitted if
    /// `traceless`, where such terms cancel.
    pub fn contracted(
        &self,
        label: Label,
        traceless: bool,
        sum: &mut Vec<(Strings, Number)>,
    ) -> Fallible<()> {
        let (Some(a), Some(b)) = (self.find(label, 0), self.find(label, 1)) else {
            return Ok(());
        };
        let piece = |i: usize| {
            self.pieces().nth(i).unwrap_or(ProductPiece {
                kind: PieceKind::Trace,
                labels: &[],
            })
        };
        let rest = self.without(a.0, b.0)?;
        let mut crossed = rest;
        let mut apart = rest.with_power(rest.power - 1);
        let (x, y) = (piece(a.0), piece(b.0));
        let (before, after) = (&x.labels[..a.1], &x.labels[a.1 + 1..]);
        if a.0 == b.0 {
            let (inner, after) = (&x.labels[a.1 + 1..b.1], &x.labels[b.1 + 1..]);
            crossed.push(x.kind, &[before, after])?;
            crossed.push(PieceKind::Trace, &[inner])?;
            apart.push(x.kind, &[before, inner, after])?;
        } else {
            let (start, end) = (&y.labels[..b.1], &y.labels[b.1 + 1..]);
            match (x.kind, y.kind) {
                // The other generators of the trace replace the label in the other string.
                (kind, PieceKind::Trace) => crossed.push(kind, &[before, end, start, after])?,
                (PieceKind::Trace, kind) => crossed.push(kind, &[start, after, before, end])?,
                _ => {
                    crossed.push(PieceKind::String, &[before, end])?;
                    crossed.push(PieceKind::String, &[start, after])?;
                }
            }
            apart.push(x.kind, &[before, after])?;
            apart.push(y.kind, &[start, end])?;
        }
        sum.push((crossed, Number::ratio(1, 2)));
        if !traceless {
            sum.push((apart, Number::ratio(-1, 2)));
        }
        Ok(())
    }
}

impl ProductPiece<'_> {
    fn len(&self) -> usize {
        self.labels.len()
    }
}

impl std::fmt::Debug for Strings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "N^{}", self.power)?;
        for piece in self.pieces() {
            let name = match piece.kind {
                PieceKind::String => "T",
                PieceKind::Trace => "Tr",
                PieceKind::Epsilon => "Epsilon",
                PieceKind::EpsilonBar => "EpsilonBar",
            };
            write!(f, " {name}{:?}", piece.labels)?;
        }
        Ok(())
    }
}

/// A sum of products of strings.
pub type StringSum = Vec<(Strings, Number)>;

/// Replaces all products of `Epsilon` and `EpsilonBar` in a sum.
pub fn reduced(sum: StringSum) -> Fallible<StringSum> {
    let mut left = sum;
    let mut done = Vec::with_capacity(left.len());
    while let Some((strings, number)) = left.pop() {
        match strings.without_epsilons()? {
            None => done.push((strings, number)),
            Some(terms) => left.extend(terms.into_iter().map(|(s, sign)| (s, sign.times(number)))),
        }
    }
    done.reverse();
    Ok(done)
}

/// Adds up equal products; vanishing ones are removed.
pub fn collected(terms: impl IntoIterator<Item = (Strings, Number)>) -> StringSum {
    let mut places: HashMap<Strings, usize> = HashMap::default();
    let mut sum: StringSum = Vec::new();
    for (strings, number) in terms {
        let Some((strings, negative)) = strings.signed_normal() else {
            continue;
        };
        let number = if negative {
            number.times(Number::ratio(-1, 1))
        } else {
            number
        };
        match places.entry(strings) {
            std::collections::hash_map::Entry::Occupied(place) => {
                let (_, total) = &mut sum[*place.get()];
                *total = total.plus(number);
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(sum.len());
                sum.push((strings, number));
            }
        }
    }
    sum.retain(|(_, number)| !number.is_zero());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contracts all labels that occur twice, and returns the number for `N = 3`.
    fn value(terms: StringSum) -> f64 {
        let mut terms = terms;
        loop {
            let label =
                |(s, _): &(Strings, Number)| s.pieces().find_map(|p| p.labels.first().copied());
            let Some(label) = terms.iter().find_map(label) else {
                let each = terms.iter().map(|(s, n)| {
                    assert!(s.pieces().all(|p| p.labels.is_empty()));
                    n.value().unwrap().re * 3f64.powi(s.power())
                });
                return each.sum();
            };
            let mut next = Vec::new();
            for (strings, number) in &terms {
                if strings.is_end(label) {
                    next.push((strings.joined(label).unwrap().unwrap(), *number));
                } else {
                    let mut sum = Vec::new();
                    strings.contracted(label, false, &mut sum).unwrap();
                    next.extend(sum.into_iter().map(|(s, n)| (s, n.times(*number))));
                }
            }
            terms = collected(next);
        }
    }

    fn trace(labels: &[Label]) -> Strings {
        Strings::new(true, labels).unwrap()
    }

    fn squared(strings: Strings) -> f64 {
        let product = strings.times(&strings.conjugate()).unwrap();
        value(vec![(product, Number::ONE)])
    }

    #[test]
    fn casimirs_of_su3() {
        // Tr(T^a T^a) = (N^2 - 1)/2; T^a T^a between a quark's ends: N C_F.
        assert!((value(vec![(trace(&[1, 1]), Number::ONE)]) - 4.0).abs() < 1e-14);
        assert!((squared(Strings::new(false, &[1, 7, 2]).unwrap()) - 4.0).abs() < 1e-14);
        // Tr(T^a T^b T^a T^b) = C_F N (C_F - N/2).
        let crossed = value(vec![(trace(&[1, 2, 1, 2]), Number::ONE)]);
        assert!((crossed - 4.0 * (4.0 / 3.0 - 1.5)).abs() < 1e-14);
        assert_eq!(value(vec![(trace(&[1]), Number::ONE)]), 0.0);
    }

    /// `f^acd f^bcd = N delta^ab`, so `f f = N (N^2 - 1)`, and `d d = (N^2 - 4)(N^2 - 1)/N`.
    #[test]
    fn structure_constants_have_their_norms() {
        let norm = |sign: i64| {
            let both = [(trace(&[1, 2, 3]), 1), (trace(&[3, 2, 1]), sign)];
            let mut sum = Vec::new();
            for (a, x) in both {
                for (b, y) in both {
                    let product = a.times(&b.conjugate()).unwrap();
                    sum.push((product, Number::ratio(4 * x * y, 1)));
                }
            }
            value(collected(sum))
        };
        assert!((norm(-1) - 24.0).abs() < 1e-12);
        assert!((norm(1) - 40.0 / 3.0).abs() < 1e-12);
    }

    /// A sextet is symmetric in two indices, in which an epsilon is antisymmetric.
    #[test]
    fn the_antisymmetric_part_of_a_sextet_vanishes() {
        let epsilon = |labels| Strings::epsilon(true, labels).unwrap().signed_normal();
        assert_eq!(epsilon([1, second(1), 2]), None);
        assert!(epsilon([1, 3, 2]).is_some());
    }

    #[test]
    fn the_unique_form_is_unique() {
        let pair = |a, b| {
            let [a, b] = [a, b].map(|labels| Strings::epsilon(false, labels).unwrap());
            a.times(&b).unwrap().signed_normal().unwrap()
        };
        let (strings, negative) = pair([0, 1, 2], [3, 4, 5]);
        assert_eq!(pair([4, 3, 5], [1, 2, 0]), (strings, !negative));
        assert_ne!(pair([0, 1, 3], [2, 4, 5]).0, strings);
        let one = trace(&[5, 2, 3])
            .times(&Strings::new(false, &[9, 4, 8]).unwrap())
            .unwrap();
        let other = Strings::new(false, &[9, 4, 8])
            .unwrap()
            .times(&trace(&[2, 3, 5]))
            .unwrap();
        assert_eq!(one.normal(), other.normal());
        assert_ne!(one.normal(), one.conjugate().normal());
        assert_eq!(trace(&[1]).normal(), None);
        assert_eq!(trace(&[]).normal().unwrap().power(), 1);
        let long = Strings::new(true, &[1; CAPACITY]);
        assert_eq!(long, Err(TooLong));
    }
}
