#include "clinux.h"
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void clinux_keep_heap_small(int32_t size, int32_t arenas) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, size);
    mallopt(M_ARENA_MAX, arenas);
#else
    (void)size, (void)arenas;
#endif
}

void clinux_trim_heap(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
