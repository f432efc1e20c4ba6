#define _POSIX_C_SOURCE 200809L
/* A plugin for tests that can fail in many ways. IN_ENTRY, IN_OPEN, IN_REQUANTIZE, IN_ADMITS and IN_EMIT each select one of the faults
 * enumerated below for that function. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strait_plugin.h"

#ifndef MAJOR
#define MAJOR STRAIT_INTERFACE_MAJOR
#endif
#ifndef SCHEMA
#define SCHEMA STRAIT_TABLE_SCHEMA
#endif
#ifndef PACKAGE
#define PACKAGE "acme-npu 1.2.0"
#endif
#ifndef IN_ENTRY
#define IN_ENTRY 0
#endif
#ifndef IN_OPEN
#define IN_OPEN 0
#endif
#ifndef IN_REQUANTIZE
#define IN_REQUANTIZE 0
#endif
/* Whether the plugin has `admits`. By default it has not, because most tests compile models for it. */
#ifndef ADMITS
#define ADMITS 0
#endif
#ifndef IN_ADMITS
#define IN_ADMITS 0
#endif
#ifndef REASON
#define REASON NULL
#endif
#ifndef IN_EMIT
#define IN_EMIT 0
#endif

#ifndef AGAINST_INTERFACE
#define AGAINST_INTERFACE 0
#endif

enum { NONE, CRASH, ABORT, LOOP, OVERFLOW, EXIT, FAILURE, OFF_BY_ONE, GARBAGE, SAY_PANIC, TIES, SHIFT, CANNOT, PAST, CHANGING, CHILD, SAY, DECLINE, NULL_BYTES, FIRST_ALONE, LATER };
/* Violations of the interface, selected by AGAINST_INTERFACE. */
enum { TRUSTING = 1, EXACT_SIZES, ECHO, NO_LATER, SPILLING };

static const char table[] = {
#include "table.inc"
};

#ifdef UNDEFINED
/* A function from another library of the vendor, which is not installed. */
extern int vendor_licence(void);
int asked(void) { return vendor_licence(); }
#endif

static int deeper(volatile char *above, int depth) {
    volatile char here[4096];
    here[0] = above[0];
    return depth == 0 ? here[0] : deeper(here, depth + 1) + here[0];
}

/* Volatile, so that the compiler does not optimize the fault away. */
static volatile int *volatile nowhere = NULL;
static volatile int forever = 1;

static void go_wrong(int how) {
    switch (how) {
    case CRASH:
        *nowhere = 1;
        break;
    case ABORT:
        abort();
    case LOOP:
#ifdef PID_FILE
    {
        FILE *file = fopen(PID_FILE, "w");
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
#endif
        while (forever) {
        }
        break;
    case OVERFLOW: {
        volatile char first[1] = {1};
        forever = deeper(first, 1);
        break;
    }
    case EXIT:
        exit(3);
    case CHILD:
        /* The child keeps the pipes open and outlives its parent unless it is killed. */
        if (fork() == 0) {
            sleep(600);
            _exit(0);
        }
        abort();
    case SAY:
        fprintf(stderr, "LD_LIBRARY_PATH is %s\n", getenv("LD_LIBRARY_PATH") ? "there" : "absent");
        break;
    case GARBAGE:
        /* The plugin does not know the pipes to the host, so it writes into every open file descriptor. */
        for (int fd = 3; fd < 20; fd++) {
            extern long write(int, const void *, unsigned long);
            if (write(fd, "garbage garbage garbage", 23) < 0) {
                continue;
            }
        }
        break;
    default:
        break;
    }
}

static int64_t floored(int64_t value, uint32_t shift) { return value >> shift; }

static int64_t rounded(int64_t value, uint32_t shift, uint32_t rounding) {
    if (shift == 0) {
        return value;
    }
    const int64_t below = floored(value, shift), rest = value - below * ((int64_t)1 << shift);
    const int64_t half = (int64_t)1 << (shift - 1);
    if (rest == 0) {
        return below;
    }
    switch (rounding) {
    case STRAIT_ROUND_FLOOR:
        return below;
    case STRAIT_ROUND_CEIL:
        return below + 1;
    case STRAIT_ROUND_TOWARD_ZERO:
        return below + (value < 0);
    case STRAIT_ROUND_HALF_UP:
        return below + (rest >= half);
    case STRAIT_ROUND_HALF_DOWN:
        return below + (rest > half);
    case STRAIT_ROUND_HALF_AWAY:
        return below + (rest > half || (rest == half && value > 0));
    case STRAIT_ROUND_HALF_TOWARD_ZERO:
        return below + (rest > half || (rest == half && value < 0));
    default:
        return below + (rest > half || (rest == half && (below & 1)));
    }
}

static int64_t code(const strait_form *form, uint32_t channel, int64_t x) {
    const uint32_t c = form->per_channel ? channel : 0;
    const int64_t zero = form->zero_point[c];
    x = x < form->domain_low[c] ? form->domain_low[c] : x > form->domain_high[c] ? form->domain_high[c] : x;
    switch (form->family[c]) {
    case STRAIT_FAMILY_AFFINE: {
        const int64_t product = x * form->factor[c] + form->addend[c];
        const uint32_t rounding = IN_REQUANTIZE == TIES ? STRAIT_ROUND_HALF_EVEN : form->rounding[c];
        return rounded(product, form->shift[c] - (IN_REQUANTIZE == SHIFT), rounding) + zero;
    }
    case STRAIT_FAMILY_DOUBLING: {
        const int64_t product = x * form->factor[c] + form->addend[c];
        const int64_t high = rounded(product, 31, STRAIT_ROUND_HALF_UP);
        return rounded(high, form->shift[c] - 31, STRAIT_ROUND_HALF_AWAY) + zero;
    }
    case STRAIT_FAMILY_FLOAT: {
        const float product = (float)x * (float)form->scale[c];
        return (int64_t)fmin(fmax(nearbyint(product), -1e15), 1e15) + zero;
    }
    case STRAIT_FAMILY_DOUBLE:
        return (int64_t)fmin(fmax(round((double)x * form->scale[c]), -1e15), 1e15) + zero;
    case STRAIT_FAMILY_FLOAT_AFFINE: {
        volatile float product = (float)x * (float)form->scale[c];
        product = product * (float)form->second_scale[c];
        product = product + (float)form->offset[c];
        return (int64_t)fmin(fmax(nearbyint(product), -1e15), 1e15);
    }
    default: {
        const int32_t *first = form->thresholds;
        for (uint32_t before = 0; before < c; before++) {
            first += form->threshold_count[before];
        }
        int64_t passed = 0;
        while (passed < form->threshold_count[c] && first[passed] <= x) {
            passed++;
        }
        return zero + passed;
    }
    }
}

static strait_status failed(const strait_host *host, uint32_t node, const char *text) {
    if (host != NULL && STRAIT_HAS(host, strait_host, report) && host->report != NULL) {
        host->report(host->context, STRAIT_ERROR, node, text, strlen(text));
    }
    return STRAIT_INTERNAL;
}

static uint64_t width(const strait_form *form) {
    switch (form->out) {
    case STRAIT_I32:
        return 4;
    case STRAIT_I16:
    case STRAIT_U16:
        return 2;
    default:
        return 1;
    }
}

static int usable(const strait_form *form, const strait_tile *tile) {
    if (AGAINST_INTERFACE == EXACT_SIZES && tile != NULL && tile->struct_size != sizeof(strait_tile)) {
        return 0;
    }
    if (form == NULL || tile == NULL || !STRAIT_HAS(form, strait_form, threshold_count) ||
        !STRAIT_HAS(tile, strait_tile, codes_size)) {
        return 0;
    }
    const uint64_t room = tile->rows * tile->columns * width(form);
    return form->family != NULL && tile->accumulators != NULL && tile->codes != NULL && tile->codes_size >= room;
}

static strait_status requantize(const strait_host *host, void *target, const strait_form *form, const strait_tile *tile) {
    (void)target;
    if (AGAINST_INTERFACE != TRUSTING && !usable(form, tile)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    if (IN_REQUANTIZE == CANNOT && form->shift[0] > 40) {
        return failed(host, STRAIT_NO_NODE, "the chip has no shift above 40");
    }
    if (tile->rows * tile->columns > 1) {
        go_wrong(IN_REQUANTIZE);
        if (IN_REQUANTIZE == FAILURE) {
            return failed(host, STRAIT_NO_NODE, "the model of the chip has no licence");
        }
        if (IN_REQUANTIZE == SAY_PANIC) {
            return STRAIT_PANIC;
        }
    }
    const uint64_t along = tile->channel_axis == STRAIT_CHANNELS_ALONG_ROWS ? tile->rows : tile->columns;
    if ((IN_REQUANTIZE == FIRST_ALONE && form->per_channel && tile->first_channel + along > 1) ||
        (IN_REQUANTIZE == LATER && tile->rows * tile->columns > along)) {
        return STRAIT_UNSUPPORTED;
    }
#ifdef ONLY_BITS
    if (tile->accumulator_bits != ONLY_BITS) {
        return STRAIT_UNSUPPORTED;
    }
#endif
    if (((uintptr_t)tile->accumulators | (uintptr_t)tile->codes) % 64 != 0) {
        return STRAIT_INVALID_ARGUMENT;
    }
    for (uint64_t row = 0; row < tile->rows; row++) {
        for (uint64_t column = 0; column < tile->columns; column++) {
            const uint64_t at = row * tile->columns + column;
            const uint32_t channel =
                tile->first_channel + (uint32_t)(tile->channel_axis == STRAIT_CHANNELS_ALONG_ROWS ? row : column);
            const int64_t x = tile->accumulator_bits == 64 ? ((const int64_t *)tile->accumulators)[at]
                                                           : ((const int32_t *)tile->accumulators)[at];
            int64_t y = code(form, channel, x);
            if (IN_REQUANTIZE == PAST) {
                const volatile int32_t *next = (const int32_t *)tile->accumulators + at + 1;
                (void)*next;
            }
            if (IN_REQUANTIZE == CHANGING) {
                static unsigned calls;
                y ^= ++calls % 97 == 0;
            }
            /* Wrong for a single code in the last channel only. */
            y += IN_REQUANTIZE == OFF_BY_ONE && channel + 1 == form->channels && y == 7;
            y = y < form->low ? form->low : y > form->high ? form->high : y;
            switch (width(form)) {
            case 1:
                ((int8_t *)tile->codes)[at] = (int8_t)y;
                break;
            case 2:
                ((int16_t *)tile->codes)[at] = (int16_t)y;
                break;
            default:
                ((int32_t *)tile->codes)[at] = (int32_t)y;
            }
        }
    }
    if (AGAINST_INTERFACE == SPILLING) {
        ((uint8_t *)tile->codes)[tile->codes_size] = 0;
    }
    return STRAIT_OK;
}

static strait_status emit(const strait_host *host, void *target, const strait_emit *model) {
    if (AGAINST_INTERFACE != TRUSTING &&
        (model == NULL || !STRAIT_HAS(model, strait_emit, write) || model->write == NULL || model->ir_size < 8 ||
         memcmp(model->ir, "STRAITIR", 8) != 0)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    go_wrong(IN_EMIT);
    if (IN_EMIT == FAILURE) {
        return failed(host, 0, "this node has no place on the chip");
    }
    if (IN_EMIT == NULL_BYTES) {
        /* The plugin ignores the returned status. */
        model->write(model->sink, "files/none", 10, NULL, 5);
    }
    /* Writes the options byte by byte, then the total size of IR bytes and tensors. */
    const char *text = target;
    strait_status status = STRAIT_OK;
    for (; *text != 0 && status == STRAIT_OK; text++) {
        status = model->write(model->sink, "files/options.txt", 17, (const uint8_t *)text, 1);
    }
    uint64_t total = model->ir_size;
    for (uint32_t t = 0; t < model->tensor_count; t++) {
        const strait_tensor *tensor =
            (const strait_tensor *)(const void *)((const char *)model->tensors + t * model->tensor_stride);
        total += tensor->data_size;
    }
    return status == STRAIT_OK ? model->write(model->sink, "files/total", 11, (const uint8_t *)&total, 8) : status;
}

/* Refuses each node with a text that describes it, except a node named `fine`. */
static strait_status admits(const strait_host *host, void *target, const strait_node *node) {
    char text[2048];
    int used = 0;
    (void)target;
    if (AGAINST_INTERFACE != TRUSTING && (node == NULL || !STRAIT_HAS(node, strait_node, refuse) || node->refuse == NULL)) {
        return STRAIT_INVALID_ARGUMENT;
    }
#define SAY(...) used += snprintf(text + used, sizeof text - (size_t)used, __VA_ARGS__)
    if (node->name_size == 4 && memcmp(node->name, "fine", 4) == 0) {
        return STRAIT_OK;
    }
    if (node->name_size == 7 && memcmp(node->name, "unknown", 7) == 0) {
        return STRAIT_UNSUPPORTED;
    }
    if (node->name_size == 3 && memcmp(node->name, "bad", 3) == 0) {
        go_wrong(IN_ADMITS);
        if (IN_ADMITS == FAILURE) {
            return failed(host, STRAIT_NO_NODE, "the chip's list of nodes has no licence");
        }
    }
    SAY("%.*s", (int)node->term_size, node->term);
    for (uint64_t a = 0; a < node->attribute_count; a++) {
        const strait_attribute *attribute =
            (const strait_attribute *)(const void *)((const char *)node->attributes + a * node->attribute_stride);
        SAY(" %.*s=", (int)attribute->key_size, attribute->key);
        for (uint64_t v = 0; v < attribute->count; v++) {
            switch (attribute->kind) {
            case STRAIT_ATTRIBUTE_INT:
            case STRAIT_ATTRIBUTE_INTS:
                SAY("%lld,", (long long)((const int64_t *)attribute->values)[v]);
                break;
            case STRAIT_ATTRIBUTE_FLOAT:
            case STRAIT_ATTRIBUTE_FLOATS:
                SAY("%g,", (double)((const float *)attribute->values)[v]);
                break;
            default:
                SAY("%c", ((const char *)attribute->values)[v]);
            }
        }
    }
    for (uint32_t o = 0; o <= node->operand_count; o++) {
        const strait_operand *operand =
            o == node->operand_count
                ? node->result
                : (const strait_operand *)(const void *)((const char *)node->operands + o * node->operand_stride);
        SAY("%s", o == node->operand_count ? " ->" : "");
        if (operand->flags & STRAIT_OPERAND_ABSENT) {
            SAY(" none");
            continue;
        }
        SAY(" %s%u", operand->flags & STRAIT_OPERAND_CONSTANT ? "constant " : "", operand->type);
        if (operand->extents == NULL) {
            SAY("[?");
        } else {
            SAY("[");
        }
        for (uint32_t e = 0; e < operand->rank; e++) {
            SAY("%llu,", (unsigned long long)operand->extents[e]);
        }
        SAY("]");
    }
    const char *code = REASON;
    node->refuse(node->sink, code, code == NULL ? 0 : strlen(code), text, (uint64_t)used);
    return STRAIT_OK;
}

static strait_status opened(const strait_host *host, const strait_open *options, void **target) {
    (void)host;
    if (AGAINST_INTERFACE != TRUSTING &&
        (options == NULL || target == NULL || !STRAIT_HAS(options, strait_open, option_stride))) {
        return STRAIT_INVALID_ARGUMENT;
    }
    go_wrong(IN_OPEN);
    if (IN_OPEN == DECLINE) {
        return STRAIT_UNSUPPORTED;
    }
    char *text = calloc(1, 4096);
    size_t used = 0;
    for (uint32_t o = 0; o < options->option_count; o++) {
        const strait_option *option =
            (const strait_option *)(const void *)((const char *)options->options + o * options->option_stride);
        memcpy(text + used, option->name, option->name_size);
        used += option->name_size;
        text[used++] = '=';
        if (option->kind == STRAIT_OPTION_TEXT) {
            memcpy(text + used, option->text, option->text_size);
            used += option->text_size;
        } else {
            text[used++] = (char)('0' + option->number);
        }
        text[used++] = '\n';
    }
    *target = text;
    return STRAIT_OK;
}

static void closed(void *target) { free(target); }

static const strait_plugin plugin = {
    sizeof(strait_plugin), MAJOR, STRAIT_INTERFACE_MINOR, SCHEMA, STRAIT_IR_MAJOR, STRAIT_IR_MINOR,
    PACKAGE, sizeof PACKAGE - 1, table, sizeof table, opened, closed, requantize, emit, ADMITS ? admits : NULL,
};

#ifdef NO_ENTRY
const strait_plugin *another_entry(void) { return &plugin; }
#else
const strait_plugin *strait_plugin_entry(uint32_t major, uint32_t minor) {
    (void)minor;
    go_wrong(IN_ENTRY);
#ifdef REFUSE
    (void)major;
    return NULL;
#else
    if (AGAINST_INTERFACE == ECHO) {
        static strait_plugin echo;
        echo = plugin;
        echo.interface_major = major;
        return &echo;
    }
    if (AGAINST_INTERFACE == NO_LATER && minor > STRAIT_INTERFACE_MINOR) {
        return NULL;
    }
    return major == 0 ? NULL : &plugin;
#endif
}
#endif
