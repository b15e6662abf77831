//! The files beside `matrix1.f`: tables and sizes.

use super::source::SourceText;
use crate::{Leg, Process};

/// Name and text of a file.
pub type File = (&'static str, String);

/// All of these files.
pub fn files(process: &Process, name: &str) -> Vec<File> {
    let channels = &process.channels;
    let (legs, flows) = (process.legs.len(), process.color_flows());
    let incoming = process.legs.iter().filter(|leg| leg.incoming).count();
    let configs = channels.config_diagram.len();
    let amps = channels.amp2.iter().map(|a| a.diagram).max().unwrap_or(0);
    let sizes = |sizes: &[(&str, usize)]| {
        let mut f = SourceText::default();
        for (name, value) in sizes {
            f.line(&format!("INTEGER {name}"));
            f.line(&format!("PARAMETER ({name}={value})"));
        }
        f.0
    };
    vec![
        (
            "nexternal.inc",
            sizes(&[("NEXTERNAL", legs), ("NINCOMING", incoming)]),
        ),
        (
            "maxamps.inc",
            sizes(&[
                ("MAXAMPS", process.diagrams.max(amps) as usize),
                ("MAXFLOW", flows),
                ("MAXPROC", 1 + process.other_flavours.len()),
                ("MAXSPROC", 1),
            ]),
        ),
        ("maxconfigs.inc", sizes(&[("LMAXCONFIGS", configs)])),
        (
            "ncombs.inc",
            sizes(&[("N_MAX_CL", process.helicities.len())]),
        ),
        (
            "ngraphs.inc",
            sizes(&[("N_MAX_CG", process.amplitudes.vertices().len())]),
        ),
        ("pmass.inc", masses(process)),
        ("leshouche.inc", leshouche(process)),
        ("config_subproc_map.inc", configurations(process)),
        ("coloramps.inc", allowed(process)),
        ("processes.dat", format!("1       {name}\nmirror  none\n")),
    ]
}

fn masses(process: &Process) -> String {
    let mut f = SourceText::default();
    for (n, leg) in (1..).zip(&process.legs) {
        let mass = match leg.mass.0 {
            Some(mass) => &process.model.parameters[mass as usize].name,
            None => "ZERO",
        };
        f.line(&format!("PMASS({n})={mass}"));
    }
    f.0
}

fn leshouche(process: &Process) -> String {
    let mut f = SourceText::default();
    let legs = process.legs.len();
    let list = |values: &mut dyn Iterator<Item = i32>| {
        let values: Vec<String> = values.map(|v| v.to_string()).collect();
        values.join(",")
    };
    let own: Vec<i32> = process.legs.iter().map(|leg| leg.pdg).collect();
    for (n, flavour) in (1..).zip([&own].into_iter().chain(&process.other_flavours)) {
        let values = list(&mut flavour.iter().copied());
        f.line(&format!("DATA (IDUP(I,{n},1),I=1,{legs})/{values}/"));
    }
    for kind in 1..=2 {
        let mother = |leg: &Leg| if leg.incoming { 0 } else { kind };
        let values = list(&mut process.legs.iter().map(mother));
        f.line(&format!("DATA (MOTHUP({kind},I),I=1,{legs})/{values}/"));
    }
    for (n, flow) in (1..).zip(&process.channels.color_flows) {
        let color = list(&mut flow.iter().map(|tags| tags.0));
        f.line(&format!("DATA (ICOLUP(1,I,{n},1),I=1,{legs})/{color}/"));
        let anticolor = list(&mut flow.iter().map(|tags| tags.1));
        f.line(&format!("DATA (ICOLUP(2,I,{n},1),I=1,{legs})/{anticolor}/"));
    }
    f.0
}

fn configurations(process: &Process) -> String {
    let mut f = SourceText::default();
    for (config, diagram) in (1..).zip(&process.channels.config_diagram) {
        f.line(&format!("DATA (CONFSUB(I,{config}),I=1,1)/{diagram}/"));
    }
    f.0
}

fn allowed(process: &Process) -> String {
    let mut f = SourceText::default();
    let rows = &process.channels.color_allowed;
    let flows = process.color_flows();
    f.line(&format!("LOGICAL ICOLAMP({flows},{},1)", rows.len()));
    for (config, row) in (1..).zip(rows) {
        let values = row.iter().map(|&is| if is { ".TRUE." } else { ".FALSE." });
        let values: Vec<&str> = values.collect();
        for (n, values) in values.chunks(96).enumerate() {
            let (first, last) = (96 * n + 1, 96 * n + values.len());
            let values = values.join(",");
            f.line(&format!(
                "DATA(ICOLAMP(I,{config},1),I={first},{last})/{values}/"
            ));
        }
    }
    f.0
}
