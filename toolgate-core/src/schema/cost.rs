//! How much work a schema can make, worked out before it is used.
//!
//! References let a short schema ask for an endless check: each of sixty definitions that names
//! the next one twice doubles the work. Here every part of a schema is visited once, for each depth
//! of a value, and what would take too long is known from the numbers.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use serde_json::Map;
use serde_json::Value;

use super::shape::local;

/// The deepest value that is checked.
pub(crate) const MOST_DEPTH: usize = 128;
/// The most parts of a schema.
const MOST_PARTS: usize = 20_000;
/// The most parts of a schema that stand behind one another when a value is checked; each takes
/// some of the stack.
const MOST_HOPS: u64 = 1_000;
/// The same when the schema is compiled.
const MOST_HOPS_TO_COMPILE: u64 = 150;

/// An upper bound of the visits that one value of some depth costs.
#[derive(Debug)]
pub(crate) struct Cost {
    by_depth: Vec<u64>,
    to_compile: u64,
}

impl Cost {
    /// The bound for a schema; nothing if it refers to itself without a step into the value, or to
    /// what it does not hold.
    pub(crate) fn of(root: &Value) -> Option<Self> {
        Graph::of(root)?.cost()
    }

    /// The bound for following all references from the costliest part, as compiling it may.
    pub(crate) const fn to_compile(&self) -> u64 {
        self.to_compile
    }

    /// The bound for a value: visits for its depth, for each value in it.
    pub(crate) fn bound(&self, value: &Value) -> u64 {
        let (depth, values) = measure(value);
        self.by_depth
            .get(depth)
            .copied()
            .unwrap_or(u64::MAX)
            .saturating_mul(values)
    }
}

/// Depth of a value, and how many values are in it.
fn measure(value: &Value) -> (usize, u64) {
    let (mut depth, mut values) = (0, 0);
    let mut open = vec![(value, 0)];
    while let Some((value, at)) = open.pop() {
        values += 1;
        depth = depth.max(at);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, at + 1))),
            Value::Object(members) => open.extend(members.values().map(|one| (one, at + 1))),
            _ => {}
        }
    }
    (depth, values)
}

/// One part of a schema and the parts that it leads to.
#[derive(Debug, Default)]
struct Part {
    /// Parts that look at the same value.
    same: Vec<usize>,
    /// Parts of which each element of the value meets one.
    one: Vec<usize>,
    /// Parts that an element may meet as well.
    also: Vec<usize>,
    /// Whether the parts for the same value are asked again for what they left over.
    asks_again: bool,
}

struct Graph<'s> {
    root: &'s Value,
    anchors: BTreeMap<&'s str, Vec<&'s Value>>,
    indices: BTreeMap<usize, usize>,
    open: VecDeque<&'s Value>,
    parts: Vec<Part>,
}

impl<'s> Graph<'s> {
    fn of(root: &'s Value) -> Option<Self> {
        let anchors = anchors(root)?;
        let mut graph = Graph {
            root,
            anchors,
            indices: BTreeMap::new(),
            open: VecDeque::new(),
            parts: Vec::new(),
        };
        graph.index(root);
        while let Some(schema) = graph.open.pop_front() {
            if graph.indices.len() > MOST_PARTS {
                return None;
            }
            let part = match schema {
                Value::Object(members) => graph.part(members, schema)?,
                _ => Part::default(),
            };
            graph.parts.push(part);
        }
        Some(graph)
    }

    /// The number of a part, which is also its place in the queue.
    fn index(&mut self, schema: &'s Value) -> usize {
        let address = std::ptr::from_ref(schema).addr();
        let next = self.indices.len();
        let index = *self.indices.entry(address).or_insert(next);
        if index == next {
            self.open.push_back(schema);
        }
        index
    }

    fn part(&mut self, members: &'s Map<String, Value>, schema: &'s Value) -> Option<Part> {
        let mut part = Part::default();
        for (key, value) in members {
            let to = match key.as_str() {
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else"
                | "dependentSchemas" | "dependencies" => &mut part.same,
                "properties"
                | "additionalProperties"
                | "items"
                | "prefixItems"
                | "additionalItems"
                | "unevaluatedItems"
                | "unevaluatedProperties" => &mut part.one,
                "patternProperties" | "contains" | "propertyNames" => &mut part.also,
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    for target in self.targets(key, value, schema)? {
                        part.same.push(self.index(target));
                    }
                    continue;
                }
                _ => continue,
            };
            part.asks_again |= key.starts_with("unevaluated");
            let holds_schemas = matches!(
                key.as_str(),
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies"
            );
            match value {
                Value::Array(listed) => to.extend(listed.iter().map(|one| self.index(one))),
                Value::Object(named) if holds_schemas => {
                    to.extend(named.values().map(|one| self.index(one)));
                }
                other => to.push(self.index(other)),
            }
        }
        Some(part)
    }

    /// What a reference may mean; nothing if that is not in this schema.
    fn targets(&self, key: &str, value: &Value, schema: &'s Value) -> Option<Vec<&'s Value>> {
        let target = value.as_str()?;
        if key == "$ref" && STANDARD.iter().any(|known| target.starts_with(known)) {
            return Some(Vec::new());
        }
        if let Some(found) = local(self.root, schema).filter(|_| key == "$ref") {
            return Some(vec![found]);
        }
        if target == "#" {
            return Some(vec![self.root]);
        }
        self.anchors.get(target.strip_prefix('#')?).cloned()
    }

    fn cost(&self) -> Option<Cost> {
        let order = self.order()?;
        let mut by_depth = Vec::with_capacity(MOST_DEPTH + 1);
        let mut to_compile = u64::MAX;
        let mut below: Vec<(u64, u64)> = vec![(0, 0); self.parts.len()];
        for _ in 0..=MOST_DEPTH {
            let mut here: Vec<(u64, u64)> = vec![(0, 0); self.parts.len()];
            for index in &order {
                let part = self.parts.get(*index)?;
                let read =
                    |from: &[(u64, u64)], at: &usize| from.get(*at).copied().unwrap_or_default();
                let (mut cost, mut hops) = (0_u64, 0);
                for (more, far) in part.same.iter().map(|at| read(&here, at)) {
                    cost = cost.saturating_add(more);
                    hops = hops.max(far);
                }
                if part.asks_again {
                    cost = cost.saturating_mul(2);
                }
                let mut most = 0;
                for (more, far) in part.one.iter().map(|at| read(&below, at)) {
                    most = most.max(more);
                    hops = hops.max(far);
                }
                for (more, far) in part.also.iter().map(|at| read(&below, at)) {
                    most = most.saturating_add(more);
                    hops = hops.max(far);
                }
                if let Some(slot) = here.get_mut(*index) {
                    *slot = (cost.saturating_add(most).saturating_add(1), hops + 1);
                }
            }
            let (cost, hops) = here.first().copied()?;
            if by_depth.is_empty() {
                let far = here.iter().map(|(_, hops)| *hops).max()?;
                to_compile = here.iter().map(|(cost, _)| *cost).max()?;
                if far > MOST_HOPS_TO_COMPILE {
                    return None;
                }
            }
            by_depth.push(if hops > MOST_HOPS { u64::MAX } else { cost });
            below = here;
        }
        Some(Cost {
            by_depth,
            to_compile,
        })
    }

    /// The parts so that those for the same value come first; nothing if they go in a circle.
    fn order(&self) -> Option<Vec<usize>> {
        let mut waiting: Vec<usize> = self.parts.iter().map(|part| part.same.len()).collect();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.parts.len()];
        for (index, part) in self.parts.iter().enumerate() {
            for used in &part.same {
                users.get_mut(*used)?.push(index);
            }
        }
        let mut order: Vec<usize> = Vec::with_capacity(self.parts.len());
        order.extend(
            waiting
                .iter()
                .enumerate()
                .filter(|(_, count)| **count == 0)
                .map(|(at, _)| at),
        );
        let mut next = 0;
        while let Some(done) = order.get(next).copied() {
            next += 1;
            for user in users.get(done)? {
                let count = waiting.get_mut(*user)?;
                *count -= 1;
                if *count == 0 {
                    order.push(*user);
                }
            }
        }
        (order.len() == self.parts.len()).then_some(order)
    }
}

/// The anchors of a schema; nothing if a part of it is a resource of its own, whose references
/// would have to be followed from there.
fn anchors(root: &Value) -> Option<BTreeMap<&str, Vec<&Value>>> {
    let mut anchors: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    let dialect = root
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_old = dialect.contains("draft-03") || dialect.contains("draft-04");
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (key, member) in members {
                    match (key.as_str(), member) {
                        ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                            anchors.entry(name).or_default().push(value);
                        }
                        ("$id" | "id", Value::String(id)) => match id.strip_prefix('#') {
                            Some(name) => anchors.entry(name).or_default().push(value),
                            None if (key == "$id" || is_old) && !std::ptr::eq(value, root) => {
                                return None;
                            }
                            None => {}
                        },
                        _ => open.push(member),
                    }
                }
            }
            _ => {}
        }
    }
    Some(anchors)
}

/// Where the standard's own schemas are, which the validator holds itself.
const STANDARD: &[&str] = &["https://json-schema.org/", "http://json-schema.org/"];
