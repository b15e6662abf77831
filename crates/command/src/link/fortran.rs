//! The Fortran that replaces MadEvent's matrix elements.
//!
//! For each matrix element of a P directory:
//!
//! | file | definitions |
//! |---|---|
//! | `mebridge_handle<i>.f` | the handle; the card, whose values MadEvent has in COMMON blocks |
//! | `mebridge_matrix<i>.f` | `MATRIX<i>` for one helicity |
//! | `mebridge_matrix<i>_all.f` | `MATRIX<i>` as written by helicity recycling: all helicities of an event |
//! | `mebridge_batch<i>.f` | `SMATRIX<i>_MULTI`: a batch of events (MG5aMC 3.6 and later) |
//!
//! For those of aMC@NLO `mebridge_matrix<n>.f` defines `SMATRIX<n>_SPLITORDERS`, and `mebridge_matrixborn.f` `SBORN`;
//! `mebridge_clock.f` is their clock.
//!
//! For a P directory with the plugin also `mebridge_plugin.f`, which checks MadEvent's settings.
//!
//! Statements end by column 72. Our names begin with `MEB`, so that they do not collide with parameters of a model.

use super::matrix_element::MatrixElement;
use mebridge::process::{HelicitySum, Process};
use std::fmt::Write;

/// Properties of a P directory, besides its matrix elements, on which its Fortran depends.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Whether couplings are arrays over `VECSIZE_MEMMAX` events (Source/vector.inc).
    pub vector: bool,
    /// `small_width_treatment` of the run card that the process was imported with.
    pub small_width: f64,
    /// `bwcutoff` of that run card.
    pub bw_cutoff: f64,
}

/// Marks a parameter for which MadEvent has no variable: the process's own value is used.
const NO_VARIABLE: &str = "-1.7976931348623157D308";

const HEAD: &str = "C     Written by `mebridge link`; `mebridge unlink` removes it.\n";

/// Returns `mebridge_matrix<i>.f` or, for helicity recycling, `mebridge_matrix<i>_all.f`.
pub fn matrix(element: &MatrixElement, around: Surroundings, recycled: bool) -> String {
    let n = &element.number;
    let mut f = String::from(HEAD);
    let arguments = match recycled {
        true => "P,IC,TS".into(),
        false => element.matrix.arguments.join(","),
    };
    let takes = |argument| !recycled && element.matrix.takes(argument);
    let kind = match recycled {
        true => "SUBROUTINE",
        false => "REAL*8 FUNCTION",
    };
    let _ = writeln!(f, "      {kind} MATRIX{n}(\n     $ {arguments})");
    line(&mut f, "IMPLICIT NONE");
    includes(&mut f, around, &["nexternal.inc", "maxamps.inc"]);
    line(&mut f, "INCLUDE 'coupl.inc'");
    line(&mut f, "REAL*8 P(0:3,NEXTERNAL)");
    for argument in ["IC", "NHEL"] {
        if takes(argument) {
            line(&mut f, &format!("INTEGER {argument}(NEXTERNAL)"));
        }
    }
    for argument in ["IHEL", "IVEC"] {
        if takes(argument) {
            line(&mut f, &format!("INTEGER {argument}"));
        }
    }
    line(&mut f, "DOUBLE PRECISION AMP2(MAXAMPS),JAMP2(0:MAXFLOW)");
    if !takes("AMP2") {
        line(&mut f, "COMMON/TO_AMPS/AMP2,JAMP2");
    }
    if element.strategy {
        line(&mut f, "DOUBLE PRECISION MEBTMIN");
        line(&mut f, "INTEGER MEBSDE");
        line(&mut f, "COMMON/TO_CHANNEL_STRAT/MEBTMIN,MEBSDE");
    }
    line(&mut f, "INTEGER*8 MEBH");
    line(&mut f, "INTEGER MEBW");
    if recycled {
        line(&mut f, "INTEGER IC(NEXTERNAL),NCOMB,I");
        // NCOMB, NHEL and their values, from the file of helicity recycling.
        line(&mut f, &format!("INCLUDE 'mebridge_nhel{n}.inc'"));
        line(&mut f, "REAL*8 TS(NCOMB),MEBF(NCOMB)");
    } else {
        line(&mut f, "DOUBLE PRECISION MEBT,MEBF");
        line(&mut f, &format!("REAL*8 MEBFORTRAN{n}"));
        line(&mut f, &format!("EXTERNAL MEBFORTRAN{n}"));
    }
    line(&mut f, "DOUBLE PRECISION MEBA(MAXAMPS),MEBJ(0:MAXFLOW)");
    line(&mut f, "INTEGER MEBC");
    line(&mut f, &format!("CALL MEBRIDGE_HANDLE{n}(MEBH)"));
    line(&mut f, "MEBW=1");
    if element.strategy {
        line(&mut f, "IF(MEBSDE.NE.1) MEBW=0");
    }
    let g = if takes("IVEC") && around.vector {
        "ALL_G(IVEC)"
    } else {
        "G"
    };
    // The Fortran's own matrix element, called only in check mode, adds to AMP2 and JAMP2 as well.
    f.push_str("      CALL MEBRIDGE_CHECKS(MEBC)\n      IF(MEBC.NE.0)THEN\n");
    f.push_str("        MEBA=AMP2\n        MEBJ=JAMP2\n");
    if recycled {
        let _ = writeln!(f, "        CALL MEBFORTRAN{n}(P,IC,MEBF)");
    } else {
        let _ = writeln!(f, "        MEBF=MEBFORTRAN{n}(\n     $ {arguments})");
    }
    f.push_str("        AMP2=MEBA\n        JAMP2=MEBJ\n      ENDIF\n");
    let sum = if recycled {
        "SUM(TS),SUM(MEBF)"
    } else {
        "MEBT,MEBF"
    };
    if recycled {
        line(&mut f, &format!("CALL MEBRIDGE_MATRICES(MEBH,P,{g},NHEL,"));
        continue_statement(&mut f, "NCOMB,MEBW,MAXAMPS,MAXFLOW,TS,AMP2,JAMP2(1))");
    } else {
        line(&mut f, &format!("CALL MEBRIDGE_MATRIX(MEBH,P,{g},NHEL,"));
        continue_statement(&mut f, "MEBW,MAXAMPS,MAXFLOW,MEBT,AMP2,JAMP2(1))");
        line(&mut f, &format!("MATRIX{n}=MEBT"));
    }
    line(&mut f, "IF(MEBC.NE.0)CALL MEBRIDGE_CHECK(MEBH,P,");
    continue_statement(&mut f, &format!("{g},{sum})"));
    line(&mut f, "END");
    f
}

/// What the Fortran that opens the bridge of a matrix element depends on.
#[derive(Clone, Copy, Debug)]
pub struct Handle<'a> {
    /// The number in names.
    pub number: &'a str,
    /// Whether widths depend on `COMMON/NARROW_WIDTH/`.
    pub small_width: bool,
    /// Whether the matrix element depends on `COMMON/TO_BWCUTOFF/`.
    pub bw_cutoff: bool,
    /// The number of legs in terms of `nexternal.inc`.
    pub legs: &'a str,
    /// The routine that opens the bridge.
    pub open: &'static str,
    /// Its argument with the number of events of a call, with a comma; empty if it has none.
    pub events: &'static str,
}

impl<'a> Handle<'a> {
    /// For MadEvent's.
    pub fn of(element: &'a MatrixElement, around: Surroundings) -> Handle<'a> {
        Handle {
            number: &element.number,
            small_width: element.small_width,
            bw_cutoff: element.bw_cutoff,
            legs: "NEXTERNAL",
            open: "MEBRIDGE_OPEN",
            events: if around.vector {
                "VECSIZE_MEMMAX,"
            } else {
                "1,"
            },
        }
    }
}

/// Returns `mebridge_handle<i>.f`, which opens the bridge.
pub fn handle(element: Handle, process: &Process, around: Surroundings) -> String {
    let n = element.number;
    let card = &process.model.card;
    let values = card.len().max(1);
    let mut f = String::from(HEAD);
    line(&mut f, &format!("SUBROUTINE MEBRIDGE_HANDLE{n}(MEBH)"));
    line(&mut f, "IMPLICIT NONE");
    includes(&mut f, around, &["nexternal.inc"]);
    line(&mut f, "INTEGER*8 MEBH,MEBOPEN");
    line(&mut f, "SAVE MEBOPEN");
    line(&mut f, "DATA MEBOPEN/0/");
    line(
        &mut f,
        &format!("EXTERNAL MEBRIDGE_PROCESS{n},MEBRIDGE_END{n}"),
    );
    line(&mut f, "INTEGER MEBN");
    line(&mut f, &format!("PARAMETER (MEBN={values})"));
    line(&mut f, "DOUBLE PRECISION MEBCARD(MEBN)");
    if element.small_width {
        line(&mut f, "DOUBLE PRECISION MEBWIDTH");
        line(&mut f, "COMMON/NARROW_WIDTH/MEBWIDTH");
    }
    if element.bw_cutoff {
        line(&mut f, "DOUBLE PRECISION MEBCUT");
        line(&mut f, "COMMON/TO_BWCUTOFF/MEBCUT");
    }
    line(&mut f, "IF(MEBOPEN.EQ.0)THEN");
    let settings = [
        (
            element.small_width,
            "MEBWIDTH",
            "small_width_treatment",
            around.small_width,
        ),
        (element.bw_cutoff, "MEBCUT", "bwcutoff", around.bw_cutoff),
    ];
    for (used, variable, name, value) in settings {
        if used {
            let value = self::number(value);
            line(&mut f, &format!("IF(ABS({variable}-({value}))"));
            continue_statement(&mut f, &format!(".GT.1D-9*ABS({value}))THEN"));
            line(&mut f, "WRITE(0,*) 'mebridge: ERROR the run card has '");
            continue_statement(&mut f, &format!("//'another {name} '"));
            continue_statement(&mut f, "//'than when the output was linked: run '");
            continue_statement(&mut f, "//'mebridge link again'");
            line(&mut f, "STOP 1");
            line(&mut f, "ENDIF");
        }
    }
    if around.vector && n.is_empty() {
        line(&mut f, "IF(VECSIZE_MEMMAX.GT.1)THEN");
        line(&mut f, "WRITE(0,*) 'mebridge: ERROR MadEvent has no '");
        continue_statement(&mut f, "//'batches of events in an ungrouped output: set '");
        continue_statement(&mut f, "//'vector_size and nb_warp to 1 in the run card'");
        line(&mut f, "STOP 1");
        line(&mut f, "ENDIF");
    }
    line(&mut f, &format!("CALL MEBRIDGE_CARD{n}(MEBCARD)"));
    let Handle {
        open, events, legs, ..
    } = element;
    line(&mut f, &format!("CALL {open}(MEBOPEN,MEBRIDGE_PROCESS{n},"));
    continue_statement(&mut f, &format!("MEBRIDGE_END{n},{events}{legs},"));
    continue_statement(&mut f, &format!("{},MEBCARD)", card.len()));
    line(&mut f, "ENDIF");
    line(&mut f, "MEBH=MEBOPEN");
    line(&mut f, "END");
    f.push_str("C\n");
    line(&mut f, &format!("SUBROUTINE MEBRIDGE_CARD{n}(MEBCARD)"));
    line(&mut f, "IMPLICIT NONE");
    includes(&mut f, around, &[]);
    line(&mut f, "INCLUDE '../../Source/MODEL/input.inc'");
    line(&mut f, "INCLUDE 'coupl.inc'");
    line(&mut f, &format!("DOUBLE PRECISION MEBCARD({values})"));
    for (parameter, at) in card.iter().zip(1..) {
        let value = match parameter.index.is_empty() {
            true => NO_VARIABLE,
            false => &parameter.name,
        };
        line(&mut f, &format!("MEBCARD({at})="));
        continue_statement(&mut f, value);
    }
    line(&mut f, "END");
    f
}

/// Returns `mebridge_matrix<n>.f` of a real emission of aMC@NLO: `SMATRIX<n>_SPLITORDERS` with its arguments P and ANS, of
/// a single squared order.
pub fn real(number: &str) -> String {
    let mut f = String::from(HEAD);
    let _ = write!(
        f,
        "      SUBROUTINE SMATRIX{number}_SPLITORDERS(P,ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'coupl.inc'
      REAL*8 P(0:3,NEXTERNAL),ANS(0:1),MEBF(0:1)
      INTEGER*8 MEBH
      INTEGER MEBC
      CALL MEBRIDGE_HANDLE{number}(MEBH)
      CALL MEBRIDGE_SQUARED(MEBH,P,G,ANS(1))
      ANS(0)=ANS(1)
      CALL MEBRIDGE_CHECKS(MEBC)
      IF(MEBC.NE.0)THEN
        CALL MEBFORTRAN{number}(P,MEBF)
        CALL MEBRIDGE_CHECK(MEBH,P,G,ANS(1),MEBF(1))
      ENDIF
      END
"
    );
    f
}

/// Returns `mebridge_matrixborn.f` of aMC@NLO: `SBORN_SPLITORDERS` with its arguments P and ANS, and all that it leaves in
/// COMMON blocks. `legs` are its IJ_VALUES: for each FKS configuration the leg that splits, or 0 if it is massive.
///
/// Massive legs have no complex Born. Here ANS(2,:) is zero for them; in `born.f` it is made of a JAMPH(1,:,:) that nothing
/// has set for this leg. No program of aMC@NLO uses it. Collinear limits (`sborncol_fsr`) are evaluated only if J_FKS is
/// massless, and `sreal_deg`, `bornsoftvirtual` and what they call take ANS_CNT(1,:) alone. `get_mbar` of the MC
/// counterterms takes it for all emitters of octet colour; of massive ones (ILEG 3) it is then multiplied by an XKERNAZI
/// of zero, so that gluinos give the same, too.
///
/// The first event of each configuration is the Fortran's alone: it decides there which helicities are good, by whether
/// they vanish exactly, and AMP2 counts diagrams that cancel in |M|^2 of those that do not. Others stay zero, as the
/// Fortran leaves them. Where diagrams cancel, and where momenta are along the beams, it is luck whether rounding leaves a
/// rest. Since channels that decide differently do not add up, helicities that are good in other events count, too: the
/// Fortran's `BORN` decides that in events of [`mebridge::born::turned`].
pub fn born(process: &Process, legs: &[u32]) -> String {
    let mut f = String::from(HEAD);
    let _ = write!(
        f,
        "      SUBROUTINE SBORN_SPLITORDERS(P,ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'born_nhel.inc'
      INCLUDE 'coupl.inc'
      INTEGER NGRAPHS,NCOMB,NCOLOR,MEBN
      PARAMETER (NGRAPHS={graphs},NCOMB={rows})
      PARAMETER (NCOLOR={flows},MEBN={configurations})
      REAL*8 P(0:3,NEXTERNAL-1),MEBM(2)
      DOUBLE COMPLEX ANS(2,0:1),MEBF(2,0:1)
      DOUBLE PRECISION AMP2(NGRAPHS),JAMP2(0:NCOLOR,0:1)
      COMMON/TO_AMPS_BORN/AMP2,JAMP2
      DOUBLE COMPLEX SAVEAMP(NGRAPHS,MAX_BHEL)
      COMMON/TO_SAVEAMP/SAVEAMP
      DOUBLE PRECISION SAVEMOM(NEXTERNAL-1,2)
      COMMON/TO_SAVEMOM/SAVEMOM
      DOUBLE PRECISION HEL_FAC
      INTEGER GET_HEL,SKIP(MEBN)
      COMMON/CBORN/HEL_FAC,GET_HEL,SKIP
      LOGICAL GOODHEL(NCOMB,MEBN)
      COMMON/C_GOODHEL/GOODHEL
      LOGICAL CALCULATEDBORN
      COMMON/CCALCULATEDBORN/CALCULATEDBORN
      INTEGER NFKSPROCESS
      COMMON/C_NFKSPROCESS/NFKSPROCESS
      LOGICAL MEBSEEN(MEBN)
      INTEGER MEBWRITE,MEBLEGS(MEBN)
      INTEGER MEBI,MEBROW,MEBLEG,MEBFIRST(NEXTERNAL-1)
      INTEGER MEBHEL(NEXTERNAL-1)
      REAL*8 MEBP(0:3,NEXTERNAL-1),MEBB(2,0:1)
      DOUBLE COMPLEX MEBT(2,1)
      SAVE MEBSEEN,MEBWRITE
      DATA MEBSEEN/MEBN*.FALSE./
      DATA MEBWRITE/1/
",
        graphs = process.amplitudes.vertices().len(),
        rows = process.helicities.len(),
        flows = process.amplitudes.jamps(),
        configurations = legs.len(),
    );
    legs_of_configurations(&mut f, legs);
    f.push_str(
        "      INTEGER*8 MEBH
      INTEGER MEBC
      IF(.NOT.MEBSEEN(NFKSPROCESS))THEN
        MEBSEEN(NFKSPROCESS)=.TRUE.
        CALL MEBFORTRANBORN(P,ANS)
        CALL MEBRIDGE_HANDLEBORN(MEBH)
        CALL MEBRIDGE_ROW(MEBH,1,MEBFIRST)
        MEBLEG=MEBLEGS(NFKSPROCESS)
        DO MEBI=1,4
          CALL MEBRIDGE_TURNED(MEBH,P,MEBI,MEBP)
          DO MEBROW=1,NCOMB
            CALL MEBRIDGE_ROW(MEBH,MEBROW,MEBHEL)
            IF(MEBLEG.NE.0)THEN
              IF(MEBHEL(MEBLEG).NE.MEBFIRST(MEBLEG)) CYCLE
            ENDIF
            CALCULATEDBORN=.FALSE.
            CALL BORN(MEBP,MEBHEL,MEBROW,MEBT,MEBB)
            IF(MEBB(1,1).NE.0D0) GOODHEL(MEBROW,NFKSPROCESS)=.TRUE.
            IF(MEBB(2,1).NE.0D0)
     $       GOODHEL(MEBROW+SKIP(NFKSPROCESS),NFKSPROCESS)=.TRUE.
          ENDDO
        ENDDO
        CALCULATEDBORN=.FALSE.
        CALL MEBFORTRANBORN(P,ANS)
        MEBWRITE=1
        RETURN
      ENDIF
      CALL MEBRIDGE_CHECKS(MEBC)
      IF(MEBC.NE.0)THEN
        CALCULATEDBORN=.FALSE.
        CALL MEBFORTRANBORN(P,MEBF)
        MEBWRITE=1
      ENDIF
      CALL MEBRIDGE_HANDLEBORN(MEBH)
      CALL MEBRIDGE_BORN(MEBH,P,G,MEBLEGS(NFKSPROCESS),
     $ GOODHEL(1,NFKSPROCESS),SKIP(NFKSPROCESS),MEBWRITE,
     $ NGRAPHS,MAX_BHEL,NCOLOR,SAVEAMP,AMP2,JAMP2(1,1),ANS)
      JAMP2(1:NCOLOR,0)=0D0
      MEBWRITE=0
      SAVEMOM(:,1)=P(0,:)
      SAVEMOM(:,2)=P(3,:)
      HEL_FAC=1D0
      CALCULATEDBORN=.TRUE.
      IF(MEBC.NE.0)THEN
        MEBM(1)=DBLE(ANS(1,1))
        MEBM(2)=DBLE(MEBF(1,1))
        CALL MEBRIDGE_CHECK(MEBH,P,G,MEBM(1),MEBM(2))
      ENDIF
      END
",
    );
    f
}

/// Writes the leg of each configuration.
fn legs_of_configurations(f: &mut String, legs: &[u32]) {
    line(f, "DATA MEBLEGS/");
    for (i, leg) in (1..).zip(legs) {
        let end = if i == legs.len() { "/" } else { "," };
        continue_statement(f, &format!("{leg}{end}"));
    }
}

/// Returns `mebridge_matrix<name>.f` of colour link `name`, counted as `link` from 1: `SB_<name>_SPLITORDERS` with its
/// arguments P and ANS. As the Fortran's own it is for the momenta of the last Born.
pub fn link(name: &str, link: usize) -> String {
    let mut f = String::from(HEAD);
    let _ = write!(
        f,
        "      SUBROUTINE SB_{name}_SPLITORDERS(P,ANS)
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
      INCLUDE 'coupl.inc'
      REAL*8 P(0:3,NEXTERNAL-1),ANS(0:1),MEBF(0:1)
      DOUBLE PRECISION SAVEMOM(NEXTERNAL-1,2)
      COMMON/TO_SAVEMOM/SAVEMOM
      LOGICAL CALCULATEDBORN
      COMMON/CCALCULATEDBORN/CALCULATEDBORN
      INTEGER*8 MEBH
      INTEGER MEBC
      IF(.NOT.CALCULATEDBORN.OR.ANY(SAVEMOM(:,1).NE.P(0,:)).OR.
     $ ANY(SAVEMOM(:,2).NE.P(3,:)))THEN
        WRITE(0,*) 'mebridge: ERROR SB_{name} was called without '
     $   //'SBORN for the same momenta before it'
        STOP 1
      ENDIF
      CALL MEBRIDGE_HANDLEBORN(MEBH)
      CALL MEBRIDGE_LINK(MEBH,{link},P,G,ANS(1))
      ANS(0)=ANS(1)
      CALL MEBRIDGE_CHECKS(MEBC)
      IF(MEBC.NE.0)THEN
        CALL MEBFORTRAN{name}(P,MEBF)
        CALL MEBRIDGE_CHECK_LINK(MEBH,{link},P,G,ANS(1),MEBF(1))
      ENDIF
      END
"
    );
    f
}

/// Returns `mebridge_batch<i>.f`.
#[expect(clippy::too_many_lines, reason = "a text of Fortran")]
pub fn batch(element: &MatrixElement, process: &Process, around: Surroundings) -> Option<String> {
    let batch = element.batch.as_ref()?;
    let n = &element.number;
    // In pre-releases of 3.6.0 all events of a batch had one channel.
    let of_each = batch.takes("CHANNELS");
    let channels = if of_each { "CHANNELS" } else { "MEBCHAN" };
    let igraph = batch.takes("IGRAPH");
    let mut f = String::from(HEAD);
    let _ = writeln!(f, "      SUBROUTINE SMATRIX{n}_MULTI(");
    for (i, argument) in batch.arguments.iter().enumerate() {
        let end = match i + 1 == batch.arguments.len() {
            true => ")",
            false => ",",
        };
        continue_statement(&mut f, &format!("{argument}{end}"));
    }
    line(&mut f, "IMPLICIT NONE");
    includes(
        &mut f,
        around,
        &[
            "genps.inc",
            "nexternal.inc",
            "maxconfigs.inc",
            "maxamps.inc",
        ],
    );
    line(&mut f, "INCLUDE 'coupl.inc'");
    line(&mut f, "INCLUDE 'run.inc'");
    line(
        &mut f,
        "DOUBLE PRECISION P_MULTI(0:3,NEXTERNAL,VECSIZE_MEMMAX)",
    );
    for array in ["HEL_RAND", "COL_RAND", "OUT"] {
        line(&mut f, &format!("DOUBLE PRECISION {array}(VECSIZE_MEMMAX)"));
    }
    for array in [channels, "SELECTED_HEL", "SELECTED_COL"] {
        line(&mut f, &format!("INTEGER {array}(VECSIZE_MEMMAX)"));
    }
    line(&mut f, "INTEGER VECSIZE_USED");
    if !of_each {
        line(&mut f, "INTEGER CHANNEL");
    }
    let graphs = match igraph {
        true => "INTEGER IGRAPH(VECSIZE_MEMMAX),MEBGRAPH(VECSIZE_MEMMAX)",
        false => "INTEGER MEBGRAPH(VECSIZE_MEMMAX)",
    };
    line(&mut f, graphs);
    f.push_str(
        "      INTEGER CONFSUB(MAXSPROC,LMAXCONFIGS)
      INCLUDE 'config_subproc_map.inc'
      INTEGER MEBHEL
      LOGICAL MULTI_CHANNEL
      COMMON/TO_MATRIX/MEBHEL,MULTI_CHANNEL
      DOUBLE PRECISION MEBPOL(2)
      COMMON/TO_POLARIZATION/MEBPOL
      DOUBLE PRECISION MEBCUT,MEBTOT,MEBMINE,GET_CHANNEL_CUT
      EXTERNAL GET_CHANNEL_CUT
      INTEGER*8 MEBH
      INTEGER I,MEBI,MEBJ,MEBASK,MEBC
      LOGICAL MEBALL
",
    );
    let _ = write!(
        f,
        "      INTEGER MEBNHEL(NEXTERNAL),MEBIC(NEXTERNAL)
      DOUBLE PRECISION MEBSUM,MEBOWN,MEBFORTRAN{n}
      EXTERNAL MEBFORTRAN{n}
      DOUBLE PRECISION MEBAMP2(MAXAMPS),MEBJAMP2(0:MAXFLOW)
"
    );
    if !element.matrix.takes("AMP2") {
        f.push_str("      COMMON/TO_AMPS/MEBAMP2,MEBJAMP2\n");
    }
    f.push_str(&sampled("MEBHEL.NE.0.AND.VECSIZE_MEMMAX.GT.1"));
    if !of_each {
        line(&mut f, "MEBCHAN(1:VECSIZE_USED)=CHANNEL");
    }
    // SMATRIX<i> keeps its additional tasks; its MATRIX<i> is ours as well.
    f.push_str(
        "C     Single helicities, polarised beams, cuts on channels: SMATRIX.
      MEBALL=MEBHEL.EQ.0.AND.MEBPOL(1).EQ.1D0.AND.MEBPOL(2).EQ.1D0
      IF(MULTI_CHANNEL.AND.SDE_STRAT.EQ.1)
     $ MEBALL=MEBALL.AND.TMIN_FOR_CHANNEL.EQ.-1D0
      IF(.NOT.MEBALL)THEN
        DO MEBI=1,VECSIZE_USED
",
    );
    let _ = writeln!(f, "          CALL SMATRIX{n}(");
    let arguments = element.smatrix.arguments.iter();
    let count = arguments.len();
    for (i, argument) in arguments.enumerate() {
        let value = match argument.as_str() {
            "P" => "P_MULTI(0,1,MEBI)".into(),
            "RHEL" => "HEL_RAND(MEBI)".into(),
            "RCOL" => "COL_RAND(MEBI)".into(),
            "CHANNEL" => format!("{channels}(MEBI)"),
            "IVEC" => "MEBI".into(),
            "ANS" => "OUT(MEBI)".into(),
            "IHEL" => "SELECTED_HEL(MEBI)".into(),
            _ => String::from("SELECTED_COL(MEBI)"),
        };
        let end = if i + 1 == count { ")" } else { "," };
        continue_statement(&mut f, &format!("{value}{end}"));
    }
    f.push_str("        ENDDO\n        RETURN\n      ENDIF\n");
    line(&mut f, &format!("CALL MEBRIDGE_HANDLE{n}(MEBH)"));
    let graph = if igraph { "IGRAPH(MEBI)" } else { "0" };
    let _ = write!(
        f,
        "      DO MEBI=1,VECSIZE_USED
        MEBGRAPH(MEBI)={graph}
      ENDDO
      MEBASK=0
      IF(MULTI_CHANNEL)THEN
        IF(SDE_STRAT.EQ.1)THEN
          MEBASK=1
        ELSE
C         Colour flows are those of the channel's configuration.
          DO MEBI=1,VECSIZE_USED
            DO MEBJ=1,LMAXCONFIGS
              IF(MEBGRAPH(MEBI).EQ.0.AND.CONFSUB({n},MEBJ).EQ.
     $         {channels}(MEBI)) MEBGRAPH(MEBI)=MEBJ
            ENDDO
          ENDDO
        ENDIF
      ENDIF
      CALL MEBRIDGE_BATCH(MEBH,VECSIZE_USED,P_MULTI,ALL_G,HEL_RAND,
     $ COL_RAND,MEBASK,{channels},MEBGRAPH,OUT,SELECTED_HEL,
     $ SELECTED_COL)
"
    );
    check_batch(&mut f, element, process, channels);
    let _ = write!(
        f,
        "      IF(MULTI_CHANNEL.AND.SDE_STRAT.NE.1)THEN
        DO MEBI=1,VECSIZE_USED
          MEBTOT=0D0
          MEBMINE=0D0
          DO MEBJ=1,LMAXCONFIGS
            IF(CONFSUB({n},MEBJ).NE.0)THEN
              MEBCUT=GET_CHANNEL_CUT(P_MULTI(0,1,MEBI),MEBJ)
              MEBTOT=MEBTOT+MEBCUT
              IF(CONFSUB({n},MEBJ).EQ.{channels}(MEBI)) MEBMINE=MEBCUT
            ENDIF
          ENDDO
          IF(MEBTOT.NE.0D0) OUT(MEBI)=OUT(MEBI)*MEBMINE/MEBTOT
        ENDDO
      ENDIF
",
    );
    if igraph {
        f.push_str(
            "C     Without a graph of the matching there is no colour flow.
      IF(ICKKW.GT.0)THEN
        DO MEBI=1,VECSIZE_USED
          IF(IGRAPH(MEBI).EQ.0) SELECTED_COL(MEBI)=0
        ENDDO
      ENDIF
",
        );
    }
    line(&mut f, "END");
    Some(f)
}

/// Writes check mode for a batch: the Fortran's own answer for each event, with the weight of its channel.
fn check_batch(f: &mut String, element: &MatrixElement, process: &Process, channels: &str) {
    let n = &element.number;
    let rows = process.helicities.len();
    let arguments: Vec<&str> = element
        .matrix
        .arguments
        .iter()
        .map(|argument| match argument.as_str() {
            "P" => "P_MULTI(0,1,MEBI)",
            "NHEL" => "MEBNHEL",
            "IC" => "MEBIC",
            "IHEL" => "MEBJ",
            "AMP2" => "MEBAMP2",
            "JAMP2" => "MEBJAMP2",
            _ => "MEBI",
        })
        .collect();
    let _ = write!(
        f,
        "      CALL MEBRIDGE_CHECKS(MEBC)
      IF(MEBC.NE.0)THEN
        MEBIC=1
        DO MEBI=1,VECSIZE_USED
          MEBAMP2=0D0
          MEBJAMP2=0D0
          MEBJAMP2(0)={flows}
          MEBSUM=0D0
          DO MEBJ=1,{rows}
            CALL MEBRIDGE_ROW(MEBH,MEBJ,MEBNHEL)
            MEBOWN=MEBFORTRAN{n}(
     $       {arguments})
            MEBSUM=MEBSUM+{absolute}
          ENDDO
          IF(MEBASK.NE.0)THEN
            MEBTOT=0D0
            DO MEBJ=1,LMAXCONFIGS
              IF(CONFSUB({n},MEBJ).NE.0)
     $         MEBTOT=MEBTOT+MEBAMP2(CONFSUB({n},MEBJ))
            ENDDO
            IF(MEBTOT.NE.0D0)
     $       MEBSUM=MEBSUM*MEBAMP2({channels}(MEBI))/MEBTOT
          ENDIF
          CALL MEBRIDGE_CHECK(MEBH,P_MULTI(0,1,MEBI),ALL_G(MEBI),
     $     OUT(MEBI),MEBSUM/{iden}D0)
        ENDDO
      ENDIF
",
        flows = process.color_flows(),
        arguments = arguments.join(",\n     $       "),
        absolute = match process.helicity_sum {
            HelicitySum::Absolute => "ABS(MEBOWN)",
            HelicitySum::Positive | HelicitySum::Signed => "MEBOWN",
        },
        iden = process.iden,
    );
}

/// `mebridge_clock.f`: programs of aMC@NLO call it instead of gfortran's CPU_TIME.
pub const CLOCK: &str = "\
C     Written by `mebridge link`; `mebridge unlink` removes it.
      SUBROUTINE MEBRIDGE_CLOCK(T)
     $ BIND(C,NAME='__wrap__gfortran_cpu_time_4')
      USE,INTRINSIC::ISO_C_BINDING,ONLY:C_FLOAT
      IMPLICIT NONE
      REAL(C_FLOAT) T
      REAL*8 MEBT
      CALL MEBRIDGE_CPU_TIME(MEBT)
      T=REAL(MEBT,C_FLOAT)
      END
";

/// Returns `mebridge_plugin.f`: MadEvent calls it instead of two of the plugin's routines, which it calls in turn. The
/// first is called once with the size of a batch, the second once after the first batch.
pub fn plugin() -> String {
    let mut f = String::from(HEAD);
    f.push_str(
        "      SUBROUTINE MEBRIDGE_CREATE(MEBB,MEBN,MEBPAR,MEBP4)
     $ BIND(C,NAME='__wrap_fbridgecreate_')
      IMPLICIT NONE
      INTEGER*8 MEBB
      INTEGER*4 MEBN,MEBPAR,MEBP4
      INTERFACE
        SUBROUTINE MEBREAL(MEBB,MEBN,MEBPAR,MEBP4)
     $   BIND(C,NAME='__real_fbridgecreate_')
        INTEGER*8 MEBB
        INTEGER*4 MEBN,MEBPAR,MEBP4
        END SUBROUTINE
      END INTERFACE
      IF(MEBN.LE.1)THEN
        WRITE(0,*) 'mebridge: WARNING vector_size and nb_warp are 1: '
     $   //'MadEvent asks for single events, which are its own '
     $   //'Fortran''s in an output with the plugin'
      ENDIF
      CALL MEBREAL(MEBB,MEBN,MEBPAR,MEBP4)
      END
C
      SUBROUTINE MEBRIDGE_HELICITIES(MEBB,MEBGOOD,MEBALL)
     $ BIND(C,NAME='__wrap_fbridgegetngoodhel_')
      IMPLICIT NONE
      INTEGER*8 MEBB
      INTEGER*4 MEBGOOD,MEBALL
      INTERFACE
        SUBROUTINE MEBREAL(MEBB,MEBGOOD,MEBALL)
     $   BIND(C,NAME='__real_fbridgegetngoodhel_')
        INTEGER*8 MEBB
        INTEGER*4 MEBGOOD,MEBALL
        END SUBROUTINE
      END INTERFACE
      INTEGER MEBHEL
      LOGICAL MEBMULTI
      COMMON/TO_MATRIX/MEBHEL,MEBMULTI
",
    );
    f.push_str(&sampled("MEBHEL.NE.0"));
    f.push_str(
        "      CALL MEBREAL(MEBB,MEBGOOD,MEBALL)
      END
",
    );
    f
}

/// Writes statements that stop if MadEvent samples helicities of a batch; `MEBHEL` is its ISUM_HEL.
fn sampled(when: &str) -> String {
    format!(
        "\
C     MadEvent has one HEL_PICKED for all events of a batch.
      IF({when})THEN
        WRITE(0,*) 'mebridge: ERROR nhel of the run card is not 0: '
     $   //'MadEvent would pick one helicity for all events of a '
     $   //'batch, and cross sections would be wrong; set nhel to 0,'
     $   //' or vector_size and nb_warp to 1'
        STOP 1
      ENDIF
"
    )
}

/// Returns `mebridge_process.s`: the processes as bytes of the executable, and the order to use them.
pub fn processes(numbers: &[&str]) -> String {
    let mut s = String::from(
        "# Written by `mebridge link`; `mebridge unlink` removes it.\n\t.section .rodata\n",
    );
    for n in numbers {
        let _ = write!(
            s,
            "\t.balign 16\n\t.globl mebridge_process{n}_\nmebridge_process{n}_:\n\
             \t.incbin \"mebridge_matrix{n}.process\"\n\
             \t.globl mebridge_end{n}_\nmebridge_end{n}_:\n\t.byte 0\n"
        );
    }
    // Called before the program begins; at its end a warning is printed if no matrix element was requested.
    s.push_str("\t.section .init_array,\"aw\"\n\t.balign 8\n\t.quad mebridge_expect_\n");
    s.push_str("\t.section .note.GNU-stack,\"\",%progbits\n");
    s
}

fn includes(f: &mut String, around: Surroundings, files: &[&str]) {
    if around.vector {
        line(f, "INCLUDE '../../Source/vector.inc'");
    }
    for file in files {
        line(f, &format!("INCLUDE '{file}'"));
    }
}

/// Writes a statement.
fn line(f: &mut String, text: &str) {
    debug_assert!(text.len() <= 66, "{text}");
    let _ = writeln!(f, "      {text}");
}

/// Continues the last statement.
fn continue_statement(f: &mut String, text: &str) {
    debug_assert!(text.len() <= 65, "{text}");
    let _ = writeln!(f, "     $ {text}");
}

/// Formats a number as Fortran's DOUBLE PRECISION.
fn number(x: f64) -> String {
    format!("{x:e}").replace('e', "D")
}
