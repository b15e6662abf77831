//! Fortran in fixed form: splits statements into lines.

use std::fmt::Write;

/// The last column of a statement.
const LAST: usize = 72;
/// Most terms of a sum in one statement, to bound the number of continuation lines.
const TERMS: usize = 24;

/// The text of a file under construction.
#[derive(Default)]
pub struct SourceText(pub String);

impl SourceText {
    /// Adds a line unchanged.
    pub fn raw(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// Adds a comment, wrapped.
    pub fn comment(&mut self, text: &str) {
        let mut line = String::from("C    ");
        for word in text.split_whitespace() {
            if line.len() + 1 + word.len() > LAST && line.len() > 5 {
                self.raw(&line);
                line.truncate(5);
            }
            line.push(' ');
            line.push_str(word);
        }
        self.raw(&line);
    }

    /// Adds a statement, in several lines if needed.
    pub fn line(&mut self, statement: &str) {
        let mut start = "      ";
        let mut rest = statement;
        while start.len() + rest.len() > LAST {
            let at = break_of(rest, LAST - start.len());
            let _ = writeln!(self.0, "{start}{}", &rest[..at]);
            (start, rest) = ("     $ ", &rest[at..]);
        }
        let _ = writeln!(self.0, "{start}{rest}");
    }

    /// Adds `target = sum of terms`; each term begins with its sign.
    pub fn sum(&mut self, target: &str, terms: &[String]) {
        let mut first = true;
        for terms in terms.chunks(TERMS) {
            let mut text = terms.concat();
            match first {
                true => text = text.trim_start_matches('+').to_owned(),
                false => text.insert_str(0, target),
            }
            self.line(&format!("{target}={text}"));
            first = false;
        }
        if first {
            self.line(&format!("{target}=0D0"));
        }
    }

    /// Adds a declaration, or any list of names after `head`, in several statements if needed.
    pub fn list(&mut self, head: &str, names: &[String]) {
        for names in names.chunks(TERMS) {
            self.line(&format!("{head} {}", names.join(", ")));
        }
    }

    /// Adds `DATA (NAME(I), I=first, ...)/values/`, in several statements if needed.
    pub fn data(&mut self, name: &str, values: impl Iterator<Item = String>) {
        let values: Vec<String> = values.collect();
        for (n, chunk) in values.chunks(TERMS).enumerate() {
            let (first, last) = (n * TERMS + 1, n * TERMS + chunk.len());
            let values = chunk.join(",");
            self.line(&format!("DATA ({name}(I),I={first},{last})/{values}/"));
        }
    }
}

/// The place to break a statement, after at most `longest` characters: next to an operator or after a comma, not within
/// a string.
fn break_of(statement: &str, longest: usize) -> usize {
    let bytes = statement.as_bytes();
    let is_place = |&at: &usize| {
        let inside = bytes[..at].iter().filter(|b| **b == b'\'').count() % 2 == 1;
        // Not within `**`, nor within an exponent.
        let operator = matches!(bytes[at - 1], b',' | b'=' | b'/' | b'(')
            || matches!(bytes[at], b'+' | b'-') && !matches!(bytes[at - 1], b'D');
        operator && !inside
    };
    (1..=longest).rev().find(is_place).unwrap_or(longest)
}

/// A number as a double-precision literal, with all its digits.
pub fn number(x: f64) -> String {
    match x.fract() == 0.0 && x.abs() < 1e15 {
        true => format!("{x:.0}D0"),
        false => format!("{x:e}").replace('e', "D"),
    }
}

/// A factor with its sign, to be put before `AMP(1)`, with `*` at its end; only the sign for 1 and -1.
pub fn factor((re, im): (f64, f64)) -> String {
    match (re, im) {
        (1.0, 0.0) => "+".into(),
        (-1.0, 0.0) => "-".into(),
        (re, 0.0) if re < 0.0 => format!("-{}*", number(-re)),
        (re, 0.0) => format!("+{}*", number(re)),
        (re, im) => format!("+({},{})*", number(re), number(im)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_are_broken() {
        let mut source = SourceText::default();
        let terms: Vec<String> = (1..40).map(|n| format!("-2D-1*AMP({n})")).collect();
        source.sum("JAMP(1,1)", &terms);
        source.line(
            "CALL LHA_GET_REAL(NPARA,PARAM,VALUE,'MDL_AVERYLONGNAME/OFAPAR',MDL_AVERYLONGNAME,1D0)",
        );
        assert!(
            source.0.lines().all(|line| line.len() <= LAST),
            "{}",
            source.0
        );
        let joined: String = source
            .0
            .lines()
            .map(|line| match line.strip_prefix("     $ ") {
                Some(rest) => rest.to_owned(),
                None => format!("\n{}", &line[6..]),
            })
            .collect();
        let joined: Vec<&str> = joined.lines().skip(1).collect();
        assert_eq!(joined.len(), 3);
        assert!(joined[0].starts_with("JAMP(1,1)=-2D-1*AMP(1)-2D-1*AMP(2)-"));
        assert!(joined[1].starts_with("JAMP(1,1)=JAMP(1,1)-2D-1*AMP(25)"));
        assert!(!source.0.contains("D\n") && !source.0.contains("OFA\n"));
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(number(-3.0), "-3D0");
        assert_eq!(number(0.1), "1D-1");
        assert_eq!(number(1.0 / 3.0), "3.333333333333333D-1");
        assert_eq!(factor((-1.0, 0.0)), "-");
        assert_eq!(factor((0.5, -0.0)), "+5D-1*");
        assert_eq!(factor((0.0, -1.0)), "+(0D0,-1D0)*");
    }
}
