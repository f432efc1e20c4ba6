//! Every code has a text, and every text belongs to a code.

use std::collections::BTreeSet;

use strait_core::ReasonCode;
use strait_explain::{all_as_text, entry_as_text, find, groups, page, similar};

#[test]
fn the_page_is_current() {
    strait_testkit::is_current("docs/codes.md", &page());
}

/// The codes of diagnostics and of reasons.
fn declared() -> BTreeSet<&'static str> {
    let diagnostics = strait_core::codes::ALL.iter().chain(strait_document::codes::ALL);
    let reasons = ReasonCode::GROUPS.iter().flat_map(|(_, codes)| codes.iter());
    diagnostics.chain(reasons).map(|(code, _)| *code).collect()
}

#[test]
fn every_code_has_an_entry_with_an_example_and_a_remedy() {
    for code in declared() {
        assert!(
            !find(code).is_empty(),
            "`{code}` needs an entry in crates/explain/src/texts"
        );
    }
    for entry in groups().iter().flat_map(|group| &group.codes) {
        for text in [&entry.means, &entry.example, &entry.remedy] {
            assert!(
                text.ends_with(['.', ')', ':']) && text.len() > 10,
                "{}: {text:?}",
                entry.code
            );
        }
    }
    assert_eq!(groups().len(), 16, "a table of texts cannot be read");
}

#[test]
fn no_entry_is_about_a_code_that_does_not_exist() {
    let declared = declared();
    // The codes of these groups are declared in crates that this one does not use; the tests of the command line compare them.
    let elsewhere = ["Lints", "Losses", "The sanity check"];
    for group in groups()
        .iter()
        .filter(|group| !elsewhere.contains(&group.title.as_str()))
    {
        let mut seen = BTreeSet::new();
        for entry in &group.codes {
            let known = declared.contains(entry.code.as_str()) || entry.code == "target-limit-QUANTITY";
            assert!(known && seen.insert(&entry.code), "{}: {}", group.title, entry.code);
        }
    }
}

#[test]
fn a_code_is_found_as_it_stands_in_a_message() {
    for written in ["M003", "m003", "error[M003]", "[M003]", "error[M003]:"] {
        assert_eq!(find(written)[0].code, "M003", "{written}");
    }
    assert_eq!(find("target-limit-kernel")[0].code, "target-limit-QUANTITY");
    assert_eq!(find("constant").len(), 2);
    assert!(find("M0003").is_empty());
}

#[test]
fn a_near_miss_suggests_the_nearest_codes() {
    assert!(similar("M0003").contains(&"M003"));
    assert_eq!(similar("no-shfit")[0], "no-shift");
    assert!(similar("xyzzyxyzzy").is_empty());
}

#[test]
fn the_text_fits_100_columns() {
    let entries = groups().iter().flat_map(|group| &group.codes);
    for text in entries.map(entry_as_text).chain([all_as_text()]) {
        for line in text.lines() {
            // What is pasted is shown as it is written.
            assert!(line.chars().count() <= 100 || line.starts_with("      "), "{line}");
        }
    }
}
