//! `[[fusion]]`: rows that name what exists, and verbs that can do their work there.

use super::{Findings, terms};
use crate::error::SpecError;
use crate::spec::{Difference, FusionRow, Verb};

/// The producer that is no op: a tensor of the model.
pub(crate) const CONSTANT: &str = "constant";

pub(super) fn check(findings: &mut Findings<'_>) {
    let mut producers = terms();
    producers.push(CONSTANT);
    let spec = findings.spec;
    let default = &spec.fusion_default;
    if let Some(max_lsb) = &default.max_lsb {
        findings.ensure(default.accept == Difference::Bounded, &max_lsb.span(), || {
            "`max_lsb` goes with `accept = \"bounded\"`".into()
        });
        findings.ensure((1..=255).contains(&**max_lsb), &max_lsb.span(), || {
            format!("`max_lsb` cannot be {}; it is from 1 to 255", **max_lsb)
        });
    }
    for (index, row) in spec.fusion.iter().enumerate() {
        let first = spec.fusion[..index].iter().all(|other| other.name != row.name);
        findings.ensure(first, &row.name.span(), || {
            format!("there is a fusion `{}` already", *row.name)
        });
        findings.list("ops", &row.ops);
        findings.names("op", row.ops.iter(), &producers);
        findings.list("accept", &row.accept);
        findings.forms(row.accept.iter());
        findings.forms(&row.weaken_to);
        if let Some(with) = &row.with {
            findings.names("op", [&with.op], &producers);
        }
        if let Some(consumers) = &row.when.consumers {
            findings.ensure(**consumers == 1, &consumers.span(), || {
                format!(
                    "`consumers` cannot be {}: nothing is fused into a producer whose result others read",
                    **consumers
                )
            });
        }
        for (option, value) in &row.when.option {
            let Some(known) = spec.options.get(option) else {
                findings.add(SpecError::at(value.span(), format!("there is no option `{option}`")));
                continue;
            };
            if let Some(refusal) = known.refuses(value) {
                findings.add(SpecError::at(
                    value.span(),
                    format!("`{option}` is never this: {refusal}"),
                ));
            }
        }
        findings.list("then", &row.then);
        verbs(findings, row);
    }
}

/// Verbs that need a certain producer.
fn verbs(findings: &mut Findings<'_>, row: &FusionRow) {
    for verb in row.then.iter() {
        let wanted: Option<&[&str]> = match **verb {
            Verb::RequantizeData => Some(&[CONSTANT]),
            Verb::BurnIntoTable => Some(&["lookup"]),
            Verb::RescaleQuantize => Some(&["quantize"]),
            _ => None,
        };
        for op in row.ops.iter() {
            let fits = wanted.is_none_or(|wanted| wanted.contains(&op.as_str()))
                && (op.as_str() != CONSTANT || wanted == Some(&[CONSTANT]));
            findings.ensure(fits, &verb.span(), || {
                format!("`{}` cannot be done to `{}`", **verb, **op)
            });
        }
        let second = **verb == Verb::AddInAccumulator && row.with.is_none();
        findings.ensure(!second, &verb.span(), || {
            format!("`{}` needs `with`, the op whose other operand is added", **verb)
        });
    }
}
