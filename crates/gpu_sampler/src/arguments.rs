//! Argument structures of the kernels that run before and after the |M|^2 kernels.

use mebridge_gpu::device_structures;

device_structures! {
    /// A run: consecutive blocks of one source.
    RunHead {
        /// Weight above which a point stands for more than one event.
        threshold: [double],
        /// Number of the first block.
        first: [unsigned],
        /// Number of blocks.
        count: [unsigned],
        /// Dimension of the grid.
        dimension: [unsigned],
        /// Start of the matrix elements of its group in `members`, and their number.
        first_element: [unsigned],
        elements: [unsigned],
        /// Start of the partons of its group in `exchanged`.
        first_partons: [unsigned],
    }

    /// Sums over the weights of a block, and its numbers of points that become events, pass the cuts, have a weight,
    /// and have an unusable weight.
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

    /// Arguments of the kernels around |M|^2. Rows of doubles have `stride` numbers.
    HarvestArguments {
        heads: [const BlockHead *],
        runs: [const RunHead *],
        blocks: [unsigned],
        stride: [unsigned],
        /// Number of matrix elements, and the largest number in a group.
        elements: [unsigned],
        most_elements: [unsigned],
        /// Maximum number of momentum rows, and maximum grid dimension.
        rows: [unsigned],
        dimensions: [unsigned],
        /// Whether points become events.
        draws: [unsigned],
        /// Maximum number of points per block that a trial returns.
        most_tried: [unsigned],
        /// Number of legs of each matrix element, and the matrix element for which that of a class of colour flows stands.
        legs: [const unsigned *],
        of_class: [const unsigned *],
        /// Matrix elements of all groups.
        members: [const unsigned *],
        /// For the partons of all groups: whether the first leg comes from the second beam.
        exchanged: [const unsigned *],
        /// Arrays of `PointRows`.
        element: [unsigned *],
        partons: [const unsigned *],
        momenta: [const double *],
        kinematics: [const double *],
        factor: [const double *],
        /// The flows of matrix elements, as in `flows.rs`; null without any.
        flow_words: [const unsigned *],
        flow_sizes: [const double *],
        /// For each slot where its flow begins in these words, and its probability; null without flows.
        flow: [unsigned *],
        flow_share: [double *],
        /// For each slot: its rank among the points of its block with the same matrix element, later its index in the
        /// compact arrays.
        place: [unsigned *],
        /// `[element][block]`: number of points, and its exclusive prefix sum.
        counts: [unsigned *],
        starts: [unsigned *],
        /// Start of each matrix element in the compact arrays, and the end of the last.
        begins: [unsigned *],
        compact_momenta: [double *],
        compact_alpha_s: [double *],
        /// |M|^2, in compact order.
        squared: [double *],
        /// Weight of each slot.
        weights: [double *],
        sums: [BlockSums *],
        /// For each slot: its rank among the events of its block.
        event: [unsigned *],
        /// Number of events of each block, its exclusive prefix sum, and the begin and end of all events.
        accepted: [unsigned *],
        first_event: [unsigned *],
        event_begins: [unsigned *],
        events: [double *],
        /// Largest size in each run, and `[run][bin][2]`: number of sizes in the bin, and their bits within it.
        largest: [double *],
        spectra: [Size *],
        /// Training sums of blocks, before they are combined into runs.
        of_blocks: [double *],
        /// `[run][dimension][bin]`, and `[run][element][2]`.
        training: [double *],
        shares: [double *],
        /// `[block][point]`: a weight and momentum rows.
        tried: [double *],
    }
}
