//! Writes the numbers of equal and differing results as a document.

use crate::compare::{Count, Kernel};
use std::fmt::Write;

const HEAD: &str = "\
# Compared with other people's programs

This page compares Strait's arithmetic with the kernels of other programs. `cargo xtask oracles --document` writes it. Without
`--document` the command repeats all comparisons, and fails if a kernel differs from the rule that is claimed to equal it.

Each line is one kernel of the program in the heading. It is run on models with a single operator and with random scales, zero
points and integers. Many factors for LiteRT and TOSA are powers of two, because these have ties. If an operator has a bias, half
of the cases are next to a step of the result.

The other side is the form that the rule named under *our rule* makes from the same parameters (`crates/requantize/src/scales`),
or the function of that name ([functions.md](functions.md)). It is computed by the definition. Other tests check that our kernels
agree with the definition.

The columns count results:

- *differ*: results that differ, *of* all compared results.
- *outside*: accumulators for which our form is not defined, but the program returns something.
- *undefined*: accumulators for which both sides are undefined.
- *other rules*: results of the same cases that would differ with another rule. They show what the cases can tell apart. If our
  rule is not claimed to equal the kernel, this column also says what the program does.
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
