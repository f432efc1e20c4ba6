//! Check that only one function claims that results have the same bits as those of a chip or a runtime. This function
//! checks the evidence first.

use super::{Findings, Repository};

/// Words that claim this.
const CLAIMS: &[&str] = &["bit-accurate", "bit accurate", "bit-exact", "bit exact"];

/// The file with the function that may make the claim, and this file, which has to name the words.
const MAY: &[&str] = &["crates/report/src/evidence.rs", "xtask/src/tidy/claims.rs"];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for file in repository.files.iter().filter(|file| !MAY.contains(&&*file.path)) {
        for (number, line) in file.lines() {
            let line = line.to_lowercase();
            if let Some(claim) = CLAIMS.iter().find(|claim| line.contains(**claim)) {
                let text = format!("`{claim}` is for {} to say, which knows the evidence", MAY[0]);
                findings.at(&file.path, number, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::findings, MAY, check};

    #[test]
    fn a_claim_is_found_wherever_it_is_not_computed() {
        let text = "our model\nis Bit-Accurate to the chip";
        assert_eq!(findings(check, &[(MAY[0], text)]), Vec::<String>::new());
        let found = findings(check, &[("README.md", text)]);
        assert!(
            matches!(&found[..], [one] if one.starts_with("README.md:2: `bit-accurate`")),
            "{found:?}"
        );
        assert!(findings(check, &[("README.md", "bit for bit the same on every machine")]).is_empty());
    }
}
