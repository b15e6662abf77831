//! Tests with the models of MG5aMC, if `MEBRIDGE_MG5_MODELS` is their folder, and with its outputs
//! (`MEBRIDGE_MG5_OUTPUTS`).

use mebridge_generate::generate_with;
use mebridge_generate::model::Model;
use mebridge_import::import_directory;
use mebridge_process::Process;
use mebridge_process::phase_space::PhaseSpace;
use mebridge_support::random::SplitMix64;
use mebridge_testing::{mg5_models, mg5_outputs, require};
use mebridge_ufo::{Restriction, is_ufo, read};
use std::path::Path;

fn model(folder: &Path, restriction: &Restriction) -> Model {
    Model::from_document(read(folder, restriction).unwrap()).unwrap()
}

/// All models can be read with all their restrictions.
#[test]
fn every_model_is_read_with_every_restriction() {
    let Some(models) = mg5_models() else { return };
    let folders = std::fs::read_dir(&models).unwrap().flatten();
    let folders = folders
        .map(|entry| entry.path())
        .filter(|path| is_ufo(path));
    // This one is an add-on to other models.
    let folders = folders.filter(|path| !path.ends_with("hgg_plugin"));
    for folder in require::cases("UFO folders", folders.collect()) {
        let full = model(&folder, &Restriction::None);
        let files = std::fs::read_dir(&folder).unwrap().flatten();
        for file in files.map(|entry| entry.file_name().into_string().unwrap()) {
            let name = file
                .strip_prefix("restrict_")
                .and_then(|f| f.strip_suffix(".dat"));
            let Some(name) = name else { continue };
            let restricted = model(&folder, &Restriction::By(name.into()));
            assert!(restricted.couplings.len() <= full.couplings.len());
            assert!(
                restricted.card.len() <= full.card.len(),
                "{}: {name}",
                folder.display()
            );
            assert!(!restricted.vertices.is_empty());
        }
    }
}

/// A process written by MG5aMC, and the same from the UFO folder in its output, with the output's card.
#[test]
fn outputs_are_what_their_models_give() {
    let Some(outputs) = mg5_outputs() else { return };
    let mut outputs: Vec<_> = std::fs::read_dir(&outputs)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    outputs.sort();
    let mut done = Vec::new();
    for output in outputs {
        let folder = output.join("bin/internal/ufomodel");
        if !is_ufo(&folder) {
            continue;
        }
        let subprocesses = std::fs::read_dir(output.join("SubProcesses"))
            .unwrap()
            .flatten();
        for directory in subprocesses
            .map(|entry| entry.path())
            .filter(|p| p.is_dir())
        {
            // Other tests are for successful imports.
            let Ok(processes) = import_directory(&directory) else {
                continue;
            };
            for imported in processes.iter().filter(|p| p.legs.len() <= 6) {
                // The restriction is the default in the copy, whatever its name was.
                let model = model(&folder, &Restriction::Default);
                let own = match generate_with(&imported.name, &model) {
                    Ok(mut own) => own.remove(0),
                    Err(error) if error.to_string().contains("can be generated") => continue,
                    Err(error) => panic!("{}: {error}", output.display()),
                };
                let (card, defaults) = (&imported.model.card, own.model.default_card());
                let values: Vec<f64> = own
                    .model
                    .card
                    .iter()
                    .zip(defaults)
                    .map(|(own, default)| {
                        let same = card
                            .iter()
                            .find(|p| p.block == own.block && p.index == own.index);
                        same.map_or(default, |p| p.default)
                    })
                    .collect();
                let found = at_points(&own, &values, 3);
                let written = at_points(imported, &imported.model.default_card(), 3);
                for (x, y) in found.into_iter().zip(written) {
                    let name = &imported.name;
                    assert!(
                        (x - y).abs() <= 1e-11 * y.abs() && y > 0.0,
                        "{name}: {x} {y}"
                    );
                }
                done.push(imported.name.clone());
            }
        }
    }
    println!("{done:#?}");
    require::cases("outputs with a UFO model", done);
}

/// |M|^2 at points of phase space, with the values of a model's card.
fn squared(process: &Process, model: &Model, points: usize) -> Vec<f64> {
    let value = |name: &str| {
        let entry = model
            .card
            .iter()
            .find(|e| format!("MDL_{}", e.name.to_uppercase()) == name);
        entry.unwrap_or_else(|| panic!("no {name}")).value
    };
    let card: Vec<f64> = process
        .model
        .card
        .iter()
        .map(|entry| value(&entry.name))
        .collect();
    at_points(process, &card, points)
}

/// The same with these card values.
fn at_points(process: &Process, card: &[f64], points: usize) -> Vec<f64> {
    let g = 1.2;
    let values = process.model.evaluate(card, g);
    let mass = |leg: &mebridge_process::Leg| {
        leg.mass.0.map_or(0.0, |n| {
            let parameter = &process.model.parameters[n as usize];
            values[parameter.value as usize].re
        })
    };
    let (incoming, outgoing): (Vec<_>, Vec<_>) = process.legs.iter().partition(|leg| leg.incoming);
    let masses = |legs: Vec<_>| -> Vec<f64> { legs.into_iter().map(mass).collect() };
    let (incoming, outgoing) = (masses(incoming), masses(outgoing));
    let energy = if incoming.len() == 1 {
        incoming[0]
    } else {
        1500.0
    };
    let space = PhaseSpace::new(energy, &incoming, &outgoing).unwrap();
    let mut random = SplitMix64::new(3);
    let mut found = Vec::new();
    for _ in 0..points {
        let numbers: Vec<f64> = (0..space.randoms())
            .map(|_| random.between(0.0, 1.0))
            .collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&numbers, &mut momenta);
        let momenta: Vec<[f64; 4]> = momenta
            .chunks(4)
            .map(|p| [p[0], p[1], p[2], p[3]])
            .collect();
        found.push(process.evaluate(&momenta, g, card).total());
    }
    found
}

/// The library's Standard Model is MG5aMC's: the same card, the same matrix elements.
#[test]
fn the_standard_model_is_that_of_the_library() {
    let Some(models) = mg5_models() else { return };
    let (library, ufo) = (
        Model::standard().unwrap(),
        model(&models.join("sm"), &Restriction::Default),
    );
    let card = |model: &Model| {
        let entries = model.card.iter();
        let mut entries: Vec<_> =
            // To the digits that MG5aMC writes into a card.
            entries.map(|e| (e.name.clone(), e.block.clone(), e.index.clone(), format!("{:.6e}", e.value))).collect();
        entries.sort();
        entries
    };
    assert_eq!(card(&library), card(&ufo));
    assert_eq!(library.vertices.len(), ufo.vertices.len());
    assert_eq!(
        (&library.orders, &library.labels.len()),
        (&ufo.orders, &ufo.labels.len())
    );
    for text in [
        "g g > t t~ g",
        "p p > l+ l- j",
        "p p > t t~",
        "u d~ > w+ z g",
        "g g > g g g",
        "e+ e- > w+ w- a",
        "u u~ > u u~ g",
        "b b~ > h h h",
        "w+ w- > z z h QED=3",
        "u u~ > ta+ ta- h QED=3",
        "t > b e+ ve",
        "a a > w+ w- z",
    ] {
        let (own, ufo) = (
            generate_with(text, &library).unwrap(),
            generate_with(text, &ufo).unwrap(),
        );
        assert_eq!(own.len(), ufo.len(), "{text}");
        for process in &own {
            // Particles, and so processes, are in a different order there.
            let same = ufo.iter().find(|p| p.name == process.name);
            let same = same.unwrap_or_else(|| panic!("no {}", process.name));
            assert_eq!(process.diagrams, same.diagrams, "{}", process.name);
            for (x, y) in squared(process, &library, 3)
                .into_iter()
                .zip(squared(same, &library, 3))
            {
                assert!(
                    (x - y).abs() <= 1e-12 * x.abs() && x > 0.0,
                    "{}: {x} {y}",
                    process.name
                );
            }
        }
    }
}
