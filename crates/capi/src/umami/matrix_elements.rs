//! The matrix elements that one library file serves, and their compiled forms.
//!
//! They are located once: those that the file carries ([`super::attached`]), else the one that [`mebridge::locate`]
//! finds. The flavour index of an event selects one of them. All have the same legs with the same masses. Their
//! diagrams, helicities and colour flows are numbered consecutively ([`TableOffsets`]): a matrix element with the same
//! table as an earlier one shares its numbers; otherwise its numbers follow all earlier ones.

use super::attached::Carried;
use crate::fork_reset_mutex::ForkResetMutex;
use crate::pointers::c_name;
use mebridge::backend::{AllowedMomenta, SessionMemory};
use mebridge::bridge::{Bridge, DeviceSampler, Platform, Sampler, current_gpu, platform};
use mebridge::describe::TableOffsets;
use mebridge::error::{Error, Result};
use mebridge::locate::locate;
use mebridge::process::card::Card;
use mebridge::process::{HelicitySum, Process};
use mebridge::runtime::{BackendChoice, Devices, Switches};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, TryLockError, Weak};

/// The matrix elements of this library and their settings.
pub struct MatrixElements {
    /// The matrix elements that do not vanish.
    pub processes: Vec<Process>,
    /// For each flavour index its squared orders: their numbers in `processes`, `None` for those that vanish.
    orders: Vec<Option<usize>>,
    /// The number of squared orders of each flavour index.
    pub squared_orders: usize,
    /// What the library carries as its fingerprint, or nothing; and the fingerprint, once requested.
    carried_fingerprint: String,
    fingerprint: OnceLock<CString>,
    /// Offsets of their diagrams, helicities and colour flows.
    pub tables: TableOffsets,
    switches: Switches,
    /// Card values for each matrix element, used if the caller names no card.
    cards: Vec<Vec<f64>>,
}

/// The matrix elements of this library, once requested.
static ELEMENTS: ForkResetMutex<Option<&'static MatrixElements>> = ForkResetMutex::new();
/// The compiled forms by card values, for as long as an instance uses them.
static COMPILED: ForkResetMutex<Vec<Weak<Compiled>>> = ForkResetMutex::new();

/// In the child of a fork, abandons values that other threads of the parent were making.
pub fn after_a_fork() {
    ELEMENTS.after_a_fork(|_| false);
    COMPILED.after_a_fork(|all| {
        let is_held =
            |bridge: &Mutex<Bridge>| matches!(bridge.try_lock(), Err(TryLockError::WouldBlock));
        let mut there = all.iter().filter_map(Weak::upgrade);
        there.any(|compiled| {
            let lost = compiled.bridges.iter().any(is_held);
            // Not freed here, in case this is the last reference.
            std::mem::forget(compiled);
            lost
        })
    });
}

/// Checks that these matrix elements can share one library, selected by the flavour index.
pub fn check_compatible(processes: &[Process]) -> Result<()> {
    let legs = |process: &Process| {
        let legs = process.legs.iter();
        let mass = |leg: &mebridge::process::Leg| match leg.mass.0 {
            Some(i) => process.model.parameters[i as usize].name.clone(),
            None => String::new(),
        };
        legs.map(|leg| (leg.incoming, mass(leg)))
            .collect::<Vec<_>>()
    };
    let Some(first) = processes.first() else {
        return Err(Error::NoEvents);
    };
    match processes
        .iter()
        .find(|process| legs(process) != legs(first))
    {
        None => Ok(()),
        Some(other) => Err(Error::InvalidProcess {
            what: format!(
                "{} and {} have other legs or masses and cannot share a library; make one for each, with #n behind \
                 the process",
                first.name, other.name
            ),
        }),
    }
}

/// The compiled form for one set of card values: a bridge for each matrix element, from which each thread takes
/// samplers.
pub struct Compiled {
    cards: Vec<Vec<f64>>,
    /// The GPU, if the backend is one.
    device: Devices,
    bridges: Vec<Mutex<Bridge>>,
    /// One sampler per matrix element if the backend is a GPU.
    on_device: Vec<DeviceSampler>,
    /// Masses of the legs in GeV.
    pub masses: Vec<f64>,
}

impl MatrixElements {
    /// Returns the matrix elements of this library. A failure is not remembered.
    pub fn get() -> Result<&'static MatrixElements> {
        let mut known = ELEMENTS.lock();
        if let Some(elements) = *known {
            return Ok(elements);
        }
        let elements: &'static MatrixElements = Box::leak(Box::new(MatrixElements::find()?));
        *known = Some(elements);
        Ok(elements)
    }

    /// Returns what a caller knows this library by: that which it carries, or the hash of its processes.
    pub fn fingerprint(&self) -> Result<&CStr> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(known);
        }
        let text = match self.carried_fingerprint.is_empty() {
            false => c_name(&self.carried_fingerprint),
            true => {
                let mut hash = blake3::Hasher::new();
                for process in &self.processes {
                    hash.update(&process.to_bytes()?);
                }
                c_name(&hash.finalize().to_hex())
            }
        };
        // Made before, so that no fork finds it in the making.
        Ok(self.fingerprint.get_or_init(|| text))
    }

    fn find() -> Result<MatrixElements> {
        let mut switches = Switches::from_env()?;
        let (carried, cards) = match super::attached::attached_to_self()? {
            Some(carried) => {
                if carried.backend != BackendChoice::Auto {
                    switches.backend = carried.backend;
                }
                let processes = carried.processes.iter().flatten();
                let cards = processes.map(|p| p.model.default_card());
                let cards = cards.collect();
                (carried, cards)
            }
            None => {
                let located = locate(&switches)?;
                let carried = Carried::new(vec![located.process], BackendChoice::Auto);
                (carried, vec![located.card])
            }
        };
        if carried.squared_orders > 1 && platform(switches.backend).is_some() {
            return Err(Error::NotOnGpu {
                what: "a library with several squared orders".into(),
            });
        }
        let mut last = 0;
        let number = |process: &Option<Process>| {
            process.as_ref()?;
            last += 1;
            Some(last - 1)
        };
        let orders = carried.processes.iter().map(number).collect();
        let processes: Vec<Process> = carried.processes.into_iter().flatten().collect();
        check_compatible(&processes)?;
        Ok(MatrixElements {
            tables: TableOffsets::new(&processes),
            fingerprint: OnceLock::new(),
            carried_fingerprint: carried.fingerprint,
            squared_orders: carried.squared_orders,
            orders,
            processes,
            switches,
            cards,
        })
    }

    /// Returns the number of flavour indices.
    pub fn flavors(&self) -> usize {
        self.orders.len() / self.squared_orders
    }

    /// Returns the number of the matrix element of a squared order of a flavour, unless it vanishes.
    pub fn element(&self, flavor: usize, order: usize) -> Option<usize> {
        self.orders[flavor * self.squared_orders + order]
    }

    /// Returns whether this library serves the real emissions of an aMC@NLO, which checks its fingerprint.
    fn serves_amcatnlo(&self) -> bool {
        !self.carried_fingerprint.is_empty()
    }

    /// Returns whether squared diagrams are written if the caller passes an array for them.
    pub fn writes_amp2(&self) -> bool {
        self.switches.amp2
    }

    /// Returns the platform of the GPU whose memory holds the callers' arrays, if they lie on a GPU. It is set
    /// explicitly, never selected automatically.
    pub fn gpu(&self) -> Option<Platform> {
        platform(self.switches.backend)
    }

    /// Returns whether the callers' arrays lie in GPU memory.
    pub fn on_gpu(&self) -> bool {
        self.gpu().is_some()
    }

    /// Returns the values of a card for each matrix element, or the default values without a card.
    pub fn cards(&self, card: Option<&Path>) -> Result<Vec<Vec<f64>>> {
        let Some(path) = card else {
            return Ok(self.cards.clone());
        };
        let card = Card::read(path)?;
        let values = self.processes.iter().map(|p| p.model.card_values(&card));
        values.collect()
    }

    /// Returns the compiled form for these values, shared if an instance uses it already.
    pub fn compiled(&self, cards: Vec<Vec<f64>>) -> Result<Arc<Compiled>> {
        // Other threads wait while it is made. Nothing in the list can be half made.
        let mut known = COMPILED.lock();
        known.retain(|compiled| compiled.strong_count() > 0);
        // The caller's current GPU holds its arrays.
        let device = match (&self.switches.device, self.gpu().map(current_gpu)) {
            (Devices::Auto, Some(Some(current))) => Devices::These(vec![current]),
            (device, _) => device.clone(),
        };
        let mut there = known.iter().filter_map(Weak::upgrade);
        let same = |compiled: &Arc<Compiled>| compiled.cards == cards && compiled.device == device;
        if let Some(compiled) = there.find(same) {
            return Ok(compiled);
        }
        let switches = Switches {
            // Each thread of the caller evaluates by itself.
            threads: 1,
            backend: match self.on_gpu() {
                true => self.switches.backend,
                false => BackendChoice::Cpu,
            },
            device: device.clone(),
            ..self.switches.clone()
        };
        let mut bridges = Vec::new();
        for (process, card) in self.processes.iter().zip(&cards) {
            let mut bridge = Bridge::new(process.clone(), card, &switches, 1)?;
            if bridge.cancels() {
                // Otherwise all events would have weights of both signs.
                let helicity_sum = HelicitySum::Signed;
                let summed = Process {
                    helicity_sum,
                    ..process.clone()
                };
                bridge = Bridge::new(summed, card, &switches, 1)?;
            }
            // Close to a threshold aMC@NLO's generator puts soft partons off their mass shells.
            if self.serves_amcatnlo() && !bridge.allow(AllowedMomenta::OffShell) {
                return Err(Error::NotOnGpu {
                    what: "a library for next-to-leading order".into(),
                });
            }
            bridges.push(bridge);
        }
        // Masses of Majorana fermions may be negative.
        let masses = bridges.first().map(Bridge::masses).unwrap_or_default();
        let masses = masses.into_iter().map(f64::abs).collect();
        let on_device = match self.on_gpu() {
            true => bridges
                .iter_mut()
                .map(Bridge::device_sampler)
                .collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let compiled = Arc::new(Compiled {
            cards,
            device,
            on_device,
            bridges: bridges.into_iter().map(Mutex::new).collect(),
            masses,
        });
        if !self.on_gpu() {
            // Makes the plans here instead of in the first thread that evaluates.
            compiled.samplers()?;
        }
        known.push(Arc::downgrade(&compiled));
        Ok(compiled)
    }
}

impl Compiled {
    /// Returns the GPU sampler of each matrix element; none if the CPU evaluates.
    pub fn on_device(&self) -> &[DeviceSampler] {
        &self.on_device
    }

    /// Creates a sampler for each matrix element, for one thread.
    pub fn samplers(&self) -> Result<Vec<Sampler>> {
        let memory = SessionMemory::default();
        let bridges = self.bridges.iter();
        let sampler = |bridge: &Mutex<Bridge>| {
            bridge
                .lock()
                .map_err(|_| Error::Broken { kind: "bridge" })?
                .sampler(true, &memory)
        };
        bridges.map(sampler).collect()
    }

    /// Returns the card values for each matrix element.
    pub fn cards(&self) -> &[Vec<f64>] {
        &self.cards
    }

    /// Returns the error that describes the momenta of a bad event, `[leg][component]`.
    pub fn momentum_error(&self, element: usize, momenta: &[f64], event: usize) -> Error {
        match self.bridges[element].lock() {
            Ok(bridge) => bridge.what_is_wrong(momenta, event),
            Err(_) => Error::Broken { kind: "bridge" },
        }
    }
}

/// Returns g_s for events without alpha_s.
pub(super) fn default_g_s(elements: &MatrixElements, compiled: &Compiled) -> f64 {
    crate::default_g_s(&elements.processes[0].model, &compiled.cards()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_matrix_elements_share_is_counted_once() {
        let mut processes = mebridge::generate("p p > t t~").unwrap();
        processes.push(processes[0].clone());
        let tables = TableOffsets::new(&processes);
        assert_eq!(tables.diagrams.first, [0, 3, 4]);
        assert_eq!(tables.diagrams.count, 7);
        assert_eq!(tables.helicities.first, [0, 16, 0]);
        assert_eq!(tables.helicities.count, 32);
        assert_eq!(tables.colors.first, [0, 2, 0]);
        assert_eq!(tables.colors.count, 4);
        check_compatible(&processes).unwrap();
        let others = mebridge::generate("p p > t t~ j").unwrap();
        let other = [processes[0].clone(), others[0].clone()];
        let error = check_compatible(&other).unwrap_err().to_string();
        assert!(error.contains("cannot share a library"), "{error}");
    }
}
