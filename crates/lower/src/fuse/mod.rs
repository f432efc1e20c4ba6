//! Fuse: requantizations and clamps into their producers, row by row of the target's table.
//!
//! A site is a producer (or a constant) and the chain of requantizations and clamps behind it, down to the first value that
//! something else reads. The engine knows ops, forms and verbs only as data: of the rows whose conditions hold, which
//! accept the form and whose result can be proved, the first of those fires that take most of the chain. Its verbs make
//! the patch, and a certificate says whether the fused node computes the same on everything that can occur. What does not
//! fire is recorded row by row, with the reason.

mod called;
mod certify;
mod conditions;
mod grounds;
mod merge;
mod plan;
mod site;
mod verbs;

pub use merge::Merged;

use plan::Planned;
use site::{Found, Producer};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Def, Graph, GraphId, Module, NodeId, Op, Patch, PatchError, Reason, ReasonCode, ValueId};
use strait_requantize::{Certificate, Verdict};
use strait_target::spec::{FusionRow, Options, Verb};
use strait_target::{Target, TargetSpec};

/// Which differences a fusion may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FusionPolicy {
    /// None.
    Exact,
    /// At most so many LSB, units of the result.
    Bounded(u32),
    /// Any, as long as it is stated: what is undecided is not.
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
    /// The name of the node that resulted.
    pub node: String,
    /// The name of its result, which identifies it in the lowered graph too.
    pub value: String,
    /// The row that fired.
    pub row: String,
    /// What it claims.
    pub certificate: Certificate,
    /// The other rows that were tried; near misses first.
    pub tried: Vec<Attempt>,
}

impl Fused {
    /// As [`dropped_clamp`], of its certificate.
    pub fn dropped_clamp(&self) -> Option<Reason> {
        dropped_clamp(&self.certificate)
    }
}

/// That a clamp in front of the requantization was dropped, and why; `None` where there was none, or one is left.
pub fn dropped_clamp(certificate: &Certificate) -> Option<Reason> {
    let after = certificate.after.as_ref()?;
    let out = after.out();
    // A form with a ReLU has taken over the clamp instead.
    let clamps = after.clamp.is_some() || after.form.range() != [out.min(), out.max()];
    let [low, high] = certificate.before.iter().find_map(|step| step.clamp)?;
    let text = format!("without the clamp to [{low}, {high}] no result is another one");
    (!clamps && certificate.worst().is_exact()).then(|| Reason::new(ReasonCode::RedundantClamp, text))
}

/// A requantization that stays a node of its own.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The name of the producer.
    pub node: String,
    /// The name of the requantized value.
    pub value: String,
    /// The row that came nearest; none where the table has no row for the producer.
    pub row: Option<String>,
    /// Why.
    pub reason: Reason,
    /// All rows of the table, near misses first; none where a row has fired on the front of the chain that this one ends.
    pub tried: Vec<Attempt>,
}

impl Refused {
    /// Whether a row of the table is for this site: its ops and all its conditions hold, and only the form, the proof or the
    /// policy stood against it.
    pub fn has_row(&self) -> bool {
        self.tried.iter().any(|attempt| attempt.until > Until::Conditions)
    }
}

/// A row that did not fire at a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The row.
    pub row: String,
    /// How far it came.
    pub until: Until,
    /// Why it came no further.
    pub reason: Reason,
}

/// What a row failed at, in the order in which it is looked at: the later, the nearer a miss it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Until {
    /// It is for producers of other ops.
    Producer,
    /// Something that it asks of the site does not hold.
    Conditions,
    /// It accepts no such form.
    Form,
    /// What it would make could not be proved, or the patch could not be made.
    Proof,
    /// What it would make differs by more than the policy allows.
    Policy,
    /// It could fire, but another row takes more of the chain.
    Length,
}

impl Until {
    /// A reason that a row fails at this.
    fn failed(self) -> impl Fn(Reason) -> (Until, Reason) {
        move |reason| (self, reason)
    }
}

/// All that happened, in topological order.
#[derive(Clone, Debug, Default)]
pub struct Fusion {
    /// The fusions that were made.
    pub fired: Vec<Fused>,
    /// The requantizations that stay.
    pub refused: Vec<Refused>,
    /// Equal requantizations that became one before anything was fused.
    pub merged: Vec<Merged>,
}

/// Why fusing stopped.
#[derive(Debug, thiserror::Error)]
pub enum FuseError {
    /// A patch did not fit: a defect of ours, or of the target's code.
    #[error("row {row}: {error}")]
    Patch {
        /// The row.
        row: String,
        /// What is wrong.
        error: PatchError,
    },
    /// The graph is broken.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

/// Fuses what the rows of the target's table say, in a graph of the integer stage and in those that it calls.
///
/// Equal requantizations of one accumulator become one, then constants are requantized, one clone for each reader, and
/// then requantizations go into their producers. A graph that is called is fused once, however many of ours call it. One that
/// is also called from elsewhere stays as it is, and each of its requantizations is refused: it is not ours alone.
///
/// # Errors
/// See [`FuseError`]; a site that cannot be fused is no error.
pub fn fuse(
    module: &mut Module,
    graph: GraphId,
    target: &dyn Target,
    options: &Options,
    policy: FusionPolicy,
) -> Result<Fusion, FuseError> {
    let table = Table {
        target,
        options,
        policy,
    };
    let mut done = Fusion::default();
    let called = called::from(module, graph);
    for graph in called.own {
        let merged = merge::equal_requantizations(module, graph).map_err(|error| FuseError::Patch {
            row: "equal requantizations".into(),
            error,
        })?;
        done.merged.extend(merged);
        for constants in [true, false] {
            table.fuse(module, graph, constants, &mut done)?;
        }
    }
    for graph in called.shared {
        done.refused.extend(shared(module, graph)?);
    }
    Ok(done)
}

/// The sites of a graph that is not ours alone: all of them are refused.
fn shared(module: &Module, graph: GraphId) -> Result<Vec<Refused>, FuseError> {
    let sites = requantizations(module, graph)?;
    let found = sites.into_iter().filter_map(|at| Found::at(module, graph, at));
    let name = module.graph(graph).map_or("", |g| module.name(g.name));
    let refused = found.map(|found| Refused {
        node: found.name(),
        value: found.requantized(0..found.links.len()).unwrap_or_default(),
        row: None,
        reason: Reason::new(
            ReasonCode::SharedGraph,
            format!("the graph {name} is also called from elsewhere"),
        ),
        tried: Vec::new(),
    });
    Ok(refused.collect())
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

/// What fuses: the rows, and which differences they may make.
struct Table<'a> {
    target: &'a dyn Target,
    options: &'a Options,
    policy: FusionPolicy,
}

/// What a row does at a site.
struct Made {
    row: String,
    links: usize,
    patch: Patch,
    certificate: Certificate,
}

impl Table<'_> {
    /// The sites of one graph, in topological order: those behind constants or those behind nodes.
    fn fuse(&self, module: &mut Module, graph: GraphId, constants: bool, done: &mut Fusion) -> Result<(), FuseError> {
        let mut clones: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut left = BTreeSet::new();
        for at in requantizations(module, graph)? {
            if left.contains(&at) {
                continue;
            }
            let Some(found) = Found::at(module, graph, at) else {
                continue;
            };
            if constants != matches!(found.producer, Producer::Constant(_)) {
                continue;
            }
            let count = clones.entry(found.wide).or_default();
            let clone = format!("{}_requant_{count}", found.name());
            *count += 1;
            left.extend(self.site(module, graph, at, &clone, done)?);
        }
        Ok(())
    }

    /// One site: of the rows that can, the first that takes most of the chain fires, or all of them are refused. Answers
    /// with the nodes of the chain that are left behind what fired, which are no site of their own.
    fn site(
        &self,
        module: &mut Module,
        graph: GraphId,
        at: NodeId,
        clone: &str,
        done: &mut Fusion,
    ) -> Result<Vec<NodeId>, FuseError> {
        let Some(found) = Found::at(module, graph, at) else {
            return Ok(Vec::new());
        };
        let node = found.name();
        let all = found.links.len();
        let mut tried = Vec::new();
        let mut made: Option<Made> = None;
        for row in &self.target.spec().fusion {
            let taken = made.as_ref().map_or(0, |made| made.links);
            if taken == all {
                break;
            }
            match self.attempt(&found, row, clone, taken) {
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
        // Of those that came as far, the last one is looked at first.
        tried.reverse();
        tried.sort_by_key(|attempt| std::cmp::Reverse(attempt.until));
        let Some(made) = made else {
            let nearest = tried.first().filter(|attempt| attempt.until > Until::Producer);
            let (row, reason) = match nearest {
                Some(attempt) => (Some(attempt.row.clone()), attempt.reason.clone()),
                None => {
                    let text = format!("no row of the table fuses into {}", found.term());
                    (None, Reason::new(ReasonCode::NoRow, text))
                }
            };
            let value = found.requantized(0..all).unwrap_or_default();
            done.refused.push(Refused {
                node,
                value,
                row,
                reason,
                tried,
            });
            return Ok(Vec::new());
        };
        // Behind what fires, a second requantization may be left.
        let left = found.requantized(made.links..all);
        let behind = found.links[made.links..].iter().map(|link| link.node).collect();
        let result = found.taken(made.links).map(|(_, result)| result);
        let name = result.map(|value| found.name_of(value)).unwrap_or_default();
        let is_output = result.is_some_and(|value| found.graph.is_output(value));
        let is_constant = matches!(found.producer, Producer::Constant(_));
        let row = made.row;
        let applied = module.apply(graph, made.patch);
        applied.map_err(|error| FuseError::Patch {
            row: row.clone(),
            error,
        })?;
        let value = match is_constant {
            true => named(module, graph, is_output.then_some(&*name)),
            false => name.clone(),
        };
        if let Some(value) = left {
            let text =
                format!("it stands behind {name}, which has a requantization already, and no one form computes both");
            done.refused.push(Refused {
                node: node.clone(),
                value,
                row: Some(row.clone()),
                reason: Reason::new(ReasonCode::Chain, text),
                tried: Vec::new(),
            });
        }
        done.fired.push(Fused {
            node,
            value,
            row,
            certificate: made.certificate,
            tried,
        });
        Ok(behind)
    }

    /// What `row` does at a site with more than `taken` links, or at what it fails. It takes as many as it can.
    fn attempt(&self, found: &Found<'_>, row: &FusionRow, clone: &str, taken: usize) -> Result<Made, (Until, Reason)> {
        found.matches_op(row).map_err(Until::Producer.failed())?;
        found
            .conditions(row, self.options)
            .map_err(Until::Conditions.failed())?;
        let mut nearest: Option<(Until, Reason)> = None;
        let mut failed = |failure: (Until, Reason)| {
            if nearest.as_ref().is_none_or(|(until, _)| *until < failure.0) {
                nearest = Some(failure);
            }
        };
        for links in found.prefixes().filter(|&links| links > taken) {
            let (plans, refused) = match self.plans(found, row, links) {
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
                match self.prove(found, row, &planned, clone) {
                    Ok((patch, certificate)) => {
                        let row = row.name.to_string();
                        return Ok(Made {
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

    /// What the row could make of the first `links` links.
    fn plans(
        &self,
        found: &Found<'_>,
        row: &FusionRow,
        links: usize,
    ) -> Result<(Vec<Planned>, Option<Reason>), (Until, Reason)> {
        let custom = site::decides(row);
        let into_step = custom.is_some() || site::does(row, &Verb::SetRequantize);
        if let (true, Producer::Node(_, node)) = (into_step, found.producer) {
            verbs::is_accumulator(found, node).map_err(Until::Conditions.failed())?;
            found.channels_fit(links).map_err(Until::Conditions.failed())?;
        }
        if site::does(row, &Verb::RequantizeZeroPoint) || site::does(row, &Verb::RescaleQuantize) {
            found.zero_points_meet(links).map_err(Until::Conditions.failed())?;
        }
        match custom {
            Some(name) => {
                let planned = verbs::decided(found, row, name, self.target, links);
                Ok((vec![planned.map_err(Until::Form.failed())?], None))
            }
            None => Ok(plan::plans(found, row, self.target.spec(), links)),
        }
    }

    /// The patch of what is planned, if it can be proved to be within the policy.
    fn prove(
        &self,
        found: &Found<'_>,
        row: &FusionRow,
        planned: &Planned,
        clone: &str,
    ) -> Result<(Patch, Certificate), (Until, Reason)> {
        let certificate = certify::certificate(found, planned).map_err(Until::Proof.failed())?;
        let patch = verbs::patch(found, row, planned, clone).map_err(Until::Proof.failed())?;
        self.policy.allows(&certificate).map_err(Until::Policy.failed())?;
        Ok((patch, certificate))
    }
}

/// The name of the constant that was added last. One that became an output takes over the output's name, by which it is
/// known outside.
fn named(module: &mut Module, graph: GraphId, output: Option<&str>) -> String {
    let data = |g: &Graph| {
        g.values()
            .filter(|(_, v)| matches!(v.def, Def::Data(_)))
            .last()
            .map(|(id, v)| (id, v.name))
    };
    let Some((id, own)) = module.graph(graph).and_then(data) else {
        return String::new();
    };
    let Some(output) = output else {
        return module.name(own).to_string();
    };
    let symbol = module.names.intern(output);
    module.graphs[graph.index()].rename(id, symbol);
    output.to_string()
}

/// Whether a form of the table called `name` accepts a requantization with this clamp.
fn accepts(
    spec: &TargetSpec,
    name: &str,
    form: &strait_requantize::Requantization,
    clamp: Option<[i32; 2]>,
) -> Result<(), Reason> {
    match spec.form.get(name) {
        Some(row) => row.accepts(form, clamp),
        None => Err(Reason::new(ReasonCode::NoForm, format!("the table has no form {name}"))),
    }
}
