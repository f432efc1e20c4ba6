/* A test that needs no Strait: it compares codes that were computed by hand and names the case that is wrong. The kit tests
 * many more. */
#include <stdio.h>
#include <string.h>

#include "strait_plugin.h"

enum { MOST = 8 };

/* A tile, and the codes that it must be requantized to. */
typedef struct test_case {
    const char *name;
    uint32_t bits, axis, first_channel, per_channel;
    uint64_t rows, columns;
    int64_t sums[MOST];
    int32_t codes[MOST];
} test_case;

/* Channel 0 is x / 4 + 3, channel 1 is x / 2 + 3, channel 2 is x + 3. */
static const test_case tests[] = {
    {"ties and their neighbours", 32, STRAIT_CHANNELS_ALONG_ROWS, 0, 0, 1, 8,
     {0, 4, 5, 6, -6, -7, 1000, -1000}, {3, 4, 4, 5, 2, 1, 127, -128}},
    {"accumulators of 64 bits", 64, STRAIT_CHANNELS_ALONG_ROWS, 0, 0, 1, 4, {8, -8, 1LL << 31, -(1LL << 31)}, {5, 1, 127, -128}},
    {"channels along rows", 32, STRAIT_CHANNELS_ALONG_ROWS, 0, 1, 3, 2, {8, 16, 8, 16, 8, 16}, {5, 7, 7, 11, 11, 19}},
    {"channels along columns", 32, STRAIT_CHANNELS_ALONG_COLUMNS, 0, 1, 2, 3, {8, 8, 8, 16, 16, 16}, {5, 7, 11, 7, 11, 19}},
    {"from the second channel on", 32, STRAIT_CHANNELS_ALONG_COLUMNS, 1, 1, 1, 2, {8, 8}, {7, 11}},
};

/* Tests one tile and says what is wrong, if anything. */
static int passes(const strait_plugin *plugin, const test_case *test) {
    const uint32_t family[] = {STRAIT_FAMILY_AFFINE, STRAIT_FAMILY_AFFINE, STRAIT_FAMILY_AFFINE};
    const uint32_t rounding[] = {STRAIT_ROUND_HALF_UP, STRAIT_ROUND_HALF_UP, STRAIT_ROUND_HALF_UP}, shift[] = {32, 31, 30};
    const int32_t factor[] = {1 << 30, 1 << 30, 1 << 30}, zero_point[] = {3, 3, 3};
    const int64_t addend[] = {0, 0, 0}, most = (int64_t)1 << 32;
    const int64_t low[] = {-most, -most, -most}, high[] = {most, most, most};
    const strait_form form = {
        .struct_size = sizeof form,
        .channels = test->per_channel ? 3 : 1,
        .per_channel = test->per_channel,
        .out = STRAIT_I8,
        .low = -128,
        .high = 127,
        .family = family,
        .rounding = rounding,
        .factor = factor,
        .addend = addend,
        .shift = shift,
        .zero_point = zero_point,
        .domain_low = low,
        .domain_high = high,
    };
    _Alignas(64) int32_t narrow[MOST];
    _Alignas(64) int64_t wide[MOST];
    /* One code more than the plugin is told of. It must not be written. */
    _Alignas(64) int8_t codes[MOST + 1];
    const uint64_t count = test->rows * test->columns;
    const strait_tile tile = {
        .struct_size = sizeof tile,
        .accumulator_bits = test->bits,
        .rows = test->rows,
        .columns = test->columns,
        .channel_axis = test->axis,
        .first_channel = test->first_channel,
        .accumulators = test->bits == 64 ? (const void *)wide : narrow,
        .codes = codes,
        .codes_size = count,
    };
    for (uint64_t at = 0; at < count; at++) {
        wide[at] = test->sums[at];
        narrow[at] = (int32_t)test->sums[at];
    }
    memset(codes, 0x55, sizeof codes);
    const strait_status status = plugin->requantize(NULL, NULL, &form, &tile);
    if (status != STRAIT_OK) {
        fprintf(stderr, "%s: requantize answers with status %d\n", test->name, (int)status);
        return 0;
    }
    for (uint64_t at = 0; at < count; at++) {
        if (codes[at] != test->codes[at]) {
            fprintf(stderr, "%s: accumulator %d of the tile, %lld, gives %d and not %d\n", test->name, (int)at,
                    (long long)test->sums[at], codes[at], (int)test->codes[at]);
            return 0;
        }
    }
    if (codes[count] != 0x55) {
        fprintf(stderr, "%s: it writes behind the codes\n", test->name);
        return 0;
    }
    return 1;
}

int main(void) {
    const strait_plugin *plugin = strait_plugin_entry(STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR);
    int wrong = 0;
    if (plugin == NULL || plugin->requantize == NULL) {
        fprintf(stderr, "the entry does not serve version %d.%d\n", STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR);
        return 1;
    }
    for (size_t at = 0; at < sizeof tests / sizeof *tests; at++) {
        wrong += !passes(plugin, &tests[at]);
    }
    if (wrong > 0) {
        fprintf(stderr, "%d of %d cases are wrong\n", wrong, (int)(sizeof tests / sizeof *tests));
    }
    return wrong > 0;
}
