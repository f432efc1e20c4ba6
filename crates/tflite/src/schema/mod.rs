//! Views of those tables of a TFLite file (version 3 of the format) that inference needs.
//!
//! In a file, each field of a table is identified by a number, its slot; the numbers before the field names below are
//! these slots. Values of enums and kinds of options are numbers, too. Fields that nothing reads are not listed. `cargo
//! xtask oracles --tflite` checks the numbers against LiteRT's package. Operators and element types are not enums here
//! but plain numbers, so that a newer operator or type can be refused with its number in the message. `names.rs` has
//! their names.

mod views;

use planus::Vector;
use views::{enums, options, tables};

enums! {
    /// How a window is padded.
    Padding { Same = 0, Valid = 1 }
    /// A fused activation function.
    Activation { None = 0, Relu = 1, ReluN1To1 = 2, Relu6 = 3, Tanh = 4, SignBit = 5 }
    /// The order of the weights of a fully connected layer.
    WeightsFormat { Default = 0, Shuffled4x16Int8 = 1 }
    /// Whether mirrored padding repeats the element at the border.
    MirrorPadMode { Reflect = 0, Symmetric = 1 }
}

tables! { 'a
    /// A table with no fields that we read.
    Nothing {}
    Conv2DOptions {
        0 padding: Padding = Padding::Same;
        1 stride_w: i32 = 0;
        2 stride_h: i32 = 0;
        3 fused_activation_function: Activation = Activation::None;
        4 dilation_w_factor: i32 = 1;
        5 dilation_h_factor: i32 = 1;
    }
    Conv3DOptions {
        0 padding: Padding = Padding::Same;
        1 stride_d: i32 = 0;
        2 stride_w: i32 = 0;
        3 stride_h: i32 = 0;
        4 fused_activation_function: Activation = Activation::None;
        5 dilation_d_factor: i32 = 1;
        6 dilation_w_factor: i32 = 1;
        7 dilation_h_factor: i32 = 1;
    }
    Pool2DOptions {
        0 padding: Padding = Padding::Same;
        1 stride_w: i32 = 0;
        2 stride_h: i32 = 0;
        3 filter_width: i32 = 0;
        4 filter_height: i32 = 0;
        5 fused_activation_function: Activation = Activation::None;
    }
    DepthwiseConv2DOptions {
        0 padding: Padding = Padding::Same;
        1 stride_w: i32 = 0;
        2 stride_h: i32 = 0;
        4 fused_activation_function: Activation = Activation::None;
        5 dilation_w_factor: i32 = 1;
        6 dilation_h_factor: i32 = 1;
    }
    FullyConnectedOptions {
        0 fused_activation_function: Activation = Activation::None;
        1 weights_format: WeightsFormat = WeightsFormat::Default;
        2 keep_num_dims: bool = false;
    }
    SoftmaxOptions {
        0 beta: f32 = 0.0;
    }
    ConcatenationOptions {
        0 axis: i32 = 0;
        1 fused_activation_function: Activation = Activation::None;
    }
    AddOptions {
        0 fused_activation_function: Activation = Activation::None;
    }
    MulOptions {
        0 fused_activation_function: Activation = Activation::None;
    }
    L2NormOptions {
        0 fused_activation_function: Activation = Activation::None;
    }
    LocalResponseNormalizationOptions {
        0 radius: i32 = 0;
        1 bias: f32 = 0.0;
        2 alpha: f32 = 0.0;
        3 beta: f32 = 0.0;
    }
    ResizeBilinearOptions {
        2 align_corners: bool = false;
        3 half_pixel_centers: bool = false;
    }
    ResizeNearestNeighborOptions {
        0 align_corners: bool = false;
        1 half_pixel_centers: bool = false;
    }
    ReshapeOptions {
        0 new_shape: Vector<'a, i32>;
    }
    SpaceToDepthOptions {
        0 block_size: i32 = 0;
    }
    DepthToSpaceOptions {
        0 block_size: i32 = 0;
    }
    SubOptions {
        0 fused_activation_function: Activation = Activation::None;
    }
    DivOptions {
        0 fused_activation_function: Activation = Activation::None;
    }
    GatherOptions {
        0 axis: i32 = 0;
        1 batch_dims: i32 = 0;
    }
    ReducerOptions {
        0 keep_dims: bool = false;
    }
    SqueezeOptions {
        0 squeeze_dims: Vector<'a, i32>;
    }
    SplitOptions {
        0 num_splits: i32 = 0;
    }
    StridedSliceOptions {
        0 begin_mask: i32 = 0;
        1 end_mask: i32 = 0;
        2 ellipsis_mask: i32 = 0;
        3 new_axis_mask: i32 = 0;
        4 shrink_axis_mask: i32 = 0;
        5 offset: bool = false;
    }
    TransposeConvOptions {
        0 padding: Padding = Padding::Same;
        1 stride_w: i32 = 0;
        2 stride_h: i32 = 0;
        3 fused_activation_function: Activation = Activation::None;
    }
    PackOptions {
        1 axis: i32 = 0;
    }
    OneHotOptions {
        0 axis: i32 = 0;
    }
    UnpackOptions {
        1 axis: i32 = 0;
    }
    LeakyReluOptions {
        0 alpha: f32 = 0.0;
    }
    MirrorPadOptions {
        0 mode: MirrorPadMode = MirrorPadMode::Reflect;
    }
    ReverseSequenceOptions {
        0 seq_dim: i32 = 0;
        1 batch_dim: i32 = 0;
    }
    BatchMatMulOptions {
        0 adj_x: bool = false;
        1 adj_y: bool = false;
    }
    CumsumOptions {
        0 exclusive: bool = false;
        1 reverse: bool = false;
    }
    GeluOptions {
        0 approximate: bool = false;
    }
    UnidirectionalSequenceLSTMOptions {
        0 fused_activation_function: Activation = Activation::None;
        1 cell_clip: f32 = 0.0;
        3 time_major: bool = false;
        5 diagonal_recurrent_tensors: bool = false;
    }
    SequenceRNNOptions {
        0 time_major: bool = false;
        1 fused_activation_function: Activation = Activation::None;
    }
    BidirectionalSequenceLSTMOptions {
        0 fused_activation_function: Activation = Activation::None;
        1 cell_clip: f32 = 0.0;
        3 merge_outputs: bool = false;
        4 time_major: bool = true;
    }
    BidirectionalSequenceRNNOptions {
        0 time_major: bool = false;
        1 fused_activation_function: Activation = Activation::None;
        2 merge_outputs: bool = false;
    }
    BucketizeOptions {
        0 boundaries: Vector<'a, f32>;
    }
    /// Defines real = scale × (code − zero point). If there are several scales, there is one for each index along the
    /// axis `quantized_dimension`.
    QuantizationParameters {
        2 scale: Vector<'a, f32>;
        3 zero_point: Vector<'a, i64>;
        5 details: Nothing<'a>;
        6 quantized_dimension: i32 = 0;
    }
    /// A tensor.
    Tensor {
        0 shape: Vector<'a, i32>;
        1 type_: i8 = 0;
        2 buffer: u32 = 0;
        3 name: &'a str;
        4 quantization: QuantizationParameters<'a>;
        5 is_variable: bool = false;
        6 sparsity: Nothing<'a>;
        7 shape_signature: Vector<'a, i32>;
        8 has_rank: bool = false;
        10 external_buffer: u32 = 0;
    }
    /// The kind of an operator.
    OperatorCode {
        0 deprecated_builtin_code: i8 = 0;
        1 custom_code: &'a str;
        2 version: i32 = 1;
        3 builtin_code: i32 = 0;
    }
    /// An operator.
    Operator {
        0 opcode_index: u32 = 0;
        1 inputs: Vector<'a, i32>;
        2 outputs: Vector<'a, i32>;
        union 3 builtin_options: BuiltinOptions<'a>;
    }
    /// A graph.
    SubGraph {
        0 tensors: Vector<'a, planus::Result<Tensor<'a>>>;
        1 inputs: Vector<'a, i32>;
        2 outputs: Vector<'a, i32>;
        3 operators: Vector<'a, planus::Result<Operator<'a>>>;
    }
    /// The bytes of a constant. They are either in `data`, or in the file at `offset`, with `size` bytes.
    Buffer {
        0 data: &'a [u8];
        1 offset: u64 = 0;
        2 size: u64 = 0;
    }
    /// The root table of a file.
    Model {
        0 version: u32 = 0;
        1 operator_codes: Vector<'a, planus::Result<OperatorCode<'a>>>;
        2 subgraphs: Vector<'a, planus::Result<SubGraph<'a>>>;
        4 buffers: Vector<'a, planus::Result<Buffer<'a>>>;
    }
}

options! {
    /// The options of an operator, by the kind of the operator.
    BuiltinOptions {
        1 Conv2DOptions,
        2 DepthwiseConv2DOptions,
        5 Pool2DOptions,
        8 FullyConnectedOptions,
        9 SoftmaxOptions,
        10 ConcatenationOptions,
        11 AddOptions,
        12 L2NormOptions,
        13 LocalResponseNormalizationOptions,
        15 ResizeBilinearOptions,
        17 ReshapeOptions,
        19 SpaceToDepthOptions,
        21 MulOptions,
        23 GatherOptions,
        27 ReducerOptions,
        28 SubOptions,
        29 DivOptions,
        30 SqueezeOptions,
        31 SequenceRNNOptions,
        32 StridedSliceOptions,
        35 SplitOptions,
        49 TransposeConvOptions,
        59 PackOptions,
        61 OneHotOptions,
        64 UnpackOptions,
        69 BidirectionalSequenceLSTMOptions,
        70 BidirectionalSequenceRNNOptions,
        71 UnidirectionalSequenceLSTMOptions,
        74 ResizeNearestNeighborOptions,
        75 LeakyReluOptions,
        77 MirrorPadOptions,
        87 ReverseSequenceOptions,
        94 DepthToSpaceOptions,
        101 BatchMatMulOptions,
        102 CumsumOptions,
        106 Conv3DOptions,
        115 BucketizeOptions,
        116 GeluOptions,
    }
}

impl<'a> planus::ReadAsRoot<'a> for Model<'a> {
    fn read_as_root(buffer: &'a [u8]) -> planus::Result<Self> {
        let whole = planus::SliceWithStartOffset {
            buffer,
            offset_from_start: 0,
        };
        let model = planus::TableRead::from_buffer(whole, 0);
        model.map_err(|error| error.with_error_location("Model", "read_as_root", 0))
    }
}
