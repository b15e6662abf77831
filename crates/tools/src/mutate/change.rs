//! One change of one token, or of one statement.

use super::tokens::{Token, TokenKind, tokens};
use mebridge_oracle::statements;
use rand::Rng;
use rand::seq::IndexedRandom;

/// A changed file.
#[derive(Clone, Debug)]
pub struct Change {
    /// Kind of change.
    pub what: &'static str,
    /// The line where it begins, from 1.
    pub line: usize,
    /// The lines before and after.
    pub before: String,
    pub after: String,
    /// The whole file.
    pub text: String,
}

/// A file to be changed.
#[derive(Clone, Debug)]
pub struct Original {
    text: String,
    lines: Vec<String>,
    pub tokens: Vec<Token>,
    card: bool,
}

/// Number of attempts before a file counts as unchangeable.
const TRIES: usize = 50;

impl Original {
    /// Reads a file; in cards columns do not matter.
    pub fn new(text: &str, card: bool) -> Original {
        Original {
            text: text.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
            tokens: tokens(text, card),
            card,
        }
    }

    /// Makes a random change that changes statements.
    pub fn change(&self, random: &mut impl Rng) -> Option<Change> {
        for _ in 0..TRIES {
            let change = match random.random_range(0..10) {
                0 => self.change_statement(random),
                _ => self.change_token(random),
            };
            if let Some(change) = change
                && self.differs(&change.text)
            {
                return Some(change);
            }
        }
        None
    }

    /// Whether the other text has different statements.
    fn differs(&self, other: &str) -> bool {
        if self.card {
            return other != self.text;
        }
        let texts = |text: &str| -> Vec<String> {
            let statements = statements::read(text);
            statements.into_iter().map(|s| s.text).collect()
        };
        texts(other) != texts(&self.text)
    }

    /// Deletes or duplicates a statement.
    fn change_statement(&self, random: &mut impl Rng) -> Option<Change> {
        let range = if self.card {
            let line = self.tokens.choose(random)?.line;
            line..line + 1
        } else {
            statements::read(&self.text).choose(random)?.lines.clone()
        };
        let before = self.lines[range.clone()].join("\n");
        let mut lines = self.lines.clone();
        let twice = random.random_bool(0.4);
        let (what, after) = match twice {
            true => {
                let again = lines[range.clone()].to_vec();
                lines.splice(range.end..range.end, again);
                ("duplicate statement", format!("{before}\n{before}"))
            }
            false => {
                lines.drain(range.clone());
                ("delete statement", String::new())
            }
        };
        Some(Change {
            what,
            line: range.start + 1,
            before,
            after,
            text: lines.join("\n") + "\n",
        })
    }

    fn change_token(&self, random: &mut impl Rng) -> Option<Change> {
        let at = random.random_range(0..self.tokens.len().max(1));
        let token = self.tokens.get(at)?;
        let (what, new) = match random.random_range(0..7) {
            0 => ("delete", String::new()),
            1 => {
                let between = if token.kind == TokenKind::Name {
                    " "
                } else {
                    ""
                };
                ("duplicate", format!("{0}{between}{0}", token.text))
            }
            2 => return self.swap(at),
            3 | 4 => ("replace", self.another(token, random)?),
            _ => alter(token, random)?,
        };
        let mut line = self.lines[token.line].clone();
        line.replace_range(token.columns.clone(), &new);
        Some(self.with_line(what, token.line, line))
    }

    /// Swaps a token with the next one of its line.
    fn swap(&self, at: usize) -> Option<Change> {
        let (a, b) = (&self.tokens[at], self.tokens.get(at + 1)?);
        if a.line != b.line {
            return None;
        }
        let line = &self.lines[a.line];
        let between = &line[a.columns.end..b.columns.start];
        let new = format!("{}{between}{}", b.text, a.text);
        let mut line = line.clone();
        line.replace_range(a.columns.start..b.columns.end, &new);
        Some(self.with_line("swap", a.line, line))
    }

    /// Returns another token of the same kind; for numbers one of the same form.
    fn another(&self, token: &Token, random: &mut impl Rng) -> Option<String> {
        for _ in 0..TRIES {
            let other = self.tokens.choose(random)?;
            if other.kind == token.kind && other.text != token.text {
                return Some(other.text.clone());
            }
        }
        None
    }

    fn with_line(&self, what: &'static str, line: usize, new: String) -> Change {
        let mut lines = self.lines.clone();
        let before = std::mem::replace(&mut lines[line], new);
        Change {
            what,
            line: line + 1,
            before,
            after: lines[line].clone(),
            text: lines.join("\n") + "\n",
        }
    }
}

/// Changes a digit, a sign, an operator or a letter.
fn alter(token: &Token, random: &mut impl Rng) -> Option<(&'static str, String)> {
    match token.kind {
        TokenKind::Number if random.random_bool(0.3) => Some(match token.text.strip_prefix('-') {
            Some(positive) => ("sign", positive.to_owned()),
            None => ("sign", format!("-{}", token.text)),
        }),
        TokenKind::Number => {
            let digits: Vec<usize> = token
                .text
                .bytes()
                .enumerate()
                .filter(|(_, b)| b.is_ascii_digit())
                .map(|(i, _)| i)
                .collect();
            let &at = digits.choose(random)?;
            let digit = random.random_range(0..10).to_string();
            let mut text = token.text.clone();
            text.replace_range(at..=at, &digit);
            Some(("digit", text))
        }
        TokenKind::Operator => {
            let others = [
                "+", "-", "*", "/", "**", ",", "=", "", ".EQ.", ".NE.", ".GT.", ":",
            ];
            Some(("operator", (*others.choose(random)?).to_owned()))
        }
        TokenKind::Parenthesis => Some((
            "parenthesis",
            match token.text.as_str() {
                "(" => ")".to_owned(),
                _ => "(".to_owned(),
            },
        )),
        TokenKind::Name => {
            let mut text = token.text.clone();
            match random.random_range(0..3) {
                0 => drop(text.pop()),
                1 => text.push_str(&random.random_range(0..10).to_string()),
                _ => text.push('X'),
            }
            Some(("letter", text))
        }
        TokenKind::Keyword | TokenKind::Text => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn a_change_changes_one_place() {
        let text = "C  comment\n      A = B(1)*2.5D0\n      CALL X(A,\n     $  C)\n      END\n";
        let original = Original::new(text, false);
        let mut seen = mebridge_support::sorted::SortedSet::new();
        for seed in 0..400 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let change = original.change(&mut random).unwrap();
            assert_ne!(change.text, text);
            assert!(change.text.starts_with("C  comment\n"));
            seen.insert(change.what);
        }
        assert_eq!(seen.len(), 11, "{seen:?}");
    }
}
