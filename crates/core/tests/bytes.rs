//! IR bytes carry everything that a module has, and nothing that is read from them can do harm.

mod support;

use proptest::prelude::*;
use strait_core::Module;
use strait_core::bytes::{BytesError, decode, encode};
use strait_core::text::{PrintOptions, print};

fn reread(module: &Module) -> Result<Module, BytesError> {
    let encoded = encode(module)?;
    decode(&encoded.ir, &|index| Some(encoded.tensors.get(index)?.bytes().clone()))
}

proptest! {
    #[test]
    fn a_module_comes_back_as_it_was(choices in prop::collection::vec(any::<u32>(), 0..400)) {
        let module = support::module(&choices);
        let again = reread(&module).unwrap();
        let text = |m: &Module| print(m, &PrintOptions::whole());
        prop_assert_eq!(text(&again), text(&module));
        // Once more, and nothing changes.
        let (first, second) = (encode(&again).unwrap(), encode(&reread(&again).unwrap()).unwrap());
        prop_assert_eq!(first.ir, second.ir);
        prop_assert_eq!(first.tensors, second.tensors);
    }
}
