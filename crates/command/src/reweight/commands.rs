//! MG5aMC's `reweight_card.dat`: the weights that it requests.
//!
//! Its lines are those of MG5aMC's reweighting prompt (`do_change` and `do_launch` in
//! `madgraph/interface/reweight_interface.py` of 3.5.7, `do_set` of the cards in `common_run_interface.py`): each
//! `launch` begins with the card of the events, which `set` and names of cards after it change. Lines that would give
//! weights other than those of docs/reweight.md are refused, not ignored.

use super::cards::{CardVariation, MAX_CARD_BYTES, set};
use mebridge::files::{lines, regular};
use mebridge::{Error, Result};
use std::path::{Path, PathBuf};

/// Contents of a reweight card.
pub struct Commands {
    /// A weight for each `launch`.
    pub weights: Vec<CardVariation>,
    /// Whether weights are those of the events' helicities (`change helicity`).
    pub by_helicity: bool,
    /// Whether they are of next-to-leading order (`change mode NLO`). For events without the necessary data MG5aMC
    /// stays at leading order, and cards for both kinds have this line.
    pub next_to_leading: bool,
}

/// Options of `change` that do not affect weights: where MG5aMC stores its matrix elements, how many run in parallel,
/// and settings for next-to-leading order.
const HARMLESS: [&str; 3] = ["rwgt_dir", "multicore", "soft_threshold"];

/// Options of `change` with the only value that is supported.
const ONLY: [(&str, &str); 7] = [
    ("output", "default"),
    ("systematics", "off"),
    ("boost", "false"),
    ("keep_ordering", "false"),
    ("use_eventid", "false"),
    ("allow_missing_finalstate", "false"),
    ("identical_particle_in_prod_and_decay", "average"),
];

/// Reads a card; `original` is the text of the card of the events.
pub fn read(path: &Path, original: &str) -> Result<Commands> {
    let bytes = regular::read_or_pipe(path, MAX_CARD_BYTES).map_err(Error::io(path))?;
    parse(&String::from_utf8_lossy(&bytes), path, original)
}

fn parse(text: &str, path: &Path, original: &str) -> Result<Commands> {
    let mut commands = Commands {
        weights: Vec::new(),
        by_helicity: true,
        next_to_leading: false,
    };
    for (number, line) in (1..).zip(lines(text)) {
        let line = line.split('#').next().unwrap_or("").trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |what: String| Error::Card {
            path: path.into(),
            what: format!("line {number}, `{line}`: {what}"),
        };
        let Some((&first, rest)) = words.split_first() else {
            continue;
        };
        let launch = |name| CardVariation {
            name,
            shown: PathBuf::from(format!("{} (line {number})", path.display())),
            text: original.to_owned(),
        };
        match first.to_ascii_lowercase().as_str() {
            "launch" => {
                let mut name = None;
                for word in quoted(line).iter().skip(1) {
                    if let Some(value) = word.strip_prefix("--rwgt_name=") {
                        name = Some(value.to_owned());
                    } else if word.starts_with("--rwgt_info=") || word == "--keep_card" {
                    } else if word.starts_with("--") {
                        return Err(wrong(format!("{word} is not known here")));
                    } else {
                        return Err(wrong(format!(
                            "`{word}` stands in a line of its own, not after launch"
                        )));
                    }
                }
                commands.weights.push(launch(name));
            }
            "change" => change(&mut commands, rest).map_err(wrong)?,
            "set" => {
                // MG5aMC also launches if `launch` is missing.
                if commands.weights.is_empty() {
                    commands.weights.push(launch(None));
                }
                if let Some(weight) = commands.weights.last_mut() {
                    weight.text = set(&weight.text, rest).map_err(wrong)?;
                }
            }
            "done" | "0" => {}
            _ => {
                let known = [PathBuf::from(line), path.with_file_name(line)];
                let Some(card) = known.iter().find(|card| card.is_file()) else {
                    return Err(wrong(
                        "neither a command that is known here (launch, set, change, done) nor the name of a \
                         parameter card"
                            .into(),
                    ));
                };
                let bytes = regular::read_or_pipe(card, MAX_CARD_BYTES).map_err(Error::io(card))?;
                if commands.weights.is_empty() {
                    commands.weights.push(launch(None));
                }
                if let Some(weight) = commands.weights.last_mut() {
                    weight.text = String::from_utf8_lossy(&bytes).into_owned();
                }
            }
        }
    }
    match commands.weights.is_empty() {
        true => Err(Error::Card {
            path: path.into(),
            what: "there is no `launch` in it, so no weight is requested".into(),
        }),
        false => Ok(commands),
    }
}

/// Splits a line into words, keeping quoted text together.
fn quoted(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars().chain([' ']) {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(c),
        }
    }
    words
}

fn change(commands: &mut Commands, words: &[&str]) -> std::result::Result<(), String> {
    let [option, value, ..] = words else {
        return Err("an option and its value are expected".into());
    };
    let option = option.to_ascii_lowercase();
    let value = match value.to_ascii_lowercase().as_str() {
        "f" | ".false." | "0" => "false".to_owned(),
        "t" | ".true." | "1" => "true".to_owned(),
        "none" => "off".to_owned(),
        other => other.to_owned(),
    };
    if option == "helicity" {
        let wanted = match value.as_str() {
            "true" => true,
            "false" => false,
            _ => return Err("True or False is expected".into()),
        };
        if !commands.weights.is_empty() && wanted != commands.by_helicity {
            return Err(
                "helicities are those of all weights here: write it before the first launch, or use two cards"
                    .into(),
            );
        }
        commands.by_helicity = wanted;
        return Ok(());
    }
    if option == "mode" {
        commands.next_to_leading = match value.as_str() {
            "lo" => false,
            "nlo" | "nlo_tree" | "lo+nlo" => true,
            _ => return Err("LO, NLO, NLO_tree or LO+NLO is expected".into()),
        };
        return Ok(());
    }
    if HARMLESS.contains(&option.as_str()) {
        return Ok(());
    }
    match ONLY.iter().find(|(known, _)| *known == option) {
        Some((_, only)) if *only == value => Ok(()),
        Some((_, only)) => Err(format!(
            "only `change {option} {only}` is done here; MG5aMC does the others"
        )),
        None => Err("only MG5aMC does that (docs/reweight.md)".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str = "Block mass \n    6 1.730000e+02 # MT \n  24 8.04e+01 # w+ : f(MZ) \nBlock sminputs\n  1 \
                        1.3e+02 # aEWM1 \nBlock yukawa\n 6 173. # ymt\nDECAY   6 1.491500e+00 # WT \n";

    fn parsed(text: &str) -> Result<Commands> {
        parse(text, Path::new("reweight_card.dat"), CARD)
    }

    #[test]
    fn each_launch_is_a_weight_of_the_card_of_the_events() {
        let text = "# change helicity False\nchange mode LO\nchange rwgt_dir /x\nlaunch --rwgt_name='a' \
                    --rwgt_info=b\n set MT 170 # a comment\nset param_card width 6 = 2.\ndone\n\nlaunch\n set \
                    sminputs aewm1 120.\nset param_card YMT 160\n";
        let commands = parsed(text).unwrap();
        assert!(commands.by_helicity);
        let [a, b] = commands.weights.as_slice() else {
            panic!()
        };
        assert_eq!((a.name.as_deref(), b.name.as_deref()), (Some("a"), None));
        assert_eq!(b.shown, Path::new("reweight_card.dat (line 9)"));
        let expected = CARD
            .replace("1.730000e+02", "170")
            .replace("1.491500e+00", "2.");
        assert_eq!(a.text, expected);
        assert_eq!(
            b.text,
            CARD.replace("1.3e+02", "120.").replace("173.", "160")
        );
        assert!(!parsed("change helicity F\nset MT 1\n").unwrap().by_helicity);
    }

    #[test]
    fn words_and_lines() {
        let text = "change mode NLO # no effect for samples of leading order\rlaunch --rwgt_name=\"a\" --rwgt_info='b c d'\r\n\
                    set MT 170\rlaunch --keep_card\r";
        let commands = parsed(text).unwrap();
        assert!(
            commands.next_to_leading && !parsed("change mode LO\nlaunch").unwrap().next_to_leading
        );
        let names = commands.weights.iter().map(|weight| weight.name.as_deref());
        assert_eq!(names.collect::<Vec<_>>(), [Some("a"), None]);
        assert!(
            commands.weights[0].text.contains("170") && !commands.weights[1].text.contains("170")
        );
    }

    #[test]
    fn what_is_not_done_is_named_with_its_line() {
        for (text, part) in [
            ("", "no `launch`"),
            ("launch\nset mass 7 1.", "line 2, `set mass 7 1.`: the card"),
            ("launch\nset nothing 1.", "nothing"),
            ("launch\nset MT scan:[1,2]", "scan:[1,2]"),
            ("launch\nset WT auto", "auto"),
            ("launch\nset MT", "expected"),
            ("launch --more=1", "--more=1"),
            (
                "launch set MT 170",
                "`set` stands in a line of its own, not after launch",
            ),
            (
                "launch --rwgt_name=a b\nset MT 170",
                "`b` stands in a line of its own",
            ),
            ("change process p p > z\nlaunch", "only MG5aMC"),
            ("change output 2.0\nlaunch", "`change output default`"),
            ("change mode best\nlaunch", "line 1"),
            ("launch\nchange helicity False", "before the first launch"),
            ("launch\nno_such_card.dat", "neither a command"),
        ] {
            let message = match parsed(text) {
                Ok(_) => panic!("{text}"),
                Err(error) => error.to_string(),
            };
            assert!(
                message.starts_with("reweight_card.dat: ") && message.contains(part),
                "{message}"
            );
        }
    }
}
