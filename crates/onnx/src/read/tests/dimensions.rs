//! Tests extents that are not numbers: how they are bound, how the batch is found, and what outputs declare about their
//! extents.

use super::make::*;
use super::*;

#[test]
fn dimensions_are_bound_by_name_or_by_place() {
    let nodes = vec![node("y = Relu(x)", vec![])];
    let of = || {
        model(
            13,
            graph(&["x: f32[batch,3,?]"], vec![], nodes.clone(), &["y: f32[batch,3,?]"]),
        )
    };
    let free = free_dimensions(&read(&of()).unwrap());
    let keys: Vec<_> = free.iter().map(|f| (f.axis, f.name.as_str())).collect();
    assert_eq!(keys, [(0, "batch"), (2, "x.2")]);
    let bound = read_with(&of(), &options(&[("batch", 2), ("x.2", 7)], &[], &[])).unwrap();
    assert_eq!(summary(&bound), "relu -> f32[2,3,7]");
    let refused = |bind: &[(&str, u64)]| read_with(&of(), &options(bind, &[], &[])).unwrap_err().to_string();
    assert_eq!(
        refused(&[("bacth", 1)]),
        "dimension `bacth` is not in the model; the nearest names are `batch`, `x.0`, `x.2`"
    );
    // The extent 0 is allowed: a past without steps.
    let nothing = graph(&["x: f32[past,2]"], vec![], vec![node("y = Relu(x)", vec![])], &["y"]);
    let nothing = read_with(&model(13, nothing), &options(&[("past", 0)], &[], &[])).unwrap();
    assert_eq!(summary(&nothing), "relu -> f32[0,2]");
}

#[test]
fn shapes_that_outputs_declare_otherwise_are_told_and_not_taken() {
    let of = |output: &str, bind: &[(&str, u64)]| {
        let relu = node("y = Relu(x)", vec![]);
        let model = model(13, graph(&["x: f32[N,2]"], vec![], vec![relu], &[output]));
        let (module, assumed) = decoded(&model).read_single(&options(bind, &[], &[])).unwrap();
        (
            summary(&module).rsplit_once("-> ").unwrap().1.to_owned(),
            assumed.misstated,
        )
    };
    for (output, bind, expected) in [
        ("y: f32[N,2]", &[][..], None),
        ("y: f32[other,2]", &[], None),
        (
            "y: f32[N,3]",
            &[],
            Some("output `y`: its dimension 1 is declared as 3, but is 2"),
        ),
        (
            "y: f32[2]",
            &[],
            Some("output `y`: it is declared with rank 1, but has 2"),
        ),
        // The output declares a batch that the binding contradicts.
        (
            "y: f32[1,2]",
            &[("N", 4)],
            Some("output `y`: its dimension 0 is declared as 1, but is 4"),
        ),
    ] {
        let (shape, told) = of(output, bind);
        assert_eq!(told.first().map(String::as_str), expected, "{output}");
        assert_eq!(shape, if bind.is_empty() { "f32[1,2]" } else { "f32[4,2]" });
    }
}

#[test]
fn dimensions_are_bound_apart_by_input_and_axis() {
    let of = |inputs: &[&str], bind: &[(&str, u64)]| {
        let names: Vec<&str> = inputs.iter().map(|input| input.split(':').next().unwrap()).collect();
        let nodes = names
            .iter()
            .map(|name| node(&format!("{name}_ = Relu({name})"), vec![]));
        let outputs: Vec<String> = names.iter().map(|name| format!("{name}_")).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let model = model(13, graph(inputs, vec![], nodes.collect(), &outputs));
        let module = read_with(&model, &options(bind, &[], &[])).map_err(|error| error.to_string())?;
        Ok::<_, String>(summary(&module).rsplit_once("-> ").unwrap().1.to_owned())
    };
    for (inputs, bind, expected) in [
        (
            &["x: f32[?,3,?,?]"][..],
            &[("x.0", 1), ("x.2", 48), ("x.3", 320)][..],
            "f32[1,3,48,320]",
        ),
        // Several dimensions have the same name.
        (
            &["x: f32[N,3,any,any]"],
            &[("x.2", 48), ("any", 320)],
            "f32[N,3,48,320]",
        ),
        (&["x: f32[any]", "y: f32[any]"], &[("y.0", 7)], "f32[any] f32[7]"),
        // A name that looks like a tensor with an axis is the name of a dimension.
        (&["x: f32[H,x.0]"], &[("x.0", 5)], "f32[H,5]"),
        (&["x: f32[H,2]"], &[("x.0", 5), ("H", 5)], "f32[5,2]"),
    ] {
        assert_eq!(of(inputs, bind).as_deref(), Ok(expected), "{inputs:?}, {bind:?}");
    }
    for (inputs, bind, expected) in [
        (
            &["x: f32[?,x.0]"][..],
            &[("x.0", 5)][..],
            "`x.0` is the name of a dimension, and also axis 0 of `x`, which has no name",
        ),
        (
            &["x: f32[H,2]"],
            &[("x.0", 5), ("H", 4)],
            "axis 0 of `x` is bound twice: `H` to 4, and `x.0` to 5",
        ),
        (&["x: f32[?,2]"], &[("x.1", 5)], "dimension `x.1` is not in the model"),
    ] {
        let error = of(inputs, bind).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_first_dimension_of_every_input_is_the_batch() {
    let of = |inputs: &[&str], bind: &[(&str, u64)]| {
        let names: Vec<&str> = inputs.iter().map(|input| input.split(':').next().unwrap()).collect();
        let relu = |name: &&str| node(&format!("{name}_ = Relu({name})"), vec![]);
        // The declared shape of the output stays true, under whatever name.
        let output = |(name, input): (&&str, &&str)| format!("{name}_:{}", input.split(':').next_back().unwrap());
        let outputs: Vec<String> = names.iter().zip(inputs).map(output).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let model = model(13, graph(inputs, vec![], names.iter().map(relu).collect(), &outputs));
        let (module, assumed) = decoded(&model).read_single(&options(bind, &[], &[])).unwrap();
        verify(&module).unwrap();
        let bound: Vec<String> = assumed.batch.into_iter().map(|free| free.name).collect();
        format!("{}:{}", bound.join(" "), summary(&module).rsplit_once("->").unwrap().1)
    };
    for (inputs, bind, expected) in [
        (&["x: f32[N,3]"][..], &[][..], "N: f32[1,3]"),
        (&["x: f32[N,3]", "y: f32[N,7]"], &[], "N N: f32[1,3] f32[1,7]"),
        // The batch as tf2onnx and others write it: without a name, or with a different name for each input.
        (&["x: f32[?,3]"], &[], "x.0: f32[1,3]"),
        (&["x: f32[?,3]", "y: f32[a,7]"], &[], "x.0 a: f32[1,3] f32[1,7]"),
        (&["x: f32[N,S]"], &[("S", 5)], "N: f32[1,5]"),
        // A dimension that the caller binds keeps that number.
        (&["x: f32[N,3]"], &[("N", 4)], ": f32[4,3]"),
        (&["x: f32[a,3]", "y: f32[b,3]"], &[("a", 4)], ": f32[4,3] f32[b,3]"),
        (&["x: f32[a,3]", "y: f32[b,3]"], &[("a", 1)], "b: f32[1,3] f32[1,3]"),
        // These dimensions are no batch: they are not the first of every input, or they are also another axis.
        (&["x: f32[N,3]", "y: f32[2,N]"], &[], ": f32[N,3] f32[2,N]"),
        (&["x: f32[N,N]"], &[], ": f32[N,N]"),
        (&["x: f32[3,N]"], &[], ": f32[3,N]"),
        (&["x: f32[N]", "y: f32[]"], &[], ": f32[N] f32[]"),
    ] {
        assert_eq!(of(inputs, bind), expected, "{inputs:?}, {bind:?}");
    }
}

#[test]
fn the_batch_is_the_axis_that_the_options_name() {
    let inputs = &["x: f32[T,N,3]", "anchors: f32[7,4]"];
    let nodes = vec![node("y = Relu(x)", vec![]), node("z = Relu(anchors)", vec![])];
    let model = decoded(&model(13, graph(inputs, vec![], nodes, &["y", "z"])));
    let batch = |axes: &[(&str, Option<usize>)]| {
        let (module, assumed) = model
            .read_single(&ReadOptions {
                batch: axes.iter().map(|&(name, axis)| (name.to_owned(), axis)).collect(),
                ..options(&[("T", 5)], &[], &[])
            })
            .unwrap();
        let bound: Vec<(usize, String)> = assumed.batch.into_iter().map(|free| (free.axis, free.name)).collect();
        (bound, summary(&module).rsplit_once("-> ").unwrap().1.to_owned())
    };
    assert_eq!(batch(&[]), (vec![], "f32[5,N,3] f32[7,4]".to_owned()));
    assert_eq!(
        batch(&[("x", Some(1)), ("anchors", None)]),
        (vec![(1, "N".to_owned())], "f32[5,1,3] f32[7,4]".to_owned())
    );
    // Without its own axis, or behind the last one, there is no batch.
    assert_eq!(batch(&[("x", Some(1))]).0, []);
    assert_eq!(batch(&[("x", Some(3)), ("anchors", None)]).0, []);
}

#[test]
fn the_batch_of_a_model_with_constants_and_cuts_is_that_of_its_inputs() {
    // The weight is listed as an input, which files of IR version 3 require.
    let nodes = vec![
        node("a = Mul(x, w)", vec![]),
        node("b = Concat(a, a)", vec![int("axis", 1)]),
        node("y = Relu(b)", vec![]),
    ];
    let mut graph = graph(&["x: f32[N,2]", "w: f32[2]"], vec![weight("w", &[2])], nodes, &["y"]);
    graph.value_info = vec![value("a: f32[M,2]")];
    let model = decoded(&model(13, graph));
    for (inputs, expected) in [
        (&[][..], "N -> f32[1,4]"),
        // The shape of the cut tensor is declared, so its dimension has its own name.
        (&["a"], "M -> f32[1,4]"),
        // The shape of the cut tensor is not declared, so it follows from the model's input.
        (&["b"], "N -> f32[1,4]"),
    ] {
        let (module, assumed) = model.read_single(&options(&[], inputs, &[])).unwrap();
        let text = summary(&module);
        let ty = text.rsplit_once("-> ").unwrap().1;
        assert_eq!(format!("{} -> {ty}", assumed.batch[0].name), expected, "{inputs:?}");
        assert_eq!(assumed.batch.len(), 1);
    }
}
