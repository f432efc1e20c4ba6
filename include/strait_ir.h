/* A reader of IR bytes in C, without dependencies. A plugin's `emit` gets its model as IR bytes; docs/ir-bytes.md describes
 * them. The reader allocates nothing and copies nothing: texts and lists are pointers into the bytes, which must stay valid.
 *
 *     strait_ir ir;
 *     strait_ir_graph graph;
 *     strait_ir_node node;
 *     if (strait_ir_open(&ir, model->ir, model->ir_size) != STRAIT_IR_OK) { ... ir.fault, ir.fault_at ... }
 *     strait_ir_get_graph(&ir, ir.main, &graph);
 *     strait_ir_cursor nodes = graph.nodes;
 *     while (strait_ir_next_node(&nodes, &node)) { ... }
 *
 * strait_ir_open reads everything once. It refuses bytes that end too early, counts that the bytes cannot hold, indices
 * that are out of range, and other major versions. After that, reading the same bytes can neither fail nor go out of bounds.
 * It is not checked that the parts fit together: shapes, element types of operands, attributes of ops. Strait itself has
 * checked this for a model that it hands over.
 *
 * Ops and attributes are identified by name. Refuse an op that you do not know, and an unknown attribute that is critical.
 * Bytes of a later minor version have fields after those that this reader knows; it skips them.
 */
#ifndef STRAIT_IR_H
#define STRAIT_IR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version that this reader knows. It is that of STRAIT_IR_MAJOR and STRAIT_IR_MINOR in strait_plugin.h. */
#define STRAIT_IR_READER_MAJOR 2
#define STRAIT_IR_READER_MINOR 0

/* What strait_ir_open returns. */
#define STRAIT_IR_OK 0
/* The bytes are not IR bytes. */
#define STRAIT_IR_MAGIC 1
/* The bytes have another major version. */
#define STRAIT_IR_OTHER_VERSION 2
/* The bytes end in the middle of something. */
#define STRAIT_IR_CUT 3
/* A number has no meaning in its place. */
#define STRAIT_IR_WRONG 4
/* There is something after the end of a record, although the bytes have exactly this version. */
#define STRAIT_IR_MORE 5

/* Stands for an operand that is absent, and for the tensor of a value that is not a constant. */
#define STRAIT_IR_NONE UINT32_MAX
/* The largest number of axes of a tensor. */
#define STRAIT_IR_MOST_RANK 16

/* Stages of a graph. */
#define STRAIT_IR_FLOAT 0
#define STRAIT_IR_ANNOTATED 1
#define STRAIT_IR_INTEGER 2
#define STRAIT_IR_EXPORT 3

/* Kinds of attributes. */
#define STRAIT_IR_INT 0
#define STRAIT_IR_INTS 1
#define STRAIT_IR_REAL 2
#define STRAIT_IR_REALS 3
#define STRAIT_IR_TEXT 4
#define STRAIT_IR_DATA 5
#define STRAIT_IR_FORM 6

/* A text in UTF-8, without a NUL at its end. */
typedef struct strait_ir_text {
    const char *text;
    uint64_t size;
} strait_ir_text;

/* Numbers that follow each other in the bytes. strait_ir_u32 and similar functions read one of them. */
typedef struct strait_ir_list {
    const uint8_t *first;
    uint32_t count;
} strait_ir_list;

/* IR bytes that have been opened. */
typedef struct strait_ir {
    const uint8_t *bytes;
    uint64_t size;
    uint16_t major;
    uint16_t minor;
    uint32_t string_count;
    uint32_t op_count;
    uint32_t tensor_count;
    uint32_t graph_count;
    /* Number of the main graph. */
    uint32_t main;
    /* Where the tables begin. */
    uint64_t strings;
    uint64_t ops;
    uint64_t tensors;
    uint64_t graphs;
    /* Where each string begins, string_count numbers: see strait_ir_index. If it is NULL, a string is searched from the
     * beginning. */
    const uint64_t *index;
    /* Where opening failed, in bytes, and why. */
    uint64_t fault_at;
    const char *fault;
} strait_ir;

/* A position in the bytes, with the end of the list or record that is read. */
typedef struct strait_ir_cursor {
    const strait_ir *ir;
    uint64_t at;
    uint64_t end;
    /* Number of items in the list, and how many of them are left. */
    uint32_t count;
    uint32_t left;
    /* For values and nodes: the number of the next value. */
    uint32_t number;
    /* For values: a tensor precedes each one. For attributes: forms may be among them. */
    int more;
} strait_ir_cursor;

/* Scales and zero points: real = scale * (q - zero_point). */
typedef struct strait_ir_grid {
    /* One scale and zero point for the tensor, or one for each channel or block. Read them with strait_ir_f32 and
     * strait_ir_i32. */
    strait_ir_list scales;
    strait_ir_list zero_points;
    int has_axis;
    uint8_t axis;
    /* Number of elements along the axis that share a scale; 0 stands for one. */
    uint32_t block;
} strait_ir_grid;

/* A value of a graph. */
typedef struct strait_ir_value {
    /* Number by which nodes refer to the value. */
    uint32_t number;
    strait_ir_text name;
    /* Element type: one of the STRAIT_ constants of strait_plugin.h. */
    uint8_t type;
    uint8_t rank;
    /* Size of each dimension. For a named dimension, the number of the string with its name. */
    uint64_t extents[STRAIT_IR_MOST_RANK];
    uint8_t is_named[STRAIT_IR_MOST_RANK];
    int has_grid;
    strait_ir_grid grid;
    /* Index of the tensor if the value is a constant; otherwise STRAIT_IR_NONE. */
    uint32_t tensor;
} strait_ir_value;

/* A requantization: its kind, and its parameters as attributes. */
typedef struct strait_ir_form {
    strait_ir_text kind;
    strait_ir_cursor fields;
} strait_ir_form;

/* An attribute of an op, or a parameter of a requantization. */
typedef struct strait_ir_attribute {
    strait_ir_text key;
    /* One of the constants above, or a number that a later version has added. */
    uint8_t kind;
    /* If it is set, a reader that does not know the attribute must refuse the op. */
    int critical;
    int64_t integer;
    float real;
    /* The numbers of STRAIT_IR_INTS (read with strait_ir_i64) and STRAIT_IR_REALS (read with strait_ir_f32). */
    strait_ir_list list;
    strait_ir_text text;
    /* Index of a tensor. */
    uint32_t tensor;
    strait_ir_form form;
} strait_ir_attribute;

typedef struct strait_ir_node {
    /* Index of the node in the graph, which `report` takes. */
    uint32_t position;
    strait_ir_text op;
    uint16_t op_version;
    strait_ir_text name;
    /* Names of the model's nodes that this node replaces, as numbers of strings. Read them with strait_ir_u32 and
     * strait_ir_string. */
    strait_ir_list sources;
    /* Numbers of values, or STRAIT_IR_NONE. Read them with strait_ir_u32. */
    strait_ir_list operands;
    strait_ir_cursor results;
    uint32_t result_count;
    strait_ir_cursor attributes;
    /* What has been fused into the node. */
    int has_requantize;
    strait_ir_form requantize;
    int has_clamp;
    int32_t clamp[2];
    /* Set if the last operand is added inside the accumulator: the operand's zero point, and the requantization to the
     * accumulator's scale. */
    int has_addend;
    int32_t addend_zero;
    strait_ir_form addend;
    /* Whether the node runs on the host in float, and why. */
    int on_host;
    strait_ir_text reason_code;
    strait_ir_text reason;
} strait_ir_node;

typedef struct strait_ir_graph {
    strait_ir_text name;
    uint8_t stage;
    /* Read them with strait_ir_next_value. */
    strait_ir_cursor inputs;
    strait_ir_cursor constants;
    /* Read them with strait_ir_next_node. */
    strait_ir_cursor nodes;
    /* Numbers of values. Read them with strait_ir_u32. */
    strait_ir_list outputs;
    /* Values are numbered from 0 to value_count - 1: inputs first, then constants, then results of the nodes. */
    uint32_t value_count;
} strait_ir_graph;

/* ---- reading, for the functions below ---- */

/* Bytes that are being read. After the first error every read returns 0, and the position stays. */
typedef struct strait_ir_in {
    const strait_ir *ir;
    uint64_t at;
    uint64_t end;
    /* Whether texts are returned, or only checked. */
    int texts;
    int status;
    const char *fault;
    uint64_t fault_at;
} strait_ir_in;

static inline void strait_ir_fail(strait_ir_in *in, int status, uint64_t at, const char *what) {
    if (in->status == STRAIT_IR_OK) {
        in->status = status;
        in->fault = what;
        in->fault_at = at;
    }
}

static inline const uint8_t *strait_ir_take(strait_ir_in *in, uint64_t count, const char *what) {
    const uint8_t *taken = in->ir->bytes + in->at;
    if (in->status != STRAIT_IR_OK) {
        return NULL;
    }
    if (count > in->end - in->at) {
        strait_ir_fail(in, STRAIT_IR_CUT, in->at, what);
        return NULL;
    }
    in->at += count;
    return taken;
}

static inline uint64_t strait_ir_number(const uint8_t *from, unsigned bytes) {
    uint64_t number = 0;
    unsigned byte;
    for (byte = 0; from != NULL && byte < bytes; byte++) {
        number |= (uint64_t)from[byte] << (8 * byte);
    }
    return number;
}

static inline uint64_t strait_ir_read(strait_ir_in *in, unsigned bytes, const char *what) {
    return strait_ir_number(strait_ir_take(in, bytes, what), bytes);
}

static inline uint32_t strait_ir_read_u32(strait_ir_in *in, const char *what) {
    return (uint32_t)strait_ir_read(in, 4, what);
}

static inline int32_t strait_ir_signed32(uint32_t bits) {
    return bits <= INT32_MAX ? (int32_t)bits : (int32_t)(bits - 0x80000000u) + INT32_MIN;
}

static inline int64_t strait_ir_signed64(uint64_t bits) {
    return bits <= INT64_MAX ? (int64_t)bits : (int64_t)(bits - 0x8000000000000000u) + INT64_MIN;
}

static inline float strait_ir_real(uint32_t bits) {
    float real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static inline int strait_ir_flag(strait_ir_in *in, const char *what) {
    const uint64_t at = in->at, flag = strait_ir_read(in, 1, what);
    if (flag > 1) {
        strait_ir_fail(in, STRAIT_IR_WRONG, at, what);
    }
    return flag == 1;
}

/* Reads a number of items, each of which takes at least this many bytes. */
static inline uint32_t strait_ir_count(strait_ir_in *in, unsigned bytes, const char *what) {
    const uint64_t at = in->at;
    const uint32_t count = strait_ir_read_u32(in, what);
    if (in->status == STRAIT_IR_OK && count > (in->end - in->at) / bytes) {
        strait_ir_fail(in, STRAIT_IR_CUT, at, what);
        return 0;
    }
    return in->status == STRAIT_IR_OK ? count : 0;
}

static inline strait_ir_list strait_ir_read_list(strait_ir_in *in, unsigned bytes, const char *what) {
    strait_ir_list list;
    list.count = strait_ir_count(in, bytes, what);
    list.first = strait_ir_take(in, (uint64_t)list.count * bytes, what);
    return list;
}

/* Reads a number that must be below a bound. */
static inline uint32_t strait_ir_position(strait_ir_in *in, uint32_t bound, const char *what) {
    const uint64_t at = in->at;
    const uint32_t position = strait_ir_read_u32(in, what);
    if (in->status == STRAIT_IR_OK && position >= bound) {
        strait_ir_fail(in, STRAIT_IR_WRONG, at, what);
    }
    return in->status == STRAIT_IR_OK ? position : 0;
}

/* Begins to read a record: `in` then ends where the record ends. The result is for strait_ir_leave. */
static inline uint64_t strait_ir_enter(strait_ir_in *in, const char *what) {
    const uint64_t behind = in->end, size = strait_ir_read_u32(in, what);
    if (in->status == STRAIT_IR_OK && size > in->end - in->at) {
        strait_ir_fail(in, STRAIT_IR_CUT, in->at, what);
    }
    if (in->status == STRAIT_IR_OK) {
        in->end = in->at + size;
    }
    return behind;
}

/* Ends reading a record. Only a later minor version may have more in it. */
static inline void strait_ir_leave(strait_ir_in *in, uint64_t behind, const char *what) {
    if (in->status == STRAIT_IR_OK) {
        if (in->at != in->end && in->ir->minor <= STRAIT_IR_READER_MINOR) {
            strait_ir_fail(in, STRAIT_IR_MORE, in->at, what);
            return;
        }
        in->at = in->end;
        in->end = behind;
    }
}

static inline strait_ir_in strait_ir_from(const strait_ir *ir, uint64_t at, uint64_t end) {
    strait_ir_in in;
    in.ir = ir;
    in.at = at;
    in.end = end;
    in.texts = 0;
    in.status = STRAIT_IR_OK;
    in.fault = "";
    in.fault_at = 0;
    return in;
}

static inline strait_ir_cursor strait_ir_here(const strait_ir_in *in, uint32_t count, uint32_t number, int more) {
    strait_ir_cursor cursor;
    cursor.ir = in->ir;
    cursor.at = in->at;
    cursor.end = in->end;
    cursor.count = count;
    cursor.left = count;
    cursor.number = number;
    cursor.more = more;
    return cursor;
}

/* ---- numbers of lists, and strings ---- */

static inline uint32_t strait_ir_u32(strait_ir_list list, uint32_t index) {
    return index < list.count ? (uint32_t)strait_ir_number(list.first + 4 * (uint64_t)index, 4) : 0;
}

static inline int32_t strait_ir_i32(strait_ir_list list, uint32_t index) {
    return strait_ir_signed32(strait_ir_u32(list, index));
}

static inline float strait_ir_f32(strait_ir_list list, uint32_t index) {
    return strait_ir_real(strait_ir_u32(list, index));
}

static inline int64_t strait_ir_i64(strait_ir_list list, uint32_t index) {
    return index < list.count ? strait_ir_signed64(strait_ir_number(list.first + 8 * (uint64_t)index, 8)) : 0;
}

/* The string with this number; an empty one if there is none. */
static inline strait_ir_text strait_ir_string(const strait_ir *ir, uint32_t number) {
    strait_ir_text text = {"", 0};
    strait_ir_in in = strait_ir_from(ir, ir->strings, ir->size);
    uint64_t size;
    if (number >= ir->string_count) {
        return text;
    }
    if (ir->index != NULL) {
        in.at = ir->index[number];
    } else {
        for (; number > 0; number--) {
            strait_ir_take(&in, strait_ir_read_u32(&in, ""), "");
        }
    }
    size = strait_ir_read_u32(&in, "");
    text.text = (const char *)strait_ir_take(&in, size, "");
    text.size = size;
    return text;
}

/* Finds where each string begins, which saves time if there are many. `index` needs room for ir->string_count numbers and
 * must outlive `ir`. */
static inline void strait_ir_index(strait_ir *ir, uint64_t *index) {
    strait_ir_in in = strait_ir_from(ir, ir->strings, ir->size);
    uint32_t number;
    for (number = 0; number < ir->string_count; number++) {
        index[number] = in.at;
        strait_ir_take(&in, strait_ir_read_u32(&in, ""), "");
    }
    ir->index = index;
}

/* True if a text equals this C string. */
static inline int strait_ir_is(strait_ir_text text, const char *word) {
    uint64_t at;
    for (at = 0; at < text.size; at++) {
        if (word[at] == '\0' || word[at] != text.text[at]) {
            return 0;
        }
    }
    return word[text.size] == '\0';
}

static inline strait_ir_text strait_ir_read_text(strait_ir_in *in, const char *what) {
    const strait_ir_text none = {"", 0};
    const uint32_t number = strait_ir_position(in, in->ir->string_count, what);
    return in->status == STRAIT_IR_OK && in->texts ? strait_ir_string(in->ir, number) : none;
}

/* ---- parts of a graph ---- */

static inline strait_ir_list strait_ir_one_or_list(strait_ir_in *in, const char *what) {
    strait_ir_list list;
    if (strait_ir_flag(in, what)) {
        return strait_ir_read_list(in, 4, what);
    }
    list.first = strait_ir_take(in, 4, what);
    list.count = in->status == STRAIT_IR_OK;
    return list;
}

static inline void strait_ir_read_value(strait_ir_in *in, strait_ir_value *value) {
    const uint64_t behind = strait_ir_enter(in, "a value");
    uint64_t at;
    unsigned axis;
    memset(value, 0, sizeof *value);
    value->name = strait_ir_read_text(in, "the name of a value");
    at = in->at;
    value->type = (uint8_t)strait_ir_read(in, 1, "an element type");
    if (value->type > 14) {
        strait_ir_fail(in, STRAIT_IR_WRONG, at, "an element type");
    }
    at = in->at;
    value->rank = (uint8_t)strait_ir_read(in, 1, "a rank");
    if (value->rank > STRAIT_IR_MOST_RANK) {
        strait_ir_fail(in, STRAIT_IR_WRONG, at, "a rank");
        value->rank = 0;
    }
    for (axis = 0; axis < value->rank; axis++) {
        value->is_named[axis] = (uint8_t)strait_ir_flag(in, "a dimension");
        at = in->at;
        value->extents[axis] = strait_ir_read(in, 8, "a dimension");
        if (value->is_named[axis] && value->extents[axis] >= in->ir->string_count) {
            strait_ir_fail(in, STRAIT_IR_WRONG, at, "the name of a dimension");
        }
    }
    value->has_grid = strait_ir_flag(in, "a grid");
    if (value->has_grid) {
        value->grid.scales = strait_ir_one_or_list(in, "a scale");
        value->grid.zero_points = strait_ir_one_or_list(in, "a zero point");
        value->grid.has_axis = strait_ir_flag(in, "the axis of a grid");
        value->grid.axis = value->grid.has_axis ? (uint8_t)strait_ir_read(in, 1, "the axis of a grid") : 0;
        if (strait_ir_flag(in, "the blocks of a grid")) {
            at = in->at;
            value->grid.block = strait_ir_read_u32(in, "the blocks of a grid");
            if (value->grid.block == 0) {
                strait_ir_fail(in, STRAIT_IR_WRONG, at, "the blocks of a grid");
            }
        }
    }
    value->tensor = STRAIT_IR_NONE;
    strait_ir_leave(in, behind, "a value");
}

static inline void strait_ir_read_form(strait_ir_in *in, strait_ir_form *form);

/* Reads an attribute. Only attributes of ops contain requantizations, so this nests at most two levels deep. */
static inline void strait_ir_read_attribute(strait_ir_in *in, strait_ir_attribute *attribute, int forms) {
    const char *const what = "an attribute";
    uint64_t behind;
    memset(attribute, 0, sizeof *attribute);
    attribute->key = strait_ir_read_text(in, "the key of an attribute");
    attribute->kind = (uint8_t)strait_ir_read(in, 1, what);
    attribute->critical = strait_ir_flag(in, what);
    behind = strait_ir_enter(in, what);
    switch (attribute->kind) {
    case STRAIT_IR_INT:
        attribute->integer = strait_ir_signed64(strait_ir_read(in, 8, what));
        break;
    case STRAIT_IR_INTS:
        attribute->list = strait_ir_read_list(in, 8, what);
        break;
    case STRAIT_IR_REAL:
        attribute->real = strait_ir_real(strait_ir_read_u32(in, what));
        break;
    case STRAIT_IR_REALS:
        attribute->list = strait_ir_read_list(in, 4, what);
        break;
    case STRAIT_IR_TEXT:
        attribute->text = strait_ir_read_text(in, what);
        break;
    case STRAIT_IR_DATA:
        attribute->tensor = strait_ir_position(in, in->ir->tensor_count, "the position of a tensor");
        break;
    case STRAIT_IR_FORM:
        if (forms) {
            strait_ir_read_form(in, &attribute->form);
            break;
        }
        /* fall through */
    default:
        /* An attribute of a later version. Its size is known, so it is skipped. */
        if (in->status == STRAIT_IR_OK) {
            in->at = in->end;
        }
    }
    strait_ir_leave(in, behind, what);
}

/* Skips attributes and returns where they begin. */
static inline strait_ir_cursor strait_ir_attributes(strait_ir_in *in, int forms) {
    const uint32_t count = strait_ir_count(in, 10, "the attributes of a node");
    const strait_ir_cursor cursor = strait_ir_here(in, count, 0, forms);
    const int texts = in->texts;
    strait_ir_attribute attribute;
    uint32_t left;
    in->texts = 0;
    for (left = count; left > 0 && in->status == STRAIT_IR_OK; left--) {
        strait_ir_read_attribute(in, &attribute, forms);
    }
    in->texts = texts;
    return cursor;
}

static inline void strait_ir_read_form(strait_ir_in *in, strait_ir_form *form) {
    form->kind = strait_ir_read_text(in, "the kind of a form");
    form->fields = strait_ir_attributes(in, 0);
}

/* Reads a node. Its results are numbered from *values on, which is increased by their number. */
static inline void strait_ir_read_node(strait_ir_in *in, strait_ir_node *node, uint32_t *values) {
    const uint64_t behind = strait_ir_enter(in, "a node");
    strait_ir_value value;
    strait_ir_in ops;
    uint64_t at;
    uint32_t index, op;
    int texts;
    memset(node, 0, sizeof *node);
    op = strait_ir_position(in, in->ir->op_count, "the number of an op");
    ops = strait_ir_from(in->ir, in->ir->ops + 6 * (uint64_t)op, in->ir->size);
    if (in->status == STRAIT_IR_OK && in->texts) {
        ops.texts = 1;
        node->op = strait_ir_read_text(&ops, "an op");
        node->op_version = (uint16_t)strait_ir_read(&ops, 2, "an op");
    }
    node->name = strait_ir_read_text(in, "the name of a node");
    at = in->at;
    node->sources = strait_ir_read_list(in, 4, "the sources of a node");
    for (index = 0; index < node->sources.count && in->status == STRAIT_IR_OK; index++) {
        if (strait_ir_u32(node->sources, index) >= in->ir->string_count) {
            strait_ir_fail(in, STRAIT_IR_WRONG, at, "the name of a source");
        }
    }
    at = in->at;
    node->operands = strait_ir_read_list(in, 4, "the operands of a node");
    for (index = 0; index < node->operands.count && in->status == STRAIT_IR_OK; index++) {
        const uint32_t operand = strait_ir_u32(node->operands, index);
        if (operand != STRAIT_IR_NONE && operand >= *values) {
            strait_ir_fail(in, STRAIT_IR_WRONG, at, "the number of a value above");
        }
    }
    node->result_count = strait_ir_count(in, 11, "the results of a node");
    node->results = strait_ir_here(in, node->result_count, *values, 0);
    texts = in->texts;
    in->texts = 0;
    for (index = 0; index < node->result_count && in->status == STRAIT_IR_OK; index++) {
        strait_ir_read_value(in, &value);
    }
    in->texts = texts;
    node->attributes = strait_ir_attributes(in, 1);
    node->has_requantize = strait_ir_flag(in, "a fused requantization");
    if (node->has_requantize) {
        strait_ir_read_form(in, &node->requantize);
        node->has_clamp = strait_ir_flag(in, "a clamp");
        for (index = 0; node->has_clamp && index < 2; index++) {
            node->clamp[index] = strait_ir_signed32(strait_ir_read_u32(in, "a clamp"));
        }
        at = in->at;
        index = strait_ir_read_u32(in, "the addends of a fused form");
        if (index > 1) {
            strait_ir_fail(in, STRAIT_IR_WRONG, at, "the addends of a fused form");
        }
        node->has_addend = index == 1;
        if (node->has_addend) {
            node->addend_zero = strait_ir_signed32(strait_ir_read_u32(in, "the zero point of an addend"));
            strait_ir_read_form(in, &node->addend);
        }
    }
    node->on_host = strait_ir_flag(in, "a placement");
    if (node->on_host) {
        node->reason_code = strait_ir_read_text(in, "the code of a reason");
        node->reason = strait_ir_read_text(in, "the text of a reason");
    }
    strait_ir_leave(in, behind, "a node");
    if (in->status == STRAIT_IR_OK) {
        *values += node->result_count;
    }
}

/* Reads all parts of a graph's record. */
static inline void strait_ir_read_graph(strait_ir_in *in, strait_ir_graph *graph) {
    const uint64_t behind = strait_ir_enter(in, "a graph");
    strait_ir_value value;
    strait_ir_node node;
    uint64_t at;
    uint32_t values = 0, count, index;
    memset(graph, 0, sizeof *graph);
    graph->name = strait_ir_read_text(in, "the name of a graph");
    in->texts = 0;
    at = in->at;
    graph->stage = (uint8_t)strait_ir_read(in, 1, "the stage of a graph");
    if (graph->stage > STRAIT_IR_EXPORT) {
        strait_ir_fail(in, STRAIT_IR_WRONG, at, "the stage of a graph");
    }
    count = strait_ir_count(in, 11, "the inputs of a graph");
    graph->inputs = strait_ir_here(in, count, 0, 0);
    for (index = 0; index < count && in->status == STRAIT_IR_OK; index++) {
        strait_ir_read_value(in, &value);
    }
    values = count;
    count = strait_ir_count(in, 15, "the constants of a graph");
    graph->constants = strait_ir_here(in, count, values, 1);
    for (index = 0; index < count && in->status == STRAIT_IR_OK; index++) {
        strait_ir_position(in, in->ir->tensor_count, "the position of a tensor");
        strait_ir_read_value(in, &value);
    }
    values += count;
    count = strait_ir_count(in, 30, "the nodes of a graph");
    graph->nodes = strait_ir_here(in, count, values, 0);
    for (index = 0; index < count && in->status == STRAIT_IR_OK; index++) {
        strait_ir_read_node(in, &node, &values);
    }
    graph->value_count = values;
    at = in->at;
    graph->outputs = strait_ir_read_list(in, 4, "the outputs of a graph");
    for (index = 0; index < graph->outputs.count && in->status == STRAIT_IR_OK; index++) {
        if (strait_ir_u32(graph->outputs, index) >= values) {
            strait_ir_fail(in, STRAIT_IR_WRONG, at, "the number of a value");
        }
    }
    /* Quantization configs, which only the annotated stage has. These records are skipped. */
    count = strait_ir_count(in, 27, "the configs of a graph");
    for (index = 0; index < count && in->status == STRAIT_IR_OK; index++) {
        const uint64_t end = strait_ir_enter(in, "a config");
        if (in->status == STRAIT_IR_OK) {
            in->at = in->end;
        }
        strait_ir_leave(in, end, "a config");
    }
    strait_ir_leave(in, behind, "a graph");
}

/* ---- what a plugin calls ---- */

/* Opens IR bytes: reads and checks all of them. If the result is not STRAIT_IR_OK, only `fault` and `fault_at` of `ir` may
 * be used. */
static inline int strait_ir_open(strait_ir *ir, const uint8_t *bytes, uint64_t size) {
    static const char magic[8] = {'S', 'T', 'R', 'A', 'I', 'T', 'I', 'R'};
    strait_ir_in in;
    strait_ir_graph graph;
    uint64_t main_at;
    uint32_t index;
    memset(ir, 0, sizeof *ir);
    ir->bytes = bytes;
    ir->size = bytes == NULL ? 0 : size;
    ir->fault = "";
    in = strait_ir_from(ir, 0, ir->size);
    for (index = 0; index < 8; index++) {
        if (ir->size < 8 || bytes[index] != (uint8_t)magic[index]) {
            ir->fault = "the header";
            return STRAIT_IR_MAGIC;
        }
    }
    in.at = 8;
    ir->major = (uint16_t)strait_ir_read(&in, 2, "the header");
    ir->minor = (uint16_t)strait_ir_read(&in, 2, "the header");
    if (in.status == STRAIT_IR_OK && ir->major != STRAIT_IR_READER_MAJOR) {
        strait_ir_fail(&in, STRAIT_IR_OTHER_VERSION, 8, "the header");
    }
    ir->string_count = strait_ir_count(&in, 4, "the strings");
    ir->strings = in.at;
    for (index = 0; index < ir->string_count && in.status == STRAIT_IR_OK; index++) {
        strait_ir_take(&in, strait_ir_read_u32(&in, "a string"), "a string");
    }
    ir->op_count = strait_ir_count(&in, 6, "the ops");
    ir->ops = in.at;
    for (index = 0; index < ir->op_count && in.status == STRAIT_IR_OK; index++) {
        strait_ir_position(&in, ir->string_count, "an op");
        strait_ir_read(&in, 2, "an op");
    }
    ir->tensor_count = strait_ir_count(&in, 2, "the tensors");
    ir->tensors = in.at;
    for (index = 0; index < ir->tensor_count && in.status == STRAIT_IR_OK; index++) {
        const uint64_t at = in.at;
        const uint64_t type = strait_ir_read(&in, 1, "a tensor"), rank = strait_ir_read(&in, 1, "a tensor");
        if (type > 14 || rank > STRAIT_IR_MOST_RANK) {
            strait_ir_fail(&in, STRAIT_IR_WRONG, at, "a tensor");
        }
        strait_ir_take(&in, 8 * rank, "a tensor");
    }
    main_at = in.at;
    ir->main = strait_ir_read_u32(&in, "the main graph");
    ir->graph_count = strait_ir_count(&in, 4, "the graphs");
    ir->graphs = in.at;
    for (index = 0; index < ir->graph_count && in.status == STRAIT_IR_OK; index++) {
        strait_ir_read_graph(&in, &graph);
    }
    if (in.status == STRAIT_IR_OK && ir->main >= ir->graph_count) {
        strait_ir_fail(&in, STRAIT_IR_WRONG, main_at, "the main graph");
    }
    if (in.status == STRAIT_IR_OK && in.at != in.end && ir->minor <= STRAIT_IR_READER_MINOR) {
        strait_ir_fail(&in, STRAIT_IR_MORE, in.at, "the module");
    }
    ir->fault = in.fault;
    ir->fault_at = in.fault_at;
    return in.status;
}

/* Reads the graph with this number. Returns 1, or 0 if there is none. */
static inline int strait_ir_get_graph(const strait_ir *ir, uint32_t number, strait_ir_graph *graph) {
    strait_ir_in in = strait_ir_from(ir, ir->graphs, ir->size);
    if (number >= ir->graph_count) {
        return 0;
    }
    for (; number > 0; number--) {
        const uint64_t behind = strait_ir_enter(&in, "");
        in.at = in.end;
        in.end = behind;
    }
    in.texts = 1;
    strait_ir_read_graph(&in, graph);
    return in.status == STRAIT_IR_OK;
}

/* Reads the next input, constant or result. Returns 1, or 0 at the end. */
static inline int strait_ir_next_value(strait_ir_cursor *cursor, strait_ir_value *value) {
    strait_ir_in in = strait_ir_from(cursor->ir, cursor->at, cursor->end);
    uint32_t tensor = STRAIT_IR_NONE;
    if (cursor->left == 0) {
        return 0;
    }
    if (cursor->more) {
        tensor = strait_ir_read_u32(&in, "");
    }
    in.texts = 1;
    strait_ir_read_value(&in, value);
    value->tensor = tensor;
    value->number = cursor->number++;
    cursor->at = in.at;
    cursor->left--;
    return in.status == STRAIT_IR_OK;
}

/* Reads the next node. Returns 1, or 0 at the end. */
static inline int strait_ir_next_node(strait_ir_cursor *cursor, strait_ir_node *node) {
    strait_ir_in in = strait_ir_from(cursor->ir, cursor->at, cursor->end);
    if (cursor->left == 0) {
        return 0;
    }
    in.texts = 1;
    strait_ir_read_node(&in, node, &cursor->number);
    node->position = cursor->count - cursor->left;
    cursor->at = in.at;
    cursor->left--;
    return in.status == STRAIT_IR_OK;
}

/* Reads the next attribute of an op, or parameter of a requantization. Returns 1, or 0 at the end. */
static inline int strait_ir_next_attribute(strait_ir_cursor *cursor, strait_ir_attribute *attribute) {
    strait_ir_in in = strait_ir_from(cursor->ir, cursor->at, cursor->end);
    if (cursor->left == 0) {
        return 0;
    }
    in.texts = 1;
    strait_ir_read_attribute(&in, attribute, cursor->more);
    cursor->at = in.at;
    cursor->left--;
    return in.status == STRAIT_IR_OK;
}

/* Finds the attribute or parameter of this name. Returns 1, or 0 if there is none. */
static inline int strait_ir_find(strait_ir_cursor attributes, const char *key, strait_ir_attribute *attribute) {
    while (strait_ir_next_attribute(&attributes, attribute)) {
        if (strait_ir_is(attribute->key, key)) {
            return 1;
        }
    }
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
