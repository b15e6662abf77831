//! Tests of the emulated GPU: it behaves like a GPU, and detects errors that a GPU would not.

use crate::cuda::check_where_named;
use crate::driver::{Buffer, Driver, Event, Module, Pinned, Pointer, Product, Shape, Stream};
use crate::structures::{DeviceStructure, device_structures};
use crate::{CompilationUnit, ModuleCache};
use mebridge_cache::Cache;
use mebridge_emulator::Emulator;
use mebridge_support::error::Result;
use mebridge_support::runtime::CachePlace;
use std::sync::{Arc, Barrier};

const SOURCE: &str = r#"
extern "C" __global__ void add(ARGUMENTS(Two) a) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < a.first; i += gridDim.x * blockDim.x)
        a.x[i] += a.second;
}

extern "C" __global__ void set(ARGUMENTS(Two) a) { a.x[(int)a.first] = a.second; }

extern "C" __global__ void by_shared(ARGUMENTS(Two) a) {
    SHARED(double, s);
    double before = s[a.first];
    s[a.first] = 1;
    __syncthreads();
    a.x[blockIdx.x + gridDim.x * blockIdx.y] = before != before ? s[a.first] + blockIdx.y : 0;
}

template <bool WAITS> DEVICE void rotate(const Two &a) {
    SHARED(double, s);
    const unsigned t = threadIdx.x + blockDim.x * threadIdx.y, threads = blockDim.x * blockDim.y;
    s[t] = a.x[t];
    if (WAITS) __syncthreads();
    a.x[t] = s[(t + a.first) % threads];
}
extern "C" __global__ void with_barrier(ARGUMENTS(Two) a) { rotate<true>(a); }
extern "C" __global__ void without_barrier(ARGUMENTS(Two) a) { rotate<false>(a); }
extern "C" __global__ void barrier_of_some(ARGUMENTS(Two) a) {
    if (threadIdx.x >= a.first) __syncthreads();
}

extern "C" __global__ void all(ARGUMENTS(Many) a) {
    a.x[0] = a.real;
    a.x[1] = a.last;
    a.y[0] = a.first;
}
"#;

device_structures! {
    /// Arguments of most kernels here.
    Two {
        x: [double *],
        first: [unsigned],
        second: [unsigned],
    }

    /// All types, with padding between them.
    Many {
        first: [unsigned],
        x: [double *],
        real: [double],
        y: [double *],
        last: [unsigned],
    }
}

/// One thread.
const ONE: Shape = Shape {
    blocks: [1; 3],
    threads: [1; 3],
    shared: 0,
};

fn two(x: Pointer, first: u32, second: u32) -> Two {
    Two { x, first, second }
}

/// Returns an emulator with the program loaded.
struct Setup {
    driver: Arc<dyn Driver>,
    module: Module,
    stream: Stream,
}

fn setup() -> Option<Setup> {
    let driver: Arc<dyn Driver> = Emulator::new(check_where_named)?;
    let numbers = concat!(
        include_str!("../../../cuda/compilers.cuh"),
        include_str!("../../../cuda/number.cuh"),
    );
    let structures = Two::declaration() + &Many::declaration();
    let options = ["-DREAL=double", "-DCOLOR=double"].map(String::from);
    let image = driver.compile(&format!("{numbers}{structures}{SOURCE}"), &options);
    let module = Module::load(&driver, &image.unwrap()).unwrap();
    let stream = Stream::new(&driver).unwrap();
    Some(Setup {
        driver,
        module,
        stream,
    })
}

impl Setup {
    fn launch(&self, stream: &Stream, name: &str, blocks: u32, arguments: &impl DeviceStructure) {
        let function = self.module.function(name, 64).unwrap();
        let shape = Shape {
            blocks: [blocks, 2, 1],
            threads: [1, 1, 1],
            shared: 64,
        };
        // SAFETY: the tests pass the arguments that the kernels expect.
        unsafe { stream.launch(&function, shape, &arguments.bytes()) }.unwrap();
    }

    fn upload(&self, to: Pointer, numbers: &[f64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        // SAFETY: the tests have allocated this much memory.
        unsafe { self.stream.upload(to, &bytes) }.unwrap();
        self.stream.synchronize().unwrap();
    }

    fn download(&self, from: Pointer, count: usize) -> Result<Vec<f64>> {
        let mut bytes = vec![0; 8 * count];
        // SAFETY: the bytes live until the stream has finished.
        unsafe { self.stream.download(&mut bytes, from)? };
        self.stream.synchronize()?;
        let numbers = bytes.as_chunks().0.iter();
        Ok(numbers.map(|&bytes| f64::from_ne_bytes(bytes)).collect())
    }
}

#[test]
fn kernels_run_over_all_blocks_with_all_arguments() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 32).unwrap();
    let at = memory.pointer();
    s.upload(at, &[1.0, 2.0, 3.0, 4.0]);
    s.launch(&s.stream, "add", 3, &two(at, 4, 10));
    // There are two rows of blocks.
    assert_eq!(s.download(at, 4).unwrap(), [21.0, 22.0, 23.0, 24.0]);
    s.launch(&s.stream, "by_shared", 2, &two(at, 7, 0));
    assert_eq!(s.download(at, 4).unwrap(), [1.0, 1.0, 2.0, 2.0]);
    let arguments = Many {
        first: 5,
        x: at,
        real: 0.5,
        y: at + 24,
        last: 6,
    };
    s.launch(&s.stream, "all", 1, &arguments);
    assert_eq!(s.download(at, 4).unwrap(), [0.5, 6.0, 2.0, 5.0]);
}

/// The threads of a block run up to each barrier, in either order: a thread sees the writes of another only after a
/// barrier.
#[test]
fn threads_of_a_block_meet_at_barriers() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 64).unwrap();
    let at = memory.pointer();
    let numbers = [0, 1, 2, 3, 4, 5, 6, 7].map(f64::from);
    let run = |name: &str, distance: u32| -> Result<Vec<f64>> {
        let function = s.module.function(name, 64).unwrap();
        let shape = Shape {
            blocks: [1, 1, 1],
            threads: [2, 4, 1],
            shared: 64,
        };
        let arguments = two(at, distance, 0).bytes();
        s.upload(at, &numbers);
        // SAFETY: the kernels expect this argument, and eight threads use eight numbers.
        unsafe { s.stream.launch(&function, shape, &arguments) }.unwrap();
        s.stream.synchronize()?;
        s.download(at, 8)
    };
    for distance in [1, 7] {
        let mut moved = numbers;
        moved.rotate_left(distance);
        assert_eq!(run("with_barrier", distance as u32).unwrap(), moved);
        assert_ne!(run("without_barrier", distance as u32).unwrap(), moved);
    }
    assert!(run("barrier_of_some", 0).is_ok());
    let message = run("barrier_of_some", 1).unwrap_err().to_string();
    assert!(message.contains("do not meet at barriers"), "{message}");
}

#[test]
fn writing_outside_is_found() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 32).unwrap();
    for index in [4, 100, -1i32, -128] {
        let arguments = two(memory.pointer(), index as u32, 1);
        s.launch(&s.stream, "set", 1, &arguments);
        let error = s.stream.synchronize().unwrap_err().to_string();
        assert!(error.contains("kernel set"), "{error}");
        // Restored, so that the error is reported only once.
        let byte = (memory.pointer() as i64 + 8 * i64::from(index)) as *mut u32;
        // SAFETY: the guarded zone around the memory.
        unsafe { byte.write(0xfff5_a5a5) };
        // SAFETY: as before.
        unsafe { byte.add(1).write(0xfff5_a5a5) };
    }
    s.launch(&s.stream, "by_shared", 1, &two(memory.pointer(), 8, 0));
    let error = s.stream.synchronize().unwrap_err().to_string();
    assert!(error.contains("shared memory"), "{error}");
    assert!(s.download(memory.pointer() + 8, 4).is_err());
    assert!(s.download(memory.pointer() - 8, 1).is_err());
    s.upload(memory.pointer(), &[1.0; 4]);
    s.download(memory.pointer() + 8, 3).unwrap();
}

/// Corresponds to `compute-sanitizer --tool initcheck` on a GPU.
#[test]
fn what_nothing_has_written_is_not_read() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 32).unwrap();
    let at = memory.pointer();
    let product = |a, b| Product {
        double: true,
        tf32: false,
        rows: 1,
        columns: 1,
        inner: 1,
        a: (a, 1, 1),
        b: (b, 1, 1),
        c: (at + 16, 1, 1),
        count: 1,
    };
    let multiply = |a, b| {
        // SAFETY: three numbers of the memory.
        unsafe { s.stream.multiply(product(a, b)) }.unwrap();
        s.stream.synchronize()
    };
    s.upload(at, &[2.0]);
    assert_eq!(s.download(at, 1).unwrap(), [2.0]);
    let errors = [
        s.download(at, 2).map(|_| ()),
        multiply(at, at + 8),
        multiply(at + 8, at),
    ];
    for error in errors {
        let message = error.unwrap_err().to_string();
        assert!(message.contains("nothing wrote it"), "{message}");
    }
    s.upload(at + 8, &[3.0]);
    multiply(at, at + 8).unwrap();
    assert_eq!(s.download(at, 3).unwrap(), [2.0, 3.0, 6.0]);
}

#[test]
fn work_waits_until_somebody_waits_for_it() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 8).unwrap();
    let at = memory.pointer();
    let other = Stream::new(&s.driver).unwrap();
    let [before, after] = [(); 2].map(|()| Event::new(&s.driver).unwrap());
    s.upload(at, &[0.0]);
    s.stream.record(&before).unwrap();
    assert!(before.seconds(&before).is_err());
    other.wait(&before).unwrap();
    s.launch(&other, "add", 1, &two(at, 1, 1));
    other.record(&after).unwrap();
    // The other queue has not been waited for: its kernel comes later.
    assert_eq!(s.download(at, 1).unwrap(), [0.0]);
    s.stream.wait(&after).unwrap();
    assert_eq!(s.download(at, 1).unwrap(), [2.0]);
    assert!(before.seconds(&after).unwrap() >= 0.0);
}

#[test]
fn recorded_work_is_done_again() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 8).unwrap();
    let at = memory.pointer();
    let other = Stream::new(&s.driver).unwrap();
    let [fork, join] = [(); 2].map(|()| Event::new(&s.driver).unwrap());
    let mut pinned = Pinned::new(&s.driver, 8).unwrap();
    assert_eq!(*pinned, [0; 8]);
    let record = |pinned: &Pinned, joined: bool| {
        let recording = s.stream.begin_recording().unwrap();
        // SAFETY: the pinned memory lives long enough.
        unsafe { s.stream.upload(at, pinned) }.unwrap();
        assert!(s.stream.synchronize().is_err());
        s.stream.record(&fork).unwrap();
        other.wait(&fork).unwrap();
        s.launch(&other, "add", 1, &two(at, 1, 1));
        other.record(&join).unwrap();
        if joined {
            s.stream.wait(&join).unwrap();
        }
        recording.end()
    };
    assert!(record(&pinned, false).is_err());
    let mut graph = record(&pinned, true).unwrap();
    pinned.copy_from_slice(&5.0f64.to_ne_bytes());
    for _ in 0..2 {
        // SAFETY: the memory of the recorded work exists.
        unsafe { s.stream.launch_graph(&mut graph) }.unwrap();
        assert_eq!(s.download(at, 1).unwrap(), [7.0]);
    }
}

#[test]
fn matrices_are_multiplied_column_by_column() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 8 * 32).unwrap();
    let at = memory.pointer();
    // Two pairs: A is 2 x 3 with columns of 3 numbers, B 3 x 1.
    let a = [1., 4., 0., 2., 5., 0., 3., 6., 0.];
    s.upload(at, &a);
    s.upload(at + 8 * 9, &[1., 10., 100., 2., 20., 200.]);
    let product = Product {
        double: true,
        tf32: false,
        rows: 2,
        columns: 1,
        inner: 3,
        a: (at, 3, 0),
        b: (at + 8 * 9, 3, 3),
        c: (at + 8 * 16, 2, 2),
        count: 2,
    };
    // SAFETY: all of it lies within the memory.
    unsafe { s.stream.multiply(product) }.unwrap();
    let got = s.download(at + 8 * 16, 4).unwrap();
    assert_eq!(got, [321., 654., 642., 1308.]);
}

#[test]
fn memory_ends() {
    let Some(emulator) = Emulator::with_memory(100, check_where_named) else {
        return;
    };
    let driver: Arc<dyn Driver> = emulator;
    let memory = Buffer::new(&driver, 60).unwrap();
    assert!(Buffer::new(&driver, 60).is_err());
    assert_eq!(driver.memory().unwrap(), (40, 100));
    drop(memory);
    Buffer::new(&driver, 60).unwrap();
}

#[test]
fn a_recording_that_is_forgotten_leaves_the_queue_as_it_was() {
    let Some(emulator) = Emulator::new(check_where_named) else {
        return;
    };
    let driver: Arc<dyn Driver> = emulator.clone();
    let stream = Stream::new(&driver).unwrap();
    drop(stream.begin_recording().unwrap());
    assert_eq!(emulator.kept_graphs(), 0);
    stream.synchronize().unwrap();
    let graph = stream.begin_recording().unwrap().end().unwrap();
    assert_eq!(emulator.kept_graphs(), 1);
    drop(graph);
    assert_eq!(emulator.kept_graphs(), 0);
}

#[test]
fn copies_that_are_waited_for_stay_within_their_buffer() {
    let Some(s) = setup() else { return };
    let buffer = Buffer::new(&s.driver, 16).unwrap();
    s.stream.write(&buffer, &[7; 16]).unwrap();
    s.stream.clear(&buffer, 3).unwrap();
    s.stream.write(&buffer, &[5; 8]).unwrap();
    let mut bytes = [0; 16];
    s.stream.read(&mut bytes, &buffer).unwrap();
    assert_eq!(bytes, [[5; 8], [3; 8]].concat()[..]);
    let message = s
        .stream
        .read(&mut [0; 17], &buffer)
        .unwrap_err()
        .to_string();
    assert!(message.contains("17 bytes of a buffer of 16"), "{message}");
    assert!(s.stream.write(&buffer, &[0; 17]).is_err());
    // A value read while the queue is recorded would appear later.
    let recording = s.stream.begin_recording().unwrap();
    assert!(s.stream.read(&mut bytes, &buffer).is_err());
    assert!(s.stream.write(&buffer, &bytes).is_err());
    drop(recording);
}

#[test]
fn what_belongs_to_another_gpu_is_refused() {
    let (Some(s), Some(other)) = (setup(), setup()) else {
        return;
    };
    let events = [&s, &other].map(|s| s.stream.put_event().unwrap());
    let buffer = Buffer::new(&other.driver, 8).unwrap();
    let mut graph = other.stream.begin_recording().unwrap().end().unwrap();
    let function = other.module.function("add", 0).unwrap();
    for refused in [
        s.stream.record(&events[1]),
        s.stream.wait(&events[1]),
        events[0].seconds(&events[1]).map(|_| ()),
        s.stream.clear(&buffer, 0),
        s.stream.write(&buffer, &[0; 8]),
        s.stream.read(&mut [0; 8], &buffer),
        // SAFETY: nothing is launched.
        unsafe { s.stream.launch_graph(&mut graph) },
        // SAFETY: as above.
        unsafe {
            s.stream
                .launch(&function, ONE, &two(buffer.pointer(), 0, 0).bytes())
        },
    ] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("another GPU"), "{message}");
    }
}

#[test]
#[should_panic(expected = "1 events were not given back")]
fn what_is_left_is_found() {
    let Some(emulator) = Emulator::new(check_where_named) else {
        panic!("1 events were not given back");
    };
    emulator.create_event().unwrap();
}

/// A kernel keeps its program alive, and a graph its kernels, including those of other recorded streams.
#[test]
fn handles_keep_what_they_depend_on() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 8).unwrap();
    s.upload(memory.pointer(), &[0.0]);
    let function = s.module.function("add", 0).unwrap();
    drop(s.module);
    let launch = |stream: &Stream| {
        let arguments = two(memory.pointer(), 1, 1).bytes();
        // SAFETY: the kernel expects this argument, and the memory exists.
        unsafe { stream.launch(&function, ONE, &arguments) }.unwrap();
    };
    launch(&s.stream);
    s.stream.synchronize().unwrap();
    let recording = s.stream.begin_recording().unwrap();
    let side = Stream::new(&s.driver).unwrap();
    side.wait(&s.stream.put_event().unwrap()).unwrap();
    launch(&side);
    s.stream.wait(&side.put_event().unwrap()).unwrap();
    let mut graph = recording.end().unwrap();
    // Only the graph holds the kernel, and only the kernel holds the program.
    drop((function, side));
    let other = Stream::new(&s.driver).unwrap();
    drop(s.stream);
    let mut bytes = [0; 8];
    for sum in [2.0, 3.0] {
        // SAFETY: the memory exists, and the graph lives long enough.
        unsafe { other.launch_graph(&mut graph) }.unwrap();
        other.read(&mut bytes, &memory).unwrap();
        assert_eq!(f64::from_ne_bytes(bytes), sum);
    }
}

#[test]
fn a_stream_of_a_caller_stays() {
    let Some(emulator) = Emulator::new(check_where_named) else {
        return;
    };
    let driver: Arc<dyn Driver> = emulator.clone();
    let stream = Stream::new(&driver).unwrap();
    for raw in [0, stream.raw(), 0] {
        // SAFETY: both streams live long enough.
        unsafe { Stream::from_caller(&driver, raw) }
            .synchronize()
            .unwrap();
    }
    stream.synchronize().unwrap();
    assert!(!emulator.take_log().calls.contains_key("destroy_stream"));
    drop(stream);
    assert_eq!(emulator.take_log().calls["destroy_stream"], 1);
}

/// A cuBLAS handle is created for the first product, and released with the last clone of the stream and the last graph
/// of its products.
#[test]
fn a_stream_has_one_handle_of_cublas() {
    let Some(emulator) = Emulator::new(check_where_named) else {
        return;
    };
    let driver: Arc<dyn Driver> = emulator.clone();
    let [stream, without] = [(); 2].map(|()| Stream::new(&driver).unwrap());
    let memory = Buffer::new(&driver, 24).unwrap();
    stream.clear(&memory, 0).unwrap();
    let at = |i: u64| (memory.pointer() + 8 * i, 1, 1);
    let product = Product {
        double: true,
        tf32: false,
        rows: 1,
        columns: 1,
        inner: 1,
        a: at(0),
        b: at(1),
        c: at(2),
        count: 1,
    };
    let clone = stream.clone();
    // SAFETY: three numbers lie in the memory.
    unsafe {
        stream.multiply(product).unwrap();
        clone.multiply(product).unwrap();
    }
    stream.synchronize().unwrap();
    let recording = clone.begin_recording().unwrap();
    // SAFETY: as above.
    unsafe { clone.multiply(product).unwrap() };
    let graph = recording.end().unwrap();
    drop((stream, without, clone));
    let calls = emulator.take_log().calls;
    assert_eq!((calls["create_blas"], calls["multiply"]), (1, 3));
    assert!(!calls.contains_key("destroy_blas"));
    drop(graph);
    assert_eq!(emulator.take_log().calls["destroy_blas"], 1);
}

/// If a program were loaded twice, one copy would be unloaded while its kernels are in use.
#[test]
fn threads_that_load_the_same_code_share_a_program() {
    let Some(emulator) = Emulator::new(check_where_named) else {
        return;
    };
    let driver: Arc<dyn Driver> = emulator.clone();
    let library = ModuleCache::new(driver.clone(), Cache::new(&CachePlace::Off)).unwrap();
    let numbers = concat!(
        "#define REAL double\n#define COLOR double\n",
        include_str!("../../../cuda/compilers.cuh"),
        include_str!("../../../cuda/number.cuh"),
    );
    let unit = CompilationUnit {
        text: format!(
            "{numbers}{}{}{SOURCE}",
            Two::declaration(),
            Many::declaration()
        ),
        kernels: vec!["add".into(), "set".into()],
    };
    let start = Barrier::new(4);
    let functions: Vec<_> = std::thread::scope(|scope| {
        let ask = || {
            start.wait();
            library.function(&unit, "set", 0).unwrap()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(emulator.take_log().calls["load"], 1);
    let stream = Stream::new(&driver).unwrap();
    let numbers = Buffer::new(&driver, 32).unwrap();
    for (i, function) in functions.into_iter().enumerate() {
        let arguments = two(numbers.pointer(), i as u32, 7);
        // SAFETY: the kernel expects this argument, and the memory holds four numbers.
        unsafe { stream.launch(&function, ONE, &arguments.bytes()) }.unwrap();
    }
    stream.synchronize().unwrap();
}
