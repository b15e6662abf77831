//! Reference evaluation of a colour-ordered form ([`super`]).

use super::{Boson, ColorOrdered, Exchange, OrderedVertex, orders, parts};
use crate::evaluate::NumericProcess;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// Number of momentum entries before the components of a wavefunction.
const COMPONENTS: usize = 2;

type Current = Vec<Complex64>;
/// Currents by the ordered insertions that they contain.
type Currents = HashMap<Vec<u8>, Current>;

impl NumericProcess<'_> {
    /// Evaluates the JAMPs of a form from these external wavefunctions, up to a common phase. `None` if the routines of
    /// the line do not take a mass.
    pub fn color_ordered_jamps(
        &self,
        form: &ColorOrdered,
        external: impl Fn(u32) -> Current,
    ) -> Option<Vec<Complex64>> {
        let vectors = form.boson.iter().flat_map(|boson| &boson.vectors);
        let taken = vectors.map(|vector| &vector.taken);
        for vertex in form.line.iter().chain(taken) {
            let routine = self.process.routines.get(vertex.routine as usize)?;
            if !routine.massive {
                return None;
            }
        }
        let mut recursion = Recursion {
            numbers: self,
            form,
            bosons: Vec::new(),
            insertions: HashMap::default(),
        };
        if let Some(boson) = &form.boson {
            let legs: Vec<Current> = boson.wavefunctions.iter().map(|&w| external(w)).collect();
            recursion.bosons = recursion.bosons(boson, &legs)?;
        }
        let insertions: Vec<Current> = form.insertions.iter().map(|&w| external(w)).collect();
        recursion.make_gluon_currents(&insertions);
        let second = external(form.ends[1]);
        let whole = recursion.lines(external(form.ends[0]), insertions.len());
        let jamps = orders(insertions.len()).into_iter().map(|order| {
            let current = whole.get(&order)?;
            let jamp = recursion.contract(current, &second);
            Some(jamp * form.closing)
        });
        jamps.collect()
    }
}

struct Recursion<'a> {
    numbers: &'a NumericProcess<'a>,
    form: &'a ColorOrdered,
    /// The vectors that the line absorbs, with their vertices.
    bosons: Vec<(&'a OrderedVertex, Current)>,
    insertions: Currents,
}

impl<'a> Recursion<'a> {
    /// Evaluates the possible vectors of a boson.
    fn bosons(
        &self,
        boson: &'a Boson,
        legs: &[Current],
    ) -> Option<Vec<(&'a OrderedVertex, Current)>> {
        let vector = |exchange: &'a Exchange| {
            let current = match &exchange.made {
                Some(vertex) => {
                    let mut current = Current::new();
                    let legs: Vec<&Current> = legs.iter().collect();
                    self.join(&mut current, vertex, &legs, self.propagator(vertex));
                    current
                }
                None => legs.first()?.clone(),
            };
            Some((&exchange.taken, current))
        };
        boson.vectors.iter().map(vector).collect()
    }

    /// Evaluates all gluon currents.
    fn make_gluon_currents(&mut self, externals: &[Current]) {
        for (insertion, current) in (0..).zip(externals) {
            self.insertions.insert(vec![insertion], current.clone());
        }
        for size in 2..=externals.len() {
            for order in parts(externals.len(), size) {
                let mut sum = Current::new();
                for i in 1..size {
                    let first = &self.insertions[&order[..i]];
                    self.join_vectors(&mut sum, first, &order[i..]);
                }
                self.insertions.insert(order, sum);
            }
        }
    }

    /// Adds the current of a vector and the insertions after it, the latter as one current or as two.
    fn join_vectors(&self, sum: &mut Current, first: &Current, behind: &[u8]) {
        let form = self.form;
        let propagator = |vertex: &OrderedVertex| self.propagator(vertex);
        let second = &self.insertions[behind];
        self.join(
            sum,
            &form.three_gluon,
            &[first, second],
            propagator(&form.three_gluon),
        );
        for j in 1..behind.len() {
            let (second, third) = (
                &self.insertions[&behind[..j]],
                &self.insertions[&behind[j..]],
            );
            for vertex in &form.four_gluon {
                self.join(sum, vertex, &[first, second, third], propagator(vertex));
            }
        }
    }

    /// The currents of the line with all insertions and the boson, without propagator.
    fn lines(&self, end: Current, count: usize) -> Currents {
        let form = self.form;
        let mut lines = Currents::default();
        lines.insert(Vec::new(), end);
        let full = if form.boson.is_some() {
            count + 1
        } else {
            count
        };
        for size in 1..full {
            for order in parts(count, size) {
                let current = self.line(&lines, None, &order, None);
                lines.insert(order, current);
            }
        }
        if form.boson.is_some() {
            let mut with = Currents::default();
            for size in 0..count {
                for order in parts(count, size) {
                    let mut current = self.line(&with, None, &order, None);
                    self.take_boson(&mut current, &lines[&order], None);
                    with.insert(order, current);
                }
            }
            let whole = orders(count).into_iter().map(|order| {
                let current = self.amputated(&with, Some(&lines), &order);
                (order, current)
            });
            return whole.collect();
        }
        let whole = orders(count).into_iter().map(|order| {
            let current = self.amputated(&lines, None, &order);
            (order, current)
        });
        whole.collect()
    }

    fn take_boson(&self, sum: &mut Current, line: &Current, propagator: Option<[f64; 2]>) {
        for (vertex, boson) in &self.bosons {
            let propagator = propagator.unwrap_or_else(|| self.propagator(vertex));
            self.join(sum, vertex, &[line, boson], propagator);
        }
    }

    /// The sum over all shorter line currents, and over the absorption of the boson by `without`.
    fn line(
        &self,
        shorter: &Currents,
        without: Option<&Currents>,
        order: &[u8],
        propagator: Option<[f64; 2]>,
    ) -> Current {
        let mut sum = Current::new();
        for i in 0..order.len() {
            let (first, behind) = (&shorter[&order[..i]], &order[i..]);
            match &self.form.line {
                Some(vertex) => {
                    let propagator = propagator.unwrap_or_else(|| self.propagator(vertex));
                    self.join(
                        &mut sum,
                        vertex,
                        &[first, &self.insertions[behind]],
                        propagator,
                    );
                }
                None => self.join_vectors(&mut sum, first, behind),
            }
        }
        if let Some(without) = without {
            self.take_boson(&mut sum, &without[order], propagator);
        }
        sum
    }

    /// The current of the line with all insertions, without its propagator.
    fn amputated(&self, shorter: &Currents, without: Option<&Currents>, order: &[u8]) -> Current {
        if self.form.line.is_none() {
            let mut current = self.line(shorter, without, order, None);
            let square = square(&current);
            scale(&mut current, square);
            return current;
        }
        // The difference of (p + m)/(p^2 - m^2) for m = 1 and m = -1 is the spinor itself times 2/(p^2 - 1).
        let mut current = self.line(shorter, without, order, Some([1.0, 0.0]));
        let other = self.line(shorter, without, order, Some([-1.0, 0.0]));
        for (x, y) in current.iter_mut().zip(&other).skip(COMPONENTS) {
            *x -= y;
        }
        let square = square(&current);
        scale(&mut current, (square - 1.0) / 2.0);
        current
    }

    /// The product of two vectors (with the metric), or of two spinors.
    fn contract(&self, a: &Current, b: &Current) -> Complex64 {
        let products = a.iter().zip(b).skip(COMPONENTS).map(|(x, y)| x * y);
        let minus = self.form.line.is_none();
        let signed = products.enumerate().map(|(i, product)| match i {
            1.. if minus => -product,
            _ => product,
        });
        signed.sum()
    }

    fn propagator(&self, vertex: &OrderedVertex) -> [f64; 2] {
        [vertex.mass, vertex.width].map(|quantity| self.numbers.quantity(quantity))
    }

    /// Adds the current of neighbouring currents at a vertex to `sum`.
    fn join(
        &self,
        sum: &mut Current,
        vertex: &OrderedVertex,
        neighbours: &[&Current],
        propagator: [f64; 2],
    ) {
        let inputs = vertex.inputs.iter();
        let inputs: Vec<&[Complex64]> = inputs.map(|&n| &neighbours[usize::from(n)][..]).collect();
        let (routine, couplings) = (vertex.routine, &vertex.couplings);
        let mut current = self.numbers.call(routine, &inputs, couplings, propagator);
        let factor = Complex64::new(vertex.factor.0, vertex.factor.1);
        for x in current.iter_mut().skip(COMPONENTS) {
            *x *= factor;
        }
        if sum.is_empty() {
            *sum = current;
            return;
        }
        for (x, y) in sum.iter_mut().zip(&current).skip(COMPONENTS) {
            *x += y;
        }
    }
}

/// The squared momentum of a current.
fn square(current: &Current) -> f64 {
    let [a, b] = [current[0], current[1]];
    a.re * a.re - a.im * a.im - b.norm_sqr()
}

fn scale(current: &mut Current, factor: f64) {
    for x in current.iter_mut().skip(COMPONENTS) {
        *x *= factor;
    }
}
