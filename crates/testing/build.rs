//! Names the target: tests look for its C compiler.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").expect("cargo sets it");
    println!("cargo::rustc-env=TARGET={target}");
}
