//! The grammar of formulas, Lorentz structures and colour structures: the part of Python's arithmetic that UFO models
//! (arXiv:1108.2040) use for all three.

use std::fmt::{self, Display, Formatter};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// A name, without a module in front (`cmath.pi`).
    Name(String),
    /// A function, or a tensor with its indices.
    Call(String, Vec<Expr>),
    /// Minus.
    Neg(Box<Expr>),
    /// A binary operation.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `yes if test else no`.
    If(Box<[Expr; 3]>),
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOperator {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Comparison operators, longer ones before their prefixes.
const COMPARISONS: [(&str, BinaryOperator); 6] = [
    ("==", BinaryOperator::Equal),
    ("!=", BinaryOperator::NotEqual),
    ("<=", BinaryOperator::LessOrEqual),
    (">=", BinaryOperator::GreaterOrEqual),
    ("<", BinaryOperator::Less),
    (">", BinaryOperator::Greater),
];

impl BinaryOperator {
    /// Its symbol and precedence.
    fn sign(self) -> (&'static str, u8) {
        match self {
            BinaryOperator::Or => (" or ", 1),
            BinaryOperator::And => (" and ", 2),
            BinaryOperator::Add => (" + ", 4),
            BinaryOperator::Sub => (" - ", 4),
            BinaryOperator::Mul => ("*", 5),
            BinaryOperator::Div => ("/", 5),
            BinaryOperator::Pow => ("**", 7),
            BinaryOperator::Equal => (" == ", 3),
            BinaryOperator::NotEqual => (" != ", 3),
            BinaryOperator::Less => (" < ", 3),
            BinaryOperator::LessOrEqual => (" <= ", 3),
            BinaryOperator::Greater => (" > ", 3),
            BinaryOperator::GreaterOrEqual => (" >= ", 3),
        }
    }
}

/// Deepest nesting of brackets; formulas have a few levels.
const DEEPEST: usize = 100;

/// Deepest nesting of operations: `a + b + c` is `(a + b) + c`. Known models have up to 150.
pub const MAX_DEPTH: usize = 500;

/// Most characters of an expression shown in a message.
const SHOWN: usize = 160;

/// Parses an expression; the error contains the position.
pub fn parse(text: &str) -> Result<Expr, String> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        height: 0,
    };
    let expr = parser.choice()?;
    match parser.peek() {
        None => Ok(expr),
        Some(c) => Err(parser.fail(&format!("`{c}` was not expected"))),
    }
}

/// Parses the terms of a sum, in any number, each with whether it is subtracted. Any other expression is a single term.
pub fn parse_terms(text: &str) -> Result<Vec<(bool, Expr)>, String> {
    let mut terms = Vec::new();
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        height: 0,
    };
    match parser.terms(false, &mut terms)? && parser.peek().is_none() {
        true => Ok(terms),
        false => Ok(vec![(false, parse(text)?)]),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Nesting of operations in the expression parsed last.
    height: usize,
}

impl Parser<'_> {
    fn fail(&self, what: &str) -> String {
        let whole = self.text.chars().count() <= SHOWN;
        // Only the surroundings of the position of a long text.
        let first = self.at.saturating_sub(SHOWN / 2);
        let near = self.text.char_indices().skip_while(|(at, _)| *at < first);
        let near: String = near.map(|(_, c)| c).take(SHOWN).collect();
        let text = if whole { self.text } else { &near };
        format!("`{text}`, character {}: {what}", self.at + 1)
    }

    /// Accounts for an operation on the expression parsed last and one with this nesting.
    fn higher(&mut self, height: usize) -> Result<(), String> {
        self.height = self.height.max(height) + 1;
        match self.height > MAX_DEPTH {
            true => Err(self.fail("too many operations within each other")),
            false => Ok(()),
        }
    }

    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, expected: &str) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Whether a word follows, which is then consumed.
    fn word(&mut self, expected: &str) -> bool {
        self.peek();
        let behind = self.text[self.at..].strip_prefix(expected);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let found = behind.is_some_and(|rest| !rest.starts_with(word));
        self.at += if found { expected.len() } else { 0 };
        found
    }

    /// Conditionals bind least: `yes if test else no`.
    fn choice(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail("too many brackets within each other"));
        }
        let mut expr = self.either()?;
        if self.word("if") {
            let yes = self.height;
            let test = self.either()?;
            let height = self.height.max(yes);
            if !self.word("else") {
                return Err(self.fail("`else` was expected"));
            }
            expr = Expr::If(Box::new([test, expr, self.choice()?]));
            self.higher(height)?;
        }
        self.depth -= 1;
        Ok(expr)
    }

    fn either(&mut self) -> Result<Expr, String> {
        let mut either = self.both()?;
        while self.word("or") {
            let height = self.height;
            either = Expr::Binary(BinaryOperator::Or, either.into(), self.both()?.into());
            self.higher(height)?;
        }
        Ok(either)
    }

    fn both(&mut self) -> Result<Expr, String> {
        let mut both = self.comparison()?;
        while self.word("and") {
            let height = self.height;
            both = Expr::Binary(BinaryOperator::And, both.into(), self.comparison()?.into());
            self.higher(height)?;
        }
        Ok(both)
    }

    fn comparison(&mut self) -> Result<Expr, String> {
        let left = self.sum()?;
        match COMPARISONS.iter().find(|(sign, _)| self.take(sign)) {
            Some((_, operator)) => {
                let height = self.height;
                let compared = Expr::Binary(*operator, left.into(), self.sum()?.into());
                self.higher(height)?;
                Ok(compared)
            }
            None => Ok(left),
        }
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut sum = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => BinaryOperator::Add,
                Some('-') => BinaryOperator::Sub,
                _ => break,
            };
            self.at += 1;
            let height = self.height;
            sum = Expr::Binary(operator, sum.into(), self.product()?.into());
            self.higher(height)?;
        }
        Ok(sum)
    }

    /// Parses the terms of a sum, also of bracketed sums that are terms; `false` if something else follows.
    fn terms(&mut self, negative: bool, terms: &mut Vec<(bool, Expr)>) -> Result<bool, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail("too many brackets within each other"));
        }
        let mut minus = negative;
        loop {
            let (before, length) = (self.at, terms.len());
            let mut inner = self.take("(") && self.terms(minus, terms)? && self.take(")");
            inner &= matches!(self.peek(), None | Some('+' | '-' | ')'));
            if !inner {
                self.at = before;
                terms.truncate(length);
                terms.push((minus, self.product()?));
            }
            minus = match self.peek() {
                Some('+') => negative,
                Some('-') => !negative,
                next => {
                    self.depth -= 1;
                    return Ok(matches!(next, None | Some(')')));
                }
            };
            self.at += 1;
        }
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut product = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some('*') => BinaryOperator::Mul,
                Some('/') => BinaryOperator::Div,
                _ => return Ok(product),
            };
            self.at += 1;
            let height = self.height;
            product = Expr::Binary(operator, product.into(), self.signed()?.into());
            self.higher(height)?;
        }
    }

    /// Signs bind less tightly than powers: `-a**2` is `-(a**2)`.
    fn signed(&mut self) -> Result<Expr, String> {
        let mut negative = false;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            negative ^= sign == '-';
            self.at += 1;
        }
        let power = self.power()?;
        if !negative {
            return Ok(power);
        }
        self.higher(0)?;
        Ok(Expr::Neg(power.into()))
    }

    /// Parses attributes of a value: `z.real`, `z.conjugate()`.
    fn attributes(&mut self, mut value: Expr) -> Result<Expr, String> {
        for _ in 0..DEEPEST {
            let before = self.at;
            if !self.take(".") {
                return Ok(value);
            }
            let function = match () {
                () if self.word("real") => "re",
                () if self.word("imag") => "im",
                () if self.word("conjugate") && self.take("(") && self.take(")") => {
                    "complexconjugate"
                }
                () => {
                    self.at = before;
                    return Err(self.fail("of a value there are .real, .imag and .conjugate()"));
                }
            };
            value = Expr::Call(function.to_owned(), vec![value]);
            self.higher(0)?;
        }
        Err(self.fail("too many attributes of attributes"))
    }

    fn power(&mut self) -> Result<Expr, String> {
        let base = self.atom()?;
        let base = self.attributes(base)?;
        if !self.take("**") {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail("too many powers of powers"));
        }
        let height = self.height;
        let exponent = self.signed()?;
        self.higher(height)?;
        self.depth -= 1;
        Ok(Expr::Binary(
            BinaryOperator::Pow,
            base.into(),
            exponent.into(),
        ))
    }

    fn atom(&mut self) -> Result<Expr, String> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.choice()?;
                match self.take(")") {
                    true => Ok(inner),
                    false => Err(self.fail("`)` was expected")),
                }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            Some(c) => Err(self.fail(&format!("`{c}` was not expected"))),
            None => Err(self.fail("the text ends where a value was expected")),
        }
    }

    fn number(&mut self) -> Result<Expr, String> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut end = 0;
        while end < rest.len() {
            let exponent = end > 0 && matches!(rest[end - 1], b'e' | b'E');
            match rest[end] {
                b'0'..=b'9' | b'.' | b'e' | b'E' => end += 1,
                b'+' | b'-' if exponent => end += 1,
                _ => break,
            }
        }
        let number = self.text[self.at..self.at + end].parse();
        let number = number.map_err(|_| self.fail("this is not a number"))?;
        self.at += end;
        self.height = 0;
        if self.word("j") {
            let parts = vec![Expr::Number(0.0), Expr::Number(number)];
            return Ok(Expr::Call("complex".into(), parts));
        }
        Ok(Expr::Number(number))
    }

    fn name(&mut self) -> Result<Expr, String> {
        let rest = &self.text[self.at..];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        let path = &rest[..end];
        // A name may be preceded by a module and followed by an attribute.
        let attribute = path
            .rsplit_once('.')
            .filter(|(_, last)| ["real", "imag", "conjugate"].contains(last));
        if let Some((value, _)) = attribute {
            self.at += value.len();
            self.height = 0;
            let name = value.rsplit('.').next().unwrap_or("").to_owned();
            return Ok(Expr::Name(name));
        }
        let name = path.rsplit('.').next().unwrap_or("").to_owned();
        self.at += end;
        self.height = 0;
        if !self.take("(") {
            return Ok(Expr::Name(name));
        }
        let mut arguments = vec![self.choice()?];
        let mut height = self.height;
        while self.take(",") {
            arguments.push(self.choice()?);
            height = height.max(self.height);
        }
        self.higher(height)?;
        match self.take(")") {
            true => Ok(Expr::Call(name, arguments)),
            false => Err(self.fail("`)` or `,` was expected")),
        }
    }
}

impl Expr {
    /// Factors out the names, and their powers, by which the expression is multiplied, except `kept`.
    pub fn without_names(self, kept: &str) -> (Option<Expr>, Expr) {
        let one = || Expr::Number(1.0);
        match self {
            Expr::Name(name) if name != kept => (Some(Expr::Name(name)), one()),
            Expr::Neg(a) => {
                let (names, rest) = a.without_names(kept);
                (names, Expr::Neg(Box::new(rest)))
            }
            Expr::Binary(sign @ (BinaryOperator::Mul | BinaryOperator::Div), a, b) => {
                let ((x, a), (y, b)) = (a.without_names(kept), b.without_names(kept));
                let names = match (x, y) {
                    (x, None) => x,
                    (None, Some(y)) if sign == BinaryOperator::Mul => Some(y),
                    (x, Some(y)) => {
                        let x = x.unwrap_or_else(one);
                        Some(Expr::Binary(sign, Box::new(x), Box::new(y)))
                    }
                };
                (names, Expr::Binary(sign, Box::new(a), Box::new(b)))
            }
            Expr::Binary(BinaryOperator::Pow, a, b) if matches!(&*a, Expr::Name(name) if name != kept) => {
                (Some(Expr::Binary(BinaryOperator::Pow, a, b)), one())
            }
            other => (None, other),
        }
    }

    /// The integer value, if the expression is an integer.
    pub fn integer(&self) -> Option<i32> {
        match self {
            Expr::Number(x) if x.fract() == 0.0 && x.abs() < 1e6 => Some(*x as i32),
            Expr::Neg(inner) => inner.integer().map(|n| -n),
            _ => None,
        }
    }

    /// Calls `f` on every name except those of functions.
    pub fn for_each_name(&self, f: &mut dyn FnMut(&str)) {
        match self {
            Expr::Number(_) => {}
            Expr::Name(name) => f(name),
            Expr::Call(_, arguments) => arguments.iter().for_each(|a| a.for_each_name(f)),
            Expr::Neg(a) => a.for_each_name(f),
            Expr::Binary(_, a, b) => {
                a.for_each_name(f);
                b.for_each_name(f);
            }
            Expr::If(parts) => parts.iter().for_each(|part| part.for_each_name(f)),
        }
    }

    /// Rebuilds an expression, with `f` applied to its operands.
    pub fn map<E>(&self, f: &mut dyn FnMut(&Expr) -> Result<Expr, E>) -> Result<Expr, E> {
        Ok(match self {
            Expr::Number(_) | Expr::Name(_) => self.clone(),
            Expr::Call(name, arguments) => {
                let arguments = arguments.iter().map(&mut *f);
                Expr::Call(name.clone(), arguments.collect::<Result<_, E>>()?)
            }
            Expr::Neg(a) => Expr::Neg(f(a)?.into()),
            Expr::Binary(operator, a, b) => Expr::Binary(*operator, f(a)?.into(), f(b)?.into()),
            Expr::If(parts) => {
                let [test, yes, no] = &**parts;
                Expr::If(Box::new([f(test)?, f(yes)?, f(no)?]))
            }
        })
    }

    /// Its precedence.
    fn tightness(&self) -> u8 {
        match self {
            Expr::If(_) => 0,
            Expr::Binary(operator, ..) => operator.sign().1,
            Expr::Neg(_) => 6,
            Expr::Number(x) if x.is_sign_negative() => 6,
            Expr::Number(_) | Expr::Name(_) | Expr::Call(..) => 8,
        }
    }

    fn bracketed(&self, f: &mut Formatter<'_>, least: u8) -> fmt::Result {
        match self.tightness() < least {
            true => write!(f, "({self})"),
            false => write!(f, "{self}"),
        }
    }
}

/// Formats an expression so that [`parse`] reads it.
impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => write!(f, "{x}"),
            Expr::Number(x) => write!(f, "{x:?}"),
            Expr::Name(name) => write!(f, "{name}"),
            Expr::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (i, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if i == 0 { "" } else { "," })?;
                }
                write!(f, ")")
            }
            Expr::Neg(a) => {
                write!(f, "-")?;
                a.bracketed(f, 7)
            }
            Expr::Binary(operator, a, b) => {
                let (sign, tight) = operator.sign();
                // Powers associate to the right, comparisons do not associate, all others associate to the left.
                let (left, right) = match operator {
                    BinaryOperator::Pow => (8, 6),
                    _ if tight == 3 => (4, 4),
                    _ => (tight, tight + 1),
                };
                a.bracketed(f, left)?;
                write!(f, "{sign}")?;
                b.bracketed(f, right)
            }
            Expr::If(parts) => {
                let [test, yes, no] = &**parts;
                yes.bracketed(f, 1)?;
                write!(f, " if ")?;
                test.bracketed(f, 1)?;
                write!(f, " else {no}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_bind_before_signs_and_signs_before_products() {
        let number = |x: f64| Box::new(Expr::Number(x));
        let name = |n: &str| Box::new(Expr::Name(n.into()));
        assert_eq!(
            parse("-a**2/2.").unwrap(),
            Expr::Binary(
                BinaryOperator::Div,
                Box::new(Expr::Neg(Box::new(Expr::Binary(
                    BinaryOperator::Pow,
                    name("a"),
                    number(2.0)
                )))),
                number(2.0)
            )
        );
        assert_eq!(
            parse("cmath.sqrt(1.5e-3)").unwrap(),
            Expr::Call("sqrt".into(), vec![Expr::Number(1.5e-3)])
        );
        assert_eq!(
            parse("Gamma(3, 2,-1)").unwrap(),
            Expr::Call(
                "Gamma".into(),
                vec![Expr::Number(3.0), Expr::Number(2.0), Expr::Neg(number(1.0))]
            )
        );
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for text in [
            "-a**2/2 + (b - c)*(-d)**-2",
            "a - (b - c) - d",
            "a/(b*c)/d",
            "(a**b)**c**d",
            "(x if a == 0 else y if b > 1 and c != 2 or d else z)*2",
            "1.5e-17*complex(0,-1)",
            "-(a + b)",
            "a*-b",
        ] {
            let expr = parse(text).unwrap();
            assert_eq!(parse(&expr.to_string()).unwrap(), expr, "{text}: {expr}");
        }
        assert_eq!(parse("-a**2/2.0").unwrap().to_string(), "-a**2/2");
        assert_eq!(parse("2j").unwrap().to_string(), "complex(0,2)");
        let real = parse("cmath.cos(z.real) + (a+b).conjugate().imag").unwrap();
        assert_eq!(real.to_string(), "cos(re(z)) + im(complexconjugate(a + b))");
    }

    #[test]
    fn sums_are_read_term_by_term() {
        let expr = |text: &str| parse(text).unwrap();
        #[rustfmt::skip]
        let cases = [
            ("a", &[(false, "a")][..]),
            ("-a*b - c/2 + d", &[(false, "-a*b"), (true, "c/2"), (false, "d")]),
            ("a - (b - (c + d)) + (e)", &[(false, "a"), (true, "b"), (false, "c"), (false, "d"), (false, "e")]),
            ("(a + b)*c - (a - b)**2", &[(false, "(a + b)*c"), (true, "(a - b)**2")]),
            ("(a + b)/2. + (c).real", &[(false, "(a + b)/2"), (false, "(c).real")]),
            ("a + b if c else d", &[(false, "a + b if c else d")]),
            ("a + b == c", &[(false, "a + b == c")]),
        ];
        for (text, terms) in cases {
            let terms: Vec<_> = terms
                .iter()
                .map(|&(minus, term)| (minus, expr(term)))
                .collect();
            assert_eq!(parse_terms(text).unwrap(), terms, "{text}");
        }
        for text in ["", "a + b)", "(a + b", "a + (b - )", "a b", "(a) (b)"] {
            assert_eq!(
                parse_terms(text).unwrap_err(),
                parse(text).unwrap_err(),
                "{text}"
            );
        }
        let long = format!("{}(x - {}y)", "x + ".repeat(2000), "y - ".repeat(2000));
        assert_eq!(parse_terms(&long).unwrap().len(), 4002);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in [
            "",
            "a +",
            "(a",
            "f(a",
            "a b",
            "1.2.3",
            "a $ b",
            "f()",
            "é",
            "a if b",
            "a < b < c",
            "(a).b",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"(".repeat(5000)).is_err());
        assert!(parse_terms(&"(".repeat(5000)).is_err());
        assert!(parse(&"2**".repeat(5000)).is_err());
        for repeated in ["1+", "2*", "a or ", "a and "] {
            let text = format!("{}1", repeated.repeat(450));
            let expr = parse(&text).unwrap();
            assert_eq!(parse(&expr.to_string()).unwrap(), expr);
            let error = parse(&format!("{}1", repeated.repeat(1_000_000))).unwrap_err();
            assert!(
                error.contains("too many operations") && error.len() < 400,
                "{error}"
            );
        }
    }
}
