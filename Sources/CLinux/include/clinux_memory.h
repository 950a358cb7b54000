/* The heap (calls of glibc; without effect in other C libraries) and the program's code. */
#ifndef CLINUX_MEMORY_H
#define CLINUX_MEMORY_H
#include <stdint.h>

void clinux_keep_heap_small(int32_t size, int32_t arenas);   /* mallopt(3), M_MMAP_THRESHOLD and M_ARENA_MAX */
void clinux_trim_heap(void);                                 /* malloc_trim(3) */
void clinux_release_code(void);                              /* madvise(2), MADV_DONTNEED, on the program's code */
#endif
