//! Momenta in other frames.

/// Boosts momenta, (E, px, py, pz), to the rest frame of the sum of some of them, as `boost_to_frame` of MadEvent's
/// `genps.f` does; a massless sum has no rest frame, and leaves them as they are.
pub fn to_rest_of(momenta: &mut [[f64; 4]], frame: &[usize]) {
    let [energy, x, y, z] =
        std::array::from_fn(|i| frame.iter().map(|&leg| momenta[leg][i]).sum::<f64>());
    let square = energy * energy - (x * x + y * y + z * z);
    if square.is_nan() || square <= 0.0 {
        return;
    }
    let mass = square.sqrt();
    for momentum in momenta.iter_mut() {
        let [e, a, b, c] = *momentum;
        let at_rest = (e * energy - (a * x + b * y + c * z)) / mass;
        let along = (e + at_rest) / (energy + mass);
        *momentum = [at_rest, a - along * x, b - along * y, c - along * z];
    }
    // The spin is then along the z axis, and not along the direction of rounding errors.
    if let [alone] = *frame {
        momenta[alone] = [mass, 0.0, 0.0, 0.0];
    }
}
