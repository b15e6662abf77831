//! Which files the command writes, and which it leaves alone.

use crate::common::gfortran;
use crate::madevent::library;
use crate::support::{Ran, copy, directory, gg_ttx, hears_signals, mebridge, mebridge_with};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const EVENT: &str = "500 0 0 484.1229182759271 500 0 0 -484.1229182759271 \
                     500 290.47375096555624 0 387.2983346207417 500 -290.47375096555624 0 -387.2983346207417\n";
const ANSWER: &str = "eval scalars.mebridge events.txt --alpha-s 0.118 -o";

/// A folder with a process, events of it, and the events and cards of another one.
fn folder() -> tempfile::TempDir {
    let d = directory();
    fs::write(d.path().join("events.txt"), EVENT).unwrap();
    copy(&gg_ttx().join("../.."), &d.path().join("gg"));
    let card = fs::read_to_string(d.path().join("gg/Cards/param_card.dat")).unwrap();
    let lhe = format!(
        "<LesHouchesEvents version=\"3.0\">\n<header>\n<slha>\n{card}</slha>\n</header>\n<init>\n</init>\n{}",
        LHE_EVENT.repeat(3)
    );
    fs::write(d.path().join("events.lhe"), lhe + "</LesHouchesEvents>\n").unwrap();
    fs::write(
        d.path().join("card.dat"),
        card.replacen("6 1.730000e+02", "6 1.750000e+02", 1),
    )
    .unwrap();
    d
}

const LHE_EVENT: &str = "<event>
 4 1 +1.0000000e+00 9.1e+01 7.5e-03 +1.18000000e-01
 21 -1 0 0 501 502 0 0 +500.0 500.0 0 0 9
 21 -1 0 0 502 501 0 0 -500.0 500.0 0 0 9
 6 1 1 2 501 0 +300.0 0 +360.65357339141946 500.0 173.0 0 9
 -6 1 1 2 0 501 -300.0 0 -360.65357339141946 500.0 173.0 0 9
</event>
";

/// The commands that write, without their output.
const WRITERS: [&str; 7] = [
    ANSWER,
    "import gg/SubProcesses/P1_gg_ttx -o",
    "generate SCATTERING -o",
    "reweight events.lhe gg --card card.dat --off-shell -o",
    "check scalars.mebridge 1 --json",
    "umami gg/SubProcesses/P1_gg_ttx --library LIBRARY --json other.json -o",
    "umami gg/SubProcesses/P1_gg_ttx --library LIBRARY -o other.so --json",
];

fn run(folder: &Path, command: &str, output: &str) -> Ran {
    let library = library();
    let word = |word| match word {
        "SCATTERING" => "e+ e- > mu+ mu-",
        "LIBRARY" => &*library,
        word => word,
    };
    let mut words: Vec<&str> = command.split(' ').map(word).collect();
    words.push(output);
    mebridge(folder, &words)
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn make_pipe(path: &Path) {
    let path = c_path(path);
    // SAFETY: a name that ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

/// Only expected files: no partial ones.
#[track_caller]
fn tidy(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let left = [".mebridge", "mebridge-"]
            .iter()
            .any(|s| name.starts_with(s));
        assert!(
            !left && !name.contains(".part") && !name.ends_with(".tmp"),
            "{name} is left"
        );
    }
}

#[test]
fn a_pipe_gets_what_is_written() {
    let d = folder();
    let pipe = d.path().join("pipe");
    make_pipe(&pipe);
    // Opened by this test for reading and writing, so that opening does not block.
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true);
    let mut reader = options.custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
    // The library does not fit into an unread pipe.
    for command in WRITERS
        .iter()
        .filter(|command| !command.contains("other.json"))
    {
        let ran = run(d.path(), command, "pipe");
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
        assert!(pipe.metadata().unwrap().file_type().is_fifo(), "{command}");
        let mut got = vec![0; 1 << 16];
        assert!(reader.read(&mut got).is_ok_and(|n| n > 10), "{command}");
        while reader.read(&mut got).is_ok_and(|n| n > 0) {}
    }
    tidy(d.path());
}

#[test]
fn a_device_stays_one() {
    let d = folder();
    let null = d.path().join("null.json");
    // The device of /dev/null under a name of this test's.
    let path = c_path(&null);
    // SAFETY: a name that ends with a zero byte.
    let made = unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(1, 3)) };
    if made != 0 || fs::write(&null, "").is_err() {
        eprintln!("SKIPPED: only root makes devices");
        return;
    }
    for command in WRITERS {
        let ran = run(d.path(), command, "null.json");
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
        let kind = null.symlink_metadata().unwrap().file_type();
        assert!(kind.is_char_device(), "{command}");
    }
    tidy(d.path());
}

#[test]
fn a_symbolic_link_stays_one() {
    let d = folder();
    fs::create_dir(d.path().join("results")).unwrap();
    for command in WRITERS {
        let file = d.path().join("results/file");
        fs::write(&file, "former").unwrap();
        let _ = fs::remove_file(d.path().join("link"));
        symlink("results/file", d.path().join("link")).unwrap();
        let ran = run(d.path(), command, "link");
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
        assert!(d.path().join("link").is_symlink(), "{command}");
        assert_ne!(fs::read(&file).unwrap(), b"former", "{command}");
    }
    // The target has to be made by the owner of the link.
    symlink("results/none", d.path().join("lost")).unwrap();
    let ran = run(d.path(), ANSWER, "lost");
    assert!(ran.failed(1).contains("leads nowhere"), "{}", ran.stderr);
    // Output to stdout under a file name is not lost.
    let text = run(d.path(), ANSWER, "/dev/stdout");
    assert_eq!(text.ok().lines().count(), 1);
    tidy(d.path());
    tidy(&d.path().join("results"));
}

/// Under its own name, by a symbolic link and by a second name.
#[test]
fn an_input_is_no_output() {
    let d = folder();
    let cases = [
        ("events.txt", ANSWER),
        ("scalars.mebridge", ANSWER),
        (
            "gg/Cards/param_card.dat",
            "eval gg/SubProcesses/P1_gg_ttx events.lhe -o",
        ),
        (
            "card.dat",
            "check gg/SubProcesses/P1_gg_ttx 1 --card card.dat --json",
        ),
        ("events.lhe", WRITERS[3]),
        ("card.dat", WRITERS[3]),
        ("scalars.mebridge", WRITERS[4]),
        (
            "scalars.mebridge",
            // The command measures before it writes.
            "bench scalars.mebridge --simd none --nevt 16 --seconds 1e-4 -o",
        ),
        (
            "card.dat",
            "import gg/SubProcesses/P1_gg_ttx --card card.dat -o",
        ),
        // Not named, but read.
        (
            "gg/SubProcesses/P1_gg_ttx/matrix1.f",
            "import gg/SubProcesses/P1_gg_ttx -o",
        ),
        (
            "gg/Source/MODEL/couplings.f",
            "eval gg/SubProcesses/P1_gg_ttx events.lhe -o",
        ),
        (
            "my.so",
            "umami gg/SubProcesses/P1_gg_ttx --library my.so -o",
        ),
        (
            "my.so",
            "umami gg/SubProcesses/P1_gg_ttx --library my.so -o other.so --json",
        ),
    ];
    fs::copy(library(), d.path().join("my.so")).unwrap();
    for (input, command) in cases {
        let input = d.path().join(input);
        let bytes = fs::read(&input).unwrap();
        let number = input.metadata().unwrap().ino();
        // `bench` adds an ending of its own.
        let names = ["a.json", "b.json"].map(|name| d.path().join(name));
        symlink(&input, &names[0]).unwrap();
        fs::hard_link(&input, &names[1]).unwrap();
        let mut outputs = vec!["a.json", "b.json"];
        if !command.starts_with("bench") {
            outputs.push(input.to_str().unwrap());
        }
        for output in outputs {
            let output = match command.starts_with("bench") {
                true => output.trim_end_matches(".json"),
                false => output,
            };
            let ran = run(d.path(), command, output);
            assert_eq!(ran.code, 2, "{command}: {}", ran.stderr);
            assert!(ran.stderr.contains("is an input of this run"), "{command}");
            assert!(fs::read(&input).unwrap() == bytes, "{command}");
            assert_eq!(input.metadata().unwrap().ino(), number, "{command}");
        }
        names.iter().for_each(|name| fs::remove_file(name).unwrap());
        tidy(d.path());
    }
    // Two outputs of one name.
    let ran = run(d.path(), WRITERS[6], "./other.so");
    assert!(
        ran.failed(2).contains("is another output"),
        "{}",
        ran.stderr
    );
    assert!(!d.path().join("other.so").exists());
}

#[test]
fn an_output_stays_until_there_is_another() {
    let d = folder();
    for name in ["out.txt", "out.json", "out.npy"] {
        let (output, more) = (
            d.path().join(name),
            if name == "out.json" { " --json" } else { "" },
        );
        let command = ANSWER.replace(" -o", &format!("{more} -o"));
        fs::write(d.path().join("events.txt"), EVENT).unwrap();
        assert_eq!(run(d.path(), &command, name).code, 0);
        let former = fs::read(&output).unwrap();
        // More events than are read at a time, and then an invalid one.
        let events = EVENT.repeat(20000) + "1 2 3\n";
        fs::write(d.path().join("events.txt"), events).unwrap();
        assert_eq!(run(d.path(), &command, name).code, 1);
        assert!(fs::read(&output).unwrap() == former, "{name}");
    }
    tidy(d.path());
}

/// Waits for something.
#[track_caller]
fn wait_until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing happens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mebridge"));
    command.current_dir(folder).args(arguments);
    command.env("TMPDIR", folder.join("tmp"));
    command.env("CUDACPP_RUNTIME_CACHE", "off");
    command.env("CUDACPP_RUNTIME_BACKEND", "cpu");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    hears_signals(&mut command).spawn().unwrap()
}

fn end(mut child: Child, signal: i32) {
    // SAFETY: numbers; the child is ours and not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(signal), "{status}");
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let d = folder();
    fs::create_dir(d.path().join("tmp")).unwrap();
    make_pipe(&d.path().join("pipe.lhe"));
    let text = fs::read_to_string(d.path().join("events.lhe")).unwrap();
    let before = count(d.path());
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let child = start(
            d.path(),
            &[
                "reweight",
                "pipe.lhe",
                "gg",
                "--card",
                "card.dat",
                "--off-shell",
                "-o",
                "out.lhe",
            ],
        );
        // More events than are read at a time, without an end.
        let mut pipe = File::options()
            .write(true)
            .open(d.path().join("pipe.lhe"))
            .unwrap();
        let header = text.split("<event>").next().unwrap();
        pipe.write_all(header.as_bytes()).unwrap();
        pipe.write_all(LHE_EVENT.as_bytes()).unwrap();
        wait_until(|| count(d.path()) > before);
        end(child, signal);
        assert_eq!(count(d.path()), before);
        assert_eq!(count(&d.path().join("tmp")), 0);
    }
}

/// Folders in which Fortran is compiled are private, and are removed.
#[test]
fn a_signal_leaves_no_folders() {
    use std::os::unix::fs::PermissionsExt;
    if !gfortran() {
        return;
    }
    let d = folder();
    let tmp = d.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    for arguments in [&["compare", "gg", "--points", "100000"]] {
        let child = start(d.path(), arguments);
        // The compiler has its own files there, which are removed at its end.
        let folders = || {
            let entries = fs::read_dir(&tmp).unwrap().flatten();
            let folders = entries.filter(|entry| entry.path().is_dir());
            folders.collect::<Vec<_>>()
        };
        wait_until(|| !folders().is_empty());
        for folder in folders() {
            let mode = folder.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        end(child, libc::SIGINT);
        assert!(folders().is_empty(), "{arguments:?}");
    }
}

/// Programs that would run for an hour are killed, and their folders removed.
#[test]
fn a_signal_leaves_no_programs() {
    if !gfortran() {
        return;
    }
    let d = folder();
    let tmp = fs::canonicalize(d.path()).unwrap().join("tmp");
    fs::create_dir(&tmp).unwrap();
    let works_there = |entry: &fs::DirEntry| {
        let at = fs::read_link(entry.path().join("cwd"));
        at.is_ok_and(|at| at.starts_with(&tmp))
    };
    let programs = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(works_there).count()
    };
    let child = start(d.path(), &["compare", "gg", "--points", "100000"]);
    wait_until(|| programs() > 0);
    end(child, libc::SIGTERM);
    wait_until(|| programs() == 0);
    let left: Vec<_> = fs::read_dir(&tmp).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A signal that is ignored, as under `nohup`, stays ignored.
#[test]
fn an_ignored_signal_ends_nothing() {
    let d = folder();
    let script = "trap '' HUP; kill -HUP $$; (sleep 0.3; kill -HUP $$) & exec \"$@\"";
    let ran = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_mebridge")])
        .args(["check", "scalars.mebridge", "2000", "32", "10"])
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .current_dir(d.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Permissions that a user has set hold for what comes after.
#[test]
fn permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let d = folder();
    let output = d.path().join("out.txt");
    let mode = |mode| fs::set_permissions(&output, fs::Permissions::from_mode(mode)).unwrap();
    fs::write(&output, "former").unwrap();
    mode(0o640);
    run(d.path(), ANSWER, "out.txt").ok();
    assert_eq!(
        output.metadata().unwrap().permissions().mode() & 0o777,
        0o640
    );
    // Others' files are not replaced where they could not be written.
    fs::write(&output, "former").unwrap();
    mode(0o400);
    if File::options().append(true).open(&output).is_err() {
        assert!(run(d.path(), ANSWER, "out.txt").code == 1);
        assert_eq!(fs::read(&output).unwrap(), b"former");
    }
}

/// The caller of a set-user-id program must not choose where it writes.
#[test]
fn a_set_user_id_program_does_not_look_at_switches() {
    use std::os::unix::fs::{PermissionsExt, chown};
    const NOBODY: u32 = 65534;
    let d = folder();
    fs::set_permissions(d.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = d.path().join("program");
    fs::copy(env!("CARGO_BIN_EXE_mebridge"), &program).unwrap();
    if chown(&program, Some(NOBODY), None).is_err() {
        eprintln!("SKIPPED: only root gives files away");
        return;
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let p = d.path().join("gg/SubProcesses/P1_gg_ttx");
    let ran = |program: &Path| {
        let mut command = Command::new(program);
        command.arg("check").arg(&p).arg("1");
        command.env("CUDACPP_RUNTIME_CACHE", d.path().join("cache"));
        command.env("XDG_CACHE_HOME", d.path().join("home"));
        command.env("CUDACPP_RUNTIME_BACKEND", "cpu");
        loop {
            match command.output() {
                // A test beside this one has forked while the copy was open for writing, and not yet begun its program.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                ended => return ended.unwrap(),
            }
        }
    };
    let output = ran(&program);
    let report = String::from_utf8_lossy(&output.stderr);
    if report.contains("Permission denied") {
        eprintln!("SKIPPED: another user cannot read the folder of temporary files");
        return;
    }
    assert!(output.status.success(), "{report}");
    assert!(!d.path().join("cache").exists() && !d.path().join("home").exists());
    assert!(
        report.contains("CUDACPP_RUNTIME_* is not looked at"),
        "{report}"
    );
    // Without additional rights they are used.
    let output = ran(Path::new(env!("CARGO_BIN_EXE_mebridge")));
    assert!(output.status.success() && d.path().join("cache").exists());
}

/// Under a umask that forbids nothing.
#[test]
fn the_cache_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let d = folder();
    let ran = Command::new("sh")
        .args([
            "-c",
            "umask 0; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_mebridge"),
        ])
        .args(["check", "gg/SubProcesses/P1_gg_ttx", "1"])
        .env("CUDACPP_RUNTIME_CACHE", d.path().join("cache"))
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .current_dir(d.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&d.path().join("cache")), 0o700);
    let files = fs::read_dir(d.path().join("cache")).unwrap();
    let files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
    // The doctor, which tests the cache, makes it so too.
    let place = d.path().join("new");
    let cache = place.to_str().unwrap();
    mebridge_with(d.path(), &["doctor"], &[("CUDACPP_RUNTIME_CACHE", cache)]);
    assert_eq!(mode(&place), 0o700);
    assert_eq!(count(&place), 0);
}
