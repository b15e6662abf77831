//! What can go wrong, each with a message that names the thing and the cure.

use std::borrow::Cow;
use std::ffi::CStr;
use std::path::PathBuf;

/// What is said of [`Error::CallWithinCall`], there before it is needed: a signal handler may not ask for memory.
pub const CALL_WITHIN_CALL: &CStr =
    c"a signal handler called the library while the thread that it interrupted was in a call of it, and would wait for \
      that one for ever; let the handler set a flag, and call when the other call is over";

/// How the CPU is chosen where there is no GPU: by the command, by the environment, and from Python.
const ON_THE_CPU: &str = "evaluate on the CPU (--backend cpu or CUDACPP_RUNTIME_BACKEND=cpu; in Python, device=\"cpu\" or \
                          arrays in the CPU's memory)";

/// Result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that a user, a file or a machine can cause. New kinds of failure get a variant of
/// their own, with the cure in the message.
#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Arrays of one call that do not have the same number of events.
    #[error(
        "array {what} has {has} entries where {needs} are needed; every array of a call holds the same events"
    )]
    ArrayLength {
        /// Which array.
        what: &'static str,
        /// Its length.
        has: usize,
        /// The length that fits the others.
        needs: usize,
    },
    /// A parameter or coupling that a card makes useless.
    #[error("{name} comes out as {value} with these parameters; check the parameter card")]
    BadParameter {
        /// Fortran name.
        name: String,
        /// Its value.
        value: num_complex::Complex64,
    },
    /// A momentum that cannot be evaluated.
    #[error(
        "event {event} (from 0): the momentum of particle {leg} (PDG code {pdg}, mass {mass} GeV) is (E, px, py, pz) = {momentum:?}, which is not finite, has no positive energy or is not on its mass shell; check the events, the order of the particles and the masses in the parameter card"
    )]
    BadMomentum {
        /// Number of the event within the call, from 0.
        event: usize,
        /// Number of the particle, from 1.
        leg: usize,
        /// Its PDG code.
        pdg: i32,
        /// Its mass in GeV.
        mass: f64,
        /// Its momentum.
        momentum: Vec<f64>,
    },
    /// Momenta that do not add up.
    #[error(
        "event {event} (from 0): (E, px, py, pz) of the particles that come in and of those that go out differ by {by:?}, which is too much for the {energy} GeV that come in; check the events and the order of the particles"
    )]
    NotConserved {
        /// Number of the event within the call, from 0.
        event: usize,
        /// What comes in less what goes out.
        by: Vec<f64>,
        /// The energy that comes in.
        energy: f64,
    },
    /// A matrix element that is infinite or no number.
    #[error(
        "event {event} (from 0): its |M|^2 is not finite: {why}; leave such events out, by a cut for example"
    )]
    NotFinite {
        /// Number of the event within the call, from 0.
        event: usize,
        /// What is known of it.
        why: String,
    },
    /// An event that no file can hold.
    #[error("event {event} (from 0): {what}; no event file can hold it")]
    BadRecord {
        /// Number of the event within the call, from 0.
        event: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A channel that the process does not have.
    #[error(
        "event {event} (from 0): there is no channel {channel} in this process; its channels are {known}; the executable and the process may not belong together"
    )]
    NoSuchChannel {
        /// Number of the event within the call, from 0.
        event: usize,
        /// The channel asked for.
        channel: i32,
        /// Those that exist.
        known: String,
    },
    /// A configuration that the process does not have.
    #[error(
        "event {event} (from 0): igraph is {config}, but this process has configurations 1 to {configs} (0 for none); the executable and the process may not belong together"
    )]
    NoSuchConfiguration {
        /// Number of the event within the call, from 0.
        event: usize,
        /// The configuration asked for.
        config: i32,
        /// How many there are.
        configs: usize,
    },
    /// An index of a batch names nothing.
    #[error(
        "event {event} (from 0): {what} index {index} names nothing; there are {count}, counted from 0"
    )]
    NoSuchIndex {
        /// What it should name.
        what: &'static str,
        /// Number of the event within the batch, from 0.
        event: usize,
        /// The index.
        index: i32,
        /// How many there are.
        count: usize,
    },
    /// A GPU is asked for, and the process is one that only the CPU runs.
    #[error("{what}: there is no GPU code for it; {ON_THE_CPU}, or leave the choice to auto")]
    NotOnGpu {
        /// What no GPU code exists for.
        what: Cow<'static, str>,
    },
    /// Something that is for GPUs where a CPU evaluates.
    #[error("{what} cannot be evaluated by the CPU; ask for a GPU (CUDACPP_RUNTIME_BACKEND=cuda)")]
    NotOnCpu {
        /// What it is.
        what: &'static str,
    },
    /// Memory that a GPU does not reach.
    #[error("{what} are not in the memory of {gpu}, which evaluates; pass addresses in its memory")]
    NotOnThisGpu {
        /// What lies there.
        what: &'static str,
        /// The GPU.
        gpu: String,
    },
    /// A call without events where some are needed.
    #[error("there are no events to find the good helicities on; call with at least one")]
    NoEvents,
    /// Memory that the system does not give.
    #[error(
        "there is too little memory: {bytes} bytes were refused; give the job more, or take \
         fewer threads (--threads or CUDACPP_RUNTIME_THREADS)"
    )]
    Memory {
        /// How many bytes.
        bytes: usize,
    },
    /// Threads that could not be started.
    #[error(
        "could not start {threads} threads: {what}; take fewer (--threads or CUDACPP_RUNTIME_THREADS)"
    )]
    Threads {
        /// How many.
        threads: usize,
        /// What the system said.
        what: String,
    },
    /// A Lorentz structure whose outgoing momentum is not the sum of the incoming ones.
    #[error(
        "the Lorentz structure {routine} gives a wavefunction whose momentum is not the sum of those that meet; such structures cannot be evaluated"
    )]
    UnknownMomentum {
        /// Its name.
        routine: String,
    },
    /// A process whose parts do not fit together.
    #[error("the process description is broken: {what}; import it again with `mebridge import`")]
    InvalidProcess {
        /// Which part.
        what: String,
    },
    /// A process file that cannot be used.
    #[error("{path} {defect}")]
    ProcessFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        defect: String,
    },
    /// A call of the Fortran or C interface with an argument that cannot be.
    #[error("{function}: {what}")]
    Call {
        /// The function.
        function: &'static str,
        /// Which argument, and what is wrong with it.
        what: String,
    },
    /// A Fortran call of the other generation of the contract.
    #[error(
        "{function}: this call is not one {assumed}: {defect}. It looks like one {other}. That \
         it was taken for one {assumed} follows from {reason}. Use the process of the MG5aMC \
         directory that this executable was built in, or set CUDACPP_RUNTIME_IGRAPH={value}"
    )]
    Generation {
        /// The function.
        function: &'static str,
        /// What the call was taken for.
        assumed: &'static str,
        /// Why.
        reason: &'static str,
        /// What shows that it is not.
        defect: String,
        /// What it looks like.
        other: &'static str,
        /// Value of the switch that would read it so.
        value: &'static str,
    },
    /// A handle that no open thing of its kind has.
    #[error(
        "the handle {handle:#x} is no open {kind}: {what}; pass the one that the creation of the \
         {kind} gave, unchanged, in 8 bytes"
    )]
    BadHandle {
        /// The handle.
        handle: u64,
        /// Of what, such as a bridge.
        kind: &'static str,
        /// What is known of it.
        what: String,
    },
    /// What an internal error left behind.
    #[error("this {kind} was left by an internal error; delete it and create a new one")]
    Broken {
        /// What it is.
        kind: &'static str,
    },
    /// What a thread was in when the program forked.
    #[error(
        "a thread of the parent was in this {kind} when the program forked, and what it was doing will not be done \
         here; create another {kind} in this process, or fork while no call is under way"
    )]
    Forked {
        /// What it is.
        kind: &'static str,
    },
    /// A signal handler's call, while the thread that it interrupted is in one.
    #[error("{}", CALL_WITHIN_CALL.to_string_lossy())]
    CallWithinCall,
    /// A panic that was caught at a door.
    #[error(
        "internal error: {what}. This is a defect of mebridge; please report it with the process \
         and the call that show it"
    )]
    Internal {
        /// The panic's message.
        what: String,
    },
    /// An output of MG5aMC that cannot be put on the library, or taken off it.
    #[error("{path}: {what}")]
    Link {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and the cure.
        what: String,
    },
    /// Nothing says which process is meant.
    #[error(
        "which process? Set CUDACPP_RUNTIME_PROCESS to a .{extension} file or to a P directory that \
         MG5aMC wrote, or run inside such a directory; there is no matrix<i>.f upwards from the \
         working directory ({working}) or from the executable ({executable})"
    )]
    NoProcess {
        /// The working directory.
        working: String,
        /// The executable.
        executable: String,
        /// Extension of process files.
        extension: &'static str,
    },
    /// Several matrix elements, and one is needed.
    #[error("{path} holds {what}; name one of them as '{path}#n', n being one of:{names}")]
    ChooseProcess {
        /// The directory or file.
        path: PathBuf,
        /// How many there are.
        what: String,
        /// Their numbers and names, one a line.
        names: String,
        /// How many matrix elements there are.
        count: usize,
    },
    /// A linked process without its length.
    #[error(
        "the executable defines mebridge_process_data but not mebridge_process_size; define both, \
         the second as a 64-bit integer with the number of bytes of the first"
    )]
    LinkedProcess,
    /// A name of the `CUDACPP_RUNTIME_` family that does not exist.
    #[error("there is no switch {name} ({hint}); correct the name or unset it")]
    UnknownSwitch {
        /// The name in the environment.
        name: String,
        /// The known name that is most like it, or all of them.
        hint: String,
    },
    /// A switch with a value that it does not take.
    #[error("switch {name} has the value '{value}'; allowed: {allowed}")]
    BadSwitch {
        /// The switch.
        name: String,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// No GPU, or nothing to reach it by.
    #[error(
        "no GPU can be used: {what}. `nvidia-smi` must list one: install NVIDIA's driver, or look at \
         CUDA_VISIBLE_DEVICES; or {ON_THE_CPU}"
    )]
    NoGpu {
        /// What is missing.
        what: String,
    },
    /// No AMD GPU.
    #[error(
        "no AMD GPU can be used: {what}. `rocminfo` must list one: install ROCm 6.0 or later, or look at \
         ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES; or {ON_THE_CPU}"
    )]
    NoAmdGpu {
        /// What is missing.
        what: String,
    },
    /// A GPU that the machine does not have.
    #[error(
        "there is no GPU {device}: this process sees {devices}, counted from 0; take another one, or correct \
         CUDACPP_RUNTIME_DEVICE or CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES of AMD's GPUs)"
    )]
    NoSuchDevice {
        /// The one asked for.
        device: usize,
        /// How many there are.
        devices: usize,
    },
    /// A library of the CUDA toolkit that is not there.
    #[error(
        "{library} of the CUDA toolkit cannot be loaded: {what}. Install the CUDA toolkit, or \
         `pip install {package}`, and name the folder that holds it in LD_LIBRARY_PATH; or \
         {ON_THE_CPU}"
    )]
    GpuLibrary {
        /// Its name.
        library: &'static str,
        /// What pip calls it.
        package: String,
        /// Where it was looked for, or why it does not serve.
        what: String,
    },
    /// A library of ROCm that is not there.
    #[error(
        "{library} of ROCm cannot be loaded: {what}. Install ROCm 6.0 or later, and name its folder in ROCM_PATH; or \
         {ON_THE_CPU}"
    )]
    AmdLibrary {
        /// Its name.
        library: &'static str,
        /// Where it was looked for, or why it does not serve.
        what: String,
    },
    /// Device code that the compiler refuses.
    #[error("{compiler} does not compile the device code: {log}")]
    GpuCompile {
        /// Compiler and target.
        compiler: String,
        /// What it said.
        log: String,
    },
    /// Memory that the GPU does not have.
    #[error(
        "the GPU has too little memory: {what} was refused, {free} of {total} bytes are free. Lower \
         CUDACPP_RUNTIME_GPUMEMORY, run fewer processes on this GPU, or spread them over several \
         with CUDACPP_RUNTIME_DEVICE"
    )]
    GpuMemory {
        /// What was asked for.
        what: String,
        /// How much is free.
        free: usize,
        /// How much there is.
        total: usize,
    },
    /// A call of CUDA that failed.
    #[error("the GPU failed in {call}: {what}")]
    GpuCall {
        /// The call.
        call: &'static str,
        /// What CUDA says.
        what: String,
    },
    /// Events that do not fit into memory.
    #[error("no memory for {nevt} events; ask for fewer in one call")]
    NoMemoryForEvents {
        /// How many.
        nevt: usize,
    },
    /// A phase space that does not exist.
    #[error("no phase space: {what}; give another energy with --energy")]
    PhaseSpace {
        /// Why not.
        what: String,
    },
    /// A file with events that cannot be read or evaluated.
    #[error("{path}: {what}")]
    EventsFile {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        what: String,
    },
    /// Events without alpha_s, where nothing else says what it is.
    #[error("{why}; give it with --alpha-s")]
    NoAlphaS {
        /// Where it was looked for.
        why: String,
    },
    /// A measurement without a single point.
    #[error(
        "no point was measured: all would take longer than --limit; raise it, or ask for fewer events \
         (--nevt)"
    )]
    NothingMeasured,
    /// A SIMD level that does not exist.
    #[error(
        "unknown SIMD level `{name}`; choose one of auto, none, sse4, avx2, 512y, 512z \
         (--simd or CUDACPP_RUNTIME_SIMD)"
    )]
    UnknownSimdLevel {
        /// What was asked for.
        name: String,
    },
    /// A SIMD level that this CPU lacks.
    #[error(
        "this CPU lacks SIMD level `{name}`; choose one that it has ({supported}) or auto \
         (--simd or CUDACPP_RUNTIME_SIMD)"
    )]
    UnsupportedSimdLevel {
        /// The level.
        name: &'static str,
        /// The levels that the CPU has.
        supported: String,
    },
    /// A SIMD level of which this build has no code.
    #[error(
        "this build has no code of SIMD level `{name}`, and has one length of SVE's registers at most; choose a level \
         that it has ({supported}) or auto, or build it for the other length (docs/architecture.md, SVE)"
    )]
    SimdLevelNotBuilt {
        /// The level.
        name: &'static str,
        /// The levels that CPU and build have.
        supported: String,
    },
    /// A directory that is not a subprocess directory of MG5aMC.
    #[error(
        "{path} is not a subprocess directory of MG5aMC: {missing}. A subprocess directory is \
         <output>/SubProcesses/P<n>_<process>, as `output madevent` writes it"
    )]
    NotProcessDirectory {
        /// The directory.
        path: PathBuf,
        /// What it lacks.
        missing: String,
    },
    /// Fortran that the importer cannot read.
    #[error("{file}:{line}: {what}")]
    Fortran {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u32,
        /// The construct.
        what: String,
    },
    /// A file of an MG5aMC directory that does not hold what it should.
    #[error("{path}: {what}")]
    Import {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A model file that cannot be used.
    #[error("{path}: {what}")]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A process that cannot be generated.
    #[error("{process}: {what}")]
    Generate {
        /// The process, as it was asked for.
        process: String,
        /// Why not, and the cure.
        what: String,
    },
    /// Fortran that cannot be written.
    #[error("{what}")]
    Export {
        /// What it was about, why not, and the cure.
        what: String,
    },
    /// A card with a missing or malformed entry.
    #[error("{path}: {what}")]
    Card {
        /// The card.
        path: PathBuf,
        /// Which entry, and what is wrong with it.
        what: String,
    },
    /// A run that cannot be made as its description or its cards have it.
    #[error("{}", sentence(place, what, cure))]
    Run {
        /// The card, file or argument; empty where `what` says it.
        place: String,
        /// What is wrong.
        what: String,
        /// What to do; empty where `what` says it.
        cure: String,
    },
}

/// What is wrong where, and what to do.
fn sentence(place: &str, what: &str, cure: &str) -> String {
    let colon = if place.is_empty() { "" } else { ": " };
    let semicolon = if cure.is_empty() { "" } else { "; " };
    format!("{place}{colon}{what}{semicolon}{cure}")
}

impl Error {
    /// Which kind of error it is, for programs: its variant's name in the form `no_gpu`. Names do not change; new ones come.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// The same of a call's part, behind so many events of the call.
    pub fn behind(self, events: usize) -> Error {
        match self {
            Error::NoSuchIndex {
                what,
                event,
                index,
                count,
            } => Error::NoSuchIndex {
                what,
                event: event + events,
                index,
                count,
            },
            other => other,
        }
    }

    /// The event of a call that has no matrix element, from 0, where that is what is wrong.
    pub fn bad_event(&self) -> Option<usize> {
        match self {
            Error::BadMomentum { event, .. }
            | Error::NotConserved { event, .. }
            | Error::NotFinite { event, .. } => Some(*event),
            _ => None,
        }
    }

    /// An [`Error::Run`] whose place `what` says.
    pub fn run(what: impl Into<String>, cure: impl Into<String>) -> Error {
        Error::run_at("", what, cure)
    }

    /// An [`Error::Run`] at a place.
    pub fn run_at(
        place: impl Into<String>,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) -> Error {
        Error::Run {
            place: place.into(),
            what: what.into(),
            cure: cure.into(),
        }
    }

    /// An [`Error::Io`] for a file.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, source }
    }
}
