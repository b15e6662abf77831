// External wavefunctions: IXXXXX, OXXXXX, VXXXXX and SXXXXX of HELAS; made of these, those of spin 2 and 3/2.
//
// Conventions are those of crates/process/src/external.rs, the special cases included: a leg nearly at rest, a
// vector along the z axis, a fermion along -z. The momentum is the physical one, with positive energy; `massive` is 0
// where the mass is exactly zero; `sign` is NSF or NSV. Helicities are -1 and 1, for a massive vector also 0, and for
// any vector also 4: the momentum as the polarisation, over the mass or, where there is none, over the energy.

// x with the opposite sign where `sign` is negative.
DEVICE Real signed_by(int sign, Real x) { return sign < 0 ? -x : x; }

// px^2 + py^2; zero where it is too small to have all its digits, a direction that no number tells from the axis.
DEVICE Real transverse_square(Momentum p) {
    const Real square = product(p.p[1], p.p[1]) + product(p.p[2], p.p[2]);
    return square < (sizeof(Real) == 8 ? Real(0x1p-1000) : Real(0x1p-100)) ? Real(0) : square;
}

// |p|, never above the energy.
DEVICE Real modulus(Momentum p) {
    return smaller(root(transverse_square(p) + product(p.p[3], p.p[3])), p.p[0]);
}

// Whether a leg with this |p| counts as at rest.
DEVICE bool is_at_rest(Real size, Real mass) { return size <= Real(0x1p-26) * magnitude(mass); }

// The two components of a massless spinor. `flow` is 1 for flowing in, -1 for out.
DEVICE Half massless_spinor(Momentum p, int helicity, int sign, int flow) {
    // p0 + p3, which towards -z is pt^2 / (p0 - p3): its root and one over that, by one division.
    const bool backward = p.p[3] < 0;
    const Real square = transverse_square(p), cone = p.p[0] + magnitude(p.p[3]);
    if (backward && square == 0) return half_spinor(cx(0, 0), cx(signed_by(-helicity, root(cone)), 0));
    const Real below = backward ? cone * square : cone, over = root(below);
    const Real one_over = over * quotient(Real(1), below);
    const Real size = backward ? square * one_over : over, inverse = backward ? cone * one_over : one_over;
    return half_spinor(cx(signed_by(sign, size), 0),
                cx(signed_by(helicity, p.p[1] * inverse), signed_by(sign * flow, p.p[2] * inverse)));
}

// The four components of a massive spinor that moves: chi times the first number, chi times the
// second.
DEVICE Four massive_spinor(Momentum p, Real mass, Real size, int helicity, int sign, int flow) {
    int nh = helicity * sign;
    // The components of chi are sqrt((|p| + p3) / 2 |p|) and what goes with pt: towards -z they change places.
    const bool backward = p.p[3] < 0;
    const Real square = transverse_square(p), cone = size + magnitude(p.p[3]);
    const bool on_axis = backward && square == 0;
    const Real large = root(p.p[0] + size);
    Real below = root((size + size) * cone);
    if (backward && !on_axis) below *= root(square);
    const Real one_over = quotient(Real(1), below * large);
    const Real small = mass * (one_over * below), inverse = one_over * large;
    const Real transverse = backward ? cone * inverse : inverse;
    const Cx along = cx((backward ? square : cone) * inverse, 0);
    const Cx across = on_axis ? cx(signed_by(nh, Real(-1)), 0)
                              : cx(signed_by(nh, p.p[1] * transverse), signed_by(flow, p.p[2] * transverse));
    // sf(1) = sf(2) = 1 for particles, nh and -nh for antiparticles.
    int sf1 = sign > 0 ? 1 : nh, sf2 = sign > 0 ? 1 : -nh;
    Real a = signed_by(sf1, nh > 0 ? small : large), b = signed_by(sf2, nh > 0 ? large : small);
    Cx first = nh > 0 ? along : across, second = nh > 0 ? across : along;
    return four(scale(first, a), scale(second, a), scale(first, b), scale(second, b));
}

// A spinor at rest with spin up or down along z: `first` times it in the half that comes first, the left-handed one
// or, of conjugate spinors, the right-handed one, `second` times it in the other; with the boost from there in first
// order, 1 -+ sigma p / 2 |m|.
DEVICE Four spinor_at_rest(Momentum p, Real mass, bool up, bool conjugate, Real first, Real second) {
    const Real over_mass = quotient(Real(0.5), magnitude(mass));
    const Real x = p.p[1] * over_mass, y = p.p[2] * over_mass, z = p.p[3] * over_mass;
    const Real along = up ? z : -z, a = conjugate ? first : -first, b = conjugate ? -second : second;
    const Cx across = cx(x, up == conjugate ? -y : y);
    const Cx straight = cx(fused(a, along, first), 0), other = cx(fused(b, along, second), 0);
    return up ? four(straight, scale(across, a), other, scale(across, b))
              : four(scale(across, a), straight, scale(across, b), other);
}

DEVICE Four external_in(Momentum p, Real mass, int massive, int helicity, int sign) {
    int nh = helicity * sign;
    Cx zero = cx(0, 0);
    if (!massive) {
        Half chi = massless_spinor(p, helicity, sign, 1);
        return nh > 0 ? four(zero, zero, chi.a, chi.b) : four(chi.b, chi.a, zero, zero);
    }
    Real size = modulus(p);
    if (is_at_rest(size, mass)) {
        const Real sqm = root(magnitude(mass)), sqm_signed = with_sign(sqm, mass), other = signed_by(sign, sqm);
        return spinor_at_rest(p, mass, nh > 0, false, nh > 0 ? sqm_signed : other, nh > 0 ? other : sqm_signed);
    }
    return massive_spinor(p, mass, size, helicity, sign, 1);
}

DEVICE Four external_out(Momentum p, Real mass, int massive, int helicity, int sign) {
    int nh = helicity * sign;
    Cx zero = cx(0, 0);
    if (!massive) {
        Half chi = massless_spinor(p, helicity, sign, -1);
        return nh > 0 ? four(chi.a, chi.b, zero, zero) : four(zero, zero, chi.b, chi.a);
    }
    Real size = modulus(p);
    if (is_at_rest(size, mass)) {
        const Real sqm = root(magnitude(mass)), sqm_signed = with_sign(sqm, mass);
        const Real other = signed_by(nh > 0 ? helicity : -helicity, sqm);
        return spinor_at_rest(p, mass, nh > 0, true, nh > 0 ? other : sqm_signed, nh > 0 ? sqm_signed : other);
    }
    Four f = massive_spinor(p, mass, size, helicity, sign, -1);
    return four(f.c[2], f.c[3], f.c[0], f.c[1]);
}

DEVICE Four external_vector(Momentum p, Real mass, int massive, int helicity, int sign) {
    if (helicity == 4) {
        Real inverse = quotient(Real(1), massive ? mass : p.p[0]);
        return times(cx(inverse, 0), p);
    }
    const Real h = Real(0.70710678118654752440);
    Real pt = root(transverse_square(p));
    Real size = p.p[0];
    if (massive) {
        size = modulus(p);
        pt = smaller(pt, size);
        if (is_at_rest(size, mass)) {
            const Real over_mass = quotient(Real(1), mass);
            if (helicity == 0) return four(cx(p.p[3] * over_mass, 0), cx(0, 0), cx(0, 0), cx(1, 0));
            const Real re = signed_by(-helicity, h), im = signed_by(sign, h);
            return four(cx(re * (p.p[1] * over_mass), im * (p.p[2] * over_mass)), cx(re, 0), cx(0, im), cx(0, 0));
        }
    }
    if (helicity == 0) {
        Real inverse = quotient(Real(1), size);
        Real inverse_mass = quotient(Real(1), mass);
        Real emp = p.p[0] * inverse_mass * inverse;
        return four(cx(size * inverse_mass, 0), cx(p.p[1] * emp, 0), cx(p.p[2] * emp, 0),
                    cx(p.p[3] * emp, 0));
    }
    // h p1/pt and h p2/pt
    Real c1 = with_sign(h, p.p[3]), c2 = 0;
    Real inverse = quotient(Real(1), pt != 0 ? pt * size : size);
    if (pt != 0) {
        Real along = h * (inverse * size);
        inverse *= pt;
        c1 = p.p[1] * along;
        c2 = p.p[2] * along;
    }
    Real cosine = p.p[3] * inverse;
    return four(cx(0, 0), cx(signed_by(-helicity, cosine * c1), signed_by(-sign, c2)),
                cx(signed_by(-helicity, cosine * c2), signed_by(sign, c1)),
                cx(signed_by(helicity, h * pt * inverse), 0));
}

DEVICE Cx external_scalar() { return cx(1, 0); }

// ---------------------------------------------------------------------------------------------
// Spin 2 (TXXXXX) and spin 3/2 (IRXXXX, ORXXXX): products of vectors and spinors with Clebsch-Gordan coefficients, see
// crates/process/src/external.rs. The component (mu, nu) stands at place 4 mu + nu.

DEVICE Sixteen no_sixteen() {
    Sixteen z;
    for (int i = 0; i < 16; i++) z.c[i] = cx(0, 0);
    return z;
}

// All products of components of two wavefunctions, the first times a number, added to a sum.
DEVICE Sixteen add_products(Sixteen sum, Real factor, Four a, Four b) {
    for (int mu = 0; mu < 4; mu++) {
        const Cx x = scale(a.c[mu], factor);
        for (int nu = 0; nu < 4; nu++) sum.c[4 * mu + nu] = mul_add(x, b.c[nu], sum.c[4 * mu + nu]);
    }
    return sum;
}

// Helicities from -2 to 2; without a mass the outer two.
DEVICE Sixteen external_tensor(Momentum p, Real mass, int massive, int helicity, int sign) {
    const Real half = Real(0.70710678118654752440), sixth = Real(0.40824829046386301637);
    const bool outer = helicity == 2 || helicity == -2;
    Sixteen sum = no_sixteen();
    if (!massive && !outer) return sum;
    if (helicity == 0) {
        const Four plus = external_vector(p, mass, massive, 1, sign);
        const Four minus = external_vector(p, mass, massive, -1, sign);
        const Four inner = external_vector(p, mass, massive, 0, sign);
        sum = add_products(sum, sixth, plus, minus);
        sum = add_products(sum, sixth, minus, plus);
        return add_products(sum, 2 * sixth, inner, inner);
    }
    const Four along = external_vector(p, mass, massive, helicity > 0 ? 1 : -1, sign);
    if (outer) return add_products(sum, 1, along, along);
    const Four inner = external_vector(p, mass, massive, 0, sign);
    sum = add_products(sum, half, along, inner);
    return add_products(sum, half, inner, along);
}

// `helicity` is twice the spin along the direction of flight. NSV is -NSR for what flows in. Only massive ones are
// generated or imported.
DEVICE Sixteen external_rarita(Momentum p, Real mass, int helicity, int sign, bool in) {
    const Real third = Real(0.57735026918962576451), two_thirds = Real(0.81649658092772603273);
    const int of_vector = in ? -sign : sign;
    const Real pt = root(transverse_square(p));
    const bool rest = is_at_rest(modulus(p), mass);
    // The phase of the spinor of helicity -1 relative to that of the vector. At rest the longitudinal vector has not the sign
    // of the mass that it has in motion.
    Cx phase = cx((rest ? mass : p.p[3]) < 0 ? Real(-1) : Real(1), 0);
    if (!rest && pt != 0) {
        const Real inverse = quotient(Real(1), pt);
        phase = cx(p.p[1] * inverse, signed_by(-of_vector, p.p[2] * inverse));
    }
    const Four plus = in ? external_in(p, mass, 1, 1, sign) : external_out(p, mass, 1, 1, sign);
    const Four spinor = in ? external_in(p, mass, 1, -1, sign) : external_out(p, mass, 1, -1, sign);
    const Four minus = times(phase, spinor);
    const Sixteen none = no_sixteen();
    if (helicity == 3) return add_products(none, 1, external_vector(p, mass, 1, 1, of_vector), plus);
    if (helicity == -3) return add_products(none, 1, external_vector(p, mass, 1, -1, of_vector), minus);
    const Four inner = external_vector(p, mass, 1, 0, of_vector);
    if (helicity == 1)
        return add_products(add_products(none, two_thirds, inner, plus), third,
                            external_vector(p, mass, 1, 1, of_vector), minus);
    return add_products(add_products(none, third, external_vector(p, mass, 1, -1, of_vector), plus), two_thirds,
                        inner, minus);
}

DEVICE Sixteen external_rarita_in(Momentum p, Real mass, int, int helicity, int sign) {
    return external_rarita(p, mass, helicity, sign, true);
}

DEVICE Sixteen external_rarita_out(Momentum p, Real mass, int, int helicity, int sign) {
    return external_rarita(p, mass, helicity, sign, false);
}
