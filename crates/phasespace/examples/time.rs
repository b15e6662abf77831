use mebridge_phasespace::*; use mebridge_simd::Level; use std::time::Instant;
fn main(){ let d=|m:&[f64],p:&[(f64,f64)],v:&[&[&str]]|Diagram{masses:m.to_vec(),propagators:p.iter().map(|&(mass,width)|Propagator{mass,width}).collect(),vertices:v.iter().map(|n|n.iter().map(|x|x.parse().unwrap()).collect()).collect()};
let dg=d(&[0.;4],&[(0.,0.),(0.,0.),(91.188,2.44)],&[&["i0","o2","p0"],&["p0","p2","p1"],&["p1","o3","i1"],&["p2","o0","o1"]]);
let mut l=Limits::default(); l.pt=vec![10.,10.,20.,20.]; l.masses=vec![(3,50.)];
let s=Settings{energy:13000.,beams:Beams::Both,incoming:[0.;2],limits:l.clone()};
let c=Channel::new(&dg,&s).unwrap(); let n=1024;
let mut r=Rows::new(c.dimension(),n); let mut x=0.37f64; for k in 0..c.dimension(){for v in r.row_mut(k){x=(x*997.13+0.123).fract();*v=x;}}
let mut p=Rows::new(Layout::new(6).rows(),n); let o=vec![(0..4).collect::<Vec<_>>()];
let w=Weights::new(&vec![dg;75],&l,false).unwrap(); let mut sh=Rows::new(1,n);
for level in Level::ALL{ if !level.is_supported(){continue} let t=Instant::now(); for _ in 0..2000{c.draw(level,&r,&o,0,&mut p);} let a=t.elapsed().as_secs_f64()/2000./n as f64*1e9; let t=Instant::now(); for _ in 0..2000{w.shares(level,&p,&[0],0,&mut sh);} println!("{level} draw {a:.1} weights {:.1} ns",t.elapsed().as_secs_f64()/2000./n as f64*1e9);}}
