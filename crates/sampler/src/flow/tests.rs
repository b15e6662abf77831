use super::*;
use crate::random::Philox;

/// Conditions of the blocks for three dimensions, "log" in madnis.
fn shape() -> FlowShape {
    let [yes, no] = [true, false];
    FlowShape {
        bins: 4,
        units: 5,
        layers: 3,
        conditions: vec![
            vec![no, yes, no],
            vec![yes, no, yes],
            vec![no, no, yes],
            vec![yes, yes, no],
        ],
    }
}

fn flow() -> Flow {
    let shape = shape();
    let parameters = (0..shape.parameters()).map(|i| (0.5 * (1.7 * i as f64).sin()) as f32);
    let parameters = parameters.collect();
    Flow::new(shape, parameters).expect("a flow")
}

/// Maps points; returns them with their Jacobians.
fn mapped(flow: &Flow, level: Level, points: &[[f64; 3]]) -> (Vec<[f64; 3]>, Vec<f64>) {
    let mut rows = Rows::new(4, points.len());
    for (place, point) in points.iter().enumerate() {
        for (row, &number) in point.iter().enumerate() {
            rows.row_mut(row)[place] = number;
        }
    }
    let mut jacobians = vec![1.0; points.len()];
    flow.map(level, &mut rows, &mut jacobians);
    let found = (0..points.len()).map(|place| [0, 1, 2].map(|row| rows.row(row)[place]));
    (found.collect(), jacobians)
}

fn random(points: usize) -> Vec<[f64; 3]> {
    let philox = Philox {
        seed: 1,
        round: 0,
        channel: 0,
    };
    let point = |point| [0, 1, 2].map(|row| philox.number(point, row));
    (0..points as u64).map(point).collect()
}

#[test]
fn a_determinant_is_the_derivative_of_the_map() {
    let flow = flow();
    // Away from the ends.
    let inner = |point: [f64; 3]| point.map(|x| 0.01 + 0.98 * x);
    let points: Vec<[f64; 3]> = random(40).into_iter().map(inner).collect();
    let (_, jacobians) = mapped(&flow, Level::best(), &points);
    let step = 1e-4;
    let columns = [0, 1, 2].map(|row| {
        let moved = [-step, step].map(|step| {
            let moved = points.iter().map(|point| {
                let mut point = *point;
                point[row] += step;
                point
            });
            mapped(&flow, Level::best(), &moved.collect::<Vec<_>>()).0
        });
        let [below, above] = moved;
        let slope = |(below, above): (&[f64; 3], &[f64; 3])| {
            [0, 1, 2].map(|i| (above[i] - below[i]) / (2.0 * step))
        };
        below.iter().zip(&above).map(slope).collect::<Vec<_>>()
    });
    let mut near = 0;
    for (point, &jacobian) in jacobians.iter().enumerate() {
        let [a, b, c] = [0, 1, 2].map(|row| columns[row][point]);
        let determinant = a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
            + a[2] * (b[0] * c[1] - b[1] * c[0]);
        // Second derivatives jump at the edges of bins, and networks round.
        near += u32::from((determinant - jacobian).abs() < 0.02 * jacobian);
    }
    assert!(near > 34, "{near} of 40");
}

#[test]
fn all_of_the_cube_is_reached_once() {
    // The mean of the Jacobian is the volume.
    let points = random(1 << 16);
    let (found, jacobians) = mapped(&flow(), Level::best(), &points);
    let count = points.len() as f64;
    let mean = jacobians.iter().sum::<f64>() / count;
    let square = jacobians.iter().map(|x| x * x).sum::<f64>() / count;
    let error = ((square - mean * mean) / count).sqrt();
    assert!(
        (mean - 1.0).abs() < 4.0 * error && error < 0.02,
        "{mean} {error}"
    );
    // The mean over each octant is the volume that maps to it.
    for octant in 0..8 {
        let inside = |x: &[f64; 3]| (0..3).all(|i| (x[i] < 0.5) == (octant >> i & 1 == 0));
        let own = found.iter().zip(&jacobians).filter(|(x, _)| inside(x));
        let volume = own.map(|(_, jacobian)| jacobian).sum::<f64>() / count;
        assert!((volume - 0.125).abs() < 0.02, "{octant} {volume}");
    }
}

#[test]
fn networks_that_give_nothing_change_nothing() {
    let shape = shape();
    let flow = Flow::new(shape.clone(), vec![0.0; shape.parameters()]).expect("a flow");
    let points = random(13);
    let (found, jacobians) = mapped(&flow, Level::best(), &points);
    for (before, after) in points.iter().flatten().zip(found.iter().flatten()) {
        assert!((before - after).abs() < 1e-14, "{before} {after}");
    }
    assert!(
        jacobians
            .iter()
            .all(|jacobian| (jacobian - 1.0).abs() < 1e-13)
    );
}

#[test]
fn all_levels_map_alike() {
    let points = random(77);
    let (expected, of) = mapped(&flow(), Level::None, &points);
    for level in Level::ALL.into_iter().filter(|level| level.is_supported()) {
        let (found, jacobians) = mapped(&flow(), level, &points);
        let every = found.iter().flatten().chain(&jacobians);
        for (one, other) in every.zip(expected.iter().flatten().chain(&of)) {
            assert!((one - other).abs() < 1e-4 * other, "{level}: {one} {other}");
        }
    }
}

#[test]
fn what_is_no_flow_is_refused() {
    let refused = |shape: FlowShape, parameters: Vec<f32>, message: &str| {
        let error = Flow::new(shape, parameters).expect_err(message);
        assert!(error.contains(message), "{error}");
    };
    let count = shape().parameters();
    refused(shape(), vec![0.0; count - 1], "parameters, not");
    let mut wild = vec![0.0; count];
    wild[3] = f32::NAN;
    refused(shape(), wild, "its training diverged");
    let changed = |change: fn(&mut FlowShape)| {
        let mut shape = shape();
        change(&mut shape);
        shape
    };
    for (shape, message) in [
        (
            changed(|of| of.conditions[1] = vec![true; 3]),
            "leaves some",
        ),
        (
            changed(|of| of.conditions[2] = vec![true, false]),
            "leaves some",
        ),
        (changed(|of| of.conditions.clear()), "2 to 256 dimensions"),
        (changed(|of| of.bins = 1), "2 to 256 bins"),
        (changed(|of| of.layers = 0), "1 to 16 layers"),
    ] {
        refused(shape, Vec::new(), message);
    }
}

/// Results of `madnis.nn.Flow(3, layers=3, units=5, bins=4, activation=LeakyReLU).double()` with the parameters of
/// [`flow`]: `transform(inverse=True)`, and the Jacobian from its logarithm.
#[test]
fn it_maps_as_madnis_does() {
    let points = [
        [0.5, 0.5, 0.5],
        [0.1, 0.7, 0.9],
        [0.999, 0.001, 0.25],
        [1e-9, 0.3, 0.9999999],
        [0.61, 0.82, 0.13],
    ];
    let expected = [
        [0.4686414980647118, 0.3169944735230642, 0.45666657302044267],
        [0.07113115285558201, 0.4737111494961495, 0.9238240221761387],
        [
            0.9989585722667907,
            0.0010457346576118142,
            0.27242571849495384,
        ],
        [
            5.605416253581082e-10,
            0.17995253103652115,
            0.9999998774660835,
        ],
        [0.7508138138188465, 0.5937056969062815, 0.11326850067085119],
    ];
    let of = [
        0.518471728105623,
        0.4235391432703375,
        2.131787545980602,
        0.4693433593476351,
        1.9468069182409908,
    ];
    let (found, jacobians) = mapped(&flow(), Level::best(), &points);
    let every = found.iter().flatten().chain(&jacobians);
    for (one, other) in every.zip(expected.iter().flatten().chain(&of)) {
        assert!((one - other).abs() < 1e-5 * other, "{one} {other}");
    }
}
