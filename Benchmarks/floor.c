/* The floor for watching a directory tree: one thread, epoll and inotify, nothing else; no recovery from anything.
 * What a watcher costs beyond this is its own doing.
 *
 * usage: floor DIRECTORY
 * Watches DIRECTORY and all directories below it, as they are at the start, and says "ready" on standard error. From
 * then on it prints the path of each file that was closed after writing or moved in, one a line. Ends on SIGTERM.
 *
 * Setting up is one inotify_add_watch, opendir and readdir for each directory, by path, without a stat. What is kept of
 * a directory is its name and its parent: the least that its path can be printed from. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { interest = IN_CLOSE_WRITE | IN_MOVED_TO };

/* By watch number, which the kernel counts up from 1. The root's parent is 0. */
static struct watch { int parent; unsigned name; } *watches;
static char *names; /* one after the other, each with its NUL; a watch has its name's offset */
static size_t names_used, names_size, watches_size;

static int fail(const char *what) {
    perror(what);
    exit(1);
}

/* Makes room for one more item of `unit` bytes at `index`. */
static void *grown(void *items, size_t *size, size_t index, size_t unit) {
    if (index < *size) return items;
    while (*size <= index) *size = *size ? *size * 2 : 1024;
    return (items = realloc(items, *size * unit)) ? items : (fail("realloc"), NULL);
}

/* Watches the directory at `path`, whose last `length` bytes are its name, and all below it; `path` has PATH_MAX. */
static void watch_tree(int notify, int parent, char *path, char *end, size_t length) {
    int number = inotify_add_watch(notify, path, interest | IN_ONLYDIR);
    if (number < 0) fail(path);
    watches = grown(watches, &watches_size, (size_t)number, sizeof *watches);
    names = grown(names, &names_size, names_used + length, 1);
    watches[number] = (struct watch){parent, (unsigned)names_used};
    memcpy(names + names_used, end - length, length + 1);
    names_used += length + 1;

    DIR *directory = opendir(path);
    if (!directory) fail(path);
    *end = '/';
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (entry->d_type != DT_DIR || !strcmp(name, ".") || !strcmp(name, "..")) continue;
        size_t more = strlen(name);
        if (end + 1 + more >= path + PATH_MAX) { errno = ENAMETOOLONG; fail(path); }
        memcpy(end + 1, name, more + 1);
        watch_tree(notify, number, path, end + 1 + more, more);
    }
    *end = '\0';
    closedir(directory);
}

/* Writes the path of a watched directory with a slash after it and returns its end. */
static char *put_path(char *at, int number) {
    if (watches[number].parent) at = put_path(at, watches[number].parent);
    at = stpcpy(at, names + watches[number].name);
    *at++ = '/';
    return at;
}

static size_t flush(const char *lines, size_t size) {
    if (size && write(STDOUT_FILENO, lines, size) != (ssize_t)size) fail("write");
    return 0;
}

int main(int count, char **arguments) {
    static char events[65536] __attribute__((aligned(8))), lines[1 << 20], path[PATH_MAX];
    if (count != 2 || strlen(arguments[1]) >= sizeof path) return 64;
    int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event interest_in = {.events = EPOLLIN}, ready;
    if (notify < 0 || poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, notify, &interest_in) < 0) fail("epoll");
    watch_tree(notify, 0, path, stpcpy(path, arguments[1]), strlen(arguments[1]));
    fputs("ready\n", stderr);
    for (;;) {
        if (epoll_wait(poll, &ready, 1, -1) < 0) fail("epoll_wait");
        /* One read for each wake-up: what is left keeps the descriptor ready. */
        ssize_t size = read(notify, events, sizeof events);
        size_t used = 0;
        for (char *at = events; at < events + size;) {
            struct inotify_event *event = (struct inotify_event *)at;
            at += sizeof *event + event->len;
            if (event->mask & IN_Q_OVERFLOW) fputs("overflow\n", stderr);
            if (!event->len || !(event->mask & interest)) continue;
            if (used + PATH_MAX + NAME_MAX + 2 > sizeof lines) used = flush(lines, used);
            char *end = stpcpy(put_path(lines + used, event->wd), event->name);
            *end++ = '\n';
            used = (size_t)(end - lines);
        }
        flush(lines, used);
    }
}
