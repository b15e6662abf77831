//! Clocks in generated code, inserted for a profile: they measure the total time and that of colour sums. The device
//! functions are in `cuda/clocks.cuh`.

use super::Generator;
use std::fmt::Write;

impl Generator<'_> {
    /// Writes the clock at the start of an event.
    pub(super) fn clocks_begin(&self, text: &mut String) {
        if self.clocks {
            text.push_str(
                "        unsigned long long color_cycles = 0;\n        const unsigned long long clock_at_begin = cycles_now();\n",
            );
        }
    }

    /// Writes the clock at the end of an event; `thread` is the number of the thread.
    pub(super) fn clocks_end(&self, thread: &str, text: &mut String) {
        if self.clocks {
            let _ = writeln!(
                text,
                "        const unsigned long long clock_at_end = cycles_now();\n        if ({thread} % LANES == 0) add_cycles(cycles, clock_at_end - clock_at_begin, color_cycles);"
            );
        }
    }

    /// Writes a statement that computes the colour sum of these values, with clocks around it.
    pub(super) fn clocked_colors(
        &self,
        jamp: &[String],
        statement: &str,
        sum: &str,
        text: &mut String,
    ) {
        if !self.clocks {
            text.push_str(statement);
            return;
        }
        for x in jamp {
            let _ = writeln!(text, "        hold({x});");
        }
        text.push_str("        color_cycles -= cycles_now();\n");
        text.push_str(statement);
        let _ = writeln!(
            text,
            "        hold({sum});\n        color_cycles += cycles_now();"
        );
    }
}
