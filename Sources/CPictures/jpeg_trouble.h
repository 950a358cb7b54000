/* Errors and warnings of libjpeg-turbo; internal. */
#ifndef CPICTURES_JPEG_TROUBLE_H
#define CPICTURES_JPEG_TROUBLE_H
#include "jpeg.h"
#include <setjmp.h>
#include <stdio.h>
/* Requires the headers above. */
#include <jerror.h>
#include <jpeglib.h>

struct jpeg_trouble {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
    int is_cut_short;
};

/* The codec's errors return to setjmp(3) for `back`. */
struct jpeg_error_mgr *jpeg_trouble_begin(struct jpeg_trouble *trouble);
#endif
