//! Names of weights in event files: by content, or by numbers as in MG5aMC's `systematics`.

use super::{Systematics, Variation, wrong};
use crate::text::{general, quoted, repr, scientific, significant};
use mebridge::Result;
use serde::{Deserialize, Serialize};
use std::str::Chars;

/// Names that `systematics` gives to dynamical scales, from `dynamical_scale_choice` 1 on.
const SCALES: [&str; 4] = ["sum pt", "HT", "HT/2", "sqrts"];
/// Default number of digits after the point in a format.
const DIGITS: usize = 6;
/// Largest width of a field of a format.
const WIDEST: usize = 200;

/// How weights are named in files.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub enum Naming {
    /// By content (arXiv:2203.08230).
    #[default]
    Names,
    /// By consecutive numbers, in the order of the weights.
    Numbers {
        /// Number of the first weight.
        first: i64,
        /// Format that replaces the number (`weight_format`).
        id: Option<WeightFormat>,
        /// Format that replaces the text of `systematics` about a weight (`weight_info`).
        about: Option<WeightFormat>,
    },
}

/// A Python format (`%(mur)s`) with the fields `mur`, `muf`, `alps`, `dyn`, `pdf` and `id` of a weight, and `s` for a
/// space and `n` for a line break.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct WeightFormat(Vec<FormatPiece>);

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
enum FormatPiece {
    Text(String),
    FormatField(FormatField),
}

/// A field such as `%(name)-08.3f`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct FormatField {
    name: String,
    left: bool,
    zeros: bool,
    width: usize,
    digits: Option<usize>,
    conversion: char,
}

impl WeightFormat {
    /// Parses a format; `argument` is the name of its argument in messages.
    ///
    /// # Errors
    /// Python would reject the format, or it has a feature that is not supported here.
    pub fn read(argument: &str, text: &str) -> Result<Self> {
        let refused = || {
            wrong(&format!(
                "has --{argument} with {}, whose fields are not like %(mur)s, %(pdf)i or %(muf).1f, of mur, muf, alps, dyn, \
                 pdf and id",
                quoted(text)
            ))
        };
        if text.contains(['<', '>', '&', '"', '\'']) {
            let what = format!(
                "has --{argument} with {}, which would end an element of a file",
                quoted(text)
            );
            return Err(wrong(&what));
        }
        let (mut pieces, mut plain) = (Vec::new(), String::new());
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                plain.push(c);
                continue;
            }
            if rest.as_str().starts_with('%') {
                rest.next();
                plain.push('%');
                continue;
            }
            let field = FormatField::read(&mut rest).ok_or_else(refused)?;
            match field.name.as_str() {
                "s" => plain.push(' '),
                "n" => plain.push('\n'),
                _ => {
                    pieces.push(FormatPiece::Text(std::mem::take(&mut plain)));
                    pieces.push(FormatPiece::FormatField(field));
                }
            }
        }
        pieces.push(FormatPiece::Text(plain));
        Ok(WeightFormat(pieces))
    }

    /// Formats a weight with this number.
    fn write(&self, of: &Variation, id: i64) -> String {
        let piece = |piece: &FormatPiece| match piece {
            FormatPiece::Text(text) => text.clone(),
            FormatPiece::FormatField(field) => field.write(of, id),
        };
        self.0.iter().map(piece).collect()
    }
}

impl FormatField {
    /// Parses a field after its `%`.
    fn read(rest: &mut Chars) -> Option<FormatField> {
        let (name, after) = rest.as_str().strip_prefix('(')?.split_once(')')?;
        if !["mur", "muf", "alps", "dyn", "pdf", "id", "s", "n"].contains(&name) {
            return None;
        }
        let mut field = FormatField {
            name: name.to_owned(),
            ..FormatField::default()
        };
        let flags = after.trim_start_matches(['-', '0']);
        field.left = after[..after.len() - flags.len()].contains('-');
        field.zeros = after[..after.len() - flags.len()].contains('0') && !field.left;
        let number = |text: &str| -> Option<usize> {
            let number = if text.is_empty() {
                0
            } else {
                text.parse().ok()?
            };
            (number <= WIDEST).then_some(number)
        };
        let after = flags.trim_start_matches(|c: char| c.is_ascii_digit());
        field.width = number(&flags[..flags.len() - after.len()])?;
        let mut tail = after;
        if let Some(digits) = after.strip_prefix('.') {
            tail = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            field.digits = Some(number(&digits[..digits.len() - tail.len()])?);
        }
        *rest = tail.chars();
        field.conversion = rest.next().filter(|c| "sdifeg".contains(*c))?;
        Some(field)
    }

    fn write(&self, of: &Variation, id: i64) -> String {
        let (number, whole) = match self.name.as_str() {
            "mur" => (of.mur, false),
            "muf" => (of.muf, false),
            "alps" => (of.emissions, false),
            "dyn" => (of.choice().unwrap_or(-1) as f64, true),
            "id" => (id as f64, true),
            // A set without a number is named by its file.
            _ => match of.lhapdf.parse() {
                Ok(number) => (number, true),
                Err(_) => return self.padded(&of.lhapdf),
            },
        };
        let digits = self.digits.unwrap_or(DIGITS);
        self.padded(&match self.conversion {
            's' if !whole => repr(number),
            's' | 'd' | 'i' => format!("{:.0}", number.trunc()),
            'f' => format!("{number:.digits$}"),
            'e' => scientific(number, digits),
            _ => significant(number, digits.max(1)),
        })
    }

    fn padded(&self, text: &str) -> String {
        let width = self.width;
        match (self.left, self.zeros) {
            (true, _) => format!("{text:<width$}"),
            (_, false) => format!("{text:>width$}"),
            (_, true) => {
                let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
                let width = width.saturating_sub(sign.len());
                format!("{sign}{digits:0>width$}")
            }
        }
    }
}

impl Variation {
    /// The name by content.
    pub fn name(&self) -> String {
        let [mur, muf] = [self.mur, self.muf].map(general);
        let mut found = format!("MUR={mur}__MUF={muf}");
        if self.emissions != 1.0 {
            found += &format!("__ALPSFACT={}", general(self.emissions));
        }
        if let Some(choice) = self.choice() {
            found += &format!("__DYN={choice}");
        }
        if !self.lhapdf.is_empty() {
            found += &format!("__LHAPDF={}", self.lhapdf);
        }
        found
    }

    /// Attributes of the weight's element in an LHE file.
    fn attributes(&self) -> String {
        let [mur, muf] = [self.mur, self.muf].map(repr);
        let mut found = vec![format!("MUR=\"{mur}\""), format!("MUF=\"{muf}\"")];
        if self.emissions != 1.0 {
            found.push(format!("ALPSFACT=\"{}\"", repr(self.emissions)));
        }
        if let Some(choice) = self.choice() {
            found.push(format!("DYN_SCALE=\"{choice}\""));
        }
        if !self.lhapdf.is_empty() {
            found.push(format!("PDF=\"{}\"", self.lhapdf));
        }
        found.join(" ")
    }
}

impl Systematics {
    /// The names of the weights in files, in order.
    pub fn ids(&self) -> Vec<String> {
        let variations = self.variations();
        match &self.naming {
            Naming::Names => variations.map(Variation::name).collect(),
            Naming::Numbers { first, id, .. } => (*first..)
                .zip(variations)
                .map(|(number, one)| match id {
                    None => number.to_string(),
                    Some(format) => format.write(one, number),
                })
                .collect(),
        }
    }

    /// The text about a weight with this number, as in `systematics`: the values that differ from those of the event.
    /// CMS's NanoAOD uses it to find the members of a set.
    fn about(&self, of: &Variation, number: i64) -> String {
        let format = match &self.naming {
            Naming::Names => return of.name(),
            Naming::Numbers { about, .. } => about,
        };
        if let Some(format) = format {
            return format.write(of, number);
        }
        let mut found = Vec::new();
        for (name, factor) in [("MUR", of.mur), ("MUF", of.muf), ("alpsfact", of.emissions)] {
            if factor != 1.0 {
                found.push(format!("{name}={}", repr(factor)));
            }
        }
        let scale = of
            .choice()
            .and_then(|choice| SCALES.get(choice as usize - 1));
        found.extend(scale.map(|scale| format!("dyn_scale_choice={scale}")));
        if let Some(member) = of.member.map(|place| &self.members[place]) {
            found.push(format!("PDF={} MemberID={}", member.set, member.number));
        }
        found.join(" ")
    }

    /// The `<initrwgt>` block of an LHE file, which describes its weights.
    pub fn header(&self) -> String {
        let mut text = String::from("<initrwgt>\n");
        let first = match &self.naming {
            Naming::Names => 1,
            Naming::Numbers { first, .. } => *first,
        };
        let mut ids = (first..).zip(self.ids());
        for group in &self.groups {
            // Members of sets that are not complete are in no group.
            let grouped = !group.name.is_empty();
            if grouped {
                let (name, combined) = (&group.name, &group.combined);
                let about = match group.about.as_str() {
                    "" => String::new(),
                    about => format!(" # {}", about.replace('&', "&amp;")),
                };
                text += &format!("<weightgroup name=\"{name}\" combine=\"{combined}\">{about}\n");
            }
            for one in &group.variations {
                let (number, id) = ids.next().expect("a name for each weight");
                let (attributes, about) = (one.attributes(), self.about(one, number));
                text += &format!("<weight id=\"{id}\" {attributes}> {about} </weight>\n");
            }
            if grouped {
                text += "</weightgroup>\n";
            }
        }
        text + "</initrwgt>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected texts are from Python's `%`.
    #[test]
    fn formats_are_those_of_python() {
        let mut of = Variation::new(0.5, 2.0, "325300");
        let written = |text: &str, of: &Variation| {
            WeightFormat::read("weight_info", text).map(|format| format.write(of, 1007))
        };
        for (text, wanted) in [
            (
                "MUR%(mur).1f_MUF%(muf).1f_PDF%(pdf)i",
                "MUR0.5_MUF2.0_PDF325300",
            ),
            (
                "%(mur)s %(muf)d %(dyn)i %(alps)g %(id)s%%",
                "0.5 2 -1 1 1007%",
            ),
            ("%(id)08.2f|%(id)-6d|%(id)6i|", "01007.00|1007  |  1007|"),
            ("%(dyn)04d%(s)s%(mur)e%(n)s", "-001 5.000000e-01\n"),
            ("plain", "plain"),
        ] {
            assert_eq!(written(text, &of).unwrap(), wanted);
        }
        of.lhapdf = "mine_0000".to_owned();
        assert_eq!(written("%(pdf)i", &of).unwrap(), "mine_0000");
        for text in [
            "%s",
            "%(mur)",
            "%(other)s",
            "%(mur)x",
            "%",
            "%(mur)99999f",
            "<%(mur)s>",
        ] {
            let error = written(text, &of).unwrap_err().to_string();
            assert!(error.contains("weight_info with"), "{error}");
        }
    }
}
