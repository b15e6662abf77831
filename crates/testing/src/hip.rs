//! A substitute for `libamdhip64`, `libhiprtc` and `libhipblas`, compiled by the machine's C++ compiler.

use crate::compiler::{clangs, cxx_compiler};
use crate::require;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles it into a folder, for `MEBRIDGE_HIP`; reports a skipped test if there is no C++ compiler.
pub fn stand_in(folder: &Path) -> Option<PathBuf> {
    let compiler = cxx_compiler()?;
    let root = crate::root();
    let library = folder.join("libamdhip64.so.6");
    let contract = match cfg!(target_arch = "x86_64") && has_fma() {
        true => " -mfma",
        false => "",
    };
    let text = |name: &str, value: &str| format!("-D{name}=\"{value}\"");
    let path = |of: &str| root.join(of).display().to_string();
    let output = Command::new(&compiler)
        .args([
            "-std=c++17",
            "-O0",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-fPIC",
            "-shared",
        ])
        .arg(text("COMPILER", &compiler.display().to_string()))
        .arg(text("HOST", &path("cuda/host.h")))
        .arg(text("CONTRACT", contract))
        .arg(text(
            "EMULATOR",
            &path("crates/testing/src/hip/emulator.py"),
        ))
        .arg(text("BARE_HIP", &path("cuda/bare_hip.h")))
        .arg(root.join("crates/testing/src/hip/driver.cc"))
        .arg("-o")
        .arg(&library)
        .args(["-ldl", "-pthread"])
        .output()
        .expect("the C++ compiler");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.is_empty(), "{messages}");
    for name in ["libhiprtc.so.6", "libhipblas.so.2"] {
        std::os::unix::fs::symlink(&library, folder.join(name)).expect("a link");
    }
    Some(folder.to_owned())
}

/// Declarations of HIP's headers for device code.
const HEADERS: &str = include_str!("../../../cuda/bare_hip.h");

/// Returns this machine's compiler for AMD GPUs; reports a skipped test if there is none.
pub fn compiler() -> Option<PathBuf> {
    let works = |clang: &PathBuf| compiled(clang, "gfx942", "").is_ok();
    let found = clangs().into_iter().find(works);
    match &found {
        Some(clang) => require::used("amd", clang.display()),
        None => require::skipped(
            "amd",
            "no clang (19 or later, or MEBRIDGE_CLANG) compiles HIP for AMD's GPUs; Debian has clang-22",
        ),
    }
    found
}

/// Compiles device code to assembly; returns the compiler's message as an error.
pub fn compiled(clang: &Path, architecture: &str, source: &str) -> Result<String, String> {
    let whole = format!("{HEADERS}\n#line 1 \"unit\"\n{source}");
    let mut child = Command::new(clang)
        .args([
            "-x",
            "hip",
            "--offload-device-only",
            "-nogpulib",
            "-nogpuinc",
        ])
        .args(["-std=c++17", "-O3", "-w", "-S"])
        .arg(format!("--offload-arch={architecture}"))
        .args(["-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // The compiler answers after it has read everything.
    let written = child
        .stdin
        .take()
        .map(|mut to| to.write_all(whole.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    match output.status.success() && matches!(written, Some(Ok(()))) {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Compiles machine code of AMD's GPUs, and runs it.
struct MachineCode {
    clang: PathBuf,
    tinygrad: PathBuf,
}

impl MachineCode {
    /// Makes a program's substitute act as that GPU. Compiled code is kept in a folder for the next time.
    fn set(&self, command: &mut Command, gpu: &str, kept: &Path) {
        command
            .env("STAND_IN_GPU", gpu)
            .env("STAND_IN_CLANG", &self.clang)
            .env("MEBRIDGE_AMD_EMULATOR", &self.tinygrad)
            // For tinygrad: its compiler, and its cache folder.
            .env("CC", &self.clang)
            .env("CACHEDB", kept.join("tinygrad.db"));
    }
}

/// Runs a test on the substitute with machine code of each kind of GPU, with waves of 32 and of 64: the test gets the
/// GPU's name, the substitute's folder, and a function that configures a program's command. If something is missing,
/// the test is skipped with a message. Compiled code stays in `kept`.
pub fn on_machine_code(
    folder: &Path,
    kept: &Path,
    mut run: impl FnMut(&str, &Path, &dyn Fn(&mut Command)),
) {
    let Some(tools) = machine_code(folder) else {
        return;
    };
    let Some(place) = stand_in(folder) else {
        return;
    };
    for gpu in ["gfx1100", "gfx942"] {
        run(gpu, &place, &|command| tools.set(command, gpu, kept));
    }
}

/// Returns the emulator that `MEBRIDGE_AMD_EMULATOR` names, and a clang that links; reports a skipped test if one is
/// missing. Uses a folder temporarily.
fn machine_code(folder: &Path) -> Option<MachineCode> {
    const NEED: &str = "amd-emulator";
    let Some(tinygrad) = crate::named("MEBRIDGE_AMD_EMULATOR") else {
        require::skipped(
            NEED,
            "set MEBRIDGE_AMD_EMULATOR to a checkout of tinygrad, whose emulator of AMD's instruction set runs device code",
        );
        return None;
    };
    assert!(
        tinygrad.join("test/mockgpu/amd/emu.py").is_file(),
        "MEBRIDGE_AMD_EMULATOR has no test/mockgpu/amd/emu.py"
    );
    let Some(clang) = clangs().into_iter().find(|clang| links(clang, folder)) else {
        require::skipped(
            NEED,
            "no clang (19 or later, or MEBRIDGE_CLANG) links for AMD's GPUs; Debian has clang-22 and lld-22",
        );
        return None;
    };
    require::used(NEED, tinygrad.display());
    Some(MachineCode { clang, tinygrad })
}

/// Whether a clang can make code objects.
fn links(clang: &Path, folder: &Path) -> bool {
    let ran = Command::new(clang)
        .args([
            "-x",
            "hip",
            "--offload-device-only",
            "--no-gpu-bundle-output",
        ])
        .args([
            "-nogpulib",
            "-nogpuinc",
            "--offload-arch=gfx942",
            "/dev/null",
            "-o",
        ])
        .arg(folder.join("code"))
        .output();
    ran.is_ok_and(|output| output.status.success())
}

/// Whether this CPU has fused multiply-add.
fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}
