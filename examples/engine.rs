//! Scratch: the engine end to end.
use mebridge::sampling::{Common, Element, Elements, integrand};
use mebridge::{Bridge, Switches, generate::generate_with, models};
use mebridge_densities::{Coupling, Densities};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::{
    integrand::{BeamDensities, Running},
    rounds::{self, round},
    survey::{Settings, survey},
};
use std::{path::Path, sync::Arc, time::Instant};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = &a[1];
    let protons = a[2] == "pp";
    let events: f64 = a[3].parse().unwrap();
    let threads: usize = a[4].parse().unwrap();
    let t0 = Instant::now();
    let model = models::model(None).unwrap();
    let processes = generate_with(text, &model).unwrap();
    let either = {
        let w: Vec<&str> = text.split_whitespace().collect();
        w[0] == w[1]
    };
    let mut bridges = Vec::new();
    let mut elements = Vec::new();
    for p in processes {
        let card = p.model.default_card();
        let codes: Vec<i32> = p.legs.iter().map(|l| l.pdg).collect();
        let bridge = Bridge::new(p.clone(), &card, &Switches::default(), 512).unwrap();
        let masses = bridge.masses();
        let mut w = Vec::new();
        let jet = |l: usize| codes[l].abs() <= 5 || codes[l] == 21;
        let lep = |l: usize| [11, 13, 15].contains(&codes[l].abs());
        let pho = |l: usize| codes[l] == 22;
        for l in 2..codes.len() {
            let (pt, eta) = if jet(l) {
                (20., 5.)
            } else if lep(l) {
                (10., 2.5)
            } else if pho(l) {
                (20., 2.5)
            } else {
                continue;
            };
            w.push(Window::new(
                Observable::Pt,
                vec![vec![l]],
                pt,
                f64::INFINITY,
            ));
            w.push(Window::new(
                Observable::Rapidity,
                vec![vec![l]],
                f64::NEG_INFINITY,
                eta,
            ));
            for m in l + 1..codes.len() {
                let m_ok = jet(m) || lep(m) || pho(m);
                if !m_ok {
                    continue;
                }
                w.push(Window::new(
                    Observable::Distance,
                    vec![vec![l], vec![m]],
                    0.4,
                    f64::INFINITY,
                ));
                if lep(l) && codes[m] == -codes[l] {
                    w.push(Window::new(
                        Observable::Mass,
                        vec![vec![l, m]],
                        50.,
                        f64::INFINITY,
                    ));
                }
            }
        }
        elements.push(Element {
            mirrored: either && protons && codes[0] != codes[1],
            process: p,
            masses,
            windows: w,
            rules: vec![],
        });
        bridges.push(bridge);
    }
    let toy = Path::new("/tmp/t/toy/toy_0000.dat");
    let common = Common {
        energy: if protons { 13000. } else { 1000. },
        densities: protons.then(|| BeamDensities {
            densities: Arc::new(Densities::lhapdf(toy).unwrap()),
        }),
        running: if protons {
            Running::Table(Arc::new(
                Coupling::read(Path::new("/tmp/t/toy/toy.info"))
                    .unwrap()
                    .unwrap(),
            ))
        } else {
            Running::Fixed(0.118)
        },
        scale: Scale {
            dynamical: Dynamical::HalfTransverseMass,
            factor: 1.0,
            renormalisation: None,
            factorisation: None,
        },
    };
    let mut what = integrand(&elements, &common).unwrap();
    println!(
        "{} elements {} groups {} sources, {} columns, made {:.2} s",
        elements.len(),
        what.groups.len(),
        what.sources.len(),
        what.groups.iter().map(|g| g.weights.count()).sum::<usize>(),
        t0.elapsed().as_secs_f64()
    );
    let mut evaluators: Vec<Elements> = (0..threads)
        .map(|_| Elements::new(&mut bridges, false).unwrap())
        .collect();
    println!("plans {:.2} s", t0.elapsed().as_secs_f64());
    let cpu = || {
        let mut r = unsafe { std::mem::zeroed::<libc::rusage>() };
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) };
        r.ru_utime.tv_sec as f64 + r.ru_utime.tv_usec as f64 * 1e-6
    };
    let settings = Settings {
        seed: a.get(5).map_or(1, |x| x.parse().unwrap()),
        events: events as u64,
        overweight: 0.01,
        precision: None,
    };
    let (t, c) = (Instant::now(), cpu());
    let found = survey(&mut what, &settings, &mut evaluators).unwrap();
    let (dt, dc) = (t.elapsed().as_secs_f64(), cpu() - c);
    let xs = found.cross_section();
    println!(
        "survey {dt:.2} s {dc:.2} cpu, {} points, {:.3e} points/cpu s, {} of {} sources; cross section {} +- {}",
        found.points,
        found.points as f64 / dc,
        found.stay.len(),
        found.of,
        xs.mean,
        xs.error
    );
    let (t, c) = (Instant::now(), cpu());
    let got = round(&what, &found, &settings, 0, events as u64, &mut evaluators).unwrap();
    let (dt, dr) = (t.elapsed().as_secs_f64(), cpu() - c);
    let n = got.points;
    let xs = rounds::cross_section(&found, [(events as u64, &got.sums[..])]);
    let pass: u64 = got.sums.iter().map(|s| s.passed()).sum();
    let planned: u64 = got.sums.iter().map(|s| s.points()).sum();
    let over: f64 = got.events.iter().map(|e| e.weight.abs() - 1.0).sum();
    let largest = got
        .events
        .iter()
        .map(|e| e.weight.abs())
        .fold(0.0, f64::max);
    println!(
        "round: {n} points, {planned} planned, pass {:.2}, efficiency {:.4}, {dt:.2} s {dr:.2} cpu: {:.3e} points/s {:.3e} events/s; over {:.4} largest {largest:.1}; all {:.2} cpu; {} +- {}",
        pass as f64 / planned as f64,
        events / n as f64,
        n as f64 / dr,
        events / dr,
        over / events,
        dc + dr,
        xs.mean,
        xs.error
    );
}
