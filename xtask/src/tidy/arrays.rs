//! Check that the same input gives the same bytes: no float sums or products by `ndarray`. Its reductions and `dot`
//! choose their order depending on the processor. Products must go through `kernels`, and sums must be written out.
//!
//! A call of a method that only arrays have is always a finding. A call of a method that iterators also have is a
//! finding in a file that names `ndarray`, unless the call states the type, as in `.sum::<usize>()`, which is not
//! possible for arrays. Clippy refuses the same calls by their path (`disallowed-methods` in clippy.toml).

use super::source::words;
use super::{Findings, Repository};

/// Methods that only arrays have, as they occur in code.
const OF_ARRAYS: &[&str] = &[
    ".dot(&",
    ".sum_axis(",
    ".product_axis(",
    ".mean_axis(",
    ".var_axis(",
    ".std_axis(",
    "general_mat_mul(",
    "general_mat_vec_mul(",
];

/// Methods that iterators or types of Strait have, too.
const ALSO_OF_ARRAYS: &[&str] = &[".sum()", ".product()", ".mean()", ".var(", ".std(", ".dot("];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (_, file, source) in repository.sources_of_crates() {
        let names_arrays = source
            .product()
            .any(|(_, line)| words(&line.code).any(|word| word == "ndarray"));
        for (number, line) in source.product() {
            let found = |calls: &[&'static str]| calls.iter().copied().find(|call| line.code.contains(call));
            let call = found(OF_ARRAYS).or_else(|| found(ALSO_OF_ARRAYS).filter(|_| names_arrays));
            if let Some(call) = call.filter(|_| !source.excused(number, "arrays")) {
                let call = call.trim_end_matches(['(', ')']);
                let text = format!(
                    "`{call}` may be that of ndarray, whose bits depend on the processor: take `kernels`, or state the type of \
                     a sum over whole numbers, as in `.sum::<usize>()`"
                );
                findings.at(&file.path, number, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn reductions_of_arrays_are_found() {
        let found = |text: &str| findings(check, &[("crates/quantize/src/a.rs", text)]).len();
        assert_eq!(
            found("use ndarray::ArrayD;\nlet s = array.sum();\nlet m = array.mean();"),
            2
        );
        assert_eq!(found("let g = x.t().dot(&x);\nlet m = x.mean_axis(Axis(0));"), 2);
        assert_eq!(found("ndarray::linalg::general_mat_mul(1.0, &a, &b, 0.0, &mut c);"), 1);
    }

    #[test]
    fn sums_of_iterators_are_not() {
        let found = |text: &str| findings(check, &[("crates/quantize/src/a.rs", text)]).len();
        assert_eq!(found("let n: usize = counts.iter().sum();"), 0);
        assert_eq!(
            found("use ndarray::ArrayD;\nlet n = shape.iter().product::<usize>();"),
            0
        );
        assert_eq!(
            found("use ndarray::ArrayD;\nlet n = a.sum(); // tidy: allow(arrays): of whole numbers"),
            0
        );
        assert_eq!(
            found("// x.dot(y)\n#[cfg(test)]\nmod tests {\n use ndarray::arr1;\n let s = arr1(&[1.0]).sum();\n}"),
            0
        );
    }
}
