//! The Fortran that calls `SMATRIX<i>`, and stubs for the rest of MadEvent.
//!
//! The driver reads events from standard input and writes the answers into the file named by its argument. It sets
//! everything that MadEvent would set in COMMON blocks for each event, and evaluates all helicities every time.
//! Completely polarised beams are an exception: only the helicities that `SMATRIX<i>` finds good after all events are
//! evaluated, because MadEvent's channels are then those of good helicities.

use super::matrix_element::{Caller, MatrixElement};
use super::tree::Tree;
use mebridge_run::run_card;
use std::fmt::Write;

/// Run card entries on which matrix elements depend.
#[derive(Clone, Copy, Debug)]
pub struct RunCard {
    /// Widths are at least this fraction of their mass.
    pub small_width_treatment: f64,
    /// Number of widths from its mass at which a line is off shell.
    pub bw_cutoff: f64,
    /// Polarisations of the beams in per cent.
    pub polarisations: [f64; 2],
}

impl RunCard {
    /// Reads the run card of the tree, with MG5aMC's defaults for missing entries.
    pub fn read(tree: &Tree) -> RunCard {
        let text = tree.text("Cards/run_card.dat").unwrap_or("");
        let entries = run_card::parse(text);
        let value = |name: &str, default: f64| {
            let entry = entries.iter().find(|(entry, _)| entry == name);
            let value = entry.and_then(|(_, value)| value.replace(['d', 'D'], "e").parse().ok());
            value.unwrap_or(default)
        };
        RunCard {
            small_width_treatment: value("small_width_treatment", 1e-6),
            bw_cutoff: value("bwcutoff", 15.0),
            polarisations: ["polbeam1", "polbeam2"].map(|name| value(name, 0.0)),
        }
    }
}

/// Returns the program that evaluates one matrix element.
pub fn program(tree: &Tree, element: &MatrixElement, run: RunCard) -> String {
    if element.kind == Caller::Born {
        return super::born::program(tree);
    }
    let madevent = element.kind == Caller::MadEvent;
    let vector = tree.text("Source/vector.inc");
    let wholly = run.polarisations.iter().any(|x| x.abs() == 100.0);
    let mut driver = Driver {
        tree,
        element,
        run,
        madevent,
        vector: vector.is_some(),
        // The first versions with batches call it NB_PAGE, and have no IGRAPH.
        igraph: vector.is_some_and(|text| text.to_ascii_uppercase().contains("VECSIZE_MEMMAX=")),
        two_passes: madevent && wholly && element.good_helicities.is_some(),
        text: String::new(),
    };
    driver.declarations();
    driver.common_blocks();
    driver.initial_values();
    driver.events();
    driver.text
}

/// A driver that is being written.
struct Driver<'a> {
    tree: &'a Tree,
    element: &'a MatrixElement,
    run: RunCard,
    madevent: bool,
    /// Whether MadEvent requests batches of events.
    vector: bool,
    igraph: bool,
    /// Whether a first pass over the events finds the good helicities.
    two_passes: bool,
    text: String,
}

impl Driver<'_> {
    fn has(&self, file: &str) -> bool {
        self.tree.text(self.tree.element.join(file)).is_some()
    }

    fn line(&mut self, text: &str) {
        self.labelled("", text);
    }

    /// Adds a line with a label.
    fn labelled(&mut self, label: &str, text: &str) {
        let _ = writeln!(self.text, "{label:>5} {text}");
    }

    fn lines(&mut self, lines: &[&str]) {
        lines.iter().for_each(|text| self.line(text));
    }

    fn declarations(&mut self) {
        self.lines(&[
            "PROGRAM MEB_ORACLE",
            "IMPLICIT NONE",
            "INCLUDE 'nexternal.inc'",
        ]);
        for file in ["maxamps.inc", "maxconfigs.inc"] {
            if self.madevent && self.has(file) {
                self.line(&format!("INCLUDE '{file}'"));
            }
        }
        if self.vector {
            self.line("INCLUDE '../../Source/vector.inc'");
        }
        self.lines(&[
            "INCLUDE 'coupl.inc'",
            "REAL*8 P(0:3,NEXTERNAL),ANS,MEB_G,RHEL,RCOL",
            "INTEGER CHANNEL,IVEC,IHEL,ICOL,MEB_CONFIG,MEB_I",
            "CHARACTER*400 MEB_FILE",
        ]);
        if self.two_passes {
            self.line("INTEGER MEB_CALLS");
        }
        if self.element.arguments.iter().any(|name| name == "JAMP2") {
            // More flows than any process has.
            self.lines(&["REAL*8 JAMP2(0:99999)", "SAVE JAMP2"]);
        }
        self.line("COMMON/MEB_RANDOM/RHEL");
    }

    fn common_blocks(&mut self) {
        let element = self.element;
        if self.madevent {
            self.lines(&[
                "INTEGER ISUM_HEL",
                "LOGICAL MULTI_CHANNEL",
                "COMMON/TO_MATRIX/ISUM_HEL, MULTI_CHANNEL",
                "INTEGER IMIRROR,IPROC",
                "COMMON/TO_MIRROR/IMIRROR,IPROC",
                "REAL*8 POL(2)",
                "COMMON/TO_POLARIZATION/POL",
                "INTEGER NB_SPIN_STATE(2)",
                "COMMON/NB_HEL_STATE/NB_SPIN_STATE",
                "LOGICAL INIT_MODE",
                "COMMON/TO_DETERMINE_ZERO_HEL/INIT_MODE",
                "REAL*8 TMIN_FOR_CHANNEL",
                "INTEGER SDE_STRAT",
                "COMMON/TO_CHANNEL_STRAT/TMIN_FOR_CHANNEL, SDE_STRAT",
                "REAL*8 LIMHEL",
                "COMMON/TO_LIMHEL/LIMHEL",
                "LOGICAL ALLOW_HELICITY_GRID_ENTRIES",
                "COMMON/TO_ALLOW_HELICITY_GRID_ENTRIES/ALLOW_HELICITY_GRID_ENTRIES",
                "REAL*8 HEL_JACOBIAN",
                "INTEGER HEL_PICKED",
                "COMMON/HEL_PICKED/HEL_PICKED,HEL_JACOBIAN",
                "REAL*8 SMALL_WIDTH_TREATMENT",
                "COMMON/NARROW_WIDTH/SMALL_WIDTH_TREATMENT",
                "REAL*8 BWCUTOFF",
                "COMMON/TO_BWCUTOFF/BWCUTOFF",
            ]);
            if self.has("maxconfigs.inc") {
                self.lines(&[
                    "INTEGER MAPCONFIG(0:LMAXCONFIGS), ICONFIG",
                    "COMMON/TO_MCONFIGS/MAPCONFIG, ICONFIG",
                ]);
            }
            if element.channel_in_common {
                self.lines(&[
                    "INTEGER SUBDIAG(MAXSPROC),IB(2)",
                    "COMMON/TO_SUB_DIAG/SUBDIAG,IB",
                ]);
            }
            if self.igraph {
                self.lines(&["INTEGER IGRAPH(VECSIZE_MEMMAX)", "COMMON/VEC_IGRAPH/IGRAPH"]);
            }
            if let Some(good) = &element.good_helicities {
                self.line("INTEGER NCOMB");
                self.line(&format!("PARAMETER (NCOMB={})", good.count));
                self.line(&format!("INTEGER NTRY{}", good.tries));
                self.line(&format!("LOGICAL GOODHEL{}", good.good));
                self.line("COMMON/BLOCK_GOODHEL/NTRY,GOODHEL");
            }
            if element.helicity_buffer {
                self.lines(&["CHARACTER*101 HEL_BUFF", "COMMON/TO_HELICITY/HEL_BUFF"]);
            }
        }
        if element.reset {
            self.line("LOGICAL HELRESET");
            self.line(&format!("COMMON/{}HELRESET/HELRESET", element.prefix));
        }
    }

    fn initial_values(&mut self) {
        self.lines(&[
            "CALL GET_COMMAND_ARGUMENT(1,MEB_FILE)",
            "OPEN(UNIT=91,FILE=MEB_FILE,STATUS='REPLACE',RECL=4000)",
        ]);
        if self.madevent {
            let real = |x: f64| format!("{x:e}").replace('e', "D");
            let width = real(self.run.small_width_treatment);
            self.line(&format!("SMALL_WIDTH_TREATMENT={width}"));
            self.line(&format!("BWCUTOFF={}", real(self.run.bw_cutoff)));
            self.lines(&[
                "ISUM_HEL=0",
                "INIT_MODE=.FALSE.",
                "IMIRROR=1",
                "SDE_STRAT=1",
                "TMIN_FOR_CHANNEL=-1D0",
                "LIMHEL=0D0",
                "ALLOW_HELICITY_GRID_ENTRIES=.FALSE.",
                "HEL_PICKED=0",
                "HEL_JACOBIAN=1D0",
            ]);
            for (i, per_cent) in (1..).zip(self.run.polarisations) {
                let pol = match per_cent {
                    0.0 => 1.0,
                    x => (1.0 + x.abs() / 100.0).copysign(x),
                };
                self.line(&format!("POL({i})={pol:.17e}").replace('e', "D"));
            }
            // In other versions it is in a DATA statement of the matrix element.
            if let Some(states) = spin_states(self.tree) {
                for (i, states) in (1..).zip(states) {
                    self.line(&format!("NB_SPIN_STATE({i})={states}"));
                }
            }
            let number = match &*self.element.number {
                "" => "1",
                number => number,
            };
            self.line(&format!("IPROC={number}"));
        }
        if self.two_passes {
            self.lines(&["MEB_CALLS=0", "GOODHEL=.FALSE."]);
        }
        self.line("CALL SETPARA('param_card.dat')");
        self.line("IVEC=1");
    }

    /// The loop over events, and the end.
    fn events(&mut self) {
        let element = self.element;
        self.labelled(
            "10",
            "READ(*,*,END=20) MEB_G,RHEL,RCOL,CHANNEL,MEB_CONFIG,P",
        );
        self.line("G=MEB_G");
        let vector = if self.vector { "IVEC" } else { "" };
        self.line(&format!("CALL UPDATE_AS_PARAM({vector})"));
        self.lines(&["ANS=0D0", "IHEL=0", "ICOL=0"]);
        if self.madevent {
            self.line("MULTI_CHANNEL=CHANNEL.NE.0");
            if self.has("maxconfigs.inc") {
                self.line("ICONFIG=MAX(MEB_CONFIG,1)");
            }
            if self.igraph {
                self.line("IGRAPH(IVEC)=0");
            }
            if element.channel_in_common {
                self.lines(&["DO MEB_I=1,MAXSPROC", "SUBDIAG(MEB_I)=CHANNEL", "ENDDO"]);
            }
            if self.two_passes {
                // Negative once good helicities are known.
                self.lines(&["NTRY=0", "IF(MEB_CALLS.LT.0) NTRY=100000"]);
            } else if element.good_helicities.is_some() {
                self.lines(&["NTRY=0", "GOODHEL=.TRUE."]);
            }
        }
        if element.reset {
            self.line("HELRESET=.TRUE.");
        }
        let arguments = element.arguments.join(",").replace("ANS_SUMMED", "ANS");
        self.line(&format!("CALL {}({arguments})", element.entry()));
        if self.two_passes {
            self.lines(&[
                "IF(MEB_CALLS.GE.0) THEN",
                "MEB_CALLS=MEB_CALLS+1",
                "GOTO 10",
                "ENDIF",
            ]);
        }
        self.line(match element.helicity_buffer {
            true => "WRITE(91,'(ES27.17E4,2I8,1X,A)') ANS,IHEL,ICOL,HEL_BUFF",
            false => "WRITE(91,'(ES27.17E4,2I8)') ANS,IHEL,ICOL",
        });
        self.line("GOTO 10");
        self.labelled("20", "CONTINUE");
        if self.two_passes {
            // SMATRIX<i> looks for good helicities in its first calls, for any number of events.
            self.lines(&[
                "IF(MEB_CALLS.GT.0) THEN",
                "IF(MEB_CALLS.GT.100) MEB_CALLS=-1",
                "REWIND(5)",
                "GOTO 10",
                "ENDIF",
            ]);
        }
        self.lines(&["CLOSE(91)", "END"]);
    }
}

/// Returns NB_SPIN_STATE, which MadEvent's `auto_dsig.f` sets in a DATA statement.
fn spin_states(tree: &Tree) -> Option<[String; 2]> {
    let text = tree.text(tree.element.join("auto_dsig.f"))?;
    let values = super::statements::read(text).into_iter().find_map(|s| {
        let values = s.text.strip_prefix("DATANB_SPIN_STATE/")?;
        Some(values.strip_suffix('/')?.to_owned())
    })?;
    let (first, second) = values.split_once(',')?;
    Some([first.into(), second.into()])
}

/// Returns the program that prints the masses of the legs, if `pmass.inc` defines them.
pub fn masses(tree: &Tree) -> Option<String> {
    tree.text(tree.element.join("pmass.inc"))?;
    let vector = match tree.text("Source/vector.inc") {
        Some(_) => "      INCLUDE '../../Source/vector.inc'\n",
        None => "",
    };
    Some(format!(
        "      PROGRAM MEB_MASSES
      IMPLICIT NONE
      INCLUDE 'nexternal.inc'
{vector}      INCLUDE 'coupl.inc'
      REAL*8 ZERO,PMASS(NEXTERNAL)
      PARAMETER (ZERO=0D0)
      INTEGER MEB_I
      CHARACTER*400 MEB_FILE
      CALL GET_COMMAND_ARGUMENT(1,MEB_FILE)
      OPEN(UNIT=91,FILE=MEB_FILE,STATUS='REPLACE')
      CALL SETPARA('param_card.dat')
      INCLUDE 'pmass.inc'
      WRITE(91,'(I8)') NINCOMING
      DO MEB_I=1,NEXTERNAL
        WRITE(91,'(ES27.17E4)') PMASS(MEB_I)
      ENDDO
      CLOSE(91)
      END
"
    ))
}

/// Returns stubs for routines of MadEvent that a matrix element calls.
pub fn stand_ins() -> &'static str {
    "      SUBROUTINE RANMAR(R)
      REAL*8 R,RHEL
      COMMON/MEB_RANDOM/RHEL
      R=RHEL
      END
C     Single precision, as in Source/ran1.f; below 1.
      REAL FUNCTION XRAN1(IDUM)
      INTEGER IDUM
      REAL*8 RHEL
      COMMON/MEB_RANDOM/RHEL
      XRAN1=MIN(REAL(RHEL),1-EPSILON(1.))
      END
      REAL*8 FUNCTION GET_CHANNEL_CUT(P,CONFIG)
      REAL*8 P(*)
      INTEGER CONFIG
      GET_CHANNEL_CUT=1D0
      END
      SUBROUTINE RESET_CUMULATIVE_VARIABLE()
      END
C     Of aMC@NLO: where a combination of orders stands in AMP_SPLIT, which nothing here reads.
      INTEGER FUNCTION ORDERS_TO_AMP_SPLIT_POS(ORDERS)
      INTEGER ORDERS(*)
      ORDERS_TO_AMP_SPLIT_POS=1
      END
"
}

/// Returns a stub for the module that MadEvent's matrix elements use; it does not sample helicities.
pub fn sampler() -> &'static str {
    "      MODULE DISCRETESAMPLER
      TYPE SAMPLEDDIMENSION
        INTEGER N_TOT_ENTRIES
      END TYPE SAMPLEDDIMENSION
      TYPE SAMPLINGGRID
        INTEGER NOTHING
      END TYPE SAMPLINGGRID
      TYPE(SAMPLINGGRID) REF_GRID
      CONTAINS
      INTEGER FUNCTION DS_GET_DIM_STATUS(NAME)
      CHARACTER*(*) NAME
      DS_GET_DIM_STATUS=-1
      END FUNCTION DS_GET_DIM_STATUS
      SUBROUTINE DS_ADD_ENTRY(NAME,I,T)
      CHARACTER*(*) NAME
      INTEGER I
      REAL*8 T
      END SUBROUTINE DS_ADD_ENTRY
      FUNCTION DS_GET_DIMENSION(GRID,NAME)
      TYPE(SAMPLINGGRID) GRID
      CHARACTER*(*) NAME
      TYPE(SAMPLEDDIMENSION) DS_GET_DIMENSION
      DS_GET_DIMENSION%N_TOT_ENTRIES=0
      END FUNCTION DS_GET_DIMENSION
      SUBROUTINE DS_UPDATE_GRID(NAME)
      CHARACTER*(*) NAME
      END SUBROUTINE DS_UPDATE_GRID
      SUBROUTINE DS_SET_GRID_MODE(NAME,MODE)
      CHARACTER*(*) NAME,MODE
      END SUBROUTINE DS_SET_GRID_MODE
      END MODULE DISCRETESAMPLER
"
}

/// Returns stubs for routines of MadEvent that are named but must not be called here, except for counters, which the
/// plugin's outputs have up to 3.5.
pub fn absent(names: &[String]) -> String {
    let mut text = String::new();
    for name in names {
        if name.to_ascii_uppercase().starts_with("COUNTERS_") {
            let _ = write!(text, "      SUBROUTINE {name}()\n      END\n");
            continue;
        }
        let _ = write!(
            text,
            "      SUBROUTINE {name}()
      WRITE(0,*) 'calls {name}, which is a routine of MadEvent'
      STOP 3
      END
"
        );
    }
    text
}

/// Returns a colour-flow choice that is made only in channels: without channels `SMATRIX<i>` of 3.5 does not set JAMP2,
/// on which the choice depends.
pub fn only_in_channels(choice: &str) -> String {
    let renamed = |line: &str| {
        let line = line.replace("SELECT_COLOR(", "MEB_COLOR(");
        line.replace("select_color(", "meb_color(") + "\n"
    };
    let mut text: String = choice.lines().map(renamed).collect();
    text.push_str(
        "      SUBROUTINE SELECT_COLOR(RCOL,JAMP2,ICONFIG,IPROC,ICOL)
      REAL*8 RCOL,JAMP2(*)
      INTEGER ICONFIG,IPROC,ICOL
      INTEGER ISUM_HEL
      LOGICAL MULTI_CHANNEL
      COMMON/TO_MATRIX/ISUM_HEL, MULTI_CHANNEL
      ICOL=0
      IF(MULTI_CHANNEL) CALL MEB_COLOR(RCOL,JAMP2,ICONFIG,IPROC,ICOL)
      END
",
    );
    text
}

/// Returns the directory's own choice of colour flows: the lines of `SELECT_COLOR` in `auto_dsig.f`. `None` if it is
/// elsewhere, or has other arguments.
pub fn color_choice(tree: &Tree) -> Option<String> {
    let text = tree.text(tree.element.join("auto_dsig.f"))?;
    let statements = super::statements::read(text);
    let first = statements
        .iter()
        .position(|s| s.text.starts_with("SUBROUTINESELECT_COLOR("))?;
    let last = statements[first..].iter().find(|s| s.text == "END")?;
    let lines = statements[first].lines.start..last.lines.end;
    let lines = text.lines().skip(lines.start).take(lines.len());
    Some(lines.map(|line| format!("{line}\n")).collect())
}
