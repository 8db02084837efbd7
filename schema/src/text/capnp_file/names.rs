//! Which type a name means: the nearest one that is declared, from the innermost struct outwards.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::syntax::{Declaration, Kind, Member, Start, Step, TypeName};
use crate::structs::DataKind;
use crate::text::TextError;
use crate::text::described::{Records, check_name, joined, refused};
use crate::text::types::DEEPEST;

/// So many names of types are looked up for a struct.
const MOST_LOOKUPS: usize = 1_000_000;

/// What the values of a field are.
#[derive(Debug, Clone)]
pub enum Type {
    Void,
    Data(DataKind),
    /// An enum, whose names are those of [`Names::values`].
    Enum(usize),
    Text,
    Bytes,
    List(Rc<Type>),
    /// A struct, with what stands for type parameters in it.
    Struct(usize, Bound),
    /// A pointer to what no column has.
    AnyPointer,
}

/// Where the values of a type lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// They take none.
    None,
    /// In the data section, with so many bits as a binary logarithm.
    Data(usize),
    /// Behind a pointer.
    Pointer,
}

impl Type {
    /// Where its values lie.
    pub fn room(&self) -> Room {
        match self {
            Type::Void => Room::None,
            Type::Data(kind) => Room::Data(kind.log_bits() as usize),
            Type::Enum(_) => Room::Data(4),
            _ => Room::Pointer,
        }
    }
}

/// What stands for the parameters of structs.
/// Keys are structs, and which of their parameters.
pub type Bound = Rc<HashMap<(usize, usize), Type>>;

/// The types that a file declares. The file is the first one.
pub struct Names<'a> {
    nodes: Vec<Node<'a>>,
    lookups: Cell<usize>,
}

struct Node<'a> {
    name: &'a str,
    around: Option<usize>,
    /// `None` of the file.
    kind: Option<&'a Kind>,
    within: HashMap<&'a str, usize>,
}

/// What a name means.
enum Found {
    Node(usize, Bound),
    Type(Type),
}

impl<'a> Names<'a> {
    /// The types of these declarations.
    pub fn of(declarations: &'a [Declaration]) -> Result<Names<'a>, TextError> {
        let file = Node { name: "", around: None, kind: None, within: HashMap::new() };
        let mut names = Names { nodes: vec![file], lookups: Cell::new(0) };
        let mut waiting: Vec<(usize, &'a [Declaration])> = vec![(0, declarations)];
        while let Some((around, declarations)) = waiting.pop() {
            for declaration in declarations {
                let node = names.nodes.len();
                let name = declaration.name.as_str();
                names.nodes.push(Node {
                    name,
                    around: Some(around),
                    kind: Some(&declaration.kind),
                    within: HashMap::new(),
                });
                check_name(&names.full(node))?;
                if names.nodes[around].within.insert(name, node).is_some() {
                    return Err(refused(&names.full(node), "two types have this name"));
                }
                waiting.push((node, &declaration.nested));
            }
        }
        Ok(names)
    }

    /// The name of a struct, with those around it.
    pub fn full(&self, node: usize) -> String {
        let Node { name, around, .. } = &self.nodes[node];
        around.map_or_else(String::new, |around| joined(&self.full(around), name))
    }

    /// The members of a struct.
    pub fn members(&self, node: usize) -> &'a [Member] {
        match self.nodes[node].kind {
            Some(Kind::Struct { members, .. }) => members,
            _ => &[],
        }
    }

    /// The names of the values of an enum.
    pub fn values(&self, node: usize) -> &'a [String] {
        match self.nodes[node].kind {
            Some(Kind::Enum(values)) => values,
            _ => &[],
        }
    }

    fn is_struct(&self, node: usize) -> bool {
        matches!(self.nodes[node].kind, Some(Kind::Struct { .. }))
    }

    /// The struct that is the table: the one that is `wanted`, or see [`Records::choose`].
    pub fn choose(&self, wanted: Option<&str>, table: &str) -> Result<usize, TextError> {
        let structs = || (0..self.nodes.len()).filter(|&node| self.is_struct(node));
        let records = Records {
            kind: "struct",
            extension: "capnp",
            package: "",
            outer: structs()
                .filter(|&n| self.nodes[n].around == Some(0))
                .map(|n| self.nodes[n].name)
                .collect(),
            all: structs().map(|node| self.full(node)).collect(),
        };
        let chosen = records.choose(wanted, table)?;
        let found = structs().zip(&records.all).find(|(_, name)| **name == chosen);
        found.map(|(node, _)| node).ok_or_else(|| refused(&chosen, "there is no such struct"))
    }

    /// The type that a name means within a struct.
    pub fn resolve(&self, name: &TypeName, scope: usize, bound: &Bound) -> Result<Type, TextError> {
        self.resolve_within(name, scope, bound, 0)
    }

    fn resolve_within(
        &self,
        name: &TypeName,
        scope: usize,
        bound: &Bound,
        depth: usize,
    ) -> Result<Type, TextError> {
        match self.find(name, scope, bound, depth)? {
            Found::Type(found) => Ok(found),
            Found::Node(node, bound) => match self.nodes[node].kind {
                Some(Kind::Struct { .. }) => Ok(Type::Struct(node, bound)),
                Some(Kind::Enum(_)) => Ok(Type::Enum(node)),
                Some(Kind::Interface) => Ok(Type::AnyPointer),
                _ => Err(unknown(name)),
            },
        }
    }

    fn count(&self, name: &TypeName, lookups: usize) -> Result<(), TextError> {
        self.lookups.set(self.lookups.get().saturating_add(lookups + 1));
        match self.lookups.get() <= MOST_LOOKUPS {
            true => Ok(()),
            false => Err(at(name, "the types of the file lie within one another too often")),
        }
    }

    fn find(&self, name: &TypeName, scope: usize, bound: &Bound, depth: usize) -> Result<Found, TextError> {
        self.count(name, 0)?;
        if depth > DEEPEST {
            return Err(at(name, format!("more than {DEEPEST} names of types lie within one another")));
        }
        let ((first, rest), mut found) = match (&name.start, name.steps.split_first()) {
            (Start::Import(file), _) => {
                return Err(at(
                    name,
                    format!(
                        "the type is one of '{file}', and files that are imported are not read; copy it into this file"
                    ),
                ));
            }
            (_, None) => return Err(unknown(name)),
            (Start::File, Some(steps)) => (steps, self.nodes[0].within.get(steps.0.name.as_str()).copied()),
            (Start::Here, Some(steps)) => {
                let mut around = Some(scope);
                let mut found = None;
                while let Some(node) = around {
                    if let Some(parameter) = self.parameter(node, steps.0, bound) {
                        return if steps.1.is_empty() {
                            Ok(Found::Type(parameter))
                        } else {
                            Err(unknown(name))
                        };
                    }
                    found = self.nodes[node].within.get(steps.0.name.as_str()).copied();
                    around = self.nodes[node].around.filter(|_| found.is_none());
                }
                (steps, found)
            }
        };
        if found.is_none() && matches!(name.start, Start::Here) && rest.is_empty() {
            return self.builtin(name, first, scope, bound, depth).map(Found::Type);
        }
        let mut bound = bound.clone();
        let mut steps = std::iter::once(first).chain(rest).peekable();
        while let Some(step) = steps.next() {
            let mut node = found.ok_or_else(|| unknown(name))?;
            if let Some(Kind::Alias(alias)) = self.nodes[node].kind {
                let around = self.nodes[node].around.unwrap_or_default();
                match self.find(alias, around, &bound, depth + 1)? {
                    Found::Node(meant, inner) => (node, bound) = (meant, inner),
                    Found::Type(found) if steps.peek().is_none() && step.arguments.is_empty() => {
                        return Ok(Found::Type(found));
                    }
                    Found::Type(_) => return Err(unknown(name)),
                }
            }
            if !step.arguments.is_empty() {
                bound = self.bind(name, node, step, scope, &bound, depth)?;
            }
            match steps.peek() {
                Some(next) => found = self.nodes[node].within.get(next.name.as_str()).copied(),
                None => return Ok(Found::Node(node, bound)),
            }
        }
        Err(unknown(name))
    }

    /// What stands for a parameter of a struct, if it has one of this name.
    fn parameter(&self, node: usize, step: &Step, bound: &Bound) -> Option<Type> {
        let Some(Kind::Struct { parameters, .. }) = self.nodes[node].kind else { return None };
        let place = parameters.iter().position(|name| *name == step.name)?;
        Some(bound.get(&(node, place)).cloned().unwrap_or(Type::AnyPointer))
    }

    /// What stands for parameters if these types stand for those of a struct.
    fn bind(
        &self,
        name: &TypeName,
        node: usize,
        step: &Step,
        scope: usize,
        bound: &Bound,
        depth: usize,
    ) -> Result<Bound, TextError> {
        let parameters = match self.nodes[node].kind {
            Some(Kind::Struct { parameters, .. }) => parameters.as_slice(),
            Some(Kind::Interface) => return Ok(bound.clone()),
            _ => &[],
        };
        if parameters.len() != step.arguments.len() {
            return Err(at(
                name,
                format!("'{}' has {} parameters, not {}", step.name, parameters.len(), step.arguments.len()),
            ));
        }
        let mut all = HashMap::clone(bound);
        for (place, argument) in step.arguments.iter().enumerate() {
            self.count(name, all.len())?;
            let meant = self.resolve_within(argument, scope, bound, depth + 1)?;
            all.insert((node, place), meant);
        }
        Ok(Rc::new(all))
    }

    /// A type that no file declares.
    fn builtin(
        &self,
        name: &TypeName,
        step: &Step,
        scope: usize,
        bound: &Bound,
        depth: usize,
    ) -> Result<Type, TextError> {
        if step.name == "List" {
            let [item] = step.arguments.as_slice() else {
                return Err(at(name, "a list is written List(T), with the type of its items"));
            };
            let item = self.resolve_within(item, scope, bound, depth + 1)?;
            return Ok(match item {
                // What lies in such a list is not known.
                Type::AnyPointer => Type::AnyPointer,
                item => Type::List(Rc::new(item)),
            });
        }
        let found = match step.name.as_str() {
            "Void" => Type::Void,
            "Bool" => Type::Data(DataKind::Bool),
            "Int8" => Type::Data(DataKind::Int8),
            "Int16" => Type::Data(DataKind::Int16),
            "Int32" => Type::Data(DataKind::Int32),
            "Int64" => Type::Data(DataKind::Int64),
            "UInt8" => Type::Data(DataKind::UInt8),
            "UInt16" => Type::Data(DataKind::UInt16),
            "UInt32" => Type::Data(DataKind::UInt32),
            "UInt64" => Type::Data(DataKind::UInt64),
            "Float32" => Type::Data(DataKind::Float32),
            "Float64" => Type::Data(DataKind::Float64),
            "Text" => Type::Text,
            "Data" => Type::Bytes,
            "AnyPointer" | "AnyStruct" | "AnyList" | "Capability" => Type::AnyPointer,
            _ => return Err(unknown(name)),
        };
        match step.arguments.is_empty() {
            true => Ok(found),
            false => Err(at(name, format!("'{}' has no parameters", step.name))),
        }
    }
}

fn at(name: &TypeName, message: impl Into<String>) -> TextError {
    TextError::File { line: name.place.line, column: name.place.column, message: message.into() }
}

fn unknown(name: &TypeName) -> TextError {
    let steps: Vec<&str> = name.steps.iter().map(|step| step.name.as_str()).collect();
    at(name, format!("there is no type '{}'", steps.join(".")))
}
