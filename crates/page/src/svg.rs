//! Writes SVG. Every attribute and every text is escaped here, so that names from files cannot become markup.

use std::fmt::{Display, Write as _};

/// A drawing that is being written.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    /// Begins a drawing of this size, with a title for readers that do not see it.
    pub(crate) fn new(size: [f64; 2], class: &str, title: &str) -> Svg {
        Svg::with_role("img", size, class, title)
    }

    /// Begins a drawing with links in it.
    pub(crate) fn with_links(size: [f64; 2], class: &str, title: &str) -> Svg {
        Svg::with_role("group", size, class, title)
    }

    fn with_role(role: &str, [width, height]: [f64; 2], class: &str, title: &str) -> Svg {
        let mut svg = Svg::default();
        svg.open(
            "svg",
            &[
                ("class", &class),
                ("width", &Short(width)),
                ("height", &Short(height)),
                ("viewBox", &format_args!("0 0 {} {}", Short(width), Short(height))),
                ("role", &role),
                ("aria-label", &title),
            ],
        );
        svg
    }

    /// Opens an element.
    pub(crate) fn open(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.tag(name, attributes);
        self.text.push('>');
    }

    /// Closes an element.
    pub(crate) fn close(&mut self, name: &str) {
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
    }

    /// Adds an element without content.
    pub(crate) fn add(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.tag(name, attributes);
        self.text.push_str("/>");
    }

    /// Adds an element with a text.
    pub(crate) fn words(&mut self, name: &str, attributes: &[(&str, &dyn Display)], words: &str) {
        self.open(name, attributes);
        escape(&mut self.text, words);
        self.close(name);
    }

    /// Adds a line of text at a position.
    pub(crate) fn label(&mut self, class: &str, [x, y]: [f64; 2], words: &str) {
        self.words("text", &[("class", &class), ("x", &Short(x)), ("y", &Short(y))], words);
    }

    /// Adds a straight line.
    pub(crate) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.add(
            "path",
            &[
                ("class", &class),
                (
                    "d",
                    &format_args!("M{} {}L{} {}", Short(x1), Short(y1), Short(x2), Short(y2)),
                ),
            ],
        );
    }

    /// Adds a rectangle.
    pub(crate) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        self.add(
            "rect",
            &[
                ("class", &class),
                ("x", &Short(x)),
                ("y", &Short(y)),
                ("width", &Short(width)),
                ("height", &Short(height)),
            ],
        );
    }

    /// The text without an end tag: for a drawing that closes its own elements.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Ends the drawing.
    pub(crate) fn finish(mut self) -> String {
        self.close("svg");
        self.text
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.text.push('<');
        self.text.push_str(name);
        for (key, value) in attributes {
            self.text.push(' ');
            self.text.push_str(key);
            self.text.push_str("=\"");
            escape(&mut self.text, &value.to_string());
            self.text.push('"');
        }
    }
}

/// Appends a text in which no character has a meaning in markup, in a text or in an attribute. Control characters, which
/// no document may contain, are shown as a replacement character.
fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
}

/// A coordinate with at most one digit behind the point.
pub(crate) struct Short(pub(crate) f64);

impl Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 * 10.0).round();
        // Adding 0 makes a negative zero positive.
        let tenths = if tenths.is_finite() { tenths + 0.0 } else { 0.0 };
        write!(f, "{}", tenths / 10.0)
    }
}

/// The data of a path through points.
pub(crate) fn path(points: impl IntoIterator<Item = [f64; 2]>) -> String {
    let mut data = String::new();
    for (position, [x, y]) in points.into_iter().enumerate() {
        let letter = if position == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(data, "{letter}{} {}", Short(x), Short(y));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_text_or_its_attribute() {
        let mut svg = Svg::new([1.0, 1.0], "plot", "\" onload=\"alert(1)");
        svg.label("name", [0.0, 0.0], "</text><script>alert('1')</script>");
        let text = svg.finish();
        assert!(!text.contains("<script"), "{text}");
        assert_eq!(text.matches('"').count() % 2, 0);
        assert!(!text.contains("\" onload=\""), "{text}");
    }

    #[test]
    fn coordinates_are_short_and_never_infinite() {
        let shown = [1.25, -0.01, 3.0, f64::NAN, f64::INFINITY].map(|x| Short(x).to_string());
        assert_eq!(shown, ["1.3", "0", "3", "0", "0"]);
    }
}
