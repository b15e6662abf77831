//! Widths as sums of partial widths, for cards that leave them to be computed.

use crate::matrix_elements::{TwoBody, two_body};
use crate::model::expression::{BinaryOperator, Expr};
use crate::model::{Decay, Model, ParticleId, needed, program};
use crate::partial_widths::Formulas;
use mebridge_process::arith::ValueId;
use mebridge_process::model::AutoWidth;
use mebridge_process::model::{CardParameter, NamedValue};
use std::borrow::Cow;

impl Model {
    /// Formulas for a width of the card, if the parameter is one: the sum of the model's partial widths or, if there
    /// are none for the particle, of those from its vertices. `None` in the complex-mass scheme, where vertices depend
    /// on widths. `place` is the index of the parameter in the card of a process.
    pub fn auto_width(
        &self,
        place: u32,
        parameter: &CardParameter,
    ) -> Result<Option<AutoWidth>, String> {
        let (&[pdg], "decay") = (&*parameter.index, parameter.block.as_str()) else {
            return Ok(None);
        };
        let is_mother = |p: &ParticleId| self.properties(*p).pdg.abs() == pdg.abs();
        if let Some((&mother, decays)) = self.decays.iter().find(|(p, _)| is_mother(p)) {
            return self.sum_of(place, mother, decays, &[]).map(Some);
        }
        let mother = (0..self.particles.len() as ParticleId).find(is_mother);
        let complex = self.particles.iter().any(|p| p.complex_mass.is_some());
        let Some(mother) = mother.filter(|_| !complex) else {
            return Ok(None);
        };
        // Parameters do not run here.
        let mut fixed = Cow::Borrowed(self);
        if !self.running.is_empty() {
            fixed.to_mut().running.clear();
        }
        let squared = two_body(mother, &fixed)?;
        let decays = squared.iter().map(|(particles, squared)| {
            // NaN if there is no |M|^2.
            let width = squared.as_ref().map_or(f64::NAN, |_| 1.0);
            (particles.clone(), Expr::Number(width))
        });
        let decays: Vec<Decay> = decays.collect();
        self.sum_of(place, mother, &decays, &squared).map(Some)
    }

    /// The sum of partial widths. With `squared`, each nonzero number is replaced by the partial width from |M|^2.
    fn sum_of(
        &self,
        place: u32,
        mother: ParticleId,
        decays: &[Decay],
        squared: &[TwoBody],
    ) -> Result<AutoWidth, String> {
        let mass = |p: ParticleId| match &self.properties(p).mass {
            Some(name) => Expr::Call("abs".into(), vec![Expr::Name(name.clone())]),
            None => Expr::Number(0.0),
        };
        let mut formulas = vec![mass(mother)];
        let mut names = vec![self.properties(mother).name.clone()];
        for (n, (particles, width)) in decays.iter().enumerate() {
            let sum = particles.iter().map(|&p| mass(p));
            let add = |a, b| Expr::Binary(BinaryOperator::Add, Box::new(a), Box::new(b));
            let sum = sum.reduce(add).unwrap_or(Expr::Number(0.0));
            let open = Expr::Binary(
                BinaryOperator::Greater,
                Box::new(mass(mother)),
                Box::new(sum),
            );
            let real = Expr::Call("re".into(), vec![width.clone()]);
            formulas.push(Expr::If([open, real, Expr::Number(0.0)].into()));
            let why = squared
                .get(n)
                .and_then(|(_, squared)| squared.as_ref().err());
            names.push(format!(
                "{} > {}{}",
                self.properties(mother).name,
                self.names(particles),
                why.map_or(String::new(), |why| format!(" ({why})"))
            ));
        }
        let formulas: Vec<&Expr> = formulas.iter().collect();
        let alpha_s = self.alpha_s.clone().map(Expr::Name);
        let all: Vec<&Expr> = formulas.iter().copied().chain(&alpha_s).collect();
        let needed = needed(self, &all)?;
        let processes = squared.iter().map(|(_, squared)| squared.as_ref().ok());
        let processes: Vec<_> = processes.collect();
        let card: Vec<_> = (self.card.iter().map(|entry| (entry, entry.parameter())))
            .filter(|(entry, parameter)| {
                needed.contains(entry)
                    || (processes.iter().flatten()).any(|p| p.model.card.contains(parameter))
            })
            .collect();
        let inputs: Vec<&str> = card.iter().map(|(entry, _)| entry.name.as_str()).collect();
        let (program, values) = program(&inputs, &self.parameters, &formulas)?;
        let at = |name: &String| inputs.iter().position(|n| n == name);
        let alpha_s = self.alpha_s.as_ref().and_then(at).map(|n| n as u32);
        let card: Vec<CardParameter> = card.into_iter().map(|(_, parameter)| parameter).collect();
        let mut formulas = Formulas::new(program.inputs);
        let inputs = (0..program.inputs).map(|n| formulas.input(n));
        let inputs: Vec<ValueId> = inputs.collect();
        let known = formulas.inline(&program, &inputs);
        let mut values: Vec<ValueId> = values.iter().map(|&v| known[v as usize]).collect();
        for (value, process) in values[1..].iter_mut().zip(processes) {
            let Some(process) = process else {
                continue;
            };
            let own = process.model.card.iter();
            let own = own.filter_map(|p| card.iter().position(|other| other == p));
            let own = own.map(|at| inputs[at]).chain(inputs.last().copied());
            let width = formulas.partial_width(process, &own.collect::<Vec<_>>());
            *value = formulas.unless_zero(*value, width);
        }
        let (program, values) = formulas.finish(&values);
        let values = names.into_iter().zip(values);
        Ok(AutoWidth {
            parameter: place,
            alpha_s,
            card,
            values: values
                .map(|(name, value)| NamedValue { name, value })
                .collect(),
            program,
            colored: self.properties(mother).color != 1,
        })
    }
}
