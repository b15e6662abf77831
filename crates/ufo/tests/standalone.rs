//! Processes by import and by generation, for any outputs of MG5aMC: `MEBRIDGE_MG5_STANDALONE` is a folder with outputs
//! of `output standalone` (with `set zerowidth_tchannel False`), `MEBRIDGE_MG5_MODELS` that of the models.
//!
//! Model and processes are from an output's proc_card_mg5.dat, values from its param_card.dat. Each matrix element of
//! the output must agree with a generated one at random points, and none may be left over.

use mebridge_generate::generate_with;
use mebridge_generate::model::Model;
use mebridge_import::import_directory;
use mebridge_process::phase_space::PhaseSpace;
use mebridge_process::{Process, Quantity};
use mebridge_support::random::SplitMix64;
use mebridge_testing::{mg5_models, require};
use mebridge_ufo::{Restriction, read};
use std::path::{Path, PathBuf};

const POINTS: usize = 10;

#[test]
fn outputs_are_what_is_generated() {
    let Some(outputs) = std::env::var_os("MEBRIDGE_MG5_STANDALONE") else {
        return require::skipped(
            "models",
            "set MEBRIDGE_MG5_STANDALONE to the folder of standalone outputs",
        );
    };
    let Some(models) = mg5_models() else { return };
    let entries = std::fs::read_dir(outputs).unwrap().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.retain(|path| path.join("Cards/proc_card_mg5.dat").is_file());
    all.sort();
    let mut wrong = Vec::new();
    for output in require::cases("outputs", all) {
        let message = match compared(&output, &models) {
            Ok((text, worst)) => format!("{text}: {worst:.1e}"),
            Err(what) => {
                wrong.push(what.clone());
                what
            }
        };
        println!("{}: {message}", output.file_name().unwrap().display());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The model and the processes that an output was generated with.
fn requested(output: &Path) -> (String, String) {
    let card = std::fs::read_to_string(output.join("Cards/proc_card_mg5.dat")).unwrap();
    // Long lines are continued in the next one.
    let card = card.replace("\\\n", "");
    let lines = card
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    let (mut name, mut text) = (String::from("sm"), String::new());
    for line in lines {
        if let Some(model) = line.strip_prefix("import model ") {
            name = model.trim().to_owned();
        } else if [
            "define",
            "generate",
            "add process",
            "set zerowidth_tchannel",
        ]
        .iter()
        .any(|word| line.starts_with(word))
        {
            text.push_str(line);
            text.push('\n');
        }
    }
    (name, text)
}

/// The requested process and the largest relative difference, or an error.
fn compared(output: &Path, models: &Path) -> Result<(String, f64), String> {
    let (name, text) = requested(output);
    let fail = |what: &dyn std::fmt::Display| {
        format!("{name}: {}: {what}", text.trim().replace('\n', "; "))
    };
    let folder = |name: &str| {
        if name.contains('/') {
            PathBuf::from(name)
        } else {
            models.join(name)
        }
    };
    let (path, restriction) = match name.rsplit_once('-') {
        Some((name, "full")) => (folder(name), Restriction::None),
        Some((name, restriction))
            if !folder(name).join(restriction).exists() && folder(name).is_dir() =>
        {
            (folder(name), Restriction::By(restriction.into()))
        }
        _ => (folder(&name), Restriction::Default),
    };
    let model = read(&path, &restriction).and_then(|document| {
        Model::from_document(document)
            .map_err(|what| mebridge_support::error::Error::Model { path, what })
    });
    let model = model.map_err(|e| fail(&e))?;
    let own = generate_with(&text, &model).map_err(|e| fail(&e))?;
    let mut left: Vec<&Process> = own.iter().collect();
    let mut worst: f64 = 0.0;
    let directories = std::fs::read_dir(output.join("SubProcesses"))
        .unwrap()
        .flatten();
    let mut directories: Vec<PathBuf> = directories
        .map(|entry| entry.path())
        .filter(|p| p.is_dir())
        .collect();
    directories.sort();
    for imported in directories
        .iter()
        .map(|directory| import_directory(directory))
    {
        for imported in imported.map_err(|e| fail(&e))? {
            let momenta = points(&imported).map_err(|e| fail(&e))?;
            let theirs = squared(&imported, &imported.model.default_card(), &momenta);
            let mut least = (f64::INFINITY, usize::MAX, Vec::new());
            for (at, own) in left
                .iter()
                .enumerate()
                .filter(|(_, own)| own.legs.len() == imported.legs.len())
            {
                let values = card_of(own, &imported);
                let ours = squared(own, &values, &momenta);
                let pairs = ours.iter().zip(&theirs);
                let difference = pairs.map(|(x, y)| ((x - y) / y).abs()).fold(0.0, f64::max);
                if difference < least.0 {
                    least = (difference, at, ours);
                }
            }
            let (difference, at, ours) = least;
            if difference.is_nan() || difference > 1e-6 {
                return Err(fail(&format!(
                    "{}: {:?} {:?}",
                    imported.name,
                    ours.first(),
                    theirs.first()
                )));
            }
            let own = left.remove(at);
            // Independent of how colour is split into amplitudes.
            if (own.iden, own.helicities.len()) != (imported.iden, imported.helicities.len()) {
                return Err(fail(&format!(
                    "{}: IDEN or helicities differ",
                    imported.name
                )));
            }
            worst = worst.max(difference);
        }
    }
    match left.is_empty() {
        true => Ok((fail(&"").trim_end_matches([' ', ':']).to_owned(), worst)),
        false => Err(fail(&format!(
            "{} of {} are not in the output",
            left.len(),
            own.len()
        ))),
    }
}

/// The values of an output's card for the parameters of a generated process; missing ones are the model's.
fn card_of(own: &Process, imported: &Process) -> Vec<f64> {
    let entries = own.model.card.iter().zip(own.model.default_card());
    let value = |(entry, default): (&mebridge_process::model::CardParameter, f64)| {
        let same = imported
            .model
            .card
            .iter()
            .find(|p| p.block == entry.block && p.index == entry.index);
        same.map_or(default, |p| p.default)
    };
    entries.map(value).collect()
}

fn masses(process: &Process, incoming: bool) -> Vec<f64> {
    let values = process.model.evaluate(&process.model.default_card(), 1.2);
    let mass = |quantity: Quantity| {
        quantity.0.map_or(0.0, |n| {
            values[process.model.parameters[n as usize].value as usize]
                .re
                .abs()
        })
    };
    process
        .legs
        .iter()
        .filter(|leg| leg.incoming == incoming)
        .map(|leg| mass(leg.mass))
        .collect()
}

fn points(process: &Process) -> Result<Vec<Vec<[f64; 4]>>, String> {
    let (incoming, outgoing) = (masses(process, true), masses(process, false));
    let least = outgoing.iter().sum::<f64>().max(incoming.iter().sum());
    let energy = if incoming.len() == 1 {
        incoming[0]
    } else {
        least + 400.0
    };
    let space = PhaseSpace::new(energy, &incoming, &outgoing).map_err(|e| e.to_string())?;
    let mut random = SplitMix64::new(3);
    let mut point = || {
        let random: Vec<f64> = (0..space.randoms())
            .map(|_| random.between(0.0, 1.0))
            .collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&random, &mut momenta);
        momenta
            .chunks(4)
            .map(|p| [p[0], p[1], p[2], p[3]])
            .collect()
    };
    Ok((0..POINTS).map(|_| point()).collect())
}

fn squared(process: &Process, card: &[f64], momenta: &[Vec<[f64; 4]>]) -> Vec<f64> {
    momenta
        .iter()
        .map(|event| process.evaluate(event, 1.2, card).total())
        .collect()
}
