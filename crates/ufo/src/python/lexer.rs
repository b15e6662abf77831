//! Tokens of a Python file, in logical lines.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A name or keyword.
    Name(String),
    /// A number, and whether it is an integer.
    Number(f64, bool),
    /// A string, without its quotes.
    Text(String),
    /// An operator or bracket.
    Sign(&'static str),
}

/// A logical line of Python: brackets and backslashes join lines of the file.
#[derive(Clone, Debug)]
pub struct LogicalLine {
    /// Its indentation in columns.
    pub indent: usize,
    /// Its tokens, each with its line in the file (from 1).
    pub tokens: Vec<(Token, usize)>,
}

/// Operators and brackets, longer ones before their prefixes.
const SIGNS: [&str; 37] = [
    "**=", "//=", "**", "//", "==", "!=", "<=", ">=", "->", ":=", "+=", "-=", "*=", "/=", "<<",
    ">>", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+", "-", "*", "/", "%", "<", ">",
    "@", "&", "|",
];

/// Splits a text into logical lines; errors contain the line number.
pub fn lines(text: &str) -> Result<Vec<LogicalLine>, (usize, String)> {
    let mut lexer = Lexer {
        text,
        at: 0,
        number: 1,
    };
    let mut lines = Vec::new();
    let mut current: Option<LogicalLine> = None;
    let mut brackets: Vec<&'static str> = Vec::new();
    loop {
        let starts = current.is_none();
        let indent = lexer.blanks(starts);
        let Some(c) = lexer.peek() else { break };
        if c == '\n' {
            lexer.step(c);
            if brackets.is_empty() {
                lines.extend(current.take());
            }
            continue;
        }
        let number = lexer.number;
        let token = lexer.token(c).map_err(|what| (lexer.number, what))?;
        if let Token::Sign(sign) = token {
            match sign {
                "(" | "[" | "{" => brackets.push(sign),
                ")" | "]" | "}" => {
                    let open = match sign {
                        ")" => "(",
                        "]" => "[",
                        _ => "{",
                    };
                    if brackets.pop() != Some(open) {
                        return Err((number, format!("`{sign}` closes no bracket")));
                    }
                }
                ";" if brackets.is_empty() => {
                    let indent = current.as_ref().map_or(indent, |line| line.indent);
                    lines.extend(current.take());
                    let tokens = Vec::new();
                    current = Some(LogicalLine { indent, tokens });
                    continue;
                }
                _ => {}
            }
        }
        let line = current.get_or_insert(LogicalLine {
            indent,
            tokens: Vec::new(),
        });
        line.tokens.push((token, number));
    }
    if let Some(open) = brackets.pop() {
        return Err((lexer.number, format!("`{open}` is not closed")));
    }
    lines.extend(current);
    lines.retain(|line| !line.tokens.is_empty());
    Ok(lines)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    number: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self, c: char) {
        self.at += c.len_utf8();
        self.number += usize::from(c == '\n');
    }

    /// Skips blanks, comments and line continuations; at the start of a line, returns the indentation.
    fn blanks(&mut self, starts: bool) -> usize {
        let mut columns = 0;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\r' | '\u{feff}' | '\u{c}' => columns += usize::from(c == ' '),
                '\t' => columns = (columns / 8 + 1) * 8,
                '#' => {
                    let end = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += end;
                    continue;
                }
                '\\' if self.rest()[1..]
                    .trim_start_matches(['\r', ' '])
                    .starts_with('\n') =>
                {
                    while let Some(c) = self.peek() {
                        self.step(c);
                        if c == '\n' {
                            break;
                        }
                    }
                    continue;
                }
                _ => break,
            }
            self.step(c);
        }
        if starts { columns } else { 0 }
    }

    fn token(&mut self, c: char) -> Result<Token, String> {
        if c == '_' || c.is_alphabetic() {
            let word = |c: char| c == '_' || c.is_alphanumeric();
            let end = self.rest().find(|c| !word(c)).unwrap_or(self.rest().len());
            let name = &self.rest()[..end];
            self.at += end;
            let quoted = matches!(self.peek(), Some('\'' | '"'));
            return match name.to_ascii_lowercase().as_str() {
                "r" if quoted => self.string(true),
                "u" | "b" if quoted => self.string(false),
                "f" | "br" | "rb" | "fr" | "rf" if quoted => {
                    Err(format!("strings with `{name}` in front are not read"))
                }
                _ => Ok(Token::Name(name.to_owned())),
            };
        }
        if c == '\'' || c == '"' {
            return self.string(false);
        }
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if digit(Some(c)) || (c == '.' && digit(self.rest()[1..].chars().next())) {
            return self.numeral();
        }
        let sign = SIGNS.iter().find(|sign| self.rest().starts_with(**sign));
        let sign = sign.ok_or_else(|| format!("`{c}` was not expected"))?;
        self.at += sign.len();
        Ok(Token::Sign(sign))
    }

    fn numeral(&mut self) -> Result<Token, String> {
        let rest = self.rest().as_bytes();
        let mut end = 0;
        while end < rest.len() {
            let exponent = end > 0 && matches!(rest[end - 1], b'e' | b'E');
            match rest[end] {
                b'0'..=b'9' | b'.' | b'e' | b'E' => end += 1,
                b'+' | b'-' if exponent => end += 1,
                _ => break,
            }
        }
        let text = &self.rest()[..end];
        let follows = self.rest()[end..].chars().next();
        if follows.is_some_and(|c| c == '_' || c.is_alphabetic()) {
            return Err(format!("`{text}` followed by letters is not read"));
        }
        self.at += end;
        let whole = text.bytes().all(|b| b.is_ascii_digit());
        if whole && text.starts_with('0') && text.bytes().any(|b| b != b'0') {
            // Octal in Python 2, an error in Python 3.
            return Err(format!("`{text}` begins with 0"));
        }
        let number = text
            .parse()
            .map_err(|_| format!("`{text}` is not a number"))?;
        Ok(Token::Number(number, whole))
    }

    fn string(&mut self, raw: bool) -> Result<Token, String> {
        let quote = self.peek().unwrap_or('"');
        let triple = [quote; 3].iter().collect::<String>();
        let long = self.rest().starts_with(&triple);
        self.at += if long { 3 } else { 1 };
        let mut text = String::new();
        loop {
            if long && self.rest().starts_with(&triple) {
                self.at += 3;
                return Ok(Token::Text(text));
            }
            let Some(c) = self.peek() else {
                return Err("a string does not end".into());
            };
            self.step(c);
            match c {
                _ if c == quote && !long => return Ok(Token::Text(text)),
                '\n' if !long => return Err("a string does not end in its line".into()),
                '\\' => {
                    let Some(next) = self.peek() else {
                        return Err("a string does not end".into());
                    };
                    self.step(next);
                    match next {
                        _ if raw => text.extend([c, next]),
                        '\n' => {}
                        '\r' if self.peek() == Some('\n') => self.step('\n'),
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        '\\' | '\'' | '"' => text.push(next),
                        // As in Python, unknown escapes are kept; only TeX names have these.
                        _ => text.extend([c, next]),
                    }
                }
                _ => text.push(c),
            }
        }
    }
}
