//! Additional weights of events: `<wgt>`, with or without names, and `<weights>`.

use crate::event::Event;
use crate::word::{real, shown};
use crate::written::{WeightsInText, name};
use std::collections::HashMap;
use std::ops::Range;

/// The names of weights in the order of their appearance.
#[derive(Default)]
pub struct Names {
    all: Vec<String>,
    by_name: HashMap<String, usize>,
    /// The same by the raw text of the file, for speed.
    by_text: HashMap<Vec<u8>, usize>,
    /// For each name the last event that has it.
    seen: Vec<u64>,
    /// Number of entries of `<weights>`.
    listed: Option<usize>,
}

/// An offset in the event's text, and what is wrong there.
type Wrong = (usize, String);

impl Names {
    pub fn all(&self) -> &[String] {
        &self.all
    }

    /// Writes the weights of an event to `row`; `listed` are those listed in the head of its file. Weights without a
    /// name are named by their number, from 1.
    pub fn read(
        &mut self,
        event: &Event,
        listed: &[String],
        row: &mut Vec<f64>,
    ) -> Result<(), Wrong> {
        row.clear();
        row.resize(self.all.len(), f64::NAN);
        let mut unnamed = Vec::new();
        let mut in_list = Vec::new();
        for written in &event.written {
            let of = |range: &Range<usize>| &event.text[range.clone()];
            match written {
                WeightsInText::One {
                    id: Some(id),
                    value,
                } => {
                    let text = of(id);
                    let index = match self.by_text.get(text) {
                        Some(&index) => index,
                        None => {
                            let index = self.index(name(text));
                            self.by_text.insert(text.to_vec(), index);
                            index
                        }
                    };
                    self.put(event, row, index, value.start, of(value).trim_ascii())?;
                }
                WeightsInText::One { id: None, value } => {
                    unnamed.push((value.start, of(value).trim_ascii()))
                }
                WeightsInText::List(range) => {
                    let words = of(range)
                        .split(u8::is_ascii_whitespace)
                        .filter(|word| !word.is_empty());
                    in_list.extend(words.map(|word| (range.start, word)));
                }
            }
        }
        if let Some(&(place, _)) = in_list.first() {
            let names = self.names_of_list(event, listed, in_list.len());
            let names = names.map_err(|what| (place, what))?;
            for (name, (place, word)) in names.into_iter().zip(in_list) {
                let index = self.index(name);
                self.put(event, row, index, place, word)?;
            }
        }
        for (number, (place, word)) in (1..).zip(unnamed) {
            let index = self.index(format!("{number}"));
            self.put(event, row, index, place, word)?;
        }
        Ok(())
    }

    /// Returns the names of the `count` numbers in `<weights>`: the listed weights without a `<wgt>`, in order.
    fn names_of_list(
        &mut self,
        event: &Event,
        listed: &[String],
        count: usize,
    ) -> Result<Vec<String>, String> {
        let before = *self.listed.get_or_insert(count);
        if before != count {
            return Err(format!(
                "<weights> has {count} numbers, and {before} in an event before: it is not known which is which"
            ));
        }
        let seen = |name: &String| {
            self.by_name
                .get(name)
                .is_some_and(|&i| self.seen[i] == event.place.event)
        };
        let names: Vec<String> = listed.iter().filter(|name| !seen(name)).cloned().collect();
        if names.len() == count {
            return Ok(names);
        }
        match names.is_empty() {
            true => Ok((1..=count).map(|number| number.to_string()).collect()),
            false => Err(format!(
                "<weights> has {count} numbers, and <initrwgt> lists {} weights for them: it is not known which is which",
                names.len()
            )),
        }
    }

    fn index(&mut self, name: String) -> usize {
        *self.by_name.entry(name).or_insert_with_key(|name| {
            self.all.push(name.clone());
            self.seen.push(0);
            self.all.len() - 1
        })
    }

    fn put(
        &mut self,
        event: &Event,
        row: &mut Vec<f64>,
        index: usize,
        place: usize,
        word: &[u8],
    ) -> Result<(), Wrong> {
        let name = &self.all[index];
        let text = String::from_utf8_lossy(word);
        let Some(value) = real(&text) else {
            return Err((
                place,
                format!("the weight '{name}' is `{}`, no number", shown(&text)),
            ));
        };
        if self.seen[index] == event.place.event && row[index].to_bits() != value.to_bits() {
            return Err((
                place,
                format!(
                    "the weight '{name}' is there twice, as {} and {value}",
                    row[index]
                ),
            ));
        }
        self.seen[index] = event.place.event;
        row.resize(self.all.len(), f64::NAN);
        row[index] = value;
        Ok(())
    }
}
