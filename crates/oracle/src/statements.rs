//! Fixed-form Fortran: lines into statements.

use std::ops::Range;

/// Line length with which MG5aMC's makefiles call gfortran (`-ffixed-line-length-132`).
const LAST_COLUMN: usize = 132;

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its lines, from 0, including comments between them.
    pub lines: Range<usize>,
    /// In upper case and without blanks.
    pub text: String,
}

/// Whether a line is only a comment.
pub fn is_comment(line: &str) -> bool {
    match line.chars().next() {
        None => true,
        Some('C' | 'c' | '*' | '!') => true,
        // In column 6 it marks a continuation.
        Some(_) => match line.find(|c: char| !c.is_whitespace()) {
            None => true,
            Some(at) => at != 5 && line[at..].starts_with('!'),
        },
    }
}

/// Returns where the comment after a statement begins, or the end of the line.
pub fn code_end(line: &str) -> usize {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            // In column 6 it marks a continuation.
            None if c == '!' && at != 5 => return at,
            None => {}
        }
    }
    line.len().min(line.floor_char_boundary(LAST_COLUMN))
}

/// Whether a line continues the previous statement.
pub fn continues(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.len() > 5 && bytes[..5].iter().all(|b| *b == b' ') && !matches!(bytes[5], b' ' | b'0')
}

/// Returns the statements of a file.
pub fn read(text: &str) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if is_comment(line) {
            continue;
        }
        let goes_on = continues(line) && !statements.is_empty();
        let from = if goes_on { 6 } else { 0 };
        let code = line.get(from..code_end(line)).unwrap_or("");
        let code: String = code
            .chars()
            .filter(|c| !c.is_whitespace())
            .flat_map(char::to_uppercase)
            .collect();
        match statements.last_mut() {
            Some(last) if goes_on => {
                last.text.push_str(&code);
                last.lines.end = number + 1;
            }
            _ => statements.push(Statement {
                lines: number..number + 1,
                text: code,
            }),
        }
    }
    statements
}

/// Returns the file that an INCLUDE statement names, as written.
pub fn included(line: &str) -> Option<&str> {
    let code = line.get(..code_end(line))?.trim();
    let head = code.get(..7)?;
    if !head.eq_ignore_ascii_case("include") || is_comment(line) {
        return None;
    }
    let name = code[7..].trim();
    let quote = name.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    name[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_go_over_lines_and_comments() {
        let text =
            "C     a comment\n      call a(b,\nC     between\n     $ 'x!y')  ! behind\n 10   end\n";
        let found = read(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].text, "CALLA(B,'X!Y')");
        assert_eq!(found[0].lines, 1..4);
        assert_eq!(found[1].text, "10END");
    }

    #[test]
    fn includes_are_found() {
        let file = "      INCLUDE '../../Source/vector.inc'  ! defines it";
        assert_eq!(included(file), Some("../../Source/vector.inc"));
        assert_eq!(included("C     INCLUDE 'x.inc'"), None);
        assert_eq!(included("      INCLUDES = 1"), None);
    }
}
