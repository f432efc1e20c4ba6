//! Names the outputs of a simulation for the programs that run it.

use std::collections::BTreeMap;
use strait_core::{Module, Symbol, ValueId};

/// Gives the outputs of a simulation the names that they have in `annotated`. If another value of the simulation has
/// one of these names, that value is renamed. An example of such a value is an output before it is rounded to its grid.
pub fn name_outputs(simulated: &mut Module, annotated: &Module) {
    let main = simulated.main();
    let mut by_name: BTreeMap<Symbol, ValueId> = main.values().map(|(id, value)| (value.name, id)).collect();
    let pairs: Vec<(ValueId, ValueId)> = (main.outputs().iter().copied())
        .zip(annotated.main().outputs().iter().copied())
        .collect();
    for (made, source) in pairs {
        let Some(source) = annotated.main().value(source) else {
            continue;
        };
        let text = annotated.name(source.name);
        let name = simulated.names.intern(text);
        if let Some(other) = by_name.insert(name, made).filter(|other| *other != made) {
            let free = simulated.names.fresh(&format!("{text}_float"));
            simulated.main_mut().rename(other, free);
            by_name.insert(free, other);
        }
        simulated.main_mut().rename(made, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::text::parse;

    fn names(module: &Module) -> Vec<(&str, bool)> {
        let graph = module.main();
        graph
            .values()
            .map(|(id, value)| (module.name(value.name), graph.is_output(id)))
            .collect()
    }

    #[test]
    fn outputs_have_the_names_of_the_model() {
        let annotated = "strait 1 float\ngraph @main(%x: f32[2]) {\n  %y: f32[2] = relu(%x)\n  %z: f32[2] = relu(%y)\n  return %z, %x, %y\n}\n";
        let simulated = "strait 1 float\ngraph @main(%x: f32[2]) {
  %y: f32[2] = relu(%x)
  %y_d: f32[2] = identity(%y)
  %z: f32[2] = relu(%y_d)
  %y_float: f32[2] = identity(%z)
  return %y_float, %x, %y_d
}
";
        let mut simulated = parse(simulated).unwrap();
        name_outputs(&mut simulated, &parse(annotated).unwrap());
        let expected = [
            ("x", true),
            ("y_float_1", false),
            ("y", true),
            ("z_float", false),
            ("z", true),
        ];
        assert_eq!(names(&simulated), expected);
    }
}
