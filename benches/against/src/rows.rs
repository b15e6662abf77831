//! The fixed list of rows. A row is one process, one kind of call, one engine and one precision, and its name says
//! so: `gg_ttg channel 512z d`. A row keeps its name, so that tables of different days can be laid side by side.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// A process of the list.
#[derive(Debug)]
pub struct Process {
    /// Its part of the names of rows.
    pub name: &'static str,
    /// As one writes it.
    pub text: &'static str,
    /// Its directory in a folder of outputs of MG5aMC, where it is taken from one.
    pub directory: Option<&'static str>,
    /// Whether the library generates it by its text, where it is not taken from a directory.
    pub generated: bool,
    /// PDG codes of the outgoing legs.
    pub outgoing: &'static [i32],
}

const fn output(
    name: &'static str,
    text: &'static str,
    directory: &'static str,
    outgoing: &'static [i32],
) -> Process {
    Process {
        name,
        text,
        directory: Some(directory),
        generated: true,
        outgoing,
    }
}

const fn generated(name: &'static str, text: &'static str, outgoing: &'static [i32]) -> Process {
    Process {
        name,
        text,
        directory: None,
        generated: true,
        outgoing,
    }
}

/// Those of docs/performance.md, and two that are generated in any case.
static PROCESSES: [Process; 10] = [
    output(
        "ee_mumu",
        "e+ e- > mu+ mu-",
        "ee_mumu.mad/SubProcesses/P1_epem_mupmum",
        &[-13, 13],
    ),
    output(
        "gg_tt",
        "g g > t t~",
        "gg_tt.mad/SubProcesses/P1_gg_ttx",
        &[6, -6],
    ),
    output(
        "gg_ttg",
        "g g > t t~ g",
        "gg_ttg.mad/SubProcesses/P1_gg_ttxg",
        &[6, -6, 21],
    ),
    output(
        "gg_ttgg",
        "g g > t t~ g g",
        "gg_ttgg.mad/SubProcesses/P1_gg_ttxgg",
        &[6, -6, 21, 21],
    ),
    output(
        "gg_ttggg",
        "g g > t t~ g g g",
        "gg_ttggg.mad/SubProcesses/P1_gg_ttxggg",
        &[6, -6, 21, 21, 21],
    ),
    output(
        "gu_ttu",
        "g u > t t~ u",
        "gq_ttq.mad/SubProcesses/P1_gu_ttxu",
        &[6, -6, 2],
    ),
    output(
        "uux_ttgg",
        "u u~ > t t~ g g",
        "pp_tt012j.mad/SubProcesses/P2_uux_ttxgg",
        &[6, -6, 21, 21],
    ),
    Process {
        name: "gg_tttt_smeft",
        text: "g g > t t~ t t~ (SMEFT)",
        directory: Some("smeft_gg_tttt.mad/SubProcesses/P1_gg_ttxttx"),
        generated: false,
        outgoing: &[6, -6, 6, -6],
    },
    generated("gg_ttgggg", "g g > t t~ g g g g", &[6, -6, 21, 21, 21, 21]),
    generated("gg_gggg", "g g > g g g g", &[21, 21, 21, 21]),
];

/// The process whose events have channels of many diagrams, too.
const MIXED: &str = "gg_ttgg";

/// What is called, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Call {
    /// `fbridgesequence_nomultichannel_`.
    Alone,
    /// `fbridgesequence_`, all events in the first channel.
    Channel,
    /// `fbridgesequence_`, the events one after the other in all channels.
    Mixed,
    /// `mebridge_one_event`.
    OneEvent,
    /// `umami_matrix_element`, with the inputs and outputs that MadSpace asks for.
    Umami,
}

impl Call {
    /// Its part of the names of rows.
    pub fn name(self) -> &'static str {
        match self {
            Call::Alone => "alone",
            Call::Channel => "channel",
            Call::Mixed => "mixed",
            Call::OneEvent => "one-event",
            Call::Umami => "umami",
        }
    }
}

/// What evaluates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backend {
    /// The CPU, at a SIMD level of the row's.
    Cpu,
    /// A GPU.
    Cuda,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The process.
    pub process: &'static Process,
    /// What is called.
    pub call: Call,
    /// The SIMD level, or `None` on a GPU.
    pub simd: Option<&'static str>,
    /// `d` or `f`.
    pub precision: &'static str,
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let (process, call) = (self.process.name, self.call.name());
        write!(f, "{process} {call} {} {}", self.engine(), self.precision)
    }
}

impl Row {
    /// The level or the GPU.
    pub fn engine(&self) -> &'static str {
        self.simd.unwrap_or("cuda")
    }

    /// Whether the text occurs in its name or in its process as one writes it.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.to_string().contains(&text) || self.process.text.to_lowercase().contains(&text)
    }

    /// What `CUDACPP_RUNTIME_PROCESS` has to be, given the folder of outputs; or why there is none.
    pub fn source(&self, outputs: Option<&Path>) -> Result<PathBuf, String> {
        let process = self.process;
        match (outputs, process.directory) {
            (Some(outputs), Some(directory)) => {
                let directory = outputs.join(directory);
                match directory.is_dir() {
                    true => Ok(directory),
                    false => Err(format!("there is no {}", directory.display())),
                }
            }
            _ if process.generated => Ok(process.text.into()),
            _ => Err("it is in outputs of MG5aMC alone; set MEBRIDGE_MG5_OUTPUTS".into()),
        }
    }
}

/// All rows, in the order of the table.
pub fn all(backend: Backend) -> Vec<Row> {
    let mut rows = Vec::new();
    for process in &PROCESSES {
        let mut add = |call, simd, precision| {
            rows.push(Row {
                process,
                call,
                simd,
                precision,
            });
        };
        let (levels, best) = match backend {
            Backend::Cpu => (&[Some("512z"), Some("avx2")][..], Some("512z")),
            Backend::Cuda => (&[None][..], None),
        };
        let mixed = (process.name == MIXED).then_some(Call::Mixed);
        for call in [Call::Alone, Call::Channel].into_iter().chain(mixed) {
            for &simd in levels {
                for precision in ["d", "f"] {
                    add(call, simd, precision);
                }
            }
        }
        // Always on the CPU.
        if backend == Backend::Cpu {
            add(Call::OneEvent, best, "d");
        }
        for precision in ["d", "f"] {
            add(Call::Umami, best, precision);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(backend: Backend, text: &str) -> Vec<String> {
        let rows = all(backend).into_iter().filter(|row| row.matches(text));
        rows.map(|row| row.to_string()).collect()
    }

    #[test]
    fn no_two_rows_have_the_same_name() {
        for backend in [Backend::Cpu, Backend::Cuda] {
            let mut names = names(backend, "");
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn rows_are_found_by_name_and_by_process() {
        let one = names(Backend::Cpu, "gg_ttg channel 512z d");
        assert_eq!(one, ["gg_ttg channel 512z d"]);
        assert_eq!(names(Backend::Cpu, "G G > T T~").len(), 6 * 11 + 4);
        assert!(
            names(Backend::Cpu, "mixed")
                .iter()
                .all(|row| row.starts_with("gg_ttgg "))
        );
        assert!(names(Backend::Cpu, "nothing").is_empty());
    }

    #[test]
    fn simd_levels_are_one_row_on_a_gpu() {
        assert_eq!(
            names(Backend::Cuda, "gg_tt "),
            ["alone", "channel", "umami"]
                .iter()
                .flat_map(|call| ["d", "f"].map(|p| format!("gg_tt {call} cuda {p}")))
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn without_outputs_processes_are_generated() {
        let source = |name: &str| {
            let row = all(Backend::Cpu)
                .into_iter()
                .find(|row| row.process.name == name);
            row.expect("it is on the list").source(None)
        };
        assert_eq!(source("gg_ttg"), Ok("g g > t t~ g".into()));
        assert!(
            source("gg_tttt_smeft")
                .unwrap_err()
                .contains("MEBRIDGE_MG5_OUTPUTS")
        );
    }
}
