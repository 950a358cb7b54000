#include "fingerprint.h"
#include <math.h>
#include <stdlib.h>

/* The picture is divided into FIELDS fields each way and described by its waves of lowest frequency (the discrete
   cosine transform of JPEG). A bit shows whether a wave is stronger than the median one: sizes,
   codecs and brightness change few of them. */
enum { FIELDS = 32, BITS = 64 };

/* The least difference in brightness between the darkest and the brightest field of a picture that is described. */
static const double least_contrast = 4;
/* Half a level: smaller distances from the median are noise and must not decide. */
static const double noise = 0.5 * FIELDS * FIELDS / 2;

static double mean(const struct plane *plane, uint32_t x, uint32_t y) {
    uint64_t left = (uint64_t)x * plane->width / FIELDS, right = ((uint64_t)x + 1) * plane->width / FIELDS;
    uint64_t top = (uint64_t)y * plane->height / FIELDS, bottom = ((uint64_t)y + 1) * plane->height / FIELDS;
    if (right == left) right++;
    if (bottom == top) bottom++;
    uint64_t sum = 0;
    for (uint64_t row = top; row < bottom; row++)
        for (uint64_t column = left; column < right; column++) sum += plane->samples[row * plane->stride + column];
    return (double)sum / (double)((right - left) * (bottom - top));
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int fingerprint(const struct plane *plane, uint64_t *hash) {
    double fields[FIELDS][FIELDS], wave[FIELDS][FIELDS], rows[FIELDS][FIELDS], found[BITS], sorted[BITS];
    if (plane->width == 0 || plane->height == 0) return -1;
    double darkest = 255, brightest = 0;
    for (uint32_t y = 0; y < FIELDS; y++)
        for (uint32_t x = 0; x < FIELDS; x++) {
            fields[y][x] = mean(plane, x, y);
            darkest = fmin(darkest, fields[y][x]);
            brightest = fmax(brightest, fields[y][x]);
        }
    if (brightest - darkest < least_contrast) return -1;
    for (int u = 0; u < FIELDS; u++)
        for (int x = 0; x < FIELDS; x++) wave[u][x] = cos((2 * x + 1) * u * M_PI / (2 * FIELDS));
    for (int y = 0; y < FIELDS; y++)
        for (int u = 0; u < FIELDS; u++) {
            rows[y][u] = 0;
            for (int x = 0; x < FIELDS; x++) rows[y][u] += fields[y][x] * wave[u][x];
        }
    /* The lowest frequencies, without the mean brightness: along diagonals, as in JPEG. */
    int count = 0;
    for (int diagonal = 1; count < BITS; diagonal++)
        for (int v = 0; v <= diagonal && count < BITS; v++) {
            int u = diagonal - v;
            found[count] = 0;
            for (int y = 0; y < FIELDS; y++) found[count] += rows[y][u] * wave[v][y];
            count++;
        }
    for (int i = 0; i < BITS; i++) sorted[i] = found[i];
    qsort(sorted, BITS, sizeof sorted[0], compare);
    double median = (sorted[BITS / 2 - 1] + sorted[BITS / 2]) / 2;
    *hash = 0;
    for (int i = 0; i < BITS; i++) *hash = *hash << 1 | (found[i] > median + noise);
    return 0;
}
