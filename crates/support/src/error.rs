//! Errors of mebridge; each message names the affected object and the cure.

use std::borrow::Cow;
use std::ffi::CStr;
use std::path::PathBuf;

/// Message of [`Error::CallWithinCall`], a constant because a signal handler may not allocate memory.
pub const CALL_WITHIN_CALL: &CStr =
    c"a signal handler called the library while the thread that it interrupted was inside a library call, and would \
      wait for ever; let the handler set a flag, and make the call after the other one has returned";

/// How to select the CPU if there is no GPU: with the command, in the environment and in Python.
const ON_THE_CPU: &str = "evaluate on the CPU (--backend cpu or CUDACPP_RUNTIME_BACKEND=cpu; in Python, device=\"cpu\" or \
                          arrays in the CPU's memory)";

/// Result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Failures caused by users, files and machines. A new kind of failure gets a variant of its own, with the cure in its
/// message.
#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
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
    /// A parameter or coupling that is unusable with the values of the card.
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
        "event {event} (from 0): the incoming and outgoing momenta (E, px, py, pz) differ by {by:?}, which is too much for an incoming energy of {energy} GeV; check the events and the order of the particles"
    )]
    NotConserved {
        /// Number of the event within the call, from 0.
        event: usize,
        /// Incoming minus outgoing momentum.
        by: Vec<f64>,
        /// The incoming energy.
        energy: f64,
    },
    /// A matrix element that is infinite or NaN.
    #[error(
        "event {event} (from 0): its |M|^2 is not finite: {why}; leave such events out, by a cut for example"
    )]
    NotFinite {
        /// Number of the event within the call, from 0.
        event: usize,
        /// The reason, if known.
        why: String,
    },
    /// An event that cannot be stored in an event file.
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
        /// The requested channel.
        channel: i32,
        /// The existing channels.
        known: String,
    },
    /// A configuration that the process does not have.
    #[error(
        "event {event} (from 0): igraph is {config}, but this process has configurations 1 to {configs} (0 for none); the executable and the process may not belong together"
    )]
    NoSuchConfiguration {
        /// Number of the event within the call, from 0.
        event: usize,
        /// The requested configuration.
        config: i32,
        /// How many there are.
        configs: usize,
    },
    /// An index of a batch that is out of range.
    #[error(
        "event {event} (from 0): {what} index {index} names nothing; there are {count}, counted from 0"
    )]
    NoSuchIndex {
        /// Kind of index, such as helicity.
        what: &'static str,
        /// Number of the event within the batch, from 0.
        event: usize,
        /// The index.
        index: i32,
        /// How many there are.
        count: usize,
    },
    /// A GPU was requested for a process that only the CPU can evaluate.
    #[error("{what}: there is no GPU code for it; {ON_THE_CPU}, or leave the choice to auto")]
    NotOnGpu {
        /// The feature without GPU code.
        what: Cow<'static, str>,
    },
    /// Something for GPUs only, where the CPU evaluates.
    #[error("{what} cannot be evaluated by the CPU; ask for a GPU (CUDACPP_RUNTIME_BACKEND=cuda)")]
    NotOnCpu {
        /// What it is.
        what: &'static str,
    },
    /// Memory that the GPU cannot access.
    #[error("{what} are not in the memory of {gpu}, which evaluates; pass addresses in its memory")]
    NotOnThisGpu {
        /// The arrays concerned.
        what: &'static str,
        /// The GPU.
        gpu: String,
    },
    /// A call without events where at least one is needed.
    #[error("there are no events to find the good helicities on; call with at least one")]
    NoEvents,
    /// Memory that the system refuses.
    #[error(
        "there is too little memory: {bytes} bytes could not be allocated; give the job more, or use \
         fewer threads (--threads or CUDACPP_RUNTIME_THREADS)"
    )]
    Memory {
        /// How many bytes.
        bytes: usize,
    },
    /// Threads that could not be started.
    #[error(
        "could not start {threads} threads: {what}; use fewer (--threads or CUDACPP_RUNTIME_THREADS)"
    )]
    Threads {
        /// How many.
        threads: usize,
        /// The system's error.
        what: String,
    },
    /// A Lorentz structure whose outgoing momentum is not the sum of the incoming ones.
    #[error(
        "the Lorentz structure {routine} gives a wavefunction whose momentum is not the sum of the other momenta at its vertex; such structures cannot be evaluated"
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
    /// A call of the Fortran or C interface with an invalid argument.
    #[error("{function}: {what}")]
    Call {
        /// The function.
        function: &'static str,
        /// Which argument, and what is wrong with it.
        what: String,
    },
    /// A Fortran call of the other generation of the contract.
    #[error(
        "{function}: this is not a call {assumed}: {defect}. It looks like a call {other}. A call \
         {assumed} was assumed because of {reason}. Use the process of the MG5aMC \
         directory that this executable was built in, or set CUDACPP_RUNTIME_IGRAPH={value}"
    )]
    Generation {
        /// The function.
        function: &'static str,
        /// The assumed generation.
        assumed: &'static str,
        /// Why it was assumed.
        reason: &'static str,
        /// What contradicts the assumption.
        defect: String,
        /// The generation that fits.
        other: &'static str,
        /// Value of the switch for that generation.
        value: &'static str,
    },
    /// A handle of no open object of its kind.
    #[error(
        "the handle {handle:#x} is not an open {kind}: {what}; pass the handle that was returned when the \
         {kind} was created, unchanged, in 8 bytes"
    )]
    BadHandle {
        /// The handle.
        handle: u64,
        /// The kind of object, such as a bridge.
        kind: &'static str,
        /// The reason, if known.
        what: String,
    },
    /// An object left half changed by an internal error.
    #[error("an internal error left this {kind} unusable; delete it and create a new one")]
    Broken {
        /// What it is.
        kind: &'static str,
    },
    /// An object that a thread was using when the program forked.
    #[error(
        "a thread of the parent was using this {kind} when the program forked, so that it is unusable here; create \
         another {kind} in this process, or fork while no call is in progress"
    )]
    Forked {
        /// What it is.
        kind: &'static str,
    },
    /// A call from a signal handler that interrupted another call in the same thread.
    #[error("{}", CALL_WITHIN_CALL.to_string_lossy())]
    CallWithinCall,
    /// A panic that an interface function caught.
    #[error(
        "internal error: {what}. This is a defect of mebridge; please report it with the process \
         and the call that show it"
    )]
    Internal {
        /// The panic's message.
        what: String,
    },
    /// An MG5aMC output that cannot be linked with the library or unlinked.
    #[error("{path}: {what}")]
    Link {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and the cure.
        what: String,
    },
    /// No process is specified.
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
    /// Several matrix elements where one must be chosen.
    #[error("{path} holds {what}; name one of them as '{path}#n', n being one of:{names}")]
    ChooseProcess {
        /// The directory or file.
        path: PathBuf,
        /// How many there are.
        what: String,
        /// Their numbers and names, one per line.
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
    /// An unknown name of the `CUDACPP_RUNTIME_` family.
    #[error("there is no switch {name} ({hint}); correct the name or unset it")]
    UnknownSwitch {
        /// The name in the environment.
        name: String,
        /// The most similar known name, or all known names.
        hint: String,
    },
    /// A switch with an invalid value.
    #[error("switch {name} has the value '{value}'; allowed: {allowed}")]
    BadSwitch {
        /// The switch.
        name: String,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// No GPU, or no driver for it.
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
        /// The requested GPU.
        device: usize,
        /// How many there are.
        devices: usize,
    },
    /// A missing library of the CUDA toolkit.
    #[error(
        "{library} of the CUDA toolkit cannot be loaded: {what}. Install the CUDA toolkit, or \
         `pip install {package}`, and name the folder that holds it in LD_LIBRARY_PATH; or \
         {ON_THE_CPU}"
    )]
    GpuLibrary {
        /// Its name.
        library: &'static str,
        /// Its package in pip.
        package: String,
        /// Where it was searched, or why it cannot be used.
        what: String,
    },
    /// A missing library of ROCm.
    #[error(
        "{library} of ROCm cannot be loaded: {what}. Install ROCm 6.0 or later, and name its folder in ROCM_PATH; or \
         {ON_THE_CPU}"
    )]
    AmdLibrary {
        /// Its name.
        library: &'static str,
        /// Where it was searched, or why it cannot be used.
        what: String,
    },
    /// Device code that the compiler rejects.
    #[error("{compiler} does not compile the device code: {log}")]
    GpuCompile {
        /// Compiler and target.
        compiler: String,
        /// Its messages.
        log: String,
    },
    /// Too little GPU memory.
    #[error(
        "the GPU has too little memory: {what} could not be allocated, {free} of {total} bytes are free. Lower \
         CUDACPP_RUNTIME_GPUMEMORY, run fewer processes on this GPU, or spread them over several \
         with CUDACPP_RUNTIME_DEVICE"
    )]
    GpuMemory {
        /// The requested memory.
        what: String,
        /// Free memory in bytes.
        free: usize,
        /// Total memory in bytes.
        total: usize,
    },
    /// A call of CUDA that failed.
    #[error("the GPU failed in {call}: {what}")]
    GpuCall {
        /// The call.
        call: &'static str,
        /// CUDA's error.
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
    /// Events without alpha_s, where no other source provides it.
    #[error("{why}; give it with --alpha-s")]
    NoAlphaS {
        /// Where it was searched.
        why: String,
    },
    /// A performance measurement without any point.
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
        /// The requested level.
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
    /// A SIMD level for which this build has no code.
    #[error(
        "this build has no code for SIMD level `{name}`, and supports at most one length of SVE registers; choose a level \
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
    /// A file of an MG5aMC directory with unexpected contents.
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
        /// The process as requested.
        process: String,
        /// Why not, and the cure.
        what: String,
    },
    /// Fortran that cannot be exported.
    #[error("{what}")]
    Export {
        /// What was exported, why it failed, and the cure.
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
    /// A run that cannot be performed as described by its request or cards.
    #[error("{}", sentence(place, what, cure))]
    Run {
        /// The card, file or argument; empty if `what` names it.
        place: String,
        /// What is wrong.
        what: String,
        /// What to do; empty if `what` contains it.
        cure: String,
    },
}

/// Joins place, defect and cure.
fn sentence(place: &str, what: &str, cure: &str) -> String {
    let colon = if place.is_empty() { "" } else { ": " };
    let semicolon = if cure.is_empty() { "" } else { "; " };
    format!("{place}{colon}{what}{semicolon}{cure}")
}

impl Error {
    /// Returns the kind of error for programs: the name of its variant in the form `no_gpu`. Existing names do not
    /// change; new ones may be added.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Converts the error of a part of a call, which begins at event number `events`, to an error of the whole call.
    pub fn with_event_offset(self, events: usize) -> Error {
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

    /// Returns the event of the call, from 0, whose matrix element is invalid, if that is the error.
    pub fn bad_event(&self) -> Option<usize> {
        match self {
            Error::BadMomentum { event, .. }
            | Error::NotConserved { event, .. }
            | Error::NotFinite { event, .. } => Some(*event),
            _ => None,
        }
    }

    /// An [`Error::Run`] whose place is named in `what`.
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
