//! Validation of a process: every index must be in range.

use super::color::ColorMatrix;
use super::legs::helicity_counts;
use super::{Amplitudes, Diagrams, LinearMap, Process, Quantity, TermSource, Vertex, Wavefunction};
use mebridge_support::error::{Error, Result};

/// Most legs of a process: sets of legs are masks of 32 bits.
const MAX_LEGS: usize = 32;
/// Most combinations of leg helicities.
const MAX_HELICITIES: usize = 1 << 22;
/// Most wavefunctions and amplitudes in all helicities. g g > t t~ g g g g (a file of 2e7 bytes) has 7e6 of them.
/// Planning at this limit takes about 1 GB and ten seconds.
const MAX_RESULTS: u64 = 1 << 24;
/// Most operations per event: of Lorentz structures, terms of JAMPs and of squared diagrams, entries of the colour
/// matrix. g g > t t~ g g g g has 9e8 of them; this many take seconds.
const MAX_OPERATIONS: u64 = 1 << 31;

/// Returns the union of the legs below these wavefunctions; `None` if two of them share a leg.
fn union(inputs: &[u32], below: &[u32]) -> Option<u32> {
    inputs.iter().try_fold(0, |union, &input| {
        let mask = below[input as usize];
        (union & mask == 0).then_some(union | mask)
    })
}

impl Process {
    /// Checks every index and length. A process that passes can be evaluated without any index out of bounds.
    pub fn validate(&self) -> Result<()> {
        let bad = |what: String| Err(Error::InvalidProcess { what });
        let legs = self.legs.len();
        if legs < 3 {
            return bad(format!("{legs} external legs, at least 3 are needed"));
        }
        if legs > MAX_LEGS {
            return bad(format!(
                "{legs} external legs, at most {MAX_LEGS} are possible"
            ));
        }
        if self.iden == 0 {
            return bad("IDEN is 0".into());
        }
        if self.helicities.is_empty() {
            return bad("the helicity table is empty".into());
        }
        for (i, row) in self.helicities.iter().enumerate() {
            if row.len() != legs {
                return bad(format!(
                    "helicity {} has {} entries for {legs} legs",
                    i + 1,
                    row.len()
                ));
            }
        }
        let rows = self.helicities.len();
        if ![0, rows].contains(&self.beam_weights.len()) {
            let weights = self.beam_weights.len();
            return bad(format!("{weights} weights of beams for {rows} helicities"));
        }
        let bad_weight = |w: &&f64| !(w.is_finite() && **w >= 0.0);
        if let Some(w) = self.beam_weights.iter().find(bad_weight) {
            return bad(format!("a weight of beams is {w}"));
        }
        // Up to 3 for spin 3/2 (in halves); 4 is ALOHA's code for the gauge test of a vector.
        if let Some(h) = self
            .helicities
            .iter()
            .flatten()
            .find(|h| !(-4..=4).contains(*h))
        {
            return bad(format!("the helicity table has an entry {h}"));
        }
        let values = helicity_counts(&self.helicities, legs);
        let combinations = values.iter().fold(1usize, |all, &n| all.saturating_mul(n));
        if combinations > MAX_HELICITIES {
            return bad(format!(
                "{combinations} combinations of leg helicities, at most {MAX_HELICITIES} are possible"
            ));
        }
        self.validate_model()?;
        self.validate_routines()?;
        let (components, below) = self.validate_wavefunctions()?;
        match &self.amplitudes {
            Amplitudes::Diagrams(diagrams) => {
                self.validate_diagrams(diagrams, &components, &below)?;
            }
            Amplitudes::ColorOrdered(form) => form.validate(self)?,
        }
        for leg in &self.legs {
            self.validate_quantity(leg.mass)?;
        }
        let flows = self.amplitudes.jamps();
        for weight in &self.flow_weights {
            let pairs = weight.moduli.iter().flatten();
            if pairs
                .flat_map(|&(a, b)| [a, b])
                .any(|jamp| jamp as usize >= flows)
            {
                return bad("JAMP2 names a JAMP that is not there".into());
            }
        }
        self.validate_channels(self.color_flows())?;
        self.validate_work(&values, &below)
    }

    fn validate_routines(&self) -> Result<()> {
        let bad = |what: String| Err(Error::InvalidProcess { what });
        for routine in &self.routines {
            if let Some(defect) = routine.program.defect() {
                return bad(format!("routine {}: {defect}", routine.name));
            }
            if routine.inputs.iter().any(|&n| !(3..=64).contains(&n)) {
                return bad(format!("routine {}: wavefunction size", routine.name));
            }
            // In 64 bits, because the numbers of a damaged file may be arbitrary.
            let wavefunctions: u64 = routine.inputs.iter().map(|&n| u64::from(n)).sum();
            let rest = u64::from(routine.couplings) + if routine.massive { 2 } else { 0 };
            if u64::from(routine.program.inputs) != wavefunctions + rest {
                return bad(format!("routine {}: wrong number of inputs", routine.name));
            }
            let values = routine.program.ops.len();
            if routine.outputs.is_empty() || routine.outputs.len() == 2 {
                return bad(format!("routine {}: no result", routine.name));
            }
            if routine.outputs.iter().any(|&v| v as usize >= values) {
                return bad(format!("routine {}: result out of range", routine.name));
            }
        }
        Ok(())
    }

    /// Returns the number of components of each wavefunction, and the legs below it as a bit mask.
    fn validate_wavefunctions(&self) -> Result<(Vec<u32>, Vec<u32>)> {
        let bad = |what: String| Err(Error::InvalidProcess { what });
        let mut components = Vec::with_capacity(self.wavefunctions.len());
        // No leg may enter twice.
        let mut below: Vec<u32> = Vec::with_capacity(self.wavefunctions.len());
        for (i, wavefunction) in self.wavefunctions.iter().enumerate() {
            match wavefunction {
                Wavefunction::External(e) => {
                    if e.leg as usize >= self.legs.len() {
                        return bad(format!("wavefunction {}: no leg {}", i + 1, e.leg + 1));
                    }
                    if e.sign != 1 && e.sign != -1 {
                        return bad(format!("wavefunction {}: sign {}", i + 1, e.sign));
                    }
                    self.validate_quantity(e.mass)?;
                    components.push(e.kind.components());
                    below.push(1 << e.leg);
                }
                Wavefunction::Internal(vertex) => {
                    self.validate_vertex(vertex, &components, false)?;
                    let routine = &self.routines[vertex.routine as usize];
                    components.push(routine.outputs.len() as u32);
                    match union(&vertex.inputs, &below) {
                        Some(mask) => below.push(mask),
                        None => {
                            return bad(format!("wavefunction {}: a leg is used twice", i + 1));
                        }
                    }
                }
            }
        }
        Ok((components, below))
    }

    /// Bounds the work of planning and evaluating, because a small file may repeat a long formula for many helicities.
    /// `values` is the number of helicities of each leg, `below` the legs below each wavefunction.
    fn validate_work(&self, values: &[usize], below: &[u32]) -> Result<()> {
        let rows = self.helicities.len() as u64;
        let (mut results, mut operations) = (0u64, 0u64);
        let mut add = |vertex: Option<&Vertex>, instances: u64| {
            results = results.saturating_add(instances);
            let program = vertex.map(|v| &self.routines[v.routine as usize].program);
            let length = program.map_or(0, |program| program.ops.len() as u64);
            operations = operations.saturating_add(instances.saturating_mul(length));
        };
        for (wavefunction, mask) in self.wavefunctions.iter().zip(below) {
            let legs = values.iter().enumerate();
            let legs = legs.filter(|(leg, _)| mask >> leg & 1 != 0);
            // Cannot overflow: at most the number of all combinations, checked above.
            let instances = legs.map(|(_, &n)| n as u64).product();
            match wavefunction {
                Wavefunction::External(_) => add(None, instances),
                Wavefunction::Internal(vertex) => add(Some(vertex), instances),
            }
        }
        let mut terms = 0;
        if let Amplitudes::Diagrams(diagrams) = &self.amplitudes {
            for vertex in &diagrams.amplitudes {
                add(Some(vertex), rows);
            }
            let sums = diagrams.jamp.partial.iter().chain(&diagrams.jamp.outputs);
            terms = sums.map(Vec::len).sum::<usize>() + diagrams.color.upper.len();
        }
        let squares = self.channels.amp2.iter().flat_map(|amp2| &amp2.squares);
        let each = terms + squares.map(Vec::len).sum::<usize>();
        operations = operations.saturating_add(rows.saturating_mul(each as u64));
        let over = |what: &str, count: u64, most: u64| {
            Err(Error::InvalidProcess {
                what: format!("{count} {what}, at most {most} are possible"),
            })
        };
        if results > MAX_RESULTS {
            let what = "wavefunctions and amplitudes in all helicities";
            return over(what, results, MAX_RESULTS);
        }
        if operations > MAX_OPERATIONS {
            return over("operations for one event", operations, MAX_OPERATIONS);
        }
        Ok(())
    }

    /// Checks amplitudes, JAMPs and the colour matrix, given the number of components of each wavefunction and the legs
    /// below it (a bit mask).
    fn validate_diagrams(
        &self,
        diagrams: &Diagrams,
        components: &[u32],
        below: &[u32],
    ) -> Result<()> {
        let bad = |what: String| Err(Error::InvalidProcess { what });
        let Diagrams {
            amplitudes,
            jamp,
            color,
            color_ordered,
        } = diagrams;
        if let Some(form) = color_ordered {
            form.validate(self)?;
        }
        if amplitudes.is_empty() {
            return bad("there are no amplitudes".into());
        }
        for (i, vertex) in amplitudes.iter().enumerate() {
            self.validate_vertex(vertex, components, true)?;
            if union(&vertex.inputs, below).map(u32::count_ones) != Some(self.legs.len() as u32) {
                return bad(format!(
                    "amplitude {}: not every leg is used exactly once",
                    i + 1
                ));
            }
        }
        if self.diagrams as usize > amplitudes.len() {
            return bad(format!(
                "{} diagrams have only {} amplitudes",
                self.diagrams,
                amplitudes.len()
            ));
        }
        jamp.validate(amplitudes.len())?;
        let flows = color.flows as usize;
        let (outputs, entries) = (jamp.outputs.len(), color.upper.len());
        if flows == 0 || outputs != flows || entries != ColorMatrix::triangle(flows) {
            return bad(format!(
                "{flows} colour flows, {outputs} JAMPs and {entries} entries of the colour matrix do not match",
            ));
        }
        if !(color.denominator.is_finite() && color.denominator > 0.0) {
            return bad(format!("DENOM is {}", color.denominator));
        }
        Ok(())
    }

    fn validate_model(&self) -> Result<()> {
        let model = &self.model;
        let bad = |what: String| Err(Error::InvalidProcess { what });
        if let Some(defect) = model.program.defect() {
            return bad(format!("model: {defect}"));
        }
        if model.program.inputs != model.g_input() + 1 {
            return bad("model: wrong number of inputs".into());
        }
        let values = model.program.ops.len();
        for named in model.parameters.iter().chain(&model.couplings) {
            if named.value as usize >= values {
                return bad(format!("model: {} has no value", named.name));
            }
        }
        for width in &model.auto_widths {
            let bad = |what: &str| bad(format!("model: a width: {what}"));
            if let Some(defect) = width.program.defect() {
                return bad(&defect);
            }
            let (inputs, values) = (width.card.len(), width.program.ops.len());
            if width.program.inputs as usize != inputs + 1 {
                return bad("wrong number of inputs");
            }
            if width.alpha_s.is_some_and(|at| at as usize >= inputs) {
                return bad("alpha_s is not in its card");
            }
            if width.values.iter().any(|v| v.value as usize >= values) {
                return bad("it has no value");
            }
        }
        Ok(())
    }

    pub(crate) fn validate_quantity(&self, quantity: Quantity) -> Result<()> {
        match quantity.0 {
            Some(i) if i as usize >= self.model.parameters.len() => Err(Error::InvalidProcess {
                what: format!("no mass or width number {i}"),
            }),
            _ => Ok(()),
        }
    }

    fn validate_vertex(&self, vertex: &Vertex, components: &[u32], amplitude: bool) -> Result<()> {
        let bad = |what: String| Err(Error::InvalidProcess { what });
        let Some(routine) = self.routines.get(vertex.routine as usize) else {
            return bad(format!("no routine number {}", vertex.routine));
        };
        let name = &routine.name;
        if routine.is_amplitude() != amplitude {
            return bad(format!("{name} is called for the wrong kind of result"));
        }
        if routine.inputs.len() != vertex.inputs.len()
            || routine.couplings as usize != vertex.couplings.len()
        {
            return bad(format!("{name} is called with the wrong arguments"));
        }
        for (&input, &needed) in vertex.inputs.iter().zip(&routine.inputs) {
            match components.get(input as usize) {
                Some(&has) if has >= needed => {}
                Some(_) => return bad(format!("{name}: wavefunction {} is too short", input + 1)),
                None => return bad(format!("{name}: wavefunction {} is not earlier", input + 1)),
            }
        }
        for coupling in &vertex.couplings {
            if coupling.coupling as usize >= self.model.couplings.len() {
                return bad(format!("{name}: no coupling number {}", coupling.coupling));
            }
        }
        self.validate_quantity(vertex.mass)?;
        self.validate_quantity(vertex.width)
    }

    fn validate_channels(&self, flows: usize) -> Result<()> {
        let bad = |what: String| Err(Error::InvalidProcess { what });
        let channels = &self.channels;
        for amp2 in &channels.amp2 {
            if amp2.diagram == 0 || amp2.diagram > self.diagrams {
                return bad(format!("AMP2 of diagram {}", amp2.diagram));
            }
            if amp2.squares.is_empty() || amp2.squares.iter().any(Vec::is_empty) {
                return bad(format!("AMP2({}) is the square of nothing", amp2.diagram));
            }
            let amplitudes = self.amplitudes.vertices().len();
            if amp2
                .squares
                .iter()
                .flatten()
                .any(|&a| a as usize >= amplitudes)
            {
                return bad(format!("AMP2({}) names no amplitude", amp2.diagram));
            }
        }
        if channels.config_diagram.len() != channels.color_allowed.len() {
            return bad(format!(
                "{} configurations in CONFSUB, {} in ICOLAMP",
                channels.config_diagram.len(),
                channels.color_allowed.len()
            ));
        }
        if channels.config_diagram.iter().any(|&d| d > self.diagrams) {
            return bad("CONFSUB names a diagram that does not exist".into());
        }
        if channels.color_allowed.iter().any(|row| row.len() != flows) {
            return bad("a row of ICOLAMP has the wrong length".into());
        }
        let legs = self.legs.len();
        if self.other_flavours.iter().any(|row| row.len() != legs) {
            return bad("a row of IDUP has the wrong length".into());
        }
        if channels.color_flows.iter().any(|row| row.len() != legs) {
            return bad("a row of ICOLUP has the wrong length".into());
        }
        Ok(())
    }
}

impl LinearMap {
    fn validate(&self, amplitudes: usize) -> Result<()> {
        let earlier = |source: TermSource, partial: usize| match source {
            TermSource::Amplitude(i) => (i as usize) < amplitudes,
            TermSource::Partial(i) => (i as usize) < partial,
        };
        let whole = |terms: &[super::Term], partial: usize| {
            terms.iter().all(|t| earlier(t.source, partial))
        };
        let partial = self.partial.len();
        let ok = self.partial.iter().enumerate().all(|(i, t)| whole(t, i))
            && self.outputs.iter().all(|t| whole(t, partial));
        if ok {
            Ok(())
        } else {
            Err(Error::InvalidProcess {
                what: "a JAMP names an amplitude or a partial sum that is not there".into(),
            })
        }
    }
}
