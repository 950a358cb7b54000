/* What a picture looks like, in 64 bits; for this library alone. */
#ifndef CPICTURES_FINGERPRINT_H
#define CPICTURES_FINGERPRINT_H
#include "planes.h"

/* Of its brightness; 0, or −1 for a picture that is too even to be told from others. */
int fingerprint(const struct plane *plane, uint64_t *hash);
#endif
