#!/usr/bin/env python3
"""Write the graphs of `tests/tensorflow_rules.rs`: one for each rule and variant, with TensorFlow's own results.

`make_graphs.py FOLDER` needs TensorFlow 2.15.1, whose Keras still writes batch normalization as single operations. Each case is
frozen twice: NAME.1.pb by `convert_variables_to_constants` from a graph of TensorFlow 1, whose variables are references, and
NAME.2.pb by `convert_variables_to_constants_v2` from a function of TensorFlow 2. `arrays.npz` has NAME, the result that both graphs
give, and the operand, which all graphs for one of its shape share, as x_ and the extents. The seed of a case is its name, so the same
files come out each time.
"""

import argparse
import os
import zlib
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.grappler import tf_optimizer

VERSION = "2.15.1"
ROWS, COLUMNS, INPUTS, OUTPUTS = 3, 4, 2, 4
IMAGE = (1, ROWS, COLUMNS, INPUTS)
VOLUME = (1, 2, 3, 4, 2)


class Parts:
    """The variables and layers of a case, in the order in which its function asks for them, and anew in the same order for each
    graph."""

    def __init__(self, name, resources):
        self.resources, self.made, self.next = resources, [], 0
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def again(self):
        self.next = 0

    def part(self, make):
        if self.next == len(self.made):
            self.made.append(make())
        self.next += 1
        return self.made[self.next - 1]

    def values(self, shape, positive=False):
        values = self.random.uniform(0.5, 1.5, shape) if positive else self.random.uniform(-1, 1, shape)
        return values.astype(np.float32)

    def variable(self, *shape, positive=False):
        def make():
            value = self.values(shape, positive)
            with tf.init_scope() if self.resources else tf.name_scope("parameters"):
                return tf.compat.v1.Variable(value, use_resource=self.resources, trainable=False)

        return self.part(make)

    def layer(self, make, x, **options):
        """What a layer of Keras makes of x, with parameters from the same generator."""
        layer = self.part(make)
        y = layer(x, **options)
        return y

    def constant(self, *shape):
        return tf.constant(self.part(lambda: self.values(shape)))

    def normalization(self, channels):
        """Scale, offset, mean and variance."""
        scale = self.variable(channels, positive=True)
        offset, mean = self.variable(channels), self.variable(channels)
        return scale, offset, mean, self.variable(channels, positive=True)

    def layers(self):
        return [part for part in self.made if isinstance(part, tf.keras.layers.Layer)]


# Building blocks: `p` are the parts of a case, `x` is a tensor.


def channels(x):
    return x.shape[-1]


def conv2d(p, x, outputs=OUTPUTS, padding="SAME", strides=1, size=3, groups=1):
    weight = p.variable(size, size, channels(x) // groups, outputs)
    return tf.nn.conv2d(x, weight, strides=strides, padding=padding)


def conv3d(p, x, outputs=OUTPUTS):
    return tf.nn.conv3d(x, p.variable(2, 1, 3, channels(x), outputs), strides=[1] * 5, padding="SAME")


def conv1d(p, x, outputs=OUTPUTS):
    return tf.nn.conv1d(x, p.variable(3, channels(x), outputs), stride=1, padding="SAME")


def depthwise(p, x, multiplier=1):
    return tf.nn.depthwise_conv2d(x, p.variable(3, 3, channels(x), multiplier), [1] * 4, "SAME")


def transposed(p, x, outputs=OUTPUTS):
    weight = p.variable(3, 3, outputs, channels(x))
    shape = [1, 2 * x.shape[1], 2 * x.shape[2], outputs]
    return tf.nn.conv2d_transpose(x, weight, shape, strides=2, padding="SAME")


def transposed3d(p, x, outputs=OUTPUTS):
    weight = p.variable(2, 1, 2, outputs, channels(x))
    shape = [1, *(2 * extent for extent in x.shape[1:4]), outputs]
    return tf.nn.conv3d_transpose(x, weight, shape, strides=2, padding="SAME")


def matmul(p, x, outputs=OUTPUTS):
    return tf.matmul(x, p.variable(channels(x), outputs))


def batch_matmul(p, x, outputs=OUTPUTS):
    return tf.raw_ops.BatchMatMulV2(x=x, y=p.variable(channels(x), outputs))


def bias(p, x):
    return tf.nn.bias_add(x, p.variable(channels(x)))


def fused(p, x, data_format="NHWC"):
    count = x.shape[1] if data_format == "NCHW" else channels(x)
    scale, offset, mean, variance = p.normalization(count)
    return tf.compat.v1.nn.fused_batch_norm(
        x, scale, offset, mean, variance, epsilon=1e-3, data_format=data_format, is_training=False
    )[0]


def spelled_out(p, x, scale=True, center=True):
    """`tf.nn.batch_normalization`."""
    scales, offsets, mean, variance = p.normalization(channels(x))
    return tf.nn.batch_normalization(x, mean, variance, offsets if center else None, scales if scale else None, 1e-3)


def keras_normalization(p, x, scale=True, center=True):
    make = lambda: tf.keras.layers.BatchNormalization(scale=scale, center=center, fused=False)
    return p.layer(make, x, training=False)


def then(*blocks):
    """One block behind the other."""

    def function(p, x):
        for block in blocks:
            x = block(p, x)
        return x

    return function


def by(number):
    return lambda p, x: x * tf.constant(np.float32(number))


def by_channels(p, x):
    return x * p.constant(channels(x))


def plus(*shape):
    return lambda p, x: x + p.constant(*shape)


def relu(p, x):
    return tf.nn.relu(x)


def identity(p, x):
    return tf.identity(x)


def used_twice(block, second):
    """The result of `block` is read by `second`, and once more."""

    def function(p, x):
        y = block(p, x)
        return tf.concat([second(p, y), y], -1)

    return function


def to_blocks(size, pads):
    return lambda p, x: tf.space_to_batch(x, size, pads)


def from_blocks(size, crops):
    return lambda p, x: tf.batch_to_space(x, size, crops)


def branches(*blocks, form="Split"):
    """The channels are split, each part goes through a block of its own, and the results stand beside each other."""

    def function(p, x):
        count = len(blocks)
        each = channels(x) // count
        sizes = [each] * count
        if form == "SplitV":
            parts = tf.raw_ops.SplitV(value=x, size_splits=sizes, axis=-1, num_split=count)
        else:
            parts = tf.split(x, count, -1)
        made = [block(p, part) for block, part in zip(blocks, parts)]
        if form == "Concat":
            return tf.raw_ops.Concat(concat_dim=len(x.shape) - 1, values=made)
        return tf.concat(made, -1)

    return function


def reshaped_normalization(data_format, dynamic):
    """A batch normalization of rank 4 between two reshapes, as that of a matrix is written where only fused ones are."""

    def function(p, x):
        count = channels(x)
        ones = [1, 1, count] if data_format == "NHWC" else [count, 1, 1]
        rows = tf.shape(x)[0] if dynamic else x.shape[0]
        y = fused(p, tf.reshape(x, [rows, *ones]), data_format)
        return tf.reshape(y, tf.shape(x) if dynamic else x.shape)

    return function


def of_images(p, x):
    """Rows of a matrix as positions of an image, a batch normalization of that, and rows again."""
    rows, count = x.shape
    return tf.reshape(fused(p, tf.reshape(x, [1, 2, rows // 2, count])), [rows, count])


def casts(p, x):
    """As layers of two precisions write it: casts to what a number is, and identities, between the parts."""
    scale, offset, mean, variance = (tf.identity(part) for part in p.normalization(channels(x)))
    factor = tf.raw_ops.Cast(x=tf.math.rsqrt(variance + 1e-3) * scale, DstT=tf.float32)
    product = tf.identity(x * factor)
    summand = tf.raw_ops.Cast(x=offset - mean * factor, DstT=tf.float32)
    return tf.identity(product) + summand


def on_placeholder(p, x):
    """What is added is a constant times a mean of the operand."""
    return conv2d(p, x) + tf.reduce_mean(x) * p.constant(OUTPUTS)


def transposed_weight(p, x):
    return tf.matmul(x, p.variable(OUTPUTS, channels(x)), transpose_b=True)


def padded_conv(p, x):
    return conv2d(p, tf.pad(x, [[0, 0], [1, 1], [2, 1], [0, 0]]), padding="VALID")


def without_summand(p, x):
    """A batch normalization that leaves 0 what it is."""
    scale, _, _, variance = p.normalization(channels(x))
    none = tf.zeros_like(scale)
    return tf.compat.v1.nn.fused_batch_norm(x, scale, none, none, variance, epsilon=1e-3, is_training=False)[0]


def infinite(p, x):
    """The factor of one channel is finite, and so is what it makes of the small results, but not of the weights."""
    weight = tf.constant(p.part(lambda: 4 + p.values([3, 3, INPUTS, OUTPUTS])))
    y = tf.nn.conv2d(tf.nn.relu(x * tf.constant(np.float32(1e-30))), weight, 1, "SAME")
    return y * tf.constant(np.float32([1, 3e38, 1, 1]))


def keras_dense(p, x):
    return p.layer(lambda: tf.keras.layers.Dense(OUTPUTS), x)


def keras_conv(make):
    return lambda p, x: p.layer(make, x)


def dropout(p, x):
    return p.layer(lambda: tf.keras.layers.Dropout(0.5), x, training=False)


def cases():
    """Name, function, shape of the operand; a first extent of None is free in the graph and 2 in the arrays."""
    rows = (4, 5)
    free = (None, 5)
    deep = (1, ROWS, COLUMNS, 4)
    line = (1, 7, INPUTS)
    blocks = (1, 6, 6, INPUTS)
    none = [[0, 0], [0, 0]]
    # Normalizations behind what computes.
    yield "conv2d_bn", then(conv2d, fused), IMAGE
    yield "conv2d_bias_bn_relu", then(conv2d, bias, fused, relu), IMAGE
    yield "conv3d_bn", then(conv3d, spelled_out), VOLUME
    yield "conv3d_bias_bn", then(conv3d, bias, spelled_out), VOLUME
    yield "conv1d_bn", then(conv1d, spelled_out), line
    yield "conv1d_bias_bn", then(conv1d, bias, spelled_out), line
    yield "depthwise_bn", then(depthwise, fused), IMAGE
    yield "depthwise_of_two_bn", then(lambda p, x: depthwise(p, x, 2), bias, fused), IMAGE
    yield "transposed_bn", then(transposed, fused), IMAGE
    yield "transposed_bias_bn", then(transposed, bias, fused), IMAGE
    yield "transposed3d_bn", then(transposed3d, spelled_out), VOLUME
    yield "grouped_bn", then(lambda p, x: conv2d(p, x, groups=2), fused), deep
    yield "conv2d_bn_used_twice", used_twice(conv2d, fused), IMAGE
    yield "conv2d_identity_dropout_bn", then(conv2d, identity, dropout, fused), IMAGE
    # Normalizations in front.
    yield "bn_conv2d_valid", then(relu, fused, lambda p, x: conv2d(p, x, padding="VALID")), IMAGE
    yield "bn_conv2d_same", then(relu, fused, conv2d), IMAGE
    yield "bn_without_summand_conv2d_same", then(relu, without_summand, conv2d), IMAGE
    yield "bn_pad_conv2d", then(relu, fused, padded_conv), IMAGE
    yield "bn_mul_add_conv2d_valid", then(relu, fused, by_channels, plus(INPUTS), lambda p, x: conv2d(p, x, padding="VALID")), IMAGE
    # Products and sums with constants behind normalizations.
    yield "conv2d_bn_mul", then(conv2d, fused, by_channels), IMAGE
    yield "conv2d_bn_add", then(conv2d, fused, plus(OUTPUTS)), IMAGE
    yield "conv2d_bn_mul_add", then(conv2d, fused, by_channels, plus(OUTPUTS)), IMAGE
    yield "bn_mul_add", then(relu, fused, by_channels, plus(INPUTS)), IMAGE
    yield "bn_mul", then(relu, fused, by(0.5)), IMAGE
    yield "bn_add", then(relu, fused, plus()), IMAGE
    yield "matmul_bn_mul_add", then(matmul, bias, spelled_out, by_channels, plus(OUTPUTS)), rows
    # Blocks.
    dilated = lambda block: then(to_blocks([2, 2], [[2, 2], [2, 2]]), block, from_blocks([2, 2], none))
    valid = lambda p, x: conv2d(p, x, padding="VALID")
    yield "blocks_dilated_bn", then(dilated(valid), fused), blocks
    yield "blocks_dilated_bias_bn", then(dilated(valid), bias, fused), blocks
    yield "blocks_back_bn", then(conv2d, from_blocks([2, 2], none), fused), (4, 2, 3, INPUTS)
    yield "blocks_back_cropped_bn", then(conv2d, from_blocks([2, 2], [[1, 0], [0, 2]]), fused), (4, 2, 3, INPUTS)
    yield "blocks_back_spelled_out_bn", then(conv2d, from_blocks([2, 2], [[1, 1], [0, 1]]), spelled_out), (4, 2, 3, INPUTS)
    # One factor for all channels, and one for each.
    ops = [
        ("conv2d", conv2d, IMAGE),
        ("conv3d", conv3d, VOLUME),
        ("depthwise", depthwise, IMAGE),
        ("transposed", transposed, IMAGE),
        ("matmul", matmul, rows),
    ]
    for name, op, shape in ops:
        yield f"{name}_mul", then(op, by(0.75)), shape
        yield f"{name}_bias_mul", then(op, bias, by(-1.25)), shape
    yield "conv2d_mul_by_channel", then(conv2d, bias, by_channels), IMAGE
    yield "conv2d_mul_by_position", then(conv2d, bias, lambda p, x: x * p.constant(COLUMNS, 1)), IMAGE
    yield "conv2d_mul_infinite", infinite, IMAGE
    # Sums with constants.
    shapes = [
        ("conv2d", conv2d, IMAGE, [(), (OUTPUTS,), (1, 1, 1, OUTPUTS)]),
        ("conv3d", conv3d, VOLUME, [(), (OUTPUTS,), (1, 1, 1, 1, OUTPUTS)]),
        ("depthwise", depthwise, IMAGE, [(), (INPUTS,), (1, 1, 1, INPUTS)]),
        ("transposed", transposed, IMAGE, [(), (OUTPUTS,), (1, 1, 1, OUTPUTS)]),
        ("matmul", matmul, rows, [(OUTPUTS,), (1, OUTPUTS)]),
        ("batch_matmul", batch_matmul, (2, 4, 5), [(), (OUTPUTS,), (1, 1, OUTPUTS)]),
    ]
    for name, op, shape, constants in shapes:
        for constant in constants:
            yield f"{name}_add_{len(constant)}d", then(op, plus(*constant)), shape
    yield "conv2d_old_add", then(conv2d, lambda p, x: tf.raw_ops.Add(x=x, y=p.constant(OUTPUTS))), IMAGE
    yield "conv2d_add_by_position", then(conv2d, plus(COLUMNS, OUTPUTS)), IMAGE
    yield "conv2d_add_on_placeholder", on_placeholder, IMAGE
    yield "conv2d_add_used_twice", used_twice(conv2d, plus(OUTPUTS)), IMAGE
    # Branches.
    branch = then(conv2d, bias)
    narrow = lambda outputs, size: lambda p, x: conv2d(p, x, outputs, size=size)
    yield "split_conv2d_concat", branches(conv2d, conv2d), deep
    yield "split_conv2d_bias_concat", branches(branch, branch), deep
    yield "splitv_conv2d_old_concat", branches(branch, branch, form="SplitV"), deep
    yield "split_conv2d_old_concat", branches(conv2d, conv2d, form="Concat"), deep
    yield "split_conv2d_concat_bn", then(branches(branch, branch), fused), deep
    yield "split_conv3d_concat_bn", then(branches(conv3d, conv3d), spelled_out), (1, 2, 3, 4, 4)
    yield "split_unlike_concat", branches(narrow(2, 1), narrow(3, 3)), deep
    yield "split_unlike_concat_bn", then(branches(narrow(2, 1), narrow(3, 3)), fused), deep
    yield "split_unlike_concat_spelled_out_bn", then(branches(narrow(2, 1), then(narrow(3, 3), bias)), spelled_out), deep
    yield "split_unlike_concat_bn_used_twice", used_twice(branches(narrow(2, 1), narrow(3, 3)), fused), deep
    yield "split_one_without_conv_concat_bn", then(branches(conv2d, relu), fused), deep
    # Products of matrices with a normalization of rank 4.
    for with_bias in [False, True]:
        for data_format in ["NHWC", "NCHW"]:
            for dynamic in [False, True]:
                name = f"matmul_{'bias_' if with_bias else ''}reshape_{'dynamic_' if dynamic else ''}bn_{data_format.lower()}"
                blocks_ = [matmul, *([bias] if with_bias else []), reshaped_normalization(data_format, dynamic)]
                yield name, then(*blocks_), free if dynamic else rows
    yield "matmul_reshape_image_bn", then(matmul, of_images), rows
    # Normalizations in single operations.
    for scale in [True, False]:
        for center in [True, False]:
            words = f"{'scale' if scale else 'no_scale'}_{'center' if center else 'no_center'}"
            keras = lambda p, x, scale=scale, center=center: keras_normalization(p, x, scale, center)
            plain = lambda p, x, scale=scale, center=center: spelled_out(p, x, scale, center)
            conv = keras_conv(lambda: tf.keras.layers.Conv2D(OUTPUTS, 3, use_bias=False))
            yield f"keras_conv2d_{words}", then(conv, keras), IMAGE
            conv = keras_conv(lambda: tf.keras.layers.Conv3D(OUTPUTS, 2))
            yield f"keras_conv3d_{words}", then(conv, keras), VOLUME
            yield f"keras_dense_{words}", then(keras_dense, keras), free
            yield f"nn_conv2d_{words}", then(conv2d, bias, plain), IMAGE
    yield "keras_fused", then(keras_conv(lambda: tf.keras.layers.Conv2D(OUTPUTS, 3)), lambda p, x: p.layer(tf.keras.layers.BatchNormalization, x, training=False)), IMAGE
    yield "keras_depthwise_bn", then(keras_conv(lambda: tf.keras.layers.DepthwiseConv2D(3)), keras_normalization), IMAGE
    yield "keras_transposed_bn", then(keras_conv(lambda: tf.keras.layers.Conv2DTranspose(OUTPUTS, 3, 2)), keras_normalization), IMAGE
    yield "keras_dilated_bn", then(keras_conv(lambda: tf.keras.layers.Conv2D(OUTPUTS, 3, dilation_rate=2)), keras_normalization), blocks
    yield "keras_conv1d_bn", then(keras_conv(lambda: tf.keras.layers.Conv1D(OUTPUTS, 3, padding="causal")), keras_normalization), line
    yield "casts_bn", then(conv2d, casts), IMAGE
    yield "folded_bn", then(conv2d, bias, spelled_out), IMAGE
    yield "lone_bn", then(relu, spelled_out), IMAGE
    # Transposed weights.
    yield "matmul_transposed_weight", then(transposed_weight, bias), rows


# Cases whose graphs go through TensorFlow's constant folding, which leaves a product and a sum.
FOLDED = ["folded_bn"]


def fold(definition):
    """The graph behind TensorFlow's own folding of constants, and nothing else."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
        meta = tf.compat.v1.train.export_meta_graph(graph_def=definition, graph=graph)
    meta.collection_def["train_op"].node_list.value.append("y")
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.optimizers.append("constfold")
    config.graph_options.rewrite_options.min_graph_nodes = -1
    config.graph_options.rewrite_options.meta_optimizer_iterations = 2
    return tf_optimizer.OptimizeGraph(config, meta)


def run(definition, x):
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.compat.v1.Session(graph=graph, config=config) as session:
        return session.run("y:0", {"x:0": x})


def settle(parts, assign):
    """Numbers for the parameters of layers, by the generator of the case; variances and scales are positive."""
    for layer in parts.layers():
        for weight in layer.weights:
            positive = any(word in weight.name for word in ["gamma", "variance"])
            assign(weight, parts.values(weight.shape.as_list(), positive))


def first(name, function, shape):
    """The case as a graph of TensorFlow 1."""
    parts = Parts(name, resources=False)
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, shape, name="x")
        tf.identity(function(parts, x), name="y")
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            settle(parts, lambda weight, value: weight.load(value, session))
            graph = session.graph_def
            return tf.compat.v1.graph_util.convert_variables_to_constants(session, graph, ["y"])


def second(name, function, shape):
    """The case as a function of TensorFlow 2."""
    parts = Parts(name, resources=True)

    def traced(x):
        parts.again()
        return tf.identity(function(parts, x), name="y")

    signature = tf.TensorSpec(shape, tf.float32, name="x")
    concrete = tf.function(traced, autograph=False).get_concrete_function(signature)
    settle(parts, lambda weight, value: weight.assign(value))
    definition = convert_variables_to_constants_v2(concrete).graph.as_graph_def()
    # The result of a function is one more identity, behind `y`.
    kept = [node for node in definition.node if node.op != "Identity" or node.input[0] != "y"]
    del definition.node[:]
    definition.node.extend(kept)
    definition.library.Clear()
    return definition


def write(folder, only):
    arrays = {}
    for name, function, shape in cases():
        if only and only not in name:
            continue
        extents = [2 if extent is None else extent for extent in shape]
        operand = "_".join(map(str, ["x", *extents]))
        x = np.random.default_rng(zlib.crc32(operand.encode())).uniform(-1, 1, extents).astype(np.float32)
        results = []
        for version, freeze in [(1, first), (2, second)]:
            tf.keras.backend.clear_session()
            definition = freeze(name, function, shape)
            if name in FOLDED:
                definition = fold(definition)
            results.append(run(definition, x))
            (folder / f"{name}.{version}.pb").write_bytes(definition.SerializeToString(deterministic=True))
        one, other = results
        assert np.abs(one - other).max() <= 1e-5 * np.abs(other).max(), name
        arrays[operand], arrays[name] = x, other
        print(name, x.shape, other.shape)
    np.savez(folder / "arrays.npz", **arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="a part of names")
    arguments = parser.parse_args()
    assert tf.__version__ == VERSION, f"TensorFlow {VERSION} is needed, this is {tf.__version__}"
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write(arguments.folder, arguments.only)


if __name__ == "__main__":
    main()
