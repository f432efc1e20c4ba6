//! Tests that the text form preserves everything that a module has.

use crate::support;

use proptest::prelude::*;
use strait_core::text::{PrintOptions, parse, parse_beside, print, to_dot, to_json};
use strait_core::verifier::verify;

proptest! {
    #[test]
    fn printing_what_was_read_gives_the_same_text(choices in prop::collection::vec(any::<u32>(), 0..400)) {
        let module = support::module(&choices);
        verify(&module).unwrap();
        let text = print(&module, &PrintOptions::whole());
        let again = parse(&text).unwrap();
        prop_assert_eq!(verify(&again), Ok(()));
        prop_assert_eq!(&print(&again, &PrintOptions::whole()), &text);
        // JSON and DOT are made from the same lists of attributes, so they are equal for equal modules.
        prop_assert_eq!(to_json(&again)["graphs"].clone(), to_json(&module)["graphs"].clone());
        to_dot(&again);
        // A blob is identified by its position in the pool of the module that was printed.
        let short = print(&module, &PrintOptions::default());
        let beside = parse_beside(&short, module.pool()).unwrap();
        prop_assert_eq!(print(&beside, &PrintOptions::whole()), text);
    }
}
