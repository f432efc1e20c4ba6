/* The interface between Strait and a plugin in a shared library.
 *
 * A plugin exports one symbol, strait_plugin_entry, and answers with a strait_plugin: who it is, the table of its target,
 * and up to four functions. docs/plugins/interface.md explains each of them; the rules that hold for all are these.
 *
 * - Sizes. Every struct begins with struct_size, its size as the side that filled it knows it. Structs only grow, at their
 *   end. Read a field only where struct_size reaches past it (STRAIT_HAS), and never compare sizes for equality.
 * - Functions. Each may be NULL: the other side does without it.
 * - Memory. Nothing is freed on the other side. What a call hands over is borrowed until the call returns; what a plugin
 *   points to from its strait_plugin stays where it is for ever. A library is never unloaded.
 * - Text is UTF-8 with a length and without a NUL at its end.
 * - Threads. Calls come one after the other, but for requantize, which several threads may call at once. No call may let an
 *   exception through: C++ functions are noexcept.
 * - Processes. A call leaves its process as it was: signals and their handlers, the arithmetic of floats, the working folder.
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

/* Three versions, which have nothing to do with each other nor with that of Strait. */

/* This interface. Another major version is refused. A later minor version adds fields, functions and constants behind those
 * that there are, none of them required. */
#define STRAIT_INTERFACE_MAJOR 1
#define STRAIT_INTERFACE_MINOR 0
/* The key `schema` of target tables. */
#define STRAIT_TABLE_SCHEMA 1
/* IR bytes, as docs/ir-bytes.md lays them down. */
#define STRAIT_IR_MAJOR 2
#define STRAIT_IR_MINOR 0

/* Whether the struct that POINTER points to reaches past FIELD. */
#define STRAIT_HAS(POINTER, TYPE, FIELD) \
    ((POINTER)->struct_size >= offsetof(TYPE, FIELD) + sizeof(((TYPE *)0)->FIELD))

/* What a call answers. Any other number counts as STRAIT_INTERNAL. */
typedef int32_t strait_status;
#define STRAIT_OK 0
/* The plugin does not do this. */
#define STRAIT_UNSUPPORTED 1
/* An argument makes no sense: the fault of the caller. */
#define STRAIT_INVALID_ARGUMENT 2
/* A panic or an exception was caught. */
#define STRAIT_PANIC 3
/* The fault of whoever answers. */
#define STRAIT_INTERNAL 4
/* Memory or space is short. */
#define STRAIT_RESOURCE 5
/* The versions do not fit. */
#define STRAIT_VERSION 6

/* Severity of a report. */
#define STRAIT_REMARK 0
#define STRAIT_WARNING 1
#define STRAIT_ERROR 2
/* A report that is about no node. */
#define STRAIT_NO_NODE UINT32_MAX

/* The host. Valid until the call returns that it is handed to. */
typedef struct strait_host {
    uint32_t struct_size;
    /* These two and struct_size stay where they are for ever, here and in strait_plugin. */
    uint32_t interface_major;
    uint32_t interface_minor;
    /* The newest schema of tables that it reads. */
    uint32_t table_schema;
    /* The version of the IR bytes that it writes. */
    uint32_t ir_major;
    uint32_t ir_minor;
    /* For report. */
    void *context;
    /* Says something to whoever runs Strait. The last STRAIT_ERROR of a call is the message of its failure. `node` is the
     * position of a node in the main graph of IR bytes, or STRAIT_NO_NODE. The text is copied. */
    void (*report)(void *context, uint32_t severity, uint32_t node, const char *text, uint64_t text_size);
} strait_host;

/* Type of codes and of a tensor's elements: the numbers of IR bytes. */
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

/* An option that the table declares, with the value that it has. */
typedef struct strait_option {
    uint32_t struct_size;
    uint32_t kind;
    const char *name;
    uint64_t name_size;
    /* Where the value is a text; else NULL. */
    const char *text;
    uint64_t text_size;
    /* Where the value is a number; 0 or 1 where it is a truth value. */
    int64_t number;
} strait_option;

/* Argument of open. */
typedef struct strait_open {
    uint32_t struct_size;
    uint32_t option_count;
    /* All options of the table, in the order of their names; from one to the next it is option_stride bytes. */
    const strait_option *options;
    uint64_t option_stride;
} strait_open;

/* The families of arithmetic. x is an accumulator; what they make saturates to low and high of the form.
 *
 *   AFFINE        round((x * factor + addend) / 2^shift) + zero_point
 *   DOUBLING      half_away(half_up((x * factor + addend) / 2^31) / 2^(shift - 31)) + zero_point
 *   FLOAT         half_even(f32(x) * scale) + zero_point; conversion and product rounded to float
 *   DOUBLE        half_away(x * scale) + zero_point; the product rounded to double
 *   FLOAT_AFFINE  half_even(f32(x) * scale * second_scale + offset); each operation rounded to float
 *   STEPS         zero_point + the number of thresholds that are at most x
 *
 * half_up rounds to the nearest integer and ties towards plus infinity, half_away ties away from zero, half_even ties to the
 * even one. Integers are exact: in the domain nothing leaves 64 bits. */
#define STRAIT_FAMILY_AFFINE 0
#define STRAIT_FAMILY_DOUBLING 1
#define STRAIT_FAMILY_FLOAT 2
#define STRAIT_FAMILY_DOUBLE 3
#define STRAIT_FAMILY_FLOAT_AFFINE 4
#define STRAIT_FAMILY_STEPS 5

/* Rounding of AFFINE. */
#define STRAIT_ROUND_FLOOR 0
#define STRAIT_ROUND_CEIL 1
#define STRAIT_ROUND_TOWARD_ZERO 2
#define STRAIT_ROUND_HALF_UP 3
#define STRAIT_ROUND_HALF_DOWN 4
#define STRAIT_ROUND_HALF_AWAY 5
#define STRAIT_ROUND_HALF_TOWARD_ZERO 6
#define STRAIT_ROUND_HALF_EVEN 7

/* A requantization: for each channel a family and its numbers. */
typedef struct strait_form {
    uint32_t struct_size;
    /* Number of entries in each array, not 0. */
    uint32_t channels;
    /* 0: there is one entry, and it serves all channels. */
    uint32_t per_channel;
    /* Type of the codes. */
    uint32_t out;
    /* The least and the largest code. */
    int32_t low;
    int32_t high;
    /* Name of the form's row in the table. */
    const char *row;
    uint64_t row_size;
    /* The form as JSON, with the kind that the table names, for who links Strait. */
    const char *json;
    uint64_t json_size;
    /* The arrays. A number that a family does not have is 0 there. */
    const uint32_t *family;
    const uint32_t *rounding;
    const int32_t *factor;
    const int64_t *addend;
    const uint32_t *shift;
    const int32_t *zero_point;
    const double *scale;
    const double *second_scale;
    const double *offset;
    /* The accumulators on which the form is defined. One outside counts as the nearer end. */
    const int64_t *domain_low;
    const int64_t *domain_high;
    /* Those of all channels one after the other, in order within each; threshold_count has the number of each channel. */
    const int32_t *thresholds;
    const uint32_t *threshold_count;
} strait_form;

/* Along what the channels of a tile run. */
#define STRAIT_CHANNELS_ALONG_ROWS 0
#define STRAIT_CHANNELS_ALONG_COLUMNS 1

/* Accumulators that are to become codes. The channel of row r and column c is first_channel + r, or first_channel + c. */
typedef struct strait_tile {
    uint32_t struct_size;
    /* 32 or 64: the accumulators are int32_t or int64_t. */
    uint32_t accumulator_bits;
    uint64_t rows;
    uint64_t columns;
    uint32_t channel_axis;
    uint32_t first_channel;
    /* rows * columns of them, row by row, aligned to 64 bytes. */
    const void *accumulators;
    /* Room for as many codes, aligned to 64 bytes. Those of 4 bits take a byte each. */
    void *codes;
    /* In bytes. */
    uint64_t codes_size;
} strait_tile;

/* A tensor of IR bytes. */
typedef struct strait_tensor {
    uint32_t struct_size;
    uint32_t type;
    const uint64_t *extents;
    uint64_t rank;
    /* Little-endian, row by row; two elements of 4 bits share a byte, the first has the low half. */
    const uint8_t *data;
    uint64_t data_size;
} strait_tensor;

/* Argument of emit. */
typedef struct strait_emit {
    uint32_t struct_size;
    /* As many as the IR bytes speak of, in their order; from one to the next it is tensor_stride bytes. */
    uint32_t tensor_count;
    const strait_tensor *tensors;
    uint64_t tensor_stride;
    /* The compiled model, in the integer stage. strait_ir.h reads it. */
    const uint8_t *ir;
    uint64_t ir_size;
    /* For write. */
    void *sink;
    /* Appends to the file of this name in the artifact; the first piece makes it. Names are relative, with forward slashes,
     * of ASCII letters, digits and "._-+"; docs/plugins/interface.md has all rules, and limits on number and sizes.
     * Anything but STRAIT_OK should end emit, with that status; emit has failed even if it goes on. */
    strait_status (*write)(void *sink, const char *path, uint64_t path_size, const uint8_t *bytes, uint64_t size);
} strait_emit;

/* Flags of an operand. */
/* An optional operand that the node does not have. */
#define STRAIT_OPERAND_ABSENT 1
/* A tensor of the model. */
#define STRAIT_OPERAND_CONSTANT 2

/* An operand or the result of a node. */
typedef struct strait_operand {
    uint32_t struct_size;
    uint32_t flags;
    uint32_t type;
    uint32_t rank;
    /* NULL: not all of them are known, and rank is 0. A scalar has none either, and a place that is not NULL. */
    const uint64_t *extents;
} strait_operand;

/* Type of an attribute's values: the numbers of IR bytes. */
#define STRAIT_ATTRIBUTE_INT 0
#define STRAIT_ATTRIBUTE_INTS 1
#define STRAIT_ATTRIBUTE_FLOAT 2
#define STRAIT_ATTRIBUTE_FLOATS 3
#define STRAIT_ATTRIBUTE_TEXT 4

/* An attribute of a node, by its name in the text form. */
typedef struct strait_attribute {
    uint32_t struct_size;
    uint32_t kind;
    const char *key;
    uint64_t key_size;
    /* int64_t, float, or the bytes of a text; as many as count says, and one of what is no list. Truth values are 0 and 1. */
    const void *values;
    uint64_t count;
} strait_attribute;

/* Argument of admits: a node of the float model. */
typedef struct strait_node {
    uint32_t struct_size;
    uint32_t operand_count;
    /* Its name in the model. */
    const char *name;
    uint64_t name_size;
    /* The word under which tables speak of its op: "conv", "sigmoid", "reduce_mean". A later Strait has more of them. */
    const char *term;
    uint64_t term_size;
    /* All of them, those that are absent among them; from one to the next it is operand_stride bytes. */
    const strait_operand *operands;
    uint64_t operand_stride;
    /* The first one. */
    const strait_operand *result;
    /* From one to the next it is attribute_stride bytes. */
    const strait_attribute *attributes;
    uint64_t attribute_count;
    uint64_t attribute_stride;
    /* For refuse. */
    void *sink;
    /* The node stays on the host. `code` is for programs, lower-case words with hyphens, and "target-code" if it is NULL;
     * `text` is a sentence for the report. Both are copied. */
    void (*refuse)(void *sink, const char *code, uint64_t code_size, const char *text, uint64_t text_size);
} strait_node;

/* A plugin: one target. It and all that it points to stay where they are for ever. */
typedef struct strait_plugin {
    uint32_t struct_size;
    uint32_t interface_major;
    uint32_t interface_minor;
    /* The `schema` of its table. */
    uint32_t table_schema;
    /* The version of the IR bytes that emit reads; 0.0 without emit. */
    uint32_t ir_major;
    uint32_t ir_minor;
    /* Name and version: "acme-npu 1.2.0". */
    const char *package;
    uint64_t package_size;
    /* The target's table, TOML. */
    const char *table;
    uint64_t table_size;
    /* Makes the target with these options. NULL: it is always the same, and `target` is NULL in the calls below. */
    strait_status (*open)(const strait_host *host, const strait_open *options, void **target);
    /* The end of what open made. */
    void (*close)(void *target);
    /* Computes codes of a tile in the chip's own way. STRAIT_UNSUPPORTED leaves the form to the host, for accumulators of so
     * many bits: the first tile of a form has an accumulator of each channel, and the answer to it counts. Later it is an
     * error. */
    strait_status (*requantize)(const strait_host *host, void *target, const strait_form *form, const strait_tile *tile);
    /* Writes the target's own files: the format `package` of its table. */
    strait_status (*emit)(const strait_host *host, void *target, const strait_emit *model);
    /* Asked for each node that the table admits, before anything has a grid: it calls refuse, or does not. STRAIT_UNSUPPORTED
     * leaves the node to the table; any other failure stops the compilation. */
    strait_status (*admits)(const strait_host *host, void *target, const strait_node *node);
} strait_plugin;

#if defined(_WIN32)
#define STRAIT_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define STRAIT_EXPORT __attribute__((visibility("default")))
#else
#define STRAIT_EXPORT
#endif

/* The entry, which a plugin defines. The arguments are the interface's version in the host. The answer is the same to every
 * version: the host compares, and says which side is too old. NULL: the plugin refuses to serve at all. */
STRAIT_EXPORT const strait_plugin *strait_plugin_entry(uint32_t interface_major, uint32_t interface_minor);

/* The layout, once more: a field that moves is a mistake that no compiler would notice. */
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
