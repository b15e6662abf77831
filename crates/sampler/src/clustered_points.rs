//! Clusters points, see [`super::clustered`].

use super::blocks::Block;
use super::clustered::{ClusteringWork, Clusterings};
use super::integrand::{ElementGroup, Failure, Integrand, MatrixElementSource, PointNumbers};
use super::random::Philox;
use super::workspace::{Workspace, evaluate};
use mebridge_phasespace::clustering::{InitialScales, JetCounts, MAX_LEGS, Weighing, copy_momenta};
use mebridge_phasespace::{Layout, Rows};

/// Points per source used to count jets.
const COUNTED: usize = 64;

impl Integrand {
    /// Clusters the evaluated points and replaces their scales, alpha_s, densities, cuts and weights.
    pub(crate) fn cluster(
        &self,
        group: &ElementGroup,
        of: &Clusterings,
        block: &Block,
        elements: &mut dyn MatrixElementSource,
        work: &mut Workspace,
    ) -> Result<(), Failure> {
        let passed = work.kept.len();
        let layout = Layout::new(group.legs);
        let source = &self.sources[block.source];
        let next = source.channel.dimension() as u32 + 1;
        let mut clustering = std::mem::take(&mut work.clustering);
        clustering.matched.clear();
        clustering.before.clear();
        for place in 0..passed {
            clustering.before.push(self.luminosity(group, work, place));
        }
        clustering.alpha_s.clear();
        clustering.alpha_s.extend_from_slice(&work.alpha_s);
        let mut momenta = [[0.0; 4]; MAX_LEGS];
        for place in 0..passed {
            let drawn = work.drawn[place] as usize;
            let partons = &group.partons[drawn];
            let own = &of.elements[partons.element].clustering;
            let memory = &mut clustering.memories[source.group].0[partons.element];
            let mut matched = None;
            let channel = usize::try_from(clustering.channels[place]).ok();
            let counts = work.squared[place] != 0.0 && work.factors[place] != 0.0;
            let Some(channel) = channel.filter(|_| counts) else {
                work.squared[place] = 0.0;
                clustering.matched.push(None);
                continue;
            };
            let p = copy_momenta(&work.points, place, &mut momenta[..group.legs]);
            if !of.scaled && !of.matched {
                if own.excludes(channel, p) {
                    work.squared[place] = 0.0;
                }
                continue;
            }
            let number = block.first + u64::from(work.kept[place]);
            let process = of.process(drawn, block.random.number(number, next));
            let given = self.given(group, of, &work.scales, place);
            match own.cluster(channel, process, p, &given, memory)? {
                None => work.squared[place] = 0.0,
                Some(found) => {
                    for (row, scale) in found.scales.into_iter().enumerate() {
                        work.scales.row_mut(row)[place] = scale;
                    }
                    work.alpha_s[place] = self.running.at(found.scales[0]);
                    if own.reweighted() {
                        let x = [0, 1].map(|leg| work.points.row(layout.fraction(leg))[place]);
                        let density = |leg: usize, code: i32, x: f64, q: f64| {
                            self.beams[group.beams[leg]].value(code, x, q * q)
                        };
                        let by = Weighing {
                            alpha_s: &|scale| self.running.at(scale),
                            density: self.has_densities().then_some(&density as _),
                            codes: partons.codes,
                            x,
                            energy: of.energy,
                        };
                        let found = own.matched(&found, &given, &by, memory);
                        work.factors[place] *= found.weight;
                        matched = Some(found);
                    }
                }
            }
            clustering.matched.push(matched);
        }
        if of.changes_scales() {
            self.replace(group, of, layout, &clustering, elements, work)?;
        }
        work.clustering = clustering;
        Ok(())
    }

    /// Replaces densities and |M|^2 by their values at the new scales.
    fn replace(
        &self,
        group: &ElementGroup,
        of: &Clusterings,
        layout: Layout,
        clustering: &ClusteringWork,
        elements: &mut dyn MatrixElementSource,
        work: &mut Workspace,
    ) -> Result<(), Failure> {
        let passed = work.kept.len();
        if self.has_densities() && group.scale.factorisation.contains(&None) {
            self.look_up(group, passed, layout, work);
            for place in 0..passed {
                let before = clustering.before[place];
                if work.squared[place] != 0.0 && before != 0.0 {
                    work.factors[place] *= self.luminosity(group, work, place) / before;
                }
            }
        }
        if of.elements.iter().all(|one| one.power.is_some()) {
            for place in 0..passed {
                let element = group.partons[work.drawn[place] as usize].element;
                let ratio = work.alpha_s[place] / clustering.alpha_s[place];
                work.squared[place] *= ratio.powi(of.elements[element].power.unwrap_or(0));
            }
            return Ok(());
        }
        let counts: Vec<bool> = work.squared.iter().map(|squared| *squared != 0.0).collect();
        // The channels stay.
        work.channel_numbers.clear();
        evaluate(group, elements, passed, work)?;
        for (squared, _) in work
            .squared
            .iter_mut()
            .zip(counts)
            .filter(|(_, counts)| !counts)
        {
            *squared = 0.0;
        }
        Ok(())
    }

    /// Returns the scales of a point before it is clustered.
    fn given(
        &self,
        group: &ElementGroup,
        of: &Clusterings,
        scales: &Rows,
        place: usize,
    ) -> InitialScales {
        let fixed = group.scale.factorisation;
        let (renormalisation, factorisation) = match of.scaled {
            true => (
                group.scale.renormalisation.unwrap_or(0.0),
                fixed.map(|scale| scale.unwrap_or(0.0)),
            ),
            false => {
                let [own, first, second] = [0, 1, 2].map(|row| scales.row(row)[place]);
                (own, [first, second])
            }
        };
        InitialScales {
            renormalisation,
            factorisation,
            fixed: !fixed.contains(&None),
            factor: group.scale.factor,
        }
    }

    /// Counts the jets of all channels in which points are clustered, from a few points of each source.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or points cannot be clustered.
    pub fn count_jets(&mut self, elements: &mut dyn MatrixElementSource) -> Result<(), Failure> {
        let mut counts: Vec<Vec<[JetCounts; 2]>> = Vec::new();
        for group in &self.groups {
            let of = group.clustering.iter().flat_map(|of| &of.elements);
            counts.push(of.map(|_| Default::default()).collect());
        }
        let mut work = Workspace::new(self, COUNTED);
        for number in 0..self.sources.len() {
            let source = &self.sources[number];
            let group = &self.groups[source.group];
            let Some(of) = &group.clustering else {
                continue;
            };
            // A round number that no survey and no round of events uses.
            let random = Philox {
                seed: 0,
                round: u16::MAX,
                channel: number as u32,
            };
            let dimension = source.channel.dimension() as u32;
            for rows in [&mut work.numbers, &mut work.points] {
                rows.set_points(COUNTED);
            }
            random.fill(self.level, 0, 0..dimension + 1, &mut work.numbers, 0);
            (source.channel).draw(
                self.level,
                &work.numbers,
                &source.permutations,
                0,
                &mut work.points,
            );
            self.select(group, COUNTED, &mut work);
            let passed = work.kept.len();
            if passed == 0 {
                continue;
            }
            let numbers: Vec<f64> = (work.kept.iter())
                .map(|&point| random.number(u64::from(point), dimension))
                .collect();
            let alpha_s = vec![self.running.at(91.188); passed];
            let (mut squared, mut channels) = (vec![0.0; passed], vec![-1; passed]);
            let numbers = PointNumbers {
                channels: &numbers,
                flows: &numbers,
            };
            for (place, &element) in group.elements.iter().enumerate() {
                elements.evaluate(
                    element,
                    &work.points,
                    &alpha_s,
                    numbers,
                    &mut squared,
                    &mut channels,
                )?;
                let [own, every] = &mut counts[source.group][place];
                let clustering = &of.elements[place].clustering;
                clustering.count_jets(&work.points, &channels, own)?;
                channels.fill(-1);
                for channel in 0..clustering.channels() {
                    channels[0] = channel as i32;
                    clustering.count_jets(&work.points, &channels, every)?;
                }
            }
        }
        for (group, counts) in self.groups.iter_mut().zip(&counts) {
            let elements = group.clustering.iter_mut().flat_map(|of| &mut of.elements);
            for (element, [own, every]) in elements.zip(counts) {
                element.clustering.settle(own);
                // For channels in which no point was drawn.
                element.clustering.settle(every);
            }
        }
        Ok(())
    }
}
