//! A tree of path segments, with literal children tried before the variable one. All nodes are in
//! one allocation, parents before their children and siblings next to each other.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use smol_str::SmolStr;

use super::READ_AHEAD;
use super::pattern::Segment;

/// A finished tree; the root comes first, if there are any nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tree(Arc<[Node]>);

/// A node. Its routes have consecutive indices in the table: those without a trailing slash, those
/// with one, then prefixes, each best first.
#[derive(Debug, Default, PartialEq, Eq)]
struct Node {
    /// The segment that leads here; empty for a variable.
    segment: SmolStr,
    /// The index of its first literal child, and the index after its last one.
    literals: [u32; 2],
    /// The index of its variable child. 0 means none, because the root is not a child.
    param: u32,
    /// Where its routes of each kind begin, and where the last kind ends.
    routes: [u32; 4],
}

impl Node {
    fn plain(&self) -> Range<usize> {
        numbers(self.routes[0], self.routes[1])
    }

    fn slashed(&self) -> Range<usize> {
        numbers(self.routes[1], self.routes[2])
    }

    fn prefixes(&self) -> Range<usize> {
        numbers(self.routes[2], self.routes[3])
    }
}

fn numbers(from: u32, to: u32) -> Range<usize> {
    from as usize..to as usize
}

/// A tree under construction.
#[derive(Debug, Default)]
pub(super) struct Growing {
    literals: BTreeMap<Box<str>, Growing>,
    param: Option<Box<Growing>>,
    plain: Vec<usize>,
    slashed: Vec<usize>,
    prefix: Vec<usize>,
}

/// The list of a node that a route goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathEnd {
    Plain,
    Slashed,
    Prefix,
}

impl Growing {
    pub(super) fn insert(&mut self, segments: &[Segment], end: PathEnd, route: usize) {
        let mut node = self;
        for segment in segments {
            node = match segment {
                Segment::Literal(text) => node.literals.entry(text.clone()).or_default(),
                Segment::Param => node.param.get_or_insert_default(),
            };
        }
        match end {
            PathEnd::Plain => node.plain.push(route),
            PathEnd::Slashed => node.slashed.push(route),
            PathEnd::Prefix => node.prefix.push(route),
        }
    }

    /// Flattens the tree. Appends its routes to `order`, where their position is their index in the
    /// table.
    pub(super) fn finish(self, order: &mut Vec<usize>) -> Tree {
        let mut nodes = vec![Node::default()];
        let mut left = VecDeque::from([(0, self)]);
        while let Some((at, grown)) = left.pop_front() {
            nodes[at].routes[0] = number(order.len());
            for (kind, routes) in (1..).zip([grown.plain, grown.slashed, grown.prefix]) {
                order.extend(routes);
                nodes[at].routes[kind] = number(order.len());
            }
            nodes[at].literals = [number(nodes.len()), number(nodes.len() + grown.literals.len())];
            for (segment, child) in grown.literals {
                left.push_back((nodes.len(), child));
                nodes.push(Node { segment: segment.into(), ..Node::default() });
            }
            if let Some(child) = grown.param {
                nodes[at].param = number(nodes.len());
                left.push_back((nodes.len(), *child));
                nodes.push(Node::default());
            }
        }
        Tree(nodes.into())
    }
}

/// Saturates: no app has four billion routes.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The part of a path that is still to be matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathRest<'p> {
    /// `None` at the end.
    rest: Option<&'p str>,
    slashed: bool,
}

impl<'p> PathRest<'p> {
    pub(super) fn new(path: &'p str) -> Self {
        let body = path.strip_prefix('/').unwrap_or(path);
        match body.strip_suffix('/') {
            _ if body.is_empty() => Self { rest: None, slashed: false },
            Some(body) => Self { rest: Some(body), slashed: true },
            None => Self { rest: Some(body), slashed: false },
        }
    }

    fn split(self) -> Option<(&'p str, Self)> {
        let rest = self.rest?;
        let (first, rest) = rest.split_once('/').map_or((rest, None), |(first, rest)| (first, Some(rest)));
        Some((first, Self { rest, ..self }))
    }
}

/// A matching prefix route with the values of its variables.
pub(super) struct PrefixFit<'p> {
    pub(super) depth: usize,
    pub(super) route: usize,
    pub(super) values: Vec<&'p str>,
}

impl Tree {
    /// Touches the nodes that most paths go through, for [`super::RouteTable::read_ahead`].
    pub(super) fn read_ahead(&self) -> u32 {
        self.0.iter().take(READ_AHEAD).fold(0, |sum, node| sum ^ node.param)
    }

    /// Offers the routes for exactly this path to `take`, best first, until it returns true.
    pub(super) fn exact<'p>(
        &self,
        path: PathRest<'p>,
        values: &mut Vec<&'p str>,
        take: &mut impl FnMut(usize) -> bool,
    ) -> bool {
        self.0.first().is_some_and(|root| self.exact_from(root, path, values, take))
    }

    fn exact_from<'p>(
        &self,
        node: &Node,
        path: PathRest<'p>,
        values: &mut Vec<&'p str>,
        take: &mut impl FnMut(usize) -> bool,
    ) -> bool {
        let Some((segment, rest)) = path.split() else {
            let (asked, other) = (node.plain(), node.slashed());
            let (asked, other) = if path.slashed { (other, asked) } else { (asked, other) };
            return if asked.is_empty() { other } else { asked }.any(take);
        };
        if let Some(child) = self.literal(node, segment)
            && self.exact_from(child, rest, values, take)
        {
            return true;
        }
        if let Some(child) = self.param(node)
            && !segment.is_empty()
        {
            values.push(segment);
            if self.exact_from(child, rest, values, take) {
                return true;
            }
            values.pop();
        }
        false
    }

    /// Returns all matching prefix routes, the deeper ones first on each branch.
    pub(super) fn prefixes<'p>(&self, path: PathRest<'p>) -> Vec<PrefixFit<'p>> {
        let mut found = Vec::new();
        if let Some(root) = self.0.first() {
            self.prefixes_from(root, path, 0, &mut Vec::new(), &mut found);
        }
        found
    }

    fn prefixes_from<'p>(
        &self,
        node: &Node,
        path: PathRest<'p>,
        depth: usize,
        values: &mut Vec<&'p str>,
        found: &mut Vec<PrefixFit<'p>>,
    ) {
        if let Some((segment, rest)) = path.split() {
            if let Some(child) = self.literal(node, segment) {
                self.prefixes_from(child, rest, depth + 1, values, found);
            }
            if let Some(child) = self.param(node)
                && !segment.is_empty()
            {
                values.push(segment);
                self.prefixes_from(child, rest, depth + 1, values, found);
                values.pop();
            }
        }
        found.extend(node.prefixes().map(|route| PrefixFit { depth, route, values: values.clone() }));
    }

    fn literal(&self, node: &Node, segment: &str) -> Option<&Node> {
        let children =
            self.0.get(numbers(node.literals[0], node.literals[1])).filter(|children| !children.is_empty())?;
        let find = |segment: &str| children.binary_search_by(|child| child.segment.as_str().cmp(segment)).ok();
        let at = if segment.contains('%') {
            find(&percent_decode_str(segment).decode_utf8_lossy())?
        } else {
            find(segment)?
        };
        Some(&children[at])
    }

    fn param(&self, node: &Node) -> Option<&Node> {
        (node.param != 0).then(|| &self.0[node.param as usize])
    }
}
