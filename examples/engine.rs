//! Scratch: the engine end to end.
use mebridge::sampling::{Common, Element, Elements, integrand};
use mebridge::{Bridge, Switches, generate::generate_with, models};
use mebridge_densities::{Coupling, Densities};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::{
    blocks::{blocks, weigh},
    integrand::{BeamDensities, Running},
    random::Philox,
    survey::{Count, cross_section, survey},
};
use std::{path::Path, sync::Arc, time::Instant};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = &a[1];
    let protons = a[2] == "pp";
    let events: f64 = a[3].parse().unwrap();
    let threads: usize = a[4].parse().unwrap();
    let damping: f64 = a.get(5).map_or(0.7, |x| x.parse().unwrap());
    let parts: Vec<usize> = a
        .get(6)
        .map_or("1000,2000,4000", |s| s)
        .split(',')
        .map(|x| x.parse().unwrap())
        .collect();
    let seed: u64 = a.get(7).map_or(1, |x| x.parse().unwrap());
    let shown: usize = a.get(8).map_or(8, |x| x.parse().unwrap());
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
        .map(|_| Elements::new(&mut bridges).unwrap())
        .collect();
    println!("plans {:.2} s", t0.elapsed().as_secs_f64());
    let cpu = || {
        let mut r = unsafe { std::mem::zeroed::<libc::rusage>() };
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) };
        r.ru_utime.tv_sec as f64 + r.ru_utime.tv_usec as f64 * 1e-6
    };
    let (t, c) = (Instant::now(), cpu());
    let known = survey(&mut what, seed, &parts, damping, &mut evaluators).unwrap();
    let (dt, dc) = (t.elapsed().as_secs_f64(), cpu() - c);
    let points = parts.iter().sum::<usize>() * what.sources.len();
    let xs = cross_section(&known);
    println!(
        "survey {dt:.2} s {dc:.2} cpu, {:.3e} points/cpu s; cross section {} +- {}",
        points as f64 / dc,
        xs.mean,
        xs.error
    );
    let thresholds: Vec<f64> = known
        .iter()
        .map(|k| k.spectrum.threshold(0.01).unwrap_or(f64::INFINITY))
        .collect();
    // points by events
    let total: f64 = known.iter().map(|k| k.sums.mean().mean).sum();
    let mut plan = Vec::new();
    let mut n = 0;
    for (i, k) in known.iter().enumerate() {
        let s = k.sums.mean().mean;
        if s <= 0.0 || !s.is_finite() {
            continue;
        }
        let eff = s / thresholds[i];
        let need = (events * s / total / eff).ceil() as usize;
        let need = need.next_multiple_of(8).max(8);
        n += need;
        plan.extend(blocks(
            i,
            &k.grid,
            Philox {
                seed,
                round: 100,
                channel: i as u32,
            },
            0,
            need,
        ));
    }
    let (t, c) = (Instant::now(), cpu());
    let got = weigh(
        &what,
        &plan,
        &mut evaluators,
        &Count {
            thresholds: &thresholds,
        },
    )
    .unwrap();
    let (dt, dc) = (t.elapsed().as_secs_f64(), cpu() - c);
    let (mut ev, mut pass) = (0, 0);
    let mut sums = vec![mebridge_sampler::sums::WeightSums::default(); known.len()];
    for (i, s, e) in &got {
        ev += e;
        pass += s.passed();
        sums[*i].merge(s);
    }
    let xs = mebridge_sampler::sums::Estimate::sum(sums.iter().map(|s| s.mean()));
    println!(
        "round: {n} points, pass {:.2}, {ev} events, efficiency {:.4}, {dt:.2} s {dc:.2} cpu: {:.3e} points/s {:.3e} events/s; {} +- {}",
        pass as f64 / n as f64,
        ev as f64 / n as f64,
        n as f64 / dc,
        ev as f64 / dc,
        xs.mean,
        xs.error
    );
    let mut by: Vec<(f64, usize)> = known
        .iter()
        .enumerate()
        .map(|(i, k)| (k.sums.mean().mean, i))
        .filter(|(s, _)| *s > 0.0)
        .collect();
    by.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = by.iter().map(|(_, i)| thresholds[*i]).sum();
    by.sort_by(|a, b| thresholds[b.1].total_cmp(&thresholds[a.1]));
    for (s, i) in by.iter().take(shown) {
        println!(
            "  source {i} group {} xs {:.4} points {:.4} eff {:.4} pass {:.2} perms {} {}",
            what.sources[*i].group,
            s / total,
            thresholds[*i] / all,
            s / thresholds[*i],
            known[*i].sums.passed() as f64 / known[*i].sums.points() as f64,
            what.sources[*i].permutations.len(),
            what.sources[*i].channel.dimension()
        );
        if std::env::var("T_GRID").is_ok() {
            for d in 0..known[*i].grid.dimensions() {
                let e = known[*i].grid.edges(d);
                let kl: f64 = -(0..64)
                    .map(|b| (64.0 * (e[b + 1] - e[b])).ln())
                    .sum::<f64>()
                    / 64.0;
                println!(
                    "      dim {d}: kl {kl:.2}  {}",
                    [4, 8, 16, 24, 32, 40, 48, 56, 60]
                        .iter()
                        .map(|b| format!("{:.4} ", e[*b]))
                        .collect::<String>()
                );
            }
        }
    }
}
