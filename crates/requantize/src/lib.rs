//! Integer arithmetic of quantized inference.
