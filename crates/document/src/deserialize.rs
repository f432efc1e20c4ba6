//! Lets serde read a checked tree directly. The tree is not copied, so even a long document takes no more memory than
//! the tree and the resulting value.

use serde::{
    Deserializer,
    de::{
        IntoDeserializer, Visitor,
        value::{Error, MapAccessDeserializer, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use crate::{Node, Table, Value};

fn map(entries: &Table) -> MapDeserializer<'_, impl Iterator<Item = (&str, &Node)>, Error> {
    MapDeserializer::new(entries.iter().map(|(key, entry)| (key.as_str(), &entry.node)))
}

impl<'de> IntoDeserializer<'de, Error> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.value {
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_borrowed_str(value),
            // The check has refused such values, because no key accepts them.
            Value::Datetime | Value::HugeInteger(_) => visitor.visit_borrowed_str(""),
            Value::List(items) => SeqDeserializer::new(items.iter()).deserialize_any(visitor),
            Value::Table(entries) => map(entries).deserialize_any(visitor),
        }
    }

    /// A key that is in the tree has a value, so this is never `None`.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// A variant without fields is written as a word, and a variant with fields as a table with one key.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.value {
            Value::Text(word) => visitor.visit_enum(word.as_str().into_deserializer()),
            Value::Table(entries) => MapAccessDeserializer::new(map(entries)).deserialize_enum(name, variants, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
