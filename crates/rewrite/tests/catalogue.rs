//! Tests that `docs/rules.md` equals the page made from the documentation of the rules, and that each rule has what
//! this page needs. `STRAIT_BLESS=1` rewrites the page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use strait_core::rule::ANY;
use strait_core::{Rule, RuleSet};
use strait_rewrite::{canonical, for_runtimes, of_target, on_grids};
use strait_target::spec::FloatRule;

const HEAD: &str = "\
# The rules over the float graph

<!-- Made from the documentation in crates/rewrite/src/rules by `cargo xtask bless`; edits here are lost. -->

Each rule rewrites one pattern of nodes of the float graph. There are three groups of rules:

- The rules of the first group run on every model, before calibration observes any value. At each node they are tried in the order
  of this page. They do not depend on the target.
- The rules of the second group run only for targets whose tables name them under `rules`. They run after the step *observe*,
  which measures the ranges of values, and before the step *place*, which decides where nodes run. The ranges of the values that
  these rules create are measured then. A rule that depends on grids runs later, on the graph that is exported.
- The rules of the third group run only on the graph of the Q/DQ file ([qdq.md](qdq.md)).

The report of a compilation (`report.json`) says what each rule did. [writing-rules.md](writing-rules.md) explains how to write a
rule.
";

/// The heading of the rules that tables switch on.
const OF_TARGETS: &str = "\n# Rules that a target's table switches on\n";

/// The set of rules whose first rule is the one that `word` switches on.
fn of_word(word: FloatRule) -> RuleSet {
    let set = on_grids(&[word]);
    if set.rules().next().is_some() {
        return set;
    }
    of_target(&[word])
}

/// The heading of the rules for the Q/DQ file.
const OF_RUNTIMES: &str = "\n# Rules for the Q/DQ file\n";

/// The rules that are always used, and for each rule that a table has to switch on, its set.
fn both() -> (RuleSet, Vec<RuleSet>) {
    (canonical(), FloatRule::ALL.iter().map(|&word| of_word(word)).collect())
}

fn own(sets: &[RuleSet]) -> impl Iterator<Item = &dyn Rule> {
    sets.iter().filter_map(|set| set.rules().next())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules")
}

/// The name of the file that a rule is in.
fn stem(rule: &dyn Rule) -> String {
    rule.name().replace('-', "_")
}

/// The documentation at the top of a rule's file, with links to code as plain code.
fn documentation(rule: &dyn Rule) -> String {
    let path = folder().join(stem(rule) + ".rs");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    lines.join("\n").replace("[`", "`").replace("`]", "`")
}

fn entry(rule: &dyn Rule) -> String {
    let terms = rule.anchors();
    let listed = || {
        terms
            .iter()
            .map(|term| format!("`{term}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let anchors = if terms == ANY {
        "every node".to_owned()
    } else {
        listed()
    };
    // Each part of the documentation begins on a line of its own, and is a paragraph of the page.
    let text = documentation(rule).replace("\n**", "\n\n**").replace("\n\n\n", "\n\n");
    format!("\n## `{}`\n\n**Looks at**: {anchors}\n\n{text}\n", rule.name())
}

#[test]
fn every_rule_says_its_pattern_its_reason_and_how_exact_it_is() {
    let (all, targets) = both();
    let runtimes = for_runtimes();
    for rule in all.rules().chain(own(&targets)).chain(runtimes.rules()) {
        let text = documentation(rule);
        for part in ["**Pattern**:", "**Why**:", "**Exactness**:"] {
            assert!(text.contains(part), "rule `{}` does not say {part}", rule.name());
        }
    }
}

#[test]
fn every_file_is_one_rule_of_the_set_by_its_name() {
    let (all, targets) = both();
    let runtimes = for_runtimes();
    let every = all.rules().chain(own(&targets)).chain(runtimes.rules());
    let mut rules: Vec<String> = every.map(stem).collect();
    rules.sort();
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let stems = entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    let files: BTreeSet<String> = stems.filter(|stem| stem != "mod").collect();
    assert_eq!(rules, files.into_iter().collect::<Vec<_>>());
}

#[test]
fn the_word_of_a_table_is_the_name_of_its_rule() {
    for &word in FloatRule::ALL {
        let set = of_word(word);
        assert_eq!(set.rules().next().map(Rule::name), Some(word.name()));
    }
}

#[test]
fn the_catalogue_is_current() {
    let (all, targets) = both();
    let (all, targets): (String, String) = (all.rules().map(entry).collect(), own(&targets).map(entry).collect());
    let runtimes: String = for_runtimes().rules().map(entry).collect();
    let content = HEAD.to_owned() + &all + OF_TARGETS + &targets + OF_RUNTIMES + &runtimes;
    strait_testkit::is_current("docs/rules.md", &content);
}
