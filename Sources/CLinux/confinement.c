#define _GNU_SOURCE
#include "clinux_confinement.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

_Static_assert(CLINUX_LIMIT_FSIZE == RLIMIT_FSIZE && CLINUX_LIMIT_CORE == RLIMIT_CORE &&
                   CLINUX_LIMIT_NOFILE == RLIMIT_NOFILE && CLINUX_LIMIT_AS == RLIMIT_AS,
               "getrlimit");

int clinux_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int clinux_not_dumpable(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int clinux_limit(int resource, uint64_t value) {
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    return setrlimit(resource, &limit);
}

int clinux_processor_time_alarm(uint32_t seconds) {
    struct itimerval alarm = {.it_value = {.tv_sec = seconds}};
    return setitimer(ITIMER_PROF, &alarm, NULL);
}

/* Landlock. With the kernel's numbers, since the headers of Debian 12 cover only the first versions. */

#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_ADD_RULE 445
#define LANDLOCK_RESTRICT_SELF 446

struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
};

int clinux_landlock_version(void) {
    return (int)syscall(LANDLOCK_CREATE_RULESET, NULL, (size_t)0, 1u /* LANDLOCK_CREATE_RULESET_VERSION */);
}

/* Rights by version: 13 in the first, then REFER (2), TRUNCATE (3), device ioctls (5). */
static uint64_t file_rights(int version) {
    return (UINT64_C(1) << (version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13)) - 1;
}

static int new_set(int version, int network) {
    struct ruleset rules = {
        .files = file_rights(version),
        .network = version >= 4 && network ? 3 : 0, /* to bind and to connect TCP sockets */
        .scoped = version >= 6 ? 3 : 0,             /* abstract sockets, signals */
    };
    /* A kernel accepts a structure longer than its own only if the rest is 0. */
    return (int)syscall(LANDLOCK_CREATE_RULESET, &rules, sizeof rules, 0u);
}

int clinux_landlock_nothing(int version) {
    int set = new_set(version, 1);
    if (set < 0) return -1;
    int result = clinux_landlock_enforce(set);
    int error = errno;
    close(set);
    errno = error;
    return result;
}

int clinux_landlock_set(int version) { return new_set(version, 0); }

/* READ_FILE, READ_DIR */
#define READS UINT64_C(0x000c)
/* WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG, REFER, TRUNCATE: no devices, sockets, FIFOs, links. */
#define WRITES UINT64_C(0x61b2)
/* READ_DIR, REMOVE_DIR, MAKE_DIR, MAKE_REG, REFER. To replace a file, REMOVE_FILE would be needed; and nothing is moved from
   here to where it may be read, since that is refused as well. */
#define ADDS UINT64_C(0x2198)

int clinux_landlock_allow(int set, int version, int place, int what) {
    uint64_t rights = what == CLINUX_LANDLOCK_ADD ? ADDS : what == CLINUX_LANDLOCK_WRITE ? READS | WRITES : READS;
    struct {
        uint64_t rights;
        int32_t place;
    } __attribute__((packed)) rule = {.rights = rights & file_rights(version), .place = place};
    return (int)syscall(LANDLOCK_ADD_RULE, set, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0u);
}

int clinux_landlock_enforce(int set) { return (int)syscall(LANDLOCK_RESTRICT_SELF, set, 0u); }

/* seccomp: a BPF program. Each part returns or falls through to the next. */

#if defined(__x86_64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
/* The low half of an argument; both processors are little-endian. */
#define ARGUMENT(n) (FIELD(args) + 8u * (n))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define AND(mask) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (mask))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define ALLOWED ANSWER(SECCOMP_RET_ALLOW)
#define REFUSED(error) ANSWER(SECCOMP_RET_ERRNO | (error))
/* Falls through if the accumulator is `value`, else skips `count`. */
#define IF_EQUAL(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))

#define ALLOW(call) IF_EQUAL(__NR_##call, 1), ALLOWED
/* Allowed if argument `n` & `mask` is `value`; refused otherwise. */
#define ALLOW_IF(call, n, mask, value) \
    IF_EQUAL(__NR_##call, 5), LOAD(ARGUMENT(n)), AND(mask), IF_EQUAL(value, 1), ALLOWED, REFUSED(EPERM)

#define THREAD (CLONE_THREAD | CLONE_VM | CLONE_SIGHAND)
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
                    CLONE_NEWNET | CLONE_PTRACE | CLONE_VFORK)

int clinux_seccomp_compute_only(void) {
#ifdef OUR_ARCHITECTURE
    struct sock_filter program[] = {
        LOAD(FIELD(arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCHITECTURE, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        /* x32 calls have numbers from 2^30 on, so none of them is listed below. */
        LOAD(FIELD(nr)),
        /* Open descriptors. */
        ALLOW(read), ALLOW(readv), ALLOW(pread64), ALLOW(preadv), ALLOW(lseek), ALLOW(write), ALLOW(writev),
        ALLOW(pwrite64), ALLOW(fstat), ALLOW(ftruncate), ALLOW(close), ALLOW(dup),
        /* Memory, not executable. */
        ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(brk),
        ALLOW_IF(mmap, 2, PROT_EXEC, 0), ALLOW_IF(mprotect, 2, PROT_EXEC, 0),
        /* Threads, for libvips. clone3(2) passes its flags by pointer; after ENOSYS the C library uses clone(2). */
        IF_EQUAL(__NR_clone3, 1), REFUSED(ENOSYS),
        IF_EQUAL(__NR_clone, 5), LOAD(ARGUMENT(0)), AND(THREAD | NAMESPACES), IF_EQUAL(THREAD, 1), ALLOWED,
        REFUSED(EPERM),
        ALLOW(futex), ALLOW(set_robust_list), ALLOW(rseq), ALLOW(sched_yield), ALLOW(sched_getaffinity),
        ALLOW(getpid), ALLOW(gettid), ALLOW(exit), ALLOW(exit_group), ALLOW(restart_syscall),
        /* Signals to the process itself, for abort(3). */
        ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack),
        ALLOW_IF(tgkill, 0, 0xFFFFFFFFu, (uint32_t)getpid()),
        /* Clocks and random numbers. */
        ALLOW(clock_gettime), ALLOW(clock_getres), ALLOW(clock_nanosleep), ALLOW(nanosleep), ALLOW(gettimeofday),
        ALLOW(getrandom), ALLOW(getrusage), ALLOW(setitimer),
        ALLOW_IF(fcntl, 1, 0xFFFFFFFFu, F_GETFL), /* for streams of the C library */
        /* Requests. */
        ALLOW_IF(recvmsg, 0, 0xFFFFFFFFu, 0), ALLOW_IF(sendmsg, 0, 0xFFFFFFFFu, 0),
        REFUSED(EPERM),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    long result = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    if (result == 0) return 0;
    /* The number of a thread that could not be synchronised. */
    if (result > 0) errno = EBUSY;
    return -1;
#else
    errno = EOPNOTSUPP;
    return -1;
#endif
}
