//! The colour-ordered form of imported processes: equal to their diagrams, and those that a generated process has.

use crate::batch::Batch;
use crate::color_ordered::same;
use crate::common::{mg5_outputs, require};
use crate::kinematics::points;
use mebridge::process::Process;
use mebridge::process::color_ordered::ColorOrdered;
use mebridge::runtime::Switches;
use mebridge::{export, generate, import_directory};

fn switches() -> Switches {
    Switches::from_pairs([("CUDACPP_RUNTIME_BACKEND", "cpu")]).expect("switches")
}

/// Each helicity, each colour flow and all choices, by the form and by the diagrams.
fn as_by_diagrams(imported: &Process, energy: f64) {
    let name = &imported.name;
    let ordered = imported.as_color_ordered().expect(name);
    ordered.validate().expect(name);
    let diagrams = imported.as_diagrams().expect("diagrams");
    let card = diagrams.model.default_card();
    let configurations = diagrams.channels.config_diagram.len() as i32;
    let igraph: Vec<i32> = (0..=configurations.min(7)).collect();
    let batch = Batch::new(&points(&diagrams, &card, energy, 9, 3), 1.2);
    let mut batch = batch.varied(5);
    if configurations > 0 {
        batch = batch.with_igraph(&igraph);
    }
    same(name, &ordered, &diagrams, &batch, &switches(), false);
}

/// A process written as Fortran and imported has its form again.
#[test]
fn what_is_exported() {
    for text in [
        "g g > t t~ g",
        "t~ t > g g g",
        "g u~ > u~ g g",
        "u u~ > g g g",
        "g g > g g",
        "g g > g g g",
        "d d~ > z g g",
        "g u > z u g g",
        "u d~ > w+ g g",
        "u u~ > a g g",
        "g u > e+ e- u g",
        "u d~ > e+ ve g g",
    ] {
        let folder = tempfile::tempdir().expect("folder");
        let directory = folder.path().join("out");
        let process = generate(text).expect(text).remove(0);
        let names = export::write(&[process], &directory).expect(text);
        let imported = import_directory(&directory.join(&names[0])).expect(text);
        assert!(imported[0].amplitudes.color_ordered().is_some(), "{text}");
        as_by_diagrams(&imported[0], 900.0);
    }
}

/// Real outputs: those whose processes have a form when they are generated have it when they are imported, unless
/// MG5aMC dropped a width.
#[test]
fn real_outputs() {
    let Some(outputs) = mg5_outputs() else {
        return;
    };
    let list = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let (mut found, mut others) = (0, 0);
    for output in list(&outputs) {
        let directories = list(&output.join("SubProcesses")).into_iter();
        for directory in directories.filter(|path| path.is_dir()) {
            // Other tests check that imports succeed.
            for imported in import_directory(&directory).unwrap_or_default() {
                let name = imported.name.as_str();
                let standard = imported.model_name == "sm";
                let of_model = standard.then(|| generate(name).ok()).flatten();
                let own = of_model.map(|all| all[0].amplitudes.color_ordered().cloned());
                // A pair of fermions with two gluons may become bosons in amplitudes alone.
                let insertions = |form: &ColorOrdered| match &form.boson {
                    Some(boson) => form.insertions.len() + 1 - boson.wavefunctions.len(),
                    None => form.insertions.len(),
                };
                let own = own.flatten().filter(|form| insertions(form) > 1);
                match imported.amplitudes.color_ordered() {
                    // More of them are compared where they are generated.
                    Some(form) if form.insertions.len() < 5 => {
                        println!("{name}: {} JAMPs", form.jamps());
                        as_by_diagrams(&imported, 1500.0);
                        found += 1;
                    }
                    Some(_) => found += 1,
                    None => {
                        let massless = own.is_some_and(|form| {
                            let massive = form.line.filter(|line| line.mass.0.is_some());
                            massive.is_none()
                        });
                        assert!(!massless, "{name}: no form");
                        others += 1;
                    }
                }
            }
        }
    }
    require::used("outputs", format_args!("{found} forms, {others} without"));
}
