//! Validation of a colour-ordered form.

use super::{ColorOrdered, MAX_INSERTIONS, OrderedVertex};
use crate::{Process, Wavefunction};
use mebridge_support::error::{Error, Result};

impl ColorOrdered {
    /// Checks every index and length of a form of this process.
    pub(crate) fn validate(&self, process: &Process) -> Result<()> {
        let bad = |what: &str| {
            Err(Error::InvalidProcess {
                what: format!("colour-ordered form: {what}"),
            })
        };
        let ends = [self.ends[0], self.ends[1]];
        let mut legs = vec![0; process.legs.len()];
        let boson = self.boson.as_ref();
        let of_boson = boson.map_or(&[][..], |boson| &boson.wavefunctions);
        for w in self.insertions.iter().chain(&ends).chain(of_boson) {
            match process.wavefunctions.get(*w as usize) {
                Some(Wavefunction::External(e)) if e.kind.components() == 6 => {
                    legs[e.leg as usize] += 1;
                }
                _ => return bad("an end or an insertion is not an external fermion or vector"),
            }
        }
        if !(1..=MAX_INSERTIONS).contains(&self.insertions.len()) || legs.iter().any(|n| *n != 1) {
            return bad("not every leg is an end, an insertion or a boson");
        }
        if boson.is_some() && self.line.is_none() {
            return bad("there is no quark line that absorbs a boson");
        }
        let vectors = boson.map_or(&[][..], |boson| &boson.vectors);
        let made = vectors.iter().filter_map(|vector| vector.made.as_ref());
        let whole = match (of_boson.len(), made.clone().count()) {
            (0, 0) => boson.is_none(),
            (1, 0) => vectors.len() == 1,
            (2, made) => made > 0 && made == vectors.len(),
            _ => false,
        };
        if !whole {
            return bad("its boson is neither a vector nor made of two fermions");
        }
        let jamps = self.jamps();
        let fits = |v: &OrderedVertex, neighbours: usize| {
            let routine = process.routines.get(v.routine as usize);
            let mut seen = v.inputs.clone();
            seen.sort_unstable();
            routine.is_some_and(|r| {
                r.inputs == vec![6; neighbours]
                    && r.outputs.len() == 6
                    && r.couplings as usize == v.couplings.len()
            }) && seen.iter().copied().eq(0..neighbours as u8)
                && v.couplings
                    .iter()
                    .all(|c| (c.coupling as usize) < process.model.couplings.len())
                && v.factor.0.is_finite()
                && v.factor.1.is_finite()
        };
        let cubic = self.line.iter().chain([&self.three_gluon]);
        let cubic = cubic
            .chain(made)
            .chain(vectors.iter().map(|vector| &vector.taken));
        if !(cubic.clone().all(|v| fits(v, 2)) && self.four_gluon.iter().all(|v| fits(v, 3))) {
            return bad("a vertex refers to something that does not exist");
        }
        for vertex in cubic.chain(&self.four_gluon) {
            process.validate_quantity(vertex.mass)?;
            process.validate_quantity(vertex.width)?;
        }
        let finite = self.row.iter().all(|x| x.is_finite());
        let numbers = finite && self.denominator.is_finite() && self.closing.is_finite();
        if self.row.len() != jamps || !numbers || self.denominator <= 0.0 {
            return bad("its colour matrix is invalid");
        }
        let mut terms = self.flows.iter().flatten();
        match terms.all(|t| (t.jamp as usize) < jamps) {
            true => Ok(()),
            false => bad("a colour flow names a JAMP that is not there"),
        }
    }
}
