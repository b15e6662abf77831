//! GPU tables of a plan of loops, i.e. of a process in colour-ordered form: array operations in levels, or
//! all of them in one kernel, and the colour matrix. The launches are in `engine::color_ordered`.

pub mod color_matrix;
pub mod schedule;
pub mod whole;

#[cfg(test)]
mod tests {
    use mebridge_generate::generate;
    use mebridge_plan::ValidPlan;
    use mebridge_plan::binding::Binding;
    use mebridge_plan::color_ordered::{Machine, compile};

    /// Returns the plan of all helicities of a process.
    pub fn plan(text: &str, machine: Machine) -> ValidPlan {
        let process = generate(text).unwrap().remove(0);
        let process = process.as_color_ordered().unwrap();
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).unwrap();
        let rows: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let form = process.amplitudes.color_ordered().unwrap();
        let plan = compile(&process, form, &binding, &rows, machine).unwrap();
        plan.validate(&process).unwrap()
    }
}
