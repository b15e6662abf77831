//! Cuts and scales that users write in Fortran.

use mebridge::event_generator::{ElementRequest, EventGenerator, Request};
use mebridge::import::user_code::{CUT, FortranText, SCALE, UserCode, UserCodeContext, UserScale};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::integrand::{Failure, Selection};
use mebridge_sampler::rounds::Round;
use mebridge_sampler::survey::SurveySettings;
use mebridge_support::sorted::SortedSet;
use std::sync::Arc;

const EVENTS: u64 = 2000;
const FUNCTIONS: &str = "
      logical function dummy_cuts(P)
      implicit none
      double precision P(0:3,5),pt,rap
      integer i
      logical first
      double precision least
      save least
      data first/.true./
      if (first) then
         least=60d0
         first=.false.
      endif
      dummy_cuts=.true.
      do i=3,4
         if (pt(p(0,i)).lt.least) dummy_cuts=.false.
         if (abs(rap(p(0,i))).gt.1d0) dummy_cuts=.false.
      enddo
      end
      double precision function user_dynamical_scale(P)
      implicit none
      double precision P(0:3,5)
      integer i
      user_dynamical_scale=0d0
      do i=3,5
         user_dynamical_scale=user_dynamical_scale
     $        +sqrt((p(0,i)-p(3,i))*(p(0,i)+p(3,i)))
      enddo
      end
";

/// The cut of the Fortran.
#[derive(Debug)]
struct SameCut;

impl Selection for SameCut {
    fn select(
        &self,
        _: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        passes: &mut [bool],
    ) -> Result<(), Failure> {
        for (momenta, passes) in momenta.chunks_exact(legs).zip(passes) {
            *passes = momenta[2..4].iter().all(|[e, x, y, z]| {
                let rapidity = 0.5 * ((e + z) / (e - z)).ln();
                (x * x + y * y).sqrt() >= 60.0 && rapidity.abs() <= 1.0
            });
        }
        Ok(())
    }
}

/// The routines of a `setscales.f`: the sum of the transverse masses, and a quarter of it for both beams.
const ROUTINES: &str = "
      subroutine set_ren_scale(P,rscale)
      implicit none
      double precision P(0:3,5),rscale,user_dynamical_scale
      rscale=user_dynamical_scale(P)
      end
      subroutine set_fac_scale(P,q2factorization)
      implicit none
      double precision P(0:3,5),q2factorization(2),scale
      call set_ren_scale(P,scale)
      q2factorization(1)=(scale/4d0)**2
      q2factorization(2)=q2factorization(1)
      end
";

fn code(cuts: &[&str], scales: Option<UserScale>) -> UserCode {
    let file = FortranText {
        path: "mine.f".into(),
        text: [FUNCTIONS, ROUTINES].concat().into_bytes(),
        without: SortedSet::new(),
        left_out: SortedSet::new(),
    };
    let surroundings = UserCodeContext {
        legs: 5,
        ..UserCodeContext::default()
    };
    let mut code = UserCode::compile(&[file], cuts, scales, &surroundings).expect("functions");
    let point = [[10.0, 3.0, 4.0, 5.0]; 5];
    code.settle([&point, &point]).expect("a first call");
    code
}

fn events(
    dynamical: Dynamical,
    functions: Vec<UserCode>,
    selection: Option<Arc<dyn Selection>>,
    threads: usize,
) -> (Round, Vec<u8>) {
    let processes = mebridge::generate("u u~ > t t~ g").expect("a process");
    let window = Window::new(Observable::Pt, vec![vec![4]], 30.0, f64::INFINITY);
    let element = ElementRequest {
        windows: vec![window],
        function: (!functions.is_empty()).then_some(0),
        ..ElementRequest::default()
    };
    let scale = Scale {
        dynamical,
        factor: 0.5,
        renormalisation: None,
        factorisation: [None; 2],
    };
    let alpha_s = [20.0_f64, 200.0, 2000.0, 20_000.0].map(|scale| 1.0 / (3.0 + scale.ln()));
    let request = Request {
        threads,
        backend: Some("cpu".to_owned()),
        alpha_s: (vec![20.0, 200.0, 2000.0, 20_000.0], alpha_s.to_vec()),
        functions,
        ..Request::new(1000.0, scale, vec![element])
    };
    let mut generator = EventGenerator::new(processes, &request, selection).expect("a generator");
    let settings = SurveySettings {
        seed: 1,
        events: EVENTS,
        overweight: 0.01,
        precision: None,
    };
    generator.survey(&settings).expect("a survey");
    let records = generator.round(&settings, 0).expect("events");
    let bytes = generator.bytes(&records);
    (records.round, bytes)
}

/// Events are those of the same cut by a caller, with the same bits for any number of threads.
#[test]
fn a_cut_in_fortran_is_the_same_cut() {
    let cut = vec![code(&[CUT], None)];
    let fortran = |threads| events(Dynamical::HalfTransverseMass, cut.clone(), None, threads).1;
    let called = events(
        Dynamical::HalfTransverseMass,
        Vec::new(),
        Some(Arc::new(SameCut)),
        1,
    );
    let one = fortran(1);
    assert!(one == called.1, "other events");
    assert!(one == fortran(3), "threads make a difference");
    let none = events(Dynamical::HalfTransverseMass, Vec::new(), None, 1).1;
    assert!(one != none, "the cut cuts nothing");
}

/// Events have the scale of the function, times the factor, and the cross section of the same scale.
#[test]
fn a_scale_in_fortran_is_the_same_scale() {
    let (made, _) = events(
        Dynamical::PartonicEnergy,
        vec![code(&[], Some(UserScale::Function))],
        None,
        2,
    );
    let (other, _) = events(Dynamical::TransverseMass, Vec::new(), None, 2);
    for event in made.events.iter() {
        let masses = event.momenta[2..].iter();
        let masses = masses.map(|[e, _, _, z]| ((e - z) * (e + z)).sqrt());
        let expected = 0.5 * masses.sum::<f64>();
        for scale in event.scales {
            assert!(
                (scale / expected - 1.0).abs() < 1e-12,
                "{scale}, {expected}"
            );
        }
    }
    let sum = |round: &Round| {
        round
            .sums
            .iter()
            .map(|sums| sums.unbiased_mean().mean)
            .sum::<f64>()
    };
    let (one, same) = (sum(&made), sum(&other));
    assert!((one / same - 1.0).abs() < 1e-9, "{one}, {same}");
}

/// Scales of renormalisation and factorisation may be different.
#[test]
fn routines_give_both_scales() {
    for (factorisation, ratio) in [(false, 1.0), (true, 4.0)] {
        let scales = UserScale::Routines { factorisation };
        let (made, _) = events(
            Dynamical::PartonicEnergy,
            vec![code(&[], Some(scales))],
            None,
            2,
        );
        for event in made.events.iter() {
            let masses = event.momenta[2..].iter();
            let masses = masses.map(|[e, _, _, z]| ((e - z) * (e + z)).sqrt());
            let expected = 0.5 * masses.sum::<f64>();
            let wanted = [expected, expected / ratio, expected / ratio];
            for (scale, wanted) in event.scales.into_iter().zip(wanted) {
                assert!((scale / wanted - 1.0).abs() < 1e-12, "{scale}, {wanted}");
            }
        }
    }
}

#[test]
fn functions_that_do_not_fit_are_refused() {
    let both = code(&[CUT], Some(UserScale::Function));
    assert!(both.cuts() && both.scales());
    assert_eq!(both.routines().collect::<Vec<_>>(), [CUT, SCALE]);
    let text = serde_json::to_string(&both).expect("plain data");
    assert_eq!(
        serde_json::from_str::<UserCode>(&text).expect("the same"),
        both
    );
    let processes = mebridge::generate("u u~ > t t~ g").expect("a process");
    let scale = super::fixed(91.188);
    let request = |functions, function| Request {
        functions,
        ..Request::new(
            1000.0,
            scale,
            vec![ElementRequest {
                function,
                ..ElementRequest::default()
            }],
        )
    };
    for (functions, function, expected) in [
        (vec![both.clone()], Some(1), "there are no functions 1"),
        (
            vec![both],
            None,
            "only some matrix elements have a scale in Fortran",
        ),
    ] {
        let request = request(functions, function);
        let found = EventGenerator::new(processes.clone(), &request, None);
        let error = found.err().expect("an error").to_string();
        assert!(error.contains(expected), "{error}");
    }
}
