//! What every code that Strait prints means: codes of diagnostics (`M003`), of reasons (`no-shift`), of lints and of the
//! reasons of an analysis.
//!
//! The codes are declared where they are given, each with one sentence: [`strait_core::codes`],
//! [`strait_document::codes`], [`strait_core::ReasonCode`]. The tables in `texts/` add an example and the remedy, one
//! table for each group. The command `strait explain` and the page `docs/codes.md` are made from both. Tests demand that
//! no code is without an entry, and no entry without a code.

mod page;
mod text;

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};
use strait_core::ReasonCode;
use strait_document::nearest;

pub use page::page;
pub use text::{all_as_text, entry_as_text};

/// The codes of one part of Strait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The title.
    pub title: String,
    /// What all codes of the group have in common.
    pub about: String,
    /// What to do about a code that has no remedy of its own.
    #[serde(skip)]
    pub remedy: Option<String>,
    /// The codes.
    pub codes: Vec<Entry>,
}

/// One code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The code, as it is printed.
    pub code: String,
    /// The title of its group.
    pub group: String,
    /// What it means, in one sentence or two.
    pub means: String,
    /// What leads to it, for example.
    pub example: String,
    /// A configuration that leads to it: the part that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// What to do.
    pub remedy: String,
    /// What to paste into the configuration, or into the target's table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste: Option<String>,
    /// True if the remedy is that of the whole group.
    #[serde(skip)]
    pub shares_remedy: bool,
}

/// A table of `texts/`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    about: String,
    remedy: Option<String>,
    code: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    code: String,
    means: Option<String>,
    example: String,
    config: Option<String>,
    remedy: Option<String>,
    paste: Option<String>,
}

/// The tables, in the order of the page.
const TABLES: [&str; 15] = [
    include_str!("texts/configuration.toml"),
    include_str!("texts/model.toml"),
    include_str!("texts/data.toml"),
    include_str!("texts/target.toml"),
    include_str!("texts/evaluation.toml"),
    include_str!("texts/artifact.toml"),
    include_str!("texts/placement.toml"),
    include_str!("texts/forms.toml"),
    include_str!("texts/lowering.toml"),
    include_str!("texts/fusion.toml"),
    include_str!("texts/lints.toml"),
    include_str!("texts/losses.toml"),
    include_str!("texts/sanity.toml"),
    include_str!("texts/rules.toml"),
    include_str!("texts/reading.toml"),
];

/// The last table of the page. It is long, and hardly anybody needs it.
const LAST: &str = include_str!("texts/shapes.toml");

/// All codes, by group.
pub fn groups() -> &'static [Group] {
    // A test reads every table, so none is left out here.
    static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
        let tables = TABLES.iter().chain([&LAST]);
        tables.filter_map(|text| read(text).ok()).collect()
    });
    &GROUPS
}

fn read(text: &str) -> Result<Group, toml::de::Error> {
    let table: Table = toml::from_str(text)?;
    let declared = declared();
    let entry = |row: Row| Entry {
        means: row
            .means
            .or_else(|| declared.get(row.code.as_str()).map(|means| means.trim().to_owned()))
            .unwrap_or_default(),
        code: row.code,
        group: table.title.clone(),
        example: row.example,
        config: row.config,
        shares_remedy: row.remedy.is_none(),
        remedy: row.remedy.or_else(|| table.remedy.clone()).unwrap_or_default(),
        paste: row.paste,
    };
    Ok(Group {
        codes: table.code.into_iter().map(entry).collect(),
        title: table.title.clone(),
        about: table.about,
        remedy: table.remedy.clone(),
    })
}

/// The sentence of every code that is declared with one.
fn declared() -> BTreeMap<&'static str, &'static str> {
    let reasons = ReasonCode::GROUPS.iter().flat_map(|(_, codes)| codes.iter());
    let diagnostics = strait_core::codes::ALL.iter().chain(strait_document::codes::ALL);
    diagnostics.chain(reasons).copied().collect()
}

/// The entry for the codes that end with the name of a quantity.
const TARGET_LIMIT: &str = "target-limit-QUANTITY";

/// The entries for a code. There are several if parts of Strait use the same word. Letter case, brackets and a severity
/// in front of them do not matter, so that `error[M003]` can be pasted.
pub fn find(code: &str) -> Vec<&'static Entry> {
    let code = bare(code);
    let family = code.strip_prefix("target-limit-").map(|_| TARGET_LIMIT);
    let is = |entry: &&Entry| entry.code.eq_ignore_ascii_case(family.unwrap_or(code));
    entries().filter(is).collect()
}

/// The code without what stands around it in a message.
pub fn bare(code: &str) -> &str {
    let inner = code.split_once('[').map_or(code, |(_, inner)| inner);
    inner.trim().trim_end_matches([']', ':'])
}

/// The codes that are most similar to a word which is no code.
pub fn similar(code: &str) -> Vec<&'static str> {
    nearest::did_you_mean(bare(code), entries().map(|entry| entry.code.as_str()))
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    groups().iter().flat_map(|group| &group.codes)
}
