//! Values shared by subsets of the helicities, computed before the subsets.
//!
//! A value of a subset depends on the helicities of some *fixed* legs. Values that depend on only a few of these legs
//! are the same in many subsets. A separate kernel computes each of them once per event for every setting of these
//! legs, and stores it in the memory of event blocks, from which the threads of the subsets load it.

use super::Generator;
use super::expression::{Expression, Id};
use super::value_graph::{Schedule, Value, ValueGraph};
use super::values::WholeProcess;
use crate::helicity_split::HelicitySplit;
use rustc_hash::{FxHashMap as HashMap, FxHashSet};
use std::fmt::Write;

/// Values computed before the subsets, and values computed by them.
pub(super) struct Hoisted {
    /// Values of the first kernel; only `order` is used.
    pub(super) before: WholeProcess,
    /// Address at which it stores each value.
    pub(super) puts: HashMap<Id, Vec<usize>>,
    /// Values of a subset; those of the first kernel are loaded.
    pub(super) subset: WholeProcess,
    /// Numbers of memory per event.
    pub(super) vectors: usize,
    /// Sets of legs, as bits, whose settings a subset needs.
    sets: Vec<Set>,
}

/// Settings of some fixed legs.
struct Set {
    legs: u32,
    /// Distinct helicities of these legs (and of all others, which are not used).
    settings: Vec<Vec<i8>>,
    /// Setting of each subset, as an index into these.
    of_share: Vec<usize>,
}

impl Set {
    fn new(legs: u32, subsets: &HelicitySplit) -> Set {
        let mut set = Set {
            legs,
            settings: Vec::new(),
            of_share: Vec::new(),
        };
        for helicities in &subsets.helicities {
            let there = set.find(helicities);
            set.of_share.push(there.unwrap_or(set.settings.len()));
            if there.is_none() {
                set.settings.push(helicities.clone());
            }
        }
        set
    }

    /// Returns the setting that corresponds to these helicities of all legs.
    fn find(&self, helicities: &[i8]) -> Option<usize> {
        let legs = |h: &[i8]| -> Vec<i8> {
            let mine = h.iter().enumerate();
            mine.filter(|(leg, _)| self.legs >> leg & 1 == 1)
                .map(|(_, h)| *h)
                .collect()
        };
        let wanted = legs(helicities);
        self.settings.iter().position(|s| legs(s) == wanted)
    }
}

/// Returns the variable name of a subset's setting of these legs.
fn setting_name(legs: u32) -> String {
    format!("setting_{legs:x}")
}

/// Returns the fixed legs on which each value depends, as bits, or `None` if a value precedes its operands.
fn legs_of_values(graph: &ValueGraph) -> Option<Vec<u32>> {
    let mut legs: Vec<u32> = Vec::with_capacity(graph.values.len());
    for value in &graph.values {
        let mut mine = value.expression.legs();
        for &of in &value.of {
            mine |= legs.get(of)?;
        }
        legs.push(mine);
    }
    Some(legs)
}

/// Returns the expression of a value with its operands replaced; literals are kept.
fn with_values(
    graph: &ValueGraph,
    id: Id,
    value: impl Fn(Id) -> Option<Id>,
    helicity: impl Fn(usize) -> Expression,
) -> Option<Expression> {
    let replacement = |of: Id| match graph.values[of].literal {
        true => Some(graph.values[of].expression.clone()),
        false => value(of).map(Expression::Value),
    };
    let expression = &graph.values[id].expression;
    expression.replaced(&replacement, &helicity)
}

/// Values computed before the subsets, for every setting of the legs on which they depend.
struct Variants<'a> {
    graph: ValueGraph,
    /// For each such value of a subset, its variants at the settings of its legs.
    of: HashMap<Id, Vec<Id>>,
    legs: &'a [u32],
    sets: &'a HashMap<u32, Set>,
}

impl Variants<'_> {
    fn add(&mut self, graph: &ValueGraph, id: Id) -> Option<()> {
        let mut variants = Vec::new();
        for setting in &self.sets.get(&self.legs[id])?.settings {
            let at = |of: Id| -> Option<Id> {
                let place = self.sets.get(&self.legs[of])?.find(setting)?;
                self.of.get(&of)?.get(place).copied()
            };
            let helicity = |leg: usize| Expression::Integer(setting[leg].into());
            let expression = with_values(graph, id, at, helicity)?;
            variants.push(self.graph.push(graph.values[id].class, expression));
        }
        self.of.insert(id, variants);
        Some(())
    }
}

impl Generator<'_> {
    /// Divides the values of a subset: those that depend on at most the given number of fixed legs are computed before.
    pub(super) fn hoist(
        &self,
        whole: &WholeProcess,
        subsets: &HelicitySplit,
        most: u32,
    ) -> Option<Hoisted> {
        let graph = &whole.graph;
        let legs = legs_of_values(graph)?;
        let is_before = |id: Id| !graph.values[id].literal && legs[id].count_ones() <= most;
        let mut sets: HashMap<u32, Set> = HashMap::default();
        for &id in whole.order.iter().filter(|&&id| is_before(id)) {
            let set = || Set::new(legs[id], subsets);
            sets.entry(legs[id]).or_insert_with(set);
        }
        let mut variants = Variants {
            graph: ValueGraph::default(),
            of: HashMap::default(),
            legs: &legs,
            sets: &sets,
        };
        let mut border = Border::default();
        let mut subset = ValueGraph::default();
        let mut mine: HashMap<Id, Id> = HashMap::default();
        let mut schedule = Schedule::default();
        let results = whole.results();
        for &id in &whole.order {
            let value = &graph.values[id];
            if is_before(id) {
                variants.add(graph, id)?;
                continue;
            }
            for &of in value.of.iter().filter(|&&of| is_before(of)) {
                let variants = variants.of.get(&of)?;
                mine.entry(of).or_insert_with(|| {
                    border.load(&graph.values[of], legs[of], variants, &mut subset)
                });
            }
            let known = |of: Id| mine.get(&of).copied();
            let expression = with_values(graph, id, known, Expression::Helicity)?;
            let new = subset.push(value.class, expression);
            mine.insert(id, new);
            schedule.need(&subset, new);
        }
        for &id in results.iter().filter(|&&id| is_before(id)) {
            let variants = variants.of.get(&id)?;
            let new = mine
                .entry(id)
                .or_insert_with(|| border.load(&graph.values[id], legs[id], variants, &mut subset));
            schedule.need(&subset, *new);
        }
        // A result that is a literal remains one.
        let mut result = |&id: &Id| match graph.values[id].literal {
            true => subset.literal(graph.values[id].class, graph.values[id].expression.clone()),
            false => mine[&id],
        };
        let share_of = [&whole.contributions, &whole.jamp2, &whole.amp2];
        let [contributions, jamp2, amp2] =
            share_of.map(|ids| ids.iter().map(&mut result).collect());
        let subset = WholeProcess {
            graph: subset,
            contributions,
            jamp2,
            amp2,
            order: schedule.order,
        };
        let mut first = Schedule::default();
        let mut kept: Vec<(Id, usize)> = border.puts.iter().map(|(&id, at)| (id, at[0])).collect();
        kept.sort_by_key(|&(_, at)| at);
        for (id, _) in kept {
            first.need(&variants.graph, id);
        }
        let before = WholeProcess {
            graph: variants.graph,
            contributions: Vec::new(),
            jamp2: Vec::new(),
            amp2: Vec::new(),
            order: first.order,
        };
        let known = border.sets;
        let mut sets: Vec<Set> = sets
            .into_values()
            .filter(|s| known.contains(&s.legs))
            .collect();
        sets.sort_by_key(|set| set.legs);
        Some(Hoisted {
            before,
            puts: border.puts,
            subset,
            vectors: border.vectors,
            sets,
        })
    }
}

/// Values passed from the first kernel to the second.
#[derive(Default)]
struct Border {
    puts: HashMap<Id, Vec<usize>>,
    vectors: usize,
    /// Sets of legs on which the loaded values depend.
    sets: FxHashSet<u32>,
}

impl Border {
    /// Allocates memory for the variants of a value, and returns the loaded value.
    fn load(&mut self, value: &Value, legs: u32, variants: &[Id], subset: &mut ValueGraph) -> Id {
        let numbers = value.class.numbers();
        let first = self.vectors;
        for &variant in variants {
            self.puts.entry(variant).or_default().push(self.vectors);
            self.vectors += numbers;
        }
        let at = match variants.len() {
            1 => first.to_string(),
            _ => {
                self.sets.insert(legs);
                format!("{first} + {} * {numbers}", setting_name(legs))
            }
        };
        subset.stored(value.class, at)
    }
}

impl Hoisted {
    /// Writes the tables with the settings of each subset.
    pub(super) fn tables(&self, text: &mut String) {
        for set in &self.sets {
            let list: Vec<String> = set.of_share.iter().map(usize::to_string).collect();
            let _ = writeln!(
                text,
                "__constant__ unsigned {}_of_subset[] = {{{}}};",
                setting_name(set.legs),
                list.join(", ")
            );
        }
    }

    /// Writes variables with the settings of the current subset.
    pub(super) fn settings(&self, text: &mut String) {
        for set in &self.sets {
            let name = setting_name(set.legs);
            let _ = writeln!(
                text,
                "        const unsigned {name} = {name}_of_subset[subset];"
            );
        }
    }
}
