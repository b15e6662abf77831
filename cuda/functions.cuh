// Functions for Lorentz structures that no kernel knows: what crates/process/src/arith.rs has beyond sums
// and products. The elementary functions are computed in double whatever Real is, as the CPU does;
// what they do of special values and on branch cuts is what num_complex does.

DEVICE Real infinity() { return quotient(Real(1), Real(0)); }
DEVICE Real not_a_number() { return infinity() - infinity(); }

DEVICE Cx reciprocal(Cx z) {
    Real inverse = quotient(Real(1), fused(z.re, z.re, z.im * z.im));
    return cx(z.re * inverse, -(z.im * inverse));
}

// ---------------------------------------------------------------------------------------------
// Complex numbers in double.

struct Wide {
    double re, im;
};

DEVICE Wide wide(double re, double im) {
    Wide z;
    z.re = re;
    z.im = im;
    return z;
}

DEVICE Wide wide(Cx z) { return wide(double(z.re), double(z.im)); }
DEVICE Cx narrow(Wide z) { return cx(Real(z.re), Real(z.im)); }
DEVICE Cx narrow(double x) { return cx(Real(x), Real(0)); }

DEVICE Wide operator+(Wide a, Wide b) { return wide(a.re + b.re, a.im + b.im); }
DEVICE Wide operator-(Wide a, Wide b) { return wide(a.re - b.re, a.im - b.im); }
DEVICE Wide operator*(Wide a, Wide b) {
    return wide(neg_fused(a.im, b.im, a.re * b.re), fused(a.im, b.re, a.re * b.im));
}
DEVICE Wide times_i(Wide a) { return wide(-a.im, a.re); }
DEVICE Wide times_minus_i(Wide a) { return wide(a.im, -a.re); }

// x is not infinite and not NaN.
DEVICE bool is_finite(double x) { return x - x == 0; }

// The principal root; the sign of a zero imaginary part says on which side of the cut z lies.
DEVICE Wide root(Wide z) {
    if (z.re == 0 && z.im == 0) return wide(0, z.im);
    double large = root(0.5 * (hypot(z.re, z.im) + magnitude(z.re)));
    double small = quotient(0.5 * magnitude(z.im), large);
    if (z.re < 0) return wide(small, with_sign(large, z.im));
    return wide(large, with_sign(small, z.im));
}

DEVICE Wide logarithm(Wide z) { return wide(log(hypot(z.re, z.im)), atan2(z.im, z.re)); }

DEVICE Wide exponential(Wide z) {
    if (z.re == z.re && !is_finite(z.re)) {
        if (z.re < 0) {
            if (!is_finite(z.im)) return wide(0, 0);
        } else if (z.im == 0 || !is_finite(z.im)) {
            return wide(z.re, z.im == 0 ? z.im : z.im - z.im);
        }
    } else if (z.re != z.re && z.im == 0) {
        return z;
    }
    double size = exp(z.re);
    return wide(size * cos(z.im), size * sin(z.im));
}

// ---------------------------------------------------------------------------------------------
// One for each function, by its name in process::arith, and for each operation of two numbers.

DEVICE Cx function_Sqrt(Cx x) { return narrow(root(wide(x))); }

DEVICE Cx function_RealLog(Cx x) { return narrow(log(double(x.re))); }

DEVICE Cx function_Log(Cx x) { return narrow(logarithm(wide(x))); }

DEVICE Cx function_Exp(Cx x) {
    Wide z = wide(x);
    return z.im == 0 ? narrow(exp(z.re)) : narrow(exponential(z));
}

DEVICE Cx function_Sin(Cx x) {
    Wide z = wide(x);
    if (z.im == 0) return narrow(sin(z.re));
    return narrow(wide(sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im)));
}

DEVICE Cx function_Cos(Cx x) {
    Wide z = wide(x);
    if (z.im == 0) return narrow(cos(z.re));
    return narrow(wide(cos(z.re) * cosh(z.im), -sin(z.re) * sinh(z.im)));
}

DEVICE Cx function_Tan(Cx x) {
    Wide z = wide(x);
    if (z.im == 0) return narrow(tan(z.re));
    double re = 2 * z.re, im = 2 * z.im, size = cos(re) + cosh(im);
    return narrow(wide(quotient(sin(re), size), quotient(sinh(im), size)));
}

DEVICE Cx function_Sinh(Cx x) {
    Wide z = wide(x);
    if (z.im == 0) return narrow(sinh(z.re));
    return narrow(wide(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)));
}

DEVICE Cx function_Cosh(Cx x) {
    Wide z = wide(x);
    if (z.im == 0) return narrow(cosh(z.re));
    return narrow(wide(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)));
}

DEVICE Cx function_Tanh(Cx x) {
    Wide z = wide(x);
    if (z.im == 0) return narrow(tanh(z.re));
    double re = 2 * z.re, im = 2 * z.im, size = cosh(re) + cos(im);
    return narrow(wide(quotient(sinh(re), size), quotient(sin(im), size)));
}

// -i log(sqrt(1 - z^2) + i z)
DEVICE Cx function_Asin(Cx x) {
    Wide z = wide(x);
    if (z.im == 0 && magnitude(z.re) <= 1) return narrow(asin(z.re));
    return narrow(times_minus_i(logarithm(root(wide(1, 0) - z * z) + times_i(z))));
}

// -i log(i sqrt(1 - z^2) + z)
DEVICE Cx function_Acos(Cx x) {
    Wide z = wide(x);
    if (z.im == 0 && magnitude(z.re) <= 1) return narrow(acos(z.re));
    return narrow(times_minus_i(logarithm(times_i(root(wide(1, 0) - z * z)) + z)));
}

// (log(1 + i z) - log(1 - i z)) / 2i
DEVICE Cx function_Atan(Cx x) {
    Wide z = wide(x);
    if (z.im == 0) return narrow(atan(z.re));
    if (z.re == 0 && magnitude(z.im) == 1) return cx(Real(0), with_sign(infinity(), x.im));
    Wide twice = logarithm(wide(1, 0) + times_i(z)) - logarithm(wide(1, 0) - times_i(z));
    return narrow(wide(0.5 * twice.im, -0.5 * twice.re));
}

DEVICE Cx power(Cx x, Cx y) {
    Wide a = wide(x), b = wide(y);
    if (a.im == 0 && b.im == 0 && a.re >= 0) return narrow(pow(a.re, b.re));
    if (b.re == 0 && b.im == 0) return cx(Real(1), Real(0));
    return narrow(exponential(b * logarithm(a)));
}

// ATAN2 of real parts.
DEVICE Cx angle(Cx y, Cx x) { return narrow(atan2(double(y.re), double(x.re))); }
