//! The name by which programs look for the installed library. Its number changes with the C interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_INSTALLED").is_none() {
        return;
    }
    // Cargo sets it for every build script.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => println!("cargo::rustc-link-arg=-Wl,-soname,libmebridge.so.0"),
        Ok("macos") => {
            println!("cargo::rustc-link-arg=-Wl,-install_name,@rpath/libmebridge.0.dylib");
        }
        _ => {}
    }
}
