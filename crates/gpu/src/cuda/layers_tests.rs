//! Tests of the driver and of the owning handles of [`crate::driver`] with a fake `libcuda` that records its calls
//! ([`super::fake`]); no GPU is needed.

use super::fake::{self, ARGUMENT};
use super::{Context, Cuda};
use crate::driver::{Buffer, Driver, Event, Function, Graph, Module, Pinned, Shape, Stream};
use mebridge_support::error::{Error, Result};
use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SHAPE: Shape = Shape {
    blocks: [2, 1, 1],
    threads: [64, 1, 1],
    shared: 0,
};

fn of_context(context: Context) -> Arc<dyn Driver> {
    Arc::new(Cuda::from_context(context).expect("a GPU"))
}

fn gpu(ordinal: usize) -> Arc<dyn Driver> {
    of_context(fake::context(ordinal))
}

/// One object of every kind.
struct All {
    function: Function,
    stream: Stream,
    events: [Event; 2],
    graph: Graph,
    memory: Buffer,
    _pinned: Pinned,
}

impl All {
    fn new(gpu: &Arc<dyn Driver>) -> Result<All> {
        let memory = Buffer::new(gpu, 100)?;
        let pinned = Pinned::new(gpu, 100)?;
        let function = Module::load(gpu, b"an image")?.function("kernel", 64 << 10)?;
        let stream = Stream::new(gpu)?;
        let events = [Event::new(gpu)?, Event::new(gpu)?];
        let graph = stream.begin_recording()?.end()?;
        Ok(All {
            function,
            stream,
            events,
            graph,
            memory,
            _pinned: pinned,
        })
    }

    fn use_all(&mut self) -> Result<()> {
        let at = self.memory.pointer();
        let mut bytes = [0; ARGUMENT];
        // SAFETY: the driver of these tests does nothing.
        unsafe {
            self.stream.upload(at, &bytes)?;
            self.stream.fill(at, 0, 8)?;
            self.stream.launch(&self.function, SHAPE, &bytes)?;
            self.stream.launch_graph(&mut self.graph)?;
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

/// Each call fails in turn: an error is returned, and all objects created before are released.
#[test]
fn whatever_call_fails_nothing_is_left() {
    let mut failed = 0;
    loop {
        let gpu = gpu(0);
        fake::fail(Some(failed));
        let mut all = All::new(&gpu);
        let done = all.as_mut().map_or(Ok(()), All::use_all);
        let over = !fake::has_failed();
        fake::fail(None);
        if over {
            assert!(all.is_ok() && done.is_ok());
            drop((all, gpu));
            assert_eq!(fake::out(), [""; 0]);
            break;
        }
        let message = all.map(|_| ()).and(done).err().map(|e| e.to_string());
        drop(gpu);
        let call = *fake::take_calls().last().expect("a call");
        assert_eq!(fake::out(), [""; 0], "call {failed} ({call}) failed");
        // Calls that release objects or only add information may fail without an error.
        if let Some(message) = message {
            assert!(
                message.contains("error 4242"),
                "a code of a later driver: {message}"
            );
        }
        failed += 1;
    }
    // 11 objects are created or changed, 11 are used, each between calls that make the context current.
    assert!(failed > 60, "{failed}");
}

/// In any drop order, each object is released once nothing needs it, and the GPU with the last handle.
#[test]
fn handles_are_dropped_in_any_order() {
    type Held = (&'static [&'static str], Box<dyn Any>);
    let all = || -> Vec<Held> {
        let gpu = gpu(0);
        let module = Module::load(&gpu, b"an image").unwrap();
        let function = module.function("kernel", 0).unwrap();
        let stream = Stream::new(&gpu).unwrap();
        let recording = stream.begin_recording().unwrap();
        // SAFETY: the driver of these tests does nothing.
        unsafe { stream.launch(&function, SHAPE, &[0; ARGUMENT]) }.unwrap();
        let graph = recording.end().unwrap();
        vec![
            (&["module"], Box::new(module)),
            (&["module"], Box::new(function)),
            (&["event"], Box::new(stream.put_event().unwrap())),
            (&["stream"], Box::new(stream)),
            (&["graph", "module"], Box::new(graph)),
            (&["memory"], Box::new(Buffer::new(&gpu, 10).unwrap())),
            (&["pinned memory"], Box::new(Pinned::new(&gpu, 10).unwrap())),
        ]
    };
    let count = all().len();
    for (first, reversed) in (0..count).flat_map(|first| [(first, false), (first, true)]) {
        let mut handles = all();
        handles.rotate_left(first);
        if reversed {
            handles.reverse();
        }
        loop {
            let held = handles.iter().flat_map(|(held, _)| held.iter().copied());
            let mut held: BTreeSet<_> = held.collect();
            if !handles.is_empty() {
                held.insert("context");
            }
            assert_eq!(fake::out(), Vec::from_iter(held), "{first} {reversed}");
            if handles.pop().is_none() {
                break;
            }
        }
    }
}

#[test]
fn a_stream_of_a_caller_stays() {
    let gpu = gpu(0);
    let destroyed = |stream: Stream| {
        let clone = stream.clone();
        drop(stream);
        clone.synchronize().unwrap();
        fake::take_calls();
        drop(clone);
        fake::take_calls().contains(&"cuStreamDestroy_v2")
    };
    // The legacy default stream has a special handle.
    for (raw, name) in [(0, 1), (4096, 4096)] {
        // SAFETY: the driver of these tests does nothing with it.
        let stream = unsafe { Stream::from_caller(&gpu, raw) };
        assert_eq!(stream.raw(), name);
        assert!(!destroyed(stream));
    }
    assert!(destroyed(Stream::new(&gpu).unwrap()));
}

/// `compute-sanitizer` reports each call for which the driver returns an error, whether or not it is handled.
#[test]
fn nothing_is_requested_that_the_driver_must_refuse() {
    let gpu = gpu(0);
    fake::take_refused();
    All::new(&gpu).and_then(|mut all| all.use_all()).unwrap();
    assert_eq!(fake::take_refused(), 0);
    let module = Module::load(&gpu, b"an image").unwrap();
    assert!(module.function("missing", 0).is_err());
    assert_eq!(fake::take_refused(), 1);
}

/// Work for a stream needs one driver call, plus three to make the context current, or one if it is already current.
#[test]
fn work_takes_no_call_too_many() {
    let mut all = All::new(&gpu(0)).unwrap();
    let work = |all: &mut All| -> Result<()> {
        let (stream, memory) = (&all.stream, all.memory.pointer());
        let mut bytes = [0; ARGUMENT];
        // SAFETY: the driver of these tests does nothing.
        unsafe {
            stream.upload(memory, &bytes)?;
            stream.fill(memory, 0, 8)?;
            stream.launch(&all.function, SHAPE, &bytes)?;
            stream.launch_graph(&mut all.graph)?;
            stream.download(&mut bytes, memory)?;
            // An empty copy makes no call.
            stream.upload(memory, &[])?;
            stream.download(&mut [], memory)?;
            stream.fill(memory, 0, 0)?;
        }
        stream.record(&all.events[0])?;
        stream.wait(&all.events[0])?;
        stream.synchronize()
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
    for (current, before, after) in [
        (
            None,
            &["cuCtxGetCurrent", "cuCtxPushCurrent_v2"][..],
            &["cuCtxPopCurrent_v2"][..],
        ),
        (Some(0), &["cuCtxGetCurrent"], &[]),
    ] {
        fake::set_current(current);
        fake::take_calls();
        work(&mut all).unwrap();
        let expected = expected.map(|call| [before, &[call], after].concat());
        assert_eq!(fake::take_calls(), expected.concat());
    }
    fake::set_current(None);
}

#[test]
fn a_launch_that_the_kernel_cannot_have_is_refused() {
    let gpu = gpu(0);
    let module = Module::load(&gpu, b"an image").unwrap();
    let missing = module.function("missing", 0).unwrap_err().to_string();
    assert!(missing.contains("kernel missing"), "{missing}");
    let greedy = module.function("kernel", 1 << 20).unwrap_err();
    assert!(greedy.to_string().contains("shared memory"), "{greedy}");
    let kernel = module.function("kernel", 0).unwrap();
    let stream = Stream::new(&gpu).unwrap();
    let launch = |stream: &Stream, kernel: &Function, shape, bytes: &[u8]| {
        // SAFETY: the driver of these tests does nothing.
        unsafe { stream.launch(kernel, shape, bytes) }
    };
    fake::take_calls();
    for bytes in [&[0; ARGUMENT - 1][..], &[0; ARGUMENT + 8], &[]] {
        let error = launch(&stream, &kernel, SHAPE, bytes).unwrap_err();
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
    assert!(launch(&stream, &kernel, none, &[0; ARGUMENT]).is_err());
    assert_eq!(fake::take_calls(), [""; 0]);
    // A driver that cannot report the size accepts any argument.
    let old = of_context(fake::old_context(0));
    let module = Module::load(&old, b"an image").unwrap();
    let kernel = module.function("kernel", 0).unwrap();
    let stream = Stream::new(&old).unwrap();
    launch(&stream, &kernel, SHAPE, &[0; 8]).unwrap();
    assert!(launch(&stream, &kernel, SHAPE, &[]).is_err());
}

/// Two plans share a compiled kernel, with workspaces of different size: the driver knows one limit for both.
#[test]
fn who_looks_a_kernel_up_last_takes_no_shared_memory_from_others() {
    let gpu = gpu(0);
    let module = Module::load(&gpu, b"an image").unwrap();
    let stream = Stream::new(&gpu).unwrap();
    let sizes = [100 << 10, 60 << 10];
    let kernels = sizes.map(|shared| module.function("kernel", shared).unwrap());
    for (kernel, shared) in kernels.iter().zip(sizes) {
        let shape = Shape {
            shared: shared as u32,
            ..SHAPE
        };
        // SAFETY: the driver of these tests does nothing.
        unsafe { stream.launch(kernel, shape, &[0; ARGUMENT]) }.unwrap();
    }
    assert_eq!(fake::take_refused(), 0);
}

#[test]
fn what_belongs_to_another_gpu_is_refused() {
    let gpus = [0, 1].map(gpu);
    let [one, mut other] = gpus.each_ref().map(|gpu| All::new(gpu).unwrap());
    fake::take_calls();
    for refused in [
        one.stream.record(&other.events[0]),
        one.stream.wait(&other.events[0]),
        one.events[0].seconds(&other.events[0]).map(|_| ()),
        one.stream.clear(&other.memory, 0),
        one.stream.write(&other.memory, &[0; 8]),
        one.stream.read(&mut [0; 8], &other.memory),
        // SAFETY: nothing is launched.
        unsafe { one.stream.launch_graph(&mut other.graph) },
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
    let result = Context::from_calls(calls, devices, 2).map(|_| ());
    assert!(matches!(result, Err(Error::NoSuchDevice { .. })));
}

/// Returns the text of all files below a folder, by path.
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
            &[
                "cuda::result",
                "cuda::context",
                "cuda::nvrtc",
                "crate::driver",
            ][..],
        ),
        ("cuda/result", &["cuda::context", "cuda::nvrtc"]),
        // The layers are only visible through `cuda`.
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
