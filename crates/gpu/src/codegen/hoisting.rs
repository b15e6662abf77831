//! Values that subsets of the helicities have in common, computed before the subsets.
//!
//! A value of a subset depends on the helicities of some *fixed* legs. Values that depend on few of these legs are the
//! same in many subsets. A kernel of its own computes each of them once an event for every setting of these legs, and
//! leaves it in the memory of blocks, where the threads of the subsets find it.

use super::Generator;
use super::expression::{Expression, Id};
use super::value_graph::{Schedule, Value, ValueGraph};
use super::values::Whole;
use crate::helicity_split::HelicitySplit;
use rustc_hash::{FxHashMap as HashMap, FxHashSet};
use std::fmt::Write;

/// The values that are computed before the subsets, and those that are left to them.
pub(super) struct Hoisted {
    /// What the first kernel computes: `order` alone has a meaning.
    pub(super) before: Whole,
    /// The place where it leaves each value.
    pub(super) puts: HashMap<Id, Vec<usize>>,
    /// What a subset computes; values that the first kernel left are loaded.
    pub(super) subset: Whole,
    /// Numbers of memory for each event.
    pub(super) vectors: usize,
    /// The sets of legs whose settings a subset has to know, by bits.
    sets: Vec<Set>,
}

/// Some fixed legs, and their helicities.
struct Set {
    legs: u32,
    /// Different helicities of these legs (and of all others, which do not matter).
    settings: Vec<Vec<i8>>,
    /// Which of them a subset has.
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

    /// Which setting these helicities of all legs are.
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

/// The name by which a subset knows its setting of these legs.
fn setting_name(legs: u32) -> String {
    format!("setting_{legs:x}")
}

/// The fixed legs on which each value depends, as bits. `None` if a value comes before what it is made of.
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

/// The expression of a value with others in the place of the values in it; literals stay.
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

/// The values that come before the subsets, for every setting of the legs they depend on.
struct Variants<'a> {
    graph: ValueGraph,
    /// The values at the settings of its legs, for each value of a subset that is computed before it.
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
    /// Cuts the values of a subset: those that depend on at most so many fixed legs come before.
    pub(super) fn hoist(
        &self,
        whole: &Whole,
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
        // A result that is a literal stays one.
        let mut result = |&id: &Id| match graph.values[id].literal {
            true => subset.literal(graph.values[id].class, graph.values[id].expression.clone()),
            false => mine[&id],
        };
        let share_of = [&whole.contributions, &whole.jamp2, &whole.amp2];
        let [contributions, jamp2, amp2] =
            share_of.map(|ids| ids.iter().map(&mut result).collect());
        let subset = Whole {
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
        let before = Whole {
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

/// The values that go from one kernel to the other.
#[derive(Default)]
struct Border {
    puts: HashMap<Id, Vec<usize>>,
    vectors: usize,
    /// The sets of legs of the values that are loaded.
    sets: FxHashSet<u32>,
}

impl Border {
    /// Takes places for a value's variants, and gives the value that is loaded.
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
    /// Which setting of its legs each subset has.
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

    /// The settings of the subset at hand.
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
