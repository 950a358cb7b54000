#define _GNU_SOURCE
#include "clinux.h"
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
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

/* The first object is the program itself. Writable pages are left alone: their content would be lost. */
static int release(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || (part->p_flags & PF_W)) continue;
        uintptr_t begin = (info->dlpi_addr + part->p_vaddr + page - 1) / page * page;
        uintptr_t end = (info->dlpi_addr + part->p_vaddr + part->p_memsz) / page * page;
        if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 1;
}

void clinux_release_code(void) { dl_iterate_phdr(release, NULL); }
