use std::collections::BTreeSet;

use crate::{
    PageError,
    example::{analysis, report},
    page,
};

/// A name that ends texts, attributes, comments and scripts, if nothing escapes it.
const HOSTILE: &str =
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>--></svg></style>{{ 7 * 7 }}&amp;\u{1b}";

/// The names of all tags of a page, outside of its style and its script.
fn tags(page: &str) -> BTreeSet<String> {
    let body = page.split("</style>").nth(1).unwrap();
    let body = body.split("<script>\n\"use strict\";").next().unwrap();
    let starts = body.split('<').skip(1);
    starts
        .map(|tag| {
            tag.split(|end: char| !end.is_ascii_alphanumeric())
                .next()
                .unwrap()
                .to_owned()
        })
        .filter(|tag| !tag.is_empty())
        .collect()
}

#[test]
fn a_name_cannot_become_markup_anywhere() {
    let page = page(&report(HOSTILE), Some(&analysis(HOSTILE)), false).unwrap();
    let harmless = super::page(&report("name"), Some(&analysis("name")), false).unwrap();
    assert_eq!(tags(&page), tags(&harmless));
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains("<img src=x"));
    assert!(!page.contains("\u{1b}"));
    assert!(page.contains("{{ 7 * 7 }}"), "a template in a name is not run");
    // Every quotation mark in the page belongs to the page: those of names are escaped.
    assert!(!page.contains("\"'>"));
}

#[test]
fn a_page_loads_nothing() {
    let page = page(&report("name"), Some(&analysis("name")), false).unwrap();
    for address in ["http:", "https:", "//www", "url(", "@import", "<link"] {
        assert!(!page.contains(address), "{address}");
    }
    let pictures = page.matches("src=\"data:image/png;base64,").count();
    assert_eq!((page.matches("src=").count(), pictures), (2, 2));
}

#[test]
fn the_same_report_gives_the_same_page() {
    let make = || page(&report("name"), Some(&analysis("name")), false).unwrap();
    assert_eq!(make(), make());
}

#[test]
fn a_redacted_page_has_no_name_and_no_statistics_of_weights() {
    let name = "Secret";
    let page = page(&report(name), Some(&analysis(name)), true).unwrap();
    let at = page
        .find(name)
        .map(|at| page[at.saturating_sub(80)..].chars().take(160).collect::<String>());
    assert_eq!(at, None);
    assert!(page.contains("layer 1") && page.contains("layer 2"));
    assert!(!page.contains("class=\"plot channels\""));
    assert!(page.contains("class=\"plot histogram\""));
    assert!(!page.contains("<img") && !page.contains("<section id=\"inputs\""));
}

#[test]
fn a_layer_lists_the_rows_that_nearly_applied() {
    let page = page(&report("name"), None, false).unwrap();
    let second = page.split("id=\"layer-2\"").nth(1).unwrap();
    let row =
        "<code>conv-wide</code></th><td>the form of the requantization</td><td class=\"why\">name is i8, not i32</td>";
    assert!(second.contains(row), "{second}");
    assert!(
        second.find("conv-wide") < second.find("conv-far"),
        "the nearest row stands first"
    );
    let first = page
        .split("id=\"layer-1\"")
        .nth(1)
        .unwrap()
        .split("id=\"layer-2\"")
        .next()
        .unwrap();
    assert!(!first.contains("conv-wide"));
}

#[test]
fn the_command_is_quoted_for_a_shell() {
    let page = page(&report("it's"), None, false).unwrap();
    let command = "strait compile deploy.toml --target chip --set 'a.b=&quot;it'\\''s&quot;'";
    assert!(page.replace("&#x27;", "'").contains(command));
}

#[test]
fn changed_answers_say_what_each_model_answers() {
    let page = page(&report("name"), None, false).unwrap();
    let changed = page.split("Answers that changed").nth(1).unwrap();
    assert!(changed.contains("1 of 100 samples are answered otherwise than in float: 1 were right and are wrong now"));
    assert!(changed.contains("score 9.5, 0.25 ahead"), "{changed}");
    assert!(page.contains("class=\"plot curve\""));
}

#[test]
fn what_is_not_known_is_left_out() {
    let mut report = report("name");
    for layer in &mut report.layers {
        (layer.operands, layer.operations) = (Vec::new(), None);
    }
    (report.distributions, report.weights) = (Vec::new(), Vec::new());
    (report.seen, report.changed) = (Vec::new(), Vec::new());
    let page = page(&report, None, false).unwrap();
    assert!(!page.contains("<section id=\"graph\""));
    assert!(!page.contains("<section id=\"inputs\""));
    assert!(!page.contains("<figure>"));
    assert!(page.contains("strait analyze"));
}

#[test]
fn the_best_rule_stands_first_with_what_it_brings() {
    let page = page(&report("name"), Some(&analysis("name")), false).unwrap();
    let next = page.split("What to do next").nth(1).unwrap();
    assert!(next.contains("top1 +1.50 points [+1.00, +2.00]; outputs from 9.0 dB to 20.0 dB"));
    assert!(next.contains("layers = [&quot;name&quot;]"));
}

#[test]
fn an_analysis_of_another_target_or_model_is_refused() {
    let mut other = analysis("name");
    other.target = "other".to_owned();
    let unrelated = |found: Result<String, PageError>| matches!(found, Err(PageError::Unrelated(_)));
    assert!(unrelated(page(&report("name"), Some(&other), false)));
    assert!(unrelated(page(&report("name"), Some(&analysis("another")), false)));
}

/// Opens a page from a file in Chromium, and returns its markup after the script has run, and what stands on its console.
/// `None`, with a message, if there is no Chromium.
fn opened(page: &str) -> Option<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find_map(|name| {
            let mut command = std::process::Command::new(name);
            command
                .args([
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--virtual-time-budget=2000",
                ])
                .args(["--enable-logging=stderr", "--dump-dom"])
                .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
                .arg(format!("file://{}#layer-2", file.display()));
            command.output().ok()
        });
    let Some(output) = browser else {
        println!("skipped: no Chromium on this machine");
        return None;
    };
    let [dom, log] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let console = log.lines().filter(|line| line.contains("CONSOLE"));
    Some((dom, console.collect::<Vec<_>>().join("\n")))
}

#[test]
fn a_browser_opens_the_page_from_a_file_without_an_error() {
    for name in ["name", HOSTILE] {
        let page = page(&report(name), Some(&analysis(name)), false).unwrap();
        let Some((dom, console)) = opened(&page) else { return };
        assert_eq!(console, "");
        assert!(dom.contains("data-ready"), "the script has run to its end");
        let second = dom
            .split("id=\"layer-2\"")
            .nth(1)
            .and_then(|rest| rest.split('>').next())
            .unwrap();
        assert!(second.contains(" open"), "the address of a layer opens it: {second}");
    }
}
