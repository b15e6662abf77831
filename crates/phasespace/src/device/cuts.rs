//! Cuts. Observables that the CPU computes once for all tests of a chunk, a GPU recomputes in each test of a point.

use super::{NOWHERE, Tables};
use crate::cuts::Cuts;
use crate::cuts::program::{CutProgram, CutTest, CutValue, Limits, Photon};
use crate::observables::{MomentumOf, ObservableKind, Radius};

const ALL: u32 = 0;
const ANY: u32 = 1;
const SUM: u32 = 2;
const NUMBER: u32 = 3;
const FIRST: u32 = 4;
const SOME: u32 = 5;
const DISTANCE: u32 = 6;
const OPPOSITE: u32 = 7;
const ISOLATED: u32 = 8;

/// Bits for values of the frame that tests need: exp(2 y); cosh y and sinh y.
const FACTOR: u32 = 1;
const MATRIX: u32 = 2;

impl Tables {
    /// Adds cuts; returns their offset, and their number of rows after the momenta.
    pub fn cuts(&mut self, cuts: &Cuts) -> (u32, u32) {
        let program = &cuts.program;
        let begin = self.next();
        self.words.extend([0, 0]);
        let (mut rows, mut needed) = (0, 0);
        for tested in &program.tests {
            let (kind, words) = self.test(program, &tested.test, &mut needed);
            self.tagged(kind, &words);
            rows = rows.max(match &tested.test {
                CutTest::Largest { count, .. } => *count,
                CutTest::Some { limits, .. } => limits.len(),
                CutTest::Isolated(photon) => photon.near.len(),
                _ => 0,
            });
        }
        let end = self.next();
        self.words[begin as usize..][..2].copy_from_slice(&[end, needed]);
        (begin, rows as u32)
    }

    fn test(&mut self, program: &CutProgram, test: &CutTest, needed: &mut u32) -> (u32, Vec<u32>) {
        match test {
            CutTest::All(values, limits) | CutTest::Any(values, limits) => {
                let kind = match test {
                    CutTest::All(..) => ALL,
                    _ => ANY,
                };
                let numbers: Vec<usize> =
                    values.iter().map(|CutValue { value, .. }| *value).collect();
                let limits = std::slice::from_ref(limits);
                (kind, self.observables(program, &numbers, 0, limits, needed))
            }
            CutTest::Sum(values, limits) => {
                let limits = std::slice::from_ref(limits);
                (SUM, self.observables(program, values, 0, limits, needed))
            }
            CutTest::Distance(pair, radius, limits) => {
                let mut words = self.limits(limits).to_vec();
                words.push(match radius {
                    Some(radius) => self.numbers(&radius.numbers()),
                    None => NOWHERE,
                });
                words.extend(pair.bodies().iter().flat_map(|&one| body(program, one)));
                (DISTANCE, words)
            }
            CutTest::Largest {
                values,
                buffer: _,
                count,
                sum,
                limits,
            } => {
                let kind = if *sum { FIRST } else { NUMBER };
                let limits = std::slice::from_ref(limits);
                let words = self.observables(program, values, *count, limits, needed);
                (kind, words)
            }
            CutTest::Some {
                values,
                buffer: _,
                limits,
            } => {
                let words = self.observables(program, values, limits.len(), limits, needed);
                (SOME, words)
            }
            CutTest::Opposite { jets, least, apart } => {
                let mut words = vec![self.numbers(&[*least, *apart])];
                let legs = jets
                    .iter()
                    .map(|[pt, _]| leg(program.observables.observable_of(*pt).1));
                words.extend(legs);
                (OPPOSITE, words)
            }
            CutTest::Relative(..) => unreachable!("`Cuts::not_on_gpus` says so"),
            CutTest::Isolated(photon) => {
                *needed |= MATRIX;
                (ISOLATED, self.photon(program, photon))
            }
        }
    }

    /// The words of a test: the observable, the number of largest values, the limits, the momenta.
    fn observables(
        &mut self,
        program: &CutProgram,
        values: &[usize],
        largest: usize,
        limits: &[Limits],
        needed: &mut u32,
    ) -> Vec<u32> {
        let mut words = vec![kind_of(program, values, needed), largest as u32];
        words.extend(limits.iter().flat_map(|limits| self.limits(limits)));
        words.extend(bodies(program, values));
        words
    }

    fn photon(&mut self, program: &CutProgram, photon: &Photon) -> Vec<u32> {
        let Photon {
            pt,
            near,
            buffer: _,
            cone,
            least,
            radius,
            power,
            share,
        } = photon;
        let mut numbers = vec![*least, radius * radius, *power, *share];
        numbers.extend([1.0 - radius.cos(), f64::from(u8::from(cone.is_some()))]);
        numbers.extend(cone.as_ref().map_or([0.0; 4], Radius::numbers));
        let mut words = vec![self.numbers(&numbers)];
        words.push(leg(program.observables.observable_of(*pt).1));
        words.extend(near.iter().map(|(pair, _)| leg(pair.bodies()[1])));
        words
    }

    fn limits(&mut self, limits: &Limits) -> [u32; 2] {
        let Limits {
            least,
            largest,
            outside,
        } = *limits;
        let kind = match (outside, largest == f64::INFINITY) {
            (true, _) => 1,
            (false, true) => 2,
            (false, false) => 0,
        };
        [self.numbers(&[least, largest]), kind]
    }
}

/// The observable that all of these values have.
fn kind_of(program: &CutProgram, values: &[usize], needed: &mut u32) -> u32 {
    let kind = |&value: &usize| program.observables.observable_of(value).0;
    let first = values.first().map_or(ObservableKind::PtSquared, kind);
    assert!(
        values.iter().all(|value| kind(value) == first),
        "one observable"
    );
    match first {
        ObservableKind::PtSquared => 0,
        ObservableKind::Pt => 1,
        ObservableKind::MassSquared => 2,
        ObservableKind::Mass => 3,
        ObservableKind::LightCone => {
            *needed |= FACTOR;
            4
        }
        ObservableKind::RapiditySize => 5,
        ObservableKind::Energy => 6,
        ObservableKind::PlainEnergy => 7,
        ObservableKind::Finite
        | ObservableKind::BoostSquared
        | ObservableKind::BoostMatrix
        | ObservableKind::SeenRapidity
        | ObservableKind::Cone
        | ObservableKind::PseudoCone => unreachable!("no window is in {first:?}"),
    }
}

/// The words of a momentum: the number of its legs, and the legs.
fn body(program: &CutProgram, body: MomentumOf) -> Vec<u32> {
    let legs = program.observables.legs_of(body);
    let mut words = vec![legs.len() as u32];
    words.extend(legs.iter().map(|&leg| leg as u32));
    words
}

fn bodies(program: &CutProgram, values: &[usize]) -> Vec<u32> {
    let of = values
        .iter()
        .map(|&value| program.observables.observable_of(value).1);
    of.flat_map(|one| body(program, one)).collect()
}

fn leg(body: MomentumOf) -> u32 {
    match body {
        MomentumOf::Leg(leg) => leg as u32,
        MomentumOf::Sum(_) => unreachable!("rules are about legs"),
    }
}
