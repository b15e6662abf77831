//! The Fortran functions, with arrays in ordinary memory and in memory that is pinned for the GPU.

use crate::events::{Ask, Batch, Outcome};
use crate::support::{Gpu, backend_name, cache, conclude, is_child, some};
use mebridge::gpu::driver::{Driver, Pinned};
use mebridge::runtime::{Precision, Switches};
use mebridge_capi::fbridge;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TEST: &str = "door::fortran_calls_are_answered_from_any_memory";
const PROCESS: &str = "MEBRIDGE_TEST_DOOR_PROCESS";
/// Duration of each measurement.
const MEASURED: Duration = Duration::from_millis(150);

static TRUE: i32 = 1;
static FALSE: i32 = 0;

/// An array.
enum Array {
    Ordinary(Vec<u64>),
    Pinned(Pinned),
}

impl Array {
    fn new(pinned: Option<&Arc<dyn Driver>>, bytes: usize) -> Array {
        match pinned {
            None => Array::Ordinary(vec![0; bytes.div_ceil(8)]),
            Some(driver) => Array::Pinned(Pinned::new(driver, bytes).expect("pinned memory")),
        }
    }

    /// One that holds these numbers.
    fn of<T: Copy>(pinned: Option<&Arc<dyn Driver>>, numbers: &[T]) -> Array {
        let mut array = Array::new(pinned, size_of_val(numbers));
        // SAFETY: it has this number of bytes, and there is no other pointer to it.
        unsafe {
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), array.start().cast(), numbers.len())
        };
        array
    }

    fn start(&mut self) -> *mut u8 {
        match self {
            Array::Ordinary(words) => words.as_mut_ptr().cast(),
            Array::Pinned(bytes) => bytes.as_mut_ptr(),
        }
    }

    /// As an argument of a Fortran function.
    fn argument(&mut self) -> *const c_void {
        self.start().cast_const().cast()
    }

    fn read<T: Copy>(&mut self, count: usize) -> Vec<T> {
        // SAFETY: this number of values of this type was written here.
        unsafe { std::slice::from_raw_parts(self.start().cast_const().cast(), count) }.to_vec()
    }
}

/// All arrays of calls with this number of events.
struct Arrays {
    nevt: usize,
    inputs: [Array; 6],
    squared: Array,
    helicity: Array,
    color: Array,
}

impl Arrays {
    fn new(batch: &Batch, nevt: usize, pinned: Option<&Arc<dyn Driver>>) -> Arrays {
        let answer = |bytes| Array::new(pinned, bytes);
        Arrays {
            nevt,
            inputs: [
                Array::of(pinned, &batch.momenta[..nevt * batch.legs * 4]),
                Array::of(pinned, &batch.g_s[..nevt]),
                Array::of(pinned, &batch.random_helicity[..nevt]),
                Array::of(pinned, &batch.random_color[..nevt]),
                Array::of(pinned, &batch.channels[..nevt]),
                Array::of(pinned, &vec![0i32; nevt]),
            ],
            squared: answer(8 * nevt),
            helicity: answer(4 * nevt),
            color: answer(4 * nevt),
        }
    }

    /// `fbridgesequence`, or `fbridgesequence_nomultichannel`.
    fn call(&mut self, handle: &u64, ask: Ask, only: &'static i32) {
        let [momenta, g_s, helicity, color, channels, igraph] = &mut self.inputs;
        let [momenta, g_s, helicity, color] = [momenta, g_s, helicity, color].map(Array::argument);
        let (channels, igraph) = (channels.argument(), igraph.argument());
        let answers = [&mut self.squared, &mut self.helicity, &mut self.color];
        let [squared, chosen, flow] = answers.map(Array::argument);
        let only = std::ptr::from_ref(only).cast();
        // SAFETY: all arrays have the number of events that the bridge was created for, and the
        // arguments are those of the generation with igraph.
        unsafe {
            match ask.channels {
                true => fbridge::fbridgesequence_(
                    handle, momenta, g_s, helicity, color, channels, igraph, squared, chosen, flow,
                    only,
                ),
                false => fbridge::fbridgesequence_nomultichannel_(
                    handle, momenta, g_s, helicity, color, igraph, squared, chosen, flow, only,
                ),
            }
        }
    }

    fn outcome(&mut self) -> Outcome {
        Outcome {
            squared: self.squared.read(self.nevt),
            helicity: self.helicity.read(self.nevt),
            color: self.color.read(self.nevt),
        }
    }

    /// Events a second.
    fn throughput(&mut self, handle: &u64, ask: Ask) -> f64 {
        let start = Instant::now();
        let mut events = 0;
        while start.elapsed() < MEASURED {
            self.call(handle, ask, &FALSE);
            events += self.nevt;
        }
        events as f64 / start.elapsed().as_secs_f64()
    }
}

#[test]
fn fortran_calls_are_answered_from_any_memory() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    if is_child(TEST) {
        return child(&gpu);
    }
    for (r, process) in some(&["gg_tt.P1_gg_ttx", "gg_ttgg.P1_gg_ttxgg"]) {
        // The library reads its settings from the environment of the program.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("process.mebridge");
        process.write(&file).expect("process file");
        let text = |path: std::path::PathBuf| path.to_str().expect("a name in UTF-8").to_owned();
        gpu.child(
            TEST,
            &[
                (PROCESS, r.name.clone()),
                ("CUDACPP_RUNTIME_PROCESS", text(file)),
                ("CUDACPP_RUNTIME_BACKEND", backend_name().into()),
                ("CUDACPP_RUNTIME_IGRAPH", "yes".into()),
                ("CUDACPP_RUNTIME_CACHE", text(cache())),
            ],
        );
    }
}

fn child(gpu: &Gpu) {
    let name = std::env::var(PROCESS).expect("the process");
    let (_, process) = some(&[&name]).pop().expect("it is there");
    let batch = Batch::random(&process, 16_384);
    let mut bridge = gpu.bridge(&process, Precision::Double);
    let right = [Ask::PLAIN, Ask::CHANNELS].map(|ask| batch.run(ask, &mut bridge));
    // Code compiled in the background is in the cache before the measurement.
    let switches = Switches {
        gpu_group: None,
        ..gpu.switches()
    };
    let mut generated = crate::support::bridge(&process, &switches);
    for ask in [Ask::PLAIN, Ask::CHANNELS] {
        batch.run(ask, &mut generated);
    }
    generated.wait_for_compiler();
    drop(generated);
    let legs = process.legs.len() as i32;
    let mut wrong = Vec::new();
    println!(
        "{name}, events a second without channels: ordinary memory, pinned; with channels: ordinary, pinned"
    );
    for nevt in (5..=14).map(|power| 1usize << power) {
        let mut handle = 0;
        let count = nevt as i32;
        // SAFETY: all four point at variables of their types.
        unsafe { fbridge::fbridgecreate_(&mut handle, &count, &legs, &4) };
        let mut kinds = [None, Some(gpu.driver())].map(|pinned| Arrays::new(&batch, nevt, pinned));
        let mut row = format!("{nevt:6}");
        for (ask, right) in [Ask::PLAIN, Ask::CHANNELS].into_iter().zip(&right) {
            for (kind, arrays) in ["ordinary", "pinned"].into_iter().zip(&mut kinds) {
                arrays.call(&handle, ask, &TRUE);
                arrays.call(&handle, ask, &FALSE);
                if let Some(what) = arrays.outcome().differs(&right.first(nevt), 1e-12) {
                    wrong.push(format!(
                        "{name}: {what} differ, {nevt} events, {kind} memory, {ask:?}"
                    ));
                }
                row += &format!(" {:10.3e}", arrays.throughput(&handle, ask));
                if let Some(what) = arrays.outcome().differs(&right.first(nevt), 1e-12) {
                    wrong.push(format!(
                        "{name}: {what} differ later, {nevt} events, {kind} memory, {ask:?}"
                    ));
                }
            }
        }
        println!("{row}");
        // SAFETY: points at a variable of its type.
        unsafe { fbridge::fbridgedelete_(&handle) };
    }
    conclude(&wrong);
}
