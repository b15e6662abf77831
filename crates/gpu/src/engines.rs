//! The GPUs of a bridge, and a plan that runs on all of them.

use super::cuda::{self, Cuda, Platform};
use super::driver::{Driver, Properties};
use super::engine::{self, Engine, Options, Phase};
use super::module_cache::ModuleCache;
use mebridge_backend::inputs::{Inputs, Outputs};
use mebridge_backend::sample::DeviceSample;
use mebridge_backend::{
    AllowedMomenta, Backend, BadMomentum, Clocks, Contributions, DeviceSession, Failure, Kernels,
    Timers,
};
use mebridge_cache::Cache;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::color_ordered::Machine;
use mebridge_plan::{Plan, ValidPlan};
use mebridge_process::Process;
use mebridge_support::error::Result;
use mebridge_support::runtime::{Precision, Switches, environment};
use mebridge_support::sync::lock;
use mebridge_support::threads::{self, KeptThreads};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Returns the platform of GPUs that might be used, NVIDIA first. The check is cheap.
pub fn likely_platform() -> Option<Platform> {
    let there = |platform: &Platform| {
        (*platform == Platform::Cuda || cuda::amd_might_be_there())
            && cuda::devices(*platform).is_ok_and(|count| count > 0)
    };
    [Platform::Cuda, Platform::Hip].into_iter().find(there)
}

/// The GPUs of a bridge.
#[derive(Clone)]
pub struct Gpus {
    libraries: Vec<Arc<ModuleCache>>,
    options: Options,
}

impl Gpus {
    /// Opens the GPUs of a platform that the switches select.
    pub fn open(platform: Platform, switches: &Switches, cache: Cache) -> Result<Gpus> {
        let count = cuda::devices(platform)?;
        let variable = |name: &str| environment::variable(name)?.into_string().ok();
        let ordinals = super::choose::choose(&switches.device, variable, count)?;
        let drivers = ordinals
            .into_iter()
            .map(|ordinal| Cuda::open(platform, ordinal));
        let drivers = drivers.collect::<Result<Vec<Arc<dyn Driver>>>>()?;
        Gpus::new(drivers, switches, cache)
    }

    /// Combines the given GPUs.
    pub fn new(drivers: Vec<Arc<dyn Driver>>, switches: &Switches, cache: Cache) -> Result<Gpus> {
        let libraries = drivers
            .into_iter()
            .map(|driver| Ok(Arc::new(ModuleCache::new(driver, cache.clone())?)));
        let defaults = Options::default();
        Ok(Gpus {
            libraries: libraries.collect::<Result<_>>()?,
            options: Options {
                memory: switches.gpu_memory.unwrap_or(defaults.memory),
                blas: switches.blas_color_sum,
                tf32: switches.tf32.unwrap_or(false),
                graphs: switches.gpu_graphs,
                most_generated: match switches.gpu_group {
                    Some(0) => 0,
                    _ => defaults.most_generated,
                },
                group: switches.gpu_group.unwrap_or(0),
                functions: switches.gpu_functions.unwrap_or(defaults.functions),
                whole: defaults.whole,
                tune: switches.gpu_tune.unwrap_or(defaults.tune),
                stage: defaults.stage,
                samples_wait: defaults.samples_wait,
            },
        })
    }

    /// Uses code for one helicity even if there is code for the whole process.
    pub fn by_helicities(mut self) -> Gpus {
        self.options.most_generated = 1;
        self.options.whole = 0;
        self
    }

    /// Uses code for subsets of the helicities even if one thread could compute all.
    pub fn by_subsets(mut self) -> Gpus {
        self.options.most_generated = 1500;
        self.options.whole = 0;
        self
    }

    /// Limits the JAMP in shared memory, so that colour sums need several stages.
    pub fn by_stages(mut self) -> Gpus {
        self.options.stage = 1;
        self
    }

    /// Evaluates samples with tables at first, and with generated code once it is ready.
    pub fn with_tables_first(mut self) -> Gpus {
        self.options.samples_wait = false;
        self
    }

    /// Returns their names.
    pub fn name(&self) -> String {
        let name = |library: &Arc<ModuleCache>| library.driver().properties().name.clone();
        match &self.libraries[..] {
            [one] => name(one),
            all => format!(
                "{} x {}",
                all.len(),
                all.first().map(name).unwrap_or_default()
            ),
        }
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.libraries.len()
    }

    /// Returns each GPU, with its module cache.
    pub fn each(&self) -> impl Iterator<Item = (Gpus, &Arc<ModuleCache>)> {
        let alone = |library: &Arc<ModuleCache>| Gpus {
            libraries: vec![library.clone()],
            options: self.options,
        };
        (self.libraries.iter()).map(move |library| (alone(library), library))
    }

    /// Returns the properties of the first GPU.
    pub fn properties(&self) -> &Properties {
        self.libraries[0].driver().properties()
    }

    /// Returns a plan that all of them can run, from those that `make` creates for a machine.
    pub fn fitted(
        &self,
        precision: Precision,
        make: impl FnMut(Machine) -> Result<ValidPlan>,
    ) -> Result<ValidPlan> {
        let mut least = usize::MAX;
        for library in &self.libraries {
            let (free, _) = library.driver().memory()?;
            least = least.min(free);
        }
        let double = precision != Precision::Float;
        engine::fitted(least, self.options.memory, double, make)
    }

    /// Loads a plan of the process on all of them. Channels of events must be checked before it runs.
    pub fn engines(
        &self,
        process: &Process,
        color: &BlockDiagonal,
        binding: &Binding,
        plan: ValidPlan,
        precision: Precision,
    ) -> Result<Engines> {
        let engine = |library| {
            let plan = plan.clone();
            let engine = Engine::new(
                library,
                process,
                color,
                binding,
                plan,
                precision,
                self.options,
            )?;
            Ok(Arc::new(Mutex::new(engine)))
        };
        let engines: Vec<_> = self.libraries.iter().map(engine).collect::<Result<_>>()?;
        let plan = Arc::clone(lock(&engines[0]).plan());
        Ok(Engines {
            _kept: threads::keep(engines.len() - 1),
            engines,
            plan,
        })
    }
}

/// A plan on one or more GPUs, which share the events of a call.
pub struct Engines {
    /// One engine per GPU, also used by sessions for samples, if any. The next call cleans up what a panic left behind.
    engines: Vec<Arc<Mutex<Engine>>>,
    plan: Arc<ValidPlan>,
    /// One for each GPU but the first.
    _kept: KeptThreads,
}

/// Evaluates samples on the first GPU.
struct Samples(Arc<Mutex<Engine>>);

impl DeviceSession for Samples {
    unsafe fn run(&self, sample: &DeviceSample) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { lock(&self.0).run_sample(sample) }
    }

    fn wait(&self) -> Result<()> {
        lock(&self.0).wait_for_samples()
    }
}

impl Backend for Engines {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn set_profile(&mut self, clocks: Clocks) {
        for engine in &self.engines {
            lock(engine).set_profile(clocks);
        }
    }

    fn timers(&self) -> Timers {
        let mut timers = Timers::default();
        for phase in Phase::ALL {
            for engine in &self.engines {
                timers.add(
                    phase.name(),
                    Duration::from_secs_f64(lock(engine).seconds(phase)),
                );
            }
        }
        timers
    }

    fn kernels(&self, channels: bool) -> Result<Kernels> {
        lock(&self.engines[0]).kernels(channels)
    }

    fn may_be_invalid(&self) -> bool {
        self.engines.iter().any(|engine| lock(engine).is_lost())
    }

    fn run(&mut self, inputs: Inputs, outputs: Outputs) -> Result<(), Failure> {
        let nevt = inputs.points.count();
        outputs.check(nevt)?;
        if let [engine] = &self.engines[..] {
            return Ok(lock(engine).run(inputs, outputs)??);
        }
        let size = nevt.div_ceil(self.engines.len()).next_multiple_of(32);
        let (mut parts, mut rest) = (Vec::new(), outputs);
        for (engine, first) in self.engines.iter().zip((0..nevt).step_by(size)) {
            let (outputs, others) = rest.split(size.min(nevt - first));
            parts.push((engine, first, outputs));
            rest = others;
        }
        let (parts, results) = (Mutex::new(parts.into_iter()), Mutex::new(BTreeMap::new()));
        let next = || lock(&parts).next();
        threads::run(self.engines.len() - 1, &|_| {
            while let Some((engine, first, outputs)) = next() {
                let inputs = inputs.part(first, outputs.helicity.len());
                let bad = |bad: BadMomentum| BadMomentum {
                    event: bad.event + first,
                };
                let result = lock(engine).run(inputs, outputs);
                lock(&results).insert(first, result.map(|found| found.map_err(bad)));
            }
        });
        for result in std::mem::take(&mut *lock(&results)).into_values() {
            result??;
        }
        Ok(())
    }

    fn allow(&mut self, momenta: AllowedMomenta) -> bool {
        for engine in &self.engines {
            lock(engine).set_crossed(momenta == AllowedMomenta::Crossed);
        }
        momenta != AllowedMomenta::OffShell
    }

    fn wait_for_compiler(&mut self) {
        for engine in &self.engines {
            lock(engine).wait_for_compiler();
        }
    }

    fn contributions(&mut self, inputs: Inputs) -> Result<Vec<Contributions>, Failure> {
        Ok(lock(&self.engines[0]).contributions_of(inputs)??)
    }

    fn device_session(&self) -> Result<Arc<dyn DeviceSession>> {
        let engine = &self.engines[0];
        lock(engine).prepare_samples()?;
        Ok(Arc::new(Samples(engine.clone())))
    }
}
