//! |M|^2 at leading colour beside |M|^2 of all colours, as the number of colours grows.

use super::*;
use crate::model_tests::points;

const NUMBERS: [i64; 4] = [3, 10, 30, 100];

/// The difference of both relative to |M|^2, for each number of colours.
fn differences(text: &str) -> [f64; NUMBERS.len()] {
    let model = Model::standard().unwrap();
    let mut elements = MatrixElements::parse(text, &model).unwrap();
    assert_eq!(elements.names().len(), 1, "{text}");
    NUMBERS.map(|colors| {
        elements.builder.colors = colors;
        let process = elements.process(0).unwrap();
        let card = process.model.default_card();
        let found = process.evaluate(&points(&process, 900.0), 1.1, &card);
        let flows = found.jamp2.iter().zip(process.color_diagonal());
        let leading: f64 = flows.map(|(jamp2, factor)| jamp2 * factor).sum();
        1.0 - leading / f64::from(process.iden) / found.total()
    })
}

/// The difference falls as 1/N^2. Quarks of one flavour are connected in both ways at leading colour, and the
/// interference of these is suppressed by 1/N alone.
#[test]
fn leading_color_is_the_limit_of_many_colors() {
    for (text, power) in [
        ("g g > t t~ g g", 2),
        ("g g > g g g", 2),
        ("u u~ > d d~ g g", 2),
        ("u u > u u g", 1),
    ] {
        let found = differences(text);
        let powers = NUMBERS.map(|colors| (colors as f64).powi(power));
        let scaled: Vec<f64> = found.iter().zip(powers).map(|(x, n)| x * n).collect();
        let limit = scaled[3];
        assert!((0.01..50.0).contains(&limit.abs()), "{text}: {found:?}");
        for place in [1, 2] {
            let change = (scaled[place] / limit - 1.0).abs();
            assert!(change < 4.0 / powers[place], "{text}: {scaled:?}");
        }
    }
}
