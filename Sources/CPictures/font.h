/* A built-in font, since a confined process can open none; internal. */
#ifndef CPICTURES_FONT_H
#define CPICTURES_FONT_H
#include <stdint.h>

enum { FONT_WIDTH = 8, FONT_HEIGHT = 13 };

/* The rows of a character's glyph from the top, the leftmost dot in the highest bit; a box if it has none. */
void font_glyph(uint32_t character, uint8_t rows[FONT_HEIGHT]);
#endif
