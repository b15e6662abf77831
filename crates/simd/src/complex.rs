//! Complex numbers in registers.

use super::Simd;
use std::ops::{Add, Mul, Neg, Sub};

/// A complex number in each lane.
#[derive(Clone, Copy)]
pub struct Cx<V> {
    /// Real part.
    pub re: V,
    /// Imaginary part.
    pub im: V,
}

impl<V: Simd> Cx<V> {
    /// Makes a complex number from its parts.
    #[inline(always)]
    pub fn new(re: V, im: V) -> Self {
        Cx { re, im }
    }

    /// `self * b + c`.
    #[inline(always)]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        Cx {
            re: self.im.neg_mul_add(b.im, self.re.mul_add(b.re, c.re)),
            im: self.im.mul_add(b.re, self.re.mul_add(b.im, c.im)),
        }
    }

    /// `c - self * b`.
    #[inline(always)]
    pub fn neg_mul_add(self, b: Self, c: Self) -> Self {
        Cx {
            re: self.im.mul_add(b.im, self.re.neg_mul_add(b.re, c.re)),
            im: self.im.neg_mul_add(b.re, self.re.neg_mul_add(b.im, c.im)),
        }
    }

    /// `conj(self) * b + c`.
    #[inline(always)]
    pub fn conj_mul_add(self, b: Self, c: Self) -> Self {
        Cx {
            re: self.im.mul_add(b.im, self.re.mul_add(b.re, c.re)),
            im: self.im.neg_mul_add(b.re, self.re.mul_add(b.im, c.im)),
        }
    }

    /// `c - conj(self) * b`.
    #[inline(always)]
    pub fn neg_conj_mul_add(self, b: Self, c: Self) -> Self {
        Cx {
            re: self.im.neg_mul_add(b.im, self.re.neg_mul_add(b.re, c.re)),
            im: self.im.mul_add(b.re, self.re.neg_mul_add(b.im, c.im)),
        }
    }

    /// `self * x` for real `x`.
    #[inline(always)]
    pub fn scale(self, x: V) -> Self {
        Cx {
            re: self.re * x,
            im: self.im * x,
        }
    }

    /// `self * x + c` for real `x`.
    #[inline(always)]
    pub fn scale_add(self, x: V, c: Self) -> Self {
        Cx {
            re: self.re.mul_add(x, c.re),
            im: self.im.mul_add(x, c.im),
        }
    }

    /// `c - self * x` for real `x`.
    #[inline(always)]
    pub fn neg_scale_add(self, x: V, c: Self) -> Self {
        Cx {
            re: self.re.neg_mul_add(x, c.re),
            im: self.im.neg_mul_add(x, c.im),
        }
    }

    /// `self + i b`.
    #[inline(always)]
    pub fn add_i(self, b: Self) -> Self {
        Cx {
            re: self.re - b.im,
            im: self.im + b.re,
        }
    }

    /// `self - i b`.
    #[inline(always)]
    pub fn sub_i(self, b: Self) -> Self {
        Cx {
            re: self.re + b.im,
            im: self.im - b.re,
        }
    }
}

impl<V: Simd> Add for Cx<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Cx {
            re: self.re + b.re,
            im: self.im + b.im,
        }
    }
}

impl<V: Simd> Sub for Cx<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Cx {
            re: self.re - b.re,
            im: self.im - b.im,
        }
    }
}

impl<V: Simd> Neg for Cx<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Cx {
            re: -self.re,
            im: -self.im,
        }
    }
}

impl<V: Simd> Mul for Cx<V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Cx {
            re: self.im.neg_mul_add(b.im, self.re * b.re),
            im: self.im.mul_add(b.re, self.re * b.im),
        }
    }
}
