//! Conversion of the graph to instructions over temporaries.
//!
//! Nodes are emitted depth first from the outputs, to keep temporaries short-lived. A product that is used only once,
//! in a sum, is fused with the sum. Temporaries are slots: one vector for a real number, two adjacent ones for a
//! complex number. A slot is reused after its last use.

use super::graph::{Binary, Elementary, Graph, Id, Node, Number, Test};

/// The operation of an instruction on slots `a`, `b`, `c`, `d`; the prefix `r` marks a real number, all others are
/// complex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The real vector at offset `b` from the address in operand `a` of the operation.
    Load,
    /// The complex number at this address.
    LoadComplex,
    /// A real constant.
    Const(f64),
    /// `ra + rb`.
    RealAdd,
    /// `ra - rb`.
    RealSub,
    /// `ra rb`.
    RealMul,
    /// `ra rb + rc`.
    RealMulAdd,
    /// `rc - ra rb`.
    RealNegMulAdd,
    /// `ra rb - rc`.
    RealMulSub,
    /// `ra + i rb`.
    Make,
    /// `ra - i rb`.
    MakeConj,
    /// `a + i^n b`.
    Add(u8),
    /// `a + i^n rb`.
    AddReal(u8),
    /// `a b`.
    Mul,
    /// `ra b`.
    Scale,
    /// `c + i^n a b`.
    MulAdd(u8),
    /// `i^n c + a b`.
    MulAddTurned(u8),
    /// `c + i^n ra b`.
    ScaleAdd(u8),
    /// `i^n c + ra b`.
    ScaleAddTurned(u8),
    /// `1 / ra`.
    RealInverse,
    /// `1 / a`.
    Inverse,
    /// `conj(a)`.
    Conj,
    /// Real part of `a`.
    Re,
    /// Imaginary part of `a`.
    Im,
    /// `-ra`.
    RealNeg,
    /// `i^n a`.
    Turn(u8),
    /// `ra` as a complex number.
    Widen,
    /// Square root of `ra`.
    Sqrt,
    /// `|ra|`.
    Abs,
    /// A function of `ra` and `rb`.
    Binary(Binary),
    /// `rc` if the test of `ra` and `rb` is true, otherwise `rd`.
    RealSelect(Test),
    /// `c` if the test of `ra` and `rb` is true, otherwise `d`.
    Select(Test),
    /// A function of `a` and `b`, or of `a` alone.
    Elementary(Elementary),
    /// Stores `i^n a` as component `b` of the result.
    Store(u8),
    /// Stores `i^n ra` as component `b` of the result.
    StoreReal(u8),
    /// Stores zero as component `b` of the result.
    StoreZero,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instruction {
    /// The operation.
    pub action: Action,
    /// Slot of the result.
    pub to: u32,
    /// Slot of the first operand.
    pub a: u32,
    /// Slot of the second operand.
    pub b: u32,
    /// Slot of the third operand.
    pub c: u32,
    /// Slot of the fourth operand.
    pub d: u32,
}

/// The instructions of a routine.
#[derive(Clone, Debug)]
pub struct Code {
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
    /// Number of slots.
    pub slots: usize,
    /// Complex components of the result, 1 for an amplitude.
    pub components: usize,
}

impl Code {
    pub(super) fn new(graph: &Graph) -> Code {
        let mut emission = CodeEmitter::new(graph);
        for (component, output) in (0u32..).zip(&graph.outputs) {
            emission.output(component, *output);
        }
        emission.allocate()
    }
}

/// Instructions whose operands are nodes, before slots are allocated.
struct CodeEmitter<'a> {
    graph: &'a Graph,
    uses: Vec<u32>,
    emitted: Vec<bool>,
    list: Vec<Pending>,
}

struct Pending {
    action: Action,
    to: Option<Id>,
    from: [Option<Id>; 4],
    /// Values of `a` and `b` that are not nodes.
    plain: [u32; 2],
}

impl<'a> CodeEmitter<'a> {
    fn new(graph: &'a Graph) -> Self {
        // Counts uses by nodes that are needed themselves.
        let mut uses = vec![0u32; graph.nodes.len()];
        for value in graph.outputs.iter().flatten() {
            uses[value.node as usize] += 1;
        }
        for (id, node) in graph.nodes.iter().enumerate().rev() {
            if uses[id] > 0 {
                for operand in node.operands() {
                    uses[operand as usize] += 1;
                }
            }
        }
        CodeEmitter {
            graph,
            uses,
            emitted: vec![false; graph.nodes.len()],
            list: Vec::new(),
        }
    }

    fn real(&self, id: Id) -> bool {
        self.graph.real[id as usize]
    }

    fn output(&mut self, component: u32, output: Number) {
        let (action, from) = match output {
            None => (Action::StoreZero, None),
            Some(value) => {
                self.emit(value.node);
                let action = if self.real(value.node) {
                    Action::StoreReal(value.phase)
                } else {
                    Action::Store(value.phase)
                };
                (action, Some(value.node))
            }
        };
        self.list.push(Pending {
            action,
            to: None,
            from: [from, None, None, None],
            plain: [0, component],
        });
    }

    /// The factors of a product, if it is used only by this sum and both are real or both complex.
    fn fusible(&self, product: Id, sum: Id) -> Option<(Id, Id)> {
        match self.graph.nodes[product as usize] {
            Node::Mul { a, b }
                if self.uses[product as usize] == 1
                    && !self.emitted[product as usize]
                    && self.real(product) == self.real(sum) =>
            {
                Some((a, b))
            }
            _ => None,
        }
    }

    /// The instruction for a node, and the nodes that it reads.
    fn instruction(&self, id: Id) -> (Action, [Option<Id>; 4], [u32; 2]) {
        let none = [0, 0];
        let two = |a, b| [Some(a), Some(b), None, None];
        let one = |a| [Some(a), None, None, None];
        match self.graph.nodes[id as usize] {
            Node::Input { operand, offset } => (Action::Load, [None; 4], [operand, offset]),
            Node::InputComplex { operand, offset } => {
                (Action::LoadComplex, [None; 4], [operand, offset])
            }
            Node::Const(bits) => (Action::Const(f64::from_bits(bits)), [None; 4], none),
            Node::Add { phase, a, b } => {
                let (action, from) = self.sum(id, phase, a, b);
                (action, from, none)
            }
            Node::Mul { a, b } => {
                let action = match (self.real(a), self.real(b)) {
                    (true, true) => Action::RealMul,
                    (true, false) => Action::Scale,
                    _ => Action::Mul,
                };
                (action, two(a, b), none)
            }
            Node::Inverse(a) if self.real(a) => (Action::RealInverse, one(a), none),
            Node::Inverse(a) => (Action::Inverse, one(a), none),
            Node::Conj(a) => (Action::Conj, one(a), none),
            Node::Re(a) => (Action::Re, one(a), none),
            Node::Im(a) => (Action::Im, one(a), none),
            Node::Phase { a, .. } if self.real(a) => (Action::RealNeg, one(a), none),
            Node::Phase { phase, a } => (Action::Turn(phase), one(a), none),
            Node::Widen(a) => (Action::Widen, one(a), none),
            Node::Sqrt(a) => (Action::Sqrt, one(a), none),
            Node::Abs(a) => (Action::Abs, one(a), none),
            Node::Binary(binary, a, b) => (Action::Binary(binary), two(a, b), none),
            Node::Select {
                test,
                lhs,
                rhs,
                yes,
                no,
            } => {
                let action = if self.real(id) {
                    Action::RealSelect(test)
                } else {
                    Action::Select(test)
                };
                (action, [Some(lhs), Some(rhs), Some(yes), Some(no)], none)
            }
            Node::Elementary(function, a, b) => (Action::Elementary(function), two(a, b), none),
        }
    }

    /// `a + i^phase b`.
    fn sum(&self, id: Id, phase: u8, a: Id, b: Id) -> (Action, [Option<Id>; 4]) {
        let plain = [Some(a), Some(b), None, None];
        match (self.real(a), self.real(b)) {
            (true, true) if phase % 2 == 1 => {
                let action = if phase == 1 {
                    Action::Make
                } else {
                    Action::MakeConj
                };
                (action, plain)
            }
            (true, _) => {
                if let Some((x, y)) = self.fusible(b, id) {
                    let action = if phase == 0 {
                        Action::RealMulAdd
                    } else {
                        Action::RealNegMulAdd
                    };
                    return (action, [Some(x), Some(y), Some(a), None]);
                }
                if let Some((x, y)) = self.fusible(a, id) {
                    let action = if phase == 0 {
                        Action::RealMulAdd
                    } else {
                        Action::RealMulSub
                    };
                    return (action, [Some(x), Some(y), Some(b), None]);
                }
                let action = if phase == 0 {
                    Action::RealAdd
                } else {
                    Action::RealSub
                };
                (action, plain)
            }
            (false, true) => (Action::AddReal(phase), plain),
            (false, false) => {
                if let Some((x, y)) = self.fusible(b, id) {
                    let action = if self.real(x) {
                        Action::ScaleAdd(phase)
                    } else {
                        Action::MulAdd(phase)
                    };
                    return (action, [Some(x), Some(y), Some(a), None]);
                }
                if let Some((x, y)) = self.fusible(a, id) {
                    let action = if self.real(x) {
                        Action::ScaleAddTurned(phase)
                    } else {
                        Action::MulAddTurned(phase)
                    };
                    return (action, [Some(x), Some(y), Some(b), None]);
                }
                (Action::Add(phase), plain)
            }
        }
    }

    /// Emits a node after the nodes that it reads. Iterative, since a program may be deeply nested.
    fn emit(&mut self, id: Id) {
        let mut stack = vec![id];
        while let Some(&id) = stack.last() {
            if self.emitted[id as usize] {
                stack.pop();
                continue;
            }
            let (action, from, plain) = self.instruction(id);
            let before = stack.len();
            for operand in from.iter().rev().flatten() {
                if !self.emitted[*operand as usize] {
                    stack.push(*operand);
                }
            }
            if stack.len() > before {
                continue;
            }
            stack.pop();
            self.emitted[id as usize] = true;
            self.list.push(Pending {
                action,
                to: Some(id),
                from,
                plain,
            });
        }
    }

    /// Allocates slots.
    fn allocate(self) -> Code {
        let mut last_use = vec![usize::MAX; self.graph.nodes.len()];
        for (position, pending) in self.list.iter().enumerate() {
            for operand in pending.from.iter().flatten() {
                last_use[*operand as usize] = position;
            }
        }
        let mut slot = vec![u32::MAX; self.graph.nodes.len()];
        let mut free: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
        let mut slots = 0u32;
        let mut instructions = Vec::with_capacity(self.list.len());
        for (position, pending) in self.list.iter().enumerate() {
            let at = |i: usize| pending.from[i].map(|id| slot[id as usize]);
            let (a, b, c, d) = (at(0), at(1), at(2), at(3));
            // The result gets a separate slot, so that parts of it can be written before all operands are read.
            let mut to = 0;
            if let Some(id) = pending.to {
                let complex = usize::from(!self.real(id));
                to = free[complex].pop().unwrap_or_else(|| {
                    let fresh = slots;
                    slots += complex as u32 + 1;
                    fresh
                });
                slot[id as usize] = to;
            }
            for operand in pending.from.iter().flatten() {
                let index = *operand as usize;
                if last_use[index] == position {
                    // Frees a slot once only, even if it is an operand twice.
                    last_use[index] = usize::MAX;
                    free[usize::from(!self.graph.real[index])].push(slot[index]);
                }
            }
            instructions.push(Instruction {
                action: pending.action,
                to,
                a: a.unwrap_or(pending.plain[0]),
                b: b.unwrap_or(pending.plain[1]),
                c: c.unwrap_or(0),
                d: d.unwrap_or(0),
            });
        }
        Code {
            instructions,
            slots: slots as usize,
            components: self.graph.outputs.len(),
        }
    }
}
