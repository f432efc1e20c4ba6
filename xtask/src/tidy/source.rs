//! Splits Rust text into code, comments and string literals, line by line, as far as the checks need it.

/// A line of a Rust file.
#[derive(Default)]
pub(crate) struct Line {
    /// The code, without comments and without the contents of string literals.
    pub(crate) code: String,
    pub(crate) comment: String,
    /// The string literals that end on this line, without quotes. Escapes are kept as written.
    pub(crate) strings: Vec<String>,
}

pub(crate) struct Source {
    pub(crate) lines: Vec<Line>,
}

impl Source {
    /// Splits a file. For text that is not valid Rust, there is no error but some result, since finding errors is the
    /// compiler's task.
    pub(crate) fn new(text: &str) -> Source {
        let mut lines = vec![Line::default()];
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (kind, length) = next_token(rest, first, lines.last().map_or("", |line| &line.code));
            let (token, tail) = rest.split_at(length);
            rest = tail;
            if let Kind::Text { open, close } = kind {
                push(&mut lines, |line| &mut line.code, "\"\"");
                let content = token.get(open..token.len().saturating_sub(close)).unwrap_or("");
                lines.extend(std::iter::repeat_with(Line::default).take(token.matches('\n').count()));
                if let Some(line) = lines.last_mut() {
                    line.strings.push(content.to_owned());
                }
                continue;
            }
            for (index, piece) in token.split('\n').enumerate() {
                if index > 0 {
                    lines.push(Line::default());
                }
                match kind {
                    Kind::Comment => push(&mut lines, |line| &mut line.comment, piece),
                    _ => push(&mut lines, |line| &mut line.code, piece),
                }
            }
        }
        Source { lines }
    }

    /// The lines of the file, without the tests at its end. Each line comes with its number from 1 on.
    pub(crate) fn product(&self) -> impl Iterator<Item = (usize, &Line)> {
        let tests = self.lines.windows(2).position(|pair| {
            let module = pair[1].code.trim_start();
            pair[0].code.trim() == "#[cfg(test)]" && (module.starts_with("mod ") && module.ends_with('{'))
        });
        self.numbered().take(tests.unwrap_or(self.lines.len()))
    }

    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// True if a comment excuses this line (counted from 1) and gives a reason. The comment stands on the line itself,
    /// or alone on the line above it.
    pub(crate) fn excused(&self, line: usize, check: &str) -> bool {
        let marker = format!("tidy: allow({check}):");
        let reason = |line: &Line| {
            line.comment
                .split_once(&marker)
                .is_some_and(|(_, why)| !why.trim().is_empty())
        };
        let above = line.checked_sub(2).and_then(|index| self.lines.get(index));
        self.lines.get(line - 1).is_some_and(reason)
            || above.is_some_and(|above| above.code.trim().is_empty() && reason(above))
    }
}

fn push(lines: &mut [Line], part: impl Fn(&mut Line) -> &mut String, text: &str) {
    if let Some(line) = lines.last_mut() {
        part(line).push_str(text);
    }
}

/// The words (identifiers) in a piece of code.
pub(crate) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The members of a group in a `use`, from the text after its opening brace. A member may contain groups itself.
pub(crate) fn of_group(text: &str) -> Vec<&str> {
    let (mut depth, mut members) = (0usize, Vec::new());
    let (mut begin, mut end) = (0, text.len());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                end = at;
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                members.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    members.push(text[begin..end].trim());
    members.retain(|member| !member.is_empty());
    members
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    Comment,
    /// A string literal. The fields are the numbers of bytes that open and that close it.
    Text {
        open: usize,
        close: usize,
    },
}

/// Kind and length in bytes of the token at the start of `rest`, which is not empty and starts with `first`.
fn next_token(rest: &str, first: char, before: &str) -> (Kind, usize) {
    let inside_word = before
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    if first == '"' {
        return (Kind::Text { open: 1, close: 1 }, quoted(rest, '"'));
    }
    if first == '\'' {
        return (Kind::Code, character(rest));
    }
    if !inside_word && matches!(first, 'r' | 'b' | 'c') {
        // Raw literals such as r"…", r#"…"# and br"…" end with a quote and as many # as at their start. b"…" and c"…"
        // have escapes and need no special treatment.
        let raw = rest.trim_start_matches(['b', 'c']);
        let hashes = raw
            .strip_prefix('r')
            .map(|tail| tail.len() - tail.trim_start_matches('#').len());
        if let Some(hashes) = hashes {
            let open = rest.len() - raw.len() + 1 + hashes;
            if rest[open..].starts_with('"') {
                let close = format!("\"{}", "#".repeat(hashes));
                let end = rest[open + 1..]
                    .find(&close)
                    .map_or(rest.len(), |at| open + 1 + at + close.len());
                return (
                    Kind::Text {
                        open: open + 1,
                        close: close.len(),
                    },
                    end,
                );
            }
        }
    }
    (Kind::Code, first.len_utf8())
}

/// Length of a literal between two equal quotes, with backslash escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Length of a character literal, or of the quote alone if the quote begins a lifetime.
fn character(rest: &str) -> usize {
    let mut next = rest.chars().skip(1);
    match (next.next(), next.next()) {
        (Some('\\'), _) => quoted(rest, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 1,
    }
}

/// Length of a block comment, which may contain other block comments.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        Source::new(text).lines.into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        assert_eq!(code("a // unsafe\nb"), ["a ", "b"]);
        assert_eq!(code("a /* x /* y\n*/ z */ b"), ["a ", " b"]);
        assert_eq!(
            code(r#"f("un\"safe", 'x', '\'', '"', b'"') g"#),
            [r#"f("", 'x', '\'', '"', b'"') g"#]
        );
        assert_eq!(
            code("r#\"a \" // \"# + for<'a> &'a \"x\ny\" z"),
            ["\"\" + for<'a> &'a \"\"", " z"]
        );
        assert_eq!(code("number\"x\""), ["number\"\""]);
    }

    #[test]
    fn strings_are_kept_with_the_line_they_end_on() {
        let source = Source::new("f(\"sima\", r\"as\ncend\", b\"x\")");
        assert_eq!(source.lines[0].strings, ["sima"]);
        assert_eq!(source.lines[1].strings, ["as\ncend", "x"]);
    }

    #[test]
    fn tests_at_the_end_are_not_the_product() {
        let source = Source::new("a\n#[cfg(test)]\nmod testing;\nb\n#[cfg(test)]\nmod tests {\n}\n");
        assert_eq!(source.product().count(), 4);
    }

    #[test]
    fn an_excuse_needs_a_reason_and_stands_on_the_line_or_above() {
        let with = |text: &str, line| Source::new(text).excused(line, "hash");
        assert!(with("x // tidy: allow(hash): looked up only", 1));
        assert!(with("// tidy: allow(hash): looked up only\nx", 2));
        assert!(!with("x // tidy: allow(hash):", 1));
        assert!(!with("x // tidy: allow(length): why", 1));
        assert!(!with("y // tidy: allow(hash): why\nx", 2));
        assert!(!with("x", 1));
    }
}
