//! The grammar of formulas, Lorentz structures and colour structures: that of Python's arithmetic, in which
//! UFO models (arXiv:1108.2040) write all three.

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// A name; a module in front of it (`cmath.pi`) is left out.
    Name(String),
    /// A function, or a tensor with its indices.
    Call(String, Vec<Expr>),
    /// Minus.
    Neg(Box<Expr>),
    /// Two operands and what is done with them.
    Binary(Binary, Box<Expr>, Box<Expr>),
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
}

/// Brackets within brackets that are read; formulas have a handful.
const DEEPEST: usize = 100;

/// Reads an expression; the error says what is wrong where.
pub fn parse(text: &str) -> Result<Expr, String> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let expr = parser.sum()?;
    match parser.peek() {
        None => Ok(expr),
        Some(c) => Err(parser.fail(&format!("`{c}` was not expected"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn fail(&self, what: &str) -> String {
        format!("`{}`, character {}: {what}", self.text, self.at + 1)
    }

    /// The next character that is no space.
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

    fn sum(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail("too many brackets within each other"));
        }
        let mut sum = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Binary::Add,
                Some('-') => Binary::Sub,
                _ => break,
            };
            self.at += 1;
            sum = Expr::Binary(operator, sum.into(), self.product()?.into());
        }
        self.depth -= 1;
        Ok(sum)
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut product = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Binary::Mul,
                Some('/') => Binary::Div,
                _ => return Ok(product),
            };
            self.at += 1;
            product = Expr::Binary(operator, product.into(), self.signed()?.into());
        }
    }

    /// Signs bind less than powers: `-a**2` is `-(a**2)`.
    fn signed(&mut self) -> Result<Expr, String> {
        let mut negative = false;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            negative ^= sign == '-';
            self.at += 1;
        }
        let power = self.power()?;
        Ok(if negative {
            Expr::Neg(power.into())
        } else {
            power
        })
    }

    fn power(&mut self) -> Result<Expr, String> {
        let base = self.atom()?;
        if !self.take("**") {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail("too many powers of powers"));
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(Expr::Binary(Binary::Pow, base.into(), exponent.into()))
    }

    fn atom(&mut self) -> Result<Expr, String> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
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
        let number = number.map_err(|_| self.fail("this is no number"))?;
        self.at += end;
        Ok(Expr::Number(number))
    }

    fn name(&mut self) -> Result<Expr, String> {
        let rest = &self.text[self.at..];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        let name = rest[..end].rsplit('.').next().unwrap_or("").to_owned();
        self.at += end;
        if !self.take("(") {
            return Ok(Expr::Name(name));
        }
        let mut arguments = vec![self.sum()?];
        while self.take(",") {
            arguments.push(self.sum()?);
        }
        match self.take(")") {
            true => Ok(Expr::Call(name, arguments)),
            false => Err(self.fail("`)` or `,` was expected")),
        }
    }
}

impl Expr {
    /// The whole number that this is, if it is one.
    pub fn integer(&self) -> Option<i32> {
        match self {
            Expr::Number(x) if x.fract() == 0.0 && x.abs() < 1e6 => Some(*x as i32),
            Expr::Neg(inner) => inner.integer().map(|n| -n),
            _ => None,
        }
    }

    /// Calls `f` on every name that is no function's.
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
                Binary::Div,
                Box::new(Expr::Neg(Box::new(Expr::Binary(
                    Binary::Pow,
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
    fn what_is_no_expression_is_refused() {
        for text in ["", "a +", "(a", "f(a", "a b", "1.2.3", "a $ b", "f()", "é"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"(".repeat(5000)).is_err());
        assert!(parse(&"2**".repeat(5000)).is_err());
    }
}
