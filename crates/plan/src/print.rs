//! Plans as text, for reading and comparison.
//!
//! An address follows a letter that tells what is stored there: `w` is a spinor or a vector, `c` a complex number, `p`
//! four real numbers (a momentum, or a spinor of one chirality), `r` a real number, `x` anything else. Operations are
//! printed using the table of operations and its visitors ([`mebridge_ops::visit`], [`mebridge_ops::arrays::terms`]),
//! so that new ones need no code here.
//!
//! `w96 = Ffv2 w64 w72 c30 p24 r22` writes 96 and reads the others; `+=` adds to the previous value. A wavefunction
//! that amplitudes look up in the table of a helicity is printed as its index there, `[4]`; `#2` is a count or a mode.
//!
//! The operation on arrays `w96 x4 = LineIn, propagated: w64[i0] w72[i4+s1] + ..` computes four elements. Each is the
//! sum of these products of elements. `i0` refers to a list of offsets, printed at the end; `s1` is the run's shift 1
//! of the address. Operands after the first semicolon are read once for all elements.

use super::color_ordered::{Loops, NO_HELICITY};
use super::sums::Sums;
use super::{Body, Operations, Plan};
use mebridge_ops::arrays::terms::{AddendTerm, ElementMap, Read};
use mebridge_ops::arrays::{ArrayOp, Pairs, Part, Pools};
use mebridge_ops::opcode::{COMPLEX, FOUR, MOMENTUM, REAL};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use num_complex::Complex64;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Numbers per line of a list.
const IN_A_LINE: usize = 16;

/// A number of vectors at an address.
struct At(Address, u32);

impl Display for At {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let At(address, size) = *self;
        let letter = match size {
            REAL => 'r',
            COMPLEX => 'c',
            MOMENTUM => 'p',
            FOUR => 'w',
            _ => 'x',
        };
        write!(f, "{letter}{address}")
    }
}

/// A coefficient as a prefix: nothing for 1, a sign for -1.
struct Times(Complex64);

impl Display for Times {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match (self.0.re, self.0.im) {
            (1.0, 0.0) => Ok(()),
            (-1.0, 0.0) => write!(f, "-"),
            (0.0, 1.0) => write!(f, "i "),
            (0.0, -1.0) => write!(f, "-i "),
            (re, 0.0) => write!(f, "{} ", Rounded(re)),
            (0.0, im) => write!(f, "{} i ", Rounded(im)),
            (re, im) => write!(f, "({} + {} i) ", Rounded(re), Rounded(im)),
        }
    }
}

/// A number rounded to digits that are readable and do not depend on the compiler.
struct Rounded(f64);

impl Display for Rounded {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let text = format!("{:.9}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{}", if text == "-0" { "0" } else { text })
    }
}

fn joined<T: Display>(all: impl IntoIterator<Item = T>, between: &str) -> String {
    let all: Vec<String> = all.into_iter().map(|x| x.to_string()).collect();
    all.join(between)
}

/// Prints a list of numbers, several per line.
fn list<T: Display>(f: &mut Formatter, name: &str, all: &[T]) -> fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(f, "{name}")?;
    for some in all.chunks(IN_A_LINE) {
        writeln!(f, "  {}", joined(some, " "))?;
    }
    Ok(())
}

/// Prints a heading, and a line for each item.
fn lines<T>(
    f: &mut Formatter,
    name: &str,
    all: &[T],
    mut line: impl FnMut(&mut Formatter, &T) -> fmt::Result,
) -> fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(f, "{name}")?;
    for one in all {
        write!(f, "  ")?;
        line(f, one)?;
        writeln!(f)?;
    }
    Ok(())
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        writeln!(
            f,
            "{} vectors; {} JAMPs from c{} on; momenta of {} legs from p{} on",
            self.vectors,
            self.flows,
            self.jamp_base,
            self.masses.len(),
            self.leg_momenta,
        )?;
        list(f, "helicities", &self.helicities)?;
        let couplings: Vec<At> = self.couplings.iter().map(|&c| At(c, COMPLEX)).collect();
        list(f, "couplings", &couplings)?;
        lines(f, "constants", &self.constants, |f, (at, x)| {
            write!(f, "{} = {}", At(*at, REAL), Rounded(*x))
        })?;
        lines(f, "momenta", &self.momenta, |f, sum| {
            let legs = (1..).zip(&sum.signs).filter(|(_, sign)| **sign != 0);
            let legs = legs.flat_map(|(leg, &times)| {
                let one = format!("{}{leg}", if times > 0 { "+" } else { "-" });
                vec![one; usize::from(times.unsigned_abs())]
            });
            write!(f, "{} = {}", At(sum.address, MOMENTUM), joined(legs, " "))
        })?;
        lines(f, "squares of momenta", &self.squares, |f, square| {
            write!(f, "{} = {}^2", At(square.address, REAL), square.leg + 1)
        })?;
        lines(f, "products of momenta", &self.products, |f, product| {
            let [a, b] = product.legs.map(|leg| leg + 1);
            write!(f, "{} = {a} {b}", At(product.address, COMPLEX))
        })?;
        lines(f, "propagators", &self.propagators, |f, p| {
            if let Some(virtuality) = &p.virtuality {
                let squares = virtuality.squares.iter();
                let squares = squares.map(|&at| format!("+ {}", At(at, REAL)));
                let terms = virtuality.terms.iter();
                let terms = terms.map(|&(at, x)| format!("{x:+} {}", At(at, COMPLEX)));
                return write!(
                    f,
                    "{} = 1 / (-{}^2 {})",
                    At(p.address, COMPLEX),
                    Rounded(p.mass),
                    joined(squares.chain(terms), " ")
                );
            }
            write!(
                f,
                "{} = 1 / ({}^2 - m (m - i w)), m {}, w {}",
                At(p.address, COMPLEX),
                At(p.momentum, MOMENTUM),
                Rounded(p.mass),
                Rounded(p.width)
            )
        })?;
        lines(f, "factors", &self.factors, |f, factor| {
            let terms = factor.terms.iter();
            let terms = terms.map(|&(i, c)| format!("{}coupling {i}", Times(c)));
            write!(
                f,
                "{} = {}",
                At(factor.address, COMPLEX),
                joined(terms, " + ")
            )?;
            match factor.propagator {
                Some(propagator) => write!(f, ", times {}", At(propagator, COMPLEX)),
                None => Ok(()),
            }
        })?;
        lines(f, "external wavefunctions", &self.externals, |f, e| {
            let size = 2 * (e.kind.components() - 2);
            let of = e.results.iter().zip(&e.helicities);
            let of = of.map(|(&at, h)| format!("{} for {h:+}", At(at, size)));
            let (leg, mass) = (e.leg + 1, Rounded(e.mass));
            let of = joined(of, ", ");
            write!(
                f,
                "{:?} of leg {leg}, m {mass}, sign {:+}: {of}",
                e.kind, e.sign
            )
        })?;
        match &self.body {
            Body::Operations(operations) => operations.write(f),
            Body::Loops(loops) => loops.write(f),
        }
    }
}

impl Operations {
    fn write(&self, f: &mut Formatter) -> fmt::Result {
        self.batches(f, "currents", &self.currents, false)?;
        for tile in &self.tiles {
            let name = format!("currents ahead of group {}", tile.group);
            self.batches(f, &name, &tile.currents, false)?;
        }
        self.batches(f, "amplitudes of a helicity", &self.amplitudes, true)?;
        self.jamp.write(f)?;
        let rows: Vec<String> = self.tables.iter().map(|row| joined(row, " ")).collect();
        lines(f, "wavefunctions of each helicity", &rows, |f, row| {
            write!(f, "{row}")
        })?;
        let groups: Vec<String> = self.groups.iter().map(|group| joined(group, "+")).collect();
        list(f, "groups of helicities", &groups)?;
        if self.pair_stride > 0 {
            writeln!(
                f,
                "the second of a group {} vectors further",
                self.pair_stride
            )?;
        }
        self.batches(f, "squared diagrams", &self.channels.squares, false)?;
        let totals: Vec<At> = self.channels.totals.iter().map(|&t| At(t, REAL)).collect();
        list(f, "AMP2", &totals)?;
        lines(f, "AMP2 of amplitudes", &self.channels.amp2, |f, sets| {
            let set = |set: &Vec<Address>| joined(set.iter().map(|&a| At(a, COMPLEX)), "+");
            let squares = sets.iter().map(|s| format!("|{}|^2", set(s)));
            write!(f, "{}", joined(squares, " + "))
        })?;
        lines(f, "general routines", &self.general, |f, general| {
            let massless = if general.massless { ", massless" } else { "" };
            write!(f, "{}{massless}", general.routine.name)
        })
    }

    fn batches(&self, f: &mut Formatter, name: &str, all: &[Batch], tables: bool) -> fmt::Result {
        let mut text = Vec::new();
        for batch in all {
            let (mut read, mut done) = (Vec::new(), Vec::new());
            let whole = visit(
                batch,
                &self.general,
                tables,
                &mut |at, access| match access {
                    Access::Number => read.push(format!("#{at}")),
                    Access::Read(size) => read.push(At(at, size).to_string()),
                    Access::Indexed(_) => read.push(format!("[{at}]")),
                    Access::Write(size) | Access::Update(size) => {
                        let sign = if matches!(access, Access::Update(_)) {
                            "+="
                        } else {
                            "="
                        };
                        let (to, of) = (At(at, size), joined(read.drain(..), " "));
                        done.push(format!("{to} {sign} {:?} {of}", batch.opcode));
                    }
                },
            );
            text.extend(done);
            if whole.is_none() {
                text.push(format!("{:?} that ends within an operation", batch.opcode));
            }
        }
        lines(f, name, &text, |f, line| write!(f, "{line}"))
    }
}

impl Sums {
    fn write(&self, f: &mut Formatter) -> fmt::Result {
        let (mut units, mut terms) = (self.units.iter(), self.terms.iter());
        lines(f, "sums of amplitudes", &self.sums, |f, sum| {
            write!(f, "{} =", At(sum.address, COMPLEX))?;
            for (&count, sign) in sum.units.iter().zip(["+", "-", "+i", "-i"]) {
                for &unit in units.by_ref().take(count as usize) {
                    write!(f, " {sign} {}", At(unit, COMPLEX))?;
                }
            }
            for term in terms.by_ref().take(sum.terms as usize) {
                let [re, im] = [(term.factor_re, term.re), (term.factor_im, term.im)];
                let part = |(factor, at)| format!("{} {}", Rounded(factor), At(at, REAL));
                write!(f, " + ({}, {})", part(re), part(im))?;
            }
            Ok(())
        })
    }
}

impl Loops {
    fn write(&self, f: &mut Formatter) -> fmt::Result {
        let [of_jamp, of_helicity] = self.strides;
        let (runs, helicities, jamps) = (self.runs.len(), self.helicities, At(self.jamps, COMPLEX));
        writeln!(
            f,
            "runs {runs}, helicities {helicities}; JAMPs from {jamps} on, strides {of_jamp} and {of_helicity}"
        )?;
        lines(f, "shifts of each run", &self.runs, |f, run| {
            write!(f, "{}", joined(run, " "))
        })?;
        let mut offsets = BTreeMap::new();
        for (name, ops) in [("once an event", &self.once), ("each run", &self.per_run)] {
            lines(f, name, ops, |f, op| {
                self.pools.operation(f, op, &mut offsets)
            })?;
        }
        lines(f, "shuffled", &self.shuffles, |f, op| {
            let mut terms = Vec::new();
            let _ = Pairs::<FOUR, FOUR>(op.pairs).terms(&self.pools, &mut |term| {
                terms.push(self.pools.term(&term, self.helicities, &mut offsets));
            });
            let [from, to] = op.targets;
            let targets = self.pools.targets.get(from as usize..to as usize);
            let (terms, targets) = (
                joined(terms, ", "),
                joined(targets.unwrap_or_default(), " "),
            );
            write!(f, "by {}: {terms}; to {targets}", op.shuffle)
        })?;
        lines(f, "shuffles", &self.pools.shuffles, |f, shuffle| {
            let sums = shuffle
                .sums
                .iter()
                .map(|[to, a, b]| format!("{to} = {a} + {b}"));
            write!(f, "{} numbers; {}; ", shuffle.given, joined(sums, ", "))?;
            let groups = shuffle.groups.iter();
            let groups =
                groups.map(|group| format!("{} of {}", group.results, joined(group.counts, " ")));
            write!(
                f,
                "results {}: {}",
                joined(groups, ", "),
                joined(&shuffle.of, " ")
            )
        })?;
        lines(f, "weights", &self.weights, |f, both| {
            let weight = both.iter().map(|weight| {
                let product =
                    |product: &Vec<Address>| joined(product.iter().map(|&c| At(c, COMPLEX)), " ");
                let products = joined(weight.products.iter().map(product), " + ");
                format!("{} = |{products}|^2", At(weight.address, REAL))
            });
            write!(f, "{}", joined(weight, ", "))
        })?;
        let rows = (0..self.rows.len()).map(|row| {
            let both = self.helicity_pair(row).map(|h| match h {
                NO_HELICITY => "-".to_owned(),
                h => h.to_string(),
            });
            joined(both, "/")
        });
        list(
            f,
            "helicities of runs, and with all legs reversed",
            &rows.collect::<Vec<_>>(),
        )?;
        list(f, "vanishing", &self.vanishing)?;
        lines(f, "colour flows", &self.flows, |f, flow| {
            let terms = flow
                .iter()
                .map(|t| format!("{}{}", if t.minus { "-" } else { "+" }, t.jamp));
            write!(f, "{}", joined(terms, " "))
        })?;
        let offsets: Vec<_> = offsets.into_iter().collect();
        lines(f, "offsets", &offsets, |f, (index, count)| {
            let (from, to) = (*index as usize, *index as usize + *count as usize);
            let offsets = self.pools.indices.get(from..to);
            write!(f, "i{index}: {}", joined(offsets.unwrap_or_default(), " "))
        })
    }
}

/// For each offset list that occurs (by first index), its length.
type Offsets = BTreeMap<u32, u32>;

/// Printing of operations on arrays.
trait Print {
    fn operation(&self, f: &mut Formatter, op: &ArrayOp, offsets: &mut Offsets) -> fmt::Result;
    /// The product of a term, without its sign.
    fn term(&self, term: &AddendTerm, count: u32, offsets: &mut Offsets) -> String;
}

impl Print for Pools {
    fn operation(&self, f: &mut Formatter, op: &ArrayOp, offsets: &mut Offsets) -> fmt::Result {
        let result = op.result();
        let to = At(result.address, result.size);
        write!(f, "{to} x{} = {:?}", op.count, op.kind())?;
        let mut words = String::new();
        op.words(&mut |word, number| {
            let number = number.map(|n| format!(" {n}")).unwrap_or_default();
            words += &format!(", {word}{number}");
        });
        write!(f, "{words}")?;
        if let Some(products) = op.result_products() {
            write!(f, ", products {}", At(products.address, products.size))?;
        }
        let mut terms = String::new();
        let whole = self.terms(op, &mut |term| {
            terms += match (terms.is_empty(), term.minus) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            terms += &self.term(&term, op.count, offsets);
        });
        write!(f, ": {terms}")?;
        let mut once = Vec::new();
        let known = self.once(op, &mut |at, size| once.push(At(at, size)));
        if !once.is_empty() {
            write!(f, "; {}", joined(once, " "))?;
        }
        let mut products = Vec::new();
        let products_read = self.products_of(op, &mut |reads| {
            let reads = reads.iter().map(|read| operand(read, op.count, offsets));
            products.push(joined(reads, " "));
        });
        if !products.is_empty() {
            write!(f, "; products of pairs {}", joined(products, ", "))?;
        }
        match whole.and(known).and(products_read) {
            Some(()) => Ok(()),
            None => write!(f, "; it refers to something that does not exist"),
        }
    }

    fn term(&self, term: &AddendTerm, count: u32, offsets: &mut Offsets) -> String {
        let reads = term
            .reads()
            .iter()
            .map(|read| operand(read, count, offsets));
        joined(reads, " ")
    }
}

fn operand(read: &Read, count: u32, offsets: &mut Offsets) -> String {
    let at = At(read.address, read.size);
    let index = match read.elements {
        ElementMap::Indexed(index) => {
            let known = offsets.entry(index).or_default();
            *known = count.max(*known);
            Some(format!("i{index}"))
        }
        ElementMap::Same => None,
    };
    let shift = (read.shift != 0).then(|| format!("s{}", read.shift));
    let inside: Vec<String> = index.into_iter().chain(shift).collect();
    match inside.is_empty() {
        true => at.to_string(),
        false => format!("{at}[{}]", inside.join("+")),
    }
}
