//! What the compiler tells a target's author when something is missing. `TRYBUILD=overwrite` rewrites the expectations.

#[test]
fn what_is_missing_is_named() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/a_target_with_its_own_kernel.rs");
    cases.compile_fail("tests/ui/kernels_are_missing.rs");
    cases.compile_fail("tests/ui/kernel_of_another_signature.rs");
    cases.compile_fail("tests/ui/epilogue_without_lane.rs");
    cases.compile_fail("tests/ui/target_without_loops.rs");
}
