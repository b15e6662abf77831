//! Declarations: types, bounds, PARAMETER, COMMON, DATA and included files.

use super::*;
use crate::data::{self, Loops, Setter};
use crate::statement::{DataGroup, Dim, Entity, LiteralValue};

impl Interpreter<'_> {
    /// Processes the declarations among these statements. DATA come last: they may precede the declarations that make
    /// their names arrays or place them in a COMMON block.
    pub fn declare(&mut self, frame: &mut UnitFrame, body: &[BlockNode]) -> Result<()> {
        self.declarations(frame, body, false)?;
        for (name, file, line) in std::mem::take(&mut frame.untyped) {
            self.typed(frame, &name)
                .map_err(|what| Error::Fortran { file, line, what })?;
        }
        if self.initialised.contains(&frame.unit) {
            return Ok(());
        }
        self.declarations(frame, body, true)
    }

    fn declarations(
        &mut self,
        frame: &mut UnitFrame,
        body: &[BlockNode],
        data: bool,
    ) -> Result<()> {
        for node in body {
            if let NodeKind::Plain(statement) = &node.kind {
                self.declaration(frame, statement, node.line, data)?;
            }
        }
        Ok(())
    }

    /// Processes a declaration: if `data`, only DATA; otherwise all others, and the names that DATA set.
    #[expect(clippy::too_many_lines, reason = "a case for each statement")]
    fn declaration(
        &mut self,
        frame: &mut UnitFrame,
        statement: &Statement,
        line: u32,
        data: bool,
    ) -> Result<()> {
        let fault = |file: &Path, what: String| Error::Fortran {
            file: file.to_path_buf(),
            line,
            what,
        };
        match statement {
            Statement::Data(groups) if !data => {
                let targets = groups.iter().flat_map(|g| &g.targets);
                for name in targets.filter_map(data::first_name) {
                    self.mentioned(frame, name, line).is_static = true;
                }
                Ok(())
            }
            Statement::Data(groups) => {
                for group in groups {
                    self.data(frame, group)
                        .map_err(|what| fault(&frame.file, what))?;
                }
                Ok(())
            }
            Statement::Include(name) => {
                if frame.depth >= MAX_CALLS {
                    let what = format!("included files nest more than {MAX_CALLS} deep");
                    return Err(fault(&frame.file, what));
                }
                self.includes += 1;
                if self.includes > MAX_INCLUDES {
                    return Err(fault(&frame.file, "too many files are included".into()));
                }
                match self.library.include(&frame.file, name)? {
                    None => {
                        let name = String::from_utf8_lossy(name).into_owned();
                        if !frame.missing_includes.contains(&name) {
                            frame.missing_includes.push(name);
                        }
                        Ok(())
                    }
                    Some((path, nodes)) => {
                        let outer = std::mem::replace(&mut frame.file, path);
                        frame.depth += 1;
                        let result = self.declarations(frame, &nodes, data);
                        frame.depth -= 1;
                        frame.file = outer;
                        result
                    }
                }
            }
            _ if data => Ok(()),
            Statement::Declare(ty, entities) => {
                for entity in entities {
                    let name = &entity.name;
                    let symbol = self.symbol(frame, name);
                    if symbol.ty.is_some_and(|known| known != *ty) {
                        let what = format!("{name} has another type already");
                        return Err(fault(&frame.file, what));
                    }
                    symbol.ty = Some(*ty);
                    self.dimension(frame, entity);
                }
                Ok(())
            }
            Statement::Dimension(entities) => {
                for entity in entities {
                    self.mentioned(frame, &entity.name, line);
                    self.dimension(frame, entity);
                }
                Ok(())
            }
            Statement::Parameter(constants) => {
                for (name, expr) in constants {
                    // Unlike for a variable, its type must be known here.
                    self.typed(frame, name)
                        .map_err(|what| fault(&frame.file, what))?;
                    let ty = self.type_of(frame, name);
                    let value = self
                        .known(frame, name)
                        .and_then(|()| self.eval(frame, expr))
                        .and_then(|v| v.convert(ty, &mut self.builder));
                    let value = value.unwrap_or_else(|why| FortranValue::Broken(why.into()));
                    let symbol = self.symbol(frame, name);
                    symbol.place = VariableStorage::Constant(value);
                    symbol.ty = Some(ty);
                }
                Ok(())
            }
            Statement::Common(blocks) => {
                for (block, entities) in blocks {
                    // A second COMMON statement for a block continues the first.
                    let first = frame.commons.get(block).map_or(0, Vec::len);
                    for (i, entity) in (first..).zip(entities) {
                        self.dimension(frame, entity);
                        let key = (block.clone(), i);
                        let storage = match self.commons.get(&key) {
                            Some(&storage) => storage,
                            None => {
                                let storage = self.storage(Origin::Common(block.clone(), i));
                                self.commons.insert(key, storage);
                                storage
                            }
                        };
                        let symbol = self.mentioned(frame, &entity.name, line);
                        symbol.place = VariableStorage::At((storage, 0));
                    }
                    let names = entities.iter().map(|e| e.name.clone());
                    let all = frame.commons.entry(block.clone()).or_default();
                    all.extend(names);
                    let all = all.clone();
                    self.check_layout(frame, block, &all)
                        .map_err(|what| fault(&frame.file, what))?;
                }
                Ok(())
            }
            Statement::Implicit(implicit) => {
                frame.implicit = implicit.clone();
                Ok(())
            }
            Statement::Save(names) => {
                frame.all_static |= names.is_empty();
                for name in names {
                    self.mentioned(frame, name, line).is_static = true;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns a symbol whose type may be declared later, but must be.
    fn mentioned<'f>(&self, frame: &'f mut UnitFrame, name: &str, line: u32) -> &'f mut Symbol {
        if self.known(frame, name).is_err() {
            let place = (name.to_owned(), frame.file.clone(), line);
            frame.untyped.push(place);
        }
        self.symbol(frame, name)
    }

    /// Checks that a COMMON block has the same layout as in the unit that declared it first: its entities are
    /// identified by their place in the list.
    fn check_layout(&mut self, frame: &UnitFrame, block: &str, names: &[String]) -> Parsed<()> {
        let size = |name: &str| {
            let bytes = match self.type_of(frame, name) {
                Type::Integer | Type::Logical | Type::Single => 4,
                Type::Real => 8,
                Type::Complex => 16,
                Type::Character => 1,
            };
            let is_array = self.rank_of(frame, name) > 0;
            bytes
                * if is_array {
                    self.size_of(frame, name).unwrap_or(0)
                } else {
                    1
                }
        };
        let sizes: Vec<u64> = names.iter().map(|name| size(name)).collect();
        match self.layouts.get(block) {
            None => {
                let here = frame.file.clone();
                self.layouts.insert(block.to_owned(), (sizes, here));
                Ok(())
            }
            Some((first, _)) if first.iter().zip(&sizes).all(|(a, b)| a == b) => {
                if sizes.len() > first.len() {
                    let here = frame.file.clone();
                    self.layouts.insert(block.to_owned(), (sizes, here));
                }
                Ok(())
            }
            Some((_, file)) => Err(format!(
                "COMMON /{block}/ is laid out in another way in {}",
                file.display()
            )),
        }
    }

    fn dimension(&mut self, frame: &mut UnitFrame, entity: &Entity) {
        if entity.dims.is_empty() {
            return;
        }
        let mut bound = |interpreter: &mut Self, expr: &FortranExpr| {
            interpreter.eval(frame, expr).and_then(|v| v.int()).ok()
        };
        let mut dims = Vec::with_capacity(entity.dims.len());
        for Dim { low, high } in &entity.dims {
            let low = match low {
                None => Some(1),
                Some(expr) => bound(self, expr),
            };
            let high = high.as_ref().and_then(|expr| bound(self, expr));
            // An unknown lower bound makes the array unusable, but not the file.
            dims.push((low.unwrap_or(1), high));
        }
        self.symbol(frame, &entity.name).dims = Some(Rc::new(dims));
    }

    fn data(&mut self, frame: &mut UnitFrame, group: &DataGroup) -> Parsed<()> {
        let interpreter = self;
        data::expand(group, &mut Variables { interpreter, frame })
    }

    /// Evaluates a constant of a DATA statement.
    fn constant_value(
        &mut self,
        frame: &mut UnitFrame,
        constant: &LiteralValue,
    ) -> Parsed<FortranValue> {
        Ok(match constant {
            LiteralValue::Int(i) => FortranValue::Int(*i),
            LiteralValue::Real(x) => FortranValue::Real(self.builder.real(*x)),
            LiteralValue::Complex(re, im) => FortranValue::Complex(self.builder.complex(*re, *im)),
            LiteralValue::Logical(known) => FortranValue::Logical(Truth::Known(*known)),
            LiteralValue::Text => FortranValue::Text,
            LiteralValue::Name(name) => self.eval_name(frame, name)?,
            LiteralValue::Repeated(_) => return Err("a repeat count where none can be".into()),
        })
    }

    /// Evaluates an integer expression that may contain loop variables of a DATA statement.
    pub fn eval_index(
        &mut self,
        frame: &mut UnitFrame,
        expr: &FortranExpr,
        loops: &Loops,
    ) -> Parsed<i64> {
        match expr {
            FortranExpr::Int(i) => Ok(*i),
            FortranExpr::Name(name) if loops.contains_key(name) => Ok(loops[name]),
            _ => {
                for (name, value) in loops {
                    self.set_name(frame, name, FortranValue::Int(*value));
                }
                self.eval(frame, expr)?.int()
            }
        }
    }
}

/// Receiver that sets the interpreter's variables.
struct Variables<'a, 'l> {
    interpreter: &'a mut Interpreter<'l>,
    frame: &'a mut UnitFrame,
}

impl Setter for Variables<'_, '_> {
    fn integer(&mut self, expr: &FortranExpr, loops: &Loops) -> Parsed<i64> {
        self.interpreter.eval_index(self.frame, expr, loops)
    }

    fn may_count(&mut self, variable: &str) -> Parsed<()> {
        self.interpreter.known(self.frame, variable)
    }

    fn size(&mut self, name: &str) -> u64 {
        self.interpreter.size_of(self.frame, name).unwrap_or(1)
    }

    fn set(&mut self, name: &str, subscripts: &[i64], value: &LiteralValue) -> Parsed<()> {
        let subscripts: Vec<FortranExpr> =
            subscripts.iter().map(|&i| FortranExpr::Int(i)).collect();
        let at = self.interpreter.location(self.frame, name, &subscripts)?;
        self.store(name, at, value)
    }

    fn set_in_order(&mut self, name: &str, place: u64, value: &LiteralValue) -> Parsed<()> {
        let first = self.interpreter.location(self.frame, name, &[])?;
        let place = i64::try_from(place).map_err(|_| "an array is too large")?;
        self.store(name, (first.0, first.1.saturating_add(place)), value)
    }
}

impl Variables<'_, '_> {
    fn store(&mut self, name: &str, at: Location, value: &LiteralValue) -> Parsed<()> {
        let value = self.interpreter.constant_value(self.frame, value)?;
        let ty = self.interpreter.type_of(self.frame, name);
        let value = value.convert(ty, &mut self.interpreter.builder)?;
        self.interpreter.initialise(name, at, value)
    }
}
