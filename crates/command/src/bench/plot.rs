//! The figures: throughput against nevt and against threads, and bars by SIMD level.
//!
//! A figure has a panel for each process, door and number of threads, and where that would put too many lines into one
//! also for each precision. What tells the lines of a panel apart (SIMD level, precision, program) is shown by colour,
//! dashes and markers, in this order and for what varies at all; in bars the level is the place, the rest the colour.
//!
//! | file | what it knows |
//! |---|---|
//! | `plot.rs` | which points go where |
//! | `figure.rs` | how a figure looks |
//! | `axis.rs` | ticks and their labels |
//! | `histogram.rs` | how often which difference occurs, of `mebridge compare` |
//! | `bitmap.rs` | text and smooth edges in PNG |

mod axis;
mod bitmap;
mod figure;
mod histogram;

use super::record::{Point, Record};
use super::with_ending;
use crate::output;
use axis::Axis;
use figure::{Bar, Contents, Curve, Figure, Legend, LineStyle, Panel, Spot};
pub use histogram::differences;
use mebridge::Result;
use std::path::{Path, PathBuf};

/// Draws all figures that these results have points for, and says which files were written.
pub fn draw(records: &[Record], prefix: &Path) -> Result<Vec<PathBuf>> {
    let data = Data::new(records);
    let figures = [
        ("-nevt", data.against(&NEVT)),
        ("-simd", data.bars()),
        ("-threads", data.against(&THREADS)),
    ];
    let mut written = Vec::new();
    for (name, figure) in figures {
        let Some(figure) = figure else { continue };
        for (ending, contents) in [
            (".svg", figure::svg(&figure)?.into_bytes()),
            (".png", bitmap::png(&figure)?),
        ] {
            let path = with_ending(prefix, &format!("{name}{ending}"));
            output::write(&path, &contents)?;
            written.push(path);
        }
    }
    Ok(written)
}

/// Most lines of a panel that also holds several precisions.
const MOST_CURVES: usize = 8;

/// What lines are told apart by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Distinction {
    Level,
    Precision,
    Program,
}

/// A point with what it is told apart by, as indices into the lists of [`Data`].
struct Entry<'a> {
    point: &'a Point,
    level: usize,
    precision: usize,
    program: usize,
}

impl Entry<'_> {
    fn of(&self, kind: Distinction) -> usize {
        match kind {
            Distinction::Level => self.level,
            Distinction::Precision => self.precision,
            Distinction::Program => self.program,
        }
    }

    fn series(&self) -> (usize, usize, usize) {
        (self.program, self.precision, self.level)
    }
}

/// All points.
struct Data<'a> {
    entries: Vec<Entry<'a>>,
    levels: Vec<String>,
    precisions: Vec<String>,
    programs: Vec<String>,
    notes: Vec<String>,
}

/// What is on the x axis of a figure of lines.
struct Abscissa {
    description: &'static str,
    value: fn(&Point) -> u64,
    /// Points that have another value of this are in another panel; of the figure against threads
    /// only those with most events are taken.
    panel_by_threads: bool,
    axis: fn(f64, f64, &[u64]) -> Axis,
}

const NEVT: Abscissa = Abscissa {
    description: "events in one call (nevt)",
    value: |point| point.nevt,
    panel_by_threads: true,
    axis: |low, high, _| Axis::log(low, high),
};

const THREADS: Abscissa = Abscissa {
    description: "threads",
    value: |point| point.threads,
    panel_by_threads: false,
    axis: |low, high, values| Axis::log_at(low, high, values),
};

impl<'a> Data<'a> {
    fn new(records: &'a [Record]) -> Self {
        let mut data = Data {
            entries: Vec::new(),
            levels: ["none", "sse4", "avx2", "512y", "512z"]
                .map(String::from)
                .into(),
            precisions: ["d", "m", "f"].map(String::from).into(),
            programs: program_names(records),
            notes: records.iter().map(note).collect(),
        };
        for (program, record) in records.iter().enumerate() {
            for point in &record.points {
                let level = place(&mut data.levels, &point.simd);
                let precision = place(&mut data.precisions, &point.precision);
                data.entries.push(Entry {
                    point,
                    level,
                    precision,
                    program,
                });
            }
        }
        data
    }

    /// The values of a kind that these entries have, in order.
    fn values(&self, kind: Distinction, entries: &[&Entry]) -> Vec<usize> {
        let mut values: Vec<usize> = entries.iter().map(|entry| entry.of(kind)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn text(&self, kind: Distinction, value: usize) -> String {
        match kind {
            Distinction::Level => self.levels[value].clone(),
            Distinction::Precision => match self.precisions[value].as_str() {
                "d" => "double".into(),
                "m" => "mixed".into(),
                "f" => "single".into(),
                other => other.into(),
            },
            Distinction::Program => self.programs[value].clone(),
        }
    }

    /// The panels of a figure: their titles, and the entries in each. With `by_threads` a number
    /// of threads has a panel of its own, with `by_precision` a precision.
    fn panels<'b>(
        &self,
        entries: &[&'b Entry<'a>],
        by_threads: bool,
        by_precision: bool,
    ) -> Vec<((String, String), Vec<&'b Entry<'a>>)> {
        let key = |entry: &Entry| Key {
            process: entry.point.process.clone(),
            channels: entry.point.channels,
            threads: by_threads.then_some(entry.point.threads),
            precision: by_precision.then_some(entry.precision),
        };
        let mut keys: Vec<Key> = Vec::new();
        for entry in entries {
            let key = key(entry);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        // Processes in the order in which they came, and all of one side by side.
        let processes: Vec<String> = keys.iter().map(|key| key.process.clone()).collect();
        keys.sort_by_key(|key| {
            let first = processes.iter().position(|p| *p == key.process);
            (first, key.channels, key.threads, key.precision)
        });
        let several_threads = keys.iter().any(|key| key.threads != keys[0].threads);
        let panels = keys.into_iter().map(|wanted| {
            let inside = entries.iter().copied().filter(|e| key(e) == wanted);
            let inside: Vec<_> = inside.collect();
            let mut about = Vec::new();
            for kind in [Distinction::Level, Distinction::Precision] {
                let among: &[&Entry] = match (kind, wanted.precision) {
                    (Distinction::Precision, Some(_)) => &inside,
                    _ => entries,
                };
                if let [one] = *self.values(kind, among) {
                    about.push(self.text(kind, one));
                }
            }
            let with = if wanted.channels { "with" } else { "without" };
            about.push(format!("{with} channels"));
            match wanted.threads {
                Some(1) if several_threads => about.push("1 thread".into()),
                None | Some(1) => {}
                Some(n) => about.push(format!("{n} threads")),
            }
            let title = wanted.process.replace(" > ", " \u{2192} ");
            ((title, about.join(", ")), inside)
        });
        panels.collect()
    }

    /// Throughput against something.
    fn against(&self, x: &Abscissa) -> Option<Figure> {
        let all: Vec<&Entry> = match x.panel_by_threads {
            true => self.entries.iter().collect(),
            false => self.largest(),
        };
        let mut panels = self.panels(&all, x.panel_by_threads, false);
        let crowded = panels.iter().any(|(_, inside)| {
            let mut series: Vec<_> = inside.iter().map(|entry| entry.series()).collect();
            series.sort_unstable();
            series.dedup();
            series.len() > MOST_CURVES
        });
        let by_precision = crowded && self.values(Distinction::Precision, &all).len() > 1;
        if by_precision {
            panels = self.panels(&all, x.panel_by_threads, true);
        }
        panels.retain(|(_, inside)| {
            let mut values = inside.iter().map(|entry| (x.value)(entry.point));
            let first = values.next();
            values.any(|value| Some(value) != first)
        });
        if panels.is_empty() {
            return None;
        }
        let shown: Vec<&Entry> = panels
            .iter()
            .flat_map(|panel| panel.1.iter().copied())
            .collect();
        let kinds = [
            Distinction::Level,
            Distinction::Precision,
            Distinction::Program,
        ];
        let kinds = kinds
            .into_iter()
            .filter(|&k| k != Distinction::Precision || !by_precision);
        let roles = self.roles(&shown, kinds);
        let panels = panels.into_iter().map(|((title, subtitle), inside)| {
            let mut values: Vec<u64> = inside.iter().map(|e| (x.value)(e.point)).collect();
            values.sort_unstable();
            values.dedup();
            let xs = inside.iter().map(|e| (x.value)(e.point) as f64);
            let rates = inside.iter().map(|e| &e.point.matrix_elements_per_second);
            let (x_low, x_high) = ends(xs);
            let (low, high) = ends(rates.flat_map(|r| [r.low(), r.high()]));
            Panel {
                title,
                subtitle,
                x: (x.axis)(x_low, x_high, &values),
                y: Axis::log(low, high),
                contents: Contents::Curves(self.lines(&inside, x, &roles)),
            }
        });
        Some(Figure {
            panels: panels.collect(),
            x_description: x.description.into(),
            y_description: "matrix elements / s".into(),
            legends: self.legends(&roles),
            notes: self.notes.clone(),
        })
    }

    fn lines(&self, inside: &[&Entry], x: &Abscissa, roles: &[Role]) -> Vec<Curve> {
        let mut series: Vec<_> = inside.iter().map(|entry| entry.series()).collect();
        series.sort_unstable();
        series.dedup();
        let lines = series.into_iter().map(|key| {
            let members: Vec<_> = inside.iter().filter(|e| e.series() == key).collect();
            let mut spots: Vec<Spot> = members
                .iter()
                .map(|entry| {
                    let rate = &entry.point.matrix_elements_per_second;
                    Spot {
                        x: (x.value)(entry.point) as f64,
                        y: rate.median,
                        low: rate.low(),
                        high: rate.high(),
                    }
                })
                .collect();
            spots.sort_by(|a, b| a.x.total_cmp(&b.x));
            Curve {
                ideal: !x.panel_by_threads,
                look: look(roles, members[0]),
                spots,
            }
        });
        lines.collect()
    }

    /// Bars by SIMD level, of the points with most events.
    fn bars(&self) -> Option<Figure> {
        let all = self.largest();
        let mut panels = self.panels(&all, true, false);
        // One bar compares nothing.
        panels.retain(|(_, inside)| inside.len() > 1);
        if panels.is_empty() {
            return None;
        }
        let all: Vec<&Entry> = panels.iter().flat_map(|p| p.1.iter().copied()).collect();
        let roles = self.roles(&all, [Distinction::Precision, Distinction::Program]);
        let levels = self.values(Distinction::Level, &all);
        let panels = panels.into_iter().map(|((title, subtitle), inside)| {
            let mut series: Vec<_> = inside.iter().map(|e| (e.precision, e.program)).collect();
            series.sort_unstable();
            series.dedup();
            let width = 0.8 / series.len() as f64;
            let bars = inside.iter().map(|entry| {
                let group = levels.iter().position(|&l| l == entry.level).unwrap_or(0);
                let mine = (entry.precision, entry.program);
                let place = series.iter().position(|&s| s == mine).unwrap_or(0);
                let rate = &entry.point.matrix_elements_per_second;
                Bar {
                    from: group as f64 + 0.1 + width * place as f64,
                    to: group as f64 + 0.1 + width * (place + 1) as f64,
                    y: rate.median,
                    low: rate.low(),
                    high: rate.high(),
                    look: look(&roles, entry),
                }
            });
            let bars: Vec<Bar> = bars.collect();
            let (_, high) = ends(bars.iter().map(|bar| bar.high));
            let mut nevt: Vec<u64> = inside.iter().map(|e| e.point.nevt).collect();
            nevt.sort_unstable();
            let nevt = match (nevt[0], nevt[nevt.len() - 1]) {
                (a, b) if a == b => format!("nevt {a}"),
                (a, b) => format!("nevt {a} to {b}"),
            };
            Panel {
                title,
                subtitle: format!("{subtitle}, {nevt}"),
                x: Axis::names(levels.iter().map(|&l| self.levels[l].clone()).collect()),
                y: Axis::from_zero(high),
                contents: Contents::Bars(bars),
            }
        });
        Some(Figure {
            panels: panels.collect(),
            x_description: "SIMD level".into(),
            y_description: "matrix elements / s".into(),
            legends: self.legends(&roles),
            notes: self.notes.clone(),
        })
    }

    /// For each series the entry with most events.
    fn largest(&self) -> Vec<&Entry<'a>> {
        let key = |entry: &Entry| {
            let point = entry.point;
            let whose = (point.process.clone(), point.channels, point.threads);
            (whose, entry.series())
        };
        let mut largest: Vec<&Entry> = Vec::new();
        for entry in &self.entries {
            match largest.iter_mut().find(|e| key(e) == key(entry)) {
                Some(e) if e.point.nevt < entry.point.nevt => *e = entry,
                Some(_) => {}
                None => largest.push(entry),
            }
        }
        largest
    }

    /// What varies, and by what it is shown.
    fn roles(&self, entries: &[&Entry], kinds: impl IntoIterator<Item = Distinction>) -> Vec<Role> {
        let varied = kinds.into_iter().filter_map(|kind| {
            let values = self.values(kind, entries);
            // Several results are always told apart by name.
            (values.len() > 1 || (kind == Distinction::Program && self.programs.len() > 1))
                .then_some((kind, values))
        });
        varied
            .zip([Means::Color, Means::Dash, Means::Marker])
            .map(|((kind, values), means)| Role {
                kind,
                values,
                means,
            })
            .collect()
    }

    fn legends(&self, roles: &[Role]) -> Vec<Legend> {
        let legend = |role: &Role| Legend {
            title: match role.kind {
                Distinction::Level => "SIMD level",
                Distinction::Precision => "precision",
                Distinction::Program => "program",
            }
            .into(),
            entries: role
                .values
                .iter()
                .enumerate()
                .map(|(i, &value)| {
                    let mut look = LineStyle::default();
                    role.means.set(&mut look, i);
                    (self.text(role.kind, value), look)
                })
                .collect(),
            means: role.means,
        };
        roles.iter().map(legend).collect()
    }
}

/// Which panel an entry is in.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    process: String,
    channels: bool,
    threads: Option<u64>,
    precision: Option<usize>,
}

/// By what something is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    Color,
    /// Dashes of a line, tint of a bar.
    Dash,
    Marker,
}

impl Means {
    fn set(self, look: &mut LineStyle, i: usize) {
        match self {
            Means::Color => look.color = Some(i),
            Means::Dash => look.dash = i,
            Means::Marker => look.marker = i,
        }
    }
}

/// What is shown by which means.
struct Role {
    kind: Distinction,
    values: Vec<usize>,
    means: Means,
}

fn look(roles: &[Role], entry: &Entry) -> LineStyle {
    let mut look = LineStyle {
        color: Some(0),
        ..LineStyle::default()
    };
    for role in roles {
        let value = entry.of(role.kind);
        let i = role.values.iter().position(|&v| v == value).unwrap_or(0);
        role.means.set(&mut look, i);
    }
    look
}

/// The place of a word in a list, where it is added if it is new.
fn place(list: &mut Vec<String>, word: &str) -> usize {
    list.iter().position(|w| w == word).unwrap_or_else(|| {
        list.push(word.to_owned());
        list.len() - 1
    })
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), x| {
        (low.min(x), high.max(x))
    })
}

/// Names that tell results apart: where two have the same one, with machine and date behind it.
fn program_names(records: &[Record]) -> Vec<String> {
    let names: Vec<&str> = records.iter().map(Record::name).collect();
    let mut unique: Vec<String> = Vec::new();
    for (i, record) in records.iter().enumerate() {
        let mut name = names[i].to_owned();
        if names.iter().filter(|n| **n == names[i]).count() > 1 {
            if let Some(machine) = &record.machine {
                name = format!("{name}, {}", machine.cpu);
            }
            if unique.contains(&name)
                && let Some(date) = &record.date
            {
                name = format!("{name}, {date}");
            }
        }
        if unique.contains(&name) {
            name = format!("{name} ({})", i + 1);
        }
        unique.push(name);
    }
    unique
}

/// Where a result comes from, in one line.
fn note(record: &Record) -> String {
    let mut parts = vec![record.name().to_owned()];
    if let Some(machine) = &record.machine {
        parts.push(machine.cpu.clone());
    }
    if let Some(date) = &record.date {
        parts.push(date.chars().take(10).collect());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(program: &str, points: &[(&str, &str, u64, u64, f64)]) -> Record {
        let points: Vec<serde_json::Value> = points
            .iter()
            .map(|&(precision, simd, nevt, threads, rate)| {
                serde_json::json!({
                    "process": "g g > t t~ <&>", "precision": precision, "simd": simd,
                    "nevt": nevt, "threads": threads,
                    "matrix_elements_per_second": { "median": rate },
                })
            })
            .collect();
        let format = super::super::record::FORMAT;
        let record = serde_json::json!({ "format": format, "program": program, "points": points });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn figures_are_drawn_where_there_is_something_to_see() {
        let one = [record("a", &[("d", "avx2", 32, 1, 1e5)])];
        let data = Data::new(&one);
        assert!(data.against(&NEVT).is_none());
        assert!(data.against(&THREADS).is_none());
        // One bar compares nothing; two precisions at one level do.
        assert!(data.bars().is_none());
        let two = [record(
            "a",
            &[("d", "avx2", 32, 1, 1e5), ("f", "avx2", 32, 1, 2e5)],
        )];
        let bars = Data::new(&two).bars().unwrap();
        assert_eq!((bars.panels.len(), bars.legends.len()), (1, 1));

        let several = [
            record(
                "a",
                &[("d", "avx2", 32, 1, 1e5), ("d", "avx2", 512, 1, 2e5)],
            ),
            record(
                "a",
                &[("f", "cuda", 512, 2, 3e6), ("d", "avx2", 512, 2, 4e5)],
            ),
        ];
        let data = Data::new(&several);
        assert_eq!(data.programs, ["a", "a (2)"]);
        let nevt = data.against(&NEVT).unwrap();
        assert_eq!(nevt.panels.len(), 1);
        let threads = data.against(&THREADS).unwrap();
        assert_eq!(threads.panels.len(), 1);
        // 512 events alone, and the level that is none of ours.
        let Contents::Curves(lines) = &threads.panels[0].contents else {
            panic!("lines")
        };
        assert_eq!(lines.len(), 3);
        // There is one bar with 1 thread.
        assert_eq!(data.bars().unwrap().panels.len(), 1);
        assert_eq!(data.levels.last().unwrap(), "cuda");
    }

    #[test]
    fn every_file_is_what_its_name_says() {
        let points = [("d", "none", 32, 1, 1e5), ("f", "avx2", 512, 2, 3.3e6)];
        let mut all = points.to_vec();
        all.extend(points.map(|(p, s, n, t, r)| (p, s, 2 * n, t, 0.9 * r)));
        all.extend(points.map(|(p, s, n, t, r)| (p, s, n, t + 3, 2.0 * r)));
        let records = [record("a", &all), record("b <", &all)];
        let d = tempfile::tempdir().unwrap();
        let written = draw(&records, &d.path().join("x")).unwrap();
        assert_eq!(written.len(), 6);
        for path in written {
            let bytes = std::fs::read(&path).unwrap();
            if path.extension().unwrap() == "svg" {
                let text = String::from_utf8(bytes).unwrap();
                assert!(text.starts_with("<svg ") && text.trim_end().ends_with("</svg>"));
                assert!(text.contains("&lt;&amp;&gt;") && text.contains("b &lt;"));
            } else {
                assert!(bytes.starts_with(b"\x89PNG"));
            }
        }
    }
}
