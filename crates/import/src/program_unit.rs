//! Program units, and the library of all units of a directory.
//!
//! Files are split into units immediately, but a unit is parsed only when it is needed: MG5aMC's directories hold much
//! that is unrelated to matrix elements.

use super::dependencies;
use super::expression::{Cursor, FortranExpr};
use super::source::SourceFile;
use super::statement::{self, Statement, Type, type_prefix};
use mebridge_support::error::{Error, Result};
use once_cell::unsync::OnceCell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Deepest nesting of IF and DO blocks.
const MAX_BLOCKS: usize = 50;

/// A subroutine or function.
#[derive(Debug)]
pub struct ProgramUnit {
    pub name: String,
    /// Names of the dummy arguments.
    pub arguments: Vec<String>,
    /// The name of a function's result, and its type if the header has it.
    pub result: Option<(String, Option<Type>)>,
    pub source: Rc<SourceFile>,
    /// Index of the header statement.
    pub header: usize,
    /// Index of the statement after the body.
    pub end: usize,
    /// The body, once parsed.
    blocks: OnceCell<Rc<Vec<BlockNode>>>,
}

/// A statement in the block structure.
#[derive(Clone, Debug)]
pub struct BlockNode {
    pub line: u32,
    /// Label, 0 if there is none.
    pub label: u32,
    pub kind: NodeKind,
}

/// Kind of a [`BlockNode`].
#[derive(Clone, Debug)]
pub enum NodeKind {
    Plain(Statement),
    /// Branches with their conditions; ELSE has none.
    If(Vec<(Option<FortranExpr>, Vec<BlockNode>)>),
    Do {
        variable: String,
        from: FortranExpr,
        to: FortranExpr,
        step: Option<FortranExpr>,
        body: Vec<BlockNode>,
    },
    /// A loop with a condition.
    DoWhile(FortranExpr, Vec<BlockNode>),
    /// A loop of another kind.
    DoOther(Vec<BlockNode>),
}

impl ProgramUnit {
    /// Returns the body as blocks.
    pub fn body(&self) -> Result<Rc<Vec<BlockNode>>> {
        let read = || blocks(&self.source, self.header + 1, self.end).map(Rc::new);
        self.blocks.get_or_try_init(read).cloned()
    }

    /// Returns an error at the line of the header.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::Fortran {
            file: self.source.path.clone(),
            line: self.source.line(self.header),
            what: what.into(),
        }
    }
}

/// Splits a file into units.
pub fn units_of(source: &Rc<SourceFile>) -> Vec<ProgramUnit> {
    let mut units = Vec::new();
    let mut open: Option<ProgramUnit> = None;
    for i in 0..source.len() {
        let text = source.text(i);
        let ends = text == b"END"
            || text.starts_with(b"ENDSUBROUTINE")
            || text.starts_with(b"ENDFUNCTION")
            || text.starts_with(b"ENDPROGRAM");
        if ends {
            if let Some(mut unit) = open.take() {
                unit.end = i;
                units.push(unit);
            }
        } else if open.is_none() {
            open = header(text).map(|(name, arguments, result)| ProgramUnit {
                name,
                arguments,
                result,
                source: source.clone(),
                header: i,
                end: source.len(),
                blocks: OnceCell::new(),
            });
        }
    }
    units.extend(open);
    units
}

type Header = (String, Vec<String>, Option<(String, Option<Type>)>);

/// Reads the header of a unit, if the text is one.
fn header(text: &[u8]) -> Option<Header> {
    let mut cursor = Cursor::new(text);
    cursor.accept(b"RECURSIVE");
    if cursor.accept(b"SUBROUTINE") || cursor.accept(b"PROGRAM") {
        let name = cursor.name().ok()?;
        return Some((name, dummies(&mut cursor)?, None));
    }
    let mut ty = None;
    if let Some((found, length)) = type_prefix(cursor.rest()) {
        ty = Some(found);
        cursor.skip(length);
    }
    if !cursor.accept(b"FUNCTION") {
        return None;
    }
    let name = cursor.name().ok()?;
    let arguments = dummies(&mut cursor)?;
    let mut result = name.clone();
    if cursor.accept(b"RESULT(") {
        result = cursor.name().ok()?;
    }
    Some((name, arguments, Some((result, ty))))
}

fn dummies(cursor: &mut Cursor) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if !cursor.accept(b"(") || cursor.accept(b")") {
        return Some(names);
    }
    loop {
        names.push(cursor.name().ok()?);
        if cursor.accept(b")") {
            return Some(names);
        }
        if !cursor.accept(b",") {
            return None;
        }
    }
}

/// Reads statements into blocks.
#[expect(clippy::too_many_lines, reason = "a case for each statement")]
pub fn blocks(source: &SourceFile, from: usize, to: usize) -> Result<Vec<BlockNode>> {
    let mut stack: Vec<Open> = Vec::new();
    let mut nodes: Vec<BlockNode> = Vec::new();
    for i in from..to {
        let line = source.line(i);
        let fail = |what: String| Error::Fortran {
            file: source.path.clone(),
            line,
            what,
        };
        let label = source.label(i);
        let statement = match statement::parse(source.text(i)) {
            Ok(statement) => statement,
            // If it may open or close a block, the structure of what follows is unknown.
            Err(what) if changes_blocks(source.text(i)) => return Err(fail(what)),
            Err(what) => Statement::Other(what),
        };
        match statement {
            Statement::IfThen(condition) => {
                if label != 0 {
                    nodes.push(labelled(line, label));
                }
                let outer = std::mem::take(&mut nodes);
                stack.push(Open::If {
                    line,
                    outer,
                    done: Vec::new(),
                    condition: Some(condition),
                });
            }
            Statement::ElseIf(_) | Statement::Else => {
                let next = match statement {
                    Statement::ElseIf(condition) => Some(condition),
                    _ => None,
                };
                match stack.last_mut() {
                    Some(Open::If {
                        done, condition, ..
                    }) => {
                        let branch = std::mem::take(&mut nodes);
                        done.push((std::mem::replace(condition, next), branch));
                    }
                    _ => return Err(fail("ELSE without IF".into())),
                }
            }
            Statement::EndIf => match closed(&mut stack, &mut nodes, line, label) {
                Some(Open::If {
                    line,
                    outer,
                    mut done,
                    condition,
                }) => {
                    done.push((condition, std::mem::replace(&mut nodes, outer)));
                    nodes.push(BlockNode {
                        line,
                        label: 0,
                        kind: NodeKind::If(done),
                    });
                }
                _ => return Err(fail("ENDIF without IF".into())),
            },
            Statement::Do { .. } | Statement::DoWhile(_) | Statement::DoOther => {
                if label != 0 {
                    nodes.push(labelled(line, label));
                }
                let outer = std::mem::take(&mut nodes);
                stack.push(Open::Do {
                    line,
                    outer,
                    head: statement,
                });
            }
            Statement::EndDo => match closed(&mut stack, &mut nodes, line, label) {
                Some(Open::Do { line, outer, head }) => {
                    let body = std::mem::replace(&mut nodes, outer);
                    nodes.push(BlockNode {
                        line,
                        label: 0,
                        kind: loop_node(head, body),
                    });
                }
                _ => return Err(fail("ENDDO without DO".into())),
            },
            Statement::If(condition, inner) => {
                let inner = BlockNode {
                    line,
                    label: 0,
                    kind: NodeKind::Plain(*inner),
                };
                nodes.push(BlockNode {
                    line,
                    label,
                    kind: NodeKind::If(vec![(Some(condition), vec![inner])]),
                });
            }
            Statement::Nothing if label == 0 => {}
            plain => nodes.push(BlockNode {
                line,
                label,
                kind: NodeKind::Plain(plain),
            }),
        }
        if stack.len() > MAX_BLOCKS {
            return Err(fail(format!("blocks nest more than {MAX_BLOCKS} deep")));
        }
    }
    match stack.last() {
        None => Ok(nodes),
        Some(Open::If { line, .. } | Open::Do { line, .. }) => Err(Error::Fortran {
            file: source.path.clone(),
            line: *line,
            what: "this IF or DO has no end".into(),
        }),
    }
}

/// Returns whether a statement that cannot be parsed may open or close a block.
fn changes_blocks(text: &[u8]) -> bool {
    let words = [
        &b"IF("[..],
        b"ELSE",
        b"END",
        b"DO",
        b"SELECT",
        b"CASE",
        b"WHERE(",
    ];
    words.iter().any(|word| text.starts_with(word))
}

/// Creates a node for a label alone, before a block or at its end.
fn labelled(line: u32, label: u32) -> BlockNode {
    BlockNode {
        line,
        label,
        kind: NodeKind::Plain(Statement::Nothing),
    }
}

/// Closes the innermost block, whose end may have a label.
fn closed(
    stack: &mut Vec<Open>,
    nodes: &mut Vec<BlockNode>,
    line: u32,
    label: u32,
) -> Option<Open> {
    if label != 0 {
        nodes.push(labelled(line, label));
    }
    stack.pop()
}

/// A block that is being read, with the nodes around it.
enum Open {
    If {
        line: u32,
        outer: Vec<BlockNode>,
        done: Vec<(Option<FortranExpr>, Vec<BlockNode>)>,
        condition: Option<FortranExpr>,
    },
    Do {
        line: u32,
        outer: Vec<BlockNode>,
        head: Statement,
    },
}

fn loop_node(head: Statement, body: Vec<BlockNode>) -> NodeKind {
    match head {
        Statement::Do {
            variable,
            from,
            to,
            step,
        } => NodeKind::Do {
            variable,
            from,
            to,
            step,
            body,
        },
        Statement::DoWhile(condition) => NodeKind::DoWhile(condition, body),
        _ => NodeKind::DoOther(body),
    }
}

/// Units by name, and the files that they include.
#[derive(Debug, Default)]
pub struct Library {
    units: HashMap<String, Rc<ProgramUnit>>,
    /// Units with the same name as an earlier one.
    twice: HashMap<String, Rc<ProgramUnit>>,
    included: RefCell<HashMap<PathBuf, Rc<Vec<BlockNode>>>>,
    /// Subroutines without a source whose calls the user declares not to change the result.
    pub harmless_calls: Vec<String>,
    /// Folders to search for included files after the folder of the including file.
    pub include_folders: Vec<PathBuf>,
    /// Whether the folder of the including file is not searched.
    pub only_include_folders: bool,
}

impl Library {
    /// Adds the units of every `*.f` file of a folder.
    pub fn add_folder(&mut self, folder: &Path) -> Result<()> {
        for file in dependencies::fortran(folder).map_err(Error::io(folder))? {
            self.add_source(&Rc::new(SourceFile::read(&file)?));
        }
        Ok(())
    }

    /// Adds the units of one file.
    pub fn add_source(&mut self, source: &Rc<SourceFile>) {
        self.add_units(units_of(source));
    }

    /// Adds units.
    pub fn add_units(&mut self, units: impl IntoIterator<Item = ProgramUnit>) {
        for unit in units {
            let name = unit.name.clone();
            let unit = Rc::new(unit);
            match self.units.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(unit);
                }
                Entry::Occupied(first) => {
                    self.twice.insert(first.key().clone(), unit);
                }
            }
        }
    }

    /// Returns the unit of a name. A duplicate is an error only when it is requested: a folder may hold files that are
    /// in no program.
    pub fn unit(&self, name: &str) -> Result<Option<&Rc<ProgramUnit>>> {
        let Some(unit) = self.units.get(name) else {
            return Ok(None);
        };
        match self.twice.get(name) {
            None => Ok(Some(unit)),
            Some(other) => Err(other.error(format!(
                "{name} is defined a second time; the first is in {}",
                unit.source.path.display()
            ))),
        }
    }

    /// Returns whether a call of a subroutine is known, or declared, not to change the result. If there is a source, it
    /// decides.
    pub fn is_harmless(&self, name: &str) -> bool {
        // Counters and timers of the plugin's outputs until 3.5.
        let known = name.starts_with("COUNTERS_");
        !self.units.contains_key(name) && (known || self.harmless_calls.iter().any(|n| n == name))
    }

    /// Returns the names of all units.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.units.keys().map(String::as_str)
    }

    /// Returns the names of the units of a file.
    pub fn names_in(&self, path: &Path) -> Vec<&str> {
        let units = self.units.values().filter(|unit| unit.source.path == path);
        units.map(|unit| unit.name.as_str()).collect()
    }

    /// Returns the statements of an included file, or `None` if there is no such file.
    pub fn include(
        &self,
        from: &Path,
        name: &[u8],
    ) -> Result<Option<(PathBuf, Rc<Vec<BlockNode>>)>> {
        let name = String::from_utf8_lossy(name).into_owned();
        let beside = from.parent().filter(|_| !self.only_include_folders);
        let beside = beside.map(Path::to_path_buf);
        let path = beside
            .iter()
            .chain(&self.include_folders)
            .map(|folder| folder.join(&name))
            .find(|path| dependencies::is_file(path));
        let Some(path) = path else {
            return Ok(None);
        };
        if let Some(nodes) = self.included.borrow().get(&path) {
            return Ok(Some((path.clone(), nodes.clone())));
        }
        let source = SourceFile::read(&path)?;
        let nodes = Rc::new(blocks(&source, 0, source.len())?);
        self.included
            .borrow_mut()
            .insert(path.clone(), nodes.clone());
        Ok(Some((path, nodes)))
    }
}
