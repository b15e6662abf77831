use super::*;
use crate::driver::Buffer;
use crate::structures::{DeviceStructure, device_structures};

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

extern "C" __global__ void all(ARGUMENTS(Many) a) {
    a.x[0] = a.real;
    a.x[1] = a.last;
    a.y[0] = a.first;
}
"#;

device_structures! {
    /// Of most kernels here.
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

fn two(x: Pointer, first: u32, second: u32) -> Two {
    Two { x, first, second }
}

/// An emulator with the program.
struct Setup {
    driver: Arc<dyn Driver>,
    module: Module,
    stream: Stream,
}

fn setup() -> Option<Setup> {
    let driver: Arc<dyn Driver> = Emulator::new()?;
    let numbers = include_str!("../../../../cuda/number.cuh");
    let structures = Two::declaration() + &Many::declaration();
    let options = ["-DREAL=double", "-DCOLOR=double"].map(String::from);
    let image = driver.compile(&format!("{numbers}{structures}{SOURCE}"), &options);
    let module = driver.load(&image.unwrap()).unwrap();
    let stream = driver.stream().unwrap();
    Some(Setup {
        driver,
        module,
        stream,
    })
}

impl Setup {
    fn launch(&self, stream: Stream, name: &str, blocks: u32, arguments: &impl DeviceStructure) {
        let function = self.driver.function(self.module, name, 64).unwrap();
        let shape = Shape {
            blocks: [blocks, 2, 1],
            threads: [1, 1, 1],
            shared: 64,
        };
        // SAFETY: the tests pass what the kernels take.
        unsafe {
            self.driver
                .launch(stream, function, shape, &arguments.bytes())
        }
        .unwrap();
    }

    fn upload(&self, to: Pointer, numbers: &[f64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        // SAFETY: the tests have taken as much.
        unsafe { self.driver.upload(self.stream, to, &bytes) }.unwrap();
        self.driver.synchronize(self.stream).unwrap();
    }

    fn download(&self, from: Pointer, count: usize) -> Result<Vec<f64>> {
        let mut bytes = vec![0; 8 * count];
        // SAFETY: the bytes live until the stream is done.
        unsafe { self.driver.download(self.stream, &mut bytes, from)? };
        self.driver.synchronize(self.stream)?;
        let numbers = bytes.as_chunks().0.iter();
        Ok(numbers.map(|&bytes| f64::from_ne_bytes(bytes)).collect())
    }
}

#[test]
fn kernels_run_over_all_blocks_with_all_arguments() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 32).unwrap();
    let at = memory.pointer();
    assert!(s.download(at, 4).unwrap().iter().all(|x| x.is_nan()));
    s.upload(at, &[1.0, 2.0, 3.0, 4.0]);
    s.launch(s.stream, "add", 3, &two(at, 4, 10));
    // There are two rows of blocks.
    assert_eq!(s.download(at, 4).unwrap(), [21.0, 22.0, 23.0, 24.0]);
    s.launch(s.stream, "by_shared", 2, &two(at, 7, 0));
    assert_eq!(s.download(at, 4).unwrap(), [1.0, 1.0, 2.0, 2.0]);
    let arguments = Many {
        first: 5,
        x: at,
        real: 0.5,
        y: at + 24,
        last: 6,
    };
    s.launch(s.stream, "all", 1, &arguments);
    assert_eq!(s.download(at, 4).unwrap(), [0.5, 6.0, 2.0, 5.0]);
}

#[test]
fn writing_outside_is_found() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 32).unwrap();
    for index in [4, 100, -1i32, -128] {
        let arguments = two(memory.pointer(), index as u32, 1);
        s.launch(s.stream, "set", 1, &arguments);
        let error = s.driver.synchronize(s.stream).unwrap_err().to_string();
        assert!(error.contains("kernel set"), "{error}");
        // As it was, so that it is found but once.
        let byte = (memory.pointer() as i64 + 8 * i64::from(index)) as *mut u32;
        // SAFETY: the guarded zone around the memory.
        unsafe { byte.write(0xfff5_a5a5) };
        // SAFETY: as before.
        unsafe { byte.add(1).write(0xfff5_a5a5) };
    }
    s.launch(s.stream, "by_shared", 1, &two(memory.pointer(), 8, 0));
    let error = s.driver.synchronize(s.stream).unwrap_err().to_string();
    assert!(error.contains("shared memory"), "{error}");
    assert!(s.download(memory.pointer() + 8, 4).is_err());
    assert!(s.download(memory.pointer() - 8, 1).is_err());
    s.download(memory.pointer() + 8, 3).unwrap();
}

#[test]
fn work_waits_until_somebody_waits_for_it() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 8).unwrap();
    let at = memory.pointer();
    let other = s.driver.stream().unwrap();
    let [before, after] = [(); 2].map(|()| s.driver.event().unwrap());
    s.upload(at, &[0.0]);
    s.driver.record(s.stream, before).unwrap();
    assert!(s.driver.seconds(before, before).is_err());
    s.driver.wait(other, before).unwrap();
    s.launch(other, "add", 1, &two(at, 1, 1));
    s.driver.record(other, after).unwrap();
    // The other queue has not been waited for: its kernel comes later.
    assert_eq!(s.download(at, 1).unwrap(), [0.0]);
    s.driver.wait(s.stream, after).unwrap();
    assert_eq!(s.download(at, 1).unwrap(), [2.0]);
    assert!(s.driver.seconds(before, after).unwrap() >= 0.0);
    s.driver.drop_event(before);
    s.driver.drop_stream(other);
}

#[test]
fn recorded_work_is_done_again() {
    let Some(s) = setup() else { return };
    let memory = Buffer::new(&s.driver, 8).unwrap();
    let at = memory.pointer();
    let other = s.driver.stream().unwrap();
    let [fork, join] = [(); 2].map(|()| s.driver.event().unwrap());
    let pinned = s.driver.pin(8).unwrap();
    // SAFETY: it was just taken, and is given back at the end.
    let bytes = unsafe { std::slice::from_raw_parts_mut(pinned, 8) };
    let record = |joined: bool| {
        s.driver.begin_graph(s.stream).unwrap();
        // SAFETY: the pinned memory stays.
        unsafe { s.driver.upload(s.stream, at, bytes) }.unwrap();
        assert!(s.driver.synchronize(s.stream).is_err());
        s.driver.record(s.stream, fork).unwrap();
        s.driver.wait(other, fork).unwrap();
        s.launch(other, "add", 1, &two(at, 1, 1));
        s.driver.record(other, join).unwrap();
        if joined {
            s.driver.wait(s.stream, join).unwrap();
        }
        s.driver.end_graph(s.stream)
    };
    assert!(record(false).is_err());
    let graph = record(true).unwrap();
    // SAFETY: the pinned memory is there and nothing is under way.
    unsafe { pinned.cast::<f64>().write(5.0) };
    for _ in 0..2 {
        // SAFETY: the memory of what was recorded is there.
        unsafe { s.driver.launch_graph(s.stream, graph) }.unwrap();
        assert_eq!(s.download(at, 1).unwrap(), [7.0]);
    }
    s.driver.drop_graph(graph);
    // SAFETY: nothing uses it any more.
    unsafe { s.driver.free_pinned(pinned) };
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
    unsafe { s.driver.multiply(s.stream, product) }.unwrap();
    let got = s.download(at + 8 * 16, 4).unwrap();
    assert_eq!(got, [321., 654., 642., 1308.]);
}

#[test]
fn memory_ends() {
    let Some(emulator) = Emulator::with_memory(100) else {
        return;
    };
    let driver: Arc<dyn Driver> = emulator;
    let memory = Buffer::new(&driver, 60).unwrap();
    assert!(Buffer::new(&driver, 60).is_err());
    assert_eq!(driver.memory().unwrap(), (40, 100));
    drop(memory);
    Buffer::new(&driver, 60).unwrap();
}
