//! Symmetries of a colour matrix, found from its entries alone.
//!
//! A symmetry here is a permutation of the colour flows with a sign for each, `e_i -> s_i e_pi(i)`, that preserves the
//! matrix: `s_i s_j C(pi(i), pi(j)) = C(i, j)`. The search is restricted to involutions (`pi(pi(i)) = i`, `s_pi(i) =
//! s_i`). Examples are the exchange of two gluons and the reversal of all colour flows.
//!
//! The search guesses the image of one flow. From then on, the rows of flows with known images distinguish the others:
//! flow k is characterised by the entries `C(a, k)` in these rows, and its image must have the same entries in the rows
//! of the images. A flow with unique entries therefore has a known image as well; if no remaining flow has, the search
//! guesses again. The result is compared with the matrix entry by entry, using exact equality of `f64`.

use serde::{Deserialize, Serialize};
use std::ops::Index;

/// A real symmetric matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    size: usize,
    entries: Vec<f64>,
}

impl Matrix {
    /// Makes a matrix from a function for the entries (i, j) with j >= i.
    pub fn new(size: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut entries = vec![0.0; size * size];
        for i in 0..size {
            for j in i..size {
                let x = entry(i, j);
                entries[i * size + j] = x;
                entries[j * size + i] = x;
            }
        }
        Matrix { size, entries }
    }

    /// Whether this has `size` rows and all their entries, which a matrix from a damaged file may not have.
    pub fn is_square_of(&self, size: usize) -> bool {
        self.size == size && size.checked_mul(size) == Some(self.entries.len())
    }

    /// Number of rows and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// A row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.size..(i + 1) * self.size]
    }

    /// The submatrix with the given rows and the same columns.
    pub fn part(&self, rows: &[u32]) -> Matrix {
        Matrix::new(rows.len(), |i, j| {
            self[(rows[i] as usize, rows[j] as usize)]
        })
    }

    /// Connected components: sets of rows without entries between different sets. Rows of zeros are in no set.
    pub fn components(&self) -> Vec<Vec<u32>> {
        let mut seen = vec![false; self.size];
        let mut components = Vec::new();
        for first in 0..self.size {
            if seen[first] || self.row(first).iter().all(|&x| x == 0.0) {
                continue;
            }
            seen[first] = true;
            let mut rows = vec![first as u32];
            let mut next = 0;
            while let Some(&i) = rows.get(next) {
                next += 1;
                for (j, &x) in self.row(i as usize).iter().enumerate() {
                    if x != 0.0 && !seen[j] {
                        seen[j] = true;
                        rows.push(j as u32);
                    }
                }
            }
            rows.sort_unstable();
            components.push(rows);
        }
        components
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.entries[i * self.size + j]
    }
}

/// A signed permutation that is its own inverse.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Involution {
    /// The image of each flow.
    pub image: Vec<u32>,
    /// Whether each flow changes its sign.
    pub negative: Vec<bool>,
}

impl Involution {
    /// The image of flow `i`, and whether the sign changes.
    pub fn image(&self, i: usize) -> (usize, bool) {
        (self.image[i] as usize, self.negative[i])
    }

    /// The product of two commuting involutions: first `self`, then `next`.
    fn then(&self, next: &Involution) -> Involution {
        let images = (0..self.image.len()).map(|i| {
            let (j, s) = self.image(i);
            let (k, t) = next.image(j);
            (k as u32, s != t)
        });
        let (image, negative) = images.unzip();
        Involution { image, negative }
    }

    fn commutes_with(&self, other: &Involution) -> bool {
        (0..self.image.len()).all(|i| {
            let (a, s) = self.image(i);
            let (b, t) = other.image(i);
            let ((ab, st), (ba, ts)) = (other.image(a), self.image(b));
            ab == ba && (s != st) == (t != ts)
        })
    }

    /// Whether the involutions are equal, or opposite in all signs; both split the matrix in the same way.
    fn splits_as(&self, other: &Involution) -> bool {
        let signs = || self.negative.iter().zip(&other.negative);
        self.image == other.image && (signs().all(|(a, b)| a == b) || signs().all(|(a, b)| a != b))
    }

    /// Whether this preserves the matrix, checking every `step`-th row.
    fn preserves(&self, matrix: &Matrix, step: usize, work: &mut Work) -> bool {
        let n = matrix.size();
        (0..n).step_by(step).all(|i| {
            let (a, s) = self.image(i);
            let (from, to) = (matrix.row(i), matrix.row(a));
            work.add(n);
            (0..n).all(|j| {
                let x = to[self.image[j] as usize];
                from[j] == if s != self.negative[j] { -x } else { x }
            })
        })
    }

    /// A value that is equal for involutions related by a symmetry of the matrix.
    fn class(&self, matrix: &Matrix) -> (usize, u64) {
        let n = matrix.size();
        let (mut moved, mut kind) = (0, 0u64);
        for i in 0..n {
            let (j, s) = self.image(i);
            let x = token(matrix[(i, j)]);
            kind = kind.wrapping_add(mix(if s { x.wrapping_neg() } else { x }));
            moved += usize::from(j != i);
        }
        (n - moved, kind)
    }
}

/// Remaining work for the search, in matrix entries examined.
#[derive(Debug)]
pub struct Work(usize);

impl Work {
    /// Allows `entries` entries to be examined.
    pub fn limit(entries: usize) -> Self {
        Work(entries)
    }

    fn add(&mut self, entries: usize) {
        self.0 = self.0.saturating_sub(entries);
    }

    fn spent(&self) -> bool {
        self.0 == 0
    }
}

/// Number of rows compared before an involution is accepted as a candidate; those that are used are compared in full.
const ROWS_TRIED: usize = 8;
/// Number of roots to try if there already are symmetries, in a matrix of at most [`LARGE`] rows.
const ROOTS: usize = 3;
/// Larger matrices use one root only.
const LARGE: usize = 1000;
/// Number of candidates for each image of a root.
const EACH: usize = 4;

/// Finds at most `most` commuting, independent involutions that preserve a matrix.
///
/// They are chosen such that many other symmetries commute with them. The number of involutions in a class (those
/// related by symmetries) is the order of the symmetry group divided by the number of symmetries that commute with one
/// of them. The fewer powers of two this number contains, the more are left for the blocks.
pub fn commuting(matrix: &Matrix, most: usize, work: &mut Work) -> Vec<Involution> {
    let mut candidates = involutions(matrix, work);
    let mut chosen: Vec<Involution> = Vec::new();
    let mut products: Vec<Involution> = Vec::new();
    while chosen.len() < most {
        let classes: Vec<_> = candidates.iter().map(|c| c.class(matrix)).collect();
        let rank = |i: usize| {
            let count = classes.iter().filter(|&&c| c == classes[i]).count();
            let negative = candidates[i].negative.iter().any(|&s| s);
            (count.trailing_zeros(), negative, classes[i].0, i)
        };
        let Some(best) = (0..candidates.len()).min_by_key(|&i| rank(i)) else {
            break;
        };
        let best = candidates.swap_remove(best);
        if !best.preserves(matrix, 1, work) {
            continue;
        }
        let further: Vec<_> = products.iter().map(|p| p.then(&best)).collect();
        products.extend(further);
        products.push(best.clone());
        candidates.retain(|c| c.commutes_with(&best) && !products.iter().any(|p| p.splits_as(c)));
        chosen.push(best);
    }
    chosen
}

/// Finds involutions that preserve a matrix, as far as some rows show, but not necessarily all. Signs are chosen such
/// that the first flow that moves does so with a plus.
fn involutions(matrix: &Matrix, work: &mut Work) -> Vec<Involution> {
    let n = matrix.size();
    let profile: Vec<u64> = (0..n)
        .map(|i| {
            let row = matrix.row(i).iter();
            row.fold(mix(token(matrix[(i, i)])), |sum, &x| {
                sum.wrapping_add(mix(token(x.abs())))
            })
        })
        .collect();
    work.add(n * n);
    let mut search = Search {
        matrix,
        profile,
        work,
        results: Vec::new(),
    };
    for root in 0..n {
        if (root >= ROOTS || n > LARGE) && !search.results.is_empty() {
            break;
        }
        let seen: Vec<[u64; 2]> = matrix.row(root).iter().map(|&x| two_tokens(x)).collect();
        for image in root + 1..n {
            if search.work.spent() {
                return search.results;
            }
            if search.profile[root] == search.profile[image] && search.may_exchange(&seen, image) {
                let mut guess = Guess::new(n);
                guess.set(root, image, false);
                guess.see(matrix, root);
                let most = search.results.len() + EACH;
                search.complete(guess, root, most);
            }
        }
    }
    search.results
}

struct Search<'a, 'w> {
    matrix: &'a Matrix,
    /// A hash for each flow that is equal for flows which may be images of each other.
    profile: Vec<u64>,
    work: &'w mut Work,
    results: Vec<Involution>,
}

/// Marks an image that has not been decided.
const OPEN: u32 = u32::MAX;

/// A partially known involution.
#[derive(Clone)]
struct Guess {
    image: Vec<u32>,
    negative: Vec<bool>,
    open: usize,
    /// For each flow a hash of its entries in the rows of known flows; odd under sign changes.
    hashes: Vec<u64>,
    /// The hash that its image must have, up to the sign.
    image_hashes: Vec<u64>,
    /// Number of rows included in the hashes.
    rows: u64,
}

impl Guess {
    fn new(n: usize) -> Self {
        Guess {
            image: vec![OPEN; n],
            negative: vec![false; n],
            open: n,
            hashes: vec![0; n],
            image_hashes: vec![0; n],
            rows: 0,
        }
    }

    fn set(&mut self, a: usize, b: usize, negative: bool) {
        for (from, to) in [(a, b), (b, a)] {
            self.open -= usize::from(self.image[from] == OPEN);
            self.image[from] = to as u32;
            self.negative[from] = negative;
        }
    }

    /// Includes the rows of a flow and its image in the hashes.
    fn see(&mut self, matrix: &Matrix, a: usize) {
        let b = self.image[a] as usize;
        let (r, s) = (mix(2 * self.rows + 1), mix(2 * self.rows + 2));
        self.rows += 1;
        let minus = self.negative[a];
        let rows = matrix.row(a).iter().zip(matrix.row(b));
        for ((hash, image_hash), (&x, &y)) in
            self.hashes.iter_mut().zip(&mut self.image_hashes).zip(rows)
        {
            let (x, y) = (token(x), token(y));
            let sees = |x: u64, y: u64| r.wrapping_mul(x).wrapping_add(s.wrapping_mul(y));
            *hash = hash.wrapping_add(sees(x, y));
            let image = sees(y, x);
            *image_hash = image_hash.wrapping_add(if minus { image.wrapping_neg() } else { image });
        }
    }
}

impl Search<'_, '_> {
    /// Whether the pairs of entries (in the root's row and that of its image) are the same after exchanging the two
    /// rows; `seen` are the tokens of the root's row.
    fn may_exchange(&mut self, seen: &[[u64; 2]], image: usize) -> bool {
        self.work.add(seen.len());
        let row = self.matrix.row(image).iter().map(|&y| two_tokens(y));
        let difference = seen.iter().zip(row).fold(0u64, |sum, ([x, xx], [y, yy])| {
            sum.wrapping_add(x.wrapping_mul(yy))
                .wrapping_sub(y.wrapping_mul(*xx))
        });
        difference == 0
    }

    /// Completes a guess, adding the resulting involutions until there are `most`.
    fn complete(&mut self, mut guess: Guess, root: usize, most: usize) {
        let n = self.matrix.size();
        let key = |profile: u64, seen: u64| mix(profile ^ mix(seen.min(seen.wrapping_neg())));
        let mut sorted_keys: Vec<(u64, u32)> = Vec::new();
        while guess.open > 0 {
            self.work.add(4 * n);
            if self.work.spent() {
                return;
            }
            let image_keys = self.profile.iter().zip(&guess.image_hashes);
            let image_keys: Vec<u64> = image_keys.map(|(&p, &w)| key(p, w)).collect();
            sorted_keys.clear();
            let keys = self.profile.iter().zip(&guess.hashes).zip(0..);
            sorted_keys.extend(keys.map(|((&p, &o), i)| (key(p, o), i)));
            let sum = |keys: &mut dyn Iterator<Item = u64>| keys.fold(0u64, u64::wrapping_add);
            if sum(&mut sorted_keys.iter().map(|k| k.0)) != sum(&mut image_keys.iter().copied()) {
                return;
            }
            sorted_keys.sort_unstable();
            let cell = |k: usize| {
                let first = sorted_keys.partition_point(|x| x.0 < image_keys[k]);
                let length = sorted_keys[first..].partition_point(|x| x.0 == image_keys[k]);
                &sorted_keys[first..first + length]
            };
            // Finds the flows whose image is now determined, and among the others the one with the fewest possible
            // images.
            let mut seen = 0;
            let mut fewest: Option<(usize, usize)> = None;
            let mut new = Vec::new();
            for k in 0..n {
                if guess.image[k] != OPEN {
                    continue;
                }
                let cell = cell(k);
                match cell {
                    [] => return,
                    [(_, m)] if guess.hashes[*m as usize] != 0 => {
                        let m = *m as usize;
                        if guess.image[m] != OPEN {
                            return;
                        }
                        guess.set(k, m, guess.hashes[m] != guess.image_hashes[k]);
                        new.push(k);
                    }
                    _ => {
                        if fewest.is_none_or(|(_, least)| cell.len() < least) {
                            fewest = Some((k, cell.len()));
                        }
                    }
                }
            }
            if guess.open == 0 {
                break;
            }
            for &k in new.iter().take(2) {
                guess.see(self.matrix, k);
                self.work.add(n);
                seen += 1;
            }
            if seen > 0 {
                continue;
            }
            let Some((k, _)) = fewest else { return };
            for &(_, m) in cell(k) {
                // Avoids copying a guess at each level of recursion once the limit has been reached.
                if self.work.spent() {
                    return;
                }
                let m = m as usize;
                if guess.image[m] != OPEN {
                    continue;
                }
                for negative in [false, true] {
                    let sees = guess.hashes[m];
                    let sees = if negative { sees.wrapping_neg() } else { sees };
                    if sees == guess.image_hashes[k] && self.results.len() < most {
                        let mut next = guess.clone();
                        next.set(k, m, negative);
                        next.see(self.matrix, k);
                        self.complete(next, root, most);
                    }
                }
            }
            return;
        }
        let results = Involution {
            image: guess.image,
            negative: guess.negative,
        };
        let fixed = (0..root).all(|i| results.image[i] as usize == i);
        if fixed && results.preserves(self.matrix, n.div_ceil(ROWS_TRIED), self.work) {
            self.results.push(results);
        }
    }
}

/// A hash of a value; opposite values have opposite hashes.
fn token(x: f64) -> u64 {
    if x == 0.0 {
        0
    } else if x < 0.0 {
        mix((-x).to_bits()).wrapping_neg()
    } else {
        mix(x.to_bits())
    }
}

/// Two independent hashes of a value; opposite values have opposite hashes.
fn two_tokens(x: f64) -> [u64; 2] {
    let first = token(x);
    let odd = first.min(first.wrapping_neg());
    let second = mix(odd ^ 0x9e37_79b9_7f4a_7c15);
    let second = if first == 0 {
        0
    } else if first == odd {
        second
    } else {
        second.wrapping_neg()
    };
    [first, second]
}

/// Mixes bits (the final step of SplitMix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
