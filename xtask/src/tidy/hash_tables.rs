//! Check that the same input gives the same bytes: no hash table in a library, since its order could reach an output.
//!
//! Clippy refuses to iterate one (`iter_over_hash_type`). This check asks first whether an ordered map would do.

use super::source::words;
use super::{Findings, Repository};

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        if file.in_crate().is_none_or(|(_, inside)| !inside.starts_with("src/")) {
            continue;
        }
        for (number, line) in source.product() {
            let is_use = line.code.trim_start().starts_with("use ");
            let table = words(&line.code).find(|word| matches!(*word, "HashMap" | "HashSet"));
            if let Some(table) = table.filter(|_| !is_use && !source.excused(number, "hash")) {
                let advice = "take BTreeMap or an index, or say why not: // tidy: allow(hash): …";
                findings.add(&file.path, Some(number), format!("{table}: {advice}"));
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
