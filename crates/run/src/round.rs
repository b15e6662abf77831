//! Results of a survey and of a round, as they are stored and sent.

use crate::records::RoundWeights;
use mebridge_sampler::rounds::CorrectionSums;
use mebridge_support::sorted::SortedMap;
use serde::{Deserialize, Serialize};

/// File with the points of a survey, in its folder.
pub(crate) const POINTS: &str = "points";

/// Number of the points of a channel, and the mean of their weights with its error, pb.
pub type Measured = (u64, f64, f64);

/// Results of the points of a survey.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SurveyPoints {
    /// Number of points.
    pub points: u64,
    /// Indices of the matrix elements of each channel that is kept.
    pub elements: Vec<Vec<usize>>,
    /// Points of each channel per event of a round.
    pub shares: Vec<f64>,
    /// The points of each channel that count for the cross section.
    pub measured: Vec<Measured>,
    /// For each channel, the same for absolute weights including their bias; empty without a bias.
    pub biased: Vec<Measured>,
}

/// The part of a round that counts for cross sections.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RoundCounts {
    /// Number of its events.
    pub events: u64,
    /// The points of each channel whose number was fixed before they were drawn.
    pub measured: Vec<Measured>,
    /// The same for absolute weights including their bias; empty without a bias.
    pub biased: Vec<Measured>,
    /// For each channel the corrections from an approximation of |M|^2, by which its points are weighed, to |M|^2; empty
    /// if it is not approximated.
    pub corrections: Vec<CorrectionSums>,
    /// For each matrix element, by its number: number of events, and the sums of their weights and of the squared weights.
    pub drawn: SortedMap<u32, [f64; 3]>,
}

/// Results of a round.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RoundResult {
    /// The part that counts for cross sections.
    pub counted: RoundCounts,
    /// Statistics of the weights of its events, pb.
    pub weights: RoundWeights,
    /// Results of each channel.
    pub channels: Vec<ChannelMean>,
    /// Number of events passed to a function of the momenta, and of those that it kept.
    pub cut: [u64; 2],
}

/// Results of a channel in a round.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct ChannelMean {
    /// Number of points.
    pub drawn: u64,
    /// Mean weight, pb.
    pub mean: f64,
    /// Error of the mean, pb.
    pub error: f64,
    /// Number of points that passed the cuts.
    pub passed: u64,
    /// Number of points that became events.
    pub events: u64,
}
