//! One start of one row: both libraries are opened in this program, compared, warmed up and timed in turn. A row has
//! several starts, each a program of its own: where memory happens to lie differs between them, a library that ends
//! the program takes one row with it, and UMAMI has one process for a library file.
//!
//! Findings are written to stdout, a line each, as [`Message`] says.

use crate::c::Bridge;
use crate::calls::{self, Calls};
use crate::device::Device;
use crate::event_set::{self, EventSet};
use crate::library::Library;
use crate::machine::Clock;
use crate::options::{self, Options, Start};
use crate::rows::{Backend, Call, Row};
use crate::statistics::Round;
use std::path::{Path, PathBuf};

/// Seconds of calls that are timed by one library in one round.
const SHARE: f64 = 0.03;
/// Seconds of calls before them.
const WARM_UP: f64 = 0.03;
/// Calls before them on a GPU, which tries out sizes of blocks in the first ones.
const WARM_UP_CALLS_ON_GPU: usize = 40;
/// Seconds that a call may take by the number of its events, of which it has [`FEWEST`] in any case.
const MAX_CALL_SECONDS: f64 = 0.015;
/// The same on a GPU.
const MAX_CALL_SECONDS_ON_GPU: f64 = 0.06;
/// Fewest events of a call.
const FEWEST: usize = 64;
/// Most events of a call: what MadEvent asks for at once.
const MAX_EVENTS: usize = 8192;
/// Most events of a call on a GPU.
const MAX_EVENTS_ON_GPU: usize = 16384;
/// Seconds that the different events of calls with one event each take in a call of all of them.
const SINGLE_EVENTS: f64 = 0.02;
/// Fewest and most of these events.
const SINGLE: [usize; 2] = [4, 64];
/// By how much |M|^2 may differ, of itself, in double and in single precision.
const TOLERANCES: [f64; 2] = [1e-6, 1e-2];

/// What a start says.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Events of a call, and their channels.
    Size(usize, Vec<i32>),
    /// One round.
    Round(Round),
    /// Why the row is left out.
    Skipped(String),
    /// What is wrong with the row.
    Wrong(String),
}

impl Message {
    /// As text, without the end of the line.
    pub fn write(&self) -> String {
        match self {
            Message::Size(events, channels) => {
                let channels: String = channels.iter().map(|c| format!(",{c}")).collect();
                format!("size {events}{channels}")
            }
            Message::Round(round) => format!("round {:e} {:e}", round.old, round.new),
            Message::Skipped(why) => format!("skipped {}", why.replace('\n', " ")),
            Message::Wrong(what) => format!("wrong {}", what.replace('\n', " ")),
        }
    }

    /// From text; `None` where it is something else, which a library may have written.
    pub fn read(line: &str) -> Option<Message> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "size" => options::size(rest).ok().map(|(n, c)| Message::Size(n, c)),
            "round" => {
                let (old, new) = rest.split_once(' ')?;
                Some(Message::Round(Round {
                    old: old.parse().ok()?,
                    new: new.parse().ok()?,
                }))
            }
            "skipped" => Some(Message::Skipped(rest.into())),
            "wrong" => Some(Message::Wrong(rest.into())),
            _ => None,
        }
    }
}

/// Runs this start, and writes what it finds.
pub fn run(options: &Options, start: &Start) {
    let say = |line: Message| println!("{}", line.write());
    if let Err(line) = measure(options, start, &say) {
        say(line);
    }
}

/// The line that ends a start.
type Outcome<T> = Result<T, Message>;

fn measure(options: &Options, start: &Start, say: &dyn Fn(Message)) -> Outcome<()> {
    let row = options
        .rows()
        .into_iter()
        .find(|row| row.to_string() == start.row);
    let row = row.ok_or(Message::Wrong("there is no such row".into()))?;
    let [old, new] = &start.caches;
    let old = Library::open("old", &options.old, old.clone()).map_err(Message::Wrong)?;
    let new = Library::open("new", &options.new, new.clone()).map_err(Message::Wrong)?;
    let symbol = calls::symbol(row.call);
    if !old.has(symbol) {
        return Err(Message::Skipped(format!("the old library has no {symbol}")));
    }
    if !new.has(symbol) {
        return Err(Message::Wrong(format!("the new library has no {symbol}")));
    }
    let source = row
        .source(options.outputs.as_deref())
        .map_err(Message::Skipped)?;
    let masses = event_set::masses(row.process, &source);
    let libraries = [old, new];
    let source = match source.is_dir() {
        // There the plugin looks for the parameter card.
        true => enter(&source).map_err(Message::Wrong)?,
        false => source,
    };
    let source = source.to_string_lossy();
    let gpu = match options.backend {
        Backend::Cpu => None,
        Backend::Cuda => Some(Device::open().map_err(Message::Wrong)?),
    };
    let free_bytes = || gpu.as_ref().map(Device::free_bytes).transpose();
    let at_first = free_bytes().map_err(Message::Wrong)?;
    let switches = |library: &Library, backend| {
        let memory = at_first.zip(free_bytes()?).map(share_of_memory);
        let mut switches = vec![
            ("PROCESS", &*source),
            ("FPTYPE", row.precision),
            ("THREADS", "1"),
            ("IGRAPH", "yes"),
            ("BACKEND", backend),
        ];
        switches.extend(memory.as_deref().map(|share| ("GPUMEMORY", share)));
        switches.extend(row.simd.map(|level| ("SIMD", level)));
        library.set_switches(&switches);
        Ok::<(), String>(())
    };
    let backend = match options.backend {
        Backend::Cpu => "cpu",
        Backend::Cuda => "cuda",
    };
    let (events, channels) = match &start.size {
        Some(size) => size.clone(),
        None => {
            let channels = of_both(&libraries, |library| {
                switches(library, "cpu")?;
                channels(library, &row, &masses)
            })?;
            if channels[0] != channels[1] {
                return Err(Message::Wrong(
                    "the libraries have different channels".into(),
                ));
            }
            let [channels, _] = channels;
            let [old, new] = of_both(&libraries, |library| {
                switches(library, backend)?;
                time_of_an_event(library, &masses, &channels, options.backend)
            })?;
            let events = events_of_a_call(old.max(new), row.call, options.backend);
            (events, channels)
        }
    };
    say(Message::Size(events, channels.clone()));

    let event_set = EventSet::new(&masses, events);
    let in_turn: Vec<i32> = channels.iter().copied().cycle().take(events).collect();
    let device = gpu.as_ref().filter(|_| row.call == Call::Umami);
    let mut both: [Option<Box<dyn Calls>>; 2] = [None, None];
    let mut answers = [Vec::new(), Vec::new()];
    for i in order(start.number) {
        let library = &libraries[i];
        switches(library, backend).map_err(Message::Wrong)?;
        let make = || {
            calls::calls(library, row.call, &event_set, &in_turn, device).map_err(Message::Wrong)
        };
        if device.is_some() && start.number == 0 {
            // The GPU's code of samples is compiled while tables answer. What goes waits for its compiler, and what
            // comes next finds the code. (That of calls was compiled when an event was timed.)
            make()?.answers().map_err(Message::Wrong)?;
        }
        let mut calls = make()?;
        answers[i] = calls.answers().map_err(Message::Wrong)?;
        both[i] = Some(calls);
    }
    compare(&answers, row.precision).map_err(Message::Wrong)?;
    let [Some(old), Some(new)] = both else {
        unreachable!("both were made")
    };
    let mut both = [old, new];
    let mut repetitions = [0, 0];
    for i in order(start.number) {
        repetitions[i] = warm_up(&mut *both[i], options.backend).map_err(Message::Wrong)?;
    }
    let clock = Clock::new(options.backend);
    for round in 0..rounds(options, start.number) {
        let mut times = [0.0, 0.0];
        for i in order(start.number + round) {
            times[i] = time(&mut *both[i], repetitions[i], clock).map_err(Message::Wrong)?;
        }
        let [old, new] = times;
        say(Message::Round(Round { old, new }));
    }
    Ok(())
}

/// Makes a folder the working directory; its whole path.
fn enter(folder: &Path) -> Result<PathBuf, String> {
    let whole = folder.canonicalize();
    let entered = whole.and_then(|whole| std::env::set_current_dir(&whole).map(|()| whole));
    entered.map_err(|e| format!("{}: {e}", folder.display()))
}

/// What a bridge may take of the free memory of a GPU: 0.4 of what was free at first. If the bridge that is made first
/// took more, the other one would cut large calls into smaller chunks.
fn share_of_memory((at_first, now): (usize, usize)) -> String {
    let share = 0.4 * at_first as f64 / now as f64;
    format!("{:.4}", share.min(1.0))
}

/// Which library is first: every other time the new one.
fn order(number: usize) -> [usize; 2] {
    match number % 2 {
        0 => [0, 1],
        _ => [1, 0],
    }
}

/// Starts of a row. On a GPU each takes seconds.
pub fn starts(options: &Options) -> usize {
    match options.backend {
        Backend::Cpu => options.rounds.min(3),
        Backend::Cuda => 1,
    }
}

/// Rounds of a start, all of which together have as many as were asked for.
fn rounds(options: &Options, number: usize) -> usize {
    let starts = starts(options);
    options.rounds * (number + 1) / starts - options.rounds * number / starts
}

/// What both libraries say. One that fails is a reason to leave the row out where it is the old one, or where both do.
/// The plugin's library cannot be asked: it is taken to say the same as the new one.
fn of_both<T>(
    libraries: &[Library; 2],
    ask: impl Fn(&Library) -> Result<T, String>,
) -> Outcome<[T; 2]> {
    let [old, new] = libraries;
    let requested = if old.has("mebridge_create") { old } else { new };
    match (ask(requested), ask(new)) {
        (Ok(old), Ok(new)) => Ok([old, new]),
        (Err(old), _) => Err(Message::Skipped(old)),
        (Ok(_), Err(new)) => Err(Message::Wrong(new)),
    }
}

/// The channels with which the row's events are evaluated: none, the first of the process, or all.
fn channels(library: &Library, row: &Row, masses: &[f64]) -> Result<Vec<i32>, String> {
    let event_set = EventSet::new(masses, 1);
    let bridge = Bridge::new(library, event_set.events)?;
    let legs = bridge.number("mebridge_legs")?;
    if legs != event_set.legs {
        return Err(format!("the {} library finds {legs} legs", library.name));
    }
    bridge.run(&event_set, None)?;
    let all = 1..=bridge.number("mebridge_diagrams")? as i32;
    // A diagram without a configuration is no channel, which is an error.
    let mut there = all.filter(|&channel| bridge.run(&event_set, Some(&[channel])).is_ok());
    let channels: Vec<i32> = match row.call {
        Call::Channel => there.by_ref().take(1).collect(),
        Call::Mixed => there.collect(),
        // Its squared diagrams take as long as a channel. There may be none.
        Call::Umami => return Ok(there.by_ref().take(1).collect()),
        Call::Alone | Call::OneEvent => return Ok(Vec::new()),
    };
    match channels.is_empty() {
        true => Err(format!(
            "the {} library: this process has no channels",
            library.name
        )),
        false => Ok(channels),
    }
}

/// Seconds for an event of a call with few of them.
fn time_of_an_event(
    library: &Library,
    masses: &[f64],
    channels: &[i32],
    backend: Backend,
) -> Result<f64, String> {
    let events = match backend {
        Backend::Cpu => FEWEST,
        Backend::Cuda => 16 * FEWEST,
    };
    let event_set = EventSet::new(masses, events);
    let channels: Vec<i32> = channels.iter().copied().cycle().take(events).collect();
    let channels = (!channels.is_empty()).then_some(&channels[..]);
    let bridge = Bridge::new(library, events)?;
    let clock = Clock::new(backend);
    let mut shortest = f64::INFINITY;
    // The first call makes the plan.
    for call in 0..4 {
        let begun = clock.seconds();
        bridge.run(&event_set, channels)?;
        if call > 0 {
            shortest = shortest.min(clock.seconds() - begun);
        }
    }
    Ok(shortest / events as f64)
}

/// The largest power of two with which a call is short enough; how many different events there are for calls with
/// one.
fn events_of_a_call(time_of_an_event: f64, call: Call, backend: Backend) -> usize {
    if call == Call::OneEvent {
        let [fewest, most] = SINGLE;
        return ((SINGLE_EVENTS / time_of_an_event) as usize).clamp(fewest, most);
    }
    let (longest, most) = match backend {
        Backend::Cpu => (MAX_CALL_SECONDS, MAX_EVENTS),
        Backend::Cuda => (MAX_CALL_SECONDS_ON_GPU, MAX_EVENTS_ON_GPU),
    };
    let mut events = FEWEST;
    while events < most && 2.0 * events as f64 * time_of_an_event <= longest {
        events *= 2;
    }
    events
}

/// What is wrong with the answers, if anything is.
fn compare(answers: &[Vec<f64>; 2], precision: &str) -> Result<(), String> {
    let tolerance = TOLERANCES[usize::from(precision == "f")];
    let [old, new] = answers;
    for (event, (old, new)) in old.iter().zip(new).enumerate() {
        let largest = old.abs().max(new.abs());
        // A number that is not finite is no answer, even where both libraries give it.
        let same = largest.is_finite() && (old - new).abs() <= tolerance * largest;
        if !same {
            return Err(format!(
                "|M|^2 of event {event} is {old:e} by the old library, {new:e} by the new one"
            ));
        }
    }
    Ok(())
}

/// Calls until plans are made, sizes tried out and memory is near; then how many make a share of a round.
fn warm_up(calls: &mut dyn Calls, backend: Backend) -> Result<usize, String> {
    let fewest = match backend {
        Backend::Cpu => 2,
        Backend::Cuda => WARM_UP_CALLS_ON_GPU,
    };
    let clock = Clock::new(backend);
    let begun = clock.seconds();
    let mut each = Vec::new();
    while each.len() < fewest || clock.seconds() - begun < WARM_UP {
        let begun = clock.seconds();
        calls.call()?;
        each.push(clock.seconds() - begun);
    }
    // Not the shortest: the CPU's clock of a virtual machine may stand still for a call, which then is repeated for ever.
    each.sort_unstable_by(f64::total_cmp);
    Ok((SHARE / each[each.len() / 4]).round().max(1.0) as usize)
}

/// Seconds for an event.
fn time(calls: &mut dyn Calls, repetitions: usize, clock: Clock) -> Result<f64, String> {
    let begun = clock.seconds();
    for _ in 0..repetitions {
        calls.call()?;
    }
    Ok((clock.seconds() - begun) / (repetitions * calls.events()) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        for line in [
            Message::Size(64, vec![]),
            Message::Size(8192, vec![1, 2]),
            Message::Round(Round {
                old: 1.25e-7,
                new: 3.0,
            }),
            Message::Skipped("the old library has no umami_matrix_element".into()),
            Message::Wrong("it is".into()),
        ] {
            assert_eq!(Message::read(&line.write()), Some(line));
        }
        assert_eq!(Message::read("something else"), None);
    }

    #[test]
    fn a_call_has_as_many_events_as_are_quick() {
        assert_eq!(
            events_of_a_call(1e-9, Call::Alone, Backend::Cpu),
            MAX_EVENTS
        );
        assert_eq!(
            events_of_a_call(1e-9, Call::Alone, Backend::Cuda),
            MAX_EVENTS_ON_GPU
        );
        assert_eq!(events_of_a_call(1.0, Call::Alone, Backend::Cpu), FEWEST);
        assert_eq!(events_of_a_call(1e-4, Call::Alone, Backend::Cpu), 128);
    }

    #[test]
    fn single_events_are_few_where_they_are_slow() {
        let events = |time| events_of_a_call(time, Call::OneEvent, Backend::Cpu);
        assert_eq!([1e-9, 2e-3, 1.0].map(events), [64, 10, 4]);
    }

    #[test]
    fn different_numbers_are_found() {
        let compare = |old, new, precision| compare(&[vec![1.0, old], vec![1.0, new]], precision);
        assert!(compare(2.0, 2.0 + 1e-6, "d").is_ok());
        assert!(
            compare(2.0, 2.0 + 1e-5, "d")
                .unwrap_err()
                .contains("event 1")
        );
        assert!(compare(2.0, 2.0 + 1e-5, "f").is_ok());
        assert!(compare(2.0, 2.1, "f").is_err());
        assert!(compare(0.0, 0.0, "d").is_ok());
        assert!(compare(f64::NAN, 1.0, "d").is_err());
        assert!(compare(f64::NAN, f64::NAN, "d").is_err());
        assert!(compare(f64::INFINITY, 1.0, "d").is_err());
    }
}
