#define _GNU_SOURCE
#include "clinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int clinux_pidfd_open(int32_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0u); }

int clinux_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0u);
}

int32_t clinux_gettid(void) { return (int32_t)syscall(SYS_gettid); }

_Static_assert(CLINUX_EPOLLIN == EPOLLIN && CLINUX_EPOLLPRI == EPOLLPRI && CLINUX_EPOLLOUT == EPOLLOUT, "epoll");

int clinux_epoll_add(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = fd}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int clinux_epoll_watching(int fd, uint32_t events) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) return -1;
    struct epoll_event event = {.events = events, .data = {.fd = fd}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        int error = errno;
        close(epoll);
        errno = error;
        return -1;
    }
    return epoll;
}

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

int clinux_timerfd_create(int clock) { return timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC); }

int clinux_timerfd_arm(int fd, int64_t seconds, int64_t nanoseconds, int cancel_on_set) {
    struct itimerspec when = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    return timerfd_settime(fd, TFD_TIMER_ABSTIME | (cancel_on_set ? TFD_TIMER_CANCEL_ON_SET : 0), &when, NULL);
}

int clinux_signalfd(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++)
        if (sigaddset(&set, signals[i]) < 0) return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int clinux_signalfd_read(int fd, struct clinux_signal *out) {
    struct signalfd_siginfo info;
    ssize_t size = read(fd, &info, sizeof info);
    if (size < 0) return -1;
    if (size != (ssize_t)sizeof info) {
        errno = EIO;
        return -1;
    }
    *out = (struct clinux_signal){
        .number = info.ssi_signo, .code = info.ssi_code, .sender = info.ssi_pid, .user = info.ssi_uid,
        .value = info.ssi_int};
    return 1;
}
