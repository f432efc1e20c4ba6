//! The parser's position in the text, and the functions from which all parsers of items are built.

use super::error::{Position, TextError};
use super::lexer::{Lexer, Token};
use super::number::Number;

/// An item that was parsed, or the error in the text.
pub(super) type Parsed<T> = Result<T, TextError>;

/// A parser that looks one token ahead.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    pub(super) at: Position,
    pub(super) token: Token,
}

impl<'a> Parser<'a> {
    /// Makes a parser at the first token of a text.
    pub(super) fn new(text: &'a str) -> Parsed<Parser<'a>> {
        let mut lexer = Lexer::new(text);
        let (at, token) = lexer.next()?;
        Ok(Parser { lexer, at, token })
    }

    pub(super) fn advance(&mut self) -> Parsed<Token> {
        let (at, token) = self.lexer.next()?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    pub(super) fn unexpected<T>(&self, expected: impl Into<String>) -> Parsed<T> {
        Err(self.at.expected(expected, self.token.describe()))
    }

    pub(super) fn is(&self, mark: char) -> bool {
        self.token == Token::Mark(mark)
    }

    pub(super) fn eat(&mut self, mark: char) -> Parsed<bool> {
        let found = self.is(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn mark(&mut self, mark: char) -> Parsed<()> {
        if self.eat(mark)? {
            Ok(())
        } else {
            self.unexpected(format!("`{mark}`"))
        }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found == word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Parses the next token with `read`. Fails if `read` returns `None`.
    pub(super) fn take<T>(&mut self, expected: &str, read: impl FnOnce(&Token) -> Option<T>) -> Parsed<T> {
        let Some(found) = read(&self.token) else {
            return self.unexpected(expected);
        };
        self.advance()?;
        Ok(found)
    }

    pub(super) fn word(&mut self, expected: &str) -> Parsed<String> {
        self.take(expected, |token| match token {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        })
    }

    /// Parses a word that has to be the name of one of the items in `all`.
    pub(super) fn one_of<T: Copy>(&mut self, what: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Parsed<T> {
        let found = match &self.token {
            Token::Word(word) => all.iter().copied().find(|&one| name(one) == word),
            _ => None,
        };
        let Some(found) = found else {
            let names: Vec<&str> = all.iter().map(|&one| name(one)).collect();
            return self.unexpected(format!("{what}: {}", names.join(", ")));
        };
        self.advance()?;
        Ok(found)
    }

    /// Parses a word or a string.
    pub(super) fn text(&mut self, expected: &str) -> Parsed<String> {
        self.take(expected, |token| match token {
            Token::Word(text) | Token::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    pub(super) fn number(&mut self, expected: &str) -> Parsed<Number> {
        self.take(expected, |token| match token {
            Token::Number(number) => Some(number.clone()),
            _ => None,
        })
    }

    pub(super) fn integer<T: std::str::FromStr>(&mut self, expected: &str) -> Parsed<T> {
        self.take(expected, |token| match token {
            Token::Number(number) => number.integer(),
            _ => None,
        })
    }

    /// Parses `key =`, if `key` is the next word. Returns whether it is.
    pub(super) fn key(&mut self, key: &str) -> Parsed<bool> {
        let found = self.eat_word(key)?;
        if found {
            self.mark('=')?;
        }
        Ok(found)
    }

    /// Parses `key =` and an item, if `key` is the next word.
    pub(super) fn keyed<T>(&mut self, key: &str, item: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        Ok(if self.key(key)? { Some(item(self)?) } else { None })
    }

    /// Parses `[low,high]`, a range of codes.
    pub(super) fn ends<T: std::str::FromStr>(&mut self) -> Parsed<[T; 2]> {
        self.mark('[')?;
        let low = self.integer("the lowest code")?;
        self.mark(',')?;
        let high = self.integer("the highest code")?;
        self.mark(']')?;
        Ok([low, high])
    }

    /// Parses items up to `close`, separated by commas. The opening bracket has been parsed already.
    pub(super) fn items<T>(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close)? {
            if !items.is_empty() {
                self.mark(',')?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
}
