//! Run card entries that are part of the process: an executable stops if they differ from those at the time of the
//! link.

use super::layout::{OutputLayout, Subprocess};
use super::listing::files;
use super::matrix_element::latin;
use mebridge::Result;

/// Entry, and the variable that the executable compares.
const SETTINGS: [(&str, &str); 2] = [
    ("small_width_treatment", "MEBWIDTH"),
    ("bwcutoff", "MEBCUT"),
];

/// Relative difference below which values are equal, as in the executable.
const SAME: f64 = 1e-9;

/// Returns the run card entries that differ from those that a P directory was linked with.
pub fn other_settings(layout: &OutputLayout, subprocess: &Subprocess) -> Result<Vec<&'static str>> {
    let around = layout.surroundings()?;
    let mut found = Vec::new();
    for file in files(&subprocess.path)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("mebridge_handle") && name.ends_with(".f")) {
            continue;
        }
        let text = latin(&file)?;
        for ((entry, variable), now) in SETTINGS.iter().zip([around.small_width, around.bw_cutoff])
        {
            let linked = compared(&text, variable);
            let other = |linked: f64| (now - linked).abs() > SAME * linked.abs();
            if linked.is_some_and(other) && !found.contains(entry) {
                found.push(*entry);
            }
        }
    }
    Ok(found)
}

/// Returns the value that a variable is compared with.
fn compared(text: &str, variable: &str) -> Option<f64> {
    let (_, rest) = text.split_once(&format!("IF(ABS({variable}-("))?;
    let (value, _) = rest.split_once(')')?;
    value.replace('D', "e").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_again() {
        let text = "      IF(ABS(MEBWIDTH-(1D-6))\n     $ .GT.1D-9*ABS(1D-6))THEN\n";
        assert_eq!(compared(text, "MEBWIDTH"), Some(1e-6));
        assert_eq!(compared(text, "MEBCUT"), None);
    }
}
