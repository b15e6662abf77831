use super::*;

/// Two incoming legs, a massless particle, one with mass 3, one at rest, and one along a beam.
fn momenta(scale: f64) -> [[f64; 4]; 6] {
    [
        [20.0, 0.0, 0.0, 20.0],
        [20.0, 0.0, 0.0, -20.0],
        [7.0, 2.0, 3.0, 6.0],
        [5.0, 0.0, -4.0, 0.0],
        [2.5, 0.0, 0.0, 0.0],
        [1.0, -0.0, 0.0, -1.0],
    ]
    .map(|p| p.map(|component| component * scale))
}

#[test]
fn scales_of_points() {
    let points = 19;
    let mut rows = Rows::new(24, points);
    for point in 0..points {
        for (row, component) in momenta(1.0 + point as f64).iter().flatten().enumerate() {
            rows.row_mut(row)[point] = *component;
        }
    }
    // Transverse masses: 13^(1/2), 5, 2.5 and 0; transverse energies: 13^(1/2), 5, 0 and 0.
    let root = 13f64.sqrt();
    for (dynamical, wanted) in [
        (Dynamical::TransverseEnergy, root + 5.0),
        (Dynamical::TransverseMass, root + 7.5),
        (Dynamical::HalfTransverseMass, (root + 7.5) / 2.0),
        (Dynamical::PartonicEnergy, 40.0),
    ] {
        for (renormalisation, factorisation) in [
            (None, [None; 2]),
            (Some(91.0), [None; 2]),
            (None, [Some(10.0), Some(20.0)]),
            (None, [None, Some(20.0)]),
            (Some(91.0), [Some(10.0), None]),
        ] {
            let scale = Scale {
                dynamical,
                factor: 0.5,
                renormalisation,
                factorisation,
            };
            for level in Level::ALL.into_iter().filter(|level| level.is_supported()) {
                let mut found = Rows::new(4, points);
                scale.evaluate(level, 6, &rows, &mut found, 1);
                for point in 0..points {
                    let by_momenta = 0.5 * wanted * (1.0 + point as f64);
                    let [one, other] = factorisation.map(|fixed| fixed.unwrap_or(by_momenta));
                    let wanted = [0.0, renormalisation.unwrap_or(by_momenta), one, other];
                    for (row, wanted) in wanted.into_iter().enumerate() {
                        let found = found.row(row)[point];
                        assert!(
                            (found - wanted).abs() <= 1e-15 * wanted,
                            "{level}, {scale:?}: {found}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_no_number_stays_so() {
    let names = [
        r#"{"dynamical": "et", "factor": 1}"#,
        r#"{"dynamical": "ht", "factor": 1, "renormalisation": null}"#,
        r#"{"dynamical": "ht/2", "factor": 1, "factorisation": [null, null]}"#,
        r#"{"dynamical": "shat", "factor": 1}"#,
    ];
    for text in names {
        let scale: Scale = serde_json::from_str(text).expect("a scale");
        let mut rows = Rows::new(24, 1);
        for (row, component) in momenta(1.0).iter().flatten().enumerate() {
            rows.row_mut(row)[0] = *component;
        }
        for row in [0, 8] {
            rows.row_mut(row)[0] = f64::NAN;
        }
        let mut found = Rows::new(ROWS, 1);
        scale.evaluate(Level::best(), 6, &rows, &mut found, 0);
        assert!(found.row(0)[0].is_nan(), "{text}");
    }
}
