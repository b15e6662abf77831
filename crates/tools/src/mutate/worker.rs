//! The importer in a process of its own, so that nothing that it may do to itself ends the rest.

use mebridge::process::Process;
use mebridge::{Error, Result};
use mebridge_oracle::library;
use mebridge_oracle::points::Point;
use mebridge_oracle::workshop::Channel;
use mebridge_oracle::{child, matrix_element::MatrixElement};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// No import may take longer.
const LIMIT: Duration = Duration::from_secs(20);
/// Nor more memory.
const MEMORY: u64 = 6 << 30;
/// Channels that are compared.
const CHANNELS: usize = 2;

/// What the importer made of a directory, and what the process answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// It refused.
    Refused(String),
    /// It panicked, or what it accepted did.
    Panicked(String),
    /// It accepted: answers without a channel, then those of each channel.
    Accepted {
        channels: Vec<(u32, u32)>,
        answers: Vec<Answer>,
    },
}

/// One answer; the helicity as its row of the table too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// As text, for JSON has no NaN.
    pub value: String,
    /// What it is without cancellations, as text.
    pub terms: String,
    pub helicity: u32,
    pub row: Vec<i8>,
    pub color: u32,
}

/// What a worker is to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub directory: PathBuf,
    /// Which matrix element of it, from 0.
    pub element: usize,
    pub channels: bool,
    pub points: Vec<(Vec<f64>, f64, f64, f64)>,
}

impl Task {
    pub fn new(
        directory: PathBuf,
        index: usize,
        element: &MatrixElement,
        points: &[Point],
    ) -> Task {
        let points = points.iter();
        Task {
            directory,
            element: index,
            channels: element.has_channels(),
            points: points
                .map(|p| (p.momenta.clone(), p.g, p.random_helicity, p.random_color))
                .collect(),
        }
    }

    fn points(&self) -> Vec<Point> {
        let points = self.points.iter().cloned();
        points
            .map(|(momenta, g, random_helicity, random_color)| Point {
                momenta,
                g,
                random_helicity,
                random_color,
            })
            .collect()
    }
}

/// The worker's side: one reply for each line.
pub fn work(task: &Path) -> Result<()> {
    let bytes = std::fs::read(task).map_err(Error::io(task))?;
    let parsed: Task = serde_json::from_slice(&bytes).map_err(|e| Error::io(task)(e.into()))?;
    let points = parsed.points();
    // Panics are told in the reply.
    std::panic::set_hook(Box::new(|_| {}));
    let (stdin, mut stdout) = (std::io::stdin(), std::io::stdout());
    for line in stdin.lock().lines() {
        line.map_err(Error::io("stdin"))?;
        let reply = reply(&parsed, &points);
        let text = serde_json::to_string(&reply).map_err(|e| Error::io("stdout")(e.into()))?;
        writeln!(stdout, "{text}").map_err(Error::io("stdout"))?;
        stdout.flush().map_err(Error::io("stdout"))?;
    }
    Ok(())
}

fn reply(task: &Task, points: &[Point]) -> Reply {
    let process = &match library::import(&task.directory, None, task.element) {
        Ok(process) => process,
        Err(reason) => match reason.strip_prefix("PANIC ") {
            Some(message) => return Reply::Panicked(format!("import: {message}")),
            None => return Reply::Refused(reason),
        },
    };
    let channels = match task.channels {
        true => channels(process),
        false => Vec::new(),
    };
    let mut answers = Vec::new();
    for channel in std::iter::once(None).chain(channels.iter().copied().map(Some)) {
        match library::plain_or_panic(process, points, channel) {
            Ok(found) => answers.extend(found.iter().map(|a| in_text(process, a))),
            Err(message) => return Reply::Panicked(format!("evaluation: {message}")),
        }
    }
    Reply::Accepted {
        channels: channels.iter().map(|c| (c.diagram, c.config)).collect(),
        answers,
    }
}

fn in_text(process: &Process, answer: &library::Answer) -> Answer {
    let row = (answer.helicity as usize).checked_sub(1);
    let row = row.and_then(|row| process.helicities.get(row));
    Answer {
        value: format!("{:e}", answer.value),
        terms: format!("{:e}", answer.terms),
        helicity: answer.helicity,
        row: row.cloned().unwrap_or_default(),
        color: answer.color,
    }
}

/// The first and the last configuration that have a diagram with a square.
fn channels(process: &Process) -> Vec<Channel> {
    let has =
        |diagram: u32| diagram != 0 && process.channels.amp2.iter().any(|a| a.diagram == diagram);
    let configs = (1..).zip(&process.channels.config_diagram);
    let all: Vec<Channel> = configs
        .filter(|(_, diagram)| has(**diagram))
        .map(|(config, &diagram)| Channel { diagram, config })
        .collect();
    let mut some: Vec<Channel> = all.first().into_iter().chain(all.last()).copied().collect();
    some.dedup();
    some.truncate(CHANNELS);
    some
}

/// The other side.
pub struct Worker {
    task: PathBuf,
    running: Option<Running>,
}

struct Running {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
}

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Hangs,
    Crashes,
}

impl Worker {
    /// A worker for the task in this file, started when it is first asked.
    pub fn new(task: PathBuf) -> Worker {
        Worker {
            task,
            running: None,
        }
    }

    /// Imports and evaluates what is in the directory now.
    pub fn ask(&mut self) -> Result<std::result::Result<Reply, Failure>> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start(&self.task)?,
        };
        // If it is gone, that shows when it does not reply.
        let _ = writeln!(running.requests, "go").and_then(|()| running.requests.flush());
        let failure = match running.replies.recv_timeout(LIMIT) {
            Ok(line) => {
                self.running = Some(running);
                let reply = serde_json::from_str(&line);
                return reply.map(Ok).map_err(|e| Error::io("worker")(e.into()));
            }
            Err(RecvTimeoutError::Timeout) => Failure::Hangs,
            Err(RecvTimeoutError::Disconnected) => Failure::Crashes,
        };
        // It may be gone already.
        let _ = running.child.kill();
        running.child.wait().map_err(Error::io("worker"))?;
        Ok(Err(failure))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

fn start(task: &Path) -> Result<Running> {
    let me = std::env::current_exe().map_err(Error::io("mebridge"))?;
    let mut command = Command::new(me);
    command.arg("mutate").arg("--worker").arg(task);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    child::limit_resources(&mut command, Some(MEMORY));
    let mut child = command.spawn().map_err(Error::io("worker"))?;
    let nothing = || Error::io("worker")(std::io::Error::other("has no pipes"));
    let requests = child.stdin.take().ok_or_else(nothing)?;
    let output = child.stdout.take().ok_or_else(nothing)?;
    let (send, replies) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { break };
            if send.send(line).is_err() {
                break;
            }
        }
    });
    Ok(Running {
        child,
        requests,
        replies,
    })
}
