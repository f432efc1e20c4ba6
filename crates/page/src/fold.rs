//! Folds nodes of a graph whose names begin alike.

use std::collections::BTreeMap;

/// Groups of nodes.
#[derive(Debug)]
pub(crate) struct Folding {
    /// The names of the groups.
    pub(crate) names: Vec<String>,
    /// The group of each node.
    pub(crate) of: Vec<usize>,
}

/// The parts of a name in front of the last one. They are separated by slashes or dots.
pub(crate) fn path(name: &str) -> Vec<&str> {
    let name = name.split(':').next().unwrap_or(name);
    let separator = if name.contains('/') { '/' } else { '.' };
    let mut parts: Vec<&str> = name.split(separator).filter(|part| !part.is_empty()).collect();
    parts.pop();
    parts
}

/// Folds nodes by their paths. As many parts of the paths are used as give at most `most` groups. `names` are for groups of
/// nodes without a path. Returns `None` if the names do not tell parts.
pub(crate) fn by_name(paths: &[Vec<&str>], names: &[&str], most: usize) -> Option<Folding> {
    let deepest = paths.iter().map(Vec::len).max()?;
    let grouped = |depth: usize| {
        let mut groups: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        // Neighbouring nodes without a path are one group, which has the name of its first node.
        let mut outside: Option<usize> = None;
        let of: Vec<usize> = (paths.iter().zip(names))
            .map(|(path, name)| {
                let next = groups.len();
                if let (true, Some(group)) = (path.is_empty(), outside) {
                    return group;
                }
                let key: Vec<&str> = match path.is_empty() {
                    true => vec![name],
                    false => path.iter().take(depth).copied().collect(),
                };
                let group = *groups.entry(key).or_insert(next);
                outside = path.is_empty().then_some(group);
                group
            })
            .collect();
        (groups, of)
    };
    let (groups, of) = (1..=deepest)
        .map(grouped)
        .filter(|(groups, _)| (3..=most).contains(&groups.len()))
        .max_by_key(|(groups, _)| groups.len())?;
    if groups.len() * 2 > paths.len() {
        return None;
    }
    let mut names: Vec<(usize, String)> = groups.iter().map(|(path, index)| (*index, path.join("/"))).collect();
    names.sort();
    Some(Folding {
        names: names.into_iter().map(|(_, name)| name).collect(),
        of,
    })
}

/// Folds neighbours, at most `most` groups of the same size. For nodes whose names do not tell parts.
pub(crate) fn by_place(names: &[&str], most: usize) -> Folding {
    let size = names.len().div_ceil(most.max(1)).max(1);
    let named = names.chunks(size).map(|chunk| match chunk {
        [] => String::new(),
        [own] => (*own).to_owned(),
        [first, .., last] => format!("{first} … {last}"),
    });
    Folding {
        names: named.collect(),
        of: (0..names.len()).map(|index| index / size).collect(),
    }
}

impl Folding {
    /// The members of a group.
    pub(crate) fn members(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.of.len()).filter(move |index| self.of.get(*index) == Some(&group))
    }

    /// The edges between groups, each once.
    pub(crate) fn between(&self, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut between: Vec<(usize, usize)> = edges
            .iter()
            .filter_map(|&(from, to)| Some((*self.of.get(from)?, *self.of.get(to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        between.sort_unstable();
        between.dedup();
        between
    }
}
