//! Samples in GPU memory.

use super::Bridge;
use crate::backend::DeviceSession;
use crate::error::{Error, Result};
use crate::float_environment::in_default_environment;
use crate::sample::DeviceSample;
use std::sync::Arc;

pub use crate::gpu::cuda::Platform;
pub use crate::target::{current_gpu, platform};

/// Evaluates samples in GPU memory, for any number of threads. It remains usable after the bridge is dropped.
#[derive(Clone)]
pub struct DeviceSampler {
    with_diagrams: Arc<dyn DeviceSession>,
    /// A better plan for samples that request neither diagrams nor colours, if there is one.
    without: Option<Arc<dyn DeviceSession>>,
}

impl DeviceSampler {
    /// Queues all work on a sample in its stream, and returns.
    ///
    /// # Safety
    /// As for [`DeviceSession::run`].
    pub unsafe fn run(&self, sample: &DeviceSample) -> Result<()> {
        let session = match &self.without {
            Some(session) if !sample.diagrams() => session,
            _ => &self.with_diagrams,
        };
        // SAFETY: the caller's promise.
        in_default_environment(|| unsafe { session.run(sample) })
    }

    /// Waits until all work on samples so far is done.
    pub fn wait(&self) -> Result<()> {
        self.with_diagrams.wait()?;
        self.without
            .as_ref()
            .map_or(Ok(()), |session| session.wait())
    }
}

impl DeviceSession for DeviceSampler {
    unsafe fn run(&self, sample: &DeviceSample) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { DeviceSampler::run(self, sample) }
    }

    fn wait(&self) -> Result<()> {
        DeviceSampler::wait(self)
    }
}

impl Bridge {
    /// Returns the evaluator of samples in GPU memory. This finds good helicities, makes plans and compiles code.
    pub fn device_sampler(&mut self) -> Result<DeviceSampler> {
        let (with_diagrams, without) = self.servers.sessions(true, |backend| {
            in_default_environment(|| backend.device_session())
        })?;
        match with_diagrams {
            Some(with_diagrams) => Ok(DeviceSampler {
                with_diagrams,
                without,
            }),
            None => Err(Error::NoEvents),
        }
    }

    /// Waits until all work on samples in GPU memory is done.
    pub fn wait_for_device(&self) -> Result<()> {
        self.device_sampler
            .as_ref()
            .map_or(Ok(()), DeviceSampler::wait)
    }

    /// Evaluates a sample in GPU memory.
    ///
    /// # Safety
    /// As for [`DeviceSession::run`].
    pub unsafe fn evaluate_on_device(&mut self, sample: &DeviceSample) -> Result<()> {
        let sampler = match self.device_sampler.take() {
            Some(sampler) => sampler,
            None => self.device_sampler()?,
        };
        // SAFETY: the caller's promise.
        let done = unsafe { sampler.run(sample) };
        self.device_sampler = Some(sampler);
        done
    }
}
