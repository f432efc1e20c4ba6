//! The page `docs/codes.md`.

use crate::{
    Entry, groups,
    text::{lower_first, wrapped_to},
};

/// The width of a line.
const WIDTH: usize = 132;

const OPENING: &str = "\
# Codes

<!-- Made from crates/explain/src/texts and the declarations of the codes by `cargo xtask bless`; edits here are lost. -->

Errors and warnings have codes such as `M003`. A reason, for example why a layer stays on the host or why a fusion is not made,
consists of a sentence for people and a code for programs such as `no-shift`. This page says what each code means, shows what leads
to it, and says what to do. `strait explain CODE` prints the same, and `strait explain` lists all codes. The meaning of a code never
changes.

The code `target-limit-QUANTITY` stands for as many codes as there are quantities ([target-table.md](target-table.md) lists them). The
crate of a target can have codes of its own for reasons.

";

/// The text of the page: every code with its meaning, an example and the remedy.
pub fn page() -> String {
    let mut page = OPENING.to_owned();
    for group in groups() {
        let anchor = group.title.to_lowercase().replace(' ', "-");
        page += &format!("- [{}](#{anchor})\n", group.title);
    }
    for group in groups() {
        page += &format!("\n## {}\n\n{}", group.title, paragraph(&group.about));
        if let Some(remedy) = &group.remedy {
            page += &format!(
                "\n{}",
                paragraph(&format!("If nothing else is said: {}", lower_first(remedy)))
            );
        }
        for entry in &group.codes {
            page += &section(entry);
        }
    }
    page
}

fn section(entry: &Entry) -> String {
    let toml = |lines: &Option<String>| {
        let lines = lines
            .as_ref()
            .map(|lines| format!("\n```toml\n{}\n```\n", lines.trim_end()));
        lines.unwrap_or_default()
    };
    let mut text = format!("\n### `{}`\n\n{}", entry.code, paragraph(&entry.means));
    let example = paragraph(&format!("*Example.* {}", entry.example));
    text += &format!("\n{example}{}", toml(&entry.config));
    if !entry.shares_remedy {
        text += &format!("\n{}", paragraph(&format!("*What to do.* {}", entry.remedy)));
    }
    text + &toml(&entry.paste)
}

fn paragraph(text: &str) -> String {
    wrapped_to(WIDTH, text, "")
}
