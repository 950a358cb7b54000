/* Calls that Swift's import of the C library omits or cannot make: variadic calls, calls without a wrapper in
   glibc 2.36, structures and macros of the event calls.

   Includes no system header but <stdint.h>: declarations clash if this module and Swift's Glibc module read a header
   with different feature macros. Each function returns −1 and sets errno, as in the manual page of its call. */
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
