//! Which requantizations were fused. This module lists them by requantization, and by row of the target's table.

use serde::{Deserialize, Serialize};
use strait_core::{Reason, ReasonCode};
use strait_lower::{Attempt, Fused, Fusion, Merged, Refused, Until, dropped_clamp};
use strait_requantize::{Argument, Certificate, Verdict};
use strait_target::{
    TargetSpec,
    spec::{FusionRow, Row},
};

use super::ReasonReport;

/// What became of the requantizations: which were fused into their producers, and which were not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fusions {
    /// The requantizations that became part of their producers.
    pub fired: Vec<FiredReport>,
    /// The requantizations that stay operations of their own.
    pub refused: Vec<RefusedReport>,
    /// Equal requantizations of the same accumulator, which were merged into one before fusing.
    pub merged: Vec<MergedReport>,
    /// The fusion rows of the target's table, in the order in which they are tried.
    pub rows: Vec<RowReport>,
}

/// A fusion that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FiredReport {
    /// The fused operation.
    pub layer: String,
    /// The row of the target's table that made the fusion.
    pub row: String,
    /// The verdict on the channel with the largest difference.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Verdict"))]
    pub verdict: Verdict,
    /// The fusion's certificate in words.
    pub claim: String,
    /// The smallest and the largest accumulator that any channel can have. Absent if the certificate is not about accumulators,
    /// and in reports of versions that did not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulators: Option<[i64; 2]>,
    /// Why a clamp before the requantization could be left out. Absent if there was no clamp, or if it still has an
    /// effect.
    pub dropped_clamp: Option<ReasonReport>,
}

/// Equal requantizations that were merged into one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MergedReport {
    /// The requantized value that stays.
    pub value: String,
    /// The values that it replaces.
    pub gone: Vec<String>,
}

/// A fusion that was not made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RefusedReport {
    /// The operation whose result is requantized.
    pub layer: String,
    /// The requantized value.
    pub value: String,
    /// The fusion row that was closest to being applied.
    pub row: Option<String>,
    /// Why that row was not applied.
    pub reason: ReasonReport,
}

/// A fusion row of the target's table, and where it was not applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowReport {
    /// Name of the row.
    pub row: String,
    /// The operations that the row can fuse a requantization into.
    pub ops: Vec<String>,
    /// Evidence that the fused operation computes what the table says.
    pub evidence: String,
    /// The places where the fusion row was tried and could not be applied. Places with the fewest unmet conditions come
    /// first. Empty if the row's option is off.
    pub missed: Vec<Miss>,
}

/// A place where a fusion row was tried and not applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Miss {
    /// The operation whose result is requantized.
    pub layer: String,
    /// The requantized value.
    pub value: String,
    /// The check that the fusion row did not pass here: `conditions`, `form`, `proof`, `policy`, or `length` if another
    /// row fuses more steps.
    pub failed_at: String,
    /// Why the fusion row was not applied.
    pub reason: ReasonReport,
    /// The row that was applied instead, if any.
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

/// The entry of a report for a fusion with this certificate.
pub(super) fn fired_by(layer: &str, row: &str, certificate: &Certificate) -> FiredReport {
    FiredReport {
        layer: layer.to_owned(),
        row: row.to_owned(),
        verdict: certificate.worst().clone(),
        claim: certificate.to_string(),
        accumulators: accumulators(certificate),
        dropped_clamp: dropped_clamp(certificate).as_ref().map(ReasonReport::from),
    }
}

fn accumulators(certificate: &Certificate) -> Option<[i64; 2]> {
    let ends = certificate.interval.values().iter().map(|&(low, high)| [low, high]);
    let all = ends.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])]);
    all.filter(|_| certificate.argument == Argument::SameAccumulator)
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
        reason: (&refused.reason).into(),
    }
}

impl From<&Reason> for ReasonReport {
    fn from(reason: &Reason) -> ReasonReport {
        ReasonReport {
            code: reason.code.to_string(),
            text: reason.text.clone(),
        }
    }
}

fn row(spec: &TargetSpec, row: &FusionRow, fusion: &Fusion) -> RowReport {
    let fired = (fusion.fired.iter()).map(|fired| (&fired.node, &fired.value, Some(&fired.row), &fired.tried));
    let refused = (fusion.refused.iter()).map(|refused| (&refused.node, &refused.value, None, &refused.tried));
    let mut missed: Vec<(Until, Miss)> = Vec::new();
    for (layer, value, instead, tried) in fired.chain(refused) {
        // A row whose option is off is not reported, because it is not part of the target with these options.
        let tried_here =
            |attempt: &Attempt| attempt.until > Until::Producer && attempt.reason.code != ReasonCode::Option;
        let here = |attempt: &&Attempt| attempt.row == row.name && tried_here(attempt);
        missed.extend(tried.iter().filter(here).map(|attempt| {
            let miss = Miss {
                layer: layer.clone(),
                value: value.clone(),
                failed_at: failed_at(attempt.until).to_owned(),
                reason: (&attempt.reason).into(),
                instead: instead.cloned(),
            };
            (attempt.until, miss)
        }));
    }
    // Requantizations in the rest of a chain whose first part this row fused. No row is tried for them.
    let behind = |refused: &&Refused| refused.tried.is_empty() && refused.row.as_deref() == Some(row.name.as_str());
    missed.extend(fusion.refused.iter().filter(behind).map(|refused| {
        let miss = Miss {
            layer: refused.node.clone(),
            value: refused.value.clone(),
            failed_at: failed_at(Until::Form).to_owned(),
            reason: (&refused.reason).into(),
            instead: None,
        };
        (Until::Form, miss)
    }));
    // Requantizations that were not fused at all come first, and then those that were fused by another row.
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
