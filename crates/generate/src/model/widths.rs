//! Widths as sums of partial widths, for cards that leave them open.

use super::expression::{Binary, Expr};
use super::parameters::{needed, program};
use super::{Model, ParticleId};
use mebridge_process::model::{CardParameter, Named};
use mebridge_process::widths::AutoWidth;

impl Model {
    /// How a width of the card is computed from the partial widths of the model, if it is a width and the model has them;
    /// `place` is that of the parameter in the card of a process.
    pub fn auto_width(
        &self,
        place: u32,
        parameter: &CardParameter,
    ) -> Result<Option<AutoWidth>, String> {
        let (&[pdg], "decay") = (&*parameter.index, parameter.block.as_str()) else {
            return Ok(None);
        };
        let mother = self
            .decays
            .keys()
            .find(|&&p| self.of(p).pdg.abs() == pdg.abs());
        let Some(&mother) = mother else {
            return Ok(None);
        };
        let mass = |p: ParticleId| match &self.of(p).mass {
            Some(name) => Expr::Call("abs".into(), vec![Expr::Name(name.clone())]),
            None => Expr::Number(0.0),
        };
        let mut formulas = vec![mass(mother)];
        let mut names = vec![self.of(mother).name.clone()];
        for (particles, width) in &self.decays[&mother] {
            let sum = particles.iter().map(|&p| mass(p));
            let add = |a, b| Expr::Binary(Binary::Add, Box::new(a), Box::new(b));
            let sum = sum.reduce(add).unwrap_or(Expr::Number(0.0));
            let open = Expr::Binary(Binary::Greater, Box::new(mass(mother)), Box::new(sum));
            let real = Expr::Call("re".into(), vec![width.clone()]);
            formulas.push(Expr::If([open, real, Expr::Number(0.0)].into()));
            names.push(format!(
                "{} > {}",
                self.of(mother).name,
                self.names(particles)
            ));
        }
        let formulas: Vec<&Expr> = formulas.iter().collect();
        let alpha_s = self.alpha_s.clone().map(Expr::Name);
        let all: Vec<&Expr> = formulas.iter().copied().chain(&alpha_s).collect();
        let card = needed(self, &all)?;
        let inputs: Vec<&str> = card.iter().map(|entry| entry.name.as_str()).collect();
        let (program, values) = program(&inputs, &self.parameters, &formulas)?;
        let at = |name: &String| inputs.iter().position(|n| n == name);
        let values = names.into_iter().zip(values);
        Ok(Some(AutoWidth {
            parameter: place,
            alpha_s: self.alpha_s.as_ref().and_then(at).map(|n| n as u32),
            card: card.into_iter().map(|entry| entry.parameter()).collect(),
            values: values.map(|(name, value)| Named { name, value }).collect(),
            program,
            colored: self.of(mother).color != 1,
        }))
    }
}
