//! Functions that users write in Fortran for MadEvent.

use mebridge::Result;
use mebridge::import::user_code::{
    AddedCuts, CUT, FortranNumber, FortranText, PASSCUTS, SCALE, UserCode, UserCodeContext,
    UserScale, added_to_cuts, common_blocks, statements_of_cuts,
};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A program around the statements of a function of two incoming and two outgoing legs.
fn cut(body: &str) -> String {
    format!(
        "      logical function dummy_cuts(P)\n      implicit none\n      integer nexternal\n      parameter (nexternal=4)\n\
         \x20     double precision P(0:3,nexternal)\n{body}      end\n"
    )
}

fn compiled(text: &str) -> Result<UserCode> {
    compiled_with(text, &surroundings())
}

fn compiled_with(text: &str, surroundings: &UserCodeContext) -> Result<UserCode> {
    let file = FortranText {
        path: PathBuf::from("mine.f"),
        text: text.as_bytes().to_vec(),
        without: SortedSet::new(),
        left_out: SortedSet::new(),
    };
    let [cuts, scales] =
        [CUT, SCALE].map(|name| text.to_uppercase().contains(&format!("FUNCTION {name}")));
    let scales = scales.then_some(UserScale::Function);
    let cuts: &[&str] = if cuts { &[CUT] } else { &[] };
    UserCode::compile(&[file], cuts, scales, surroundings)
}

fn surroundings() -> UserCodeContext {
    UserCodeContext {
        legs: 4,
        ..UserCodeContext::default()
    }
}

/// Two outgoing particles back to back, with this transverse momentum and momentum along z, GeV.
fn point(pt: f64, along: f64) -> Vec<[f64; 4]> {
    let energy = pt.hypot(along);
    vec![
        [energy, 0.0, 0.0, energy],
        [energy, 0.0, 0.0, -energy],
        [energy, pt, 0.0, along],
        [energy, -pt, 0.0, -along],
    ]
}

fn passes(code: &UserCode, point: &[[f64; 4]]) -> std::result::Result<bool, String> {
    code.passes(&mut code.memory(), &code.kept(), point, 0.5)
}

/// What a body makes of `x`, a local variable in double precision, at a point with pt 30 and pz 40.
fn value(body: &str) -> std::result::Result<f64, String> {
    let text = format!(
        "      double precision function user_dynamical_scale(P)\n      implicit none\n      double precision P(0:3,4), x, y(3)\n\
         \x20     integer i,j,n(2)\n      real s\n      logical l\n      double precision pt,rap,r2,sumdot,dot,et,phi,eta,theta,rho\n\
         \x20     double precision delta_phi,ptdot,rap2,threedot\n{body}      user_dynamical_scale=x\n      end\n"
    );
    let code = compiled(&text).map_err(|error| error.to_string())?;
    let found = code.scale(&mut code.memory(), &code.kept(), &point(30.0, 40.0), 0.5)?;
    let [one, other] = found.expect("there is a scale");
    assert_eq!(one, other);
    Ok(one)
}

#[test]
fn arithmetic_is_that_of_fortran() {
    for (body, expected) in [
        ("      x=7/2+1d0\n", 4.0),
        ("      x=2**3**2\n", 512.0),
        ("      x=-2d0**2+10\n", 6.0),
        ("      x=1.0/3.0\n", f64::from(1.0_f32 / 3.0)),
        ("      x=0.1\n", f64::from(0.1_f32)),
        ("      s=0.1d0\n      x=s*s\n", f64::from(0.1_f32 * 0.1_f32)),
        ("      x=1d0/3\n", 1.0 / 3.0),
        ("      i=2.9d0\n      x=i\n", 2.0),
        ("      x=nint(2.5d0)+int(-2.5d0)+mod(7,3)\n", 2.0),
        ("      x=max(1d0,2d0,-3d0)+min(4,5)\n", 6.0),
        ("      x=sign(3d0,-0.5d0)+10\n", 7.0),
        ("      x=sqrt(16d0)+dabs(-1d0)+dble(2)\n", 7.0),
        ("      x=atan2(0d0,1d0)+1\n", 1.0),
        ("      y=2d0\n      y(2)=3\n      x=sum(y)\n", 7.0),
        ("      y(1:2)=p(1:2,3)+1\n      x=y(1)+y(2)\n", 32.0),
        (
            "      x=maxval(p(1:3,3))+dot_product(p(1:3,3),p(1:3,3))\n",
            2540.0,
        ),
        (
            "      y=(p(1:3,3)-p(1:3,4))**2\n      x=sqrt(sum(y))\n",
            100.0,
        ),
        ("      n(1)=1\n      n(2)=n(1)+4\n      x=n(2)\n", 5.0),
    ] {
        assert_eq!(value(body), Ok(expected), "{body}");
    }
}

#[test]
fn statements_are_run_in_order() {
    for (body, expected) in [
        (
            "      x=1\n      do i=1,10,3\n         x=x+i\n      enddo\n      x=x+i\n",
            36.0,
        ),
        (
            "      x=1\n      do i=3,1,-1\n         if (i.eq.2) cycle\n         x=x+i\n      enddo\n",
            5.0,
        ),
        (
            "      x=1\n      do i=1,9\n         if (i.gt.4) exit\n         x=x+1\n      enddo\n",
            5.0,
        ),
        (
            "      x=1\n      do while (x.lt.50)\n         x=2*x\n      enddo\n",
            64.0,
        ),
        (
            "      x=1\n      if (x.gt.2) then\n       x=3\n      elseif (x.eq.1) then\n       x=4\n      else\n       x=5\n      endif\n",
            4.0,
        ),
        ("      x=1\n      goto 10\n      x=2\n   10 continue\n", 1.0),
        ("      x=1\n   20 x=x+1\n      if (x.lt.5) goto 20\n", 5.0),
        (
            "      x=1\n      write(*,*) 'x is ',x\n      print *,x\n",
            1.0,
        ),
        (
            "      x=3\n      l=x.gt.2.and..not.(x.lt.1.or.x.eq.9)\n      if (l) x=4\n",
            4.0,
        ),
        // The right side is not evaluated.
        (
            "      x=3\n      i=5\n      if (i.le.4.and.p(0,i).gt.0) x=4\n",
            3.0,
        ),
    ] {
        assert_eq!(value(body), Ok(expected), "{body}");
    }
}

#[test]
fn functions_of_momenta_are_those_of_madevent() {
    let rapidity = 0.5 * (90.0_f64 / 10.0).ln();
    for (body, expected) in [
        ("      x=pt(p(0,3))\n", 30.0),
        ("      x=pt(p(:,3))\n", 30.0),
        ("      x=rap(p(0,3))\n", rapidity + 0.5),
        ("      x=rap2(p(0,3))\n", rapidity),
        ("      x=eta(p(0,3))\n", rapidity),
        ("      x=et(p(0,3))\n", 30.0),
        ("      x=rho(p(0,3))\n", 50.0),
        ("      x=dot(p(0,3),p(0,4))\n", 5000.0),
        ("      x=threedot(p(0,3),p(0,3))\n", 2500.0),
        ("      x=sumdot(p(0,3),p(0,4),1d0)\n", 10_000.0),
        ("      x=sumdot(p(0,1),p(0,3),-1d0)+1e4\n", 9000.0),
        ("      x=ptdot(p(0,3),p(0,3))\n", 3600.0),
        ("      x=phi(p(0,4))+1d-9\n", std::f64::consts::PI),
        (
            "      x=delta_phi(p(0,3),p(0,4))\n",
            (-0.999_999_99_f64).acos(),
        ),
        (
            "      x=dsqrt(r2(p(0,3),p(0,4)))\n",
            (-0.999_999_99_f64).acos().hypot(2.0 * rapidity),
        ),
    ] {
        let found = value(body).unwrap();
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{body}: {found}, {expected}"
        );
    }
}

#[test]
fn cuts_call_functions_of_the_same_files() {
    let text = cut(
        "      integer i\n      double precision mine,x\n      dummy_cuts=.true.\n      do i=3,nexternal\n\
         \x20        if (mine(p(0,i)).lt.25d0) dummy_cuts=.false.\n      enddo\n      x=1\n      call twice(x,i)\n\
         \x20     if (x.ne.2) dummy_cuts=.false.\n",
    ) + "      double precision function mine(q)\n      implicit none\n      double precision q(0:3),pt\n      mine=pt(q)\n      end\n\
         \x20     subroutine twice(y,k)\n      implicit none\n      integer k\n      double precision y\n      y=2*y\n      return\n      end\n";
    let code = compiled(&text).unwrap();
    assert_eq!(passes(&code, &point(30.0, 5.0)), Ok(true));
    assert_eq!(passes(&code, &point(20.0, 5.0)), Ok(false));
    let names: Vec<&str> = code.routines().collect();
    assert_eq!(names, ["DUMMY_CUTS", "MINE", "TWICE"]);
}

#[test]
fn included_files_have_codes_and_masses() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "codes.inc",
        "      data (idup(i,1,1),i=1,4)/21,21,6,-6/\n      data (idup(i,2,1),i=1,4)/4*1/\n",
    );
    write(
        "block.inc",
        "      double precision ebeam(2),scale\n      common/beams/scale,ebeam\n",
    );
    let text = cut(
        "      integer i,idup(4,2,1)\n      include 'codes.inc'\n      include 'block.inc'\n      logical is_b(4)\n\
         \x20     common/kinds/is_b\n      dummy_cuts=.false.\n      do i=1,4\n\
         \x20        if (abs(idup(i,1,1)).eq.6.and.is_b(i).and.p(0,i).lt.ebeam(2)) dummy_cuts=.true.\n      enddo\n",
    );
    let logical = [false, false, true, true]
        .map(FortranNumber::Logical)
        .to_vec();
    let reals = vec![FortranNumber::Real(10.0), FortranNumber::Real(40.0)];
    let mut surroundings = UserCodeContext {
        include_folders: vec![folder.path().to_owned()],
        commons: SortedMap::from([
            (("KINDS".to_owned(), "IS_B".to_owned()), (Some(0), logical)),
            (("BEAMS".to_owned(), "EBEAM".to_owned()), (None, reals)),
        ]),
        blocks: SortedSet::from(["BEAMS".to_owned(), "KINDS".to_owned()]),
        ..surroundings()
    };
    let code = compiled_with(&text, &surroundings).unwrap();
    assert_eq!(passes(&code, &point(30.0, 0.0)), Ok(true));
    assert_eq!(passes(&code, &point(50.0, 0.0)), Ok(false));
    // MadEvent sets it, to what is not known here.
    let other = text.replace("ebeam(2)) dummy", "scale) dummy");
    let error = passes(
        &compiled_with(&other, &surroundings).unwrap(),
        &point(30.0, 0.0),
    );
    assert!(
        error
            .unwrap_err()
            .ends_with("SCALE of COMMON /BEAMS/ has no value here")
    );
    let other = text.replace("dummy_cuts=.false.", "scale=2");
    let error = passes(
        &compiled_with(&other, &surroundings).unwrap(),
        &point(30.0, 0.0),
    );
    assert!(
        error
            .unwrap_err()
            .ends_with("SCALE of COMMON /BEAMS/ is changed, which MadEvent uses")
    );
    // At another place of a block, a name may be another variable of MadEvent.
    surroundings
        .commons
        .values_mut()
        .for_each(|(place, _)| *place = Some(3));
    let error = passes(
        &compiled_with(&text, &surroundings).unwrap(),
        &point(30.0, 0.0),
    );
    assert!(
        error
            .unwrap_err()
            .ends_with("IS_B of COMMON /KINDS/ has no value here")
    );
}

/// What a first call sets once is the same in all calls; what depends on the point is an error.
#[test]
fn what_lives_from_call_to_call_does_not_depend_on_the_order() {
    let text = cut(
        "      logical first\n      integer n\n      double precision y\n      save n,y\n      data first/.true./\n      if (first) then\n\
         \x20        n=3\n         first=.false.\n      endif\n      y=p(1,n)\n      dummy_cuts=y.gt.25\n",
    );
    let settled = |text: &str| {
        let mut code = compiled(text).unwrap();
        code.settle([&point(30.0, 1.0), &point(40.0, 2.0)])
            .map(|()| code)
    };
    let code = settled(&text).unwrap();
    let (mut memory, kept) = (code.memory(), code.kept());
    for (pt, expected) in [(30.0, true), (20.0, false), (30.0, true)] {
        let found = code.passes(&mut memory, &kept, &point(pt, 0.0), 0.0);
        assert_eq!(found, Ok(expected));
    }
    for (changed, name) in [
        (
            text.replace("y=p(1,n)", "if (y.lt.1d3) y=p(1,n)"),
            "Y of DUMMY_CUTS",
        ),
        (
            text.replace("n=3\n", "n=3\n      y=p(1,3)\n")
                .replace("y=p(1,n)\n", "\n"),
            "Y of DUMMY_CUTS",
        ),
        (
            text.replace("y=p(1,n)", "n=n+1\n      y=p(1,3)"),
            "N of DUMMY_CUTS",
        ),
        (
            text.replace("data first", "common/own/y\n      data first")
                .replace("save n,y", "save n")
                .replace("y=p(1,n)\n", "if (n.eq.2) y=p(1,n)\n"),
            "mine.f:17: Y is used, and nothing has set it",
        ),
    ] {
        let code = settled(&changed);
        let error = match code {
            Err(error) => error,
            Ok(code) => {
                let (mut memory, kept) = (code.memory(), code.kept());
                let calls = [30.0, 20.0, 35.0]
                    .map(|pt| code.passes(&mut memory, &kept, &point(pt, 0.0), 0.0));
                calls
                    .into_iter()
                    .find_map(std::result::Result::err)
                    .expect("an error")
            }
        };
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn what_is_not_run_is_refused_by_file_and_line() {
    #[rustfmt::skip]
    let cases = [
        ("      x=gauss(1)\n", "mine.f:9: the function GAUSS is not known here"),
        ("      call boost(p)\n", "mine.f:9: BOOST is called, which is not run here"),
        ("      read(*,*) x\n", "mine.f:9: cannot read `READ(*,*)X`, which is not run here"),
        ("      select case (i)\n", "mine.f:9: cannot read `SELECTCASE(I)`, which is not run here"),
        ("      do 10 i=1,3\n   10 enddo\n",
         "mine.f:9: a loop without a counter, or one that ends at a label, is not run here"),
        ("      x=(1d0,2d0)\n", "mine.f:9: a COMPLEX number, which is not run here"),
        ("      x=unknown\n", "mine.f:9: UNKNOWN is not declared"),
        ("      l=x\n", "mine.f:9: a LOGICAL and a number"),
        ("      if (x) i=1\n", "mine.f:9: a DOUBLE PRECISION number where a LOGICAL is needed"),
        ("      x=pt(p(0,3),p(0,4))\n", "mine.f:9: PT takes 1 arguments"),
        ("      x=pt(3d0)\n", "mine.f:9: PT takes an array, and gets a number"),
        ("      x=p(3)\n", "mine.f:9: P has 2 dimensions, and is used with 1"),
        ("      x=y\n", "mine.f:9: Y has 1 dimensions, and is used with 0"),
        ("      y=p(:,3)\n", "mine.f:9: 3 elements of Y are set to 4 values"),
        ("      x=y(5)+99999999999\n", "mine.f:9: the INTEGER 99999999999 is too large"),
        ("      include 'none.inc'\n", "mine.f:9: there is no file none.inc"),
        ("      x=sqrt(i)\n", "mine.f:9: SQRT of an INTEGER"),
        // While it runs.
        ("      x=y(5)\n", "mine.f:9: element 5 is outside of the array Y"),
        ("      x=p(0,5)\n", "mine.f:9: element 5 is outside of the array P"),
        ("      x=pt(p(3,4))\n", "mine.f:9: a momentum has four components"),
        ("      x=y(1)\n", "mine.f:9: Y is used, and nothing has set it"),
        ("      p(0,3)=1\n", "mine.f:9: P is changed, which MadEvent uses"),
        ("      i=2147483647\n      i=i+1\n", "mine.f:10: an INTEGER overflows"),
        ("      i=0\n      j=1/i\n", "mine.f:10: an INTEGER is divided by 0"),
        ("      stop\n", "mine.f:9: it stops here (STOP)"),
        ("      x=1\n      do while (x.gt.0)\n      enddo\n", "mine.f:10: it runs more than 1000000 statements"),
        ("      i=1\n", "mine.f:10: X is used, and nothing has set it"),
        ("      x=-1\n", "USER_DYNAMICAL_SCALE is -1: a scale must be positive and finite"),
    ];
    for (body, expected) in cases {
        let error = value(body).unwrap_err();
        assert_eq!(error, expected, "{body}");
    }
    let error = compiled(
        "      double precision function dummy_cuts(P)\n      double precision P(0:3,4)\n      end\n",
    );
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "mine.f:1: DUMMY_CUTS must be a LOGICAL FUNCTION of P(0:3,NEXTERNAL)"
    );
    let text = cut("      double precision a\n      dummy_cuts=a(p).gt.1\n")
        + "      double precision function a(p)\n      double precision p(0:3,4),a2\n      a=a2(p)\n      end\n"
        + "      double precision function a2(p)\n      double precision p(0:3,4),a\n      a2=a(p)\n      end\n";
    let error = compiled(&text).unwrap_err().to_string();
    assert!(error.contains("A calls itself"), "{error}");
    let error = UserCode::compile(&[], &[CUT], None, &surroundings()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("there is no function DUMMY_CUTS"),
        "{error}"
    );
}

#[test]
fn blocks_are_found_in_a_text() {
    let found = common_blocks(
        "x.f".as_ref(),
        b"      common/a/x,y,/b/z\n      COMMON /C/ W\n      x=1\n",
    );
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["A", "B", "C"]);
}

/// A routine like MadEvent's, with a place `!N` for each kind of addition.
const CUTS: &str = "      LOGICAL FUNCTION PASSCUTS(P, VECSIZE_USED)
      IMPLICIT NONE
      integer nexternal
      parameter (nexternal=4)
      REAL*8 P(0:3,nexternal)
      integer VECSIZE_USED
      integer i,j
      logical cutsdone,cutspassed,notgood
      common/to_cutsdone/cutsdone,cutspassed
      real*8 tmp,pt,xetamin
      external pt
      common/to_min_max_cuts/xetamin
!1
      PASSCUTS=.TRUE.
      IF (CUTSDONE) THEN
         PASSCUTS=CUTSPASSED
         RETURN
      ENDIF
!2
      do i=3,nexternal
         tmp=pt(p(0,i))
         notgood=tmp.lt.1d-3
         if (notgood) then
            passcuts=.false.
            return
         endif
      enddo
      if (tmp.gt.1d9) goto 21
!3
      do i=3,nexternal
         do j=0,3
            if (p(j,i).gt.1d30) then
               passcuts=.false.
               return
            endif
         enddo
      enddo
 21   continue
      if (xetamin.gt.0d0) then
         if (p(0,3).lt.1d-5) then
            tmp=0d0
         else
            tmp=1d0
         endif
         if (tmp.lt.1d-5) goto 22
      endif
!4
 22   continue
      CUTSPASSED=.TRUE.
!5
      RETURN
      END
";

/// What is added to these cuts at some places, and a file with it.
fn added(places: &[(u32, &str)], functions: &str) -> (String, Result<Option<AddedCuts>>) {
    let text = CUTS.lines().map(|line| {
        let place = line
            .strip_prefix('!')
            .and_then(|number| number.parse().ok());
        let added = places.iter().filter(|(number, _)| Some(*number) == place);
        let added: String = added.map(|(_, text)| *text).collect();
        if place.is_some() {
            added
        } else {
            format!("{line}\n")
        }
    });
    let text = text.collect::<String>() + functions;
    let path = Path::new("cuts.f");
    let known = statements_of_cuts(path, CUTS.as_bytes());
    let whole = known.concat();
    let found = added_to_cuts(
        path,
        text.as_bytes(),
        &|of| known.iter().any(|one| one == of),
        &|of| of == whole,
    );
    (text, found)
}

fn passes_with(
    places: &[(u32, &str)],
    functions: &str,
    pt: f64,
) -> std::result::Result<bool, String> {
    let (text, found) = added(places, functions);
    let found = found.map_err(|error| error.to_string())?;
    let AddedCuts { file, not_positive } = found.ok_or("changed")?;
    let may_be_jumped_over = places.iter().any(|(place, _)| *place == 4);
    let wanted = may_be_jumped_over.then(|| "XETAMIN".to_owned());
    assert_eq!(not_positive, wanted.into_iter().collect());
    assert_eq!(file.text, text.as_bytes());
    let code = UserCode::compile(&[file], &[PASSCUTS], None, &surroundings());
    let mut code = code.map_err(|error| error.to_string())?;
    assert_eq!((code.cuts(), code.called()), (true, vec![PASSCUTS]));
    code.settle([&point(30.0, 1.0), &point(40.0, 2.0)])?;
    code.passes(&mut code.memory(), &code.kept(), &point(pt, 10.0), 0.0)
}

const ABOVE_50: &str = "      do i=3,4\n         if (pt(p(0,i)).lt.50d0) then\n            passcuts=.false.\n            \
                        return\n         endif\n      enddo\n";

#[test]
fn statements_that_are_added_to_cuts_are_run() {
    let own = "      double precision least\n      parameter (least=50d0)\n";
    let by_function =
        "      if (.not.above(p)) then\n         passcuts=.false.\n         return\n      endif\n";
    let function = "      logical function above(q)\n      real*8 q(0:3,4),pt\n      above=pt(q(0,3)).ge.50d0\n      end\n";
    for (places, functions) in [
        (&[(2, ABOVE_50)][..], ""),
        (&[(4, ABOVE_50)], ""),
        // A block of statements of which MG5aMC writes each one, too.
        (&[(1, own), (4, &*ABOVE_50.replace("50d0", "least"))], ""),
        (&[(1, "      logical above\n"), (4, by_function)], function),
        (
            &[(
                4,
                "      if (pt(p(0,3)).gt.50d0) goto 77\n      passcuts=.false.\n      return\n 77   continue\n",
            )],
            "",
        ),
    ] {
        let found = [49.0, 51.0].map(|pt| passes_with(places, functions, pt));
        assert_eq!(found, [Ok(false), Ok(true)], "{places:?}");
    }
    // Nothing is added, or the routine is missing.
    assert_eq!(passes_with(&[], "", 1.0), Ok(true));
    let found = added_to_cuts(Path::new("cuts.f"), b"      end\n", &|_| true, &|_| true);
    assert_eq!(found.unwrap(), None);
}

#[test]
fn what_cannot_be_added_to_cuts_is_refused() {
    #[rustfmt::skip]
    let cases = [
        (2, "      passcuts=.true.\n", "changed"),
        (2, "      if (p(0,3).gt.1d0) then\n", "changed"),
        (3, ABOVE_50, "cuts.f:27: it is added where MadEvent may jump over it, to the label 21"),
        (5, ABOVE_50, "is added after MadEvent has passed the point"),
        (4, "      if (tmp.gt.5d0) passcuts=.false.\n", "TMP is set by MadEvent's statements of PASSCUTS"),
        (2, "      tmp=1d0\n", "TMP is changed, which MadEvent's statements of PASSCUTS use"),
        (2, "      call sort(notgood)\n", "NOTGOOD is changed"),
        (1, "      data tmp/1d0/\n", "TMP is declared, which"),
        (1, "      save\n", "a SAVE of all variables"),
        (1, "      include 'mine.inc'\n", "an INCLUDE of mine.inc"),
        (4, "      if (pt(p(0,3)).gt.1d0) return\n", "PASSCUTS returns .TRUE. from a statement that was added"),
        (4, "      passcuts=pt(p(0,3)).lt.1d0\n", "PASSCUTS is .FALSE. after the statements that were added"),
        (4, "      if (i.gt.3) passcuts=.false.\n", "I is set by MadEvent's statements"),
        (2, "      cutsdone=.false.\n", "CUTSDONE is changed"),
        (4, "      p(0,3)=1d0\n", "P is changed, which MadEvent uses"),
        (4, "      goto 21\n", "there is no label 21"),
    ];
    for (place, text, wanted) in cases {
        let error = passes_with(&[(place, text)], "", 60.0).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    // A statement of MG5aMC is left out, or another one is in a block of it.
    for (from, to) in [
        ("      if (tmp.gt.1d9) goto 21\n", ""),
        (
            "         notgood=tmp.lt.1d-3\n",
            "         notgood=tmp.lt.1d-3\n         tmp=2d0*tmp\n",
        ),
        ("1d-3", "2d-3"),
    ] {
        let text = CUTS.replace(from, to);
        let known = statements_of_cuts(Path::new("cuts.f"), CUTS.as_bytes());
        let is_known = |of: &[u8]| known.iter().any(|one| one == of);
        let whole = known.concat();
        let found = added_to_cuts(Path::new("cuts.f"), text.as_bytes(), &is_known, &|of| {
            of == whole
        });
        assert_eq!(found.unwrap(), None, "{to}");
    }
}
