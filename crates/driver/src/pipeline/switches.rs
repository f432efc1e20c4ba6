//! Reads which rules are switched off and which layers must not be fused. Both are in `[rewrite]` and in the switch
//! file that `[rewrite]` names.

use std::{collections::BTreeSet, fs::File, io::Read, path::Path};

use serde_json::Value as Json;
use strait_compile::rules::{RuleErrors, matches_layer, unmatched_layers};
use strait_container::{Digest, sha256};
use strait_core::{Module, Switches};
use strait_document::nearest;

use crate::{
    config::{KeyPath, Loaded, codes as config_codes, leaf::Pattern},
    diagnostic::Diagnostics,
    failure::codes,
    stop::Stop,
};

/// A switch file may have at most this many bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The word that stands for all fusions in a switch file.
const ALL: &str = "ALL";

/// Reads the switches of `[rewrite]` for a module that no rule has rewritten yet. Also returns the digest of the switch
/// file, which is part of the digest of the settings.
///
/// # Errors
/// If a rule or a layer does not exist (the error names the nearest one), or the switch file cannot be read.
pub(super) fn switches(loaded: &Loaded, module: &Module) -> Result<(Switches, Option<Digest>), Stop> {
    let rewrite = &loaded.config.rewrite;
    let names = strait_rewrite::names();
    let mut findings = Vec::new();
    for (index, name) in rewrite
        .off
        .iter()
        .enumerate()
        .filter(|(_, name)| !names.contains(name.as_str()))
    {
        let path = KeyPath::of(&["rewrite", "off"]).index(index);
        let finding = loaded.error(codes::RULE, &path, unknown(name), "");
        findings.push(finding.help(nearest::help(name, names.iter().copied())));
    }
    let key = KeyPath::of(&["rewrite", "skip_fusion_layers"]);
    let unknown = unmatched_layers(module, &key, &rewrite.skip_fusion_layers, "layer is called");
    findings.extend(loaded.told(RuleErrors(unknown)).0);
    Diagnostics(findings).or(())?;
    let mut off: BTreeSet<String> = rewrite.off.iter().cloned().collect();
    let mut digest = None;
    if let Some(file) = &rewrite.switch_file {
        let at_key = |message: String| {
            let path = KeyPath::of(&["rewrite", "switch_file"]);
            Stop::from(loaded.error(config_codes::VALUE, &path, message, ""))
        };
        let text = read(file.as_ref()).map_err(|why| at_key(format!("{file}: {why}")))?;
        digest = Some(sha256(text.as_bytes()));
        off.extend(switched_off(&text).map_err(|why| at_key(format!("{file}: {why}")))?);
    }
    let patterns: Vec<_> = rewrite.skip_fusion_layers.iter().map(Pattern::glob).collect();
    let nodes = module
        .main()
        .nodes()
        .filter(|(_, node)| matches_layer(module, node, &patterns));
    let sources = nodes.flat_map(|(_, node)| &node.sources).map(|&name| module.name(name));
    let kept = sources.filter(|name| patterns.iter().any(|pattern| pattern.matches(name)));
    let switches = Switches {
        off,
        no_fusion: !rewrite.do_fusion,
        kept: kept.map(str::to_owned).collect(),
    };
    Ok((switches, digest))
}

fn unknown(name: &str) -> String {
    format!("there is no rule `{name}`")
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    match text.len() as u64 > MOST_BYTES {
        true => Err(format!("a switch file has at most {MOST_BYTES} bytes")),
        false => Ok(text),
    }
}

/// The names of the rules that a switch file switches off. The text of an error says what is wrong with the file.
fn switched_off(text: &str) -> Result<BTreeSet<String>, String> {
    let words = match text.trim_start().starts_with('{') {
        true => in_json(text)?,
        false => in_lines(text)?,
    };
    let names = strait_rewrite::names();
    let all = words.iter().any(|(_, name, is_on)| name == ALL && !is_on);
    let fusions = strait_rewrite::fusions().into_iter().filter(|_| all);
    let mut off: BTreeSet<String> = fusions.map(str::to_owned).collect();
    for (place, name, is_on) in words.into_iter().filter(|(_, name, _)| name != ALL) {
        if !names.contains(name.as_str()) {
            let help = nearest::help(&name, names.iter().copied());
            return Err(format!("{place}{}; {help}", unknown(&name)));
        }
        if is_on {
            off.remove(&name)
        } else {
            off.insert(name)
        };
    }
    Ok(off)
}

/// An entry of the switch file: its place in the file, for messages; the name of its rule; and whether the entry
/// switches the rule on.
type Word = (String, String, bool);

/// Parses the text form: `RULE:on` or `RULE:off` on each line.
fn in_lines(text: &str) -> Result<Vec<Word>, String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let word = |(line, number): (&str, usize)| {
        let place = format!("line {number}: ");
        let switch = line.rsplit_once(':').map(|(name, switch)| (name.trim(), is_on(switch)));
        match switch {
            Some((name, Some(is_on))) => Ok((place, name.to_owned(), is_on)),
            _ => Err(format!("{place}`{}` is not `RULE:on` or `RULE:off`", line.trim())),
        }
    };
    lines.map(word).collect()
}

/// Parses the JSON form: `{"Switch": {"GraphFusion": {RULE: "on" or "off"}}}`.
fn in_json(text: &str) -> Result<Vec<Word>, String> {
    let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let rules = only(&json, "", "Switch").and_then(|switch| only(switch, "Switch.", "GraphFusion"))?;
    let rules = rules.as_object().ok_or("`Switch.GraphFusion` is no object")?;
    let word = |(name, switch): (&String, &Json)| match switch.as_str().and_then(is_on) {
        Some(is_on) => Ok((format!("`Switch.GraphFusion.{name}`: "), name.clone(), is_on)),
        None => Err(format!("`Switch.GraphFusion.{name}` is neither \"on\" nor \"off\"")),
    };
    rules.iter().map(word).collect()
}

/// The value of `key`, which must be the only key of the object.
fn only<'a>(json: &'a Json, within: &str, key: &str) -> Result<&'a Json, String> {
    let object = json.as_object().ok_or_else(|| format!("`{within}{key}` is missing"))?;
    match object.keys().find(|name| *name != key) {
        Some(other) => Err(format!(
            "there is no switch `{within}{other}`: only rules over the graph have some, `{key}`"
        )),
        None => object.get(key).ok_or_else(|| format!("`{within}{key}` is missing")),
    }
}

fn is_on(word: &str) -> Option<bool> {
    match word.trim() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::switched_off;

    fn off(text: &str) -> Result<Vec<String>, String> {
        switched_off(text).map(|names| names.into_iter().collect())
    }

    #[test]
    fn lines_and_json_say_the_same() {
        let lines = "bias-into-producer:off\n\n pad-into-conv : off \nfunction:on\n";
        let json =
            r#"{"Switch": {"GraphFusion": {"bias-into-producer": "off", "pad-into-conv": "off", "function": "on"}}}"#;
        let expected = ["bias-into-producer", "pad-into-conv"].map(str::to_owned).to_vec();
        assert_eq!(off(lines), Ok(expected.clone()));
        assert_eq!(off(json), Ok(expected));
    }

    #[test]
    fn all_fusions_go_off_but_those_that_are_on() {
        let left = off("ALL:off\nbias-into-producer:on").unwrap();
        assert!(
            left.contains(&"batch-normalization-into-producer".to_owned()),
            "{left:?}"
        );
        assert!(!left.contains(&"bias-into-producer".to_owned()) && !left.contains(&"fold-constants".to_owned()));
        assert_eq!(off("ALL:on"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, parts) in [
            (
                "function:on\nbias-into-produce:off",
                &["line 2", "`bias-into-produce`", "`bias-into-producer`"][..],
            ),
            ("function", &["line 1", "RULE:off"]),
            ("function:maybe", &["line 1", "`function:maybe`"]),
            ("{", &["line 1"]),
            (
                r#"{"Switch": {"UBFusion": {"ALL": "off"}}}"#,
                &["Switch.UBFusion", "GraphFusion"],
            ),
            (
                r#"{"Switch": {"GraphFusion": {"function": 1}}}"#,
                &["Switch.GraphFusion.function"],
            ),
            (
                r#"{"Switch": {"GraphFusion": {"functio": "on"}}}"#,
                &["Switch.GraphFusion.functio", "`function`"],
            ),
            ("{}", &["`Switch` is missing"]),
        ] {
            let told = off(text).unwrap_err();
            assert!(parts.iter().all(|part| told.contains(part)), "{text}: {told}");
        }
    }
}
