//! Statements that users have added to the cuts of MadEvent (`PASSCUTS` of `cuts.f`), between those of MG5aMC.
//!
//! They are run alone, so they may neither use what the statements around them compute nor change what these use, and
//! must be where no jump passes over them.

use super::{FortranText, PASSCUTS, fault};
use crate::expression::FortranExpr;
use crate::program_unit::units_of;
use crate::source::SourceFile;
use crate::statement::{self, DataTarget, Statement};
use mebridge_process::arith::Comparison;
use mebridge_support::error::Result;
use mebridge_support::sorted::SortedSet;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

/// The statement with which [`PASSCUTS`] begins, and the one after which it is left.
const START: &[u8] = b"PASSCUTS=.TRUE.";
const DONE: &[u8] = b"CUTSPASSED=.TRUE.";
/// Files of MG5aMC that users may include.
const INCLUDED: [&[u8]; 4] = [b"leshouche.inc", b"maxamps.inc", b"pmass.inc", b"coupl.inc"];

/// Cuts that a user has added to MadEvent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedCuts {
    /// The file, in which MG5aMC's statements of [`PASSCUTS`] do not count.
    pub file: FortranText,
    /// Variables, in upper case, that may not be positive: MadEvent may jump over what is added if they are.
    pub not_positive: SortedSet<String>,
}

/// Statements of a routine that belong together: one outside of blocks, or a block.
#[derive(Debug)]
struct StatementGroup {
    /// Number of the first one in the file.
    first: usize,
    statements: Vec<Statement>,
    text: Vec<u8>,
    is_added: bool,
    is_declaration: bool,
}

impl StatementGroup {
    fn numbers(&self) -> Range<usize> {
        self.first..self.first + self.statements.len()
    }
}

/// Returns the texts of the statements of [`PASSCUTS`] in a file, those of a block together, in the form of
/// [`crate::FortranRoutine`].
pub fn statements_of_cuts(path: &Path, bytes: &[u8]) -> Vec<Vec<u8>> {
    let source = Rc::new(SourceFile::parse(path, bytes));
    let found = passcuts(&source).map(|routine| groups(&source, routine, &|_| true));
    let found = found.into_iter().flatten();
    found.map(|group| group.text).collect()
}

/// Finds what a user has added to [`PASSCUTS`] in a file. `is_known` tells which statements MG5aMC writes, and `is_written`
/// whether the routine without the others is one of MG5aMC; if it is not, there is no result.
///
/// # Errors
/// The added statements cannot be run without the others.
pub fn added_to_cuts(
    path: &Path,
    bytes: &[u8],
    is_known: &dyn Fn(&[u8]) -> bool,
    is_written: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<AddedCuts>> {
    let source = Rc::new(SourceFile::parse(path, bytes));
    let Some(routine) = passcuts(&source) else {
        return Ok(None);
    };
    let groups = groups(&source, routine, is_known);
    let own: Vec<u8> = groups
        .iter()
        .filter(|group| !group.is_added)
        .flat_map(|group| group.text.iter().copied())
        .collect();
    if !is_written(&own) {
        return Ok(None);
    }
    let not_positive = check(&source, &groups)?;
    let start = groups
        .iter()
        .position(|group| !group.is_added && group.text.trim_ascii_end() == START);
    let last = groups.len() - 1;
    let left_out = groups.iter().enumerate();
    let left_out = left_out.filter(|(number, group)| {
        !group.is_added
            && !group.is_declaration
            && Some(*number) != start
            && ![0, last].contains(number)
    });
    let file = FortranText {
        path: path.to_owned(),
        text: bytes.to_vec(),
        without: SortedSet::new(),
        left_out: left_out.flat_map(|(_, group)| group.numbers()).collect(),
    };
    Ok(Some(AddedCuts { file, not_positive }))
}

/// The statements of the routine, with its header and its END.
fn passcuts(source: &Rc<SourceFile>) -> Option<Range<usize>> {
    let unit = units_of(source)
        .into_iter()
        .find(|unit| unit.name == PASSCUTS)?;
    (unit.end < source.len()).then_some(unit.header..unit.end + 1)
}

fn groups(
    source: &SourceFile,
    routine: Range<usize>,
    is_known: &dyn Fn(&[u8]) -> bool,
) -> Vec<StatementGroup> {
    let mut found = Vec::new();
    let (mut depth, mut text, mut statements) = (0, Vec::new(), Vec::new());
    for number in routine.clone() {
        if source.label(number) != 0 {
            text.extend(format!("{} ", source.label(number)).into_bytes());
        }
        text.extend(source.text(number));
        text.push(b'\n');
        let statement = statement::parse(source.text(number)).unwrap_or_else(Statement::Other);
        depth += nesting(&statement);
        statements.push(statement);
        if depth <= 0 || number + 1 == routine.end {
            let text = std::mem::take(&mut text);
            let statements = std::mem::take(&mut statements);
            // The one of MG5aMC stands before the END.
            let returns = text.trim_ascii_end() == b"RETURN" && number + 2 < routine.end;
            found.push(StatementGroup {
                first: number + 1 - statements.len(),
                is_added: returns || !is_known(&text),
                is_declaration: matches!(&statements[..], [one] if declares(one, source.text(number))),
                statements,
                text,
            });
        }
    }
    found
}

/// Whether a statement with this text declares something.
fn declares(statement: &Statement, text: &[u8]) -> bool {
    match statement {
        Statement::Implicit(_)
        | Statement::Declare(..)
        | Statement::Dimension(_)
        | Statement::Parameter(_)
        | Statement::Data(_)
        | Statement::Common(_)
        | Statement::Include(_)
        | Statement::Save(_) => true,
        _ => text.starts_with(b"EXTERNAL") || text.starts_with(b"INTRINSIC"),
    }
}

/// Names that statements use.
#[derive(Debug, Default)]
struct Names {
    read: SortedSet<String>,
    set: SortedSet<String>,
    declared: SortedSet<String>,
}

impl Names {
    fn contain(&self, name: &str) -> bool {
        [&self.read, &self.set, &self.declared]
            .iter()
            .any(|names| names.contains(name))
    }

    fn expr(&mut self, expr: &FortranExpr) {
        match expr {
            FortranExpr::Name(name) | FortranExpr::Component(name) => {
                self.read.insert(name.clone());
            }
            FortranExpr::Apply(name, arguments) => {
                self.read.insert(name.clone());
                arguments.iter().for_each(|argument| self.expr(argument));
            }
            FortranExpr::Sum(parts) | FortranExpr::Product(parts) => {
                parts.iter().for_each(|(_, part)| self.expr(part));
            }
            FortranExpr::Complex(both)
            | FortranExpr::Power(both)
            | FortranExpr::Compare(_, both) => {
                self.expr(&both.0);
                self.expr(&both.1);
            }
            FortranExpr::Not(inner) => self.expr(inner),
            FortranExpr::And(parts) | FortranExpr::Or(parts) => {
                parts.iter().for_each(|part| self.expr(part));
            }
            FortranExpr::Range(from, to) => {
                let both = [from, to].into_iter().flatten();
                both.for_each(|part| self.expr(part));
            }
            FortranExpr::Int(_)
            | FortranExpr::Real(_)
            | FortranExpr::Single(_)
            | FortranExpr::Logical(_)
            | FortranExpr::Text(_)
            | FortranExpr::Kind(_) => {}
        }
    }

    fn exprs<'a>(&mut self, all: impl IntoIterator<Item = &'a FortranExpr>) {
        all.into_iter().for_each(|expr| self.expr(expr));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign(name, subscripts, value) => {
                self.set.insert(name.clone());
                self.exprs(subscripts.iter().chain([value]));
            }
            Statement::Call(_, arguments) => {
                for argument in arguments {
                    if let FortranExpr::Name(name) | FortranExpr::Apply(name, _) = argument {
                        self.set.insert(name.clone());
                    }
                    self.expr(argument);
                }
            }
            Statement::If(condition, inner) => {
                self.expr(condition);
                self.statement(inner);
            }
            Statement::IfThen(condition)
            | Statement::ElseIf(condition)
            | Statement::DoWhile(condition) => self.expr(condition),
            Statement::Do {
                variable,
                from,
                to,
                step,
            } => {
                self.set.insert(variable.clone());
                self.exprs([from, to].into_iter().chain(step));
            }
            Statement::InternalWrite(written) => {
                self.set
                    .extend([written.name.clone(), written.counter.clone()]);
                self.exprs([&written.item, &written.from, &written.to]);
            }
            Statement::Declare(_, entities) | Statement::Dimension(entities) => {
                let names = entities.iter().map(|entity| entity.name.clone());
                self.declared.extend(names);
            }
            Statement::Parameter(constants) => {
                self.declared
                    .extend(constants.iter().map(|(name, _)| name.clone()));
            }
            Statement::Common(blocks) => {
                let entities = blocks.iter().flat_map(|(_, entities)| entities);
                self.declared
                    .extend(entities.map(|entity| entity.name.clone()));
            }
            Statement::Save(names) => self.declared.extend(names.iter().cloned()),
            Statement::Data(groups) => {
                for target in groups.iter().flat_map(|group| &group.targets) {
                    self.target(target);
                }
            }
            _ => {}
        }
    }

    fn target(&mut self, target: &DataTarget) {
        match target {
            DataTarget::Element(name, _) => {
                self.declared.insert(name.clone());
            }
            DataTarget::Implied { items, .. } => items.iter().for_each(|item| self.target(item)),
        }
    }
}

/// Checks that what is added can be run without the other statements; see [`AddedCuts::not_positive`] for the result.
fn check(source: &SourceFile, groups: &[StatementGroup]) -> Result<SortedSet<String>> {
    let fail = |number: usize, what: String| fault(&source.path, source.line(number), what);
    let (mut own, mut own_declared, mut added) =
        (Names::default(), Names::default(), Names::default());
    for group in groups {
        let names = match (group.is_added, group.is_declaration) {
            (true, _) => &mut added,
            (false, true) => &mut own_declared,
            (false, false) => &mut own,
        };
        group.statements.iter().for_each(|one| names.statement(one));
    }
    let result = |name: &str| name == PASSCUTS || name == "P";
    let mut not_positive = SortedSet::new();
    let done = groups
        .iter()
        .position(|group| !group.is_added && group.text.trim_ascii_end() == DONE);
    for (place, group) in groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.is_added)
    {
        let first = group.first;
        if group.is_declaration {
            declaration(&group.statements[0], &own, &own_declared)
                .map_err(|what| fail(first, what))?;
            continue;
        }
        if done.is_some_and(|done| done < place) {
            let what =
                "it is added after MadEvent has passed the point: put it before CUTSPASSED=.TRUE.";
            return Err(fail(first, what.to_owned()));
        }
        not_positive.extend(jumps_over(source, groups, place).map_err(|label| {
            let what = format!(
                "it is added where MadEvent may jump over it, to the label {label}: put it elsewhere"
            );
            fail(first, what)
        })?);
        for (number, statement) in group.numbers().zip(&group.statements) {
            let mut names = Names::default();
            names.statement(statement);
            let set_by_own = |name: &&String| {
                own.set.contains(*name) && !added.set.contains(*name) && !result(name)
            };
            if let Some(name) = names.read.iter().find(set_by_own) {
                let what = format!(
                    "{name} is set by MadEvent's statements of {PASSCUTS}, which are not run here: compute it in statements \
                     of your own, with another name"
                );
                return Err(fail(number, what));
            }
            let used_by_own =
                |name: &&String| own.contain(name) && !result(name) && !is_counter(groups, name);
            if let Some(name) = names.set.iter().find(used_by_own) {
                let what = format!(
                    "{name} is changed, which MadEvent's statements of {PASSCUTS} use: give it another name"
                );
                return Err(fail(number, what));
            }
        }
    }
    Ok(not_positive)
}

/// Checks a declaration that is added.
fn declaration(
    statement: &Statement,
    own: &Names,
    own_declared: &Names,
) -> std::result::Result<(), String> {
    match statement {
        Statement::Implicit(_) => return Err("an IMPLICIT is added".to_owned()),
        Statement::Save(names) if names.is_empty() => {
            return Err("a SAVE of all variables is added: list those of your own".to_owned());
        }
        Statement::Include(name) if !INCLUDED.contains(&&**name) => {
            return Err(format!(
                "an INCLUDE of {} is added: write what it contains",
                String::from_utf8_lossy(name)
            ));
        }
        _ => {}
    }
    let mut names = Names::default();
    names.statement(statement);
    let known = |name: &&String| own.contain(name) || own_declared.contain(name);
    match names.declared.iter().find(known) {
        Some(name) => Err(format!(
            "{name} is declared, which MadEvent's statements of {PASSCUTS} use: give it another name"
        )),
        None => Ok(()),
    }
}

/// Variables of which one is positive if MG5aMC's statements jump over a group; an error is the label of a jump under
/// other conditions.
fn jumps_over(
    source: &SourceFile,
    groups: &[StatementGroup],
    place: usize,
) -> std::result::Result<SortedSet<String>, u32> {
    let goto = |statement: &Statement| match statement {
        Statement::Goto(label) => Some(*label),
        Statement::If(_, inner) => match **inner {
            Statement::Goto(label) => Some(label),
            _ => None,
        },
        _ => None,
    };
    let (before, after) = groups.split_at(place);
    let own = |group: &&StatementGroup| !group.is_added;
    let after: SortedSet<u32> = after
        .iter()
        .filter(own)
        .flat_map(StatementGroup::numbers)
        .map(|number| source.label(number))
        .collect();
    let mut found = SortedSet::new();
    for group in before.iter().filter(own) {
        let mut labels = group.statements.iter().filter_map(goto);
        if let Some(label) = labels.find(|label| after.contains(label)) {
            let names = match &group.statements[0] {
                // The condition of the whole block.
                Statement::IfThen(condition) if !has_branches(group) => positive(condition),
                _ => None,
            };
            found.extend(names.ok_or(label)?);
        }
    }
    Ok(found)
}

/// Whether an IF block has an ELSE of its own.
fn has_branches(group: &StatementGroup) -> bool {
    let mut depth = 0;
    group.statements.iter().any(|statement| {
        depth += nesting(statement);
        depth == 1 && matches!(statement, Statement::Else | Statement::ElseIf(_))
    })
}

/// By how much a statement changes the depth of blocks.
fn nesting(statement: &Statement) -> i32 {
    match statement {
        Statement::IfThen(_)
        | Statement::Do { .. }
        | Statement::DoWhile(_)
        | Statement::DoOther => 1,
        Statement::EndIf | Statement::EndDo => -1,
        _ => 0,
    }
}

/// The variables of a condition that one of them is above 0.
fn positive(condition: &FortranExpr) -> Option<Vec<String>> {
    match condition {
        FortranExpr::Or(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(positive).collect();
            parts.map(|parts| parts.concat())
        }
        FortranExpr::Compare(Comparison::Gt, sides) => match &**sides {
            (FortranExpr::Name(name), FortranExpr::Real(0.0) | FortranExpr::Int(0)) => {
                Some(vec![name.clone()])
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a name counts loops of MG5aMC's statements, each of which sets it first.
fn is_counter(groups: &[StatementGroup], name: &str) -> bool {
    let own = groups
        .iter()
        .filter(|group| !group.is_added && !group.is_declaration);
    own.into_iter().all(|group| {
        let mut statements = group.statements.iter().map(|statement| {
            let mut names = Names::default();
            names.statement(statement);
            (statement, names)
        });
        match statements.find(|(_, names)| names.contain(name)) {
            None => true,
            Some((Statement::Do { variable, .. }, names)) => {
                variable == name && !names.read.contains(name)
            }
            Some(_) => false,
        }
    })
}
