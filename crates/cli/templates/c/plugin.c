/* The target NAME: its table, and the arithmetic of the chip for the form scale31.
 *
 * Strait computes models by the table. This file computes the same results in another way, and the kit and every compilation
 * compare the two. Put the chip's own arithmetic into code(), and the kit says where it differs from the table. */
#include "strait_plugin.h"

static const char table[] = {
#include "table.inc"
};

static const char package[] = "NAME 0.1.0";

/* The code for one accumulator: sat(round(x * factor / 2^shift) + zero_point), halves upwards. */
static int64_t code(const strait_form *form, uint64_t channel, int64_t x) {
    const uint64_t c = form->per_channel ? channel : 0;
    if (x < form->domain_low[c]) {
        x = form->domain_low[c];
    }
    if (x > form->domain_high[c]) {
        x = form->domain_high[c];
    }
    const int64_t product = x * form->factor[c] + form->addend[c];
    const uint32_t shift = form->shift[c];
    int64_t y = product;
    if (shift > 0) {
        /* Halves upwards: the last bit that is shifted out is added. */
        y = (product >> shift) + ((product >> (shift - 1)) & 1);
    }
    y += form->zero_point[c];
    return y < form->low ? form->low : y > form->high ? form->high : y;
}

/* Size of a code in bytes, or 0 for a type that this target does not have. */
static uint64_t width(uint32_t type) { return type == STRAIT_I8 ? 1 : type == STRAIT_I32 ? 4 : 0; }

static int computes(const strait_form *form) {
    for (uint32_t c = 0; c < form->channels; c++) {
        if (form->family[c] != STRAIT_FAMILY_AFFINE) {
            return 0;
        }
        if (form->rounding[c] != STRAIT_ROUND_HALF_UP || form->shift[c] > 62) {
            return 0;
        }
    }
    return width(form->out) != 0;
}

static strait_status requantize(const strait_host *host, void *target, const strait_form *form, const strait_tile *tile) {
    (void)host;
    (void)target;
    /* The host may be older or newer than this file, so it states how much of each struct is there. */
    if (form == NULL || tile == NULL || !STRAIT_HAS(form, strait_form, domain_high) || !STRAIT_HAS(tile, strait_tile, codes_size)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    if (form->family == NULL || form->rounding == NULL || form->factor == NULL || form->addend == NULL || form->shift == NULL ||
        form->zero_point == NULL || form->domain_low == NULL || form->domain_high == NULL) {
        return STRAIT_INVALID_ARGUMENT;
    }
    if (!computes(form)) {
        return STRAIT_UNSUPPORTED;
    }
    const uint64_t count = tile->rows * tile->columns;
    if (tile->accumulators == NULL || tile->codes == NULL || tile->codes_size < count * width(form->out)) {
        return STRAIT_INVALID_ARGUMENT;
    }
    for (uint64_t at = 0; at < count; at++) {
        const uint64_t row = at / tile->columns, column = at % tile->columns;
        const uint64_t channel = tile->first_channel + (tile->channel_axis == STRAIT_CHANNELS_ALONG_ROWS ? row : column);
        const int64_t x = tile->accumulator_bits == 64 ? ((const int64_t *)tile->accumulators)[at]
                                                       : ((const int32_t *)tile->accumulators)[at];
        const int64_t y = code(form, channel, x);
        if (form->out == STRAIT_I8) {
            ((int8_t *)tile->codes)[at] = (int8_t)y;
        } else {
            ((int32_t *)tile->codes)[at] = (int32_t)y;
        }
    }
    return STRAIT_OK;
}

static const strait_plugin plugin = {
    .struct_size = sizeof(strait_plugin),
    .interface_major = STRAIT_INTERFACE_MAJOR,
    .interface_minor = STRAIT_INTERFACE_MINOR,
    .table_schema = STRAIT_TABLE_SCHEMA,
    .package = package,
    .package_size = sizeof package - 1,
    .table = table,
    .table_size = sizeof table,
    .requantize = requantize,
};

const strait_plugin *strait_plugin_entry(uint32_t interface_major, uint32_t interface_minor) {
    (void)interface_major;
    (void)interface_minor;
    return &plugin;
}
