#ifndef CCOMPRESSION_H
#define CCOMPRESSION_H

#include <stdint.h>

/* zlib, with the types of <stdint.h> alone. It is loaded by the first call and not linked: no other command needs it. Any thread. */

/* Writes `size` bytes as one gzip member of at most `room` bytes. Its size; 0 if it does not fit, without memory, or without zlib. */
uint32_t ccompression_gzip(const uint8_t *bytes, uint32_t size, uint8_t *into, uint32_t room);

#endif
