#include "planes.h"
#include "reduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int make(struct plane *plane, uint32_t width, uint32_t height) {
    /* The codec works on blocks of eight. */
    size_t stride = ((size_t)width + 7) / 8 * 8;
    *plane = (struct plane){width, height, stride, calloc(height, stride)};
    return plane->samples ? 0 : -1;
}

int planes_make(struct planes *planes, uint32_t width, uint32_t height, uint32_t step) {
    memset(planes, 0, sizeof *planes);
    planes->step = step;
    for (int i = 0; i < 3; i++) {
        uint32_t every = i == 0 ? 1 : step;
        if (make(&planes->plane[i], (width + every - 1) / every, (height + every - 1) / every)) {
            planes_free(planes);
            return -1;
        }
    }
    return 0;
}

void planes_free(struct planes *planes) {
    for (int i = 0; i < 3; i++) {
        free(planes->plane[i].samples);
        planes->plane[i].samples = NULL;
    }
}

void planes_fit(uint32_t size, uint32_t *width, uint32_t *height) {
    uint32_t longer = *width > *height ? *width : *height;
    double scale = longer > size ? (double)size / longer : 1;
    *width = (uint32_t)fmax(1, round(*width * scale));
    *height = (uint32_t)fmax(1, round(*height * scale));
}

/* The position of an upright plane's samples in the stored one: from `start`, with a stride across and down. */
struct way {
    ptrdiff_t start;
    ptrdiff_t across;
    ptrdiff_t down;
};

static struct way way(const struct plane *from, int orientation) {
    ptrdiff_t right = 1, below = (ptrdiff_t)from->stride;
    ptrdiff_t end = (ptrdiff_t)from->width - 1, bottom = ((ptrdiff_t)from->height - 1) * below;
    switch (orientation) {
    case 2: return (struct way){end, -right, below};
    case 3: return (struct way){end + bottom, -right, -below};
    case 4: return (struct way){bottom, right, -below};
    case 5: return (struct way){0, below, right};
    case 6: return (struct way){bottom, -below, right};
    case 7: return (struct way){end + bottom, -below, -right};
    case 8: return (struct way){end, below, -right};
    default: return (struct way){0, right, below};
    }
}

static int turn(struct plane *plane, int orientation) {
    /* Squares of this side fit into the processor's first cache, in either reading direction. */
    enum { SQUARE = 64 };
    struct way way_back = way(plane, orientation);
    struct plane turned;
    if (make(&turned, orientation < 5 ? plane->width : plane->height, orientation < 5 ? plane->height : plane->width))
        return -1;
    for (uint32_t top = 0; top < turned.height; top += SQUARE)
        for (uint32_t left = 0; left < turned.width; left += SQUARE) {
            uint32_t bottom = top + SQUARE < turned.height ? top + SQUARE : turned.height;
            uint32_t right = left + SQUARE < turned.width ? left + SQUARE : turned.width;
            for (uint32_t y = top; y < bottom; y++) {
                const uint8_t *from = plane->samples + way_back.start + way_back.down * (ptrdiff_t)y;
                uint8_t *to = turned.samples + y * turned.stride;
                for (uint32_t x = left; x < right; x++) to[x] = from[way_back.across * (ptrdiff_t)x];
            }
        }
    free(plane->samples);
    *plane = turned;
    return 0;
}

int planes_turn(struct planes *planes, int orientation) {
    if (orientation < 2 || orientation > 8) return 0;
    for (int i = 0; i < 3; i++)
        if (turn(&planes->plane[i], orientation)) return -1;
    return 0;
}

int planes_reduce(const struct planes *from, struct planes *to) {
    const struct plane *whole = &from->plane[0], *small = &to->plane[0];
    int result = 0;
    for (int i = 0; i < 3 && !result; i++) {
        const struct plane *plane = &from->plane[i];
        /* Samples per sample of the small picture's first plane, and of this plane. */
        double every = i == 0 ? 1 : to->step, each = i == 0 ? 1 : from->step;
        struct side across = {plane->width, 0, every * whole->width / each / small->width};
        struct side down = {plane->height, 0, every * whole->height / each / small->height};
        struct reduction reduction;
        result = reduction_begin(&reduction, across, down, &to->plane[i]);
        for (uint32_t y = 0; y < plane->height && !result; y++)
            reduction_add(&reduction, plane->samples + y * plane->stride);
        reduction_end(&reduction);
    }
    return result;
}
