//! Compaction: points that are kept move to the front.

use crate::Rows;

/// A multiple of every register length, in points.
const MAX_LANES: usize = 8;

/// Collects the numbers of the points that passed, in ascending order.
pub fn collect_passed(passed: &[bool], kept: &mut Vec<u32>) {
    kept.clear();
    kept.resize(passed.len(), 0);
    let mut count = 0;
    for (point, passed) in (0..).zip(passed) {
        kept[count] = point;
        count += usize::from(*passed);
    }
    kept.truncate(count);
}

/// Keeps only these points, in ascending order. Lanes after the last point hold copies of it.
///
/// # Panics
/// If a point is out of range, or the points are not in ascending order.
pub fn keep_points(rows: &mut Rows, kept: &[u32]) {
    let rising = kept.windows(2).all(|two| two[0] < two[1]);
    let there = kept
        .last()
        .is_none_or(|&last| (last as usize) < rows.points());
    assert!(rising && there, "points to keep");
    rows.set_points(rows.points().next_multiple_of(MAX_LANES));
    for row in 0..rows.count() {
        let row = rows.row_mut(row);
        for (to, &from) in kept.iter().enumerate() {
            row[to] = row[from as usize];
        }
        if let Some(last) = kept.len().checked_sub(1) {
            let last = row[last];
            row[kept.len()..kept.len().next_multiple_of(MAX_LANES)].fill(last);
        }
    }
    rows.set_points(kept.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_move_to_the_front_of_all_rows() {
        for (points, every) in [(1, 1), (13, 2), (16, 3), (40, 5), (40, 41)] {
            let mut rows = Rows::new(3, points);
            for row in 0..3 {
                for (point, number) in rows.row_mut(row).iter_mut().enumerate() {
                    *number = (100 * row + point) as f64;
                }
            }
            let passed: Vec<bool> = (1..=points).map(|point| point % every == 0).collect();
            let mut found = vec![7; 3];
            collect_passed(&passed, &mut found);
            keep_points(&mut rows, &found);
            let wanted: Vec<usize> = (0..points).filter(|&point| passed[point]).collect();
            assert_eq!(rows.points(), wanted.len());
            for row in 0..3 {
                let numbers: Vec<f64> = wanted.iter().map(|p| (100 * row + p) as f64).collect();
                assert_eq!(rows.row(row), numbers);
            }
            rows.set_points(wanted.len().next_multiple_of(8));
            for row in 0..3 {
                let last = rows.row(row).get(wanted.len().wrapping_sub(1)).copied();
                let copies = rows.row(row).iter().skip(wanted.len());
                assert!(copies.copied().all(|number| Some(number) == last));
            }
        }
    }

    #[test]
    #[should_panic(expected = "points to keep")]
    fn a_point_that_is_not_there() {
        keep_points(&mut Rows::new(1, 3), &[0, 3]);
    }
}
