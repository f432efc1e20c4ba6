//! Parses attributes, forms, and the clauses of a node such as `fused=`.

use super::cursor::{Parsed, Parser};
use super::lexer::Token;
use super::number::Number;
use super::syntax::{AttributeValue, Clauses};
use crate::addend::Addend;
use crate::attribute::Attribute;
use crate::attribute_list::OpError;
use crate::form_list::{form_from_list, form_keys};
use crate::reason::Reason;
use std::collections::BTreeMap;
use strait_requantize::{FormKind, Requantization};

impl Parser<'_> {
    pub(super) fn attribute(&mut self) -> Parsed<(String, AttributeValue)> {
        let key = self.text("an attribute's key")?;
        self.mark('=')?;
        let value = match &self.token {
            Token::Global(_) => AttributeValue::Constant(self.global()?),
            Token::Mark('{') => AttributeValue::Plain(Attribute::Form(Box::new(self.form()?))),
            _ => AttributeValue::Plain(self.plain_attribute()?),
        };
        Ok((key, value))
    }

    /// Parses an attribute that is a number, a list of numbers, or a text.
    fn plain_attribute(&mut self) -> Parsed<Attribute> {
        let at = self.at;
        if self.eat_word("f32")? {
            // `f32[]` is an empty list of floats. `f32` without brackets is an element type.
            if !self.eat('[')? {
                return Ok(Attribute::Text("f32".into()));
            }
            self.mark(']')?;
            return Ok(Attribute::Floats(Vec::new()));
        }
        if self.eat('[')? {
            let numbers = self.items(']', |parser| parser.number("a number"))?;
            if numbers.iter().all(Number::is_integer) {
                let integers: Option<Vec<i64>> = numbers.iter().map(Number::integer).collect();
                let Some(integers) = integers else {
                    return Err(at.expected("integers of 64 bits", "a larger one in the list"));
                };
                return Ok(Attribute::Ints(integers));
            }
            let floats: Option<Vec<f32>> = numbers.iter().map(Number::f32).collect();
            return match floats {
                Some(floats) => Ok(Attribute::Floats(floats)),
                None => Err(at.expected("a list of numbers", "one that is not a number")),
            };
        }
        if let Token::Number(number) = &self.token {
            let value = match number.is_integer() {
                true => number.integer().map(Attribute::Int),
                false => number.f32().map(Attribute::Float),
            };
            return self.take("an integer of 64 bits or a float", |_| value);
        }
        self.text("a number, a list, a word, a string, `@constant` or a form")
            .map(Attribute::Text)
    }

    fn form(&mut self) -> Parsed<Requantization> {
        let at = self.at;
        self.mark('{')?;
        let kind = self.one_of("a form", &FormKind::ALL, FormKind::name)?;
        let mut fields: BTreeMap<String, Attribute> = BTreeMap::new();
        while !self.eat('}')? {
            let at = self.at;
            let key = self.word("a field of the form")?;
            let known = form_keys(kind);
            if !known.contains(&key.as_str()) {
                let op = kind.name();
                return Err(at.fault(OpError::UnknownAttribute { op, key, known }));
            }
            self.mark('=')?;
            let value = self.plain_attribute()?;
            if fields.insert(key.clone(), value).is_some() {
                return Err(at.fault(OpError::Twice(key)));
            }
        }
        form_from_list(kind, &mut |key| fields.remove(key)).map_err(|error| at.fault(OpError::Attribute(error)))
    }

    pub(super) fn clauses(&mut self) -> Parsed<Clauses> {
        let mut clauses = Clauses::default();
        loop {
            if self.key("name")? {
                clauses.name = Some(self.text("a name")?);
            } else if self.key("sources")? {
                self.mark('[')?;
                clauses.sources = Some(self.items(']', |parser| parser.text("a name"))?);
            } else if self.key("fused")? {
                clauses.fused = Some(self.form()?);
            } else if self.key("clamp")? {
                clauses.clamp = Some(self.ends()?);
            } else if self.key("addend")? {
                self.mark('[')?;
                let zero = self.integer("the code of real zero")?;
                self.mark(',')?;
                let form = self.form()?;
                self.mark(']')?;
                clauses.addend = Some(Addend { zero, form });
            } else if self.key("host")? {
                self.mark('[')?;
                let code = self.text("the code of the reason")?.into();
                self.mark(',')?;
                let text = self.text("the text of the reason")?;
                self.mark(']')?;
                clauses.host = Some(Reason { code, text });
            } else {
                return match (&clauses.clamp, &clauses.addend, &clauses.fused) {
                    (Some(_), _, None) => self.unexpected("`fused=` in front of or behind `clamp=`"),
                    (_, Some(_), None) => self.unexpected("`fused=` in front of or behind `addend=`"),
                    _ => Ok(clauses),
                };
            }
        }
    }
}
