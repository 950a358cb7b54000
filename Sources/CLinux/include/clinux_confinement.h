/* A process that gives up what it does not need: what is variadic, or missing in Swift's Glibc module. */
#ifndef CLINUX_CONFINEMENT_H
#define CLINUX_CONFINEMENT_H
#include <stdint.h>

int clinux_no_new_privileges(void);                         /* prctl(2), PR_SET_NO_NEW_PRIVS */
int clinux_not_dumpable(void);                              /* prctl(2), PR_SET_DUMPABLE 0 */
/* setrlimit(2) of one resource, soft and hard; the values of CLINUX_LIMIT_…. */
int clinux_limit(int resource, uint64_t value);
#define CLINUX_LIMIT_FSIZE 1
#define CLINUX_LIMIT_CORE 4
#define CLINUX_LIMIT_NOFILE 7
#define CLINUX_LIMIT_AS 9
/* landlock(7): which version the kernel has. */
int clinux_landlock_version(void);
/* landlock(7): the calling thread opens, makes, changes and removes no file any more, and as far as the kernel knows
   how, binds and connects no TCP socket, reaches no abstract socket and signals no process. */
int clinux_landlock_nothing(int version);
/* A new set for landlock(7), closed on exec: of files nothing is allowed yet; the network stays. */
int clinux_landlock_set(int version);
/* Adds what lies beneath the directory `place`: to be read, and with `writes` files and directories to be made, changed
   and removed. */
int clinux_landlock_allow(int set, int version, int place, int writes);
/* For the calling thread and those that it makes. */
int clinux_landlock_enforce(int set);
/* seccomp(2), all threads: nothing but computing, reading and writing what is open, messages on descriptor 0 and
   threads of its own. All else fails with EPERM. EOPNOTSUPP on a processor that we have no table for. */
int clinux_seccomp_compute_only(void);

/* setitimer(2), ITIMER_PROF: SIGPROF, which ends the process, after so much processor time; 0 takes it back. */
int clinux_processor_time_alarm(uint32_t seconds);
#endif
