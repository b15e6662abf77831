//! The buffers in which a block of points is weighed, and the steps that all points and clustered points have in common.

use super::clustered::ClusteringWork;
use super::integrand::{Beam, ElementGroup, Failure, Integrand, MatrixElementSource, PointNumbers};
use super::sums::WeightSums;
use mebridge_phasespace::compact::{collect_passed, keep_points};
use mebridge_phasespace::{Layout, Rows, scales};

/// Buffers of a thread for a block of points.
#[derive(Debug)]
pub struct Workspace {
    /// Random numbers, the input of grids.
    pub numbers: Rows,
    /// The weights of all points of the last block, 0 for those that fail the cuts. They include the bias, if any.
    pub weights: Vec<f64>,
    /// The same without the bias; empty if there is none.
    pub unbiased: Vec<f64>,
    /// The bias of each point that passes; empty if there is none.
    pub biases: Vec<f64>,
    /// Index in the block of each point that passes; the fields that follow have one entry for each of these.
    pub kept: Vec<u32>,
    /// Index of the drawn partons in the group.
    pub drawn: Vec<u32>,
    /// Momenta and other variables in the rows of [`Layout`].
    pub points: Rows,
    /// Scales in GeV: of renormalisation, and of the densities of both beams.
    pub scales: Rows,
    /// alpha_s.
    pub alpha_s: Vec<f64>,
    /// |M|^2; 0 for points that clustering drops.
    pub squared: Vec<f64>,
    /// Results of clustering.
    pub clustering: ClusteringWork,
    pub(crate) mapped: Rows,
    pub(crate) shares: Rows,
    passed: Vec<bool>,
    pub(crate) columns: Vec<u32>,
    /// Random numbers for the channels in which points are clustered, and for the colour flows by which they are
    /// weighed.
    pub(crate) channel_numbers: Vec<f64>,
    pub(crate) flow_numbers: Vec<f64>,
    q2: Vec<f64>,
    pub(crate) values: [Vec<f64>; 2],
    pub(crate) factors: Vec<f64>,
    parts: Vec<DrawnElement>,
    /// Jacobians of flows.
    pub(crate) jacobians: Vec<f64>,
}

/// The points of a block that belong to one matrix element.
#[derive(Debug)]
struct DrawnElement {
    points: Rows,
    which: Vec<u32>,
    alpha_s: Vec<f64>,
    squared: Vec<f64>,
    channel_numbers: Vec<f64>,
    flow_numbers: Vec<f64>,
    channels: Vec<i32>,
}

/// Additional rows after those of [`Layout`]: the Jacobian of the grid, and the random number that selects the
/// flavours.
pub(crate) const JACOBIAN: usize = 0;
pub(crate) const FLAVOR: usize = 1;
const MORE: usize = 2;

impl Workspace {
    /// Creates buffers for blocks of up to `points` points of an integrand.
    pub fn new(integrand: &Integrand, points: usize) -> Self {
        let dimension = integrand
            .sources
            .iter()
            .map(|source| source.channel.dimension());
        let dimension = dimension.max().unwrap_or(0);
        let legs = integrand.groups.iter().map(|group| group.legs).max();
        let rows = Layout::new(legs.unwrap_or(0)).rows() + MORE;
        let elements = integrand
            .groups
            .iter()
            .map(|group| group.elements.len())
            .max();
        let part = || DrawnElement {
            points: Rows::new(rows - MORE, points),
            which: Vec::new(),
            alpha_s: Vec::new(),
            squared: Vec::new(),
            channel_numbers: Vec::new(),
            flow_numbers: Vec::new(),
            channels: Vec::new(),
        };
        Workspace {
            numbers: Rows::new(dimension + 1, points),
            weights: Vec::new(),
            unbiased: Vec::new(),
            biases: Vec::new(),
            kept: Vec::new(),
            drawn: Vec::new(),
            points: Rows::new(rows, points),
            scales: Rows::new(scales::ROWS, points),
            alpha_s: Vec::new(),
            squared: Vec::new(),
            clustering: ClusteringWork::new(
                (integrand.groups.iter()).map(|group| group.clustering.as_ref()),
            ),
            mapped: Rows::new(dimension + 1, points),
            shares: Rows::new(1, points),
            passed: Vec::new(),
            columns: Vec::new(),
            channel_numbers: Vec::new(),
            flow_numbers: Vec::new(),
            q2: Vec::new(),
            values: [Vec::new(), Vec::new()],
            factors: Vec::new(),
            parts: (0..elements.unwrap_or(0)).map(|_| part()).collect(),
            jacobians: Vec::new(),
        }
    }

    /// Returns sums over the weights of the last block.
    pub(crate) fn sums(&self) -> WeightSums {
        match self.unbiased.is_empty() {
            true => WeightSums::new(&self.weights),
            false => WeightSums::from_biased(&self.weights, &self.unbiased),
        }
    }
}

impl Integrand {
    /// Keeps the points that pass the cuts, with rapidities in the detector frame.
    pub(crate) fn select(&self, group: &ElementGroup, count: usize, work: &mut Workspace) {
        let layout = Layout::new(group.legs);
        if group.rapidity != 0.0 {
            for rapidity in work.points.row_mut(layout.rapidity()) {
                *rapidity += group.rapidity;
            }
        }
        work.passed.clear();
        work.passed.resize(count, true);
        if let Some(cuts) = &group.cuts {
            let moves = group.rapidity != 0.0 || self.has_densities();
            let boost = moves.then(|| work.points.row(layout.rapidity()));
            cuts.passed(self.level, &work.points, boost, &mut work.passed);
        }
        for (passed, weight) in work.passed.iter_mut().zip(work.points.row(layout.weight())) {
            *passed &= *weight > 0.0;
        }
        collect_passed(&work.passed, &mut work.kept);
        keep_points(&mut work.points, &work.kept);
    }

    /// Looks up the densities of all flavours at the scales of the points; 1 for a beam that is a parton, and for the
    /// second one of a pair of photons.
    pub(crate) fn look_up(
        &self,
        group: &ElementGroup,
        passed: usize,
        layout: Layout,
        work: &mut Workspace,
    ) {
        if let Beam::PhotonPair(pairs) = &self.beams[0] {
            let fractions = group.beams.map(|leg| work.points.row(layout.fraction(leg)));
            let of = |point: usize| {
                let x = fractions.map(|of| of[point]);
                x[0] * x[1] * pairs.at(x)
            };
            let [first, second] = &mut work.values;
            first.clear();
            first.extend((0..passed).map(of));
            second.clear();
            second.resize(passed, 1.0);
            return;
        }
        for (leg, beam) in group.beams.into_iter().enumerate() {
            let values = &mut work.values[leg];
            let Beam::Densities { densities, .. } = &self.beams[beam] else {
                values.clear();
                values.resize(passed, 1.0);
                continue;
            };
            let scales = work.scales.row(1 + leg);
            work.q2.clear();
            work.q2.extend(scales.iter().map(|scale| scale * scale));
            values.resize(passed * self.beams[beam].flavors(), 0.0);
            densities.evaluate(work.points.row(layout.fraction(leg)), &work.q2, values);
        }
    }

    /// Returns the product of the densities of the drawn partons from the last look-up; 1 without densities.
    pub(crate) fn luminosity(&self, group: &ElementGroup, work: &Workspace, place: usize) -> f64 {
        if !self.has_densities() {
            return 1.0;
        }
        let flavors = self.flavors(group);
        let values = [0, 1].map(|leg| &work.values[leg][place * flavors[leg]..][..flavors[leg]]);
        let partons = &group.partons[work.drawn[place] as usize];
        self.luminosities()(values, self.places(group, partons))
    }
}

/// Evaluates |M|^2 of all points, by matrix element, and draws the channels of clustered ones.
pub(crate) fn evaluate(
    group: &ElementGroup,
    elements: &mut dyn MatrixElementSource,
    passed: usize,
    work: &mut Workspace,
) -> Result<(), Failure> {
    work.squared.clear();
    work.squared.resize(passed, 0.0);
    let channels = &mut work.clustering.channels;
    channels.clear();
    channels.resize(work.channel_numbers.len(), -1);
    if let [element] = group.elements[..] {
        let numbers = PointNumbers {
            channels: &work.channel_numbers,
            flows: &work.flow_numbers,
        };
        let (points, alpha_s) = (&work.points, &work.alpha_s);
        return elements.evaluate(
            element,
            points,
            alpha_s,
            numbers,
            &mut work.squared,
            channels,
        );
    }
    for (number, &element) in group.elements.iter().enumerate() {
        let part = &mut work.parts[number];
        part.which.clear();
        let own = |drawn: u32| group.partons[drawn as usize].element == number;
        let some = (0..).zip(&work.drawn).filter(|(_, drawn)| own(**drawn));
        part.which.extend(some.map(|(point, _): (u32, _)| point));
        if part.which.is_empty() {
            continue;
        }
        let count = part.which.len();
        part.points.set_points(count);
        for row in 0..4 * group.legs {
            let from = work.points.row(row);
            for (to, &point) in part.points.row_mut(row).iter_mut().zip(&part.which) {
                *to = from[point as usize];
            }
        }
        let own = |all: &[f64], to: &mut Vec<f64>| {
            to.clear();
            if !all.is_empty() {
                to.extend(part.which.iter().map(|&point| all[point as usize]));
            }
        };
        own(&work.alpha_s, &mut part.alpha_s);
        own(&work.channel_numbers, &mut part.channel_numbers);
        own(&work.flow_numbers, &mut part.flow_numbers);
        part.squared.clear();
        part.squared.resize(count, 0.0);
        part.channels.clear();
        part.channels.resize(part.channel_numbers.len(), -1);
        let numbers = PointNumbers {
            channels: &part.channel_numbers,
            flows: &part.flow_numbers,
        };
        let (points, alpha_s) = (&part.points, &part.alpha_s);
        let (squared, of_part) = (&mut part.squared, &mut part.channels);
        elements.evaluate(element, points, alpha_s, numbers, squared, of_part)?;
        for (&point, &channel) in part.which.iter().zip(&part.channels) {
            channels[point as usize] = channel;
        }
        for (&point, &value) in part.which.iter().zip(&part.squared) {
            work.squared[point as usize] = value;
        }
    }
    Ok(())
}
