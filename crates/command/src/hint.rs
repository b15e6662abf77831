//! Errors of the library in the words of the command: their cures name options and arguments where the library
//! has to name environment variables.

use mebridge::Error;

/// The message of an error.
pub fn message(error: &Error) -> String {
    match error {
        Error::ChooseProcess {
            path, what, names, ..
        } => {
            let path = path.display();
            format!("{path} holds {what}; name one of them as '{path}#n', n being one of:{names}")
        }
        Error::UnsupportedSimdLevel { name, supported } => format!(
            "this CPU lacks SIMD level `{name}`; choose one that it has ({supported}) or auto (--simd)"
        ),
        Error::NotOnGpu { what } => format!(
            "{what}: this runs on the CPU alone; take --backend cpu (of mebridge.generate_events device=\"cpu\"), or leave the choice \
             to auto"
        ),
        Error::NoGpu { what } => format!(
            "no GPU can be used: {what}. `nvidia-smi` must list one: install NVIDIA's driver, or look at \
             CUDA_VISIBLE_DEVICES; or evaluate on the CPU with --backend cpu"
        ),
        Error::NoAmdGpu { what } => format!(
            "no AMD GPU can be used: {what}. `rocminfo` must list one: install ROCm 6.0 or later, or look at \
             ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES; or evaluate on the CPU with --backend cpu"
        ),
        Error::Threads { threads, what } => {
            format!("could not start {threads} threads: {what}; ask for fewer with --threads")
        }
        Error::Memory { bytes } => format!(
            "there is too little memory: {bytes} bytes were refused; give the job more, or ask for fewer \
             threads with --threads"
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cure_is_a_variable_where_there_is_an_option() {
        let errors = [
            Error::ChooseProcess {
                path: "P1".into(),
                what: "2 matrix elements".into(),
                names: "\n  #1 a".into(),
                count: 2,
            },
            Error::UnsupportedSimdLevel {
                name: "512z",
                supported: "none, avx2".into(),
            },
            Error::NotOnGpu {
                what: "spin 2".into(),
            },
            Error::NoGpu { what: "why".into() },
            Error::NoAmdGpu { what: "why".into() },
            Error::Threads {
                threads: 3,
                what: "why".into(),
            },
            Error::Memory { bytes: 7 },
        ];
        for error in &errors {
            let text = message(error);
            assert!(!text.contains("CUDACPP_RUNTIME"), "{text}");
            assert!(error.to_string().contains("CUDACPP_RUNTIME"), "{error}");
        }
        assert!(message(&errors[0]).contains("'P1#n'"));
    }
}
