//! Files of an output that hold what a user may change, as MG5aMC itself writes them.
//!
//! A run computes cuts and scales itself. Where one of these files is none that MG5aMC 2.8.3 to 3.7 wrote, it may hold a
//! cut or a scale of the user's, which nothing here would see.

use crate::output::Output;
use mebridge::{Error, Result};
use mebridge_support::files::regular;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What MG5aMC writes: of each file the first eight bytes of the SHA-256 of its texts, without blank lines and with one blank
/// for several. After each are the versions that write it: those of releases and of outputs of its repositories, with and
/// without the plugin.
#[rustfmt::skip]
const WRITTEN: [(&str, &[u64]); 11] = [
    ("SubProcesses/cuts.f", &[
        0x9f51_0be4_a299_42ab, // 2.9.2 3.1.0
        0x5fa8_4ed4_db04_0072, // 2.9.5
        0xe65f_a07b_876d_620a, // 3.1.0
        0x9dfc_863d_bc76_8c3e, // 3.3.1 3.4.0
        0x2ae1_dc3b_9047_bce4, // 3.3.1 3.4.0
        0xb426_4c70_e1eb_d2b9, // 3.4.0 3.5.0
        0x0a23_0f68_f986_82f7, // 3.4.1 3.4.2 3.5.6 3.5.7
        0x9d53_cfc9_b88a_c9f9, // 3.5.0
        0x7412_6f54_9f54_b832, // 3.5.0 3.5.1 3.5.2 3.5.3 3.6.0
        0xbd49_eb3d_7576_b970, // 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1
    ]),
    ("SubProcesses/setcuts.f", &[
        0x5a93_5181_c1c4_0214, // 2.8.3.2
        0xe846_b146_34c0_2d3e, // 2.9.2 3.1.0
        0x7400_bba7_2aa7_fa3c, // 2.9.5
        0xb859_4ccf_ee9b_8c3e, // 3.3.1 3.4.0 3.4.1 3.4.2
        0x5493_da97_ba4f_7ed6, // 3.3.1 3.4.0
        0xf2a0_1425_e103_8192, // 3.4.0 3.5.0
        0x0ad9_e378_5275_f20b, // 3.5.0 3.5.1 3.5.2
        0x79ce_9ca5_45f0_da17, // 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1
        0x1b21_c505_fa76_74f4, // 3.5.6 3.5.7
    ]),
    ("SubProcesses/setscales.f", &[
        0xb18d_4768_dedd_1f93, // 2.9.2
        0x9af6_de2f_f64a_7ec7, // 2.9.5 3.3.1 3.4.0 3.4.1 3.4.2
        0x005e_afa8_9b42_dde8, // 3.1.0
        0x6960_2c47_58eb_e599, // 3.3.1 3.4.0
        0xa526_f390_a899_44b8, // 3.4.0
        0xa0cd_ad9c_9c4e_f3c1, // 3.5.0 3.5.1 3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1
        0x7e74_8b72_c1f3_b63d, // 3.5.0
        0x8087_b5cb_0920_2653, // 3.5.6 3.5.7
    ]),
    ("SubProcesses/reweight.f", &[
        0x2172_d019_8030_b96e, // 2.8.3.2
        0xdff1_af9f_f50e_f278, // 2.9.2 3.1.0
        0x31dc_136c_43d8_27c0, // 2.9.5 3.4.1 3.4.2 3.5.6 3.5.7
        0x3a9c_c0ba_528f_5eb3, // 3.1.0
        0xa6ab_be81_216d_6cac, // 3.3.1
        0xe100_2bd7_eca0_e60a, // 3.3.1
        0xdfda_f1c7_a3fe_92db, // 3.4.0
        0x40a1_26e5_032a_418e, // 3.4.0
        0x9f72_ce36_c63f_d97b, // 3.4.0 3.5.0
        0x2e20_234c_c68e_ea75, // 3.4.0
        0xd398_3dad_de03_6e90, // 3.5.0
        0xec12_2263_d57f_fb47, // 3.5.0 3.5.1 3.5.2 3.5.3
        0x9e52_a29f_63bd_a5f6, // 3.5.3 3.6.0
        0x7a52_fd0b_44c8_ea5a, // 3.6.0 3.6.2
        0xf569_a4e5_4351_1839, // 3.6.3
        0x4f43_7b22_b36f_4897, // 3.6.4 3.6.5 3.6.6 3.6.7
        0xc3b6_3fcf_df6e_ae58, // 3.7.0
        0xbec2_aeeb_71a9_70c5, // 3.7.1
    ]),
    ("SubProcesses/cluster.f", &[
        0x9a56_9a08_4f91_ab9e, // 2.8.3.2
        0x8bc1_e4f2_0329_bdc5, // 2.9.2 2.9.5 3.1.0 3.3.1 3.4.1 3.4.2 3.5.6 3.5.7
        0xca0e_572b_f805_5c02, // 3.3.1 3.4.0
        0x9263_36cc_2b9f_d5eb, // 3.4.0 3.5.0
        0x9217_02e2_93e7_1457, // 3.5.0 3.5.1 3.5.2 3.5.3 3.6.0
        0x2ff7_471c_68db_9aae, // 3.6.0 3.6.2
        0x16e2_38bc_8cfb_9383, // 3.6.3 3.6.4 3.6.5
        0x2e0d_f625_12f0_2b2a, // 3.6.6 3.6.7 3.7.0 3.7.1
    ]),
    ("SubProcesses/initcluster.f", &[
        0x78de_713e_a633_1d76, // 2.9.2 3.1.0
        0x16ab_77fe_d034_b70c, // 2.9.5 3.3.1 3.4.0 3.4.1 3.4.2 3.5.0 3.5.6 3.5.7
        0x4ee0_9189_15a9_dec7, // 3.3.1 3.4.0
        0x7220_9b77_7f23_8ba8, // 3.5.0 3.5.1 3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1
    ]),
    ("SubProcesses/myamp.f", &[
        0xd064_388b_5e44_4f23, // 2.8.3.2
        0x622e_9cc8_9c35_a47d, // 2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2
        0x8dd0_d4bb_fe53_1c12, // 3.3.1 3.4.0
        0x5c8d_0c9c_0fdb_5251, // 3.4.0 3.5.0
        0xb6ae_b671_11ff_8963, // 3.5.0
        0x1e1c_f07c_ac2a_cd90, // 3.5.0 3.5.1 3.5.2
        0xf990_1959_0c17_eeba, // 3.5.3 3.6.0
        0x4960_8d43_a7a8_b0a6, // 3.5.6 3.5.7
        0x4864_52d3_6a33_69cc, // 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7
        0x4a1e_6d45_ceba_ac84, // 3.7.0
        0xe546_08e5_c51b_cc80, // 3.7.1
    ]),
    ("SubProcesses/dummy_fct.f", &[
        0x9ddc_c619_0ed0_3bfd, // 2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2
        0x6baa_b7fe_f8a5_c8e6, // 3.5.0
        0xed85_236f_452e_bbc2, // 3.5.0 3.5.1
        0xd5c1_ecc1_ccc7_2fd5, // 3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1
        0xa6a0_d01c_438b_48d4, // 3.5.6 3.5.7
    ]),
    ("Source/kin_functions.f", &[
        0xe2bc_ef03_03f8_df52, // 2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2 3.5.0 3.5.6 3.5.7
        0x30d4_c374_3fd4_a7b0, // 3.5.0 3.5.1 3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1
    ]),
    ("Source/alfas_functions.f", &[
        0x018d_d219_a73f_a734, // 2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2 3.5.0 3.5.1 3.5.2 3.5.3 3.5.6 3.5.7 3.6.0
        0x2291_bc47_662c_b5b9, // 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1
    ]),
    ("Source/setrun.f", &[
        0xca14_3002_924a_b52e, // 2.9.2 2.9.5 3.1.0
        0x2686_f44f_2583_9ecc, // 3.3.1 3.4.0 3.4.1 3.4.2
        0xc00b_e522_34df_e2fc, // 3.3.1 3.4.0
        0x29ae_a97d_0af2_4469, // 3.4.0 3.5.0
        0xd283_5987_b390_e75a, // 3.5.0
        0x0115_8fe5_2846_824a, // 3.5.0 3.5.1 3.5.2 3.5.3
        0x885c_8e6e_1206_cc09, // 3.5.6 3.5.7
        0x8d86_c345_9089_1ae1, // 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5
        0x6a7b_fe6a_0520_8e77, // 3.6.6
        0xce56_4a0f_fff1_c1c3, // 3.6.7
        0xf225_1471_5271_d23a, // 3.7.0 3.7.1
    ]),
];

/// No such file is larger, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Of a text, whatever blanks it has.
fn digest(text: &[u8]) -> u64 {
    let mut hash = Sha256::new();
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let mut first = true;
    for line in lines {
        let words = line
            .split(|byte| is_blank(*byte))
            .filter(|word| !word.is_empty());
        for (place, word) in words.enumerate() {
            match (place, first) {
                (0, true) => {}
                (0, false) => hash.update(b"\n"),
                _ => hash.update(b" "),
            }
            first = false;
            hash.update(word);
        }
    }
    let bytes: [u8; 32] = hash.finalize().into();
    bytes[..8]
        .iter()
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Files that MG5aMC did not write so. Those of the directories of matrix elements are links, unless somebody put a file in
/// their place.
pub fn changed(output: &Output) -> Vec<PathBuf> {
    changed_of(output, &WRITTEN)
}

fn changed_of(output: &Output, written: &[(&str, &[u64])]) -> Vec<PathBuf> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (name, known) in written {
        let own = output.path.join(name);
        let mut files = vec![own.clone()];
        if let Some(name) = name.strip_prefix("SubProcesses/") {
            files.extend(output.directories.iter().map(|folder| folder.join(name)));
        }
        for file in files {
            let Ok(place) = file.canonicalize() else {
                found.extend(Some(file).filter(|file| *file == own));
                continue;
            };
            if !seen.insert(place.clone()) {
                continue;
            }
            match regular::read(&place, MOST_BYTES) {
                Ok(text) if known.contains(&digest(&text)) => {}
                Err(_) if file != own => {}
                _ => found.push(file),
            }
        }
    }
    found
}

/// Refuses an output with a file that MG5aMC did not write so.
///
/// # Errors
/// It has one.
pub fn check(output: &Output) -> Result<()> {
    let files = changed(output);
    let name = |file: &PathBuf| {
        let short: &Path = file.strip_prefix(&output.path).unwrap_or(file);
        short.display().to_string()
    };
    let names: Vec<String> = files.iter().map(name).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(Error::run(format!(
                "{} of {} is not as MG5aMC 2.8.3 to 3.7 writes it, and what was changed there would be left out",
                names.join(", "),
                output.path.display()
            ), "put the original back, run MadEvent (mebridge link), or give --changed-files (changed_files=True) \
                   where neither cuts nor scales depend on the change"
                .to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::samples::output;
    use std::fs;

    const NOTHING: u64 = 0x31a8_2261_d4d4_e9e5;
    const LINES: u64 = 0x9701_909a_fb16_cba1;

    /// The numbers are those of the Python package, by which the table was made.
    #[test]
    fn blanks_do_not_count() {
        assert_eq!(digest(b"      SUBROUTINE NOTHING\n"), NOTHING);
        assert_eq!(digest(b"\n      SUBROUTINE \t NOTHING   \r\n\n"), NOTHING);
        assert_eq!(digest(b"\n      A  = B\t+ 1   \r\n\n      END"), LINES);
    }

    /// Two of the files, in an output and in its directory.
    #[test]
    fn changed_fortran_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let place = output(path, &[]);
        let output = Output::find(path).unwrap();
        fs::create_dir(path.join("Source")).unwrap();
        let known: [(&str, &[u64]); 2] = [
            ("SubProcesses/cuts.f", &[NOTHING]),
            ("Source/setrun.f", &[LINES, NOTHING]),
        ];
        let names = || -> Vec<PathBuf> {
            let files = changed_of(&output, &known).into_iter();
            files
                .map(|file| file.strip_prefix(path).unwrap().to_owned())
                .collect()
        };
        let both = ["SubProcesses/cuts.f", "Source/setrun.f"].map(PathBuf::from);
        assert_eq!(names(), both);
        for name in &both {
            fs::write(path.join(name), "      SUBROUTINE  NOTHING\n").unwrap();
        }
        std::os::unix::fs::symlink("../cuts.f", place.join("cuts.f")).unwrap();
        assert!(names().is_empty());
        fs::write(path.join(&both[0]), "      SUBROUTINE CUT\n").unwrap();
        // Once, though the directory has it as well.
        assert_eq!(names(), both[..1]);
        fs::write(path.join(&both[0]), "      SUBROUTINE NOTHING\n").unwrap();
        fs::remove_file(place.join("cuts.f")).unwrap();
        fs::write(place.join("cuts.f"), "      SUBROUTINE CUT\n").unwrap();
        assert_eq!(names(), [PathBuf::from("SubProcesses/P1_qq_ttx/cuts.f")]);
        let error = check(&output).unwrap_err().to_string();
        assert!(
            error.starts_with("SubProcesses/cuts.f, SubProcesses/P1_qq_ttx/cuts.f, "),
            "{error}"
        );
        assert!(
            error.contains("give --changed-files (changed_files=True) where"),
            "{error}"
        );
    }
}
