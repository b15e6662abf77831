//! Makes the C header from `src/abi/c.rs`, into cargo's folder for such things. The committed
//! `include/mebridge.h` is a copy; a test says so where it is not.

fn main() {
    println!("cargo::rerun-if-changed=src/abi/c.rs");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    // Cargo sets both for every build script.
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("CARGO_MANIFEST_DIR is not set");
    let out = std::env::var("OUT_DIR").expect("OUT_DIR is not set");
    let config = cbindgen::Config::from_file(format!("{here}/cbindgen.toml"))
        .expect("cbindgen.toml cannot be read");
    let mut header = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(format!("{here}/src/abi/c.rs"))
        .generate()
        .expect("cbindgen cannot read src/abi/c.rs")
        .write(&mut header);
    // The heading that Rust's lints ask for says little in C.
    let header = String::from_utf8(header)
        .expect("cbindgen wrote UTF-8")
        .replace(" # Safety\n", " The caller sees to it:\n");
    std::fs::write(format!("{out}/mebridge.h"), header).expect("OUT_DIR cannot be written");
}
