//! PDG codes of standalone outputs.
//!
//! A standalone output lacks MadEvent's tables, but if its routines have prefixes (such as the reweighting module's
//! `rw_me`), `SubProcesses/all_matrix.f` selects among them by PDG codes:
//!
//! ```fortran
//!         IF(21.EQ.PDGS(1).AND.21.EQ.PDGS(2).AND.6.EQ.PDGS(3).AND.-6.EQ.PDGS(4).AND.(PROCID.LE.0.OR.PROCID.EQ.1)) THEN
//!           CALL M7_SMATRIXHEL(P, NHEL, ANS)
//! ```

use super::dependencies;
use super::source::SourceFile;
use mebridge_support::error::Result;
use std::path::Path;

/// Returns the codes for which `<prefix>SMATRIXHEL` is called, in the order of its legs: all flavours that it serves.
/// Empty if the output has no such file, or if the routine is not called there in this form.
pub fn of_prefix(directory: &Path, prefix: &str, legs: usize) -> Result<Vec<Vec<i32>>> {
    let path = directory.join("../all_matrix.f");
    if prefix.is_empty() || !dependencies::is_file(&path) {
        return Ok(Vec::new());
    }
    let source = SourceFile::read(&path)?;
    let call = format!("CALL{prefix}SMATRIXHEL(");
    let mut found: Vec<Vec<i32>> = Vec::new();
    for i in 1..source.len() {
        if !source.text(i).starts_with(call.as_bytes()) {
            continue;
        }
        match codes(source.text(i - 1), legs) {
            // Another number of the process has the same particles.
            Some(codes) if found.contains(&codes) => {}
            Some(codes) => found.push(codes),
            // Called in another way: the codes are unknown.
            None => return Ok(Vec::new()),
        }
    }
    Ok(found)
}

/// Parses the codes of a condition, one for each leg.
fn codes(condition: &[u8], legs: usize) -> Option<Vec<i32>> {
    let text = std::str::from_utf8(condition).ok()?;
    let text = text.strip_prefix("ELSE").unwrap_or(text);
    let text = text.strip_prefix("IF(")?.strip_suffix(")THEN")?;
    let mut codes = vec![None; legs];
    let (particles, rest) = text.split_once(".AND.(PROCID").unwrap_or((text, ""));
    if rest.contains("PDGS") {
        return None;
    }
    for part in particles.split(".AND.") {
        let (code, place) = part.split_once(".EQ.PDGS(")?;
        let place: usize = place.strip_suffix(')')?.parse().ok()?;
        let slot = codes.get_mut(place.checked_sub(1)?)?;
        if slot.replace(code.parse().ok()?).is_some() {
            return None;
        }
    }
    codes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let gg = "21.EQ.PDGS(1).AND.21.EQ.PDGS(2).AND.6.EQ.PDGS(3).AND.-6.EQ.PDGS(4)";
        let read = |text: String| codes(text.as_bytes(), 4);
        let wanted = Some(vec![21, 21, 6, -6]);
        let number = ".AND.(PROCID.LE.0.OR.PROCID.EQ.1)";
        assert_eq!(read(format!("IF({gg}{number})THEN")), wanted);
        assert_eq!(read(format!("ELSEIF({gg})THEN")), wanted);
        for wrong in [
            format!("IF({gg}.AND.22.EQ.PDGS(5))THEN"),
            format!("IF({gg}.AND.22.EQ.PDGS(4))THEN"),
            format!("IF({gg}.AND.22.EQ.PDGS(0))THEN"),
            format!("IF({gg}.OR.NPDG.EQ.4)THEN"),
            format!("IF({})THEN", &gg[18..]),
            format!("IF({gg}{number}.OR.21.EQ.PDGS(1))THEN"),
            "NPDG=4".into(),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }
}
