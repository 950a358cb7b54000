#define _GNU_SOURCE
#include "clinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int clinux_pidfd_open(int32_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0u); }

int clinux_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0u);
}

int32_t clinux_gettid(void) { return (int32_t)syscall(SYS_gettid); }

_Static_assert(CLINUX_EPOLLIN == EPOLLIN && CLINUX_EPOLLPRI == EPOLLPRI && CLINUX_EPOLLOUT == EPOLLOUT &&
                   CLINUX_EPOLLET == EPOLLET,
               "epoll");

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

int clinux_epoll_take(int epoll) {
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, 0);
}

int clinux_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int clinux_aio_setup(uint64_t *context) {
    aio_context_t made = 0;
    int result = (int)syscall(SYS_io_setup, 1u, &made);
    *context = made;
    return result;
}

int clinux_aio_poll(uint64_t context, int fd, uint32_t events, int counter) {
    struct iocb request = {
        .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = (uint32_t)fd, .aio_buf = events, .aio_flags = IOCB_FLAG_RESFD,
        .aio_resfd = (uint32_t)counter};
    struct iocb *requests[] = {&request};
    return (int)syscall(SYS_io_submit, (aio_context_t)context, 1L, requests);
}

int clinux_aio_reap(uint64_t context) {
    struct io_event answer;
    struct timespec none = {0, 0};
    return (int)syscall(SYS_io_getevents, (aio_context_t)context, 0L, 1L, &answer, &none);
}

int clinux_aio_destroy(uint64_t context) { return (int)syscall(SYS_io_destroy, (aio_context_t)context); }

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
