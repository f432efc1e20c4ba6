//! Fusions of the requantizations: one by one, and row by row of the target's table.

use serde::{Deserialize, Serialize};
use strait_core::{Reason, ReasonCode};
use strait_lower::{Attempt, Fused, Fusion, Merged, Refused, Until, dropped_clamp};
use strait_requantize::{Certificate, Verdict};
use strait_target::{
    TargetSpec,
    spec::{FusionRow, Row},
};

use super::ReasonReport;

/// Fusions of the requantizations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fusions {
    /// Those that became part of their producers.
    pub fired: Vec<FiredReport>,
    /// Those that stay operations of their own.
    pub refused: Vec<RefusedReport>,
    /// Equal requantizations of one accumulator that became one before anything was fused.
    pub merged: Vec<MergedReport>,
    /// The rows of the target's table, in the order in which they are tried.
    pub rows: Vec<RowReport>,
}

/// A fusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FiredReport {
    /// The operation that resulted.
    pub layer: String,
    /// The row of the target's table that fired.
    pub row: String,
    /// The verdict on the channel with the largest difference.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Verdict"))]
    pub verdict: Verdict,
    /// The certificate in words.
    pub claim: String,
    /// Reason why a clamp in front of the requantization was left out; absent where there was no clamp, or the clamp
    /// still acts.
    pub dropped_clamp: Option<ReasonReport>,
}

/// Equal requantizations that became one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MergedReport {
    /// The value that stays.
    pub value: String,
    /// Those that it stands for, too.
    pub gone: Vec<String>,
}

/// A fusion that was not made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RefusedReport {
    /// The operation in front.
    pub layer: String,
    /// The requantized value.
    pub value: String,
    /// The row that came nearest.
    pub row: Option<String>,
    /// Reason why the row did not fire.
    pub reason: ReasonReport,
}

/// A row of the target's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowReport {
    /// Its name.
    pub row: String,
    /// The producers that it is for.
    pub ops: Vec<String>,
    /// Evidence for the row's bits.
    pub evidence: String,
    /// Where it was tried at such a producer and did not fire, near misses first; nowhere while its option is off.
    pub missed: Vec<Miss>,
}

/// A row that did not fire where it was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Miss {
    /// The operation in front.
    pub layer: String,
    /// The requantized value.
    pub value: String,
    /// Stage at which the row failed: `conditions`, `form`, `proof`, `policy`, or `length` where another row takes more
    /// steps.
    pub failed_at: String,
    /// Reason of the failure.
    pub reason: ReasonReport,
    /// The row that fired in its stead.
    pub instead: Option<String>,
}

pub(super) fn fusions(spec: &TargetSpec, fusion: &Fusion) -> Fusions {
    Fusions {
        fired: fusion.fired.iter().map(fired).collect(),
        refused: fusion.refused.iter().map(refused).collect(),
        merged: fusion.merged.iter().map(merged).collect(),
        rows: spec.fusion.iter().map(|row| self::row(spec, row, fusion)).collect(),
    }
}

pub(super) fn fired(fired: &Fused) -> FiredReport {
    fired_by(&fired.node, &fired.row, &fired.certificate)
}

/// Report of a fusion by its certificate.
pub(super) fn fired_by(layer: &str, row: &str, certificate: &Certificate) -> FiredReport {
    FiredReport {
        layer: layer.to_owned(),
        row: row.to_owned(),
        verdict: certificate.worst().clone(),
        claim: certificate.to_string(),
        dropped_clamp: dropped_clamp(certificate).as_ref().map(reason),
    }
}

fn merged(merged: &Merged) -> MergedReport {
    MergedReport {
        value: merged.value.clone(),
        gone: merged.gone.clone(),
    }
}

fn refused(refused: &Refused) -> RefusedReport {
    RefusedReport {
        layer: refused.node.clone(),
        value: refused.value.clone(),
        row: refused.row.clone(),
        reason: reason(&refused.reason),
    }
}

pub(super) fn reason(reason: &Reason) -> ReasonReport {
    ReasonReport {
        code: reason.code.to_string(),
        text: reason.text.clone(),
    }
}

fn row(spec: &TargetSpec, row: &FusionRow, fusion: &Fusion) -> RowReport {
    let fired = (fusion.fired.iter()).map(|fired| (&fired.node, &fired.value, Some(&fired.row), &fired.tried));
    let refused = (fusion.refused.iter()).map(|refused| (&refused.node, &refused.value, None, &refused.tried));
    let mut missed: Vec<(Until, Miss)> = Vec::new();
    for (layer, value, instead, tried) in fired.chain(refused) {
        // A row whose option is off is none of the target that was chosen.
        let tried_here =
            |attempt: &Attempt| attempt.until > Until::Producer && attempt.reason.code != ReasonCode::Option;
        let here = |attempt: &&Attempt| attempt.row == row.name && tried_here(attempt);
        missed.extend(tried.iter().filter(here).map(|attempt| {
            let miss = Miss {
                layer: layer.clone(),
                value: value.clone(),
                failed_at: failed_at(attempt.until).to_owned(),
                reason: reason(&attempt.reason),
                instead: instead.cloned(),
            };
            (attempt.until, miss)
        }));
    }
    // What a fusion of this row has left behind it.
    let behind = |refused: &&Refused| refused.tried.is_empty() && refused.row.as_deref() == Some(row.name.as_str());
    missed.extend(fusion.refused.iter().filter(behind).map(|refused| {
        let miss = Miss {
            layer: refused.node.clone(),
            value: refused.value.clone(),
            failed_at: failed_at(Until::Form).to_owned(),
            reason: reason(&refused.reason),
            instead: None,
        };
        (Until::Form, miss)
    }));
    // What stays by itself comes before what another row has fused.
    missed.sort_by_key(|(until, miss)| (miss.instead.is_some(), std::cmp::Reverse(*until)));
    let support = spec.support(Row::Fusion(&row.name));
    RowReport {
        row: row.name.to_string(),
        ops: row.ops.iter().map(ToString::to_string).collect(),
        evidence: support.map_or_else(String::new, |support| support.evidence.to_string()),
        missed: missed.into_iter().map(|(_, miss)| miss).collect(),
    }
}

fn failed_at(until: Until) -> &'static str {
    match until {
        Until::Producer => "producer",
        Until::Conditions => "conditions",
        Until::Form => "form",
        Until::Proof => "proof",
        Until::Policy => "policy",
        Until::Length => "length",
    }
}
