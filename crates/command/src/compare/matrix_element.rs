//! The comparison of one matrix element.

use super::report::{ChannelRow, ComparisonRow, Values, Verdict};
use super::{Opened, Options};
use crate::eval;
use mebridge::Result;
use mebridge::process::Process;
use mebridge_oracle::fortran_build::{Answer, Channel, FortranBuild};
use mebridge_oracle::matrix_element::{Caller, MatrixElement};
use mebridge_oracle::points::{Kinematics, Point, moved, with_momenta};
use mebridge_oracle::{born, library};
use std::path::Path;
use std::time::Duration;

/// Maximum number of channels of a process that are compared, spread evenly.
const CHANNELS: usize = 8;
/// Maximum number of events in each channel.
const CHANNEL_POINTS: usize = 20;
/// A sum of at most this size relative to its terms is one in which they cancel;
pub const CANCELLED: f64 = 1e-6;
/// a difference of at most this size relative to the terms is then rounding, if flows or helicities cancel: if it is of at
/// most this size relative to theirs, or of the square of this relative to all. If diagrams of a flow cancel, it is rounding
/// if the Fortran's own answer changes by as much, within a factor of [`AS_GOOD`], when
pub const ROUNDING: f64 = 1e-14;
/// momenta change by at most this fraction,
const MOVED: f64 = 1e-15;
/// in this many ways.
const WAYS: u64 = 4;
/// If HELAS amplifies a rounding error by more than this,
const LOSES: f64 = 1e4;
/// a difference of at most this size relative to the amplified error is rounding, too.
const LOST: f64 = 8.0 * f64::EPSILON;
/// If the Fortran's own error exceeds the tolerance, the library's may be this many times larger than the Fortran's.
const AS_GOOD: f64 = 10.0;

/// One matrix element: its Fortran and its process.
pub struct FortranComparison<'a> {
    pub options: &'a Options,
    pub directory: &'a Path,
    pub element: MatrixElement,
    /// The process, or the reason why it was refused.
    pub process: std::result::Result<&'a Process, String>,
}

impl FortranComparison<'_> {
    /// Fills in a row of the table.
    pub fn fill(
        &self,
        row: &mut ComparisonRow,
        fortran: &mut Opened,
        quad: Option<&mut Opened>,
    ) -> Result<()> {
        if let Err(reason) = &self.process
            && !self.options.values
        {
            row.verdict = Verdict::Refused(reason.clone());
            return Ok(());
        }
        if let Err(verdict) = self.compare(row, fortran, quad)? {
            row.verdict = verdict;
        }
        Ok(())
    }

    /// Returns the points to compare at: those of the file of events, or random ones.
    fn points(&self, kinematics: &Kinematics) -> std::result::Result<Vec<Point>, String> {
        let (count, seed) = (self.options.points as usize, self.options.seed);
        let points = match (&self.options.events, &self.process) {
            (Some(path), Ok(process)) => match eval::momenta(path, process, count) {
                Ok(found) if found.is_empty() => {
                    return Err(format!("{} has none of this process", path.display()));
                }
                found => found.map(|found| with_momenta(found, seed)),
            },
            _ => kinematics.points(count, seed),
        };
        points.map_err(|error| error.to_string())
    }

    fn compare(
        &self,
        row: &mut ComparisonRow,
        fortran: &mut Opened,
        quad: Option<&mut Opened>,
    ) -> Result<std::result::Result<(), Verdict>> {
        let build = match fortran {
            Ok(build) => build,
            Err(reason) => return Ok(Err(Verdict::FortranFails(reason.clone()))),
        };
        let program = match build.program(&self.element)? {
            Ok(program) => program,
            Err(reason) => return Ok(Err(Verdict::FortranFails(reason))),
        };
        let Some(kinematics) = self.kinematics(build)? else {
            let reason = "there is no pmass.inc that says the masses".to_owned();
            return Ok(Err(Verdict::NoEvents(reason)));
        };
        let points = match self.points(&kinematics) {
            Ok(points) => points,
            Err(reason) => return Ok(Err(Verdict::NoEvents(reason))),
        };
        row.points = points.len();
        let limit = Duration::from_secs(self.options.limit);
        let call = FortranCall {
            build,
            program: &program,
            channel: None,
            limit,
        };
        let answers = match call.evaluate(&points) {
            Ok(answers) => answers,
            Err(reason) => return Ok(Err(Verdict::FortranEnds(reason))),
        };
        if self.options.values {
            row.values = Some(Values::new(&points, &answers));
        }
        let process = match &self.process {
            Ok(process) => process,
            Err(reason) => return Ok(Err(Verdict::Refused(reason.clone()))),
        };
        let mine = match self.library(process, &points, None) {
            Ok(mine) => mine,
            Err(reason) => return Ok(Err(Verdict::Refused(reason))),
        };
        if let Some(values) = &mut row.values {
            values.library = mine.iter().map(|a| a.value).collect();
        }
        let pairs = mine.iter().zip(&answers);
        let of_all: Vec<f64> = pairs.map(|(a, b)| difference(a.value, b.value)).collect();
        let kept = match self.beyond_rounding(process, &points, &mine, &answers, &call) {
            Ok(kept) => kept,
            Err(reason) => return Ok(Err(Verdict::FortranEnds(reason))),
        };
        let differences = of_all.iter().zip(&points);
        let is_lost =
            |&(&x, point): &(&f64, &Point)| x > self.options.tolerance && x <= lost_digits(point);
        let digits = differences.filter(is_lost).count();
        let rounded = points.len() - kept.len() - digits;
        if digits > 0 {
            row.note = format!("{digits} events agree as far as the Fortran has digits");
        } else if rounded > 0 {
            row.note = format!("{rounded} events agree to {ROUNDING:.0e} of the terms that cancel");
        }
        let of_kept = |i: &usize| (mine[*i], answers[*i].clone());
        let (compared, expected): (Vec<_>, Vec<_>) = kept.iter().map(of_kept).unzip();
        let (worst, event) = worst(&compared, &expected);
        row.worst = Some(worst);
        row.worst_event = kept.get(event).copied();
        row.other_helicities = helicity_differences(process, &compared, &expected);
        let mut agrees = worst <= self.options.tolerance && row.other_helicities == 0;
        if let Some(quad) = quad {
            let exact = quad.as_mut().map_err(|e| e.clone()).and_then(|quad| {
                let program = quad.program(&self.element).map_err(|e| e.to_string())??;
                quad.evaluate(&program, &points, None, 40 * limit)
            });
            match exact {
                Ok(exact) => {
                    if let Some(values) = &mut row.values {
                        values.quad = exact.iter().map(|a| a.value).collect();
                    }
                    agrees = self.against_quad(row, &points, &mine, [&answers, &exact]);
                }
                Err(reason) => row.note = format!("no quadruple precision: {reason}"),
            }
        }
        if self.element.kind == Caller::Born {
            agrees &= match self.parts_of_born(row, build, &points, &answers) {
                Ok(agrees) => agrees,
                Err(reason) => return Ok(Err(Verdict::Refused(reason))),
            };
        }
        if self.options.channels && self.element.has_channels() {
            agrees &= match self.channels(row, process, &call, &points) {
                Ok(agrees) => agrees,
                Err(reason) => return Ok(Err(Verdict::FortranEnds(reason))),
            };
        }
        row.verdict = if agrees {
            Verdict::Ok
        } else {
            Verdict::Differs
        };
        Ok(Ok(()))
    }

    /// Returns legs and lines: from the process, else from the Fortran.
    fn kinematics(&self, build: &mut FortranBuild) -> Result<Option<Kinematics>> {
        let mut kinematics = match &self.process {
            Ok(process) => Some(library::kinematics(process)),
            Err(_) => None,
        };
        if let Some((incoming, masses)) = build.masses()?
            && masses.len() > incoming
        {
            let legs = kinematics.get_or_insert_default();
            legs.incoming = masses[..incoming].to_vec();
            // NEXTERNAL is that of the real emissions.
            let last = masses.len() - usize::from(self.element.kind == Caller::Born);
            legs.outgoing = masses[incoming..last].to_vec();
        }
        Ok(kinematics)
    }

    fn library(
        &self,
        process: &Process,
        points: &[Point],
        channel: Option<Channel>,
    ) -> std::result::Result<Vec<library::Answer>, String> {
        match self.options.plain {
            true => library::plain_or_panic(process, points, channel),
            false => library::bridge(process, points, channel).map_err(|e| e.to_string()),
        }
    }

    /// Returns the events whose difference is more than rounding, where terms cancel.
    fn beyond_rounding(
        &self,
        process: &Process,
        points: &[Point],
        mine: &[library::Answer],
        fortran: &[Answer],
        call: &FortranCall,
    ) -> std::result::Result<Vec<usize>, String> {
        let apart = |i: usize| (mine[i].value - fortran[i].value).abs();
        let mut kept = Vec::with_capacity(points.len());
        let mut unsure = Vec::new();
        for (i, point) in points.iter().enumerate() {
            let x = difference(mine[i].value, fortran[i].value);
            if x <= self.options.tolerance {
                kept.push(i);
            } else if x > lost_digits(point) {
                let (terms, flow_terms) = library::terms(process, point);
                let cancels = fortran[i].value.abs() <= CANCELLED * terms;
                if !cancels || apart(i).is_nan() || apart(i) > ROUNDING * terms {
                    kept.push(i);
                } else if apart(i) > ROUNDING * (flow_terms + ROUNDING * terms) {
                    unsure.push(i);
                }
            }
        }
        let there: Vec<Point> = unsure.iter().map(|&i| points[i].clone()).collect();
        let values: Vec<f64> = unsure.iter().map(|&i| fortran[i].value).collect();
        let changes = call.changes(&there, &values)?;
        let unsure = unsure.into_iter().zip(changes);
        kept.extend(unsure.filter_map(|(i, change)| (apart(i) > AS_GOOD * change).then_some(i)));
        kept.sort_unstable();
        Ok(kept)
    }

    /// Returns the errors relative to quadruple precision, and whether the library's are no worse than the Fortran's.
    fn against_quad(
        &self,
        row: &mut ComparisonRow,
        points: &[Point],
        mine: &[library::Answer],
        [fortran, exact]: [&[Answer]; 2],
    ) -> bool {
        let relative = |x: f64, exact: f64| difference(x, exact);
        let of = |values: &mut dyn Iterator<Item = f64>| -> f64 {
            let pairs = values.zip(exact);
            pairs.map(|(x, e)| relative(x, e.value)).fold(0.0, worse)
        };
        let library = of(&mut mine.iter().map(|a| a.value));
        let double = of(&mut fortran.iter().map(|a| a.value));
        (row.library_error, row.fortran_error) = (Some(library), Some(double));
        // The momenta are rounded in quadruple precision, too.
        let is_near = |((point, mine), exact): ((&Point, &library::Answer), &Answer)| {
            relative(mine.value, exact.value) <= lost_digits(point).max(self.options.tolerance)
        };
        let agrees = library <= AS_GOOD * double || points.iter().zip(mine).zip(exact).all(is_near);
        agrees && row.other_helicities == 0
    }

    /// Compares colour links, AMP2 and complex Borns, relative to the Born if that is larger.
    fn parts_of_born(
        &self,
        row: &mut ComparisonRow,
        build: &FortranBuild,
        points: &[Point],
        fortran: &[Answer],
    ) -> std::result::Result<bool, String> {
        let card = self.options.card.as_deref();
        let mine = born::parts(&build.tree, self.directory, card, points);
        let mine = mine.map_err(|error| error.to_string())?;
        let mut largest = 0.0;
        for (mine, fortran) in mine.iter().zip(fortran) {
            if mine.len() != fortran.parts.len() {
                return Err("the Born has other links than the Fortran calls".into());
            }
            for (mine, expected) in mine.iter().zip(&fortran.parts) {
                let Some(mine) = mine else { continue };
                let size = expected.abs().max(fortran.value.abs());
                largest = worse(largest, difference(mine - expected + size, size));
            }
        }
        let parts = mine.first().map_or(0, Vec::len);
        row.note = format!("{parts} links, AMP2 and parts of complex Borns to {largest:.1e}");
        row.worst = row.worst.map(|x| worse(x, largest));
        Ok(largest <= self.options.tolerance)
    }

    /// Compares channels, and the choices in them.
    fn channels(
        &self,
        row: &mut ComparisonRow,
        process: &Process,
        call: &FortranCall,
        points: &[Point],
    ) -> std::result::Result<bool, String> {
        let points = &points[..points.len().min(CHANNEL_POINTS)];
        let mut agrees = true;
        for channel in evenly_spread(&channels(process), CHANNELS) {
            let call = FortranCall {
                channel: Some(channel),
                ..*call
            };
            let fortran = call.evaluate(points)?;
            let mine = self.library(process, points, Some(channel))?;
            let kept = self.beyond_rounding(process, points, &mine, &fortran, &call)?;
            let fortran: Vec<Answer> = kept.iter().map(|&i| fortran[i].clone()).collect();
            let mine: Vec<library::Answer> = kept.iter().map(|&i| mine[i]).collect();
            let compared = |i: &usize| call.build.colors && fortran[*i].color != 0;
            let colors = (0..kept.len())
                .filter(compared)
                .filter(|&i| fortran[i].color != mine[i].color)
                .count();
            let found = ChannelRow {
                channel: channel.diagram,
                worst: worst(&mine, &fortran).0,
                other_helicities: helicity_differences(process, &mine, &fortran),
                other_colors: colors,
            };
            agrees &= found.worst <= self.options.tolerance
                && found.other_helicities == 0
                && found.other_colors == 0;
            row.channels.push(found);
        }
        Ok(agrees)
    }
}

/// How the Fortran is called.
#[derive(Clone, Copy)]
struct FortranCall<'a> {
    build: &'a FortranBuild,
    program: &'a Path,
    channel: Option<Channel>,
    limit: Duration,
}

impl FortranCall<'_> {
    /// Returns the Fortran's answers at these events.
    fn evaluate(&self, points: &[Point]) -> std::result::Result<Vec<Answer>, String> {
        (self.build).evaluate(self.program, points, self.channel, self.limit)
    }

    /// Returns by how much the Fortran's values at these events change at most if rounding changes the momenta.
    fn changes(&self, points: &[Point], values: &[f64]) -> std::result::Result<Vec<f64>, String> {
        let mut changes = vec![0.0f64; points.len()];
        if points.is_empty() {
            return Ok(changes);
        }
        for way in 0..WAYS {
            let answers = self.evaluate(&moved(points, MOVED, way))?;
            for ((change, answer), value) in changes.iter_mut().zip(&answers).zip(values) {
                *change = change.max((answer.value - value).abs());
            }
        }
        Ok(changes)
    }
}

/// Returns the channels of a process, each diagram once.
pub fn channels(process: &Process) -> Vec<Channel> {
    let mut found: Vec<Channel> = Vec::new();
    for (config, &diagram) in (1..).zip(&process.channels.config_diagram) {
        let squared = process.channels.amp2.iter().any(|a| a.diagram == diagram);
        if diagram != 0 && squared && !found.iter().any(|c| c.diagram == diagram) {
            found.push(Channel { diagram, config });
        }
    }
    found
}

/// Returns at most `at_most` items of a list, spread evenly.
pub fn evenly_spread<T: Copy>(all: &[T], at_most: usize) -> Vec<T> {
    let count = all.len().min(at_most);
    (0..count).map(|i| all[i * all.len() / count]).collect()
}

/// Returns by how much HELAS amplifies rounding errors at an event: its spinors compute E + pz near -z, and its
/// propagators the square of a sum of momenta of nearly collinear legs; 0 if that is small.
fn lost_digits(point: &Point) -> f64 {
    let legs = point.momenta.as_chunks::<4>().0;
    let share = |x: f64, of: f64| if x > 0.0 { of / x } else { 1.0 };
    let product = |p: &[f64; 4], q: &[f64; 4]| {
        let across = [(1, 2), (2, 3), (3, 1)].map(|(i, j)| p[i] * q[j] - p[j] * q[i]);
        let energies = p[0] * q[0];
        let square: f64 = across.iter().map(|x| x * x).sum();
        share(square / (2.0 * energies), energies)
    };
    let axis = [1.0, 0.0, 0.0, -1.0];
    let near = |(i, p): (usize, &[f64; 4])| {
        let along = |q: &&[f64; 4]| (1..4).map(|k| p[k] * q[k]).sum::<f64>() > 0.0;
        let others = legs[..i].iter().chain([&axis]).filter(along);
        others.map(|q| product(p, q)).fold(1.0, f64::max)
    };
    let factor = legs.iter().enumerate().map(near).fold(1.0, f64::max);
    if factor > LOSES { LOST * factor } else { 0.0 }
}

/// Returns the relative difference between a value and the expected one.
pub fn difference(value: f64, expected: f64) -> f64 {
    if value == expected {
        return 0.0;
    }
    let relative = ((value - expected) / expected).abs();
    if relative.is_nan() {
        f64::INFINITY
    } else {
        relative
    }
}

fn worse(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Returns the largest difference, and its event.
fn worst(mine: &[library::Answer], fortran: &[Answer]) -> (f64, usize) {
    let differences = mine
        .iter()
        .zip(fortran)
        .map(|(a, b)| difference(a.value, b.value));
    differences.enumerate().fold(
        (0.0, 0),
        |(worst, at), (i, x)| {
            if x > worst { (x, i) } else { (worst, at) }
        },
    )
}

/// Returns the number of events with another helicity.
pub fn helicity_differences(
    process: &Process,
    mine: &[library::Answer],
    fortran: &[Answer],
) -> usize {
    let differs = |(mine, fortran): &(&library::Answer, &Answer)| {
        if fortran.helicity != 0 {
            return mine.helicity != fortran.helicity;
        }
        let row = (mine.helicity as usize).checked_sub(1);
        let row = row.and_then(|row| process.helicities.get(row));
        !fortran.helicities.is_empty()
            && fortran.helicities.iter().any(|h| *h != 0)
            && row.is_none_or(|row| !fortran.helicities.starts_with(row))
    };
    mine.iter().zip(fortran).filter(differs).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_spread_evenly() {
        assert_eq!(evenly_spread(&[1, 2, 3], 8), [1, 2, 3]);
        assert_eq!(evenly_spread(&[1, 2, 3, 4, 5, 6], 3), [1, 3, 5]);
        assert!(evenly_spread::<i32>(&[], 3).is_empty());
    }

    #[test]
    fn nan_is_never_equal() {
        assert_eq!(difference(0.0, 0.0), 0.0);
        assert_eq!(difference(f64::NAN, 1.0), f64::INFINITY);
        assert_eq!(difference(1.0, 0.0), f64::INFINITY);
        assert_eq!(difference(1.5, 1.0), 0.5);
    }
}
