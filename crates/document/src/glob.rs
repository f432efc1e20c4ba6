//! Patterns for names and paths. Their parts are separated by `/`.
//!
//! | | matches |
//! |---|---|
//! | `?` | one character other than `/` |
//! | `*` | any number of characters other than `/` |
//! | `**` | any number of characters |
//! | `**/` at the start of a part | any number of whole parts: `/a/**/b` matches `/a/b` and `/a/x/y/b` |
//!
//! Every other character stands for itself. A pattern has to match the whole name.

/// A pattern, ready to be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Letter(char),
    OneLetter,
    InsidePart,
    Anything,
    WholeParts,
}

impl Glob {
    /// Makes a pattern from a text. Every text is a valid pattern.
    pub fn new(pattern: &str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = pattern;
        while let Some(letter) = rest.chars().next() {
            let stars = rest.len() - rest.trim_start_matches('*').len();
            let at_part = matches!(tokens.last(), None | Some(Token::Letter('/') | Token::WholeParts));
            let after_stars = &rest[stars..];
            rest = match (letter, stars) {
                ('?', _) => {
                    tokens.push(Token::OneLetter);
                    &rest[1..]
                }
                (_, 0) => {
                    tokens.push(Token::Letter(letter));
                    &rest[letter.len_utf8()..]
                }
                (_, 1) => {
                    tokens.push(Token::InsidePart);
                    after_stars
                }
                _ if at_part && after_stars.starts_with('/') => {
                    // A second `**/` directly after the first one has no effect, so it is left out.
                    if tokens.last() != Some(&Token::WholeParts) {
                        tokens.push(Token::WholeParts);
                    }
                    &after_stars[1..]
                }
                _ => {
                    tokens.push(Token::Anything);
                    after_stars
                }
            };
        }
        Glob { tokens }
    }

    /// True if the pattern matches the whole of `name`.
    ///
    /// During the match, `reached[i]` is true if the first i tokens can match the text that was read so far. So each
    /// letter of `name` takes time proportional to the length of the pattern, whatever wildcards the pattern has.
    pub fn matches(&self, name: &str) -> bool {
        let mut reached = vec![false; self.tokens.len() + 1];
        self.arrive(&mut reached, 0);
        for letter in name.chars() {
            let mut next = vec![false; reached.len()];
            for (i, token) in self.tokens.iter().enumerate().filter(|&(i, _)| reached[i]) {
                let (taken, stays, leaves) = match *token {
                    Token::Letter(expected) => (letter == expected, false, true),
                    Token::OneLetter => (letter != '/', false, true),
                    Token::InsidePart => (letter != '/', true, true),
                    Token::Anything => (true, true, true),
                    Token::WholeParts => (true, true, letter == '/'),
                };
                if taken && stays {
                    next[i] = true;
                }
                if taken && leaves {
                    self.arrive(&mut next, i + 1);
                }
            }
            reached = next;
        }
        reached[self.tokens.len()]
    }

    /// Records that the first i tokens can match the text that was read so far. If token i can also match the empty
    /// text, the same holds for the first i + 1 tokens, and so on.
    fn arrive(&self, reached: &mut [bool], i: usize) {
        reached[i] = true;
        if matches!(
            self.tokens.get(i),
            Some(Token::InsidePart | Token::Anything | Token::WholeParts)
        ) {
            self.arrive(reached, i + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_what_the_table_says() {
        for (pattern, matching, others) in [
            ("conv1", &["conv1"][..], &["conv10", "/conv1", "Conv1", ""][..]),
            ("conv?", &["conv1", "convä"], &["conv", "conv/", "conv12"]),
            (
                "/model.22/cv2.*/**",
                &["/model.22/cv2.0/conv/Conv", "/model.22/cv2.0/a"],
                &["/model.22/cv3.0/a", "/model.22/cv2.0"],
            ),
            (
                "/model.22/cv2.*/cv2.*.2/Conv",
                &["/model.22/cv2.1/cv2.1.2/Conv"],
                &["/model.22/cv2.1/x/cv2.1.2/Conv"],
            ),
            ("*", &["a", ""], &["a/b", "/a"]),
            ("**", &["a", "a/b", "", "/"], &[]),
            ("/a/**/b", &["/a/b", "/a/x/b", "/a/x/y/b"], &["/a/xb", "/ab", "/a/x/yb"]),
            ("**/Conv", &["Conv", "a/Conv", "/a/b/Conv"], &["aConv", "a/bConv"]),
            ("**/**/a", &["a", "x/a", "x/y/a"], &["xa"]),
            ("a**b", &["ab", "a/x/b", "axb"], &["a/x"]),
            ("***", &["a/b"], &[]),
            ("*.*", &["a.b", "."], &["a/b.c", "ab"]),
            (
                "serving_default_x:0",
                &["serving_default_x:0"],
                &["serving_default_x:1"],
            ),
            ("", &[""], &["a"]),
        ] {
            let glob = Glob::new(pattern);
            for name in matching {
                assert!(glob.matches(name), "{pattern} should match {name}");
            }
            for name in others {
                assert!(!glob.matches(name), "{pattern} should not match {name}");
            }
        }
    }

    #[test]
    fn hostile_patterns_stay_quick() {
        let glob = Glob::new(&"*a".repeat(2_000));
        assert!(!glob.matches(&"a".repeat(1_999)));
        assert!(Glob::new(&"**/".repeat(100_000)).matches("a/"));
        assert!(Glob::new(&"*".repeat(1_000_000)).matches("a/b"));
    }
}
