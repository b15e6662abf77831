//! What comes before the first event: the parameter card and the list of weights.
//!
//! `<initrwgt>` lists weights in groups; that of MG5aMC's reweighting is called `mg_reweighting`.

use super::file::{contains, find};
use mebridge::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The group of MG5aMC's reweighting.
const GROUP: &str = "mg_reweighting";

/// The text before the first event.
pub struct Banner {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Banner {
    /// Of a file, whose name is for messages.
    pub fn new(bytes: Vec<u8>, path: &Path) -> Banner {
        Banner {
            bytes,
            path: path.into(),
        }
    }

    fn error(&self, what: String) -> Error {
        Error::EventsFile {
            path: self.path.clone(),
            what,
        }
    }

    /// The text of a block.
    fn block(&self, name: &str) -> Option<String> {
        let begin = find(&self.bytes, format!("<{name}>").as_bytes())? + name.len() + 2;
        let length = find(&self.bytes[begin..], format!("</{name}>").as_bytes())?;
        let text = &self.bytes[begin..begin + length];
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// The parameter card that the events were made with.
    pub fn card(&self) -> Option<String> {
        self.block("slha")
    }

    /// Names of the weights: those asked for, the others `rwgt_n` behind those that are there.
    pub fn names(&self, asked: &[Option<&str>]) -> Result<Vec<String>> {
        let known = self.block("initrwgt").unwrap_or_default();
        let known: Vec<&str> = known
            .split("<weight ")
            .skip(1)
            .filter_map(|rest| {
                let (_, id) = rest.split_once("id=")?;
                let quote = id.chars().next()?;
                id[1..].split(quote).next()
            })
            .collect();
        let given = || asked.iter().copied().flatten();
        if let Some(name) = given().find(|name| known.contains(name)) {
            return Err(self.error(format!(
                "there is a weight '{name}' already; give another name with --name"
            )));
        }
        let numbers = known.into_iter().chain(given());
        let numbers = numbers.filter_map(|id| id.strip_prefix("rwgt_")?.parse::<u32>().ok());
        let mut last = numbers.max().map_or(0, u64::from);
        let mut names: Vec<String> = Vec::new();
        for (i, asked) in asked.iter().enumerate() {
            let name = match asked {
                Some(name) => (*name).to_owned(),
                None => {
                    last += 1;
                    format!("rwgt_{last}")
                }
            };
            if names.contains(&name) {
                return Err(self.error(format!("the {}. name is '{name}' again", i + 1)));
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Cross section and its error in pb, of all processes together.
    pub fn cross_section(&self) -> Option<(f64, f64)> {
        let block = self.block("init")?;
        // XSECUP, XERRUP, XMAXUP, LPRUP; the line before has ten numbers.
        let lines = block.lines().filter_map(|line| {
            let words = line.split_whitespace().map(|word| word.parse::<f64>().ok());
            match words.collect::<Option<Vec<f64>>>()?.as_slice() {
                [cross, error, _, _] => Some((*cross, *error)),
                _ => None,
            }
        });
        lines.reduce(|(cross, error), (c, e)| (cross + c, error.hypot(e)))
    }

    /// That |M|^2 may be evaluated in the frame of the incoming particles, MG5aMC's default: helicities of events, and the
    /// polarisations of a process (`p p > w+{0} j`), are those in the frame of the run card.
    pub fn check_frame<'a>(
        &self,
        by_helicity: bool,
        processes: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let Some(frame) = self.other_frame() else {
            return Ok(());
        };
        if processes.into_iter().any(|name| name.contains('{')) {
            return Err(self.error(format!(
                "the events were made with {frame}, and polarised particles of their process are so in that frame, not \
                 in that of the incoming particles; MG5aMC reweights such events"
            )));
        }
        match by_helicity {
            false => Ok(()),
            true => Err(self.error(format!(
                "the events were made with {frame}, so their helicities are those of another frame than that of the \
                 incoming particles; reweight with --helicity sum"
            ))),
        }
    }

    /// The entry of the run card by which the frame is another one. MG5aMC 2.7 and later have `me_frame`, a list of the
    /// particles that are at rest together.
    fn other_frame(&self) -> Option<String> {
        let other = |(name, value): &(String, String)| {
            let numbers = value.split(|c: char| !c.is_ascii_digit());
            let numbers: BTreeSet<&str> = numbers.filter(|number| !number.is_empty()).collect();
            match name.as_str() {
                "frame_id" => value != "6",
                "me_frame" => numbers != BTreeSet::from(["1", "2"]),
                _ => false,
            }
        };
        let (name, value) = self.run_card().into_iter().find(other)?;
        Some(format!("{name} {value}"))
    }

    /// Whether events have what MG5aMC needs for weights at next-to-leading order.
    pub fn has_next_to_leading(&self) -> bool {
        let stored = |(name, value): &(String, String)| {
            name == "store_rwgt_info"
                && matches!(
                    value.to_ascii_lowercase().as_str(),
                    "true" | "t" | ".true." | "1"
                )
        };
        self.run_card().iter().any(stored)
    }

    /// The entries of the run card, with their names in lower case.
    fn run_card(&self) -> Vec<(String, String)> {
        let card = self.block("MGRunCard").unwrap_or_default();
        let entry = |line: &str| {
            let code = line.split(['#', '!']).next()?;
            let (value, name) = code.split_once('=')?;
            Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        };
        card.lines().filter_map(entry).collect()
    }

    /// The text with these weights in its list.
    pub fn with_weights(&self, names: &[String], descriptions: &[String]) -> Vec<u8> {
        let end = match contains(&self.bytes, b"\r\n") {
            true => "\r\n",
            false => "\n",
        };
        let weights: String = names
            .iter()
            .zip(descriptions)
            .map(|(name, text)| {
                let text = text.trim_end().replace('\n', end);
                format!("<weight id='{name}'>{text}</weight>{end}")
            })
            .collect();
        let group = format!(
            "<weightgroup name='{GROUP}' weight_name_strategy='includeIdInWeightName'>{end}{weights}</weightgroup>{end}"
        );
        let (at, text) = self.place(&weights, &group, end);
        let mut bytes = self.bytes[..at].to_vec();
        bytes.extend(text.as_bytes());
        bytes.extend(&self.bytes[at..]);
        bytes
    }

    /// Where the list goes, and how much of its frame is missing there.
    fn place(&self, weights: &str, group: &str, end: &str) -> (usize, String) {
        let bytes = &self.bytes;
        let list = format!("<initrwgt>{end}{group}</initrwgt>{end}");
        if let Some(begin) = find(bytes, b"<initrwgt") {
            let mine = [format!("name='{GROUP}'"), format!("name=\"{GROUP}\"")];
            let known = mine
                .iter()
                .find_map(|m| find(&bytes[begin..], m.as_bytes()));
            if let Some(known) = known
                && let Some(close) = find(&bytes[begin + known..], b"</weightgroup>")
            {
                return (begin + known + close, weights.into());
            }
            if let Some(close) = find(&bytes[begin..], b"</initrwgt>") {
                return (begin + close, group.into());
            }
        }
        if let Some(at) = find(bytes, b"</header>") {
            return (at, list);
        }
        let header = format!("<header>{end}{list}</header>{end}");
        let at = find(bytes, b"<init>").unwrap_or(bytes.len());
        (at, header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner(text: &str) -> Banner {
        Banner::new(text.into(), Path::new("f"))
    }

    fn with(text: &str) -> String {
        let names = ["a".to_owned(), "b".to_owned()];
        let descriptions = ["set 1\nset 2\n".to_owned(), String::new()];
        String::from_utf8(banner(text).with_weights(&names, &descriptions)).unwrap()
    }

    #[test]
    fn the_list_goes_where_there_is_one() {
        let weights = "<weight id='a'>set 1\nset 2</weight>\n<weight id='b'></weight>\n";
        let group = format!(
            "<weightgroup name='mg_reweighting' weight_name_strategy='includeIdInWeightName'>\n{weights}</weightgroup>\n"
        );
        let list = format!("<initrwgt>\n{group}</initrwgt>\n");
        assert_eq!(
            with("<init>\n</init>\n"),
            format!("<header>\n{list}</header>\n<init>\n</init>\n")
        );
        assert_eq!(
            with("<header>\n</header>\n<init>\n"),
            format!("<header>\n{list}</header>\n<init>\n")
        );
        let other = "<initrwgt>\n<weightgroup name='x'>\n</weightgroup>\n";
        assert_eq!(
            with(&format!("{other}</initrwgt>\n")),
            format!("{other}{group}</initrwgt>\n")
        );
        let mine =
            "<initrwgt>\n<weightgroup name='mg_reweighting'>\n<weight id='rwgt_1'>\n</weight>\n";
        assert_eq!(
            with(&format!("{mine}</weightgroup></initrwgt>")),
            format!("{mine}{weights}</weightgroup></initrwgt>")
        );
    }

    #[test]
    fn names_do_not_occur_twice() {
        let known = banner(
            "<initrwgt><weight id='rwgt_3'>x</weight><weight MUF='1' id=\"1002\"></weight></initrwgt>",
        );
        assert_eq!(known.names(&[None, None]).unwrap(), ["rwgt_4", "rwgt_5"]);
        assert!(known.names(&[Some("1002")]).is_err());
        assert!(known.names(&[Some("a"), Some("a")]).is_err());
        assert_eq!(known.names(&[Some("a")]).unwrap(), ["a"]);
        let mixed = known.names(&[None, Some("a"), None]).unwrap();
        assert_eq!(mixed, ["rwgt_4", "a", "rwgt_5"]);
        assert_eq!(
            known.names(&[None, Some("rwgt_4")]).unwrap(),
            ["rwgt_5", "rwgt_4"]
        );
        assert_eq!(banner("").names(&[None]).unwrap(), ["rwgt_1"]);
    }

    #[test]
    fn cross_sections_of_processes_add() {
        let init = "2212 2212 6.5e+03 6.5e+03 0 0 247000 247000 -4 2\n8.0e+04 3. 8.0e+04 1\n1.0e+04 4. 1.0e+04 2\n\
                    <generator name='x' version='y'>z</generator>\n";
        let found = banner(&format!("<init>\n{init}</init>")).cross_section();
        assert_eq!(found, Some((9e4, 5.0)));
        assert_eq!(banner("<init>\n</init>").cross_section(), None);
    }

    #[test]
    fn what_weights_at_next_to_leading_order_need() {
        let has = |line: &str| {
            banner(&format!("<MGRunCard>\n{line}\n</MGRunCard>")).has_next_to_leading()
        };
        assert!(has(" True = store_rwgt_info ! x") && has("T=STORE_RWGT_INFO"));
        assert!(!has("False = store_rwgt_info") && !has("# True = store_rwgt_info") && !has(""));
    }

    #[test]
    fn other_frames_are_refused() {
        let check = |line: &str, by_helicity, name| {
            let banner = banner(&format!("<MGRunCard>\n{line}\n</MGRunCard>"));
            banner
                .check_frame(by_helicity, [name])
                .map_err(|e| e.to_string())
        };
        for line in [
            "  6 = frame_id ! of the beams",
            "# 3 = frame_id",
            " 1,2  = me_frame ! list",
            "[2, 1] = me_frame",
            "",
        ] {
            assert_eq!(check(line, true, "p p > z{0} j"), Ok(()), "{line}");
        }
        for line in [
            "3 = frame_id",
            " 3  = me_frame ! list",
            "3, 4 = ME_FRAME",
            "[1, 3] = me_frame",
            "1 = me_frame",
        ] {
            let error = check(line, true, "p p > z j").unwrap_err();
            assert!(error.contains("reweight with --helicity sum"), "{error}");
            assert_eq!(check(line, false, "p p > z j"), Ok(()));
            let error = check(line, false, "p p > z{0} j").unwrap_err();
            assert!(
                error.contains("polarised particles of their process"),
                "{error}"
            );
        }
    }
}
