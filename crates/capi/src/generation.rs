//! The two generations of the Fortran contract, with and without `igraph`, and how they are distinguished.
//!
//! Up to MG5aMC 3.6 `fbridgesequence` has ten arguments, from 3.7 on eleven: `igraph` was inserted after `channel`. The
//! symbol is the same, and an executable does not record which of the two it calls. So the generation is *assumed*:
//! from the switch `CUDACPP_RUNTIME_IGRAPH`, else from the process (the importer sees it in the directory), else with
//! `igraph`. A wrong assumption shifts every following argument: integers would be overwritten by matrix elements. The
//! assumption is therefore tested before the first call is served, and again whenever its addresses change.
//!
//! The functions declare the larger number of arguments. If the caller passed fewer, the last one is whatever lies in
//! its place on the stack. Both readings of the arguments are tested:
//!
//! * every input array lies in readable memory, every output array in writable memory, all of them of the length that
//!   `nevt` requires and aligned for their types;
//! * no output array overlaps another array;
//! * `goodHelOnly` points to a byte that a LOGICAL can have: 0, 1 or 255 (.TRUE. of some compilers);
//! * the values of `igraph` are from 0 to the number of configurations.
//!
//! A call without `igraph` that is read with it is detected: its LOGICAL takes the place of `selcol`, and a constant
//! `.TRUE.` or `.FALSE.`, as MadEvent passes it, is not writable. A call with `igraph` that is read without it may pass
//! every test (`igraph` in the place of `mes`, and so on). But then the other reading passes as well, and its
//! `goodHelOnly` lies in read-only memory while that of the assumed reading is writable. A caller that passes
//! `goodHelOnly` in a variable cannot be distinguished in rare cases; then the assumption stands.
//!
//! Without `/proc/self/maps`, only null, alignment and overlap are tested.

use super::memory::Maps;
use super::pointers::{CallerArray, PointerAccess};
use mebridge::error::{Error, Result};
use mebridge::process::Contract;
use mebridge::runtime::Igraph;
use std::fmt;

/// The two generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Without `igraph`: MG5aMC up to 3.6.
    Without,
    /// With `igraph`: MG5aMC from 3.7 on.
    With,
}

impl Generation {
    fn other(self) -> Generation {
        match self {
            Generation::Without => Generation::With,
            Generation::With => Generation::Without,
        }
    }
}

impl Generation {
    /// Name in messages.
    fn name(self) -> &'static str {
        match self {
            Generation::Without => "without igraph (MG5aMC up to 3.6)",
            Generation::With => "with igraph (MG5aMC 3.7 and later)",
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Source of the assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `CUDACPP_RUNTIME_IGRAPH`.
    Switch,
    /// The process's directory.
    Process,
    /// Neither of them.
    Default,
}

impl Reason {
    /// Name in messages.
    fn name(self) -> &'static str {
        match self {
            Reason::Switch => "the switch CUDACPP_RUNTIME_IGRAPH",
            Reason::Process => "the directory that the process was imported from",
            Reason::Default => "the default, since neither switch nor process decides",
        }
    }
}

/// Returns the generation to assume, and why.
pub fn assume(switch: Igraph, contract: Contract) -> (Generation, Reason) {
    match (switch, contract) {
        (Igraph::Yes, _) => (Generation::With, Reason::Switch),
        (Igraph::No, _) => (Generation::Without, Reason::Switch),
        (Igraph::Auto, Contract::WithIgraph) => (Generation::With, Reason::Process),
        (Igraph::Auto, Contract::WithoutIgraph) => (Generation::Without, Reason::Process),
        (Igraph::Auto, Contract::Unknown) => (Generation::With, Reason::Default),
    }
}

/// The addresses of one call, in the order of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// `fbridgesequence`, or `fbridgesequence_nomultichannel`.
    pub multichannel: bool,
    /// `momenta`, `g_s`, `rndhel`, `rndcol`.
    pub head: [usize; 4],
    /// `channel`, in `fbridgesequence`.
    pub channels: usize,
    /// The following arguments; in a call without `igraph`, the last one was not passed.
    pub tail: [usize; 5],
}

impl Call {
    /// Returns the name of the Fortran function.
    pub fn function(&self) -> &'static str {
        if self.multichannel {
            "fbridgesequence"
        } else {
            "fbridgesequence_nomultichannel"
        }
    }
}

/// The arguments of a call, interpreted as one of the generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Reading {
    pub momenta: usize,
    pub g_s: usize,
    pub random_helicity: usize,
    pub random_color: usize,
    pub channels: Option<usize>,
    /// `None` in a call without `igraph`, or if it is a null pointer.
    pub igraph: Option<usize>,
    pub matrix_elements: usize,
    pub helicity: usize,
    pub color: usize,
    pub good_helicities_only: usize,
}

impl Reading {
    /// Reads a call.
    pub fn new(call: &Call, generation: Generation) -> Reading {
        let [momenta, g_s, random_helicity, random_color] = call.head;
        let (igraph, rest) = match generation {
            Generation::With => (Some(call.tail[0]), &call.tail[1..5]),
            Generation::Without => (None, &call.tail[0..4]),
        };
        Reading {
            momenta,
            g_s,
            random_helicity,
            random_color,
            channels: call.multichannel.then_some(call.channels),
            igraph: igraph.filter(|&address| address != 0),
            matrix_elements: rest[0],
            helicity: rest[1],
            color: rest[2],
            good_helicities_only: rest[3],
        }
    }

    /// Returns the reason why this reading is impossible, if it is.
    fn defect(&self, shape: &CallSizes, maps: Option<&Maps>) -> Option<String> {
        let n = shape.nevt;
        let inputs = [
            ("momenta", Some(self.momenta), 8, 4 * shape.legs),
            ("g_s", Some(self.g_s), 8, 1),
            ("rndhel", Some(self.random_helicity), 8, 1),
            ("rndcol", Some(self.random_color), 8, 1),
            ("channel", self.channels, 4, 1),
            ("igraph", self.igraph, 4, 1),
        ];
        let outputs = [
            ("mes", Some(self.matrix_elements), 8, 1),
            ("selhel", Some(self.helicity), 4, 1),
            ("selcol", Some(self.color), 4, 1),
        ];
        let mut arrays: Vec<(&str, CallerArray)> = Vec::with_capacity(9);
        for (all, access) in [
            (&inputs[..], PointerAccess::Read),
            (&outputs, PointerAccess::Write),
        ] {
            for &(name, address, size, each) in all {
                let Some(address) = address else { continue };
                let array = CallerArray {
                    address,
                    size,
                    count: n.saturating_mul(each),
                    access,
                };
                let defect = array.defect(name, maps);
                if defect.is_some() {
                    return defect;
                }
                arrays.push((name, array));
            }
        }
        for (i, (name, array)) in arrays.iter().enumerate() {
            if array.access == PointerAccess::Write
                && let Some((other, _)) = arrays[..i].iter().find(|(_, a)| a.overlaps(array))
            {
                return Some(format!("{other} and {name} overlap"));
            }
        }
        let flag = self.good_helicities_only;
        let defect =
            CallerArray::new(flag as *const u8, 1, PointerAccess::Read).defect("goodHelOnly", maps);
        if defect.is_some() {
            return defect;
        }
        // Without maps, nothing more can be tested.
        maps?;
        // SAFETY: the byte lies in a region that the system maps as readable.
        let byte = unsafe { (flag as *const u8).read_volatile() };
        if ![0, 1, 255].contains(&byte) {
            return Some(format!("goodHelOnly is no LOGICAL (its byte is {byte})"));
        }
        let igraph = self.igraph?;
        for event in 0..n {
            // SAFETY: the array lies in a readable region and is aligned, as tested above.
            let value = unsafe { (igraph as *const i32).add(event).read_volatile() };
            if !(0..=shape.configurations as i64).contains(&i64::from(value)) {
                return Some(format!(
                    "igraph of event {event} (from 0) is {value}, the process has \
                     configurations 1 to {}",
                    shape.configurations
                ));
            }
        }
        None
    }
}

/// Sizes that determine the lengths and values of the arguments.
#[derive(Clone, Copy, Debug)]
pub struct CallSizes {
    /// Number of events of a call.
    pub nevt: usize,
    /// Number of external legs.
    pub legs: usize,
    /// Number of configurations of the process.
    pub configurations: usize,
}

/// The caller of one bridge: its assumed generation and the calls that fit it.
#[derive(Clone, Debug)]
pub struct Caller {
    generation: Generation,
    reason: Reason,
    /// Calls that have passed the test; MadEvent has three.
    passed: Vec<Call>,
}

/// Number of different calls to remember; then the oldest is forgotten.
const REMEMBERED: usize = 8;

impl Caller {
    /// A caller of the assumed generation, with no calls yet.
    pub fn new(switch: Igraph, contract: Contract) -> Caller {
        let (generation, reason) = assume(switch, contract);
        Caller {
            generation,
            reason,
            passed: Vec::new(),
        }
    }

    /// Returns the assumed generation.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Reads a call after testing that its addresses fit the assumed generation.
    pub fn read(&mut self, call: &Call, shape: &CallSizes) -> Result<Reading> {
        let reading = Reading::new(call, self.generation);
        if !self.passed.contains(call) {
            self.test(call, &reading, shape, Maps::read().as_ref())?;
            if self.passed.len() == REMEMBERED {
                self.passed.remove(0);
            }
            self.passed.push(*call);
        }
        Ok(reading)
    }

    fn test(
        &self,
        call: &Call,
        assumed: &Reading,
        shape: &CallSizes,
        maps: Option<&Maps>,
    ) -> Result<()> {
        let generation = self.generation;
        let other = Reading::new(call, generation.other());
        let defect = match assumed.defect(shape, maps) {
            Some(defect) => defect,
            None if generation == Generation::With => return Ok(()),
            None => {
                // A call with igraph may pass the reading without it, see the module documentation.
                let constant = maps.is_some_and(|maps| {
                    !maps.writable(other.good_helicities_only, 1)
                        && maps.writable(assumed.good_helicities_only, 1)
                });
                if !constant || other.defect(shape, maps).is_some() {
                    return Ok(());
                }
                "there is a LOGICAL constant where igraph would have moved it".into()
            }
        };
        let fits_other = maps.is_some() && other.defect(shape, maps).is_none();
        Err(if fits_other {
            Error::Generation {
                function: call.function(),
                assumed: generation.name(),
                reason: self.reason.name(),
                defect,
                other: generation.other().name(),
                value: match generation.other() {
                    Generation::With => "yes",
                    Generation::Without => "no",
                },
            }
        } else {
            Error::Call {
                function: call.function(),
                what: format!(
                    "{defect} (arguments read as those of a call {generation}, because of \
                     {}; with {} events of {} legs)",
                    self.reason.name(),
                    shape.nevt,
                    shape.legs
                ),
            }
        })
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    const SHAPE: CallSizes = CallSizes {
        nevt: 4,
        legs: 4,
        configurations: 3,
    };
    static TRUE: i32 = 1;
    static FALSE: i32 = 0;

    /// The arrays of a caller, separated from each other and initially zero.
    struct Arrays {
        doubles: Vec<f64>,
        integers: Vec<i32>,
    }

    impl Arrays {
        fn new() -> Arrays {
            Arrays {
                doubles: vec![0.0; 7 * 64],
                integers: vec![0; 5 * 64],
            }
        }

        fn double(&self, n: usize) -> usize {
            self.doubles[64 * n..].as_ptr() as usize
        }

        fn integer(&self, n: usize) -> usize {
            self.integers[64 * n..].as_ptr() as usize
        }

        fn call(
            &self,
            multichannel: bool,
            generation: Generation,
            flag: usize,
            junk: usize,
        ) -> Call {
            let (mes, hel, col) = (self.double(4), self.integer(0), self.integer(1));
            Call {
                multichannel,
                head: [0, 1, 2, 3].map(|n| self.double(n)),
                channels: self.integer(2),
                tail: match generation {
                    Generation::With => [self.integer(3), mes, hel, col, flag],
                    Generation::Without => [mes, hel, col, flag, junk],
                },
            }
        }
    }

    fn constant(flag: &'static i32) -> usize {
        std::ptr::from_ref(flag) as usize
    }

    fn caller(switch: Igraph) -> Caller {
        Caller::new(switch, Contract::Unknown)
    }

    #[test]
    fn the_switch_goes_before_the_process() {
        use Generation::{With, Without};
        assert_eq!(
            assume(Igraph::Auto, Contract::Unknown),
            (With, Reason::Default)
        );
        assert_eq!(
            assume(Igraph::Auto, Contract::WithoutIgraph),
            (Without, Reason::Process)
        );
        assert_eq!(
            assume(Igraph::Auto, Contract::WithIgraph),
            (With, Reason::Process)
        );
        assert_eq!(
            assume(Igraph::Yes, Contract::WithoutIgraph),
            (With, Reason::Switch)
        );
        assert_eq!(
            assume(Igraph::No, Contract::WithIgraph),
            (Without, Reason::Switch)
        );
    }

    #[test]
    fn a_right_pairing_passes_with_any_junk_behind_it() {
        let arrays = Arrays::new();
        let variable = [1i32; 4];
        for multichannel in [true, false] {
            for flag in [
                constant(&TRUE),
                constant(&FALSE),
                variable.as_ptr() as usize,
            ] {
                let call = arrays.call(multichannel, Generation::With, flag, 0);
                let reading = caller(Igraph::Yes).read(&call, &SHAPE).unwrap();
                assert_eq!(reading.igraph, Some(arrays.integer(3)));
                assert_eq!(reading.good_helicities_only, flag);
                assert_eq!(reading.channels.is_some(), multichannel);
                for junk in [
                    0,
                    1,
                    usize::MAX,
                    arrays.double(5),
                    variable.as_ptr() as usize,
                ] {
                    let call = arrays.call(multichannel, Generation::Without, flag, junk);
                    let reading = caller(Igraph::No).read(&call, &SHAPE).unwrap();
                    assert_eq!(reading.igraph, None);
                    assert_eq!(reading.matrix_elements, arrays.double(4));
                    assert_eq!(reading.good_helicities_only, flag);
                }
            }
        }
    }

    #[test]
    fn a_wrong_pairing_is_seen() {
        let arrays = Arrays::new();
        for multichannel in [true, false] {
            for flag in [&TRUE, &FALSE] {
                let with = arrays.call(multichannel, Generation::With, constant(flag), 0);
                let text = caller(Igraph::No)
                    .read(&with, &SHAPE)
                    .unwrap_err()
                    .to_string();
                assert!(
                    text.contains("with igraph (MG5aMC 3.7 and later)"),
                    "{text}"
                );
                assert!(text.contains("CUDACPP_RUNTIME_IGRAPH=yes"), "{text}");
                for junk in [0, 1, usize::MAX, arrays.double(5)] {
                    let without =
                        arrays.call(multichannel, Generation::Without, constant(flag), junk);
                    let text = caller(Igraph::Yes)
                        .read(&without, &SHAPE)
                        .unwrap_err()
                        .to_string();
                    assert!(text.contains("without igraph (MG5aMC up to 3.6)"), "{text}");
                    assert!(text.contains("CUDACPP_RUNTIME_IGRAPH=no"), "{text}");
                }
            }
        }
    }

    #[test]
    fn impossible_arguments_are_named() {
        let arrays = Arrays::new();
        let good = arrays.call(true, Generation::With, constant(&TRUE), 0);
        let error = |change: &dyn Fn(&mut Call)| {
            let mut call = good;
            change(&mut call);
            caller(Igraph::Yes)
                .read(&call, &SHAPE)
                .unwrap_err()
                .to_string()
        };
        assert!(error(&|c| c.head[0] = 0).contains("momenta is a null pointer"));
        assert!(error(&|c| c.head[1] = 4096).contains("g_s does not point at 4 doubles"));
        assert!(error(&|c| c.head[2] += 4).contains("rndhel is not aligned"));
        assert!(error(&|c| c.tail[1] = c.head[3]).contains("rndcol and mes overlap"));
        assert!(error(&|c| c.tail[2] = c.tail[3] + 4).contains("selhel and selcol overlap"));
        assert!(error(&|c| c.tail[1] = constant(&TRUE) & !7).contains("mes does not point"));
        static SEVEN: i32 = 7;
        assert!(error(&|c| c.tail[4] = constant(&SEVEN)).contains("goodHelOnly is no LOGICAL"));
        assert!(error(&|c| c.tail[4] = 0).contains("goodHelOnly is a null pointer"));
        let text = error(&|c| c.head[0] = 0);
        assert!(text.contains("fbridgesequence"), "{text}");
    }

    #[test]
    fn igraph_must_be_a_configuration() {
        let mut arrays = Arrays::new();
        arrays.integers[3 * 64 + 2] = 4;
        let call = arrays.call(true, Generation::With, constant(&TRUE), 0);
        let text = caller(Igraph::Yes)
            .read(&call, &SHAPE)
            .unwrap_err()
            .to_string();
        assert!(text.contains("igraph of event 2 (from 0) is 4"), "{text}");
        assert!(text.contains("1 to 3"), "{text}");
        arrays.integers[3 * 64 + 2] = 3;
        caller(Igraph::Yes).read(&call, &SHAPE).unwrap();
    }

    #[test]
    fn without_maps_the_tests_are_weaker_but_there() {
        let arrays = Arrays::new();
        let call = arrays.call(true, Generation::With, constant(&TRUE), 0);
        let reading = Reading::new(&call, Generation::With);
        let caller = caller(Igraph::Yes);
        caller.test(&call, &reading, &SHAPE, None).unwrap();
        let mut wrong = call;
        wrong.tail[1] = 0;
        let reading = Reading::new(&wrong, Generation::With);
        assert!(caller.test(&wrong, &reading, &SHAPE, None).is_err());
    }

    #[test]
    fn what_has_passed_is_remembered_and_forgotten() {
        let arrays = Arrays::new();
        let mut caller = caller(Igraph::Yes);
        let mut call = arrays.call(true, Generation::With, constant(&TRUE), 0);
        for n in 0..20 {
            call.head[0] = arrays.double(0) + 8 * n;
            caller.read(&call, &SHAPE).unwrap();
        }
        assert_eq!(caller.passed.len(), REMEMBERED);
        assert!(caller.passed.contains(&call));
    }
}
