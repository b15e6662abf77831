//! Declarations of a function: types, bounds, PARAMETER, COMMON and DATA, also of included files.

use super::compile::Compiler;
use super::frame::{CommonPlace, Frame, Symbol};
use super::{Address, Base, FortranNumber, Kind, Region, fault};
use crate::data::{self, Loops, Setter};
use crate::expression::{FortranExpr, Parsed};
use crate::program_unit::{BlockNode, NodeKind};
use crate::statement::{Entity, LiteralValue, Statement};
use mebridge_support::error::Result;

/// Deepest nesting of included files.
const MAX_INCLUDES: usize = 8;
/// Most elements of an array.
const MAX_ELEMENTS: i64 = 1 << 22;
/// The variable of COMMON /TO_CM_RAP/ that differs between points.
const RAPIDITY: &str = "CM_RAP";

impl Compiler<'_> {
    /// Reads the declarations among statements; DATA are kept for [`Self::data`].
    pub(super) fn declare(&mut self, frame: &mut Frame, nodes: &[BlockNode]) -> Result<()> {
        for node in nodes {
            let NodeKind::Plain(statement) = &node.kind else {
                continue;
            };
            match statement {
                Statement::Include(name) => self.included(frame, name, node.line, Self::declare)?,
                _ => {
                    let found = self.declaration(frame, statement, node.line);
                    found.map_err(|what| fault(&frame.file, node.line, what))?;
                }
            }
        }
        Ok(())
    }

    /// Reads the statements of an included file.
    pub(super) fn included<T>(
        &mut self,
        frame: &mut Frame,
        name: &[u8],
        line: u32,
        read: impl FnOnce(&mut Self, &mut Frame, &[BlockNode]) -> Result<T>,
    ) -> Result<T> {
        let what = match frame.depth >= MAX_INCLUDES {
            true => format!("included files nest more than {MAX_INCLUDES} deep"),
            false => match self.library.include(&frame.file, name)? {
                Some((path, nodes)) => {
                    let outer = std::mem::replace(&mut frame.file, path);
                    frame.depth += 1;
                    let found = read(self, frame, &nodes);
                    frame.depth -= 1;
                    frame.file = outer;
                    return found;
                }
                None => format!("there is no file {}", String::from_utf8_lossy(name)),
            },
        };
        Err(fault(&frame.file, line, what))
    }

    fn declaration(&mut self, frame: &mut Frame, statement: &Statement, line: u32) -> Parsed<()> {
        match statement {
            Statement::Declare(ty, entities) => {
                for entity in entities {
                    let symbol = frame.symbol(&entity.name);
                    if symbol.ty.is_some_and(|known| known != *ty) {
                        return Err(format!("{} has another type already", entity.name));
                    }
                    symbol.ty = Some(*ty);
                    dimension(symbol, entity)?;
                }
            }
            Statement::Dimension(entities) => {
                for entity in entities {
                    dimension(frame.symbol(&entity.name), entity)?;
                }
            }
            Statement::Parameter(constants) => {
                for (name, value) in constants {
                    // What cannot be computed is an error where it is used.
                    let Ok(kind) = frame.kind_of(name) else {
                        continue;
                    };
                    if let Ok(value) = self.constant(frame, value) {
                        frame.symbol(name).constant = Some(value.convert(kind)?);
                    }
                }
            }
            Statement::Common(blocks) => {
                for (block, entities) in blocks {
                    for entity in entities {
                        let next = frame.commons.entry(block.clone()).or_default();
                        let common = CommonPlace {
                            block: block.clone(),
                            place: *next,
                            is_included: frame.depth > 0,
                        };
                        *next += 1;
                        let symbol = frame.symbol(&entity.name);
                        symbol.common = Some(common);
                        dimension(symbol, entity)?;
                    }
                }
            }
            Statement::Implicit(implicit) => frame.implicit = implicit.clone(),
            Statement::Save(names) => {
                frame.all_static |= names.is_empty();
                for name in names {
                    frame.symbol(name).is_static = true;
                }
            }
            Statement::Data(groups) => {
                for group in groups {
                    for name in group.targets.iter().filter_map(data::first_name) {
                        frame.symbol(name).is_static = true;
                    }
                    frame.data.push((frame.file.clone(), line, group.clone()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets what DATA say of the names that are used.
    pub(super) fn data(&mut self, frame: &mut Frame) -> Result<()> {
        for (file, line, group) in std::mem::take(&mut frame.data) {
            let names = group.targets.iter().filter_map(data::first_name);
            if !names.clone().any(|name| frame.symbols[name].at.is_some()) {
                continue;
            }
            let mut elements = DataElements {
                compiler: self,
                frame,
            };
            data::expand(&group, &mut elements).map_err(|what| fault(&file, line, what))?;
        }
        Ok(())
    }

    /// Returns the storage of a name, which is made if it has none.
    pub(super) fn base(&mut self, frame: &mut Frame, name: &str) -> Parsed<Base> {
        let kind = frame.kind_of(name)?;
        let symbol = frame.symbol(name).clone();
        if let Some(dummy) = symbol.dummy {
            return Ok(Base::Dummy(dummy));
        }
        if let Some((at, count)) = symbol.at {
            return Ok(Base::At(at, count));
        }
        let mut count = 1i64;
        for (low, high) in self.bounds(frame, name)? {
            count = (high - low + 1).max(0).saturating_mul(count);
        }
        if count > MAX_ELEMENTS {
            return Err(format!(
                "{name} has {count} elements, more than {MAX_ELEMENTS}"
            ));
        }
        let count = count as u32;
        let is_static = symbol.is_static || frame.all_static;
        let at = match &symbol.common {
            Some(common) => self.common(name, common, kind, count)?,
            None => {
                let shown = format!("{name} of {}", frame.unit);
                let (region, value) = match is_static {
                    true => (Region::Kept, FortranNumber::zero(kind)),
                    false => (Region::Work, FortranNumber::Unset),
                };
                self.allocate(region, &shown, vec![value; count as usize])
            }
        };
        frame.symbol(name).at = Some((at, count));
        Ok(Base::At(at, count))
    }

    /// Returns the storage of a name in a COMMON block.
    fn common(
        &mut self,
        name: &str,
        CommonPlace {
            block,
            place,
            is_included,
        }: &CommonPlace,
        kind: Kind,
        count: u32,
    ) -> Parsed<Address> {
        let key = (block.clone(), *place);
        let shown = format!("{name} of COMMON /{block}/");
        if let Some((known, of, at)) = self.commons.get(&key) {
            return match (known, of) == (&kind, &count) {
                true => Ok(*at),
                false => Err(format!(
                    "{shown} has another type or size in another function"
                )),
            };
        }
        let surroundings = self.surroundings;
        let given = surroundings.commons.get(&(block.clone(), name.to_owned()));
        let given = given.filter(|(known, _)| *is_included || *known == Some(*place));
        let unset = || vec![FortranNumber::Unset; count as usize];
        let at = match given {
            Some((_, values)) => {
                let own = |value: &FortranNumber| value.kind().is_ok_and(|own| own == kind);
                if values.len() != count as usize || !values.iter().all(own) {
                    return Err(format!("{shown} has another type or size in MadEvent"));
                }
                match name == RAPIDITY {
                    true => Address::given(4 * surroundings.legs as u32),
                    false => self.allocate(Region::Given, &shown, values.clone()),
                }
            }
            None if surroundings.blocks.contains(block) => {
                self.allocate(Region::Given, &shown, unset())
            }
            None => self.allocate(Region::Kept, &shown, unset()),
        };
        self.commons.insert(key, (kind, count, at));
        Ok(at)
    }

    /// Returns the bounds of an array, which must be constants.
    pub(super) fn bounds(&mut self, frame: &mut Frame, name: &str) -> Parsed<Vec<(i64, i64)>> {
        let dims = frame.symbols.get(name).map(|symbol| symbol.dims.clone());
        let mut found = Vec::new();
        for (low, high) in dims.unwrap_or_default() {
            let high = high.ok_or_else(|| format!("the last bound of {name} is not known"))?;
            let mut bound = |expr: &FortranExpr| {
                let value = self.constant(frame, expr)?.integer()?;
                Ok::<_, String>(i64::from(value))
            };
            found.push((bound(&low)?, bound(&high)?));
        }
        Ok(found)
    }
}

fn dimension(symbol: &mut Symbol, entity: &Entity) -> Parsed<()> {
    if entity.dims.is_empty() {
        return Ok(());
    }
    if !symbol.dims.is_empty() {
        return Err(format!("{} has bounds already", entity.name));
    }
    let dims = entity.dims.iter().map(|dim| {
        let low = dim.low.clone().unwrap_or(FortranExpr::Int(1));
        (low, dim.high.clone())
    });
    symbol.dims = dims.collect();
    Ok(())
}

/// Receiver of DATA.
struct DataElements<'a, 'l> {
    compiler: &'a mut Compiler<'l>,
    frame: &'a mut Frame,
}

impl DataElements<'_, '_> {
    fn store(&mut self, name: &str, offset: i64, value: &LiteralValue) -> Parsed<()> {
        let value = match value {
            LiteralValue::Int(i) => self.compiler.constant(self.frame, &FortranExpr::Int(*i))?,
            LiteralValue::Real(x) => FortranNumber::Real(*x),
            LiteralValue::Logical(truth) => FortranNumber::Logical(*truth),
            LiteralValue::Name(constant) => {
                let constant = FortranExpr::Name(constant.clone());
                self.compiler.constant(self.frame, &constant)?
            }
            _ => return Err(format!("DATA of {name} that are not run here")),
        };
        let value = value.convert(self.frame.kind_of(name)?)?;
        let Base::At(at, count) = self.compiler.base(self.frame, name)? else {
            return Err(format!("DATA of the argument {name}"));
        };
        match u32::try_from(offset) {
            Ok(offset) if offset < count && at.region == Region::Kept => {
                self.compiler.set(at.after(offset), value);
                Ok(())
            }
            _ => Err(format!("DATA that {name} does not hold")),
        }
    }
}

impl Setter for DataElements<'_, '_> {
    fn integer(&mut self, expr: &FortranExpr, loops: &Loops) -> Parsed<i64> {
        match expr {
            FortranExpr::Int(i) => Ok(*i),
            FortranExpr::Name(name) if loops.contains_key(name) => Ok(loops[name]),
            _ => Ok(i64::from(
                self.compiler.constant(self.frame, expr)?.integer()?,
            )),
        }
    }

    fn size(&mut self, name: &str) -> u64 {
        match self.compiler.base(self.frame, name) {
            Ok(Base::At(_, count)) => u64::from(count),
            _ => 1,
        }
    }

    fn set(&mut self, name: &str, subscripts: &[i64], value: &LiteralValue) -> Parsed<()> {
        let bounds = self.compiler.bounds(self.frame, name)?;
        if bounds.len() != subscripts.len() {
            return Err(format!("{name} has {} dimensions", bounds.len()));
        }
        let (mut offset, mut stride) = (0, 1);
        for (index, (low, high)) in subscripts.iter().zip(bounds) {
            if *index < low || *index > high {
                return Err(format!("DATA of {name} outside of its bounds"));
            }
            offset += (index - low) * stride;
            stride *= high - low + 1;
        }
        self.store(name, offset, value)
    }

    fn set_in_order(&mut self, name: &str, place: u64, value: &LiteralValue) -> Parsed<()> {
        self.store(name, place as i64, value)
    }
}
