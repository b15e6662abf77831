//! The colour matrix in the layout of the kernel `helicities`, see `cuda/helicities.cuh`.
//!
//! JAMPs are transformed by sums to the diagonal blocks of a [`BlockDiagonal`]; the coordinates of each block are then
//! contiguous. The upper triangle of each block is stored, [`ROWS`] rows at a time.

use mebridge_plan::color::BlockDiagonal;

/// Rows processed together, `ROWS` in the device code.
const ROWS: usize = 4;

/// Tables of a colour matrix.
#[derive(Clone, Debug, Default)]
pub struct ColorTables {
    /// For each run of sums: slots per sum, number of sums, whether they read JAMP.
    pub passes: Vec<u32>,
    /// For each sum: where its slots are read and where they are written.
    pub orbits: Vec<u32>,
    /// For each group of rows: index of the first row, columns, rows, first column of entries.
    pub rows: Vec<u32>,
    /// For each column of a group of rows, an entry for each row, divided by the denominator: doubled above the
    /// diagonal, zero below it.
    pub entries: Vec<f64>,
}

impl ColorTables {
    /// Builds the tables of a matrix.
    pub fn new(color_blocks: &BlockDiagonal) -> ColorTables {
        let mut tables = ColorTables::default();
        let places = color_blocks.places();
        if color_blocks.passes.is_empty() {
            // JAMPs without a transformation.
            tables.passes.extend([1, color_blocks.flows as u32, 1]);
            for (slot, &place) in places.iter().enumerate() {
                tables.orbits.extend([slot as u32, place]);
            }
        }
        for (i, orbits) in color_blocks.passes.iter().enumerate() {
            for coordinates in [1, 2, 4, 8] {
                // Single slots are moved to their places only once.
                if coordinates == 1 && i > 0 {
                    continue;
                }
                let mine = orbits.iter().filter(|o| o.0.len() == coordinates);
                let mut count = 0;
                for orbit in mine {
                    let to = orbit.0.iter().map(|&s| places[s as usize]);
                    match i {
                        0 => tables.orbits.extend(&orbit.0),
                        _ => tables.orbits.extend(to.clone()),
                    }
                    tables.orbits.extend(to);
                    count += 1;
                }
                if count > 0 {
                    tables
                        .passes
                        .extend([coordinates as u32, count, u32::from(i == 0)]);
                }
            }
        }
        let mut first = 0;
        let mut groups = Vec::new();
        for block in &color_blocks.blocks {
            let size = block.coordinates.len();
            for top in (0..size).step_by(ROWS) {
                let rows = ROWS.min(size - top);
                let entry = (tables.entries.len() / ROWS) as u32;
                for column in top..size {
                    for row in top..top + ROWS {
                        tables.entries.push(if row >= size || row > column {
                            0.0
                        } else {
                            let factor = if row == column { 1.0 } else { 2.0 };
                            factor * block.matrix[(row, column)] / color_blocks.denominator
                        });
                    }
                }
                groups.push([
                    (first + top) as u32,
                    (size - top) as u32,
                    rows as u32,
                    entry,
                ]);
            }
            first += size;
        }
        // The longest first, so that threads finish at about the same time.
        groups.sort_by_key(|g| std::cmp::Reverse(g[1]));
        tables.rows = groups.concat();
        tables
    }

    /// Returns the number of runs of sums.
    pub fn pass_count(&self) -> usize {
        self.passes.len() / 3
    }

    /// Returns the number of groups of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len() / 4
    }
}
