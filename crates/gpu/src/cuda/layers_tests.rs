//! The layers on a `libcuda` that tells what it is asked for ([`super::fake`]); no GPU is needed.

use super::fake::{self, ARGUMENT};
use super::safe::event::CudaEvent;
use super::safe::graph::CudaGraph;
use super::safe::memory::{DeviceMemory, PinnedMemory};
use super::safe::module::{CudaModule, Function};
use super::safe::stream::CudaStream;
use super::{Cuda, safe};
use crate::driver::{Driver, Shape};
use mebridge_support::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SHAPE: Shape = Shape {
    blocks: [2, 1, 1],
    threads: [64, 1, 1],
    shared: 0,
};

/// One of everything.
struct All {
    function: Function,
    stream: CudaStream,
    events: [CudaEvent; 2],
    graph: CudaGraph,
    memory: DeviceMemory,
    _pinned: PinnedMemory,
}

impl All {
    fn new(context: &Arc<safe::context::Context>) -> Result<All> {
        let memory = DeviceMemory::new(context, 100)?;
        let pinned = PinnedMemory::new(context, 100)?;
        let module = Arc::new(CudaModule::load(context, b"an image")?);
        let function = Function::new(&module, "kernel", 64 << 10, 1 << 17)?;
        let stream = CudaStream::new(context)?;
        let events = [CudaEvent::new(context)?, CudaEvent::new(context)?];
        stream.begin_graph()?;
        let graph = stream.end_graph()?;
        Ok(All {
            function,
            stream,
            events,
            graph,
            memory,
            _pinned: pinned,
        })
    }

    fn use_all(&self) -> Result<()> {
        let at = self.memory.start();
        let mut bytes = [0; ARGUMENT];
        // SAFETY: the driver of these tests does nothing.
        unsafe {
            self.stream.upload(at, &bytes)?;
            self.stream.fill(at, 0, 8)?;
            self.stream.launch(&self.function, SHAPE, &bytes)?;
            self.stream.launch_graph(&self.graph)?;
            self.stream.download(&mut bytes, at)?;
        }
        self.stream.record(&self.events[0])?;
        self.stream.wait(&self.events[0])?;
        self.stream.synchronize()?;
        self.events[0].seconds(&self.events[1])?;
        self.function.usage()?;
        self.function.occupancy(64, 0)?;
        Ok(())
    }
}

/// Each call in turn fails: there is an error, and all that was made until then is given back.
#[test]
fn whatever_call_fails_nothing_is_left() {
    let mut failed = 0;
    loop {
        let context = fake::context(0);
        fake::fail(Some(failed));
        let all = All::new(&context);
        let done = all.as_ref().map_or(Ok(()), All::use_all);
        let over = !fake::has_failed();
        fake::fail(None);
        if over {
            assert!(all.is_ok() && done.is_ok());
            drop((all, context));
            assert_eq!(fake::out(), [""; 0]);
            break;
        }
        let message = all.map(|_| ()).and(done).err().map(|e| e.to_string());
        drop(context);
        let call = *fake::take_calls().last().expect("a call");
        assert_eq!(fake::out(), [""; 0], "call {failed} ({call}) failed");
        // What gives back, and what only says more, may fail without an error.
        if let Some(message) = message {
            assert!(
                message.contains("error 4242"),
                "a code of a later driver: {message}"
            );
        }
        failed += 1;
    }
    // 11 things are made or changed, 11 are used, each between calls that make its context current.
    assert!(failed > 60, "{failed}");
}

/// Objects that were not given back go with the GPU, and the GPU only with the last object made on it.
#[test]
fn a_gpu_that_goes_leaves_nothing() {
    let gpu = Cuda::of(fake::context(0)).expect("a GPU");
    let module = gpu.load(b"an image").unwrap();
    gpu.function(module, "kernel", 0).unwrap();
    let stream = gpu.stream().unwrap();
    gpu.event().unwrap();
    gpu.begin_graph(stream).unwrap();
    gpu.end_graph(stream).unwrap();
    gpu.allocate(10).unwrap();
    gpu.pin(10).unwrap();
    let all = ["context", "event", "graph", "memory", "module"];
    assert_eq!(
        fake::out(),
        [&all[..], &["pinned memory", "stream"]].concat()
    );
    let memory = DeviceMemory::new(&gpu.context, 10).unwrap();
    drop(gpu);
    assert_eq!(fake::out(), ["context", "memory"]);
    drop(memory);
    assert_eq!(fake::out(), [""; 0]);
}

#[test]
fn what_is_given_back_by_its_number_is_given_back_at_once() {
    let gpu = Cuda::of(fake::context(0)).expect("a GPU");
    let module = gpu.load(b"an image").unwrap();
    let function = gpu.function(module, "kernel", 0).unwrap();
    let (stream, event) = (gpu.stream().unwrap(), gpu.event().unwrap());
    gpu.begin_graph(stream).unwrap();
    let graph = gpu.end_graph(stream).unwrap();
    let (memory, pinned) = (gpu.allocate(10).unwrap(), gpu.pin(10).unwrap());
    gpu.unload(module);
    gpu.drop_stream(stream);
    gpu.drop_event(event);
    gpu.drop_graph(graph);
    // SAFETY: nothing uses them.
    unsafe {
        gpu.free(memory);
        gpu.free_pinned(pinned);
    }
    assert_eq!(fake::out(), ["context"]);
    assert!(gpu.usage(function).is_err());
    assert!(gpu.synchronize(stream).is_err());
    // A stream of a caller's stays.
    // SAFETY: the driver of these tests does nothing with it.
    let caller = unsafe { gpu.stream_of(0) }.unwrap();
    fake::take_calls();
    gpu.drop_stream(caller);
    assert!(!fake::take_calls().contains(&"cuStreamDestroy_v2"));
}

/// `compute-sanitizer` reports each call that the driver answers with an error, be it handled or not.
#[test]
fn nothing_is_asked_that_the_driver_must_refuse() {
    let context = fake::context(0);
    fake::take_refused();
    All::new(&context).and_then(|all| all.use_all()).unwrap();
    assert_eq!(fake::take_refused(), 0);
    let module = Arc::new(CudaModule::load(&context, b"an image").unwrap());
    assert!(Function::new(&module, "missing", 0, 0).is_err());
    assert_eq!(fake::take_refused(), 1);
}

/// Work for a stream is one call of the driver, and three that make the context current, or one where it is current.
#[test]
fn work_takes_no_call_too_many() {
    let gpu = Cuda::of(fake::context(0)).expect("a GPU");
    let module = gpu.load(b"an image").unwrap();
    let kernel = gpu.function(module, "kernel", 0).unwrap();
    let (stream, event) = (gpu.stream().unwrap(), gpu.event().unwrap());
    gpu.begin_graph(stream).unwrap();
    let graph = gpu.end_graph(stream).unwrap();
    let memory = gpu.allocate(ARGUMENT).unwrap();
    let work = || -> Result<()> {
        let mut bytes = [0; ARGUMENT];
        // SAFETY: the driver of these tests does nothing.
        unsafe {
            gpu.upload(stream, memory, &bytes)?;
            gpu.fill(stream, memory, 0, 8)?;
            gpu.launch(stream, kernel, SHAPE, &bytes)?;
            gpu.launch_graph(stream, graph)?;
            gpu.download(stream, &mut bytes, memory)?;
            // Nothing to copy is nothing to do.
            gpu.upload(stream, memory, &[])?;
            gpu.download(stream, &mut [], memory)?;
            gpu.fill(stream, memory, 0, 0)?;
        }
        gpu.record(stream, event)?;
        gpu.wait(stream, event)?;
        gpu.synchronize(stream)
    };
    let expected = [
        "cuMemcpyHtoDAsync_v2",
        "cuMemsetD8Async",
        "cuLaunchKernel",
        "cuGraphLaunch",
        "cuMemcpyDtoHAsync_v2",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuStreamSynchronize",
    ];
    for (current, before, behind) in [
        (
            None,
            &["cuCtxGetCurrent", "cuCtxPushCurrent_v2"][..],
            &["cuCtxPopCurrent_v2"][..],
        ),
        (Some(0), &["cuCtxGetCurrent"], &[]),
    ] {
        fake::set_current(current);
        fake::take_calls();
        work().unwrap();
        let expected = expected.map(|call| [before, &[call], behind].concat());
        assert_eq!(fake::take_calls(), expected.concat());
    }
    fake::set_current(None);
}

#[test]
fn a_launch_that_the_kernel_cannot_have_is_refused() {
    let gpu = Cuda::of(fake::context(0)).expect("a GPU");
    let module = gpu.load(b"an image").unwrap();
    let missing = gpu.function(module, "missing", 0).unwrap_err().to_string();
    assert!(missing.contains("kernel missing"), "{missing}");
    let greedy = gpu.function(module, "kernel", 1 << 20).unwrap_err();
    assert!(greedy.to_string().contains("shared memory"), "{greedy}");
    let kernel = gpu.function(module, "kernel", 0).unwrap();
    let stream = gpu.stream().unwrap();
    // SAFETY: the driver of these tests does nothing.
    let launch = |gpu: &Cuda, stream, kernel, shape, bytes: &[u8]| unsafe {
        gpu.launch(stream, kernel, shape, bytes)
    };
    fake::take_calls();
    for bytes in [&[0; ARGUMENT - 1][..], &[0; ARGUMENT + 8], &[]] {
        let error = launch(&gpu, stream, kernel, SHAPE, bytes).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("kernel kernel: an argument of"),
            "{message}"
        );
    }
    let none = Shape {
        blocks: [0, 1, 1],
        ..SHAPE
    };
    assert!(launch(&gpu, stream, kernel, none, &[0; ARGUMENT]).is_err());
    assert_eq!(fake::take_calls(), [""; 0]);
    // A driver that cannot tell takes what there is.
    let old = Cuda::of(fake::old_context(0)).expect("a GPU");
    let module = old.load(b"an image").unwrap();
    let kernel = old.function(module, "kernel", 0).unwrap();
    let stream = old.stream().unwrap();
    launch(&old, stream, kernel, SHAPE, &[0; 8]).unwrap();
    assert!(launch(&old, stream, kernel, SHAPE, &[]).is_err());
}

#[test]
fn what_belongs_to_another_gpu_is_refused() {
    let gpus = [0, 1].map(|ordinal| Cuda::of(fake::context(ordinal)).expect("a GPU"));
    let made = gpus.each_ref().map(|gpu| {
        let module = gpu.load(b"an image").unwrap();
        let kernel = gpu.function(module, "kernel", 0).unwrap();
        (gpu.stream().unwrap(), gpu.event().unwrap(), kernel)
    });
    let [gpu, _] = &gpus;
    let [
        (stream, event, _),
        (other_stream, other_event, other_kernel),
    ] = made;
    fake::take_calls();
    for refused in [
        gpu.record(stream, other_event),
        gpu.wait(stream, other_event),
        gpu.record(other_stream, event),
        gpu.synchronize(other_stream),
        gpu.seconds(event, other_event).map(|_| ()),
        // SAFETY: nothing is launched.
        unsafe { gpu.launch(stream, other_kernel, SHAPE, &[0; ARGUMENT]) },
    ] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("there is none with number"), "{message}");
    }
    // The types say so themselves.
    let contexts = gpus.each_ref().map(|gpu| gpu.context.clone());
    let [one, other] = contexts.each_ref().map(|c| All::new(c).unwrap());
    fake::take_calls();
    for refused in [
        one.stream.record(&other.events[0]),
        one.stream.wait(&other.events[0]),
        one.events[0].seconds(&other.events[0]).map(|_| ()),
        // SAFETY: nothing is launched.
        unsafe { one.stream.launch_graph(&other.graph) },
        // SAFETY: as above.
        unsafe { one.stream.launch(&other.function, SHAPE, &[0; ARGUMENT]) },
    ] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("another GPU"), "{message}");
    }
    assert_eq!(fake::take_calls(), [""; 0]);
}

#[test]
fn a_gpu_that_is_not_there_is_an_error() {
    let (calls, devices) = (fake::context(0).calls(), 2);
    let result = safe::context::Context::of(calls, devices, 2).map(|_| ());
    assert!(matches!(result, Err(Error::NoSuchDevice { .. })));
}

/// The text of all files below a folder, by their paths.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => all.extend(sources(&path)),
            false => all.push((
                path.clone(),
                std::fs::read_to_string(&path).expect("a text"),
            )),
        }
    }
    all
}

#[test]
fn layers_use_those_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sources = sources(&root);
    for (folder, forbidden) in [
        (
            "cuda/sys",
            &["cuda::result", "cuda::safe", "crate::driver"][..],
        ),
        ("cuda/result", &["cuda::safe"]),
        // The layers are seen through `cuda` alone.
        ("engine", &["cuda::"]),
    ] {
        let folder = root.join(folder);
        let files = sources.iter().filter(|(path, _)| path.starts_with(&folder));
        assert!(files.clone().count() > 2, "{}", folder.display());
        for (path, text) in files {
            for name in forbidden {
                assert!(!text.contains(name), "{} uses {name}", path.display());
            }
        }
    }
    let symbols = root.join("cuda/sys");
    for (path, text) in sources
        .iter()
        .filter(|(path, _)| !path.starts_with(&symbols))
    {
        let named = ["cudarc", "::"].concat();
        assert!(!text.contains(&named), "{} uses {named}", path.display());
    }
}
