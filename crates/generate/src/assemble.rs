//! Assembly of a [`Process`] from diagrams.

use super::assembly::{Assembler, Assembly};
use super::color::TreeColor;
use super::color_ordered::ColorOrderedLegs;
use super::flows;
use super::matrix::matrix;
use super::matrix_element::MatrixElement;
use super::number::Number;
use super::request::AUXILIARY;
use super::same_color;
use super::squared::SquaredSelection;
use super::strings::Strings;
use super::subprocess::Subprocess;
use super::trees::{Diagram, Diagrams, Tree, legs_of};
use crate::model::ParticleId;
use mebridge_process::channels::{Amp2, Channels, Resonance};
use mebridge_process::color::{ColorMatrix, FlowWeight};
use mebridge_process::legs::helicity_counts;
use mebridge_process::{Amplitudes, Contract, HelicitySum, LinearMap, Process, Term, TermSource};
use rustc_hash::FxHashMap as HashMap;
use std::ops::RangeInclusive;

/// Most colour flows; the colour matrix of more would take gigabytes.
const MAX_FLOWS: usize = 10_000;
/// Most combinations of helicities of a process.
const MAX_HELICITIES: usize = 1 << 22;

impl Assembler<'_> {
    /// Whether any of these diagrams has a nonvanishing colour factor.
    pub fn has_color(&self, subprocess: &Subprocess, diagrams: &Diagrams) -> Result<bool, String> {
        let mut assembly = self.assembly(&diagrams.trees);
        assembly.externals(subprocess);
        for diagram in &diagrams.diagrams {
            let found = assembly.vertices(&diagram.node, None)?;
            if found.iter().any(|(_, color)| !color.is_zero()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The diagrams with a nonvanishing colour factor, the only ones that are numbered in a process.
    pub fn colored<'b>(
        &self,
        subprocess: &Subprocess,
        diagrams: &'b Diagrams,
    ) -> Result<Vec<&'b Diagram>, String> {
        let mut assembly = self.assembly(&diagrams.trees);
        assembly.externals(subprocess);
        let mut found = Vec::new();
        for diagram in &diagrams.diagrams {
            let vertices = assembly.vertices(&diagram.node, None)?;
            if vertices.iter().any(|(_, color)| !color.is_zero()) {
                found.push(diagram);
            }
        }
        Ok(found)
    }

    /// The vertices of the colour-ordered form with these coupling orders, if there is such a form.
    pub fn ordered_vertices(
        &self,
        line: &ColorOrderedLegs,
        allowed: &[RangeInclusive<u32>],
    ) -> Result<Option<Vec<u32>>, String> {
        let vertices = line.vertices(&mut self.assembly(&[]), allowed)?;
        Ok(vertices.map(|vertices| vertices.numbers()))
    }

    /// Builds a process in its colour-ordered form only, if it has one.
    pub fn color_ordered(
        &self,
        element: &MatrixElement,
        line: &ColorOrderedLegs,
    ) -> Result<Option<Process>, String> {
        let subprocess = &element.subprocess;
        let mut assembly = self.assembly(&[]);
        let helicities = self.helicities(subprocess)?;
        let legs = assembly.externals(subprocess);
        let Some(form) = line.form(&mut assembly, &element.orders)? else {
            return Ok(None);
        };
        let strings = line.strings()?;
        let lines = strings.iter();
        let lines = lines.map(|f| flows::lines(f, subprocess.outgoing.len(), subprocess.incoming));
        Ok(Some(Process {
            legs,
            helicities,
            // One configuration, so that colour flows can be selected.
            channels: Channels {
                color_allowed: vec![vec![true; strings.len()]],
                color_flows: lines.collect(),
                config_diagram: vec![0],
                ..Channels::default()
            },
            ..self.of_assembly(element, assembly, Amplitudes::ColorOrdered(form))?
        }))
    }

    /// A process with these wavefunctions and amplitudes; the caller fills in legs, helicities and channels.
    fn of_assembly(
        &self,
        element: &MatrixElement,
        assembly: Assembly,
        amplitudes: Amplitudes,
    ) -> Result<Process, String> {
        Ok(Process {
            name: element.name.clone(),
            model_name: self.model.name.clone(),
            legs: Vec::new(),
            other_flavours: Vec::new(),
            helicities: Vec::new(),
            helicity_sum: HelicitySum::Positive,
            beam_weights: Vec::new(),
            iden: self.iden(&element.subprocess),
            channels: Channels::default(),
            model: assembly.parameters.finish()?,
            routines: assembly.routines,
            wavefunctions: assembly.wavefunctions,
            amplitudes,
            diagrams: 0,
            flow_weights: Vec::new(),
            contract: Contract::Unknown,
        })
    }

    /// The PDG codes of particles.
    pub fn pdg(&self, particles: &[ParticleId]) -> Vec<i32> {
        particles
            .iter()
            .map(|&p| self.model.properties(p).pdg)
            .collect()
    }

    /// The name of a process; `through` is the required s-channels followed by an arrow.
    pub fn name(&self, subprocess: &Subprocess, through: &str, tail: &str) -> String {
        let name = |leg: usize| {
            let name = &self.model.properties(subprocess.particles[leg]).name;
            match subprocess.polarizations[leg].as_slice() {
                [] => name.clone(),
                some => {
                    let letter = |h: &i8| match *h {
                        0 => "0".to_owned(),
                        AUXILIARY => "A".to_owned(),
                        1 => "+".to_owned(),
                        -1 => "-".to_owned(),
                        h => format!("{h:+}"),
                    };
                    format!("{name}{{{}}}", some.iter().map(letter).collect::<String>())
                }
            }
        };
        let names = |legs: std::ops::Range<usize>| legs.map(name).collect::<Vec<_>>().join(" ");
        let (first, all) = (subprocess.incoming, subprocess.particles.len());
        format!("{} > {through}{}{tail}", names(0..first), names(first..all))
    }

    /// Builds the process with these diagrams; `None` if all colour factors vanish.
    pub fn process(
        &self,
        element: &MatrixElement,
        diagrams: &Diagrams,
    ) -> Result<Option<Process>, String> {
        let MatrixElement {
            subprocess,
            line,
            orders: allowed,
            ..
        } = element;
        let mut assembly = self.assembly(&diagrams.trees);
        if element.zero_width && subprocess.incoming == 2 {
            let between = |legs: &u32| (legs & 3).count_ones() == 1;
            assembly.zero_width = legs_of(&diagrams.trees).iter().map(between).collect();
        }
        let helicities = self.helicities(subprocess)?;
        let legs = assembly.externals(subprocess);
        let mut flows = Flows {
            colors: self.colors as f64,
            ..Flows::default()
        };
        let mut amplitudes = Vec::new();
        let mut count = 0;
        let mut squares = Vec::new();
        // The group of each amplitude, if products of groups are selected.
        let mut groups: Vec<usize> = Vec::new();
        for (number, diagram) in diagrams.diagrams.iter().enumerate() {
            let group = element.selection.as_ref().and_then(|s| s.groups[number]);
            let first = amplitudes.len() as u32;
            let found = assembly.vertices(&diagram.node, None)?;
            for (vertex, color) in found {
                if color.is_zero() {
                    continue;
                }
                flows.add(amplitudes.len() as u32, count, &color, diagram.negative)?;
                amplitudes.push(vertex);
                groups.extend(group);
            }
            let last = amplitudes.len() as u32;
            if first < last {
                count += 1;
                squares.push((diagram.largest_vertex, first..last));
            }
        }
        if amplitudes.is_empty() {
            return Ok(None);
        }
        assembly.rerooted(&mut amplitudes, &helicity_counts(&helicities, legs.len()))?;
        // The colour-ordered form does not support reversed fermion lines.
        let line = line.as_ref().filter(|_| assembly.flips.is_empty());
        assembly.pruned(&mut amplitudes);
        // Channels are the diagrams whose largest vertex is smallest.
        let smallest = squares.iter().map(|(size, _)| *size).min();
        let channels = (1..).zip(&squares).filter(|(_, s)| Some(s.0) == smallest);
        let amp2: Vec<Amp2> = channels
            .map(|(diagram, (_, amplitudes))| Amp2 {
                diagram,
                squares: amplitudes.clone().map(|a| vec![a]).collect(),
            })
            .collect();
        let config_diagram: Vec<u32> = amp2.iter().map(|a| a.diagram).collect();
        let sorted = flows.sorted();
        let lines = sorted.flows.iter();
        let lines = lines.map(|f| flows::lines(f, subprocess.outgoing.len(), subprocess.incoming));
        let color_ordered = match line {
            Some(line) if line.strings()? == sorted.flows => line.form(&mut assembly, allowed)?,
            _ => None,
        };
        let channels = Channels {
            color_allowed: sorted.allowed(&config_diagram),
            color_flows: lines.collect(),
            amp2,
            config_diagram,
            resonances: self.resonances(element, diagrams, &mut assembly),
        };
        let mut diagrams = mebridge_process::Diagrams {
            color: matrix(&sorted.flows, self.colors)?,
            jamp: sorted.jamp,
            amplitudes,
            color_ordered,
        };
        let (mut helicity_sum, mut flow_weights) = (HelicitySum::Positive, Vec::new());
        if let Some(selection) = &element.selection {
            flow_weights = selected(&mut diagrams, selection, &groups);
            if !diagrams.color.is_positive() {
                helicity_sum = HelicitySum::Signed;
            }
        }
        same_color::share(&mut diagrams.jamp);
        Ok(Some(Process {
            legs,
            helicities,
            helicity_sum,
            flow_weights,
            channels,
            diagrams: count,
            ..self.of_assembly(element, assembly, Amplitudes::Diagrams(diagrams))?
        }))
    }

    /// The lines that must, or must not, be on their mass shells.
    fn resonances(
        &self,
        element: &MatrixElement,
        diagrams: &Diagrams,
        assembly: &mut Assembly,
    ) -> Vec<Resonance> {
        let mut found = Vec::new();
        let mut add = |legs: Vec<u32>, particle: ParticleId, on_shell: bool| {
            let of = self.model.properties(particle);
            let resonance = Resonance {
                legs,
                pdg: of.pdg,
                mass: assembly.quantity(&of.mass),
                width: assembly.quantity(&of.width),
                on_shell,
            };
            if !found.contains(&resonance) {
                found.push(resonance);
            }
        };
        for line in &element.on_shell {
            let legs = line.legs.iter().map(|&leg| leg.into()).collect();
            add(legs, line.particle, true);
        }
        if element.off_shell.is_empty() {
            return found;
        }
        let count = element.subprocess.outgoing.len();
        let incoming = (1u32 << element.subprocess.incoming) - 1;
        for (tree, own) in diagrams.trees.iter().zip(legs_of(&diagrams.trees)) {
            let Tree::Vertex(node) = tree else {
                continue;
            };
            let Some(result) = node.children.iter().position(Option::is_none) else {
                continue;
            };
            let flows_in = self.model.vertices[node.vertex as usize].particles[result];
            let (side, particle) = match own & incoming {
                0 => (own, self.model.anti(flows_in)),
                some if some == incoming => (!own & ((1 << count) - 1), flows_in),
                _ => continue,
            };
            let is_off_shell = element.off_shell.contains(&particle);
            if is_off_shell
                && !element
                    .on_shell
                    .iter()
                    .any(|line| line.particle == particle)
            {
                add(
                    (0..count as u32)
                        .filter(|leg| side >> leg & 1 == 1)
                        .collect(),
                    particle,
                    false,
                );
            }
        }
        found
    }

    /// `NHEL`: all combinations, the last leg varying fastest. The order at a leg is that of its outgoing particle.
    fn helicities(&self, subprocess: &Subprocess) -> Result<Vec<Vec<i8>>, String> {
        let states = subprocess.outgoing.iter().zip(&subprocess.polarizations);
        let states = states.map(|(&p, requested)| {
            let all = self.model.properties(p).helicities();
            let name = &self.model.properties(p).name;
            match requested.iter().find(|h| !all.contains(h)) {
                None if requested.is_empty() => Ok(all),
                None => Ok(requested.clone()),
                Some(&AUXILIARY) => {
                    Err(format!("{name}: A is a polarisation of vectors that decay"))
                }
                Some(h) => Err(format!("{name} has no helicity {h}")),
            }
        });
        let states: Vec<Vec<i8>> = states.collect::<Result<_, String>>()?;
        let count = states.iter().map(Vec::len).product::<usize>();
        if count > MAX_HELICITIES {
            return Err(format!(
                "{count} helicities; at most {MAX_HELICITIES} are possible"
            ));
        }
        let mut rows = vec![Vec::new()];
        for states in &states {
            let longer = |row: &Vec<i8>| {
                let row = row.clone();
                states.iter().map(move |&h| [row.as_slice(), &[h]].concat())
            };
            rows = rows.iter().flat_map(longer).collect();
        }
        Ok(rows)
    }

    /// `IDEN`: the average over initial states, and the factor for identical outgoing particles.
    pub fn iden(&self, subprocess: &Subprocess) -> u32 {
        let states = (0..subprocess.incoming).map(|leg| {
            let particle = self.model.properties(subprocess.particles[leg]);
            let helicities = match subprocess.polarizations[leg].len() {
                0 => particle.helicities().len(),
                some => some,
            };
            helicities as u32 * u32::from(particle.color.unsigned_abs())
        });
        states.product::<u32>() * subprocess.identical
    }
}

/// Restricts a process to the selected products of amplitudes, where `groups` is the group of each amplitude. There is
/// a JAMP for each group and colour flow, as with split orders in MG5aMC (NAMPSO). Returns the weights of colour flows.
fn selected(
    diagrams: &mut mebridge_process::Diagrams,
    selection: &SquaredSelection,
    groups: &[usize],
) -> Vec<FlowWeight> {
    let flows = diagrams.color.flows as usize;
    let all = std::mem::take(&mut diagrams.jamp.outputs);
    let in_group = |term: &&Term, group: usize| match term.source {
        TermSource::Amplitude(amplitude) => groups[amplitude as usize] == group,
        TermSource::Partial(_) => false,
    };
    diagrams.jamp.outputs = (0..selection.count)
        .flat_map(|group| {
            let of_group = move |terms: &Vec<Term>| {
                terms
                    .iter()
                    .filter(|term| in_group(term, group))
                    .copied()
                    .collect()
            };
            all.iter().map(of_group).collect::<Vec<Vec<Term>>>()
        })
        .collect();
    let size = flows * selection.count;
    let color = std::mem::take(&mut diagrams.color);
    let mut upper = Vec::with_capacity(ColorMatrix::triangle(size));
    for i in 0..size {
        for j in i..size {
            let taken = selection.pairs.contains(&(i / flows, j / flows));
            upper.push(if taken {
                color.entry(i % flows, j % flows) * color.denominator
            } else {
                0.0
            });
        }
    }
    diagrams.color = ColorMatrix {
        flows: size as u32,
        denominator: color.denominator,
        upper,
    };
    let weight = |flow: usize| FlowWeight {
        moduli: selection
            .pairs
            .iter()
            .map(|&(a, b)| vec![((a * flows + flow) as u32, (b * flows + flow) as u32)])
            .collect(),
    };
    (0..flows).map(weight).collect()
}

/// Colour flows in the order of their occurrence, with their amplitudes.
#[derive(Default)]
struct Flows {
    /// The number of colours.
    colors: f64,
    numbers: HashMap<Strings, usize>,
    flows: Vec<Strings>,
    jamp: Vec<Vec<Term>>,
    /// The highest power of the number of colours.
    leading: Option<i32>,
    /// Diagram (from 0), flow, and the power of the number of colours.
    powers: Vec<(u32, usize, i32)>,
}

impl Flows {
    fn add(
        &mut self,
        amplitude: u32,
        diagram: u32,
        color: &TreeColor,
        negative: bool,
    ) -> Result<(), String> {
        for (strings, number) in color.flows() {
            let power = strings.power();
            let flow = strings.with_power(0);
            let next = self.flows.len();
            let at = *self.numbers.entry(flow).or_insert(next);
            if at == next {
                if next == MAX_FLOWS {
                    return Err(format!(
                        "more than {MAX_FLOWS} colour flows; request fewer coloured particles"
                    ));
                }
                self.flows.push(flow);
                self.jamp.push(Vec::new());
            }
            self.leading = self.leading.max(Some(power));
            if self.powers.last() != Some(&(diagram, at, power)) {
                self.powers.push((diagram, at, power));
            }
            let sign = if negative {
                Number::ratio(-1, 1)
            } else {
                Number::ONE
            };
            let value = number.times(sign).value()? * self.colors.powi(power);
            let terms = &mut self.jamp[at];
            // An amplitude may have terms with several powers of the number of colours.
            match terms.last_mut() {
                Some(term) if term.source == TermSource::Amplitude(amplitude) => {
                    term.factor.0 += value.re;
                    term.factor.1 += value.im;
                }
                _ => terms.push(Term {
                    source: TermSource::Amplitude(amplitude),
                    factor: (value.re, value.im),
                }),
            }
        }
        Ok(())
    }

    /// The flows in MG5aMC's order.
    fn sorted(mut self) -> Sorted {
        let ranks: Vec<_> = self.flows.iter().map(flows::rank).collect();
        let mut order: Vec<usize> = (0..self.flows.len()).collect();
        order.sort_by(|&a, &b| ranks[a].cmp(&ranks[b]));
        let mut places = vec![0; order.len()];
        for (place, &flow) in order.iter().enumerate() {
            places[flow] = place;
        }
        for (_, flow, _) in &mut self.powers {
            *flow = places[*flow];
        }
        let jamp = order
            .iter()
            .map(|&flow| std::mem::take(&mut self.jamp[flow]));
        Sorted {
            jamp: LinearMap {
                partial: Vec::new(),
                outputs: jamp.collect(),
            },
            flows: order.iter().map(|&flow| self.flows[flow]).collect(),
            leading: self.leading.unwrap_or(0),
            powers: self.powers,
        }
    }
}

/// Colour flows in their final order.
struct Sorted {
    flows: Vec<Strings>,
    jamp: LinearMap,
    leading: i32,
    powers: Vec<(u32, usize, i32)>,
}

impl Sorted {
    /// `ICOLAMP`: for each of these diagrams (from 1), the flows to which it contributes at leading colour; if there
    /// are none, all flows to which it contributes.
    fn allowed(&self, diagrams: &[u32]) -> Vec<Vec<bool>> {
        let mut rows = vec![vec![false; self.flows.len()]; diagrams.len()];
        let mut row_of: HashMap<u32, usize> = HashMap::default();
        for (row, diagram) in diagrams.iter().enumerate() {
            row_of.insert(diagram - 1, row);
        }
        let mark = |rows: &mut Vec<Vec<bool>>, leading: bool, empty: &[bool]| {
            for &(diagram, flow, power) in &self.powers {
                if let Some(&row) = row_of.get(&diagram)
                    && empty[row]
                    && (!leading || power == self.leading)
                {
                    rows[row][flow] = true;
                }
            }
        };
        mark(&mut rows, true, &vec![true; diagrams.len()]);
        let empty: Vec<bool> = rows.iter().map(|row| !row.contains(&true)).collect();
        mark(&mut rows, false, &empty);
        rows
    }
}
