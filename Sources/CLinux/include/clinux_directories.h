/* Directories: calls missing in Swift's Glibc module. */
#ifndef CLINUX_DIRECTORIES_H
#define CLINUX_DIRECTORIES_H
#include <stdint.h>

int64_t clinux_getdents64(int directory, void *buffer, uint64_t size);          /* getdents64(2) */
/* inotify_add_watch(2) for an open directory, by its entry in /proc/self/fd: the only way to watch by descriptor on any
   thread. */
int clinux_inotify_watch_directory(int inotify, int directory, uint32_t mask);
/* statx(2) of `name` in a directory, or with "" of itself: the inode, its creation time (if the file system stores it),
   and whether it is the root of a mount. */
struct clinux_directory_status {
    uint64_t inode;
    int64_t born_seconds;
    uint32_t born_nanoseconds;
    int32_t is_mount_root, has_birth;
};
int clinux_statx_directory(int directory, const char *name, struct clinux_directory_status *status);
#endif
