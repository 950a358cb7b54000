// Swaps names, links and directories under the hands of the daemon.
//
// As a program: swapper PLAN COUNT SEED MICROSECONDS makes COUNT swaps, with pauses of up to so many microseconds, and
// prints how many it made of each kind. As a library (-shared -DPRELOAD, LD_PRELOAD) it makes them inside the daemon, each
// right before one of the daemon's own calls on files: SWAPPER_PLAN, SWAPPER_COUNT (a file whose first eight bytes count
// down), SWAPPER_ODDS (one in so many calls), SWAPPER_SEED.
//
// PLAN has a line for each possible swap, its parts separated by tabs; paths are absolute:
//   exchange A B     A and B change places, in one step
//   link A B         B becomes another name of A, or ceases to be one
//   symlink A B      B becomes a symbolic link to A, or ceases to be one
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { EXCHANGE, LINK, SYMLINK, KINDS };
static const char *const names[KINDS] = {"exchange", "link", "symlink"};

struct swap {
    enum kind kind;
    char *a, *b;
};

static struct swap *swaps;
static size_t count;

static int load(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, file)) > 0) {
        line[length - 1] = 0;
        char *rest = line, *what = strsep(&rest, "\t"), *a = strsep(&rest, "\t"), *b = rest;
        if (!b) continue;
        for (enum kind kind = 0; kind < KINDS; kind++) {
            if (strcmp(what, names[kind]) != 0) continue;
            swaps = realloc(swaps, (count + 1) * sizeof *swaps);
            swaps[count++] = (struct swap){kind, strdup(a), strdup(b)};
        }
    }
    free(line);
    fclose(file);
    return count > 0 ? 0 : -1;
}

// The directory of a path, reached through no link: the traps are for the daemon, not for us.
static int parent(const char *path, const char **name) {
    char directory[4096];
    const char *slash = strrchr(path, '/');
    *name = slash + 1;
    if ((size_t)(slash - path) >= sizeof directory) return -1;
    memcpy(directory, path, slash - path);
    directory[slash - path] = 0;
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, directory, &how, sizeof how);
}

static int exchange(const struct swap *swap) {
    const char *first, *second;
    int a = parent(swap->a, &first), b = parent(swap->b, &second);
    int made = a >= 0 && b >= 0 && syscall(SYS_renameat2, a, first, b, second, 2) == 0;
    if (a >= 0) syscall(SYS_close, a);
    if (b >= 0) syscall(SYS_close, b);
    return made;
}

// A name that is there or not, by turns. Only what was made here is taken away: another name, or a symbolic link.
static int toggle(const struct swap *swap) {
    const char *first = NULL, *second;
    int b = parent(swap->b, &second), a = swap->kind == LINK ? parent(swap->a, &first) : -1, made = 0;
    if (b >= 0 && (a >= 0 || swap->kind == SYMLINK)) {
        made = swap->kind == LINK ? syscall(SYS_linkat, a, first, b, second, 0) == 0
                                  : syscall(SYS_symlinkat, swap->a, b, second) == 0;
        char target[8];
        if (!made && errno == EEXIST
            && (swap->kind == LINK || syscall(SYS_readlinkat, b, second, target, sizeof target) >= 0))
            made = syscall(SYS_unlinkat, b, second, 0) == 0;
    }
    if (a >= 0) syscall(SYS_close, a);
    if (b >= 0) syscall(SYS_close, b);
    return made;
}

// Whether it was made: what is not there cannot be swapped. By bare system calls, so that nothing comes back in here.
static int make(const struct swap *swap) { return swap->kind == EXCHANGE ? exchange(swap) : toggle(swap); }

static uint64_t next(uint64_t *state) {  // splitmix64
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

#ifndef PRELOAD

int main(int argc, char **argv) {
    if (argc != 5 || load(argv[1]) != 0) return 2;
    long left = atol(argv[2]), made[KINDS] = {0};
    uint64_t state = strtoull(argv[3], NULL, 10), pause = strtoull(argv[4], NULL, 10);
    // What cannot be swapped just now costs no count, but time: for ever it must not be.
    for (long tries = 0; left > 0 && tries < 1000000000; tries++) {
        const struct swap *swap = &swaps[next(&state) % count];
        if (make(swap)) {
            made[swap->kind]++;
            left--;
        }
        uint64_t wait = pause ? next(&state) % pause : 0;
        if (wait > 20) nanosleep(&(struct timespec){0, (long)wait * 1000}, NULL);
    }
    for (enum kind kind = 0; kind < KINDS; kind++) printf("%s %ld\n", names[kind], made[kind]);
    return left == 0 ? 0 : 1;
}

#else

static _Atomic int64_t *left;
static _Atomic uint64_t state;
static uint64_t odds = 4;

__attribute__((constructor)) static void begin(void) {
    const char *plan = getenv("SWAPPER_PLAN"), *counter = getenv("SWAPPER_COUNT");
    if (!plan || !counter || load(plan) != 0) return;
    if (getenv("SWAPPER_ODDS")) odds = strtoull(getenv("SWAPPER_ODDS"), NULL, 10);
    if (getenv("SWAPPER_SEED")) state = strtoull(getenv("SWAPPER_SEED"), NULL, 10);
    int file = (int)syscall(SYS_openat, AT_FDCWD, counter, O_RDWR | O_CLOEXEC, 0);
    if (file < 0) return;
    void *shared = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared != MAP_FAILED) left = shared;
}

static void interfere(void) {
    if (!left || atomic_load(left) <= 0) return;
    int before = errno;
    uint64_t mine = atomic_fetch_add(&state, 0x9E3779B97F4A7C15u);
    if (next(&mine) % odds == 0 && make(&swaps[next(&mine) % count])) atomic_fetch_sub(left, 1);
    errno = before;
}

#define HOOK(result, name, parameters, arguments)                      \
    result name parameters {                                           \
        static result(*real) parameters;                               \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
        interfere();                                                   \
        return real arguments;                                         \
    }

HOOK(int, fstatat, (int d, const char *p, struct stat *s, int f), (d, p, s, f))
HOOK(int, fstatat64, (int d, const char *p, struct stat64 *s, int f), (d, p, s, f))
HOOK(int, fstat, (int d, struct stat *s), (d, s))
HOOK(int, fstat64, (int d, struct stat64 *s), (d, s))
HOOK(int, statx, (int d, const char *p, int f, unsigned m, struct statx *s), (d, p, f, m, s))
HOOK(int, renameat2, (int d, const char *p, int e, const char *q, unsigned f), (d, p, e, q, f))
HOOK(int, unlinkat, (int d, const char *p, int f), (d, p, f))
HOOK(int, linkat, (int d, const char *p, int e, const char *q, int f), (d, p, e, q, f))
HOOK(int, mkdirat, (int d, const char *p, mode_t m), (d, p, m))
HOOK(int, fsync, (int d), (d))
HOOK(ssize_t, copy_file_range, (int d, off64_t *o, int e, off64_t *p, size_t n, unsigned f), (d, o, e, p, n, f))

// With a mode only where one is given.
#define OPEN(name)                                                                        \
    int name(int d, const char *p, int f, ...) {                                          \
        static int (*real)(int, const char *, int, ...);                                  \
        if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name);  \
        __builtin_va_list list;                                                           \
        __builtin_va_start(list, f);                                                      \
        unsigned mode = f & (O_CREAT | __O_TMPFILE) ? __builtin_va_arg(list, unsigned) : 0; \
        __builtin_va_end(list);                                                           \
        interfere();                                                                      \
        return real(d, p, f, mode);                                                       \
    }

OPEN(openat)
OPEN(openat64)

#endif
