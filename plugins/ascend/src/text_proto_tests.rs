//! Texts that are of the format, and texts that are not.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

/// The message in one line: strings in quotes, numbers and words as they are.
fn plain(message: &Message<'_>) -> String {
    let fields = message.fields.iter().map(|field| match &field.value {
        Value::Text(text) => format!("{}={text:?}", field.name),
        Value::Number(text) => format!("{}={text}", field.name),
        Value::Word(text) => format!("{}=`{text}`", field.name),
        Value::Message(message) => format!("{}({})", field.name, plain(message)),
    });
    fields.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_spelling_of_the_format_is_read() {
    for (text, expected) in [
        ("", ""),
        ("\u{feff}# only a comment", ""),
        ("a: 1", "a=1"),
        ("a:1,b:2;c:3 d:4", "a=1 b=2 c=3 d=4"),
        ("a { b: -1.5e-3 # why\n c: TRUE }", "a(b=-1.5e-3 c=`TRUE`)"),
        ("a: { } a <b: inf c:-nan>", "a() a(b=`inf` c=`-nan`)"),
        ("a: [1, 2] a: [] a: [{b: 3}, <>]", "a=1 a=2 a(b=3) a()"),
        ("a: 'x\"' \"y\\n\\x41\\101\\u00e4\"", "a=\"x\\\"y\\nAAä\""),
        ("a: \"\\303\\244\"", "a=\"ä\""),
        ("a: 0x1F b: .5f c: 1e+5", "a=0x1F b=.5f c=1e+5"),
        ("a\n:\n1", "a=1"),
    ] {
        assert_eq!(plain(&parse(text).unwrap()), expected, "{text}");
    }
}

#[test]
fn a_fault_says_where_it_is() {
    for (text, at, message) in [
        ("a 1", 2..3, "behind `a` stands `:` or `{`"),
        ("a: {b: 1", 3..4, "no `}` closes this message"),
        ("a: 1 }", 5..6, "the name of a field stands here"),
        ("[a.b]: 1", 0..1, "the name of a field stands here"),
        ("a: 'x\ny'", 3..4, "no ' closes this string"),
        ("a: '\\q'", 4..6, "there is no such escape"),
        ("a: '\\400'", 4..8, "there is no such escape"),
        ("a: '\\xff'", 3..9, "this string is no UTF-8"),
        ("a: [1 2]", 6..7, "in the list of `a` stands `,` or `]` here"),
        ("a: -word", 3..8, "a value of `a` stands here"),
        ("a: ", 3..4, "a value of `a` stands here"),
    ] {
        assert_eq!(parse(text), Err(TextError::new(at, message)), "{text}");
    }
}

#[test]
fn depth_and_length_have_an_end() {
    let deep = |levels: usize| format!("{}{}", "a{".repeat(levels), "}".repeat(levels));
    assert!(parse(&deep(MOST_LEVELS)).is_ok());
    let refused = parse(&deep(100_000)).unwrap_err();
    assert_eq!(refused.message, "messages stand in each other more than 16 deep");
    assert!(parse(&" ".repeat(MOST_BYTES + 1)).is_err());
    let many = format!("a: [{}0]", "0,".repeat(MOST_FIELDS));
    assert_eq!(
        parse(&many).unwrap_err().message,
        "the text has more than 524288 fields"
    );
}

#[test]
fn a_cut_or_changed_text_is_an_answer_and_no_panic() {
    let text = "record { key: \"a\\303\\244/ä\" value: { scale_d: 1.5e-3 scale_w: [1, -2.0f] ok: true } } # ä";
    for end in 0..=text.len() {
        let _ = text.get(..end).map(parse);
        for byte in ["\"", "\\", "{", "}", "[", "-", "ä", "\0"] {
            if let (Some(front), Some(back)) = (text.get(..end), text.get(end..)) {
                let _ = parse(&format!("{front}{byte}{back}"));
            }
        }
    }
}

#[test]
fn values_are_read_as_what_they_should_be() {
    let text = "a: 0x7f b: 017 c: -9223372036854775808 d: 9223372036854775808 e: 0.1f f: inf g: true h: 0 i: 'x' j {}";
    let message = parse(text).unwrap();
    let field = |name: &str| message.one(name).unwrap().unwrap();
    assert_eq!(
        ["a", "b", "c"].map(|name| field(name).integer().unwrap()),
        [127, 15, i64::MIN]
    );
    assert_eq!(
        field("d").integer().unwrap_err().message,
        "`d` is an integer, and this is the number 9223372036854775808"
    );
    assert_eq!(
        ["e", "f", "h"].map(|name| field(name).float().unwrap()),
        [0.1, f32::INFINITY, 0.0]
    );
    assert_eq!(field("e").integer().unwrap_err().at, 62..63);
    assert_eq!(["g", "h"].map(|name| field(name).boolean().unwrap()), [true, false]);
    assert_eq!((field("i").text().unwrap(), field("g").word().unwrap()), ("x", "true"));
    assert!(field("j").message().unwrap().fields.is_empty());
    assert!(field("a").float().is_err() && field("i").float().is_err() && field("j").text().is_err());
    assert!(field("i").word().is_err() && field("i").boolean().is_err() && field("i").message().is_err());
}

#[test]
fn a_field_stands_once_and_has_a_name_that_there_is() {
    let message = parse("scale_d: 1\nscale_d: 2 ofset_d: 3").unwrap();
    assert_eq!(
        message.one("scale_d"),
        Err(TextError::new(11..18, "`scale_d` is here a second time"))
    );
    assert_eq!(message.one("scale_w"), Ok(None));
    assert_eq!(message.all("scale_d").count(), 2);
    let unknown = message.only(&["scale_d", "offset_d", "scale_w"]).unwrap_err();
    assert_eq!(
        unknown,
        TextError::new(22..29, "there is no field `ofset_d`; did you mean `offset_d`?")
    );
    let other = parse("zzz: 1").unwrap().only(&["a", "b"]).unwrap_err();
    assert_eq!(other.message, "there is no field `zzz`; there are `a`, `b`");
    assert_eq!(message.only(&["scale_d", "ofset_d"]), Ok(()));
}
