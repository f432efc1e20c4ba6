//! Checks the compiler errors that target authors get when something is missing or not public: they have to say in our
//! own words what is wrong. `TRYBUILD=overwrite` rewrites the expected errors. All crates share this one project,
//! because CI builds it from scratch in each run.

#[test]
fn what_is_missing_is_named() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/loops_without_an_epilogue.rs");
    cases.compile_fail("tests/ui/a_factory_that_makes_no_target.rs");
    cases.compile_fail("tests/ui/a_library_of_what_is_no_factory.rs");
    cases.compile_fail("tests/ui/answers_that_may_become_more.rs");
    cases.compile_fail("tests/ui/the_op_behind_a_term.rs");
}
