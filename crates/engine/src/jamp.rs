//! Computation of JAMPs from amplitudes, and of JAMP2.
//!
//! Most coefficients are 1, -1, i or -i ([`mebridge_plan::sums`]). The sums are short and numerous, so the overhead per
//! sum matters. The plan therefore lists sums of the same shape consecutively, and the engine reads the numbers of
//! terms once for all of them. Terms are stored as offsets from the beginning of memory. The square of a JAMP is added
//! to JAMP2 while the JAMP is in registers.
//!
//! Colour flows that differ in the order of some gluons share terms, up to a sign. Two such sums are computed together:
//! their common terms are loaded and added once, and stay in registers.

use mebridge_ops::Address;
use mebridge_plan::sums::{SumTerm, Sums};
use mebridge_simd::{Cx, Real, Simd, Task};
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Reverse;

/// The JAMP sums of a plan for one SIMD level.
pub(super) struct JampSums<T> {
    /// Runs of sums of one shape: first intermediate sums, then those that are JAMPs.
    runs: [Vec<SumShape>; 2],
    /// JAMPs that are computed in pairs; their places come last.
    pairs: Vec<ShapedPairs>,
    /// For each sum the places of its result and of its square, then of its terms with unit coefficients.
    places: Vec<u32>,
    /// Terms with other coefficients.
    terms: Vec<JampTerm<T>>,
}

/// Number of sums, and their common shape.
#[derive(Clone, Copy)]
struct SumShape {
    sums: u32,
    /// Numbers of terms with coefficients 1, -1, i and -i.
    units: [u32; 4],
    /// Number of other terms.
    terms: u32,
}

/// Pairs of sums of one shape, whose terms all have unit coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ShapedPairs {
    pairs: u32,
    shape: PairShape,
}

/// Numbers of terms with coefficients 1, -1, i and -i: terms in both sums (with their coefficients in the first), in
/// the first sum alone, and in the second alone; and whether the second sum has the common terms with opposite signs.
type PairShape = ([[u32; 4]; 3], bool);

/// Indices of the sums.
struct JampPair {
    /// The numbers of the sums.
    sums: [usize; 2],
    shape: PairShape,
    units: Vec<Address>,
}

/// [`mebridge_plan::sums::SumTerm`] in the engine's precision.
struct JampTerm<T> {
    re: u32,
    im: u32,
    factor_re: T,
    factor_im: T,
}

/// Number of places of a sum that precede its terms.
const HEAD: usize = 2;

impl<T: Real> JampSums<T> {
    /// Lays out the sums for vectors of `lanes` lanes. `jamp2` returns the address of the square of the JAMP at an
    /// address, or `None` if it is not a JAMP.
    pub(super) fn new(
        sums: &Sums,
        jamp2: impl Fn(Address) -> Option<Address>,
        lanes: usize,
    ) -> Self {
        let lanes = lanes as u32;
        let mut layout = JampSums {
            runs: Default::default(),
            pairs: Vec::new(),
            places: Vec::new(),
            terms: Vec::new(),
        };
        let pairs = pairs(sums, &jamp2);
        let mut in_pair = vec![false; sums.sums.len()];
        for at in pairs.iter().flat_map(|pair| pair.sums) {
            in_pair[at] = true;
        }
        for is_jamp in [false, true] {
            let (mut units, mut terms) = (&sums.units[..], &sums.terms[..]);
            for (sum, in_pair) in sums.sums.iter().zip(&in_pair) {
                let units = front(&mut units, sum.units.iter().sum());
                let terms = front(&mut terms, sum.terms);
                let square = jamp2(sum.address);
                if square.is_some() == is_jamp && !in_pair {
                    let head = [sum.address, square.unwrap_or(sum.address)];
                    let places = head.into_iter().chain(units.iter().copied());
                    layout.push(is_jamp, (sum.units, sum.terms), places, terms, lanes);
                }
            }
        }
        for pair in pairs {
            for address in pair.sums.map(|at| sums.sums[at].address) {
                let head = [address, jamp2(address).unwrap_or(address)];
                layout.places.extend(head.map(|address| address * lanes));
            }
            layout.places.extend(pair.units.iter().map(|at| at * lanes));
            match layout.pairs.last_mut() {
                Some(run) if run.shape == pair.shape => run.pairs += 1,
                _ => layout.pairs.push(ShapedPairs {
                    pairs: 1,
                    shape: pair.shape,
                }),
            }
        }
        layout
    }

    /// Appends a sum.
    fn push(
        &mut self,
        is_jamp: bool,
        (units, count): ([u32; 4], u32),
        places: impl Iterator<Item = Address>,
        terms: &[SumTerm],
        lanes: u32,
    ) {
        self.places.extend(places.map(|address| address * lanes));
        self.terms.extend(terms.iter().map(|term| JampTerm {
            re: term.re * lanes,
            im: term.im * lanes,
            factor_re: T::from_f64(term.factor_re),
            factor_im: T::from_f64(term.factor_im),
        }));
        let runs = &mut self.runs[usize::from(is_jamp)];
        match runs.last_mut() {
            Some(run) if run.units == units && run.terms == count => run.sums += 1,
            _ => runs.push(SumShape {
                sums: 1,
                units,
                terms: count,
            }),
        }
    }

    /// Computes all sums of N helicities from the numbers in `local`, the memory at each helicity's offset; with
    /// `SQUARES` the squares of JAMPs are added to JAMP2 in `shared`.
    ///
    /// # Safety
    /// The CPU supports the level of `V`, and the sums were laid out for its lanes; `local` and `shared` contain all
    /// addresses of the plan and the scratch, aligned for `V`.
    #[inline(always)]
    pub(super) unsafe fn add_up<V: Simd<Scalar = T>, const N: usize, const SQUARES: bool>(
        &self,
        local: [*mut T; N],
        shared: *mut T,
    ) {
        // A separate function, as it is long and called from several places.
        // SAFETY: guaranteed by the caller.
        unsafe { V::call(AddUp::<T, N, SQUARES>(self, local, shared)) }
    }
}

/// The sums of N helicities, with pointers to the memory at each helicity's offset and to the shared memory with JAMP2.
struct AddUp<'a, T, const N: usize, const SQUARES: bool>(&'a JampSums<T>, [*mut T; N], *mut T);

impl<T: Real, const N: usize, const SQUARES: bool> Task<T> for AddUp<'_, T, N, SQUARES> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        let AddUp(sums, local, shared) = self;
        let mut places = sums.places.as_ptr();
        let mut terms = sums.terms.as_ptr();
        // SAFETY: the runs hold the numbers of sums, and their shapes the numbers of places and terms.
        unsafe {
            for run in &sums.runs[0] {
                (places, terms) = run.add_up::<V, N, false>(places, terms, local, shared);
            }
            for run in &sums.runs[1] {
                (places, terms) = run.add_up::<V, N, SQUARES>(places, terms, local, shared);
            }
            for run in &sums.pairs {
                places = run.add_up::<V, N, SQUARES>(places, local, shared);
            }
        }
    }
}

impl SumShape {
    /// Computes the sums of the run, whose places and terms begin here. Returns where those of the next run begin.
    #[inline(always)]
    unsafe fn add_up<V: Simd, const N: usize, const SQUARES: bool>(
        &self,
        mut places: *const u32,
        mut terms: *const JampTerm<V::Scalar>,
        local: [*mut V::Scalar; N],
        shared: *mut V::Scalar,
    ) -> (*const u32, *const JampTerm<V::Scalar>) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            for _ in 0..self.sums {
                let (to, square) = (*places, *places.add(1));
                places = places.add(HEAD);
                let mut z = [Cx::new(V::zero(), V::zero()); N];
                (places, z) = add_all_units::<V, N>(places, self.units, local, z);
                for _ in 0..self.terms {
                    let term = &*terms;
                    let (re, im) = (V::splat(term.factor_re), V::splat(term.factor_im));
                    for i in 0..N {
                        let x = V::load(local[i].add(term.re as usize));
                        let y = V::load(local[i].add(term.im as usize));
                        z[i] = Cx::new(re.mul_add(x, z[i].re), im.mul_add(y, z[i].im));
                    }
                    terms = terms.add(1);
                }
                store::<V, N, SQUARES>(z, to, square, local, shared);
            }
        }
        (places, terms)
    }
}

impl ShapedPairs {
    /// Computes the pairs of the run, whose places begin here. Returns where those of the next run begin.
    #[inline(always)]
    unsafe fn add_up<V: Simd, const N: usize, const SQUARES: bool>(
        &self,
        mut places: *const u32,
        local: [*mut V::Scalar; N],
        shared: *mut V::Scalar,
    ) -> *const u32 {
        let (units, opposite) = &self.shape;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let zero = Cx::new(V::zero(), V::zero());
            for _ in 0..self.pairs {
                let mut heads = places;
                places = places.add(2 * HEAD);
                let (mut z, mut common) = ([zero; N], [zero; N]);
                for (part, units) in units.iter().enumerate() {
                    (places, z) = add_all_units::<V, N>(places, *units, local, z);
                    if part == 0 {
                        common = z;
                        continue;
                    }
                    store::<V, N, SQUARES>(z, *heads, *heads.add(1), local, shared);
                    heads = heads.add(HEAD);
                    z = common;
                    if *opposite {
                        for z in &mut z {
                            *z = Cx::new(-z.re, -z.im);
                        }
                    }
                }
            }
        }
        places
    }
}

/// Stores a sum, and adds its square to JAMP2 if `SQUARES` is set.
///
/// # Safety
/// `at` is the place of a complex number in each of `local`, and the place of the square that of a real number in
/// `shared`; the CPU supports the level.
#[inline(always)]
unsafe fn store<V: Simd, const N: usize, const SQUARES: bool>(
    z: [Cx<V>; N],
    to: u32,
    square: u32,
    local: [*mut V::Scalar; N],
    shared: *mut V::Scalar,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        for i in 0..N {
            let to = local[i].add(to as usize);
            z[i].re.store(to);
            z[i].im.store(to.add(V::LANES));
        }
        if SQUARES {
            let at = shared.add(square as usize);
            let mut sum = V::load(at);
            for z in z {
                sum = z.re.mul_add(z.re, z.im.mul_add(z.im, sum));
            }
            sum.store(at);
        }
    }
}

/// Adds the given numbers of terms with coefficients 1, -1, i and -i. Returns the beginning of the next places, and the
/// sums.
///
/// # Safety
/// As for [`add_units`].
#[inline(always)]
unsafe fn add_all_units<V: Simd, const N: usize>(
    mut places: *const u32,
    [plus, minus, plus_i, minus_i]: [u32; 4],
    local: [*mut V::Scalar; N],
    mut z: [Cx<V>; N],
) -> (*const u32, [Cx<V>; N]) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        (places, z) = add_units::<V, N, PLUS>(places, plus, local, z);
        (places, z) = add_units::<V, N, MINUS>(places, minus, local, z);
        if plus_i + minus_i > 0 {
            (places, z) = add_units::<V, N, PLUS_I>(places, plus_i, local, z);
            (places, z) = add_units::<V, N, MINUS_I>(places, minus_i, local, z);
        }
    }
    (places, z)
}

const PLUS: usize = 0;
const MINUS: usize = 1;
const PLUS_I: usize = 2;
const MINUS_I: usize = 3;

/// Adds terms with one coefficient. Returns the beginning of the next places, and the sums.
///
/// # Safety
/// `count` places begin here, each that of a complex number in all of `local`; the CPU supports the level.
#[inline(always)]
unsafe fn add_units<V: Simd, const N: usize, const COEFFICIENT: usize>(
    places: *const u32,
    count: u32,
    local: [*mut V::Scalar; N],
    mut z: [Cx<V>; N],
) -> (*const u32, [Cx<V>; N]) {
    macro_rules! add {
        ($place:expr) => {
            let place = *$place as usize;
            for i in 0..N {
                let at = local[i].add(place);
                let x = Cx::new(V::load(at), V::load(at.add(V::LANES)));
                z[i] = match COEFFICIENT {
                    PLUS => z[i] + x,
                    MINUS => z[i] - x,
                    PLUS_I => z[i].add_i(x),
                    _ => z[i].sub_i(x),
                };
            }
        };
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let end = places.add(count as usize);
        let mut next = places;
        while end.offset_from(next) >= 4 {
            add!(next);
            add!(next.add(1));
            add!(next.add(2));
            add!(next.add(3));
            next = next.add(4);
        }
        match end.offset_from(next) {
            1 => {
                add!(next);
            }
            2 => {
                add!(next);
                add!(next.add(1));
            }
            3 => {
                add!(next);
                add!(next.add(1));
                add!(next.add(2));
            }
            _ => {}
        }
        (end, z)
    }
}

/// Takes `count` elements from the front.
fn front<'a, T>(rest: &mut &'a [T], count: u32) -> &'a [T] {
    let (front, behind) = rest.split_at(count as usize);
    *rest = behind;
    front
}

/// Pairs JAMPs that share terms; pairs of the same shape are consecutive. Excludes sums with non-unit coefficients or
/// repeated terms.
fn pairs(all: &Sums, jamp2: impl Fn(Address) -> Option<Address>) -> Vec<JampPair> {
    // For each sum its sorted terms, each with the index of its coefficient among 1, -1, i and -i.
    let mut sums: Vec<Vec<(Address, usize)>> = Vec::new();
    let mut units = &all.units[..];
    for sum in &all.sums {
        let coefficients = (0..4).flat_map(|k| std::iter::repeat_n(k, sum.units[k] as usize));
        let of_sum = front(&mut units, sum.units.iter().sum());
        let mut terms: Vec<_> = of_sum.iter().copied().zip(coefficients).collect();
        terms.sort_unstable();
        let twice = terms.windows(2).any(|two| two[0].0 == two[1].0);
        let reads_jamp = terms.iter().any(|&(at, _)| jamp2(at).is_some());
        if sum.terms > 0 || twice || reads_jamp || jamp2(sum.address).is_none() {
            terms.clear();
        }
        sums.push(terms);
    }
    let mut users: HashMap<Address, Vec<(usize, usize)>> = HashMap::default();
    for (at, terms) in sums.iter().enumerate() {
        for &(address, coefficient) in terms {
            users.entry(address).or_default().push((at, coefficient));
        }
    }
    if users
        .values()
        .map(|users| users.len().pow(2))
        .sum::<usize>()
        > MAX_COMPARISONS
    {
        return Vec::new();
    }
    let mut shared: HashMap<([usize; 2], bool), u32> = HashMap::default();
    for users in users.values() {
        for (i, &(second, b)) in users.iter().enumerate() {
            for &(first, a) in &users[..i] {
                let opposite = a == b ^ 1;
                if a == b || opposite {
                    *shared.entry(([first, second], opposite)).or_default() += 1;
                }
            }
        }
    }
    let mut shared: Vec<_> = shared.into_iter().collect();
    shared.sort_unstable_by_key(|&(pair, count)| (Reverse(count), pair));
    let mut taken = vec![false; sums.len()];
    let mut pairs = Vec::new();
    for ((both, opposite), _) in shared {
        if both.iter().all(|&at| !taken[at]) {
            both.into_iter().for_each(|at| taken[at] = true);
            pairs.push(JampPair::new(both, &sums, opposite));
        }
    }
    pairs.sort_unstable_by_key(|pair| (pair.shape, pair.sums));
    pairs
}

/// Upper bound on comparisons of sums for common terms; plans with thousands of flows exceed it.
const MAX_COMPARISONS: usize = 1 << 22;

impl JampPair {
    /// Makes a pair of two of the sums, which are given by their terms.
    fn new(sums: [usize; 2], all: &[Vec<(Address, usize)>], opposite: bool) -> JampPair {
        let [first, second] = sums.map(|at| &all[at]);
        let flip = usize::from(opposite);
        let in_both = |&&(at, k): &&(Address, usize)| second.contains(&(at, k ^ flip));
        let in_first = |&&(at, k): &&(Address, usize)| first.contains(&(at, k ^ flip));
        let parts: [Vec<&(Address, usize)>; 3] = [
            first.iter().filter(in_both).collect(),
            first.iter().filter(|term| !in_both(term)).collect(),
            second.iter().filter(|term| !in_first(term)).collect(),
        ];
        let mut shape = [[0; 4]; 3];
        let mut units = Vec::new();
        for (part, shape) in parts.iter().zip(&mut shape) {
            for (k, count) in shape.iter_mut().enumerate() {
                let of_k = part.iter().filter(|term| term.1 == k);
                let before = units.len();
                units.extend(of_k.map(|term| term.0));
                *count = (units.len() - before) as u32;
            }
        }
        JampPair {
            sums,
            shape: (shape, opposite),
            units,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_plan::sums::Sum;
    use mebridge_simd::{Level, dispatch};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Memory layout: amplitudes, then JAMPs, then squares.
    const AMPLITUDES: u32 = 40;
    const FLOWS: u32 = 30;

    /// Sums of amplitudes, every other one of which shares terms with the preceding one.
    fn sums(seed: u64) -> Sums {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut sums = Sums::default();
        let mut before: Vec<(u32, usize)> = Vec::new();
        for flow in 0..FLOWS {
            let mut terms = Vec::new();
            if flow % 2 == 1 {
                let flip = draw.random_range(0..2);
                let some = before.iter().filter(|_| draw.random_range(0..3) > 0);
                terms.extend(some.map(|&(at, k)| (at, k ^ flip)));
            }
            for _ in 0..draw.random_range(0..12) {
                let at = draw.random_range(0..AMPLITUDES);
                let (odd, kinds) = (
                    draw.random_range(0..8) == 0,
                    [2, 4][(flow % 3 == 0) as usize],
                );
                if odd || terms.iter().all(|&(other, _)| other != at) {
                    terms.push((at, draw.random_range(0..kinds)));
                }
            }
            before.clone_from(&terms);
            terms.sort_by_key(|term| term.1);
            sums.units.extend(terms.iter().map(|term| 2 * term.0));
            let mut units = [0; 4];
            terms.iter().for_each(|term| units[term.1] += 1);
            let more = u32::from(flow % 7 == 6);
            sums.terms.extend((0..more).map(|_| SumTerm {
                re: 4,
                im: 5,
                factor_re: 0.5,
                factor_im: 0.25,
            }));
            sums.sums.push(Sum {
                address: 2 * (AMPLITUDES + flow),
                units,
                terms: more,
            });
        }
        sums
    }

    fn jamp2(address: Address) -> Option<Address> {
        let flow = (address / 2).checked_sub(AMPLITUDES)?;
        (flow < FLOWS).then_some(2 * (AMPLITUDES + FLOWS) + flow)
    }

    #[repr(align(64))]
    #[derive(Clone)]
    struct Vectors([f64; 8 * VECTORS]);

    const VECTORS: usize = (2 * AMPLITUDES + 3 * FLOWS) as usize;

    struct AddUp<'a>(&'a JampSums<f64>, &'a mut [Vectors; 2]);

    impl Task<f64> for AddUp<'_> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = f64>>(self) {
            let [first, second] = self.1;
            let (first, second) = (first.0.as_mut_ptr(), second.0.as_mut_ptr());
            // SAFETY: addresses below VECTORS, 8 lanes at most.
            unsafe { self.0.add_up::<V, 2, true>([first, second], first) }
        }
    }

    #[test]
    fn sums_made_two_together_are_those_of_their_terms() {
        let mut opposite = [0; 2];
        for seed in 0..20 {
            let sums = sums(seed);
            for level in Level::supported() {
                let lanes = level.lanes::<f64>();
                let made = JampSums::<f64>::new(&sums, jamp2, lanes);
                for run in &made.pairs {
                    opposite[usize::from(run.shape.1)] += run.pairs;
                }
                let mut draw = ChaCha8Rng::seed_from_u64(seed);
                let mut memory = [(); 2].map(|()| Vectors([0.0; 8 * VECTORS]));
                for memory in &mut memory {
                    let amplitudes = &mut memory.0[..2 * AMPLITUDES as usize * lanes];
                    amplitudes.fill_with(|| draw.random_range(-1.0..1.0));
                }
                let before = memory.clone();
                // SAFETY: the CPU supports the level.
                unsafe { dispatch(level, AddUp(&made, &mut memory)) };
                for lane in 0..lanes {
                    let (mut units, mut terms) = (&sums.units[..], &sums.terms[..]);
                    for sum in &sums.sums {
                        let kinds = (0..4).flat_map(|k| vec![k; sum.units[k] as usize]);
                        let units = front(&mut units, sum.units.iter().sum());
                        let terms = front(&mut terms, sum.terms);
                        let of: Vec<(u32, usize)> = units.iter().copied().zip(kinds).collect();
                        let mut square = 0.0;
                        for (memory, before) in memory.iter().zip(&before) {
                            let x = |at: u32| before.0[at as usize * lanes + lane];
                            let (mut re, mut im) = (0.0, 0.0);
                            for &(at, k) in &of {
                                let (x, y) = (x(at), x(at + 1));
                                let [r, i] = [[x, y], [-x, -y], [-y, x], [y, -x]][k];
                                (re, im) = (re + r, im + i);
                            }
                            for term in terms {
                                re += term.factor_re * x(term.re);
                                im += term.factor_im * x(term.im);
                            }
                            let found = |at: u32| memory.0[at as usize * lanes + lane];
                            assert!((found(sum.address) - re).abs() < 1e-13);
                            assert!((found(sum.address + 1) - im).abs() < 1e-13);
                            square += re * re + im * im;
                        }
                        let at = jamp2(sum.address).unwrap() as usize;
                        assert!((memory[0].0[at * lanes + lane] - square).abs() < 1e-12);
                    }
                }
            }
        }
        // Pairs with equal and with opposite signs both occur.
        assert!(opposite.iter().all(|&pairs| pairs > 50), "{opposite:?}");
    }
}
