use super::{ColorSum, ColorSumTask};
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::color::symmetry::{Matrix, Work, commuting};
use mebridge_process::color::ColorMatrix;
use mebridge_process::color_ordered::orders;
use mebridge_simd::{Level, Real, Simd, Task, dispatch};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn color(n: usize, denominator: f64, mut entry: impl FnMut(usize, usize) -> f64) -> ColorMatrix {
    let pairs = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
    ColorMatrix {
        flows: n as u32,
        denominator,
        upper: pairs.map(|(i, j)| entry(i, j)).collect(),
    }
}

/// 6 to the power of the number of gluons, times the sum over their colours of a product of traces of `T^a`; by `T^a_ij
/// T^a_kl = (delta_il delta_kj - delta_ij delta_kl / 3) / 2`.
fn traces(mut words: Vec<Vec<u8>>) -> f64 {
    let Some(word) = words.iter().position(|w| !w.is_empty()) else {
        return words.iter().map(|_| 3.0).product();
    };
    let mut word = words.swap_remove(word);
    let gluon = word.remove(0);
    let (crossed, straight) = match word.iter().position(|&g| g == gluon) {
        Some(at) => {
            let (x, y) = (word[..at].to_vec(), word[at + 1..].to_vec());
            (vec![x.clone(), y.clone()], vec![[x, y].concat()])
        }
        None => {
            let find = |w: &Vec<u8>| w.iter().position(|&g| g == gluon);
            let other = words.iter().position(|w| find(w).is_some()).expect("pairs");
            let other = words.swap_remove(other);
            let at = find(&other).expect("found");
            let other = [&other[at + 1..], &other[..at]].concat();
            let joined = [word.clone(), other.clone()].concat();
            (vec![joined], vec![word, other])
        }
    };
    let with = |more: Vec<Vec<u8>>| traces([words.clone(), more].concat());
    3.0 * with(crossed) - with(straight)
}

/// Colour matrix of one quark line and gluons, or (`closed`) of gluons alone.
fn gluons(n: u8, closed: bool) -> ColorMatrix {
    let flows = orders(n.into());
    let mut known = std::collections::HashMap::new();
    let denominator = 6f64.powi(i32::from(n + u8::from(closed)));
    color(flows.len(), denominator, |i, j| {
        // Relabelled so that the first one is in order.
        let position = |g: u8| flows[i].iter().position(|&h| h == g).unwrap() as u8;
        let relative: Vec<u8> = flows[j].iter().map(|&g| position(g)).collect();
        *known.entry(relative.clone()).or_insert_with(|| {
            let mut left: Vec<u8> = (0..n).collect();
            let mut right: Vec<u8> = relative.into_iter().rev().collect();
            if closed {
                left.insert(0, n);
                right.push(n);
                traces(vec![left, right])
            } else {
                traces(vec![[left, right].concat()])
            }
        })
    })
}

struct EventSums<'a, T> {
    color: &'a ColorSum<T>,
    jamp: &'a [(f64, f64)],
    flows: usize,
}

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct CacheLine<T>([T; 16]);

impl<T: Real> Task<T> for EventSums<'_, T> {
    type Output = Vec<f64>;

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) -> Vec<f64> {
        let zero = T::from_f64(0.0);
        let mut memory = vec![CacheLine([zero; 16]); 2 * self.flows];
        let mut scratch = vec![CacheLine([zero; 16]); self.color.scratch().max(1)];
        let mut result = CacheLine([zero; 16]);
        let numbers: *mut T = memory.as_mut_ptr().cast();
        let mut results = Vec::new();
        for events in self.jamp.chunks_exact(V::LANES * self.flows) {
            for (i, &(re, im)) in events.iter().enumerate() {
                let (lane, flow) = (i / self.flows, i % self.flows);
                // SAFETY: vectors of at most 16 numbers.
                unsafe {
                    *numbers.add(2 * flow * V::LANES + lane) = T::from_f64(re);
                    *numbers.add((2 * flow + 1) * V::LANES + lane) = T::from_f64(im);
                }
            }
            let sum = ColorSumTask {
                color: self.color,
                jamp: numbers,
                scratch: scratch.as_mut_ptr().cast(),
                result: result.0.as_mut_ptr(),
            };
            // SAFETY: memory has the required sizes; the CPU supports the level.
            unsafe { V::call(sum) };
            results.extend(result.0[..V::LANES].iter().map(|x| x.to_f64()));
        }
        results
    }
}

fn jamps(n: usize) -> Vec<(f64, f64)> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut number = || 2.0 * random.random::<f64>() - 1.0;
    (0..16 * n).map(|_| (number(), number())).collect()
}

/// Compares all variants of the sum with the definition; returns the block-diagonal form.
fn check(matrix: &ColorMatrix, what: &str) -> BlockDiagonal {
    let color_blocks = BlockDiagonal::new(matrix);
    check_form(matrix, &color_blocks, what);
    color_blocks
}

fn check_form(matrix: &ColorMatrix, color_blocks: &BlockDiagonal, what: &str) {
    let n = matrix.flows as usize;
    let jamp = jamps(n);
    let direct = jamp.chunks_exact(n).map(|event| {
        let (mut sum, mut size) = (0.0, 0.0);
        for (i, a) in event.iter().enumerate() {
            for (j, b) in event.iter().enumerate() {
                let term = matrix.entry(i, j) * (a.0 * b.0 + a.1 * b.1);
                sum += term;
                size += term.abs();
            }
        }
        (sum, size)
    });
    let direct: Vec<(f64, f64)> = direct.collect();
    let compare = |level: Level, results: Vec<f64>, tolerance: f64| {
        assert_eq!(results.len(), direct.len());
        for (got, (sum, size)) in results.iter().zip(&direct) {
            // Sums of arbitrary JAMPs cancel if the matrix is not positive definite.
            let error = (got - sum).abs() / sum.abs().max(1e-2 * size);
            assert!(error <= tolerance, "{what} at {level}: {got} for {sum}");
        }
    };
    for level in Level::supported() {
        let double = ColorSum::new(color_blocks, |x| x);
        let single = ColorSum::new(color_blocks, |x| x as f32);
        let (flows, jamp) = (n, &jamp[..]);
        let (color, single) = (&double, &single);
        // SAFETY: the tasks own their memory.
        let (double, single) = unsafe {
            let double = dispatch(level, EventSums { color, jamp, flows });
            let color = single;
            (double, dispatch(level, EventSums { color, jamp, flows }))
        };
        compare(level, double, 1e-13);
        compare(level, single, 2e-5);
    }
}

/// Number of operations of a sum over the triangle.
fn triangle(n: usize) -> usize {
    n * (n + 3)
}

#[test]
fn one_quark_line_and_gluons() {
    for (n, least) in [(1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 5.0)] {
        let matrix = gluons(n, false);
        let color_blocks = check(&matrix, &format!("{n} gluons on a line"));
        let (before, after) = (triangle(color_blocks.flows), color_blocks.multiply_adds());
        println!("{n} gluons on a line: {before} -> {after}");
        assert!(before as f64 >= least * after as f64, "{before} -> {after}");
    }
}

#[test]
fn gluons_alone() {
    for (n, least) in [(2, 1.0), (3, 1.0), (4, 2.0), (5, 5.0)] {
        let matrix = gluons(n, true);
        let color_blocks = check(&matrix, &format!("{} gluons", n + 1));
        let (before, after) = (triangle(color_blocks.flows), color_blocks.multiply_adds());
        println!("{} gluons: {before} -> {after}", n + 1);
        assert!(before as f64 >= least * after as f64, "{before} -> {after}");
    }
}

/// The matrices that follow from their first row: by exchanges, and by all permutations.
#[test]
fn orders_of_gluons() {
    for (n, closed) in [(3, false), (5, false), (6, false), (5, true)] {
        let matrix = gluons(n, closed);
        let row: Vec<f64> = (0..matrix.flows as usize)
            .map(|j| matrix.entry(0, j) * matrix.denominator)
            .collect();
        let (count, denominator) = (usize::from(n), matrix.denominator);
        let by_exchanges = BlockDiagonal::of_orders(count, &row, denominator);
        check_form(&matrix, &by_exchanges, &format!("{n} by exchanges"));
        if let Some(by_names) = BlockDiagonal::of_names(count, &row, denominator) {
            check_form(&matrix, &by_names, &format!("{n} by names"));
            let (before, after) = (by_exchanges.multiply_adds(), by_names.multiply_adds());
            println!("{n} gluons: {before} -> {after}");
            assert!(after < before);
        }
    }
}

#[test]
fn matrices_without_symmetry_are_summed_as_they_are() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for n in [1, 2, 3, 4, 5, 7, 8, 24, 31] {
        let matrix = color(n, 3.0, |_, _| random.random::<f64>() - 0.25);
        let color_blocks = check(&matrix, &format!("{n} flows"));
        assert!(color_blocks.passes.is_empty());
        assert_eq!(color_blocks.multiply_adds(), triangle(n));
    }
}

/// Numbers 0..n with some pairs exchanged.
fn exchanges(n: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut image: Vec<usize> = (0..n).collect();
    for &(a, b) in pairs {
        image.swap(a, b);
    }
    image
}

/// A random matrix of integers with this symmetry and no other.
fn with_symmetry(image: &[usize], signs: &[f64]) -> ColorMatrix {
    let n = image.len();
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut entries = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in i..n {
            let x = (1000.0 * random.random::<f64>()).floor() - 500.0;
            let s = signs[i] * signs[j];
            for (a, b, x) in [(i, j, x), (image[i], image[j], s * x)] {
                entries[a][b] += x;
                if a != b {
                    entries[b][a] += x;
                }
            }
        }
    }
    color(n, 1.0, |i, j| entries[i][j])
}

#[test]
fn one_symmetry_is_found_with_its_signs() {
    let n = 26;
    let pairs: Vec<_> = (1..n - 1).step_by(2).map(|i| (i, i + 1)).collect();
    let image = exchanges(n, &pairs);
    let plus = vec![1.0; n];
    let mut signs = plus.clone();
    for &(a, b) in &pairs[4..9] {
        signs[a] = -1.0;
        signs[b] = -1.0;
    }
    // Flows 0 and n - 1 stay where they are, the last with a minus sign.
    signs[n - 1] = -1.0;
    for signs in [plus, signs] {
        let matrix = with_symmetry(&image, &signs);
        let full = Matrix::new(n, |i, j| matrix.entry(i, j));
        let found = commuting(&full, 3, &mut Work::limit(1 << 24));
        assert_eq!(found.len(), 1);
        for i in 0..n {
            assert_eq!(found[0].image[i] as usize, image[i]);
            assert_eq!(found[0].negative[i], signs[i] * signs[1] < 0.0);
        }
        let color_blocks = check(&matrix, "one symmetry");
        assert_eq!(color_blocks.blocks.len(), 2);
        assert!(color_blocks.multiply_adds() < triangle(n) * 2 / 3);
        // With one different entry there is no symmetry.
        let mut other = matrix.clone();
        other.upper[17] += 1.0;
        assert!(check(&other, "no symmetry").passes.is_empty());
    }
}

/// Two commuting involutions on orbits of four, of two (where one of them, the other or both do
/// nothing but give a sign) and of one, in a basis with random signs.
#[test]
fn orbits_of_all_kinds_with_signs() {
    for seed in 0..20 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // Images and signs under the two involutions in turn.
        let mut pair: [Vec<(usize, f64)>; 2] = [vec![], vec![]];
        for kind in [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 0] {
            let at = pair[0].len();
            let sign = if random.random() { 1.0 } else { -1.0 };
            let other = if random.random() { 1.0 } else { -1.0 };
            let (p, q): (&[usize], &[usize]) = match kind {
                0 => (&[1, 0, 3, 2], &[2, 3, 0, 1]),
                1 => (&[1, 0], &[0, 1]),
                2 => (&[0, 1], &[1, 0]),
                3 => (&[1, 0], &[1, 0]),
                _ => (&[0], &[0]),
            };
            let signs = match kind {
                0 => [1.0, 1.0],
                1 => [1.0, sign],
                2 | 3 => [sign, 1.0],
                _ => [sign, other],
            };
            for (all, (images, sign)) in pair.iter_mut().zip([(p, signs[0]), (q, signs[1])]) {
                all.extend(images.iter().map(|&i| (at + i, sign)));
            }
        }
        let n = pair[0].len();
        let flip = |flipped: bool| if flipped { -1.0 } else { 1.0 };
        // A third of the seeds leaves the signs of the basis alone.
        let basis: Vec<f64> = (0..n)
            .map(|_| flip(random.random() && seed % 3 != 0))
            .collect();
        let of = |i: usize, which: usize| {
            let (j, s) = pair[which][i];
            (j, s * basis[i] * basis[j])
        };
        let mut entries = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..n {
                let x = f64::from(random.random_range(-99..100));
                for element in 0..4 {
                    let mut to = [(i, 1.0), (j, 1.0)];
                    for (at, sign) in &mut to {
                        for which in 0..2 {
                            if element >> which & 1 == 1 {
                                let (image, s) = of(*at, which);
                                (*at, *sign) = (image, *sign * s);
                            }
                        }
                    }
                    let [(a, s), (b, t)] = to;
                    entries[a][b] += s * t * x;
                    entries[b][a] += s * t * x;
                }
            }
        }
        let matrix = color(n, 7.0, |i, j| entries[i][j]);
        let color_blocks = check(&matrix, &format!("orbits of all kinds, {seed}"));
        assert!(color_blocks.multiply_adds() < triangle(n) * 2 / 3, "{seed}");
    }
}

#[test]
fn symmetries_are_symmetries_and_commute() {
    for (matrix, expected) in [
        (gluons(4, false), 3),
        (gluons(5, false), 3),
        (gluons(4, true), 3),
    ] {
        let n = matrix.flows as usize;
        let full = Matrix::new(n, |i, j| matrix.entry(i, j));
        let found = commuting(&full, 3, &mut Work::limit(1 << 28));
        assert_eq!(found.len(), expected);
        for (k, p) in found.iter().enumerate() {
            assert!((0..n).any(|i| p.image(i).0 != i));
            for i in 0..n {
                let (a, s) = p.image(i);
                assert_eq!(p.image(a), (i, s));
                for j in 0..n {
                    let (b, t) = p.image(j);
                    let x = full[(a, b)];
                    assert_eq!(full[(i, j)], if s != t { -x } else { x });
                }
                for q in &found[k + 1..] {
                    assert_eq!(p.image(q.image(i).0).0, q.image(p.image(i).0).0);
                }
            }
        }
    }
}

#[test]
fn separate_parts_and_rows_of_zeros() {
    // Flows 0, 2, 4, ... couple only to each other; flow 3 to none.
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let matrix = color(9, 2.0, |i, j| {
        if i % 2 == j % 2 && i != 3 && j != 3 {
            random.random::<f64>()
        } else {
            0.0
        }
    });
    let color_blocks = check(&matrix, "parts");
    assert_eq!(color_blocks.blocks.len(), 2);
    assert_eq!(color_blocks.multiply_adds(), triangle(5) + triangle(3));
}

#[test]
fn a_search_that_takes_too_long_is_given_up() {
    let matrix = gluons(5, false);
    let full = Matrix::new(120, |i, j| matrix.entry(i, j));
    assert!(commuting(&full, 3, &mut Work::limit(1000)).is_empty());
    // All flows alike: any permutation is a symmetry.
    let alike = color(60, 1.0, |i, j| if i == j { 2.0 } else { 1.0 });
    let color_blocks = check(&alike, "all alike");
    assert!(color_blocks.multiply_adds() < triangle(60));
}

#[test]
fn six_gluons_on_a_line() {
    let matrix = gluons(6, false);
    let color_blocks = check(&matrix, "6 gluons on a line");
    println!("{} -> {}", triangle(720), color_blocks.multiply_adds());
    assert!(triangle(720) > 15 * color_blocks.multiply_adds());
}
