//! Input and output arrays of one call to a bridge.
//!
//! The layout is that of MadEvent's Fortran: the momenta of one event are `P(0:3, NEXTERNAL)`, energy first, one leg
//! after the other; channels, configurations, helicities and colour flows count from 1. Backends never see these
//! arrays: a bridge converts them to [`Inputs`](crate::inputs::Inputs).

use crate::points::check_length;
use crate::points::{Momenta, Outputs, Points};
use mebridge_support::error::Result;

/// Inputs of one call.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a> {
    /// `[nevt][npar][4]`: `(E, px, py, pz)` in GeV; incoming particles have positive energy.
    pub momenta: &'a [f64],
    /// `[nevt]`: the strong coupling g_s of each event.
    pub g_s: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the helicity.
    pub random_helicity: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the colour flow.
    pub random_color: &'a [f64],
    /// `[nevt]`: channels (diagram numbers from 1), or `None` without multichannel weights.
    pub channels: Option<&'a [i32]>,
    /// `[nevt]`: the configuration (from 1) whose colour flows are allowed, or 0 if it follows from the channel; `None`
    /// if it follows from the channel for every event.
    pub igraph: Option<&'a [i32]>,
}

/// Results of one call.
#[derive(Debug)]
pub struct Answers<'a> {
    /// `[nevt]`: |M|^2 averaged and summed, times the channel's weight.
    pub matrix_elements: &'a mut [f64],
    /// `[nevt]`: the chosen helicity, from 1 in the order of the helicity table; 0 if none was chosen.
    pub helicity: &'a mut [i32],
    /// `[nevt]`: the chosen colour flow, from 1; 0 if the event has neither channel nor igraph.
    pub color: &'a mut [i32],
}

impl<'a> Events<'a> {
    /// Number of legs, derived from the array lengths; 0 without events.
    pub fn legs(&self) -> usize {
        self.momenta
            .len()
            .checked_div(4 * self.g_s.len())
            .unwrap_or(0)
    }

    /// The points, for a process with `legs` legs.
    pub fn points(&self, legs: usize) -> Points<'a> {
        Points {
            momenta: Momenta::rows(self.momenta, legs),
            g_s: self.g_s,
            random_helicity: self.random_helicity,
            random_color: self.random_color,
        }
    }

    /// The first `count` events.
    pub fn first(&self, count: usize) -> Events<'a> {
        self.part(0, count)
    }

    /// The `count` events starting at `first`.
    pub fn part(&self, first: usize, count: usize) -> Events<'a> {
        let (end, legs) = (first + count, self.legs());
        Events {
            momenta: &self.momenta[first * legs * 4..end * legs * 4],
            g_s: &self.g_s[first..end],
            random_helicity: &self.random_helicity[first..end],
            random_color: &self.random_color[first..end],
            channels: self.channels.map(|c| &c[first..end]),
            igraph: self.igraph.map(|g| &g[first..end]),
        }
    }

    /// Returns the number of events after checking that every array has this length for a process with `legs` legs.
    pub fn count(&self, legs: usize) -> Result<usize> {
        let nevt = self.g_s.len();
        check_length("momenta", self.momenta.len(), nevt * legs * 4)?;
        self.points(legs).check(legs)?;
        if let Some(channels) = self.channels {
            check_length("channels", channels.len(), nevt)?;
        }
        if let Some(igraph) = self.igraph {
            check_length("igraph", igraph.len(), nevt)?;
        }
        Ok(nevt)
    }
}

impl Answers<'_> {
    /// The arrays, to be filled by a backend, which counts from 0.
    pub fn outputs(&mut self) -> Outputs<'_> {
        Outputs {
            matrix_elements: self.matrix_elements,
            helicity: self.helicity,
            color: self.color,
        }
    }
}
