//! A bias that favours events with a jet of large transverse momentum (`ptj_bias`).

use mebridge_sampler::integrand::{Failure, Selection};
use serde::{Deserialize, Serialize};

/// The bias of MG5aMC's module `ptj_bias` (`Source/BIAS/ptj_bias/ptj_bias.f`): (pt / target)^power for the largest transverse
/// momentum of a jet, and 1 without jets.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct JetBias {
    /// Transverse momentum at which the bias is 1, GeV.
    pub target: f64,
    /// Exponent of the bias.
    pub power: f64,
}

/// The bias by the jets of each matrix element.
#[derive(Debug)]
pub(super) struct BiasedByJets {
    pub(super) bias: JetBias,
    /// The legs that are jets, `[element][jet]`.
    pub(super) jets: Vec<Vec<usize>>,
}

impl Selection for BiasedByJets {
    fn is_biased(&self) -> bool {
        true
    }

    fn bias(
        &self,
        element: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        biases: &mut [f64],
    ) -> Result<(), Failure> {
        let jets = &self.jets[element];
        if jets.is_empty() {
            return Ok(());
        }
        let JetBias { target, power } = self.bias;
        for (momenta, bias) in momenta.chunks_exact(legs).zip(biases) {
            let transverse = jets
                .iter()
                .map(|&leg| momenta[leg][1].hypot(momenta[leg][2]));
            *bias = (transverse.fold(0.0, f64::max) / target).powf(power);
        }
        Ok(())
    }
}
