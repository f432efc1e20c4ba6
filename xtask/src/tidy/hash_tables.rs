//! Check that the same input gives the same bytes: no library uses a hash table, since the order of its entries could
//! affect an output.
//!
//! Clippy refuses iterating over a hash table (`iter_over_hash_type`). This check refuses hash tables altogether,
//! because an ordered map is nearly always good enough.

use super::source::words;
use super::{Findings, Repository};

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (_, file, source) in repository.sources_of_crates() {
        for (number, line) in source.product() {
            let is_use = line.code.trim_start().starts_with("use ");
            let table = words(&line.code).find(|word| matches!(*word, "HashMap" | "HashSet"));
            if let Some(table) = table.filter(|_| !is_use && !source.excused(number, "hash")) {
                let advice = "take BTreeMap or an index, or say why not: // tidy: allow(hash): …";
                findings.at(&file.path, number, format!("{table}: {advice}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn a_hash_table_needs_a_reason() {
        let found = |text: &str| findings(check, &[("crates/core/src/a.rs", text)]).len();
        assert_eq!(found("use std::collections::HashMap;\nlet m: HashMap<u8, u8>;"), 1);
        assert_eq!(found("let m: HashMap<u8, u8>; // tidy: allow(hash): only looked up"), 0);
        assert_eq!(found("#[cfg(test)]\nmod tests {\n let m: HashSet<u8>;\n}"), 0);
    }
}
