//! The names of a function, and what each means.

use super::{Address, FortranNumber, Kind};
use crate::expression::{FortranExpr, Parsed};
use crate::program_unit::ProgramUnit;
use crate::statement::{DataGroup, Implicit, Type};
use std::collections::HashMap;
use std::path::PathBuf;

/// The meaning of a name.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbol {
    pub ty: Option<Type>,
    /// Bounds of an array; a missing upper bound is `*`.
    pub dims: Vec<(FortranExpr, Option<FortranExpr>)>,
    pub constant: Option<FortranNumber>,
    pub dummy: Option<usize>,
    pub common: Option<CommonPlace>,
    pub is_static: bool,
    /// Its first element and the number of elements, once it is used.
    pub at: Option<(Address, u32)>,
}

/// The place of a name in a COMMON block.
#[derive(Clone, Debug)]
pub(super) struct CommonPlace {
    pub block: String,
    pub place: usize,
    /// Whether an included file has the declaration.
    pub is_included: bool,
}

/// The names of a function.
#[derive(Debug)]
pub(super) struct Frame {
    pub unit: String,
    pub symbols: HashMap<String, Symbol>,
    pub implicit: Implicit,
    pub all_static: bool,
    /// Number of names in each COMMON block.
    pub commons: HashMap<String, usize>,
    pub data: Vec<(PathBuf, u32, DataGroup)>,
    /// File of the statements, and the number of files that include it.
    pub file: PathBuf,
    pub depth: usize,
}

impl Frame {
    pub fn new(unit: &ProgramUnit, first_dummy: usize) -> Frame {
        let mut symbols: HashMap<String, Symbol> = HashMap::new();
        for (dummy, name) in (first_dummy..).zip(&unit.arguments) {
            symbols.entry(name.clone()).or_default().dummy = Some(dummy);
        }
        if let Some((result, ty)) = &unit.result {
            symbols.entry(result.clone()).or_default().ty = *ty;
        }
        Frame {
            unit: unit.name.clone(),
            symbols,
            implicit: Implicit::Usual,
            all_static: false,
            commons: HashMap::new(),
            data: Vec::new(),
            file: unit.source.path.clone(),
            depth: 0,
        }
    }

    pub fn symbol(&mut self, name: &str) -> &mut Symbol {
        self.symbols.entry(name.to_owned()).or_default()
    }

    /// Returns the type of a name.
    pub fn type_of(&self, name: &str) -> Parsed<Type> {
        if let Some(ty) = self.symbols.get(name).and_then(|symbol| symbol.ty) {
            return Ok(ty);
        }
        let first = name.bytes().next().unwrap_or(b'X');
        let usual = match first {
            b'I'..=b'N' => Type::Integer,
            _ => Type::Single,
        };
        match &self.implicit {
            Implicit::None => Err(format!("{name} is not declared")),
            Implicit::Usual => Ok(usual),
            Implicit::Letters(letters) => {
                let mut own = letters
                    .iter()
                    .filter(|(a, b, _)| (*a..=*b).contains(&first));
                Ok(own.next().map_or(usual, |(.., ty)| *ty))
            }
        }
    }

    /// Returns the type of a name, if such variables are run.
    pub fn kind_of(&self, name: &str) -> Parsed<Kind> {
        match self.type_of(name)? {
            Type::Integer => Ok(Kind::Integer),
            Type::Real => Ok(Kind::Real),
            Type::Single => Ok(Kind::Single),
            Type::Logical => Ok(Kind::Logical),
            Type::Complex => Err(format!("{name} is COMPLEX, which is not run here")),
            Type::Character => Err(format!("{name} is a CHARACTER, which is not run here")),
        }
    }

    pub fn is_array(&self, name: &str) -> bool {
        let symbol = self.symbols.get(name);
        symbol.is_some_and(|symbol| !symbol.dims.is_empty())
    }
}
