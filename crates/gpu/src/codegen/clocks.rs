//! Clocks in the code, where a profile asks for them: how long all of it takes, and colour sums. The
//! device functions are those of `cuda/clocks.cuh`.

use super::Generator;
use std::fmt::Write;

impl Generator<'_> {
    /// Where a thread begins with an event.
    pub(super) fn clocks_begin(&self, text: &mut String) {
        if self.clocks {
            text.push_str(
                "        unsigned long long color_cycles = 0;\n        const unsigned long long clock_at_begin = cycles_now();\n",
            );
        }
    }

    /// Where it is done with it; `thread` is its number.
    pub(super) fn clocks_end(&self, thread: &str, text: &mut String) {
        if self.clocks {
            let _ = writeln!(
                text,
                "        const unsigned long long clock_at_end = cycles_now();\n        if ({thread} % LANES == 0) add_cycles(cycles, clock_at_end - clock_at_begin, color_cycles);"
            );
        }
    }

    /// A statement that gives a variable the colour sum of these, with clocks around it.
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
