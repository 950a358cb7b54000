/* What fault.c does with a thread that is stopped before a system call: finds the path that the call is about, and
 * answers in the kernel's place. See ptrace(2), process_vm_readv(2). */
#pragma once
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "fault_calls.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "knows the registers of x86-64 and arm64"
#endif

static bool read_string(pid_t thread, uint64_t address, char *buffer, size_t size)
{
    size_t done = 0;
    /* In pieces that end with a page, since the next one need not be there. */
    while (done + 1 < size) {
        size_t piece = 4096 - (address + done) % 4096;
        if (piece > size - 1 - done)
            piece = size - 1 - done;
        struct iovec ours = {buffer + done, piece}, theirs = {(void *)(address + done), piece};
        ssize_t count = process_vm_readv(thread, &ours, 1, &theirs, 1, 0);
        if (count <= 0)
            return false;
        if (memchr(buffer + done, 0, count))
            return true;
        done += count;
    }
    buffer[done] = 0;
    return true;
}

static bool descriptor_path(pid_t thread, int64_t descriptor, char *buffer, size_t size)
{
    char link[64];
    if ((int)descriptor == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", thread);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", thread, (int)descriptor);
    ssize_t length = readlink(link, buffer, size - 1);
    if (length < 0)
        return false;
    buffer[length] = 0;
    return true;
}

/* The path that a call is about; false if it is about no file. */
static bool path_of(pid_t thread, const struct call *call, const uint64_t *arguments, char *path, size_t size)
{
    char name[PATH_MAX];
    path[0] = 0;
    if (call->path != NONE) {
        if (!arguments[call->path])
            return call->descriptor >= 0 && descriptor_path(thread, arguments[call->descriptor], path, size);
        if (!read_string(thread, arguments[call->path], name, sizeof name))
            return false;
        if (name[0] == '/') {
            snprintf(path, size, "%s", name);
            return true;
        }
        char base[PATH_MAX];
        int64_t directory = call->descriptor >= 0 ? (int64_t)(int)arguments[call->descriptor] : AT_FDCWD;
        if (!descriptor_path(thread, directory, base, sizeof base))
            return false;
        snprintf(path, size, *name ? "%s/%s" : "%s%s", base, name);
        return true;
    }
    return descriptor_path(thread, arguments[call->descriptor], path, size) && path[0] == '/';
}

/* Makes the call that a thread is about to do return something instead. */
static void answer_call(pid_t thread, long answer)
{
#if defined(__x86_64__)
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread, 0, &registers))
        return;
    registers.orig_rax = -1;
    registers.rax = answer;
    ptrace(PTRACE_SETREGS, thread, 0, &registers);
#else
    int none = -1;
    struct iovec number = {&none, sizeof none};
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, thread, 1 /* NT_PRSTATUS */, &all))
        return;
    registers.regs[0] = answer;
    ptrace(PTRACE_SETREGSET, thread, 0x404 /* NT_ARM_SYSTEM_CALL */, &number);
    ptrace(PTRACE_SETREGSET, thread, 1, &all);
#endif
}
