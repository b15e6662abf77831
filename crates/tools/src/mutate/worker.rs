//! Runs the importer in a separate process, which protects this one from crashes.

use mebridge::process::Process;
use mebridge::{Error, Result};
use mebridge_oracle::fortran_build::Channel;
use mebridge_oracle::library;
use mebridge_oracle::points::Point;
use mebridge_oracle::{child, matrix_element::MatrixElement};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Time limit of an import.
const LIMIT: Duration = Duration::from_secs(20);
/// Memory limit of an import, in bytes.
const MEMORY: u64 = 6 << 30;
/// Number of channels that are compared.
const CHANNELS: usize = 2;

/// Result of the importer for a directory, and the answers of the process.
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

/// One answer, including the chosen helicity's row of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// As text, because JSON has no NaN.
    pub value: String,
    /// Size of the terms before cancellations, as text.
    pub terms: String,
    pub helicity: u32,
    pub row: Vec<i8>,
    pub color: u32,
}

/// Task of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub directory: PathBuf,
    /// Number of the matrix element, from 0.
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

/// Runs the worker: replies once to each line.
pub fn work(task: &Path) -> Result<()> {
    let bytes = std::fs::read(task).map_err(Error::io(task))?;
    let parsed: Task = serde_json::from_slice(&bytes).map_err(|e| Error::io(task)(e.into()))?;
    let points = parsed.points();
    // Panics are reported in the reply.
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

/// Returns the first and the last configuration that have a diagram with a square.
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

/// A worker process, as seen by its parent.
pub struct Worker {
    task: PathBuf,
    running: Option<Running>,
}

struct Running {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
}

/// Reason for a missing reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Hangs,
    Crashes,
}

impl Worker {
    /// Makes a worker for the task in this file; its process is started at the first request.
    pub fn new(task: PathBuf) -> Worker {
        Worker {
            task,
            running: None,
        }
    }

    /// Imports and evaluates the current contents of the directory.
    pub fn request(&mut self) -> Result<std::result::Result<Reply, Failure>> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start(&self.task)?,
        };
        // If the process is gone, the missing reply shows it.
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
        // The process may have ended already.
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
