//! Statements and expressions of Python files, as far as UFO models use them.

use super::lexer::{LogicalLine, Token, lines};

/// An expression with its first line.
#[derive(Clone, Debug)]
pub struct PythonNode {
    /// The kind.
    pub kind: ExpressionKind,
    /// Line in the file, from 1.
    pub at: usize,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ExpressionKind {
    /// A number, and whether it is an integer.
    Number(f64, bool),
    Text(String),
    Name(String),
    Attribute(Box<PythonNode>, String),
    /// Callee, positional arguments, keyword arguments.
    Call(Box<PythonNode>, Vec<PythonNode>, Vec<(String, PythonNode)>),
    List(Vec<PythonNode>),
    Tuple(Vec<PythonNode>),
    Dict(Vec<(PythonNode, PythonNode)>),
    Negative(Box<PythonNode>),
    Not(Box<PythonNode>),
    /// Test, value if true, value if false.
    Choice(Box<[PythonNode; 3]>),
    /// One of `+ - * / **`.
    Arithmetic(&'static str, Box<PythonNode>, Box<PythonNode>),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct PythonStatement {
    /// The kind.
    pub kind: StatementKind,
    /// Line in the file, from 1.
    pub at: usize,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum StatementKind {
    /// Name and value.
    Assign(String, PythonNode),
    /// Names that are assigned the elements of a value.
    AssignAll(Vec<String>, PythonNode),
    /// `object.attribute = value`.
    AssignAttribute(PythonNode, String, PythonNode),
    Expression(PythonNode),
    /// `import a.b as c`, `from a import b as c`: module, name within it, name here.
    Import(String, Option<String>, String),
    /// `from a import *`.
    ImportAll(String),
    /// Test, statements if true, statements if false.
    If(PythonNode, Vec<PythonStatement>, Vec<PythonStatement>),
    /// Statements to try, and statements if these fail.
    Try(Vec<PythonStatement>, Vec<PythonStatement>),
    /// `def name(arguments): return "formula"`, the formula as text.
    Function(String, Vec<String>, String),
    Pass,
}

/// Deepest nesting of brackets, operators and blocks; models have a few levels.
const DEEPEST: usize = 60;

/// Most operators of a statement; the longest are concatenations of strings.
const MAX_OPERATORS: usize = 500;

type Fallible<T> = Result<T, (usize, String)>;

/// Parses a file; errors contain the line number.
pub fn parse(text: &str) -> Fallible<Vec<PythonStatement>> {
    let lines = lines(text)?;
    let mut at = 0;
    let statements = block(&lines, &mut at, 0, 0)?;
    match lines.get(at) {
        None => Ok(statements),
        Some(line) => Err((line.tokens[0].1, "the indentation is not expected".into())),
    }
}

/// Parses the statements with this indentation, from a line on.
fn block(
    lines: &[LogicalLine],
    at: &mut usize,
    indent: usize,
    depth: usize,
) -> Fallible<Vec<PythonStatement>> {
    let mut statements = Vec::new();
    while let Some(line) = lines.get(*at) {
        if line.indent < indent {
            break;
        }
        let number = line.tokens[0].1;
        if line.indent > indent {
            return Err((number, "the indentation is not expected".into()));
        }
        if depth > DEEPEST {
            return Err((number, "too many blocks within each other".into()));
        }
        let keyword = match &line.tokens[0].0 {
            Token::Name(name) => name.as_str(),
            _ => "",
        };
        *at += 1;
        let kind = match keyword {
            "if" => conditional(line, lines, at, depth)?,
            "try" => attempt(line, lines, at, depth)?,
            "def" => function(line, lines, at)?,
            "class" | "for" | "while" | "with" | "lambda" | "return" | "raise" | "global"
            | "del" | "exec" | "assert" | "yield" | "async" | "nonlocal" | "elif" | "else"
            | "except" | "finally" => {
                return Err((
                    number,
                    format!("`{keyword}` is not read: no code of a model is run"),
                ));
            }
            _ => {
                simple(line, &mut statements)?;
                continue;
            }
        };
        statements.push(PythonStatement { kind, at: number });
    }
    Ok(statements)
}

/// Parses the indented block after a colon, or the rest of the line.
fn suite(
    parser: &Parser,
    lines: &[LogicalLine],
    at: &mut usize,
    outer: usize,
    depth: usize,
) -> Fallible<Vec<PythonStatement>> {
    let rest = &parser.tokens[parser.at..];
    if !rest.is_empty() {
        let mut statements = Vec::new();
        let line = LogicalLine {
            indent: 0,
            tokens: rest.to_vec(),
        };
        simple(&line, &mut statements)?;
        return Ok(statements);
    }
    match lines.get(*at) {
        Some(line) if line.indent > outer => block(lines, at, line.indent, depth + 1),
        _ => Err((parser.number(), "an indented block must follow".into())),
    }
}

fn conditional(
    line: &LogicalLine,
    lines: &[LogicalLine],
    at: &mut usize,
    depth: usize,
) -> Fallible<StatementKind> {
    let mut parser = Parser::new(line, 1);
    let test = parser.expression()?;
    parser.expect(":")?;
    let yes = suite(&parser, lines, at, line.indent, depth)?;
    let no = otherwise(line, lines, at, depth, "else")?;
    if let Some(next) = follows(line, lines, *at, "elif") {
        return Err((next, "`elif` is not read".into()));
    }
    Ok(StatementKind::If(test, yes, no))
}

/// The line in the file at which a keyword continues a block.
fn follows(line: &LogicalLine, lines: &[LogicalLine], at: usize, keyword: &str) -> Option<usize> {
    let next = lines.get(at).filter(|next| next.indent == line.indent)?;
    (next.tokens[0].0 == Token::Name(keyword.into())).then_some(next.tokens[0].1)
}

/// Parses the block of a keyword at the same indentation, if there is one.
fn otherwise(
    line: &LogicalLine,
    lines: &[LogicalLine],
    at: &mut usize,
    depth: usize,
    keyword: &str,
) -> Fallible<Vec<PythonStatement>> {
    if follows(line, lines, *at, keyword).is_none() {
        return Ok(Vec::new());
    }
    let next = &lines[*at];
    *at += 1;
    let colon = |token: &(Token, usize)| token.0 == Token::Sign(":");
    let colon = next.tokens.iter().position(colon);
    let colon = colon.ok_or((next.tokens[0].1, "`:` was expected".to_owned()))?;
    suite(&Parser::new(next, colon + 1), lines, at, line.indent, depth)
}

fn attempt(
    line: &LogicalLine,
    lines: &[LogicalLine],
    at: &mut usize,
    depth: usize,
) -> Fallible<StatementKind> {
    let mut parser = Parser::new(line, 1);
    parser.expect(":")?;
    let mut tried = suite(&parser, lines, at, line.indent, depth)?;
    let failed = otherwise(line, lines, at, depth, "except")?;
    tried.extend(otherwise(line, lines, at, depth, "else")?);
    Ok(StatementKind::Try(tried, failed))
}

/// Parses `def f(a, b): return formula`; the formula is kept as text.
fn function(line: &LogicalLine, lines: &[LogicalLine], at: &mut usize) -> Fallible<StatementKind> {
    let mut parser = Parser::new(line, 1);
    let number = parser.number();
    let name = parser.name()?;
    parser.expect("(")?;
    let mut arguments = Vec::new();
    while !parser.take(")") {
        arguments.push(parser.name()?);
        if !parser.take(",") {
            parser.expect(")")?;
            break;
        }
    }
    parser.expect(":")?;
    let mut body: Vec<&[(Token, usize)]> = Vec::new();
    if parser.at < parser.tokens.len() {
        body.push(&parser.tokens[parser.at..]);
    }
    while let Some(inner) = lines.get(*at).filter(|l| l.indent > line.indent) {
        // A string on its own is documentation.
        if !matches!(inner.tokens.as_slice(), [(Token::Text(_), _)]) {
            body.push(&inner.tokens);
        }
        *at += 1;
    }
    match body.as_slice() {
        [[(Token::Name(keyword), _), formula @ ..]] if keyword == "return" => {
            let words = formula.iter().map(|(token, _)| match token {
                Token::Name(name) => name.clone(),
                Token::Number(x, _) => format!("{x:?}"),
                Token::Text(text) => format!("{text:?}"),
                Token::Sign(sign) => (*sign).to_owned(),
            });
            // Remove spaces around dots between names.
            let formula = words.collect::<Vec<_>>().join(" ").replace(" . ", ".");
            Ok(StatementKind::Function(name, arguments, formula))
        }
        _ => Err((
            number,
            format!("`def {name}` is more than one formula: no code of a model is run"),
        )),
    }
}

/// Parses a statement of one line.
fn simple(line: &LogicalLine, statements: &mut Vec<PythonStatement>) -> Fallible<()> {
    let mut parser = Parser::new(line, 0);
    let at = parser.number();
    if parser.take_name("pass") {
        statements.push(PythonStatement {
            kind: StatementKind::Pass,
            at,
        });
        return parser.end();
    }
    if parser.take_name("import") {
        loop {
            let module = parser.dotted()?;
            let alias = match parser.take_name("as") {
                true => parser.name()?,
                false => module.split('.').next().unwrap_or_default().to_owned(),
            };
            let kind = StatementKind::Import(module, None, alias);
            statements.push(PythonStatement { kind, at });
            if !parser.take(",") {
                return parser.end();
            }
        }
    }
    if parser.take_name("from") {
        while parser.take(".") {}
        let module = match parser.is_name("import") {
            true => String::new(),
            false => parser.dotted()?,
        };
        if !parser.take_name("import") {
            return Err((at, "`import` was expected".into()));
        }
        if parser.take("*") {
            let kind = StatementKind::ImportAll(module);
            statements.push(PythonStatement { kind, at });
            return parser.end();
        }
        let bracket = parser.take("(");
        loop {
            let name = parser.name()?;
            let alias = match parser.take_name("as") {
                true => parser.name()?,
                false => name.clone(),
            };
            let kind = match module.is_empty() {
                true => StatementKind::Import(name, None, alias),
                false => StatementKind::Import(module.clone(), Some(name), alias),
            };
            statements.push(PythonStatement { kind, at });
            let more = parser.take(",");
            if !more || (bracket && parser.take(")")) {
                if bracket && !more {
                    parser.expect(")")?;
                }
                return parser.end();
            }
        }
    }
    let mut targets = Vec::new();
    let mut value = parser.values()?;
    while parser.take("=") {
        targets.push(std::mem::replace(&mut value, parser.values()?));
    }
    parser.end()?;
    if targets.is_empty() {
        let kind = StatementKind::Expression(value);
        statements.push(PythonStatement { kind, at });
        return Ok(());
    }
    for target in targets {
        let value = value.clone();
        let kind = match target.kind {
            ExpressionKind::Name(name) => StatementKind::Assign(name, value),
            ExpressionKind::Attribute(object, name) => {
                StatementKind::AssignAttribute(*object, name, value)
            }
            ExpressionKind::Tuple(targets) => {
                let names = targets.into_iter().map(|target| match target.kind {
                    ExpressionKind::Name(name) => Ok(name),
                    _ => Err((at, "only names are assigned to together".to_owned())),
                });
                StatementKind::AssignAll(names.collect::<Fallible<_>>()?, value)
            }
            _ => return Err((at, "only names and attributes are assigned to".into())),
        };
        statements.push(PythonStatement { kind, at });
    }
    Ok(())
}

struct Parser<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    depth: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn new(line: &'a LogicalLine, at: usize) -> Self {
        Parser {
            tokens: &line.tokens,
            at,
            depth: 0,
            operators: 0,
        }
    }

    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn number(&self) -> usize {
        let here = self.tokens.get(self.at).or(self.tokens.last());
        here.map_or(0, |(_, number)| *number)
    }

    fn fail<T>(&self, what: &str) -> Fallible<T> {
        Err((self.number(), what.to_owned()))
    }

    fn is_name(&self, expected: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(name)) if name == expected)
    }

    fn take_name(&mut self, expected: &str) -> bool {
        let found = self.is_name(expected);
        self.at += usize::from(found);
        found
    }

    fn is(&self, expected: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(sign)) if *sign == expected)
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = self.is(expected);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, expected: &str) -> Fallible<()> {
        match self.take(expected) {
            true => Ok(()),
            false => self.fail(&format!("`{expected}` was expected")),
        }
    }

    fn name(&mut self) -> Fallible<String> {
        match self.peek() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => self.fail("a name was expected"),
        }
    }

    fn dotted(&mut self) -> Fallible<String> {
        let mut name = self.name()?;
        while self.take(".") {
            name = format!("{name}.{}", self.name()?);
        }
        Ok(name)
    }

    fn end(&self) -> Fallible<()> {
        match self.peek() {
            None => Ok(()),
            Some(Token::Name(name)) => self.fail(&format!("`{name}` was not expected")),
            Some(Token::Sign(sign)) => self.fail(&format!("`{sign}` was not expected")),
            Some(_) => self.fail("a value was not expected"),
        }
    }

    /// Parses an expression, or several separated by commas, which are a tuple.
    fn values(&mut self) -> Fallible<PythonNode> {
        let at = self.number();
        let first = self.expression()?;
        if !self.is(",") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.take(",") {
            if self.peek().is_none() || self.is("=") {
                break;
            }
            all.push(self.expression()?);
        }
        let kind = ExpressionKind::Tuple(all);
        Ok(PythonNode { kind, at })
    }

    fn expression(&mut self) -> Fallible<PythonNode> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail("too many brackets within each other");
        }
        let at = self.number();
        let mut node = if self.take_name("not") {
            let kind = ExpressionKind::Not(self.expression()?.into());
            PythonNode { kind, at }
        } else {
            self.sum()?
        };
        if self.take_name("if") {
            let test_at = self.number();
            let test = match self.take_name("not") {
                true => PythonNode {
                    kind: ExpressionKind::Not(self.sum()?.into()),
                    at: test_at,
                },
                false => self.sum()?,
            };
            if !self.take_name("else") {
                return self.fail("`else` was expected");
            }
            let kind = ExpressionKind::Choice(Box::new([test, node, self.expression()?]));
            node = PythonNode { kind, at };
        }
        for keyword in ["if", "and", "or", "in", "is", "for", "lambda"] {
            if self.is_name(keyword) {
                return self.fail(&format!(
                    "`{keyword}` is not read: no code of a model is run"
                ));
            }
        }
        self.depth -= 1;
        Ok(node)
    }

    /// Consumes a binary operator; returns its line.
    fn operator(&mut self) -> Fallible<usize> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return self.fail("too many operators in one statement");
        }
        self.at += 1;
        Ok(self.tokens[self.at - 1].1)
    }

    fn sum(&mut self) -> Fallible<PythonNode> {
        self.chain(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Fallible<PythonNode> {
        self.chain(&["*", "/"], Self::signed)
    }

    /// Parses operands separated by these operators, from the left.
    fn chain(
        &mut self,
        signs: &[&str],
        operand: fn(&mut Self) -> Fallible<PythonNode>,
    ) -> Fallible<PythonNode> {
        let mut node = operand(self)?;
        loop {
            let sign = match self.peek() {
                Some(Token::Sign(sign)) if signs.contains(sign) => *sign,
                _ => return Ok(node),
            };
            let at = self.operator()?;
            let kind = ExpressionKind::Arithmetic(sign, node.into(), operand(self)?.into());
            node = PythonNode { kind, at };
        }
    }

    fn signed(&mut self) -> Fallible<PythonNode> {
        let at = self.number();
        let mut negative = false;
        loop {
            if self.take("-") {
                negative = !negative;
            } else if !self.take("+") {
                break;
            }
        }
        let mut node = self.postfix()?;
        if self.take("**") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return self.fail("too many powers of powers");
            }
            let kind = ExpressionKind::Arithmetic("**", node.into(), self.signed()?.into());
            self.depth -= 1;
            node = PythonNode { kind, at };
        }
        Ok(match negative {
            true => PythonNode {
                kind: ExpressionKind::Negative(node.into()),
                at,
            },
            false => node,
        })
    }

    fn postfix(&mut self) -> Fallible<PythonNode> {
        let mut node = self.atom()?;
        // A chain of attributes and calls also counts as nesting.
        for _ in 0..DEEPEST {
            let at = self.number();
            if self.take(".") {
                let kind = ExpressionKind::Attribute(node.into(), self.name()?);
                node = PythonNode { kind, at };
            } else if self.take("(") {
                let (positional, named) = self.arguments()?;
                let kind = ExpressionKind::Call(node.into(), positional, named);
                node = PythonNode { kind, at };
            } else if self.is("[") {
                return self.fail("`[` after a value is not read");
            } else {
                return Ok(node);
            }
        }
        self.fail("too many attributes of attributes")
    }

    #[allow(clippy::type_complexity)]
    fn arguments(&mut self) -> Fallible<(Vec<PythonNode>, Vec<(String, PythonNode)>)> {
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        while !self.take(")") {
            let keyword = match (self.peek(), self.tokens.get(self.at + 1)) {
                (Some(Token::Name(name)), Some((Token::Sign("="), _))) => Some(name.clone()),
                _ => None,
            };
            match keyword {
                Some(name) => {
                    self.at += 2;
                    named.push((name, self.expression()?));
                }
                None if self.is("*") || self.is("**") => {
                    return self.fail("`*` before an argument is not read");
                }
                None => positional.push(self.expression()?),
            }
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok((positional, named))
    }

    /// Parses expressions up to a closing bracket; also returns whether there was a comma.
    fn list(&mut self, close: &str) -> Fallible<(Vec<PythonNode>, bool)> {
        let (mut all, mut comma) = (Vec::new(), false);
        while !self.take(close) {
            all.push(self.expression()?);
            if self.take(",") {
                comma = true;
            } else {
                self.expect(close)?;
                break;
            }
        }
        Ok((all, comma))
    }

    fn atom(&mut self) -> Fallible<PythonNode> {
        let at = self.number();
        let Some(token) = self.peek() else {
            return self.fail("a value was expected");
        };
        self.at += 1;
        let kind = match token {
            Token::Number(x, whole) => ExpressionKind::Number(*x, *whole),
            Token::Name(name) if matches!(name.as_str(), "lambda" | "yield" | "await") => {
                self.at -= 1;
                return self.fail(&format!("`{name}` is not read: no code of a model is run"));
            }
            Token::Name(name) => ExpressionKind::Name(name.clone()),
            Token::Text(text) => {
                // Adjacent strings are concatenated.
                let mut text = text.clone();
                while let Some(Token::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                ExpressionKind::Text(text)
            }
            Token::Sign("(") => {
                let (mut all, comma) = self.list(")")?;
                match all.pop() {
                    Some(one) if all.is_empty() && !comma => return Ok(one),
                    last => {
                        all.extend(last);
                        ExpressionKind::Tuple(all)
                    }
                }
            }
            Token::Sign("[") => ExpressionKind::List(self.list("]")?.0),
            Token::Sign("{") => {
                let mut entries = Vec::new();
                while !self.take("}") {
                    let key = self.expression()?;
                    self.expect(":")?;
                    entries.push((key, self.expression()?));
                    if !self.take(",") {
                        self.expect("}")?;
                        break;
                    }
                }
                ExpressionKind::Dict(entries)
            }
            Token::Sign(sign) => {
                self.at -= 1;
                return self.fail(&format!("`{sign}` was not expected"));
            }
        };
        Ok(PythonNode { kind, at })
    }
}
