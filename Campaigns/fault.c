/*
 * Runs a program and strikes at the Nth of its system calls that touch given directories: kills the whole process, or
 * makes the call fail.
 *
 * usage: fault [--at N] [--kill | --stop | --lie | --errno NAME|NUMBER [--lasting]] [--under DIRECTORY]...
 *              [--calls NAME,...|changes|all] [--refuse NAME,...] [--report FD] [--trace] -- PROGRAM [ARGUMENT]...
 *
 * Calls are counted over all threads of the process and its children. `--calls` says which: those that change something
 * (the default), all that this program knows, or those named. `--under` counts only those whose descriptor or path lies
 * in one of the directories. The Nth is struck before it is carried out. With --lasting every later one fails as well,
 * until SIGUSR1 heals. With --stop the process stands still before it, as after SIGSTOP, until SIGUSR1, and calls are
 * counted from SIGALRM on. With --lie it is not carried out, and says that it was. `--refuse` makes some calls fail
 * always, uncounted, as a file system would that cannot do them: tmpfile, copy_file_range, clone, linkat, renameat2.
 *
 * A seccomp filter stops the program at calls of these kinds alone; everything else runs at full speed. SIGTERM,
 * SIGUSR2 and SIGHUP are handed on. To descriptor FD are written, one a line: "pid N", "call N NAME PATH" (--trace),
 * "fired N NAME PATH", "counting", "healed N", and at the end "end COUNT exited|killed STATUS STRUCK". Its own status: that
 * of the program, 128 + signal; 125 where it may not trace.
 *
 * See ptrace(2), PTRACE_EVENT_SECCOMP, and seccomp(2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_calls.h"
#include "fault_thread.h"

static struct {
    long at;
    bool kills, stops, lies, lasting, traces, all;
    int error;
    const char *under[32];
    int unders;
    const char *chosen; /* names, or NULL for those that change something */
    const char *refused;
    int report;
} option = {.report = -1};

static pid_t program, held; /* the thread that was about to do the Nth call, while all stand still */
static long counted, struck;
static bool healed, counting;
static volatile sig_atomic_t heal_asked, count_asked;

static void report(const char *format, ...)
{
    char line[PATH_MAX + 256];
    va_list arguments;
    if (option.report < 0)
        return;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof line)
        length = sizeof line - 1;
    if (write(option.report, line, length) < 0)
        option.report = -1;
}

static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && *at;) {
        const char *comma = strchrnul(at, ',');
        if ((size_t)(comma - at) == length && !strncmp(at, name, length))
            return true;
        at = *comma ? comma + 1 : comma;
    }
    return false;
}

static bool is_chosen(const struct call *call)
{
    if (!option.chosen)
        return option.all || call->changes;
    /* "create" is the open that makes something, "openat" any. */
    if (call->flags != NONE)
        return is_listed(option.chosen, "openat") || is_listed(option.chosen, "create");
    return is_listed(option.chosen, call->name);
}

static bool is_refusable(const struct call *call)
{
    if (call->flags != NONE && is_listed(option.refused, "tmpfile"))
        return true;
    return is_listed(option.refused, call->name);
}

/* --- the program's side --- */

static void install_filter(void)
{
    struct sock_filter filter[4 * CALLS + 16];
    size_t n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS; i++) {
        if (!is_chosen(&calls[i]) && !is_refusable(&calls[i]))
            continue;
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {.len = n, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all)) {
        perror("fault: seccomp");
        _exit(125);
    }
}

/* --- striking --- */

static bool is_under(const char *path)
{
    if (!option.unders)
        return true;
    for (int i = 0; i < option.unders; i++) {
        size_t length = strlen(option.under[i]);
        if (!strncmp(path, option.under[i], length) && (!path[length] || path[length] == '/'))
            return true;
    }
    return false;
}

/* What a call returns that did all that it was asked for. */
static long success(const struct call *call, const uint64_t *arguments)
{
    switch (call->number) {
    case SYS_write: case SYS_pwrite64: return arguments[2];
    case SYS_copy_file_range: return arguments[4];
    default: return 0;
    }
}

static bool opens_to_change(const struct call *call, const uint64_t *arguments)
{
    return call->flags == NONE || arguments[call->flags] & (O_CREAT | O_TRUNC | ANONYMOUS);
}

/* A thread is about to do one of the calls. */
static void about_to_call(pid_t thread)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_SECCOMP)
        return;
    uint64_t *arguments = (uint64_t *)info.seccomp.args;
    const struct call *call = NULL;
    for (size_t i = 0; i < CALLS && !call; i++)
        if ((uint64_t)calls[i].number == info.seccomp.nr)
            call = &calls[i];
    if (!call)
        return;
    if (call->number == SYS_ioctl && arguments[1] != FICLONE && arguments[1] != FICLONERANGE)
        return;
    if (call->number == SYS_fcntl && arguments[1] != F_SETLEASE)
        return;
    char path[2 * PATH_MAX];
    if (!path_of(thread, call, arguments, path, sizeof path) || !is_under(path))
        return;
    if (is_refusable(call)) {
        bool is_anonymous = call->flags != NONE && arguments[call->flags] & ANONYMOUS;
        if (call->flags == NONE || is_anonymous) {
            int error = call->number == SYS_renameat2 ? EINVAL : call->number == SYS_linkat ? EPERM : EOPNOTSUPP;
            answer_call(thread, -error);
            return;
        }
    }
    if (!is_chosen(call))
        return;
    /* Unless any open was asked for, those that only open are let through. */
    if (!opens_to_change(call, arguments) && !option.all && !is_listed(option.chosen, "openat"))
        return;
    if (!counting)
        return;
    counted++;
    if (option.traces)
        report("call %ld %s %s\n", counted, call->name, path);
    if (!option.at || counted < option.at)
        return;
    if (option.kills) {
        if (counted == option.at) {
            struck++;
            report("fired %ld %s %s\n", counted, call->name, path);
            kill(program, SIGKILL);
        }
    } else if (option.stops) {
        if (counted == option.at && !healed) {
            held = thread;
            struck++;
            kill(program, SIGSTOP);
            report("fired %ld %s %s\n", counted, call->name, path);
        }
    } else if ((option.error || option.lies) && (counted == option.at || (option.lasting && !healed))) {
        if (!struck++)
            report("fired %ld %s %s\n", counted, call->name, path);
        answer_call(thread, option.lies ? success(call, arguments) : -option.error);
    }
}

/* --- the command line --- */

static const struct { const char *name; int number; } errors[] = {
#define E(n) {#n, n}
    E(ENOSPC), E(EDQUOT), E(EROFS), E(EIO), E(EACCES), E(EPERM), E(EMFILE), E(ENFILE), E(ENOENT), E(ENOMEM), E(EINTR),
    E(EBUSY), E(ESTALE), E(EAGAIN), E(EFBIG), E(ENOLCK), E(ETXTBSY), E(EXDEV), E(EOPNOTSUPP), E(EINVAL), E(ENOTDIR),
    E(ELOOP), E(ENXIO), E(ENODEV), E(ETIMEDOUT), E(EMLINK), E(ENAMETOOLONG), E(EHOSTDOWN), E(ENOTCONN), E(ENOSYS),
#undef E
};

static int error_number(const char *text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(errors[i].name, text))
            return errors[i].number;
    int number = atoi(text);
    if (number < 1 || number > 4095) {
        fprintf(stderr, "fault: no error is called %s\n", text);
        exit(125);
    }
    return number;
}

static char **parse(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        const char *flag = arguments[i];
        if (!strcmp(flag, "--") && i + 1 < count)
            return arguments + i + 1;
        if (!strcmp(flag, "--kill")) option.kills = true;
        else if (!strcmp(flag, "--stop")) option.stops = true;
        else if (!strcmp(flag, "--lie")) option.lies = true;
        else if (!strcmp(flag, "--lasting")) option.lasting = true;
        else if (!strcmp(flag, "--trace")) option.traces = true;
        else if (i + 1 == count) break;
        else if (!strcmp(flag, "--at")) option.at = atol(arguments[++i]);
        else if (!strcmp(flag, "--errno")) option.error = error_number(arguments[++i]);
        else if (!strcmp(flag, "--refuse")) option.refused = arguments[++i];
        else if (!strcmp(flag, "--report")) option.report = atoi(arguments[++i]);
        else if (!strcmp(flag, "--under") && option.unders < 32) option.under[option.unders++] = arguments[++i];
        else if (!strcmp(flag, "--calls")) {
            option.chosen = arguments[++i];
            option.all = !strcmp(option.chosen, "all");
            if (option.all || !strcmp(option.chosen, "changes")) option.chosen = NULL;
        } else break;
    }
    fprintf(stderr, "fault: see the top of fault.c for its usage\n");
    exit(125);
}

static void hand_on(int number) { if (program > 0) kill(program, number); }
static void ask_to_heal(int number) { (void)number; heal_asked = 1; }
static void ask_to_count(int number) { (void)number; count_asked = 1; }

/* What signals asked for. */
static void do_asked(void)
{
    if (count_asked && !counting) {
        counting = true;
        report("counting\n");
    }
    if (heal_asked && !healed) {
        healed = true;
        report("healed %ld\n", counted);
        if (held) {
            kill(program, SIGCONT);
            ptrace(PTRACE_CONT, held, 0, 0);
            held = 0;
        }
    }
}

int main(int count, char **arguments)
{
    char **command = parse(count, arguments);
    if (option.report >= 0)
        fcntl(option.report, F_SETFD, FD_CLOEXEC);
    program = fork();
    if (program < 0) {
        perror("fault: fork");
        return 125;
    }
    if (program == 0) {
        raise(SIGSTOP); /* until it is traced: without a tracer the filter's calls would fail */
        install_filter();
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    int status;
    waitpid(program, &status, WUNTRACED);
    long wanted = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK
        | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, program, 0, wanted)) {
        perror("fault: ptrace");
        kill(program, SIGKILL);
        return 125;
    }
    counting = !option.stops;
    struct sigaction pass = {.sa_handler = hand_on}, heal = {.sa_handler = ask_to_heal};
    struct sigaction count_on = {.sa_handler = ask_to_count};
    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGUSR2, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
    sigaction(SIGUSR1, &heal, NULL);
    if (option.stops)
        sigaction(SIGALRM, &count_on, NULL);
    report("pid %d\n", program);
    kill(program, SIGCONT);
    for (;;) {
        /* The handlers have no SA_RESTART, so that a wish to heal is seen at once. */
        pid_t thread = waitpid(-1, &status, __WALL);
        do_asked();
        if (thread < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread != program)
                continue;
            bool exited = WIFEXITED(status);
            int code = exited ? WEXITSTATUS(status) : WTERMSIG(status);
            report("end %ld %s %d %ld\n", counted, exited ? "exited" : "killed", code, struck);
            return exited ? code : 128 + code;
        }
        if (!WIFSTOPPED(status))
            continue;
        int event = status >> 16, signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP) {
            about_to_call(thread);
            if (thread == held)
                continue;
            signal = 0;
        } else if (event == PTRACE_EVENT_STOP && (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN
                                                    || signal == SIGTTOU)) {
            ptrace(PTRACE_LISTEN, thread, 0, 0);
            continue;
        } else if (event)
            signal = 0;
        ptrace(PTRACE_CONT, thread, 0, signal);
    }
    return 125;
}
