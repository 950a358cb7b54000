#ifndef CPAGEFILES_H
#define CPAGEFILES_H

#include <stddef.h>

/* The files of the pages, which are in the program: in C, since a compiler of Swift takes half a minute for so long an array. Any
   thread. */

struct cpagefiles_file {
    const char *_Nonnull name;
    /* UTF-8 without a NUL, ended by one. */
    const char *_Nonnull text;
};

extern const size_t cpagefiles_count;

/* The file with this index, which is below `cpagefiles_count`. */
struct cpagefiles_file cpagefiles_file(size_t index);

#endif
