/* Confinement: calls that are variadic, or missing in Swift's Glibc module. */
#ifndef CLINUX_CONFINEMENT_H
#define CLINUX_CONFINEMENT_H
#include <stdint.h>

int clinux_no_new_privileges(void);                         /* prctl(2), PR_SET_NO_NEW_PRIVS */
int clinux_not_dumpable(void);                              /* prctl(2), PR_SET_DUMPABLE 0 */
/* setrlimit(2), soft and hard limit of one resource: CLINUX_LIMIT_… */
int clinux_limit(int resource, uint64_t value);
#define CLINUX_LIMIT_FSIZE 1
#define CLINUX_LIMIT_CORE 4
#define CLINUX_LIMIT_NOFILE 7
#define CLINUX_LIMIT_AS 9
/* landlock(7): the kernel's version. */
int clinux_landlock_version(void);
/* landlock(7): forbids the calling thread to open, create, change and remove files and, if the kernel supports it, to
   bind and connect TCP sockets, connect to abstract sockets and signal other processes. */
int clinux_landlock_nothing(int version);
/* A new landlock(7) ruleset, closed on exec, that forbids all file access; the network is not restricted. */
int clinux_landlock_set(int version);
/* What is allowed beneath a directory: reading; also creating, changing and removing files and directories; or only
   listing, making and removing directories, and moving files there, under names that are free. */
#define CLINUX_LANDLOCK_READ 0
#define CLINUX_LANDLOCK_WRITE 1
#define CLINUX_LANDLOCK_ADD 2
int clinux_landlock_allow(int set, int version, int place, int what);
/* Applies to the calling thread and those that it creates. */
int clinux_landlock_enforce(int set);
/* seccomp(2), all threads: allows only computing, reading and writing open descriptors, messages on descriptor 0 and
   new threads. All other calls fail with EPERM. EOPNOTSUPP on processors without a table. */
int clinux_seccomp_compute_only(void);

/* setitimer(2), ITIMER_PROF: SIGPROF, which ends the process, after so much processor time; 0 cancels it. */
int clinux_processor_time_alarm(uint32_t seconds);
#endif
