//! Names of processes with their decays, as the library writes them: `g g > t t~ WEIGHTED<=2, (t > w+ b, w+ > e+ ve)`.
//!
//! Decays follow in the order of the decaying particles, one for each.

use mebridge::model::{Model, ParticleId};
use std::fmt::{self, Display, Formatter};

/// A process, or a decay, with the decays of its outgoing particles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The process without decays.
    core: String,
    decays: Vec<Name>,
    /// The process number and the options after it: `@1 QED<=4`.
    number: String,
}

impl Name {
    /// Reads a name; `None` if a bracket is not closed.
    pub fn parse(text: &str) -> Option<Name> {
        let (text, number) = match text.rsplit_once('@') {
            Some((text, number)) if !number.contains([',', ')']) => (text, format!(" @{number}")),
            _ => (text, String::new()),
        };
        let mut rest = text.trim();
        let name = Name::read(&mut rest)?;
        rest.is_empty().then_some(Name { number, ..name })
    }

    /// Reads up to the bracket that closes this level, or to the end.
    fn read(rest: &mut &str) -> Option<Name> {
        let mut name = Name::read_core(rest);
        while let Some(after) = rest.strip_prefix(',') {
            let after = after.trim_start();
            let decay = match after.strip_prefix('(') {
                Some(inner) => {
                    *rest = inner;
                    let decay = Name::read(rest)?;
                    *rest = rest.strip_prefix(')')?.trim_start();
                    decay
                }
                None => {
                    *rest = after;
                    Name::read_core(rest)
                }
            };
            name.decays.push(decay);
        }
        Some(name)
    }

    fn read_core(rest: &mut &str) -> Name {
        let end = rest.find([',', '(', ')']).unwrap_or(rest.len());
        let (core, after) = rest.split_at(end);
        *rest = after;
        Name {
            core: core.trim().to_owned(),
            decays: Vec::new(),
            number: String::new(),
        }
    }

    /// The outgoing particles before they decay.
    fn outgoing(&self, model: &Model) -> Vec<ParticleId> {
        let words: Vec<&str> = self.core.split_whitespace().collect();
        let arrow = words.iter().rposition(|word| *word == ">");
        let after = &words[arrow.map_or(0, |arrow| arrow + 1)..];
        let particle = |word: &&str| model.particle(word.split('{').next().unwrap_or_default());
        after.iter().map_while(particle).collect()
    }

    /// The decaying particle, if this is a decay.
    fn mother(&self, model: &Model) -> Option<ParticleId> {
        model.particle(self.core.split_whitespace().next()?)
    }

    /// The outgoing particles, each with the index of its decay in `decays`, if it has one.
    fn legs(&self, model: &Model) -> Vec<(ParticleId, Option<usize>)> {
        let mut next = 0;
        let with = |particle| {
            let decay = self.decays.get(next).and_then(|decay| decay.mother(model));
            let own = (decay == Some(particle)).then_some(next);
            next += usize::from(own.is_some());
            (particle, own)
        };
        self.outgoing(model).into_iter().map(with).collect()
    }

    /// The number of outgoing legs after all decays.
    pub fn leaves(&self, model: &Model) -> usize {
        let of = |(_, decay): (ParticleId, Option<usize>)| {
            decay.map_or(1, |decay| self.decays[decay].leaves(model))
        };
        self.legs(model).into_iter().map(of).sum()
    }

    /// The process and each decay without their own decays, depth first.
    pub fn steps(&self) -> Vec<&str> {
        let below = self.decays.iter().flat_map(Name::steps);
        std::iter::once(self.core.as_str()).chain(below).collect()
    }

    /// The name with `decays` added: each has the index of its leg among all outgoing legs, ascending.
    pub fn with_decays(&self, decays: &[(usize, &Name)], model: &Model) -> Name {
        let mut found = Name {
            decays: Vec::new(),
            ..self.clone()
        };
        let mut first = 0;
        for (_, decay) in self.legs(model) {
            let count = decay.map_or(1, |decay| self.decays[decay].leaves(model));
            let within = decays
                .iter()
                .filter(|(leg, _)| (first..first + count).contains(leg));
            let within: Vec<(usize, &Name)> = within.map(|&(leg, of)| (leg - first, of)).collect();
            match (decay, within.first()) {
                (Some(decay), _) => found
                    .decays
                    .push(self.decays[decay].with_decays(&within, model)),
                (None, Some((_, own))) => found.decays.push((*own).clone()),
                (None, None) => {}
            }
            first += count;
        }
        found
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(&self.core)?;
        for decay in &self.decays {
            match decay.decays.is_empty() {
                true => write!(f, ", {decay}")?,
                false => write!(f, ", ({decay})")?,
            }
        }
        f.write_str(&self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decays_go_to_their_legs() {
        let model = Model::standard().expect("it is built in");
        let parse = |text: &str| Name::parse(text).expect("a name");
        let text =
            "g g > t t~ WEIGHTED<=2, (t > w+ b WEIGHTED<=2, w+ > e+ ve), t~ > w- b~ @2 QED<=4";
        let name = parse(text);
        assert_eq!(name.to_string(), text);
        assert_eq!(name.leaves(&model), 5);
        assert_eq!(
            name.steps(),
            [
                "g g > t t~ WEIGHTED<=2",
                "t > w+ b WEIGHTED<=2",
                "w+ > e+ ve",
                "t~ > w- b~"
            ]
        );
        let w = parse("w- > mu- vm~");
        let expected = "g g > t t~ WEIGHTED<=2, (t > w+ b WEIGHTED<=2, w+ > e+ ve), \
                        (t~ > w- b~, w- > mu- vm~) @2 QED<=4";
        assert_eq!(name.with_decays(&[(3, &w)], &model).to_string(), expected);
        let (one, two) = (parse("z > e+ e-"), parse("z > mu+ mu-"));
        let both = parse("u u~ > z z @1").with_decays(&[(0, &one), (1, &two)], &model);
        assert_eq!(both.to_string(), "u u~ > z z, z > e+ e-, z > mu+ mu- @1");
        let top = parse("t > w+ b, w+ > e+ ve");
        let both = parse("g g > t t~").with_decays(&[(0, &top)], &model);
        assert_eq!(both.to_string(), "g g > t t~, (t > w+ b, w+ > e+ ve)");
        assert_eq!(Name::parse("g g > t t~, (t > w+ b"), None);
    }
}
