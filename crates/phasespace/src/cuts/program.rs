//! Cuts as steps and tests of a register of points, what takes little time first.

use super::{Error, Observable, Rule, Take, Window};
use crate::Rows;
use crate::observables::{Body, Kind, Observables, Pair, Points, Radius, load};
use mebridge_simd::{Simd, Task, functions};

/// What is compared with limits.
#[derive(Clone, Copy, Debug)]
struct Value {
    value: usize,
    /// What limits are multiplied with.
    unit: Option<usize>,
}

/// Both limits of a value. The lower one is finite, so that what is no number is below it.
#[derive(Clone, Copy, Debug)]
struct Limits {
    least: f64,
    largest: f64,
    outside: bool,
}

/// A photon, and what is near to it.
#[derive(Clone, Debug)]
struct Photon {
    pt: usize,
    /// With what it is, and the transverse momenta of that.
    near: Vec<(Pair, usize)>,
    /// For squared distances.
    room: usize,
}

/// Cuts are of these kinds.
#[derive(Clone, Debug)]
enum Test {
    All(Vec<Value>, Limits),
    Any(Vec<Value>, Limits),
    Sum(Vec<usize>, Limits),
    /// Squared. With a radius the lower limit is all there is.
    Distance(Pair, Option<Radius>, Limits),
    /// The largest values are sorted into `room`; of them the last one is taken, or their sum.
    Largest {
        values: Vec<usize>,
        room: usize,
        count: usize,
        sum: bool,
        limits: Limits,
    },
    /// One of the largest values lies in the limits of its place.
    Some {
        values: Vec<usize>,
        room: usize,
        limits: Vec<Limits>,
    },
    /// Squared transverse momenta and rapidities.
    Opposite {
        jets: Vec<[usize; 2]>,
        least: f64,
        apart: f64,
    },
    Isolated {
        photon: Photon,
        cone: Option<Radius>,
        least: f64,
        radius: f64,
        power: f64,
        share: f64,
    },
}

/// A test, after the steps that it needs.
#[derive(Clone, Debug)]
struct Tested {
    /// Its own steps end there; they begin where those of the test before end.
    steps: usize,
    /// Whether it takes long, so that it is worth looking whether any point is left.
    dear: bool,
    test: Test,
}

/// All cuts.
#[derive(Clone, Debug)]
pub struct Program {
    legs: usize,
    observables: Observables,
    tests: Vec<Tested>,
}

/// The square with the sign of the number.
fn signed_square(x: f64) -> f64 {
    x * x.abs()
}

impl Limits {
    fn new(window: &Window, of: fn(f64) -> f64) -> Self {
        Limits {
            least: of(window.least).max(-f64::MAX),
            largest: of(window.largest),
            outside: window.outside,
        }
    }

    /// 1 where a value lies in them, otherwise 0.
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

impl Value {
    #[inline(always)]
    fn hold<V: Simd<Scalar = f64>>(self, limits: &Limits, values: &Rows, zero: V) -> V {
        let value = load(values, self.value, 0, zero);
        match self.unit {
            Some(unit) => limits.hold(value, Some(load(values, unit, 0, zero))),
            None => limits.hold(value, None),
        }
    }
}

impl Program {
    pub fn new(legs: usize, windows: &[Window], rules: &[Rule]) -> Result<Self, Error> {
        let there = |leg: &usize| match *leg < legs {
            true => Ok(()),
            false => Err(Error::NoLeg { leg: *leg, legs }),
        };
        let mut program = Program {
            legs,
            observables: Observables::default(),
            tests: Vec::new(),
        };
        for window in windows {
            check(window)?;
            window.legs.iter().flatten().try_for_each(there)?;
        }
        let mut windows: Vec<&Window> = windows.iter().collect();
        // What takes little time, and throws much away, comes first.
        windows.sort_by_key(|window| match (window.observable, window.take) {
            (Observable::Pt | Observable::Rapidity, Take::All) => 0,
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

    fn push(&mut self, test: Test) {
        let steps = self.observables.steps();
        let dear = matches!(
            test,
            Test::Distance(..) | Test::Opposite { .. } | Test::Isolated { .. }
        );
        self.tests.push(Tested { steps, dear, test });
    }

    fn window(&mut self, window: &Window) -> Option<Test> {
        use Observable::{Distance, Energy, Mass, Pt, Rapidity};
        let observables = &mut self.observables;
        let bodies: Vec<_> = window
            .legs
            .iter()
            .map(|legs| observables.body(legs))
            .collect();
        if window.observable == Distance {
            return match window.take {
                Take::Number(1..) => None,
                Take::First(0) => Some(Test::Sum(Vec::new(), Limits::new(window, |x| x))),
                _ => Some(self.distance(window, [bodies[0], bodies[1]])),
            };
        }
        let (squares, plain) = match window.observable {
            Pt => (Kind::PtSquared, Kind::Pt),
            Mass => (Kind::MassSquared, Kind::Mass),
            Rapidity => (Kind::LightCone, Kind::RapiditySize),
            Energy => (Kind::Energy, Kind::PlainEnergy),
            Distance => unreachable!("it is of two"),
        };
        let in_squares = matches!(window.observable, Pt | Mass);
        let sum = matches!(window.take, Take::Sum | Take::First(_));
        // Values that are compared as they are, or as others in the same order.
        let compared = matches!(window.take, Take::All | Take::Any);
        let kind = match compared || (in_squares && !sum) {
            true => squares,
            false => plain,
        };
        let values = bodies.iter().map(|&body| observables.of(kind, body));
        let values: Vec<usize> = values.collect();
        let limits = match window.observable {
            Pt | Mass if !sum => Limits::new(window, signed_square),
            // Of rapidities y exp(2 y) is compared, the ratio of E + |pz| and E - |pz|.
            Rapidity if compared => Limits::new(window, |y| (2.0 * y).exp()),
            _ => Limits::new(window, |x| x),
        };
        let ratios = compared && matches!(window.observable, Rapidity | Energy);
        let with_units = values.iter().map(|&value| Value {
            value,
            unit: ratios.then_some(value + 1),
        });
        Some(match window.take {
            Take::All => Test::All(with_units.collect(), limits),
            Take::Any => Test::Any(with_units.collect(), limits),
            Take::Sum => Test::Sum(values, limits),
            Take::Number(number) if number >= values.len() => return None,
            Take::Number(number) => Test::Largest {
                room: observables.reserve(number + 1),
                values,
                count: number + 1,
                sum: false,
                limits,
            },
            Take::First(count) => {
                let count = count.min(values.len());
                Test::Largest {
                    room: observables.reserve(count),
                    values,
                    count,
                    sum: true,
                    limits,
                }
            }
        })
    }

    fn distance(&mut self, window: &Window, bodies: [Body; 2]) -> Test {
        let radius = match window.largest == f64::INFINITY && !window.outside {
            true => Radius::new(window.least),
            false => None,
        };
        let pair = Pair::new(&mut self.observables, bodies, Kind::Cone);
        Test::Distance(pair, radius, Limits::new(window, signed_square))
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
                    return Err(Error::Rule("some", "a limit is no number"));
                }
                let of = |leg: &usize| observables.of(Kind::PtSquared, Body::Leg(*leg));
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
                let room = observables.reserve(limits.len());
                self.push(Test::Some {
                    values,
                    room,
                    limits,
                });
            }
            Rule::Opposite { jets, least, apart } => {
                jets.iter().try_for_each(there)?;
                if jets.len() < 2 || !least.is_finite() || !apart.is_finite() {
                    return Err(Error::Rule("opposite", "it needs two jets and two numbers"));
                }
                let of = |leg: &usize| {
                    [Kind::PtSquared, Kind::SeenRapidity]
                        .map(|kind| observables.of(kind, Body::Leg(*leg)))
                };
                let jets = jets.iter().map(of).collect();
                self.push(Test::Opposite {
                    jets,
                    least: *least,
                    apart: *apart,
                });
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
                        // The transverse momentum is asked for once.
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

    fn isolated(&mut self, photon: usize, near: &[usize], least: f64, cone: [f64; 3]) -> Test {
        let [radius, power, share] = cone;
        let observables = &mut self.observables;
        let photon = Body::Leg(photon);
        let pt = observables.of(Kind::Pt, photon);
        let of = |leg: &usize| {
            let body = Body::Leg(*leg);
            let pair = Pair::new(observables, [photon, body], Kind::PseudoCone);
            (pair, observables.of(Kind::Pt, body))
        };
        let near: Vec<_> = near.iter().map(of).collect();
        let room = observables.reserve(near.len());
        Test::Isolated {
            photon: Photon { pt, near, room },
            cone: Radius::new(radius),
            least,
            radius,
            power,
            share,
        }
    }
}

/// Whether a window has what it needs.
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
        return groups("a distance is of two");
    }
    if window.legs.is_empty() || window.legs.iter().any(Vec::is_empty) {
        return groups("each group needs a leg, and one group there must be");
    }
    Ok(())
}

/// Points, and where the answers go.
pub struct Run<'a> {
    pub program: &'a Program,
    pub momenta: &'a Rows,
    pub boost: Option<&'a [f64]>,
    pub passed: &'a mut [bool],
}

/// Numbers that the longest register holds.
const LONGEST: usize = 8;

impl Task<f64> for Run<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let program = self.program;
        let mut values = Rows::new(program.observables.values(), LONGEST);
        // SAFETY: the CPU has the level.
        let zero = unsafe { V::zero() };
        for (register, passed) in self.passed.chunks_mut(V::LANES).enumerate() {
            let boost = match self.boost {
                Some(boost) => {
                    let mut rapidities = [0.0; LONGEST];
                    let some = &boost[register * V::LANES..][..passed.len()];
                    rapidities[..some.len()].copy_from_slice(some);
                    // SAFETY: the array holds as many numbers as the longest register; the CPU has the level.
                    Some(unsafe { V::load_doubles(rapidities.as_ptr()) })
                }
                None => None,
            };
            let points = Points {
                momenta: self.momenta,
                register,
                boost,
            };
            let found = program.passed(&points, &mut values, zero);
            let mut lanes = [0.0; LONGEST];
            // SAFETY: as above.
            unsafe { found.store_doubles(lanes.as_mut_ptr()) };
            for (passed, lane) in passed.iter_mut().zip(lanes) {
                *passed = lane != 0.0;
            }
        }
    }
}

impl Program {
    /// 1 for points that pass, otherwise 0.
    #[inline(always)]
    fn passed<V: Simd<Scalar = f64>>(&self, points: &Points<V>, values: &mut Rows, zero: V) -> V {
        // What is infinite or no number stays so in a sum.
        let (mut sums, mut first) = ([zero; 4], 0);
        if let Some(boost) = points.boost {
            sums[0] = boost;
        }
        while first < 4 * self.legs {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + load(points.momenta, first + i, points.register, zero);
            }
            first += 4;
        }
        let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        let mut left = V::select((sum * zero).eq(zero), zero.same(1.0), zero);
        let mut done = 0;
        for tested in &self.tests {
            if tested.dear && V::all(left.eq(zero)) {
                return zero;
            }
            let steps = done..tested.steps;
            self.observables.compute(steps, points, values, zero);
            done = tested.steps;
            left = tested.test.hold(left, points, values);
        }
        left
    }
}

impl Test {
    /// What is left where it holds, otherwise 0.
    #[inline(always)]
    fn hold<V: Simd<Scalar = f64>>(&self, left: V, points: &Points<V>, values: &mut Rows) -> V {
        let (zero, one) = (left.same(0.0), left.same(1.0));
        match self {
            Test::All(of, limits) => {
                let mut left = left;
                for value in of {
                    left = left * value.hold(limits, values, zero);
                }
                left
            }
            Test::Any(of, limits) => {
                let mut found = zero;
                for value in of {
                    found = found.max(value.hold(limits, values, zero));
                }
                left * found
            }
            Test::Sum(of, limits) => {
                let mut sum = zero;
                for &value in of {
                    sum = sum + load(values, value, 0, zero);
                }
                left * limits.hold(sum, None)
            }
            Test::Distance(pair, radius, limits) => {
                if let Some(radius) = radius {
                    let apart = pair.apart(radius, points, values, zero);
                    let found = V::select(left.eq(zero), zero, apart);
                    if V::all(found.eq(found)) {
                        return found;
                    }
                }
                left * limits.hold(pair.distance(points, values, zero), None)
            }
            Test::Largest {
                values: of,
                room,
                count,
                sum,
                limits,
            } => {
                let known = sort(of, *room, *count, values, zero);
                let first = if *sum { 0 } else { *count - 1 };
                let mut found = zero;
                for place in first..*count {
                    found = found + load(values, room + place, 0, zero);
                }
                left * known * limits.hold(found, None)
            }
            Test::Some {
                values: of,
                room,
                limits,
            } => {
                let known = sort(of, *room, limits.len(), values, zero);
                let mut found = zero;
                for (place, limits) in limits.iter().enumerate() {
                    found = found.max(limits.hold(load(values, room + place, 0, zero), None));
                }
                left * known * found
            }
            Test::Opposite { jets, least, apart } => {
                left * opposite(jets, *least, *apart, values, zero)
            }
            Test::Isolated {
                photon,
                cone,
                least,
                radius,
                power,
                share,
            } => {
                let pt = load(values, photon.pt, 0, zero);
                let hard = V::select(zero.same(*least).le(pt), one, zero);
                let left = left * hard;
                if photon.is_alone(cone, left, points, values) {
                    return left;
                }
                left * photon.isolated([*radius, *power, *share], pt, points, values)
            }
        }
    }
}

/// The first values in falling order; 1 where all are numbers, otherwise 0.
#[inline(always)]
fn sort<V: Simd<Scalar = f64>>(
    of: &[usize],
    room: usize,
    count: usize,
    values: &mut Rows,
    zero: V,
) -> V {
    let mut known = zero.same(1.0);
    for place in 0..count {
        values.store(room + place, 0, zero.same(f64::NEG_INFINITY));
    }
    for &value in of {
        let mut value = load(values, value, 0, zero);
        known = V::select(value.eq(value), known, zero);
        for place in 0..count {
            let here = load(values, room + place, 0, zero);
            values.store(room + place, 0, here.max(value));
            value = here.min(value);
        }
    }
    known
}

/// 1 where the two hardest go to different sides, otherwise 0.
#[inline(always)]
fn opposite<V: Simd<Scalar = f64>>(
    jets: &[[usize; 2]],
    least: f64,
    apart: f64,
    values: &Rows,
    zero: V,
) -> V {
    let (mut first, mut second) = (-zero.same(1.0), -zero.same(1.0));
    let (mut first_y, mut second_y) = (zero, zero);
    for [pt, y] in jets {
        let (pt, y) = (load(values, *pt, 0, zero), load(values, *y, 0, zero));
        let (harder, harder_than_second) = (first.lt(pt), second.lt(pt));
        second = V::select(harder, first, V::select(harder_than_second, pt, second));
        second_y = V::select(harder, first_y, V::select(harder_than_second, y, second_y));
        first = V::select(harder, pt, first);
        first_y = V::select(harder, y, first_y);
    }
    let (one, least, apart) = (zero.same(1.0), zero.same(least), zero.same(apart));
    let far = V::both(least.le(first_y.abs()), least.le(second_y.abs()));
    let sides = (first_y * second_y).le(zero);
    let apart = apart.le((first_y - second_y).abs());
    V::select(V::both(far, V::both(sides, apart)), one, zero)
}

impl Photon {
    /// Whether sines tell that nothing is in the cone about any photon of the points that are left.
    #[inline(always)]
    fn is_alone<V: Simd<Scalar = f64>>(
        &self,
        cone: &Option<Radius>,
        left: V,
        points: &Points<V>,
        values: &Rows,
    ) -> bool {
        let (zero, one) = (left.same(0.0), left.same(1.0));
        let Some(cone) = cone else {
            return self.near.is_empty();
        };
        for (pair, _) in &self.near {
            let apart = pair.apart(cone, points, values, zero);
            if !V::all(V::select(left.eq(zero), one, apart).eq(one)) {
                return false;
            }
        }
        true
    }

    /// 1 where little is near, otherwise 0: within each distance up to the radius R, the transverse momenta are in sum
    /// no more than a share of the photon's, times ((1 - cos d) / (1 - cos R))^power.
    #[inline(always)]
    fn isolated<V: Simd<Scalar = f64>>(
        &self,
        cone: [f64; 3],
        pt: V,
        points: &Points<V>,
        values: &mut Rows,
    ) -> V {
        let [radius, power, share] = cone;
        let (zero, one) = (pt.same(0.0), pt.same(1.0));
        let (square, whole) = (pt.same(radius * radius), pt.same(1.0 - radius.cos()));
        for (i, (pair, _)) in self.near.iter().enumerate() {
            let distance = pair.distance(points, values, zero);
            values.store(self.room + i, 0, distance);
        }
        let mut found = one;
        for i in 0..self.near.len() {
            let distance = load(values, self.room + i, 0, zero);
            let outside = square.lt(distance);
            if V::all(outside) {
                continue;
            }
            let mut sum = zero;
            for (other, (_, pt)) in self.near.iter().enumerate() {
                let nearer = load(values, self.room + other, 0, zero).le(distance);
                sum = sum + V::select(nearer, load(values, *pt, 0, zero), zero);
            }
            let (_, cosine) = functions::sin_cos(distance.sqrt());
            let share_of_cone = (one - cosine) / whole;
            let allowed = if power == 1.0 {
                share_of_cone
            } else {
                // A power of what is next to 0 is 0, but for the power 0.
                let least = pt.same(f64::MIN_POSITIVE);
                let none = pt.same(if power == 0.0 { 1.0 } else { 0.0 });
                let raised = functions::pow(share_of_cone.max(least), pt.same(power));
                V::select(least.lt(share_of_cone), raised, none)
            };
            let within = V::both(sum.le(pt * allowed * pt.same(share)), distance.eq(distance));
            found = found * V::select(outside, one, V::select(within, one, zero));
        }
        found
    }
}
