//! mebridge's answers for the same events.

use super::fortran_build::Channel;
use super::points::{Kinematics, Point};
use mebridge::Result;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::import::{Options, import_with};
use mebridge::process::evaluate::Evaluation;
use mebridge::process::{HelicitySum, Process, Quantity, Wavefunction};
use mebridge::runtime::{BackendChoice, Switches};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// g_s at alpha_s = 0.118; masses and widths depend on it in few models.
const G: f64 = 1.2177157847767195;

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// |M|^2, times the channel's weight.
    pub value: f64,
    /// Size of the terms before cancellations, as far as known.
    pub terms: f64,
    /// That of the colour flows' products, in which amplitudes have been added.
    pub flow_terms: f64,
    /// The chosen helicity, from 1.
    pub helicity: u32,
    /// The chosen colour flow, from 1.
    pub color: u32,
}

/// Imports a matrix element (from 0) of a directory; returns the reason if it is refused, or if the importer panics.
pub fn import(
    directory: &Path,
    card: Option<&Path>,
    element: usize,
) -> std::result::Result<Process, String> {
    let options = Options {
        card,
        element: Some(element + 1),
        ..Options::default()
    };
    match catch_unwind(|| import_with(directory, &options)) {
        Ok(Ok(mut processes)) => processes
            .pop()
            .ok_or_else(|| "there are fewer matrix elements".into()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(format!("PANIC {}", message(panic.as_ref()))),
    }
}

/// Returns the message of a panic.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message").to_owned()
}

/// Returns legs and lines of a process.
pub fn kinematics(process: &Process) -> Kinematics {
    let values = process.model.evaluate(&process.model.default_card(), G);
    let number = |quantity: Quantity| {
        quantity.0.map_or(0.0, |i| {
            values[process.model.parameters[i as usize].value as usize].re
        })
    };
    let mut kinematics = Kinematics::default();
    for leg in &process.legs {
        let mass = number(leg.mass).abs();
        match leg.incoming {
            true => kinematics.incoming.push(mass),
            false => kinematics.outgoing.push(mass),
        }
    }
    for wavefunction in &process.wavefunctions {
        if let Wavefunction::Internal(vertex) = wavefunction {
            let line = (number(vertex.mass).abs(), number(vertex.width).abs());
            if line.0 > 0.0 && line.1 > 0.0 && !kinematics.resonances.contains(&line) {
                kinematics.resonances.push(line);
            }
        }
    }
    kinematics
}

/// Evaluates with a bridge, as MadEvent does.
pub fn bridge(
    process: &Process,
    points: &[Point],
    channel: Option<Channel>,
) -> Result<Vec<Answer>> {
    let switches = Switches {
        backend: BackendChoice::Cpu,
        ..Switches::default()
    };
    let mut bridge = Bridge::new(
        process.clone(),
        &process.model.default_card(),
        &switches,
        points.len(),
    )?;
    let column = |f: fn(&Point) -> f64| points.iter().map(f).collect::<Vec<f64>>();
    let momenta: Vec<f64> = points.iter().flat_map(|p| p.momenta.clone()).collect();
    let channels = channel.map(|c| vec![c.diagram as i32; points.len()]);
    let mut matrix_elements = vec![0.0; points.len()];
    let (mut helicity, mut color) = (vec![0; points.len()], vec![0; points.len()]);
    bridge.run_all(
        &Events {
            momenta: &momenta,
            g_s: &column(|p| p.g),
            random_helicity: &column(|p| p.random_helicity),
            random_color: &column(|p| p.random_color),
            channels: channels.as_deref(),
            igraph: None,
        },
        &mut Answers {
            matrix_elements: &mut matrix_elements,
            helicity: &mut helicity,
            color: &mut color,
        },
    )?;
    let choices = helicity.iter().zip(&color);
    let answers = matrix_elements.iter().zip(choices);
    Ok(answers
        .map(|(&value, (&helicity, &color))| Answer {
            value,
            terms: value.abs(),
            flow_terms: value.abs(),
            helicity: helicity as u32,
            color: color as u32,
        })
        .collect())
}

/// Evaluates with the definition of the process.
pub fn plain(process: &Process, points: &[Point], channel: Option<Channel>) -> Vec<Answer> {
    let card = process.model.default_card();
    let answer = |point: &Point| {
        let momenta: Vec<[f64; 4]> = point
            .momenta
            .chunks_exact(4)
            .map(|p| [p[0], p[1], p[2], p[3]])
            .collect();
        let mut evaluation = process.evaluate(&momenta, point.g, &card);
        let sign = match evaluation.helicity_sum {
            HelicitySum::Absolute => take_absolute_values(&mut evaluation, point.random_helicity),
            HelicitySum::Positive | HelicitySum::Signed => 1.0,
        };
        let value = match channel {
            None => evaluation.total(),
            Some(c) => evaluation.in_channel(&process.channels, c.diagram),
        };
        let config = channel.map(|c| c.config as usize - 1);
        let config = config.filter(|&c| c < process.channels.color_allowed.len());
        Answer {
            value: sign * value,
            terms: evaluation.terms,
            flow_terms: evaluation.flow_terms,
            helicity: evaluation.helicity(point.random_helicity),
            color: config.map_or(0, |config| {
                evaluation.color(&process.channels, config, point.random_color)
            }),
        }
    };
    points.iter().map(answer).collect()
}

/// Returns the sizes of the terms of |M|^2, and of those of its flows, before cancellations.
pub fn terms(process: &Process, point: &Point) -> (f64, f64) {
    let answers = plain_or_panic(process, std::slice::from_ref(point), None);
    answers.map_or((0.0, 0.0), |answers| {
        (answers[0].terms, answers[0].flow_terms)
    })
}

/// The same as [`plain`], returning the message of a panic: invalid processes may not be evaluable.
pub fn plain_or_panic(
    process: &Process,
    points: &[Point],
    channel: Option<Channel>,
) -> std::result::Result<Vec<Answer>, String> {
    let answers = AssertUnwindSafe(|| plain(process, points, channel));
    catch_unwind(answers).map_err(|panic| format!("PANIC {}", message(panic.as_ref())))
}

/// Makes contributions positive and returns the sign of the chosen one.
fn take_absolute_values(evaluation: &mut Evaluation, random: f64) -> f64 {
    let signs: Vec<f64> = evaluation
        .contributions
        .iter()
        .map(|c| c.signum())
        .collect();
    for contribution in &mut evaluation.contributions {
        *contribution = contribution.abs();
    }
    let chosen = evaluation.helicity(random) as usize;
    chosen.checked_sub(1).map_or(1.0, |i| signs[i])
}
