//! An interpreter that runs Fortran on symbols.
//!
//! Integers and most conditions are known during an import and are simply computed; reals and complex numbers become
//! operations of a [`Program`](mebridge_process::arith::Program). After the run, the value of a variable is its
//! formula. If a condition depends on a parameter, both branches are run, and a `Select` chooses between the values
//! that they changed.
//!
//! Variables live in *storages*, so that COMMON blocks and arguments by reference behave as in Fortran. Arrays are
//! sparse: MG5aMC declares arrays of 16384 couplings of which one is used here.
//!
//! Storage follows gfortran. Variables of SAVE and DATA are static: they start at their initial value or at zero and
//! keep their values between calls. COMMON blocks start as given by [`Interpreter::presets`], because parts of MadEvent
//! that are not read here set much of them. Everything else has no value until it is set.

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

/// Maximum number of statements and operands to run for one matrix element; no model's formulas come near.
const MAX_STEPS: u64 = 20_000_000;
/// Maximum number of included files for one matrix element, counting repetitions.
const MAX_INCLUDES: u64 = 100_000;
/// Maximum number of integers in an internal WRITE.
const MAX_IMPLIED_DO: i64 = 1000;
/// Deepest nesting of calls and includes.
const MAX_CALLS: usize = 16;

type StorageId = usize;

/// A variable or an element of an array: storage, and index within it.
pub type Location = (StorageId, i64);

/// Bounds of an array: lower, and upper if known.
type Bounds = Vec<(i64, Option<i64>)>;

/// Meaning of a name in a unit.
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

/// The names of a running unit.
#[derive(Clone, Debug)]
pub struct UnitFrame {
    symbols: FxHashMap<String, Symbol>,
    /// Name of the unit, empty if there is none.
    unit: String,
    implicit: Implicit,
    /// Names in COMMON blocks, in order.
    commons: HashMap<String, Vec<String>>,
    /// Names that were mentioned before their type was declared.
    untyped: Vec<(String, PathBuf, u32)>,
    /// Whether all of the unit's variables are static.
    all_static: bool,
    /// File of the running statements.
    pub file: PathBuf,
    /// Included files that are missing.
    pub missing_includes: Vec<String>,
    depth: usize,
}

impl UnitFrame {
    /// Returns the declared names.
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

/// Kind of a storage, which determines the initial values of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// No value.
    Fresh,
    /// Zero.
    Static,
    /// The preset of an entity of a COMMON block, see [`Interpreter::presets`].
    Common(String, usize),
}

/// Initial value of an entity of a COMMON block.
#[derive(Clone, Debug)]
pub enum Preset {
    /// Zero of any type.
    Zero,
    /// This value at every index.
    Value(FortranValue),
    /// An unknown, to check that it is added to ([`AmplitudeExpression::before_call`] with [`unknown_before_call`]).
    Before,
}

/// Returns the number of the unknown in an element of a COMMON block, from its place in the block and index.
pub fn unknown_before_call(place: usize, index: i64) -> u32 {
    (place as u32) << 28 | (index as u32 & 0x0fff_ffff)
}

/// Calls that the user of the interpreter handles.
pub trait Externals<'l> {
    /// Handles a call of a subroutine, or leaves it to the interpreter (`None`).
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<()>>;

    /// Handles a call of a function, or leaves it to the interpreter (`None`, the default).
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

/// A variable of a COMMON block that a routine uses but does not set.
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
    /// Sizes in bytes of the entities of a COMMON block in its first declaration, and the file of that declaration.
    layouts: HashMap<String, (Vec<u64>, PathBuf)>,
    /// Initial values of COMMON blocks, by block and place.
    pub presets: HashMap<(String, usize), Preset>,
    /// Static variables, by unit and name.
    statics: HashMap<(String, String), StorageId>,
    /// Units whose DATA statements have been applied.
    initialised: HashSet<String>,
    /// Handler of calls that are not run here.
    pub externals: Option<Rc<RefCell<dyn Externals<'l> + 'l>>>,
    /// If enabled, variables of COMMON blocks that nothing has set become inputs, in this order.
    pub globals: Option<Vec<Global>>,
    /// Sums of amplitudes stored in arrays; [`TermSource::Partial`] is an index into this list.
    pub sums: Vec<StoredSum>,
    /// Names to look up if a frame does not know them.
    pub outer: HashMap<String, Location>,
    /// Values overwritten since the innermost undecided condition.
    journal: Vec<(Location, Option<FortranValue>)>,
    journals: usize,
    steps: u64,
    includes: u64,
    /// Whether powers in the outermost unit must have a constant, non-negative exponent, unless the base is constant.
    pub plain_powers: bool,
    /// Names of variables that start at zero although nothing sets them, because their values have no effect.
    pub zero_locals: &'static [&'static str],
    /// Whether a formula that cannot be read leaves a broken value instead of stopping the import; needing that value
    /// is then an error.
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
            zero_locals: &[],
            defer: false,
        }
    }

    /// Creates a frame without names.
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

    /// Creates the frame of a unit, before its declarations.
    pub fn frame_of(&self, unit: &ProgramUnit) -> UnitFrame {
        let mut frame = self.frame(&unit.source.path);
        frame.unit.clone_from(&unit.name);
        if let Some((result, Some(ty))) = &unit.result {
            self.symbol(&mut frame, result).ty = Some(*ty);
        }
        frame
    }

    /// Creates a frame with the declarations of a unit.
    pub fn declare_unit(&mut self, unit: &ProgramUnit, body: &[BlockNode]) -> Result<UnitFrame> {
        let mut frame = self.frame_of(unit);
        self.declare_in(&mut frame, unit, body)?;
        Ok(frame)
    }

    /// Adds the declarations of a unit to its frame.
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

    /// Returns the storage of a static variable.
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

    /// Returns the initial value, of this type, of an element.
    fn unset(&mut self, at: Location, ty: Type) -> Option<FortranValue> {
        match &self.origins[at.0] {
            Origin::Fresh => None,
            Origin::Static => self.zero(ty),
            Origin::Common(block, place) => {
                match self.presets.get(&(block.clone(), *place))?.clone() {
                    Preset::Zero => self.zero(ty),
                    Preset::Before => {
                        let form =
                            AmplitudeExpression::before_call(unknown_before_call(*place, at.1));
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

    /// Sets a value independently of the branch that is run.
    fn initial(&mut self, at: Location, value: FortranValue) {
        self.storages[at.0].insert(at.1, value);
    }

    /// Sets an initial value of a unit, which is not undone together with a branch.
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

    /// Returns the declared type of a name, or the one implied by its first letter.
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
                // Outside a unit, as in files of numbers, a name has the type of its value.
                _ if frame.unit.is_empty() => Type::Real,
                _ => Type::Single,
            }
        })
    }

    /// Checks that a name is declared or need not be.
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

    /// As [`Interpreter::known`], for a name that may not be needed: its type may be declared in a missing file.
    fn typed(&self, frame: &UnitFrame, name: &str) -> Parsed<()> {
        match frame.missing_includes.is_empty() {
            true => self.known(frame, name),
            false => Ok(()),
        }
    }

    /// Returns the type of a declared name, and whether it is an array.
    pub fn declared(&self, frame: &UnitFrame, name: &str) -> Option<(Type, bool)> {
        let symbol = frame.symbols.get(name)?;
        Some((symbol.ty?, symbol.dims.is_some()))
    }

    /// Returns the number of elements of an array, if its bounds are known.
    pub fn size_of(&self, frame: &UnitFrame, name: &str) -> Option<u64> {
        let dims = frame.symbols.get(name)?.dims.as_ref()?;
        let mut size = 1u64;
        for (low, high) in dims.iter() {
            let extent = u64::try_from((*high)?.checked_sub(*low)?.checked_add(1)?).ok()?;
            size = size.checked_mul(extent)?;
        }
        Some(size)
    }

    /// Returns the number of dimensions of an array.
    pub fn rank_of(&self, frame: &UnitFrame, name: &str) -> usize {
        let symbol = frame.symbols.get(name);
        symbol
            .and_then(|s| s.dims.as_ref())
            .map_or(0, |dims| dims.len())
    }

    /// Returns the value of a PARAMETER.
    pub fn constant(&self, frame: &UnitFrame, name: &str) -> Option<FortranValue> {
        match &frame.symbols.get(name)?.place {
            VariableStorage::Constant(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// Returns the value of an integer PARAMETER.
    pub fn int_constant(&self, frame: &UnitFrame, name: &str) -> Option<i64> {
        self.constant(frame, name)?.int().ok()
    }

    /// Binds a dummy argument to a new storage and returns its location.
    pub fn bind_new(&mut self, frame: &mut UnitFrame, name: &str) -> Location {
        let at = (self.new_storage(), 0);
        self.symbol(frame, name).place = VariableStorage::At(at);
        at
    }

    /// Returns the locations of all names of a frame.
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

    /// Returns the value at a location.
    pub fn get(&self, at: Location) -> Option<&FortranValue> {
        self.read(at)
    }

    /// Returns the location of an entity of a COMMON block.
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

    /// Clears the elements of a storage.
    pub fn forget(&mut self, at: Location) {
        self.storages[at.0].clear();
    }

    /// Returns the value of an element, set or initial.
    pub fn element(&mut self, at: Location, ty: Type) -> Option<FortranValue> {
        match self.read(at) {
            Some(value) => Some(value.clone()),
            None => self.unset(at, ty),
        }
    }

    /// Iterates over the elements of a storage that were set, with their indices from 0.
    pub fn elements(&self, at: Location) -> impl Iterator<Item = (i64, &FortranValue)> {
        self.storages[at.0].iter().map(|(&i, value)| (i, value))
    }

    /// Returns the extent of the first dimension of a two-dimensional array.
    pub fn rows_of(&self, frame: &UnitFrame, name: &str) -> Option<i64> {
        match frame.symbols.get(name)?.dims.as_ref()?.as_slice() {
            [(low, Some(high)), _] if high >= low => Some(high - low + 1),
            _ => None,
        }
    }

    /// Returns the values of a storage's elements in order, to detect changes.
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

    /// Returns the lower bound of the first dimension of an array.
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
                // A declared name belongs to the unit unless it is in a COMMON block.
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
                        false if self.zero_locals.contains(&name) => {
                            let at = (self.storage(Origin::Static), 0);
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
