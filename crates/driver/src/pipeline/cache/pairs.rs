//! Finds the inputs and outputs that are caches.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Elem, Module, TensorType, ValueId};

use crate::{
    config::{KeyPath, Loaded, types::Cache},
    diagnostic::Diagnostics,
    failure::codes,
};

use super::named;

/// A message lists at most this many names.
const MOST: usize = 6;

/// A cache has at least an axis of positions, one of heads and one of elements.
const LEAST_AXES: usize = 3;

/// The past and the present of one layer.
pub(super) struct Pair<'a> {
    pub(super) path: KeyPath,
    pub(super) cache: &'a Cache,
    /// The name of the output.
    pub(super) name: String,
    pub(super) past: Option<ValueId>,
    pub(super) present: ValueId,
}

impl Pair<'_> {
    /// The input, if there is one, and the output.
    pub(super) fn values(&self) -> impl Iterator<Item = ValueId> {
        self.past.into_iter().chain([self.present])
    }
}

/// Finds the pairs of all caches that the configuration names for a target.
///
/// # Errors
/// A pattern matches nothing, a past has no present of its own or the other way round, or tensors cannot be a cache.
pub(super) fn pairs<'a>(loaded: &'a Loaded, id: &str, module: &Module) -> Result<Vec<Pair<'a>>, Diagnostics> {
    let mut found: Vec<Pair<'a>> = Vec::new();
    for (path, cache) in named(loaded, id) {
        let ends = Ends { loaded, module };
        let graph = module.main();
        let mut pasts = match &cache.past {
            None => BTreeMap::new(),
            Some(past) => ends.matched(&path.clone().key("past"), past, ("input", graph.inputs()))?,
        };
        let key = path.clone().key("present");
        let presents = ends.matched(&key, &cache.present, ("output", graph.outputs()))?;
        for (part, present) in presents {
            let (past, name) = (pasts.remove(&part), ends.name(present).to_owned());
            if let (None, Some(pattern)) = (past, &cache.past) {
                let expected = pattern.replacen('*', &part, 1);
                let message = format!("the model has no input `{expected}` for the output `{name}`");
                return Err(loaded.error(codes::RULE, &key, message, "").into());
            }
            let pair = Pair {
                path: path.clone(),
                cache,
                name,
                past,
                present,
            };
            ends.hold(&pair)?;
            found.push(pair);
        }
        if let Some((part, past)) = pasts.pop_first() {
            let (name, expected) = (ends.name(past), cache.present.replacen('*', &part, 1));
            let message = format!("the model has no output `{expected}` for the input `{name}`");
            return Err(loaded.error(codes::RULE, &path.key("past"), message, "").into());
        }
    }
    let mut seen = BTreeSet::new();
    for pair in &found {
        if !pair.values().all(|value| seen.insert(value)) {
            let message = format!(
                "`{}` or its past is the same tensor as another past or present",
                pair.name
            );
            let finding = loaded.error(codes::RULE, &pair.path, message, "");
            return Err(finding.help("each needs a tensor of its own").into());
        }
    }
    Ok(found)
}

struct Ends<'a> {
    loaded: &'a Loaded,
    module: &'a Module,
}

impl<'a> Ends<'a> {
    fn name(&self, value: ValueId) -> &'a str {
        let value = self.module.main().value(value);
        value.map_or("", |value| self.module.name(value.name))
    }

    /// The inputs or outputs that a pattern matches, by the text that `*` stands for.
    fn matched(
        &self,
        path: &KeyPath,
        pattern: &str,
        (word, values): (&str, &[ValueId]),
    ) -> Result<BTreeMap<String, ValueId>, Diagnostics> {
        let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
        if after.contains('*') {
            let message = format!("`{path}` has more than one `*`");
            return Err(self.loaded.error(codes::RULE, path, message, "").into());
        }
        let is_text = pattern.contains('*');
        let part = |name: &'a str| name.strip_prefix(before)?.strip_suffix(after);
        let matched = values
            .iter()
            .filter_map(|&value| Some((part(self.name(value))?, value)));
        let matched: BTreeMap<String, ValueId> = matched
            .filter(|(part, _)| is_text || part.is_empty())
            .map(|(part, value)| (part.to_owned(), value))
            .collect();
        if !matched.is_empty() {
            return Ok(matched);
        }
        let message = format!("`{pattern}` in `{path}` matches no {word} of the model");
        let names: Vec<&str> = values.iter().take(MOST).map(|&value| self.name(value)).collect();
        let more = if values.len() > MOST { ", …" } else { "" };
        let finding = self.loaded.error(codes::RULE, path, message, "");
        let finding = finding.note(format!("its {word}s are {}{more}", names.join(", ")));
        Err(Diagnostics::from(match word {
            "input" => finding.help("if the model has no past, leave `past` out"),
            _ => finding,
        }))
    }

    /// Checks that past and present can be a cache: real numbers, whose shapes differ in the number of positions only.
    fn hold(&self, pair: &Pair<'_>) -> Result<(), Diagnostics> {
        let graph = self.module.main();
        let types: Vec<&TensorType> = pair.values().filter_map(|id| Some(&graph.value(id)?.ty)).collect();
        let wrong = |message: String| self.loaded.error(codes::RULE, &pair.path, message, "");
        for (id, ty) in pair.values().zip(&types) {
            if ty.elem != Elem::F32 || ty.shape.len() < LEAST_AXES {
                let name = self.name(id);
                let message = format!("`{name}` is {ty}, and keys or values are f32 with {LEAST_AXES} or more axes");
                return Err(wrong(message).into());
            }
        }
        let [past, present] = types.as_slice() else {
            return Ok(());
        };
        let differing = past
            .shape
            .iter()
            .zip(&present.shape)
            .filter(|(one, other)| one != other);
        if past.shape.len() != present.shape.len() || differing.count() > 1 {
            let message = format!("`{}` is {present}, and its past is {past}", pair.name);
            let finding = wrong(message).help("the shapes may differ only in the number of positions");
            return Err(finding.into());
        }
        Ok(())
    }
}
