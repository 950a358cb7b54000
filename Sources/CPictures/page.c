#include "font.h"
#include "pixels.h"
#include <stdlib.h>
#include <string.h>

/* A page in red, green and blue. */
struct cpictures_page {
    uint32_t width;
    uint32_t height;
    uint8_t pixels[];
};

struct cpictures_page *cpictures_page_begin(uint32_t width, uint32_t height) {
    if (width == 0 || height == 0 || width > 65500 || height > 65500) return NULL;
    size_t length = (size_t)width * height * 3;
    struct cpictures_page *page = malloc(sizeof *page + length);
    if (!page) return NULL;
    page->width = width;
    page->height = height;
    memset(page->pixels, 255, length);
    return page;
}

void cpictures_page_end(struct cpictures_page *page) { free(page); }

void cpictures_page_fill(struct cpictures_page *page, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                         uint8_t grey) {
    for (uint32_t row = y; row < page->height && row - y < height; row++)
        for (uint32_t column = x; column < page->width && column - x < width; column++)
            memset(page->pixels + ((size_t)row * page->width + column) * 3, grey, 3);
}

void cpictures_page_text(struct cpictures_page *page, uint32_t x, uint32_t y, uint8_t grey, const uint32_t *characters,
                         uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint8_t rows[FONT_HEIGHT];
        font_glyph(characters[i], rows);
        for (uint32_t row = 0; row < FONT_HEIGHT; row++)
            for (uint32_t column = 0; column < FONT_WIDTH; column++)
                if (rows[row] & (0x80 >> column))
                    cpictures_page_fill(page, x + i * FONT_WIDTH + column, y + row, 1, 1, grey);
    }
}

int cpictures_page_picture(struct cpictures_page *page, const void *bytes, size_t length,
                           const struct cpictures_limits *limits, uint32_t x, uint32_t y, uint32_t side) {
    VipsImage *image = vips_image_new_from_buffer(bytes, length, "", NULL);
    int result = image ? pixels_judge((uint64_t)image->Xsize, (uint64_t)image->Ysize, limits) : CPICTURES_UNREADABLE;
    if (image) g_object_unref(image);
    VipsImage *small = NULL;
    if (result != CPICTURES_DONE) return result;
    if (vips_thumbnail_buffer((void *)bytes, length, &small, (int)side, "height", (int)side, "size", VIPS_SIZE_DOWN,
                              NULL))
        return CPICTURES_UNREADABLE;
    uint32_t width = 0, height = 0;
    uint8_t *pixels = pixels_of(small, &width, &height);
    g_object_unref(small);
    if (!pixels) return CPICTURES_UNREADABLE;
    /* Centred in its field. */
    uint32_t left = x + (side > width ? (side - width) / 2 : 0), top = y + (side > height ? (side - height) / 2 : 0);
    for (uint32_t row = 0; row < height && top + row < page->height && left < page->width; row++) {
        uint32_t count = width < page->width - left ? width : page->width - left;
        memcpy(page->pixels + ((size_t)(top + row) * page->width + left) * 3, pixels + (size_t)row * width * 3,
               (size_t)count * 3);
    }
    g_free(pixels);
    return CPICTURES_DONE;
}

int cpictures_page_save(const struct cpictures_page *page, int quality, struct cpictures_part *part) {
    VipsImage *image =
        vips_image_new_from_memory(page->pixels, (size_t)page->width * page->height * 3, (int)page->width,
                                   (int)page->height, 3, VIPS_FORMAT_UCHAR);
    VipsImage *whole = NULL;
    if (!image) return CPICTURES_UNREADABLE;
    vips_copy(image, &whole, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
    g_object_unref(image);
    return whole ? pixels_save(whole, quality, part) : CPICTURES_UNREADABLE;
}
