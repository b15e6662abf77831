//! One event at a time, with each helicity separately.
//!
//! The lanes of the CPU's registers hold helicities ([`HelicityLanes`]); at a level without lanes the helicities are
//! evaluated one after the other. If it is less work, colour flows come from the recursion and AMP2 from separately
//! computed amplitudes of single diagrams.

use super::recursion::{COMPARED_EVENTS, agree, tolerance};
use super::servers::Servers;
use super::{Bridge, OneEvent};
use crate::backend::{AllowedMomenta, Backend, EachHelicity, Failure};
use crate::cpu::{Cores, HelicityLanes};
use crate::error::{Error, Result};
use crate::float_environment::in_default_environment;
use crate::inputs::{Inputs, Points};
use crate::plan::ValidPlan;
use crate::process::Process;
use crate::runtime::Precision;
use crate::sample::Momenta;
use crate::sample::first_not_finite;
use crate::simd::Level;
use crate::target::this_core;
use crate::trial::Trial;
use num_complex::Complex64;
use std::borrow::Cow;

/// What is wanted of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The good helicities.
    Good,
    /// All helicities.
    All,
    /// The good helicities and their JAMPs.
    Jamps,
}

impl Wanted {
    fn of(all: bool) -> Wanted {
        if all { Wanted::All } else { Wanted::Good }
    }
}

/// Evaluates one event at a time, and caches its last answer.
pub(super) struct Single {
    backend: Box<dyn Backend>,
    /// Row of the helicity table for each helicity and lane of the plan.
    rows: Vec<Option<u32>>,
    /// Maps the AMP2 of the plan to diagrams (from 0).
    amp2: Vec<IndexRange>,
    /// Number of colour flows.
    flows: usize,
    /// `[row of the helicity table][JAMP]`, if wanted.
    jamps: Vec<Complex64>,
    /// Where each row of the helicity table is evaluated; empty before the first event.
    places: Vec<Option<HelicityRow>>,
    each: EachHelicity,
    momenta: Vec<f64>,
    g_s: f64,
    /// Whether `answer` is that of the last event.
    answer_is_current: bool,
    answer: OneEvent,
}

impl Bridge {
    /// Evaluates one event, each helicity separately: the good ones, or with `all` also those whose contribution
    /// vanishes, but whose AMP2 and JAMP2 may not. The results are those of `MATRIX<i>`, without beam polarisation. The
    /// last event is cached, so evaluating it again costs nothing. Always runs on the CPU: one event is too little work
    /// for a GPU.
    pub fn one_event(&mut self, momenta: &[f64], g_s: f64, all: bool) -> Result<&OneEvent> {
        let process = self.servers.process();
        let (diagrams, flows) = (process.diagrams as usize, process.color_flows());
        let single = self.single(momenta, g_s, Wanted::of(all))?;
        single.fill_answer(diagrams, flows);
        Ok(&single.answer)
    }

    /// Evaluates one event, and returns the JAMPs of the process's diagrams, `[row of the helicity table][JAMP]`; zero
    /// for helicities that do not contribute. The last event is cached.
    ///
    /// # Errors
    /// The process has no diagrams, the momenta are not physical, or a JAMP is not finite.
    pub fn jamps(&mut self, momenta: &[f64], g_s: f64) -> Result<&[Complex64]> {
        if self.process().is_color_ordered() {
            return Err(Error::InvalidProcess {
                what:
                    "JAMPs of a process without diagrams; import or generate it with its diagrams"
                        .into(),
            });
        }
        let single = self.single(momenta, g_s, Wanted::Jamps)?;
        single.fill_jamps();
        Ok(&single.jamps)
    }

    /// Evaluates one event, and returns |M|^2, averaged. The last event is cached.
    ///
    /// # Errors
    /// The momenta are not physical, or |M|^2 is not finite.
    pub fn one_squared(&mut self, momenta: &[f64], g_s: f64) -> Result<f64> {
        let iden = f64::from(self.process().iden);
        let single = self.single(momenta, g_s, Wanted::Good)?;
        let places = single.places.iter().flatten();
        let terms = places.map(|place| single.each.contributions[place.contribution]);
        Ok(terms.sum::<f64>() / iden)
    }

    /// Returns the contribution of one row of the helicity table to that event, and adds its AMP2 and JAMP2. AMP2 is
    /// skipped if `amp2` is empty.
    pub fn add_row(
        &mut self,
        (momenta, g_s, all): (&[f64], f64, bool),
        row: usize,
        amp2: &mut [f64],
        jamp2: &mut [f64],
    ) -> Result<f64> {
        let single = self.single(momenta, g_s, Wanted::of(all))?;
        Ok(single.add(row, amp2, jamp2))
    }
}

impl Bridge {
    /// Returns the evaluator after it has evaluated this event, in double precision if a lower one did not suffice.
    fn single(&mut self, momenta: &[f64], g_s: f64, wanted: Wanted) -> Result<&mut Single> {
        let [single, in_double] = &mut self.singles[wanted as usize];
        let event = (momenta, g_s, wanted);
        if self.servers.recipe().may_lose() {
            let found = Single::after(single, &mut self.servers, event);
            if matches!(found, Err(Error::NotFinite { .. })) {
                let double = Servers::in_double(&mut self.in_double, self.servers.recipe())?;
                return Single::after(in_double, double, event);
            }
        }
        Single::after(single, &mut self.servers, event)
    }
}

impl Single {
    /// Returns the evaluator after it has evaluated this event.
    fn after<'a>(
        known: &'a mut Option<Single>,
        servers: &mut Servers,
        (momenta, g_s, wanted): (&[f64], f64, Wanted),
    ) -> Result<&'a mut Single> {
        let same = |single: &mut Single| single.g_s == g_s && single.momenta == momenta;
        if !known.as_mut().is_some_and(same) {
            let needs = 4 * servers.process().legs.len();
            if momenta.len() != needs {
                return Err(Error::ArrayLength {
                    what: "momenta",
                    has: momenta.len(),
                    needs,
                });
            }
            let event = Inputs::without_channels(Points {
                momenta: Momenta::rows(momenta, needs / 4),
                g_s: std::slice::from_ref(&g_s),
                random_helicity: &[0.0],
                random_color: &[0.0],
            });
            in_default_environment(|| {
                if known.is_none() {
                    *known = Some(servers.make_single(&event, wanted)?);
                }
                let single = known.as_mut().ok_or(Error::NoEvents)?;
                servers.evaluate_single(event, single)
            })?;
        }
        known.as_mut().ok_or(Error::NoEvents)
    }
}

impl Servers {
    fn make_single(&mut self, event: &Inputs, wanted: Wanted) -> Result<Single> {
        self.find_good_helicities(event)?;
        let rows: Vec<u32> = match wanted {
            Wanted::All => (0..self.process().helicities.len() as u32).collect(),
            Wanted::Good | Wanted::Jamps => self
                .plan()
                .map(|plan| plan.helicities.clone())
                .unwrap_or_default(),
        };
        // The sum over helicities applies the weights, as SMATRIX<i> does.
        let mut process = Cow::Borrowed(self.process());
        if !process.beam_weights.is_empty() {
            process.to_mut().beam_weights.clear();
        }
        let settings = &self.recipe().settings;
        let level = settings.target.level().unwrap_or(Level::best());
        let lanes = match settings.precision {
            Precision::Float => level.lanes::<f32>(),
            Precision::Double | Precision::Mixed => level.lanes::<f64>(),
        };
        let chosen = HelicityLanes::choose(&process, &rows, lanes);
        let make = |process: &Process, plan, level, places| {
            let mut made = self.single_of_plan(process, plan, level, places, chosen.as_ref())?;
            made.each.jamps = (wanted == Wanted::Jamps).then(Vec::new);
            Ok::<_, Error>(made)
        };
        let Some(chosen) = &chosen else {
            // With lanes of the same event all lanes would do the same work, and touch more memory.
            let plan = self.own.diagrams_on(this_core(), &rows)?;
            let places = plan.helicities.iter().map(|&row| Some(row)).collect();
            return make(&process, plan, Level::None, places);
        };
        let places = chosen.rows(&process, lanes);
        let process = chosen.process(&process);
        let own = &self.own;
        let (diagrams, recursion) =
            own.plans()
                .of_lanes(&process, own.binding(), (&rows, lanes))?;
        let diagrams = make(&process, diagrams, level, places.clone())?;
        match recursion {
            Some(plan) if wanted != Wanted::Jamps => {
                let recursion = make(&process, plan, level, places)?;
                self.one_of(recursion, diagrams, event)
            }
            _ => Ok(diagrams),
        }
    }

    /// Returns the first if it agrees with the second at the trial points, helicity by helicity; else the second.
    fn one_of(&self, mut first: Single, mut second: Single, event: &Inputs) -> Result<Single> {
        let known = self.own.trial().map_or(event.points, Trial::points);
        let tolerance = tolerance(self.recipe().settings.precision);
        let process = self.process();
        let (diagrams, flows) = (process.diagrams as usize, process.color_flows());
        for i in 0..known.count().min(COMPARED_EVENTS) {
            let event = Inputs::without_channels(known.part(i, 1));
            let both = [&mut first, &mut second].map(|single| single.evaluate(event));
            for one in both {
                match one {
                    Ok(()) => {}
                    Err(Failure::Other(error)) => return Err(error),
                    // The call itself reports this.
                    Err(Failure::Event(_)) => return Ok(second),
                }
            }
            first.fill_answer(diagrams, flows);
            second.fill_answer(diagrams, flows);
            let (a, b) = (&first.answer, &second.answer);
            let same = agree(&a.contributions, &b.contributions, tolerance)
                && agree(&a.amp2, &b.amp2, tolerance)
                && agree(&a.jamp2, &b.jamp2, tolerance);
            if !same {
                return Ok(second);
            }
        }
        Ok(first)
    }

    fn single_of_plan(
        &self,
        process: &Process,
        plan: ValidPlan,
        level: Level,
        rows: Vec<Option<u32>>,
        lanes: Option<&HelicityLanes>,
    ) -> Result<Single> {
        let (color, binding) = (self.own.color(), self.own.binding());
        let (core, settings) = (Cores { level, threads: 1 }, &self.recipe().settings);
        let mut backend = core.backend(process, color, binding, plan, settings.precision, lanes)?;
        if settings.allowed != AllowedMomenta::Physical {
            backend.allow(settings.allowed);
        }
        let (table, diagrams) = (self.process().helicities.len(), process.diagrams as usize);
        let flows = process.color_flows();
        let of_diagrams = (0..).zip(backend.plan().channels().amp2_of_diagram.iter());
        let of_diagrams = of_diagrams.filter_map(|(i, at)| Some((i, (*at)? as usize)));
        Ok(Single {
            amp2: index_ranges(of_diagrams),
            flows,
            jamps: Vec::new(),
            places: Vec::new(),
            each: EachHelicity::default(),
            backend,
            rows,
            momenta: Vec::new(),
            g_s: 0.0,
            answer_is_current: false,
            answer: OneEvent {
                contributions: vec![0.0; table],
                amp2: vec![0.0; table * diagrams],
                jamp2: vec![0.0; table * flows],
            },
        })
    }

    fn evaluate_single(&self, event: Inputs, single: &mut Single) -> Result<()> {
        if let Err(failure) = single.evaluate(event) {
            return Err(self.own.failure(&event, failure));
        }
        if first_not_finite(&single.each.contributions).is_some() {
            single.momenta.clear();
            return Err(self.own.bad_momentum(&event.points, 0));
        }
        Ok(())
    }
}

impl Single {
    fn evaluate(&mut self, event: Inputs) -> std::result::Result<(), Failure> {
        // If the evaluation fails, no event has this answer.
        self.momenta.clear();
        self.answer_is_current = false;
        if !self.backend.each(event, &mut self.each)? {
            let what = "a plan that cannot tell helicities apart".into();
            return Err(Failure::Other(Error::Internal { what }));
        }
        if self.places.is_empty() {
            self.find_places();
        }
        self.momenta
            .extend_from_slice(&event.points.momenta.to_rows());
        self.g_s = event.points.g_s[0];
        Ok(())
    }

    /// Finds where each row is evaluated. The order of helicities is always the same.
    fn find_places(&mut self) {
        self.places = vec![None; self.answer.contributions.len()];
        let lanes = self.each.lanes;
        for (at, &h) in self.each.order.iter().enumerate() {
            for lane in 0..lanes {
                let contribution = h as usize * lanes + lane;
                if let Some(row) = self.rows[contribution] {
                    self.places[row as usize] = Some(HelicityRow {
                        contribution,
                        at: at * lanes + lane,
                    });
                }
            }
        }
    }

    /// Writes the JAMPs in the order of the helicity table. Rows that are not evaluated are zero.
    fn fill_jamps(&mut self) {
        if self.answer_is_current {
            return;
        }
        let Some(numbers) = &self.each.jamps else {
            return;
        };
        let rows = self.each.order.len() * self.each.lanes;
        let count = numbers.len() / (2 * rows.max(1));
        self.jamps
            .resize(self.places.len() * count, Complex64::default());
        for (row, place) in self.places.iter().enumerate() {
            let Some(place) = *place else { continue };
            let from = numbers[2 * place.at * count..][..2 * count].chunks_exact(2);
            let to = &mut self.jamps[row * count..][..count];
            for (to, from) in to.iter_mut().zip(from) {
                *to = Complex64::new(from[0], from[1]);
            }
        }
        self.answer_is_current = true;
    }

    /// Returns the plan's AMP2 and JAMP2 of a row.
    fn numbers(&self, place: HelicityRow) -> (&[f64], &[f64]) {
        let (amp2, jamp2) = (self.backend.plan().channels().len(), self.flows);
        (
            &self.each.amp2[place.at * amp2..][..amp2],
            &self.each.jamp2[place.at * jamp2..][..jamp2],
        )
    }

    /// Returns the contribution of a row, and adds its AMP2, unless `amp2` is empty, and JAMP2.
    fn add(&self, row: usize, amp2: &mut [f64], jamp2: &mut [f64]) -> f64 {
        let Some(place) = self.places[row] else {
            return 0.0;
        };
        let (of_plan, flows) = self.numbers(place);
        if !amp2.is_empty() {
            for run in &self.amp2 {
                let to = &mut amp2[run.to..][..run.count];
                for (to, from) in to.iter_mut().zip(&of_plan[run.from..]) {
                    *to += from;
                }
            }
        }
        for (to, from) in jamp2.iter_mut().zip(flows) {
            *to += from;
        }
        self.each.contributions[place.contribution]
    }

    /// Writes the answer in the order of the helicity table, unless that was done. Rows that are not evaluated stay
    /// zero.
    fn fill_answer(&mut self, diagrams: usize, flows: usize) {
        if self.answer_is_current {
            return;
        }
        let mut answer = std::mem::take(&mut self.answer);
        for (row, place) in self.places.iter().enumerate() {
            let Some(place) = *place else { continue };
            answer.contributions[row] = self.each.contributions[place.contribution];
            let (of_plan, of_flows) = self.numbers(place);
            let amp2 = &mut answer.amp2[row * diagrams..][..diagrams];
            for run in &self.amp2 {
                let from = &of_plan[run.from..][..run.count];
                amp2[run.to..][..run.count].copy_from_slice(from);
            }
            answer.jamp2[row * flows..][..flows].copy_from_slice(of_flows);
        }
        self.answer = answer;
        self.answer_is_current = true;
    }
}

/// Where a row of the helicity table is evaluated.
#[derive(Clone, Copy)]
struct HelicityRow {
    /// Index of its contribution.
    contribution: usize,
    /// Index of its AMP2 and JAMP2.
    at: usize,
}

/// Consecutive diagrams whose AMP2 in the plan are consecutive, too.
struct IndexRange {
    to: usize,
    from: usize,
    count: usize,
}

/// Combines pairs of indices into ranges.
fn index_ranges(pairs: impl Iterator<Item = (usize, usize)>) -> Vec<IndexRange> {
    let mut index_ranges: Vec<IndexRange> = Vec::new();
    for (to, from) in pairs {
        match index_ranges.last_mut() {
            Some(run) if (run.to + run.count, run.from + run.count) == (to, from) => {
                run.count += 1;
            }
            _ => index_ranges.push(IndexRange { to, from, count: 1 }),
        }
    }
    index_ranges
}
