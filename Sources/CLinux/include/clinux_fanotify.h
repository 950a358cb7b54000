/* fanotify(7) and file handles: variadic calls and flags that Swift's Glibc module does not have. */
#ifndef CLINUX_FANOTIFY_H
#define CLINUX_FANOTIFY_H
#include <stdint.h>

/* fanotify_init(2): a group that only tells, with directory handles and names, non-blocking and closed on exec. */
int clinux_fanotify_init(void);
/* fanotify_mark(2): adds to (or removes from) the mark of the whole file system that an open directory lies on. */
int clinux_fanotify_mark_file_system(int group, int add, uint64_t mask, int directory);
/* name_to_handle_at(2) of an open directory: fills at most `*count` bytes and sets it to how many there are. */
int clinux_directory_handle(int directory, void *bytes, uint32_t *count, int32_t *type);
#endif
