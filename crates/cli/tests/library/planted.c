#define _POSIX_C_SOURCE 200809L
/* A library that is correct except for one fault, KIND, in the function FUNCTION. A fault of requantize only occurs for channels along
 * AXIS, for codes of WIDTH bits (64 stands for accumulators of 64 bits), and for forms of COUNT channels. The other faults always occur.
 *
 * If the function does not have this KIND of fault, the file does not compile. */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strait_plugin.h"

enum function { NOWHERE, ENTRY, OPEN, CLOSE, REQUANTIZE, ADMITS, EMIT };
enum kind {
    NONE, WRONG, BEFORE, BEHIND, UNWRITTEN, SECOND, PARALLEL, PROCESS,
    /* Faults of requantize that make a result wrong. */
    NEGATIVE, SATURATING, LAST, FIRST, OFF_BY_ONE_CHANNEL, ZERO_POINT, TIES, ADDEND, DOUBLE, CUT, IGNORES_FIRST, EXTREME, BEYOND,
    LARGE_SHIFT, LARGE_TILE, WRONG_WIDTH, SINGLE, ROW_MAJOR,
    /* Faults of requantize that do something besides computing results. */
    READS_BEFORE, READS_BEHIND, FORM_BEHIND, FORM_BEFORE, TOUCHES_INPUT, TOUCHES_FORM, TOUCHES_TILE, ACCUMULATES, FIRST_CALL, LATER_CALL,
    KEEPS_FORM, LEAKS_MEMORY, LEAKS_FILES, LEAKS_THREADS, LEAKS_PROCESSES, FLUSHES, ROUNDS_UP, HANDLES, BLOCKS, MOVES, MASKS, EXITS, ABORTS,
    CRASHES, HANGS, STATUS, DECLINES_LATER, SAYS_GARBAGE, RANDOM, OVERFLOWS, FAR_BEHIND, PARTLY,
    /* Faults of the other functions. */
    ALL, PATH, EMPTY, CASE, TRUSTS
};

#ifndef FUNCTION
#define FUNCTION NOWHERE
#endif
#ifndef KIND
#define KIND NONE
#endif
#ifndef AXIS
#define AXIS STRAIT_CHANNELS_ALONG_ROWS
#endif
#ifndef WIDTH
#define WIDTH 8
#endif
#ifndef COUNT
#define COUNT 19
#endif

/* Whether the library has this fault. The compiler removes the code of the others. */
#define HAS(function, kind) (FUNCTION == (function) && KIND == (kind))
#define DOES(kind) HAS(REQUANTIZE, kind)

static const char table[] = {
#include "table.inc"
};
/* A copy of the table with one byte changed. */
static char other_table[sizeof table];

static const char package[] = "planted 1.0.0";

static volatile int *volatile nowhere = NULL;
static volatile int forever = 1;

/* True in about half of all processes. */
static int here(void) { return getpid() & 1; }

static int64_t targets[64];
static int opens;

/* ---- requantize ---- */

static int64_t rounded(int64_t product, uint32_t shift) {
    if (shift == 0) {
        return product;
    }
    if (DOES(TIES)) {
        const int64_t down = product >> shift, rest = product - down * ((int64_t)1 << shift), half = (int64_t)1 << (shift - 1);
        return down + (rest > half || (rest == half && (down & 1)));
    }
    return (product >> shift) + ((product >> (shift - 1)) & 1);
}

static int64_t code(const strait_form *form, uint64_t channel, int64_t x, int faulty) {
    uint64_t c = form->per_channel ? channel : 0;
    if (faulty && DOES(OFF_BY_ONE_CHANNEL) && c + 1 < form->channels) {
        c++;
    }
    if (!(faulty && DOES(BEYOND))) {
        x = x < form->domain_low[c] ? form->domain_low[c] : x > form->domain_high[c] ? form->domain_high[c] : x;
    }
    if (faulty && DOES(CUT)) {
        x = (int32_t)x;
    }
    const uint32_t shift = form->shift[c];
    int64_t y;
    if (faulty && (DOES(DOUBLE) || DOES(SINGLE))) {
        const double scale = (double)form->factor[c] / (double)((uint64_t)1 << shift);
        double real = (DOES(SINGLE) ? (double)((float)x * (float)scale) : (double)x * scale) + 0.5;
        real = real < -9e15 ? -9e15 : real > 9e15 ? 9e15 : real;
        y = (int64_t)real;
        y -= (double)y > real;
    } else if (faulty && DOES(OVERFLOWS)) {
        y = (int32_t)rounded(x * form->factor[c] + form->addend[c], shift);
    } else {
        y = rounded(x * form->factor[c] + (faulty && DOES(ADDEND) ? 1 : form->addend[c]), faulty && DOES(LARGE_SHIFT) && shift > 40 ? 40 : shift);
    }
    if (!(faulty && DOES(ZERO_POINT))) {
        y += form->zero_point[c];
    }
    const int64_t sat = y < form->low ? form->low : y > form->high ? form->high : y;
    if (faulty && DOES(NEGATIVE) && x < 0 && y == sat) {
        return sat == form->low ? sat : sat - 1;
    }
    if (faulty && DOES(SATURATING) && y > sat) {
        return sat - 1;
    }
    if (faulty && DOES(EXTREME) && (x == INT32_MIN || x == INT64_MIN)) {
        return sat == form->high ? sat - 1 : sat + 1;
    }
    return sat;
}

static uint64_t width(uint32_t type) {
    return type == STRAIT_I8 ? 1 : type == STRAIT_I16 ? 2 : type == STRAIT_I32 ? 4 : 0;
}

static void put(void *codes, uint64_t size, uint64_t at, int64_t y) {
    if (size == 1) {
        ((int8_t *)codes)[at] = (int8_t)y;
    } else if (size == 2) {
        ((int16_t *)codes)[at] = (int16_t)y;
    } else {
        ((int32_t *)codes)[at] = (int32_t)y;
    }
}

static void *idle(void *of) {
    (void)of;
    for (;;) {
        pause();
    }
    return NULL;
}

static void handled(int signal) { (void)signal; }

/* Does what the planted fault does besides computing, before requantize computes. */
static strait_status beside(const strait_form *form, const strait_tile *tile) {
    static unsigned calls;
    const unsigned call = ++calls;
    static void *volatile last;
    if (DOES(LEAKS_MEMORY)) {
        last = malloc(256);
        memset(last, 1, 256);
    } else if (DOES(LEAKS_FILES) && call % 16 == 0) {
        if (open("/dev/null", O_RDONLY) < 0 && errno != EMFILE) {
            return STRAIT_INTERNAL;
        }
    } else if (DOES(LEAKS_THREADS) && call % 64 == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, idle, NULL);
    } else if (DOES(LEAKS_PROCESSES) && call % 512 == 0) {
        if (fork() == 0) {
            sleep(5);
            _exit(0);
        }
#if defined(__x86_64__)
    } else if (DOES(FLUSHES)) {
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
    } else if (DOES(ROUNDS_UP)) {
        fesetround(FE_UPWARD);
    } else if (DOES(HANDLES)) {
        signal(SIGUSR1, handled);
    } else if (DOES(BLOCKS)) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, NULL);
    } else if (DOES(MOVES)) {
        if (chdir("/") != 0) {
            return STRAIT_INTERNAL;
        }
    } else if (DOES(MASKS)) {
        umask(077);
    } else if (DOES(EXITS) && call == 500) {
        exit(0);
    } else if (DOES(ABORTS) && call == 500) {
        abort();
    } else if (DOES(CRASHES) && form->channels == 300) {
        *nowhere = 1;
    } else if (DOES(HANGS) && form->channels == 300) {
        while (forever) {
        }
    } else if (DOES(STATUS) && form->channels == 70) {
        return 77;
    } else if (DOES(DECLINES_LATER) && tile->rows * tile->columns > 100000) {
        return STRAIT_UNSUPPORTED;
    } else if (DOES(SAYS_GARBAGE) && call == 100) {
        for (int fd = 3; fd < 20; fd++) {
            if (write(fd, "garbage garbage", 15) < 0) {
                continue;
            }
        }
    }
    return STRAIT_OK;
}

static strait_status requantize(const strait_host *host, void *opened, const strait_form *form, const strait_tile *tile) {
    (void)host;
    if (opened == NULL || form == NULL || tile == NULL || !STRAIT_HAS(form, strait_form, domain_high) || !STRAIT_HAS(tile, strait_tile, codes_size)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    if (form->family == NULL || form->rounding == NULL || form->factor == NULL || form->addend == NULL || form->shift == NULL ||
        form->zero_point == NULL || form->domain_low == NULL || form->domain_high == NULL) {
        return STRAIT_INVALID_ARGUMENT;
    }
    const uint64_t count = tile->rows * tile->columns, size = width(form->out);
    if (size == 0 || tile->accumulators == NULL || tile->codes == NULL || tile->codes_size < count * size) {
        return STRAIT_INVALID_ARGUMENT;
    }
    const int columns = tile->channel_axis == STRAIT_CHANNELS_ALONG_COLUMNS;
    if (HAS(CLOSE, WRONG) && opens < 0) {
        return STRAIT_INTERNAL;
    }
    const int faulty = FUNCTION == REQUANTIZE && (columns ? STRAIT_CHANNELS_ALONG_COLUMNS : STRAIT_CHANNELS_ALONG_ROWS) == AXIS &&
                       (WIDTH == 64 ? tile->accumulator_bits == 64 : tile->accumulator_bits == 32 && size * 8 == WIDTH) &&
                       form->channels == COUNT;
    if (FUNCTION == REQUANTIZE) {
        const strait_status status = beside(form, tile);
        if (status != STRAIT_OK) {
            return status;
        }
    }
    static uint64_t calls;
    const uint64_t call = faulty ? __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) : 0;
    const strait_form *own = form;
    if (faulty && DOES(KEEPS_FORM)) {
        /* The fault: it recognizes a form by its address and keeps using its old parameters. */
        static const strait_form *kept;
        static int32_t factors[512], zero_points[512];
        static uint32_t shifts[512];
        static int64_t addends[512];
        static strait_form copy;
        if (kept != form) {
            kept = form;
            memcpy(factors, form->factor, sizeof *factors * form->channels);
            memcpy(zero_points, form->zero_point, sizeof *zero_points * form->channels);
            memcpy(shifts, form->shift, sizeof *shifts * form->channels);
            memcpy(addends, form->addend, sizeof *addends * form->channels);
        }
        copy = *form;
        copy.factor = factors;
        copy.zero_point = zero_points;
        copy.shift = shifts;
        copy.addend = addends;
        own = &copy;
    }
    /* The fault: all calls use the same buffer, so parallel calls disturb each other. */
    static int64_t shared[DOES(PARALLEL) ? 1 << 20 : 1];
    if (faulty && DOES(PARALLEL) && count <= 1 << 20) {
        for (uint64_t at = 0; at < count; at++) {
            shared[at] = tile->accumulator_bits == 64 ? ((const int64_t *)tile->accumulators)[at] : ((const int32_t *)tile->accumulators)[at];
        }
    }
    uint8_t *const bytes = tile->codes;
    volatile int64_t sink = 0;
    for (uint64_t at = 0; at < count; at++) {
        const uint64_t row = at / tile->columns, column = at % tile->columns;
        uint64_t channel = (columns ? column : row) + (faulty && DOES(IGNORES_FIRST) ? 0 : tile->first_channel);
        if (faulty && DOES(ROW_MAJOR) && form->per_channel) {
            channel = tile->first_channel + at % (columns ? tile->columns : tile->rows);
        }
        int64_t x = tile->accumulator_bits == 64 ? ((const int64_t *)tile->accumulators)[at] : ((const int32_t *)tile->accumulators)[at];
        if (faulty && DOES(PARALLEL) && count <= 1 << 20) {
            x = shared[at];
        }
        int64_t y = code(own, channel, x, faulty);
        const int first = at == 0, last = at + 1 == count;
        const int64_t flipped = y == form->low ? y + 1 : y - 1;
        if (faulty) {
            if (((DOES(WRONG) || DOES(LAST)) && last) || (DOES(FIRST) && first) || (DOES(SECOND) && first && (call & 1)) ||
                (DOES(PROCESS) && first && here()) || (DOES(FIRST_CALL) && first && call == 0) || (DOES(LATER_CALL) && first && call > 9) ||
                (DOES(LARGE_TILE) && first && count > 8192) || (DOES(RANDOM) && first && rand() % 7 == 0)) {
                y = flipped;
            }
            if ((DOES(UNWRITTEN) && last) || (DOES(PARTLY) && at % 16 == 15)) {
                continue;
            }
            if (DOES(ACCUMULATES)) {
                y = (y & ~(int64_t)1) | (bytes[at * size] & 1);
            }
        }
        put(tile->codes, faulty && DOES(WRONG_WIDTH) && size > 1 ? size / 2 : size, at, y);
    }
    if (faulty) {
        if (DOES(BEFORE)) {
            bytes[-1] = 0x11;
        }
        if (DOES(BEHIND)) {
            bytes[count * size] = 0x11;
        }
        if (DOES(FAR_BEHIND)) {
            bytes[count * size + 1000] = 0x11;
        }
        if (DOES(READS_BEFORE)) {
            sink += ((const volatile uint8_t *)tile->accumulators)[-1];
        }
        if (DOES(READS_BEHIND)) {
            sink += ((const volatile uint8_t *)tile->accumulators)[count * tile->accumulator_bits / 8];
        }
        if (DOES(FORM_BEHIND)) {
            sink += ((const volatile int32_t *)form->factor)[form->channels];
        }
        if (DOES(FORM_BEFORE)) {
            sink += ((const volatile int64_t *)form->domain_low)[-1];
        }
        if (DOES(TOUCHES_INPUT)) {
            ((uint8_t *)(uintptr_t)tile->accumulators)[0] ^= 1;
        }
        if (DOES(TOUCHES_FORM)) {
            ((int32_t *)(uintptr_t)form->zero_point)[0] ^= 1;
        }
        if (DOES(TOUCHES_TILE)) {
            ((strait_tile *)(uintptr_t)tile)->first_channel ^= 1;
        }
    }
    (void)sink;
    return STRAIT_OK;
}

/* ---- the other functions ---- */

static strait_status open_target(const strait_host *host, const strait_open *options, void **made) {
    (void)host;
    if (HAS(OPEN, TRUSTS)) {
        *made = options->option_count == 0 ? &targets[0] : &targets[1];
        return STRAIT_OK;
    }
    if (options == NULL || made == NULL || !STRAIT_HAS(options, strait_open, option_stride)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    opens++;
    if (HAS(OPEN, WRONG) || (HAS(OPEN, SECOND) && opens > 1) || (HAS(OPEN, PROCESS) && here())) {
        return STRAIT_INTERNAL;
    }
    if (HAS(OPEN, BEFORE) || HAS(OPEN, BEHIND)) {
        made[HAS(OPEN, BEFORE) ? -1 : 1] = &targets[0];
    }
    if (!HAS(OPEN, UNWRITTEN)) {
        *made = &targets[opens % 64];
    }
    return STRAIT_OK;
}

static void close_target(void *opened) {
    if (HAS(CLOSE, TRUSTS)) {
        *(int64_t *)opened = 0;
    }
    if (HAS(CLOSE, WRONG)) {
        opens = -100;
    }
    if (HAS(CLOSE, CRASHES) && opened != NULL) {
        abort();
    }
}

static void refuse(const strait_node *node, const char *text) {
    node->refuse(node->sink, "planted", 7, text, HAS(ADMITS, EMPTY) ? 0 : strlen(text));
}

static strait_status admits(const strait_host *host, void *opened, const strait_node *node) {
    static unsigned calls;
    (void)host;
    (void)opened;
    if (!HAS(ADMITS, TRUSTS) && (node == NULL || !STRAIT_HAS(node, strait_node, refuse) || node->refuse == NULL)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    calls++;
    if (HAS(ADMITS, ALL) || HAS(ADMITS, WRONG) || HAS(ADMITS, EMPTY) || (HAS(ADMITS, SECOND) && calls % 5 == 0) || (HAS(ADMITS, PROCESS) && here())) {
        refuse(node, "not today");
    }
    if (HAS(ADMITS, TOUCHES_INPUT)) {
        ((strait_operand *)(uintptr_t)node->result)->flags ^= STRAIT_OPERAND_CONSTANT;
    }
    if (HAS(ADMITS, CRASHES)) {
        abort();
    }
    if (HAS(ADMITS, STATUS)) {
        return 99;
    }
    return STRAIT_OK;
}

static strait_status put_file(const strait_emit *model, const char *name, const void *bytes, uint64_t size) {
    return model->write(model->sink, name, strlen(name), bytes, size);
}

static strait_status emit(const strait_host *host, void *opened, const strait_emit *model) {
    static unsigned calls;
    (void)host;
    (void)opened;
    if (!HAS(EMIT, TRUSTS) && (model == NULL || !STRAIT_HAS(model, strait_emit, write) || model->write == NULL || model->ir_size < 8 || memcmp(model->ir, "STRAITIR", 8) != 0)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    calls++;
    volatile uint8_t sink = 0;
    if (HAS(EMIT, UNWRITTEN)) {
        return STRAIT_OK;
    }
    if (HAS(EMIT, STATUS)) {
        return STRAIT_INTERNAL;
    }
    if (HAS(EMIT, CRASHES)) {
        *nowhere = 1;
    }
    if (HAS(EMIT, BEFORE)) {
        sink += ((const volatile uint8_t *)model->ir)[-1];
    }
    if (HAS(EMIT, BEHIND)) {
        sink += ((const volatile uint8_t *)model->ir)[model->ir_size];
    }
    if (HAS(EMIT, TOUCHES_INPUT)) {
        ((uint8_t *)(uintptr_t)model->ir)[model->ir_size - 1] ^= 1;
    }
    (void)sink;
    if (HAS(EMIT, WRONG)) {
        return put_file(model, "model.bin", "the same for all", 16);
    }
    if (HAS(EMIT, PATH)) {
        return put_file(model, "../model.bin", model->ir, model->ir_size);
    }
    if (HAS(EMIT, CASE) && put_file(model, "MODEL.bin", "", 0) != STRAIT_OK) {
        return STRAIT_INTERNAL;
    }
    const strait_status status = put_file(model, "model.bin", model->ir, model->ir_size);
    if (HAS(EMIT, SECOND)) {
        return put_file(model, "calls.bin", &calls, sizeof calls);
    }
    if (HAS(EMIT, PROCESS)) {
        const int process = getpid();
        return put_file(model, "process.bin", &process, sizeof process);
    }
    return status;
}

static strait_plugin plugin = {
    .struct_size = sizeof(strait_plugin),
    .interface_major = STRAIT_INTERFACE_MAJOR,
    .interface_minor = STRAIT_INTERFACE_MINOR,
    .table_schema = STRAIT_TABLE_SCHEMA,
    .ir_major = STRAIT_IR_MAJOR,
    .ir_minor = STRAIT_IR_MINOR,
    .package = package,
    .package_size = sizeof package - 1,
    .table = table,
    .table_size = sizeof table,
    .open = open_target,
    .close = close_target,
    .requantize = requantize,
    .emit = emit,
    .admits = admits,
};

const strait_plugin *strait_plugin_entry(uint32_t major, uint32_t minor) {
    static strait_plugin other;
    static int calls;
    calls++;
    other = plugin;
    if (HAS(ENTRY, WRONG)) {
        other.interface_major = major;
        return &other;
    }
    if (HAS(ENTRY, UNWRITTEN) && minor > STRAIT_INTERFACE_MINOR) {
        return NULL;
    }
    if (HAS(ENTRY, SECOND) && calls > 1) {
        other.package = "other 1.0.0";
        return &other;
    }
    if (HAS(ENTRY, PROCESS) && here()) {
        memcpy(other_table, table, sizeof table);
        char *const version = strstr(other_table, "0.1.0");
        version[0] = '9';
        other.table = other_table;
        return &other;
    }
    return &plugin;
}
