//! |M|^2 at leading colour from one colour flow for each point, as an approximation of |M|^2.
//!
//! The flow f of a point is drawn with a probability p_f that follows the singularities of `|JAMP_f|^2` where gluons are
//! soft or collinear: proportional to the product of `1 / (2 p_a p_b)` of all pairs of legs that its colour lines connect,
//! as in the formula of Parke and Taylor (Phys. Rev. Lett. 56 (1986) 2459), times `2 p_a p_b` of both ends of each string.
//! Strings between different quarks have different sizes, which are estimated from some points. The mean of `C_ff
//! |JAMP_f|^2 / p_f` over flows is the leading-colour |M|^2, and it varies little. One flow costs little, however many
//! there are ([`crate::process::leading_color`]).

use crate::backend::{AllowedMomenta, SessionMemory};
use crate::bridge::Bridge;
use crate::bridge::sampler::Sampler;
use crate::error::Result;
use crate::process::Process;
use crate::process::leading_color::{LeadingColor, SingleFlow};
use crate::process::phase_space::PhaseSpace;
use crate::runtime::Switches;
use crate::sample::{DEFAULT_ALPHA_S, Momenta, Points, g_s};
use mebridge_phasespace::Rows;
use mebridge_sampler::random::Philox;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Points whose products of invariants are computed at a time.
const POINTS: usize = 32;

/// A process with its colour flows, ready for samplers.
pub struct LeadingColorBridge {
    flows: Arc<Flows>,
    /// For each class of flows.
    classes: Vec<Bridge>,
}

/// Draws colour flows, and evaluates them, on one thread.
pub struct LeadingColorSampler {
    flows: Arc<Flows>,
    classes: Vec<Sampler>,
    /// `[pair][point]`: 2 p_a p_b, and its inverse.
    invariants: Vec<[[f64; POINTS]; 2]>,
    /// `[product][point]`
    products: Vec<[f64; POINTS]>,
    /// For each class the points that have a flow of it, and the momenta, couplings and probabilities of these.
    of_classes: Vec<OfClass>,
}

/// The points of a class.
#[derive(Default)]
struct OfClass {
    points: Vec<usize>,
    momenta: Vec<f64>,
    g_s: Vec<f64>,
    probabilities: Vec<f64>,
}

/// The flows of a process, and the products of invariants by which they are drawn.
#[derive(Clone)]
struct Flows {
    flows: Vec<SingleFlow>,
    /// Whether each leg is incoming.
    incoming: Vec<bool>,
    /// The pairs of legs.
    pairs: Vec<[u8; 2]>,
    /// Flows that begin with the same lines share products.
    products: Vec<Product>,
    /// The product of each flow; `None` if it is 1.
    of_flows: Vec<Option<u32>>,
    /// For each class the mean share of `C_ff |JAMP_f|^2` over the product, in the sum of these over classes.
    sizes: Vec<f64>,
}

/// A product of invariants: an earlier one, if any, times the invariant of a pair or its inverse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Product {
    before: Option<u32>,
    pair: u32,
    inverse: bool,
}

impl LeadingColorBridge {
    /// Makes the bridges of a process with these flows, on a CPU; `card` is as for [`Bridge::new`].
    ///
    /// # Errors
    /// A flow cannot be evaluated.
    pub fn new(
        process: &Process,
        flows: LeadingColor,
        card: &[f64],
        switches: &Switches,
    ) -> Result<LeadingColorBridge> {
        let LeadingColor { classes, flows } = flows;
        let flows = Flows::new(process, flows, classes.len());
        let class = |process: Process| {
            let mut bridge = Bridge::new(process, card, switches, 1)?;
            bridge.allow(AllowedMomenta::Crossed);
            Ok(bridge)
        };
        let mut made = LeadingColorBridge {
            flows: Arc::new(flows),
            classes: classes.into_iter().map(class).collect::<Result<_>>()?,
        };
        if made.classes.len() > 1 {
            let sizes = made.sizes(process)?;
            Arc::make_mut(&mut made.flows).sizes = sizes;
        }
        Ok(made)
    }

    /// Estimates the sizes of all classes, from some points far above the masses.
    fn sizes(&mut self, process: &Process) -> Result<Vec<f64>> {
        let masses = self.classes[0].masses();
        let (incoming, outgoing) = masses.split_at(2);
        let energy = 1000.0 + 4.0 * masses.iter().sum::<f64>();
        let space = PhaseSpace::new(energy, incoming, outgoing)?;
        let mut points = Rows::new(4 * process.legs.len(), POINTS);
        points.set_points(POINTS);
        let random = Philox {
            seed: 0,
            round: 0,
            channel: 0,
        };
        for point in 0..POINTS {
            let numbers = (0..space.randoms() as u32).map(|i| random.number(point as u64, i));
            let mut momenta = vec![0.0; space.components()];
            space.event(&numbers.collect::<Vec<f64>>(), &mut momenta);
            for (row, number) in momenta.into_iter().enumerate() {
                points.row_mut(row)[point] = number;
            }
        }
        let mut sampler = self.sampler(&SessionMemory::default())?;
        sampler.multiply(&points, 0, 0, POINTS);
        let classes = 0..self.classes.len();
        let of_points = classes.map(|class| sampler.sizes(&points, class));
        let of_points: Vec<Vec<f64>> = of_points.collect::<Result<_>>()?;
        // Singularities that all flows share differ from point to point.
        let total = |point: usize| of_points.iter().map(|of| of[point]).sum::<f64>();
        let totals: Vec<f64> = (0..POINTS).map(total).collect();
        let share = |of: &Vec<f64>| {
            of.iter()
                .zip(&totals)
                .map(|(size, total)| size / total)
                .sum()
        };
        Ok(of_points.iter().map(share).collect())
    }

    /// Makes a sampler. Samplers of one thread share `memory`.
    ///
    /// # Errors
    /// A flow cannot be evaluated.
    pub fn sampler(&mut self, memory: &SessionMemory) -> Result<LeadingColorSampler> {
        let classes = self.classes.iter_mut();
        let classes = classes.map(|bridge| bridge.sampler(false, memory));
        let classes: Vec<Sampler> = classes.collect::<Result<_>>()?;
        let flows = self.flows.clone();
        Ok(LeadingColorSampler {
            invariants: vec![[[0.0; POINTS]; 2]; flows.pairs.len()],
            products: vec![[0.0; POINTS]; flows.products.len()],
            of_classes: classes.iter().map(|_| OfClass::default()).collect(),
            classes,
            flows,
        })
    }

    /// Multiply-adds for a point: of the most expensive flow, after the first sampler was made.
    pub fn multiply_adds(&self) -> Option<usize> {
        let classes = self.classes.iter();
        let of_classes = classes.map(|bridge| bridge.multiply_adds(false));
        let most = of_classes
            .collect::<Option<Vec<usize>>>()?
            .into_iter()
            .max()?;
        Some(most + self.flows.products.len())
    }
}

impl LeadingColorSampler {
    /// Evaluates leading-colour |M|^2 of points from one flow each, in GeV^(4-2n) for n outgoing legs.
    ///
    /// The momenta of the legs begin at row `first` of `points`; `random` has a number in (0, 1) for each point, which
    /// draws its flow.
    ///
    /// # Errors
    /// A flow cannot be evaluated.
    pub fn evaluate(
        &mut self,
        points: &Rows,
        first: usize,
        g_s: &[f64],
        random: &[f64],
        squared: &mut [f64],
    ) -> Result<()> {
        self.of_classes.iter_mut().for_each(OfClass::clear);
        for begin in (0..random.len()).step_by(POINTS) {
            let count = POINTS.min(random.len() - begin);
            self.multiply(points, first, begin, count);
            for place in 0..count {
                let point = begin + place;
                let (flow, probability) = self.drawn(place, random[point]);
                let flow = &self.flows.flows[flow];
                let of = &mut self.of_classes[flow.class];
                of.points.push(point);
                of.g_s.push(g_s[point]);
                of.probabilities.push(probability);
                let incoming = &self.flows.incoming;
                of.momenta
                    .extend(permuted(flow, incoming, points, first, point));
            }
        }
        let legs = self.flows.incoming.len();
        for (sampler, of) in self.classes.iter_mut().zip(&self.of_classes) {
            let momenta = Momenta::rows(&of.momenta, legs);
            let found = squared_of(sampler, momenta, &of.g_s)?;
            let found = found.iter().zip(&of.probabilities);
            for (&point, (value, probability)) in of.points.iter().zip(found) {
                squared[point] = value / probability;
            }
        }
        Ok(())
    }

    /// Computes the products of `count` points from `begin` on.
    fn multiply(&mut self, points: &Rows, first: usize, begin: usize, count: usize) {
        let flows = &*self.flows;
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
                // Rounding may leave nothing of a small invariant.
                let invariant = 2.0 * f64::max(invariant, 1e-14 * energies);
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

    /// Draws the flow of a point, and returns its index and its probability.
    fn drawn(&self, place: usize, random: f64) -> (usize, f64) {
        let count = self.flows.flows.len();
        let total: f64 = (0..count).map(|flow| self.size(flow, place)).sum();
        let (mut rest, mut drawn) = (random * total, (0, f64::NAN));
        for flow in 0..count {
            let size = self.size(flow, place);
            drawn = (flow, size / total);
            if rest < size {
                break;
            }
            rest -= size;
        }
        drawn
    }

    /// The probability of a flow at a point, up to a factor.
    fn size(&self, flow: usize, place: usize) -> f64 {
        let product = self.flows.of_flows[flow];
        let product = product.map_or(1.0, |product| self.products[product as usize][place]);
        self.flows.sizes[self.flows.flows[flow].class] * product
    }

    /// The first flow of a class over its product, at points whose products have been computed.
    fn sizes(&mut self, points: &Rows, class: usize) -> Result<Vec<f64>> {
        let mut flows = self.flows.flows.iter();
        let flow = flows.position(|flow| flow.class == class).unwrap_or(0);
        let (incoming, one) = (&self.flows.incoming, &self.flows.flows[flow]);
        let momenta = (0..POINTS).flat_map(|point| permuted(one, incoming, points, 0, point));
        let momenta: Vec<f64> = momenta.collect();
        let momenta = Momenta::rows(&momenta, incoming.len());
        let g_s = [g_s(DEFAULT_ALPHA_S); POINTS];
        let found = squared_of(&mut self.classes[class], momenta, &g_s)?;
        Ok((0..POINTS)
            .map(|place| found[place] / self.size(flow, place))
            .collect())
    }
}

/// Returns |M|^2 of points; their choices are not used.
fn squared_of(sampler: &mut Sampler, momenta: Momenta, g_s: &[f64]) -> Result<Vec<f64>> {
    let random = vec![0.5; g_s.len()];
    sampler.squared(Points {
        momenta,
        g_s,
        random_helicity: &random,
        random_color: &random,
    })
}

/// Returns the momenta of a point in the order of the process of a flow's class.
fn permuted(
    flow: &SingleFlow,
    incoming: &[bool],
    points: &Rows,
    first: usize,
    point: usize,
) -> impl Iterator<Item = f64> {
    flow.legs.iter().enumerate().flat_map(move |(leg, &from)| {
        let from = usize::from(from);
        let sign = if incoming[leg] == incoming[from] {
            1.0
        } else {
            -1.0
        };
        let row = first + 4 * from;
        (row..row + 4).map(move |row| sign * points.row(row)[point])
    })
}

impl OfClass {
    fn clear(&mut self) {
        self.points.clear();
        self.momenta.clear();
        self.g_s.clear();
        self.probabilities.clear();
    }
}

impl Flows {
    fn new(process: &Process, flows: Vec<SingleFlow>, classes: usize) -> Flows {
        let mut pairs: BTreeMap<[u8; 2], u32> = BTreeMap::new();
        let mut known: BTreeMap<Product, u32> = BTreeMap::new();
        let mut products = Vec::new();
        let of_flow = |flow: &SingleFlow| {
            let mut before = None;
            for ([a, b], inverse) in factors(&flow.lines) {
                let next = pairs.len() as u32;
                let product = Product {
                    before,
                    pair: *pairs.entry([a.min(b), a.max(b)]).or_insert(next),
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
        Flows {
            incoming: process.legs.iter().map(|leg| leg.incoming).collect(),
            flows,
            pairs: listed,
            products,
            of_flows,
            sizes: vec![1.0; classes],
        }
    }
}

/// The pairs of legs whose invariants are multiplied for these lines, and whether by the inverse. Lines come in the order
/// of their strings.
fn factors(lines: &[[u8; 2]]) -> Vec<([u8; 2], bool)> {
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
        found.extend(string.iter().map(|&line| (line, true)));
        if ends[0] != ends[1] {
            found.push((ends, false));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{BackendChoice, CachePlace};
    use crate::sample::{Outputs, Sample, SampleAnswers};
    use rand::{Rng, SeedableRng};

    const EVENTS: usize = 9;

    /// A sampler, and for some points the sum over all flows.
    fn setting(text: &str) -> (LeadingColorSampler, Rows, Vec<f64>) {
        let process = crate::generate(text).expect(text).remove(0);
        let switches = Switches {
            backend: BackendChoice::Cpu,
            cache: CachePlace::Off,
            ..Switches::default()
        };
        let card = process.model.default_card();
        let flows = process.leading_color().expect("colour flows");
        let bridge = LeadingColorBridge::new(&process, flows, &card, &switches);
        let mut full = Bridge::new(process, &card, &switches, 1).expect("a bridge");
        let masses = full.masses();
        let space = PhaseSpace::new(900.0, &masses[..2], &masses[2..]).expect("phase space");
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let mut points = Rows::new(4 * masses.len(), EVENTS);
        points.set_points(EVENTS);
        let mut momenta = vec![0.0; EVENTS * space.components()];
        for (event, momenta) in momenta.chunks_exact_mut(space.components()).enumerate() {
            let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.random()).collect();
            space.event(&numbers, momenta);
            for (row, &number) in momenta.iter().enumerate() {
                points.row_mut(row)[event] = number;
            }
        }
        let memory = SessionMemory::default();
        let sampler = bridge
            .expect("bridges")
            .sampler(&memory)
            .expect("a sampler");
        let random = [0.5; EVENTS];
        let sample = Sample {
            points: Points {
                momenta: Momenta::rows(&momenta, masses.len()),
                g_s: &[g_s(0.118); EVENTS],
                random_helicity: &random,
                random_color: &random,
            },
            random_diagram: &random,
            helicity: None,
            diagram: None,
            diagrams: true,
        };
        let answers = SampleAnswers {
            outputs: Outputs {
                matrix_elements: &mut [0.0; EVENTS],
                helicity: &mut [0; EVENTS],
                color: &mut [0; EVENTS],
            },
            diagram: &mut [0; EVENTS],
            amp2: None,
        };
        let mut sums = vec![0.0; EVENTS];
        let mut full = full.sampler(true, &memory).expect("a sampler");
        let done = full.run_with_leading_color(&sample, answers, &mut sums);
        assert_eq!(done.expect("the sum").count, 0);
        (sampler, points, sums)
    }

    /// The flows by themselves, with crossed gluons, add up to the sum over all of them that is computed with all JAMPs.
    #[test]
    fn flows_add_up() {
        for (text, classes) in [
            ("g g > t t~ g", 1),
            ("g g > g g g", 1),
            ("u g > u g g", 1),
            ("u u~ > e+ e- g g", 1),
            // (0 or 1 gluon on either string) times the strings between quarks of one line, or of both.
            ("u u~ > d d~ g", 4),
            ("u u > u u g", 4),
            ("g u > t t~ u g", 6),
        ] {
            let (mut sampler, points, sums) = setting(text);
            assert_eq!(sampler.classes.len(), classes, "{text}");
            let count = sampler.flows.flows.len();
            let mut found = [0.0; EVENTS];
            let all = [g_s(0.118); EVENTS];
            for flow in 0..count {
                // Numbers that draw this flow at each point.
                sampler.multiply(&points, 0, 0, EVENTS);
                let number = |place: usize| {
                    let before = (0..flow).map(|flow| sampler.size(flow, place)).sum::<f64>();
                    let total = (0..count)
                        .map(|flow| sampler.size(flow, place))
                        .sum::<f64>();
                    let size = sampler.size(flow, place);
                    ((before + 0.5 * size) / total, size / total)
                };
                let (numbers, shares): (Vec<f64>, Vec<f64>) = (0..EVENTS).map(number).unzip();
                let mut squared = vec![0.0; EVENTS];
                let done = sampler.evaluate(&points, 0, &all, &numbers, &mut squared);
                done.expect("one flow");
                for ((sum, value), share) in found.iter_mut().zip(squared).zip(shares) {
                    *sum += value * share;
                }
            }
            for (found, sum) in found.iter().zip(&sums) {
                assert!(
                    (found / sum - 1.0).abs() < 1e-9,
                    "{text}: {found:e} {sum:e}"
                );
            }
        }
    }

    /// Gluons of one helicity do not stand for each other where one comes in and another goes out.
    #[test]
    fn polarized_gluons_have_no_flows_by_themselves() {
        let mut process = crate::generate("g g > t t~ g")
            .expect("a process")
            .remove(0);
        assert!(process.leading_color().is_some());
        let whole = process.helicities.clone();
        process.helicities.retain(|row| row[0] == 1);
        assert_eq!(process.leading_color(), None);
        // Weights of beams: of quarks, and of gluons.
        process.helicities = whole;
        for (leg, free) in [(2, true), (1, false)] {
            let rows = process.helicities.iter();
            process.beam_weights = rows.map(|row| f64::from(2 + row[leg])).collect();
            assert_eq!(process.leading_color().is_some(), free, "leg {leg}");
        }
    }

    /// The probabilities follow the flows: a single one is near the sum over all.
    #[test]
    fn a_flow_represents_all() {
        for text in ["g g > t t~ g g", "u u~ > g g g g", "g g > g g g g"] {
            let (mut sampler, points, sums) = setting(text);
            let (mut square, mut count) = (0.0, 0.0);
            for number in 0..500 {
                let numbers = [(f64::from(number) + 0.5) / 500.0; EVENTS];
                let mut squared = vec![0.0; EVENTS];
                let done =
                    sampler.evaluate(&points, 0, &[g_s(0.118); EVENTS], &numbers, &mut squared);
                done.expect("flows");
                for (value, sum) in squared.iter().zip(&sums) {
                    square += (value / sum - 1.0).powi(2);
                    count += 1.0;
                }
            }
            let spread = f64::sqrt(square / count);
            assert!(spread < 0.8, "{text}: {spread}");
        }
    }
}
