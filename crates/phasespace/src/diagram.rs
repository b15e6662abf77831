//! What a channel is made of: a diagram as a tree of lines.

use std::str::FromStr;

/// A line of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// A leg that comes in: 0 or 1.
    In(usize),
    /// A leg that goes out, from 0.
    Out(usize),
    /// A propagator, from 0.
    Propagator(usize),
}

impl FromStr for Edge {
    type Err = Error;

    /// `i0`, `o2` or `p1`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Name(text.to_owned());
        let number = text.get(1..).and_then(|rest| rest.parse().ok());
        let number = number.ok_or_else(wrong)?;
        match text.as_bytes()[0] {
            b'i' => Ok(Edge::In(number)),
            b'o' => Ok(Edge::Out(number)),
            b'p' => Ok(Edge::Propagator(number)),
            _ => Err(wrong()),
        }
    }
}

/// A particle that a diagram exchanges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagator {
    /// GeV, not negative.
    pub mass: f64,
    /// GeV, not negative.
    pub width: f64,
}

/// A diagram with two legs that come in.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    /// Of the legs that go out, GeV.
    pub masses: Vec<f64>,
    /// By number.
    pub propagators: Vec<Propagator>,
    /// The lines that meet at each vertex.
    pub vertices: Vec<Vec<Edge>>,
}

/// What is wrong with a diagram.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A name of a line.
    #[error("{0:?} is no line of a diagram: i0, i1, o0, p0 and the like are")]
    Name(String),
    /// It is no tree.
    #[error("the diagram is no tree of its lines: {0}")]
    Tree(&'static str),
    /// More legs than a set of them holds.
    #[error("the diagram has {0} legs that go out; {MOST_LEGS} are the most")]
    Legs(usize),
    /// Masses or energies.
    #[error("{0} GeV are no mass, width or energy")]
    Number(f64),
    /// No energy is left.
    #[error("the process needs {0} GeV at least, and has {1}")]
    Energy(f64, f64),
    /// One particle has no energy but its mass.
    #[error(
        "a particle that goes out alone has the energy of its mass, {0} GeV: its events need beams with densities"
    )]
    Alone(f64),
    /// A particle that comes in decays.
    #[error(
        "a particle of {0} GeV that comes in can decay into what goes out beside it, of {1} GeV at least, and a particle \
         of {2} GeV, which is exchanged on its mass shell then: the cross section is infinite; change the masses, or \
         leave the diagram out"
    )]
    Unstable(f64, f64, f64),
}

/// Legs that go out, as bits.
pub const MOST_LEGS: usize = 16;

/// A set of legs that go out.
pub type Legs = u32;

/// What hangs on a line on the side that goes out.
#[derive(Clone, Debug)]
pub struct OutgoingSide {
    /// The legs at its ends.
    pub legs: Legs,
    /// Unless it is a leg, what is exchanged.
    pub propagator: Option<Propagator>,
    /// The number of that.
    pub number: Option<usize>,
    /// Where it splits.
    pub children: Vec<OutgoingSide>,
}

impl OutgoingSide {
    fn lines(&self, found: &mut Vec<(usize, Legs)>) {
        found.extend(self.number.map(|number| (number, self.legs)));
        for child in &self.children {
            child.lines(found);
        }
    }
}

/// The vertices from one leg that comes in to the other.
#[derive(Clone, Debug)]
pub struct Spine {
    /// What goes out at each vertex.
    pub out: Vec<Vec<OutgoingSide>>,
    /// What is exchanged between each vertex and the next.
    pub exchanged: Vec<Propagator>,
    /// The numbers of these.
    pub numbers: Vec<usize>,
}

/// Vertices, and lines between them.
type Path = (Vec<usize>, Vec<Edge>);

impl Diagram {
    /// The tree as seen from the legs that come in.
    pub fn spine(&self) -> Result<Spine, Error> {
        if self.masses.len() > MOST_LEGS {
            return Err(Error::Legs(self.masses.len()));
        }
        let numbers = self.masses.iter().copied();
        let of = (self.propagators.iter()).flat_map(|one| [one.mass, one.width]);
        if let Some(wrong) = (numbers.chain(of)).find(|n| !(0.0..f64::INFINITY).contains(n)) {
            return Err(Error::Number(wrong));
        }
        let begin = self.vertex_of(Edge::In(0), None)?;
        let (vertices, lines) = self
            .path(begin, None)?
            .ok_or(Error::Tree("no lines lead from i0 to i1"))?;
        let mut spine = Spine {
            out: Vec::new(),
            exchanged: Vec::new(),
            numbers: Vec::new(),
        };
        for (place, &vertex) in vertices.iter().enumerate() {
            let along = |line: &Edge| {
                matches!(line, Edge::In(_))
                    || place.checked_sub(1).is_some_and(|i| lines[i] == *line)
                    || lines.get(place) == Some(line)
            };
            let mut out = Vec::new();
            for line in self.vertices[vertex].iter().filter(|line| !along(line)) {
                out.push(self.branch(*line, vertex, 0)?);
            }
            if out.is_empty() {
                return Err(Error::Tree(
                    "a vertex between the legs that come in has no other line",
                ));
            }
            spine.out.push(out);
        }
        for line in lines {
            let Edge::Propagator(number) = line else {
                return Err(Error::Tree("a leg lies between vertices"));
            };
            let one = self.propagators.get(number);
            (spine.exchanged).push(*one.ok_or(Error::Tree("a propagator is missing"))?);
            spine.numbers.push(number);
        }
        let every = (spine.out.iter().flatten()).map(|branch| branch.legs);
        let (union, count) = every.fold((0, 0), |(union, count), legs: Legs| {
            (union | legs, count + legs.count_ones() as usize)
        });
        if count != self.masses.len() || union.count_ones() as usize != count {
            return Err(Error::Tree("not every leg stands there once"));
        }
        Ok(spine)
    }

    /// The propagators on the side that goes out, by their numbers, and the legs behind each.
    ///
    /// # Errors
    /// The diagram is no tree.
    pub fn timelike(&self) -> Result<Vec<(usize, Legs)>, Error> {
        let mut found = Vec::new();
        for branch in self.spine()?.out.iter().flatten() {
            branch.lines(&mut found);
        }
        Ok(found)
    }

    /// The vertex at which a line ends, other than `but`.
    fn vertex_of(&self, line: Edge, but: Option<usize>) -> Result<usize, Error> {
        let mut at = (0..self.vertices.len())
            .filter(|&vertex| Some(vertex) != but && self.vertices[vertex].contains(&line));
        match (at.next(), at.next()) {
            (Some(vertex), None) => Ok(vertex),
            _ => Err(Error::Tree("a line does not have two ends")),
        }
    }

    /// Vertices, and lines between them, that lead to `i1`.
    fn path(&self, vertex: usize, from: Option<Edge>) -> Result<Option<Path>, Error> {
        // As many steps as there are vertices.
        let mut paths = vec![(vec![vertex], Vec::<Edge>::new(), from)];
        while let Some((vertices, lines, from)) = paths.pop() {
            let &last = vertices.last().expect("it begins with one");
            if vertices.len() > self.vertices.len() {
                return Err(Error::Tree("lines make a circle"));
            }
            if self.vertices[last].contains(&Edge::In(1)) {
                return Ok(Some((vertices, lines)));
            }
            for &line in &self.vertices[last] {
                if matches!(line, Edge::Propagator(_)) && Some(line) != from {
                    let next = self.vertex_of(line, Some(last))?;
                    let mut more = (vertices.clone(), lines.clone(), Some(line));
                    more.0.push(next);
                    more.1.push(line);
                    paths.push(more);
                }
            }
        }
        Ok(None)
    }

    fn branch(&self, line: Edge, vertex: usize, depth: usize) -> Result<OutgoingSide, Error> {
        match line {
            Edge::In(_) => Err(Error::Tree("a leg comes in twice")),
            Edge::Out(leg) if leg < self.masses.len() => Ok(OutgoingSide {
                legs: 1 << leg,
                propagator: None,
                number: None,
                children: Vec::new(),
            }),
            Edge::Out(_) => Err(Error::Tree("a leg goes out that has no mass")),
            Edge::Propagator(number) => {
                let &propagator =
                    (self.propagators.get(number)).ok_or(Error::Tree("a propagator is missing"))?;
                if depth > self.vertices.len() {
                    return Err(Error::Tree("lines make a circle"));
                }
                let next = self.vertex_of(line, Some(vertex))?;
                let mut children = Vec::new();
                for &other in self.vertices[next].iter().filter(|&&other| other != line) {
                    children.push(self.branch(other, next, depth + 1)?);
                }
                if children.is_empty() {
                    return Err(Error::Tree("a propagator leads nowhere"));
                }
                Ok(OutgoingSide {
                    legs: children.iter().fold(0, |legs, child| legs | child.legs),
                    propagator: Some(propagator),
                    number: Some(number),
                    children,
                })
            }
        }
    }
}
