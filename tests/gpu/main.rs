//! The GPU engine on a real GPU, compared with the reference files and the CPU's engine. Without a GPU every test
//! reports a skip and passes, and a few run on a substitute for AMD's driver.
//!
//! The program of these tests also runs by itself, without cargo or MG5aMC's outputs:
//! `MEBRIDGE_REFERENCE` names the folder of reference files, `MEBRIDGE_PROCESSES` one of process files
//! (`mebridge import`) named `<output>.<P directory>.mebridge`. More of the environment:
//!
//! | variable | meaning |
//! |---|---|
//! | `MEBRIDGE_TEST_PROCESS` | only processes whose names contain this |
//! | `MEBRIDGE_TEST_CACHE` | where compiled device code is kept between runs |
//! | `MEBRIDGE_SANITIZER` | the program compute-sanitizer, where it is neither in `PATH` nor in /usr/local/cuda/bin |
//! | `MEBRIDGE_TEST_TOOL` | only those of its tools whose names contain this |
//! | `MEBRIDGE_TEST_CYCLES`, `MEBRIDGE_TEST_SECONDS` | how many bridges are created and deleted, and for how long at most |

mod blas;
mod chunks;
mod cold;
mod color_ordered;
mod door;
mod events;
mod generated;
mod graphs;
mod kernels;
mod large;
mod leaks;
mod reference;
mod sanitizer;
mod side_by_side;
#[cfg(target_os = "linux")]
mod stand_in;
mod support;
mod tuning;
mod umami;

use mebridge_testing as common;
