//! Writes the numbers of equal and differing results as a document.

use crate::compare::{Count, Kernel};
use std::fmt::Write;

const HEAD: &str = "\
# Compared with other people's programs

This page compares Strait's arithmetic with the kernels of other programs. `cargo xtask oracles --document` writes it. Without
`--document` the command repeats all comparisons, and fails if a kernel differs from the rule that is claimed to equal it.

Each line of a table is about one kernel of the program that the heading names. The kernel runs in models with a single operator,
and with random scales, zero points and integers. For LiteRT and TOSA, many requantization factors are powers of two, because then
many results are ties (half way between two codes). If an operator has a bias, half of the biases are chosen so that accumulators
lie next to the point at which the code changes.

The results of the kernel are compared with those of Strait's definition. The column *our rule* names this definition. It is a rule
that makes a requantization function (a *form*) from the same scales (`crates/requantize/src/scales`), or an integer function
([functions.md](functions.md)). The rule *same* is for operators whose operands and results have the same grid, so that no
requantization is needed. Other tests check that Strait's own kernels agree with the definition.

The other columns contain these numbers:

- *differ* and *of*: the number of results that differ, and the number of results that were compared.
- *outside*: the number of accumulators for which Strait's form is not defined, although the program returns a result.
- *undefined*: the number of accumulators for which neither Strait nor the program defines a result.
- *other rules*: for each of some other rules, the number of results that would differ with it. If this number is not 0, the cases
  can tell the two rules apart. If our rule is not claimed to equal the kernel, this column also says what the program does.
";

/// The document, with one table for each program.
pub(crate) fn markdown(kernels: &[Kernel]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(HEAD);
    for group in kernels.chunk_by(|a, b| a.program == b.program) {
        let Some(first) = group.first() else { continue };
        write!(text, "\n## {}\n\n", first.program)?;
        text +=
            "| kernel | our rule | differ | of | outside | undefined | other rules |\n|---|---|--:|--:|--:|--:|---|\n";
        for kernel in group {
            let Count {
                name,
                compared,
                differing,
                outside,
                undefined,
                ..
            } = &kernel.rule;
            let verdict = if kernel.equal { "" } else { " (not equal)" };
            let others = kernel.others.iter().map(|c| format!("{} {}", c.name, c.differing));
            let note = kernel.note.iter().map(|note| format!("the program {note}"));
            let remarks = others.chain(note).collect::<Vec<_>>().join(", ");
            writeln!(
                text,
                "| {} | {name}{verdict} | {differing} | {compared} | {outside} | {undefined} | {remarks} |",
                kernel.name
            )?;
        }
    }
    Ok(text)
}
