//! Helicities in the lanes of a register, for calls with one event.
//!
//! The lanes of a register usually hold events. With one event they hold helicities: some legs have a different
//! helicity in each lane, and all operations after the external wavefunctions are unchanged. The plan is that of the
//! process with a single helicity for each of these legs ([`HelicityLanes::process`]); the engine puts the
//! wavefunctions of the other helicities into their lanes.

use super::engine::{Engine, LaneExternal};
use mebridge_ops::Address;
use mebridge_plan::External;
use mebridge_process::legs::legs_below;
use mebridge_process::{Amplitudes, Process};
use mebridge_simd::Real;
use mebridge_support::error::{Error, Result};

/// Upper bound on the legs of processes for which all subsets are tried.
const MAX_LEGS: usize = 16;

/// A choice of legs whose helicities vary over lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelicityLanes {
    /// The legs.
    legs: Vec<usize>,
    /// `[lane][leg]`: helicities of these legs, for the lanes in use.
    values: Vec<Vec<i8>>,
    /// Helicities of all legs, one row per run of the plan; for `legs` those of the first lane.
    outer: Vec<Vec<i8>>,
}

impl HelicityLanes {
    /// Finds the choice that needs the fewest runs for the helicities `rows` with at most `lanes` lanes, and among
    /// those the fewest wavefunctions; `None` if lanes do not help.
    pub fn choose(process: &Process, rows: &[u32], lanes: usize) -> Option<HelicityLanes> {
        let legs = process.legs.len();
        // The plan of such a process is made for one chirality, but lanes would contain both.
        let chiral =
            matches!(&process.amplitudes, Amplitudes::ColorOrdered(form) if form.boson.is_some());
        if legs > MAX_LEGS || rows.len() < 2 || chiral {
            return None;
        }
        let rows: Vec<&Vec<i8>> = rows
            .iter()
            .map(|&h| &process.helicities[h as usize])
            .collect();
        let mut best: Option<((usize, usize), usize, u32)> = None;
        let below = legs_below(&process.wavefunctions);
        let values: Vec<usize> = (0..legs)
            .map(|leg| distinct(&rows, |l| l == leg).len())
            .collect();
        // Wavefunctions of a run are computed for each combination of helicities that is not in lanes.
        let instances = |subset: u32| -> usize {
            let of = |mask: &u32| {
                let outer = mask & !subset;
                let outer = (0..legs).filter(|leg| outer >> leg & 1 == 1);
                outer.map(|leg| values[leg]).product::<usize>()
            };
            below.iter().map(of).sum()
        };
        for subset in 1..1u32 << legs {
            let inner = distinct(&rows, |leg| subset >> leg & 1 == 1);
            if inner.len() > lanes || inner.len() < 2 {
                continue;
            }
            let runs = distinct(&rows, |leg| subset >> leg & 1 == 0).len();
            let fewest = (runs, instances(subset));
            let cost = (fewest, subset.count_ones() as usize, subset);
            if best.is_none_or(|best| cost < best) {
                best = Some(cost);
            }
        }
        let ((runs, _), _, subset) = best?;
        if runs >= rows.len() {
            return None;
        }
        let inside = |leg: usize| subset >> leg & 1 == 1;
        let values = distinct(&rows, inside);
        let legs: Vec<usize> = (0..legs).filter(|&leg| inside(leg)).collect();
        let mut outer = distinct(&rows, |leg| !inside(leg));
        for row in &mut outer {
            for &leg in &legs {
                row[leg] = values[0][leg];
            }
        }
        Some(HelicityLanes {
            values: values
                .iter()
                .map(|row| legs.iter().map(|&leg| row[leg]).collect())
                .collect(),
            legs,
            outer,
        })
    }

    /// The process for which the plan is made: one row of helicities per run.
    pub fn process(&self, process: &Process) -> Process {
        Process {
            helicities: self.outer.clone(),
            ..process.clone()
        }
    }

    /// For each run and lane, the row in the process's helicity table.
    pub fn rows(&self, process: &Process, lanes: usize) -> Vec<Option<u32>> {
        let mut rows = Vec::new();
        for outer in &self.outer {
            for lane in 0..lanes {
                let row = self.values.get(lane).and_then(|values| {
                    let mut helicities = outer.clone();
                    for (&leg, &value) in self.legs.iter().zip(values) {
                        helicities[leg] = value;
                    }
                    process.helicities.iter().position(|row| *row == helicities)
                });
                rows.push(row.map(|row| row as u32));
            }
        }
        rows
    }
}

/// The distinct rows when restricted to the legs for which `inside` holds; other entries are 0.
fn distinct(rows: &[&Vec<i8>], inside: impl Fn(usize) -> bool) -> Vec<Vec<i8>> {
    let mut found: Vec<Vec<i8>> = Vec::new();
    for row in rows {
        let part = row.iter().enumerate();
        let part: Vec<i8> = part
            .map(|(leg, &h)| if inside(leg) { h } else { 0 })
            .collect();
        if !found.contains(&part) {
            found.push(part);
        }
    }
    found
}

impl<T: Real> Engine<T> {
    /// Makes lanes hold helicities from now on. The plan must be that of [`HelicityLanes::process`].
    pub fn with_helicity_lanes(mut self, lanes: &HelicityLanes) -> Result<Self> {
        let mut of_lanes = Vec::new();
        for e in &self.plan.externals {
            let Some(place) = lanes.legs.iter().position(|&leg| leg == e.leg as usize) else {
                continue;
            };
            let value = |lane: usize| lanes.values[lane.min(lanes.values.len() - 1)][place];
            let mut helicities: Vec<i8> = Vec::new();
            let mut of_lane = Vec::new();
            for lane in 0..self.level.lanes::<T>() {
                let known = helicities.iter().position(|h| *h == value(lane));
                of_lane.push(known.unwrap_or(helicities.len()) as u32);
                if known.is_none() {
                    helicities.push(value(lane));
                }
            }
            let [result] = e.results[..] else {
                return Err(Error::Internal {
                    what: "a plan that was not made for helicity lanes".into(),
                });
            };
            // The first two components, the momentum, are not stored.
            let vectors = 2 * (e.kind.components() - 2);
            let sources = helicities.iter().map(|_| {
                let address = self.scratch.vectors;
                self.scratch.vectors += vectors;
                address
            });
            let sources: Vec<Address> = sources.collect();
            self.externals.push(External {
                results: sources.clone(),
                helicities,
                ..e.clone()
            });
            of_lanes.push(LaneExternal {
                result,
                sources,
                of_lane,
                vectors,
            });
        }
        self.lane_externals = of_lanes;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_process::{Wavefunction, example};

    fn process(rows: &[&[i8]]) -> Process {
        Process {
            helicities: rows.iter().map(|row| row.to_vec()).collect(),
            ..example::scalars()
        }
    }

    #[test]
    fn rows_fill_runs_and_lanes() {
        let mut all = Vec::new();
        for bits in 0..16 {
            let row: Vec<i8> = (0..4)
                .map(|leg| if bits >> leg & 1 == 1 { 1 } else { -1 })
                .collect();
            all.push(row);
        }
        let rows: Vec<&[i8]> = all.iter().map(Vec::as_slice).collect();
        let process = process(&rows);
        let every: Vec<u32> = (0..16).collect();
        for (lanes, runs) in [(2, 8), (4, 4), (8, 2), (16, 1)] {
            let chosen = HelicityLanes::choose(&process, &every, lanes).unwrap();
            assert_eq!(chosen.outer.len(), runs);
            let mut found: Vec<u32> = chosen.rows(&process, lanes).into_iter().flatten().collect();
            found.sort_unstable();
            assert_eq!(found, every);
        }
        assert_eq!(HelicityLanes::choose(&process, &every, 1), None);
        assert_eq!(HelicityLanes::choose(&process, &every[..1], 8), None);
    }

    /// Helicities that occur together share a lane: two massless lines and a massive vector.
    #[test]
    fn lanes_hold_combinations_that_occur() {
        let mut all = Vec::new();
        for a in [-1, 1] {
            for b in [-1, 1] {
                for c in [-1, 0, 1] {
                    all.push(vec![a, -a, b, c]);
                }
            }
        }
        let rows: Vec<&[i8]> = all.iter().map(Vec::as_slice).collect();
        let process = process(&rows);
        let every: Vec<u32> = (0..12).collect();
        let chosen = HelicityLanes::choose(&process, &every, 8).unwrap();
        assert_eq!(chosen.outer.len(), 2);
        let mut found: Vec<u32> = chosen.rows(&process, 8).into_iter().flatten().collect();
        found.sort_unstable();
        assert_eq!(found, every);
    }

    /// Among choices with equal numbers of runs, the one that shares most: here legs 2 and 3 contribute to every
    /// vertex.
    #[test]
    fn lanes_hold_the_legs_of_most_wavefunctions() {
        let mut all = Vec::new();
        for bits in 0..16 {
            all.push(
                (0..4)
                    .map(|leg| if bits >> leg & 1 == 1 { 1 } else { -1 })
                    .collect(),
            );
        }
        let mut process = Process {
            helicities: all,
            ..example::scalars()
        };
        for wavefunction in &mut process.wavefunctions {
            if let Wavefunction::Internal(vertex) = wavefunction {
                vertex.inputs = vec![2, 3];
            }
        }
        let every: Vec<u32> = (0..16).collect();
        let chosen = HelicityLanes::choose(&process, &every, 4).unwrap();
        assert_eq!(chosen.legs, [2, 3]);
    }
}
