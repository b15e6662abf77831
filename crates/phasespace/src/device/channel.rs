//! Steps of channels. They read and write rows of a point. Rows are reused after the last read of a value, and
//! constants take no rows.

use super::{CONSTANT, NOWHERE, Tables, Unknown};
use crate::Channel;
use crate::channel::{Beams, Cluster, Incoming, Step};
use crate::map::Map;
use mebridge_support::sorted::SortedMap;

const LEAST: u32 = 0;
const INVARIANT: u32 = 1;
const FRACTIONS: u32 = 2;
const BEAMS: u32 = 3;
const DECAY: u32 = 4;
const SCATTER: u32 = 5;

/// A value of several adjacent slots.
#[derive(Clone, Copy, Debug)]
struct Value {
    size: usize,
    /// The step that writes it, and the last step that reads it; the end of the channel counts as a step.
    written: usize,
    read: Option<usize>,
    row: u32,
}

/// The rows of a channel's slots.
#[derive(Debug, Default)]
struct Rows {
    values: SortedMap<usize, Value>,
    constants: SortedMap<usize, f64>,
    /// The slot of the total outgoing momentum.
    whole: Option<usize>,
    count: u32,
}

impl Rows {
    fn new(channel: &Channel) -> Self {
        let mut rows = Rows {
            constants: channel.constants.iter().copied().collect(),
            ..Rows::default()
        };
        rows.whole = channel.steps.iter().find_map(|step| match step {
            Step::Beams { whole, .. } => Some(whole.momentum),
            _ => None,
        });
        for (number, step) in channel.steps.iter().enumerate() {
            rows.step(number, step);
        }
        let end = channel.steps.len();
        for leg in &channel.legs {
            rows.read(end, leg.momentum);
            rows.read(end, leg.square);
        }
        rows.place(channel);
        rows
    }

    fn write(&mut self, step: usize, slot: usize, size: usize) {
        let value = Value {
            size,
            written: step,
            read: None,
            row: NOWHERE,
        };
        self.values.insert(slot, value);
    }

    fn read(&mut self, step: usize, slot: usize) {
        if let Some(value) = self.values.get_mut(&slot) {
            value.read = Some(step);
        }
    }

    /// Whether a line is the whole final state, which is at rest.
    fn rests(&self, line: Cluster) -> bool {
        self.whole == Some(line.momentum)
    }

    fn step(&mut self, number: usize, step: &Step) {
        match step {
            Step::Least { of, to, .. } => {
                of.iter().for_each(|&slot| self.read(number, slot));
                self.write(number, *to, 1);
            }
            Step::Invariant {
                least,
                whole,
                without,
                to,
                ..
            } => {
                for &slot in [*least, *whole].iter().chain(without) {
                    self.read(number, slot);
                }
                self.write(number, to.square, 1);
                self.write(number, to.mass, 1);
            }
            Step::Fractions { whole, .. } => self.read(number, whole.square),
            // `step` of the tables refuses them.
            Step::Radiation { .. } | Step::Emissions { .. } => {}
            Step::Beams { whole, to } => {
                for slot in [whole.square, whole.mass, to[0].square, to[1].square] {
                    self.read(number, slot);
                }
                for slot in [whole.momentum, to[0].momentum, to[1].momentum] {
                    self.write(number, slot, 4);
                }
            }
            Step::Decay { whole, parts, .. } => {
                self.divide(number, *whole, *parts);
            }
            Step::Scatter {
                incoming,
                whole,
                parts,
                exchanged,
                ..
            } => {
                for one in incoming {
                    self.read(number, one.square);
                    self.read(number, one.momentum);
                }
                self.divide(number, *whole, *parts);
                for one in exchanged {
                    self.write(number, one.square, 1);
                    self.write(number, one.momentum, 4);
                }
            }
        }
    }

    fn divide(&mut self, number: usize, whole: Cluster, parts: [Cluster; 2]) {
        for slot in [whole.square, whole.mass] {
            self.read(number, slot);
        }
        if !self.rests(whole) {
            self.read(number, whole.momentum);
        }
        for part in parts {
            self.read(number, part.square);
            self.read(number, part.mass);
            self.write(number, part.momentum, 4);
        }
    }

    /// Assigns rows to all values: legs have the first ones, four each.
    fn place(&mut self, channel: &Channel) {
        let mut placed: Vec<Value> = Vec::new();
        for (leg, line) in channel.legs.iter().enumerate() {
            if let Some(value) = self.values.get_mut(&line.momentum) {
                value.row = 4 * leg as u32;
                placed.push(*value);
            }
        }
        let mut others: Vec<usize> = self.values.keys().copied().collect();
        others.retain(|slot| self.values[slot].row == NOWHERE && self.values[slot].read.is_some());
        others.sort_by_key(|slot| (self.values[slot].written, *slot));
        self.count = 4 * channel.legs.len() as u32;
        for slot in others {
            let mut value = self.values[&slot];
            // The rows of a value are free for the result of the step that reads it last.
            let beside = |other: &&Value| {
                other.written < value.read.unwrap_or(0) && value.written < other.read.unwrap_or(0)
            };
            let mut taken: Vec<&Value> = placed.iter().filter(beside).collect();
            taken.sort_by_key(|other| other.row);
            let mut row = 0;
            for other in taken {
                if row + value.size as u32 > other.row {
                    row = row.max(other.row + other.size as u32);
                }
            }
            value.row = row;
            self.count = self.count.max(row + value.size as u32);
            placed.push(value);
            self.values.insert(slot, value);
        }
    }

    /// The row of a result; [`NOWHERE`] if no step reads it.
    fn row(&self, slot: usize) -> u32 {
        self.values.get(&slot).map_or(NOWHERE, |value| value.row)
    }

    /// An operand: a row or a number.
    fn operand(&self, slot: usize, tables: &mut Tables) -> u32 {
        match self.constants.get(&slot) {
            Some(&value) => CONSTANT | tables.numbers(&[value]),
            None => match self.values.get(&slot) {
                Some(value) => value.row,
                // No step writes the slot, so it is 0.
                None => CONSTANT | tables.numbers(&[0.0]),
            },
        }
    }

    fn line(&self, line: Cluster, tables: &mut Tables) -> [u32; 3] {
        let momentum = match self.rests(line) {
            true => NOWHERE,
            false => self.row(line.momentum),
        };
        [
            self.operand(line.square, tables),
            self.operand(line.mass, tables),
            momentum,
        ]
    }

    fn incoming(&self, one: Incoming, tables: &mut Tables) -> [u32; 2] {
        [self.operand(one.square, tables), self.row(one.momentum)]
    }
}

/// The words of a map: its kind, and its numbers.
fn map(map: Map, tables: &mut Tables) -> [u32; 2] {
    match map {
        Map::Flat => [0, NOWHERE],
        Map::Power(power) => [1, tables.numbers(&[1.0 - power, 1.0 / (1.0 - power)])],
        Map::Inverse => [2, NOWHERE],
        Map::BreitWigner { square, product } => {
            [3, tables.numbers(&[square, product, 1.0 / product])]
        }
    }
}

impl Tables {
    /// Adds a channel; returns its offset, and its number of rows. Its words are: the number of outgoing legs, the end
    /// of the steps, the squared masses of the legs, the steps.
    ///
    /// # Errors
    /// A step is not supported on GPUs.
    pub fn channel(&mut self, channel: &Channel) -> Result<(u32, u32), Unknown> {
        let rows = Rows::new(channel);
        let squares: Vec<u32> = (channel.legs.iter())
            .map(|leg| rows.operand(leg.square, self))
            .collect();
        let begin = self.next();
        self.words.extend([squares.len() as u32, 0]);
        self.words.extend(squares);
        for step in &channel.steps {
            let (kind, words) = self.step(channel, &rows, step)?;
            self.tagged(kind, &words);
        }
        self.words[begin as usize + 1] = self.next();
        Ok((begin, rows.count))
    }

    fn step(
        &mut self,
        channel: &Channel,
        rows: &Rows,
        step: &Step,
    ) -> Result<(u32, Vec<u32>), Unknown> {
        Ok(match step {
            Step::Least { floor, of, to } => {
                let mut words = vec![rows.row(*to), self.numbers(&[*floor])];
                words.extend(of.iter().map(|&slot| rows.operand(slot, self)));
                (LEAST, words)
            }
            Step::Invariant {
                random,
                map: of,
                least,
                whole,
                without,
                ceiling,
                to,
                measure,
            } => {
                let mut words = vec![*random as u32];
                words.extend(map(*of, self));
                words.extend([*least, *whole].map(|slot| rows.operand(slot, self)));
                words.extend([rows.row(to.square), rows.row(to.mass)]);
                words.push(self.numbers(&[*measure]));
                words.push(self.numbers(&[*ceiling]));
                words.extend(without.iter().map(|&slot| rows.operand(slot, self)));
                (INVARIANT, words)
            }
            Step::Fractions {
                random,
                map,
                whole,
                heavy,
                unequal: [sign, difference],
                measure,
            } => {
                let Map::BreitWigner { square, product } = *map else {
                    return Err(Unknown(format!("a share of energy fractions by {map:?}")));
                };
                let from = ((0.0 - square) / product).atan();
                let range = ((1.0 - square) / product).atan() - from;
                let over = 1.0 / (channel.energy * channel.energy);
                let numbers = [over, *measure, square, product, from, range, *heavy];
                let numbers = [&numbers[..], &[*sign, *difference]].concat();
                let numbers = self.numbers(&numbers);
                let random = random.map_or(NOWHERE, |random| random as u32);
                let beam = match channel.beams {
                    Beams::First => 0,
                    Beams::Second => 1,
                    Beams::Both => NOWHERE,
                    Beams::Neither | Beams::AtRest | Beams::Leptons => {
                        return Err(Unknown("energy fractions without beams".to_owned()));
                    }
                };
                let square = rows.operand(whole.square, self);
                (FRACTIONS, vec![random, beam, square, numbers])
            }
            Step::Radiation { .. } | Step::Emissions { .. } => {
                return Err(Unknown("densities of leptons".to_owned()));
            }
            Step::Beams { whole, to } => {
                let mut words = vec![
                    rows.operand(whole.square, self),
                    rows.operand(whole.mass, self),
                    rows.row(whole.momentum),
                ];
                words.extend(to.iter().flat_map(|&one| rows.incoming(one, self)));
                (BEAMS, words)
            }
            Step::Decay {
                random,
                whole,
                parts,
            } => {
                let mut words = random.map(|random| random as u32).to_vec();
                for line in [*whole, parts[0], parts[1]] {
                    words.extend(rows.line(line, self));
                }
                (DECAY, words)
            }
            Step::Scatter {
                random,
                map: of,
                pole,
                transverse,
                incoming,
                whole,
                parts,
                exchanged,
            } => {
                let mut words = random.map(|random| random as u32).to_vec();
                words.extend(map(*of, self));
                words.push(self.numbers(&[*pole, transverse[0], transverse[1]]));
                words.extend(incoming.iter().flat_map(|&one| rows.incoming(one, self)));
                for line in [*whole, parts[0], parts[1]] {
                    words.extend(rows.line(line, self));
                }
                for one in exchanged {
                    words.extend([rows.row(one.square), rows.row(one.momentum)]);
                }
                (SCATTER, words)
            }
        })
    }
}
