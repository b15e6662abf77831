//! What comes before the first event: the parameter card and the list of weights.
//!
//! `<initrwgt>` lists weights in groups; that of MG5aMC's reweighting is called `mg_reweighting`.

use super::file::{end_of_line, find};
use mebridge::lhe::Head;
use mebridge::{Error, Result};
use std::path::{Path, PathBuf};

/// The group of MG5aMC's reweighting.
const GROUP: &str = "mg_reweighting";

/// The text before the first event.
pub struct Banner<'a> {
    head: &'a Head,
    path: PathBuf,
}

impl Banner<'_> {
    /// Of a file, whose name is for messages.
    pub fn new<'a>(head: &'a Head, path: &Path) -> Banner<'a> {
        Banner {
            head,
            path: path.into(),
        }
    }

    fn error(&self, what: String) -> Error {
        Error::EventsFile {
            path: self.path.clone(),
            what,
        }
    }

    /// The text of a block, whose lines end with LF.
    fn block(&self, name: &str) -> Option<String> {
        let begin = find(&self.head.bytes, format!("<{name}>").as_bytes())? + name.len() + 2;
        let length = find(&self.head.bytes[begin..], format!("</{name}>").as_bytes())?;
        let text = &self.head.bytes[begin..begin + length];
        let text = String::from_utf8_lossy(text);
        Some(text.replace("\r\n", "\n").replace('\r', "\n"))
    }

    /// The parameter card that the events were made with.
    pub fn card(&self) -> Option<String> {
        self.block("slha")
    }

    /// Names of the weights: those asked for, the others `rwgt_n` behind those that are there.
    pub fn names(&self, asked: &[Option<&str>]) -> Result<Vec<String>> {
        let known = || self.head.listed.iter().map(String::as_str);
        let given = || asked.iter().copied().flatten();
        if let Some(name) = given().find(|&name| known().any(|listed| listed == name)) {
            return Err(self.error(format!(
                "there is a weight '{name}' already; give another name with --name"
            )));
        }
        let numbers = known().chain(given());
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
        let processes = self.head.init()?.processes.into_iter();
        let of = processes.map(|(_, [cross, error, _])| (cross, error));
        of.reduce(|(cross, error), (c, e)| (cross + c, error.hypot(e)))
    }

    /// Helicities of events are those in the frame of the run card; both matrix elements are evaluated in that of
    /// the incoming particles, MG5aMC's default.
    pub fn check_frame(&self) -> Result<()> {
        let card = self.block("MGRunCard").unwrap_or_default();
        let frame = card.lines().find_map(|line| {
            let code = line.split(['#', '!']).next()?;
            let (value, name) = code.split_once('=')?;
            (name.trim().eq_ignore_ascii_case("frame_id")).then(|| value.trim().to_owned())
        });
        match frame.as_deref() {
            None | Some("6") => Ok(()),
            Some(frame) => Err(self.error(format!(
                "the events were made with frame_id {frame}, so their helicities are those of another frame than \
                 that of the incoming particles; reweight with --helicity sum"
            ))),
        }
    }

    /// The text with these weights in its list.
    pub fn with_weights(&self, names: &[String], descriptions: &[String]) -> Vec<u8> {
        let end = end_of_line(&self.head.bytes);
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
        let mut bytes = self.head.bytes[..at].to_vec();
        bytes.extend(text.as_bytes());
        bytes.extend(&self.head.bytes[at..]);
        bytes
    }

    /// Where the list goes, and how much of its frame is missing there.
    fn place(&self, weights: &str, group: &str, end: &str) -> (usize, String) {
        let bytes = &self.head.bytes;
        let list = format!("<initrwgt>{end}{group}</initrwgt>{end}");
        if let Some(there) = self.head.weights.clone() {
            let mine = [format!("name='{GROUP}'"), format!("name=\"{GROUP}\"")];
            let of = &bytes[there.clone()];
            let known = mine.iter().find_map(|mine| find(of, mine.as_bytes()));
            let close = known.and_then(|at| Some(at + find(&of[at..], b"</weightgroup>")?));
            return match close {
                Some(at) => (there.start + at, weights.into()),
                None => (there.end, group.into()),
            };
        }
        if let Some(at) = self.head.header_end {
            return (at, list);
        }
        let header = format!("<header>{end}{list}</header>{end}");
        (self.head.init.unwrap_or(bytes.len()), header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::lhe::Reader;
    use std::io::Cursor;

    /// What is done with the banner of a file that begins so.
    fn banner<T>(text: &str, f: impl FnOnce(Banner) -> T) -> T {
        let text = format!("{text}<event>\n");
        let reader = Reader::new(Box::new(Cursor::new(text)), Path::new("f"), true).unwrap();
        f(Banner::new(reader.head(), Path::new("f")))
    }

    fn with(text: &str) -> String {
        let names = ["a".to_owned(), "b".to_owned()];
        let descriptions = ["set 1\nset 2\n".to_owned(), String::new()];
        let bytes = banner(text, |banner| banner.with_weights(&names, &descriptions));
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
        let names = |asked: &[Option<&str>]| {
            let list = "<initrwgt><weight id='rwgt_3'>x</weight><weight MUF='1' id = \"1002\"></weight></initrwgt>";
            banner(list, |known| known.names(asked)).ok()
        };
        assert_eq!(names(&[None, None]).unwrap(), ["rwgt_4", "rwgt_5"]);
        assert!(names(&[Some("1002")]).is_none());
        assert!(names(&[Some("a"), Some("a")]).is_none());
        assert_eq!(names(&[Some("a")]).unwrap(), ["a"]);
        let mixed = names(&[None, Some("a"), None]).unwrap();
        assert_eq!(mixed, ["rwgt_4", "a", "rwgt_5"]);
        let later = names(&[None, Some("rwgt_4")]).unwrap();
        assert_eq!(later, ["rwgt_5", "rwgt_4"]);
        let first = banner("", |known| known.names(&[None]));
        assert_eq!(first.unwrap(), ["rwgt_1"]);
    }

    #[test]
    fn cross_sections_of_processes_add() {
        let init = "2212 2212 6.5e+03 6.5e+03 0 0 247000 247000 -4 2\n8.0e+04 3. 8.0e+04 1\n1.0D+04 4. 1.0e+04 2\n\
                    <generator name='x' version='y'>z</generator>\n";
        let found = |text: &str| banner(text, |banner| banner.cross_section());
        assert_eq!(
            found(&format!("<!-- <init> --><init>\n{init}</init>")),
            Some((9e4, 5.0))
        );
        assert_eq!(found("<init>\n</init>"), None);
    }

    #[test]
    fn other_frames_are_refused() {
        let frame = |line: &str| {
            banner(&format!("<MGRunCard>\n{line}\n</MGRunCard>"), |of| {
                of.check_frame()
            })
        };
        assert!(frame("  6 = frame_id ! of the beams").is_ok());
        assert!(frame("# 3 = frame_id").is_ok());
        assert!(frame("3 = frame_id").is_err());
    }
}
