use super::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// E, px, py, pz.
type Momentum = [f64; 4];

/// The momenta of one point, incoming legs first.
type Point = Vec<Momentum>;

fn rows(points: &[Point]) -> Rows {
    let mut rows = Rows::new(4 * points[0].len(), points.len());
    for (i, point) in points.iter().enumerate() {
        for (row, component) in point.iter().flatten().enumerate() {
            rows.row_mut(row)[i] = *component;
        }
    }
    rows
}

/// Which points pass; the same at all levels, unless rounding decides.
fn passed(cuts: &Cuts, points: &[Point], boost: Option<&[f64]>) -> Vec<(Level, Vec<bool>)> {
    let rows = rows(points);
    let levels = Level::ALL.into_iter().filter(|level| level.is_supported());
    levels
        .map(|level| {
            let mut found = vec![false; points.len()];
            cuts.passed(level, &rows, boost, &mut found);
            (level, found)
        })
        .collect()
}

/// One point at all levels.
#[track_caller]
fn assert_passes(windows: &[Window], rules: &[Rule], point: &Point, wanted: bool) {
    let cuts = Cuts::new(point.len(), windows, rules).expect("cuts");
    for (level, found) in passed(&cuts, std::slice::from_ref(point), None) {
        assert_eq!(found, [wanted], "{level}");
    }
}

/// A momentum with this mass, transverse momentum, rapidity and azimuth.
fn momentum(mass: f64, pt: f64, y: f64, phi: f64) -> Momentum {
    let transverse = mass.hypot(pt);
    [
        transverse * y.cosh(),
        pt * phi.cos(),
        pt * phi.sin(),
        transverse * y.sinh(),
    ]
}

/// Outgoing momenta with these masses, some near to others, longitudinally in the rest frame of the incoming legs.
fn points(seed: u64, masses: &[f64], count: usize) -> Vec<Point> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut point = || {
        let mut out = Point::new();
        for &mass in masses {
            let pt = random.random_range(0.7f64..6.0).exp();
            let (mut y, mut phi) = (
                random.random_range(-3.0..3.0),
                random.random_range(-3.2..3.2),
            );
            if !out.is_empty() && random.random_bool(0.4) {
                let [energy, px, py, pz] = out[0];
                y = (pz / energy).atanh() + random.random_range(-0.6..0.6);
                phi = py.atan2(px) + random.random_range(-0.6..0.6);
            }
            out.push(momentum(mass, pt, y, phi));
        }
        let sum = |i: usize| out.iter().map(|p| p[i]).sum::<f64>();
        let boost = -(sum(3) / sum(0)).atanh();
        for p in &mut out {
            *p = along_z(*p, boost);
        }
        let half = out.iter().map(|p| p[0]).sum::<f64>() / 2.0;
        let mut all = vec![[half, 0.0, 0.0, half], [half, 0.0, 0.0, -half]];
        all.extend(out);
        all
    };
    (0..count).map(|_| point()).collect()
}

fn along_z([energy, px, py, pz]: Momentum, boost: f64) -> Momentum {
    let (cosh, sinh) = (boost.cosh(), boost.sinh());
    [cosh * energy + sinh * pz, px, py, sinh * energy + cosh * pz]
}

fn rapidity(p: Momentum) -> f64 {
    (p[3] / p[0]).atanh()
}

fn pt(p: Momentum) -> f64 {
    p[1].hypot(p[2])
}

fn angle(p: Momentum, q: Momentum) -> f64 {
    let apart = (p[2].atan2(p[1]) - q[2].atan2(q[1])).abs();
    apart.min(2.0 * std::f64::consts::PI - apart)
}

/// The observable of a point in the detector frame, by textbook formulas.
fn observable(window: &Window, point: &Point, boost: f64) -> Vec<f64> {
    let add = |legs: &Vec<usize>| {
        let sum = |i| legs.iter().map(|&leg| point[leg][i]).sum::<f64>();
        [sum(0), sum(1), sum(2), sum(3)]
    };
    let groups: Vec<Momentum> = window.legs.iter().map(add).collect();
    if window.observable == Observable::Distance {
        let apart = rapidity(groups[0]) - rapidity(groups[1]);
        return vec![apart.hypot(angle(groups[0], groups[1]))];
    }
    let of = |p: &Momentum| match window.observable {
        Observable::Pt => pt(*p),
        Observable::Rapidity => (rapidity(*p) + boost).abs(),
        // The incoming legs together are at rest.
        Observable::Energy => p[0],
        _ => (p[0].powi(2) - p[1].powi(2) - p[2].powi(2) - p[3].powi(2))
            .max(0.0)
            .sqrt(),
    };
    groups.iter().map(of).collect()
}

/// Whether a point is in a window; `None` if rounding decides.
fn lies(window: &Window, point: &Point, boost: f64) -> Option<bool> {
    let mut values = observable(window, point, boost);
    let falling = |values: &mut Vec<f64>| values.sort_by(|a, b| b.total_cmp(a));
    match window.take {
        GroupValue::Sum => values = vec![values.iter().sum()],
        GroupValue::Number(number) => {
            falling(&mut values);
            values = values.get(number).copied().into_iter().collect();
        }
        GroupValue::First(count) => {
            falling(&mut values);
            values = vec![values.iter().take(count).sum()];
        }
        GroupValue::All | GroupValue::Any => {}
    }
    let limits = [window.least, window.largest];
    let close = |value: &f64| limits.iter().any(|limit| (value - limit).abs() < 1e-9);
    if values.iter().any(close) {
        return None;
    }
    let inside = |value: &f64| (limits[0] < *value && *value < limits[1]) != window.outside;
    Some(match window.take {
        GroupValue::Any => values.iter().any(inside),
        _ => values.iter().all(inside),
    })
}

/// Compares cuts with a reference for each point, in both frames, and checks that some points pass and others do not.
#[track_caller]
fn compare(
    windows: &[Window],
    rules: &[Rule],
    points: &[Point],
    wanted: impl Fn(&Point, f64) -> Option<bool>,
    split: bool,
) {
    let cuts = Cuts::new(points[0].len(), windows, rules).expect("cuts");
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let boosts: Vec<f64> = points
        .iter()
        .map(|_| random.random_range(-1.5..1.5))
        .collect();
    for boost in [None, Some(boosts.as_slice())] {
        let of = |i: usize| wanted(&points[i], boost.map_or(0.0, |boost| boost[i]));
        let wanted: Vec<_> = (0..points.len()).map(of).collect();
        let known = wanted.iter().flatten().count();
        assert!(known * 100 > points.len() * 97, "{known} are known");
        let passing = wanted.iter().flatten().filter(|passes| **passes).count();
        assert_eq!(passing > 0 && passing < known, split, "{passing} pass");
        for (level, found) in passed(&cuts, points, boost) {
            for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                let same = wanted.is_none_or(|wanted| wanted == *found);
                assert!(same, "{level}, {windows:?}, {rules:?}: {:?}", points[i]);
            }
        }
    }
}

#[test]
fn windows_beside_formulas() {
    use Observable::{Energy, Mass, Pt, Rapidity};
    let points = points(1, &[0.0, 5.0, 40.0, 0.0], 403);
    let each: Vec<Vec<usize>> = (2..6).map(|leg| vec![leg]).collect();
    let takes = [
        GroupValue::All,
        GroupValue::Any,
        GroupValue::Sum,
        GroupValue::Number(0),
        GroupValue::Number(2),
        GroupValue::First(2),
        GroupValue::First(9),
    ];
    for (observable, least, largest) in [
        (Pt, 15.0, 150.0),
        (Rapidity, 0.4, 1.7),
        (Energy, 30.0, 500.0),
        (Mass, 3.0, 30.0),
    ] {
        let pairs = vec![vec![2, 3], vec![4, 5], vec![5, 2]];
        for (groups, scale) in [(&each, 1.0), (&pairs, 1.5)] {
            for take in takes {
                for outside in [false, true] {
                    let sum = matches!(take, GroupValue::Sum | GroupValue::First(_));
                    let factor = scale * if sum { 2.0 } else { 1.0 };
                    let window = Window {
                        take,
                        outside,
                        ..Window::new(observable, groups.clone(), factor * least, factor * largest)
                    };
                    // Masses of single legs are fixed.
                    let split = observable != Mass || *groups == pairs;
                    let wanted = |point: &Point, boost: f64| lies(&window, point, boost);
                    compare(std::slice::from_ref(&window), &[], &points, wanted, split);
                }
            }
            for (least, largest) in [(least, f64::INFINITY), (f64::NEG_INFINITY, largest)] {
                let window =
                    Window::new(observable, groups.clone(), scale * least, scale * largest);
                let wanted = |point: &Point, boost: f64| lies(&window, point, boost);
                let split = observable != Mass || *groups == pairs;
                compare(std::slice::from_ref(&window), &[], &points, wanted, split);
            }
        }
    }
}

#[test]
fn distances_beside_formulas() {
    let points = points(3, &[0.0, 5.0, 40.0, 0.0], 1003);
    for (least, largest) in [
        (0.05, f64::INFINITY),
        (0.4, f64::INFINITY),
        (1.4, f64::INFINITY),
        (2.0, f64::INFINITY),
        (0.4, 3.0),
        (f64::NEG_INFINITY, 1.0),
    ] {
        for legs in [
            [vec![2], vec![3]],
            [vec![5], vec![2]],
            [vec![3, 4], vec![5]],
        ] {
            for outside in [false, true] {
                let window = Window {
                    outside,
                    ..Window::new(Observable::Distance, legs.to_vec(), least, largest)
                };
                let wanted = |point: &Point, boost: f64| lies(&window, point, boost);
                let split = least != 0.05 || legs[1] == [3];
                if split {
                    compare(std::slice::from_ref(&window), &[], &points, wanted, true);
                }
            }
        }
    }
}

/// Sines decide most distances; only those next to the limit are computed.
#[test]
fn distances_next_to_their_limit() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for radius in [0.01, 0.4, 0.7, 1.0, 1.49] {
        let mut point = || {
            let (pt, y) = (
                random.random_range(1.0..100.0),
                random.random_range(-4.0..4.0),
            );
            let (phi, turn) = (
                random.random_range(-3.0..3.0),
                random.random_range(-3.2f64..3.2),
            );
            let far = radius * (1.0 + random.random_range(-0.3f64..0.3).powi(3));
            vec![
                [1.0, 0.0, 0.0, 1.0],
                [1.0, 0.0, 0.0, -1.0],
                momentum(0.0, pt, y, phi),
                momentum(7.0, 20.0, y + far * turn.sin(), phi + far * turn.cos()),
            ]
        };
        let points: Vec<Point> = (0..2000).map(|_| point()).collect();
        let window = Window::new(
            Observable::Distance,
            vec![vec![2], vec![3]],
            radius,
            f64::INFINITY,
        );
        let wanted = |point: &Point, boost: f64| lies(&window, point, boost);
        compare(std::slice::from_ref(&window), &[], &points, wanted, true);
    }
}

#[test]
fn several_windows_all_have_to_hold() {
    let points = points(5, &[0.0, 0.0, 0.0, 0.0], 2003);
    let each = |observable, least, largest| {
        let legs = (2..6).map(|leg| vec![leg]).collect();
        Window::new(observable, legs, least, largest)
    };
    let windows = [
        Window::new(
            Observable::Distance,
            vec![vec![2], vec![3]],
            0.4,
            f64::INFINITY,
        ),
        Window::new(
            Observable::Distance,
            vec![vec![4], vec![2]],
            0.4,
            f64::INFINITY,
        ),
        each(Observable::Pt, 5.0, f64::INFINITY),
        each(Observable::Rapidity, f64::NEG_INFINITY, 2.5),
        Window::new(Observable::Mass, vec![vec![2, 5]], 50.0, f64::INFINITY),
    ];
    let wanted = |point: &Point, boost: f64| {
        let held: Vec<_> = windows.iter().map(|w| lies(w, point, boost)).collect();
        match held.contains(&Some(false)) {
            true => Some(false),
            false => held.into_iter().all(|held| held.is_some()).then_some(true),
        }
    };
    compare(&windows, &[], &points, wanted, true);
}

#[test]
fn rules_beside_formulas() {
    let points = points(6, &[0.0, 0.0, 4.0, 0.0], 1003);
    let hard = |point: &Point| {
        let mut jets = vec![2, 3, 5];
        jets.sort_by(|&a, &b| pt(point[b]).total_cmp(&pt(point[a])));
        jets
    };
    let limits = vec![[90.0, 200.0], [f64::NEG_INFINITY, 12.0]];
    let some = Rule::Some {
        jets: vec![2, 3, 5],
        limits: limits.clone(),
    };
    let wanted = |point: &Point, _: f64| {
        let jets = hard(point).into_iter().zip(&limits);
        let mut jets = jets.map(|(leg, limits)| (pt(point[leg]), limits));
        Some(jets.any(|(pt, [least, largest])| *least <= pt && pt <= *largest))
    };
    compare(&[], &[some], &points, wanted, true);
    let opposite = Rule::Opposite {
        jets: vec![2, 3, 5],
        least: 0.2,
        apart: 1.0,
    };
    let wanted = |point: &Point, boost: f64| {
        let jets = hard(point);
        let [a, b] = [0, 1].map(|i: usize| rapidity(point[jets[i]]) + boost);
        let far = a.abs() >= 0.2 && b.abs() >= 0.2;
        Some(far && a * b <= 0.0 && (a - b).abs() >= 1.0)
    };
    compare(&[], &[opposite], &points, wanted, true);
}

#[test]
fn isolation_beside_its_definition() {
    // Two photons, three jets of which one has a mass, and a lepton.
    let points = points(7, &[0.0, 0.0, 0.0, 1.5, 0.0, 1.8], 1003);
    let photons = [2, 3];
    for (radius, power, share) in [
        (0.4, 1.0, 1.0),
        (0.7, 2.0, 0.5),
        (1.8, 0.5, 2.0),
        (0.6, 0.0, 0.3),
    ] {
        for electromagnetic in [None, Some(vec![7])] {
            let rule = Rule::Isolated {
                photons: photons.to_vec(),
                jets: vec![4, 5, 6],
                electromagnetic: electromagnetic.clone(),
                least: 5.0,
                radius,
                power,
                share,
            };
            let apart = |p: Momentum, q: Momentum, boost: f64| {
                let eta = |p: Momentum| (along_z(p, boost)[3] / pt(p)).asinh();
                (eta(p) - eta(q)).hypot(angle(p, q))
            };
            let wanted = |point: &Point, boost: f64| {
                Some(photons.iter().all(|&photon| {
                    let p = point[photon];
                    let mut sets = vec![vec![4, 5, 6]];
                    if electromagnetic.is_some() {
                        sets.push(vec![5 - photon, 7]);
                    }
                    let alone = |near: &Vec<usize>| {
                        near.iter().all(|&last| {
                            let within = apart(p, point[last], boost);
                            let nearer = |leg: &&usize| apart(p, point[**leg], boost) <= within;
                            let sum: f64 =
                                near.iter().filter(nearer).map(|&leg| pt(point[leg])).sum();
                            let part = (1.0 - within.cos()) / (1.0 - f64::cos(radius));
                            within > radius || sum <= share * pt(p) * part.powf(power)
                        })
                    };
                    pt(p) >= 5.0 && sets.iter().all(alone)
                }))
            };
            compare(&[], std::slice::from_ref(&rule), &points, wanted, true);
        }
    }
}

/// A jet with E = 25, px = 12, py = 16, pz = 15, recoiling against the rest.
fn exact() -> Point {
    vec![
        [30.0, 0.0, 0.0, 30.0],
        [30.0, 0.0, 0.0, -30.0],
        [25.0, 12.0, 16.0, 15.0],
        [35.0, -12.0, -16.0, -15.0],
    ]
}

#[test]
fn limits_belong_to_windows() {
    let of = |observable, least, largest| Window::new(observable, vec![vec![2]], least, largest);
    let mut window = of(Observable::Pt, 20.0, 20.0);
    assert_passes(&[window.clone()], &[], &exact(), true);
    window.outside = true;
    assert_passes(&[window.clone()], &[], &exact(), true);
    window.largest = 21.0;
    window.least = 19.0;
    assert_passes(&[window], &[], &exact(), false);
    assert_passes(&[of(Observable::Energy, 25.0, 25.0)], &[], &exact(), true);
    // A missing value passes, and an empty sum is 0.
    let mut window = of(Observable::Pt, 1e9, f64::INFINITY);
    window.take = GroupValue::Number(1);
    assert_passes(&[window.clone()], &[], &exact(), true);
    window.take = GroupValue::First(0);
    assert_passes(&[window], &[], &exact(), false);
}

#[test]
fn what_is_no_number_never_passes() {
    assert_passes(&[], &[], &exact(), true);
    let hold = [
        Window::new(Observable::Pt, vec![vec![3]], f64::NEG_INFINITY, 1e9),
        Window {
            outside: true,
            ..Window::new(Observable::Rapidity, vec![vec![3]], 3.0, 4.0)
        },
    ];
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (leg, component) in [(0, 0), (2, 0), (2, 1), (2, 2), (3, 3)] {
            let mut point = exact();
            assert_passes(&hold, &[], &point, true);
            point[leg][component] = bad;
            assert_passes(&[], &[], &point, false);
            assert_passes(&hold, &[], &point, false);
        }
    }
    let cuts = Cuts::new(4, &[], &[]).expect("no cuts");
    for (_, found) in passed(&cuts, &[exact()], Some(&[f64::NAN])) {
        assert_eq!(found, [false]);
    }
}

#[test]
fn momenta_along_the_beams_and_at_rest() {
    let window = |observable, legs: &[usize], least, largest| {
        let legs = legs.iter().map(|leg| vec![*leg]).collect();
        Window::new(observable, legs, least, largest)
    };
    let (none, above) = (f64::NEG_INFINITY, f64::INFINITY);
    let with = |p: Momentum| {
        let mut point = exact();
        point[2] = p;
        point
    };
    for sign in [1.0, -1.0] {
        for zero in [0.0, -0.0] {
            let light = with([9.0, zero, zero, 9.0 * sign]);
            for largest in [5.0, 20.0, 300.0, 400.0] {
                let central = window(Observable::Rapidity, &[2], none, largest);
                assert_passes(&[central], &[], &light, false);
                let forward = window(Observable::Rapidity, &[2], largest, above);
                assert_passes(&[forward], &[], &light, true);
            }
            assert_passes(
                &[window(Observable::Pt, &[2], 1e-300, above)],
                &[],
                &light,
                false,
            );
            let far = window(Observable::Distance, &[2, 3], 0.4, above);
            assert_passes(&[far], &[], &light, true);
            let near = window(Observable::Distance, &[2, 3], none, 9.0);
            assert_passes(&[near], &[], &light, false);
            // The leg has no azimuth.
            let heavy = with([10.0, zero, zero, 8.0 * sign]);
            assert_passes(
                &[window(Observable::Rapidity, &[2], 1.0, 1.2)],
                &[],
                &heavy,
                true,
            );
            for radius in [0.4, 2.0] {
                let apart = window(Observable::Distance, &[2, 3], radius, above);
                assert_passes(&[apart], &[], &heavy, false);
            }
        }
    }
    let rest = with([9.0, 0.0, 0.0, 0.0]);
    assert_passes(
        &[window(Observable::Rapidity, &[2], none, 1e-9)],
        &[],
        &rest,
        true,
    );
    let nothing = with([0.0; 4]);
    for outside in [false, true] {
        for take in [
            GroupValue::All,
            GroupValue::Any,
            GroupValue::Sum,
            GroupValue::Number(0),
            GroupValue::First(1),
        ] {
            let rapidity = Window {
                take,
                outside,
                ..window(Observable::Rapidity, &[2], none, 1.0)
            };
            assert_passes(&[rapidity], &[], &nothing, false);
        }
    }
    assert_passes(
        &[window(Observable::Distance, &[2, 3], 0.1, above)],
        &[],
        &nothing,
        false,
    );
    // The same momentum twice.
    let same = with(exact()[3]);
    assert_passes(
        &[window(Observable::Distance, &[2, 3], 0.1, above)],
        &[],
        &same,
        false,
    );
}

#[test]
fn as_the_package_in_python_has_them() {
    let text = r#"[
        {"observable": "rapidity", "legs": [[2], [3]], "least": null, "largest": 2.5, "take": "any", "outside": false,
         "entries": ["etaj = 2.5"]},
        {"observable": "pt", "legs": [[2, 3]], "least": 20, "largest": null, "take": "+2", "outside": true},
        {"observable": "distance", "legs": [[2], [3]], "least": 0.4, "take": "0"}
    ]"#;
    let found: Vec<Window> = serde_json::from_str(text).expect("windows");
    let mut wanted = [
        Window::new(
            Observable::Rapidity,
            vec![vec![2], vec![3]],
            f64::NEG_INFINITY,
            2.5,
        ),
        Window::new(Observable::Pt, vec![vec![2, 3]], 20.0, f64::INFINITY),
        Window::new(
            Observable::Distance,
            vec![vec![2], vec![3]],
            0.4,
            f64::INFINITY,
        ),
    ];
    wanted[0].take = GroupValue::Any;
    wanted[1].take = GroupValue::First(2);
    wanted[1].outside = true;
    wanted[2].take = GroupValue::Number(0);
    assert_eq!(found, wanted);
    let text = r#"[
        {"kind": "some", "legs": [[2, 3]], "numbers": [20, null, null, 30.5]},
        {"kind": "opposite", "legs": [[2, 3]], "numbers": [0.5, 2.0]},
        {"kind": "isolated", "legs": [[2], [3], [4]], "numbers": [20, 0.4, 1, 0.5, 1.0]},
        {"kind": "isolated", "legs": [[2], [3], []], "numbers": [20, 0.4, 1, 0.5, 0.0]},
        {"kind": "relative", "legs": [[2, 3]], "numbers": [20, 0.5]}
    ]"#;
    let found: Vec<Rule> = serde_json::from_str(text).expect("rules");
    let isolated = |electromagnetic| Rule::Isolated {
        photons: vec![2],
        jets: vec![3],
        electromagnetic,
        least: 20.0,
        radius: 0.4,
        power: 1.0,
        share: 0.5,
    };
    let wanted = [
        Rule::Some {
            jets: vec![2, 3],
            limits: vec![[20.0, f64::INFINITY], [f64::NEG_INFINITY, 30.5]],
        },
        Rule::Opposite {
            jets: vec![2, 3],
            least: 0.5,
            apart: 2.0,
        },
        isolated(Some(vec![4])),
        isolated(None),
        Rule::Relative {
            jets: vec![2, 3],
            least: 20.0,
            radius: 0.5,
        },
    ];
    assert_eq!(found, wanted);
    let again = serde_json::to_string(&wanted).expect("a text");
    assert_eq!(
        serde_json::from_str::<Vec<Rule>>(&again).expect("rules"),
        wanted
    );
    #[rustfmt::skip]
    let cases = [
        (r#"{"kind": "opposite", "legs": [[2, 3]], "numbers": [0.5, null]}"#, "two numbers"),
        (r#"{"kind": "some", "legs": [[2]], "numbers": [1]}"#, "two limits"),
        (r#"{"kind": "isolated", "legs": [[2]], "numbers": [1]}"#, "five numbers"),
        (r#"{"kind": "relative", "legs": [[2, 3]], "numbers": [1]}"#, "two numbers"),
        (r#"{"kind": "none", "legs": [], "numbers": []}"#, "some, opposite, isolated or relative"),
    ];
    for (text, said) in cases {
        let error = serde_json::from_str::<Rule>(text).expect_err("no rule");
        assert!(error.to_string().contains(said), "{error}");
    }
    for take in [
        "",
        "+",
        "first",
        "-1",
        "+-1",
        "1.5",
        "99999999999999999999999",
    ] {
        let error = take.parse::<GroupValue>().expect_err("no such thing");
        assert!(error.to_string().contains(&format!("{take:?}")), "{error}");
    }
}

#[test]
fn what_cannot_be_cut_on() {
    let window = |observable, legs: &[&[usize]], least: f64| {
        let legs = legs.iter().map(|legs| legs.to_vec()).collect();
        Window::new(observable, legs, least, f64::INFINITY)
    };
    for (window, said) in [
        (window(Observable::Pt, &[&[4]], 1.0), "leg 4"),
        (window(Observable::Pt, &[], 1.0), "0 groups"),
        (window(Observable::Pt, &[&[2], &[]], 1.0), "needs a leg"),
        (window(Observable::Distance, &[&[2]], 1.0), "two groups"),
        (window(Observable::Mass, &[&[2, 3]], f64::NAN), "NaN"),
    ] {
        let error = Cuts::new(4, &[window], &[]).expect_err("no window");
        assert!(error.to_string().contains(said), "{error}");
    }
    let isolated = |radius| Rule::Isolated {
        photons: vec![2],
        jets: vec![3],
        electromagnetic: None,
        least: 1.0,
        radius,
        power: 1.0,
        share: 1.0,
    };
    let opposite = |jets: &[usize]| Rule::Opposite {
        jets: jets.to_vec(),
        least: 0.0,
        apart: 1.0,
    };
    let relative = |jets: &[usize], least, radius| Rule::Relative {
        jets: jets.to_vec(),
        least,
        radius,
    };
    let some = |jets: &[usize], least| Rule::Some {
        jets: jets.to_vec(),
        limits: vec![[least, 1.0]],
    };
    for (rule, said) in [
        (isolated(0.0), "a cone"),
        (isolated(f64::NAN), "numbers"),
        (opposite(&[2]), "two jets"),
        (opposite(&[2, 9]), "leg 9"),
        (some(&[], 0.0), "no jets"),
        (some(&[2], f64::NAN), "not a number"),
        (relative(&[2], 1.0, 1.0), "two jets"),
        (relative(&[2, 4], 1.0, 1.0), "leg 4"),
        (relative(&[2, 3], -1.0, 1.0), "not negative"),
        (relative(&[2, 3], 1.0, 0.0), "not negative"),
        (relative(&[2, 3], f64::NAN, 1.0), "not negative"),
    ] {
        let error = Cuts::new(4, &[], &[rule]).expect_err("no rule");
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// By the formula of `cuts.f` (DURHAM_KT CUT), for hadrons.
#[test]
fn relative_transverse_momenta() {
    let points = points(71, &[0.0, 4.7, 173.0], 400);
    let rule = Rule::Relative {
        jets: vec![2, 3, 4],
        least: 15.0,
        radius: 0.4,
    };
    let smallest = |point: &Point| {
        let mut least = f64::INFINITY;
        for (i, &p) in point.iter().enumerate().skip(2) {
            for &q in &point[i + 1..] {
                let apart = (rapidity(p) - rapidity(q)).hypot(angle(p, q));
                least = least.min(pt(p).min(pt(q)) * apart / 0.4);
            }
        }
        least
    };
    let wanted: Vec<f64> = points.iter().map(smallest).collect();
    let cuts = Cuts::new(5, &[], &[rule]).expect("cuts");
    assert!(cuts.not_on_gpus().is_some());
    let mut left = 0;
    for (level, found) in passed(&cuts, &points, None) {
        for (found, kt) in found.iter().zip(&wanted) {
            assert!(
                (kt / 15.0 - 1.0).abs() < 1e-9 || *found == (*kt >= 15.0),
                "{level}: {kt}"
            );
            left += usize::from(*found);
        }
    }
    assert!(left > 50);
    // Along a beam there is no transverse momentum.
    let mut along = points[0].clone();
    along[2] = [10.0, 0.0, 0.0, 10.0];
    for (_, found) in passed(&cuts, &[along], None) {
        assert_eq!(found, [false]);
    }
}
