//! Fuse: moves requantizations and clamps into their producers, as the rows of the target's table say.
//!
//! A site is a producer (a node or a constant) together with the chain of requantizations and clamps that follow it.
//! The chain ends at the first value that another node reads. This code has no special case for any op or form: both
//! are data in the table. A row can fire if its conditions hold, its forms accept the requantization, and it can be
//! proven by how much the results change. Among the rows that can fire, those that take the longest part of the chain
//! are preferred, and of these the first one fires. The verbs of this row say how the graph changes. A certificate says
//! whether the fused node computes the same result for every accumulator that can occur. Each row that does not fire is
//! recorded with the reason.

mod added;
mod conditions;
mod grounds;
mod merge;
mod plan;
mod site;
mod verbs;

pub use merge::Merged;

use crate::interval::KnownBounds;
use plan::Planned;
use site::{Producer, RequantizationSite};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Graph, GraphId, Module, NodeId, Op, Patch, PatchError, Reason, ReasonCode, ValueId, refused};
use strait_requantize::{Certificate, Verdict};
use strait_target::spec::{FusionRow, Verb};
use strait_target::{Target, TargetSpec};

/// How much a fusion may change results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FusionPolicy {
    /// A fusion must not change results at all.
    Exact,
    /// A fusion may change results by at most this many LSB, which are units of the result's codes.
    Bounded(u32),
    /// A fusion may change results by any amount, as long as the amount can be determined. Otherwise, the fusion is
    /// still refused.
    Any,
}

impl FusionPolicy {
    fn allows(self, certificate: &Certificate) -> Result<(), Reason> {
        let worst = certificate.worst();
        let difference = worst.max_lsb();
        let allowed = match self {
            FusionPolicy::Exact => difference == 0,
            FusionPolicy::Bounded(limit) => difference <= limit,
            FusionPolicy::Any => *worst != Verdict::Unknown,
        };
        if allowed {
            return Ok(());
        }
        Err(match worst {
            Verdict::Unknown => Reason::new(
                ReasonCode::Undecided,
                "nothing proves that the result would be the same",
            ),
            _ => Reason::new(
                ReasonCode::NotExact,
                format!("the result would differ by up to {difference} LSB"),
            ),
        })
    }
}

/// A fusion that was made.
#[derive(Clone, Debug)]
pub struct Fused {
    /// The name of the fused node.
    pub node: String,
    /// The name of the fused node's result. The lowered graph has a value of the same name.
    pub value: String,
    /// The row that fired.
    pub row: String,
    /// The certificate of the fusion.
    pub certificate: Certificate,
    /// The other rows that were tried. The rows that came nearest to firing come first.
    pub tried: Vec<Attempt>,
}

impl Fused {
    /// Returns the reason why a clamp before the requantization could be dropped in this fusion: the clamp changes
    /// nothing. Returns `None` if there was no clamp, or if the fused node still has it.
    pub fn dropped_clamp(&self) -> Option<Reason> {
        dropped_clamp(&self.certificate)
    }
}

/// Returns the reason why a clamp before the requantization could be dropped: the clamp changes nothing. Returns `None`
/// if there was no clamp, or if the fused node still has it.
pub fn dropped_clamp(certificate: &Certificate) -> Option<Reason> {
    let after = certificate.after.as_ref()?;
    let out = after.out();
    // If the form includes a ReLU, the form computes the clamp, so the clamp was not dropped.
    let clamps = after.clamp.is_some() || after.form.range() != [out.min(), out.max()];
    let [low, high] = certificate.before.iter().find_map(|step| step.clamp)?;
    let text = format!("without the clamp to [{low}, {high}] no result is another one");
    (!clamps && certificate.worst().is_exact()).then(|| Reason::new(ReasonCode::RedundantClamp, text))
}

/// A requantization that was not fused and stays a node of its own.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The name of the producer.
    pub node: String,
    /// The name of the requantized value.
    pub value: String,
    /// The row that came nearest to firing. `None` if the table has no row for the producer's op.
    pub row: Option<String>,
    /// The reason why the requantization was not fused.
    pub reason: Reason,
    /// All rows of the table that were tried, beginning with those that came nearest to firing. Empty if this
    /// requantization comes after a fused part of its chain, because no row is tried for the rest of such a chain.
    pub tried: Vec<Attempt>,
}

impl Refused {
    /// True if the table has a row that is meant for this site. The ops and the conditions of such a row match; only
    /// its forms, the proof or the policy prevent the fusion.
    pub fn has_row(&self) -> bool {
        self.tried.iter().any(|attempt| attempt.until > Until::Conditions)
    }
}

/// A row that did not fire at a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The name of the row.
    pub row: String,
    /// The stage at which the row failed.
    pub until: Until,
    /// The reason why the row failed.
    pub reason: Reason,
}

/// The check that a row of the fusion table failed at a site. The variants are in the order of the checks, so a row
/// that failed a later check came nearer to firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Until {
    /// The row is for producers with other ops.
    Producer,
    /// A condition of the row does not hold at the site.
    Conditions,
    /// The row does not accept the form of the requantization.
    Form,
    /// It could not be proven that the fused op computes the same, or the graph could not be changed.
    Proof,
    /// The result differs by more than the policy allows.
    Policy,
    /// The row could fire, but another row takes a longer part of the chain.
    Length,
}

impl Until {
    /// Returns a function that adds this stage to a reason.
    fn failed(self) -> impl Fn(Reason) -> (Until, Reason) {
        move |reason| (self, reason)
    }
}

/// The results of fusing a graph, in topological order.
#[derive(Clone, Debug, Default)]
pub struct Fusion {
    /// The fusions that were made.
    pub fired: Vec<Fused>,
    /// The requantizations that were not fused.
    pub refused: Vec<Refused>,
    /// Equal requantizations that were merged before the first fusion.
    pub merged: Vec<Merged>,
}

/// The reason why fusing stopped.
#[derive(Debug, thiserror::Error)]
pub enum FuseError {
    /// A patch could not be applied. This is a defect of the compiler or of the target's code.
    #[error("row {row}: {error}")]
    Patch {
        /// The row.
        row: String,
        /// The error of the patch.
        error: PatchError,
    },
    /// The graph is broken.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

/// Fuses a graph of the integer stage, and the graphs that it calls, as the rows of the target's table say.
///
/// First, equal requantizations of the same accumulator are merged. Then constants are requantized at compile time,
/// with one copy for each reader. Then requantizations move into their producers. If the graph calls another graph
/// several times, the called graph is fused once. If graphs outside of this fusion also call it, only a copy of the
/// called graph is fused. For example, the lowered graph still calls the original, and the fused graph calls the copy.
///
/// # Errors
/// See [`FuseError`]. A site that cannot be fused is not an error.
pub fn fuse(
    module: &mut Module,
    graph: GraphId,
    target: &dyn Target,
    policy: FusionPolicy,
) -> Result<Fusion, FuseError> {
    let table = Table { target, policy };
    let mut done = Fusion::default();
    for graph in module.unshare(graph) {
        let merged = merge::equal_requantizations(module, graph).map_err(|error| FuseError::Patch {
            row: "equal requantizations".into(),
            error,
        })?;
        done.merged.extend(merged);
        for constants in [true, false] {
            table.fuse(module, graph, constants, &mut done)?;
        }
    }
    Ok(done)
}

/// The requantizations of a graph, in topological order.
fn requantizations(module: &Module, graph: GraphId) -> Result<Vec<NodeId>, FuseError> {
    let missing = || FuseError::Ours("the graph is not in the module".into());
    let g = module.graph(graph).ok_or_else(missing)?;
    let order = g.topological_order();
    let order = order.map_err(|_| FuseError::Ours("the graph has a cycle".into()))?;
    let is_site = |id: &NodeId| g.node(*id).is_some_and(|n| matches!(n.op, Op::Requantize(_)));
    Ok(order.into_iter().filter(is_site).collect())
}

/// The rows of the target's table, and the policy that says how much fusions may change results.
struct Table<'a> {
    target: &'a dyn Target,
    policy: FusionPolicy,
}

/// The result of applying a row to a site.
struct Made {
    row: String,
    added: Option<String>,
    links: usize,
    patch: Patch,
    certificate: Certificate,
}

/// A row that fires at a site, with everything that is needed to apply it.
struct Fires {
    made: Made,
    /// The name of the producer.
    node: String,
    /// The name of the fused result.
    name: String,
    is_output: bool,
    is_constant: bool,
    /// The name of the value, on the accumulator's grid, that is added inside the accumulator. `None` if no addition
    /// moves into an accumulator.
    added: Option<String>,
    /// The name of the first value after the fused node that a separate node requantizes. `None` if no requantization
    /// remains after the fused node.
    left: Option<String>,
    behind: Vec<NodeId>,
    tried: Vec<Attempt>,
}

impl Fires {
    /// Puts the fused node into the graph. Returns the nodes of the chain that remain after the fused node. No further
    /// fusion is tried for these nodes.
    fn apply(self, module: &mut Module, graph: GraphId, done: &mut Fusion) -> Result<Vec<NodeId>, FuseError> {
        let row = self.made.row;
        // The tensors of a patch become the first values that are added to the graph.
        let first = ValueId::new(module.graph(graph).map_or(0, Graph::value_bound));
        let applied = module.apply(graph, self.made.patch);
        applied.map_err(|error| FuseError::Patch {
            row: row.clone(),
            error,
        })?;
        let value = match self.is_constant {
            true => named(module, graph, first, self.is_output.then_some(&*self.name)),
            false => self.name.clone(),
        };
        // The requantization of the added value is now part of the product and no longer counts as refused.
        done.refused
            .retain(|refused| Some(&refused.value) != self.added.as_ref());
        if let Some(value) = self.left {
            let text = format!(
                "it stands behind {}, which has a requantization already, and no one form computes both",
                self.name
            );
            done.refused.push(Refused {
                node: self.node.clone(),
                value,
                row: Some(row.clone()),
                reason: Reason::new(ReasonCode::Chain, text),
                tried: Vec::new(),
            });
        }
        done.fired.push(Fused {
            node: self.node,
            value,
            row,
            certificate: self.made.certificate,
            tried: self.tried,
        });
        Ok(self.behind)
    }
}

impl Table<'_> {
    /// Fuses sites of one graph, in topological order: the sites whose producer is a constant if `constants` is true,
    /// otherwise the sites whose producer is a node.
    fn fuse(&self, module: &mut Module, graph: GraphId, constants: bool, done: &mut Fusion) -> Result<(), FuseError> {
        let mut clones: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut left = BTreeSet::new();
        let mut known = KnownBounds::default();
        for at in requantizations(module, graph)? {
            if left.contains(&at) {
                continue;
            }
            let Some(site) = RequantizationSite::at(module, graph, at, &mut known) else {
                continue;
            };
            if constants != matches!(site.producer, Producer::Constant(_)) {
                known = site.into_known();
                continue;
            }
            let count = clones.entry(site.wide).or_default();
            let clone = format!("{}_requant_{count}", site.name());
            *count += 1;
            let decided = self.decide(site, &clone, &mut known, done);
            if let Some(fires) = decided {
                left.extend(fires.apply(module, graph, done)?);
            }
        }
        Ok(())
    }

    /// Decides which row fires at a site. Among the rows that can fire, it prefers those that take the longest part of
    /// the chain, and of these the first. If no row can fire, the site is recorded as refused.
    fn decide(
        &self,
        site: RequantizationSite<'_>,
        clone: &str,
        known: &mut KnownBounds,
        done: &mut Fusion,
    ) -> Option<Fires> {
        let node = site.name();
        let all = site.links.len();
        let mut tried = Vec::new();
        let mut made: Option<Made> = None;
        for row in &self.target.spec().fusion {
            let taken = made.as_ref().map_or(0, |made| made.links);
            if taken == all {
                break;
            }
            match self.attempt(&site, row, clone, taken) {
                Ok(fires) => {
                    tried.extend(made.replace(fires).map(|shorter| Attempt {
                        row: shorter.row,
                        until: Until::Length,
                        reason: Reason::new(
                            ReasonCode::Shorter,
                            "another row takes more of the chain behind the producer",
                        ),
                    }));
                }
                Err((until, reason)) => {
                    let row = row.name.to_string();
                    tried.push(Attempt { row, until, reason });
                }
            }
        }
        // Sorts by the check that failed, so that the row that came nearest to firing comes first. Among rows that
        // failed the same check, the row that was tried last comes first.
        tried.reverse();
        tried.sort_by_key(|attempt| std::cmp::Reverse(attempt.until));
        let fires = made.map(|made| {
            let result = site.taken(made.links).map(|(_, result)| result);
            // A sum inside the accumulator becomes part of the product.
            let into = site.added.as_ref().filter(|_| made.added.is_some());
            Fires {
                node: into.map_or_else(|| node.clone(), |added| site.module.name(added.product.name).to_owned()),
                added: made.added.clone(),
                // A second requantization of the chain may remain after the fused node.
                left: site.requantized(made.links..all),
                behind: site.links[made.links..].iter().map(|link| link.node).collect(),
                name: result.map(|value| site.name_of(value)).unwrap_or_default(),
                is_output: result.is_some_and(|value| site.graph.is_output(value)),
                is_constant: matches!(site.producer, Producer::Constant(_)),
                tried: std::mem::take(&mut tried),
                made,
            }
        });
        if fires.is_none() {
            let nearest = tried.first().filter(|attempt| attempt.until > Until::Producer);
            let (row, reason) = match nearest {
                Some(attempt) => (Some(attempt.row.clone()), attempt.reason.clone()),
                None => {
                    let text = format!("no row of the table fuses into {}", site.term());
                    (None, Reason::new(ReasonCode::NoRow, text))
                }
            };
            let value = site.requantized(0..all).unwrap_or_default();
            done.refused.push(Refused {
                node,
                value,
                row,
                reason,
                tried,
            });
        }
        *known = site.into_known();
        fires
    }

    /// Tries to fuse as many links of a site's chain as possible by `row`. The row has to fuse more than `taken` links,
    /// because an earlier row can already fuse `taken` links. If the row cannot fuse so many links, returns the check
    /// that the row failed, and the reason.
    fn attempt(
        &self,
        site: &RequantizationSite<'_>,
        row: &FusionRow,
        clone: &str,
        taken: usize,
    ) -> Result<Made, (Until, Reason)> {
        site.matches_op(row).map_err(Until::Producer.failed())?;
        site.conditions(row, &self.target.spec().chosen)
            .map_err(Until::Conditions.failed())?;
        let mut nearest: Option<(Until, Reason)> = None;
        let mut failed = |failure: (Until, Reason)| {
            if nearest.as_ref().is_none_or(|(until, _)| *until < failure.0) {
                nearest = Some(failure);
            }
        };
        for links in site.prefixes().filter(|&links| links > taken) {
            let (plans, refused) = match self.plans(site, row, links) {
                Ok(plans) => plans,
                Err(failure) => {
                    failed(failure);
                    continue;
                }
            };
            if let Some(reason) = refused {
                failed((Until::Form, reason));
            }
            for planned in plans {
                match self.prove(site, row, &planned, clone) {
                    Ok((patch, certificate)) => {
                        let added = site.added.as_ref().filter(|_| row.with.is_some());
                        let added =
                            added.and_then(|added| Some(site.name_of(site.result_of(*added.between.first()?)?)));
                        let row = row.name.to_string();
                        return Ok(Made {
                            added,
                            row,
                            links,
                            patch,
                            certificate,
                        });
                    }
                    Err(failure) => failed(failure),
                }
            }
        }
        Err(nearest.unwrap_or_else(|| (Until::Form, Reason::new(ReasonCode::NoForm, "the row accepts no form"))))
    }

    /// Returns the ways in which the row can replace the first `links` links of the chain.
    fn plans(
        &self,
        site: &RequantizationSite<'_>,
        row: &FusionRow,
        links: usize,
    ) -> Result<(Vec<Planned>, Option<Reason>), (Until, Reason)> {
        let custom = site::decides(row);
        let into_step = custom.is_some() || site::does(row, &Verb::SetRequantize);
        if let (true, Producer::Node(_, node)) = (into_step, site.producer) {
            verbs::is_accumulator(site, node).map_err(Until::Conditions.failed())?;
            site.channels_fit(row.with.is_some(), links)
                .map_err(Until::Conditions.failed())?;
        }
        if row.then.iter().any(Verb::moves_zero_point) {
            site.zero_points_meet(links).map_err(Until::Conditions.failed())?;
        }
        match custom {
            Some(name) => {
                let planned = verbs::decided(site, row, name, self.target, links);
                Ok((vec![planned.map_err(Until::Form.failed())?], None))
            }
            None => Ok(plan::plans(site, row, self.target.spec(), links)),
        }
    }

    /// The patch for a plan. It is an error if the result cannot be proven, or differs by more than the policy allows.
    fn prove(
        &self,
        site: &RequantizationSite<'_>,
        row: &FusionRow,
        planned: &Planned,
        clone: &str,
    ) -> Result<(Patch, Certificate), (Until, Reason)> {
        let certificate = verbs::certificate(site, planned).map_err(Until::Proof.failed())?;
        let patch = verbs::patch(site, row, planned, clone).map_err(Until::Proof.failed())?;
        self.policy.allows(&certificate).map_err(Until::Policy.failed())?;
        Ok((patch, certificate))
    }
}

/// Returns the name for a constant that was requantized at compile time. If the constant replaces an output, it takes
/// the output's name, because programs find outputs by their names.
fn named(module: &mut Module, graph: GraphId, constant: ValueId, output: Option<&str>) -> String {
    if let Some(output) = output {
        let symbol = module.names.intern(output);
        module.graphs[graph.index()].rename(constant, symbol);
    }
    let value = module.graph(graph).and_then(|g| g.value(constant));
    value.map(|v| module.name(v.name).to_string()).unwrap_or_default()
}

/// Checks that the table's form called `name` accepts a requantization with the clamp `clamp`.
fn accepts(
    spec: &TargetSpec,
    name: &str,
    form: &strait_requantize::Requantization,
    clamp: Option<[i32; 2]>,
) -> Result<(), Reason> {
    match spec.form.get(name) {
        Some(row) => row.accepts(form, clamp),
        None => refused(ReasonCode::NoForm, format!("the table has no form {name}")),
    }
}
