// A FUSE file system over a directory, with the weaknesses that real ones have. For the campaign of places.
//
// usage: places_fuse [--refuse-flags | --ignore-flags] [--fold] [--links] [--trap DIRECTORY] BACK MOUNTPOINT
//
//   --refuse-flags  rename with a flag fails with EINVAL, as on NFS
//   --ignore-flags  RENAME_NOREPLACE is passed over, and what another client has put under the name meanwhile, which this
//                   kernel has not seen, is overwritten: a file system that lies
//   --fold          names that differ in case alone are one
//   --links         hard links can be made
//   --trap          while DIRECTORY/armed is there and says "unlink" or "rename", the next such call writes its path, of
//                   a rename the new one, to DIRECTORY/caught and waits until DIRECTORY/armed is gone, three seconds
//
// None has O_TMPFILE. Runs in the foreground and ends with its mount.
#define _GNU_SOURCE
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuses_flags, ignores_flags, folds, has_links;
static const char *trap;
static int back;

static int result(int value) { return value < 0 ? -errno : 0; }

// The name below the directory behind this one; of several that differ in case alone, the one that is there.
static const char *real(const char *path, char *buffer) {
    if (path == NULL) return ".";
    while (*path == '/') path++;
    if (*path == 0) return ".";
    if (!folds) return path;
    size_t length = 0;
    buffer[0] = 0;
    while (*path) {
        size_t part = strcspn(path, "/");
        DIR *directory = NULL;
        int file = openat(back, length ? buffer : ".", O_RDONLY | O_DIRECTORY);
        if (file >= 0 && (directory = fdopendir(file)) == NULL) close(file);
        if (length) buffer[length++] = '/';
        if (length + part + 1 > PATH_MAX) part = PATH_MAX - length - 1;
        memcpy(buffer + length, path, part);
        struct dirent *entry;
        while (directory && (entry = readdir(directory)) != NULL)
            if (strlen(entry->d_name) == part && strncasecmp(entry->d_name, path, part) == 0)
                memcpy(buffer + length, entry->d_name, part);
        if (directory) closedir(directory);
        length += part;
        buffer[length] = 0;
        path += part;
        while (*path == '/') path++;
    }
    return buffer;
}

#define REAL(path) real(path, (char[PATH_MAX]){0})

static void *begin(struct fuse_conn_info *connection, struct fuse_config *config) {
    (void)connection;
    config->use_ino = 1;
    config->nullpath_ok = 1;
    config->hard_remove = 1;
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
    return NULL;
}

static int get_attributes(const char *path, struct stat *status, struct fuse_file_info *file) {
    return result(file ? fstat((int)file->fh, status) : fstatat(back, REAL(path), status, AT_SYMLINK_NOFOLLOW));
}

static int read_link(const char *path, char *buffer, size_t size) {
    ssize_t length = readlinkat(back, REAL(path), buffer, size - 1);
    if (length < 0) return -errno;
    buffer[length] = 0;
    return 0;
}

static int open_directory(const char *path, struct fuse_file_info *file) {
    int directory = openat(back, REAL(path), O_RDONLY | O_DIRECTORY);
    if (directory < 0) return -errno;
    file->fh = (uint64_t)directory;
    return 0;
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
                enum fuse_readdir_flags flags) {
    (void)path, (void)offset, (void)flags;
    int again = openat((int)file->fh, ".", O_RDONLY | O_DIRECTORY);
    DIR *directory = again < 0 ? NULL : fdopendir(again);
    if (directory == NULL) return -errno;
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        struct stat status = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        if (fill(buffer, entry->d_name, &status, 0, 0)) break;
    }
    closedir(directory);
    return 0;
}

static int close_file(const char *path, struct fuse_file_info *file) {
    (void)path;
    close((int)file->fh);
    return 0;
}

static int make_directory(const char *path, mode_t mode) { return result(mkdirat(back, REAL(path), mode)); }

static void spring(const char *call, const char *path) {
    char armed[PATH_MAX], part[PATH_MAX], caught[PATH_MAX], wanted[16] = "";
    if (trap == NULL) return;
    snprintf(armed, sizeof armed, "%s/armed", trap);
    snprintf(part, sizeof part, "%s/part", trap);
    snprintf(caught, sizeof caught, "%s/caught", trap);
    FILE *in = fopen(armed, "r");
    if (in == NULL) return;
    size_t length = fread(wanted, 1, sizeof wanted - 1, in);
    fclose(in);
    if (length == 0 || strcmp(wanted, call) != 0 || access(caught, F_OK) == 0) return;
    FILE *out = fopen(part, "w");
    if (out == NULL) return;
    fputs(path, out);
    fclose(out);
    rename(part, caught);
    for (int turn = 0; turn < 600 && access(armed, F_OK) == 0; turn++) usleep(5000);
}

static int remove_name(const char *path) {
    spring("unlink", path);
    return result(unlinkat(back, REAL(path), 0));
}

static int remove_directory(const char *path) { return result(unlinkat(back, REAL(path), AT_REMOVEDIR)); }
static int make_link(const char *target, const char *path) { return result(symlinkat(target, back, REAL(path))); }

static int give_name(const char *from, const char *to, unsigned flags) {
    if (flags && refuses_flags) return -EINVAL;
    if (!strstr(to, "/.photo-inbox-")) spring("rename", to);
    if (ignores_flags) flags &= ~(unsigned)RENAME_NOREPLACE;
    const char *old = REAL(from), *new = REAL(to);
    struct stat one, other;
    // A name that changes in case alone is free.
    if (folds && fstatat(back, old, &one, AT_SYMLINK_NOFOLLOW) == 0 && fstatat(back, new, &other, AT_SYMLINK_NOFOLLOW) == 0
        && one.st_ino == other.st_ino) {
        while (*to == '/') to++;
        new = to;
        flags = 0;
    }
    return result((int)syscall(SYS_renameat2, back, old, back, new, flags));
}

static int second_name(const char *from, const char *to) {
    return has_links ? result(linkat(back, REAL(from), back, REAL(to), 0)) : -EPERM;
}

static int set_mode(const char *path, mode_t mode, struct fuse_file_info *file) {
    return result(file ? fchmod((int)file->fh, mode) : fchmodat(back, REAL(path), mode, 0));
}

static int set_owner(const char *path, uid_t user, gid_t group, struct fuse_file_info *file) {
    return result(file ? fchown((int)file->fh, user, group)
                       : fchownat(back, REAL(path), user, group, AT_SYMLINK_NOFOLLOW));
}

static int set_size(const char *path, off_t size, struct fuse_file_info *file) {
    if (file) return result(ftruncate((int)file->fh, size));
    int content = openat(back, REAL(path), O_WRONLY);
    if (content < 0) return -errno;
    int status = result(ftruncate(content, size));
    close(content);
    return status;
}

static int set_times(const char *path, const struct timespec times[2], struct fuse_file_info *file) {
    return result(file ? futimens((int)file->fh, times) : utimensat(back, REAL(path), times, AT_SYMLINK_NOFOLLOW));
}

static int open_file(const char *path, struct fuse_file_info *file) {
    int content = openat(back, REAL(path), file->flags & ~(O_CREAT | O_EXCL));
    if (content < 0) return -errno;
    file->fh = (uint64_t)content;
    return 0;
}

static int create(const char *path, mode_t mode, struct fuse_file_info *file) {
    int content = openat(back, REAL(path), file->flags | O_CREAT, mode);
    if (content < 0) return -errno;
    file->fh = (uint64_t)content;
    return 0;
}

static int read_bytes(const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)path;
    ssize_t count = pread((int)file->fh, buffer, size, offset);
    return count < 0 ? -errno : (int)count;
}

static int write_bytes(const char *path, const char *buffer, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)path;
    ssize_t count = pwrite((int)file->fh, buffer, size, offset);
    return count < 0 ? -errno : (int)count;
}

static int space(const char *path, struct statvfs *status) {
    (void)path;
    return result(fstatvfs(back, status));
}

static int synchronise(const char *path, int data_alone, struct fuse_file_info *file) {
    (void)path, (void)data_alone;
    return result(fsync((int)file->fh));
}

static const struct fuse_operations operations = {
    .init = begin, .getattr = get_attributes, .readlink = read_link, .opendir = open_directory, .readdir = list,
    .releasedir = close_file, .fsyncdir = synchronise, .mkdir = make_directory, .unlink = remove_name,
    .rmdir = remove_directory, .symlink = make_link, .rename = give_name, .link = second_name, .chmod = set_mode,
    .chown = set_owner, .truncate = set_size, .utimens = set_times, .open = open_file, .create = create,
    .read = read_bytes, .write = write_bytes, .statfs = space, .release = close_file, .fsync = synchronise,
};

int main(int count, char **words) {
    int next = 1;
    for (; next < count && words[next][0] == '-'; next++) {
        if (strcmp(words[next], "--refuse-flags") == 0) refuses_flags = 1;
        else if (strcmp(words[next], "--ignore-flags") == 0) ignores_flags = 1;
        else if (strcmp(words[next], "--fold") == 0) folds = 1;
        else if (strcmp(words[next], "--links") == 0) has_links = 1;
        else if (strcmp(words[next], "--trap") == 0 && next + 1 < count) trap = words[++next];
        else return 64;
    }
    if (count - next != 2 || (back = open(words[next], O_RDONLY | O_DIRECTORY)) < 0) return 64;
    umask(0);
    char *arguments[] = {words[0], "-f", "-o", "default_permissions,allow_other,fsname=places", words[next + 1], NULL};
    return fuse_main(5, arguments, &operations, NULL);
}
