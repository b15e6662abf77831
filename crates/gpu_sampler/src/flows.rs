//! The colour flows of matrix elements as tables of device code (the kernels `draw_flows` and `gather_points`).
//!
//! Points whose matrix element has flows are evaluated by the matrix element of their flow's class. Those of classes are
//! numbered after all others.

use mebridge_sampler::color_flows::ColorFlows;
use mebridge_support::error::{Error, Result};
use std::sync::Arc;

/// Largest number of pairs of legs, which are those of 11 legs, and of factors in a product.
pub(crate) const MAX_PAIRS: usize = 55;
pub(crate) const MAX_FACTORS: usize = 16;
/// A step without a factor.
const NO_FACTOR: u32 = 0xff_ffff;
/// No flows, or a step that is no flow.
pub(crate) const NONE: u32 = u32::MAX;

/// Tables of all matrix elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTables {
    /// For each matrix element the start of its words, which are: its numbers of pairs and steps; the start of its sizes;
    /// pairs; steps of three words; the number of its first class; and for each flow, for all legs, twice the leg of the
    /// point plus whether the momentum is negated. A step is a depth and a factor (twice a pair, plus one for its
    /// inverse), the start of the legs of a flow, and the flow's class.
    pub(crate) words: Vec<u32>,
    pub(crate) sizes: Vec<f64>,
    /// Number of matrix elements without those of classes; 0 if none has flows.
    pub(crate) elements: usize,
    /// For each class of any matrix element, that matrix element.
    pub(crate) of_class: Vec<u32>,
}

impl FlowTables {
    /// Makes the tables for matrix elements that have flows, or not; `flows` is empty if none has.
    ///
    /// # Errors
    /// A matrix element has too many legs.
    pub(crate) fn new(flows: &[Option<Arc<ColorFlows>>]) -> Result<FlowTables> {
        let mut tables = FlowTables {
            words: vec![NONE; flows.len()],
            elements: flows.len(),
            ..FlowTables::default()
        };
        for (element, of) in flows.iter().enumerate() {
            if let Some(of) = of {
                tables.words[element] = tables.words.len() as u32;
                let first = (flows.len() + tables.of_class.len()) as u32;
                tables.add(of, first)?;
                let classes = of.sizes.iter().map(|_| element as u32);
                tables.of_class.extend(classes);
            }
        }
        Ok(tables)
    }

    fn add(&mut self, of: &ColorFlows, first_class: u32) -> Result<()> {
        let legs = of.flows.first().map_or(0, |flow| flow.legs.len());
        let steps = steps(of);
        let deepest = steps.iter().map(|step| step.depth).max();
        if of.pairs.len() > MAX_PAIRS || deepest.unwrap_or(0) as usize > MAX_FACTORS {
            return Err(Error::NotOnGpu {
                what: format!("single colour flows of {legs} legs (color = full takes their sum)")
                    .into(),
            });
        }
        let head = [of.pairs.len(), steps.len(), self.sizes.len()];
        self.words.extend(head.map(|number| number as u32));
        let pairs = of.pairs.iter();
        self.words
            .extend(pairs.map(|&[a, b]| u32::from(a) | u32::from(b) << 16));
        let first_legs = self.words.len() + 3 * steps.len() + 1;
        for step in steps {
            let [flow, class] = match step.flow {
                Some(flow) => [first_legs + flow * legs, of.flows[flow].class].map(|n| n as u32),
                None => [NONE, 0],
            };
            let factor = step.factor.unwrap_or(NO_FACTOR);
            self.words.extend([step.depth | factor << 8, flow, class]);
        }
        self.words.push(first_class);
        let legs = of.flows.iter().flat_map(|flow| &flow.legs);
        self.words
            .extend(legs.map(|&(from, negated)| 2 * u32::from(from) + u32::from(negated)));
        self.sizes.extend(&of.sizes);
        Ok(())
    }
}

/// A step on the way through all products of invariants.
struct Step {
    /// Number of factors of the product.
    depth: u32,
    /// The last one, unless the product is already known.
    factor: Option<u32>,
    /// The flow that has this product.
    flow: Option<usize>,
}

/// Steps such that each product follows from that of the last step with one factor less.
fn steps(of: &ColorFlows) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut path: Vec<u32> = Vec::new();
    for (flow, &last) in of.of_flows.iter().enumerate() {
        let before = |&product: &u32| of.products[product as usize].before;
        let mut chain: Vec<u32> = std::iter::successors(last, before).collect();
        chain.reverse();
        let common = path.iter().zip(&chain).take_while(|(a, b)| a == b).count();
        for (depth, &product) in chain.iter().enumerate().skip(common) {
            let product = of.products[product as usize];
            steps.push(Step {
                depth: depth as u32 + 1,
                factor: Some(2 * product.pair + u32::from(product.inverse)),
                flow: None,
            });
        }
        match steps.last_mut() {
            Some(step) if chain.len() > common => step.flow = Some(flow),
            _ => steps.push(Step {
                depth: chain.len() as u32,
                factor: None,
                flow: Some(flow),
            }),
        }
        path = chain;
    }
    steps
}
