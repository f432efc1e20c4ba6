/* A test without Strait: codes by hand. */
#include <stdio.h>

#include "strait_plugin.h"

/* x / 4 + 3 */
static const struct {
    const char *name;
    int32_t accumulator;
    int expected;
} cases[] = {
    {"zero", 0, 3},
    {"a whole quotient", 4, 4},
    {"below a tie", 5, 4},
    {"a tie above zero", 6, 5},
    {"a tie below zero", -6, 2},
    {"below a tie below zero", -7, 1},
    {"beyond the highest code", 1000, 127},
    {"beyond the lowest code", -1000, -128},
};
enum { COUNT = sizeof cases / sizeof *cases };

int main(void) {
    const strait_plugin *plugin = strait_plugin_entry(STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR);
    if (plugin == NULL || plugin->requantize == NULL) {
        fprintf(stderr, "the entry does not serve version %d.%d\n", STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR);
        return 1;
    }
    const uint32_t family[] = {STRAIT_FAMILY_AFFINE}, rounding[] = {STRAIT_ROUND_HALF_UP}, shift[] = {32};
    const int32_t factor[] = {1 << 30}, zero_point[] = {3};
    const int64_t addend[] = {0}, low[] = {INT32_MIN}, high[] = {INT32_MAX};
    const strait_form form = {
        .struct_size = sizeof form,
        .channels = 1,
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
    _Alignas(64) int32_t sums[COUNT];
    _Alignas(64) int8_t codes[COUNT];
    for (int at = 0; at < COUNT; at++) {
        sums[at] = cases[at].accumulator;
    }
    const strait_tile tile = {
        .struct_size = sizeof tile,
        .accumulator_bits = 32,
        .rows = 1,
        .columns = COUNT,
        .accumulators = sums,
        .codes = codes,
        .codes_size = sizeof codes,
    };
    const strait_status status = plugin->requantize(NULL, NULL, &form, &tile);
    if (status != STRAIT_OK) {
        fprintf(stderr, "requantize answers %d, not STRAIT_OK\n", (int)status);
        return 1;
    }
    int failed = 0;
    for (int at = 0; at < COUNT; at++) {
        if (codes[at] != cases[at].expected) {
            fprintf(stderr, "%s: the accumulator %d gives %d, not %d\n", cases[at].name, (int)sums[at], codes[at], cases[at].expected);
            failed++;
        }
    }
    printf("%d of %d cases failed\n", failed, (int)COUNT);
    return failed != 0;
}
