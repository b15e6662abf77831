//! One event at a time, each helicity by itself.
//!
//! The lanes of the CPU's registers hold helicities ([`HelicityLanes`]); at a level without lanes one helicity comes
//! after the other.

use super::{Bridge, OneEvent};
use crate::backend::{Backend, EachHelicity};
use crate::color::BlockDiagonal;
use crate::cpu::{Engine, HelicityLanes, ThreadedEngine};
use crate::error::{Error, Result};
use crate::events::Events;
use crate::float_environment::in_default_environment;
use crate::plan::binding::Binding;
use crate::plan::{ValidPlan, compile};
use crate::process::Process;
use crate::runtime::Precision;
use crate::simd::{Level, Real};
use std::borrow::Cow;

/// What evaluates one event at a time, and its last answer.
pub(super) struct Single {
    backend: Box<dyn Backend>,
    /// For each helicity of the plan and lane the row of the helicity table.
    rows: Vec<Option<u32>>,
    /// AMP2: which diagram (from 0) has which of the plan's.
    amp2: Vec<(u32, u32)>,
    each: EachHelicity,
    momenta: Vec<f64>,
    g_s: f64,
    answer: OneEvent,
}

impl Bridge {
    /// Evaluates one event, each helicity by itself: the good ones, or with `all` also those whose contribution
    /// vanishes, and whose AMP2 and JAMP2 may not. As `MATRIX<i>` gives them: beams are not polarised here. What was
    /// asked last is remembered, so that asking again for the same event costs nothing. Always on the CPU: one event
    /// is nothing for a GPU.
    pub fn one_event(&mut self, momenta: &[f64], g_s: f64, all: bool) -> Result<&OneEvent> {
        let which = usize::from(all);
        let known = self.singles[which].as_ref();
        if !known.is_some_and(|single| single.g_s == g_s && single.momenta == momenta) {
            let event = Events {
                momenta,
                g_s: &[g_s],
                random_helicity: &[0.0],
                random_color: &[0.0],
                channels: None,
                igraph: None,
            };
            event.count(self.process.legs.len())?;
            in_default_environment(|| {
                if self.singles[which].is_none() {
                    self.singles[which] = Some(self.make_single(&event, all)?);
                }
                self.evaluate_single(event, which)
            })?;
        }
        let single = self.singles[which].as_ref();
        single.map(|single| &single.answer).ok_or(Error::NoEvents)
    }

    fn make_single(&mut self, event: &Events, all: bool) -> Result<Single> {
        self.find_good_helicities(event)?;
        let rows: Vec<u32> = match all {
            true => (0..self.process.helicities.len() as u32).collect(),
            false => self
                .plan()
                .map(|plan| plan.helicities.clone())
                .unwrap_or_default(),
        };
        // Whoever sums over helicities weights them, as SMATRIX<i> does.
        let mut process = Cow::Borrowed(&self.process);
        if !process.beam_weights.is_empty() {
            process.to_mut().beam_weights.clear();
        }
        let level = self.target.level().unwrap_or(Level::best());
        let lanes = match self.precision {
            Precision::Float => level.lanes::<f32>(),
            Precision::Double | Precision::Mixed => level.lanes::<f64>(),
        };
        let chosen = HelicityLanes::choose(&process, &rows, lanes);
        let (plan, level, places) = match &chosen {
            Some(chosen) => {
                let places = chosen.rows(&process, lanes);
                process = Cow::Owned(chosen.process(&process));
                let every: Vec<u32> = (0..process.helicities.len() as u32).collect();
                let plan = compile(&process, &self.binding, &every)?.validate(&process)?;
                (plan, level, places)
            }
            // In lanes of one and the same event all would do the same, and touch more memory.
            None => {
                let plan = self.diagrams(&rows)?;
                let places = plan.helicities.iter().map(|&row| Some(row)).collect();
                (plan, Level::None, places)
            }
        };
        let (process, color, binding) = (&*process, &self.color, &self.binding);
        let chosen = chosen.as_ref();
        let backend = match self.precision {
            Precision::Double => engine::<f64>(process, color, binding, plan, level, false, chosen),
            Precision::Mixed => engine::<f64>(process, color, binding, plan, level, true, chosen),
            Precision::Float => engine::<f32>(process, color, binding, plan, level, false, chosen),
        };
        let mut backend = backend?;
        if self.off_shell {
            backend.allow_off_shell();
        }
        let (table, diagrams) = (self.process.helicities.len(), process.diagrams as usize);
        let of_diagrams = (0..).zip(backend.plan().channels.amp2_of_diagram.iter().skip(1));
        Ok(Single {
            amp2: of_diagrams
                .filter_map(|(i, at)| Some((i, (*at)?)))
                .collect(),
            each: EachHelicity::default(),
            backend,
            rows: places,
            momenta: Vec::new(),
            g_s: 0.0,
            answer: OneEvent {
                contributions: vec![0.0; table],
                amp2: vec![0.0; table * diagrams],
                jamp2: vec![0.0; table * process.color_flows()],
            },
        })
    }

    fn evaluate_single(&mut self, event: Events, which: usize) -> Result<()> {
        let Some(single) = &mut self.singles[which] else {
            return Err(Error::NoEvents);
        };
        // Should it fail, the answer is nobody's.
        single.momenta.clear();
        match single.backend.each(event, &mut single.each) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Error::Internal {
                    what: "a plan that cannot tell helicities apart".into(),
                });
            }
            Err(failure) => return Err(self.failure(&event, failure)),
        }
        let diagrams = self.process.diagrams as usize;
        single.put(diagrams, self.process.color_flows());
        single.momenta.extend_from_slice(event.momenta);
        single.g_s = event.g_s[0];
        Ok(())
    }
}

impl Single {
    /// Puts an answer into the order of the helicity table. Rows that are not evaluated stay zero.
    fn put(&mut self, diagrams: usize, flows: usize) {
        let each = &self.each;
        let lanes = each.lanes;
        let width = self.backend.plan().channels.len();
        let answer = &mut self.answer;
        for (place, &h) in each.order.iter().enumerate() {
            let first = h as usize * lanes;
            for lane in 0..lanes {
                let Some(row) = self.rows[first + lane] else {
                    continue;
                };
                let row = row as usize;
                answer.contributions[row] = each.contributions[first + lane];
                let from = &each.amp2[place * width * lanes..][..width * lanes];
                let to = &mut answer.amp2[row * diagrams..][..diagrams];
                for &(diagram, at) in &self.amp2 {
                    to[diagram as usize] = from[at as usize * lanes + lane];
                }
                let from = &each.jamp2[place * flows * lanes..][..flows * lanes];
                let to = &mut answer.jamp2[row * flows..][..flows];
                for (to, from) in to.iter_mut().zip(from.chunks_exact(lanes)) {
                    *to = from[lane];
                }
            }
        }
    }
}

fn engine<T: Real>(
    process: &Process,
    color: &BlockDiagonal,
    binding: &Binding,
    plan: ValidPlan,
    level: Level,
    single_color: bool,
    lanes: Option<&HelicityLanes>,
) -> Result<Box<dyn Backend>> {
    let engine = Engine::<T>::new(process, color, binding, plan, level, single_color)?;
    let engine = match lanes {
        Some(lanes) => engine.with_helicity_lanes(lanes)?,
        None => engine,
    };
    Ok(Box::new(ThreadedEngine::new(engine, 1)?))
}
