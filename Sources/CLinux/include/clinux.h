/* What Swift's import of the C library leaves out or cannot call: variadic calls, calls without a wrapper in
   glibc 2.36, structures and macros of the event calls.

   No system header but <stdint.h> is included here: a header that both this module and Swift's Glibc module read
   with other feature macros makes their declarations clash. Each function returns −1 and sets errno, as the manual
   page that it is named after says. */
#ifndef CLINUX_H
#define CLINUX_H
#include <stdint.h>
#include "clinux_confinement.h"
#include "clinux_directories.h"
#include "clinux_events.h"
#include "clinux_files.h"
#include "clinux_memory.h"
#include "clinux_threads.h"
#include "clinux_sockets.h"
#endif
