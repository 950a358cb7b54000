#define _GNU_SOURCE
#include "clinux_processes.h"
#include <linux/capability.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(CLINUX_CLD_EXITED == CLD_EXITED && CLINUX_CLD_KILLED == CLD_KILLED && CLINUX_CLD_DUMPED == CLD_DUMPED,
               "waitid");

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    /* These two cannot be changed; resetting them is an error on some systems. */
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error) error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    return error;
}

static int add_actions(posix_spawn_file_actions_t *actions, const int streams[3], int directory) {
    int error = 0;
    if (directory != -1) error = posix_spawn_file_actions_addfchdir_np(actions, directory);
    /* dup2 onto itself clears close-on-exec. */
    for (int i = 0; i < 3 && !error; i++) error = posix_spawn_file_actions_adddup2(actions, streams[i], i);
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    return error;
}

int clinux_spawn(int32_t *child, const char *program, char *const arguments[], char *const environment[],
                 const int streams[3], int directory) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int error = posix_spawnattr_init(&attributes);
    if (error) return error;
    error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        pid_t pid = 0;
        error = set_attributes(&attributes);
        if (!error) error = add_actions(&actions, streams, directory);
        if (!error) error = posix_spawn(&pid, program, &actions, &attributes, arguments, environment);
        if (!error) *child = pid;
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

int clinux_wait_pidfd(int pidfd, int peek, int32_t *code, int32_t *status) {
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | (peek ? WNOWAIT : 0)) < 0) return -1;
    if (info.si_pid == 0) return 0;
    *code = info.si_code;
    *status = info.si_status;
    return 1;
}

int clinux_epoll_forget(int epoll, int fd) {
    struct epoll_event unused = {0};
    return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &unused);
}

int clinux_epoll_change(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = fd}};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

uint64_t clinux_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};
    if (syscall(SYS_capget, &header, data) < 0) return 0;
    return (uint64_t)data[1].effective << 32 | data[0].effective;
}
