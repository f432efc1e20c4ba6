//! Tests that docs/requantization.md describes every form, with the name and the formula that the code has for it.

use strait_requantize::{FormKind, IntType, Narrowing, Requantization, Rounding, form::ArithFolded};

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

#[test]
fn a_plain_shift_has_the_domain_that_the_page_gives_it() {
    let wide = (1i64 << 62) + (1 << 61) - (1 << 31);
    for shift in [0, 62] {
        let narrowing = Narrowing {
            shift: shift.into(),
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        };
        let form = Requantization::from(ArithFolded { narrowing });
        let domain = form.channel(0).map(|channel| channel.domain());
        assert_eq!(domain, Ok(-wide..=wide));
    }
    assert!(PAGE.contains("|x| ≤ 2⁶² + 2⁶¹ − 2³¹"));
}
