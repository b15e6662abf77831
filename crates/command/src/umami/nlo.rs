//! `mebridge umami --nlo`: libraries for the real emissions of an output of MadGraph7 at next to leading order.
//!
//! Its `libnlo_real_bridge.so` loads `libmadmatrix_<id>_<backend>.so` for each real emission that the subprocess
//! directory's `nlo_real_manifest.json` lists, and accepts those with the manifest's fingerprint, number of squared orders
//! and of legs. The processes are generated from the PDG codes of the manifest. A real emission may have more flavours
//! than its rows name, and squared orders that vanish for some of them.

use super::{Options, output};
use crate::link;
use crate::output::OutputFile;
use crate::source::{CardedProcess, generated_unless_zero};
use mebridge::files::regular;
use mebridge::process::Process;
use mebridge::runtime::BackendChoice;
use mebridge::{Error, Result};
use mebridge_capi::umami::attached::{Carried, attach};
use serde::Deserialize;
use std::path::Path;

/// The manifest's file.
const MANIFEST: &str = "nlo_real_manifest.json";
/// Largest size of a file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// The version of manifests that is read.
const VERSION: u32 = 1;

/// The parts of a manifest that tell what the libraries are; the others route MadGraph7's own calls.
#[derive(Deserialize)]
struct Manifest {
    version: u32,
    nexternal: usize,
    split_order_names: Vec<String>,
    real_matrix_elements: Vec<Real>,
    fks_rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Real {
    id: u32,
    library_process_id: String,
    /// The PDG codes of each flavour.
    local_flavours: Vec<Vec<i32>>,
    /// For each squared order the powers of the split orders.
    local_squared_orders: Vec<Vec<u32>>,
    process_fingerprint: String,
}

#[derive(Deserialize)]
struct Row {
    real_me_id: u32,
    madmatrix_flavour_index: usize,
    pdgs: Vec<i32>,
}

/// Makes the libraries of a subprocess directory.
pub fn run(options: &Options, backend: &str) -> Result<()> {
    let [directory] = &options.processes[..] else {
        return Err(Error::Call {
            function: "--nlo",
            what: "it takes one subprocess directory of MadGraph7".into(),
        });
    };
    let directory = Path::new(directory);
    let path = directory.join(MANIFEST);
    let text = regular::read(&path, MAX_BYTES).map_err(Error::io(&path))?;
    let refused = |what: String| Error::Import {
        path: path.clone(),
        what,
    };
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
    if manifest.version != VERSION {
        return Err(refused(format!(
            "it has version {}, and mebridge reads {VERSION}",
            manifest.version
        )));
    }
    let incoming = incoming(directory)?;
    let library = link::library(options.library.as_deref())?;
    let bytes = regular::read(&library, link::MAX_LIBRARY_BYTES).map_err(Error::io(&library))?;
    let mut files = Vec::new();
    for real in &manifest.real_matrix_elements {
        let named =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !named(&real.library_process_id) || !named(backend) {
            return Err(refused(format!(
                "`libmadmatrix_{}_{backend}.so` is no name of a file",
                real.library_process_id
            )));
        }
        let rows = manifest.fks_rows.iter();
        for row in rows.filter(|row| row.real_me_id == real.id) {
            let flavor = row.madmatrix_flavour_index;
            if real.local_flavours.get(flavor) != Some(&row.pdgs) {
                return Err(refused(format!(
                    "a row has the PDG codes {:?}, and flavour {flavor} of its real emission {} has {:?}",
                    row.pdgs,
                    real.id,
                    real.local_flavours.get(flavor)
                )));
            }
        }
        let mut processes = Vec::new();
        for (flavor, codes) in real.local_flavours.iter().enumerate() {
            if codes.len() != manifest.nexternal {
                return Err(refused(format!(
                    "flavour {flavor} of real emission {} has {} PDG codes instead of {}",
                    real.id,
                    codes.len(),
                    manifest.nexternal
                )));
            }
            let first = processes.len();
            for powers in &real.local_squared_orders {
                let text = process_text(codes, incoming, &manifest.split_order_names, powers);
                processes.push(generate(&text, codes, options.card.as_deref())?);
            }
            if processes[first..].iter().all(Option::is_none) {
                return Err(refused(format!(
                    "all squared orders of flavour {flavor} of real emission {}, {codes:?}, vanish here; name its model by \
                     CUDACPP_RUNTIME_MODEL",
                    real.id
                )));
            }
        }
        let carried = Carried {
            processes,
            squared_orders: real.local_squared_orders.len(),
            backend: BackendChoice::Cpu,
            fingerprint: real.process_fingerprint.clone(),
        };
        let all: Vec<Process> = carried.processes.iter().flatten().cloned().collect();
        mebridge_capi::umami::matrix_elements::check_compatible(&all)?;
        let copy = attach(&bytes, &library, &carried)?;
        let name = format!("libmadmatrix_{}_{backend}.so", real.library_process_id);
        let to = options.output.join(name);
        files.push((OutputFile::with_contents(&to, &copy, true)?, to, carried));
    }
    // All files or none.
    for (file, to, carried) in files {
        file.finish()?;
        let processes = carried.processes.iter().flatten();
        let names: Vec<&str> = processes.map(|p| p.name.as_str()).collect();
        output::print(&format!("{}: {}\n", to.display(), names.join(", ")))?;
    }
    Ok(())
}

/// Returns the number of incoming legs of a subprocess directory.
fn incoming(directory: &Path) -> Result<usize> {
    let path = directory.join("nexternal.inc");
    let text = regular::read(&path, MAX_BYTES).map_err(Error::io(&path))?;
    let text = String::from_utf8_lossy(&text);
    let number = text.split("NINCOMING").skip(1).find_map(|rest| {
        let rest = rest.trim_start().strip_prefix('=')?.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[..end].parse().ok()
    });
    number.ok_or_else(|| Error::Import {
        path,
        what: "it does not give NINCOMING".into(),
    })
}

/// Returns a process with one squared order, such as `21 21 > 6 -6 21 QCD^2==6 QED^2==0`.
fn process_text(codes: &[i32], incoming: usize, orders: &[String], powers: &[u32]) -> String {
    let mut text = String::new();
    for (leg, code) in codes.iter().enumerate() {
        if leg == incoming {
            text.push_str("> ");
        }
        text.push_str(&format!("{code} "));
    }
    for (order, power) in orders.iter().zip(powers) {
        text.push_str(&format!("{order}^2=={power} "));
    }
    text.trim_end().to_owned()
}

/// Generates a process of particles with these codes, or nothing if this squared order vanishes. As in MadGraph7's real
/// emissions external particles have no width.
fn generate(text: &str, codes: &[i32], card: Option<&Path>) -> Result<Option<Process>> {
    let found = generated_unless_zero(text, codes, card)?;
    match &found[..] {
        [] => Ok(None),
        [process] => Ok(Some(CardedProcess::with_card(process))),
        _ => Err(Error::InvalidProcess {
            what: format!("`{text}` is {} matrix elements", found.len()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_one_squared_order() {
        let orders = ["QCD".to_owned(), "QED".to_owned()];
        let codes = [21, 21, 6, -6, 21];
        assert_eq!(
            process_text(&codes, 2, &orders, &[6, 0]),
            "21 21 > 6 -6 21 QCD^2==6 QED^2==0"
        );
        assert_eq!(process_text(&codes[..3], 1, &[], &[]), "21 > 21 6");
    }
}
