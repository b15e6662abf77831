//! The matrix elements that one library file serves, and what is compiled of them.
//!
//! They are found once: those that the file carries ([`super::attached`]), else the one that [`mebridge::locate`] finds.
//! The flavour index of an event names one of them. All have the same legs with the same masses. Their diagrams,
//! helicities and colour flows are counted through ([`TableOffsets`]): a matrix element with the same table as an earlier one
//! shares its numbers; otherwise its numbers come behind all before.

use crate::survivor::Survivor;
use mebridge::backend::SessionMemory;
use mebridge::bridge::{Bridge, DeviceSampler, Platform, Sampler, current_gpu, platform};
use mebridge::describe::TableOffsets;
use mebridge::error::{Error, Result};
use mebridge::locate::locate;
use mebridge::process::card::Card;
use mebridge::process::{HelicitySum, Process};
use mebridge::runtime::{BackendChoice, Devices, Switches};
use std::path::Path;
use std::sync::{Arc, Mutex, TryLockError, Weak};

/// The matrix elements of this library.
pub struct MatrixElements {
    /// Each of them.
    pub processes: Vec<Process>,
    /// Where they count from.
    pub tables: TableOffsets,
    switches: Switches,
    /// Card values where the caller names no card.
    cards: Vec<Vec<f64>>,
}

/// The matrix elements of this library, once somebody has asked for them.
static ELEMENTS: Survivor<Option<&'static MatrixElements>> = Survivor::new();
/// What is compiled for which card values, as long as somebody uses it.
static COMPILED: Survivor<Vec<Weak<Compiled>>> = Survivor::new();

/// In the child of a fork: what other threads of the parent's were making is made anew.
pub fn behind_a_fork() {
    ELEMENTS.behind_a_fork(|_| false);
    COMPILED.behind_a_fork(|all| {
        let is_held =
            |bridge: &Mutex<Bridge>| matches!(bridge.try_lock(), Err(TryLockError::WouldBlock));
        let mut there = all.iter().filter_map(Weak::upgrade);
        there.any(|compiled| {
            let lost = compiled.bridges.iter().any(is_held);
            // Not freed here, if this was the last one.
            std::mem::forget(compiled);
            lost
        })
    });
}

/// Checks that these matrix elements can stand behind one flavour index.
pub fn fit_together(processes: &[Process]) -> Result<()> {
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

/// What serves one set of card values: a bridge for each matrix element, of which each thread takes samplers.
pub struct Compiled {
    cards: Vec<Vec<f64>>,
    /// Which GPU, where one evaluates.
    device: Devices,
    bridges: Vec<Mutex<Bridge>>,
    /// For each matrix element, where a GPU evaluates.
    on_device: Vec<DeviceSampler>,
    /// Masses of the legs in GeV.
    pub masses: Vec<f64>,
}

impl MatrixElements {
    /// The matrix elements of this library. A failure is not remembered.
    pub fn get() -> Result<&'static MatrixElements> {
        let mut known = ELEMENTS.lock();
        if let Some(elements) = *known {
            return Ok(elements);
        }
        let elements: &'static MatrixElements = Box::leak(Box::new(MatrixElements::find()?));
        *known = Some(elements);
        Ok(elements)
    }

    fn find() -> Result<MatrixElements> {
        let mut switches = Switches::from_env()?;
        let (processes, cards) = match super::attached::attached()? {
            Some((processes, backend)) => {
                if backend != BackendChoice::Auto {
                    switches.backend = backend;
                }
                let cards = processes.iter().map(|p| p.model.default_card());
                let cards = cards.collect();
                (processes, cards)
            }
            None => {
                let located = locate(&switches)?;
                (vec![located.process], vec![located.card])
            }
        };
        fit_together(&processes)?;
        Ok(MatrixElements {
            tables: TableOffsets::new(&processes),
            processes,
            switches,
            cards,
        })
    }

    /// Whether squared diagrams are written where a caller has an array for them.
    pub fn writes_amp2(&self) -> bool {
        self.switches.amp2
    }

    /// The platform of the GPU in whose memory arrays of callers lie, if they do. It is asked for, not chosen.
    pub fn gpu(&self) -> Option<Platform> {
        platform(self.switches.backend)
    }

    /// Whether they do.
    pub fn on_gpu(&self) -> bool {
        self.gpu().is_some()
    }

    /// The values of a card for each matrix element, or those that hold without one.
    pub fn cards(&self, card: Option<&Path>) -> Result<Vec<Vec<f64>>> {
        let Some(path) = card else {
            return Ok(self.cards.clone());
        };
        let card = Card::read(path)?;
        let values = self.processes.iter().map(|p| p.model.card_values(&card));
        values.collect()
    }

    /// What is compiled for these values: made, or shared with whoever has it already.
    pub fn compiled(&self, cards: Vec<Vec<f64>>) -> Result<Arc<Compiled>> {
        // Whoever comes while it is made waits for it. Nothing in the list can be half made.
        let mut known = COMPILED.lock();
        known.retain(|compiled| compiled.strong_count() > 0);
        // The GPU that the caller works with holds its arrays.
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
            // A thread of the caller's is one thread.
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
                // Events of both signs would be all that there is.
                let helicity_sum = HelicitySum::Signed;
                let summed = Process {
                    helicity_sum,
                    ..process.clone()
                };
                bridge = Bridge::new(summed, card, &switches, 1)?;
            }
            bridges.push(bridge);
        }
        // Majorana fermions may have negative ones.
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
            // Plans are made here, not in the first thread that evaluates.
            compiled.samplers()?;
        }
        known.push(Arc::downgrade(&compiled));
        Ok(compiled)
    }
}

impl Compiled {
    /// For each matrix element what evaluates in the memory of a GPU; none where the CPU evaluates.
    pub fn on_device(&self) -> &[DeviceSampler] {
        &self.on_device
    }

    /// A sampler for each matrix element, of one thread.
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

    /// The card values.
    pub fn cards(&self) -> &[Vec<f64>] {
        &self.cards
    }

    /// What is wrong with the momenta of this event, `[leg][component]`.
    pub fn what_is_wrong(&self, element: usize, momenta: &[f64], event: usize) -> Error {
        match self.bridges[element].lock() {
            Ok(bridge) => bridge.what_is_wrong(momenta, event),
            Err(_) => Error::Broken { kind: "bridge" },
        }
    }
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
        fit_together(&processes).unwrap();
        let others = mebridge::generate("p p > t t~ j").unwrap();
        let other = [processes[0].clone(), others[0].clone()];
        let error = fit_together(&other).unwrap_err().to_string();
        assert!(error.contains("cannot share a library"), "{error}");
    }
}
