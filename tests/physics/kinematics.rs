//! Points of phase space, rotations and boosts.

use mebridge::phase_space::PhaseSpace;
use mebridge::process::Process;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The momenta of one event, `(E, px, py, pz)` of each leg.
pub type Point = Vec<[f64; 4]>;

/// Two massless legs along the z axis to two of the same mass, at a given cosine of the angle
/// between the first and the third leg.
pub fn two_body(energy: f64, mass: f64, cosine: f64, phi: f64) -> Point {
    let e = 0.5 * energy;
    let p = ((e - mass) * (e + mass)).sqrt();
    let sine = ((1.0 - cosine) * (1.0 + cosine)).sqrt();
    let (x, y, z) = (p * sine * phi.cos(), p * sine * phi.sin(), p * cosine);
    vec![
        [e, 0.0, 0.0, e],
        [e, 0.0, 0.0, -e],
        [e, x, y, z],
        [e, -x, -y, -z],
    ]
}

/// The masses of the legs.
pub fn masses(process: &Process, card: &[f64]) -> Vec<f64> {
    let values = process.model.evaluate(card, 1.0);
    let parameter = |i: u32| values[process.model.parameters[i as usize].value as usize].re;
    let legs = process.legs.iter();
    legs.map(|leg| leg.mass.0.map_or(0.0, parameter)).collect()
}

/// Points by RAMBO at which no two legs are close to each other: `2 p_i p_j` is at least a
/// thousandth of s for all pairs.
pub fn points(process: &Process, card: &[f64], energy: f64, count: usize, seed: u64) -> Vec<Point> {
    let masses = masses(process, card);
    let incoming = process.legs.iter().filter(|leg| leg.incoming).count();
    let space = PhaseSpace::new(energy, &masses[..incoming], &masses[incoming..]).expect("energy");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut points = Vec::new();
    while points.len() < count {
        let random: Vec<f64> = (0..space.randoms())
            .map(|_| rng.random_range(1e-9..1.0))
            .collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&random, &mut momenta);
        let point: Point = momenta
            .chunks(4)
            .map(|p| [p[0], p[1], p[2], p[3]])
            .collect();
        let separate = |i: usize, j: usize| {
            let (a, b) = (point[i], point[j]);
            let product = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
            2.0 * product > 1e-3 * energy * energy
        };
        if (0..point.len()).all(|i| (0..i).all(|j| separate(i, j))) {
            points.push(point);
        }
    }
    points
}

/// A linear map of momenta.
pub struct Lorentz([[f64; 4]; 4]);

impl Lorentz {
    /// A rotation by a random unit quaternion.
    pub fn rotation(rng: &mut ChaCha8Rng) -> Lorentz {
        let q = loop {
            let q: [f64; 4] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
            let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            if (0.1..1.0).contains(&norm) {
                break q.map(|x| x / norm);
            }
        };
        let [w, x, y, z] = q;
        Lorentz([
            [1.0, 0.0, 0.0, 0.0],
            [
                0.0,
                1.0 - 2.0 * (y * y + z * z),
                2.0 * (x * y - w * z),
                2.0 * (x * z + w * y),
            ],
            [
                0.0,
                2.0 * (x * y + w * z),
                1.0 - 2.0 * (x * x + z * z),
                2.0 * (y * z - w * x),
            ],
            [
                0.0,
                2.0 * (x * z - w * y),
                2.0 * (y * z + w * x),
                1.0 - 2.0 * (x * x + y * y),
            ],
        ])
    }

    /// A rotation that takes one direction to another, which is not the opposite one.
    pub fn turn(from: [f64; 3], to: [f64; 3]) -> Lorentz {
        let unit = |a: [f64; 3]| {
            let size = a.iter().map(|x| x * x).sum::<f64>().sqrt();
            a.map(|x| x / size)
        };
        let (a, b) = (unit(from), unit(to));
        let half = unit([0, 1, 2].map(|i| a[i] + b[i]));
        // Half a turn about `half` takes a to b.
        Lorentz(std::array::from_fn(|i| {
            std::array::from_fn(|j| match (i, j) {
                (0, 0) => 1.0,
                (0, _) | (_, 0) => 0.0,
                _ => 2.0 * half[i - 1] * half[j - 1] - if i == j { 1.0 } else { 0.0 },
            })
        }))
    }

    /// Half a turn about the x axis: it exchanges the beams.
    pub fn turn_about_x() -> Lorentz {
        let diagonal = [1.0, 1.0, -1.0, -1.0];
        Lorentz(std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == j { diagonal[i] } else { 0.0 })
        }))
    }

    /// A boost by this velocity.
    pub fn boost(velocity: [f64; 3]) -> Lorentz {
        let v2: f64 = velocity.iter().map(|v| v * v).sum();
        let gamma = 1.0 / (1.0 - v2).sqrt();
        let mut m = [[0.0; 4]; 4];
        m[0][0] = gamma;
        for i in 0..3 {
            m[0][i + 1] = gamma * velocity[i];
            m[i + 1][0] = gamma * velocity[i];
            for j in 0..3 {
                let same = if i == j { 1.0 } else { 0.0 };
                m[i + 1][j + 1] = same + (gamma - 1.0) * velocity[i] * velocity[j] / v2;
            }
        }
        Lorentz(m)
    }

    pub fn apply(&self, point: &Point) -> Point {
        let row = |row: &[f64; 4], p: &[f64; 4]| row.iter().zip(p).map(|(m, p)| m * p).sum();
        point
            .iter()
            .map(|p| std::array::from_fn(|i| row(&self.0[i], p)))
            .collect()
    }
}
