//! Code for samples: momenta are read in place, and the results are those of a sampler. Code that does not depend on
//! the process is in `cuda/sample.cuh`.

use super::Generator;
use super::answer::running_sums;
use super::expression::Id;
use super::values::WholeProcess;
use crate::structures::{DeviceStructure, SampleArguments, SampleTables};
use std::fmt::Write;

const SAMPLE: &str = include_str!("../../../../cuda/sample.cuh");

/// Returns the argument structures and shared code of kernels for samples, to follow the declaration of `Choices`.
pub fn declarations() -> String {
    SampleTables::declaration() + &SampleArguments::declaration() + SAMPLE
}

/// Declarations of the arguments that the code uses by name.
pub(super) const VARIABLES: &str = "    const auto memory = a.memory;
    const auto contributions = a.contributions, jamp2 = a.jamp2, amp2 = a.amp2;
    const unsigned events = a.events, crossed = a.crossed;
";

/// Writes the start of an event in a kernel for samples.
pub(super) const BEGIN: &str = "        if (!is_mine(a, e)) continue;\n";

impl Generator<'_> {
    /// Returns the momentum of a leg; for a sample, [`Generator::read_legs`] has read it.
    pub(super) fn leg(&self, leg: usize) -> String {
        match self.sample {
            Some(_) => format!("leg{leg}"),
            None => format!("load_leg(leg + {})", 2 * leg),
        }
    }

    /// Reads the momenta of an event of a sample once, because they may be far apart in memory.
    pub(super) fn read_legs(&self, text: &mut String) {
        for leg in (0..self.masses.len()).filter(|_| self.sample.is_some()) {
            let _ = writeln!(
                text,
                "        const Momentum leg{leg} = sample_leg(a, e, {leg});"
            );
        }
    }

    /// Returns the strong coupling.
    pub(super) fn coupling(&self) -> &'static str {
        match self.sample {
            Some(_) => "sample_coupling(a, e)",
            None => "Real(g_s[e])",
        }
    }

    /// Returns a statement that records invalid momenta.
    pub(super) fn note_bad(&self) -> &'static str {
        match (self.sample, self.subsets) {
            (None, _) => "        if (!good) atomicMin(bad, e);\n",
            // Another kernel computes the results.
            (Some(_), Some(_)) => "        a.bad[e] = !good;\n",
            (Some(_), None) => "",
        }
    }

    /// Writes code that computes the results of a sample from contributions.
    pub(super) fn answer_sample(&self, whole: &WholeProcess, text: &mut String) {
        let Some(drawn) = self.sample else {
            return;
        };
        let name = |id: Id| whole.graph.name(id);
        let random = "sample_random(a.random_helicity, e)";
        let bound = self.sum_of_helicities(whole, random, text);
        text.push_str("        const Fixed fixed = sample_fixed(a, e);\n        const bool is_bad = !good || fixed.bad;\n        Real value = total;\n        if (a.fixed_helicity) {\n            value = 0;\n");
        for (&id, row) in whole.contributions.iter().zip(self.helicities) {
            let _ = writeln!(
                text,
                "            value = fixed.row == {row} ? {} : value;",
                name(id)
            );
        }
        let _ = writeln!(
            text,
            "        }}\n        put_matrix_element(a, e, is_bad, value);\n        int chosen = NONE;\n        if (a.helicity) {{\n            const Real threshold = {random} * {bound};"
        );
        for (i, row) in self.helicities.iter().enumerate() {
            let _ = writeln!(
                text,
                "            if (chosen < 0 & threshold < s{i}) chosen = {row};"
            );
        }
        text.push_str("            put_helicity(a, e, fixed, chosen);\n        }\n");
        if !self.channels {
            return;
        }
        let squares = drawn.iter().map(|&(_, i)| name(whole.amp2[i as usize]));
        running_sums('q', squares, "squares", text);
        text.push_str("        if (a.shares) {\n            const bool finite = !is_bad && 0 < squares && squares - squares == 0;\n            for (unsigned row = 0; row < a.process->diagrams; row++) put_share(a, e, row, 0);\n            put_other_shares(a, e);\n");
        for &(diagram, i) in drawn {
            let _ = writeln!(
                text,
                "            put_share(a, e, {diagram}, finite ? quotient({}, squares) : 0);",
                name(whole.amp2[i as usize])
            );
        }
        text.push_str("        }\n        chosen = NONE;\n        {\n            const Real threshold = sample_random(a.random_diagram, e) * squares;\n");
        for (i, (diagram, _)) in drawn.iter().enumerate() {
            let _ = writeln!(
                text,
                "            if (chosen < 0 & threshold < q{i}) chosen = {diagram};"
            );
        }
        let first = drawn.first().map_or(0, |drawn| drawn.0);
        let _ = writeln!(
            text,
            "        }}\n        const unsigned diagram = put_diagram(a, e, fixed, chosen, {first});\n        if (a.color) {{\n            const int config = config_of(a, diagram);"
        );
        for word in 0..self.words() {
            let _ = writeln!(
                text,
                "            const unsigned mask{word} = config >= 0 ? generated_allowed[config * {} + {word}] : ~0u;",
                self.words()
            );
        }
        text.push_str("            Real running = 0;\n            int fallback = NONE;\n            chosen = NONE;\n");
        let flow = |i: usize| format!("mask{} >> {} & 1", i / 32, i % 32);
        for (i, &id) in whole.jamp2.iter().enumerate() {
            let (allowed, name) = (flow(i), name(id));
            let _ = writeln!(
                text,
                "            if ({allowed}) running += {name};\n            const Real r{i} = running;\n            if (fallback < 0 & ({allowed})) fallback = {i};"
            );
        }
        text.push_str(
            "            const Real threshold = sample_random(a.random_color, e) * running;\n",
        );
        for i in 0..whole.jamp2.len() {
            let allowed = flow(i);
            let _ = writeln!(
                text,
                "            if (chosen < 0 & ({allowed}) & threshold < r{i}) chosen = {i};"
            );
        }
        text.push_str("            put_color(a, e, chosen < 0 ? fallback : chosen);\n            if (a.leading_color) {\n                Real leading = 0;\n");
        for (i, &id) in whole.jamp2.iter().enumerate() {
            let _ = writeln!(
                text,
                "                leading = fused({}, (Real)a.process->color_diagonal[{i}], leading);",
                name(id)
            );
        }
        text.push_str(
            "                put_leading_color(a, e, leading);\n            }\n        }\n",
        );
    }
}
