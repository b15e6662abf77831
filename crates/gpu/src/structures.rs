//! Structures that the host fills and the device code reads: the arguments of each kernel, and the heads of tables.
//!
//! A kernel has one parameter, its structure by value. `device_structures!` makes of one list the `repr(C)` structure
//! here and the text that declares it to the device code, where the compiler checks that both have the same layout.
//! Pointers are addresses in the memory of a GPU; 0 stands for none. An optional array says so.

/// What `device_structures!` makes.
pub trait DeviceStructure: Copy {
    /// Where its pointers stand, in bytes.
    fn pointers() -> Vec<usize>;

    /// Its declaration in CUDA C++. Real, Color and Size are known there.
    fn declaration() -> String;

    /// Statements that make a variable of each member of `a`.
    fn variables() -> String;

    /// Its bytes as the GPU has them; padding is zero.
    fn bytes(&self) -> Vec<u8>;
}

/// The type here of a type in CUDA C++.
#[doc(hidden)]
#[macro_export]
macro_rules! device_type {
    (unsigned) => {
        u32
    };
    (double) => {
        f64
    };
    (Size) => {
        u64
    };
    ($($name:ident)+ *) => {
        $crate::driver::Pointer
    };
}

/// Where a member stands, if it is a pointer.
#[doc(hidden)]
#[macro_export]
macro_rules! pointer_at {
    ($structure:ident $field:ident unsigned) => {
        None
    };
    ($structure:ident $field:ident double) => {
        None
    };
    ($structure:ident $field:ident Size) => {
        None
    };
    ($structure:ident $field:ident $($name:ident)+ *) => {
        Some(std::mem::offset_of!($structure, $field))
    };
}

/// Structures, each as a list of members `name: [type in CUDA C++]`.
#[macro_export]
macro_rules! device_structures {
    ($($(#[$doc:meta])* $structure:ident {
        $($(#[$about:meta])* $field:ident: [$($kind:tt)+],)+
    })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct $structure {
            $($(#[$about])* pub $field: $crate::device_type!($($kind)+),)+
        }

        impl $crate::DeviceStructure for $structure {
            fn pointers() -> Vec<usize> {
                [$($crate::pointer_at!($structure $field $($kind)+)),+].into_iter().flatten().collect()
            }

            fn declaration() -> String {
                let name = stringify!($structure);
                let mut text = format!("struct {name} {{\n");
                $(
                    let kind = [$(stringify!($kind)),+].join(" ");
                    text.push_str(&format!("    {kind} {};\n", stringify!($field)));
                )+
                text.push_str("};\n");
                text.push_str(&format!(
                    "static_assert(sizeof({name}) == {}, \"{name}\");\n",
                    size_of::<$structure>()
                ));
                text
            }

            fn variables() -> String {
                let mut text = String::new();
                $(
                    let name = stringify!($field);
                    text.push_str(&format!("    const auto {name} = a.{name};\n"));
                )+
                text
            }

            fn bytes(&self) -> Vec<u8> {
                let mut bytes = vec![0; size_of::<$structure>()];
                $(
                    let value = self.$field.to_ne_bytes();
                    let at = std::mem::offset_of!($structure, $field);
                    bytes[at..at + value.len()].copy_from_slice(&value);
                )+
                bytes
            }
        }
    )+};
}

#[cfg(test)]
pub(crate) use device_structures;

device_structures! {
    /// Of the kernel `load`.
    LoadArguments {
        /// Memory of blocks.
        memory: [Real *],
        /// Numbers of an event in it.
        vectors: [unsigned],
        /// How many events.
        events: [unsigned],
        /// `[events][legs][4]`, in GeV.
        momenta: [const double *],
        /// The strong coupling, `[events]`.
        g_s: [const double *],
        legs: [unsigned],
        /// Address of the first leg's momentum.
        leg_momenta: [unsigned],
        /// Address of the strong coupling.
        g: [unsigned],
        constant_count: [unsigned],
        /// Masses of the legs; behind them 1 for each leg that comes in and -1 for others.
        masses: [const double *],
        /// Addresses of constants, and what they are.
        constants: [const unsigned *],
        values: [const double *],
        /// Addresses of couplings that are computed for each event, and these, `[count][2][events]`.
        formula_coupling_at: [const unsigned *],
        formula_couplings: [const double *],
        formula_coupling_count: [unsigned],
        /// The number of the first event with impossible momenta; a larger number before.
        bad: [unsigned *],
    }

    /// Of the kernels that run operations of one kind.
    RunArguments {
        memory: [Real *],
        vectors: [unsigned],
        events: [unsigned],
        operands: [const unsigned *],
        /// Where each operation begins in `operands`.
        starts: [const unsigned *],
        numbers: [const Real *],
        /// How many operations.
        count: [unsigned],
    }

    /// Tables for amplitudes, JAMP and colour sums.
    Helicities {
        operands: [const unsigned *],
        starts: [const unsigned *],
        numbers: [const Real *],
        /// For each helicity its wavefunctions.
        waves: [const unsigned *],
        /// Pairs of helicities.
        groups: [const unsigned *],
        /// Runs of operations: number of the kind, first, count.
        amplitudes: [const unsigned *],
        /// Runs of sums: first, count.
        sums: [const unsigned *],
        /// Runs of sums on the way to the blocks of the colour matrix: how many slots each takes, how many sums,
        /// whether they read JAMP or what earlier ones have left.
        passes: [const unsigned *],
        /// For each of these where its slots are read and where they are written.
        orbits: [const unsigned *],
        /// Rows of the blocks: place of the first, columns, rows, first column of entries.
        rows: [const unsigned *],
        entries: [const Entries *],
        /// For each AMP2 where its sets begin in `sets`.
        amp2: [const unsigned *],
        /// For each set where its amplitudes begin in `members`.
        sets: [const unsigned *],
        members: [const unsigned *],
        /// With SPLIT_ORDERS: for each colour flow where its moduli begin in `moduli`, for each of these where its
        /// pairs begin, and these (`FlowWeight` of crates/process).
        weights: [const unsigned *],
        moduli: [const unsigned *],
        pairs: [const unsigned *],
        wave_count: [unsigned],
        group_count: [unsigned],
        amplitude_count: [unsigned],
        sum_count: [unsigned],
        pass_count: [unsigned],
        row_count: [unsigned],
        amp2_count: [unsigned],
        workspace: [unsigned],
        jamp: [unsigned],
        /// How many JAMP.
        flows: [unsigned],
        /// How many JAMP2.
        color_flows: [unsigned],
        scratch: [unsigned],
        bytes: [unsigned],
    }

    /// Of the kernel `helicities`.
    HelicitiesArguments {
        tables: [const Helicities *],
        memory: [Real *],
        vectors: [unsigned],
        events: [unsigned],
        /// Optional: without, they are shared memory.
        workspaces: [char *],
        /// `[helicity][padded events]`
        contributions: [Real *],
        /// Optional, `[x][flow][padded events]` for blocks in x.
        jamp2: [Real *],
        /// Optional, `[x][AMP2][padded events]`.
        amp2: [Real *],
        /// With COLORS_OUTSIDE: which groups, of how many helicities at most, and where their JAMP go,
        /// `[group][group_size][flow][2][padded events]`.
        first_group: [unsigned],
        groups: [unsigned],
        outside: [Color *],
        group_size: [unsigned],
        /// With CLOCKS.
        cycles: [Cycles *],
    }

    /// Of the kernel `color_dots`.
    DotsArguments {
        groups: [const unsigned *],
        first_group: [unsigned],
        group_size: [unsigned],
        slots: [unsigned],
        flows: [unsigned],
        events: [unsigned],
        /// `[slot][flow][2][padded events]`, and the same times the colour matrix.
        jamp: [const Color *],
        product: [const Color *],
        contributions: [Real *],
    }

    /// Products of arrays, sixteen elements at a time. (What a GPU reads of other operations on arrays is derived of the
    /// table of operations, see [`crate::source`].)
    TileOperation {
        /// Address of the first element, and vectors from one to the next.
        out: [unsigned],
        stride: [unsigned],
        first_of_pairs: [unsigned],
        end_of_pairs: [unsigned],
        /// The elements from one to the next in each of its directions.
        step_0: [unsigned],
        step_1: [unsigned],
        step_2: [unsigned],
        step_3: [unsigned],
    }

    /// Two arrays that meet in tiles.
    TilePair {
        a_address: [unsigned],
        a_shift: [unsigned],
        a_index: [unsigned],
        b_address: [unsigned],
        b_shift: [unsigned],
        b_index: [unsigned],
        /// In which directions (a bit each) the first has other elements; the second has in all others.
        mask: [unsigned],
        /// In each direction how far it is from one element to the next, of the array that has others.
        step_0: [unsigned],
        step_1: [unsigned],
        step_2: [unsigned],
        step_3: [unsigned],
        padding: [unsigned],
    }

    /// Two arrays that meet: for each its address, the number of its shift, and where its offsets begin.
    ArrayPair {
        a_address: [unsigned],
        a_shift: [unsigned],
        a_index: [unsigned],
        b_address: [unsigned],
        b_shift: [unsigned],
        b_index: [unsigned],
        momentum_a: [unsigned],
        momentum_b: [unsigned],
    }

    /// Three arrays that meet.
    ArrayTriple {
        a_address: [unsigned],
        a_shift: [unsigned],
        a_index: [unsigned],
        b_address: [unsigned],
        b_shift: [unsigned],
        b_index: [unsigned],
        c_address: [unsigned],
        c_shift: [unsigned],
        c_index: [unsigned],
    }

    /// An array that is added or subtracted.
    ArrayAddend {
        address: [unsigned],
        shift: [unsigned],
        minus: [unsigned],
    }

    /// What a warp does for a block of events: one element of an operation, or a tile of them from one on.
    ArrayItem {
        /// Where the operation begins among all.
        operation: [unsigned],
        element: [unsigned],
    }

    /// Of the kernels that do operations on arrays.
    ArrayArguments {
        memory: [Real *],
        vectors: [unsigned],
        events: [unsigned],
        /// All operations, of each kind as many numbers as its structure has.
        operations: [const unsigned *],
        pairs: [const ArrayPair *],
        tile_pairs: [const TilePair *],
        triples: [const ArrayTriple *],
        addends: [const ArrayAddend *],
        indices: [const unsigned *],
        /// Those of the run.
        shifts: [const unsigned *],
        items: [const ArrayItem *],
        count: [unsigned],
    }

    /// Of the kernels `color_sums` and `color_ordered_sum`.
    ColorOrderedArguments {
        memory: [Real *],
        vectors: [unsigned],
        events: [unsigned],
        /// Address of the first JAMP: for each those of all helicities of a run.
        products: [unsigned],
        helicities: [unsigned],
        /// For each helicity of the run its number, or none.
        rows: [const unsigned *],
        /// Groups of slots that sums lead to each other: where each begins in `groups`, there how many slots, these, how
        /// many sums, and of each how many slots and which of the group's.
        group_count: [unsigned],
        group_starts: [const unsigned *],
        groups: [const unsigned *],
        /// What is in shared memory at a time: first of the slots, how many, first of the lists.
        stages: [const unsigned *],
        stage_count: [unsigned],
        /// Where the tiles that each warp takes begin.
        lists: [const unsigned *],
        warps: [unsigned],
        /// Rows of the matrix times columns: first row, rows, first column, columns, first of the entries.
        tiles: [const unsigned *],
        slots: [const unsigned *],
        entries: [const Real *],
        contributions: [Real *],
    }

    /// Of the kernel `color_flows`.
    FlowsArguments {
        memory: [const Real *],
        vectors: [unsigned],
        events: [unsigned],
        products: [unsigned],
        helicities: [unsigned],
        rows: [const unsigned *],
        /// Where the JAMP of each flow begin, and these: twice the number, and 1 where it is subtracted.
        starts: [const unsigned *],
        terms: [const unsigned *],
        flows: [unsigned],
        /// Whether this is the first run.
        first: [unsigned],
        jamp2: [Real *],
    }

    /// Tables for the choices of helicity and colour.
    Choices {
        /// The good helicities, rows of the process's table.
        helicities: [const unsigned *],
        /// For each diagram its AMP2.
        amp2_of_diagram: [const unsigned *],
        /// For each diagram its configuration, or `NONE`.
        config_of_diagram: [const int *],
        /// AMP2 in the sum over all channels.
        denominator: [const unsigned *],
        /// Optional: for each AMP2 where it is in the memory of a block; without, AMP2 come from amplitudes.
        totals: [const unsigned *],
        /// For each configuration where its allowed colour flows begin in `flows`, and where the last one's end.
        allowed: [const unsigned *],
        flows: [const unsigned *],
        helicity_count: [unsigned],
        denominator_count: [unsigned],
        amp2_count: [unsigned],
        flow_count: [unsigned],
    }

    /// Of the kernel `answer`.
    AnswerArguments {
        choices: [const Choices *],
        memory: [const Real *],
        vectors: [unsigned],
        events: [unsigned],
        /// As the kernel of helicities leaves them, JAMP2 and AMP2 in so many parts.
        contributions: [const Real *],
        jamp2: [const Real *],
        amp2: [const Real *],
        parts: [unsigned],
        random_helicity: [const double *],
        random_color: [const double *],
        /// Optional: the channel of each event, a diagram.
        channel: [const int *],
        /// Optional: the configuration by which the colour of each event is chosen, or `NONE`.
        config: [const int *],
        matrix_elements: [double *],
        /// Chosen ones, or `NONE`.
        helicity: [int *],
        color: [int *],
        /// One over IDEN.
        normalization: [const double *],
        /// 0 from the first |M|^2 on that is no sum of squares.
        lost: [unsigned *],
    }

    /// Of the kernel `gather`.
    GatherArguments {
        choices: [const Choices *],
        memory: [const Real *],
        vectors: [unsigned],
        events: [unsigned],
        /// `[AMP2][padded events]`
        amp2: [Real *],
    }

    /// What samples need to know of a process.
    SampleTables {
        /// Diagrams that have an AMP2 and a configuration, each with its AMP2.
        drawn: [const unsigned *],
        drawn_count: [unsigned],
        /// Diagrams, and rows of the helicity table.
        diagrams: [unsigned],
        rows: [unsigned],
    }

    /// Of all kernels for samples ([`mebridge_backend::sample::DeviceSample`]). Arrays without a size are `[events]`.
    SampleArguments {
        choices: [const Choices *],
        process: [const SampleTables *],
        /// Memory of blocks, numbers of an event in it, and how many events.
        memory: [Real *],
        vectors: [unsigned],
        events: [unsigned],
        /// The number of a component stands at the sum of these strides, which may be negative.
        momenta: [const double *],
        event_stride: [Size],
        leg_stride: [Size],
        component_stride: [Size],
        /// Optional, and g_s where there is none.
        alpha_s: [const double *],
        default_g_s: [double],
        /// Optional: 0.5 otherwise.
        random_helicity: [const double *],
        random_color: [const double *],
        random_diagram: [const double *],
        /// Optional: which matrix element each event is about, of so many; this is one of them.
        flavor: [const int *],
        elements: [unsigned],
        element: [unsigned],
        /// Where this matrix element begins to count its helicities, colour flows and diagrams.
        first_helicity: [unsigned],
        first_color: [unsigned],
        first_diagram: [unsigned],
        /// Rows of `shares`.
        share_rows: [unsigned],
        /// Optional.
        fixed_helicity: [const int *],
        fixed_diagram: [const int *],
        /// Answers, all of them optional.
        matrix_elements: [double *],
        helicity: [int *],
        color: [int *],
        diagram: [int *],
        /// `[share_rows]`, a stride from one to the next.
        shares: [double *],
        share_stride: [Size],
        /// Whether momenta are bad; not of kernels that do all by themselves.
        bad: [unsigned *],
        /// As [`AnswerArguments`] has them; `answer_sample` takes one part of JAMP2 and AMP2.
        contributions: [Real *],
        jamp2: [Real *],
        amp2: [Real *],
        normalization: [const double *],
        /// Of the kernel `load_sample`, as [`LoadArguments`] has them.
        legs: [unsigned],
        leg_momenta: [unsigned],
        g: [unsigned],
        constant_count: [unsigned],
        masses: [const double *],
        constants: [const unsigned *],
        values: [const double *],
        /// Whether diagrams and colours are asked for.
        diagrams: [unsigned],
    }

    /// Of the kernel `sum_parts`.
    SumPartsArguments {
        /// `[parts][rows][events]`: the sums over parts go to the first.
        numbers: [Real *],
        parts: [unsigned],
        rows: [unsigned],
        events: [unsigned],
    }

    /// Of kernels that are generated for all of a process.
    GeneratedArguments {
        choices: [const Choices *],
        momenta: [const double *],
        g_s: [const double *],
        formula_couplings: [const double *],
        random_helicity: [const double *],
        random_color: [const double *],
        channel: [const int *],
        config: [const int *],
        matrix_elements: [double *],
        helicity: [int *],
        color: [int *],
        /// As [`LoadArguments`] has it.
        bad: [unsigned *],
        /// As [`AnswerArguments`] has it.
        lost: [unsigned *],
        /// Optional, as [`AnswerArguments`] has them.
        contributions: [Real *],
        jamp2: [Real *],
        amp2: [Real *],
        /// What kernels leave each other.
        memory: [Real *],
        cycles: [Cycles *],
        events: [unsigned],
    }

    /// Of kernels that are generated for a helicity.
    HelicityArguments {
        /// For each helicity its wavefunctions.
        waves: [const unsigned *],
        memory: [Real *],
        contributions: [Real *],
        jamp2: [Real *],
        amp2: [Real *],
        cycles: [Cycles *],
        wave_count: [unsigned],
        vectors: [unsigned],
        events: [unsigned],
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceStructure, DotsArguments, Helicities};

    device_structures! {
        /// Of no kernel.
        Mixed {
            first: [unsigned],
            second: [const double *],
            third: [double],
            fourth: [unsigned],
        }
    }

    #[test]
    fn bytes_are_those_of_the_structure() {
        let mixed = Mixed {
            first: 1,
            second: 2,
            third: 0.5,
            fourth: 3,
        };
        let mut expected = [0; 32];
        expected[..4].copy_from_slice(&1u32.to_ne_bytes());
        expected[8..16].copy_from_slice(&2u64.to_ne_bytes());
        expected[16..24].copy_from_slice(&0.5f64.to_ne_bytes());
        expected[24..28].copy_from_slice(&3u32.to_ne_bytes());
        assert_eq!(mixed.bytes(), expected);
        assert_eq!(Mixed::pointers(), [8]);
        assert_eq!(size_of::<Mixed>(), mixed.bytes().len());
        let text = Mixed::declaration();
        assert!(text.contains("    const double * second;"), "{text}");
        assert!(text.contains("sizeof(Mixed) == 32"), "{text}");
        assert_eq!(Mixed::variables().lines().count(), 4);
    }

    #[test]
    fn pointers_are_known() {
        assert_eq!(Helicities::pointers().len(), 17);
        assert_eq!(DotsArguments::pointers()[..2], [0, 32]);
    }
}
