//! A result as text.

use super::record::{BenchRecord, Point, SequenceFunction};
use std::fmt::Write;

/// Formats the whole result, process by process.
pub fn text(record: &BenchRecord) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let out = &mut text;
    let _ = writeln!(out, "{}", record.name());
    let machine = &record.machine;
    let load = |load: Option<f64>| load.map_or("?".into(), |x| format!("{x:.2}"));
    let _ = writeln!(
        out,
        "{}, {} CPUs, load {} before and {} after",
        machine.cpu,
        machine.cpus,
        load(machine.load_before),
        load(machine.load_after)
    );
    let mut process = None;
    for point in &record.points {
        if process != Some(&point.process) {
            process = Some(&point.process);
            let _ = writeln!(out, "\n{}", point.process);
            let _ = writeln!(out, "{HEADER}");
        }
        line(out, point);
    }
    text.push('\n');
    text
}

const HEADER: &str = "\
fptype  simd  threads  door                nevt       ME/s        min        max  GFLOP/s";

fn line(out: &mut String, point: &Point) {
    let rate = &point.matrix_elements_per_second;
    let gflops = point.gflops.map_or("-".into(), |x| format!("{x:.1}"));
    let _ = writeln!(
        out,
        "{:<6}  {:<4}  {:>7}  {:<14}  {:>8}  {:>9}  {:>9}  {:>9}  {:>7}",
        point.precision,
        point.simd,
        point.threads,
        SequenceFunction::for_channels(point.channels).name(),
        point.nevt,
        short(rate.median),
        short(rate.min),
        short(rate.max),
        gflops
    );
}

/// Formats four significant digits.
fn short(x: f64) -> String {
    format!("{x:.3e}")
}
