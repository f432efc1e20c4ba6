//! Wraps a target. The wrapper counts the calls and repeats them: the target's answer about a node and the files that
//! it writes must be the same in each call and in each process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strait_core::{Module, Reason};
use strait_kernels::integer::Loops;
use strait_requantize::Requantization;
use strait_target::{Candidate, Decision, Emission, FusionSite, Recorded, Sink, Target, TargetError, TargetSpec};

/// The target, and the same target in another process.
pub(super) struct Witness {
    inner: Arc<dyn Target>,
    elsewhere: Option<Arc<dyn Target>>,
    seen: Mutex<Seen>,
}

/// What the target was asked and what it answered.
#[derive(Default)]
struct Seen {
    calls: BTreeMap<&'static str, u64>,
    nodes: Nodes,
}

/// The nodes that the target was asked about.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    /// The nodes by name. Each has the target's reason if the target refused the node.
    pub(super) asked: BTreeMap<String, Option<String>>,
    /// Answers that differed when the target was asked again.
    pub(super) disagreements: Vec<String>,
}

impl Nodes {
    /// The refused nodes, with the reasons.
    pub(super) fn refused(&self) -> impl Iterator<Item = (&str, &str)> {
        let asked = self.asked.iter();
        asked.filter_map(|(name, reason)| Some((name.as_str(), reason.as_deref()?)))
    }

    /// True if every node was refused.
    pub(super) fn refuses_all(&self) -> bool {
        !self.asked.is_empty() && self.asked.values().all(Option::is_some)
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness")
            .field("id", &self.inner.spec().id)
            .finish_non_exhaustive()
    }
}

impl Witness {
    pub(super) fn new(inner: Arc<dyn Target>, elsewhere: Option<Arc<dyn Target>>) -> Witness {
        Witness {
            inner,
            elsewhere,
            seen: Mutex::default(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, method: &'static str) {
        *self.seen().calls.entry(method).or_default() += 1;
    }

    /// How often a method was called.
    pub(super) fn calls(&self, method: &str) -> u64 {
        self.seen().calls.get(method).copied().unwrap_or(0)
    }

    /// The nodes that the target was asked about since the last call of this function.
    pub(super) fn take_nodes(&self) -> Nodes {
        std::mem::take(&mut self.seen().nodes)
    }

    /// The same target in another process.
    pub(super) fn elsewhere(&self) -> Option<&Arc<dyn Target>> {
        self.elsewhere.as_ref()
    }

    /// Repeats a call, for example in another process. Each answer comes with a text that says how the call was
    /// repeated.
    fn again<'a>(
        &'a self,
        nodes: &'a [Candidate<'_>],
    ) -> impl Iterator<Item = (&'static str, Result<Vec<Option<Reason>>, TargetError>)> + 'a {
        let one = |node| match self.inner.admits(node) {
            Ok(()) => Ok(None),
            Err(TargetError::Refused(reason)) => Ok(Some(reason)),
            Err(error) => Err(error),
        };
        let again = [
            ("asked again", self.inner.refusals(nodes)),
            ("asked about it alone", nodes.iter().map(one).collect()),
        ];
        let elsewhere = self.elsewhere.iter();
        let elsewhere = elsewhere.map(|other| ("in another process", other.refusals(nodes)));
        again.into_iter().chain(elsewhere)
    }
}

impl Target for Witness {
    fn spec(&self) -> &TargetSpec {
        self.count("spec");
        self.inner.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.count("loops");
        self.inner.loops(form, clamp)
    }

    fn own_loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<Box<dyn Loops>>, TargetError> {
        self.count("own_loops");
        self.inner.own_loops(form, clamp)
    }

    fn models(&self, form: &Requantization, clamp: Option<[i32; 2]>, wide: bool) -> Result<Option<bool>, TargetError> {
        self.count("models");
        self.inner.models(form, clamp, wide)
    }

    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        match self.refusals(std::slice::from_ref(node))?.pop().flatten() {
            Some(reason) => Err(reason.into()),
            None => Ok(()),
        }
    }

    fn refusals(&self, nodes: &[Candidate<'_>]) -> Result<Vec<Option<Reason>>, TargetError> {
        let first = self.inner.refusals(nodes)?;
        let mut disagreements = Vec::new();
        for (how, answers) in self.again(nodes) {
            let answers = answers?;
            let both = nodes.iter().zip(first.iter().zip(&answers));
            for (node, (one, other)) in both.filter(|(_, (one, other))| one != other) {
                let said = |reason: &Option<Reason>| match reason {
                    Some(reason) => format!("refused: {}", reason.text),
                    None => "admitted".to_owned(),
                };
                let (name, one, other) = (node.name(), said(one), said(other));
                disagreements.push(format!("`{name}` is {one}; {how}, it is {other}"));
            }
        }
        let mut seen = self.seen();
        *seen.calls.entry("admits").or_default() += nodes.len() as u64;
        seen.nodes.disagreements.extend(disagreements);
        for (node, reason) in nodes.iter().zip(&first) {
            let reason = reason.as_ref().map(|reason| reason.text.clone());
            seen.nodes.asked.insert(node.name().to_owned(), reason);
        }
        Ok(first)
    }

    fn custom(&self, verb: &str, site: &FusionSite<'_>) -> Result<Decision, TargetError> {
        self.count("custom");
        self.inner.custom(verb, site)
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        self.count("emit");
        self.inner.emit(module, sink)
    }

    fn emit_all(&self, emission: &Emission<'_>, sink: &mut dyn Sink) -> Result<(), TargetError> {
        self.count("emit");
        self.inner.emit_all(emission, sink)
    }

    fn counts_outputs(&self) -> bool {
        self.count("counts_outputs");
        self.inner.counts_outputs()
    }

    fn recorded(&self, text: &str) -> Result<Vec<Recorded>, TargetError> {
        self.count("recorded");
        self.inner.recorded(text)
    }
}
