//! Cuts compiled to steps and tests on registers of points, cheap tests first.

use super::{Error, GroupValue, Observable, Rule, Window};
use crate::Rows;
use crate::observables::{
    ChunkRows, MomentumOf, ObservableKind, Observables, POINTS, PointChunk, Radius, Separation,
};
use mebridge_simd::{Simd, Task, functions};

/// A value that is compared with limits.
#[derive(Clone, Copy, Debug)]
pub struct CutValue {
    pub value: usize,
    /// The value by which the limits are multiplied.
    pub unit: Option<usize>,
}

/// Both limits of a value. The lower one is finite, so that NaN fails.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub least: f64,
    pub largest: f64,
    pub outside: bool,
}

/// A photon, and the particles that may be near it.
#[derive(Clone, Debug)]
pub struct Photon {
    pub pt: usize,
    /// The pairs with other particles, and the transverse momenta of these.
    pub near: Vec<(Separation, usize)>,
    /// First of the values that hold squared distances.
    pub buffer: usize,
    pub cone: Option<Radius>,
    pub least: f64,
    pub radius: f64,
    pub power: f64,
    pub share: f64,
}

/// The kinds of tests.
#[derive(Clone, Debug)]
pub enum CutTest {
    All(Vec<CutValue>, Limits),
    Any(Vec<CutValue>, Limits),
    Sum(Vec<usize>, Limits),
    /// Limits are squared. With a radius there is only the lower limit.
    Distance(Separation, Option<Radius>, Limits),
    /// The `count` largest values are sorted into the values from `buffer` on; the last one or the sum is tested.
    Largest {
        values: Vec<usize>,
        buffer: usize,
        count: usize,
        sum: bool,
        limits: Limits,
    },
    /// At least one of the largest values is within the limits for its place.
    Some {
        values: Vec<usize>,
        buffer: usize,
        limits: Vec<Limits>,
    },
    /// Squared transverse momenta and rapidities of jets.
    Opposite {
        jets: Vec<[usize; 2]>,
        least: f64,
        apart: f64,
    },
    Isolated(Photon),
    /// For each pair, the smaller squared transverse momentum times the squared distance is at least this.
    Relative(Vec<Separation>, f64),
}

/// A test, and the steps before it.
#[derive(Clone, Debug)]
pub struct Tested {
    /// End of its steps; they begin at the end of the previous test's.
    pub steps: usize,
    pub test: CutTest,
}

/// All cuts of a process.
#[derive(Clone, Debug)]
pub struct CutProgram {
    pub observables: Observables,
    /// The value that is 1 for points that still pass, otherwise 0.
    left: usize,
    pub tests: Vec<Tested>,
}

/// The square with the sign of the number; positive for every positive number.
fn signed_square(x: f64) -> f64 {
    match x > 0.0 {
        true => (x * x).max(f64::MIN_POSITIVE),
        false => x * x.abs(),
    }
}

/// The ratio of E + |pz| and E - |pz| at a rapidity; finite for finite rapidities.
fn ratio(y: f64) -> f64 {
    match y.is_finite() {
        true => (2.0 * y).exp().min(f64::MAX),
        false => y,
    }
}

impl Limits {
    fn new(window: &Window, of: fn(f64) -> f64) -> Self {
        Limits {
            least: of(window.least).max(-f64::MAX),
            largest: of(window.largest),
            outside: window.outside,
        }
    }

    /// 1 for values within the limits, otherwise 0.
    #[inline(always)]
    fn hold<V: Simd<Scalar = f64>>(&self, value: V, unit: Option<V>) -> V {
        let (zero, one) = (value.same(0.0), value.same(1.0));
        let (mut least, mut largest) = (value.same(self.least), value.same(self.largest));
        if let Some(unit) = unit {
            (least, largest) = (least * unit, largest * unit);
        }
        if self.outside {
            let above = V::select(largest.le(value), one, zero);
            return V::select(value.le(least), one, above);
        }
        if self.largest < f64::INFINITY {
            return V::select(V::both(least.le(value), value.le(largest)), one, zero);
        }
        V::select(least.le(value), one, zero)
    }
}

impl CutProgram {
    pub fn new(legs: usize, windows: &[Window], rules: &[Rule]) -> Result<Self, Error> {
        let there = |leg: &usize| match *leg < legs {
            true => Ok(()),
            false => Err(Error::NoLeg { leg: *leg, legs }),
        };
        let mut observables = Observables::new();
        let mut program = CutProgram {
            left: observables.finite(legs),
            observables,
            tests: Vec::new(),
        };
        for window in windows {
            check(window)?;
            window.legs.iter().flatten().try_for_each(there)?;
        }
        let mut windows: Vec<&Window> = windows.iter().collect();
        // Cheap and selective tests first.
        windows.sort_by_key(|window| match (window.observable, window.take) {
            (Observable::Pt | Observable::Rapidity, GroupValue::All) => 0,
            (Observable::Mass, _) => 1,
            (Observable::Distance, _) => 3,
            _ => 2,
        });
        for window in windows {
            if let Some(test) = program.window(window) {
                program.push(test);
            }
        }
        for rule in rules {
            program.rule(rule, there)?;
        }
        Ok(program)
    }

    fn push(&mut self, test: CutTest) {
        let steps = self.observables.steps();
        self.tests.push(Tested { steps, test });
    }

    fn window(&mut self, window: &Window) -> Option<CutTest> {
        use Observable::{Distance, Energy, Mass, Pt, Rapidity};
        let observables = &mut self.observables;
        let bodies: Vec<_> = window
            .legs
            .iter()
            .map(|legs| observables.body(legs))
            .collect();
        if window.observable == Distance {
            return match window.take {
                GroupValue::Number(1..) => None,
                GroupValue::First(0) => Some(CutTest::Sum(Vec::new(), Limits::new(window, |x| x))),
                _ => Some(self.distance(window, [bodies[0], bodies[1]])),
            };
        }
        let (squares, plain) = match window.observable {
            Pt => (ObservableKind::PtSquared, ObservableKind::Pt),
            Mass => (ObservableKind::MassSquared, ObservableKind::Mass),
            Rapidity => (ObservableKind::LightCone, ObservableKind::RapiditySize),
            Energy => (ObservableKind::Energy, ObservableKind::PlainEnergy),
            Distance => unreachable!("handled above"),
        };
        let in_squares = matches!(window.observable, Pt | Mass);
        let sum = matches!(window.take, GroupValue::Sum | GroupValue::First(_));
        // Comparisons may use any monotonic function of the observable.
        let compared = matches!(window.take, GroupValue::All | GroupValue::Any);
        let kind = match compared || (in_squares && !sum) {
            true => squares,
            false => plain,
        };
        let values = bodies.iter().map(|&body| observables.value_of(kind, body));
        let values: Vec<usize> = values.collect();
        let limits = match window.observable {
            Pt | Mass if !sum => Limits::new(window, signed_square),
            // A rapidity y is compared as exp(2 y), the ratio of E + |pz| and E - |pz|.
            Rapidity if compared => Limits::new(window, ratio),
            _ => Limits::new(window, |x| x),
        };
        let ratios = compared && matches!(window.observable, Rapidity | Energy);
        let with_units = values.iter().map(|&value| CutValue {
            value,
            unit: ratios.then_some(value + 1),
        });
        Some(match window.take {
            GroupValue::All => CutTest::All(with_units.collect(), limits),
            GroupValue::Any => CutTest::Any(with_units.collect(), limits),
            GroupValue::Sum => CutTest::Sum(values, limits),
            GroupValue::Number(number) if number >= values.len() => return None,
            GroupValue::Number(number) => CutTest::Largest {
                buffer: observables.reserve(number + 1),
                values,
                count: number + 1,
                sum: false,
                limits,
            },
            GroupValue::First(count) => {
                let count = count.min(values.len());
                CutTest::Largest {
                    buffer: observables.reserve(count),
                    values,
                    count,
                    sum: true,
                    limits,
                }
            }
        })
    }

    fn distance(&mut self, window: &Window, bodies: [MomentumOf; 2]) -> CutTest {
        let radius = match window.largest == f64::INFINITY && !window.outside {
            true => Radius::new(window.least),
            false => None,
        };
        let pair = Separation::new(&mut self.observables, bodies, ObservableKind::Cone);
        CutTest::Distance(pair, radius, Limits::new(window, signed_square))
    }

    fn rule(
        &mut self,
        rule: &Rule,
        there: impl Fn(&usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let observables = &mut self.observables;
        match rule {
            Rule::Some { jets, limits } => {
                jets.iter().try_for_each(there)?;
                if jets.is_empty() || limits.is_empty() {
                    return Err(Error::Rule("some", "it has no jets, or no limits"));
                }
                if limits.iter().flatten().any(|limit| limit.is_nan()) {
                    return Err(Error::Rule("some", "a limit is not a number"));
                }
                let of = |leg: &usize| {
                    observables.value_of(ObservableKind::PtSquared, MomentumOf::Leg(*leg))
                };
                let values: Vec<usize> = jets.iter().map(of).collect();
                let limits = limits
                    .iter()
                    .take(values.len())
                    .map(|[least, largest]| Limits {
                        least: signed_square(*least).max(-f64::MAX),
                        largest: signed_square(*largest),
                        outside: false,
                    });
                let limits: Vec<Limits> = limits.collect();
                let buffer = observables.reserve(limits.len());
                self.push(CutTest::Some {
                    values,
                    buffer,
                    limits,
                });
            }
            Rule::Opposite { jets, least, apart } => {
                jets.iter().try_for_each(there)?;
                if jets.len() < 2 || !least.is_finite() || !apart.is_finite() {
                    return Err(Error::Rule("opposite", "it needs two jets and two numbers"));
                }
                let of = |leg: &usize| {
                    [ObservableKind::PtSquared, ObservableKind::SeenRapidity]
                        .map(|kind| observables.value_of(kind, MomentumOf::Leg(*leg)))
                };
                let jets = jets.iter().map(of).collect();
                self.push(CutTest::Opposite {
                    jets,
                    least: *least,
                    apart: *apart,
                });
            }
            Rule::Relative {
                jets,
                least,
                radius,
            } => {
                jets.iter().try_for_each(there)?;
                let test = self.relative(jets, *least, *radius)?;
                self.push(test);
            }
            Rule::Isolated {
                photons,
                jets,
                electromagnetic,
                least,
                radius,
                power,
                share,
            } => {
                let others = electromagnetic.as_deref().unwrap_or_default();
                for legs in [photons, jets, others] {
                    legs.iter().try_for_each(&there)?;
                }
                if [least, radius, power, share].iter().any(|x| !x.is_finite()) || *radius <= 0.0 {
                    return Err(Error::Rule("isolated", "it needs numbers, and a cone"));
                }
                for photon in photons {
                    let besides = match electromagnetic {
                        Some(leptons) => {
                            let photons = photons.iter().filter(|other| *other != photon);
                            photons.chain(leptons).copied().collect()
                        }
                        None => Vec::new(),
                    };
                    for (i, near) in [jets.as_slice(), &besides].into_iter().enumerate() {
                        // One test suffices for the transverse momentum.
                        if i > 0 && near.is_empty() {
                            continue;
                        }
                        let test = self.isolated(*photon, near, *least, [*radius, *power, *share]);
                        self.push(test);
                    }
                }
            }
        }
        Ok(())
    }

    fn relative(&mut self, jets: &[usize], least: f64, radius: f64) -> Result<CutTest, Error> {
        let product = least * radius;
        if jets.len() < 2 || !product.is_finite() || least < 0.0 || radius <= 0.0 {
            return Err(Error::Rule(
                "relative",
                "it needs two jets, and numbers that are not negative",
            ));
        }
        let bodies: Vec<MomentumOf> = jets.iter().map(|leg| MomentumOf::Leg(*leg)).collect();
        let mut pairs = Vec::new();
        for (number, &one) in bodies.iter().enumerate() {
            for &other in &bodies[number + 1..] {
                let pair = [one, other];
                pairs.push(Separation::new(
                    &mut self.observables,
                    pair,
                    ObservableKind::Cone,
                ));
            }
        }
        Ok(CutTest::Relative(pairs, product * product))
    }

    fn isolated(&mut self, photon: usize, near: &[usize], least: f64, cone: [f64; 3]) -> CutTest {
        let [radius, power, share] = cone;
        let observables = &mut self.observables;
        let photon = MomentumOf::Leg(photon);
        let pt = observables.value_of(ObservableKind::Pt, photon);
        let of = |leg: &usize| {
            let body = MomentumOf::Leg(*leg);
            let pair = Separation::new(observables, [photon, body], ObservableKind::PseudoCone);
            (pair, observables.value_of(ObservableKind::Pt, body))
        };
        let near: Vec<_> = near.iter().map(of).collect();
        let buffer = observables.reserve(near.len());
        CutTest::Isolated(Photon {
            pt,
            near,
            buffer,
            cone: Radius::new(radius),
            least,
            radius,
            power,
            share,
        })
    }
}

/// Checks the limits and groups of a window.
fn check(window: &Window) -> Result<(), Error> {
    let groups = |what| Err(Error::Groups(window.observable, window.legs.len(), what));
    if window.least.is_nan() || window.largest.is_nan() {
        return Err(Error::NoNumber(
            window.observable,
            window.least,
            window.largest,
        ));
    }
    if window.observable == Observable::Distance && window.legs.len() != 2 {
        return groups("a distance needs two groups");
    }
    if window.legs.is_empty() || window.legs.iter().any(Vec::is_empty) {
        return groups("there must be at least one group, and each group needs a leg");
    }
    Ok(())
}

/// Arguments of a run over points.
pub struct CutCall<'a> {
    pub program: &'a CutProgram,
    pub momenta: &'a Rows,
    pub boost: Option<&'a [f64]>,
    pub passed: &'a mut [bool],
}

impl Task<f64> for CutCall<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let program = self.program;
        let mut values = ChunkRows::new(program.observables.values());
        // SAFETY: the caller guarantees the level.
        let zero = unsafe { V::zero() };
        for (chunk, passed) in self.passed.chunks_mut(POINTS).enumerate() {
            let first = chunk * POINTS;
            let chunk = PointChunk::new(self.momenta, self.boost, first, &mut values, zero);
            program.run(&chunk);
            let left = chunk.value(program.left);
            for (register, passed) in passed.chunks_mut(V::LANES).enumerate() {
                let mut lanes = [0.0; MAX_LANES];
                // SAFETY: the array is as long as the longest register.
                unsafe { left.at(register).store_doubles(lanes.as_mut_ptr()) };
                for (passed, lane) in passed.iter_mut().zip(lanes) {
                    *passed = lane != 0.0;
                }
            }
        }
    }
}

/// Number of doubles in the longest register.
const MAX_LANES: usize = 8;

impl CutProgram {
    /// Runs all tests on a chunk.
    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(&self, chunk: &PointChunk<V>) {
        let mut done = 0;
        for tested in &self.tests {
            self.observables.compute(done..tested.steps, chunk);
            done = tested.steps;
            tested.test.run(self.left, chunk);
        }
        self.observables
            .compute(done..self.observables.steps(), chunk);
    }
}

/// Whether no point of a register is left.
#[inline(always)]
fn is_over<V: Simd<Scalar = f64>>(left: V) -> bool {
    V::all(left.eq(left.same(0.0)))
}

impl CutTest {
    /// Sets `left` to 0 for points that do not pass.
    #[inline(always)]
    #[expect(clippy::too_many_lines, reason = "a case for each test")]
    fn run<V: Simd<Scalar = f64>>(&self, left: usize, chunk: &PointChunk<V>) {
        let (zero, one) = (chunk.zero, chunk.zero.same(1.0));
        let (before, after) = (chunk.value(left), chunk.value_mut(left));
        match self {
            CutTest::All(of, limits) => {
                for of in of {
                    let value = chunk.value(of.value);
                    match of.unit {
                        Some(unit) => {
                            let unit = chunk.value(unit);
                            for r in 0..chunk.registers {
                                let inside = limits.hold(value.at(r), Some(unit.at(r)));
                                after.set(r, before.at(r) * inside);
                            }
                        }
                        None => {
                            for r in 0..chunk.registers {
                                let inside = limits.hold(value.at(r), None);
                                after.set(r, before.at(r) * inside);
                            }
                        }
                    }
                }
            }
            CutTest::Any(of, limits) => {
                for r in 0..chunk.registers {
                    let mut found = zero;
                    for of in of {
                        let value = chunk.value(of.value).at(r);
                        let inside = match of.unit {
                            Some(unit) => limits.hold(value, Some(chunk.value(unit).at(r))),
                            None => limits.hold(value, None),
                        };
                        found = found.max(inside);
                    }
                    after.set(r, before.at(r) * found);
                }
            }
            CutTest::Sum(of, limits) => {
                for r in 0..chunk.registers {
                    let mut sum = zero;
                    for &value in of {
                        sum = sum + chunk.value(value).at(r);
                    }
                    after.set(r, before.at(r) * limits.hold(sum, None));
                }
            }
            CutTest::Distance(pair, radius, limits) => {
                let pair = pair.in_chunk(chunk);
                for r in 0..chunk.registers {
                    let left = before.at(r);
                    let mut found = zero.same(f64::NAN);
                    if let Some(radius) = radius {
                        found = V::select(left.eq(zero), zero, pair.apart(radius, r));
                    }
                    if !V::all(found.eq(found)) {
                        found = left * limits.hold(pair.distance(r), None);
                    }
                    after.set(r, found);
                }
            }
            CutTest::Largest {
                values,
                buffer,
                count,
                sum,
                limits,
            } => {
                let first = if *sum { 0 } else { *count - 1 };
                for r in 0..chunk.registers {
                    let known = sort(values, *buffer, *count, chunk, r);
                    let mut found = zero;
                    for place in first..*count {
                        found = found + chunk.value(buffer + place).at(r);
                    }
                    after.set(r, before.at(r) * known * limits.hold(found, None));
                }
            }
            CutTest::Some {
                values,
                buffer,
                limits,
            } => {
                for r in 0..chunk.registers {
                    let known = sort(values, *buffer, limits.len(), chunk, r);
                    let mut found = zero;
                    for (place, limits) in limits.iter().enumerate() {
                        let value = chunk.value(buffer + place).at(r);
                        found = found.max(limits.hold(value, None));
                    }
                    after.set(r, before.at(r) * known * found);
                }
            }
            CutTest::Opposite { jets, least, apart } => {
                for r in 0..chunk.registers {
                    after.set(r, before.at(r) * opposite(jets, *least, *apart, chunk, r));
                }
            }
            CutTest::Relative(pairs, least) => {
                for r in 0..chunk.registers {
                    after.set(r, before.at(r) * relative(pairs, *least, chunk, r));
                }
            }
            CutTest::Isolated(photon) => {
                let pt = chunk.value(photon.pt);
                for r in 0..chunk.registers {
                    let hard = zero.same(photon.least).le(pt.at(r));
                    let left = V::select(hard, before.at(r), zero);
                    let mut alone = one;
                    if !is_over(left) && !photon.is_alone(left, chunk, r) {
                        alone = photon.isolated(chunk, r);
                    }
                    after.set(r, left * alone);
                }
            }
        }
    }
}

/// Sorts the `count` largest values in descending order; returns 1 if no value is NaN, otherwise 0.
#[inline(always)]
fn sort<V: Simd<Scalar = f64>>(
    of: &[usize],
    buffer: usize,
    count: usize,
    chunk: &PointChunk<V>,
    r: usize,
) -> V {
    let zero = chunk.zero;
    let mut known = zero.same(1.0);
    for place in 0..count {
        chunk
            .value_mut(buffer + place)
            .set(r, zero.same(f64::NEG_INFINITY));
    }
    for &value in of {
        let mut value = chunk.value(value).at(r);
        known = V::select(value.eq(value), known, zero);
        for place in 0..count {
            let here = chunk.value(buffer + place).at(r);
            chunk.value_mut(buffer + place).set(r, here.max(value));
            value = here.min(value);
        }
    }
    known
}

/// 1 if the squared relative transverse momentum of each pair is at least `least`, otherwise 0.
#[inline(always)]
fn relative<V: Simd<Scalar = f64>>(
    pairs: &[Separation],
    least: f64,
    chunk: &PointChunk<V>,
    r: usize,
) -> V {
    let (zero, one) = (chunk.zero, chunk.zero.same(1.0));
    let mut found = one;
    for pair in pairs {
        let pair = pair.in_chunk(chunk);
        // Comparisons are false for NaN.
        let far = zero.same(least).le(pair.smaller(r) * pair.distance(r));
        found = V::select(far, found, zero);
    }
    found
}

/// 1 if the two hardest jets have opposite rapidities, otherwise 0.
#[inline(always)]
fn opposite<V: Simd<Scalar = f64>>(
    jets: &[[usize; 2]],
    least: f64,
    apart: f64,
    chunk: &PointChunk<V>,
    r: usize,
) -> V {
    let (zero, one) = (chunk.zero, chunk.zero.same(1.0));
    let (mut first, mut second) = (-one, -one);
    let (mut first_y, mut second_y) = (zero, zero);
    for [pt, y] in jets {
        let (pt, y) = (chunk.value(*pt).at(r), chunk.value(*y).at(r));
        let (harder, harder_than_second) = (first.lt(pt), second.lt(pt));
        second = V::select(harder, first, V::select(harder_than_second, pt, second));
        second_y = V::select(harder, first_y, V::select(harder_than_second, y, second_y));
        first = V::select(harder, pt, first);
        first_y = V::select(harder, y, first_y);
    }
    let (least, apart) = (zero.same(least), zero.same(apart));
    let far = V::both(least.le(first_y.abs()), least.le(second_y.abs()));
    let sides = (first_y * second_y).le(zero);
    let apart = apart.le((first_y - second_y).abs());
    V::select(V::both(far, V::both(sides, apart)), one, zero)
}

impl Photon {
    /// Whether the cone is empty for all points that are left, as far as [`Radius`] can tell.
    #[inline(always)]
    fn is_alone<V: Simd<Scalar = f64>>(&self, left: V, chunk: &PointChunk<V>, r: usize) -> bool {
        let (zero, one) = (chunk.zero, chunk.zero.same(1.0));
        let Some(cone) = &self.cone else {
            return self.near.is_empty();
        };
        for (pair, _) in &self.near {
            let apart = pair.in_chunk(chunk).apart(cone, r);
            if !V::all(V::select(left.eq(zero), one, apart).eq(one)) {
                return false;
            }
        }
        true
    }

    /// 1 if the photon is isolated, otherwise 0: within each distance d up to the radius R, the sum of the transverse
    /// momenta is at most a share of the photon's times ((1 - cos d) / (1 - cos R))^power.
    #[inline(always)]
    fn isolated<V: Simd<Scalar = f64>>(&self, chunk: &PointChunk<V>, r: usize) -> V {
        let (zero, one) = (chunk.zero, chunk.zero.same(1.0));
        let pt = chunk.value(self.pt).at(r);
        let square = zero.same(self.radius * self.radius);
        let whole = zero.same(1.0 - self.radius.cos());
        for (i, (pair, _)) in self.near.iter().enumerate() {
            let distance = pair.in_chunk(chunk).distance(r);
            chunk.value_mut(self.buffer + i).set(r, distance);
        }
        let mut found = one;
        for i in 0..self.near.len() {
            let distance = chunk.value(self.buffer + i).at(r);
            let outside = square.lt(distance);
            if V::all(outside) {
                continue;
            }
            let mut sum = zero;
            for (other, (_, pt)) in self.near.iter().enumerate() {
                let nearer = chunk.value(self.buffer + other).at(r).le(distance);
                sum = sum + V::select(nearer, chunk.value(*pt).at(r), zero);
            }
            let (_, cosine) = functions::sin_cos(distance.sqrt());
            let share_of_cone = (one - cosine) / whole;
            let allowed = if self.power == 1.0 {
                share_of_cone
            } else {
                // Powers of tiny numbers are 0, except for the power 0.
                let least = zero.same(f64::MIN_POSITIVE);
                let none = zero.same(if self.power == 0.0 { 1.0 } else { 0.0 });
                let raised = functions::pow(share_of_cone.max(least), zero.same(self.power));
                V::select(least.lt(share_of_cone), raised, none)
            };
            let allowed = pt * allowed * zero.same(self.share);
            let within = V::both(sum.le(allowed), distance.eq(distance));
            found = found * V::select(outside, one, V::select(within, one, zero));
        }
        found
    }
}
