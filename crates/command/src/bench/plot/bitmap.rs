//! A figure as PNG: drawn on the grid, then averaged over squares of [`SQUARE`] by [`SQUARE`] steps
//! so that edges are smooth. Text is drawn here, glyph by glyph.

use super::figure::{FONT, Figure, GRID};
use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};
use mebridge::{Error, Result};
use plotters::prelude::*;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind,
};

/// Steps of the grid on one side of a pixel.
const SQUARE: usize = 2;

/// The figure as PNG, `GRID / SQUARE` pixels to a point.
pub fn png(figure: &Figure) -> Result<Vec<u8>> {
    let (width, height) = figure.size();
    let (width, height) = (
        width as usize * GRID as usize,
        height as usize * GRID as usize,
    );
    let mut fine = vec![255; 3 * width * height];
    let font = FontRef::try_from_slice(FONT).map_err(internal)?;
    let inner = BitMapBackend::with_buffer(&mut fine, (width as u32, height as u32));
    figure.draw(Smooth { inner, font })?;
    let pixels = averaged(&fine, width, height);
    encoded(&pixels, width / SQUARE, height / SQUARE).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::Internal {
        what: format!("drawing a figure: {error}"),
    }
}

fn averaged(fine: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(fine.len() / (SQUARE * SQUARE));
    for y in 0..height / SQUARE {
        for x in 0..width / SQUARE {
            for color in 0..3 {
                let squares = (0..SQUARE * SQUARE).map(|i| {
                    let (dx, dy) = (i % SQUARE, i / SQUARE);
                    let at = (y * SQUARE + dy) * width + x * SQUARE + dx;
                    u32::from(fine[3 * at + color])
                });
                let squares: u32 = squares.sum();
                pixels.push((squares / (SQUARE * SQUARE) as u32) as u8);
            }
        }
    }
    pixels
}

fn encoded(pixels: &[u8], width: usize, height: usize) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// The bitmap of the drawing library, with text of our own.
struct Smooth<'a> {
    inner: BitMapBackend<'a>,
    font: FontRef<'static>,
}

type Done<B> = Result<(), DrawingErrorKind<<B as DrawingBackend>::ErrorType>>;

impl<'a> DrawingBackend for Smooth<'a> {
    type ErrorType = <BitMapBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.inner.get_size()
    }

    fn ensure_prepared(&mut self) -> Done<Self> {
        self.inner.ensure_prepared()
    }

    fn present(&mut self) -> Done<Self> {
        self.inner.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Done<Self> {
        self.inner.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Done<Self> {
        self.inner.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Done<Self> {
        self.inner.draw_rect(upper_left, bottom_right, style, fill)
    }

    /// As SVG viewers place it.
    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        position: BackendCoord,
    ) -> Done<Self> {
        // Sizes are 1.24 times those of SVG, and this library counts in heights of the font.
        let size = style.size() as f32 / 1.24;
        let heights = self.font.height_unscaled() / self.font.units_per_em().unwrap_or(1000.0);
        let font = self.font.clone().into_scaled(PxScale::from(size * heights));
        let mut glyphs = Vec::new();
        let (mut x, mut last) = (0.0, None);
        for letter in text.chars() {
            let id = font.glyph_id(letter);
            if let Some(last) = last {
                x += font.kern(last, id);
            }
            glyphs.push(id.with_scale_and_position(font.scale(), point(x, 0.0)));
            x += font.h_advance(id);
            last = Some(id);
        }
        let left = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => -x / 2.0,
            HPos::Right => -x,
        };
        // From the anchor to the baseline; half an ex is 0.27 of the font's size.
        let down = match style.anchor().v_pos {
            VPos::Top => 0.76 * size,
            VPos::Center => 0.27 * size,
            VPos::Bottom => -0.27 * size,
        };
        let transform = style.transform();
        let (width, height) = self.get_size();
        for glyph in glyphs {
            let Some(outline) = font.outline_glyph(glyph) else {
                continue;
            };
            let bounds = outline.px_bounds();
            let mut covered = Vec::new();
            outline.draw(|x, y, share| covered.push((x, y, share)));
            for (x, y, share) in covered {
                let x = (bounds.min.x + left).round() as i32 + x as i32;
                let y = (bounds.min.y + down).round() as i32 + y as i32;
                let (x, y) = transform.transform(x, y);
                let (x, y) = (x + position.0, y + position.1);
                if (0..width as i32).contains(&x) && (0..height as i32).contains(&y) {
                    let mut color = style.color();
                    color.alpha *= f64::from(share.min(1.0));
                    self.draw_pixel((x, y), color)?;
                }
            }
        }
        Ok(())
    }
}
