//! Writes values as TOML.

use serde_json::Value as Json;

/// The value as it would be written after `KEY =`.
pub fn as_toml(value: &Json) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Json::Array(items) => format!("[{}]", joined(items.iter().map(as_toml).collect())),
        Json::Object(keys) if keys.is_empty() => "{}".to_owned(),
        Json::Object(keys) => {
            let pair = |(key, value): (&String, &Json)| {
                let path = strait_document::KeyPath::of(&[key]);
                format!("{path} = {}", as_toml(value))
            };
            format!("{{ {} }}", joined(keys.iter().map(pair).collect()))
        }
        // Strings of JSON are strings of TOML, and so are numbers and truth values.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_as_the_same_value() {
        let value = json!({ "a b": ["x\n\"y\"", 1, 0.5, true], "c": {}, "d": { "e": [] } });
        let read: toml::Table = toml::from_str(&format!("value = {}", as_toml(&value))).unwrap();
        assert_eq!(serde_json::to_value(&read["value"]).unwrap(), value);
    }
}
