//! Coloured scalars on the emulated GPU, compared with the CPU's engine: recursions with a scalar or a fermion at the
//! root, and squared diagrams that are cut at scalars.

use super::high_spin::agree_in;
use mebridge_testing::SCALAR_QCD;

#[test]
fn scalars_at_the_root_agree_with_the_cpu() {
    agree_in(SCALAR_QCD, "g g > s s~ g");
}

#[test]
fn currents_of_scalars_agree_with_the_cpu() {
    agree_in(SCALAR_QCD, "u u~ > s s~ g");
}
