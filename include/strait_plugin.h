/* The interface between Strait and a plugin in a shared library.
 *
 * A plugin exports one function, strait_plugin_entry, which returns a strait_plugin: its name, the table of its target, and
 * up to five functions. docs/plugins/interface.md explains each of them. These rules hold for all of them:
 *
 * - Sizes. Every struct begins with struct_size, its size as the side that filled it knows it. Later versions only add fields
 *   at the end of a struct. Read a field only if struct_size includes it (STRAIT_HAS), and never compare sizes for equality.
 * - Functions. Each may be NULL; the other side then does without it.
 * - Memory. Neither side frees memory of the other. What a call hands over is valid until the call returns. What a plugin
 *   points to from its strait_plugin must stay valid for as long as the process runs. A library is never unloaded.
 * - Text is UTF-8 with a length and without a NUL at its end.
 * - Threads. Calls come one after the other, except that several threads may call requantize at once. No call may let an
 *   exception escape: C++ functions must be noexcept.
 * - Processes. A call must not change the process: signals and their handlers, the floating-point mode, the working folder.
 * - Numbers are in the machine's byte order; IR bytes and tensors are little-endian. Pointers have 64 bits.
 */
#ifndef STRAIT_PLUGIN_H
#define STRAIT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define STRAIT_ASSERT(condition) static_assert(condition, #condition)
extern "C" {
#else
#define STRAIT_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/* Three versions. They are independent of each other and of Strait's own version. */

/* Version of this interface. Another major version is refused. A later minor version adds fields, functions and constants
 * after the existing ones. None of them is required. */
#define STRAIT_INTERFACE_MAJOR 1
#define STRAIT_INTERFACE_MINOR 0
/* Value of the key `schema` in target tables. */
#define STRAIT_TABLE_SCHEMA 2
/* Version of the IR bytes, which docs/ir-bytes.md describes. */
#define STRAIT_IR_MAJOR 2
#define STRAIT_IR_MINOR 0

/* True if the struct that POINTER points to contains FIELD. */
#define STRAIT_HAS(POINTER, TYPE, FIELD) \
    ((POINTER)->struct_size >= offsetof(TYPE, FIELD) + sizeof(((TYPE *)0)->FIELD))

/* What a call returns. Any other number counts as STRAIT_INTERNAL. */
typedef int32_t strait_status;
#define STRAIT_OK 0
/* The plugin does not support this. */
#define STRAIT_UNSUPPORTED 1
/* An argument makes no sense. The caller is at fault. */
#define STRAIT_INVALID_ARGUMENT 2
/* A panic or an exception was caught. */
#define STRAIT_PANIC 3
/* The side that returns this has a bug. */
#define STRAIT_INTERNAL 4
/* There is not enough memory or disk space. */
#define STRAIT_RESOURCE 5
/* The versions do not fit together. */
#define STRAIT_VERSION 6

/* Severity of a report. */
#define STRAIT_REMARK 0
#define STRAIT_WARNING 1
#define STRAIT_ERROR 2
/* Value for a report that is not about a node. */
#define STRAIT_NO_NODE UINT32_MAX

/* The host. It is valid until the call returns to which it was given. */
typedef struct strait_host {
    uint32_t struct_size;
    /* These two and struct_size keep their places in all versions, here and in strait_plugin. */
    uint32_t interface_major;
    uint32_t interface_minor;
    /* The newest schema of tables that the host reads. */
    uint32_t table_schema;
    /* Version of the IR bytes that the host writes. */
    uint32_t ir_major;
    uint32_t ir_minor;
    /* First argument of report. */
    void *context;
    /* Shows a message to whoever runs Strait. If a call fails, its last STRAIT_ERROR is the error message. `node` is the
     * index of a node in the main graph of the IR bytes, or STRAIT_NO_NODE. The text is copied. */
    void (*report)(void *context, uint32_t severity, uint32_t node, const char *text, uint64_t text_size);
} strait_host;

/* Type of codes and of a tensor's elements. The numbers are those of IR bytes. */
#define STRAIT_F32 0
#define STRAIT_F16 1
#define STRAIT_F64 2
#define STRAIT_I8 3
#define STRAIT_U8 4
#define STRAIT_I16 5
#define STRAIT_I32 6
#define STRAIT_I64 7
#define STRAIT_BOOL 8
#define STRAIT_U16 9
#define STRAIT_I4 10
#define STRAIT_U4 11

/* Type of an option's value. */
#define STRAIT_OPTION_TEXT 0
#define STRAIT_OPTION_INTEGER 1
#define STRAIT_OPTION_BOOL 2

/* An option that the table declares, with its value. */
typedef struct strait_option {
    uint32_t struct_size;
    uint32_t kind;
    const char *name;
    uint64_t name_size;
    /* The value if it is a text; otherwise NULL. */
    const char *text;
    uint64_t text_size;
    /* The value if it is a number, or 0 or 1 if it is a truth value. */
    int64_t number;
} strait_option;

/* Argument of open: the values of the target's options. */
typedef struct strait_open {
    uint32_t struct_size;
    uint32_t option_count;
    /* All options of the table, sorted by name. The distance from one to the next is option_stride bytes. */
    const strait_option *options;
    uint64_t option_stride;
} strait_open;

/* The families of arithmetic. x is an accumulator. Results saturate to low and high of the form.
 *
 *   AFFINE        round((x * factor + addend) / 2^shift) + zero_point
 *   DOUBLING      half_away(half_up((x * factor + addend) / 2^31) / 2^(shift - 31)) + zero_point
 *   FLOAT         half_even(f32(x) * scale) + zero_point; conversion and product rounded to float
 *   DOUBLE        half_away(x * scale) + zero_point; the product rounded to double
 *   FLOAT_AFFINE  half_even(f32(x) * scale * second_scale + offset); each operation rounded to float
 *   STEPS         zero_point + the number of thresholds that are at most x
 *
 * All three round to the nearest integer. half_up rounds ties towards plus infinity, half_away away from zero, and half_even
 * to the even integer. Integer arithmetic is exact: inside the domain nothing overflows 64 bits. */
#define STRAIT_FAMILY_AFFINE 0
#define STRAIT_FAMILY_DOUBLING 1
#define STRAIT_FAMILY_FLOAT 2
#define STRAIT_FAMILY_DOUBLE 3
#define STRAIT_FAMILY_FLOAT_AFFINE 4
#define STRAIT_FAMILY_STEPS 5

/* How AFFINE rounds. */
#define STRAIT_ROUND_FLOOR 0
#define STRAIT_ROUND_CEIL 1
#define STRAIT_ROUND_TOWARD_ZERO 2
#define STRAIT_ROUND_HALF_UP 3
#define STRAIT_ROUND_HALF_DOWN 4
#define STRAIT_ROUND_HALF_AWAY 5
#define STRAIT_ROUND_HALF_TOWARD_ZERO 6
#define STRAIT_ROUND_HALF_EVEN 7

/* A requantization: for each channel a family of arithmetic and its numbers. */
typedef struct strait_form {
    uint32_t struct_size;
    /* Number of entries in each array; at least 1. */
    uint32_t channels;
    /* 1 if each channel has its own entry. 0 if there is one entry for all channels. */
    uint32_t per_channel;
    /* Type of the codes. */
    uint32_t out;
    /* Smallest and largest code. */
    int32_t low;
    int32_t high;
    /* Name of the form's row in the table. */
    const char *row;
    uint64_t row_size;
    /* The form as JSON, with the kind that the table names, for plugins that link Strait. */
    const char *json;
    uint64_t json_size;
    /* The arrays. Numbers that a family does not use are 0. */
    const uint32_t *family;
    const uint32_t *rounding;
    const int32_t *factor;
    const int64_t *addend;
    const uint32_t *shift;
    const int32_t *zero_point;
    const double *scale;
    const double *second_scale;
    const double *offset;
    /* The range of accumulators for which the form is defined. An accumulator outside counts as the nearer end. */
    const int64_t *domain_low;
    const int64_t *domain_high;
    /* The thresholds of all channels, one channel after the other, each in ascending order. threshold_count has the number
     * of thresholds of each channel. */
    const int32_t *thresholds;
    const uint32_t *threshold_count;
} strait_form;

/* Whether the channels of a tile are its rows or its columns. */
#define STRAIT_CHANNELS_ALONG_ROWS 0
#define STRAIT_CHANNELS_ALONG_COLUMNS 1

/* Accumulators that are to be requantized. The channel of the accumulator in row r and column c is first_channel + r if
 * channels are rows, and first_channel + c if they are columns. */
typedef struct strait_tile {
    uint32_t struct_size;
    /* 32 if the accumulators are int32_t, 64 if they are int64_t. */
    uint32_t accumulator_bits;
    uint64_t rows;
    uint64_t columns;
    uint32_t channel_axis;
    uint32_t first_channel;
    /* The accumulators: rows * columns of them, row by row, aligned to 64 bytes. */
    const void *accumulators;
    /* Memory for as many codes, aligned to 64 bytes. Codes of 4 bits take a byte each. */
    void *codes;
    /* Size of that memory in bytes. */
    uint64_t codes_size;
} strait_tile;

/* A tensor that belongs to IR bytes. */
typedef struct strait_tensor {
    uint32_t struct_size;
    uint32_t type;
    const uint64_t *extents;
    uint64_t rank;
    /* The elements, little-endian, row by row. Two elements of 4 bits share a byte; the first one has the low half. */
    const uint8_t *data;
    uint64_t data_size;
} strait_tensor;

/* Argument of emit: a compiled model. */
typedef struct strait_emit {
    uint32_t struct_size;
    /* The tensors, in the order in which the IR bytes refer to them. The distance from one to the next is tensor_stride
     * bytes. */
    uint32_t tensor_count;
    const strait_tensor *tensors;
    uint64_t tensor_stride;
    /* The compiled model in the integer stage, as IR bytes. strait_ir.h reads them. */
    const uint8_t *ir;
    uint64_t ir_size;
    /* First argument of write. */
    void *sink;
    /* Appends bytes to the file of this name in the artifact. The first call makes the file. Names are relative, with
     * forward slashes, and consist of ASCII letters, digits and "._-+". docs/plugins/interface.md has all rules, and the
     * limits on number and sizes. If it returns anything but STRAIT_OK, emit should return that status; emit has failed even
     * if it continues. */
    strait_status (*write)(void *sink, const char *path, uint64_t path_size, const uint8_t *bytes, uint64_t size);
} strait_emit;

/* Flags of an operand. */
/* The operand is optional, and the node does not have it. */
#define STRAIT_OPERAND_ABSENT 1
/* The operand is a constant of the model. */
#define STRAIT_OPERAND_CONSTANT 2

/* An operand or the result of a node. */
typedef struct strait_operand {
    uint32_t struct_size;
    uint32_t flags;
    uint32_t type;
    uint32_t rank;
    /* Shape of the operand. If it is NULL, some dimension is unknown, and rank is 0. For a scalar rank is 0, too, but the
     * pointer is not NULL. */
    const uint64_t *extents;
} strait_operand;

/* Kind of an attribute's values. The numbers are those of IR bytes. */
#define STRAIT_ATTRIBUTE_INT 0
#define STRAIT_ATTRIBUTE_INTS 1
#define STRAIT_ATTRIBUTE_FLOAT 2
#define STRAIT_ATTRIBUTE_FLOATS 3
#define STRAIT_ATTRIBUTE_TEXT 4

/* An attribute of a node. The name is that of the text form. */
typedef struct strait_attribute {
    uint32_t struct_size;
    uint32_t kind;
    const char *key;
    uint64_t key_size;
    /* The values: `count` elements of int64_t or float, or the bytes of a text. If the attribute is not a list, there is one
     * element. Truth values are 0 and 1. */
    const void *values;
    uint64_t count;
} strait_attribute;

/* Argument of admits: a node of the float model that the table admits. */
typedef struct strait_node {
    uint32_t struct_size;
    uint32_t operand_count;
    /* Name of the node in the model. */
    const char *name;
    uint64_t name_size;
    /* The word by which target tables call the node's op: "conv", "sigmoid", "reduce_mean". Later versions of Strait have
     * more of them. */
    const char *term;
    uint64_t term_size;
    /* All operands, including those that are absent. The distance from one to the next is operand_stride bytes. */
    const strait_operand *operands;
    uint64_t operand_stride;
    /* The node's first result. */
    const strait_operand *result;
    /* The attributes. The distance from one to the next is attribute_stride bytes. */
    const strait_attribute *attributes;
    uint64_t attribute_count;
    uint64_t attribute_stride;
    /* First argument of refuse. */
    void *sink;
    /* Says that the node must stay on the host. `code` is a reason for programs: lower-case words with hyphens, or
     * "target-code" if it is NULL. `text` is a sentence for the report. Both are copied. */
    void (*refuse)(void *sink, const char *code, uint64_t code_size, const char *text, uint64_t text_size);
} strait_node;

/* A plugin, which provides one target. The struct and everything that it points to must stay valid for as long as the
 * process runs. */
typedef struct strait_plugin {
    uint32_t struct_size;
    uint32_t interface_major;
    uint32_t interface_minor;
    /* The `schema` of the plugin's table. */
    uint32_t table_schema;
    /* Version of the IR bytes that emit reads; 0.0 without emit. */
    uint32_t ir_major;
    uint32_t ir_minor;
    /* Name and version of the package, such as "acme-npu 1.2.0". */
    const char *package;
    uint64_t package_size;
    /* The target's table, in TOML. */
    const char *table;
    uint64_t table_size;
    /* Makes the target with the given values of its options. If this is NULL, the target has no state, and `target` is NULL
     * in the calls below. */
    strait_status (*open)(const strait_host *host, const strait_open *options, void **target);
    /* Called when the target that open made is no longer used. */
    void (*close)(void *target);
    /* Computes the codes of a tile as the chip does. With STRAIT_UNSUPPORTED the plugin leaves the form to the host, for
     * accumulators of this many bits. This is decided by the first tile of a form, which has an accumulator of each channel;
     * for later tiles it is an error. */
    strait_status (*requantize)(const strait_host *host, void *target, const strait_form *form, const strait_tile *tile);
    /* Writes the target's own files, which the table calls the format `package`. */
    strait_status (*emit)(const strait_host *host, void *target, const strait_emit *model);
    /* Called for each node that the table admits, before anything is quantized. It calls refuse if the node must stay on the
     * host. With STRAIT_UNSUPPORTED the table decides. Any other failure stops the compilation. */
    strait_status (*admits)(const strait_host *host, void *target, const strait_node *node);
} strait_plugin;

#if defined(_WIN32)
#define STRAIT_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define STRAIT_EXPORT __attribute__((visibility("default")))
#else
#define STRAIT_EXPORT
#endif

/* The entry function, which a plugin defines. The arguments are the version of the interface in the host. The result must
 * not depend on them: the host compares the versions and says which side is too old. If it is NULL, the plugin refuses to
 * work at all. */
STRAIT_EXPORT const strait_plugin *strait_plugin_entry(uint32_t interface_major, uint32_t interface_minor);

/* The layout, checked: a compiler would not notice a field that moves. */
STRAIT_ASSERT(sizeof(strait_host) == 40);
STRAIT_ASSERT(offsetof(strait_host, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_host, interface_major) == 4);
STRAIT_ASSERT(offsetof(strait_host, interface_minor) == 8);
STRAIT_ASSERT(offsetof(strait_host, table_schema) == 12);
STRAIT_ASSERT(offsetof(strait_host, ir_major) == 16);
STRAIT_ASSERT(offsetof(strait_host, ir_minor) == 20);
STRAIT_ASSERT(offsetof(strait_host, context) == 24);
STRAIT_ASSERT(offsetof(strait_host, report) == 32);
STRAIT_ASSERT(sizeof(strait_option) == 48);
STRAIT_ASSERT(offsetof(strait_option, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_option, kind) == 4);
STRAIT_ASSERT(offsetof(strait_option, name) == 8);
STRAIT_ASSERT(offsetof(strait_option, name_size) == 16);
STRAIT_ASSERT(offsetof(strait_option, text) == 24);
STRAIT_ASSERT(offsetof(strait_option, text_size) == 32);
STRAIT_ASSERT(offsetof(strait_option, number) == 40);
STRAIT_ASSERT(sizeof(strait_open) == 24);
STRAIT_ASSERT(offsetof(strait_open, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_open, option_count) == 4);
STRAIT_ASSERT(offsetof(strait_open, options) == 8);
STRAIT_ASSERT(offsetof(strait_open, option_stride) == 16);
STRAIT_ASSERT(sizeof(strait_form) == 160);
STRAIT_ASSERT(offsetof(strait_form, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_form, channels) == 4);
STRAIT_ASSERT(offsetof(strait_form, per_channel) == 8);
STRAIT_ASSERT(offsetof(strait_form, out) == 12);
STRAIT_ASSERT(offsetof(strait_form, low) == 16);
STRAIT_ASSERT(offsetof(strait_form, high) == 20);
STRAIT_ASSERT(offsetof(strait_form, row) == 24);
STRAIT_ASSERT(offsetof(strait_form, row_size) == 32);
STRAIT_ASSERT(offsetof(strait_form, json) == 40);
STRAIT_ASSERT(offsetof(strait_form, json_size) == 48);
STRAIT_ASSERT(offsetof(strait_form, family) == 56);
STRAIT_ASSERT(offsetof(strait_form, rounding) == 64);
STRAIT_ASSERT(offsetof(strait_form, factor) == 72);
STRAIT_ASSERT(offsetof(strait_form, addend) == 80);
STRAIT_ASSERT(offsetof(strait_form, shift) == 88);
STRAIT_ASSERT(offsetof(strait_form, zero_point) == 96);
STRAIT_ASSERT(offsetof(strait_form, scale) == 104);
STRAIT_ASSERT(offsetof(strait_form, second_scale) == 112);
STRAIT_ASSERT(offsetof(strait_form, offset) == 120);
STRAIT_ASSERT(offsetof(strait_form, domain_low) == 128);
STRAIT_ASSERT(offsetof(strait_form, domain_high) == 136);
STRAIT_ASSERT(offsetof(strait_form, thresholds) == 144);
STRAIT_ASSERT(offsetof(strait_form, threshold_count) == 152);
STRAIT_ASSERT(sizeof(strait_tile) == 56);
STRAIT_ASSERT(offsetof(strait_tile, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_tile, accumulator_bits) == 4);
STRAIT_ASSERT(offsetof(strait_tile, rows) == 8);
STRAIT_ASSERT(offsetof(strait_tile, columns) == 16);
STRAIT_ASSERT(offsetof(strait_tile, channel_axis) == 24);
STRAIT_ASSERT(offsetof(strait_tile, first_channel) == 28);
STRAIT_ASSERT(offsetof(strait_tile, accumulators) == 32);
STRAIT_ASSERT(offsetof(strait_tile, codes) == 40);
STRAIT_ASSERT(offsetof(strait_tile, codes_size) == 48);
STRAIT_ASSERT(sizeof(strait_tensor) == 40);
STRAIT_ASSERT(offsetof(strait_tensor, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_tensor, type) == 4);
STRAIT_ASSERT(offsetof(strait_tensor, extents) == 8);
STRAIT_ASSERT(offsetof(strait_tensor, rank) == 16);
STRAIT_ASSERT(offsetof(strait_tensor, data) == 24);
STRAIT_ASSERT(offsetof(strait_tensor, data_size) == 32);
STRAIT_ASSERT(sizeof(strait_emit) == 56);
STRAIT_ASSERT(offsetof(strait_emit, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_emit, tensor_count) == 4);
STRAIT_ASSERT(offsetof(strait_emit, tensors) == 8);
STRAIT_ASSERT(offsetof(strait_emit, tensor_stride) == 16);
STRAIT_ASSERT(offsetof(strait_emit, ir) == 24);
STRAIT_ASSERT(offsetof(strait_emit, ir_size) == 32);
STRAIT_ASSERT(offsetof(strait_emit, sink) == 40);
STRAIT_ASSERT(offsetof(strait_emit, write) == 48);
STRAIT_ASSERT(sizeof(strait_operand) == 24);
STRAIT_ASSERT(offsetof(strait_operand, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_operand, flags) == 4);
STRAIT_ASSERT(offsetof(strait_operand, type) == 8);
STRAIT_ASSERT(offsetof(strait_operand, rank) == 12);
STRAIT_ASSERT(offsetof(strait_operand, extents) == 16);
STRAIT_ASSERT(sizeof(strait_attribute) == 40);
STRAIT_ASSERT(offsetof(strait_attribute, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_attribute, kind) == 4);
STRAIT_ASSERT(offsetof(strait_attribute, key) == 8);
STRAIT_ASSERT(offsetof(strait_attribute, key_size) == 16);
STRAIT_ASSERT(offsetof(strait_attribute, values) == 24);
STRAIT_ASSERT(offsetof(strait_attribute, count) == 32);
STRAIT_ASSERT(sizeof(strait_node) == 104);
STRAIT_ASSERT(offsetof(strait_node, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_node, operand_count) == 4);
STRAIT_ASSERT(offsetof(strait_node, name) == 8);
STRAIT_ASSERT(offsetof(strait_node, name_size) == 16);
STRAIT_ASSERT(offsetof(strait_node, term) == 24);
STRAIT_ASSERT(offsetof(strait_node, term_size) == 32);
STRAIT_ASSERT(offsetof(strait_node, operands) == 40);
STRAIT_ASSERT(offsetof(strait_node, operand_stride) == 48);
STRAIT_ASSERT(offsetof(strait_node, result) == 56);
STRAIT_ASSERT(offsetof(strait_node, attributes) == 64);
STRAIT_ASSERT(offsetof(strait_node, attribute_count) == 72);
STRAIT_ASSERT(offsetof(strait_node, attribute_stride) == 80);
STRAIT_ASSERT(offsetof(strait_node, sink) == 88);
STRAIT_ASSERT(offsetof(strait_node, refuse) == 96);
STRAIT_ASSERT(sizeof(strait_plugin) == 96);
STRAIT_ASSERT(offsetof(strait_plugin, struct_size) == 0);
STRAIT_ASSERT(offsetof(strait_plugin, interface_major) == 4);
STRAIT_ASSERT(offsetof(strait_plugin, interface_minor) == 8);
STRAIT_ASSERT(offsetof(strait_plugin, table_schema) == 12);
STRAIT_ASSERT(offsetof(strait_plugin, ir_major) == 16);
STRAIT_ASSERT(offsetof(strait_plugin, ir_minor) == 20);
STRAIT_ASSERT(offsetof(strait_plugin, package) == 24);
STRAIT_ASSERT(offsetof(strait_plugin, package_size) == 32);
STRAIT_ASSERT(offsetof(strait_plugin, table) == 40);
STRAIT_ASSERT(offsetof(strait_plugin, table_size) == 48);
STRAIT_ASSERT(offsetof(strait_plugin, open) == 56);
STRAIT_ASSERT(offsetof(strait_plugin, close) == 64);
STRAIT_ASSERT(offsetof(strait_plugin, requantize) == 72);
STRAIT_ASSERT(offsetof(strait_plugin, emit) == 80);
STRAIT_ASSERT(offsetof(strait_plugin, admits) == 88);

#ifdef __cplusplus
}
#endif

#endif
