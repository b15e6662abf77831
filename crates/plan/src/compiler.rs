//! The state of the plan compiler: wavefunctions, factors and momenta of a plan that is being made.

use super::binding::Binding;
use super::passes::Pass;
use super::{
    Body, External, Factor, MomentumProduct, MomentumSquare, MomentumSum, Operations, Plan,
    Propagator, Virtuality,
};
use mebridge_ops::opcode::{Layout, Momenta, Opcode};
use mebridge_ops::recognize::{self, Recognized};
use mebridge_ops::{Address, Batch, GeneralRoutine};
use mebridge_process::{CouplingRef, ExternalKind, Process, Vertex, Wavefunction};
use mebridge_support::error::{Error, Result};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Ordering;

/// State of the plan compiler.
pub(super) struct Compiler<'a> {
    pub(super) process: &'a Process,
    pub(super) binding: &'a Binding,
    /// The plan, whose body is added at the end.
    pub(super) plan: Plan,
    pub(super) operations: Operations,
    /// The last pass to apply.
    pub(super) last: Pass,
    /// Whether kernels may use that half of the components of massless spinors vanish.
    pub(super) half_spinors: bool,
    /// Whether each wavefunction is needed by some amplitude.
    used: Vec<bool>,
    /// The legs and addresses of each wavefunction.
    pub(super) wavefunctions: Vec<WavefunctionInstances>,
    /// `[helicity][leg]`: index of the helicity in `values`.
    pub(super) helicity_indices: Vec<Vec<u32>>,
    /// `[leg]`: helicity values.
    pub(super) values: Vec<Vec<i8>>,
    /// For each routine, and whether the mass is zero, the kernel; `None` for the general code.
    recognized: HashMap<(u32, bool), Option<Recognized>>,
    constants: HashMap<u64, Address>,
    one: Option<Address>,
    momenta: HashMap<Vec<i8>, Address>,
    products: HashMap<[u32; 2], Address>,
    propagators: HashMap<(Address, u64, u64), Address>,
    factors: HashMap<FactorKey, Address>,
    general: HashMap<(u32, bool), u32>,
}

/// Coupling terms (index and coefficient bits) and the propagator.
type FactorKey = (Vec<(u32, u64, u64)>, Option<Address>);

/// A wavefunction: its external legs, and its address for each combination of their helicities.
#[derive(Clone, Debug, Default)]
pub(super) struct WavefunctionInstances {
    /// For each leg the sign of its momentum in the wavefunction's; 0 for legs that are not part of it.
    pub(super) signs: Vec<i8>,
    /// For each leg the stride of its helicity in `instances` (0 for legs that are not part of it).
    strides: Vec<u32>,
    /// Address for each combination of helicities; [`NOWHERE`] if it does not occur.
    pub(super) instances: Vec<Address>,
    /// For each combination that occurs, one helicity configuration with this combination.
    pub(super) examples: Vec<(u32, usize)>,
}

const NOWHERE: Address = Address::MAX;

impl<'a> Compiler<'a> {
    pub(super) fn new(
        process: &'a Process,
        binding: &'a Binding,
        helicities: &[u32],
        used: Vec<bool>,
    ) -> Self {
        let legs = process.legs.len();
        let rows: Vec<&Vec<i8>> = helicities
            .iter()
            .map(|&h| &process.helicities[h as usize])
            .collect();
        let values: Vec<Vec<i8>> = (0..legs)
            .map(|leg| {
                let mut seen: Vec<i8> = Vec::new();
                for row in &rows {
                    if !seen.contains(&row[leg]) {
                        seen.push(row[leg]);
                    }
                }
                seen
            })
            .collect();
        let helicity_indices = rows
            .iter()
            .map(|row| {
                (0..legs)
                    .map(|leg| {
                        let at = values[leg].iter().position(|&v| v == row[leg]);
                        at.expect("every value was collected") as u32
                    })
                    .collect()
            })
            .collect();
        let masses = process
            .legs
            .iter()
            .map(|leg| binding.value(leg.mass))
            .collect();
        let mut compiler = Compiler {
            process,
            binding,
            plan: Plan {
                masses,
                helicities: helicities.to_vec(),
                flows: process.amplitudes.jamps(),
                ..Plan::default()
            },
            operations: Operations::default(),
            last: Pass::MemoryReuse,
            half_spinors: false,
            used,
            wavefunctions: Vec::with_capacity(process.wavefunctions.len()),
            helicity_indices,
            values,
            recognized: HashMap::default(),
            constants: HashMap::default(),
            one: None,
            momenta: HashMap::default(),
            products: HashMap::default(),
            propagators: HashMap::default(),
            factors: HashMap::default(),
            general: HashMap::default(),
        };
        compiler.plan.leg_momenta = compiler.allocate(4 * legs as u32);
        compiler.plan.couplings = (0..process.model.couplings.len())
            .map(|_| compiler.allocate(2))
            .collect();
        compiler
    }

    /// Adds the operations to the plan and returns it.
    pub(super) fn into_plan(self) -> Plan {
        Plan {
            body: Body::Operations(self.operations),
            ..self.plan
        }
    }

    pub(super) fn allocate(&mut self, vectors: u32) -> Address {
        let address = self.plan.vectors;
        self.plan.vectors += vectors;
        address
    }

    /// Assigns legs and addresses to all wavefunctions, and makes the external ones.
    pub(super) fn externals(&mut self) {
        let process = self.process;
        for (w, wavefunction) in process.wavefunctions.iter().enumerate() {
            let signs = match wavefunction {
                Wavefunction::External(e) => {
                    let mut signs = vec![0; process.legs.len()];
                    // IXXXXX and IRXXXX store -NSF times the momentum, the others +NSF.
                    signs[e.leg as usize] = match e.kind {
                        ExternalKind::FermionIn | ExternalKind::RaritaIn => -e.sign,
                        _ => e.sign,
                    };
                    signs
                }
                Wavefunction::Internal(vertex) => {
                    let mut signs = vec![0i8; process.legs.len()];
                    for &input in &vertex.inputs {
                        for (sign, s) in signs
                            .iter_mut()
                            .zip(&self.wavefunctions[input as usize].signs)
                        {
                            *sign += s;
                        }
                    }
                    signs
                }
            };
            let components = match wavefunction {
                Wavefunction::External(e) => e.kind.components(),
                Wavefunction::Internal(v) => {
                    process.routines[v.routine as usize].outputs.len() as u32
                }
            };
            let line = self.wavefunction(signs, components - 2, self.used[w]);
            if let Wavefunction::External(e) = wavefunction
                && self.used[w]
            {
                let leg = e.leg as usize;
                let (helicities, results) = line
                    .examples
                    .iter()
                    .map(|&(instance, h)| {
                        let helicity_index = self.helicity_indices[h][leg] as usize;
                        (
                            self.values[leg][helicity_index],
                            line.instances[instance as usize],
                        )
                    })
                    .unzip();
                self.plan.externals.push(External {
                    kind: e.kind,
                    leg: e.leg,
                    mass: self.binding.value(e.mass),
                    sign: e.sign,
                    helicities,
                    results,
                });
            }
            self.wavefunctions.push(line);
        }
    }

    /// Kind and address of an external wavefunction with a given helicity, which is added if no row has it.
    pub(super) fn external(
        &mut self,
        wavefunction: u32,
        helicity: i8,
    ) -> Result<(ExternalKind, Address)> {
        let Wavefunction::External(e) = self.process.wavefunctions[wavefunction as usize] else {
            return Err(Error::InvalidProcess {
                what: format!("wavefunction {} is not external", wavefunction + 1),
            });
        };
        let mut known = self.values[e.leg as usize].iter();
        let instances = &self.wavefunctions[wavefunction as usize].instances;
        let known = known.position(|&h| h == helicity);
        if let Some(&address) = known.and_then(|at| instances.get(at)) {
            return Ok((e.kind, address));
        }
        let address = self.allocate(2 * (e.kind.components() - 2));
        self.plan.externals.push(External {
            kind: e.kind,
            leg: e.leg,
            mass: self.binding.value(e.mass),
            sign: e.sign,
            helicities: vec![helicity],
            results: vec![address],
        });
        Ok((e.kind, address))
    }

    /// Makes a wavefunction from these legs, with memory for every combination of helicities that occurs.
    pub(super) fn wavefunction(
        &mut self,
        signs: Vec<i8>,
        components: u32,
        used: bool,
    ) -> WavefunctionInstances {
        let mut strides = vec![0; signs.len()];
        let mut combinations = 1u32;
        let recycle = self.last >= Pass::Recycling;
        for (leg, _) in signs
            .iter()
            .enumerate()
            .filter(|(_, s)| **s != 0 || !recycle)
        {
            strides[leg] = combinations;
            combinations *= self.values[leg].len() as u32;
        }
        let mut line = WavefunctionInstances {
            signs,
            strides,
            instances: vec![NOWHERE; combinations as usize],
            examples: Vec::new(),
        };
        if used {
            for (h, helicity_indices) in self.helicity_indices.iter().enumerate() {
                let instance = line.instance(helicity_indices);
                if line.instances[instance] == NOWHERE {
                    line.instances[instance] = self.plan.vectors;
                    self.plan.vectors += 2 * components;
                    line.examples.push((instance as u32, h));
                }
            }
        }
        line
    }

    /// Makes a wavefunction, adds it to those of the compiler, and returns its index.
    pub(super) fn add_wavefunction(&mut self, signs: Vec<i8>, components: u32) -> u32 {
        let wavefunction = self.wavefunction(signs, components, true);
        self.wavefunctions.push(wavefunction);
        self.wavefunctions.len() as u32 - 1
    }

    /// The helicity of a leg in a configuration.
    pub(super) fn helicity(&self, h: usize, leg: usize) -> i8 {
        self.values[leg][self.helicity_indices[h][leg] as usize]
    }

    /// The combination of helicities of a wavefunction after reversing all helicities of a configuration. `None` if
    /// this combination does not occur.
    pub(super) fn reversed(&self, line: &WavefunctionInstances, h: usize) -> Option<usize> {
        let mut instance = 0;
        for (leg, &stride) in line.strides.iter().enumerate().filter(|(_, s)| **s != 0) {
            let values = &self.values[leg];
            let value = self.helicity(h, leg);
            instance += stride as usize * values.iter().position(|&v| v == -value)?;
        }
        (line.instances[instance] != NOWHERE).then_some(instance)
    }

    pub(super) fn currents(&mut self) -> Result<()> {
        let process = self.process;
        let mut batches: SortedMap<(usize, Opcode), Batch> = SortedMap::new();
        for (w, wavefunction) in process.wavefunctions.iter().enumerate() {
            let Wavefunction::Internal(vertex) = wavefunction else {
                continue;
            };
            if !self.used[w] {
                continue;
            }
            let call = self.call(vertex)?;
            let line = &self.wavefunctions[w];
            let level = line.signs.iter().filter(|s| **s != 0).count();
            let batch = batches
                .entry((level, call.opcode))
                .or_insert_with(|| call.batch());
            for &(instance, h) in &line.examples {
                let helicity_indices = &self.helicity_indices[h];
                batch.operands.extend(call.inputs.iter().map(|&input| {
                    let input = &self.wavefunctions[input as usize];
                    input.instances[input.instance(helicity_indices)]
                }));
                batch.operands.extend(&call.others);
                batch.operands.push(line.instances[instance as usize]);
            }
        }
        self.operations.currents = batches.into_values().collect();
        Ok(())
    }

    /// Makes the table of wavefunction addresses for each helicity.
    pub(super) fn tables(&mut self) {
        let wavefunctions = &self.wavefunctions;
        let address = |line: &WavefunctionInstances, helicity_indices: &[u32]| {
            line.instances[line.instance(helicity_indices)]
        };
        let table = |helicity_indices: &Vec<u32>| {
            wavefunctions
                .iter()
                .map(|l| address(l, helicity_indices))
                .collect()
        };
        self.operations.tables = self.helicity_indices.iter().map(table).collect();
        self.operations.groups = (0..self.helicity_indices.len() as u32)
            .map(|h| vec![h])
            .collect();
    }

    /// Determines how a vertex is computed: its kernel and all operands except the inputs, which depend on helicity,
    /// and the result.
    pub(super) fn call(&mut self, vertex: &Vertex) -> Result<VertexKernel> {
        let mass = self.binding.value(vertex.mass);
        let width = self.binding.value(vertex.width);
        let massless = mass == 0.0;
        let routine = &self.process.routines[vertex.routine as usize];
        let amplitude = routine.is_amplitude();
        let recognized = self
            .recognized
            .entry((vertex.routine, massless))
            .or_insert_with(|| recognize::recognize(routine, massless))
            .clone();
        let Some(recognized) = recognized else {
            return self.general_call(vertex, mass, width);
        };
        let layout = recognized
            .opcode
            .layout()
            .expect("recognition gives kernels with a layout of their own");
        let inputs: Vec<u32> = recognized
            .input_permutation
            .iter()
            .map(|&i| vertex.inputs[i])
            .collect();
        let result = self.sum_of(&inputs);
        let mut others = Vec::new();
        let propagator = (!amplitude).then(|| self.propagator(&result, mass, width));
        for terms in &recognized.factors {
            others.push(self.factor(&vertex.couplings, terms, propagator));
        }
        self.momenta_and_masses(&layout, &inputs, &result, [mass, width], &mut others);
        Ok(VertexKernel {
            opcode: recognized.opcode,
            layout,
            inputs,
            others,
        })
    }

    /// A vertex without a matching kernel: its routine's own arithmetic, with bare couplings as factors.
    fn general_call(&mut self, vertex: &Vertex, mass: f64, width: f64) -> Result<VertexKernel> {
        let routine = &self.process.routines[vertex.routine as usize];
        let massless = mass == 0.0;
        let index = match self.general.get(&(vertex.routine, massless)) {
            Some(&index) => index,
            None => {
                if !recognize::momentum_is_conserved(routine) {
                    return Err(Error::UnknownMomentum {
                        routine: routine.name.clone(),
                    });
                }
                let general = &mut self.operations.general;
                general.push(GeneralRoutine {
                    routine: routine.clone(),
                    massless,
                });
                let index = general.len() as u32 - 1;
                self.general.insert((vertex.routine, massless), index);
                index
            }
        };
        let layout = Layout::of_routine(routine);
        let mut others: Vec<Address> = (0..routine.couplings as usize)
            .map(|i| {
                let alone = [(i, Complex64::new(1.0, 0.0))];
                self.factor(&vertex.couplings, &alone, None)
            })
            .collect();
        let result = self.sum_of(&vertex.inputs);
        let masses = [mass, width];
        self.momenta_and_masses(&layout, &vertex.inputs, &result, masses, &mut others);
        Ok(VertexKernel {
            opcode: Opcode::General(index),
            layout,
            inputs: vertex.inputs.clone(),
            others,
        })
    }

    fn momenta_and_masses(
        &mut self,
        layout: &Layout,
        inputs: &[u32],
        result: &[i8],
        masses: [f64; 2],
        others: &mut Vec<Address>,
    ) {
        match layout.momenta {
            Momenta::None => {}
            Momenta::Result => others.push(self.momentum(result)),
            Momenta::Inputs => {
                for &input in inputs {
                    let signs = self.wavefunctions[input as usize].signs.clone();
                    others.push(self.momentum(&signs));
                }
            }
        }
        for value in masses.into_iter().take(layout.masses) {
            others.push(self.constant(value));
        }
    }

    pub(super) fn sum_of(&self, inputs: &[u32]) -> Vec<i8> {
        let mut signs = vec![0i8; self.process.legs.len()];
        for &input in inputs {
            for (sign, s) in signs
                .iter_mut()
                .zip(&self.wavefunctions[input as usize].signs)
            {
                *sign += s;
            }
        }
        signs
    }

    pub(super) fn constant(&mut self, x: f64) -> Address {
        if let Some(&address) = self.constants.get(&x.to_bits()) {
            return address;
        }
        let address = self.allocate(1);
        self.plan.constants.push((address, x));
        self.constants.insert(x.to_bits(), address);
        address
    }

    /// The address of the complex number 1.
    pub(super) fn one(&mut self) -> Address {
        if let Some(address) = self.one {
            return address;
        }
        let address = self.allocate(2);
        self.plan
            .constants
            .extend([(address, 1.0), (address + 1, 0.0)]);
        self.one = Some(address);
        address
    }

    pub(super) fn momentum(&mut self, signs: &[i8]) -> Address {
        if let Some(&address) = self.momenta.get(signs) {
            return address;
        }
        let address = self.allocate(4);
        self.plan.momenta.push(MomentumSum {
            address,
            signs: signs.to_vec(),
        });
        self.momenta.insert(signs.to_vec(), address);
        address
    }

    pub(super) fn propagator(&mut self, signs: &[i8], mass: f64, width: f64) -> Address {
        let momentum = self.momentum(signs);
        let key = (momentum, mass.to_bits(), width.to_bits());
        if let Some(&address) = self.propagators.get(&key) {
            return address;
        }
        let virtuality = match mass * width == 0.0 {
            true => self.virtuality(signs, mass),
            false => None,
        };
        let address = self.allocate(2);
        self.plan.propagators.push(Propagator {
            address,
            momentum,
            mass,
            width,
            virtuality,
        });
        self.propagators.insert(key, address);
        address
    }

    /// `p^2 - m^2` of a line with these signs of the legs' momenta, computed from the legs on the side with fewer legs;
    /// if equal, from a side with only incoming or only outgoing legs, or else from one whose masses cancel that of the
    /// line: the emission of a soft leg, where the other side's masses and products cancel. `None` if the signs are not
    /// those of a line.
    fn virtuality(&mut self, signs: &[i8], mass: f64) -> Option<Virtuality> {
        let flow = |leg: usize| {
            if self.process.legs[leg].incoming {
                1
            } else {
                -1
            }
        };
        let (below, beyond): (Vec<usize>, Vec<usize>) =
            (0..signs.len()).partition(|&leg| signs[leg] != 0);
        let first = signs[*below.first()?] * flow(below[0]);
        if below.len() < 2 || beyond.len() < 2 {
            return None;
        }
        if below.iter().any(|&leg| signs[leg] * flow(leg) != first) || first.abs() != 1 {
            return None;
        }
        let mixed = |legs: &[usize]| legs.iter().any(|&leg| flow(leg) != flow(legs[0]));
        let own = mass * mass;
        let masses =
            |legs: &[usize]| -> f64 { legs.iter().map(|&leg| self.plan.masses[leg].powi(2)).sum() };
        let cancel = |legs: &[usize]| masses(legs) == own;
        let legs = match below.len().cmp(&beyond.len()) {
            Ordering::Less => below,
            Ordering::Greater => beyond,
            Ordering::Equal if mixed(&below) && !mixed(&beyond) => beyond,
            Ordering::Equal if mixed(&below) && !cancel(&below) && cancel(&beyond) => beyond,
            Ordering::Equal => below,
        };
        let masses = masses(&legs);
        let mut all = Virtuality {
            // Terms that cancel exactly were equal, without rounding.
            size: if masses == own { 0.0 } else { masses + own },
            squares: Vec::new(),
            terms: Vec::new(),
        };
        for &leg in &legs {
            all.squares.push(self.square(leg as u32));
        }
        for (at, &a) in legs.iter().enumerate() {
            for &b in &legs[at + 1..] {
                let factor = f64::from(2 * flow(a) * flow(b));
                all.terms.push((self.product([a as u32, b as u32]), factor));
            }
        }
        Some(all)
    }

    fn square(&mut self, leg: u32) -> Address {
        let known = self.plan.squares.iter().find(|square| square.leg == leg);
        if let Some(square) = known {
            return square.address;
        }
        let address = self.allocate(1);
        self.plan.squares.push(MomentumSquare { address, leg });
        address
    }

    fn product(&mut self, legs: [u32; 2]) -> Address {
        if let Some(&address) = self.products.get(&legs) {
            return address;
        }
        let squares = legs.map(|leg| self.square(leg));
        let address = self.allocate(2);
        self.plan.products.push(MomentumProduct {
            address,
            legs,
            squares,
        });
        self.products.insert(legs, address);
        address
    }

    pub(super) fn factor(
        &mut self,
        couplings: &[CouplingRef],
        terms: &[(usize, Complex64)],
        propagator: Option<Address>,
    ) -> Address {
        let terms: Vec<(u32, Complex64)> = terms
            .iter()
            .map(|&(argument, c)| {
                let coupling = couplings[argument];
                let c = if coupling.negative { -c } else { c };
                // Normalises the sign of zeros, so that equal factors have equal bits.
                (coupling.coupling, c + Complex64::default())
            })
            .collect();
        let bits = terms
            .iter()
            .map(|&(i, c)| (i, c.re.to_bits(), c.im.to_bits()))
            .collect();
        let key = (bits, propagator);
        if let Some(&address) = self.factors.get(&key) {
            return address;
        }
        let address = self.allocate(2);
        self.plan.factors.push(Factor {
            address,
            terms,
            propagator,
        });
        self.factors.insert(key, address);
        address
    }
}

impl WavefunctionInstances {
    /// The combination of helicities of the wavefunction's legs in a helicity configuration.
    pub(super) fn instance(&self, helicity_indices: &[u32]) -> usize {
        let terms = self.strides.iter().zip(helicity_indices);
        terms
            .map(|(stride, helicity_index)| stride * helicity_index)
            .sum::<u32>() as usize
    }
}

/// The kernel and operands of a vertex.
pub(super) struct VertexKernel {
    pub(super) opcode: Opcode,
    pub(super) layout: Layout,
    /// Indices of the input wavefunctions, in the kernel's order.
    pub(super) inputs: Vec<u32>,
    /// Factors, momenta and masses.
    pub(super) others: Vec<Address>,
}

impl VertexKernel {
    pub(super) fn batch(&self) -> Batch {
        Batch {
            opcode: self.opcode,
            stride: self.layout.len(),
            operands: Vec::new(),
        }
    }
}
