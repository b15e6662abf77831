//! Parameters that run with alpha_s, in sets that mix. See `mebridge_process::running` for the equation.

use super::Model;
use mebridge_process::model::CardParameter;
use mebridge_process::running::{Mixing, QUARKS, alpha_s, entries};
use mebridge_support::sorted::SortedSet;

/// A set of running parameters.
#[derive(Clone, Debug)]
pub struct Running {
    /// Names of card entries, all in one block.
    pub parameters: Vec<String>,
    /// The block of these entries.
    pub block: String,
    /// The scale of the block in the model's own card, in GeV.
    pub scale: f64,
    /// The mixing matrix.
    pub mixing: Mixing,
    /// The reason if no process may depend on these parameters.
    pub refused: Option<String>,
}

impl Running {
    /// Whether the set contains any of these names.
    fn is_needed(&self, names: &SortedSet<String>) -> bool {
        self.parameters.iter().any(|name| names.contains(name))
    }
}

impl Model {
    /// The sets that contain any of these names; adds all parameters of these sets to the names. `fixed` are the
    /// parameters that masses and widths depend on.
    pub(super) fn running_of(
        &self,
        names: &mut SortedSet<String>,
        fixed: &SortedSet<String>,
    ) -> Result<Vec<&Running>, String> {
        let found: Vec<&Running> = (self.running.iter())
            .filter(|set| set.is_needed(names))
            .collect();
        for set in &found {
            let name = || {
                let used = |name: &&String| names.contains(*name);
                let name = set.parameters.iter().find(used);
                name.map_or("", |name| name.as_str())
            };
            if let Some(why) = &set.refused {
                return Err(format!(
                    "the process needs {}, which runs (running.py of the model), and {why}; take the model without \
                     running.py, where it has the card's value at every scale",
                    name()
                ));
            }
            if let Some(name) = set.parameters.iter().find(|name| fixed.contains(*name)) {
                return Err(format!(
                    "a mass or width depends on {name}, which runs (running.py of the model), and masses cannot; take the \
                     model without running.py, where it has the card's value at every scale"
                ));
            }
        }
        for set in &found {
            names.extend(set.parameters.iter().cloned());
        }
        Ok(found)
    }

    /// Additional card entries of a process with these sets, by block.
    pub(super) fn running_entries(&self, sets: &[&Running]) -> Vec<(String, [CardParameter; 4])> {
        let at_z = self.card.iter();
        let mut at_z = at_z.filter(|entry| Some(&entry.name) == self.alpha_s.as_ref());
        let at_z = at_z.next().map_or(0.0, |entry| entry.value);
        let mut found: Vec<(String, [CardParameter; 4])> = Vec::new();
        for set in sets {
            if !found.iter().any(|(block, _)| *block == set.block) {
                let defaults = [alpha_s(at_z, set.scale), 0.0, QUARKS, set.scale];
                found.push((set.block.clone(), entries(&set.block, defaults)));
            }
        }
        found
    }

    /// Checks that sets are in the card, and do not share parameters.
    pub(super) fn check_running(&self) -> Result<(), String> {
        let mut known = SortedSet::new();
        for set in &self.running {
            for name in &set.parameters {
                let Some(entry) = self.card.iter().find(|entry| entry.name == *name) else {
                    return Err(format!("running: {name} is not in the card"));
                };
                if set.refused.is_none() && entry.block != set.block {
                    return Err(format!(
                        "running: {name} is of block {}, and not of {}",
                        entry.block, set.block
                    ));
                }
                if !known.insert(name) {
                    return Err(format!("running: {name} is in two sets"));
                }
            }
            if set.refused.is_none() && self.alpha_s.is_none() {
                return Err("running: the model has no alpha_s".into());
            }
            let scale = |other: &&Running| other.block == set.block && other.scale != set.scale;
            if let Some(other) = self.running.iter().find(scale)
                && set.refused.is_none()
                && other.refused.is_none()
            {
                return Err(format!(
                    "running: block {} has the scales {} and {}",
                    set.block, set.scale, other.scale
                ));
            }
        }
        Ok(())
    }
}
