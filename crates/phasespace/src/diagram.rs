//! A diagram as a tree of lines, from which a channel is compiled.

use std::str::FromStr;

/// A line of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// An incoming leg: 0 or 1.
    In(usize),
    /// An outgoing leg, from 0.
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

/// Mass and width of a propagator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagator {
    /// GeV, not negative.
    pub mass: f64,
    /// GeV, not negative.
    pub width: f64,
}

/// A diagram with two incoming legs.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    /// Masses of the outgoing legs, GeV.
    pub masses: Vec<f64>,
    /// The propagators, by number.
    pub propagators: Vec<Propagator>,
    /// The lines that meet at each vertex.
    pub vertices: Vec<Vec<Edge>>,
}

/// Errors in a diagram.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The name of a line is invalid.
    #[error("{0:?} is not a line of a diagram, such as i0, i1, o0 or p0")]
    Name(String),
    /// The lines do not form a tree.
    #[error("the lines of the diagram do not form a tree: {0}")]
    Tree(&'static str),
    /// More legs than [`Legs`] can hold.
    #[error("the diagram has {0} outgoing legs; at most {MAX_LEGS} are possible")]
    Legs(usize),
    /// A mass, width or energy is invalid.
    #[error("{0} GeV is not a mass, width or energy")]
    Number(f64),
    /// The energy does not suffice.
    #[error("the process needs {0} GeV at least, and has {1}")]
    Energy(f64, f64),
    /// A single outgoing particle can only have the energy of its mass.
    #[error(
        "a particle that goes out alone has the energy of its mass, {0} GeV: its events need beams with densities"
    )]
    Alone(f64),
    /// An incoming particle can decay.
    #[error(
        "a particle of {0} GeV that comes in can decay into what goes out beside it, of {1} GeV at least, and a particle \
         of {2} GeV, which is exchanged on its mass shell then: the cross section is infinite; change the masses, or \
         leave the diagram out"
    )]
    Unstable(f64, f64, f64),
}

/// Most outgoing legs.
pub const MAX_LEGS: usize = 16;

/// A set of outgoing legs, as a bit mask.
pub type Legs = u32;

/// The subtree of a line on its outgoing side.
#[derive(Clone, Debug)]
pub struct OutgoingSide {
    /// The legs of the subtree.
    pub legs: Legs,
    /// The propagator of the line; `None` for a leg.
    pub propagator: Option<Propagator>,
    /// The number of the propagator.
    pub number: Option<usize>,
    /// The lines into which it splits.
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

/// The vertices from one incoming leg to the other.
#[derive(Clone, Debug)]
pub struct Spine {
    /// The outgoing lines at each vertex.
    pub out: Vec<Vec<OutgoingSide>>,
    /// The propagators between each vertex and the next.
    pub exchanged: Vec<Propagator>,
    /// The numbers of these propagators.
    pub numbers: Vec<usize>,
}

/// Vertices, and lines between them.
type Path = (Vec<usize>, Vec<Edge>);

impl Diagram {
    /// The tree as seen from the incoming legs.
    pub fn spine(&self) -> Result<Spine, Error> {
        if self.masses.len() > MAX_LEGS {
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
                    "a vertex between the incoming legs has no other line",
                ));
            }
            spine.out.push(out);
        }
        for line in lines {
            let Edge::Propagator(number) = line else {
                return Err(Error::Tree("a line between vertices is an external leg"));
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
            return Err(Error::Tree("not every leg occurs exactly once"));
        }
        Ok(spine)
    }

    /// The timelike propagators, by their numbers, with the outgoing legs of each.
    ///
    /// # Errors
    /// The diagram is not a tree.
    pub fn timelike(&self) -> Result<Vec<(usize, Legs)>, Error> {
        let mut found = Vec::new();
        for branch in self.spine()?.out.iter().flatten() {
            branch.lines(&mut found);
        }
        Ok(found)
    }

    /// The vertex other than `but` at which a line ends.
    fn vertex_of(&self, line: Edge, but: Option<usize>) -> Result<usize, Error> {
        let mut at = (0..self.vertices.len())
            .filter(|&vertex| Some(vertex) != but && self.vertices[vertex].contains(&line));
        match (at.next(), at.next()) {
            (Some(vertex), None) => Ok(vertex),
            _ => Err(Error::Tree("a line does not have two ends")),
        }
    }

    /// The vertices from `vertex` to `i1`, and the lines between them.
    fn path(&self, vertex: usize, from: Option<Edge>) -> Result<Option<Path>, Error> {
        // Bounded by the number of vertices.
        let mut paths = vec![(vec![vertex], Vec::<Edge>::new(), from)];
        while let Some((vertices, lines, from)) = paths.pop() {
            let &last = vertices.last().expect("it begins with one");
            if vertices.len() > self.vertices.len() {
                return Err(Error::Tree("lines form a loop"));
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
            Edge::In(_) => Err(Error::Tree("an incoming leg is used twice")),
            Edge::Out(leg) if leg < self.masses.len() => Ok(OutgoingSide {
                legs: 1 << leg,
                propagator: None,
                number: None,
                children: Vec::new(),
            }),
            Edge::Out(_) => Err(Error::Tree("an outgoing leg has no mass")),
            Edge::Propagator(number) => {
                let &propagator =
                    (self.propagators.get(number)).ok_or(Error::Tree("a propagator is missing"))?;
                if depth > self.vertices.len() {
                    return Err(Error::Tree("lines form a loop"));
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
