//! Choice of the GPU if there are several.
//!
//! `CUDACPP_RUNTIME_DEVICE` takes precedence. Without it, one GPU is used: launchers number the processes of a job on
//! each machine by local ranks from 0, which they put into the environment, and a process uses the GPU with its rank
//! modulo the number of GPUs. If the launcher gives each process only its own GPU, there is just one to choose.

use mebridge_support::error::{Error, Result};
use mebridge_support::runtime::Devices;

/// Environment variables with the local rank: Slurm, Open MPI, Intel MPI, MVAPICH, MPICH.
const RANKS: [&str; 5] = [
    "SLURM_LOCALID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PMI_LOCAL_RANK",
];

/// Returns the GPUs of one bridge, at least one, if `count` are visible to the process (at least one). `lookup` reads
/// the environment.
pub fn choose(
    switch: &Devices,
    lookup: impl Fn(&str) -> Option<String>,
    count: usize,
) -> Result<Vec<usize>> {
    match switch {
        Devices::All => Ok((0..count).collect()),
        Devices::These(devices) => match devices.iter().find(|device| **device >= count) {
            Some(&device) => Err(Error::NoSuchDevice {
                device,
                devices: count,
            }),
            None => Ok(devices.clone()),
        },
        Devices::Auto => {
            let rank = RANKS
                .iter()
                .find_map(|name| lookup(name)?.trim().parse::<usize>().ok())
                .unwrap_or(0);
            Ok(vec![rank % count.max(1)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(environment: &[(&str, &str)], count: usize) -> Vec<usize> {
        let lookup = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        };
        choose(&Devices::Auto, lookup, count).unwrap()
    }

    #[test]
    fn the_local_rank_chooses() {
        assert_eq!(auto(&[], 4), [0]);
        for name in RANKS {
            assert_eq!(auto(&[(name, "3")], 4), [3], "{name}");
            assert_eq!(auto(&[(name, "6")], 4), [2], "{name}");
            assert_eq!(auto(&[(name, "6")], 1), [0], "{name}");
        }
        // An invalid rank is ignored.
        let both = [("SLURM_LOCALID", "x"), ("PMI_LOCAL_RANK", "1")];
        assert_eq!(auto(&both, 4), [1]);
        assert_eq!(auto(&[("SLURM_LOCALID", "-1")], 4), [0]);
    }

    #[test]
    fn the_switch_comes_first() {
        let rank = |_: &str| Some("1".to_string());
        let these = |devices: &[usize]| choose(&Devices::These(devices.to_vec()), rank, 4);
        assert_eq!(these(&[3]).unwrap(), [3]);
        assert_eq!(these(&[2, 0]).unwrap(), [2, 0]);
        assert_eq!(choose(&Devices::All, rank, 3).unwrap(), [0, 1, 2]);
        let message = these(&[0, 4]).unwrap_err().to_string();
        assert!(message.contains("no GPU 4"), "{message}");
        assert!(message.contains("sees 4"), "{message}");
        assert!(message.contains("CUDACPP_RUNTIME_DEVICE"), "{message}");
    }
}
