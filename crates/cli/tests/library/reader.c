/* Shows what strait_ir.h reads. `dump FILE` prints it as text. `damage FILE` prints the reader's status for each shortened file and for
 * each changed byte. */
#include <stdio.h>
#include <stdlib.h>

#include "strait_ir.h"

static FILE *out;

static void text(strait_ir_text text) {
    uint64_t at;
    fputc('"', out);
    for (at = 0; at < text.size; at++) {
        if ((unsigned char)text.text[at] < 32) {
            fprintf(out, "\\%d", text.text[at]);
        } else {
            fputc(text.text[at], out);
        }
    }
    fputc('"', out);
}

static uint32_t bits(float real) {
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static void grid(const strait_ir_grid *grid) {
    uint32_t at;
    fputs(" scale", out);
    for (at = 0; at < grid->scales.count; at++) {
        fprintf(out, " %08x", (unsigned)bits(strait_ir_f32(grid->scales, at)));
    }
    fputs(" zero", out);
    for (at = 0; at < grid->zero_points.count; at++) {
        fprintf(out, " %ld", (long)strait_ir_i32(grid->zero_points, at));
    }
    if (grid->has_axis) {
        fprintf(out, " axis %d", grid->axis);
    }
    if (grid->block > 0) {
        fprintf(out, " block %lu", (unsigned long)grid->block);
    }
}

static void value(const strait_ir *ir, const char *role, const strait_ir_value *value) {
    unsigned axis;
    fprintf(out, "%s %lu ", role, (unsigned long)value->number);
    text(value->name);
    fprintf(out, " type %d [", value->type);
    for (axis = 0; axis < value->rank; axis++) {
        if (value->is_named[axis]) {
            text(strait_ir_string(ir, (uint32_t)value->extents[axis]));
        } else {
            fprintf(out, "%llu", (unsigned long long)value->extents[axis]);
        }
        fputc(' ', out);
    }
    fputc(']', out);
    if (value->has_grid) {
        grid(&value->grid);
    }
    if (value->tensor != STRAIT_IR_NONE) {
        fprintf(out, " tensor %lu", (unsigned long)value->tensor);
    }
    fputc('\n', out);
}

static void form(const char *role, const strait_ir_form *form);

static void attributes(const char *role, strait_ir_cursor attributes) {
    strait_ir_attribute attribute;
    uint32_t at;
    while (strait_ir_next_attribute(&attributes, &attribute)) {
        fprintf(out, "  %s ", role);
        text(attribute.key);
        fprintf(out, " kind %d critical %d:", attribute.kind, attribute.critical);
        switch (attribute.kind) {
        case STRAIT_IR_INT:
            fprintf(out, " %lld", (long long)attribute.integer);
            break;
        case STRAIT_IR_INTS:
            for (at = 0; at < attribute.list.count; at++) {
                fprintf(out, " %lld", (long long)strait_ir_i64(attribute.list, at));
            }
            break;
        case STRAIT_IR_REAL:
            fprintf(out, " %08x", (unsigned)bits(attribute.real));
            break;
        case STRAIT_IR_REALS:
            for (at = 0; at < attribute.list.count; at++) {
                fprintf(out, " %08x", (unsigned)bits(strait_ir_f32(attribute.list, at)));
            }
            break;
        case STRAIT_IR_TEXT:
            fputc(' ', out);
            text(attribute.text);
            break;
        case STRAIT_IR_DATA:
            fprintf(out, " %lu", (unsigned long)attribute.tensor);
            break;
        case STRAIT_IR_FORM:
            fputc('\n', out);
            form("form", &attribute.form);
            continue;
        default:
            break;
        }
        fputc('\n', out);
    }
}

static void form(const char *role, const strait_ir_form *form) {
    fprintf(out, "  %s ", role);
    text(form->kind);
    fputc('\n', out);
    attributes("field", form->fields);
}

static void node(const strait_ir *ir, const strait_ir_node *node) {
    strait_ir_cursor results = node->results;
    strait_ir_value result;
    uint32_t at;
    fprintf(out, "node %lu ", (unsigned long)node->position);
    text(node->op);
    fprintf(out, " %d ", node->op_version);
    text(node->name);
    for (at = 0; at < node->sources.count; at++) {
        fputs(" from ", out);
        text(strait_ir_string(ir, strait_ir_u32(node->sources, at)));
    }
    for (at = 0; at < node->operands.count; at++) {
        const uint32_t operand = strait_ir_u32(node->operands, at);
        fprintf(out, " %ld", operand == STRAIT_IR_NONE ? -1L : (long)operand);
    }
    fputc('\n', out);
    while (strait_ir_next_value(&results, &result)) {
        value(ir, "  result", &result);
    }
    attributes("attribute", node->attributes);
    if (node->has_requantize) {
        form("requantize", &node->requantize);
    }
    if (node->has_clamp) {
        fprintf(out, "  clamp %ld %ld\n", (long)node->clamp[0], (long)node->clamp[1]);
    }
    if (node->has_addend) {
        fprintf(out, "  addend %ld\n", (long)node->addend_zero);
        form("of", &node->addend);
    }
    if (node->on_host) {
        fputs("  host ", out);
        text(node->reason_code);
        text(node->reason);
        fputc('\n', out);
    }
}

static void dump(const strait_ir *ir) {
    uint32_t number;
    fprintf(out, "main %lu\n", (unsigned long)ir->main);
    for (number = 0; number < ir->graph_count; number++) {
        strait_ir_graph graph;
        strait_ir_value of;
        strait_ir_node step;
        uint32_t at;
        if (!strait_ir_get_graph(ir, number, &graph)) {
            fputs("unreadable\n", out);
            return;
        }
        fputs("graph ", out);
        text(graph.name);
        fprintf(out, " stage %d values %lu\n", graph.stage, (unsigned long)graph.value_count);
        while (strait_ir_next_value(&graph.inputs, &of)) {
            value(ir, "input", &of);
        }
        while (strait_ir_next_value(&graph.constants, &of)) {
            value(ir, "constant", &of);
        }
        while (strait_ir_next_node(&graph.nodes, &step)) {
            node(ir, &step);
        }
        fputs("outputs", out);
        for (at = 0; at < graph.outputs.count; at++) {
            fprintf(out, " %lu", (unsigned long)strait_ir_u32(graph.outputs, at));
        }
        fputc('\n', out);
    }
}

/* Reads a copy of the bytes at the very end of its allocation, so that a read past them is noticed; returns the reader's status. */
static int answer(const uint8_t *bytes, uint64_t size, int indexed) {
    uint8_t *copy = (uint8_t *)malloc(size > 0 ? size : 1);
    uint64_t *index = NULL;
    strait_ir ir;
    int status;
    memcpy(copy, bytes, size);
    status = strait_ir_open(&ir, copy, size);
    if (status == STRAIT_IR_OK) {
        if (indexed) {
            index = (uint64_t *)malloc(sizeof *index * (ir.string_count + 1));
            strait_ir_index(&ir, index);
        }
        dump(&ir);
    } else if (ir.fault[0] == '\0' || ir.fault_at > size) {
        status = 9;
    }
    free(index);
    free(copy);
    return status;
}

int main(int count, char **arguments) {
    FILE *in = count == 3 ? fopen(arguments[2], "rb") : NULL;
    static uint8_t bytes[1 << 24];
    uint64_t size, at;
    if (in == NULL) {
        return 2;
    }
    size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    if (arguments[1][0] == 'd' && arguments[1][1] == 'u') {
        out = stdout;
        return answer(bytes, size, 1);
    }
    out = fopen("/dev/null", "w");
    for (at = 0; at < size; at++) {
        putchar('0' + answer(bytes, at, 0));
    }
    for (at = 0; at < size; at++) {
        static const uint8_t changes[3] = {0x01, 0x80, 0xff};
        unsigned change;
        for (change = 0; change < 3; change++) {
            bytes[at] ^= changes[change];
            putchar('0' + answer(bytes, size, change == 0));
            bytes[at] ^= changes[change];
        }
    }
    fclose(out);
    return 0;
}
