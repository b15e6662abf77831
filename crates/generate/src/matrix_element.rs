//! A matrix element before it is assembled.

use super::chains::OnShell;
use super::color_ordered::ColorOrderedLegs;
use super::squared::SquaredSelection;
use super::subprocess::Subprocess;
use super::trees::Diagrams;
use crate::model::ParticleId;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// A matrix element.
pub struct MatrixElement {
    /// Its legs.
    pub subprocess: Subprocess,
    /// The legs for a colour-ordered form, if it may have one.
    pub line: Option<ColorOrderedLegs>,
    pub(super) content: AmplitudeContent,
    /// The selected products of diagrams; `None` for all.
    pub selection: Option<SquaredSelection>,
    /// Particles that decayed.
    pub on_shell: Vec<OnShell>,
    /// Particles of s-channels that must not be on their mass shell.
    pub off_shell: Vec<ParticleId>,
    /// Whether t-channel lines have no width.
    pub zero_width: bool,
    /// Allowed ranges of the coupling orders.
    pub orders: Rc<Vec<RangeInclusive<u32>>>,
    /// Its name.
    pub name: String,
    /// Number of its request in the text.
    pub(super) request: usize,
    /// The particles of other processes with the same matrix element.
    pub others: Vec<Vec<ParticleId>>,
}

/// The content of a matrix element.
pub(super) enum AmplitudeContent {
    Diagrams(Diagrams),
    /// The vertices of a colour-ordered form, if there are too many diagrams to list.
    Vertices(Vec<u32>),
}
