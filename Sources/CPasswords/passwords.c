#define _GNU_SOURCE
#include "cpasswords.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* As declared in crypt.h of libxcrypt, whose development files are not needed. */
static char *(*gensalt)(const char *prefix, unsigned long count, const char *random, int size, char *out, int room);
static char *(*hash_by)(const char *phrase, const char *setting, void *data, int size);

/* sizeof(struct crypt_data), which is fixed by its ABI. */
enum { WORK = 32768 };

static void load(void) {
    void *library = dlopen("libcrypt.so.1", RTLD_NOW);
    /* Distributions that have dropped the old interfaces count it on. */
    if (!library) library = dlopen("libcrypt.so.2", RTLD_NOW);
    if (!library) return;
    gensalt = (__typeof__(gensalt))dlsym(library, "crypt_gensalt_rn");
    hash_by = (__typeof__(hash_by))dlsym(library, "crypt_rn");
}

static int is_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return gensalt && hash_by;
}

int32_t cpasswords_setting(char hash[CPASSWORDS_SIZE]) {
    if (!is_loaded()) return -1;
    /* 0 is the library's own choice of the cost, no random bytes its own source of them. */
    return gensalt("$y$", 0, 0, 0, hash, CPASSWORDS_SIZE) ? 0 : -1;
}

int32_t cpasswords_hash(const char *phrase, const char *setting, char hash[CPASSWORDS_SIZE]) {
    if (!is_loaded()) return -1;
    void *work = calloc(1, WORK);
    if (!work) return -1;
    const char *made = hash_by(phrase, setting, work, WORK);
    int32_t result = -1;
    if (made && made[0] != '*' && strlen(made) < CPASSWORDS_SIZE) {
        strcpy(hash, made);
        result = 0;
    }
    /* It holds the phrase. */
    explicit_bzero(work, WORK);
    free(work);
    return result;
}
