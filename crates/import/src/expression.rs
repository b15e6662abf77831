//! Fortran expressions.
//!
//! The text has no blanks (see [`super::source`]). Sums and products are flat lists, so that a sum of ten thousand
//! amplitudes is one node instead of a deep tree; nesting (parentheses, arguments, powers, signs) is limited to
//! [`MAX_DEPTH`] levels.

use mebridge_process::arith::Comparison;

/// Deepest nesting of an expression.
pub const MAX_DEPTH: u32 = 100;

/// Result of parsing; the error is text, to which the caller adds file and line.
pub type Parsed<T> = std::result::Result<T, String>;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum FortranExpr {
    Int(i64),
    /// A real constant in double precision.
    Real(f64),
    /// One in single precision: without a D exponent or a kind.
    Single(f32),
    /// `(re, im)`.
    Complex(Box<(FortranExpr, FortranExpr)>),
    Logical(bool),
    Text(Vec<u8>),
    Name(String),
    /// `NAME(arguments)`: an array element or a function call.
    Apply(String, Vec<FortranExpr>),
    /// Terms, each with a flag that it is subtracted.
    Sum(Vec<(bool, FortranExpr)>),
    /// Factors, each with a flag that it divides.
    Product(Vec<(bool, FortranExpr)>),
    Power(Box<(FortranExpr, FortranExpr)>),
    Compare(Comparison, Box<(FortranExpr, FortranExpr)>),
    Not(Box<FortranExpr>),
    And(Vec<FortranExpr>),
    Or(Vec<FortranExpr>),
    /// `a%b`, a component of a derived type: in MadEvent's samplers, never in a matrix element.
    Component(String),
    /// `KIND=n` as an argument of an intrinsic function: 8 for double precision, 16 for quadruple.
    Kind(i64),
    /// `a:b` as a subscript.
    Range(Option<Box<FortranExpr>>, Option<Box<FortranExpr>>),
}

/// A position in the text of a statement.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    pos: usize,
    depth: u32,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Cursor {
            text,
            pos: 0,
            depth: 0,
        }
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.text[self.pos..]
    }

    pub fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// Skips the given text if it comes next.
    pub fn accept(&mut self, text: &[u8]) -> bool {
        let here = self.rest().starts_with(text);
        if here {
            self.pos += text.len();
        }
        here
    }

    pub fn expect(&mut self, text: &[u8]) -> Parsed<()> {
        if self.accept(text) {
            Ok(())
        } else {
            Err(format!(
                "expected `{}` before {}",
                String::from_utf8_lossy(text),
                self.shown()
            ))
        }
    }

    pub fn finish(&self) -> Parsed<()> {
        if self.at_end() {
            Ok(())
        } else {
            Err(format!("cannot read {}", self.shown()))
        }
    }

    /// Returns the following text, shortened for a message.
    pub fn shown(&self) -> String {
        if self.at_end() {
            return "the end of the statement".into();
        }
        let rest = self.rest();
        let cut = &rest[..rest.len().min(40)];
        let dots = if rest.len() > 40 { "..." } else { "" };
        format!("`{}{dots}`", String::from_utf8_lossy(cut).escape_debug())
    }

    /// Skips bytes, which must exist.
    pub fn skip(&mut self, bytes: usize) {
        self.pos = (self.pos + bytes).min(self.text.len());
    }

    pub fn position(&self) -> usize {
        self.pos
    }

    /// Parses a name: a letter, then letters, digits and underscores.
    pub fn name(&mut self) -> Parsed<String> {
        let rest = self.rest();
        if !rest.first().is_some_and(u8::is_ascii_alphabetic) {
            return Err(format!("expected a name before {}", self.shown()));
        }
        let length = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
            .unwrap_or(rest.len());
        self.pos += length;
        // Only ASCII was accepted.
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    /// Parses an unsigned integer.
    pub fn integer(&mut self) -> Parsed<i64> {
        let rest = self.rest();
        let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut value = 0i64;
        for &digit in &rest[..length] {
            value = value
                .checked_mul(10)
                .and_then(|v| v.checked_add(i64::from(digit - b'0')))
                .ok_or("an integer is too large")?;
        }
        if length == 0 {
            return Err(format!("expected an integer before {}", self.shown()));
        }
        self.pos += length;
        Ok(value)
    }

    /// Parses a character constant; a doubled quote represents one quote.
    pub fn text(&mut self) -> Parsed<Vec<u8>> {
        let quote = match self.peek() {
            Some(q @ (b'\'' | b'"')) => q,
            _ => return Err(format!("expected a quote before {}", self.shown())),
        };
        self.pos += 1;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                None => return Err("a character constant does not end".into()),
                Some(b) if b == quote => {
                    self.pos += 1;
                    if self.peek() != Some(quote) {
                        return Ok(text);
                    }
                    text.push(quote);
                    self.pos += 1;
                }
                Some(b) => {
                    text.push(b);
                    self.pos += 1;
                }
            }
        }
    }

    /// An expression.
    pub fn expression(&mut self) -> Parsed<FortranExpr> {
        self.nested(Self::disjunction)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(format!("an expression nests more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn disjunction(&mut self) -> Parsed<FortranExpr> {
        let first = self.conjunction()?;
        if !self.rest().starts_with(b".OR.") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.accept(b".OR.") {
            all.push(self.conjunction()?);
        }
        Ok(FortranExpr::Or(all))
    }

    fn conjunction(&mut self) -> Parsed<FortranExpr> {
        let first = self.negation()?;
        if !self.rest().starts_with(b".AND.") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.accept(b".AND.") {
            all.push(self.negation()?);
        }
        Ok(FortranExpr::And(all))
    }

    fn negation(&mut self) -> Parsed<FortranExpr> {
        if self.accept(b".NOT.") {
            let inner = self.nested(Self::negation)?;
            return Ok(FortranExpr::Not(Box::new(inner)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed<FortranExpr> {
        const OPERATORS: [(&[u8], Comparison); 12] = [
            (b".EQ.", Comparison::Eq),
            (b".NE.", Comparison::Ne),
            (b".LT.", Comparison::Lt),
            (b".LE.", Comparison::Le),
            (b".GT.", Comparison::Gt),
            (b".GE.", Comparison::Ge),
            (b"==", Comparison::Eq),
            (b"/=", Comparison::Ne),
            (b"<=", Comparison::Le),
            (b">=", Comparison::Ge),
            (b"<", Comparison::Lt),
            (b">", Comparison::Gt),
        ];
        let left = self.sum()?;
        if !matches!(self.peek(), Some(b'.' | b'=' | b'/' | b'<' | b'>')) {
            return Ok(left);
        }
        for (text, operator) in OPERATORS {
            if self.accept(text) {
                let right = self.sum()?;
                return Ok(FortranExpr::Compare(operator, Box::new((left, right))));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed<FortranExpr> {
        let negative = match self.peek() {
            Some(b'-') => true,
            Some(b'+') => false,
            _ => {
                let first = self.product()?;
                return self.terms(vec![(false, first)]);
            }
        };
        self.pos += 1;
        let first = self.product()?;
        self.terms(vec![(negative, first)])
    }

    fn terms(&mut self, mut terms: Vec<(bool, FortranExpr)>) -> Parsed<FortranExpr> {
        loop {
            let negative = match self.peek() {
                Some(b'+') => false,
                Some(b'-') => true,
                _ => break,
            };
            self.pos += 1;
            let term = self.product()?;
            terms.push((negative, term));
        }
        match terms.len() {
            1 if !terms[0].0 => Ok(terms.remove(0).1),
            _ => Ok(FortranExpr::Sum(terms)),
        }
    }

    fn product(&mut self) -> Parsed<FortranExpr> {
        let first = self.factor()?;
        if !matches!(self.peek(), Some(b'*' | b'/')) {
            return Ok(first);
        }
        let mut factors = vec![(false, first)];
        loop {
            let divides = match (self.peek(), self.text.get(self.pos + 1)) {
                (Some(b'*'), _) => false,
                // `/=` is a comparison; `//` and `/)` are not part of a product.
                (Some(b'/'), Some(b'=' | b'/' | b')')) => break,
                (Some(b'/'), _) => true,
                _ => break,
            };
            self.pos += 1;
            let factor = self.factor()?;
            factors.push((divides, factor));
        }
        match factors.len() {
            1 => Ok(factors.remove(0).1),
            _ => Ok(FortranExpr::Product(factors)),
        }
    }

    /// Parses an operand with its power. A sign before it, as in `a*-b` or `a**-2`, is an extension that MG5aMC relies
    /// on.
    fn factor(&mut self) -> Parsed<FortranExpr> {
        match self.peek() {
            Some(b'-') => {
                self.pos += 1;
                let inner = self.nested(Self::factor)?;
                Ok(FortranExpr::Sum(vec![(true, inner)]))
            }
            Some(b'+') => {
                self.pos += 1;
                self.nested(Self::factor)
            }
            _ => {
                let base = self.primary()?;
                if self.accept(b"**") {
                    let exponent = self.nested(Self::factor)?;
                    return Ok(FortranExpr::Power(Box::new((base, exponent))));
                }
                Ok(base)
            }
        }
    }

    fn primary(&mut self) -> Parsed<FortranExpr> {
        match self.peek() {
            Some(b'(') => {
                self.pos += 1;
                let first = self.expression()?;
                if self.accept(b",") {
                    let second = self.expression()?;
                    self.expect(b")")?;
                    return Ok(FortranExpr::Complex(Box::new((first, second))));
                }
                self.expect(b")")?;
                Ok(first)
            }
            Some(b'0'..=b'9') => self.number(),
            Some(b'.') => {
                if self.accept(b".TRUE.") {
                    Ok(FortranExpr::Logical(true))
                } else if self.accept(b".FALSE.") {
                    Ok(FortranExpr::Logical(false))
                } else {
                    self.number()
                }
            }
            Some(b'\'' | b'"') => Ok(FortranExpr::Text(self.text()?)),
            Some(b) if b.is_ascii_alphabetic() => {
                let name = self.name()?;
                if self.accept(b"%") {
                    let component = self.name()?;
                    return Ok(FortranExpr::Component(format!("{name}%{component}")));
                }
                if self.accept(b"(") {
                    let arguments = self.nested(Self::arguments)?;
                    return Ok(FortranExpr::Apply(name, arguments));
                }
                Ok(FortranExpr::Name(name))
            }
            _ => Err(format!("expected an expression before {}", self.shown())),
        }
    }

    /// Parses arguments or subscripts after the opening parenthesis.
    pub fn arguments(&mut self) -> Parsed<Vec<FortranExpr>> {
        let mut arguments = Vec::new();
        if self.accept(b")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument()?);
            if self.accept(b")") {
                return Ok(arguments);
            }
            self.expect(b",")?;
        }
    }

    fn argument(&mut self) -> Parsed<FortranExpr> {
        if self.accept(b"KIND=") {
            return self.integer().map(FortranExpr::Kind);
        }
        let from = match self.peek() {
            Some(b':') => None,
            Some(b'*') if matches!(self.text.get(self.pos + 1), Some(b')' | b',')) => {
                self.pos += 1;
                return Ok(FortranExpr::Range(None, None));
            }
            _ => Some(self.expression()?),
        };
        if !self.accept(b":") {
            return from.ok_or_else(|| "expected a subscript".into());
        }
        let to = match self.peek() {
            Some(b')' | b',') => None,
            Some(b'*') => {
                self.pos += 1;
                None
            }
            _ => Some(Box::new(self.expression()?)),
        };
        Ok(FortranExpr::Range(from.map(Box::new), to))
    }

    /// Parses an integer or real constant.
    pub fn number(&mut self) -> Parsed<FortranExpr> {
        let rest = self.rest();
        let digits = |from: usize| {
            rest[from.min(rest.len())..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let mut end = digits(0);
        let mut real = false;
        if rest.get(end) == Some(&b'.') && !dot_operator(&rest[end..]) {
            real = true;
            end += 1 + digits(end + 1);
            if end == 1 {
                return Err(format!("expected a number before {}", self.shown()));
            }
        } else if end == 0 {
            return Err(format!("expected a number before {}", self.shown()));
        }
        let mantissa = end;
        let mut double = false;
        if let Some(letter @ (b'E' | b'D' | b'Q')) = rest.get(end) {
            let signed = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + signed);
            if exponent > 0 {
                real = true;
                double = *letter != b'E';
                end += 1 + signed + exponent;
            }
        }
        if !real {
            let value = self.integer()?;
            self.kind();
            return Ok(FortranExpr::Int(value));
        }
        let mut text = String::from_utf8_lossy(&rest[..mantissa]).into_owned();
        if end > mantissa {
            text.push('e');
            text.push_str(&String::from_utf8_lossy(&rest[mantissa + 1..end]));
        }
        self.pos += end;
        double |= self.kind();
        let bad = |_| format!("`{text}` is no number");
        match double {
            true => text.parse().map(FortranExpr::Real).map_err(bad),
            false => text.parse().map(FortranExpr::Single).map_err(bad),
        }
    }

    /// Skips `_8` or `_DP` after a constant, which names its kind, in everything that MG5aMC writes double or quadruple
    /// precision; whether there is one.
    fn kind(&mut self) -> bool {
        let found = self.accept(b"_");
        if found {
            let named = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_';
            self.pos += self.rest().iter().take_while(named).count();
        }
        found
    }
}

/// Returns whether the text starts with an operator such as `.EQ.`, so that its dot does not belong to a number.
fn dot_operator(text: &[u8]) -> bool {
    const OPERATORS: [&[u8]; 10] = [
        b".EQ.", b".NE.", b".LT.", b".LE.", b".GT.", b".GE.", b".AND.", b".OR.", b".EQV.",
        b".NEQV.",
    ];
    OPERATORS.iter().any(|o| text.starts_with(o))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parsed<FortranExpr> {
        let mut cursor = Cursor::new(text.as_bytes());
        let expression = cursor.expression()?;
        cursor.finish()?;
        Ok(expression)
    }

    #[test]
    fn constants_and_functions_have_a_kind() {
        assert_eq!(parse("0_16"), Ok(FortranExpr::Int(0)));
        assert_eq!(parse("1.1E-1_16"), Ok(FortranExpr::Real(0.11)));
        assert_eq!(parse("0.11_DP"), Ok(FortranExpr::Real(0.11)));
        let kind = FortranExpr::Kind(16);
        let call = FortranExpr::Apply("CMPLX".into(), vec![FortranExpr::Int(2), kind]);
        assert_eq!(parse("CMPLX(2,KIND=16)"), Ok(call));
    }

    #[test]
    fn numbers_and_dots() {
        assert_eq!(parse("1.5D-1").unwrap(), FortranExpr::Real(0.15));
        assert_eq!(parse("0.1").unwrap(), FortranExpr::Single(0.1));
        assert_eq!(parse("12").unwrap(), FortranExpr::Int(12));
        assert_eq!(
            parse("1.EQ.2.D0").unwrap(),
            FortranExpr::Compare(
                Comparison::Eq,
                Box::new((FortranExpr::Int(1), FortranExpr::Real(2.0)))
            )
        );
    }

    #[test]
    fn a_sign_binds_weaker_than_a_product_and_stronger_behind_one() {
        let name = |n: &str| FortranExpr::Name(n.into());
        assert_eq!(
            parse("-A*B").unwrap(),
            FortranExpr::Sum(vec![(
                true,
                FortranExpr::Product(vec![(false, name("A")), (false, name("B"))])
            )])
        );
        assert_eq!(
            parse("A*-B/C").unwrap(),
            FortranExpr::Product(vec![
                (false, name("A")),
                (false, FortranExpr::Sum(vec![(true, name("B"))])),
                (true, name("C"))
            ])
        );
    }

    #[test]
    fn powers_bind_to_the_right() {
        let power = |a, b| FortranExpr::Power(Box::new((a, b)));
        let two = FortranExpr::Int(2);
        assert_eq!(
            parse("A**2**-2").unwrap(),
            power(
                FortranExpr::Name("A".into()),
                power(two.clone(), FortranExpr::Sum(vec![(true, two)]))
            )
        );
    }

    #[test]
    fn complex_constants_and_arguments() {
        assert_eq!(
            parse("(0D0,1D0)").unwrap(),
            FortranExpr::Complex(Box::new((FortranExpr::Real(0.0), FortranExpr::Real(1.0))))
        );
        assert_eq!(
            parse("W(1,2)").unwrap(),
            FortranExpr::Apply("W".into(), vec![FortranExpr::Int(1), FortranExpr::Int(2)])
        );
        assert_eq!(
            parse("J(:)").unwrap(),
            FortranExpr::Apply("J".into(), vec![FortranExpr::Range(None, None)])
        );
    }

    #[test]
    fn deep_nesting_is_refused_and_long_sums_are_not() {
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(parse(&deep).unwrap_err().contains("nests"));
        assert!(parse(&"-".repeat(100_000)).unwrap_err().contains("nests"));
        let long = "A+".repeat(100_000) + "A";
        assert!(matches!(parse(&long).unwrap(), FortranExpr::Sum(t) if t.len() == 100_001));
    }
}
