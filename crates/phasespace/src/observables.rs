//! Observables of the momenta of a chunk of points, each computed once for all tests that use it.

use crate::Rows;
use mebridge_simd::{Simd, functions};
use std::f64::consts::PI;
use std::marker::PhantomData;
use std::ops::Range;

/// A momentum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MomentumOf {
    /// Of a leg.
    Leg(usize),
    /// Of the sum of several legs: the four components are values from this one on.
    Sum(usize),
}

/// The value that holds the rapidity of the momenta's frame in the detector frame.
pub const BOOST: usize = 0;

/// The kinds of observables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservableKind {
    /// 1 if all components of all legs are finite, otherwise 0.
    Finite,
    /// exp(2 y), where y is the rapidity of the momenta's frame in the detector frame.
    BoostSquared,
    /// cosh y and sinh y; two values.
    BoostMatrix,
    /// Energy in the rest frame of the incoming legs times their invariant mass, and that mass. Two values.
    Energy,
    /// E + |pz| and E - |pz| in the detector frame, up to a common factor; NaN if there is no rapidity. Two values.
    LightCone,
    PtSquared,
    Pt,
    MassSquared,
    Mass,
    /// Rapidity in the detector frame.
    SeenRapidity,
    /// Absolute rapidity in the detector frame.
    RapiditySize,
    /// E + pz and E - pz. Two values.
    Cone,
    /// |p| + pz and |p| - pz in the detector frame, up to a common factor. Two values.
    PseudoCone,
    /// Energy in the rest frame of the incoming legs, GeV.
    PlainEnergy,
}

impl ObservableKind {
    /// Number of its values.
    fn width(self) -> usize {
        match self {
            ObservableKind::BoostMatrix
            | ObservableKind::Energy
            | ObservableKind::LightCone
            | ObservableKind::Cone
            | ObservableKind::PseudoCone => 2,
            _ => 1,
        }
    }
}

/// One step of the computation; `to` is its first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The sum of the momenta of some legs.
    Add {
        first: usize,
        count: usize,
        to: usize,
    },
    Compute {
        kind: ObservableKind,
        body: MomentumOf,
        /// The values that it depends on.
        of: [usize; 2],
        to: usize,
    },
}

/// A list of observables, as steps in order of their dependence.
#[derive(Clone, Debug)]
pub struct Observables {
    steps: Vec<Step>,
    /// The legs of all sums.
    legs: Vec<usize>,
    values: usize,
}

/// Points per chunk: several registers, but few enough for all values to stay in the L1 cache.
pub const POINTS: usize = 64;

/// One value for all points of a chunk.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Column([f64; POINTS]);

/// Storage for all values of a chunk of points.
pub struct ChunkRows(Vec<Column>);

impl ChunkRows {
    /// Creates the storage.
    pub fn new(rows: usize) -> Self {
        ChunkRows(vec![Column([0.0; POINTS]); rows])
    }
}

/// A chunk of points with its values.
pub struct PointChunk<'a, V> {
    momenta: &'a Rows,
    /// Number of its first point.
    first: usize,
    /// Number of registers per row.
    pub registers: usize,
    values: *mut Column,
    rows: usize,
    /// Whether the momenta's frame differs from the detector frame.
    boosted: bool,
    /// Zero; it also proves that the CPU supports the level.
    pub zero: V,
    owner: PhantomData<&'a mut ChunkRows>,
}

/// A row of registers, for reading.
#[derive(Clone, Copy)]
pub struct RowRegisters<'a, V> {
    from: *const f64,
    registers: usize,
    _proof: V,
    owner: PhantomData<&'a V>,
}

/// A row of registers, for writing.
pub struct RowMut<'a, V> {
    to: *mut f64,
    registers: usize,
    _proof: V,
    owner: PhantomData<&'a V>,
}

impl<V: Simd<Scalar = f64>> RowRegisters<'_, V> {
    /// Loads a register.
    #[inline(always)]
    pub fn at(&self, register: usize) -> V {
        assert!(register < self.registers, "a register of the chunk");
        // SAFETY: the row has `registers` aligned registers, which live as long as the borrowed chunk; a value of `V`
        // exists, so the CPU supports the level.
        unsafe { V::load(self.from.add(register * V::LANES)) }
    }
}

impl<V: Simd<Scalar = f64>> RowMut<'_, V> {
    /// Writes a register.
    #[inline(always)]
    pub fn set(&self, register: usize, value: V) {
        assert!(register < self.registers, "a register of the chunk");
        // SAFETY: as above; the chunk holds the only reference to the values.
        unsafe { value.store(self.to.add(register * V::LANES)) }
    }
}

impl<'a, V: Simd<Scalar = f64>> PointChunk<'a, V> {
    /// Creates the chunk that begins at point `first`, a multiple of [`POINTS`].
    #[inline(always)]
    pub fn new(
        momenta: &'a Rows,
        boost: Option<&[f64]>,
        first: usize,
        values: &'a mut ChunkRows,
        zero: V,
    ) -> Self {
        let points = (momenta.points() - first).min(POINTS);
        if let Some(boost) = boost {
            values.0[BOOST].0[..points].copy_from_slice(&boost[first..first + points]);
        }
        PointChunk {
            momenta,
            first,
            registers: points.div_ceil(V::LANES),
            rows: values.0.len(),
            values: values.0.as_mut_ptr(),
            boosted: boost.is_some(),
            zero,
            owner: PhantomData,
        }
    }

    /// A component of a leg's momentum.
    #[inline(always)]
    fn row(&self, row: usize) -> RowRegisters<'_, V> {
        let (begin, numbers) = self.momenta.begin(row);
        assert!(self.first + self.registers * V::LANES <= numbers, "points");
        RowRegisters {
            // SAFETY: the row has at least these numbers, as just checked.
            from: unsafe { begin.add(self.first) },
            registers: self.registers,
            _proof: self.zero,
            owner: PhantomData,
        }
    }

    /// A value of each point.
    #[inline(always)]
    pub fn value(&self, value: usize) -> RowRegisters<'_, V> {
        RowRegisters {
            from: self.line(value),
            registers: self.registers,
            _proof: self.zero,
            owner: PhantomData,
        }
    }

    /// A value of each point, for writing.
    #[inline(always)]
    pub fn value_mut(&self, value: usize) -> RowMut<'_, V> {
        RowMut {
            to: self.line(value),
            registers: self.registers,
            _proof: self.zero,
            owner: PhantomData,
        }
    }

    #[inline(always)]
    fn line(&self, value: usize) -> *mut f64 {
        assert!(value < self.rows, "a value of the chunk");
        // SAFETY: there are `rows` columns, each of which holds all points of a chunk.
        unsafe { self.values.add(value).cast() }
    }

    #[inline(always)]
    fn momentum(&self, body: MomentumOf) -> [RowRegisters<'_, V>; 4] {
        match body {
            MomentumOf::Leg(leg) => {
                let first = 4 * leg;
                [
                    self.row(first),
                    self.row(first + 1),
                    self.row(first + 2),
                    self.row(first + 3),
                ]
            }
            MomentumOf::Sum(first) => [
                self.value(first),
                self.value(first + 1),
                self.value(first + 2),
                self.value(first + 3),
            ],
        }
    }
}

impl Observables {
    /// An empty list: only the rapidity of the frame.
    pub fn new() -> Self {
        Observables {
            steps: Vec::new(),
            legs: Vec::new(),
            values: BOOST + 1,
        }
    }

    /// Number of values.
    pub fn values(&self) -> usize {
        self.values
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Reserves values; returns the first.
    pub fn reserve(&mut self, values: usize) -> usize {
        let first = self.values;
        self.values += values;
        first
    }

    /// The total momentum of some legs.
    pub fn body(&mut self, legs: &[usize]) -> MomentumOf {
        if let [leg] = legs {
            return MomentumOf::Leg(*leg);
        }
        let known = self.steps.iter().find_map(|step| match *step {
            Step::Add { first, count, to } => (self.legs[first..][..count] == *legs).then_some(to),
            Step::Compute { .. } => None,
        });
        MomentumOf::Sum(known.unwrap_or_else(|| {
            let (first, count) = (self.legs.len(), legs.len());
            self.legs.extend(legs);
            let to = self.reserve(4);
            self.steps.push(Step::Add { first, count, to });
            to
        }))
    }

    /// Adds the test that the first `legs` legs have finite momenta.
    pub fn finite(&mut self, legs: usize) -> usize {
        let to = self.reserve(1);
        self.steps.push(Step::Compute {
            kind: ObservableKind::Finite,
            body: MomentumOf::Leg(0),
            of: [legs, 0],
            to,
        });
        to
    }

    /// The value of an observable of a momentum, the first if it has two.
    pub fn value_of(&mut self, kind: ObservableKind, body: MomentumOf) -> usize {
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

    /// The observable of a value, the first if it has two.
    ///
    /// # Panics
    /// If it is not an observable.
    pub fn observable_of(&self, value: usize) -> (ObservableKind, MomentumOf) {
        let found = self.steps.iter().find_map(|step| match *step {
            Step::Compute { kind, body, to, .. } => (to == value).then_some((kind, body)),
            Step::Add { .. } => None,
        });
        found.expect("a value of an observable")
    }

    /// The legs that a momentum is the sum of.
    pub fn legs_of(&self, body: MomentumOf) -> Vec<usize> {
        let first_value = match body {
            MomentumOf::Leg(leg) => return vec![leg],
            MomentumOf::Sum(first_value) => first_value,
        };
        let found = self.steps.iter().find_map(|step| match *step {
            Step::Add { first, count, to } => {
                (to == first_value).then(|| self.legs[first..first + count].to_vec())
            }
            Step::Compute { .. } => None,
        });
        found.expect("a sum of legs")
    }

    /// The values that an observable depends on.
    fn needed(&mut self, kind: ObservableKind, body: MomentumOf) -> [usize; 2] {
        // Observables of the frame have no momentum.
        let frame = MomentumOf::Leg(0);
        match kind {
            ObservableKind::LightCone => [
                self.value_of(ObservableKind::Cone, body),
                self.value_of(ObservableKind::BoostSquared, frame),
            ],
            ObservableKind::Pt => [self.value_of(ObservableKind::PtSquared, body), 0],
            ObservableKind::Mass => [self.value_of(ObservableKind::MassSquared, body), 0],
            ObservableKind::RapiditySize => [self.value_of(ObservableKind::SeenRapidity, body), 0],
            ObservableKind::PlainEnergy => [self.value_of(ObservableKind::Energy, body), 0],
            ObservableKind::SeenRapidity => [self.value_of(ObservableKind::Cone, body), 0],
            ObservableKind::PseudoCone => [
                self.value_of(ObservableKind::PtSquared, body),
                self.value_of(ObservableKind::BoostMatrix, frame),
            ],
            _ => [0; 2],
        }
    }

    /// Computes the values of some of the steps.
    #[inline(always)]
    pub fn compute<V: Simd<Scalar = f64>>(&self, steps: Range<usize>, chunk: &PointChunk<V>) {
        for step in &self.steps[steps] {
            match *step {
                Step::Add { first, count, to } => {
                    for component in 0..4 {
                        let sum = chunk.value_mut(to + component);
                        let so_far = chunk.value(to + component);
                        for (i, &leg) in self.legs[first..first + count].iter().enumerate() {
                            let row = chunk.row(4 * leg + component);
                            for r in 0..chunk.registers {
                                let before = if i == 0 { chunk.zero } else { so_far.at(r) };
                                sum.set(r, before + row.at(r));
                            }
                        }
                    }
                }
                Step::Compute { kind, body, of, to } => compute(kind, body, of, to, chunk),
            }
        }
    }
}

/// The squared mass of a momentum, at least 0.
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
#[expect(clippy::too_many_lines, reason = "a case for each observable")]
fn compute<V: Simd<Scalar = f64>>(
    kind: ObservableKind,
    body: MomentumOf,
    of: [usize; 2],
    to: usize,
    chunk: &PointChunk<V>,
) {
    let (zero, one, half) = (chunk.zero, chunk.zero.same(1.0), chunk.zero.same(0.5));
    let to_row = chunk.value_mut(to);
    match kind {
        ObservableKind::BoostSquared => {
            let boost = chunk.value(BOOST);
            for r in 0..chunk.registers {
                let mut factor = one;
                if chunk.boosted {
                    let y = boost.at(r);
                    factor = functions::exp(y + y);
                }
                to_row.set(r, factor);
            }
        }
        ObservableKind::BoostMatrix => {
            let (boost, second) = (chunk.value(BOOST), chunk.value_mut(to + 1));
            for r in 0..chunk.registers {
                let y = boost.at(r);
                let (up, down) = (functions::exp(y), functions::exp(-y));
                to_row.set(r, (up + down) * half);
                second.set(r, (up - down) * half);
            }
        }
        ObservableKind::Energy => {
            let (first, second) = (
                chunk.momentum(MomentumOf::Leg(0)),
                chunk.momentum(MomentumOf::Leg(1)),
            );
            let (p, mass) = (chunk.momentum(body), chunk.value_mut(to + 1));
            for r in 0..chunk.registers {
                let mut all = [zero; 4];
                for (i, all) in all.iter_mut().enumerate() {
                    *all = first[i].at(r) + second[i].at(r);
                }
                let square = mass_squared(all);
                let known = zero.lt(square);
                mass.set(r, V::select(known, square.sqrt(), zero.same(f64::NAN)));
                let product = p[1].at(r).neg_mul_add(all[1], p[0].at(r) * all[0]);
                let product = p[2].at(r).neg_mul_add(all[2], product);
                to_row.set(r, p[3].at(r).neg_mul_add(all[3], product));
            }
        }
        ObservableKind::LightCone => {
            let ([along, against], factor) = (
                [chunk.value(of[0]), chunk.value(of[0] + 1)],
                chunk.value(of[1]),
            );
            let second = chunk.value_mut(to + 1);
            for r in 0..chunk.registers {
                let (along, against) = (along.at(r) * factor.at(r), against.at(r));
                let (larger, smaller) = (along.max(against), along.min(against));
                let known = V::both(zero.lt(larger), zero.le(smaller));
                to_row.set(r, larger);
                second.set(r, V::select(known, smaller, zero.same(f64::NAN)));
            }
        }
        ObservableKind::PtSquared => {
            let p = chunk.momentum(body);
            for r in 0..chunk.registers {
                let (x, y) = (p[1].at(r), p[2].at(r));
                to_row.set(r, x.mul_add(x, y * y));
            }
        }
        ObservableKind::Pt | ObservableKind::Mass => {
            let square = chunk.value(of[0]);
            for r in 0..chunk.registers {
                to_row.set(r, square.at(r).sqrt());
            }
        }
        ObservableKind::RapiditySize => {
            let rapidity = chunk.value(of[0]);
            for r in 0..chunk.registers {
                to_row.set(r, rapidity.at(r).abs());
            }
        }
        ObservableKind::PlainEnergy => {
            let (energy, mass) = (chunk.value(of[0]), chunk.value(of[0] + 1));
            for r in 0..chunk.registers {
                to_row.set(r, energy.at(r) / mass.at(r));
            }
        }
        ObservableKind::MassSquared => {
            let p = chunk.momentum(body);
            for r in 0..chunk.registers {
                to_row.set(
                    r,
                    mass_squared([p[0].at(r), p[1].at(r), p[2].at(r), p[3].at(r)]),
                );
            }
        }
        ObservableKind::Cone => {
            let (p, second) = (chunk.momentum(body), chunk.value_mut(to + 1));
            for r in 0..chunk.registers {
                let (energy, pz) = (p[0].at(r), p[3].at(r));
                to_row.set(r, energy + pz);
                second.set(r, energy - pz);
            }
        }
        ObservableKind::SeenRapidity => {
            let (along, against) = (chunk.value(of[0]), chunk.value(of[0] + 1));
            let boost = chunk.value(BOOST);
            for r in 0..chunk.registers {
                let twice = functions::ln(along.at(r) / against.at(r));
                to_row.set(r, twice.mul_add(half, boost.at(r)));
            }
        }
        ObservableKind::PseudoCone => {
            let (p, second) = (chunk.momentum(body), chunk.value_mut(to + 1));
            let (square, cosh) = (chunk.value(of[0]), chunk.value(of[1]));
            let sinh = chunk.value(of[1] + 1);
            for r in 0..chunk.registers {
                let (pz, square) = (p[3].at(r), square.at(r));
                let along = sinh.at(r).mul_add(p[0].at(r), cosh.at(r) * pz);
                // The square of the larger one, and the product of both.
                let larger = along.abs() + along.mul_add(along, square).sqrt();
                let larger = larger * larger;
                let forward = zero.le(along);
                to_row.set(r, V::select(forward, larger, square));
                second.set(r, V::select(forward, square, larger));
            }
        }
        ObservableKind::Finite => {
            for leg in 0..of[0] {
                let p = chunk.momentum(MomentumOf::Leg(leg));
                let sums = chunk.value(to);
                for r in 0..chunk.registers {
                    // Infinities and NaN persist in a sum.
                    let sum = (p[0].at(r) + p[1].at(r)) + (p[2].at(r) + p[3].at(r));
                    let before = if leg == 0 {
                        chunk.value(BOOST).at(r)
                    } else {
                        sums.at(r)
                    };
                    to_row.set(r, before + sum);
                }
            }
            let sums = chunk.value(to);
            for r in 0..chunk.registers {
                let sum = sums.at(r);
                to_row.set(r, V::select((sum * zero).eq(zero), one, zero));
            }
        }
    }
}

/// Two momenta whose distance is needed.
#[derive(Clone, Copy, Debug)]
pub struct Separation {
    bodies: [MomentumOf; 2],
    /// Values of [`ObservableKind::Cone`] or [`ObservableKind::PseudoCone`].
    cones: [usize; 2],
    /// Squared transverse momenta.
    transverse: [usize; 2],
}

/// A limit on the distance of two momenta, such that most comparisons need only sines.
///
/// With D^2 = y^2 + phi^2 and D below R, sinh(y) / y is at most sinh(R) / R, and phi / sin(phi) at most R / sin(R). So
/// D is at least R if sin(phi)^2 + (R / sinh(R))^2 sinh(y)^2 >= R^2, and below R if (R / sin(R))^2 sin(phi)^2 +
/// sinh(y)^2 < R^2, for angles below pi / 2.
#[derive(Clone, Copy, Debug)]
pub struct Radius {
    square: f64,
    over_sinh: f64,
    over_sine: f64,
}

impl Radius {
    /// Creates the limit; `None` for radii for which the inequalities do not hold.
    pub fn new(radius: f64) -> Option<Self> {
        (radius > 0.0 && radius < 1.5).then(|| Radius {
            square: radius * radius,
            over_sinh: (radius / radius.sinh()).powi(2),
            over_sine: (radius / radius.sin()).powi(2),
        })
    }

    /// The square with margins for rounding above and below, and both factors.
    pub fn numbers(&self) -> [f64; 4] {
        let Radius {
            square,
            over_sinh,
            over_sine,
        } = *self;
        [
            square * (1.0 + ROUNDING),
            square * (1.0 - ROUNDING),
            over_sinh,
            over_sine,
        ]
    }
}

/// Margin for rounding, relative; and products below which it does not suffice.
const ROUNDING: f64 = 1e-12;
const MIN_PRODUCT: f64 = 1e-280;

impl Separation {
    /// Creates the pair; `cone` decides between rapidity and pseudorapidity.
    pub fn new(
        observables: &mut Observables,
        bodies: [MomentumOf; 2],
        cone: ObservableKind,
    ) -> Self {
        Separation {
            bodies,
            cones: bodies.map(|body| observables.value_of(cone, body)),
            transverse: bodies.map(|body| observables.value_of(ObservableKind::PtSquared, body)),
        }
    }

    /// The two momenta.
    pub fn bodies(&self) -> [MomentumOf; 2] {
        self.bodies
    }

    /// The pair's values in a chunk.
    #[inline(always)]
    pub fn in_chunk<'a, V: Simd<Scalar = f64>>(&self, chunk: &'a PointChunk<V>) -> PairOf<'a, V> {
        let (p, q) = (
            chunk.momentum(self.bodies[0]),
            chunk.momentum(self.bodies[1]),
        );
        let [first, second] = self.cones;
        PairOf {
            transverse: [p[1], p[2], q[1], q[2]],
            squares: [
                chunk.value(self.transverse[0]),
                chunk.value(self.transverse[1]),
            ],
            cones: [
                chunk.value(first),
                chunk.value(first + 1),
                chunk.value(second),
                chunk.value(second + 1),
            ],
        }
    }
}

/// The values of a pair of momenta, for each point.
pub struct PairOf<'a, V> {
    /// Components x and y of both.
    transverse: [RowRegisters<'a, V>; 4],
    squares: [RowRegisters<'a, V>; 2],
    cones: [RowRegisters<'a, V>; 4],
}

impl<V: Simd<Scalar = f64>> PairOf<'_, V> {
    /// Scalar and vector product of the transverse momenta.
    #[inline(always)]
    fn products(&self, r: usize) -> (V, V) {
        let [a, b, c, d] = &self.transverse;
        let (a, b, c, d) = (a.at(r), b.at(r), c.at(r), d.at(r));
        (a.mul_add(c, b * d), b.neg_mul_add(c, a * d))
    }

    /// The smaller of the squared transverse momenta.
    #[inline(always)]
    pub fn smaller(&self, r: usize) -> V {
        self.squares[0].at(r).min(self.squares[1].at(r))
    }

    /// 1 if the distance is at least the radius, 0 if it is smaller, and NaN if the sines do not decide.
    #[inline(always)]
    pub fn apart(&self, radius: &Radius, r: usize) -> V {
        let (dot, cross) = self.products(r);
        let [a, b, c, d] = &self.cones;
        let (a, b, c, d) = (a.at(r), b.at(r), c.at(r), d.at(r));
        let pts = self.squares[0].at(r) * self.squares[1].at(r);
        let masses = (a * b) * (c * d);
        let half = a.mul_sub(d, b * c) * a.same(0.5);
        let (sine, sinh) = (cross * cross * masses, half * half * pts);
        let both = pts * masses;
        let known = a.same(MIN_PRODUCT).lt(both);
        let (more, less) = (
            both * a.same(radius.square * (1.0 + ROUNDING)),
            both * a.same(radius.square * (1.0 - ROUNDING)),
        );
        let (zero, one, nan) = (a.same(0.0), a.same(1.0), a.same(f64::NAN));
        let near = sine.mul_add(a.same(radius.over_sine), sinh).lt(less);
        let far = more.lt(sinh.mul_add(a.same(radius.over_sinh), sine));
        let found = V::select(near, zero, V::select(far, one, nan));
        let found = V::select(dot.le(zero), one, found);
        V::select(known, found, nan)
    }

    /// The squared distance. NaN if one of the momenta has no rapidity or no azimuth, except that a massless momentum
    /// along a beam is infinitely far from all others.
    #[inline(always)]
    pub fn distance(&self, r: usize) -> V {
        let (dot, cross) = self.products(r);
        let zero = dot.same(0.0);
        let angle = functions::atan(cross.abs() / dot.abs());
        let angle = V::select(dot.lt(zero), zero.same(PI) - angle, angle);
        let [a, b, c, d] = &self.cones;
        let (a, b, c, d) = (a.at(r), b.at(r), c.at(r), d.at(r));
        let ratio = (a * d) / (b * c);
        let least = (a.min(b)).min(c.min(d));
        let ratio = V::select(zero.le(least), ratio, zero.same(f64::NAN));
        let along = functions::ln(ratio) * zero.same(0.5);
        let square = along * along;
        let infinite = square.eq(zero.same(f64::INFINITY));
        V::select(infinite, square, angle.mul_add(angle, square))
    }
}
