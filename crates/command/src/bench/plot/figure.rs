//! How a figure looks.
//!
//! Sizes are in points of the SVG; everything is drawn on a grid [`GRID`] times finer, as drawing
//! goes by whole numbers.

use super::Means;
use super::axis::{Axis, three_digits, unit_text};
use mebridge::{Error, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{
    KeyPointHint, KeyPointWeight, NoDefaultFormatting, Ranged, ValueFormatter,
};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;
use std::sync::Once;

/// Steps of the grid in a point.
pub const GRID: i32 = 4;

const PANEL: (i32, i32) = (470, 357);
const LEGEND: i32 = 190;
const TITLE: i32 = 46;
const NOTE: i32 = 16;
/// Between two rows.
const GAP: i32 = 14;
const MARGIN: i32 = 8;

const TITLE_SIZE: f64 = 15.0;
const TEXT_SIZE: f64 = 12.5;
const SMALL_SIZE: f64 = 10.5;
const TINY_SIZE: f64 = 9.0;

/// Okabe and Ito's colours, which also those tell apart who see few.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 40),
    RGBColor(60, 60, 60),
];
const INK: RGBColor = RGBColor(30, 30, 30);
const FAINT: RGBColor = RGBColor(110, 110, 110);
const GRID_BOLD: RGBColor = RGBColor(205, 205, 205);
const GRID_LIGHT: RGBColor = RGBColor(232, 232, 232);

/// Lengths of dash and gap, in points; nothing for a line without gaps.
const DASHES: [Option<(f64, f64)>; 4] =
    [None, Some((7.0, 4.0)), Some((1.8, 3.2)), Some((12.0, 4.0))];

/// A figure.
pub struct Figure {
    pub panels: Vec<Panel>,
    pub x_description: String,
    pub y_description: String,
    pub legends: Vec<Legend>,
    pub notes: Vec<String>,
}

/// One pair of axes.
pub struct Panel {
    pub title: String,
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub contents: Contents,
}

/// What is drawn between the axes.
pub enum Contents {
    Curves(Vec<Curve>),
    Bars(Vec<Bar>),
}

/// A line through points.
pub struct Curve {
    pub look: LineStyle,
    pub spots: Vec<Spot>,
    /// Whether to show what would be in proportion to x, from the first point on.
    pub ideal: bool,
}

/// A point with its spread.
pub struct Spot {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

/// A bar with its spread.
pub struct Bar {
    pub from: f64,
    pub to: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
    pub look: LineStyle,
}

/// What a line or a bar looks like, by numbers of colour, dashes (or tint) and marker; without a
/// colour it is grey.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LineStyle {
    pub color: Option<usize>,
    pub dash: usize,
    pub marker: usize,
}

impl LineStyle {
    fn line_color(&self) -> RGBColor {
        self.color.map_or(FAINT, |i| COLORS[i % COLORS.len()])
    }

    /// The lighter, the further down the list.
    fn bar_color(&self) -> RGBColor {
        let RGBColor(r, g, b) = self.line_color();
        let white = [0.0, 0.5, 0.72, 0.85][self.dash.min(3)];
        let mix = |c: u8| (f64::from(c) * (1.0 - white) + 255.0 * white) as u8;
        RGBColor(mix(r), mix(g), mix(b))
    }
}

/// What one of the means stands for.
pub struct Legend {
    pub title: String,
    pub entries: Vec<(String, LineStyle)>,
    pub means: Means,
}

/// In steps of the grid.
fn grid(points: f64) -> i32 {
    (points * f64::from(GRID)).round() as i32
}

/// The font at a size in points.
fn font(size: f64) -> FontDesc<'static> {
    // The drawing library takes a size for a line's height: 1.24 times the size.
    ("sans-serif", size * f64::from(GRID) * 1.24).into_font()
}

fn text(size: f64, color: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    font(size).color(&color).pos(Pos::new(h, v))
}

/// A line of this width in points.
fn stroke(color: RGBColor, width: f64) -> ShapeStyle {
    ShapeStyle {
        color: color.into(),
        filled: false,
        stroke_width: grid(width).max(1) as u32,
    }
}

impl Figure {
    fn columns(&self) -> i32 {
        match self.panels.len() {
            1 => 1,
            2 | 4 => 2,
            _ => 3,
        }
    }

    fn rows(&self) -> i32 {
        (self.panels.len() as i32 + self.columns() - 1) / self.columns()
    }

    fn legend_width(&self) -> i32 {
        match self.legends.is_empty() {
            true => 0,
            false => LEGEND,
        }
    }

    /// Width and height in points.
    pub fn size(&self) -> (u32, u32) {
        let width = self.columns() * PANEL.0 + self.legend_width() + 2 * MARGIN;
        let height = self.rows() * PANEL.1 + self.notes.len() as i32 * NOTE + 3 * MARGIN;
        (width as u32, height as u32)
    }

    /// Draws everything.
    pub fn draw<DB: DrawingBackend>(&self, backend: DB) -> Result<()> {
        register_font()?;
        let root = backend.into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        for (i, panel) in (0..).zip(&self.panels) {
            let x = MARGIN + i % self.columns() * PANEL.0;
            let y = MARGIN + i / self.columns() * PANEL.1;
            self.panel(&root, panel, (x * GRID, y * GRID))?;
        }
        let x = MARGIN + self.columns() * PANEL.0 + 10;
        self.legend(&root, x, MARGIN + TITLE)?;
        let top = 2 * MARGIN + self.rows() * PANEL.1;
        for (i, note) in (0..).zip(&self.notes) {
            let style = text(SMALL_SIZE, FAINT, HPos::Left, VPos::Top);
            let at = (2 * MARGIN * GRID, (top + NOTE * i) * GRID);
            root.draw_text(note, &style, at).map_err(failed)?;
        }
        root.present().map_err(failed)
    }

    fn panel<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        panel: &Panel,
        (x, y): (i32, i32),
    ) -> Result<()> {
        let left = x + 78 * GRID;
        let title = text(TITLE_SIZE, INK, HPos::Left, VPos::Top);
        root.draw_text(&panel.title, &title, (left, y + 4 * GRID))
            .map_err(failed)?;
        let subtitle = text(SMALL_SIZE, FAINT, HPos::Left, VPos::Top);
        root.draw_text(&panel.subtitle, &subtitle, (left, y + 26 * GRID))
            .map_err(failed)?;
        let area = root.clone().shrink(
            (x, y + TITLE * GRID),
            (PANEL.0 * GRID, (PANEL.1 - TITLE - GAP) * GRID),
        );
        let mut chart = ChartBuilder::on(&area)
            .margin_left(grid(14.0))
            .margin_right(grid(16.0))
            .margin_top(grid(2.0))
            .x_label_area_size(grid(42.0))
            .y_label_area_size(grid(64.0))
            .build_cartesian_2d(panel.x.clone(), panel.y.clone())
            .map_err(failed)?;
        let is_bars = matches!(panel.contents, Contents::Bars(_));
        let y_description = format!("{}{}", unit_text(panel.y.exponent), self.y_description);
        {
            let mut mesh = chart.configure_mesh();
            mesh.axis_style(stroke(INK, 1.0))
                .bold_line_style(stroke(GRID_BOLD, 0.75))
                .light_line_style(stroke(GRID_LIGHT, 0.5))
                .label_style(font(TEXT_SIZE).color(&INK))
                .axis_desc_style(font(TEXT_SIZE).color(&INK))
                .x_desc(&self.x_description)
                .y_desc(y_description)
                .x_labels(100)
                .y_labels(100)
                .max_light_lines(1000)
                .set_all_tick_mark_size(grid(4.0));
            if is_bars {
                mesh.disable_x_mesh();
            }
            mesh.draw().map_err(failed)?;
        }
        let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
        match &panel.contents {
            Contents::Curves(lines) => {
                for line in lines {
                    draw_line(root, line, panel.y.high, &at)?;
                }
            }
            Contents::Bars(bars) => {
                for bar in bars {
                    draw_bar(root, bar, panel.y.exponent, &at)?;
                }
            }
        }
        Ok(())
    }

    fn legend<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        x: i32,
        mut y: i32,
    ) -> Result<()> {
        let is_bars = matches!(
            self.panels.first().map(|panel| &panel.contents),
            Some(Contents::Bars(_))
        );
        for legend in &self.legends {
            let style = text(SMALL_SIZE, FAINT, HPos::Left, VPos::Center);
            root.draw_text(&legend.title, &style, (x * GRID, y * GRID))
                .map_err(failed)?;
            y += 19;
            for (name, look) in &legend.entries {
                let middle = y * GRID;
                let (from, to) = (x * GRID, (x + 30) * GRID);
                if is_bars {
                    let corners = [
                        (from + 6 * GRID, middle - 6 * GRID),
                        (to - 6 * GRID, middle + 6 * GRID),
                    ];
                    let fill = look.bar_color().filled();
                    root.draw(&Rectangle::new(corners, fill)).map_err(failed)?;
                } else {
                    let ends = [(from, middle), (to, middle)];
                    dashed(root, &ends, look.dash, stroke(look.line_color(), 2.0))?;
                    if legend.means != Means::Dash {
                        let between = ((from + to) / 2, middle);
                        marker(root, between, look.marker, look.line_color())?;
                    }
                }
                for (i, line) in wrapped(name, 19).into_iter().enumerate() {
                    let style = text(TEXT_SIZE, INK, HPos::Left, VPos::Center);
                    let at = (to + 8 * GRID, middle + i as i32 * 15 * GRID);
                    root.draw_text(&line, &style, at).map_err(failed)?;
                    y += if i == 0 { 19 } else { 15 };
                }
            }
            y += 12;
        }
        Ok(())
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, x: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.share(*x) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let ticks = self.ticks.iter().map(|tick| tick.0);
        match hint.weight() {
            KeyPointWeight::Bold => ticks.collect(),
            KeyPointWeight::Any => ticks.chain(self.light.iter().copied()).collect(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, x: &f64) -> String {
        self.label(*x)
    }
}

type Pixel = (i32, i32);

fn draw_line<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    line: &Curve,
    top: f64,
    at: &impl Fn(f64, f64) -> Pixel,
) -> Result<()> {
    let color = line.look.line_color();
    if let (true, [first, .., last]) = (line.ideal, line.spots.as_slice()) {
        // As far as the panel goes.
        let end = last.x.min(first.x * top / first.y);
        let ends = [at(first.x, first.y), at(end, first.y * end / first.x)];
        dashed(root, &ends, 1, stroke(GRID_BOLD, 1.25))?;
    }
    let places: Vec<Pixel> = line.spots.iter().map(|spot| at(spot.x, spot.y)).collect();
    dashed(root, &places, line.look.dash, stroke(color, 2.0))?;
    for spot in &line.spots {
        whisker(root, at(spot.x, spot.low), at(spot.x, spot.high), color)?;
        marker(root, at(spot.x, spot.y), line.look.marker, color)?;
    }
    Ok(())
}

fn draw_bar<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    bar: &Bar,
    exponent: i32,
    at: &impl Fn(f64, f64) -> Pixel,
) -> Result<()> {
    let (left, top) = at(bar.from, bar.y);
    let (right, bottom) = at(bar.to, 0.0);
    let gap = ((right - left) / 16).min(grid(1.5));
    let corners = [(left + gap, top), (right - gap, bottom)];
    let fill = bar.look.bar_color().filled();
    root.draw(&Rectangle::new(corners, fill)).map_err(failed)?;
    let middle = (left + right) / 2;
    let (low, high) = (at(bar.from, bar.low).1, at(bar.from, bar.high).1);
    whisker(root, (middle, low), (middle, high), INK)?;
    let label = three_digits(bar.y / 10f64.powi(exponent));
    let width = right - left;
    let above = high - grid(3.0);
    if width >= grid(27.0) {
        let style = text(TINY_SIZE, INK, HPos::Center, VPos::Bottom);
        root.draw_text(&label, &style, (middle, above))
            .map_err(failed)?;
    } else if width >= grid(10.0) {
        let upwards = font(TINY_SIZE).transform(FontTransform::Rotate270);
        let style = upwards.color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw_text(&label, &style, (middle, above))
            .map_err(failed)?;
    }
    Ok(())
}

/// A thin line over the spread of a value.
fn whisker<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    low: Pixel,
    high: Pixel,
    color: RGBColor,
) -> Result<()> {
    if (low.1 - high.1).abs() < GRID {
        return Ok(());
    }
    let cap = grid(2.5);
    let style = stroke(color, 1.0);
    for path in [
        vec![low, high],
        vec![(low.0 - cap, low.1), (low.0 + cap, low.1)],
        vec![(high.0 - cap, high.1), (high.0 + cap, high.1)],
    ] {
        root.draw(&PathElement::new(path, style)).map_err(failed)?;
    }
    Ok(())
}

/// A path with dashes that run on through its corners.
fn dashed<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    path: &[Pixel],
    dash: usize,
    style: ShapeStyle,
) -> Result<()> {
    let Some((on, off)) = DASHES[dash % DASHES.len()] else {
        let path = PathElement::new(path.to_vec(), style);
        return root.draw(&path).map_err(failed);
    };
    for piece in dashes(path, on * f64::from(GRID), off * f64::from(GRID)) {
        root.draw(&PathElement::new(piece, style)).map_err(failed)?;
    }
    Ok(())
}

/// The pieces of a path that are drawn.
fn dashes(path: &[Pixel], on: f64, off: f64) -> Vec<Vec<Pixel>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Pixel> = Vec::new();
    // How far into dash and gap.
    let mut phase = 0.0;
    for ends in path.windows(2) {
        let from = (f64::from(ends[0].0), f64::from(ends[0].1));
        let way = (f64::from(ends[1].0) - from.0, f64::from(ends[1].1) - from.1);
        let length = way.0.hypot(way.1);
        let place = |done: f64| {
            let share = if length > 0.0 { done / length } else { 0.0 };
            let along = |from: f64, way: f64| (from + share * way).round() as i32;
            (along(from.0, way.0), along(from.1, way.1))
        };
        let mut done = 0.0;
        while done < length {
            let drawn = phase < on;
            let left = if drawn { on - phase } else { on + off - phase };
            let step = left.min(length - done);
            if drawn {
                if piece.is_empty() {
                    piece.push(place(done));
                }
                piece.push(place(done + step));
            }
            done += step;
            phase += step;
            if drawn && phase >= on - 1e-9 {
                pieces.push(std::mem::take(&mut piece));
                phase = on;
            } else if phase >= on + off - 1e-9 {
                phase = 0.0;
            }
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

/// A marker: circle, square, triangle, diamond.
fn marker<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    (x, y): Pixel,
    kind: usize,
    color: RGBColor,
) -> Result<()> {
    let r = grid(3.4);
    let style = color.filled();
    let corners: &[(f64, f64)] = match kind % 4 {
        0 => return root.draw(&Circle::new((x, y), r, style)).map_err(failed),
        1 => &[(-0.95, -0.95), (0.95, -0.95), (0.95, 0.95), (-0.95, 0.95)],
        2 => &[(-1.15, 0.95), (1.15, 0.95), (0.0, -1.25)],
        _ => &[(0.0, -1.35), (1.35, 0.0), (0.0, 1.35), (-1.35, 0.0)],
    };
    let at = |&(dx, dy): &(f64, f64)| {
        let length = |d: f64| (d * f64::from(r)).round() as i32;
        (x + length(dx), y + length(dy))
    };
    let corners: Vec<Pixel> = corners.iter().map(at).collect();
    root.draw(&Polygon::new(corners, style)).map_err(failed)
}

/// Lines of at most this many letters, where there are spaces to break at.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        // There is always a last line.
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > most {
                lines.push(word.to_owned());
            } else {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
    }
    lines
}

/// The font's file: DejaVu Sans, with Latin letters and what figures need beside them.
pub const FONT: &[u8] = include_bytes!("DejaVuSans.ttf");

/// Lengths of texts are those of this font.
fn register_font() -> Result<()> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Not reading it shows as a text that cannot be drawn.
        let _ = plotters::style::register_font("sans-serif", FontStyle::Normal, FONT);
    });
    Ok(())
}

/// Everything is drawn in memory: it fails where this program is wrong.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::Internal {
        what: format!("drawing a figure: {error}"),
    }
}

/// The figure as SVG.
pub fn svg(figure: &Figure) -> Result<String> {
    let (width, height) = figure.size();
    let grid = GRID as u32;
    let mut text = String::new();
    figure.draw(SVGBackend::with_string(
        &mut text,
        (width * grid, height * grid),
    ))?;
    // The grid is that of the viewBox alone.
    let fine = format!("width=\"{}\" height=\"{}\"", width * grid, height * grid);
    let size = format!("width=\"{width}\" height=\"{height}\"");
    Ok(text.replacen(&fine, &size, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_run_through_corners() {
        let pieces = dashes(&[(0, 0), (15, 0), (15, 15)], 10.0, 2.0);
        assert_eq!(
            pieces,
            [
                vec![(0, 0), (10, 0)],
                vec![(12, 0), (15, 0), (15, 7)],
                vec![(15, 9), (15, 15)]
            ]
        );
        assert!(dashes(&[(3, 3), (3, 3)], 10.0, 2.0).is_empty());
    }

    #[test]
    fn long_names_are_broken() {
        assert_eq!(wrapped("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrapped("abcdefgh", 4), ["abcdefgh"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
