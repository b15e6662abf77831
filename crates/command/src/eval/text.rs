//! Reads events from text: one line per event, or one line per leg and an empty line between events.

use super::chunk::Chunk;
use super::lines::{LineReader, MAX_LINE_BYTES, number};
use mebridge::Result;
use mebridge::lhe::{EventLocation, shown};

/// Events as text.
pub struct TextEvents {
    lines: LineReader,
    legs: usize,
    events: u64,
    /// Whether the last event had several lines, so that an empty line must follow.
    gap_due: bool,
    /// Numbers of a line.
    numbers: Vec<f64>,
}

/// Contents of a line.
enum LineContent {
    End,
    Empty,
    Comment,
    Numbers(u64),
}

impl TextEvents {
    /// Reads events with this number of legs.
    pub fn new(lines: LineReader, legs: usize) -> TextEvents {
        TextEvents {
            lines,
            legs,
            events: 0,
            gap_due: false,
            numbers: Vec::new(),
        }
    }

    /// Adds the next event; returns false at the end.
    pub fn next(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let whole = 4 * self.legs;
        // For an event of several lines: its first line, and the number of lines read.
        let (mut begun, mut present) = (0, 0);
        loop {
            let line = match self.line()? {
                LineContent::Comment => continue,
                LineContent::Empty if present == 0 => {
                    self.gap_due = false;
                    continue;
                }
                LineContent::End if present == 0 => return Ok(false),
                LineContent::Empty | LineContent::End => {
                    let event = self.events + 1;
                    return Err(self.lines.error(format!(
                        "event {event} (line {begun}) has {present} line(s) with a momentum; the \
                         process has {} legs, each needs one",
                        self.legs
                    )));
                }
                LineContent::Numbers(line) => line,
            };
            let count = self.numbers.len();
            let first = present == 0;
            if self.gap_due && count == 4 {
                return Err(self.lines.error(format!(
                    "line {line}: event {} is complete, the process has {} legs; an empty line has \
                     to be between events",
                    self.events, self.legs
                )));
            }
            if first && count == whole {
                begun = line;
            } else if count == 4 {
                begun = if first { line } else { begun };
                present += 1;
            } else {
                return Err(self.lines.error(format!(
                    "line {line} has {count} numbers; an event is a line of {whole} (E px py pz of \
                     each of {} legs), or {} lines of 4",
                    self.legs, self.legs
                )));
            }
            chunk.momenta.extend_from_slice(&self.numbers);
            if count == whole || present == self.legs {
                self.gap_due = count != whole;
                self.events += 1;
                self.lines.event_ends();
                chunk.add(EventLocation {
                    event: self.events,
                    line: begun,
                });
                return Ok(true);
            }
        }
    }

    /// Reads the numbers of the next line.
    fn line(&mut self) -> Result<LineContent> {
        self.numbers.clear();
        let Some(line) = self.lines.next()? else {
            return Ok(LineContent::End);
        };
        let at = line.number;
        let text = line.text.split('#').next().unwrap_or("");
        let words = text.split(|c: char| c.is_whitespace() || c == ',');
        let mut wrong = line
            .cut
            .then(|| format!("it is longer than {MAX_LINE_BYTES} bytes"));
        for word in words.filter(|word| !word.is_empty()) {
            match number(word) {
                Some(x) => self.numbers.push(x),
                None => {
                    wrong = Some(format!("`{}` is no finite number", shown(word)));
                    break;
                }
            }
        }
        let comment = line.text.contains('#');
        if let Some(what) = wrong {
            return Err(self.lines.error(format!("line {at}: {what}")));
        }
        Ok(match (self.numbers.is_empty(), comment) {
            (false, _) => LineContent::Numbers(at),
            (true, true) => LineContent::Comment,
            (true, false) => LineContent::Empty,
        })
    }
}
