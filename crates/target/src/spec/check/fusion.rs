//! `[[fusion]]`: rows that name what exists, and verbs that can do their work there.

use super::{Findings, terms};
use crate::error::SpecError;
use crate::spec::{Arithmetic, Difference, FusionRow, Verb};
use crate::{Located, nearest};

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
        if let Some(accept) = &row.accept {
            findings.list("accept", accept);
        }
        findings.forms(row.accepted());
        findings.forms(&row.weaken_to);
        if let Some(with) = &row.with {
            findings.names("op", [&with.op], &terms());
            let message = "`with` cannot be compiled yet: a fused node has no place for the operand of a second op";
            findings.add(SpecError::at(with.op.span(), message));
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
        if let Some(multiple) = &row.when.concat_multiple {
            findings.ensure(**multiple > 0, &multiple.span(), || {
                "`concat_multiple` is at least 1; leave it out where any number of channels will do".into()
            });
        }
        findings.list("then", &row.then);
        verbs(findings, row, &producers);
    }
}

/// The producers whose results are accumulators, or pass them on: what stands behind them can become part of them.
const ACCUMULATORS: &[&str] = &[
    "conv",
    "gemm",
    "matmul",
    "add",
    "sub",
    "mul",
    "sum_pool",
    "max_pool",
    "average_pool",
    "global_average_pool",
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "shift_left",
];

/// The producers that a verb means anything for.
fn producers(verb: &Verb) -> &'static [&'static str] {
    match verb {
        Verb::RequantizeData => &[CONSTANT],
        Verb::BurnIntoTable => &["lookup"],
        Verb::RescaleQuantize => &["quantize"],
        _ => ACCUMULATORS,
    }
}

/// Verbs that mean nothing for a producer of the row, or without another verb, or together with one.
fn verbs(findings: &mut Findings<'_>, row: &FusionRow, known: &[&str]) {
    let bases = [
        Verb::SetRequantize,
        Verb::RequantizeData,
        Verb::BurnIntoTable,
        Verb::RescaleQuantize,
    ];
    let sets = row.then.iter().any(|verb| **verb == Verb::SetRequantize);
    let decides = |verb: &Verb| matches!(verb, Verb::Custom(_));
    let ahead = [Verb::RequantizeData, Verb::BurnIntoTable];
    let is_ahead = row.then.iter().all(|verb| ahead.contains(verb));
    findings.ensure(row.accept.is_some() || is_ahead, &row.name.span(), || {
        format!(
            "the fusion `{}` has no `accept`; only `{}` and `{}` take any form",
            *row.name, ahead[0], ahead[1]
        )
    });
    for (index, verb) in row.then.iter().enumerate() {
        let here = |message: String| SpecError::at(verb.span(), message);
        for op in row.ops.iter().filter(|op| known.contains(&op.as_str())) {
            if !producers(verb).contains(&op.as_str()) {
                let fitting = bases.iter().find(|base| producers(base).contains(&op.as_str()));
                let help = match fitting {
                    Some(base) => format!("`{base}` can"),
                    None => format!("nothing is fused into `{}`: leave it out of `ops`", **op),
                };
                findings.add(here(format!("`{}` cannot be done to `{}`", **verb, **op)).help(help));
            }
        }
        let needs = match &**verb {
            Verb::RequantizeClamp | Verb::MergeScales => !sets,
            Verb::RequantizeZeroPoint => !sets && !row.then.iter().any(|verb| decides(verb)),
            _ => false,
        };
        if needs {
            let help = format!("add `{}` to `then`", Verb::SetRequantize);
            let message = format!("`{}` does nothing without `{}`", **verb, Verb::SetRequantize);
            findings.add(here(message).help(help));
        }
        if decides(verb) && (sets || row.then[..index].iter().any(|verb| decides(verb))) {
            let message = format!("`{}` decides alone what becomes of the requantization", **verb);
            findings.add(here(message).help(format!("it stands in place of `{}`", Verb::SetRequantize)));
        }
        if **verb == Verb::AddInAccumulator {
            let message = format!(
                "`{}` cannot be compiled yet: a fused node has no place for a second operand",
                **verb
            );
            findings.add(here(message));
        }
        if let Some(later) = row.then[..index].iter().find(|before| verb.turn() < before.turn()) {
            let message = format!("`{}` is done before `{}`, and stands behind it", **verb, **later);
            findings.add(here(message).help("verbs stand in the order in which they are done"));
        }
        if **verb == Verb::MergeScales {
            merges(findings, row, verb);
        }
    }
}

/// Scales are merged into the one kind of form that does so.
fn merges(findings: &mut Findings<'_>, row: &FusionRow, verb: &Located<Verb>) {
    let forms = &findings.spec.form;
    let is_one = |name: &str| {
        forms
            .get(name)
            .is_some_and(|form| *form.kind == Arithmetic::AscendRequant)
    };
    if !row.accepted().any(|name| is_one(name.as_str())) {
        let names: Vec<&str> = forms.keys().map(String::as_str).filter(|name| is_one(name)).collect();
        let message = format!(
            "`{}` makes a form of the kind `{}`, which `accept` does not have",
            **verb,
            Arithmetic::AscendRequant
        );
        let help = match names.is_empty() {
            true => "nor does the table have one".to_owned(),
            false => format!("the table has {}", nearest::list(names)),
        };
        findings.add(SpecError::at(verb.span(), message).help(help));
    }
}
