//! Tests tensors in a second file beside the model's file.

use super::module;
use crate::Model;
use crate::write::{MOST_BYTES, encode};
use strait_core::Module;
use strait_import::{Decoded, ReadOptions};

#[test]
fn large_tensors_are_in_a_second_file_where_one_is_too_small() {
    // Large tensors are in the main graph and in a graph inside of a node.
    let text = "strait 1 float main=@main
graph @then(%v: f32[40,30]) stage=float {
  %r: f32[40,30] = add(%v, @a)
  return %r
}
graph @else(%v: f32[40,30]) stage=float {
  %r: f32[40,30] = mul(%v, @b) {a_zero=0, b_zero=0}
  return %r
}
graph @main(%x: f32[40,30], %c: bool[]) {
  %s: f32[40,30] = add(%x, @a)
  %y: f32[40,30] = if @then, @else(%c, %s)
  return %y
}
data @a: f32[40,30] = random 1
data @b: f32[40,30] = random 2
";
    let module = module(text);
    let written = |most: usize| {
        let encoded = encode(&module, "weights.bin", most).unwrap();
        let (mut model, mut data) = (Vec::new(), Vec::new());
        encoded.write(&mut model).unwrap();
        let has_data = encoded.data().map(|file| file.write(&mut data).unwrap()).is_some();
        (model, has_data.then_some(data))
    };
    let (whole, none) = written(MOST_BYTES);
    assert!(none.is_none());
    let most = whole.len();
    assert_eq!(written(most), (whole, None));
    let (model, data) = written(most - 1);
    let data = data.unwrap();
    // There are three tensors of 4800 bytes, and each begins on a page.
    assert_eq!(data.len(), 2 * 8192 + 4800);
    assert!(model.len() < 2000);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("weights.bin"), data).unwrap();
    let again = Model::decode(model.into(), folder.path())
        .unwrap()
        .read(&ReadOptions::default())
        .unwrap();
    let all = |module: &Module| -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = module.pool().iter().map(|tensor| tensor.bytes().to_vec()).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(all(&again), all(&module));
}
