//! The C interface: its headers, the exported symbols, and C programs that use them.

use mebridge::process::example;
use mebridge_testing::compiler::{Tool, c_compiler, started};
use mebridge_testing::{require, root};
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "c/umami.rs"]
mod umami;

/// The headers, each with the sources and the configuration from which cbindgen makes it.
const HEADERS: [(&str, &[&str], &str); 2] = [
    (
        "include/mebridge.h",
        &[
            "crates/capi/src/c.rs",
            "crates/capi/src/born.rs",
            "crates/capi/src/densities.rs",
            "crates/capi/src/callbacks.rs",
            "crates/capi/src/events.rs",
            "crates/capi/src/runs.rs",
        ],
        "cbindgen.toml",
    ),
    (
        "include/mebridge_umami.h",
        &["crates/capi/src/umami/mod.rs"],
        "cbindgen_umami.toml",
    ),
];

/// Returns cbindgen's output for some sources.
fn header(sources: &[&str], config: &str) -> String {
    let config = cbindgen::Config::from_file(root().join(config)).expect("its configuration");
    let mut header = Vec::new();
    let builder = cbindgen::Builder::new().with_config(config);
    let add = |builder: cbindgen::Builder, source: &&str| builder.with_src(root().join(source));
    sources
        .iter()
        .fold(builder, add)
        .generate()
        .expect("cbindgen reads the source")
        .write(&mut header);
    let header = String::from_utf8(header).expect("UTF-8");
    // The `# Safety` heading that Rust's lints require is of little use in C.
    header.replace(" # Safety\n", " The caller guarantees:\n")
}

/// Returns the shared library that was built together with this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let deps = own.parent().unwrap();
    let name = format!(
        "{}mebridge{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let library = deps.join(&name);
    assert!(library.is_file(), "{} was not built", library.display());
    library
}

#[test]
fn the_headers_are_those_of_this_version() {
    for (name, sources, config) in HEADERS {
        let path = root().join(name);
        let header = header(sources, config);
        if std::env::var_os("MEBRIDGE_UPDATE_HEADER").is_some() {
            std::fs::write(&path, &header).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == header,
            "{name} is not what cbindgen makes of {sources:?}; run\n  \
             MEBRIDGE_UPDATE_HEADER=1 cargo test --test c_abi\nand commit it"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_but_the_interface_is_exported() {
    let Ok(output) = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library())
        .output()
    else {
        require::skipped("cxx", "there is no nm to list the exported symbols with");
        return;
    };
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|l| l.split_whitespace().last())
        .collect();
    names.sort_unstable();
    let mut expected = vec![
        "fbridgecreate_",
        "fbridgedelete_",
        "fbridgegetngoodhel_",
        "fbridgesequence_",
        "fbridgesequence_nomultichannel_",
        // Called by the Python package.
        "mebridge_read_lhe",
        // Called by JAX.
        "mebridge_xla",
        "mebridge_xla_cuda",
        // Called by executables of `mebridge link`.
        "mebridge_batch_",
        "mebridge_born_",
        "mebridge_check_",
        "mebridge_check_link_",
        "mebridge_checks_",
        "mebridge_cpu_time_",
        "mebridge_expect_",
        "mebridge_link_",
        "mebridge_matrices_",
        "mebridge_matrix_",
        "mebridge_open_",
        "mebridge_open_born_",
        "mebridge_open_real_",
        "mebridge_row_",
        "mebridge_squared_",
        "mebridge_turned_",
        "mebridge_set_sde_strategy_",
    ];
    // The exported symbols are exactly the functions of the headers.
    let headers = HEADERS
        .map(|(_, sources, config)| header(sources, config))
        .concat();
    expected.extend(
        headers
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| word.starts_with("mebridge_") || word.starts_with("umami_"))
            .filter(|word| headers.contains(&format!("{word}("))),
    );
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(names, expected);
}

/// Compiles and links a C program with the library.
fn compile(compiler: &Tool, source: &Path, program: &Path) {
    let library = library();
    let deps = library.parent().unwrap();
    run(compiler
        .to_command()
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-rdynamic"])
        .arg("-I")
        .arg(root().join("include"))
        .arg(source)
        .arg("-o")
        .arg(program)
        .arg("-L")
        .arg(deps)
        .args(["-lmebridge", "-lm"])
        .arg(format!("-Wl,-rpath,{}", deps.display())));
}

/// Runs a command that has to succeed, and returns its output.
fn run(command: &mut Command) -> String {
    // Cargo's own path may contain an older library.
    let command = command
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .env("LD_LIBRARY_PATH", library().parent().unwrap());
    let output = command.output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success(),
        "{command:?}: {}\n{text}",
        output.status
    );
    text
}

#[test]
fn a_c_program_evaluates_an_event() {
    let Some(compiler) = c_compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("one_event");
    compile(&compiler, &root().join("tests/c/one_event.c"), &program);
    let process = folder.path().join("scalars.mebridge");
    example::scalars().write(&process).unwrap();
    let text = run(started(&program).arg(&process).current_dir(folder.path()));
    assert!(text.contains("all good"), "{text}");
}

/// Counts, values, pointers, threads and forks that a careful caller avoids.
#[test]
#[cfg(target_os = "linux")]
fn a_c_program_that_does_what_it_should_not_is_told() {
    let Some(compiler) = c_compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("doors");
    compile(&compiler, &root().join("tests/c/doors.c"), &program);
    let text = run(started(&program)
        .env("CUDACPP_RUNTIME_PROCESS", "g g > t t~")
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .current_dir(folder.path()));
    assert!(text.contains("all good"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_c_program_makes_events() {
    let Some(compiler) = c_compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let processes = umami::generated("g g > t t~");
    let carried = umami::carrying(folder.path(), "carried.so", &processes);
    compile(&compiler, &root().join("tests/c/events.c"), &program);
    let text = run(started(&program)
        .arg(&carried)
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .current_dir(folder.path()));
    assert!(text.contains("all good"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_c_program_has_densities() {
    let Some(compiler) = c_compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (
        folder.path().join("program"),
        folder.path().join("toy_0000.dat"),
    );
    let logarithms = |from: f64, to: f64, steps: u32| -> Vec<f64> {
        let at = |i| from * (to / from).powf(f64::from(i) / f64::from(steps));
        (0..=steps).map(at).collect()
    };
    let (x, q) = (logarithms(1e-6, 1.0, 40), logarithms(5.0, 1e5, 10));
    let row = |numbers: &[f64]| -> String {
        let words = numbers.iter().map(|number| format!("{number:.17e} "));
        words.collect::<String>() + "\n"
    };
    let mut text = "PdfType: central\nFormat: lhagrid1\n---\n".to_owned();
    text += &(row(&x) + &row(&q) + "-1 21 2\n");
    for x in &x {
        for q in &q {
            text += &row(&[-1.0, 21.0, 2.0].map(|code| (30.0 + code) * (20.0 + x.ln() + q.ln())));
        }
    }
    std::fs::write(&file, text + "---\n").unwrap();
    compile(&compiler, &root().join("tests/c/densities.c"), &program);
    let text = run(started(&program).arg(&file));
    assert!(text.contains("all good"), "{text}");
}

#[test]
fn a_process_linked_into_the_executable_is_found() {
    let Some(compiler) = c_compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("linked.c"), folder.path().join("linked"));
    let bytes = example::scalars().to_bytes().unwrap();
    let linked = |size: &str| {
        let text = format!(
            "#include \"mebridge.h\"\n#include <stdio.h>\n\
             const unsigned char mebridge_process_data[] = {{{}}};\n{size}\n\
             int main(void) {{\n\
             struct mebridge_bridge *bridge;\n\
             mebridge_create(NULL, 1, &bridge);\n\
             puts(bridge ? mebridge_process_name(bridge) : mebridge_last_error());\n\
             return 0; }}\n",
            bytes.iter().map(|b| format!("{b},")).collect::<String>()
        );
        std::fs::write(&source, text).unwrap();
        compile(&compiler, &source, &program);
        run(started(&program).current_dir(folder.path()))
    };
    let text =
        linked("const unsigned long long mebridge_process_size = sizeof mebridge_process_data;");
    assert_eq!(text.trim(), "phi phi > phi phi");
    let text = linked("const unsigned long long mebridge_process_size = 40;");
    assert!(
        text.contains("the process linked into the executable is truncated"),
        "{text}"
    );
    let text = linked("");
    assert!(text.contains("mebridge_process_size"), "{text}");
}
