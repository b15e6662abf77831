//! The tokens of a file: of Fortran in fixed form, or of a card.

use mebridge_oracle::statements;
use std::ops::Range;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    Number,
    Name,
    Keyword,
    Operator,
    Parenthesis,
    Text,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// Its line, from 0.
    pub line: usize,
    /// Its position in the line.
    pub columns: Range<usize>,
    pub text: String,
}

/// Fortran keywords.
const KEYWORDS: &[&str] = &[
    "CALL",
    "SUBROUTINE",
    "FUNCTION",
    "INTEGER",
    "REAL",
    "DOUBLE",
    "PRECISION",
    "COMPLEX",
    "LOGICAL",
    "PARAMETER",
    "DATA",
    "COMMON",
    "INCLUDE",
    "IMPLICIT",
    "NONE",
    "DO",
    "ENDDO",
    "IF",
    "THEN",
    "ELSE",
    "ELSEIF",
    "ENDIF",
    "END",
    "RETURN",
    "SAVE",
    "EXTERNAL",
    "DIMENSION",
    "CONTINUE",
    "GOTO",
    "CYCLE",
    "EXIT",
    "STOP",
    "USE",
    "WHILE",
    "BLOCK",
    "DECAY",
];

/// Returns the tokens of Fortran, or of a card.
pub fn tokens(text: &str, card: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let range = if card {
            0..line.find('#').unwrap_or(line.len())
        } else if statements::is_comment(line) {
            continue;
        } else {
            let from = if statements::continues(line) { 6 } else { 0 };
            from..statements::code_end(line).max(from)
        };
        add(line, number, range, card, &mut tokens);
    }
    tokens
}

fn add(line: &str, number: usize, range: Range<usize>, card: bool, tokens: &mut Vec<Token>) {
    let bytes = line.as_bytes();
    let mut at = range.start;
    while at < range.end {
        let Some(first) = bytes.get(at).copied() else {
            break;
        };
        if first.is_ascii_whitespace() || !first.is_ascii() {
            at += 1;
            continue;
        }
        let rest = &line[at..range.end];
        let (length, kind) = if card { word(rest) } else { fortran(rest) };
        let text = &rest[..length];
        tokens.push(Token {
            kind,
            line: number,
            columns: at..at + length,
            text: text.to_owned(),
        });
        at += length;
    }
}

/// Returns the first word of a card's line.
fn word(rest: &str) -> (usize, TokenKind) {
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let word = &rest[..length];
    let number = word.replace(['d', 'D'], "e").parse::<f64>().is_ok();
    let kind = match number {
        true => TokenKind::Number,
        false if KEYWORDS.contains(&word.to_ascii_uppercase().as_str()) => TokenKind::Keyword,
        false => TokenKind::Name,
    };
    (length, kind)
}

/// Returns the first token of a line of Fortran.
fn fortran(rest: &str) -> (usize, TokenKind) {
    let bytes = rest.as_bytes();
    let run = |from: usize, f: fn(&u8) -> bool| bytes[from..].iter().take_while(|b| f(b)).count();
    let digits = |from: usize| run(from, u8::is_ascii_digit);
    match bytes[0] {
        b'(' | b')' => (1, TokenKind::Parenthesis),
        quote @ (b'\'' | b'"') => {
            let end = bytes[1..].iter().position(|b| *b == quote);
            (end.map_or(rest.len(), |end| end + 2), TokenKind::Text)
        }
        b'A'..=b'Z' | b'a'..=b'z' => {
            let length = run(0, |b| b.is_ascii_alphanumeric() || *b == b'_');
            let keyword = KEYWORDS.contains(&rest[..length].to_ascii_uppercase().as_str());
            let kind = if keyword {
                TokenKind::Keyword
            } else {
                TokenKind::Name
            };
            (length, kind)
        }
        b'0'..=b'9' | b'.' => {
            // A word between points, such as .EQ., or a number.
            if bytes[0] == b'.' && bytes.get(1).is_some_and(u8::is_ascii_alphabetic) {
                let letters = run(1, u8::is_ascii_alphabetic);
                return match bytes.get(letters + 1) {
                    Some(b'.') => (letters + 2, TokenKind::Operator),
                    _ => (1, TokenKind::Operator),
                };
            }
            let mut length = digits(0);
            let point = bytes.get(length) == Some(&b'.')
                && !(bytes.get(length + 1).is_some_and(u8::is_ascii_alphabetic)
                    && bytes.get(length + 2).is_some_and(u8::is_ascii_alphabetic));
            if point {
                length += 1 + digits(length + 1);
            }
            if length == 0 {
                return (1, TokenKind::Operator);
            }
            if matches!(bytes.get(length), Some(b'D' | b'd' | b'E' | b'e')) {
                let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
                let exponent = digits((length + 1 + sign).min(bytes.len()));
                if exponent > 0 {
                    length += 1 + sign + exponent;
                }
            }
            (length, TokenKind::Number)
        }
        b'*' if bytes.get(1) == Some(&b'*') => (2, TokenKind::Operator),
        _ => (1, TokenKind::Operator),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str, card: bool) -> Vec<(String, TokenKind)> {
        let tokens = tokens(line, card);
        tokens.into_iter().map(|t| (t.text, t.kind)).collect()
    }

    #[test]
    fn fortran_is_cut_into_tokens() {
        use TokenKind::{Keyword, Name, Number, Operator, Parenthesis};
        let found = texts("      IF(A(2).EQ.-1.5D+00**2) CALL X_1 ! no", false);
        let expected = [
            ("IF", Keyword),
            ("(", Parenthesis),
            ("A", Name),
            ("(", Parenthesis),
            ("2", Number),
            (")", Parenthesis),
            (".EQ.", Operator),
            ("-", Operator),
            ("1.5D+00", Number),
            ("**", Operator),
            ("2", Number),
            (")", Parenthesis),
            ("CALL", Keyword),
            ("X_1", Name),
        ];
        let expected = expected.map(|(text, kind)| (text.to_owned(), kind));
        assert_eq!(found, expected);
        assert!(texts("C     A = 1", false).is_empty());
        assert_eq!(texts("      1.EQ.2", false)[1].0, ".EQ.");
        assert_eq!(texts("     $ *AMP(1)", false)[0].0, "*");
    }

    #[test]
    fn cards_are_cut_into_words() {
        let found = texts("  6 -1.73e+02 # MT", true);
        assert_eq!(found[1], ("-1.73e+02".to_owned(), TokenKind::Number));
        assert_eq!(texts("Block mass", true)[0].1, TokenKind::Keyword);
    }
}
