//! Routes by segments: a literal child before the variable one.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use percent_encoding::percent_decode_str;

use super::pattern::Segment;

/// A place in the tree. Numbers are of routes, best first.
#[derive(Debug, Default)]
pub(super) struct Node {
    literals: HashMap<Box<str>, Node, RandomState>,
    param: Option<Box<Node>>,
    plain: Vec<usize>,
    slashed: Vec<usize>,
    prefix: Vec<usize>,
}

/// Where in a node a route goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Plain,
    Slashed,
    Prefix,
}

/// A path on its way through the tree.
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

/// A prefix route that fits, with what its variables are.
pub(super) struct PrefixFit<'p> {
    pub(super) depth: usize,
    pub(super) route: usize,
    pub(super) values: Vec<&'p str>,
}

impl Node {
    pub(super) fn insert(&mut self, segments: &[Segment], place: Place, route: usize) {
        let mut node = self;
        for segment in segments {
            node = match segment {
                Segment::Literal(text) => node.literals.entry(text.clone()).or_default(),
                Segment::Param => node.param.get_or_insert_default(),
            };
        }
        match place {
            Place::Plain => node.plain.push(route),
            Place::Slashed => node.slashed.push(route),
            Place::Prefix => node.prefix.push(route),
        }
    }

    /// Offers the routes for exactly this path to `take`, best first, until it says yes.
    pub(super) fn exact<'p>(
        &self,
        path: PathRest<'p>,
        values: &mut Vec<&'p str>,
        take: &mut impl FnMut(usize) -> bool,
    ) -> bool {
        let Some((segment, rest)) = path.split() else {
            let (asked, other) = if path.slashed { (&self.slashed, &self.plain) } else { (&self.plain, &self.slashed) };
            let routes = if asked.is_empty() { other } else { asked };
            return routes.iter().any(|route| take(*route));
        };
        if let Some(child) = self.literal(segment)
            && child.exact(rest, values, take)
        {
            return true;
        }
        if let Some(child) = &self.param
            && !segment.is_empty()
        {
            values.push(segment);
            if child.exact(rest, values, take) {
                return true;
            }
            values.pop();
        }
        false
    }

    /// All prefix routes that fit, those deeper in the tree first on each branch.
    pub(super) fn prefixes<'p>(
        &self,
        path: PathRest<'p>,
        depth: usize,
        values: &mut Vec<&'p str>,
        found: &mut Vec<PrefixFit<'p>>,
    ) {
        if let Some((segment, rest)) = path.split() {
            if let Some(child) = self.literal(segment) {
                child.prefixes(rest, depth + 1, values, found);
            }
            if let Some(child) = &self.param
                && !segment.is_empty()
            {
                values.push(segment);
                child.prefixes(rest, depth + 1, values, found);
                values.pop();
            }
        }
        found.extend(self.prefix.iter().map(|route| PrefixFit { depth, route: *route, values: values.clone() }));
    }

    fn literal(&self, segment: &str) -> Option<&Node> {
        if self.literals.is_empty() {
            return None;
        }
        if segment.contains('%') {
            return self.literals.get(&*percent_decode_str(segment).decode_utf8_lossy());
        }
        self.literals.get(segment)
    }
}
