//! Quantities that do not depend on helicities, for a vector of events: momenta, couplings, propagators and factors;
//! and its external wavefunctions.

use super::momentum_check::MomentumCheck;
use super::{EventBlocks, lane_of, propagators};
use crate::engine::{Engine, Leg, LegSum};
use mebridge_backend::sample::Momenta;
use mebridge_backend::{AllowedMomenta, BadMomentum};
use mebridge_ops::Address;
use mebridge_ops::kernels::{self, Memory};
use mebridge_plan::Factor;
use mebridge_simd::{Cx, Real, Simd};

impl<T: Real> EventBlocks<'_, '_, T> {
    /// Computes everything that precedes the currents.
    #[inline(always)]
    pub(super) unsafe fn start<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        first: usize,
        count: usize,
    ) -> Result<(), BadMomentum> {
        let engine = self.engine;
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            let good = load_momenta(m, engine, &self.inputs.points.momenta, first, count);
            self.worker.bad = 0;
            if !V::all(good)
                && let bad = bad_lanes(m, engine.scratch.momentum_check, good, count)
                && bad != 0
            {
                if self.sample.is_none() {
                    return Err(BadMomentum {
                        event: first + bad.trailing_zeros() as usize,
                    });
                }
                self.worker.bad = bad;
            }
            self.couplings(m, first, count);
            let crossed = engine.allowed == AllowedMomenta::Crossed;
            propagators::products(m, &engine.plan, crossed);
            self.factors(m, false);
            externals(m, engine);
        }
        Ok(())
    }

    /// Computes the momenta, propagators and factors of all calls, or those that only squared diagrams need.
    #[inline(always)]
    pub(super) unsafe fn factors<V: Simd<Scalar = T>>(&self, m: Memory<V>, of_squares: bool) {
        let engine = self.engine;
        let first = engine.plan.quantities_without_squares();
        let momenta = engine.momenta.split_at(first.momenta);
        let lines = engine.plan.propagators.split_at(first.propagators);
        let (momenta, lines) = match of_squares {
            false => (momenta.0, lines.0),
            true => (momenta.1, lines.1),
        };
        // SAFETY: addresses from the plan lie within the worker's memory.
        unsafe {
            for sum in momenta {
                momentum(m, sum);
            }
            for propagator in lines {
                propagators::inverse(m, propagator);
            }
            for f in &engine.factors[usize::from(of_squares)] {
                factor(m, &engine.plan.couplings, f);
            }
        }
    }

    /// Evaluates couplings at each event's G.
    #[inline(always)]
    unsafe fn couplings<V: Simd<Scalar = T>>(&mut self, m: Memory<V>, first: usize, count: usize) {
        let engine = self.engine;
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            let g = self.lanes(m, first, count, self.inputs.points.g_s);
            for law in &engine.polynomials {
                let mut value = Cx::new(V::zero(), V::zero());
                for &(re, im) in law.coefficients.iter().rev() {
                    value = Cx::new(
                        value.re.mul_add(g, V::splat(re)),
                        value.im.mul_add(g, V::splat(im)),
                    );
                }
                m.put_complex(law.address, value);
            }
            if engine.binding.has_formulas() {
                for lane in 0..V::LANES {
                    let event = first + lane.min(count - 1);
                    let values = &mut self.worker.couplings;
                    engine
                        .binding
                        .evaluate(self.inputs.points.g_s[event], values);
                    for (&address, value) in engine.plan.couplings.iter().zip(values) {
                        *lane_of(m, address, lane) = T::from_f64(value.re);
                        *lane_of(m, address + 1, lane) = T::from_f64(value.im);
                    }
                }
            }
        }
    }
}

/// Checks the momentum of the next leg, and stores its square if requested.
///
/// # Safety
/// The CPU supports the level; the leg is one of the engine's.
#[inline(always)]
unsafe fn look_at<V: Simd>(
    m: Memory<V>,
    check: &mut MomentumCheck<V>,
    leg: &Leg,
    p: [V; 4],
    allowed: AllowedMomenta,
) {
    let square = check.leg(p, leg.mass, leg.incoming, allowed);
    if let Some(at) = leg.square {
        // SAFETY: the address from the plan lies within the worker's memory.
        unsafe { m.put_real(at, square) };
    }
}

/// Copies momenta into vectors; lanes without an event repeat the last one. Returns the mask of events with good
/// momenta.
///
/// # Safety
/// The CPU supports the level; the momenta have the engine's legs, and these events.
#[inline(always)]
unsafe fn load_momenta<V: Simd>(
    m: Memory<V>,
    engine: &Engine<V::Scalar>,
    momenta: &Momenta,
    first: usize,
    count: usize,
) -> V::Mask {
    let (to, strides) = (engine.plan.leg_momenta, momenta.strides());
    // SAFETY: writes within the legs' momenta; reads `LANES` numbers of existing events.
    unsafe {
        let mut check = MomentumCheck::new(V::zero());
        if count == V::LANES && strides.component == 1 && strides.event >= 0 {
            let mut from = momenta.at(first, 0, 0);
            for (leg, at) in engine.legs.iter().zip((to..).step_by(4)) {
                let p = V::columns(from, strides.event as usize);
                from = from.wrapping_offset(strides.leg);
                m.put_momentum(at, p);
                look_at(m, &mut check, leg, p, engine.allowed);
            }
            return check.good();
        }
        if count == V::LANES && strides.event == 1 {
            for leg in 0..momenta.legs() {
                let mut p = [V::zero(); 4];
                for (i, p) in p.iter_mut().enumerate() {
                    *p = V::load_doubles(momenta.at(first, leg, i));
                }
                m.put_momentum(to + 4 * leg as u32, p);
            }
        } else {
            gather(m.pointer(to), V::LANES, &momenta.part(first, count));
        }
        for (leg, at) in engine.legs.iter().zip((to..).step_by(4)) {
            look_at(m, &mut check, leg, m.momentum(at), engine.allowed);
        }
        check.good()
    }
}

/// Copies momenta with arbitrary strides, or of fewer than `lanes` events, into vectors.
///
/// # Safety
/// `to` is valid for writing `lanes` times the numbers of an event.
#[cold]
#[inline(never)]
unsafe fn gather<T: Real>(to: *mut T, lanes: usize, momenta: &Momenta) {
    let last = momenta.events() - 1;
    for leg in 0..momenta.legs() {
        for component in 0..4 {
            let mut x = T::from_f64(0.0);
            for lane in 0..lanes {
                // A single event is read once, and not for each lane.
                if lane <= last {
                    x = T::from_f64(momenta.get(lane, leg, component));
                }
                // SAFETY: guaranteed by the caller.
                unsafe { *to.add((4 * leg + component) * lanes + lane) = x };
            }
        }
    }
}

/// Bit mask of the bad lanes among the first `count`.
///
/// # Safety
/// `at` is the valid address of the check in the scratch.
#[inline(always)]
unsafe fn bad_lanes<V: Simd>(m: Memory<V>, at: Address, good: V::Mask, count: usize) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let zero = V::zero();
        m.put_real(at, V::select(good, zero, zero.same(1.0)));
        let mut bad = 0;
        for lane in 0..count {
            bad |= u32::from((*lane_of(m, at, lane)).to_f64() != 0.0) << lane;
        }
        bad
    }
}

#[inline(always)]
unsafe fn momentum<V: Simd>(m: Memory<V>, sum: &LegSum) {
    // SAFETY: addresses from the plan lie within the worker's memory.
    unsafe {
        let mut total = [V::zero(); 4];
        // Multiplied, as branches on signs are not foreseen.
        for &(leg, sign) in &sum.terms {
            let p = m.momentum(leg);
            let sign = total[0].same(sign);
            for i in 0..4 {
                total[i] = sign.mul_add(p[i], total[i]);
            }
        }
        m.put_momentum(sum.address, total);
    }
}

#[inline(always)]
unsafe fn factor<V: Simd>(m: Memory<V>, couplings: &[Address], factor: &Factor) {
    // SAFETY: addresses from the plan lie within the worker's memory.
    unsafe {
        let mut value = Cx::new(V::zero(), V::zero());
        for &(i, c) in &factor.terms {
            let coupling = m.complex(couplings[i as usize]);
            let constant = Cx::new(value.re.same(c.re), value.re.same(c.im));
            value = constant.mul_add(coupling, value);
        }
        if let Some(propagator) = factor.propagator {
            value = value * m.complex(propagator);
        }
        m.put_complex(factor.address, value);
    }
}

/// Computes external wavefunctions; if lanes hold helicities, each lane gets its own.
#[inline(always)]
unsafe fn externals<V: Simd>(m: Memory<V>, engine: &Engine<V::Scalar>) {
    // One loop for both: the code it calls is large and inlined at each call site.
    for e in &engine.externals {
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            let momentum = m.momentum(engine.plan.leg_momenta + 4 * e.leg);
            let mass = match e.mass {
                0.0 => None,
                mass => Some(momentum[0].same(mass)),
            };
            let to = m.pointer(0);
            kernels::external(
                e.kind,
                e.sign,
                mass,
                momentum,
                &e.helicities,
                &e.results,
                to,
            );
        }
    }
    for lanes in &engine.lane_externals {
        let first = lanes.result;
        for (lane, &which) in lanes.of_lane.iter().enumerate() {
            for vector in 0..lanes.vectors {
                // SAFETY: addresses from the plan and the scratch lie within the worker's memory; lanes are below
                // `LANES`.
                unsafe {
                    let from = lane_of(m, lanes.sources[which as usize] + vector, lane);
                    *lane_of(m, first + vector, lane) = *from;
                }
            }
        }
    }
}
