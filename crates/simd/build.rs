//! Length of the SVE registers for which this build generates code on 64-bit ARM (`src/sve.rs`).

const FLAG: &str = "-aarch64-sve-vector-bits-min=";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(sve_bits, values(\"256\", \"512\"))");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo::rerun-if-changed=build.rs");
    let arm = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "aarch64");
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let lengths: Vec<&str> = flags
        .split(FLAG)
        .skip(1)
        .map(|rest| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap_or_default()
        })
        .collect();
    match (arm, &lengths[..]) {
        (false, _) | (true, []) => {}
        (true, [bits @ ("256" | "512")]) => println!("cargo::rustc-cfg=sve_bits=\"{bits}\""),
        (true, _) => panic!("`{FLAG}` must be given once, as 256 or 512, but is {lengths:?}"),
    }
}
