//! Colour flows, of which one is drawn for each point.
//!
//! A flow has a probability that follows the singularities of `|JAMP|^2` where gluons are soft or collinear: proportional
//! to the product of `1 / (2 p_a p_b)` of all pairs of legs that its colour lines connect, as in the formula of Parke and
//! Taylor (Phys. Rev. Lett. 56 (1986) 2459), times `2 p_a p_b` of both ends of each string. Strings between different
//! quarks have different sizes.
//!
//! GPUs draw in the same way (`cuda/harvest.cuh`).

use mebridge_phasespace::Rows;
use mebridge_support::sorted::SortedMap;

/// Points whose products of invariants are computed at a time.
pub const POINTS: usize = 32;

/// An invariant is at least this part of the product of both energies: rounding may leave nothing of a small one.
pub const LEAST_INVARIANT: f64 = 1e-14;

/// A colour flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColorFlow {
    /// Index of the class whose matrix element serves it.
    pub class: usize,
    /// For each leg of that matrix element the leg of the point whose momentum it gets, and whether it is negated.
    pub legs: Vec<(u8, bool)>,
    /// The pairs of legs that a colour line connects, in the order of their strings.
    pub lines: Vec<[u8; 2]>,
}

/// The flows of a matrix element, and the products of invariants by which they are drawn.
#[derive(Clone, Debug)]
pub struct ColorFlows {
    /// The flows; those that begin with the same lines follow each other.
    pub flows: Vec<ColorFlow>,
    /// The pairs of legs.
    pub pairs: Vec<[u8; 2]>,
    /// Products of invariants, after those that they contain.
    pub products: Vec<Product>,
    /// The product of each flow; `None` if it is 1.
    pub of_flows: Vec<Option<u32>>,
    /// The size of `C_ff |JAMP_f|^2` over the product, for each class.
    pub sizes: Vec<f64>,
}

/// A product of invariants: an earlier one, if any, times the invariant of a pair or its inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Product {
    /// The earlier product.
    pub before: Option<u32>,
    /// Index of the pair.
    pub pair: u32,
    /// Whether this is the inverse.
    pub inverse: bool,
}

impl ColorFlows {
    /// Prepares the flows of `classes` classes, with sizes of 1.
    pub fn new(mut flows: Vec<ColorFlow>, classes: usize) -> ColorFlows {
        flows.sort_by_cached_key(|flow| factors(&flow.lines));
        let mut pairs: SortedMap<[u8; 2], u32> = SortedMap::new();
        let mut known: SortedMap<Product, u32> = SortedMap::new();
        let mut products = Vec::new();
        let of_flow = |flow: &ColorFlow| {
            let mut before = None;
            for (pair, inverse) in factors(&flow.lines) {
                let next = pairs.len() as u32;
                let product = Product {
                    before,
                    pair: *pairs.entry(pair).or_insert(next),
                    inverse,
                };
                before = Some(*known.entry(product).or_insert_with(|| {
                    products.push(product);
                    products.len() as u32 - 1
                }));
            }
            before
        };
        let of_flows = flows.iter().map(of_flow).collect();
        let mut listed = vec![[0; 2]; pairs.len()];
        for (pair, number) in pairs {
            listed[number as usize] = pair;
        }
        ColorFlows {
            flows,
            pairs: listed,
            products,
            of_flows,
            sizes: vec![1.0; classes],
        }
    }
}

/// The pairs of legs whose invariants are multiplied for these lines, and whether by the inverse.
fn factors(lines: &[[u8; 2]]) -> Vec<([u8; 2], bool)> {
    let ordered = |[a, b]: [u8; 2]| [a.min(b), a.max(b)];
    let mut found = Vec::new();
    for string in lines.chunk_by(|one, next| one[1] == next[0]) {
        let (Some(first), Some(last)) = (string.first(), string.last()) else {
            continue;
        };
        let ends = [first[0], last[1]];
        if let [_] = string {
            // The ends are those of the line.
            continue;
        }
        found.extend(string.iter().map(|&line| (ordered(line), true)));
        if ends[0] != ends[1] {
            found.push((ordered(ends), false));
        }
    }
    found
}

/// Draws flows for points, [`POINTS`] at a time.
#[derive(Debug)]
pub struct FlowDrawer {
    /// `[pair][point]`: 2 p_a p_b, and its inverse.
    invariants: Vec<[[f64; POINTS]; 2]>,
    /// `[product][point]`
    products: Vec<[f64; POINTS]>,
}

impl FlowDrawer {
    /// Makes a drawer for these flows.
    pub fn new(flows: &ColorFlows) -> FlowDrawer {
        FlowDrawer {
            invariants: vec![[[0.0; POINTS]; 2]; flows.pairs.len()],
            products: vec![[0.0; POINTS]; flows.products.len()],
        }
    }

    /// Sets the points: `count` from `begin` on, with the momenta of the legs from row `first` on.
    pub fn set(
        &mut self,
        flows: &ColorFlows,
        points: &Rows,
        first: usize,
        begin: usize,
        count: usize,
    ) {
        for (found, pair) in self.invariants.iter_mut().zip(&flows.pairs) {
            let [a, b] = pair.map(|leg| {
                let row =
                    |i: usize| &points.row(first + 4 * usize::from(leg) + i)[begin..][..count];
                [0, 1, 2, 3].map(row)
            });
            for place in 0..count {
                let product = |i: usize| a[i][place] * b[i][place];
                let energies = product(0);
                let invariant = (energies - product(1) - product(2) - product(3)).abs();
                let invariant = 2.0 * f64::max(invariant, LEAST_INVARIANT * energies);
                (found[0][place], found[1][place]) = (invariant, 1.0 / invariant);
            }
        }
        for (number, of) in flows.products.iter().enumerate() {
            let factor = &self.invariants[of.pair as usize][usize::from(of.inverse)];
            let (earlier, product) = self.products.split_at_mut(number);
            product[0] = match of.before {
                None => *factor,
                Some(before) => {
                    let before = &earlier[before as usize];
                    std::array::from_fn(|place| before[place] * factor[place])
                }
            };
        }
    }

    /// Draws the flow of a point by a number in (0, 1), and returns its index and its probability.
    pub fn draw(&self, flows: &ColorFlows, place: usize, random: f64) -> (usize, f64) {
        let count = flows.flows.len();
        let total: f64 = (0..count).map(|flow| self.size(flows, flow, place)).sum();
        let (mut rest, mut drawn) = (random * total, (0, f64::NAN));
        for flow in 0..count {
            let size = self.size(flows, flow, place);
            drawn = (flow, size / total);
            if rest < size {
                break;
            }
            rest -= size;
        }
        drawn
    }

    /// The probability of a flow at a point, up to a factor.
    pub fn size(&self, flows: &ColorFlows, flow: usize, place: usize) -> f64 {
        let product = flows.of_flows[flow];
        let product = product.map_or(1.0, |product| self.products[product as usize][place]);
        flows.sizes[flows.flows[flow].class] * product
    }
}
