//! The amplitudes of single diagrams, and the channel tables that refer to them.

use super::compiler::Compiler;
use super::passes::Pass;
use super::sums::Sums;
use super::{ChannelPlan, partial};
use mebridge_ops::opcode::Opcode;
use mebridge_ops::{Address, Batch};
use mebridge_process::{Diagrams, Process, Vertex, Wavefunction};
use mebridge_support::error::Result;
use mebridge_support::sorted::{SortedMap, SortedSet};

impl Compiler<'_> {
    pub(super) fn amplitudes(&mut self, diagrams: &Diagrams) -> Result<()> {
        let process = self.process;
        let all = 0..diagrams.amplitudes.len() as u32;
        let amplitude_base = self.allocate(2 * all.end);
        let partial_base = self.allocate(2 * diagrams.jamp.partial.len() as u32);
        let jamp_base = self.allocate(2 * diagrams.color.flows);
        let amplitude = |i: u32| amplitude_base + 2 * i;
        self.operations.amplitudes = self.amplitude_batches(diagrams, all, amplitude)?;
        self.tables();
        self.operations.jamp = Sums::new(
            &diagrams.jamp,
            amplitude,
            |i| partial_base + 2 * i,
            |i| jamp_base + 2 * i,
        );
        self.plan.jamp_base = jamp_base;
        self.operations.channels = channel_plan(process, amplitude);
        Ok(())
    }

    /// Makes the batches of the given amplitudes, and returns the addresses.
    fn amplitude_batches(
        &mut self,
        diagrams: &Diagrams,
        numbers: impl Iterator<Item = u32> + Clone,
        address: impl Fn(u32) -> Address,
    ) -> Result<Vec<Batch>> {
        let mut calls = Vec::new();
        for i in numbers.clone() {
            calls.push(self.call(&diagrams.amplitudes[i as usize])?);
        }
        if self.last >= Pass::PartialVertices {
            partial::share(self, &mut calls);
        }
        let mut batches: SortedMap<Opcode, Batch> = SortedMap::new();
        for (i, call) in numbers.zip(&calls) {
            let batch = batches.entry(call.opcode).or_insert_with(|| call.batch());
            batch.operands.extend(&call.inputs);
            batch.operands.extend(&call.others);
            batch.operands.push(address(i));
        }
        Ok(batches.into_values().collect())
    }

    /// Adds the amplitudes for AMP2 to a plan that computes colour flows without them.
    pub(super) fn squared_amplitudes(&mut self, diagrams: &Diagrams) -> Result<()> {
        let process = self.process;
        let mut currents = std::mem::take(&mut self.operations.currents);
        self.currents()?;
        let numbers: Vec<u32> = squared(process).collect();
        let base = self.allocate(2 * numbers.len() as u32);
        let mut place = vec![0; diagrams.amplitudes.len()];
        for (&number, at) in numbers.iter().zip(0..) {
            place[number as usize] = base + 2 * at;
        }
        let address = |i: u32| place[i as usize];
        let amplitudes = self.amplitude_batches(diagrams, numbers.iter().copied(), address)?;
        self.operations.amplitudes.extend(amplitudes);
        currents.append(&mut self.operations.currents);
        self.operations.currents = currents;
        // One helicity at a time: only products at the root can be evaluated for two helicities.
        self.tables();
        self.operations.channels = channel_plan(process, address);
        Ok(())
    }
}

/// The amplitudes in AMP2, by index.
pub(super) fn squared(process: &Process) -> impl Iterator<Item = u32> + use<> {
    let squares = process.channels.amp2.iter().flat_map(|amp2| &amp2.squares);
    squares
        .flatten()
        .copied()
        .collect::<SortedSet<u32>>()
        .into_iter()
}

/// Whether each wavefunction is needed by some of these amplitudes.
pub(super) fn used<'a>(
    process: &Process,
    amplitudes: impl IntoIterator<Item = &'a Vertex>,
) -> Vec<bool> {
    let mut used = vec![false; process.wavefunctions.len()];
    for amplitude in amplitudes {
        for &input in &amplitude.inputs {
            used[input as usize] = true;
        }
    }
    for (w, wavefunction) in process.wavefunctions.iter().enumerate().rev() {
        if let Wavefunction::Internal(vertex) = wavefunction
            && used[w]
        {
            for &input in &vertex.inputs {
                used[input as usize] = true;
            }
        }
    }
    used
}

/// The channel tables for amplitudes at these addresses.
fn channel_plan(process: &Process, amplitude: impl Fn(u32) -> Address) -> ChannelPlan {
    let (sets, tables) = amp2_index(process);
    let address = |square: Vec<u32>| square.into_iter().map(&amplitude).collect();
    let addresses = |squares: Vec<Vec<u32>>| squares.into_iter().map(address).collect();
    ChannelPlan {
        amp2: sets.into_iter().map(addresses).collect(),
        ..tables
    }
}

/// For each AMP2 the sets of amplitudes that are added before squaring, and the tables that refer to it.
pub(super) fn amp2_index(process: &Process) -> (Vec<Vec<Vec<u32>>>, ChannelPlan) {
    let channels = &process.channels;
    let mut amp2_of_diagram = vec![None; process.diagrams as usize];
    let mut sets: Vec<Vec<Vec<u32>>> = Vec::new();
    for entry in &channels.amp2 {
        // A diagram may be listed more than once: its squares are added.
        let amp2 = &mut amp2_of_diagram[entry.diagram as usize - 1];
        match *amp2 {
            Some(at) => {
                let at: u32 = at;
                sets[at as usize].extend(entry.squares.iter().cloned());
            }
            None => {
                *amp2 = Some(sets.len() as u32);
                sets.push(entry.squares.clone());
            }
        }
    }
    let denominator = channels
        .config_diagram
        .iter()
        .filter_map(|&diagram| amp2_of_diagram[diagram.checked_sub(1)? as usize])
        .collect();
    let tables = ChannelPlan {
        denominator,
        amp2_of_diagram,
        ..ChannelPlan::default()
    };
    (sets, tables)
}
