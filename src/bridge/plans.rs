//! The plans of a bridge, read from the cache or made.
//!
//! A plan follows from the process, the card and the helicities; all of them are in its key, and so is the machine for
//! which plans of loops are made. The decision to use a plan is not part of it: `policy` decides for cached plans as
//! for new ones. A plan that is read is validated like a new one ([`Plan::validate`]); a matrix in blocks is used only
//! if [`BlockDiagonal::fits`].

use crate::cache::key::{Key, KeyBuilder};
use crate::cache::{Cache, EntryKind};
use crate::color::BlockDiagonal;
use crate::error::Result;
use crate::plan::binding::Binding;
use crate::plan::color_ordered::Machine;
use crate::plan::passes::Pass;
use crate::plan::{Plan, ValidPlan, compile_for, recursion};
use crate::policy;
use crate::process::color::ColorMatrix;
use crate::process::{Amplitudes, Process};
use crate::target::this_core;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the name of a plan in its key: plans of loops differ by the machine.
fn on(what: &str, process: &Process, machine: Machine) -> String {
    match process.is_color_ordered() {
        true => format!("{what} on {machine:?}"),
        false => what.to_owned(),
    }
}

/// Provides the plans of one process with one card.
pub struct Plans {
    cache: Cache,
    /// The key of process and card, to which a plan's key adds the rest.
    of_process: Option<Key>,
}

impl Plans {
    /// Prepares the plans of a process with the values of its card.
    pub fn new(cache: Cache, process: &Process, card: &[f64]) -> Plans {
        let of_process = cache.is_enabled().then(|| {
            let mut key = Key::builder("process and card");
            key.value(&process.without_names())?;
            key.value(card)?;
            Some(key.finish())
        });
        Plans {
            of_process: of_process.flatten(),
            cache,
        }
    }

    /// Returns the list of diagrams for these helicities on a machine.
    pub fn diagrams(
        &self,
        process: &Process,
        binding: &Binding,
        helicities: &[u32],
        machine: Machine,
    ) -> Result<ValidPlan> {
        let key = self.key(&on("diagrams", process, machine), helicities);
        let accept = |plan: Plan| {
            let right = plan.helicities == helicities && plan.has_channels_of(process);
            right.then(|| plan.validate(process).ok()).flatten()
        };
        if let Some(plan) = self.load(EntryKind::Plan, key, accept) {
            return Ok(plan);
        }
        let plan = compile_for(machine, process, binding, helicities)?;
        self.store(EntryKind::Plan, key, &plan);
        plan.validate(process)
    }

    /// Returns the recursion for these helicities, with passes up to `last`, if there is one.
    pub fn recursion(
        &self,
        process: &Process,
        binding: &Binding,
        helicities: &[u32],
        last: Pass,
    ) -> Option<ValidPlan> {
        let key = self.key(&format!("recursion until {last:?}"), helicities);
        let accept = |plan: Option<Plan>| match plan {
            Some(plan) if plan.helicities == helicities => plan.validate(process).ok().map(Some),
            Some(_) => None,
            None => Some(None),
        };
        if let Some(plan) = self.load(EntryKind::Plan, key, accept) {
            return plan;
        }
        let plan = recursion::compile_until(last, process, binding, helicities);
        self.store(EntryKind::Plan, key, &plan);
        plan?.validate(process).ok()
    }

    /// Returns plans for helicities in lanes (`process` has those of one lane, which are chosen for `rows` and the
    /// number of lanes): the list of diagrams, and the recursion that keeps helicities separate, if one exists and is
    /// less work.
    pub fn of_lanes(
        &self,
        process: &Process,
        binding: &Binding,
        (rows, lanes): (&[u32], usize),
    ) -> Result<(ValidPlan, Option<ValidPlan>)> {
        let every: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let accept = |plan: Plan| {
            let right = plan.helicities == every && plan.has_channels_of(process);
            right.then(|| plan.validate(process).ok()).flatten()
        };
        let core = this_core();
        let name = format!("diagrams, {lanes} lanes");
        // The next build may choose other helicities for the same rows.
        let of_lane = (rows, &process.helicities);
        let key = self.key(&on(&name, process, core), &of_lane);
        let diagrams = match self.load(EntryKind::Plan, key, accept) {
            Some(plan) => plan,
            None => {
                let plan = compile_for(core, process, binding, &every)?;
                self.store(EntryKind::Plan, key, &plan);
                plan.validate(process)?
            }
        };
        let key = self.key(&format!("recursion, {lanes} lanes"), &of_lane);
        let known = |plan: Option<Plan>| match plan {
            Some(plan) => accept(plan).map(Some),
            None => Some(None),
        };
        let recursion = self.load(EntryKind::Plan, key, known).unwrap_or_else(|| {
            let recursion = recursion::compile_each(process, binding, &every);
            self.store(EntryKind::Plan, key, &recursion);
            recursion.and_then(accept)
        });
        let serves = |plan: &ValidPlan| policy::recursion_serves_one_event(plan, &diagrams.count);
        let recursion = recursion.filter(serves);
        Ok((diagrams, recursion))
    }

    /// Returns the colour matrix in blocks, for a core or a GPU.
    pub fn color(&self, process: &Process, on_gpu: bool) -> BlockDiagonal {
        match &process.amplitudes {
            // About as fast to make as to read.
            Amplitudes::ColorOrdered(_) => BlockDiagonal::of_process(process, on_gpu),
            Amplitudes::Diagrams(diagrams) => self.color_of_matrix(&diagrams.color),
        }
    }

    fn color_of_matrix(&self, color: &ColorMatrix) -> BlockDiagonal {
        let key = self.of_process.and_then(|_| {
            let mut key = Key::builder("color");
            key.value(color)?;
            Some(key.finish())
        });
        let accept = |color_blocks: BlockDiagonal| color_blocks.fits(color).then_some(color_blocks);
        if let Some(color_blocks) = self.load(EntryKind::Color, key, accept) {
            return color_blocks;
        }
        let color_blocks = BlockDiagonal::new(color);
        self.store(EntryKind::Color, key, &color_blocks);
        color_blocks
    }

    fn key(&self, what: &str, helicities: &(impl Serialize + ?Sized)) -> Option<Key> {
        let mut key: KeyBuilder = Key::builder(what);
        key.bytes(&self.of_process?.0);
        key.value(helicities)?;
        Some(key.finish())
    }

    fn load<T: DeserializeOwned, V>(
        &self,
        kind: EntryKind,
        key: Option<Key>,
        accept: impl FnOnce(T) -> Option<V>,
    ) -> Option<V> {
        self.cache.load(kind, &key?).and_then(accept)
    }

    fn store<T: Serialize>(&self, kind: EntryKind, key: Option<Key>, value: &T) {
        if let Some(key) = key {
            self.cache.store(kind, &key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::example;
    use crate::runtime::CachePlace;

    struct Setting {
        folder: tempfile::TempDir,
        process: Process,
        binding: Binding,
        card: Vec<f64>,
    }

    impl Setting {
        fn new() -> Setting {
            let process = example::scalars();
            let card = process.model.default_card();
            Setting {
                folder: tempfile::tempdir().unwrap(),
                binding: Binding::new(&process.model, &card).unwrap(),
                process,
                card,
            }
        }

        fn plans(&self) -> Plans {
            let cache = Cache::new(&CachePlace::Folder(self.folder.path().to_owned()));
            Plans::new(cache, &self.process, &self.card)
        }

        fn diagrams(&self) -> Plan {
            let plans = self.plans();
            plans
                .diagrams(&self.process, &self.binding, &[0], this_core())
                .unwrap()
                .into_inner()
        }

        /// Stores another plan in place of the list of diagrams.
        fn replace(&self, plan: &Plan) {
            let plans = self.plans();
            let key = plans.key("diagrams", &[0u32][..]).unwrap();
            assert!(plans.cache.load::<Plan>(EntryKind::Plan, &key).is_some());
            plans.cache.store(EntryKind::Plan, &key, plan);
        }
    }

    #[test]
    fn a_plan_is_taken_from_the_cache_if_it_fits() {
        let setting = Setting::new();
        let made = setting.diagrams();
        let mut marked = made.clone();
        marked.count.currents = 1234;
        setting.replace(&marked);
        assert_eq!(setting.diagrams().count.currents, 1234);
        // Read from the cache it is the same to the last bit.
        let bytes = |plan: &Plan| postcard::to_stdvec(plan).unwrap();
        assert_eq!(bytes(&setting.diagrams()), bytes(&marked));
        marked.couplings[0] = made.vectors;
        setting.replace(&marked);
        assert_eq!(bytes(&setting.diagrams()), bytes(&made));
        // And it was stored again.
        let plans = setting.plans();
        let key = plans.key("diagrams", &[0u32][..]).unwrap();
        let stored: Plan = plans.cache.load(EntryKind::Plan, &key).unwrap();
        assert_eq!(bytes(&stored), bytes(&made));
    }

    #[test]
    fn plans_for_helicities_in_lanes_are_kept() {
        let setting = Setting::new();
        let of_lanes = || {
            let plans = setting.plans();
            let made = plans.of_lanes(&setting.process, &setting.binding, (&[0], 8));
            let (diagrams, recursion) = made.unwrap();
            // Processes of scalars only have none.
            assert!(recursion.is_none());
            diagrams.into_inner()
        };
        let made = of_lanes();
        let plans = setting.plans();
        let of_lane = (&[0u32][..], &setting.process.helicities);
        let key = plans.key("diagrams, 8 lanes", &of_lane).unwrap();
        let mut marked = made.clone();
        marked.count.currents = 1234;
        plans.cache.store(EntryKind::Plan, &key, &marked);
        assert_eq!(of_lanes().count.currents, 1234);
        marked.couplings[0] = made.vectors;
        plans.cache.store(EntryKind::Plan, &key, &marked);
        assert_eq!(of_lanes().count, made.count);
    }

    /// The next build may decide differently which plan serves, and the key does not contain this.
    #[test]
    fn what_serves_is_decided_anew_for_what_is_kept() {
        let mut process = crate::generate("g g > t t~ g").expect("process").remove(0);
        process.helicities.truncate(4);
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).expect("a card");
        let setting = Setting::new();
        let cache = Cache::new(&CachePlace::Folder(setting.folder.path().to_owned()));
        let plans = Plans::new(cache, &process, &card);
        let serves = || {
            let made = plans.of_lanes(&process, &binding, (&[0], 8));
            made.expect("plans").1.is_some()
        };
        let first = serves();
        let of_lane = (&[0u32][..], &process.helicities);
        let key = plans.key("recursion, 8 lanes", &of_lane);
        let key = key.expect("a key");
        let kept = || {
            plans
                .cache
                .load::<Option<Plan>>(EntryKind::Plan, &key)
                .flatten()
        };
        let recursion = kept().expect("the recursion, whether it serves or not");
        for (multiply_adds, expected) in [(usize::MAX / 1000, false), (1, true)] {
            let mut other = recursion.clone();
            other.count.multiply_adds = multiply_adds;
            plans.cache.store(EntryKind::Plan, &key, &Some(other));
            assert_eq!(serves(), expected, "{multiply_adds}");
        }
        plans.cache.store(EntryKind::Plan, &key, &Some(recursion));
        assert_eq!(serves(), first);
    }

    /// The next build may choose other helicities for the lanes.
    #[test]
    fn other_helicities_of_a_lane_have_plans_of_their_own() {
        let whole = crate::generate("g g > t t~").expect("process").remove(0);
        let card = whole.model.default_card();
        let binding = Binding::new(&whole.model, &card).expect("a card");
        let of_lane = |rows: std::ops::Range<usize>, folder: &tempfile::TempDir| {
            let mut process = whole.clone();
            process.helicities = whole.helicities[rows].to_vec();
            let cache = Cache::new(&CachePlace::Folder(folder.path().to_owned()));
            let made = Plans::new(cache, &whole, &card).of_lanes(&process, &binding, (&[0], 8));
            let (diagrams, recursion) = made.expect("plans");
            let plans = (diagrams.into_inner(), recursion.map(ValidPlan::into_inner));
            postcard::to_stdvec(&plans).expect("bytes")
        };
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let (first, second) = (of_lane(0..4, &one), of_lane(4..8, &one));
        assert_ne!(first, second);
        assert_eq!(second, of_lane(4..8, &other));
        assert_eq!(first, of_lane(0..4, &one));
    }

    #[test]
    fn other_cards_processes_and_helicities_have_plans_of_their_own() {
        let setting = Setting::new();
        let name =
            |plans: &Plans, what, helicities: &[u32]| plans.key(what, helicities).unwrap().name();
        let mut names = vec![
            name(&setting.plans(), "diagrams", &[0]),
            name(&setting.plans(), "recursion", &[0]),
            name(&setting.plans(), "diagrams", &[0, 1]),
        ];
        let mut other = Setting::new();
        other.card[0] += 1e-13;
        names.push(name(&other.on(&setting), "diagrams", &[0]));
        other.card = setting.card.clone();
        other.process.iden += 1;
        names.push(name(&other.on(&setting), "diagrams", &[0]));
        let mut different = names.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), names.len());
        // The same inputs give the same name.
        assert_eq!(names[0], name(&setting.plans(), "diagrams", &[0]));
    }

    /// Different flavours of one P directory share plans.
    #[test]
    fn processes_that_differ_by_names_share_plans() {
        let made = |text: &str| {
            let process = crate::generate(text).expect(text).remove(0);
            let setting = Setting::new();
            let card = process.model.default_card();
            let cache = Cache::new(&CachePlace::Folder(setting.folder.path().to_owned()));
            let plans = Plans::new(cache, &process, &card);
            let binding = Binding::new(&process.model, &card).expect("a card");
            let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
            let key = plans.key("diagrams", &all).expect("a key").name();
            let diagrams = plans
                .diagrams(&process, &binding, &all, this_core())
                .expect("a plan");
            let recursion = plans.recursion(&process, &binding, &all, Pass::Tiling);
            let plans = (diagrams.into_inner(), recursion.map(ValidPlan::into_inner));
            (key, postcard::to_stdvec(&plans).expect("bytes"))
        };
        let up = made("u u~ > t t~ g");
        assert_eq!(up, made("c c~ > t t~ g"));
        assert_eq!(up, made("d d~ > t t~ g"));
        // With exchanged beams other legs are alike.
        assert_ne!(up.0, made("u~ u > t t~ g").0);
    }

    /// Plans of loops are made for a machine, all others for any.
    #[test]
    fn plans_of_loops_are_those_of_a_machine() {
        let setting = Setting::new();
        let loops = crate::generate("g g > t t~ g").expect("process").remove(0);
        let loops = loops.as_color_ordered().expect("a form");
        let card = loops.model.default_card();
        let binding = Binding::new(&loops.model, &card).expect("a card");
        let cache = Cache::new(&CachePlace::Folder(setting.folder.path().to_owned()));
        let plans = Plans::new(cache, &loops, &card);
        let machines = [this_core(), Machine::Gpu { tile: usize::MAX }];
        let [core, gpu] = machines.map(|machine| {
            let made = || plans.diagrams(&loops, &binding, &[0, 5], machine);
            let (plan, again) = (made().expect("a plan"), made().expect("the same"));
            let bytes = |plan: ValidPlan| postcard::to_stdvec(&plan.into_inner()).expect("bytes");
            let plan = bytes(plan);
            assert_eq!(plan, bytes(again));
            plan
        });
        assert_ne!(core, gpu);
        let names = |process: &Process| machines.map(|machine| on("diagrams", process, machine));
        let [a, b] = names(&loops);
        assert_ne!(a, b);
        let [a, b] = names(&setting.process);
        assert_eq!(a, b);
    }

    impl Setting {
        /// The plans of this process in the cache of another setting.
        fn on(&self, other: &Setting) -> Plans {
            let cache = Cache::new(&CachePlace::Folder(other.folder.path().to_owned()));
            Plans::new(cache, &self.process, &self.card)
        }
    }

    #[test]
    fn a_colour_matrix_that_does_not_fit_is_split_again() {
        let setting = Setting::new();
        let plans = setting.plans();
        let color = ColorMatrix {
            flows: 2,
            denominator: 3.0,
            upper: vec![16.0, -2.0, 16.0],
        };
        let color_blocks = plans.color_of_matrix(&color);
        assert!(color_blocks.fits(&color));
        let key = {
            let mut key = Key::builder("color");
            key.value(&color).unwrap();
            key.finish()
        };
        let mut bad: BlockDiagonal = plans.cache.load(EntryKind::Color, &key).unwrap();
        bad.blocks[0].coordinates[0] = 2;
        plans.cache.store(EntryKind::Color, &key, &bad);
        assert!(!bad.fits(&color));
        assert!(plans.color_of_matrix(&color).fits(&color));
        let stored: BlockDiagonal = plans.cache.load(EntryKind::Color, &key).unwrap();
        assert!(stored.fits(&color));
    }
}
