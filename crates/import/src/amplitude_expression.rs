//! Expressions in amplitudes: what JAMP, ZTEMP, MATRIX, AMP2 and JAMP2 hold.
//!
//! The amplitudes of a helicity configuration are unknown while importing. What `matrix<i>.f` makes of them
//! are linear combinations (JAMP), products of one with the conjugate of another (`ZTEMP*DCONJG(JAMP(I))`),
//! and sums of such products, of their real parts (|M|^2, AMP2) and of the moduli of those (JAMP2 where
//! coupling orders are split). Nothing else has a meaning in a matrix element, and anything else is an error.

use super::expression::Parsed;
use mebridge_process::TermSource;
use num_complex::Complex64;
use std::rc::Rc;

/// A linear combination may not grow beyond this.
const MAX_TERMS: usize = 1 << 22;
/// Nor a sum of products.
const MAX_PRODUCTS: usize = 1 << 20;

const ONE: Complex64 = Complex64::new(1.0, 0.0);

/// Terms of a linear combination.
pub type Terms = Vec<(TermSource, Complex64)>;

/// What an expression of amplitudes can be.
#[derive(Clone, Debug)]
pub enum AmplitudeExpression {
    /// A linear combination.
    Linear(Terms),
    /// The conjugate of a linear combination; the factors are those before the conjugation.
    Conjugate(Terms),
    /// A sum of products.
    Products(Vec<JampProduct>),
    /// A real number: a sum of real parts, of moduli and of a value from before.
    Real(Real),
}

/// `factor / divisor * left * conjg(right)`.
#[derive(Clone, Debug)]
pub struct JampProduct {
    pub left: Rc<Terms>,
    pub right: Rc<Terms>,
    pub factor: Complex64,
    /// Kept apart, since the entries of a colour matrix are whole numbers over DENOM.
    pub divisor: f64,
}

/// A real sum.
#[derive(Clone, Debug, Default)]
pub struct Real {
    /// Products whose real parts are added.
    pub products: Vec<JampProduct>,
    /// Sums of products whose real parts are added by their absolute value.
    pub moduli: Vec<Vec<JampProduct>>,
    /// What is added to: the value that an element of an argument or a COMMON block had before, by number.
    pub before: Vec<u32>,
    /// Whether Fortran calls it COMPLEX still, and its imaginary part is about to be dropped.
    pub complex: bool,
}

impl JampProduct {
    /// Whether it cannot be negative: a modulus squared with a factor from 0 on.
    fn is_square(&self) -> bool {
        self.left == self.right && self.factor.im == 0.0 && self.factor.re / self.divisor >= 0.0
    }
}

impl AmplitudeExpression {
    /// One amplitude or sum.
    pub fn of(source: TermSource) -> AmplitudeExpression {
        AmplitudeExpression::Linear(vec![(source, ONE)])
    }

    /// The value that something had before the matrix element was called.
    pub fn before(number: u32) -> AmplitudeExpression {
        AmplitudeExpression::Real(Real {
            before: vec![number],
            ..Real::default()
        })
    }

    /// Whether Fortran calls it REAL.
    pub fn is_real(&self) -> bool {
        matches!(self, AmplitudeExpression::Real(real) if !real.complex)
    }

    /// The complex conjugate.
    pub fn conjugate(self) -> AmplitudeExpression {
        match self {
            AmplitudeExpression::Linear(terms) => AmplitudeExpression::Conjugate(terms),
            AmplitudeExpression::Conjugate(terms) => AmplitudeExpression::Linear(terms),
            AmplitudeExpression::Products(products) => AmplitudeExpression::Products(
                products
                    .into_iter()
                    .map(|p| JampProduct {
                        left: p.right,
                        right: p.left,
                        factor: p.factor.conj(),
                        divisor: p.divisor,
                    })
                    .collect(),
            ),
            AmplitudeExpression::Real(real) => AmplitudeExpression::Real(real),
        }
    }

    /// The real part, of a sum of products.
    pub fn real_part(self) -> Parsed<AmplitudeExpression> {
        match self {
            AmplitudeExpression::Real(real) => Ok(AmplitudeExpression::Real(Real {
                complex: false,
                ..real
            })),
            AmplitudeExpression::Products(products) => Ok(AmplitudeExpression::Real(Real {
                products,
                ..Real::default()
            })),
            AmplitudeExpression::Linear(_) | AmplitudeExpression::Conjugate(_) => {
                Err("the real part of an amplitude is no part of a matrix element".into())
            }
        }
    }

    /// The absolute value, of a real sum.
    pub fn absolute(self) -> Parsed<AmplitudeExpression> {
        let AmplitudeExpression::Real(mut real) = self else {
            // A modulus squared, which Fortran calls complex, is its own real part.
            return match self {
                AmplitudeExpression::Products(p) if p.iter().all(JampProduct::is_square) => {
                    AmplitudeExpression::Products(p).real_part()
                }
                _ => Err("the modulus of an amplitude is no part of a matrix element".into()),
            };
        };
        if !real.before.is_empty() || !real.moduli.is_empty() || real.complex {
            return Err("the modulus of a sum of moduli".into());
        }
        if real.products.iter().all(JampProduct::is_square) {
            return Ok(AmplitudeExpression::Real(real));
        }
        real.moduli = vec![std::mem::take(&mut real.products)];
        Ok(AmplitudeExpression::Real(real))
    }

    /// Adds another one; `negative` subtracts it.
    pub fn add(&mut self, other: AmplitudeExpression, negative: bool) -> Parsed<()> {
        let other = match negative {
            true => other.scaled(-ONE, 1.0)?,
            false => other,
        };
        match (&mut *self, other) {
            (AmplitudeExpression::Linear(a), AmplitudeExpression::Linear(b))
            | (AmplitudeExpression::Conjugate(a), AmplitudeExpression::Conjugate(b)) => {
                a.extend(b);
                bounded(a.len(), MAX_TERMS)
            }
            (AmplitudeExpression::Products(a), AmplitudeExpression::Products(b)) => {
                a.extend(b);
                bounded(a.len(), MAX_PRODUCTS)
            }
            (AmplitudeExpression::Real(a), AmplitudeExpression::Real(b)) => a.add(b),
            (AmplitudeExpression::Real(a), AmplitudeExpression::Products(b)) => a.add_products(b),
            (AmplitudeExpression::Products(_), AmplitudeExpression::Real(b)) => {
                let AmplitudeExpression::Products(a) =
                    std::mem::replace(self, AmplitudeExpression::Real(b))
                else {
                    return Err("a sum of products".into());
                };
                self.add(AmplitudeExpression::Products(a), false)
            }
            _ => Err("a sum of amplitudes and their squares".into()),
        }
    }

    /// The product with a number, `factor / divisor`.
    pub fn scaled(self, factor: Complex64, divisor: f64) -> Parsed<AmplitudeExpression> {
        let by = factor / divisor;
        if !(by.re.is_finite() && by.im.is_finite()) {
            return Err("a coefficient that is no finite number".into());
        }
        let scale = |mut terms: Terms, by: Complex64| {
            for (_, c) in &mut terms {
                *c *= by;
            }
            terms
        };
        let products = |mut products: Vec<JampProduct>| {
            for p in &mut products {
                p.factor *= factor;
                p.divisor *= divisor;
            }
            products
        };
        Ok(match self {
            AmplitudeExpression::Linear(terms) => AmplitudeExpression::Linear(scale(terms, by)),
            AmplitudeExpression::Conjugate(terms) => {
                AmplitudeExpression::Conjugate(scale(terms, by.conj()))
            }
            AmplitudeExpression::Products(list) => AmplitudeExpression::Products(products(list)),
            AmplitudeExpression::Real(real) => {
                if by == ONE {
                    return Ok(AmplitudeExpression::Real(real));
                }
                if real.complex
                    || !real.before.is_empty()
                    || by.im != 0.0
                    || !real.moduli.is_empty()
                {
                    return Err("a sum of squares of amplitudes with a factor".into());
                }
                AmplitudeExpression::Real(Real {
                    products: products(real.products),
                    ..Real::default()
                })
            }
        })
    }

    /// The product with another one.
    pub fn product(self, other: AmplitudeExpression) -> Parsed<AmplitudeExpression> {
        match (self, other) {
            (AmplitudeExpression::Linear(left), AmplitudeExpression::Conjugate(right))
            | (AmplitudeExpression::Conjugate(right), AmplitudeExpression::Linear(left)) => {
                Ok(AmplitudeExpression::Products(vec![JampProduct {
                    left: Rc::new(left),
                    right: Rc::new(right),
                    factor: ONE,
                    divisor: 1.0,
                }]))
            }
            _ => Err(
                "a product of amplitudes that is not one of one with the conjugate of another"
                    .into(),
            ),
        }
    }
}

impl Real {
    fn add(&mut self, other: Real) -> Parsed<()> {
        self.products.extend(other.products);
        self.moduli.extend(other.moduli);
        self.before.extend(other.before);
        self.complex |= other.complex;
        bounded(self.products.len() + self.moduli.len(), MAX_PRODUCTS)
    }

    /// Adds a complex sum.
    fn add_products(&mut self, products: Vec<JampProduct>) -> Parsed<()> {
        self.complex |= !products.iter().all(JampProduct::is_square);
        self.products.extend(products);
        bounded(self.products.len(), MAX_PRODUCTS)
    }
}

fn bounded(length: usize, most: usize) -> Parsed<()> {
    match length <= most {
        true => Ok(()),
        false => Err("a sum of amplitudes has too many terms".into()),
    }
}
