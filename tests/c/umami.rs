//! UMAMI through the C interface alone: copies of the library that carry a process, loaded as MadSpace loads them.

use super::library;
use mebridge::gpu::cuda::Platform;
use mebridge::phase_space::PhaseSpace;
use mebridge::process::Process;
use mebridge::runtime::BackendChoice;
use mebridge::{Answers, Bridge, Events, Switches};
use mebridge_capi::umami::attached::{Carried, attach};
use rand::{Rng, SeedableRng};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

const OK: i32 = 0;

type Handle = *mut c_void;
type Evaluate = unsafe extern "C" fn(
    Handle,
    usize,
    usize,
    usize,
    usize,
    *const c_int,
    *const *const c_void,
    usize,
    *const c_int,
    *const *mut c_void,
) -> i32;

/// The functions of a library file.
struct Umami {
    get_meta: unsafe extern "C" fn(c_int, *mut c_void) -> i32,
    initialize: unsafe extern "C" fn(*mut Handle, *const c_char) -> i32,
    evaluate: Evaluate,
    free: unsafe extern "C" fn(Handle) -> i32,
    set: unsafe extern "C" fn(Handle, *const c_char, f64, f64) -> i32,
    get: unsafe extern "C" fn(Handle, *const c_char, *mut f64, *mut f64) -> i32,
    supported: [unsafe extern "C" fn(*mut *const bool, *mut c_int) -> i32; 3],
    error: unsafe extern "C" fn() -> *const c_char,
    _library: libloading::Library,
}

impl Umami {
    fn load(path: &Path) -> Umami {
        // SAFETY: the library's initialisation is Rust's; the functions have these types.
        unsafe {
            let library = libloading::Library::new(path).unwrap();
            Umami {
                get_meta: *library.get(b"umami_get_meta").unwrap(),
                initialize: *library.get(b"umami_initialize").unwrap(),
                evaluate: *library.get(b"umami_matrix_element").unwrap(),
                free: *library.get(b"umami_free").unwrap(),
                set: *library.get(b"umami_set_parameter").unwrap(),
                get: *library.get(b"umami_get_parameter").unwrap(),
                supported: [
                    *library.get(b"umami_supported_inputs").unwrap(),
                    *library.get(b"umami_required_inputs").unwrap(),
                    *library.get(b"umami_supported_outputs").unwrap(),
                ],
                error: *library.get(b"mebridge_last_error").unwrap(),
                _library: library,
            }
        }
    }

    fn meta(&self, key: c_int) -> c_int {
        let mut value = -1;
        // SAFETY: an int for keys of counts.
        let status = unsafe { (self.get_meta)(key, (&raw mut value).cast()) };
        assert_eq!(status, OK, "{}", self.error());
        value
    }

    fn error(&self) -> String {
        // SAFETY: it gives a string that ends in NUL.
        let text = unsafe { std::ffi::CStr::from_ptr((self.error)()) };
        text.to_string_lossy().into_owned()
    }

    /// Any pointer, as a caller may give it by mistake.
    fn meta_into(&self, key: c_int, to: *mut c_void) -> i32 {
        // SAFETY: the tests give null or enough memory.
        unsafe { (self.get_meta)(key, to) }
    }

    fn free(&self, handle: Handle) -> i32 {
        // SAFETY: any handle may be given.
        unsafe { (self.free)(handle) }
    }

    fn set(&self, handle: Handle, name: *const c_char, value: f64) -> i32 {
        // SAFETY: the tests give null or C strings.
        unsafe { (self.set)(handle, name, value, 0.0) }
    }

    fn get(&self, handle: Handle, name: *const c_char, value: &mut f64, im: *mut f64) -> i32 {
        // SAFETY: the tests give null or C strings, and null or a number.
        unsafe { (self.get)(handle, name, value, im) }
    }

    fn handle(&self) -> Handle {
        let mut handle = null_mut();
        // SAFETY: as the interface asks.
        let status = unsafe { (self.initialize)(&raw mut handle, c"".as_ptr()) };
        assert_eq!(status, OK, "{}", self.error());
        handle
    }

    /// Calls with arrays of the right length.
    fn call(
        &self,
        handle: Handle,
        (count, stride, offset): (usize, usize, usize),
        inputs: &[(c_int, *const c_void)],
        outputs: &[(c_int, *mut c_void)],
    ) -> i32 {
        let (input_keys, input): (Vec<_>, Vec<_>) = inputs.iter().copied().unzip();
        let (output_keys, output): (Vec<_>, Vec<_>) = outputs.iter().copied().unzip();
        // SAFETY: the tests give arrays of the right length, or null.
        unsafe {
            (self.evaluate)(
                handle,
                count,
                stride,
                offset,
                input.len(),
                input_keys.as_ptr(),
                input.as_ptr(),
                output.len(),
                output_keys.as_ptr(),
                output.as_ptr(),
            )
        }
    }
}

/// A copy of the library that carries these processes, in a folder.
pub fn carrying(folder: &Path, name: &str, processes: &[Process]) -> PathBuf {
    carrying_for(BackendChoice::Auto, folder, name, processes)
}

/// The same with what evaluates.
fn carrying_for(
    backend: BackendChoice,
    folder: &Path,
    name: &str,
    processes: &[Process],
) -> PathBuf {
    let path = folder.join(name);
    let bytes = std::fs::read(library()).unwrap();
    let carried = Carried::new(processes.to_vec(), backend);
    let copy = attach(&bytes, &library(), &carried).unwrap();
    std::fs::write(&path, copy).unwrap();
    path
}

/// Events at 1 TeV, with all optional inputs, in rows of this length.
struct Given {
    count: usize,
    legs: usize,
    /// `[component][leg][event]`
    momenta: Vec<f64>,
    alpha_s: Vec<f64>,
    random: [Vec<f64>; 3],
}

impl Given {
    fn new(process: &Process, count: usize) -> Given {
        let card = process.model.default_card();
        let masses = Bridge::new(process.clone(), &card, &Switches::default(), 1)
            .unwrap()
            .masses();
        let incoming = process.legs.iter().filter(|leg| leg.incoming).count();
        let space = PhaseSpace::new(1000.0, &masses[..incoming], &masses[incoming..]).unwrap();
        let legs = process.legs.len();
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        let mut numbers = |count| (0..count).map(|_| random.random()).collect::<Vec<f64>>();
        let mut momenta = vec![0.0; 4 * legs * count];
        let mut p = vec![0.0; space.components()];
        for event in 0..count {
            space.event(&numbers(space.randoms()), &mut p);
            for leg in 0..legs {
                for mu in 0..4 {
                    momenta[event + count * (legs * mu + leg)] = p[4 * leg + mu];
                }
            }
        }
        let random = [numbers(count), numbers(count), numbers(count)];
        let alpha_s = numbers(count).iter().map(|x| 0.09 + 0.05 * x).collect();
        Given {
            count,
            legs,
            momenta,
            alpha_s,
            random,
        }
    }

    fn inputs(&self) -> Vec<(c_int, *const c_void)> {
        vec![
            (3, self.random[0].as_ptr().cast()),
            (0, self.momenta.as_ptr().cast()),
            (1, self.alpha_s.as_ptr().cast()),
            (4, self.random[1].as_ptr().cast()),
            (5, self.random[2].as_ptr().cast()),
        ]
    }

    fn rows(&self) -> Vec<f64> {
        let mut rows = Vec::new();
        for event in 0..self.count {
            for leg in 0..self.legs {
                let p = |mu: usize| self.momenta[event + self.count * (self.legs * mu + leg)];
                rows.extend([p(0), p(1), p(2), p(3)]);
            }
        }
        rows
    }
}

/// All outputs, filled with what nobody writes.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    matrix_elements: Vec<f64>,
    amp2: Vec<f64>,
    color: Vec<i32>,
    helicity: Vec<i32>,
    diagram: Vec<i32>,
}

impl Found {
    fn new(count: usize, diagrams: usize) -> Found {
        Found {
            matrix_elements: vec![-7.0; count],
            amp2: vec![-7.0; count * diagrams],
            color: vec![-7; count],
            helicity: vec![-7; count],
            diagram: vec![-7; count],
        }
    }

    fn outputs(&mut self) -> Vec<(c_int, *mut c_void)> {
        vec![
            (1, self.amp2.as_mut_ptr().cast()),
            (0, self.matrix_elements.as_mut_ptr().cast()),
            (4, self.diagram.as_mut_ptr().cast()),
            (3, self.helicity.as_mut_ptr().cast()),
            (2, self.color.as_mut_ptr().cast()),
        ]
    }
}

pub fn generated(text: &str) -> Vec<Process> {
    mebridge::generate(text).unwrap()
}

/// The same numbers as by the call of MadEvent: |M|^2, the weight of each diagram, choices of helicity and colour.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn umami_gives_the_numbers_of_fbridgesequence() {
    let folder = tempfile::tempdir().unwrap();
    let process = &generated("g g > t t~ g")[0];
    let umami = Umami::load(&carrying(
        folder.path(),
        "a.so",
        std::slice::from_ref(process),
    ));
    let counts = [1, 2, 3, 4].map(|key| umami.meta(key));
    assert_eq!(counts, [5, 16, 32, 6]);
    assert_eq!(umami.meta(0), 0);
    let diagrams = counts[1] as usize;
    let count = 67;
    let given = Given::new(process, count);
    let handle = umami.handle();
    let mut found = Found::new(count, diagrams);
    let status = umami.call(handle, (count, count, 0), &given.inputs(), &found.outputs());
    assert_eq!(status, OK, "{}", umami.error());

    let card = process.model.default_card();
    let mut bridge = Bridge::new(process.clone(), &card, &Switches::default(), count).unwrap();
    let g_s = given
        .alpha_s
        .iter()
        .map(|a| (4.0 * std::f64::consts::PI * a).sqrt());
    let g_s: Vec<f64> = g_s.collect();
    let momenta = given.rows();
    let mut run = |channels: Option<&[i32]>| {
        let (mut mes, mut helicity, mut color) = (vec![0.0; count], vec![0; count], vec![0; count]);
        let events = Events {
            momenta: &momenta,
            g_s: &g_s,
            random_helicity: &given.random[1],
            random_color: &given.random[0],
            channels,
            igraph: None,
        };
        let mut answers = Answers {
            matrix_elements: &mut mes,
            helicity: &mut helicity,
            color: &mut color,
        };
        bridge.run(&events, &mut answers).unwrap();
        (mes, helicity, color)
    };
    let near = |x: f64, y: f64| (x - y).abs() <= 1e-13 * y.abs();
    let (mes, helicity, _) = run(None);
    for event in 0..count {
        assert!(
            near(found.matrix_elements[event], mes[event]),
            "event {event}"
        );
        assert_eq!(found.helicity[event], helicity[event] - 1);
        // The four-gluon vertex has no channel of its own.
        let shares = (0..diagrams).map(|d| found.amp2[event + count * d]);
        assert!(near(shares.clone().sum(), 1.0));
        let mut running = 0.0;
        let drawn = shares.clone().position(|share| {
            running += share;
            given.random[2][event] < running
        });
        assert_eq!(drawn, Some(found.diagram[event] as usize), "event {event}");
    }
    // Each event in the channel of its diagram: the weight is the share, the colour the same.
    let channels: Vec<i32> = found.diagram.iter().map(|d| d + 1).collect();
    let (mes, _, color) = run(Some(&channels));
    for event in 0..count {
        let share = found.amp2[event + count * found.diagram[event] as usize];
        assert!(
            near(found.matrix_elements[event] * share, mes[event]),
            "event {event}"
        );
        assert_eq!(found.color[event], color[event] - 1);
    }

    // Outputs that nobody asks for change nothing, beyond the order of summation.
    let mut alone = Found::new(count, diagrams);
    let outputs = &alone.outputs()[1..2];
    assert_eq!(
        umami.call(handle, (count, count, 0), &given.inputs(), outputs),
        OK
    );
    let pairs = alone.matrix_elements.iter().zip(&found.matrix_elements);
    assert!(pairs.into_iter().all(|(x, y)| near(*x, *y)));
    assert_eq!(alone.amp2, Found::new(count, diagrams).amp2);

    // A part of the events, and nothing outside it.
    let mut part = Found::new(count, diagrams);
    let status = umami.call(handle, (20, count, 33), &given.inputs(), &part.outputs());
    assert_eq!(status, OK, "{}", umami.error());
    for event in 0..count {
        let inside = (33..53).contains(&event);
        let expected = if inside {
            found.matrix_elements[event]
        } else {
            -7.0
        };
        assert_eq!(part.matrix_elements[event], expected, "event {event}");
        for diagram in 0..diagrams {
            let at = event + count * diagram;
            let expected = if inside { found.amp2[at] } else { -7.0 };
            assert_eq!(part.amp2[at], expected);
        }
        let expected = if inside { found.color[event] } else { -7 };
        assert_eq!(part.color[event], expected);
    }

    // What each helicity contributes adds up; the diagram that is named decides the colour.
    let mut sum = vec![0.0; count];
    for row in 0..counts[2] {
        let rows = vec![row; count];
        let mut fixed = Found::new(count, diagrams);
        let mut inputs = given.inputs();
        inputs.push((6, rows.as_ptr().cast()));
        inputs.push((7, found.diagram.as_ptr().cast()));
        let status = umami.call(handle, (count, count, 0), &inputs, &fixed.outputs());
        assert_eq!(status, OK, "{}", umami.error());
        sum.iter_mut()
            .zip(&fixed.matrix_elements)
            .for_each(|(sum, x)| *sum += x);
        assert_eq!(fixed.helicity, rows);
        assert_eq!(
            (fixed.diagram, fixed.color),
            (found.diagram.clone(), found.color.clone())
        );
    }
    let pairs = sum.iter().zip(&found.matrix_elements);
    assert!(pairs.into_iter().all(|(x, y)| near(*x, *y)));

    // Without alpha_s and random numbers: alpha_s = 0.118 and 0.5.
    let (alpha_s, half) = (vec![0.118; count], vec![0.5; count]);
    let mut inputs = given.inputs();
    inputs[2].1 = alpha_s.as_ptr().cast();
    for i in [0, 3, 4] {
        inputs[i].1 = half.as_ptr().cast();
    }
    let (mut named, mut default) = (Found::new(count, diagrams), Found::new(count, diagrams));
    assert_eq!(
        umami.call(handle, (count, count, 0), &inputs, &named.outputs()),
        OK
    );
    let momenta = [inputs[1]];
    assert_eq!(
        umami.call(handle, (count, count, 0), &momenta, &default.outputs()),
        OK
    );
    let pairs = named.matrix_elements.iter().zip(&default.matrix_elements);
    assert!(pairs.into_iter().all(|(x, y)| near(*x, *y)));
    let chosen = |of: &Found| (of.color.clone(), of.helicity.clone(), of.diagram.clone());
    assert_eq!(chosen(&named), chosen(&default));

    // The card may say it.
    assert_eq!(umami.set(handle, c"aS".as_ptr(), 0.2), OK);
    let alpha_s = vec![0.2; count];
    inputs[2].1 = alpha_s.as_ptr().cast();
    for (inputs, found) in [(&inputs[..], &mut named), (&momenta, &mut default)] {
        let status = umami.call(handle, (count, count, 0), inputs, &found.outputs());
        assert_eq!(status, OK);
    }
    assert_eq!(named.matrix_elements, default.matrix_elements);
    assert_eq!(umami.set(handle, c"aS".as_ptr(), 0.118), OK);

    // A bad event has no number, and leaves its neighbours alone.
    let mut broken = Given::new(process, count);
    broken.momenta[5] = f64::NAN;
    broken.momenta[40] *= 1.1;
    let mut answer = Found::new(count, diagrams);
    assert_eq!(
        umami.call(
            handle,
            (count, count, 0),
            &broken.inputs(),
            &answer.outputs()
        ),
        OK
    );
    for event in 0..count {
        if [5, 40].contains(&event) {
            assert!(answer.matrix_elements[event].is_nan());
            assert_eq!(answer.amp2[event], 0.0);
            assert!((0..counts[3]).contains(&answer.color[event]));
            assert!((0..counts[1]).contains(&answer.diagram[event]));
            assert!((0..counts[2]).contains(&answer.helicity[event]));
        } else {
            assert_eq!(answer.matrix_elements[event], found.matrix_elements[event]);
            assert_eq!(answer.color[event], found.color[event]);
        }
    }

    // A parameter of the card, and the card itself.
    let (mut mass, mut im) = (0.0, 1.0);
    let name = c"mt".as_ptr();
    let get = |mass: &mut f64, im: &mut f64| umami.get(handle, name, mass, im);
    assert_eq!(get(&mut mass, &mut im), OK);
    assert_eq!((mass, im), (173.0, 0.0));
    assert_eq!(umami.set(handle, name, 150.0), OK);
    assert_eq!(get(&mut mass, &mut im), OK);
    assert_eq!(mass, 150.0);
    assert_eq!(
        umami.call(
            handle,
            (count, count, 0),
            &given.inputs(),
            &answer.outputs()
        ),
        OK
    );
    assert!(
        answer.matrix_elements.iter().all(|x| x.is_nan()),
        "momenta of another mass"
    );
    assert_eq!(
        umami.get(handle, c"bwcutoff".as_ptr(), &mut mass, null_mut()),
        2
    );
    assert_eq!(umami.set(handle, c"bwcutoff".as_ptr(), 15.0), 2);
    assert_eq!(umami.set(handle, null(), 15.0), 1);
    assert_eq!(umami.set(handle, name, f64::NAN), 1);
    assert_eq!(umami.free(handle), OK);
}

/// Every status that can come back, and no crash on the way.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of calls")]
fn umami_refuses_what_it_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let process = &generated("g g > t t~")[0];
    let umami = Umami::load(&carrying(
        folder.path(),
        "b.so",
        std::slice::from_ref(process),
    ));
    let mut masses = [0.0; 4];
    let to = masses.as_mut_ptr().cast();
    // SAFETY: as the interface asks, or null, throughout.
    unsafe {
        // Before anything: masses are not known yet.
        assert_eq!(umami.meta_into(5, to), 5);
        assert_eq!(umami.meta_into(10, to), 6);
        assert_eq!(umami.meta_into(-1, to), 6);
        assert_eq!(umami.meta_into(1, null_mut()), 1);
        assert_eq!((umami.initialize)(null_mut(), null()), 1);
        let mut handle = 1 as Handle;
        let card = folder.path().join("no card.dat");
        let card = CString::new(card.to_str().unwrap()).unwrap();
        assert_eq!((umami.initialize)(&raw mut handle, card.as_ptr()), 1);
        assert!(
            handle.is_null() && umami.error().contains("no card.dat"),
            "{}",
            umami.error()
        );
    }
    let handle = umami.handle();
    assert_eq!(umami.meta_into(5, to), OK);
    assert_eq!(masses, [0.0, 0.0, 173.0, 173.0]);
    let counts = [10, 10, 7];
    let there: [&[usize]; 3] = [&[0, 1, 2, 3, 4, 5, 6, 7, 9], &[0], &[0, 1, 2, 3, 4, 6]];
    for ((function, count), there) in umami.supported.iter().zip(counts).zip(there) {
        let (mut table, mut n) = (null(), 0);
        // SAFETY: as the interface asks.
        assert_eq!(unsafe { function(&raw mut table, &raw mut n) }, OK);
        assert_eq!(n, count);
        // SAFETY: as the interface asks.
        let table = unsafe { std::slice::from_raw_parts(table, n as usize) };
        let keys: Vec<usize> = (0..table.len()).filter(|&i| table[i]).collect();
        assert_eq!(keys, there);
        // SAFETY: as the interface asks.
        assert_eq!(unsafe { function(null_mut(), &raw mut n) }, 1);
    }

    let given = Given::new(process, 8);
    let mut found = Found::new(8, 3);
    let inputs = given.inputs();
    let outputs = found.outputs();
    let call = |part, inputs: &[_], outputs: &[_]| umami.call(handle, part, inputs, outputs);
    let all = (8, 8, 0);
    assert_eq!(call(all, &inputs, &outputs), OK);
    // Nothing to do.
    assert_eq!(call((0, 0, 0), &inputs, &outputs), OK);
    assert_eq!(call((0, 8, 8), &[(0, null())], &[(0, null_mut())]), OK);
    assert_eq!(call(all, &inputs, &[]), OK);
    // Keys that are not known, or missing.
    let scalar = given.alpha_s.as_ptr().cast();
    for key in [8, 10, -1, i32::MAX] {
        assert_eq!(call(all, &[inputs[1], (key, scalar)], &outputs), 3);
        assert!(
            umami.error().contains(&format!("no input {key}")),
            "{}",
            umami.error()
        );
    }
    let to: *mut c_void = found.color.as_mut_ptr().cast();
    for key in [5, 7, -1, i32::MAX] {
        assert_eq!(call(all, &inputs, &[(key, to)]), 4);
    }
    assert_eq!(call(all, &inputs[..1], &outputs), 7);
    assert_eq!(call(all, &[], &outputs), 7);
    assert_eq!(call(all, &[(0, null())], &outputs), 7);
    // Pointers.
    assert_eq!(call(all, &[inputs[1], (1, null())], &outputs), 1);
    assert_eq!(call(all, &inputs, &[(0, null_mut())]), 1);
    let odd = given.momenta.as_ptr().wrapping_byte_add(3).cast();
    assert_eq!(call(all, &[(0, odd)], &outputs), 1);
    assert_eq!(call(all, &[inputs[1], inputs[1]], &outputs), 1);
    assert!(umami.error().contains("twice"), "{}", umami.error());
    assert_eq!(call(all, &inputs, &[outputs[1], outputs[1]]), 1);
    let same = [(2, to), (3, to)];
    assert_eq!(call(all, &inputs, &same), 1);
    assert!(umami.error().contains("overlap"), "{}", umami.error());
    let onto = [(0, given.momenta.as_ptr().cast_mut().cast())];
    assert_eq!(call(all, &inputs, &onto), 1);
    // Sizes.
    for part in [
        (8, 7, 0),
        (8, 8, 1),
        (1, 0, 0),
        (usize::MAX, 8, 0),
        (8, usize::MAX, 0),
    ] {
        assert_eq!(call(part, &inputs, &outputs), 1, "{part:?}");
    }
    for part in [
        (usize::MAX, usize::MAX, 1),
        (1, usize::MAX, usize::MAX),
        (1 << 60, 1 << 60, 0),
    ] {
        assert_eq!(call(part, &inputs, &outputs), 1, "{part:?}");
    }
    // Indices.
    for (key, beyond) in [(2, 1), (6, 16), (7, 3)] {
        for index in [beyond, -1, i32::MIN] {
            let mut indices = [0; 8];
            indices[7] = index;
            assert_eq!(
                call(all, &[inputs[1], (key, indices.as_ptr().cast())], &outputs),
                1
            );
            assert!(umami.error().contains("event 7"), "{}", umami.error());
        }
    }
    // Lists.
    // SAFETY: as the interface asks.
    unsafe {
        let run = umami.evaluate;
        let (keys, pointers) = (null(), null());
        assert_eq!(
            run(handle, 8, 8, 0, 1, keys, pointers, 0, null(), null()),
            1
        );
        // Handles.
        for other in [
            null_mut(),
            1 as Handle,
            handle.wrapping_byte_add(1),
            inputs[1].1.cast_mut(),
        ] {
            assert_eq!(umami.call(other, all, &inputs, &outputs), 1);
        }
        assert_eq!(umami.free(null_mut()), OK);
        assert_eq!(umami.free(1 as Handle), 1);
        assert_eq!(umami.free(handle), OK);
        assert_eq!(umami.free(handle), 1);
    }
    assert_eq!(umami.call(handle, all, &inputs, &outputs), 1);
    assert!(
        umami.error().contains("deleted before"),
        "{}",
        umami.error()
    );

    // The library by itself serves what its environment names; nothing here. (Its own test has no P directory around.)
    let mut value = 0;
    let own = Umami::load(&library());
    assert_eq!(own.meta_into(1, (&raw mut value).cast()), 1);
    assert!(own.error().contains("which process?"), "{}", own.error());
}

/// Real emissions as MadGraph7's bridge for next to leading order calls them: what it checks after loading a library,
/// then events of one flavour with g_s, of which it takes all squared orders.
#[test]
#[expect(clippy::too_many_lines, reason = "a library and its calls")]
fn umami_gives_the_squared_orders_of_real_emissions() {
    let folder = tempfile::tempdir().unwrap();
    let orders = [(6, 0), (4, 2), (2, 4)];
    let mut processes = Vec::new();
    for quark in ["u", "d"] {
        for (qcd, qed) in orders {
            let text = format!("{quark} {quark}~ > t t~ g QCD^2=={qcd} QED^2=={qed}");
            processes.extend(generated(&text));
        }
    }
    assert_eq!(processes.len(), 6);
    let carried = Carried {
        processes: processes.iter().cloned().map(Some).collect(),
        squared_orders: 3,
        backend: BackendChoice::Cpu,
        fingerprint: "sha256 of something".into(),
    };
    let copy = attach(&std::fs::read(library()).unwrap(), &library(), &carried).unwrap();
    let path = folder.path().join("libmadmatrix_PMM_B1_R1_scalar.so");
    std::fs::write(&path, copy).unwrap();
    let umami = Umami::load(&path);
    assert_eq!([6, 7, 9, 1].map(|key| umami.meta(key)), [1, 1, 3, 5]);
    let mut text: *const c_char = null();
    assert_eq!(umami.meta_into(8, (&raw mut text).cast()), OK);
    // SAFETY: a string of the library, which is loaded.
    let fingerprint = unsafe { std::ffi::CStr::from_ptr(text) };
    assert_eq!(fingerprint.to_str().unwrap(), carried.fingerprint);
    let handle = umami.handle();
    for count in [1, 5] {
        let given = Given::new(&processes[0], count);
        let g_s: Vec<f64> = (0..count).map(|event| 1.1 + 0.02 * event as f64).collect();
        for flavor in [0, 1] {
            let flavors = vec![flavor; count];
            let inputs = [
                (0, given.momenta.as_ptr().cast()),
                (9, g_s.as_ptr().cast()),
                (2, flavors.as_ptr().cast()),
            ];
            let (mut squared, mut sum) = (vec![0.0; 3 * count], vec![0.0; count]);
            let outputs = [(6, squared.as_mut_ptr().cast())];
            assert_eq!(umami.call(handle, (count, count, 0), &inputs, &outputs), OK);
            let alone = [(0, sum.as_mut_ptr().cast())];
            assert_eq!(umami.call(handle, (count, count, 0), &inputs, &alone), OK);
            let mut both = (vec![0.0; 3 * count], vec![0.0; count]);
            let outputs = [
                (6, both.0.as_mut_ptr().cast()),
                (0, both.1.as_mut_ptr().cast()),
            ];
            assert_eq!(umami.call(handle, (count, count, 0), &inputs, &outputs), OK);
            assert_eq!(both, (squared.clone(), sum.clone()));
            for (event, momenta) in given.rows().chunks_exact(20).enumerate() {
                let legs = momenta.as_chunks::<4>().0;
                let mut total = 0.0;
                for order in 0..3 {
                    let process = &processes[3 * flavor as usize + order];
                    let card = process.model.default_card();
                    let expected = process.evaluate(legs, g_s[event], &card).total();
                    let found = squared[order * count + event];
                    assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
                    total += found;
                }
                assert!((sum[event] / total - 1.0).abs() < 1e-14);
            }
        }
    }
    // Events of both flavours in one call, and one that does not exist.
    let given = Given::new(&processes[0], 2);
    let g_s = [1.2; 2];
    let mut rows = Vec::new();
    for flavors in [[0, 1], [0, 0], [1, 1]] {
        let mut squared = [0f64; 6];
        let inputs = [
            (0, given.momenta.as_ptr().cast()),
            (9, g_s.as_ptr().cast()),
            (2, flavors.as_ptr().cast()),
        ];
        let outputs = [(6, squared.as_mut_ptr().cast())];
        assert_eq!(umami.call(handle, (2, 2, 0), &inputs, &outputs), OK);
        rows.push(squared);
    }
    for order in 0..3 {
        let [mixed, first, second] = [0, 1, 2].map(|i: usize| &rows[i][2 * order..]);
        assert!((mixed[0] / first[0] - 1.0).abs() < 1e-13);
        assert!((mixed[1] / second[1] - 1.0).abs() < 1e-13);
    }
    // A soft gluon that is off its mass shell, as aMC@NLO's generator makes them, and momenta that are none: the bridge
    // gives up a library that refuses events.
    let mut momenta = given.momenta.clone();
    let energy = |leg: usize| 2 * leg;
    momenta[energy(4)] += 0.1;
    momenta[energy(3)] -= 0.1;
    momenta[energy(4) + 1] = f64::NAN;
    let flavors = [0; 2];
    let inputs = [
        (0, momenta.as_ptr().cast()),
        (9, g_s.as_ptr().cast()),
        (2, flavors.as_ptr().cast()),
    ];
    let mut squared = [0f64; 6];
    let outputs = [(6, squared.as_mut_ptr().cast())];
    assert_eq!(umami.call(handle, (2, 2, 0), &inputs, &outputs), OK);
    for (order, on_shell) in squared.chunks(2).zip(rows[1].chunks(2)) {
        assert!(
            (order[0] / on_shell[0] - 1.0).abs() < 0.05,
            "{squared:?} {rows:?}"
        );
        assert!(order[1].is_nan(), "{squared:?}");
    }
    let inputs = [
        (0, given.momenta.as_ptr().cast()),
        (2, [0, 2].as_ptr().cast()),
    ];
    let mut sum = [0.0; 2];
    let outputs = [(0, sum.as_mut_ptr().cast())];
    assert_eq!(umami.call(handle, (2, 2, 0), &inputs, &outputs), 1);
    assert!(umami.error().contains("flavour"), "{}", umami.error());
    // No helicity, colour or diagram belongs to the sum.
    for key in [1, 2, 3, 4, 5] {
        let outputs = [(key, sum.as_mut_ptr().cast())];
        assert_eq!(umami.call(handle, (2, 2, 0), &inputs[..1], &outputs), 4);
    }
}

/// Several matrix elements behind the flavour index: each event is answered as by a library with its own alone.
#[test]
fn umami_knows_the_matrix_elements_behind_the_flavour_index() {
    let folder = tempfile::tempdir().unwrap();
    let processes = generated("p p > t t~");
    let umami = Umami::load(&carrying(folder.path(), "c.so", &processes));
    let (diagrams, flows) = (umami.meta(2) as usize, umami.meta(4));
    assert_eq!((diagrams, umami.meta(3), flows), (4, 32, 4));
    let count = 1500;
    let given = Given::new(&processes[0], count);
    let handle = umami.handle();
    let run = |flavors: &[i32]| {
        let mut found = Found::new(count, diagrams);
        let mut inputs = given.inputs();
        inputs.push((2, flavors.as_ptr().cast()));
        let status = umami.call(handle, (count, count, 0), &inputs, &found.outputs());
        assert_eq!(status, OK, "{}", umami.error());
        found
    };
    let alone = [run(&vec![0; count]), run(&vec![1; count])];
    let mixed: Vec<i32> = (0..count).map(|event| i32::from(event % 3 == 0)).collect();
    let found = run(&mixed);
    for event in 0..count {
        let own = &alone[mixed[event] as usize];
        assert_eq!(found.matrix_elements[event], own.matrix_elements[event]);
        assert_eq!(found.color[event], own.color[event]);
        assert_eq!(found.color[event] >= 2, mixed[event] == 1);
        assert_eq!(found.helicity[event], own.helicity[event]);
        assert_eq!(found.diagram[event], own.diagram[event]);
        assert_eq!(found.diagram[event] == 3, mixed[event] == 1);
        for diagram in 0..diagrams {
            assert_eq!(
                found.amp2[event + count * diagram],
                own.amp2[event + count * diagram]
            );
        }
    }
    umami.free(handle);
}

/// Handles of several threads on one array, created and freed all the while, some of them in a child of the program.
#[test]
fn umami_serves_many_threads() {
    const THREADS: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let process = &generated("g g > t t~ g")[0];
    let umami = Umami::load(&carrying(
        folder.path(),
        "d.so",
        std::slice::from_ref(process),
    ));
    let (count, diagrams) = (401, 16);
    let given = Given::new(process, count);
    let first = umami.handle();
    let mut alone = Found::new(count, diagrams);
    assert_eq!(
        umami.call(first, (count, count, 0), &given.inputs(), &alone.outputs()),
        OK
    );
    /// Addresses that several threads use, each for events of its own.
    struct Shared(Vec<(c_int, *const c_void)>, Vec<(c_int, *mut c_void)>);
    // SAFETY: as the type says.
    unsafe impl Sync for Shared {}
    // Elsewhere nobody reads the last one.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_assignments))]
    let mut found = Found::new(count, diagrams);
    for _ in 0..10 {
        found = Found::new(count, diagrams);
        let shared = Shared(given.inputs(), found.outputs());
        let (shared, umami) = (&shared, &umami);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    let mine = (count * thread / THREADS, count * (thread + 1) / THREADS);
                    for begin in (mine.0..mine.1).step_by(37) {
                        let events = 37.min(mine.1 - begin);
                        let handle = umami.handle();
                        let status =
                            umami.call(handle, (events, count, begin), &shared.0, &shared.1);
                        assert_eq!(status, OK);
                        // SAFETY: a handle of our own.
                        assert_eq!(umami.free(handle), OK);
                    }
                });
            }
        });
        assert_eq!(found, alone);
    }
    // Traps of the caller's do not fire, and are there again afterwards.
    #[cfg(target_arch = "x86_64")]
    {
        static NONE: u32 = 0x1f80;
        static TRAPS: u32 = 0x1f80 & !(0x0080 | 0x0200 | 0x0400);
        let mut after = 0u32;
        // SAFETY: all traps but those of underflow and rounding are switched on, and off again.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const TRAPS);
            let status = umami.call(first, (count, count, 0), &given.inputs(), &found.outputs());
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut after);
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const NONE);
            assert_eq!(status, OK);
        }
        assert_eq!(after & NONE, TRAPS);
        assert_eq!(found, alone);
    }
    #[cfg(unix)]
    {
        found = Found::new(count, diagrams);
        // SAFETY: the child evaluates and ends without handlers; the C library sees to its allocator's locks.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let status = umami.call(first, (count, count, 0), &given.inputs(), &found.outputs());
            let right = status == OK && found == alone;
            // SAFETY: it takes any number.
            unsafe { libc::_exit(if right { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: a child of this program.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7,
            "{status:#x}"
        );
    }
    umami.free(first);
}

/// A library for GPUs says so, and where there is none that no handle can be had. (tests/gpu calls it.)
#[test]
fn umami_for_gpus_asks_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let process = &generated("g g > t t~")[0];
    let (cuda, hip) = (BackendChoice::Cuda, BackendChoice::Hip);
    for (backend, platform, device) in [(cuda, Platform::Cuda, 1), (hip, Platform::Hip, 2)] {
        let name = format!("{device}.so");
        let path = carrying_for(backend, folder.path(), &name, std::slice::from_ref(process));
        let umami = Umami::load(&path);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|key| umami.meta(key)),
            [device, 4, 3, 16, 2]
        );
        let [inputs, outputs] = [0, 2].map(|list: usize| {
            let (mut table, mut n) = (null(), 0);
            // SAFETY: as the interface asks; the table has as many entries as it says.
            unsafe {
                assert_eq!(umami.supported[list](&raw mut table, &raw mut n), OK);
                std::slice::from_raw_parts(table, n as usize)
            }
        });
        assert_eq!(outputs, [true; 7]);
        // Neither the channel nor g_s.
        assert_eq!(&inputs[..8], [true; 8]);
        assert_eq!(&inputs[8..], [false; 2]);
        let mut handle = null_mut();
        // SAFETY: as the interface asks.
        let status = unsafe { (umami.initialize)(&raw mut handle, c"".as_ptr()) };
        if mebridge::gpu::cuda::devices(platform).is_ok() {
            assert_eq!((status, umami.free(handle)), (OK, OK), "{}", umami.error());
        } else {
            assert_eq!(status, 2);
            assert!(
                handle.is_null() && umami.error().contains("GPU"),
                "{}",
                umami.error()
            );
            assert_eq!(umami.meta_into(5, [0.0; 4].as_mut_ptr().cast()), 5);
        }
    }
}

/// A file that was renamed, cut off, changed or replaced.
#[test]
fn a_library_finds_what_it_carries() {
    let folder = tempfile::tempdir().unwrap();
    let processes = generated("g g > t t~");
    let path = carrying(folder.path(), "e.so", &processes);
    let bytes = std::fs::read(&path).unwrap();
    let legs = |umami: &Umami| {
        let mut legs = 0;
        let status = umami.meta_into(1, (&raw mut legs).cast());
        if status == OK {
            Ok(legs)
        } else {
            Err(umami.error())
        }
    };
    // Renamed before it is asked.
    let umami = Umami::load(&path);
    let moved = folder.path().join("moved.so");
    std::fs::rename(&path, &moved).unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(legs(&umami), Ok(4));
    drop(umami);
    let variant = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        legs(&Umami::load(&path)).unwrap_err()
    };
    let text = variant("short.so", &bytes[..bytes.len() - 5]);
    assert!(
        text.contains("short.so") && text.contains("ends too early"),
        "{text}"
    );
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 1;
    let text = variant("changed.so", &changed);
    assert!(text.contains("changed, or replaced"), "{text}");
    // Removed, and another one in its place, before it is asked.
    let replaced = folder.path().join("replaced.so");
    std::fs::write(&replaced, &bytes).unwrap();
    let umami = Umami::load(&replaced);
    std::fs::remove_file(&replaced).unwrap();
    std::fs::rename(
        carrying(folder.path(), "f.so", &generated("g g > g g")),
        &replaced,
    )
    .unwrap();
    let text = legs(&umami).unwrap_err();
    assert!(text.contains("make it again"), "{text}");
}

/// A standalone output has neither channels nor colour flows to choose by diagrams.
#[test]
fn umami_serves_a_process_without_channels() {
    let folder = tempfile::tempdir().unwrap();
    let process = generated("g g > t t~").remove(0);
    let with = Umami::load(&carrying(
        folder.path(),
        "with.so",
        std::slice::from_ref(&process),
    ));
    let bare = Process {
        channels: Default::default(),
        ..process.clone()
    };
    let umami = Umami::load(&carrying(folder.path(), "g.so", &[bare]));
    let (mut table, mut n) = (null(), 0);
    // SAFETY: as the interface asks; the table has as many entries as it says.
    let there = unsafe {
        assert_eq!(umami.supported[2](&raw mut table, &raw mut n), OK);
        std::slice::from_raw_parts(table, n as usize)
    };
    assert_eq!(there, [true, false, true, true, false, false, true]);
    let count = 203;
    let given = Given::new(&process, count);
    let run = |umami: &Umami, which: &[usize]| {
        let handle = umami.handle();
        let mut found = Found::new(count, 3);
        let outputs = found.outputs();
        let outputs: Vec<_> = which.iter().map(|&i| outputs[i]).collect();
        let status = umami.call(handle, (count, count, 0), &given.inputs(), &outputs);
        umami.free(handle);
        (status, found)
    };
    let (status, expected) = run(&with, &[0, 1, 2, 3, 4]);
    assert_eq!(status, OK);
    // Squared diagrams, and the diagram.
    for output in [0, 2] {
        assert_eq!(run(&umami, &[1, output]).0, 4);
    }
    let (status, found) = run(&umami, &[1, 3, 4]);
    assert_eq!(status, OK, "{}", umami.error());
    let pairs = found.matrix_elements.iter().zip(&expected.matrix_elements);
    assert!(pairs.into_iter().all(|(x, y)| (x - y).abs() <= 1e-13 * y));
    assert_eq!(found.helicity, expected.helicity);
    // Both flows, whatever the diagram.
    for flow in 0..2 {
        let share = found.color.iter().filter(|&&c| c == flow).count();
        assert!(share > count / 4, "{share} of {count}");
    }
}
