/* Measures a program that watches a directory and prints something for each file that is finished in it.
 *
 * usage: watchmeter [--also PID] latency FILES DIRECTORY COMMAND…   from just before close(2) to the name's arrival
 *        watchmeter [--also PID] cpu FILES DIRECTORY COMMAND…       the program's processor time for so many files
 * DIRECTORY is what COMMAND watches. For `latency` the files are made in it one by one, each after the report of the
 * one before, for 15 s at most; for `cpu` they are made as fast as one thread can, spread evenly over the directories
 * that are in it. A file is reported when its name (file000001.jpg) comes out of COMMAND, whatever stands around it.
 * With --also, the processor time of a second process (a server that COMMAND talks to) is counted too.
 * The program is known to watch once a first file is reported; its start is not measured. It is ended by SIGTERM.
 * Prints one JSON object: for latency `samples` in nanoseconds and `lost`, the files that were not reported within 5 s;
 * for cpu `cpu_ns` (user and system, by the process's own clock), `wall_ns`, `files` that were made, `reported`, how
 * many of them were at least once, `reports`, how often in all, and `ended` if the program did not live to the end. */
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

enum { most_files = 1000000, most_tries = 200, name_length = sizeof "file000000.jpg" - 1 };
static const long long second = 1000000000;

static int output; /* the program's standard output */
static pid_t program;
static int wanted;                        /* how many files are made; those with higher numbers are for the start */
static int reported, reports, ended;      /* see above */
static unsigned short times[most_files];  /* how often each file was reported */

static void fail(const char *what) {
    fprintf(stderr, "watchmeter: %s: %s\n", what, strerror(errno));
    if (program > 0) kill(program, SIGKILL);
    exit(1);
}

static long long now(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) < 0) fail("clock_gettime");
    return time.tv_sec * second + time.tv_nsec;
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
static long long finish_file(const char *directory, int number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/file%06d.jpg", directory, number);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, "x", 1) != 1) fail(path);
    long long moment = now(CLOCK_MONOTONIC);
    close(file);
    return moment;
}

/* The number in a file's name; -1 if it is no such name. */
static int number_of(const char *name) {
    int number = 0;
    for (int at = 4; at < 10; at++) {
        if (name[at] < '0' || name[at] > '9') return -1;
        number = number * 10 + name[at] - '0';
    }
    return memcmp(name + 10, ".jpg", 4) ? -1 : number;
}

/* Takes what the program has printed and notes each name in it; false when nothing came within that time. */
static int take_reports(int milliseconds) {
    static char text[1 << 20];
    static size_t kept; /* the end of what came before: a name may come in two parts */
    struct pollfd ready = {.fd = output, .events = POLLIN};
    int count = poll(&ready, 1, milliseconds);
    if (count < 0) fail("poll");
    if (count == 0) return 0;
    ssize_t size = read(output, text + kept, sizeof text - kept);
    if (size < 0) fail("read");
    if (size == 0) return ended = 1, 0;
    char *end = text + kept + size, *at = text;
    while ((at = memmem(at, (size_t)(end - at), "file", 4)) && at + name_length <= end) {
        int number = number_of(at);
        if (number >= 0 && number < most_files) {
            if (!times[number]) reported += number < wanted;
            times[number]++;
            reports += number < wanted;
        }
        at += 4;
    }
    /* As much as could begin a name, and nothing that was counted. */
    if (!at) at = end - text < 3 ? text : end - 3;
    kept = (size_t)(end - at);
    memmove(text, at, kept);
    return 1;
}

/* Makes files, with numbers of their own, until one is reported, then lets the rest of the reports come. */
static void await_watching(const char *directory) {
    int seen = 0;
    for (int number = wanted; !seen; number++) {
        if (number == wanted + most_tries || ended) {
            errno = ended ? EPIPE : ETIMEDOUT;
            fail("no file was ever reported");
        }
        finish_file(directory, number);
        take_reports(50);
        for (int made = wanted; made <= number; made++) seen |= times[made];
    }
    while (take_reports(300)) continue;
}

static void measure_latency(const char *directory) {
    await_watching(directory);
    long long started = now(CLOCK_MONOTONIC);
    int lost = 0, samples = 0;
    printf("{\"samples\": [");
    for (int number = 0; number < wanted && !ended && now(CLOCK_MONOTONIC) - started < 15 * second; number++) {
        long long finished = finish_file(directory, number), taken = 0;
        while (!times[number] && !ended && taken < 5 * second) {
            take_reports(1000);
            taken = now(CLOCK_MONOTONIC) - finished;
        }
        if (times[number]) printf("%s%lld", samples++ ? ", " : "", taken);
        else lost++;
        /* A program that goes back to sleep is measured, not one that is still awake from the file before. */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    printf("], \"lost\": %d, \"ended\": %s}\n", lost, ended ? "true" : "false");
}

/* The processor time that was used so far. */
static long long used(pid_t also) {
    long long sum = 0;
    for (pid_t process = program; process; process = process == program ? also : 0) {
        clockid_t clock;
        if (clock_getcpuclockid(process, &clock)) fail("clock_getcpuclockid");
        sum += now(clock);
    }
    return sum;
}

static void measure_cpu(const char *root, pid_t also) {
    static char *directories[4096];
    int count = 0;
    DIR *open_root = opendir(root);
    if (!open_root) fail(root);
    for (struct dirent *entry; (entry = readdir(open_root)) && count < 4096;) {
        if (entry->d_name[0] == '.' || entry->d_type != DT_DIR) continue;
        if (asprintf(&directories[count++], "%s/%s", root, entry->d_name) < 0) fail("asprintf");
    }
    closedir(open_root);
    if (!count) { errno = ENOENT; fail("directories"); }
    await_watching(root);

    /* Reports are taken by a child, so that the writer and the program have a processor each where there are two. */
    int pipes[2], counted[3];
    if (pipe(pipes) < 0) fail("pipe");
    long long before = used(also), started = now(CLOCK_MONOTONIC);
    pid_t taker = fork();
    if (taker < 0) fail("fork");
    if (taker == 0) {
        /* What is not reported after 10 s of silence, or after 40 s, is lost. */
        for (int quiet_for = 0; reported < wanted && !ended && quiet_for < 40;) {
            quiet_for = take_reports(250) ? 0 : quiet_for + 1;
            if (now(CLOCK_MONOTONIC) - started > 40 * second) break;
        }
        while (take_reports(250) && now(CLOCK_MONOTONIC) - started < 40 * second) continue;
        int counts[3] = {reported, reports, ended};
        _exit(write(pipes[1], counts, sizeof counts) != sizeof counts);
    }
    for (int number = 0; number < wanted; number++) finish_file(directories[number % count], number);
    if (read(pipes[0], counted, sizeof counted) != sizeof counted) fail("read");
    waitpid(taker, NULL, 0);
    long long finished = now(CLOCK_MONOTONIC), last = -1, cpu = used(also);
    for (int turn = 0; cpu != last && turn < 30; turn++) {
        last = cpu;
        usleep(300000);
        cpu = used(also);
    }
    printf("{\"cpu_ns\": %lld, \"wall_ns\": %lld, \"files\": %d, \"reported\": %d, \"reports\": %d, \"ended\": %s}\n",
           cpu - before, finished - started, wanted, counted[0], counted[1], counted[2] ? "true" : "false");
}

int main(int count, char **arguments) {
    pid_t also = 0;
    if (count > 2 && strcmp(arguments[1], "--also") == 0) {
        also = atoi(arguments[2]);
        arguments += 2, count -= 2;
    }
    if (count < 5) return 64;
    wanted = atoi(arguments[2]);
    if (wanted < 1 || wanted > most_files - most_tries) return 64;
    signal(SIGPIPE, SIG_IGN);
    start(arguments + 4);
    if (strcmp(arguments[1], "latency") == 0) measure_latency(arguments[3]);
    else if (strcmp(arguments[1], "cpu") == 0) measure_cpu(arguments[3], also);
    else return 64;
    kill(program, SIGTERM);
    waitpid(program, NULL, 0);
    return 0;
}
