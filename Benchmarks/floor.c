/* The floor for watching a directory tree: one thread, epoll and inotify, nothing else; no recovery from anything.
 * What a watcher costs beyond this is its own doing.
 *
 * usage: floor [--quiet] DIRECTORY
 * Prints the path of each file that was closed after writing or moved in, one a line; with --quiet nothing.
 * Watches DIRECTORY and the directories directly in it. Ends on SIGTERM. */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { most_watches = 4096, interest = IN_CLOSE_WRITE | IN_MOVED_TO };

static char *paths[most_watches]; /* by watch number, which the kernel counts up from 1 */

static int fail(const char *what) {
    perror(what);
    return 1;
}

static int watch(int notify, const char *path) {
    int number = inotify_add_watch(notify, path, interest | IN_ONLYDIR);
    if (number < 0 || number >= most_watches) return -1;
    return (paths[number] = strdup(path)) ? 0 : -1;
}

static int watch_tree(int notify, const char *root) {
    if (watch(notify, root) < 0) return -1;
    DIR *directory = opendir(root);
    if (!directory) return -1;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[PATH_MAX];
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
        if (watch(notify, path) < 0) return -1;
    }
    closedir(directory);
    return 0;
}

static size_t flush(const char *lines, size_t size) {
    if (size && write(STDOUT_FILENO, lines, size) != (ssize_t)size) exit(fail("write"));
    return 0;
}

int main(int count, char **arguments) {
    static char events[65536] __attribute__((aligned(8))), lines[1 << 20];
    int quiet = count > 1 && strcmp(arguments[1], "--quiet") == 0;
    if (count != 2 + quiet) return 64;
    int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event interest_in = {.events = EPOLLIN}, ready;
    if (notify < 0 || poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, notify, &interest_in) < 0) return fail("epoll");
    if (watch_tree(notify, arguments[1 + quiet]) < 0) return fail("inotify_add_watch");
    for (;;) {
        if (epoll_wait(poll, &ready, 1, -1) < 0) return fail("epoll_wait");
        /* One read for each wake-up: what is left keeps the descriptor ready. */
        ssize_t size = read(notify, events, sizeof events);
        size_t used = 0;
        for (char *at = events; at < events + size;) {
            struct inotify_event *event = (struct inotify_event *)at;
            at += sizeof *event + event->len;
            if (event->mask & IN_Q_OVERFLOW) fputs("overflow\n", stderr);
            if (quiet || !event->len || !(event->mask & interest)) continue;
            if (used + PATH_MAX + NAME_MAX + 2 > sizeof lines) used = flush(lines, used);
            char *end = stpcpy(stpcpy(stpcpy(lines + used, paths[event->wd]), "/"), event->name);
            *end++ = '\n';
            used = (size_t)(end - lines);
        }
        flush(lines, used);
    }
}
