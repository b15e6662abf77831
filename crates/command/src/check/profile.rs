//! `--profile`: the breakdown of a call's time, and the resources of a GPU's kernels.

use super::text::{WIDTH, row};
use crate::number::scientific;
use mebridge::Result;
use mebridge::backend::{COLOR, Kernel, Timers};
use mebridge::bridge::Bridge;
use mebridge::gpu::driver::Properties;
use mebridge::runtime::Precision;
use mebridge::target::Target;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// A measured call.
pub struct Profile {
    events: usize,
    /// Elapsed time.
    seconds: f64,
    /// Number of threads or GPUs that worked.
    workers: usize,
    /// Names and seconds, summed over all workers.
    phases: Vec<(&'static str, f64)>,
    gpu: Option<Gpu>,
}

/// Properties of a GPU.
struct Gpu {
    properties: Properties,
    kernels: Vec<Kernel>,
    /// Seconds in which kernels ran, summed over all GPUs.
    running: f64,
    /// Per event.
    flops: f64,
    bytes: f64,
    /// Floating-point operations per second.
    peak: f64,
}

impl Profile {
    /// Makes a profile from the measurements of a bridge in one call.
    pub fn new(
        bridge: &Bridge,
        timers: &Timers,
        channels: bool,
        precision: Precision,
        events: usize,
        elapsed: Duration,
    ) -> Result<Profile> {
        let workers = match bridge.target() {
            Target::Cpu(cores) => cores.threads,
            Target::Gpu(gpus) => gpus.count(),
        };
        let gpu = match bridge.target() {
            Target::Cpu(_) => None,
            Target::Gpu(gpus) => {
                let kernels = bridge.kernels(channels)?;
                let properties = gpus.properties().clone();
                Some(Gpu {
                    peak: properties.peak(precision != Precision::Float),
                    properties,
                    kernels: kernels.each,
                    running: timers.kernels().min(elapsed * workers as u32).as_secs_f64(),
                    flops: 2.0 * bridge.multiply_adds(channels).unwrap_or(0) as f64,
                    bytes: kernels.bytes as f64,
                })
            }
        };
        Ok(Profile {
            events,
            seconds: elapsed.as_secs_f64(),
            workers,
            phases: phases(timers, elapsed * workers as u32),
            gpu,
        })
    }

    /// Returns the share of the time in colour sums; `None` on a GPU, which does them in one kernel with amplitudes,
    /// and whose calls include copies.
    pub fn color_share(&self) -> Option<f64> {
        if self.gpu.is_some() {
            return None;
        }
        let color = self.phases.iter().find(|(name, _)| *name == COLOR)?;
        Some((color.1 / (self.seconds * self.workers as f64)).min(1.0))
    }

    fn sum(&self) -> f64 {
        self.phases.iter().map(|(_, seconds)| seconds).sum()
    }

    /// Writes the profile as text.
    pub fn write(&self, f: &mut String) -> std::fmt::Result {
        let workers = match (&self.gpu, self.workers) {
            (None, 1) => "1 thread".into(),
            (None, n) => format!("{n} threads"),
            (Some(_), 1) => "1 GPU".into(),
            (Some(_), n) => format!("{n} GPUs"),
        };
        let time = scientific(self.seconds);
        let call = format!("one call of {} events, {time} sec, {workers}", self.events);
        row(f, "Profile", call)?;
        let sum = self.sum();
        for (name, seconds) in &self.phases {
            let share = 100.0 * seconds / sum;
            writeln!(
                f,
                "  {name:<32} {:>13} sec {share:6.1} %",
                scientific(*seconds)
            )?;
        }
        if let Some(gpu) = &self.gpu {
            gpu.write(f, self.events, self.workers)?;
        }
        writeln!(f, "{}", "*".repeat(WIDTH))
    }

    /// Returns the profile as JSON.
    pub fn json(&self) -> Value {
        let sum = self.sum();
        let phase = |&(name, seconds): &(&str, f64)| json!({ "phase": name, "seconds": seconds, "share": seconds / sum });
        json!({
            "events": self.events,
            "seconds": self.seconds,
            "workers": self.workers,
            "phases": self.phases.iter().map(phase).collect::<Vec<_>>(),
            "gpu": self.gpu.as_ref().map(|gpu| gpu.json(self.events, self.workers)),
        })
    }
}

/// Returns the phases, and the remaining time of all workers. Copies and kernels of different chunks of events run at
/// the same time, so nothing may remain.
fn phases(timers: &Timers, all: Duration) -> Vec<(&'static str, f64)> {
    let known: Duration = timers.0.iter().map(|(_, time)| *time).sum();
    let rest = ("everything else", all.saturating_sub(known));
    let phases = timers.0.iter().chain([&rest]);
    phases
        .map(|(name, time)| (*name, time.as_secs_f64()))
        .collect()
}

impl Gpu {
    /// Returns operations and bytes per second while kernels ran, on one GPU.
    fn rates(&self, events: usize, gpus: usize) -> [f64; 2] {
        // The time is summed over all GPUs.
        let events = events as f64 / gpus as f64 / (self.running / gpus as f64);
        [self.flops * events, self.bytes * events]
    }

    fn occupancy(&self, kernel: &Kernel) -> f64 {
        f64::from(kernel.blocks * kernel.threads)
            / f64::from(self.properties.threads_per_processor())
    }

    fn write(&self, f: &mut String, events: usize, gpus: usize) -> std::fmt::Result {
        let [flops, bytes] = self.rates(events, gpus);
        let shares =
            [flops / self.peak, bytes / self.properties.bandwidth].map(|share| 100.0 * share);
        row(
            f,
            "Kernels",
            format!(
                "{} flop/s, {:.2} % of the GPU's peak of {}",
                scientific(flops),
                shares[0],
                scientific(self.peak)
            ),
        )?;
        row(
            f,
            "Memory of the GPU",
            format!(
                "at least {} byte/s, {:.2} % of its peak of {}",
                scientific(bytes),
                shares[1],
                scientific(self.properties.bandwidth)
            ),
        )?;
        writeln!(
            f,
            "  {:<24} {:>8} {:>7} {:>9} {:>6} {:>7} {:>9}",
            "kernel", "launches", "threads", "registers", "local", "shared", "occupancy"
        )?;
        for kernel in &self.kernels {
            let Kernel {
                name,
                launches,
                threads,
                registers,
                local,
                shared,
                ..
            } = kernel;
            let occupancy = 100.0 * self.occupancy(kernel);
            writeln!(
                f,
                "  {name:<24} {launches:>8} {threads:>7} {registers:>9} {local:>6} {shared:>7} {occupancy:>7.1} %"
            )?;
        }
        Ok(())
    }

    fn json(&self, events: usize, gpus: usize) -> Value {
        let [flops, bytes] = self.rates(events, gpus);
        let kernel = |kernel: &Kernel| {
            let mut value = json!(kernel);
            value["occupancy"] = self.occupancy(kernel).into();
            value
        };
        json!({
            "name": self.properties.name,
            "kernels": self.kernels.iter().map(kernel).collect::<Vec<_>>(),
            "kernel_seconds": self.running,
            "flops_per_event": self.flops,
            "flops_per_second": flops,
            "peak_flops_per_second": self.peak,
            "bytes_per_event": self.bytes,
            "bytes_per_second": bytes,
            "peak_bytes_per_second": self.properties.bandwidth,
        })
    }
}
