//! The table of operations: every opcode with its formula, operands, cost and CPU kernel.
//!
//! # Adding an operation
//!
//! 1. A row here. Enum, layout, operand visitor, cost, recognition, CPU dispatch and the GPU's decoding of a fixed
//!    number of operands are derived from it.
//! 2. The CPU kernel in `crates/ops/src/kernels/`.
//! 3. The device function of the same name in `cuda/vertices.cuh` (for a variable number of operands, the loop over
//!    them in `cuda/operations.cuh`).
//!
//! An operation on arrays is added in the same way: a row here, from which its payload, visitor, validation, cost,
//! printing and the structure that the GPU reads are derived; the kernel in `crates/ops/src/kernels/arrays.rs`; and, if
//! the row declares GPU support, the device function in `cuda/arrays.cuh`.
//!
//! The tests of `crates/ops/src/kernels/` and `crates/gpu/src/vertices_tests.rs` cover the whole table and fail if a
//! kernel or a device function is missing or computes something else. Generated GPU code
//! (`crates/gpu/src/codegen/values.rs`) obtains fixed operands from the table; a process that uses an operation of
//! variable length unknown to it runs by tables.

/// The table. `for_each_opcode!(callback)` passes all rows to a macro.
///
/// A name with index 0 is an amplitude; otherwise the index is the leg that is the result, in ALOHA's numbering. `f1`
/// is the incoming fermion, `f2` the outgoing one. The result is the factor times the expression given here (the
/// numerator, without coupling and propagator).
///
/// `L` and `R` are the parts of a structure that act on the left- and the right-handed components of `f1`; an opcode
/// with one factor computes L + R, one with `L` in its name only L. `Massive` in the name means the unitary-gauge
/// numerator of a massive vector: `v - p (p v) / m^2` instead of `v`. `p` is the momentum of the result, `p1`, `p2`,
/// ... are those of the inputs, each as stored by MG5aMC; `p/` is `p` slashed.
///
/// F is a spinor, V a vector, S a scalar, A an amplitude. `multiply_adds` are counted by hand from the kernels: four
/// for a complex product, one for each part of a sum.
macro_rules! for_each_opcode {
    ($then:ident) => {
        $then! {
        // Vertices that a routine of a process can be identified with; they have a fixed number of operands.
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
        // The same vertices with a wavefunction as the result.
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
        // Amplitudes whose vertex has been computed except for the product with its last leg.
        products {
            /// Component-wise product of two spinors: an amplitude whose vertex has been computed except for the
            /// product with its last leg.
            DotSpinor0 = (F, F) -> A,
                factors: 0, momenta: None, masses: 0, multiply_adds: 16, amplitude: sums::dot_spinors;
            /// Like [`Opcode::DotSpinor0`], for two vectors, with the metric.
            DotVector0 = (V, V) -> A,
                factors: 0, momenta: None, masses: 0, multiply_adds: 16, amplitude: sums::dot_vectors;
            /// Like [`Opcode::DotSpinor0`], for two scalars.
            DotScalar0 = (S, S) -> A,
                factors: 0, momenta: None, masses: 0, multiply_adds: 4, amplitude: scalar_sums::dot;
        }
        // Operations of a recursion, given as lists of [`Field`]s.
        sums {
            /// Sum of several [`Opcode::Ffv1`] before the propagator, see [`Mode`].
            SumFfv1 = [MODE, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), UnlessBare(MOMENTUM), UnlessBare(REAL), Result(FOUR)],
                multiply_adds: |r| r.of_spinors(32),
                current: sums::outgoing;
            /// Sum of several [`Opcode::Ffv2`] before the propagator.
            SumFfv2 = [MODE, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), UnlessBare(MOMENTUM), UnlessBare(REAL), Result(FOUR)],
                multiply_adds: |r| r.of_spinors(32),
                current: sums::incoming;
            /// Sum of several [`Opcode::Ffv3`].
            SumFfv3 = [MODE, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Result(FOUR)],
                multiply_adds: |r| r.waves / 2 * if r.half { 24 } else { 48 } + FACTOR,
                current: sums::vector;
            /// Sum of several [`Opcode::Vvv1`] and, with a separate factor, four-vector vertices `2 V3 (V2 V4) - V2 (V3
            /// V4) - V4 (V2 V3)` of colour-ordered gluons.
            SumVvv1 = [MODE, COUNT, COUNT, COUNT,
                Repeat(&[1], &[Read(FOUR), Read(FOUR), Read(MOMENTUM), Read(MOMENTUM)]),
                Repeat(&[2, 3], &[Read(FOUR), Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Read(COMPLEX), Result(FOUR)],
                multiply_adds: three_and_four_vectors,
                current: sums::three_vectors;
            /// Sum of several [`Opcode::VvvvDiff1`].
            SumVvvvDiff1 = [MODE, COUNT,
                Repeat(&[1], &[Read(FOUR), Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Result(FOUR)],
                multiply_adds: |r| r.waves / 3 * 64 + FACTOR,
                current: sums::four_vectors;
            /// Sum of several [`Opcode::Vss1`], whose `p2 - p3` are separate momenta, and, with a separate factor,
            /// [`Opcode::Vvss1`].
            SumVss1 = [MODE, COUNT, COUNT, COUNT,
                Repeat(&[1], &[Read(COMPLEX), Read(COMPLEX), Read(MOMENTUM)]),
                Repeat(&[2, 3], &[Read(FOUR), Read(COMPLEX), Read(COMPLEX)]),
                Read(COMPLEX), Read(COMPLEX), Result(FOUR)],
                multiply_adds: |r| 12 * r.momenta + 20 * r.waves + if r.waves > 0 { 2 * FACTOR } else { FACTOR },
                current: scalar_sums::vector;
            /// Number that multiplies a scalar at vertices with vectors: the sum of `q V1` with `q = p1 + 2 p2`
            /// ([`Opcode::Vss3`]) and, with a separate factor, `V1 V2` ([`Opcode::Vvss4`]).
            ScalarVertex = [MODE, COUNT, COUNT, COUNT, COUNT,
                Repeat(&[1, 2], &[Read(FOUR), Read(MOMENTUM)]),
                Repeat(&[3, 4], &[Read(FOUR), Read(FOUR)]),
                Read(COMPLEX), Read(COMPLEX), Result(COMPLEX)],
                multiply_adds: |r| 8 * r.waves + if r.waves > r.momenta { 8 } else { 4 },
                current: scalar_sums::vertex;
            /// Sum of several [`Opcode::Sss1`].
            SumSss1 = [COUNT, COUNT, Repeat(&[0, 1], &[Read(COMPLEX), Read(COMPLEX)]),
                Read(COMPLEX), Write(COMPLEX)],
                multiply_adds: |r| 2 * (r.numbers + 1),
                current: scalar_sums::scalar;
            /// Sum and difference of several wavefunctions with four components.
            Add = [COUNT, COUNT, Repeat(&[0, 1], &[Read(FOUR)]), Write(FOUR)],
                multiply_adds: |r| 8 * r.waves,
                current: sums::add_wavefunctions;
            /// Complex conjugate of a wavefunction with four components.
            Conjugate = [Read(FOUR), Write(FOUR)],
                multiply_adds: |_| 0,
                current: sums::conjugate::<V, false>;
            /// Complex conjugate with the opposite sign.
            MinusConjugate = [Read(FOUR), Write(FOUR)],
                multiply_adds: |_| 0,
                current: sums::conjugate::<V, true>;
            /// Hermitian matrix `sum of a_i a_j^*` over several spinors and their mirrored spinors, which are those
            /// with all helicities reversed (`crates/ops/src/kernels/density.rs`): `A_00`, `A_11`, then the complex
            /// `A_01` and `A_02`, from which the other entries follow. Those of the first list count half.
            DensitySpinor = [COUNT, COUNT, Repeat(&[0, 1], &[Read(FOUR)]), Write(MATRIX)],
                multiply_adds: |r| 24 * r.waves,
                current: density::of_spinors;
            /// Like [`Opcode::DensitySpinor`] for vectors, whose mirrored vectors are the conjugates, in the components
            /// `V0 + V3`, `V0 - V3`, `V1`, `V2`: half of the real symmetric matrix, its rows from the diagonal on.
            DensityVector = [COUNT, COUNT, Repeat(&[0, 1], &[Read(FOUR)]), Write(MATRIX)],
                multiply_adds: |r| 20 * r.waves,
                current: density::of_vectors;
            /// Like [`Opcode::DensitySpinor`] for scalars: the sum of `|S|^2`.
            DensityScalar = [COUNT, COUNT, Repeat(&[0, 1], &[Read(COMPLEX)]), Write(REAL)],
                multiply_adds: |r| 2 * r.numbers,
                current: density::of_scalars;
            /// Sum of the squared moduli of products of two spinors, `sum over i, j of A_ij B_ij`, from their matrices.
            TraceSpinor = [Read(MATRIX), Read(MATRIX), Write(REAL)],
                multiply_adds: |_| 6,
                current: density::trace_spinors;
            /// Like [`Opcode::TraceSpinor`], for two vectors, with the metric.
            TraceVector = [Read(MATRIX), Read(MATRIX), Write(REAL)],
                multiply_adds: |_| 10,
                current: density::trace_vectors;
            /// Like [`Opcode::TraceSpinor`], for two scalars.
            TraceScalar = [Read(REAL), Read(REAL), Write(REAL)],
                multiply_adds: |_| 1,
                current: density::trace_scalars;
        }
        // Operations of a recursion with amplitudes as results.
        dots {
            /// Products of one spinor with several.
            Dots = [Wave(FOUR), COUNT, Repeat(&[0], &[Wave(FOUR), Write(COMPLEX)])],
                multiply_adds: |_| 16,
                amplitude: sums::dots;
        }
        // Operations on arrays ([`crate::arrays`]): a payload is a list of parts ([`crate::arrays::Part`]); kinds with
        // the same payload share a row. `multiply_adds` are per element, `scratch` describes other memory used while
        // the operation runs, `gpu` is whether there is a device function.
        arrays {
            /// Spinors from pairs (spinor, slashed vector), times a factor.
            Line -> FOUR {
                /// The factor.
                factor: Once<COMPLEX>,
                /// The propagator without its denominator.
                propagator: Option<Propagator>,
                /// Two if each two elements have the same vectors, and differ only in the input spinors.
                unrolled: Unrolled,
                /// Spinors and vectors.
                pairs: Pairs<FOUR, FOUR>,
            }
            multiply_adds: |op| 32 * op.pairs.len() + 16 + if op.propagator.is_some() { 32 } else { 0 },
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Incoming spinors, as [`Opcode::SumFfv2`](crate::Opcode::SumFfv2).
                LineIn: ArrayContext::line::<true>;
                /// Outgoing spinors, as [`Opcode::SumFfv1`](crate::Opcode::SumFfv1).
                LineOut: ArrayContext::line::<false>;
            }
            /// Spinors of one chirality of a massless line, from pairs (spinor of the other chirality, slashed vector).
            ChiralLine -> CHIRAL {
                /// The non-zero components of the inputs. The result has the other two, and after propagation again
                /// these.
                spinors: Spinors,
                /// The propagator.
                propagator: Option<MasslessPropagator>,
                /// Spinors and vectors.
                pairs: Pairs<CHIRAL, FOUR>,
                /// Pairs to be subtracted.
                less: Less<Pairs<CHIRAL, FOUR>>,
            }
            multiply_adds: |op| 16 * (op.pairs.len() + op.less.0.len()) + if op.propagator.is_some() { 12 } else { 0 },
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Incoming spinors.
                ChiralLineIn: ArrayContext::chiral_line::<true>;
                /// Outgoing spinors.
                ChiralLineOut: ArrayContext::chiral_line::<false>;
            }
            /// Vectors from pairs (f1, f2), times a factor, as [`Opcode::SumFfv3`](crate::Opcode::SumFfv3).
            Current -> FOUR {
                /// The components of the result.
                components: Components,
                /// The factor.
                factor: Once<COMPLEX>,
                /// Incoming and outgoing spinors.
                pairs: Pairs<FOUR, FOUR>,
            }
            multiply_adds: |op| 48 * op.pairs.len() + 16,
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Vectors of two spinors.
                Current: ArrayContext::currents;
            }
            /// Vectors from pairs and triples of vectors, as [`Opcode::SumVvv1`](crate::Opcode::SumVvv1).
            Vector -> FOUR {
                /// The components of the result.
                components: Components,
                /// Which elements are conjugates of others.
                mirror: Mirror,
                /// The factor of pairs.
                factor: Once<COMPLEX>,
                /// The factor of triples, if there are any.
                factor_of_triples: Option<Once<COMPLEX>>,
                /// The result's own products, if they are needed.
                products: Option<WithProducts>,
                /// Pairs of vectors.
                pairs: VectorPairs,
                /// Triples of vectors.
                triples: Triples,
            }
            multiply_adds: cost_of_vectors,
            scratch: first_numbers,
            gpu: true,
            kinds: {
                /// Vectors of vectors.
                Vector: ArrayContext::all_vectors;
            }
            /// Sums and differences of arrays of vectors; for a single array, a conversion or a multiple.
            Sum -> FOUR {
                /// The components of the result.
                components: Components,
                /// The factor of the sum, if it has one.
                factor: Option<Once<COMPLEX>>,
                /// The arrays to be added.
                addends: Addends,
            }
            multiply_adds: |op| 8 * op.addends.len() + if op.factor.is_some() { 16 } else { 0 },
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Sums.
                Sum: ArrayContext::sums;
            }
            /// Complex numbers: component-wise products of pairs, plus products of numbers.
            Contract -> COMPLEX {
                /// Distance between elements of the result.
                stride: Stride,
                /// Four if elements come in fours: the first end's helicity differs between the first two elements, the
                /// second end's between these and the other two.
                unrolled: Unrolled,
                /// Pairs of arrays; each leg belongs to one of the two.
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
                /// Distance between elements of the result.
                stride: Stride,
                /// Number of elements, at equal distances, that share the first array of a pair.
                unrolled: Unrolled,
                /// Spinors.
                pairs: Pairs<CHIRAL, CHIRAL>,
            }
            multiply_adds: |op| 8 * op.pairs.len(),
            scratch: no_scratch,
            gpu: true,
            kinds: {
                /// Products of spinors of one chirality.
                ChiralContract: ArrayContext::chiral_contract;
            }
            /// Complex numbers: the [products](crate::arrays::Folded) of pairs of vectors.
            Products -> COMPLEX {
                /// The factor of the products, if there is one.
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
