//! Functions that users write in Fortran for MadEvent (`dummy_cuts`, `user_dynamical_scale`, and the routines of
//! `setscales.f`), run on numbers.
//!
//! [`UserCode::compile`] reads the functions and what they call into statements with resolved names, and refuses by file
//! and line what it does not know; [`UserCode::passes`] and [`UserCode::scale`] run them for one point. Arithmetic is
//! Fortran's: 32-bit integers whose division truncates, single precision for REAL and for constants without an
//! exponent D, and double precision. What Fortran leaves undefined (a variable that nothing has set, an element outside
//! of an array, an integer that overflows) is an error.
//!
//! Results must not depend on the order of points. Variables that live from call to call (SAVE, DATA, COMMON) start each
//! call as the first call leaves them; it is an error if some call changes one and another reads it before it sets it.

mod added;
mod compile;
mod declare;
mod frame;
mod kinematics;
mod number;
mod run;

use crate::program_unit::{Library, units_of};
use crate::source::SourceFile;
pub use added::{AddedCuts, added_to_cuts, statements_of_cuts};
use compile::Compiler;
use kinematics::Kinematic;
use mebridge_process::arith::Comparison;
use mebridge_support::error::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
pub use number::FortranNumber;
use number::Intrinsic;
use run::FunctionCall;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The function that cuts points, and the one that gives their scale, in MG5aMC's `dummy_fct.f`.
pub const CUT: &str = "DUMMY_CUTS";
/// See [`CUT`].
pub const SCALE: &str = "USER_DYNAMICAL_SCALE";
/// The function of MadEvent's `cuts.f` to which users add cuts.
pub const PASSCUTS: &str = "PASSCUTS";
/// The routines of MadEvent's `setscales.f`, `(P, RSCALE)` and `(P, Q2FACT)`: the scale of renormalisation, and the
/// squared ones of factorisation of both beams.
pub const RENORMALISATION: &str = "SET_REN_SCALE";
/// See [`RENORMALISATION`].
pub const FACTORISATION: &str = "SET_FAC_SCALE";
/// Functions that call these, and their file in messages.
const OF_RENORMALISATION: &str = "REN_SCALE_OF_POINT";
const OF_FACTORISATION: &str = "FAC_SCALE_OF_POINT";
const CALLS: &str = "calls of setscales.f";
/// Bits of a variable that lives from call to call: some call reads the value that it starts with, some call leaves
/// another one.
const READ: u8 = 1;
const CHANGED: u8 = 2;

/// Where a user's scales come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserScale {
    /// The function [`SCALE`], for all scales.
    Function,
    /// The routine [`RENORMALISATION`], and if `factorisation` the routine [`FACTORISATION`], otherwise the former for all
    /// scales.
    Routines {
        /// Whether there is one for the scales of factorisation.
        factorisation: bool,
    },
}

/// A file with functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FortranText {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its contents.
    pub text: Vec<u8>,
    /// Names of routines that do not count, in upper case.
    pub without: SortedSet<String>,
    /// Numbers of statements that do not count.
    pub left_out: SortedSet<usize>,
}

/// What surrounds the functions of a directory.
#[derive(Clone, Debug, Default)]
pub struct UserCodeContext {
    /// Number of legs.
    pub legs: usize,
    /// Folders of included files, first ones first.
    pub include_folders: Vec<PathBuf>,
    /// Values of MadEvent's COMMON blocks: by block and name, in upper case, the place in the block, if it is the same in
    /// all versions, and the elements. A name that an included file declares may be at any place.
    pub commons: SortedMap<(String, String), (Option<usize>, Vec<FortranNumber>)>,
    /// Names of all COMMON blocks of MadEvent, in upper case, which functions may not change.
    pub blocks: SortedSet<String>,
}

/// Functions of a user, ready to run. `Eq` tells whether two directories have the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserCode {
    units: Vec<Unit>,
    /// Numbers of the units of the cut, of what is added to MadEvent's cuts, of the scale, and of another one of
    /// factorisation, if these are to be run.
    cut: Option<usize>,
    added: Option<usize>,
    scale: Option<usize>,
    factorisation: Option<usize>,
    legs: usize,
    /// What the regions of the memory start with.
    initial: [Vec<FortranNumber>; 3],
    /// First element and name of what is in [`Region::Given`] and [`Region::Kept`].
    names: [Vec<(u32, String)>; 2],
    /// Elements of [`Region::Kept`] that the first call leaves with different values for different points.
    unsettled: Vec<u32>,
    files: Vec<String>,
    /// Number of dummy arguments of all units.
    dummies: usize,
}

/// A region of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Region {
    /// Momenta and what MadEvent sets, which functions may not change.
    Given,
    /// Variables that live from call to call.
    Kept,
    /// All others.
    Work,
}

/// An element of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Address {
    region: Region,
    index: u32,
}

/// A function or subroutine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit {
    name: String,
    /// Number of its first dummy argument among those of all units, and their number.
    dummies: [usize; 2],
    /// Its variables in [`Region::Work`].
    locals: [u32; 2],
    /// The result of a function.
    result: Option<Address>,
    body: Vec<Step>,
}

/// A statement at a line of a file, with its label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Step {
    file: u16,
    line: u32,
    label: u32,
    action: Action,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Action {
    Nothing,
    /// Assignments, whose values are all computed first.
    Assign(Vec<(Place, Expr)>),
    Call(usize, Vec<Argument>),
    If(Vec<(Option<Expr>, Vec<Step>)>),
    Do {
        variable: Place,
        from: Expr,
        to: Expr,
        step: Option<Expr>,
        body: Vec<Step>,
    },
    While(Expr, Vec<Step>),
    Return,
    Exit,
    Cycle,
    Goto(u32),
    Stop,
}

/// A variable or an element of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    name: String,
    base: Base,
    kind: Kind,
    /// Bounds of the dimensions of an array; a missing upper bound is `*`.
    dims: Vec<(Expr, Option<Expr>)>,
    subscripts: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Base {
    /// First element, and the number of elements.
    At(Address, u32),
    /// A dummy argument, by its number among those of all units.
    Dummy(usize),
}

/// Types of variables that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Kind {
    Logical,
    Integer,
    Single,
    Real,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Kind::Logical => "a LOGICAL",
            Kind::Integer => "an INTEGER",
            Kind::Single => "a REAL in single precision",
            Kind::Real => "a DOUBLE PRECISION number",
        })
    }
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Argument {
    /// By reference.
    Place(Place),
    /// A value, with the element that holds it.
    Value(Expr, Address),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Expr {
    Constant(FortranNumber),
    Load(Box<Place>),
    /// Terms, each with a flag that it is subtracted.
    Sum(Vec<(bool, Expr)>),
    /// Factors, each with a flag that it divides.
    Product(Vec<(bool, Expr)>),
    Power(Box<(Expr, Expr)>),
    Compare(Comparison, Box<(Expr, Expr)>),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Intrinsic(Intrinsic, Vec<Expr>),
    Kinematic(Kinematic, Vec<Argument>),
    Call(usize, Vec<Argument>),
}

/// The memory of one thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadMemory {
    regions: [Vec<FortranNumber>; 3],
    /// First element of each dummy argument, and the end of its storage, exclusively.
    bound: Vec<(Address, u32)>,
    /// Elements of [`Region::Kept`] that this call has set.
    written: Vec<u32>,
    is_written: Vec<bool>,
    /// Elements read before.
    read: Vec<u32>,
    steps: u32,
}

/// What calls of all threads did to the variables that live from call to call.
#[derive(Debug)]
pub struct Kept(Vec<AtomicU8>);

impl UserCode {
    /// Compiles the functions of some files for the matrix elements of a directory: those of `cuts` ([`CUT`],
    /// [`PASSCUTS`]), and what gives `scales`.
    ///
    /// # Errors
    /// A function is missing, or has a statement that cannot be run.
    pub fn compile(
        files: &[FortranText],
        cuts: &[&str],
        scales: Option<UserScale>,
        surroundings: &UserCodeContext,
    ) -> Result<UserCode> {
        let mut library = Library::default();
        library.include_folders = surroundings.include_folders.clone();
        library.only_include_folders = true;
        for file in files {
            let source = SourceFile::parse(&file.path, &file.text).without(&file.left_out);
            let mut units = units_of(&Rc::new(source));
            units.retain(|unit| !file.without.contains(&unit.name));
            for unit in &mut units {
                // Since 3.6 it has the size of a vector as another argument.
                if unit.name == PASSCUTS {
                    unit.arguments.truncate(1);
                }
            }
            library.add_units(units);
        }
        let calls = calls(surroundings.legs);
        let calls = Rc::new(SourceFile::parse(Path::new(CALLS), calls.as_bytes()));
        library.add_units(units_of(&calls));
        let [scale, factorisation] = match scales {
            None => [None; 2],
            Some(UserScale::Function) => [Some(SCALE), None],
            Some(UserScale::Routines { factorisation }) => [
                Some(OF_RENORMALISATION),
                factorisation.then_some(OF_FACTORISATION),
            ],
        };
        let [cut, added] = [CUT, PASSCUTS].map(|name| cuts.contains(&name).then_some(name));
        Compiler::new(&library, surroundings).finish([cut, added, scale, factorisation])
    }

    /// Names of the routines that are run, in upper case.
    pub fn routines(&self) -> impl Iterator<Item = &str> {
        self.units.iter().map(|unit| unit.name.as_str())
    }

    /// The same without its scale.
    #[must_use]
    pub fn without_scale(self) -> UserCode {
        UserCode {
            scale: None,
            factorisation: None,
            ..self
        }
    }

    /// Names of the routines that MadEvent calls, in upper case.
    pub fn called(&self) -> Vec<&str> {
        let scale = self.scale.map(|unit| match self.units[unit].name.as_str() {
            OF_RENORMALISATION => RENORMALISATION,
            name => name,
        });
        let factorisation = self.factorisation.map(|_| FACTORISATION);
        let cuts = [self.cut.map(|_| CUT), self.added.map(|_| PASSCUTS)];
        let all = cuts.into_iter().chain([scale, factorisation]);
        all.flatten().collect()
    }

    /// Whether points are cut.
    pub fn cuts(&self) -> bool {
        self.cut.is_some() || self.added.is_some()
    }

    /// Whether it gives a scale.
    pub fn scales(&self) -> bool {
        self.scale.is_some()
    }

    /// Determines the values with which variables that live from call to call start each call, from the first call for
    /// two points, (E, px, py, pz) of all legs in the rest frame of the partons.
    ///
    /// # Errors
    /// A function fails, or leaves a value that is not finite.
    pub fn settle(&mut self, points: [&[[f64; 4]]; 2]) -> std::result::Result<(), String> {
        let kept = Region::Kept as usize;
        let of = |point: &[[f64; 4]]| {
            let (mut memory, flags) = (self.memory(), self.kept());
            let mut run = FunctionCall::new(self, &mut memory, point, 0.0);
            let units = [self.cut, self.added, self.scale, self.factorisation].into_iter();
            for unit in units.flatten() {
                run.entry(unit)?;
            }
            drop(flags);
            Ok::<_, String>(std::mem::take(&mut memory.regions[kept]))
        };
        let [one, other] = [of(points[0])?, of(points[1])?];
        if let Some(place) = one.iter().position(|value| !value.is_finite()) {
            let name = self.name_of(Region::Kept, place as u32);
            return Err(format!(
                "{name} keeps a value between calls that is not finite"
            ));
        }
        let differ = (0..).zip(one.iter().zip(&other));
        let differ = differ.filter(|(_, (one, other))| one != other);
        self.unsettled = differ.map(|(place, _)| place).collect();
        self.initial[kept] = one;
        Ok(())
    }

    /// The memory of a thread.
    pub fn memory(&self) -> ThreadMemory {
        ThreadMemory {
            regions: self.initial.clone(),
            bound: vec![(Address::given(0), 0); self.dummies],
            written: Vec::new(),
            is_written: vec![false; self.initial[Region::Kept as usize].len()],
            read: Vec::new(),
            steps: 0,
        }
    }

    /// The record that all threads of a run share.
    pub fn kept(&self) -> Kept {
        let count = self.initial[Region::Kept as usize].len();
        let kept = Kept((0..count).map(|_| AtomicU8::new(0)).collect());
        for &place in &self.unsettled {
            kept.0[place as usize].fetch_or(CHANGED, Ordering::Relaxed);
        }
        kept
    }

    /// Whether a point, as for [`Self::settle`], passes the cut; `rapidity` is that of the partons' centre of mass in the
    /// detector frame.
    ///
    /// # Errors
    /// The function fails.
    pub fn passes(
        &self,
        memory: &mut ThreadMemory,
        kept: &Kept,
        momenta: &[[f64; 4]],
        rapidity: f64,
    ) -> std::result::Result<bool, String> {
        for (name, unit) in [(CUT, self.cut), (PASSCUTS, self.added)] {
            match self.call(unit, memory, kept, momenta, rapidity)? {
                None | Some(FortranNumber::Logical(true)) => {}
                Some(FortranNumber::Logical(false)) => return Ok(false),
                Some(other) => return Err(format!("{name} is {other:?}")),
            }
        }
        Ok(true)
    }

    /// The scales of renormalisation and factorisation of a point, GeV, as for [`Self::passes`]; `None` without such
    /// functions.
    ///
    /// # Errors
    /// A function fails, or a scale is not positive and finite.
    pub fn scale(
        &self,
        memory: &mut ThreadMemory,
        kept: &Kept,
        momenta: &[[f64; 4]],
        rapidity: f64,
    ) -> std::result::Result<Option<[f64; 2]>, String> {
        let mut one = |unit: Option<usize>| {
            let name = unit.map_or("", |unit| match self.units[unit].name.as_str() {
                OF_RENORMALISATION => RENORMALISATION,
                OF_FACTORISATION => FACTORISATION,
                name => name,
            });
            match self.call(unit, memory, kept, momenta, rapidity)? {
                None => Ok(None),
                Some(FortranNumber::Real(DIFFERENT)) => Err(format!(
                    "{name} gives both beams different scales, which is not supported"
                )),
                Some(FortranNumber::Real(scale)) if scale > 0.0 && scale.is_finite() => {
                    Ok(Some(scale))
                }
                Some(FortranNumber::Real(scale)) => Err(format!(
                    "{name} is {scale}: a scale must be positive and finite"
                )),
                Some(other) => Err(format!("{name} is {other:?}")),
            }
        };
        let Some(scale) = one(self.scale)? else {
            return Ok(None);
        };
        Ok(Some([scale, one(self.factorisation)?.unwrap_or(scale)]))
    }

    fn call(
        &self,
        unit: Option<usize>,
        memory: &mut ThreadMemory,
        kept: &Kept,
        momenta: &[[f64; 4]],
        rapidity: f64,
    ) -> std::result::Result<Option<FortranNumber>, String> {
        let Some(unit) = unit else {
            return Ok(None);
        };
        let mut run = FunctionCall::new(self, memory, momenta, rapidity);
        let found = run.entry(unit)?;
        let returns = run.returns;
        self.restore(memory, kept)?;
        // MadEvent would go on after the end of what is added, and not after a RETURN.
        if self.added == Some(unit) && FortranNumber::Logical(returns) == found {
            return Err(match returns {
                true => format!(
                    "{PASSCUTS} returns .TRUE. from a statement that was added, which leaves out MadEvent's cuts after it: \
                     leave this RETURN out"
                ),
                false => format!(
                    "{PASSCUTS} is .FALSE. after the statements that were added, and MadEvent goes on: RETURN after \
                     PASSCUTS=.FALSE."
                ),
            });
        }
        Ok(Some(found))
    }

    /// Notes what a call did to the variables that live from call to call, and gives them the values with which the next
    /// call starts.
    fn restore(&self, memory: &mut ThreadMemory, kept: &Kept) -> std::result::Result<(), String> {
        let region = Region::Kept as usize;
        let noted = |place: u32, flag: u8| {
            let before = kept.0[place as usize].fetch_or(flag, Ordering::Relaxed);
            match before | flag == READ | CHANGED {
                true => Err(format!(
                    "{} keeps a value between calls that depends on the point, and a later call uses it: results would \
                     depend on the order of points",
                    self.name_of(Region::Kept, place)
                )),
                false => Ok(()),
            }
        };
        for place in memory.read.drain(..) {
            noted(place, READ)?;
        }
        for place in memory.written.drain(..) {
            let index = place as usize;
            let start = self.initial[region][index];
            if memory.regions[region][index] != start {
                noted(place, CHANGED)?;
            }
            memory.regions[region][index] = start;
            memory.is_written[index] = false;
        }
        Ok(())
    }

    /// The name of an element.
    fn name_of(&self, region: Region, place: u32) -> &str {
        let names = match region {
            Region::Given => &self.names[0],
            Region::Kept => &self.names[1],
            Region::Work => return "a variable",
        };
        let next = names.partition_point(|(first, _)| *first <= place);
        names[..next].last().map_or("", |(_, name)| name)
    }
}

impl Address {
    fn given(index: u32) -> Address {
        let region = Region::Given;
        Address { region, index }
    }

    fn after(self, count: u32) -> Address {
        Address {
            index: self.index + count,
            ..self
        }
    }
}

/// What [`OF_FACTORISATION`] returns if both beams have different scales.
const DIFFERENT: f64 = -12345.0;

/// The text of the functions that call the routines of `setscales.f`.
fn calls(legs: usize) -> String {
    format!(
        "      DOUBLE PRECISION FUNCTION {OF_RENORMALISATION}(P)
      IMPLICIT NONE
      DOUBLE PRECISION P(0:3,{legs}),RSCALE
      CALL {RENORMALISATION}(P,RSCALE)
      {OF_RENORMALISATION}=RSCALE
      END
      DOUBLE PRECISION FUNCTION {OF_FACTORISATION}(P)
      IMPLICIT NONE
      DOUBLE PRECISION P(0:3,{legs}),Q2FACT(2)
      CALL {FACTORISATION}(P,Q2FACT)
      {OF_FACTORISATION}=DSQRT(Q2FACT(1))
      IF (DABS(Q2FACT(1)-Q2FACT(2)).GT.1D-9*Q2FACT(1)) THEN
        {OF_FACTORISATION}={DIFFERENT:.1}D0
      ENDIF
      END
"
    )
}

/// Names of the COMMON blocks that a text declares, in upper case.
pub fn common_blocks(path: &Path, text: &[u8]) -> SortedSet<String> {
    let source = SourceFile::parse(path, text);
    let mut found = SortedSet::new();
    for statement in 0..source.len() {
        let text = source.text(statement);
        if let Some(rest) = text.strip_prefix(b"COMMON/") {
            // `COMMON /A/ X, /B/ Y`: names stand between pairs of slashes.
            let parts = rest.split(|byte| *byte == b'/').step_by(2);
            found.extend(parts.map(|name| String::from_utf8_lossy(name).into_owned()));
        }
    }
    found
}

fn fault(file: &Path, line: u32, what: impl Into<String>) -> Error {
    Error::Fortran {
        file: file.to_path_buf(),
        line,
        what: what.into(),
    }
}
