#include "jpeg_trouble.h"

static void give_up(j_common_ptr info) {
    struct jpeg_trouble *trouble = (struct jpeg_trouble *)info->err;
    trouble->base.format_message(info, trouble->text);
    longjmp(trouble->back, 1);
}

/* Warnings concern single bytes, except one. */
static void note(j_common_ptr info, int level) {
    struct jpeg_trouble *trouble = (struct jpeg_trouble *)info->err;
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) trouble->is_cut_short = 1;
}

struct jpeg_error_mgr *jpeg_trouble_begin(struct jpeg_trouble *trouble) {
    struct jpeg_error_mgr *base = jpeg_std_error(&trouble->base);
    base->error_exit = give_up;
    base->emit_message = note;
    return base;
}
