//! Views of the tables of a TFLite file. `cargo xtask schema` makes this of tflite.fbs; edits here are lost.

pub use root::*;

const _: () = ::planus::check_version_compatibility("planus-1.3.0");

/// The root namespace
///
/// Generated from these locations:
/// * File `tflite.fbs`
#[no_implicit_prelude]
#[allow(clippy::needless_lifetimes)]
mod root {
    /// The namespace `tflite`
    ///
    /// Generated from these locations:
    /// * File `tflite.fbs`
    pub mod tflite {
        /// The enum `Padding` in the namespace `tflite`
        ///
        /// Generated from these locations:
        /// * Enum `Padding` in the file `tflite.fbs:11`
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i8)]
        pub enum Padding {
            /// The variant `SAME` in the enum `Padding`
            Same = 0,

            /// The variant `VALID` in the enum `Padding`
            Valid = 1,
        }

        impl ::core::convert::TryFrom<i8> for Padding {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(value: i8) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(Padding::Same),
                    1 => ::core::result::Result::Ok(Padding::Valid),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind { tag: value as i128 }),
                }
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for Padding {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: i8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        /// The enum `Activation` in the namespace `tflite`
        ///
        /// Generated from these locations:
        /// * Enum `Activation` in the file `tflite.fbs:13`
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i8)]
        pub enum Activation {
            /// The variant `NONE` in the enum `Activation`
            None = 0,

            /// The variant `RELU` in the enum `Activation`
            Relu = 1,

            /// The variant `RELU_N1_TO_1` in the enum `Activation`
            ReluN1To1 = 2,

            /// The variant `RELU6` in the enum `Activation`
            Relu6 = 3,

            /// The variant `TANH` in the enum `Activation`
            Tanh = 4,

            /// The variant `SIGN_BIT` in the enum `Activation`
            SignBit = 5,
        }

        impl ::core::convert::TryFrom<i8> for Activation {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(value: i8) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(Activation::None),
                    1 => ::core::result::Result::Ok(Activation::Relu),
                    2 => ::core::result::Result::Ok(Activation::ReluN1To1),
                    3 => ::core::result::Result::Ok(Activation::Relu6),
                    4 => ::core::result::Result::Ok(Activation::Tanh),
                    5 => ::core::result::Result::Ok(Activation::SignBit),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind { tag: value as i128 }),
                }
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for Activation {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: i8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        /// The enum `WeightsFormat` in the namespace `tflite`
        ///
        /// Generated from these locations:
        /// * Enum `WeightsFormat` in the file `tflite.fbs:15`
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i8)]
        pub enum WeightsFormat {
            /// The variant `DEFAULT` in the enum `WeightsFormat`
            Default = 0,

            /// The variant `SHUFFLED4x16INT8` in the enum `WeightsFormat`
            Shuffled4x16Int8 = 1,
        }

        impl ::core::convert::TryFrom<i8> for WeightsFormat {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(value: i8) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(WeightsFormat::Default),
                    1 => ::core::result::Result::Ok(WeightsFormat::Shuffled4x16Int8),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind { tag: value as i128 }),
                }
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for WeightsFormat {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: i8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        /// The enum `MirrorPadMode` in the namespace `tflite`
        ///
        /// Generated from these locations:
        /// * Enum `MirrorPadMode` in the file `tflite.fbs:17`
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i8)]
        pub enum MirrorPadMode {
            /// The variant `REFLECT` in the enum `MirrorPadMode`
            Reflect = 0,

            /// The variant `SYMMETRIC` in the enum `MirrorPadMode`
            Symmetric = 1,
        }

        impl ::core::convert::TryFrom<i8> for MirrorPadMode {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(value: i8) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(MirrorPadMode::Reflect),
                    1 => ::core::result::Result::Ok(MirrorPadMode::Symmetric),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind { tag: value as i128 }),
                }
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for MirrorPadMode {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: i8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        /// Reference to a deserialized [Nothing].
        #[derive(Copy, Clone)]
        pub struct NothingRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> NothingRef<'a> {}

        impl<'a> ::planus::TableRead<'a> for NothingRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for NothingRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(buffer: ::planus::SliceWithStartOffset<'a>, offset: usize) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[NothingRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// Reference to a deserialized [Conv2DOptions].
        #[derive(Copy, Clone)]
        pub struct Conv2DOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> Conv2DOptionsRef<'a> {
            /// Getter for the [`padding` field](Conv2DOptions#structfield.padding).
            #[inline]
            pub fn padding(&self) -> ::planus::Result<self::Padding> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "Conv2DOptions", "padding")?
                        .unwrap_or(self::Padding::Same),
                )
            }

            /// Getter for the [`stride_w` field](Conv2DOptions#structfield.stride_w).
            #[inline]
            pub fn stride_w(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "Conv2DOptions", "stride_w")?.unwrap_or(0))
            }

            /// Getter for the [`stride_h` field](Conv2DOptions#structfield.stride_h).
            #[inline]
            pub fn stride_h(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "Conv2DOptions", "stride_h")?.unwrap_or(0))
            }

            /// Getter for the [`fused_activation_function` field](Conv2DOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "Conv2DOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`dilation_w_factor` field](Conv2DOptions#structfield.dilation_w_factor).
            #[inline]
            pub fn dilation_w_factor(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(4, "Conv2DOptions", "dilation_w_factor")?.unwrap_or(1))
            }

            /// Getter for the [`dilation_h_factor` field](Conv2DOptions#structfield.dilation_h_factor).
            #[inline]
            pub fn dilation_h_factor(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(5, "Conv2DOptions", "dilation_h_factor")?.unwrap_or(1))
            }

            /// Getter for the [`quantized_bias_type` field](Conv2DOptions#structfield.quantized_bias_type).
            #[inline]
            pub fn quantized_bias_type(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(self.0.access(6, "Conv2DOptions", "quantized_bias_type")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for Conv2DOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [Conv3DOptions].
        #[derive(Copy, Clone)]
        pub struct Conv3DOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> Conv3DOptionsRef<'a> {
            /// Getter for the [`padding` field](Conv3DOptions#structfield.padding).
            #[inline]
            pub fn padding(&self) -> ::planus::Result<self::Padding> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "Conv3DOptions", "padding")?
                        .unwrap_or(self::Padding::Same),
                )
            }

            /// Getter for the [`stride_d` field](Conv3DOptions#structfield.stride_d).
            #[inline]
            pub fn stride_d(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "Conv3DOptions", "stride_d")?.unwrap_or(0))
            }

            /// Getter for the [`stride_w` field](Conv3DOptions#structfield.stride_w).
            #[inline]
            pub fn stride_w(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "Conv3DOptions", "stride_w")?.unwrap_or(0))
            }

            /// Getter for the [`stride_h` field](Conv3DOptions#structfield.stride_h).
            #[inline]
            pub fn stride_h(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(3, "Conv3DOptions", "stride_h")?.unwrap_or(0))
            }

            /// Getter for the [`fused_activation_function` field](Conv3DOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(4, "Conv3DOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`dilation_d_factor` field](Conv3DOptions#structfield.dilation_d_factor).
            #[inline]
            pub fn dilation_d_factor(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(5, "Conv3DOptions", "dilation_d_factor")?.unwrap_or(1))
            }

            /// Getter for the [`dilation_w_factor` field](Conv3DOptions#structfield.dilation_w_factor).
            #[inline]
            pub fn dilation_w_factor(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(6, "Conv3DOptions", "dilation_w_factor")?.unwrap_or(1))
            }

            /// Getter for the [`dilation_h_factor` field](Conv3DOptions#structfield.dilation_h_factor).
            #[inline]
            pub fn dilation_h_factor(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(7, "Conv3DOptions", "dilation_h_factor")?.unwrap_or(1))
            }
        }

        impl<'a> ::planus::TableRead<'a> for Conv3DOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [Pool2DOptions].
        #[derive(Copy, Clone)]
        pub struct Pool2DOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> Pool2DOptionsRef<'a> {
            /// Getter for the [`padding` field](Pool2DOptions#structfield.padding).
            #[inline]
            pub fn padding(&self) -> ::planus::Result<self::Padding> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "Pool2DOptions", "padding")?
                        .unwrap_or(self::Padding::Same),
                )
            }

            /// Getter for the [`stride_w` field](Pool2DOptions#structfield.stride_w).
            #[inline]
            pub fn stride_w(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "Pool2DOptions", "stride_w")?.unwrap_or(0))
            }

            /// Getter for the [`stride_h` field](Pool2DOptions#structfield.stride_h).
            #[inline]
            pub fn stride_h(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "Pool2DOptions", "stride_h")?.unwrap_or(0))
            }

            /// Getter for the [`filter_width` field](Pool2DOptions#structfield.filter_width).
            #[inline]
            pub fn filter_width(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(3, "Pool2DOptions", "filter_width")?.unwrap_or(0))
            }

            /// Getter for the [`filter_height` field](Pool2DOptions#structfield.filter_height).
            #[inline]
            pub fn filter_height(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(4, "Pool2DOptions", "filter_height")?.unwrap_or(0))
            }

            /// Getter for the [`fused_activation_function` field](Pool2DOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(5, "Pool2DOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for Pool2DOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [DepthwiseConv2DOptions].
        #[derive(Copy, Clone)]
        pub struct DepthwiseConv2DOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> DepthwiseConv2DOptionsRef<'a> {
            /// Getter for the [`padding` field](DepthwiseConv2DOptions#structfield.padding).
            #[inline]
            pub fn padding(&self) -> ::planus::Result<self::Padding> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "DepthwiseConv2DOptions", "padding")?
                        .unwrap_or(self::Padding::Same),
                )
            }

            /// Getter for the [`stride_w` field](DepthwiseConv2DOptions#structfield.stride_w).
            #[inline]
            pub fn stride_w(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "DepthwiseConv2DOptions", "stride_w")?.unwrap_or(0))
            }

            /// Getter for the [`stride_h` field](DepthwiseConv2DOptions#structfield.stride_h).
            #[inline]
            pub fn stride_h(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "DepthwiseConv2DOptions", "stride_h")?.unwrap_or(0))
            }

            /// Getter for the [`depth_multiplier` field](DepthwiseConv2DOptions#structfield.depth_multiplier).
            #[inline]
            pub fn depth_multiplier(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "DepthwiseConv2DOptions", "depth_multiplier")?
                        .unwrap_or(0),
                )
            }

            /// Getter for the [`fused_activation_function` field](DepthwiseConv2DOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(4, "DepthwiseConv2DOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`dilation_w_factor` field](DepthwiseConv2DOptions#structfield.dilation_w_factor).
            #[inline]
            pub fn dilation_w_factor(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(5, "DepthwiseConv2DOptions", "dilation_w_factor")?
                        .unwrap_or(1),
                )
            }

            /// Getter for the [`dilation_h_factor` field](DepthwiseConv2DOptions#structfield.dilation_h_factor).
            #[inline]
            pub fn dilation_h_factor(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(6, "DepthwiseConv2DOptions", "dilation_h_factor")?
                        .unwrap_or(1),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for DepthwiseConv2DOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [FullyConnectedOptions].
        #[derive(Copy, Clone)]
        pub struct FullyConnectedOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> FullyConnectedOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](FullyConnectedOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "FullyConnectedOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`weights_format` field](FullyConnectedOptions#structfield.weights_format).
            #[inline]
            pub fn weights_format(&self) -> ::planus::Result<self::WeightsFormat> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "FullyConnectedOptions", "weights_format")?
                        .unwrap_or(self::WeightsFormat::Default),
                )
            }

            /// Getter for the [`keep_num_dims` field](FullyConnectedOptions#structfield.keep_num_dims).
            #[inline]
            pub fn keep_num_dims(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "FullyConnectedOptions", "keep_num_dims")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`asymmetric_quantize_inputs` field](FullyConnectedOptions#structfield.asymmetric_quantize_inputs).
            #[inline]
            pub fn asymmetric_quantize_inputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "FullyConnectedOptions", "asymmetric_quantize_inputs")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`quantized_bias_type` field](FullyConnectedOptions#structfield.quantized_bias_type).
            #[inline]
            pub fn quantized_bias_type(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(
                    self.0
                        .access(4, "FullyConnectedOptions", "quantized_bias_type")?
                        .unwrap_or(0),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for FullyConnectedOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SoftmaxOptions].
        #[derive(Copy, Clone)]
        pub struct SoftmaxOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SoftmaxOptionsRef<'a> {
            /// Getter for the [`beta` field](SoftmaxOptions#structfield.beta).
            #[inline]
            pub fn beta(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(self.0.access(0, "SoftmaxOptions", "beta")?.unwrap_or(0.0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for SoftmaxOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ConcatenationOptions].
        #[derive(Copy, Clone)]
        pub struct ConcatenationOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ConcatenationOptionsRef<'a> {
            /// Getter for the [`axis` field](ConcatenationOptions#structfield.axis).
            #[inline]
            pub fn axis(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "ConcatenationOptions", "axis")?.unwrap_or(0))
            }

            /// Getter for the [`fused_activation_function` field](ConcatenationOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "ConcatenationOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for ConcatenationOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [AddOptions].
        #[derive(Copy, Clone)]
        pub struct AddOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> AddOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](AddOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "AddOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`pot_scale_int16` field](AddOptions#structfield.pot_scale_int16).
            #[inline]
            pub fn pot_scale_int16(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(1, "AddOptions", "pot_scale_int16")?.unwrap_or(true))
            }
        }

        impl<'a> ::planus::TableRead<'a> for AddOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [MulOptions].
        #[derive(Copy, Clone)]
        pub struct MulOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> MulOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](MulOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "MulOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for MulOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [L2NormOptions].
        #[derive(Copy, Clone)]
        pub struct L2NormOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> L2NormOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](L2NormOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "L2NormOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for L2NormOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [LocalResponseNormalizationOptions].
        #[derive(Copy, Clone)]
        pub struct LocalResponseNormalizationOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> LocalResponseNormalizationOptionsRef<'a> {
            /// Getter for the [`radius` field](LocalResponseNormalizationOptions#structfield.radius).
            #[inline]
            pub fn radius(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "LocalResponseNormalizationOptions", "radius")?
                        .unwrap_or(0),
                )
            }

            /// Getter for the [`bias` field](LocalResponseNormalizationOptions#structfield.bias).
            #[inline]
            pub fn bias(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "LocalResponseNormalizationOptions", "bias")?
                        .unwrap_or(0.0),
                )
            }

            /// Getter for the [`alpha` field](LocalResponseNormalizationOptions#structfield.alpha).
            #[inline]
            pub fn alpha(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "LocalResponseNormalizationOptions", "alpha")?
                        .unwrap_or(0.0),
                )
            }

            /// Getter for the [`beta` field](LocalResponseNormalizationOptions#structfield.beta).
            #[inline]
            pub fn beta(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "LocalResponseNormalizationOptions", "beta")?
                        .unwrap_or(0.0),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for LocalResponseNormalizationOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ResizeBilinearOptions].
        #[derive(Copy, Clone)]
        pub struct ResizeBilinearOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ResizeBilinearOptionsRef<'a> {
            /// Getter for the [`align_corners` field](ResizeBilinearOptions#structfield.align_corners).
            #[inline]
            pub fn align_corners(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "ResizeBilinearOptions", "align_corners")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`half_pixel_centers` field](ResizeBilinearOptions#structfield.half_pixel_centers).
            #[inline]
            pub fn half_pixel_centers(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "ResizeBilinearOptions", "half_pixel_centers")?
                        .unwrap_or(false),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for ResizeBilinearOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ResizeNearestNeighborOptions].
        #[derive(Copy, Clone)]
        pub struct ResizeNearestNeighborOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ResizeNearestNeighborOptionsRef<'a> {
            /// Getter for the [`align_corners` field](ResizeNearestNeighborOptions#structfield.align_corners).
            #[inline]
            pub fn align_corners(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "ResizeNearestNeighborOptions", "align_corners")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`half_pixel_centers` field](ResizeNearestNeighborOptions#structfield.half_pixel_centers).
            #[inline]
            pub fn half_pixel_centers(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "ResizeNearestNeighborOptions", "half_pixel_centers")?
                        .unwrap_or(false),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for ResizeNearestNeighborOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ReshapeOptions].
        #[derive(Copy, Clone)]
        pub struct ReshapeOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ReshapeOptionsRef<'a> {
            /// Getter for the [`new_shape` field](ReshapeOptions#structfield.new_shape).
            #[inline]
            pub fn new_shape(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(0, "ReshapeOptions", "new_shape")
            }
        }

        impl<'a> ::planus::TableRead<'a> for ReshapeOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SpaceToDepthOptions].
        #[derive(Copy, Clone)]
        pub struct SpaceToDepthOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SpaceToDepthOptionsRef<'a> {
            /// Getter for the [`block_size` field](SpaceToDepthOptions#structfield.block_size).
            #[inline]
            pub fn block_size(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "SpaceToDepthOptions", "block_size")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for SpaceToDepthOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [DepthToSpaceOptions].
        #[derive(Copy, Clone)]
        pub struct DepthToSpaceOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> DepthToSpaceOptionsRef<'a> {
            /// Getter for the [`block_size` field](DepthToSpaceOptions#structfield.block_size).
            #[inline]
            pub fn block_size(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "DepthToSpaceOptions", "block_size")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for DepthToSpaceOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SubOptions].
        #[derive(Copy, Clone)]
        pub struct SubOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SubOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](SubOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "SubOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`pot_scale_int16` field](SubOptions#structfield.pot_scale_int16).
            #[inline]
            pub fn pot_scale_int16(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(1, "SubOptions", "pot_scale_int16")?.unwrap_or(true))
            }
        }

        impl<'a> ::planus::TableRead<'a> for SubOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [DivOptions].
        #[derive(Copy, Clone)]
        pub struct DivOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> DivOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](DivOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "DivOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for DivOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [GatherOptions].
        #[derive(Copy, Clone)]
        pub struct GatherOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> GatherOptionsRef<'a> {
            /// Getter for the [`axis` field](GatherOptions#structfield.axis).
            #[inline]
            pub fn axis(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "GatherOptions", "axis")?.unwrap_or(0))
            }

            /// Getter for the [`batch_dims` field](GatherOptions#structfield.batch_dims).
            #[inline]
            pub fn batch_dims(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "GatherOptions", "batch_dims")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for GatherOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ReducerOptions].
        #[derive(Copy, Clone)]
        pub struct ReducerOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ReducerOptionsRef<'a> {
            /// Getter for the [`keep_dims` field](ReducerOptions#structfield.keep_dims).
            #[inline]
            pub fn keep_dims(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(0, "ReducerOptions", "keep_dims")?.unwrap_or(false))
            }
        }

        impl<'a> ::planus::TableRead<'a> for ReducerOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SqueezeOptions].
        #[derive(Copy, Clone)]
        pub struct SqueezeOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SqueezeOptionsRef<'a> {
            /// Getter for the [`squeeze_dims` field](SqueezeOptions#structfield.squeeze_dims).
            #[inline]
            pub fn squeeze_dims(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(0, "SqueezeOptions", "squeeze_dims")
            }
        }

        impl<'a> ::planus::TableRead<'a> for SqueezeOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SplitOptions].
        #[derive(Copy, Clone)]
        pub struct SplitOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SplitOptionsRef<'a> {
            /// Getter for the [`num_splits` field](SplitOptions#structfield.num_splits).
            #[inline]
            pub fn num_splits(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "SplitOptions", "num_splits")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for SplitOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SplitVOptions].
        #[derive(Copy, Clone)]
        pub struct SplitVOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SplitVOptionsRef<'a> {
            /// Getter for the [`num_splits` field](SplitVOptions#structfield.num_splits).
            #[inline]
            pub fn num_splits(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "SplitVOptions", "num_splits")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for SplitVOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [StridedSliceOptions].
        #[derive(Copy, Clone)]
        pub struct StridedSliceOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> StridedSliceOptionsRef<'a> {
            /// Getter for the [`begin_mask` field](StridedSliceOptions#structfield.begin_mask).
            #[inline]
            pub fn begin_mask(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "StridedSliceOptions", "begin_mask")?.unwrap_or(0))
            }

            /// Getter for the [`end_mask` field](StridedSliceOptions#structfield.end_mask).
            #[inline]
            pub fn end_mask(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "StridedSliceOptions", "end_mask")?.unwrap_or(0))
            }

            /// Getter for the [`ellipsis_mask` field](StridedSliceOptions#structfield.ellipsis_mask).
            #[inline]
            pub fn ellipsis_mask(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "StridedSliceOptions", "ellipsis_mask")?.unwrap_or(0))
            }

            /// Getter for the [`new_axis_mask` field](StridedSliceOptions#structfield.new_axis_mask).
            #[inline]
            pub fn new_axis_mask(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(3, "StridedSliceOptions", "new_axis_mask")?.unwrap_or(0))
            }

            /// Getter for the [`shrink_axis_mask` field](StridedSliceOptions#structfield.shrink_axis_mask).
            #[inline]
            pub fn shrink_axis_mask(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(4, "StridedSliceOptions", "shrink_axis_mask")?
                        .unwrap_or(0),
                )
            }

            /// Getter for the [`offset` field](StridedSliceOptions#structfield.offset).
            #[inline]
            pub fn offset(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(5, "StridedSliceOptions", "offset")?.unwrap_or(false))
            }
        }

        impl<'a> ::planus::TableRead<'a> for StridedSliceOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ArgMaxOptions].
        #[derive(Copy, Clone)]
        pub struct ArgMaxOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ArgMaxOptionsRef<'a> {
            /// Getter for the [`output_type` field](ArgMaxOptions#structfield.output_type).
            #[inline]
            pub fn output_type(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(self.0.access(0, "ArgMaxOptions", "output_type")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for ArgMaxOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ArgMinOptions].
        #[derive(Copy, Clone)]
        pub struct ArgMinOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ArgMinOptionsRef<'a> {
            /// Getter for the [`output_type` field](ArgMinOptions#structfield.output_type).
            #[inline]
            pub fn output_type(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(self.0.access(0, "ArgMinOptions", "output_type")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for ArgMinOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [TransposeConvOptions].
        #[derive(Copy, Clone)]
        pub struct TransposeConvOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> TransposeConvOptionsRef<'a> {
            /// Getter for the [`padding` field](TransposeConvOptions#structfield.padding).
            #[inline]
            pub fn padding(&self) -> ::planus::Result<self::Padding> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "TransposeConvOptions", "padding")?
                        .unwrap_or(self::Padding::Same),
                )
            }

            /// Getter for the [`stride_w` field](TransposeConvOptions#structfield.stride_w).
            #[inline]
            pub fn stride_w(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "TransposeConvOptions", "stride_w")?.unwrap_or(0))
            }

            /// Getter for the [`stride_h` field](TransposeConvOptions#structfield.stride_h).
            #[inline]
            pub fn stride_h(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "TransposeConvOptions", "stride_h")?.unwrap_or(0))
            }

            /// Getter for the [`fused_activation_function` field](TransposeConvOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "TransposeConvOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`quantized_bias_type` field](TransposeConvOptions#structfield.quantized_bias_type).
            #[inline]
            pub fn quantized_bias_type(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(
                    self.0
                        .access(4, "TransposeConvOptions", "quantized_bias_type")?
                        .unwrap_or(0),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for TransposeConvOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ShapeOptions].
        #[derive(Copy, Clone)]
        pub struct ShapeOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ShapeOptionsRef<'a> {
            /// Getter for the [`out_type` field](ShapeOptions#structfield.out_type).
            #[inline]
            pub fn out_type(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(self.0.access(0, "ShapeOptions", "out_type")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for ShapeOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [FakeQuantOptions].
        #[derive(Copy, Clone)]
        pub struct FakeQuantOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> FakeQuantOptionsRef<'a> {
            /// Getter for the [`min` field](FakeQuantOptions#structfield.min).
            #[inline]
            pub fn min(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(self.0.access(0, "FakeQuantOptions", "min")?.unwrap_or(0.0))
            }

            /// Getter for the [`max` field](FakeQuantOptions#structfield.max).
            #[inline]
            pub fn max(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(self.0.access(1, "FakeQuantOptions", "max")?.unwrap_or(0.0))
            }

            /// Getter for the [`num_bits` field](FakeQuantOptions#structfield.num_bits).
            #[inline]
            pub fn num_bits(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "FakeQuantOptions", "num_bits")?.unwrap_or(0))
            }

            /// Getter for the [`narrow_range` field](FakeQuantOptions#structfield.narrow_range).
            #[inline]
            pub fn narrow_range(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(3, "FakeQuantOptions", "narrow_range")?.unwrap_or(false))
            }
        }

        impl<'a> ::planus::TableRead<'a> for FakeQuantOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [PackOptions].
        #[derive(Copy, Clone)]
        pub struct PackOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> PackOptionsRef<'a> {
            /// Getter for the [`values_count` field](PackOptions#structfield.values_count).
            #[inline]
            pub fn values_count(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "PackOptions", "values_count")?.unwrap_or(0))
            }

            /// Getter for the [`axis` field](PackOptions#structfield.axis).
            #[inline]
            pub fn axis(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "PackOptions", "axis")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for PackOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [OneHotOptions].
        #[derive(Copy, Clone)]
        pub struct OneHotOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> OneHotOptionsRef<'a> {
            /// Getter for the [`axis` field](OneHotOptions#structfield.axis).
            #[inline]
            pub fn axis(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "OneHotOptions", "axis")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for OneHotOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [UnpackOptions].
        #[derive(Copy, Clone)]
        pub struct UnpackOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> UnpackOptionsRef<'a> {
            /// Getter for the [`num` field](UnpackOptions#structfield.num).
            #[inline]
            pub fn num(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "UnpackOptions", "num")?.unwrap_or(0))
            }

            /// Getter for the [`axis` field](UnpackOptions#structfield.axis).
            #[inline]
            pub fn axis(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "UnpackOptions", "axis")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for UnpackOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [LeakyReluOptions].
        #[derive(Copy, Clone)]
        pub struct LeakyReluOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> LeakyReluOptionsRef<'a> {
            /// Getter for the [`alpha` field](LeakyReluOptions#structfield.alpha).
            #[inline]
            pub fn alpha(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(self.0.access(0, "LeakyReluOptions", "alpha")?.unwrap_or(0.0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for LeakyReluOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [MirrorPadOptions].
        #[derive(Copy, Clone)]
        pub struct MirrorPadOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> MirrorPadOptionsRef<'a> {
            /// Getter for the [`mode` field](MirrorPadOptions#structfield.mode).
            #[inline]
            pub fn mode(&self) -> ::planus::Result<self::MirrorPadMode> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "MirrorPadOptions", "mode")?
                        .unwrap_or(self::MirrorPadMode::Reflect),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for MirrorPadOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [ReverseSequenceOptions].
        #[derive(Copy, Clone)]
        pub struct ReverseSequenceOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ReverseSequenceOptionsRef<'a> {
            /// Getter for the [`seq_dim` field](ReverseSequenceOptions#structfield.seq_dim).
            #[inline]
            pub fn seq_dim(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(0, "ReverseSequenceOptions", "seq_dim")?.unwrap_or(0))
            }

            /// Getter for the [`batch_dim` field](ReverseSequenceOptions#structfield.batch_dim).
            #[inline]
            pub fn batch_dim(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(1, "ReverseSequenceOptions", "batch_dim")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for ReverseSequenceOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [BatchMatMulOptions].
        #[derive(Copy, Clone)]
        pub struct BatchMatMulOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> BatchMatMulOptionsRef<'a> {
            /// Getter for the [`adj_x` field](BatchMatMulOptions#structfield.adj_x).
            #[inline]
            pub fn adj_x(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(0, "BatchMatMulOptions", "adj_x")?.unwrap_or(false))
            }

            /// Getter for the [`adj_y` field](BatchMatMulOptions#structfield.adj_y).
            #[inline]
            pub fn adj_y(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(1, "BatchMatMulOptions", "adj_y")?.unwrap_or(false))
            }

            /// Getter for the [`asymmetric_quantize_inputs` field](BatchMatMulOptions#structfield.asymmetric_quantize_inputs).
            #[inline]
            pub fn asymmetric_quantize_inputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "BatchMatMulOptions", "asymmetric_quantize_inputs")?
                        .unwrap_or(false),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for BatchMatMulOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [CumsumOptions].
        #[derive(Copy, Clone)]
        pub struct CumsumOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> CumsumOptionsRef<'a> {
            /// Getter for the [`exclusive` field](CumsumOptions#structfield.exclusive).
            #[inline]
            pub fn exclusive(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(0, "CumsumOptions", "exclusive")?.unwrap_or(false))
            }

            /// Getter for the [`reverse` field](CumsumOptions#structfield.reverse).
            #[inline]
            pub fn reverse(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(1, "CumsumOptions", "reverse")?.unwrap_or(false))
            }
        }

        impl<'a> ::planus::TableRead<'a> for CumsumOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [GeluOptions].
        #[derive(Copy, Clone)]
        pub struct GeluOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> GeluOptionsRef<'a> {
            /// Getter for the [`approximate` field](GeluOptions#structfield.approximate).
            #[inline]
            pub fn approximate(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(0, "GeluOptions", "approximate")?.unwrap_or(false))
            }
        }

        impl<'a> ::planus::TableRead<'a> for GeluOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [UnidirectionalSequenceLstmOptions].
        #[derive(Copy, Clone)]
        pub struct UnidirectionalSequenceLstmOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> UnidirectionalSequenceLstmOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](UnidirectionalSequenceLstmOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "UnidirectionalSequenceLstmOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`cell_clip` field](UnidirectionalSequenceLstmOptions#structfield.cell_clip).
            #[inline]
            pub fn cell_clip(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "UnidirectionalSequenceLstmOptions", "cell_clip")?
                        .unwrap_or(0.0),
                )
            }

            /// Getter for the [`proj_clip` field](UnidirectionalSequenceLstmOptions#structfield.proj_clip).
            #[inline]
            pub fn proj_clip(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "UnidirectionalSequenceLstmOptions", "proj_clip")?
                        .unwrap_or(0.0),
                )
            }

            /// Getter for the [`time_major` field](UnidirectionalSequenceLstmOptions#structfield.time_major).
            #[inline]
            pub fn time_major(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "UnidirectionalSequenceLstmOptions", "time_major")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`asymmetric_quantize_inputs` field](UnidirectionalSequenceLstmOptions#structfield.asymmetric_quantize_inputs).
            #[inline]
            pub fn asymmetric_quantize_inputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(4, "UnidirectionalSequenceLstmOptions", "asymmetric_quantize_inputs")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`diagonal_recurrent_tensors` field](UnidirectionalSequenceLstmOptions#structfield.diagonal_recurrent_tensors).
            #[inline]
            pub fn diagonal_recurrent_tensors(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(5, "UnidirectionalSequenceLstmOptions", "diagonal_recurrent_tensors")?
                        .unwrap_or(false),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for UnidirectionalSequenceLstmOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SequenceRnnOptions].
        #[derive(Copy, Clone)]
        pub struct SequenceRnnOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SequenceRnnOptionsRef<'a> {
            /// Getter for the [`time_major` field](SequenceRnnOptions#structfield.time_major).
            #[inline]
            pub fn time_major(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(0, "SequenceRnnOptions", "time_major")?.unwrap_or(false))
            }

            /// Getter for the [`fused_activation_function` field](SequenceRnnOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "SequenceRnnOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`asymmetric_quantize_inputs` field](SequenceRnnOptions#structfield.asymmetric_quantize_inputs).
            #[inline]
            pub fn asymmetric_quantize_inputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "SequenceRnnOptions", "asymmetric_quantize_inputs")?
                        .unwrap_or(false),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for SequenceRnnOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [BidirectionalSequenceLstmOptions].
        #[derive(Copy, Clone)]
        pub struct BidirectionalSequenceLstmOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> BidirectionalSequenceLstmOptionsRef<'a> {
            /// Getter for the [`fused_activation_function` field](BidirectionalSequenceLstmOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "BidirectionalSequenceLstmOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`cell_clip` field](BidirectionalSequenceLstmOptions#structfield.cell_clip).
            #[inline]
            pub fn cell_clip(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "BidirectionalSequenceLstmOptions", "cell_clip")?
                        .unwrap_or(0.0),
                )
            }

            /// Getter for the [`proj_clip` field](BidirectionalSequenceLstmOptions#structfield.proj_clip).
            #[inline]
            pub fn proj_clip(&self) -> ::planus::Result<f32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "BidirectionalSequenceLstmOptions", "proj_clip")?
                        .unwrap_or(0.0),
                )
            }

            /// Getter for the [`merge_outputs` field](BidirectionalSequenceLstmOptions#structfield.merge_outputs).
            #[inline]
            pub fn merge_outputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "BidirectionalSequenceLstmOptions", "merge_outputs")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`time_major` field](BidirectionalSequenceLstmOptions#structfield.time_major).
            #[inline]
            pub fn time_major(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(4, "BidirectionalSequenceLstmOptions", "time_major")?
                        .unwrap_or(true),
                )
            }

            /// Getter for the [`asymmetric_quantize_inputs` field](BidirectionalSequenceLstmOptions#structfield.asymmetric_quantize_inputs).
            #[inline]
            pub fn asymmetric_quantize_inputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(5, "BidirectionalSequenceLstmOptions", "asymmetric_quantize_inputs")?
                        .unwrap_or(false),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for BidirectionalSequenceLstmOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [BidirectionalSequenceRnnOptions].
        #[derive(Copy, Clone)]
        pub struct BidirectionalSequenceRnnOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> BidirectionalSequenceRnnOptionsRef<'a> {
            /// Getter for the [`time_major` field](BidirectionalSequenceRnnOptions#structfield.time_major).
            #[inline]
            pub fn time_major(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "BidirectionalSequenceRnnOptions", "time_major")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`fused_activation_function` field](BidirectionalSequenceRnnOptions#structfield.fused_activation_function).
            #[inline]
            pub fn fused_activation_function(&self) -> ::planus::Result<self::Activation> {
                ::core::result::Result::Ok(
                    self.0
                        .access(1, "BidirectionalSequenceRnnOptions", "fused_activation_function")?
                        .unwrap_or(self::Activation::None),
                )
            }

            /// Getter for the [`merge_outputs` field](BidirectionalSequenceRnnOptions#structfield.merge_outputs).
            #[inline]
            pub fn merge_outputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(2, "BidirectionalSequenceRnnOptions", "merge_outputs")?
                        .unwrap_or(false),
                )
            }

            /// Getter for the [`asymmetric_quantize_inputs` field](BidirectionalSequenceRnnOptions#structfield.asymmetric_quantize_inputs).
            #[inline]
            pub fn asymmetric_quantize_inputs(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(
                    self.0
                        .access(3, "BidirectionalSequenceRnnOptions", "asymmetric_quantize_inputs")?
                        .unwrap_or(false),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for BidirectionalSequenceRnnOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [UniqueOptions].
        #[derive(Copy, Clone)]
        pub struct UniqueOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> UniqueOptionsRef<'a> {
            /// Getter for the [`idx_out_type` field](UniqueOptions#structfield.idx_out_type).
            #[inline]
            pub fn idx_out_type(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(self.0.access(0, "UniqueOptions", "idx_out_type")?.unwrap_or(2))
            }
        }

        impl<'a> ::planus::TableRead<'a> for UniqueOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [BucketizeOptions].
        #[derive(Copy, Clone)]
        pub struct BucketizeOptionsRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> BucketizeOptionsRef<'a> {
            /// Getter for the [`boundaries` field](BucketizeOptions#structfield.boundaries).
            #[inline]
            pub fn boundaries(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, f32>>> {
                self.0.access(0, "BucketizeOptions", "boundaries")
            }
        }

        impl<'a> ::planus::TableRead<'a> for BucketizeOptionsRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [BuiltinOptions].
        #[derive(Copy, Clone)]
        pub enum BuiltinOptionsRef<'a> {
            Conv2DOptions(self::Conv2DOptionsRef<'a>),
            DepthwiseConv2DOptions(self::DepthwiseConv2DOptionsRef<'a>),
            ConcatEmbeddingsOptions(self::NothingRef<'a>),
            LshProjectionOptions(self::NothingRef<'a>),
            Pool2DOptions(self::Pool2DOptionsRef<'a>),
            SvdfOptions(self::NothingRef<'a>),
            RnnOptions(self::NothingRef<'a>),
            FullyConnectedOptions(self::FullyConnectedOptionsRef<'a>),
            SoftmaxOptions(self::SoftmaxOptionsRef<'a>),
            ConcatenationOptions(self::ConcatenationOptionsRef<'a>),
            AddOptions(self::AddOptionsRef<'a>),
            L2NormOptions(self::L2NormOptionsRef<'a>),
            LocalResponseNormalizationOptions(self::LocalResponseNormalizationOptionsRef<'a>),
            LstmOptions(self::NothingRef<'a>),
            ResizeBilinearOptions(self::ResizeBilinearOptionsRef<'a>),
            CallOptions(self::NothingRef<'a>),
            ReshapeOptions(self::ReshapeOptionsRef<'a>),
            SkipGramOptions(self::NothingRef<'a>),
            SpaceToDepthOptions(self::SpaceToDepthOptionsRef<'a>),
            EmbeddingLookupSparseOptions(self::NothingRef<'a>),
            MulOptions(self::MulOptionsRef<'a>),
            PadOptions(self::NothingRef<'a>),
            GatherOptions(self::GatherOptionsRef<'a>),
            BatchToSpaceNdOptions(self::NothingRef<'a>),
            SpaceToBatchNdOptions(self::NothingRef<'a>),
            TransposeOptions(self::NothingRef<'a>),
            ReducerOptions(self::ReducerOptionsRef<'a>),
            SubOptions(self::SubOptionsRef<'a>),
            DivOptions(self::DivOptionsRef<'a>),
            SqueezeOptions(self::SqueezeOptionsRef<'a>),
            SequenceRnnOptions(self::SequenceRnnOptionsRef<'a>),
            StridedSliceOptions(self::StridedSliceOptionsRef<'a>),
            ExpOptions(self::NothingRef<'a>),
            TopKv2Options(self::NothingRef<'a>),
            SplitOptions(self::SplitOptionsRef<'a>),
            LogSoftmaxOptions(self::NothingRef<'a>),
            CastOptions(self::NothingRef<'a>),
            DequantizeOptions(self::NothingRef<'a>),
            MaximumMinimumOptions(self::NothingRef<'a>),
            ArgMaxOptions(self::ArgMaxOptionsRef<'a>),
            LessOptions(self::NothingRef<'a>),
            NegOptions(self::NothingRef<'a>),
            PadV2Options(self::NothingRef<'a>),
            GreaterOptions(self::NothingRef<'a>),
            GreaterEqualOptions(self::NothingRef<'a>),
            LessEqualOptions(self::NothingRef<'a>),
            SelectOptions(self::NothingRef<'a>),
            SliceOptions(self::NothingRef<'a>),
            TransposeConvOptions(self::TransposeConvOptionsRef<'a>),
            SparseToDenseOptions(self::NothingRef<'a>),
            TileOptions(self::NothingRef<'a>),
            ExpandDimsOptions(self::NothingRef<'a>),
            EqualOptions(self::NothingRef<'a>),
            NotEqualOptions(self::NothingRef<'a>),
            ShapeOptions(self::ShapeOptionsRef<'a>),
            PowOptions(self::NothingRef<'a>),
            ArgMinOptions(self::ArgMinOptionsRef<'a>),
            FakeQuantOptions(self::FakeQuantOptionsRef<'a>),
            PackOptions(self::PackOptionsRef<'a>),
            LogicalOrOptions(self::NothingRef<'a>),
            OneHotOptions(self::OneHotOptionsRef<'a>),
            LogicalAndOptions(self::NothingRef<'a>),
            LogicalNotOptions(self::NothingRef<'a>),
            UnpackOptions(self::UnpackOptionsRef<'a>),
            FloorDivOptions(self::NothingRef<'a>),
            SquareOptions(self::NothingRef<'a>),
            ZerosLikeOptions(self::NothingRef<'a>),
            FillOptions(self::NothingRef<'a>),
            BidirectionalSequenceLstmOptions(self::BidirectionalSequenceLstmOptionsRef<'a>),
            BidirectionalSequenceRnnOptions(self::BidirectionalSequenceRnnOptionsRef<'a>),
            UnidirectionalSequenceLstmOptions(self::UnidirectionalSequenceLstmOptionsRef<'a>),
            FloorModOptions(self::NothingRef<'a>),
            RangeOptions(self::NothingRef<'a>),
            ResizeNearestNeighborOptions(self::ResizeNearestNeighborOptionsRef<'a>),
            LeakyReluOptions(self::LeakyReluOptionsRef<'a>),
            SquaredDifferenceOptions(self::NothingRef<'a>),
            MirrorPadOptions(self::MirrorPadOptionsRef<'a>),
            AbsOptions(self::NothingRef<'a>),
            SplitVOptions(self::SplitVOptionsRef<'a>),
            UniqueOptions(self::UniqueOptionsRef<'a>),
            ReverseV2Options(self::NothingRef<'a>),
            AddNOptions(self::NothingRef<'a>),
            GatherNdOptions(self::NothingRef<'a>),
            CosOptions(self::NothingRef<'a>),
            WhereOptions(self::NothingRef<'a>),
            RankOptions(self::NothingRef<'a>),
            ReverseSequenceOptions(self::ReverseSequenceOptionsRef<'a>),
            MatrixDiagOptions(self::NothingRef<'a>),
            QuantizeOptions(self::NothingRef<'a>),
            MatrixSetDiagOptions(self::NothingRef<'a>),
            HardSwishOptions(self::NothingRef<'a>),
            IfOptions(self::NothingRef<'a>),
            WhileOptions(self::NothingRef<'a>),
            DepthToSpaceOptions(self::DepthToSpaceOptionsRef<'a>),
            NonMaxSuppressionV4Options(self::NothingRef<'a>),
            NonMaxSuppressionV5Options(self::NothingRef<'a>),
            ScatterNdOptions(self::NothingRef<'a>),
            SelectV2Options(self::NothingRef<'a>),
            DensifyOptions(self::NothingRef<'a>),
            SegmentSumOptions(self::NothingRef<'a>),
            BatchMatMulOptions(self::BatchMatMulOptionsRef<'a>),
            CumsumOptions(self::CumsumOptionsRef<'a>),
            CallOnceOptions(self::NothingRef<'a>),
            BroadcastToOptions(self::NothingRef<'a>),
            Rfft2dOptions(self::NothingRef<'a>),
            Conv3DOptions(self::Conv3DOptionsRef<'a>),
            HashtableOptions(self::NothingRef<'a>),
            HashtableFindOptions(self::NothingRef<'a>),
            HashtableImportOptions(self::NothingRef<'a>),
            HashtableSizeOptions(self::NothingRef<'a>),
            VarHandleOptions(self::NothingRef<'a>),
            ReadVariableOptions(self::NothingRef<'a>),
            AssignVariableOptions(self::NothingRef<'a>),
            RandomOptions(self::NothingRef<'a>),
            BucketizeOptions(self::BucketizeOptionsRef<'a>),
            GeluOptions(self::GeluOptionsRef<'a>),
            DynamicUpdateSliceOptions(self::NothingRef<'a>),
            UnsortedSegmentProdOptions(self::NothingRef<'a>),
            UnsortedSegmentMaxOptions(self::NothingRef<'a>),
            UnsortedSegmentMinOptions(self::NothingRef<'a>),
            UnsortedSegmentSumOptions(self::NothingRef<'a>),
            ATan2Options(self::NothingRef<'a>),
            SignOptions(self::NothingRef<'a>),
            BitcastOptions(self::NothingRef<'a>),
            BitwiseXorOptions(self::NothingRef<'a>),
            RightShiftOptions(self::NothingRef<'a>),
        }

        impl<'a> ::planus::TableReadUnion<'a> for BuiltinOptionsRef<'a> {
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                tag: u8,
                field_offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                match tag {
                    1 => ::core::result::Result::Ok(Self::Conv2DOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    2 => ::core::result::Result::Ok(Self::DepthwiseConv2DOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    3 => ::core::result::Result::Ok(Self::ConcatEmbeddingsOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    4 => ::core::result::Result::Ok(Self::LshProjectionOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    5 => ::core::result::Result::Ok(Self::Pool2DOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    6 => ::core::result::Result::Ok(Self::SvdfOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    7 => ::core::result::Result::Ok(Self::RnnOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    8 => ::core::result::Result::Ok(Self::FullyConnectedOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    9 => ::core::result::Result::Ok(Self::SoftmaxOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    10 => ::core::result::Result::Ok(Self::ConcatenationOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    11 => ::core::result::Result::Ok(Self::AddOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    12 => ::core::result::Result::Ok(Self::L2NormOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    13 => ::core::result::Result::Ok(Self::LocalResponseNormalizationOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    14 => ::core::result::Result::Ok(Self::LstmOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    15 => ::core::result::Result::Ok(Self::ResizeBilinearOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    16 => ::core::result::Result::Ok(Self::CallOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    17 => ::core::result::Result::Ok(Self::ReshapeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    18 => ::core::result::Result::Ok(Self::SkipGramOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    19 => ::core::result::Result::Ok(Self::SpaceToDepthOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    20 => ::core::result::Result::Ok(Self::EmbeddingLookupSparseOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    21 => ::core::result::Result::Ok(Self::MulOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    22 => ::core::result::Result::Ok(Self::PadOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    23 => ::core::result::Result::Ok(Self::GatherOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    24 => ::core::result::Result::Ok(Self::BatchToSpaceNdOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    25 => ::core::result::Result::Ok(Self::SpaceToBatchNdOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    26 => ::core::result::Result::Ok(Self::TransposeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    27 => ::core::result::Result::Ok(Self::ReducerOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    28 => ::core::result::Result::Ok(Self::SubOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    29 => ::core::result::Result::Ok(Self::DivOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    30 => ::core::result::Result::Ok(Self::SqueezeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    31 => ::core::result::Result::Ok(Self::SequenceRnnOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    32 => ::core::result::Result::Ok(Self::StridedSliceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    33 => ::core::result::Result::Ok(Self::ExpOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    34 => ::core::result::Result::Ok(Self::TopKv2Options(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    35 => ::core::result::Result::Ok(Self::SplitOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    36 => ::core::result::Result::Ok(Self::LogSoftmaxOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    37 => ::core::result::Result::Ok(Self::CastOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    38 => ::core::result::Result::Ok(Self::DequantizeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    39 => ::core::result::Result::Ok(Self::MaximumMinimumOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    40 => ::core::result::Result::Ok(Self::ArgMaxOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    41 => ::core::result::Result::Ok(Self::LessOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    42 => ::core::result::Result::Ok(Self::NegOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    43 => ::core::result::Result::Ok(Self::PadV2Options(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    44 => ::core::result::Result::Ok(Self::GreaterOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    45 => ::core::result::Result::Ok(Self::GreaterEqualOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    46 => ::core::result::Result::Ok(Self::LessEqualOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    47 => ::core::result::Result::Ok(Self::SelectOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    48 => ::core::result::Result::Ok(Self::SliceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    49 => ::core::result::Result::Ok(Self::TransposeConvOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    50 => ::core::result::Result::Ok(Self::SparseToDenseOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    51 => ::core::result::Result::Ok(Self::TileOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    52 => ::core::result::Result::Ok(Self::ExpandDimsOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    53 => ::core::result::Result::Ok(Self::EqualOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    54 => ::core::result::Result::Ok(Self::NotEqualOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    55 => ::core::result::Result::Ok(Self::ShapeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    56 => ::core::result::Result::Ok(Self::PowOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    57 => ::core::result::Result::Ok(Self::ArgMinOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    58 => ::core::result::Result::Ok(Self::FakeQuantOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    59 => ::core::result::Result::Ok(Self::PackOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    60 => ::core::result::Result::Ok(Self::LogicalOrOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    61 => ::core::result::Result::Ok(Self::OneHotOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    62 => ::core::result::Result::Ok(Self::LogicalAndOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    63 => ::core::result::Result::Ok(Self::LogicalNotOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    64 => ::core::result::Result::Ok(Self::UnpackOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    65 => ::core::result::Result::Ok(Self::FloorDivOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    66 => ::core::result::Result::Ok(Self::SquareOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    67 => ::core::result::Result::Ok(Self::ZerosLikeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    68 => ::core::result::Result::Ok(Self::FillOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    69 => ::core::result::Result::Ok(Self::BidirectionalSequenceLstmOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    70 => ::core::result::Result::Ok(Self::BidirectionalSequenceRnnOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    71 => ::core::result::Result::Ok(Self::UnidirectionalSequenceLstmOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    72 => ::core::result::Result::Ok(Self::FloorModOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    73 => ::core::result::Result::Ok(Self::RangeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    74 => ::core::result::Result::Ok(Self::ResizeNearestNeighborOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    75 => ::core::result::Result::Ok(Self::LeakyReluOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    76 => ::core::result::Result::Ok(Self::SquaredDifferenceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    77 => ::core::result::Result::Ok(Self::MirrorPadOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    78 => ::core::result::Result::Ok(Self::AbsOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    79 => ::core::result::Result::Ok(Self::SplitVOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    80 => ::core::result::Result::Ok(Self::UniqueOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    81 => ::core::result::Result::Ok(Self::ReverseV2Options(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    82 => ::core::result::Result::Ok(Self::AddNOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    83 => ::core::result::Result::Ok(Self::GatherNdOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    84 => ::core::result::Result::Ok(Self::CosOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    85 => ::core::result::Result::Ok(Self::WhereOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    86 => ::core::result::Result::Ok(Self::RankOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    87 => ::core::result::Result::Ok(Self::ReverseSequenceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    88 => ::core::result::Result::Ok(Self::MatrixDiagOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    89 => ::core::result::Result::Ok(Self::QuantizeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    90 => ::core::result::Result::Ok(Self::MatrixSetDiagOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    91 => ::core::result::Result::Ok(Self::HardSwishOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    92 => ::core::result::Result::Ok(Self::IfOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    93 => ::core::result::Result::Ok(Self::WhileOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    94 => ::core::result::Result::Ok(Self::DepthToSpaceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    95 => ::core::result::Result::Ok(Self::NonMaxSuppressionV4Options(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    96 => ::core::result::Result::Ok(Self::NonMaxSuppressionV5Options(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    97 => ::core::result::Result::Ok(Self::ScatterNdOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    98 => ::core::result::Result::Ok(Self::SelectV2Options(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    99 => ::core::result::Result::Ok(Self::DensifyOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    100 => ::core::result::Result::Ok(Self::SegmentSumOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    101 => ::core::result::Result::Ok(Self::BatchMatMulOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    102 => ::core::result::Result::Ok(Self::CumsumOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    103 => ::core::result::Result::Ok(Self::CallOnceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    104 => ::core::result::Result::Ok(Self::BroadcastToOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    105 => ::core::result::Result::Ok(Self::Rfft2dOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    106 => ::core::result::Result::Ok(Self::Conv3DOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    107 => ::core::result::Result::Ok(Self::HashtableOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    108 => ::core::result::Result::Ok(Self::HashtableFindOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    109 => ::core::result::Result::Ok(Self::HashtableImportOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    110 => ::core::result::Result::Ok(Self::HashtableSizeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    111 => ::core::result::Result::Ok(Self::VarHandleOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    112 => ::core::result::Result::Ok(Self::ReadVariableOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    113 => ::core::result::Result::Ok(Self::AssignVariableOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    114 => ::core::result::Result::Ok(Self::RandomOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    115 => ::core::result::Result::Ok(Self::BucketizeOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    116 => ::core::result::Result::Ok(Self::GeluOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    117 => ::core::result::Result::Ok(Self::DynamicUpdateSliceOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    118 => ::core::result::Result::Ok(Self::UnsortedSegmentProdOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    119 => ::core::result::Result::Ok(Self::UnsortedSegmentMaxOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    120 => ::core::result::Result::Ok(Self::UnsortedSegmentMinOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    121 => ::core::result::Result::Ok(Self::UnsortedSegmentSumOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    122 => ::core::result::Result::Ok(Self::ATan2Options(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    123 => ::core::result::Result::Ok(Self::SignOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    124 => ::core::result::Result::Ok(Self::BitcastOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    125 => ::core::result::Result::Ok(Self::BitwiseXorOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    126 => ::core::result::Result::Ok(Self::RightShiftOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    _ => ::core::result::Result::Err(::planus::errors::ErrorKind::UnknownUnionTag { tag }),
                }
            }
        }

        /// Reference to a deserialized [BuiltinOptions2].
        #[derive(Copy, Clone)]
        pub enum BuiltinOptions2Ref<'a> {
            StablehloConcatenateOptions(self::NothingRef<'a>),
            StablehloBroadcastInDimOptions(self::NothingRef<'a>),
            StablehloSliceOptions(self::NothingRef<'a>),
            StablehloConvolutionOptions(self::NothingRef<'a>),
            StablehloCustomCallOptions(self::NothingRef<'a>),
            StablehloReduceOptions(self::NothingRef<'a>),
            StablehloScatterOptions(self::NothingRef<'a>),
            StablehloCompareOptions(self::NothingRef<'a>),
            StablehloDynamicSliceOptions(self::NothingRef<'a>),
            StablehloPadOptions(self::NothingRef<'a>),
            StablehloIotaOptions(self::NothingRef<'a>),
            StablehloDotGeneralOptions(self::NothingRef<'a>),
            StablehloReduceWindowOptions(self::NothingRef<'a>),
            StablehloSortOptions(self::NothingRef<'a>),
            StablehloWhileOptions(self::NothingRef<'a>),
            StablehloGatherOptions(self::NothingRef<'a>),
            StablehloTransposeOptions(self::NothingRef<'a>),
            DilateOptions(self::NothingRef<'a>),
            StablehloRngBitGeneratorOptions(self::NothingRef<'a>),
            ReduceWindowOptions(self::NothingRef<'a>),
            StableHloCompositeOptions(self::NothingRef<'a>),
            StablehloShiftLeftOptions(self::NothingRef<'a>),
            StablehloCaseOptions(self::NothingRef<'a>),
        }

        impl<'a> ::planus::TableReadUnion<'a> for BuiltinOptions2Ref<'a> {
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                tag: u8,
                field_offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                match tag {
                    1 => ::core::result::Result::Ok(Self::StablehloConcatenateOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    2 => ::core::result::Result::Ok(Self::StablehloBroadcastInDimOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    3 => ::core::result::Result::Ok(Self::StablehloSliceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    4 => ::core::result::Result::Ok(Self::StablehloConvolutionOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    5 => ::core::result::Result::Ok(Self::StablehloCustomCallOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    6 => ::core::result::Result::Ok(Self::StablehloReduceOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    7 => ::core::result::Result::Ok(Self::StablehloScatterOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    8 => ::core::result::Result::Ok(Self::StablehloCompareOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    9 => ::core::result::Result::Ok(Self::StablehloDynamicSliceOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    10 => ::core::result::Result::Ok(Self::StablehloPadOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    11 => ::core::result::Result::Ok(Self::StablehloIotaOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    12 => ::core::result::Result::Ok(Self::StablehloDotGeneralOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    13 => ::core::result::Result::Ok(Self::StablehloReduceWindowOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    14 => ::core::result::Result::Ok(Self::StablehloSortOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    15 => ::core::result::Result::Ok(Self::StablehloWhileOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    16 => ::core::result::Result::Ok(Self::StablehloGatherOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    17 => ::core::result::Result::Ok(Self::StablehloTransposeOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    18 => ::core::result::Result::Ok(Self::DilateOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    19 => ::core::result::Result::Ok(Self::StablehloRngBitGeneratorOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    20 => ::core::result::Result::Ok(Self::ReduceWindowOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    21 => ::core::result::Result::Ok(Self::StableHloCompositeOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    22 => ::core::result::Result::Ok(Self::StablehloShiftLeftOptions(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    23 => ::core::result::Result::Ok(Self::StablehloCaseOptions(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    _ => ::core::result::Result::Err(::planus::errors::ErrorKind::UnknownUnionTag { tag }),
                }
            }
        }

        /// Reference to a deserialized [CustomQuantization].
        #[derive(Copy, Clone)]
        pub struct CustomQuantizationRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> CustomQuantizationRef<'a> {}

        impl<'a> ::planus::TableRead<'a> for CustomQuantizationRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [BlockwiseQuantization].
        #[derive(Copy, Clone)]
        pub struct BlockwiseQuantizationRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> BlockwiseQuantizationRef<'a> {}

        impl<'a> ::planus::TableRead<'a> for BlockwiseQuantizationRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [MultiAxisQuantization].
        #[derive(Copy, Clone)]
        pub struct MultiAxisQuantizationRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> MultiAxisQuantizationRef<'a> {}

        impl<'a> ::planus::TableRead<'a> for MultiAxisQuantizationRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [QuantizationDetails].
        #[derive(Copy, Clone)]
        pub enum QuantizationDetailsRef<'a> {
            CustomQuantization(self::CustomQuantizationRef<'a>),
            BlockwiseQuantization(self::BlockwiseQuantizationRef<'a>),
            MultiAxisQuantization(self::MultiAxisQuantizationRef<'a>),
        }

        impl<'a> ::planus::TableReadUnion<'a> for QuantizationDetailsRef<'a> {
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                tag: u8,
                field_offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                match tag {
                    1 => ::core::result::Result::Ok(Self::CustomQuantization(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    2 => ::core::result::Result::Ok(Self::BlockwiseQuantization(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    3 => ::core::result::Result::Ok(Self::MultiAxisQuantization(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    _ => ::core::result::Result::Err(::planus::errors::ErrorKind::UnknownUnionTag { tag }),
                }
            }
        }

        /// Reference to a deserialized [QuantizationParameters].
        #[derive(Copy, Clone)]
        pub struct QuantizationParametersRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> QuantizationParametersRef<'a> {
            /// Getter for the [`min` field](QuantizationParameters#structfield.min).
            #[inline]
            pub fn min(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, f32>>> {
                self.0.access(0, "QuantizationParameters", "min")
            }

            /// Getter for the [`max` field](QuantizationParameters#structfield.max).
            #[inline]
            pub fn max(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, f32>>> {
                self.0.access(1, "QuantizationParameters", "max")
            }

            /// Getter for the [`scale` field](QuantizationParameters#structfield.scale).
            #[inline]
            pub fn scale(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, f32>>> {
                self.0.access(2, "QuantizationParameters", "scale")
            }

            /// Getter for the [`zero_point` field](QuantizationParameters#structfield.zero_point).
            #[inline]
            pub fn zero_point(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i64>>> {
                self.0.access(3, "QuantizationParameters", "zero_point")
            }

            /// Getter for the [`details` field](QuantizationParameters#structfield.details).
            #[inline]
            pub fn details(&self) -> ::planus::Result<::core::option::Option<self::QuantizationDetailsRef<'a>>> {
                self.0.access_union(4, "QuantizationParameters", "details")
            }

            /// Getter for the [`quantized_dimension` field](QuantizationParameters#structfield.quantized_dimension).
            #[inline]
            pub fn quantized_dimension(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(
                    self.0
                        .access(6, "QuantizationParameters", "quantized_dimension")?
                        .unwrap_or(0),
                )
            }
        }

        impl<'a> ::planus::TableRead<'a> for QuantizationParametersRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [SparsityParameters].
        #[derive(Copy, Clone)]
        pub struct SparsityParametersRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SparsityParametersRef<'a> {}

        impl<'a> ::planus::TableRead<'a> for SparsityParametersRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        /// Reference to a deserialized [Tensor].
        #[derive(Copy, Clone)]
        pub struct TensorRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> TensorRef<'a> {
            /// Getter for the [`shape` field](Tensor#structfield.shape).
            #[inline]
            pub fn shape(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(0, "Tensor", "shape")
            }

            /// Getter for the [`type` field](Tensor#structfield.type_).
            #[inline]
            pub fn type_(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(self.0.access(1, "Tensor", "type_")?.unwrap_or(0))
            }

            /// Getter for the [`buffer` field](Tensor#structfield.buffer).
            #[inline]
            pub fn buffer(&self) -> ::planus::Result<u32> {
                ::core::result::Result::Ok(self.0.access(2, "Tensor", "buffer")?.unwrap_or(0))
            }

            /// Getter for the [`name` field](Tensor#structfield.name).
            #[inline]
            pub fn name(&self) -> ::planus::Result<::core::option::Option<&'a ::core::primitive::str>> {
                self.0.access(3, "Tensor", "name")
            }

            /// Getter for the [`quantization` field](Tensor#structfield.quantization).
            #[inline]
            pub fn quantization(
                &self,
            ) -> ::planus::Result<::core::option::Option<self::QuantizationParametersRef<'a>>> {
                self.0.access(4, "Tensor", "quantization")
            }

            /// Getter for the [`is_variable` field](Tensor#structfield.is_variable).
            #[inline]
            pub fn is_variable(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(5, "Tensor", "is_variable")?.unwrap_or(false))
            }

            /// Getter for the [`sparsity` field](Tensor#structfield.sparsity).
            #[inline]
            pub fn sparsity(&self) -> ::planus::Result<::core::option::Option<self::SparsityParametersRef<'a>>> {
                self.0.access(6, "Tensor", "sparsity")
            }

            /// Getter for the [`shape_signature` field](Tensor#structfield.shape_signature).
            #[inline]
            pub fn shape_signature(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(7, "Tensor", "shape_signature")
            }

            /// Getter for the [`has_rank` field](Tensor#structfield.has_rank).
            #[inline]
            pub fn has_rank(&self) -> ::planus::Result<bool> {
                ::core::result::Result::Ok(self.0.access(8, "Tensor", "has_rank")?.unwrap_or(false))
            }

            /// Getter for the [`variant_tensors` field](Tensor#structfield.variant_tensors).
            #[inline]
            pub fn variant_tensors(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::NothingRef<'a>>>>>
            {
                self.0.access(9, "Tensor", "variant_tensors")
            }

            /// Getter for the [`external_buffer` field](Tensor#structfield.external_buffer).
            #[inline]
            pub fn external_buffer(&self) -> ::planus::Result<u32> {
                ::core::result::Result::Ok(self.0.access(10, "Tensor", "external_buffer")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for TensorRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for TensorRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(buffer: ::planus::SliceWithStartOffset<'a>, offset: usize) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[TensorRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// Reference to a deserialized [OperatorCode].
        #[derive(Copy, Clone)]
        pub struct OperatorCodeRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> OperatorCodeRef<'a> {
            /// Getter for the [`deprecated_builtin_code` field](OperatorCode#structfield.deprecated_builtin_code).
            #[inline]
            pub fn deprecated_builtin_code(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(
                    self.0
                        .access(0, "OperatorCode", "deprecated_builtin_code")?
                        .unwrap_or(0),
                )
            }

            /// Getter for the [`custom_code` field](OperatorCode#structfield.custom_code).
            #[inline]
            pub fn custom_code(&self) -> ::planus::Result<::core::option::Option<&'a ::core::primitive::str>> {
                self.0.access(1, "OperatorCode", "custom_code")
            }

            /// Getter for the [`version` field](OperatorCode#structfield.version).
            #[inline]
            pub fn version(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(2, "OperatorCode", "version")?.unwrap_or(1))
            }

            /// Getter for the [`builtin_code` field](OperatorCode#structfield.builtin_code).
            #[inline]
            pub fn builtin_code(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(3, "OperatorCode", "builtin_code")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for OperatorCodeRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for OperatorCodeRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(buffer: ::planus::SliceWithStartOffset<'a>, offset: usize) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[OperatorCodeRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// Reference to a deserialized [Operator].
        #[derive(Copy, Clone)]
        pub struct OperatorRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> OperatorRef<'a> {
            /// Getter for the [`opcode_index` field](Operator#structfield.opcode_index).
            #[inline]
            pub fn opcode_index(&self) -> ::planus::Result<u32> {
                ::core::result::Result::Ok(self.0.access(0, "Operator", "opcode_index")?.unwrap_or(0))
            }

            /// Getter for the [`inputs` field](Operator#structfield.inputs).
            #[inline]
            pub fn inputs(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(1, "Operator", "inputs")
            }

            /// Getter for the [`outputs` field](Operator#structfield.outputs).
            #[inline]
            pub fn outputs(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(2, "Operator", "outputs")
            }

            /// Getter for the [`builtin_options` field](Operator#structfield.builtin_options).
            #[inline]
            pub fn builtin_options(&self) -> ::planus::Result<::core::option::Option<self::BuiltinOptionsRef<'a>>> {
                self.0.access_union(3, "Operator", "builtin_options")
            }

            /// Getter for the [`custom_options` field](Operator#structfield.custom_options).
            #[inline]
            pub fn custom_options(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(5, "Operator", "custom_options")
            }

            /// Getter for the [`custom_options_format` field](Operator#structfield.custom_options_format).
            #[inline]
            pub fn custom_options_format(&self) -> ::planus::Result<i8> {
                ::core::result::Result::Ok(self.0.access(6, "Operator", "custom_options_format")?.unwrap_or(0))
            }

            /// Getter for the [`mutating_variable_inputs` field](Operator#structfield.mutating_variable_inputs).
            #[inline]
            pub fn mutating_variable_inputs(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, bool>>> {
                self.0.access(7, "Operator", "mutating_variable_inputs")
            }

            /// Getter for the [`intermediates` field](Operator#structfield.intermediates).
            #[inline]
            pub fn intermediates(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(8, "Operator", "intermediates")
            }

            /// Getter for the [`large_custom_options_offset` field](Operator#structfield.large_custom_options_offset).
            #[inline]
            pub fn large_custom_options_offset(&self) -> ::planus::Result<u64> {
                ::core::result::Result::Ok(
                    self.0
                        .access(9, "Operator", "large_custom_options_offset")?
                        .unwrap_or(0),
                )
            }

            /// Getter for the [`large_custom_options_size` field](Operator#structfield.large_custom_options_size).
            #[inline]
            pub fn large_custom_options_size(&self) -> ::planus::Result<u64> {
                ::core::result::Result::Ok(self.0.access(10, "Operator", "large_custom_options_size")?.unwrap_or(0))
            }

            /// Getter for the [`builtin_options_2` field](Operator#structfield.builtin_options_2).
            #[inline]
            pub fn builtin_options_2(&self) -> ::planus::Result<::core::option::Option<self::BuiltinOptions2Ref<'a>>> {
                self.0.access_union(11, "Operator", "builtin_options_2")
            }

            /// Getter for the [`debug_metadata_index` field](Operator#structfield.debug_metadata_index).
            #[inline]
            pub fn debug_metadata_index(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(13, "Operator", "debug_metadata_index")?.unwrap_or(-1))
            }
        }

        impl<'a> ::planus::TableRead<'a> for OperatorRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for OperatorRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(buffer: ::planus::SliceWithStartOffset<'a>, offset: usize) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[OperatorRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// Reference to a deserialized [SubGraph].
        #[derive(Copy, Clone)]
        pub struct SubGraphRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SubGraphRef<'a> {
            /// Getter for the [`tensors` field](SubGraph#structfield.tensors).
            #[inline]
            pub fn tensors(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::TensorRef<'a>>>>>
            {
                self.0.access(0, "SubGraph", "tensors")
            }

            /// Getter for the [`inputs` field](SubGraph#structfield.inputs).
            #[inline]
            pub fn inputs(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(1, "SubGraph", "inputs")
            }

            /// Getter for the [`outputs` field](SubGraph#structfield.outputs).
            #[inline]
            pub fn outputs(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(2, "SubGraph", "outputs")
            }

            /// Getter for the [`operators` field](SubGraph#structfield.operators).
            #[inline]
            pub fn operators(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::OperatorRef<'a>>>>>
            {
                self.0.access(3, "SubGraph", "operators")
            }

            /// Getter for the [`name` field](SubGraph#structfield.name).
            #[inline]
            pub fn name(&self) -> ::planus::Result<::core::option::Option<&'a ::core::primitive::str>> {
                self.0.access(4, "SubGraph", "name")
            }

            /// Getter for the [`debug_metadata_index` field](SubGraph#structfield.debug_metadata_index).
            #[inline]
            pub fn debug_metadata_index(&self) -> ::planus::Result<i32> {
                ::core::result::Result::Ok(self.0.access(5, "SubGraph", "debug_metadata_index")?.unwrap_or(-1))
            }
        }

        impl<'a> ::planus::TableRead<'a> for SubGraphRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for SubGraphRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(buffer: ::planus::SliceWithStartOffset<'a>, offset: usize) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[SubGraphRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// Reference to a deserialized [Buffer].
        #[derive(Copy, Clone)]
        pub struct BufferRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> BufferRef<'a> {
            /// Getter for the [`data` field](Buffer#structfield.data).
            #[inline]
            pub fn data(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(0, "Buffer", "data")
            }

            /// Getter for the [`offset` field](Buffer#structfield.offset).
            #[inline]
            pub fn offset(&self) -> ::planus::Result<u64> {
                ::core::result::Result::Ok(self.0.access(1, "Buffer", "offset")?.unwrap_or(0))
            }

            /// Getter for the [`size` field](Buffer#structfield.size).
            #[inline]
            pub fn size(&self) -> ::planus::Result<u64> {
                ::core::result::Result::Ok(self.0.access(2, "Buffer", "size")?.unwrap_or(0))
            }
        }

        impl<'a> ::planus::TableRead<'a> for BufferRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for BufferRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(buffer: ::planus::SliceWithStartOffset<'a>, offset: usize) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[BufferRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// Reference to a deserialized [Model].
        #[derive(Copy, Clone)]
        pub struct ModelRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ModelRef<'a> {
            /// Getter for the [`version` field](Model#structfield.version).
            #[inline]
            pub fn version(&self) -> ::planus::Result<u32> {
                ::core::result::Result::Ok(self.0.access(0, "Model", "version")?.unwrap_or(0))
            }

            /// Getter for the [`operator_codes` field](Model#structfield.operator_codes).
            #[inline]
            pub fn operator_codes(
                &self,
            ) -> ::planus::Result<
                ::core::option::Option<::planus::Vector<'a, ::planus::Result<self::OperatorCodeRef<'a>>>>,
            > {
                self.0.access(1, "Model", "operator_codes")
            }

            /// Getter for the [`subgraphs` field](Model#structfield.subgraphs).
            #[inline]
            pub fn subgraphs(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::SubGraphRef<'a>>>>>
            {
                self.0.access(2, "Model", "subgraphs")
            }

            /// Getter for the [`description` field](Model#structfield.description).
            #[inline]
            pub fn description(&self) -> ::planus::Result<::core::option::Option<&'a ::core::primitive::str>> {
                self.0.access(3, "Model", "description")
            }

            /// Getter for the [`buffers` field](Model#structfield.buffers).
            #[inline]
            pub fn buffers(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::BufferRef<'a>>>>>
            {
                self.0.access(4, "Model", "buffers")
            }

            /// Getter for the [`metadata_buffer` field](Model#structfield.metadata_buffer).
            #[inline]
            pub fn metadata_buffer(&self) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, i32>>> {
                self.0.access(5, "Model", "metadata_buffer")
            }

            /// Getter for the [`metadata` field](Model#structfield.metadata).
            #[inline]
            pub fn metadata(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::NothingRef<'a>>>>>
            {
                self.0.access(6, "Model", "metadata")
            }

            /// Getter for the [`signature_defs` field](Model#structfield.signature_defs).
            #[inline]
            pub fn signature_defs(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::NothingRef<'a>>>>>
            {
                self.0.access(7, "Model", "signature_defs")
            }

            /// Getter for the [`external_buffer_groups` field](Model#structfield.external_buffer_groups).
            #[inline]
            pub fn external_buffer_groups(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::NothingRef<'a>>>>>
            {
                self.0.access(8, "Model", "external_buffer_groups")
            }

            /// Getter for the [`external_buffers` field](Model#structfield.external_buffers).
            #[inline]
            pub fn external_buffers(
                &self,
            ) -> ::planus::Result<::core::option::Option<::planus::Vector<'a, ::planus::Result<self::NothingRef<'a>>>>>
            {
                self.0.access(9, "Model", "external_buffers")
            }
        }

        impl<'a> ::planus::TableRead<'a> for ModelRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for ModelRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset {
                        buffer: slice,
                        offset_from_start: 0,
                    },
                    0,
                )
                .map_err(|error_kind| error_kind.with_error_location("[ModelRef]", "read_as_root", 0))
            }
        }
    }
}
