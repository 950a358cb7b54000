#ifndef CPASSWORDS_H
#define CPASSWORDS_H

#include <stdint.h>

/* Hashes of passwords by crypt(3), with the types of <stdint.h> alone. libcrypt is loaded by the first call and not linked: no
   other command needs it. Any thread. */

/* The room for a hash, a setting, and the NUL that ends it. */
#define CPASSWORDS_SIZE 384

/* Writes a new random setting for yescrypt. 0, or -1 without a libcrypt that has it. */
int32_t cpasswords_setting(char hash[CPASSWORDS_SIZE]);

/* Writes the hash of `phrase` by `setting`, which may be a hash. 0, or -1 if that cannot be computed. */
int32_t cpasswords_hash(const char *phrase, const char *setting, char hash[CPASSWORDS_SIZE]);

#endif
