//! The builtin operators that are not read, with a reason for each family of them.

/// The reasons why operators are not read. Each reason has the list of the operators to which it applies.
const FAMILIES: &[(&str, &[&str])] = &[
    (
        "it takes one step from a state that is kept from run to run; recurrent layers over whole sequences are read",
        &["LSTM", "RNN", "SVDF"],
    ),
    (
        "variables that are kept from run to run are not read",
        &["ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"],
    ),
    (
        "tables of keys and values are left to the host program",
        &[
            "HASHTABLE",
            "HASHTABLE_FIND",
            "HASHTABLE_IMPORT",
            "HASHTABLE_LOOKUP",
            "HASHTABLE_SIZE",
        ],
    ),
    (
        "features of text and of sparse lists are left to the host program",
        &["EMBEDDING_LOOKUP_SPARSE", "LSH_PROJECTION", "SKIP_GRAM"],
    ),
    (
        "its numbers are drawn by chance, and no two runs have the same",
        &[
            "MULTINOMIAL",
            "RANDOM_STANDARD_NORMAL",
            "RANDOM_UNIFORM",
            "STABLEHLO_RNG_BIT_GENERATOR",
        ],
    ),
    (
        "complex numbers are not read",
        &["COMPLEX_ABS", "IMAG", "REAL", "RFFT2D"],
    ),
    (
        "only the main graph of a file is read, and this runs another one",
        &["IF", "STABLEHLO_COMPOSITE", "WHILE"],
    ),
    (
        "tensors of which only some elements are stored are not read",
        &["DENSIFY"],
    ),
    ("custom operators are not read", &["CUSTOM"]),
    (
        "it names what one runtime does with a model, and no function",
        &["DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"],
    ),
    ("LiteRT has no kernel of it", &["CALL", "CONCAT_EMBEDDINGS"]),
    (
        "it is one of StableHLO's; a converter writes the builtin operators that do the same where it is asked for these",
        &[
            "STABLEHLO_GATHER",
            "STABLEHLO_PAD",
            "STABLEHLO_REDUCE_WINDOW",
            "STABLEHLO_SCATTER",
        ],
    ),
    (
        "windows of any kind, as StableHLO has them, are not read",
        &["REDUCE_WINDOW"],
    ),
];

/// The reason for all other operators of StableHLO that are not read.
const STABLEHLO: &str =
    "it is one of StableHLO's, of which LiteRT has no kernel; a converter writes builtin operators in their place";

/// The reason why an operator is not read.
pub(super) fn why(name: &str) -> &'static str {
    let family = FAMILIES.iter().find(|(_, names)| names.contains(&name));
    match family {
        Some((why, _)) => why,
        None if name.starts_with("STABLEHLO_") => STABLEHLO,
        None => "the format has no operator of this number that is known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::OPERATORS;
    use crate::read::operators;
    use std::collections::BTreeSet;

    #[test]
    fn every_builtin_operator_has_a_row_or_a_reason_and_none_has_both() {
        let read: Vec<&str> = operators().iter().map(|operator| operator.name).collect();
        let refused = FAMILIES.iter().flat_map(|(_, names)| names.iter().copied());
        let listed: Vec<&str> = read.into_iter().chain(refused).collect();
        let distinct: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), distinct.len(), "an operator stands twice");
        let all: BTreeSet<&str> = OPERATORS.iter().copied().collect();
        assert!(distinct.is_subset(&all));
        let others = all.difference(&distinct);
        assert_eq!(others.filter(|name| why(name) != STABLEHLO).count(), 0);
    }
}
