//! The Fortran that calls aMC@NLO's Born with its colour links, complex Borns and AMP2, and mebridge's answers.

use super::points::Point;
use super::statements::{self, Statement};
use super::tree::Tree;
use mebridge::Result;
use mebridge::born::{BornAnswer, BornBridge};
use mebridge::runtime::Switches;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Returns the files with the colour links.
pub fn link_files(tree: &Tree) -> Vec<PathBuf> {
    let mut files = tree.sources(&tree.element.to_string_lossy());
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("b_sf_")
    });
    files
}

/// Returns the routines of the colour links in the order of `sborn_sf.f`.
fn links(tree: &Tree) -> Vec<String> {
    let text = tree.text(tree.element.join("sborn_sf.f")).unwrap_or("");
    let calls = statements::read(text).into_iter().filter_map(|s| {
        let name = s.text.strip_prefix("CALL")?.split('(').next()?.to_owned();
        name.starts_with("SB_SF_").then_some(name)
    });
    calls.collect()
}

/// Returns the FKS configurations (from 1) with a complex Born, and its leg (from 1).
fn splits(tree: &Tree) -> Vec<(usize, usize)> {
    let text = tree.text(tree.element.join("born.f")).unwrap_or("");
    let legs = statements::read(text).into_iter().find_map(|s| {
        let values = s.text.strip_prefix("DATAIJ_VALUES/")?.strip_suffix('/')?;
        values.split(',').map(|leg| leg.parse().ok()).collect()
    });
    let legs: Vec<usize> = legs.unwrap_or_default();
    let splits = (1..).zip(legs);
    splits.filter(|&(_, leg)| leg != 0).collect()
}

/// Returns the number of amplitudes, if the Fortran keeps AMP2.
fn amplitudes(tree: &Tree) -> Option<usize> {
    let found = statements::read(tree.text(tree.element.join("born.f"))?);
    let kept = found.iter().any(|s| s.text.contains("/TO_AMPS_BORN/"));
    number(&found, "NGRAPHS=").filter(|_| kept)
}

/// Returns the integer that follows the first occurrence of a text.
fn number(found: &[Statement], after: &str) -> Option<usize> {
    let (_, rest) = found.iter().find_map(|s| s.text.split_once(after))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..digits].parse().ok()
}

/// Returns the size of GOODHEL, which `SBORN_SPLITORDERS` sets in its first call and then keeps: a helicity that vanishes
/// there, as that of a W at rest, need not vanish at other points.
fn good_helicities(tree: &Tree) -> Option<usize> {
    let found = statements::read(tree.text(tree.element.join("born.f"))?);
    Some(number(&found, "NCOMB=")? * number(&found, "LOGICALGOODHEL(NCOMB,")?)
}

/// Returns the program that evaluates the Born. After |M|^2 it writes the links, AMP2, and the complex Borns of
/// [`splits`].
pub fn program(tree: &Tree) -> String {
    let (links, splits) = (links(tree), splits(tree));
    let mut t = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(t, "      {text}");
    };
    for text in [
        "PROGRAM MEB_ORACLE",
        "IMPLICIT NONE",
        "INCLUDE 'nexternal.inc'",
        "INCLUDE 'coupl.inc'",
        "REAL*8 P(0:3,NEXTERNAL-1),ANS,MEB_G,RHEL,RCOL",
        "INTEGER CHANNEL,MEB_CONFIG",
        "CHARACTER*400 MEB_FILE",
        "COMPLEX*16 MEB_C(2,0:1)",
        "INTEGER NFKSPROCESS",
        "COMMON/C_NFKSPROCESS/NFKSPROCESS",
        "LOGICAL CALCULATEDBORN",
        "COMMON/CCALCULATEDBORN/CALCULATEDBORN",
    ] {
        line(text);
    }
    let sizes = [links.len(), splits.len()].map(|size| size.max(1));
    line(&format!("REAL*8 MEB_L({}),MEB_B(2,{})", sizes[0], sizes[1]));
    let good = good_helicities(tree);
    if let Some(size) = good {
        line(&format!("LOGICAL MEB_GOOD({size})"));
        line("COMMON/C_GOODHEL/MEB_GOOD");
    }
    let amplitudes = amplitudes(tree).unwrap_or(0);
    if amplitudes > 0 {
        line(&format!(
            "REAL*8 MEB_AMP2({amplitudes}),MEB_A({amplitudes})"
        ));
        line("COMMON/TO_AMPS_BORN/MEB_AMP2");
    }
    line("CALL GET_COMMAND_ARGUMENT(1,MEB_FILE)");
    line("OPEN(UNIT=91,FILE=MEB_FILE,STATUS='REPLACE',RECL=40000)");
    line("CALL SETPARA('param_card.dat')");
    t.push_str("   10 READ(*,*,END=20) MEB_G,RHEL,RCOL,CHANNEL,MEB_CONFIG,P\n");
    let mut line = |text: &str| {
        let _ = writeln!(t, "      {text}");
    };
    if good.is_some() {
        line("MEB_GOOD=.TRUE.");
    }
    line("G=MEB_G");
    line("CALL UPDATE_AS_PARAM()");
    line("NFKSPROCESS=1");
    line("CALCULATEDBORN=.FALSE.");
    line("CALL SBORN(P,ANS)");
    if amplitudes > 0 {
        line("MEB_A=MEB_AMP2");
    }
    for (i, name) in (1..).zip(&links) {
        line(&format!("CALL {name}(P,MEB_L({i}))"));
    }
    for (i, (configuration, _)) in (1..).zip(&splits) {
        line(&format!("NFKSPROCESS={configuration}"));
        line("CALCULATEDBORN=.FALSE.");
        line("CALL SBORN_SPLITORDERS(P,MEB_C)");
        line(&format!("MEB_B(1,{i})=DBLE(MEB_C(2,1))"));
        line(&format!("MEB_B(2,{i})=DIMAG(MEB_C(2,1))"));
    }
    let mut written = String::new();
    if !links.is_empty() {
        written.push_str(",MEB_L");
    }
    if amplitudes > 0 {
        written.push_str(",MEB_A");
    }
    if !splits.is_empty() {
        written.push_str(",MEB_B");
    }
    line(&format!(
        "WRITE(91,'(ES27.17E4,2I8,9999ES27.17E4)') ANS,0,0{written}"
    ));
    line("GOTO 10");
    t.push_str("   20 CONTINUE\n      CLOSE(91)\n      END\n");
    t
}

/// Returns mebridge's answers in the order of the program: for each event the links, AMP2, and real and imaginary parts of
/// the complex Borns. Those of legs that are no massless vectors are `None`: MG5aMC computes them, too, and does not use
/// them.
pub fn parts(
    tree: &Tree,
    directory: &Path,
    card: Option<&Path>,
    points: &[Point],
) -> Result<Vec<Vec<Option<f64>>>> {
    let mut bridge = BornBridge::open(directory, card, &Switches::default())?;
    let (splits, has_amp2) = (splits(tree), amplitudes(tree).is_some());
    let mut answer = BornAnswer::default();
    let mut all = Vec::with_capacity(points.len());
    for point in points {
        bridge.evaluate(&point.momenta, point.g, &mut answer)?;
        let amp2: &[f64] = if has_amp2 { &answer.amp2 } else { &[] };
        let mut parts: Vec<Option<f64>> =
            answer.links.iter().chain(amp2).map(|x| Some(*x)).collect();
        for &(_, leg) in &splits {
            let z = answer.complex[leg - 1];
            parts.extend([z.map(|z| z.re), z.map(|z| z.im)]);
        }
        all.push(parts);
    }
    Ok(all)
}
