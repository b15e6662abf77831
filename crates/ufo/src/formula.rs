//! Formulas of a model, with its own functions substituted.

use mebridge_generate::model::expression::{Expr, MAX_DEPTH, parse};
use mebridge_support::sorted::SortedMap;
use std::collections::HashMap;

/// Most operations of a formula after substitution.
const MAX_NODES: usize = 200_000;
/// Deepest nesting of function calls.
const DEEPEST: usize = 20;

/// A function of a model: its arguments and its formula.
struct Function {
    arguments: Vec<String>,
    formula: Expr,
}

/// The functions of a model.
#[derive(Default)]
pub struct Functions(HashMap<String, Function>);

impl Functions {
    /// Adds a function.
    pub fn add(&mut self, name: &str, arguments: Vec<String>, formula: &str) -> Result<(), String> {
        let formula = parse(formula)?;
        // `re(z) = z.real` is built in.
        let own = arguments.iter().map(|a| Expr::Name(a.clone())).collect();
        if formula == Expr::Call(name.to_owned(), own) {
            return Ok(());
        }
        let function = Function { arguments, formula };
        match self.0.insert(name.to_owned(), function) {
            None => Ok(()),
            Some(_) => Err(format!("there are two functions {name}")),
        }
    }

    /// Parses a formula and substitutes functions.
    pub fn read(&self, text: &str) -> Result<Expr, String> {
        let mut left = MAX_NODES;
        self.expand(&parse(text)?, &SortedMap::new(), [0, 0], &mut left)
    }

    fn expand(
        &self,
        expr: &Expr,
        arguments: &SortedMap<&str, Expr>,
        [functions, height]: [usize; 2],
        left: &mut usize,
    ) -> Result<Expr, String> {
        if height > MAX_DEPTH {
            return Err("too many operations within each other".into());
        }
        *left = left
            .checked_sub(1)
            .ok_or("a formula with its functions is too long")?;
        if let Expr::Name(name) = expr
            && let Some(value) = arguments.get(name.as_str())
        {
            let (size, inner) = extent(value);
            *left = left.saturating_sub(size);
            if height + inner > MAX_DEPTH {
                return Err("too many operations within each other".into());
            }
            return Ok(value.clone());
        }
        let inner =
            expr.map(&mut |part| self.expand(part, arguments, [functions, height + 1], left))?;
        let Expr::Call(name, values) = &inner else {
            return Ok(inner);
        };
        let Some(function) = self.0.get(name) else {
            return Ok(inner);
        };
        if function.arguments.len() != values.len() {
            return Err(format!(
                "{name} has {} arguments, not {}",
                function.arguments.len(),
                values.len()
            ));
        }
        if functions == DEEPEST {
            return Err(format!("{name}: functions call each other too deeply"));
        }
        let names = function.arguments.iter().map(String::as_str);
        let bound: SortedMap<&str, Expr> = names.zip(values.iter().cloned()).collect();
        self.expand(&function.formula, &bound, [functions + 1, height + 1], left)
    }
}

/// The number of operations of an expression, and their nesting.
fn extent(expr: &Expr) -> (usize, usize) {
    let (mut size, mut height) = (1, 0);
    let _ = expr.map::<()>(&mut |part| {
        let inner = extent(part);
        size += inner.0;
        height = height.max(inner.1 + 1);
        Ok(Expr::Number(0.0))
    });
    (size, height)
}

/// Replaces names in a formula.
pub fn replaced(expr: &Expr, by: &dyn Fn(&str) -> Option<Expr>) -> Expr {
    if let Expr::Name(name) = expr {
        return by(name).unwrap_or_else(|| expr.clone());
    }
    let done: Result<Expr, std::convert::Infallible> = expr.map(&mut |part| Ok(replaced(part, by)));
    match done {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_put_in() {
        let mut functions = Functions::default();
        let mut add = |name: &str, arguments: &[&str], formula: &str| {
            let arguments = arguments.iter().map(|a| (*a).to_owned()).collect();
            functions.add(name, arguments, formula).unwrap();
        };
        add("sec", &["z"], "1./cmath.cos(z.real)");
        add("cond", &["c", "x", "y"], "(x if c==0.0 else y)");
        add("twice", &["z"], "sec(z) + sec(z)");
        add("again", &["z"], "1 + again(z)");
        assert_eq!(
            functions.read("2*twice(a+b)").unwrap().to_string(),
            "2*(1/cos(re(a + b)) + 1/cos(re(a + b)))"
        );
        let cond = functions.read("cond(m, 1, cond(n, 2, 3))").unwrap();
        assert_eq!(cond.to_string(), "1 if m == 0 else 2 if n == 0 else 3");
        assert!(
            functions
                .read("again(1)")
                .unwrap_err()
                .contains("too deeply")
        );
        assert!(
            functions
                .read("sec(1, 2)")
                .unwrap_err()
                .contains("1 arguments, not 2")
        );
    }

    /// Formulas that double with every function do not exhaust memory.
    #[test]
    fn long_formulas_are_refused() {
        let mut functions = Functions::default();
        for n in 0..20 {
            let formula = format!("f{}(z) * f{}(z)", n + 1, n + 1);
            functions
                .add(&format!("f{n}"), vec!["z".into()], &formula)
                .unwrap();
        }
        assert!(functions.read("f0(x)").unwrap_err().contains("too long"));
        let sum = format!("{}z", "1 + ".repeat(300));
        functions.add("long", vec!["z".into()], &sum).unwrap();
        functions
            .add("longer", vec!["z".into()], "long(z) + 1")
            .unwrap();
        functions.read("longer(x)").unwrap();
        let twice = functions.read(&format!("long({}x)", "1 * ".repeat(100)));
        assert!(twice.is_ok_and(|expr| extent(&expr).1 < MAX_DEPTH));
        let both = functions.read(&format!("{}long(x)", "(1 - ".repeat(90) + &")".repeat(0)));
        assert!(both.is_err());
    }
}
