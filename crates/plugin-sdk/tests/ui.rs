//! Errors of the compiler for a target's author, in our words, when something is missing or is not theirs to have.
//! `TRYBUILD=overwrite` rewrites the expectations. One project for all crates: it is built anew in each run of CI.

#[test]
fn what_is_missing_is_named() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/loops_without_an_epilogue.rs");
    cases.compile_fail("tests/ui/a_factory_that_makes_no_target.rs");
    cases.compile_fail("tests/ui/a_library_of_what_is_no_factory.rs");
    cases.compile_fail("tests/ui/answers_that_may_become_more.rs");
    cases.compile_fail("tests/ui/the_op_behind_a_term.rs");
}
