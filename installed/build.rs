//! The name by which programs look for the installed library. Its number changes with the C interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo sets it for every build script.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmebridge.so.0"),
        Ok("macos") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmebridge.0.dylib");
        }
        _ => {}
    }
}
