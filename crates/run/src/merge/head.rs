//! The text before the events of merged files: that of the first file, with numbers for all files.

use super::input_file::InputFile;
use crate::run_card;
use crate::summary::Measured;
use crate::text::{repr, scientific};
use mebridge::Result;
use serde_json::{Map, Value, json};

/// Digits of numbers in `<init>`.
const DIGITS: usize = 10;

/// Writes the text; `rows` are LPRUP, cross section with error, and largest weight of each process.
///
/// # Errors
/// The header or `<init>` of the first file cannot be changed.
pub fn text(files: &[&InputFile], rows: &[(i32, Measured, f64)]) -> Result<Vec<u8>> {
    let first = files[0];
    let whole = String::from_utf8_lossy(&first.head);
    let events: u64 = files.iter().map(|file| file.events).sum();
    let cross_section: f64 = rows.iter().map(|(_, (mean, _), _)| mean).sum();
    let begin = whole.find("<init>").or_else(|| whole.find("<init "));
    let Some((header, init)) = begin.map(|at| whole.split_at(at)) else {
        return Err(first.refusal("its <init> cannot be changed", ""));
    };
    let header = within(header, "MGRunCard", |card| {
        let entries = [("nevents".to_owned(), events.to_string())];
        run_card::with_entries(card, &entries)
    });
    let header = within(&header, "MGGenerationInfo", |_| {
        format!(
            "\n#  Number of Events        :       {events}\n#  Integrated weight (pb)  :       {}\n",
            repr(cross_section)
        )
    });
    let header = with_own(&header, files, events);
    let init =
        with_rows(init, rows).ok_or_else(|| first.refusal("its <init> cannot be changed", ""))?;
    Ok((header + &init).into_bytes())
}

/// Replaces the contents of the first element with this name.
fn within(text: &str, name: &str, change: impl FnOnce(&str) -> String) -> String {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let found = text.find(&open).and_then(|at| {
        let begin = at + open.len();
        Some((begin, begin + text[begin..].find(&close)?))
    });
    match found {
        None => text.to_owned(),
        Some((begin, end)) => [&text[..begin], &change(&text[begin..end]), &text[end..]].concat(),
    }
}

/// Records the merged files in the block `<mebridge>`.
fn with_own(header: &str, files: &[&InputFile], events: u64) -> String {
    let rows = |file: &&InputFile| {
        if !file.merged.is_empty() {
            return file.merged.clone();
        }
        let cross_section: f64 = file.init.processes.iter().map(|(_, [mean, ..])| mean).sum();
        vec![json!({
            "file": file.path.file_name().unwrap_or_default().to_string_lossy(),
            "process": file.process(),
            "events": file.events,
            "seed": file.seeds.first().map(|(_, seed)| seed),
            "cross_section": cross_section,
        })]
    };
    let merged: Vec<Value> = files.iter().flat_map(rows).collect();
    let written = |mut own: Map<String, Value>| {
        own.remove("overweights");
        own.remove("seed");
        if files.iter().any(|file| file.pack != files[0].pack) {
            own.remove("pack");
        }
        if let Some(bias) = own.get_mut("bias") {
            // Its numbers are those of one file.
            *bias = json!({});
        }
        own.insert("events".to_owned(), json!(events));
        own.insert("merged".to_owned(), Value::Array(merged.clone()));
        let text = serde_json::to_string_pretty(&own).expect("texts and numbers");
        format!("\n{}\n", text.replace('&', "&amp;").replace('<', "&lt;"))
    };
    if header.contains("<mebridge>") && header.contains("</mebridge>") {
        return within(header, "mebridge", |own| {
            let own = own.replace("&lt;", "<").replace("&amp;", "&");
            written(serde_json::from_str(&own).unwrap_or_default())
        });
    }
    let own = format!("<mebridge>{}</mebridge>\n", written(Map::new()));
    match header.rfind("</header>") {
        Some(at) => [&header[..at], &own, &header[at..]].concat(),
        None => format!("{header}<header>\n{own}</header>\n"),
    }
}

/// Replaces the processes of `<init>`; other elements stay.
fn with_rows(init: &str, rows: &[(i32, Measured, f64)]) -> Option<String> {
    let (tag, contents) = init.split_once('>')?;
    let (contents, after) = contents.rsplit_once("</init>")?;
    let is_numbers = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with(['#', '<'])
    };
    let first = contents.lines().find(is_numbers)?;
    let mut words: Vec<String> = first
        .split_whitespace()
        .take(9)
        .map(str::to_owned)
        .collect();
    words.push(rows.len().to_string());
    let mut lines = vec![format!("{tag}>"), words.join(" ")];
    for (number, (mean, error), weight) in rows {
        let numbers = [*mean, *error, *weight].map(|value| scientific(value, DIGITS));
        lines.push(format!("{} {number}", numbers.join(" ")));
    }
    let rest = contents
        .lines()
        .filter(|line| line.trim_start().starts_with('<'));
    lines.extend(rest.map(str::to_owned));
    let after = after.trim_end();
    Some(format!("{}\n</init>{after}\n", lines.join("\n")))
}
