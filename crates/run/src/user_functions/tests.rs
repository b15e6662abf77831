use super::*;
use crate::output::samples::output;
use crate::written;
use mebridge::import::user_code::Kept;
use std::fs;

const CUT_OF_TOPS: &str = "      logical function dummy_cuts(P)
      implicit none
      include 'nexternal.inc'
      include 'leshouche.inc'
      include 'run.inc'
      real*8 P(0:3,nexternal)
      integer idup(nexternal,2,1),i
      double precision user_pt
      logical is_a_j(nexternal)
      common/to_specisa/is_a_j
      dummy_cuts=.true.
      do i=3,nexternal
         if (abs(idup(i,1,1)).eq.6.and..not.is_a_j(i)) then
            if (user_pt(p(0,i)).lt.ptj) dummy_cuts=.false.
         endif
      enddo
      end
";
const HELPER: &str = "      double precision function user_pt(q)
      implicit none
      double precision q(0:3),pt
      user_pt=pt(q)
      end
";
const SCALE_OF_MASSES: &str = "      double precision function user_dynamical_scale(P)
      implicit none
      double precision P(0:3,4),pmass(4)
      common/to_mass/pmass
      user_dynamical_scale=pmass(3)+pmass(4)
      end
";

struct SampleOutput {
    folder: tempfile::TempDir,
}

impl SampleOutput {
    /// An output of u u~ > t t~ with these functions.
    fn new(functions: &str) -> SampleOutput {
        let folder = tempfile::tempdir().unwrap();
        let sample = SampleOutput { folder };
        output(sample.folder.path(), &[]);
        sample.write(
            "SubProcesses/P1_qq_ttx/nexternal.inc",
            "      integer nexternal\n      parameter (nexternal=4)\n",
        );
        sample.write(
            "Source/run.inc",
            "      real*8 ptj,ptjmax\n      common/to_auto_cuts/ptjmax,ptj\n      real*8 scalefact\n      integer \
             dynamical_scale_choice\n      logical fixed_fac_scale1,fixed_fac_scale2\n      \
             common/to_scale/scalefact,fixed_fac_scale1,\n     $   fixed_fac_scale2,dynamical_scale_choice\n",
        );
        sample.write("Source/MODEL/none.inc", "");
        sample.write("Source/PDF/none.inc", "");
        sample.write("SubProcesses/dummy_fct.f", functions);
        sample
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn source(&self) -> Source {
        Source::Output(Output::find(self.folder.path()).unwrap())
    }

    fn find(&self, files: &str, changed_files: bool) -> Result<Option<UserFunctions>> {
        self.functions(&card(files, "0"), changed_files)
    }

    /// The functions of a run with this card.
    fn functions(&self, card: &RunCard, changed_files: bool) -> Result<Option<UserFunctions>> {
        let output = Output::find(self.folder.path()).unwrap();
        let added = match changed_files {
            true => None,
            false => written::cuts_of_user(&output)?,
        };
        UserFunctions::find(&Source::Output(output), card, changed_files, added)
    }

    /// Compiles the functions for `dynamical_scale_choice`.
    fn compiled(&self, files: &str, choice: &str) -> Result<UserCode> {
        let card = card(files, choice);
        let functions = self.functions(&card, false)?.expect("functions");
        let beams = Beams::from_run_card(&card, &["nn23lo1"], functions.scale())?;
        let process = mebridge::generate("u u~ > t t~").unwrap().remove(0);
        let element = Element::new(process, true, vec![0.0, 0.0, 173.0, 173.0], 0, 0)?;
        let source = self.source();
        let directories = source.directories()?;
        let (mut codes, of_elements) = functions.compile(
            &source,
            &card,
            &beams,
            &directories,
            &[element.clone(), element],
        )?;
        assert_eq!((codes.len(), of_elements), (1, vec![Some(0); 2]));
        Ok(codes.remove(0))
    }
}

fn card(files: &str, choice: &str) -> RunCard {
    let entries = [
        (FILES, files),
        ("dynamical_scale_choice", choice),
        ("ptj", "55"),
    ];
    let entries = entries.map(|(name, value)| (name.to_owned(), value.to_owned()));
    RunCard::from_entries(entries.to_vec(), "run_card.dat", &[]).unwrap()
}

fn point(pt: f64) -> Vec<[f64; 4]> {
    let energy = 173.0_f64.hypot(pt);
    vec![
        [energy, 0.0, 0.0, energy],
        [energy, 0.0, 0.0, -energy],
        [energy, pt, 0.0, 0.0],
        [energy, -pt, 0.0, 0.0],
    ]
}

fn passes(code: &UserCode, pt: f64) -> bool {
    let kept: Kept = code.kept();
    code.passes(&mut code.memory(), &kept, &point(pt), 0.0)
        .unwrap()
}

#[test]
fn functions_of_an_output_are_run() {
    let sample = SampleOutput::new(&[CUT_OF_TOPS, HELPER, SCALE_OF_MASSES].concat());
    let code = sample.compiled("", "0").unwrap();
    assert!(!passes(&code, 54.0) && passes(&code, 56.0));
    let scale = code.scale(&mut code.memory(), &code.kept(), &point(1.0), 0.0);
    assert_eq!(scale, Ok(Some([346.0; 2])));
    assert_eq!(
        described(std::slice::from_ref(&code)),
        "; functions in Fortran: dummy_cuts, user_dynamical_scale"
    );
    // Another choice of the scale does not ask for it.
    let code = sample.compiled("", "3").unwrap();
    assert!(code.cuts() && !code.scales());
    assert_eq!(described(&[code]), "; functions in Fortran: dummy_cuts");
    assert!(sample.find("", true).unwrap().is_none());
}

/// Routines for scales as users change them: the mass of both particles for one choice, and twice that for others.
const RENORMALISATION_OF_USER: &str = "      subroutine set_ren_scale(P,rscale)
      implicit none
      include 'nexternal.inc'
      include 'run.inc'
      real*8 P(0:3,nexternal),rscale,user_mass
      if (dynamical_scale_choice.eq.0) then
         write(*,*) 'mine'
         rscale=user_mass(P)
      elseif (dynamical_scale_choice.eq.7) then
         rscale=2d0*user_mass(P)
      else
         stop
      endif
      rscale=scalefact*rscale
      end
      double precision function user_mass(P)
      implicit none
      real*8 P(0:3,4),sumdot
      user_mass=sqrt(sumdot(P(0,3),P(0,4),1d0))
      end
";
const FACTORISATION_OF_USER: &str = "      subroutine set_fac_scale(P,q2factorization)
      implicit none
      include 'nexternal.inc'
      include 'run.inc'
      real*8 P(0:3,nexternal),q2factorization(2),tempscale
      call set_ren_scale(P,tempscale)
      if(.not.fixed_fac_scale1) q2factorization(1)=tempscale**2/9d0
      if(.not.fixed_fac_scale2) q2factorization(2)=tempscale**2/9d0
      end
";

#[test]
fn changed_scales_of_an_output_are_run() {
    let sample = SampleOutput::new("");
    type Found = std::result::Result<([f64; 2], String), String>;
    let scales = |text: &str, choice: &str| -> Found {
        sample.write("SubProcesses/setscales.f", text);
        let code = sample
            .compiled("", choice)
            .map_err(|error| error.to_string())?;
        let found = code.scale(&mut code.memory(), &code.kept(), &point(1.0), 0.0);
        Ok((found?.expect("scales"), described(&[code])))
    };
    let mass = 2.0 * 173.0_f64.hypot(1.0);
    let near = |found: [f64; 2], wanted: [f64; 2]| {
        let both = found.into_iter().zip(wanted);
        for (found, wanted) in both {
            assert!((found / wanted - 1.0).abs() < 1e-12, "{found}, {wanted}");
        }
    };
    let (found, names) = scales(RENORMALISATION_OF_USER, "0").unwrap();
    near(found, [mass; 2]);
    assert_eq!(names, "; functions in Fortran: set_ren_scale");
    let both = [RENORMALISATION_OF_USER, FACTORISATION_OF_USER].concat();
    for (choice, factor) in [("0", 1.0), ("7", 2.0)] {
        let (found, names) = scales(&both, choice).unwrap();
        near(found, [factor * mass, factor * mass / 3.0]);
        assert_eq!(
            names,
            "; functions in Fortran: set_ren_scale, set_fac_scale"
        );
    }
    let refused = |text: &str, choice: &str, wanted: &str| {
        let error = scales(text, choice).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    };
    refused(&both, "-1", "is by clustering, and setscales.f was changed");
    // Where MadEvent would stop.
    refused(&both, "3", "setscales.f:12: it stops here (STOP)");
    let different = both.replacen("tempscale**2/9d0", "tempscale**2", 1);
    refused(
        &different,
        "0",
        "SET_FAC_SCALE gives both beams different scales",
    );
    let unused = format!("{both}{}", HELPER);
    refused(
        &unused,
        "0",
        "USER_PT is called by no function that is run here",
    );
    let alphas = both.replace("user_mass(P)", "alphas(91d0)");
    refused(&alphas, "0", "ALPHAS");
    assert!(sample.find("", true).unwrap().is_none());
}

/// As in MG5aMC, files of `custom_fcts` replace functions of the file before MG5aMC has changed it.
#[test]
fn files_of_the_card_replace_functions() {
    let wrong = CUT_OF_TOPS.replace(".lt.ptj", ".gt.ptj");
    let sample = SampleOutput::new(&[&wrong, HELPER].concat());
    let file = sample.write("mine.f", &[CUT_OF_TOPS, HELPER].concat());
    assert!(passes(&sample.compiled("", "3").unwrap(), 54.0));
    for name in [&*file, "mine.f"] {
        assert!(!passes(&sample.compiled(name, "3").unwrap(), 54.0));
    }
    // MG5aMC puts the copy back if the card has no files.
    sample.write(
        "SubProcesses/dummy_fct.f.orig",
        &[CUT_OF_TOPS, HELPER].concat(),
    );
    assert!(!passes(&sample.compiled("", "3").unwrap(), 54.0));
    let other = sample.write("other.f", &wrong);
    assert!(passes(&sample.compiled(&other, "3").unwrap(), 54.0));
    assert_eq!(
        written::functions_of_user(&Output::find(sample.folder.path()).unwrap()).unwrap(),
        ["DUMMY_CUTS", "USER_PT"]
    );
}

#[test]
fn what_is_not_run_is_refused() {
    let sample = SampleOutput::new(&[CUT_OF_TOPS, HELPER].concat());
    #[rustfmt::skip]
    let cases = [
        (CUT_OF_TOPS.replace("logical function", "real*8 function"),
         "does not recognise the header of DUMMY_CUTS; begin it with"),
        (HELPER.replace("user_pt", "own"), "line 1: MG5aMC takes no function OWN from custom_fcts; give it"),
        ("      subroutine get_dummy_x1(x)\n      end\n".to_owned(), "line 1: GET_DUMMY_X1 is not run here"),
        (format!("{CUT_OF_TOPS}      x=1\n"), "line 18: there are statements outside of functions"),
        (format!("{CUT_OF_TOPS}{}", HELPER.replace("user_pt", "user_other")),
         "USER_OTHER is called by no function that is run here"),
        (CUT_OF_TOPS.replace("ptj)", "ptj2)"), "PTJ2 is not declared"),
        (CUT_OF_TOPS .replace("ptj)", "ptjmax+1d0*i)") .replace("common", "call gauss(p)\n      common"),
         "mine.f:10: GAUSS is called, which is not run here"),
        // While it is tried.
        (CUT_OF_TOPS.replace("dummy_cuts=.true.", "stop"), "it stops here (STOP)"),
    ];
    for (text, expected) in cases {
        let file = sample.write("mine.f", &text);
        let error = sample.compiled(&file, "3").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = sample.compiled("none.f", "3").unwrap_err().to_string();
    assert!(
        error.contains("custom_fcts: there is no file none.f; give its whole path"),
        "{error}"
    );
    let error = sample.compiled("", "0").unwrap_err().to_string();
    assert!(
        error.contains("dynamical_scale_choice = 0 cannot be honoured"),
        "{error}"
    );
    let named = Source::find("u u~ > t t~", None, None, None).unwrap();
    let error = UserFunctions::find(&named, &card("mine.f", "3"), false, None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("custom_fcts = ['mine.f'] is for outputs of MG5aMC"),
        "{error}"
    );
    assert!(
        UserFunctions::find(&named, &card("", "3"), false, None)
            .unwrap()
            .is_none()
    );
}

/// The cuts of a version that is known by its template alone.
const CUTS: &str = "      LOGICAL FUNCTION PASSCUTS(P)
      IMPLICIT NONE
      include 'nexternal.inc'
      include 'run.inc'
      REAL*8 P(0:3,nexternal),pt
      integer i
      PASSCUTS=.TRUE.
      do i=3,nexternal
         if (p(0,i).lt.0d0) then
            passcuts=.false.
            return
         endif
      enddo
      if (xetamin.gt.0d0) then
         if (p(0,3).gt.1d9) goto 21
      endif
 21   continue
      RETURN
      END
";
const ADDED: &str = "      do i=3,nexternal
         if (pt(p(0,i)).lt.ptj) then
            passcuts=.false.
            return
         endif
      enddo
";

#[test]
fn statements_added_to_cuts_are_run() {
    let sample = SampleOutput::new("");
    let mg5 = sample.folder.path().join("mg5");
    sample.write("MGMEVersion.txt", "9.9.9\n");
    sample.write(
        "Cards/me5_configuration.txt",
        &format!("mg5_path = {}\n", mg5.display()),
    );
    sample.write("mg5/VERSION", "version = 9.9.9\n");
    sample.write("mg5/Template/LO/SubProcesses/cuts.f", CUTS);
    let with = |before: &str| CUTS.replacen(before, &format!("{ADDED}{before}"), 1);
    for before in ["      do i=3,", "      if (xetamin", " 21   cont"] {
        sample.write("SubProcesses/cuts.f", &with(before));
        let code = sample.compiled("", "3").unwrap();
        assert!(!passes(&code, 54.0) && passes(&code, 56.0), "{before}");
        assert_eq!(described(&[code]), "; functions in Fortran: passcuts");
        assert!(sample.find("", true).unwrap().is_none());
        let entries = [("xetamin", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let card = RunCard::from_entries(entries.to_vec(), "run_card.dat", &[]).unwrap();
        let found = sample.functions(&card, false);
        let wanted = "with xetamin > 0 MadEvent may jump over the statements that were added";
        match before.starts_with(" 21") {
            true => assert!(found.unwrap_err().to_string().contains(wanted)),
            false => assert!(found.unwrap().is_some()),
        }
    }
    // Both kinds of cuts.
    let other = CUT_OF_TOPS.replace(".lt.ptj", ".gt.1d2");
    sample.write("SubProcesses/dummy_fct.f", &[&other, HELPER].concat());
    let code = sample.compiled("", "3").unwrap();
    let found = [54.0, 56.0, 101.0].map(|pt| passes(&code, pt));
    assert_eq!(found, [false, true, false]);
    // One of MG5aMC's statements is changed as well.
    sample.write("SubProcesses/dummy_fct.f", "");
    let changed = with("      do i=3,").replace("lt.0d0", "lt.1d0");
    sample.write("SubProcesses/cuts.f", &changed);
    assert!(sample.find("", false).unwrap().is_none());
    let output = Output::find(sample.folder.path()).unwrap();
    let added = written::cuts_of_user(&output).unwrap();
    assert!(added.is_none());
    let error = written::check(&output, None).unwrap_err();
    assert!(
        error.to_string().contains("cuts.f (PASSCUTS, line 1)"),
        "{error}"
    );
}
