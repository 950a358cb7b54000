/* A perceptual hash of a picture, in 64 bits; internal. */
#ifndef CPICTURES_FINGERPRINT_H
#define CPICTURES_FINGERPRINT_H
#include "planes.h"

/* By brightness; 0, or −1 for a picture too uniform to be distinguished from others. */
int fingerprint(const struct plane *plane, uint64_t *hash);
#endif
