//! The vertices of a form, found in the calls of the process.

use super::amplitude::current_of;
use super::legs::ExternalLegs;
use mebridge_process::color_ordered::{Boson, Exchange, OrderedVertex};
use mebridge_process::lorentz::Routine;
use mebridge_process::{Process, Quantity, Vertex, Wavefunction};
use num_complex::Complex64;

/// Components of the wavefunction of a vector or a spinor, including momentum.
const SIZE: u32 = 6;

/// The vertices, without the colour factors of those with insertions.
pub struct Vertices {
    /// The ends; the vertices of the line start from the first one.
    pub ends: [u32; 2],
    pub line: Option<OrderedVertex>,
    pub three_gluon: OrderedVertex,
    pub four_gluon: Vec<OrderedVertex>,
    pub boson: Option<Boson>,
}

impl Vertices {
    /// Finds the vertices of a process with these legs. May add a routine to the process.
    pub fn find(process: &mut Process, legs: &ExternalLegs) -> Option<Vertices> {
        let (ends, line, boson) = match legs.quarks {
            true => of_line(process, legs)?,
            false => (legs.ends, None, None),
        };
        let three_gluon = ordered(&of_gluons(process, legs, 2)?, vec![0, 1]);
        let four_gluon = match of_gluons(process, legs, 3) {
            Some(call) => three_neighbours(&process.routines[call.routine as usize], &call)?,
            None => Vec::new(),
        };
        Some(Vertices {
            ends,
            line,
            three_gluon,
            four_gluon,
            boson,
        })
    }
}

/// Iterates over the calls that combine vectors and spinors into vectors and spinors.
fn currents(process: &Process) -> impl Iterator<Item = &Vertex> {
    process.wavefunctions.iter().filter_map(|w| match w {
        Wavefunction::Internal(call) => {
            let routine = &process.routines[call.routine as usize];
            let fits = routine.inputs.iter().all(|&numbers| numbers == SIZE);
            (fits && routine.outputs.len() == SIZE as usize).then_some(call)
        }
        Wavefunction::External(_) => None,
    })
}

fn ordered(call: &Vertex, inputs: Vec<u8>) -> OrderedVertex {
    OrderedVertex {
        routine: call.routine,
        inputs,
        couplings: call.couplings.clone(),
        mass: call.mass,
        width: call.width,
        factor: (1.0, 0.0),
    }
}

type OfLine = ([u32; 2], Option<OrderedVertex>, Option<Boson>);

/// Finds the vertices of a quark line, starting from the end for which all calls exist.
fn of_line(process: &Process, legs: &ExternalLegs) -> Option<OfLine> {
    let [first, second] = legs.ends;
    [[first, second], [second, first]]
        .into_iter()
        .find_map(|ends| {
            let on_line = |&w: &u32| {
                legs.holds(w, ends[0]) && !legs.holds(w, ends[1]) && !legs.holds_boson(w)
            };
            let vertex = |takes: &dyn Fn(u32) -> bool| {
                currents(process).find_map(|call| match call.inputs[..] {
                    [a, b] if on_line(&a) && takes(b) => Some(ordered(call, vec![0, 1])),
                    [a, b] if on_line(&b) && takes(a) => Some(ordered(call, vec![1, 0])),
                    _ => None,
                })
            };
            let line = vertex(&|w| legs.is_gluon(w))?;
            let taken = |wavefunction: u32| vertex(&|w| w == wavefunction);
            let vectors: Vec<Exchange> = match legs.boson[..] {
                [] => return Some((ends, Some(line), None)),
                [boson] => vec![Exchange {
                    made: None,
                    taken: taken(boson)?,
                }],
                _ => {
                    let made = made_of(process, &legs.boson).map(|(w, made)| {
                        let (made, taken) = (Some(made), taken(w)?);
                        Some(Exchange { made, taken })
                    });
                    made.collect::<Option<_>>()?
                }
            };
            let boson = Boson {
                wavefunctions: legs.boson.clone(),
                vectors,
            };
            (!boson.vectors.is_empty()).then_some((ends, Some(line), Some(boson)))
        })
}

/// Finds the vectors into which two fermions annihilate.
fn made_of(process: &Process, fermions: &[u32]) -> impl Iterator<Item = (u32, OrderedVertex)> {
    let all = (0..).zip(&process.wavefunctions);
    all.filter_map(move |(number, wavefunction)| {
        let Wavefunction::Internal(call) = wavefunction else {
            return None;
        };
        let place = |input| fermions.iter().position(|w| w == input);
        let inputs: Option<Vec<u8>> = call.inputs.iter().map(|w| Some(place(w)? as u8)).collect();
        let inputs = inputs.filter(|inputs| inputs.len() == fermions.len())?;
        Some((number, ordered(call, inputs)))
    })
}

/// Finds a call that makes the current of `count` gluons. If there is none, uses an amplitude with one more gluon and
/// adds the routine of its current.
fn of_gluons(process: &mut Process, legs: &ExternalLegs, count: usize) -> Option<Vertex> {
    let meet = |call: &&Vertex, count: usize| {
        call.inputs.len() == count && call.inputs.iter().all(|&w| legs.is_gluon(w))
    };
    if let Some(call) = currents(process).find(|call| meet(call, count)) {
        return Some(call.clone());
    }
    let mut amplitudes = process.amplitudes.vertices().iter();
    let call = amplitudes.find(|call| meet(call, count + 1))?.clone();
    let routine = current_of(&process.routines[call.routine as usize])?;
    process.routines.push(routine);
    Some(Vertex {
        routine: process.routines.len() as u32 - 1,
        inputs: call.inputs[..count].to_vec(),
        mass: Quantity::ZERO,
        width: Quantity::ZERO,
        ..call
    })
}

/// Returns the vertices of three neighbours A, B and C whose sum is `2 B (A C) - A (B C) - C (A B)`, from a routine for
/// a difference of two such products.
fn three_neighbours(routine: &Routine, call: &Vertex) -> Option<Vec<OrderedVertex>> {
    if routine.inputs != [SIZE; 3] || routine.outputs.len() != SIZE as usize {
        return None;
    }
    let of: Vec<Complex64> = (0..3).map(|which| direction(routine, which)).collect();
    let largest = of.iter().map(|x| x.norm()).fold(0.0, f64::max);
    let place = |found: &dyn Fn(&Complex64) -> bool| of.iter().position(found);
    // The argument that gives the direction of the first product, and that of the product that is subtracted.
    let rest = place(&|x| x.norm() < 1e-9 * largest)?;
    let [plus, minus] = [(rest + 1) % 3, (rest + 2) % 3];
    if (of[plus] + of[minus]).norm() > 1e-9 * largest {
        return None;
    }
    let [a, b, c] = [0, 1, 2];
    let differences = [[b, c, a], [b, a, c]].map(|neighbours| {
        let mut inputs = vec![0; 3];
        for (argument, neighbour) in [plus, minus, rest].into_iter().zip(neighbours) {
            inputs[argument] = neighbour;
        }
        ordered(call, inputs)
    });
    Some(differences.to_vec())
}

/// Returns the coefficient of the term along this argument times the product of the others.
fn direction(routine: &Routine, which: usize) -> Complex64 {
    // This argument along x and the others along z; at rest, with couplings of one.
    let zero = Complex64::default();
    let one = Complex64::from(1.0);
    let mut inputs = Vec::new();
    for argument in 0..3 {
        let component = if argument == which { 1 } else { 3 };
        inputs.extend([one, zero]);
        inputs.extend((0..4).map(|i| if i == component { one } else { zero }));
    }
    inputs.resize(routine.mass_input() as usize, one);
    inputs.resize(routine.program_inputs() as usize, zero);
    routine.evaluate(&inputs)[3]
}
