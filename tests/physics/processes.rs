//! The processes that are imported, and their parameter cards.

use crate::common;
use mebridge::import::import_directory;
use mebridge::process::Process;
use std::path::Path;

/// g g > t t~ of this repository.
pub fn gg_ttx() -> Process {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = directory.join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    import_directory(&directory).expect("import").remove(0)
}

/// Processes with more gluons from MG5aMC's outputs, where there are any: g g > t t~ g and
/// g g > t t~ g g.
pub fn with_more_gluons() -> Vec<Process> {
    from_outputs(&[
        "gg_ttg.mad/SubProcesses/P1_gg_ttxg",
        "gg_ttgg.mad/SubProcesses/P1_gg_ttxgg",
    ])
}

/// Other vertices with gluons: quarks on both sides, scalars in colour triplets, the effective
/// vertices of gluons and the Higgs boson, and those of the top quark in SMEFT.
pub fn other_gauge_theories() -> Vec<Process> {
    from_outputs(&[
        "gq_ttq.mad/SubProcesses/P1_gu_ttxu",
        "susy_gg_t1t1.mad/SubProcesses/P1_gg_t1t1x",
        "heft_gg_bb.mad/SubProcesses/P1_gg_bbx",
        "smeft_gg_tttt.mad/SubProcesses/P1_gg_ttxttx",
    ])
}

fn from_outputs(names: &[&str]) -> Vec<Process> {
    let Some(outputs) = common::mg5_outputs() else {
        return Vec::new();
    };
    let import = |name| {
        import_directory(&outputs.join(name))
            .expect("import")
            .remove(0)
    };
    names.iter().map(import).collect()
}

/// The default card with other values, by block and index.
pub fn card(process: &Process, changes: &[(&str, i32, f64)]) -> Vec<f64> {
    let mut card = process.model.default_card();
    for &(block, index, value) in changes {
        let parameters = &process.model.card;
        let at = parameters
            .iter()
            .position(|p| p.block == block && p.index == [index])
            .unwrap_or_else(|| panic!("{}: no {block} {index}", process.name));
        card[at] = value;
    }
    card
}

/// The default card without what breaks gauge invariance: widths, and that the card rounds
/// the elements of a unitary matrix, the mixing of the top squarks, to seven digits.
pub fn gauge_invariant(process: &Process) -> Vec<f64> {
    let mut card = process.model.default_card();
    for (value, parameter) in card.iter_mut().zip(&process.model.card) {
        match (parameter.block.as_str(), parameter.index.as_slice()) {
            ("decay", _) => *value = 0.0,
            ("usqmix", [3, 3]) => *value = 0.6,
            ("usqmix", [6, 6]) => *value = -0.6,
            ("usqmix", [3, 6] | [6, 3]) => *value = 0.8,
            _ => {}
        }
    }
    card
}
