use super::*;
use mebridge_testing::sample_routines::*;

fn expect(routine: &Routine, massless: bool, opcode: Opcode) -> Recognized {
    let found = recognize(routine, massless);
    match found {
        Some(found) if found.opcode == opcode => found,
        other => panic!("{}: {other:?} instead of {opcode:?}", routine.name),
    }
}

fn one(re: f64, im: f64) -> Vec<Vec<(usize, Complex64)>> {
    vec![vec![(0, Complex64::new(re, im))]]
}

#[test]
fn chirality_chooses_the_kernel() {
    use Opcode::*;
    let kernels = [
        (Ffv0, FfvL0, FfvLr0, ffv_0 as fn(f64, f64) -> Routine, -1.0),
        (Ffv1, FfvL1, FfvLr1, ffv_1, 1.0),
        (Ffv2, FfvL2, FfvLr2, ffv_2, 1.0),
    ];
    for (both, left, left_right, routine, sign) in kernels {
        for massless in [false, true] {
            let found = expect(&routine(1.0, 1.0), massless, both);
            assert_eq!(found.factors, one(0.0, sign));
            assert_eq!(found.input_permutation[..2], [0, 1]);
            let found = expect(&routine(1.0, 0.0), massless, left);
            assert_eq!(found.factors, one(0.0, sign));
            let found = expect(&routine(1.0, 2.0), massless, left_right);
            assert_eq!(
                found.factors,
                [
                    vec![(0, Complex64::new(0.0, sign))],
                    vec![(0, Complex64::new(0.0, 2.0 * sign))]
                ]
            );
            // No left-handed part: a factor without terms.
            let found = expect(&routine(0.0, 1.0), massless, left_right);
            assert!(found.factors[0].is_empty());
        }
    }
}

#[test]
fn a_massive_numerator_is_told_from_a_massless_one() {
    use Opcode::*;
    for (l, r, massless_kernel, massive_kernel) in [
        (1.0, 1.0, Ffv3, FfvMassive3),
        (1.0, 0.0, FfvL3, FfvLMassive3),
        (1.0, 2.0, FfvLr3, FfvLrMassive3),
    ] {
        expect(&ffv_3(l, r, true), false, massive_kernel);
        // The numerator is inside IF(M.NE.0).
        expect(&ffv_3(l, r, true), true, massless_kernel);
        // Without such a numerator, the mass occurs in the propagator only.
        expect(&ffv_3(l, r, false), false, massless_kernel);
        expect(&ffv_3(l, r, false), true, massless_kernel);
    }
    expect(&vvv_1(true), false, VvvMassive1);
    expect(&vvv_1(true), true, Vvv1);
    expect(&vvv_1(false), false, Vvv1);
    expect(&vvvv_1([2.0, -1.0, -1.0], true), false, VvvvMassive1);
    expect(&vvvv_1([2.0, -1.0, -1.0], true), true, Vvvv1);
}

#[test]
fn vectors_are_recognised_with_their_factors() {
    use Opcode::*;
    assert_eq!(expect(&vvv_0(), true, Vvv0).factors, one(0.0, 1.0));
    assert_eq!(expect(&vvv_1(false), true, Vvv1).factors, one(0.0, 1.0));
    let found = expect(&vvvv_0([2.0, -1.0, -0.5]), true, Vvvv0);
    let terms: Vec<f64> = found.factors.iter().map(|f| f[0].1.im).collect();
    assert_eq!(terms, [2.0, -1.0, -0.5]);
}

/// All three parts of the four-gluon vertex are one kernel with permuted inputs, and applying the permutation
/// reproduces the routine.
#[test]
fn pieces_of_the_four_gluon_vertex_are_permutations() {
    for c in [[0.0, 1.0, -1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 0.0]] {
        for (routine, opcode) in [
            (vvvv_0(c), Opcode::VvvvDiff0),
            (vvvv_1(c, false), Opcode::VvvvDiff1),
        ] {
            let found = expect(&routine, true, opcode);
            assert_eq!(found.factors[0].len(), 1);
            assert_eq!(found.factors[0][0].1.norm(), 1.0);
        }
    }
    let first = expect(&vvvv_0([0.0, 1.0, -1.0]), true, Opcode::VvvvDiff0);
    assert_eq!(first.input_permutation, [0, 1, 2, 3]);
    let other = expect(&vvvv_0([1.0, -1.0, 0.0]), true, Opcode::VvvvDiff0);
    assert_ne!(other.input_permutation, [0, 1, 2, 3]);
}

#[test]
fn exchanged_arguments_are_found() {
    // Charge-conjugated structures have the fermions exchanged; V comes first here.
    let routine = routine("VFF", &[6, 6, 6], 1, 0, |a| {
        vec![a.factor * contract(&a.w[2], &on(&a.w[0], &a.w[1], a.i))]
    });
    let found = expect(&routine, true, Opcode::Ffv0);
    assert_eq!(found.input_permutation, [1, 2, 0]);
}

#[test]
fn several_couplings_are_summed() {
    let routine = routine("FFV2_5_0", &[6, 6, 6], 2, 0, |a| {
        let both = contract(&a.w[1], &on(&a.w[2], &a.w[0], a.i));
        let f1 = chiral(a.zero.number(1.0, 0.0), a.zero, &a.w[0]);
        let left = contract(&a.w[1], &on(&a.w[2], &f1, a.i));
        vec![a.coupling[0] * both + a.coupling[1] * left * a.zero.number(0.0, -1.0 / 3.0)]
    });
    let found = expect(&routine, true, Opcode::FfvLr0);
    let real = Complex64::new(1.0, 0.0);
    assert_eq!(
        found.factors,
        [
            vec![(0, real), (1, Complex64::new(0.0, -1.0 / 3.0))],
            vec![(0, real)]
        ]
    );
}

#[test]
fn scalars_are_recognised() {
    use Opcode::*;
    let ffs_3 = routine("FFS_3", &[6, 6], 1, 1, |a| {
        vec![a.factor * contract(&a.w[1], &a.w[0])]
    });
    expect(&ffs_3, false, FfsLr3);
    let ffs_2 = routine("FFS_2", &[6, 3], 1, 4, |a| {
        let line = times(a.factor * a.w[1][0], &a.w[0]);
        let moved = on(&a.out, &line, a.i);
        (0..4).map(|i| a.mass * line[i] + moved[i]).collect()
    });
    expect(&ffs_2, false, FfsLr2);
    let vss_0 = routine("VSS_0", &[6, 3, 3], 1, 0, |a| {
        let d = minus(&a.p[1], &a.p[2]);
        vec![a.factor * a.w[1][0] * a.w[2][0] * product(&a.w[0], &d)]
    });
    expect(&vss_0, true, Vss0);
    let vss_2 = routine("VSS_2", &[6, 3], 1, 1, |a| {
        let d = minus(&a.out, &a.p[1]);
        vec![a.factor * a.w[1][0] * product(&a.w[0], &d)]
    });
    let found = expect(&vss_2, false, Vss3);
    assert_eq!(found.factors, one(-1.0, 0.0));
    let vvss_0 = routine("VVSS_0", &[6, 6, 3, 3], 1, 0, |a| {
        vec![a.factor * a.w[2][0] * a.w[3][0] * product(&a.w[0], &a.w[1])]
    });
    expect(&vvss_0, true, Vvss0);
    let ssss_1 = routine("SSSS_1", &[3, 3, 3], 1, 1, |a| {
        vec![a.factor * a.w[0][0] * a.w[1][0] * a.w[2][0]]
    });
    expect(&ssss_1, false, Ssss1);
}

#[test]
fn what_no_kernel_computes_is_not_recognised() {
    assert_eq!(recognize(&dipole_0(), true), None);
    assert_eq!(recognize(&heft_3(), false), None);
    // Quadratic in the coupling.
    let square = routine("SSS_0", &[3, 3, 3], 1, 0, |a| {
        vec![a.factor * a.factor * a.w[0][0] * a.w[1][0] * a.w[2][0]]
    });
    assert_eq!(recognize(&square, true), None);
    // A different propagator.
    let propagator = routine("SSS_1", &[3, 3], 1, 1, |a| {
        vec![a.coupling[0] * a.w[0][0] * a.w[1][0] * a.mass]
    });
    assert_eq!(recognize(&propagator, false), None);
    // A spin-2 wavefunction.
    let spin2 = routine("VVT_0", &[6, 6, 18], 1, 0, |a| {
        vec![a.factor * a.w[0][0] * a.w[1][0] * a.w[2][0]]
    });
    assert_eq!(recognize(&spin2, true), None);
}

#[test]
fn a_result_that_loses_momentum_is_noticed() {
    let mut routine = ffv_1(1.0, 1.0);
    assert!(momentum_is_conserved(&routine));
    routine.outputs[1] = routine.outputs[0];
    assert!(!momentum_is_conserved(&routine));
    assert_eq!(recognize(&routine, true), None);
}
