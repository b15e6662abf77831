//! Which kernel computes each Lorentz structure of real MG5aMC outputs. Those of the Standard Model and its usual
//! extensions have kernels; the exceptions are listed here.

use crate::common;
use mebridge::import::import_directory;
use mebridge::ops::recognize::{momentum_is_conserved, recognize};
use mebridge::process::{Quantity, Vertex, Wavefunction};
use std::collections::{BTreeMap, BTreeSet};

/// Structures of the outputs under test that no kernel computes: gluon, gluon and a scalar in the
/// limit of a heavy top.
const GENERAL: [&str; 1] = ["VVS3_3"];

#[test]
fn structures_of_real_outputs_have_kernels() {
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    let mut table: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut directories = Vec::new();
    for output in std::fs::read_dir(outputs).expect("outputs").flatten() {
        let Ok(subprocesses) = std::fs::read_dir(output.path().join("SubProcesses")) else {
            continue;
        };
        directories.extend(
            subprocesses
                .flatten()
                .map(|e| e.path())
                .filter(|p| p.join("matrix1.f").exists()),
        );
    }
    assert!(!directories.is_empty(), "no P* directories in the outputs");
    for directory in directories {
        for process in import_directory(&directory).expect("import") {
            let card = process.model.default_card();
            let values = process.model.evaluate(&card, 1.2);
            let is_zero = |q: Quantity| match q.0 {
                None => true,
                Some(i) => values[process.model.parameters[i as usize].value as usize].re == 0.0,
            };
            let internal = process.wavefunctions.iter().filter_map(|w| match w {
                Wavefunction::Internal(vertex) => Some(vertex),
                Wavefunction::External(_) => None,
            });
            let used: BTreeSet<(u32, bool)> = internal
                .chain(process.amplitudes.vertices())
                .map(|v: &Vertex| (v.routine, is_zero(v.mass)))
                .collect();
            for (index, massless) in used {
                let routine = &process.routines[index as usize];
                assert!(momentum_is_conserved(routine), "{}", routine.name);
                let line = match recognize(routine, massless) {
                    None => "General".to_owned(),
                    Some(r) => format!(
                        "{:?} {:?} {:?}",
                        r.opcode,
                        r.input_permutation,
                        r.factors
                            .iter()
                            .map(|f| f.iter().map(|(_, z)| z.to_string()).collect::<Vec<_>>())
                            .collect::<Vec<_>>()
                    ),
                };
                let mass = match (routine.is_amplitude(), massless) {
                    (true, _) => "",
                    (false, true) => " massless",
                    (false, false) => " massive",
                };
                table
                    .entry(format!("{}{mass}", routine.name))
                    .or_default()
                    .insert(line);
            }
        }
    }
    for (name, kernels) in &table {
        for kernel in kernels {
            println!("{name:22} {kernel}");
        }
    }
    for (name, kernels) in &table {
        let routine = name.split(' ').next().expect("name");
        assert_eq!(
            kernels.contains("General"),
            GENERAL.contains(&routine),
            "{name}: {kernels:?}"
        );
    }
}
