use super::*;

fn chart(curves: &[Curve], falls: bool) -> String {
    let edges = std::array::from_fn(|edge| 50.0 * edge as f64);
    let axes = ["pt, GeV", "dσ/dpt < 1"];
    Chart {
        axes,
        edges,
        curves,
        falls,
    }
    .svg()
}

fn curve(value: impl Fn(usize) -> (f64, f64)) -> Curve {
    Curve {
        bins: std::array::from_fn(value),
    }
}

#[test]
fn axes_have_round_numbers() {
    let linear = |low: f64, high: f64| Axis {
        ends: [low, high],
        is_logarithmic: false,
        place: [0.0, 1.0],
    };
    assert_eq!(linear(0.0, 10.5).ticks(), [0.0, 2.5, 5.0, 7.5, 10.0]);
    assert_eq!(linear(0.8, 1.2).ticks().len(), 5);
    assert_eq!(linear(-3e-9, 3e-9).ticks().len(), 3);
    let logarithmic = |low: f64, high: f64| Axis {
        is_logarithmic: true,
        ..linear(low, high)
    };
    assert_eq!(
        logarithmic(0.5, 30.0).ticks(),
        [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    );
    let many = logarithmic(1e-12, 1e3).ticks();
    assert_eq!((many.len(), many[0]), (6, 1e-12));
    let axis = logarithmic(1.0, 100.0);
    assert_eq!(
        [0.0, 1.0, 10.0, 1000.0].map(|value| axis.at(value)),
        [0.0, 0.0, 0.5, 1.0]
    );
}

#[test]
fn spectra_that_fall_have_powers_of_ten() {
    let falls = curve(|bin| (10_f64.powi(-(bin as i32)), 0.0));
    let svg = chart(std::slice::from_ref(&falls), true);
    assert!(
        svg.contains(">1e-09</text>") && svg.contains("dσ/dpt &lt; 1"),
        "{svg}"
    );
    assert!(!chart(std::slice::from_ref(&falls), false).contains(">1e-09</text>"));
    // Negative values prevent a logarithmic axis.
    let negative = curve(|bin| (if bin == 3 { -1.0 } else { falls.bins[bin].0 }, 0.0));
    let svg = chart(&[negative], true);
    assert!(
        svg.contains(">-1</text>") && svg.contains(">0.5</text>"),
        "{svg}"
    );
    // Extreme values give no NaN or infinity.
    for value in [0.0, 1e-300, 1e300, -5.0] {
        let svg = chart(
            &[curve(|_| (value, 0.0)), curve(|bin| (value, bin as f64))],
            true,
        );
        assert!(
            !svg.contains("NaN") && !svg.contains("inf"),
            "{value}: {svg}"
        );
    }
}

#[test]
fn ratios_have_the_errors_of_their_own_curve() {
    let whole = [(2.0, 0.5), (0.0, 0.0), (-4.0, 1.0)];
    let found = ratios(&[(1.0, 0.2), (1.0, 1.0), (2.0, 1.0)], &whole);
    assert_eq!([found[0], found[2]], [(0.5, 0.1), (-0.5, 0.25)]);
    assert!(found[1].0.is_nan());
    let svg = chart(&[curve(|_| (2.0, 0.1)), curve(|_| (2.2, 0.1))], false);
    // A ratio of 1.1 +- 0.05 gives a range from 0.8 to 1.2.
    assert!(
        svg.contains(">ratio</text>") && svg.contains(">1.2</text>") && svg.contains(">0.8</text>"),
        "{svg}"
    );
}
