use super::*;
use crate::driver::{Buffer, Event, Module, Pinned, Stream};
use crate::level_schedule::OperationKind;
use crate::source;
use crate::structures::{DeviceStructure, device_structures};
use mebridge_ops::opcode::Opcode;
use mebridge_testing::require;

/// Returns NVRTC, or prints that it is missing.
fn nvrtc() -> Option<&'static Nvrtc> {
    match Nvrtc::get(Platform::Cuda, None) {
        Ok(nvrtc) => {
            require::used("nvrtc", nvrtc.name());
            Some(nvrtc)
        }
        Err(error) => {
            require::skipped("nvrtc", format_args!("no device code is compiled: {error}"));
            None
        }
    }
}

/// Returns a GPU, or prints that there is none.
fn gpu() -> Option<Arc<dyn Driver>> {
    match devices(Platform::Cuda) {
        Ok(_) => {
            let gpu = Cuda::open(Platform::Cuda, 0).unwrap();
            require::used("gpu", &gpu.properties().name);
            Some(gpu)
        }
        Err(error) => {
            require::skipped("gpu", error);
            None
        }
    }
}

device_structures! {
    /// Arguments of the kernel `axpy`.
    Axpy {
        y: [double *],
        x: [const double *],
        factor: [double],
        n: [unsigned],
    }
}

fn axpy_source() -> String {
    Axpy::declaration()
        + r#"
extern "C" __global__ void axpy(const Axpy a) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x)
        a.y[i] += a.factor * a.x[i];
}
"#
}

#[test]
fn without_a_gpu_there_is_an_error_and_no_panic() {
    if let Err(error) = devices(Platform::Cuda) {
        let message = error.to_string();
        assert!(message.contains("no GPU can be used"), "{message}");
        assert!(message.contains("CUDACPP_RUNTIME_BACKEND=cpu"), "{message}");
        assert!(matches!(
            Cuda::open(Platform::Cuda, 0),
            Err(Error::NoGpu { .. })
        ));
    }
}

#[test]
fn device_code_compiles_without_a_gpu() {
    let Some(nvrtc) = nvrtc() else { return };
    eprintln!("{}", nvrtc.name());
    let options = ["--std=c++17".to_string()];
    nvrtc.check("compute_80", &axpy_source(), &options).unwrap();
    let wrong = axpy_source().replacen("axpy(", "axpy(undeclared ", 1);
    let error = nvrtc.check("compute_80", &wrong, &options).unwrap_err();
    assert!(error.to_string().contains("undeclared"), "{error}");
    let cubin = compile_for("sm_90", &axpy_source(), &options).unwrap();
    assert_eq!(&cubin[..4], b"\x7fELF");
    let ptx = compile_for("compute_90", &axpy_source(), &options).unwrap();
    let ptx = String::from_utf8(ptx).unwrap();
    assert!(ptx.contains(".entry axpy"), "{ptx}");
}

#[test]
fn several_threads_compile_at_once() {
    if nvrtc().is_none() {
        return;
    }
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                let source = axpy_source().replace("axpy", &format!("axpy{number}"));
                let ptx = compile_for("compute_90", &source, &[]).unwrap();
                let ptx = String::from_utf8(ptx).unwrap();
                assert!(ptx.contains(&format!(".entry axpy{number}")));
            });
        }
    });
}

#[test]
fn an_error_carries_what_the_compiler_says() {
    if nvrtc().is_none() {
        return;
    }
    let refused = |architecture: &str, source: &str, option: &str| {
        let options: Vec<_> = [option].iter().map(|o| o.to_string()).collect();
        let result = compile_for(architecture, source, &options);
        result.unwrap_err().to_string()
    };
    let message = refused("sm_90", "__global__ void k() { undeclared = 1; }", "-w");
    assert!(message.contains("undeclared"), "{message}");
    assert!(message.contains("mebridge.cu(1)"), "{message}");
    let message = refused("sm_90", &axpy_source(), "--no-such-option");
    assert!(message.contains("no-such-option"), "{message}");
    let message = refused("sm_1", &axpy_source(), "-w");
    assert!(message.contains("sm_1"), "{message}");
    let long = "error! ".repeat(1000);
    assert!(refused("sm_90", &long, "-w").len() < 2500);
}

#[test]
fn a_gpu_that_the_compiler_does_not_know_gets_ptx() {
    let Some(nvrtc) = nvrtc() else { return };
    assert_eq!(
        nvrtc.target(&Architecture::Capability(9, 0)).unwrap(),
        "sm_90"
    );
    assert!(
        nvrtc
            .target(&Architecture::Capability(99, 0))
            .unwrap()
            .starts_with("compute_")
    );
    let message = nvrtc
        .target(&Architecture::Capability(1, 0))
        .unwrap_err()
        .to_string();
    assert!(message.contains("older"), "{message}");
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    let words = bytes.as_chunks::<8>().0;
    words.iter().map(|word| f64::from_ne_bytes(*word)).collect()
}

#[test]
fn a_gpu_computes() {
    let Some(gpu) = gpu() else { return };
    eprintln!("{:?}", gpu.properties());
    eprintln!("{}", gpu.compiler().unwrap());
    let n = 1000;
    let image = gpu.compile(&axpy_source(), &[]).unwrap();
    let module = Module::load(&gpu, &image).unwrap();
    assert!(module.function("missing", 0).is_err());
    let axpy = module.function("axpy", 64 << 10).unwrap();
    // A kernel keeps its program alive.
    drop(module);
    assert!(axpy.usage().unwrap().registers > 0);
    assert!(axpy.occupancy(128, 0).unwrap() > 0);
    let stream = Stream::new(&gpu).unwrap();
    let (begun, done) = (Event::new(&gpu).unwrap(), Event::new(&gpu).unwrap());
    let (x, y) = (Buffer::new(&gpu, n * 8), Buffer::new(&gpu, n * 8));
    let (x, y) = (x.unwrap(), y.unwrap());
    let arguments = Axpy {
        y: y.pointer(),
        x: x.pointer(),
        factor: 0.5,
        n: n as u32,
    }
    .bytes();
    let shape = Shape {
        blocks: [2, 1, 1],
        threads: [64, 1, 1],
        shared: 64 << 10,
    };
    let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let input = bytes(&values);
    let mut out = vec![0; n * 8];
    // SAFETY: the arguments match the kernel, and the memory has the stated size and is not dropped before the stream
    // has finished.
    unsafe {
        stream.upload(x.pointer(), &input).unwrap();
        stream.fill(y.pointer(), 0, n * 8).unwrap();
        stream.record(&begun).unwrap();
        stream.launch(&axpy, shape, &arguments).unwrap();
        stream.record(&done).unwrap();
        stream.wait(&done).unwrap();
        stream.download(&mut out, y.pointer()).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(numbers(&out)[n - 1], (n - 1) as f64 / 2.0);
    let seconds = begun.seconds(&done).unwrap();
    assert!(seconds > 0.0 && seconds < 1.0, "{seconds}");

    let recording = stream.begin_recording().unwrap();
    // SAFETY: as above.
    unsafe { stream.launch(&axpy, shape, &arguments).unwrap() };
    let mut graph = recording.end().unwrap();
    // SAFETY: the stream outlives the handle.
    let caller = unsafe { Stream::from_caller(&gpu, stream.raw()) };
    for stream in [&stream, &caller, &stream] {
        // SAFETY: the memory of the recorded work exists.
        unsafe { stream.launch_graph(&mut graph) }.unwrap();
    }
    caller.read(&mut out, &y).unwrap();
    assert_eq!(numbers(&out)[n - 1], (n - 1) as f64 * 2.0);

    // A caller's stream is not released; a graph keeps its kernels, and can be launched in other streams.
    drop((caller, begun, done, axpy));
    stream.synchronize().unwrap();
    drop(stream);
    // SAFETY: every GPU has this stream.
    let default = unsafe { Stream::from_caller(&gpu, 0) };
    // SAFETY: as above.
    unsafe { default.launch_graph(&mut graph) }.unwrap();
    default.read(&mut out, &y).unwrap();
    assert_eq!(numbers(&out)[n - 1], (n - 1) as f64 * 2.5);
}

#[test]
fn a_gpu_multiplies_matrices() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).unwrap();
    // Two products of a 2x3 and a 3x2 matrix, column-major.
    let a: Vec<f64> = (0..12).map(f64::from).collect();
    let b: Vec<f64> = (0..12).map(|i| f64::from(i) - 5.0).collect();
    let mut expected = vec![0.0; 8];
    for pair in 0..2 {
        for (column, row, k) in (0..12).map(|i| (i / 6, i / 3 % 2, i % 3)) {
            expected[pair * 4 + column * 2 + row] +=
                a[pair * 6 + k * 2 + row] * b[pair * 6 + column * 3 + k];
        }
    }
    for (double, tf32) in [(true, false), (false, false), (false, true)] {
        let pack = |numbers: &[f64]| -> Vec<u8> {
            match double {
                true => bytes(numbers),
                false => numbers
                    .iter()
                    .flat_map(|n| (*n as f32).to_ne_bytes())
                    .collect(),
            }
        };
        let [da, db, dc] = [12, 12, 8].map(|n| Buffer::new(&gpu, n * 8).unwrap());
        let product = Product {
            double,
            tf32,
            rows: 2,
            columns: 2,
            inner: 3,
            a: (da.pointer(), 2, 6),
            b: (db.pointer(), 3, 6),
            c: (dc.pointer(), 2, 4),
            count: 2,
        };
        let mut out = pack(&expected);
        out.fill(0);
        let (a, b) = (pack(&a), pack(&b));
        // SAFETY: the memory has the stated size and lives until the stream has finished.
        unsafe {
            stream.upload(da.pointer(), &a).unwrap();
            stream.upload(db.pointer(), &b).unwrap();
            stream.multiply(product).unwrap();
            stream.download(&mut out, dc.pointer()).unwrap();
        }
        stream.synchronize().unwrap();
        // Small integers, which are also exact in TF32.
        assert_eq!(out, pack(&expected), "double {double}, tf32 {tf32}");
        // A recorded product keeps its dependencies as long as its graph.
        let recorded = Stream::new(&gpu).unwrap();
        recorded.clear(&dc, 0).unwrap();
        // SAFETY: as above.
        unsafe { recorded.multiply(product).unwrap() };
        recorded.synchronize().unwrap();
        let recording = recorded.begin_recording().unwrap();
        // SAFETY: as above.
        unsafe { recorded.multiply(product).unwrap() };
        let mut graph = recording.end().unwrap();
        drop(recorded);
        stream.clear(&dc, 0).unwrap();
        // SAFETY: the memory of the recorded work exists.
        unsafe { stream.launch_graph(&mut graph).unwrap() };
        stream.read(&mut out, &dc).unwrap();
        assert_eq!(
            out,
            pack(&expected),
            "recorded; double {double}, tf32 {tf32}"
        );
    }
}

#[test]
fn memory_that_is_not_there_is_an_error_of_its_own() {
    let Some(gpu) = gpu() else { return };
    let (free, total) = gpu.memory().unwrap();
    assert!(free <= total && total > 0);
    let result = gpu.allocate(total * 2);
    assert!(matches!(result, Err(Error::GpuMemory { .. })), "{result:?}");
    assert_eq!(*Pinned::new(&gpu, 100).unwrap(), [0; 100]);
    // Afterwards nothing runs with a device that does not exist.
    let result = Cuda::open(Platform::Cuda, 1000).map(|_| ());
    assert!(matches!(result, Err(Error::NoSuchDevice { .. })));
}

/// The files of `cuda/` in their order, for each precision; the kernels that `crates/gpu/src/source.rs`
/// generates are not among them.
#[test]
fn the_device_code_compiles() {
    if nvrtc().is_none() {
        return;
    }
    let options = ["--std=c++17", "-default-device", "-w"].map(String::from);
    for (double, double_color, colors_outside, clocks) in [
        (true, true, false, false),
        (true, false, false, false),
        (false, false, false, false),
        (true, true, true, false),
        (true, false, true, false),
        (true, true, false, true),
        (true, false, false, true),
        (false, false, false, true),
    ] {
        let shape = source::CompileOptions {
            double,
            double_color,
            lanes: 32,
            workspace_lanes: 32,
            workspace_threads: 256,
            workspace_blocks: 3,
            colors_outside,
            split_orders: false,
            helicity_sum: mebridge_process::HelicitySum::Positive,
        };
        let kinds = [
            OperationKind::Opcode(Opcode::Ffv0),
            OperationKind::Opcode(Opcode::Dots),
        ];
        let mut units = vec![shape.helicities(&kinds, &[], clocks)];
        if !clocks {
            let operations = shape.operations(OperationKind::Opcode(Opcode::SumFfv1), &[]);
            units.extend([shape.ends(), shape.dots(), operations]);
        }
        for (unit, architecture) in units.iter().zip(["sm_90", "sm_80", "sm_90", "sm_80"]) {
            let image = compile_for(architecture, &unit.text, &options);
            let image = image.unwrap_or_else(|e| panic!("{shape:?}: {e}"));
            for kernel in &unit.kernels {
                let mut windows = image.windows(kernel.len());
                let found = windows.any(|at| at == kernel.as_bytes());
                assert!(found, "{kernel} in {architecture}");
            }
        }
    }
}
