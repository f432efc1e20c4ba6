//! Tests that every key that differs between two versions of a table is reported. A key that decides bits requires
//! another kind of new version than one that only changes texts.

use super::{CASES, changed, extends, kinds, passes, read, recipes, sums, types};
use crate::keys::Effect;
use strait_target::spec::{Comparison, Effect as Consequence, Raise};

/// Keys that are the same in all tables, or by which the comparison itself is decided.
const NOT_COMPARED: [&str; 1] = ["version"];

/// Keys with the texts of reasons why a layer runs where it does.
const WORDS: [&str; 2] = ["form.NAME.help", "op.NAME.why"];

#[test]
fn every_key_that_differs_between_versions_is_told() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for case in [
        CASES,
        extends::CASES,
        types::CASES,
        passes::CASES,
        kinds::CASES,
        recipes::CASES,
        sums::CASES,
    ]
    .into_iter()
    .flatten()
    {
        let before = changed(case.table, case.before);
        let after = changed(&before, case.change);
        let (Ok(old), Ok(new)) = (read(&before), read(&after)) else {
            continue;
        };
        if NOT_COMPARED.contains(&case.key) {
            continue;
        }
        compared += 1;
        let there = Comparison::new(&old, &new).unwrap();
        let back = Comparison::new(&new, &old).unwrap();
        for (way, comparison) in [("there", &there), ("back", &back)] {
            let gravest = comparison.changes.first().map(|change| change.effect);
            let decides = matches!(case.effect, Effect::Bits | Effect::Placement) && !WORDS.contains(&case.key);
            if gravest.is_none() || decides && gravest == Some(Consequence::Text) {
                wrong.push(format!("`{}` {way}: {gravest:?}", case.key));
            }
            if comparison.agrees || comparison.says != Raise::None {
                wrong.push(format!(
                    "`{}` {way}: the version has not changed, and is right",
                    case.key
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 80, "{compared} keys were compared");
}
