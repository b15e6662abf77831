//! Functions that users write in Fortran: a cut, and a scale.

use super::{Request, wrong};
use crate::import::user_code::{Kept, ThreadMemory, UserCode};
use mebridge_sampler::integrand::{Failure, PointFunctions, PointMomenta};
use mebridge_support::sync::lock;
use std::sync::{Arc, Mutex};

/// The functions of all matrix elements.
#[derive(Debug)]
pub(super) struct FortranFunctions {
    /// At least one; all of them have a scale, or none has.
    codes: Vec<SharedCode>,
    /// The functions of each matrix element.
    of_elements: Vec<Option<usize>>,
}

/// Functions that several threads call.
#[derive(Debug)]
struct SharedCode {
    code: UserCode,
    kept: Kept,
    /// ThreadMemory of threads that are not calling.
    memories: Mutex<Vec<ThreadMemory>>,
}

impl FortranFunctions {
    /// The functions of a request; `None` without any.
    pub(super) fn from_request(
        request: &Request,
    ) -> Result<Option<Arc<dyn PointFunctions>>, Failure> {
        let codes = &request.functions;
        let of_elements: Vec<_> = request.elements.iter().map(|of| of.function).collect();
        if let Some(number) = of_elements
            .iter()
            .flatten()
            .find(|number| **number >= codes.len())
        {
            return Err(wrong(format!("there are no functions {number}")).into());
        }
        let Some(first) = codes.first() else {
            return Ok(None);
        };
        let has_scale = first.scales();
        let same = codes.iter().all(|code| code.scales() == has_scale);
        if !same || has_scale && of_elements.contains(&None) {
            return Err(wrong("only some matrix elements have a scale in Fortran").into());
        }
        let shared = |code: &UserCode| SharedCode {
            kept: code.kept(),
            code: code.clone(),
            memories: Mutex::default(),
        };
        Ok(Some(Arc::new(FortranFunctions {
            codes: codes.iter().map(shared).collect(),
            of_elements,
        })))
    }
}

impl PointFunctions for FortranFunctions {
    fn has_scale(&self) -> bool {
        self.codes[0].code.scales()
    }

    fn evaluate(
        &self,
        element: usize,
        points: &PointMomenta,
        passes: &mut [bool],
        scales: &mut [[f64; 2]],
    ) -> Result<(), Failure> {
        let Some(number) = self.of_elements[element] else {
            return Ok(());
        };
        let SharedCode {
            code,
            kept,
            memories,
        } = &self.codes[number];
        let free = lock(memories).pop();
        let mut memory = free.unwrap_or_else(|| code.memory());
        let momenta = points.momenta.chunks_exact(points.legs);
        let points = momenta.zip(points.rapidities);
        for (((momenta, &rapidity), passes), scale) in points.zip(passes).zip(scales) {
            *passes = code.passes(&mut memory, kept, momenta, rapidity)?;
            // MadEvent does not compute the scale of a point that is cut.
            if *passes {
                let found = code.scale(&mut memory, kept, momenta, rapidity)?;
                *scale = found.unwrap_or([0.0; 2]);
            }
        }
        lock(memories).push(memory);
        Ok(())
    }
}
