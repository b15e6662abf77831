//! Normalising flows before grids (MadNIS: T. Heimel et al., arXiv:2212.06172, 2311.01548): a grid treats each random
//! number separately, while networks learn their correlations.
//!
//! A flow maps random numbers to the input of a grid by coupling blocks. Each block maps some dimensions, each by a
//! monotonic rational-quadratic spline (C. Durkan et al., arXiv:1906.04032) whose bins a network computes from the
//! other dimensions, which do not change. The formulas are those of `madnis.nn.Flow` of the Python package madnis 1.0,
//! which trains the flows, in its sampling direction: last block first, each spline inverted.
//!
//! Networks compute in single precision, splines in double: the Jacobian is the exact derivative of the map, whatever
//! the networks return. SIMD levels with fused multiply-add differ in the last bits from those without.

use super::grid::Grid;
use mebridge_phasespace::Rows;
use mebridge_simd::{Level, Real, Simd, Task, dispatch, functions};
use serde::Deserialize;

/// Points that a network processes at a time, a multiple of the lanes of all registers.
const POINTS: usize = 32;
/// Neurons computed at a time.
const TOGETHER: usize = 4;
/// Lower bound for the width and height of bins and for the derivatives at their edges.
const MIN_BIN: f64 = 1e-3;
/// Slope of a neuron (leaky ReLU) for negative input.
const LEAK: f64 = 0.01;
/// The smallest possible random number.
const MIN_NUMBER: f64 = f64::EPSILON / 2.0;

/// The shape of a flow, without its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowShape {
    /// Bins of each spline.
    pub bins: usize,
    /// Neurons of each hidden layer.
    pub units: usize,
    /// Number of weight layers of a network.
    pub layers: usize,
    /// For each block, which dimensions it leaves unchanged, in the order of the training direction.
    pub conditions: Vec<Vec<bool>>,
}

impl FlowShape {
    /// Returns the number of random numbers that are mapped.
    pub fn dimensions(&self) -> usize {
        self.conditions.first().map_or(0, Vec::len)
    }

    /// Returns the numbers of inputs and outputs of each layer of a block.
    fn layers(&self, conditions: &[bool]) -> Vec<[usize; 2]> {
        let inputs = conditions.iter().filter(|&&stays| stays).count();
        let outputs = (conditions.len() - inputs) * self.outputs();
        let mut widths = vec![self.units; self.layers + 1];
        (widths[0], widths[self.layers]) = (inputs, outputs);
        widths.windows(2).map(|pair| [pair[0], pair[1]]).collect()
    }

    /// Returns the number of parameters of a spline.
    fn outputs(&self) -> usize {
        3 * self.bins + 1
    }

    /// Returns the number of parameters of the networks.
    pub fn parameters(&self) -> usize {
        let of = |block: &Vec<bool>| -> usize {
            let layers = self.layers(block).into_iter();
            layers.map(|[inputs, outputs]| (inputs + 1) * outputs).sum()
        };
        self.conditions.iter().map(of).sum()
    }

    /// Returns what is wrong with the shape, if anything.
    fn defect(&self) -> Option<&'static str> {
        let dimensions = self.dimensions();
        let both = |block: &Vec<bool>| block.contains(&true) && block.contains(&false);
        if !(2..=256).contains(&dimensions) || !(1..=256).contains(&self.conditions.len()) {
            return Some("a flow has 2 to 256 dimensions, and as many blocks at most");
        }
        if !(self.conditions.iter()).all(|block| block.len() == dimensions && both(block)) {
            return Some("a block leaves some of all dimensions as they are, and maps others");
        }
        if !(2..=256).contains(&self.bins) || !(1..=1024).contains(&self.units) {
            return Some("splines have 2 to 256 bins, and layers 1 to 1024 neurons");
        }
        (!(1..=16).contains(&self.layers)).then_some("networks have 1 to 16 layers")
    }
}

/// A trained flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    shape: FlowShape,
    /// In the order of the training.
    parameters: Vec<f32>,
    /// In the order in which they are applied.
    blocks: Vec<Coupling>,
}

#[derive(Clone, Debug, PartialEq)]
struct Coupling {
    stay: Vec<usize>,
    mapped: Vec<usize>,
    layers: Vec<Layer>,
}

/// For each group of [`TOGETHER`] neurons, their biases and then their weights for each input.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    inputs: usize,
    neurons: Vec<[f32; TOGETHER]>,
}

impl Layer {
    /// `weights` are those of each neuron in turn; the number of neurons need not be a multiple of [`TOGETHER`].
    fn new(inputs: usize, weights: &[f32], biases: &[f32]) -> Layer {
        let mut neurons = Vec::new();
        let chunks = weights.chunks(TOGETHER * inputs);
        for (weights, biases) in chunks.zip(biases.chunks(TOGETHER)) {
            let mut some = vec![[0.0; TOGETHER]; 1 + inputs];
            for (neuron, (weights, &bias)) in weights.chunks(inputs).zip(biases).enumerate() {
                some[0][neuron] = bias;
                for (to, &weight) in some[1..].iter_mut().zip(weights) {
                    to[neuron] = weight;
                }
            }
            neurons.extend(some);
        }
        Layer { inputs, neurons }
    }

    fn outputs(&self) -> usize {
        self.neurons.len() / (self.inputs + 1) * TOGETHER
    }
}

impl Flow {
    /// Creates a flow. The parameters come block by block in the order of the training and layer by layer in each
    /// block: the weights of each neuron, then all biases.
    ///
    /// # Errors
    /// The shape is invalid, or a parameter is not finite.
    pub fn new(shape: FlowShape, parameters: Vec<f32>) -> Result<Flow, String> {
        if let Some(defect) = shape.defect() {
            return Err(defect.into());
        }
        let (needed, found) = (shape.parameters(), parameters.len());
        if needed != found {
            return Err(format!(
                "a flow of this shape has {needed} parameters, not {found}"
            ));
        }
        if !parameters.iter().all(|parameter| parameter.is_finite()) {
            return Err("a parameter of a flow is not a number: its training diverged".into());
        }
        let mut rest = &parameters[..];
        let mut take = |count: usize| {
            let (some, after) = rest.split_at(count);
            rest = after;
            some
        };
        let mut blocks = Vec::new();
        for conditions in &shape.conditions {
            let of = |stays: bool| (0..conditions.len()).filter(move |&i| conditions[i] == stays);
            let layers = shape.layers(conditions).into_iter();
            let layers = layers
                .map(|[inputs, outputs]| Layer::new(inputs, take(inputs * outputs), take(outputs)));
            blocks.push(Coupling {
                stay: of(true).collect(),
                mapped: of(false).collect(),
                layers: layers.collect(),
            });
        }
        blocks.reverse();
        Ok(Flow {
            shape,
            parameters,
            blocks,
        })
    }

    /// Returns its shape.
    pub fn shape(&self) -> &FlowShape {
        &self.shape
    }

    /// Returns whether it can precede this grid; it may also map the number that selects the partons.
    pub fn fits(&self, grid: &Grid) -> bool {
        self.shape.dimensions() <= grid.dimensions() + 1
    }

    /// Returns the parameters in the order of [`Flow::new`].
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Maps random numbers in (0, 1) in place, one row per dimension, and multiplies the Jacobian of each point.
    ///
    /// # Panics
    /// If there are fewer rows or Jacobians, or the CPU lacks the level.
    pub fn map(&self, level: Level, numbers: &mut Rows, jacobians: &mut [f64]) {
        let layers = self.blocks.iter().flat_map(|block| &block.layers);
        let widest = layers.map(|layer| layer.outputs().max(layer.inputs));
        let mut scratch =
            [(); 2].map(|()| vec![Lanes([0.0; POINTS]); widest.clone().max().unwrap_or(0)]);
        let mut made = vec![SplineValues([0.0; POINTS]); scratch[0].len()];
        for first in (0..numbers.points()).step_by(POINTS) {
            for block in &self.blocks {
                for (to, &row) in scratch[0].iter_mut().zip(&block.stay) {
                    for (to, &from) in to.0.iter_mut().zip(&numbers.row(row)[first..]) {
                        *to = from as f32;
                    }
                }
                for (number, layer) in block.layers.iter().enumerate() {
                    let [from, to] = &mut scratch;
                    let last = number + 1 == block.layers.len();
                    let task = Neurons {
                        layer,
                        from,
                        to: if last {
                            LayerOutput::Splines(&mut made)
                        } else {
                            LayerOutput::Layer(to)
                        },
                    };
                    // SAFETY: the task requires nothing but the level, which `dispatch` checks.
                    unsafe { dispatch(level, task) };
                    scratch.swap(0, 1);
                }
                let task = Splines {
                    bins: self.shape.bins,
                    made: &mut made,
                    mapped: &block.mapped,
                    first,
                    numbers,
                    jacobians,
                };
                // SAFETY: the task requires nothing but the level, which `dispatch` checks.
                unsafe { dispatch(level, task) };
            }
        }
    }
}

/// Values of a neuron for [`POINTS`] points.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes([f32; POINTS]);

/// Values of a spline parameter for [`POINTS`] points.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct SplineValues([f64; POINTS]);

enum LayerOutput<'a> {
    Layer(&'a mut [Lanes]),
    Splines(&'a mut [SplineValues]),
}

/// A layer of a network.
struct Neurons<'a> {
    layer: &'a Layer,
    from: &'a [Lanes],
    to: LayerOutput<'a>,
}

/// Registers computed at a time.
const PAIR: usize = 2;

impl Task<f32> for Neurons<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f32>>(mut self) {
        let inputs = self.layer.inputs;
        let from = &self.from[..inputs];
        for (group, neurons) in self.layer.neurons.chunks_exact(inputs + 1).enumerate() {
            let (biases, weights) = neurons.split_first().expect("biases come first");
            for pair in (0..POINTS).step_by(PAIR * V::LANES) {
                // SAFETY: the caller guarantees that the CPU has the level.
                let mut sums = unsafe { [[V::zero(); PAIR]; TOGETHER] };
                for (sums, &bias) in sums.iter_mut().zip(biases) {
                    // SAFETY: the caller guarantees that the CPU has the level.
                    *sums = unsafe { [V::splat(bias); PAIR] };
                }
                for (from, weights) in from.iter().zip(weights) {
                    let some = &from.0[pair..][..PAIR * V::LANES];
                    // SAFETY: the slice holds two registers and is aligned as the row.
                    let numbers: [V; PAIR] = unsafe {
                        let (one, other) = (some.as_ptr(), some[V::LANES..].as_ptr());
                        [V::load(one), V::load(other)]
                    };
                    for (sums, &weight) in sums.iter_mut().zip(weights) {
                        // SAFETY: the caller guarantees that the CPU has the level.
                        let weight = unsafe { V::splat(weight) };
                        sums[0] = weight.mul_add(numbers[0], sums[0]);
                        sums[1] = weight.mul_add(numbers[1], sums[1]);
                    }
                }
                for (neuron, sums) in sums.iter().enumerate() {
                    for (register, &sum) in sums.iter().enumerate() {
                        let at = pair + register * V::LANES;
                        match &mut self.to {
                            LayerOutput::Layer(to) => {
                                let to = &mut to[group * TOGETHER + neuron].0[at..][..V::LANES];
                                // SAFETY: the slice holds one register and is aligned as the row.
                                unsafe { sum.max(sum * sum.same(LEAK)).store(to.as_mut_ptr()) };
                            }
                            LayerOutput::Splines(to) => {
                                let to = &mut to[group * TOGETHER + neuron].0[at..][..V::LANES];
                                // SAFETY: the slice holds one register.
                                unsafe { sum.store_doubles(to.as_mut_ptr()) };
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The splines of a block.
struct Splines<'a> {
    bins: usize,
    made: &'a mut [SplineValues],
    mapped: &'a [usize],
    /// Index of the first point.
    first: usize,
    numbers: &'a mut Rows,
    jacobians: &'a mut [f64],
}

impl Task<f64> for Splines<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let count = 3 * self.bins + 1;
        let points = POINTS.min(self.numbers.points() - self.first);
        for at in (0..points).step_by(V::LANES) {
            let register = (self.first + at) / V::LANES;
            // SAFETY: the caller guarantees that the CPU has the level.
            let mut product = unsafe { V::splat(1.0) };
            for (made, &row) in self.made.chunks_exact_mut(count).zip(self.mapped) {
                // SAFETY: the caller guarantees that the CPU has the level.
                let number = unsafe { self.numbers.load(row, register) };
                let (x, jacobian) = invert::<V>(self.bins, number, made, at);
                self.numbers.store(row, register, x);
                product = product * jacobian;
            }
            let mut products = SplineValues([0.0; POINTS]);
            // SAFETY: the array holds the longest register.
            unsafe { product.store_doubles(products.0.as_mut_ptr()) };
            for (to, of) in
                (self.jacobians[self.first + at..].iter_mut()).zip(&products.0[..V::LANES])
            {
                *to *= of;
            }
        }
    }
}

/// The derivative at an edge: a softplus, scaled to be 1 where networks return 0.
#[inline(always)]
fn slope<V: Simd<Scalar = f64>>(of: V) -> V {
    let soft = of.max(of.same(0.0)) + functions::ln(of.same(1.0) + functions::exp(-of.abs()));
    (soft + of.same(MIN_BIN)) / of.same(MIN_BIN + std::f64::consts::LN_2)
}

/// Loads a register of a row; `_proof` shows that the CPU has the level.
#[inline(always)]
fn register<V: Simd<Scalar = f64>>(of: &SplineValues, at: usize, _proof: V) -> V {
    // SAFETY: the slice holds one register and is aligned as the row.
    unsafe { V::load(of.0[at..][..V::LANES].as_ptr()) }
}

/// Returns x where the spline has the value y, and dx/dy. `made` holds the logarithms of the widths of the bins, then
/// of their heights, then the parameters of the derivatives at the edges; `at` is the first of the points.
#[inline(always)]
fn invert<V: Simd<Scalar = f64>>(
    bins: usize,
    y: V,
    made: &mut [SplineValues],
    at: usize,
) -> (V, V) {
    let (zero, one, least) = (y.same(0.0), y.same(1.0), y.same(MIN_BIN));
    let (sizes, edges) = made.split_at_mut(2 * bins);
    let mut scales = [zero; 2];
    for (sizes, scale) in sizes.chunks_exact_mut(bins).zip(&mut scales) {
        let mut largest = register(&sizes[0], at, y);
        for size in &sizes[1..] {
            largest = largest.max(register(size, at, y));
        }
        let mut sum = zero;
        for row in sizes {
            let size = functions::exp(register(row, at, y) - largest);
            sum = sum + size;
            // SAFETY: as for `register`.
            unsafe { size.store(row.0[at..][..V::LANES].as_mut_ptr()) };
        }
        *scale = y.same(1.0 - MIN_BIN * bins as f64) / sum;
    }
    let mut begins = [zero; 2];
    let (mut found, mut slopes) = ([[zero, one]; 2], [zero; 2]);
    for bin in 0..bins {
        let here = begins[1].le(y);
        for side in 0..2 {
            let size = register(&sizes[side * bins + bin], at, y).mul_add(scales[side], least);
            let last = bin + 1 == bins;
            let end = if last { one } else { begins[side] + size };
            let own = [begins[side], end - begins[side]];
            found[side] = [
                V::select(here, own[0], found[side][0]),
                V::select(here, own[1], found[side][1]),
            ];
            slopes[side] = V::select(here, register(&edges[bin + side], at, y), slopes[side]);
            begins[side] = end;
        }
    }
    let [[left, width], [bottom, height]] = found;
    let (first, last) = (slope(slopes[0]), slope(slopes[1]));
    let (delta, above) = (height / width, y - bottom);
    let bend = first + last - (delta + delta);
    let a = above.mul_add(bend, height * (delta - first));
    let b = (height * first) - above * bend;
    let c = -(delta * above);
    let discriminant = (b * b - y.same(4.0) * a * c).max(zero);
    // Fraction of the bin before x.
    let part = (c + c) / (-b - discriminant.sqrt());
    let part = part.max(zero).min(one);
    let rest = one - part;
    let both = part * rest;
    let denominator = bend.mul_add(both, delta);
    let derivative =
        delta * delta * (last * part * part + (delta + delta) * both + first * rest * rest);
    let x = part.mul_add(width, left);
    let x = x.max(y.same(MIN_NUMBER)).min(y.same(f64::BELOW_ONE));
    (x, denominator * denominator / derivative)
}

#[cfg(test)]
mod tests;
