/* Reduces a plane by area averaging; internal. */
#ifndef CPICTURES_REDUCE_H
#define CPICTURES_REDUCE_H
#include "planes.h"

/* The samples of one side for one sample of the small plane, with weights whose sum is 256. */
struct span {
    uint32_t first;
    uint32_t last;
    const uint16_t *weights;
};

struct axis {
    struct span *spans;
    uint16_t *weights;
};

struct reduction {
    struct axis across;
    struct axis down;
    /* The weighted sums of the rows for the current small row. */
    uint16_t *sums;
    uint32_t samples;
    struct plane *to;
    uint32_t row;
    uint32_t done;
};

/* A side of `samples`: the small plane begins at `begin`, and each of its samples covers `step`. */
struct side {
    uint32_t samples;
    double begin;
    double step;
};

/* Starts a reduction into `to`; 0, or −1 without memory. Must be ended in either case. */
int reduction_begin(struct reduction *reduction, struct side across, struct side down, struct plane *to);

/* Adds the next row, from the top. Rows after the last required one are ignored. */
void reduction_add(struct reduction *reduction, const uint8_t *row);

void reduction_end(struct reduction *reduction);

#endif
