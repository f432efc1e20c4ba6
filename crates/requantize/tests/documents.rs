//! docs/requantization.md speaks of every form, by the name and the formula that the code has for it.

use strait_requantize::{FormKind, Rounding};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/requantization.md"));

#[test]
fn the_page_has_a_section_and_the_formula_of_every_form() {
    for kind in FormKind::ALL {
        let name = format!("`{kind}`");
        let section = PAGE
            .lines()
            .any(|line| line.starts_with("### ") && line.contains(&name));
        assert!(section, "no section for {name}");
        assert!(
            PAGE.contains(kind.formula()),
            "{name}: the page lacks {}",
            kind.formula()
        );
    }
}

#[test]
fn the_page_defines_every_rounding() {
    for rounding in Rounding::ALL {
        assert!(PAGE.contains(&format!("| `{rounding}` |")), "{rounding}");
    }
}
