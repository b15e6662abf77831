//! Computes weights from random numbers for blocks of points, each of one channel, on several threads. Results do not
//! depend on the number of threads.

use super::blocks::{Block, GridInput, POINTS};
use super::events;
use super::integrand::{
    ElementGroup, Failure, Integrand, MatrixElementSource, PointMomenta, PointSource,
};
use super::parallel;
use super::workspace::{FLAVOR, JACOBIAN, Workspace, evaluate};
use mebridge_phasespace::Layout;
use mebridge_simd::Level;

impl Integrand {
    /// Weighs the points of a block.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    ///
    /// # Panics
    /// If the workspace is too small, there is no such source, or the number of points is not a multiple of 8.
    pub fn weigh(
        &self,
        block: &Block,
        elements: &mut dyn MatrixElementSource,
        work: &mut Workspace,
    ) -> Result<(), Failure> {
        let Block { first, count, .. } = *block;
        assert!(first % 8 == 0 && count % 8 == 0, "whole groups of points");
        let source = &self.sources[block.source];
        let group = &self.groups[source.group];
        let layout = Layout::new(group.legs);
        let dimension = source.channel.dimension();
        let level = self.level;
        for rows in [&mut work.numbers, &mut work.mapped, &mut work.points] {
            rows.set_points(count);
        }
        fill(block, level, dimension, work);
        block.grid.map(level, &work.numbers, &mut work.mapped);
        let of_grid = work.mapped.row_mut(dimension).iter_mut();
        of_grid
            .zip(&work.jacobians)
            .for_each(|(grid, flow)| *grid *= flow);
        let turn = (first / 8) as usize;
        (source.channel).draw(
            level,
            &work.mapped,
            &source.permutations,
            turn,
            &mut work.points,
        );
        let more = layout.rows();
        for (row, from) in [
            (JACOBIAN, work.mapped.row(dimension)),
            (FLAVOR, work.numbers.row(dimension)),
        ] {
            work.points.row_mut(more + row).copy_from_slice(from);
        }
        self.select(group, count, work);
        let biased = self.is_biased();
        work.weights.clear();
        work.weights.resize(count, 0.0);
        work.unbiased.clear();
        work.unbiased.resize(if biased { count } else { 0 }, 0.0);
        work.biases.clear();
        if work.kept.is_empty() {
            return Ok(());
        }
        work.columns.clear();
        let permutations = source.permutations.len();
        let columns = work
            .kept
            .iter()
            .map(|&point| source.columns[(turn + point as usize / 8) % permutations]);
        work.columns.extend(columns);
        let passed = work.kept.len();
        work.shares.set_points(passed);
        group
            .weights
            .shares(level, &work.points, &work.columns, &mut work.shares);
        work.scales.set_points(passed);
        group
            .scale
            .evaluate(level, group.legs, &work.points, &mut work.scales, 0);
        let passes = self.call_functions(group, layout, work)?;
        if let Some(of) = &group.clustering {
            of.raise(&group.scale, &mut work.scales);
        }
        work.alpha_s.clear();
        let scales = work.scales.row(0).iter();
        work.alpha_s
            .extend(scales.map(|&scale| self.running.at(scale)));
        self.draw_partons(group, source, passed, layout, work);
        if self.functions.is_some() {
            let drawn = work.factors.iter_mut().zip(&work.drawn).enumerate();
            for (place, (factor, &drawn)) in drawn {
                let exchanged = group.partons[drawn as usize].exchanged;
                if !passes[usize::from(exchanged)][place] {
                    *factor = 0.0;
                }
            }
        }
        if !self.selections.is_empty() {
            self.filter(group, work)?;
        }
        // The dimensions after those of the grid, of the partons and of their process.
        let needed = [
            (group.clustering.is_some(), &mut work.channel_numbers),
            (elements.draws_flows(), &mut work.flow_numbers),
        ];
        for (next, (needed, numbers)) in (dimension as u32 + 2..).zip(needed) {
            let number = |&point: &u32| block.random.number(first + u64::from(point), next);
            numbers.clear();
            if needed {
                numbers.extend(work.kept.iter().map(number));
            }
        }
        evaluate(group, elements, passed, work)?;
        match &group.clustering {
            None => work.clustering.matched.clear(),
            Some(of) => self.cluster(group, of, block, elements, work)?,
        }
        set_weights(group, layout, permutations, work);
        Ok(())
    }

    /// Replaces the scales of points by those of functions. Returns which points pass the cut of these with the first leg
    /// from the first beam, and which with the first leg from the second one; nothing without functions, or for an order
    /// that does not occur.
    fn call_functions(
        &self,
        group: &ElementGroup,
        layout: Layout,
        work: &mut Workspace,
    ) -> Result<[Vec<bool>; 2], Failure> {
        let mut passes: [Vec<bool>; 2] = Default::default();
        let Some(functions) = &self.functions else {
            return Ok(passes);
        };
        let count = work.kept.len();
        let mut scales: Option<Vec<[f64; 2]>> = None;
        for (exchanged, passes) in [false, true].into_iter().zip(&mut passes) {
            if group.partons.iter().all(|one| one.exchanged != exchanged) {
                continue;
            }
            let mut momenta = Vec::with_capacity(count * group.legs);
            for place in 0..count {
                momenta.extend(events::momenta_of_partons(
                    &work.points,
                    layout,
                    group.legs,
                    place,
                    exchanged,
                ));
            }
            let rapidities = work.points.row(layout.rapidity())[..count].iter();
            let turn = events::turn(exchanged);
            let rapidities: Vec<f64> = rapidities.map(|rapidity| turn * rapidity).collect();
            let points = PointMomenta {
                legs: group.legs,
                momenta: &momenta,
                rapidities: &rapidities,
            };
            passes.resize(count, true);
            let mut found = vec![[0.0; 2]; count];
            functions.evaluate(group.elements[0], &points, passes, &mut found)?;
            scales = Some(match scales {
                Some(first) if functions.has_scale() => same_scales(first, &found)?,
                _ => found,
            });
        }
        if let Some(scales) = scales.filter(|_| functions.has_scale()) {
            let fixed = group.scale.fixed();
            for (row, _) in fixed
                .iter()
                .enumerate()
                .filter(|(_, fixed)| fixed.is_none())
            {
                for (scale, found) in work.scales.row_mut(row).iter_mut().zip(&scales) {
                    // The rows of both densities follow that of alpha_s.
                    let found = found[row.min(1)];
                    *scale = match found > 0.0 {
                        true => group.scale.factor * found,
                        // Such a point does not count.
                        false => WITHOUT_SCALE,
                    };
                }
            }
        }
        Ok(passes)
    }

    /// Sets the factors of points to zero that fail further cuts, and finds the bias of the others.
    fn filter(&self, group: &ElementGroup, work: &mut Workspace) -> Result<(), Failure> {
        let layout = Layout::new(group.legs);
        for (number, &element) in group.elements.iter().enumerate() {
            let own = |&place: &usize| {
                let partons = &group.partons[work.drawn[place] as usize];
                partons.element == number && work.factors[place] != 0.0
            };
            let own: Vec<usize> = (0..work.drawn.len()).filter(own).collect();
            let mut momenta = Vec::with_capacity(own.len() * group.legs);
            for &place in &own {
                let exchanged = group.partons[work.drawn[place] as usize].exchanged;
                let first = momenta.len();
                momenta.extend(events::momenta(
                    &work.points,
                    layout,
                    group.legs,
                    place,
                    exchanged,
                ));
                if exchanged {
                    momenta.swap(first, first + 1);
                }
            }
            let mut passes = vec![true; own.len()];
            if !own.is_empty() {
                for selection in &self.selections {
                    selection.select(element, group.legs, &momenta, &mut passes)?;
                }
            }
            for (&place, _) in own.iter().zip(&passes).filter(|(_, passes)| !**passes) {
                work.factors[place] = 0.0;
            }
            if self.is_biased() && !own.is_empty() {
                work.biases.resize(work.drawn.len(), 1.0);
                let mut biases = vec![1.0; own.len()];
                for selection in &self.selections {
                    selection.bias(element, group.legs, &momenta, &mut biases)?;
                }
                for ((place, bias), _) in own
                    .into_iter()
                    .zip(biases)
                    .zip(passes)
                    .filter(|(_, passes)| *passes)
                {
                    if !(bias > 0.0 && bias.is_finite()) {
                        let what = format!(
                            "the bias of an event is {bias}: it must be positive and finite"
                        );
                        return Err(what.into());
                    }
                    work.biases[place] = bias;
                }
            }
        }
        Ok(())
    }

    /// Draws the incoming partons of each point, and writes the factors of its weight.
    fn draw_partons(
        &self,
        group: &ElementGroup,
        source: &PointSource,
        passed: usize,
        layout: Layout,
        work: &mut Workspace,
    ) {
        work.drawn.clear();
        work.factors.clear();
        if let (false, [only]) = (self.has_densities(), &group.partons[..]) {
            work.drawn.resize(passed, 0);
            work.factors.resize(passed, only.factor);
            return;
        }
        self.look_up(group, passed, layout, work);
        let flavors = self.flavors(group);
        let places: Vec<Option<[usize; 2]>> = (group.partons.iter())
            .map(|one| self.places(group, one))
            .collect();
        let random = work.points.row(layout.rows() + FLAVOR);
        let (luminosity, fraction) = (self.luminosities(), self.fractions(&work.points, layout));
        let mut shares = vec![0.0; group.partons.len()];
        for (point, &random) in random[..passed].iter().enumerate() {
            let values =
                [0, 1].map(|leg| &work.values[leg][point * flavors[leg]..][..flavors[leg]]);
            let mut total = 0.0;
            for ((share, places), one) in shares.iter_mut().zip(&places).zip(&group.partons) {
                *share = luminosity(values, *places) * one.factor * source.chances[one.element];
                // Densities may be negative, and then events are too.
                total += share.abs();
            }
            let mut rest = random * total;
            let mut drawn = 0;
            for (number, share) in shares
                .iter()
                .enumerate()
                .filter(|(_, share)| **share != 0.0)
            {
                drawn = number;
                if rest < share.abs() {
                    break;
                }
                rest -= share.abs();
            }
            let fractions = fraction(0, point) * fraction(1, point);
            let chance = source.chances[group.partons[drawn].element] * fractions;
            work.factors.push(total.copysign(shares[drawn]) / chance);
            work.drawn.push(drawn as u32);
        }
    }
}

/// The scale of a point that does not count, GeV: within all tables.
const WITHOUT_SCALE: f64 = 91.188;
/// Relative difference below which the scales of both orders of the beams are equal.
const EQUAL_SCALES: f64 = 1e-9;

/// Returns the scales of points from those of both orders of the beams, 0 where an order does not count.
///
/// # Errors
/// They differ: a point has its scale before the order is drawn.
fn same_scales(
    mut of_first: Vec<[f64; 2]>,
    of_second: &[[f64; 2]],
) -> Result<Vec<[f64; 2]>, Failure> {
    let both = of_first.as_flattened_mut().iter_mut();
    for (one, &other) in both.zip(of_second.as_flattened()) {
        if *one == 0.0 {
            *one = other;
        } else if other != 0.0 && (*one / other - 1.0).abs() > EQUAL_SCALES {
            return Err(format!(
                "the scale of a function is {one} GeV, and {other} GeV with the beams exchanged: it must not depend on \
                 their order"
            )
            .into());
        }
    }
    Ok(of_first)
}

/// Fills in the input of a block's grid, and the Jacobians of its flow.
fn fill(block: &Block, level: Level, dimension: usize, work: &mut Workspace) {
    work.jacobians.clear();
    let GridInput::Given(given) = block.numbers else {
        let dimensions = 0..dimension as u32 + 1;
        (block.random).fill(level, block.first, dimensions, &mut work.numbers, 0);
        if let GridInput::Flow(flow) = block.numbers {
            work.jacobians.resize(block.count, 1.0);
            flow.map(level, &mut work.numbers, &mut work.jacobians);
        }
        return;
    };
    assert_eq!(given.len(), block.count * (dimension + 1), "all numbers");
    for (point, numbers) in given.chunks_exact(dimension + 1).enumerate() {
        for (row, &number) in numbers.iter().enumerate() {
            work.numbers.row_mut(row)[point] = number;
        }
    }
}

/// What is extracted from each weighed block.
pub trait BlockReader: Sync {
    /// The extracted data.
    type Output: Send;
    /// Extracts data from the workspace that holds the block.
    fn read(&self, block: &Block, work: &Workspace) -> Self::Output;
}

/// Weighs blocks with one thread per evaluator, and passes the extracted data to `take` in the order of the blocks.
///
/// # Errors
/// A matrix element cannot be evaluated.
///
/// # Panics
/// If there is no evaluator, or a thread panics.
pub fn weigh_each<S: MatrixElementSource + Send, H: BlockReader>(
    integrand: &Integrand,
    blocks: &[Block],
    evaluators: &mut [S],
    reader: &H,
    take: impl FnMut(H::Output),
) -> Result<(), Failure> {
    let with_workspace = |evaluator| (evaluator, Workspace::new(integrand, POINTS));
    let mut workers: Vec<(&mut S, Workspace)> = evaluators.iter_mut().map(with_workspace).collect();
    let weigh = |(evaluator, work): &mut (&mut S, Workspace), number: usize| {
        let block = &blocks[number];
        integrand.weigh(block, *evaluator, work)?;
        Ok(reader.read(block, work))
    };
    parallel::each(&mut workers, blocks.len(), weigh, take)
}

/// Multiplies the factors of the weight of each point that is kept, and its bias.
fn set_weights(group: &ElementGroup, layout: Layout, permutations: usize, work: &mut Workspace) {
    for (place, &point) in work.kept.iter().enumerate() {
        let row = |row: usize| work.points.row(row)[place];
        let flux = group.flux.factor(row(layout.energy_square()));
        let phase_space = row(layout.weight()) * row(layout.rows() + JACOBIAN) * flux;
        let share = work.shares.row(0)[place] * permutations as f64;
        let weight = work.factors[place] * work.squared[place];
        work.weights[point as usize] = weight * share * phase_space;
    }
    if !work.unbiased.is_empty() {
        work.unbiased.copy_from_slice(&work.weights);
        for (bias, &point) in work.biases.iter().zip(&work.kept) {
            work.weights[point as usize] *= bias;
        }
    }
}
