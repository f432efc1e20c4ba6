//! Writes the counts as a document.

use crate::compare::{Count, Kernel};
use std::fmt::Write;

const HEAD: &str = "\
# Compared with other people's programs

Written by `cargo xtask oracles --document`; without the option the command compares all of it again and fails where a
kernel differs from the rule that is claimed to equal it. Each line is one kernel of one program, of the version in the
heading, run on models of one operator with random scales, zero points and integers. Many factors of LiteRT's and
TOSA's are powers of two, where ties are; where an operator takes biases, half of the cases lie beside steps of the result.
Our side is the form that the named rule makes of the same parameters (`crates/requantize/src/scales`), or the function of
that name ([functions.md](functions.md)), computed by the definition; that the kernels compute what the definition says is
tested elsewhere.

*Outside* are accumulators for which the form is not defined and the program answers all the same, *undefined* those for
which the program says so, too. *Other rules* differ from the kernel in so many results of the same cases: they show what
the cases can tell apart. Where our rule is not claimed to equal the kernel, the line ends with what the program does.
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
