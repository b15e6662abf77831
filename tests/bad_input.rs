//! Bad input through the Fortran interface: the message and the exit status of each kind.
//!
//! The interface ends the program, so every case runs in a child: this test binary, started again with the name of a
//! case in `MEBRIDGE_TEST_CASE`.

use mebridge::gpu::cuda::Platform;
use mebridge::process::{Contract, Process, example};
use mebridge_capi::fbridge::{
    fbridgecreate_, fbridgedelete_, fbridgegetngoodhel_, fbridgesequence_,
    fbridgesequence_nomultichannel_,
};
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::ptr::from_ref;

const NEVT: usize = 8;
const CASE: &str = "MEBRIDGE_TEST_CASE";
const PREFIX: &str = "CUDACPP_RUNTIME_";

/// The arrays of a Fortran caller: NEVT events of phi phi > phi phi.
struct Caller {
    handle: u64,
    nevt: i32,
    npar: i32,
    np4: i32,
    momenta: Vec<f64>,
    g_s: Vec<f64>,
    random: Vec<f64>,
    channels: Vec<i32>,
    igraph: Vec<i32>,
    mes: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
}

/// Constants as Fortran passes them: in read-only memory.
static TRUE: i32 = 1;
static FALSE: i32 = 0;

impl Caller {
    fn new() -> Caller {
        let mut momenta = Vec::new();
        for event in 0..NEVT {
            let (e, m) = (500.0f64, 125.0f64);
            let p = (e * e - m * m).sqrt();
            let cosine = 0.9 - 0.2 * event as f64;
            let (x, z) = (p * (1.0 - cosine * cosine).sqrt(), p * cosine);
            momenta.extend([
                e, 0.0, 0.0, p, e, 0.0, 0.0, -p, e, x, 0.0, z, e, -x, 0.0, -z,
            ]);
        }
        Caller {
            handle: 0,
            nevt: NEVT as i32,
            npar: 4,
            np4: 4,
            momenta,
            g_s: vec![1.2; NEVT],
            random: vec![0.5; NEVT],
            channels: vec![1; NEVT],
            igraph: vec![0; NEVT],
            mes: vec![0.0; NEVT],
            helicity: vec![0; NEVT],
            color: vec![0; NEVT],
        }
    }

    fn create(&mut self) {
        // SAFETY: variables of the right types.
        unsafe { fbridgecreate_(&mut self.handle, &self.nevt, &self.npar, &self.np4) }
    }

    fn delete(&self) {
        // SAFETY: a variable of the right type.
        unsafe { fbridgedelete_(&self.handle) }
    }

    fn count(&self) -> (i32, i32) {
        let (mut good, mut total) = (-1, -1);
        // SAFETY: variables of the right types.
        unsafe { fbridgegetngoodhel_(&self.handle, &mut good, &mut total) }
        (good, total)
    }

    /// The call that MadEvent makes first.
    fn find_good_helicities(&mut self) {
        // SAFETY: arrays of NEVT events.
        unsafe {
            fbridgesequence_nomultichannel_(
                &self.handle,
                void(&self.momenta),
                void(&self.g_s),
                void(&self.random),
                void(&self.random),
                void(&self.igraph),
                void_mut(&mut self.mes),
                void_mut(&mut self.helicity),
                void_mut(&mut self.color),
                from_ref(&TRUE).cast(),
            )
        }
    }

    fn sequence(&mut self) {
        self.sequence_of(void(&self.momenta));
    }

    fn sequence_of(&mut self, momenta: *const c_void) {
        // SAFETY: arrays of NEVT events.
        unsafe {
            fbridgesequence_(
                &self.handle,
                momenta,
                void(&self.g_s),
                void(&self.random),
                void(&self.random),
                void(&self.channels),
                void(&self.igraph),
                void_mut(&mut self.mes),
                void_mut(&mut self.helicity),
                void_mut(&mut self.color),
                from_ref(&FALSE).cast(),
            )
        }
    }

    /// The call of the generation without igraph, with one argument less.
    fn sequence_without_igraph(&mut self) {
        type P = *const c_void;
        // SAFETY: an older Fortran caller does the same. The missing argument is read as whatever is in its place; the
        // library is made for that.
        let older = unsafe {
            std::mem::transmute::<
                unsafe extern "C" fn(*const u64, P, P, P, P, P, P, P, P, P, P),
                unsafe extern "C" fn(*const u64, P, P, P, P, P, P, P, P, P),
            >(fbridgesequence_)
        };
        // SAFETY: arrays of NEVT events.
        unsafe {
            older(
                &self.handle,
                void(&self.momenta),
                void(&self.g_s),
                void(&self.random),
                void(&self.random),
                void(&self.channels),
                void_mut(&mut self.mes),
                void_mut(&mut self.helicity),
                void_mut(&mut self.color),
                from_ref(&FALSE).cast(),
            )
        }
    }

    /// As above, without channels.
    fn nomultichannel_without_igraph(&mut self) {
        type P = *const c_void;
        // SAFETY: see above.
        let older = unsafe {
            std::mem::transmute::<
                unsafe extern "C" fn(*const u64, P, P, P, P, P, P, P, P, P),
                unsafe extern "C" fn(*const u64, P, P, P, P, P, P, P, P),
            >(fbridgesequence_nomultichannel_)
        };
        // SAFETY: arrays of NEVT events.
        unsafe {
            older(
                &self.handle,
                void(&self.momenta),
                void(&self.g_s),
                void(&self.random),
                void(&self.random),
                void_mut(&mut self.mes),
                void_mut(&mut self.helicity),
                void_mut(&mut self.color),
                from_ref(&TRUE).cast(),
            )
        }
    }

    /// Compares with the closed formula, times the share of the channel.
    fn check(&self) {
        for event in 0..NEVT {
            let momenta = &self.momenta[16 * event..16 * event + 16];
            let whole = example::scalars_squared(momenta, self.g_s[event], 125.0);
            let share = self.mes[event] / whole;
            assert!(share > 0.0 && share < 1.0, "event {event}: {share}");
            assert_eq!((self.helicity[event], self.color[event]), (1, 1));
        }
    }
}

fn void<T>(array: &[T]) -> *const c_void {
    array.as_ptr().cast()
}

fn void_mut<T>(array: &mut [T]) -> *const c_void {
    array.as_mut_ptr().cast_const().cast()
}

/// Runs one of the cases in the child. Does nothing in an ordinary test run.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn child() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let mut caller = Caller::new();
    match case.as_str() {
        "good" => {
            caller.create();
            caller.find_good_helicities();
            assert_eq!(caller.count(), (1, 1));
            assert!(caller.mes.iter().all(|&m| m == 0.0), "goodHelOnly wrote");
            caller.sequence();
            caller.check();
            caller.delete();
        }
        "good without igraph" => {
            caller.create();
            caller.nomultichannel_without_igraph();
            caller.sequence_without_igraph();
            caller.check();
            caller.delete();
        }
        "create" => caller.create(),
        "create and delete, three times" => {
            for _ in 0..3 {
                caller.create();
                caller.delete();
            }
        }
        "nevt 0" => {
            caller.nevt = 0;
            caller.create();
        }
        "nevt negative" => {
            caller.nevt = -32;
            caller.create();
        }
        "npar" => {
            caller.npar = 5;
            caller.create();
        }
        "np4" => {
            caller.np4 = 3;
            caller.create();
        }
        "handle zero" => caller.find_good_helicities(),
        "handle never created" => {
            caller.create();
            caller.handle = from_ref(&caller) as u64;
            caller.sequence();
        }
        "handle deleted" => {
            caller.create();
            caller.delete();
            caller.sequence();
        }
        "handle deleted twice" => {
            caller.create();
            caller.delete();
            caller.delete();
        }
        "count too early" => {
            caller.create();
            caller.count();
        }
        "with igraph, helicities" => {
            caller.create();
            caller.find_good_helicities();
        }
        "with igraph" => {
            caller.create();
            caller.sequence();
        }
        "without igraph, helicities" => {
            caller.create();
            caller.nomultichannel_without_igraph();
        }
        "without igraph" => {
            caller.create();
            caller.sequence_without_igraph();
        }
        "nan" => {
            caller.momenta[16 * 5 + 9] = f64::NAN;
            caller.create();
            caller.sequence();
        }
        "infinite" => {
            caller.momenta[16 * 7 + 12] = f64::INFINITY;
            caller.create();
            caller.sequence();
        }
        "off shell" => {
            caller.momenta[16 * 2] = 900.0;
            caller.create();
            caller.sequence();
        }
        "channel" => {
            caller.channels[6] = 4;
            caller.create();
            caller.sequence();
        }
        "channel zero" => {
            caller.channels[0] = 0;
            caller.create();
            caller.sequence();
        }
        "igraph" => {
            caller.igraph[3] = 9;
            caller.create();
            caller.sequence();
        }
        "igraph later" => {
            caller.create();
            caller.sequence();
            caller.igraph[3] = -1;
            caller.sequence();
        }
        "null" => {
            caller.create();
            let none: *const c_void = std::ptr::null();
            // SAFETY: the case tests null pointers.
            unsafe {
                fbridgesequence_(
                    &caller.handle,
                    none,
                    none,
                    none,
                    none,
                    none,
                    none,
                    none,
                    none,
                    none,
                    none,
                )
            }
        }
        "call within a call" => {
            caller.create();
            call_from_a_handler(caller);
        }
        "little memory" => {
            limit_address_space(512 << 20);
            caller.create();
            caller.sequence();
        }
        other => panic!("no case {other}"),
    }
    println!("the case came to its end");
}

/// Makes a call whose momenta are no longer readable when they are used, with a signal handler that calls again.
fn call_from_a_handler(mut caller: Caller) {
    static CALLER: std::sync::atomic::AtomicPtr<Caller> =
        std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
    extern "C" fn handler(_: i32) {
        // SAFETY: the pointer is to the caller below, which is not used until this returns.
        unsafe { (*CALLER.load(std::sync::atomic::Ordering::SeqCst)).sequence() };
    }
    let bytes = size_of_val(&caller.momenta[..]);
    // SAFETY: the momenta are in a separate memory region, and the handler or an alarm ends the program.
    unsafe {
        let (access, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        let nowhere = std::ptr::null_mut();
        let page = libc::mmap(nowhere, bytes, access, private | libc::MAP_ANONYMOUS, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        page.copy_from(caller.momenta.as_ptr().cast(), bytes);
        // The library has checked that they are readable.
        caller.sequence_of(page);
        CALLER.store(&raw mut caller, std::sync::atomic::Ordering::SeqCst);
        libc::signal(libc::SIGSEGV, handler as *const () as usize);
        libc::alarm(60);
        libc::mprotect(page, bytes, libc::PROT_NONE);
        caller.sequence_of(page);
    }
}

/// Limits the address space of this process to this much more than it has.
fn limit_address_space(more: u64) {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split_whitespace().next().unwrap().parse().unwrap();
    let limit = pages * 4096 + more;
    let limit = libc::rlimit {
        rlim_cur: limit,
        rlim_max: limit,
    };
    // SAFETY: the limit is on the stack.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// The end of a child.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run_in(folder: &Path, case: &str, switches: &[(&str, &str)]) -> Ended {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .current_dir(folder)
        .env("RUST_BACKTRACE", "0")
        .env(CASE, case);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(PREFIX) {
            command.env_remove(name);
        }
    }
    // Neither uses nor fills the user's cache, so that the test is the same on every machine.
    command.env(format!("{PREFIX}CACHE"), "off");
    command.env(format!("{PREFIX}BACKEND"), "cpu");
    for (name, value) in switches {
        command.env(format!("{PREFIX}{name}"), value);
    }
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Makes a folder with `scalars.mebridge`.
fn folder(contract: Contract) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let process = Process {
        contract,
        ..example::scalars()
    };
    process
        .write(folder.path().join("scalars.mebridge"))
        .unwrap();
    folder
}

/// Runs a case on the scalars, with additional switches.
fn run(case: &str, switches: &[(&str, &str)]) -> Ended {
    let folder = folder(Contract::WithIgraph);
    let mut all = vec![("PROCESS", "scalars.mebridge")];
    all.extend(switches);
    run_in(folder.path(), case, &all)
}

impl Ended {
    /// Checks for the behaviour of a Fortran STOP with a code: the message on stderr, no signal, no panic.
    #[track_caller]
    fn stopped_with(&self, pieces: &[&str]) {
        let Ended { code, out, err } = self;
        assert_eq!(*code, Some(1), "{out}\n{err}");
        assert!(!out.contains("came to its end"), "{out}\n{err}");
        assert!(!err.contains("panicked"), "{err}");
        let messages: Vec<_> = err
            .lines()
            .filter(|l| l.starts_with("mebridge: ERROR "))
            .collect();
        assert_eq!(messages.len(), 1, "{err}");
        for piece in pieces {
            assert!(err.contains(piece), "no '{piece}' in: {err}");
        }
    }

    #[track_caller]
    fn went_well(&self) {
        let Ended { code, out, err } = self;
        assert_eq!(*code, Some(0), "{out}\n{err}");
        assert!(out.contains("came to its end"), "{out}\n{err}");
        assert!(!err.contains("ERROR"), "{err}");
    }
}

#[test]
fn good_input_goes_well_in_both_generations() {
    run("good", &[]).went_well();
    run("good", &[("IGRAPH", "yes")]).went_well();
    run("good without igraph", &[("IGRAPH", "no")]).went_well();
    let unknown = folder(Contract::Unknown);
    let file = [("PROCESS", "scalars.mebridge")];
    run_in(unknown.path(), "good", &file).went_well();
    let without = folder(Contract::WithoutIgraph);
    run_in(without.path(), "good without igraph", &file).went_well();
}

#[test]
fn the_wrong_generation_is_told() {
    for case in ["without igraph", "without igraph, helicities"] {
        run(case, &[]).stopped_with(&[
            "looks like a call without igraph",
            "the directory that the process was imported from",
            "CUDACPP_RUNTIME_IGRAPH=no",
        ]);
        run(case, &[("IGRAPH", "yes")]).stopped_with(&["the switch CUDACPP_RUNTIME_IGRAPH"]);
        let unknown = folder(Contract::Unknown);
        run_in(unknown.path(), case, &[("PROCESS", "scalars.mebridge")])
            .stopped_with(&["the default"]);
    }
    for case in ["with igraph", "with igraph, helicities"] {
        run(case, &[("IGRAPH", "no")]).stopped_with(&[
            "looks like a call with igraph",
            "CUDACPP_RUNTIME_IGRAPH=yes",
        ]);
    }
}

#[test]
fn arguments_of_the_creation_are_checked() {
    run("nevt 0", &[]).stopped_with(&["fbridgecreate: nevt is 0"]);
    run("nevt negative", &[]).stopped_with(&["nevt is -32"]);
    run("npar", &[]).stopped_with(&["npar is 5", "phi phi > phi phi", "4 external legs"]);
    run("np4", &[]).stopped_with(&["np4 is 3"]);
}

#[test]
fn handles_are_checked() {
    run("handle zero", &[]).stopped_with(&["handle 0x0", "it is zero"]);
    run("handle never created", &[]).stopped_with(&["no bridge was created with it"]);
    run("handle deleted", &[]).stopped_with(&["its bridge was deleted before"]);
    run("handle deleted twice", &[]).stopped_with(&["its bridge was deleted before"]);
    run("count too early", &[]).stopped_with(&["fbridgegetngoodhel", "no good helicities"]);
}

/// The handler's call would wait forever for the interrupted call.
#[test]
fn a_call_from_a_signal_handler_within_a_call_is_told() {
    run("call within a call", &[]).stopped_with(&[
        "a signal handler called the library",
        "let the handler set a flag",
    ]);
}

#[test]
fn arrays_are_checked() {
    run("null", &[]).stopped_with(&["fbridgesequence: momenta is a null pointer"]);
}

#[test]
fn a_momentum_that_cannot_be_is_named() {
    run("nan", &[]).stopped_with(&["event 5", "particle 3", "NaN"]);
    run("infinite", &[]).stopped_with(&["event 7", "particle 4", "inf"]);
    run("off shell", &[]).stopped_with(&["event 2", "particle 1", "900", "mass 125"]);
}

#[test]
fn a_channel_that_does_not_exist_is_named() {
    run("channel", &[]).stopped_with(&["event 6", "channel 4"]);
    run("channel zero", &[]).stopped_with(&["event 0", "channel 0"]);
    run("igraph", &[]).stopped_with(&["igraph", "9"]);
    run("igraph later", &[]).stopped_with(&["igraph", "-1"]);
}

#[test]
fn switches_are_checked() {
    run("create", &[("FPTYP", "d")]).stopped_with(&[
        "CUDACPP_RUNTIME_FPTYP ",
        "did you mean CUDACPP_RUNTIME_FPTYPE?",
    ]);
    run("create", &[("FPTYPE", "double")]).stopped_with(&["'double'", "d, m or f"]);
    run("create", &[("THREADS", "0")]).stopped_with(&["CUDACPP_RUNTIME_THREADS", "'0'"]);
    run("create", &[("SIMD", "neon")]).stopped_with(&["'neon'", "avx2"]);
}

#[test]
fn there_is_no_gpu() {
    for (platform, name, says) in [
        (Platform::Cuda, "cuda", "no GPU"),
        (Platform::Hip, "hip", "no AMD GPU"),
    ] {
        if let Ok(devices) = mebridge::gpu::cuda::devices(platform) {
            // Everything that could be required exists.
            eprintln!("not tested: there is a GPU ({devices})");
            continue;
        }
        run("create", &[("BACKEND", name)]).stopped_with(&[says, "CUDACPP_RUNTIME_BACKEND=cpu"]);
    }
}

#[test]
fn cards_are_checked() {
    run("create", &[("PARAMCARD", "missing.dat")]).stopped_with(&["missing.dat"]);
    let folder = folder(Contract::WithIgraph);
    let card = |text: &str| {
        std::fs::write(folder.path().join("card.dat"), text).unwrap();
        let switches = [("PROCESS", "scalars.mebridge"), ("PARAMCARD", "card.dat")];
        run_in(folder.path(), "create", &switches)
    };
    card("Block mass\n  25 1.25e+02 # MPHI\n").went_well();
    card("Block mass\n  25 heavy # MPHI\n").stopped_with(&["card.dat", "heavy"]);
    card("Block mass\n  6 1.73e+02 # MT\n").stopped_with(&["card.dat", "MDL_MPHI"]);
    card("").stopped_with(&["card.dat", "it has no entries"]);
}

#[test]
fn process_files_are_checked() {
    let folder = folder(Contract::WithIgraph);
    let path = folder.path().join("scalars.mebridge");
    let good = std::fs::read(&path).unwrap();
    let with = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        run_in(folder.path(), "create", &[("PROCESS", "scalars.mebridge")])
    };
    with(&good).went_well();
    with(b"").stopped_with(&["scalars.mebridge is not a mebridge process file"]);
    with(&good[..100]).stopped_with(&["truncated: 100 bytes of"]);
    let mut other = good.clone();
    other[8] += 1;
    with(&other).stopped_with(&["reads format", "mebridge import"]);
    let mut damaged = good.clone();
    damaged[60] ^= 4;
    with(&damaged).stopped_with(&["damaged", "checksum"]);
    run("create", &[("PROCESS", "none.mebridge")]).stopped_with(&["none.mebridge"]);
    run("create", &[("PROCESS", "scalars.mebridge#2")]).stopped_with(&["no number 2"]);
}

#[test]
fn a_process_must_be_found() {
    let empty = tempfile::tempdir().unwrap();
    run_in(empty.path(), "create", &[]).stopped_with(&[
        "which process?",
        "CUDACPP_RUNTIME_PROCESS",
        "matrix<i>.f",
    ]);
}

/// A copy of mebridge's own matrix element for g g > t t~, in the layout of an MG5aMC directory.
struct Output(tempfile::TempDir);

impl Output {
    fn new() -> Output {
        let folder = tempfile::tempdir().unwrap();
        let source = mebridge_testing::root().join("fortran/gg_ttx");
        copy(&source, folder.path());
        Output(folder)
    }

    fn p(&self) -> std::path::PathBuf {
        self.0.path().join("SubProcesses/P1_gg_ttx")
    }

    fn card(&self) -> std::path::PathBuf {
        self.0.path().join("Cards/param_card.dat")
    }

    /// Replaces text in a file of the P directory.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.p().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no '{from}'");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    }

    fn create(&self) -> Ended {
        run_in(&self.p(), "create", &[])
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_directory_is_found_as_madevent_runs() {
    let output = Output::new();
    output.create().went_well();
    let g1 = output.p().join("G1");
    std::fs::create_dir(&g1).unwrap();
    run_in(&g1, "create", &[]).went_well();
    let elsewhere = tempfile::tempdir().unwrap();
    let p = output.p();
    let named = [("PROCESS", p.to_str().unwrap()), ("VERBOSE", "on")];
    let ended = run_in(elsewhere.path(), "create", &named);
    ended.went_well();
    // One line reports what is used.
    let reports: Vec<_> = ended
        .err
        .lines()
        .filter(|l| l.starts_with("mebridge: version "))
        .collect();
    assert_eq!(reports.len(), 1, "{}", ended.err);
    for piece in [
        p.to_str().unwrap(),
        "Cards/param_card.dat",
        "double precision",
    ] {
        assert!(reports[0].contains(piece), "{}", reports[0]);
    }
}

#[test]
fn the_card_of_a_directory_is_checked() {
    let output = Output::new();
    let card = std::fs::read_to_string(output.card()).unwrap();
    // The value of the top mass.
    let at = card.to_lowercase().find("block mass").unwrap();
    let line = card[at..]
        .lines()
        .find(|l| l.trim_start().starts_with("6 "))
        .unwrap();
    let value = line.split_whitespace().nth(1).unwrap();
    let broken = line.replacen(value, "heavy", 1);
    std::fs::write(output.card(), card.replacen(line, &broken, 1)).unwrap();
    output.create().stopped_with(&["param_card.dat", "heavy"]);
    std::fs::write(output.card(), card.replacen(line, "", 1)).unwrap();
    output.create().stopped_with(&["param_card.dat", "MT"]);
}

#[test]
fn a_directory_that_is_not_of_mg5amc_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let name = empty.path().to_str().unwrap();
    let pieces = [
        name,
        "is not a subprocess directory of MG5aMC",
        "SubProcesses/P",
    ];
    run_in(empty.path(), "create", &[("PROCESS", name)]).stopped_with(&pieces);
    std::fs::write(empty.path().join("matrix1.f"), "Dear diary,\n").unwrap();
    run_in(empty.path(), "create", &[]).stopped_with(&pieces);
    let output = Output::new();
    std::fs::write(output.p().join("matrix1.f"), "Dear diary,\n").unwrap();
    output.create().stopped_with(&["matrix1.f"]);
}

#[test]
fn a_construct_that_cannot_be_read_is_named() {
    let output = Output::new();
    output.edit("matrix1.f", "CALL VXXXXX", "CALL QXXXXX");
    output.create().stopped_with(&["matrix1.f", "QXXXXX"]);
}

#[test]
fn one_of_several_matrix_elements_is_chosen() {
    let output = Output::new();
    let (one, two) = (output.p().join("matrix1.f"), output.p().join("matrix2.f"));
    let text = std::fs::read_to_string(&one).unwrap();
    let text = text
        .replace("MATRIX1", "MATRIX2")
        .replace("matrix1", "matrix2");
    std::fs::write(two, text).unwrap();
    // The tables have an index for the matrix element; here both matrix elements are the same.
    let change = |file: &str, change: &dyn Fn(&str) -> String| {
        let path = output.p().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = text.lines().map(change).collect();
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    };
    let twice = |line: &str, index: &str, second: &str| {
        if line.contains(index) {
            format!("{line}\n{}", line.replacen(index, second, 1))
        } else {
            line.into()
        }
    };
    change("leshouche.inc", &|line| {
        twice(&twice(line, ",1,1)", ",1,2)"), ",2,1)", ",2,2)")
    });
    change("maxamps.inc", &|line| {
        line.replace("MAXSPROC=1", "MAXSPROC=2")
    });
    change("config_subproc_map.inc", &|line| {
        let diagram = line.rsplit('/').nth(1).unwrap();
        line.replace("I=1,1", "I=1,2")
            .replace(&format!("/{diagram}/"), &format!("/{diagram},{diagram}/"))
    });
    change("coloramps.inc", &|line| {
        twice(&line.replace("(2,3,1)", "(2,3,2)"), ",1),I", ",2),I")
    });
    output
        .create()
        .stopped_with(&["2 matrix elements", "#n", "#1", "#2"]);
    run_in(&output.p(), "create", &[("PROCESS", ".#2")]).went_well();
    run_in(&output.p(), "create", &[("PROCESS", ".#3")]).stopped_with(&["no number 3"]);
}

#[test]
#[cfg(target_os = "linux")]
fn too_little_memory_is_told() {
    // There is not enough address space for the stacks, or the memory, for this number of threads.
    run("little memory", &[("THREADS", "1000")]).stopped_with(&["CUDACPP_RUNTIME_THREADS"]);
}

/// MG5aMC's logs stay unchanged unless VERBOSE is set; then the line is printed once.
#[test]
fn what_is_used_is_said_once_where_it_is_asked_for() {
    let lines = |switches: &[(&str, &str)]| {
        let ended = run("create and delete, three times", switches);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let lines = ended
            .err
            .lines()
            .filter(|line| line.starts_with("mebridge"));
        lines.map(String::from).collect::<Vec<_>>()
    };
    assert!(lines(&[]).is_empty());
    assert!(lines(&[("VERBOSE", "0")]).is_empty());
    let reports = lines(&[("VERBOSE", "1")]);
    let [line] = &reports[..] else {
        panic!("{reports:?}");
    };
    for piece in [
        "phi phi > phi phi",
        "scalars.mebridge",
        "card: ",
        "double precision",
    ] {
        assert!(line.contains(piece), "{line}");
    }
}
