/* The system calls that fault.c knows, and how they say which file they are about. */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>

/* O_TMPFILE without the O_DIRECTORY in it. */
#define ANONYMOUS 020000000

/* Where a call says which file it is about: the number of an argument, or none. */
#define NONE (-1)
#define HERE (-2) /* a path without a descriptor */

struct call {
    const char *name;
    long number;
    bool changes;
    int descriptor; /* which argument, NONE or HERE */
    int path;       /* which argument, or NONE */
    int flags;      /* which argument decides whether an open changes something, or NONE */
};

#define FILE_CALL(n, changes, fd) {#n, SYS_##n, changes, fd, NONE, NONE}
#define NAME_CALL(n, changes, fd, path) {#n, SYS_##n, changes, fd, path, NONE}

static const struct call calls[] = {
    FILE_CALL(write, true, 0), FILE_CALL(pwrite64, true, 0), FILE_CALL(writev, true, 0), FILE_CALL(pwritev, true, 0),
    FILE_CALL(pwritev2, true, 0), FILE_CALL(copy_file_range, true, 2), FILE_CALL(sendfile, true, 0),
    FILE_CALL(ftruncate, true, 0), FILE_CALL(fallocate, true, 0), FILE_CALL(fsync, true, 0),
    FILE_CALL(fdatasync, true, 0), FILE_CALL(sync_file_range, true, 0), FILE_CALL(syncfs, true, 0),
    FILE_CALL(fchmod, true, 0), FILE_CALL(fchown, true, 0), FILE_CALL(fsetxattr, true, 0),
    FILE_CALL(fremovexattr, true, 0), {"clone", SYS_ioctl, true, 0, NONE, NONE},
    {"openat", SYS_openat, true, 0, 1, 2},
    NAME_CALL(utimensat, true, 0, 1), NAME_CALL(fchmodat, true, 0, 1), NAME_CALL(fchownat, true, 0, 1),
    NAME_CALL(mkdirat, true, 0, 1), NAME_CALL(mknodat, true, 0, 1), NAME_CALL(unlinkat, true, 0, 1),
    NAME_CALL(linkat, true, 2, 3), NAME_CALL(renameat2, true, 0, 1), NAME_CALL(symlinkat, true, 1, 2),
    NAME_CALL(truncate, true, HERE, 0),
#ifdef SYS_open
    {"open", SYS_open, true, HERE, 0, 1}, NAME_CALL(creat, true, HERE, 0), NAME_CALL(mkdir, true, HERE, 0),
    NAME_CALL(rmdir, true, HERE, 0), NAME_CALL(unlink, true, HERE, 0), NAME_CALL(rename, true, HERE, 0),
    NAME_CALL(link, true, HERE, 1), NAME_CALL(symlink, true, HERE, 1), NAME_CALL(chmod, true, HERE, 0),
    NAME_CALL(chown, true, HERE, 0), NAME_CALL(renameat, true, 0, 1), NAME_CALL(stat, false, HERE, 0),
    NAME_CALL(lstat, false, HERE, 0), NAME_CALL(access, false, HERE, 0),
#endif
    FILE_CALL(read, false, 0), FILE_CALL(pread64, false, 0), FILE_CALL(fstat, false, 0), FILE_CALL(fstatfs, false, 0),
    FILE_CALL(getdents64, false, 0), FILE_CALL(flock, false, 0), {"fcntl", SYS_fcntl, false, 0, NONE, NONE},
    NAME_CALL(newfstatat, false, 0, 1), NAME_CALL(statx, false, 0, 1), NAME_CALL(faccessat, false, 0, 1),
    NAME_CALL(readlinkat, false, 0, 1), NAME_CALL(openat2, false, 0, 1), NAME_CALL(statfs, false, HERE, 0),
    NAME_CALL(inotify_add_watch, false, NONE, 1),
};
#define CALLS (sizeof calls / sizeof *calls)
