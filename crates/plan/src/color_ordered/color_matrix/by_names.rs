//! Block-diagonal form of the colour matrix of JAMPs by insertion order, using permutations of the labels of four
//! insertions and of the others.
//!
//! The matrix depends only on the order of one JAMP relative to the other, so relabelling insertions does not change
//! it. The labels of four insertions (A) and of up to three others (B) are permuted: an order consists of a permutation
//! of A, one of B, and a *word* that specifies the positions of the insertions of A. Let `r(g)` be the orthogonal
//! matrices of an irreducible representation of dimension m. The sums over all permutations `G_ij(word) = sum of x(g
//! word) r(g)_ij` have the same matrix block for each i: `m / |G| sum of C(word, g word') r(g)_jl`. Reversal maps words
//! to words, and so splits each block in two.
//!
//! The sums are carried out as exchanges and three-cycles (see [`Orbit`]). The normal subgroup of A = `S_4`, with its
//! three double exchanges, comes first: of its four characters `S_3` preserves the trivial one and permutes the others.

use crate::color::block_diagonal::{BlockDiagonal, Coordinate, DiagonalBlock, Orbit};
use crate::color::symmetry::Matrix;
use mebridge_process::color_ordered::{number_of, orders};

/// Number of insertions in A.
const FOUR: usize = 4;
/// Maximum number of insertions: four, and three others.
const MAX_INSERTIONS: usize = FOUR + 3;

type Permutation = Vec<u8>;

/// An irreducible representation.
struct Irrep {
    /// `[element]`: representation matrices.
    matrices: Vec<Vec<Vec<f64>>>,
    /// `[i][j]`: the element at whose place the sum G_ij is finally stored; the stored sum is too large by the factor
    /// `scale`.
    places: Vec<Vec<usize>>,
    scale: f64,
}

impl Irrep {
    fn dimension(&self) -> usize {
        self.places.len()
    }
}

/// A group of permutations, and the steps by which sums over it are computed.
struct PermutationGroup {
    elements: Vec<Permutation>,
    /// Elements to be summed, in the order of the steps.
    signs: Vec<Vec<usize>>,
    pairs: Vec<Vec<usize>>,
    threes: Vec<Vec<usize>>,
    irreps: Vec<Irrep>,
}

fn product(p: &[u8], q: &[u8]) -> Permutation {
    q.iter().map(|&x| p[usize::from(x)]).collect()
}

/// Rotates the first three letters `turns` times, then exchanges the first and the third if `exchanged`.
fn turned(turns: usize, exchanged: bool, letters: usize) -> Permutation {
    let turn = |x: u8| match x {
        0..3 => (x + turns as u8) % 3,
        _ => x,
    };
    let exchange = |x: u8| match (exchanged, x) {
        (true, 0) => 2,
        (true, 2) => 0,
        _ => x,
    };
    (0..letters as u8).map(|x| exchange(turn(x))).collect()
}

/// Places and scales of the representations of `S_3`; `place` maps rotations and exchange to an element.
fn of_three(place: impl Fn(usize, bool) -> usize) -> Vec<(Vec<Vec<usize>>, f64)> {
    vec![
        (vec![vec![place(0, false)]], 1.0),
        (vec![vec![place(0, true)]], 1.0),
        (
            vec![
                vec![place(2, false), place(1, false)],
                vec![place(2, true), place(1, true)],
            ],
            2.0,
        ),
    ]
}

/// The three-cycle sums for [`of_three`].
fn threes_of(place: impl Fn(usize, bool) -> usize) -> Vec<Vec<usize>> {
    vec![
        [0, 2, 1].map(|turns| place(turns, false)).to_vec(),
        [0, 1, 2].map(|turns| place(turns, true)).to_vec(),
    ]
}

/// The representation matrices of a permutation of three, given by rotations and exchange.
fn matrices_of_three(turns: usize, exchanged: bool) -> [Vec<Vec<f64>>; 3] {
    let (sin, cos) = (turns as f64 * std::f64::consts::TAU / 3.0).sin_cos();
    let sign = if exchanged { -1.0 } else { 1.0 };
    [
        vec![vec![1.0]],
        vec![vec![sign]],
        vec![vec![cos, -sin], vec![sign * sin, sign * cos]],
    ]
}

impl PermutationGroup {
    /// All permutations of at most three letters.
    fn up_to_three(letters: usize) -> PermutationGroup {
        if letters < 3 {
            let both = if letters == 2 { 2 } else { 1 };
            let letters = letters as u8;
            let ascending: Permutation = (0..letters).collect();
            let irrep = |sign: f64, place: usize| Irrep {
                matrices: [1.0, sign][..both].iter().map(|&x| vec![vec![x]]).collect(),
                places: vec![vec![place]],
                scale: 1.0,
            };
            let descending: Permutation = (0..letters).rev().collect();
            return PermutationGroup {
                elements: [ascending, descending][..both].to_vec(),
                signs: vec![(0..both).collect()],
                pairs: Vec::new(),
                threes: Vec::new(),
                irreps: (0..both)
                    .map(|place| irrep([1.0, -1.0][place], place))
                    .collect(),
            };
        }
        let place = |turns: usize, exchanged: bool| 2 * turns + usize::from(exchanged);
        let all = || (0..3).flat_map(|turns| [false, true].map(|exchanged| (turns, exchanged)));
        let irreps = of_three(place).into_iter().enumerate();
        let irreps = irreps.map(|(number, (places, scale))| Irrep {
            matrices: all()
                .map(|(turns, exchanged)| matrices_of_three(turns, exchanged)[number].clone())
                .collect(),
            places,
            scale,
        });
        PermutationGroup {
            elements: all()
                .map(|(turns, exchanged)| turned(turns, exchanged, 3))
                .collect(),
            signs: (0..3)
                .map(|turns| vec![place(turns, false), place(turns, true)])
                .collect(),
            pairs: Vec::new(),
            threes: threes_of(place),
            irreps: irreps.collect(),
        }
    }

    /// All permutations of four letters.
    fn four() -> PermutationGroup {
        // Number v > 0 exchanges the last letter with v - 1, and the other two.
        let of_normal = |v: usize| -> Permutation {
            let with = |x: u8| match v {
                0 => x,
                _ => {
                    let partner = v as u8 - 1;
                    let rest: u8 = 3 - partner;
                    match x {
                        3 => partner,
                        x if x == partner => 3,
                        x => rest - x,
                    }
                }
            };
            (0..4).map(with).collect()
        };
        let sixths = || (0..3).flat_map(|turns| [false, true].map(|exchanged| (turns, exchanged)));
        let place =
            |v: usize, turns: usize, exchanged: bool| 6 * v + 2 * turns + usize::from(exchanged);
        let all = || (0..4).flat_map(|v| sixths().map(move |(t, e)| (v, t, e)));
        // The product of the first two double exchanges is the third. In the signed sums, character i (plus for number
        // i + 1 alone) is at the number that has an odd number of bits in common with the other two.
        let at = [2, 1, 3];
        let sigma = |turns: usize, exchanged: bool| turned(turns, exchanged, 3);
        // The even and odd permutations of three that map j to i.
        let taking = |i: usize, j: usize, exchanged: bool| {
            let takes = |turns: &usize| usize::from(sigma(*turns, exchanged)[j]) == i;
            (0..3).find(takes).expect("one of the turns does")
        };
        let mut pairs: Vec<Vec<usize>> = (0..3)
            .map(|turns| vec![place(0, turns, false), place(0, turns, true)])
            .collect();
        for (i, at) in at.into_iter().enumerate() {
            for j in 0..3 {
                let both = [false, true].map(|e| place(at, taking(i, j, e), e));
                pairs.push(both.to_vec());
            }
        }
        let mut irreps: Vec<Irrep> = of_three(|turns, e| place(0, turns, e))
            .into_iter()
            .enumerate()
            .map(|(number, (places, scale))| Irrep {
                matrices: all()
                    .map(|(_, turns, e)| matrices_of_three(turns, e)[number].clone())
                    .collect(),
                places,
                scale,
            })
            .collect();
        for odd in [false, true] {
            let matrix = |(v, turns, e): (usize, usize, bool)| {
                let sigma = sigma(turns, e);
                let entry = |i: usize, j: usize| {
                    if usize::from(sigma[j]) != i {
                        return 0.0;
                    }
                    let plus = v == 0 || v == i + 1;
                    if plus != (odd && e) { 1.0 } else { -1.0 }
                };
                (0..3)
                    .map(|i| (0..3).map(|j| entry(i, j)).collect())
                    .collect()
            };
            let of = |i: usize, j: usize| place(at[i], taking(i, j, odd), odd);
            irreps.push(Irrep {
                matrices: all().map(matrix).collect(),
                places: (0..3).map(|i| (0..3).map(|j| of(i, j)).collect()).collect(),
                scale: 1.0,
            });
        }
        PermutationGroup {
            elements: all()
                .map(|(v, turns, e)| product(&of_normal(v), &turned(turns, e, 4)))
                .collect(),
            signs: sixths()
                .map(|(turns, e)| (0..4).map(|v| place(v, turns, e)).collect())
                .collect(),
            pairs,
            threes: threes_of(|turns, e| place(0, turns, e)),
            irreps,
        }
    }
}

/// A word, stored as the order in which the insertions of A and those of B are ascending; or the reverse of that order.
struct LabelledWord {
    order: Vec<u8>,
    /// Whether the word equals its reverse.
    palindrome: bool,
}

/// All orders, as permutations and words.
struct PermutationTable {
    a: PermutationGroup,
    b: PermutationGroup,
    words: Vec<LabelledWord>,
}

impl BlockDiagonal {
    /// The block-diagonal form for all orders of `count` insertions, given the first row of the matrix. `None` if there
    /// are too few or too many insertions.
    pub fn of_names(count: usize, row: &[f64], denominator: f64) -> Option<BlockDiagonal> {
        if !(FOUR + 1..=MAX_INSERTIONS).contains(&count) {
            return None;
        }
        let orders = PermutationTable::new(count);
        let mut passes = Vec::new();
        for pair in orders.pairs() {
            passes.extend(orders.passes(&pair));
        }
        let mut blocks = Vec::new();
        for a in &orders.a.irreps {
            for b in &orders.b.irreps {
                orders.add_blocks(a, b, row, &mut blocks);
            }
        }
        Some(BlockDiagonal {
            flows: row.len(),
            passes,
            blocks,
            denominator,
        })
    }
}

impl PermutationTable {
    fn new(count: usize) -> PermutationTable {
        let ascending: Vec<u8> = (0..count as u8).collect();
        let is_a = |x: &u8| usize::from(*x) < FOUR;
        let ascends = |order: &[u8], a: bool| {
            let of = order.iter().filter(|x| is_a(x) == a);
            of.is_sorted()
        };
        let mut words: Vec<LabelledWord> = Vec::new();
        for order in orders(count) {
            if !ascends(&order, true) || !ascends(&order, false) {
                continue;
            }
            let letters: Vec<bool> = order.iter().map(is_a).collect();
            let backwards: Vec<bool> = letters.iter().rev().copied().collect();
            if letters < backwards {
                // The reversed word is read in reverse order.
                let order_backwards = order.iter().rev().copied().collect();
                let both = [order, order_backwards];
                words.extend(both.map(|order| LabelledWord {
                    order,
                    palindrome: false,
                }));
            } else if letters == backwards {
                words.push(LabelledWord {
                    order,
                    palindrome: true,
                });
            }
        }
        PermutationTable {
            a: PermutationGroup::four(),
            b: PermutationGroup::up_to_three(ascending.len() - FOUR),
            words,
        }
    }

    /// Groups words with their reverses.
    fn pairs(&self) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = Vec::new();
        let mut next = 0;
        while next < self.words.len() {
            let size = if self.words[next].palindrome { 1 } else { 2 };
            all.push((next..next + size).collect());
            next += size;
        }
        all
    }

    fn order(&self, word: usize, a: &[u8], b: &[u8]) -> Vec<u8> {
        let named = |&x: &u8| match usize::from(x) {
            x if x < FOUR => a[x],
            x => FOUR as u8 + b[x - FOUR],
        };
        self.words[word].order.iter().map(named).collect()
    }

    fn coordinate(&self, word: usize, a: usize, b: usize) -> Coordinate {
        number_of(&self.order(word, &self.a.elements[a], &self.b.elements[b])) as Coordinate
    }

    /// The sums for some words.
    fn passes(&self, words: &[usize]) -> Vec<Vec<Orbit>> {
        let mut passes = vec![Vec::new(); 4];
        let all = |group: &PermutationGroup| 0..group.elements.len();
        for &word in words {
            for a in &self.a.signs {
                for b in &self.b.signs {
                    let coordinates = b.iter().flat_map(|&b| a.iter().map(move |&a| (a, b)));
                    let coordinates = coordinates.map(|(a, b)| self.coordinate(word, a, b));
                    passes[0].push(Orbit(coordinates.collect()));
                }
            }
            for b in all(&self.b) {
                for a in &self.a.threes {
                    let coordinates = a.iter().map(|&a| self.coordinate(word, a, b));
                    passes[2].push(Orbit(coordinates.collect()));
                }
            }
            for a in all(&self.a) {
                for b in &self.b.threes {
                    let coordinates = b.iter().map(|&b| self.coordinate(word, a, b));
                    passes[3].push(Orbit(coordinates.collect()));
                }
            }
        }
        for b in all(&self.b) {
            for a in &self.a.pairs {
                let coordinates = words
                    .iter()
                    .flat_map(|&word| a.iter().map(move |&a| self.coordinate(word, a, b)));
                passes[1].push(Orbit(coordinates.collect()));
            }
        }
        passes.retain(|pass| !pass.is_empty());
        passes
    }

    /// Adds the blocks of a product of representations.
    fn add_blocks(&self, a: &Irrep, b: &Irrep, row: &[f64], blocks: &mut Vec<DiagonalBlock>) {
        let (m, n) = (a.dimension(), b.dimension());
        let elements = (self.a.elements.len() * self.b.elements.len()) as f64;
        let scale = (m * n) as f64 / elements / (a.scale * b.scale).powi(2);
        let pairs = self.pairs();
        // For two words, the sum of matrix entries over all permutations, for each j and l.
        let mut known: Vec<Vec<f64>> = Vec::new();
        for first in &pairs {
            for second in 0..self.words.len() {
                known.push(self.between(first[0], second, a, b, row));
            }
        }
        for backwards in [false, true] {
            // Rows: pairs of words, with j.
            let mut rows = Vec::new();
            for (pair, words) in pairs.iter().enumerate() {
                for j in 0..m * n {
                    if words.len() == 2 || self.is_odd(words[0], a, b, j) == backwards {
                        rows.push((pair, j));
                    }
                }
            }
            if rows.is_empty() {
                continue;
            }
            let matrix = Matrix::new(rows.len(), |x, y| {
                let ((first, j), (second, l)) = (rows[x], rows[y]);
                let at = |word: usize| known[first * self.words.len() + word][j * m * n + l];
                let sum = match pairs[second][..] {
                    [word, other] if backwards => (at(word) - at(other)) / 2.0,
                    [word, other] => (at(word) + at(other)) / 2.0,
                    [word] => at(word),
                    _ => 0.0,
                };
                scale * sum
            });
            for i in 0..m * n {
                let coordinates = rows.iter().map(|&(pair, j)| {
                    let words = &pairs[pair];
                    let word = words[if backwards { words.len() - 1 } else { 0 }];
                    let a = a.places[i / n][j / n];
                    let b = b.places[i % n][j % n];
                    // Sums that are odd under reversal are stored at the second word.
                    self.coordinate(word, a, b)
                });
                blocks.push(DiagonalBlock {
                    coordinates: coordinates.collect(),
                    matrix: matrix.clone(),
                });
            }
        }
    }

    /// Whether reversal changes the sign of the sum with index j, for a word that equals its reverse.
    fn is_odd(&self, word: usize, a: &Irrep, b: &Irrep, j: usize) -> bool {
        let backwards: Vec<u8> = self.words[word].order.iter().rev().copied().collect();
        let with = |group: &PermutationGroup, first: usize| {
            let letters = backwards.iter().map(|&x| usize::from(x));
            let letters = letters.filter(|x| (first..first + group.elements[0].len()).contains(x));
            let letters: Permutation = letters.map(|x| (x - first) as u8).collect();
            let element = group.elements.iter().position(|p| *p == letters);
            element.expect("all permutations are there")
        };
        let (m, n) = (j / b.dimension(), j % b.dimension());
        let of_a = a.matrices[with(&self.a, 0)][m][m];
        let of_b = b.matrices[with(&self.b, FOUR)][n][n];
        of_a * of_b < 0.0
    }

    /// For each j and l, the sum over permutations of the matrix entry between a word and the permuted other word,
    /// times the representation matrix.
    fn between(&self, word: usize, other: usize, a: &Irrep, b: &Irrep, row: &[f64]) -> Vec<f64> {
        let (m, n) = (a.dimension(), b.dimension());
        let mut place = [0; MAX_INSERTIONS];
        for (at, &x) in (0..).zip(&self.words[word].order) {
            place[usize::from(x)] = at;
        }
        let mut sums = vec![0.0; m * n * m * n];
        for (p, of_a) in self.a.elements.iter().zip(&a.matrices) {
            for (q, of_b) in self.b.elements.iter().zip(&b.matrices) {
                let order = self.order(other, p, q);
                let seen: Vec<u8> = order.iter().map(|&x| place[usize::from(x)]).collect();
                let x = row[number_of(&seen)];
                for (j, rest) in sums.chunks_exact_mut(m * n).enumerate() {
                    for (l, sum) in rest.iter_mut().enumerate() {
                        *sum += x * of_a[j / n][l / n] * of_b[j % n][l % n];
                    }
                }
            }
        }
        sums
    }
}
