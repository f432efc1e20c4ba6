/* A plugin whose own model is as quick as a plain loop is: forms of the family AFFINE that round half up. */
#include "strait_plugin.h"

static const char table[] = {
#include "table.inc"
};

static void row(const strait_form *form, uint32_t channel, const int32_t *x, int8_t *code, uint64_t count) {
    const uint32_t c = form->per_channel ? channel : 0;
    const int64_t factor = form->factor[c], shift = form->shift[c];
    const int64_t addend = form->addend[c] + (shift > 0 ? (int64_t)1 << (shift - 1) : 0);
    const int64_t zero = form->zero_point[c], low = form->low, high = form->high;
    for (uint64_t i = 0; i < count; i++) {
        const int64_t y = ((x[i] * factor + addend) >> shift) + zero;
        code[i] = (int8_t)(y < low ? low : y > high ? high : y);
    }
}

static strait_status requantize(const strait_host *host, void *target, const strait_form *form, const strait_tile *tile) {
    const int32_t *x = tile->accumulators;
    int8_t *code = tile->codes;
    (void)host;
    (void)target;
    if (tile->accumulator_bits != 32 || tile->channel_axis != STRAIT_CHANNELS_ALONG_ROWS || form->out != STRAIT_I8 ||
        form->family[0] != STRAIT_FAMILY_AFFINE || form->rounding[0] != STRAIT_ROUND_HALF_UP) {
        return STRAIT_UNSUPPORTED;
    }
    for (uint64_t r = 0; r < tile->rows; r++) {
        const uint64_t at = r * tile->columns;
        row(form, tile->first_channel + (uint32_t)r, x + at, code + at, tile->columns);
    }
    return STRAIT_OK;
}

static const strait_plugin plugin = {
    sizeof(strait_plugin), STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR, STRAIT_TABLE_SCHEMA, 0, 0,
    "acme-npu 1.2.0", 14, table, sizeof table, 0, 0, requantize, 0, 0,
};

const strait_plugin *strait_plugin_entry(uint32_t major, uint32_t minor) {
    (void)minor;
    return major == STRAIT_INTERFACE_MAJOR ? &plugin : 0;
}
