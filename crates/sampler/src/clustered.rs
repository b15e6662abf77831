//! Scales, cuts and weights of clustered points.
//!
//! MadEvent clusters a point in its integration channel, with the share given by its squared diagram (or by its
//! propagators, `sde_strategy = 2`), and the scales depend on the channel: the cross section is a sum over channels of
//! the share times the integrand at the scales of that channel. The channels here are different. So each point draws
//! one of MadEvent's channels in proportion to its share, which gives the same sum by Monte Carlo.
//!
//! Before clustering, partons are drawn and |M|^2 is evaluated at scales of the momenta; these factors are replaced
//! afterwards.

use mebridge_phasespace::Rows;
use mebridge_phasespace::clustering::{Clustering, ClusteringCache, Matched};
use mebridge_phasespace::scales::Scale;
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
    pub(crate) memories: Vec<(Vec<ClusteringCache>, Memories)>,
    pub(crate) before: Vec<f64>,
    pub(crate) alpha_s: Vec<f64>,
}

/// Lower bound in GeV for the scales by which partons are drawn: densities of heavy quarks vanish at their masses,
/// where those at clustered scales may not.
const MIN_SCALE: f64 = 10.0;

impl ClusteringWork {
    /// Creates the data for these groups of an integrand.
    pub(crate) fn new<'a>(groups: impl Iterator<Item = Option<&'a Clusterings>>) -> Self {
        let of_group = |group: Option<&Clusterings>| {
            let Some(of) = group else {
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
            memories: groups.map(of_group).collect(),
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
        for (row, fixed) in of.fixed().iter().enumerate() {
            if self.scaled && fixed.is_none() {
                for scale in scales.row_mut(row) {
                    *scale = scale.max(MIN_SCALE);
                }
            }
        }
    }

    /// Returns whether clustering may change the scales of points.
    pub(crate) fn changes_scales(&self) -> bool {
        self.scaled || self.elements.iter().any(|one| one.clustering.reweighted())
    }

    /// Returns the index of a point's process among those of its matrix element.
    pub(crate) fn process(&self, partons: usize, random: f64) -> usize {
        let some = &self.processes[partons];
        some[((random * some.len() as f64) as usize).min(some.len() - 1)]
    }
}
