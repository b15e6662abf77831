//! The table of operations: every opcode with its formula, operands, cost and CPU kernel.
//!
//! # Adding an operation
//!
//! 1. A row here. Enum, layout, operand visitor, cost, recognition, CPU dispatch and the GPU's decoding of
//!    operands of a fixed number are derived from it.
//! 2. The CPU kernel in `crates/ops/src/kernels/`.
//! 3. The device function of the same name in `cuda/vertices.cuh` (where operands have no fixed number, the
//!    loop over them in `cuda/operations.cuh`).
//!
//! An operation on arrays is added in the same way: a row here, of which its payload, visitor, validation, cost,
//! printing and the structure that the GPU reads are derived; the kernel in `crates/ops/src/kernels/arrays.rs`; and,
//! where the row says that a GPU does it, the device function in `cuda/arrays.cuh`.
//!
//! Tests of `crates/ops/src/kernels/` and `crates/gpu/src/vertices_tests.rs` go through the table and fail where a
//! kernel or a device function is missing or computes something else. Generated GPU code
//! (`crates/gpu/src/codegen/values.rs`) knows operands of a fixed number from the table; a process with an operation of
//! no fixed number that it does not know runs by tables.

/// The table. `for_each_opcode!(callback)` gives all rows to a macro.
///
/// Index 0 in a name: an amplitude; otherwise the leg that is the result, in ALOHA's numbering. `f1`
/// is the fermion flowing in, `f2` the one flowing out. The result is the factor times what is said
/// here (the numerator, without coupling and propagator).
///
/// `L` and `R` are the parts of a structure that act on the left- and the right-handed
/// components of `f1`; an opcode with one factor takes L + R, one named `L` has only L.
/// One named `Massive` has the unitary-gauge numerator of a massive vector:
/// `v - p (p v) / m^2` instead of `v`. `p` is the momentum of the result, `p1`, `p2`, ... those of
/// the wavefunctions that meet, each as MG5aMC holds it; `p/` is `p` slashed.
///
/// F is a spinor, V a vector, S a scalar, A an amplitude. `multiply_adds` are counted by hand from
/// what a kernel does, a complex product as four, a sum as one for each part.
macro_rules! for_each_opcode {
    ($then:ident) => {
        $then! {
        // Vertices that a routine of a process can be recognised as, each with operands of a fixed number.
        amplitudes {
            /// `f2 V/ f1` of (f1, f2, V).
            Ffv0 = (F, F, V) -> A,
                factors: 1, momenta: None, masses: 0, multiply_adds: 60, amplitude: ffv::amplitude::<V, I, BothChiralities>;
            /// As [`Opcode::Ffv0`], L only.
            FfvL0 = (F, F, V) -> A,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, amplitude: ffv::amplitude::<V, I, Left>;
            /// As [`Opcode::Ffv0`] with factors for L and R.
            FfvLr0 = (F, F, V) -> A,
                factors: 2, momenta: None, masses: 0, multiply_adds: 64, amplitude: ffv::amplitude::<V, I, LeftRight>;
            /// Scalar coupling `f2 f1 S` with factors for L and R: amplitude of (f1, f2, S).
            FfsLr0 = (F, F, S) -> A,
                factors: 2, momenta: None, masses: 0, multiply_adds: 28, amplitude: ffs::amplitude;
            /// Yang-Mills three-vector structure `(V1 V2) (V3 (p2 - p1)) + cyclic`: amplitude of
            /// (V1, V2, V3).
            Vvv0 = (V, V, V) -> A,
                factors: 1, momenta: Inputs, masses: 0, multiply_adds: 100, amplitude: vvv::amplitude;
            /// `13 24 - 14 23`, metric products with one factor: amplitude of four vectors. The other
            /// pieces of the four-gluon vertex are the same with the inputs permuted.
            VvvvDiff0 = (V, V, V, V) -> A,
                factors: 1, momenta: None, masses: 0, multiply_adds: 76, amplitude: vvvv::difference_amplitude;
            /// Metric products `12 34`, `13 24`, `14 23`, a factor for each: amplitude of four vectors.
            Vvvv0 = (V, V, V, V) -> A,
                factors: 3, momenta: None, masses: 0, multiply_adds: 120, amplitude: vvvv::amplitude;
            /// `(p2 - p3) V1 S2 S3`: amplitude of (V1, S2, S3).
            Vss0 = (V, S, S) -> A,
                factors: 1, momenta: Inputs, masses: 0, multiply_adds: 32, amplitude: scalar::vss_amplitude;
            /// `V1 V2 S3`: amplitude.
            Vvs0 = (V, V, S) -> A,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, amplitude: scalar::vvs_amplitude;
            /// `V1 V2 S3 S4`: amplitude.
            Vvss0 = (V, V, S, S) -> A,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, amplitude: scalar::vvss_amplitude;
            /// `S1 S2 S3`: amplitude.
            Sss0 = (S, S, S) -> A,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, amplitude: scalar::product::<V, I, 3>;
            /// `S1 S2 S3 S4`: amplitude.
            Ssss0 = (S, S, S, S) -> A,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, amplitude: scalar::product::<V, I, 4>;
        }
        // The same with a wavefunction as the result.
        currents {
            /// `f2 V/ (m + p/)` of (f2, V): outgoing fermion line.
            Ffv1 = (F, V) -> F,
                factors: 1, momenta: Result, masses: 1, multiply_adds: 88, current: ffv::outgoing::<V, I, BothChiralities>;
            /// `(m - p/) V/ f1` of (f1, V): incoming fermion line.
            Ffv2 = (F, V) -> F,
                factors: 1, momenta: Result, masses: 1, multiply_adds: 88, current: ffv::incoming::<V, I, BothChiralities>;
            /// `f2 gamma f1`: vector of (f1, f2), massless propagator.
            Ffv3 = (F, F) -> V,
                factors: 1, momenta: None, masses: 0, multiply_adds: 56, current: ffv::vector::<V, I, BothChiralities>;
            /// As [`Opcode::Ffv3`] with the numerator of a massive vector.
            FfvMassive3 = (F, F) -> V,
                factors: 1, momenta: Result, masses: 1, multiply_adds: 84, current: ffv::massive_vector::<V, I, BothChiralities>;
            /// As [`Opcode::Ffv1`], L only.
            FfvL1 = (F, V) -> F,
                factors: 1, momenta: Result, masses: 1, multiply_adds: 44, current: ffv::outgoing::<V, I, Left>;
            /// As [`Opcode::Ffv2`], L only.
            FfvL2 = (F, V) -> F,
                factors: 1, momenta: Result, masses: 1, multiply_adds: 44, current: ffv::incoming::<V, I, Left>;
            /// As [`Opcode::Ffv3`], L only.
            FfvL3 = (F, F) -> V,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, current: ffv::vector::<V, I, Left>;
            /// As [`Opcode::FfvMassive3`], L only.
            FfvLMassive3 = (F, F) -> V,
                factors: 1, momenta: Result, masses: 1, multiply_adds: 60, current: ffv::massive_vector::<V, I, Left>;
            /// As [`Opcode::Ffv1`] with factors for L and R.
            FfvLr1 = (F, V) -> F,
                factors: 2, momenta: Result, masses: 1, multiply_adds: 88, current: ffv::outgoing::<V, I, LeftRight>;
            /// As [`Opcode::Ffv2`] with factors for L and R.
            FfvLr2 = (F, V) -> F,
                factors: 2, momenta: Result, masses: 1, multiply_adds: 88, current: ffv::incoming::<V, I, LeftRight>;
            /// As [`Opcode::Ffv3`] with factors for L and R.
            FfvLr3 = (F, F) -> V,
                factors: 2, momenta: None, masses: 0, multiply_adds: 56, current: ffv::vector::<V, I, LeftRight>;
            /// As [`Opcode::FfvLr3`] with the unitary-gauge numerator of a massive vector.
            FfvLrMassive3 = (F, F) -> V,
                factors: 2, momenta: Result, masses: 1, multiply_adds: 84, current: ffv::massive_vector::<V, I, LeftRight>;
            /// `f2 S (m + p/)` of (f2, S), L and R as the vertex acts on the result.
            FfsLr1 = (F, S) -> F,
                factors: 2, momenta: Result, masses: 1, multiply_adds: 56, current: ffs::outgoing;
            /// `(m - p/) S f1` of (f1, S).
            FfsLr2 = (F, S) -> F,
                factors: 2, momenta: Result, masses: 1, multiply_adds: 56, current: ffs::incoming;
            /// `f2 f1`: scalar of (f1, f2).
            FfsLr3 = (F, F) -> S,
                factors: 2, momenta: None, masses: 0, multiply_adds: 24, current: ffs::scalar;
            /// Vector of (V2, V3), massless propagator.
            Vvv1 = (V, V) -> V,
                factors: 1, momenta: Inputs, masses: 0, multiply_adds: 92, current: vvv::vector;
            /// As [`Opcode::Vvv1`] with the numerator of a massive vector.
            VvvMassive1 = (V, V) -> V,
                factors: 1, momenta: Inputs, masses: 1, multiply_adds: 92, current: vvv::massive_vector;
            /// Vector 1 of (V2, V3, V4), as [`Opcode::VvvvDiff0`], massless propagator.
            VvvvDiff1 = (V, V, V) -> V,
                factors: 1, momenta: None, masses: 0, multiply_adds: 72, current: vvvv::difference_vector;
            /// Vector 1 of (V2, V3, V4) with the same three factors, massless propagator.
            Vvvv1 = (V, V, V) -> V,
                factors: 3, momenta: None, masses: 0, multiply_adds: 108, current: vvvv::vector;
            /// As [`Opcode::Vvvv1`] with the numerator of a massive vector.
            VvvvMassive1 = (V, V, V) -> V,
                factors: 3, momenta: Result, masses: 1, multiply_adds: 108, current: vvvv::massive_vector;
            /// `(p2 - p3) S2 S3`: vector of (S2, S3), massless propagator.
            Vss1 = (S, S) -> V,
                factors: 1, momenta: Inputs, masses: 0, multiply_adds: 32, current: scalar::vss_vector;
            /// As [`Opcode::Vss1`] with the numerator of a massive vector.
            VssMassive1 = (S, S) -> V,
                factors: 1, momenta: Inputs, masses: 1, multiply_adds: 32, current: scalar::vss_massive_vector;
            /// `(p1 + 2 p2) V1 S2`: scalar of (V1, S2).
            Vss3 = (V, S) -> S,
                factors: 1, momenta: Inputs, masses: 0, multiply_adds: 32, current: scalar::vss_scalar;
            /// `V2 S3`: vector of (V2, S3), massless propagator.
            Vvs1 = (V, S) -> V,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, current: scalar::vvs_vector;
            /// As [`Opcode::Vvs1`] with the numerator of a massive vector.
            VvsMassive1 = (V, S) -> V,
                factors: 1, momenta: Result, masses: 1, multiply_adds: 32, current: scalar::vvs_massive_vector;
            /// `V1 V2`: scalar of (V1, V2).
            Vvs3 = (V, V) -> S,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, current: scalar::vvs_scalar;
            /// `V2 S3 S4`: vector of (V2, S3, S4), massless propagator.
            Vvss1 = (V, S, S) -> V,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, current: scalar::vvss_vector;
            /// `V1 V2 S3`: scalar of (V1, V2, S3).
            Vvss4 = (V, V, S) -> S,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, current: scalar::vvss_scalar;
            /// `S2 S3`: scalar of (S2, S3).
            Sss1 = (S, S) -> S,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, current: scalar::product::<V, I, 2>;
            /// `S2 S3 S4`: scalar of (S2, S3, S4).
            Ssss1 = (S, S, S) -> S,
                factors: 1, momenta: None, masses: 0, multiply_adds: 32, current: scalar::product::<V, I, 3>;
        }
        // Amplitudes whose vertex has been computed up to its last leg.
        products {
            /// Product of two spinors component by component: an amplitude whose vertex has been computed
            /// up to its last leg.
            DotSpinor0 = (F, F) -> A,
                factors: 0, momenta: None, masses: 0, multiply_adds: 16, amplitude: sums::dot_spinors;
            /// The same with two vectors and the metric.
            DotVector0 = (V, V) -> A,
                factors: 0, momenta: None, masses: 0, multiply_adds: 16, amplitude: sums::dot_vectors;
            /// The same with two scalars.
            DotScalar0 = (S, S) -> A,
                factors: 0, momenta: None, masses: 0, multiply_adds: 4, amplitude: scalar_sums::dot;
        }
        // Operations of a recursion; what stands in one is a list of [`Field`].
        sums {
            /// Sum over several [`Opcode::Ffv1`] before the propagator, see [`Mode`].
            SumFfv1 = [MODE, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), UnlessBare(MOMENTUM), UnlessBare(REAL), Result(FOUR)],
                multiply_adds: |r| r.waves / 2 * 32 + FACTOR + if r.momenta > 0 { 32 } else { 0 },
                current: sums::outgoing;
            /// Sum over several [`Opcode::Ffv2`] before the propagator.
            SumFfv2 = [MODE, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), UnlessBare(MOMENTUM), UnlessBare(REAL), Result(FOUR)],
                multiply_adds: |r| r.waves / 2 * 32 + FACTOR + if r.momenta > 0 { 32 } else { 0 },
                current: sums::incoming;
            /// Sum over several [`Opcode::Ffv3`].
            SumFfv3 = [MODE, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Result(FOUR)],
                multiply_adds: |r| r.waves / 2 * 48 + FACTOR,
                current: sums::vector;
            /// Sum over several [`Opcode::Vvv1`] and, with a factor of their own, four-vector vertices
            /// `2 V3 (V2 V4) - V2 (V3 V4) - V4 (V2 V3)`: that of colour-ordered gluons.
            SumVvv1 = [MODE, COUNT, COUNT, COUNT,
                Repeat(&[1], &[Read(FOUR), Read(FOUR), Read(MOMENTUM), Read(MOMENTUM)]),
                Repeat(&[2, 3], &[Read(FOUR), Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Read(COMPLEX), Result(FOUR)],
                multiply_adds: three_and_four_vectors,
                current: sums::three_vectors;
            /// Sum over several [`Opcode::VvvvDiff1`].
            SumVvvvDiff1 = [MODE, COUNT,
                Repeat(&[1], &[Read(FOUR), Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Result(FOUR)],
                multiply_adds: |r| r.waves / 3 * 64 + FACTOR,
                current: sums::four_vectors;
            /// Sum over several [`Opcode::Vss1`], whose `p2 - p3` are momenta of their own, and, with a factor of
            /// their own, [`Opcode::Vvss1`].
            SumVss1 = [MODE, COUNT, COUNT, COUNT,
                Repeat(&[1], &[Read(COMPLEX), Read(COMPLEX), Read(MOMENTUM)]),
                Repeat(&[2, 3], &[Read(FOUR), Read(COMPLEX), Read(COMPLEX)]),
                Read(COMPLEX), Read(COMPLEX), Result(FOUR)],
                multiply_adds: |r| 12 * r.momenta + 20 * r.waves + if r.waves > 0 { 2 * FACTOR } else { FACTOR },
                current: scalar_sums::vector;
            /// What a scalar is multiplied by where vectors meet it: the sum of `q V1` with `q = p1 + 2 p2`
            /// ([`Opcode::Vss3`]) and, with a factor of their own, `V1 V2` ([`Opcode::Vvss4`]).
            ScalarVertex = [MODE, COUNT, COUNT, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(MOMENTUM)]),
                Repeat(&[3, 4], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Read(COMPLEX), Result(COMPLEX)],
                multiply_adds: |r| 8 * r.waves + if r.waves > r.momenta { 8 } else { 4 },
                current: scalar_sums::vertex;
            /// Sum over several [`Opcode::Sss1`].
            SumSss1 = [COUNT, COUNT, Repeat(&[0, 1], &[Read(COMPLEX), Read(COMPLEX)]),
                Read(COMPLEX), Write(COMPLEX)],
                multiply_adds: |r| 2 * (r.numbers + 1),
                current: scalar_sums::scalar;
            /// Sum and difference of several wavefunctions of four components.
            Add = [COUNT, COUNT, Repeat(&[0, 1], &[Read(FOUR)]), Write(FOUR)],
                multiply_adds: |r| 8 * r.waves,
                current: sums::add_wavefunctions;
            /// Complex conjugate of a wavefunction of four components.
            Conjugate = [Read(FOUR), Write(FOUR)],
                multiply_adds: |_| 0,
                current: sums::conjugate::<V, false>;
            /// The same with the opposite sign.
            MinusConjugate = [Read(FOUR), Write(FOUR)],
                multiply_adds: |_| 0,
                current: sums::conjugate::<V, true>;
            /// Hermitian matrix `sum of a_i a_j^*` of several spinors and of the same spinors mirrored, which are
            /// theirs with all helicities reversed (`crates/ops/src/kernels/density.rs`): `A_00`, `A_11`, then the
            /// complex `A_01` and `A_02`, of which the other numbers follow.
            DensitySpinor = [COUNT, Repeat(&[0], &[Read(FOUR)]), Write(MATRIX)],
                multiply_adds: |r| 24 * r.waves,
                current: density::of_spinors;
            /// The same of vectors, whose mirrored ones are the conjugates, in the components `V0 + V3`, `V0 - V3`,
            /// `V1`, `V2`: half of the real symmetric matrix, its rows from the diagonal on.
            DensityVector = [COUNT, Repeat(&[0], &[Read(FOUR)]), Write(MATRIX)],
                multiply_adds: |r| 20 * r.waves,
                current: density::of_vectors;
            /// The same of scalars: the sum of `|S|^2`.
            DensityScalar = [COUNT, Repeat(&[0], &[Read(COMPLEX)]), Write(REAL)],
                multiply_adds: |_| 2,
                current: density::of_scalars;
            /// From the matrices of two spinors, `sum over i, j of A_ij B_ij`: the sum of the squared moduli
            /// of their products.
            TraceSpinor = [Read(MATRIX), Read(MATRIX), Write(REAL)],
                multiply_adds: |_| 6,
                current: density::trace_spinors;
            /// The same with two vectors and the metric.
            TraceVector = [Read(MATRIX), Read(MATRIX), Write(REAL)],
                multiply_adds: |_| 10,
                current: density::trace_vectors;
            /// The same with two scalars.
            TraceScalar = [Read(REAL), Read(REAL), Write(REAL)],
                multiply_adds: |_| 1,
                current: density::trace_scalars;
        }
        // The same, with amplitudes as results.
        dots {
            /// Products of one spinor with several.
            Dots = [Wave(FOUR), COUNT, Repeat(&[0], &[Wave(FOUR), Write(COMPLEX)])],
                multiply_adds: |_| 16,
                amplitude: sums::dots;
        }
        // Operations on arrays ([`crate::arrays`]): a payload is a list of parts ([`crate::arrays::Part`]); kinds with
        // the same payload share a row. `multiply_adds` are those of an element, `scratch` says what else is used while
        // it runs, `gpu` whether there is a device function.
        arrays {
            /// Spinors of pairs (spinor, slashed vector), times a factor.
            Line -> FOUR {
                /// The factor.
                factor: Once<COMPLEX>,
                /// The propagator without its denominator.
                propagator: Option<Propagator>,
                /// Two where each two elements have the same vectors: they differ in the spinors alone that enter.
                unrolled: Unrolled,
                /// Spinors and vectors.
                pairs: Pairs<FOUR, FOUR>,
            }
            multiply_adds: |op| 32 * op.pairs.len() + 16 + if op.propagator.is_some() { 32 } else { 0 },
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Those that flow in, as [`Opcode::SumFfv2`](crate::Opcode::SumFfv2).
                LineIn: ArrayContext::line::<true>;
                /// Those that flow out, as [`Opcode::SumFfv1`](crate::Opcode::SumFfv1).
                LineOut: ArrayContext::line::<false>;
            }
            /// Spinors of one chirality of a massless line, of pairs (spinor of the other one, slashed vector).
            ChiralLine -> CHIRAL {
                /// Which components enter. The result has the other two, and once propagated these again.
                spinors: Spinors,
                /// The propagator.
                propagator: Option<MasslessPropagator>,
                /// Spinors and vectors.
                pairs: Pairs<CHIRAL, FOUR>,
                /// Those that are subtracted.
                less: Less<Pairs<CHIRAL, FOUR>>,
            }
            multiply_adds: |op| 16 * (op.pairs.len() + op.less.0.len()) + if op.propagator.is_some() { 12 } else { 0 },
            scratch: no_scratch,
            gpu: false,
            kinds: {
                /// Those that flow in.
                ChiralLineIn: ArrayContext::chiral_line::<true>;
                /// Those that flow out.
                ChiralLineOut: ArrayContext::chiral_line::<false>;
            }
            /// Vectors of pairs (f1, f2), times a factor, as [`Opcode::SumFfv3`](crate::Opcode::SumFfv3).
            Current -> FOUR {
                /// The form of the result.
                components: Components,
                /// The factor.
                factor: Once<COMPLEX>,
                /// Spinors that flow in and out.
                pairs: Pairs<FOUR, FOUR>,
            }
            multiply_adds: |op| 48 * op.pairs.len() + 16,
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Vectors of two spinors.
                Current: ArrayContext::currents;
            }
            /// Vectors of pairs and triples of vectors, as [`Opcode::SumVvv1`](crate::Opcode::SumVvv1).
            Vector -> FOUR {
                /// The form of the result.
                components: Components,
                /// Which elements are conjugates of others.
                mirror: Mirror,
                /// The factor of pairs.
                factor: Once<COMPLEX>,
                /// The factor of triples, where there are any.
                factor_of_triples: Option<Once<COMPLEX>>,
                /// Its own products, where they are needed.
                products: Option<WithProducts>,
                /// Two vectors.
                pairs: VectorPairs,
                /// Three vectors.
                triples: Triples,
            }
            multiply_adds: cost_of_vectors,
            scratch: first_numbers,
            gpu: true,
            kinds: {
                /// Vectors of vectors.
                Vector: ArrayContext::all_vectors;
            }
            /// Sums and differences of arrays of vectors; of one array a form, or a multiple.
            Sum -> FOUR {
                /// The form of the result.
                components: Components,
                /// The factor of the sum, if it has one.
                factor: Option<Once<COMPLEX>>,
                /// What is added up.
                addends: Addends,
            }
            multiply_adds: |op| 8 * op.addends.len() + if op.factor.is_some() { 16 } else { 0 },
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Sums.
                Sum: ArrayContext::sums;
            }
            /// Complex numbers: products of pairs component by component, with what numbers give.
            Contract -> COMPLEX {
                /// From one element of the result to the next.
                stride: Stride,
                /// Four where elements come in fours: of the first two the first end's helicity differs, and the second
                /// end's of these and the others.
                unrolled: Unrolled,
                /// Pairs of arrays, each leg below one of the two.
                pairs: Pairs<FOUR, FOUR>,
                /// Pairs whose first array is over both ends.
                broadcast: Pairs<FOUR, FOUR>,
                /// Products of numbers.
                numbers: Numbers,
            }
            multiply_adds: |op| 16 * (op.pairs.len() + op.broadcast.len()) + op.numbers.multiply_adds(),
            scratch: row_of_sums,
            gpu: true,
            kinds: {
                /// Products of spinors or vectors.
                Contract: ArrayContext::contract;
            }
            /// Complex numbers: products of pairs of spinors of one chirality.
            ChiralContract -> COMPLEX {
                /// From one element of the result to the next.
                stride: Stride,
                /// Of how many elements, as far apart as there are others of the first, the first array of a pair has
                /// the same one.
                unrolled: Unrolled,
                /// Spinors.
                pairs: Pairs<CHIRAL, CHIRAL>,
            }
            multiply_adds: |op| 8 * op.pairs.len(),
            scratch: no_scratch,
            gpu: false,
            kinds: {
                /// Products of spinors of one chirality.
                ChiralContract: ArrayContext::chiral_contract;
            }
            /// Complex numbers: the [products](crate::arrays::Folded) of pairs of vectors.
            Products -> COMPLEX {
                /// Their factor, if they have one.
                ratio: Option<Ratio>,
                /// Vectors.
                pairs: Pairs<FOUR, FOUR>,
            }
            multiply_adds: |op| 16 * op.pairs.len() + 4,
            scratch: no_scratch,
            gpu: false,
            kinds: {
                /// Products of vectors.
                Products: ArrayContext::products_of_pairs;
            }
        }
        }
    };
}
pub(crate) use for_each_opcode;
