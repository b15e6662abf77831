//! An interpreter that runs Fortran on symbols.
//!
//! Integers and most conditions are known while importing and are simply computed; reals and
//! complex numbers become operations of a [`Program`](mebridge_process::arith::Program). What the
//! run leaves in a variable is then the formula of that variable. Where a condition depends on
//! a parameter both branches are run and what they changed is chosen by a `Select`.
//!
//! Variables live in *storages*, so that COMMON blocks and arguments by reference are what they
//! are in Fortran. Arrays are sparse: MG5aMC declares arrays of 16384 couplings of which
//! one is used here.
//!
//! Storage is what gfortran makes of it. Variables of SAVE and DATA are static: they start at their value or
//! at zero and keep theirs from call to call. What is in a COMMON block starts as [`Interpreter::presets`] say,
//! for much of it is set by parts of MadEvent that are not read here. All else has no value until it is set.

mod arithmetic;
mod declare;
mod evaluate;
mod execute;

use super::amplitude_expression::{AmplitudeExpression, Terms};
use super::expression::{FortranExpr, Parsed};
use super::intrinsic;
use super::program_unit::{BlockNode, Library, NodeKind, ProgramUnit};
use super::statement::{Implicit, ImpliedDo, Statement, Type};
use super::value::{FortranValue, Truth, owned};
use arithmetic::{negated, offset, power, product, sum};
use mebridge_process::TermSource;
use mebridge_process::arith::{Builder, Op, ValueId};
use mebridge_support::error::{Error, Result};
use num_complex::Complex64;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Statements and operands that one matrix element may take to run: no model's formulas come
/// near.
const MAX_STEPS: u64 = 20_000_000;
/// Files that one matrix element may include: each is counted as often as it is.
const MAX_INCLUDES: u64 = 100_000;
/// Numbers that a WRITE into a variable may have.
const MAX_IMPLIED_DO: i64 = 1000;
/// Deepest nesting of calls and includes.
const MAX_CALLS: usize = 16;

type StorageId = usize;

/// A variable or an element of an array: storage, and index within it.
pub type Location = (StorageId, i64);

/// Bounds of an array: lower, and upper where it is known.
type Bounds = Vec<(i64, Option<i64>)>;

/// What a name stands for in a unit.
#[derive(Clone, Debug, Default)]
struct Symbol {
    ty: Option<Type>,
    /// Bounds of an array.
    dims: Option<Rc<Bounds>>,
    place: VariableStorage,
    /// Whether it keeps its value between calls.
    is_static: bool,
}

#[derive(Clone, Debug, Default)]
enum VariableStorage {
    #[default]
    Nowhere,
    At(Location),
    Constant(FortranValue),
}

/// The names of a unit that is being run.
#[derive(Clone, Debug)]
pub struct UnitFrame {
    symbols: FxHashMap<String, Symbol>,
    /// Name of the unit, empty where it is none.
    unit: String,
    implicit: Implicit,
    /// Names in COMMON blocks, in order.
    commons: HashMap<String, Vec<String>>,
    /// Names that were declared before their type was, where that is so.
    untyped: Vec<(String, PathBuf, u32)>,
    /// Whether all of the unit's variables are static.
    all_static: bool,
    /// File whose statements are being run.
    pub file: PathBuf,
    /// Included files that are not there.
    pub missing_includes: Vec<String>,
    depth: usize,
}

impl UnitFrame {
    /// The names that are declared.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.symbols.keys()
    }
}

/// How a list of statements ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Next,
    Return,
    Exit,
    Cycle,
    /// A jump to a label that is not among these statements.
    Goto(u32),
}

/// The kind of a storage, which says what its elements hold before they are set.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// Nothing.
    Fresh,
    /// Zero.
    Static,
    /// What [`Interpreter::presets`] say of an entity of a COMMON block.
    Common(String, usize),
}

/// What an entity of a COMMON block holds before anything that is read here sets it.
#[derive(Clone, Debug)]
pub enum Preset {
    /// Zero, of whatever type.
    Zero,
    /// This, whatever the index.
    Value(FortranValue),
    /// An unknown, to see that it is added to ([`AmplitudeExpression::before`] with [`before`]).
    Before,
}

/// The number of the unknown that an element of a COMMON block holds, by place in the block and index.
pub fn before(place: usize, index: i64) -> u32 {
    (place as u32) << 28 | (index as u32 & 0x0fff_ffff)
}

/// Calls that a caller of the interpreter answers itself.
pub trait Externals<'l> {
    /// Takes a call of a subroutine, or leaves it to the interpreter (`None`).
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<()>>;

    /// The same for a function; all are left where nothing else is said.
    fn function(
        &mut self,
        _interpreter: &mut Interpreter<'l>,
        _frame: &mut UnitFrame,
        _name: &str,
        _arguments: &[FortranExpr],
    ) -> Option<Parsed<FortranValue>> {
        None
    }
}

/// A variable of a COMMON block that a routine takes from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    pub name: String,
    pub block: String,
    pub place: usize,
    pub ty: Type,
}

/// A sum of amplitudes that was stored in an element of an array (JAMP, TMP_JAMP).
#[derive(Clone, Debug)]
pub struct StoredSum {
    /// The element.
    pub at: Location,
    pub terms: Terms,
}

/// The interpreter.
#[derive(Clone)]
pub struct Interpreter<'l> {
    pub library: &'l Library,
    pub builder: Builder,
    storages: Vec<FxHashMap<i64, FortranValue>>,
    origins: Vec<Origin>,
    commons: HashMap<(String, usize), StorageId>,
    /// Sizes in bytes of the entities of a COMMON block, as the first unit declares them, and where.
    layouts: HashMap<String, (Vec<u64>, PathBuf)>,
    /// What COMMON blocks hold before they are set here, by block and place.
    pub presets: HashMap<(String, usize), Preset>,
    /// Static variables, by unit and name.
    statics: HashMap<(String, String), StorageId>,
    /// Units whose DATA statements were applied.
    initialised: HashSet<String>,
    /// What is not run but done by the caller.
    pub externals: Option<Rc<RefCell<dyn Externals<'l> + 'l>>>,
    /// Where it is wanted: variables of COMMON blocks that nothing has set become inputs, in this order.
    pub globals: Option<Vec<Global>>,
    /// Sums of amplitudes that were stored in arrays; [`TermSource::Partial`] numbers them.
    pub sums: Vec<StoredSum>,
    /// Names that a frame does not know are looked up here.
    pub outer: HashMap<String, Location>,
    /// What was overwritten since the innermost undecided condition.
    journal: Vec<(Location, Option<FortranValue>)>,
    journals: usize,
    steps: u64,
    includes: u64,
    /// Whether a power in the outermost unit may be of a number alone, and of one that is not below zero.
    pub plain_powers: bool,
    /// Whether a formula that cannot be read leaves a broken value rather than stopping the
    /// import; then it is an error only where that value is needed.
    pub defer: bool,
}

impl<'l> Interpreter<'l> {
    pub fn new(library: &'l Library, builder: Builder) -> Self {
        Interpreter {
            library,
            builder,
            storages: Vec::new(),
            origins: Vec::new(),
            commons: HashMap::new(),
            layouts: HashMap::new(),
            presets: HashMap::new(),
            statics: HashMap::new(),
            initialised: HashSet::new(),
            externals: None,
            globals: None,
            sums: Vec::new(),
            outer: HashMap::new(),
            journal: Vec::new(),
            journals: 0,
            steps: 0,
            includes: 0,
            plain_powers: false,
            defer: false,
        }
    }

    /// A frame without names.
    pub fn frame(&self, file: &Path) -> UnitFrame {
        UnitFrame {
            symbols: FxHashMap::default(),
            unit: String::new(),
            implicit: Implicit::Usual,
            commons: HashMap::new(),
            untyped: Vec::new(),
            all_static: false,
            file: file.to_path_buf(),
            missing_includes: Vec::new(),
            depth: 0,
        }
    }

    /// The frame of a unit, whose declarations are still to come.
    pub fn frame_of(&self, unit: &ProgramUnit) -> UnitFrame {
        let mut frame = self.frame(&unit.source.path);
        frame.unit.clone_from(&unit.name);
        if let Some((result, Some(ty))) = &unit.result {
            self.symbol(&mut frame, result).ty = Some(*ty);
        }
        frame
    }

    /// A frame in which the declarations of a unit are known.
    pub fn declare_unit(&mut self, unit: &ProgramUnit, body: &[BlockNode]) -> Result<UnitFrame> {
        let mut frame = self.frame_of(unit);
        self.declare_in(&mut frame, unit, body)?;
        Ok(frame)
    }

    /// Makes the declarations of a unit known in its frame.
    pub fn declare_in(
        &mut self,
        frame: &mut UnitFrame,
        unit: &ProgramUnit,
        body: &[BlockNode],
    ) -> Result<()> {
        self.declare(frame, body)?;
        self.initialised.insert(unit.name.clone());
        let result = unit.result.iter().map(|(name, _)| name);
        for name in unit.arguments.iter().chain(result) {
            self.typed(frame, name).map_err(|what| unit.error(what))?;
        }
        Ok(())
    }

    fn new_storage(&mut self) -> StorageId {
        self.storage(Origin::Fresh)
    }

    fn storage(&mut self, origin: Origin) -> StorageId {
        self.storages.push(FxHashMap::default());
        self.origins.push(origin);
        self.storages.len() - 1
    }

    /// The storage of a static variable.
    fn static_storage(&mut self, frame: &UnitFrame, name: &str) -> StorageId {
        if frame.unit.is_empty() {
            return self.storage(Origin::Static);
        }
        let key = (frame.unit.clone(), name.to_owned());
        match self.statics.get(&key) {
            Some(&storage) => storage,
            None => {
                let storage = self.storage(Origin::Static);
                self.statics.insert(key, storage);
                storage
            }
        }
    }

    /// The value of this type that an element holds before it is set.
    fn unset(&mut self, at: Location, ty: Type) -> Option<FortranValue> {
        match &self.origins[at.0] {
            Origin::Fresh => None,
            Origin::Static => self.zero(ty),
            Origin::Common(block, place) => {
                match self.presets.get(&(block.clone(), *place))?.clone() {
                    Preset::Zero => self.zero(ty),
                    Preset::Before => {
                        let form = AmplitudeExpression::before(before(*place, at.1));
                        (ty == Type::Real).then(|| FortranValue::AmplitudeExpression(Rc::new(form)))
                    }
                    Preset::Value(value) => {
                        let same = matches!(
                            (&value, ty),
                            (FortranValue::Int(_), Type::Integer)
                                | (FortranValue::Real(_), Type::Real)
                                | (FortranValue::Complex(_), Type::Complex)
                                | (FortranValue::Logical(_), Type::Logical)
                        );
                        same.then_some(value)
                    }
                }
            }
        }
    }

    fn zero(&mut self, ty: Type) -> Option<FortranValue> {
        match ty {
            Type::Integer => Some(FortranValue::Int(0)),
            Type::Real => Some(FortranValue::Real(self.builder.real(0.0))),
            Type::Complex => Some(FortranValue::Complex(self.builder.real(0.0))),
            Type::Logical => Some(FortranValue::Logical(Truth::Known(false))),
            Type::Single | Type::Character => None,
        }
    }

    fn write(&mut self, at: Location, value: FortranValue) {
        let old = self.storages[at.0].insert(at.1, value);
        if self.journals > 0 {
            self.journal.push((at, old));
        }
    }

    fn read(&self, at: Location) -> Option<&FortranValue> {
        self.storages[at.0].get(&at.1)
    }

    /// Sets what is there whatever branch is run.
    fn initial(&mut self, at: Location, value: FortranValue) {
        self.storages[at.0].insert(at.1, value);
    }

    /// Sets what a unit holds from its start: not taken back with what a branch did.
    fn initialise(&mut self, name: &str, at: Location, value: FortranValue) -> Parsed<()> {
        match self.storages[at.0].insert(at.1, value) {
            None => Ok(()),
            Some(_) => Err(format!("an element of {name} is set twice by DATA")),
        }
    }

    // ----- names ---------------------------------------------------------------------------

    fn symbol<'f>(&self, frame: &'f mut UnitFrame, name: &str) -> &'f mut Symbol {
        if !frame.symbols.contains_key(name) {
            frame.symbols.insert(name.to_owned(), Symbol::default());
        }
        // Inserted above if it was not there.
        frame.symbols.get_mut(name).expect("just inserted")
    }

    /// Declared type of a name, or the one that its first letter implies.
    pub fn type_of(&self, frame: &UnitFrame, name: &str) -> Type {
        let declared = frame.symbols.get(name).and_then(|s| s.ty);
        let first = name.bytes().next().unwrap_or(b'X');
        declared.unwrap_or_else(|| {
            if let Implicit::Letters(letters) = &frame.implicit
                && let Some((.., ty)) = letters.iter().find(|(a, b, _)| (*a..=*b).contains(&first))
            {
                return *ty;
            }
            match first {
                b'I'..=b'N' => Type::Integer,
                // Without a unit around it, as in files of numbers, a name is what its value is.
                _ if frame.unit.is_empty() => Type::Real,
                _ => Type::Single,
            }
        })
    }

    /// Whether a name may stand where it is not declared.
    fn known(&self, frame: &UnitFrame, name: &str) -> Parsed<()> {
        let declared = frame.symbols.get(name).is_some_and(|s| s.ty.is_some());
        match declared || frame.implicit != Implicit::None {
            true => Ok(()),
            false if frame.missing_includes.is_empty() => Err(format!(
                "{name} is not declared, in a unit of IMPLICIT NONE; no Fortran compiler takes that: give it the type \
                 that MG5aMC writes, or write the output again"
            )),
            false => Err(format!(
                "{name} is not declared (included files that are missing: {})",
                frame.missing_includes.join(", ")
            )),
        }
    }

    /// The same for one that may not be needed: its type may stand in a file that is missing.
    fn typed(&self, frame: &UnitFrame, name: &str) -> Parsed<()> {
        match frame.missing_includes.is_empty() {
            true => self.known(frame, name),
            false => Ok(()),
        }
    }

    /// Whether a name is declared, and whether as an array.
    pub fn declared(&self, frame: &UnitFrame, name: &str) -> Option<(Type, bool)> {
        let symbol = frame.symbols.get(name)?;
        Some((symbol.ty?, symbol.dims.is_some()))
    }

    /// Number of elements of an array whose bounds are known.
    pub fn size_of(&self, frame: &UnitFrame, name: &str) -> Option<u64> {
        let dims = frame.symbols.get(name)?.dims.as_ref()?;
        let mut size = 1u64;
        for (low, high) in dims.iter() {
            let extent = u64::try_from((*high)?.checked_sub(*low)?.checked_add(1)?).ok()?;
            size = size.checked_mul(extent)?;
        }
        Some(size)
    }

    /// Number of dimensions of an array.
    pub fn rank_of(&self, frame: &UnitFrame, name: &str) -> usize {
        let symbol = frame.symbols.get(name);
        symbol
            .and_then(|s| s.dims.as_ref())
            .map_or(0, |dims| dims.len())
    }

    /// The value of a PARAMETER.
    pub fn constant(&self, frame: &UnitFrame, name: &str) -> Option<FortranValue> {
        match &frame.symbols.get(name)?.place {
            VariableStorage::Constant(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// The value of an integer PARAMETER.
    pub fn int_constant(&self, frame: &UnitFrame, name: &str) -> Option<i64> {
        self.constant(frame, name)?.int().ok()
    }

    /// Binds a dummy argument to a storage of its own and gives its location.
    pub fn bind_new(&mut self, frame: &mut UnitFrame, name: &str) -> Location {
        let at = (self.new_storage(), 0);
        self.symbol(frame, name).place = VariableStorage::At(at);
        at
    }

    /// Where a name is stored, all of a frame's names.
    pub fn locations(&self, frame: &UnitFrame) -> HashMap<String, Location> {
        let mut found = HashMap::new();
        for (name, symbol) in &frame.symbols {
            if let VariableStorage::At(at) = symbol.place {
                found.insert(name.clone(), at);
            }
        }
        found
    }

    /// Sets an element of a storage.
    pub fn set(&mut self, at: Location, value: FortranValue) {
        self.write(at, value);
    }

    /// The value at a location.
    pub fn get(&self, at: Location) -> Option<&FortranValue> {
        self.read(at)
    }

    /// Where an entity of a COMMON block is stored.
    pub fn common_place(&mut self, block: &str, place: usize) -> Location {
        let key = (block.to_owned(), place);
        match self.commons.get(&key) {
            Some(&storage) => (storage, 0),
            None => {
                let storage = self.storage(Origin::Common(block.to_owned(), place));
                self.commons.insert(key, storage);
                (storage, 0)
            }
        }
    }

    /// Takes away what the elements of a storage hold.
    pub fn forget(&mut self, at: Location) {
        self.storages[at.0].clear();
    }

    /// What an element holds, set or as it starts.
    pub fn element(&mut self, at: Location, ty: Type) -> Option<FortranValue> {
        match self.read(at) {
            Some(value) => Some(value.clone()),
            None => self.unset(at, ty),
        }
    }

    /// The elements of a storage that were set, by index from 0.
    pub fn elements(&self, at: Location) -> impl Iterator<Item = (i64, &FortranValue)> {
        self.storages[at.0].iter().map(|(&i, value)| (i, value))
    }

    /// Extent of the first dimension of an array of two.
    pub fn rows_of(&self, frame: &UnitFrame, name: &str) -> Option<i64> {
        match frame.symbols.get(name)?.dims.as_ref()?.as_slice() {
            [(low, Some(high)), _] if high >= low => Some(high - low + 1),
            _ => None,
        }
    }

    /// The numbers that the elements of a storage hold, in order, to see whether they change.
    pub fn contents(&self, at: Location) -> Vec<(i64, Option<ValueId>)> {
        let mut all: Vec<_> = self
            .elements(at)
            .map(|(i, value)| match value {
                FortranValue::Real(v) | FortranValue::Complex(v) => (i, Some(*v)),
                _ => (i, None),
            })
            .collect();
        all.sort_unstable();
        all
    }

    /// Lower bound of an array of one dimension.
    pub fn first_index(&self, frame: &UnitFrame, name: &str) -> Option<i64> {
        let dims = frame.symbols.get(name)?.dims.as_ref()?;
        dims.first().map(|d| d.0)
    }

    /// Sets a variable of a frame.
    pub fn set_name(&mut self, frame: &mut UnitFrame, name: &str, value: FortranValue) {
        let at = match self.location(frame, name, &[]) {
            Ok(at) => at,
            Err(_) => self.bind_new(frame, name),
        };
        self.write(at, value);
    }

    fn location(
        &mut self,
        frame: &mut UnitFrame,
        name: &str,
        subscripts: &[FortranExpr],
    ) -> Parsed<Location> {
        let mut indices = Vec::with_capacity(subscripts.len());
        for subscript in subscripts {
            indices.push(self.eval(frame, subscript)?.int()?);
        }
        let symbol = frame.symbols.get(name);
        let base = match symbol.map(|s| &s.place) {
            Some(VariableStorage::At(at)) => *at,
            Some(VariableStorage::Constant(_)) => return Err(format!("{name} is a PARAMETER")),
            Some(VariableStorage::Nowhere) | None => match self.outer.get(name) {
                // A declared name is the unit's own unless it is in a COMMON block.
                Some(&at) if symbol.is_none() && frame.implicit != Implicit::None => {
                    let index = indices.first().copied().unwrap_or(1);
                    return Ok((at.0, at.1.saturating_add(index.saturating_sub(1))));
                }
                _ => {
                    self.known(frame, name)?;
                    match frame.all_static || symbol.is_some_and(|s| s.is_static) {
                        true => {
                            let at = (self.static_storage(frame, name), 0);
                            self.symbol(frame, name).place = VariableStorage::At(at);
                            at
                        }
                        false => self.bind_new(frame, name),
                    }
                }
            },
        };
        if indices.is_empty() {
            return Ok(base);
        }
        let dims = frame.symbols.get(name).and_then(|s| s.dims.clone());
        let dims =
            dims.ok_or_else(|| format!("{name} is no array and no function that is known"))?;
        let offset = offset(name, &dims, &indices)?;
        Ok((base.0, base.1.saturating_add(offset)))
    }
}
