//! Structures of the kernels around |M|^2.

use mebridge_gpu::device_structures;

device_structures! {
    /// Blocks of one source that follow each other.
    RunHead {
        /// The weight above which a point is more than one event.
        threshold: [double],
        /// The first block.
        first: [unsigned],
        /// How many there are.
        count: [unsigned],
        /// Dimensions of the grid.
        dimension: [unsigned],
        /// Where the numbers of the matrix elements of its group begin, and how many there are.
        first_element: [unsigned],
        elements: [unsigned],
        /// Where the partons of its group begin.
        first_partons: [unsigned],
    }

    /// Sums over the weights of a block, and how many of its points are events, pass the cuts, have a weight, and have one
    /// that is not usable.
    BlockSums {
        sum: [double],
        absolute: [double],
        square: [double],
        largest: [double],
        accepted: [unsigned],
        kept: [unsigned],
        passed: [unsigned],
        unusable: [unsigned],
    }

    /// Of the kernels around |M|^2. Rows of doubles have `stride` numbers.
    HarvestArguments {
        heads: [const BlockHead *],
        runs: [const RunHead *],
        blocks: [unsigned],
        stride: [unsigned],
        /// How many matrix elements there are, and how many a group has at most.
        elements: [unsigned],
        most_elements: [unsigned],
        /// Rows of momenta, and dimensions of grids, at most.
        rows: [unsigned],
        dimensions: [unsigned],
        /// Whether points become events.
        draws: [unsigned],
        /// Points of a block that a trial looks at.
        most_tried: [unsigned],
        /// Of each matrix element.
        legs: [const unsigned *],
        /// Numbers of the matrix elements of groups.
        members: [const unsigned *],
        /// Of partons of groups, whether the first leg comes from the second beam.
        exchanged: [const unsigned *],
        /// What `PointRows` says.
        element: [const unsigned *],
        partons: [const unsigned *],
        momenta: [const double *],
        kinematics: [const double *],
        factor: [const double *],
        /// Of each slot, its rank among points of its block that have the same matrix element; then its place in what is
        /// compact.
        place: [unsigned *],
        /// `[element][block]`: points, and those of all before.
        counts: [unsigned *],
        starts: [unsigned *],
        /// Where each matrix element begins in what is compact, and where the last one ends.
        begins: [unsigned *],
        compact_momenta: [double *],
        compact_alpha_s: [double *],
        /// |M|^2, compact.
        squared: [double *],
        /// Of each slot.
        weights: [double *],
        sums: [BlockSums *],
        /// Of each slot, its rank among the events of its block.
        event: [unsigned *],
        /// Events of each block, and those of all before; then from where to where they go.
        accepted: [unsigned *],
        first_event: [unsigned *],
        event_begins: [unsigned *],
        events: [double *],
        /// Of each run the largest size, and `[run][bin][2]` how many sizes there are and their bits within.
        largest: [double *],
        spectra: [Size *],
        /// What blocks teach before runs are put together.
        of_blocks: [double *],
        /// `[run][dimension][bin]`, and `[run][element][2]`.
        training: [double *],
        shares: [double *],
        /// `[block][point]`: a weight and rows of momenta.
        tried: [double *],
    }
}
