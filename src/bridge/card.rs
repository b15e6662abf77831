//! Changes the values of the parameter card.

use super::Bridge;
use super::servers::Servers;
use crate::error::Result;

impl Bridge {
    /// Returns the values of the card.
    pub fn card(&self) -> &[f64] {
        &self.servers.recipe().card
    }

    /// Sets the values of the card from the next call on. Every decision that depended on the card when the bridge was
    /// made is made again, and good helicities and plans are determined again. On failure nothing changes.
    pub fn set_card(&mut self, card: &[f64]) -> Result<()> {
        let servers = Servers::new(self.servers.recipe().with_card(card))?;
        let weighting = self.weighting.for_servers(&servers)?;
        *self = Bridge::from_servers(servers, weighting, self.nevt);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::numbering::tests::call;
    use crate::describe::topologies;
    use crate::events::{Answers, Events};
    use crate::import::import_directory;
    use crate::process::Process;
    use crate::propagators::ChannelWeights;
    use crate::runtime::{BackendChoice, CachePlace, Switches};

    fn bridge(process: &Process, card: &[f64]) -> Bridge {
        let switches = Switches {
            backend: BackendChoice::Cpu,
            cache: CachePlace::Off,
            ..Switches::default()
        };
        Bridge::new(process.clone(), card, &switches, 64).expect("bridge")
    }

    fn values(bridge: &mut Bridge, events: &Events) -> Vec<f64> {
        let nevt = events.g_s.len();
        let mut out = (vec![0.0; nevt], vec![0; nevt], vec![0; nevt]);
        let mut answers = Answers {
            matrix_elements: &mut out.0,
            helicity: &mut out.1,
            color: &mut out.2,
        };
        bridge.run(events, &mut answers).expect("answers");
        out.0
    }

    /// An imported b b~ > z g g is served by its colour-ordered form if the b quark is massless, and not if it has a
    /// mass.
    #[test]
    fn the_form_that_serves_is_chosen_anew() {
        let generated = crate::generate("b b~ > z g g").expect("process");
        let folder = tempfile::tempdir().expect("folder");
        let output = folder.path().join("out");
        let names = crate::export::write(&generated[..1], &output).expect("Fortran");
        let process = import_directory(&output.join(&names[0]));
        let process = process.expect("process").remove(0);
        let mass = process.model.card_parameter("MB").expect("a mass");
        let heavy = process.model.default_card();
        let mut light = heavy.clone();
        light[mass] = 0.0;
        let mut changed = bridge(&process, &light);
        assert!(changed.servers.color_ordered.is_some());
        for (card, ordered) in [(&light, true), (&heavy, false), (&light, true)] {
            changed.set_card(card).expect("a card");
            assert_eq!(changed.servers.color_ordered.is_some(), ordered);
            let trial = changed.servers.own.trial().cloned().expect("points");
            let found = values(&mut changed, &call(&trial.points()));
            let expected = values(&mut bridge(&process, card), &call(&trial.points()));
            assert_eq!(found, expected);
        }
    }

    /// An invalid card leaves a bridge with stated channels unchanged.
    #[test]
    fn a_card_that_fails_changes_nothing() {
        let process = crate::generate("u u~ > e+ e- g g")
            .expect("process")
            .remove(0);
        let good = process.model.default_card();
        let width = process.model.card_parameter("WZ").expect("a width");
        let mut other = good.clone();
        other[width] = 30.0;
        let mut bad = other.clone();
        bad[process.model.card_parameter("MZ").expect("a mass")] = f64::NAN;
        let list = serde_json::to_string(&topologies(&process).expect("channels")).expect("text");
        let list: Vec<crate::propagators::Topology> = serde_json::from_str(&list).expect("a list");
        let mut bridge = bridge(&process, &good);
        let trial = bridge.servers.own.trial().cloned().expect("points");
        let events = call(&trial.points());
        let channels = vec![1; events.g_s.len()];
        let requested = Events {
            channels: Some(&channels),
            ..events
        };
        for stated in [false, true] {
            bridge.set_card(&good).expect("a card");
            match stated {
                true => bridge.set_channels(&list, 1e8),
                false => bridge.set_channel_weights(ChannelWeights::Propagators { s: 1e8 }),
            }
            .expect("channels");
            let both = |bridge: &mut Bridge| [&events, &requested].map(|e| values(bridge, e));
            let before = both(&mut bridge);
            assert!(bridge.set_card(&bad).is_err());
            assert!(bridge.set_card(&good[1..]).is_err());
            let none = ChannelWeights::Propagators { s: 0.0 };
            assert!(bridge.set_channel_weights(none).is_err());
            assert!(bridge.set_channels(&[], 1e8).is_err());
            assert_eq!(both(&mut bridge), before);
            bridge.set_card(&other).expect("a card");
            let after = both(&mut bridge);
            assert!(after[0] != before[0] && after[1] != before[1]);
            bridge.set_card(&good).expect("a card");
            assert_eq!(both(&mut bridge), before);
        }
    }
}
