//! Errors of the compiler for a target's author, in our words, when something is missing. `TRYBUILD=overwrite` rewrites
//! the expectations.

#[test]
fn what_is_missing_is_named() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/loops_without_an_epilogue.rs");
    cases.compile_fail("tests/ui/a_factory_that_makes_no_target.rs");
}
