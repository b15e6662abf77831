//! The colour matrix of a plan of loops in the layout of `cuda/color_ordered.cuh`.
//!
//! JAMPs are in memory, and sums transform them in place. Coordinates connected by sums form *groups*, so that each
//! coordinate is read and written once. The diagonal blocks of the matrix are then processed in *stages*, each with as
//! many blocks as fit into shared memory. The upper triangle of a block is stored in *tiles* of some rows and columns.
//! The tiles are distributed over the warps of a thread block with balanced work.

use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::color::block_diagonal::{DiagonalBlock, Orbit};
use rustc_hash::FxHashMap as HashMap;

/// Rows of a tile, 4 `COLOR_ORDERED_ROWS` in the device code.
const ROWS: usize = 16;
/// Maximum columns of a tile.
const COLUMNS: usize = 96;
/// Maximum number of warps, `COLOR_ORDERED_WARPS` in the device code.
pub const WARPS: usize = 16;
/// Number of which the columns of a tile are a multiple; `COLOR_ORDERED_AHEAD` in the device code.
pub const AHEAD: usize = 2;
/// Numbers per thread in shared memory, `COLOR_ORDERED_COLUMNS` in the device code.
pub const SHARED_COLUMNS: usize = 8;
/// Warps per block of the kernel for groups, `GROUP_WARPS` in the device code.
pub const GROUP_WARPS: u32 = 4;
/// Maximum coordinates of a group; `GROUP_SLOTS` in the device code.
const GROUP_SLOTS: usize = 32;

/// Tables of the colour matrix of a plan of loops.
#[derive(Clone, Debug, Default)]
pub struct ColorMatrixTables {
    /// Start of each group in `groups`.
    pub group_starts: Vec<u32>,
    /// For each group: number of coordinates, the coordinates, number of sums, and for each sum the number of
    /// coordinates and their indices in the group. If there is one stage: number of sums, and for each sum the number
    /// of coordinates and twice their places in the stage.
    pub groups: Vec<u32>,
    /// For each stage: first coordinate, number of coordinates, start of its lists.
    pub stages: Vec<u32>,
    /// Maximum coordinates of a stage.
    pub largest_stage: u32,
    /// Number of warps that have work.
    pub warps: u32,
    /// For each stage: start of the tiles of each warp, and end of the last.
    pub lists: Vec<u32>,
    /// Tiles: first row, rows, first column, columns, first column of entries. Rows and columns are relative to the
    /// stage.
    pub tiles: Vec<u32>,
    /// Coordinates of the diagonal blocks.
    pub slots: Vec<u32>,
    /// For each column of a tile, an entry for each row, divided by the denominator: doubled above the diagonal, zero
    /// below.
    pub entries: Vec<f64>,
}

/// Returns the upper triangle of the matrix of JAMPs, row by row, divided by the denominator and doubled off the diagonal.
/// `None` if it has sums of three.
pub fn upper_triangle(color_blocks: &BlockDiagonal) -> Option<Vec<f64>> {
    let flows = color_blocks.flows;
    let coordinates = |jamp: usize| -> Option<Vec<f64>> {
        let mut vector = vec![0.0; flows];
        vector[jamp] = 1.0;
        for Orbit(orbit) in color_blocks.passes.iter().flatten() {
            if orbit.len() == 3 {
                return None;
            }
            let values: Vec<f64> = orbit.iter().map(|&c| vector[c as usize]).collect();
            for (at, &coordinate) in orbit.iter().enumerate() {
                let signed = |(other, value): (usize, &f64)| match (at & other).count_ones() % 2 {
                    0 => *value,
                    _ => -value,
                };
                vector[coordinate as usize] = values.iter().enumerate().map(signed).sum();
            }
        }
        Some(vector)
    };
    let vectors = (0..flows)
        .map(coordinates)
        .collect::<Option<Vec<Vec<f64>>>>()?;
    let entry = |a: &[f64], b: &[f64]| -> f64 {
        let of_block = |block: &DiagonalBlock| -> f64 {
            let places = || block.coordinates.iter().map(|&c| c as usize).enumerate();
            let products = places().flat_map(|(i, c)| {
                places().map(move |(j, d)| block.matrix[(i.min(j), i.max(j))] * a[c] * b[d])
            });
            products.sum()
        };
        color_blocks.blocks.iter().map(of_block).sum()
    };
    let mut entries = Vec::new();
    for (row, a) in vectors.iter().enumerate() {
        for (column, b) in vectors.iter().enumerate().skip(row) {
            let factor = if row == column { 1.0 } else { 2.0 };
            entries.push(factor * entry(a, b) / color_blocks.denominator);
        }
    }
    Some(entries)
}

/// Coordinates of a group.
fn groups(color_blocks: &BlockDiagonal) -> Vec<Vec<u32>> {
    let mut of: Vec<usize> = (0..color_blocks.flows).collect();
    fn root(of: &mut [usize], mut slot: usize) -> usize {
        while of[slot] != slot {
            of[slot] = of[of[slot]];
            slot = of[slot];
        }
        slot
    }
    for orbit in color_blocks.passes.iter().flatten() {
        for pair in orbit.0.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|slot| root(&mut of, slot as usize));
            of[a.max(b)] = a.min(b);
        }
    }
    let mut groups: Vec<Vec<u32>> = vec![Vec::new(); color_blocks.flows];
    for slot in 0..color_blocks.flows {
        groups[root(&mut of, slot)].push(slot as u32);
    }
    groups.retain(|group| group.len() > 1);
    groups
}

impl ColorMatrixTables {
    /// Builds the tables of a matrix. Stages have up to `wanted` coordinates unless a block is larger; at most `warps`
    /// warps share a stage. Returns `None` if a block has more than `most` coordinates, or if sums connect too many
    /// coordinates.
    pub fn new(
        color_blocks: &BlockDiagonal,
        wanted: usize,
        most: usize,
        warps: usize,
    ) -> Option<ColorMatrixTables> {
        let mut tables = ColorMatrixTables::default();
        tables.add_groups(color_blocks)?;
        let largest = color_blocks
            .blocks
            .iter()
            .map(|b| b.coordinates.len())
            .max()
            .unwrap_or(0);
        let room = wanted.max(largest);
        if room > most {
            return None;
        }
        let mut stages: Vec<(usize, Vec<usize>)> = Vec::new();
        for (number, block) in color_blocks.blocks.iter().enumerate() {
            let size = block.coordinates.len();
            match stages.last_mut() {
                Some((slots, blocks)) if *slots + size <= room => {
                    *slots += size;
                    blocks.push(number);
                }
                _ => stages.push((size, vec![number])),
            }
        }
        let tiles = |size: &usize| size.div_ceil(ROWS) * (size.div_ceil(COLUMNS) + 1) / 2;
        let of_stage = |(_, blocks): &(usize, Vec<usize>)| -> usize {
            let sizes = blocks
                .iter()
                .map(|&b| color_blocks.blocks[b].coordinates.len());
            sizes.map(|size| tiles(&size).max(1)).sum()
        };
        let parallel = stages.iter().map(of_stage).max().unwrap_or(1);
        // A multiprocessor has space for one large stage, or for two of the others.
        let most_warps = if largest > wanted { warps } else { warps / 2 };
        let warps = parallel.next_power_of_two().clamp(1, most_warps);
        tables.warps = warps as u32;
        for (count, blocks) in stages {
            let first = tables.slots.len() as u32;
            let lists = tables.lists.len() as u32;
            tables.stages.extend([first, count as u32, lists]);
            tables.largest_stage = tables.largest_stage.max(count as u32);
            let mut all = Vec::new();
            for number in blocks {
                all.extend(tables.add_block(color_blocks, number, first));
            }
            // The largest first, each assigned to the warp with the least work.
            all.sort_by_key(|tile| std::cmp::Reverse(tile[3]));
            let mut of_warps = vec![(0, Vec::new()); warps];
            for tile in all {
                if let Some((work, tiles)) = of_warps.iter_mut().min_by_key(|(work, _)| *work) {
                    *work += tile[3] as usize + ROWS / 2;
                    tiles.push(tile);
                }
            }
            tables.lists.push((tables.tiles.len() / 5) as u32);
            for (_, tiles) in of_warps {
                tables.tiles.extend(tiles.into_iter().flatten());
                tables.lists.push((tables.tiles.len() / 5) as u32);
            }
        }
        if tables.stage_count() == 1 {
            tables.sum_in_stage();
        }
        // Kernels read this many columns ahead.
        tables
            .entries
            .extend(std::iter::repeat_n(0.0, AHEAD * ROWS));
        Some(tables)
    }

    /// Replaces the coordinates of groups by places in the only stage.
    fn sum_in_stage(&mut self) {
        let mut places = vec![0; self.slots.len()];
        for (&slot, at) in self.slots.iter().zip(0..) {
            places[slot as usize] = 2 * at;
        }
        let (starts, groups) = (
            std::mem::take(&mut self.group_starts),
            std::mem::take(&mut self.groups),
        );
        for start in starts {
            self.group_starts.push(self.groups.len() as u32);
            let group = &groups[start as usize..];
            let (slots, rest) = group[1..].split_at(group[0] as usize);
            self.groups.push(rest[0]);
            let mut rest = &rest[1..];
            for _ in 0..group[1 + slots.len()] {
                let (sum, others) = rest.split_at(1 + rest[0] as usize);
                self.groups.push(sum[0]);
                let of = |&at: &u32| places[slots[at as usize] as usize];
                self.groups.extend(sum[1..].iter().map(of));
                rest = others;
            }
        }
    }

    fn add_groups(&mut self, color_blocks: &BlockDiagonal) -> Option<()> {
        // For each coordinate, its group and its index there.
        let mut places: HashMap<u32, (usize, u32)> = HashMap::default();
        let groups = groups(color_blocks);
        let mut sums: Vec<Vec<u32>> = vec![Vec::new(); groups.len()];
        let mut counts = vec![0u32; groups.len()];
        for (number, group) in groups.iter().enumerate() {
            if group.len() > GROUP_SLOTS {
                return None;
            }
            places.extend(
                group
                    .iter()
                    .zip(0..)
                    .map(|(&slot, at)| (slot, (number, at))),
            );
        }
        for orbit in color_blocks
            .passes
            .iter()
            .flatten()
            .filter(|o| o.0.len() > 1)
        {
            let number = places[&orbit.0[0]].0;
            counts[number] += 1;
            sums[number].push(orbit.0.len() as u32);
            sums[number].extend(orbit.0.iter().map(|slot| places[slot].1));
        }
        for ((group, sums), count) in groups.into_iter().zip(sums).zip(counts) {
            self.group_starts.push(self.groups.len() as u32);
            self.groups.push(group.len() as u32);
            self.groups.extend(group);
            self.groups.push(count);
            self.groups.extend(sums);
        }
        Some(())
    }

    /// Appends the coordinates and entries of a block to the stage with first coordinate `stage`, and returns its
    /// tiles.
    fn add_block(
        &mut self,
        color_blocks: &BlockDiagonal,
        number: usize,
        stage: u32,
    ) -> Vec<[u32; 5]> {
        let block = &color_blocks.blocks[number];
        let size = block.coordinates.len();
        let first = self.slots.len() as u32 - stage;
        self.slots.extend(&block.coordinates);
        let mut tiles = Vec::new();
        for top in (0..size).step_by(ROWS) {
            let parts = (size - top).div_ceil(COLUMNS);
            let columns = (size - top).div_ceil(parts);
            for left in (top..size).step_by(columns) {
                let right = (left + columns).min(size);
                let entry = (self.entries.len() / ROWS) as u32;
                let padded = (right - left).next_multiple_of(AHEAD);
                for column in left..left + padded {
                    for row in top..top + ROWS {
                        self.entries.push(if row > column || column >= right {
                            0.0
                        } else {
                            let factor = if row == column { 1.0 } else { 2.0 };
                            factor * block.matrix[(row, column)] / color_blocks.denominator
                        });
                    }
                }
                let rows = ROWS.min(size - top) as u32;
                let (top, left) = (first + top as u32, first + left as u32);
                tiles.push([top, rows, left, padded as u32, entry]);
            }
        }
        tiles
    }

    /// Returns the number of groups.
    pub fn group_count(&self) -> usize {
        self.group_starts.len()
    }

    /// Returns the number of stages.
    pub fn stage_count(&self) -> usize {
        self.stages.len() / 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(count: usize) -> BlockDiagonal {
        let orders: usize = (1..=count).product();
        let row: Vec<f64> = (0..orders).map(|i| (i as f64 * 0.7).cos()).collect();
        BlockDiagonal::of_orders(count, &row, 3.0)
    }

    /// Each pair of rows of a block occurs once, in one stage; the work of warps is balanced.
    #[test]
    fn rows_are_shared_out() {
        let color_blocks = split(6);
        let tables = ColorMatrixTables::new(&color_blocks, 200, 400, WARPS).unwrap();
        assert!(tables.stage_count() > 3 && tables.largest_stage <= 200);
        let mut met = vec![0; 720];
        for (number, stage) in tables.stages.chunks(3).enumerate() {
            let slots = &tables.slots[stage[0] as usize..][..stage[1] as usize];
            let lists = &tables.lists[stage[2] as usize..][..tables.warps as usize + 1];
            let mut work = Vec::new();
            for list in lists.windows(2) {
                let mut mine = 0;
                for tile in tables.tiles[5 * list[0] as usize..5 * list[1] as usize].chunks(5) {
                    mine += tile[3];
                    for row in tile[0]..tile[0] + tile[1] {
                        let entry = |c: &u32| {
                            let at = (tile[4] + c - tile[2]) as usize * ROWS;
                            tables.entries[at + (row - tile[0]) as usize] != 0.0
                        };
                        let columns = tile[2]..tile[2] + tile[3];
                        met[slots[row as usize] as usize] += columns.filter(entry).count();
                    }
                }
                work.push(mine);
            }
            let (least, most) = (work.iter().min().unwrap(), work.iter().max().unwrap());
            assert!(most - least <= 45, "stage {number}: {work:?}");
        }
        for block in &color_blocks.blocks {
            for (row, &slot) in block.coordinates.iter().enumerate() {
                let columns = row..block.coordinates.len();
                let entries = columns.filter(|c| block.matrix[(row, *c)] != 0.0);
                assert_eq!(met[slot as usize], entries.count());
            }
        }
    }

    /// The matrix that comes out of the blocks is that of orders.
    #[test]
    fn the_upper_triangle_is_that_of_the_matrix() {
        for text in ["u u~ > g g g g", "g g > g g g", "u u~ > e+ e- g g"] {
            let process = mebridge_generate::generate(text).unwrap().remove(0);
            let process = process.as_color_ordered().unwrap();
            let form = process.amplitudes.color_ordered().unwrap();
            let entries = upper_triangle(&BlockDiagonal::of_process(&process, false)).unwrap();
            let size = form.row.len();
            assert_eq!(entries.len(), size * (size + 1) / 2);
            let near = |x: f64, y: f64| (x - y).abs() < 1e-12 * form.row[0] / form.denominator;
            for (column, (entry, row)) in entries.iter().zip(&form.row).enumerate() {
                let factor = if column == 0 { 1.0 } else { 2.0 };
                assert!(
                    near(*entry, factor * row / form.denominator),
                    "{text} {column}"
                );
            }
            let last = entries[entries.len() - 1];
            assert!(near(last, entries[0]), "{text}");
            // The sum over all columns is the same for all rows.
            let whole: f64 = entries.iter().sum();
            let of_row: f64 = form.row.iter().sum::<f64>() / form.denominator;
            assert!((whole / of_row / size as f64 - 1.0).abs() < 1e-9, "{text}");
        }
    }

    /// Sums stay within groups, and none is missing.
    #[test]
    fn groups_hold_all_sums() {
        for count in 1..=6 {
            let color_blocks = split(count);
            let tables = ColorMatrixTables::new(&color_blocks, 200, 400, WARPS).unwrap();
            let in_stage = tables.stage_count() == 1;
            let mut slots = 0;
            let mut sums = 0;
            for &start in &tables.group_starts {
                let group = &tables.groups[start as usize..];
                // What a sum names: coordinates of the group, or those of the stage, by the place of their real part.
                let (size, step, mut rest) = match in_stage {
                    true => (tables.slots.len(), 2, group),
                    false => (group[0] as usize, 1, &group[1 + group[0] as usize..]),
                };
                let many = rest[0] as usize;
                rest = &rest[1..];
                let mut met: Vec<u32> = Vec::new();
                for _ in 0..many {
                    let taken = rest[0] as usize;
                    assert!(
                        rest[1..=taken]
                            .iter()
                            .all(|&at| (at as usize) < size * step)
                    );
                    met.extend(&rest[1..=taken]);
                    rest = &rest[1 + taken..];
                }
                met.sort_unstable();
                met.dedup();
                slots += met.len();
                assert!(in_stage || met.len() == size);
                assert!(met.iter().all(|at| at % step as u32 == 0));
                sums += many;
            }
            let expected = color_blocks
                .passes
                .iter()
                .flatten()
                .filter(|o| o.0.len() > 1);
            assert_eq!(sums, expected.count(), "{count}");
            assert_eq!(
                slots,
                if count > 1 { color_blocks.flows } else { 0 },
                "{count}"
            );
        }
        assert!(ColorMatrixTables::new(&split(5), 4, 8, WARPS).is_none());
    }
}
