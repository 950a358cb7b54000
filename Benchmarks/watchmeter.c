/* Measures a program that watches a directory and prints a line for each file that is finished in it.
 *
 * usage: watchmeter latency FILES DIRECTORY COMMAND…   from just before close(2) to the line's arrival
 *        watchmeter cpu FILES DIRECTORY COMMAND…       the program's processor time for so many files
 * DIRECTORY is what COMMAND watches. For `latency` the files are made in it one by one, each after the line of the one
 * before; for `cpu` they are made as fast as one thread can, spread evenly over the directories that are in it.
 * The program is known to watch once a first file is reported; its start is not measured. It is ended by SIGTERM.
 * Prints one JSON object: for latency `samples` in nanoseconds; for cpu `cpu_ns` (user and system, by the process's
 * own clock), `wall_ns`, `lines` that came and `files` that were made. A program that prints nothing (`cpu` only, with
 * --silent as the first argument) is done when its clock stands still. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int output; /* the program's standard output */
static pid_t program;

static void fail(const char *what) {
    fprintf(stderr, "watchmeter: %s: %s\n", what, strerror(errno));
    if (program > 0) kill(program, SIGKILL);
    exit(1);
}

static long long now(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) < 0) fail("clock_gettime");
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void start(char **command) {
    int pipes[2];
    if (pipe(pipes) < 0) fail("pipe");
    if ((program = fork()) < 0) fail("fork");
    if (program == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    close(pipes[1]);
    output = pipes[0];
    fcntl(output, F_SETPIPE_SZ, 1 << 20); /* so that no program waits for us */
}

/* Makes a finished file and returns the moment just before it was. */
static long long finish_file(const char *directory, const char *name, int number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%06d.jpg", directory, name, number);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, "x", 1) != 1) fail(path);
    long long moment = now(CLOCK_MONOTONIC);
    close(file);
    return moment;
}

/* Takes what the program has printed: the number of lines; -1 when nothing came within that time. */
static int take_lines(int milliseconds) {
    static char text[1 << 20];
    struct pollfd ready = {.fd = output, .events = POLLIN};
    int count = poll(&ready, 1, milliseconds);
    if (count < 0) fail("poll");
    if (count == 0) return -1;
    ssize_t size = read(output, text, sizeof text);
    if (size < 0) fail("read");
    if (size == 0) { errno = EPIPE; fail("the program ended"); }
    int lines = 0;
    for (char *at = text; (at = memchr(at, '\n', (size_t)(text + size - at))); at++) lines++;
    return lines;
}

/* Makes files until the first is reported, then lets the rest of the lines come. */
static void await_watching(const char *directory) {
    int seen = 0;
    for (int try = 0; !seen; try++) {
        if (try == 200) { errno = ETIMEDOUT; fail("no file was ever reported"); }
        finish_file(directory, "first", try);
        seen = take_lines(50) > 0;
    }
    while (take_lines(300) >= 0) continue;
}

static void measure_latency(const char *directory, int files) {
    await_watching(directory);
    printf("{\"samples\": [");
    for (int number = 0; number < files; number++) {
        long long finished = finish_file(directory, "file", number);
        for (int lines = 0; lines < 1;) {
            int more = take_lines(5000);
            if (more < 0) { errno = ETIMEDOUT; fail("a file was not reported"); }
            lines += more;
        }
        printf("%s%lld", number ? ", " : "", now(CLOCK_MONOTONIC) - finished);
        /* A program that goes back to sleep is measured, not one that is still awake from the file before. */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    printf("]}\n");
}

static void measure_cpu(const char *root, int files, int silent) {
    static char *directories[4096];
    int count = 0, lines = 0;
    DIR *open_root = opendir(root);
    if (!open_root) fail(root);
    for (struct dirent *entry; (entry = readdir(open_root)) && count < 4096;) {
        if (entry->d_name[0] == '.' || entry->d_type != DT_DIR) continue;
        if (asprintf(&directories[count++], "%s/%s", root, entry->d_name) < 0) fail("asprintf");
    }
    closedir(open_root);
    if (!count) { errno = ENOENT; fail("directories"); }
    clockid_t clock;
    if (clock_getcpuclockid(program, &clock)) fail("clock_getcpuclockid");
    if (silent) for (long long last = -1, next; (next = now(clock)) != last; last = next) usleep(300000);
    else await_watching(root);

    /* Lines are taken by a child, so that the writer and the program have a processor each as far as there are two. */
    int counted[2];
    if (pipe(counted) < 0) fail("pipe");
    pid_t taker = fork();
    if (taker < 0) fail("fork");
    if (taker == 0) {
        int quiet_for = 0;
        while (!silent && lines < files && quiet_for < 40) {
            int more = take_lines(250);
            if (more < 0) quiet_for++;
            else lines += more, quiet_for = 0;
        }
        _exit(write(counted[1], &lines, sizeof lines) != sizeof lines);
    }
    long long before = now(clock), started = now(CLOCK_MONOTONIC);
    for (int number = 0; number < files; number++) finish_file(directories[number % count], "file", number);
    if (read(counted[0], &lines, sizeof lines) != sizeof lines) fail("read");
    waitpid(taker, NULL, 0);
    long long ended = now(CLOCK_MONOTONIC), last = -1, cpu;
    while ((cpu = now(clock)) != last) last = cpu, usleep(300000);
    printf("{\"cpu_ns\": %lld, \"wall_ns\": %lld, \"lines\": %d, \"files\": %d}\n", cpu - before, ended - started, lines,
           files);
}

int main(int count, char **arguments) {
    int silent = count > 1 && strcmp(arguments[1], "--silent") == 0;
    arguments += silent, count -= silent;
    if (count < 5) return 64;
    int files = atoi(arguments[2]);
    signal(SIGPIPE, SIG_IGN);
    start(arguments + 4);
    if (strcmp(arguments[1], "latency") == 0) measure_latency(arguments[3], files);
    else if (strcmp(arguments[1], "cpu") == 0) measure_cpu(arguments[3], files, silent);
    else return 64;
    kill(program, SIGTERM);
    waitpid(program, NULL, 0);
    return 0;
}
