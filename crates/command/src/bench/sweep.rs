//! Measures all points of one process, repetition by repetition.
//!
//! One repetition goes over all points of the process before the next begins, with the order reversed every other time,
//! so that slow changes on a machine (its clock, other work on it) affect all points equally. A repetition of a point
//! makes as many calls as fit into its share of the time. It is preceded by a call that is not measured, which loads
//! the plan's data into the caches, unless the repetition is only a few calls long.

use super::record::{BenchRecord, Point, SequenceFunction, Settings, Skipped, Spread};
use crate::interrupt;
use crate::progress::Progress;
use crate::random_events::{self, RandomEvents, RandomSource};
use crate::source::CardedProcess;
use mebridge::Result;
use mebridge::backend::Clocks;
use mebridge::bridge::Bridge;
use mebridge::events::Answers;
use mebridge::process::Process;
use mebridge::runtime::{Precision, Switches};
use mebridge::simd::Level;
use std::time::{Duration, Instant};

/// The seed of the events.
const SEED: u64 = 20_200_805;
/// Minimum number of repetitions of a point, if that many are requested.
const FEWEST: usize = 3;
/// Number of events of a bridge's first calls, in which it finds its good helicities.
const FEW: usize = 16;
/// Number of calls of a repetition from which on an unmeasured call precedes it.
const WARM_FROM: u64 = 4;

/// The points to measure, and the settings.
pub struct Sweep {
    pub nevt: Vec<usize>,
    pub levels: Vec<Level>,
    pub precisions: Vec<Precision>,
    pub doors: Vec<SequenceFunction>,
    pub threads: Vec<usize>,
    pub repetitions: usize,
    pub seconds: Duration,
    pub limit: Duration,
    pub energy: f64,
    pub g_s: f64,
    /// On a GPU, whether to measure only the time of its kernels.
    pub device_time: bool,
}

/// A bridge with its settings.
struct Setup {
    precision: Precision,
    /// The SIMD level, or `cuda` or `hip`.
    level: &'static str,
    threads: usize,
    bridge: Bridge,
}

impl Setup {
    /// Returns the name of a point.
    fn point(&self, process: &str, door: SequenceFunction, nevt: usize) -> String {
        format!(
            "{process}, {}, {}, {} threads, {}, nevt {nevt}",
            self.precision.name(),
            self.level,
            self.threads,
            door.name()
        )
    }
}

/// The work for a process.
struct Work {
    name: String,
    points: Vec<Running>,
    skipped: Vec<Skipped>,
}

/// A point while it is measured.
struct Running {
    setup: usize,
    door: SequenceFunction,
    nevt: usize,
    calls: u64,
    repetitions: usize,
    /// Seconds per call, for each repetition.
    times: Vec<f64>,
}

impl Sweep {
    /// Its description in a record.
    pub fn settings(&self) -> Settings {
        Settings {
            repetitions: self.repetitions,
            seconds: self.seconds.as_secs_f64(),
            limit: self.limit.as_secs_f64(),
            energy: self.energy,
            g_s: self.g_s,
        }
    }

    /// Measures a process.
    pub fn process(
        &self,
        name: &str,
        source: &CardedProcess,
        base: &Switches,
        record: &mut BenchRecord,
    ) -> Result<()> {
        let mut work = Work {
            name: name.to_owned(),
            points: Vec::new(),
            skipped: Vec::new(),
        };
        let channel = first_channel(&source.process);
        let mut doors = self.doors.clone();
        if channel.is_none() && doors.contains(&SequenceFunction::Sequence) {
            doors.retain(|&door| door != SequenceFunction::Sequence);
            work.skipped.push(Skipped {
                point: format!("{name}, {}", SequenceFunction::Sequence.name()),
                why: "the process has no channels".into(),
            });
        }
        let most = self.nevt.iter().copied().fold(FEW, usize::max);
        let space = random_events::phase_space(source, self.energy)?;
        let mut drawn =
            RandomEvents::new(space, RandomSource::Seed(SEED), most, self.g_s, channel)?;
        drawn.draw(0);
        drawn.make_momenta();
        let mut setups = self.setups(source, base, most)?;

        let combinations = setups.len() * doors.len();
        let progress = Progress::new(&format!("{name}: warm-up"), combinations as u64);
        for (i, setup) in setups.iter_mut().enumerate() {
            for &door in &doors {
                if interrupt::stop_requested() {
                    break;
                }
                self.warm_up((i, setup), door, &mut drawn, &mut work)?;
                progress.step();
            }
        }
        drop(progress);

        let points = &mut work.points;
        let steps = points.len() * self.repetitions;
        let progress = Progress::new(&format!("{name}: points"), steps as u64);
        for repetition in 0..self.repetitions {
            let mut order: Vec<usize> = (0..points.len()).collect();
            if repetition % 2 == 1 {
                order.reverse();
            }
            for i in order {
                if interrupt::stop_requested() {
                    break;
                }
                let point = &mut points[i];
                if repetition < point.repetitions {
                    point.repeat(&mut setups[point.setup].bridge, &mut drawn)?;
                }
                progress.step();
            }
        }
        drop(progress);
        let done = points
            .iter()
            .filter(|point| !point.times.is_empty())
            .map(|point| point.result(name, &setups));
        record.points.extend(done);
        let missing = points.iter().filter(|point| point.times.is_empty());
        let missing = missing.map(|point| Skipped {
            point: point.name(name, &setups),
            why: "the measurement was interrupted".into(),
        });
        record.skipped.extend(missing);
        record.skipped.extend(work.skipped);
        Ok(())
    }

    /// Makes a bridge for each precision, level and number of threads.
    fn setups(&self, source: &CardedProcess, base: &Switches, nevt: usize) -> Result<Vec<Setup>> {
        let mut setups = Vec::new();
        for &precision in &self.precisions {
            'levels: for &level in &self.levels {
                for &threads in &self.threads {
                    let switches = Switches {
                        precision,
                        simd: Some(level.name().into()),
                        threads,
                        ..base.clone()
                    };
                    let process = source.process.clone();
                    let mut bridge = Bridge::new(process, &source.card, &switches, nevt)?;
                    let gpu = bridge.level().is_none();
                    if self.device_time && gpu {
                        bridge.set_profile(Clocks::Phases);
                    }
                    setups.push(Setup {
                        precision,
                        level: bridge
                            .level()
                            .map_or_else(|| bridge.target().platform_name(), Level::name),
                        threads,
                        bridge,
                    });
                    if gpu {
                        // A GPU has no levels, and does not use threads.
                        break 'levels;
                    }
                }
            }
        }
        Ok(setups)
    }

    /// Makes the plans of a bridge, and times its calls: from few events to many, so that a call that would take too
    /// long is not made.
    fn warm_up(
        &self,
        (index, setup): (usize, &mut Setup),
        door: SequenceFunction,
        drawn: &mut RandomEvents,
        work: &mut Work,
    ) -> Result<()> {
        let few = FEW.min(drawn.nevt());
        call(&mut setup.bridge, drawn, door, few)?;
        setup.bridge.wait_for_compiler();
        let mut probed = few;
        let mut per_event = call(&mut setup.bridge, drawn, door, few)? / few as f64;
        for &nevt in &self.nevt {
            if interrupt::stop_requested() {
                break;
            }
            let seconds =
                |per_event: f64, nevt: usize| self.fewest() as f64 * per_event * nevt as f64;
            let limit = self.limit.as_secs_f64();
            // The fixed cost of a call makes small numbers of events look slow.
            while seconds(per_event, nevt) > limit && probed < nevt {
                let more = (8 * probed).min(nevt);
                if seconds(per_event, more) > limit {
                    break;
                }
                let time = call(&mut setup.bridge, drawn, door, more)?;
                (probed, per_event) = (more, time / more as f64);
            }
            let needed = seconds(per_event, nevt);
            if needed > self.limit.as_secs_f64() {
                work.skipped.push(Skipped {
                    point: setup.point(&work.name, door, nevt),
                    why: format!("it would take {needed:.2} s, more than --limit"),
                });
                continue;
            }
            let mut time = call(&mut setup.bridge, drawn, door, nevt)?;
            if time < 0.1 * self.seconds.as_secs_f64() {
                time = time.min(call(&mut setup.bridge, drawn, door, nevt)?);
            }
            per_event = time / nevt as f64;
            let fitting = self.seconds.as_secs_f64() / time.max(1e-9);
            let repetitions = (fitting as usize).clamp(self.fewest(), self.repetitions);
            work.points.push(Running {
                setup: index,
                door,
                nevt,
                calls: ((fitting / repetitions as f64) as u64).max(1),
                repetitions,
                times: Vec::with_capacity(repetitions),
            });
        }
        Ok(())
    }

    /// Returns the minimum number of repetitions.
    fn fewest(&self) -> usize {
        FEWEST.min(self.repetitions)
    }
}

impl Running {
    /// Performs one repetition.
    fn repeat(&mut self, bridge: &mut Bridge, drawn: &mut RandomEvents) -> Result<()> {
        if self.calls >= WARM_FROM {
            call(bridge, drawn, self.door, self.nevt)?;
        }
        let mut time = 0.0;
        for _ in 0..self.calls {
            time += call(bridge, drawn, self.door, self.nevt)?;
        }
        // A coarse clock may measure 0, but time has passed.
        self.times.push(time.max(1e-9) / self.calls as f64);
        Ok(())
    }

    /// Returns the name of the point.
    fn name(&self, process: &str, setups: &[Setup]) -> String {
        setups[self.setup].point(process, self.door, self.nevt)
    }

    /// Returns the result of the point.
    fn result(&self, process: &str, setups: &[Setup]) -> Point {
        let setup = &setups[self.setup];
        let channels = self.door == SequenceFunction::Sequence;
        let plan = setup.bridge.serving(channels);
        let multiply_adds = setup.bridge.multiply_adds(channels).map(|n| n as u64);
        let rates = self.times.iter().map(|time| self.nevt as f64 / time);
        let rate = Spread::new(rates);
        Point {
            process: process.into(),
            precision: setup.precision.name().into(),
            simd: setup.level.into(),
            nevt: self.nevt as u64,
            threads: setup.threads as u64,
            channels,
            matrix_elements_per_second: rate,
            seconds_per_call: Spread::new(self.times.iter().copied()),
            repetitions: self.times.len(),
            calls: self.calls,
            good_helicities: setup.bridge.good_helicities(),
            plan: plan.map(|(plan, recursion)| match (plan.loops(), recursion) {
                (Some(_), _) => "colour-ordered".into(),
                (None, true) => "recursion".into(),
                (None, false) => "diagrams".into(),
            }),
            multiply_adds,
            gflops: multiply_adds.map(|n| 2e-9 * n as f64 * rate.median),
        }
    }
}

/// Makes one call with the first `nevt` events, and returns the seconds that it took, or if requested those of a GPU's
/// kernels.
fn call(
    bridge: &mut Bridge,
    drawn: &mut RandomEvents,
    door: SequenceFunction,
    nevt: usize,
) -> Result<f64> {
    let (events, answers) = drawn.call();
    let mut events = events.first(nevt);
    if door == SequenceFunction::NoMultichannel {
        events.channels = None;
    }
    let mut answers = Answers {
        matrix_elements: &mut answers.matrix_elements[..nevt],
        helicity: &mut answers.helicity[..nevt],
        color: &mut answers.color[..nevt],
    };
    let before = bridge.timers().kernels();
    let start = Instant::now();
    bridge.run(&events, &mut answers)?;
    let time = start.elapsed();
    let kernels = bridge.timers().kernels().saturating_sub(before);
    Ok(match kernels {
        Duration::ZERO => time,
        kernels => kernels,
    }
    .as_secs_f64())
}

/// Returns the first channel of a process.
fn first_channel(process: &Process) -> Option<i32> {
    let channels = &process.channels;
    let known = channels.amp2.iter().map(|amp2| amp2.diagram);
    let first = known.filter(|&d| channels.config_of(d).is_some()).min();
    first.map(|d| d as i32)
}
