//! Pages for a browser: a single file that is valid HTML and XML, and needs neither a network nor JavaScript.

use std::fmt::Display;

/// Colours of curves on light and dark paper, which colour-blind readers can distinguish, too (choices of P.
/// Green-Armytage and M. Okabe, adapted to either paper).
const CURVES: [[&str; 2]; 6] = [
    ["#0b5fa5", "#6cb6ff"],
    ["#c2410c", "#ffa657"],
    ["#15803d", "#7ee787"],
    ["#7e22ce", "#d2a8ff"],
    ["#8a6d00", "#e3c341"],
    ["#be185d", "#ff9bce"],
];
/// Dashes of curves: when all colours are used up they are repeated with the next pattern.
const DASHES: [&str; 3] = ["none", "6 3", "2 2"];

/// The style sheet of all pages.
const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1c1f23; --paper: #ffffff; --soft: #6a737d; --line: #d0d7de; --stripe: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #8b949e; --line: #30363d; --stripe: #161b22; } }
body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1rem; }
code, td.text { font-family: ui-monospace, monospace; font-size: 0.92em; } code { overflow-wrap: anywhere; } td.text { white-space: nowrap; }
table { border-collapse: collapse; margin: 0.8rem 0; font-variant-numeric: tabular-nums; } th, td { padding: 0.15rem 0.7rem; text-align: right; }
th { font-weight: 600; } th.text, td.text { text-align: left; } tr:nth-child(even) { background: var(--stripe); }
.wide { overflow-x: auto; } .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0.5rem 1.5rem; }
figure { margin: 0; } svg.chart { width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
pre { overflow-x: auto; } summary { cursor: pointer; color: var(--soft); } .note { color: var(--soft); }
.legend { list-style: none; padding: 0; } .legend svg { vertical-align: middle; margin-right: 0.5rem; }
.frame { fill: none; stroke: var(--soft); } .grid { stroke: var(--line); } .curve, .error { fill: none; stroke-width: 1.5; } .error { stroke-width: 1; } .band { stroke: none; opacity: 0.25; }
";

/// Escapes a text for HTML and XML. Characters that XML forbids become U+FFFD.
pub fn escaped(text: impl Display) -> String {
    let mut found = String::new();
    for c in text.to_string().chars() {
        match c {
            '&' => found.push_str("&amp;"),
            '<' => found.push_str("&lt;"),
            '>' => found.push_str("&gt;"),
            '"' => found.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => found.push('\u{fffd}'),
            '\t' | '\n' | '\r' => found.push(c),
            c if c.is_control() => found.push('\u{fffd}'),
            c => found.push(c),
        }
    }
    found
}

/// Returns a page with this title; `body` is HTML.
pub fn document(title: &str, body: &str) -> String {
    let title = escaped(title);
    let colors = |paper: usize| -> String {
        let of = CURVES.iter().enumerate();
        of.map(|(number, colors)| format!(" --c{number}: {};", colors[paper]))
            .collect()
    };
    let [light, dark] = [0, 1].map(colors);
    let curves: String = (0..CURVES.len())
        .map(|number| {
            format!(
                ".c{number} {{ stroke: var(--c{number}); }} .band.c{number} {{ fill: var(--c{number}); }}\n"
            )
        })
        .collect();
    let dashes: String = (DASHES.iter().enumerate())
        .map(|(number, dash)| format!(".d{number} {{ stroke-dasharray: {dash}; }}\n"))
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}</title>\n<style>\n{STYLE}\
         :root {{{light} }}\n@media (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n{curves}{dashes}</style>\n</head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

/// Returns the CSS classes for the colour and dashes of the curve with this number.
pub fn curve_classes(number: usize) -> String {
    let (color, dash) = (number % CURVES.len(), number / CURVES.len() % DASHES.len());
    format!("c{color} d{dash}")
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Left-aligned text.
    Text(String),
    /// A right-aligned number.
    Number(String),
}

/// Returns a table, or an empty string if it has no rows. Escapes titles and cells.
pub fn table(titles: &[&str], rows: &[Vec<Cell>]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let row = |cells: &[Cell], tag: &str| {
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => format!("<{tag} class=\"text\">{}</{tag}>", escaped(text)),
            Cell::Number(text) => format!("<{tag}>{}</{tag}>", escaped(text)),
        };
        let cells: String = cells.iter().map(cell).collect();
        format!("<tr>{cells}</tr>\n")
    };
    // Titles are aligned as the cells below them.
    let title = |(title, cell): (&&str, &Cell)| match cell {
        Cell::Text(_) => Cell::Text((*title).to_owned()),
        Cell::Number(_) => Cell::Number((*title).to_owned()),
    };
    let titles: Vec<Cell> = titles.iter().zip(first).map(title).collect();
    let rows: String = rows.iter().map(|cells| row(cells, "td")).collect();
    format!(
        "<div class=\"wide\"><table>\n<thead>\n{}</thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
        row(&titles, "th")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let escapes = "a &lt;b&gt; &amp;amp; &quot;c&quot; \u{fffd}\n";
        assert_eq!(escaped("a <b> &amp; \"c\" \u{1b}\n"), escapes);
        let table = table(
            &["<"],
            &[vec![Cell::Text("<".into()), Cell::Number("&".into())]],
        );
        assert!(table.contains("<th class=\"text\">&lt;</th>"), "{table}");
        assert!(
            table.contains("<td class=\"text\">&lt;</td><td>&amp;</td>"),
            "{table}"
        );
        assert!(document("<title>", "").contains("<title>&lt;title&gt;</title>"));
    }

    #[test]
    fn curves_differ() {
        let count = CURVES.len() * DASHES.len();
        let all: mebridge_support::sorted::SortedSet<String> =
            (0..count).map(curve_classes).collect();
        assert_eq!(all.len(), count);
    }
}
