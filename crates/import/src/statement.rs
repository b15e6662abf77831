//! Fortran statements, as far as MG5aMC writes them.
//!
//! Blanks are insignificant in fixed form, so a statement is recognised as the standard suggests. A name before `=`,
//! possibly with subscripts, is an assignment, or a DO if a comma follows at the outermost level. Everything else
//! starts with its keyword.

use super::expression::{Cursor, FortranExpr, MAX_DEPTH, Parsed};

/// Fortran types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Integer,
    /// In double precision. Quadruple precision, which loops alone need, is evaluated in double.
    Real,
    /// The same.
    Complex,
    /// REAL or COMPLEX in single precision, which no formula of MG5aMC uses.
    Single,
    Logical,
    Character,
}

/// A declared name, with its bounds if it is an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    pub name: String,
    pub dims: Vec<Dim>,
}

/// Bounds of one dimension; a missing upper bound means `*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    pub low: Option<FortranExpr>,
    pub high: Option<FortranExpr>,
}

/// One `targets / values /` of a DATA statement.
#[derive(Clone, Debug, PartialEq)]
pub struct DataGroup {
    pub targets: Vec<DataTarget>,
    /// Values with their repeat counts.
    pub values: Vec<(u64, LiteralValue)>,
}

/// Target of a DATA statement.
#[derive(Clone, Debug, PartialEq)]
pub enum DataTarget {
    /// A variable, an array or an element.
    Element(String, Vec<FortranExpr>),
    /// `(items, variable = from, to, step)`.
    Implied {
        items: Vec<DataTarget>,
        variable: String,
        from: FortranExpr,
        to: FortranExpr,
        step: Option<FortranExpr>,
    },
}

/// A constant in a DATA statement.
#[derive(Clone, Debug, PartialEq)]
pub enum LiteralValue {
    Int(i64),
    Real(f64),
    Complex(f64, f64),
    Logical(bool),
    Text,
    /// A PARAMETER.
    Name(String),
    /// A constant repeated by the value of a PARAMETER.
    Repeated(Box<(String, LiteralValue)>),
}

/// Types of undeclared names by IMPLICIT.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Implicit {
    /// I to N are integers, all others single-precision reals.
    #[default]
    Usual,
    /// NONE.
    None,
    /// First and last letter with their type; other letters as usual.
    Letters(Vec<(u8, u8, Type)>),
}

/// Integers written into a character variable by an implied loop.
#[derive(Clone, Debug, PartialEq)]
pub struct ImpliedDo {
    /// The variable.
    pub name: String,
    /// The expression that is written in each iteration.
    pub item: FortranExpr,
    pub counter: String,
    pub from: FortranExpr,
    pub to: FortranExpr,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Assign(String, Vec<FortranExpr>, FortranExpr),
    Call(String, Vec<FortranExpr>),
    /// `IF (condition) statement`.
    If(FortranExpr, Box<Statement>),
    IfThen(FortranExpr),
    ElseIf(FortranExpr),
    Else,
    EndIf,
    Do {
        variable: String,
        from: FortranExpr,
        to: FortranExpr,
        step: Option<FortranExpr>,
    },
    /// `DO WHILE (condition)`.
    DoWhile(FortranExpr),
    /// A loop without a counter and a condition, or one that ends at a label.
    DoOther,
    EndDo,
    Return,
    Exit,
    Cycle,
    Goto(u32),
    Stop,
    /// IMPLICIT: either every name must be declared, or letters imply types.
    Implicit(Implicit),
    Declare(Type, Vec<Entity>),
    Dimension(Vec<Entity>),
    Parameter(Vec<(String, FortranExpr)>),
    Data(Vec<DataGroup>),
    Common(Vec<(String, Vec<Entity>)>),
    Include(Vec<u8>),
    /// Names that keep their values between calls; an empty list means all of the unit.
    Save(Vec<String>),
    /// `WRITE(HEL_BUFF,'(20I5)')(NHEL(II,I),II=1,NEXTERNAL)`: integers as the text of a variable (an internal WRITE).
    InternalWrite(Box<ImpliedDo>),
    /// A statement that changes no value: other WRITE, CONTINUE and the like.
    Nothing,
    /// An unknown statement: the reason, with the start of its text.
    Other(String),
}

/// Parses one statement. An unknown kind of statement is [`Statement::Other`]; an error is a known one that is
/// malformed.
pub fn parse(text: &[u8]) -> Parsed<Statement> {
    match assignment_shape(text) {
        StatementShape::Assignment => assignment(text),
        StatementShape::Do => do_statement(text),
        StatementShape::Neither => keyword(text),
    }
}

enum StatementShape {
    Assignment,
    Do,
    Neither,
}

/// Returns whether the text is `name = ...` or `name(...) = ...`, and if so whether a comma follows outside
/// parentheses.
fn assignment_shape(text: &[u8]) -> StatementShape {
    let mut cursor = Cursor::new(text);
    if cursor.name().is_err() {
        return StatementShape::Neither;
    }
    let mut pos = cursor.position();
    while text.get(pos) == Some(&b'(') {
        match closing(text, pos) {
            Some(end) => pos = end + 1,
            None => return StatementShape::Neither,
        }
    }
    if text.get(pos) != Some(&b'=') || matches!(text.get(pos + 1), Some(b'=' | b'>')) {
        return StatementShape::Neither;
    }
    if !text.starts_with(b"DO") {
        return StatementShape::Assignment;
    }
    let mut at = pos + 1;
    while at < text.len() {
        match text[at] {
            b'(' => match closing(text, at) {
                Some(end) => at = end,
                None => return StatementShape::Assignment,
            },
            b',' => return StatementShape::Do,
            _ => {}
        }
        at += 1;
    }
    StatementShape::Assignment
}

/// Returns the position of the parenthesis that closes the one at `open`.
fn closing(text: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote = None;
    for (i, &b) in text.iter().enumerate().skip(open) {
        match (quote, b) {
            (Some(q), _) if b == q => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(b),
            (None, b'(') => depth += 1,
            (None, b')') => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

fn assignment(text: &[u8]) -> Parsed<Statement> {
    let mut cursor = Cursor::new(text);
    let name = cursor.name()?;
    let mut subscripts = Vec::new();
    if cursor.accept(b"(") {
        subscripts = cursor.arguments()?;
    }
    if cursor.peek() == Some(b'(') {
        return Ok(other(text)); // a substring
    }
    cursor.expect(b"=")?;
    let value = cursor.expression()?;
    cursor.finish()?;
    Ok(Statement::Assign(name, subscripts, value))
}

fn do_statement(text: &[u8]) -> Parsed<Statement> {
    let mut cursor = Cursor::new(text);
    cursor.expect(b"DO")?;
    if cursor.peek().is_some_and(|b| b.is_ascii_digit()) {
        return Ok(Statement::DoOther);
    }
    let variable = cursor.name()?;
    cursor.expect(b"=")?;
    let from = cursor.expression()?;
    cursor.expect(b",")?;
    let to = cursor.expression()?;
    let step = match cursor.accept(b",") {
        true => Some(cursor.expression()?),
        false => None,
    };
    cursor.finish()?;
    Ok(Statement::Do {
        variable,
        from,
        to,
        step,
    })
}

/// Spellings of types, longest first if one starts with another.
const TYPES: [(&[u8], Type); 19] = [
    (b"DOUBLEPRECISION", Type::Real),
    (b"DOUBLECOMPLEX", Type::Complex),
    (b"COMPLEX*16", Type::Complex),
    (b"COMPLEX*32", Type::Complex),
    (b"COMPLEX*8", Type::Single),
    (b"COMPLEX(KIND=8)", Type::Complex),
    (b"COMPLEX", Type::Single),
    (b"REAL*8", Type::Real),
    (b"REAL*16", Type::Real),
    (b"REAL*4", Type::Single),
    (b"REAL(KIND=8)", Type::Real),
    (b"REAL", Type::Single),
    (b"INTEGER*8", Type::Integer),
    (b"INTEGER*4", Type::Integer),
    (b"INTEGER", Type::Integer),
    (b"LOGICAL*1", Type::Logical),
    (b"LOGICAL*4", Type::Logical),
    (b"LOGICAL", Type::Logical),
    (b"CHARACTER", Type::Character),
];

/// Keywords of statements that change no value that matters here.
const NOTHING: [&[u8]; 18] = [
    b"EXTERNAL",
    b"TYPE(",
    b"INTRINSIC",
    b"CONTINUE",
    b"WRITE(",
    b"PRINT",
    b"FORMAT(",
    b"USE",
    b"INTERFACE",
    b"ENDINTERFACE",
    b"CONTAINS",
    b"OPEN(",
    b"CLOSE(",
    b"FLUSH",
    b"BACKSPACE",
    b"REWIND",
    b"INQUIRE(",
    b"PAUSE",
];

/// Returns the type at the start of a text, and the length of its spelling.
pub fn type_prefix(text: &[u8]) -> Option<(Type, usize)> {
    TYPES
        .iter()
        .find(|(word, _)| text.starts_with(word))
        .map(|(word, ty)| (*ty, word.len()))
}

fn keyword(text: &[u8]) -> Parsed<Statement> {
    let mut cursor = Cursor::new(text);
    if cursor.accept(b"CALL") {
        return call(cursor);
    }
    if text.starts_with(b"IF(") {
        return if_statement(text, 0);
    }
    if cursor.accept(b"ELSEIF(") {
        let condition = cursor.expression()?;
        cursor.expect(b")")?;
        cursor.expect(b"THEN")?;
        cursor.finish()?;
        return Ok(Statement::ElseIf(condition));
    }
    match text {
        b"ELSE" => return Ok(Statement::Else),
        b"ENDIF" => return Ok(Statement::EndIf),
        b"ENDDO" => return Ok(Statement::EndDo),
        b"RETURN" => return Ok(Statement::Return),
        b"EXIT" => return Ok(Statement::Exit),
        b"CYCLE" => return Ok(Statement::Cycle),
        b"IMPLICITNONE" => return Ok(Statement::Implicit(Implicit::None)),
        b"DO" => return Ok(Statement::DoOther),
        _ => {}
    }
    if cursor.accept(b"DOWHILE(") {
        let condition = cursor.expression()?;
        cursor.expect(b")")?;
        cursor.finish()?;
        return Ok(Statement::DoWhile(condition));
    }
    if cursor.accept(b"IMPLICIT") {
        return implicit(cursor).map(Statement::Implicit);
    }
    if text.len() > 4 && text[4..].iter().all(u8::is_ascii_digit) && cursor.accept(b"GOTO") {
        let label = cursor.integer()?;
        cursor.finish()?;
        let label = u32::try_from(label).map_err(|_| "a label is too large")?;
        return Ok(Statement::Goto(label));
    }
    if text.starts_with(b"STOP") {
        return Ok(Statement::Stop);
    }
    if cursor.accept(b"INCLUDE") {
        let name = cursor.text()?;
        cursor.finish()?;
        return Ok(Statement::Include(name));
    }
    if cursor.accept(b"PARAMETER(") {
        return parameter(cursor);
    }
    if cursor.accept(b"DATA") {
        return data(cursor).map(Statement::Data);
    }
    if cursor.accept(b"COMMON") {
        return common(cursor);
    }
    if cursor.accept(b"SAVE") {
        return save(cursor);
    }
    if cursor.accept(b"DIMENSION") {
        let entities = entities(&mut cursor)?;
        cursor.finish()?;
        return Ok(Statement::Dimension(entities));
    }
    if let Some((ty, length)) = type_prefix(text) {
        cursor.skip(length);
        return declaration(text, cursor, ty);
    }
    if text.starts_with(b"WRITE(")
        && let Ok(write) = internal_write(text)
    {
        return Ok(Statement::InternalWrite(Box::new(write)));
    }
    if NOTHING.iter().any(|word| text.starts_with(word)) {
        return Ok(Statement::Nothing);
    }
    Ok(other(text))
}

/// Parses [`Statement::InternalWrite`], in the format in which MG5aMC writes helicities.
fn internal_write(text: &[u8]) -> Parsed<ImpliedDo> {
    let mut cursor = Cursor::new(text);
    cursor.expect(b"WRITE(")?;
    let name = cursor.name()?;
    cursor.expect(b",")?;
    if !cursor.text()?.eq_ignore_ascii_case(b"(20I5)") {
        return Err("another format".into());
    }
    cursor.expect(b")(")?;
    let item = cursor.expression()?;
    cursor.expect(b",")?;
    let counter = cursor.name()?;
    cursor.expect(b"=")?;
    let from = cursor.expression()?;
    cursor.expect(b",")?;
    let to = cursor.expression()?;
    cursor.expect(b")")?;
    cursor.finish()?;
    Ok(ImpliedDo {
        name,
        item,
        counter,
        from,
        to,
    })
}

fn other(text: &[u8]) -> Statement {
    Statement::Other(format!("cannot read `{}`", start_of(text)))
}

/// Returns the start of a statement, for a message.
pub fn start_of(text: &[u8]) -> String {
    let cut = &text[..text.len().min(60)];
    String::from_utf8_lossy(cut).escape_debug().to_string()
}

/// Parses `IMPLICIT REAL*8 (A-H, O-Z), ...` after its keyword.
fn implicit(mut cursor: Cursor) -> Parsed<Implicit> {
    let mut letters = Vec::new();
    loop {
        let (ty, length) = type_prefix(cursor.rest()).ok_or("an IMPLICIT without a type")?;
        cursor.skip(length);
        cursor.expect(b"(")?;
        loop {
            let from = cursor.name()?;
            let to = match cursor.accept(b"-") {
                true => cursor.name()?,
                false => from.clone(),
            };
            match (from.as_bytes(), to.as_bytes()) {
                (&[from], &[to]) if from <= to => letters.push((from, to, ty)),
                _ => return Err("IMPLICIT takes letters".into()),
            }
            if cursor.accept(b")") {
                break;
            }
            cursor.expect(b",")?;
        }
        if cursor.at_end() {
            return Ok(Implicit::Letters(letters));
        }
        cursor.expect(b",")?;
    }
}

fn call(mut cursor: Cursor) -> Parsed<Statement> {
    let name = cursor.name()?;
    let mut arguments = Vec::new();
    if cursor.accept(b"(") {
        arguments = cursor.arguments()?;
    }
    cursor.finish()?;
    Ok(Statement::Call(name, arguments))
}

fn if_statement(text: &[u8], depth: u32) -> Parsed<Statement> {
    if depth > MAX_DEPTH {
        return Err("IF statements nest too deep".into());
    }
    let mut cursor = Cursor::new(text);
    cursor.expect(b"IF(")?;
    let condition = cursor.expression()?;
    cursor.expect(b")")?;
    if cursor.rest() == b"THEN" {
        return Ok(Statement::IfThen(condition));
    }
    let rest = cursor.rest();
    let inner = if rest.starts_with(b"IF(") {
        if_statement(rest, depth + 1)?
    } else {
        parse(rest)?
    };
    Ok(Statement::If(condition, Box::new(inner)))
}

fn parameter(mut cursor: Cursor) -> Parsed<Statement> {
    let mut constants = Vec::new();
    loop {
        let name = cursor.name()?;
        cursor.expect(b"=")?;
        constants.push((name, cursor.expression()?));
        if cursor.accept(b")") {
            cursor.finish()?;
            return Ok(Statement::Parameter(constants));
        }
        cursor.expect(b",")?;
    }
}

fn declaration(text: &[u8], mut cursor: Cursor, ty: Type) -> Parsed<Statement> {
    if ty == Type::Character && !skip_length(&mut cursor) {
        return Ok(other(text));
    }
    if let Some(colons) = find(cursor.rest(), b"::") {
        // Attributes before `::`: PARAMETER is handled, INTENT changes nothing.
        let attributes = &cursor.rest()[..colons];
        if find(attributes, b"PARAMETER").is_some() {
            cursor.skip(colons + 2);
            let mut constants = Vec::new();
            loop {
                let name = cursor.name()?;
                cursor.expect(b"=")?;
                constants.push((name, cursor.expression()?));
                if !cursor.accept(b",") {
                    cursor.finish()?;
                    return Ok(Statement::Parameter(constants));
                }
            }
        }
        if !attributes.is_empty() && !attributes.starts_with(b",INTENT(") {
            return Ok(other(text));
        }
        cursor.skip(colons + 2);
    } else if !cursor.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
        return Ok(other(text));
    }
    let entities = entities(&mut cursor)?;
    if !cursor.at_end() {
        return Ok(other(text));
    }
    Ok(Statement::Declare(ty, entities))
}

/// Skips the length of a CHARACTER type: `*20`, `*(*)` or `(512)`.
fn skip_length(cursor: &mut Cursor) -> bool {
    if cursor.accept(b"*") && cursor.integer().is_ok() {
        return true;
    }
    if cursor.peek() == Some(b'(') {
        match closing(cursor.rest(), 0) {
            Some(end) => cursor.skip(end + 1),
            None => return false,
        }
    }
    true
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|w| w == what)
}

fn entities(cursor: &mut Cursor) -> Parsed<Vec<Entity>> {
    let mut entities = Vec::new();
    loop {
        entities.push(entity(cursor)?);
        // `COMMON /A/ X, /B/ Y`: the comma before a block does not continue the list.
        if cursor.rest().starts_with(b",/") || !cursor.accept(b",") {
            return Ok(entities);
        }
    }
}

fn entity(cursor: &mut Cursor) -> Parsed<Entity> {
    let name = cursor.name()?;
    let mut dims = Vec::new();
    if cursor.accept(b"(") {
        for bound in cursor.arguments()? {
            dims.push(match bound {
                FortranExpr::Range(low, high) => Dim {
                    low: low.map(|e| *e),
                    high: high.map(|e| *e),
                },
                high => Dim {
                    low: None,
                    high: Some(high),
                },
            });
        }
    }
    Ok(Entity { name, dims })
}

fn common(mut cursor: Cursor) -> Parsed<Statement> {
    let mut blocks = Vec::new();
    loop {
        let mut block = String::new();
        if cursor.accept(b"/") {
            if cursor.peek() != Some(b'/') {
                block = cursor.name()?;
            }
            cursor.expect(b"/")?;
        }
        blocks.push((block, entities(&mut cursor)?));
        cursor.accept(b",");
        if cursor.peek() != Some(b'/') {
            cursor.finish()?;
            return Ok(Statement::Common(blocks));
        }
    }
}

/// Parses `SAVE`, `SAVE A, B` or `SAVE :: A, B`; COMMON blocks among the names are saved anyway.
fn save(mut cursor: Cursor) -> Parsed<Statement> {
    let mut names = Vec::new();
    if cursor.at_end() {
        return Ok(Statement::Save(names));
    }
    cursor.accept(b"::");
    loop {
        if cursor.accept(b"/") {
            cursor.name()?;
            cursor.expect(b"/")?;
        } else {
            names.push(cursor.name()?);
        }
        if cursor.at_end() {
            return Ok(Statement::Save(names));
        }
        cursor.expect(b",")?;
    }
}

fn data(mut cursor: Cursor) -> Parsed<Vec<DataGroup>> {
    let mut groups = Vec::new();
    loop {
        let mut targets = Vec::new();
        loop {
            targets.push(data_target(&mut cursor, 0)?);
            if cursor.accept(b"/") {
                break;
            }
            cursor.expect(b",")?;
        }
        let values = data_values(&mut cursor)?;
        groups.push(DataGroup { targets, values });
        if cursor.at_end() {
            return Ok(groups);
        }
        cursor.accept(b",");
    }
}

fn data_target(cursor: &mut Cursor, depth: u32) -> Parsed<DataTarget> {
    if depth > 7 {
        return Err("a DATA statement nests too deep".into());
    }
    if !cursor.accept(b"(") {
        let name = cursor.name()?;
        let subscripts = match cursor.accept(b"(") {
            true => cursor.arguments()?,
            false => Vec::new(),
        };
        return Ok(DataTarget::Element(name, subscripts));
    }
    let mut items = Vec::new();
    loop {
        // `I=1,4` ends the list: a name directly followed by `=`.
        let mut ahead = cursor.clone();
        if let Ok(variable) = ahead.name()
            && ahead.accept(b"=")
        {
            *cursor = ahead;
            let from = cursor.expression()?;
            cursor.expect(b",")?;
            let to = cursor.expression()?;
            let step = match cursor.accept(b",") {
                true => Some(cursor.expression()?),
                false => None,
            };
            cursor.expect(b")")?;
            return Ok(DataTarget::Implied {
                items,
                variable,
                from,
                to,
                step,
            });
        }
        items.push(data_target(cursor, depth + 1)?);
        cursor.expect(b",")?;
    }
}

fn data_values(cursor: &mut Cursor) -> Parsed<Vec<(u64, LiteralValue)>> {
    let mut values = Vec::new();
    loop {
        let value = constant(cursor)?;
        match value {
            LiteralValue::Int(times) if cursor.accept(b"*") => {
                let times = u64::try_from(times).map_err(|_| "a negative repeat count")?;
                values.push((times, constant(cursor)?));
            }
            LiteralValue::Name(times) if cursor.accept(b"*") => {
                let value = constant(cursor)?;
                values.push((1, LiteralValue::Repeated(Box::new((times, value)))));
            }
            _ => values.push((1, value)),
        }
        if cursor.accept(b"/") {
            return Ok(values);
        }
        cursor.expect(b",")?;
    }
}

fn constant(cursor: &mut Cursor) -> Parsed<LiteralValue> {
    match cursor.peek() {
        Some(b'.') if cursor.accept(b".TRUE.") => Ok(LiteralValue::Logical(true)),
        Some(b'.') if cursor.accept(b".FALSE.") => Ok(LiteralValue::Logical(false)),
        Some(b'\'' | b'"') => cursor.text().map(|_| LiteralValue::Text),
        Some(b'(') => {
            cursor.skip(1);
            let re = signed(cursor)?;
            cursor.expect(b",")?;
            let im = signed(cursor)?;
            cursor.expect(b")")?;
            Ok(LiteralValue::Complex(re.real()?, im.real()?))
        }
        Some(b) if b.is_ascii_alphabetic() => cursor.name().map(LiteralValue::Name),
        _ => signed(cursor),
    }
}

fn signed(cursor: &mut Cursor) -> Parsed<LiteralValue> {
    let negative = cursor.accept(b"-");
    if !negative {
        cursor.accept(b"+");
    }
    match cursor.number()? {
        FortranExpr::Int(i) => Ok(LiteralValue::Int(if negative { -i } else { i })),
        FortranExpr::Real(x) => Ok(LiteralValue::Real(if negative { -x } else { x })),
        FortranExpr::Single(x) => {
            let x = f64::from(x);
            Ok(LiteralValue::Real(if negative { -x } else { x }))
        }
        _ => Err("expected a number".into()),
    }
}

impl LiteralValue {
    /// Returns the value of a real or integer constant.
    pub fn real(&self) -> Parsed<f64> {
        match self {
            LiteralValue::Int(i) => Ok(*i as f64),
            LiteralValue::Real(x) => Ok(*x),
            _ => Err("expected a real constant".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Statement {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn tells_assignments_from_loops_and_keywords() {
        assert!(matches!(read("DOI=1,3"), Statement::Do { variable, .. } if variable == "I"));
        assert!(matches!(read("DOI=MAX(1,3)"), Statement::Assign(n, ..) if n == "DOI"));
        assert!(matches!(read("IF(A)=1"), Statement::Assign(n, ..) if n == "IF"));
        assert!(matches!(read("IF(A.EQ.1)B=2"), Statement::If(..)));
        assert!(matches!(read("IF(A==1)THEN"), Statement::IfThen(..)));
        assert!(
            matches!(read("CALLCOUP1()"), Statement::Call(n, a) if n == "COUP1" && a.is_empty())
        );
        assert_eq!(read("IMPLICITNONE"), Statement::Implicit(Implicit::None));
        assert_eq!(read("GOTO10"), Statement::Goto(10));
        assert!(matches!(read("GOTO(10,20),I"), Statement::Other(_)));
    }

    #[test]
    fn reads_declarations() {
        let Statement::Declare(ty, entities) = read("REAL*8P(0:3,NEXTERNAL),ANS,V(*)") else {
            panic!()
        };
        assert_eq!(ty, Type::Real);
        assert_eq!(entities.len(), 3);
        assert_eq!(entities[0].dims.len(), 2);
        assert_eq!(entities[0].dims[0].low, Some(FortranExpr::Int(0)));
        assert_eq!(entities[2].dims[0].high, None);
        let Statement::Common(blocks) = read("COMMON/A/X,Y/B/Z(2)") else {
            panic!()
        };
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].1.len(), 2);
    }

    #[test]
    fn reads_data() {
        let Statement::Data(groups) = read("DATA(CF(I),I=1,3)/16,2*-4/,A,B/(0D0,1D0),.TRUE./")
        else {
            panic!()
        };
        assert_eq!(groups.len(), 2);
        assert_eq!(
            groups[0].values,
            [(1, LiteralValue::Int(16)), (2, LiteralValue::Int(-4))]
        );
        assert_eq!(
            groups[1].values,
            [
                (1, LiteralValue::Complex(0.0, 1.0)),
                (1, LiteralValue::Logical(true))
            ]
        );
    }
}
