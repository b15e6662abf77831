//! An engine that weighs points until another one is ready.

use super::blocks::Block;
use super::events::Event;
use super::integrand::{Failure, Integrand};
use super::weigh::{DrawnEvents, TrainingData, Weigh};

/// Number of blocks for each thread of the first engine after which it is seen whether the next one is ready: some
/// milliseconds.
const BLOCKS_PER_THREAD: usize = 16;

/// An engine that is not ready yet.
pub trait PendingEngine<B> {
    /// Returns the engine, once it is ready.
    fn ready(&mut self) -> Option<Result<B, Failure>>;

    /// Waits for the engine.
    ///
    /// # Errors
    /// It cannot be made.
    fn wait(&mut self) -> Result<B, Failure>;
}

/// Two engines, of which the first one weighs points until the second one is ready. Both weigh the same points.
pub struct Handover<A, B> {
    first: A,
    next: Next<B>,
    /// Whether the second one knows the integrand.
    is_set: bool,
}

enum Next<B> {
    Pending(Box<dyn PendingEngine<B> + Send>),
    Ready(Box<B>),
}

/// The engine that works.
#[derive(Debug, PartialEq, Eq)]
pub enum WorkingEngine<'a, A, B> {
    /// The first one.
    First(&'a mut A),
    /// The second one.
    Next(&'a mut B),
}

impl<A: Weigh, B: Weigh> Handover<A, B> {
    /// The first engine works until the second one is ready.
    pub fn new(first: A, next: impl PendingEngine<B> + Send + 'static) -> Handover<A, B> {
        Handover {
            first,
            next: Next::Pending(Box::new(next)),
            is_set: false,
        }
    }

    /// Returns the engine that works from now on.
    ///
    /// # Errors
    /// The second engine cannot be made.
    pub fn working(&mut self) -> Result<WorkingEngine<'_, A, B>, Failure> {
        if let Next::Pending(pending) = &mut self.next
            && let Some(ready) = pending.ready()
        {
            self.next = Next::Ready(Box::new(ready?));
        }
        Ok(match &mut self.next {
            Next::Pending(_) => WorkingEngine::First(&mut self.first),
            Next::Ready(next) => WorkingEngine::Next(next),
        })
    }

    /// Waits for the second engine.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn wait(&mut self) -> Result<(), Failure> {
        if let Next::Pending(pending) = &mut self.next {
            self.next = Next::Ready(Box::new(pending.wait()?));
        }
        Ok(())
    }

    /// Returns the engine that works from now on, which knows the integrand, and the number of blocks that it weighs
    /// until this is called again.
    fn weigher(&mut self, integrand: &Integrand) -> Result<(&mut dyn Weigh, usize), Failure> {
        let is_set = self.is_set;
        self.is_set = matches!(self.working()?, WorkingEngine::Next(_));
        match &mut self.next {
            Next::Pending(_) => {
                let blocks = BLOCKS_PER_THREAD * self.first.threads();
                Ok((&mut self.first, blocks))
            }
            Next::Ready(next) => {
                if !is_set {
                    next.set(integrand)?;
                }
                Ok((&mut **next, usize::MAX))
            }
        }
    }

    /// Lets the engine of each moment weigh the next blocks.
    fn each<'a>(
        &mut self,
        integrand: &Integrand,
        mut blocks: &'a [Block<'a>],
        mut weigh: impl FnMut(&mut dyn Weigh, &'a [Block<'a>]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while !blocks.is_empty() {
            let (weigher, most) = self.weigher(integrand)?;
            let (next, later) = blocks.split_at(most.min(blocks.len()));
            weigh(weigher, next)?;
            blocks = later;
        }
        Ok(())
    }
}

impl<A: Weigh, B: Weigh> Weigh for Handover<A, B> {
    fn threads(&self) -> usize {
        self.first.threads()
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        match &self.next {
            Next::Pending(_) => self.first.seconds(),
            Next::Ready(next) => next.seconds(),
        }
    }

    fn set(&mut self, integrand: &Integrand) -> Result<(), Failure> {
        self.first.set(integrand)?;
        self.is_set = false;
        self.weigher(integrand).map(drop)
    }

    fn learn(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        trial: bool,
        take: &mut dyn FnMut(usize, &TrainingData),
    ) -> Result<(), Failure> {
        self.each(integrand, blocks, |weigher, blocks| {
            weigher.learn(integrand, blocks, trial, take)
        })
    }

    fn draw(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        thresholds: &[f64],
        take: &mut dyn FnMut(DrawnEvents),
    ) -> Result<(), Failure> {
        self.each(integrand, blocks, |weigher, blocks| {
            weigher.draw(integrand, blocks, thresholds, take)
        })
    }

    fn approximates(&self) -> bool {
        self.first.approximates()
    }

    fn correct(&mut self, parts: &mut [Vec<Event>]) -> Result<(), Failure> {
        match self.working()? {
            WorkingEngine::First(first) => first.correct(parts),
            WorkingEngine::Next(next) => next.correct(parts),
        }
    }

    fn choose(&mut self, parts: &mut [Vec<Event>]) -> Result<(), Failure> {
        match self.working()? {
            WorkingEngine::First(first) => first.choose(parts),
            WorkingEngine::Next(next) => next.choose(parts),
        }
    }
}
