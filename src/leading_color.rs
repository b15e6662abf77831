//! |M|^2 at leading colour from one colour flow for each point, as an approximation of |M|^2.
//!
//! The flow f of a point is drawn with a probability p_f ([`color_flows`](mebridge_sampler::color_flows)). The mean of
//! `C_ff |JAMP_f|^2 / p_f` over flows is the leading-colour |M|^2, and it varies little. One flow costs little, however
//! many there are ([`crate::process::leading_color`]). The sizes of strings between different quarks are estimated from
//! some points.

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
use mebridge_sampler::color_flows::{ColorFlow, ColorFlows, FlowDrawer, POINTS};
use mebridge_sampler::random::Philox;
use std::sync::Arc;

/// A process with its colour flows, ready for samplers.
pub struct LeadingColorBridge {
    flows: Arc<ColorFlows>,
    /// For each class of flows.
    classes: Vec<Bridge>,
}

/// Draws colour flows, and evaluates them, on one thread.
pub struct LeadingColorSampler {
    flows: Arc<ColorFlows>,
    classes: Vec<Sampler>,
    drawer: FlowDrawer,
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
        let flows = flows.into_iter().map(|flow| ColorFlow {
            class: flow.class,
            legs: flow.legs,
            lines: flow.lines,
        });
        let flows = ColorFlows::new(flows.collect(), classes.len());
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
        sampler.drawer.set(&sampler.flows, &points, 0, 0, POINTS);
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
            drawer: FlowDrawer::new(&flows),
            of_classes: classes.iter().map(|_| OfClass::default()).collect(),
            classes,
            flows,
        })
    }

    /// The flows, with the sizes of their classes.
    pub fn flows(&self) -> &Arc<ColorFlows> {
        &self.flows
    }

    /// The process of each class of flows, whose momenta may be crossed.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.classes.iter().map(Bridge::process)
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
            let flows = &self.flows;
            self.drawer.set(flows, points, first, begin, count);
            for place in 0..count {
                let point = begin + place;
                let (flow, probability) = self.drawer.draw(flows, place, random[point]);
                let of = &mut self.of_classes[flows.flows[flow].class];
                of.points.push(point);
                of.g_s.push(g_s[point]);
                of.probabilities.push(probability);
                of.momenta
                    .extend(permuted(flows, flow, points, first, point));
            }
        }
        for (sampler, of) in self.classes.iter_mut().zip(&self.of_classes) {
            let found = of.squared_by(sampler)?;
            let found = found.iter().zip(&of.probabilities);
            for (&point, (value, probability)) in of.points.iter().zip(found) {
                squared[point] = value / probability;
            }
        }
        Ok(())
    }

    /// The first flow of a class over its product, at points whose products have been computed.
    fn sizes(&mut self, points: &Rows, class: usize) -> Result<Vec<f64>> {
        let mut flows = self.flows.flows.iter();
        let flow = flows.position(|flow| flow.class == class).unwrap_or(0);
        let flows = &self.flows;
        let momenta = (0..POINTS).flat_map(|point| permuted(flows, flow, points, 0, point));
        let of = OfClass {
            momenta: momenta.collect(),
            g_s: vec![g_s(DEFAULT_ALPHA_S); POINTS],
            ..OfClass::default()
        };
        let found = of.squared_by(&mut self.classes[class])?;
        Ok((0..POINTS)
            .map(|place| found[place] / self.drawer.size(&self.flows, flow, place))
            .collect())
    }
}

/// Evaluates colour flows that a caller names, at leading colour.
pub struct ColorFlowEvaluator {
    /// The flows, in the order of the process.
    flows: Vec<SingleFlow>,
    classes: Vec<Bridge>,
    of_classes: Vec<OfClass>,
}

impl ColorFlowEvaluator {
    /// Makes an evaluator for the process of a bridge, with its card, target and precision. `None` if the process has no
    /// single colour flows ([`Process::leading_color`]).
    ///
    /// # Errors
    /// A flow cannot be evaluated.
    pub fn new(bridge: &Bridge) -> Result<Option<ColorFlowEvaluator>> {
        let process = bridge.process();
        let Some(LeadingColor { classes, flows }) = process.leading_color() else {
            return Ok(None);
        };
        let class = |process: Process| {
            let mut bridge = bridge.for_process(process)?;
            bridge.allow(AllowedMomenta::Crossed);
            Ok(bridge)
        };
        let of_classes = classes.iter().map(|_| OfClass::default()).collect();
        Ok(Some(ColorFlowEvaluator {
            flows,
            classes: classes.into_iter().map(class).collect::<Result<_>>()?,
            of_classes,
        }))
    }

    /// Number of flows.
    pub fn count(&self) -> usize {
        self.flows.len()
    }

    /// Evaluates `C_ff |JAMP_f|^2` of one flow f for each event, summed over helicities and averaged over those of the
    /// initial state, in GeV^(4-2n) for n outgoing legs. NaN for an event whose momenta are not finite, not on their mass
    /// shells or not conserved.
    ///
    /// # Errors
    /// A flow cannot be evaluated.
    ///
    /// # Panics
    /// If an index is no flow, or lengths differ.
    pub fn evaluate(
        &mut self,
        momenta: &Momenta,
        g_s: &[f64],
        flows: &[usize],
        squared: &mut [f64],
    ) -> Result<()> {
        assert!(momenta.events() == flows.len() && flows.len() == g_s.len());
        self.of_classes.iter_mut().for_each(OfClass::clear);
        for (event, &flow) in flows.iter().enumerate() {
            let flow = &self.flows[flow];
            let of = &mut self.of_classes[flow.class];
            of.points.push(event);
            of.g_s.push(g_s[event]);
            for &(from, negated) in &flow.legs {
                let sign = if negated { -1.0 } else { 1.0 };
                let component = |i| sign * momenta.get(event, usize::from(from), i);
                of.momenta.extend((0..4).map(component));
            }
        }
        for (bridge, of) in self.classes.iter_mut().zip(&self.of_classes) {
            let random = vec![0.5; of.points.len()];
            let found = bridge.squared(of.given(momenta.legs(), &random))?;
            for (&event, value) in of.points.iter().zip(found) {
                squared[event] = value;
            }
        }
        Ok(())
    }
}

/// Returns the momenta of a point in the order of the process of a flow's class.
fn permuted(
    flows: &ColorFlows,
    flow: usize,
    points: &Rows,
    first: usize,
    point: usize,
) -> impl Iterator<Item = f64> {
    let legs = flows.flows[flow].legs.iter();
    legs.flat_map(move |&(from, negated)| {
        let sign = if negated { -1.0 } else { 1.0 };
        let row = first + 4 * usize::from(from);
        (row..row + 4).map(move |row| sign * points.row(row)[point])
    })
}

impl OfClass {
    /// The points for an evaluation whose choices are not used, of which `random` decides.
    fn given<'a>(&'a self, legs: usize, random: &'a [f64]) -> Points<'a> {
        Points {
            momenta: Momenta::rows(&self.momenta, legs),
            g_s: &self.g_s,
            random_helicity: random,
            random_color: random,
        }
    }

    fn squared_by(&self, sampler: &mut Sampler) -> Result<Vec<f64>> {
        let random = vec![0.5; self.g_s.len()];
        sampler.squared(self.given(sampler.legs(), &random))
    }

    fn clear(&mut self) {
        self.points.clear();
        self.momenta.clear();
        self.g_s.clear();
        self.probabilities.clear();
    }
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
                sampler.drawer.set(&sampler.flows, &points, 0, 0, EVENTS);
                let number = |place: usize| {
                    let before = (0..flow)
                        .map(|flow| sampler.drawer.size(&sampler.flows, flow, place))
                        .sum::<f64>();
                    let total = (0..count)
                        .map(|flow| sampler.drawer.size(&sampler.flows, flow, place))
                        .sum::<f64>();
                    let size = sampler.drawer.size(&sampler.flows, flow, place);
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

    /// Flows that a caller names add up to the same sum, in any order of events; bad events have no value.
    #[test]
    fn named_flows_add_up() {
        for text in ["g g > t t~ g", "u u~ > d d~ g", "g g > g g g g"] {
            let process = crate::generate(text).expect(text).remove(0);
            let (_, points, sums) = setting(text);
            let switches = Switches {
                backend: BackendChoice::Cpu,
                cache: CachePlace::Off,
                ..Switches::default()
            };
            let legs = process.legs.len();
            let card = process.model.default_card();
            let bridge = Bridge::new(process, &card, &switches, 1).expect("a bridge");
            let evaluator = ColorFlowEvaluator::new(&bridge).expect("plans");
            let mut evaluator = evaluator.expect("flows");
            let count = evaluator.count();
            let (mut momenta, mut flows) = (Vec::new(), Vec::new());
            for flow in 0..count {
                for event in 0..EVENTS {
                    momenta.extend((0..4 * legs).map(|row| points.row(row)[event]));
                    flows.push(flow);
                }
            }
            momenta.extend_from_within(..4 * legs);
            let last = momenta.len() - 3;
            momenta[last] += 50.0;
            flows.push(0);
            let mut squared = vec![0.0; flows.len()];
            let couplings = vec![g_s(0.118); flows.len()];
            let all = Momenta::rows(&momenta, legs);
            let done = evaluator.evaluate(&all, &couplings, &flows, &mut squared);
            done.expect("flows");
            for (event, sum) in sums.iter().enumerate() {
                let found: f64 = squared[..count * EVENTS]
                    .chunks(EVENTS)
                    .map(|of| of[event])
                    .sum();
                assert!(
                    (found / sum - 1.0).abs() < 1e-9,
                    "{text}: {found:e} {sum:e}"
                );
            }
            assert!(squared[count * EVENTS].is_nan(), "{text}");
        }
    }

    /// A single flow of gluons is computed by recursion: it takes a few of the sum's operations.
    #[test]
    fn a_flow_of_gluons_has_a_recursion() {
        let process = crate::generate("g g > g g g g")
            .expect("a process")
            .remove(0);
        let flows = process.leading_color().expect("flows");
        let card = process.model.default_card();
        let switches = Switches {
            backend: BackendChoice::Cpu,
            cache: CachePlace::Off,
            ..Switches::default()
        };
        let mut bridge =
            LeadingColorBridge::new(&process, flows, &card, &switches).expect("bridges");
        bridge.sampler(&SessionMemory::default()).expect("a plan");
        let (_, recursive) = bridge.classes[0].serving(false).expect("a plan");
        assert!(recursive);
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
