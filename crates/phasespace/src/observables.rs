//! Observables of the momenta of a register of points, each computed once for all that ask for it.

use crate::Rows;
use mebridge_simd::{Simd, functions};
use std::f64::consts::PI;

/// A momentum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Of a leg.
    Leg(usize),
    /// Of several: its four components are values from this one on.
    Sum(usize),
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The rapidity of the frame of the momenta in that of the detector.
    Boost,
    /// exp(2 y) of that.
    BoostSquared,
    /// Its hyperbolic cosine and sine; two values.
    BoostMatrix,
    /// Energy in the rest frame of what comes in, times the mass of that; and the mass. Two values.
    Energy,
    /// Of the frame of the detector: E + |pz| and E - |pz|, both times the same number. NaN where there is no rapidity.
    /// Two values.
    LightCone,
    PtSquared,
    Pt,
    MassSquared,
    Mass,
    /// The rapidity in the frame of the detector.
    SeenRapidity,
    /// E + pz and E - pz. Two values.
    Cone,
    /// Two numbers with the ratio of |p| + pz and |p| - pz in the frame of the detector.
    PseudoCone,
    /// The absolute value of that in the frame of the detector.
    RapiditySize,
    /// GeV.
    PlainEnergy,
}

impl Kind {
    /// How many values it has.
    fn width(self) -> usize {
        match self {
            Kind::BoostMatrix | Kind::Energy | Kind::LightCone | Kind::Cone | Kind::PseudoCone => 2,
            _ => 1,
        }
    }
}

/// One observable of a momentum, and where its values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The sum of some legs.
    Add {
        first: usize,
        count: usize,
        to: usize,
    },
    Compute {
        kind: Kind,
        body: Body,
        /// Values that it needs.
        of: [usize; 2],
        to: usize,
    },
}

/// Steps in an order in which each has what it needs, and which values they give.
#[derive(Clone, Debug, Default)]
pub struct Observables {
    steps: Vec<Step>,
    /// Of all sums.
    legs: Vec<usize>,
    values: usize,
}

/// A register of points.
pub struct Points<'a, V> {
    pub momenta: &'a Rows,
    pub register: usize,
    /// The rapidity of their frame in that of the detector.
    pub boost: Option<V>,
}

impl Observables {
    /// How many values there are.
    pub fn values(&self) -> usize {
        self.values
    }

    /// How many steps there are.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Room for more values.
    pub fn reserve(&mut self, values: usize) -> usize {
        let first = self.values;
        self.values += values;
        first
    }

    /// The momentum of some legs.
    pub fn body(&mut self, legs: &[usize]) -> Body {
        if let [leg] = legs {
            return Body::Leg(*leg);
        }
        let known = self.steps.iter().find_map(|step| match *step {
            Step::Add { first, count, to } => (self.legs[first..][..count] == *legs).then_some(to),
            Step::Compute { .. } => None,
        });
        Body::Sum(known.unwrap_or_else(|| {
            let (first, count) = (self.legs.len(), legs.len());
            self.legs.extend(legs);
            let to = self.reserve(4);
            self.steps.push(Step::Add { first, count, to });
            to
        }))
    }

    /// The value of an observable of a momentum: its first one where it has two.
    pub fn of(&mut self, kind: Kind, body: Body) -> usize {
        let known = self.steps.iter().find_map(|step| match *step {
            Step::Compute {
                kind: k,
                body: b,
                to,
                ..
            } => (k == kind && b == body).then_some(to),
            Step::Add { .. } => None,
        });
        known.unwrap_or_else(|| {
            let of = self.needed(kind, body);
            let to = self.reserve(kind.width());
            let step = Step::Compute { kind, body, of, to };
            self.steps.push(step);
            to
        })
    }

    /// The values that it follows from.
    fn needed(&mut self, kind: Kind, body: Body) -> [usize; 2] {
        // What belongs to the frame has no momentum.
        let frame = Body::Leg(0);
        match kind {
            Kind::LightCone => [self.of(Kind::BoostSquared, frame), 0],
            Kind::Pt => [self.of(Kind::PtSquared, body), 0],
            Kind::Mass => [self.of(Kind::MassSquared, body), 0],
            Kind::RapiditySize => [self.of(Kind::SeenRapidity, body), 0],
            Kind::PlainEnergy => [self.of(Kind::Energy, body), 0],
            Kind::SeenRapidity => [self.of(Kind::Cone, body), self.of(Kind::Boost, frame)],
            Kind::PseudoCone => [
                self.of(Kind::PtSquared, body),
                self.of(Kind::BoostMatrix, frame),
            ],
            _ => [0; 2],
        }
    }

    /// Computes the values of some of the steps.
    #[inline(always)]
    pub fn compute<V: Simd<Scalar = f64>>(
        &self,
        steps: std::ops::Range<usize>,
        points: &Points<V>,
        values: &mut Rows,
        zero: V,
    ) {
        for step in &self.steps[steps] {
            match *step {
                Step::Add { first, count, to } => {
                    for i in 0..4 {
                        let mut sum = zero;
                        for &leg in &self.legs[first..first + count] {
                            sum = sum + load(points.momenta, 4 * leg + i, points.register, zero);
                        }
                        values.store(to + i, 0, sum);
                    }
                }
                Step::Compute { kind, body, of, to } => {
                    compute(kind, body, of, to, points, values, zero);
                }
            }
        }
    }
}

/// A register of a row.
#[inline(always)]
pub fn load<V: Simd<Scalar = f64>>(rows: &Rows, row: usize, register: usize, _proof: V) -> V {
    // SAFETY: a value of `V` exists, so the CPU has the level.
    unsafe { rows.load::<V>(row, register) }
}

/// Two values that follow each other.
#[inline(always)]
fn pair<V: Simd<Scalar = f64>>(values: &Rows, first: usize, zero: V) -> (V, V) {
    (
        load(values, first, 0, zero),
        load(values, first + 1, 0, zero),
    )
}

#[inline(always)]
fn momentum<V: Simd<Scalar = f64>>(
    body: Body,
    points: &Points<V>,
    values: &Rows,
    zero: V,
) -> [V; 4] {
    let (rows, first, register) = match body {
        Body::Leg(leg) => (points.momenta, 4 * leg, points.register),
        Body::Sum(first) => (values, first, 0),
    };
    [
        load(rows, first, register, zero),
        load(rows, first + 1, register, zero),
        load(rows, first + 2, register, zero),
        load(rows, first + 3, register, zero),
    ]
}

/// The squared mass of a momentum, not below 0.
#[inline(always)]
pub fn mass_squared<V: Simd<Scalar = f64>>(p: [V; 4]) -> V {
    let square = p[3].neg_mul_add(
        p[3],
        p[2].neg_mul_add(p[2], p[1].neg_mul_add(p[1], p[0] * p[0])),
    );
    // NaN is kept.
    V::select(square.lt(square.same(0.0)), square.same(0.0), square)
}

#[inline(always)]
fn compute<V: Simd<Scalar = f64>>(
    kind: Kind,
    body: Body,
    of: [usize; 2],
    to: usize,
    points: &Points<V>,
    values: &mut Rows,
    zero: V,
) {
    // What belongs to the frame has none.
    let p = momentum(body, points, values, zero);
    let found = match kind {
        Kind::Boost => match points.boost {
            Some(y) => y,
            None => zero,
        },
        Kind::BoostSquared => match points.boost {
            Some(y) => functions::exp(y + y),
            None => zero.same(1.0),
        },
        Kind::BoostMatrix => match points.boost {
            Some(y) => {
                let (up, down) = (functions::exp(y), functions::exp(-y));
                let half = zero.same(0.5);
                values.store(to + 1, 0, (up - down) * half);
                (up + down) * half
            }
            None => {
                values.store(to + 1, 0, zero);
                zero.same(1.0)
            }
        },
        Kind::Energy => {
            let first = momentum(Body::Leg(0), points, values, zero);
            let second = momentum(Body::Leg(1), points, values, zero);
            let all = [
                first[0] + second[0],
                first[1] + second[1],
                first[2] + second[2],
                first[3] + second[3],
            ];
            let square = mass_squared(all);
            let mass = V::select(zero.lt(square), square.sqrt(), zero.same(f64::NAN));
            values.store(to + 1, 0, mass);
            let product = p[1].neg_mul_add(all[1], p[0] * all[0]);
            p[3].neg_mul_add(all[3], p[2].neg_mul_add(all[2], product))
        }
        Kind::LightCone => {
            let factor = load(values, of[0], 0, zero);
            let (along, against) = ((p[0] + p[3]) * factor, p[0] - p[3]);
            let (larger, smaller) = (along.max(against), along.min(against));
            let known = V::both(zero.lt(larger), zero.le(smaller));
            values.store(to + 1, 0, V::select(known, smaller, zero.same(f64::NAN)));
            larger
        }
        Kind::PtSquared => p[1].mul_add(p[1], p[2] * p[2]),
        Kind::Pt | Kind::Mass => load(values, of[0], 0, zero).sqrt(),
        Kind::RapiditySize => load(values, of[0], 0, zero).abs(),
        Kind::PlainEnergy => load(values, of[0], 0, zero) / load(values, of[0] + 1, 0, zero),
        Kind::MassSquared => mass_squared(p),
        Kind::Cone => {
            values.store(to + 1, 0, p[0] - p[3]);
            p[0] + p[3]
        }
        Kind::SeenRapidity => {
            let (along, against) = pair(values, of[0], zero);
            functions::ln(along / against).mul_add(zero.same(0.5), load(values, of[1], 0, zero))
        }
        Kind::PseudoCone => {
            let (cosh, sinh) = pair(values, of[1], zero);
            let along = sinh.mul_add(p[0], cosh * p[3]);
            let square = load(values, of[0], 0, zero);
            // The square of the larger one, and their product.
            let larger = along.abs() + along.mul_add(along, square).sqrt();
            let larger = larger * larger;
            let forward = zero.le(along);
            values.store(to + 1, 0, V::select(forward, square, larger));
            V::select(forward, larger, square)
        }
    };
    values.store(to, 0, found);
}

/// Two momenta whose distance is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    bodies: [Body; 2],
    /// Values of [`Kind::Cone`] or [`Kind::PseudoCone`].
    cones: [usize; 2],
    /// Squared transverse momenta.
    transverse: [usize; 2],
}

/// A distance that two momenta have at least or not: most are told by sines alone.
///
/// With D^2 = y^2 + phi^2 and D below R, sinh(y) / y is at most sinh(R) / R, and phi / sin(phi) at most R / sin(R).
/// So D is at least R where sin(phi)^2 + (R / sinh(R))^2 sinh(y)^2 is at least R^2; and it is below R where
/// (R / sin(R))^2 sin(phi)^2 + sinh(y)^2 is, for angles below pi / 2.
#[derive(Clone, Copy, Debug)]
pub struct Radius {
    square: f64,
    over_sinh: f64,
    over_sine: f64,
}

impl Radius {
    /// One up to which sines tell anything.
    pub fn new(radius: f64) -> Option<Self> {
        (radius > 0.0 && radius < 1.5).then(|| Radius {
            square: radius * radius,
            over_sinh: (radius / radius.sinh()).powi(2),
            over_sine: (radius / radius.sin()).powi(2),
        })
    }
}

/// What rounding may change, relative; and products below which it may change more.
const ROUNDING: f64 = 1e-12;
const SMALLEST: f64 = 1e-280;

impl Pair {
    /// Of two momenta, in rapidity or in pseudorapidity.
    pub fn new(observables: &mut Observables, bodies: [Body; 2], cone: Kind) -> Self {
        Pair {
            bodies,
            cones: bodies.map(|body| observables.of(cone, body)),
            transverse: bodies.map(|body| observables.of(Kind::PtSquared, body)),
        }
    }

    /// Scalar and vector product of what is transverse.
    #[inline(always)]
    fn products<V: Simd<Scalar = f64>>(
        &self,
        points: &Points<V>,
        values: &Rows,
        zero: V,
    ) -> (V, V) {
        let p = momentum(self.bodies[0], points, values, zero);
        let q = momentum(self.bodies[1], points, values, zero);
        (
            p[1].mul_add(q[1], p[2] * q[2]),
            p[2].neg_mul_add(q[1], p[1] * q[2]),
        )
    }

    /// 1 where the distance is at least the radius, 0 where it is smaller, and NaN where sines do not tell.
    #[inline(always)]
    pub fn apart<V: Simd<Scalar = f64>>(
        &self,
        radius: &Radius,
        points: &Points<V>,
        values: &Rows,
        zero: V,
    ) -> V {
        let (dot, cross) = self.products(points, values, zero);
        let (a, b) = pair(values, self.cones[0], zero);
        let (c, d) = pair(values, self.cones[1], zero);
        let pts =
            load(values, self.transverse[0], 0, zero) * load(values, self.transverse[1], 0, zero);
        let masses = (a * b) * (c * d);
        let half = a.mul_sub(d, b * c) * zero.same(0.5);
        let (sine, sinh) = (cross * cross * masses, half * half * pts);
        let both = pts * masses;
        let known = zero.same(SMALLEST).lt(both);
        let (more, less) = (
            both * zero.same(radius.square * (1.0 + ROUNDING)),
            both * zero.same(radius.square * (1.0 - ROUNDING)),
        );
        let (one, nan) = (zero.same(1.0), zero.same(f64::NAN));
        let near = sine.mul_add(zero.same(radius.over_sine), sinh).lt(less);
        let far = more.lt(sinh.mul_add(zero.same(radius.over_sinh), sine));
        let found = V::select(near, zero, V::select(far, one, nan));
        let found = V::select(dot.le(zero), one, found);
        V::select(known, found, nan)
    }

    /// The squared distance. NaN where one of the two has no rapidity or no angle; but what goes along a beam without a
    /// mass is far from all else.
    #[inline(always)]
    pub fn distance<V: Simd<Scalar = f64>>(&self, points: &Points<V>, values: &Rows, zero: V) -> V {
        let (dot, cross) = self.products(points, values, zero);
        let angle = functions::atan(cross.abs() / dot.abs());
        let angle = V::select(dot.lt(zero), zero.same(PI) - angle, angle);
        let (a, b) = pair(values, self.cones[0], zero);
        let (c, d) = pair(values, self.cones[1], zero);
        let ratio = (a * d) / (b * c);
        let least = (a.min(b)).min(c.min(d));
        let ratio = V::select(zero.le(least), ratio, zero.same(f64::NAN));
        let along = functions::ln(ratio) * zero.same(0.5);
        let square = along * along;
        let infinite = square.eq(zero.same(f64::INFINITY));
        V::select(infinite, square, angle.mul_add(angle, square))
    }
}
