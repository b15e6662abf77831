//! From amplitudes to JAMP, and on to JAMP2.
//!
//! Most coefficients are 1, -1, i or -i ([`mebridge_plan::sums`]). The sums are short and many, so what counts is what
//! comes beside the additions: the plan has sums of one shape one after the other, numbers of terms are looked at
//! once for all of them, and terms are known by their distance from the beginning of memory, in numbers. The square
//! of a JAMP is added to JAMP2 while it is in registers.

use super::engine::Scratch;
use mebridge_ops::Address;
use mebridge_plan::Plan;
use mebridge_plan::sums::SumTerm;
use mebridge_simd::{Cx, Real, Simd};

/// The sums of a plan at one SIMD level.
pub(super) struct JampSums<T> {
    /// Those that others are made of, then those that are JAMPs.
    runs: [Vec<Run>; 2],
    /// For each sum where it goes and where JAMP2 of the flow is, then its terms with unit coefficients.
    places: Vec<u32>,
    /// The other terms.
    terms: Vec<Term<T>>,
}

/// Sums of one shape.
#[derive(Clone, Copy)]
struct Run {
    sums: u32,
    /// Terms with coefficients 1, -1, i and -i.
    units: [u32; 4],
    /// Other terms.
    terms: u32,
}

/// [`mebridge_plan::sums::SumTerm`] in the engine's precision.
struct Term<T> {
    re: u32,
    im: u32,
    factor_re: T,
    factor_im: T,
}

/// Places of a sum ahead of its terms.
const HEAD: usize = 2;

impl<T: Real> JampSums<T> {
    /// Those of a plan, in vectors of so many lanes.
    pub(super) fn new(plan: &Plan, scratch: &Scratch, lanes: usize) -> Self {
        let jamps = plan.jamp_base..plan.jamp_base + 2 * plan.flows as u32;
        let mut made = JampSums {
            runs: Default::default(),
            places: Vec::new(),
            terms: Vec::new(),
        };
        for is_jamp in [false, true] {
            let (mut units, mut terms) = (
                &plan.operations().jamp.units[..],
                &plan.operations().jamp.terms[..],
            );
            for sum in &plan.operations().jamp.sums {
                let units = front(&mut units, sum.units.iter().sum());
                let terms = front(&mut terms, sum.terms);
                if jamps.contains(&sum.address) == is_jamp {
                    let flow = sum.address.saturating_sub(jamps.start) / 2;
                    let jamp2 = scratch.jamp2 + if is_jamp { flow } else { 0 };
                    let places = [sum.address, jamp2]
                        .into_iter()
                        .chain(units.iter().copied());
                    made.push(is_jamp, (sum.units, sum.terms), places, terms, lanes as u32);
                }
            }
        }
        made
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
        self.terms.extend(terms.iter().map(|term| Term {
            re: term.re * lanes,
            im: term.im * lanes,
            factor_re: T::from_f64(term.factor_re),
            factor_im: T::from_f64(term.factor_im),
        }));
        let runs = &mut self.runs[usize::from(is_jamp)];
        match runs.last_mut() {
            Some(run) if run.units == units && run.terms == count => run.sums += 1,
            _ => runs.push(Run {
                sums: 1,
                units,
                terms: count,
            }),
        }
    }

    /// All sums of N helicities, of the numbers in the memory as each of them sees it; with `SQUARES` those of JAMPs are
    /// added to JAMP2 in `all`.
    ///
    /// # Safety
    /// The CPU has the level of `V`, of whose lanes these sums are; `mine` and `all` hold what the plan's addresses
    /// and the scratch name, aligned for `V`.
    #[inline(always)]
    pub(super) unsafe fn add_up<V: Simd<Scalar = T>, const N: usize, const SQUARES: bool>(
        &self,
        mine: [*mut T; N],
        all: *mut T,
    ) {
        let mut places = self.places.as_ptr();
        let mut terms = self.terms.as_ptr();
        // SAFETY: runs count the sums, and these their places and terms.
        unsafe {
            for run in &self.runs[0] {
                (places, terms) = run.add_up::<V, N, false>(places, terms, mine, all);
            }
            for run in &self.runs[1] {
                (places, terms) = run.add_up::<V, N, SQUARES>(places, terms, mine, all);
            }
        }
    }
}

impl Run {
    /// The sums of the run, whose places and terms begin here; where those of the next run begin.
    #[inline(always)]
    unsafe fn add_up<V: Simd, const N: usize, const SQUARES: bool>(
        &self,
        mut places: *const u32,
        mut terms: *const Term<V::Scalar>,
        mine: [*mut V::Scalar; N],
        all: *mut V::Scalar,
    ) -> (*const u32, *const Term<V::Scalar>) {
        let [plus, minus, plus_i, minus_i] = self.units;
        // SAFETY: the caller's promise.
        unsafe {
            for _ in 0..self.sums {
                let (to, square) = (*places, *places.add(1));
                places = places.add(HEAD);
                let mut z = [Cx::new(V::zero(), V::zero()); N];
                (places, z) = add_units::<V, N, PLUS>(places, plus, mine, z);
                (places, z) = add_units::<V, N, MINUS>(places, minus, mine, z);
                if plus_i + minus_i > 0 {
                    (places, z) = add_units::<V, N, PLUS_I>(places, plus_i, mine, z);
                    (places, z) = add_units::<V, N, MINUS_I>(places, minus_i, mine, z);
                }
                for _ in 0..self.terms {
                    let term = &*terms;
                    let (re, im) = (V::splat(term.factor_re), V::splat(term.factor_im));
                    for i in 0..N {
                        let x = V::load(mine[i].add(term.re as usize));
                        let y = V::load(mine[i].add(term.im as usize));
                        z[i] = Cx::new(re.mul_add(x, z[i].re), im.mul_add(y, z[i].im));
                    }
                    terms = terms.add(1);
                }
                for i in 0..N {
                    let to = mine[i].add(to as usize);
                    z[i].re.store(to);
                    z[i].im.store(to.add(V::LANES));
                }
                if SQUARES {
                    let at = all.add(square as usize);
                    let mut sum = V::load(at);
                    for z in z {
                        sum = z.re.mul_add(z.re, z.im.mul_add(z.im, sum));
                    }
                    sum.store(at);
                }
            }
        }
        (places, terms)
    }
}

const PLUS: usize = 0;
const MINUS: usize = 1;
const PLUS_I: usize = 2;
const MINUS_I: usize = 3;

/// Adds numbers with one coefficient; where the next places begin, and the sums.
///
/// # Safety
/// So many places begin here, each that of a complex number in all of `mine`; the CPU has the level.
#[inline(always)]
unsafe fn add_units<V: Simd, const N: usize, const COEFFICIENT: usize>(
    places: *const u32,
    count: u32,
    mine: [*mut V::Scalar; N],
    mut z: [Cx<V>; N],
) -> (*const u32, [Cx<V>; N]) {
    macro_rules! add {
        ($place:expr) => {
            let place = *$place as usize;
            for i in 0..N {
                let at = mine[i].add(place);
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
    // SAFETY: the caller's promise.
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

/// Takes so many from the front.
fn front<'a, T>(rest: &mut &'a [T], count: u32) -> &'a [T] {
    let (front, behind) = rest.split_at(count as usize);
    *rest = behind;
    front
}
