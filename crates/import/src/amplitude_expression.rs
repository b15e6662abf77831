//! Expressions in amplitudes: the values of JAMP, ZTEMP, MATRIX, AMP2 and JAMP2.
//!
//! The amplitudes of a helicity configuration are unknown during an import. From them `matrix<i>.f` forms linear
//! combinations (JAMP), products of one with the conjugate of another (`ZTEMP*DCONJG(JAMP(I))`), and sums of such
//! products, of their real parts (|M|^2, AMP2) and of the moduli of those (JAMP2 if coupling orders are split). Nothing
//! else has a meaning in a matrix element, and anything else is an error.

use super::expression::Parsed;
use mebridge_process::TermSource;
use num_complex::Complex64;
use std::rc::Rc;

/// Maximum number of terms of a linear combination.
const MAX_TERMS: usize = 1 << 22;
/// Maximum number of terms of a sum of products.
const MAX_PRODUCTS: usize = 1 << 20;

const ONE: Complex64 = Complex64::new(1.0, 0.0);

/// Terms of a linear combination.
pub type Terms = Vec<(TermSource, Complex64)>;

/// An expression of amplitudes.
#[derive(Clone, Debug)]
pub enum AmplitudeExpression {
    /// A linear combination.
    Linear(Terms),
    /// The conjugate of a linear combination, whose factors are those before conjugation.
    Conjugate(Terms),
    /// A sum of products.
    Products(Vec<JampProduct>),
    /// A real number: a sum of real parts, moduli and an earlier value.
    Real(RealSum),
}

/// `factor / divisor * left * conjg(right)`.
#[derive(Clone, Debug)]
pub struct JampProduct {
    pub left: Rc<Terms>,
    pub right: Rc<Terms>,
    pub factor: Complex64,
    /// Kept separately, since the entries of a colour matrix are integers over DENOM.
    pub divisor: f64,
}

/// A real sum.
#[derive(Clone, Debug, Default)]
pub struct RealSum {
    /// Products whose real parts are added.
    pub products: Vec<JampProduct>,
    /// Sums of products; the absolute values of their real parts are added.
    pub moduli: Vec<Vec<JampProduct>>,
    /// The earlier values that the sum is added to: those of elements of an argument or a COMMON block, by number.
    pub before: Vec<u32>,
    /// Whether it is still COMPLEX in Fortran, and its imaginary part is about to be dropped.
    pub complex: bool,
}

impl JampProduct {
    /// Returns whether it is a squared modulus with a factor of at least 0, which cannot be negative.
    fn is_square(&self) -> bool {
        self.left == self.right && self.factor.im == 0.0 && self.factor.re / self.divisor >= 0.0
    }
}

impl AmplitudeExpression {
    /// Creates an expression of one amplitude or stored sum.
    pub fn from_source(source: TermSource) -> AmplitudeExpression {
        AmplitudeExpression::Linear(vec![(source, ONE)])
    }

    /// Creates the unknown value that a variable had before the matrix element was called.
    pub fn before_call(number: u32) -> AmplitudeExpression {
        AmplitudeExpression::Real(RealSum {
            before: vec![number],
            ..RealSum::default()
        })
    }

    /// Returns whether it is REAL in Fortran.
    pub fn is_real(&self) -> bool {
        matches!(self, AmplitudeExpression::Real(real) if !real.complex)
    }

    /// Returns the complex conjugate.
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

    /// Returns the real part of a sum of products.
    pub fn real_part(self) -> Parsed<AmplitudeExpression> {
        match self {
            AmplitudeExpression::Real(real) => Ok(AmplitudeExpression::Real(RealSum {
                complex: false,
                ..real
            })),
            AmplitudeExpression::Products(products) => Ok(AmplitudeExpression::Real(RealSum {
                products,
                ..RealSum::default()
            })),
            AmplitudeExpression::Linear(_) | AmplitudeExpression::Conjugate(_) => {
                Err("the real part of an amplitude is no part of a matrix element".into())
            }
        }
    }

    /// Returns the absolute value of a real sum.
    pub fn absolute(self) -> Parsed<AmplitudeExpression> {
        let AmplitudeExpression::Real(mut real) = self else {
            // A squared modulus, which is complex in Fortran, equals its real part.
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

    /// Adds another expression, or subtracts it if `negative`.
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

    /// Multiplies by a number, `factor / divisor`.
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
                AmplitudeExpression::Real(RealSum {
                    products: products(real.products),
                    ..RealSum::default()
                })
            }
        })
    }

    /// Multiplies by another expression.
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

impl RealSum {
    fn add(&mut self, other: RealSum) -> Parsed<()> {
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
