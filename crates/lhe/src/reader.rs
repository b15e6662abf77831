//! Reads event files written by MG5aMC and other programs.
//!
//! Whatever the accord leaves open is accepted: line endings, Fortran exponents, comments, elements and attributes of
//! other programs. Whatever could drop or shift an event or a number is an error that names the line. The text before
//! the first event may hold anything; only comments and tags of event groups may stand between events; an event must
//! have all numbers of its particles, and its elements must end properly.

use crate::event::{Columns, EVENT, Event, EventLocation, Number, PARTICLE, Particle};
use crate::text::{Tag, Text};
use crate::weights::Names;
use crate::word::{integer, real, shown};
use crate::written::{WeightsInText, name};
use mebridge_support::{Error, Result};
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Maximum number of particles of an event, including intermediate ones.
const MAX_PARTICLES: i32 = 1000;

/// Maximum number of open elements in an event.
const MAX_OPEN_ELEMENTS: usize = 10_000;

/// The byte order mark that some editors put before UTF-8 text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// An event file.
pub struct Reader {
    text: Text,
    /// Whether the text between events is kept.
    keeps: bool,
    head: Head,
    /// Offset where the head ends.
    begin: usize,
    events: u64,
    /// Whether `</LesHouchesEvents>` was read.
    closed: bool,
    /// The line where a second file begins after the first one, and the line of a second file whose `<init>` differs.
    second: Option<u64>,
    other_init: Option<u64>,
    names: Names,
    /// Bytes after the last event, if they are kept.
    rest: Vec<u8>,
}

/// The part of a file before the first event. Offsets are in bytes.
#[derive(Clone, Default)]
pub struct Head {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Offset where `<init>` begins.
    pub init: Option<usize>,
    /// The contents of `<init>`, and its line.
    contents: Option<(Range<usize>, u64)>,
    /// Offset of `</header>`.
    pub header_end: Option<usize>,
    /// Range of `<initrwgt>` up to its end tag.
    pub weights: Option<Range<usize>>,
    /// Names of the weights listed there.
    pub listed: Vec<String>,
}

/// The contents of `<init>`.
#[derive(Clone, Debug, PartialEq)]
pub struct Init {
    /// IDBMUP, the beams.
    pub beams: [i32; 2],
    /// EBMUP in GeV.
    pub energies: [f64; 2],
    /// PDFSUP.
    pub densities: [i32; 2],
    /// IDWTUP.
    pub strategy: i32,
    /// LPRUP, XSECUP, XERRUP and XMAXUP of each process.
    pub processes: Vec<(i32, [f64; 3])>,
}

impl Head {
    /// Returns the range of the contents of `<init>`.
    pub fn init_contents(&self) -> Option<Range<usize>> {
        self.contents.as_ref().map(|(contents, _)| contents.clone())
    }

    /// Parses `<init>`; `None` if it does not follow the accord.
    pub fn init(&self) -> Option<Init> {
        let (contents, _) = self.contents.as_ref()?;
        init(&self.bytes[contents.clone()])
    }

    /// Returns the text of the first element `<name>`, with LF line endings.
    pub fn block(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (text, _) = rest.split_once(&format!("</{name}>"))?;
        Some(text.replace("\r\n", "\n").replace('\r', "\n"))
    }
}

impl Init {
    /// Returns the cross section of all processes together and its error in pb; `None` if no process is listed.
    pub fn cross_section(&self) -> Option<(f64, f64)> {
        let of_each = self
            .processes
            .iter()
            .map(|&(_, [cross, error, _])| (cross, error));
        of_each.reduce(|(cross, error), (c, e)| (cross + c, error.hypot(e)))
    }
}

impl Reader {
    /// Reads up to the first event.
    ///
    /// # Errors
    /// The input is no event file, or its head is damaged.
    pub fn new(input: Box<dyn Read>, path: &Path, keeps: bool) -> Result<Reader> {
        let mut reader = Reader {
            text: Text::new(input, path),
            keeps,
            head: Head::default(),
            begin: 0,
            events: 0,
            closed: false,
            second: None,
            other_init: None,
            names: Names::default(),
            rest: Vec::new(),
        };
        reader.head = reader.read_head()?;
        reader.begin = reader.text.at;
        if !keeps {
            reader.text.forget(reader.text.at);
        }
        Ok(reader)
    }

    /// Returns the part before the first event.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the offset in the file where its head ends.
    pub fn head_bytes(&self) -> usize {
        self.begin
    }

    /// Returns the offset in the file where the last event that was read ends.
    pub fn read_bytes(&self) -> usize {
        self.text.at
    }

    /// Returns whether `</LesHouchesEvents>` was read.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Returns the line where a second file begins, once it was reached.
    pub fn second(&self) -> Option<u64> {
        self.second
    }

    /// Returns the text after the last event, if it is kept.
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// Returns the names of the weights found so far.
    pub fn names(&self) -> &[String] {
        self.names.all()
    }

    /// Creates an error about this file.
    pub fn error(&self, what: impl Into<String>) -> Error {
        self.text.error(what)
    }

    /// Returns the contents of `<init>`.
    ///
    /// # Errors
    /// There is none, or it lacks numbers of the accord, or another one follows that differs.
    pub fn init(&self) -> Result<Init> {
        let Some((_, line)) = &self.head.contents else {
            return Err(self.error("this is no event file: it has no <init>"));
        };
        if let Some(line) = self.other_init {
            return Err(self.error(format!(
                "line {line}: a second file begins whose <init> says something else; read them one by one"
            )));
        }
        self.head.init().ok_or_else(|| {
            self.error(format!(
                "<init> of line {line} does not hold what the Les Houches Accord has there: two beams, their energies and \
                 densities, IDWTUP and NPRUP, and four numbers for each process"
            ))
        })
    }

    /// Reads up to the first event.
    fn read_head(&mut self) -> Result<Head> {
        let begin = self.text.at;
        if self.text.looking_at(BOM)? {
            self.text.at += BOM.len();
        }
        let mut head = Head::default();
        self.pass_space()?;
        match self.text.peek()? {
            Some(b'<') => {}
            None => return Err(self.error("the file is empty")),
            Some(_) => {
                let shown = self.text.shown(self.text.at);
                return Err(self.error(format!(
                    "this is no event file (<LesHouchesEvents>): it begins with `{shown}`"
                )));
            }
        }
        while self.text.find_tag()? {
            let at = self.text.at;
            if self.text.pass_markup()? {
                continue;
            }
            let name = self.text.tag_name()?;
            match name.as_str() {
                "event" | "eventgroup" | "/leshouchesevents" => break,
                "header" | "init" | "initrwgt" | "/initrwgt" => {}
                // Its contents may look like a tag.
                _ => {
                    self.text.at += 1;
                    continue;
                }
            }
            let Some(tag) = self.text.tag()? else {
                continue;
            };
            match name.as_str() {
                _ if tag.empty => {}
                "header" => {
                    let end = self.pass_element(&tag, begin, &mut head)?;
                    head.header_end = Some(end - begin);
                }
                "init" => {
                    let line = self.text.line_of(at);
                    let end = self.pass_element(&tag, begin, &mut head)?;
                    head.init = Some(at - begin);
                    head.contents = Some((tag.end - begin..end - begin, line));
                    break;
                }
                _ => note(&tag, begin, &mut head),
            }
        }
        head.weights = head.weights.filter(|list| list.end > list.start);
        head.bytes = self.text.slice(begin..self.text.at).to_vec();
        head.listed = self.listed(&head, begin)?;
        Ok(head)
    }

    /// Skips an element, which may hold anything but events, and returns the offset of its end tag.
    fn pass_element(&mut self, of: &Tag, begin: usize, head: &mut Head) -> Result<usize> {
        let mut after_init = of.name == "init";
        while self.text.find_tag()? {
            let at = self.text.at;
            if self.text.pass_markup()? {
                continue;
            }
            // Cards may contain text that looks like a tag.
            let name = self.text.tag_name()?;
            if name == format!("/{}", of.name) {
                self.text.tag()?;
                return Ok(at);
            }
            match name.as_str() {
                "initrwgt" | "/initrwgt" => {
                    if let Some(tag) = self.text.tag()? {
                        note(&tag, begin, head);
                    }
                }
                // A header may contain tags, but not everything before an event.
                "event" if after_init => break,
                _ => {
                    after_init |= name == "/init";
                    self.text.at += 1;
                }
            }
        }
        let (name, line) = (&of.name, self.text.line_of(of.begin));
        Err(self.error(format!(
            "there is no </{name}> for the <{name}> of line {line}; the file is cut off or damaged"
        )))
    }

    /// Returns the weights listed in a head.
    fn listed(&mut self, head: &Head, begin: usize) -> Result<Vec<String>> {
        let mut listed = Vec::new();
        let Some(weights) = head.weights.clone() else {
            return Ok(listed);
        };
        let end = self.text.at;
        self.text.at = begin + weights.start;
        while self.text.at < begin + weights.end && self.text.find_tag()? {
            if self.text.pass_markup()? {
                continue;
            }
            if self.text.tag_name()? != "weight" {
                self.text.at += 1;
            } else if let Some(tag) = self.text.tag()?
                && let Some(id) = self.text.attribute(&tag, "id")
            {
                listed.push(name(self.text.slice(id)));
            }
        }
        self.text.at = end;
        Ok(listed)
    }

    /// Reads the next event; returns false at the end.
    ///
    /// # Errors
    /// The event or the text before it is damaged, or there is more text after the end.
    pub fn next(&mut self, event: &mut Event) -> Result<bool> {
        let before = self.text.at;
        let Some(tag) = self.find_event()? else {
            if self.keeps {
                let rest = self.text.slice(before..self.text.at);
                self.rest.extend_from_slice(rest);
            }
            return Ok(false);
        };
        self.events += 1;
        event.place = EventLocation {
            event: self.events,
            line: self.text.line_of(tag.begin),
        };
        event.before.clear();
        match self.keeps {
            true => event
                .before
                .extend_from_slice(self.text.slice(before..tag.begin)),
            false => self.text.forget(tag.begin),
        }
        self.read_numbers(event, tag.begin)?;
        self.read_rest(event, tag.begin)?;
        event.text.clear();
        event
            .text
            .extend_from_slice(self.text.slice(tag.begin..self.text.at));
        self.text.forget(self.text.at);
        self.text.event_ends();
        Ok(true)
    }

    /// Writes the weights of the last event to `row`, in the order of [`Reader::names`]; NaN for missing ones.
    ///
    /// # Errors
    /// A weight is not a number, or its name cannot be determined.
    pub fn weights(&mut self, event: &Event, row: &mut Vec<f64>) -> Result<()> {
        let read = self.names.read(event, &self.head.listed, row);
        read.map_err(|(place, what)| {
            let line = event.line_of(place);
            self.error(format!("{}: line {line}: {what}", event.place))
        })
    }

    /// Finds the tag of the next event. Only comments and group tags may stand between events.
    fn find_event(&mut self) -> Result<Option<Tag>> {
        loop {
            self.text.gap()?;
            let at = self.text.at;
            match self.text.peek()? {
                None => return Ok(None),
                Some(b'<') => {}
                Some(_) if self.closed && self.text.looking_at(BOM)? => {
                    self.begin_file()?;
                    continue;
                }
                Some(_) => return Err(self.rubbish(at)),
            }
            let Some(tag) = self.text.tag()? else {
                return Err(self.rubbish(at));
            };
            match tag.name.as_str() {
                "event" if !tag.empty && !self.closed => return Ok(Some(tag)),
                "eventgroup" | "/eventgroup" if !self.closed => {}
                "/leshouchesevents" if !self.closed => self.closed = true,
                "leshouchesevents" if self.closed => {
                    self.text.at = at;
                    self.begin_file()?;
                }
                _ => return Err(self.rubbish(at)),
            }
        }
    }

    /// Begins a second file after the end of another one.
    fn begin_file(&mut self) -> Result<()> {
        let line = self.text.line_of(self.text.at);
        let head = self.read_head()?;
        if head.init() != self.head.init() {
            self.other_init.get_or_insert(line);
        }
        self.second.get_or_insert(line);
        self.head.listed = head.listed;
        self.closed = false;
        Ok(())
    }

    fn rubbish(&self, at: usize) -> Error {
        let (line, text) = (self.text.line_of(at), self.text.shown(at));
        let location = match (self.closed, self.events) {
            (true, _) => "after </LesHouchesEvents>".to_owned(),
            (false, 0) => "before the first event".to_owned(),
            (false, last) => format!("after event {last}"),
        };
        self.error(format!(
            "line {line} has `{text}` {location}, where an event may have been lost; make the file again, or remove it"
        ))
    }

    /// Reads the numbers of an event: its first line and those of its particles.
    fn read_numbers(&mut self, event: &mut Event, begin: usize) -> Result<()> {
        self.text.gap()?;
        event.numbers.start = self.text.at - begin;
        let mut values = [Number::Integer(0); EVENT.len()];
        self.record(
            event.place,
            &EVENT,
            &mut values,
            "is no first line of an event",
        )?;
        let count = event.take_head(&values);
        if !(1..=MAX_PARTICLES).contains(&count) {
            let line = self.text.line_of(self.text.at);
            return Err(self.error(format!(
                "{}: line {line} is no first line of an event: NUP, the number of its particles, is {count}",
                event.place
            )));
        }
        event.particles.clear();
        let mut values = [Number::Integer(0); PARTICLE.len()];
        for _ in 0..count {
            self.record(
                event.place,
                &PARTICLE,
                &mut values,
                "is not that of a particle",
            )?;
            event.particles.push(Particle::from_numbers(&values));
        }
        event.numbers.end = self.text.at - begin;
        Ok(())
    }

    /// Reads the numbers of one line.
    fn record(
        &mut self,
        place: EventLocation,
        columns: &[(&str, Columns)],
        values: &mut [Number],
        wrong: &str,
    ) -> Result<()> {
        self.text.gap()?;
        let begin = self.text.at;
        for (&(name, kind), value) in columns.iter().zip(values) {
            self.text.gap_in_line()?;
            let Some(word) = self.text.word()? else {
                if self.text.peek()?.is_none() {
                    return Err(self.cut_off(place));
                }
                let why = format!("it has no {name}; {} numbers are expected", columns.len());
                return Err(self.no_record(place, begin, wrong, &why));
            };
            let text = String::from_utf8_lossy(self.text.slice(word));
            match kind.read(&text) {
                Some(number) => *value = number,
                None => {
                    let why = format!("{name} is `{}`, {}", shown(&text), kind.wanted());
                    return Err(self.no_record(place, begin, wrong, &why));
                }
            }
        }
        Ok(())
    }

    fn no_record(&mut self, place: EventLocation, begin: usize, wrong: &str, why: &str) -> Error {
        let end = self.text.find_end_of_line();
        if let Err(error) = end {
            return error;
        }
        let (line, text) = (self.text.line_of(begin), self.text.line_shown(begin));
        self.error(format!("{place}: line {line} {wrong}: `{text}` ({why})"))
    }

    fn cut_off(&self, place: EventLocation) -> Error {
        self.error(format!(
            "the file ends within {place}; it was cut off, copy or make it again"
        ))
    }

    /// Reads the part after the particles, up to the end of the event.
    fn read_rest(&mut self, event: &mut Event, begin: usize) -> Result<()> {
        event.written.clear();
        event.list_end = None;
        // Open elements.
        let mut open: Vec<Tag> = Vec::new();
        let mut id = None;
        loop {
            match open.is_empty() {
                true => self.text.gap()?,
                false => while self.text.find_tag()? && self.text.pass_markup()? {},
            }
            let at = self.text.at;
            match self.text.peek()? {
                None => return Err(self.cut_off(event.place)),
                Some(b'<') => {}
                Some(_) => {
                    let (line, text) = (self.text.line_of(at), self.text.shown(at));
                    return Err(self.error(format!(
                        "{}: line {line} has `{text}` after the numbers of its {} particles, where comments (#) and \
                         elements may be",
                        event.place,
                        event.particles.len()
                    )));
                }
            }
            let Some(tag) = self.text.tag()? else {
                if open.is_empty() {
                    return Err(self.text.error(format!(
                        "{}: line {} has a `<` that is no tag",
                        event.place,
                        self.text.line_of(at)
                    )));
                }
                continue;
            };
            if open.len() > MAX_OPEN_ELEMENTS {
                return Err(self.error(format!(
                    "{} has more than {MAX_OPEN_ELEMENTS} elements without an end; make the file again",
                    event.place
                )));
            }
            let relative = |range: Range<usize>| range.start - begin..range.end - begin;
            match tag.name.as_str() {
                "event" | "eventgroup" | "/eventgroup" | "/leshouchesevents" => {
                    let line = self.text.line_of(at);
                    return Err(self.error(format!(
                        "{} has no </event> until line {line}; make the file again",
                        event.place
                    )));
                }
                "/event" if !open.iter().any(Tag::is_of_weights) => {
                    event.end = at - begin;
                    return Ok(());
                }
                name if name.starts_with('/') => {
                    // Elements of other programs may lack an end tag.
                    let begun = open.iter().rposition(|first| first.name == name[1..]);
                    let begun = begun.filter(|&i| !open[i + 1..].iter().any(Tag::is_of_weights));
                    let Some(begun) = begun else {
                        return Err(self.unmatched(event.place, &tag, open.last()));
                    };
                    let first = open.swap_remove(begun);
                    open.truncate(begun);
                    let contents = relative(first.end..at);
                    match first.name.as_str() {
                        "wgt" => event.written.push(WeightsInText::One {
                            id: id.take(),
                            value: contents,
                        }),
                        "weights" => event.written.push(WeightsInText::List(contents)),
                        "rwgt" => event.list_end = event.list_end.or(Some(contents.end)),
                        _ => {}
                    }
                }
                "wgt" => {
                    let of = self.text.attribute(&tag, "id").map(relative);
                    if tag.empty {
                        let value = relative(tag.end..tag.end);
                        event.written.push(WeightsInText::One { id: of, value });
                    } else {
                        id = of;
                        open.push(tag);
                    }
                }
                _ if tag.empty => {}
                _ => open.push(tag),
            }
        }
    }

    fn unmatched(&self, place: EventLocation, tag: &Tag, open: Option<&Tag>) -> Error {
        let line = self.text.line_of(tag.begin);
        let open = open.map_or("no element is open".to_owned(), |open| {
            format!(
                "<{}> of line {} is open",
                open.name,
                self.text.line_of(open.begin)
            )
        });
        self.error(format!(
            "{place}: line {line} has <{}>, but {open}; make the file again",
            tag.name
        ))
    }

    fn pass_space(&mut self) -> Result<()> {
        while self
            .text
            .peek()?
            .is_some_and(|byte| byte.is_ascii_whitespace())
        {
            self.text.at += 1;
        }
        Ok(())
    }
}

/// Records the range of the list of weights.
fn note(tag: &Tag, begin: usize, head: &mut Head) {
    let at = tag.begin - begin;
    match (tag.name.as_str(), &mut head.weights) {
        ("initrwgt", weights @ None) if !tag.empty => *weights = Some(at..at),
        ("/initrwgt", Some(weights)) if weights.start == weights.end => weights.end = at,
        _ => {}
    }
}

/// Parses the contents of `<init>`.
fn init(contents: &[u8]) -> Option<Init> {
    let text = String::from_utf8_lossy(contents);
    let mut pieces = text.split("<!--");
    let mut plain = pieces.next()?.to_owned();
    plain.extend(
        pieces
            .filter_map(|piece| piece.split_once("-->"))
            .map(|(_, rest)| rest),
    );
    let lines = plain
        .split(['\n', '\r'])
        .map(|line| line.split('#').next().unwrap_or_default());
    let lines = lines.map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let mut lines = lines.filter(|line| !line.is_empty());
    let first = lines.next()?;
    let &[
        a,
        b,
        energy_a,
        energy_b,
        _,
        _,
        density_a,
        density_b,
        strategy,
        count,
    ] = first.as_slice()
    else {
        return None;
    };
    let mut processes = Vec::new();
    let count = usize::try_from(integer(count)?).ok()?;
    for _ in 0..count {
        let Some(line) = lines.next() else {
            // GiBUU lists no processes.
            break;
        };
        let &[cross_section, error, largest, process] = line.as_slice() else {
            return None;
        };
        let numbers = [real(cross_section)?, real(error)?, real(largest)?];
        processes.push((integer(process)?, numbers));
    }
    if !processes.is_empty() && processes.len() != count {
        return None;
    }
    Some(Init {
        beams: [integer(a)?, integer(b)?],
        energies: [real(energy_a)?, real(energy_b)?],
        densities: [integer(density_a)?, integer(density_b)?],
        strategy: integer(strategy)?,
        processes,
    })
}

/// Returns the offset of `what` in `bytes`.
pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
