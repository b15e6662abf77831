//! UMAMI with arrays in GPU memory, through its C functions, each process in a separate program.
//!
//! Rates are those of a sampler's calls: several on the legacy default stream, one after the other, by the GPU's clock.

use crate::events::Batch;
use crate::support::{Gpu, backend_name, is_child, number, on_cpu};
use mebridge::gpu::driver::{Buffer, Driver, Event, Stream};
use mebridge::process::Process;
use mebridge::sample::{Momenta, Outputs, Points, Rows, Sample, SampleAnswers};
use mebridge_capi::umami::{
    umami_free, umami_get_meta, umami_initialize, umami_matrix_element, umami_set_parameter,
};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The process of a child.
const PROCESS: &str = "CUDACPP_RUNTIME_PROCESS";
const PROCESSES: [&str; 6] = [
    "e+ e- > mu+ mu-",
    "g g > t t~",
    "u g > t t~ u",
    "g g > t t~ g",
    "g g > t t~ g g",
    "u u~ > w+ w- g",
];
const CHAIN: [(&str, usize); 4] = [
    ("g g > t t~", 1 << 20),
    ("g g > t t~ g", 1 << 19),
    ("g g > t t~ g g", 1 << 17),
    ("g g > t t~ g g g", 1 << 15),
];

type Handle = *mut c_void;

/// Runs a test in a separate program for each process.
fn children(gpu: &Gpu, test: &str, processes: impl IntoIterator<Item = &'static str>) {
    let cache = crate::support::cache();
    for process in processes {
        let cache = cache.to_str().expect("a name in UTF-8").to_owned();
        gpu.child(
            test,
            &[
                (PROCESS, process.into()),
                ("CUDACPP_RUNTIME_BACKEND", backend_name().into()),
                ("CUDACPP_RUNTIME_CACHE", cache),
            ],
        );
    }
}

pub fn own_process() -> Process {
    let name = std::env::var(PROCESS).expect("a process");
    mebridge::generate(&name).expect("a process").remove(0)
}

fn error() -> String {
    // SAFETY: it returns a string that ends in NUL.
    let text = unsafe { CStr::from_ptr(mebridge_capi::c::mebridge_last_error()) };
    text.to_string_lossy().into_owned()
}

fn handle() -> Handle {
    let mut handle = std::ptr::null_mut();
    // SAFETY: as the interface requires.
    let status = unsafe { umami_initialize(&raw mut handle, c"".as_ptr()) };
    assert_eq!(status, 0, "{}", error());
    handle
}

/// Arrays in the memory of the GPU.
struct Device {
    driver: Arc<dyn Driver>,
    /// The legacy default stream.
    stream: Stream,
    buffers: Vec<Buffer>,
}

impl Device {
    fn new(gpu: &Gpu) -> Device {
        let driver = gpu.driver().clone();
        // SAFETY: every GPU has it.
        let stream = unsafe { Stream::from_caller(&driver, 0) };
        Device {
            driver,
            stream,
            buffers: Vec::new(),
        }
    }

    fn room(&mut self, bytes: usize) -> *mut c_void {
        let buffer = Buffer::new(&self.driver, bytes).expect("memory");
        self.buffers.push(buffer);
        let at = self.buffers[self.buffers.len() - 1].pointer();
        at as usize as *mut c_void
    }

    fn put<T: Copy>(&mut self, numbers: &[T]) -> *mut c_void {
        let size = size_of_val(numbers);
        let to = self.room(size);
        // SAFETY: numbers; as many bytes were taken, and the stream is waited for.
        unsafe {
            let bytes = std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size);
            self.stream.upload(to as u64, bytes).expect("a copy");
        }
        self.wait();
        to
    }

    fn get<T: Copy + Default>(&self, from: *mut c_void, count: usize) -> Vec<T> {
        let mut numbers = vec![T::default(); count];
        let size = size_of_val(&numbers[..]);
        // SAFETY: numbers of any bits; as many bytes are there, and the stream is waited for.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast::<u8>(), size);
            self.stream.download(bytes, from as u64).expect("a copy");
        }
        self.wait();
        numbers
    }

    fn wait(&self) {
        self.stream.synchronize().expect("the default stream");
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.wait();
    }
}

/// Inputs and outputs of a call for all events of a batch.
struct Arrays {
    count: usize,
    inputs: Vec<(c_int, *const c_void)>,
    outputs: Vec<(c_int, *mut c_void)>,
}

// SAFETY: addresses in the memory of the GPU.
unsafe impl Sync for Arrays {}

impl Arrays {
    fn new(device: &mut Device, batch: &Batch, diagrams: usize) -> Arrays {
        let (count, legs) = (batch.g_s.len(), batch.legs);
        let mut columns = vec![0.0; batch.momenta.len()];
        for event in 0..count {
            for i in 0..4 * legs {
                columns[event + count * (i % 4 * legs + i / 4)] =
                    batch.momenta[4 * legs * event + i];
            }
        }
        let alpha_s: Vec<f64> = batch
            .g_s
            .iter()
            .map(|g| g * g / (4.0 * std::f64::consts::PI))
            .collect();
        let inputs = vec![
            (0, device.put(&columns).cast_const()),
            (1, device.put(&alpha_s).cast_const()),
            (3, device.put(&batch.random_color).cast_const()),
            (4, device.put(&batch.random_helicity).cast_const()),
            (5, device.put(&batch.random_color).cast_const()),
        ];
        let outputs = vec![
            (0, device.room(8 * count)),
            (1, device.room(8 * count * diagrams)),
            (2, device.room(4 * count)),
            (3, device.room(4 * count)),
            (4, device.room(4 * count)),
        ];
        Arrays {
            count,
            inputs,
            outputs,
        }
    }

    /// Calls for some of the events, with the first outputs.
    fn call(&self, handle: Handle, first: usize, count: usize, outputs: usize) -> i32 {
        let (input_keys, inputs): (Vec<_>, Vec<_>) = self.inputs.iter().copied().unzip();
        let (output_keys, outputs): (Vec<_>, Vec<_>) =
            self.outputs[..outputs].iter().copied().unzip();
        // SAFETY: arrays of these sizes in the memory of the GPU.
        unsafe {
            umami_matrix_element(
                handle,
                count,
                self.count,
                first,
                inputs.len(),
                input_keys.as_ptr(),
                inputs.as_ptr(),
                outputs.len(),
                output_keys.as_ptr(),
                outputs.as_ptr(),
            )
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn numbers_are_those_of_the_cpu() {
    const TEST: &str = "umami::numbers_are_those_of_the_cpu";
    let Some(gpu) = Gpu::get() else {
        return;
    };
    if !is_child(TEST) {
        return children(&gpu, TEST, PROCESSES);
    }
    let process = own_process();
    let diagrams = process.diagrams as usize;
    let count = 4096;
    let mut batch = Batch::random(&process, count);
    batch.momenta[4 * batch.legs * 1000] = f64::NAN;
    let mut device = Device::new(&gpu);
    let arrays = Arrays::new(&mut device, &batch, diagrams);
    let kept = handle();
    let mut on_gpu = 0;
    // SAFETY: an int.
    assert_eq!(unsafe { umami_get_meta(0, (&raw mut on_gpu).cast()) }, 0);
    assert_eq!(on_gpu, if backend_name() == "cuda" { 1 } else { 2 });
    // Four threads with handles of their own, each for some of the events.
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let arrays = &arrays;
            scope.spawn(move || {
                let handle = handle();
                for begin in (thread * 1024..thread * 1024 + 1024).step_by(300) {
                    let events = 300.min(thread * 1024 + 1024 - begin);
                    assert_eq!(arrays.call(handle, begin, events, 5), 0, "{}", error());
                }
                umami_free(handle);
            });
        }
    });
    device.wait();
    let found = |output: usize| arrays.outputs[output].1;
    let mes: Vec<f64> = device.get(found(0), count);
    let amp2: Vec<f64> = device.get(found(1), count * diagrams);
    let choices = [2, 3, 4].map(|i| device.get::<i32>(found(i), count));

    let (mut x, mut shares) = (vec![0.0; count], vec![0.0; count * diagrams]);
    let mut chosen = [(); 3].map(|()| vec![0; count]);
    let [color, helicity, diagram] = &mut chosen;
    let first = shares.as_mut_ptr();
    let bad = on_cpu(&process)
        .evaluate(
            &Sample {
                points: Points {
                    momenta: Momenta::rows(&batch.momenta, batch.legs),
                    g_s: &batch.g_s,
                    random_helicity: &batch.random_helicity,
                    random_color: &batch.random_color,
                },
                random_diagram: &batch.random_color,
                helicity: None,
                diagram: None,
                diagrams: true,
            },
            SampleAnswers {
                outputs: Outputs {
                    matrix_elements: &mut x,
                    helicity,
                    color,
                },
                diagram,
                // SAFETY: all rows were allocated.
                amp2: Some(unsafe { Rows::new(first, count, diagrams, count) }),
            },
        )
        .expect("a sample");
    assert_eq!((bad.count, bad.first), (1, Some(1000)));
    let (mut worst, mut worst_share) = (0.0f64, 0.0f64);
    for event in (0..count).filter(|&event| event != 1000) {
        worst = worst.max((mes[event] / x[event] - 1.0).abs());
        for row in 0..diagrams {
            let at = row * count + event;
            worst_share = worst_share.max((amp2[at] - shares[at]).abs());
        }
        let of = |c: &[Vec<i32>; 3]| [c[0][event], c[1][event], c[2][event]];
        assert_eq!(of(&choices), of(&chosen), "{} event {event}", process.name);
    }
    println!(
        "{}: |M|^2 {worst:.1e}, shares {worst_share:.1e}",
        process.name
    );
    // Near a collinear gluon at 1.5 TeV the last digit of a momentum is worth 3e-12 of W pairs.
    assert!(worst < 1e-10 && worst_share < 1e-11);
    assert!(mes[1000].is_nan() && (0..diagrams).all(|row| amp2[row * count + 1000] == 0.0));

    // Memory of the host is refused.
    let alpha_s = [0.118; 4];
    let host = Arrays {
        count,
        inputs: vec![arrays.inputs[0], (1, alpha_s.as_ptr().cast())],
        outputs: arrays.outputs.clone(),
    };
    assert_eq!(host.call(kept, 0, 4, 5), 1);
    assert!(
        error().contains("alpha_s are not in the memory of"),
        "{}",
        error()
    );
    // The NULL stream by its key, and another card.
    let streamed = Arrays {
        outputs: vec![arrays.outputs[0], (5, std::ptr::null_mut())],
        ..Arrays::new(&mut device, &batch, diagrams)
    };
    assert_eq!(streamed.call(kept, 0, count, 2), 0, "{}", error());
    // SAFETY: a handle of ours and a C string.
    let set = unsafe { umami_set_parameter(kept, c"MT".as_ptr(), 150.0, 0.0) };
    assert!([0, 2].contains(&set), "{}", error());
    assert_eq!(streamed.call(kept, 0, count, 2), 0, "{}", error());
    let other: Vec<f64> = device.get(arrays.outputs[0].1, count);
    if set == 0 {
        assert!(other.iter().all(|x| x.is_nan()), "momenta of another mass");
    }
    umami_free(kept);
}

/// Calls for the first events of a batch, with all outputs and with one.
pub fn evaluate_few(gpu: &Gpu, process: &Process, batch: &Batch, counts: &[usize]) {
    let mut device = Device::new(gpu);
    let arrays = Arrays::new(&mut device, batch, process.diagrams as usize);
    let handle = handle();
    for &count in counts {
        for outputs in [5, 1] {
            assert_eq!(arrays.call(handle, 0, count, outputs), 0, "{}", error());
            let mes: Vec<f64> = device.get(arrays.outputs[0].1, count);
            // Single precision may lose some.
            let finite = mes.iter().filter(|x| x.is_finite()).count();
            assert!(2 * finite > count, "{finite} of {count} events");
        }
    }
    umami_free(handle);
}

#[test]
fn rates_of_calls() {
    const TEST: &str = "umami::rates_of_calls";
    let Some(gpu) = Gpu::get() else {
        return;
    };
    if !is_child(TEST) {
        return children(&gpu, TEST, CHAIN.map(|c| c.0));
    }
    let process = own_process();
    let most = CHAIN
        .iter()
        .find(|c| std::env::var(PROCESS).is_ok_and(|p| p == c.0));
    let most = most.map_or(1 << 15, |c| c.1);
    let diagrams = process.diagrams as usize;
    let mut device = Device::new(&gpu);
    // The same events over and over: making them takes longer than all else.
    let some = Batch::random(&process, 4096.min(most));
    let start = Instant::now();
    let handle = handle();
    println!(
        "{}: initialised in {:.2} s",
        process.name,
        start.elapsed().as_secs_f64()
    );
    for count in [most / 64, most / 8, most] {
        let batch = some.repeated(count);
        let arrays = Arrays::new(&mut device, &batch, diagrams);
        for (what, outputs) in [("|M|^2 alone", 1), ("all outputs", 5)] {
            assert_eq!(arrays.call(handle, 0, count, outputs), 0, "{}", error());
            device.wait();
            let begin = Event::new(&device.driver).expect("a clock");
            let end = Event::new(&device.driver).expect("a clock");
            let mut rates = Vec::new();
            let mut host = Duration::ZERO;
            for _ in 0..5 {
                let calls = 8;
                device.stream.record(&begin).expect("a clock");
                let start = Instant::now();
                for _ in 0..calls {
                    assert_eq!(arrays.call(handle, 0, count, outputs), 0);
                }
                host = start.elapsed() / calls;
                device.stream.record(&end).expect("a clock");
                device.wait();
                let seconds = begin.seconds(&end).expect("a time");
                rates.push(f64::from(calls) * count as f64 / seconds);
            }
            rates.sort_by(f64::total_cmp);
            println!(
                "{} {count} events {what}: {:.3e} events/s (a call returns after {:.1} us)",
                process.name,
                rates[2],
                host.as_secs_f64() * 1e6
            );
        }
        device.buffers.clear();
    }
    umami_free(handle);
}

/// Bytes of memory of this program that are in use.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn handles_leave_nothing_behind() {
    const TEST: &str = "umami::handles_leave_nothing_behind";
    let Some(gpu) = Gpu::get() else {
        return;
    };
    if !is_child(TEST) {
        return children(&gpu, TEST, ["g g > t t~ g"]);
    }
    let process = own_process();
    let batch = Batch::random(&process, 256);
    let mut device = Device::new(&gpu);
    let arrays = Arrays::new(&mut device, &batch, process.diagrams as usize);
    let limit = Duration::from_secs(number("MEBRIDGE_TEST_SECONDS", 60));
    // Handles beside another one share what is compiled; each alone compiles, or takes from the cache, anew.
    for (what, others, wanted) in [("beside another", true, 10_000), ("alone", false, 200)] {
        let kept = others.then(handle);
        let (start, mut done, mut before) = (Instant::now(), 0, (0, None));
        while done < wanted && start.elapsed() < limit {
            let handle = handle();
            assert_eq!(
                arrays.call(handle, 0, 256, if done % 2 == 0 { 5 } else { 1 }),
                0
            );
            assert_eq!(umami_free(handle), 0);
            done += 1;
            if done == wanted / 10 {
                device.wait();
                before = (gpu.free(), resident());
            }
        }
        device.wait();
        let after = (gpu.free(), resident());
        let lost = before.0 as i64 - after.0 as i64;
        let grown = match (before.1, after.1) {
            (Some(before), Some(after)) => after as i64 - before as i64,
            _ => 0,
        };
        println!(
            "{done} handles {what} in {:.1} s: {lost} bytes of the GPU and {grown} of the host more than after {}",
            start.elapsed().as_secs_f64(),
            wanted / 10
        );
        assert!(done > wanted / 10, "{done} are too few to compare");
        assert!(lost.abs() <= 1 << 20, "{lost} bytes of the GPU's memory");
        assert!(grown < 20_000_000, "{grown} bytes of memory");
        if let Some(kept) = kept {
            assert_eq!(umami_free(kept), 0);
        }
    }
}
