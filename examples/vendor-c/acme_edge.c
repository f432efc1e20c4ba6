/* The target acme-edge as a plugin in C: its table, its arithmetic and its files. A chip that does not exist. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strait_ir.h"
#include "strait_plugin.h"

/* The bytes of target.toml, which the Makefile writes as numbers. */
static const char table[] = {
#include "table.inc"
};

static const char package[] = "acme-edge 1.2.0";

/* A target with the values of its options. */
typedef struct target {
    int fields;
    uint64_t weights;
} target;

static strait_status fail(const strait_host *host, strait_status status, uint32_t node, const char *text) {
    if (host != NULL && STRAIT_HAS(host, strait_host, report) && host->report != NULL) {
        host->report(host->context, STRAIT_ERROR, node, text, strlen(text));
    }
    return status;
}

static strait_status open_target(const strait_host *host, const strait_open *options, void **made) {
    target *opened;
    uint32_t o;
    if (options == NULL || made == NULL || !STRAIT_HAS(options, strait_open, option_stride)) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "no options");
    }
    opened = malloc(sizeof *opened);
    if (opened == NULL) {
        return fail(host, STRAIT_RESOURCE, STRAIT_NO_NODE, "no memory");
    }
    opened->fields = 1;
    opened->weights = 0;
    for (o = 0; o < options->option_count; o++) {
        /* The host's options may be larger than this file knows, so the host states the distance between them. */
        const strait_option *option =
            (const strait_option *)(const void *)((const char *)options->options + o * options->option_stride);
        if (option->name_size == 6 && memcmp(option->name, "fields", 6) == 0) {
            opened->fields = option->number != 0;
        }
        if (option->name_size == 7 && memcmp(option->name, "weights", 7) == 0 && option->number > 0) {
            opened->weights = (uint64_t)option->number;
        }
    }
    *made = opened;
    return STRAIT_OK;
}

static void close_target(void *opened) { free(opened); }

/* ---- nodes ---- */

/* Refuses a layer with more weights than the board has memory for. */
static strait_status admits(const strait_host *host, void *opened, const strait_node *node) {
    uint64_t room;
    uint32_t o, e;
    if (opened == NULL || node == NULL || !STRAIT_HAS(node, strait_node, refuse) || node->refuse == NULL) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "no node");
    }
    room = ((const target *)opened)->weights;
    for (o = 0; room > 0 && o < node->operand_count; o++) {
        const strait_operand *operand =
            (const strait_operand *)(const void *)((const char *)node->operands + o * node->operand_stride);
        uint64_t count = 1;
        if (!(operand->flags & STRAIT_OPERAND_CONSTANT) || operand->extents == NULL) {
            continue;
        }
        for (e = 0; e < operand->rank; e++) {
            count *= operand->extents[e];
        }
        if (count > room) {
            char text[128];
            snprintf(text, sizeof text,
                     "its %" PRIu64 " weights are more than the %" PRIu64 " for which the board has room", count, room);
            node->refuse(node->sink, "acme-weights", 12, text, strlen(text));
            return STRAIT_OK;
        }
    }
    return STRAIT_OK;
}

/* ---- arithmetic ---- */

/* scale31: y = sat(floor((x * m + a) / 2^s + 1/2) + z). */
static int64_t code(const strait_form *form, uint32_t channel, int64_t x) {
    const uint32_t shift = form->shift[channel];
    int64_t y;
    x = x < form->domain_low[channel] ? form->domain_low[channel] : x;
    x = x > form->domain_high[channel] ? form->domain_high[channel] : x;
    y = ((x * form->factor[channel] + form->addend[channel] + ((int64_t)1 << (shift - 1))) >> shift) + form->zero_point[channel];
    return y < form->low ? form->low : y > form->high ? form->high : y;
}

static strait_status requantize(const strait_host *host, void *opened, const strait_form *form, const strait_tile *tile) {
    uint64_t row, column, count;
    uint32_t channel;
    if (opened == NULL || form == NULL || tile == NULL || !STRAIT_HAS(form, strait_form, domain_high) ||
        !STRAIT_HAS(tile, strait_tile, codes_size)) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "no form or no tile");
    }
    if (form->family == NULL || form->rounding == NULL || form->factor == NULL || form->addend == NULL ||
        form->shift == NULL || form->zero_point == NULL || form->domain_low == NULL || form->domain_high == NULL) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "a form without its arrays");
    }
    for (channel = 0; channel < form->channels; channel++) {
        if (form->family[channel] != STRAIT_FAMILY_AFFINE || form->rounding[channel] != STRAIT_ROUND_HALF_UP ||
            form->shift[channel] < 1 || form->shift[channel] > 62) {
            return STRAIT_UNSUPPORTED;
        }
    }
    if (form->out != STRAIT_I8 && form->out != STRAIT_I32) {
        return STRAIT_UNSUPPORTED;
    }
    if (tile->columns != 0 && tile->rows > UINT64_MAX / 4 / tile->columns) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "a tile that is too large");
    }
    count = tile->rows * tile->columns;
    if (count > 0 && (tile->accumulators == NULL || tile->codes == NULL ||
                      tile->codes_size < count * (form->out == STRAIT_I8 ? 1u : 4u))) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "a tile without its accumulators, or without room");
    }
    for (row = 0; row < tile->rows; row++) {
        for (column = 0; column < tile->columns; column++) {
            const uint64_t at = row * tile->columns + column;
            const uint64_t along = tile->channel_axis == STRAIT_CHANNELS_ALONG_ROWS ? row : column;
            const uint64_t of = form->per_channel ? tile->first_channel + along : 0;
            const int64_t x = tile->accumulator_bits == 64 ? ((const int64_t *)tile->accumulators)[at]
                                                           : ((const int32_t *)tile->accumulators)[at];
            if (of >= form->channels) {
                return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "more channels than the form has");
            }
            if (form->out == STRAIT_I8) {
                ((int8_t *)tile->codes)[at] = (int8_t)code(form, (uint32_t)of, x);
            } else {
                ((int32_t *)tile->codes)[at] = (int32_t)code(form, (uint32_t)of, x);
            }
        }
    }
    return STRAIT_OK;
}

/* ---- files ---- */

/* A model that is being written to files. After the first error nothing more is written. */
typedef struct writer {
    const strait_emit *model;
    strait_status status;
    /* Number of bytes written to edge.bin so far. */
    uint64_t constants;
} writer;

static void bytes(writer *w, const char *file, const void *from, uint64_t size) {
    if (w->status == STRAIT_OK) {
        w->status = w->model->write(w->model->sink, file, strlen(file), (const uint8_t *)from, size);
    }
}

static void word(writer *w, const char *text) { bytes(w, "edge.txt", text, strlen(text)); }

static void text(writer *w, strait_ir_text text) { bytes(w, "edge.txt", text.text, text.size); }

static void number(writer *w, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, " %" PRId64, number);
    word(w, digits);
}

static void constant(writer *w, uint32_t position) {
    const strait_tensor *tensor = (const strait_tensor *)(const void *)((const char *)w->model->tensors +
                                                                        position * w->model->tensor_stride);
    char place[64];
    snprintf(place, sizeof place, " @%" PRIu64 "+%" PRIu64, w->constants, tensor->data_size);
    word(w, place);
    bytes(w, "edge.bin", tensor->data, tensor->data_size);
    w->constants += tensor->data_size;
}

static void form(writer *w, const strait_ir_form *form, int with_fields) {
    strait_ir_cursor fields = form->fields;
    strait_ir_attribute field;
    uint32_t i;
    word(w, "  ");
    text(w, form->kind);
    while (with_fields && strait_ir_next_attribute(&fields, &field)) {
        word(w, " ");
        text(w, field.key);
        if (field.kind == STRAIT_IR_INT) {
            number(w, field.integer);
        } else if (field.kind == STRAIT_IR_INTS) {
            for (i = 0; i < field.list.count; i++) {
                number(w, strait_ir_i64(field.list, i));
            }
        } else if (field.kind == STRAIT_IR_TEXT) {
            word(w, " ");
            text(w, field.text);
        } else {
            word(w, " ?"); /* This chip has no floats. */
        }
    }
    word(w, "\n");
}

static void step(writer *w, const strait_ir_node *node, strait_ir_value *values, int with_fields) {
    static const char *const types[] = {"f32", "f16", "f64", "i8", "u8", "i16", "i32", "i64", "bool", "u16", "i4", "u4"};
    strait_ir_cursor results = node->results;
    strait_ir_value result;
    uint32_t i;
    text(w, node->op);
    word(w, " ");
    text(w, node->name);
    word(w, node->on_host ? " host\n  in" : "\n  in");
    for (i = 0; i < node->operands.count; i++) {
        const uint32_t operand = strait_ir_u32(node->operands, i);
        if (operand == STRAIT_IR_NONE) {
            word(w, " -");
        } else if (values[operand].tensor != STRAIT_IR_NONE) {
            constant(w, values[operand].tensor);
        } else {
            word(w, " ");
            text(w, values[operand].name);
        }
    }
    while (strait_ir_next_value(&results, &result)) {
        word(w, "\n  out ");
        word(w, types[result.type]);
        word(w, " ");
        text(w, result.name);
        values[result.number] = result;
    }
    word(w, "\n");
    if (node->has_requantize) {
        form(w, &node->requantize, with_fields);
    }
}

static strait_status emit(const strait_host *host, void *opened, const strait_emit *model) {
    writer w = {model, STRAIT_OK, 0};
    strait_ir ir;
    strait_ir_graph graph;
    strait_ir_node node;
    strait_ir_value value, *values;
    uint64_t *index;
    if (opened == NULL || model == NULL || !STRAIT_HAS(model, strait_emit, write) || model->write == NULL) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "no model");
    }
    if (strait_ir_open(&ir, model->ir, model->ir_size) != STRAIT_IR_OK || ir.tensor_count > model->tensor_count) {
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "these IR bytes cannot be read");
    }
    index = malloc(sizeof *index * (ir.string_count + (size_t)1));
    if (index != NULL) {
        strait_ir_index(&ir, index);
    }
    if (!strait_ir_get_graph(&ir, ir.main, &graph)) {
        free(index);
        return fail(host, STRAIT_INVALID_ARGUMENT, STRAIT_NO_NODE, "there is no main graph");
    }
    values = malloc(sizeof *values * (graph.value_count + (size_t)1));
    if (values == NULL) {
        free(index);
        return fail(host, STRAIT_RESOURCE, STRAIT_NO_NODE, "no memory");
    }
    while (strait_ir_next_value(&graph.inputs, &value) || strait_ir_next_value(&graph.constants, &value)) {
        values[value.number] = value;
    }
    /* This makes both files, even if the model has nothing to write. */
    bytes(&w, "edge.txt", "", 0);
    bytes(&w, "edge.bin", "", 0);
    while (strait_ir_next_node(&graph.nodes, &node)) {
        step(&w, &node, values, ((const target *)opened)->fields);
    }
    free(values);
    free(index);
    return w.status;
}

static const strait_plugin plugin = {
    sizeof(strait_plugin), STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR, STRAIT_TABLE_SCHEMA, STRAIT_IR_MAJOR, STRAIT_IR_MINOR,
    package,               sizeof package - 1,     table,                  sizeof table,        open_target,     close_target,
    requantize,            emit,                   admits,
};

const strait_plugin *strait_plugin_entry(uint32_t interface_major, uint32_t interface_minor) {
    (void)interface_major;
    (void)interface_minor;
    return &plugin;
}
