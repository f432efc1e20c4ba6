//! Fuse: requantizations and clamps into their producers, row by row of the target's table.
//!
//! A site is a requantize node with what stands around it: a producer (or a constant), perhaps a clamp of accumulators in
//! between, perhaps a clamp of codes behind. The engine knows ops, forms and verbs only as data: the first row whose
//! conditions hold and which accepts the form fires, its verbs make the patch, and a certificate says whether the fused
//! node computes the same on every accumulator that can occur.

mod certify;
mod grounds;
mod site;
mod verbs;

use site::Found;
use strait_core::{GraphId, Module, NodeId, Op, PatchError, Reason};
use strait_requantize::{Certificate, Verdict};
use strait_target::spec::{FusionRow, Options, Verb};
use strait_target::{Target, TargetSpec};

/// Which differences a fusion may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FusionPolicy {
    /// None.
    Exact,
    /// At most this many units in the last place of the result.
    Bounded(u32),
    /// Any, as long as it is stated.
    Any,
}

impl FusionPolicy {
    fn allows(self, certificate: &Certificate) -> Result<(), Reason> {
        let worst = certificate.worst();
        let difference = worst.max_lsb();
        let allowed = match self {
            FusionPolicy::Exact => difference == 0,
            FusionPolicy::Bounded(limit) => difference <= limit,
            FusionPolicy::Any => true,
        };
        if allowed {
            return Ok(());
        }
        Err(match worst {
            Verdict::Unknown => Reason::new("undecided", "nothing proves that the result would be the same"),
            _ => Reason::new(
                "not-exact",
                format!("the result would differ by up to {difference} units in the last place"),
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
    /// The rows in front of it, which did not fire; near misses first.
    pub tried: Vec<Attempt>,
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
    /// All rows of the table, near misses first.
    pub tried: Vec<Attempt>,
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

/// Fuses what the rows of the target's table say, in one graph of the integer stage.
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
    let missing = || FuseError::Ours("the graph is not in the module".into());
    let order = module.graph(graph).ok_or_else(missing)?.topological_order();
    let order = order.map_err(|_| FuseError::Ours("the graph has a cycle".into()))?;
    let is_site = |id: &NodeId| {
        module
            .graph(graph)
            .and_then(|g| g.node(*id))
            .is_some_and(|n| matches!(n.op, Op::Requantize(_)))
    };
    let sites: Vec<NodeId> = order.into_iter().filter(is_site).collect();
    let mut done = Fusion::default();
    for at in sites {
        let Some(found) = Found::at(module, graph, at) else {
            continue;
        };
        let (node, narrow) = (found.name(), found.name_of(found.narrow));
        let mut tried = Vec::new();
        let mut made = None;
        for row in &target.spec().fusion {
            match attempt(&found, row, target, options, policy) {
                Ok((patch, certificate)) => {
                    // A clamp behind the requantization may have stayed there.
                    let value = patch.replace.first().map(|&(old, _)| found.name_of(old));
                    made = Some((row.name.to_string(), value.unwrap_or_default(), patch, certificate));
                    break;
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
        match made {
            Some((row, value, patch, certificate)) => {
                let applied = module.apply(graph, patch);
                applied.map_err(|error| FuseError::Patch {
                    row: row.clone(),
                    error,
                })?;
                done.fired.push(Fused {
                    node,
                    value,
                    row,
                    certificate,
                    tried,
                });
            }
            None => {
                let nearest = tried.first().filter(|attempt| attempt.until > Until::Producer);
                let (row, reason) = match nearest {
                    Some(attempt) => (Some(attempt.row.clone()), attempt.reason.clone()),
                    None => {
                        let text = format!("no row of the table fuses into {}", found.term());
                        (None, Reason::new("no-row", text))
                    }
                };
                done.refused.push(Refused {
                    node,
                    value: narrow,
                    row,
                    reason,
                    tried,
                });
            }
        }
    }
    Ok(done)
}

/// The patch and the certificate of `row` at a site, or at what it fails.
fn attempt(
    found: &Found<'_>,
    row: &FusionRow,
    target: &dyn Target,
    options: &Options,
    policy: FusionPolicy,
) -> Result<(strait_core::Patch, Certificate), (Until, Reason)> {
    let spec = target.spec();
    found.matches_op(row).map_err(Until::Producer.failed())?;
    found.conditions(row, options).map_err(Until::Conditions.failed())?;
    found.channels_fit().map_err(Until::Conditions.failed())?;
    let custom = row.then.iter().find_map(|verb| match &**verb {
        Verb::Custom(name) => Some(name),
        _ => None,
    });
    let plan = match custom {
        Some(name) => verbs::decided(found, row, name, target),
        None => certify::plan(found, row, spec).map(|planned| (None, planned)),
    };
    let (op, planned) = plan.map_err(Until::Form.failed())?;
    let certificate = certify::certificate(found, &planned).map_err(Until::Proof.failed())?;
    let patch = match op {
        Some(op) => verbs::taken(found, op, &planned),
        None => verbs::patch(found, row, &planned),
    };
    let patch = patch.map_err(Until::Proof.failed())?;
    policy.allows(&certificate).map_err(Until::Policy.failed())?;
    Ok((patch, certificate))
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
        None => Err(Reason::new("no-form", format!("the table has no form {name}"))),
    }
}
