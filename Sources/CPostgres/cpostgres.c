#define _GNU_SOURCE
#include "cpostgres.h"
#include <dlfcn.h>
#include <stdio.h>
#include <sys/ioctl.h>

int cpostgres_load(struct cpostgres *calls, const char *library, char *why, size_t size) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        snprintf(why, size, "%s cannot be loaded: %s", library, text ? text : "unknown");
        return 0;
    }
#define CALL(name, type, arguments) \
    if (!(calls->name = (__typeof__(calls->name))dlsym(handle, "PQ" #name))) { \
        snprintf(why, size, "%s has no function PQ" #name, library); \
        return 0; \
    }
    CPOSTGRES_CALLS
#undef CALL
    return 1;
}

int cpostgres_readable(int socket) {
    int count = 0;
    return ioctl(socket, FIONREAD, &count) == 0 ? count : 0;
}
