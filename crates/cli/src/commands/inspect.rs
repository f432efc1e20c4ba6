//! Runs `strait inspect`.

use serde_json::json;
use strait_driver::{cuts, inspect, shown::Shown};

use crate::{
    arguments::{GraphForm, Inspect},
    console,
    exit::Exit,
};

pub(crate) fn run(arguments: &Inspect) -> Exit {
    let (subject, pattern, json) = (&arguments.subject, arguments.pattern.as_deref(), arguments.json);
    if arguments.fusions {
        let found = inspect::fusions(subject, pattern);
        return console::made(found, json, |found| json!(found), |found| Shown(found).to_string());
    }
    if arguments.quant {
        let found = inspect::quantization(subject, pattern);
        return console::made(found, json, |found| json!(found), |found| Shown(found).to_string());
    }
    if arguments.cuts {
        return console::made(cuts::cuts(subject), json, |found| json!(found), ToString::to_string);
    }
    console::made(
        inspect::open(subject, &arguments.set, pattern),
        json,
        |inspected| json!(inspected.summary()),
        |inspected| match arguments.graph {
            Some(GraphForm::Text) => inspected.text(),
            Some(GraphForm::Dot) => inspected.dot(),
            Some(GraphForm::Svg) => inspect::svg(inspected),
            None => Shown(&inspected.summary()).to_string(),
        },
    )
}
