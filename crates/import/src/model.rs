//! Parameters and couplings: `Source/MODEL` run on symbols.
//!
//! `COUP` is run as at the start of a program, with READLHA true and the card's parameters as inputs, and then
//! `UPDATE_AS_PARAM` as for an event, with G as the last input. Afterwards the COMMON blocks hold the formulas.
//! `setpara` checks that `SETPARA`, which reads the card, calls `COUP`.

mod running;
mod setpara;

pub use running::ExtraScale;

use super::program_unit::{Library, NodeKind, blocks};
use super::source::SourceFile;
use super::statement::Statement;
use super::symbolic::Interpreter;
use super::value::{FortranValue, Truth};
use mebridge_process::arith::{Builder, Op, ValueId};
use mebridge_process::card::Card;
use mebridge_process::model::{CardParameter, Model, NamedValue};
use mebridge_process::running::entry as running_entry;
use mebridge_support::error::{Error, Result};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Reads which parameters the card holds: `Cards/ident_card.dat`, lines of block, indices and name.
pub fn read_ident_card(path: &Path) -> Result<Vec<CardParameter>> {
    let bytes = super::dependencies::read_bounded(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut parameters = Vec::new();
    let (mut places, mut names) = (HashSet::new(), HashSet::new());
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("");
        let words: Vec<&str> = line.split_whitespace().collect();
        let [block, index @ .., name] = words.as_slice() else {
            continue;
        };
        // The file begins with Fortran-style comments.
        if block.bytes().all(|b| b.eq_ignore_ascii_case(&b'c')) {
            continue;
        }
        let index: std::result::Result<Vec<i32>, _> = index.iter().map(|w| w.parse()).collect();
        let index = index.map_err(|_| Error::Import {
            path: path.to_path_buf(),
            what: format!("line {}: expected a block, indices and a name", i + 1),
        })?;
        let new = CardParameter {
            name: name.to_ascii_uppercase(),
            block: block.to_ascii_lowercase(),
            index,
            default: 0.0,
        };
        let place = (new.block.clone(), new.index.clone());
        if !places.insert(place) || !names.insert(new.name.clone()) {
            return Err(Error::Import {
                path: path.to_path_buf(),
                what: format!(
                    "line {}: an entry of the card, or a name, stands here twice",
                    i + 1
                ),
            });
        }
        parameters.push(new);
    }
    Ok(parameters)
}

/// Reads the values of `Source/param_card.inc`: assignments of numbers to names.
pub fn read_values(path: &Path) -> Result<Vec<CardParameter>> {
    let source = SourceFile::read(path)?;
    let library = Library::default();
    let mut interpreter = Interpreter::new(&library, Builder::new(0));
    let mut frame = interpreter.frame(path);
    let mut parameters = Vec::new();
    for node in blocks(&source, 0, source.len())? {
        let fault = |what: String| Error::Fortran {
            file: path.to_path_buf(),
            line: node.line,
            what,
        };
        let NodeKind::Plain(Statement::Assign(name, _, value)) = &node.kind else {
            continue;
        };
        let value = interpreter.eval(&mut frame, value).map_err(fault)?;
        let value = value.real(&mut interpreter.builder).map_err(fault)?;
        let value = interpreter.builder.constant(value);
        let value = value.filter(|c| c.re.is_finite());
        let value = value.ok_or_else(|| fault(format!("{name} is no finite number")))?;
        parameters.push(CardParameter {
            name: name.clone(),
            block: String::new(),
            index: Vec::new(),
            default: value.re,
        });
    }
    Ok(parameters)
}

/// A model that was run and provides masses, widths and couplings.
pub struct ModelReader<'l> {
    pub interpreter: Interpreter<'l>,
    inputs: Vec<CardParameter>,
    folder: PathBuf,
    /// Parameters of the card that SETPARA does not read.
    unread: Vec<String>,
    /// The quantities used so far.
    pub names: ParameterNames,
}

/// Masses, widths and couplings that a matrix element uses, in the order of first use.
#[derive(Default)]
pub struct ParameterNames {
    parameters: Vec<NamedValue>,
    couplings: Vec<NamedValue>,
    parameter_index: HashMap<(String, ValueId), u32>,
    coupling_index: HashMap<(String, ValueId), u32>,
}

impl ParameterNames {
    /// Returns the index of a mass or width.
    pub fn parameter(&mut self, name: &str, value: ValueId) -> u32 {
        let key = (name.to_owned(), value);
        let parameters = &mut self.parameters;
        *self.parameter_index.entry(key).or_insert_with(|| {
            parameters.push(NamedValue {
                name: name.to_owned(),
                value,
            });
            parameters.len() as u32 - 1
        })
    }

    /// Returns the index of a coupling.
    pub fn coupling(&mut self, name: &str, value: ValueId) -> u32 {
        let key = (name.to_owned(), value);
        let couplings = &mut self.couplings;
        *self.coupling_index.entry(key).or_insert_with(|| {
            couplings.push(NamedValue {
                name: name.to_owned(),
                value,
            });
            couplings.len() as u32 - 1
        })
    }
}

impl<'l> ModelReader<'l> {
    /// Runs the model's subroutines. `inputs` are the parameters of the card.
    pub fn run(
        library: &'l Library,
        folder: &Path,
        inputs: Vec<CardParameter>,
        scale: &ExtraScale,
    ) -> Result<Self> {
        let of_card = inputs.len();
        let mut inputs = inputs;
        inputs.extend(scale.inputs(library)?);
        let builder = Builder::new(inputs.len() as u32 + 1);
        let (read, builder) = setpara::run(library, &inputs[..of_card], builder)?;
        let mut interpreter = Interpreter::new(library, builder);
        interpreter.defer = true;
        let unit = |name: &str| {
            library.unit(name)?.cloned().ok_or_else(|| Error::Import {
                path: folder.to_path_buf(),
                what: format!(
                    "no *.f file here has the subroutine {name}, which MG5aMC writes to couplings.f"
                ),
            })
        };
        let coup = unit("COUP")?;
        let body = coup.body()?;
        let mut frame = interpreter.declare_unit(&coup, &body)?;
        for (i, input) in inputs[..of_card].iter().enumerate() {
            let changed = read.changed.iter().find(|(changed, _)| *changed == i);
            let value = match changed {
                Some(&(_, value)) => value,
                None => interpreter.builder.input(i as u32),
            };
            let value = FortranValue::Real(value);
            interpreter.set_name(&mut frame, &input.name, value);
        }
        // Couplings of loops only; MadEvent leaves the switch off.
        let off = FortranValue::Logical(Truth::Known(false));
        interpreter.set_name(&mut frame, "UPDATELOOP", off);
        interpreter.run(&mut frame, &body)?;
        interpreter.outer = interpreter.locations(&frame);

        let g = interpreter.builder.input(inputs.len() as u32);
        let update = unit("UPDATE_AS_PARAM")?;
        let body = update.body()?;
        let mut frame = interpreter.frame_of(&update);
        for dummy in &update.arguments {
            let at = interpreter.bind_new(&mut frame, dummy);
            interpreter.set(at, FortranValue::Int(1));
        }
        interpreter.declare_in(&mut frame, &update, &body)?;
        interpreter.set_name(&mut frame, "G", FortranValue::Real(g));
        scale.set(&mut interpreter, &mut frame);
        let calls = Rc::new(RefCell::new(scale.calls(&inputs)));
        interpreter.externals = Some(calls.clone());
        interpreter.run(&mut frame, &body)?;
        // Values that depend on running parameters are computed before these: in MadEvent they are those of the
        // previous event.
        if calls.borrow_mut().are_over() {
            interpreter.run(&mut frame, &body)?;
        }
        interpreter.externals = None;
        interpreter.outer.extend(interpreter.locations(&frame));
        interpreter.defer = false;
        Ok(ModelReader {
            interpreter,
            inputs,
            folder: folder.to_path_buf(),
            unread: read.unread,
            names: ParameterNames::default(),
        })
    }

    /// Returns the model with only the quantities used, and with the card's values as defaults. `madevent`: MadEvent
    /// reads the card, not a standalone program. `open`: widths that the card leaves to be computed need no value.
    pub fn finish(self, card: Option<&Card>, madevent: bool, open: bool) -> Result<Model> {
        let g_input = self.inputs.len() as u32;
        let ParameterNames {
            parameters,
            couplings,
            ..
        } = self.names;
        let roots: Vec<ValueId> = parameters
            .iter()
            .chain(&couplings)
            .map(|named| named.value)
            .collect();
        let (mut program, ids) = self.interpreter.builder.finish().pruned(&roots);
        let mut kept: Vec<Option<u32>> = vec![None; self.inputs.len()];
        for op in &program.ops {
            if let Op::Input(n) = *op
                && n < g_input
            {
                kept[n as usize] = Some(0);
            }
        }
        keep_scales(&self.inputs, &mut kept);
        let mut inputs = Vec::new();
        for (input, place) in self.inputs.into_iter().zip(&mut kept) {
            if place.is_some() && self.unread.contains(&input.name) {
                return Err(Error::Import {
                    path: self.folder.join("rw_para.f"),
                    what: format!(
                        "SETPARA does not read the parameter {}, which the process needs",
                        input.name
                    ),
                });
            }
            if place.is_some() {
                *place = Some(inputs.len() as u32);
                inputs.push(input);
            }
        }
        let new_g = inputs.len() as u32;
        for op in &mut program.ops {
            if let Op::Input(n) = op {
                *n = match kept.get(*n as usize) {
                    Some(place) => place.unwrap_or(new_g),
                    None => new_g,
                };
            }
        }
        program.inputs = new_g + 1;
        let renamed = |list: Vec<NamedValue>| -> Vec<NamedValue> {
            list.into_iter()
                .filter_map(|n| {
                    ids[n.value as usize].map(|value| NamedValue {
                        name: n.name,
                        value,
                    })
                })
                .collect()
        };
        let mut model = Model {
            card: inputs,
            program,
            parameters: renamed(parameters),
            couplings: renamed(couplings),
            widths_signed: madevent,
            auto_widths: Vec::new(),
        };
        if let Some(card) = card {
            let values = match open {
                true => model.card_values_so_far(card)?,
                false => model.card_values(card)?,
            };
            for (parameter, value) in model.card.iter_mut().zip(values) {
                parameter.default = value;
            }
        }
        Ok(model)
    }
}

/// Keeps the scale of a block whose parameters run: no formula uses it, but the caller needs it to provide alpha_s
/// there.
fn keep_scales(inputs: &[CardParameter], kept: &mut [Option<u32>]) {
    let block = |at: usize| running_entry(&inputs[at]).map(|(block, _)| block);
    let blocks: HashSet<&str> = (0..inputs.len())
        .filter(|&at| kept[at].is_some())
        .filter_map(block)
        .collect();
    for (at, place) in kept.iter_mut().enumerate() {
        if block(at).is_some_and(|block| blocks.contains(block)) {
            *place = Some(0);
        }
    }
}
