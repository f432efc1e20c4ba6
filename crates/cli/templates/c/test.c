/* A test without Strait: codes by hand. */
#include <stdio.h>

#include "strait_plugin.h"

int main(void) {
    const strait_plugin *plugin = strait_plugin_entry(STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR);
    if (plugin == NULL || plugin->requantize == NULL) {
        fprintf(stderr, "the entry does not serve version %d.%d\n", STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR);
        return 1;
    }
    /* x / 4 + 3 */
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
    _Alignas(64) const int32_t sums[] = {0, 4, 5, 6, -6, -7, 1000, -1000};
    const int8_t expected[] = {3, 4, 4, 5, 2, 1, 127, -128};
    enum { COUNT = sizeof sums / sizeof *sums };
    _Alignas(64) int8_t codes[COUNT];
    const strait_tile tile = {
        .struct_size = sizeof tile,
        .accumulator_bits = 32,
        .rows = 1,
        .columns = COUNT,
        .accumulators = sums,
        .codes = codes,
        .codes_size = sizeof codes,
    };
    int wrong = plugin->requantize(NULL, NULL, &form, &tile) != STRAIT_OK;
    for (int at = 0; at < COUNT && !wrong; at++) {
        if (codes[at] != expected[at]) {
            fprintf(stderr, "the accumulator %d gives %d, not %d\n", (int)sums[at], codes[at], expected[at]);
            wrong = 1;
        }
    }
    return wrong;
}
