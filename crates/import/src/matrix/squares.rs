//! Extracts JAMPs, colour matrix and channels from the result of `MATRIX<i>`, AMP2 and JAMP2.
//!
//! The result is a sum of products of one JAMP with the conjugate of another, of which Fortran keeps the real part: the
//! coefficients are the colour matrix. JAMPs are the sums of amplitudes that occur in it or in JAMP2, in the order of
//! their array; if coupling orders are split (NAMPSO > 1) there is one for each colour flow and order.

use super::{AMP2, JAMP2, Results, form_of};
use crate::amplitude_expression::{AmplitudeExpression, JampProduct, RealSum, Terms};
use crate::expression::Parsed;
use crate::symbolic::{Interpreter, unknown_before_call};
use crate::value::FortranValue;
use mebridge_process::channels::Amp2;
use mebridge_process::color::{ColorMatrix, FlowWeight};
use mebridge_process::{LinearMap, Term, TermSource};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;
use std::collections::HashMap;

/// The extracted tables.
#[derive(Debug, PartialEq)]
pub struct SquareTables {
    pub jamp: LinearMap,
    pub color: ColorMatrix,
    pub jamp2: Vec<FlowWeight>,
    pub amp2: Vec<Amp2>,
}

const ONE: Complex64 = Complex64::new(1.0, 0.0);

/// Maximum number of JAMPs: a larger colour matrix could not be stored.
const MAX_JAMPS: usize = 20_000;

/// Reads the results; `weights` are the factors with which the elements of RES are added.
pub fn read(
    interpreter: &Interpreter,
    results: &Results,
    weights: &[f64],
    flows: usize,
    amplitudes: usize,
) -> Parsed<SquareTables> {
    let mut products: Vec<(f64, &JampProduct)> = Vec::new();
    for (value, &weight) in results.values.iter().zip(weights) {
        match value {
            FortranValue::AmplitudeExpression(form) => {
                let real = plain(form, "the matrix element")?;
                if !real.moduli.is_empty() || !real.before.is_empty() {
                    return Err("the matrix element is no sum of products of JAMPs".into());
                }
                if weight != 0.0 {
                    products.extend(real.products.iter().map(|p| (weight, p)));
                }
            }
            // No diagram has these coupling orders.
            FortranValue::Real(v)
                if interpreter
                    .builder
                    .constant(*v)
                    .is_some_and(|c| c.re == 0.0) => {}
            _ => return Err("the matrix element is no sum of products of JAMPs".into()),
        }
    }
    let flow_forms = jamp2_forms(results, flows)?;
    let jamps = Jamps::new(
        interpreter,
        products
            .iter()
            .map(|(_, p)| *p)
            .chain(flow_forms.iter().flatten().flat_map(|real| {
                let moduli = real.moduli.iter().flatten();
                real.products.iter().chain(moduli)
            })),
    )?;
    let color = jamps.matrix(&products)?;
    let mut jamp2 = Vec::with_capacity(flow_forms.len());
    for form in flow_forms {
        jamp2.push(match form {
            Some(real) => jamps.flow(real)?,
            None => FlowWeight::default(),
        });
    }
    Ok(SquareTables {
        jamp: jamps.map(interpreter, amplitudes)?,
        color,
        jamp2,
        amp2: amp2(results)?,
    })
}

/// Returns the JAMPs of a sum of products in the order of the colour matrix.
pub fn jamp_order(interpreter: &Interpreter, products: &[JampProduct]) -> Parsed<Vec<TermSource>> {
    Ok(Jamps::new(interpreter, products.iter())?.sources)
}

fn plain<'a>(form: &'a AmplitudeExpression, what: &str) -> Parsed<&'a RealSum> {
    match form {
        AmplitudeExpression::Real(real) => Ok(real),
        _ => Err(format!("{what} is no real sum of squares of amplitudes")),
    }
}

/// Returns the sum that is added to JAMP2 of each colour flow, if any; empty if there is no JAMP2.
fn jamp2_forms(results: &Results, flows: usize) -> Parsed<Vec<Option<&RealSum>>> {
    if results.jamp2.is_empty() {
        return Ok(Vec::new());
    }
    let mut forms = vec![None; flows];
    let mut set = 0;
    for (index, value) in &results.jamp2 {
        let place = usize::try_from(*index - 1).ok().filter(|&p| p < flows);
        let place = place.ok_or_else(|| format!("JAMP2({index}) is set, beyond NCOLOR"))?;
        let form = form_of(value).ok_or_else(|| format!("JAMP2({index}) is not added to"))?;
        let real = plain(form, &format!("JAMP2({index})"))?;
        if real.before != [unknown_before_call(JAMP2, *index)] {
            return Err(format!("JAMP2({index}) is not added to"));
        }
        forms[place] = Some(real);
        set += 1;
    }
    match set == flows {
        true => Ok(forms),
        false => Err(format!("JAMP2 is set for {set} of {flows} colour flows")),
    }
}

/// Reads AMP2 by diagram.
fn amp2(results: &Results) -> Parsed<Vec<Amp2>> {
    let mut found = SortedMap::new();
    for (index, value) in &results.amp2 {
        let diagram = u32::try_from(*index).map_err(|_| format!("AMP2({index})"))?;
        let wrong = || format!("AMP2({index}) is not added to, by a sum of |AMP|^2");
        let real = plain(form_of(value).ok_or_else(wrong)?, &format!("AMP2({index})"))?;
        if real.before != [unknown_before_call(AMP2, *index - 1)] || !real.moduli.is_empty() {
            return Err(wrong());
        }
        let mut squares = Vec::with_capacity(real.products.len());
        for p in &real.products {
            if p.left != p.right || p.factor != ONE || p.divisor != 1.0 {
                return Err(wrong());
            }
            let set: Option<Vec<u32>> = p
                .left
                .iter()
                .map(|term| match term {
                    (TermSource::Amplitude(a), factor) if *factor == ONE => Some(*a),
                    _ => None,
                })
                .collect();
            squares.push(set.ok_or_else(wrong)?);
        }
        found.insert(diagram, Amp2 { diagram, squares });
    }
    Ok(found.into_values().collect())
}

/// The JAMPs in order.
struct Jamps {
    sources: Vec<TermSource>,
    index: HashMap<TermSource, u32>,
}

impl Jamps {
    fn new<'a>(
        interpreter: &Interpreter,
        products: impl Iterator<Item = &'a JampProduct>,
    ) -> Parsed<Self> {
        let mut sources: Vec<TermSource> = Vec::new();
        let mut index: HashMap<TermSource, u32> = HashMap::new();
        for p in products {
            for (source, _) in p.left.iter().chain(p.right.iter()) {
                index.entry(*source).or_insert_with(|| {
                    sources.push(*source);
                    0
                });
            }
        }
        if sources.is_empty() {
            return Err("the matrix element is zero".into());
        }
        if sources.len() > MAX_JAMPS {
            return Err(format!("{} JAMPs are too many", sources.len()));
        }
        sources.sort_by_key(|source| match source {
            TermSource::Amplitude(a) => (0, 0, i64::from(*a)),
            TermSource::Partial(p) => {
                let (storage, at) = interpreter.sums[*p as usize].at;
                (1, storage, at)
            }
        });
        for (source, i) in sources.iter().zip(0..) {
            index.insert(*source, i);
        }
        Ok(Jamps { sources, index })
    }

    fn index_of(&self, source: &TermSource) -> Parsed<usize> {
        let found = self.index.get(source).map(|&i| i as usize);
        found.ok_or_else(|| "a JAMP that is nowhere".into())
    }

    /// Computes the colour matrix: the symmetric part of the coefficients, over a common denominator.
    fn matrix(&self, products: &[(f64, &JampProduct)]) -> Parsed<ColorMatrix> {
        let n = self.sources.len();
        let mut divisors: Vec<f64> = products.iter().map(|(_, p)| p.divisor.abs()).collect();
        divisors.sort_by(f64::total_cmp);
        divisors.dedup();
        if !divisors.iter().all(|d| d.is_finite() && *d > 0.0) {
            return Err("DENOM has a value that is not positive".into());
        }
        let denominator = common_multiple(&divisors);
        let mut entries = vec![Complex64::default(); n * n];
        for (weight, p) in products {
            let factor = p.factor * (weight * (denominator / p.divisor));
            for (right, r) in p.right.iter() {
                let row = self.index_of(right)?;
                let factor = factor * r.conj();
                for (left, l) in p.left.iter() {
                    entries[row * n + self.index_of(left)?] += factor * l;
                }
            }
        }
        let mut upper = Vec::with_capacity(ColorMatrix::triangle(n));
        for i in 0..n {
            for j in i..n {
                // The real part of `H_ij JAMP_j JAMP_i^* + H_ji JAMP_i JAMP_j^*`.
                let sum = (entries[i * n + j] + entries[j * n + i].conj()) / 2.0;
                if sum.im.abs() > 1e-9 * sum.re.abs() {
                    return Err(format!(
                        "the colour matrix is not real at ({}, {})",
                        i + 1,
                        j + 1
                    ));
                }
                upper.push(sum.re);
            }
        }
        Ok(ColorMatrix {
            flows: n as u32,
            denominator,
            upper,
        })
    }

    /// Converts JAMP2 of a colour flow.
    fn flow(&self, real: &RealSum) -> Parsed<FlowWeight> {
        let mut moduli = Vec::with_capacity(real.products.len() + real.moduli.len());
        for p in &real.products {
            if p.left != p.right {
                return Err("JAMP2 is no sum of moduli".into());
            }
            moduli.push(vec![self.pair(p)?]);
        }
        for modulus in &real.moduli {
            let pairs: Parsed<Vec<(u32, u32)>> = modulus.iter().map(|p| self.pair(p)).collect();
            moduli.push(pairs?);
        }
        Ok(FlowWeight { moduli })
    }

    fn pair(&self, p: &JampProduct) -> Parsed<(u32, u32)> {
        match (p.left.as_slice(), p.right.as_slice()) {
            ([(a, l)], [(b, r)])
                if *l == ONE && *r == ONE && p.factor == ONE && p.divisor == 1.0 =>
            {
                Ok((self.index_of(a)? as u32, self.index_of(b)? as u32))
            }
            _ => Err("JAMP2 is no sum of moduli of products of JAMPs".into()),
        }
    }

    /// Returns the linear map from amplitudes to JAMPs.
    fn map(&self, interpreter: &Interpreter, amplitudes: usize) -> Parsed<LinearMap> {
        let sums = &interpreter.sums;
        // A JAMP within another sum is expanded, so that JAMPs are only outputs.
        let mut needed = vec![false; sums.len()];
        let mut outputs: Vec<Terms> = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            outputs.push(match source {
                TermSource::Amplitude(_) => vec![(*source, ONE)],
                TermSource::Partial(p) => {
                    self.written_out(interpreter, &sums[*p as usize].terms, 0)?
                }
            });
        }
        let mut partial: SortedMap<usize, Terms> = SortedMap::new();
        for (source, _) in outputs.iter().flatten() {
            if let TermSource::Partial(p) = source {
                needed[*p as usize] = true;
            }
        }
        // A sum refers only to earlier ones.
        for p in (0..sums.len()).rev() {
            if !needed[p] {
                continue;
            }
            let terms = self.written_out(interpreter, &sums[p].terms, 0)?;
            for (source, _) in &terms {
                if let TermSource::Partial(earlier) = source {
                    if *earlier as usize >= p {
                        return Err("a sum of amplitudes that contains itself".into());
                    }
                    needed[*earlier as usize] = true;
                }
            }
            partial.insert(p, terms);
        }
        let number: HashMap<usize, u32> = partial.keys().copied().zip(0..).collect();
        let terms = |terms: &Terms| -> Parsed<Vec<Term>> {
            terms
                .iter()
                .map(|(source, factor)| {
                    let source = match source {
                        TermSource::Amplitude(a) if (*a as usize) < amplitudes => *source,
                        TermSource::Amplitude(_) => {
                            return Err("an amplitude of another call".into());
                        }
                        TermSource::Partial(p) => TermSource::Partial(number[&(*p as usize)]),
                    };
                    Ok(Term {
                        source,
                        factor: (factor.re, factor.im),
                    })
                })
                .collect()
        };
        Ok(LinearMap {
            partial: partial.values().map(&terms).collect::<Parsed<_>>()?,
            outputs: outputs.iter().map(&terms).collect::<Parsed<_>>()?,
        })
    }

    fn written_out(&self, interpreter: &Interpreter, terms: &Terms, depth: usize) -> Parsed<Terms> {
        if depth > 64 {
            return Err("JAMPs within JAMPs nest too deep".into());
        }
        if !terms.iter().any(|(source, _)| self.is_jamp(source)) {
            return Ok(terms.clone());
        }
        let mut all = Vec::with_capacity(terms.len());
        for (source, factor) in terms {
            match source {
                TermSource::Partial(p) if self.is_jamp(source) => {
                    let inner = &interpreter.sums[*p as usize].terms;
                    for (source, f) in self.written_out(interpreter, inner, depth + 1)? {
                        all.push((source, f * factor));
                    }
                }
                _ => all.push((*source, *factor)),
            }
        }
        Ok(all)
    }

    fn is_jamp(&self, source: &TermSource) -> bool {
        matches!(source, TermSource::Partial(_)) && self.index.contains_key(source)
    }
}

/// Returns the least common multiple of integers; 1 for several other numbers.
fn common_multiple(numbers: &[f64]) -> f64 {
    let mut multiple = 1u64;
    for &x in numbers {
        if x.fract() != 0.0 || x > 1e12 {
            return if numbers.len() == 1 { x } else { 1.0 };
        }
        let x = x as u64;
        let (mut a, mut b) = (multiple, x);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        match (multiple / a).checked_mul(x) {
            Some(m) if m < 1 << 50 => multiple = m,
            _ => return 1.0,
        }
    }
    multiple as f64
}
