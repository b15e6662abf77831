//! Events of the Les Houches Accord as text (E. Boos et al., hep-ph/0109068; J. Alwall et al., hep-ph/0609017):
//! [`Reader`] reads files, and [`push_events`] writes events.
//!
//! Events to write are records: packed little-endian bytes with the fields that `combine_to_lhe_npy` of MadSpace 0.2.1
//! writes, with the names of the accord:
//!
//! | bytes | field |
//! |---|---|
//! | 4 | IDPRUP, the process, an integer |
//! | 8 each | XWGTUP, SCALUP, AQEDUP, AQCDUP, doubles |
//! | 80 for each particle | IDUP, ISTUP, two of MOTHUP, two of ICOLUP, integers of 4 bytes; PUP (px, py, pz, E, m in GeV), VTIMUP, SPINUP, doubles |
//!
//! If an event has fewer particles than the record holds, the record ends in zeros.

mod event;
mod number;
mod reader;
mod record;
mod scaled;
mod text;
mod weights;
mod word;
mod written;

pub use event::{DECAYED, Event, EventLocation, INCOMING, OUTGOING, Particle};
pub use number::{push_integer, push_scientific};
pub use reader::{Head, Init, Reader, find};
pub use record::Record;
pub use text::broken;
pub use word::{real, shown};

use event::{HEAD_BYTES, PARTICLE_BYTES};
use mebridge_support::{Error, Result};

/// Maximum size in bytes of the text of an event without its particles.
pub const EVENT_TEXT: usize = 160;
/// Maximum size in bytes of the text of each particle.
pub const PARTICLE_TEXT: usize = 240;

/// Returns the size in bytes of a record with `particles` particles; `None` on overflow.
pub const fn record_bytes(particles: usize) -> Option<usize> {
    match particles.checked_mul(PARTICLE_BYTES) {
        Some(bytes) => bytes.checked_add(HEAD_BYTES),
        None => None,
    }
}

/// Returns the maximum size in bytes of the text of an event with `particles` particles; `None` on overflow.
pub const fn text_bytes(particles: usize) -> Option<usize> {
    match particles.checked_mul(PARTICLE_TEXT) {
        Some(bytes) => bytes.checked_add(EVENT_TEXT),
        None => None,
    }
}

/// Appends events as `<event>` blocks.
///
/// Weights are multiplied by `weight_factor`. Momenta have 17 digits, which identify a double uniquely.
///
/// # Errors
/// A record contains an infinity or NaN, or has no particles.
pub fn push_events(
    text: &mut Vec<u8>,
    records: &[u8],
    particles: usize,
    weight_factor: f64,
) -> Result<()> {
    let bytes = record_bytes(particles).expect("the records are in memory");
    for (event, record) in records.chunks_exact(bytes).enumerate() {
        push_event(text, record, weight_factor).map_err(|what| Error::BadRecord { event, what })?;
    }
    Ok(())
}

fn push_event(
    text: &mut Vec<u8>,
    record: &[u8],
    weight_factor: f64,
) -> std::result::Result<(), &'static str> {
    let (head, particles) = record.split_at(HEAD_BYTES);
    let (particles, _) = particles.as_chunks::<PARTICLE_BYTES>();
    let count = particles
        .iter()
        .rposition(|particle| integer(particle, 0) != 0)
        .map_or(0, |last| last + 1);
    if count == 0 {
        return Err("there are no particles");
    }
    text.extend_from_slice(b"<event>\n");
    push_integer(text, count as i32, 4);
    text.push(b' ');
    push_integer(text, integer(head, 0), 4);
    push(text, double(head, 4) * weight_factor, 10, true)?;
    for at in [12, 20, 28] {
        push(text, double(head, at), 10, false)?;
    }
    text.push(b'\n');
    for particle in &particles[..count] {
        push_particle(text, &Particle::from_record(particle))?;
    }
    text.extend_from_slice(b"</event>\n");
    Ok(())
}

/// Appends the line of a particle. Its momentum has 17 digits.
///
/// # Errors
/// One of its numbers is infinite or NaN.
pub fn push_particle(
    text: &mut Vec<u8>,
    particle: &Particle,
) -> std::result::Result<(), &'static str> {
    for (i, value) in particle.integers().into_iter().enumerate() {
        if i > 0 {
            text.push(b' ');
        }
        push_integer(text, value, 4);
    }
    for (i, value) in particle.momentum.into_iter().enumerate() {
        // Energies and masses have no sign.
        push(text, value, 16, i < 3)?;
    }
    push(text, particle.lifetime, 4, false)?;
    push(text, particle.spin, 4, true)?;
    text.push(b'\n');
    Ok(())
}

fn push(
    text: &mut Vec<u8>,
    value: f64,
    digits: usize,
    plus: bool,
) -> std::result::Result<(), &'static str> {
    if !value.is_finite() {
        return Err("a number is infinite or NaN");
    }
    text.push(b' ');
    push_scientific(text, value, digits, plus);
    Ok(())
}

fn integer(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn double(bytes: &[u8], at: usize) -> f64 {
    f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
