//! The text before the first event: the parameter card and the list of weights.
//!
//! `<initrwgt>` lists weights in groups; that of MG5aMC's reweighting is called `mg_reweighting`.

use super::file::end_of_line;
use mebridge::lhe::{Head, find};
use mebridge::{Error, Result};
use mebridge_run::run_card::{self, Entries};
use std::path::{Path, PathBuf};

/// The group of MG5aMC's reweighting.
const GROUP: &str = "mg_reweighting";

/// Data that reweighting uses from the text before the first event.
#[derive(Default)]
pub struct Banner {
    /// For messages.
    path: PathBuf,
    /// The parameter card that the events were made with.
    pub card: Option<String>,
    run_card: Entries,
    /// Names of the existing weights.
    listed: Vec<String>,
    /// Cross section and its error in pb, of all processes together.
    pub cross_section: Option<(f64, f64)>,
}

impl Banner {
    /// Reads the banner of a file, whose path is for messages.
    pub fn new(head: &Head, path: &Path) -> Banner {
        Banner {
            path: path.into(),
            card: head.block("slha"),
            run_card: run_card::parse(&head.block("MGRunCard").unwrap_or_default()),
            listed: head.listed.clone(),
            cross_section: head.init().and_then(|init| init.cross_section()),
        }
    }

    /// Makes the banner of future events with this parameter card.
    pub fn from_card(card: &str) -> Banner {
        Banner {
            path: "reweight: the run's own header".into(),
            card: Some(card.to_owned()),
            ..Banner::default()
        }
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error about the file.
    pub fn error(&self, what: String) -> Error {
        Error::EventsFile {
            path: self.path.clone(),
            what,
        }
    }

    /// Returns the names of the weights: the requested ones, or `rwgt_n` after the existing ones.
    pub fn names(&self, request: &[Option<&str>]) -> Result<Vec<String>> {
        let known = || self.listed.iter().map(String::as_str);
        let given = || request.iter().copied().flatten();
        if let Some(name) = given().find(|&name| known().any(|listed| listed == name)) {
            return Err(self.error(format!(
                "there is a weight '{name}' already; give another name with --name"
            )));
        }
        let numbers = known().chain(given());
        let numbers = numbers.filter_map(|id| id.strip_prefix("rwgt_")?.parse::<u32>().ok());
        let mut last = numbers.max().map_or(0, u64::from);
        let mut names: Vec<String> = Vec::new();
        for (i, request) in request.iter().enumerate() {
            let name = match request {
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

    /// Checks that |M|^2 may be evaluated in the frame of the incoming particles, MG5aMC's default: helicities of
    /// events, and the polarisations of a process (`p p > w+{0} j`), are those in the frame of the run card.
    pub fn check_frame<'a>(
        &self,
        by_helicity: bool,
        processes: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let Some(frame) = run_card::other_frame(&self.run_card) else {
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

    /// The entry of the run card by which incoming bosons have a density for each helicity, if there is one.
    pub fn boson_densities(&self) -> Option<String> {
        run_card::boson_densities(&self.run_card)
    }

    /// Whether events have the data that MG5aMC needs for weights at next-to-leading order.
    pub fn has_next_to_leading(&self) -> bool {
        let stored = |(name, value): &(String, String)| {
            name == "store_rwgt_info"
                && matches!(
                    value.to_ascii_lowercase().as_str(),
                    "true" | "t" | ".true." | "1"
                )
        };
        self.run_card.iter().any(stored)
    }
}

/// Returns the text before the first event with these weights added to its list.
pub fn with_weights(head: &Head, names: &[String], descriptions: &[String]) -> Vec<u8> {
    let end = end_of_line(&head.bytes);
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
    let (at, text) = place(head, &weights, &group, end);
    let mut bytes = head.bytes[..at].to_vec();
    bytes.extend(text.as_bytes());
    bytes.extend(&head.bytes[at..]);
    bytes
}

/// Returns where the list goes, and the missing tags around it.
fn place(head: &Head, weights: &str, group: &str, end: &str) -> (usize, String) {
    let bytes = &head.bytes;
    let list = format!("<initrwgt>{end}{group}</initrwgt>{end}");
    if let Some(there) = head.weights.clone() {
        let mine = [format!("name='{GROUP}'"), format!("name=\"{GROUP}\"")];
        let of = &bytes[there.clone()];
        let known = mine.iter().find_map(|mine| find(of, mine.as_bytes()));
        let close = known.and_then(|at| Some(at + find(&of[at..], b"</weightgroup>")?));
        return match close {
            Some(at) => (there.start + at, weights.into()),
            None => (there.end, group.into()),
        };
    }
    if let Some(at) = head.header_end {
        return (at, list);
    }
    let header = format!("<header>{end}{list}</header>{end}");
    (head.init.unwrap_or(bytes.len()), header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::lhe::Reader;
    use std::io::Cursor;

    /// Makes a reader of a file that begins with this text.
    fn reader(text: &str) -> Reader {
        let text = format!("{text}<event>\n");
        Reader::new(Box::new(Cursor::new(text)), Path::new("f"), true).unwrap()
    }

    fn banner(text: &str) -> Banner {
        Banner::new(reader(text).head(), Path::new("f"))
    }

    fn with(text: &str) -> String {
        let names = ["a".to_owned(), "b".to_owned()];
        let descriptions = ["set 1\nset 2\n".to_owned(), String::new()];
        let bytes = with_weights(reader(text).head(), &names, &descriptions);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_list_goes_where_there_is_one() {
        let weights = "<weight id='a'>set 1\nset 2</weight>\n<weight id='b'></weight>\n";
        let group = format!(
            "<weightgroup name='mg_reweighting' weight_name_strategy='includeIdInWeightName'>\n{weights}</weightgroup>\n"
        );
        let list = format!("<initrwgt>\n{group}</initrwgt>\n");
        let comment = "<!-- <init> </header> <initrwgt> -->\n";
        assert_eq!(
            with(&format!("{comment}<init>\n</init>")),
            format!("{comment}<header>\n{list}</header>\n<init>\n</init>")
        );
        let cards = "<header>\n<![CDATA[\n</header>\n<initrwgt>]]>\n";
        assert_eq!(
            with(&format!("{cards}</header>\n")),
            format!("{cards}{list}</header>\n")
        );
        let other = "<initrwgt>\n<weightgroup name='x'>\n</weightgroup>\n";
        assert_eq!(
            with(&format!("{other}</initrwgt>\n")),
            format!("{other}{group}</initrwgt>\n")
        );
        let within = format!("<header>\n</header>\n<init>\n{other}");
        assert_eq!(
            with(&format!("{within}</initrwgt>\n</init>")),
            format!("{within}{group}</initrwgt>\n</init>")
        );
        let mine =
            "<initrwgt>\n<weightgroup name='mg_reweighting'>\n<weight id='rwgt_1'>\n</weight>\n";
        assert_eq!(
            with(&format!("{mine}</weightgroup></initrwgt>")),
            format!("{mine}{weights}</weightgroup></initrwgt>")
        );
        for end in ["\r\n", "\r"] {
            let header = "<header>\n</header>\n".replace('\n', end);
            let list = list.replace('\n', end);
            let expected = header.replace("</header>", &format!("{list}</header>"));
            assert_eq!(with(&header), expected);
        }
    }

    #[test]
    fn names_do_not_occur_twice() {
        let names = |request: &[Option<&str>]| {
            let list = "<initrwgt><weight id='rwgt_3'>x</weight><weight MUF='1' id = \"1002\"></weight></initrwgt>";
            banner(list).names(request).ok()
        };
        assert_eq!(names(&[None, None]).unwrap(), ["rwgt_4", "rwgt_5"]);
        assert!(names(&[Some("1002")]).is_none());
        assert!(names(&[Some("a"), Some("a")]).is_none());
        assert_eq!(names(&[Some("a")]).unwrap(), ["a"]);
        let mixed = names(&[None, Some("a"), None]).unwrap();
        assert_eq!(mixed, ["rwgt_4", "a", "rwgt_5"]);
        let later = names(&[None, Some("rwgt_4")]).unwrap();
        assert_eq!(later, ["rwgt_5", "rwgt_4"]);
        let first = banner("").names(&[None]);
        assert_eq!(first.unwrap(), ["rwgt_1"]);
    }

    #[test]
    fn cross_sections_of_processes_add() {
        let init = "2212 2212 6.5e+03 6.5e+03 0 0 247000 247000 -4 2\n8.0e+04 3. 8.0e+04 1\n1.0D+04 4. 1.0e+04 2\n\
                    <generator name='x' version='y'>z</generator>\n";
        let found = |text: &str| banner(text).cross_section;
        assert_eq!(
            found(&format!("<!-- <init> --><init>\n{init}</init>")),
            Some((9e4, 5.0))
        );
        assert_eq!(found("<init>\n</init>"), None);
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
    fn densities_of_bosons_are_seen() {
        let seen = |line: &str| {
            let banner = banner(&format!("<MGRunCard>\n{line}\n</MGRunCard>"));
            banner.boson_densities()
        };
        let found = seen(" 'eva' = pdlabel1 ! of beam 1");
        assert_eq!(found.as_deref(), Some("pdlabel1 = 'eva'"));
        for line in ["iww = pdlabel", "1 = evaorder", "# eva = pdlabel", ""] {
            assert_eq!(seen(line), None, "{line}");
        }
    }

    #[test]
    fn other_frames_are_refused() {
        let check = |line: &str, by_helicity, name| {
            let banner = banner(&format!("<MGRunCard>\n{line}\n</MGRunCard>"));
            let checked = banner.check_frame(by_helicity, [name]);
            checked.map_err(|error| error.to_string())
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
