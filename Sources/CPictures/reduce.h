/* Makes a plane smaller by areas: each sample becomes the mean of what it covers. For this library alone. */
#ifndef CPICTURES_REDUCE_H
#define CPICTURES_REDUCE_H
#include "planes.h"

/* Which samples of one side make one of the small plane's, with weights that are 256 together. */
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
    /* Of the rows that make the small one that is under way, each with its weight. */
    uint16_t *sums;
    uint32_t samples;
    struct plane *to;
    uint32_t row;
    uint32_t done;
};

/* A side of `samples`: the small plane begins at `begin` in it, and each of its samples covers `step`. */
struct side {
    uint32_t samples;
    double begin;
    double step;
};

/* Begins one that fills `to`; 0, or −1 without memory. To be ended in either case. */
int reduction_begin(struct reduction *reduction, struct side across, struct side down, struct plane *to);

/* Takes the next row, from the top. What comes after the last one that is needed is passed over. */
void reduction_add(struct reduction *reduction, const uint8_t *row);

void reduction_end(struct reduction *reduction);

#endif
