#include "reduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sum of a span's weights: a weighted sample of 8 bits fits into 16 bits. */
enum { WHOLE = 256 };

/* Rounds the weights and carries the error, so that their sum is exact. */
static uint32_t weigh(double begin, double end, uint32_t first, uint32_t last, uint16_t *weights) {
    double scale = WHOLE / (end - begin);
    uint32_t told = 0, used = 0;
    for (uint32_t i = first; i <= last; i++) {
        double upto = i + 1.0 < end ? i + 1.0 : end;
        uint32_t sum = i == last ? WHOLE : (uint32_t)((upto - begin) * scale + 0.5);
        weights[i - first] = (uint16_t)(sum - told);
        if (sum > told) used = i - first;
        told = sum;
    }
    return first + used;
}

static int axis_make(struct axis *axis, struct side side, uint32_t count) {
    /* Each sample belongs to one span or is shared by two; a span has at least one. */
    size_t most = (size_t)side.samples + 2 * (size_t)count;
    axis->spans = calloc(count, sizeof *axis->spans);
    axis->weights = calloc(most, sizeof *axis->weights);
    if (!axis->spans || !axis->weights) return -1;
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        double begin = fmax(0, side.begin + i * side.step);
        double end = fmin(side.samples, side.begin + (i + 1.0) * side.step);
        /* Positions outside use the last sample. */
        begin = fmin(begin, side.samples - 1.0);
        if (end - begin < 1e-3) end = fmin(begin + 1e-3, side.samples);
        uint32_t first = (uint32_t)begin, last = (uint32_t)ceil(end) - 1;
        if (last < first) last = first;
        if (used + (last - first) >= most) return -1;
        axis->spans[i] = (struct span){first, weigh(begin, end, first, last, axis->weights + used), axis->weights + used};
        used += axis->spans[i].last - first + 1;
    }
    return 0;
}

int reduction_begin(struct reduction *reduction, struct side across, struct side down, struct plane *to) {
    memset(reduction, 0, sizeof *reduction);
    reduction->samples = across.samples;
    reduction->to = to;
    reduction->sums = calloc(across.samples, sizeof *reduction->sums);
    if (!reduction->sums) return -1;
    return axis_make(&reduction->across, across, to->width) || axis_make(&reduction->down, down, to->height) ? -1 : 0;
}

void reduction_end(struct reduction *reduction) {
    free(reduction->across.spans);
    free(reduction->across.weights);
    free(reduction->down.spans);
    free(reduction->down.weights);
    free(reduction->sums);
    memset(reduction, 0, sizeof *reduction);
}

/* Vertically first: all samples of a row have the same weight, so the processor handles many at once. */
static void add(uint16_t *restrict sums, const uint8_t *restrict row, uint32_t count, uint16_t weight, int is_first) {
    if (is_first)
        for (uint32_t i = 0; i < count; i++) sums[i] = (uint16_t)(row[i] * weight);
    else
        for (uint32_t i = 0; i < count; i++) sums[i] = (uint16_t)(sums[i] + row[i] * weight);
}

static void put(const struct reduction *reduction) {
    uint8_t *to = reduction->to->samples + reduction->done * reduction->to->stride;
    const uint16_t *sums = reduction->sums;
    for (uint32_t x = 0; x < reduction->to->width; x++) {
        const struct span *span = &reduction->across.spans[x];
        uint32_t sum = WHOLE * WHOLE / 2;
        for (uint32_t i = span->first; i <= span->last; i++) sum += (uint32_t)sums[i] * span->weights[i - span->first];
        to[x] = (uint8_t)(sum / (WHOLE * WHOLE));
    }
}

void reduction_add(struct reduction *reduction, const uint8_t *row) {
    while (reduction->done < reduction->to->height) {
        const struct span *span = &reduction->down.spans[reduction->done];
        if (reduction->row < span->first) break;
        uint16_t weight = span->weights[reduction->row - span->first];
        add(reduction->sums, row, reduction->samples, weight, reduction->row == span->first);
        if (reduction->row < span->last) break;
        put(reduction);
        reduction->done++;
    }
    reduction->row++;
}
