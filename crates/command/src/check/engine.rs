//! Evaluates the events: with a bridge, or with the Fortran functions that MadEvent calls.

use super::profile::Profile;
use crate::random_events::RandomEvents;
use crate::source::CardedProcess;
use mebridge::Result;
use mebridge::backend::Clocks;
use mebridge::bridge::Bridge;
use mebridge::events::Answers;
use mebridge::runtime::{PREFIX, Precision, Switches};
use mebridge::target::{CallSize, Target};
use mebridge_capi::fbridge;
use std::ffi::{OsString, c_void};
use std::ptr::from_ref;
use std::time::Instant;

/// Evaluates the events.
pub enum Engine {
    /// A bridge.
    Direct(Box<Bridge>),
    /// The Fortran functions.
    Door(FortranBridge),
}

impl Engine {
    /// Makes an engine with a bridge.
    pub fn direct(source: CardedProcess, switches: &Switches, nevt: usize) -> Result<Engine> {
        let bridge = Bridge::new(source.process, &source.card, switches, nevt)?;
        Ok(Engine::Direct(Box::new(bridge)))
    }

    /// Finds the good helicities and returns their number.
    pub fn find_good_helicities(&mut self, drawn: &mut RandomEvents) -> Result<usize> {
        match self {
            Engine::Direct(bridge) => bridge.prepare(&drawn.call().0),
            Engine::Door(door) => {
                door.sequence(drawn, &TRUE);
                Ok(door.good_helicities())
            }
        }
    }

    /// Evaluates the events.
    pub fn run(&mut self, drawn: &mut RandomEvents) -> Result<()> {
        match self {
            Engine::Direct(bridge) => {
                let (events, mut answers) = drawn.call();
                // Non-finite values are counted later.
                bridge.run_all(&events, &mut answers)?;
                Ok(())
            }
            Engine::Door(door) => {
                door.sequence(drawn, &FALSE);
                Ok(())
            }
        }
    }

    /// Returns the name of the GPU that evaluates, if any; `switches` and `calls` are those that the engine was made
    /// with.
    pub fn gpu(&self, switches: &Switches, calls: CallSize) -> Result<Option<String>> {
        let name = |machine: &Target| match machine {
            Target::Cpu(_) => None,
            Target::Gpu(gpus) => Some(gpus.name()),
        };
        Ok(match self {
            Engine::Direct(bridge) => name(bridge.target()),
            // The Fortran functions choose the same way, but do not report it.
            Engine::Door(_) => name(&Target::choose(switches, calls)?),
        })
    }

    /// Measures the profile of an additional call of `count` events; `None` if that is impossible. Measuring takes time
    /// itself, which would be visible in the throughput of small processes. With `kernels` the kernels of a GPU contain
    /// clocks.
    pub fn profile(
        &mut self,
        drawn: &mut RandomEvents,
        count: usize,
        precision: Precision,
        kernels: bool,
    ) -> Result<Option<Profile>> {
        let Engine::Direct(bridge) = self else {
            return Ok(None);
        };
        let (events, answers) = drawn.call();
        let mut answers = Answers {
            matrix_elements: &mut answers.matrix_elements[..count],
            helicity: &mut answers.helicity[..count],
            color: &mut answers.color[..count],
        };
        let events = events.first(count);
        bridge.set_profile(match kernels {
            true => Clocks::Kernels,
            false => Clocks::Phases,
        });
        if kernels && bridge.level().is_none() {
            // Compilation must not be measured.
            bridge.wait_for_compiler();
            bridge.run_all(&events, &mut answers)?;
        }
        let before = bridge.timers();
        let start = Instant::now();
        bridge.run_all(&events, &mut answers)?;
        let elapsed = start.elapsed();
        bridge.set_profile(Clocks::None);
        let channels = events.channels.is_some();
        let timers = bridge.timers().since(&before);
        Profile::new(bridge, &timers, channels, precision, count, elapsed).map(Some)
    }
}

/// gfortran's `.TRUE.` and `.FALSE.`, in constants as MadEvent passes them.
static TRUE: i32 = 1;
static FALSE: i32 = 0;

/// The Fortran functions, called as MadEvent (3.7 and later) calls them. They read their settings from the environment,
/// and end the program with a message on errors.
pub struct FortranBridge {
    handle: u64,
    igraph: Vec<i32>,
}

impl FortranBridge {
    /// Calls `fbridgecreate` with these switches (names without their prefix) in the environment.
    pub fn open(switches: &[(&str, OsString)], nevt: usize, legs: usize) -> Engine {
        for (name, value) in switches.iter().chain([&("IGRAPH", OsString::from("yes"))]) {
            // SAFETY: called before this program starts a thread, so no other thread reads the environment at the same
            // time.
            unsafe { std::env::set_var(format!("{PREFIX}{name}"), value) };
        }
        let mut handle = 0;
        // The number of events was checked to fit, and no process has 2^31 legs.
        let (nevt_f, legs) = (nevt as i32, legs as i32);
        // SAFETY: all four pointers are to variables of their types.
        unsafe { fbridge::fbridgecreate_(&mut handle, &nevt_f, &legs, &4) };
        Engine::Door(FortranBridge {
            handle,
            igraph: vec![0; nevt],
        })
    }

    /// Calls `fbridgesequence`, or `fbridgesequence_nomultichannel` if there is no channel.
    fn sequence(&self, drawn: &mut RandomEvents, good_helicities_only: &'static i32) {
        let (events, answers) = drawn.call();
        let doubles = |array: &[f64]| array.as_ptr().cast::<c_void>();
        let integers = |array: &[i32]| array.as_ptr().cast::<c_void>();
        let momenta = doubles(events.momenta);
        let g_s = doubles(events.g_s);
        let random_helicity = doubles(events.random_helicity);
        let random_color = doubles(events.random_color);
        let igraph = integers(&self.igraph);
        let elements = answers.matrix_elements.as_mut_ptr().cast_const().cast();
        let helicity = answers.helicity.as_mut_ptr().cast_const().cast();
        let color = answers.color.as_mut_ptr().cast_const().cast();
        let only = from_ref(good_helicities_only).cast();
        // SAFETY: all arrays have the number of events that the bridge was created for, as
        // `RandomEvents` made them, and the arguments are those of the generation with igraph.
        unsafe {
            match events.channels {
                Some(channels) => fbridge::fbridgesequence_(
                    &self.handle,
                    momenta,
                    g_s,
                    random_helicity,
                    random_color,
                    integers(channels),
                    igraph,
                    elements,
                    helicity,
                    color,
                    only,
                ),
                None => fbridge::fbridgesequence_nomultichannel_(
                    &self.handle,
                    momenta,
                    g_s,
                    random_helicity,
                    random_color,
                    igraph,
                    elements,
                    helicity,
                    color,
                    only,
                ),
            }
        }
    }

    /// Calls `fbridgegetngoodhel`.
    fn good_helicities(&self) -> usize {
        let (mut good, mut total) = (0, 0);
        // SAFETY: all three pointers are to variables of their types.
        unsafe { fbridge::fbridgegetngoodhel_(&self.handle, &mut good, &mut total) };
        usize::try_from(good).unwrap_or(0)
    }
}

impl Drop for FortranBridge {
    fn drop(&mut self) {
        // SAFETY: the pointer is to a variable of its type.
        unsafe { fbridge::fbridgedelete_(&self.handle) };
    }
}
