//! Reading of records.

use crate::event::{HEAD_BYTES, PARTICLE_BYTES};
use crate::{Particle, double, integer};

/// A record of an event.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    head: &'a [u8; HEAD_BYTES],
    particles: &'a [[u8; PARTICLE_BYTES]],
}

impl<'a> Record<'a> {
    /// Interprets bytes as a record.
    ///
    /// # Panics
    /// If there are fewer bytes than a record has before its particles.
    pub fn new(bytes: &'a [u8]) -> Self {
        let (head, particles) = bytes.split_first_chunk().expect("a record");
        Record {
            head,
            particles: particles.as_chunks().0,
        }
    }

    /// IDPRUP.
    pub fn process(&self) -> i32 {
        integer(self.head, 0)
    }

    /// Sets IDPRUP of a record.
    ///
    /// # Panics
    /// If the record is too short.
    pub fn set_process(bytes: &mut [u8], number: i32) {
        bytes[..4].copy_from_slice(&number.to_le_bytes());
    }

    /// Sets XWGTUP of a record.
    ///
    /// # Panics
    /// If the record is too short.
    pub fn set_weight(bytes: &mut [u8], weight: f64) {
        bytes[4..12].copy_from_slice(&weight.to_le_bytes());
    }

    /// XWGTUP.
    pub fn weight(&self) -> f64 {
        double(self.head, 4)
    }

    /// AQCDUP.
    pub fn alpha_qcd(&self) -> f64 {
        double(self.head, 28)
    }

    /// Returns a particle by its number, from 0.
    ///
    /// # Panics
    /// If the record has fewer particles.
    pub fn particle(&self, number: usize) -> Particle {
        Particle::from_record(&self.particles[number])
    }

    /// Iterates over all particle slots of the record; unused ones at the end have the code 0.
    pub fn particles(&self) -> impl Iterator<Item = Particle> + use<'a> {
        self.particles.iter().map(Particle::from_record)
    }
}

impl Particle {
    pub(crate) fn from_record(bytes: &[u8; PARTICLE_BYTES]) -> Particle {
        let whole = |i: usize| integer(bytes, 4 * i);
        let real = |i: usize| double(bytes, 24 + 8 * i);
        Particle {
            pdg: whole(0),
            status: whole(1),
            mothers: [whole(2), whole(3)],
            colors: [whole(4), whole(5)],
            momentum: [0, 1, 2, 3, 4].map(real),
            lifetime: real(5),
            spin: real(6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

    #[test]
    fn a_record_is_read_as_it_is_written() {
        let particle = Particle {
            pdg: -2,
            status: -1,
            mothers: [3, 4],
            colors: [501, 502],
            momentum: [1.0, 2.0, 3.0, 4.0, 5.0],
            lifetime: 6.0,
            spin: -7.0,
        };
        let event = Event {
            process: 3,
            weight: 7.0,
            alpha_qcd: 0.118,
            particles: vec![Particle::default(), particle],
            ..Event::default()
        };
        let mut bytes = Vec::new();
        event.push_head(&mut bytes);
        event.push_particles(&mut bytes);
        Record::set_process(&mut bytes, 8);
        Record::set_weight(&mut bytes, 9.0);
        let record = Record::new(&bytes);
        assert_eq!(
            (record.process(), record.weight(), record.alpha_qcd()),
            (8, 9.0, 0.118)
        );
        assert_eq!(record.particle(1), particle);
        assert_eq!(record.particles().collect::<Vec<_>>(), event.particles);
    }
}
