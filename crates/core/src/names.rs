//! Interned names.

use crate::ids::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table of names: each string is stored once and spoken of by its [`Symbol`].
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Arc<str>>,
    symbols: BTreeMap<Arc<str>, Symbol>,
}

impl Names {
    /// The symbol of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&symbol) = self.symbols.get(text) {
            return symbol;
        }
        let symbol = Symbol::new(self.texts.len());
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.symbols.insert(text, symbol);
        symbol
    }

    /// The symbol of `text`, if it was interned before.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.symbols.get(text).copied()
    }

    /// The text of a symbol; empty for a symbol of another table.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.index()).map_or("", |t| t)
    }

    /// A name that is not yet in the table: `base` itself, or `base_1`, `base_2`, ….
    pub fn fresh(&mut self, base: &str) -> Symbol {
        if self.find(base).is_none() {
            return self.intern(base);
        }
        let mut number = 1usize;
        loop {
            let candidate = format!("{base}_{number}");
            if self.find(&candidate).is_none() {
                return self.intern(&candidate);
            }
            number += 1;
        }
    }
}
