//! Sentences that name layers and keys, as HTML.
//!
//! A name in a sentence stands between backticks. On the page it is code, and if it is the name of a layer, a link to this layer.

use minijinja::HtmlEscape;

/// Makes HTML of a sentence. `href` returns the address of the layer with a name.
pub(crate) fn prose(text: &str, href: impl Fn(&str) -> Option<String>) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // Backticks that are not in pairs mark no names.
    if parts.len().is_multiple_of(2) {
        return HtmlEscape(text).to_string();
    }
    let mut html = String::with_capacity(text.len() * 2);
    for (at, part) in parts.into_iter().enumerate() {
        let escaped = HtmlEscape(part).to_string();
        html.push_str(&match (at % 2, href(part)) {
            (0, _) => escaped,
            (_, None) => format!("<code>{escaped}</code>"),
            (_, Some(href)) => format!("<a href=\"{href}\"><code>{escaped}</code></a>"),
        });
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_and_names_of_layers_are_links() {
        let href = |name: &str| (name == "/conv<1>").then(|| "#layer-3".to_owned());
        let of = |text: &str| prose(text, href);
        assert_eq!(
            of("it jumps at `/conv<1>` & `x`"),
            "it jumps at <a href=\"#layer-3\"><code>&#x2f;conv&lt;1&gt;</code></a> &amp; <code>x</code>"
        );
        assert_eq!(of("a ` alone, <b>"), "a ` alone, &lt;b&gt;");
    }
}
