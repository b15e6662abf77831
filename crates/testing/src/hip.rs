//! A stand-in for `libamdhip64`, `libhiprtc` and `libhipblas`, compiled by the machine's C++ compiler.

use crate::compiler::cxx_compiler;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles it into a folder, for `MEBRIDGE_HIP`; says that the test is skipped where there is no C++ compiler.
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
            "-O1",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-fPIC",
            "-shared",
        ])
        .arg(text("COMPILER", &compiler.display().to_string()))
        .arg(text("HOST", &path("cuda/host.h")))
        .arg(text("CONTRACT", contract))
        .arg(text("EMULATOR", &path("crates/testing/src/hip/emulator.py")))
        .arg(text("BARE_HIP", &path("cuda/bare_hip.h")))
        .arg(root.join("crates/testing/src/hip/driver.cc"))
        .arg("-o")
        .arg(&library)
        .args(["-ldl", "-pthread"])
        .output()
        .expect("the C++ compiler");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    for name in ["libhiprtc.so.6", "libhipblas.so.2"] {
        std::os::unix::fs::symlink(&library, folder.join(name)).expect("a link");
    }
    Some(folder.to_owned())
}

/// Whether this CPU fuses.
fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}
