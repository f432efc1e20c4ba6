//! Checks `[[fusion]]`: the rows must name ops and forms that exist, and verbs that fit the ops.

use super::{Findings, terms};
use crate::spec::fusion::{CONSTANT, TAKES_OVER};
use crate::spec::{Difference, FusionRow, Verb};
use strait_core::Term;
use strait_document::{KeyPath, nearest};
use strait_requantize::FormKind;

pub(super) fn check(findings: &mut Findings<'_>) {
    let mut producers = terms();
    producers.push(CONSTANT);
    let spec = findings.spec;
    let default = &spec.fusion_default;
    let bounded = default.max_lsb.is_none() || default.accept == Difference::Bounded;
    findings.ensure(bounded, &KeyPath::of(&["fusion_default", "max_lsb"]), || {
        "`max_lsb` goes with `accept = \"bounded\"`".into()
    });
    for (index, row) in spec.fusion.iter().enumerate() {
        let path = KeyPath::of(&["fusion"]).index(index);
        let at = |key: &str| path.clone().key(key);
        let first = spec.fusion[..index].iter().all(|other| other.name != row.name);
        findings.ensure(first, &at("name"), || {
            format!("there is a fusion `{}` already", row.name)
        });
        findings.list(&at("ops"), &row.ops);
        findings.names("op", &at("ops"), &row.ops, &producers);
        if let Some(accept) = &row.accept {
            findings.list(&at("accept"), accept);
            findings.forms(&at("accept"), accept);
        }
        findings.forms(&at("weaken_to"), &row.weaken_to);
        if let Some(with) = &row.with {
            let path = at("with");
            findings.name("op", &path.clone().key("op"), &with.op, &terms());
            let adds = with.op == Term::Add.name() || !terms().contains(&with.op.as_str());
            findings.ensure(adds, &path.clone().key("op"), || {
                format!(
                    "`{}` has no second operand for an accumulator: the second op is `add`",
                    with.op
                )
            });
            findings.ensure(with.same_shape, &path, || {
                "what is added inside an accumulator has its shape: say `same_shape = true`".into()
            });
            findings.ensure(row.then.contains(&Verb::AddInAccumulator), &path, || {
                format!(
                    "nothing in `then` takes the second op: `{}` does",
                    Verb::AddInAccumulator
                )
            });
        }
        if let Some(consumers) = row.when.consumers {
            findings.ensure(consumers == 1, &at("when").key("consumers"), || {
                format!("`consumers` cannot be {consumers}: nothing is fused into a producer whose result others read")
            });
        }
        for (option, value) in &row.when.option {
            let path = at("when").key("option").key(option);
            match spec.options.get(option).map(|known| known.refuses(value)) {
                None => findings.add(&path, format!("there is no option `{option}`")),
                Some(Some(refusal)) => findings.add(&path, format!("`{option}` is never this: {refusal}")),
                Some(None) => {}
            }
        }
        findings.list(&at("then"), &row.then);
        verbs(findings, row, &path, &producers);
    }
}

/// Refuses verbs that do not fit a producer of the row, that require a verb which the row does not have, or that cannot
/// be combined with another verb of the row.
fn verbs(findings: &mut Findings<'_>, row: &FusionRow, path: &KeyPath, known: &[&str]) {
    let bases = || Verb::ALL.iter().filter(|verb| verb.turn() == TAKES_OVER);
    let ahead: Vec<&Verb> = bases().filter(|verb| verb.is_ahead()).collect();
    let sets = row.then.contains(&Verb::SetRequantize);
    let is_ahead = row.then.iter().all(Verb::is_ahead);
    findings.ensure(row.accept.is_some() || is_ahead, &path.clone().key("name"), || {
        format!(
            "the fusion `{}` has no `accept`; only `{}` and `{}` take any form",
            row.name, ahead[0], ahead[1]
        )
    });
    for (index, verb) in row.then.iter().enumerate() {
        let here = path.clone().key("then").index(index);
        for op in row.ops.iter().filter(|op| known.contains(&op.as_str())) {
            if !verb.applies(op) {
                let fitting = bases().find(|base| base.applies(op));
                let help = match fitting {
                    Some(base) => format!("`{base}` can"),
                    None => format!("nothing is fused into `{op}`: leave it out of `ops`"),
                };
                findings.add_with(&here, format!("`{verb}` cannot be done to `{op}`"), help);
            }
        }
        if verb.needs_set_requantize(&row.then) {
            let help = format!("add `{}` to `then`", Verb::SetRequantize);
            let message = format!("`{verb}` does nothing without `{}`", Verb::SetRequantize);
            findings.add_with(&here, message, help);
        }
        if verb.is_custom() && (sets || row.then[..index].iter().any(Verb::is_custom)) {
            let message = format!("`{verb}` decides alone what becomes of the requantization");
            findings.add_with(
                &here,
                message,
                format!("it stands in place of `{}`", Verb::SetRequantize),
            );
        }
        if *verb == Verb::AddInAccumulator {
            findings.ensure(row.with.is_some() && sets, &here, || {
                format!(
                    "`{verb}` adds the other operand of the op in `with`, in front of `{}`",
                    Verb::SetRequantize
                )
            });
        }
        if let Some(later) = row.then[..index].iter().find(|before| verb.turn() < before.turn()) {
            let message = format!("`{verb}` is done before `{later}`, and stands behind it");
            findings.add_with(&here, message, "verbs stand in the order in which they are done");
        }
        if *verb == Verb::MergeScales {
            merges(findings, row, &here);
        }
    }
}

/// If a row merges scales, checks that all forms that it accepts are of the kind in which scales can be merged.
fn merges(findings: &mut Findings<'_>, row: &FusionRow, here: &KeyPath) {
    let forms = &findings.spec.form;
    let merged = FormKind::AscendRequant;
    let is_one = |name: &str| forms.get(name).is_some_and(|form| form.form_kind() == merged);
    if !row.accepted().any(|name| is_one(name)) {
        let names: Vec<&str> = forms.keys().map(String::as_str).filter(|name| is_one(name)).collect();
        let message = format!(
            "`{}` makes a form of the kind `{merged}`, which `accept` does not have",
            Verb::MergeScales
        );
        let help = match names.is_empty() {
            true => "nor does the table have one".to_owned(),
            false => format!("the table has {}", nearest::list(names)),
        };
        findings.add_with(here, message, help);
    }
}
