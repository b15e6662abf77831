//! How a `matrix<i>.f` is to be called.

use super::statements::{self, Statement};
use super::tree::Tree;
use std::path::{Path, PathBuf};

/// The intended caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// MadEvent: helicities are chosen, there are channels.
    MadEvent,
    /// A user's program: `output standalone`.
    Standalone,
    /// aMC@NLO, for the Born with its links.
    Born,
}

/// One matrix element of a directory.
#[derive(Clone, Debug)]
pub struct MatrixElement {
    /// Its number as used in names; empty for `matrix.f`.
    pub number: String,
    /// Its file.
    pub file: PathBuf,
    /// The intended caller.
    pub kind: Caller,
    /// Name of the process as written by MG5aMC.
    pub name: String,
    /// Prefix of names in a standalone output with prefixes: `M0_`.
    pub prefix: String,
    /// The arguments of `SMATRIX<i>`, by their names there.
    pub arguments: Vec<String>,
    /// The COMMON block of the good helicities, if there is one.
    pub good_helicities: Option<GoodHelicities>,
    /// Whether the helicity is returned in `HEL_BUFF`.
    pub helicity_buffer: bool,
    /// Whether there is a switch that makes it look for good helicities again.
    pub reset: bool,
    /// Whether the channel is set by `SUBDIAG` in a COMMON block.
    pub channel_in_common: bool,
}

/// The COMMON block of the good helicities, for any names of its variables.
#[derive(Clone, Debug)]
pub struct GoodHelicities {
    /// Bounds of the number of events so far: `(2)`, or empty in ungrouped outputs.
    pub tries: String,
    /// Bounds of the flags of good helicities: `(NCOMB,2)`.
    pub good: String,
    /// Value of `NCOMB`.
    pub count: String,
}

/// The arguments that a driver knows.
const KNOWN: [&str; 10] = [
    "P",
    "ANS",
    "RHEL",
    "RCOL",
    "CHANNEL",
    "IVEC",
    "IHEL",
    "ICOL",
    "ANS_SUMMED",
    // 3.1, and the vectorised 3.3 and 3.4: an output for callers that choose a colour.
    "JAMP2",
];

impl MatrixElement {
    /// Reads a file of the tree, or returns why it cannot be called.
    pub fn read(tree: &Tree, number: &str, file: &Path) -> Result<MatrixElement, String> {
        let text = tree.text(file).unwrap_or("");
        let found = statements::read(text);
        if file.file_name().is_some_and(|name| name == "born.f") {
            return Ok(MatrixElement {
                number: number.to_owned(),
                file: file.to_owned(),
                kind: Caller::Born,
                name: process_name(text),
                prefix: String::new(),
                arguments: vec!["P".into(), "ANS_SUMMED".into()],
                good_helicities: None,
                helicity_buffer: false,
                reset: false,
                channel_in_common: false,
            });
        }
        let end = format!("SMATRIX{number}(");
        let entry = found.iter().find_map(|s| {
            let rest = s.text.strip_prefix("SUBROUTINE")?;
            let at = rest.find(&end)?;
            let arguments = rest[at + end.len()..].strip_suffix(')')?;
            Some((rest[..at].to_owned(), arguments))
        });
        let Some((prefix, arguments)) = entry else {
            return Err(format!("there is no SUBROUTINE SMATRIX{number}"));
        };
        let arguments: Vec<String> = arguments.split(',').map(str::to_owned).collect();
        if let Some(unknown) = arguments.iter().find(|a| !KNOWN.contains(&a.as_str())) {
            return Err(format!("SMATRIX{number} has an argument {unknown}"));
        }
        let standalone = format!("COMMON/{prefix}HELUSERCHOICE/");
        let has = |part: &str| found.iter().any(|s| s.text.contains(part));
        let kind = match has(&standalone) {
            true => Caller::Standalone,
            false => Caller::MadEvent,
        };
        Ok(MatrixElement {
            number: number.to_owned(),
            file: file.to_owned(),
            kind,
            name: process_name(text),
            reset: has(&format!("COMMON/{prefix}HELRESET/")),
            prefix,
            arguments,
            good_helicities: good_helicities(&found),
            helicity_buffer: has("COMMON/TO_HELICITY/"),
            channel_in_common: has("COMMON/TO_SUB_DIAG/"),
        })
    }

    /// Returns the name of the subroutine.
    pub fn entry(&self) -> String {
        match self.kind {
            Caller::Born => "SBORN".into(),
            _ => format!("{}SMATRIX{}", self.prefix, self.number),
        }
    }

    /// Whether it has this argument.
    pub fn takes(&self, argument: &str) -> bool {
        self.arguments.iter().any(|a| a == argument)
    }

    /// Whether it can evaluate the share of a channel.
    pub fn has_channels(&self) -> bool {
        self.takes("CHANNEL") || self.channel_in_common
    }
}

/// Returns the text after `Process:` in a comment.
fn process_name(text: &str) -> String {
    let lines = text.lines().filter(|line| statements::is_comment(line));
    let mut names = lines.filter_map(|line| line.split_once("Process:"));
    names
        .next()
        .map(|(_, name)| name.trim().to_owned())
        .unwrap_or_default()
}

fn good_helicities(statements: &[Statement]) -> Option<GoodHelicities> {
    let names = statements
        .iter()
        .find_map(|s| s.text.strip_prefix("COMMON/BLOCK_GOODHEL/"))?;
    let (tries, good) = names.split_once(',')?;
    let bounds = |start: &str, name: &str| {
        statements.iter().find_map(|s| {
            let entities = s.text.strip_prefix(start)?;
            let head = format!("{name}(");
            let mut places = entities.match_indices(&head).map(|(at, _)| at);
            let at = places.find(|&at| at == 0 || entities.as_bytes()[at - 1] == b',')?;
            let rest = &entities[at + name.len()..];
            Some(rest[..=rest.find(')')?].to_owned())
        })
    };
    let count = statements.iter().find_map(|s| {
        let values = s.text.strip_prefix("PARAMETER(")?.strip_suffix(')')?;
        let mut values = values.split(',').filter_map(|v| v.strip_prefix("NCOMB="));
        values.next().map(str::to_owned)
    })?;
    Some(GoodHelicities {
        tries: bounds("INTEGER", tries).unwrap_or_default(),
        good: bounds("LOGICAL", good)?,
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_read() {
        let p = "fortran/gg_ttx/SubProcesses/P1_gg_ttx";
        let tree =
            Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(p)).unwrap();
        let (number, file) = tree.elements().remove(0);
        let element = MatrixElement::read(&tree, &number, &file).unwrap();
        assert_eq!(element.entry(), "SMATRIX1");
        assert_eq!(element.name, "g g > t t~ WEIGHTED<=2 @1");
        assert_eq!(element.kind, Caller::MadEvent);
        assert!(element.takes("CHANNEL"));
        let good = element.good_helicities.unwrap();
        assert_eq!(good.good, "(NCOMB,MAXSPROC)");
        assert_eq!(
            (good.tries.as_str(), good.count.as_str()),
            ("(MAXSPROC)", "16")
        );
    }
}
