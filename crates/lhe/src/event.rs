//! An event in a file.

use crate::text::lines;
use crate::word::{integer, real};
use crate::written::{WeightsInText, name};
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// Position of an event in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventLocation {
    /// Its number, from 1.
    pub event: u64,
    /// The line where it begins, from 1; 0 if the file has no lines.
    pub line: u64,
}

impl Display for EventLocation {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "event {} (from 1", self.event)?;
        if self.line > 0 {
            write!(f, "; line {}", self.line)?;
        }
        write!(f, ")")
    }
}

/// An event; capitals are the names of the accord.
#[derive(Default)]
pub struct Event {
    /// Its position in the file.
    pub place: EventLocation,
    /// IDPRUP.
    pub process: i32,
    /// XWGTUP.
    pub weight: f64,
    /// SCALUP in GeV.
    pub scale: f64,
    /// AQEDUP.
    pub alpha_qed: f64,
    /// AQCDUP, which is NaN if MG5aMC has no value.
    pub alpha_qcd: f64,
    /// Its particles, including intermediate ones.
    pub particles: Vec<Particle>,
    /// The text between the previous event and this one, if it is kept.
    pub before: Vec<u8>,
    /// The text from `<event>` to `</event>`.
    pub text: Vec<u8>,
    /// Range in `text` of its first line and those of its particles, up to the last number.
    pub numbers: Range<usize>,
    /// Offset of `</event>` in `text`.
    pub end: usize,
    /// Offset of `</rwgt>` in `text`, if it is there.
    pub list_end: Option<usize>,
    pub(crate) written: Vec<WeightsInText>,
}

/// A particle of an event; capitals are the names of the accord.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Particle {
    /// IDUP, its PDG code.
    pub pdg: i32,
    /// ISTUP: -1 if it is incoming, 1 if it is outgoing.
    pub status: i32,
    /// MOTHUP.
    pub mothers: [i32; 2],
    /// ICOLUP.
    pub colors: [i32; 2],
    /// PUP: px, py, pz, E and the mass in GeV.
    pub momentum: [f64; 5],
    /// VTIMUP.
    pub lifetime: f64,
    /// SPINUP.
    pub spin: f64,
}

/// SPINUP of an unknown helicity.
const UNKNOWN_HELICITY: f64 = 9.0;

/// Kind of number in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    Integer,
    Finite,
    NotInfinite,
    Real,
}

/// A number of a column.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Integer(i32),
    Real(f64),
}

impl Columns {
    pub fn read(self, word: &str) -> Option<Number> {
        if self == Columns::Integer {
            return integer(word).map(Number::Integer);
        }
        let fits = |value: &f64| match self {
            Columns::Finite => value.is_finite(),
            Columns::NotInfinite => !value.is_infinite(),
            _ => true,
        };
        real(word).filter(fits).map(Number::Real)
    }

    pub fn wanted(self) -> &'static str {
        match self {
            Columns::Integer => "no integer",
            Columns::Finite => "no finite number",
            Columns::NotInfinite | Columns::Real => "no number",
        }
    }
}

impl Number {
    fn integer(self) -> i32 {
        match self {
            Number::Integer(value) => value,
            Number::Real(value) => value as i32,
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Integer(value) => f64::from(value),
            Number::Real(value) => value,
        }
    }
}

/// Columns of the first line of an event. MG5aMC writes NaN if a model has no alpha_s.
pub(crate) const EVENT: [(&str, Columns); 6] = [
    ("NUP", Columns::Integer),
    ("IDPRUP", Columns::Integer),
    ("XWGTUP", Columns::Finite),
    ("SCALUP", Columns::Real),
    ("AQEDUP", Columns::Real),
    ("AQCDUP", Columns::NotInfinite),
];

/// Size in bytes of a record without particles, and of each particle.
pub(crate) const HEAD_BYTES: usize = 36;
pub(crate) const PARTICLE_BYTES: usize = 80;
/// Columns of the line of a particle.
pub(crate) const PARTICLE: [(&str, Columns); 13] = [
    ("IDUP", Columns::Integer),
    ("ISTUP", Columns::Integer),
    ("MOTHUP(1)", Columns::Integer),
    ("MOTHUP(2)", Columns::Integer),
    ("ICOLUP(1)", Columns::Integer),
    ("ICOLUP(2)", Columns::Integer),
    ("px", Columns::Finite),
    ("py", Columns::Finite),
    ("pz", Columns::Finite),
    ("E", Columns::Finite),
    ("the mass", Columns::Finite),
    ("VTIMUP", Columns::Real),
    ("SPINUP", Columns::Real),
];

impl Event {
    /// Takes the numbers of the first line, and returns the number of particles.
    pub(crate) fn take_head(&mut self, values: &[Number; EVENT.len()]) -> i32 {
        self.process = values[1].integer();
        let reals = [2, 3, 4, 5].map(|i| values[i].real());
        [self.weight, self.scale, self.alpha_qed, self.alpha_qcd] = reals;
        values[0].integer()
    }

    /// Appends its record without particles.
    pub fn push_head(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.process.to_le_bytes());
        for value in [self.weight, self.scale, self.alpha_qed, self.alpha_qcd] {
            to.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Appends its particles in the format of a record.
    pub fn push_particles(&self, to: &mut Vec<u8>) {
        for particle in &self.particles {
            to.extend_from_slice(&particle.bytes());
        }
    }

    /// Returns the incoming and outgoing particles in order.
    pub fn external(&self) -> impl Iterator<Item = &Particle> {
        self.particles
            .iter()
            .filter(|particle| particle.is_external())
    }

    /// Returns AQCDUP; also -1, as in the accord, if MG5aMC writes NaN because a model has no alpha_s.
    pub fn alpha_s(&self) -> f64 {
        match self.alpha_qcd.is_nan() {
            true => -1.0,
            false => self.alpha_qcd,
        }
    }

    /// Returns the line of an offset in its text.
    pub(crate) fn line_of(&self, place: usize) -> u64 {
        self.place.line + lines(&self.text, place)
    }

    /// Returns the names of its named weights.
    pub fn weight_names(&self) -> impl Iterator<Item = String> {
        self.written.iter().filter_map(|written| match written {
            WeightsInText::One { id: Some(id), .. } => Some(name(&self.text[id.clone()])),
            _ => None,
        })
    }
}

/// ISTUP of an incoming particle.
pub const INCOMING: i32 = -1;
/// ISTUP of an outgoing particle.
pub const OUTGOING: i32 = 1;
/// ISTUP of a decayed particle.
pub const DECAYED: i32 = 2;

impl Particle {
    /// Returns whether it is incoming.
    pub fn is_incoming(&self) -> bool {
        self.status == INCOMING
    }

    /// Returns whether it is incoming or outgoing.
    pub fn is_external(&self) -> bool {
        matches!(self.status, INCOMING | OUTGOING)
    }

    /// Returns IDUP, ISTUP, MOTHUP and ICOLUP in the order of the accord.
    pub(crate) fn integers(&self) -> [i32; 6] {
        let ([first, last], [color, anti_color]) = (self.mothers, self.colors);
        [self.pdg, self.status, first, last, color, anti_color]
    }

    /// Returns it in the format of a record.
    fn bytes(&self) -> [u8; PARTICLE_BYTES] {
        let mut bytes = [0; PARTICLE_BYTES];
        let (integers, reals) = bytes.split_at_mut(size_of_val(&self.integers()));
        for (to, value) in integers.as_chunks_mut().0.iter_mut().zip(self.integers()) {
            *to = value.to_le_bytes();
        }
        let [x, y, z, energy, mass] = self.momentum;
        let values = [x, y, z, energy, mass, self.lifetime, self.spin];
        for (to, value) in reals.as_chunks_mut().0.iter_mut().zip(values) {
            *to = value.to_le_bytes();
        }
        bytes
    }

    /// Returns (E, px, py, pz) in GeV.
    pub fn four_momentum(&self) -> [f64; 4] {
        let [px, py, pz, energy, _] = self.momentum;
        [energy, px, py, pz]
    }

    /// Returns SPINUP, or `None` if it is unknown, for which the accord has 9.
    pub fn helicity(&self) -> Option<f64> {
        Some(self.spin).filter(|&spin| spin.is_finite() && spin != UNKNOWN_HELICITY)
    }

    pub(crate) fn from_numbers(values: &[Number; PARTICLE.len()]) -> Particle {
        let integer = |i: usize| values[i].integer();
        Particle {
            pdg: integer(0),
            status: integer(1),
            mothers: [integer(2), integer(3)],
            colors: [integer(4), integer(5)],
            momentum: [6, 7, 8, 9, 10].map(|i| values[i].real()),
            lifetime: values[11].real(),
            spin: values[12].real(),
        }
    }
}
