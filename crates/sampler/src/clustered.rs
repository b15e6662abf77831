//! Scales, cuts and weights of clustered points.
//!
//! MadEvent clusters a point in its integration channel, with the share given by its squared diagram (or by its
//! propagators, `sde_strategy = 2`), and the scales depend on the channel: the cross section is a sum over channels of
//! the share times the integrand at the scales of that channel. The channels here are different. So each point draws
//! one of MadEvent's channels in proportion to its share, which gives the same sum by Monte Carlo.
//!
//! Before clustering, partons are drawn and |M|^2 is evaluated at scales of the momenta; these factors are replaced
//! afterwards.

use super::blocks::Block;
use super::integrand::{
    ElementGroup, Failure, Integrand, MatrixElementSource, PointNumbers, RunningCoupling,
    Workspace, evaluate,
};
use super::random::Philox;
use mebridge_phasespace::clustering::{
    Clustering, ClusteringCache, InitialScales, JetCounts, MAX_LEGS, Matched, Weighing,
    copy_momenta,
};
use mebridge_phasespace::scales::Scale;
use mebridge_phasespace::{Layout, Rows};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clustering of the matrix elements of a group.
#[derive(Clone, Debug)]
pub struct Clusterings {
    /// One entry per matrix element of the group.
    pub elements: Vec<ElementClustering>,
    /// For each of the group's partons, the indices of their processes among those of their matrix element.
    pub processes: Vec<Vec<usize>>,
    /// Whether scales that are not fixed are those of clustering (`dynamical_scale_choice = -1`).
    pub scaled: bool,
    /// Whether clustering cuts or weights points; otherwise, if scales are those of momenta, only points of excluded
    /// resonances are dropped.
    pub matched: bool,
    /// Energy of both beams together, GeV.
    pub energy: f64,
    /// Memories not in use by a thread: results that one thread memorised are available in the next part of a run.
    pub memories: Memories,
}

/// Memories of the matrix elements of a group, by thread.
pub type Memories = Arc<Mutex<Vec<Vec<ClusteringCache>>>>;

/// Clustering of a matrix element.
#[derive(Clone, Debug)]
pub struct ElementClustering {
    /// Its diagrams, and which results are used.
    pub clustering: Clustering,
    /// For each channel the number of its diagram, from 0.
    pub diagrams: Vec<u32>,
    /// The power of alpha_s in |M|^2; `None` if there are several.
    pub power: Option<i32>,
}

/// Data of a thread for the points that it clusters.
#[derive(Debug, Default)]
pub struct ClusteringWork {
    /// For each point its channel, among the diagrams of its matrix element's clustering.
    pub channels: Vec<i32>,
    /// For each point the result of matching, if points are weighted.
    pub matched: Vec<Option<Matched>>,
    /// For each group its memories, and the pool to return them to.
    memories: Vec<(Vec<ClusteringCache>, Memories)>,
    before: Vec<f64>,
    alpha_s: Vec<f64>,
}

/// Lower bound in GeV for the scales by which partons are drawn: densities of heavy quarks vanish at their masses,
/// where those at clustered scales may not.
const MIN_SCALE: f64 = 10.0;

/// Points per source used to count jets.
const COUNTED: usize = 64;

impl ClusteringWork {
    /// Creates the data for an integrand.
    pub(crate) fn new(integrand: &Integrand) -> Self {
        let of_group = |group: &ElementGroup| {
            let Some(of) = &group.clustering else {
                return Default::default();
            };
            let left = lock(&of.memories).pop();
            let new = || {
                of.elements
                    .iter()
                    .map(|_| ClusteringCache::default())
                    .collect()
            };
            (left.unwrap_or_else(new), of.memories.clone())
        };
        ClusteringWork {
            memories: integrand.groups.iter().map(of_group).collect(),
            channels: Vec::new(),
            matched: Vec::new(),
            before: Vec::new(),
            alpha_s: Vec::new(),
        }
    }
}

impl Drop for ClusteringWork {
    fn drop(&mut self) {
        for (memories, from) in self.memories.drain(..) {
            if !memories.is_empty() {
                lock(&from).push(memories);
            }
        }
    }
}

fn lock(memories: &Memories) -> MutexGuard<'_, Vec<Vec<ClusteringCache>>> {
    memories.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clusterings {
    /// Raises the scales by which partons are drawn to [`MIN_SCALE`], except for fixed scales.
    pub(crate) fn raise(&self, of: &Scale, scales: &mut Rows) {
        let beams = of.factorisation.is_some();
        for (row, fixed) in [of.renormalisation.is_some(), beams, beams]
            .into_iter()
            .enumerate()
        {
            if self.scaled && !fixed {
                for scale in scales.row_mut(row) {
                    *scale = scale.max(MIN_SCALE);
                }
            }
        }
    }

    /// Returns whether clustering may change the scales of points.
    fn changes_scales(&self) -> bool {
        self.scaled || self.elements.iter().any(|one| one.clustering.reweighted())
    }

    /// Returns the index of a point's process among those of its matrix element.
    fn process(&self, partons: usize, random: f64) -> usize {
        let some = &self.processes[partons];
        some[((random * some.len() as f64) as usize).min(some.len() - 1)]
    }
}

impl Integrand {
    /// Clusters the evaluated points and replaces their scales, alpha_s, densities, cuts and weights.
    pub(crate) fn cluster(
        &self,
        group: &ElementGroup,
        of: &Clusterings,
        block: &Block,
        elements: &mut dyn MatrixElementSource,
        work: &mut Workspace,
    ) -> Result<(), Failure> {
        let passed = work.kept.len();
        let layout = Layout::new(group.legs);
        let source = &self.sources[block.source];
        let next = source.channel.dimension() as u32 + 1;
        let mut clustering = std::mem::take(&mut work.clustering);
        clustering.matched.clear();
        clustering.before.clear();
        for place in 0..passed {
            clustering.before.push(self.luminosity(group, work, place));
        }
        clustering.alpha_s.clear();
        clustering.alpha_s.extend_from_slice(&work.alpha_s);
        let mut momenta = [[0.0; 4]; MAX_LEGS];
        for place in 0..passed {
            let drawn = work.drawn[place] as usize;
            let partons = &group.partons[drawn];
            let own = &of.elements[partons.element].clustering;
            let memory = &mut clustering.memories[source.group].0[partons.element];
            let mut matched = None;
            let channel = usize::try_from(clustering.channels[place]).ok();
            let counts = work.squared[place] != 0.0 && work.factors[place] != 0.0;
            let Some(channel) = channel.filter(|_| counts) else {
                work.squared[place] = 0.0;
                clustering.matched.push(None);
                continue;
            };
            let p = copy_momenta(&work.points, place, &mut momenta[..group.legs]);
            if !of.scaled && !of.matched {
                if own.excludes(channel, p) {
                    work.squared[place] = 0.0;
                }
                continue;
            }
            let number = block.first + u64::from(work.kept[place]);
            let process = of.process(drawn, block.random.number(number, next));
            let given = self.given(group, of, &work.scales, place);
            match own.cluster(channel, process, p, &given, memory)? {
                None => work.squared[place] = 0.0,
                Some(found) => {
                    for (row, scale) in found.scales.into_iter().enumerate() {
                        work.scales.row_mut(row)[place] = scale;
                    }
                    work.alpha_s[place] = self.alpha_s(found.scales[0]);
                    if own.reweighted() {
                        let x = [0, 1].map(|leg| work.points.row(layout.fraction(leg))[place]);
                        let density = |leg: usize, code: i32, x: f64, q: f64| {
                            self.beams[group.beams[leg]].value(code, x, q * q)
                        };
                        let by = Weighing {
                            alpha_s: &|scale| self.alpha_s(scale),
                            density: self.has_densities().then_some(&density as _),
                            codes: partons.codes,
                            x,
                            energy: of.energy,
                        };
                        let found = own.matched(&found, &given, &by, memory);
                        work.factors[place] *= found.weight;
                        matched = Some(found);
                    }
                }
            }
            clustering.matched.push(matched);
        }
        if of.changes_scales() {
            self.replace(group, of, layout, &clustering, elements, work)?;
        }
        work.clustering = clustering;
        Ok(())
    }

    /// Replaces densities and |M|^2 by their values at the new scales.
    fn replace(
        &self,
        group: &ElementGroup,
        of: &Clusterings,
        layout: Layout,
        clustering: &ClusteringWork,
        elements: &mut dyn MatrixElementSource,
        work: &mut Workspace,
    ) -> Result<(), Failure> {
        let passed = work.kept.len();
        if self.has_densities() && group.scale.factorisation.is_none() {
            self.look_up(group, passed, layout, work);
            for place in 0..passed {
                let before = clustering.before[place];
                if work.squared[place] != 0.0 && before != 0.0 {
                    work.factors[place] *= self.luminosity(group, work, place) / before;
                }
            }
        }
        if of.elements.iter().all(|one| one.power.is_some()) {
            for place in 0..passed {
                let element = group.partons[work.drawn[place] as usize].element;
                let ratio = work.alpha_s[place] / clustering.alpha_s[place];
                work.squared[place] *= ratio.powi(of.elements[element].power.unwrap_or(0));
            }
            return Ok(());
        }
        let counts: Vec<bool> = work.squared.iter().map(|squared| *squared != 0.0).collect();
        // The channels stay.
        work.channel_numbers.clear();
        evaluate(group, elements, passed, work)?;
        for (squared, _) in work
            .squared
            .iter_mut()
            .zip(counts)
            .filter(|(_, counts)| !counts)
        {
            *squared = 0.0;
        }
        Ok(())
    }

    /// Returns the scales of a point before it is clustered.
    fn given(
        &self,
        group: &ElementGroup,
        of: &Clusterings,
        scales: &Rows,
        place: usize,
    ) -> InitialScales {
        let fixed = group.scale.factorisation;
        let (renormalisation, factorisation) = match of.scaled {
            true => (
                group.scale.renormalisation.unwrap_or(0.0),
                fixed.unwrap_or([0.0; 2]),
            ),
            false => {
                let [own, first, second] = [0, 1, 2].map(|row| scales.row(row)[place]);
                (own, [first, second])
            }
        };
        InitialScales {
            renormalisation,
            factorisation,
            fixed: fixed.is_some(),
            factor: group.scale.factor,
        }
    }

    fn alpha_s(&self, scale: f64) -> f64 {
        match &self.running {
            RunningCoupling::Fixed(value) => *value,
            RunningCoupling::Table(table) => table.at(scale * scale),
        }
    }

    /// Counts the jets of all channels in which points are clustered, from a few points of each source.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or points cannot be clustered.
    pub fn count_jets(&mut self, elements: &mut dyn MatrixElementSource) -> Result<(), Failure> {
        let mut counts: Vec<Vec<[JetCounts; 2]>> = Vec::new();
        for group in &self.groups {
            let of = group.clustering.iter().flat_map(|of| &of.elements);
            counts.push(of.map(|_| Default::default()).collect());
        }
        let mut work = Workspace::new(self, COUNTED);
        for number in 0..self.sources.len() {
            let source = &self.sources[number];
            let group = &self.groups[source.group];
            let Some(of) = &group.clustering else {
                continue;
            };
            // A round number that no survey and no round of events uses.
            let random = Philox {
                seed: 0,
                round: u16::MAX,
                channel: number as u32,
            };
            let dimension = source.channel.dimension() as u32;
            for rows in [&mut work.numbers, &mut work.points] {
                rows.set_points(COUNTED);
            }
            random.fill(self.level, 0, 0..dimension + 1, &mut work.numbers, 0);
            (source.channel).draw(
                self.level,
                &work.numbers,
                &source.permutations,
                0,
                &mut work.points,
            );
            self.select(group, COUNTED, &mut work);
            let passed = work.kept.len();
            if passed == 0 {
                continue;
            }
            let numbers: Vec<f64> = (work.kept.iter())
                .map(|&point| random.number(u64::from(point), dimension))
                .collect();
            let alpha_s = vec![self.alpha_s(91.188); passed];
            let (mut squared, mut channels) = (vec![0.0; passed], vec![-1; passed]);
            let numbers = PointNumbers {
                channels: &numbers,
                flows: &numbers,
            };
            for (place, &element) in group.elements.iter().enumerate() {
                elements.evaluate(
                    element,
                    &work.points,
                    &alpha_s,
                    numbers,
                    &mut squared,
                    &mut channels,
                )?;
                let [own, every] = &mut counts[source.group][place];
                let clustering = &of.elements[place].clustering;
                clustering.count_jets(&work.points, &channels, own)?;
                channels.fill(-1);
                for channel in 0..clustering.channels() {
                    channels[0] = channel as i32;
                    clustering.count_jets(&work.points, &channels, every)?;
                }
            }
        }
        for (group, counts) in self.groups.iter_mut().zip(&counts) {
            let elements = group.clustering.iter_mut().flat_map(|of| &mut of.elements);
            for (element, [own, every]) in elements.zip(counts) {
                element.clustering.settle(own);
                // For channels in which no point was drawn.
                element.clustering.settle(every);
            }
        }
        Ok(())
    }
}
