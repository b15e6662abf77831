//! The last part of the code: colour sums and results.

use super::expression::{Id, number};
use super::values::WholeProcess;
use super::{COLOR_SUM, Generator};
use crate::helicity_split::HelicitySplit;
use mebridge_process::HelicitySum;
use std::fmt::Write;

impl Generator<'_> {
    /// Writes code that stores the results of a subset for the kernel `answer`.
    pub(super) fn store_results(
        &self,
        whole: &WholeProcess,
        subsets: &HelicitySplit,
        text: &mut String,
    ) {
        text.push_str("        const unsigned padded = (events + LANES - 1) / LANES * LANES;\n");
        let own = subsets.order[0].len();
        for (i, &id) in whole.contributions.iter().enumerate() {
            let _ = writeln!(
                text,
                "        contributions[(Size)subset_order[subset * {own} + {i}] * padded + e] = {};",
                whole.graph.name(id)
            );
        }
        let mut each = |array: &str, ids: &[Id]| {
            let count = ids.len();
            for (i, &id) in ids.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "        {array}[(Size)(subset * {count} + {i}) * padded + e] = {};",
                    whole.graph.name(id)
                );
            }
        };
        if self.colors {
            each("jamp2", &whole.jamp2);
        }
        if self.channels {
            each("amp2", &whole.amp2);
        }
    }

    /// Writes code that computes results from contributions.
    pub(super) fn answer(&self, whole: &WholeProcess, text: &mut String) {
        let name = |id: Id| whole.graph.name(id);
        let random = "random_number(random_helicity[e])";
        let bound = self.sum_of_helicities(whole, random, text);
        let _ = writeln!(
            text,
            "        Real value = total * {};",
            number(self.normalization)
        );
        if self.channels {
            text.push_str(
                "        if (channel) {\n            const unsigned numerator_of = choices->amp2_of_diagram[channel[e]];\n            Real numerator = 0, denominator = 0;\n",
            );
            for (i, &id) in whole.amp2.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "            numerator = numerator_of == {i} ? {} : numerator;",
                    name(id)
                );
            }
            for &i in self.denominator {
                let _ = writeln!(
                    text,
                    "            denominator += {};",
                    name(whole.amp2[i as usize])
                );
            }
            text.push_str(
                "            if (denominator != 0) value *= quotient(numerator, denominator);\n        }\n        if (amp2) {\n",
            );
            for (i, &id) in whole.amp2.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "            amp2[(Size){i} * events + e] = {};",
                    name(id)
                );
            }
            text.push_str("        }\n");
        }
        text.push_str("        matrix_elements[e] = value;\n");
        text.push_str("        if (is_lost(value)) *lost = 0;\n");
        text.push_str("        if (contributions) {\n");
        for (i, &id) in whole.contributions.iter().enumerate() {
            let _ = writeln!(
                text,
                "            contributions[(Size){i} * events + e] = {};",
                name(id)
            );
        }
        let _ = writeln!(
            text,
            "        }}\n        const Real threshold = {random} * {bound};\n        int chosen = NONE;"
        );
        for (i, row) in self.helicities.iter().enumerate() {
            let _ = writeln!(
                text,
                "        if (chosen < 0 & threshold < s{i}) chosen = {row};"
            );
        }
        text.push_str("        helicity[e] = chosen;\n        chosen = NONE;\n");
        if self.colors {
            self.color_choice(whole, text);
        }
        text.push_str("        color[e] = chosen;\n");
    }

    /// Writes the running sums `s0`, `s1`, ... of the contributions of helicities, by which a helicity is chosen, and
    /// `total`, the sum over helicities. Returns the name of the last running sum.
    pub(super) fn sum_of_helicities(
        &self,
        whole: &WholeProcess,
        random: &str,
        text: &mut String,
    ) -> &'static str {
        let names = || whole.contributions.iter().map(|&id| whole.graph.name(id));
        if self.helicity_sum == HelicitySum::Positive {
            running_sums('s', names(), "total", text);
            return "total";
        }
        let sizes = names().map(|name| format!("magnitude({name})"));
        running_sums('s', sizes, "sizes", text);
        if self.helicity_sum == HelicitySum::Signed {
            running_sums('t', names(), "total", text);
            return "sizes";
        }
        let _ = writeln!(
            text,
            "        Real total = sizes;\n        {{\n            const Real threshold = {random} * sizes;\n            bool open = true;"
        );
        for (i, name) in names().enumerate() {
            let _ = writeln!(
                text,
                "            if (open & threshold < s{i}) {{ total = with_sign(sizes, {name}); open = false; }}"
            );
        }
        text.push_str("        }\n");
        "sizes"
    }

    /// Returns the number of JAMP2.
    pub(super) fn color_flows(&self) -> usize {
        self.tables.color_flows(self.flow_weights)
    }

    /// Returns the number of words in the bit mask of colour flows of a configuration.
    pub(super) fn words(&self) -> usize {
        self.color_flows().div_ceil(32)
    }

    fn color_choice(&self, whole: &WholeProcess, text: &mut String) {
        text.push_str(
            "        const int allowed_by = config ? config[e] : NONE;\n        if (allowed_by >= 0) {\n",
        );
        let words = self.words();
        for word in 0..words {
            let _ = writeln!(
                text,
                "            const unsigned mask{word} = generated_allowed[allowed_by * {words} + {word}];"
            );
        }
        text.push_str("            Real running = 0;\n");
        for (i, &id) in whole.jamp2.iter().enumerate() {
            let (word, bit) = (i / 32, i % 32);
            let name = whole.graph.name(id);
            let _ = writeln!(
                text,
                "            if (mask{word} >> {bit} & 1) running += {name};\n            const Real r{i} = running;"
            );
        }
        text.push_str(
            "            const Real threshold = random_number(random_color[e]) * running;\n",
        );
        for i in 0..whole.jamp2.len() {
            let (word, bit) = (i / 32, i % 32);
            let _ = writeln!(
                text,
                "            if (chosen < 0 & (mask{word} >> {bit} & 1) & threshold < r{i}) chosen = {i};"
            );
        }
        text.push_str("        }\n");
    }

    pub(super) fn allowed_table(&self, text: &mut String) {
        if !self.colors {
            return;
        }
        let words = self.words();
        let mut bits = vec![0u32; (self.allowed.len() * words).max(1)];
        for (config, flows) in self.allowed.iter().enumerate() {
            for &flow in flows {
                bits[config * words + flow as usize / 32] |= 1 << (flow % 32);
            }
        }
        let bits: Vec<String> = bits.iter().map(|b| format!("{b}u")).collect();
        let _ = writeln!(
            text,
            "__constant__ unsigned generated_allowed[] = {{{}}};",
            bits.join(", ")
        );
    }

    /// Returns the call of `color_sum` with all JAMP.
    pub(super) fn colors_function(&self) -> String {
        let split = self.split;
        let arguments: Vec<String> = (0..split.flows).map(|i| format!("Cx j{i}")).collect();
        let mut text = String::new();
        let _ = writeln!(
            text,
            "DEVICE Real {COLOR_SUM}({}) {{\n    Color total = 0;",
            arguments.join(", ")
        );
        for part in ["re", "im"] {
            text.push_str("    {\n");
            let mut slots: Vec<String> = (0..split.flows)
                .map(|i| format!("Color(j{i}.{part})"))
                .collect();
            let mut count = 0;
            let mut fresh = |text: &mut String, value: String| {
                count += 1;
                let _ = writeln!(text, "        const Color c{count} = {value};");
                format!("c{count}")
            };
            for orbit in split.passes.iter().flatten() {
                let mut x: Vec<String> =
                    orbit.0.iter().map(|&s| slots[s as usize].clone()).collect();
                let mut bit = 1;
                while bit < x.len() {
                    for i in 0..x.len() {
                        if i & bit == 0 {
                            let (a, b) = (x[i].clone(), x[i | bit].clone());
                            x[i] = fresh(&mut text, format!("{a} + {b}"));
                            x[i | bit] = fresh(&mut text, format!("{a} - {b}"));
                        }
                    }
                    bit *= 2;
                }
                for (&slot, value) in orbit.0.iter().zip(x) {
                    slots[slot as usize] = value;
                }
            }
            for block in &split.blocks {
                let size = block.coordinates.len();
                for r in 0..size {
                    let mut sum = String::new();
                    for c in r..size {
                        let factor = if r == c { 1.0 } else { 2.0 };
                        let entry = factor * block.matrix[(r, c)] / split.denominator;
                        if entry == 0.0 {
                            continue;
                        }
                        let x = &slots[block.coordinates[c] as usize];
                        sum = match sum.is_empty() {
                            true => format!("Color({entry:e}) * {x}"),
                            false => format!("fused(Color({entry:e}), {x}, {sum})"),
                        };
                    }
                    if !sum.is_empty() {
                        let x = &slots[block.coordinates[r] as usize];
                        let _ = writeln!(text, "        total = fused({x}, {sum}, total);");
                    }
                }
            }
            text.push_str("    }\n");
        }
        text.push_str("    return Real(total);\n}\n");
        text
    }
}

/// Writes running sums of the given terms, named by a letter and a number, and returns the name of the last.
pub(super) fn running_sums(
    letter: char,
    values: impl Iterator<Item = String>,
    total: &str,
    text: &mut String,
) {
    let mut last = "Real(0)".to_owned();
    for (i, value) in values.enumerate() {
        let before = match i {
            0 => String::new(),
            _ => format!("{last} + "),
        };
        last = format!("{letter}{i}");
        let _ = writeln!(text, "        const Real {last} = {before}{value};");
    }
    let _ = writeln!(text, "        const Real {total} = {last};");
}
