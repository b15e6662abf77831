//! What can go wrong, each with a message that names the thing and the cure.

use std::path::PathBuf;

/// Result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that a user, a file or a machine can cause. New kinds of failure get a variant of
/// their own, with the cure in the message.
#[derive(Debug, thiserror::Error)]
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
        "event {event}: the momentum of particle {leg} (PDG code {pdg}, mass {mass} GeV) is (E, px, py, pz) = {momentum:?}, which is not finite, has no positive energy or is not on its mass shell; check the events, the order of the particles and the masses in the parameter card"
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
    /// A channel that the process does not have.
    #[error(
        "event {event}: there is no channel {channel} in this process; its channels are {known}; the executable and the process may not belong together"
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
        "event {event}: igraph is {config}, but this process has configurations 1 to {configs} (0 for none); the executable and the process may not belong together"
    )]
    NoSuchConfiguration {
        /// Number of the event within the call, from 0.
        event: usize,
        /// The configuration asked for.
        config: i32,
        /// How many there are.
        configs: usize,
    },
    /// No helicity contributes.
    #[error(
        "no helicity of {process} contributes to the first {events} events; check their momenta and the couplings in the parameter card"
    )]
    NoGoodHelicity {
        /// The process.
        process: String,
        /// On how many events they were looked for.
        events: usize,
    },
    /// A call without events where some are needed.
    #[error("there are no events to find the good helicities on; call with at least one")]
    NoEvents,
    /// Threads that could not be started.
    #[error("could not start {threads} threads: {what}; set CUDACPP_RUNTIME_THREADS to fewer")]
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
        defect: crate::process::file::Defect,
    },
    /// A name of the `CUDACPP_RUNTIME_` family that does not exist.
    #[error("there is no switch {name} (did you mean {closest}?); correct the name or unset it")]
    UnknownSwitch {
        /// The name in the environment.
        name: String,
        /// The known name that is most like it.
        closest: String,
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
    /// GPUs were asked for.
    #[error(
        "CUDACPP_RUNTIME_BACKEND=cuda asks for a GPU, and this version of mebridge has no GPU \
         engine; set it to cpu or auto, or unset it"
    )]
    NoGpuEngine,
    /// A phase space that does not exist.
    #[error("no phase space: {what}; give another energy with --energy")]
    PhaseSpace {
        /// Why not.
        what: String,
    },
    /// A SIMD level that does not exist.
    #[error(
        "unknown SIMD level `{name}`; choose one of auto, none, sse4, avx2, 512y, 512z \
         (CUDACPP_RUNTIME_SIMD)"
    )]
    UnknownSimdLevel {
        /// What was asked for.
        name: String,
    },
    /// A SIMD level that this CPU lacks.
    #[error(
        "this CPU lacks SIMD level `{name}`; choose one that it has ({supported}) or auto \
         (CUDACPP_RUNTIME_SIMD)"
    )]
    UnsupportedSimdLevel {
        /// The level.
        name: &'static str,
        /// The levels that the CPU has.
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
    /// A card with a missing or malformed entry.
    #[error("{path}: {what}")]
    Card {
        /// The card.
        path: PathBuf,
        /// Which entry, and what is wrong with it.
        what: String,
    },
}

impl Error {
    /// An [`Error::Io`] for a file.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, source }
    }
}
